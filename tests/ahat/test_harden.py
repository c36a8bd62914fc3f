"""Formulas as hard-attention models: they accept what the formula says, keep the gaps that they declare, and are
written and read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hardsim.ahat.exact import ExactModel
from hardsim.ahat.file import AhatFile, ahat_json, named_predicates, read_ahat, schema
from hardsim.ahat.harden import harden, scaled, with_softmax
from hardsim.ahat.measure import measure
from hardsim.ahat.temperature import declared_gap
from hardsim.checking.subject import ModelOptions, Subject, compile_file
from hardsim.errors import Unsupported
from hardsim.lang.arith import parse_arith
from hardsim.lang.parse import load, parse_expression, parse_text
from hardsim.lang.semantics import Oracle
from hardsim.net.model import Matrix, Transformer
from hardsim.net.reader import Reader
from hardsim.spec.ir import Kind, Weighting
from hardsim.spec.regimes import PROVEN

pytestmark = pytest.mark.sweep

FILES = sorted((Path(__file__).parents[2] / "formulas").glob("*.ltl"))
WORDS = 130
"""How many words of a length are tried: those to length 7 over two symbols, to length 3 over five."""
ONE = parse_arith("1")
VALIDATOR = Draft202012Validator(schema())


def compiled(path: Path) -> Iterator[Subject]:
    """The formula in every regime that has a construction."""
    for regime in PROVEN:
        try:
            yield compile_file(load(path), ModelOptions(regime))
        except Unsupported:
            continue


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_hard_model_of_a_formula(path: Path) -> None:
    count = 0
    for subject in compiled(path):
        model = harden(subject.program)
        check_language(subject, model)
        check_document(subject, model)
        count += 1
    assert count >= 1


def check_language(subject: Subject, model: Transformer) -> None:
    """Exactly 1 where the formula holds and 0 where it does not; maxima are tied where the program allows it alone."""
    exact, oracle = ExactModel(model), Oracle(subject.file)
    kinds = {head.name: head.kind for head in subject.program.heads}
    for n in range(1, 8):
        words = list(product(model.alphabet, repeat=n))
        if len(words) > WORDS:
            break
        trace = exact.run(words)
        outputs = exact.outputs(trace)
        assert outputs == [int(oracle.accepts(word)) for word in words]
        for name, head in measure(model, words, trace, outputs).heads.items():
            assert head.tie is None or kinds[name] in (Kind.SIGN, Kind.SIGN_RAMP, Kind.TABLE)
            assert all(gap is None or gap >= declared_gap(model, name, i, n) for i, gap in enumerate(head.gaps, 1))


def check_document(subject: Subject, model: Transformer) -> None:
    file = AhatFile(
        model,
        title=subject.file.title,
        predicates=named_predicates(model, subject.file),
        examples=tuple((example.word, example.accept) for example in subject.file.examples),
    )
    document = json.loads(json.dumps(ahat_json(file)))
    VALIDATOR.validate(document)
    again = read_ahat(Reader(document, "m"))
    assert ahat_json(again) == ahat_json(file)
    # Hard attention needs no temperature: it is written for models without heads only, which are softmax models, too.
    assert replace(again.model, temperature=ONE) == replace(model, temperature=ONE)
    assert set(again.examples) == set(file.examples)
    for (_, old), (_, new) in zip(model.encodings, again.model.encodings, strict=True):
        assert [old.evaluate(i=i, n=5) for i in range(1, 6)] == [new.evaluate(i=i, n=5) for i in range(1, 6)]


@pytest.mark.parametrize("regime", PROVEN)
def test_a_softmax_model_is_written_with_the_hard_attention_that_it_stands_for(regime: str) -> None:
    subject = since(regime)
    file = AhatFile(harden(subject.program, subject.budget), temperature=subject.program.temperature)
    document = json.loads(json.dumps(ahat_json(file)))
    assert document["weighting"] == "softmax"
    VALIDATOR.validate(document)
    again = read_ahat(Reader(document, "m"))
    assert again == file


def since(regime: str = "temperature", beta: Fraction | None = None) -> Subject:
    return compile_file(parse_expression("a S b", ["a", "b", "c"]), ModelOptions(regime, beta))


def test_heads_have_the_weighting_and_the_gap_of_the_program() -> None:
    model = harden(since().program)
    (head,) = model.heads
    assert head.weighting is Weighting.RIGHTMOST
    assert str(head.gap) == "1/(2*n)"
    assert model.threshold == Fraction(1, 2)
    assert not model.soft


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(7)])
def test_softmax_at_one_over_beta_of_the_temperature_is_the_compiled_network(beta: Fraction) -> None:
    """A query is multiplied by beta in the network, and softmax divides by tau: the same logits."""
    subject = since(beta=beta)
    soft = with_softmax(
        harden(subject.program, subject.budget), parse_arith(f"({subject.program.temperature})/({beta})")
    )
    assert all(head.weighting is Weighting.SOFTMAX for head in soft.heads)
    for ours, theirs in zip(soft.heads, subject.model.heads, strict=True):
        assert scaled(ours.w_q, beta) == theirs.w_q
        assert (ours.w_k, ours.w_v, ours.mask) == (theirs.w_k, theirs.w_v, theirs.mask)
    for n in range(1, 9):
        assert soft.inverse_temperature(1, n) == beta * subject.model.inverse_temperature(1, n)
    assert soft.embedding == subject.model.embedding
    assert [layer.ffn for layer in soft.layers] == [layer.ffn for layer in subject.model.layers]


def test_a_matrix_times_a_number() -> None:
    matrix = Matrix.of(1, 2, {(0, 0): 3, (0, 1): Fraction(1, 2)})
    assert scaled(matrix, Fraction(2, 3)).entries == ((0, 0, 2), (0, 1, Fraction(1, 3)))
    assert scaled(matrix, Fraction(1)) is matrix


def test_only_predicates_that_encodings_name_are_written() -> None:
    text = "alphabet: a b\npred MIDDLE(i, n) = 2*i == n + 1\npred OTHER(i, n) = i > 3\na & MIDDLE\n"
    subject = compile_file(parse_text(text), ModelOptions())
    assert named_predicates(harden(subject.program), subject.file) == ("MIDDLE(i, n) = 2*i == n + 1",)
