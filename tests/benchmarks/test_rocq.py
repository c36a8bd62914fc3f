"""Tests of the table of Rocq's times: every formula has an entry, and a theorem that Rocq rejects has no time."""

from pathlib import Path

import pytest

from benchmarks.rocq import (
    LIBRARY,
    PAGE,
    RejectedError,
    RocqTime,
    cases,
    check_library,
    check_theorem,
    render,
)
from hardsim.proving.rocq.coqc import Prover, find_prover
from hardsim.proving.rocq.folder import AXIOMS
from tests.support.model import PROVEN
from tests.support.rocq import needs_rocq

FOUND = PAGE.read(RocqTime)


def prover(folder: Path, *printed: str, code: int = 0) -> Prover:
    """Return a stand-in for Rocq that prints lines and ends with an exit code."""
    script = folder / "stand_in.sh"
    script.write_text("".join(f"echo '{line}'\n" for line in printed) + f"exit {code}\n", encoding="utf-8")
    return Prover(("sh", str(script)), "8.16.1")


def test_every_formula_has_an_entry_in_every_regime() -> None:
    library, *found = FOUND
    assert (library.formula, library.refused) == (LIBRARY, None)
    assert [(one.formula, one.regime) for one in found] == cases()
    assert all((one.seconds is None) == (one.refused is not None) for one in FOUND)
    # Rocq covers every shipped formula: each refusal is the regime's.
    assert all("regime" in one.refused and "--rocq" not in one.refused for one in found if one.refused is not None)


def test_a_theorem_is_accepted_with_the_axioms_of_the_real_numbers_alone(tmp_path: Path) -> None:
    axioms = [f"{name} : P" for name in AXIOMS]
    found = check_theorem(prover(tmp_path, "Axioms:", *axioms), tmp_path, "since", "position")
    assert found.seconds is not None
    assert found.refused is None
    assert "Theorem network_computes_formula" in (tmp_path / "Since.v").read_text(encoding="utf-8")
    for printed in (["Axioms:", *axioms, "other : P"], ["nothing"]):
        with pytest.raises(RejectedError, match=r"Since\.v: rests on"):
            check_theorem(prover(tmp_path, *printed), tmp_path, "since", "position")


def test_a_file_that_rocq_rejects_has_no_time(tmp_path: Path) -> None:
    with pytest.raises(RejectedError, match=r"Definitions\.v"):
        check_library(prover(tmp_path, code=1), tmp_path)


def test_a_formula_that_looks_ahead_has_no_network_in_a_causal_regime(tmp_path: Path) -> None:
    found = check_theorem(prover(tmp_path, code=1), tmp_path, "release", "causal-position")
    assert found.refused is not None
    assert "looks ahead" in found.refused
    assert found.seconds is None


def test_a_table_of_two_rows() -> None:
    found = [RocqTime(LIBRARY, "8.16.1", 14.6)]
    found += [RocqTime("one", regime, 1.26) for regime in PROVEN]
    found += [RocqTime("two", regime, refused="looks ahead") for regime in PROVEN]
    about, _, head, rule, *rows = render(found).splitlines()
    assert about == "Rocq 8.16.1 accepts all 4 theorems, and takes 15 seconds for the library."
    assert head == "|formula|" + "|".join(PROVEN) + "|"
    assert rule.count("--:") == len(PROVEN)
    assert rows == ["|one|1.3|1.3|1.3|1.3|", "|two|–|–|–|–|"]


@needs_rocq
@pytest.mark.slow
def test_rocq_accepts_the_library_and_a_theorem(tmp_path: Path) -> None:
    installed = find_prover()
    assert installed is not None
    for found in (
        check_library(installed, tmp_path),
        check_theorem(installed, tmp_path, "parity_no_predicate", "temperature"),
    ):
        assert found.seconds is not None
        assert found.seconds > 0
