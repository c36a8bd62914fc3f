"""The time that a command takes to start, compared with a Python that does nothing."""

from __future__ import annotations

import sys
from statistics import median

from benchmarks.commands import HARDSIM, run
from benchmarks.results import Figure, Results, Target

GROUP = "start-up"
ROUNDS = 9
BASELINE = "python -c pass"
COMMANDS: dict[str, tuple[tuple[str, ...], Target | None]] = {
    BASELINE: ((sys.executable, "-c", "pass"), None),
    "hardsim --help": ((*HARDSIM, "--help"), Target(0.2)),
    "hardsim check --help": ((*HARDSIM, "check", "--help"), Target(0.2)),
    "hardsim --version": ((*HARDSIM, "--version"), Target(0.2)),
}


def measure(rounds: int = ROUNDS) -> Results:
    """Measure the median wall-clock seconds of each command, and their ratio to the baseline's; the commands
    alternate.

    Raises:
        RuntimeError: if a command fails.
    """
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, (command, _) in COMMANDS.items():
            done = run(command)
            if done.code:
                raise RuntimeError(f"{name} failed: {done.complaint}")
            seconds[name].append(done.seconds)
    found, baseline = Results(), median(seconds[BASELINE])
    for name, (_, target) in COMMANDS.items():
        took = median(seconds[name])
        note = f"{took / baseline:.1f} times {BASELINE}"
        found.figures.append(Figure(GROUP, name, f"median of {rounds}", took, "s", target, note))
    return found
