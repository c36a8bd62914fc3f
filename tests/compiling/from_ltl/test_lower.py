"""Tests of the shape of compiled programs: depth, sharing, refusals."""

import pytest

from hardsim.compiling.from_ltl.lower import lower
from hardsim.program.regimes import NAMED
from tests.support.language import Unsupported, desugar, parse_expression, parse_text
from tests.support.model import REGIMES, Affine, Program


def program(text: str, regime: str = "temperature") -> Program:
    return lower(desugar(parse_expression(text, ["a", "b", "c"])), NAMED[regime])


@pytest.mark.parametrize(
    ("text", "layers", "heads"),
    [
        ("a", 0, 0),
        ("a -> b", 0, 0),  # a function of the symbol is a column of the embedding
        ("first", 1, 1),
        ("last", 1, 1),
        ("Y a", 2, 3),  # after the marker, two heads
        ("X a", 2, 3),
        ("a S b", 1, 1),
        ("a U b", 1, 1),
        ("O a & O b", 2, 2),  # two heads share a layer, the conjunction has one without attention
        ("(Y a) S b", 3, 4),  # marker, Y with the disjunction !Y a | b, S
        ("O (a & Y b) & Y b", 4, 4),  # Y b is compiled once, for a conjunction after it and one in the layer of O
        # Both conjunctions with the comparison are in its layer: one layer less, with one parameter less in all than
        # if each had its own.
        ("O ((#L[a] > #L[b]) & b) & #L[a] > #L[b]", 4, 9),
        ("H a", 1, 1),  # the negation costs nothing
        ("a W b", 1, 1),
        ("F F a", 1, 1),
    ],
)
def test_depth_and_heads(text: str, layers: int, heads: int) -> None:
    found = program(text)
    assert (len(found.layers), len(found.heads)) == (layers, heads)


def test_first_is_compiled_as_once_first_and() -> None:
    file = parse_text("alphabet: a b\nat: first\nF a\n")
    assert len(lower(desugar(file), REGIMES["temperature"]).heads) == 3  # F, first, O


@pytest.mark.parametrize("regime", ["causal-temperature", "causal-position"])
@pytest.mark.parametrize(
    ("text", "operator", "column"),
    [
        ("Y a & G b", "G", 7),
        ("O (a U b)", "U", 6),
        ("X a", "X", 1),
        ("H (a -> last)", "last", 9),
        ("WX true & (a | F b)", "F", 16),
    ],
)
def test_future_operators_are_refused_by_name(regime: str, text: str, operator: str, column: int) -> None:
    with pytest.raises(Unsupported) as caught:
        program(text, regime)
    message = str(caught.value)
    assert message.startswith(f"<expression>:1:{column}: error: '{operator}' looks ahead, but regime '{regime}'")
    assert "temperature, position" in message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "able"),
    [
        ("#[a] > #[b]", "temperature, position, layer-norm, rounded"),
        ("#R[a] > #R[b]", "temperature, position"),
        ("#[a] > #L[b]", "temperature, position"),
        ("F a", "temperature, position"),
        ("last", "temperature, position"),
    ],
)
def test_the_regimes_that_are_named_have_a_construction(text: str, able: str) -> None:
    """Every regime that a refusal names computes the formula, and no other does."""
    with pytest.raises(Unsupported) as caught:
        program(text, "causal-position")
    assert caught.value.hint.startswith(f"The regimes that can compute the whole formula: {able}. Past operators")
    for name in ("temperature", "position", "layer-norm", "rounded"):
        if name in able.split(", "):
            program(text, name)
        else:
            with pytest.raises(Unsupported):
                program(text, name)


def test_affine_forms_print() -> None:
    assert str(Affine.of({"x": 2, "1": -1, "y": -1})) == "2 x - y - 1"
    assert str(Affine()) == "0"
    assert Affine.of([("x", 1), ("x", -1)]) == Affine()
