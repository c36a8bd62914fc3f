"""Tests of leftmost and rightmost heads that tie, and of outputs exactly on the threshold, in each command."""

import json
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

import pytest

from hardsim.campaign.obstacles import IN_ORDER, LONGEST, TRIED, obstacles
from hardsim.proving.prove import ProofResult
from tests.support.attention_models import HEAD, Document, majority, shares, sided, some_a, with_head, write
from tests.support.check import ModelOptions, read_input
from tests.support.language import formulas_directory

DIFFER = f"head {HEAD} ties: on `ab` the tied positions carry 1 and 0, so no temperature helps"
ADDED = f"{DIFFER}; weights were added (Lemma 8)"
KEPT = f"head {HEAD} ties, all tied positions carry one value: taken as an average head, no weights added"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "ties"


def letters(weighting: str) -> Document:
    """Return a model that accepts if there is an a or b: the value is the score itself."""
    return with_head(sided(weighting), w_v={"found": {"letter": "1"}})


def both(weighting: str) -> Document:
    """Return a model with two heads with the scores of `sided`: the first reads its values, the other those of
    `letters`.
    """
    document = sided(weighting)
    (head,) = document["layers"][0]["heads"]
    other = head | {"name": "letters", "w_v": {"seen": {"letter": "1"}}}
    return document | {"layers": [{"heads": [head, other]}], "coordinates": [*document["coordinates"], "seen"]}


# ---- weights are added where tied positions carry different values ----


@pytest.mark.parametrize("weighting", ["leftmost", "rightmost"])
def test_added_weights_are_reported_with_word_and_values(hardsim: Any, tmp_path: Path, weighting: str) -> None:
    path = write(tmp_path, sided(weighting))
    hardsim("check", path, "--max-n", "3").clean("CERTIFIED ", ADDED, f"ties broken in {HEAD}")
    hardsim("bound", path, "--max-n", "2").clean("CERTIFIED ", ADDED)
    hardsim("prove", path, "--max-n", "3").clean("PROVED ", "every word of length 1 to 3", ADDED)
    hardsim("compile", path, "--max-n", "3", "-o", tmp_path / "soft.ahat.json").clean(ADDED)
    for command in ("check", "bound", "prove"):
        (tie,) = hardsim(command, path, "--max-n", "2", "--json", "-").result["ties"]
        assert (tie["head"], tie["n"], tie["simulated"]) == (HEAD, 2, "weights added")
        row = tie["differ"]
        assert (row["word"], row["other_mean"]) == (["a", "b"], True)
        assert [one["position"] for one in row["tied"]] == [1, 2]
        assert [[value["exact"] for value in one["values"]] for one in row["tied"]] == [["1"], ["0"]]


def levels(weighting: str) -> Document:
    """Return a model of `letters` in which letters at odd positions have greater scores, so that only running words
    shows that tied positions carry one value.
    """
    document = with_head(letters(weighting), w_q=[{"1": "2"}, {"1": "1"}], w_k=[{"letter": "1"}, {"odd": "1"}])
    return document | {
        "coordinates": [*document["coordinates"], "odd"],
        "encodings": [{"coordinate": "odd", "value": "(1 - (-1)^i)/2"}],
    }


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("weighting", ["leftmost", "rightmost"])
@pytest.mark.parametrize("model", [letters, levels])
def test_one_value_keeps_the_weights(hardsim: Any, tmp_path: Path, model: Any, weighting: str) -> None:
    path, target = write(tmp_path, model(weighting)), tmp_path / "soft.ahat.json"
    hardsim("check", path, "--max-n", "3").clean(KEPT).lacks("Lemma 8", "ties broken")
    for command in ("check", "bound --gap", "prove"):
        result = hardsim(*command.split(), path, "--max-n", "3", "--json", "-").result
        assert result["reach"].endswith(f"; {KEPT}")
        (tie,) = result["ties"]
        assert (tie["simulated"], tie["differ"]) == ("one value", None)
    hardsim("compile", path, "--tau", "1/2", "-o", target).clean(KEPT)
    assert json.loads(target.read_text("utf-8"))["program"]["coordinates"] == model(weighting)["coordinates"]


def test_softmax_of_the_kept_weights_is_what_it_is(hardsim: Any, tmp_path: Path) -> None:
    """With k letters among n symbols the value is k/(k + (n - k) e^(-1/tau)): above 1/2 from k = 1 on iff (n - 1)
    e^(-1/tau) < 1.
    """
    path = write(tmp_path, letters("leftmost"))
    for n, (tau, value) in product((2, 3), (("1/2", 0.5), ("2", 2.0))):
        right = (n - 1) * exp(-1 / value) < 1
        assert hardsim("check", path, "--tau", tau, "--max-n", str(n)).code == (0 if right else 1)


@pytest.mark.parametrize("weighting", ["leftmost", "rightmost"])
def test_one_value_is_proved_for_every_length(hardsim: Any, tmp_path: Path, weighting: str) -> None:
    path = write(tmp_path, letters(weighting))
    hardsim("prove", path, "--all-n").clean("PROVED ", "every word of every length", KEPT)
    (tie,) = hardsim("prove", path, "--all-n", "--max-n", "3", "--json", "-").result["ties"]
    assert (tie["head"], tie["simulated"], tie["differ"]) == (HEAD, "one value", None)


def test_heads_are_judged_one_by_one(hardsim: Any, tmp_path: Path) -> None:
    path = write(tmp_path, both("leftmost"))
    outcome = hardsim("check", path, "--max-n", "3").clean(
        "CERTIFIED ", ADDED, "head letters ties, all tied positions carry one value: taken as an average head",
        f"ties broken in {HEAD}",
    )  # fmt: skip
    outcome.lacks(f"ties broken in {HEAD}, letters")


def test_a_sided_head_that_never_ties_says_nothing(hardsim: Any, tmp_path: Path) -> None:
    document = with_head(sided("leftmost"), w_k=[{"i": "-1"}])
    document |= {"coordinates": [*document["coordinates"], "i"], "encodings": [{"coordinate": "i", "value": "i"}]}
    outcome = hardsim("check", write(tmp_path, document), "--max-n", "4").clean("PROVED ")
    assert "tie" not in outcome.told_text.replace("tieless", "")


def test_causal_masks_and_other_values(hardsim: Any, tmp_path: Path) -> None:
    document = with_head(sided("rightmost"), mask="future", w_v={"found": {"a": "1/3", "letter": "1"}})
    path = write(tmp_path, document | {"threshold": "7/6"})
    said = f"head {HEAD} ties: on `ab` the tied positions carry 4/3 and 1, so no temperature helps; weights were added"
    hardsim("check", path, "--max-n", "3").clean("CERTIFIED ", said)
    hardsim("prove", path, "--max-n", "3").clean("PROVED ", said)


def test_values_whose_mean_is_what_is_read(hardsim: Any, tmp_path: Path) -> None:
    """All scores are equal. At length 3 the positions carry 1, 0 and 2, and the leftmost head reads 1, which is their
    mean.
    """
    document = with_head(sided("leftmost"), w_k=[{"1": "1"}], w_v={"found": {"v": "1"}})
    document |= {
        "coordinates": [*document["coordinates"], "v"],
        "encodings": [{"coordinate": "v", "value": "1 - [i = 2]*[n = 3] + [i = 3]*[n = 3]"}],
    }
    path = write(tmp_path, document)
    hardsim("check", path, "--max-n", "2").clean(KEPT)
    said = f"head {HEAD} ties: on `aaa` the tied positions carry 1, 0 and 2, and not one value; weights were added"
    hardsim("check", path, "--max-n", "3").clean(said).lacks("no temperature helps")


def test_weights_that_come_with_a_temperature_are_left_alone(hardsim: Any, tmp_path: Path) -> None:
    """The output on ab is 1/2, the threshold, at every temperature."""
    path = write(tmp_path, with_head(sided("softmax"), hardmax="leftmost") | {"temperature": "1/9"})
    outcome = hardsim("check", path, "--max-n", "3")
    outcome.exits(1, "REFUTED ", f"{DIFFER}; no weights were added", f"Next: {DIFFER}. Remove the temperature from the")
    (tie,) = hardsim("check", path, "--max-n", "3", "--json", "-").result["ties"]
    assert tie["simulated"] == "not simulated"


# ---- every length ----


@pytest.mark.parametrize("weighting", ["leftmost", "rightmost"])
def test_differing_ties_are_not_proved_for_every_length(hardsim: Any, tmp_path: Path, weighting: str) -> None:
    path = write(tmp_path, sided(weighting))
    said = f"{DIFFER}; weights that break ties (Lemma 8) are added only where the words of a length are run"
    hardsim("prove", path, "--all-n").clean("UNDECIDED ", "not proved for every length", said, code=3)
    both_requested = hardsim("prove", path, "--all-n", "--max-n", "3")
    both_requested.clean("PROVED ", "every word of length 1 to 3", ADDED, f"Not proved for every length: {said}")
    result = hardsim("prove", path, "--all-n", "--json", "-").result
    assert [tie["differ"]["word"] for tie in result["ties"]] == [["a", "b"]]


def test_the_models_that_must_not_be_proved(hardsim: Any) -> None:
    if not SHARED.is_dir():
        pytest.skip("the models are not here")
    on = "hard attention itself decides nothing on"
    for name, said in (
        ("leftmost_differs", "head first ties: on `ab` the tied positions carry 1 and 0, so no temperature helps"),
        ("third_on_threshold", f"{on} `abb`: its output (read by head a and b) is exactly the threshold 1/3"),
        ("lcm_bad_offset", f"{on} `baacca`: its output (read by head mean) is exactly the threshold 1/2"),
    ):
        hardsim("prove", SHARED / f"{name}.ahat.json", "--all-n").clean("UNDECIDED ", said, code=3)


def test_the_first_late_tie_is_named(hardsim: Any) -> None:
    # 6 [1] + i: a 1 at position 1 and a 0 at position 7 have the score 7.
    path = formulas_directory() / "tieless_until_7.ahat.json"
    said = "head last 1 ties from length 7 on, as on `1000000`"
    hardsim("prove", path, "--all-n").clean("UNDECIDED ", "the threshold 1/2", said, code=3)


# ---- outputs on the threshold ----

ON = f"on `ab`: its output (read by head {HEAD}) is exactly the threshold 1/2"


def test_an_output_on_the_threshold_is_named_by_every_command(hardsim: Any, tmp_path: Path) -> None:
    path = write(tmp_path, majority())
    for command in ("check", "bound", "prove"):
        hardsim(command, path, "--max-n", "2").clean("UNDECIDED ", ON, code=3)
        found = hardsim(command, path, "--max-n", "2", "--json", "-").result["hard_undecided"]
        assert (found["word"], found["position"], found["output"]) == (["a", "b"], 2, "found")
        assert (found["value"]["exact"], found["threshold"]["exact"]) == ("1/2", "1/2")
        assert (found["each"], found["heads"]) == (False, [HEAD])
    hardsim("prove", path, "--all-n").clean("UNDECIDED ", ON, "\nab\n", "hardsim trace", code=3)
    hardsim("eval", path, "ab").exits(3, ON)
    hardsim("eval", path, "aab").clean().lacks("threshold")
    hardsim("trace", path, "ab").exits(3, ON)
    (word,) = hardsim("eval", path, "ab", "--json", "-").result["words"]
    assert word["hard_undecided"]["word"] == ["a", "b"]
    decided = hardsim("check", path, "--max-n", "1", "--json", "-").result
    assert (decided["verdict"], decided["hard_undecided"]) == ("CERTIFIED", None)


def test_no_other_word_is_wrong_because_of_it(hardsim: Any, tmp_path: Path) -> None:
    """Only outputs that are not on the threshold determine the temperature."""
    path = write(tmp_path, shares())
    on = "on `baacca`: its output (read by head mean) is exactly the threshold 1/2"
    outcome = hardsim("check", path, "--max-n", "6").clean("UNDECIDED ", on, "\nbaacca\n", "move the threshold", code=3)
    outcome.lacks("REFUTED", "--tau")
    result = hardsim("check", path, "--max-n", "6", "--json", "-").result
    assert [length["soft_mismatches"] for length in result["lengths"]] == [0] * 6
    # With --tau another word is wrong and decides the verdict; the undecided word is still named.
    hot = hardsim("check", path, "--max-n", "6", "--tau", "1/2")
    hot.exits(1, "REFUTED ", "soft/hard disagree", "lower --tau", on).lacks("--epsilon")
    warm = hardsim("check", path, "--max-n", "6", "--epsilon", "1/3").exits(1, "REFUTED ", "lower --epsilon", on)
    warm.lacks("--tau")


def test_outputs_at_every_position(hardsim: Any, tmp_path: Path) -> None:
    """A symbol is x if at least half of the symbols so far are a; at the end of ab exactly half are."""
    document: Document = with_head(some_a(threshold="1/2"), mask="future", w_q=[], w_k=[],
                                   w_v={"x": {"a": "1"}, "y": {"b": "1"}}) | {
        "coordinates": ["1", "a", "b", "x", "y"],
        "embedding": {"a": {"1": "1", "a": "1"}, "b": {"1": "1", "b": "1"}},
        "output": "x",
        "outputs": {"x": "x", "y": "y"},
    }  # fmt: skip
    said = "decides nothing on `ab` at position 2: its output"
    path = write(tmp_path, document)
    hardsim("check", path, "--max-n", "2").clean("UNDECIDED ", said, code=3)
    hardsim("prove", path, "--all-n").exits(3, said)


def test_a_longer_word_in_order_is_found(hardsim: Any, tmp_path: Path) -> None:
    """The share of a can be 7/18 only at lengths that 18 divides: first at length 18."""
    path = write(tmp_path, some_a(threshold="7/18") | {"layers": majority()["layers"]})
    word = "a" * 7 + "b" * 11
    said = f"on `{word}`: its output (read by head {HEAD}) is exactly the threshold 7/18"
    hardsim("prove", path, "--all-n").clean("UNDECIDED ", said, code=3)
    # No word of up to LONGEST symbols has the share 11/29: only the prover's own reason is left.
    none = write(tmp_path, some_a(threshold="11/29") | {"layers": majority()["layers"]}, "none.ahat.json")
    hardsim("prove", none, "--all-n").exits(3, "11/29").lacks("read by head")
    found = obstacles(read_input(str(none)).compile(ModelOptions()))
    assert (found.undecided, found.ties) == (None, ())


def test_the_search_is_bounded() -> None:
    assert TRIED + IN_ORDER <= 5_000
    assert LONGEST <= 24
    assert ProofResult.__dataclass_fields__["hard_undecided"].default is None
