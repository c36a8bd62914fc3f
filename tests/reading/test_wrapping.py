"""Tests of tensor names without the wrappers of training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from hardsim.reading.wrapping import state_dict_of, unwrapped
from tests.reading.folders import DATA, STORED, difference, library_outputs, write_folder
from tests.support.check import ModelOptions, read_input
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import network_of, read_folder

PREFIXES = [
    "module.",
    "_orig_mod.",
    "model.",
    "module._orig_mod.",
    "_orig_mod.module.",
    "model.module.",
    "net.",
    "self.gpt.",
]


def names(*stored: str, said: tuple[str, ...] = ()) -> list[str]:
    return list(unwrapped(stored, said, "here").names.values())


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(
    "name", ["gpt2", "gpt2-own-head", "gpt2-labels", "torch-post", "torch-layer", "hooked", "native"]
)
def test_a_wrapped_network_is_the_same_with_a_note(tmp_path: Path, name: str, prefix: str) -> None:
    weights = load_file(DATA / name / "model.safetensors")
    config = (DATA / name / "config.json").read_text()
    folder = write_folder(tmp_path, {prefix + key: array for key, array in weights.items()}, config)
    given = read_input(folder)
    (note,) = given.remarked
    assert f"every tensor begins with {prefix} (" in note
    for ids, expected in library_outputs(name):
        assert difference(given.network(ModelOptions()).network, ids, expected) < 1e-5


def test_a_network_that_is_not_wrapped_has_no_note() -> None:
    for folder in (DATA / name for name in STORED):
        assert not read_folder(str(folder)).notes


def test_a_part_that_was_wrapped_alone(tmp_path: Path) -> None:
    weights = load_file(DATA / "torch-post" / "model.safetensors")
    config = (DATA / "torch-post" / "config.json").read_text()
    inside = {name.replace("encoder.", "encoder._orig_mod."): array for name, array in weights.items()}
    stored = read_folder(write_folder(tmp_path, inside, config))
    assert "read without _orig_mod. (torch.compile)" in stored.notes[0]
    network, _ = network_of(stored)
    for ids, expected in library_outputs("torch-post"):
        assert difference(network, ids, expected) < 1e-5


@pytest.mark.parametrize("wrapper", ["module.", "_orig_mod.", "model.module."])
def test_mixed_names_are_refused(wrapper: str) -> None:
    start = wrapper.removesuffix("module.").removesuffix("_orig_mod.")
    error = raised(InputError, names, f"{wrapper}a.x", f"{wrapper}b.x", f"{start}c.x", match="some tensors begin with")
    assert f"as {start}c.x" in error.message
    assert "state_dict" in error.hint


def test_two_tensors_never_get_one_name() -> None:
    raised(InputError, names, "a._orig_mod.x", "a.x", "b.x", match="a._orig_mod.x and a.x have the same name")


def test_names_of_the_configuration_are_names_as_stored() -> None:
    assert names("module.a.x", "module.b.x", said=("module.a",)) == ["module.a.x", "module.b.x"]
    assert names("module.a.x", "module.b.x", said=("a", "relu")) == ["a.x", "b.x"]
    assert names("a._orig_mod.x", "b.x", said=("a._orig_mod",)) == ["a._orig_mod.x", "b.x"]


def test_what_is_no_container_stays() -> None:
    kept = ("transformer.wte.weight", "transformer.h.0.ln_1.bias")  # a GPT-2 whose head is its embedding
    assert names(*kept) == list(kept)
    inside = ("transformer.transformer.wte.weight", "transformer.lm_head.weight")
    assert names(*inside) == ["transformer.wte.weight", "lm_head.weight"]
    assert names("layers.0.x", "layers.1.x") == ["layers.0.x", "layers.1.x"]
    assert names("weight") == ["weight"]
    assert names() == []


class Tensor(np.ndarray[Any, Any]):
    """A stand-in for a PyTorch tensor."""


def test_a_checkpoint_holds_one_state_dict() -> None:
    one, two = {"a": np.zeros(1).view(Tensor)}, {"a": np.ones(1).view(Tensor)}
    lightning = {"epoch": 3, "state_dict": one, "optimizer_states": [{"state": {}}], "pytorch-lightning_version": "2.5"}
    found, (note,) = state_dict_of(lightning, Tensor, "here")
    assert found is one
    assert "'state_dict' of a training checkpoint" in note
    assert "epoch, optimizer_states, pytorch-lightning_version beside it are not read" in note
    for key in ("model_state_dict", "model", "anything"):
        assert (
            state_dict_of({key: one, "optimizer_state_dict": {"state": {}, "param_groups": []}}, Tensor, "x")[0] is one
        )
    assert state_dict_of(one, Tensor, "x") == (one, ())
    # nanoGPT keeps a loss, which is a tensor without axes, beside the weights.
    nano = {"model": one, "optimizer": {}, "model_args": {"n_layer": 1}, "best_val_loss": np.array(0.5).view(Tensor)}
    assert state_dict_of(nano, Tensor, "here")[0] is one
    flat = {"model": one, "weight": np.ones(3).view(Tensor)}
    assert state_dict_of(flat, Tensor, "x") == (flat, ())
    assert state_dict_of({"epoch": 3}, Tensor, "x") == ({"epoch": 3}, ())
    raised(InputError, state_dict_of, {"model": one, "ema": two}, Tensor, "x", match="several state dicts are inside")
