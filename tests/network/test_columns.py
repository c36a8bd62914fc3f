"""Predicate columns of the position encoding, compared with the definitions and the oracle's predicates, and as
text.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.lang import predicate
from hardsim.network.columns import (
    BUILT_IN,
    KEPT,
    LARGEST_PRIME,
    PositionFunction,
    UserPredicate,
    parse_column,
    real_row,
)
from tests.support.language import OutOfRange, SourceError, parse_arith
from tests.support.model import PredicateColumn

VALUES = range(-5, 3001)


def column(name: str, *params: int, of_i: int = 1, of_n: int = 0, offset: int = 0) -> PredicateColumn:
    return PredicateColumn(name, params, of_i, of_n, offset)


def where(name: str, *params: int) -> set[int]:
    """Return the values at which a column is 1; assert that it is 0 at all others."""
    found = {value: column(name, *params).evaluate(i=value, n=1) for value in VALUES}
    assert set(found.values()) == {Fraction(0), Fraction(1)}
    return {value for value, entry in found.items() if entry == 1}


def test_primes_are_what_the_sieve_leaves() -> None:
    left = set(range(2, VALUES.stop))
    for divisor in range(2, VALUES.stop):
        left -= set(range(2 * divisor, VALUES.stop, divisor))
    assert where("PRIME") == left


def test_squares_and_powers_are_what_multiplication_gives() -> None:
    assert where("SQUARE") == {k * k for k in range(60) if k * k in VALUES}
    assert where("POW2") == {2**k for k in range(20) if 2**k in VALUES}


@pytest.mark.sweep
@pytest.mark.parametrize("modulus", [1, 2, 3, 7, 64])
def test_residue_classes_partition_the_integers(modulus: int) -> None:
    """Every value has one residue, and equal residues are `modulus` apart, also for negative values."""
    if modulus == 1:
        assert all(column("MOD", 1, 0).evaluate(i=value, n=1) == 1 for value in VALUES)
        return
    classes = [where("MOD", modulus, residue) for residue in range(modulus)]
    assert sum(map(len, classes)) == len(VALUES)
    assert set().union(*classes) == set(VALUES)
    for residue, members in enumerate(classes):
        assert residue in members
        assert all(value + modulus in members for value in members if value + modulus in VALUES)


@pytest.mark.parametrize("name", ["PRIME", "SQUARE", "POW2"])
def test_columns_agree_with_the_oracle(name: str) -> None:
    mine = column(name)
    for value in (*VALUES, 10**6, 10**6 + 3, 2**31, 2**31 - 1, 999_983**2, 10**12 - 11, 10**12):
        assert (mine.evaluate(i=value, n=9) == 1) is predicate.BUILT_IN[name](value, 9), value


def test_every_name_of_the_oracle_has_a_column_or_is_a_congruence() -> None:
    assert set(predicate.BUILT_IN) - {"EVEN", "ODD"} | {"MOD"} == set(BUILT_IN)


@pytest.mark.parametrize("root", [10**7 - 1, 10**8, 3 * 10**9 + 1, 10**12 + 7, 10**18 + 9, 10**30 + 57])
def test_large_squares_are_distinguished_from_their_neighbours(root: int) -> None:
    for shift, expected in ((-1, 0), (0, 1), (1, 0)):
        assert column("SQUARE").evaluate(i=root * root + shift, n=1) == expected


def test_a_column_is_of_a_linear_form_in_i_and_n() -> None:
    mine = column("SQUARE", of_i=-2, of_n=3, offset=1)
    for n in range(1, 12):
        for i in range(1, n + 1):
            expected = 3 * n - 2 * i + 1 in {0, 1, 4, 9, 16, 25, 36}
            assert mine.evaluate(i=i, n=n) == int(expected)


def test_a_column_says_what_it_depends_on() -> None:
    assert column("PRIME").variables == {"i"}
    assert column("PRIME", of_i=0, of_n=2).variables == {"n"}
    assert column("PRIME", of_i=1, of_n=-1).variables == {"i", "n"}
    assert column("PRIME", of_i=0, offset=7).variables == frozenset()
    own = PredicateColumn("MID", (), 1, 0, 0, "2*i == n", lambda value, n: 2 * value == n)
    assert own.variables == {"i", "n"}


def test_the_primes_end_at_a_million_squared() -> None:
    assert LARGEST_PRIME == 10**12
    assert column("PRIME").evaluate(i=10**12, n=1) == 0
    with pytest.raises(OutOfRange, match="PRIME\\(1000000000001\\) is too large to compile") as caught:
        column("PRIME").evaluate(i=10**12 + 1, n=1)
    assert "Use smaller factors" in str(caught.value)
    with pytest.raises(OutOfRange):
        column("PRIME", of_i=10**12).evaluate(i=2, n=1)


def middle(value: int, n: int) -> bool:
    return 2 * value == n + 1


USERS: dict[str, tuple[str, UserPredicate]] = {"MID": ("2*i == n + 1", middle)}


def test_a_users_predicate_gets_the_value_and_n() -> None:
    mine = PredicateColumn("MID", (), 2, 1, -1, *USERS["MID"])
    for n in range(1, 10):
        for i in range(1, n + 1):
            assert mine.evaluate(i=i, n=n) == int(2 * (2 * i + n - 1) == n + 1)
    constant = PredicateColumn("MID", (), 0, 0, 0, *USERS["MID"])
    assert [constant.evaluate(n=n) for n in (1, 2)] == [0, 0]
    assert PredicateColumn("MID", (), 0, 0, 3, *USERS["MID"]).evaluate(n=5) == 1


SMALL, FAR = st.integers(-99, 99), st.integers(-(10**6), 10**6)
NEAR = st.integers(-9, 9)
CLASSES = st.integers(1, 100).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m - 1)))
COLUMNS = st.one_of(
    st.builds(PredicateColumn, st.sampled_from(["PRIME", "SQUARE", "POW2"]), st.just(()), SMALL, SMALL, FAR),
    st.builds(PredicateColumn, st.just("MOD"), CLASSES, SMALL, SMALL, FAR),
    st.builds(lambda i, n, k: PredicateColumn("MID", (), i, n, k, *USERS["MID"]), NEAR, NEAR, NEAR),
)


@given(COLUMNS)
def test_the_text_of_a_column_is_read_back(mine: PredicateColumn) -> None:
    again = parse_column(str(mine), USERS, "m")
    assert again == mine
    assert again is not None
    assert str(again) == str(mine)
    assert [again.evaluate(i=i, n=7) for i in range(1, 8)] == [mine.evaluate(i=i, n=7) for i in range(1, 8)]


@pytest.mark.parametrize(
    ("mine", "text"),
    [
        (column("MOD", 3, 1, of_i=2, of_n=-1, offset=5), "MOD(3, 1, 2*i - n + 5)"),
        (column("PRIME"), "PRIME(i)"),
        (column("PRIME", of_i=-1, of_n=1, offset=1), "PRIME(-i + n + 1)"),
        (column("SQUARE", of_i=0), "SQUARE(0)"),
        (column("SQUARE", of_i=0, offset=-3), "SQUARE(-3)"),
        (column("POW2", of_i=0, of_n=-7), "POW2(-7*n)"),
    ],
)
def test_the_text_is_plain(mine: PredicateColumn, text: str) -> None:
    assert str(mine) == text
    assert parse_column(text, {}, "m") == mine


@pytest.mark.parametrize(
    ("text", "mine"),
    [
        (" PRIME ( i+1 ) ", column("PRIME", offset=1)),
        ("PRIME(1 + i + 1)", column("PRIME", offset=2)),
        ("PRIME(n - (i - 1))", column("PRIME", of_i=-1, of_n=1, offset=1)),
        ("SQUARE(i*2 - -3*(n + i))", column("SQUARE", of_i=5, of_n=3)),
        ("MOD( 3,1,(2 - 1)*i )", column("MOD", 3, 1)),
        ("POW2(i - i)", column("POW2", of_i=0)),
    ],
)
def test_a_term_is_written_as_one_likes(text: str, mine: PredicateColumn) -> None:
    assert parse_column(text, {}, "m") == mine


NO_TERM = "a predicate's argument is a sum of integer multiples of i and n and an integer, each below 10^30"


@pytest.mark.parametrize(
    ("text", "under", "message"),
    [
        ("PRIME()", ")", "the expression is empty"),
        ("PRIME(x)", "x", "unknown name 'x'"),
        ("PRIME(i + )", " ", "missing operand after +"),
        ("PRIME(2i)", "i", "missing operator before i"),
        ("PRIME(1.5*i)", "1.5", "not an integer"),
        ("PRIME(i*n)", "i*n", NO_TERM),
        ("PRIME(i^2)", "i^2", NO_TERM),
        ("PRIME(i/2)", "i/2", NO_TERM),
        ("PRIME([i = n])", "[i = n]", NO_TERM),
        (f"PRIME({10**30})", f"{10**30}", NO_TERM),
        (f"PRIME({'9' * 900}*i)", f"{'9' * 900}*i", NO_TERM),
        ("PRIME(2, i)", "2,", "PRIME has no parameters"),
        ("MID(2, i)", "2,", "MID has no parameters"),
        ("MOD(i)", "MOD", "MOD needs a modulus m and a remainder r < m"),
        ("MOD(3, i)", "MOD", "MOD needs a modulus m and a remainder r < m"),
        ("MOD(3, 1, 2, i)", "MOD", "MOD needs a modulus m and a remainder r < m"),
        ("MOD(3, 3, i)", "MOD", "MOD needs a modulus m and a remainder r < m"),
        ("MOD(0, 0, i)", "MOD", "MOD needs a modulus m and a remainder r < m"),
        ("MOD(3, -1, i)", "MOD", "MOD needs a modulus m and a remainder r < m"),
    ],
)
def test_mistakes_have_their_place(text: str, under: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_column(text, USERS, "m")
    span = caught.value.span
    assert (text[span.start : span.end], caught.value.message) == (under, message)


OTHER = "|PRIME|PRIME(i|PRIME(i) + 1|prime(i)|OTHER(i)|EVEN(i)|i/n|(-1)^i"


@pytest.mark.parametrize("text", OTHER.split("|"))
def test_other_text_is_no_column(text: str) -> None:
    assert parse_column(text, USERS, "m") is None


def test_a_users_predicate_is_known_only_where_it_is_defined() -> None:
    text = "MID(i)"
    assert parse_column(text, {}, "m") is None
    found = parse_column(text, USERS, "m")
    assert found is not None
    assert (found.user, found.definition) == (middle, "2*i == n + 1")


def test_rows_are_the_values_at_all_positions() -> None:
    """Values of the position alone are kept for other lengths; those of a user's predicate are not."""
    halves = PredicateColumn("x", (), 1, 0, 0, "2 * v == n", lambda v, n: 2 * v == n)
    functions: list[PositionFunction] = [
        *map(parse_arith, ("(-1)^i", "i/n", "1/(i+1)", "7/2", "[i = n]")),
        column("PRIME"),
        halves,
    ]
    for n in (6, 4, 9):
        for first in (0, 1):
            positions = range(first, n + 1)
            for function in functions:
                assert real_row(function, positions, n) == [function.evaluate(i=i, n=n) for i in positions]
    beyond = range(KEPT, KEPT + 3)
    assert real_row(column("MOD", 2, 1), beyond, KEPT + 2) == [0, 1, 0]
    (root,) = real_row(parse_arith("sqrt(i)"), range(2, 3), 2)
    assert not isinstance(root, int | Fraction)
