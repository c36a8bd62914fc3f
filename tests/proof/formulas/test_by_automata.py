"""Tests of the second proof of a formula's heads: on random formulas, and with faults in programs and automata."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardsim.compiling.from_ltl.lower import lower
from hardsim.errors import Contradiction
from hardsim.lang import ast
from hardsim.lang.automata import compared as comparing
from hardsim.lang.automata import tracks
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.compared import NotCompared, compared
from hardsim.lang.automata.of_formula import automaton_of_formula
from hardsim.lang.automata.of_text import TextReader
from hardsim.lang.semantics import Oracle
from hardsim.proof.formulas import by_automata
from hardsim.proof.formulas.by_automata import ProgramReader, second_proof
from tests.support.hard_runs import hard_runs
from tests.support.language import FormulaFile, desugar, parse_text
from tests.support.model import REGIMES, Affine, Program, Weighting
from tests.support.strategies import all_words, formulas

At = Literal["first", "last"]
ENDS: st.SearchStrategy[At] = st.sampled_from(["first", "last"])
BOTH_WAYS = "temperature"
"""A regime without masks of its own, which compiles operators of the past and of the future."""


def file_of(text: str, header: str = "alphabet: a b") -> FormulaFile:
    """Return a formula file with this header and formula."""
    return parse_text(f"{header}\n{text}\n", "<text>")


def program_of(file: FormulaFile, regime: str = BOTH_WAYS, single_head: bool = False) -> Program:
    """Return the compiled program of a formula."""
    return lower(desugar(file), REGIMES[regime], single_head)


def difference(program: Program, formula: FormulaFile) -> Sequence[str] | None:
    """Return the shortest word on which a program and the automaton of a formula differ."""
    return compared(automaton_of_formula(formula), ProgramReader(program)).word


# ---- formulas that are compiled rightly ----


@settings(max_examples=100)
@given(formulas("abc", 3), ENDS, st.sampled_from([BOTH_WAYS, "position"]), st.booleans())
def test_no_random_formula_has_a_difference(formula: ast.Formula, at: At, regime: str, single_head: bool) -> None:
    file = FormulaFile(("a", "b", "c"), formula, at=at)
    found = second_proof("f", program_of(file, regime, single_head), file)
    assert found.made or any(limit in str(found.reason) for limit in ("guessed", "steps"))


@given(formulas("ab", 3, future=False), st.sampled_from(["causal-temperature", "causal-position"]))
def test_past_formulas_in_regimes_without_the_length(formula: ast.Formula, regime: str) -> None:
    file = FormulaFile(("a", "b"), formula)
    assert second_proof("f", program_of(file, regime), file).made


@pytest.mark.parametrize(
    ("text", "header", "states"),
    [
        ("a S b", "alphabet: a b c", 2),  # true or false now
        ("MOD(3, 1) & a", "alphabet: a b", 4),  # the position modulo 3, and the answer at positions 3k + 1
        ("EVEN(len) & F a", "alphabet: a b\nat: first", 4),  # parity of the length, and whether a came
        ("G (request -> F grant)", "props: request grant\nat: first", 2),  # an open request or none
        ("F[1,2] a", "alphabet: a b\nat: first", 5),  # 0, 1 or 2 symbols read and undecided, accepted, rejected
        ("X[2] a", "alphabet: a b\nat: first", 5),  # 0, 1 or 2 symbols read and undecided, accepted, rejected
    ],
)
def test_kinds_of_formulas(text: str, header: str, states: int) -> None:
    found = second_proof("f", program_of(file := file_of(text, header)), file)
    assert found.made, found.reason
    assert found.states == states


# ---- what is not read ----


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#L[a] >= 2", "counts"),
        ("#L[a] mod 2 = 0", "the formula counts"),
        ("PRIME", "congruence"),
        ("pos >= 3", "counts"),
        ("MOD(25, 1)", "period"),
    ],
)
def test_formulas_without_a_second_proof(text: str, reason: str) -> None:
    file = file_of(text)
    found = second_proof("f", program_of(file), file)
    assert not found.made
    assert reason in str(found.reason)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_of("H(a -> F b) & O(b & X a)")
    program = program_of(file)
    assert second_proof("f", program, file).made
    for module, name, reason in [
        (comparing, "MOST_MOVES", "steps"),
        (comparing, "MOST_LETTERS", "letters"),
        (by_automata, "MOST_GUESSED", "guessed"),
        (by_automata, "MOST_STEPS", "steps"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(module, name, 0)
            assert reason in str(second_proof("f", program, replace(file)).reason)


# ---- faults in the compiled program ----


def head_changed(program: Program, name: str, **changes: Any) -> Program:
    """Return a program with one head changed."""
    layers = tuple(
        replace(layer, heads=tuple(replace(head, **changes) if head.name == name else head for head in layer.heads))
        for layer in program.layers
    )
    return replace(program, layers=layers)


def test_a_fault_in_a_head_is_found() -> None:
    # For the nearest a or b the head of a S b reads [b]. If it selects by b alone, it finds the b of b c, where c ends
    # what a would have kept.
    file = file_of("a S b", "alphabet: a b c")
    program = program_of(file)
    assert difference(program, file) is None
    (head,) = program.heads
    assert difference(head_changed(program, head.name, select=head.value), file) == ("b", "c")
    # It reads [not b]: every word of one symbol has the wrong answer; a is the first.
    opposite = ((head.out, Affine.constant(1) - head.value),)
    assert difference(head_changed(program, head.name, values=opposite), file) == ("a",)


def test_a_fault_in_a_unit_is_found() -> None:
    # The clip of Y a at i = 1 is held back by the marker; the two clips without it read the symbol itself there.
    file = file_of("Y a")
    program = program_of(file)
    last = program.layers[-1]
    units = tuple(
        replace(unit, pre=Affine.of([term for term in unit.pre.terms if term[0] != "first"])) for unit in last.units
    )
    assert difference(replace(program, layers=(*program.layers[:-1], replace(last, units=units))), file) == ("a",)


@settings(max_examples=20)
@given(formulas("ab", 2), st.data())
def test_programs_are_read_as_exact_hard_attention_runs_them(formula: ast.Formula, data: st.DataObject) -> None:
    """A program of another formula: the comparison finds a word iff hard attention and the oracle differ on one. Two
    formulas of depth 2 that agree on all words of length at most 6 may differ later; then nothing is claimed."""
    other = data.draw(formulas("ab", 2))
    file, program = FormulaFile(("a", "b"), formula), program_of(FormulaFile(("a", "b"), other))
    oracle, words = Oracle(file), all_words("ab", 6)
    wrong = []
    for n in range(1, 7):
        some = [word for word in words if len(word) == n]
        runs = hard_runs(program, some)
        wrong += [word for word, run in zip(some, runs, strict=True) if run.accepted != oracle.accepts(word)]
    try:
        found = difference(program, file)
    except NotCompared:
        return
    if wrong:
        assert found is not None
        assert len(found) == len(wrong[0])
        assert found in wrong
    else:
        assert found is None or len(found) > 6


def test_a_head_that_is_not_read_is_refused() -> None:
    file = file_of("a S b")
    program = program_of(file)
    with pytest.raises(NotCompared, match="nearest selected"):
        ProgramReader(head_changed(program, program.heads[0].name, weighting=Weighting.LEFTMOST))
    with pytest.raises(NotCompared, match="mean"):
        ProgramReader(program_of(file_of("#L[a] >= 1 & #L[b] >= #L[a]")))


# ---- faults in the automaton, and in the core language ----


def test_a_fault_in_a_machine_is_a_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_of("Y a")
    program = program_of(file)
    monkeypatch.setattr(tracks, "_yesterday", lambda diagrams, arg: tracks._since(diagrams, arg, arg))
    with pytest.raises(
        Contradiction, match=r"the formula as written and the minimal automaton .* differ on the word a"
    ):
        second_proof("f", program, file)


def test_a_fault_in_the_core_language_is_a_contradiction() -> None:
    # Program and automaton of another formula agree; the text does not.
    file, other = file_of("a S b"), file_of("a T b")
    program, automaton = program_of(other), automaton_of_formula(other)
    assert compared(automaton, ProgramReader(program)).word is None
    # a is in neither, b in both. a T b wants b at each position back to the last a & b, or to the first: a b is only in
    # a S b.
    assert compared(automaton, TextReader(file)).word == ("a", "b")


@given(formulas("ab", 3), formulas("ab", 2), ENDS)
def test_texts_are_read_as_the_oracle_reads_them(formula: ast.Formula, other: ast.Formula, at: At) -> None:
    file = FormulaFile(("a", "b"), formula, at=at)
    automaton: Automaton = automaton_of_formula(FormulaFile(("a", "b"), other))
    try:
        found = compared(automaton, TextReader(file)).word
    except NotCompared:
        return
    oracle = Oracle(file)
    wrong = next((word for word in all_words("ab", 6) if automaton.accepts(word) != oracle.accepts(word)), None)
    if wrong is None:
        assert found is None or len(found) > 6
    else:
        assert found is not None
        assert len(found) == len(wrong)
        assert automaton.accepts(found) != oracle.accepts(found)
