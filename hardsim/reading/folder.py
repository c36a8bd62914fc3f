"""Which format a stored network is in, and what was read of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from hardsim.errors import InputError
from hardsim.network.dense import Network, Norm
from hardsim.network.numbers import Mask
from hardsim.reading import huggingface, tracr, transformerlens
from hardsim.reading.tensors import Stored, shown

MASKS = {Mask.NONE: "none", Mask.FUTURE: "causal (key <= query)", Mask.PAST: "past (key >= query)"}
SHOWN_TOKENS = 20
"""Tokens that are listed."""


@dataclass(frozen=True)
class StoredFormat:
    """A way in which networks are stored."""

    title: str
    fits: Callable[[Stored], bool]
    """Whether something is stored in this way, right or wrong."""
    read: Callable[[Stored], Network]


FORMATS: tuple[StoredFormat, ...] = (
    StoredFormat(
        "Hugging Face GPT-2",
        lambda stored: stored.config.get("model_type") == huggingface.MODEL_TYPE,
        huggingface.read_gpt2,
    ),
    StoredFormat("Tracr", tracr.is_tracr, tracr.read_tracr),
    StoredFormat("TransformerLens", transformerlens.is_transformerlens, transformerlens.read_transformerlens),
)


def network_of(stored: Stored) -> tuple[Network, str]:
    """The network that is stored, and the name of its format.

    Raises:
        InputError: if the format is not known, or a tensor or a setting is missing, wrong or not understood.
    """
    for form in FORMATS:
        if form.fits(stored):
            return form.read(stored), form.title
    kind = stored.config.get("model_type")
    told = "its format is not known" if kind is None else f"model_type is {shown(kind)}, which is not read"
    known = ", ".join(form.title for form in FORMATS)
    raise InputError(f"{stored.name}: {stored.config_name}: {told}", f"What is read: {known}.")


def described(stored: Stored, network: Network, title: str) -> list[tuple[str, str]]:
    """What was read, as labels and texts."""
    layers, heads = network.layers, network.heads
    counts = Counter(array.dtype.name for array in stored.tensors.values())
    dtypes = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    mlps = [layer.mlp for layer in layers if layer.mlp is not None]
    widths = _each(f"{head.w_q.shape[1]}, values {head.w_v.shape[1]}" for head in heads)
    built = stored.config.get("architectures")
    rows = [
        ("format", f"{title} ({', '.join(map(str, built))})" if isinstance(built, list) and built else title),
        ("files", ", ".join(stored.files)),
        ("tensors", f"{len(stored.tensors)}, all used ({dtypes})"),
        ("parameters", f"{network.parameters:,} that are not 0"),
        ("layers", f"{len(layers)}, width {network.dimension}"),
        ("heads", f"{len(heads)}; keys {widths}" if heads else "none"),
        ("mask", _each(MASKS.get(head.mask, head.mask.value) for head in heads)),
        ("score scale", _each(str(head.scale) for head in heads)),
        ("mlp", _each(f"{mlp.activation.value}, {mlp.w_in.shape[1]} units" for mlp in mlps)),
        ("norms", _norms(network)),
        ("positions", _positions(network)),
        ("unembedding", _unembedding(network)),
        ("vocabulary", f"{len(network.tokens)}: {_listed(network.tokens)}"),
    ]
    if network.outputs != network.tokens:
        rows.append(("outputs", f"{len(network.outputs)}: {_listed(network.outputs)}"))
    return [*rows, ("readout", _readout(network))]


def _each(texts: Iterable[str]) -> str:
    """What holds of every part; all that holds of some, in their order."""
    return "; ".join(dict.fromkeys(texts)) or "none"


def _listed(names: Iterable[object]) -> str:
    every = [str(name) for name in names]
    return " ".join(every[:SHOWN_TOKENS]) + (" ..." if len(every) > SHOWN_TOKENS else "")


def _norms(network: Network) -> str:
    def told(norm: Norm) -> str:
        plain = norm.weight is None and norm.bias is None
        kind = {"layer": "LayerNorm", "rms": "RMSNorm"}[norm.kind] + (" without parameters" if plain else "")
        return f"{kind}, epsilon {shown(norm.epsilon)}"

    before = [(norm, layer.post) for layer in network.layers for norm in (layer.norm_1, layer.norm_2)]
    inside = [f"{told(norm)}, {'after' if post else 'before'} each step" for norm, post in before if norm is not None]
    return _each([*inside, *([f"{told(network.final)}, at the end"] if network.final else [])])


def _positions(network: Network) -> str:
    if isinstance(network.positions, np.ndarray):
        return f"a table of {len(network.positions)}: words of at most {network.longest} symbols"
    return ", ".join(f"coordinate {place}: {function}" for place, function in network.positions) or "none"


def _unembedding(network: Network) -> str:
    tied = np.array_equal(network.unembedding, network.embedding.T)
    bias = network.unembedding_bias
    return ("the embedding" if tied else "its own") + (", with a bias" if bias is not None and bias.any() else "")


def _readout(network: Network) -> str:
    readout = network.readout
    where = {"last": "the last position", "first": "the first symbol", "each": "each symbol"}[readout.at]
    how = {
        "above": f"which outputs are above {readout.level}",
        "argmax": "the largest output",
        "value": "the outputs themselves",
    }[readout.decide]
    words = "".join(
        f", {' '.join(map(str, tokens))} {place} every word"
        for tokens, place in ((readout.before, "before"), (readout.after, "after"))
        if tokens
    )
    return f"{how}, at {where}{words}"
