"""Families of transformers: fixtures that the library wrote, and random networks that it makes and runs."""

from fractions import Fraction
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
from tests.reading.test_huggingface_families import assert_told
from tests.support.model import network_of, read_folder

NEAR, BITS = 1e-5, 256


def near(found: Any, expected: Any) -> bool:
    """Return True if outputs agree relative to the largest of them, if that is above 1."""
    if len(found) != len(expected):
        found = found[-1:]  # of a classifier of sequences
    return bool(np.abs(found - expected).max() < NEAR * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", FAMILIES)
def test_outputs_are_those_that_the_library_stored(name: str) -> None:
    tensors, config, ids, outputs = stored_case(name)
    stored = Stored(name, tensors, config)
    assert near(ball_outputs(network_of(stored)[0], ids), outputs)
    assert_told(stored)


def test_rotary_positions_of_each_kind_of_layers_are_shown() -> None:
    tensors, config, _, _ = stored_case("gemma3")
    stored = Stored("here", tensors, config)
    network_of(stored)
    inside = config["rope_parameters"]
    for kind in ("full_attention", "sliding_attention"):
        assert Fraction(stored.settings.taken[f"{kind}.rope_theta"].value) == inside[kind]["rope_theta"]


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
        assert near(ball_outputs(network, ids, BITS), library_outputs(model, ids))
