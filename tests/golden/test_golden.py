"""Tests on everything shipped, in every regime: results are as recorded, and a formula's file agrees with the
formula.

The facts are in `facts.json`; after an intended change `python -m tests.golden.record facts` records them again.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.golden.facts import (
    AGREED,
    CASES,
    COMMANDS,
    FORMULAS,
    PROVEN,
    SAMPLE,
    Case,
    Facts,
    applicable,
    command,
    differences,
    given,
    label,
    recorded,
)
from tests.golden.running import require_same

BUILT = [case for case in CASES if "refused" not in recorded()[label(case)]["check"]]
"""The cases that have a construction."""
INTEGERS = ("hist.srasp", "make_count.srasp")
"""The programs that map words to integers."""
SPARSE = ("dyck2_depth2.ahat.json", "trigram_model.ahat.json")
"""Models that state the weighting sparsemax."""
PAIRS = [case for case in BUILT if case[0].endswith(FORMULAS)]
NORMED = ("first_layer_norm.ahat.json", "parity_layer_norm.ahat.json")
"""The models with layer norms, which no proof from the weights covers: every word of a length is run."""


def test_every_case_is_on_file() -> None:
    assert list(recorded()) == [label(case) for case in CASES]
    assert len(PAIRS) >= 209


@pytest.mark.sweep(every=48)
@pytest.mark.parametrize("case", CASES, ids=label)
def test_what_was_found_is_found(case: Case) -> None:
    assert list(recorded()[label(case)]) == applicable(case)
    for name, facts in recorded()[label(case)].items():
        require_same(differences(facts, COMMANDS[name](case), f"{label(case)}/{name}"), "facts")


def test_what_was_found_is_right() -> None:
    """Everything shipped agrees, and is proved for every length where the theory proves it."""
    for case in BUILT:
        facts = recorded()[label(case)]
        proofs = [facts[name] for name in ("prove", "sign") if name in facts and "refused" not in facts[name]]
        if case[1] == "none":
            assert not proofs
            continue
        assert facts["check"]["verdict"] in AGREED
        if case[0] in NORMED:
            assert [(proof["verdict"], proof["word"]) for proof in proofs] == [("PROVED", None)]
            continue
        for proof in proofs:
            assert (proof["verdict"], proof["tried"], proof["word"]) == ("PROVED", 0, None)
            (check_formula if case in PAIRS else check_model)(case, proof)
        assert proofs
        if "bound" in facts:
            gaps = facts["check"]["gap"]
            assert facts["bound"]["verdict"] == "CERTIFIED"
            assert facts["bound"].get("score_gap", [None] * len(gaps)) == gaps
    for name in {name for name, _ in PAIRS}:
        assert any((name, regime) in BUILT for regime in PROVEN)


def check_formula(_: Case, proof: Facts) -> None:
    """Require a proof for every length, with a margin that is no larger than that of the first nine lengths."""
    assert proof["reasons"] == []
    assert proof["reach"].startswith("every word of every length, from the weights: the network accepts exactly what")
    margin, every = (None if proof[key] is None else float(proof[key]) for key in ("margin~", "every~"))
    assert margin is None or margin > 0
    assert every is None or 0 < every <= (margin or every)


def check_model(case: Case, proof: Facts) -> None:
    """Require a proof by structure, which leaves the agreement of hard attention with the program to its construction,
    or a proof by every word.
    """
    name = case[0]
    weighting = "sparsemax" if name in SPARSE else "softmax"
    said = f"every word of length 1 to 3: {weighting} answers as hard attention does"
    structural = "rests on one construction per vector" in proof["reach"]
    assert proof["to"] == 3
    hows = ["structure" if structural else "every word"] if name.endswith(".srasp") else ["structure", "every word"]
    assert proof["how"] in [[how] * 3 for how in hows]
    assert proof["reach"].startswith(said)
    if name.endswith(".srasp"):
        assert structural is not ("hard attention as the program says" in proof["reach"])
        # outputs are 0 or 1, or integers over n
        assert proof["distance"] == (["1/2", "1/4", "1/6"] if name in INTEGERS else ["1/2"] * 3)
        assert all(float(bound) <= 0.25 for bound in proof["bound~"])
    else:
        assert proof["reach"] == said


def require_pair(source: tuple[str, ...], document: Any, path: Path) -> None:
    """Require that the file that `compile --hard` writes has the same verdict, words and numbers in `check` as the
    formula.

    The file is its own specification, so it has no mismatches with another one. It has no examples either: if one of
    the formula's longer examples is the mismatch, the file agrees.
    """
    assert command("compile", "--hard", *source, "-o", path)["exit_code"] == 0
    found = command("check", path, "--max-n", "3", *SAMPLE)
    (formula,), (file,) = document["results"], found["results"]
    words = [result["mismatch"] and result["mismatch"]["word"] for result in (formula, file)]
    if words[0] is not None and len(words[0]) > 3:
        assert (formula["verdict"], words[1]) == ("REFUTED", None)
        assert file["verdict"] in AGREED
    else:
        assert words[0] == words[1]
        assert found["exit_code"] == document["exit_code"]
        for key in ("verdict", "undecided_word", "violation", "partial", "engine"):
            assert file[key] == formula[key], key
    rows = [[row for row in result["lengths"] if row["n"] <= 3] for result in (formula, file)]
    for ours, theirs in zip(*rows, strict=True):
        assert ours["hard_mismatches"] == theirs["hard_mismatches"] == 0
        assert ours == theirs


@pytest.mark.sweep(every=32)
@pytest.mark.parametrize("case", PAIRS, ids=label)
def test_a_formula_and_its_hard_model_agree(case: Case, tmp_path: Path) -> None:
    require_pair(given(case), command("check", *given(case), "--max-n", "3", *SAMPLE), tmp_path / "hard.ahat.json")


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("beta", ["8", "4", "1/2"])
@pytest.mark.parametrize("text", ["a S b", "O (a & Y b)", "#L[a] > #L[b]", "!(a S b)"])
def test_a_formula_and_its_hard_model_agree_at_any_beta(text: str, beta: str, tmp_path: Path) -> None:
    source = ("-e", text, "--alphabet", "a b c", "--beta", beta)
    require_pair(source, command("check", *source, "--max-n", "3", *SAMPLE), tmp_path / "hard.ahat.json")
