"""Tests of every construction against the oracle: all vectors on all short words, every declared gap, a unique
maximum.
"""

from collections.abc import Sequence
from fractions import Fraction

import pytest

from hardsim.lang.ast import SraspProgram
from tests.compiling.from_srasp.harness import agree, words_to
from tests.support.language import parse_program
from tests.support.model import compile_program

# c: a's so far; s: a's minus b's so far; both are look-ups, and s needs both signs. m is an integer with an offset.
HEAD = """alphabet: a b
rel pair = { 'a' 'b', 'b' 'b' }
rel one = { 'a' }
c(i) := psum_j[j<=i] Q_a(j)
s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)
m(i) := c(i) - 1
p(i) := pos(i) > 2
q(i) := Q_a(i) ^ p(i)
t(i) := p(i) ? in(i) : 'b'
"""
TAIL = "\nY(i) := x(i) = x(i)\n"

POSITION_WISE = [
    "Q_a(i) & p(i) & !q(i)",
    "Q_a(i) | p(i) | q(i) | s(i) = 0",
    "Q_a(i) ^ p(i) ^ q(i) ^ (s(i) > 0) ^ 1",
    "(p(i) -> q(i)) <-> (Q_b(i) -> c(i) = 1)",
    "!(p(i) & !p(i))",
    "p(i) ? q(i) : s(i) <= c(i)",
    "p(i) ? q(i) : true",
    "p(i) ? 3 : -2",
    "p(i) ? s(i) : -2 * c(i)",
    "q(i) ? (p(i) ? s(i) : 1) : pos(i) - 2 * len(i)",
    "(p(i) ? c(i) : 0) - (q(i) ? s(i) : len(i))",
    "p(i) + q(i) + 2 * Q_a(i) - 3",
    "q(i) ? 'a' : t(i)",
    "in(i) = t(i)",
    "in(i) != t(i) | t(i) = 'a'",
    "in(i) in { 'a' }",
    "(q(i) ? 'b' : in(i)) in { 'b', 'a' }",
    "pair(t(i), in(i))",
    "pair('a', t(i)) & !one(in(i))",
    "q(i) & pair(t(i), in(i)) & p(i)",
    "s(i) < m(i)",
    "2 * s(i) >= c(i) - 3",
    "s(i) != m(i)",
    "pos(i) = len(i)",
    "pos(i) >= 1",
    "pos(i) - len(i) > 0",
    "p(i) = q(i)",
    "p(i) != q(i)",
]

PREFIX_SUMS = [
    "psum_j[j<=i] !p(j)",
    "psum_j[j<=i] (p(j) ? -1 : 1)",
    "psum_j[j<=i] -Q_a(j)",
    "psum_j[j<=i] (q(j) - p(j))",
    "psum_j[j<=i] (pos(j) = 3 ? s(j) - c(j) : 0)",
    "psum_j[j<=i] 1",
    "psum_j[j<=i] 0",
    "psum_j[j<=i] (pos(j) = 1 ? pos(j) + s(j) - c(j) : 0 + Q_a(j))",
]

MASKS = ("1", "j<i", "j<=i", "j>i", "j>=i")
SCORES = [
    "{side}_j[{mask}, Q_a(j)] pos(j) : -1",
    "{side}_j[{mask}, Q_b(i)] q(j) : p(i)",
    "{side}_j[{mask}, Q_a(j) & p(i) | (q(j) ^ q(i))] in(j) : t(i)",
    "{side}_j[{mask}, in(i) = in(j)] s(j) : pos(i)",
    "{side}_j[{mask}, pair(in(i), t(j)) -> p(j)] s(j) > c(i) : q(i)",
    "{side}_j[{mask}, (q(i) ? in(i) : in(j)) != t(j)] pos(j) - pos(i) : 0",
    "{side}_j[{mask}, s(j) = m(i)] q(j) ? 1 : 0 : 1",
    "{side}_j[{mask}, !(s(j) != m(i) | p(i) & q(j))] in(j) : 'a'",
    "{side}_j[{mask}, s(j) = m(i) & c(j) + 1 = c(i)] c(j) : -1",
    "{side}_j[{mask}, pos(j) = 2 * pos(i)] in(j) : 'b'",
    "{side}_j[{mask}, pos(j) + s(i) = c(j) - p(i)] q(j) & p(i) : 0",
    "{side}_j[{mask}, 2 * c(j) = pos(i)] pair(in(i), in(j)) : q(i)",
    "{side}_j[{mask}, false] q(j) : p(i)",
    "{side}_j[{mask}, true] p(i) : q(i)",
    "{side}_j[{mask}, p(j) | !p(j) & s(j) <= len(j)] 1 : 0",
]


@pytest.mark.sweep
@pytest.mark.parametrize("text", [*POSITION_WISE, *PREFIX_SUMS])
def test_what_one_position_or_a_prefix_computes(text: str) -> None:
    program = parse_program(f"{HEAD}x(i) := {text}{TAIL}")
    assert agree(program, words_to(program, 5)).compared == 62


def attending(masks: Sequence[str], *attentions: str) -> SraspProgram:
    """Return a program with a vector for every attention under every mask."""
    texts = (attention.replace("{mask}", mask) for attention in attentions for mask in masks)
    lines = [f"x{number}(i) := {text}\n" for number, text in enumerate(texts)]
    return parse_program(HEAD + "".join(lines) + "Y(i) := x0(i) = x0(i)\n")


@pytest.mark.sweep
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("side", ["leftmost", "rightmost"])
def test_attention_under_every_mask(side: str, score: str) -> None:
    program = attending(MASKS, score.replace("{side}", side))
    assert agree(program, words_to(program, 4), beyond=True).compared == 30


@pytest.mark.sweep
@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
@pytest.mark.parametrize(("side", "masks"), [("leftmost", ("1", "j<i", "j<=i")), ("rightmost", ("1", "j>i", "j>=i"))])
def test_order_inside_scores(side: str, masks: tuple[str, ...], op: str) -> None:
    """The vector m reaches -1 at least, and s takes every value in [-n, n]."""
    scores = (f"s(j) {op} m(i)] pos(j) : -3", f"s(i) {op} 0 - s(j)] in(j) : 'a'", f"pos(j) {op} c(i)] Q_a(j) : 0")
    program = attending(masks, *(f"{side}_j[{{mask}}, {score}" for score in scores))
    assert agree(program, words_to(program, 5)).compared == 62


@pytest.mark.parametrize("side", ["leftmost", "rightmost"])
def test_inequality_inside_scores(side: str) -> None:
    scores = ("s(j) != m(i)] pos(j) : -3", "c(i) != c(j)] in(j) : t(i)", "!(s(i) = 3 * s(j))] q(j) : 1")
    program = attending(MASKS, *(f"{side}_j[{{mask}}, {score}" for score in scores))
    assert agree(program, words_to(program, 5), beyond=True).compared == 62


def test_a_number_out_of_range_matches_nothing() -> None:
    """2 pos(i) is above n for most i, 3 s(j) outside [-n, n] for most j; no look-up sees more than n of them."""
    text = (
        "x(i) := rightmost_j[1, 3 * s(j) = pos(i)] pos(j) : 0\n"
        "y(i) := leftmost_j[1, c(j) = 2 * s(i) + c(i)] pos(j) : 0\n"
        "z(i) := leftmost_j[1, c(j) + len(j) = 2 * len(i) + 2 - pos(i)] pos(j) : 0"
    )
    program = parse_program(HEAD + text + "\nY(i) := x(i) = 0\n")
    found = agree(program, words_to(program, 6))
    assert found.compared + found.out_of_range == 126
    alone = parse_program(HEAD + text.splitlines()[0] + TAIL)
    assert agree(alone, words_to(alone, 6), beyond=True).compared == 126
    assert len(compile_program(alone).warnings) == 1


def test_positions_are_squared_without_heads() -> None:
    program = parse_program("alphabet: a b\nY(i) := leftmost_j[1, 2 * pos(j) = len(i) + 3 - pos(i)] Q_a(j) : 0\n")
    compiled = compile_program(program)
    assert [len(layer.heads) for layer in compiled.model.layers] == [1]
    assert agree(program, words_to(program, 7), compiled, beyond=True).compared == 254


def test_the_gap_of_an_equality_is_the_tie_of_its_matches() -> None:
    """With u = v = 0 everywhere, neighbouring matches are 1/(8 n^3) apart, and no two scores are closer."""
    program = parse_program(
        "alphabet: a b\nY(i) := leftmost_j[1, Q_a(j) & pos(i) + pos(j) = pos(j) + pos(i)] Q_a(j) : 0\n"
    )
    gaps = agree(program, words_to(program, 5)).gaps
    assert {n: gap for n, gap in gaps.items() if n > 1} == {n: Fraction(1, 8 * n**3) for n in range(2, 6)}


def test_the_comparison_sees_a_wrong_network() -> None:
    right = parse_program("alphabet: a b\nY(i) := leftmost_j[1, Q_a(j)] 1 : 0\n")
    wrong = parse_program("alphabet: a b\nY(i) := leftmost_j[1, Q_b(j)] 1 : 0\n")
    with pytest.raises(AssertionError, match="instead of"):
        agree(right, words_to(right, 2), compile_program(wrong))
