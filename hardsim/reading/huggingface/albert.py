"""ALBERT: as BERT, with embeddings of another width, and layers that share their weights by groups.

Source: transformers, `models/albert/modeling_albert.py` (Lan et al. 2019, arXiv 1909.11942). Of L layers in G groups,
layer l, from 0, has the weights of group floor(l / (L / G)), and repeats each of the group's layers once.
"""

from __future__ import annotations

from hardsim.network.dense import Activation, NetworkLayer
from hardsim.reading.huggingface.bert import (
    EACH,
    MASKED,
    PAIRS,
    SEQUENCES,
    BodyPlan,
    LayerNames,
    LayerPlan,
    read_body,
    read_layer,
)
from hardsim.reading.huggingface.encoder import (
    EncoderBody,
    EncoderFamily,
    PredictionNames,
    classifies_sequences,
    classifies_tokens,
    predicts_tokens,
)
from hardsim.reading.huggingface.parts import StoredModel

POOLER, ORDER = "pooler", "sop_classifier.classifier"
NAMES = LayerNames(
    "attention.query",
    "attention.key",
    "attention.value",
    "attention.dense",
    "attention.LayerNorm",
    "ffn",
    "ffn_output",
    "full_layer_layer_norm",
)


def _layers(model: StoredModel, plan: LayerPlan) -> tuple[NetworkLayer, ...]:
    settings = model.settings
    groups, inner = settings.integer("num_hidden_groups", 1), settings.integer("inner_group_num", 1)
    # The library divides floats.
    chosen = [int(layer / (plan.count / groups)) for layer in range(plan.count)]
    places = [(group, number) for group in chosen for number in range(inner)]
    stored = {
        (group, number): f"encoder.albert_layer_groups.{group}.albert_layers.{number}."
        for group in range(groups)
        for number in range(inner)
    }
    for group in set(range(groups)) - set(chosen):
        for number in range(inner):
            read_layer(model, stored[group, number], NAMES, plan, 0)
            settings.remarks.append(f"{stored[group, number]}* has no part in this network")
    return tuple(read_layer(model, stored[place], NAMES, plan, at) for at, place in enumerate(places))


def _body(model: StoredModel) -> EncoderBody:
    settings = model.settings
    for key, value in (("net_structure_type", 0), ("gap_size", 0), ("num_memory_blocks", 0), ("down_scale_factor", 1)):
        settings.neutral(key, value)
    plan = BodyPlan(
        _layers,
        "gelu_new",
        embedded=128,
        projection="encoder.embedding_hidden_mapping_in",
        always=True,
        causal=False,
        harmless=("classifier_dropout_prob", "num_hidden_groups", "inner_group_num"),
    )
    return read_body(model, plan)


_WORDS = PredictionNames("predictions.dense", "predictions.LayerNorm", "predictions.decoder", "predictions.bias")
ALBERT = EncoderFamily(
    "albert",
    "ALBERT",
    "Albert",
    "albert.",
    _body,
    {
        SEQUENCES: classifies_sequences(POOLER, "classifier", Activation.TANH, inside=True),
        EACH: classifies_tokens(unused=(POOLER,)),
        MASKED: predicts_tokens(_WORDS, unused=(POOLER,)),
        PAIRS: predicts_tokens(_WORDS, unused=(POOLER,), second=ORDER),
    },
    {
        PAIRS: f"{ORDER}.weight",
        MASKED: "predictions.dense.weight",
        SEQUENCES: "albert.pooler.weight",
        EACH: "classifier.weight",
    },
)
