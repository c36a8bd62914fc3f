"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# How long one example takes depends on coverage and on what else the machine does: it is no property of the code.
settings.register_profile("hardsim", deadline=None)
settings.load_profile("hardsim")
