"""Read state dicts of PyTorch's `nn.TransformerEncoder`, `nn.TransformerDecoder` and stacks of attentions.

Source: torch 2, `nn/modules/transformer.py` and `activation.py`: weights of `nn.Linear` (y = x W^T + b, W of shape
[out, in]), queries, keys and values one below the other in `in_proj_weight`, scores divided by sqrt(d / heads), norms
before each step (`norm_first`) or after it. A state dict lacks the heads, the activation, the order of norms, the
mask and the scale of the embedding: `config.json` with `model_type: torch-encoder` states them, and the parts around
the encoder. A setting that is not stated raises an error, unless the weights show it or PyTorch's constructors have a
single default (the epsilon of LayerNorm).

A decoder is read with a memory of zeros, as where no encoder stands before it. All keys and values of its cross
attention are then equal, so that it adds the constant `b_v W_o + b_o` to every position: an attention step without
heads. In a stack of attentions, each adds its result to the stream.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from hardsim.errors import InputError, did_you_mean, enumerated
from hardsim.lazy_dataclass import dataclass
from hardsim.network import dense
from hardsim.network.numbers import Mask
from hardsim.reading.attention import linear, split_heads, thirds
from hardsim.reading.huggingface.parts import exact_product
from hardsim.reading.readout import listed_names, read_readout, require_tokens
from hardsim.reading.tensors import DEFAULT_EPSILON, Settings, Stored, Tensors

Tokens: TypeAlias = tuple[dense.Token, ...]
MODEL_TYPE = "torch-encoder"
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
ZEROS = "zeros"
ATTENTION, FEED_FORWARD = "attention", "mlp"
NO_POSITIONS = "none"
LIBRARY = "PyTorch"
SAID = (
    "embedding_scale", "nhead", "causal", "memory", "activation", "norm_first", "norm", "layer_norm_eps", "final_norm",
    "final_norm_eps", "positions",
)  # fmt: skip
"""Settings other than sizes that determine what the network computes."""
ADVICE = {
    "embedding_scale": 'Write "embedding_scale": 1 where the model takes the embedding as it is, "sqrt(d)" where it '
    "multiplies it by math.sqrt(d), as PyTorch's tutorial on nn.Transformer does, or the number.",
    "nhead": 'Write the number of heads of each layer into config.json, such as "nhead": 4.',
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
"""The settings that a configuration must state: `activation` only with an MLP, `norm_first` only with norms."""
TRAINING = "dropout", "batch_first", "enable_nested_tensor", "mask_check", "dtype", "torch_dtype", "torch_version"
"""Settings that do not affect evaluation."""
FIRST, CROSS, MLP = "self_attn.in_proj_weight", "multihead_attn.in_proj_weight", "linear1.weight"
BIASES = {
    ATTENTION: ("self_attn.in_proj_bias", "self_attn.out_proj.bias"),
    FEED_FORWARD: ("linear1.bias", "linear2.bias"),
}
CROSS_BIASES = "multihead_attn.in_proj_bias", "multihead_attn.out_proj.bias"
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
    activation: dense.Activation | None
    """None in layers without an MLP."""
    first: bool
    epsilon: Fraction
    norm: Literal["layer", "rms"] | None
    decoder: bool
    """True if layers have cross attention."""
    optional: frozenset[str]
    """Endings of the names of optional tensors that are present."""

    @property
    def norm_weights(self) -> bool:
        """True if norms have weights."""
        return "norm1.weight" in self.optional


def is_torch(stored: Stored) -> bool:
    """Return True if the configuration is that of a PyTorch encoder."""
    return stored.config.get("model_type") == MODEL_TYPE


def read_torch(stored: Stored) -> dense.Network:
    """Read the network of a state dict with an `nn.TransformerEncoder`, or one layer of it, an embedding and an
    unembedding; an `nn.TransformerDecoder` that is run with a memory of zeros; or a stack of attentions.

    A network with one output answers at the last position, any other with the largest output at each position. Raises
    InputError if a tensor or a setting is missing, wrong or not understood."""
    settings, weights = stored.settings, stored.weights
    settings.library, settings.examples = LIBRARY, ADVICE
    settings.neutral("model_type", MODEL_TYPE)
    settings.harmless(*TRAINING)
    start = _start(settings, weights)
    _require_stated(settings, any(name.startswith(start) and name.endswith(MLP) for name in weights.names))
    encoder = _encoder(settings, weights, start)
    scale = settings.scale("embedding_scale", encoder.width)
    why = "the width of the encoder"
    embedding = weights.take(_name(settings, weights, "embedding"), None, encoder.width, why=why)
    layers = tuple(layer for number in range(len(encoder.starts)) for layer in _layers_of(weights, encoder, number))
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


def _require_stated(settings: Settings, mlp: bool) -> None:
    """Raise InputError with all settings that are missing, if there are several, so that they can be added in one
    step."""
    needless = {"activation": not mlp, "norm_first": settings.value("norm") == NO_NORM}
    missing = [key for key in STATED if not settings.has(key) and not needless.get(key)]
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
        message = f"there are several encoders, whose tensors begin with {enumerated(map(repr, found))}"
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
    mlp, decoder = (any(weights.has(one + name) for one in starts) for name in (MLP, CROSS))
    hidden = weights.shape(starts[0] + MLP) if mlp else ()
    settings.neutral("dim_feedforward", *hidden[:1])
    optional = _optional(settings, weights, starts, decoder, mlp)
    norm = None if settings.value("norm") == NO_NORM else _kind(settings, "norm", "norm1.bias" in optional)
    if norm is None:
        settings.take("norm", NO_NORM)
        settings.neutral("layer_norm_eps")
    causal, activation = settings.truth("causal"), settings.choice("activation", ACTIVATIONS) if mlp else None
    if not mlp:
        settings.neutral("activation")
    if decoder:
        _memory(settings)
    first = settings.truth("norm_first") if norm else True
    settings.harmless("norm_first")
    return _Encoder(
        starts,
        width,
        heads,
        Mask.FUTURE if causal else Mask.NONE,
        activation,
        first,
        DEFAULT_EPSILON if norm is None else _epsilon(settings, "layer_norm_eps", norm),
        norm,
        decoder,
        frozenset(optional),
    )


def _optional(settings: Settings, weights: Tensors, starts: tuple[str, ...], decoder: bool, mlp: bool) -> set[str]:
    """Return the endings of the names of optional tensors that are present. Modules have all of a group or none: if one
    is missing, it was lost, and the reader asks for it."""
    steps = range(1, 2 + decoder + mlp)
    kinds = [ATTENTION, FEED_FORWARD] if mlp else [ATTENTION]
    names = [name for kind in kinds for name in BIASES[kind]] + list(CROSS_BIASES) * decoder
    if settings.value("biases") is not None:
        names = list(settings.choice("biases", BIASES))
    found: set[str] = set()
    for group in (names, [f"norm{n}.weight" for n in steps], [f"norm{n}.bias" for n in steps]):
        if any(weights.has(place + name) for place in starts for name in group):
            found.update(group)
    return found


def _memory(settings: Settings) -> None:
    """Record that cross attention reads zeros. Raises InputError if the configuration states another memory."""
    key = "memory"
    if not settings.has(key):
        settings.remarks.append(
            f"the layers have cross attention, and {settings.source} states no memory: read with a memory of zeros. "
            f'Write "{key}": "{ZEROS}" if that is right'
        )
        settings.take(key, ZEROS, "the weights: multihead_attn, without an encoder")
    elif settings.value(key) == 0:
        settings.take(key, ZEROS)
    else:
        settings.choice(key, {ZEROS: None})


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


def _layers_of(weights: Tensors, encoder: _Encoder, number: int) -> tuple[dense.NetworkLayer, ...]:
    """Return a layer of an encoder, or the two that compute what a layer of a decoder does with a memory of zeros."""
    start, width, post = encoder.starts[number], encoder.width, not encoder.first

    def maybe(name: str, size: int) -> dense.Dense | None:
        return weights.take(start + name, size) if name in encoder.optional else None

    def norm(name: str) -> dense.Norm | None:
        if encoder.norm is None:
            return None
        return dense.Norm(encoder.norm, encoder.epsilon, maybe(f"{name}.weight", width), maybe(f"{name}.bias", width))

    joint = linear(weights.take(start + FIRST, 3 * width, width, why="3 d, d"), maybe(BIASES[ATTENTION][0], 3 * width))
    w_o = weights.take(f"{start}self_attn.out_proj.weight", width, width)
    scale = dense.RootScale(Fraction(1), width // encoder.heads)
    heads = split_heads(number, encoder.heads, thirds(joint), w_o.T, encoder.mask, scale)
    b_o, norm_1 = maybe(BIASES[ATTENTION][1], width), norm("norm1")
    mlp = None
    if encoder.activation is not None:
        w_in = weights.take(start + MLP, None, width)
        w_out, b_in = weights.take(f"{start}linear2.weight", width, len(w_in)), maybe("linear1.bias", len(w_in))
        mlp = dense.Mlp(encoder.activation, w_in.T, w_out.T, b_in, maybe("linear2.bias", width))
    if not encoder.decoder:
        return (dense.NetworkLayer(heads, mlp, b_o, norm_1, None if mlp is None else norm("norm2"), post),)
    norms = norm("norm2"), None if mlp is None else norm("norm3")
    constant = _cross(weights, start, width, *map(maybe, CROSS_BIASES, (3 * width, width)))
    return dense.NetworkLayer(heads, None, b_o, norm_1, post=post), dense.NetworkLayer((), mlp, constant, *norms, post)


def _cross(
    weights: Tensors, start: str, width: int, joint_bias: dense.Dense | None, b_o: dense.Dense | None
) -> dense.Dense:
    """Return what cross attention adds where its memory is zeros, shape (d,): exact Fractions, or zeros."""
    # With equal keys every value gets the same weight, and all values are b_v, whatever these matrices are.
    weights.take(start + CROSS, 3 * width, width, why="3 d, d")
    w_o = weights.take(f"{start}multihead_attn.out_proj.weight", width, width)
    if joint_bias is None or b_o is None:
        return np.zeros(width)
    values = joint_bias[None, 2 * width :]
    return np.array(exact_product(values, w_o.T)[0] + list(map(Fraction, b_o.tolist())), dtype=object)


def _final(settings: Settings, weights: Tensors, start: str, encoder: _Encoder) -> dense.Norm | None:
    """Return the norm at the end: as stated, or as its tensors show. There is none if other norms have tensors and it
    has none."""
    name, key = f"{start}norm", "final_norm"
    stored, stated = weights.has(f"{name}.weight"), settings.value(key)
    if stated is None and not stored and (encoder.norm_weights or encoder.norm is None):
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
