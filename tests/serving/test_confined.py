"""Tests of the limits of a request. Each runs a function in place of the command, in the process of a request."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hardsim.cli.serve import answering
from hardsim.serving.confined import PageAnswer, RequestLimits, Run
from hardsim.serving.forked import ForkedProcesses
from hardsim.serving.page_requests import PageRequest
from hardsim.serving.workers import WAITING, Busy, Workers
from tests.support.clusters import PATIENCE

REQUEST = PageRequest("show", "ltl", "a\n")


async def stays() -> bool:
    return False


async def has_left() -> bool:
    return True


def answered(run: Run, limits: RequestLimits) -> PageAnswer:
    """Return the answer of a function that is run as a request."""
    return asyncio.run(Workers(run, ForkedProcesses(()), limits).answer(REQUEST, stays))


def outcome(attempt: Callable[[], object]) -> str:
    """Return the name of the error that an attempt raises, or what it returns."""
    try:
        return repr(attempt())
    except Exception as error:
        return type(error).__name__


def try_everything(outside: Path, arguments: list[str]) -> int:
    """Print what becomes of everything that a request may not do, and then of what it may."""
    attempts: list[Callable[[], object]] = [
        outside.read_text,
        lambda: os.open(outside, os.O_RDONLY),
        lambda: os.listdir(outside.parent),
        lambda: outside.write_text("x"),
        lambda: outside.with_name("new").touch(),
        outside.unlink,
        lambda: outside.rename("here"),
        lambda: Path("typed.ltl").rename(outside),
        lambda: Path("link").symlink_to(outside),
        lambda: Path("../x").write_text("x"),
        lambda: Path("/proc/self/environ").read_text(),
        lambda: os.system("true"),
        lambda: subprocess.run(["true"]),
        os.fork,
        socket.socket,
        lambda: os.chdir("/"),
    ]
    print(*map(outcome, attempts), *arguments)
    print(repr(Path("typed.ltl").read_text()), Path("mine").write_text("abc"), Path("mine").read_text())
    return 7


def test_a_request_has_its_own_folder_and_nothing_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret", encoding="ascii")
    found = answered(partial(try_everything, outside), RequestLimits(seconds=60))
    refused, allowed, end = found.report.split("\n")
    assert refused.split() == ["PermissionError"] * 16 + REQUEST.arguments
    assert (allowed, end) == ("'a\\n' 3 abc", "")
    assert (found.code, found.messages, found.stopped) == (7, "", None)
    assert outside.read_text(encoding="ascii") == "secret"
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]


def sleep(arguments: list[str]) -> int:
    time.sleep(600)
    return 0


def compute(arguments: list[str]) -> int:
    while True:
        pass


@pytest.mark.parametrize("run", [sleep, compute])
def test_a_request_that_takes_too_long_is_killed(run: Run) -> None:
    found = answered(run, RequestLimits(seconds=0.5))
    assert (found.code, found.stopped) == (None, "The request took longer than 0.5 seconds.")


def use_memory(arguments: list[str]) -> int:
    return len(bytearray(1 << 31))


def test_a_request_that_needs_too_much_memory_is_ended() -> None:
    found = answered(use_memory, RequestLimits(seconds=60, memory=1 << 30))
    assert (found.code, found.stopped) == (None, "The request needed more than 1,024 MiB of memory.")


def show_too_much(arguments: list[str]) -> int:
    """Run a command that needs more memory than there is."""
    from hardsim.cli import show

    vars(show)["command"] = lambda request: use_memory(arguments)
    return answering(arguments)


def test_a_command_that_needs_too_much_memory_has_met_the_limit_and_has_no_defect() -> None:
    found = answered(show_too_much, RequestLimits(seconds=60, memory=1 << 30))
    assert (found.code, found.messages) == (None, "")
    assert found.stopped == "The request needed more than 1,024 MiB of memory."


def is_running(pid: int) -> bool:
    """Return whether a process is at work: one that has ended may wait for somebody to ask how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_the_environment_of_the_asking_process_stays_as_it_was() -> None:
    before = dict(os.environ)
    process = ForkedProcesses(()).start(time.sleep, 0, daemon=False)
    process.join(30)
    assert process.exitcode == 0
    assert dict(os.environ) == before


def test_a_process_ends_with_the_one_that_asked_for_it() -> None:
    """Even if that is killed, so that it can end nothing itself."""
    code = (
        "import time; from hardsim.serving.forked import ForkedProcesses\n"
        "print(ForkedProcesses(()).start(time.sleep, 600, daemon=False).pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        pid = int(asking.stdout.readline())
        assert is_running(pid)
        asking.kill()
    end = time.monotonic() + PATIENCE
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(pid)


def write_much(arguments: list[str]) -> int:
    Path("document.json").write_bytes(b"0" * (1 << 17))
    return 0


def print_much(arguments: list[str]) -> int:
    print("0" * (1 << 20))
    return 0


def say_so(arguments: list[str]) -> int:
    print("error: --json document.json: cannot be written (File too large)", file=sys.stderr)
    return 2


def test_large_files_and_answers_are_refused() -> None:
    limits = RequestLimits(seconds=60, written=1 << 16)
    large = "The answer has more than 64 KiB: take a shorter word or a smaller length."
    assert answered(write_much, limits).stopped == large
    said = answered(say_so, limits)
    assert (said.stopped, said.messages) == (large, "")
    assert answered(print_much, limits).stopped == "The answer has more than 256 KiB."


def test_a_request_that_nobody_waits_for_is_killed_and_too_many_are_refused() -> None:
    async def many() -> list[object]:
        workers = Workers(sleep, ForkedProcesses(()), RequestLimits(seconds=0.2))
        waiting = (workers.answer(REQUEST, stays) for _ in range(WAITING + 1))
        return await asyncio.gather(*waiting, return_exceptions=True)

    started = time.monotonic()
    asyncio.run(Workers(sleep, ForkedProcesses(()), RequestLimits(seconds=600)).answer(REQUEST, has_left))
    assert time.monotonic() < started + 300
    assert [type(one) for one in asyncio.run(many())] == [PageAnswer] * WAITING + [Busy]
