"""BERT, ELECTRA, and RoBERTa with the families that share its code (XLM-RoBERTa, CamemBERT).

Sources: transformers, `models/bert/modeling_bert.py` (Devlin et al. 2018, arXiv 1810.04805), `models/roberta/` (Liu et
al. 2019, arXiv 1907.11692) and `models/electra/` (Clark et al. 2020, arXiv 2003.10555). Every token has the type 0. In
RoBERTa the first position is that after the id of padding, and padding itself is not counted. ELECTRA's embeddings may
have another width than its layers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Activation, Dense, NetworkLayer, RootScale
from hardsim.network.numbers import Mask
from hardsim.reading.huggingface.encoder import (
    ENCODER_EPSILON,
    EncoderBody,
    EncoderFamily,
    PredictionNames,
    classifies_sequences,
    classifies_tokens,
    detects_tokens,
    predicts_tokens,
)
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import AttentionShape, Projections, ScoreRules, StoredModel, attention_heads

POOLER = "pooler.dense"
SEQUENCES, EACH, MASKED = "ForSequenceClassification", "ForTokenClassification", "ForMaskedLM"
PAIRS = "ForPreTraining"
DETECTOR, REPLACED = "discriminator_predictions", "replaced"
"""ELECTRA's discriminator, and its output: above 0 if a token was replaced."""
PADDING = 1
"""The default id of padding in RoBERTa."""


@dataclass(frozen=True)
class LayerNames:
    """The names of the parts of a layer."""

    queries: str
    keys: str
    values: str
    out: str
    norm_1: str
    first: str
    second: str
    norm_2: str


@dataclass(frozen=True)
class LayerPlan:
    """The number of layers, and the sizes and settings that all of them share."""

    count: int
    width: int
    hidden: int
    shape: AttentionShape
    activation: Activation
    mask: Mask
    epsilon: Fraction


@dataclass(frozen=True)
class BodyPlan:
    """The parts of a body that differ between the families."""

    layers: Callable[[StoredModel, LayerPlan], tuple[NetworkLayer, ...]]
    activation: str = "gelu"
    """The default of `hidden_act`."""
    padding: int | None = None
    """The default id of padding in families whose positions are counted after it."""
    embedded: int | None = None
    """The default of `embedding_size`; None if embeddings have the width of the layers."""
    projection: str = ""
    """The name of the map from embeddings to the layers; with `always`, it is there also if the widths are equal."""
    always: bool = False
    causal: bool = True
    """True if `is_decoder` makes the network causal."""
    harmless: tuple[str, ...] = ()


def read_body(model: StoredModel, plan: BodyPlan) -> EncoderBody:
    """Return the body of a network, as the plan of its family says."""
    settings = model.settings
    width, count = model.size("hidden_size"), model.size("num_hidden_layers", least=0)
    shape, hidden = model.shape(width, grouped=False), model.size("intermediate_size")
    vocabulary, rows = model.size("vocab_size"), model.size("max_position_embeddings", default=512)
    types = settings.integer("type_vocab_size", 2)
    activation = settings.choice("hidden_act", ACTIVATIONS, plan.activation)
    epsilon = settings.epsilon("layer_norm_eps", ENCODER_EPSILON)
    settings.neutral("position_embedding_type", "absolute")
    stated = plan.causal and settings.has("is_decoder") and settings.value("is_decoder") is not False
    mask = Mask.FUTURE if stated and settings.truth("is_decoder") else Mask.NONE
    every = LayerPlan(count, width, hidden, shape, activation, mask, epsilon)
    pad = None if plan.padding is None else settings.integer("pad_token_id", plan.padding, least=0)
    size = width if plan.embedded is None else settings.integer("embedding_size", plan.embedded)
    model.settled("embedding_size", "summary_last_dropout", *plan.harmless)
    of = "hidden_size" if plan.embedded is None else "embedding_size"
    projected = plan.always or size != width
    model.weights.check_table(f"{model.start}embeddings.position_ids", "numbers of positions", np.arange(rows)[None])
    table = model.take("embeddings.position_embeddings.weight", rows, size, why=f"max_position_embeddings, {of}")
    kinds = model.take("embeddings.token_type_embeddings.weight", types, size, why=f"type_vocab_size, {of}")
    return EncoderBody(
        model.take("embeddings.word_embeddings.weight", vocabulary, size, why=f"vocab_size, {of}"),
        table if pad is None else _after(model, table, pad),
        model.layer_norm("embeddings.LayerNorm", size, epsilon),
        plan.layers(model, every),
        epsilon,
        activation,
        kinds[0],
        pad,
        projection=model.linear(plan.projection, size, width) if projected else None,
    )


def _after(model: StoredModel, table: Dense, pad: int) -> Dense:
    """Return the rows from `pad` + 1 on: the first token has the position after the id of padding."""
    if pad + 1 >= len(table):
        message = f"a number below {len(table) - 1}, since positions begin after it"
        raise model.settings.at("pad_token_id").error(message)
    return table[pad + 1 :]


def read_layer(model: StoredModel, prefix: str, names: LayerNames, plan: LayerPlan, number: int) -> NetworkLayer:
    """Return a layer, whose tensors' names begin with `prefix`."""
    width = plan.width
    maps = Projections(
        *(model.linear(prefix + part, width, width) for part in (names.queries, names.keys, names.values, names.out))
    )
    heads = attention_heads(number, plan.shape, maps, ScoreRules(RootScale(root=plan.shape.key)))
    norm_1, norm_2 = (model.layer_norm(prefix + part, width, plan.epsilon) for part in (names.norm_1, names.norm_2))
    return NetworkLayer(
        tuple(replace(head, mask=plan.mask) for head in heads),
        model.mlp(prefix + names.first, prefix + names.second, plan.activation, (width, plan.hidden)),
        maps.o.bias,
        norm_1,
        norm_2,
        post=True,
    )


NAMES = LayerNames(
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)


def _layers(model: StoredModel, plan: LayerPlan) -> tuple[NetworkLayer, ...]:
    return tuple(read_layer(model, f"encoder.layer.{number}.", NAMES, plan, number) for number in range(plan.count))


_NAMES = PredictionNames(
    "cls.predictions.transform.dense",
    "cls.predictions.transform.LayerNorm",
    "cls.predictions.decoder",
    "cls.predictions.bias",
)
_BERT_WORDS = predicts_tokens(_NAMES, unused=(POOLER,))
BERT = EncoderFamily(
    "bert",
    "BERT",
    "Bert",
    "bert.",
    partial(read_body, plan=BodyPlan(_layers)),
    {
        SEQUENCES: classifies_sequences(POOLER, "classifier", Activation.TANH, inside=True),
        EACH: classifies_tokens(unused=(POOLER,)),
        MASKED: _BERT_WORDS,
        "LMHeadModel": _BERT_WORDS,
        PAIRS: predicts_tokens(_NAMES, unused=(POOLER,), second="cls.seq_relationship"),
    },
    {
        PAIRS: "cls.seq_relationship.weight",
        MASKED: "cls.predictions.transform.dense.weight",
        SEQUENCES: "bert.pooler.dense.weight",
        EACH: "classifier.weight",
    },
)
ELECTRA = EncoderFamily(
    "electra",
    "ELECTRA",
    "Electra",
    "electra.",
    partial(read_body, plan=BodyPlan(_layers, embedded=128, projection="embeddings_project")),
    {
        SEQUENCES: classifies_sequences("classifier.dense", "classifier.out_proj", Activation.GELU),
        EACH: classifies_tokens(),
        PAIRS: detects_tokens(
            "discriminator_predictions.dense", "discriminator_predictions.dense_prediction", REPLACED
        ),
        MASKED: predicts_tokens(
            PredictionNames(
                "generator_predictions.dense",
                "generator_predictions.LayerNorm",
                "generator_lm_head",
                "generator_lm_head.bias",
            ),
            Activation.GELU,
        ),
    },
    {
        PAIRS: f"{DETECTOR}.dense.weight",
        MASKED: "generator_predictions.dense.weight",
        SEQUENCES: "classifier.out_proj.weight",
        EACH: "classifier.weight",
    },
)


def _roberta(model_type: str, title: str, classes: str) -> EncoderFamily:
    """Return a family with the code of RoBERTa."""
    names = PredictionNames("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias")
    words = predicts_tokens(names, Activation.GELU, unused=(POOLER,))
    return EncoderFamily(
        model_type,
        title,
        classes,
        "roberta.",
        partial(read_body, plan=BodyPlan(_layers, padding=PADDING)),
        {
            SEQUENCES: classifies_sequences("classifier.dense", "classifier.out_proj", Activation.TANH),
            EACH: classifies_tokens(unused=(POOLER,)),
            MASKED: words,
            "ForCausalLM": words,
        },
        {MASKED: "lm_head.dense.weight", SEQUENCES: "classifier.out_proj.weight", EACH: "classifier.weight"},
    )


ROBERTA = _roberta("roberta", "RoBERTa", "Roberta")
XLM_ROBERTA = _roberta("xlm-roberta", "XLM-RoBERTa", "XLMRoberta")
CAMEMBERT = _roberta("camembert", "CamemBERT", "Camembert")
