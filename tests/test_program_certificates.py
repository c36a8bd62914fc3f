"""Certificates of programs and models: what is checked is true by the definitions, and what is false is rejected,
however its facts are changed."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from hardsim.checking.program_certificate import program_certificate
from hardsim.checking.prove import prove_attention, prove_every_length
from hardsim.errors import Undecided
from hardsim.programs import CHECKED
from hardsim.verify import verify
from tests.damage import at, places, replaced
from tests.mistakes import raised
from tests.program_certificates import made, network, sealed, wrong_word
from tests.subjects import FORMULAS, shipped

SHIPPED = sorted(path.name for path in FORMULAS.glob("*.srasp"))
BY_STRUCTURE = [*SHIPPED, "flipflop.ahat.json", "no_repeats.ahat.json", "same_ends.ahat.json"]
FEW = ["dyck1.srasp", "sort.srasp", "same_ends.ahat.json"]
FALSE_ON = {"dyck1.srasp": ("1/n**2", 2), "sort.srasp": ("1/n**3", 2), "same_ends.ahat.json": ("1/n**2", 3)}
"""A temperature at which softmax is wrong on a word of a length, which the judge finds."""


# ---- what is true ----


@pytest.mark.parametrize("name", FEW)
def test_certificates_of_lengths_and_of_every_length_are_valid_and_true(name: str) -> None:
    for document in (made(name, 4), made(name)):
        assert verify(document) is None
        assert wrong_word(document, 3) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_STRUCTURE)
def test_every_shipped_program_has_both_kinds(name: str) -> None:
    for document in (made(name, 16), made(name)):
        assert verify(document) is None
        assert len(json.dumps(document)) < 5 * 2**20


def test_padding_counts_as_positions() -> None:
    """increment.srasp has `pad: len + 1`."""
    document = made("increment.srasp", 3)
    assert document["lengths"] == [2, 3, 4]
    assert "#" in document["model"]["alphabet"]


def test_what_every_word_was_run_for_has_none() -> None:
    subject = shipped("ties.ahat.json")
    result = prove_attention(subject, 2, search=0)
    assert {length.proved_by for length in result.lengths} == {"every word"}
    raised(Undecided, program_certificate, result, match="proved by running every word")


# ---- what is false ----


def false(name: str, every: bool) -> dict[str, Any]:
    """A certificate that claims what is false, about a hot temperature, with digests that fit."""
    tau, n = FALSE_ON[name]
    document = made(name, None if every else 3)
    if every:
        document["temperature"] = tau
    else:
        document["lengths"], document["temperature"] = [n], [tau.replace("n", str(n))]
    return document


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("name", FEW)
def test_a_temperature_that_is_too_hot_is_rejected(name: str, every: bool) -> None:
    document = false(name, every)
    assert wrong_word(document, 3) is not None
    assert sealed(document) is not None


def leaves(document: Any) -> list[tuple[str | int, ...]]:
    """The places of values that are no objects and no arrays."""
    return [path for path in places(document) if path and not isinstance(at(document, path), dict | list)]


def lie(document: dict[str, Any], random: Random) -> None:
    """Change one of the facts: a function, the parts of a span, a span, a group, a step, a rest, a sign."""
    facts = document["facts"]
    paths = leaves(facts)
    part = random.choice(("functions", "spans", "rows", "other"))
    own = [path[0] if path[0] in ("functions", "spans") else "rows" if "rows" in path else "other" for path in paths]
    some = [path for path, kind in zip(paths, own, strict=True) if kind == part]
    path = random.choice(some)
    old, texts = at(facts, path), facts["functions"]
    if part == "functions":
        new: Any = random.choice((f"({old})*2", f"({old})*1000", f"({old})/1000", f"({old}) + 1", "0", "n", *texts))
    elif isinstance(old, str):
        new = random.choice(("lattice", "look-up"))
    else:
        new = random.choice((None, -1, 0, 1, *range(len(texts if part in ("spans", "rows") else facts["spans"]))))
    parent = at(facts, path[:-1])
    parent[path[-1]] = new


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("name", FEW)
def test_no_change_of_the_facts_makes_it_right(name: str, every: bool) -> None:
    document = false(name, every)
    for seed in range(300):
        random, changed = Random(seed), copy.deepcopy(document)
        for _ in range(random.choice((1, 1, 2, 3))):
            lie(changed, random)
        assert sealed(changed) is not None, seed


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_changed_facts_of_a_false_claim_are_rejected(seed: int) -> None:
    random = Random(seed)
    document = false(random.choice(("sort.srasp", "same_ends.ahat.json")), False)
    for _ in range(random.choice((1, 1, 2, 3))):
        lie(document, random)
    assert sealed(document) is not None


NUMBERS = ("0", "1", "-1", "2", "1/2", "1/1000", "1000")


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_a_changed_network_is_rejected_unless_the_claim_is_true_of_it(seed: int) -> None:
    random = Random(seed)
    document = made(random.choice(("sort.srasp", "same_ends.ahat.json")), 3)
    path = random.choice([path for path in leaves(document["model"]) if path[0] in ("embedding", "layers")])
    old = at(document["model"], path)
    new = (not old) if isinstance(old, bool) else random.choice(NUMBERS)
    if path[-1] in ("name", "mask"):
        new = random.choice(("none", "future", "past", "strict-future", "strict-past"))
    document = replaced(document, ("model", *path), new)
    if sealed(document) is None:
        assert wrong_word(document, 3) is None, path


def test_each_hint_that_is_left_out_or_of_another_kind_is_missed() -> None:
    document = made("same_ends.ahat.json", 2)
    for path in places({key: document[key] for key in CHECKED}):
        if path and path[:2] != ("model", "alphabet"):
            values: tuple[Any, ...] = (None, True, 1.5, {}, "x y")
            for value in values:
                if type(value) is not type(at(document, path)):
                    changed = replaced(document, path, value)
                    told = sealed(changed)
                    assert told is not None or wrong_word(changed, 2) is None, (path, value)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("lengths", [], "in order"),
        ("lengths", [2, 1], "in order"),
        ("lengths", [0, 1], "in order"),
        ("start", 1, "from 2 on"),
        ("start", 2, "where no others are claimed"),
        ("temperature", ["1"], "one for each length"),
        ("temperature", ["-1", "1"], "not positive"),
        ("temperature", ["1 < 2", "1"], "a truth"),
        ("temperature", "0*n", "not positive"),
        ("claim", "everything", "not the one that is checked"),
        ("schema_version", 2, "since version 3"),
    ],
)
def test_what_is_claimed_has_one_form(key: str, value: Any, told: str) -> None:
    document = made("same_ends.ahat.json", 2)
    document[key] = value
    assert told in (sealed(document) or "")


def test_what_is_too_large_is_rejected() -> None:
    document = made("same_ends.ahat.json", 2)
    document["temperature"] = ["2**(-20000)", "1"]
    assert "too large" in (sealed(document) or "")
    document = made("same_ends.ahat.json", 2)
    document["facts"]["functions"][0] = "(n + 1)**24 * (i + n)**24"
    assert "too large" in (sealed(document) or "")


# ---- the judge ----


def test_the_judge_reads_the_network_of_the_certificate() -> None:
    """A heated certificate is wrong, and a cold one is not: the judge tells them apart."""
    before = ctx.prec
    document = made("same_ends.ahat.json", 3)
    assert network(document)["coordinates"]
    document["temperature"] = ["1"] * 3
    assert wrong_word(document, 3) is not None
    assert ctx.prec == before
    result = prove_every_length(shipped("sort.srasp"), 0)
    assert result.every_length
