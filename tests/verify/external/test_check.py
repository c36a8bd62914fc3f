"""Whole certificates of external networks: what is accepted is true of every word, and what was changed is rejected."""

import copy
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.run.enclosure import Floats
from hardsim.verify.arithmetic import Rejected
from hardsim.verify.external.check import _ExternalCheck, check_external
from hardsim.verify.external.machine import Reading, RequiredAnswers
from hardsim.verify.external.prefixes import row_bound
from hardsim.verify.external.sections import DEEPEST, EXTERNAL_CLAIM, EXTERNAL_WRONG_CLAIM
from tests.support.damage import at, damaged, places, replaced
from tests.support.external_certificates import (
    GREATEST_MACHINE,
    JUDGED,
    JUDGED_MACHINE,
    PAIR,
    PAIR_MACHINE,
    Json,
    Reference,
    document,
    network,
    shifted,
)

LONGEST = 5
SLACK = 1e-8
MARGIN = 10.0
"""A margin that affine enclosures of whole boxes prove."""


def quiet(steps: int) -> None:
    """Allow any number of steps."""


def rejected(certificate: Json) -> str | None:
    """Return the reason why a certificate is rejected, None if it is accepted."""
    try:
        check_external(certificate)
    except Rejected as error:
        return str(error)
    return None


def split(points: Floats, low: Floats, high: Floats, kind: Any) -> Json:
    """Return a tree of three cells."""
    leaf, middle = {"choice": 0, "rows": {}}, ((low + high) / 2).tolist()
    inner = {"split": [1, middle[1]], "low": leaf, "high": leaf}
    return {"split": [0, middle[0]], "low": leaf, "high": inner}


def directed(points: Floats, low: Floats, high: Floats, kind: Any) -> Json:
    """Return one cell with a small direction for each row, bounded over all words by the sums over halves."""
    rng = np.random.default_rng(len(points))
    rows = {}
    for row in range(len(kind[0])):
        direction: Floats = np.asarray(rng.standard_normal(points.shape[1:])) * 0.1
        heads = [slice(0, 3), slice(3, None)]
        levels = [float((points[:, here] @ direction[here]).max()) + SLACK for here in heads[: points.shape[1] // 3]]
        rows[str(row)] = [direction.tolist(), levels]
    return {"choice": 0, "rows": rows}


def spelled(points: Floats, low: Floats, high: Floats, kind: Any) -> Json:
    """Return the tree in which all words are run."""
    return {"words": True}


TREES: list[Any] = [None, split, directed, spelled]
SHAPES: list[Json] = [
    {},
    {"norm": "rms", "heads": 2, "activation": "silu"},
    {"norm": None, "k": 1, "final": None},
    {"post": True, "template": "before after"},
    {"template": "after", "norm": "rms", "final": "rms"},
]
QUESTIONS: list[tuple[Json, Json, int, str]] = [
    (JUDGED, JUDGED_MACHINE, 1, "above"),
    (PAIR, PAIR_MACHINE, 2, "above"),
    (PAIR, GREATEST_MACHINE, 2, "argmax"),
]


def made(shape: int, question: int = 0, tree: Any = None, by: float = MARGIN, last: int = LONGEST) -> Json:
    """Return a certificate of a random network whose least margin is `by`."""
    specification, machine, outputs, decide = QUESTIONS[question]
    data = network(shape, outputs=outputs, decide=decide, **SHAPES[shape])
    return document(shifted(data, machine, last, by), specification, machine, last, tree)


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("question", range(len(QUESTIONS)))
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_true_certificates_are_accepted(shape: int, question: int, tree: Any) -> None:
    seen: list[tuple[int, int]] = []
    certificate = made(shape, question, tree)
    facts = check_external(certificate, lambda done, whole: seen.append((done, whole)))
    judged = [word for n in range(1, LONGEST + 1) for word in product((0, 1), repeat=n) if word.count(0) % 2 == 0]
    assert (facts.first, facts.last, facts.prefixes) == (1, LONGEST, len(judged))
    assert facts.groups == len(certificate["groups"]) == len(seen)
    assert facts.words == (len(judged) if tree is spelled else 0)
    assert facts.cells == len(certificate["groups"]) * (0 if tree is spelled else 3 if tree is split else 1)
    assert facts.wrong is None
    assert not facts.shortest
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("question", range(len(QUESTIONS)))
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_networks_that_are_wrong_somewhere_are_never_accepted(shape: int, question: int, tree: Any) -> None:
    for by in (-1e-9, -1e-6, -0.1, -5.0):
        assert "right" in (rejected(made(shape, question, tree, by)) or "")


def test_words_are_decided_closely() -> None:
    for shape in range(len(SHAPES)):
        assert rejected(made(shape, 1, spelled, 1e-9)) is None


# ---- the empty prefix ----


def test_the_empty_prefix_is_a_class() -> None:
    automaton = {"symbols": ["a", "b"], "moves": [[0, 0]], "accepting": []}
    specification = {"kind": "next", "automaton": {**automaton, "accepting": [0]}, "end": None, "empty": True}
    machine = {"moves": [[0, 0]], "required": [0], "kinds": [[[[0, -1], [1, -1]]]]}
    for shape in (0, 3):
        data = network(shape, outputs=2, **SHAPES[shape])
        data["unembedding_bias"] = [50.0, 50.0]
        certificate = document(data, specification, machine, 3)
        assert check_external(certificate).prefixes == 15
        assert certificate["groups"][0]["length"] == 0
        assert (
            rejected(replaced(certificate, ("groups", 0), ...)) == "groups: a class of prefixes of length 0 is missing"
        )
        assert "min_n" in (rejected(certificate | {"min_n": 1}) or "")
        changed = replaced(certificate, ("specification", "empty"), False)
        assert "min_n" in (rejected(changed) or "")
        data["readout"] |= {"before": [], "after": []}
        assert "no token is read" in (rejected(certificate) or "")


# ---- wrong words ----


def test_wrong_words_are_run() -> None:
    for shape in range(len(SHAPES)):
        specification, machine, outputs, decide = QUESTIONS[0]
        data = network(shape, outputs=outputs, decide=decide, **SHAPES[shape])
        reference = Reference(data)
        margins = {
            word: float(reference.outputs(reference.tokens(word))[0])
            for n in (1, 2, 3, 4)
            for word in product((0, 1), repeat=n)
            if word.count(0) % 2 == 0
        }
        word = min(margins, key=lambda one: margins[one])
        for above, fine in ((1e-9, True), (-1e-9, False)):
            changed = copy.deepcopy(data)
            changed["readout"]["level"] = str(Fraction(margins[word]) + Fraction(above))
            certificate = document(changed, specification, machine, 0)
            certificate |= {"claim": EXTERNAL_WRONG_CLAIM, "wrong": {"word": ["ab"[one] for one in word]}}
            assert (rejected(certificate) is None) == fine
            if fine:
                facts = check_external(certificate)
                assert facts.wrong == ["ab"[one] for one in word]
                assert facts.shortest == (len(word) == 1)
                assert facts.prefixes == 0


def test_a_wrong_word_may_be_all_that_is_known() -> None:
    data = network(0, outputs=1, template="none")
    data["readout"]["level"] = "100"
    certificate = document(data, JUDGED, JUDGED_MACHINE, 0)
    certificate |= {"claim": EXTERNAL_WRONG_CLAIM, "wrong": {"word": ["b"]}}
    facts = check_external(certificate)
    assert (facts.first, facts.last, facts.prefixes, facts.shortest) == (1, 0, 0, True)
    assert "max_n" in (rejected(certificate | {"wrong": None, "claim": EXTERNAL_CLAIM}) or "")
    assert "max_n" in (rejected(certificate | {"max_n": -1}) or "")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (["a", "c"], "not in the alphabet"),
        (["a"] * LONGEST, "more than max_n"),
        ([], "more than max_n"),
        (["b"] * LONGEST + ["a"], "nothing is required"),
        (["b"] * (LONGEST + 1), "not known to be wrong"),
        (["b"] * 20, "too few rows"),
    ],
)
def test_wrong_words_must_be_judged_and_wrong(word: list[str], message: str) -> None:
    certificate = made(0, by=50.0) | {"claim": EXTERNAL_WRONG_CLAIM, "wrong": {"word": word}}
    assert message in (rejected(certificate) or "")


# ---- changes ----


def group_of(certificate: Json, length: int = 4) -> Json:
    """Return a group of one length."""
    found: Json = next(group for group in certificate["groups"] if group["length"] == length)
    return found


def test_each_class_must_be_there() -> None:
    certificate = made(0)
    for number, group in enumerate(certificate["groups"]):
        assert "is missing" in (rejected(replaced(certificate, ("groups", number), ...)) or "")
        for key, value in (("length", group["length"] + 1), ("length", 0), ("symbol", 2), ("symbol", -1)):
            assert rejected(replaced(certificate, ("groups", number, key), value)) is not None
        for states in ([0, 1], [1 - group["states"][0]], [2], [-1]):
            assert "a class is not reached" in (
                rejected(replaced(certificate, ("groups", number, "states"), states)) or ""
            )
    assert rejected(certificate | {"groups": [*certificate["groups"], certificate["groups"][2]]}) is None
    for key, value in (("min_n", 0), ("min_n", 2), ("max_n", LONGEST + 1), ("max_n", LONGEST - 1), ("max_n", 0)):
        assert rejected(certificate | {key: value}) is not None
    assert "rows" in (rejected(certificate | {"max_n": 20}) or "")


def test_classes_of_a_group_have_one_requirement() -> None:
    specification = {"kind": "lines", "lines": [["a", EVERY], ["b", LAST]], "assume": None}
    machine = {"moves": [[1, 2]] * 3, "required": [-1, 0, 1], "kinds": [[[[0, -1], [1, -1]]], [[[0, -1], [-1, 1]]]]}
    data = network(0, outputs=2, template="before after")
    certificate = document(data, specification, machine, 3)
    group = group_of(certificate, 3)
    group["states"] = [1, 2]
    assert "different requirements" in (rejected(certificate) or "")


LAST: Json = {
    "kind": "formula",
    "formula": {"alphabet": ["a", "b"], "nodes": [["letters", [], "a"]], "root": [0, False]},
}
EVERY: Json = JUDGED["lines"][0][1]


@pytest.mark.parametrize("tree", [None, split, directed])
def test_boxes_that_are_too_narrow_are_rejected(tree: Any) -> None:
    certificate = made(1, 1, tree)
    for number in (0, len(certificate["groups"]) - 1):
        low, high = certificate["groups"][number]["tree"]["box"]
        for k in range(len(low)):
            for side, by in ((0, 1e-7), (1, -1e-7)):
                path = ("groups", number, "tree", "box", side, k)
                changed = replaced(certificate, path, at(certificate, path) + by)
                assert "not known to lie in it" in (rejected(changed) or "")
        for box in ([low[1:], high], [low, high[1:]], [low[1:], high[1:]], [[*low, 0.0], [*high, 0.0]]):
            assert "two numbers for each axis" in (
                rejected(replaced(certificate, ("groups", number, "tree", "box"), box)) or ""
            )


def test_directions_that_are_not_bounded_are_rejected() -> None:
    certificate = made(1, 1, directed)
    for number in (0, len(certificate["groups"]) - 1):
        for row in ("0", "1"):
            path = ("groups", number, "tree", "tree", "rows", row)
            direction, levels = at(certificate, path)
            for k in range(2):
                lower = [one - 1e-7 * (k == place) for place, one in enumerate(levels)]
                assert "of a direction" in (rejected(replaced(certificate, path, [direction, lower])) or "")
            for value in ([direction[1:], levels], [direction, levels[1:]], [[*direction, 0.0], levels]):
                assert "a number for each axis" in (rejected(replaced(certificate, path, value)) or "")
            assert "not known to be right" in (rejected(replaced(certificate, path, [direction, [90.0, 90.0]])) or "")
        rows = at(certificate, ("groups", number, "tree", "tree", "rows"))
        for key in ("2", "x", "00", "-1", "01"):
            assert "row" in (
                rejected(replaced(certificate, ("groups", number, "tree", "tree", "rows"), {**rows, key: rows["0"]}))
                or ""
            )


def test_trees_must_cover_their_box() -> None:
    certificate = made(0, 0, split)
    path: tuple[str | int, ...] = ("groups", 3, "tree", "tree")
    low, high = at(certificate, ("groups", 3, "tree", "box"))
    for axis, cut, message in (
        (0, low[0] - 1e-6, "outside"),
        (0, high[0] + 1e-6, "outside"),
        (3, 0.0, "not exist"),
        (-1, 0.0, "not exist"),
    ):
        assert message in (rejected(replaced(certificate, (*path, "split"), [axis, cut])) or "")
    assert rejected(replaced(certificate, (*path, "split"), [0, low[0]])) is None
    leaf = {"choice": 1, "rows": {}}
    assert "does not exist" in (rejected(replaced(certificate, (*path, "low"), leaf)) or "")
    assert "does not exist" in (rejected(replaced(certificate, (*path, "low"), leaf | {"choice": -1})) or "")
    assert "at the root" in (rejected(replaced(certificate, (*path, "low"), {"words": True})) or "")
    broken: list[Any] = [{}, [], None, {"words": False}, {"choice": 0}, {"split": [0, 0.0], "low": leaf}]
    for tree in broken:
        assert rejected(replaced(certificate, (*path, "low"), tree)) is not None
    deep: Json = {"choice": 0, "rows": {}}
    for _ in range(DEEPEST + 1):
        deep = {"split": [0, low[0]], "low": {"choice": 0, "rows": {}}, "high": deep}
    assert "divisions" in (rejected(replaced(certificate, path, deep)) or "")
    assert rejected(replaced(certificate, path, deep["high"])) is None


def test_the_network_must_be_causal_and_have_room() -> None:
    certificate = made(0)
    mask = ("network", "layers", 0, "heads", 0, "mask")
    assert "causal" in (rejected(replaced(certificate, mask, "past")) or "")
    assert "causal" in (rejected(replaced(certificate, mask, "none")) or "")
    assert rejected(replaced(made(3), mask, "none")) is None
    positions = certificate["network"]["positions"]
    changed = replaced(certificate, ("network", "positions"), positions[: LONGEST + 1])
    assert rejected(changed) is None
    assert "too few rows" in (rejected(replaced(changed, ("network", "positions"), positions[:LONGEST])) or "")
    assert "for each head" in (rejected(certificate | {"axes": []}) or "")
    assert "another length" in (rejected(replaced(certificate, ("axes", 0, 0), [1.0])) or "")


def test_coordinates_may_be_few_where_the_rest_is_bounded() -> None:
    certificate = made(2, by=50.0)
    certificate["axes"][0] = certificate["axes"][0][:2]
    for group in certificate["groups"]:
        group["tree"]["box"] = [one[:2] for one in group["tree"]["box"]]
    assert rejected(certificate) is None
    certificate["axes"][0] = []
    for group in certificate["groups"]:
        group["tree"]["box"] = [[], []]
    assert rejected(certificate) is None
    certificate["axes"][0] = [[0.0, 0.0, 0.0]] * 2
    for group in certificate["groups"]:
        group["tree"]["box"] = [[-1e-6] * 2, [1e-6] * 2]
    assert rejected(certificate) is None
    narrow = made(2, by=0.01)
    narrow["axes"][0] = [[0.0, 0.0, 0.0]] * 2
    for group in narrow["groups"]:
        group["tree"]["box"] = [[-1e-6] * 2, [1e-6] * 2]
    assert "not known to be right" in (rejected(narrow) or "")


def true_of_every_word(certificate: Json) -> bool:
    """Return whether the claim holds, up to 1e-9, from running every word in plain float64."""
    data, reference = certificate["network"], Reference(certificate["network"])
    readout = data["readout"]
    among = data["outputs"] if readout["among"] is None else readout["among"]
    reading = Reading(data["outputs"], readout["decide"], among, readout["alphabet"], readout["at"] == "last")
    specification = RequiredAnswers(certificate["specification"], reading, quiet)
    level = float(Fraction(readout["level"]))
    for n in range(certificate["min_n"], certificate["max_n"] + 1):
        for word in product(range(len(readout["alphabet"])), repeat=n):
            required = specification.after(word)
            if required is not None:
                outputs = [*reference.outputs(reference.tokens(word)), level]
                if max(min(outputs[a] - outputs[b] for a, b in choice) for choice in required) < -1e-9:
                    return False
    return True


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("number", range(6))
def test_numbers_that_change_are_rejected_or_still_true(number: int) -> None:
    shape, tree, rng = number % len(SHAPES), TREES[number % 4], Random(number)
    certificate = made(shape, number % 3, tree, last=3)
    paths = [path for path in places(certificate) if type(at(certificate, path)) in (int, float, str, bool)]
    accepted = 0
    for path in rng.sample(paths, min(len(paths), 150)):
        value = at(certificate, path)
        if type(value) is float:
            other: Any = value * rng.choice((0.0, -1.0, 0.5, 3.0, 1 + 1e-3)) + rng.choice((0.0, 1e-3, -1e-3, 2.0))
        elif type(value) is bool:
            other = not value
        elif type(value) is int:
            other = value + rng.choice((-2, -1, 1, 2))
        else:
            other = rng.choice(("1", "0", "-3/2", "a", "b", "rms", "none", "</s>"))
        changed = replaced(certificate, path, other)
        if rejected(changed) is None:
            accepted += 1
            assert true_of_every_word(changed), (path, other)
    assert accepted > 5


OTHERS: list[Any] = [
    None, True, 0, 1.5, "x", [], {}, float("nan"), float("inf"), -1, 10**40, 1e300, [[]], {"x": 1},
]  # fmt: skip


@pytest.mark.parametrize("number", range(3))
def test_values_of_other_kinds_are_rejected(number: int) -> None:
    certificate, rng = made(number, number, TREES[number + 1], last=2), Random(number)
    paths = list(places(certificate))[1:]
    for path in rng.sample(paths, min(len(paths), 120)):
        value = at(certificate, path)
        for other in OTHERS:
            if type(other) is not type(value) and path[0] not in ("format", "schema_version"):
                rejected(replaced(certificate, path, other))
    for key in certificate:
        if key != "format":
            assert rejected({name: part for name, part in certificate.items() if name != key}) is not None


def test_the_claim_and_the_version_are_fixed() -> None:
    certificate = made(0)
    for key, value in (("claim", EXTERNAL_WRONG_CLAIM), ("schema_version", 4), ("schema_version", True)):
        assert rejected(certificate | {key: value}) is not None
    assert rejected(certificate | {"wrong": {"word": ["b"] * 6}}) is not None


DAMAGED = [made(number % 5, number % 3, TREES[number % 4], last=3) for number in range(4)]


@given(st.sampled_from(DAMAGED).flatmap(damaged))
def test_damage_is_rejected_or_leaves_a_true_claim(certificate: Any) -> None:
    if isinstance(certificate, dict) and rejected(certificate) is None:
        assert true_of_every_word(certificate)


# ---- what is rounded ----


@pytest.mark.parametrize("number", range(100))
def test_bounds_of_rows_are_below_the_exact_ones(number: int) -> None:
    rng = Random(number)

    def draw(count: int) -> list[float]:
        return [rng.gauss(0, 10.0 ** rng.randint(-6, 6)) for _ in range(count)]

    count = rng.randint(0, 4)
    slopes, direction, middle, levels = draw(count), draw(count), draw(count), draw(rng.randint(0, 2))
    direction = [-one for one in slopes] if number % 3 == 0 else direction
    radii = [abs(one) for one in draw(count)]
    (g,), (e,) = draw(1), [abs(one) for one in draw(1)]
    steep = [abs(Fraction(a) + Fraction(b)) for a, b in zip(slopes, direction, strict=True)]
    exact = Fraction(g) - Fraction(e) - sum(map(Fraction, levels))
    exact -= sum(a * Fraction(b) for a, b in zip(steep, radii, strict=True))
    exact += sum(Fraction(a) * Fraction(b) for a, b in zip(direction, middle, strict=True))
    found = row_bound((g, slopes, e), direction, levels, middle, radii)
    sizes = [g, e, *levels, *(a * b for a, b in zip(slopes, radii, strict=True))]
    sizes += [a * (abs(b) + abs(c)) for a, b, c in zip(direction, radii, middle, strict=True)]
    assert 0 <= exact - Fraction(found) <= 1e-13 * sum(map(abs, sizes)) + 1e-250
    for bad in (float("inf"), float("nan")):
        assert not row_bound((bad, slopes, e), direction, levels, middle, radii) > 0
        assert not row_bound((g, slopes, bad), direction, levels, middle, radii) > 0
    assert not row_bound((5.0, [float("nan")], 0.0), [0.0], [], [0.0], [1.0]) > 0


@pytest.mark.parametrize("number", range(30))
def test_margins_of_words_enclose_the_exact_ones(number: int) -> None:
    rng = Random(number)
    check = _ExternalCheck(made(0, 1, last=2))
    mid, off = [rng.gauss(0, 1) for _ in "ab"], [rng.choice((0.0, abs(rng.gauss(0, 1e-9)))) for _ in "ab"]
    level = Fraction(rng.randint(-9, 9), 7)
    check.network = replace(check.network, readout=replace(check.network.readout, level=float(level)))
    check.runner = SimpleNamespace(outputs=lambda tokens: (mid, off))  # type: ignore[assignment]  # fixed outputs
    pairs = [(0, 1), (1, 0), (0, -1), (-1, 1)]
    for (above, below), (low, high) in zip(pairs, check.margins([1], [pairs])[0], strict=True):
        ends = [(Fraction(mid[k]), Fraction(off[k])) if k >= 0 else (level, Fraction(0)) for k in (above, below)]
        middle, far = ends[0][0] - ends[1][0], ends[0][1] + ends[1][1]
        assert Fraction(low) <= middle - far
        assert middle + far <= Fraction(high)
        assert high - low <= 2 * far + 1e-14


# ---- limits ----

LIMITS = [
    ("hardsim.verify.external.prefixes.STEPS", 1000, "more than 1000 steps"),
    ("hardsim.verify.external.check.ROOM", 1, "too many rows"),
    ("hardsim.verify.external.check.MOST_WORDS", 3, "more than 3 words"),
    ("hardsim.verify.external.columns.ROOM", 100, "too many keys"),
    ("hardsim.verify.external.machine.ROOM", 10, "too many states of the specification"),
    ("hardsim.verify.external.machine.MOST_PAIRS", 1, "too many states of the specification"),
    ("hardsim.verify.external.machine.MOST_REACHED", 4, "reaches too many states"),
]


@pytest.mark.parametrize(("name", "value", "message"), LIMITS)
def test_work_and_memory_are_limited(name: str, value: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = made(0, tree=spelled)
    assert rejected(certificate) is None
    monkeypatch.setattr(name, value)
    found = rejected(certificate) or ""
    assert found.startswith("too large") or "too large" in found
    assert message in found
