"""Files of version 1 stay readable: what earlier releases wrote is judged as it was judged then."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli

FILES = Path(__file__).parents[1] / "version1"
VERDICTS = {
    "since.model.json": "PROVED: every word of length 1 to 3",
    "response_first.model.json": "PROVED: every word of length 1 to 3",
    "counts_sign.model.json": "PROVED: every word of length 1 to 3",
    "odd_lookup.model.json": "PROVED: every word of length 1 to 3",
    "since.ahat.json": "CERTIFIED: 39 words",
    "flipflop_soft.ahat.json": "CERTIFIED: 155 words",
    "ties_soft.ahat.json": "CERTIFIED: 14 words",
    "ab_plus.ahat.json": "CERTIFIED: 14 words",
    "hard_ties.ahat.json": "CERTIFIED: 14 words",
}


def test_every_file_has_a_verdict() -> None:
    assert {path.name for path in FILES.iterdir()} == set(VERDICTS)


@pytest.mark.parametrize("name", VERDICTS)
def test_what_was_written_is_read(name: str, hardsim: Cli) -> None:
    done = hardsim("check", FILES / name, "--max-n", "3", "--workers", "1")
    assert (done.code, done.err) == (0, "")
    assert f"\n{VERDICTS[name]}" in done.out
    shown = hardsim("show", FILES / name)
    assert (shown.code, shown.err) == (0, "")


@pytest.mark.parametrize("name", VERDICTS)
def test_what_was_proved_is_proved(name: str, hardsim: Cli) -> None:
    done = hardsim("prove", FILES / name, "--max-n", "3")
    assert (done.code, done.err) == (0, "")
    assert "\nPROVED: every word of length 1 to 3" in done.out
