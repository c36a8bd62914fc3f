"""GPT-Neo: layers that see all positions or a window of them, and scores that are not divided.

Source: transformers, `models/gpt_neo/modeling_gpt_neo.py` (Black et al. 2021, doi 10.5281/zenodo.5297715).
"""

from __future__ import annotations

from typing import Any

from hardsim.network.dense import NetworkLayer, RootScale
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import ScoreRules, StoredModel, attention_heads
from hardsim.reading.tensors import Settings

KINDS = {"global": False, "local": True}
"""The kinds of layers; True if they see a window alone."""


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width, count = model.size("hidden_size"), model.size("num_layers", "num_hidden_layers", least=0)
    shape = model.shape(width, "num_heads", "num_attention_heads", grouped=False)
    vocabulary, hidden = model.size("vocab_size"), model.size("intermediate_size", default=4 * width)
    rows, window = model.size("max_position_embeddings"), settings.integer("window_size", 256)
    activation = settings.choice("activation_function", ACTIVATIONS, "gelu_new")
    epsilon = settings.epsilon("layer_norm_epsilon")
    local = _local(settings, count)
    model.settled("vocab_parallel_embedding", "make_vocab_size_divisible_by", "type_vocab_size")
    layers = []
    for layer in range(count):
        name, here = f"h.{layer}.", window if local[layer] else None
        maps = model.projections(f"{name}attn.attention.", width, shape, False, out="out_proj", out_bias=True)
        model.masks(f"{name}attn.attention.", rows, window=here)
        heads = attention_heads(layer, shape, maps, ScoreRules(RootScale(), window=here))
        mlp = model.mlp(f"{name}mlp.c_fc", f"{name}mlp.c_proj", activation, (width, hidden))
        norm_1, norm_2 = (model.layer_norm(f"{name}{norm}", width, epsilon) for norm in ("ln_1", "ln_2"))
        layers.append(NetworkLayer(heads, mlp, maps.o.bias, norm_1, norm_2))
    embedding = model.take("wte.weight", vocabulary, width, why="vocab_size, hidden_size")
    positions = model.take("wpe.weight", rows, width, why="max_position_embeddings, hidden_size")
    return CausalBody(embedding, tuple(layers), model.layer_norm("ln_f", width, epsilon), positions)


def _local(settings: Settings, count: int) -> list[bool]:
    """Return for each layer True if it sees a window alone: `attention_types` has names with numbers of repetitions,
    and `attention_layers`, if it is there, the same names layer by layer."""
    place, stated = settings.at("attention_types"), settings.value("attention_types")
    if stated is None:
        stated = [[["global", "local"], count // 2]]
    names: list[Any] = []
    for item in stated if isinstance(stated, list) else [None]:
        kinds, times = item if isinstance(item, list) and len(item) == 2 else (None, None)
        if not isinstance(kinds, list) or not isinstance(times, int) or isinstance(times, bool) or times > count:
            raise place.error('names with numbers of repetitions, such as [[["global", "local"], 1]]')
        names += kinds * times
    if len(names) != count or any(name not in list(KINDS) for name in names):
        raise place.error(f"{count} names of layers, each of them {' or '.join(KINDS)}")
    settings.neutral("attention_layers", names)
    settings.take("attention_types", ", ".join(names))
    return [KINDS[name] for name in names]


GPT_NEO = CausalFamily("gpt_neo", "GPT-Neo", "GPTNeo", "transformer.", _body, "wte.weight")
