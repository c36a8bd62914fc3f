"""Regime `layer-norm` over sets of propositions, on the command line."""

from pathlib import Path

from tests.cli.conftest import Cli

FORMULA = "props: req ack\nH (#L[req] >= #L[ack]) & #L[req & ack] <= 2\n"


def test_a_certificate_is_that_of_the_file(hardsim: Cli, tmp_path: Path) -> None:
    formula, other = tmp_path / "f.ltl", tmp_path / "other.ltl"
    formula.write_text(FORMULA)
    other.write_text(FORMULA.replace("<= 2", "<= 3"))
    made, model = str(tmp_path / "f.cert.json"), str(tmp_path / "f.model.json")
    options = ("--regime", "layer-norm")
    assert hardsim("prove", str(formula), *options, "--all-n", "--max-n", "3", "--certificate", made).code == 0
    assert hardsim("compile", str(formula), *options, "-o", model).code == 0
    found = hardsim("verify", made, "--formula", str(formula), "--model", model)
    assert found.code == 0
    assert found.out.startswith("VALID")
    wrong = hardsim("verify", made, "--formula", str(other))
    assert wrong.code == 1
    assert "differs from the formula of" in " ".join((wrong.out + wrong.err).split())
    checked = hardsim("check", model, "--max-n", "3")
    assert checked.code == 0
    assert checked.out.startswith("PROVED")


def test_every_regime_leaves_out_too_many_sets(hardsim: Cli) -> None:
    names = " ".join(f"p{k}" for k in range(9))
    found = hardsim("check", "-e", "#L[p0] >= #L[p1]", "--props", names, "--regime", "all", "--max-n", "1")
    assert found.code == 0
    assert "4 results: 4 PROVED" in found.out
    assert "these propositions make 512 sets" in " ".join(found.err.split())
