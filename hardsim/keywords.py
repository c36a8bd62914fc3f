"""The keywords of the methods of `hardsim.Model`, and their types. (`make docs` writes this file from the
table of options, `hardsim.options.table`.)
"""

from __future__ import annotations

import os
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias, TypedDict

from hardsim.compiling.from_ltl.refusals import Method
from hardsim.options.table import Judge
from hardsim.targets.base import At

Number: TypeAlias = int | float | Fraction | Decimal | str
"""An exact number: an integer, a fraction, a decimal, a text such as `7/2` or `3.9`, or a float that is exactly the
number it prints as (0.5 is, 0.1 is not).
"""


class ModelKeywords(TypedDict, total=False):
    """Keywords for what is compiled."""

    at: At | None
    regime: str | None
    beta: Number | None
    tau: Number | None
    weighting: str | None
    exponential: str | None
    rounding: str | None
    epsilon: Number | None
    single_head: bool
    counting: Method | None


class ArithmeticKeywords(TypedDict, total=False):
    """Keywords for the arithmetic of the softmax network."""

    engine: str
    dps: int | None


class CheckKeywords(ModelKeywords, ArithmeticKeywords, total=False):
    """Keywords of `check`."""

    soft_words: str
    max_n: int
    exhaustive: int
    samples: int | None
    seed: int
    draws: int | None
    distribution: str
    workers: int | None
    backend: str
    scheduler: str | None
    resume: str | os.PathLike[str] | None


class ProveKeywords(ModelKeywords, ArithmeticKeywords, total=False):
    """Keywords of `prove`."""

    max_n: int | None
    min_n: int
    all_n: bool
    heads_only: bool
    search: int
    workers: int | None
    certificate: str | os.PathLike[str] | None
    smt: str | os.PathLike[str] | None
    rocq: str | os.PathLike[str] | None


class EvalKeywords(ModelKeywords, ArithmeticKeywords, total=False):
    """Keywords of `eval`."""


class WordsKeywords(ModelKeywords, ArithmeticKeywords, total=False):
    """Keywords of `words`."""

    by: Judge
    max_n: int
    exhaustive: int


class EquivKeywords(TypedDict, total=False):
    """Keywords of `equiv`."""

    at: At | None
    max_n: int
    exhaustive: int
    samples: int | None
    seed: int
    included: bool


class ClassifyKeywords(TypedDict, total=False):
    """Keywords of `classify`."""

    at: At | None


class BoundKeywords(ModelKeywords, ArithmeticKeywords, total=False):
    """Keywords of `bound`."""

    max_n: int
    exhaustive: int
    samples: int | None
    seed: int
    workers: int | None
    backend: str
    scheduler: str | None
    gap: bool


class CompileKeywords(ModelKeywords, total=False):
    """Keywords of `compile`."""

    hard: bool
    max_n: int


class ExportKeywords(ModelKeywords, total=False):
    """Keywords of `export`."""

    max_n: int
    seed: int
    dtype: str | None
    length: int | None


class PrecisionKeywords(ModelKeywords, total=False):
    """Keywords of `precision`."""

    max_n: int
    exhaustive: int
    seed: int
    accumulate: str | None


class HeadsKeywords(TypedDict, total=False):
    """Keywords of `heads`."""

    max_n: int | None
    exhaustive: int
    samples: int | None
    seed: int


class TraceKeywords(ModelKeywords, ArithmeticKeywords, total=False):
    """Keywords of `trace`."""

    plot: str | os.PathLike[str] | None


class CriticalKeywords(TypedDict, total=False):
    """Keywords of `bound` with `critical`."""

    at: At | None
    regime: str | None
    tau: Number | None
    weighting: str | None
    exponential: str | None
    rounding: str | None
    single_head: bool
    counting: Method | None
    max_n: int
