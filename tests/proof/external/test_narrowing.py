"""Tests of the ranges of linear parts over cells, and of enclosures that use them, against every word."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from formulas.networks.stacks import TRAININGS, write
from hardsim.network.dense import Norm
from hardsim.proof.external import first_layer
from hardsim.proof.external.affine import AffineForm, NormForm
from hardsim.proof.external.demands import demands_of
from hardsim.proof.external.first_layer import BoxCells, CellRanges, FirstLayer, MoveFrames, moves_of
from hardsim.proof.external.narrowing import NarrowedSteps, mean_square_of, narrowed, unknown
from hardsim.proof.external.second_layer import greatest_values, scores_of
from hardsim.proof.external.supports import Paths
from hardsim.proof.external.two_layers import LayerLimits, TwoLayers, prove_layers
from tests.proof.external.test_prove import of_spec
from tests.proof.external.test_two_layers import random_case

LONGEST = 5


def ranges_of(seed: int) -> tuple[FirstLayer, CellRanges, Any]:
    """Return the first layer of a random network with the ranges over its classes, and its demands."""
    network, oracle = random_case(seed)
    demands = demands_of(oracle, network, LONGEST)
    first = FirstLayer(network, LONGEST, len(network.readout.before))
    classes = moves_of(demands, demands.reached())
    ranges = CellRanges(first, classes, Paths(demands), MoveFrames(first, demands).of(classes))
    return first, ranges, demands


def words_of(demands: Any, length: int, state: int, symbol: int) -> Any:
    """Return the words of a class, (words, length)."""
    found = []
    for word in product(range(demands.moves.shape[1]), repeat=length - 1):
        here = 0
        for one in word:
            here = int(demands.moves[here, one]) if here >= 0 else here
        if here == state:
            found.append((*word, symbol))
    return np.array(found)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_ranges_over_cells_are_those_of_every_word(seed: int) -> None:
    """In a whole class of one head they are exact; in a cell they bound the words there; boxes contain all words."""
    first, ranges, demands = ranges_of(seed)
    rng, classes, frames = np.random.default_rng(seed), ranges.classes, ranges.frames
    inside = 0
    for row in np.flatnonzero(classes.length >= 3)[:6].tolist():
        words = words_of(demands, *(int(one[row]) for one in (classes.length, classes.state, classes.symbol)))
        s = first.sampled(words)[:, -1] @ frames.axes[row].T
        box = ranges.boxes.at(np.array([row]))
        z = (s - box.middles) / box.radii
        assert (np.abs(z) <= 1 + 1e-9).all()
        slopes = rng.normal(size=(1, len(first.reach), 4))
        low, high = ranges.bounds(box, slopes)
        values = z @ slopes[0]
        assert (values >= low - 1e-9).all()
        assert (values <= high + 1e-9).all()
        if len(first.bases) == 1:
            slack = 1e-7 * (np.abs(slopes[0]) * (frames.reach[row] / box.radii[0])[:, None]).sum(axis=0)
            assert (values.max(axis=0) >= high[0] - slack).all()
        cells = box.halves(np.array([0])).halves(np.array([0, 1]))
        least, most = ranges.bounds(cells, np.repeat(slopes, 4, axis=0))
        for cell in range(4):
            part = (s - cells.middles[cell]) / cells.radii[cell]
            here = (np.abs(part) <= 1).all(axis=1)
            inside += int(here.sum())
            assert (part[here] @ slopes[0] >= least[cell] - 1e-9).all()
            assert (part[here] @ slopes[0] <= most[cell] + 1e-9).all()

    assert inside


def test_a_range_that_is_too_narrow_is_noticed() -> None:
    """The comparison with every word fails for ranges that are reduced by a hundredth."""
    first, ranges, demands = ranges_of(0)
    classes = ranges.classes
    row = int(np.flatnonzero(classes.length == LONGEST)[0])
    words = words_of(demands, LONGEST, int(classes.state[row]), int(classes.symbol[row]))
    box = ranges.boxes.at(np.array([row]))
    z = (first.sampled(words)[:, -1] @ ranges.frames.axes[row].T - box.middles) / box.radii
    slopes = np.ones((1, len(first.reach), 1))
    low, high = ranges.bounds(box, slopes)
    assert (z @ slopes[0]).max() > high[0, 0] - 0.01 * (high - low)[0, 0]


def random_form(rng: np.random.Generator, d: int) -> AffineForm:
    """Return some random enclosures."""
    return AffineForm(rng.normal(size=(3, d)), 0.1 * rng.normal(size=(3, 4, d)), 0.01 * rng.random((3, d)))


@pytest.mark.parametrize("seed", range(3))
def test_steps_with_ranges_contain_every_vector(seed: int) -> None:
    """With an oracle about a subset of the box (a ball), the images of its vectors are enclosed, and the enclosure of
    the mean square is inside that without an oracle."""
    network, oracle = random_case(seed)
    layers = TwoLayers(network, demands_of(oracle, network, 3), LayerLimits())
    steps, rng = NarrowedSteps(layers.first.rest.steps), np.random.default_rng(seed)

    def ball(slopes: Any) -> Any:
        size = np.sqrt((slopes[:, :4] ** 2).sum(axis=1)) + np.abs(slopes[:, 4:]).sum(axis=1)
        return -size, size

    x = random_form(rng, network.dimension)
    found, wide = steps(x, ball), steps(x, unknown)
    assert (narrowed(x, ball).radius <= narrowed(x, unknown).radius + 1e-12).all()
    z = rng.normal(size=(500, 4))
    z /= np.maximum(np.sqrt((z * z).sum(axis=1, keepdims=True)), 1)
    for number in range(3):
        at = np.full(len(z), number)
        points = AffineForm(
            x.c[at] + z @ x.slopes[number] + x.e[at] * rng.uniform(-1, 1, (len(z), network.dimension)),
            np.zeros((len(z), 0, network.dimension)),
            np.zeros((len(z), network.dimension)),
        )
        true = steps(points, unknown).c
        for form in (found, wide):
            rest = np.abs(form.slopes[number, 4:]).sum(axis=0) + form.e[number] + 1e-9
            assert (np.abs(true - form.c[number] - z @ form.slopes[number, :4]) <= rest).all()
    norm = layers.entry.norm
    if norm is not None:
        near, far = mean_square_of(norm, x, ball), mean_square_of(norm, x, unknown)
        assert (near.low >= far.low - 1e-12).all()
        assert (near.high <= far.high + 1e-12).all()


@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_a_mean_square_is_bounded_by_the_part_along_the_middle(kind: Literal["rms", "layer"]) -> None:
    """The vectors are m + t (u - share m) for t in [-1, 1], with u orthogonal to m, so their part along m is at least
    1 - share, and the least mean square is at most that of m + u - share m. Linear bounds and those by coordinate are 0
    here: 1 - 2 share is negative, and each coordinate may be 0."""
    rng, d, share = np.random.default_rng(3), 8, 0.8
    norm = NormForm(Norm(kind, Fraction(0)), d)

    def segment(slopes: Any) -> Any:
        along = np.abs(slopes[:, 0]) + np.abs(slopes[:, 1:]).sum(axis=1)
        return -along, along

    for _ in range(50):
        m, u = rng.normal(size=(2, d))
        m, u = m - m.mean(), u - u.mean()
        u = 3 * (u - m * (u @ m) / (m @ m))
        e = np.full((1, d), 1e-3) * rng.uniform(size=(1, d))
        found = mean_square_of(norm, AffineForm(m[None], (u - share * m)[None, None], e), segment)
        least = (1 - share) ** 2 * (m @ m) / d
        assert 0.9 * least - 0.01 < found.low[0]
        t = np.linspace(-1, 1, 201)[:, None]
        y = m + t * (u - share * m) + e * rng.choice([-1, 1], (201, d))
        y = y - y.mean(axis=1, keepdims=True) if kind == "layer" else y
        true = (y * y).mean(axis=1)
        assert found.low[0] <= true.min()
        assert found.high[0] >= true.max()


@pytest.mark.parametrize("seed", [0, 3])
def test_bounds_along_axes_are_nested(seed: int) -> None:
    """With the ranges along axes, scores and values have bounds inside those without."""
    network, oracle = random_case(seed)
    layers = TwoLayers(network, demands_of(oracle, network, 4), LayerLimits(cells=2), True)
    positions = layers.positions(layers.tables.demands)
    _, heads = layers.enclosed(positions, positions.boxes)
    for forms in heads:
        plain = replace(forms, known=None)
        centre = forms.keys.c.mean(axis=0)
        near, far = scores_of(forms, forms, centre), scores_of(plain, plain, centre)
        assert (near.low >= far.low).all()
        assert (near.high <= far.high).all()
        directions = np.random.default_rng(seed).normal(size=(3, forms.values.c.shape[1]))
        assert (greatest_values(forms, directions) <= greatest_values(plain, directions)).all()


def test_samples_are_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    network, oracle = random_case(2)
    demands = demands_of(oracle, network, 5)
    first = FirstLayer(network, 5, len(network.readout.before))
    words = np.maximum(first_layer.random_words(demands, 40)[0], 0)
    whole = first.sampled(words)
    assert whole.shape[:2] == (40, 5)
    monkeypatch.setattr(first_layer, "TOGETHER", 100)
    np.testing.assert_allclose(first.sampled(words), whole, rtol=1e-12, atol=1e-12)
    assert first.sampled(words[:0]).shape == (0, 5, whole.shape[2])


def test_cells_overlap() -> None:
    """The halves of a cell contain it."""
    cells = BoxCells(np.zeros(1, dtype=np.int64), np.array([[1.0, 2.0]]), np.array([[0.3, 0.1]]))
    parts = cells.halves(np.array([0]))
    assert parts.middles[0, 0] - parts.radii[0, 0] <= 0.7
    assert parts.middles[1, 0] - parts.radii[1, 0] <= parts.middles[0, 0] + parts.radii[0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAININGS)
def test_trained_networks_with_several_heads_are_proved(name: str, tmp_path: Path) -> None:
    external = of_spec(write(name, tmp_path))
    proof = prove_layers(external.network, external.oracle)
    assert proof.proved == proof.longest == 64
