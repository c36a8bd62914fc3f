"""Tests of the automata of formulas: against the oracle on all short words, and minimal."""

from itertools import pairwise, product
from typing import Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hardsim.lang import ast
from hardsim.lang.automata import lettered
from hardsim.lang.automata import of_formula as module
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.of_formula import AutomatonTooSlow, NoAutomaton, automaton_of_formula
from hardsim.lang.semantics import Oracle
from hardsim.lang.valuations import Valuations
from tests.support.conformance import ROWS, Row
from tests.support.counting_strategies import counting_formulas
from tests.support.language import FormulaFile, parse_text
from tests.support.strategies import all_words, formulas

At = Literal["first", "last"]
ENDS = st.sampled_from(["first", "last"])


def file_of(text: str, header: str = "alphabet: a b") -> FormulaFile:
    """Return a formula file with this header and formula."""
    return parse_text(f"{header}\n{text}\n", "<text>")


def states(text: str, header: str = "alphabet: a b") -> int:
    """Return the number of states of a formula's automaton."""
    return len(automaton_of_formula(file_of(text, header)).moves)


def is_minimal(automaton: Automaton) -> bool:
    """Return True if every state is reached and no two states have the same answers for all words to append.

    The definition, by a fixed point over pairs of states; the first state's own answer (the empty word) is left open.
    """
    size = len(automaton.moves)
    reached, waiting = {0}, [0]
    while waiting:
        for target in automaton.moves[waiting.pop()]:
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    entered = {target for row in automaton.moves for target in row}
    different = {
        (one, two)
        for one, two in product(range(size), repeat=2)
        if (one in automaton.accepting) != (two in automaton.accepting) and {one, two} <= entered
    }
    while True:
        more = {
            (one, two)
            for one, two in product(range(size), repeat=2)
            if any(pair in different for pair in zip(automaton.moves[one], automaton.moves[two], strict=True))
        }
        if more <= different:
            return len(reached) == size and all(
                (one, two) in different for one, two in product(range(size), repeat=2) if one != two
            )
        different |= more


def require_right(file: FormulaFile, longest: int) -> None:
    """Require that a formula's automaton is minimal, and right on every word of length 1 to `longest`."""
    automaton, oracle = automaton_of_formula(file), Oracle(file)
    for word in all_words(file.alphabet, longest):
        assert automaton.accepts(word) == oracle.accepts(word), word
    assert is_minimal(automaton)


# ---- against the oracle ----


@given(formulas("abc", 3), ENDS)
def test_past_future_and_mixed_formulas(formula: ast.Formula, at: At) -> None:
    require_right(FormulaFile(("a", "b", "c"), formula, at=at), 5)


@given(counting_formulas("ab"), ENDS)
def test_counts(formula: ast.Formula, at: At) -> None:
    """Where a formula that counts has an automaton, it is right: congruences, and sums that only grow."""
    try:
        require_right(FormulaFile(("a", "b"), formula, at=at), 8)
    except NoAutomaton:
        assume(False)


@given(formulas("pqr", 2), ENDS, st.sampled_from(["", "one-of: p q\n", "at-most-one: q r\n"]))
def test_propositions(formula: ast.Formula, at: At, constraint: str) -> None:
    head = parse_text(f"props: p q r\n{constraint}true\n", "<text>")
    file = FormulaFile(head.alphabet, formula, at=at)
    assert isinstance(file.alphabet, Valuations)
    require_right(file, 3)


@pytest.mark.slow
@given(formulas("ab", 5), ENDS)
@settings(max_examples=2_000, deadline=None)
def test_deeper_formulas(formula: ast.Formula, at: At) -> None:
    require_right(FormulaFile(("a", "b"), formula, at=at), 8)


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_published_formulas(row: Row) -> None:
    """Answers by MONA and others, at both positions."""
    for at in ("first", "last"):
        automaton = automaton_of_formula(row.file(at))
        answers = row.answers(at, 6)
        assert {word: automaton.accepts(word) for word in answers} == answers


BOUNDED = ["F[1,3] a", "G[2,4] a", "a U[1,2] b", "O[1,2] a", "H[0,2] b", "a S[2,3] b", "X[3] a", "WX[2] a", "Y[2] b"]


@pytest.mark.parametrize("text", BOUNDED)
@pytest.mark.parametrize("at", ["first", "last"])
def test_bounded_operators(text: str, at: At) -> None:
    require_right(file_of(text, f"alphabet: a b\nat: {at}"), 8)


SUMS = [
    "#L[a] >= 2", "#R[a] = 1", "#[a] < 3", "#L[a] + #L[b] > 3", "2 * #L[a] + #R[b] >= 4", "#[a] + #L[b] <= 4",
    "pos >= len - 2", "#[a] - #L[a] <= 1", "F (#R[b] = 2 & a)", "O (#L[a] = 2 & X b)", "#[a] mod 3 = 1",
    "#R[a] mod 2 = 0", "O ((2 * #R[a] + 1) mod 3 = 0)", "EVEN(#[a])", "MOD(3, 1)", "ODD(len)", "F (EVEN & a)",
]  # fmt: skip


@pytest.mark.parametrize("text", SUMS)
@pytest.mark.parametrize("at", ["first", "last"])
def test_sums_that_only_grow(text: str, at: At) -> None:
    require_right(file_of(text, f"alphabet: a b\nat: {at}"), 8)


# ---- sizes ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # words that end in a: the last symbol is all that counts
        ("a", 2),
        # a since b: true after b, and as long as a follows
        ("a S b", 2),
        # the number of b modulo 3
        ("#[b] mod 3 = 0", 3),
        # the third symbol from the end: the last three symbols, with !a for those that do not exist
        ("Y Y a", 8),
        # every position is an a, or not: with a dead state; the first state may be the accepting one
        ("H a", 2),
        ("true", 1),
        ("false", 1),
    ],
)
def test_sizes_by_hand(text: str, expected: int) -> None:
    assert states(text) == expected


def test_twenty_constraints_on_twenty_activities() -> None:
    """One activity at a time, as in logs: a response to each, which must be waited for one by one. The states are the
    sets of the nine activities that are waited for."""
    names = [f"p{k}" for k in range(10)]
    header = f"props: {' '.join(names)}\none-of: {' '.join(names)}\nat: first"
    chains = [f"G ({one} -> F {two})" for one, two in pairwise(names)]
    found = automaton_of_formula(file_of(" & ".join(chains), header))
    assert len(found.letters.firsts) == 10
    assert found.accepts(["{p3}", "{p9}", "{p5}", "{p4}", "{p5}", "{p6}", "{p7}", "{p8}", "{p9}"])
    assert not found.accepts(["{p3}", "{p9}"])


@given(st.lists(formulas("ab", 2), min_size=3, max_size=5), st.sampled_from(["&", "|"]), ENDS)
def test_conjunctions_and_disjunctions(parts: list[ast.Formula], operator: Literal["&", "|"], at: At) -> None:
    """They are made from the automata of their parts."""
    half = len(parts) // 2
    nested = ast.Nary(operator, (*parts[:half], ast.Nary(operator, tuple(parts[half:]))))
    require_right(FormulaFile(("a", "b"), nested, at=at), 6)


def test_no_sets_are_listed() -> None:
    """60 propositions have 10^18 sets; the formula tells nine classes of them apart, with two of them at a time."""
    names = [f"p{k}" for k in range(60)]
    found = automaton_of_formula(file_of("(p0 S p1) & O p59", f"props: {' '.join(names)}"))
    assert sum(found.letters.sizes) == 2**60
    assert found.accepts(["{p1,p59}", "{p0,p7}"])
    assert not found.accepts(["{p1,p59}", "{p7}"])
    assert found.count(1) == 2**58


# ---- refusals ----


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#L[a] > #L[b]", r"no automaton of '#L\[a\] > #L\[b\]': it compares counts that can both grow"),
        ("a S PRIME", "no automaton of 'PRIME': PRIME is not among the predicates that it covers"),
        ("#[a] > 20000", "a count is compared with a number above 10,000"),
        ("#[a] mod 20000 = 1", "a modulus above 10,000"),
        ("PRIME(#[a] + #L[b])", "this formula is not compiled: PRIME of a sum"),
    ],
)
def test_what_has_no_automaton_is_named(text: str, message: str) -> None:
    with pytest.raises(NoAutomaton, match=message):
        states(text)


def test_too_large_an_automaton_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tenth symbol from the end: 1,024 states."""
    monkeypatch.setattr(module, "MAX_STATES", 500)
    with pytest.raises(NoAutomaton, match="would be too large: over 500 states before it is minimised"):
        states("Y[10] a")
    with pytest.raises(NoAutomaton, match="would be too large: over 500 states before it is minimised"):
        states("F (a & X[9] last)", "alphabet: a b\nat: first")
    monkeypatch.setattr(module, "MAX_STATES", 10_000)
    monkeypatch.setattr(lettered, "MOST_ENTRIES", 1_000)
    with pytest.raises(NoAutomaton, match="it has 1,024 states and over 1 letters"):
        states("Y[9] a")
    monkeypatch.setattr(lettered, "MOST_ENTRIES", 10_000_000)
    with pytest.raises(AutomatonTooSlow, match="would take too many steps"):
        automaton_of_formula(file_of("Y[9] a", "alphabet: a b"), 100)
    monkeypatch.setattr(module, "MOST_HELD", 100)
    with pytest.raises(NoAutomaton, match=r"of 1[0-9][0-9] pairs"):
        states("F (a & X[9] b)", "alphabet: a b\nat: first")


def test_too_large_a_conjunction_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fourth symbol from the end is a, or b: the states of one are the last four symbols, told apart by a alone;
    those of both are 3^4 and those before."""
    assert states("Y[3] a & Y[3] a", "alphabet: a b c") == 16
    monkeypatch.setattr(module, "MAX_STATES", 60)
    with pytest.raises(NoAutomaton, match="would be too large: over 60 states before it is minimised"):
        states("Y[3] a | Y[3] b", "alphabet: a b c")
