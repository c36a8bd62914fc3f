"""Tests of Python functions as references: open positions, values that no output has, and words on which they fail.

The networks compute the share of a's so far, so that counting gives every expected answer.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import hardsim
from hardsim.campaign import failures
from hardsim.network.dense import Token
from tests.support.check import Verdict
from tests.support.external import mean_of_a, model_of
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Readout

ABOVE = Fraction(-1, 2) + Fraction(1, 1000)
Word = tuple[Any, ...]


def labels(at: Any = "each", outputs: tuple[Token, Token] = (0, 1), **more: Any) -> hardsim.Model:
    """Build a network with label 1 at each symbol up to which at least half of the symbols are a, else label 0."""
    network = replace(mean_of_a(outputs=outputs, readout=Readout(decide="argmax", at=at, **more)))
    bias = np.array([Fraction(0), ABOVE], dtype=object)
    return model_of(replace(network, unembedding=np.array([[0.0, 0.0], [0.0, 1.0]]), unembedding_bias=bias))


def label(word: Word) -> int:
    """Return the label at the end of a word."""
    return int(2 * word.count("a") >= len(word))


def every(word: Word) -> list[int]:
    """Return the label at each symbol of a word."""
    return [label(word[:end]) for end in range(1, len(word) + 1)]


class Tensor:
    """An array of a library other than numpy, which shares only this method with numpy."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def tolist(self) -> Any:
        """Return the values as a list."""
        return self.values


# ---- words and positions without an expected answer ----


def first_alone(marker: Any, kind: Callable[[list[Any]], Any] = list) -> Callable[[Word], Any]:
    """Return the label of the first symbol, with the marker at all other symbols."""
    return lambda word: kind([label(word[:1]), *[marker] * (len(word) - 1)])


@pytest.mark.parametrize(
    ("function", "unjudged"),
    [
        (first_alone(None), None),
        (first_alone(None, tuple), None),
        (first_alone(None, lambda row: np.array(row, dtype=object)), None),
        (first_alone(None, Tensor), None),
        (first_alone(0, lambda row: np.ma.array(row, mask=[i > 0 for i in range(len(row))])), None),
        (first_alone(-100), -100),
        (first_alone(-100, np.array), -100),
        (first_alone(-100.0, np.array), -100),
        (first_alone(np.int64(-100)), -100),
        (first_alone(-100), np.int8(-100)),
        (first_alone(nan), nan),
        (first_alone(np.float32(nan)), np.float64(nan)),
        (first_alone("-"), "-"),
        (first_alone(...), ...),
        (first_alone(frozenset()), frozenset()),
    ],
)
def test_positions_that_are_left_open_are_counted(function: Callable[[Word], Any], unjudged: Any) -> None:
    """Only the first symbol of each of the 2 + 4 + 8 words up to length 3 has an expected answer: 14 of 2 + 8 + 24
    positions.
    """
    found = labels().check(against=function, unjudged=unjudged, max_n=3)
    assert (found.verdict, found.positions_judged, found.positions_unjudged, found.words) == ("PROVED", 14, 20, 14)
    assert [(one.positions_judged, one.positions_unjudged) for one in found.judged] == [(2, 0), (4, 4), (8, 16)]
    data = found.to_dict()
    assert (data["positions_judged"], data["positions_unjudged"]) == (14, 20)
    assert data["judged"][2]["positions_unjudged"] == 16


@pytest.mark.parametrize("unjudged", [None, -100])
@pytest.mark.parametrize("whole", [True, False])
def test_a_word_without_a_judged_position_is_no_judged_word(unjudged: Any, whole: bool) -> None:
    def odd_lengths(word: Word) -> Any:
        return every(word) if len(word) % 2 else unjudged if whole else [unjudged] * len(word)

    found = labels().check(against=odd_lengths, unjudged=unjudged, max_n=3)
    assert [(one.words, one.unjudged) for one in found.judged] == [(2, 0), (0, 4), (8, 0)]
    assert (found.words, found.positions_judged, found.positions_unjudged) == (10, 26, 8)
    assert "all 10 judged words up to length 3" in found.reach


def test_a_single_value_judges_one_of_the_positions_that_are_read() -> None:
    each, last = (labels(at).check(against=label, max_n=2) for at in ("each", "last"))
    assert (each.positions_judged, each.positions_unjudged) == (6, 4)
    assert (last.positions_judged, last.positions_unjudged) == (6, 0)
    mixed = labels().check(against=lambda word: label(word) if word[0] == "a" else every(word), max_n=2)
    assert (mixed.verdict, mixed.positions_judged, mixed.positions_unjudged) == ("PROVED", 1 + 1 + 2 + 4, 2)


@pytest.mark.parametrize("nothing", [None, [], {}])
def test_where_nothing_is_judged_nothing_is_certified(nothing: Any) -> None:
    def reference(word: Word) -> Any:
        return [None] * len(word) if nothing == [] else {0: None} if nothing == {} else None

    model = labels() if nothing != {} else model_of(mean_of_a(outputs=(0,), readout=Readout()))
    found = model.check(against=reference, max_n=2)
    assert (found.verdict, found.words, found.positions_judged) == (Verdict.UNDECIDED, 0, 0)
    assert found.reach.endswith("no word was judged: the reference leaves 6 words open")


def test_a_marker_is_compared_by_type() -> None:
    """The marker 0 does not match False, and the marker 1 does not match True."""
    model = model_of(mean_of_a(ABOVE))
    truth = model.check(against=lambda word: label(word) == 1, unjudged=0, max_n=3)
    assert (truth.verdict, truth.words) == ("PROVED", 14)
    assert labels().check(against=every, unjudged="1", max_n=2).words == 6
    assert labels().check(against=every, unjudged=1, max_n=1).words == 1  # the answer 1, at a, matches the marker


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda word: None, {"unjudged": -100}, "on the word a: the function returned None, but "
         "unjudged=-100 marks what is not judged"),
        (lambda word: [None] * len(word), {"unjudged": -100}, "on the word a: the function returned None, but "
         "unjudged=-100 marks what is not judged"),
        (lambda word: {None}, {}, "on the word a: None marks what is not judged, and cannot be a member of a set"),
        (lambda word: {0, -1}, {"unjudged": -1}, "on the word a: -1 marks what is not judged, and cannot be a "
         "member of a set"),
        (lambda word: [[0]] * len(word), {}, "on the word a: a list by position contains a list"),
        (lambda word: np.zeros((len(word), 1)), {}, "on the word a: a list by position contains a list"),
        (lambda word: [nan] * len(word), {}, "on the word a: NaN is no output"),
        (lambda word: range(len(word)), {}, "on the word a: a value of type range is not an answer: range(0, 1)"),
        (lambda word: [0, 0], {}, "for the word a of 1 symbols the reference gives a list of 2"),
        (lambda word: [], {}, "for the word a of 1 symbols the reference gives a list of 0"),
        (lambda word: [None, None], {}, "for the word a of 1 symbols the reference gives a list of 2"),
        (every, {"unjudged": [0]}, "unjudged must be a single value, not a list"),
        ("since", {"unjudged": 0}, "unjudged is a value that a function may return, but against is not a function"),
        (None, {"unjudged": 0}, "unjudged is a value that a function may return, but against is not a function"),
    ],
)  # fmt: skip
def test_what_is_no_reference(function: Any, options: Any, message: str) -> None:
    error = raised(InputError, lambda: labels().check(against=function, max_n=1, **options))
    assert error.message == message


# ---- values that no output has ----


@pytest.mark.parametrize("engine", ["auto", "float64", "ball", "mpmath"])
@pytest.mark.parametrize(
    ("value", "message"),
    [(99, "99"), ("yes", "yes"), (-1, "-1"), (0.5, "0.5"), (np.int64(7), "7"), (inf, "inf"), ({7, 8}, "{7 8}")],
)
def test_a_value_that_no_output_has_is_a_mismatch(value: Any, message: str, engine: str) -> None:
    found = labels().check(against=lambda word: [value] * len(word), max_n=2, engine=engine)
    assert (found.verdict, found.mismatch is not None) == (Verdict.REFUTED, True)
    assert found.mismatch is not None
    wrong = found.mismatch.no_output
    assert wrong is not None
    assert (found.mismatch.word, found.mismatch.oracle, found.mismatch.soft) == (("a",), (message,), ("1",))
    assert (wrong.expected, wrong.position, wrong.possible, wrong.count) == (message, 1, ("0", "1"), 2)
    shown = f"no output is {message}, which is expected at position 1: the possible outputs are 0 1"
    assert shown in found.reach
    assert shown in repr(found)
    assert shown in found.mismatch.summary
    assert [(one.mismatches, one.margin) for one in found.judged] == [(2, None), (4, None)]
    assert found.to_dict()["mismatch"]["no_output"]["possible"] == ["0", "1"]


def test_the_position_is_that_of_the_first_value_that_no_output_has() -> None:
    found = labels().check(against=lambda word: [*every(word)[:2], *[5] * (len(word) - 2)], max_n=4)
    assert found.mismatch is not None
    assert found.mismatch.no_output is not None
    assert (len(found.mismatch.word), found.mismatch.no_output.position) == (3, 3)
    (one,) = labels().eval("aba", against=lambda word: [1, 5, 1]).words
    assert one.right is False
    assert one.no_output is not None
    assert one.no_output.position == 2
    single = labels("first").check(against=lambda word: 5, words=["ab"]).mismatch
    assert single is not None
    assert single.no_output is not None
    assert single.no_output.position == 1


def test_a_set_is_judged_by_those_of_its_members_that_are_outputs() -> None:
    assert labels().check(against=lambda word: [{one, 99} for one in every(word)], max_n=3).verdict == "PROVED"
    assert labels().check(against=lambda word: [{1 - one, 99} for one in every(word)], max_n=3).verdict == "REFUTED"


def test_what_takes_no_part_in_the_argmax_is_never_an_answer() -> None:
    found = labels(among=(1,)).check(against=every, max_n=2)
    assert found.mismatch is not None
    assert found.mismatch.no_output is not None
    assert (found.mismatch.word, found.mismatch.no_output.possible) == (("b",), ("1",))


@pytest.mark.parametrize("kind", [str, float, np.int8, bool])
def test_numbers_and_text_name_the_same_output_as_everywhere(kind: Callable[[int], Any]) -> None:
    found = labels().check(against=lambda word: list(map(kind, every(word))), max_n=2)
    assert found.verdict is Verdict.PROVED


@pytest.mark.parametrize("kind", [str, int, float, np.float32, np.int8, Fraction, Decimal])
def test_a_number_names_an_output_that_is_text(kind: Callable[[int], Any]) -> None:
    found = labels(outputs=("0", "1")).check(against=lambda word: list(map(kind, every(word))), max_n=2)
    assert found.verdict is Verdict.PROVED
    ordered = hardsim.load("sort")
    assert ordered.check(against=lambda word: [kind(int(one)) for one in sorted(word)], max_n=3).verdict == "CERTIFIED"


def test_text_with_an_output_for_each_symbol_is_no_single_output() -> None:
    texts = labels("each")
    message = raised(InputError, lambda: texts.check(against=lambda word: "".join(map(str, every(word))), max_n=2))
    assert message.message == "on the word aa: '11' is one text, and not one output for each symbol"
    # "23" is no sequence of outputs.
    assert texts.check(against=lambda word: "23", words=["ab"]).verdict is Verdict.REFUTED
    assert labels("last").check(against=lambda word: "11", words=["ab"]).verdict is Verdict.REFUTED


def test_a_list_by_position_says_nothing_of_a_token_after_the_word() -> None:
    model = labels("last", after=("a",))
    message = raised(InputError, lambda: model.check(against=lambda word: [1] * len(word), max_n=2))
    assert message.message == (
        "on the word b: the network is read at a after the word, and a list by position is about the symbols"
    )


@pytest.mark.parametrize("pooled", ["start", "mean"])
def test_a_list_by_position_says_nothing_of_one_answer_for_a_word(pooled: Any) -> None:
    model = model_of(mean_of_a(readout=Readout(pooled=pooled)))
    assert model.check(against=lambda word: True, max_n=2).verdict is Verdict.REFUTED
    message = raised(InputError, lambda: model.check(against=lambda word: [True] * len(word), max_n=2))
    assert message.message.endswith(
        "the network has one answer for a word, and a list by position is about the symbols"
    )


@pytest.mark.parametrize("value", [inf, 10**400, Decimal("inf"), Decimal("NaN"), 1j])
def test_a_number_beyond_float64_names_its_word(value: Any) -> None:
    model = model_of(mean_of_a(readout=Readout(decide="value", at="last", level=Fraction(1, 100))))
    error = raised(InputError, lambda: model.check(against=lambda word: value, max_n=1))
    assert error.message.startswith("on the word a: a number is expected, not ")
    with pytest.warns(hardsim.Remark, match="not checked: on the word a"):
        wrong = model.check(against=lambda word: value if word == ("a",) else 7, max_n=1)
    assert (wrong.verdict, wrong.mismatch is not None) == (Verdict.REFUTED, True)


def test_a_decimal_is_a_number() -> None:
    model = model_of(mean_of_a(readout=Readout(decide="value", at="last", level=Fraction(1, 100))))
    half = Decimal("0.5")
    assert model.check(against=lambda word: half if word == ("a",) else -half, max_n=1).verdict is Verdict.PROVED


def test_outputs_beyond_twenty_are_counted() -> None:
    network = mean_of_a(outputs=tuple(range(30)), readout=Readout(decide="argmax"))
    network = replace(network, unembedding=np.zeros((2, 30)), unembedding_bias=np.zeros(30))
    found = model_of(network).check(against=lambda word: 99, words=["a"]).mismatch
    assert found is not None
    assert found.no_output is not None
    assert found.no_output.summary.endswith("18 19 ... (30 in all)")


# ---- words on which the function fails ----


def failing(how: Any, bad: str, wrong: str = "") -> Callable[[Word], Any]:
    """Return the labels, except that one word fails and one is wrong."""

    def reference(word: Word) -> Any:
        if "".join(word) == bad:
            if isinstance(how, Exception):
                raise how
            return how
        return [1 - one for one in every(word)] if "".join(word) == wrong else every(word)

    return reference


class Hostile:
    """A value whose methods all raise an exception."""

    def fail(self, *_: Any) -> Any:
        """Raise an exception that no library raises."""
        raise LookupError("own")

    __repr__ = __eq__ = __len__ = __iter__ = fail
    __hash__ = fail


class Broken(Hostile):
    """A tensor that cannot be copied into memory."""

    tolist = Hostile.fail


def holding_itself() -> dict[str, Any]:
    """Return a mapping that contains itself."""
    found: dict[str, Any] = {}
    found["a"] = found
    return found


FAILURES = [[1], [1] * 9, object(), [None, object()], ZeroDivisionError("none"), KeyError("x"), InputError("own")]
HOSTILE = [Hostile(), [None, Hostile()], Broken(), holding_itself(), Decimal("sNaN"), 10**5000, [0, 10**5000]]
TRIED = [(how, "ab", wrong) for how in FAILURES for wrong in ("b", "aa", "bb", "abba")]
TRIED += [(how, "ab", "abba") for how in HOSTILE]


@pytest.mark.parametrize(("how", "bad", "wrong"), TRIED, ids=lambda value: type(value).__name__)
def test_a_word_that_fails_hides_no_mismatch(how: Any, bad: str, wrong: str) -> None:
    """The wrong word may come before or after the failing word, at its own length or another."""
    with pytest.warns(hardsim.Remark, match="not checked: .*(word ab|word .ab)"):
        found = labels().check(against=failing(how, bad, wrong), max_n=4)
    assert found.verdict is Verdict.REFUTED
    assert found.mismatch is not None
    assert "".join(found.mismatch.word) == wrong
    (error,) = found.errors
    assert (error.word, "ab" in error.message) == (("a", "b"), True)
    assert not next(one for one in found.judged if one.n == 2).exhaustive
    assert found.to_dict()["errors"][0]["word"] == ["a", "b"]


@pytest.mark.parametrize("each", [False, True])
def test_words_that_fail_in_a_search_hide_no_mismatch(each: bool) -> None:
    """Long words that begin with a fail, and words that begin with b are wrong; some of either kind are lists."""

    def reference(word: Word) -> Any:
        if len(word) < 6 or word[0] == "b":
            good = every(word) if each or word[-1] == "a" else label(word)
            return good if len(word) < 6 else [1 - one for one in every(word)] if each else 1 - label(word)
        return 1 / 0

    with pytest.warns(hardsim.Remark, match="not checked"):
        found = labels().check(against=reference, max_n=6, exhaustive=32, samples=20)
    assert (found.verdict, len(found.errors)) == (Verdict.REFUTED, 10)
    assert found.mismatch is not None
    assert (len(found.mismatch.word), found.mismatch.word[0]) == (6, "b")
    raised(ZeroDivisionError, lambda: labels().check(
        against=lambda word: 1 / 0 if len(word) > 5 else every(word), max_n=6, exhaustive=32, samples=20
    ))  # fmt: skip


@pytest.mark.parametrize("how", [*FAILURES, *HOSTILE], ids=lambda how: type(how).__name__)
def test_a_failure_without_a_mismatch_is_raised(how: Any) -> None:
    kind = type(how) if isinstance(how, Exception) else InputError
    error = raised(kind, lambda: labels().check(against=failing(how, "ab"), max_n=3))
    assert error is how or (isinstance(error, InputError) and "ab" in error.message)
    error = raised(kind, lambda: labels().eval("ab", "b", against=failing(how, "ab")))
    assert error is how or (isinstance(error, InputError) and "ab" in error.message)


@pytest.mark.parametrize(
    "how",
    [10**400, -Fraction(10**5000, 3), Decimal("1e400"), Decimal("sNaN"), {"share": 10**400}],
    ids=lambda how: type(how).__name__,
)
def test_a_number_beyond_the_range_of_outputs_hides_no_mismatch(how: Any) -> None:
    shares = model_of(mean_of_a(readout=Readout(decide="value", level=Fraction(1, 10))))
    error = raised(InputError, lambda: shares.check(against=lambda word: how, max_n=2))
    assert "a number is expected, not" in error.message or "cannot be read" in error.message
    with pytest.warns(hardsim.Remark, match="not checked"):
        found = shares.check(against=lambda word: how if len(word) == 1 else 7, max_n=2)
    assert found.verdict is Verdict.REFUTED


def test_a_reference_that_always_fails_is_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    requested = []

    def fails(word: Word) -> Any:
        requested.append(word)
        raise KeyError(word)

    raised(KeyError, lambda: labels().check(against=fails, max_n=9))
    assert max(map(len, requested)) <= 4  # 2 + 4 + 8 failures are enough
    monkeypatch.setattr(failures, "GO_ON", 5)
    requested.clear()

    def once(word: Word) -> Any:
        requested.append(word)
        return 1 / 0 if word == ("a",) else every(word)

    raised(ZeroDivisionError, lambda: labels().check(against=once, max_n=9))
    assert max(map(len, requested)) <= 4  # 4 + 8 more words were tried


def test_eval_keeps_the_mismatch_of_another_word() -> None:
    with pytest.warns(hardsim.Remark, match="not checked"):
        found = labels().eval("ab", "b", "a", against=failing([1], "ab", "b"))
    assert [one.right for one in found] == [False, True]
    assert [one.word for one in found.errors] == [("a", "b")]
    assert found.summary.endswith("1 mismatch, 1 without an answer")


# ---- formulas and programs ----


def since(word: Word) -> bool:
    """Return whether there was a b, and only a's since then."""
    return "".join(word).rstrip("a").endswith("b")


@pytest.mark.parametrize("options", [{}, {"regime": "position"}, {"engine": "ball", "max_n": 2}])
def test_a_function_checks_a_formula(options: dict[str, Any]) -> None:
    found = hardsim.load("a S b", alphabet="a b c").check(against=since, **{"max_n": 4, **options})
    assert (found.verdict, found.against) == (Verdict.CERTIFIED, "the function since")
    assert (found.positions_judged, found.positions_unjudged) == (found.words, 0)
    assert found.proof is not None
    assert "says nothing of the function since" in found.proof


def test_a_function_that_differs_refutes_a_formula() -> None:
    model = hardsim.load("a S b", alphabet="a b c")
    found = model.check(against=lambda word: since(word) or word == ("c", "a"), max_n=4)
    assert found.verdict is Verdict.REFUTED
    assert found.mismatch is not None
    assert (found.mismatch.word, found.mismatch.oracle, found.mismatch.hard) == (("c", "a"), True, False)
    assert found.command is not None
    assert "against" not in found.command
    open_ = model.check(against=lambda word: None if len(word) == 2 else since(word), max_n=3)
    assert (open_.verdict, open_.words, open_.positions_unjudged) == (Verdict.CERTIFIED, 3 + 27, 9)
    assert "all 30 judged words up to length 3" in open_.reach
    assert [one.unjudged for one in open_.lengths] == [0, 9, 0]
    nothing = model.check(against=lambda word: None, max_n=2)
    assert (nothing.verdict, nothing.words) == (Verdict.UNDECIDED, 0)


@pytest.mark.parametrize(
    "mirror",
    [
        lambda word: word[::-1],
        lambda word: "".join(reversed(word)),
        lambda word: np.array(word)[::-1],
        lambda word: [None, *word[::-1][1:]],
        lambda word: None if word[0] == "a" else list(word[::-1]),
    ],
)
def test_a_function_checks_what_maps_words(mirror: Any) -> None:
    found = hardsim.load("reverse").check(against=mirror, max_n=3)
    assert found.verdict is Verdict.CERTIFIED
    assert found.positions_judged is not None
    assert found.positions_unjudged is not None
    # 3 + 9 + 27 words, with 3 + 18 + 81 positions, and two examples of 4 and 5 symbols
    assert found.positions_judged + found.positions_unjudged == 3 + 18 + 81 + 4 + 5
    assert found.words + sum(one.unjudged for one in found.lengths) == 41


def test_positions_of_an_output_that_are_left_open_are_not_wrong() -> None:
    model = hardsim.load("reverse")
    # Only the first symbol is left open: ab is wrong.
    same = model.check(against=lambda word: [None, *word[1:]], max_n=3)
    assert same.mismatch is not None
    assert (same.mismatch.word, same.mismatch.oracle, same.mismatch.hard) == (("a", "b"), (None, "b"), ("b", "a"))
    middle = model.check(against=lambda word: [None, word[1], None] if len(word) == 3 else None, max_n=3)
    assert (middle.verdict, middle.positions_judged, middle.positions_unjudged) == (
        Verdict.CERTIFIED,
        27,
        3 + 18 + 54 + 4 + 5,
    )


@pytest.mark.parametrize("kind", [list, tuple, "".join])
def test_a_marker_in_a_text_leaves_its_position_open(kind: Callable[[list[str]], Any]) -> None:
    found = hardsim.load("reverse").check(against=lambda word: kind(["?", *word[::-1][1:]]), max_n=3, unjudged="?")
    # of 3 + 9 + 27 words, with 3 + 18 + 81 positions, and two examples of 4 and 5 symbols, the first is open
    assert (found.verdict, found.positions_judged, found.positions_unjudged) == ("CERTIFIED", 70, 41)


def test_a_symbol_that_no_output_is_refutes_a_program() -> None:
    found = hardsim.load("reverse").check(against=lambda word: ["z"] * len(word), max_n=2)
    assert found.verdict is Verdict.REFUTED
    assert found.mismatch is not None
    assert found.mismatch.no_output is not None
    assert found.mismatch.no_output.summary == (
        "no output is z, which is expected at position 1: the possible outputs are a b c"
    )


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("since", lambda word: 1, "on the word a: since accepts or rejects a word: 1 is neither True nor False"),
        (
            "since",
            lambda word: "accept",
            "on the word a: since accepts or rejects a word: 'accept' is neither True nor False",
        ),
        (
            "since",
            lambda word: [True] * len(word),
            "on the word a: since accepts or rejects a word: [True] is neither True nor False",
        ),
        ("reverse", lambda word: True, "on the word a: reverse maps words to symbols: True is not a list of symbols"),
        (
            "since",
            lambda word: Hostile(),
            "on the word a: a value of type Hostile is not an answer: it cannot be printed",
        ),
        ("since", lambda word: Broken(), "on the word a: the return value cannot be read (LookupError: own)"),
        (
            "reverse",
            lambda word: [Decimal("sNaN")],
            "on the word a: the return value cannot be read (InvalidOperation: [<class 'decimal.InvalidOperation'>])",
        ),
    ],
)
def test_what_is_no_answer_of_a_formula_or_a_program(name: str, function: Any, message: str) -> None:
    assert raised(InputError, lambda: hardsim.load(name).check(against=function, max_n=2)).message == message


def test_a_failing_word_hides_no_mismatch_of_a_formula_or_a_program() -> None:
    model = hardsim.load("a S b", alphabet="a b c")

    def reference(word: Word) -> bool:
        return since(word) != (word == ("b", "b")) if word != ("a",) else bool(1 / 0)

    with pytest.warns(hardsim.Remark, match="the function raised ZeroDivisionError: division by zero"):
        found = model.check(against=reference, max_n=3)
    assert found.mismatch is not None
    assert (found.mismatch.word, found.errors[0].word) == (("b", "b"), ("a",))
    raised(ZeroDivisionError, lambda: model.check(against=lambda word: bool(1 / 0), max_n=3))
    with pytest.warns(hardsim.Remark, match="not checked"):
        words = model.eval("bb", "a", "b", against=reference)
    assert [one.agree for one in words] == [False, True]
