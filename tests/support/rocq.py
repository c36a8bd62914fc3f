"""A mark for tests that run Rocq, where it is installed."""

import pytest

from hardsim.proving.rocq.coqc import find_prover

needs_rocq = pytest.mark.skipif(find_prover() is None, reason="neither coqc nor rocq is on the path")
"""Mark of tests that run Rocq."""
