"""Tests of the shipped trained networks: they are right, small, and what the script beside them trains."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from formulas.networks.repair import BROKEN, REPAIRED
from formulas.networks.train import PLANS, SPECIAL, Plan, initial
from hardsim.examples import NETWORKS
from tests.support.check import ModelOptions, read_input
from tests.support.language import formulas_directory

FOLDER = formulas_directory() / NETWORKS
WRONG = {
    "dyck1_depth3": "abaaabbbaabbaabaabbabbaaabbbaabbabaaabbaabbbaababba",
    "flipflop": "w0w0i0i0w0i0w0i0w0i0w0w0w0w0w0w0w1w1w1w0i1i1i1i1i0r",
    "majority": "011101010001001100001001111011110001100100111",
}
"""A word on which each network is wrong; a shortest one of the networks of one layer."""
NAMES = *PLANS, REPAIRED
EACH = pytest.mark.parametrize("name", PLANS)
LARGEST = 100_000
"""Limit of the bytes of weights, configurations and specifications."""


def test_they_are_right_on_short_words(hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = hardsim("check", *(f"{NETWORKS}/{name}" for name in NAMES), "--max-n", "6", "--json", "-").clean().json
    assert [one["verdict"] for one in found["results"]] == ["PROVED"] * len(NAMES)
    # Brackets to depth 3 are walks along a path of four states, 1 1 2 3 5 8 13 of them. A flip-flop starts with w and
    # 2 bits; then there are 3 instructions, and 2 + 2 + 1 pairs with a bit. A majority: 2^n words without the ties.
    assert {one["input"]: one["words"] for one in found["results"]} == {
        f"{NETWORKS}/dyck1_depth3": 1 + 1 + 2 + 3 + 5 + 8 + 13,
        f"{NETWORKS}/dyck1_depth3_repaired": 1 + 1 + 2 + 3 + 5 + 8 + 13,
        f"{NETWORKS}/flipflop": 1 + 1 + 2 + 2 * 3 + 2 * 5 + 2 * 5 * 3 + 2 * 5 * 5,
        f"{NETWORKS}/majority": 2 + (4 - 2) + 8 + (16 - 6) + 32 + (64 - 20),
    }


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [("dyck1_depth3", "{b}", "{a b}"), ("flipflop", "{0 1}", "{0}"), ("majority", "0", "1")],
)
def test_the_wrong_words_on_the_page_are_wrong(hardsim: Any, name: str, answer: str, expected: str) -> None:
    """The first word ends at depth 1; in the second, 0 was written last before the end; the third has 23 ones of 45."""
    word, page = WRONG[name], (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"// {word}\n" in (FOLDER / f"{name}.spec").read_text(encoding="utf-8")
    assert f"\n{word}\n" in page
    (found,) = hardsim("eval", f"{NETWORKS}/{name}", word, "--json", "-").exits(1).result["words"]
    assert (found["places"][-1]["answer"], found["places"][-1]["expected"]) == (answer, expected)


def test_they_are_small_and_whole() -> None:
    parts = "{}.spec", "{}/config.json", "{}/model.safetensors"
    files = [FOLDER / part.format(name) for name in NAMES for part in parts]
    assert {*FOLDER.rglob("*.spec"), *FOLDER.rglob("*.json"), *FOLDER.rglob("*.safetensors")} == set(files)
    assert sum(path.stat().st_size for path in files) < LARGEST


@pytest.mark.parametrize("name", NAMES)
def test_they_are_what_the_script_trains(name: str) -> None:
    plan, folder = PLANS[BROKEN if name == REPAIRED else name], FOLDER / name
    assert json.loads((folder / "config.json").read_text(encoding="utf-8")) == plan.config()
    shapes = {key: tensor.shape for key, tensor in load_file(folder / "model.safetensors").items()}
    assert shapes == {key: tensor.shape for key, tensor in initial(plan).items()}


def text_of(plan: Plan, read: Any, signs: Any) -> Any:
    """Return the expected outputs that the signs encode, in the form that a specification gives."""
    names = np.array([*plan.task.symbols, *SPECIAL])
    if plan.task.together:
        (place,) = np.nonzero(signs.any(axis=1))[0]
        assert names[read[place]] == "<sep>"
        return names[signs[place] > 0].item()
    return [set(names[row > 0]) for row in signs]


def last(raw: Any) -> Any:
    """Return the expected outputs at the end of a word."""
    return raw[-1] if isinstance(raw, list) else raw


@EACH
def test_they_are_trained_on_what_is_specified(name: str) -> None:
    plan, n = PLANS[name], 4
    external = read_input(str(FOLDER / f"{name}.spec")).network(ModelOptions())
    assert external.oracle is not None
    read = plan.task.draw(np.random.default_rng(1), 1000, external.network.readout.length(n))
    symbols, drawn = np.array([*plan.task.symbols, *SPECIAL]), set()
    for row, signs in zip(read, plan.task.expected(read), strict=True):
        word = tuple(symbol for symbol in symbols[row].tolist() if symbol in plan.task.symbols)
        assert external.oracle(word) == text_of(plan, row, signs)
        drawn.add(word)
    judged = [word for word in product(plan.task.symbols, repeat=n) if last(external.oracle(word)) is not None]
    assert {word for word in drawn if len(word) == n} == set(judged)  # every word with an expected answer is drawn
