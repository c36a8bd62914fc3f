"""Regime `layer-norm` on the command line."""

import json
from pathlib import Path

import pytest

from hardsim import api
from tests.cli.conftest import Cli
from tests.support.language import InputError
from tests.support.mistakes import raised

NESTED = "#L[#L[a] - #L[b] >= 0] - 2*#L[b] >= 0"
GIVEN = ("-e", NESTED, "--alphabet", "a b", "--regime", "layer-norm")


def test_a_formula_is_shown_checked_and_proved(hardsim: Cli) -> None:
    shown = " ".join(hardsim("show", *GIVEN).clean().out.split())
    assert "2 layers, 2 heads" in shown
    assert "layer norm after the hidden units (epsilon 0)" in shown
    assert "beta" not in shown
    found = hardsim("check", *GIVEN, "--max-n", "5")
    assert found.code == 0
    assert found.out.startswith("PROVED")
    proof = hardsim("prove", *GIVEN, "--all-n", "--max-n", "4")
    assert proof.code == 0
    assert "every word of every length" in " ".join(proof.out.split())


def test_every_regime_includes_it_where_it_applies(hardsim: Cli) -> None:
    counted = hardsim("check", "-e", NESTED, "--alphabet", "a b", "--regime", "all", "--max-n", "3")
    assert "6 results: 6 PROVED" in counted.out
    since = hardsim("check", "-e", "a S b", "--alphabet", "a b", "--regime", "all", "--max-n", "3")
    assert "4 results: 4 PROVED" in since.out


@pytest.mark.parametrize("text", ["a", "!a & b", "true", "a ^ b", "0 * #L[a] >= 0", "O (a & b)"])
def test_formulas_without_counts_are_proved_and_certified(hardsim: Cli, tmp_path: Path, text: str) -> None:
    given = ("-e", text, "--alphabet", "a b")
    assert "6 results: 6 PROVED" in hardsim("check", *given, "--regime", "all", "--max-n", "3").exits(0).out
    made = ("--all-n", "--certificate", tmp_path / "c.json")
    hardsim("prove", *given, "--regime", "layer-norm", *made).exits(0, "every word of every length")
    hardsim("verify", tmp_path / "c.json").exits(0, "VALID")
    hardsim("compile", *given, "--regime", "layer-norm", "-o", tmp_path / "m.json").exits(0)
    hardsim("check", tmp_path / "m.json", "--max-n", "3").exits(0, "PROVED")


def test_files_keep_the_network(hardsim: Cli, tmp_path: Path) -> None:
    for name, extra in (("m.json", ()), ("m.ahat.json", ("--hard",))):
        path = tmp_path / name
        assert hardsim("compile", *GIVEN, *extra, "-o", str(path)).code == 0
        found = hardsim("check", str(path), "--max-n", "4")
        assert found.code == 0
        assert found.out.startswith("PROVED")
    document = json.loads((tmp_path / "m.json").read_text())
    for part in (document["model"], document["specification"]):
        del part["layers"][0]["norm_2"], part["layers"][0]["norms"]
    (tmp_path / "left-out.json").write_text(json.dumps(document))
    assert hardsim("check", str(tmp_path / "left-out.json"), "--max-n", "4").code == 1
    del document["model"]["layers"][1]["norm_2"], document["model"]["layers"][1]["norms"]
    (tmp_path / "apart.json").write_text(json.dumps(document))
    assert hardsim("check", str(tmp_path / "apart.json"), "--max-n", "4").code == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("check", *GIVEN, "--beta", "3"), "have no scores, so --beta does not apply"),
        (("check", *GIVEN, "--tau", "1"), "its temperature is 1 by definition"),
        (("check", *GIVEN, "--counting", "sign"), "has one construction"),
        (("check", *GIVEN, "--single-head"), "has one construction"),
        (("check", *GIVEN, "--engine", "float64"), "certified float64 does not cover networks with layer norms"),
        (("bound", *GIVEN, "--critical"), "does not cover networks with layer norms"),
    ],
)
def test_what_does_not_apply_is_refused(hardsim: Cli, options: tuple[str, ...], message: str) -> None:
    found = hardsim(*options)
    assert found.code == 2
    assert message in " ".join(found.err.split())


def test_it_is_traced_bounded_measured_and_reported(hardsim: Cli, tmp_path: Path) -> None:
    assert hardsim("trace", *GIVEN[:6], "aab").code == 0
    assert hardsim("bound", *GIVEN, "--max-n", "3").code == 0
    measured = hardsim("precision", *GIVEN, "--max-n", "3")
    assert measured.code == 0
    assert "float32" in measured.out
    assert hardsim("report", *GIVEN, "--max-n", "3", "-o", str(tmp_path / "report")).code == 0
    assert hardsim("export", *GIVEN, "--to", "safetensors", "-o", str(tmp_path / "out"), "--max-n", "8").code == 0


def test_the_reach_of_an_epsilon(hardsim: Cli) -> None:
    given = ("bound", *GIVEN[:4], "--norm-epsilon", "1/2000")
    assert "--norm-epsilon is for formulas in regime layer-norm" in hardsim(*given).refused().err
    stated = hardsim("bound", "first_layer_norm.ahat.json", "--norm-epsilon", "1e-5", "--max-n", "3")
    stated.refused("A model states the epsilon of its norms").unsaid("--regime")
    found = hardsim(*given, "--regime", "layer-norm").clean().out
    assert hardsim(*given[:-1], "5e-4", "--regime", "layer-norm").clean().out == found
    model = api.load(NESTED, alphabet="a b")
    assert model.bound(norm_epsilon="5e-4", regime="layer-norm").proved_to == 3
    raised(InputError, lambda: model.bound(norm_epsilon=5e-4))
    hardsim(*given, "--critical").refused("so --norm-epsilon does not apply")
    hardsim(*given[:-1], "5e1").refused("such as 1/4 or 0.01")
    assert "proved to" in found
    assert "the shortest found" in found
    result = hardsim(*given, "--regime", "layer-norm", "--json", "-").result
    assert result["proved_to"] < len(result["word"]) <= result["tried_to"]


def test_gaps_of_a_model_with_norms_need_no_temperature(hardsim: Cli) -> None:
    hardsim("bound", "parity_layer_norm.ahat.json", "--gap", "--max-n", "4").exits(0, "yes")
    refused = hardsim("bound", "parity_layer_norm.ahat.json", "--max-n", "4")
    refused.refused("Theorem 26", "does not cover networks with layer norms", "Add --gap")
