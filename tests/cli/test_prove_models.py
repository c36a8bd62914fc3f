"""`prove` on programs and hard-attention models, and `check --require proved`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hardsim.ahat.harden import with_softmax
from hardsim.checking import combined
from hardsim.checking.attention import AttentionOptions, AttentionSubject
from hardsim.checking.campaign import check_subject
from hardsim.checking.prove_attention import LengthProof
from hardsim.checking.result import CheckResult, Mismatch, Verdict
from tests.attention_models import HEAD, majority, sided, some_a, with_head, write
from tests.cli.test_models import REVERSE, SOME_A, TWICE, program


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path, some_a())


def test_a_program_is_proved_by_structure(hardsim: Any, tmp_path: Path) -> None:
    path = program(tmp_path, SOME_A)
    outcome = hardsim("prove", path, "--max-n", "4")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [line.split() for line in outcome.out.splitlines() if " structure " in line]
    assert [(row[0], row[-2]) for row in rows] == [(str(n), "0.5") for n in range(1, 5)]
    assert "PROVED: every word of length 1 to 4: softmax answers as hard attention does (that hard" in outcome.out
    assert " structure " not in hardsim("prove", path, "--max-n", "4", "--no-tables").out


def test_a_model_is_proved_by_every_word(hardsim: Any, model: Path) -> None:
    outcome = hardsim("prove", model, "--max-n", "3")
    assert (outcome.code, outcome.err) == (0, "")
    assert "  title    Some a" in outcome.out
    rows = [line.split() for line in outcome.out.splitlines() if line[:1].isdigit()]
    assert all(row[1:3] == ["every", "word"] for row in rows)
    # Outputs 0 and 1, threshold 3/4.
    assert [(row[0], row[-2]) for row in rows] == [(str(n), "0.25") for n in range(1, 4)]
    assert "PROVED: every word of length 1 to 3: softmax answers as hard attention does\n" in outcome.out


def test_prove_of_models_in_json(hardsim: Any, tmp_path: Path, model: Path, since: Path) -> None:
    turned = program(tmp_path, REVERSE, "turned.srasp")
    outcome = hardsim("prove", model, turned, since, "--max-n", "2", "--json", "-")
    assert (outcome.code, outcome.err) == (0, "")
    first, second, third = outcome.json["results"]
    assert (first["kind"], first["verdict"], first["proved_to"], first["mismatch"]) == ("ahat", "PROVED", 2, None)
    assert [length["proved_by"] for length in first["lengths"]] == ["every word"] * 2
    assert [length["distance"] for length in first["lengths"]] == ["1/4"] * 2
    assert (second["kind"], second["tried"], second["max_n"]) == ("srasp", 0, 2)
    assert [length["proved_by"] for length in second["lengths"]] == ["structure"] * 2
    assert [length["reason"] for length in second["lengths"]] == [None, None]
    assert (third["formula"], third["verdict"]) == ("a S b", "PROVED")


def test_a_refuting_word_stands_alone(hardsim: Any, model: Path) -> None:
    outcome = hardsim("prove", model, "--max-n", "3", "--tau", "1")
    assert (outcome.code, outcome.err) == (1, "")
    lines = outcome.out.splitlines()
    place = lines.index("REFUTED: soft/hard disagree on a word of length 2")
    assert lines[place + 2] == "ab"
    assert lines[place + 3].strip() == "hard attention: accept; softmax: reject"
    document = hardsim("prove", model, "--max-n", "3", "--tau", "1", "--json", "-").json
    assert document["exit_code"] == 1
    assert document["results"][0]["mismatch"]["word"] == ["a", "b"]
    assert document["results"][0]["lengths"][1]["proved_by"] is None
    assert hardsim("check", model, "--max-n", "2", "--tau", "1").code == 1
    # Without words there is no proof and no refutation.
    assert hardsim("prove", model, "--max-n", "3", "--tau", "1", "--search", "0").code == 3


def test_what_is_not_proved_says_why_with_exit_code_3(hardsim: Any, tmp_path: Path) -> None:
    false = write(tmp_path, with_head(gap="2"), "false.ahat.json")
    outcome = hardsim("prove", false, "--max-n", "2")
    assert (outcome.code, outcome.err) == (3, "")
    assert f"UNDECIDED: proved to length 1; not at length 2: the declared gap of head {HEAD}" in outcome.out
    assert "not proved" in outcome.out
    tied = hardsim("prove", write(tmp_path, majority(), "tied.ahat.json"), "--max-n", "2", "--json", "-")
    assert tied.code == 3
    (result,) = tied.json["results"]
    assert (result["verdict"], result["mismatch"]["kind"]) == ("UNDECIDED", "hard attention undecided")
    many = hardsim("prove", write(tmp_path, some_a()), "--max-n", "15", "--json", "-")
    assert many.code == 3
    (result,) = many.json["results"]
    assert result["proved_to"] == 14  # 2^14 = 16,384 words, at most 20,000 are run
    assert "32,768 words are too many" in result["reach"]


def test_a_word_out_of_range_is_an_error(hardsim: Any, tmp_path: Path) -> None:
    path = program(tmp_path, TWICE)
    outcome = hardsim("prove", path, "--max-n", "2")
    assert (outcome.code, outcome.out) == (2, "")
    # At the word a the sum is 2, and the length is 1.
    assert "hold integers from -n to n" in outcome.err
    assert "Traceback" not in outcome.err


def test_check_holds_a_program_to_a_proof(hardsim: Any, tmp_path: Path, model: Path, since: Path) -> None:
    path = program(tmp_path, SOME_A)
    for proved in (path, since):
        outcome = hardsim("check", proved, "--max-n", "2", "--require", "proved")
        assert (outcome.code, outcome.err) == (0, "")
        assert "PROVED: every word of length 1 to 2" in outcome.out
    outcome = hardsim("check", model, "--max-n", "2", "--require", "proved")
    assert outcome.code == 3
    assert "the verdict is CERTIFIED, and --require proved was given. The prover did not settle it" in outcome.err
    assert (
        hardsim("check", since, "--max-n", "65", "--exhaustive", "0", "--samples", "0", "--require", "proved").code == 3
    )


def test_a_contradicted_proof_is_exit_code_4(hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lying(*arguments: Any) -> CheckResult:
        mismatch = Mismatch(("b",), True, True, False, Fraction(0))
        return replace(check_subject(*arguments), verdict=Verdict.REFUTED, mismatch=mismatch)

    monkeypatch.setattr(combined, "check_subject", lying)
    outcome = hardsim("check", since, "--max-n", "2")
    assert (outcome.code, outcome.out) == (4, "")
    assert "was proved for every word up to 2, but b is a mismatch" in outcome.err
    assert "No verdict was given" in outcome.err


def test_a_single_length_of_a_program_and_of_a_model(hardsim: Any, tmp_path: Path, model: Path) -> None:
    path = program(tmp_path, SOME_A)
    outcome = hardsim("prove", path, "--min-n", "6", "--max-n", "6")
    assert (outcome.code, outcome.err) == (0, "")
    assert [line.split()[0] for line in outcome.out.splitlines() if " structure " in line] == ["6"]
    assert "PROVED: every word of length 6: softmax answers as hard attention does" in outcome.out
    outcome = hardsim("prove", model, "--min-n", "2", "--max-n", "3", "--json", "-")
    assert outcome.code == 0
    (result,) = outcome.json["results"]
    assert (result["min_n"], result["max_n"], result["proved_to"]) == (2, 3, 3)
    assert [length["n"] for length in result["lengths"]] == [2, 3]
    assert "every word of length 2 to 3: softmax" in result["reach"]
    # 2^15 words are too many, and nothing is known of shorter ones.
    outcome = hardsim("prove", model, "--min-n", "15", "--max-n", "15")
    assert outcome.code == 3
    assert "UNDECIDED: not at length 15" in outcome.out
    outcome = hardsim("prove", model, "--min-n", "14", "--max-n", "15", "--no-tables")
    assert "UNDECIDED: proved for length 14; not at length 15" in outcome.out


# ---- how far, and words after a proof ----


def test_without_a_length_a_model_is_proved_as_far_as_can_be(hardsim: Any, tmp_path: Path) -> None:
    letters = [chr(ord("a") + k) for k in range(26)]
    embedding = {letter: {"1": "1"} | ({"a": "1"} if letter == "a" else {}) for letter in letters}
    path = write(tmp_path, some_a(alphabet=letters, embedding=embedding))
    outcome = hardsim("prove", path, "--no-tables")
    assert outcome.code == 0
    # 26^3 = 17,576 words, 26^4 = 456,976.
    assert "length 4 has more than 20,000: proved is up to length 3" in outcome.err
    assert "PROVED: every word of length 1 to 3: softmax answers as hard attention does" in outcome.out
    (result,) = hardsim("prove", path, "--json", "-").json["results"]
    assert (result["verdict"], result["max_n"], result["proved_to"]) == ("PROVED", 3, 3)
    # A length that was asked for is another matter, and it is said before.
    outcome = hardsim("prove", path, "--max-n", "100000", "--no-tables")
    assert outcome.code == 3
    assert "of that and longer ones there is no proof (--max-n 3 goes as far as there is)" in outcome.err
    assert "UNDECIDED: proved to length 3; not at length 4:" in outcome.out
    assert "456,976 words are too many. Next: --max-n 3 is proved, and `hardsim check` tries words" in outcome.out
    outcome = hardsim("prove", path, "--min-n", "5000", "--max-n", "6000", "--no-tables")
    assert outcome.code == 3
    assert "26^5000 words are too many. Next: `hardsim check` tries words" in outcome.out


def test_every_length_of_a_program_or_model_is_undecided_at_once(
    hardsim: Any, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(tmp_path, SOME_A)
    # With a length besides that is what is proved.
    assert "PROVED: every word of length 1 to 2" in hardsim("prove", path, "--all-n", "--max-n", "2").out

    def never(*arguments: object, **named: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr("hardsim.checking.prove_attention.prove_length", never)
    for given in (path, model):
        outcome = hardsim("prove", given, "--all-n")
        assert (outcome.code, outcome.err) == (3, "")
        assert "PROVED" not in outcome.out
        assert "UNDECIDED: there is no argument for every length of programs and hard-attention models" in outcome.out
        assert "Next: leave out --all-n" in outcome.out
        (result,) = hardsim("prove", given, "--all-n", "--json", "-").json["results"]
        assert (result["verdict"], result["lengths"], result["proved_to"]) == ("UNDECIDED", [], 0)


def test_words_are_run_after_a_proof_of_a_model(hardsim: Any, tmp_path: Path, model: Path) -> None:
    for given in (program(tmp_path, SOME_A), model):
        outcome = hardsim("prove", given, "--max-n", "3", "--json", "-")
        confirmed = {"words": 14, "every_word_to": 3, "longest": 3, "undecided": 0, "partial": False}
        assert outcome.json["results"][0]["confirmed"] == confirmed
    assert (
        "  14 words were run besides, every one of length 1 to 3: each is"
        in hardsim("prove", model, "--max-n", "3").out
    )


def test_a_word_that_contradicts_the_proof_of_a_model_is_exit_code_4(
    hardsim: Any, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def believe(subject: AttentionSubject, n: int, choice: AttentionOptions, every: int) -> tuple[LengthProof, None]:
        assert choice.tau is not None
        return LengthProof(n, "every word", network=with_softmax(subject.hard, choice.tau)), None

    monkeypatch.setattr("hardsim.checking.prove_attention.prove_length", believe)
    outcome = hardsim("prove", model, "--tau", "1", "--max-n", "3")
    assert (outcome.code, outcome.out) == (4, "")
    assert "was proved for words of length 2, but the word a b contradicts it" in outcome.err
    assert "hard attention: accept; softmax: reject (temperature 1)" in outcome.err
    assert "No verdict was given" in outcome.err
    assert hardsim("prove", model, "--tau", "1/10", "--max-n", "3").code == 0


@pytest.mark.parametrize("side", ["leftmost", "rightmost"])
def test_softmax_of_a_file_is_proved_or_refuted_as_it_is(hardsim: Any, tmp_path: Path, side: str) -> None:
    """The first (last) of the letters counts; at two letters that differ the file's own softmax is half of each."""
    hard = write(tmp_path, sided(side), "hard.ahat.json")
    assert hardsim("prove", hard, "--max-n", "3").code == 0
    document = with_head(sided(side), weighting="softmax", hardmax=side) | {"temperature": "1/100", "threshold": "2/5"}
    soft = write(tmp_path, document, "soft.ahat.json")
    outcome = hardsim("prove", soft, "--max-n", "3", "--no-tables")
    assert outcome.code == 1
    assert "PROVED" not in outcome.out
    assert "REFUTED: soft/hard disagree on a word of length 2" in outcome.out


def test_a_proof_of_a_model_that_takes_long_is_announced(
    hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def read() -> float:
        clock[0] += 1.0
        return clock[0]

    path = program(tmp_path, SOME_A)
    monkeypatch.setattr("hardsim.cli.proof_progress.time.perf_counter", read)
    # Lengths 8 and 16 take a second each: so do all of the 64.
    monkeypatch.setattr("hardsim.checking.prove_attention.prove_attention", interrupted)
    outcome = hardsim("prove", path)
    assert outcome.code == 130
    assert "a proof of lengths up to 64 takes about 64 seconds. Ctrl-C ends it without a verdict" in outcome.err
    assert "takes about" not in hardsim("prove", path, "--max-n", "50").err


def interrupted(*arguments: object, **named: object) -> None:
    raise KeyboardInterrupt
