"""Tests of the network that was trained on counterexamples, and of the script that trains it."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from formulas.networks import repair
from formulas.networks.passes import Weights
from formulas.networks.train import DEPTH_3, PLANS
from hardsim.examples import NETWORKS
from hardsim.proof.external.prove import prove_external
from hardsim.run.dense_float import DenseFloat
from tests.support.check import ModelOptions, read_input
from tests.support.language import formulas_directory

FOLDER = formulas_directory() / NETWORKS
PLAN = PLANS[repair.BROKEN]


def weights(name: str) -> Weights:
    loaded = load_file(FOLDER / name / "model.safetensors")
    return {key: tensor.astype(np.float64) for key, tensor in loaded.items()}


def external(name: str) -> Any:
    return read_input(str(FOLDER / f"{name}.spec")).target(ModelOptions())


def test_it_is_right_on_every_word_that_fits_its_table() -> None:
    """Brackets to depth 3 are walks along a path of four states, which are counted here; all prefixes are judged."""
    found = external(repair.REPAIRED)
    proof = prove_external(found.network, found.oracle)
    assert (proof.longest, proof.proved, proof.wrong, proof.opened) == (127, 127, None, ())
    counts, words = np.array([1, 0, 0, 0], dtype=object), 0
    for _ in range(128):
        words += sum(counts)
        counts = np.array([counts[1], counts[0] + counts[2], counts[1] + counts[3], counts[2]], dtype=object)
    assert proof.prefixes == words
    assert f"all {float(words):.2e} ".replace("e+", "e") in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_command_line_proves_it(hardsim: Any) -> None:
    hardsim("prove", f"{NETWORKS}/{repair.REPAIRED}", "--no-tables").clean("PROVED", "at most 127 symbols")


def test_the_words_that_led_to_it_are_right() -> None:
    """The words on which the network before is wrong, after every prefix."""
    before, after = repair.Search(DEPTH_3, PLAN.rows)(weights(repair.BROKEN)), repair.Passes(weights(repair.REPAIRED))
    wrong = before.read[before.margins < 0]
    assert len(wrong) > 0
    outputs, _ = after.outputs(wrong)
    signs = DEPTH_3.expected(wrong)
    inside = np.arange(PLAN.rows) <= before.lengths[before.margins < 0][:, None]
    assert ((outputs * signs).min(axis=2)[inside] > 0).all()


def test_outputs_are_those_of_the_network() -> None:
    network = external(repair.BROKEN).network
    read = DEPTH_3.draw(np.random.default_rng(1), 3, 30)
    outputs, _ = repair.Passes(weights(repair.BROKEN)).outputs(read)
    found, _ = DenseFloat(network).run(29, read, range(30))
    np.testing.assert_allclose(outputs, found, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", sorted(weights(repair.BROKEN)))
def test_gradients_are_differences(name: str) -> None:
    """Along a random direction of each parameter."""
    rng, start = np.random.default_rng(1), weights(repair.BROKEN)
    read, factors = DEPTH_3.draw(rng, 3, 20), rng.normal(size=(3, 20, 6))
    passes = repair.Passes(start)
    passes.outputs(read)[1](factors)
    direction, step = rng.normal(size=start[name].shape), 1e-6
    values = [
        float((repair.Passes(start | {name: start[name] + side * direction}).outputs(read)[0] * factors).sum())
        for side in (step, -step)
    ]
    expected = (values[0] - values[1]) / (2 * step)
    assert float((passes.gradient[name] * direction).sum()) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_the_search_finds_the_worst_of_all_short_prefixes() -> None:
    """Compared with every prefix of 9 symbols: what is found is one, with its margin, and about the least of its
    length."""
    rows, start = 10, weights(repair.BROKEN)
    found = repair.Search(DEPTH_3, rows)(start)
    words = np.array([[2, *word] for word in product((0, 1), repeat=rows - 1)])
    depth = np.cumsum(np.where(words[:, 1:] == 0, 1, -1), axis=1)
    words = words[((depth >= 0) & (depth <= 3)).all(axis=1)]
    margins = (repair.Passes(start).outputs(words)[0] * DEPTH_3.expected(words)).min(axis=2)
    for row, length, margin in zip(found.read, found.lengths, found.margins, strict=True):
        same = (words[:, : length + 1] == row[: length + 1]).all(axis=1)
        assert margin == pytest.approx(margins[same, length][0], abs=1e-9)
    for length in range(1, rows):
        assert found.margins[found.lengths == length].min() == pytest.approx(margins[:, length].min(), abs=1e-9)


def test_words_continue_prefixes() -> None:
    search = repair.Search(DEPTH_3, 20)
    found = search(weights(repair.BROKEN))
    read = search.continued(found.read, found.lengths, np.random.default_rng(1))
    inside = np.arange(20) <= found.lengths[:, None]
    assert (read[inside] == found.read[inside]).all()
    depth = np.cumsum(np.where(read[:, 1:] == 0, 1, -1), axis=1)
    assert ((depth >= 0) & (depth <= 3)).all()


def test_without_training_the_proof_is_that_of_the_first_weights(capsys: pytest.CaptureFixture[str]) -> None:
    start = weights(repair.BROKEN)
    after, proof = repair.repair(PLAN, start, 0)
    assert all((after[name] == start[name]).all() for name in start)
    assert (proof.proved, proof.wrong is not None and len(proof.wrong.word)) == (50, 51)
    assert "wrong prefixes, the shortest of 51 symbols" in capsys.readouterr().out


@pytest.mark.slow
def test_the_shortest_wrong_word_of_a_proof_is_trained_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A proof is asked for at once, and its word is in the first rows of the next batch."""
    monkeypatch.setattr(repair, "GOAL", -np.inf)
    monkeypatch.setattr(repair, "STEPS", 1)
    monkeypatch.setattr(repair, "FOUND", repair.HARDEST)
    batches = []

    def recorded(task: Any, passes: repair.Passes, read: Any) -> Any:
        batches.append(read)
        return trained_on(task, passes, read)

    trained_on = repair.trained_on
    monkeypatch.setattr(repair, "trained_on", recorded)
    repair.repair(PLAN, weights(repair.BROKEN), 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "proved to 50 of 127"
    assert lines[0].startswith("round 0: ")
    assert lines[2].startswith("round 1: ")
    found = external(repair.BROKEN)
    wrong = prove_external(found.network, found.oracle).wrong
    assert wrong is not None
    word = [2, *map(DEPTH_3.symbols.index, wrong.word)]
    (read,) = batches
    assert (read[: repair.HARDEST, : len(word)] == word).all()


def test_a_step_follows_the_gradient() -> None:
    """The first step of Adam has the length of the rate in each coordinate, against the sign of the gradient."""
    adam = repair.Adam({"x": np.array([1.0, -2.0])})
    adam.step({"x": np.array([0.5, -0.25])}, 0.1)
    np.testing.assert_allclose(adam.weights["x"], [0.9, -1.9], rtol=0, atol=1e-6)


@pytest.mark.slow
def test_the_script_repairs_it() -> None:
    _, proof = repair.repair(PLAN, weights(repair.BROKEN))
    assert proof.proved == proof.longest == 127
