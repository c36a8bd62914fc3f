"""Whether Rocq is installed, for tests that run it."""

import pytest

from hardsim.proving.rocq.coqc import find_prover

needs_rocq = pytest.mark.skipif(find_prover() is None, reason="neither coqc nor rocq is on the path")
"""Mark of tests that run Rocq."""
