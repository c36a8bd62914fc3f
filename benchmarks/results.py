"""Results of a run of the benchmarks: figures with their targets, and the costs of all passes; written and read as
JSON.
"""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec

from hardsim import __version__
from hardsim.campaign.workers import processors

PACKAGES = ("numpy", "mpmath", "python-flint", "gmpy2")
"""Packages, besides hardsim and Python, that the timings depend on."""
EXTRA = "torch"
"""Package that some passes are compared with, where it is installed."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target of a figure: an upper limit, or a lower limit with `at_least`."""

    limit: float
    at_least: bool = False

    def reached(self, value: float) -> bool:
        """Return True if a value keeps the limit (a NaN does not)."""
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number.

    `value` is None where nothing could be measured: then `note` says why, and the target counts as missed. `unit`
    follows the number: `x` for a ratio, `s`, `MiB`, `words/s`, or nothing.
    """

    group: str
    what: str
    case: str
    value: float | None
    unit: str
    target: Target | None = None
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """True if the target was reached; None without a target."""
        if self.target is None:
            return None
        return self.value is not None and self.target.reached(self.value)


@dataclass(frozen=True, slots=True)
class PassCost:
    """The cost of one pass over the words of one case, in seconds a word (the median of the repetitions).

    `agreed` counts the right answers, `undecided` the words without an answer; the other answers are wrong, which only
    plain floats may be. `setup` is the time spent once for the length before the words, in seconds; 0 where it is part
    of the words' cost.
    """

    group: str
    case: str
    n: int
    name: str
    words: int
    repeats: int
    seconds: float
    agreed: int
    undecided: int
    setup: float = 0.0


@dataclass
class Results:
    """The results of a whole run; `about` says where and when they were measured."""

    figures: list[Figure] = field(default_factory=list)
    passes: list[PassCost] = field(default_factory=list)
    about: str = ""

    @property
    def missed(self) -> list[Figure]:
        """Figures that miss their target."""
        return [figure for figure in self.figures if figure.reached is False]

    def add(self, other: Results) -> None:
        """Add the figures and passes of a group."""
        self.figures += other.figures
        self.passes += other.passes

    def to_json(self) -> str:
        """Return the results as a JSON document."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1).decode() + "\n"


def read_results(path: Path) -> Results:
    """Read the results in a file that `Results.to_json` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=Results)


def describe() -> str:
    """Describe this run: date, processor, cores that this process may use, memory, system, and the versions of Python,
    hardsim, and the packages that do the arithmetic.
    """
    info = Path("/proc/cpuinfo")
    model = re.search(r"^model name\s*: (.+)$", info.read_text(encoding="utf-8") if info.exists() else "", re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = [f"{name} {version(name)}" for name in (*PACKAGES, *[EXTRA] * (find_spec(EXTRA) is not None))]
    return (
        f"Run of {datetime.now(UTC):%Y-%m-%d}: hardsim {__version__}, {model[1] if model else platform.machine()}, "
        f"{processors()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, {', '.join(packages)}; one BLAS thread."
    )
