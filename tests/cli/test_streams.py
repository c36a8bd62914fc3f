"""Closed and broken standard streams, and signals that end a process: never a wrong exit code, never a traceback."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = f"'{sys.executable}' -m hardsim"


def shell(script: str) -> subprocess.CompletedProcess[str]:
    """A script of the shell, which can close streams."""
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, encoding="utf-8", timeout=60)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("words '{}' --max-n 2 >&-", 2),
        ("show nowhere.ltl 2>&-", 2),
        ("show nowhere.ltl 2>/dev/full", 2),
        ("check '{}' --max-n 0 2>/dev/full", 2),
        ("check '{}' --max-n 2 --regime none 2>/dev/full", 1),
        ("eval '{}' --regime none bc 2>/dev/full", 1),
        ("eval '{}' --regime none bc 2>&-", 1),
        ("eval '{}' - <&-", 2),
        ("words '{}' --max-n 2 <&- 2>&-", 0),
        ("check '{}' --max-n 2 --workers 2 <&- 2>&-", 0),
        ("check '{}' --max-n 2 --workers 2 2>&-", 0),
    ],
)
def test_closed_and_full_streams_do_not_change_the_exit_code(since: Path, arguments: str, code: int) -> None:
    done = shell(f"{COMMAND} {arguments.format(since)}")
    assert done.returncode == code
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", ["--help", "--version", "check --help", "examples", "examples since"])
def test_whatever_is_printed_into_a_closed_pipe_ends_quietly(arguments: str) -> None:
    # The reader has gone before the first byte is written.
    done = shell(f"{{ sleep 0.1; {COMMAND} {arguments}; echo $? >&2; }} | true")
    assert (done.stdout, done.stderr) == ("", "141\n")


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ('cd "$(mktemp -d)" && rmdir "$PWD"', "the working directory is gone"),
        ("export JOBLIB_MULTIPROCESSING=0", "joblib has no processes here"),
        ("export JOBLIB_MULTIPROCESSING=none", "joblib has no processes here"),
    ],
)
def test_where_no_process_can_be_started_one_does_the_work(since: Path, setting: str, reason: str) -> None:
    done = shell(f"{setting}; {COMMAND} check '{since}' --max-n 3 --workers 2")
    assert done.returncode == 0
    assert done.stderr.startswith(f"note: {reason}")
    assert len(done.stderr.splitlines()) == 1
    assert "PROVED" in done.stdout


def test_a_signal_is_answered_at_any_time_of_the_start(since: Path) -> None:
    # From the first line of hardsim on: before it the signal is Python's, which knows no better.
    program = (
        "import os, signal, sys, threading, time\n"
        "number, wait = int(sys.argv.pop(1)), float(sys.argv.pop(1))\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # whoever started this may ignore it
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "import hardsim.cli.app as app\n"
        "answered = app.answer_signals\n"
        "def answer_signals():\n"
        "    answered()\n"
        "    def ask():\n"
        "        time.sleep(wait)\n"
        "        os.kill(os.getpid(), number)\n"
        "        time.sleep(0.05)\n"
        "        os.kill(os.getpid(), number)\n"
        "    threading.Thread(target=ask, daemon=True).start()\n"
        "app.answer_signals = answer_signals\n"
        "app.main()\n"
    )
    for number, wait in ((signal.SIGINT, 0.0), (signal.SIGTERM, 0.05), (signal.SIGHUP, 0.2), (signal.SIGINT, 0.4)):
        arguments = ["check", str(since), "--max-n", "64", "--samples", "100000"]
        done = subprocess.run(
            [sys.executable, "-c", program, str(int(number)), str(wait), *arguments],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 130
        assert done.stderr.splitlines()[-1].startswith("interrupted")
        assert "Traceback" not in done.stderr
        assert "PROVED" not in done.stdout


def test_a_closed_standard_output_says_so(since: Path) -> None:
    assert "standard output is closed" in shell(f"{COMMAND} words '{since}' --max-n 2 >&-").stderr


def test_a_polite_end_keeps_the_report_whole(since: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    arguments = ["check", str(since), "--max-n", "40", "--samples", "100000", "--json", str(report)]
    process = subprocess.Popen(
        [sys.executable, "-m", "hardsim", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert select.select([process.stderr], [], [], 60)[0]  # it says that it will take long
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert '"exit_code": 130' in report.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "since.ltl"]


def test_an_interruption_while_starting_has_no_traceback() -> None:
    # Whatever the first import of the command line is, Ctrl-C arrives there.
    program = (
        "import sys\n"
        "import hardsim.cli.app\n"
        "class Interrupt:\n"
        "    def find_spec(self, *arguments):\n"
        "        raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "hardsim.cli.app.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_the_entry_point_imports_next_to_nothing() -> None:
    program = "import hardsim.cli.app, sys; print([name for name in ('typer', 'dataclasses') if name in sys.modules])"
    environment = os.environ | {"PYTHONNOUSERSITE": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout == "[]\n"
