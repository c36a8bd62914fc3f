"""Types in the checker of certificates: their facts about rows of scores are true of every short word, and
certificates that rest on them are valid, true, and rejected for another network.
"""

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hardsim.proving.program_certificate import _Facts, program_certificate, program_json
from hardsim.proving.prove import prove_every_length
from hardsim.verify import types, verify
from hardsim.verify.programs import ProgramChecker
from hardsim.verify.ratios import Ratio, Value
from hardsim.verify.spans import NumberSpan
from hardsim.verify.types import TypedColumns, TypedRows, always, few
from tests.support.check import NotProved, Subject, law_of
from tests.support.language import parse_arith
from tests.support.mistakes import raised
from tests.support.model import assemble
from tests.support.program_certificates import sealed, wrong_word
from tests.support.random_scores import LETTERS, Claim, RandomScore, random_score, require
from tests.support.subjects import program_of, subject_of

LONGEST = 4
COUNT = """\
alphabet: a b c
k(i) := count_j[j <= i, in(j) = in(i) & pos(j) = 1]
m(i) := count_j[j <= i, in(j) = in(i)]
Y(i) := m(i) >= 1 & 2*k(i) >= m(i)
"""
"""A program with scores that one-hot letters of two positions decide."""


def value(number: Value, i: int, n: int) -> Fraction:
    """Evaluate a function at a position of a length."""
    if not isinstance(number, Ratio):
        return Fraction(number)

    def at(terms: Any) -> Fraction:
        return sum(
            (c * Fraction(i) ** powers[0] * Fraction(n) ** powers[1] for powers, c in terms.items()), Fraction(0)
        )

    bottom = Fraction(1)
    for factor in number.factors:
        bottom *= at(factor.terms)
    return at(number.top.terms) / bottom


class Watched(ProgramChecker):
    """A checker that proves nothing and records the facts that kinds give about the head `h`."""

    def __init__(self, score: RandomScore) -> None:
        self.claims: dict[bool, dict[int, Claim]] = {}
        program = score.program
        model = program_json(assemble(program, parse_arith("1")), program, {})
        law, facts = law_of(program), _Facts(program, model)
        worlds = {"one": facts.world(law.one), "more": facts.world(law.more)}
        every = {"functions": facts.texts, "counts": facts.counts, "spans": facts.spans, **worlds}
        document = {"lengths": [1], "start": None, "temperature": ["1"], "model": model, "facts": every}
        super().__init__(json.loads(json.dumps(document)))

    def _world(self, longer: bool, claims: Any, lengths: Any, start: int | None) -> None:
        for more, name in ((False, "one"), (True, "more")):
            super()._world(more, self.worlds[name], [], None)

    def _prove(self, facts: dict[str, Any]) -> None:
        self.worlds = facts
        super()._prove(facts)

    def _distances(self, claims: Any) -> tuple[tuple[int, Value], ...]:
        return ()

    def _head(self, head: Any, claim: Any) -> Any:
        if head.name == "h":
            rows = {p.order: TypedRows(self.types, head.mask, head.pairs, p) for p in self.world.places}
            self.claims[self.longer] = {order: self._text_of(own, head.values["out"]) for order, own in rows.items()}
        return super()._head(head, claim)

    def _text_of(self, rows: TypedRows, form: Any) -> Claim:
        row = rows.row()
        if row is None:
            raise NotProved("no order")
        return Claim(
            lambda i, n: min((value(gap, i, n) for gap in row.gaps), default=None),
            row.unique, row.equal, row.begins, row.winners, rows.agrees(form),
        )  # fmt: skip


def sweep(seed: int, count: int) -> int:
    """Assert that the facts about random heads are true of short words; return the number of heads with facts."""
    random, recognised = Random(seed), 0
    for _ in range(count):
        score = random_score(random)
        try:
            claims = Watched(score).claims
        except NotProved:
            continue
        recognised += 1
        for n in range(1, LONGEST + 1):
            for letters in product(LETTERS, repeat=n):
                require(score, claims[n > 1], "".join(letters))
    return recognised


@pytest.mark.sweep
def test_what_kinds_tell_of_random_heads_is_true_of_every_word() -> None:
    assert sweep(15, 15) > 8


@pytest.mark.slow
def test_what_kinds_tell_of_many_random_heads_is_true_of_every_word() -> None:
    assert sweep(16, 1000) > 500


KEYS, JOINT, PICKED = TypedRows._keys, TypedColumns.joint, TypedColumns._picked
BROKEN: dict[str, list[tuple[Any, str, Any]]] = {
    "the largest is never below the highest": [(TypedRows, "_certain", lambda self, ranked: len(ranked) - 1)],
    "a score is one of one key": [(TypedRows, "_alone", lambda self, score: True)],
    "keys of one kind only": [
        (TypedRows, "_keys", lambda self, forms: {o: k[:1] for o, k in KEYS(self, forms).items()}),
    ],
    "joint values of one choice only": [
        (TypedColumns, "joint", lambda self, forms, order: (JOINT(self, forms, order) or [])[:1]),
    ],
    "numbers have one value": [
        (types, "few", lambda span, source: (few(span, source) or ())[:1] or None),
        (TypedColumns, "_picked", lambda *some: {}),
    ],
    "a head reads one kind of key": [
        (TypedColumns, "_picked", lambda *some: {out: always(found[0][1]) for out, found in PICKED(*some).items()}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_caught(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, wrong in BROKEN[rule]:
        monkeypatch.setattr(owner, name, wrong)
    raised(AssertionError, sweep, 15, 60)


# ---- certificates ----


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the certificate of every length of a program with a score of one-hot letters at i and at j."""
    return certified(program_of(tmp_path_factory.mktemp("count"), COUNT))


def certified(subject: Subject) -> dict[str, Any]:
    """Return the certificate of every length, read back from its text."""
    document: dict[str, Any] = json.loads(json.dumps(program_certificate(prove_every_length(subject, 0))))
    return document


def rows_by_kinds(document: Any) -> list[Any]:
    """Return the rows that rest on kinds."""
    worlds = [document["facts"]["one"], document["facts"]["more"]]
    heads = [head for world in worlds for layer in world["layers"] for head in layer["heads"].values()]
    return [row for head in heads for row in head["rows"] if "kinds" in row]


def test_a_certificate_that_rests_on_kinds_is_valid_and_true(counted: dict[str, Any]) -> None:
    assert verify(counted) is None
    assert len(rows_by_kinds(counted)) >= 6
    assert wrong_word(counted, 3) is None


def test_a_leftmost_head_whose_tied_keys_carry_one_value_has_a_certificate(tmp_path: Path) -> None:
    """2 [a] + [b] is largest at every a, if there is one, so that [a] is read."""
    found = certified(subject_of(tmp_path, leftmost({"a": "2", "b": "1"})))
    assert verify(found) is None
    assert wrong_word(found, 3) is None


def leftmost(score: dict[str, str]) -> Any:
    """Return the certificate of a leftmost head over the letters a, b and c that reads [a]."""
    head = {"name": "first", "mask": "none", "weighting": "leftmost", "score": [[{"1": "1"}, score]]}
    program = {
        "alphabet": [*LETTERS],
        "coordinates": ["1", *LETTERS, "out"],
        "letters": [{"name": letter, "symbols": [letter]} for letter in LETTERS],
        "encodings": [],
        "layers": [{"heads": [{**head, "values": {"out": {"a": "1"}}}], "units": [], "biases": {}}],
        "output": "out",
        "threshold": "1/2",
        "reading": "last",
    }
    return {"format": "hardsim-ahat", "schema_version": 2, "program": program}


def test_what_kinds_do_not_tell_is_rejected(counted: dict[str, Any]) -> None:
    """The head `m` looks up a number of many values."""
    document = copy.deepcopy(counted)
    (head,) = (layer["heads"]["m"] for layer in document["facts"]["more"]["layers"] if "m" in layer["heads"])
    head["rows"] = [{"kinds": True} for _ in head["rows"]]
    assert "in no known order" in (sealed(document) or "")


def test_a_claim_of_kinds_has_one_form(counted: dict[str, Any]) -> None:
    some: list[Any] = [{"kinds": 1}, {"kinds": None}, {"kinds": True, "more": 1}, {"kinds": True, "groups": []}, []]
    for wrong in some:
        document = copy.deepcopy(counted)
        rows_by_kinds(document)[-1].clear()
        for world in ("one", "more"):
            for layer in document["facts"][world]["layers"]:
                for head in layer["heads"].values():
                    head["rows"] = [wrong if row == {} else row for row in head["rows"]]
        assert sealed(document) is not None


def networks(model: Any) -> Iterator[Any]:
    """Yield the network with letters that do not exclude each other, with a key or a query changed, or with a clip
    replaced by a relu.
    """
    for name in model["embedding"]:
        if name.startswith("in ="):
            for symbol in range(len(model["alphabet"])):
                changed = copy.deepcopy(model)
                changed["embedding"][name][symbol] = "1" if changed["embedding"][name][symbol] == "0" else "1/2"
                yield changed
    for depth, layer in enumerate(model["layers"]):
        for place, head in enumerate(layer["heads"]):
            for part in ("query", "key"):
                for row, form in enumerate(head[part]):
                    for name in form:
                        changed = copy.deepcopy(model)
                        changed["layers"][depth]["heads"][place][part][row][name] = "2"
                        yield changed
        for place, _ in enumerate(layer["units"]):
            changed = copy.deepcopy(model)
            changed["layers"][depth]["units"][place]["bias"] = "0"
            yield changed


def test_another_network_is_rejected_or_the_claim_is_true_of_it(counted: dict[str, Any]) -> None:
    """Facts about one network are claimed about others that differ in one number."""
    rejected = 0
    every = list(networks(counted["model"]))
    for model in every[:: 1 + len(every) // 24]:
        document = {**copy.deepcopy(counted), "model": model}
        if sealed(document) is None:
            assert wrong_word(document, 2) is None
        else:
            rejected += 1
    assert rejected > 10


def test_many_kinds_are_refused_and_not_worked_out(monkeypatch: pytest.MonkeyPatch, counted: dict[str, Any]) -> None:
    for name in ("MOST_ROWS", "MOST_PAIRS"):
        with monkeypatch.context() as patch:
            patch.setattr(types, name, 1)
            assert verify(counted) is not None


def test_a_number_of_few_values_is_a_choice() -> None:
    assert few(NumberSpan(0, 1, 0, 1), "x") == (({"x": 0}, 0), ({"x": 1}, 1))
    assert few(NumberSpan(-1, 1, -1, 2), "x") == (({"x": 0}, -1), ({"x": 1}, 1))
    assert few(NumberSpan(0, 100, 0, 1), "x") is None
    assert few(NumberSpan(0, 1), "x") is None
    assert few(NumberSpan(3, 3, 3, 0), "x") == always(3)
