"""Families of Hugging Face: outputs compared with those of the libraries, in balls."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import ctx

from hardsim.reading.huggingface import known
from hardsim.reading.tensors import Stored
from hardsim.run.dense_exact import DenseForward
from tests.reading.folders import SHARED
from tests.support.causal_families import CASES, FamilyCase
from tests.support.model import BallArithmetic, Network, network_of, read_folder

FOLDERS = SHARED / "architectures"
NAMES = ["gpt2_nope", "gpt_neox", "gptj", "gpt_neo", "llama", "qwen2"]


def stored(case: FamilyCase, **changes: Any) -> Stored:
    """Return a stored network as it is read from files: decimals are Fractions."""
    config = json.loads(json.dumps(case.config | changes), parse_float=Fraction)
    return Stored("here", case.tensors, config)


def evaluated(network: Network, ids: list[int]) -> Any:
    """Return the outputs at each position, from balls of 80 bits."""
    balls = BallArithmetic(80)
    rows = DenseForward(network, balls).run(len(ids), ids, range(len(ids)))
    with ctx.workprec(80):
        return np.array([[float(value.mid()) for value in row] for row in rows])


@pytest.mark.skipif(not FOLDERS.is_dir(), reason="the networks of the libraries lie beside the project")
@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_those_of_the_library(name: str) -> None:
    found = read_folder(str(FOLDERS / name))
    network, form = network_of(found)
    assert_told(found)
    assert form.title.startswith("Hugging Face ")
    for case in json.loads((FOLDERS / name / "reference.json").read_text())["cases"]:
        assert np.abs(evaluated(network, case["ids"]) - np.array(case["outputs"])).max() < 1e-5


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_of_the_definition(name: str) -> None:
    case, ids = CASES[name](), [0, 3, 1, 4, 4, 2]
    found = stored(case)
    expected = case.outputs(ids)
    assert np.abs(evaluated(network_of(found)[0], ids) - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())
    assert_told(found)


SIZES = {
    "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_layers", "n_embd",
    "n_inner", "n_layer", "n_layers", "d_model", "ffn_dim", "ffn_hidden_size", "word_embed_proj_dim",
    "n_positions", "n_ctx", "max_position_embeddings",
}  # fmt: skip


def assert_told(found: Stored) -> None:
    """Assert that `show` tells every setting that was used, sizes apart."""
    assert found.settings.taken.keys() <= SIZES | set(known.SAID)
