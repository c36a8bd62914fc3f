"""Inputs: formula files, expressions, and compiled models that give the same results."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hardsim.checking.bound import bound_subject
from hardsim.checking.campaign import CheckOptions, check_subject
from hardsim.checking.critical import critical
from hardsim.checking.open import OTHER, expand_paths, read_expression, read_input, store_program, store_text
from hardsim.checking.result import Verdict
from hardsim.checking.subject import ModelOptions
from hardsim.errors import HardsimError, InputError
from hardsim.lang.arith import parse_arith
from hardsim.program.regimes import PROVEN

pytestmark = pytest.mark.sweep

TEXT = """// A formula with everything that a stored model must keep
alphabet: a b
at: first
accept: aab b
reject: aa
let P = a U b
P & WX (a | X P)  | b
"""


@pytest.fixture
def formula(tmp_path: Path) -> Path:
    path = tmp_path / "formula.ltl"
    path.write_text(TEXT, encoding="utf-8")
    return path


def stored(formula: Path, options: ModelOptions) -> Path:
    subject = read_input(str(formula)).compile(options)
    path = formula.with_suffix(".model.json")
    path.write_text(store_text(subject), encoding="utf-8")
    return path


OPTIONS = [
    *(ModelOptions(regime) for regime in ("temperature", "position", "none")),
    ModelOptions("temperature", beta=Fraction(1, 2)),
    ModelOptions("temperature", tau=parse_arith("1/(2*n)", ("i", "n"), "--tau"), at="last", single_head=True),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_stored_model_gives_identical_results(formula: Path, options: ModelOptions) -> None:
    direct = read_input(str(formula)).compile(options)
    path = stored(formula, options)
    again = read_input(str(path)).compile(ModelOptions())
    assert again.model == direct.model
    assert again.program == direct.program
    assert again.facts == direct.facts
    check = CheckOptions(max_n=7, exhaustive=60)
    one, two = check_subject(direct, check), check_subject(again, check)
    assert replace(two, name=one.name, sha256=one.sha256) == one
    assert two.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_same_options_may_be_repeated_and_others_are_refused(formula: Path) -> None:
    model = read_input(str(stored(formula, ModelOptions("position", beta=Fraction(5)))))
    assert model.compile(ModelOptions("position", beta=Fraction(5), at="first")) is model.made
    for options, name in [
        (ModelOptions("causal-position"), "--regime causal-position"),
        (ModelOptions(beta=Fraction(4)), "--beta 4"),
        (ModelOptions(tau=parse_arith("1/n", ("i", "n"), "--tau")), "--tau 1/n"),
        (ModelOptions(at="last"), "--at last"),
        (ModelOptions(single_head=True), "--single-head"),
    ]:
        with pytest.raises(InputError, match="is already compiled") as caught:
            model.compile(options)
        assert name in str(caught.value)


def test_sha256_is_that_of_the_bytes(formula: Path) -> None:
    assert read_input(str(formula)).sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
    assert read_expression("a S b", "a b").sha256 == hashlib.sha256(b"a S b").hexdigest()


def test_a_network_whose_weights_were_edited_is_judged_as_it_is(formula: Path) -> None:
    path = stored(formula, ModelOptions())
    document = json.loads(path.read_text(encoding="utf-8"))
    heads = [head for layer in document["model"]["layers"] for head in layer["heads"] if head["w_q"]["entries"]]
    heads[0]["w_q"]["entries"][0][2] = "1/100"
    path.write_text(json.dumps(document), encoding="utf-8")
    result = check_subject(read_input(str(path)).compile(ModelOptions()), CheckOptions(max_n=4))
    assert result.verdict is Verdict.REFUTED
    heads[0]["w_v"]["entries"] = []
    path.write_text(json.dumps(document), encoding="utf-8")
    result = check_subject(read_input(str(path)).compile(ModelOptions()), CheckOptions(max_n=4))
    assert result.verdict is Verdict.REFUTED


DAMAGES: list[tuple[Any, str]] = [
    (lambda d: d.update(format="other"), "at format: expected one of hardsim-model, hardsim-ahat, found 'other'"),
    (lambda d: d.update(schema_version=99), "at schema_version: expected an integer from 1 to 2, found 99"),
    (lambda d: d.pop("model"), "expected an object with the key 'model'"),
    (lambda d: d["source"].update(text="alphabet: a b\nF"), "(source):2:2: error:"),
    (
        lambda d: d["source"].update(text="alphabet: a c\nF a"),
        "at model.alphabet: expected the alphabet of the formula",
    ),
    (lambda d: d["specification"].update(regime="warm"), "at specification.regime: expected one of temperature"),
    (
        lambda d: d["specification"]["layers"].insert(0, {"heads": [], "clips": [], "ones": []}),
        "at specification.layers: expected an array of ",
    ),
    (lambda d: d["options"].update(beta="0"), "at options.beta: expected a positive rational"),
    (lambda d: d["options"].update(at="middle"), "at options.at: expected one of first, last"),
    (lambda d: d["options"].update(single_head="no"), "at options.single_head: expected true or false"),
    (lambda d: d["options"].update(single_head=True), "at options.single_head: expected false"),
    (
        lambda d: d["options"].update(at="last"),
        "at options.at: expected first, where the formula of the source is read",
    ),
    (lambda d: d["options"].update(counting="sign"), "at options.counting: expected null"),
    (lambda d: d["options"].update(scale="2"), "at options: expected keys among at, beta"),
    (lambda d: d["source"].update(scale="2"), "at source: expected keys among name, sha256, text"),
    (lambda d: d["source"].update(sha256=3), "at source.sha256: expected a string, found 3"),
    (lambda d: d.update(scale="2"), "at the top level: expected keys among format, schema_version"),
    (lambda d: d["model"].update(reading="first"), "at model.reading: expected last"),
    (lambda d: d["model"].update(threshold="1/2"), "at model.threshold: expected none"),
    (lambda d: d["model"].update(temperature=["1", "2"]), "at model.temperature: expected an expression"),
    (lambda d: d["model"].update(bos=True), "at model"),
    (lambda d: d["model"].update(scale="2"), "at model: expected keys among alphabet"),
    (lambda d: head_of(d).update(hardmax="leftmost"), "expected keys among name, mask, weighting, w_q, w_k, w_v"),
    (lambda d: head_of(d).update(gap="1"), "expected keys among name, mask, weighting, w_q, w_k, w_v"),
    (lambda d: head_of(d).update(weighting="rightmost"), "weighting: expected one of softmax, found 'rightmost'"),
    (lambda d: d["model"].update(weighting="average"), "at model.weighting: expected one of softmax, found 'average'"),
    (lambda d: d["model"].pop("weighting"), "expected an object with the key 'weighting'"),
    (lambda d: d["model"].pop("temperature"), "at model: expected an object with the key 'temperature'"),
]


def head_of(document: Any) -> Any:
    """A head of the network."""
    return next(head for layer in document["model"]["layers"] for head in layer["heads"])


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_a_damaged_model_is_refused_with_its_place(formula: Path, damage: Any, message: str) -> None:
    path = stored(formula, ModelOptions())
    document = json.loads(path.read_text(encoding="utf-8"))
    damage(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(HardsimError) as caught:
        read_input(str(path))
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_what_is_worked_out_from_the_specification_is_refused_for_another_network(formula: Path) -> None:
    path = stored(formula, ModelOptions())
    document = json.loads(path.read_text(encoding="utf-8"))
    given = read_input(str(path))
    assert given.made is not None
    assert (given.made.specified, given.notes) == (True, given.file.notes)
    document["options"]["beta"] = "5"
    path.write_text(json.dumps(document), encoding="utf-8")
    given = read_input(str(path))
    assert given.made is not None
    assert given.notes == (*given.file.notes, OTHER)
    for worked_out in (bound_subject, store_program, lambda subject: critical(subject, 1)):
        with pytest.raises(InputError, match="the network is not the one that its specification makes"):
            worked_out(given.made)


def test_a_head_of_another_name_is_refused(formula: Path) -> None:
    path = stored(formula, ModelOptions())
    document = json.loads(path.read_text(encoding="utf-8"))
    layer = next(layer for layer in document["specification"]["layers"] if layer["heads"])
    layer["heads"][0]["name"] = "other"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match="expected the heads of the network's layer"):
        read_input(str(path))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", ":1:2: not JSON"),
        (b"[" * 100_000, "not JSON that hardsim can read"),
        (b'{"format": "\xff"}', "not UTF-8 at byte 12"),
        (b"[]", "expected an object, found []"),
    ],
)
def test_what_is_not_a_model_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_input(str(path))
    assert message in str(caught.value)


def test_directories_stand_for_their_files(tmp_path: Path, formula: Path) -> None:
    stored(formula, ModelOptions())
    (tmp_path / "notes.txt").write_text("no formula")
    assert expand_paths([str(tmp_path), "x.ltl"]) == [str(formula), str(tmp_path / "formula.model.json"), "x.ltl"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"has no \*\.ltl, \*\.srasp, \*\.ahat\.json or \*\.model\.json file"):
        expand_paths([str(empty)])


def test_every_regime_can_be_stored(tmp_path: Path) -> None:
    for regime in PROVEN:
        subject = read_expression("(Y a) S b", "a b").compile(ModelOptions(regime))
        path = tmp_path / "m.json"
        path.write_text(store_text(subject), encoding="utf-8")
        assert read_input(str(path)).compile(ModelOptions()).model == subject.model
