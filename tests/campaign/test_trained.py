"""Tests of external networks trained on formal languages, checked against functions of words.

Every word up to a length is tried, and the least margins agree with the published ones. The networks are beside the
project (`../shared/trained`).
"""

import re
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest

import hardsim
from tests.support.check import Verdict

SHARED = Path(__file__).parents[3] / "shared" / "trained"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the trained networks lie beside the project")

D2_PREFIXES = sum(2 ** (n // 2) for n in range(1, 11))
SPECIAL = ("<bos>", "<sep>", "<eos>", "<pad>")


def opened(name: str, alphabet: str, **how: Any) -> hardsim.Model:
    return hardsim.load(
        SHARED / name, tokens=(*alphabet, *SPECIAL), alphabet=tuple(alphabet), **{"input": "<bos> *", **how}
    )


def next_symbols(alphabet: str, prefix: str, whole: str) -> Any:
    """Return a reference that gives, for each position, the tokens that may come next.

    `prefix` matches the prefixes of the language's words, `whole` the words. Words that are no prefix have no
    expected answer.
    """

    def expected(word: tuple[str, ...]) -> list[set[str]] | None:
        text = "".join(word)
        if re.fullmatch(prefix, text) is None:
            return None
        return [
            {symbol for symbol in alphabet if re.fullmatch(prefix, text[:end] + symbol)}
            | ({"<eos>"} if re.fullmatch(whole, text[:end]) else set())
            for end in range(1, len(text) + 1)
        ]

    return expected


@pytest.mark.parametrize(
    ("name", "alphabet", "prefix", "whole", "max_n", "words", "margin", "word"),
    [
        # In brackets to depth 2 only the symbols at depth 1, every other one, are free: 2^floor(n/2) prefixes.
        ("D2", "ab", r"(a(ab)*b)*(a(ab)*a?)?", r"(a(ab)*b)*", 10, D2_PREFIXES, "5.53", "aa"),
        ("tomita1", "01", r"1*", r"1*", 12, 12, None, None),
        # Words of n symbols with up to three changes: sums of binomial coefficients of n.
        ("tomita7", "01", r"0*1*0*1*", r"0*1*0*1*", 8, None, "5.48", "1111101"),
        ("ab_d_bc", "abcd", r"[ab]*|[ab]*d[bc]*", r"[ab]*d[bc]*", 6, None, None, None),
    ],
)
def test_next_symbols(
    name: str,
    alphabet: str,
    prefix: str,
    whole: str,
    max_n: int,
    words: int | None,
    margin: str | None,
    word: str | None,
) -> None:
    model = opened(name, alphabet, at="each", decide="above 0")
    found = model.check(against=next_symbols(alphabet, prefix, whole), max_n=max_n, exhaustive=5000)
    assert found.verdict is Verdict.PROVED
    assert all(length.exhaustive for length in found.judged)
    least = min(
        (length for length in found.judged if length.margin is not None), key=lambda one: one.margin or Fraction(0)
    )
    if margin is not None:
        assert least.margin is not None
        assert f"{float(least.margin):.2f}" == margin
        assert "".join(least.margin_word or ()) == word
    if words is not None:
        assert found.words == words


def test_majority() -> None:
    """The larger of two outputs at the last token gives the majority symbol; ties have no expected answer."""
    model = opened("majority", "01", input="<bos> * <sep>", at="last", decide="argmax of 0 1")

    def most(word: tuple[str, ...]) -> str | None:
        ones = 2 * word.count("1") - len(word)
        return None if not ones else "1" if ones > 0 else "0"

    found = model.check(against=most, max_n=12, exhaustive=5000)
    assert (found.verdict, found.words) == (Verdict.PROVED, 6916)
    assert f"{min(float(length.margin or 0) for length in found.judged if length.words):.2f}" == "1.31"
    wrong = model.check(against=lambda word: "0", max_n=3)
    assert wrong.mismatch is not None
    assert wrong.mismatch.word == ("1",)


def test_balls_say_the_same() -> None:
    model = opened("D2", "ab", at="each", decide="above 0")
    judged = next_symbols("ab", r"(a(ab)*b)*(a(ab)*a?)?", r"(a(ab)*b)*")
    for word in ("a", "aab", "abaabb"):
        (float64,), (ball,) = (model.eval(word, against=judged, engine=engine) for engine in ("auto", "ball"))
        for one, other in zip(float64.places, ball.places, strict=True):
            for left, right in zip(one.outputs, other.outputs, strict=True):
                assert left.low is not None
                assert left.high is not None
                assert right.low is not None
                assert right.high is not None
                assert left.low <= right.low <= right.high <= left.high
                assert right.high - right.low < Fraction(1, 10**20)


def test_the_table_of_positions_ends_where_it_does() -> None:
    model = opened("D2", "ab", at="each", decide="above 0")
    word = "ab" * 75
    judged = next_symbols("ab", r"(a(ab)*b)*(a(ab)*a?)?", r"(a(ab)*b)*")
    assert model.check(against=judged, words=[word + "a"]).verdict is Verdict.CERTIFIED  # 151 symbols after <bos>
    with pytest.raises(hardsim.InputError, match="words have at most 151 symbols, not 152"):
        model.check(against=judged, words=[word + "ab"])


@pytest.mark.parametrize(
    ("name", "alphabet", "expression", "max_n", "words"),
    [
        ("D2", "ab", "(a(ab)*b)*", 10, D2_PREFIXES + 1),
        ("tomita1", "01", "1*", 12, 13),
        # Words of n symbols with up to three changes from 0, or up to two from 1.
        ("tomita7", "01", "0*1*0*1*", 8, 1 + sum(sum(comb(n, k) for k in range(4)) for n in range(1, 9))),
        # The words over a and b, and those with one d: a or b before it, b or c after it.
        ("ab_d_bc", "abcd", "(a|b)*d(b|c)*", 6, 1 + sum(2**n + n * 2 ** (n - 1) for n in range(1, 7))),
    ],
)
def test_specifications_of_next_symbols(
    tmp_path: Path, name: str, alphabet: str, expression: str, max_n: int, words: int
) -> None:
    """Every prefix is compared once, at its end; the empty prefix at <bos>."""
    lines = f"network: {SHARED / name}\nalphabet: {' '.join(alphabet)}\ntokens: {' '.join((*alphabet, *SPECIAL))}\n"
    path = tmp_path / "x.spec"
    path.write_text(f"{lines}input: <bos> *\nnext: /{expression}/\n", encoding="utf-8")
    found = hardsim.load(path).check(max_n=max_n, exhaustive=5000)
    assert (found.verdict, found.words) == (Verdict.PROVED, words)
    path.write_text(f"{lines}input: <bos> *\nnext: /({expression})&!()/\n", encoding="utf-8")
    wrong = hardsim.load(path).check(max_n=2)
    if name != "ab_d_bc":  # whose language lacks the empty word anyway
        assert wrong.mismatch is not None
        assert wrong.mismatch.word == ()


def test_a_specification_of_majority(tmp_path: Path) -> None:
    path = tmp_path / "x.spec"
    path.write_text(
        f"network: {SHARED / 'majority'}\nalphabet: 0 1\ntokens: 0 1 <bos> <sep> <eos> <pad>\ninput: <bos> * <sep>\n"
        "at: last\ndecide: argmax of 0 1\nassume: #['0'] != #['1']\n"
        "output 0: #['0'] > #['1']\noutput 1: #['1'] > #['0']\n",
        encoding="utf-8",
    )
    found = hardsim.load(path).check(max_n=10)
    # 2^n words, less the binomial(n, n/2) ties of even lengths.
    assert (found.verdict, found.words) == (
        Verdict.PROVED,
        sum(2**n - (comb(n, n // 2) if n % 2 == 0 else 0) for n in range(1, 11)),
    )
