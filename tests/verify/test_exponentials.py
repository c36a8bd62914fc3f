"""Certificates of networks with rounded exponentials: the checker's cutoff, and certificates with one mistake."""

import json
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from hardsim.proving.formula_certificate import certificate
from hardsim.verify.exponentials import cutoff_of
from tests.compiling.from_ltl.test_rounded_exponentials import CUTOFFS, FORMS, drawn, exponential_target
from tests.support.hostile_certificates import sealed
from tests.support.language import Undecided


def made(text: str, form: str, max_n: int | None = None, beta: Fraction | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(certificate(exponential_target(text, form, beta), max_n)))
    return document


@pytest.mark.parametrize(("form", "cutoff"), CUTOFFS)
def test_the_cutoff_is_derived_from_the_least_number(form: str, cutoff: int) -> None:
    """The least number of a format is 2^-p, and e^-c is below half of it."""
    p = {"fixed:8": 8, "fp16": 14 + 10, "bf16": 126 + 7, "fp32": 126 + 23, "fp64": 1022 + 52}[form]
    assert cutoff_of(f"softmax:{form}") == cutoff
    with localcontext(prec=50):
        assert Decimal(-cutoff).exp() < Decimal(2) ** -(p + 1) < Decimal(1 - cutoff).exp()


def test_other_weightings_have_their_own_cutoff() -> None:
    assert [cutoff_of(name) for name in (None, "softmax", "geometric", "sparsemax", "softmax:fp8")] == [0, 0, 0, 1, 0]


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed % 9 > 0)) for seed in range(100)])
def test_random_formulas_have_certificates_for_every_length(seed: int) -> None:
    document = made(drawn(Random(seed), 3), FORMS[seed % 5])
    assert document["max_n"] is None
    assert sealed(document) is None


def test_a_length_has_a_certificate_too() -> None:
    """At beta 2 n c a tie-break of beta/(2n) is c, so every head of a length n is exact."""
    document = made("a S b", "fp16", 4, Fraction(2 * 4 * 18))
    assert sealed(document) is None
    document["max_n"] = 5
    assert "the error bounds do not decide a clip" in str(sealed(document))


def weighting(name: str | None) -> Callable[[dict[str, Any]], None]:
    def damage(document: dict[str, Any]) -> None:
        del document["model"]["weighting"]
        if name is not None:
            document["model"]["weighting"] = name

    return damage


def hotter(document: dict[str, Any]) -> None:
    document["model"]["temperature"] = "19/18"


def another_bias(document: dict[str, Any]) -> None:
    clips = document["model"]["layers"][0]["clips"]
    (parts,) = (parts for _, parts in clips.values() if len(parts) == 1)
    parts[0][1] = "-3/2"


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a format that keeps smaller numbers": (weighting("softmax:fp32"), "not known to lose 104 or more"),
    "exponentials that are not rounded": (weighting(None), "are not known to fall behind"),
    "a format that does not exist": (weighting("softmax:fp8"), 'this should be "sparsemax"'),
    "a gap that is too small": (hotter, "not known to lose 18 or more"),
    "a clip with another bias": (another_bias, "is not the truth of the claimed node"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_an_altered_certificate_is_rejected(name: str) -> None:
    damage, reason = DAMAGE[name]
    document = made("O a", "fp16")
    assert sealed(document) is None
    damage(document)
    assert reason in str(sealed(document))


@pytest.mark.parametrize(("form", "cutoff"), CUTOFFS)
def test_a_gap_that_is_one_too_small_has_no_certificate(form: str, cutoff: int) -> None:
    with pytest.raises(Undecided, match=f"not known to lose {cutoff} or more"):
        made("O a", form, None, Fraction(cutoff - 1))
