"""Read TransformerLens networks: a state dict beside the configuration as `config.json`.

Sources: `HookedTransformer` of versions 1 to 3 (`components/`: weights by head, `blocks.L.attn.W_Q` [heads, d, k]),
and the `TransformerBridge` and `NativeModel` of version 4 (`model_bridge/sources/native/model.py`), which name the
same `nn.Linear` layers (weights [out, in]) in two ways: `blocks.L.attn.q.weight` and `layers.L.attn.q.weight`. All
are pre-norm. They differ in three points: `use_attn_scale: false` means that scores are not divided (in version 4
they are still divided by sqrt(d_head)); `final_rms` without norms means no norm (in version 4, RMSNorm at the end);
and their buffers for masks have different names.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Literal, TypeAlias

from hardsim.network import dense
from hardsim.network.numbers import Mask
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
    "n_heads", "act_fn", "normalization_type", "eps", "attention_dir", "positional_embedding_type", "use_attn_scale",
    "attn_scale", "scale_attn_by_inverse_layer_idx", "attn_only", "final_rms",
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
    # parts of features that are refused: rotary positions, local attention, experts, lengths beyond those of training
    "rotary_dim", "rotary_base", "rotary_base_local", "rotary_scaling_factor", "rotary_adjacent_pairs",
    "rotary_interleaved_cos_sin", "qk_norm_after_rope", "use_NTK_by_parts_rope", "NTK_by_parts_low_freq_factor",
    "NTK_by_parts_high_freq_factor", "NTK_by_parts_factor", "NTK_original_ctx_len", "use_yarn_rope", "yarn_factor",
    "yarn_attention_factor", "yarn_beta_fast", "yarn_beta_slow", "yarn_original_max_position_embeddings",
    "yarn_truncate", "yarn_global_attn_only", "use_dynamic_ntk_rope", "window_size", "attn_types", "norm_topk_prob",
    "train_seq_length",
)  # fmt: skip
OFF = (
    "use_local_attn", "parallel_attn_mlp", "gated_mlp", "use_normalization_before_and_after", "post_embedding_ln",
    "use_qk_norm", "load_in_4bit", "rmsnorm_uses_offset", "use_attention_sinks", "use_logn_attn",
    "scale_embedding", "is_audio_model", "is_visual_model", "is_stateful", "is_multimodal",
)  # fmt: skip
"""Settings that are supported only if they are off. The same holds for every setting that is not named here."""


@dataclass(frozen=True)
class _Sizes:
    vocabulary: int
    outputs: int
    rows: int
    width: int
    key: int
    heads: int
    layers: int
    hidden: int
    """The number of hidden units of an MLP; 0 if there is no MLP."""


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
    settings.choice("positional_embedding_type", {"standard": None}, "standard")
    masks = {"causal": Mask.FUTURE, "bidirectional": Mask.NONE}
    mask, kind = settings.choice("attention_dir", masks, "causal"), _norm_type(settings)
    epsilon, final_rms = settings.epsilon("eps"), settings.truth("final_rms", False)
    _refuse_others(settings, names, sizes)

    def norm(name: str, kind: NormType | None) -> dense.Norm | None:
        return None if kind is None else _norm(weights, name, kind, names, epsilon, sizes.width)

    activation = settings.choice("act_fn", ACTIVATIONS) if sizes.hidden else None
    layers = []
    for layer in range(sizes.layers):
        start = names.layer.format(layer)
        heads, b_o = _attention(weights, names, layer, sizes, mask, _scale(settings, names, sizes, layer))
        before = norm(f"{start}ln1", kind), norm(f"{start}ln2", kind if sizes.hidden else None)
        mlp = None if activation is None else _mlp(weights, f"{start}mlp.", names, activation, sizes)
        layers.append(dense.NetworkLayer(heads, mlp, b_o, *before))
    if final_rms:
        kind = ("rms", kind[1]) if kind is not None else ("rms", True) if names.native else None
    final = norm(names.final, kind)
    embedding = weights.take(names.embedding, sizes.vocabulary, sizes.width, why="d_vocab, d_model")
    positions = weights.take(names.positions, sizes.rows, sizes.width, why="n_ctx, d_model")
    shape = (sizes.outputs, sizes.width) if names.native else (sizes.width, sizes.outputs)
    unembedding = weights.take(names.unembedding, *shape, why="d_vocab_out, or d_vocab, and d_model")
    bias = weights.maybe(names.unembedding_bias, sizes.outputs)
    weights.done()
    tokens = stored.tokens(sizes.vocabulary)
    outputs = tokens if sizes.outputs == sizes.vocabulary else tuple(map(str, range(sizes.outputs)))
    readout = dense.Readout() if sizes.outputs == 1 else dense.Readout(at="each", decide="argmax")
    unembedding = unembedding.T if names.native else unembedding
    return dense.Network(tokens, embedding, positions, tuple(layers), final, unembedding, bias, outputs, readout)


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
    vocabulary, hidden = settings.integer("d_vocab"), size("d_mlp", 4 * width)
    return _Sizes(
        vocabulary=vocabulary,
        outputs=size("d_vocab_out", vocabulary),
        rows=settings.integer("n_ctx"),
        width=width,
        key=key,
        heads=size("n_heads", width // key),
        layers=settings.integer("n_layers", least=0),
        hidden=0 if settings.truth("attn_only", False) else hidden,
    )


def _norm_type(settings: Settings) -> NormType | None:
    """Return the norms of layers: None for null, and "LN" if the setting is absent."""
    if settings.at("normalization_type").value is None:
        settings.take("normalization_type", "null", settings.source)
        return None
    return settings.choice("normalization_type", NORMS, "LN")


def _norm(weights: Tensors, name: str, kind: NormType, names: _Names, epsilon: Fraction, width: int) -> dense.Norm:
    which, trained = kind
    weight, bias = ("weight", "bias") if names.native else ("w", "b")
    return dense.Norm(
        which,
        epsilon,
        weights.take(f"{name}.{weight}", width) if trained else None,
        weights.take(f"{name}.{bias}", width) if trained and which == "layer" else None,
    )


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


def _attention(
    weights: Tensors, names: _Names, layer: int, sizes: _Sizes, mask: Mask, scale: dense.RootScale
) -> tuple[tuple[dense.NetworkHead, ...], dense.Dense]:
    """Return the heads of a layer, and the bias that is added once for all of them."""
    name, heads, width, key = f"{names.layer.format(layer)}attn.", sizes.heads, sizes.width, sizes.key

    def joint(letter: str) -> tuple[dense.Dense, dense.Dense]:
        """Return the weights and the biases of all heads: [heads, d, k] and [heads, k]."""
        if not names.native:
            return weights.take(f"{name}W_{letter}", heads, width, key), weights.take(f"{name}b_{letter}", heads, key)
        matrix = weights.take(f"{name}{letter.lower()}.weight", heads * key, width)
        bias = weights.take(f"{name}{letter.lower()}.bias", heads * key)
        return matrix.reshape(heads, key, width).transpose(0, 2, 1), bias.reshape(heads, key)

    (w_q, b_q), (w_k, b_k), (w_v, b_v) = map(joint, "QKV")
    if names.native:
        w_o = weights.take(f"{name}o.weight", width, heads * key).T.reshape(heads, key, width)
        b_o = weights.take(f"{name}o.bias", width)
    else:
        w_o, b_o = weights.take(f"{name}W_O", heads, key, width), weights.take(f"{name}b_O", width)
        weights.check_mask(f"{name}mask", sizes.rows)  # stored, though not applied, if attention is bidirectional
        weights.check_filler(f"{name}IGNORE")
    return tuple(
        dense.NetworkHead(f"L{layer}H{h}", mask, scale, w_q[h], w_k[h], w_v[h], w_o[h], b_q[h], b_k[h], b_v[h])
        for h in range(heads)
    ), b_o


def _mlp(weights: Tensors, name: str, names: _Names, activation: dense.Activation, sizes: _Sizes) -> dense.Mlp:
    width, hidden = sizes.width, sizes.hidden

    def half(part: str, rows: int, columns: int) -> tuple[dense.Dense, dense.Dense]:
        if not names.native:
            return weights.take(f"{name}W_{part}", rows, columns), weights.take(f"{name}b_{part}", columns)
        return weights.take(f"{name}{part}.weight", columns, rows).T, weights.take(f"{name}{part}.bias", columns)

    (w_in, b_in), (w_out, b_out) = half(names.hidden[0], width, hidden), half(names.hidden[1], hidden, width)
    return dense.Mlp(activation, w_in, w_out, b_in, b_out)


def _refuse_others(settings: Settings, names: _Names, sizes: _Sizes) -> None:
    """Raise InputError for a setting that changes the computed function, and for any setting not known to leave it
    unchanged."""
    settings.harmless(*HARMLESS, "act_fn", "attn_scale", "use_attn_scale", "scale_attn_by_inverse_layer_idx")
    if settings.value("architecture") not in (None, NATIVE_ARCHITECTURE):
        # The bridge names the layers of other models in the same way, but does not transpose their weights.
        hint = "The bridge holds a model of Hugging Face: save that itself with save_pretrained, and name its folder."
        raise settings.at("architecture").error(NATIVE_ARCHITECTURE, hint)
    # With as many keys as heads there are no groups; only version 4 uses the same names for both.
    settings.neutral("n_key_value_heads", *([sizes.heads] if names.native else []))
    for key in OFF:
        settings.neutral(key, False)
    for key in ("attn_scores_soft_cap", "output_logits_soft_cap"):
        if settings.number(key, Fraction(-1)) > 0:
            settings.neutral(key, Fraction(-1))
    settings.done()
