"""A headless browser, driven through its debugging pipe (the Chrome DevTools Protocol), without other libraries."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
PATIENCE = 120


class Tab:
    """A tab of the browser. Methods raise AssertionError if the browser or the page reports an error."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write, self._rest = read, write, b""
        self._number, self._session = 0, ""
        self.logged: list[str] = []
        """Errors of the console: of scripts, and of what the policy of a page forbids."""
        self.requested: list[str] = []
        """Addresses that the page asked for."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **given: Any) -> Any:
        """Send a command and return its result."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        os.write(
            self._write, json.dumps({"id": self._number, "method": method, "params": given, **session}).encode() + b"\0"
        )
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, message: Any) -> None:
        method, given = message.get("method"), message.get("params", {})
        if method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.logged.append(given["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.logged.append(str(given["exceptionDetails"]))
        elif method == "Network.requestWillBeSent":
            self.requested.append(given["request"]["url"])

    def _message(self) -> Any:
        while b"\0" not in self._rest:
            some = os.read(self._read, 1 << 16)
            assert some, "the browser has ended"
            self._rest += some
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def run(self, script: str) -> Any:
        """Return the value of a script, after a promise is kept."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, script: str) -> Any:
        """Wait until a script has a true value."""
        end = time.monotonic() + PATIENCE
        while not (found := self.run(f"Boolean({script})")):
            assert time.monotonic() < end, (script, self.run("document.body.innerText"), self.logged)
            time.sleep(0.05)
        return found

    def open(self, url: str, width: int = 800, height: int = 1000) -> None:
        """Open an address in a window of this size."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=url)
        self.wait(
            f"location.href.startsWith({json.dumps(url.partition('#')[0])}) && document.readyState === 'complete'"
        )

    def type(self, text: str) -> None:
        """Insert text where the focus is."""
        self.send("Input.insertText", text=text)

    def press(self, key: str, code: int, modifiers: int = 0) -> None:
        """Press a key; modifiers are 2 for Ctrl, 8 for Shift."""
        text = {"text": "\r"} if key == "Enter" and not modifiers else {}
        for kind in ("keyDown", "keyUp"):
            down = text if kind == "keyDown" else {}
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, modifiers=modifiers,
                **down,
            )  # fmt: skip

    def picture(self, path: Path) -> None:
        """Write a picture of the whole page."""
        found = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Tab]:
    """Start a browser with a folder for its data, and yield a tab of it."""
    to_browser, from_browser = os.pipe(), os.pipe()

    def places() -> None:
        # The browser reads commands from descriptor 3 and writes to 4. The pipes may have these numbers themselves.
        reads, writes = os.dup(to_browser[0]), os.dup(from_browser[1])
        os.dup2(reads, 3)
        os.dup2(writes, 4)

    process = subprocess.Popen(
        [str(BROWSER), *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={folder}"],
        preexec_fn=places, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(to_browser[0])
    os.close(from_browser[1])
    try:
        yield Tab(from_browser[0], to_browser[1])
    finally:
        process.kill()
        process.wait()
        os.close(to_browser[1])
        os.close(from_browser[0])
