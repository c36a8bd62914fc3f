"""Tests of Ctrl-C at any place of a command's work: the results so far are reported as partial, with exit code 130."""

from pathlib import Path
from typing import Any

import pytest

from hardsim.campaign import interrupts
from hardsim.precision import safe_lengths
from tests.cli.conftest import Cli, interrupt
from tests.support.language import formulas_directory

PLACES = {
    "check": (
        "hardsim.proving.prove.prove_subject",
        "hardsim.campaign.check.plan_words",
        "hardsim.campaign.judges.HardJudge.tally",
    ),
    "eval": ("hardsim.campaign.judges.HardJudge.evaluations",),
    "bound": (
        "hardsim.campaign.check.words_of",
        "hardsim.campaign.check.prepare_words",
        "hardsim.measuring.bound.Reporter.__call__",
    ),
    "prove": ("hardsim.proving.prove.prove", "hardsim.proving.prove._refute"),
}


@pytest.mark.parametrize(("after", "place"), [(after, place) for place in PLACES["check"] for after in (0, 1, 2)])
def test_a_check_reports_what_it_found(
    hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch, place: str, after: int
) -> None:
    interrupt(monkeypatch, place, after)
    outcome = hardsim("check", since, "--max-n", "4")
    requested_once = "prove_subject" in place
    if requested_once and after:
        assert outcome.code == 0
        return
    outcome.exits(130, "PARTIAL").says("is partial").lacks("PROVED")
    rows = [line for line in outcome.out.splitlines() if " all " in line and line.split()[0].isdigit()]
    # The words of three letters are 3, 9, 27 and 81: all of a length are run at once.
    done = 0 if requested_once else after
    assert len(rows) == done
    assert outcome.out.startswith("CERTIFIED  " if done else "UNDECIDED  ")
    tried = sum(3**n for n in range(1, done + 1))
    outcome.prints(f"all {tried} words" if done else "no word was tried")


def test_a_mismatch_found_before_is_printed(hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "hardsim.campaign.engines.WordEngine.answer")
    outcome, whole = (hardsim("check", since, "--max-n", "3", "--regime", "none", "--json", "-") for _ in range(2))
    assert outcome.json["exit_code"] == 130
    assert (outcome.result["verdict"], outcome.result["partial"]) == ("REFUTED", True)
    assert outcome.result["mismatch"]["word"] == whole.result["mismatch"]["word"]
    found, expected = ([n["soft_mismatches"] for n in one.result["lengths"]] for one in (outcome, whole))
    assert found == expected


def test_what_follows_is_left_alone(hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "hardsim.campaign.judges.HardJudge.tally")
    document = hardsim("check", since, since, "--regime", "all", "--max-n", "2", "--json", "-").json
    assert [result["partial"] for result in document["results"]] == [True]


def test_a_length_under_way_counts(hardsim: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    # Over three symbols each length up to 5 is one shard of at most 256 words, and length 6 is three shards, of which
    # one is done.
    path = formulas_directory() / "majority_ties.ahat.json"
    interrupt(monkeypatch, "hardsim.campaign.judges.HardJudge.tally", after=6)
    outcome = hardsim("check", path, "--max-n", "7", "--json", "-").exits(130).says("the result of", "partial")
    result = outcome.result
    assert (outcome.json["exit_code"], result["partial"]) == (130, True)
    last = result["lengths"][-1]
    assert (last["n"], last["words"], last["exhaustive"]) == (6, 256, False)
    assert result["verdict"] == "CERTIFIED"


@pytest.mark.parametrize("name", ["since.ltl", "dyck1.srasp"])
def test_words_are_those_found_until_then(hardsim: Cli, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = formulas_directory() / name
    arguments = ("words", path, "--max-n", "4", "--json", "-")
    whole = hardsim(*arguments).result
    assert not whole["partial"]
    interrupt(monkeypatch, "hardsim.cli.words.written_word", 2)
    document = hardsim(*arguments).json
    (result,) = document["results"]
    assert (document["exit_code"], result["partial"]) == (130, True)
    assert result["accepted"] == whole["accepted"][:2]
    alphabet = document["inputs"][0]["alphabet"]
    size, last = len(alphabet), result["accepted"][-1]
    place = sum((alphabet.index(symbol) + 1) * size**power for power, symbol in enumerate(reversed(last)))
    assert result["tried"] == place


def test_evaluations_are_those_made_until_then(hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, PLACES["eval"][0], 2)
    outcome = hardsim("eval", since, "a", "b", "ab", "c", "--json", "-")  # words of one length are run together
    assert (outcome.json["exit_code"], outcome.result["partial"]) == (130, True)
    assert [one["word"] for one in outcome.result["words"]] == [["a"], ["b"], ["a", "b"]]


@pytest.mark.parametrize(("after", "place"), [(after, place) for place in PLACES["bound"] for after in (0, 1)])
def test_a_bound_report_is_partial(
    hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch, place: str, after: int
) -> None:
    interrupt(monkeypatch, place, after)
    outcome = hardsim("bound", since, "--max-n", "2", "--json", "-")
    if "prepare_words" in place and after:  # it is called once
        assert outcome.code == 0
        return
    result = outcome.result
    assert (outcome.code, result["partial"]) == (130, True)
    assert len(result["lengths"]) == (after if "Reporter" in place else 0)


@pytest.mark.parametrize("place", ["prove_network", "prove_general"])
def test_a_least_beta_is_not_claimed(hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    interrupt(monkeypatch, f"hardsim.measuring.critical.{place}", 3)
    outcome = hardsim("bound", since, "--critical", "--max-n", "1")
    outcome.exits(130, "every length: no proof was tried, because the search was interrupted")
    assert "right at beta" not in outcome.out.replace("right\nat beta", "")


@pytest.mark.parametrize("place", PLACES["prove"])
def test_an_interrupted_proof_claims_nothing(
    hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    arguments = ("prove", since, since, "--max-n", "3", "--beta", "1")
    said = "interrupted before a verdict was reached: nothing is claimed"
    interrupt(monkeypatch, place)
    hardsim(*arguments).refused(said, code=130)
    interrupt(monkeypatch, place)
    document = hardsim(*arguments, "--json", "-").exits(130).says(said).json
    assert (document["results"], [note["message"] for note in document["notes"]]) == ([], [said])


def test_the_work_of_precision_can_be_given_up(hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is raised only where the state says so, and then formats that are done are kept."""
    before, seen = safe_lengths.structure_known, list[bool]()

    def known(made: Any) -> Any:
        seen.append(interrupts._State.open)
        return before(made)

    monkeypatch.setattr(safe_lengths, "structure_known", known)
    hardsim("precision", since, "--max-n", "4").exits(0)
    assert seen == [True]
