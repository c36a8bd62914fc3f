"""Read PyTorch's `nn.TransformerEncoder` of `nn.TransformerEncoderLayer`, from a state dict or from a module in
Python.

Source: torch 2, `nn/modules/transformer.py` and `activation.py`: weights of `nn.Linear` (y = x W^T + b, W of shape
[out, in]), queries, keys and values one below the other in `in_proj_weight`, scores divided by sqrt(d / heads), norms
before each step (`norm_first`) or after it. A state dict lacks the heads, the activation, the order of norms, the
mask and the scale of the embedding: `config.json` with `model_type: torch-encoder` states them, and the parts around
the encoder. A setting that is not stated raises an error, unless the weights show it or PyTorch's constructors have a
single default (the epsilon of LayerNorm). torch is not imported: modules are read by their attributes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, did_you_mean
from hardsim.network import dense
from hardsim.network.numbers import Mask
from hardsim.reading.readout import listed_names, read_readout, require_tokens, stored_name
from hardsim.reading.tensors import DEFAULT_EPSILON, Settings, Stored, Tensors

Tokens: TypeAlias = tuple[dense.Token, ...]
MODEL_TYPE = "torch-encoder"
NAME = "<torch>"
ACTIVATIONS = {
    "relu": dense.Activation.RELU,
    "gelu": dense.Activation.GELU,
    "gelu_tanh": dense.Activation.GELU_NEW,
    "gelu_new": dense.Activation.GELU_NEW,
    "silu": dense.Activation.SILU,
    "swish": dense.Activation.SILU,
}
NORMS: dict[str, Literal["layer", "rms"]] = {"layer": "layer", "rms": "rms"}
NO_NORM = "none"
NO_POSITIONS = "none"
LIBRARY = "PyTorch"
SAID = (
    "embedding_scale", "nhead", "causal", "activation", "norm_first", "norm", "layer_norm_eps", "final_norm",
    "final_norm_eps", "positions",
)  # fmt: skip
"""Settings other than sizes that determine what the network computes."""
ADVICE = {
    "embedding_scale": 'Write "embedding_scale": 1 where the model takes the embedding as it is, "sqrt(d)" where it '
    "multiplies it by math.sqrt(d), as PyTorch's tutorial on nn.Transformer does, or the number.",
    "nhead": 'Write the number of heads of each layer, such as "nhead": 4.',
    "causal": 'Write "causal": true where the encoder runs under a causal mask, else "causal": false.',
    "activation": 'Write the activation of the layers, such as "activation": "relu", PyTorch\'s default.',
    "norm_first": 'Write "norm_first": false where norms stand after the sums, PyTorch\'s default, else true.',
    "norm": 'A norm without a bias may be of either kind: write "norm": "layer" or "norm": "rms".',
    "layer_norm_eps": "RMSNorm has no default that all formats share: write its eps, such as "
    '"layer_norm_eps": 0.000001.',
    "final_norm": 'Write "final_norm": "layer" or "rms", or "final_norm": "none" where no norm follows the last layer.',
    "final_norm_eps": 'Write the eps of the norm at the end, such as "final_norm_eps": 0.00001.',
}
"""Hints for the settings that must be stated."""
STATED = "embedding_scale", "nhead", "norm_first", "activation", "causal"
"""The settings that every configuration must state."""
TRAINING = "dropout", "batch_first", "enable_nested_tensor", "mask_check", "dtype", "torch_dtype", "torch_version"
"""Settings that do not affect evaluation."""
FIRST = "self_attn.in_proj_weight"
BIASES = "self_attn.in_proj_bias", "self_attn.out_proj.bias", "linear1.bias", "linear2.bias"
NORM_WEIGHTS, NORM_BIASES = ("norm1.weight", "norm2.weight"), ("norm1.bias", "norm2.bias")
_LAYER = re.compile(r"layers\.(0|[1-9][0-9]{0,5})\.")  # six digits at most: names decide how far we count
_TABLE = re.compile(r"(?i)(^|[._])(pos(?!t)\w*|pe|wpe)(\.[^.]+)?\Z|position")
"""Pattern of the names of tensors with a table of positions."""
_LAST = re.compile(_LAYER.pattern + r"\Z")


@dataclass(frozen=True)
class _Encoder:
    """The common settings of all layers: the names of their tensors, d, the heads, and the settings stated once."""

    starts: tuple[str, ...]
    """The prefix of each layer's tensor names."""
    width: int
    heads: int
    mask: Mask
    activation: dense.Activation
    first: bool
    epsilon: Fraction
    norm: Literal["layer", "rms"]
    optional: frozenset[str]
    """Endings of the names of optional tensors that are present."""


def is_torch(stored: Stored) -> bool:
    """Return True if the configuration is that of a PyTorch encoder."""
    return stored.config.get("model_type") == MODEL_TYPE


def read_torch(stored: Stored) -> dense.Network:
    """Read the network of a state dict with an `nn.TransformerEncoder`, or one layer of it, an embedding and an
    unembedding.

    A network with one output answers at the last position, any other with the largest output at each position. Raises
    InputError if a tensor or a setting is missing, wrong or not understood."""
    settings, weights = stored.settings, stored.weights
    settings.library, settings.examples = LIBRARY, ADVICE
    settings.neutral("model_type", MODEL_TYPE)
    settings.harmless(*TRAINING)
    _require_stated(settings)
    start = _start(settings, weights)
    encoder = _encoder(settings, weights, start)
    scale = settings.scale("embedding_scale", encoder.width)
    why = "the width of the encoder"
    embedding = weights.take(_name(settings, weights, "embedding"), None, encoder.width, why=why)
    layers = tuple(_layer(weights, encoder, number) for number in range(len(encoder.starts)))
    final = _final(settings, weights, start, encoder)
    positions = _positions(settings, weights, encoder.width)
    named = _name(settings, weights, "unembedding")
    unembedding = weights.take(named, None, encoder.width, why=why)
    tokens = _tokens(settings, stored, len(embedding))
    bias = _bias(settings, weights, named, len(unembedding))
    outputs, readout = _readout(settings, tokens, len(unembedding))
    settings.done()
    weights.done()
    return dense.Network(tokens, embedding, positions, layers, final, unembedding.T, bias, outputs, readout, scale)


def _require_stated(settings: Settings) -> None:
    """Raise InputError with all settings that are missing, if there are several, so that they can be added in one
    step."""
    missing = [key for key in STATED if not settings.has(key)]
    if len(missing) > 1:
        message = f"{', '.join(missing)} are missing: weights do not show them"
        hint = " ".join([*(ADVICE[key] for key in missing), "See docs/networks.md."])
        raise InputError(f"{settings.document.name}: {message}", hint)


def _name(settings: Settings, weights: Tensors, key: str) -> str:
    """Return the name of the tensor of the embedding or the unembedding: as stated, or NAME.weight. Raises InputError
    if there is no such tensor. The message suggests a similar name, or names tensors beside a wrapper."""
    name = settings.text(key, f"{key}.weight")
    if weights.has(name) or settings.has(key):
        return name
    wrapped = next((one.removesuffix(name) for one in weights.names if one.endswith(f".{name}")), "")
    if wrapped:
        others = [one for one in weights.names if not one.startswith(wrapped)]
        message = f"{name} is missing: some tensors begin with {wrapped}, and others, as {others[0]}, do not"
        hint = f"Save the weights of the module {wrapped[:-1]} alone: its state_dict()."
        raise weights.error(message, hint if others else "Name the tensors in the configuration.")
    near = did_you_mean(name, weights.names)
    called = re.sub(r"did you mean (\S+)\?", r"\1", near) or "NAME"
    message = f"the tensor {name} is missing, and {settings.source} does not name another one"
    raise weights.error(message, f'If it has another name, state it, as in "{key}": "{called}". See docs/networks.md.')


def _start(settings: Settings, weights: Tensors) -> str:
    """Return the prefix of the encoder's tensor names: as stated, or that of the only encoder."""
    if settings.has("encoder"):
        given = settings.text("encoder")
        return given if given.endswith(".") or not given else f"{given}."
    found = sorted({_LAST.sub("", name.removesuffix(FIRST)) for name in weights.names if name.endswith(FIRST)})
    if not found:
        hint = "Encoders are nn.TransformerEncoder or nn.TransformerEncoderLayer, with equal widths of keys and values."
        raise weights.error(f"no tensor is named {FIRST}, so there is no encoder", hint)
    if len(found) > 1:
        message = f"encoders begin with {', '.join(map(repr, found))}"
        raise weights.error(message, "Name one of them as encoder in the configuration.")
    return found[0]


def _encoder(settings: Settings, weights: Tensors, start: str) -> _Encoder:
    starts = _layers(weights, start)
    *rows, width = weights.shape(starts[0] + FIRST) or (0,)
    if not rows or not width:
        raise weights.error(f"the tensor {starts[0]}{FIRST} is not a matrix [3 d, d]", "Save the whole encoder.")
    heads = settings.integer("nhead")
    if width % heads:
        raise settings.at("nhead").error(f"a divisor of the width {width} of the encoder")
    settings.neutral("d_model", width)
    settings.neutral("num_layers", len(starts))
    hidden = weights.shape(f"{starts[0]}linear1.weight")
    settings.neutral("dim_feedforward", *hidden[:1])
    optional: set[str] = set()
    for group in (BIASES, NORM_WEIGHTS, NORM_BIASES):
        # Modules have all of a group or none: if one is missing, it was lost.
        if any(weights.has(place + name) for place in starts for name in group):
            optional.update(group)
    norm = _kind(settings, "norm", NORM_BIASES[0] in optional)
    return _Encoder(
        starts,
        width,
        heads,
        Mask.FUTURE if settings.truth("causal") else Mask.NONE,
        settings.choice("activation", ACTIVATIONS),
        settings.truth("norm_first"),
        _epsilon(settings, "layer_norm_eps", norm),
        norm,
        frozenset(optional),
    )


def _kind(settings: Settings, key: str, biased: bool) -> Literal["layer", "rms"]:
    """Return the kind of a norm. It must be stated if no bias shows that it is LayerNorm."""
    if biased and not settings.has(key):
        settings.take(key, "layer", "the weights: norms have biases")
        return "layer"
    return settings.choice(key, NORMS)


def _epsilon(settings: Settings, key: str, norm: Literal["layer", "rms"]) -> Fraction:
    """Return the epsilon of a norm. It must be stated for RMSNorm, whose default depends on the number format."""
    return settings.epsilon(key) if norm == "layer" else settings.epsilon(key, None)


def _layers(weights: Tensors, start: str) -> tuple[str, ...]:
    """Return the prefix of each layer's tensor names."""
    if weights.has(start + FIRST):
        return (start,)
    known = (_LAYER.match(name[len(start) :]) for name in weights.names if name.startswith(start))
    count = max((int(found[1]) + 1 for found in known if found is not None), default=0)
    if not count:
        raise weights.error(f"no tensor is named {start}layers.0.{FIRST}", "State its prefix: encoder.")
    return tuple(f"{start}layers.{number}." for number in range(count))


def _layer(weights: Tensors, encoder: _Encoder, number: int) -> dense.NetworkLayer:
    start, width = encoder.starts[number], encoder.width

    def maybe(name: str, size: int) -> dense.Dense | None:
        return weights.take(start + name, size) if name in encoder.optional else None

    joint = weights.take(start + FIRST, 3 * width, width, why="3 d, d")
    joint_bias, key = maybe("self_attn.in_proj_bias", 3 * width), width // encoder.heads
    w_o = weights.take(f"{start}self_attn.out_proj.weight", width, width)
    heads = []
    for head in range(encoder.heads):
        parts = [slice(third * width + head * key, third * width + (head + 1) * key) for third in range(3)]
        w_q, w_k, w_v = (joint[part].T for part in parts)
        b_q, b_k, b_v = (None if joint_bias is None else joint_bias[part] for part in parts)
        scale, out = dense.RootScale(Fraction(1), key), w_o[:, head * key : (head + 1) * key].T
        heads.append(dense.NetworkHead(f"L{number}H{head}", encoder.mask, scale, w_q, w_k, w_v, out, b_q, b_k, b_v))
    w_in = weights.take(f"{start}linear1.weight", None, width)
    hidden = len(w_in)
    w_out = weights.take(f"{start}linear2.weight", width, hidden)
    mlp = dense.Mlp(encoder.activation, w_in.T, w_out.T, maybe("linear1.bias", hidden), maybe("linear2.bias", width))
    norm_1, norm_2 = (
        dense.Norm(encoder.norm, encoder.epsilon, maybe(f"{name}.weight", width), maybe(f"{name}.bias", width))
        for name in ("norm1", "norm2")
    )
    b_o = maybe("self_attn.out_proj.bias", width)
    return dense.NetworkLayer(tuple(heads), mlp, b_o, norm_1, norm_2, post=not encoder.first)


def _final(settings: Settings, weights: Tensors, start: str, encoder: _Encoder) -> dense.Norm | None:
    """Return the norm at the end: as stated, or as its tensors show. There is none if other norms have tensors and it
    has none."""
    name, key = f"{start}norm", "final_norm"
    stored, stated = weights.has(f"{name}.weight"), settings.value(key)
    if stated is None and not stored and NORM_WEIGHTS[0] in encoder.optional:
        settings.take(key, NO_NORM, f"the weights: there is no tensor {name}.weight")
        stated = NO_NORM
    elif stated == NO_NORM:
        settings.take(key, NO_NORM)
    if stated == NO_NORM:
        settings.neutral("final_norm_eps")
        return None
    if stated is None and not stored:
        raise settings.at(key).error('"layer", "rms" or "none"')
    kind = _kind(settings, key, weights.has(f"{name}.bias"))
    if encoder.epsilon != DEFAULT_EPSILON and not settings.has("final_norm_eps"):
        # nn.Transformer passes its eps on to the norm at the end, nn.TransformerEncoder does not.
        raise settings.at("final_norm_eps").error("a number that is at least 0")
    epsilon, width = _epsilon(settings, "final_norm_eps", kind), encoder.width
    return dense.Norm(kind, epsilon, weights.maybe(f"{name}.weight", width), weights.maybe(f"{name}.bias", width))


def _positions(settings: Settings, weights: Tensors, width: int) -> dense.Dense | tuple[()]:
    """Return the table of positions, which may have axes of length 1; () if there is none."""
    names, key = ("positions.weight", "positions"), "positions"
    found = next((name for name in names if weights.has(name)), None)
    if settings.has(key):
        name = settings.text(key)
    elif found is not None:
        name = found
        settings.take(key, name, "the weights: a tensor of that name")
    else:
        shapes = {one: weights.shape(one) for one in weights.names if _TABLE.search(one)}
        if table := next((one for one, sizes in shapes.items() if len(sizes) > 1 and sizes[-1] == width), ""):
            message = f"{table} seems to be a table of positions, and {settings.source} does not say so"
            raise weights.error(message, f'State it: "{key}": "{table}". See docs/networks.md.')
        name = NO_POSITIONS
        settings.take(key, name, f"the weights: there is no tensor {names[0]}")
        settings.remarks.append(
            f"no table of positions is stored, and {settings.source} states none: read without positions. Write "
            f'"{key}": "{NO_POSITIONS}" if that is right; computed sines and cosines must be stored as a table'
        )
    if name == NO_POSITIONS and not weights.has(name):
        return ()
    sizes = weights.shape(name)
    rows = [size for size in sizes[:-1] if size != 1] or [1]
    if len(sizes) < 2 or len(rows) > 1 or not rows[0]:
        return weights.take(name, None, width)
    return weights.take(name, *sizes[:-1], width, why="the width of the encoder").reshape(rows[0], width)


def _bias(settings: Settings, weights: Tensors, unembedding: str, count: int) -> dense.Dense | None:
    """Return the bias of the unembedding: as stated, or the tensor beside its weight; None if there is none."""
    if settings.has("unembedding_bias"):
        return weights.take(settings.text("unembedding_bias"), count)
    beside = f"{unembedding.removesuffix('.weight')}.bias"
    return weights.maybe(beside, count) if unembedding.endswith(".weight") else None


def _listed(settings: Settings, key: str, count: int) -> Tokens:
    """Return the names of tokens, or of outputs, that the configuration lists."""
    place = settings.at(key)
    return require_tokens(listed_names(place), count, place.refusal, key[:-1])


def _tokens(settings: Settings, stored: Stored, count: int) -> Tokens:
    if not settings.has("tokens"):
        return stored.tokens(count)
    found = _listed(settings, "tokens", count)
    if stored.vocabulary is not None and stored.vocabulary != tuple(map(str, found)):
        raise settings.at("tokens").error("the names in the stored vocabulary, or only one of the two")
    return found


def _readout(settings: Settings, tokens: Tokens, count: int) -> tuple[Tokens, dense.Readout]:
    """Return the names of the outputs, and the readout."""
    outputs = tokens if count == len(tokens) else tuple(map(str, range(count)))
    if settings.has("outputs"):
        listed = _listed(settings, "outputs", count)
        outputs = tokens if list(map(repr, listed)) == list(map(repr, tokens)) else listed
    settings.harmless("input", "at", "decide", "alphabet")
    return outputs, read_readout(settings.document, tokens, outputs)


# ---- from Python ----


def from_torch(
    module: Any,
    embedding: Any = None,
    unembedding: Any = None,
    positions: Any = None,
    causal: bool = False,
    tokens: str | Sequence[Any] | None = None,
    outputs: str | Sequence[Any] | None = None,
    input: str | None = None,
    at: str | None = None,
    decide: str | None = None,
    alphabet: str | Sequence[Any] | None = None,
    embedding_scale: Any = 1,
) -> Stored:
    """Return the data that a network folder would store of an encoder.

    Args:
        module: `nn.TransformerEncoder` of `nn.TransformerEncoderLayer`, or one such layer, as PyTorch defines them.
        embedding: [V, d]: `nn.Embedding`, a parameter, tensor or array, or `nn.Linear(V, d, bias=False)`.
        unembedding: [O, d]: the same, or `nn.Linear(d, O)`, with its bias.
        positions: [rows, d]: `nn.Embedding`, a parameter, tensor or array; None: nothing is added.
        causal: True if the module is run with the mask `nn.Transformer.generate_square_subsequent_mask`.
        tokens: names of the tokens by id, in a sequence or one text with spaces; None: their ids.
        outputs: names of the outputs; None: the tokens if there are as many, else 0, 1, ...
        input: the tokens around every word, such as `<bos> *`.
        at: the positions that answer: last, first or each; None: last for one output, else each.
        decide: the rule of the answer, such as `above 0` or `argmax`; None: `above 0` for one output, `argmax` for
            several.
        alphabet: tokens that words are made of; None: all but those of `input`.
        embedding_scale: a positive number by which the rows of the embedding are multiplied before positions are
            added, or "sqrt(d)", the real number; 1: the embedding is used as given.

    Raises:
        InputError: naming what is missing or not understood.
    """
    for value, what, shape in ((embedding, "embedding", "V"), (unembedding, "unembedding", "O")):
        if value is None:
            hint = f"Give {what}=, a module or an array of shape [{shape}, d]: an encoder has none of its own."
            raise InputError(f"the {what} is missing", hint)
    if not isinstance(causal, bool):
        raise InputError(f"causal is {causal!r}", "Give True or False; other masks are not supported.")
    config = {"model_type": MODEL_TYPE, **_stated(module), "causal": causal}
    config["embedding_scale"] = _written_scale(embedding_scale)
    if positions is None:
        config["positions"] = NO_POSITIONS
    tensors = {f"encoder.{name}": array for name, array in _state(module, "the encoder")}
    for value, name in ((embedding, "embedding"), (positions, "positions"), (unembedding, "unembedding")):
        if value is not None:
            tensors |= {f"{name}.{part}": array for part, array in _outside(value, name)}
    for key, names in (("tokens", tokens), ("outputs", outputs), ("alphabet", alphabet)):
        if names is not None:
            if not isinstance(names, Iterable):
                raise TypeError(f"{key} must be text, or a sequence of names, not {type(names).__name__}")
            listed = names.split() if isinstance(names, str) else names
            config[key] = [_plain(one, key) for one in listed]
    config |= {key: text for key, text in (("input", input), ("at", at), ("decide", decide)) if text is not None}
    digest = hashlib.sha256(repr(sorted(config.items())).encode())  # identifies the network, as files' checksums do
    for name, array in sorted(tensors.items()):
        digest.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return Stored(NAME, tensors, config, sha256=digest.hexdigest())


def _written_scale(value: Any) -> Any:
    """Return an embedding scale as a configuration writes it."""
    found = value.item() if isinstance(value, np.generic) else value
    if isinstance(found, float) and np.isfinite(found):
        return Fraction(repr(found))
    if isinstance(found, str | int | Fraction) and not isinstance(found, bool):
        return found
    raise InputError(f"embedding_scale is {value!r}", 'Give a positive number, or "sqrt(d)".')


def _is(module: Any, *kinds: str) -> bool:
    """Return True if the module is one of these classes of PyTorch itself. A derived class may compute something
    else."""
    kind = type(module)
    return kind.__module__.startswith("torch.nn.modules.") and kind.__name__ in kinds


def _expect(module: Any, what: str, *kinds: str) -> None:
    """Raise InputError unless the module is one of these classes of PyTorch, without hooks."""
    if not _is(module, *kinds):
        hint = f"Supported: {' or '.join(f'nn.{kind}' for kind in kinds)}, as PyTorch defines it."
        raise InputError(f"{what} is a {type(module).__name__}", hint)
    if module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module):
        raise InputError(f"{what} has hooks, or a forward of its own", "Remove them: they may change what it computes.")


def _stated(module: Any) -> dict[str, Any]:
    """Return the settings of an encoder that its state dict lacks."""
    if not _is(module, "TransformerEncoder", "TransformerEncoderLayer"):
        hint = "Give an nn.TransformerEncoder, or one layer of it, as PyTorch defines it (not the module around it)."
        raise InputError(f"the module is a {type(module).__name__}", hint)
    _expect(module, "the module", "TransformerEncoder", "TransformerEncoderLayer")
    whole = _is(module, "TransformerEncoder")
    if whole:
        _expect(module.layers, "layers", "ModuleList")
        if not len(module.layers):
            raise InputError("the encoder has no layers", "Give one that has a layer.")
    named = [(f"layers.{n}", layer) for n, layer in enumerate(module.layers)] if whole else [("the layer", module)]
    found = [_layer_settings(name, layer) for name, layer in named]
    for key, value in found[0].items():
        for (name, _), other in zip(named, found, strict=True):
            if other[key] != value:
                message = f"{name} has {key} {_written(other[key])}, and {named[0][0]} {_written(value)}"
                raise InputError(message, "Layers must be alike in this.")
    settings = found[0]
    if whole:
        _only(dict(module.named_children()), {"layers", "norm"}, "the encoder")
        if module.norm is not None:
            kind, epsilon = _norm_settings(module.norm, "norm", module.layers[0].self_attn.embed_dim)
            return settings | {"final_norm": kind, "final_norm_eps": epsilon}
    return settings | {"final_norm": NO_NORM}


def _written(value: Any) -> str:
    return str(float(value)) if isinstance(value, Fraction) else str(value)


def _only(names: Iterable[str], known: set[str], what: str) -> None:
    if unknown := sorted(set(names) - known):
        message = f"{what} has the module {unknown[0]}, which PyTorch's own class does not have"
        raise InputError(message, "Remove it: it is not supported.")


def _layer_settings(name: str, layer: Any) -> dict[str, Any]:
    """Return the settings of one layer, after checking that its parts are those that PyTorch gives it."""
    _expect(layer, name, "TransformerEncoderLayer")
    parts = dict(layer.named_children())
    attention: Any = parts.get("self_attn")
    dropouts = "dropout", "dropout1", "dropout2"
    _expect(attention, f"{name}.self_attn", "MultiheadAttention")
    _expect(attention.out_proj, f"{name}.self_attn.out_proj", "NonDynamicallyQuantizableLinear", "Linear")
    _only(dict(attention.named_children()), {"out_proj"}, f"{name}.self_attn")
    _only(parts, {"self_attn", "linear1", "linear2", "norm1", "norm2", "activation", *dropouts}, name)
    for part in ("linear1", "linear2"):
        _expect(parts.get(part), f"{name}.{part}", "Linear")
    for part in dropouts:
        dropout = parts.get(part)
        _expect(dropout, f"{name}.{part}", "Dropout", "Identity")
        if dropout is not None and dropout.training and getattr(dropout, "p", 0):
            raise InputError(f"{name}.{part} is on: its module is in training mode", "Call module.eval() first.")
    if attention.training and attention.dropout:
        raise InputError(f"{name}.self_attn has its dropout on: it is in training mode", "Call module.eval() first.")
    width = attention.embed_dim
    wrong = [key for key in ("kdim", "vdim") if getattr(attention, key) != width]
    wrong += ["add_zero_attn"] * bool(attention.add_zero_attn)
    wrong += ["add_bias_kv"] * (attention.bias_k is not None or attention.bias_v is not None)
    if wrong:
        hint = "Supported are layers whose keys and values have the width of the model, with nothing added to them."
        raise InputError(f"{name}.self_attn has {wrong[0]}", hint)
    norms = [_norm_settings(parts.get(part), f"{name}.{part}", width) for part in ("norm1", "norm2")]
    if norms[0] != norms[1]:
        raise InputError(f"{name}.norm1 and {name}.norm2 differ in kind or epsilon", "They must be alike.")
    return {
        "nhead": int(attention.num_heads),
        "activation": _activation(layer, name),
        "norm_first": bool(layer.norm_first),
        "norm": norms[0][0],
        "layer_norm_eps": norms[0][1],
    }


def _norm_settings(norm: Any, what: str, width: int) -> tuple[str, Fraction]:
    """Return the kind of a norm and its epsilon, which is read as the decimal that was written."""
    _expect(norm, what, "LayerNorm", "RMSNorm")
    if tuple(norm.normalized_shape) != (width,):
        message = f"{what} is over {tuple(norm.normalized_shape)}, not the {width} coordinates"
        raise InputError(message, "Not supported.")
    if norm.eps is None:
        raise InputError(f"{what} has no eps, so that it depends on the number format", "Give it one: RMSNorm(d, eps).")
    if not np.isfinite(norm.eps):
        raise InputError(f"{what} has the eps {norm.eps}", "Give it a number that is at least 0.")
    return "rms" if _is(norm, "RMSNorm") else "layer", Fraction(str(norm.eps))


def _activation(layer: Any, name: str) -> str:
    """Return the name of a layer's activation, which is a module or a function of PyTorch."""
    given: Any = layer.activation
    options: Mapping[str, Any] = {}
    if isinstance(given, partial) and not given.args:
        given, options = given.func, given.keywords
    home, called = getattr(given, "__module__", None), getattr(given, "__name__", "")
    if _is(given, "ReLU", "GELU", "SiLU"):
        _expect(given, f"{name}.activation", "ReLU", "GELU", "SiLU")
        found, options = type(given).__name__.lower(), {"approximate": getattr(given, "approximate", "none")}
    elif home in ("torch.nn.functional", "torch._C._nn", "torch") and called in ("relu", "gelu", "silu"):
        found = called
    else:
        message = f"{name}.activation is {called or type(given).__name__}, which is not understood"
        raise InputError(message, "Supported are relu, gelu and silu: functions of torch.nn.functional, or modules.")
    tanh = found == "gelu" and options.get("approximate", "none") == "tanh"
    quick = {1: "relu", 2: "gelu"}.get(getattr(layer, "activation_relu_or_gelu", 0), found)
    if quick != found:  # PyTorch's fast path uses the activation that the layer was made with
        message = f"{name}.activation is {found}, and was {quick} when the layer was made"
        raise InputError(message, "Give the activation to nn.TransformerEncoderLayer: PyTorch may compute either.")
    return "gelu_tanh" if tanh else found


def _state(module: Any, what: str) -> Iterable[tuple[str, NDArray[Any]]]:
    for name, tensor in module.state_dict().items():
        yield name, _array(tensor, f"{name} of {what}")


def _outside(value: Any, name: str) -> Iterable[tuple[str, NDArray[Any]]]:
    """Yield ("weight", array [rows, d]) of an embedding, unembedding or table of positions, and ("bias", array) if
    there is a bias."""
    if not hasattr(value, "state_dict"):
        yield "weight", _array(value, f"the {name}")
        return
    linear = () if name == "positions" else ("Linear",)
    _expect(value, f"the {name}", "Embedding", *linear)
    if getattr(value, "max_norm", None) is not None:
        hint = "PyTorch scales its rows when they are looked up: give the scaled weight."
        raise InputError(f"the {name} has max_norm {value.max_norm}", hint)
    weight = _array(value.weight, f"the {name}")
    bias = getattr(value, "bias", None)
    if name == "embedding" and _is(value, "Linear"):
        # A Linear embedding is applied to one-hot rows, so the columns of its weight belong to the tokens.
        weight = np.ascontiguousarray(weight.T)
        if bias is not None:
            raise InputError("the embedding is an nn.Linear with a bias", "Give the array of its rows.")
    yield "weight", weight
    if bias is not None:
        yield "bias", _array(bias, f"the bias of the {name}")


def _array(tensor: Any, what: str) -> NDArray[Any]:
    """Return a copy of a tensor or an array in its dtype, or in float32 (which holds narrower ones) if numpy lacks
    its dtype."""
    if not hasattr(tensor, "detach"):
        return np.array(tensor, order="C")
    plain = tensor.detach()
    try:
        plain = plain.cpu()
        try:
            return np.array(plain.numpy(), order="C")
        except TypeError:
            return np.array(plain.float().numpy(), order="C")
    except (TypeError, RuntimeError) as error:  # torch raises these for sparse, quantised and meta tensors
        reason = str(error).strip().split("\n")[0][:200]
        raise InputError(f"{what}: not a plain array of numbers ({reason})", "Give a dense array of numbers.") from None


def _plain(value: Any, what: str) -> str | int | Fraction:
    """Return the name of a token as JSON stores it."""
    message = "is neither text nor a number", "Name each by text or a number."
    return stored_name(value, lambda found: InputError(f"{what}: {found!r} {message[0]}", message[1]))
