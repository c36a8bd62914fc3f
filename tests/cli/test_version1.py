"""Tests that files of version 1 stay readable, with the verdicts of the releases that wrote them."""

from pathlib import Path

import pytest

from hardsim.network.reader import read_json
from hardsim.program.file import AhatFile, read_ahat
from tests.cli.conftest import Cli

FILES = Path(__file__).parents[1] / "version1"
VERDICTS = {
    "since.model.json": "PROVED | every word of length 1 to 3",
    "response_first.model.json": "PROVED | every word of length 1 to 3",
    "counts_sign.model.json": "PROVED | every word of length 1 to 3",
    "odd_lookup.model.json": "PROVED | every word of length 1 to 3",
    "since.ahat.json": "PROVED | every word of length 1 to 3",
    "flipflop_soft.ahat.json": "CERTIFIED | all 155 words up to length 3",
    "ties_soft.ahat.json": "CERTIFIED | all 14 words up to length 3",
    "ab_plus.ahat.json": "PROVED | every word of length 1 to 3",
    "hard_ties.ahat.json": "CERTIFIED | all 14 words up to length 3",
    "dyck1_uniform.ahat.json": "PROVED | every word of length 1 to 3",
    "majority_ties.ahat.json": "PROVED | every word of length 1 to 3",
    "tieless_until_7.ahat.json": "CERTIFIED | all 14 words up to length 3",
    "ties.ahat.json": "PROVED | every word of length 1 to 3",
}

SHIPPED = Path(__file__).parents[2] / "formulas"
SAME = {f"{name}.ahat.json" for name in ("dyck1_uniform", "majority_ties", "tieless_until_7", "ties")}


def test_every_file_has_a_verdict() -> None:
    assert {path.name for path in FILES.iterdir()} == set(VERDICTS)


@pytest.mark.parametrize("name", VERDICTS)
def test_what_was_written_is_read(name: str, hardsim: Cli) -> None:
    hardsim("check", FILES / name, "--max-n", "3", "--workers", "1").clean(*VERDICTS[name].split("| "))
    hardsim("show", FILES / name).clean()


@pytest.mark.parametrize("name", VERDICTS)
def test_what_was_proved_is_proved(name: str, hardsim: Cli) -> None:
    hardsim("prove", FILES / name, "--max-n", "3").clean("PROVED ", "every word of length 1 to 3")


def ahat(path: Path) -> AhatFile:
    return read_ahat(read_json(path.read_bytes(), path.name))


def test_what_is_shipped_in_version_2_is_what_it_was() -> None:
    assert [name for name in SAME if ahat(FILES / name) != ahat(SHIPPED / name)] == []
    assert ahat(FILES / "ties.ahat.json") != ahat(SHIPPED / "majority_ties.ahat.json")
