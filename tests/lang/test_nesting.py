"""Tests of the nesting depth of formulas and programs. The depths are counted by hand in the text."""

import pytest

from hardsim.lang.nesting import NestingDepth, nesting_depth
from tests.support.language import parse_text


@pytest.mark.parametrize(
    ("text", "temporal", "counting"),
    [
        ("a & !b", 0, 0),
        ("a S b", 1, 0),
        ("H(a -> O(b & Y a)) & F a", 3, 0),  # H above O above Y
        ("F[1,3] X[2] a", 2, 0),
        ("#L[a] = #R[b]", 0, 1),
        ("#L[#L[a] > #L[b]] = 0", 0, 2),
        ("O(#L[a & Y b] >= 2)", 2, 1),  # O above # above Y
        ("pos mod 2 = 0 | EVEN(len) | pos >= 3", 0, 0),
        ("first -> X last", 1, 0),
    ],
)
def test_formulas(text: str, temporal: int, counting: int) -> None:
    assert nesting_depth(parse_text(f"alphabet: a b\n{text}\n", "<text>")) == NestingDepth(temporal, counting)


def test_names_stand_for_their_definitions() -> None:
    text = "alphabet: a b\nlet once = O a\nlet twice = O(b & once)\nlet many = #L[twice]\nmany >= 2 & H once\n"
    assert nesting_depth(parse_text(text, "<text>")) == NestingDepth(2, 1)
    # A chain of 4,000 names is no deep recursion.
    lets = "".join(f"let x{k} = Y x{k - 1}\n" for k in range(1, 4_001))
    assert nesting_depth(parse_text(f"alphabet: a b\nlet x0 = a\n{lets}x4000\n", "<text>")) == NestingDepth(4_000, 0)
