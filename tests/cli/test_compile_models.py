"""`hardsim compile`: hard attention of formulas, softmax models of models and programs, and reading them back."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hardsim.ahat.file import schema
from tests.attention_models import HEAD, critical, sided, some_a, with_head, write

FORMULAS = {
    "since": "alphabet: a b c\naccept: ab\nreject: bc\na S b\n",
    "future": "alphabet: a b\nat: first\naccept: ab\na U b\n",
    "yesterday": "alphabet: a b\nY a & !first\n",
    "counts": "alphabet: a b\n#L[a] > #L[b]\n",
    "predicate": "alphabet: a b\npred MIDDLE(i, n) = 2*i == n + 1\nO(a & MIDDLE)\n",
    "odd": "alphabet: a b\nODD(#[a]) | PRIME & a\n",
}
PAST = ("temperature", "position", "causal-temperature", "causal-position")
CASES = [
    *[("since", regime) for regime in PAST],
    *[("yesterday", regime) for regime in PAST],
    *[(name, regime) for name in ("future", "predicate", "odd") for regime in PAST[:2]],
    *[("counts", regime) for regime in PAST],
]


def valid(path: Path) -> Any:
    """The document, which meets the schema of the format."""
    document = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema()).validate(document)
    return document


@pytest.mark.parametrize(("name", "regime"), CASES)
def test_hard_attention_of_a_formula_reads_back(hardsim: Any, tmp_path: Path, name: str, regime: str) -> None:
    formula = tmp_path / f"{name}.ltl"
    formula.write_text(FORMULAS[name], encoding="utf-8")
    hard = tmp_path / "hard.ahat.json"
    assert hardsim("compile", formula, "--hard", "--regime", regime, "-o", hard).code == 0
    document = valid(hard)
    assert "temperature" not in document
    weightings = {head["weighting"] for layer in document["layers"] for head in layer["heads"]}
    assert weightings <= {"average", "leftmost", "rightmost"}
    expected = hardsim("words", formula, "--max-n", "5", "--by", "oracle").out
    assert expected
    outcome = hardsim("words", hard, "--max-n", "5", "--by", "hard")
    assert (outcome.code, outcome.err, outcome.out) == (0, "", expected)
    outcome = hardsim("check", hard, "--max-n", "2", "--json", "-")
    assert outcome.code == 0
    assert outcome.json["results"][0]["violation"] is None


def test_hard_attention_has_no_temperature(hardsim: Any, since: Path, tmp_path: Path) -> None:
    hard = tmp_path / "hard.ahat.json"
    outcome = hardsim("compile", since, "--hard", "-o", hard, "--beta", "7", "--tau", "1/(9*n)", "--json", "-")
    assert outcome.code == 0
    assert outcome.err == f"note: {since}: --beta, --tau: for softmax; hard attention has no temperature\n"
    (result,) = outcome.json["results"]
    assert result["sha256"] == hashlib.sha256(hard.read_bytes()).hexdigest()
    text = hard.read_bytes()
    hardsim("compile", since, "--hard", "-o", hard)
    assert json.loads(hard.read_text())["layers"] == json.loads(text)["layers"]


def test_the_softmax_model_of_a_model(hardsim: Any, tmp_path: Path) -> None:
    path, soft = write(tmp_path, some_a(examples={"accept": ["ba"], "reject": ["b"]})), tmp_path / "soft.ahat.json"
    outcome = hardsim("compile", path, "--max-n", "4", "-o", soft, "--json", "-")
    assert outcome.code == 0
    (result,) = outcome.json["results"]
    assert result["model"]["kind"] == "ahat"
    assert result["sha256"] == hashlib.sha256(soft.read_bytes()).hexdigest()
    document = valid(soft)
    assert (document["weighting"], document["layers"][0]["heads"][0]["hardmax"]) == ("softmax", "average")
    direct = hardsim("check", path, "--max-n", "4", "--json", "-").json["results"][0]["lengths"]
    # A temperature for each length, Theorem 26's.
    assert document["temperature"] == [length["theorem"] for length in direct]
    outcome = hardsim("check", soft, "--max-n", "4", "--json", "-")
    assert outcome.code == 0
    assert outcome.json["results"][0]["lengths"] == direct
    outcome = hardsim("check", soft, "--max-n", "5")
    assert (outcome.code, outcome.out) == (2, "")
    assert "known for lengths 1 to 4, not for 5" in outcome.err
    assert "--max-n 4 goes as far as that" in outcome.err
    assert "larger --max-n" in outcome.err
    assert hardsim("check", soft, "--max-n", "5", "--tau", "1/9").code == 0
    assert "softmax; hard attention" in hardsim("compile", soft, "--hard", "--tau", "1", "-o", tmp_path / "x.json").err
    assert json.loads((tmp_path / "x.json").read_text())["layers"][0]["heads"][0]["weighting"] == "average"


def test_the_temperature_of_a_softmax_model_is_the_one_that_is_checked(hardsim: Any, tmp_path: Path) -> None:
    soft = tmp_path / "soft.ahat.json"
    assert hardsim("compile", write(tmp_path, some_a()), "--tau", "1", "-o", soft).code == 0
    assert valid(soft)["temperature"] == "1"
    assert critical(2) < 1
    outcome = hardsim("check", soft, "--max-n", "2", "--json", "-")
    assert outcome.code == 1
    assert outcome.json["results"][0]["mismatch"]["word"] == ["a", "b"]


@pytest.mark.parametrize("weighting", ["leftmost", "rightmost"])
@pytest.mark.parametrize("gap", [None, "1"])
def test_broken_ties_read_back(hardsim: Any, tmp_path: Path, weighting: str, gap: str | None) -> None:
    document = sided(weighting) if gap is None else with_head(sided(weighting), gap=gap)
    path, soft = write(tmp_path, document), tmp_path / "soft.ahat.json"
    outcome = hardsim("check", path, "--max-n", "3")
    assert outcome.code == 0
    assert f"ties broken in {HEAD}" in outcome.out
    assert hardsim("compile", path, "--max-n", "3", "-o", soft).code == 0
    assert valid(soft)["layers"][0]["heads"][0]["hardmax"] == weighting
    expected = hardsim("words", path, "--max-n", "3").out
    for by in ("hard", "soft"):
        assert hardsim("words", soft, "--max-n", "3", "--by", by).out == expected
    outcome = hardsim("check", soft, "--max-n", "3", "--json", "-")
    assert (outcome.code, outcome.json["results"][0]["ties"]) == (0, [])


def test_the_softmax_model_of_a_program(hardsim: Any, tmp_path: Path) -> None:
    path, soft = tmp_path / "swap.srasp", tmp_path / "soft.ahat.json"
    path.write_text("alphabet: a b\nY(i) := in(i) = 'a' ? 'b' : 'a'\n", encoding="utf-8")
    for options in ([], ["--hard"]):
        assert hardsim("compile", path, "--max-n", "3", "-o", soft, *options).code == 0
        assert set(valid(soft)["outputs"]) == {"a", "b"}
        outcome = hardsim("eval", soft, "aab")
        assert outcome.code == 0
        assert outcome.out.splitlines()[-1].split()[:4] == ["yes", "–", "bba", "bba"]
        assert hardsim("check", soft, "--max-n", "3").code == 0


# ---- what is wrong with a model ----

WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"format": "other"}, "format", "one of hardsim-model, hardsim-ahat, found 'other'"),
    ({"schema_version": 2}, "schema_version", "an integer from 1 to 1, found 2"),
    ({"thresold": "1"}, "the top level", "keys among "),
    ({"threshold": None}, "the top level", "an object with the key 'threshold'"),
    ({"threshold": 0.5}, "threshold", 'a rational as a string such as "3" or "-1/2", found 0.5'),
    ({"threshold": "1/0"}, "threshold", "a rational as a string"),
    ({"alphabet": []}, "alphabet", "distinct symbols, at least one, found []"),
    ({"alphabet": ["a", "a"]}, "alphabet", "distinct symbols"),
    ({"alphabet": ["a", "b c"]}, "alphabet[1]", "a symbol, which is not empty and has no white space"),
    ({"coordinates": ["1", "1", "found"]}, "coordinates", "distinct names"),
    ({"output": "lost"}, "output", "one of the coordinates, found 'lost'"),
    ({"reading": "middle"}, "reading", "one of first, last, found 'middle'"),
    ({"bos": 1}, "bos", "true or false, found 1"),
    ({"embedding": {"x": {"1": "1"}}}, "embedding", "rows named a, b (not 'x')"),
    ({"embedding": {"a": {"y": "1"}}}, "embedding.a", "coordinates of the model (not 'y')"),
    ({"embedding": [["1", "0", "0"]]}, "embedding", "2"),
    ({"embedding": {"shape": [2, 4], "entries": []}}, "embedding.shape", "[2, 3], found [2, 4]"),
    ({"embedding": {"shape": [2, 3], "entries": [[2, 0, "1"]]}}, "embedding.entries[0][0]", "an integer from 0 to 1"),
    ({"encodings": [{"coordinate": "1", "value": "1/(i-1)"}]}, "encodings[0].value", "a value at every position"),
    ({"encodings": [{"coordinate": "z", "value": "i"}]}, "encodings[0].coordinate", "one of the coordinates"),
    ({"encodings": [{"coordinate": "1", "value": ["x"]}]}, "encodings[0].value[0]", "a rational as a string"),
    ({"examples": {"accept": ["ax"]}}, "examples.accept[0]", "a word over the alphabet"),
    ({"examples": {"maybe": []}}, "examples", "keys among accept, reject (not 'maybe')"),
    ({"predicates": ["P(i) = i +"]}, "predicates", "definitions of predicates"),
    ({"outputs": {}}, "outputs", "an object from output symbols to coordinates"),
    ({"layers": {}}, "layers", "an array"),
    ({"layers": [{"heads": [], "fnn": {}}]}, "layers[0]", "keys among heads, ffn (not 'fnn')"),
    ({"layers": [{"heads": [], "ffn": {"w1": [["1"]], "w2": []}}]}, "layers[0].ffn.w1[0]", "3"),
]
WRONG_HEADS: list[tuple[dict[str, Any], str, str]] = [
    ({"mask": "full"}, "mask", "one of none, future, past, strict-future, strict-past, found 'full'"),
    ({"mask": "strict-past"}, "mask", 'strict masks need "bos": true'),
    ({"weighting": "hard"}, "weighting", "one of "),
    ({"w_k": [{"a": "1"}, {"1": "1"}]}, "w_k", "1"),
    ({"w_v": {"lost": {"a": "1"}}}, "w_v", "rows named 1, a, found (not 'lost')"),
    ({"gpa": "1"}, "", "keys among name, mask"),
    ({"hardmax": "leftmost"}, "hardmax", "a softmax head"),
    ({"name": 3}, "name", "a string, found 3"),
]
HEADS = [
    (with_head(**changes), f"layers[0].heads[0].{key}".removesuffix("."), said) for changes, key, said in WRONG_HEADS
]
DOCUMENTS = [(some_a(**changes), place, said) for changes, place, said in WRONG] + HEADS


@pytest.mark.parametrize(("document", "place", "expected"), DOCUMENTS)
def test_an_error_in_a_model_names_file_place_expected_and_found(
    hardsim: Any, tmp_path: Path, document: Any, place: str, expected: str
) -> None:
    path = write(tmp_path, document)
    outcome = hardsim("check", path)
    assert (outcome.code, outcome.out) == (2, "")
    first, hint = outcome.err.splitlines()
    assert first.startswith(f"error: {path}: at {place}: expected ")
    assert expected in first
    assert ", found " in first
    assert hint == "  Correct the file, or make it again with `hardsim compile`."


def test_errors_that_show_the_text(hardsim: Any, tmp_path: Path) -> None:
    path = write(tmp_path, with_head(gap="1/m"))
    outcome = hardsim("show", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"{path}: layers[0].heads[0].gap:1:3: error: unknown name 'm'\n  1/m\n    ^\n" in outcome.err
    path.write_text('{"format": "hardsim-ahat",\n  1}', encoding="utf-8")
    assert f"{path}:2:3: not JSON" in hardsim("show", path).err
    path.write_text('{"format": "hardsim-ahat", "format": "hardsim-ahat"}', encoding="utf-8")
    assert "the key 'format' occurs twice" in hardsim("show", path).err
    path.write_bytes(b'{"format": "\xff"}')
    assert f"{path}: not UTF-8 at byte 12" in hardsim("show", path).err


def test_an_example_that_the_model_gets_wrong(hardsim: Any, tmp_path: Path) -> None:
    path = write(tmp_path, some_a(examples={"accept": ["ab", "bb"]}))
    outcome = hardsim("check", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"error: {path}: at examples: the model rejects 'bb', which is listed as accepted" in outcome.err


def test_heads_of_both_kinds_are_refused(hardsim: Any, tmp_path: Path) -> None:
    document = some_a(temperature="1")
    document["layers"].append({"heads": [document["layers"][0]["heads"][0] | {"name": "x", "weighting": "softmax"}]})
    outcome = hardsim("check", write(tmp_path, document))
    assert outcome.code == 2
    assert "at layers: expected heads that are all softmax, or all average, leftmost or rightmost" in outcome.err
    document["layers"][1]["heads"][0]["name"] = HEAD
    assert (
        "layers[1].heads[0].name: expected a name that no other head has"
        in hardsim("check", write(tmp_path, document)).err
    )
