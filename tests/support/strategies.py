"""Random formulas and words for property-based tests."""

from collections.abc import Sequence
from itertools import product

from hypothesis import strategies as st

from hardsim.lang import ast

PAST_UNARY: tuple[ast.UnaryOp, ...] = ("Y", "WY", "O", "H")
FUTURE_UNARY: tuple[ast.UnaryOp, ...] = ("X", "WX", "F", "G")
PAST_BINARY: tuple[ast.BinaryOp, ...] = ("S", "T")
FUTURE_BINARY: tuple[ast.BinaryOp, ...] = ("U", "R", "W", "M")


def formulas(alphabet: Sequence[str], depth: int, future: bool = True) -> st.SearchStrategy[ast.Formula]:
    """Draw formulas of temporal logic with at most `depth` levels of operators; without `future`, past operators
    only.
    """
    markers: list[ast.Formula] = [ast.Marker("first"), *([ast.Marker("last")] if future else [])]
    atoms: st.SearchStrategy[ast.Formula] = st.sampled_from(
        [*map(ast.Symbol, alphabet), *map(ast.Symbol, alphabet), ast.Truth(True), ast.Truth(False), *markers]
    )
    unary = PAST_UNARY + (FUTURE_UNARY if future else ())
    binary = PAST_BINARY + (FUTURE_BINARY if future else ())
    result = atoms
    for _ in range(depth):
        arg = result
        result = st.one_of(
            atoms,
            st.builds(ast.Not, arg),
            st.builds(ast.Nary, st.sampled_from(["&", "|", "^"]), st.lists(arg, min_size=2, max_size=3).map(tuple)),
            st.builds(ast.Arrow, st.sampled_from(["->", "<->"]), arg, arg),
            st.builds(ast.Unary, st.sampled_from(unary), arg),
            st.builds(ast.Unary, st.sampled_from(unary), arg),
            st.builds(ast.Binary, st.sampled_from(binary), arg, arg),
            st.builds(ast.Binary, st.sampled_from(binary), arg, arg),
        )
    return result


def all_words(alphabet: Sequence[str], longest: int) -> list[tuple[str, ...]]:
    """Return every word of length 1 to `longest`, shortest first."""
    return [word for n in range(1, longest + 1) for word in product(alphabet, repeat=n)]
