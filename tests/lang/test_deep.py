"""Trees of the greatest allowed depth: no walk over them uses a level of Python's stack for each of their levels."""

from __future__ import annotations

import pickle
import sys
from copy import deepcopy

import pytest

from hardsim.lang import ast
from hardsim.lang.batch_oracle import BatchOracle
from hardsim.lang.deep import Walk, each, walked
from hardsim.lang.desugar import MOST_LEVELS as MOST_COMPILED_LEVELS
from hardsim.lang.desugar import MOST_OPERATORS
from hardsim.lang.ltl_parser import MAX_LEVELS
from tests.support.language import Oracle, Unsupported, desugar, format_formula, parse_expression, parse_text
from tests.support.mistakes import raised

N = MAX_LEVELS
WORD = "abbab"
LAST_A, LAST_B = "ab" * 3, "ba" * 3

# Formulas and their values at the positions of WORD; N = 5,000 is even, and leaves 2 modulo 3.
DEEP = {
    "not": ("!" * N + "a", [True, False, False, True, False]),
    "a next too far": ("X " * N + "true", [False] * 5),
    "a weak next too far": ("WX " * N + "false", [True] * 5),
    "brackets around each operand": ("F(" * N + "a" + ")" * N, [True, True, True, True, False]),
    # phi U b for any phi that b implies: a until the next b, then b; every position has a b at or after it
    "until, grouped to the right": ("a U (" * N + "b" + ")" * N, [True] * 5),
    # (...(a S b) S b...) S b: true from the first b on; before it there is no witness
    "since, grouped to the left": ("(" * (N - 1) + "a S b" + ") S b" * (N - 1), [False, True, True, True, True]),
    # a -> (a -> ... b): the value of b at an a, true elsewhere
    "implications": ("a -> (" * N + "b" + ")" * N, [False, True, True, False, True]),
    # an even number of `a <->` before b: b itself
    "equivalences": ("a <-> " * N + "b", [False, True, True, False, True]),
    # two kinds of connectives in turn: a & (b | ...) of a at the end is a
    "and, or": ("(a & (b | " * (N // 2) + "a" + "))" * (N // 2), [True, False, False, True, False]),
    # pos + (N - 1) = N + 2 at position 3
    "a sum to the left": ("pos" + " + 1" * (N - 1) + f" = {N + 2}", [False, False, True, False, False]),
    "a sum to the right": (
        "1 + (" * (N - 1) + "pos" + ")" * (N - 1) + f" = {N + 2}",
        [False, False, True, False, False],
    ),
    # an even number of signs, and the comparison
    "signs": ("-" * (N - 2) + "pos = 2", [False, True, False, False, False]),
    # fewer than 2 of a: at the first three positions; fewer than 2 of these: at the first; of these: everywhere; of
    # these: at the first; and so on, in turn: at the first after an even number of counts
    "counts": ("#L[" * (N // 2) + "a" + "] < 2" * (N // 2), [True, False, False, False, False]),
    # there are 5 positions, which is 1 modulo 2, so the next predicate counts all 5 of them
    "predicates of counts": ("MOD(2, 1, #[" * (N // 2) + "true" + "])" * (N // 2), [True] * 5),
    "bounded": ("F[0,2] " * N + "a", [True, True, True, True, False]),
    "to the left and to the right": ("(b | (a & " * (N // 2) + "a" + ")) " * (N // 2), [True] * 5),
}


SHORTER = ("since, grouped to the left",)
"""The kind of depth that every run of the tests tries."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "truth"),
    [pytest.param(*case, id=name, marks=() if name in SHORTER else pytest.mark.slow) for name, case in DEEP.items()],
)
def test_every_walk_reaches_the_bottom(text: str, truth: list[bool]) -> None:
    file = parse_expression(text, "a b")
    again = parse_expression(format_formula(file.formula), "a b")
    assert again.formula == file.formula
    assert hash(again.formula) == hash(file.formula)
    assert repr(again.formula) == repr(file.formula)
    assert Oracle(file).truth(WORD) == truth
    many = BatchOracle(file)
    assert many.truth(many.symbols([WORD, LAST_A[:5]]))[0].tolist() == truth


@pytest.mark.parametrize("copied", [deepcopy, lambda file: pickle.loads(pickle.dumps(file))], ids=["copy", "pickle"])
def test_what_workers_get_is_the_same(copied: object) -> None:
    assert callable(copied)
    file = parse_text("alphabet: a b\nlet x = " + "!" * (N - 4) + "a\n" + "(#L[x] > 1 & MOD(3, 2)) U b")
    found = copied(file)
    assert found == file
    assert [node.span for node in ast.walk(found.formula)] == [node.span for node in ast.walk(file.formula)]


@pytest.mark.slow
def test_definitions_are_as_deep_as_trees() -> None:
    lets = "".join(f"let x{k + 1} = !x{k}\n" for k in range(N))
    file = parse_text(f"alphabet: a b\nlet x0 = a\n{lets}x{N}")
    assert Oracle(file).truth(WORD) == [True, False, False, True, False]
    assert desugar(file).root == desugar(parse_expression("a", "a b")).root


@pytest.mark.slow
def test_one_level_tells_trees_apart() -> None:
    first, other = (parse_expression("!" * N + end, "a b").formula for end in "ab")
    assert first != other
    assert first != parse_expression("!" * (N - 1) + "a", "a b").formula
    assert first != "a"


def test_node_shows_as_it_is_made() -> None:
    tree = ast.Nary("&", (ast.Symbol("a"), ast.Ref("x"), ast.Predicate("EVEN", (), None)))
    assert repr(tree) == (
        "Nary(op='&', args=(Symbol(name='a'), Ref(name='x', index='i', sort=<Sort.BOOL: 'Boolean'>), "
        "Predicate(name='EVEN', params=(), term=None)))"
    )
    assert (
        repr(ast.Bounded("F", 1, 2, (ast.Truth(True),)))
        == "Bounded(op='F', least=1, most=2, args=(Truth(value=True),))"
    )


def test_operators_that_change_nothing_are_compiled_at_any_depth() -> None:
    root = desugar(parse_expression("F a", "a b")).root
    assert desugar(parse_expression("F " * N + "a", "a b")).root == root


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Y " * (MOST_OPERATORS + 1) + "a",
            "1,001 distinct temporal operators, comparisons and predicates, and at most",
        ),
        ("Y " * N + "a", "over 2,000 distinct temporal operators, comparisons and predicates, and at most 1,000"),
        ("#L[" * (N // 2) + "a" + "] > 1" * (N // 2), "over 2,000 distinct"),
    ],
)
def test_more_operators_than_are_compiled(text: str, message: str) -> None:
    raised(Unsupported, desugar, parse_expression(text, "a b"), match=message)


def test_more_levels_than_are_compiled() -> None:
    """Alternating connectives of propositions are not folded: each adds 2 levels, above the 2 of `Y q`."""
    half = MOST_COMPILED_LEVELS // 2
    text = "(p & (Y q | " * half + "q" + "))" * half
    message = "has 3,002 levels, each a layer or two, and at most 3,000 are compiled"
    raised(Unsupported, desugar, parse_expression(text, None, props="p q"), match=message)


def test_a_walk_is_no_recursion() -> None:
    def total(numbers: range) -> Walk[int]:
        if len(numbers) < 2:
            return sum(numbers)
        first, rest = yield each(map(total, (numbers[:1], numbers[1:])))
        return int(first + rest)

    def last(numbers: range) -> Walk[int]:
        yield from ()
        return last(numbers[1:]) if len(numbers) > 1 else numbers[0]

    many = range(10 * sys.getrecursionlimit())
    assert walked(total(many)) == len(many) * (len(many) - 1) // 2
    assert walked(last(many)) == many[-1]
