"""Tests of where KeyboardInterrupt is raised, in a separate process, since pytest handles the signals of this one."""

import subprocess
import sys

import pytest

START = """
import os, signal, sys, time
from hardsim.campaign import interrupts
from hardsim.campaign.interrupts import answer_signals, uninterrupted, interruptible, leave_signals, settle_signals

def ask(number=signal.SIGINT):
    os.kill(os.getpid(), number)

def outcome(work):
    try:
        work()
    except KeyboardInterrupt:
        return "raised"
    return "done"

answer_signals()
"""
CASES = {
    "inside": ("with interruptible():\n    print(outcome(ask))", "raised"),
    "terminated": ("with interruptible():\n    print(outcome(lambda: ask(signal.SIGTERM)))", "raised"),
    "hung up": ("with interruptible():\n    print(outcome(lambda: ask(signal.SIGHUP)))", "raised"),
    "outside": ("print(outcome(ask))", "done"),
    "before": (
        "ask()\ndef work():\n    with interruptible():\n        print('entered')\nprint(outcome(work))",
        "raised",
    ),
    "uninterrupted": (
        "def work():\n"
        "    with interruptible():\n"
        "        with uninterrupted():\n"
        "            print(outcome(ask))\n"
        "        print('left')\n"
        "print(outcome(work))",
        "done raised",
    ),
    "work within a report": (
        "def work():\n"
        "    with uninterrupted():\n"
        "        try:\n"
        "            with interruptible():\n"
        "                ask()\n"
        "        except KeyboardInterrupt:\n"
        "            print('partial')\n"
        "        ask()\n"
        "        with interruptible():\n"
        "            print('reported')\n"
        "print(outcome(work))",
        "partial reported done",
    ),
    "settled": ("settle_signals()\nwith interruptible():\n    print(outcome(ask))", "done"),
    "no patience": ("interrupts.PATIENCE = 0.01\nask()\ntime.sleep(0.05)\nprint(outcome(ask))", "raised"),
    "in an import": (
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'absent':\n"
        "            ask()\n"
        "            print('found nothing')\n"
        "sys.meta_path.insert(0, Finder())\n"
        "def work():\n"
        "    try:\n"
        "        import absent\n"
        "    except ModuleNotFoundError:\n"
        "        print('imported')\n"
        "    time.sleep(10)\n"
        "with interruptible():\n"
        "    print(outcome(work))",
        "found nothing imported raised",
    ),
    "in a finalizer": (
        "interrupts.AGAIN = 1\n"
        "class Last:\n"
        "    def __del__(self):\n"
        "        ask()\n"
        "def work():\n"
        "    last = Last()\n"
        "    del last\n"
        "    print('gone')\n"
        "    time.sleep(10)\n"
        "with interruptible():\n"
        "    print(outcome(work))",
        "gone raised",
    ),
}


def ran(program: str) -> tuple[str, str, int]:
    """Run a program in a process; return what it prints to both streams, and its exit code."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    return done.stdout, done.stderr, done.returncode


@pytest.mark.parametrize(("program", "printed"), CASES.values(), ids=CASES.keys())
def test_where_it_is_raised(program: str, printed: str) -> None:
    out, *rest = ran(START + program)
    assert (out.split(), *rest) == (printed.split(), "", 0)


def test_a_signal_at_the_end_keeps_the_exit_code() -> None:
    assert ran(START + "leave_signals(3)\nask()\nprint('not reached')") == ("", "", 3)


def test_an_ignored_signal_stays_ignored() -> None:
    ignoring = "\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nanswer_signals()\n"
    program = START.replace("\nanswer_signals()\n", ignoring) + CASES["hung up"][0]
    assert ran(program) == ("done\n", "", 0)
