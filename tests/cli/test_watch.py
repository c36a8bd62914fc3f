"""Tests of `hardsim watch`: checks follow saves, however a file is saved, and each is a run of `hardsim check`."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hardsim.cli import watch
from hardsim.cli.watch_view import CheckOutput, cropped
from hardsim.options.table import ALIKE, OPTIONS, Request
from hardsim.serving.forked import ForkedProcesses
from tests.cli.conftest import COMMAND, Cli, written
from tests.support.clusters import PATIENCE
from tests.support.documents import VALIDATOR

RIGHT, WRONG, BROKEN = "alphabet: a b\nO a\n", "alphabet: a b\naccept: b\nO a\n", "alphabet: a b\nO (a\n"


class Watching:
    """A running `hardsim watch`, whose lines of output can be awaited."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "watch", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._lines: Queue[str] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def line(self) -> str:
        """Wait for the next line of standard output."""
        return self._lines.get(timeout=PATIENCE)

    def document(self) -> Any:
        """Wait for the next line, which must be a JSON document of the schema."""
        found = json.loads(self.line())
        VALIDATOR.validate(found)
        return found

    def unread(self) -> str:
        """Return the next line that nobody has read; "" if there is none."""
        try:
            return self._lines.get_nowait()
        except Empty:
            return ""

    def close(self) -> None:
        """Kill the process, and close its pipes."""
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def end(self, number: signal.Signals = signal.SIGINT) -> str:
        """Send a signal, require exit code 130, and return standard error."""
        self.process.send_signal(number)
        assert self.process.wait(PATIENCE) == 130
        self._reader.join(PATIENCE)
        assert self.process.stderr is not None
        return self.process.stderr.read()


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Callable[..., Watching]]:
    """Start `hardsim watch` in a folder; what still runs at the end is killed."""
    started: list[Watching] = []

    def start(*arguments: str) -> Watching:
        started.append(Watching(tmp_path, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.close()


def verdicts(document: Any) -> list[str]:
    return [one["verdict"] for one in document["results"]]


def test_each_save_has_its_document_until_ctrl_c(tmp_path: Path, watching: Callable[..., Watching]) -> None:
    path = written(tmp_path / "x.ltl", RIGHT)
    running = watching("x.ltl", "--max-n", "2", "--json", "-")
    assert verdicts(running.document()) == ["PROVED"]
    written(path, BROKEN)
    broken = running.document()
    assert (broken["exit_code"], broken["results"]) == (2, [])
    assert "x.ltl:2:3" in broken["errors"][0]["message"]
    assert "x.ltl:2:" in running.end()
    assert running.unread() == ""


@pytest.mark.slow
def test_files_may_be_replaced_deleted_and_half_written(tmp_path: Path, watching: Callable[..., Watching]) -> None:
    path = written(tmp_path / "x.ltl", RIGHT)
    running = watching("x.ltl", "--max-n", "2", "--format", "json")
    assert verdicts(running.document()) == ["PROVED"]
    # vim and others write a new file and give it the old name.
    written(tmp_path / ".x.ltl.swp", BROKEN).replace(path)
    assert running.document()["exit_code"] == 2
    # Others rename the old file away, and write a new one a moment later.
    path.rename(tmp_path / "x.ltl~")
    written(path, RIGHT)
    assert verdicts(running.document()) == ["PROVED"]
    path.unlink()
    assert "no such file" in running.document()["errors"][0]["message"]
    with path.open("w", encoding="utf-8") as file:
        for part in ("alphabet: a b\n", "O ", "b\n"):
            file.write(part)
            file.flush()
    while not (found := running.document())["results"]:  # a slow machine may see the half-written file
        assert found["exit_code"] == 2
    assert found["inputs"][0]["sha256"] == sha256(path.read_bytes()).hexdigest()
    # A file beside it is none of its files.
    written(tmp_path / "y.ltl", BROKEN)
    time.sleep(1)
    assert running.unread() == ""


@pytest.mark.slow
def test_a_folder_and_the_file_of_against_are_watched(tmp_path: Path, watching: Callable[..., Watching]) -> None:
    folder = tmp_path / "formulas"
    folder.mkdir()
    written(folder / "x.ltl", RIGHT)
    other = written(tmp_path / "other.ltl", RIGHT)
    running = watching("formulas", "--against", "other.ltl", "--max-n", "2", "--json", "-")
    assert verdicts(running.document()) == ["CERTIFIED"]
    written(other, "alphabet: a b\nO b\n")
    assert verdicts(running.document()) == ["REFUTED"]
    written(folder / "y.ltl", "alphabet: a b\nO b\n")
    assert verdicts(running.document()) == ["REFUTED", "CERTIFIED"]


@pytest.mark.slow
def test_without_a_terminal_reports_follow_each_other(tmp_path: Path, watching: Callable[..., Watching]) -> None:
    path = written(tmp_path / "x.ltl", RIGHT)
    running = watching("x.ltl", "--max-n", "2")
    assert [running.line(), running.line()] == ["check 1\n", "PROVED  x.ltl\n"]
    written(path, WRONG)
    while (line := running.line()) != "check 2: x.ltl changed\n":
        assert "\x1b" not in line
    running.end(signal.SIGTERM)


@pytest.mark.slow
def test_a_terminal_has_one_screen(tmp_path: Path) -> None:
    """The screen shows a mistake with its caret, and after the next save short words and then the whole report."""
    path = written(tmp_path / "x.ltl", BROKEN)
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
    env = os.environ | {"TERM": "xterm"}
    running = subprocess.Popen(
        [*COMMAND, "watch", "x.ltl"], cwd=tmp_path, env=env, stdin=child, stdout=child, stderr=child,
        start_new_session=True, preexec_fn=partial(fcntl.ioctl, 0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(child)
    seen = ""

    def shown(*texts: str) -> None:
        nonlocal seen
        end = time.monotonic() + PATIENCE
        while not all(text in seen for text in texts) and time.monotonic() < end:
            seen += os.read(parent, 4096).decode("utf-8")
        assert [text for text in texts if text not in seen] == []

    try:
        shown("x.ltl:2:", "^", "watching; Ctrl-C ends it")
        seen = ""
        written(path, RIGHT)
        shown("\x1b[2J", "x.ltl changed", "words up to length 4 ...", "and the proof ...", "more lines", "watching;")
        assert seen.index("of length 1 to 4") < seen.index("of length 1 to 8")
        last = seen[seen.rindex("\x1b[2J") :]
        assert "PROVED" in last
        assert len(last.splitlines()) <= 30
        os.write(parent, b"\x03")
        assert running.wait(PATIENCE) == 130
    finally:
        running.kill()
        os.close(parent)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_checks_go_on_if_the_process_from_which_they_are_forked_is_killed(
    tmp_path: Path, watching: Callable[..., Watching]
) -> None:
    path = written(tmp_path / "x.ltl", RIGHT)
    running = watching("x.ltl", "--max-n", "2", "--json", "-")
    assert verdicts(running.document()) == ["PROVED"]
    pid = running.process.pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
        os.kill(int(child), signal.SIGKILL)
    written(path, BROKEN)
    assert running.document()["exit_code"] == 2
    running.end()


# ---- in this process ----


def test_what_cannot_be_watched_is_refused(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hardsim("watch").refused("nothing to watch: give a file", "hardsim watch mine.ltl")
    hardsim("watch", tmp_path / "x.ltl").refused("x.ltl: no such file")
    hardsim("watch", tmp_path).refused("has no *.ltl")
    path = written(tmp_path / "x.ltl", RIGHT)
    hardsim("watch", path, "--against", tmp_path / "y.re").refused("y.re: no such file")
    hardsim("watch", path, "--regime", "every").refused("unknown regime")
    for own in (path, f"{tmp_path}/./{Path(path).name}"):
        hardsim("watch", path, "--json", own).refused("is a file that each check reads")
    hardsim("watch", Path(path).parent, "--json", Path(path).parent / "x.model.json").refused("each check reads")
    hardsim("watch", path, "--json", tmp_path / "none" / "x.json").refused("x.json: cannot be written")
    hardsim("watch", path, "--format", "junit").refused(
        "prints text or json, not junit", "hardsim check --format junit"
    )
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    hardsim("watch", path).refused("hardsim watch needs watchfiles, which is not installed", "pip install '.[watch]'")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a check forks no processes")
def test_a_check_may_fork_processes() -> None:
    """No other thread is at work in its process, with all modules that it needs."""
    asked = "import sys; from hardsim.campaign.forks import forks_safely; sys.exit(7 if forks_safely() else 8)"
    code = (
        "from hardsim.cli.app import one_thread; one_thread()\n"
        "from hardsim.cli.watch import MODULES; from hardsim.serving.forked import ForkedProcesses\n"
        f"process = ForkedProcesses(MODULES).start(exec, {asked!r}, daemon=False)\n"
        "process.join(); print(process.exitcode)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "7\n"


@dataclass
class Shown:
    """A view that keeps what it shows."""

    outputs: list[CheckOutput] = field(default_factory=list)

    def begin(self, number: int, changed: str, step: str) -> None:
        pass

    def show(self, done: CheckOutput, following: str) -> None:
        self.outputs.append(done)


class Ending(ForkedProcesses):
    """Processes that are killed, or end in another way, before they have a result."""

    def __init__(self, run: Callable[..., object], *given: object) -> None:
        super().__init__(())
        self._run, self._given = run, given

    def start(self, run: Callable[..., object], *given: object, daemon: bool) -> BaseProcess:
        return super().start(self._run, *self._given, daemon=daemon)


@pytest.mark.parametrize(
    ("end", "code", "message"),
    [
        ((os.abort,), -signal.SIGABRT, "error: the check was ended by signal 6\n"),
        ((signal.raise_signal, signal.SIGKILL), -signal.SIGKILL, "error: the check was ended by signal 9\n"),
        ((signal.raise_signal, signal.SIGXCPU), -signal.SIGXCPU, "error: the check was ended by signal 24\n"),
        ((sys.exit, 4), 4, ""),
    ],
    ids=["crash", "memory", "time", "defect"],
)
def test_a_check_that_is_ended_ends_nothing_else(tmp_path: Path, end: tuple[Any, ...], code: int, message: str) -> None:
    """Its end is shown, and the next save begins another check."""
    path, view = written(tmp_path / "x.ltl", RIGHT), Shown()
    files = watch.WatchedFiles(Request(files=[str(path)]))
    checks = watch.CheckRuns(files, [("", ["check", str(path)])], view, Ending(*end))
    with closing(checks):
        for number in (1, 2):
            written(path, RIGHT * number)
            limit = time.monotonic() + PATIENCE
            while len(view.outputs) < number and time.monotonic() < limit:
                checks.look(True)
                time.sleep(0.01)
    assert view.outputs == [CheckOutput(1, code, "", message), CheckOutput(2, code, "", message)]


@pytest.mark.parametrize(("asked", "raised"), [(True, KeyboardInterrupt), (False, OSError)])
def test_a_signal_for_all_processes_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool, raised: type[BaseException]
) -> None:
    """It may end the process from which checks are forked before the one that asks for them."""

    class Ended(ForkedProcesses):
        def start(self, run: Callable[..., object], *given: object, daemon: bool) -> BaseProcess:
            raise OSError

    path = written(tmp_path / "x.ltl", RIGHT)
    monkeypatch.setattr(watch, "asked_to_end", lambda: asked)
    files = watch.WatchedFiles(Request(files=[str(path)]))
    checks = watch.CheckRuns(files, [("", ["check", str(path)])], Shown(), Ended(()))
    with closing(checks), pytest.raises(raised):
        checks.look(True)


WRONG_OPTIONS = (
    ("--require", "x"), ("--distribution", "uniform"), ("--scheduler", "x"), ("--backend", "x"), ("--beta", "0"),
    ("--alphabet", "a", "--props", "p"), ("--json", "-", "--format", "text"), ("--data", "x.tsv", "--against", "x.ltl"),
    ("--require", "proved", "--against", "x.ltl"),
)  # fmt: skip


@pytest.mark.parametrize("options", WRONG_OPTIONS, ids=" ".join)
def test_an_option_that_no_check_can_have_ends_watch(hardsim: Cli, tmp_path: Path, options: tuple[str, ...]) -> None:
    """It says what `check` says of it, once."""
    path = written(tmp_path / "x.ltl", RIGHT)
    found = hardsim("watch", path, *options).refused("error: ")
    assert found.err == hardsim("check", path, *options).err


def test_an_option_of_check_alone_says_what_to_do_instead(hardsim: Cli) -> None:
    other, left_out = ALIKE["watch"]
    for name, text in left_out.items():
        for typed in OPTIONS[name].names:
            hardsim("watch", typed).refused(f"no such option: {typed}\n{text}\n").unsaid("did you mean")
            assert typed in text
    assert (other, [*left_out]) == ("check", ["expression", "pin", "resume"])


def test_the_start_does_not_wait_for_the_library() -> None:
    code = (
        "import sys, hardsim.cli.app; hardsim.cli.app.run(['watch', '--help']); assert 'watchfiles' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Check files again whenever one of them is saved." in done.stdout


def test_steps_are_command_lines_of_check() -> None:
    def options(request: Request, screen: bool) -> list[str]:
        found = watch.steps(request, screen)
        assert all(arguments[0] == "check" for _, arguments in found)
        return [" ".join(arguments[1:]) for _, arguments in found]

    plain = Request(files=["x.ltl", "-y.ltl"])
    assert options(plain, screen=False) == ["-- x.ltl -y.ltl"]
    assert options(plain, screen=True) == ["--max-n 4 --quiet -- x.ltl -y.ltl", "-- x.ltl -y.ltl"]
    written_names = frozenset({"files", "max_n", "tables", "data", "seed", "regime", "all_lengths"})
    request = Request(
        files=["x.ltl"],
        max_n=12,
        tables=False,
        seed=-3,
        regime="none",
        all_lengths=True,
        written=written_names - {"data"},
    )
    rest = "--regime none --seed -3 --no-tables --all-lengths -- x.ltl"
    whole = rest.replace("--seed", "--max-n 12 --seed")
    assert options(request, screen=True) == [f"--max-n 4 --quiet {rest}", whole]
    data = Request(files=["x.spec"], data=["a.tsv", "b.tsv"], written=written_names)
    assert options(data, screen=True)[0].endswith("--data a.tsv --data b.tsv --no-tables -- x.spec") is False
    assert len(options(data, screen=True)) == 1
    short = Request(files=["x.ltl"], max_n=3, written=frozenset({"max_n"}))
    assert options(short, screen=True) == ["--max-n 3 -- x.ltl"]


def test_a_check_takes_the_options_of_watch(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line of a step is understood, and means the same."""
    written(tmp_path / "x.ltl", RIGHT)
    request = Request(
        files=["x.ltl"], max_n=2, tables=False, quiet=True, written=frozenset({"max_n", "tables", "quiet"})
    )
    ((_, arguments),) = watch.steps(request, screen=False)
    monkeypatch.chdir(tmp_path)
    found = hardsim(*arguments).exits(0, "PROVED")
    assert found == hardsim("check", "x.ltl", "--max-n", "2", "--no-tables", "-q")


def test_the_files_of_a_specification_are_watched(tmp_path: Path) -> None:
    spec = written(tmp_path / "n.spec", "network: net\nlanguage: @ref/r.ltl\n")
    request = Request(files=[str(spec)], against=str(tmp_path / "a.re"))
    files = watch.WatchedFiles(request)
    assert {Path(one).name for one in files.all()} == {"n.spec", "net", "r.ltl", "a.re"}
    assert files.folders() == {tmp_path}  # the other folders do not exist yet
    (tmp_path / "ref").mkdir()
    assert files.folders() == {tmp_path, tmp_path / "ref"}
    before = files.states()
    assert before[str(tmp_path / "ref" / "r.ltl")] is None
    written(tmp_path / "ref" / "r.ltl", RIGHT)
    assert files.states() != before
    written(spec, "network: other\nlanguage: /a/\n")
    assert "other" in {Path(one).name for one in files.all()}


def test_a_shipped_name_is_a_file_that_exists() -> None:
    states = watch.WatchedFiles(Request(files=["since"])).states()
    assert [Path(path).name for path in states] == ["since.ltl"]
    assert None not in states.values()


def test_links_are_watched_at_both_ends(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    written(tmp_path / "b" / "x.ltl", RIGHT)
    link = tmp_path / "a" / "x.ltl"
    link.symlink_to(tmp_path / "b" / "x.ltl")
    assert watch.WatchedFiles(Request(files=[str(link)])).folders() == {tmp_path / "a", tmp_path / "b"}


@given(
    st.lists(st.text(st.sampled_from("ab\u4e2d"), max_size=25), max_size=12),
    st.integers(2, 30),
    st.integers(1, 12),
    st.booleans(),
)
def test_a_report_fits_into_the_screen(lines: list[str], width: int, room: int, last: bool) -> None:
    def height(line: str) -> int:
        return max(1, -(-cell_len(line) // width))

    found = cropped(lines, width, room, last)
    if sum(map(height, lines)) <= room:
        assert found == lines
        return
    note = found.pop(0 if last else -1)
    count = int(re.findall(r"\d+", note)[0])
    assert found == (lines[count:] if last else lines[: len(lines) - count])
    assert sum(map(height, found)) <= room - 1
    # One line more would not fit.
    assert sum(map(height, lines[count - 1 :] if last else lines[: len(found) + 1])) > room - 1
