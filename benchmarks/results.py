"""Results of a run of the benchmarks: figures with their targets, and the costs of all passes; written and read as
JSON.
"""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hardsim import __version__

SCHEMA_VERSION = 2
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

    `before` is the value when the target was set (None: not known). `proofs` is the ratio of the value to the time of a
    proof about every word up to length 64 from the same file, measured in the same run.
    """

    group: str
    what: str
    case: str
    value: float | None
    unit: str
    target: Target | None = None
    note: str = ""
    before: float | None = None
    proofs: float | None = None

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
    """The results of a whole run."""

    figures: list[Figure] = field(default_factory=list)
    passes: list[PassCost] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    quick: bool = False
    date: str = ""
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

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
        figures = [asdict(figure) | {"reached": figure.reached} for figure in self.figures]
        document = {"schema_version": SCHEMA_VERSION} | asdict(self) | {"figures": figures}
        return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    @staticmethod
    def from_json(text: str) -> Results:
        """Read results from a JSON document.

        Raises:
            ValueError: if the document has another schema version.
        """
        document: dict[str, Any] = json.loads(text)
        if document.pop("schema_version") != SCHEMA_VERSION:
            raise ValueError(f"benchmark results have another schema version than {SCHEMA_VERSION}: run make bench")
        figures = [_figure(dict(item)) for item in document.pop("figures")]
        passes = [PassCost(**item) for item in document.pop("passes")]
        return Results(figures=figures, passes=passes, **document)


def _figure(item: dict[str, Any]) -> Figure:
    del item["reached"]
    target = item.pop("target")
    return Figure(**item, target=None if target is None else Target(**target))


def new_results(groups: list[str], quick: bool) -> Results:
    """Return empty results for this machine and today."""
    return Results(
        groups=groups,
        quick=quick,
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        machine=describe_machine(),
        versions=describe_versions(),
    )


def describe_machine() -> dict[str, str]:
    """Describe the machine: processor, cores that this process may use, memory, system."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "processor": _processor(),
        "cores": str(cores),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def describe_versions() -> dict[str, str]:
    """Return the versions of Python, hardsim, and the packages that do the arithmetic."""
    found = {"hardsim": __version__} | {name: version(name) for name in PACKAGES}
    with suppress(PackageNotFoundError):  # without it, its rows are left out
        found[EXTRA] = version(EXTRA)
    return {"python": platform.python_version()} | found
