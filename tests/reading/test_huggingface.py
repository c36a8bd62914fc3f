"""Hugging Face GPT-2: outputs compared with the library's, and everything that is refused."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hardsim.reading.huggingface.causal import read_causal
from hardsim.reading.huggingface.gpt2 import GPT2
from hardsim.reading.readout import reread
from hardsim.reading.tensors import Stored
from tests.reading.folders import DATA, SHARED, difference, library_outputs
from tests.reading.plain import outputs
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Activation, Mask, Network, Readout, RootScale, network_of, read_folder

TRAINED = ["D2", "ab_d_bc", "majority", "tomita1", "tomita7"]
LINEAR = 1e-5
"""Largest distance of float32 outputs from the real ones, relative to the largest."""


def read_gpt2(found: Stored) -> Network:
    """Read a stored GPT-2."""
    return read_causal(GPT2, found)


Change = Callable[[dict[str, Any]], object]


def stored(name: str = "gpt2") -> Stored:
    """Return a folder that the library wrote."""
    return read_folder(str(DATA / name))


def changed(found: Stored, tensors: Change = dict, config: Change = dict) -> Stored:
    """Return a stored network with changed copies of its tensors and its configuration; the changes edit in place."""
    arrays, settings = dict(found.tensors), dict(found.config)
    tensors(arrays)
    config(settings)
    return replace(found, tensors=arrays, config=settings)


def configured(found: Stored | None = None, /, **settings: Any) -> Stored:
    """Return a stored network with other settings."""
    return changed(found or stored(), config=lambda config: config.update(settings))


def with_tensors(found: Stored | None = None, /, **arrays: Any) -> Stored:
    """Return a stored network with other tensors; `__` in a name stands for a dot."""
    return changed(found or stored(), lambda t: t.update({k.replace("__", "."): a for k, a in arrays.items()}))


def refused(found: Stored, match: str) -> None:
    """Assert that a stored network is refused, with a hint."""
    assert raised(InputError, read_gpt2, found, match=match).hint


# ---- outputs ----


@pytest.mark.parametrize("name", ["gpt2", "gpt2-own-head", "gpt2-bfloat16", "gpt2-parts", "gpt2-labels"])
def test_outputs_are_those_of_the_library(name: str) -> None:
    network, form = network_of(stored(name))
    assert form.title == "Hugging Face GPT-2"
    for ids, expected in library_outputs(name):
        assert difference(network, ids, expected) < LINEAR


def plain_gpt2(tensors: dict[str, NDArray[Any]], heads: int, ids: list[int]) -> NDArray[Any]:
    """Return the logits of a GPT-2 with gelu_new, from its raw tensors: Radford et al. 2019, in float64."""
    t = {name.removeprefix("transformer."): array.astype(float) for name, array in tensors.items()}

    def norm(x: NDArray[Any], name: str) -> NDArray[Any]:
        spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        return np.asarray((x - x.mean(axis=-1, keepdims=True)) / spread * t[f"{name}.weight"] + t[f"{name}.bias"])

    def conv(x: NDArray[Any], name: str) -> NDArray[Any]:
        return np.asarray(x @ t[f"{name}.weight"] + t[f"{name}.bias"])

    x = t["wte.weight"][ids] + t["wpe.weight"][: len(ids)]
    for layer in range(sum(name.endswith("ln_1.weight") for name in t)):
        h = f"h.{layer}"
        q, k, v = np.split(conv(norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn"), 3, axis=-1)
        parts = []
        for a, b, c in zip(*(np.split(m, heads, axis=-1) for m in (q, k, v)), strict=True):
            scores = np.where(np.tri(len(ids)) > 0, a @ b.T / np.sqrt(a.shape[1]), -np.inf)
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            parts.append(weights / weights.sum(axis=-1, keepdims=True) @ c)
        x = x + conv(np.concatenate(parts, axis=-1), f"{h}.attn.c_proj")
        hidden = conv(norm(x, f"{h}.ln_2"), f"{h}.mlp.c_fc")
        hidden = hidden / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (hidden + 0.044715 * hidden**3)))
        x = x + conv(hidden, f"{h}.mlp.c_proj")
    return np.asarray(norm(x, "ln_f") @ t["wte.weight"].T)


@pytest.mark.skipif(not (SHARED / "trained").is_dir(), reason="the trained networks lie beside the project")
@pytest.mark.parametrize("name", TRAINED)
def test_trained_networks_compute_what_their_tensors_say(name: str) -> None:
    found = read_folder(str(SHARED / "trained" / name))
    network = read_gpt2(found)
    symbols = np.random.default_rng(7)
    for size in (1, 2, 30, len(network.positions)):
        ids = symbols.integers(0, len(network.tokens), size).tolist()
        assert difference(network, ids, plain_gpt2(found.tensors, int(found.config["n_head"]), ids)) < 1e-12


@pytest.mark.skipif(not (SHARED / "trained").is_dir(), reason="the trained networks lie beside the project")
def test_a_trained_network_is_right_about_its_language() -> None:
    # tomita1 is 1*: after <bos> (id 2) and 1 (id 1) twice, 1 and <eos> (id 4) may come next, 0 may not; <pad> never.
    network = read_gpt2(read_folder(str(SHARED / "trained" / "tomita1")))
    assert [float(logit) > 0 for logit in outputs(network, [2, 1, 1])[-1][[0, 1, 4, 5]]] == [False, True, True, False]


# ---- reports ----


def test_a_language_model_is_judged_by_its_largest_output_at_each_position() -> None:
    network = read_gpt2(stored())
    assert network.tokens == network.outputs == ("0", "1", "2", "3", "4")
    assert network.readout == Readout(at="each", decide="argmax")
    assert network.longest == 10
    assert [head.name for head in network.heads] == ["L0H0", "L0H1", "L1H0", "L1H1"]
    assert {(head.mask, head.scale) for head in network.heads} == {(Mask.FUTURE, RootScale(Fraction(1), 3))}
    norm = network.layers[0].norm_1
    assert norm is not None
    assert norm.epsilon == Fraction(1, 100000)
    assert np.array_equal(network.unembedding, network.embedding.T)


def test_a_vocabulary_names_tokens_and_outputs() -> None:
    network = read_gpt2(replace(stored(), vocabulary=tuple("abcde")))
    assert network.tokens == network.outputs == tuple("abcde")
    refused(replace(stored(), vocabulary=tuple("abcd")), "names 4 tokens, and the network has 5")


def test_scales_of_scores() -> None:
    def scales(**settings: object) -> list[RootScale]:
        return [head.scale for head in read_gpt2(configured(**settings)).heads[::2]]

    assert scales(scale_attn_weights=False) == [RootScale(), RootScale()]
    both = scales(scale_attn_by_inverse_layer_idx=True)
    assert both == [RootScale(Fraction(1), 3), RootScale(Fraction(1, 2), 3)]
    half = scales(scale_attn_by_inverse_layer_idx=True, scale_attn_weights=False)
    assert half == [RootScale(), RootScale(Fraction(1, 2))]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gelu", Activation.GELU),
        ("gelu_python", Activation.GELU),
        ("gelu_new", Activation.GELU_NEW),
        ("gelu_pytorch_tanh", Activation.GELU_NEW),
        ("relu", Activation.RELU),
        ("silu", Activation.SILU),
        ("swish", Activation.SILU),
        ("quick_gelu", Activation.QUICK_GELU),
        ("tanh", Activation.TANH),
    ],
)
def test_activations(name: str, kind: Activation) -> None:
    mlp = read_gpt2(configured(activation_function=name)).layers[1].mlp
    assert mlp is not None
    assert mlp.activation is kind


def bare(found: Stored) -> Stored:
    """Return a stored network without the prefix of the language model in tensor names."""
    arrays = {name.removeprefix("transformer."): array for name, array in found.tensors.items()}
    return replace(found, tensors=arrays)


def test_names_without_the_prefix_mean_the_same() -> None:
    network = read_gpt2(bare(stored()))
    ids, expected = library_outputs("gpt2")[-1]
    assert difference(network, ids, expected) < LINEAR


HEADLESS = [
    "GPT2Model",
    "TFGPT2Model",
    "FlaxGPT2Model",
    "GPT2DoubleHeadsModel",
    "GPT2ForQuestionAnswering",
    "GPT2PreTrainedModel",
]


@pytest.mark.parametrize("name", HEADLESS)
def test_a_model_without_the_head_of_a_language_model_is_refused(name: str) -> None:
    """Nothing shows that the outputs are those of the embedding, whatever the names of the tensors are."""
    message = rf"at architectures: expected one of GPT2LMHeadModel, .*, found (\[?)\"{name}\""
    for found in (stored(), bare(stored()), stored("gpt2-own-head")):
        refused(configured(found, architectures=[name]), message)
        refused(configured(found, architectures=name), message)


@pytest.mark.parametrize("architectures", [None, [], ["MyModel"]])
def test_a_body_alone_is_no_language_model(architectures: object) -> None:
    error = raised(
        InputError, read_gpt2, configured(bare(stored()), architectures=architectures), match="no tensor of a head"
    )
    assert ("architectures is MyModel:" if architectures else "no architectures:") in str(error)
    assert '"architectures": ["GPT2LMHeadModel"]' in error.hint


def test_a_head_is_stated_or_shown_by_tensors() -> None:
    """The body of a language model is nested, so that names begin with transformer; weights on the hub may lack that
    prefix.
    """
    ids, expected = library_outputs("gpt2")[-1]
    for found in (configured(architectures=None), configured(architectures=[]), bare(stored())):
        assert difference(read_gpt2(found), ids, expected) < LINEAR
        assert not found.settings.remarks
    assert read_gpt2(configured(stored("gpt2-own-head"), architectures=None)).readout.at == "each"
    assert read_gpt2(configured(stored("gpt2-labels"), architectures=None)).readout.at == "last"
    refused(
        configured(architectures=["GPT2LMHeadModel", "GPT2Model"]), "at architectures: expected one architecture, found"
    )
    own = configured(architectures=["GPT2BCELMHeadModel"])
    assert difference(read_gpt2(own), ids, expected) < LINEAR
    assert own.settings.taken["architectures"].source == "config.json: GPT2BCELMHeadModel"
    assert not own.settings.remarks
    refused(configured(architectures=["MyGPT2ForTokenClassification"]), r"the tensor classifier\.weight is missing")
    mine = configured(architectures=["MyGPT2"])
    assert difference(read_gpt2(mine), ids, expected) < LINEAR
    assert mine.settings.remarks == [
        "architectures is MyGPT2, which is not a class of transformers: read as GPT2LMHeadModel"
    ]


def test_sizes_by_their_general_names_mean_the_same() -> None:
    names = {"n_embd": "hidden_size", "n_positions": "max_position_embeddings", "n_head": "num_attention_heads"}
    names["n_layer"] = "num_hidden_layers"

    def rename(config: dict[str, Any]) -> None:
        for old, new in names.items():
            config[new] = config.pop(old)

    network = read_gpt2(changed(stored(), config=rename))
    ids, expected = library_outputs("gpt2")[-1]
    assert difference(network, ids, expected) < LINEAR
    refused(configured(hidden_size=8), "at hidden_size: expected .*, found 8")


def test_a_classifier_is_judged_at_the_last_position() -> None:
    network = read_gpt2(stored("gpt2-labels"))
    assert network.outputs == ("no", "yes", "odd")
    # Its padding is token 4; the library would use the output before the padding.
    assert network.readout == Readout(at="last", decide="argmax", padding="4")
    assert network.symbols == ("0", "1", "2", "3")
    assert read_gpt2(configured(stored("gpt2-labels"), pad_token_id=None)).readout == Readout(decide="argmax")
    assert read_gpt2(configured(stored("gpt2-labels"), pad_token_id=-1)).readout == Readout(decide="argmax")
    assert read_gpt2(configured(stored("gpt2-labels"), id2label=None)).outputs == ("0", "1", "2")
    several = configured(stored("gpt2-labels"), problem_type="multi_label_classification", pad_token_id=None)
    assert read_gpt2(several).readout == Readout(decide="above")


def test_padding_cannot_stand_where_a_classifier_is_judged() -> None:
    network = read_gpt2(stored("gpt2-labels"))
    given: list[dict[str, Any]] = [{"input": "* 4"}, {"alphabet": "34"}, {"tokens": "abcde", "input": "* e"}]
    for how in given:
        message = raised(InputError, partial(reread, network, **how)).message
        assert message.endswith("is padding: this network answers at the last token that is not padding")
    assert reread(network, input="4 *").readout.before == ("4",)


def test_labels_that_are_called_as_tokens_are_keep_their_names() -> None:
    five = {"score__weight": np.eye(5, 6)}
    network = read_gpt2(configured(with_tensors(stored("gpt2-labels"), **five), id2label=None))
    assert network.outputs == network.tokens
    assert reread(network, tokens="10234").outputs == ("0", "1", "2", "3", "4")
    model = read_gpt2(stored())
    assert reread(model, tokens=model.tokens[::-1]).outputs == model.tokens[::-1]


def test_one_label_makes_an_acceptor() -> None:
    found = configured(with_tensors(stored("gpt2-labels"), score__weight=np.ones((1, 6))), id2label={"0": "accepted"})
    network = read_gpt2(found)
    assert network.outputs == ("accepted",)
    assert network.readout == Readout(at="last", decide="above", padding="4")
    assert network.symbols == ("0", "1", "2", "3")


def test_labels_of_tokens_have_a_bias() -> None:
    head = {"classifier__weight": np.eye(2, 6), "classifier__bias": np.array([0.5, -0.5])}
    network = read_gpt2(configured(with_tensors(**head), architectures=["GPT2ForTokenClassification"]))
    assert network.outputs == ("0", "1")
    assert network.readout == Readout(at="each", decide="argmax")
    assert network.unembedding_bias is not None
    assert network.unembedding_bias.tolist() == [0.5, -0.5]
    assert np.array_equal(network.unembedding, np.eye(6, 2))


def test_buffers_of_masks_are_used() -> None:
    mask, filler = np.tri(10, dtype=np.uint8)[None, None], np.array(-1e4, np.float32)
    found = with_tensors(transformer__h__0__attn__bias=mask, transformer__h__1__attn__masked_bias=filler)
    assert isinstance(read_gpt2(found), Network)
    refused(with_tensors(transformer__h__0__attn__bias=mask[..., ::-1]), r"h\.0\.attn\.bias is not the causal mask")
    refused(with_tensors(transformer__h__1__attn__masked_bias=np.zeros(())), r"attn\.masked_bias is not one number")


def test_settings_of_training_and_running_change_nothing() -> None:
    more = {"resid_pdrop": Fraction(1, 2), "torch_dtype": "float16", "task_specific_params": {"x": 1}, "n_ctx": 10}
    more |= {"reorder_and_upcast_attn": True, "pruned_heads": {}, "eos_token_id": [1, 2], "unheard_of": False}
    ids, expected = library_outputs("gpt2")[-1]
    assert difference(read_gpt2(configured(**more)), ids, expected) < LINEAR


# ---- refusals ----


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"activation_function": "mish"}, 'at activation_function: expected .*, found "mish"'),
        ({"activation_function": "gelu_fast"}, 'at activation_function: expected .*, found "gelu_fast"'),
        ({"add_cross_attention": True}, "at add_cross_attention: expected .*, found true"),
        ({"is_encoder_decoder": True}, "at is_encoder_decoder: expected .*, found true"),
        ({"tie_encoder_decoder": True}, "at tie_encoder_decoder: expected .*, found true"),
        ({"pruned_heads": {"0": [1]}}, "at pruned_heads: expected {}, found"),
        ({"quantization_config": {"bits": 8}}, "a setting that is not understood: quantization_config"),
        ({"rope_parameters": {"rope_theta": 1}}, "a setting that is not understood: rope_parameters"),
        ({"sliding_window": 4}, r"a setting that is not understood: sliding_window \(4\)"),
        ({"auto_map": {"AutoModel": "x.Y"}}, "a setting that is not understood: auto_map"),
        ({"vocab_size": None}, "at vocab_size: expected an integer.*, found null"),
        ({"n_head": 4}, "at n_head: expected a divisor of n_embd, 6, found 4"),
        ({"n_head": 0}, "at n_head: expected an integer from 1 to 20000000.*, found 0"),
        ({"n_ctx": 8}, "at n_ctx: expected .*, found 8"),
        ({"n_layer": 3}, r"the tensor transformer\.h\.2\.attn\.c_attn\.weight is missing"),
        ({"n_layer": 1}, r"tensors that are not understood: .*transformer\.h\.1\.attn\.c_attn\.weight"),
        ({"n_inner": 8}, r"c_fc\.weight has the shape \[6, 7\], not \[6, 8\] \(n_inner, or 4 n_embd\)"),
        ({"n_inner": None}, r"has the shape \[6, 7\], not \[6, 24\]"),
        ({"vocab_size": 6}, r"wte\.weight has the shape \[5, 6\], not \[6, 6\] \(vocab_size, n_embd\)"),
        ({"n_positions": 12}, r"wpe\.weight has the shape \[10, 6\], not \[12, 6\] \(n_positions, n_embd\)"),
        ({"layer_norm_epsilon": -1}, "at layer_norm_epsilon: expected a number that is at least 0.*, found -1"),
        ({"layer_norm_epsilon": "x"}, 'at layer_norm_epsilon: expected a number.*, found "x"'),
        ({"scale_attn_weights": "yes"}, 'at scale_attn_weights: expected true or false.*, found "yes"'),
        ({"tie_word_embeddings": False}, r"lm_head\.weight is missing, and tie_word_embeddings is false"),
        ({"architectures": ["GPT2ForSequenceClassification"]}, r"the tensor score\.weight is missing"),
        ({"architectures": ["GPT2ForTokenClassification"]}, r"the tensor classifier\.weight is missing"),
        ({"model_type": "gpt_neo"}, 'at model_type: expected .*, found "gpt_neo"'),
    ],
)
def test_settings_are_refused(settings: dict[str, object], said: str) -> None:
    refused(configured(**settings), said)


def test_other_tensors_are_refused() -> None:
    summary = {
        "multiple_choice_head__summary__weight": np.ones((1, 6)),
        "multiple_choice_head__summary__bias": np.ones(1),
    }
    refused(with_tensors(**summary), r"not understood: multiple_choice_head\.summary\.weight, multiple_choice_head\.")
    refused(with_tensors(qa_outputs__weight=np.ones((2, 6))), r"not understood: qa_outputs\.weight")
    refused(with_tensors(lm_head__bias=np.ones(5)), r"not understood: lm_head\.bias")
    both = {"score__weight": np.ones((2, 6)), "lm_head__weight": stored().tensors["transformer.wte.weight"]}
    refused(with_tensors(**both), r"not understood: score\.weight")
    refused(configured(with_tensors(**both), architectures=None), r"not understood: score\.weight")
    refused(with_tensors(wte__weight=np.ones((5, 6))), r"not understood: wte\.weight")


def test_a_missing_tensor_is_named() -> None:
    for found in (stored(), stored("gpt2-own-head"), bare(stored())):
        for name in found.tensors:
            arrays = {other: array for other, array in found.tensors.items() if other != name}
            said = f"lm_head.weight is missing|the tensor {name} is missing"
            refused(replace(found, tensors=arrays), said)


def test_an_unembedding_is_tied_or_its_own() -> None:
    embedding = stored().tensors["transformer.wte.weight"]
    read_gpt2(with_tensors(lm_head__weight=embedding))
    refused(with_tensors(lm_head__weight=embedding + 1), r"lm_head\.weight differs from wte\.weight")
    own = read_gpt2(configured(with_tensors(lm_head__weight=embedding + 1), tie_word_embeddings=False))
    assert np.array_equal(own.unembedding, (embedding + 1).astype(float).T)


@pytest.mark.parametrize(
    "labels", [{"0": "a"}, {"0": "a", "1": "a", "2": "b"}, {"0": 1, "1": 2, "2": 3}, ["a", "b", "c"]]
)
def test_labels_must_name_the_outputs(labels: object) -> None:
    refused(
        configured(stored("gpt2-labels"), id2label=labels),
        "at id2label: expected an object with 3 different labels.*, found .*",
    )


def test_the_number_of_labels_must_be_right() -> None:
    assert len(read_gpt2(configured(stored("gpt2-labels"), num_labels=3)).outputs) == 3
    refused(configured(stored("gpt2-labels"), num_labels=2), "at num_labels: expected .*, found 2")


def test_weights_that_float64_does_not_hold_are_not_rounded() -> None:
    wide = np.full(6, np.longdouble(1) / 3)
    if wide.dtype.itemsize > 8:
        refused(
            with_tensors(transformer__ln_f__bias=wide), f"is stored as {wide.dtype.name}, which is no dtype of weights"
        )


def test_weights_must_be_numbers() -> None:
    broken = stored().tensors["transformer.ln_f.weight"].copy()
    broken[2] = np.nan
    refused(with_tensors(transformer__ln_f__weight=broken), r"transformer\.ln_f\.weight holds nan at \[2\]")
