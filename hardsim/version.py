"""The version of hardsim, and the name under which pip installs it; both are defined only here."""

__version__ = "0.1.0"

DISTRIBUTION = "hardsim-transformers"
"""Name of the distribution in pip; on the public index, `hardsim` is another project."""


def install_hint(extra: str) -> str:
    """Return the advice on how to install a missing optional dependency."""
    return f"Install it, in the directory of hardsim's README: pip install '.[{extra}]'"
