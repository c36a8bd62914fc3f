"""The command as a process: pipes, signals, terminals, start-up."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.clusters import gone, workers_of

COMMAND = (sys.executable, "-m", "hardsim")
HEAVY = ("numpy", "mpmath", "flint", "lark", "rich", "gmpy2", "joblib", "distributed", "ray")


def environment(**extra: str) -> dict[str, str]:
    """The environment without what changes colours or defects' messages."""
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "HARDSIM_DEBUG")}
    return kept | {"TERM": "xterm-256color"} | extra


def on_terminal(*arguments: str | Path, **extra: str) -> tuple[int, str]:
    """Exit code and everything that appears on a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen([*COMMAND, *arguments], stdout=child, stderr=child, env=environment(**extra))
    os.close(child)
    seen = b""
    while select.select([parent], [], [], 60)[0]:
        try:
            part = os.read(parent, 65536)
        except OSError:  # the terminal's other end has closed
            break
        if not part:
            break
        seen += part
    os.close(parent)
    return process.wait(60), seen.decode()


@contextmanager
def long_check(path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A check of several minutes, in a process group of its own; ended with the block.

    SIGINT interrupts it even if this process ignores that signal, as a shell has it with `&`.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [*COMMAND, "check", path, "--max-n", "64", "--samples", "100000", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), encoding="utf-8", start_new_session=True,
    )  # fmt: skip
    signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_a_closed_pipe_ends_quietly(since: Path) -> None:
    script = f"'{sys.executable}' -m hardsim words '{since}' --max-n 9 | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.stdout == "b\n141\n"
    assert done.stderr == ""


def test_a_full_disk_is_no_defect(since: Path) -> None:
    for arguments in (["words", str(since), "--max-n", "8"], ["show", str(since), "--json", "/dev/full"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), timeout=60
            )
        assert done.returncode == 2
        assert "No space left on device" in done.stderr
        assert "Exception" not in done.stderr


def test_ctrl_c_prints_what_was_found(since: Path) -> None:
    # One engine alone asks no prover before the words, however slow the machine is.
    with long_check(since, "--engine", "float64") as process:
        # It says that it will take long before it starts.
        assert process.stderr is not None
        assert select.select([process.stderr], [], [], 60)[0]
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Ctrl-C" in err
    assert "partial" in err
    assert "Traceback" not in err
    assert "CERTIFIED: " in out


def test_ctrl_c_reaches_only_the_parent_of_the_processes(since: Path) -> None:
    with long_check(since, "--workers", "2") as process:
        end = time.monotonic() + 60
        while len(workers := workers_of(psutil.Process(process.pid))) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "is partial" in err
    assert "PARTIAL" in out
    assert gone(workers)


def test_a_closed_pipe_ends_quietly_with_several_processes(since: Path) -> None:
    script = (
        f"'{sys.executable}' -m hardsim check '{since}' '{since}' --max-n 7 --workers 2 --json - "
        "| true; echo ${PIPESTATUS[0]}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment(), timeout=60)
    assert (done.stdout, done.stderr) == ("141\n", "")


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_follow_the_terminal_and_no_color(since: Path, variables: dict[str, str], coloured: bool) -> None:
    code, seen = on_terminal("check", since, "--max-n", "2", **variables)
    assert code == 0
    assert "PROVED" in seen
    assert ("\x1b[" in seen) is coloured


def test_no_colours_and_no_bar_in_a_pipe(since: Path) -> None:
    arguments = [*COMMAND, "check", str(since), "--max-n", "7"]
    done = subprocess.run(arguments, capture_output=True, env=environment(), timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout


def test_a_bar_appears_on_a_terminal_after_a_second(since: Path) -> None:
    arguments = ("check", since, "--max-n", "24", "--samples", "150", "--exhaustive", "0", "--engine", "mpmath")
    code, seen = on_terminal(*arguments)
    assert code == 0
    assert re.search(r"length \d+, no mismatch so far, [\d.,]+ words/s, [\d,]+ \w+ left", seen)


def test_output_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    path = tmp_path / "greek.ltl"
    path.write_text("alphabet: α β\nβ\n", encoding="utf-8")
    arguments = [*COMMAND, "words", str(path), "--max-n", "1"]
    done = subprocess.run(
        arguments, capture_output=True, env=environment(LC_ALL="C", PYTHONIOENCODING="ascii"), timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "β\n".encode())


def test_a_file_name_that_is_not_utf_8(since: Path) -> None:
    path = os.fsencode(since.parent) + b"/\xff.ltl"
    Path(os.fsdecode(path)).write_bytes(since.read_bytes())
    done = subprocess.run(
        [*map(os.fsencode, COMMAND), b"check", path, b"--max-n", b"1", b"--json", b"-"],
        capture_output=True,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 0
    assert b"\\udcff.ltl" in done.stdout


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["check", "--help"], ["check", "--max-n", "0"]])
def test_start_up_imports_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys; from hardsim.cli.app import run; run(sys.argv[1:]); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_module_and_the_script_are_the_same_command() -> None:
    script = Path(sys.executable).with_name("hardsim")
    outputs = {
        subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60).stdout
        for command in (COMMAND, (str(script),))
    }
    assert len(outputs) == 1
