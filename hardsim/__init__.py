"""hardsim: does this soft-attention transformer do what the hard-attention theory says?

The names of `hardsim.api` are available here and imported on first use, so that `import hardsim` costs nothing.
"""

from __future__ import annotations

from hardsim.version import __version__

TYPE_CHECKING = False  # importing typing would be most of the cost
if TYPE_CHECKING:
    from hardsim.api import (
        BoundResult,
        CheckResult,
        ClassifyResult,
        CriticalResult,
        EquivResult,
        EvalResult,
        HeadsResult,
        InputError,
        Interrupted,
        LanguageAutomaton,
        Model,
        NetworkProof,
        NoAutomaton,
        ProofResult,
        Remark,
        TraceResult,
        Verdict,
        WordsResult,
        check,
        equivalent,
        from_torch,
        from_tracr,
        load,
        load_lines,
        parse,
    )

__all__ = [
    "BoundResult",
    "CheckResult",
    "ClassifyResult",
    "CriticalResult",
    "EquivResult",
    "EvalResult",
    "HeadsResult",
    "InputError",
    "Interrupted",
    "LanguageAutomaton",
    "Model",
    "NetworkProof",
    "NoAutomaton",
    "ProofResult",
    "Remark",
    "TraceResult",
    "Verdict",
    "WordsResult",
    "__version__",
    "check",
    "equivalent",
    "from_torch",
    "from_tracr",
    "load",
    "load_lines",
    "parse",
]


if not TYPE_CHECKING:  # a checker of types shall know every other name as wrong

    def __getattr__(name: str) -> object:
        if name in __all__:
            from hardsim import api

            return getattr(api, name)
        raise AttributeError(f"module 'hardsim' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
