"""Tests of enclosures in number formats: emulations in random orders lie inside, and claims about formulas hold for
every emulated word.
"""

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from hardsim.precision.arithmetic import Emulated, Enclosed, Enclosures
from hardsim.precision.bounds import StructureBounds
from hardsim.precision.formats import FORMATS, Floats, NumberFormat
from hardsim.precision.passes import FormatPass
from hardsim.precision.safe_lengths import precision_of
from hardsim.writing.running import encoded_word
from tests.support.check import Export, ModelOptions, export_of, read_input
from tests.support.model import PROVEN

NARROW = ("bfloat16", "float16", "float8_e4m3")


def made_of(name: str, regime: str = "temperature") -> Export:
    return export_of(read_input(name), ModelOptions(regime=regime), 64)


def tokens(made: Export, words: Any) -> Floats:
    return np.array([encoded_word(made.layout, word, np.dtype(np.float64)) for word in words])


def any_order(
    form: NumberFormat, terms: list[float], rng: Random, fused: list[tuple[float, float]] | None = None
) -> float:
    """Sum terms in a random order, two partial sums at a time; products are rounded before or fused into an
    addition.
    """
    parts: list[Any] = list(terms) if fused is None else list(fused)

    def plain(part: Any) -> float:
        return float(form.round(np.array(part[0] * part[1]))) if isinstance(part, tuple) else float(part)

    while len(parts) > 1:
        rng.shuffle(parts)
        one, other = parts.pop(), parts.pop()
        if isinstance(one, tuple) and rng.random() < 0.5:
            parts.append(float(form.round(np.array(one[0] * one[1] + plain(other)))))
        else:
            parts.append(float(form.round(np.array(plain(one) + plain(other)))))
    return plain(parts[0])


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", range(4))
def test_sums_and_products_in_every_order_are_enclosed(name: str, seed: int) -> None:
    form, rng = FORMATS[name], Random(seed)
    enclosed = Enclosed(form)
    for size in (1, 2, 3, 5, 9):
        for _ in range(20):
            x = [float(form.round(np.array(rng.uniform(-2, 2) * 2.0 ** rng.randint(-4, 2)))) for _ in range(size)]
            y = [float(form.round(np.array(rng.uniform(-2, 2)))) for _ in range(size)]
            rows, columns = np.array([[x]]), np.array([y]).T[None]
            found = enclosed.matmul(Enclosures(rows, rows), Enclosures(columns, columns))
            total = enclosed.total(Enclosures(np.abs(rows), np.abs(rows)))
            for _ in range(10):
                product_ = any_order(form, [], rng, list(zip(x, y, strict=True)))
                assert not (product_ < found.low[0, 0, 0])
                assert not (product_ > found.high[0, 0, 0])
                sum_ = any_order(form, [abs(one) for one in x], rng)
                assert not (sum_ < total.low[0, 0, 0])
                assert not (sum_ > total.high[0, 0, 0])


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "file", ["since", "majority", "bigram", "ab_plus.srasp", "majority_ties", "flipflop.ahat.json"]
)
def test_an_emulation_lies_in_the_enclosure(name: str, file: str) -> None:
    made, rng = made_of(file), Random(file)
    words = [[rng.choice(list(made.alphabet)) for _ in range(6)] for _ in range(12)]
    emulated = FormatPass(made.layout, Emulated(FORMATS[name])).outputs(tokens(made, words)).low
    found = FormatPass(made.layout, Enclosed(FORMATS[name])).outputs(tokens(made, words))
    known = ~np.isnan(found.low)
    assert known.any() or name == "float8_e4m3"
    assert (emulated[known] >= found.low[known]).all()
    assert (emulated[known] <= found.high[known]).all()


@pytest.mark.sweep(every=9)
@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("file", ["since", "aa_star", "bigram", "subsequence", "ab_plus"])
def test_every_word_of_a_safe_length_is_right_when_it_is_emulated(name: str, regime: str, file: str) -> None:
    made = made_of(file, regime)
    (row,) = precision_of(made, file, [name], 8, 300, False).rows
    emulated = FormatPass(made.layout, Emulated(FORMATS[name]))
    for n in range(1, row.safe_to + 1):
        words = list(product(made.alphabet, repeat=n))[:3000]
        found = emulated.outputs(tokens(made, words)).low[:, -1, 0]
        assert found.tolist() == [float(bool(made.target.oracle and made.target.oracle(word))) for word in words]
    if row.fails_at is not None and row.word is not None:
        found = emulated.outputs(tokens(made, [row.word])).low[:, -1, 0]
        assert found[0] != float(bool(made.target.oracle and made.target.oracle(row.word)))


@pytest.mark.parametrize(
    ("name", "beta", "safe"),
    [
        pytest.param("float16", "8", 409, marks=pytest.mark.slow),
        ("bfloat16", "8", 51),
        ("float16", "4", 158),
        ("bfloat16", "4", 20),
    ],
)
def test_the_nearest_head_is_safe_up_to_the_first_tie(name: str, beta: str, safe: int) -> None:
    """At beta 8 the safe lengths are one less than the first ties in `test_rounding`, which computes the ties alone.

    At beta 4 neighbours differ by 2 nats, and by 1 or less where they are first wrong.
    """
    from fractions import Fraction

    made = export_of(read_input("since"), ModelOptions(beta=Fraction(beta)), 64)
    (row,) = precision_of(made, "since", [name], safe + 1, 100, False).rows
    assert (row.safe_to, row.fails_at, row.closed, row.head) == (safe, safe + 1, True, "S4.read")


def test_a_length_with_a_wrong_word_is_not_claimed() -> None:
    from hardsim.precision.lengths import NotEnclosed
    from hardsim.precision.safe_lengths import structure_known
    from hardsim.precision.structure import Structure
    from hardsim.proof.shared.result import NoProof

    known = structure_known(made_of("since"))
    assert isinstance(known, Structure)
    bounds = StructureBounds(known, Enclosed(FORMATS["float16"]))
    bounds.require(158)
    with pytest.raises(NotEnclosed, match="the clip that writes 'S4' may be other than 1"):
        bounds.require(159)
    assert isinstance(structure_known(made_of("parity_no_predicate")), NoProof)
