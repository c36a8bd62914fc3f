"""Tests of labels in files of weights: a report repeats a label only if the weights confirm it."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hardsim
from hardsim.targets.labels import SAYS, UNCONFIRMED, regimes_of
from tests.support.check import ModelOptions, compile_formula, read_input
from tests.support.language import parse_arith, parse_text
from tests.support.model import REGIMES

SINCE = "alphabet: a b c\na S b\n"
COUNTS = "alphabet: a b\n#L[a] >= #L[b]\n"
FUTURE = "alphabet: a b\nat: first\nF (a & X b)\n"
STEPS = "alphabet: a b\nY a\n"
Edit = Callable[[dict[str, Any]], None]


def weights(tmp_path: Path, edit: Edit, hard: bool, text: str = SINCE, regime: str = "temperature") -> Path:
    """Return an edited compiled formula, or its edited hard-attention model."""
    source, path = tmp_path / "x.ltl", tmp_path / ("x.ahat.json" if hard else "x.model.json")
    source.write_text(text, encoding="utf-8")
    hardsim.load(source).compile(regime=regime, hard=hard).save(path)
    document = json.loads(path.read_text("utf-8"))
    edit(document)
    path.write_text(json.dumps(document), "utf-8")
    return path


def program_of(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document.get("program") or document["specification"]
    return found


def head_of(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = program_of(document)["layers"][0]["heads"][0]
    return found


def setting(key: str, value: Any, of: Callable[[dict[str, Any]], dict[str, Any]]) -> Edit:
    def edit(document: dict[str, Any]) -> None:
        of(document)[key] = value

    return edit


# ---- the regime ----


@pytest.mark.parametrize("text", [SINCE, COUNTS, STEPS])
@pytest.mark.parametrize("regime", REGIMES)
def test_a_regime_is_known_by_its_weights(text: str, regime: str) -> None:
    """A network compiled for a regime fits no other regime.

    1/n and 1/i^2 are different temperatures, and at temperature 1 the encodings i/n, i and n belong to one regime each.
    Other regimes with --tau 1 become `none`.
    """
    try:
        made = compile_formula(parse_text(text, "x"), ModelOptions(regime=regime))
    except hardsim.errors.Unsupported:
        pytest.skip("this regime has no construction for the formula")
    first, *others = regimes_of(made.program, made.budget.temperature)
    assert first == regime
    assert {*others} <= ({"temperature", "causal-temperature"} if regime == "none" else set())


def test_a_temperature_of_ones_own_leaves_the_regime(tmp_path: Path) -> None:
    tau = parse_arith("1/(3*n)")
    made = compile_formula(parse_text(SINCE, "x"), ModelOptions(tau=tau))
    assert regimes_of(made.program, made.budget.temperature) == ["temperature"]


def test_without_attention_the_regime_decides_nothing() -> None:
    made = compile_formula(parse_text("alphabet: a b\na\n", "x"), ModelOptions(regime="position"))
    assert regimes_of(made.program, made.budget.temperature)[0] == "position"


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("said", [name for name in REGIMES if name != "temperature"])
@pytest.mark.parametrize("text", [SINCE, COUNTS, FUTURE])
def test_a_regime_that_the_weights_contradict_is_not_repeated(tmp_path: Path, hard: bool, said: str, text: str) -> None:
    given = read_input(str(weights(tmp_path, setting("regime", said, program_of), hard, text)))
    made = given.as_read()
    assert (made.regime, made.facts.regime, made.program.regime) == ("temperature",) * 3
    assert given.notes[-1] == f"the file says regime {said}, the weights are those of regime temperature"
    assert made.confirmed


def test_a_regime_that_does_not_exist_is_not_repeated(tmp_path: Path) -> None:
    given = read_input(str(weights(tmp_path, setting("regime", "foo", program_of), hard=True)))
    assert given.notes == ("the file says regime foo, the weights are those of regime temperature",)


def no_regime(document: dict[str, Any]) -> None:
    document["sharpness"]["temperature"] = "1/(n*i)"  # which is a function of n and of i: of no regime


def test_weights_of_no_regime_have_none(tmp_path: Path) -> None:
    given = read_input(str(weights(tmp_path, no_regime, hard=True)))
    made = given.as_read()
    assert (made.regime, made.facts.beta) == (None, Fraction(4))
    assert given.notes == (
        "the file says regime temperature, the weights are those of no regime of hardsim",
        UNCONFIRMED,
    )


# ---- beta ----


@pytest.mark.parametrize("text", [SINCE, FUTURE, COUNTS])
@pytest.mark.parametrize("said", ["8", "1/2"])
def test_beta_is_that_of_the_weights(tmp_path: Path, text: str, said: str) -> None:
    path = weights(tmp_path, setting("beta", said, lambda document: document["options"]), False, text)
    given = read_input(str(path))
    made = given.as_read()
    assert (made.facts.beta, made.specified) == (Fraction(4), True)
    assert given.notes[-1] == f"the file says beta {said}, the weights are those of beta 4"


# ---- purposes, theorems, meanings ----

LABELS = [
    ("purpose", "computes PARITY", "head S4.read is for 'computes PARITY'"),
    ("theorem", "Theorem 99", "head S4.read rests on 'Theorem 99'"),
]


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize(("key", "value", "message"), LABELS)
def test_a_label_of_a_head_is_that_of_its_weights(
    tmp_path: Path, hard: bool, key: str, value: str, message: str
) -> None:
    given = read_input(str(weights(tmp_path, setting(key, value, head_of), hard)))
    made = given.as_read()
    (head,) = made.program.heads
    assert (head.purpose, head.theorem) == ("a S b, read at the last position with !a | b", "Theorem 15a")
    (note,) = given.notes
    assert note.startswith(f"the file says that {message}, the weights are those of '")


@pytest.mark.parametrize("hard", [False, True])
def test_a_meaning_is_that_of_the_weights(tmp_path: Path, hard: bool) -> None:
    def edit(document: dict[str, Any]) -> None:
        program_of(document)["meanings"]["S4"] = "PARITY of a"

    given = read_input(str(weights(tmp_path, edit, hard)))
    assert given.as_read().program.meanings == {"S4": "[a] S [b]"}
    assert given.notes == (
        "the file says that coordinate S4 holds 'PARITY of a', the weights are those of '[a] S [b]'",
    )


def test_many_labels_are_not_all_listed(tmp_path: Path) -> None:
    def edit(document: dict[str, Any]) -> None:
        for layer in program_of(document)["layers"]:
            for head in layer["heads"]:
                head["purpose"] = "PARITY"

    given = read_input(str(weights(tmp_path, edit, False, COUNTS)))
    message = [note for note in given.notes if "PARITY" in note]
    heads = len(given.as_read().program.heads)
    assert len(message) == min(3, heads)
    assert (f"{heads - 3} more labels of the file are not those of its weights" in given.notes) == (heads > 3)


def other_weights(document: dict[str, Any]) -> None:
    head_of(document)["score"][0][1]["i/n"] = "1/3"
    head_of(document)["purpose"] = "computes PARITY"


@pytest.mark.parametrize("hard", [False, True])
def test_labels_of_weights_that_hardsim_does_not_make_are_what_the_file_says(tmp_path: Path, hard: bool) -> None:
    given = read_input(str(weights(tmp_path, other_weights, hard)))
    made = given.as_read()
    assert not made.confirmed
    assert UNCONFIRMED in given.notes
    (head,) = made.program.heads
    assert head.purpose == f"{SAYS}computes PARITY"
    assert head.theorem == f"{SAYS}Theorem 15a"
    assert made.program.meanings == {"S4": f"{SAYS}[a] S [b]"}


def test_one_head_each_is_what_the_weights_have(tmp_path: Path) -> None:
    path = weights(tmp_path, setting("single_head", True, lambda document: document["compiled"]), True, FUTURE)
    made = read_input(str(path)).as_read()
    assert made is not None
    assert made.facts.single_head == all(len(layer.heads) <= 1 for layer in made.program.layers)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("text", [SINCE, COUNTS])
def test_what_nobody_edited_has_no_remark(tmp_path: Path, hard: bool, regime: str, text: str) -> None:
    try:
        path = weights(tmp_path, lambda document: None, hard, text, regime)
    except hardsim.errors.Unsupported:
        pytest.skip("this regime has no construction for the formula")
    given = read_input(str(path))
    assert (given.remarked, given.as_read().confirmed, given.as_read().regime) == ((), True, regime)


def test_a_model_of_a_program_is_read_without_a_remark_and_its_labels_are_what_it_says(tmp_path: Path) -> None:
    """The file does not name its program, so nothing confirms its labels."""
    path = tmp_path / "x.ahat.json"
    hardsim.load("flipflop.srasp").compile(hard=True).save(path)
    given = read_input(str(path))
    assert given.remarked == ()
    labels = [*given.as_read().program.meanings.values(), *(head.purpose for head in given.as_read().program.heads)]
    assert any(labels)
    assert all(label.startswith(SAYS) for label in labels if label)
