"""The definitions of the Rocq library, which a reader trusts, compared with hardsim: Rocq computes both truths and
conditions. The real numbers of networks cannot be computed there.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

from hardsim.lang.predicate import BUILT_IN, user_predicates
from hardsim.lang.valuations import Valuations, members_of
from hardsim.network.columns import PredicateColumn
from hardsim.proving.rocq.conditions import VALUE, condition
from hardsim.proving.rocq.network import column_condition, power_product
from hardsim.proving.rocq.surface import formula_text
from tests.support.language import FormulaFile, Oracle, parse_arith, parse_text
from tests.support.rocq_formulas import PREDICATES, random_formula
from tests.support.rocq_theorems import Rocq, symbol_text, truths_of

FORMULAS = 150
LONGEST = 4
"""Length of the longest words on which formulas are compared."""
ARGUMENTS = range(-12, 26)
LENGTHS = range(1, 10)
OWN = f"""\
{PREDICATES}pred SIGNS(x, n) = -x div 3 == -(n mod 3) or x < -2
pred REMAINDER(x, n) = x mod -4 == -3 or x mod n == n - 1
pred QUOTIENT(x, n) = x div -3 >= n - 4 and not (x == 0 or x div n != x mod 2)
pred POWERS(x, n) = x*x*x > 4*n and x != n and x <= 2*n
"""


def atoms_in(file: FormulaFile, symbol: str, names: Sequence[str]) -> list[int]:
    """Return the numbers of the atoms that hold at a symbol."""
    holding = members_of(symbol) if isinstance(file.alphabet, Valuations) else {symbol}
    return [number for number, name in enumerate(names) if name in holding]


def words_of(file: FormulaFile) -> list[tuple[str, ...]]:
    """Return all words of up to LONGEST symbols."""
    return [word for n in range(1, LONGEST + 1) for word in product([*file.alphabet], repeat=n)]


@pytest.mark.slow
def test_formulas_hold_where_the_oracle_says(rocq: Rocq) -> None:
    """Random formulas of all operators, with terms of any sign, on all short words, at every position."""
    head, terms, expected, lists = list[str](), [], [], dict[tuple[str, ...], str]()
    for seed in range(FORMULAS):
        file = parse_text(random_formula(Random(seed), 3, terms=True))
        names = list(file.alphabet.props if isinstance(file.alphabet, Valuations) else file.alphabet)
        head.append(f"Module M{seed}.\n{formula_text(file)}\nEnd M{seed}.")
        words, oracle = words_of(file), Oracle(file)
        if (key := tuple(file.alphabet)) not in lists:
            lists[key] = f"words_{len(lists)}"
            symbols = [[symbol_text(atoms_in(file, symbol, names)) for symbol in word] for word in words]
            listed = "; ".join(f"[{'; '.join(word)}]" for word in symbols)
            head.append(f"Definition {lists[key]} : list (list symbol) := [{listed}].")
        at = f"(fun u => map (holds (length u) (symbol_at u) M{seed}.F) (positions 1 (length u)))"
        terms.append(f"concat (map {at} {lists[key]})")
        expected.append([bool(truth) for word in words for truth in oracle.truth(word)])
    for seed, (found, truths) in enumerate(zip(rocq.values("\n".join(head), terms), expected, strict=True)):
        assert truths_of(found) == truths, random_formula(Random(seed), 3, terms=True)


def integer_text(value: int) -> str:
    """Return an integer."""
    return f"({value})%Z"


def conditions() -> dict[str, tuple[str, Any]]:
    """Return, by name, the text of the condition of each predicate, and hardsim's own function of a value and the
    length. EVEN and ODD are congruences."""
    file = parse_text(f"alphabet: a b\n{OWN}a\n")
    users = user_predicates(file)
    found = {name: (condition(name, (), VALUE, users), holds) for name, holds in {**BUILT_IN, **users}.items()}
    for modulus, remainder in [(1, 0), (2, 1), (3, 0), (3, 2), (7, 5)]:
        text = condition("MOD", (modulus, remainder), VALUE, users)
        found[f"MOD({modulus}, {remainder})"] = text, lambda x, n, m=modulus, r=remainder: (x - r) % m == 0
    return found


@pytest.mark.slow
def test_conditions_hold_where_hardsim_says(rocq: Rocq) -> None:
    """Arguments are negative or 0, too, and quotients and remainders by negative numbers round down."""
    cases = conditions()
    arguments = "; ".join(map(integer_text, ARGUMENTS))
    lengths = "; ".join(map(integer_text, LENGTHS))
    terms = [
        f"flat_map (fun x => map (fun n => condition_holds x n {text}) [{lengths}]) [{arguments}]"
        for text, _ in cases.values()
    ]
    for (name, (_, holds)), found in zip(cases.items(), rocq.values("", terms), strict=True):
        expected = [bool(holds(x, n)) for x in ARGUMENTS for n in LENGTHS]
        assert truths_of(found) == expected, name
        assert len({*expected}) == 2 or name == "MOD(1, 0)"


@pytest.mark.slow
def test_encodings_are_1_where_hardsim_says(rocq: Rocq) -> None:
    """The condition of an encoding by a predicate, for each position of each length."""
    users = user_predicates(parse_text(f"alphabet: a b\n{OWN}a\n"))
    scales = [(1, 0, 0), (2, 0, -3), (-1, 0, 2), (0, 1, 1), (0, -2, 5), (1, 1, -4), (3, -2, 0)]
    names = [*((name, ()) for name in ("PRIME", "SQUARE", "POW2", "ROUNDED", "NEAR", "REMAINDER")), ("MOD", (3, 1))]
    columns = [
        PredicateColumn(name, params, *scale, user=users.get(name)) for name, params in names for scale in scales
    ]
    pairs = [(i, n) for n in LENGTHS for i in range(1, n + 1)]
    listed = "; ".join(f"({integer_text(i)}, {integer_text(n)})" for i, n in pairs)
    terms = [
        f"map (fun p => condition_holds (fst p) (snd p) {column_condition(column, users)}) [{listed}]"
        for column in columns
    ]
    for column, found in zip(columns, rocq.values("", terms), strict=True):
        assert truths_of(found) == [column.evaluate(i=i, n=n) == 1 for i, n in pairs], column


@pytest.mark.parametrize(
    "text",
    ["1", "i", "n", "1/i", "i/n", "1/n", "i*n", "i^2", "i^2*n", "1/i^2", "(-1)^i", "(-1)^i*i^2", "i*i/n^3",
     "(-1)^i/(i*n)", "(i*n)^2/i"],
)  # fmt: skip
def test_powers_have_the_values_of_their_encoding(text: str) -> None:
    """Rocq's formula for a monomial, computed here in rationals."""
    encoding = parse_arith(text)
    found = power_product(encoding.tree)
    assert found is not None
    for n in range(1, 6):
        for i in range(1, n + 1):
            sign = (-1) ** i if found.alternates else 1
            assert encoding.evaluate(i=i, n=n) == sign * Fraction(i) ** found.of_i * Fraction(n) ** found.of_n
