"""Hostile certificates: false claims, unread parts and endless work are rejected, with and without recomputed
digests.
"""

import copy
import json
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.verify import digests, verify
from hardsim.verify.formulas import FormulaChecker
from hardsim.verify.sections import NODES, printable
from tests.support.certificate_definitions import false_on
from tests.support.damage import at, places, replaced
from tests.support.hostile_certificates import CASES, TRUE, handmade, made, sealed

PLACES = ("formula", "model", "meaning", "min_n", "max_n")


# ---- unread parts ----

FREE = ("embedding", "encodings", "clips", "coordinates", "query", "key", "value")
"""Objects whose keys are names of coordinates."""


def read_by_key(path: tuple[Any, ...]) -> bool:
    """Return True if each key of an object has a fixed meaning, so that none is a name."""
    return path[:1] not in (("bounds",), ("digests",)) and not {*path} & {*FREE}


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "regime"), CASES[:4])
def test_keys_that_are_not_known_are_rejected_everywhere(name: str, regime: str) -> None:
    document = made(name, regime, 2)
    objects = [path for path in places(document) if isinstance(at(document, path), dict) and read_by_key(path)]
    assert {path[0] for path in objects if path} == {"labels", "formula", "model", "meaning"}
    for path in objects:
        if path == ("meaning", "heads"):
            continue
        for key, value in (("scale", "1/1000"), ("weighting", "average"), ("ffn", {}), ("Name", "x"), ("", None)):
            assert sealed(replaced(document, (*path, key), value)) is not None, (path, key)
        for key in at(document, path):
            changed = replaced(document, (*path, key), ...)
            assert (sealed_as_it_is(changed) if path else verify(changed)) is not None, (path, key)
    head = next(iter(document["meaning"]["heads"].values()), {"kind": "sign"})
    assert sealed(replaced(document, ("meaning", "heads", "none"), head)) is not None


def sealed_as_it_is(document: dict[str, Any]) -> str | None:
    """Reseal a document and return why it is rejected; if a section is missing, check it without sealing."""
    try:
        return sealed(document)
    except KeyError:
        return verify(document)


def other_kind(value: Any) -> list[Any]:
    """Return values of other types, also those that Python takes for equal."""
    kinds: list[Any] = [None, True, False, 0, 1, 1.0, "1", [], {}, float("nan"), float("inf")]
    if isinstance(value, int):
        kinds += [float(value), str(value), bool(value)]
    return [kind for kind in kinds if type(kind) is not type(value)]


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "regime"), [*CASES[:1], CASES[2], CASES[3]])
def test_values_of_other_kinds_are_rejected_everywhere(name: str, regime: str) -> None:
    document, rng = made(name, regime, 2), Random(name)
    everywhere = [path for path in places(document) if path and path[0] not in ("bounds", "digests")]
    for path in everywhere:
        for value in rng.sample(other_kind(at(document, path)), 4):
            assert sealed_as_it_is(replaced(document, path, value)) is not None, (path, value)


def test_bounds_and_digests_have_one_form() -> None:
    document = made("since", "temperature", 2)
    for path in [path for path in places(document) if path and path[0] in ("bounds", "digests")]:
        for value in other_kind(at(document, path)):
            changed = replaced(document, path, value)
            if path[0] == "bounds":
                changed["digests"] = digests(changed)
            assert verify(changed) is not None, (path, value)
    for key in ("bounds", "digests"):
        more = document["bounds"]["S4.read"] if key == "bounds" else "0"
        changed = replaced(document, (key, "more"), more)
        changed["digests"] |= digests(changed)
        assert verify(changed) is not None


# ---- false claims ----


SOME: list[Any] = ["at least", [[1, False]], [[1, "L"]], -1]


def looked_up(kind: str, query: dict[str, str], value: dict[str, str], clip: Any, **more: Any) -> dict[str, Any]:
    """Return the certificate of a head that looks up the position, which every word agrees on, and a clip that should
    make it true.
    """
    head = {"name": "h", "mask": "future", "query": [query], "key": [{"i": "1"}], "value": value, "out": "h"}
    claim = {"kind": kind, "count": [[[1, False]], [[1, "L"]]], "some": [2, False]}
    nodes = [["letters", [], "a"], TRUE, SOME, ["and", [[1, False]]]]
    return handmade(
        nodes,
        [3, False],
        2,
        embedding={"a": ["1", "0"], "1": ["1", "1"]},
        encodings={"i": "i"} | more,
        layers=[{"heads": [head], "clips": {"out": ["0", [clip]]}}],
        coordinates={"a": [0, False], "out": [3, False]},
        heads={"h": claim},
    )


def test_a_truth_is_no_count() -> None:
    """A query that depends on the word through node 0 does not depend on a count."""
    document = looked_up("number", {"a": "100"}, {"i": "1"}, ["1", "2", {"h": "4", "i": "-4"}])
    assert false_on(document)
    assert "depends on more than the claimed count" in (sealed(document) or "")


@pytest.mark.parametrize(("value", "clip"), [("-1", ["1", "0", {"h": "1"}]), ("2", ["1", "2", {"h": "-1"}])])
def test_what_a_table_holds_is_true_or_false(value: str, clip: Any) -> None:
    document = looked_up("table", {"1": "0"}, {"v": "1"}, clip, v=value)
    assert false_on(document)
    assert "are not 0 and 1" in (sealed(document) or "")


def test_a_table_is_read_nowhere_beyond_true_and_false() -> None:
    """Every word looks up position 1, whose entry is 1; the leak from position 2 is larger than 1."""
    document = looked_up("table", {"1": "-5"}, {"v": "1"}, ["1", "2", {"h": "-1"}], v="5 - 4*(1//i)")
    document["formula"]["nodes"][2] = ["at least", [[1, False]], [[-1, "L"]], 1]
    document["formula"]["nodes"].insert(3, ["at least", [[2, False]], [[1, "L"]], -1])
    document["formula"]["nodes"][4] = ["and", [[1, False]]]
    document["formula"]["root"] = document["meaning"]["coordinates"]["out"] = [4, False]
    document["meaning"]["heads"]["h"] |= {"count": [[[2, False]], [[1, "L"]]], "some": [3, False]}
    assert false_on(document)
    assert "are not 0 and 1" in (sealed(document) or "")


@pytest.mark.parametrize(
    ("encoding", "wrong"),
    [
        ("i - 49*((i//1)/(49//1))", "not the truth of formula.root"),
        ("x*5", "not understood"),
        ("(i < 2) + 1", "a truth value stands where a number is expected"),
    ],
)
def test_encodings_are_exact_and_of_one_kind(encoding: str, wrong: str) -> None:
    clips = {"out": ["0", [["1", "0", {"e": "100000000000000000"}]]]}
    encodings = {"e": encoding, "one": "1"}
    document = handmade([TRUE], [0, False], 1, encodings=encodings, layers=[{"heads": [], "clips": clips}])
    assert wrong in (sealed(document) or "")


@pytest.mark.parametrize("temperature", ["1", "n/n", "2 - 1"])
def test_a_coordinate_without_a_name_does_not_hold_the_temperature(temperature: str) -> None:
    document = handmade([TRUE], [0, False], 2, embedding={"": ["0", "0"]}, temperature=temperature)
    document["model"]["output"] = ""
    assert false_on(document)
    assert sealed(document) is not None


@pytest.mark.parametrize("text", ["x*5", "1", "x", "x - x", "(x > 2)*1"])
def test_a_predicate_is_a_truth(text: str) -> None:
    nodes = [TRUE, ["predicate", [[0, False]], text, [[1, "L"]], 0]]
    assert sealed(handmade(nodes, [1, False], 3, encodings={"out": "5*i"})) is not None


# ---- clips with many inputs ----


def joined(count: int, clips: list[Any], negated: list[bool], claim: bool, known: str = "") -> dict[str, Any]:
    """Return the certificate of clips that read `count` Booleans of attention and are claimed to be their conjunction,
    or its negation. `known` is a condition on x, the length, that is another member.
    """
    document = made("since", "temperature", 2)
    layer, meaning = document["model"]["layers"][0], document["meaning"]
    formula, own = document["formula"], document["formula"]["nodes"]
    first, literal = len(own), own[document["formula"]["root"][0]]
    for k in range(count):
        own.append(literal)
        layer["heads"].append(layer["heads"][0] | {"name": f"h{k}", "out": f"h{k}"})
        layer["clips"][f"b{k}"] = ["0", [["1", "-1/2", {f"h{k}": "2"}]]]
        meaning["heads"][f"h{k}"] = meaning["heads"]["S4.read"]
        meaning["coordinates"][f"b{k}"] = [first + k, False]
    parts: list[Any] = [[first + k, turned] for k, turned in enumerate(negated)]
    if known:
        true = next(k for k, node in enumerate(own) if node[0] == "letters" and len(node) == 5)
        own.append(["predicate", [[true, False]], known, [[1, ""]], 0])
        parts.append([len(own) - 1, False])
    own.append(["and", parts])
    document["model"]["layers"].append({"heads": [], "clips": {"out": clips}})
    document["model"]["output"] = "out"
    meaning["coordinates"]["out"] = formula["root"] = [len(own) - 1, claim]
    return document


def row_of(values: list[int]) -> dict[str, str]:
    return {f"b{k}": str(value) for k, value in enumerate(values)}


@pytest.mark.sweep
@pytest.mark.parametrize("count", [3, 40])
def test_a_conjunction_of_many_is_read_by_its_threshold(count: int) -> None:
    """With coefficients 1 the sum is the count if all are true, and one less if one is false: the threshold lies
    between them. A disjunction is the negated conjunction of the negated.
    """
    ones, none, some = row_of([1] * count), [False] * count, [k % 2 == 0 for k in range(count)]
    threshold = str(1 - count)
    assert sealed(joined(count, ["0", [["1", threshold, ones]]], none, False)) is None
    assert sealed(joined(count, ["0", [["1", "0", ones]]], [True] * count, True)) is None
    assert sealed(joined(count, ["1", [["-1", threshold, ones]]], none, True)) is None
    mixed = row_of([-1 if turned else 1 for turned in some])
    assert sealed(joined(count, ["0", [["1", str(1 - some.count(False)), mixed]]], some, False)) is None
    assert sealed(joined(count, ["0", [["1", threshold, ones]]], none, False, "x < 9")) is None
    for clips, negated, claim in [
        (["0", [["1", str(2 - count), ones]]], none, False),  # all but one are enough
        (["0", [["1", str(-count), ones]]], none, False),  # all are not enough
        (["0", [["1", threshold, ones]]], none, True),
        (["0", [["1", threshold, ones]]], some, False),
        (["0", [["1", "0", ones]]], none, False),
        (["0", [["1", threshold, ones | {"b1": "0"}]]], none, False),  # ignores one input
        (["0", [["1", threshold, ones | {"b1": "2"}]]], none, False),  # one input counts double
        (["1", [["1", threshold, ones]]], none, False),
        (["0", [["2", threshold, ones]]], none, False),
        (["0", [["1", threshold, ones | {"S4": "1"}]]], none, False),
    ]:
        assert sealed(joined(count, clips, negated, claim)) is not None, (clips[1][0][:2], claim)
    assert sealed(joined(count, ["0", [["1", threshold, ones]]], none, False, "x > 1")) is not None


# ---- random alterations ----


def test_no_operator_is_left_out_below() -> None:
    """Accepted claims are compared with the definitions, for each operator of certificates of symbols."""
    used = {op for name, regime in CASES for op, *_ in made(name, regime)["formula"]["nodes"]}
    assert used == {"letters", *NODES}


def altered(document: dict[str, Any], rng: Random) -> tuple[Any, ...]:
    """Change one thing and keep its form: alter a value, or omit, double, move or exchange a part; return its path."""
    everywhere = [path for path in places(document) if path and path[0] in PLACES]
    path = rng.choice(everywhere)
    owner, key = at(document, path[:-1]), path[-1]
    value = owner[key]
    like = [other for other in everywhere if type(at(document, other)) is type(value) and _kind(other) == _kind(path)]
    choice = rng.randrange(4)
    if choice == 0 and like:
        owner[key] = copy.deepcopy(at(document, rng.choice(like)))
    elif choice == 1 and isinstance(owner, list) and isinstance(key, int):
        if rng.random() < 0.5:
            del owner[key]
        else:
            owner.insert(rng.randrange(len(owner) + 1), copy.deepcopy(value))
    elif choice == 1 and isinstance(owner, dict) and len(path) > 2:
        name = rng.choice([*owner])  # before the key is taken away, which may be the only one
        owner[name] = owner.pop(key) if rng.random() < 0.5 else copy.deepcopy(value)
    elif isinstance(value, bool):
        owner[key] = not value
    elif isinstance(value, int):
        owner[key] = value + rng.choice((-1, 1))
    elif isinstance(value, str):
        owner[key] = _other(value, rng)
    return path


def _kind(path: tuple[Any, ...]) -> tuple[Any, ...]:
    return path[0], len(path), path[-1] if isinstance(path[-1], str) and len(path) < 5 else ""


def _other(value: str, rng: Random) -> str:
    swaps = [("i", "n"), ("n", "i"), ("1", "2"), ("2", "3"), ("+", "-"), ("and", "xor"), ("S", "U"), ("L", "R")]
    swaps += [("R", ""), ("future", "none"), ("past", "future"), ("none", "past"), ("nearest", "mean"), ("Y", "X")]
    swaps += [("number", "table"), ("/", "*"), ("==", "<=")]
    changed = [value.replace(a, b) for a, b in swaps if a in value]
    numeric = value.lstrip("-").replace("/", "").isdigit()
    if numeric:
        exact = Fraction(value)
        moved = (-exact, exact * Fraction(9, 10), exact * 2, exact + 1, exact - Fraction(1, 4))
        changed += ["0", "1", "1/2", f"{value}9" if "/" in value else "7", *map(str, moved)]
    return rng.choice(changed or [value])


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("tries", "seed"), [(40, ""), *(pytest.param(400, str(seed), marks=pytest.mark.slow) for seed in range(5))]
)
@pytest.mark.parametrize(("name", "regime"), CASES)
def test_what_is_altered_and_sealed_anew_is_rejected_or_true(name: str, regime: str, tries: int, seed: str) -> None:
    """Certificates with up to three changes are rejected; those that are accepted with recomputed bounds and digests
    are true.
    """
    document, rng, valid, distinct = made(name, regime), Random(f"{name} {regime} {seed}"), 0, 0
    before = json.dumps([document[key] for key in PLACES], sort_keys=True)
    for _ in range(tries):
        changed = copy.deepcopy(document)
        where = [altered(changed, rng) for _ in range(rng.randint(1, 3)) if changed]
        if json.dumps([changed[key] for key in PLACES], sort_keys=True) == before:
            continue
        distinct += 1
        assert verify(changed) is not None, where
        if sealed(changed) is None:
            valid += 1
            assert false_on(changed, 3) == [], where
    assert distinct > tries // 3
    assert distinct - valid >= tries // 4


# ---- output ----


@given(st.text())
def test_what_is_shown_drives_no_terminal(text: str) -> None:
    assert printable(text).isprintable()


def test_reasons_are_printable() -> None:
    document = made("since", "temperature")
    document["model"]["layers"][0]["clips"]["\x1b[2J\u202e\ud800"] = document["model"]["layers"][0]["clips"].pop("S4")
    assert (sealed(document) or "").isprintable()
    document["\x1b]0;x\x07"] = 1
    assert (verify(document) or "").isprintable()


# ---- endless time or memory ----


def wide(count: int) -> dict[str, Any]:
    """Return a certificate with `count` copies of the network of since, and a head that reads all of them at once."""
    document = made("since", "temperature", 2)
    model, meaning, nodes = document["model"], document["meaning"], document["formula"]["nodes"]
    layer, own, names = model["layers"][0], copy.deepcopy(nodes[4]), [f"X{k}" for k in range(count)]
    for k, name in enumerate(names):
        layer["heads"].append(layer["heads"][0] | {"name": name, "out": f"{name}.read"})
        layer["clips"][name] = ["0", [["1", "-1/2", {f"{name}.read": "2"}]]]
        nodes.append(own)
        meaning["coordinates"][name] = [5 + k, False]
        meaning["heads"][name] = meaning["heads"]["S4.read"]
    reads = {"query": [{"1": "1"}], "key": [dict.fromkeys(names, "1")], "value": {"X0": "1"}}
    model["layers"].append({"heads": [reads | {"name": "all", "out": "all", "mask": "future"}], "clips": {}})
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
    assert "too large" in (sealed(handmade([TRUE], [0, False], 60, encodings=encodings)) or "")


def test_large_coefficients_make_work() -> None:
    """A step is charged for each position and part of a row, and one more for each 64-bit word of its numbers."""

    def steps(coefficient: str) -> int:
        layers = [{"heads": [], "clips": {"d": ["0", [["1", "0", {f"e{k}": coefficient for k in range(50)}]]]}}]
        encodings = {f"e{k}": "i" for k in range(50)} | {"out": "1"}
        return FormulaChecker(handmade([TRUE], [0, False], 5, encodings=encodings, layers=layers)).work

    assert steps(f"1/{7**2000}") - steps("1/7") >= 5 * 50 * ((7**2000).bit_length() // 64 - 1)


def test_averages_make_work() -> None:
    """Each of n positions adds up numbers of all the positions that it sees."""

    def steps(n: int, heads: int) -> int:
        mean = {"mask": "none", "query": [{}], "key": [{}], "value": {"e": "1"}}
        own = [mean | {"name": f"h{k}", "out": f"h{k}"} for k in range(heads)]
        document = handmade([TRUE], [0, False], n, encodings={"e": "i", "out": "1"})
        document["model"]["layers"] = [{"heads": own, "clips": {}}]
        return FormulaChecker(document).work

    assert steps(20, 3) - steps(20, 0) >= 3 * 20 * 20


@pytest.mark.parametrize("kind", ["nodes", "embedding", "encodings", "clips", "heads", "large numbers"])
def test_what_needs_much_memory_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 50 parts of a kind needs memory at each of 5 positions."""
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
    monkeypatch.setattr("hardsim.verify.arithmetic.ROOM", room)
    assert "values at once" in (sealed(document) or "")
    monkeypatch.setattr("hardsim.verify.arithmetic.ROOM", 4 * room)
    assert sealed(document) is None


def test_what_is_kept_for_later_lengths_is_dropped_where_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    document = made("mod3", "temperature", 6)
    monkeypatch.setattr("hardsim.verify.arithmetic.ROOM", 2 * FormulaChecker(document).kept)
    assert verify(document) is None


def test_far_logits_are_refused_unless_the_right_one_is_ahead() -> None:
    document = made("since", "temperature")
    (query,) = document["model"]["layers"][0]["heads"][0]["query"]
    assert query == {"1": query["1"]}
    query["1"] = "9" * 2000
    assert sealed(document) is None
    assert false_on(document) == []
    query["1"] = "-" + "9" * 2000
    assert "too large: a logit beyond 2^59" in (sealed(document) or "")
