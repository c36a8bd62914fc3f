"""The compiled Rocq library for slow tests."""

import pytest

from tests.support.rocq_theorems import Rocq, rocq_in


@pytest.fixture(scope="session")
def rocq(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Rocq:
    """Return the installed Rocq with the compiled library, which all processes of the session share. Skips the test if
    there is none."""
    base = tmp_path_factory.getbasetemp()
    return rocq_in((base if worker_id == "master" else base.parent) / "rocq_library")
