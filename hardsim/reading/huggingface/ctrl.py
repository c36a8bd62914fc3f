"""CTRL: as GPT-2, with separate maps of queries, keys and values, and positions that are sines and cosines.

Source: transformers, `models/ctrl/modeling_ctrl.py` (Keskar et al. 2019, arXiv 1909.05858). Embeddings are multiplied
by sqrt(d).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hardsim.lang.reals import apply
from hardsim.network.dense import Activation, NetworkLayer, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.parts import EPSILON_RMS, Projections, ScoreRules, StoredModel, attention_heads
from hardsim.reading.huggingface.sinusoids import ROUNDED, sinusoids

RATIO = 10_000


def _body(model: StoredModel) -> CausalBody:
    settings, width = model.settings, model.size("n_embd", "hidden_size")
    count, hidden = model.size("n_layer", "num_hidden_layers", least=0), model.size("dff")
    shape = model.shape(width, "n_head", "num_attention_heads", of="n_embd", grouped=False)
    vocabulary, rows = model.size("vocab_size"), model.size("n_positions", "max_position_embeddings")
    epsilon = settings.epsilon("layer_norm_epsilon", EPSILON_RMS)
    if width % 2:
        raise settings.at("n_embd").error("an even number")
    model.settled("n_ctx")

    def layer(number: int) -> NetworkLayer:
        name = f"h.{number}."
        q, k, v, o = (
            model.linear(f"{name}multi_head_attention.{part}", width, width) for part in ("Wq", "Wk", "Wv", "dense")
        )
        heads = attention_heads(number, shape, Projections(q, k, v, o), ScoreRules(RootScale(root=shape.key)))
        mlp = model.mlp(f"{name}ffn.0", f"{name}ffn.2", Activation.RELU, (width, hidden))
        # The setting is about the last norm alone.
        norm_1, norm_2 = (model.layer_norm(f"{name}layernorm{which}", width, EPSILON_RMS) for which in (1, 2))
        return NetworkLayer(heads, mlp, o.bias, norm_1, norm_2)

    layers = tuple(map(layer, range(count)))
    embedding = model.take("w.weight", vocabulary, width, why="vocab_size, n_embd")
    rate = apply("log", RATIO)
    rates = [apply("exp", rate * Fraction(-2 * number, width)) for number in range(width // 2)]
    table = np.concatenate(sinusoids(rates, range(rows)), axis=1)
    settings.remarks.append(ROUNDED.format(rows))
    scale = RootScale(Fraction(width), width)
    return CausalBody(embedding, layers, model.layer_norm("layernorm", width, epsilon), table, scale)


CTRL = CausalFamily(
    "ctrl", "CTRL", "CTRL", "transformer.", _body, "w.weight", language_model="LMHeadModel", biased=True,
    score="classifier",
)  # fmt: skip
