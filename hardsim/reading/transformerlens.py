"""Read TransformerLens networks: a state dict beside the configuration as `config.json`.

Sources: `HookedTransformer` of versions 1 to 3 (`components/`: weights by head, `blocks.L.attn.W_Q` [heads, d, k]),
and the `TransformerBridge` and `NativeModel` of version 4 (`model_bridge/sources/native/model.py`), which name the
same `nn.Linear` layers (weights [out, in]) in two ways: `blocks.L.attn.q.weight` and `layers.L.attn.q.weight`. All
are pre-norm. They differ in these points: `use_attn_scale: false` means that scores are not divided (in version 4
they are still divided by sqrt(d_head)); `final_rms` without norms means no norm (in version 4, RMSNorm at the end);
rotary positions turn the coordinates r and r + rotary_dim / 2 together unless `rotary_adjacent_pairs` (in version 4
always 2 r and 2 r + 1); a gated MLP adds its bias b_in to the product (in version 4 it has no biases); and their
buffers have different names. ALiBi has the slopes 2^(-8 h / n_heads) for every number of heads.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Literal, TypeAlias

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network import dense
from hardsim.network.blocks import DistanceBias, Rotary
from hardsim.network.numbers import Mask
from hardsim.reading.huggingface.parts import exact_product
from hardsim.reading.tensors import Settings, Stored, Tensors

ACTIVATIONS = {
    "relu": dense.Activation.RELU,
    "gelu": dense.Activation.GELU,
    "gelu_new": dense.Activation.GELU_NEW,
    "gelu_pytorch_tanh": dense.Activation.GELU_NEW,
    "silu": dense.Activation.SILU,
    "swish": dense.Activation.SILU,
}
"""The activations that are supported. `gelu_fast` has a rounded constant; `solu` and names ending in `_ln` combine
several hidden units."""
NormType: TypeAlias = tuple[Literal["layer", "rms"], bool]
"""The kind of a norm, and True if it has parameters."""
NORMS: dict[str, NormType] = {
    "LN": ("layer", True),
    "LNPre": ("layer", False),
    "RMS": ("rms", True),
    "RMSPre": ("rms", False),
}
NATIVE_ARCHITECTURE = "TransformerLensNative"
"""The name that version 4 gives to the architecture of its own networks."""
LIBRARY = "HookedTransformerConfig"
SAID = (
    "n_heads", "n_key_value_heads", "act_fn", "gated_mlp", "normalization_type", "eps", "attention_dir",
    "positional_embedding_type", "rotary_dim", "rotary_base", "rotary_base_local", "rotary_adjacent_pairs",
    "use_local_attn", "window_size", "attn_types", "use_attn_scale", "attn_scale", "scale_attn_by_inverse_layer_idx",
    "attn_scores_soft_cap", "use_qk_norm", "parallel_attn_mlp", "use_normalization_before_and_after", "attn_only",
    "post_embedding_ln", "final_rms", "output_logits_soft_cap",
)  # fmt: skip
"""Settings other than sizes that determine what the network computes."""
HARMLESS = (
    # names, and how the network was made
    "model_name", "original_architecture", "from_checkpoint", "checkpoint_index", "checkpoint_label_type",
    "checkpoint_value", "init_mode", "seed", "initializer_range", "init_weights", "n_params",
    # how words become tokens: here words are given as tokens
    "tokenizer_name", "tokenizer_prepends_bos", "tokenizer_appends_eos", "default_prepend_bos", "default_padding_side",
    "decoder_start_token_id", "trust_remote_code",
    # how the network is run: in real numbers these change nothing
    "device", "n_devices", "dtype", "attn_implementation", "use_attn_result", "use_split_qkv_input", "use_hook_mlp_in",
    "use_attn_in", "use_hook_tokens", "ungroup_grouped_query_attention", "split_attention_weights", "uses_rms_norm",
    "layer_norm_folding",
    # the state dict always holds an unembedding
    "tie_word_embeddings",
    # parts of features that are off, or refused: experts, lengths beyond those of training
    "NTK_by_parts_low_freq_factor", "NTK_by_parts_high_freq_factor", "NTK_by_parts_factor", "NTK_original_ctx_len",
    "yarn_factor", "yarn_attention_factor", "yarn_beta_fast", "yarn_beta_slow",
    "yarn_original_max_position_embeddings", "yarn_truncate", "yarn_global_attn_only", "norm_topk_prob",
    "train_seq_length",
)  # fmt: skip
ROTARY = (
    "rotary_dim", "rotary_base", "rotary_base_local", "rotary_adjacent_pairs", "rotary_scaling_factor",
    "rotary_interleaved_cos_sin", "use_NTK_by_parts_rope", "use_yarn_rope", "use_dynamic_ntk_rope",
)  # fmt: skip
"""Settings of rotary positions, which change nothing without them."""
OFF = (
    "load_in_4bit", "rmsnorm_uses_offset", "use_attention_sinks", "use_logn_attn", "scale_embedding",
    "is_audio_model", "is_visual_model", "is_stateful", "is_multimodal",
)  # fmt: skip
"""Settings that are supported only if they are off. The same holds for every setting that is not named here."""
ONLY_HOOKED = (
    "use_local_attn", "parallel_attn_mlp", "use_normalization_before_and_after", "post_embedding_ln", "use_qk_norm",
)  # fmt: skip
"""Settings that version 4 accepts but does not use, so that they must be off there."""
POSITIONS = "standard", "rotary", "shortformer", "alibi"
KINDS = {"global": False, "local": True}
"""The kinds of layers in `attn_types`; True if they see a window alone."""
DEFAULT_BASE = Fraction(10_000)


@dataclass(frozen=True)
class _Sizes:
    vocabulary: int
    outputs: int
    rows: int
    width: int
    key: int
    heads: int
    groups: int
    """The number of different keys and values, which equal numbers of heads share."""
    layers: int
    hidden: int
    """The number of hidden units of an MLP; 0 if there is no MLP."""


@dataclass(frozen=True)
class _Rules:
    """The parts that layers may have, each stated once."""

    mask: Mask
    positions: str
    """One of POSITIONS."""
    norm: NormType | None
    epsilon: Fraction
    activation: dense.Activation | None
    """None if there are no MLPs."""
    gated: bool
    parallel: bool
    around: bool
    """True if norms also stand after each step."""
    head_norms: bool
    grouped: bool
    """True if keys and values are stored under the names of groups."""
    rotary: tuple[Rotary, ...]
    """By layer; empty if positions are not rotary."""
    windows: tuple[int | None, ...]
    """By layer."""
    cap: Fraction | None


@dataclass(frozen=True)
class _Names:
    """The names of tensors. `native`: as in version 4, with layers stored like `nn.Linear`."""

    native: bool
    embedding: str
    positions: str
    layer: str
    hidden: tuple[str, str]
    final: str
    unembedding: str
    unembedding_bias: str


HOOKED = _Names(
    False, "embed.W_E", "pos_embed.W_pos", "blocks.{}.", ("in", "out"), "ln_final", "unembed.W_U", "unembed.b_U"
)
BRIDGE = _Names(
    True, "embed.weight", "pos_embed.weight", "blocks.{}.", ("in", "out"), "ln_final", "unembed.weight", "unembed.bias"
)
NATIVE = _Names(
    True, "tok_embed.weight", "pos.weight", "layers.{}.", ("fc_in", "fc_out"), "ln_out", "head.weight", "head.bias"
)


def is_transformerlens(stored: Stored) -> bool:
    """Return True if the names of the tensors, or of the settings, are those of TransformerLens."""
    named = any(names.embedding in stored.tensors for names in (HOOKED, BRIDGE, NATIVE))
    return "model_type" not in stored.config and (named or {"d_model", "n_layers", "n_ctx"} <= stored.config.keys())


def read_transformerlens(stored: Stored) -> dense.Network:
    """Read the network in a TransformerLens state dict of any version.

    A network with one output answers at the last position, any other with the largest output at each position. Raises
    InputError if a tensor or a setting is missing, wrong or not understood."""
    settings, weights = stored.settings, stored.weights
    settings.library = LIBRARY
    names = _names(weights)
    sizes = _sizes(settings)
    rules, final_rms = _rules(settings, names, sizes), settings.truth("final_rms", False)
    embedding_norm = _embedding_norm(settings, weights, rules, sizes.width)
    output_cap = _cap(settings, "output_logits_soft_cap")
    scales = [_scale(settings, names, sizes, layer) for layer in range(sizes.layers)]
    _refuse_others(settings, names)
    layers = tuple(_layer(weights, names, layer, sizes, rules, scales[layer]) for layer in range(sizes.layers))
    kind = rules.norm
    if final_rms:
        kind = ("rms", kind[1]) if kind is not None else ("rms", True) if names.native else None
    final = _norm(weights, names.final, kind, names, rules.epsilon, sizes.width)
    embedding = weights.take(names.embedding, sizes.vocabulary, sizes.width, why="d_vocab, d_model")
    positions = _positions(weights, names, sizes, rules)
    shape = (sizes.outputs, sizes.width) if names.native else (sizes.width, sizes.outputs)
    unembedding = weights.take(names.unembedding, *shape, why="d_vocab_out, or d_vocab, and d_model")
    bias = weights.maybe(names.unembedding_bias, sizes.outputs)
    weights.done()
    tokens = stored.tokens(sizes.vocabulary)
    outputs = tokens if sizes.outputs == sizes.vocabulary else tuple(map(str, range(sizes.outputs)))
    readout = dense.Readout() if sizes.outputs == 1 else dense.Readout(at="each", decide="argmax")
    unembedding = unembedding.T if names.native else unembedding
    return dense.Network(
        tokens, embedding, positions, layers, final, unembedding, bias, outputs, readout,
        embedding_norm=embedding_norm,
        positions_at="scores" if rules.positions == "shortformer" else "stream",
        output_cap=output_cap,
    )  # fmt: skip


def _names(weights: Tensors) -> _Names:
    """Return the naming scheme of the tensors. Any tensor identifies it, so that a missing tensor is reported by its
    right name."""
    if any(name.startswith(("layers.", NATIVE.embedding, NATIVE.positions)) for name in weights.names):
        return NATIVE
    return BRIDGE if any(name.endswith((BRIDGE.embedding, ".attn.q.weight")) for name in weights.names) else HOOKED


def _sizes(settings: Settings) -> _Sizes:
    """Return the sizes; -1 stands for a size that follows from others."""

    def size(key: str, default: int) -> int:
        return default if settings.value(key) in (None, -1) else settings.integer(key)

    width, key = settings.integer("d_model"), settings.integer("d_head")
    if width % key and settings.value("n_heads") in (None, -1):
        raise settings.at("n_heads").error("an integer that is at least 1")
    vocabulary, hidden, heads = settings.integer("d_vocab"), size("d_mlp", 4 * width), size("n_heads", width // key)
    groups = size("n_key_value_heads", heads)
    if heads % groups:
        raise settings.at("n_key_value_heads").error(f"a divisor of n_heads, {heads}")
    return _Sizes(
        vocabulary=vocabulary,
        outputs=size("d_vocab_out", vocabulary),
        rows=settings.integer("n_ctx"),
        width=width,
        key=key,
        heads=heads,
        groups=groups,
        layers=settings.integer("n_layers", least=0),
        hidden=0 if settings.truth("attn_only", False) else hidden,
    )


def _on(settings: Settings, key: str) -> bool:
    """Return a setting that is true or false, by default false; it is recorded only if it is true."""
    return settings.has(key) and settings.value(key) is not False and settings.truth(key)


def _cap(settings: Settings, key: str) -> Fraction | None:
    """Return a soft cap. The library takes a number of at most 0 as none."""
    if settings.value(key) is None:
        return None
    found = settings.number(key)
    return found if found > 0 else None


def _rules(settings: Settings, names: _Names, sizes: _Sizes) -> _Rules:
    """Return the parts of layers that the configuration states."""
    kinds = {"standard", "rotary"} if names.native else set(POSITIONS)
    positions = settings.choice(
        "positional_embedding_type", {name: name for name in POSITIONS if name in kinds}, "standard"
    )
    masks = {"causal": Mask.FUTURE, "bidirectional": Mask.NONE}
    mask = settings.choice("attention_dir", masks, "causal")
    if positions == "alibi" and mask is Mask.NONE:
        hint = "In the library only the keys before a query are biased, which is supported with causal attention alone."
        raise settings.at("attention_dir").error('"causal", since positions are alibi', hint)
    if names.native:
        for key in ONLY_HOOKED:
            settings.neutral(key, False)
    local, windows = _windows(settings, sizes.layers)
    gated, parallel = _on(settings, "gated_mlp") and sizes.hidden > 0, _on(settings, "parallel_attn_mlp")
    if parallel and not sizes.hidden:
        raise settings.at("parallel_attn_mlp").error("false, since attn_only is true")
    norm, around = _norm_type(settings), _on(settings, "use_normalization_before_and_after")
    if around and norm is not None and norm[0] == "layer":
        message = 'false, or "normalization_type": "RMS"'
        raise settings.at("use_normalization_before_and_after").error(message, "The library has no others after steps.")
    head_norms = _on(settings, "use_qk_norm")
    if head_norms:
        settings.neutral("qk_norm_after_rope", False)
    settings.harmless("qk_norm_after_rope")
    return _Rules(
        mask,
        positions,
        norm,
        settings.epsilon("eps"),
        _activation(settings, names, gated) if sizes.hidden else None,
        gated,
        parallel,
        around and norm is not None,
        head_norms,
        settings.value("n_key_value_heads") not in (None, -1) and not names.native,
        tuple(_rotary(settings, names, sizes, here) for here in local) if positions == "rotary" else (),
        # Where attention is not causal, the library applies no mask at all.
        windows if mask is Mask.FUTURE else (None,) * sizes.layers,
        _cap(settings, "attn_scores_soft_cap"),
    )


def _activation(settings: Settings, names: _Names, gated: bool) -> dense.Activation:
    found = settings.choice("act_fn", ACTIVATIONS)
    if gated and names.native and found is dense.Activation.RELU:
        # The first releases of version 4 took silu in its place.
        raise settings.at("act_fn").error("gelu, gelu_new or silu, for gated MLPs of version 4")
    return found


def _windows(settings: Settings, layers: int) -> tuple[tuple[bool, ...], tuple[int | None, ...]]:
    """Return two tuples by layer: True for a local one, and its window (None without a limit)."""
    if not _on(settings, "use_local_attn"):
        settings.harmless("window_size", "attn_types")
        return (False,) * layers, (None,) * layers
    window, types = settings.integer("window_size"), settings.value("attn_types")
    if (
        not isinstance(types, list)
        or len(types) != layers
        or not all(isinstance(one, str) and one in KINDS for one in types)
    ):
        raise settings.at("attn_types").error(f"an array of {layers} names, each of them {' or '.join(KINDS)}")
    settings.take("attn_types", ", ".join(types))
    local = tuple(KINDS[one] for one in types)
    return local, tuple(window if here else None for here in local)


def _rotary(settings: Settings, names: _Names, sizes: _Sizes, local: bool) -> Rotary:
    """Return the rotary positions of the heads of a layer."""
    size = settings.integer("rotary_dim", sizes.key)
    if size > sizes.key or size % 2:
        raise settings.at("rotary_dim").error(f"an even number of at most d_head, {sizes.key}")
    base = settings.number("rotary_base", DEFAULT_BASE)
    if local and settings.has("rotary_base_local"):
        base = settings.number("rotary_base_local")
    for key in ("use_NTK_by_parts_rope", "use_yarn_rope", "use_dynamic_ntk_rope", "rotary_interleaved_cos_sin"):
        settings.neutral(key, False)
    settings.neutral("rotary_scaling_factor", 1, Fraction(1))
    adjacent = True if names.native else settings.truth("rotary_adjacent_pairs", False)
    return Rotary(base, size, adjacent)


def _norm_type(settings: Settings) -> NormType | None:
    """Return the norms of layers: None for null, and "LN" if the setting is absent."""
    if settings.at("normalization_type").value is None:
        settings.take("normalization_type", "null", settings.source)
        return None
    return settings.choice("normalization_type", NORMS, "LN")


def _norm(
    weights: Tensors, name: str, kind: NormType | None, names: _Names, epsilon: Fraction, width: int
) -> dense.Norm | None:
    if kind is None:
        return None
    which, trained = kind
    weight, bias = ("weight", "bias") if names.native else ("w", "b")
    # The norms of version 4 itself have parameters whatever their name is, unless they were folded away.
    trained = trained or (names.native and weights.has(f"{name}.{weight}"))
    return dense.Norm(
        which,
        epsilon,
        weights.take(f"{name}.{weight}", width) if trained else None,
        weights.take(f"{name}.{bias}", width) if trained and which == "layer" else None,
    )


def _embedding_norm(settings: Settings, weights: Tensors, rules: _Rules, width: int) -> dense.Norm | None:
    """Return the norm of embeddings, which is LayerNorm whatever the other norms are."""
    key = "post_embedding_ln"
    if not _on(settings, key):
        return None
    if rules.positions == "standard":
        hint = "The library adds standard positions after this norm, which is not supported."
        raise settings.at(key).error("false, since positions are standard", hint)
    parts = (weights.take(f"embed.ln.{part}", width) for part in "wb")
    return dense.Norm("layer", rules.epsilon, *parts)


def _positions(weights: Tensors, names: _Names, sizes: _Sizes, rules: _Rules) -> dense.Dense | tuple[()]:
    if rules.positions == "rotary":
        return ()
    if rules.positions == "alibi":
        # The library makes a table, and does not use it.
        weights.maybe(names.positions, sizes.rows, sizes.width, why="n_ctx, d_model")
        return ()
    return weights.take(names.positions, sizes.rows, sizes.width, why="n_ctx, d_model")


def _scale(settings: Settings, names: _Names, sizes: _Sizes, layer: int) -> dense.RootScale:
    """Return the factor of the scores of the heads of a layer (from 0); the setting is their divisor."""
    stored, used = settings.number("attn_scale", Fraction(-1)), settings.truth("use_attn_scale", True)
    inverse = settings.truth("scale_attn_by_inverse_layer_idx", False)
    if inverse and names.native:
        settings.neutral("scale_attn_by_inverse_layer_idx", False)  # version 4 accepts the setting but does not use it
    factor = Fraction(1, layer + 1) if inverse else Fraction(1)
    if stored != -1 and not 0 < stored < 10**300:
        raise settings.at("attn_scale").error("a positive number, or -1 for sqrt(d_head)")
    # By default the library writes the rounded sqrt(d_head) into its configuration.
    if stored == -1 or float(stored) == sqrt(sizes.key) or (names.native and not used):
        return dense.RootScale(factor, sizes.key if used or names.native else 1)
    return dense.RootScale(factor / stored if used else factor)


def _layer(
    weights: Tensors, names: _Names, layer: int, sizes: _Sizes, rules: _Rules, scale: dense.RootScale
) -> dense.NetworkLayer:
    start = names.layer.format(layer)

    def norm(name: str, kind: NormType | None) -> dense.Norm | None:
        return _norm(weights, start + name, kind, names, rules.epsilon, sizes.width)

    heads, b_o = _attention(weights, names, layer, sizes, rules, scale)
    has_mlp = rules.activation is not None
    after: NormType | None = ("rms", True) if rules.around else None
    mlp = None if rules.activation is None else _mlp(weights, f"{start}mlp.", names, rules, sizes)
    return dense.NetworkLayer(
        heads, mlp, b_o,
        norm("ln1", rules.norm), norm("ln2", rules.norm if has_mlp else None),
        parallel=rules.parallel,
        out_1=norm("ln1_post", after), out_2=norm("ln2_post", after if has_mlp else None),
    )  # fmt: skip


def _attention(
    weights: Tensors, names: _Names, layer: int, sizes: _Sizes, rules: _Rules, scale: dense.RootScale
) -> tuple[tuple[dense.NetworkHead, ...], dense.Dense]:
    """Return the heads of a layer, and the bias that is added once for all of them."""
    name, heads, width, key = f"{names.layer.format(layer)}attn.", sizes.heads, sizes.width, sizes.key

    def joint(letter: str) -> tuple[dense.Dense, dense.Dense]:
        """Return the weights and the biases of all heads, or all groups: [heads, d, k] and [heads, k]."""
        count = heads if letter == "Q" else sizes.groups
        if not names.native:
            own = "_" if rules.grouped and letter != "Q" else ""
            matrix = weights.take(f"{name}{own}W_{letter}", count, width, key)
            return matrix, weights.take(f"{name}{own}b_{letter}", count, key)
        matrix = weights.take(f"{name}{letter.lower()}.weight", count * key, width)
        bias = weights.take(f"{name}{letter.lower()}.bias", count * key)
        return matrix.reshape(count, key, width).transpose(0, 2, 1), bias.reshape(count, key)

    (w_q, b_q), (w_k, b_k), (w_v, b_v) = map(joint, "QKV")
    norms = [weights.take(f"{name}{one}_norm.w", key) for one in "qk"] if rules.head_norms else []
    norm_q, norm_k = (dense.Norm("rms", rules.epsilon, one) for one in norms) if norms else (None, None)
    if names.native:
        w_o = weights.take(f"{name}o.weight", width, heads * key).T.reshape(heads, key, width)
        b_o = weights.take(f"{name}o.bias", width)
    else:
        w_o, b_o = weights.take(f"{name}W_O", heads, key, width), weights.take(f"{name}b_O", width)
        _check_buffers(weights, name, sizes.rows, rules, layer)
    groups = [head * sizes.groups // heads for head in range(heads)]
    return tuple(
        dense.NetworkHead(
            f"L{layer}H{h}", rules.mask, scale, w_q[h], w_k[g], w_v[g], w_o[h], b_q[h], b_k[g], b_v[g],
            norm_q=norm_q, norm_k=norm_k,
            rotary=rules.rotary[layer] if rules.rotary else None,
            cap=rules.cap, window=rules.windows[layer],
            distance=DistanceBias(Fraction(8 * (h + 1), heads)) if rules.positions == "alibi" else None,
        )
        for h, g in enumerate(groups)
    ), b_o  # fmt: skip


def _check_buffers(weights: Tensors, name: str, rows: int, rules: _Rules, layer: int) -> None:
    """Raise InputError unless the buffers of an attention layer hold what the configuration gives."""
    # The mask is stored, though not applied, if attention is bidirectional.
    weights.check_mask(f"{name}mask", rows, window=rules.windows[layer])
    weights.check_filler(f"{name}IGNORE")
    if rules.rotary:
        rotary = rules.rotary[layer]
        places = [next(r for r, pair in enumerate(rotary.pairs) if place in pair) for place in range(rotary.size)]
        rates = float(rotary.base) ** (-2 * np.array(places) / rotary.size)
        angles = np.arange(rows)[:, None] * rates
        weights.check_table(f"{name}rotary_sin", "sines of rotary positions", np.sin(angles))
        weights.check_table(f"{name}rotary_cos", "cosines of rotary positions", np.cos(angles))


def _mlp(weights: Tensors, name: str, names: _Names, rules: _Rules, sizes: _Sizes) -> dense.Mlp:
    width, hidden, activation = sizes.width, sizes.hidden, rules.activation or dense.Activation.RELU

    def half(part: str, rows: int, columns: int) -> tuple[dense.Dense, dense.Dense]:
        if not names.native:
            return weights.take(f"{name}W_{part}", rows, columns), weights.take(f"{name}b_{part}", columns)
        return weights.take(f"{name}{part}.weight", columns, rows).T, weights.take(f"{name}{part}.bias", columns)

    if rules.gated and names.native:
        gate, into = (weights.take(f"{name}{part}.weight", hidden, width).T for part in ("gate", "in"))
        return dense.Mlp(activation, into, weights.take(f"{name}out.weight", width, hidden).T, w_gate=gate)
    (w_in, b_in), (w_out, b_out) = half(names.hidden[0], width, hidden), half(names.hidden[1], hidden, width)
    if not rules.gated:
        return dense.Mlp(activation, w_in, w_out, b_in, b_out)
    gate = weights.take(f"{name}W_gate", width, hidden)
    if b_in.any():
        # (f(y W_gate) * (y W_in) + b_in) W_out + b_out: the first bias joins the second.
        b_out = exact_product(b_in[None], w_out)[0] + list(map(Fraction, b_out.tolist()))
    return dense.Mlp(activation, w_in, w_out, None, b_out, w_gate=gate)


def _refuse_others(settings: Settings, names: _Names) -> None:
    """Raise InputError for a setting that changes the computed function, and for any setting not known to leave it
    unchanged."""
    settings.harmless(
        *HARMLESS, *ROTARY, "act_fn", "gated_mlp", "attn_scale", "use_attn_scale", "scale_attn_by_inverse_layer_idx"
    )
    if settings.value("architecture") not in (None, NATIVE_ARCHITECTURE):
        # The bridge names the layers of other models in the same way, but does not transpose their weights.
        hint = "The bridge holds a model of Hugging Face: save that itself with save_pretrained, and name its folder."
        raise settings.at("architecture").error(NATIVE_ARCHITECTURE, hint)
    for key in OFF:
        settings.neutral(key, False)
    settings.done()
