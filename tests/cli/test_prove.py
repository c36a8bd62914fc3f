"""`prove`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.checking.batch import FloatEngine
from hardsim.proof.general import GeneralProof, prove_general
from hardsim.proof.prover import prove
from hardsim.proof.result import LinkProof, Proof


def test_prove_proves_every_word(hardsim: Any, since: Path) -> None:
    outcome = hardsim("prove", since, "--max-n", "12")
    assert (outcome.code, outcome.err) == (0, "")
    assert "PROVED: every word of length 1 to 12" in outcome.out
    assert "link 1: the softmax network = its hard heads -- proved" in outcome.out
    assert "link 2: its hard heads = the formula -- proved" in outcome.out


def test_prove_in_json(hardsim: Any, since: Path) -> None:
    outcome = hardsim("prove", since, "--regime", "all", "--max-n", "9", "--json", "-")
    assert outcome.code == 0
    results = outcome.json["results"]
    assert [result["model"]["regime"] for result in results] == [
        "temperature", "position", "causal-temperature", "causal-position"]  # fmt: skip
    assert {result["verdict"] for result in results} == {"PROVED"}
    assert [result["prefix"] for result in results] == [False, False, True, True]
    (head,) = results[0]["heads"]
    # 1/2 - 2 q with q at most e^-2 = 0.1353: at least 0.2293.
    assert float(head["worst"]["margin"]) > 0.2293
    assert head["worst"]["types"]


def test_a_small_beta_is_refuted_with_exit_code_1(hardsim: Any, since: Path) -> None:
    outcome = hardsim("prove", since, "--beta", "1")
    assert outcome.code == 1
    assert "REFUTED" in outcome.out
    assert "\nbc\n" in outcome.out
    (result,) = hardsim("prove", since, "--beta", "1", "--json", "-").json["results"]
    assert result["mismatch"]["word"] == ["b", "c"]
    assert result["links"][0]["cases"][0]["n"] == 2


def test_a_proof_says_no_more_than_its_length(hardsim: Any, since: Path) -> None:
    # Beta 1 is refuted by bc, but words of length 1 have no wrong position.
    outcome = hardsim("prove", since, "--beta", "1", "--max-n", "1")
    assert outcome.code == 0
    assert "PROVED: every word of length 1, from the weights" in outcome.out


def test_a_compiled_model_is_proved_from_its_file(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "since.model.json"
    assert hardsim("compile", since, "-o", target).code == 0
    assert "PROVED" in hardsim("prove", target, "--max-n", "6").out
    outcome = hardsim("prove", target, "--max-n", "6", "--heads-only", "--json", "-")
    (result,) = outcome.json["results"]
    assert (result["verdict"], result["claim"], len(result["links"])) == ("PROVED", "heads", 1)
    text = target.read_text(encoding="utf-8")
    assert '"mask": "future"' in text
    # The network's own mask, not that of the specification, which comes last.
    target.write_text(text.replace('"mask": "future"', '"mask": "none"', 1), encoding="utf-8")
    changed = hardsim("prove", target, "--max-n", "6")
    assert changed.code == 3  # the output is read at the last position, which sees every other one anyway
    assert "has mask 'none', the specified head" in changed.out
    assert "UNDECIDED: not proved, which does not say that it is wrong: 1,092 words were tried" in changed.out
    target.write_text(text.replace('"mask": "future"', '"mask": "past"', 1), encoding="utf-8")
    wrong = hardsim("prove", target, "--max-n", "6")
    assert wrong.code == 1  # the last position sees itself alone
    assert "\nba\n" in wrong.out


def test_several_inputs_end_in_a_summary(hardsim: Any, since: Path, future: Path) -> None:
    outcome = hardsim("prove", since, future, "--max-n", "5", "--tables")
    assert outcome.code == 0
    rows = [line.split() for line in outcome.out.splitlines() if line.endswith(("0.23", "0.229", "0.495"))]
    assert outcome.out.count("PROVED") == 4
    assert "local types in the worst case" in outcome.out
    assert rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("--max-n", "0"), "out of range"), (("--search", "-1"), "out of range"), (("--regime", "x"), "unknown regime")],
)
def test_bad_options_are_usage_errors(hardsim: Any, since: Path, arguments: tuple[str, ...], message: str) -> None:
    outcome = hardsim("prove", since, *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def test_every_length_with_its_argument(hardsim: Any, since: Path) -> None:
    outcome = hardsim("prove", since, "--all-n", "--max-n", "8")
    assert (outcome.code, outcome.err) == (0, "")
    assert "PROVED: every word of every length" in outcome.out
    # beta (q_w - q_j) n + (beta/2)(w - j) with beta 4, and half of it at beta/2 = 2 nats a position.
    assert "for 1 <= j < w <= i <= n: l(w) - l(j) = -2*j + 2*w >= 2 (w - j)" in outcome.out
    assert "with g = 2 and x = e^-g the error is at most x = 0.135; the paper's 2x/(1 + x) is 0.238" in outcome.out
    assert "read by clip(2 S4.read - 1/2)" in outcome.out
    (result,) = hardsim("prove", since, "--all-n", "--max-n", "8", "--json", "-").json["results"]
    assert (result["verdict"], result["all_n"]["proved"], result["all_n"]["reason"]) == ("PROVED", True, None)
    (head,) = result["all_n"]["heads"]
    assert head["argument"]["g"] == "2"
    assert [step["rate"] for step in head["argument"]["inequalities"]] == ["2", "6", "2"]
    assert hardsim("prove", since, "--max-n", "3", "--json", "-").json["results"][0]["all_n"] is None


def test_where_every_length_is_not_proved_the_exit_code_says_so(hardsim: Any, since: Path) -> None:
    outcome = hardsim("prove", since, "--all-n", "--tau", "2^(-n)")
    assert outcome.code == 3
    assert "PROVED" not in outcome.out
    assert "UNDECIDED: not proved for every length: 2^(-n) is not recognised" in outcome.out
    assert "; every word of length 1 to 64 is proved. Next: --all-n with --max-n 64 asks for these" in outcome.out
    (result,) = hardsim("prove", since, "--all-n", "--tau", "2^(-n)", "--json", "-").json["results"]
    assert (result["verdict"], result["confirmed"]["longest"]) == ("UNDECIDED", 64)
    # The proof up to a length was asked for as well.
    outcome = hardsim("prove", since, "--all-n", "--tau", "2^(-n)", "--max-n", "64")
    assert outcome.code == 0
    assert "PROVED: every word of length 1 to 64" in outcome.out
    assert "Not proved for every length: 2^(-n) is not recognised" in outcome.out
    assert hardsim("prove", since, "--all-n", "--beta", "1").code == 1


def test_a_single_length(hardsim: Any, since: Path) -> None:
    outcome = hardsim("prove", since, "--min-n", "1500", "--max-n", "1500")
    assert (outcome.code, outcome.err) == (0, "")
    assert "PROVED: every word of length 1,500, from the weights" in outcome.out
    (result,) = hardsim("prove", since, "--min-n", "9", "--max-n", "9", "--json", "-").json["results"]
    assert (result["min_n"], result["max_n"], result["verdict"]) == (9, 9, "PROVED")
    assert {head["worst"]["n"] for head in result["heads"]} == {9}
    outcome = hardsim("prove", since, "--regime", "all", "--min-n", "5", "--max-n", "9")
    assert outcome.code == 0
    assert outcome.out.count("PROVED: every word of length 5 to 9, from the weights") == 4
    assert outcome.out.count(" 5-9 ") == 4
    # The longest length stands for all in the causal regimes, and what is claimed is what was asked for.
    results = hardsim("prove", since, "--regime", "all", "--min-n", "5", "--max-n", "9", "--json", "-").json["results"]
    assert [result["prefix"] for result in results] == [False, False, True, True]


def test_what_refutes_has_one_of_the_lengths(hardsim: Any, since: Path) -> None:
    outcome = hardsim("prove", since, "--beta", "1", "--min-n", "5", "--max-n", "6", "--json", "-")
    assert outcome.code == 1
    (result,) = outcome.json["results"]
    assert (result["verdict"], len(result["mismatch"]["word"])) == ("REFUTED", 5)
    # There are 3^40 words; that of the worst case is made as long as asked for.
    outcome = hardsim("prove", since, "--beta", "1", "--min-n", "40", "--max-n", "40", "--json", "-")
    assert outcome.code == 1
    assert len(outcome.json["results"][0]["mismatch"]["word"]) == 40
    outcome = hardsim("prove", since, "--beta", "1", "--min-n", "600", "--max-n", "600")
    assert outcome.code == 3
    assert "UNDECIDED: not proved, which does not say that it is wrong: no word was tried" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--min-n", "9", "--max-n", "7"), "--min-n 9 is larger than --max-n 7"),
        (("--min-n", "100"), "--min-n 100 is larger than the largest, 64 unless --max-n says otherwise"),
        (("--min-n", "0"), "out of range"),
        (("--max-n", "5000"), "every length from 1 to 5,000 is 12,502,500 positions to look at, and 1,000,000 are"),
    ],
)
def test_lengths_that_cannot_be(hardsim: Any, since: Path, arguments: tuple[str, ...], message: str) -> None:
    outcome = hardsim("prove", since, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert "--m" in outcome.err.splitlines()[-1]


def test_an_interrupted_proof_has_no_verdict(hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hardsim.proof.network.feed_forward", interrupt)
    outcome = hardsim("prove", since, since, "--max-n", "5", "--json", "-")
    assert outcome.code == 130
    assert (outcome.json["exit_code"], outcome.json["results"]) == (130, [])
    assert "interrupted" in outcome.err
    assert hardsim("prove", since, "--max-n", "5").out == ""


# ---- words after a proof ----


@pytest.fixture
def believing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prover that takes every network for right."""

    def believe(*arguments: Any) -> Proof:
        found = prove(*arguments)
        links = [None if link is None else LinkProof(link.claim) for link in (found.network, found.meaning)]
        assert links[0] is not None
        return replace(found, network=links[0], meaning=links[1])

    monkeypatch.setattr("hardsim.checking.prove.prove", believe)


def test_words_are_run_after_a_proof(hardsim: Any, since: Path) -> None:
    outcome = hardsim("prove", since, "--max-n", "4")
    assert outcome.code == 0
    # 3 + 9 + 27 + 81.
    assert "\n  120 words were run besides, every one of length 1 to 4: each is answered as proved\n" in outcome.out
    (result,) = hardsim("prove", since, "--max-n", "4", "--json", "-").json["results"]
    assert result["confirmed"] == {"words": 120, "every_word_to": 4, "longest": 4, "undecided": 0, "partial": False}
    longer = hardsim("prove", since, "--no-tables").out
    assert "words were run besides, every one of length 1 to 5 and some of up to 64 symbols: each is" in longer
    assert (
        "no word was run besides: words of this length"
        in hardsim("prove", since, "--min-n", "2500", "--max-n", "2500").out
    )
    # There is nothing to confirm where nothing is proved.
    assert hardsim("prove", since, "--beta", "1", "--json", "-").json["results"][0]["confirmed"] is None


@pytest.mark.parametrize("arguments", [(), ("--heads-only",), ("--all-n",), ("--max-n", "2"), ("--regime", "position")])
def test_a_word_that_contradicts_a_proof_is_exit_code_4(
    hardsim: Any, since: Path, believing: None, arguments: tuple[str, ...]
) -> None:
    outcome = hardsim("prove", since, "--beta", "1", *arguments)
    assert (outcome.code, outcome.out) == (4, "")
    assert "was proved for words of length 2, but the word b c contradicts it" in outcome.err
    assert "beta 1, read at the last position" in outcome.err
    assert "No verdict was given" in outcome.err
    assert "Please report the command line, the input and these lines" in outcome.err
    document = hardsim("prove", since, "--beta", "1", *arguments, "--json", "-").json
    assert (document["exit_code"], document["results"]) == (4, [])


def test_a_stored_network_that_contradicts_a_proof_is_exit_code_4_too(
    hardsim: Any, since: Path, tmp_path: Path, believing: None
) -> None:
    target = tmp_path / "since.model.json"
    assert hardsim("compile", since, "--beta", "1", "-o", target).code == 0
    outcome = hardsim("prove", target)
    assert (outcome.code, outcome.out) == (4, "")
    assert f"{target} was proved for words of length 2, but the word b c contradicts it" in outcome.err
    # `check` asks the prover too, and runs its own words.
    for arguments in ((target,), (since, "--beta", "1")):
        outcome = hardsim("check", *arguments, "--max-n", "3")
        assert (outcome.code, outcome.out) == (4, "")
        assert "was proved for every word up to 3, but b c is a mismatch (soft/hard; regime temperature" in outcome.err


def test_no_certificate_of_what_a_word_contradicts(hardsim: Any, since: Path, tmp_path: Path, believing: None) -> None:
    target = tmp_path / "since.cert.json"
    assert hardsim("prove", since, "--beta", "1", "--max-n", "4", "--certificate", target).code == 4
    assert not target.exists()


def test_two_proofs_that_contradict_each_other_are_exit_code_4(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def believe(*arguments: Any) -> GeneralProof:
        return replace(prove_general(*arguments), network=LinkProof("claim"))

    monkeypatch.setattr("hardsim.checking.prove.prove_general", believe)
    outcome = hardsim("prove", since, "--all-n", "--beta", "1")
    assert (outcome.code, outcome.out) == (4, "")
    assert "every word of every length was proved, but not length 1 to 64: the word b c contradicts" in outcome.err
    # No word is tried: what fails is the head's bound.
    outcome = hardsim("prove", since, "--all-n", "--beta", "1", "--search", "0", "--min-n", "600", "--max-n", "600")
    assert (outcome.code, outcome.out) == (4, "")
    assert "but not length 600: head S4.read can be so far off that the clip" in outcome.err


def test_a_proof_that_only_one_argument_is_precise_enough_for(hardsim: Any, since: Path) -> None:
    """2 ln 4 = 2.772588722239781...: for the series it is enough to be above it; the numerical bounds are rounded."""
    outcome = hardsim(
        "prove", since, "--all-n", "--max-n", "24", "--search", "0", "--beta", "2.77258872224", "--no-tables"
    )
    assert outcome.code in (0, 3)
    assert ("PROVED" in outcome.out) is (outcome.code == 0) is ("-- not proved" not in outcome.out)
    if outcome.code:
        assert "not by the other, numerical one for length 1 to 24, for want of precision: head S4.read" in outcome.out


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(power=st.integers(20, 290), column=st.sampled_from([0, 2, 4]))
def test_what_floats_cannot_tell_apart_is_no_contradiction(
    hardsim: Any, since: Path, tmp_path: Path, power: int, column: int
) -> None:
    """Two products of a score that cancel, as rationals: the network is the same."""
    document = json.loads(hardsim("compile", since, "-o", "-").out)
    head = document["model"]["layers"][0]["heads"][0]
    for key, entries in (
        ("w_q", [[1, 0, "1"], [2, 0, "-1"]]),
        ("w_k", [[row, column, f"{10**power}"] for row in (1, 2)]),
    ):
        head[key]["shape"][0] += 2
        head[key]["entries"] += entries
    target = tmp_path / "cancelling.json"
    target.write_text(json.dumps(document), encoding="utf-8")
    outcome = hardsim("prove", target, "--all-n", "--max-n", "4", "--no-tables")
    assert outcome.code in (0, 3)
    assert (outcome.code == 3) is (
        "not by the other, numerical one for length 1 to 4, for want of precision" in outcome.out
    )


def test_a_form_that_one_argument_alone_knows_is_no_contradiction(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unfamiliar(*arguments: Any) -> Proof:
        return Proof(4, LinkProof("claim", "the scores are of no form that is known"), None)

    monkeypatch.setattr("hardsim.checking.prove.prove", unfamiliar)
    outcome = hardsim("prove", since, "--all-n", "--max-n", "4", "--no-tables")
    assert outcome.code == 3
    assert "for want of generality: the scores are of no form that is known; 120 words were tried and" in outcome.out


def test_a_limit_of_the_prover_is_the_reason_that_is_given(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.proof.diagrams.LIMIT", 1)
    outcome = hardsim("prove", since, "--max-n", "4", "--no-tables")
    assert outcome.code == 3
    assert "UNDECIDED: not proved, which does not say that it is wrong: 120 words were tried and none" in outcome.out
    assert "The formula's Boolean functions are too large for this prover. Next: fewer lengths" in outcome.out
    assert "worst types" not in outcome.out


def test_undecided_words_decide_nothing_and_are_counted(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FloatEngine, "decisions", lambda self, words: [(False, None)] * len(words))
    monkeypatch.setattr("hardsim.checking.confirm.IN_BALLS", 3)
    outcome = hardsim("prove", since, "--max-n", "2")
    assert outcome.code == 0
    assert (
        "12 words were run besides, every one of length 1 to 2: each is answered as proved; on 9 of them no"
        in outcome.out
    )
    (result,) = hardsim("prove", since, "--max-n", "2", "--json", "-").json["results"]
    assert (result["verdict"], result["confirmed"]["undecided"]) == ("PROVED", 9)


def test_an_interruption_after_a_proof_leaves_it_printed(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(FloatEngine, "decisions", interrupt)
    outcome = hardsim("prove", since, since, "--regime", "all", "--max-n", "5")
    assert outcome.code == 130
    assert outcome.out.count("PROVED: every word of length 1 to 5") == 1
    assert "no word was run besides (interrupted: more were to be run)" in outcome.out
    assert "interrupted" in outcome.err
    document = hardsim("prove", since, since, "--max-n", "5", "--json", "-").json
    assert (document["exit_code"], len(document["results"])) == (130, 1)
    assert document["results"][0]["confirmed"]["partial"] is True


def test_nothing_is_proved_where_floats_are_rounded_otherwise(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.proof.network.arithmetic_fault", lambda: "floats are rounded upwards here")
    outcome = hardsim("prove", since, "--max-n", "3", "--no-tables")
    assert outcome.code == 3
    assert "UNDECIDED" in outcome.out
    assert "The prover rounds in float64, and floats are rounded upwards here" in outcome.out
