"""The forward pass compared with a dense one written from the definition, on random networks."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.run.forward import HALF
from hardsim.run.forward import margin as margin_of
from hardsim.run.mp import MOST_DIGITS, amplification, choose_digits, digits_needed
from hardsim.run.sizes import largest_logit
from hardsim.run.soft import rounded
from tests.support.language import InputError
from tests.support.model import FeedForward, Forward, Layer, Matrix, MpArithmetic, Transformer
from tests.support.networks import ALPHABET, context, dense_forward, mp_forward, number, one_head, transformers


@given(transformers(), st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=11))
def test_forward_agrees_with_the_definition(model: Transformer, word: list[str]) -> None:
    forward = mp_forward(model, 50)
    expected = dense_forward(model, word)
    for _ in range(2):  # the second run takes remembered exponentials
        for index, column in enumerate(forward.run(word).columns):
            for i, value in enumerate(column.values):
                found = number(value) if isinstance(value, int | Fraction) else value
                scale = max(1, abs(expected[i][index]))
                assert abs(found - expected[i][index]) <= scale * context.mpf(10) ** -35
                assert not column.exact or isinstance(value, int | Fraction)


@given(transformers(), st.integers(1, 6))
def test_no_logit_is_larger_than_the_bound(model: Transformer, n: int) -> None:
    bound = number(largest_logit(model, n))
    seen: list[Any] = []

    class Watching(MpArithmetic):
        def exp(self, logit: Any) -> Any:
            seen.append(abs(self.number(logit) if isinstance(logit, int | Fraction) else logit))
            return super().exp(logit)

    Forward(model, Watching(50)).run([ALPHABET[i % 3] for i in range(n)])
    assert all(logit <= bound * (1 + context.mpf(10) ** -30) for logit in seen)


def test_margin_and_verdict() -> None:
    forward = mp_forward(one_head(), 40)
    trace = forward.run("ba")
    # At i = 2 the logits are 6 and 12, so the value read is 1/(1 + e^-6); at i = 1 it is exactly 0: the margins are
    # 1/4 - e^-6/(1 + e^-6) and 1/4.
    off = context.exp(-6) / (1 + context.exp(-6))
    assert rounded(trace.output(forward.model)) is True
    assert trace.least_margin is not None
    assert abs(trace.least_margin - (context.mpf(1) / 4 - off)) < context.mpf(10) ** -30
    assert rounded(forward.run("ab").output(forward.model)) is False


def test_a_value_in_between_is_undecided() -> None:
    flat = one_head("1000")  # logits 6/1000 and 12/1000: the value read is about 1/2
    trace = mp_forward(flat, 40).run("ba")
    assert rounded(trace.output(flat)) is None
    assert trace.least_margin is not None
    assert trace.least_margin < 0


@pytest.mark.parametrize(("value", "margin"), [(-1, "1/2"), (0, "0"), (1, "0"), ("3/2", "1/4"), ("1/2", "-1/4")])
def test_exact_margin(value: int | str, margin: str) -> None:
    assert margin_of(Fraction(value), HALF) == Fraction(margin)


def test_temperature_must_be_positive() -> None:
    with pytest.raises(InputError, match=r"is 0 at i = 1, n = 2"):
        mp_forward(one_head("2 - n"), 40).run("ab")


def test_precision_is_derived_from_the_largest_logit_and_the_largest_coefficient() -> None:
    model = one_head()
    # |s_ij| <= 3 n^2 = L, so the logit is off by 4 L + 1 and the value read, of size 1, by 8 (4 L + 3) + 5 (n + 4) 2 =
    # 9764 at n = 10; added to an exact 0 by that and 8 (2 + 2) 2 = 9828. The clip 2x - 1/2 of it is off by
    # 2 * 9828 + 8 (1 + 2) (2 (1 + 1) + 1/2) = 19764, and added to an exact 0 by that and 8 (2 + 2) 2 = 19828.
    assert largest_logit(model, 10) == 300
    assert amplification(model, 10) == 19828
    assert digits_needed(model, 10) == 20 + 5 + 1
    assert choose_digits(model, 10, None) == 26
    assert [choose_digits(model, 10, expected) for expected in (23, 60)] == [23, 60]


def with_coefficients(factor: int) -> Transformer:
    """Return a network of one head, with the weights of the clips multiplied."""
    model = one_head()
    (layer,) = model.layers
    (clip,) = layer.ffn.units
    widened = replace(clip, form=tuple((k, value * factor) for k, value in clip.form))
    return replace(model, layers=(Layer(layer.heads, FeedForward((widened,))),))


@pytest.mark.parametrize("size", [30, 400])
def test_large_coefficients_take_more_digits(size: int) -> None:
    model, scaled = one_head(), with_coefficients(10**size)
    assert digits_needed(scaled, 4) >= digits_needed(model, 4) + size - 1


def test_more_digits_than_a_reasonable_number_are_refused() -> None:
    model = with_coefficients(10**MOST_DIGITS)
    with pytest.raises(InputError, match=r"mpmath would need 10,0\d\d decimal digits at length 4") as caught:
        choose_digits(model, 4, None)
    assert "--engine ball" in caught.value.hint
    assert choose_digits(model, 4, 30) == 30


@given(transformers(), st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=5), st.integers(-30, 30))
def test_rounding_is_within_its_bound_on_random_networks(model: Transformer, word: list[str], power: int) -> None:
    # Values are scaled up or down, so that large terms cancel.
    scale = Fraction(10) ** power
    layers = tuple(
        Layer(
            tuple(replace(head, w_v=Matrix(head.w_v.shape, tuple((r, c, v * scale) for r, c, v in head.w_v.entries)))
                  for head in layer.heads),
            layer.ffn,
        )
        for layer in model.layers
    )  # fmt: skip
    scaled = replace(model, layers=layers)
    digits = digits_needed(scaled, len(word))
    assert Fraction(10) ** (digits - 20) > amplification(scaled, len(word))
    short, long = mp_forward(scaled, digits).run(word), mp_forward(scaled, digits + 40).run(word)
    for left, right in zip(short.columns, long.columns, strict=True):
        for a, b in zip(left.values, right.values, strict=True):
            assert abs(number(a) if isinstance(a, int | Fraction) else a - b) <= context.mpf(10) ** -20 or a == b


@pytest.mark.parametrize("n", [1, 2, 5, 13, 30])
def test_the_derived_precision_is_good_to_20_digits(n: int) -> None:
    model = one_head("1/n")
    word = [("a", "b", "b")[(i * i) % 3] for i in range(n)]
    needed = digits_needed(model, n)
    short, long = mp_forward(model, needed).run(word), mp_forward(model, needed + 40).run(word)
    for a, b in zip(short.columns[2].values, long.columns[2].values, strict=True):
        assert abs(number(a) if isinstance(a, int) else a - b) <= context.mpf(10) ** -20
