"""Tests of the comparison of two files: automata at every length, other files on the words tried."""

import re
from itertools import product
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardsim
from hardsim.lang.ast import Formula, Nary
from hardsim.lang.automata.of_formula import NoAutomaton
from hardsim.measuring.equiv import EquivResult, compare
from hardsim.targets.inputs.formula import of_formula
from hardsim.targets.semantics import Semantics
from tests.cli.conftest import interrupt, written
from tests.support.check import CheckOptions, Verdict, read_input
from tests.support.language import FormulaFile, InputError, parse_expression, parse_text
from tests.support.strategies import formulas


def text_of(path: Path, name: str, text: str) -> Semantics:
    """Return the semantics of a file with this text."""
    return read_input(str(written(path / name, text))).semantics()


def regex(path: Path, expression: str, alphabet: str = "a b", header: str = "") -> Semantics:
    """Return the semantics of a regular expression."""
    return text_of(path, f"{len([*path.iterdir()])}.re", f"alphabet: {alphabet}\n{header}{expression}\n")


def formula(text: str, alphabet: str = "a b") -> Semantics:
    """Return the semantics of a formula."""
    return of_formula(parse_expression(text, alphabet), "0" * 64).semantics()


ALWAYS = "(#L[a] <= #L[b] | #L[a] > #L[b])"
"""A formula that is true on every word and has no automaton, so that words are tried. Its alphabet has a and b."""


def counting(text: str, alphabet: str = "a b") -> Semantics:
    """Return the semantics of a formula, with an equivalent one that has no automaton."""
    first, second = alphabet.split()[:2]
    always = re.sub(r"[ab]", lambda found: {"a": first, "b": second}[found[0]], ALWAYS)
    return formula(f"({text}) & {always}", alphabet)


def never(alphabet: str = "a b") -> Semantics:
    """Return the semantics of a formula that is false on every word and has no automaton."""
    return formula("#L[a] < #L[b] & #L[b] < #L[a]", alphabet)


def both(one: Formula) -> Formula:
    """Return the conjunction of a formula over a, b and c with ALWAYS."""
    return Nary("&", (one, parse_expression(ALWAYS, "a b c").formula))


def tried(result: EquivResult) -> list[tuple[int, int, bool]]:
    """Return for each length: the length, the number of words tried, and whether these are all words."""
    return [(one.n, one.words, one.exhaustive) for one in result.lengths]


# ---- automata ----


def test_the_empty_word_makes_no_difference(tmp_path: Path) -> None:
    assert compare(regex(tmp_path, "a*"), regex(tmp_path, "a+"), CheckOptions()).verdict is Verdict.PROVED


def test_two_expressions_differ_first_where_they_do(tmp_path: Path) -> None:
    """Only one of the expressions contains a{30}; it is found although --max-n is 2."""
    result = compare(regex(tmp_path, "a*"), regex(tmp_path, "a{0,29}|a{31,}"), CheckOptions(max_n=2))
    assert (result.verdict, result.word) == (Verdict.REFUTED, ("a",) * 30)
    assert (result.answer, result.other_answer) == (True, False)
    assert result.reach == "they differ on a word of length 30, the shortest"


At = Literal["first", "last"]
Way = Literal["|", "&"] | None
ENDS = st.sampled_from(["first", "last"])
WAYS: st.SearchStrategy[Way] = st.sampled_from([None, "|", "&"])
"""Connectives that make the second formula of a pair from both, such that many pairs are included or equal."""


def require_right(one: Formula, other: Formula, way: Way, at: At, longest: int) -> None:
    """Compare two formulas over a and b in both relations, and require that the results are right on every word up to
    a length, by the definition of the operators."""
    second = Nary(way, (one, other)) if way else other
    left, right = (of_formula(FormulaFile(("a", "b"), each, at=at), "0" * 64).semantics() for each in (one, second))
    words = [word for n in range(1, longest + 1) for word in product("ab", repeat=n)]
    for included in (False, True):
        result = compare(left, right, CheckOptions(), included=included)

        def fails(word: tuple[str, ...], included: bool = included) -> bool:
            one, other = bool(left.oracle(word)), bool(right.oracle(word))
            return one > other if included else one != other

        failing = next(filter(fails, words), None)
        if failing is not None:
            assert (result.verdict, result.word) == (Verdict.REFUTED, failing)
        elif result.verdict is Verdict.REFUTED:
            assert result.word is not None
            assert len(result.word) > longest
            assert fails(result.word)
        else:
            assert result.verdict is Verdict.PROVED


@given(formulas("ab", 3), formulas("ab", 3), WAYS, ENDS)
def test_pairs_of_formulas(one: Formula, other: Formula, way: Way, at: At) -> None:
    require_right(one, other, way, at, 5)


@pytest.mark.slow
@given(formulas("ab", 4), formulas("ab", 4), WAYS, ENDS)
@settings(max_examples=500, deadline=None)
def test_more_pairs_of_formulas(one: Formula, other: Formula, way: Way, at: At) -> None:
    require_right(one, other, way, at, 7)


def test_inclusion_of_expressions(tmp_path: Path) -> None:
    """The multiples of 6 are multiples of 2; the least multiple of 2 that is none of 6 is 2."""
    even, sixth = regex(tmp_path, "(aa)*", "a"), regex(tmp_path, "(a{6})*", "a")
    assert compare(sixth, even, CheckOptions(), included=True).verdict is Verdict.PROVED
    result = compare(even, sixth, CheckOptions(), included=True)
    assert (result.verdict, result.word, result.answer, result.other_answer) == (
        Verdict.REFUTED, ("a",) * 2, True, False
    )  # fmt: skip
    assert result.reach == "only the first accepts a word of length 2, the shortest"


def test_too_many_pairs_of_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of a modulo 7 and 11: after three words two more pairs exist than are allowed."""
    monkeypatch.setattr("hardsim.lang.automata.automaton.MAX_PAIRS", 4)
    seven, eleven = regex(tmp_path, "(a{7})*", "a"), regex(tmp_path, "(a{11})*", "a")
    for included, said in ((False, "the languages agree"), (True, "the first language is within the second")):
        result = compare(seven, eleven, CheckOptions(), included=included)
        assert result.verdict is Verdict.UNDECIDED
        assert result.reach.startswith(f"{said} up to length 4, after which more than 4 pairs of states would")


def test_a_language_without_words(tmp_path: Path) -> None:
    """The empty word alone is no word of a file."""
    none, other = regex(tmp_path, "a{0}"), formula("a & b")
    assert compare(none, other, CheckOptions()).accepts_nothing
    assert compare(none, regex(tmp_path, "a"), CheckOptions(), included=True).accepts_nothing
    assert not compare(none, regex(tmp_path, "a"), CheckOptions()).accepts_nothing
    assert not compare(regex(tmp_path, "a"), none, CheckOptions(), included=True).accepts_nothing
    # Words alone do not show it.
    assert not compare(never(), never(), CheckOptions()).accepts_nothing


# ---- words ----


def test_inclusion_on_words() -> None:
    """Words of a alone and of b alone; those of at least three symbols; all with an equivalent that counts."""
    within = compare(counting("H a & len > 2"), counting("!O b"), CheckOptions(max_n=4), included=True)
    assert within.verdict is Verdict.CERTIFIED
    assert within.reach.startswith(
        "the other accepts what the first accepts, on all 30 words up to length 4; longer words are open: "
    )
    beyond = compare(counting("!O b"), counting("H a & len > 2"), CheckOptions(max_n=4), included=True)
    assert (beyond.verdict, beyond.word) == (Verdict.REFUTED, ("a",))
    assert beyond.reach == "only the first accepts a word of length 1, the shortest"


@given(formulas("abc", 2), formulas("abc", 2))
def test_formulas_differ_on_the_first_word_on_which_they_do(one: Formula, other: Formula) -> None:
    left, right = (of_formula(FormulaFile(("a", "b", "c"), both(each)), "0" * 64).semantics() for each in (one, other))
    result = compare(left, right, CheckOptions(max_n=4))
    words = [word for n in range(1, 5) for word in product("abc", repeat=n)]
    differing = [word for word in words if left.oracle(word) != right.oracle(word)]
    assert result.word == (differing[0] if differing else None)
    assert result.verdict is (Verdict.REFUTED if differing else Verdict.CERTIFIED)
    assert ("the shortest" if differing else "all 120 words up to length 4; longer words are open: ") in result.reach


def test_the_order_of_the_alphabets_does_not_matter() -> None:
    """The first difference follows the order of the first file's alphabet."""
    assert compare(counting("O (first & b)"), counting("O (first & b)", "b a"), CheckOptions()).same
    assert compare(counting("a", "b a"), counting("b", "a b"), CheckOptions()).word == ("b",)


def test_every_word_is_tried_as_far_as_they_are_few() -> None:
    result = compare(counting("b"), counting("b"), CheckOptions(max_n=10, exhaustive=2**6, samples=3))
    assert [whole for *_, whole in tried(result)] == [True] * 6 + [False] * 4
    assert result.reach.startswith("they are the same on all 126 words up to length 6 and ")
    assert f" of {2**7 + 2**8 + 2**9 + 2**10:,} words of lengths 7 to 10; longer words are open: " in result.reach


def test_a_difference_of_samples_says_how_far_every_word_was_tried() -> None:
    left, right = counting("b"), counting("b & len < 12")
    result = compare(left, right, CheckOptions(max_n=14, exhaustive=2**6))
    assert result.word is not None
    assert len(result.word) == 12
    assert result.reach.endswith("length 12, the shortest found: every word was tried up to length 6")
    many = " ".join(f"s{k}" for k in range(99))
    none = compare(counting("true", many), counting("len < 3", many), CheckOptions(exhaustive=0, samples=0))
    assert none.reach.endswith("the shortest found: no length was tried in full")
    nearest = compare(left, counting("b & len < 7"), CheckOptions(max_n=14, exhaustive=2**6))
    assert nearest.reach == "they differ on a word of length 7, the shortest"


def test_members_of_an_expression_are_tried(tmp_path: Path) -> None:
    """The language has one word of a length among 4^40, which no random draw would find."""
    odd = regex(tmp_path, "(abca|dabb)*", "a b c d")
    result = compare(odd, never("a b c d"), CheckOptions(max_n=40, exhaustive=0, samples=1))
    assert result.word is not None
    assert len(result.word) == 4
    longer = regex(tmp_path, "(abcaddbc){5}", "a b c d")
    result = compare(never("a b c d"), longer, CheckOptions(max_n=40, exhaustive=10))
    assert result.word == tuple("abcaddbc" * 5)
    assert (result.answer, result.other_answer) == (False, True)


def test_examples_are_tried_however_long(tmp_path: Path) -> None:
    """The file's only word, ab repeated to length 20, is tried although --max-n is 3."""
    pinned = regex(tmp_path, "(ab){10}", header=f"accept: {'ab' * 10}\n")
    result = compare(never(), pinned, CheckOptions(max_n=3))
    assert result.word == tuple("ab" * 10)
    assert [one.n for one in result.lengths] == [1, 2, 3, 20]
    assert compare(pinned, counting("#[a] = 10 & len = 20"), CheckOptions(max_n=3)).reach.startswith(
        "they are the same on all 14 words up to length 3 and 1 pinned word of 20 symbols; longer words are open: "
    )


def test_the_words_depend_on_the_seed_alone() -> None:
    def words(seed: int) -> list[tuple[int, int]]:
        result = compare(counting("b"), counting("b"), CheckOptions(max_n=30, exhaustive=8, seed=seed))
        return [(one.words, one.accepted) for one in result.lengths]

    assert words(1) == words(1) != words(2)


# ---- refusals and interruptions ----


def test_a_long_alphabet_is_shortened() -> None:
    left, right = formula("true", " ".join(f"s{k}" for k in range(30))), formula("true")
    with pytest.raises(InputError, match=r"s19 \.\.\. \(30 symbols\); a b\n"):
        compare(left, right, CheckOptions())


def test_a_compiled_formula_is_refused(tmp_path: Path) -> None:
    hardsim.load("since").compile().save(tmp_path / "since.model.json")
    with pytest.raises(InputError, match="is compiled already"):
        read_input(str(tmp_path / "since.model.json")).semantics()


def test_nothing_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "hardsim.targets.semantics.Accepts.many")
    result = compare(counting("b"), counting("b"), CheckOptions())
    assert (result.verdict, result.reach, result.partial) == (Verdict.UNDECIDED, "no word was tried", True)


def test_progress_is_reported() -> None:
    message: list[tuple[int, int]] = []
    counting = hardsim.load("#L[a] >= #L[b]", "a b")
    counting.equiv(counting, max_n=3, progress=lambda *at: message.append(at))
    assert message == [(2, 14), (6, 14), (14, 14)]


def test_a_result_is_shown_in_a_line(tmp_path: Path) -> None:
    result = hardsim.load("ab_plus").equiv(written(tmp_path / "b.re", "alphabet: a b\nb\n"), max_n=2)
    assert result.summary == f"REFUTED ...{f'ab_plus, {tmp_path}/b.re'[-40:]}: {result.reach}: b"


# ---- conjunctions ----

RESPONSES = [f"G(p{k} -> F p{k + 5})" for k in range(5)]
"""Responses that do not share a proposition. The automaton of all has a state for each set of those that wait."""


def responses(*parts: str) -> Semantics:
    """Return the semantics of a conjunction over 10 propositions, read at the first position."""
    names = " ".join(f"p{k}" for k in range(10))
    text = f"props: {names}\nat: first\n{' & '.join(f'({part})' for part in parts)}\n"
    return of_formula(parse_text(text, "<text>"), "0" * 64).semantics()


def test_conjunctions_are_compared_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response that is written otherwise is the same; a part that is left out makes a larger language. The automata
    have more states than are allowed, 2^4 or 2^5."""
    monkeypatch.setattr("hardsim.lang.automata.of_formula.MAX_STATES", 15)
    options = CheckOptions(max_n=1, samples=1)
    whole = responses(*RESPONSES)
    turned = responses("!F(p0 & !F p5)", *reversed(RESPONSES[1:]))
    fewer = responses(*RESPONSES[:-1])
    with pytest.raises(NoAutomaton, match="over 15 states before it is minimised"):
        _ = fewer.automaton
    result = compare(whole, turned, options)
    assert result.verdict is Verdict.PROVED
    assert result.reach == (
        "they are the same on every word of every length: each part of the conjunction of either file follows from a "
        "part of the other, by their automata"
    )
    assert compare(whole, fewer, options, included=True).verdict is Verdict.PROVED
    # That a part is missing is no proof, and a word shows it: p4 without p9.
    assert compare(fewer, whole, options, included=True).verdict is not Verdict.PROVED
    assert compare(whole, fewer, options).verdict is not Verdict.PROVED


def test_a_part_without_an_automaton_proves_nothing() -> None:
    one = formula(f"a S b & {ALWAYS}")
    assert compare(one, formula(f"{ALWAYS} & a S b"), CheckOptions(max_n=4)).verdict is Verdict.CERTIFIED


def test_agreement_on_words_that_neither_accepts_says_so() -> None:
    """Neither formula is true before length 10; they differ there."""
    one, other = (counting(f"len >= 10 & {symbol}") for symbol in "ab")
    result = compare(one, other, CheckOptions(max_n=4))
    assert result.reach.startswith("they are the same on all 30 words up to length 4, of which each accepts none; ")
    within = compare(one, other, CheckOptions(max_n=4), included=True)
    assert ", of which the first accepts none; longer words are open: " in within.reach
