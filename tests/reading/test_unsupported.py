"""Networks of other libraries, recognised by the names of their tensors."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from hardsim.reading.huggingface.families import instead
from hardsim.reading.unsupported import unsupported_network
from tests.reading.folders import made_up
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import network_of, read_folder

NAMES = {
    "net.attn_layers.layers.0.1.to_q.weight": "x-transformers",
    "attn_layers.layers.3.0.0.gamma": "x-transformers",
    "base_model.model.transformer.h.0.attn.c_attn.lora_A.default.weight": "LoRA",
    "transformer.h.0.attn.c_attn.base_layer.weight": "LoRA",
    "backbone.layers.0.mixer.A_log": "Mamba",
    "rwkv.blocks.0.attention.time_decay": "RWKV",
    "encoder.block.0.layer.0.SelfAttention.q.weight": "T5",
    "model.layers.0.mlp.experts.0.up_proj.weight": "experts",
}


@pytest.mark.parametrize("name", list(NAMES))
def test_networks_of_other_libraries_are_named(tmp_path: Path, name: str) -> None:
    tensors = {name: np.ones(2), "token_emb.emb.weight": np.ones((3, 2))}
    error = raised(InputError, network_of, made_up(tensors, {"model_type": "gpt2"}), match=NAMES[name])
    assert name in error.message
    assert error.hint
    # Without a configuration, too.
    save_file(tensors, tmp_path / "model.safetensors")
    raised(InputError, read_folder, str(tmp_path / "model.safetensors"), match=NAMES[name])


def test_others_are_not_recognised() -> None:
    for names in (["transformer.h.0.attn.c_attn.weight"], ["blocks.0.attn.W_Q"], ["layers.0.self_attn.in_proj_weight"]):
        assert unsupported_network("net", names) is None


@pytest.mark.parametrize(("kind", "match"), [("t5", "encoder with a decoder"), ("albert", "after their norm")])
def test_families_that_are_not_read_say_why(kind: str, match: str) -> None:
    assert match in instead(kind)
    error = raised(InputError, network_of, made_up({"a": np.ones(1)}, {"model_type": kind}), match="at model_type")
    assert match in error.hint
