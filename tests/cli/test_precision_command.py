"""Tests of the output of `hardsim precision`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest


def test_every_format_has_a_row_and_a_word_stands_alone(hardsim: Any) -> None:
    found = hardsim("precision", "since", "--max-n", "24")
    found.clean("since, regime temperature", "float32 24+ 24+ – formula", "bfloat16 20 20 21 formula", "assuming")
    assert re.search(r"its own:\n[abc]{21}\n", found.out)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--dtype", "bfloat16", "--max-n", "20"], 0),
        (["--dtype", "bfloat16", "--max-n", "21"], 1),
        (["--dtype", "float32", "--max-n", "4096"], 0),
        (["--dtype", "float8_e4m3", "--max-n", "4"], 3),
        (["--max-n", "21"], 0),
    ],
)
def test_a_single_format_is_a_verdict(hardsim: Any, options: list[str], code: int) -> None:
    hardsim("precision", "since", *options).clean(code=code)


def test_the_document(hardsim: Any) -> None:
    result = hardsim("precision", "since", "--max-n", "21", "--dtype", "bfloat16", "--json", "-").result
    (row,) = result["rows"]
    assert (row["safe_to"], row["fails_at"], row["closed"], row["layer"], row["head"]) == (20, 21, True, 1, "S4.read")
    assert (len(row["word"]), row["found"]) == (21, "no answer")
    assert result["accumulate"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["since", "--dtype", "bf16"], "unknown format 'bf16': did you mean bfloat16?"),
        (["since", "--accumulate", "bfloat16"], "sums are accumulated in float32 or in the format"),
        (["tomita_4.re"], "a regular expression is an oracle alone"),
        (["nothing.ltl"], "no such file"),
    ],
)
def test_what_is_refused(hardsim: Any, options: list[str], said: str) -> None:
    hardsim("precision", *options).refused(said)


def test_several_inputs_and_an_expression(hardsim: Any) -> None:
    hardsim("precision", "first", "nothing.ltl", "--max-n", "4").exits(2, "first, regime temperature")
    hardsim("precision", "-e", "a S b", "--alphabet", "a b", "--max-n", "3", "--dtype", "float16").clean()
    hardsim("precision", "-e", "F p", "--props", "p q", "--at", "first", "--max-n", "3", "--dtype", "float16").clean()


def test_programs_models_and_networks(hardsim: Any) -> None:
    hardsim("precision", "ab_plus.srasp", "--max-n", "4", "--dtype", "float32").clean("float32 4+")
    hardsim("precision", "flipflop.ahat.json", "--max-n", "3", "--dtype", "float16").clean("float16 3+")
    found = hardsim("precision", str(Path("formulas", "networks", "majority.spec")), "--max-n", "2", "--json", "-")
    rows = {row["arith"]: row for row in json.loads(found.out)["results"][0]["rows"]}
    assert list(rows) == ["float32", "bfloat16", "float16", "float8_e4m3"]


def test_accumulating_in_float32_is_no_worse(hardsim: Any) -> None:
    plain, wide = (
        hardsim("precision", "bigram", "--dtype", "bfloat16", "--max-n", "40", *more, "--json", "-").result["rows"][0]
        for more in ([], ["--accumulate", "float32"])
    )
    assert wide["safe_to"] >= plain["safe_to"]
