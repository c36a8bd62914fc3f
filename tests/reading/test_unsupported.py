"""Networks of other libraries, recognised by the names of their tensors."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from hardsim.reading.huggingface.families import CAUSAL, ENCODERS
from hardsim.reading.huggingface.unread import REASONS
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
    "model.encoder.layers.0.fc1.weight": "an encoder with a decoder .BART",
    "model.layers.0.self_attn.q_proj.qweight": "quantised weights .GPTQ, AWQ",
    "model.layers.0.self_attn.q_proj.weight.absmax": "quantised weights",
    "model.layers.0.self_attn.q_proj.SCB": "quantised weights",
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


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("t5", "encoder with a decoder"),
        ("mixtral", "mixture of experts"),
        ("mamba", "recurrent layers"),
        ("deberta-v2", "relative positions"),
        ("gemma3", "images or sound"),
        ("mobilebert", "bottlenecks"),
    ],
)
def test_families_that_are_not_read_say_why(kind: str, match: str) -> None:
    stored = made_up({"a": np.ones(1)}, {"model_type": kind})
    error = raised(InputError, network_of, stored, match=f'at model_type: the family "{kind}" is not read')
    assert match in error.hint


def test_a_family_is_read_or_not() -> None:
    assert not REASONS.keys() & {family.model_type for family in (*CAUSAL, *ENCODERS)}


@pytest.mark.parametrize(
    ("method", "named"), [("gptq", "(gptq)"), ("awq", "(awq)"), ("bitsandbytes", "(bitsandbytes)")]
)
def test_quantised_weights_are_refused_by_name(method: str, named: str) -> None:
    config = {"model_type": "llama", "quantization_config": {"quant_method": method, "bits": 4}}
    error = raised(InputError, network_of, made_up({"a": np.ones(1)}, config), match="the weights are quantised")
    assert f"({method})" in error.message
    assert "dequantize()" in error.hint
