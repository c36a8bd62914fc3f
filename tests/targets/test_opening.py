"""Tests of inputs: formula files, expressions, and compiled models that give the same results."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import pytest

from hardsim.measuring.bound import bound_subject
from hardsim.measuring.critical import critical
from hardsim.targets.inputs.automaton import AutomatonInput
from hardsim.targets.inputs.base import Input
from hardsim.targets.inputs.formula import FormulaInput
from hardsim.targets.inputs.model import OTHER, HardAttentionInput
from hardsim.targets.inputs.network import NetworkInput
from hardsim.targets.inputs.program import ProgramInput
from hardsim.targets.inputs.regex import RegexInput
from hardsim.targets.paths import expand_paths
from hardsim.targets.result import Opened
from hardsim.targets.stored import store_program, store_text
from tests.support.check import (
    CheckOptions,
    FormulaTarget,
    ModelOptions,
    Verdict,
    check_subject,
    read_expression,
    read_input,
)
from tests.support.language import HardsimError, InputError, parse_arith
from tests.support.model import PROVEN, Kind
from tests.support.strategies import all_words
from tests.support.subjects import evaluations

TEXT = """// A formula with everything that a stored model must keep
alphabet: a b
at: first
accept: aab b
reject: aa
let P = a U b
P & WX (a | X P)  | b
"""


HEADER = "alphabet: a b\naccept: aba\npred MID(i, n) = 2*i == n + 1\n"
BOTH = (
    HEADER
    + "let m = 3*#L[a] - 2*#R[b]\n(m > len | MID(#L[a])) & (O MID <-> !PRIME(#[b] + 7)) & (#L[a] + #R[a]) mod 3 = 0\n"
)
PAST = HEADER + "H (2*#L[a] + 1 >= #L[b]) & (O MID | MID(#L[a]))\n"
ONE_KIND = HEADER + "H (2*#L[a] + 1 >= pos) & (MID | #R[b] < 3)\n"
CAUSAL = HEADER + "H (2*#L[a] + 1 >= pos) & (MID | #L[b] < 3)\n"

DEFAULT = ModelOptions()
OPTIONS = [
    *((TEXT, ModelOptions(regime)) for regime in ("temperature", "position", "none")),
    (TEXT, ModelOptions("temperature", beta=Fraction(1, 2))),
    (TEXT, ModelOptions(tau=parse_arith("1/(2*n)", ("i", "n"), "--tau"), at="last", single_head=True)),
    (BOTH, DEFAULT),
    (BOTH, ModelOptions("position", single_head=True)),
    (BOTH, ModelOptions(beta=Fraction(6))),
    (PAST, ModelOptions("causal-temperature")),
    (ONE_KIND, ModelOptions("temperature", counting="sign")),
    (CAUSAL, ModelOptions("causal-temperature", counting="sign")),
    (CAUSAL, ModelOptions("causal-position")),
]


def stored(directory: Path, text: str = TEXT, options: ModelOptions = DEFAULT) -> tuple[FormulaTarget, Path]:
    """Compile a formula; return the subject and the file that stores it."""
    source, path = directory / "formula.ltl", directory / "formula.model.json"
    source.write_text(text, encoding="utf-8")
    subject = read_input(str(source)).compile(options)
    assert isinstance(subject, FormulaTarget)
    path.write_text(store_text(subject), encoding="utf-8")
    return subject, path


@contextmanager
def edited(path: Path) -> Iterator[Any]:
    """Return a context with the document of a file, which is written back at the end."""
    document = json.loads(path.read_text(encoding="utf-8"))
    yield document
    path.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.sweep
@pytest.mark.parametrize(("text", "options"), OPTIONS)
def test_a_stored_model_gives_identical_results(tmp_path: Path, text: str, options: ModelOptions) -> None:
    direct, path = stored(tmp_path, text, options)
    again = read_input(str(path)).compile(DEFAULT)
    assert (again.model, again.program, again.facts) == (direct.model, direct.program, direct.facts)
    check = CheckOptions(max_n=6, exhaustive=30)
    one, two = check_subject(direct, check), check_subject(again, check)
    assert replace(two, input=one.input, sha256=one.sha256) == one
    assert two.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    if text != TEXT:
        assert one.verdict is Verdict.CERTIFIED
        assert again.facts.counting is not None
        written = {head.kind for head in direct.program.heads}
        assert written & {Kind.LOOKUP, Kind.TABLE, Kind.SIGN, Kind.SIGN_RAMP}


def test_the_predicates_of_a_stored_model_are_those_of_its_formula(tmp_path: Path) -> None:
    """The encoding contains their names; the formula defines them, so a changed definition changes the network."""
    _, path = stored(tmp_path, HEADER.replace("aba", "aab") + "MID(#L[a] + 0)\n")
    assert "MID(i)" in path.read_text(encoding="utf-8")
    with edited(path) as document:
        changed = document["source"]["text"].replace("2*i == n + 1", "i == n").replace("accept: aab\n", "")
        assert changed != document["source"]["text"]
        document["source"]["text"] = changed
    for found in evaluations(read_input(str(path)).compile(DEFAULT), all_words("ab", 5)):
        assert found.mismatch is None
        assert found.oracle is (found.word.count("a") == len(found.word))


def test_the_same_options_may_be_repeated_and_others_are_refused(tmp_path: Path) -> None:
    model = read_input(str(stored(tmp_path, TEXT, ModelOptions("position", beta=Fraction(5)))[1]))
    assert model.compile(ModelOptions("position", beta=Fraction(5), at="first")) is model.as_read()
    for options, name in [
        (ModelOptions("causal-position"), "--regime causal-position"),
        (ModelOptions("temperature"), "--regime temperature"),
        (ModelOptions(beta=Fraction(4)), "--beta 4"),
        (ModelOptions(tau=parse_arith("1/n", ("i", "n"), "--tau")), "--tau 1/n"),
        (ModelOptions(at="last"), "--at last"),
        (ModelOptions(single_head=True), "--single-head"),
    ]:
        with pytest.raises(InputError, match="is already compiled") as caught:
            model.compile(options)
        assert name in str(caught.value)
    model = read_input(str(stored(tmp_path, ONE_KIND, ModelOptions(counting="sign"))[1]))
    assert model.compile(ModelOptions(counting="sign")) is model.as_read()
    with pytest.raises(InputError, match="so --counting lookup does not apply"):
        model.compile(ModelOptions(counting="lookup"))


def test_sha256_is_that_of_the_bytes(tmp_path: Path) -> None:
    assert stored(tmp_path)[0].sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
    assert read_expression("a S b", "a b").sha256 == hashlib.sha256(b"a S b").hexdigest()


def test_a_network_whose_weights_were_edited_is_judged_as_it_is(tmp_path: Path) -> None:
    _, path = stored(tmp_path)
    for part in ("w_q", "w_v"):
        with edited(path) as document:
            layers = document["model"]["layers"]
            head = next(head for layer in layers for head in layer["heads"] if head["w_q"]["entries"])
            if part == "w_q":
                head["w_q"]["entries"][0][2] = "1/100"
            else:
                head["w_v"]["entries"] = []
        result = check_subject(read_input(str(path)).compile(DEFAULT), CheckOptions(max_n=4))
        assert result.verdict is Verdict.REFUTED


def head_of(document: Any) -> Any:
    """Return a head of the network."""
    return next(head for layer in document["model"]["layers"] for head in layer["heads"])


def a_table(document: dict[str, Any]) -> dict[str, Any]:
    heads = [head for layer in document["specification"]["layers"] for head in layer["heads"]]
    found: dict[str, Any] = next(head for head in heads if head["kind"] == "table")
    return found


DAMAGES: list[tuple[Any, str]] = [
    (
        lambda d: d.update(format="other"),
        'at format: expected one of hardsim-model, hardsim-ahat, hardsim-network, found "other"',
    ),
    (lambda d: d.update(schema_version=99), "at schema_version: expected an integer from 1 to 2, found 99"),
    (lambda d: d.pop("model"), 'expected an object with the key "model"'),
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
    (lambda d: head_of(d).update(weighting="rightmost"), 'weighting: expected one of softmax, found "rightmost"'),
    (
        lambda d: d["model"].update(weighting="average"),
        "at model.weighting: expected one of softmax, sparsemax, geometric, softmax:fixed:8",
    ),
    (lambda d: d["model"].pop("weighting"), 'expected an object with the key "weighting"'),
    (lambda d: d["model"].pop("temperature"), 'at model: expected an object with the key "temperature"'),
]


COUNTING_DAMAGES: list[tuple[Any, str]] = [
    (lambda d: d["source"].update(text=d["source"]["text"].replace("MID", "OTHER")), "unknown name 'MID'"),
    (lambda d: a_table(d).update(kind="guess"), "expected one of uniform, nearest, lookup, table, sign, sign-ramp"),
    (lambda d: a_table(d).update(decay="1/x"), "decay"),
    (lambda d: a_table(d).pop("coefficients"), '"coefficients"'),
    (lambda d: a_table(d).update(coefficients="many"), "coefficients"),
    (lambda d: a_table(d).update(coefficients="3/2"), "coefficients: expected a positive integer"),
    (lambda d: a_table(d).update(coefficients="0"), "coefficients: expected a positive integer"),
    (
        lambda d: d["options"].update(counting="abacus"),
        "at options.counting: expected lookup, as the heads of the specification count",
    ),
    (lambda d: d["model"]["encodings"][14].update(value="MOD(3, 3, i)"), "model.encodings[14].value:1:1"),
    (lambda d: d["model"]["encodings"][14].update(value="PRIME(i * i)"), "model.encodings[14].value:1:7"),
]


@pytest.mark.parametrize(
    ("text", "damage", "message"), [*((TEXT, *case) for case in DAMAGES), *((BOTH, *case) for case in COUNTING_DAMAGES)]
)
def test_a_damaged_model_is_refused_with_its_place(tmp_path: Path, text: str, damage: Any, message: str) -> None:
    _, path = stored(tmp_path, text)
    with edited(path) as document:
        damage(document)
    with pytest.raises(HardsimError) as caught:
        read_input(str(path))
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_what_is_worked_out_from_the_specification_is_refused_for_another_network(tmp_path: Path) -> None:
    _, path = stored(tmp_path)
    given = read_input(str(path))
    assert (given.as_read().specified, given.notes) == (True, given.file.notes)
    with edited(path) as document:
        next(layer for layer in document["model"]["layers"] if layer["heads"])["heads"][0]["w_k"]["entries"][0][2] = "9"
    given = read_input(str(path))
    assert given.notes == (*given.file.notes, OTHER)
    for worked_out in (bound_subject, store_program, lambda subject: critical(subject, 1)):
        with pytest.raises(InputError, match="the network differs from the one that its specification compiles to"):
            worked_out(given.as_read())


def test_a_head_of_another_name_is_refused(tmp_path: Path) -> None:
    _, path = stored(tmp_path)
    with edited(path) as document:
        layer = next(layer for layer in document["specification"]["layers"] if layer["heads"])
        layer["heads"][0]["name"] = "other"
    with pytest.raises(InputError, match="expected the heads of the network's layer"):
        read_input(str(path))


NO_FORMAT = ': the "format" of this JSON must be hardsim-model, hardsim-ahat or hardsim-network\n  See docs/networks.md'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", ":1:2: error: this is not JSON: it ends too early"),
        (b"[" * 100_000, ":1:301: error: the brackets of this JSON are nested too deeply"),
        (b'{"format": "\xff"}', ":1:13: error: not UTF-8: byte 0xff at offset 12"),
        *((text, NO_FORMAT) for text in (b"[]", b"3", b'"format"', b"{}", b'{"layers": []}')),
        *(
            (b'{"format": %b, "layers": []}' % one, NO_FORMAT)
            for one in (b'"other"', b"1", b"null", b'["hardsim-model"]')
        ),
        (b'{"format": "other", "schema_version": 1}', "expected one of hardsim-model, "),
        (b'{"format": "hardsim-certificate"}', "this is a certificate, not a model\n  Check it: hardsim verify "),
    ],
)
def test_what_is_not_a_model_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_input(str(path))
    assert message in str(caught.value)


def test_each_kind_of_input_has_a_class() -> None:
    classes: list[type[Input]] = [
        FormulaInput,
        ProgramInput,
        HardAttentionInput,
        RegexInput,
        AutomatonInput,
        NetworkInput,
    ]
    assert [one.kind for one in classes] == [*get_args(Opened)]
    assert len({one.what for one in classes}) == len(classes)


def test_directories_stand_for_their_files(tmp_path: Path) -> None:
    _, path = stored(tmp_path)
    (tmp_path / "notes.txt").write_text("no formula")
    assert expand_paths([str(tmp_path), "x.ltl"]) == [str(tmp_path / "formula.ltl"), str(path), "x.ltl"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(
        InputError, match=r"has no \*\.ltl, \*\.srasp, \*\.cr, \*\.ahat\.json, \*\.model\.json or \*\.spec file"
    ):
        expand_paths([str(empty)])


@pytest.mark.parametrize("regime", PROVEN)
def test_every_regime_can_be_stored(tmp_path: Path, regime: str) -> None:
    subject, path = stored(tmp_path, "alphabet: a b\n(Y a) S b\n", ModelOptions(regime))
    assert read_input(str(path)).compile(DEFAULT).model == subject.model
