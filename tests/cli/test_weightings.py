"""The option --weighting and the key `weighting` of files: which commands know it, and which refuse it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.language import formulas_directory

FORMULAS = formulas_directory()
SPARSE = ("--weighting", "sparsemax")


def test_check_names_the_weighting_and_its_arithmetic(hardsim: Cli, since: Path) -> None:
    found = hardsim("check", since, *SPARSE, "--max-n", "3")
    assert (found.code, found.err) == (0, "")
    assert "beta 2" in found.told_text
    assert "sparsemax" in found.told_text
    assert "on all 39 words up to length 3, in exact rationals" in found.told_text
    result = hardsim("check", since, *SPARSE, "--max-n", "3", "--json", "-").result
    assert (result["model"]["weighting"], result["verdict"]) == ("sparsemax", "PROVED")
    assert all(length["error"] == 0 for length in result["lengths"])


def test_a_certificate_states_the_weighting(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "since.cert.json")
    assert hardsim("prove", since, *SPARSE, "--all-n", "--max-n", "3", "--certificate", path).code == 0
    assert json.loads(Path(path).read_text())["model"]["weighting"] == "sparsemax"
    found = hardsim("verify", path)
    assert found.code == 0
    assert "weighting sparsemax" in found.told_text
    assert hardsim("verify", path, "--json", "-").result["weighting"] == "sparsemax"


@pytest.mark.parametrize("hard", [False, True])
def test_files_keep_the_weighting(hardsim: Cli, since: Path, tmp_path: Path, hard: bool) -> None:
    path = str(tmp_path / ("m.ahat.json" if hard else "m.model.json"))
    assert hardsim("compile", since, *SPARSE, *(["--hard"] if hard else []), "-o", path).code == 0
    result = hardsim("prove", path, "--all-n", "--max-n", "3", "--json", "-").result
    assert (result["verdict"], result["model"]["weighting"]) == ("PROVED", "sparsemax")


def test_a_model_states_its_weighting(hardsim: Cli, tmp_path: Path) -> None:
    document = json.loads((FORMULAS / "flipflop.ahat.json").read_text(encoding="utf-8"))
    path = tmp_path / "flipflop.ahat.json"
    path.write_text(json.dumps(document | {"weighting": "sparsemax"}), encoding="utf-8")
    found = hardsim("prove", str(path), "--all-n")
    assert found.code == 0
    assert "sparsemax answers as hard attention does, at the temperature 1/(2*n)" in found.told_text
    path.write_text(json.dumps(document | {"weighting": "entmax"}), encoding="utf-8")
    found = hardsim("check", str(path))
    assert found.code == 2
    assert "at weighting" in found.err
    assert "softmax, sparsemax" in found.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "--engine", "float64"), "--engine float64 computes plain softmax alone"),
        (("prove", "--all-n", "--smt", "-"), "--smt writes the steps of proofs about softmax, not sparsemax"),
        (("prove", "--all-n", "--rocq", "folder"), "--rocq does not cover sparsemax"),
        (("export", "--to", "onnx", "-o", "x.onnx"), "--to onnx computes plain softmax alone"),
        (("export", "--to", "transformer-lens", "-o", "x"), "--to transformer-lens computes plain softmax alone"),
    ],
)
def test_what_knows_softmax_alone_refuses(
    hardsim: Cli, since: Path, arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *rest = arguments
    found = hardsim(command, since, *SPARSE, *rest)
    assert found.code == 2
    assert message in " ".join(found.err.split())
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "x.onnx").exists()


def test_an_unknown_weighting_is_refused(hardsim: Cli, since: Path) -> None:
    found = hardsim("check", since, "--weighting", "sparsmax")
    assert found.code == 2
    assert "Did you mean sparsemax?" in found.err


def test_a_compiled_model_keeps_its_own(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "m.model.json")
    assert hardsim("compile", since, "-o", path).code == 0
    found = hardsim("check", path, *SPARSE)
    assert found.code == 2
    assert "--weighting sparsemax does not apply" in found.err


def test_bound_reports_the_largest_temperature(hardsim: Cli) -> None:
    """The two ends tie, m = 2, and the gap to the other symbols is 1."""
    result = hardsim("bound", FORMULAS / "ties.ahat.json", *SPARSE, "--critical", "--max-n", "3", "--json", "-").result
    found = [row["temperature"] and row["temperature"]["exact"] for row in result["hard_up_to"]]
    assert found == [None, None, "2"]
