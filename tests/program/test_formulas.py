"""Formulas as hard-attention models: they accept the formula's language, keep the gaps that they declare, and survive
writing and reading.
"""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from hardsim.program.file import AhatFile, ahat_json, named_predicates
from tests.program.test_file import read, written
from tests.support.check import FormulaTarget, ModelOptions, compile_formula, read_input
from tests.support.hard_runs import outputs_of
from tests.support.language import Oracle, Unsupported, parse_arith, parse_text
from tests.support.model import PROVEN, Affine, ExactModel, Kind, Matrix, Weighting, assemble, measure
from tests.support.sources import load
from tests.support.subjects import compiled

FILES = sorted((Path(__file__).parents[2] / "formulas").glob("*.ltl"))
WORDS = 70
"""Number of words tried for a length: all to length 6 over two symbols, to length 2 over five."""


@pytest.mark.sweep(every=10)
@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=pytest.mark.slow if "hop" in path.stem else (), id=path.stem) for path in FILES]
)
def test_the_hard_model_of_a_formula(path: Path, tmp_path: Path) -> None:
    """In every regime that has a construction."""
    count = 0
    for regime in PROVEN:
        try:
            subject = compile_formula(load(path), ModelOptions(regime))
        except Unsupported:
            continue
        check_language(subject)
        check_document(subject, tmp_path)
        count += 1
    assert count >= 1


def check_language(subject: FormulaTarget) -> None:
    """Assert that the output is exactly 1 where the formula is true and 0 elsewhere; maxima are tied only where
    allowed.
    """
    model = subject.program
    exact, oracle = ExactModel(model), Oracle(subject.formula)
    heads = {head.name: head for head in model.heads}
    for n in range(1, 8):
        words = list(product(model.alphabet, repeat=n))
        if len(words) > WORDS:
            break
        trace = exact.run(words)
        assert outputs_of(exact.program, trace) == [int(oracle.accepts(word)) for word in words]
        for name, head in measure(model, words, trace).heads.items():
            assert head.tie is None or heads[name].kind in (Kind.SIGN, Kind.SIGN_RAMP, Kind.TABLE)
            declared = heads[name].promised(n)
            assert declared is not None
            assert all(gap is None or gap >= least for gap, least in zip(head.gaps, declared, strict=True))


def check_document(subject: FormulaTarget, directory: Path) -> None:
    model = subject.program
    file = AhatFile(
        model,
        title=subject.formula.title,
        predicates=named_predicates(model, subject.formula),
        examples=tuple((example.word, example.accept) for example in subject.formula.examples),
        sharpness=subject.budget,
    )
    document = written(file)
    again = read(document)
    assert ahat_json(again) == ahat_json(file)
    assert again.program == model
    assert again.sharpness == subject.budget
    assert set(again.examples) == set(file.examples)
    for old, new in zip(model.encodings, again.program.encodings, strict=True):
        assert [old.value.evaluate(i=i, n=5) for i in range(1, 6)] == [
            new.value.evaluate(i=i, n=5) for i in range(1, 6)
        ]
    # The file must contain the network that was compiled.
    path = directory / "m.ahat.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    found = read_input(str(path)).compile(ModelOptions())
    assert found.exact
    assert found.model == subject.model


@pytest.mark.parametrize("regime", PROVEN)
def test_a_softmax_model_is_written_with_the_hard_attention_that_it_stands_for(regime: str) -> None:
    subject = compiled("a S b", regime, letters="abc")
    program = replace(subject.program, threshold=Fraction(1, 2))
    file = AhatFile(subject.budget.scaled(program), temperature=subject.budget.temperature)
    document = written(file)
    assert document["temperature"] == str(subject.budget.temperature)
    assert read(document) == file


def times(matrix: Matrix, factor: Fraction) -> Matrix:
    return Matrix.of(*matrix.shape, {(row, column): value * factor for row, column, value in matrix.entries})


def test_heads_have_the_weighting_and_the_gap_of_the_program() -> None:
    subject = compiled("a S b", letters="abc")
    document = ahat_json(AhatFile(subject.program, sharpness=subject.budget))
    ((head,),) = (layer["heads"] for layer in document["program"]["layers"])
    assert head["weighting"] == "rightmost"
    assert head["decay"] == "1/(2*n)"
    assert "threshold" not in document["program"]
    assert "temperature" not in document
    again = read(document).program
    assert again.heads[0].weighting is Weighting.RIGHTMOST
    assert [str(head.promise) for head in again.heads] == ["1/(2*n)"]


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(7)])
def test_softmax_at_one_over_beta_of_the_temperature_is_the_compiled_network(beta: Fraction) -> None:
    """A query is multiplied by beta in the network, and softmax divides by tau: the logits are the same."""
    subject = compiled("a S b", beta=beta, letters="abc")
    tau = parse_arith(f"({subject.budget.temperature})/({beta})")
    soft = assemble(subject.budget.scaled(subject.program), tau)
    for ours, theirs in zip(soft.heads, subject.model.heads, strict=True):
        assert times(ours.w_q, beta) == theirs.w_q
        assert (ours.w_k, ours.w_v, ours.mask) == (theirs.w_k, theirs.w_v, theirs.mask)
    for n in range(1, 9):
        assert soft.inverse_temperature(1, n) == beta * subject.model.inverse_temperature(1, n)
    assert soft.embedding == subject.model.embedding
    assert [layer.ffn for layer in soft.layers] == [layer.ffn for layer in subject.model.layers]


def test_scores_and_gaps_of_heads_with_a_beta_of_their_own_are_scaled() -> None:
    """Look-ups whose errors add up are sharper than the budget requires; nothing else changes."""
    subject = compiled("9 * #L[a] > 5 * #L[b] & Y a")
    found = subject.budget.scaled(subject.program)
    factors = {head.name: subject.budget.beta_of(head) / subject.budget.beta for head in subject.program.heads}
    assert max(factors.values()) > 1
    for old, new in zip(subject.program.heads, found.heads, strict=True):
        factor = 1 if old.uniform else factors[old.name]
        if factor == 1:
            assert new is old
            continue
        assert new.score == tuple((query.scaled(factor), key) for query, key in old.score)
        assert old.promised(5) is not None
        assert new.promised(5) == [factor * gap for gap in old.promised(5) or []]
        assert replace(new, score=old.score, decay=old.decay, gap=old.gap) == old
    assert replace(found, layers=()) == replace(subject.program, layers=())
    assert [(layer.units, layer.biases) for layer in found.layers] == [
        (layer.units, layer.biases) for layer in subject.program.layers
    ]


def test_a_form_times_a_number() -> None:
    form = Affine.of({"x": Fraction(3), "1": Fraction(1, 2)})
    assert form.scaled(Fraction(2, 3)).terms == (("1", Fraction(1, 3)), ("x", 2))
    assert form.scaled(0) == Affine()


def test_only_predicates_that_encodings_name_are_written() -> None:
    text = "alphabet: a b\npred MIDDLE(i, n) = 2*i == n + 1\npred OTHER(i, n) = i > 3\na & MIDDLE\n"
    subject = compile_formula(parse_text(text), ModelOptions())
    assert named_predicates(subject.program, subject.formula) == ("MIDDLE(i, n) = 2*i == n + 1",)
