"""What a run of the benchmarks found: figures beside their targets, and the costs of all passes; to and from JSON."""

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
"""What the timings depend on, besides hardsim and Python."""
EXTRA = "torch"
"""What some are held against, where it is installed."""


@dataclass(frozen=True, slots=True)
class Target:
    """A limit that a figure should keep: at least, or at most so much."""

    limit: float
    at_least: bool = False

    def reached(self, value: float) -> bool:
        """Whether a value keeps the limit (one that is not a number does not)."""
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. `value` is None where nothing could be measured: then `note` says why, and a target counts
    as missed. `unit` is what stands behind the number: `x` for a ratio, `s`, `MiB`, `words/s`, or nothing.

    `before` is what was measured when the target was set, None where that is not known; `proofs` how many times as long
    it took as a proof about every word up to length 64 from the same file, measured beside it.
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
        """Whether the target was reached; None without a target."""
        if self.target is None:
            return None
        return self.value is not None and self.target.reached(self.value)


@dataclass(frozen=True, slots=True)
class PassCost:
    """What one pass over the words of one case costs: seconds a word (the median of the repetitions).

    `agreed` counts the words on which its answer is the right one, `undecided` those of which it says that it does not
    know; the other answers are wrong, which only plain floats may be. `setup` is what was spent once for the
    length, before the words, in seconds; 0 where the words carry it.
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
    """A whole run."""

    figures: list[Figure] = field(default_factory=list)
    passes: list[PassCost] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    quick: bool = False
    date: str = ""
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def missed(self) -> list[Figure]:
        """The figures that do not keep their target."""
        return [figure for figure in self.figures if figure.reached is False]

    def add(self, other: Results) -> None:
        """Take over the figures and passes of a group."""
        self.figures += other.figures
        self.passes += other.passes

    def to_json(self) -> str:
        """The text of a JSON document."""
        figures = [asdict(figure) | {"reached": figure.reached} for figure in self.figures]
        document = {"schema_version": SCHEMA_VERSION} | asdict(self) | {"figures": figures}
        return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    @staticmethod
    def from_json(text: str) -> Results:
        """A run read back.

        Raises:
            ValueError: if the document is of another schema version.
        """
        document: dict[str, Any] = json.loads(text)
        if document.pop("schema_version") != SCHEMA_VERSION:
            raise ValueError(f"benchmark results of another schema version than {SCHEMA_VERSION}: run make bench")
        figures = [_figure(dict(item)) for item in document.pop("figures")]
        passes = [PassCost(**item) for item in document.pop("passes")]
        return Results(figures=figures, passes=passes, **document)


def _figure(item: dict[str, Any]) -> Figure:
    del item["reached"]
    target = item.pop("target")
    return Figure(**item, target=None if target is None else Target(**target))


def new_results(groups: list[str], quick: bool) -> Results:
    """An empty run on this machine, now."""
    return Results(
        groups=groups,
        quick=quick,
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        machine=describe_machine(),
        versions=describe_versions(),
    )


def describe_machine() -> dict[str, str]:
    """Processor, cores that this process may use, memory, system."""
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
    """Python, hardsim, and the packages that do the arithmetic."""
    found = {"hardsim": __version__} | {name: version(name) for name in PACKAGES}
    with suppress(PackageNotFoundError):  # then the rows that need it are left out, too
        found[EXTRA] = version(EXTRA)
    return {"python": platform.python_version()} | found
