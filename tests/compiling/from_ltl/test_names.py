"""Tests of the names of heads: each says what the head computes in the user's own words, for every operator."""

import pytest

from hardsim.compiling.from_ltl.lower import OF_THE_FIRST, lower
from hardsim.compiling.from_ltl.refusals import Method
from hardsim.program.regimes import DEFAULT_REGIME
from tests.support.language import desugar, parse_text
from tests.support.model import REGIMES, Head

HEADER = "alphabet: a b c\n"
SINCE = "read at the last position with"
UNTIL = "read at the first position with"


def heads_of(text: str, counting: Method | None = None) -> tuple[Head, ...]:
    return lower(desugar(parse_text(HEADER + text, "x.ltl")), REGIMES[DEFAULT_REGIME], False, counting).heads


@pytest.mark.parametrize(
    ("text", "purpose"),
    [
        ("a S b", f"a S b, {SINCE} !a | b"),
        ("!a S (b | Y c)", f"!a S (b | Y c), {SINCE} a | b | Y c"),
        ("a U b", f"a U b, {UNTIL} !a | b"),
        ("O Y a", f"O Y a, {SINCE} Y a"),
        ("H(a -> Y b)", f"H(a -> Y b), {SINCE} !(a -> Y b)"),
        ("H !Y b", f"H !Y b, {SINCE} Y b"),
        ("F X a", f"F X a, {UNTIL} X a"),
        ("G a", f"G a, {UNTIL} !a"),
        ("a T b", f"a T b, {SINCE} a | !b"),
        ("a R b", f"a R b, {UNTIL} a | !b"),
        ("a W b", f"a W b, {UNTIL} !a | b"),
        ("Y a M b", f"Y a M b, {UNTIL} !b | Y a"),
        ("Y a", "Y a, read at the last even position"),
        ("WY a", "WY a, read at the last odd position"),
        ("X a", "X a, read at the first even position"),
        ("WX a", "WX a, read at the first odd position"),
        ("let busy = b | c\nO busy", f"O busy, {SINCE} busy"),
        ("let k = #L[a]\nk > #L[b]", "#L[a], read at the position whose number is the count"),
        ("#R[a] > 1", "#R[a], read at the position whose number is the count"),
        ("#R[a] > 0", f"#R[a] > 0, {UNTIL} a"),
        ("#[a | b] = 0", f"#[a | b] > 0, {SINCE} a | b"),
        ("#[Y a] = 2", f"#[Y a] > 0, {SINCE} Y a"),
        ("#R[a] = 2", f"#R[a] > 0, {UNTIL} a"),
        ("#L[a] = 2", "#L[a] / i"),
        ("ODD(#L[a])", "ODD(#L[a]), read at the position whose number is the count"),
        ("#L[a] mod 3 = 1", "#L[a] mod 3 = 1, read at the position whose number is the count"),
        ("SQUARE(#[a])", "SQUARE(#[a]), read at the position whose number is the count"),
        ("first S a", "marks the first position"),
        ("last U a", "marks the last position"),
    ],
)
def test_every_operator_names_its_head(text: str, purpose: str) -> None:
    assert purpose in [head.purpose for head in heads_of(text)]


def test_a_comparison_by_its_sign_is_named() -> None:
    said = "#L[a] > #L[b]: the mean of the even positions if it holds, of the odd ones if not"
    assert said in [head.purpose for head in heads_of("#L[a] > #L[b]", "sign")]


def test_the_operator_that_no_user_wrote_says_what_it_is_for() -> None:
    purposes = [head.purpose for head in heads_of("at: first\nF a")]
    assert purposes[-1] == OF_THE_FIRST
    assert f"F a, {UNTIL} a" in purposes
    # No other head has this name.
    assert OF_THE_FIRST not in [head.purpose for head in heads_of("F a")]


def test_what_is_written_twice_has_the_first_name() -> None:
    assert [head.purpose for head in heads_of("O a & !H !a")] == [f"O a, {SINCE} a"]


def test_long_subformulas_end_at_a_word() -> None:
    long = " | ".join(["Y a & Y b & Y c"] * 20)
    (found,) = [head.purpose for head in heads_of(f"O({long})") if head.purpose.startswith("O(")]
    name, _, sought = found.partition(f", {SINCE} ")
    assert (name.endswith(" ..."), sought.endswith(" ...")) == (True, True)
    assert (len(name) <= 60, len(sought) <= 40) == (True, True)
    assert f"O({long})".startswith(name.removesuffix("..."))
