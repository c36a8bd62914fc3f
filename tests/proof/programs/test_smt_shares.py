"""Queries of means over ties: z3 answers unsat to each of them, and finds a solution if the step is wrong."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from hardsim.proof.programs.lattice import IsolatedZero, NumberSpan, Share, times
from hardsim.proof.programs.law import LayerLaw, Spans
from hardsim.proof.programs.rows import ProductRule, Row
from hardsim.proof.programs.smt import ProgramWriter
from tests.proof.programs.test_smt import Change, layers, of_program, of_subject, rows, solutions, solved
from tests.support.language import parse_arith
from tests.support.model import Encoding
from tests.support.solver import answers
from tests.support.subjects import known, shipped
from tests.support.tied_by_hand import BY_HAND
from tests.support.tied_models import tied_model

KINDS = {
    "majority_ties.ahat.json": {"zero", "margin", "sum"},
    "ties.ahat.json": {"order", "read"},
    "dyck1_uniform.ahat.json": {"zero", "read"},
    "a sign head": {"order", "product", "gap"},
    "a product": {"zero", "gap"},
}
"""The kinds of queries that each model must have."""


@cache
def writer(name: str) -> ProgramWriter:
    return known(of_program(BY_HAND[name])) if name in BY_HAND else of_subject(shipped(name))


@pytest.mark.sweep
@pytest.mark.parametrize("name", KINDS)
def test_every_step_holds(name: str, tmp_path: Path) -> None:
    found = solved(writer(name), tmp_path)
    assert set.union(*found.values()) == {"unsat"}
    assert found.keys() >= KINDS[name]


@pytest.mark.parametrize("value", ["[i mod 2 = 1]", "i mod 2", "(i + 3*n) mod 4", "[i mod 3 = n mod 2]"])
def test_remainders_are_one_of_few_numbers(value: str, tmp_path: Path) -> None:
    program = BY_HAND["a sign head"]
    coordinates = (*program.coordinates, "rest")
    encodings = (*program.encodings, Encoding("rest", parse_arith(value)))
    made = known(of_program(replace(program, coordinates=coordinates, encodings=encodings)))
    assert set(solved(made, tmp_path)["input"]) == {"unsat"}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_every_step_of_tied_models_holds(first: int, tmp_path: Path) -> None:
    tried = 0
    for seed in range(first, first + 20):
        made = of_program(tied_model(seed))
        if made is not None:
            tried += 1
            assert set.union(*solved(made, tmp_path).values()) == {"unsat"}, seed
    assert tried


@pytest.mark.sweep
@pytest.mark.parametrize("name", KINDS)
def test_what_a_query_takes_for_granted_is_possible(name: str, tmp_path: Path) -> None:
    queries = [query for query in writer(name).steps() if len(query.lines) > 1]
    granted = "\n".join("\n".join(("(push 1)", *query.lines[:-1], "(check-sat)", "(pop 1)")) for query in queries)
    assert answers(granted, tmp_path) == ["sat"] * len(queries)


# ---- wrong steps ----


def reads(change: Callable[[NumberSpan], NumberSpan]) -> Change:
    """Return a change of the spans that heads read."""

    def of_spans(spans: Spans) -> Spans:
        return {order: change(span) for order, span in spans.items()}

    def of_layer(layer: LayerLaw) -> LayerLaw:
        return replace(layer, reads={place: of_spans(spans) for place, spans in layer.reads.items()})

    return layers(of_layer)


def shares(change: Callable[[Share], Share]) -> Change:
    """Return a change of the shares in the spans that heads read."""
    return reads(lambda span: span if span.share is None else replace(span, share=change(span.share)))


def zeros(change: Callable[[IsolatedZero], IsolatedZero]) -> Change:
    """Return a change of the isolated zeros in the spans that heads read."""
    return reads(lambda span: replace(span, isolated=tuple(map(change, span.isolated))))


def products(change: Callable[[ProductRule], ProductRule]) -> Change:
    """Return a change of the rules of products."""
    return rows(lambda row: row if row.product is None else replace(row, product=change(row.product)))


def larger_keys(rule: ProductRule) -> ProductRule:
    return replace(rule, keys=replace(rule.keys, step=times(rule.keys.step or 0, 2)))


def larger_gaps(row: Row) -> Row:
    return replace(row, gaps=tuple(times(gap, 3) for gap in row.gaps)) if row.product else row


def unique(row: Row) -> Row:
    return replace(row, unique=True) if row.product else row


def squared(share: Share) -> Share:
    return replace(share, denominators=tuple(replace(one, power=2) for one in share.denominators))


def farther(zero: IsolatedZero) -> IsolatedZero:
    return replace(zero, apart=tuple(times(least, 2) for least in zero.apart))


MAJORITY, ENDS, DYCK = [*KINDS][:3]
WRONG: list[tuple[str, str, Change]] = [
    (MAJORITY, "read", shares(lambda share: replace(share, step=times(share.step, 2)))),
    (MAJORITY, "read", shares(lambda share: replace(share, offset=Fraction(1, 3)))),
    (MAJORITY, "sum", shares(squared)),
    (MAJORITY, "zero", zeros(farther)),
    (DYCK, "zero", zeros(farther)),
    (MAJORITY, "zero", zeros(lambda zero: replace(zero, sign=-zero.sign))),
    ("a product", "product", products(larger_keys)),
    ("a product", "gap", rows(larger_gaps)),
    ("a sign head", "gap", rows(larger_gaps)),
    ("a sign head", "gap", products(lambda rule: replace(rule, query=replace(rule.query, share=None, isolated=())))),
    ("a product", "order", rows(unique)),
    (ENDS, "order", rows(lambda row: replace(row, winners=row.winners[:1], winner=None))),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "kind", "change"), WRONG)
def test_a_wrong_step_has_a_solution(name: str, kind: str, change: Change, tmp_path: Path) -> None:
    assert "sat" not in solutions(writer(name), kind, tmp_path)
    assert "sat" in solutions(change(writer(name)), kind, tmp_path)
