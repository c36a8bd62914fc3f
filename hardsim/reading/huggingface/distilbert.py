"""DistilBERT: BERT without token types and pooler.

Source: transformers, `models/distilbert/modeling_distilbert.py` (Sanh et al. 2019, arXiv 1910.01108). The epsilon of
all norms is 10^-12.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hardsim.network.dense import Activation, NetworkLayer, RootScale
from hardsim.network.numbers import Mask
from hardsim.reading.huggingface.bert import EACH, MASKED, SEQUENCES
from hardsim.reading.huggingface.encoder import (
    ENCODER_EPSILON,
    EncoderBody,
    EncoderFamily,
    PredictionNames,
    classifies_sequences,
    classifies_tokens,
    predicts_tokens,
)
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import Projections, ScoreRules, StoredModel, attention_heads


def _body(model: StoredModel) -> EncoderBody:
    settings = model.settings
    width, count = model.size("dim", "hidden_size"), model.size("n_layers", "num_hidden_layers", least=0)
    shape = model.shape(width, "n_heads", "num_attention_heads", of="dim", grouped=False)
    vocabulary, rows = model.size("vocab_size"), model.size("max_position_embeddings", default=512)
    hidden = model.size("hidden_dim", default=4 * width)
    activation = settings.choice("activation", ACTIVATIONS, "gelu")
    settings.neutral("tie_weights_", True)
    # Sines and cosines are stored as a table.
    model.settled("sinusoidal_pos_embds")

    def layer(number: int) -> NetworkLayer:
        name = f"transformer.layer.{number}."
        q, k, v, o = (model.linear(f"{name}attention.{part}_lin", width, width) for part in ("q", "k", "v", "out"))
        heads = attention_heads(number, shape, Projections(q, k, v, o), ScoreRules(RootScale(root=shape.key)))
        mlp = model.mlp(f"{name}ffn.lin1", f"{name}ffn.lin2", activation, (width, hidden))
        places = ("sa_layer_norm", "output_layer_norm")
        norm_1, norm_2 = (model.layer_norm(name + place, width, ENCODER_EPSILON) for place in places)
        every = tuple(replace(head, mask=Mask.NONE) for head in heads)
        return NetworkLayer(every, mlp, o.bias, norm_1, norm_2, post=True)

    model.weights.check_table(f"{model.start}embeddings.position_ids", "numbers of positions", np.arange(rows)[None])
    return EncoderBody(
        model.take("embeddings.word_embeddings.weight", vocabulary, width, why="vocab_size, dim"),
        model.take("embeddings.position_embeddings.weight", rows, width, why="max_position_embeddings, dim"),
        model.layer_norm("embeddings.LayerNorm", width, ENCODER_EPSILON),
        tuple(map(layer, range(count))),
        ENCODER_EPSILON,
        activation,
    )


DISTILBERT = EncoderFamily(
    "distilbert",
    "DistilBERT",
    "DistilBert",
    "distilbert.",
    _body,
    {
        SEQUENCES: classifies_sequences("pre_classifier", "classifier", Activation.RELU),
        EACH: classifies_tokens(),
        MASKED: predicts_tokens(
            PredictionNames("vocab_transform", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias")
        ),
    },
    {MASKED: "vocab_transform.weight", SEQUENCES: "pre_classifier.weight", EACH: "classifier.weight"},
)
