"""BERT, RoBERTa, DistilBERT and ELECTRA: compared with the library's outputs and with plain numpy, and refusals."""

import json
from fractions import Fraction
from math import erf, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hardsim.network.reader import read_json
from hardsim.reading.network_json import network_json, read_network_json
from hardsim.reading.readout import reread
from hardsim.reading.tensors import Stored
from tests.reading.folders import architecture, ball_outputs, drawn, made_up, reference
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Activation, Mask, Network, network_of, read_folder

D, HEADS, HIDDEN, V, ROWS, LAYERS = 4, 2, 6, 5, 9, 2
IDS = [2, 0, 3, 3, 2]
EPSILON = 1e-3
SIZES: dict[str, Any] = {
    "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": HIDDEN,
    "vocab_size": V, "max_position_embeddings": ROWS, "layer_norm_eps": Fraction(1, 1000), "pad_token_id": 1,
}  # fmt: skip
DISTIL: dict[str, Any] = {
    "dim": D, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": HIDDEN, "vocab_size": V,
    "max_position_embeddings": ROWS,
}  # fmt: skip
NAMES = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value", "o": "attention.output.dense",
    "n1": "attention.output.LayerNorm", "in": "intermediate.dense", "out": "output.dense", "n2": "output.LayerNorm",
}  # fmt: skip
DISTIL_NAMES = {
    "q": "attention.q_lin", "k": "attention.k_lin", "v": "attention.v_lin", "o": "attention.out_lin",
    "n1": "sa_layer_norm", "in": "ffn.lin1", "out": "ffn.lin2", "n2": "output_layer_norm",
}  # fmt: skip
SHAPES: dict[str, tuple[int, ...]] = {
    "q": (D, D), "k": (D, D), "v": (D, D), "o": (D, D), "n1": (D,), "in": (HIDDEN, D), "out": (D, HIDDEN), "n2": (D,),
}  # fmt: skip

Array = NDArray[Any]


def body(prefix: str, types: bool = True) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a body's tensors: with token types as in BERT, else as in DistilBERT."""
    start = f"{prefix}.embeddings."
    found: dict[str, tuple[int, ...]] = {
        f"{start}word_embeddings.weight": (V, D), f"{start}position_embeddings.weight": (ROWS, D),
        f"{start}LayerNorm.weight": (D,), f"{start}LayerNorm.bias": (D,),
    }  # fmt: skip
    if types:
        found[f"{start}token_type_embeddings.weight"] = (2, D)
    for layer in range(LAYERS):
        place = f"{prefix}.encoder.layer.{layer}." if types else f"{prefix}.transformer.layer.{layer}."
        for part, name in (NAMES if types else DISTIL_NAMES).items():
            found |= {f"{place}{name}.weight": SHAPES[part], f"{place}{name}.bias": SHAPES[part][:1]}
    return found


def linear(w: dict[str, Array], name: str, x: Array) -> Array:
    """Return an `nn.Linear`."""
    return np.asarray(x @ w[f"{name}.weight"].T + w[f"{name}.bias"])


def normed(w: dict[str, Array], name: str, x: Array, epsilon: float) -> Array:
    """Return LayerNorm."""
    c = x - x.mean(-1, keepdims=True)
    return np.asarray(c / np.sqrt((c**2).mean(-1, keepdims=True) + epsilon) * w[f"{name}.weight"] + w[f"{name}.bias"])


def gelu(x: Array) -> Array:
    """Apply gelu."""
    return np.asarray(np.vectorize(lambda value: value * (1 + erf(value / sqrt(2))) / 2)(x))


def encoded(w: dict[str, Array], prefix: str, first: int = 0, causal: bool = False) -> Array:
    """Return the vectors of the body for IDS; position `first` is that of the first token."""
    start, distil = f"{prefix}.embeddings.", prefix == "distilbert"
    epsilon, names = (1e-12, DISTIL_NAMES) if distil else (EPSILON, NAMES)
    x = w[f"{start}word_embeddings.weight"][IDS] + w[f"{start}position_embeddings.weight"][first : first + len(IDS)]
    x = x if distil else x + w[f"{start}token_type_embeddings.weight"][0]
    x = normed(w, f"{start}LayerNorm", x, epsilon)
    for layer in range(LAYERS):
        place = f"{prefix}.transformer.layer.{layer}." if distil else f"{prefix}.encoder.layer.{layer}."
        q, k, v = (linear(w, place + names[part], x) for part in "qkv")
        outs = []
        for head in range(HEADS):
            part = slice(head * D // HEADS, (head + 1) * D // HEADS)
            powers = np.exp(q[:, part] @ k[:, part].T / sqrt(D / HEADS)) * (np.tri(len(IDS)) if causal else 1.0)
            outs.append(powers / powers.sum(1, keepdims=True) @ v[:, part])
        x = normed(w, place + names["n1"], x + linear(w, place + names["o"], np.concatenate(outs, axis=1)), epsilon)
        second = linear(w, place + names["out"], gelu(linear(w, place + names["in"], x)))
        x = normed(w, place + names["n2"], x + second, epsilon)
    return np.asarray(x)


def dense(*names: str, size: tuple[int, int] = (D, D)) -> dict[str, tuple[int, ...]]:
    """Return the shapes of linear layers."""
    return {f"{name}.{part}": size if part == "weight" else size[:1] for name in names for part in ("weight", "bias")}


def network(
    kind: str, head: str, shapes: dict[str, tuple[int, ...]], **settings: Any
) -> tuple[Stored, dict[str, Array]]:
    """Return a stored network of a family with a head, and its tensors in float64."""
    sizes = DISTIL if kind == "distilbert" else SIZES
    tensors = drawn(len(kind + head), **body(kind, kind != "distilbert"), **shapes)
    config = sizes | {"model_type": kind, "architectures": [head]} | settings
    return made_up(tensors, config), {name: array.astype(float) for name, array in tensors.items()}


def far(found: Stored, expected: Array) -> float:
    """Return the greatest distance of the outputs for IDS from expected ones."""
    return float(np.abs(ball_outputs(network_of(found)[0], IDS) - expected).max())


@pytest.mark.parametrize("name", ["bert_cls", "roberta"])
def test_outputs_are_those_of_the_library(name: str) -> None:
    found, _ = network_of(read_folder(architecture(name)))
    for ids, row in reference(name):
        # With padding, which is 4, RoBERTa counts other positions: such words are refused.
        if name != "roberta" or 4 not in ids:
            assert np.abs(ball_outputs(found, ids) - row[None]).max() < 1e-5


CLASSIFIERS = [
    (
        "bert", "BertForSequenceClassification", dense("bert.pooler.dense"), "bert.pooler.dense", "classifier",
        np.tanh, 0,
    ),
    (
        "roberta", "RobertaForSequenceClassification", dense("classifier.dense"), "classifier.dense",
        "classifier.out_proj", np.tanh, 2,
    ),
    (
        "distilbert", "DistilBertForSequenceClassification", dense("pre_classifier"), "pre_classifier", "classifier",
        lambda x: np.maximum(x, 0), 0,
    ),
    (
        "electra", "ElectraForSequenceClassification", dense("classifier.dense"), "classifier.dense",
        "classifier.out_proj", gelu, 0,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "head", "shapes", "first", "out", "f", "start"), CLASSIFIERS)
def test_classifiers_of_sequences(kind: str, head: str, shapes: Any, first: str, out: str, f: Any, start: int) -> None:
    more = {"embedding_size": D} if kind == "electra" else {}
    found, w = network(kind, head, shapes | dense(out, size=(3, D)), **more)
    expected = linear(w, out, f(linear(w, first, encoded(w, kind, start)[:1])))
    assert far(found, expected) < 1e-9
    read = network_of(found)[0]
    assert (read.readout.at, read.readout.pooled, read.readout.decide) == ("last", "start", "argmax")
    assert read.outputs == ("0", "1", "2")
    # Without architectures the tensors tell.
    told = made_up(found.tensors, {key: one for key, one in found.config.items() if key != "architectures"})
    assert far(told, expected) < 1e-9
    named = {"id2label": {str(n): name for n, name in enumerate("abc")}, "problem_type": "multi_label_classification"}
    labelled = network_of(made_up(found.tensors, found.config | named))[0]
    assert (labelled.outputs, labelled.readout.decide) == (tuple("abc"), "above")


PREDICTORS = [
    (
        "bert", "BertForMaskedLM", "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
        "cls.predictions.bias", "cls.predictions.decoder", 0,
    ),
    ("roberta", "RobertaForMaskedLM", "lm_head.dense", "lm_head.layer_norm", "lm_head.bias", "lm_head.decoder", 2),
    (
        "distilbert", "DistilBertForMaskedLM", "vocab_transform", "vocab_layer_norm", "vocab_projector.bias",
        "vocab_projector", 0,
    ),
    (
        "electra", "ElectraForMaskedLM", "generator_predictions.dense", "generator_predictions.LayerNorm",
        "generator_lm_head.bias", "generator_lm_head", 0,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "head", "first", "norm", "bias", "out", "start"), PREDICTORS)
def test_predictors_of_hidden_tokens(
    kind: str, head: str, first: str, norm: str, bias: str, out: str, start: int
) -> None:
    shapes = dense(first) | {f"{norm}.weight": (D,), f"{norm}.bias": (D,), bias: (V,)}
    found, w = network(kind, head, shapes, **({"embedding_size": D} if kind == "electra" else {}))
    epsilon = 1e-12 if kind == "distilbert" else EPSILON
    x = normed(w, norm, gelu(linear(w, first, encoded(w, kind, start))), epsilon)
    words = w[f"{kind}.embeddings.word_embeddings.weight"]
    expected = x @ words.T + w[bias]
    assert far(found, expected) < 1e-9
    read = network_of(found)[0]
    assert (read.readout.at, read.outputs) == ("each", read.tokens)
    stored = found.tensors | {f"{out}.weight": words.astype(np.float32), f"{out}.bias": found.tensors[bias]}
    assert far(made_up(stored, found.config), expected) < 1e-9
    own = stored | {f"{out}.weight": -words.astype(np.float32)}
    raised(InputError, network_of, made_up(own, found.config), match="differs from the embedding")
    untied = found.config | {"tie_word_embeddings": False}
    assert far(made_up(own, untied), x @ -words.T + w[bias]) < 1e-9
    raised(InputError, network_of, made_up(found.tensors, untied), match=r"weight is missing, and tie_word_embeddings")
    if bias != f"{out}.bias":
        other = stored | {f"{out}.bias": found.tensors[bias] + 1}
        raised(InputError, network_of, made_up(other, found.config), match="differs from")
        parted = made_up(other | {f"{out}.weight": own[f"{out}.weight"]}, untied)
        assert far(parted, x @ -words.T + other[f"{out}.bias"]) < 1e-9
        assert any("has no part in this network" in remark for remark in parted.settings.remarks)


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_classifiers_of_tokens(kind: str) -> None:
    head = f"{'Bert' if kind == 'bert' else 'DistilBert'}ForTokenClassification"
    found, w = network(kind, head, dense("classifier", size=(2, D)))
    expected = linear(w, "classifier", encoded(w, kind))
    assert far(found, expected) < 1e-9
    if kind == "bert":
        pooled = found.tensors | drawn(1, **dense("bert.pooler.dense"))
        stored = made_up(pooled, found.config)
        assert far(stored, expected) < 1e-9
        assert stored.settings.remarks == ["bert.pooler.dense has no part in this network"]
        position = {"bert.embeddings.position_ids": np.arange(ROWS)[None]}
        assert far(made_up(found.tensors | position, found.config), expected) < 1e-9
        wrong = made_up(found.tensors | {name: array + 1 for name, array in position.items()}, found.config)
        raised(InputError, network_of, wrong, match="position_ids does not hold the numbers of positions")


def test_a_decoder_is_causal() -> None:
    shapes = dense("lm_head.dense") | {"lm_head.layer_norm.weight": (D,), "lm_head.layer_norm.bias": (D,)}
    found, w = network("roberta", "RobertaForCausalLM", shapes | {"lm_head.bias": (V,)}, is_decoder=True)
    x = normed(w, "lm_head.layer_norm", gelu(linear(w, "lm_head.dense", encoded(w, "roberta", 2, True))), EPSILON)
    assert far(found, x @ w["roberta.embeddings.word_embeddings.weight"].T + w["lm_head.bias"]) < 1e-9
    assert {head.mask for head in network_of(found)[0].heads} == {Mask.FUTURE}


def roberta() -> Network:
    """Return a classifier of sequences whose padding is 1."""
    shapes = dense("classifier.dense") | dense("classifier.out_proj", size=(2, D))
    found, _ = network("roberta", "RobertaForSequenceClassification", shapes)
    return network_of(found)[0]


def test_words_of_roberta_have_no_padding() -> None:
    read = roberta()
    assert (read.symbols, read.longest) == (("0", "2", "3", "4"), ROWS - 2)
    saved = read_network_json(read_json(json.dumps(network_json(read)).encode(), "saved.json"))
    assert (saved.readout, saved.symbols) == (read.readout, read.symbols)
    raised(InputError, reread, saved, alphabet=["0", "1"], match="'1' is padding, without which")
    for how in ({"alphabet": ["0", "1"]}, {"input": "1 *"}, {"input": "* 1"}):
        raised(InputError, reread, read, **how, match="'1' is padding, without which")
    named = reread(read, tokens=["a", "pad", "b", "c", "d"], input="b * c")
    raised(InputError, reread, named, input="pad *", match="'pad' is padding")
    assert read.transform is not None
    assert read.transform.activation is Activation.TANH


BERT = "BertForTokenClassification"


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"architectures": ["BertModel"]}, "at architectures: expected one of BertForSequenceClassification"),
        ({"architectures": ["BertForNextSentencePrediction"]}, "at architectures: expected one of"),
        ({"architectures": ["A", "B"]}, "at architectures: expected one architecture"),
        ({"position_embedding_type": "relative_key"}, 'at position_embedding_type: expected "absolute"'),
        ({"add_cross_attention": True}, "at add_cross_attention: expected false"),
        ({"hidden_act": "gelu_fast"}, "at hidden_act: expected"),
        ({"num_attention_heads": 3}, "at num_attention_heads: expected a divisor of hidden_size, 4"),
        ({"sliding_window": 3}, "not understood: sliding_window"),
        ({"type_vocab_size": 3}, r"\[2, 4\], not \[3, 4\] \(type_vocab_size"),
        ({"max_position_embeddings": 8}, r"\(max_position_embeddings, hidden_size\)"),
        ({"id2label": {"0": "a", "1": "a"}}, "at id2label: expected"),
    ],
)
def test_settings_are_refused(settings: dict[str, Any], match: str) -> None:
    found, _ = network("bert", BERT, dense("classifier", size=(2, D)), **settings)
    assert raised(InputError, network_of, found, match=match).hint


def test_other_refusals() -> None:
    found, _ = network("electra", "ElectraForTokenClassification", dense("classifier", size=(2, D)))
    match = r"the shape \[9, 4\], not \[9, 128\] \(max_position_embeddings, embedding_size\)"
    raised(InputError, network_of, found, match=match)
    headless, _ = network("bert", "Mine", {})
    raised(InputError, network_of, headless, match="no tensor of a head that is supported")
    own, _ = network("bert", "Mine", dense("classifier", size=(2, D)))
    network_of(own)
    assert "read as BertForTokenClassification" in own.settings.remarks[0]
    shapes = dense("classifier.dense") | dense("classifier.out_proj", size=(2, D))
    late, _ = network("roberta", "RobertaForSequenceClassification", shapes, pad_token_id=ROWS - 1)
    raised(InputError, network_of, late, match="at pad_token_id: expected a number below 8")
