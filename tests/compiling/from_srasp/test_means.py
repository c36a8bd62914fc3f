"""Tests of means (`mean_j`) against the oracle: all vectors on all short words, every declared gap; and refusals."""

from random import Random

import pytest

from tests.compiling.from_srasp.harness import agree, words_to
from tests.support.language import ProgramOracle, Unsupported, parse_program
from tests.support.mistakes import raised
from tests.support.model import compile_program

# s is in [-n, n]; the sums of m and l leave that range, but means of them can be compared.
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


SELECTED = [
    "Q_a(j)",
    "in(j) = in(i)",
    "x(i) | Q_b(j)",
    "s(j) = s(i) & Q_b(j)",
    "c(j) != 1",
    "pos(j) = pos(i) - 1",
    "c(j) = c(i) & s(j) = 0",
    "Q_a(j) & s(i) < d(j)",
    "1",
    "0",
]
VALUES = ["Q_b(j)", "0", "s(j)", "3 * s(j) - Q_a(j) + 1", "Q_a(j) ? 2 : -1", "s(j) + pos(j)"]
DEFAULTS = ["0", "1/3", "pos(i)", "Q_a(i)", "-s(i)"]
OTHERS = ["1/2", "0", "-2/3", "2"]
OPERATORS = [">=", ">", "<", "<=", "=", "!="]
PARTS = """alphabet: a b
s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)
d(i) := Q_a(i) ? 3 : -1
c(i) := s(i) < 0 ? 0 : (s(i) > 1 ? 2 : 1)
x(i) := Q_a(i) & s(i) >= 0
"""


def selected(mask: str, number: int, score: str, part: Random) -> str:
    """Return a program with means with and without scores, compared with each other and with constants."""
    masks = ["1", "j<i", "j<=i", "j>i", "j>=i"]
    text = f"{PARTS}m(i) := mean_j[{mask}, {score}] {VALUES[number % 6]} : {part.choice(DEFAULTS)}\n"
    text += f"l(i) := mean_j[{mask}, {score}] {part.choice(VALUES)} : {part.choice(DEFAULTS)}\n"
    text += f"k(i) := mean_j[{part.choice(masks)}, {part.choice(SELECTED)}] {part.choice(VALUES)} : 1/2\n"
    text += f"u(i) := mean_j[{part.choice(['1', 'j<=i', 'j>=i'])}] {part.choice(VALUES)}\n"
    for index, op in enumerate(OPERATORS):
        sides = part.sample(["m(i)", part.choice(["l(i)", "k(i)", "u(i)", *OTHERS])], 2)
        text += f"y{index}(i) := {sides[0]} {op} {sides[1]}\n"
    return text


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize("mask", ["1", "j<i", "j<=i", "j>i", "j>=i"])
@pytest.mark.parametrize(("number", "score"), list(enumerate(SELECTED)))
def test_means_of_what_a_score_selects(mask: str, number: int, score: str) -> None:
    program = parse_program(selected(mask, number, score, Random(f"{mask} {number}")))
    compiled = compile_program(program)
    assert compiled.guards == ()
    assert agree(program, words_to(program, 5), compiled).compared == 62


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_random_means_of_what_scores_select(seed: int) -> None:
    part = Random(seed)
    text = selected(part.choice(["1", "j<i", "j<=i", "j>i", "j>=i"]), part.randrange(6), part.choice(SELECTED), part)
    program = parse_program(text)
    assert agree(program, words_to(program, 6)).compared == 126


def test_what_is_out_of_range_is_selected_by_nothing() -> None:
    """8s leaves [-n, n]: it equals nothing that is in range, and nothing limits the value."""
    text = f"{PARTS}m(i) := mean_j[1, 8 * s(j) = s(i)] 9 * s(j) + pos(j) : 1\nY(i) := m(i) > 2\n"
    program = parse_program(text)
    compiled = compile_program(program)
    assert [guard.what for guard in compiled.guards] == ["an integer compared in the score"]
    assert agree(program, words_to(program, 6), compiled, beyond=True).compared == 126


REFUSED = [
    ("mean_j[1, s(j) > s(i)] Q_a(j) : 0", "'>' between integers at i and at j has no construction inside a mean", ">"),
    ("mean_j[1, s(j) != s(i)] Q_a(j) : 0", "'!=' between integers at i and at j", "!="),
    ("mean_j[j<i, s(j) = 1 | pos(j) <= s(i)] 1 : 0", "a comparison between integers at i and at j below '|'", "<="),
    ("mean_j[1, Q_a(j) & u(j) < u(i)] s(j) : 0", "a comparison between means at i and at j", "<"),
]


@pytest.mark.parametrize(("right", "message", "place"), REFUSED)
def test_scores_without_a_construction_are_refused_and_run(right: str, message: str, place: str) -> None:
    """The error points at the user's own operator and names an alternative; the oracle runs the program."""
    program = parse_program(f"{PARTS}u(i) := mean_j[1] Q_a(j)\nm(i) := {right}\nY(i) := m(i) > 0\n")
    error = raised(Unsupported, compile_program, program, match=message)
    assert program.source.text[error.span.start : error.span.end] == place
    assert error.hint.endswith("The program can still be run by its definition; it just cannot be compiled.")
    assert ProgramOracle(program).accepts("ab") in (True, False)


@pytest.mark.parametrize(
    ("score", "mask"),
    [
        ("pos(j) < pos(i)", "j<i"),
        ("pos(i) <= pos(j)", "j>=i"),
        ("Q_a(j) & pos(i) > pos(j)", "j<i"),
        ("s(j) < pos(i)", ""),
    ],
)
def test_the_order_of_positions_is_a_mask(score: str, mask: str) -> None:
    """The hint for a score names the mask, if there is one."""
    program = parse_program(f"{PARTS}m(i) := mean_j[1, {score}] Q_a(j) : 0\nY(i) := m(i) > 0\n")
    error = raised(Unsupported, compile_program, program)
    assert error.hint.startswith(f"The order of positions is the mask {mask}." if mask else "'=' works in means")


def test_means_over_different_positions_are_compared() -> None:
    """Two shares have two denominators; so do the prefix and the whole word."""
    head = HEAD.format(mask="1")
    text = f"{head}f(i) := mean_j[j<=i] Q_a(j)\ng(i) := mean_j[j>=i] s(j)\nx(i) := k(i) > f(i)\nY(i) := f(i) = g(i)\n"
    program = parse_program(text)
    assert agree(program, words_to(program, 6)).compared == 126


def test_means_at_two_positions_are_refused_inside_a_score() -> None:
    program = parse_program(f"{HEAD.format(mask='j<=i')}Y(i) := leftmost_j[1, Q_a(j) & k(i) > k(j)] 1 : 0\n")
    error = raised(Unsupported, compile_program, program, match="between means at i and at j")
    assert program.source.text[error.span.start : error.span.end] == ">"
