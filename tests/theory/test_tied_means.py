"""Two examples of docs/theory.md. A sum of two means, each over its own ties, first meets its threshold at length 21,
so words do not replace a proof. A temperature without a logarithm is not low enough for ties.
"""

import json
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import pytest

import hardsim

WORD = "aaabbbbcdddddddddddee"
"""The shortest word on which the two means miss 1/2 by the offset: 3 of 7, and 1 of 12: 3/7 + 1/12 = 1/2 + 1/84."""


def head(name: str, among: str, counted: str) -> dict[str, object]:
    """Return a head for the mean of [counted] over the positions of `among`, or over all if there are none."""
    score = [[{"1": "1"}, {among: "1"}]]
    return {"name": name, "mask": "none", "weighting": "average", "score": score, "values": {"out": {counted: "1"}}}


def model(offset: str) -> dict[str, object]:
    """Return a model that compares the share of a among a and b, plus that of c among c and d, plus an offset,
    with 1/2.
    """
    letters = {"a": "a", "c": "c", "ab": "ab", "cd": "cd"}
    return {
        "format": "hardsim-ahat",
        "schema_version": 2,
        "program": {
            "alphabet": list("abcde"),
            "coordinates": ["1", *letters, "out"],
            "letters": [{"name": name, "symbols": list(symbols)} for name, symbols in letters.items()],
            "encodings": [{"name": "out", "value": offset}],
            "layers": [{"heads": [head("left", "ab", "a"), head("right", "cd", "c")], "units": [], "biases": {}}],
            "output": "out",
            "threshold": "1/2",
            "reading": "last",
        },
    }


def least_distance(n: int) -> Fraction:
    """Return the least distance of an output from 1/2 over all words of length n.

    p of m positions of a and b have a, and q of k positions of c and d have c. If there are none of a kind, the head
    is tied everywhere and reads 0.
    """
    expected = Fraction(1, 2) + Fraction(1, 4 * n)
    found = []
    for m in range(n + 1):
        for k in range(n + 1 - m):
            for q in range(k + 1):
                rest = expected - Fraction(q, k or 1)
                nearest = {min(max(p, 0), m) for p in (floor(rest * m), ceil(rest * m))}
                found += [abs(rest - Fraction(p, m or 1)) for p in nearest]
    return min(found)


def test_no_word_of_up_to_20_symbols_is_on_the_threshold_and_one_of_21_is(tmp_path: Path) -> None:
    least = {n: least_distance(n) for n in range(1, 22)}
    assert all(least[n] > 0 for n in range(1, 21))
    assert least[20] == Fraction(1, 1680)
    assert least[21] == 0
    path = tmp_path / "two_means.ahat.json"
    path.write_text(json.dumps(model("-1/(4*n)")), encoding="utf-8")
    (row,) = hardsim.load(path).eval(WORD, tau="1/(4*n)").words
    assert row.hard is None


@pytest.mark.parametrize("n", [3, 5, 9])
def test_the_logarithm_is_needed_and_enough(n: int) -> None:
    """At f = log(n - 1) softmax gives the a of a c^(n - 1) the weight 1/2, and at 3 log(n + 1) nearly 1."""
    model, word = hardsim.load("majority_ties"), "a" + "c" * (n - 1)
    (needed,) = model.eval(word, tau="1/log(n-1)").words
    (enough,) = model.eval(word, tau="1/(3*log(n+1))").words
    assert (needed.hard, needed.soft) == (True, False)
    assert (enough.hard, enough.soft) == (True, True)
