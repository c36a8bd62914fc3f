"""XGLM and BioGPT: the layers of OPT, with embeddings that may be multiplied by sqrt(d).

Sources: transformers, `models/xglm/modeling_xglm.py` (Lin et al. 2021, arXiv 2112.10668) and
`models/biogpt/modeling_biogpt.py` (Luo et al. 2022, arXiv 2210.10341). The positions of XGLM are sines and cosines.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hardsim.lang.reals import apply
from hardsim.network.dense import Dense, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.opt import OFFSET, OptLayers
from hardsim.reading.huggingface.parts import EPSILON_LAYER, StoredModel
from hardsim.reading.huggingface.sinusoids import ROUNDED, sinusoids

RATIO = 10_000
"""The ratio of the greatest to the least frequency."""


def _scale(model: StoredModel, width: int) -> RootScale:
    """Return the factor of the embedding."""
    return RootScale(Fraction(width), width) if model.settings.truth("scale_embedding", True) else RootScale()


def _xglm(model: StoredModel) -> CausalBody:
    settings, width = model.settings, model.size("d_model", "hidden_size")
    count = model.size("num_layers", "num_hidden_layers", least=0)
    shape = model.shape(width, "attention_heads", "num_attention_heads", of="d_model", grouped=False)
    vocabulary, hidden, rows = model.size("vocab_size"), model.size("ffn_dim"), model.size("max_position_embeddings")
    activation = settings.choice("activation_function", ACTIVATIONS, "gelu")
    scale = _scale(model, width)
    model.settled("layer_norm_eps")
    layers = OptLayers(model, shape, (width, hidden), activation).read(count)
    embedding = model.take("embed_tokens.weight", vocabulary, width, why="vocab_size, d_model")
    final = model.layer_norm("layer_norm", width, EPSILON_LAYER)
    return CausalBody(embedding, layers, final, _waves(model, rows, width), scale)


def _waves(model: StoredModel, rows: int, width: int) -> Dense:
    """Return the table of positions: sines, then cosines. The row of the id of padding is 0."""
    settings, half = model.settings, width // 2
    if half < 2:
        raise settings.at("d_model").error("a number from 4 on")
    rate = apply("log", RATIO)
    rates = [apply("exp", rate * Fraction(-number, half - 1)) for number in range(half)]
    sines, cosines = sinusoids(rates, range(OFFSET, rows + OFFSET))
    found = np.concatenate([sines, cosines, np.zeros((rows, width % 2))], axis=1)
    pad = settings.value("pad_token_id") if "pad_token_id" in settings.document.value else 1
    if isinstance(pad, int) and OFFSET <= pad < rows + OFFSET:
        found[pad - OFFSET] = 0.0
    model.weights.check_table(f"{model.start}embed_positions.weights", "sines", np.array(found))
    settings.remarks.append(ROUNDED.format(rows))
    return found


def _biogpt(model: StoredModel) -> CausalBody:
    settings, width, count = model.settings, model.size("hidden_size"), model.size("num_hidden_layers", least=0)
    shape = model.shape(width, grouped=False)
    vocabulary, hidden = model.size("vocab_size"), model.size("intermediate_size")
    rows = model.size("max_position_embeddings")
    activation = settings.choice("hidden_act", ACTIVATIONS, "gelu")
    scale = _scale(model, width)
    # The library has this setting, and uses 0.00001.
    model.settled("layer_norm_eps")
    layers = OptLayers(model, shape, (width, hidden), activation).read(count)
    embedding = model.take("embed_tokens.weight", vocabulary, width, why="vocab_size, hidden_size")
    table = model.take("embed_positions.weight", rows + OFFSET, width, why="max_position_embeddings + 2")
    return CausalBody(embedding, layers, model.layer_norm("layer_norm", width, EPSILON_LAYER), table[OFFSET:], scale)


XGLM = CausalFamily("xglm", "XGLM", "XGLM", "model.", _xglm, "embed_tokens.weight", padding=1)
BIOGPT = CausalFamily(
    "biogpt", "BioGPT", "BioGpt", "biogpt.", _biogpt, "embed_tokens.weight", unembedding="output_projection", padding=1
)
