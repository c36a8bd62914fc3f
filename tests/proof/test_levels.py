"""The prover on networks with a constant in the keys, which softmax does not see."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from hardsim.net.model import Matrix, Transformer
from hardsim.spec.ir import Kind, plain
from tests.proof.test_hostile import proved, subject_of

LEVELS = st.one_of(st.fractions(-3, 3), st.integers(50, 300).map(lambda power: Fraction(10**power)))


def with_level(model: Transformer, number: int, level: Fraction) -> Transformer:
    """The same network with a constant added to the first key of a head: its softmax is the same."""
    head = model.heads[number]
    entries = {(row, column): value for row, column, value in head.w_k.entries} | {(0, 0): plain(level)}
    key = Matrix.of(*head.w_k.shape, entries)
    changed = replace(head, w_k=key)
    layers = tuple(replace(layer, heads=tuple(changed if other is head else other for other in layer.heads))
                   for layer in model.layers)  # fmt: skip
    return replace(model, layers=layers)


@given(LEVELS, st.sampled_from(["temperature", "causal-temperature"]), st.sampled_from(["a S b", "b U a", "Y a"]))
@settings(max_examples=12)
def test_a_nearest_head_is_proved_with_any_constant_in_its_keys(level: Fraction, regime: str, text: str) -> None:
    subject = subject_of("a S b" if regime.startswith("causal") else text, regime, "abc")
    number = next(k for k, head in enumerate(subject.program.heads) if head.kind is Kind.NEAREST)
    assert proved(subject, with_level(subject.model, number, level)) == ["finite", "every"]


@given(LEVELS, st.sampled_from(["#L[a] > #L[b]", "2*#L[a] >= 3*#[b]", "#[a] = #[b]"]))
@settings(max_examples=12)
def test_a_look_up_is_proved_with_any_constant_in_its_keys(level: Fraction, text: str) -> None:
    subject = subject_of(text)
    number = next(k for k, head in enumerate(subject.program.heads) if head.kind is Kind.LOOKUP)
    assert proved(subject, with_level(subject.model, number, level)) == ["finite", "every"]
