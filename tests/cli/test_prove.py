"""Tests of `prove`, on formulas, programs and models."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.campaign.engines import FloatEngine
from hardsim.lang.automata.tracks import Machine
from hardsim.proof.formulas.by_automata import second_proof
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proof.shared.result import LinkProof, Proof, SecondProof
from hardsim.proving.prove import LengthProof
from hardsim.reading.network_json import network_json
from tests.cli.conftest import interrupt, written
from tests.cli.test_models import REVERSE, SOME_A, TWICE, program
from tests.support.attention_models import HEAD, majority, sided, some_a, some_a_by_words, with_head, write
from tests.support.check import Subject, prove
from tests.support.documents import exact
from tests.support.external import mean_of_a
from tests.support.language import FormulaFile
from tests.support.model import Affine, Program, assemble
from tests.support.solver import answers


def test_prove_in_json(hardsim: Any, since: Path) -> None:
    results = hardsim("prove", since, "--regime", "all", "--max-n", "9", "--json", "-").exits(0).json["results"]
    assert [result["model"]["regime"] for result in results] == [
        "temperature", "position", "causal-temperature", "causal-position"]  # fmt: skip
    assert {result["verdict"] for result in results} == {"PROVED"}
    assert [result["prefix"] for result in results] == [False, False, True, True]
    (head,) = results[0]["heads"]
    # 1/2 - 2 q with q at most e^-2 = 0.1353: at least 0.2293.
    assert head["worst"]["margin"] > 0.2293
    assert head["worst"]["types"]


def test_a_small_beta_is_refuted_with_exit_code_1(hardsim: Any, since: Path) -> None:
    result = hardsim("prove", since, "--beta", "1", "--json", "-").exits(1).result
    assert result["mismatch"]["word"] == ["b", "c"]
    assert result["links"][0]["cases"][0]["n"] == 2


def test_a_proof_says_no_more_than_its_length(hardsim: Any, since: Path) -> None:
    # Beta 1 is refuted by bc, but words of length 1 have no wrong position.
    hardsim("prove", since, "--beta", "1", "--max-n", "1").exits(
        0, "PROVED ", "every word of length 1, from the weights"
    )


def test_a_compiled_model_is_proved_from_its_file(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "since.model.json"
    assert hardsim("compile", since, "-o", target).code == 0
    assert "PROVED" in hardsim("prove", target, "--max-n", "6").out
    result = hardsim("prove", target, "--max-n", "6", "--heads-only", "--json", "-").result
    assert (result["verdict"], result["claim"], len(result["links"])) == ("PROVED", "heads", 1)
    text = target.read_text(encoding="utf-8")
    assert '"mask": "future"' in text
    # The first mask in the text is the network's, the last the specification's.
    target.write_text(text.replace('"mask": "future"', '"mask": "none"', 1), encoding="utf-8")
    # the output is read at the last position, which sees every position anyway
    hardsim("prove", target, "--max-n", "6").exits(
        3,
        "has mask 'none', the specified head",
        "UNDECIDED ",
        "not proved, which does not say that it is wrong: 1,092 words were tried",
    )
    target.write_text(text.replace('"mask": "future"', '"mask": "past"', 1), encoding="utf-8")
    # the last position sees only itself
    hardsim("prove", target, "--max-n", "6").exits(1, "\nba\n")


def test_several_inputs_end_in_a_summary(hardsim: Any, since: Path, future: Path) -> None:
    outcome = hardsim("prove", since, future, "--max-n", "5", "--tables").exits(0, "local types in the worst case")
    rows = [line.split() for line in outcome.out.splitlines() if line.endswith(("0.23", "0.229", "0.495"))]
    assert outcome.out.count("PROVED") == 5
    assert outcome.out.endswith("\n2 results: 2 PROVED\n")
    assert rows


def summary_rows(text: str) -> list[list[str]]:
    """Return the rows of the table at the end of the proofs, below its heading."""
    heading = [k for k, line in enumerate(text.splitlines()) if line.split()[:3] == ["input", "verdict", "lengths"]]
    below = text.splitlines()[heading[-1] + 2 :] if heading else []
    return [line.split() for line in below[: below.index("")]] if below else []


def test_every_result_has_a_row_of_the_summary(
    hardsim: Any, since: Path, future: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mean.json").write_text(json.dumps(network_json(mean_of_a())))
    text = "network: mean.json\nalphabet: a b\ntokens: a b\noutput share: #[a] > #[b]\n"
    written(Path("mean.spec"), text)
    written(Path("some.srasp"), SOME_A)
    write(tmp_path, some_a())
    rest = ["some.srasp", "model.ahat.json", "mean.spec"]
    outcome = hardsim("prove", since.name, future.name, *rest, "gone.ltl", "--max-n", "3")
    outcome.exits(2).says("error: gone.ltl: no such file")
    formulas, others = summary_rows(outcome.out)[:2], summary_rows(outcome.out)[2:]
    assert [row[:3] for row in formulas] == [[name, "PROVED", "1-3"] for name in (since.name, future.name)]
    assert all(float(margin) > 0 for *_, margin in formulas)
    assert others == [[name, "PROVED", "1-3", "–"] for name in rest]
    assert outcome.out.endswith("\n5 results: 5 PROVED; 1 file could not be read\n")
    # Without formulas there is no margin, and a single result needs no table.
    assert summary_rows(hardsim("prove", *rest, "--max-n", "3").exits(0).out) == [row[:3] for row in others]
    assert summary_rows(hardsim("prove", since.name, "gone.ltl", "--max-n", "3").exits(2).out) == []
    assert summary_rows(hardsim("prove", since.name, *rest, "--max-n", "3", "--quiet").exits(0).out) == []
    assert len(json.loads(hardsim("prove", *rest, "--max-n", "3", "--json", "-").exits(0).out)["results"]) == 3
    # Programs are proved for every length, too; a network as far as its proof goes.
    every = summary_rows(hardsim("prove", "some.srasp", "mean.spec", "--all-n").out)
    assert every[0] == ["some.srasp", "PROVED", "every"]
    assert every[1][2] != "every"


def test_every_length_with_its_argument(hardsim: Any, since: Path) -> None:
    # beta (q_w - q_j) n + (beta/2)(w - j) with beta 4, and half of it at beta/2 = 2 nats a position.
    result = hardsim("prove", since, "--all-n", "--max-n", "8", "--json", "-").result
    assert (result["verdict"], result["all_n"]["proved"], result["all_n"]["reason"]) == ("PROVED", True, None)
    (head,) = result["all_n"]["heads"]
    assert head["argument"]["g"] == {"value": 2, "exact": "2"}
    assert [exact(step["rate"]) for step in head["argument"]["inequalities"]] == [2, 6, 2]
    assert hardsim("prove", since, "--max-n", "3", "--json", "-").result["all_n"] is None


def test_where_every_length_is_not_proved_the_exit_code_says_so(hardsim: Any, since: Path) -> None:
    hardsim("prove", since, "--all-n", "--tau", "2^(-n)").exits(
        3,
        "UNDECIDED ",
        "not proved for every length: 2^(-n) is not recognised",
        "; every word of length 1 to 64 is proved. Next: --all-n with --max-n 64 proves these lengths",
    ).lacks("PROVED")
    result = hardsim("prove", since, "--all-n", "--tau", "2^(-n)", "--json", "-").result
    assert (result["verdict"], result["confirmed"]["longest"]) == ("UNDECIDED", 64)
    # The command also requests a proof up to a length.
    outcome = hardsim("prove", since, "--all-n", "--tau", "2^(-n)", "--max-n", "64")
    outcome.exits(0, "PROVED ", "every word of length 1 to 64", "Not proved for every length: 2^(-n) is not recognised")
    assert hardsim("prove", since, "--all-n", "--beta", "1").code == 1


def test_a_single_length(hardsim: Any, since: Path) -> None:
    outcome = hardsim("prove", since, "--min-n", "1500", "--max-n", "1500")
    outcome.clean("PROVED ", "every word of length 1,500, from the weights")
    result = hardsim("prove", since, "--min-n", "9", "--max-n", "9", "--json", "-").result
    assert (result["min_n"], result["max_n"], result["verdict"]) == (9, 9, "PROVED")
    assert {head["worst"]["n"] for head in result["heads"]} == {9}
    outcome = hardsim("prove", since, "--regime", "all", "--min-n", "5", "--max-n", "9").exits(0)
    assert outcome.told_text.count("every word of length 5 to 9, from the weights") == 4
    assert outcome.out.count(" 5-9 ") == 4
    # In the causal regimes the longest length covers all; the claim is about the requested lengths.
    results = hardsim("prove", since, "--regime", "all", "--min-n", "5", "--max-n", "9", "--json", "-").json["results"]
    assert [result["prefix"] for result in results] == [False, False, True, True]


def test_what_refutes_has_one_of_the_lengths(hardsim: Any, since: Path) -> None:
    result = hardsim("prove", since, "--beta", "1", "--min-n", "5", "--max-n", "6", "--json", "-").exits(1).result
    assert (result["verdict"], len(result["mismatch"]["word"])) == ("REFUTED", 5)
    # There are 3^40 words; the word of the worst case is extended to the requested length.
    outcome = hardsim("prove", since, "--beta", "1", "--min-n", "40", "--max-n", "40", "--json", "-").exits(1)
    assert len(outcome.result["mismatch"]["word"]) == 40
    outcome = hardsim("prove", since, "--beta", "1", "--min-n", "1200", "--max-n", "1200")
    outcome.exits(3, "UNDECIDED ", "not proved, which does not say that it is wrong: no word was tried")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--min-n", "9", "--max-n", "7"), "--min-n 9 is larger than --max-n 7"),
        (("--min-n", "100"), "--min-n 100 is larger than the largest, 64 unless --max-n says otherwise"),
        (("--min-n", "0"), "out of range"),
        (("--max-n", "0"), "out of range"),
        (("--search", "-1"), "out of range"),
        (("--max-n", "5000"), "the lengths from 1 to 5,000 have 12,502,500 positions together, and at most"),
    ],
)
def test_numbers_that_cannot_be(hardsim: Any, since: Path, arguments: tuple[str, ...], message: str) -> None:
    assert arguments[0][:3] in hardsim("prove", since, *arguments).refused(message).err


# ---- words after a proof ----


@pytest.fixture
def believing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A faulty prover that accepts every network."""

    def believe(*arguments: Any) -> Proof:
        found = prove(*arguments)
        links = [None if link is None else LinkProof(link.claim) for link in (found.network, found.meaning)]
        assert links[0] is not None
        return replace(found, network=links[0], meaning=links[1])

    monkeypatch.setattr("hardsim.proving.prove.prove", believe)


def test_words_are_run_after_a_proof(hardsim: Any, since: Path) -> None:
    # 3 + 9 + 27 + 81.
    outcome = hardsim("prove", since, "--max-n", "4")
    outcome.exits(0, "\n  120 words were also run, every one of length 1 to 4: each answer is as proved\n")
    result = hardsim("prove", since, "--max-n", "4", "--json", "-").result
    assert result["confirmed"] == {"words": 120, "every_word_to": 4, "longest": 4, "undecided": 0, "partial": False}
    longer = "words were also run, every one of length 1 to 5 and some of up to 64 symbols: each answer is"
    hardsim("prove", since, "--no-tables").prints(longer)
    assert "no word was run: words of this length" in hardsim("prove", since, "--min-n", "2500", "--max-n", "2500").out
    # Without a proof there is nothing to confirm.
    assert hardsim("prove", since, "--beta", "1", "--json", "-").result["confirmed"] is None


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("arguments", [(), ("--heads-only",), ("--all-n",), ("--max-n", "2"), ("--regime", "position")])
def test_a_word_that_contradicts_a_proof_is_exit_code_4(
    hardsim: Any, since: Path, believing: None, arguments: tuple[str, ...]
) -> None:
    hardsim("prove", since, "--beta", "1", *arguments).refused(
        "was proved for words of length 2, but the word b c contradicts it",
        "beta 1, read at the last position",
        "No verdict was given",
        "Please report the command line, the input and these lines",
        code=4,
    )
    document = hardsim("prove", since, "--beta", "1", *arguments, "--json", "-").json
    assert (document["exit_code"], document["results"]) == (4, [])


def test_a_stored_network_that_contradicts_a_proof_is_exit_code_4_too(
    hardsim: Any, since: Path, tmp_path: Path, believing: None
) -> None:
    target = tmp_path / "since.model.json"
    assert hardsim("compile", since, "--beta", "1", "-o", target).code == 0
    outcome = hardsim("prove", target)
    outcome.refused(f"{target} was proved for words of length 2, but the word b c contradicts it", code=4)
    # `check` runs the prover, too, and then its own words.
    for arguments in ((target,), (since, "--beta", "1")):
        outcome = hardsim("check", *arguments, "--max-n", "3").refused(code=4)
        said = "was proved for every word up to 3, but the word b c contradicts it: soft/hard disagree on a word of "
        assert f"{said}length 2, the shortest mismatch found (regime temperature" in outcome.err


def test_no_certificate_of_what_a_word_contradicts(hardsim: Any, since: Path, tmp_path: Path, believing: None) -> None:
    target = tmp_path / "since.cert.json"
    assert hardsim("prove", since, "--beta", "1", "--max-n", "4", "--certificate", target).code == 4
    assert not target.exists()


def test_two_proofs_that_contradict_each_other_are_exit_code_4(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def believe(*arguments: Any) -> Proof:
        return replace(prove_general(*arguments), network=LinkProof("claim"))

    monkeypatch.setattr("hardsim.proving.prove.prove_general", believe)
    outcome = hardsim("prove", since, "--all-n", "--beta", "1")
    outcome.refused("every word of every length was proved, but not length 1 to 64: the word b c contradicts", code=4)
    # No word is tried: the bound of the head fails.
    outcome = hardsim("prove", since, "--all-n", "--beta", "1", "--search", "0", "--min-n", "1200", "--max-n", "1200")
    outcome.refused("but not length 1,200: head S4.read can be so far off that the clip", code=4)


def test_a_proof_that_only_one_argument_is_precise_enough_for(hardsim: Any, since: Path) -> None:
    """Beta is just below 2 ln 4 = 2.772588722239781...

    For the series any beta above 2 ln 4 is enough; the numerical bounds are rounded.
    """
    outcome = hardsim(
        "prove", since, "--all-n", "--max-n", "24", "--search", "0", "--beta", "2.77258872224", "--no-tables"
    )
    assert outcome.code in (0, 3)
    assert ("PROVED" in outcome.out) is (outcome.code == 0) is ("-- not proved" not in outcome.told_text)
    if outcome.code:
        assert (
            "but the other, numerical argument fails for length 1 to 24 for lack of precision: head S4.read"
            in outcome.told_text
        )


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(power=st.integers(20, 290), column=st.sampled_from([0, 2, 4]))
def test_what_floats_cannot_tell_apart_is_no_contradiction(
    hardsim: Any, since: Path, tmp_path: Path, power: int, column: int
) -> None:
    """Two products of a score cancel exactly, so the network is the same as without them."""
    document = json.loads(hardsim("compile", since, "-o", "-").out)
    head = document["model"]["layers"][0]["heads"][0]
    for key, entries in (
        ("w_q", [[1, 0, "1"], [2, 0, "-1"]]),
        ("w_k", [[row, column, f"{10**power}"] for row in (1, 2)]),
    ):
        head[key]["shape"][0] += 2
        head[key]["entries"] += entries
    target = written(tmp_path / "cancelling.json", json.dumps(document))
    outcome = hardsim("prove", target, "--all-n", "--max-n", "4", "--no-tables")
    assert outcome.code in (0, 3)
    assert (outcome.code == 3) is (
        "but the other, numerical argument fails for length 1 to 4 for lack of precision" in outcome.told_text
    )


def test_a_form_that_one_argument_alone_knows_is_no_contradiction(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unfamiliar(*arguments: Any) -> Proof:
        return Proof(LinkProof("claim", "the scores are of no form that is known"), None, span=(1, 4))

    monkeypatch.setattr("hardsim.proving.prove.prove", unfamiliar)
    outcome = hardsim("prove", since, "--all-n", "--max-n", "4", "--no-tables")
    outcome.exits(3, "for lack of generality: the scores are of no form that is known; 120 words were tried and")


def test_a_limit_of_the_prover_is_the_reason_that_is_given(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.proof.formulas.facts.LIMIT", 1)
    hardsim("prove", since, "--max-n", "4", "--no-tables").exits(
        3,
        "UNDECIDED ",
        "not proved, which does not say that it is wrong: 120 words were tried and none",
        "The formula's Boolean functions are too large for this prover. Next: fewer lengths",
    ).lacks("worst types")


def test_undecided_words_decide_nothing_and_are_counted(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = lambda self, words: ([(False, None)] * len(words), np.zeros(len(words)))  # noqa: E731
    monkeypatch.setattr(FloatEngine, "decisions", nothing)
    monkeypatch.setattr("hardsim.proving.confirmation.IN_BALLS", 3)
    hardsim("prove", since, "--max-n", "2").exits(
        0, "12 words were also run, every one of length 1 to 2: each answer is as proved; on 9 of them no"
    )
    result = hardsim("prove", since, "--max-n", "2", "--json", "-").result
    assert (result["verdict"], result["confirmed"]["undecided"]) == ("PROVED", 9)


def test_an_interruption_after_a_proof_leaves_it_printed(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, "hardsim.campaign.engines.FloatEngine.decisions")
    outcome = hardsim("prove", since, since, "--regime", "all", "--max-n", "5")
    outcome.exits(130, "no word was run (interrupted: not all planned words were run)").says("interrupted")
    assert outcome.told_text.count("every word of length 1 to 5") == 1
    interrupt(monkeypatch, "hardsim.campaign.engines.FloatEngine.decisions")
    outcome = hardsim("prove", since, since, "--max-n", "5", "--json", "-")
    assert (outcome.json["exit_code"], outcome.result["confirmed"]["partial"]) == (130, True)


def test_nothing_is_proved_where_floats_are_rounded_otherwise(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.proof.formulas.network.arithmetic_fault", lambda: "floats are rounded upwards here")
    outcome = hardsim("prove", since, "--max-n", "3", "--no-tables")
    outcome.exits(3, "UNDECIDED", "The prover rounds in float64, and floats are rounded upwards here")


# ---- programs and models ----


@pytest.fixture
def by_words(tmp_path: Path) -> Path:
    """A file with a model of which a length is proved by running all its words."""
    return write(tmp_path, some_a_by_words(), "by_words.ahat.json")


def test_prove_of_models_in_json(hardsim: Any, tmp_path: Path, by_words: Path, since: Path) -> None:
    turned = program(tmp_path, REVERSE, "turned.srasp")
    first, second, third = (
        hardsim("prove", by_words, turned, since, "--max-n", "2", "--json", "-").clean().json["results"]
    )
    assert (first["kind"], first["verdict"], first["proved_to"], first["mismatch"]) == ("ahat", "PROVED", 2, None)
    assert [length["proved_by"] for length in first["lengths"]] == ["every word"] * 2
    assert [exact(length["distance"]) for length in first["lengths"]] == [Fraction(1, 4)] * 2
    assert (second["kind"], second["tried"], second["max_n"]) == ("srasp", 0, 2)
    assert [length["proved_by"] for length in second["lengths"]] == ["structure"] * 2
    assert [length["reason"] for length in second["lengths"]] == [None, None]
    assert (third["formula"], third["verdict"]) == ("a S b", "PROVED")


def test_a_refuting_word_stands_alone(hardsim: Any, model: Path) -> None:
    lines = hardsim("prove", model, "--max-n", "3", "--tau", "1").clean(code=1).out.splitlines()
    place = lines.index("  soft/hard disagree on a word of length 2")
    assert lines[place + 2] == "ab"
    assert lines[place + 3].strip() == "hard attention: accept; softmax: reject (output 0.731)"
    document = hardsim("prove", model, "--max-n", "3", "--tau", "1", "--json", "-").json
    assert document["exit_code"] == 1
    assert document["results"][0]["mismatch"]["word"] == ["a", "b"]
    assert document["results"][0]["lengths"][1]["proved_by"] is None
    assert hardsim("check", model, "--max-n", "2", "--tau", "1").code == 1
    # Without words there is no proof and no refutation.
    assert hardsim("prove", model, "--max-n", "3", "--tau", "1", "--search", "0").code == 3


def test_what_is_not_proved_says_why_with_exit_code_3(hardsim: Any, tmp_path: Path) -> None:
    hardsim("prove", write(tmp_path, with_head(some_a_by_words(), gap="2"), "false.ahat.json"), "--max-n", "2").clean(
        "UNDECIDED ", f"proved to length 1; not at length 2: the declared gap of head {HEAD}", "not proved", code=3
    )
    tied = hardsim("prove", write(tmp_path, majority(), "tied.ahat.json"), "--max-n", "2", "--json", "-")
    result = tied.exits(3).result
    assert (result["verdict"], result["mismatch"]["kind"]) == ("UNDECIDED", "hard attention undecided")


def test_a_word_out_of_range_is_an_error(hardsim: Any, tmp_path: Path) -> None:
    path = program(tmp_path, TWICE)
    # At the word a the sum is 2 and the length 1.
    hardsim("prove", path, "--max-n", "2").refused("hold integers from -n to n").unsaid("Traceback")


def test_check_holds_a_program_to_a_proof(hardsim: Any, tmp_path: Path, by_words: Path, since: Path) -> None:
    for proved in (program(tmp_path, SOME_A), since):
        hardsim("check", proved, "--max-n", "2", "--require", "proved").clean("PROVED ", "every word of length 1 to 2")
    outcome = hardsim("check", by_words, "--max-n", "2", "--require", "proved")
    outcome.exits(3).says(
        "the verdict is CERTIFIED, but --require proved was given. The prover was not used: the weights alone"
    )
    assert (
        hardsim("check", since, "--max-n", "65", "--exhaustive", "0", "--samples", "0", "--require", "proved").code == 3
    )


def test_a_single_length_of_a_program_and_of_a_model(hardsim: Any, tmp_path: Path, by_words: Path) -> None:
    outcome = hardsim("prove", program(tmp_path, SOME_A), "--min-n", "6", "--max-n", "6")
    outcome.clean("PROVED ", "every word of length 6: softmax answers as hard attention does")
    assert [line.split()[0] for line in outcome.out.splitlines() if " structure " in line] == ["6"]
    result = hardsim("prove", by_words, "--min-n", "2", "--max-n", "3", "--json", "-").exits(0).result
    assert (result["min_n"], result["max_n"], result["proved_to"]) == (2, 3, 3)
    assert [length["n"] for length in result["lengths"]] == [2, 3]
    assert "every word of length 2 to 3: softmax" in result["reach"]
    # 2^15 words are too many, and shorter lengths were not requested.
    outcome = hardsim("prove", by_words, "--min-n", "15", "--max-n", "15")
    outcome.exits(3, "UNDECIDED ", "not at length 15", "32,768 words are too many")
    outcome = hardsim("prove", by_words, "--min-n", "14", "--max-n", "15", "--no-tables")
    outcome.prints("UNDECIDED ", "proved for length 14; not at length 15").lacks("proved by")


# ---- how far, and words after a proof ----


def test_without_a_length_a_model_is_proved_as_far_as_can_be(hardsim: Any, tmp_path: Path) -> None:
    letters = [chr(ord("a") + k) for k in range(26)]
    embedding = {letter: {"1": "1"} | ({"a": "1"} if letter == "a" else {}) for letter in letters}
    path = write(tmp_path, some_a_by_words(alphabet=letters, embedding=embedding))
    # 26^3 = 17,576 words, 26^4 = 456,976.
    hardsim("prove", path, "--no-tables").exits(
        0, "PROVED ", "every word of length 1 to 3: softmax answers as hard attention does"
    ).says("length 4 has more than 20,000: lengths up to 3 are examined")
    result = hardsim("prove", path, "--json", "-").result
    assert (result["verdict"], result["max_n"], result["proved_to"]) == ("PROVED", 3, 3)
    # A requested length that is too long is an obstacle, and the report names it.
    hardsim("prove", path, "--max-n", "100000", "--no-tables").exits(
        3,
        "UNDECIDED ",
        "proved to length 3; not at length 4:",
        "456,976 words are too many. Next: --max-n 3 is proved, and `hardsim check` tries words",
    ).says("this length and longer ones have no proof (--max-n 3 is the largest that can be proved)")
    outcome = hardsim("prove", path, "--min-n", "5000", "--max-n", "6000", "--no-tables")
    outcome.exits(3, "26^5000 words are too many. Next: `hardsim check` tries words")


def test_every_length_of_a_program_or_model(hardsim: Any, tmp_path: Path, model: Path) -> None:
    path = program(tmp_path, SOME_A)
    hardsim("prove", path, "--all-n").clean(
        "PROVED ", "every word of every length: softmax answers as hard attention does", "N0 = ", "gap/tau >= "
    )
    # Also together with a length.
    hardsim("prove", path, "--all-n", "--max-n", "2").prints("PROVED ", "every word of every length")
    result = hardsim("prove", path, "--all-n", "--json", "-").result
    assert (result["verdict"], result["argument"]["proved"]) == ("PROVED", True)
    assert all(check["value"] <= check["limit"]["value"] for check in result["argument"]["checks"])
    # The gap of a lattice divided by this temperature is the same at every length.
    outcome = hardsim("prove", path, "--all-n", "--tau", "1/n", "--no-tables")
    outcome.exits(
        3, "UNDECIDED ", "not proved for every length: at the temperature 1/n: head Y: none: the gap", "Next:"
    )
    hardsim("prove", path, "--all-n", "--max-n", "2", "--tau", "1/(9*n)").prints(
        "PROVED ", "every word of length 1 to 2", "Not proved for every length: at the temperature 1/(9*n)"
    )


def test_a_mean_of_ties_is_not_known_at_every_length(hardsim: Any, tmp_path: Path) -> None:
    """The output is the share of a among a and b, which is 1/2 on ab."""
    path = write(tmp_path, with_head(sided("leftmost"), weighting="average"))
    hardsim("prove", path, "--all-n").clean(
        "UNDECIDED ", "decides nothing on `ab`", "may be exactly the threshold 1/2", "Next: move the threshold", code=3
    ).lacks("PROVED")
    result = hardsim("prove", path, "--all-n", "--json", "-").result
    assert (result["verdict"], result["lengths"], result["proved_to"]) == ("UNDECIDED", [], 0)
    assert result["argument"]["reason"] == (
        "the output found may be exactly the threshold 1/2 at i = n: the means over the tied positions of head some a "
        "are not known to avoid it"
    )


def test_words_are_run_after_a_proof_of_a_model(hardsim: Any, tmp_path: Path, model: Path) -> None:
    for requested in (program(tmp_path, SOME_A), model):
        outcome = hardsim("prove", requested, "--max-n", "3", "--json", "-")
        confirmed = {"words": 14, "every_word_to": 3, "longest": 3, "undecided": 0, "partial": False}
        assert outcome.result["confirmed"] == confirmed
    hardsim("prove", model, "--max-n", "3").prints("  14 words were also run, every one of length 1 to 3: each answer")


def test_a_word_that_contradicts_the_proof_of_a_model_is_exit_code_4(
    hardsim: Any, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def believe(subject: Subject, n: int, every: int, near: object) -> tuple[LengthProof, None]:
        return LengthProof(n, "every word", network=assemble(subject.program, subject.schedule)), None

    monkeypatch.setattr("hardsim.proving.prove.prove_length", believe)
    hardsim("prove", model, "--tau", "1", "--max-n", "3").refused(
        "was proved for words of length 2, but the word a b contradicts it",
        "hard attention: accept; softmax: reject (temperature 1)",
        "No verdict was given",
        code=4,
    )
    assert hardsim("prove", model, "--tau", "1/10", "--max-n", "3").code == 0


@pytest.mark.parametrize("most", [3, 4])
def test_words_are_of_proved_lengths_alone(hardsim: Any, tmp_path: Path, most: int) -> None:
    document = json.loads(Path("formulas/tieless_until_7.ahat.json").read_text(encoding="utf-8"))
    document["program"]["threshold"] = "1/1" + 40 * "0"
    target = written(tmp_path / "near.ahat.json", json.dumps(document))
    outcome = hardsim("prove", target, "--max-n", str(most), "--tau", "[n<3] + 1/1000", "--no-tables")
    outcome.exits(3, "UNDECIDED ", "proved to length 1; not at length 2")


# ---- queries for an SMT solver ----


def test_queries_are_written_for_every_length(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "since.smt2"
    hardsim("prove", since, "--all-n", "--max-n", "4", "--smt", target).clean("5 queries", str(target.name))
    assert target.read_text(encoding="utf-8").count("(check-sat)") == 5
    piped = hardsim("prove", since, "--all-n", "--max-n", "4", "--smt", "-")
    assert piped.out == target.read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [(), ("--tau", "1/(20*n^4+n)")])
def test_queries_are_written_of_programs(hardsim: Any, tmp_path: Path, options: tuple[str, ...]) -> None:
    target = tmp_path / "reverse.smt2"
    requested = "prove", "reverse.srasp", "--all-n", "--max-n", "2", *options
    hardsim(*requested, "--smt", target).clean("queries, none of which has a solution if the proof is right")
    assert set(answers(target.read_text(encoding="utf-8"), tmp_path)) == {"unsat"}


def test_programs_that_are_not_proved_have_no_queries(hardsim: Any, tmp_path: Path) -> None:
    target = tmp_path / "tieless.smt2"
    outcome = hardsim("prove", "tieless_until_7.ahat.json", "--all-n", "--max-n", "2", "--smt", target)
    assert outcome.code == 3
    outcome.says("not proved for every length, so there are no queries")
    assert not target.exists()


def test_queries_are_of_one_proof_for_every_length(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "since.smt2"
    hardsim("prove", since, "--smt", target).refused("needs --all-n")
    hardsim("prove", since, "--all-n", "--regime", "all", "--smt", target).refused("is about one network")
    hardsim("prove", since, since, "--all-n", "--smt", target).refused("is about one input")
    both = ("--smt", target, "--certificate", target)
    hardsim("prove", since, "--all-n", "--max-n", "3", *both).refused("both write")
    assert hardsim("prove", since, "--all-n", "--tau", "2^(-n)", "--smt", target).code == 3
    outcome = hardsim("prove", since, "--all-n", "--tau", "2^(-n)", "--max-n", "8", "--smt", target)
    assert outcome.code == 3
    outcome.says("not proved for every length, so there are no queries")
    assert not target.exists()


def test_a_second_proof_is_reported_and_contradicts_with_exit_code_4(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options in (["--all-n"], ["--max-n", "4"]):
        second = hardsim("prove", since, *options, "--json", "-").exits(0).result["second"]
        assert (second["made"], second["states"], second["reason"]) == (True, 2, None)
    assert hardsim("check", since, "--json", "-").exits(0).result["second"]["made"] is True
    assert hardsim("check", since, "--engine", "float64", "--json", "-").exits(0).result["second"] is None
    assert hardsim("prove", since, "--heads-only", "--json", "-").exits(0).result["second"] is None
    counting = hardsim("prove", "-e", "#L[a] >= #L[b]", "--max-n", "4", "--json", "-").exits(0).result["second"]
    assert (counting["made"], counting["states"]) == (False, None)
    # A program whose head reads the opposite of b: its answer to the word a is the first wrong one.
    with monkeypatch.context() as patch:

        def damaged(name: str, program: Program, file: FormulaFile) -> SecondProof:
            (layer,) = program.layers
            (head,) = layer.heads
            values = ((head.out, Affine.constant(1) - head.value),)
            layer = replace(layer, heads=(replace(head, values=values),))
            return second_proof(name, replace(program, layers=(layer,)), file)

        patch.setattr("hardsim.proof.formulas.by_automata.second_proof", damaged)
        message = "the compiled program and the minimal automaton of the formula differ on the word a"
        for command in (["prove", "--all-n"], ["check"]):
            hardsim(*command, since).exits(4).says(message)
    # A machine of since that forgets everything: a S b is then b, and differs first on b a.
    monkeypatch.setattr(
        "hardsim.lang.automata.tracks._since",
        lambda diagrams, where, right: Machine(
            frozenset({False}),
            lambda memory: diagrams.combined(lambda now: frozenset({(bool(now), False)}), right),
            lambda memory: True,
        ),
    )
    message = "the formula as written and the minimal automaton of the formula differ on the word ba"
    for command in (["prove", "--all-n"], ["prove"], ["check"]):
        hardsim(*command, since).exits(4).says(message)
