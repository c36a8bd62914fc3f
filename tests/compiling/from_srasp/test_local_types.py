"""Tests of bounds by local types for integers of programs: they hold on every word, and integers that leave [-n, n] are
not claimed to stay.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from flint import fmpq_mpoly
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.compiling.from_srasp.local import TooManyTypes
from hardsim.compiling.from_srasp.ranges import Ranges
from hardsim.lang import ast
from tests.support.language import ProgramOracle, parse_arith, parse_program
from tests.support.model import compile_program
from tests.support.srasp_strategies import Shape, programs
from tests.support.subjects import FORMULAS

SHIPPED = sorted(path.name for path in FORMULAS.glob("*.srasp"))
PADS = (None, None, "len", "2*len", "len+1", "len*len", "len*(len+1)/2", "len+len div 2")
"""Lengths to which words are padded; the last is no polynomial."""
NOTHING = Fraction(-(10**9))
"""A number below all integers of these programs: the largest value of what does not occur."""


def reference(program: ast.SraspProgram, name: str) -> ast.Ref:
    """Return a reference to a vector of integers, at i."""
    assert program.vectors[name].sort is ast.Sort.INT
    return ast.Ref(name, "i", ast.Sort.INT)


class Claims:
    """The claims about the integer vectors of a program: which vectors stay in range, and bounds, each of which holds
    for a type of positions.
    """

    def __init__(self, program: ast.SraspProgram) -> None:
        self.names = [one.name for one in program.statements if one.sort is ast.Sort.INT]
        self.ranges = Ranges(program)
        self.held = {name: self.ranges.require(reference(program, name)) for name in self.names}
        self._bounds: dict[tuple[str, int, bool], list[list[tuple[fmpq_mpoly, ...]]]] = {}
        for name, sign, inside in product(self.names, (1, -1), self.ranges.lengths.sides):
            try:
                found = list(self.ranges.bounds(reference(program, name), sign, inside, lambda pieces: False))
            except TooManyTypes:
                found = [[]]
            self._bounds[name, sign, inside] = found

    def above(self, name: str, sign: int, i: int, length: int, n: int) -> Fraction | None:
        """Return the least number that a vector (or its negation, `sign` -1) is claimed not to exceed, None without a
        claim.
        """
        types = self._bounds[name, sign, i <= length]
        if not all(types):
            return None
        found = [
            min(max((Fraction(str(piece(i, 0, 0, length, n))) for piece in pieces), default=NOTHING) for pieces in one)
            for one in types
        ]
        return max(found, default=NOTHING)


def words(program: ast.SraspProgram, most: int, longest: int) -> Iterator[list[tuple[str, ...]]]:
    """Yield all words of each length that has at most `most` words."""
    for length in range(1, longest + 1):
        if len(program.alphabet) ** length <= most:
            yield list(product(program.alphabet, repeat=length))


def require(program: ast.SraspProgram, most: int = 40, longest: int = 4) -> Claims:
    """Assert on all these words that the integers satisfy the claims."""
    claims, oracle = Claims(program), ProgramOracle(program)
    for some in words(program, most, longest):
        runs = [oracle.run(word) for word in some]
        for name in claims.names:
            length, n = len(some[0]), len(runs[0][name])
            for i in range(1, n + 1):
                values = [int(run[name][i - 1]) for run in runs]
                assert not claims.held[name] or max(map(abs, values)) <= n
                for sign in (1, -1):
                    bound = claims.above(name, sign, i, length, n)
                    assert bound is None or max(sign * value for value in values) <= bound
    return claims


# ---- shipped programs ----


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_shipped_stays_in_range(name: str) -> None:
    program = parse_program((FORMULAS / name).read_bytes(), name)
    require(program)
    compiled = compile_program(program)
    assert (compiled.warnings, compiled.guards) == ((), ())


def test_the_depth_of_brackets_is_bounded_by_what_it_can_be() -> None:
    """After i opening brackets the depth is i; where i brackets close, the last of them is at depth -(i - 1)."""
    program = parse_program((FORMULAS / "dyck2.srasp").read_bytes(), "dyck2.srasp")
    claims, oracle = Claims(program), ProgramOracle(program)
    for n in range(1, 6):
        runs = [oracle.run(symbol * n)["depth"] for symbol in "()"]
        for i in range(1, n + 1):
            assert [claims.above("depth", sign, i, n, n) for sign in (1, -1)] == [i, i - 1]
            assert [run[i - 1] for run in runs] == [i, 1 - i]


# ---- random programs ----


def check_random(program: ast.SraspProgram, pad: str | None, longest: int) -> None:
    require(program if pad is None else replace(program, pad=parse_arith(pad, ("len",))), longest=longest)


QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck))
ANY = st.sampled_from(PADS)
MANY = Shape(vectors=7, output=ast.Sort.INT)


@st.composite
def sums(draw: st.DrawFn) -> ast.SraspProgram:
    """Draw programs with many sums and counts, attention that reads integers, and gates and weights that use its
    results.
    """
    known: dict[str, list[str]] = {"bool": [], "int": [], "symbol": []}

    def pick(*options: str) -> str:
        return draw(st.sampled_from(options))

    def boolean(x: str, depth: int = 2) -> str:
        kinds = ["symbol"] + ["vector"] * bool(known["bool"]) + ["named"] * bool(known["symbol"])
        kind = pick(*kinds, *(["compare", "not", "join", "join"] if depth else []))
        match kind:
            case "vector":
                return f"{pick(*known['bool'])}({x})"
            case "named":
                return f"{pick(*known['symbol'])}({x}) {pick('=', '!=')} '{pick('a', 'b')}'"
            case "compare":
                return f"({integer(x, 1)} {pick('<', '<=', '=', '>')} {integer(x, 1)})"
            case "not":
                return f"!({boolean(x, depth - 1)})"
            case "join":
                return f"({boolean(x, depth - 1)} {pick('&', '|')} {boolean(x, depth - 1)})"
            case _:
                return f"Q_{pick('a', 'b')}({x})"

    def integer(x: str, depth: int = 2) -> str:
        leaves = [f"pos({x})", f"len({x})", "0", "1", "3", *(f"{name}({x})" for name in known["int"] * 2)]
        if not depth:
            return pick(*leaves)
        match pick("leaf", "sum", "sum", "gate", "weigh", "multiple"):
            case "sum":
                return f"({integer(x, depth - 1)} {pick('+', '-')} {integer(x, depth - 1)})"
            case "gate":
                return f"({boolean(x, depth - 1)} ? {integer(x, depth - 1)} : {integer(x, depth - 1)})"
            case "weigh":
                return f"({boolean(x, depth - 1)} ? {pick('0', '1', '2', '3')} : 0 - {pick('0', '1', '2')})"
            case "multiple":
                return f"({pick('2', '-1', '-2')} * {integer(x, depth - 1)})"
            case _:
                return pick(*leaves)

    def number(x: str, depth: int = 2) -> str:
        """Draw an integer as the whole value of a vector: alone, 0 and 1 would be truth values."""
        text = integer(x, depth)
        return f"{text} + 0" if text in ("0", "1") else text

    def line(name: str) -> tuple[str, str]:
        mask, side = pick("1", "j<i", "j<=i", "j>i", "j>=i"), pick("leftmost", "rightmost")
        score = pick("1", "1", boolean("j"), f"{boolean('j')} & {boolean('i')}", "in(j) = in(i)")
        match pick("psum", "psum", "count", "read", "read", "gate", "bool", "symbol"):
            case "psum":
                return "int", f"{name}(i) := psum_j[j<=i] ({integer('j')})"
            case "count":
                return "int", f"{name}(i) := count_j[{mask}, {score}]"
            case "read":
                value = pick(number("j"), f"{integer('j', 1)} + {integer('i', 1)}")
                return "int", f"{name}(i) := {side}_j[{mask}, {score}] {value} : {pick('0', 'len(i)', integer('i', 1))}"
            case "gate":
                return "int", f"{name}(i) := {number('i', 3)}"
            case "bool":
                return "bool", f"{name}(i) := {side}_j[{mask}, {score}] {pick('1', boolean('j'))} : {pick('0', '1')}"
            case _:
                return "symbol", f"{name}(i) := {side}_j[{mask}, {score}] in(j) : '{pick('a', 'b')}'"

    lines = ["alphabet: a b"]
    for place in range(draw(st.integers(2, 6))):
        sort, text = line(f"v{place}")
        lines.append(text)
        known[sort].append(f"v{place}")
    return parse_program("\n".join(lines))


@settings(QUICK, max_examples=15)
@given(programs(MANY), ANY)
def test_random_programs(program: ast.SraspProgram, pad: str | None) -> None:
    check_random(program, pad, 3)


@settings(QUICK, max_examples=15)
@given(sums(), ANY)
def test_random_sums(program: ast.SraspProgram, pad: str | None) -> None:
    check_random(program, pad, 3)


@pytest.mark.slow
@settings(QUICK, max_examples=400)
@given(st.one_of(programs(MANY), sums(), sums()), ANY)
def test_many_random_programs(program: ast.SraspProgram, pad: str | None) -> None:
    check_random(program, pad, 4)


# ---- one rule each, and what it must not show ----

CASES = {
    # A closing bracket adds 1 where the sum is less by one; the wrong program adds 1 where the sum is greater by one.
    "joint types": (
        "s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)\nv(i) := s(i) + (Q_a(i) ? 0 : 1)",
        "s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)\nv(i) := s(i) + (Q_a(i) ? 1 : 0)",
    ),
    # Sums over j < i, over all j, and over 1..i: a's in the whole word and b's so far are at most n together.
    "several masks": (
        "a(i) := psum_j[j<=i] Q_a(j)\nb(i) := psum_j[j<=i] Q_b(j)\nall(i) := rightmost_j[1, 1] a(j) : 0\n"
        "v(i) := all(i) + b(i)",
        "a(i) := psum_j[j<=i] Q_a(j)\nb(i) := psum_j[j<=i] Q_b(j)\nall(i) := rightmost_j[1, 1] a(j) : 0\n"
        "v(i) := all(i) + b(i) + (Q_b(i) ? 1 : 0)",
    ),
    "the position before": (
        "a(i) := psum_j[j<=i] Q_a(j)\np(i) := rightmost_j[j<i, 1] a(j) : 0\nv(i) := p(i) + 1",
        "a(i) := psum_j[j<=i] Q_a(j)\np(i) := rightmost_j[j<i, 1] a(j) : 0\nv(i) := p(i) + a(i)",
    ),
    "counts": (
        "s(i) := count_j[j<i, in(j) = in(i)]\nd(i) := count_j[1, in(j) != in(i)]\nv(i) := s(i) + d(i) + 1",
        "s(i) := count_j[j<=i, in(j) = in(i)]\nd(i) := count_j[1, in(j) != in(i)]\nv(i) := s(i) + d(i) + 1",
    ),
    # From the mark before i to the one after it.
    "what attention reads": (
        "l(i) := rightmost_j[j<i, Q_a(j)] pos(j) : 0\nr(i) := leftmost_j[j>i, Q_a(j)] pos(j) - 1 : len(i)\n"
        "v(i) := l(i) + r(i) + 1 - pos(i)",
        "l(i) := rightmost_j[j<i, Q_a(j)] pos(j) : 0\nr(i) := leftmost_j[j>i, Q_a(j)] pos(j) : len(i)\n"
        "v(i) := l(i) + r(i) + 1 - pos(i) + (Q_b(i) ? 1 : 0)",
    ),
    "equal results": (
        "l(i) := rightmost_j[j<i, Q_a(j)] pos(j) : 0\nu(i) := pos(i) + l(i)\nv(i) := u(i) - l(i)",
        "l(i) := rightmost_j[j<i, Q_a(j)] pos(j) : 0\nu(i) := pos(i) + l(i)\nv(i) := u(i) + l(i)",
    ),
    "the same j": (
        "s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)\nm(i) := rightmost_j[j<=i, Q_b(j)] s(j) : 0\nv(i) := s(i) - m(i)",
        "s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)\nm(i) := leftmost_j[j>=i, Q_b(j)] s(j) : 0\nv(i) := s(i) + m(i)",
    ),
    # Blocks end at b: a place is where the block begins, plus the a in it.
    "two vectors of the same j": (
        "a(i) := psum_j[j<=i] Q_a(j)\np(i) := rightmost_j[j<i, Q_b(j)] pos(j) : 0\n"
        "q(i) := rightmost_j[j<i, Q_b(j)] a(j) : 0\nv(i) := p(i) + a(i) - q(i)",
        "a(i) := psum_j[j<=i] Q_a(j)\np(i) := rightmost_j[j<i, Q_b(j)] pos(j) : 0\n"
        "q(i) := leftmost_j[j<i, Q_b(j)] a(j) : 0\nv(i) := p(i) + a(i) - q(i)",
    ),
    # From the b before i to the one after it, i between them or the latter.
    "two j": (
        "s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)\nall(i) := rightmost_j[1, 1] s(j) : 0\n"
        "p(i) := rightmost_j[j<i, Q_b(j)] s(j) : 0\nq(i) := leftmost_j[j>=i, Q_b(j)] s(j) : all(i)\n"
        "v(i) := q(i) - p(i)",
        "s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)\nall(i) := rightmost_j[1, 1] s(j) : 0\n"
        "p(i) := rightmost_j[j<i, Q_b(j)] s(j) : 0\nq(i) := leftmost_j[j>=i, Q_b(j)] s(j) : all(i)\n"
        "v(i) := q(i) + p(i)",
    ),
    "guards": ("v(i) := 2 * pos(i) <= len(i) ? 2 * pos(i) : 0", "v(i) := 2 * pos(i) <= len(i) + 1 ? 2 * pos(i) : 0"),
    "other branches": (
        "c(i) := psum_j[j<=i] Q_a(j)\nu(i) := pos(i) + c(i)\nv(i) := u(i) > len(i) ? len(i) : u(i)",
        "c(i) := psum_j[j<=i] Q_a(j)\nu(i) := pos(i) + c(i)\nv(i) := u(i) > len(i) + 1 ? len(i) : u(i)",
    ),
    "padding": (
        "pad: 2*len\nv(i) := in(i) = '#' ? 0 : 2 * pos(i)",
        "pad: 2*len\nv(i) := in(i) = '#' ? 0 : 2 * pos(i) + 1",
    ),
    "padding of no polynomial": (
        "pad: len + len div 2\nv(i) := psum_j[j<=i] in(j) != '#'",
        "pad: len + len div 2\nv(i) := psum_j[j<=i] (in(j) != '#' ? 2 : 0)",
    ),
    # (L + 1) L of L positions
    "weights that grow": (
        "pad: len*len + len\nl(i) := rightmost_j[1, in(j) != '#'] pos(j) : 0\n"
        "v(i) := psum_j[j<=i] (in(j) != '#' ? l(j) + 1 : 0)",
        "pad: len*len + len - 1\nl(i) := rightmost_j[1, in(j) != '#'] pos(j) : 0\n"
        "v(i) := psum_j[j<=i] (in(j) != '#' ? l(j) + 1 : 0)",
    ),
    # 1 + 2 + ... + L
    "sums of positions": (
        "pad: len*(len+1)/2\nv(i) := psum_j[j<=i] (in(j) != '#' ? pos(j) : 0)",
        "pad: len*(len+1)/2\nv(i) := psum_j[j<=i] pos(j)",
    ),
    # Every b after an a weighs four: 4 of two positions.
    "neighbours": (
        "pad: 2*len\np(i) := rightmost_j[j<i, 1] in(j) : 'b'\nv(i) := psum_j[j<=i] (Q_b(j) & p(j) = 'a' ? 4 : 0)",
        "pad: 2*len\np(i) := rightmost_j[j<i, 1] in(j) : 'a'\nv(i) := psum_j[j<=i] (Q_b(j) & p(j) = 'a' ? 4 : 0)",
    ),
    # Every a before a b weighs three: 3 of two positions, and of one.
    "neighbours to come": (
        "pad: 2*len + 1\np(i) := leftmost_j[j>i, 1] in(j) : 'a'\nv(i) := psum_j[j<=i] (Q_a(j) & p(j) = 'b' ? 3 : 0)",
        "pad: 2*len + 1\np(i) := leftmost_j[j>i, 1] in(j) : 'a'\nv(i) := psum_j[j<=i] (Q_b(j) & p(j) = 'b' ? 3 : 0)",
    ),
    "what happened before": (
        "p(i) := leftmost_j[j<i, Q_a(j)] 1 : 0\nv(i) := psum_j[j<=i] (Q_a(j) & !p(j) ? 1 : 0)",
        "p(i) := leftmost_j[j<i, Q_a(j)] 1 : 0\nv(i) := psum_j[j<=i] (Q_a(j) & !p(j) ? 2 : 0)",
    ),
}


def program_of(lines: str) -> ast.SraspProgram:
    """Parse a program over a and b with a vector v."""
    return parse_program(f"alphabet: a b\n{lines}\n")


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_shows_what_it_should(rule: str) -> None:
    assert require(program_of(CASES[rule][0]), most=70, longest=6).held["v"]


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_does_not_show_what_is_wrong(rule: str) -> None:
    """Some short word takes v out of range."""
    program = program_of(CASES[rule][1])
    oracle = ProgramOracle(program)
    runs = (oracle.run(word)["v"] for some in words(program, 70, 6) for word in some)
    assert any(max(abs(int(value)) for value in values) > len(values) for values in runs)
    assert not require(program, most=70, longest=6).held["v"]


@pytest.mark.parametrize(
    "line",
    [
        "v{}(i) := psum_j[j<=i] v{}(j)",
        "v{}(i) := v{}(i) > 2 ? v0(i) + 1 : v0(i) - 1",
        "v{}(i) := leftmost_j[j>i, Q_b(j)] v{}(j) : 0",
    ],
)
def test_what_is_too_large_is_not_shown_anything(line: str) -> None:
    """Sums of sums, gates in gates and attention to attention, to a depth at which recursion would fail."""
    lines = ["v0(i) := psum_j[j<=i] Q_a(j)", *(line.format(number, number - 1) for number in range(1, 250))]
    program = program_of("\n".join(lines))
    assert not Ranges(program).require(reference(program, "v249"))


def test_what_leaves_the_range_is_still_watched() -> None:
    """A guard remains in both places that need one: a prefix sum, and a side of a comparison in a score."""
    for rule, (right, wrong) in CASES.items():
        last = "Y(i) := leftmost_j[1, v(j) = pos(i)] 1 : 0"
        assert compile_program(program_of(f"{right}\n{last}")).guards == (), rule
        assert {guard.vector for guard in compile_program(program_of(f"{wrong}\n{last}")).guards} & {"v", "Y"}, rule
