"""Bounds over patterns of words with independent histories, compared with every word."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Network
from hardsim.proof.external import prefix_ranges
from hardsim.proof.external.class_ranges import Entries, ranges_of_classes
from hardsim.proof.external.class_search import ClassSearch, _Boxes
from hardsim.proof.external.demands import demands_of
from hardsim.proof.external.first_layer import shortened
from hardsim.proof.external.logits import Basis, LayerRest
from hardsim.proof.external.narrowing import unknown
from hardsim.proof.external.patterns import OPEN
from hardsim.proof.external.scaled_rows import ScaledRows
from hardsim.proof.external.second_layer import KnownRanges
from hardsim.proof.external.two_layers import LayerLimits, TwoLayers
from hardsim.proof.shared.result import NotProved
from hardsim.run.dense_float import DenseFloat
from tests.proof.external.test_prove import margin_of, of_spec
from tests.proof.external.test_two_layers import normed, plain, random_case, streams, words_of

FORMULAS = Path(__file__).parents[3] / "formulas" / "networks"


def searches(network: Network, oracle: Any, n: int) -> list[ClassSearch]:
    """Return the searches of length n by last symbol; none if the network is not of the kind that they are about."""
    demands = demands_of(oracle, network, n)
    if not demands.reached()[n].any():
        return []
    layers = TwoLayers(network, demands, LayerLimits(score=0.02, cells=1))
    classes = layers.tables.classes
    entries = Entries(layers.first, layers.entry, demands, classes, np.arange(layers.coordinates))
    if len(layers.fixed) != 1:
        return []
    (axes,), (hulls,) = ranges_of_classes(entries, 5)
    fixed = replace(layers.fixed[0], known=KnownRanges.of(axes, layers.fixed[0], unknown))
    second = replace(network, layers=network.layers[1:], readout=shortened(network, layers.before).readout)
    width = hulls.values.c.shape[1]
    reach = np.full(width, max(np.abs(one.values.size).sum(axis=1).max(initial=0) for one in (hulls, fixed)))
    try:
        scaled = ScaledRows(LayerRest(second, [Basis(np.eye(width), 0.0)], demands.kinds), reach)
        found = []
        for symbol in range(demands.moves.shape[1]):
            rows = np.flatnonzero((classes.length == n) & (classes.symbol == symbol) & (classes.kind >= 0))
            if len(rows):
                found.append(ClassSearch(entries, rows, hulls, fixed, scaled))
    except NotProved:
        return []
    return found


def checked(network: Network, search: ClassSearch, n: int, rng: np.random.Generator) -> int:
    """Compare the bounds of one class over random patterns with every word, and return the number of pairs."""
    demands, classes = search.entries.demands, search.entries.classes
    kinds = dict(zip(classes.state[search.rows].tolist(), classes.kind[search.rows].tolist(), strict=True))
    pairs = [one for one in words_of(demands, n) if one[0][-1] == search.patterns.symbol and one[1] in kinds]
    every, level = [word for word, _ in pairs], float(network.readout.level)
    free = np.array([word[:-1] for word in every], dtype=np.int64).reshape(len(every), n - 1)
    ids = [network.ids[str(token)] for token in network.readout.before]
    tokens = np.array([[*ids, *(network.ids[str(network.symbols[one])] for one in word)] for word in every])
    truth = streams(network, tokens)[1][0][:, -1]
    mid, rad = DenseFloat(network).run(n, tokens, [tokens.shape[1] - 1])
    patterns = np.where(rng.random((6, n - 1)) < 0.5, search.patterns.root, free[rng.integers(0, len(free), 6)])
    patterns = np.concatenate([search.patterns.root, patterns])
    stream, head = search._queries(search.patterns.cells(patterns))
    directions = np.broadcast_to(rng.normal(size=(5, truth.shape[1])), (len(patterns), 5, truth.shape[1]))
    seen = [search._seen(patterns, head, one) for one in (None, search.prefixes)]
    weights = [one.weights for one in seen]
    spread = [np.where(one.low > 0, one.high / one.low, np.inf)[weights[1].allowed] for one in weights]
    assert (spread[1] <= spread[0] * (1 + 1e-9)).all()
    at = rng.integers(0, len(truth), len(patterns))
    middle = truth[at] @ search.axes.values.T
    low = np.where(rng.random(middle.shape) < 0.5, middle - rng.random(middle.shape), -np.inf)
    high = np.where(np.isfinite(low), middle + 0.1, np.inf)
    boxes = [_Boxes(one, search.axes.values, low, high, search.reach) for one in seen]
    bounds, within = ([one.support(directions) for one in kind] for kind in (seen, boxes))
    margins = [search._mean_margins(one, stream) for one in seen]
    margins += [search._boxed_margins(one, stream, np.full(len(patterns), 12)) for one in seen]
    result, count = search.prove(search.patterns.root), 0
    for place, (_, state) in enumerate(pairs):
        margin = margin_of(demands.kinds[kinds[state]], mid[place, 0], level) + 2 * float(rad.max())
        assert not (result.low > margin).any()
        inside = ((patterns == OPEN) | (patterns == free[place])).all(axis=1)
        along = truth[place] @ search.axes.values.T
        boxed = inside & (~np.isfinite(low) | ((along >= low) & (along <= high))).all(axis=1)
        exact = truth[place] @ directions[0].T - 1e-9
        assert all((one[inside] >= exact).all() for one in bounds)
        assert all((one[boxed] >= exact).all() for one in within)
        assert all(not (one[inside] > max(margin, 0.0)).any() for one in margins)
        count += int(inside.sum())
    return count


@pytest.mark.parametrize("seed", [10, 18])
def test_bounds_over_patterns_hold_for_every_word(seed: int) -> None:
    network, oracle = random_case(seed)
    compared(network, oracle, (1, 3, 5), seed)


def test_bounds_over_patterns_hold_for_every_word_of_a_trained_network() -> None:
    case = of_spec(FORMULAS / "flipflop.spec")
    compared(case.network, case.oracle, (2, 4), 0)


def compared(network: Network, oracle: Any, ns: tuple[int, ...], seed: int) -> None:
    """Compare the bounds of some lengths with every word."""
    rng, count = np.random.default_rng(seed), 0
    with np.errstate(all="ignore"):
        for n in ns:
            for search in searches(network, oracle, n):
                count += checked(network, search, n, rng)
    assert count


def prefixes_contain(network: Network, search: ClassSearch, n: int, rng: np.random.Generator) -> int:
    """Compare the ranges of keys and values over patterns of their prefixes with every word, and return how many are
    narrower than those of all prefixes."""
    states = set(search.entries.classes.state[search.rows].tolist())
    every = [one for one, state in words_of(search.entries.demands, n) if one[-1] == search.patterns.symbol]
    every = [one for one in every if one in {w for w, state in words_of(search.entries.demands, n) if state in states}]
    before = [network.ids[str(token)] for token in network.readout.before]
    tokens = np.array([[*before, *(network.ids[str(network.symbols[one])] for one in word)] for word in every])
    layer = network.layers[1]
    y = normed(layer.norm_1, streams(network, tokens)[0])
    (head,) = layer.heads
    key, value = y @ plain(head.w_k) + plain(head.b_k), y @ plain(head.w_v) + plain(head.b_v)
    free = np.array([word[:-1] for word in every], dtype=np.int64).reshape(len(every), n - 1)
    patterns = np.where(rng.random((8, n - 1)) < 0.5, search.patterns.root, free[rng.integers(0, len(free), 8)])
    known, possible = search.prefixes(patterns, search._allowed(patterns))
    axes, shape, narrower = search.axes, possible.shape, 0
    for part, along, hull in (
        (known.keys, key @ axes.keys.T, search.prefixes.hulls.keys),
        (known.scores, key @ axes.queries.T, search.prefixes.hulls.scores),
        (known.values, value @ axes.values.T, search.prefixes.hulls.values),
    ):
        mid, rad = part.mid.reshape(*shape, -1), part.rad.reshape(*shape, -1)
        assert (rad <= hull.rad * (1 + 1e-9) + 1e-12).all()
        narrower += int((rad < hull.rad / 2).sum())
        for number, pattern in enumerate(patterns):
            inside = ((pattern == OPEN) | (pattern == free)).all(axis=1)
            for k, (place, symbol) in enumerate(zip(search.places.tolist(), search.symbols.tolist(), strict=True)):
                fixed = symbol == OPEN
                some = inside if fixed else inside & (free[:, min(place, n - 2)] == symbol)
                assert possible[number, k] or not some.any()
                at = place - (n - 1) if fixed else len(before) + place
                exact = along[some, at]
                assert (np.abs(exact - mid[number, k]) <= rad[number, k] + 1e-9).all()
    return narrower


@pytest.mark.parametrize("seed", [10, 18])
@pytest.mark.parametrize("most", [0, 50_000])
def test_ranges_over_prefixes_hold_for_every_word(seed: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_ranges, "MOST_KEPT", most)
    network, oracle = random_case(seed)
    rng, narrower = np.random.default_rng(seed), 0
    with np.errstate(all="ignore"):
        for n in (2, 5):
            for search in searches(network, oracle, n):
                narrower += prefixes_contain(network, search, n, rng)
    assert narrower


def test_ranges_over_prefixes_of_a_trained_network_hold_for_every_word() -> None:
    case, narrower = of_spec(FORMULAS / "flipflop.spec"), 0
    with np.errstate(all="ignore"):
        for search in searches(case.network, case.oracle, 5):
            narrower += prefixes_contain(case.network, search, 5, np.random.default_rng(3))
    assert narrower
