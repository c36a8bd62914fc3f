"""Read Tracr models, which are assembled from RASP programs: from a folder, or from Python objects.

Source: tracr-pypi 1.0.0, `compiler/assemble.py`, `transformer/model.py` and `transformer/attention.py` (Lindner et
al. 2023, "Tracr: Compiled transformers as a laboratory for interpretability"): attention, then an MLP, both added to
the residual stream; logits divided by sqrt(key_size); a beginning of sequence first, to which row 0 of the table of
positions belongs. The unembedding is no parameter: it selects the coordinates of the program's output.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from hardsim.errors import InputError
from hardsim.network.dense import Activation, Dense, Mlp, Network, NetworkHead, NetworkLayer, Readout, RootScale, Token
from hardsim.network.numbers import Mask
from hardsim.reading.readout import plain_names, require_tokens, stored_name
from hardsim.reading.tensors import Settings, Stored, Tensors

CONFIG = "meta.json"
LIBRARY = "TransformerConfig"
SAID = ("num_heads", "key_size", "causal", "activation", "layer_norm", "bos", "output_label")
"""Settings other than sizes that determine what the network computes."""
CATEGORICAL, NUMERICAL = "CategoricalEncoder", "NumericalEncoder"
WITHIN = Fraction(1, 200)
"""The default tolerance for a numerical output: Tracr's own tests allow a relative error of 0.005."""
ACTIVATIONS = {"relu": Activation.RELU, "silu": Activation.SILU, "gelu": Activation.GELU_NEW}
"""jax's functions; its gelu is the tanh form by default."""
PAD = "compiler_pad"
UNUSED = ("source", "program", "cases", "max_seq_len")
"""Further entries of the configuration: the encoders and the tables repeat them, or nothing depends on them."""
Missing = "Give a model compiled by tracr-pypi 1.0.0."


def is_tracr(stored: Stored) -> bool:
    """Return True if the network is stored in Tracr's format."""
    return "residual_labels" in stored.config or "token_embed/embeddings" in stored.tensors


def read_tracr(stored: Stored) -> Network:
    """Read the network in a folder with `meta.json`.

    Words are read after the beginning of sequence, and answered at each symbol: a categorical output by the largest of
    the coordinates `LABEL:VALUE`, a numerical one by the number in the coordinate LABEL. Raises InputError if a tensor
    or a setting is missing, wrong or not understood."""
    settings, weights = stored.settings, stored.weights
    settings.library = LIBRARY
    settings.harmless(*UNUSED)
    tokens, bos = _tokens(settings)
    embedding = weights.take("token_embed/embeddings", len(tokens), None, why="a row for each token of the encoder")
    width = embedding.shape[1]
    positions = weights.take("pos_embed/embeddings", None, width)
    config = settings.part("config")
    layers = tuple(_layer(weights, config, number, width) for number in range(config.integer("num_layers", least=0)))
    outputs, unembedding, numerical = _output(settings, width)
    alphabet = _alphabet(settings, tokens, bos)
    config.neutral("layer_norm", False)
    config.take("layer_norm", False)
    config.harmless("dropout_rate")
    for part in (config, settings):
        part.done()
    weights.done()
    readout = Readout(
        before=() if bos is None else (bos,),
        at="each",
        decide="value" if numerical else "argmax",
        level=WITHIN if numerical else Fraction(0),
        alphabet=alphabet,
    )
    return Network(tokens, embedding, positions, layers, None, unembedding, None, outputs, readout)


def _map(encoder: Settings) -> tuple[Token, ...]:
    """Return the values that an encoder knows, in order of their numbers."""
    place = encoder.at("map")
    pairs = place.value
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise place.error("an array of pairs, a value and its number")
    numbered = {number: value for value, number in pairs if isinstance(number, int)}
    values = [numbered.get(number) for number in range(len(pairs))]
    if len(numbered) < len(pairs) or not all(isinstance(value, str | int | Fraction) for value in values):
        raise place.error("values that are text, numbers or truths, numbered 0, 1, 2 and so on")

    named = plain_names([value for value in values if isinstance(value, str | int | Fraction)], place.refusal)
    return require_tokens(named, len(pairs), place.refusal)


def _tokens(settings: Settings) -> tuple[tuple[Token, ...], Token | None]:
    """Return the vocabulary, and the beginning of sequence if there is one."""
    encoder, bos = settings.part("input_encoder"), settings.value("bos")
    settings.take("bos", "none" if bos is None else bos)
    encoder.neutral("class", CATEGORICAL)
    tokens = _map(encoder)
    encoder.done()
    if bos is not None and bos not in tokens:
        raise settings.at("bos").error("one of the tokens of input_encoder")
    return tokens, bos


def _alphabet(settings: Settings, tokens: tuple[Token, ...], bos: Token | None) -> tuple[Token, ...]:
    """Return the tokens that words are made of: the vocabulary of the program, or all tokens but the two that Tracr
    adds."""
    vocabulary = settings.value("vocab")
    if vocabulary is None:
        return tuple(token for token in tokens if token not in (bos, PAD))
    by_name = {str(token): token for token in tokens}
    listed = vocabulary if isinstance(vocabulary, list) else []
    plain = plain_names(listed, settings.at("vocab").refusal)
    if not plain or len(set(map(str, plain))) < len(plain) or not all(str(value) in by_name for value in plain):
        raise settings.at("vocab").error("some of the tokens of input_encoder, each once")
    return tuple(by_name[str(value)] for value in plain)


def _output(settings: Settings, width: int) -> tuple[tuple[Token, ...], Dense, bool]:
    """Return the names of the outputs, an unembedding that selects their coordinates, and True if the output is
    numerical."""
    labels = settings.value("residual_labels")
    if not isinstance(labels, list) or len(labels) != width or len(set(map(str, labels))) != width:
        raise settings.at("residual_labels").error(f"a name for each of the {width} columns of token_embed/embeddings")
    label, encoder = settings.text("output_label"), settings.part("output_encoder")
    numerical = encoder.choice("class", {CATEGORICAL: False, NUMERICAL: True})
    if numerical:
        encoder.neutral("map", [])
    outputs: tuple[Token, ...] = (label,) if numerical else _map(encoder)
    encoder.done()
    names = [label] if numerical else [f"{label}:{output}" for output in outputs]
    unembedding = np.zeros((width, len(names)))
    for place, name in enumerate(names):
        if name not in labels:
            raise settings.at("residual_labels").error(f"the coordinate {name} of the output")
        unembedding[labels.index(name), place] = 1.0
    return outputs, unembedding, numerical


def _layer(weights: Tensors, config: Settings, number: int, width: int) -> NetworkLayer:
    """Read one layer: heads are side by side in the columns of query, key and value, and in the rows of linear."""
    count, size, hidden = (config.integer(key) for key in ("num_heads", "key_size", "mlp_hidden_size"))
    mask = Mask.FUTURE if config.truth("causal", False) else Mask.NONE
    place, wide = f"transformer/layer_{number}", count * size
    why = f"{count} heads of key_size {size}"
    queries, keys, values = (
        (weights.take(f"{place}/attn/{name}/w", width, wide, why=why), weights.take(f"{place}/attn/{name}/b", wide))
        for name in ("query", "key", "value")
    )
    linear = weights.take(f"{place}/attn/linear/w", wide, width, why=why)
    heads = []
    for head in range(count):
        part = slice(head * size, (head + 1) * size)
        (w_q, b_q), (w_k, b_k), (w_v, b_v) = ((weight[:, part], bias[part]) for weight, bias in (queries, keys, values))
        scale = RootScale(Fraction(1), size)
        heads.append(NetworkHead(f"L{number}H{head}", mask, scale, w_q, w_k, w_v, linear[part], b_q, b_k, b_v))
    mlp = Mlp(
        config.choice("activation", ACTIVATIONS),
        w_in=weights.take(f"{place}/mlp/linear_1/w", width, hidden),
        b_in=weights.take(f"{place}/mlp/linear_1/b", hidden),
        w_out=weights.take(f"{place}/mlp/linear_2/w", hidden, width),
        b_out=weights.take(f"{place}/mlp/linear_2/b", width),
    )
    return NetworkLayer(tuple(heads), mlp, b_o=weights.take(f"{place}/attn/linear/b", width))


# ---- from Python ----


def from_tracr(model: Any, program: Any) -> Stored:
    """Return the data that a folder would store for an `AssembledTransformerModel` and the program it was compiled
    from.

    Args:
        model: the result of Tracr's compiler. It is read by its attributes; neither Tracr nor jax is imported.
        program: the RASP program, whose label names the output.

    Raises InputError naming what is missing, or what cannot be stored."""
    config, params = _attribute(model, "model_config"), _attribute(model, "params")
    if not isinstance(params, Mapping):
        raise InputError("the params of the model are not a mapping", Missing)
    tensors = {f"{module}/{name}": np.asarray(array) for module, held in params.items() for name, array in held.items()}
    activation = _attribute(config, "activation_function")
    given, answered = _attribute(model, "input_encoder"), _attribute(model, "output_encoder")
    apart = (getattr(given, "bos_token", None), getattr(given, "pad_token", None))
    sizes = {key: _attribute(config, key) for key in ("num_heads", "num_layers", "key_size", "mlp_hidden_size")}
    stored = {
        "source": "Tracr",
        "program": type(program).__name__,
        "config": {
            **{key: int(size) for key, size in sizes.items()},
            "activation": getattr(activation, "__name__", type(activation).__name__),
            "layer_norm": bool(_attribute(config, "layer_norm")),
            "causal": bool(_attribute(config, "causal")),
        },
        "residual_labels": list(map(str, _attribute(model, "residual_labels"))),
        "input_encoder": _encoder(given, "input_encoder"),
        "output_encoder": _encoder(answered, "output_encoder"),
        "vocab": [value for value, _ in _encoder(given, "input_encoder")["map"] if value not in apart],
        "bos": getattr(given, "bos_token", None),
        "output_label": str(_attribute(program, "label")),
    }
    # In place of the checksum of files, which identifies a stored network.
    digest = hashlib.sha256(repr(sorted(stored.items())).encode())
    for name, array in sorted(tensors.items()):
        digest.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return Stored("<tracr>", tensors, stored, CONFIG, None, digest.hexdigest())


def _attribute(thing: Any, name: str) -> Any:
    if not hasattr(thing, name):
        raise InputError(f"a {type(thing).__name__} has no {name}", Missing)
    return getattr(thing, name)


def _encoder(encoder: Any, what: str) -> dict[str, Any]:
    """Return an encoder as the folder stores it."""
    kind = type(encoder).__name__
    if kind not in (CATEGORICAL, NUMERICAL):
        raise InputError(f"the {what} is a {kind}, which is not supported", Missing)
    pairs = _attribute(encoder, "encoding_map").items() if kind == CATEGORICAL else ()
    return {"class": kind, "map": [[_plain(value, what), int(number)] for value, number in pairs]}


def _plain(value: Any, what: str) -> str | int | Fraction:
    """Return a value as JSON stores it."""
    message = f"of the {what} is neither text nor a number"
    return stored_name(value, lambda found: InputError(f"the value {found!r} {message}", Missing))
