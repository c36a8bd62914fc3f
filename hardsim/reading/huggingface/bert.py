"""BERT, ELECTRA, and RoBERTa with the families that share its code (XLM-RoBERTa, CamemBERT).

Sources: transformers, `models/bert/modeling_bert.py` (Devlin et al. 2018, arXiv 1810.04805), `models/roberta/` (Liu et
al. 2019, arXiv 1907.11692) and `models/electra/` (Clark et al. 2020, arXiv 2003.10555). Every token has the type 0. In
RoBERTa the first position is that after the id of padding, and padding itself is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

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
class _LayerPlan:
    """The sizes and settings that all layers share."""

    width: int
    hidden: int
    shape: AttentionShape
    activation: Activation
    mask: Mask
    epsilon: Fraction


def _body(model: StoredModel, padding: int | None = None) -> EncoderBody:
    """Return the body. `padding` is the default id of padding in families whose positions are counted after it."""
    settings = model.settings
    width, count = model.size("hidden_size"), model.size("num_hidden_layers", least=0)
    shape, hidden = model.shape(width, grouped=False), model.size("intermediate_size")
    vocabulary, rows = model.size("vocab_size"), model.size("max_position_embeddings", default=512)
    types = settings.integer("type_vocab_size", 2)
    activation = settings.choice("hidden_act", ACTIVATIONS, "gelu")
    epsilon = settings.epsilon("layer_norm_eps", ENCODER_EPSILON)
    settings.neutral("position_embedding_type", "absolute")
    causal = settings.has("is_decoder") and settings.value("is_decoder") is not False and settings.truth("is_decoder")
    plan = _LayerPlan(width, hidden, shape, activation, Mask.FUTURE if causal else Mask.NONE, epsilon)
    pad = None if padding is None else settings.integer("pad_token_id", padding, least=0)
    model.settled("embedding_size", "summary_last_dropout")
    model.weights.check_table(f"{model.start}embeddings.position_ids", "numbers of positions", np.arange(rows)[None])
    table = model.take("embeddings.position_embeddings.weight", rows, width, why="max_position_embeddings, hidden_size")
    kinds = model.take("embeddings.token_type_embeddings.weight", types, width, why="type_vocab_size, hidden_size")
    return EncoderBody(
        model.take("embeddings.word_embeddings.weight", vocabulary, width, why="vocab_size, hidden_size"),
        table if pad is None else _after(model, table, pad),
        model.layer_norm("embeddings.LayerNorm", width, epsilon),
        tuple(_layer(model, number, plan) for number in range(count)),
        epsilon,
        activation,
        kinds[0],
        pad,
    )


def _after(model: StoredModel, table: Dense, pad: int) -> Dense:
    """Return the rows from `pad` + 1 on: the first token has the position after the id of padding."""
    if pad + 1 >= len(table):
        message = f"a number below {len(table) - 1}, since positions begin after it"
        raise model.settings.at("pad_token_id").error(message)
    return table[pad + 1 :]


def _layer(model: StoredModel, number: int, plan: _LayerPlan) -> NetworkLayer:
    name, width = f"encoder.layer.{number}.", plan.width
    q, k, v = (model.linear(f"{name}attention.self.{part}", width, width) for part in ("query", "key", "value"))
    maps = Projections(q, k, v, model.linear(f"{name}attention.output.dense", width, width))
    heads = attention_heads(number, plan.shape, maps, ScoreRules(RootScale(root=plan.shape.key)))
    first, second = f"{name}intermediate.dense", f"{name}output.dense"
    norm_1 = model.layer_norm(f"{name}attention.output.LayerNorm", width, plan.epsilon)
    norm_2 = model.layer_norm(f"{name}output.LayerNorm", width, plan.epsilon)
    return NetworkLayer(
        tuple(replace(head, mask=plan.mask) for head in heads),
        model.mlp(first, second, plan.activation, (width, plan.hidden)),
        maps.o.bias,
        norm_1,
        norm_2,
        post=True,
    )


def _electra(model: StoredModel) -> EncoderBody:
    settings, width = model.settings, model.size("hidden_size")
    size = settings.integer("embedding_size", 128)
    if size != width:
        hint = "Embeddings of another width pass through a linear layer after their norm, which is not supported."
        raise settings.at("embedding_size").error(f"hidden_size, {width}", hint)
    return _body(model)


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
    _body,
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
    _electra,
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
        partial(_body, padding=PADDING),
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
