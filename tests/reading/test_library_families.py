"""Families of transformers: fixtures that the library wrote, and random networks that it makes and runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.reading.tensors import Stored
from tests.reading.folders import ball_outputs
from tests.reading.library_families import (
    FAMILIES,
    drawn_ids,
    library_model,
    library_outputs,
    stored_case,
)
from tests.support.model import network_of, read_folder

NEAR = 1e-5


def near(found: Any, expected: Any) -> bool:
    """Return True if outputs agree relative to the largest of them, if that is above 1."""
    if len(found) != len(expected):
        found = found[-1:]  # of a classifier of sequences
    return bool(np.abs(found - expected).max() < NEAR * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", FAMILIES)
def test_outputs_are_those_that_the_library_stored(name: str) -> None:
    tensors, config, ids, outputs = stored_case(name)
    assert near(ball_outputs(network_of(Stored(name, tensors, config))[0], ids), outputs)


CASES = [(name, seed) for name, family in FAMILIES.items() for seed in range(family.seeds)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_outputs_are_those_of_the_library(name: str, seed: int, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    model = library_model(name, seed)
    model.save_pretrained(tmp_path)
    network = network_of(read_folder(str(tmp_path)))[0]
    for size in (1, 5, 11):
        ids = drawn_ids(model, seed, size)
        assert near(ball_outputs(network, ids), library_outputs(model, ids))
