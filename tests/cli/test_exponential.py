"""Rounded exponentials (`--exponential`) on the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

ONCE = ("-e", "H (a -> O b)", "--alphabet", "a b c")
SINCE = ("-e", "a S b", "--alphabet", "a b c")
FP16 = ("--exponential", "fp16")


def test_a_formula_is_shown_checked_and_proved(hardsim: Cli) -> None:
    shown = " ".join(hardsim("show", *ONCE, *FP16).clean().out.split())
    assert "plain softmax with rounded exponentials" in shown
    assert "encodings" not in shown
    assert "times beta = 18" in shown
    found = (
        hardsim("check", *ONCE, *FP16, "--max-n", "4").exits(0, "PROVED", "softmax with fp16 exponentials").told_text
    )
    # It is right at every length, so the report has no line on how far this beta reaches.
    assert "with a constant temperature" not in found
    hardsim("prove", *ONCE, *FP16, "--all-n", "--max-n", "4").exits(0, "every word of every length")
    hardsim("check", "-e", "O a", *SINCE[2:], *FP16, "--regime", "all", "--max-n", "2").exits(0, "6 results: 6 PROVED")


def test_a_certificate_is_about_the_network_with_its_format(hardsim: Cli, tmp_path: Path) -> None:
    path, model = tmp_path / "c.json", tmp_path / "m.json"
    hardsim("prove", *ONCE, *FP16, "--all-n", "--max-n", "4", "--certificate", path).exits(0)
    hardsim("compile", *ONCE, *FP16, "-o", model).exits(0)
    hardsim("verify", path, "--model", model).exits(0, "VALID", "softmax:fp16")
    hardsim("check", model, "--max-n", "3").exits(0, "PROVED")
    hardsim("check", model, "--exponential", "fp32", "--max-n", "3").exits(2).says("--exponential").says("fp32")
    hardsim("compile", *ONCE, "--exponential", "fp32", "-o", model).exits(0)
    hardsim("verify", path, "--model", model).clean("INVALID", "differs from that of", code=1)


@pytest.mark.parametrize(("text", "n", "word"), [("a S b", 34, "c" * 33 + "b"), ("Y a", 68, "b" * 66 + "aa")])
def test_nearest_positions_are_refuted_at_a_computed_length(hardsim: Cli, text: str, n: int, word: str) -> None:
    """About beta/(2 ln 4) and beta/ln 4, with beta 93."""
    given = ("-e", text, "--alphabet", "a b c", "--exponential", "bf16")
    found = hardsim("prove", *given, "--all-n", "--search", "50").exits(1, "REFUTED")
    assert f"From n = {n} on head" in " ".join(found.out.split())
    assert f"\n{word}\n" in found.out
    assert "--beta above 93 reaches farther" in found.out


@pytest.mark.slow
def test_words_of_more_than_512_symbols_refute_the_widest_format(hardsim: Cli) -> None:
    """At beta 746 the even positions of `Y` lose 746/n nats each: n - 1 over 2 of them weigh 1/3 from n = 539 on."""
    found = hardsim("prove", "-e", "Y a", "--alphabet", "a b c", "--exponential", "fp64", "--all-n").exits(1, "REFUTED")
    assert f"\n{'b' * 537}aa\n" in found.out


def test_bound_states_the_computed_length(hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    rounds = ("-e", "#L[a] >= #L[b]", "--alphabet", "a b", "--rounding")
    for given, n in (
        ((*SINCE, *FP16), 7),
        ((*ONCE, *FP16), None),
        ((*rounds, "nearest:8"), 255),
        ((*rounds, "floor:8"), None),
    ):
        found = hardsim("bound", *given, "--max-n", "3", "--json", path).exits(0).out
        assert json.loads(path.read_text(encoding="utf-8"))["results"][0]["wrong_from"] == n
        assert (f"from n = {n} on" if n else "rounding leaves no error, at any length") in " ".join(found.split())


def test_every_regime_and_programs_have_them(hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    found = hardsim("prove", *SINCE, *FP16, "--regime", "temperature", "--all-n", "--max-n", "4", "--certificate", path)
    found.exits(0, "every word of every length", "beta 36")
    hardsim("verify", path).exits(0, "VALID", "softmax:fp16")
    model = "formulas/flipflop.ahat.json"
    hardsim("prove", model, *FP16, "--all-n", "--certificate", path).exits(0, "at the temperature 1/(36*n)")
    hardsim("verify", path).exits(0, "VALID", "softmax:fp16 answers as hard attention")


def test_what_does_not_fit_is_refused_with_the_next_step(hardsim: Cli) -> None:
    hardsim("check", *ONCE, "--exponential", "fp8").exits(2).says("fp8").says("fixed:8")
    hardsim("check", *ONCE, *FP16, "--regime", "geometric").exits(2).says("does not fit regime 'geometric'")
    hardsim("check", *ONCE, *FP16, "--rounding", "floor:8").exits(2).says("--rounding the values between sublayers")
    hardsim("check", *ONCE, *FP16, "--weighting", "sparsemax").exits(2).says("not sparsemax")
    hardsim("check", "-e", "#L[a] >= #L[b]", "--alphabet", "a b", *FP16).exits(2).says("--rounding floor:8")
    hardsim("export", *ONCE, *FP16, "--to", "onnx", "-o", "m.onnx").exits(2).says("--exponential")
