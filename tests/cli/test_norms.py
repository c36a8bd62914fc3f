"""Layer norms of hard-attention models on the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.run.test_norms import sign_network

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
    assert hardsim("export", str(model), "--to", "safetensors", "-o", str(folder)).code == 0
    (layer,) = json.loads((folder / "config.json").read_text())["network"]["layers"]
    assert (layer["norms"], layer["norm_2"]) == ("after", {"kind": "layer", "epsilon": "0"})


def test_certified_float64_and_proofs_from_weights_name_the_norm(hardsim: Cli, model: Path) -> None:
    found = hardsim("check", str(model), "--engine", "float64")
    assert found.code == 2
    assert "does not cover networks with layer norms" in found.err
    proof = hardsim("prove", str(model), "--all-n")
    assert proof.code == 3
    assert "does not cover layer norms" in " ".join(proof.out.split())
