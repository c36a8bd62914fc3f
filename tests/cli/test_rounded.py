"""Regime `rounded` on the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

NESTED = "#L[#L[a] - #L[b] >= 0] - 2*#L[b] >= 0"
TEXT = ("-e", NESTED, "--alphabet", "a b")
ONE = ("-e", "#L[a] >= 1", "--alphabet", "a b")
GIVEN = (*TEXT, "--regime", "rounded")


def test_a_formula_is_shown_checked_and_proved(hardsim: Cli) -> None:
    shown = " ".join(hardsim("show", *GIVEN).clean().out.split())
    assert "2 layers, 2 heads" in shown
    assert "floor:8, down to a multiple of 2^-8, after each sublayer" in shown
    assert "beta" not in shown
    hardsim("check", *GIVEN, "--max-n", "4").exits(0, "PROVED")
    hardsim("prove", *ONE, "--rounding", "biased:4", "--all-n", "--max-n", "8").exits(0, "every word of every length")


def test_a_certificate_is_about_the_network_with_its_rounding(hardsim: Cli, tmp_path: Path) -> None:
    path, model = tmp_path / "c.json", tmp_path / "m.json"
    hardsim("prove", *ONE, "--rounding", "biased:4", "--all-n", "--max-n", "4", "--certificate", path).exits(0)
    hardsim("compile", *ONE, "--rounding", "biased:4", "-o", model).exits(0)
    hardsim("verify", path, "--model", model).exits(0, "VALID")
    hardsim("compile", *ONE, "--rounding", "biased:3", "-o", model).exits(0)
    hardsim("verify", path, "--model", model).clean("INVALID", "differs from that of", code=1)


@pytest.mark.parametrize("typed", ["floor:8", "floor:1", "nearest:3", "biased:1", "biased:8"])
def test_a_report_names_the_rounding_as_it_is_typed(hardsim: Cli, typed: str) -> None:
    """Another option would give another network."""
    for command in ("check", "prove", "show"):
        found = hardsim(command, *TEXT, "--rounding", typed, *["--max-n", "2"] * (command != "show"), "--json", "-")
        assert found.json["results"][0]["model"]["rounding"] == typed
    hardsim("check", *TEXT, "--rounding", typed, "--max-n", "2").prints(f"rounding {typed}")


def test_rounding_to_the_nearest_is_refuted_and_the_next_step_is_named(hardsim: Cli) -> None:
    found = hardsim("check", *ONE, "--rounding", "nearest:2", "--max-n", "3")
    text = " ".join(found.exits(1, "REFUTED").out.split())
    assert "hard/oracle disagree on a word of length 3" in text
    assert "--rounding floor:P" in text
    assert "hardsim trace -e '#L[a] >= 1' --alphabet 'a b' --regime rounded --rounding nearest:2 bbb" in found.out
    for verdict in (
        hardsim("check", *ONE, "--rounding", "nearest:2", "--max-n", "3", "-q"),
        hardsim("bound", *ONE, "--rounding", "nearest:2", "--max-n", "3"),
    ):
        assert "round down (--rounding floor:P)" in verdict.exits(1, "Next: rounding to the nearest").told_text
    hardsim("check", *ONE, "--rounding", "nearest:8", "--max-n", "3").exits(0, "CERTIFIED", "from n = 255 on")


def test_a_word_beyond_the_lengths_refutes_every_length(hardsim: Cli) -> None:
    proof = ("prove", *ONE, "--all-n", "--search", "10", "--rounding")
    found = hardsim(*proof, "nearest:6", "--max-n", "8").exits(1, "REFUTED", "disagree on a word of length 63")
    assert "\n" + "b" * 63 + "\n" in found.out
    # Without --all-n the claim ends at length 8; and a word of 16 million symbols is not run.
    hardsim(*proof[:5], *proof[6:], "nearest:6", "--max-n", "8").exits(3, "UNDECIDED", "from n = 63 on")
    hardsim(*proof, "nearest:24", "--max-n", "8").exits(3, "UNDECIDED", "from n = 16,777,215 on")


def test_every_regime_includes_it_where_it_applies(hardsim: Cli) -> None:
    counted = hardsim("check", *ONE, "--regime", "all", "--rounding", "nearest:1", "--max-n", "2")
    assert "6 results: 5 PROVED, 1 REFUTED" in counted.out


def test_files_keep_the_network(hardsim: Cli, tmp_path: Path) -> None:
    for name, extra in (("m.json", ()), ("m.ahat.json", ("--hard",))):
        path = tmp_path / name
        hardsim("compile", *TEXT, "--rounding", "biased:3", *extra, "-o", str(path)).exits(0)
        found = hardsim("check", str(path), "--max-n", "4").exits(0, "PROVED")
        assert "the file says" not in found.out
    document = json.loads((tmp_path / "m.json").read_text())
    assert document["model"]["rounding"] == document["specification"]["rounding"] == "nearest:3"
    document["model"]["rounding"] = "nearest:2"
    (tmp_path / "apart.json").write_text(json.dumps(document))
    hardsim("check", str(tmp_path / "apart.json")).refused("the rounding of the network")
    document["model"]["rounding"] = "up:2"
    (tmp_path / "apart.json").write_text(json.dumps(document))
    hardsim("check", str(tmp_path / "apart.json")).refused("expected floor:P or nearest:P")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("check", *GIVEN, "--beta", "3"), "have no scores, so --beta does not apply"),
        (("check", *GIVEN, "--tau", "1"), "its temperature is 1 by definition"),
        (("check", *GIVEN, "--counting", "sign"), "has one construction"),
        (("check", *GIVEN, "--single-head"), "has one construction"),
        (("check", *TEXT, "--regime", "none", "--rounding", "floor:3"), "does not fit regime 'none'"),
        (("check", *TEXT, "--rounding", "ceil:3"), "Write floor:P, nearest:P or biased:P"),
        (("check", *TEXT, "--rounding", "floor:300"), "more than 256 binary places"),
        (("check", "-e", "a S b", "--alphabet", "a b", "--regime", "rounded"), "for which regime 'rounded' has no"),
        (("check", *GIVEN, "--engine", "float64"), "does not cover networks that round their values"),
        (("bound", *GIVEN, "--critical"), "does not cover networks that round their values"),
        (("export", *GIVEN, "--to", "onnx", "-o", "x"), "--to onnx does not cover networks that round their values"),
        (("export", *GIVEN, "--to", "transformer-lens", "-o", "x"), "does not cover networks that round their values"),
        (("prove", *GIVEN, "--all-n", "--rocq", "x"), "--rocq does not cover the regime rounded"),
    ],
)
def test_what_does_not_apply_is_refused(hardsim: Cli, options: tuple[str, ...], message: str) -> None:
    found = hardsim(*options)
    assert found.code == 2
    assert message in " ".join(found.err.split())


def test_it_is_traced_bounded_and_reported(hardsim: Cli, tmp_path: Path) -> None:
    hardsim("trace", *GIVEN, "aab").exits(0)
    hardsim("bound", *ONE, "--regime", "rounded", "--max-n", "3").exits(0)
    hardsim("report", *ONE, "--regime", "rounded", "--max-n", "3", "-o", str(tmp_path / "report")).exits(0)
