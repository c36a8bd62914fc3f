"""Tests of equal alphabets of sets that are written differently; comparisons over them agree with brute force."""

import re
from itertools import chain, combinations, permutations, product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hardsim.lang.valuations import Alphabet, Exclusion, Numbering, Valuations, members_of, same_spelling, same_symbols
from hardsim.measuring.equiv import compare
from hardsim.targets.inputs.formula import of_formula
from hardsim.targets.semantics import Members, Semantics
from tests.cli.conftest import written
from tests.lang.regex.test_sets import WORDS, over_sets, patterns, word_of
from tests.support.check import CheckOptions, ModelOptions, Verdict, check_with_proof, read_input
from tests.support.language import InputError, parse_text

NAMES = ("p", "q", "r")
HEADERS = ("props: p q", "props: q p", "alphabet: {} {p} {q} {p,q}", "alphabet: {q,p} {q} {} {p}")
"""Headers that declare the same alphabet, in each syntax."""
FORMULAS = {"p & q": ".*d", "H p": "[bd]+", "O(q & Y p)": ".*[bd][cd].*", "Y(p & !q) | q": ".*(b.|[cd])"}
"""Formulas read at the last position, and the equivalent patterns over letters for sets."""

exclusions = st.builds(
    Exclusion,
    st.sampled_from(["one-of", "at-most-one"]),
    st.permutations(NAMES).flatmap(lambda names: st.integers(2, 3).map(lambda size: tuple(names[:size]))),
)


@st.composite
def alphabets(draw: st.DrawFn) -> Alphabet:
    """Draw three propositions in some order with some constraints, or the list of their sets in some spelling."""
    constraints = draw(st.lists(exclusions, max_size=3))
    names = draw(st.permutations(NAMES))
    sets = [some for some in subsets() if all(one.allows(some) for one in constraints)]
    assume(sets)
    if draw(st.booleans()):
        return Valuations(names, constraints)
    order = draw(st.permutations(sets))
    return tuple("{" + ",".join(draw(st.permutations(sorted(some)))) + "}" for some in order)


def subsets() -> list[frozenset[str]]:
    """Return all sets of three propositions."""
    return [frozenset(some) for size in range(4) for some in combinations(NAMES, size)]


def symbols_of(alphabet: Alphabet) -> set[frozenset[str]]:
    """Return the sets that are the symbols of an alphabet."""
    return {frozenset(members_of(symbol)) for symbol in alphabet}


@given(alphabets(), alphabets())
def test_alphabets_are_the_same_if_they_have_the_same_sets(one: Alphabet, other: Alphabet) -> None:
    assert same_symbols(one, other) == (symbols_of(one) == symbols_of(other))
    if same_symbols(one, other):
        assert {*one} == {*other} or not same_spelling(one, other)
    if isinstance(one, Valuations) and isinstance(other, Valuations):
        assert one.within(other) == (symbols_of(one) <= symbols_of(other))


@given(alphabets())
def test_a_symbol_has_its_number_in_whatever_order_its_propositions_are(alphabet: Alphabet) -> None:
    numbers, listed = Numbering(alphabet), list(alphabet)
    for some in subsets():
        for names in permutations(some):
            symbol = "{" + ",".join(names) + "}"
            if some in symbols_of(alphabet):
                assert frozenset(members_of(listed[numbers[symbol]])) == some
                assert numbers.own(symbol) == listed[numbers[symbol]]
            else:
                with pytest.raises(KeyError):
                    numbers[symbol]
    for wrong in ("{s}", "xpx", "xx", "p", "", "{p,,q}"):
        with pytest.raises(KeyError):
            numbers[wrong]


def regex(path: Path, name: str, header: str, expression: str) -> Semantics:
    """Return the semantics of a regular expression."""
    return read_input(str(written(path / name, f"{header}\n{expression}\n"))).semantics()


def first_apart(one: str, other: str, alphabet: Alphabet) -> tuple[str, ...] | None:
    """Return the first word that only one of two patterns matches, by length and then by the order of the alphabet."""
    first, second, numbers = re.compile(one), re.compile(other), Numbering(alphabet)
    apart = [word for word in WORDS if bool(first.fullmatch(word)) != bool(second.fullmatch(word))]
    words = [tuple(map(numbers.own, word_of(word))) for word in apart if len(word) == len(apart[0])]
    return min(words, key=lambda word: [numbers[symbol] for symbol in word], default=None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(patterns, patterns, st.sampled_from(HEADERS), st.sampled_from(HEADERS), st.booleans())
def test_expressions_are_compared_over_alphabets_written_differently(
    tmp_path: Path, one: str, other: str, left: str, right: str, backwards: bool
) -> None:
    a, b = (
        regex(tmp_path, "a.re", left, over_sets(one, backwards)),
        regex(tmp_path, "b.re", right, over_sets(other, False)),
    )
    result = compare(a, b, CheckOptions())
    expected = first_apart(one, other, a.alphabet)
    if expected is not None:
        assert (result.verdict, result.word) == (Verdict.REFUTED, expected)
        assert (result.answer, result.other_answer) == (a.oracle(expected), not a.oracle(expected))
    else:
        assert result.word is None or len(result.word) > len(WORDS[-1])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    patterns, st.sampled_from(sorted(FORMULAS)), st.sampled_from(HEADERS[:2]), st.sampled_from(HEADERS), st.booleans()
)
def test_formulas_and_expressions_are_compared_over_alphabets_written_differently(
    tmp_path: Path, pattern: str, formula: str, left: str, right: str, swapped: bool
) -> None:
    said = of_formula(parse_text(f"{left}\n{formula}\n", "f.ltl"), "0" * 64).semantics()
    expression = regex(tmp_path, "e.re", right, over_sets(pattern, True))
    sides = (expression, said) if swapped else (said, expression)
    result = compare(*sides, CheckOptions(max_n=4))
    assert result.word == first_apart(pattern, FORMULAS[formula], sides[0].alphabet)
    assert result.verdict is (Verdict.CERTIFIED if result.word is None else Verdict.REFUTED)
    if result.word is None:
        python = re.compile(pattern)
        accepted = [sum(len(word) == n and bool(python.fullmatch(word)) for word in WORDS) for n in range(1, 5)]
        assert [(one.words, one.accepted) for one in result.lengths] == [
            (4**n, number) for n, number in enumerate(accepted, start=1)
        ]


@pytest.mark.parametrize(("left", "right"), list(product(HEADERS[:2], HEADERS)))
@pytest.mark.parametrize("formula", sorted(FORMULAS))
def test_what_is_compiled_is_checked_against_it(tmp_path: Path, formula: str, left: str, right: str) -> None:
    """The other file gives the expected answers, in its own spelling, and its examples are tried."""
    given = of_formula(parse_text(f"{left}\n{formula}\n", "f.ltl"), "0" * 64)
    subject = given.compile(ModelOptions())
    examples = [word for word in WORDS if re.fullmatch(FORMULAS[formula], word)][-2:]
    header = "".join(f"\naccept: {''.join(word_of(word, ('q', 'p')))}" for word in examples)
    expression = regex(tmp_path, "e.re", right + header, over_sets(FORMULAS[formula], True))
    held = expression.judging(subject)
    spelled = [word_of(word, ("q", "p") if left == "props: q p" else ("p", "q")) for word in examples]
    assert [word for word, _ in held.examples] == spelled
    answers = [bool(re.fullmatch(FORMULAS[formula], word)) for word in WORDS if len(word) == 3]
    words = [word_of(word, ("q", "p") if left == "props: q p" else ("p", "q")) for word in WORDS if len(word) == 3]
    assert held.answers(words) == answers
    result = check_with_proof(held, CheckOptions(max_n=3))
    assert (result.verdict, result.mismatch) == (Verdict.CERTIFIED, None)
    assert [one.accepted for one in result.lengths][:3] == [
        sum(len(word) == n and bool(re.fullmatch(FORMULAS[formula], word)) for word in WORDS) for n in (1, 2, 3)
    ]


def test_constraints_that_say_the_same_are_the_same(tmp_path: Path) -> None:
    pairs = "at-most-one: r q\nat-most-one: p r\nat-most-one: p q"
    one = regex(tmp_path, "a.re", "props: p q r\nat-most-one: p q r", ".*{p}[^{q}]")
    two = regex(tmp_path, "b.re", f"props: r q p\n{pairs}", ".*{p}[{r}{p}{}]")
    three = regex(tmp_path, "c.re", f"props: r q p\n{pairs}", ".*{p}[{r}{p}]")
    assert compare(one, two, CheckOptions()).verdict is Verdict.PROVED
    assert compare(two, three, CheckOptions()).word == ("{p}", "{}")
    other = regex(tmp_path, "d.re", "props: r q p", ".*")
    with pytest.raises(InputError, match="different alphabets"):
        compare(one, other, CheckOptions())


def test_every_order_of_a_word(tmp_path: Path) -> None:
    """Words that are chosen have the spelling of the first file."""
    spelled = regex(tmp_path, "a.re", "props: q p", "({p,q}{p}){8}").over(("{p,q}", "{p}", "{q}", "{}"))
    known = {*spelled.alphabet}
    assert isinstance(spelled.oracle, Members)
    assert {*chain.from_iterable(spelled.oracle.automaton.words(16))} <= known
    assert spelled.oracle(("{p,q}", "{p}") * 8)
    assert spelled.over(spelled.alphabet) is spelled
