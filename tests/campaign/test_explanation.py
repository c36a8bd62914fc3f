"""Tests of where softmax diverges from hard attention, the command that shows more, and the words shown as examples."""

import json
import shlex
from dataclasses import replace
from fractions import Fraction
from math import exp
from pathlib import Path

import pytest

from hardsim.campaign.explanation import EACH, command_for, parting_of, shown_words
from tests.support.check import (
    CheckOptions,
    Mismatch,
    ModelOptions,
    Subject,
    check_with_proof,
    read_expression,
    read_input,
)
from tests.support.language import formulas_directory, parse_arith

NONE = ModelOptions(regime="none")
HALF = Fraction(1, 2)


def expression(text: str, options: ModelOptions = NONE, alphabet: str = "a b c") -> Subject:
    return read_expression(text, alphabet).compile(options)


def shipped(name: str, options: ModelOptions | None = None) -> Subject:
    return read_input(str(formulas_directory() / name)).compile(options or ModelOptions())


# ---- where it is ----


def test_the_head_and_the_position_where_softmax_parts_from_hard_attention() -> None:
    # In regime none the score of j is q_j + j/(2n), at beta 4 and temperature 1: of the word bc, with q = 1 at both,
    # the weight of b is 1/(1 + e^(4/4)) = 0.269, where c alone should be read.
    found = check_with_proof(expression("a S b"), CheckOptions(max_n=2)).parting
    assert found is not None
    assert (found.layer, found.position) == (1, 2)
    assert (found.hard, found.allowed) == (Fraction(0), Fraction(1, 4))
    assert found.soft == pytest.approx(1 / (1 + exp(1)), rel=1e-12)
    assert found.purpose == "a S b, read at the last position with !a | b"


def test_the_first_layer_that_differs_is_reported_though_a_later_one_is_further_off() -> None:
    subject = shipped("flipflop.ltl", NONE)
    result = check_with_proof(subject, CheckOptions(max_n=6))
    assert result.parting is not None
    layers = {head.name: number for number, layer in enumerate(subject.program.layers, 1) for head in layer.heads}
    assert result.parting.layer == layers[result.parting.head]
    assert result.parting.layer < max(layers.values())
    allowed = result.parting.allowed
    assert allowed is not None
    assert abs(result.parting.soft - result.parting.hard) > allowed


def test_a_model_without_clips_has_the_head_with_the_largest_error() -> None:
    subject = shipped("same_ends.ahat.json", ModelOptions(tau=parse_arith("1")))
    result = check_with_proof(subject, CheckOptions(max_n=4))
    assert result.mismatch is not None
    assert result.parting is not None
    assert result.parting.head in {head.name for head in subject.program.heads}


def test_a_clip_of_a_model_may_have_a_bias_without_a_constant_coordinate(tmp_path: Path) -> None:
    # At temperature 1000 softmax reads 1/3 of each symbol of aba (up to 1/1000): 2/3 where the mean of the ends is 1.
    document = json.loads((Path(__file__).parents[1] / "version1" / "ties.ahat.json").read_text(encoding="utf-8"))
    document["encodings"].append({"coordinate": "1", "value": "i"})  # a constant no more
    path = tmp_path / "ties.ahat.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    subject = read_input(str(path)).compile(ModelOptions(tau=parse_arith("1000")))
    found = parting_of(subject, Mismatch(tuple("aba"), False, False, True), CheckOptions())
    assert found is not None
    assert (found.head, found.position, found.hard) == ("ends", 1, Fraction(1))
    assert found.soft == pytest.approx(2 / 3, abs=1e-3)


def test_nothing_is_reported_where_nothing_diverges() -> None:
    subject, word = expression("a S b", ModelOptions()), ("b", "c")
    options = CheckOptions()
    # Softmax agrees with hard attention, which differs from the oracle.
    assert parting_of(subject, Mismatch(word, True, False, False), options) is None
    assert parting_of(subject, Mismatch(word, None, None, None), options) is None
    assert parting_of(subject, Mismatch(("b",) * 300, False, False, True), options) is None
    agreed = check_with_proof(subject, CheckOptions(max_n=2))
    assert (agreed.parting, agreed.command) == (None, None)


# ---- the command ----


@pytest.mark.parametrize(
    ("options", "given"),
    [
        (ModelOptions(), []),
        (ModelOptions(regime="position"), ["--regime", "position"]),
        (ModelOptions(beta=HALF), ["--beta", "1/2"]),
        (ModelOptions(tau=parse_arith("1/(2*n)")), ["--tau", "1/(2*n)"]),
        (ModelOptions(at="first"), ["--at", "first"]),
        (ModelOptions(single_head=True), ["--single-head"]),
    ],
)
def test_the_command_makes_the_same_network(options: ModelOptions, given: list[str]) -> None:
    line = command_for(expression("a S b", options), ("b", "a"))
    assert shlex.split(line) == ["hardsim", "trace", "-e", "a S b", "--alphabet", "a b c", *given, "ba"]
    counts = expression("#L[a] > #L[b]", replace(options, counting="sign"))
    assert "--counting sign" in command_for(counts, ("a",))
    path = formulas_directory() / "since.ltl"
    file = command_for(shipped("since.ltl", options), ("b", "a"), "ball", 30)
    assert shlex.split(file) == [
        "hardsim", "trace", str(path), "ba", *[one for one in given if one != "--single-head"], "--engine", "ball",
        "--dps", "30", *[one for one in given if one == "--single-head"],
    ]  # fmt: skip


def test_a_model_keeps_its_temperature_and_a_formula_its_position(tmp_path: Path) -> None:
    model = shipped("flipflop.ahat.json", ModelOptions(tau=parse_arith("1")))
    assert command_for(model, (model.alphabet[0],)).endswith(" --tau 1")
    model = shipped("flipflop.ahat.json", ModelOptions(epsilon=Fraction(1, 8)))
    assert "--epsilon 1/8" in command_for(model, (model.alphabet[0],))
    path = tmp_path / "first.ltl"
    path.write_text("alphabet: a b\nat: first\nF b\n", encoding="utf-8")
    given = read_input(str(path))
    assert "--at" not in command_for(given.compile(ModelOptions()), ("a",))
    assert "--at last" in command_for(given.compile(ModelOptions(at="last")), ("a",))


@pytest.mark.parametrize("symbol", ["-", "'", '"', "$x", "a;b", "[/b]", "`", "*"])
def test_what_a_shell_would_read_is_quoted(symbol: str, tmp_path: Path) -> None:
    path = tmp_path / "it's a file.ahat.json"
    subject = replace(shipped("since.ltl"), name=str(path), alphabet=("a", symbol))
    line = command_for(subject, (symbol, "a"))
    assert [str(path), " ".join((symbol, "a")) if len(symbol) > 1 else f"{symbol}a"] == [
        one for one in shlex.split(line) if one not in ("hardsim", "trace", "--")
    ]
    assert command_for(subject, (symbol,)).startswith("echo - | ") is (symbol == "-")


# ---- words to show ----


def test_words_are_short_of_different_lengths_and_answered_as_they_are_shown() -> None:
    for name in ("since.ltl", "flipflop.ltl", "dyck2.srasp", "ties.ahat.json", "an_bn.ltl"):
        subject = shipped(name)
        shown = shown_words(subject, 1, 8)
        assert shown is not None
        requested = subject.oracle
        for words, expected in ((shown.accepted, True), (shown.rejected, False)):
            assert 0 < len(words) <= EACH
            assert list(words) == sorted(words, key=len)
            assert len(set(words)) == len(words)
            assert requested is None or [requested(word) for word in words] == [expected] * len(words)
    # a^n b^n, each of another length.
    shown = shown_words(shipped("an_bn.ltl"), 1, 8)
    assert shown is not None
    assert shown.accepted == tuple(("a",) * k + ("b",) * k for k in (1, 2, 3))


def test_words_of_a_transduction_are_shown_with_their_outputs() -> None:
    shown = shown_words(shipped("reverse.srasp"), 1, 4)
    assert shown is not None
    assert (shown.accepted, shown.rejected) == ((), ())
    assert 0 < len(shown.outputs) <= EACH
    assert all(one.output == one.word[::-1] for one in shown.outputs)


def test_long_words_are_not_shown_and_an_empty_kind_is_empty() -> None:
    assert shown_words(shipped("since.ltl"), 100, 200) is None
    everything = shown_words(expression("true", ModelOptions()), 1, 3)
    assert everything is not None
    assert (len(everything.accepted), everything.rejected) == (EACH, ())
