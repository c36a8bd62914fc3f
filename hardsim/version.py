"""The version of hardsim, and the name under which it is installed: both are stated here alone."""

__version__ = "0.1.0"

DISTRIBUTION = "hardsim-transformers"
"""What pip knows this package as: on the public index, `hardsim` is another project."""


def install_hint(extra: str) -> str:
    """What to type for an optional dependency that is missing."""
    return f"Install it, in the directory of hardsim's README: pip install '.[{extra}]'"
