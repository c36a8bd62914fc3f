"""Means (`mean_j`) against the oracle: all vectors on all short words, every declared gap; and what is refused."""

from __future__ import annotations

import pytest

from hardsim.compiling.from_srasp.compile import compile_program
from hardsim.errors import Unsupported
from hardsim.lang.srasp.parse import parse_program
from tests.compiling.from_srasp.harness import agree, words_to
from tests.mistakes import raised

# s is in [-n, n]; the sums of m and l leave that range, and are compared all the same.
HEAD = """alphabet: a b
s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)
k(i) := mean_j[{mask}] Q_a(j)
m(i) := mean_j[{mask}] 3 * s(j) - Q_a(j) + 1
l(i) := mean_j[{mask}] s(j) + pos(j)
z(i) := mean_j[{mask}] 0
"""
COMPARED = [
    "k(i) >= 1/2",
    "k(i) > 1/2",
    "2/3 < k(i)",
    "k(i) <= 2/4",
    "k(i) = 1/2",
    "1/3 != k(i)",
    "m(i) >= -3/2",
    "m(i) > 1",
    "m(i) = 0",
    "0 <= l(i)",
    "l(i) < m(i)",
    "l(i) = m(i)",
    "m(i) != k(i)",
    "z(i) = 0 & z(i) > -1/7 & k(i) >= z(i)",
    "k(i) >= 0 ^ m(i) < 2",
]


@pytest.mark.sweep
@pytest.mark.parametrize("mask", ["1", "j<=i", "j>=i"])
@pytest.mark.parametrize("compared", COMPARED)
def test_means(mask: str, compared: str) -> None:
    text = f"{HEAD.format(mask=mask)}x(i) := {compared}\nr(i) := rightmost_j[1, k(j) > 1/2] x(j) : x(i)\nY(i) := r(i)\n"
    program = parse_program(text)
    compiled = compile_program(program)
    assert compiled.guards == ()
    assert agree(program, words_to(program, 6), compiled).compared == 126


REFUSED = [
    ("k(i) > f(i)", "over different positions", "k(i)"),
    ("f(i) = k(i)", "over different positions", "f(i)"),
]


@pytest.mark.parametrize(("compared", "message", "place"), REFUSED)
def test_what_has_no_construction_is_refused(compared: str, message: str, place: str) -> None:
    program = parse_program(f"{HEAD.format(mask='1')}f(i) := mean_j[j<=i] Q_a(j)\nY(i) := {compared}\n")
    error = raised(Unsupported, compile_program, program, match=message)
    assert program.source.text[error.span.start :].startswith(place[:1])


def test_means_at_two_positions_are_refused_inside_a_score() -> None:
    program = parse_program(f"{HEAD.format(mask='j<=i')}Y(i) := leftmost_j[1, Q_a(j) & k(i) > k(j)] 1 : 0\n")
    error = raised(Unsupported, compile_program, program, match="between means at i and at j")
    assert program.source.text[error.span.start : error.span.end] == ">"
