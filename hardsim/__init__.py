"""hardsim: does this soft-attention transformer do what the hard-attention theory says?

The names of `hardsim.api` are available here and imported on first use, so that `import hardsim` costs nothing.
"""

from __future__ import annotations

from hardsim.version import __version__

TYPE_CHECKING = False  # importing typing would be most of the cost
if TYPE_CHECKING:
    from typing import Any

    from hardsim.api import CheckOptions, CheckResult, Formula, Model, check, load, parse

__all__ = ["CheckOptions", "CheckResult", "Formula", "Model", "__version__", "check", "load", "parse"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from hardsim import api

        return getattr(api, name)
    raise AttributeError(f"module 'hardsim' has no attribute '{name}'")
