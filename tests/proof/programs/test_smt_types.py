"""Queries of rows whose scores follow from types: z3 answers unsat to each of them, and finds a solution if the claim
is too strong or belongs to another network.
"""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hardsim.proof.programs.lattice import times
from hardsim.proof.programs.law import LayerLaw
from hardsim.proof.programs.rows import Row
from hardsim.proof.programs.smt import ProgramWriter
from hardsim.proof.programs.types import RULE
from hardsim.proof.shared.smt import Query, text_of
from tests.proof.programs.test_smt import of_subject, solved
from tests.support.model import Matrix, Rational
from tests.support.solver import answers
from tests.support.subjects import program_of, subject_of
from tests.verify.test_types import COUNT, leftmost

PICKED = """\
alphabet: a b c
p(i) := rightmost_j[j<i, 1] in(j) : 'a'
k(i) := count_j[j <= i, p(j) = p(i)]
Y(i) := k(i) >= 2
"""
"""A program in which the symbol before is three Booleans that one head reads."""


def queries(made: ProgramWriter) -> list[Query]:
    """Return the queries about types."""
    return [query for query in made.steps() if query.kind in ("types", "levels")]


def found(made: ProgramWriter, directory: Path) -> set[str]:
    """Return z3's answers to the queries about types."""
    return set(answers(text_of(queries(made), "test", ()), directory))


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> ProgramWriter:
    return of_subject(program_of(tmp_path_factory.mktemp("count"), COUNT))


def test_every_step_holds(counted: ProgramWriter, tmp_path: Path) -> None:
    said = solved(counted, tmp_path)
    assert set.union(*said.values()) == {"unsat"}
    assert {"types", "levels"} <= said.keys()
    assert found(of_subject(program_of(tmp_path, PICKED)), tmp_path) == {"unsat"}


def test_every_step_of_a_leftmost_head_with_one_value_holds(tmp_path: Path) -> None:
    said = solved(of_subject(subject_of(tmp_path, leftmost({"a": "2", "b": "1"}))), tmp_path)
    assert set.union(*said.values()) == {"unsat"}
    assert "levels" in said


def test_what_they_take_for_granted_is_possible(counted: ProgramWriter, tmp_path: Path) -> None:
    some = queries(counted)
    granted = "\n".join("\n".join(("(push 1)", *query.lines[:-1], "(check-sat)", "(pop 1)")) for query in some)
    assert answers(granted, tmp_path) == ["sat"] * len(some)


def claimed(made: ProgramWriter, factor: Rational = 1, **other: Any) -> ProgramWriter:
    """Change the claims about rows that follow from types: multiply gaps by a factor, or replace attributes."""

    def changed(row: Row) -> Row:
        gaps = tuple(times(gap, factor) for gap in row.gaps)
        return replace(row, **{"gaps": gaps, **other}) if row.rules == (RULE,) else row

    def of_layer(layer: LayerLaw) -> LayerLaw:
        heads = {
            name: replace(head, rows={order: changed(row) for order, row in head.rows.items()})
            for name, head in layer.heads.items()
        }
        return replace(layer, heads=heads)

    more = replace(made.law.more, layers=tuple(map(of_layer, made.law.more.layers)))
    return replace(made, law=replace(made.law, more=more))


FALSE: list[dict[str, Any]] = [
    {"factor": Fraction(17, 16)},
    {"gaps": ()},
    {"unique": True},
    {"winner": 0},
    {"winners": (0, 1)},
    {"agreed": ("k: share", "m: share")},
]


@pytest.mark.parametrize("other", FALSE, ids=lambda other: ", ".join(other))
def test_more_than_is_true_is_found_out(counted: ProgramWriter, other: dict[str, Any], tmp_path: Path) -> None:
    assert "sat" in found(claimed(counted, **other), tmp_path)


def test_letters_that_do_not_exclude_each_other_are_found_out(counted: ProgramWriter, tmp_path: Path) -> None:
    model, column = counted.model, counted.index["in = c"]
    for symbol, value in ((0, 1), (2, Fraction(1, 2))):  # a counts as c too; c counts as one half
        entries = {(row, k): c for row, k, c in model.embedding.entries} | {(symbol, column): value}
        embedding = Matrix.of(*model.embedding.shape, entries)
        assert "sat" in found(replace(counted, model=replace(model, embedding=embedding)), tmp_path)
