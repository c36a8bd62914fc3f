"""Geometric attention on the command line: --weighting geometric, the key `weighting` of files, and refusals."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.support.language import formulas_directory

FORMULAS = formulas_directory()
GIVEN = ("-e", "a S (b & Y a)", "--alphabet", "a b", "--weighting", "geometric")

SINCE: dict[str, Any] = {
    "format": "hardsim-ahat",
    "schema_version": 2,
    "title": "a S b",
    "weighting": "geometric",
    "temperature": "1/log(4*n)",
    "program": {
        "alphabet": ["a", "b", "c"],
        "coordinates": ["1", "select", "b", "found"],
        "letters": [{"name": "select", "symbols": ["b", "c"]}, {"name": "b", "symbols": ["b"]}],
        "encodings": [],
        "layers": [
            {
                "heads": [
                    {
                        "name": "since",
                        "mask": "future",
                        "weighting": "rightmost",
                        "score": [[{"1": "1"}, {"select": "2", "1": "-1"}]],
                        "values": {"found": {"b": "1"}},
                    }
                ],
                "units": [],
            }
        ],
        "output": "found",
        "threshold": "1/2",
    },
}
"""`a S b` by hand: over the threshold of 1/2 where the last b or c is a b."""


def written(folder: Path, changes: dict[str, Any] | None = None, **top: Any) -> Path:
    """Write SINCE with other values of its head, and of the document."""
    document = json.loads(json.dumps(SINCE)) | top
    document["program"]["layers"][0]["heads"][0] |= changes or {}
    path = folder / "since.ahat.json"
    path.write_text(json.dumps({key: value for key, value in document.items() if value is not None}), encoding="utf-8")
    return path


def test_check_and_certificate(hardsim: Cli, tmp_path: Path) -> None:
    found = hardsim("check", *GIVEN, "--max-n", "4")
    assert (found.code, found.err) == (0, "")
    assert "PROVED" in found.told_text
    assert "temperature 1/log(4*n), beta 1" in found.told_text
    assert "on all 30 words up to length 4, in ball arithmetic" in found.told_text
    path = str(tmp_path / "p.cert.json")
    result = hardsim("prove", *GIVEN, "--all-n", "--max-n", "3", "--certificate", path, "--json", "-").exits(0).result
    assert (result["verdict"], result["model"]["weighting"]) == ("PROVED", "geometric")
    assert hardsim("verify", path, "--json", "-").exits(0).result["weighting"] == "geometric"


def test_the_argument_is_printed(hardsim: Cli) -> None:
    text = hardsim("prove", *GIVEN, "--all-n", "--max-n", "2").exits(0).told_text
    assert "1 + e^l(w) >= 4*n + 1 >= 4 (m)" in text
    assert "so with g = 4 the error is at most 1/g <= 0.25" in text
    assert "the geometric network = its hard heads -- proved" in text


def test_regime_all_is_the_one_regime_of_the_weighting(hardsim: Cli) -> None:
    outcome = hardsim("check", *GIVEN, "--regime", "all", "--max-n", "2", "--json", "-").exits(0).json
    assert [result["model"]["regime"] for result in outcome["results"]] == ["geometric"]


@pytest.mark.parametrize("hard", [False, True])
def test_files_keep_the_weighting(hardsim: Cli, tmp_path: Path, hard: bool) -> None:
    path = str(tmp_path / ("m.ahat.json" if hard else "m.model.json"))
    hardsim("compile", *GIVEN, *(["--hard"] if hard else []), "-o", path).exits(0)
    result = hardsim("prove", path, "--all-n", "--max-n", "3", "--json", "-").exits(0).result
    assert (result["verdict"], result["model"]["weighting"]) == ("PROVED", "geometric")
    refused = hardsim("check", path, "--weighting", "softmax")
    assert refused.code == 2
    assert "--weighting softmax does not apply" in refused.err


def test_a_model_by_hand(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path)
    result = hardsim("check", path, "--max-n", "4", "--json", "-").exits(0).result
    assert result["verdict"] == "CERTIFIED"
    # 1 - (1 - 1/17)^4 at length 4: b, then three a.
    assert float(result["lengths"][-1]["error"]) == pytest.approx(1 - (16 / 17) ** 4)
    found = hardsim("check", path, "--tau", "1", "--max-n", "4")
    assert found.code == 1
    assert "geometric leaves hard attention in layer 1" in " ".join(found.told_text.split())


@pytest.mark.parametrize(
    ("changes", "top", "message"),
    [
        ({}, {"temperature": None}, "geometric attention needs a temperature"),
        ({"mask": "none"}, {}, "mask none shows two sides"),
        ({"mask": "past"}, {}, "head since is rightmost, and geometric attention reads the nearest position first"),
        ({"weighting": "average"}, {}, "head since is average, and geometric attention reads the nearest"),
        ({"score": [], "weighting": "average"}, {}, "head since takes a mean"),
        ({"mask": "strict-future"}, {"weighting": "sparsemax"}, 'or "weighting": "geometric"'),
    ],
)
def test_models_without_a_meaning_are_refused(
    hardsim: Cli, tmp_path: Path, changes: dict[str, Any], top: dict[str, Any], message: str
) -> None:
    found = hardsim("check", written(tmp_path, changes, **top), "--max-n", "2")
    assert found.code == 2
    assert message in " ".join(found.err.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "--engine", "float64"), "--engine float64 computes plain softmax alone"),
        (("prove", "--all-n", "--smt", "-"), "--smt writes the steps of proofs about softmax, not geometric"),
        (("prove", "--all-n", "--rocq", "folder"), "--rocq does not cover the regime geometric"),
        (("export", "--to", "onnx", "-o", "x.onnx"), "--to onnx computes plain softmax alone"),
        (("export", "--to", "transformer-lens", "-o", "x"), "--to transformer-lens computes plain softmax alone"),
        (("check", "--regime", "temperature"), "--weighting geometric does not fit regime 'temperature'"),
    ],
)
def test_what_knows_softmax_alone_refuses(
    hardsim: Cli, arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *rest = arguments
    found = hardsim(command, *GIVEN, *rest)
    assert found.code == 2
    assert message in " ".join(found.err.split())
    assert [*tmp_path.iterdir()] == []


def test_counts_are_refused_at_their_place(hardsim: Cli) -> None:
    found = hardsim("check", "-e", "O b & 2 <= #R[a]", "--alphabet", "a b", "--weighting", "geometric")
    assert found.code == 2
    assert "'#R' is about a count, a position or a length" in found.err
    assert "The regimes that can compute the whole formula: temperature, position." in found.err
    programs = hardsim("check", FORMULAS / "dyck1.srasp", "--weighting", "geometric")
    assert programs.code == 2
    assert "takes a mean, and geometric attention has none" in programs.err


def test_bound_has_its_own_bound_and_the_least_beta(hardsim: Cli) -> None:
    """`Y a` at e^(beta log 4): right exactly from beta = log 3 / log 4 = 0.7925 on."""
    result = hardsim("bound", *GIVEN, "--max-n", "3", "--json", "-").exits(0).result
    assert [length["theorem"] for length in result["lengths"]] == [None] * 3
    yesterday = ("-e", "Y a", "--alphabet", "a b", "--weighting", "geometric")
    result = hardsim("bound", *yesterday, "--critical", "--max-n", "2", "--json", "-").exits(0).result
    every = result["every_length"]
    wrong, right = (float(Fraction(every[key]["exact"])) for key in ("wrong_at", "right_at"))
    assert 0.79 < wrong <= 0.79248 <= right < 0.794


def test_trace_shows_what_a_head_looks_at(hardsim: Cli) -> None:
    """Y looks at nothing at the first position, and since at nothing where nothing is selected."""
    heads = hardsim("trace", *GIVEN, "aab", "--json", "-").exits(0).result["heads"]
    assert [[read["keys"] for read in head["reads"]] for head in heads] == [[[], [1], [2]], [[], [], [3]]]


def test_a_constant_temperature_has_no_limit_of_hahn(hardsim: Cli) -> None:
    found = hardsim("check", "-e", "a S b", "--alphabet", "a b", "--weighting", "geometric", "--tau", "1/log(8)")
    assert found.code == 1
    assert "with a constant temperature, every word to length 2 is right" in " ".join(found.told_text.split())
    assert "Hahn" not in found.told_text
