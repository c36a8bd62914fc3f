"""The reader of networks in certificates of external networks, and its maps of single vectors."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hardsim.verify.arithmetic import Rejected
from hardsim.verify.external.network import read_network
from tests.support import network_sections
from tests.support.network_sections import network_section


def section(seed: int = 1) -> dict[str, Any]:
    return network_section(random.Random(seed), "gelu", "layer", False, 2, positions=[[0.5] * 5] * 9)


def within(found: tuple[list[float], list[float]], true: list[Any]) -> bool:
    """Return True if a vector lies between bounds that are not much wider than rounding."""
    mid, off = found
    close = all(abs(a - t) <= e for a, e, t in zip(mid, off, true, strict=True))
    return close and max(off) < 1e-10 * max(1, *map(abs, mid))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_maps_of_vectors(seed: int, kind: str) -> None:
    data = network_section(random.Random(seed), "gelu", kind, False, 1)
    network = read_network(data)
    (layer,), token, place = data["layers"], seed % 3, seed % 12
    x, true = network.embedded(token, place), network_sections.embedded(data, token, place)
    assert within(x, true)
    for norm, stored in ((network.norm_1, layer["norm_1"]), (network.norm_2, layer["norm_2"])):
        if norm is not None:
            x, true = norm(*x), network_sections.normed(true, stored)
            assert within(x, true)
    (head,), (given,) = network.heads, layer["heads"]
    assert within(head.q(*x), network_sections.linear(true, given["w_q"], given["b_q"]))
    assert within(head.v(*x), network_sections.linear(true, given["w_v"], given["b_v"]))
    scale = network_sections.REAL.mpf(1) / network_sections.REAL.sqrt(given["scale"]["root"])
    assert abs(head.scale - scale) <= 2.0**-51 * scale
    assert network.mlp is not None
    y = network.mlp.enter(*x)
    assert within(y, network_sections.linear(true, layer["mlp"]["w_in"], layer["mlp"]["b_in"]))


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_maps_of_wide_vectors(kind: str) -> None:
    """Random points of a box are mapped into the box of the results."""
    source = random.Random(5)
    data = network_section(source, "gelu", kind, False, 1)
    network = read_network(data)
    for _ in range(50):
        mid, off = [source.gauss(0, 1) for _ in range(5)], [abs(source.gauss(0, 0.05)) for _ in range(5)]
        inside = [
            network_sections.REAL.mpf(m) + e * source.choice([-1, 1, source.uniform(-1, 1)])
            for m, e in zip(mid, off, strict=True)
        ]
        assert network.norm_2 is not None
        found, true = network.norm_2(mid, off), network_sections.normed(inside, data["layers"][0]["norm_2"])
        assert all(abs(a - t) <= e for a, e, t in zip(*found, true, strict=True))
        outputs = network_sections.linear(inside, data["unembedding"], data["unembedding_bias"])
        assert all(abs(a - t) <= e for a, e, t in zip(*network.unembedding(mid, off), outputs, strict=True))


def test_a_norm_of_a_vector_that_may_be_zero() -> None:
    data = section()
    data["layers"][0]["norm_2"] = {"kind": "rms", "epsilon": "0", "weight": None, "bias": None}
    norm = read_network(data).norm_2
    assert norm is not None
    assert norm([1.0] * 5, [0.0] * 5)[0] == pytest.approx([1.0] * 5)
    for off in (1.0, float("inf"), float("nan")):
        with pytest.raises(Rejected, match="may be 0"):
            norm([0.5] * 5, [off] * 5)


def test_a_table_without_the_row() -> None:
    data = section()
    data["positions"] = data["embedding"]
    for place in (3, -1):
        with pytest.raises(Rejected, match="too few rows"):
            read_network(data).embedded(0, place)


def test_names_and_numbers() -> None:
    network = read_network(section())
    assert (network.alphabet, network.symbols, network.readout.before) == (["a", "b"], [1, 2], [0])
    assert network.readout.among == [0, 1, 2]
    assert network.readout.level == 1 / 3


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values, with only the first and the last entry of an array."""
    found = [path] if path else []
    if isinstance(data, dict):
        found += [one for key, part in data.items() for one in places(part, (*path, key))]
    elif isinstance(data, list):
        found += [one for k in sorted({*range(len(data))} & {0, len(data) - 1}) for one in places(data[k], (*path, k))]
    return found


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a document with another value at a path, or without it; the rest is shared."""
    found = data.copy()
    if len(path) > 1:
        found[path[0]] = changed(data[path[0]], path[1:], value)
    elif value is REMOVED:
        del found[path[0]]
    else:
        found[path[0]] = value
    return found


REMOVED = object()
STRANGE = [
    None, True, 1, -1, 2**70, 1.5, -0.0, 1e300, float("nan"), float("inf"), "", "a", "1/0", "1/3", "9" * 1999, [], [[]],
    [None], [1.0], {}, {"a": 1}, REMOVED,
]  # fmt: skip


def test_strange_values_are_rejected_or_read() -> None:
    """Nothing raises another exception; what cannot be meant is rejected."""
    data = section()
    for path in places(data):
        for value in STRANGE:
            mutant = changed(data, path, value)
            try:
                read_network(mutant)
            except Rejected:
                continue
            kept = value is not REMOVED or type(path[-1]) is int
            assert kept, path
            if type(value) is float:
                assert abs(value) <= 2.0**64, path


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("tokens",), ["a", "a", "b"], "a name occurs twice"),
        (("tokens",), ["a", "b"], "embedding: this should be an array of 2"),
        (("embedding", 0), [1.0], "this should be an array of 1 entries"),
        (("embedding", 0, 0), 1, "decimal point"),
        (("embedding", 0, 0), float("nan"), "too large"),
        (("embedding", 0, 0), 1e20, "too large"),
        (("embedding", 0, 0), "9" * 30, "too large"),
        (("embedding_scale", "factor"), "0", "positive"),
        (("embedding_scale", "factor"), "1/" + "9" * 30, "positive"),
        (("embedding_scale", "root"), 0, "positive integer"),
        (("embedding_scale", "root"), True, "positive integer"),
        (("positions", 0), [1.0], "positions"),
        (("layers",), [], "one layer"),
        (("layers", 0, "more"), 1, "not known"),
        (("layers", 0, "post"), 1, "true or false"),
        (("layers", 0, "heads", 0, "mask"), "causal", "mask"),
        (("layers", 0, "heads", 0, "w_k"), [[1.0]] * 4, "w_k"),
        (("layers", 0, "heads", 0, "b_q"), [1.0] * 9, "b_q"),
        (("layers", 0, "mlp"), None, "norm_2: this should be null"),
        (("layers", 0, "mlp", "activation"), "sine", "activation"),
        (("layers", 0, "norm_2", "kind"), "batch", "kind"),
        (("layers", 0, "norm_2", "epsilon"), "-1/2", "negative"),
        (("layers", 0, "norm_2", "epsilon"), 0.5, "rational"),
        (("outputs",), ["yes", "yes", "no"], "twice"),
        (("unembedding",), [[1.0]] * 5, "unembedding"),
        (("readout", "at"), "first", "at"),
        (("readout", "decide"), "value", "decide"),
        (("readout", "among"), ["maybe"], "not one of the names"),
        (("readout", "among"), [], "each once"),
        (("readout", "among"), ["yes", "yes"], "each once"),
        (("readout", "before"), ["c"], "not one of the names"),
        (("readout", "alphabet"), ["c"], "not one of the names"),
        (("readout", "alphabet"), ["a", "a"], "twice"),
    ],
)  # fmt: skip
def test_rejected(path: tuple[Any, ...], value: Any, reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        read_network(changed(section(), path, value))


def test_norm_1_without_attention() -> None:
    data = section()
    data["layers"][0] |= {"heads": [], "b_o": None}
    with pytest.raises(Rejected, match="norm_1: this should be null"):
        read_network(data)
