"""Counts in the core: constants that the constructors fold and divide, compared with sums over all small counts."""

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.lang.core import And, AtLeast, Core, CoreBuilder, CountOf, Lit, Numeric, Reach, Xor, operands
from tests.support.language import SourceError, Unsupported, desugar, parse_expression, parse_text
from tests.support.mistakes import raised

VALUES = range(8)
"""Values of a count: here from 0 to 7."""

Counts = Mapping[CountOf, int]


def fresh() -> tuple[CoreBuilder, list[CountOf]]:
    """Return a builder over {a, b}, and three counts that are independent of one another."""
    builder = CoreBuilder(("a", "b"))
    a, b = builder.letters("a"), builder.letters("b")
    return builder, [CountOf("L", a), CountOf("R", b), CountOf("", a)]


def holds(builder: CoreBuilder, lit: Lit, counts: Counts) -> bool:
    """Evaluate a literal made of constants, comparisons and MODs, for these values of the counts."""
    node = builder.nodes[lit.node]
    match node:
        case AtLeast(terms, constant):
            value = sum(coefficient * counts[count] for coefficient, count in terms) + constant >= 0
        case Numeric("MOD", (modulus, residue), scale, count, offset):
            value = (scale * counts[count] + offset) % modulus == residue
        case And(args):
            value = all(holds(builder, arg, counts) for arg in args)
        case Xor(left, right):
            value = holds(builder, Lit(left), counts) != holds(builder, Lit(right), counts)
        case _:
            assert lit in (builder.true, builder.false)
            value = True
    return value != lit.negated


# ---- comparisons ----


@given(st.lists(st.integers(-12, 12), min_size=0, max_size=3), st.integers(-40, 40))
def test_at_least_says_what_the_inequality_says(coefficients: list[int], constant: int) -> None:
    builder, counts = fresh()
    chosen = counts[: len(coefficients)]
    lit = builder.at_least(dict(zip(chosen, coefficients, strict=True)), constant)
    for values in product(VALUES, repeat=len(chosen)):
        expected = sum(k * value for k, value in zip(coefficients, values, strict=True)) + constant >= 0
        assert holds(builder, lit, dict(zip(chosen, values, strict=True))) is expected


@pytest.mark.parametrize(
    ("coefficients", "constant", "kept"),
    [
        # 6x - 4y + 3 >= 0 iff 3x - 2y >= -3/2 iff 3x - 2y + 1 >= 0 (rounded down)
        ((6, -4), 3, ((3, -2), 1)),
        ((6, -4), -3, ((3, -2), -2)),
        ((6, -4), 0, ((3, -2), 0)),
        ((5, 0), -11, ((1,), -3)),
        ((-5, 0), 11, ((-1,), 2)),
        ((7, 3), -1, ((7, 3), -1)),
    ],
)
def test_coefficients_are_divided_by_their_gcd_and_zeros_dropped(
    coefficients: tuple[int, int], constant: int, kept: tuple[tuple[int, ...], int]
) -> None:
    builder, counts = fresh()
    lit = builder.at_least(dict(zip(counts, coefficients, strict=False)), constant)
    node = builder.nodes[lit.node]
    assert isinstance(node, AtLeast)
    assert not lit.negated
    assert {count: value for value, count in node.terms} == dict(zip(counts, kept[0], strict=False))
    assert node.constant == kept[1]


@pytest.mark.parametrize(
    ("coefficients", "constant", "expected"),
    [
        ((), 0, True),
        ((), -1, False),
        ((0, 0), 5, True),
        ((2, 3), 0, True),  # no count is negative
        ((-2, -3), -1, False),
        ((2, 3), -1, None),
        ((-2, -3), 0, None),  # true where both counts are 0
        ((2, -3), 100, None),
    ],
)
def test_what_holds_of_all_counts_or_of_none_is_constant(
    coefficients: tuple[int, ...], constant: int, expected: bool | None
) -> None:
    builder, counts = fresh()
    lit = builder.at_least(dict(zip(counts, coefficients, strict=False)), constant)
    assert {builder.true: True, builder.false: False}.get(lit) is expected


def test_a_count_of_false_is_0() -> None:
    builder, (count, *_) = fresh()
    nothing = CountOf("R", builder.false)
    assert builder.at_least({nothing: 7}, 0) == builder.true
    assert builder.at_least({nothing: 7}, -1) == builder.false
    assert builder.at_least({nothing: 7, count: 2}, -3) == builder.at_least({count: 1}, -2)
    assert builder.congruent({nothing: 1}, 4, 3, 1) == builder.true


def test_equal_comparisons_are_one_node() -> None:
    builder, (x, y, _) = fresh()
    assert builder.at_least({x: 2, y: -2}, 1) == builder.at_least({y: -5, x: 5}, 4)
    assert builder.at_least({x: 1, y: -1}, 0) != builder.at_least({x: 1, y: -1}, -1)


# ---- congruences ----


@given(st.lists(st.integers(-7, 7), min_size=0, max_size=3), st.integers(-9, 9), st.integers(1, 5), st.data())
def test_congruent_says_what_the_congruence_says(
    coefficients: list[int], constant: int, modulus: int, data: st.DataObject
) -> None:
    residue = data.draw(st.integers(0, modulus - 1))
    builder, counts = fresh()
    chosen = counts[: len(coefficients)]
    lit = builder.congruent(dict(zip(chosen, coefficients, strict=True)), constant, modulus, residue)
    for values in product(range(6), repeat=len(chosen)):
        total = sum(k * value for k, value in zip(coefficients, values, strict=True)) + constant
        assert holds(builder, lit, dict(zip(chosen, values, strict=True))) is ((total - residue) % modulus == 0)


def test_one_count_is_one_node_and_several_take_at_most_one_a_residue_and_count() -> None:
    builder, (x, y, z) = fresh()

    def tables() -> int:
        return sum(isinstance(node, Numeric) for node in builder.nodes)

    builder.congruent({x: 3}, 1, 1000, 7)
    single = builder.nodes[-1]
    assert isinstance(single, Numeric)
    assert single.scale == 3
    before = tables()
    builder.congruent({x: 1, y: 1, z: 1}, 0, 7, 3)
    assert tables() - before <= 3 * 7


def test_multiples_of_the_modulus_vanish() -> None:
    builder, (x, y, _) = fresh()
    assert builder.congruent({x: 6, y: -3}, 2, 3, 2) == builder.true
    assert builder.congruent({x: 6, y: -3}, 2, 3, 1) == builder.false
    assert builder.congruent({x: 5}, 0, 1, 0) == builder.true


# ---- positions and lengths ----


def core(text: str) -> Core:
    return desugar(parse_expression(text, ["a", "b"]))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("pos > 2", "#L[true] > 2"),
        ("pos > 2", "#L[a | b] > 2"),
        ("len = 3", "#[true] = 3"),
        ("PRIME", "PRIME(pos)"),
        ("EVEN", "(pos) mod 2 = 0"),
        ("ODD(#[a])", "MOD(2, 1, #[a])"),
        ("#L[a] < #L[b]", "#L[b] - #L[a] >= 1"),
        ("2 * #[a] > #[b] + #[a]", "#[a] - #[b] >= 1"),
        ("#[a] != #[b]", "!(#[a] <= #[b] & #[b] <= #[a])"),
        ("#L[a] - #L[a] >= 0", "true"),
        ("2 > 3", "false"),
        ("#R[a] >= 0", "true"),
        ("#R[a & b] = 0", "true"),
    ],
)
def test_two_spellings_have_one_core(text: str, same: str) -> None:
    one, other = core(text), core(same)
    assert live_nodes(one) == live_nodes(other)
    assert one.root.negated == other.root.negated


def live_nodes(found: Core) -> list[str]:
    """Return the nodes below the root, with the text of operands in place of their numbers."""
    texts: dict[int, str] = {}
    for number in found.live:
        node = found.nodes[number]
        inner = [texts[operand] for operand in operands(node)]
        match node:
            case AtLeast(terms, constant):
                sides = sorted(
                    (count.side, value, inner[place], count.arg.negated) for place, (value, count) in enumerate(terms)
                )
                texts[number] = f"{sides} + {constant}"
            case Numeric(name, params, scale, count, offset):
                texts[number] = f"{name}{params}({scale} {count.side}[{count.arg.negated} {inner}] + {offset})"
            case And(args):
                texts[number] = f"and {sorted(zip(inner, [arg.negated for arg in args], strict=True))}"
            case Reach() | Xor():
                raise AssertionError(node)
            case _:
                texts[number] = str(node)
    return sorted(texts[number] for number in found.live)


def test_the_only_terms_of_positions_and_lengths_are_counts_of_true() -> None:
    found = core("2*pos = len")
    terms = [node.terms for node in found.nodes if isinstance(node, AtLeast)]
    true = next(Lit(number) for number in found.live if not operands(found.nodes[number]))
    assert sorted(sorted((value, count.side) for value, count in each) for each in terms) == [
        [(-2, "L"), (1, "")],
        [(-1, ""), (2, "L")],
    ]
    assert {count.arg for each in terms for _, count in each} == {true}


def test_a_predicate_of_a_constant_is_still_a_predicate() -> None:
    """A user's predicate may depend on n, so it cannot be folded."""
    found = desugar(parse_text("alphabet: a b\npred HALF(i, n) = 2*i == n\nHALF(3)\n"))
    node = found.nodes[found.root.node]
    assert isinstance(node, Numeric)
    assert (node.name, node.scale, node.offset) == ("HALF", 0, 3)


# ---- refusals ----


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("b & PRIME(#L[a] + #R[b])", "PRIME of a sum of several counts has no construction", 5),
        ("SQUARE(#L[a] - pos)", "SQUARE of a sum of several counts has no construction", 1),
        ("(#L[a] + #R[b]) mod 65 = 1", "a congruence of several counts modulo 65 would take 65 heads", 17),
        ("MOD(100, 3, #L[a] + #R[b])", "a congruence of several counts modulo 100 would take 100 heads", 1),
    ],
)
def test_predicates_of_sums_are_refused_by_name(text: str, message: str, column: int) -> None:
    caught = raised(Unsupported, core, text)
    assert isinstance(caught, SourceError)
    assert str(caught).startswith(f"<expression>:1:{column}: error: {message}")
    assert caught.exit_code == 2


@pytest.mark.parametrize("text", ["PRIME(#L[a] + #L[a] + 1)", "(#L[a]) mod 65 = 1", "(#L[a] + #R[b]) mod 64 = 1"])
def test_their_neighbours_are_not_refused(text: str) -> None:
    assert core(text).live
