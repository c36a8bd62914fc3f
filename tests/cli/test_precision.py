"""Tests of `hardsim precision`: the length up to which a network is right in a number format."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import SINCE, Cli, interrupt, written
from tests.support.subjects import FORMULAS

ARITHS = ["float32", "bfloat16", "float16", "float8_e4m3"]


def rows(hardsim: Cli, *arguments: Any, code: int = 0) -> dict[str, Any]:
    result = hardsim("precision", *arguments, "--json", "-").exits(code).result
    return {row["arith"]: row for row in result["rows"]}


def test_the_report_in_words(hardsim: Cli, since: Path) -> None:
    """With beta 8, bfloat16 is first wrong at length 52: see `tests/precision/test_bounds.py`."""
    outcome = hardsim("precision", since, "--beta", "8", "--max-n", "60")
    outcome.clean(
        "every word of length 1 to 60, computed in the order of model.py",
        "float32 60+ 60+",
        "bfloat16 51 51 52 formula layer 1, head S4.read float16",
        "bfloat16 is wrong at length 52",
        "assuming",
        "round to nearest, ties to even; gradual underflow",
        "masked entries are left out",
    )


def test_without_arith_nothing_is_required_and_with_it_a_failure_is_a_mismatch(hardsim: Cli, since: Path) -> None:
    options = (since, "--beta", "8", "--max-n", "60")
    found = rows(hardsim, *options)
    assert list(found) == ARITHS
    assert (found["bfloat16"]["safe_to"], found["bfloat16"]["fails_at"], found["bfloat16"]["closed"]) == (51, 52, True)
    assert (found["bfloat16"]["layer"], found["bfloat16"]["head"]) == (1, "S4.read")
    assert len(found["bfloat16"]["word"]) == 52
    assert (found["float32"]["safe_to"], found["float32"]["fails_at"], found["float32"]["word"]) == (60, None, None)
    assert list(rows(hardsim, *options, "--dtype", "bfloat16", code=1)) == ["bfloat16"]
    assert list(rows(hardsim, *options, "--dtype", "float16")) == ["float16"]
    assert rows(hardsim, since, "--max-n", "51", "--beta", "8", "--dtype", "bfloat16")["bfloat16"]["safe_to"] == 51


MORE = ("-e", "#L[a] > #L[b]", "--alphabet", "a b")


@pytest.mark.parametrize(
    ("options", "fails", "assumption"),
    [
        (("since", "--weighting", "sparsemax"), True, "sparsemax sorts the logits of a row, less the largest"),
        (("since", "--weighting", "geometric"), True, "a sigmoid is within 4 units"),
        (("since", "--exponential", "fp16"), True, "exp is within 2 units"),
        ((*MORE, "--rounding", "floor:8"), False, "multiplied by 2^p"),
    ],
)
def test_other_weightings_and_rounding(hardsim: Cli, options: tuple[str, ...], fails: bool, assumption: str) -> None:
    """In e4m3 `since` is wrong at length 5 (see `tests/precision/test_weightings.py`), in float32 right up to 4."""
    hardsim("precision", *options, "--max-n", "4", "--dtype", "float32").exits(0, assumption)
    narrow = (*options, "--max-n", "5", "--dtype", "float8_e4m3", "--exhaustive", "81")
    found = rows(hardsim, *narrow, code=1 if fails else 3)["float8_e4m3"]
    assert found["fails_at"] == (5 if fails else None)
    if "sparsemax" in options:
        found = rows(hardsim, *options, "--max-n", "60", "--dtype", "float32")["float32"]
        assert (found["safe_to"], found["safe_by"]) == (60, "structure")
        return
    found = rows(hardsim, *options, "--max-n", "4", "--dtype", "float32", "--exhaustive", "4", code=3)["float32"]
    assert "bounds for all words of a length do not cover" in found["open"]


def test_what_is_neither_safe_nor_wrong_is_undecided(hardsim: Cli) -> None:
    """Networks with counts on both sides are checked word by word; length 3 has eight words."""
    options = FORMULAS / "parity_no_predicate.ltl", "--max-n", "4", "--exhaustive", "4", "--dtype", "float32"
    found = rows(hardsim, *options, code=3)["float32"]
    assert (found["safe_to"], found["fails_at"], found["closed"]) == (2, None, False)
    assert "length 3 has more than 4 words (--exhaustive)" in found["open"]


def test_sums_in_float32(hardsim: Cli, since: Path) -> None:
    outcome = hardsim("precision", since, "--max-n", "20", "--accumulate", "float32")
    outcome.clean(
        "which export --to torch writes, sums in float32", "sums are accumulated in float32 alone, and rounded"
    )
    result = hardsim("precision", since, "--max-n", "20", "--accumulate", "float32", "--json", "-").result
    assert result["accumulate"] == "float32"
    hardsim("precision", since, "--accumulate", "bfloat16").refused("not in 'bfloat16'", "--accumulate float32")


def test_a_format_that_there_is_not(hardsim: Cli, since: Path) -> None:
    hardsim("precision", since, "--dtype", "float23").refused("unknown format 'float23': did you mean float32?")
    hardsim("precision", since, "--dtype", "posit").refused("unknown format 'posit'", "float8_e4m3")
    for other, expected in {"bf16": "bfloat16", "FP16": "float16", "half": "float16", "e4m3": "float8_e4m3"}.items():
        hardsim("precision", since, "--dtype", other).refused(f"did you mean {expected}?")
    hardsim("precision", since, "--dtype", "double").refused("`hardsim check` runs it, with error bounds", "float32")


def test_a_network_that_is_wrong_in_exact_arithmetic_too(hardsim: Cli, since: Path) -> None:
    """Plain softmax gives weights that are fixed parts of 1, so that at two positions an output is between 0 and 1."""
    message = "the exact network is wrong there, too, as `hardsim check` shows"
    hardsim("precision", since, "--regime", "none", "--max-n", "4").exits(0, message)
    found = rows(hardsim, since, "--regime", "none", "--max-n", "4")["float32"]
    assert (found["exactly"], found["fails_at"]) == (True, 2)
    assert not rows(hardsim, since, "--beta", "8", "--max-n", "60")["bfloat16"]["exactly"]


def test_one_length(hardsim: Cli, since: Path) -> None:
    assert {row["safe_to"] for row in rows(hardsim, since, "--max-n", "1").values()} == {1}


def test_one_letter_has_one_word_of_a_length(hardsim: Cli, tmp_path: Path) -> None:
    """With one letter, words of any length can be enclosed one by one, until 2 i is beyond e4m3: 466 at
    position 233.
    """
    file = written(tmp_path / "one.ltl", "alphabet: a\nat: last\naccept: a\nO a\n")
    assert {row["safe_to"] for row in rows(hardsim, file, "--max-n", "40").values()} == {40}
    file = written(tmp_path / "half.ltl", "alphabet: a\n2*#L[a] = 3\n")
    found = rows(hardsim, file, "--max-n", "240", "--exhaustive", "1")
    assert {name: (row["safe_to"], row["fails_at"]) for name, row in found.items()} == dict.fromkeys(
        ARITHS[:3], (240, None)
    ) | {"float8_e4m3": (232, 233)}


def test_propositions(hardsim: Cli, tmp_path: Path) -> None:
    file = written(tmp_path / "props.ltl", "props: p q\nat: last\np S q\n")
    found = rows(hardsim, file, "--max-n", "12")
    assert found["float32"]["safe_to"] == found["float16"]["safe_to"] == 12


def test_several_files_and_a_directory(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "first.ltl", "alphabet: a b\nO (a & Y b)\n")
    document = hardsim("precision", since, other, "--max-n", "6", "--json", "-").exits(0).json
    assert [result["input"] for result in document["results"]] == [str(since), str(other)]
    document = hardsim("precision", tmp_path, "--max-n", "6", "--json", "-").exits(0).json
    assert len(document["results"]) == 2


def test_all_regimes(hardsim: Cli, since: Path) -> None:
    document = hardsim("precision", since, "--regime", "all", "--max-n", "6", "--json", "-").exits(0).json
    regimes = [result["regime"] for result in document["results"]]
    assert regimes == ["temperature", "position", "causal-temperature", "causal-position"]


@pytest.mark.parametrize("name", ["dyck1.srasp", "flipflop.ahat.json", "networks/dyck1_depth3"])
def test_what_is_no_formula_is_taken_word_by_word(hardsim: Cli, name: str) -> None:
    found = rows(hardsim, FORMULAS / name, "--max-n", "2", "--dtype", "float32", code=0 if "net" not in name else 3)
    row = found["float32"]
    assert row["safe_by"] == "words"
    assert row["closed"] is (row["safe_in_order"] == 2)
    assert (row["open"] is None) is (row["safe_to"] == 2)
    assert row["open"] is None or "word" in row["open"]


def test_a_regular_expression_has_no_network(hardsim: Cli) -> None:
    hardsim("precision", FORMULAS / "tomita_4.re").refused("a regular expression only says which words")


def test_long_words_are_printed_in_runs(hardsim: Cli, tmp_path: Path) -> None:
    """In e4m3, 0 times the position encoding n is NaN from n = 465 on."""
    options = ("--regime", "position", "--max-n", "470", "--dtype", "float8_e4m3")
    outcome = hardsim("precision", FORMULAS / "even_length.ltl", *options)
    outcome.exits(1, "float8_e4m3 464 464 465", "wrong at length 465, a^232 b^233")


def test_lengths_beyond_what_words_can_be_counted_to(hardsim: Cli, since: Path) -> None:
    """3^2000, the number of words, is beyond floats."""
    found = rows(hardsim, since, "--max-n", "2000", "--dtype", "float8_e4m3", code=1)
    assert found["float8_e4m3"]["fails_at"] == 5
    assert rows(hardsim, FORMULAS / "parity.ltl", "--max-n", "2000", "--dtype", "float8_e4m3", code=1)


def test_an_interrupt_keeps_the_formats_that_are_done(
    hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, "hardsim.precision.safe_lengths.safe_to", 2)
    outcome = hardsim("precision", since, "--max-n", "12", "--json", "-")
    assert outcome.code == 130
    (result,) = json.loads(outcome.out)["results"]
    assert (result["partial"], [row["arith"] for row in result["rows"]]) == (True, ["float8_e4m3"])
    outcome.says("formats are missing")


def test_an_interrupt_names_the_inputs_that_were_not_run(
    hardsim: Cli, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [written(tmp_path / f"{name}.ltl", SINCE) for name in ("one", "two")]
    interrupt(monkeypatch, "hardsim.precision.safe_lengths.safe_to", 2)
    document = hardsim("precision", since, *others, "--max-n", "12", "--workers", "1", "--json", "-").exits(130).json
    assert [one["input"] for one in document["not_run"]] == list(map(str, others))
    assert document["counts"]["not_run"] == 2


def test_a_long_run_is_spoken_of(hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.cli.estimate.LATE", 0.0)
    hardsim("precision", since, "--max-n", "40").exits(0).says("lengths are checked one by one", "Ctrl-C ends it")


def test_lengths_that_would_take_too_long_are_left_out(
    hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.precision.bounds.WORK", 3_000)
    found = rows(hardsim, since, "--max-n", "110", "--dtype", "float16", code=3)["float16"]
    assert 10 < found["safe_to"] < 100
    assert (found["fails_at"], found["closed"], found["mends"]) == (None, False, [])
    assert "would take too long" in found["open"]


def test_what_holds_for_sums_from_the_left_alone_is_not_called_safe(hardsim: Cli) -> None:
    """e4m3 averages (-1)^i exactly in this order only: in other orders partial sums are rounded."""
    options = FORMULAS / "weak_yesterday.ltl", "--regime", "causal-position", "--max-n", "6", "--dtype", "float8_e4m3"
    found = rows(hardsim, *options, code=3)["float8_e4m3"]
    assert found["safe_to"] < found["safe_in_order"] == 6
    assert (found["fails_at"], found["closed"]) == (None, True)
    assert found["open"].startswith("sums in another order: ")
    hardsim("precision", *options).exits(3, "float8_e4m3: sums in another order: ")


def test_a_larger_beta_mends_a_length(hardsim: Cli, since: Path) -> None:
    """With beta 4 a word of 21 symbols is wrong; with beta 8 the first wrong word has 52, by emulation in another
    test.
    """
    found = rows(hardsim, since, "--max-n", "40", "--dtype", "bfloat16", code=1)["bfloat16"]
    assert found["fails_at"] == 21
    assert "--beta 8" in found["mends"]
    assert rows(hardsim, since, "--max-n", "40", "--dtype", "bfloat16", "--beta", "8")["bfloat16"]["fails_at"] is None


def test_for_a_network_checked_word_by_word_only_the_word_is_reported_as_mended(hardsim: Cli) -> None:
    """A wider format is named only if the wrong word is right in it; without a temperature no format is."""
    file = FORMULAS / "since.ltl"
    for row in rows(hardsim, file, "--regime", "none", "--max-n", "4").values():
        assert row["fails_at"] is not None
        assert row["mends"] == []
    found = rows(hardsim, FORMULAS / "networks" / "flipflop.spec", "--max-n", "2", "--dtype", "float8_e4m3", code=1)
    assert found["float8_e4m3"]["mends"] == ["float16 for that word"]


def test_a_word_that_fails_stands_alone(hardsim: Cli) -> None:
    found = hardsim("precision", "since", "--max-n", "24").clean(
        "float32 24+ 24+ – formula", "bfloat16 20 20 21 formula"
    )
    assert re.search(r"its own:\n[abc]{21}\n", found.out)


def test_accumulating_in_float32_is_no_worse(hardsim: Cli) -> None:
    options = ("--dtype", "bfloat16", "--max-n", "20")
    plain, wide = (rows(hardsim, "bigram", *options, *more) for more in ([], ["--accumulate", "float32"]))
    assert wide["bfloat16"]["safe_to"] >= plain["bfloat16"]["safe_to"]


def test_what_every_regime_refuses_is_an_error(hardsim: Cli) -> None:
    given = ("-e", "F EVEN & #L[a] > #R[b]", "--alphabet", "a b", "--counting", "sign")
    hardsim("precision", *given, "--regime", "all", "--max-n", "2").exits(2).says("error: ")
