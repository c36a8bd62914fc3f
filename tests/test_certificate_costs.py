"""Certificates that would take endless time or memory are refused, in words that say so."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hardsim.verify import Checker, verify
from tests.hostile_certificates import TRUE, handmade, made, sealed


def wide(count: int) -> dict[str, Any]:
    """The network of since, that many times over, and a head that reads all of them at once."""
    document = made("since", "temperature", 2)
    model, meaning, nodes = document["model"], document["meaning"], document["formula"]["nodes"]
    layer, own, names = model["layers"][0], copy.deepcopy(nodes[4]), [f"X{k}" for k in range(count)]
    for k, name in enumerate(names):
        layer["heads"].append(layer["heads"][0] | {"name": name, "out": f"{name}.read"})
        layer["clips"][name] = ["0", [["1", "-1/2", {f"{name}.read": "2"}]]]
        nodes.append(own)
        meaning["coordinates"][name] = [5 + k, False]
        meaning["heads"][name] = meaning["heads"]["S4.read"]
    reads = {
        "name": "all",
        "query": [{"1": "1"}],
        "key": [dict.fromkeys(names, "1")],
        "value": {"X0": "1"},
        "out": "all",
    }
    model["layers"].append({"heads": [reads | {"mask": "future"}], "clips": {}})
    literal = [5, False]
    meaning["heads"]["all"] = {"kind": "nearest", "where": literal, "what": literal, "backwards": False}
    return document


def test_wide_enumerations_are_refused() -> None:
    assert "too large: 40 truths" in (sealed(wide(40)) or "")
    assert sealed(wide(10)) is None
    nodes: list[Any] = [["letters", [], "a"], *(["S", [[k, False], [0, False]]] for k in range(40))]
    document = handmade([*nodes, ["and", [[k, False] for k in range(1, 41)]]], [41, False], 3)
    document["model"]["layers"] = [{"heads": [], "clips": {"out": ["0", [["1", "0", {"a": "1"}]]]}}]
    document["model"]["embedding"] = {"a": ["1", "0"]}
    document["meaning"]["coordinates"] = {"a": [0, False], "out": [41, False]}
    assert "too large" in (sealed(document) or "")


@pytest.mark.parametrize(
    "text", ["2**(10**9)", "(((9**999)**999)**999)", "(n+9)**9**9", "1/(" + "*".join(["(9**999 + i)"] * 9) + ")"]
)
def test_large_numbers_are_refused(text: str) -> None:
    document = made("since", "temperature")
    document["model"]["temperature"] = text
    assert "too large" in (sealed(document) or "")


def test_numbers_that_grow_from_layer_to_layer_are_refused() -> None:
    layers = [
        {"heads": [], "clips": {f"c{k + 1}": ["0", [[f"1/{7 ** (2000 + k)}", "0", {f"c{k}": f"1/{3 ** (2000 + k)}"}]]]}}
        for k in range(200)
    ]
    encodings = {"c0": "1", "out": "1"}
    assert "too large" in (sealed(handmade([TRUE], [0, False], 3, encodings=encodings, layers=layers)) or "")
    row = {f"c{k}": f"1/{10**1999 - k}" for k in range(300)}
    layers = [{"heads": [], "clips": {"d": ["0", [["1", "0", row]]]}}]
    encodings = {f"c{k}": "1" for k in range(300)} | {"out": "1"}
    assert "too large" in (sealed(handmade([TRUE], [0, False], 3, encodings=encodings, layers=layers)) or "")


def test_work_without_end_is_refused() -> None:
    text = "+".join(f"1/(i+{k}**300)" for k in range(2, 30))
    encodings = {f"e{k}": f"{text} + {k}*n" for k in range(60)} | {"out": "1"}
    document = handmade([TRUE], [0, False], 60, encodings=encodings)
    assert "too large" in (sealed(document) or "")


def test_large_coefficients_make_work() -> None:
    """One step for each position and part of a row, and as many more as its numbers have words of 64 bits."""

    def steps(coefficient: str) -> int:
        layers = [{"heads": [], "clips": {"d": ["0", [["1", "0", {f"e{k}": coefficient for k in range(50)}]]]}}]
        encodings = {f"e{k}": "i" for k in range(50)} | {"out": "1"}
        return Checker(handmade([TRUE], [0, False], 5, encodings=encodings, layers=layers)).work

    assert steps(f"1/{7**2000}") - steps("1/7") >= 5 * 50 * ((7**2000).bit_length() // 64 - 1)


def test_averages_make_work() -> None:
    """Each of n positions adds up numbers of all the positions that it sees."""

    def steps(n: int, heads: int) -> int:
        mean = {"mask": "none", "query": [{}], "key": [{}], "value": {"e": "1"}}
        own = [mean | {"name": f"h{k}", "out": f"h{k}"} for k in range(heads)]
        document = handmade([TRUE], [0, False], n, encodings={"e": "i", "out": "1"})
        document["model"]["layers"] = [{"heads": own, "clips": {}}]
        return Checker(document).work

    assert steps(20, 3) - steps(20, 0) >= 3 * 20 * 20


@pytest.mark.parametrize("kind", ["nodes", "embedding", "encodings", "clips", "heads", "large numbers"])
def test_what_needs_much_memory_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 50 parts of a kind each needs room at each of 5 positions."""
    names, head = [f"e{k}" for k in range(50)], {"mask": "future", "query": [{}], "key": [{}], "value": {}}
    document = handmade([TRUE] * (50 if kind == "nodes" else 1), [0, False], 5, encodings={"out": "1"})
    model = document["model"]
    model["layers"] = [{"heads": [], "clips": {}}]
    if kind == "embedding":
        model["embedding"] = {name: ["1", "1"] for name in names}
    elif kind == "encodings":
        model["encodings"] |= dict.fromkeys(names, "i")
    elif kind == "clips":
        model["layers"][0]["clips"] = {name: ["1", []] for name in names}
    elif kind == "heads":
        model["layers"][0]["heads"] = [head | {"name": name, "out": name} for name in names]
    elif kind == "large numbers":
        model["encodings"]["large"] = "*".join(["2**2000"] * 8)
    room = 5 * (50 if kind != "large numbers" else 7)
    monkeypatch.setattr("hardsim.exact.ROOM", room)
    assert "values at once" in (sealed(document) or "")
    monkeypatch.setattr("hardsim.exact.ROOM", 4 * room)
    assert sealed(document) is None


def test_what_is_kept_for_later_lengths_is_dropped_where_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    document = made("mod3", "temperature", 6)
    monkeypatch.setattr("hardsim.exact.ROOM", 2 * Checker(document).kept)
    assert verify(document) is None


def test_far_logits_are_refused() -> None:
    document = made("since", "temperature")
    document["model"]["layers"][0]["heads"][0]["query"] = [{"1": "9" * 2000}]
    assert "too large: a logit" in (sealed(document) or "")
