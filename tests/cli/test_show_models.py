"""`show` and `examples` on hard-attention models and programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hardsim.examples import formulas_directory
from tests.attention_models import HEAD, some_a, with_head, write


def test_show_of_a_model(hardsim: Any, tmp_path: Path) -> None:
    document = with_head(some_a(encodings=[{"coordinate": "1", "value": "(i + n)/(2*n)"}]), gap="1/n", mask="past")
    path = write(tmp_path, document)
    outcome = hardsim("show", path)
    assert (outcome.code, outcome.err) == (0, "")
    for said in (
        "1 = (i+n)/(2*n)", f"head {HEAD}: j >= i, average, declared gap 1/n", "(1)_i (a)_j", "found += a",
        "accepts where found is above 3/4 at the last position",
    ):  # fmt: skip
        assert said in outcome.out
    (result,) = hardsim("show", path, "--json", "-").json["results"]
    (head,) = result["network"]["layers"][0]["heads"]
    assert (head["mask"], head["weighting"], head["gap"]) == ("past", "average", "1/n")
    assert head["w_v"] == {"shape": [3, 3], "entries": [[2, 1, "1"]]}
    assert result["reads"] == "accepts where found is above 3/4 at the last position"


@pytest.mark.parametrize(
    "name", ["no_repeats.ahat.json", "dyck1_uniform.ahat.json", "dyck2.srasp", "marked_square.srasp"]
)
def test_show_of_what_is_shipped(hardsim: Any, name: str) -> None:
    path = formulas_directory() / name
    outcome = hardsim("show", path)
    assert outcome.code == 0
    (result,) = hardsim("show", path, "--json", "-").json["results"]
    assert all(head["name"] in outcome.out for layer in result["network"]["layers"] for head in layer["heads"])
    assert all(f"warning      {warning}" in outcome.out for warning in result["warnings"])


def test_examples_lists_and_prints_models_and_programs(hardsim: Any) -> None:
    listed = [result["name"] for result in hardsim("examples", "--json", "-").json["results"]]
    assert {"flipflop", "flipflop.srasp", "flipflop.ahat.json"} <= set(listed)
    for name, file in (("ties", "ties.ahat.json"), ("sort", "sort.srasp"), ("flipflop.srasp", "flipflop.srasp")):
        text = (formulas_directory() / file).read_text(encoding="utf-8")
        assert hardsim("examples", name).out == text
        assert hardsim("examples", name, "--json", "-").json["results"][0]["text"] == text
