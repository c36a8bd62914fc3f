"""Linear forms of columns against sums written out, in balls and in rationals."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hardsim.run.arithmetic import Column, linear
from hardsim.run.ball import BallArithmetic, lower, upper

RATIONALS = st.fractions(-9, 9, max_denominator=7)
VALUES = st.one_of(st.integers(-3, 3), RATIONALS)


@given(
    st.lists(st.tuples(VALUES, st.lists(VALUES, min_size=3, max_size=3), st.booleans()), max_size=4),
    VALUES,
)
def test_forms_are_sums_of_multiples(parts: list[tuple[Fraction, list[Fraction], bool]], bias: Fraction) -> None:
    """Columns of balls are made of rationals, so that the sums are known."""
    arithmetic = BallArithmetic(128)
    with arithmetic.precision():
        columns = [Column([0, 0, 0])]
        for _, values, exact in parts:
            columns.append(Column(values) if exact else Column([arithmetic.number(value) for value in values], False))
        form = [(number, coefficient) for number, (coefficient, _, _) in enumerate(parts, start=1)]
        found = linear(arithmetic, tuple(form), columns, bias)
    assert found.exact is all(exact for _, _, exact in parts)
    for place, value in enumerate(found.values):
        expected = bias + sum((coefficient * values[place] for coefficient, values, _ in parts), Fraction(0))
        if found.exact:
            assert value == expected
            assert type(value) in (int, Fraction)
        else:
            assert lower(value) <= expected <= upper(value)
            assert upper(value) - lower(value) < Fraction(1, 2**100)
