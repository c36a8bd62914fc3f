"""Words after a proof of a hard-attention model, where lengths between the proved ones are not proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("most", [3, 4])
def test_words_are_of_proved_lengths_alone(hardsim: Any, tmp_path: Path, most: int) -> None:
    document = json.loads(Path("formulas/tieless_until_7.ahat.json").read_text(encoding="utf-8"))
    document["threshold"] = "1/1" + 40 * "0"
    target = tmp_path / "near.ahat.json"
    target.write_text(json.dumps(document), encoding="utf-8")
    outcome = hardsim("prove", target, "--max-n", str(most), "--tau", "[n<3] + 1/1000", "--no-tables")
    assert outcome.code == 3
    assert "UNDECIDED: proved to length 1; not at length 2" in outcome.out
