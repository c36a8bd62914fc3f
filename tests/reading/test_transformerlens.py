"""TransformerLens: outputs compared with the library's in each of its versions, and everything that is refused."""

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest

from hardsim.reading.tensors import Stored, json_object
from hardsim.reading.transformerlens import is_transformerlens, read_transformerlens
from tests.reading.folders import DATA, STORED, difference, library_outputs
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Activation, Mask, Readout, RootScale, network_of, read_folder

NAMES = [name for name in STORED if not name.startswith(("gpt2", "torch"))]
NATIVE = ["bridge", "native"]


def stored(name: str = "hooked", /, **settings: Any) -> Stored:
    """Return a folder that the library wrote, with other settings."""
    found = read_folder(str(DATA / name))
    return replace(found, config=found.config | settings)


def with_tensors(found: Stored, **arrays: Any) -> Stored:
    """Return a stored network with other tensors, or without those that are None; `__` in a name stands for a dot."""
    named = found.tensors | {name.replace("__", "."): array for name, array in arrays.items()}
    return replace(found, tensors={name: array for name, array in named.items() if array is not None})


def without(found: Stored, *keys: str) -> Stored:
    """Return a stored network without some settings."""
    return replace(found, config={key: value for key, value in found.config.items() if key not in keys})


def refused(found: Stored, match: str) -> None:
    """Assert that a stored network is refused, with a hint."""
    assert raised(InputError, read_transformerlens, found, match=match).hint


# ---- outputs ----


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_those_of_the_library(name: str) -> None:
    network, form = network_of(stored(name))
    assert form.title == "TransformerLens"
    for ids, expected in library_outputs(name):
        assert difference(network, ids, expected) < 1e-5


def test_what_is_left_at_its_default_may_be_missing() -> None:
    needed = {"d_model", "d_head", "n_heads", "n_layers", "n_ctx", "d_vocab", "act_fn", "d_mlp"}
    found = stored()
    network = read_transformerlens(without(found, *(found.config.keys() - needed)))
    ids, expected = library_outputs("hooked")[-1]
    assert difference(network, ids, expected) < 1e-5
    # The defaults are d_model / d_head heads and 4 d_model hidden units; here there are 2 and 7.
    refused(without(found, "n_heads"), r"attn\.W_Q has the shape \[2, 6, 2\], not \[3, 6, 2\]")
    refused(without(found, "d_mlp"), r"mlp\.W_in has the shape \[6, 7\], not \[6, 24\]")


# ---- reports ----


def scales(found: Stored) -> list[RootScale]:
    """Return the scales of the first head of each layer."""
    return [layer.heads[0].scale for layer in read_transformerlens(found).layers]


def test_scores_are_divided_by_what_the_configuration_says() -> None:
    root, half = RootScale(Fraction(1), 2), RootScale(Fraction(2, 5))
    written = json_object(f'{{"attn_scale": {sqrt(2)!r}}}'.encode(), "")["attn_scale"]
    for standard in (None, -1, Fraction(-1), written):
        assert scales(stored(attn_scale=standard)) == [root, root]
        assert scales(stored("native", attn_scale=standard)) == [root, root]
    for name in ("hooked", *NATIVE):
        assert scales(stored(name, attn_scale=Fraction(5, 2))) == [half, half]
        # Near sqrt(2), but not the number that the library writes for it: the reader takes the number literally.
        assert scales(stored(name, attn_scale=Fraction(141421, 100000)))[0] == RootScale(Fraction(100000, 141421))


def test_whether_scores_are_divided_depends_on_the_version() -> None:
    for scale in (-1, Fraction(5, 2)):
        assert scales(stored(use_attn_scale=False, attn_scale=scale)) == [RootScale(), RootScale()]
        for name in NATIVE:
            assert scales(stored(name, use_attn_scale=False, attn_scale=scale))[0] == RootScale(Fraction(1), 2)


def test_scores_may_be_divided_by_the_number_of_the_layer() -> None:
    later = scales(stored(scale_attn_by_inverse_layer_idx=True))
    assert later == [RootScale(Fraction(1), 2), RootScale(Fraction(1, 2), 2)]
    assert scales(stored(scale_attn_by_inverse_layer_idx=True, attn_scale=4))[1] == RootScale(Fraction(1, 8))
    for name in NATIVE:  # there the library ignores the setting
        refused(
            stored(name, scale_attn_by_inverse_layer_idx=True),
            "at scale_attn_by_inverse_layer_idx: expected false, found true",
        )


def test_parts_of_a_network() -> None:
    network = read_transformerlens(stored("hooked-rms"))
    assert network.readout == Readout(at="each", decide="argmax")
    assert network.tokens == ("0", "1", "2", "3", "4")
    assert network.outputs == ("0", "1", "2")
    assert {head.mask for head in network.heads} == {Mask.NONE}
    assert network.final is not None
    assert (network.final.kind, network.final.bias) == ("rms", None)
    assert network.final.epsilon == Fraction(1, 100000)
    assert [head.name for head in network.heads] == ["L0H0", "L0H1", "L1H0", "L1H1"]
    attention = read_transformerlens(stored("hooked-attention"))
    assert [layer.mlp for layer in attention.layers] == [None, None]
    assert [layer.norm_2 for layer in attention.layers] == [None, None]
    assert attention.final is None


def test_tokens_may_be_named() -> None:
    network = read_transformerlens(replace(stored(), vocabulary=tuple("abcde")))
    assert network.tokens == network.outputs == tuple("abcde")
    other = read_transformerlens(replace(stored("hooked-rms"), vocabulary=tuple("abcde")))
    assert (other.tokens, other.outputs) == (tuple("abcde"), ("0", "1", "2"))
    refused(replace(stored(), vocabulary=tuple("abc")), "names 3 tokens, and the network has 5")


def test_one_output_makes_an_acceptor() -> None:
    network = read_transformerlens(stored("native-final-rms"))
    assert network.outputs == ("0",)
    assert network.readout == Readout(at="last", decide="above")


def test_norms_without_parameters() -> None:
    layer = read_transformerlens(stored("hooked-pre")).layers[0]
    assert layer.norm_1 is not None
    assert (layer.norm_1.kind, layer.norm_1.weight, layer.norm_1.bias) == ("layer", None, None)
    bridge = read_transformerlens(stored("bridge-rms"))
    assert bridge.final is not None
    assert (bridge.final.kind, bridge.final.weight) == ("rms", None)


def test_final_norms_depend_on_the_version() -> None:
    assert read_transformerlens(stored("hooked-attention", final_rms=True)).final is None
    final = read_transformerlens(stored("native-final-rms")).final
    assert final is not None
    assert final.kind == "rms"
    assert final.weight is not None


@pytest.mark.parametrize(
    ("name", "kind"),
    [("relu", "RELU"), ("gelu", "GELU"), ("gelu_new", "GELU_NEW"), ("gelu_pytorch_tanh", "GELU_NEW"), ("silu", "SILU")],
)
def test_activations(name: str, kind: str) -> None:
    mlp = read_transformerlens(stored(act_fn=name)).layers[0].mlp
    assert mlp is not None
    assert mlp.activation is Activation[kind]


def test_buffers_are_verified() -> None:
    mask = "blocks__0__attn__mask"
    read_transformerlens(with_tensors(stored(), **{mask: np.tri(10, dtype=bool)}))
    read_transformerlens(with_tensors(stored(), **{mask: None, "blocks__1__attn__IGNORE": None}))
    local = np.tri(10) - np.tri(10, k=-3)
    refused(with_tensors(stored(), **{mask: local}), r"blocks\.0\.attn\.mask is not the causal mask of 10 positions")
    refused(with_tensors(stored(), blocks__1__attn__IGNORE=np.zeros(())), r"blocks\.1\.attn\.IGNORE is not one number")
    refused(with_tensors(stored("bridge"), **{mask: np.tri(10)}), r"not understood: blocks\.0\.attn\.mask")


def test_a_bias_of_the_unembedding_may_be_missing() -> None:
    assert read_transformerlens(with_tensors(stored(), unembed__b_U=None)).unembedding_bias is None
    assert read_transformerlens(with_tensors(stored("bridge"), unembed__bias=None)).unembedding_bias is None
    assert read_transformerlens(stored("native")).unembedding_bias is None
    biased = read_transformerlens(with_tensors(stored("native"), head__bias=np.arange(5.0)))
    assert biased.unembedding_bias is not None
    assert biased.unembedding_bias.tolist() == [0, 1, 2, 3, 4]


# ---- refusals ----


def test_which_folders_are_recognised() -> None:
    assert is_transformerlens(stored())
    assert is_transformerlens(replace(stored(), config={}))
    assert is_transformerlens(replace(stored(), tensors={}))
    assert not is_transformerlens(replace(stored(), tensors={}, config={}))
    assert not is_transformerlens(stored(model_type="gpt2"))


@pytest.mark.parametrize("name", ["hooked", *NATIVE])
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"positional_embedding_type": "sinusoidal"}, 'at positional_embedding_type: expected .*, found "sinusoidal"'),
        ({"positional_embedding_type": "rotary"}, r"a tensor that is not understood: pos\w*\.\w+"),
        ({"attention_dir": "backwards"}, 'at attention_dir: expected .*, found "backwards"'),
        ({"normalization_type": "Batch"}, 'at normalization_type: expected .*, found "Batch"'),
        ({"act_fn": "solu"}, 'at act_fn: expected .*, found "solu"'),
        ({"act_fn": "solu_ln"}, 'at act_fn: expected .*, found "solu_ln"'),
        ({"act_fn": "gelu_fast"}, 'at act_fn: expected .*, found "gelu_fast"'),
        ({"act_fn": None}, 'at act_fn: expected one of "relu", "gelu", .*, found null'),
        ({"use_local_attn": True, "window_size": 3}, "at (use_local_attn|attn_types): expected .*, found (true|null)"),
        ({"parallel_attn_mlp": True, "attn_only": True}, "at parallel_attn_mlp: expected false.*, found true"),
        ({"gated_mlp": True, "act_fn": "silu"}, r"mlp\.(W_gate|gate\.weight) is missing"),
        (
            {"use_normalization_before_and_after": True},
            "at use_normalization_before_and_after: expected false.*, found true",
        ),
        ({"post_embedding_ln": True}, "at post_embedding_ln: expected .*, found true"),
        ({"use_qk_norm": True}, r"at use_qk_norm: expected .*, found true|attn\.q_norm\.w is missing"),
        ({"load_in_4bit": True}, "at load_in_4bit: expected .*, found true"),
        ({"rmsnorm_uses_offset": True}, "at rmsnorm_uses_offset: expected .*, found true"),
        ({"use_attention_sinks": True}, "at use_attention_sinks: expected .*, found true"),
        ({"use_logn_attn": True}, "at use_logn_attn: expected .*, found true"),
        ({"scale_embedding": True}, "at scale_embedding: expected .*, found true"),
        ({"n_key_value_heads": 3}, "at n_key_value_heads: expected a divisor of n_heads, 2, found 3"),
        ({"n_key_value_heads": 1}, r"attn\._W_K is missing|attn\.k\.weight has the shape"),
        ({"num_experts": 2, "experts_per_token": 1}, r"not understood: num_experts \(2\), experts_per_token \(1\)"),
        ({"clip_qkv": 8}, r"a setting that is not understood: clip_qkv \(8\)"),
        ({"rope_scaling": {"factor": 2}}, "a setting that is not understood: rope_scaling"),
        ({"relative_attention_num_buckets": 4}, "not understood: relative_attention_num_buckets"),
        ({"attn_scores_soft_cap": "no"}, 'at attn_scores_soft_cap: expected a number.*, found "no"'),
        (
            {"architecture": "GPT2LMHeadModel"},
            'at architecture: expected TransformerLensNative, found "GPT2LMHeadModel"',
        ),
        ({"attn_scale": 0}, "at attn_scale: expected a positive number.*, found 0"),
        ({"attn_scale": Fraction(-2)}, r"at attn_scale: expected a positive number.*, found -2\.0"),
        ({"attn_scale": "sqrt"}, 'at attn_scale: expected a number.*, found "sqrt"'),
        ({"eps": Fraction(-1, 10)}, r"at eps: expected a number that is at least 0.*, found -0\.1"),
        ({"d_model": None}, "at d_model: expected an integer from 1 to 20000000, found null"),
        ({"n_heads": -1, "d_head": 4}, "at n_heads: expected an integer that is at least 1, found -1"),
        ({"n_heads": 3, "n_key_value_heads": None}, r"attn\.(W_Q|q\.weight) has the shape .*, not .*"),
        ({"d_vocab": -1}, "at d_vocab: expected an integer from 1 to 20000000.*, found -1"),
        ({"d_vocab": 6}, r"\(d_vocab, d_model\)"),
        ({"n_ctx": 12}, r"\[10, 6\], not \[12, 6\] \(n_ctx, d_model\)|not the causal mask of 12"),
        ({"d_mlp": 8}, r"has the shape .*7.*, not .*8"),
        ({"d_vocab_out": 3}, r"\(d_vocab_out, or d_vocab, and d_model\)"),
        ({"n_layers": 1}, r"tensors that are not understood: "),
        ({"n_layers": 3}, r"(blocks|layers)\.2\.attn\.\S+ is missing"),
        ({"attn_only": True}, r"tensors that are not understood: .*ln2"),
        ({"normalization_type": None}, r"tensors that are not understood: .*ln1"),
    ],
)
def test_settings_are_refused(name: str, settings: dict[str, Any], said: str) -> None:
    refused(stored(name, **settings), said)


@pytest.mark.parametrize("key", ["d_model", "d_head", "n_layers", "n_ctx", "d_vocab", "act_fn"])
def test_a_missing_setting_is_named(key: str) -> None:
    refused(without(stored(), key), f"config.json: at {key}: expected .*, found nothing")


@pytest.mark.parametrize("name", ["hooked", "hooked-rms", "hooked-attention", *NATIVE])
def test_a_missing_tensor_is_named(name: str) -> None:
    for tensor in stored(name).tensors:
        if not tensor.endswith(("mask", "IGNORE", "unembed.b_U", "unembed.bias")):
            refused(with_tensors(stored(name), **{tensor: None}), f"the tensor {tensor} is missing")


def test_other_tensors_are_refused() -> None:
    refused(with_tensors(stored(), rotary__sin=np.ones(2)), r"not understood: rotary\.sin")
    refused(with_tensors(stored(), blocks__0__mlp__W_gate=np.ones((6, 7))), r"not understood: blocks\.0\.mlp\.W_gate")
    refused(with_tensors(stored(), blocks__0__ln1_post__w=np.ones(6)), r"not understood: blocks\.0\.ln1_post\.w")


def test_as_many_keys_as_heads_are_no_groups() -> None:
    for name in NATIVE:
        ids, expected = library_outputs(name)[-1]
        assert difference(read_transformerlens(stored(name, n_key_value_heads=2)), ids, expected) < 1e-5
