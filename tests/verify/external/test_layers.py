"""Certificates of networks of two layers: what is written is accepted; what is changed is rejected, or still true."""

import copy
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import Undecided
from hardsim.proof.external.result import STRUCTURE
from hardsim.proving import external_certificate as writer
from hardsim.proving.external import prefix_proof
from hardsim.run.enclosure import Floats
from hardsim.targets.external import External
from hardsim.verify import digests, read, verify
from hardsim.verify.arithmetic import Rejected
from hardsim.verify.external.layers import LayerForms, check_layers
from hardsim.verify.external.machine import ClaimedMachine
from hardsim.verify.external.network import read_layers
from hardsim.verify.external.numbers import LARGEST
from hardsim.verify.external.sections import DEEPEST, EXTERNAL_WRONG_CLAIM
from hardsim.verify.external.supports import MachinePaths
from tests.proof.external.test_two_layers import random_case
from tests.support.damage import at, damaged, places, replaced
from tests.support.external_certificates import Json, Reference, array, words
from tests.verify.external.test_check import OTHERS, quiet, true_of_every_word

LONGEST = 4
SEEDS = (6, 10, 12, 30)
"""Random networks of two layers with 1 to 3 heads, with all norms and activations, before and after norms."""
DIVIDED = 22
"""A network of three heads whose words are divided again and again."""


@lru_cache
def made(seed: int, longest: int = LONGEST, run: tuple[int, int] = (3, 3)) -> Json:
    """Return the certificate of a random network; `run` are the most prefixes that are run."""
    network, oracle = random_case(seed)
    subject = External(name="here", sha256="0" * 64, alphabet=network.symbols, network=network, oracle=oracle)
    proof = replace(prefix_proof(subject, longest), proved_by=STRUCTURE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "FEW_RUN", run[0])
        patch.setattr(writer, "MOST_RUN", run[1])
        return writer.external_certificate(subject, proof)


def rejected(certificate: Json) -> str:
    """Return the reason why a certificate is rejected, an empty text if it is accepted."""
    try:
        check_layers(certificate)
    except Rejected as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", [*SEEDS, DIVIDED])
def test_what_is_written_is_accepted_and_true(seed: int) -> None:
    certificate = made(seed, LONGEST + 2 * (seed == DIVIDED))
    again = read(writer.external_text(certificate).encode())
    assert again == certificate
    assert verify(again) is None
    facts = check_layers(certificate)
    assert facts.wrong is None
    assert true_of_every_word(certificate)
    machine, counts = certificate["machine"], [0] * (certificate["max_n"] + 1)
    for n in range(certificate["min_n"], certificate["max_n"] + 1):
        for word in product(range(len(machine["moves"][0])), repeat=n):
            state = 0
            for symbol in word:
                state = machine["moves"][state][symbol] if state >= 0 else -1
            counts[n] += state >= 0 and machine["required"][state] >= 0
    assert facts.prefixes == sum(counts)
    assert facts.words == sum(counts[: certificate["run_to"] + 1])


def containing(tree: Any, z: Floats) -> Any:
    """Return the leaf of a tree whose cell has a point."""
    while isinstance(tree, dict) and "split" in tree:
        axis, cut = tree["split"]
        tree = tree["low" if z[axis] <= cut else "high"]
    return tree


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_word_is_within_the_boxes_and_the_enclosures(seed: int) -> None:
    """Queries, keys, values and means of both layers, from running every word in plain float64."""
    certificate = made(seed)
    reference, axes = Reference(certificate["network"]), certificate["axes"]
    forms = LayerForms(read_layers(certificate["network"], 2), LONGEST, axes, quiet)
    classes = {(one["length"], one["symbol"], one["state"]): one for one in certificate["part"]["classes"]}
    queries, seen = 0, dict[Any, Any]()
    for word, before, _ in words(certificate["machine"] | {"required": [0] * 99}, 1, LONGEST):
        place = len(word), word[-1], before
        one, parts = classes[place], reference.parts(reference.tokens(word))
        below, above = (np.array(side) for side in one["box"])
        z = np.concatenate([np.zeros(0), *(array(own) @ head[3] for own, head in zip(axes[0], parts[0], strict=True))])
        assert (below - 1e-12 <= z).all()
        assert (z <= above + 1e-12).all()
        seen.setdefault(place, forms.over(place, *one["box"])[1])
        for head, (q, k, v, _), own in zip(seen[place], parts[1], axes[1], strict=True):
            for form, true in ((head.query, q), (head.key, k), (head.value, array(own) @ v)):
                reach = np.array(form.spread()) + np.array(form.e)
                assert (np.abs(true - np.array(form.c)) <= reach + 1e-12).all()
        if one["query"] is not None:
            low, high = containing(one["query"], z)["box"]
            z = np.concatenate(
                [np.zeros(0), *(array(own) @ head[3] for own, head in zip(axes[1], parts[1], strict=True))]
            )
            assert (np.array(low) - 1e-12 <= z).all()
            assert (z <= np.array(high) + 1e-12).all()
            queries += 1
    assert queries > 0


@pytest.mark.slow
def test_more_networks_have_true_certificates() -> None:
    accepted = 0
    for seed in range(100, 130):
        try:
            certificate = made(seed, LONGEST + 2)
        except Undecided:
            continue
        accepted += 1
        assert rejected(certificate) == ""
        assert true_of_every_word(certificate)
    assert accepted >= 15


def test_words_are_divided_where_that_is_needed() -> None:
    part, depth = made(DIVIDED, LONGEST + 2)["part"], 0
    while part["parts"]:
        part, depth = max((one for _, one in part["parts"]), key=lambda one: len(str(one))), depth + 1
    assert depth >= 1


def test_all_prefixes_may_be_run() -> None:
    certificate = made(10, 3, (999, 999))
    assert (certificate["run_to"], certificate["part"]) == (certificate["max_n"], None)
    assert rejected(certificate) == ""
    assert "every" not in rejected(certificate | {"run_to": 2})
    assert "part: this should be null" in rejected(certificate | {"run_to": 2})
    assert "run_to" in rejected(certificate | {"run_to": certificate["max_n"] + 1})


def test_a_network_that_is_wrong_somewhere_is_never_accepted() -> None:
    """The level is moved until the network is wrong on some word."""
    for seed in (10, 12):
        certificate = made(seed)
        reference, level = Reference(certificate["network"]), certificate["network"]["readout"]["level"]
        least = min(
            float(reference.outputs(reference.tokens(word)).min())
            for n in range(1, LONGEST + 1)
            for word in product((0, 1), repeat=n)
        )
        found = replaced(certificate, ("network", "readout", "level"), str(Fraction(least + 0.5)))
        assert level != found["network"]["readout"]["level"]
        assert true_of_every_word(found) is False
        assert "right" in rejected(found)


# ---- changes ----


def last_query(certificate: Json) -> int:
    """Return the number of the last class that is proved."""
    classes = certificate["part"]["classes"]
    return max(number for number, one in enumerate(classes) if one["query"] is not None)


def test_each_class_must_be_there() -> None:
    certificate = made(10)
    classes = certificate["part"]["classes"]
    for number, one in enumerate(classes):
        assert rejected(replaced(certificate, ("part", "classes", number), ...)) != ""
        path = ("part", "classes", number)
        for key, value in (("length", one["length"] + 1), ("length", 0), ("symbol", 2), ("symbol", -1), ("state", 9)):
            assert rejected(replaced(certificate, (*path, key), value)) != ""
        if one["query"] is not None:
            assert "is not proved" in rejected(replaced(certificate, (*path, "query"), None))
    assert "occurs twice" in rejected(replaced(certificate, ("part", "classes"), [*classes, classes[0]]))
    for key, value in (("min_n", 0), ("min_n", 2), ("max_n", LONGEST + 1), ("max_n", LONGEST - 1), ("run_to", 0)):
        assert rejected(certificate | {key: value}) != ""


def test_boxes_that_are_too_narrow_are_rejected() -> None:
    certificate = made(12)
    number = last_query(certificate)
    for path, message in (
        (("part", "classes", number, "box"), "first layer"),
        (("part", "classes", 0, "box"), "first layer"),
        (("part", "classes", number, "query", "box"), "second layer"),
    ):
        low, high = at(certificate, path)
        for axis in np.argsort(np.subtract(low, high))[:2].tolist():
            middle = (low[axis] + high[axis]) / 2
            for side, value in ((0, middle), (1, middle)):
                changed = replaced(certificate, (*path, side, axis), value)
                if message == "second layer" or number > 1:
                    assert rejected(changed) != ""
        for box in ([low[1:], high], [low, high[1:]], [low[1:], high[1:]], [[*low, 0.0], [*high, 0.0]]):
            assert "two numbers for each axis" in rejected(replaced(certificate, path, box))


def test_trees_must_cover_their_box() -> None:
    certificate = made(10)
    number = last_query(certificate)
    path = ("part", "classes", number)
    low, high = at(certificate, (*path, "box"))
    leaf = at(certificate, (*path, "query"))
    for where, inner in (("cells", None), ("query", leaf)):
        strange = (99, 0.0, "not exist"), (-1, 0.0, "not exist")
        for axis, cut, message in ((0, low[0] - 1e-3, "outside"), (0, high[0] + 1e-3, "outside"), *strange):
            tree = {"split": [axis, cut], "low": inner, "high": inner}
            assert message in rejected(replaced(certificate, (*path, where), tree))
        tree = {"split": [0, (low[0] + high[0]) / 2], "low": inner, "high": inner}
        assert rejected(replaced(certificate, (*path, where), tree)) == ""
        damage: list[Any] = [{}, [], {"split": [0, low[0]], "low": inner}, {"low": inner, "high": inner}, 1.5]
        for broken in damage:
            assert rejected(replaced(certificate, (*path, where), broken)) != ""
            assert rejected(replaced(certificate, (*path, where), tree | {"high": broken})) != ""
        deep = inner
        for _ in range(DEEPEST + 1):
            deep = {"split": [0, low[0]], "low": inner, "high": deep}
        assert "divisions" in rejected(replaced(certificate, (*path, where), deep))
    for node in ({"choice": 9, "rows": {}}, {"choice": -1, "rows": {}}, {"words": True}):
        assert rejected(replaced(certificate, (*path, "query", "tree"), node)) != ""


def test_directions_must_hold() -> None:
    certificate = made(10)
    number = last_query(certificate)
    path = ("part", "classes", number, "query", "tree")
    low, high = at(certificate, ("part", "classes", number, "query", "box"))
    rows = {"0": [[1.0] + [0.0] * (len(low) - 1), [high[0]]]}
    assert "of a direction" not in rejected(replaced(certificate, path, {"choice": 0, "rows": rows}))
    rows["0"][1] = [low[0]]
    found = rejected(replaced(certificate, path, {"choice": 0, "rows": rows}))
    assert "of a direction" in found or "not known to be right" in found
    rows["0"] = [[0.0] * len(low), [-1e-3]]
    assert "of a direction" in rejected(replaced(certificate, path, {"choice": 0, "rows": rows}))


def test_parts_must_cover_all_words() -> None:
    certificate = made(DIVIDED, LONGEST + 2)
    part = certificate["part"]
    assert part["parts"]
    assert "a part for each state" in rejected(replaced(certificate, ("part", "parts", 0), ...))
    assert "a part for each state" in rejected(replaced(certificate, ("part", "parts", 0, 0), 99))
    twice = [part["parts"][0], *part["parts"]]
    assert "a part for each state" in rejected(replaced(certificate, ("part", "parts"), twice))
    assert "is not proved" in rejected(replaced(certificate, ("part", "place"), None))
    for place in (0, -1, LONGEST + 2, 99, 2.0, True):
        assert "part.place" in rejected(replaced(certificate, ("part", "place"), place))
    empty: Json = {"classes": [], "place": None, "parts": []}
    emptied = [[state, empty] for state, _ in part["parts"]]
    assert rejected(replaced(certificate, ("part", "parts"), emptied)) != ""
    deep: Json = empty
    for _ in range(40):
        deep = {"classes": [], "place": 1, "parts": [[0, deep]]}
    assert "parts inside each other" in rejected(replaced(certificate, ("part",), deep))


def test_the_network_must_be_causal_and_of_two_layers() -> None:
    certificate = made(10)
    for layer in (0, 1):
        for mask in ("past", "none"):
            path = ("network", "layers", layer, "heads", 0, "mask")
            assert "causal" in rejected(replaced(certificate, path, mask))
    layers = certificate["network"]["layers"]
    for some in (layers[:1], [*layers, layers[0]], []):
        assert "an array of 2 layers" in rejected(replaced(certificate, ("network", "layers"), some))
    given = certificate["axes"]
    wrong: list[Any] = [[], given[:1], [*given, []], [[], []], [given[0], []]]
    for axes in wrong:
        assert "axes" in rejected(certificate | {"axes": axes})
    assert "another length" in rejected(replaced(certificate, ("axes", 1, 0, 0), [1.0]))
    assert rejected(certificate | {"schema_version": 5}) == "schema_version: this should be 6"
    assert "claim" in rejected(certificate | {"claim": EXTERNAL_WRONG_CLAIM})


def test_wrong_words_are_run() -> None:
    certificate = made(10)
    symbols = certificate["network"]["readout"]["alphabet"]
    machine = certificate["machine"]
    word, state = list[str](), 0
    while len(word) <= LONGEST or machine["required"][state] < 0:
        symbol = next(k for k, target in enumerate(machine["moves"][state]) if target >= 0)
        word, state = [*word, symbols[symbol]], machine["moves"][state][symbol]
    wrong = certificate | {"claim": EXTERNAL_WRONG_CLAIM, "wrong": {"word": word}}
    assert "not known to be wrong" in rejected(wrong)
    high = replaced(wrong, ("network", "readout", "level"), "1000")
    alone = high | {"max_n": 0, "run_to": 0, "part": None}
    facts = check_layers(alone)
    assert facts.wrong == word
    assert not facts.shortest


DAMAGED = [made(10, 3), made(12, 3)]


@given(st.sampled_from(DAMAGED).flatmap(damaged))
def test_damage_is_rejected_or_leaves_a_true_claim(certificate: Any) -> None:
    if isinstance(certificate, dict) and "part" in certificate and not rejected(certificate):
        assert true_of_every_word(certificate)


@pytest.mark.parametrize("number", range(2))
def test_numbers_that_change_are_rejected_or_still_true(number: int) -> None:
    certificate, rng = DAMAGED[number], Random(number)
    paths = [path for path in places(certificate) if type(at(certificate, path)) in (int, float, str, bool)]
    for path in rng.sample(paths, 30):
        value = at(certificate, path)
        if type(value) is float:
            other: Any = value * rng.choice((0.0, -1.0, 0.5, 3.0, 1 + 1e-3)) + rng.choice((0.0, 1e-3, -1e-3, 2.0))
        elif type(value) is bool:
            other = not value
        elif type(value) is int:
            other = value + rng.choice((-2, -1, 1, 2))
        else:
            other = rng.choice(("1", "0", "-3/2", "t0", "t1", "rms", "none"))
        changed = replaced(certificate, path, other)
        if rejected(changed) == "":
            assert true_of_every_word(changed), (path, other)


def test_values_of_other_kinds_are_rejected() -> None:
    certificate, rng = DAMAGED[0], Random(0)
    for path in rng.sample(list(places(certificate))[1:], 30):
        for other in rng.sample(OTHERS, 5):
            changed = replaced(certificate, path, other)
            if rejected(changed) == "":
                assert true_of_every_word(changed), (path, other)
    for key in certificate:
        if key not in ("format", "labels", "digests"):
            assert rejected({name: part for name, part in certificate.items() if name != key}) != ""


def huge(certificate: Json, value: float) -> list[Json]:
    """Return copies with one number of each kind replaced."""
    number = last_query(certificate)
    kinds: list[tuple[Any, ...]] = [
        ("axes", 0, 0, 0, 0), ("axes", 1, 0, 0, 0), ("part", "classes", number, "box", 0, 0),
        ("part", "classes", number, "query", "box", 1, 0), ("network", "layers", 1, "heads", 0, "w_k", 0, 0),
    ]  # fmt: skip
    return [replaced(certificate, path, value) for path in kinds]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e300, LARGEST, -LARGEST, 1e18])
def test_huge_numbers_never_pass(value: float) -> None:
    for changed in huge(made(10), value):
        # an axis or a side of a box may be of any size that is sound
        if rejected(changed) == "":
            assert true_of_every_word(changed)
            assert abs(value) <= LARGEST


def test_whole_files_are_checked() -> None:
    certificate = copy.deepcopy(made(10))
    assert verify(certificate) is None
    changed = replaced(certificate, ("part", "classes", 0, "box", 0, 0), -9.0)
    assert "part was altered" in (verify(changed) or "")
    changed["digests"] = digests(changed)
    assert verify(changed) in (None, rejected(changed))
    assert "groups" in (verify(certificate | {"groups": []}) or "")
    assert "schema_version" in (verify(certificate | {"schema_version": 5}) or "")


LIMITS: list[tuple[str, Any, str]] = [
    ("hardsim.verify.external.prefixes.STEPS", 1000, "steps"),
    ("hardsim.verify.external.layers.ROOM", 1, "too many cells"),
]


@pytest.mark.parametrize(("name", "value", "message"), LIMITS)
def test_work_and_memory_are_limited(name: str, value: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name, value)
    assert message in rejected(made(10))


def test_paths_through_states() -> None:
    """States of shorter prefixes are those from which the checkpoint can be reached."""
    machine = ClaimedMachine([[0, 1], [2, 1], [2, 2]], [0, 0, 0], [])
    spend: Callable[[int], None] = lambda steps: None  # noqa: E731
    assert MachinePaths(machine, 4, spend).states == [[0], [0, 1], [0, 1, 2], [0, 1, 2], [0, 1, 2]]
    assert MachinePaths(machine, 4, spend, {2: 1}).states == [[0], [0, 1], [1], [1, 2], [1, 2]]
    assert MachinePaths(machine, 4, spend, {3: 0}).states == [[0], [0], [0], [0], [0, 1]]
