"""Tests of counts (`count_j`) against the oracle: all vectors on all short words, every declared gap; and refusals."""

import pytest

from tests.compiling.from_srasp.harness import agree, words_to
from tests.support.check import law_of
from tests.support.language import Unsupported, parse_program
from tests.support.mistakes import raised
from tests.support.model import ExactModel, compile_program, measure

# c, s and w are integers in [0, n], [-n, n] and [-1, 1].
HEAD = """alphabet: a b
c(i) := psum_j[j<=i] Q_a(j)
s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)
w(i) := Q_a(i) ? 1 : -1
p(i) := pos(i) > 2
"""
MASKS = ["1", "j<i", "j<=i", "j>i", "j>=i"]
EVERY_MASK = [
    "1",
    "0",
    "Q_a(j)",
    "Q_a(i)",
    "in(i) = in(j)",
    "in(i) != in(j) | p(j)",
    "(Q_a(i) -> p(j)) ^ (p(i) <-> Q_a(j))",
    "c(i) = c(j)",
    "s(i) = s(j)",
    "s(j) = -1",
    "-s(i) = s(j) & Q_a(j)",
    "c(i) = pos(j) & s(i) = c(j) & (p(i) | Q_b(j))",
    "s(i) != s(j)",
    "s(i) != c(j) & in(i) = in(j)",
    "s(i) != c(j) & c(i) = pos(j)",
    "s(i) < w(j)",
    "s(i) >= w(j) & in(i) != in(j)",
    "!(w(j) > c(i)) & p(i)",
]
BY_ORDER = [
    "c(j) <= c(i)",
    "s(j) <= s(i)",
    "s(j) < s(i)",
    "s(j) >= s(i)",
    "s(j) > s(i)",
    "s(i) <= c(j)",
    "s(i) > pos(j) & Q_a(j)",
    "c(j) < s(i) & in(i) = in(j)",
    "len(i) - pos(i) < pos(j)",
    "0 - pos(j) < s(i) & p(i)",
    "0 - c(i) > s(j)",
]


def require(mask: str, score: str) -> None:
    program = parse_program(f"{HEAD}x(i) := count_j[{mask}, {score}]\nY(i) := x(i) = x(i)\n")
    found = agree(program, words_to(program, 5))
    assert (found.compared, found.out_of_range) == (62, 0)


@pytest.mark.sweep
@pytest.mark.parametrize("score", EVERY_MASK)
@pytest.mark.parametrize("mask", MASKS)
def test_counts(mask: str, score: str) -> None:
    require(mask, score)


@pytest.mark.sweep
@pytest.mark.parametrize("score", BY_ORDER)
def test_counts_by_order(score: str) -> None:
    require("1", score)


REFUSED = [
    ("j<i", "c(j) < c(i)", "c(j) < c(i)", "'<' .* no construction inside a count under j<i"),
    ("1", "c(j) < c(i) & s(i) = s(j)", "c(j) < c(i)", "'<' .* inside a count beside another comparison"),
    ("1", "c(j) < c(i) & s(i) != s(j)", "s(i) != s(j)", "'!=' .* no construction inside a count beside '<'"),
    ("1", "c(j) < c(i) | Q_a(j)", "c(j) < c(i)", "below '|'"),
]


@pytest.mark.parametrize(("mask", "score", "place", "message"), REFUSED)
def test_what_has_no_construction_is_refused_at_its_operator(mask: str, score: str, place: str, message: str) -> None:
    program = parse_program(f"{HEAD}x(i) := count_j[{mask}, {score}]\nY(i) := x(i) = 1\n")
    error = raised(Unsupported, compile_program, program, match=message.replace("|", r"\|"))
    assert program.source.text[error.span.start : error.span.end] == place.split()[1]
    assert "The program can still be run by its definition" in (error.hint or "")


def test_integers_of_a_small_range_have_no_limit() -> None:
    """The value 3 is outside [-n, n] at n = 1 and 2, but can be compared."""
    program = parse_program(
        "alphabet: a b\nv(i) := Q_a(i) ? 3 : -2\ne(i) := count_j[j<=i, v(i) = v(j)]\n"
        "l(i) := count_j[j>i, v(i) < v(j)]\nd(i) := count_j[1, v(i) != v(j)]\nY(i) := e(i) + l(i) > d(i)\n"
    )
    compiled = compile_program(program)
    assert compiled.guards == ()
    assert agree(program, words_to(program, 5), compiled).compared == 62


def test_a_count_says_which_integer_leaves_the_range() -> None:
    program = parse_program(f"{HEAD}x(i) := count_j[1, c(j) = 2 * c(i)]\nY(i) := x(i) > 1\n")
    found = agree(program, words_to(program, 4))
    assert found.out_of_range > 0
    assert found.compared + found.out_of_range == 30


def test_what_is_known_without_running_holds_what_is_measured() -> None:
    """For heads whose maximum is shared, the facts known without running bound the number of maxima and the gaps of
    means.
    """
    program = parse_program(
        f"{HEAD}x(i) := count_j[j>=i, p(j)]\nY(i) := count_j[1, Q_a(j)]\noutput: Z\nZ(i) := x(i) + Y(i) > 2\n"
    )
    model = compile_program(program).model
    shared = 0
    for n in range(1, 6):
        words = [word for word in words_to(program, n) if len(word) == n]
        measured, known = measure(model, words, ExactModel(model).run(words)), law_of(model).facts(n)
        for name, head in measured.heads.items():
            wide = known.heads[name]
            shared += sum(most > 1 for most in head.most)
            assert all(one <= other for one, other in zip(head.most, wide.most, strict=True)), name
            assert all(
                found is None or (least is not None and found >= least)
                for found, least in zip(head.gaps, wide.gaps, strict=True)
            ), name
        for found, bounds in zip(measured.layers, known.layers, strict=True):
            for place, (low, high) in found.values.items():
                assert bounds.values[place][0] <= low <= high <= bounds.values[place][1]
            assert all(one >= other for one, other in zip(found.margins, bounds.margins, strict=True))
    assert shared > 0
