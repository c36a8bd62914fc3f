"""Random networks of the families of Hugging Face, and what they compute: from each family's definition, in numpy.

`CASES` has stored networks in variants: configurations as transformers writes them, and tensors by their names there.
Each evaluation is written from the paper or the library's documentation, on the raw tensors, without hardsim.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import erf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Config: TypeAlias = dict[str, Any]
D, KEY, HIDDEN, V, LAYERS, ROWS = 8, 4, 12, 5, 2, 16
"""Width, width of a head, hidden units, tokens, layers, positions."""


# ---- what networks compute ----


class Evaluation:
    """The tensors of a network with the operations of its definition."""

    def __init__(self, tensors: dict[str, Array], prefix: str = "") -> None:
        self.t = {name.removeprefix(prefix): array.astype(np.float64) for name, array in tensors.items()}

    def linear(self, name: str, x: Array) -> Array:
        """Return x W^T + b; no b if there is none."""
        return np.asarray(x @ self.t[f"{name}.weight"].T + self.t.get(f"{name}.bias", 0.0))

    def layer(self, name: str, x: Array, epsilon: float = 1e-5) -> Array:
        """Return LayerNorm; without parameters if there are none."""
        y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)
        return np.asarray(y * self.t.get(f"{name}.weight", 1.0) + self.t.get(f"{name}.bias", 0.0))

    def rms(self, name: str, x: Array, epsilon: float = 1e-6, plus: float = 0.0) -> Array:
        """Return RMSNorm with `plus` added to its weight."""
        return np.asarray(x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * (self.t[f"{name}.weight"] + plus))

    def gated(self, name: str, x: Array, f: Callable[[Array], Array]) -> Array:
        """Return a gated MLP."""
        gate = f(self.linear(f"{name}.gate_proj", x))
        return self.linear(f"{name}.down_proj", gate * self.linear(f"{name}.up_proj", x))


def gelu(x: Array) -> Array:
    """Apply the exact gelu."""
    return np.asarray(x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2)


def gelu_tanh(x: Array) -> Array:
    """Apply gelu in its tanh form."""
    return np.asarray(x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def silu(x: Array) -> Array:
    """Apply silu."""
    return np.asarray(x / (1 + np.exp(-x)))


def relu(x: Array) -> Array:
    """Apply relu."""
    return np.maximum(x, 0.0)


def rope(x: Array, size: int, base: float = 10000.0, neighbours: bool = False, factor: float = 1.0) -> Array:
    """Turn the first `size` coordinates of each row by its place: complex numbers, of halves or of neighbours."""
    part, half = x[:, :size], size // 2
    z = part[:, ::2] + 1j * part[:, 1::2] if neighbours else part[:, :half] + 1j * part[:, half:]
    angles = np.arange(len(x))[:, None] / factor * base ** (-np.arange(half) * 2 / size)
    z = z * np.exp(1j * angles)
    back = np.stack([z.real, z.imag], -1).reshape(len(x), -1) if neighbours else np.concatenate([z.real, z.imag], -1)
    return np.concatenate([back, x[:, size:]], -1)


def attend(
    q: Array, k: Array, v: Array, scale: float, window: int | None = None, cap: float | None = None, slope: float = 0.0
) -> Array:
    """Return causal attention of one head, with ALiBi as an amount for each key's position."""
    places = np.arange(len(q))
    scores = q @ k.T * scale
    scores = scores if cap is None else cap * np.tanh(scores / cap)
    away = places[:, None] - places
    seen = (away >= 0) & (away < (len(q) if window is None else window))
    scores = np.where(seen, scores + slope * places, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True) @ v)


def split(x: Array, key: int = KEY) -> list[Array]:
    """Return the parts of the last axis, one for each head."""
    return np.split(x, x.shape[-1] // key, axis=-1)


def shared(parts: list[Array], heads: int) -> list[Array]:
    """Return the keys or values of each head: heads in a row share one."""
    return [part for part in parts for _ in range(heads // len(parts))]


def slopes(heads: int) -> list[float]:
    """Return the slopes of ALiBi, as the paper's appendix gives them."""
    power = 2 ** int(np.floor(np.log2(heads)))
    first = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    return (
        first
        if power == heads
        else first + [2.0 ** (-8 * (h + 1) / (2 * power)) for h in range(0, 2 * power, 2)][: heads - power]
    )


def decoder(
    e: Evaluation,
    c: Config,
    ids: list[int],
    *,
    norm: Callable[[str, Array], Array],
    mlp: Callable[[str, Array], Array],
    turn: Callable[[Array], Array],
    out: str = "o_proj",
    normed: Callable[[str, str, int, Array], Array] = lambda name, part, head, x: x,
    whole: Callable[[str, str, Array], Array] = lambda name, part, x: x,
    names: tuple[str | None, str | None, str | None, str | None] = (
        "input_layernorm",
        "post_attention_layernorm",
        None,
        None,
    ),
    parallel: bool = False,
    window: Callable[[int], int | None] = lambda layer: None,
    cap: float | None = None,
    scale: float | None = None,
    embedding_scale: float = 1.0,
    final: str = "norm",
) -> Array:
    """Return the vectors after the final norm of a network with the names of Llama."""  # fmt: skip

    def step(name: str | None, x: Array) -> Array:
        return x if name is None else norm(name, x)

    heads, key = c["num_attention_heads"], c.get("head_dim") or D // c["num_attention_heads"]
    x = e.t["embed_tokens.weight"][ids] * embedding_scale
    for layer in range(LAYERS):
        p = f"layers.{layer}."
        before_1, before_2, after_1, after_2 = (None if one is None else p + one for one in names)
        y = step(before_1, x)
        a = f"{p}self_attn."
        q, k, v = (whole(a, part, e.linear(f"{a}{part}_proj", y)) for part in "qkv")
        queries = [turn(normed(a, "q", h, part)) for h, part in enumerate(split(q, key))]
        keys = shared([turn(normed(a, "k", h, part)) for h, part in enumerate(split(k, key))], heads)
        values = shared(split(v, key), heads)
        found = [
            attend(*one, scale or key**-0.5, window(layer), cap) for one in zip(queries, keys, values, strict=True)
        ]
        attention = step(after_1, e.linear(f"{a}{out}", np.concatenate(found, -1)))
        z = x if parallel else x + attention
        added = step(after_2, mlp(f"{p}mlp", step(before_2, z)))
        x = x + attention + added
    return norm(final, x)


def llama_like(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """Llama, Mistral, Qwen2 and Qwen3: the window is `window` in layers from `first` on."""
    e = Evaluation(t, "model.")
    key = c.get("head_dim") or D // c["num_attention_heads"]
    rope_settings = c.get("rope_parameters") or c.get("rope_scaling") or {}
    theta: float = rope_settings.get("rope_theta") or c.get("rope_theta") or 10000.0
    factor = rope_settings.get("factor", 1.0)
    window, first = c.get("sliding_window"), c.get("max_window_layers", 0)
    qwen = c["model_type"].startswith("qwen")
    layer_types = c.get("layer_types")

    def windows(layer: int) -> int | None:
        if layer_types:
            return window if layer_types[layer] == "sliding_attention" else None
        return None if qwen and (not c["use_sliding_window"] or layer < first) else window

    def normed(name: str, part: str, head: int, x: Array) -> Array:
        return e.rms(f"{name}{part}_norm", x) if c["model_type"] == "qwen3" else x

    return decoder(
        e, c, ids, norm=e.rms, mlp=lambda name, x: e.gated(name, x, silu),
        turn=lambda x: rope(x, key, theta, factor=factor), normed=normed, window=windows,
    )  # fmt: skip


def gemma(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """Gemma and Gemma 2."""
    e, second = Evaluation(t, "model."), c["model_type"] == "gemma2"
    around = "input_layernorm", "pre_feedforward_layernorm", "post_attention_layernorm", "post_feedforward_layernorm"
    return decoder(
        e, c, ids,
        norm=lambda name, x: e.rms(name, x, plus=1.0),
        mlp=lambda name, x: e.gated(name, x, gelu_tanh),
        turn=lambda x: rope(x, c["head_dim"]),
        names=around if second else ("input_layernorm", "post_attention_layernorm", None, None),
        window=lambda layer: c["sliding_window"] if second and layer % 2 == 0 else None,
        cap=c.get("attn_logit_softcapping"),
        scale=c["query_pre_attn_scalar"] ** -0.5 if second else None,
        embedding_scale=D**0.5,
    )  # fmt: skip


def phi(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """Phi."""
    e = Evaluation(t, "model.")
    return decoder(
        e, c, ids, norm=e.layer, out="dense", parallel=True, final="final_layernorm",
        mlp=lambda name, x: e.linear(f"{name}.fc2", gelu_tanh(e.linear(f"{name}.fc1", x))),
        turn=lambda x: rope(x, 2),
        normed=lambda name, part, head, x: e.layer(f"{name}{part}_layernorm", x) if c["qk_layernorm"] else x,
        names=("input_layernorm", "input_layernorm", None, None),
    )  # fmt: skip


def stablelm(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """StableLM."""
    e, parallel = Evaluation(t, "model."), c["use_parallel_residual"]
    return decoder(
        e, c, ids, norm=e.layer, parallel=parallel, mlp=lambda name, x: e.gated(name, x, silu),
        turn=lambda x: rope(x, 2),
        normed=lambda name, part, head, x: (
            e.layer(f"{name}{part}_layernorm.norms.{head}", x) if c["qk_layernorm"] else x
        ),
        names=("input_layernorm", "input_layernorm" if parallel else "post_attention_layernorm", None, None),
    )  # fmt: skip


def starcoder2(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """Starcoder2."""
    e = Evaluation(t, "model.")
    return decoder(
        e, c, ids, norm=e.layer, turn=lambda x: rope(x, KEY), window=lambda layer: c["sliding_window"],
        mlp=lambda name, x: e.linear(f"{name}.c_proj", gelu_tanh(e.linear(f"{name}.c_fc", x))),
    )  # fmt: skip


def olmo(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """OLMo, and OLMo 2: norms of all queries and keys, and of what is added."""
    e, second = Evaluation(t, "model."), c["model_type"] == "olmo2"
    return decoder(
        e, c, ids, norm=lambda name, x: e.rms(name, x, 1e-5) if second else e.layer(name, x),
        mlp=lambda name, x: e.gated(name, x, silu), turn=lambda x: rope(x, KEY),
        whole=lambda name, part, x: e.rms(f"{name}{part}_norm", x, 1e-5) if second and part in "qk" else x,
        names=(
            (None, None, "post_attention_layernorm", "post_feedforward_layernorm") if second
            else ("input_layernorm", "post_attention_layernorm", None, None)
        ),
    )  # fmt: skip


def cohere(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """Cohere."""
    e = Evaluation(t, "model.")

    def normed(name: str, part: str, head: int, x: Array) -> Array:
        if not c["use_qk_norm"]:
            return x
        return Evaluation({"n.weight": t[f"model.{name}{part}_norm.weight"][head]}).layer("n", x)

    return decoder(
        e, c, ids, norm=e.layer, parallel=True, mlp=lambda name, x: e.gated(name, x, silu),
        turn=lambda x: rope(x, KEY, c["rope_theta"], neighbours=True), normed=normed,
        names=("input_layernorm", "input_layernorm", None, None),
    )  # fmt: skip


def gpt_neox(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """GPT-NeoX: `query_key_value` by head."""
    e, size = Evaluation(t, "gpt_neox."), int(KEY * c["rotary_pct"])
    x = e.t["embed_in.weight"][ids]
    for layer in range(LAYERS):
        p, found = f"layers.{layer}.", []
        for head in split(e.linear(f"{p}attention.query_key_value", e.layer(f"{p}input_layernorm", x)), 3 * KEY):
            q, k, v = np.split(head, 3, axis=-1)
            found.append(attend(rope(q, size, c["rotary_emb_base"]), rope(k, size, c["rotary_emb_base"]), v, KEY**-0.5))
        attention = e.linear(f"{p}attention.dense", np.concatenate(found, -1))
        y = e.layer(f"{p}post_attention_layernorm", x if c["use_parallel_residual"] else x + attention)
        x = x + attention + e.linear(f"{p}mlp.dense_4h_to_h", gelu(e.linear(f"{p}mlp.dense_h_to_4h", y)))
    return e.layer("final_layer_norm", x)


def codegen(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """CodeGen: four blocks of queries, values and keys, each of a quarter of the heads."""
    e, key = Evaluation(t, "transformer."), c["n_embd"] // c["n_head"]
    x = e.t["wte.weight"][ids]
    for layer in range(LAYERS):
        p, parts = f"h.{layer}.", dict[str, list[Array]](q=[], v=[], k=[])
        y = e.layer(f"{p}ln_1", x)
        for block in np.split(e.linear(f"{p}attn.qkv_proj", y), 4, axis=-1):
            for name, part in zip("qvk", np.split(block, 3, axis=-1), strict=True):
                parts[name] += split(part, key)
        found = [
            attend(rope(q, 2, neighbours=True), rope(k, 2, neighbours=True), v, key**-0.5)
            for q, k, v in zip(parts["q"], parts["k"], parts["v"], strict=True)
        ]
        attention = e.linear(f"{p}attn.out_proj", np.concatenate(found, -1))
        x = x + attention + e.linear(f"{p}mlp.fc_out", gelu_tanh(e.linear(f"{p}mlp.fc_in", y)))
    return e.layer("ln_f", x)


def opt(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """OPT: positions from 2 on, norms before or after, words of another width."""
    e, before = Evaluation(t, "model.decoder."), c["do_layer_norm_before"]
    x = e.t["embed_tokens.weight"][ids]
    x = e.linear("project_in", x) if "project_in.weight" in e.t else x
    x = x + e.t["embed_positions.weight"][2 : 2 + len(ids)]
    for layer in range(LAYERS):
        p = f"layers.{layer}."
        y = e.layer(f"{p}self_attn_layer_norm", x) if before else x
        q, k, v = (split(e.linear(f"{p}self_attn.{part}_proj", y)) for part in "qkv")
        found = [attend(*one, KEY**-0.5) for one in zip(q, k, v, strict=True)]
        x = x + e.linear(f"{p}self_attn.out_proj", np.concatenate(found, -1))
        x = x if before else e.layer(f"{p}self_attn_layer_norm", x)
        y = e.layer(f"{p}final_layer_norm", x) if before else x
        x = x + e.linear(f"{p}fc2", relu(e.linear(f"{p}fc1", y)))
        x = x if before else e.layer(f"{p}final_layer_norm", x)
    x = e.layer("final_layer_norm", x) if before and not c.get("_remove_final_layer_norm") else x
    return e.linear("project_out", x) if "project_out.weight" in e.t else x


def bloom(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """BLOOM: ALiBi; the sums may begin from the norms' results."""
    e, heads, after = Evaluation(t, "transformer."), c["n_head"], c["apply_residual_connection_post_layernorm"]
    x = e.layer("word_embeddings_layernorm", e.t["word_embeddings.weight"][ids])
    for layer in range(LAYERS):
        p, found = f"h.{layer}.", []
        y = e.layer(f"{p}input_layernorm", x)
        joint = split(e.linear(f"{p}self_attention.query_key_value", y), 3 * KEY)
        for head, slope in zip(joint, slopes(heads), strict=True):
            q, k, v = np.split(head, 3, axis=-1)
            found.append(attend(q, k, v, KEY**-0.5, slope=slope))
        x = (y if after else x) + e.linear(f"{p}self_attention.dense", np.concatenate(found, -1))
        y = e.layer(f"{p}post_attention_layernorm", x)
        x = (y if after else x) + e.linear(f"{p}mlp.dense_4h_to_h", gelu_tanh(e.linear(f"{p}mlp.dense_h_to_4h", y)))
    return e.layer("ln_f", x)


def falcon(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """Falcon: old with one key or one for each head, new with groups."""
    e, heads = Evaluation(t, "transformer."), c["num_attention_heads"]
    new, key = c["new_decoder_architecture"], D // c["num_attention_heads"]
    groups = c["num_kv_heads"] if new else 1 if c["multi_query"] else heads
    bias = [slope * key**-0.5 for slope in slopes(heads)] if c["alibi"] else [0.0] * heads
    turn: Callable[[Array], Array] = (lambda x: x) if c["alibi"] else (lambda x: rope(x, key))
    x = e.t["word_embeddings.weight"][ids]
    for layer in range(LAYERS):
        p, found = f"h.{layer}.", []
        two = new and c.get("num_ln_in_parallel_attn") != 1
        y = e.layer(f"{p}ln_attn" if two else f"{p}input_layernorm", x)
        joint = e.linear(f"{p}self_attention.query_key_value", y)
        for number, group in enumerate(np.split(joint, groups, axis=-1)):
            *queries, k, v = split(group, key)
            for within, q in enumerate(queries):
                slope = bias[number * len(queries) + within]
                found.append(attend(turn(q), turn(k), v, key**-0.5, slope=slope))
        attention = e.linear(f"{p}self_attention.dense", np.concatenate(found, -1))
        if two:
            y = e.layer(f"{p}ln_mlp", x)
        elif not c["parallel_attn"]:
            y = e.layer(f"{p}post_attention_layernorm", x + attention)
        x = x + attention + e.linear(f"{p}mlp.dense_4h_to_h", gelu(e.linear(f"{p}mlp.dense_h_to_4h", y)))
    return e.layer("ln_f", x)


def gpt_bigcode(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """GPT-BigCode."""
    e = Evaluation(t, "transformer.")
    x = e.t["wte.weight"][ids] + e.t["wpe.weight"][: len(ids)]
    for layer in range(LAYERS):
        p = f"h.{layer}."
        parts = split(e.linear(f"{p}attn.c_attn", e.layer(f"{p}ln_1", x)))
        if c["multi_query"]:
            *queries, k, v = parts
            found = [attend(q, k, v, KEY**-0.5) for q in queries]
        else:
            found = [attend(q, k, v, KEY**-0.5) for q, k, v in zip(parts[::3], parts[1::3], parts[2::3], strict=True)]
        x = x + e.linear(f"{p}attn.c_proj", np.concatenate(found, -1))
        x = x + e.linear(f"{p}mlp.c_proj", gelu_tanh(e.linear(f"{p}mlp.c_fc", e.layer(f"{p}ln_2", x))))
    return e.layer("ln_f", x)


def mpt(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """MPT: ALiBi, queries, keys and values side by side."""
    e, scale = Evaluation(t, "transformer."), c["attn_config"]["softmax_scale"] or KEY**-0.5
    x = e.t["wte.weight"][ids]
    for layer in range(LAYERS):
        p = f"blocks.{layer}."
        q, k, v = (split(part) for part in np.split(e.linear(f"{p}attn.Wqkv", e.layer(f"{p}norm_1", x)), 3, axis=-1))
        together = zip(q, k, v, slopes(len(q)), strict=True)
        found = [attend(a, b, c, scale, slope=slope) for a, b, c, slope in together]
        x = x + e.linear(f"{p}attn.out_proj", np.concatenate(found, -1))
        x = x + e.linear(f"{p}ffn.down_proj", gelu(e.linear(f"{p}ffn.up_proj", e.layer(f"{p}norm_2", x))))
    return e.layer("norm_f", x)


def phi3(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """Phi-3: its joint matrices taken apart, it is a Mistral."""
    parts = dict(t)
    for name in [name for name in t if "qkv_proj" in name]:
        joint, groups = parts.pop(name), c["num_key_value_heads"]
        for part, rows in zip("qkv", np.split(joint, [D, D + groups * KEY]), strict=True):
            parts[name.replace("qkv_proj", f"{part}_proj")] = rows
        mlp = name.replace("self_attn.qkv_proj", "mlp.gate_up_proj")
        for part, rows in zip(("gate", "up"), np.split(parts.pop(mlp), 2), strict=True):
            parts[mlp.replace("gate_up", part)] = rows
    e = Evaluation(parts, "model.")
    return decoder(
        e, c, ids, norm=lambda name, x: e.rms(name, x, 1e-5), mlp=lambda name, x: e.gated(name, x, silu),
        turn=lambda x: rope(x, 2), window=lambda layer: c["sliding_window"],
    )  # fmt: skip


def neox_japanese(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """GPT-NeoX-Japanese: a GPT-NeoX whose bias of the last attention has a name of its own."""
    names = {name: name.removeprefix("gpt_neox_japanese.").replace("dense_bias", "dense.bias") for name in t}
    same = {"rotary_pct": c["rotary_pct"], "rotary_emb_base": 10000.0, "use_parallel_residual": False}
    return gpt_neox(same, {names[name]: array for name, array in t.items()}, ids)


def openai_gpt(c: Config, t: dict[str, Array], ids: list[int]) -> Array:
    """GPT: norms after the sums."""
    e = Evaluation(t, "transformer.")

    def conv(name: str, x: Array) -> Array:
        return np.asarray(x @ e.t[f"{name}.weight"] + e.t[f"{name}.bias"])

    x = e.t["tokens_embed.weight"][ids] + e.t["positions_embed.weight"][: len(ids)]
    for layer in range(LAYERS):
        p = f"h.{layer}."
        q, k, v = (split(part) for part in np.split(conv(f"{p}attn.c_attn", x), 3, axis=-1))
        found = [attend(*one, KEY**-0.5) for one in zip(q, k, v, strict=True)]
        x = e.layer(f"{p}ln_1", x + conv(f"{p}attn.c_proj", np.concatenate(found, -1)))
        x = e.layer(f"{p}ln_2", x + conv(f"{p}mlp.c_proj", gelu_tanh(conv(f"{p}mlp.c_fc", x))))
    return x


# ---- random networks ----

WORDS = (
    "lm_head", "embed_out", "transformer.wte", "transformer.word_embeddings", "model.embed_tokens",
    "model.decoder.embed_tokens", "transformer.tokens_embed", "gpt_neox_japanese.embed_in",
)  # fmt: skip
"""The names of unembeddings, the tied ones last."""


@dataclass(frozen=True)
class FamilyCase:
    """A stored network and what its body computes."""

    config: Config
    tensors: dict[str, Array]
    body: Callable[[Config, dict[str, Array], list[int]], Array]

    def outputs(self, ids: list[int]) -> Array:
        """Return the outputs of the language model at each position."""
        x, t = self.body(self.config, self.tensors, ids), self.tensors
        name = next(name for name in WORDS if f"{name}.weight" in t)
        y = x @ t[f"{name}.weight"].T.astype(np.float64) + t.get(f"{name}.bias", np.zeros(1)).astype(np.float64)
        y = y * self.config.get("logit_scale", 1.0)
        cap = self.config.get("final_logit_softcapping")
        return np.asarray(y if cap is None else cap * np.tanh(y / cap))


class FamilyMaker:
    """Draws the tensors of a network by their names and shapes."""

    def __init__(self, prefix: str) -> None:
        self.rng, self.prefix = np.random.default_rng(len(prefix)), prefix
        self.tensors: dict[str, Array] = {}

    def draw(self, name: str, *shape: int, inside: bool = True) -> None:
        """Draw one tensor."""
        spread = 0.3 if len(shape) == 1 else 0.6
        found = self.rng.normal(size=shape) * spread + (1.0 if name.endswith("norm.weight") else 0.0)
        self.tensors[(self.prefix if inside else "") + name] = found.astype(np.float32)

    def linear(self, name: str, into: int, out: int, bias: bool = True) -> None:
        """Draw an nn.Linear."""
        self.draw(f"{name}.weight", out, into)
        if bias:
            self.draw(f"{name}.bias", out)

    def norm(self, name: str, size: int = D, bias: bool = True) -> None:
        """Draw a norm."""
        self.draw(f"{name}.weight", size)
        if bias:
            self.draw(f"{name}.bias", size)

    def attention(self, name: str, heads: int, groups: int, key: int, bias: bool, out: str, out_bias: bool) -> None:
        """Draw separate queries, keys, values and an output."""
        for part, count in (("q", heads), ("k", groups), ("v", groups)):
            self.linear(f"{name}{part}_proj", D, count * key, bias)
        self.linear(f"{name}{out}", heads * key, D, out_bias)


def llama_case(
    model_type: str,
    body: Callable[[Config, dict[str, Array], list[int]], Array] = llama_like,
    *,
    bias: bool = False,
    out_bias: bool = False,
    out: str = "o_proj",
    norm_bias: bool = False,
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm"),
    mlp: tuple[str, ...] = ("gate_proj", "up_proj", "down_proj"),
    mlp_bias: bool = False,
    final: str | None = "norm",
    more: Callable[[FamilyMaker, str], None] = lambda maker, name: None,
    head: tuple[str, ...] = ("lm_head.weight",),
    **config: Any,
) -> FamilyCase:
    """Draw a network whose tensors are named as those of Llama."""
    c: Config = {
        "model_type": model_type, "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": 2,
        "intermediate_size": HIDDEN, "vocab_size": V, "max_position_embeddings": ROWS,
    } | config  # fmt: skip
    if mlp_bias and model_type == "llama":
        c["mlp_bias"] = True
    maker = FamilyMaker("model.")
    key = c.get("head_dim") or D // c["num_attention_heads"]
    groups = c.get("num_key_value_heads") or c["num_attention_heads"]
    maker.draw("embed_tokens.weight", V, D)
    for layer in range(LAYERS):
        p = f"layers.{layer}."
        maker.attention(f"{p}self_attn.", c["num_attention_heads"], groups, key, bias, out, out_bias)
        more(maker, f"{p}self_attn.")
        for name in norms:
            maker.norm(p + name, bias=norm_bias)
        for name in mlp[:-1]:
            maker.linear(f"{p}mlp.{name}", D, HIDDEN, mlp_bias)
        maker.linear(f"{p}mlp.{mlp[-1]}", HIDDEN, D, mlp_bias)
    if final is not None:
        maker.norm(final, bias=norm_bias)
    for name in head:
        maker.draw(name, *((V, D) if name.endswith("weight") else (V,)), inside=False)
    return FamilyCase(c, maker.tensors, body)


def qk_norms(maker: FamilyMaker, name: str) -> None:
    """Draw the norms of Qwen3."""
    maker.norm(f"{name}q_norm", KEY, bias=False)
    maker.norm(f"{name}k_norm", KEY, bias=False)


def gemma_case(number: int) -> FamilyCase:
    """Draw a Gemma; Gemma 2 has windows and caps."""
    second: Config = {
        "query_pre_attn_scalar": 3, "sliding_window": 2, "attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0,
    }  # fmt: skip
    around = "input_layernorm", "pre_feedforward_layernorm", "post_attention_layernorm", "post_feedforward_layernorm"
    return llama_case(
        "gemma2" if number == 2 else "gemma", gemma, head=(), head_dim=6, num_key_value_heads=1,
        hidden_activation="gelu_pytorch_tanh", norms=around if number == 2 else around[::2],
        **(second if number == 2 else {}),
    )  # fmt: skip


def phi_case(normed: bool) -> FamilyCase:
    """Draw a Phi."""

    def more(maker: FamilyMaker, name: str) -> None:
        for part in "qk" if normed else "":
            maker.norm(f"{name}{part}_layernorm", KEY)

    return llama_case(
        "phi", phi, bias=True, out_bias=True, out="dense", norm_bias=True, norms=("input_layernorm",),
        mlp=("fc1", "fc2"), mlp_bias=True, final="final_layernorm", more=more, qk_layernorm=normed,
        head=("lm_head.weight", "lm_head.bias"), num_key_value_heads=1,
    )  # fmt: skip


def stablelm_case(parallel: bool) -> FamilyCase:
    """Draw a StableLM with two keys for four heads; with norms of heads if it is parallel."""

    def more(maker: FamilyMaker, name: str) -> None:
        for part, count in (("q", 4), ("k", 2)) if parallel else ():
            for head in range(count):
                maker.norm(f"{name}{part}_layernorm.norms.{head}", 2, bias=False)

    norms = ("input_layernorm",) if parallel else ("input_layernorm", "post_attention_layernorm")
    return llama_case(
        "stablelm", stablelm, bias=True, norm_bias=True, norms=norms, more=more, num_attention_heads=4,
        num_key_value_heads=2, use_qkv_bias=True, use_parallel_residual=parallel, qk_layernorm=parallel,
        partial_rotary_factor=1.0,
    )  # fmt: skip


def olmo_case(number: int, groups: int = 2) -> FamilyCase:
    """Draw an OLMo."""

    def more(maker: FamilyMaker, name: str) -> None:
        for part, count in (("q", 2), ("k", groups)) if number == 2 else ():
            maker.norm(f"{name}{part}_norm", count * KEY, bias=False)

    names = ("post_attention_layernorm", "post_feedforward_layernorm") if number == 2 else ()
    return llama_case(
        "olmo2" if number == 2 else "olmo", olmo, norms=names, final="norm" if number == 2 else None, more=more,
        num_key_value_heads=groups, bias=number == 2, out_bias=number == 2, attention_bias=number == 2,
    )  # fmt: skip


def cohere_case(normed: bool) -> FamilyCase:
    """Draw a Cohere."""

    def more(maker: FamilyMaker, name: str) -> None:
        for part, count in (("q", 2), ("k", 1)) if normed else ():
            maker.draw(f"{name}{part}_norm.weight", count, KEY)

    return llama_case(
        "cohere", cohere, norms=("input_layernorm",), more=more, head=(), num_key_value_heads=1, use_qk_norm=normed,
        rope_theta=500.0, logit_scale=0.3,
    )  # fmt: skip


def gpt_neox_case(parallel: bool, bias: bool) -> FamilyCase:
    """Draw a GPT-NeoX."""
    c: Config = {
        "model_type": "gpt_neox", "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": 2,
        "intermediate_size": HIDDEN, "vocab_size": V, "rotary_pct": 0.5, "rotary_emb_base": 100,
        "attention_bias": bias, "use_parallel_residual": parallel,
    }  # fmt: skip
    maker = FamilyMaker("gpt_neox.")
    maker.draw("embed_in.weight", V, D)
    for layer in range(LAYERS):
        p = f"layers.{layer}."
        maker.linear(f"{p}attention.query_key_value", D, 3 * D, bias)
        maker.linear(f"{p}attention.dense", D, D, bias)
        maker.linear(f"{p}mlp.dense_h_to_4h", D, HIDDEN)
        maker.linear(f"{p}mlp.dense_4h_to_h", HIDDEN, D)
        maker.norm(f"{p}input_layernorm")
        maker.norm(f"{p}post_attention_layernorm")
    maker.norm("final_layer_norm")
    maker.draw("embed_out.weight", V, D, inside=False)
    return FamilyCase(c, maker.tensors, gpt_neox)


def codegen_case() -> FamilyCase:
    """Draw a CodeGen of eight heads of width 2."""
    heads, d = 8, 16
    c: Config = {
        "model_type": "codegen", "n_embd": d, "n_layer": LAYERS, "n_head": heads, "n_inner": HIDDEN, "vocab_size": V,
        "n_positions": ROWS, "rotary_dim": 2,
    }  # fmt: skip
    maker = FamilyMaker("transformer.")
    maker.draw("wte.weight", V, d)
    for layer in range(LAYERS):
        p = f"h.{layer}."
        maker.linear(f"{p}attn.qkv_proj", d, 3 * d, bias=False)
        maker.linear(f"{p}attn.out_proj", d, d, bias=False)
        maker.linear(f"{p}mlp.fc_in", d, HIDDEN)
        maker.linear(f"{p}mlp.fc_out", HIDDEN, d)
        maker.norm(f"{p}ln_1", d)
    maker.norm("ln_f", d)
    maker.draw("lm_head.weight", V, d, inside=False)
    maker.draw("lm_head.bias", V, inside=False)
    return FamilyCase(c, maker.tensors, codegen)


def opt_case(
    words: int = D, before: bool = True, ends: bool = True, bias: bool = True, weighted: bool = True
) -> FamilyCase:
    """Draw an OPT."""
    c: Config = {
        "model_type": "opt", "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "ffn_dim": HIDDEN,
        "vocab_size": V, "max_position_embeddings": ROWS, "word_embed_proj_dim": words, "do_layer_norm_before": before,
        "_remove_final_layer_norm": not ends, "enable_bias": bias, "layer_norm_elementwise_affine": weighted,
    }  # fmt: skip
    maker = FamilyMaker("model.decoder.")
    maker.draw("embed_tokens.weight", V, words)
    maker.draw("embed_positions.weight", ROWS + 2, D)
    if words != D:
        maker.linear("project_in", words, D, bias=False)
        maker.linear("project_out", D, words, bias=False)
    for layer in range(LAYERS):
        p = f"layers.{layer}."
        maker.attention(f"{p}self_attn.", 2, 2, KEY, bias, "out_proj", bias)
        maker.linear(f"{p}fc1", D, HIDDEN, bias)
        maker.linear(f"{p}fc2", HIDDEN, D, bias)
        for name in ("self_attn_layer_norm", "final_layer_norm") if weighted else ():
            maker.norm(p + name)
    if before and ends and weighted:
        maker.norm("final_layer_norm")
    return FamilyCase(c, maker.tensors, opt)


def bloom_case(after: bool, heads: int = 2) -> FamilyCase:
    """Draw a BLOOM with heads of width 4."""
    d = heads * KEY
    c: Config = {
        "model_type": "bloom", "hidden_size": d, "n_layer": LAYERS, "n_head": heads, "vocab_size": V,
        "apply_residual_connection_post_layernorm": after,
    }  # fmt: skip
    maker = FamilyMaker("transformer.")
    maker.draw("word_embeddings.weight", V, d)
    maker.norm("word_embeddings_layernorm", d)
    for layer in range(LAYERS):
        p = f"h.{layer}."
        maker.linear(f"{p}self_attention.query_key_value", d, 3 * d)
        maker.linear(f"{p}self_attention.dense", d, d)
        maker.linear(f"{p}mlp.dense_h_to_4h", d, 4 * d)
        maker.linear(f"{p}mlp.dense_4h_to_h", 4 * d, d)
        maker.norm(f"{p}input_layernorm", d)
        maker.norm(f"{p}post_attention_layernorm", d)
    maker.norm("ln_f", d)
    return FamilyCase(c, maker.tensors, bloom)


def falcon_case(**config: Any) -> FamilyCase:
    """Draw a Falcon of four heads of width 2, or two of width 4 with ALiBi."""
    c: Config = {
        "model_type": "falcon", "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": 4,
        "vocab_size": V, "ffn_hidden_size": HIDDEN, "alibi": False, "new_decoder_architecture": False,
        "multi_query": True, "parallel_attn": True, "bias": False,
    } | config  # fmt: skip
    heads, new = c["num_attention_heads"], c["new_decoder_architecture"]
    groups = c["num_kv_heads"] if new else 1 if c["multi_query"] else heads
    two = new and c.get("num_ln_in_parallel_attn") != 1
    maker = FamilyMaker("transformer.")
    maker.draw("word_embeddings.weight", V, D)
    for layer in range(LAYERS):
        p = f"h.{layer}."
        maker.linear(f"{p}self_attention.query_key_value", D, D + 2 * groups * (D // heads), c["bias"])
        maker.linear(f"{p}self_attention.dense", D, D, c["bias"])
        maker.linear(f"{p}mlp.dense_h_to_4h", D, HIDDEN, c["bias"])
        maker.linear(f"{p}mlp.dense_4h_to_h", HIDDEN, D, c["bias"])
        for name in ("ln_attn", "ln_mlp") if two else ("input_layernorm",):
            maker.norm(p + name)
        if not c["parallel_attn"]:
            maker.norm(f"{p}post_attention_layernorm")
    maker.norm("ln_f")
    return FamilyCase(c, maker.tensors, falcon)


def gpt_bigcode_case(one: bool) -> FamilyCase:
    """Draw a GPT-BigCode."""
    c: Config = {
        "model_type": "gpt_bigcode", "n_embd": D, "n_layer": LAYERS, "n_head": 2, "n_inner": HIDDEN, "vocab_size": V,
        "n_positions": ROWS, "multi_query": one,
    }  # fmt: skip
    maker = FamilyMaker("transformer.")
    maker.draw("wte.weight", V, D)
    maker.draw("wpe.weight", ROWS, D)
    for layer in range(LAYERS):
        p = f"h.{layer}."
        maker.linear(f"{p}attn.c_attn", D, D + 2 * (KEY if one else D))
        maker.linear(f"{p}attn.c_proj", D, D)
        maker.linear(f"{p}mlp.c_fc", D, HIDDEN)
        maker.linear(f"{p}mlp.c_proj", HIDDEN, D)
        maker.norm(f"{p}ln_1")
        maker.norm(f"{p}ln_2")
    maker.norm("ln_f")
    return FamilyCase(c, maker.tensors, gpt_bigcode)


def mpt_case(heads: int, scale: float | None) -> FamilyCase:
    """Draw an MPT with heads of width 4."""
    d = heads * KEY
    c: Config = {
        "model_type": "mpt", "d_model": d, "n_layers": LAYERS, "n_heads": heads, "vocab_size": V, "max_seq_len": ROWS,
        "attn_config": {"softmax_scale": scale, "alibi": True, "model_type": "", "attn_impl": "torch"},
    }  # fmt: skip
    maker = FamilyMaker("transformer.")
    maker.draw("wte.weight", V, d)
    for layer in range(LAYERS):
        p = f"blocks.{layer}."
        maker.linear(f"{p}attn.Wqkv", d, 3 * d, bias=False)
        maker.linear(f"{p}attn.out_proj", d, d, bias=False)
        maker.linear(f"{p}ffn.up_proj", d, 4 * d, bias=False)
        maker.linear(f"{p}ffn.down_proj", 4 * d, d, bias=False)
        maker.norm(f"{p}norm_1", d, bias=False)
        maker.norm(f"{p}norm_2", d, bias=False)
    maker.norm("norm_f", d, bias=False)
    return FamilyCase(c, maker.tensors, mpt)


def phi3_case() -> FamilyCase:
    """Draw a Phi-3."""
    c: Config = {
        "model_type": "phi3", "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": 2,
        "num_key_value_heads": 1, "intermediate_size": HIDDEN, "vocab_size": V, "sliding_window": 3,
        "partial_rotary_factor": 0.5,
    }  # fmt: skip
    maker = FamilyMaker("model.")
    maker.draw("embed_tokens.weight", V, D)
    for layer in range(LAYERS):
        p = f"layers.{layer}."
        maker.linear(f"{p}self_attn.qkv_proj", D, D + 2 * KEY, bias=False)
        maker.linear(f"{p}self_attn.o_proj", D, D, bias=False)
        maker.linear(f"{p}mlp.gate_up_proj", D, 2 * HIDDEN, bias=False)
        maker.linear(f"{p}mlp.down_proj", HIDDEN, D, bias=False)
        maker.norm(f"{p}input_layernorm", bias=False)
        maker.norm(f"{p}post_attention_layernorm", bias=False)
    maker.norm("norm", bias=False)
    maker.draw("lm_head.weight", V, D, inside=False)
    return FamilyCase(c, maker.tensors, phi3)


def neox_japanese_case() -> FamilyCase:
    """Draw a GPT-NeoX-Japanese."""
    c: Config = {
        "model_type": "gpt_neox_japanese", "hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": 2,
        "intermediate_multiple_size": 2, "vocab_size": V, "rotary_pct": 1.0,
    }  # fmt: skip
    maker = FamilyMaker("gpt_neox_japanese.")
    maker.draw("embed_in.weight", V, D)
    for layer in range(LAYERS):
        p = f"layers.{layer}."
        maker.linear(f"{p}attention.query_key_value", D, 3 * D, bias=False)
        maker.linear(f"{p}attention.dense", D, D, bias=False)
        maker.linear(f"{p}mlp.dense_h_to_4h", D, 2 * D, bias=False)
        maker.linear(f"{p}mlp.dense_4h_to_h", 2 * D, D, bias=False)
        maker.norm(f"{p}input_layernorm")
        maker.norm(f"{p}post_attention_layernorm")
    maker.draw(f"layers.{LAYERS - 1}.attention.dense_bias", D)
    maker.norm("final_layer_norm")
    return FamilyCase(c, maker.tensors, neox_japanese)


def openai_gpt_case() -> FamilyCase:
    """Draw a GPT."""
    c: Config = {
        "model_type": "openai-gpt", "n_embd": D, "n_layer": LAYERS, "n_head": 2, "n_positions": ROWS, "vocab_size": V,
        "afn": "gelu",
    }  # fmt: skip
    maker = FamilyMaker("transformer.")
    maker.draw("tokens_embed.weight", V, D)
    maker.draw("positions_embed.weight", ROWS, D)
    for layer in range(LAYERS):
        p = f"h.{layer}."
        for name, into, out in (
            ("attn.c_attn", D, 3 * D), ("attn.c_proj", D, D), ("mlp.c_fc", D, 4 * D), ("mlp.c_proj", 4 * D, D),
        ):  # fmt: skip
            maker.draw(f"{p}{name}.weight", into, out)
            maker.draw(f"{p}{name}.bias", out)
        maker.norm(f"{p}ln_1")
        maker.norm(f"{p}ln_2")
    return FamilyCase(c, maker.tensors, openai_gpt)


QWEN: Config = {"num_key_value_heads": 1, "sliding_window": 3}
CASES: dict[str, Callable[[], FamilyCase]] = {
    "llama": lambda: llama_case(
        "llama", bias=True, out_bias=True, mlp_bias=True, attention_bias=True, num_attention_heads=4,
        num_key_value_heads=2, head_dim=6, rope_theta=50.0, rope_scaling={"type": "linear", "factor": 2.5},
    ),
    "mistral": lambda: llama_case("mistral", num_key_value_heads=None, sliding_window=3),
    "mistral-no-window": lambda: llama_case("mistral", num_key_value_heads=1, sliding_window=None),
    "qwen2": lambda: llama_case("qwen2", bias=True, use_sliding_window=True, max_window_layers=1, **QWEN),
    "qwen2-off": lambda: llama_case("qwen2", bias=True, use_sliding_window=False, max_window_layers=0, **QWEN),
    "qwen3": lambda: llama_case(
        "qwen3", more=qk_norms, head_dim=KEY, use_sliding_window=True, max_window_layers=28,
        layer_types=["sliding_attention", "full_attention"],
        rope_parameters={"rope_theta": 70.0, "rope_type": "linear", "factor": 2.0}, **QWEN,
    ),
    "gemma": lambda: gemma_case(1),
    "gemma2": lambda: gemma_case(2),
    "phi": lambda: phi_case(False),
    "phi-normed": lambda: phi_case(True),
    "stablelm": lambda: stablelm_case(False),
    "stablelm-parallel": lambda: stablelm_case(True),
    "starcoder2": lambda: llama_case(
        "starcoder2", starcoder2, bias=True, out_bias=True, norm_bias=True, mlp=("c_fc", "c_proj"), mlp_bias=True,
        head=(), num_key_value_heads=1, sliding_window=2,
    ),
    "olmo": lambda: olmo_case(1, groups=1),
    "olmo2": lambda: olmo_case(2),
    "olmo2-grouped": lambda: olmo_case(2, groups=1),
    "cohere": lambda: cohere_case(False),
    "cohere-normed": lambda: cohere_case(True),
    "gpt_neox": lambda: gpt_neox_case(True, False),
    "gpt_neox-sequential": lambda: gpt_neox_case(False, True),
    "codegen": codegen_case,
    "opt": opt_case,
    "opt-after": lambda: opt_case(before=False, bias=False),
    "opt-projected": lambda: opt_case(words=6, ends=False),
    "opt-bare": lambda: opt_case(weighted=False),
    "bloom": lambda: bloom_case(False),
    "bloom-after": lambda: bloom_case(True, heads=3),
    "falcon": falcon_case,
    "falcon-alibi": lambda: falcon_case(alibi=True, multi_query=False, parallel_attn=False, bias=True),
    "falcon-new": lambda: falcon_case(new_decoder_architecture=True, num_kv_heads=2),
    "falcon-new-one-norm": lambda: falcon_case(
        new_decoder_architecture=True, num_kv_heads=4, num_ln_in_parallel_attn=1, bias=True
    ),
    "gpt_bigcode": lambda: gpt_bigcode_case(True),
    "gpt_bigcode-heads": lambda: gpt_bigcode_case(False),
    "phi3": phi3_case,
    "gpt_neox_japanese": neox_japanese_case,
    "openai-gpt": openai_gpt_case,
    "mpt": lambda: mpt_case(2, None),
    "mpt-scaled": lambda: mpt_case(3, 0.25),
}  # fmt: skip
"""Makers of the networks, by names that begin with their families."""
