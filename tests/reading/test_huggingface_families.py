"""Families of Hugging Face: outputs compared with those of the libraries, in balls."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.network.blocks import standard_slopes
from hardsim.network.reader import read_json
from hardsim.reading.huggingface import known
from hardsim.reading.huggingface.families import CAUSAL
from hardsim.reading.network_json import network_json, read_network_json
from hardsim.reading.tensors import Stored
from hardsim.reading.wrapping import BODIES, BODY
from tests.reading.folders import DATA, SHARED, evaluated, write_folder
from tests.reading.library_families import stored_case
from tests.support.causal_families import CASES, D, FamilyCase
from tests.support.language import InputError, OutOfRange
from tests.support.mistakes import raised
from tests.support.model import Activation, Network, Readout, RootScale, network_of, read_folder

FOLDERS = SHARED / "architectures"
NAMES = ["gpt2_nope", "gpt_neox", "gptj", "gpt_neo", "llama", "qwen2"]


def stored(case: FamilyCase, **changes: Any) -> Stored:
    """Return a stored network as it is read from files: decimals are Fractions."""
    config = json.loads(json.dumps(case.config | changes), parse_float=Fraction)
    return Stored("here", case.tensors, config)


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


@pytest.mark.parametrize("name", ["olmo2", "olmo2-grouped", "qwen3", "llama"])
def test_parameters_that_heads_share_count_once(name: str) -> None:
    """Heads of OLMo 2 norm the queries and the keys of all heads together. No parameter of these cases is 0, and none
    is tied."""
    case = CASES[name]()
    network, _ = network_of(stored(case))
    assert network.parameters == sum(map(np.count_nonzero, case.tensors.values())) < network.weights


SIZES = {
    "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_layers", "n_embd",
    "n_inner", "n_layer", "n_layers", "d_model", "ffn_dim", "ffn_hidden_size", "intermediate_multiple_size",
    "word_embed_proj_dim", "n_positions", "dff", "type_vocab_size", "embedding_size", "n_ctx",
    "max_position_embeddings",
}  # fmt: skip


def assert_told(found: Stored) -> None:
    """Assert that `show` tells every setting that was used, sizes apart."""
    assert found.settings.taken.keys() <= SIZES | set(known.SAID)


# ---- heads ----

CLASSIFIERS = [("llama", "LlamaForSequenceClassification"), ("gpt_neox", "GPTNeoXForSequenceClassification")]


def headed(case: FamilyCase, *heads: str, **changes: Any) -> Stored:
    """Return a network with other heads: tensors of random numbers."""
    unembeddings = ("lm_head.weight", "lm_head.bias", "embed_out.weight")
    tensors = {name: array for name, array in case.tensors.items() if name not in unembeddings}
    numbers = np.random.default_rng(3)
    more = {name: numbers.normal(size=(3, D) if name.endswith("weight") else (3,)) for name in heads}
    return stored(FamilyCase(case.config, tensors | more, case.body), **changes)


@pytest.mark.parametrize(("name", "architecture"), CLASSIFIERS)
def test_a_classifier_of_sequences_reads_the_last_token_that_is_not_padding(name: str, architecture: str) -> None:
    case, ids = CASES[name](), [2, 0, 1]
    for stated in ([architecture], None):
        found = headed(case, "score.weight", pad_token_id=4, architectures=stated)
        network = network_of(found)[0]
        assert network.readout == Readout(at="last", decide="argmax", padding="4")
        assert network.symbols == ("0", "1", "2", "3")
        expected = case.body(case.config, case.tensors, ids) @ found.tensors["score.weight"].T
        assert np.abs(evaluated(network, ids) - expected).max() < 1e-9
    assert network_of(headed(case, "score.weight"))[0].readout.padding is None


def test_the_default_of_padding_is_that_of_the_family() -> None:
    opt = CASES["opt"]()
    assert network_of(headed(opt, "score.weight"))[0].readout.padding == "1"
    assert network_of(headed(opt, "score.weight", pad_token_id=None))[0].readout.padding is None
    assert network_of(headed(CASES["gemma"](), "score.weight"))[0].readout.padding == "0"


@pytest.mark.parametrize("tensor", ["score", "classifier"])
def test_a_classifier_of_tokens_has_one_of_two_names(tensor: str) -> None:
    case, ids = CASES["gpt_neox"](), [2, 0, 1]
    for stated in (["GPTNeoXForTokenClassification"], None):
        found = headed(case, f"{tensor}.weight", f"{tensor}.bias", architectures=stated)
        network = network_of(found)[0]
        assert network.readout == Readout(at="each", decide="argmax")
        expected = case.body(case.config, case.tensors, ids) @ found.tensors[f"{tensor}.weight"].T
        assert np.abs(evaluated(network, ids) - expected - found.tensors[f"{tensor}.bias"]).max() < 1e-9


def test_a_classifier_has_no_cap_and_no_scale_of_outputs() -> None:
    gemma, cohere = (headed(CASES[name](), "score.weight") for name in ("gemma2", "cohere"))
    assert network_of(gemma)[0].output_cap is None
    assert np.array_equal(network_of(cohere)[0].unembedding.T, cohere.tensors["score.weight"])


@pytest.mark.parametrize(("name", "kind"), [("llama", "Llama"), ("opt", "OPT"), ("gemma2", "Gemma2")])
def test_a_base_model_has_no_outputs(name: str, kind: str) -> None:
    case = CASES[name]()
    error = refused(headed(case, architectures=[f"{kind}Model"]), "at architectures: expected one of")
    assert f'"architectures": ["{kind}ForCausalLM"]' in error.hint
    bare = {tensor.removeprefix("model."): array for tensor, array in headed(case).tensors.items()}
    bare = {tensor.removeprefix("decoder."): array for tensor, array in bare.items()}
    refused(replace(headed(case), tensors=bare), f"no tensor of a head, .* this seems to be {kind}Model")


def test_an_unembedding_of_its_own_is_there() -> None:
    refused(headed(CASES["gpt_neox"]()), r"embed_out\.weight is missing, and tie_word_embeddings is false")
    tied = network_of(headed(CASES["llama"](), tie_word_embeddings=True))[0]
    assert np.array_equal(tied.unembedding, tied.embedding.T)


@pytest.mark.parametrize("name", ["opt", "starcoder2", "bloom", "gpt_neox"])
def test_a_body_is_no_wrapper(name: str, tmp_path: Path) -> None:
    """A head that is the embedding has no tensor, so that all names begin with that of the body."""
    case = CASES[name]()
    tied = replace(case, tensors={key: array for key, array in case.tensors.items() if key != "embed_out.weight"})
    found = read_folder(write_folder(tmp_path, tied.tensors, case.config | {"tie_word_embeddings": True}))
    assert not found.notes
    network = network_of(found)[0]
    lightning = {f"model.{key}": array for key, array in tied.tensors.items()}
    wrapped = read_folder(write_folder(tmp_path, lightning, case.config | {"tie_word_embeddings": True}))
    assert "every tensor begins with model. (" in wrapped.notes[0]
    assert np.array_equal(evaluated(network, [2, 0]), evaluated(network_of(wrapped)[0], [2, 0]))


def test_the_names_of_bodies_are_known() -> None:
    assert {family.model_type: BODIES.get(family.model_type, BODY) for family in CAUSAL} == {
        family.model_type: family.prefix.split(".")[0] for family in CAUSAL
    }
    assert BODIES.keys() <= {family.model_type for family in CAUSAL}


# ---- configurations ----


def same(name: str, drop: str = "", **changes: Any) -> None:
    """Assert that other settings, and without those named in `drop`, mean the same network."""
    case = CASES[name]()
    found = stored(case, **changes)
    found = replace(found, config={key: value for key, value in found.config.items() if key not in drop.split()})
    network = network_of(found)[0]
    assert np.abs(evaluated(network, [1, 3, 0, 2]) - case.outputs([1, 3, 0, 2])).max() < 1e-9


def test_rotary_positions_are_stated_as_in_versions_4_and_5() -> None:
    inside = {"rope_type": "linear", "factor": 2.5, "rope_theta": 50}
    same("llama", "rope_theta rope_scaling", rope_parameters=inside)
    same("llama", rope_scaling={"rope_type": "linear", "factor": 2.5})
    inside = {"rope_type": "default", "rope_theta": 100, "partial_rotary_factor": 0.5}
    same("gpt_neox", "rotary_pct rotary_emb_base", rope_parameters=inside)
    same("gpt_neox", "rotary_pct rotary_emb_base", partial_rotary_factor=0.5, rope_theta=100)
    same("stablelm", "partial_rotary_factor", rope_parameters={"partial_rotary_factor": 1})
    same("gpt_neox", rope_scaling={"type": "default"}, max_position_embeddings=99)
    same("gpt_neox", partial_rotary_factor=0.5, rope_theta=100)


def test_windows_are_stated_by_layer() -> None:
    same("qwen2", use_sliding_window=True, layer_types=["full_attention", "sliding_attention"])
    same("gemma2", layer_types=["sliding_attention", "full_attention"])
    same("mistral-no-window", sliding_window=4)


def test_null_is_not_the_default_everywhere() -> None:
    def read(name: str, **changes: Any) -> Network:
        return network_of(stored(CASES[name](), **changes))[0]

    def heads(name: str, **changes: Any) -> Any:
        return read(name, **changes).heads

    assert {head.window for head in heads("mistral")} == {3}
    assert {head.window for head in heads("mistral", sliding_window=None)} == {None}
    assert {head.cap for head in heads("gemma2", attn_logit_softcapping=None)} == {None}
    assert read("gemma2", final_logit_softcapping=None).output_cap is None
    case = CASES["gemma2"]()
    for key in ("attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar", "sliding_window"):
        case.config.pop(key)
    network = network_of(stored(case))[0]
    assert network.output_cap == 30
    assert {head.cap for head in network.heads} == {Fraction(50)}
    assert [head.window for head in network.heads[::2]] == [4096, None]
    assert {head.scale.rational for head in network.heads} == {Fraction(1, 16)}
    assert network.embedding_scale == RootScale(Fraction(D), D)


def test_weights_of_norms_are_exactly_1_more() -> None:
    case = CASES["gemma"]()
    case.tensors["model.norm.weight"][:2] = 1e-30, 0.5
    final = network_of(stored(case))[0].final
    assert final is not None
    assert final.weight is not None
    tiny = Fraction(float(np.float32(1e-30)))
    assert final.weight[:2].tolist() == [1 + tiny, Fraction(3, 2)]


def test_slopes_of_other_numbers_of_heads() -> None:
    exponents = [Fraction(2), 4, 6, 8, 1, 3]
    assert [bias.exponent for bias in standard_slopes(6)] == exponents
    assert [bias.exponent for bias in standard_slopes(1)] == [8]
    assert [bias.exponent for bias in standard_slopes(16)][:2] == [Fraction(1, 2), 1]


def test_buffers_of_older_versions_are_checked() -> None:
    case = CASES["gpt_neox"]()
    name, mask = "gpt_neox.layers.1.attention.", np.tri(2048, dtype=bool)[None, None]
    good = {f"{name}bias": mask, f"{name}masked_bias": np.array(-1e9), f"{name}rotary_emb.inv_freq": np.ones(1)}
    found = stored(case)
    network_of(replace(found, tensors=found.tensors | good))
    wrong = found.tensors | {f"{name}rotary_emb.inv_freq": np.full(1, 0.5)}
    refused(replace(found, tensors=wrong), r"inv_freq does not hold the rotary frequencies that the configuration")
    linear = stored(CASES["llama"]())
    plain = np.array([1.0, 50 ** (-1 / 3), 50 ** (-2 / 3)])
    for array in (plain, plain / 2.5, plain.astype(np.float16)):
        network_of(replace(linear, tensors=linear.tensors | {"model.layers.0.self_attn.rotary_emb.inv_freq": array}))


@pytest.mark.skipif(not FOLDERS.is_dir(), reason="the networks of the libraries lie beside the project")
def test_masks_of_windows_are_checked() -> None:
    found = read_folder(str(FOLDERS / "gpt_neo"))
    mask = np.tri(32, dtype=bool)
    window = mask ^ np.tri(32, k=-4, dtype=bool)
    for layer, array in ((0, mask), (1, window)):
        network_of(replace(found, tensors=found.tensors | {f"transformer.h.{layer}.attn.attention.bias": array}))
    wrong = found.tensors | {"transformer.h.1.attn.attention.bias": mask}
    refused(replace(found, tensors=wrong), r"attention\.bias is not the causal window-4 mask of 32 positions")


# ---- refusals ----


def refused(found: Stored, match: str) -> InputError:
    """Assert that a stored network is refused, with a hint; return the error."""
    error = raised(InputError, network_of, found, match=match)
    assert error.hint
    return error


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("llama", {"rope_scaling": {"rope_type": "mrope", "factor": 8}}, r"rope_scaling\.rope_type: .*found \"mrope\""),
    ("llama", {"rope_scaling": {"rope_type": "llama3", "factor": 8}}, r"rope_scaling\.low_freq_factor: expected a num"),
    (
        "llama",
        {"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4}},
        r"rope_scaling\.low_freq_factor: expected a number below high_freq_factor, 4",
    ),
    ("llama", {"rope_scaling": {"type": "yarn", "factor": 0}}, r"rope_scaling\.factor: expected a number above 0"),
    (
        "llama",
        {"rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 2}},
        "rotary scaling .yarn. of the base 1",
    ),
    (
        "llama",
        {"rope_scaling": {"type": "longrope", "factor": 2, "short_factor": [1]}},
        r"rope_scaling\.short_factor: expected an array of 3",
    ),
    ("gemma3", {"rope_parameters": {"rope_theta": 7}}, "expected an object with full_attention and sliding_attention"),
    ("gemma3", {"attn_logit_softcapping": 3}, "at attn_logit_softcapping: expected null"),
    (
        "olmo3",
        {"rope_parameters": None, "rope_theta": 7, "layer_types": ["sliding_attention"] * 3},
        "at rope_theta: expected 500000: versions of transformers",
    ),
    ("modernbert", {"rope_parameters": None, "rope_theta": 7}, r"not understood: rope_theta \(7\)"),
    ("albert", {"net_structure_type": 1}, "at net_structure_type: expected 0"),
    ("smollm3", {"no_rope_layers": [1, 2]}, "at no_rope_layers: expected an array of"),
    ("granite", {"logits_scaling": 0}, "at logits_scaling: expected a number other than 0"),
    ("nemotron", {"hidden_act": "sigmoid"}, "at hidden_act: expected one of .*relu2"),
    (
        "nanochat",
        {"rope_parameters": {"rope_type": "yarn", "factor": 2}},
        "expected a rotary scaling whose cosines and sines have the factor 1",
    ),
    ("llama", {"rope_scaling": {"type": "linear"}}, r"rope_scaling\.factor: expected a number"),
    ("llama", {"rope_scaling": {"type": "linear", "factor": 2, "beta": 1}}, r"not understood: beta \(1\)"),
    ("llama", {"rope_parameters": {"rope_theta": 1}}, "at rope_scaling: expected null"),
    ("llama", {"num_key_value_heads": 3}, "at num_key_value_heads: expected a divisor of num_attention_heads, 4"),
    ("llama", {"head_dim": None}, r"q_proj\.weight has the shape \[24, 8\], not \[8, 8\] \(heads times their width\)"),
    ("llama", {"attention_bias": False}, r"not understood: model\.layers\.0\.self_attn\.q_proj\.bias"),
    ("llama", {"sliding_window": 3}, r"a setting that is not understood: sliding_window \(3\)"),
    ("llama", {"num_experts": 3}, r"a setting that is not understood: num_experts \(3\)"),
    ("mistral", {"num_attention_heads": 3}, "at num_attention_heads: expected a divisor of hidden_size, 8, found 3"),
    ("mistral", {"sliding_window": 0}, "at sliding_window: expected an integer"),
    ("qwen3", {"layer_types": [["full_attention"], {}]}, "at layer_types: expected an array of 2 names"),
    ("llama", {"rope_theta": 10**400}, "at rope_theta: expected a number of at most 10.300"),
    ("llama", {"rope_theta": -1}, "at rope_theta: expected a base and a factor above 0"),
    ("llama", {"num_hidden_layers": 10**9}, "at num_hidden_layers: expected an integer"),
    ("qwen3", {"layer_types": ["full_attention"]}, "at layer_types: expected an array of 2 names"),
    ("qwen3", {"layer_types": ["linear_attention"] * 2}, "at layer_types: expected an array of 2 names"),
    ("qwen3", {"use_sliding_window": False}, "at sliding_window: expected the window of the layers"),
    ("gemma2", {"attn_logit_softcapping": 0}, "at attn_logit_softcapping: expected a number above 0, or null"),
    ("gemma2", {"query_pre_attn_scalar": -1}, "at query_pre_attn_scalar: expected a number above 0"),
    ("gemma2", {"use_bidirectional_attention": True}, "not understood: use_bidirectional_attention"),
    ("gemma", {"hidden_act": "relu"}, "at hidden_activation: expected the function of hidden_act"),
    ("gemma", {"hidden_activation": "relu"}, "at hidden_activation: expected the function of hidden_act"),
    ("gemma2", {"hidden_act": "relu"}, "at hidden_act: expected the function of hidden_activation"),
    ("gpt_neox", {"rotary_pct": 0.8}, "at rotary_pct: expected a share that turns an even number of the 4 coordinates"),
    (
        "gpt_neox",
        {
            "rotary_pct": 0.8,
            "rope_parameters": {"rope_type": "default", "rope_theta": 100, "partial_rotary_factor": 0.8},
        },
        "partial_rotary_factor: expected a share that turns an even number of the 4 coordinates of a key, found 0.8",
    ),
    ("gpt_neox", {"rope_theta": 7}, "at rotary_emb_base: expected the same number as the other rope_theta, 7"),
    (
        "llama",
        {"rope_scaling": {"rope_theta": 7}},
        "at rope_theta: expected the same number as the other rope_theta, 7",
    ),
    ("mistral", {"partial_rotary_factor": 0.5}, "at partial_rotary_factor: expected 1, since networks of this"),
    (
        "qwen3",
        {"rope_parameters": {"partial_rotary_factor": 0}},
        r"at rope_parameters\.partial_rotary_factor: expected 1",
    ),
    ("llama", {"is_causal": False}, "at is_causal: expected true"),
    ("codegen", {"n_head": 2}, "at n_head: expected a multiple of 4"),
    ("codegen", {"rotary_dim": None}, "at rotary_dim: expected an even number of at most the width of a head, 2"),
    ("opt", {"ffn_dim": None}, "at ffn_dim: expected an integer"),
    ("opt", {"enable_bias": False}, "not understood: .*bias"),
    ("bloom", {"n_inner": 7}, "at n_inner: expected 32"),
    ("falcon", {"num_attention_heads": 8, "alibi": True, "num_kv_heads": 3}, "self_attention"),
    ("falcon-new", {"num_kv_heads": 3}, "at num_kv_heads: expected a divisor of num_attention_heads, 4"),
    ("falcon-new", {"parallel_attn": False}, "at parallel_attn: expected true"),
    ("falcon", {"num_ln_in_parallel_attn": 2}, "at num_ln_in_parallel_attn: expected 1, or 2 with"),
    ("mpt", {"attn_config": {"clip_qkv": 6}}, r"at attn_config\.clip_qkv: expected null"),
    ("mpt", {"attn_config": {"alibi": False}}, r"at attn_config\.alibi: expected true"),
    ("mpt", {"attn_config": {"new": 1}}, r"not understood: new \(1\)"),
    ("gpt_neox_japanese", {"rope_theta": 7}, "at rope_theta: expected nothing here, and the number as rotary_emb_base"),
    ("mpt", {"max_seq_len": 1}, "at max_seq_len: expected a length from 2 on"),
    ("mpt", {"no_bias": False}, "at no_bias: expected true"),
    ("olmo", {"clip_qkv": 3}, "at clip_qkv: expected null"),
    ("cohere", {"rope_theta": None}, "at rope_theta: expected a number"),
    ("gpt_bigcode", {"num_key_value_heads": 2}, "at num_key_value_heads: expected 1"),
    ("phi", {"qk_layernorm": True}, r"q_layernorm\.weight is missing"),
]


@pytest.mark.parametrize(("name", "settings", "match"), REFUSED)
def test_settings_are_refused(name: str, settings: dict[str, Any], match: str) -> None:
    if name in CASES:
        refused(stored(CASES[name](), **settings), match)
    else:
        tensors, config, _, _ = stored_case(name)
        refused(Stored("here", tensors, config | settings), match)


@pytest.mark.parametrize(
    ("scaling", "most"),
    [
        ({"type": "dynamic", "factor": 2}, 16),
        (
            {
                "type": "longrope", "short_factor": [1, 2, 3], "long_factor": [1, 1, 1],
                "original_max_position_embeddings": 7,
            },
            7,
        ),
    ],
)  # fmt: skip
def test_scalings_that_change_with_the_length_have_a_greatest_length(scaling: dict[str, Any], most: int) -> None:
    found = stored(CASES["llama"](), rope_scaling=scaling)
    network = network_of(found)[0]
    assert network.longest == most
    network.read(["0"] * most)
    error = raised(OutOfRange, network.read, ["0"] * (most + 1), match=f"words have at most {most} symbols")
    assert "the range of the rotary positions ends" in error.message
    assert any(f"texts of more than {most} tokens" in remark for remark in found.settings.remarks)
    again = read_network_json(read_json(json.dumps(network_json(network)).encode(), "net.json"))
    assert [head.rotary for head in again.heads] == [head.rotary for head in network.heads]
    assert again.longest == most


def test_the_gelu_of_gemma_is_its_tanh_form() -> None:
    for settings in ({"hidden_act": "gelu"}, {"hidden_act": "gelu", "hidden_activation": None}, {}):
        (mlp, _) = (layer.mlp for layer in network_of(stored(CASES["gemma"](), **settings))[0].layers)
        assert mlp is not None
        assert mlp.activation is Activation.GELU_NEW
    found = stored(CASES["gemma"](), hidden_activation=None, hidden_act="relu")
    assert {layer.mlp and layer.mlp.activation for layer in network_of(found)[0].layers} == {Activation.RELU}


NEO: list[Any] = [[["global"], 2], 5, [["global"]], [[["global"], 1]], [[["local", "near"], 1]], [[["global"], True]]]


@pytest.mark.skipif(not FOLDERS.is_dir(), reason="the networks of the libraries lie beside the project")
@pytest.mark.parametrize("types", NEO)
def test_kinds_of_layers_are_refused(types: Any) -> None:
    found = read_folder(str(FOLDERS / "gpt_neo"))
    refused(replace(found, config=found.config | {"attention_types": types}), "at attention_types: expected .*names")


def test_a_missing_or_other_tensor_is_named() -> None:
    for name in ("opt-projected", "falcon-new", "mpt", "olmo2"):
        found = stored(CASES[name]())
        for tensor in [*found.tensors][::2]:
            arrays = {other: array for other, array in found.tensors.items() if other != tensor}
            refused(replace(found, tensors=arrays), f"{tensor} is missing|no tensor of a head")
        refused(replace(found, tensors=found.tensors | {"more": np.ones(1)}), "a tensor that is not understood: more")


def test_gpt_2_without_positions_has_a_class_of_its_own() -> None:
    found = read_folder(str(DATA / "gpt2"))
    arrays = {name: array for name, array in found.tensors.items() if "wpe" not in name}
    without = replace(found, tensors=arrays)
    assert '"architectures"' in refused(without, r"the tensor transformer\.wpe\.weight is missing").hint
    for own in ("NoPE", "NoPEGPT2LMHeadModel"):
        named = replace(without, config=found.config | {"architectures": [own]})
        network = network_of(named)[0]
        assert network.positions == ()
        assert network.longest is None
        assert any("no position embeddings" in remark for remark in named.settings.remarks)
