"""Tests of the file of a compiled formula (`compile --hard`): no claim in it is trusted, whatever was edited."""

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hardsim.campaign.engines import HardRunner
from hardsim.proving.prove import confirmed
from hardsim.targets.claims import HeadsClaim
from hardsim.targets.stored import store_program
from tests.support.check import (
    CheckOptions,
    CheckResult,
    ModelOptions,
    Subject,
    Verdict,
    check_with_proof,
    prove_attention,
    prove_subject,
    read_input,
)
from tests.support.language import InputError, SourceError, parse_arith
from tests.support.networks import dense_forward
from tests.support.subjects import known, shipped

Edit = Callable[[dict[str, Any]], object]
LONGEST = 4


def head(document: dict[str, Any]) -> dict[str, Any]:
    """Return the head of `a S b`, which reads b at the rightmost position with b or c."""
    found: dict[str, Any] = document["program"]["layers"][0]["heads"][0]
    return found


EDITS: dict[str, Edit] = {
    "another formula": lambda d: d["compiled"].update(text=d["compiled"]["text"].replace("a S b", "b S a")),
    "a formula with one more layer": lambda d: d["compiled"].update(
        text=d["compiled"]["text"].replace("a S b\n", "(a S b) S a\n")
    ),
    "no formula": lambda d: d["compiled"].update(text="alphabet: a b c\naccept: b\na S\n"),
    "a larger gap": lambda d: head(d).update(decay="1/n"),
    "a huge gap": lambda d: head(d).update(decay="1000"),
    "a smaller gap": lambda d: head(d).update(decay="1/(4*n)"),
    "another selection": lambda d: head(d).update(select={"[b]": "1"}),
    "other coefficients": lambda d: head(d).update(coefficients="3"),
    "another score": lambda d: head(d)["score"][0][1].update({"i/n": "1/1000"}),
    "another value": lambda d: head(d)["values"]["S4.read"].update({"[b]": "1/2"}),
    "another mask": lambda d: head(d).update(mask="none"),
    "another side": lambda d: head(d).update(weighting="leftmost"),
    "another clip": lambda d: d["program"]["layers"][0]["units"][0]["pre"].update({"1": "0"}),
    "a flat network": lambda d: d["sharpness"].update(beta="1/2", beta_for_all=True),
    "a warm network": lambda d: d["sharpness"].update(temperature="1"),
}
STILL_COMPILED = ("a flat network", "a warm network")
"""Edits that leave the hard attention that of the formula; only the network is too flat."""


def edited(directory: Path, edit: Edit | None) -> Path:
    document = json.loads(store_program(shipped("since.ltl")))
    document.pop("examples")
    if edit is not None:
        edit(document)
    path = directory / "since.ahat.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def opened(path: Path, options: ModelOptions) -> Subject | None:
    """Return the subject in a file, or None if the file is refused as wrong input."""
    try:
        return read_input(str(path)).compile(options)
    except (InputError, SourceError):
        return None


def require(subject: Subject, result: CheckResult) -> None:
    """Require that a result agrees with the definition of softmax attention on all words up to LONGEST."""
    network, runner = subject.model, HardRunner(subject)
    wrong: list[tuple[str, ...]] = []
    for n in range(1, LONGEST + 1):
        words = list(product("abc", repeat=n))
        for word, hard in zip(words, runner.answers(words), strict=True):
            value = dense_forward(network, word)[network.reading_index(n)][network.output]
            if hard is None or abs(value - int(hard is True)) > 1e-50:
                wrong.append(word)
    if result.mismatch is not None and result.mismatch.word not in wrong:
        # These digits cannot distinguish the output from the right answer, but it differs: no clip rounds it.
        assert result.mismatch.soft is None
        assert result.mismatch.output not in (None, 0, 1)
        return
    if result.violation is not None:
        assert result.violation.measured < result.violation.claimed or "bound" in result.violation.what
    if wrong:
        assert result.verdict in (Verdict.REFUTED, Verdict.UNDECIDED)
    elif result.violation is None:
        assert result.verdict in (Verdict.CERTIFIED, Verdict.UNDECIDED)


def another_way(document: dict[str, Any]) -> None:
    """Change the options of compilation; the program stays the same, since it has one head and no count."""
    document["compiled"].update(single_head=True, counting="sign")


def another_theorem(document: dict[str, Any]) -> None:
    """Change a label, which is replaced by that of the weights."""
    head(document).update(theorem="Theorem 1")


def another_regime(document: dict[str, Any]) -> None:
    """Change a label, which is replaced by that of the weights."""
    document["program"].update(regime="position")


@pytest.mark.parametrize("edit", [None, another_way, another_theorem, another_regime])
def test_a_file_as_it_was_written_is_proved_by_its_construction(edit: Edit | None, tmp_path: Path) -> None:
    subject = read_input(str(edited(tmp_path, edit))).compile(ModelOptions())
    assert isinstance(subject.prover(), HeadsClaim)
    assert check_with_proof(subject, CheckOptions(max_n=LONGEST)).verdict is Verdict.PROVED
    assert confirmed(prove_subject(subject, 20, heads_only=True)).verdict is Verdict.PROVED


@pytest.mark.sweep
@pytest.mark.parametrize("name", EDITS)
def test_an_edited_file_is_believed_nothing(name: str, tmp_path: Path) -> None:
    subject = opened(edited(tmp_path, EDITS[name]), ModelOptions())
    if subject is None:
        return
    assert isinstance(subject.prover(), HeadsClaim) is (name in STILL_COMPILED)
    result = check_with_proof(subject, CheckOptions(max_n=LONGEST))
    assert result.verdict is not Verdict.PROVED
    require(subject, result)
    if isinstance(subject.prover(), HeadsClaim):
        assert prove_subject(subject, LONGEST, heads_only=True).verdict is Verdict.REFUTED
        return
    # `prove` runs every word of such a file, or takes all it needs from the actual weights.
    proof = prove_attention(subject.without_budget(), LONGEST)
    if proof.verdict is Verdict.PROVED:
        assert result.verdict in (Verdict.CERTIFIED, Verdict.REFUTED)
        assert result.mismatch is None
        assert result.violation is None or "bound" in result.violation.what
    assert confirmed(proof).verdict is proof.verdict


def test_a_beta_is_not_lost_beside_an_error(tmp_path: Path) -> None:
    given = read_input(str(edited(tmp_path, None)))
    assert given.compile(ModelOptions(beta=Fraction(1, 100))).one_network
    with pytest.raises(InputError, match="--epsilon selects Theorem 26's temperature, and --beta belongs to"):
        given.compile(ModelOptions(beta=Fraction(1, 100), epsilon=Fraction(1, 8)))


TEMPERATURES = (
    ModelOptions(epsilon=Fraction(1, 8)),
    ModelOptions(tau=parse_arith("1/(100*n)")),
    ModelOptions(tau=parse_arith("1")),
    ModelOptions(beta=Fraction(9)),
    ModelOptions(beta=Fraction(1, 2)),
)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "options"),
    [
        # Each edit has one temperature here, in turns; the others run in `make slow`.
        pytest.param(name, options, marks=() if name is None or number % 5 == turn else pytest.mark.slow)
        for number, name in enumerate([None, *EDITS])
        for turn, options in enumerate(TEMPERATURES)
    ],
)
def test_other_temperatures_of_such_a_file(name: str | None, options: ModelOptions, tmp_path: Path) -> None:
    subject = opened(edited(tmp_path, None if name is None else EDITS[name]), options)
    if subject is None:
        return
    assert (not subject.one_network) is (options.epsilon is not None)
    result = check_with_proof(subject, CheckOptions(max_n=LONGEST))
    if subject.one_network and not isinstance(subject.prover(), HeadsClaim):
        assert result.verdict is not Verdict.PROVED
    if not subject.one_network:
        if result.violation is not None:
            assert result.verdict is Verdict.REFUTED
            assert "the declared gap" in result.violation.what
            return
        # At Theorem 26's temperature every number is within epsilon of that of hard attention; only an output that no
        # clip rounds is neither 0 nor 1.
        assert all(length.error <= length.bound for length in result.lengths)
        if result.mismatch is not None and result.mismatch.refutes:
            assert name in ("another clip", "another value")
            assert result.mismatch.soft is None
            off = abs(known(result.mismatch.output) - int(result.mismatch.hard is True))
            assert 0 < off <= result.lengths[-1].bound
        return
    if result.verdict is not Verdict.PROVED:
        require(subject, result)
    else:
        assert not any(length.mismatches for length in result.lengths)
        assert options not in (ModelOptions(tau=parse_arith("1")), ModelOptions(beta=Fraction(1, 2)))


def test_a_file_is_shown_with_the_labels_of_its_formula(tmp_path: Path) -> None:
    """A purpose that was edited into the file of a compiled formula is not printed: the formula determines the
    label.
    """

    def forged(document: dict[str, Any]) -> None:
        for layer in document["program"]["layers"]:
            for head in layer["heads"]:
                head["purpose"] = "PROVED by hand"
        document["program"]["meanings"] = {"S4": "everything"}

    subject = read_input(str(edited(tmp_path, forged))).compile(ModelOptions())
    assert isinstance(subject.prover(), HeadsClaim)
    assert [head.purpose for head in subject.program.heads] == ["a S b, read at the last position with !a | b"]
    assert "everything" not in subject.program.meanings.values()
