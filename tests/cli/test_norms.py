"""Layer norms of hard-attention models on the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.run.test_norms import sign_network
from tests.support.subjects import FORMULAS

MAJORITY = "alphabet: a b\n#L[a] - #L[b] >= 0\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    found = tmp_path / "sign.ahat.json"
    found.write_text(json.dumps(sign_network(pads=4)))
    (tmp_path / "majority.ltl").write_text(MAJORITY)
    return found


def test_a_model_with_a_norm_is_shown_checked_and_exported(hardsim: Cli, model: Path) -> None:
    shown = hardsim("show", str(model)).clean().out
    assert "layer norm after the hidden units (epsilon 0)" in " ".join(shown.split())
    assert hardsim("show", str(model), "--json", "-").result["layers"][0]["norm_2"]["exact"] == "0"
    found = hardsim("check", str(model), "--against", str(model.parent / "majority.ltl"), "--max-n", "6")
    assert found.code == 0
    wrong = model.parent / "less.ltl"
    wrong.write_text(MAJORITY.replace(">=", ">"))
    assert hardsim("check", str(model), "--against", str(wrong), "--max-n", "4").code == 1
    folder = model.parent / "out"
    assert hardsim("export", str(model), "--to", "safetensors", "-o", str(folder), "--max-n", "8").code == 0
    (layer,) = json.loads((folder / "config.json").read_text())["network"]["layers"]
    assert (layer["norms"], layer["norm_2"]) == ("after", {"kind": "layer", "epsilon": "0"})


def test_certified_float64_and_proofs_from_weights_name_the_norm(hardsim: Cli, model: Path) -> None:
    found = hardsim("check", str(model), "--engine", "float64")
    assert found.code == 2
    assert "does not cover networks with layer norms" in found.err
    proof = hardsim("prove", str(model), "--all-n")
    assert proof.code == 3
    assert "does not cover layer norms" in " ".join(proof.out.split())


def test_models_with_norms_are_proved_by_running_every_word(hardsim: Cli) -> None:
    """The heads of PARITY tie, and no bound of errors covers norms: all words of each length are run in rationals."""
    proof = hardsim("prove", "parity_layer_norm.ahat.json", "--max-n", "5", "--json", "-")
    assert (proof.code, proof.result["verdict"], proof.result["tried"]) == (0, "PROVED", 0)
    assert [length["proved_by"] for length in proof.result["lengths"]] == ["every word"] * 5


def test_a_model_with_norms_that_softmax_gets_wrong_is_refuted(hardsim: Cli, tmp_path: Path) -> None:
    document = json.loads((FORMULAS / "parity_layer_norm.ahat.json").read_text())
    del document["examples"]
    for key in ("norms", "norm_1", "norm_2"):
        del document["program"]["layers"][1][key]  # hard attention keeps its distance; that of softmax shrinks
    document |= {"temperature": "100", "program": document["program"] | {"threshold": "1/2"}}
    (tmp_path / "wrong.ahat.json").write_text(json.dumps(document))
    assert hardsim("prove", str(tmp_path / "wrong.ahat.json"), "--max-n", "3").code == 1
