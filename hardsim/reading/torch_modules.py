"""Take networks of PyTorch from Python: encoders, decoders with a memory of zeros, and stacks of attentions.

A module is described as a folder would store it (see torch.py). torch is not imported: modules are read by their
attributes. Only PyTorch's own classes are accepted, since a derived class may compute something else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError
from hardsim.reading.readout import ReadAt, stored_name
from hardsim.reading.tensors import Stored
from hardsim.reading.torch import ATTENTION, FEED_FORWARD, MODEL_TYPE, NO_NORM, NO_POSITIONS, ZEROS

NAME = "<torch>"


def from_torch(
    module: Any,
    embedding: Any = None,
    unembedding: Any = None,
    positions: Any = None,
    causal: bool = False,
    tokens: str | Sequence[Any] | None = None,
    outputs: str | Sequence[Any] | None = None,
    input: str | None = None,
    at: ReadAt | None = None,
    decide: str | None = None,
    alphabet: str | Sequence[Any] | None = None,
    embedding_scale: float | str | Fraction = 1,
    memory: int | None = None,
    norm_first: bool | None = None,
    final_norm: Any = None,
) -> Stored:
    """Return the network that computes `unembedding(encoder(embedding_scale * embedding(ids) + positions))`.

    Args:
        module: the encoder, an `nn.TransformerEncoder` of `nn.TransformerEncoderLayer` or one such layer, in evaluation
            mode. For a module of your own, give the encoder in it. An `nn.TransformerDecoder` needs `memory=0`. A list
            of `nn.MultiheadAttention` is a stack: each adds its result to the stream. A dict in the list is a layer
            with the members `attention`, `norm1`, `linear1`, `activation`, `linear2` and `norm2`, or some of them.
        embedding: an `nn.Embedding`, a bias-free `nn.Linear(V, d)`, or an array (V, d).
        unembedding: an `nn.Linear`, or an array (outputs, d); with a single output, words are accepted or rejected.
        positions: an `nn.Embedding` or an array (rows, d); None: none are added.
        causal: True if the encoder is run under the mask that `generate_square_subsequent_mask` makes.
        tokens, outputs: names by id, as text or a sequence; without them the ids are the names.
        input, at, decide, alphabet: as in `Model.read_as`.
        embedding_scale: the factor of the embedding: a positive number, or "sqrt(d)", the real number; 1 leaves the
            embedding as it is.
        memory: 0 for a decoder that is run with a memory of zeros.
        norm_first: for a stack with norms: True if a norm stands before each step, False if after each sum.
        final_norm: a norm that your module applies after `module`.

    Raises:
        hardsim.errors.InputError: naming what is missing or not understood.
    """
    for value, what, shape in ((embedding, "embedding", "V"), (unembedding, "unembedding", "O")):
        if value is None:
            hint = f"Give {what}=, a module or an array of shape [{shape}, d]: an encoder has none of its own."
            raise InputError(f"the {what} is missing", hint)
    if not isinstance(causal, bool):
        raise InputError(f"causal is {causal!r}", "Give True or False; other masks are not supported.")
    settings, tensors = _described(module, norm_first, memory)
    outer, more = ({}, {}) if final_norm is None else _outer_norm(final_norm, settings)
    config, tensors = {"model_type": MODEL_TYPE, **settings, **outer, "causal": causal}, tensors | more
    config |= {"embedding_scale": _written_scale(embedding_scale)}
    config |= {"positions": NO_POSITIONS} if positions is None else {}
    for value, name in ((embedding, "embedding"), (positions, "positions"), (unembedding, "unembedding")):
        if value is not None:
            tensors |= {f"{name}.{part}": array for part, array in _outside(value, name)}
    config |= _named(tokens=tokens, outputs=outputs, alphabet=alphabet)
    config |= {key: text for key, text in (("input", input), ("at", at), ("decide", decide)) if text is not None}
    return Stored(NAME, tensors, config, sha256=_digest(config, tensors))


def _digest(config: dict[str, Any], tensors: Tensors) -> str:
    """Return the SHA-256 that identifies the network, as the checksums of files do."""
    found = hashlib.sha256(repr(sorted(config.items())).encode())
    for name, array in sorted(tensors.items()):
        found.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return found.hexdigest()


def _named(**given: str | Sequence[Any] | None) -> dict[str, list[str | int | Fraction]]:
    """Return lists of names, each given as a sequence or as one text with spaces; None is left out."""
    found = {}
    for key, names in given.items():
        if names is not None:
            if not isinstance(names, Iterable):
                raise TypeError(f"{key} must be text, or a sequence of names, not {type(names).__name__}")
            listed = names.split() if isinstance(names, str) else names
            found[key] = [_plain(one, key) for one in listed]
    return found


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


Tensors: TypeAlias = dict[str, NDArray[Any]]


def _described(module: Any, norm_first: bool | None, memory: Any) -> tuple[dict[str, Any], Tensors]:
    """Return the settings of a module that its state dict lacks, and its tensors as a folder names them."""
    decoder = _is(module, "TransformerDecoder", "TransformerDecoderLayer")
    zeros = memory == ZEROS or (isinstance(memory, int | float) and memory == 0)
    if decoder and not zeros:
        hint = "Give memory=0 if the decoder is run with a memory of zeros. Other memories are not supported."
        raise InputError(f"the module is a {type(module).__name__}, and memory is {memory!r}", hint)
    if not decoder and memory is not None:
        raise InputError(f"memory is {memory!r}, and the module is no decoder", "Leave out memory.")
    if decoder or _is(module, "TransformerEncoder", "TransformerEncoderLayer"):
        if norm_first is not None:
            message = "norm_first is given, but the layers of this module have their own"
            raise InputError(message, "Leave out norm_first: it is for stacks of nn.MultiheadAttention.")
        settings = _stated(module) | ({"memory": ZEROS} if decoder else {})
        return settings, {f"encoder.{name}": array for name, array in _state(module, "the module")}
    single = _is(module, "MultiheadAttention")
    if not single and not _is(module, "ModuleList", "Sequential") and not isinstance(module, list | tuple):
        hint = "Give an nn.TransformerEncoder, or one layer of it, as PyTorch defines it (not the module around it)."
        raise InputError(f"the module is a {type(module).__name__}", f"{hint} {STACKS}")
    return _stack([module] if single else list(module), norm_first)


def _stated(module: Any) -> dict[str, Any]:
    """Return the settings of an encoder or a decoder that its state dict lacks."""
    kind = "TransformerDecoder" if type(module).__name__.startswith("TransformerDecoder") else "TransformerEncoder"
    _expect(module, "the module", kind, f"{kind}Layer")
    whole = _is(module, kind)
    if whole:
        _expect(module.layers, "layers", "ModuleList")
        if not len(module.layers):
            raise InputError(f"the {kind[11:].lower()} has no layers", "Give one that has a layer.")
    named = [(f"layers.{n}", layer) for n, layer in enumerate(module.layers)] if whole else [("the layer", module)]
    settings = _alike([(name, _layer_settings(name, layer, kind)) for name, layer in named])
    if whole:
        _only(dict(module.named_children()), {"layers", "norm"}, f"the {kind[11:].lower()}")
        if module.norm is not None:
            kind, epsilon = _norm_settings(module.norm, "norm", module.layers[0].self_attn.embed_dim)
            return settings | {"final_norm": kind, "final_norm_eps": epsilon}
    return settings | {"final_norm": NO_NORM}


def _alike(found: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Return the settings of layers, given by name, which must be the same for all."""
    first, settings = found[0]
    for key, value in settings.items():
        for name, other in found:
            if other[key] != value:
                message = f"{name} has {key} {_written(other[key])}, and {first} {_written(value)}"
                raise InputError(message, "Layers must be alike in this.")
    return settings


# ---- stacks ----


PARTS = "attention", "norm1", "linear1", "activation", "linear2", "norm2"
"""The members of a dict that describes a layer of a stack. Only the attention is required; linear1, activation and
linear2 belong together."""
STACKS = f"A stack of nn.MultiheadAttention is a list of them, or of dicts with members among {', '.join(PARTS)}."


def _stack(items: Sequence[Any], norm_first: bool | None) -> tuple[dict[str, Any], Tensors]:
    """Return the settings and the tensors of a stack of attentions."""
    if not items:
        raise InputError("the stack has no layers", STACKS)
    tensors: Tensors = {}
    found: list[tuple[str, dict[str, Any]]] = []
    for number, item in enumerate(items):
        name = f"layers.{number}"
        layer = dict(item) if isinstance(item, Mapping) else {"attention": item}
        if wrong := [key for key in layer if key not in PARTS]:
            raise InputError(f"{name} has the part {wrong[0]!r}", STACKS)
        found.append((name, _part_settings(name, {key: part for key, part in layer.items() if part is not None})))
        for key, part in layer.items():
            if part is not None and key != "activation":
                inner = "self_attn" if key == "attention" else key
                tensors |= {f"encoder.{name}.{inner}.{one}": array for one, array in _state(part, f"{name}.{key}")}
    settings = _alike(found)
    if settings["norm"] == NO_NORM:
        settings = {key: value for key, value in settings.items() if key != "layer_norm_eps"}
    if (settings["norm"] == NO_NORM) != (norm_first is None):
        needed = "which has norms: norm_first is missing" if norm_first is None else "without norms, but norm_first"
        hint = "Give norm_first=True if norms stand before each step, False if after each sum; without norms leave it."
        raise InputError(f"the module is a stack, {needed}", hint)
    more = {} if norm_first is None else {"norm_first": norm_first}
    return {key: value for key, value in (settings | more).items() if value is not None} | {
        "final_norm": NO_NORM
    }, tensors


def _part_settings(name: str, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a layer of a stack, after checking its parts. `biases` says which of its maps have
    biases, where only some have."""
    attention: Any = parts.get("attention")
    _require_attention(attention, f"{name}.attention")
    mlp = [key for key in ("linear1", "activation", "linear2") if key in parts]
    norms = [key for key in ("norm1", "norm2") if key in parts]
    if 0 < len(mlp) < 3 or 0 < len(norms) < (2 if mlp else 1) or ("norm2" in norms and not mlp):
        message = f"{name} has only {', '.join([*mlp, *norms])}"
        raise InputError(message, "An MLP is linear1, activation and linear2; each step has a norm, or none has.")
    biased = {ATTENTION: attention.in_proj_bias is not None}
    if mlp:
        for key in ("linear1", "linear2"):
            _expect(parts[key], f"{name}.{key}", "Linear")
        if (parts["linear1"].bias is None) != (parts["linear2"].bias is None):
            raise InputError(f"{name}: only one of linear1 and linear2 has a bias", "Give the other one a bias of 0.")
        biased[FEED_FORWARD] = parts["linear1"].bias is not None
    kinds = [_norm_settings(parts[key], f"{name}.{key}", attention.embed_dim) for key in norms]
    if len(set(kinds)) > 1:
        raise InputError(f"{name}.norm1 and {name}.norm2 differ in kind or epsilon", "They must be alike.")
    kind, epsilon = kinds[0] if kinds else (NO_NORM, None)
    return {
        "nhead": int(attention.num_heads),
        "activation": _activation(parts["activation"], f"{name}.activation") if mlp else None,
        "norm": kind,
        "layer_norm_eps": epsilon,
        "biases": next(key for key, here in biased.items() if here) if len(set(biased.values())) > 1 else None,
    }


def _outer_norm(norm: Any, settings: Mapping[str, Any]) -> tuple[dict[str, Any], Tensors]:
    """Return the settings and the tensors of a norm that stands after a module."""
    if settings["final_norm"] != NO_NORM:
        raise InputError("final_norm is given, and the module has a norm at its end", "Leave out final_norm.")
    kind, epsilon = _norm_settings(norm, "final_norm", norm.normalized_shape[0])
    rows = {f"encoder.norm.{name}": array for name, array in _state(norm, "final_norm")}
    return {"final_norm": kind, "final_norm_eps": epsilon}, rows


# ---- parts ----


def _written(value: Any) -> str:
    return str(float(value)) if isinstance(value, Fraction) else str(value)


def _only(names: Iterable[str], known: set[str], what: str) -> None:
    if unknown := sorted(set(names) - known):
        message = f"{what} has the module {unknown[0]}, which PyTorch's own class does not have"
        raise InputError(message, "Remove it: it is not supported.")


def _layer_settings(name: str, layer: Any, kind: str) -> dict[str, Any]:
    """Return the settings of one layer of an encoder or a decoder (`kind`), after checking that its parts are those
    that PyTorch gives it."""
    _expect(layer, name, f"{kind}Layer")
    parts = dict(layer.named_children())
    attentions = ["self_attn", "multihead_attn"] if kind == "TransformerDecoder" else ["self_attn"]
    norms = [f"norm{n + 1}" for n in range(len(attentions) + 1)]
    dropouts = "dropout", *(f"dropout{n + 1}" for n in range(len(norms)))
    for part in attentions:
        _require_attention(parts.get(part), f"{name}.{part}")
    _only(parts, {*attentions, "linear1", "linear2", *norms, "activation", *dropouts}, name)
    for part in ("linear1", "linear2"):
        _expect(parts.get(part), f"{name}.{part}", "Linear")
    for part in dropouts:
        dropout = parts.get(part)
        _expect(dropout, f"{name}.{part}", "Dropout", "Identity")
        if dropout is not None and dropout.training and getattr(dropout, "p", 0):
            raise InputError(f"{name}.{part} is on: its module is in training mode", "Call module.eval() first.")
    attention: Any = parts["self_attn"]
    kinds = [_norm_settings(parts.get(part), f"{name}.{part}", attention.embed_dim) for part in norms]
    for part, found in zip(norms[1:], kinds[1:], strict=True):
        if found != kinds[0]:
            raise InputError(f"{name}.norm1 and {name}.{part} differ in kind or epsilon", "They must be alike.")
    activation = _activation(layer.activation, f"{name}.activation")
    plain = activation.removesuffix("_tanh")
    quick = {1: "relu", 2: "gelu"}.get(getattr(layer, "activation_relu_or_gelu", 0), plain)
    if quick != plain:  # PyTorch's fast path uses the activation of the constructor
        message = f"{name}.activation is {plain}, and was {quick} when the layer was made"
        raise InputError(message, f"Give the activation to nn.{kind}Layer: PyTorch may compute either.")
    return {
        "nhead": int(attention.num_heads),
        "activation": activation,
        "norm_first": bool(layer.norm_first),
        "norm": kinds[0][0],
        "layer_norm_eps": kinds[0][1],
    }


def _require_attention(attention: Any, what: str) -> None:
    """Raise InputError unless a module is an attention that hardsim understands, in evaluation mode."""
    _expect(attention, what, "MultiheadAttention")
    _expect(attention.out_proj, f"{what}.out_proj", "NonDynamicallyQuantizableLinear", "Linear")
    _only(dict(attention.named_children()), {"out_proj"}, what)
    if attention.training and attention.dropout:
        raise InputError(f"{what} has its dropout on: it is in training mode", "Call module.eval() first.")
    wrong = [key for key in ("kdim", "vdim") if getattr(attention, key) != attention.embed_dim]
    wrong += ["add_zero_attn"] * bool(attention.add_zero_attn)
    wrong += ["add_bias_kv"] * (attention.bias_k is not None or attention.bias_v is not None)
    if wrong:
        hint = "Supported are layers whose keys and values have the width of the model, with nothing added to them."
        raise InputError(f"{what} has {wrong[0]}", hint)


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


def _activation(given: Any, what: str) -> str:
    """Return the name of an activation, which is a module or a function of PyTorch."""
    options: Mapping[str, Any] = {}
    if isinstance(given, partial) and not given.args:
        given, options = given.func, given.keywords
    home, called = getattr(given, "__module__", None), getattr(given, "__name__", "")
    if _is(given, "ReLU", "GELU", "SiLU"):
        _expect(given, what, "ReLU", "GELU", "SiLU")
        found, options = type(given).__name__.lower(), {"approximate": getattr(given, "approximate", "none")}
    elif home in ("torch.nn.functional", "torch._C._nn", "torch") and called in ("relu", "gelu", "silu"):
        found = called
    else:
        message = f"{what} is {called or type(given).__name__}, which is not understood"
        raise InputError(message, "Supported are relu, gelu and silu: functions of torch.nn.functional, or modules.")
    return "gelu_tanh" if found == "gelu" and options.get("approximate", "none") == "tanh" else found


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
