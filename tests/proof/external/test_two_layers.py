"""Proofs of two-layer networks, compared with every word of small lengths."""

from dataclasses import fields, replace
from fractions import Fraction
from itertools import product
from math import erf, pi, sqrt
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Activation, Network, NetworkLayer, Readout
from hardsim.proof.external import two_layers
from hardsim.proof.external.demands import NOWHERE, PrefixDemands, demands_of
from hardsim.proof.external.prove import ExternalProof
from hardsim.proof.external.result import EVERY_WORD, STRUCTURE, LayerSplits, PrefixProof, WordsPart
from hardsim.proof.external.two_layers import (
    CellTables,
    LayerLimits,
    LayerProver,
    TwoLayers,
    demands_of_part,
    prove_layers,
)
from hardsim.proof.shared.result import NotProved
from tests.proof.external.test_prove import SHARED, SYMBOLS, of_spec, oracle_of, truth_of
from tests.proof.external.test_sweep import expression
from tests.support.dense_networks import made

TRUTHS = ("Y t1", "t0 S t1", "H (t0 -> Y t1)", "MOD(3, 1, #L[t0])", "O (t0 & Y t0)", "t0")
ONE = LayerLimits(few=1, more=False)
"""Only the empty prefix is run."""


def network_of(seed: int, outputs: int = 4, layers: int = 2, **shape: Any) -> Network:
    """Return a random causal network over t0 and t1; t2 stands before words where `before` is given."""
    before = ("t2",) if shape.pop("before", True) else ()
    found = made(seed=seed, layers=layers, rows=16, vocabulary=4, outputs=outputs, **shape)
    readout = Readout(before=before, at="each", alphabet=SYMBOLS)
    return replace(found, readout=readout, outputs=("t0", "t1", "<eos>", "other")[:outputs])


def random_case(seed: int) -> tuple[Network, Any]:
    """Return a random network with the oracle of a random specification that some longer words may miss."""
    rng = Random(seed)
    shape: dict[str, Any] = {
        "activation": list(Activation)[seed % 4], "norm": ("layer", "rms", None)[seed % 3], "post": seed % 2 == 1,
        "heads": (1, 2, 3, 1, 0)[seed % 5], "d": rng.choice([4, 6]), "k": rng.choice([1, 2]), "mlp": rng.choice([0, 5]),
        "size": rng.choice([0.3, 0.7]), "cold": rng.choice([1, 1, 4]), "biases": rng.random() < 0.7,
        "before": seed % 5 > 0,
    }  # fmt: skip
    if rng.random() < 0.25:
        network = network_of(seed, **shape)
        network = replace(network, readout=replace(network.readout, decide=rng.choice(["above", "argmax"])))
        return network, oracle_of(network, f"next: /({expression(rng, 3)})*/")
    network = network_of(seed, 1, **shape)
    text = f"assume: {rng.choice(TRUTHS)}\noutput t0: t0 | t1"
    oracle = oracle_of(network, text)
    found = truth_of(network, demands_of(oracle, network, 7), 7)
    least = min((low for n, low in found.low.items() if n < 7), default=0.0)
    level = Fraction(least - rng.choice([0.001, 0.03, 0.3]))
    network = replace(network, readout=replace(network.readout, level=level))
    return network, oracle_of(network, text)


def compare(network: Network, oracle: Any, longest: int, limits: LayerLimits) -> ExternalProof:
    """Prove a network, and compare each claim with every word; return the proof."""
    proof = prove_layers(network, oracle, longest, limits)
    truth = truth_of(network, demands_of(oracle, network, longest), longest)
    wrong = min((n for n, margin in truth.high.items() if margin < 0), default=longest + 1)
    assert proof.proved < wrong
    assert proof.proved == longest or proof.opened or proof.wrong is not None
    if proof.wrong is not None:
        assert proof.shortest
        assert len(proof.wrong.word) == wrong
        assert truth.low[wrong] <= proof.wrong.margin < 0
    for n, margins in proof.margins.items():
        assert margins.low <= truth.high[n]
        assert margins.high >= truth.low[n]
    return proof


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("longest", [5, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(12))
def test_random_networks_against_every_word(seed: int, longest: int) -> None:
    network, oracle = random_case(seed)
    weak = compare(network, oracle, longest, replace(ONE, levels=(2,)))
    full = compare(network, oracle, longest, LayerLimits())
    assert weak.proved <= full.proved
    assert not full.opened


@pytest.mark.slow
def test_more_random_networks_against_every_word() -> None:
    """From the weights, and by all means."""
    whole = reached = 0
    for seed in range(100, 150):
        network, oracle = random_case(seed)
        weak = compare(network, oracle, 9, replace(ONE, levels=(1,)))
        full = compare(network, oracle, 9, LayerLimits())
        assert not full.opened
        whole, reached = whole + full.proved + 1, reached + weak.proved + 1
    print(f"from the weights {reached} of {whole} lengths")
    assert reached > whole // 3


# ---- the bounds of the heads of the second layer, against every word ----


def plain(array: Any) -> Any:
    """Return exact numbers as float64; 0 for None."""
    return 0.0 if array is None else np.asarray(array, dtype=np.float64)


def scaling(scale: Any) -> float:
    return float(float(scale.factor) / float(scale.root) ** 0.5)


def normed(norm: Any, x: Any) -> Any:
    """Return a norm of vectors in plain float64."""
    if norm is None:
        return x
    x = x - x.mean(axis=-1, keepdims=True) if norm.kind == "layer" else x
    x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + float(norm.epsilon))
    return (x if norm.weight is None else x * plain(norm.weight)) + plain(norm.bias)


def activated(kind: Activation, x: Any) -> Any:
    """Return an activation in plain float64."""
    match kind:
        case Activation.RELU:
            return np.maximum(x, 0)
        case Activation.SILU:
            return x / (1 + np.exp(-x))
        case Activation.QUICK_GELU:
            return x / (1 + np.exp(-1.702 * x))
        case Activation.TANH:
            return np.tanh(x)
        case Activation.GELU:
            return x * (1 + np.vectorize(erf)(x / sqrt(2))) / 2
    return x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2


def read(layer: NetworkLayer, x: Any) -> list[Any]:
    """Return what the heads of a causal layer read, in plain float64."""
    y, found = x if layer.post else normed(layer.norm_1, x), []
    hidden = np.where(np.tril(np.ones((x.shape[1], x.shape[1]), dtype=bool)), 0.0, -np.inf)
    for head in layer.heads:
        maps = (head.w_q, head.b_q), (head.w_k, head.b_k), (head.w_v, head.b_v)
        q, k, v = (y @ plain(w) + plain(b) for w, b in maps)
        scores = scaling(head.scale) * q @ k.transpose(0, 2, 1) + hidden
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        found.append(weights / weights.sum(axis=-1, keepdims=True) @ v)
    return found


def streams(network: Network, tokens: Any) -> tuple[Any, list[Any]]:
    """Return in plain float64, for words of token ids, the residual stream after the first layer, and what the heads of
    the second layer read, at all positions."""
    size = tokens.shape[1]
    x = plain(network.embedding)[tokens] * scaling(network.embedding_scale)
    positions = network.encoding(size - len(network.readout.before))
    x = x if positions is None else x + plain(positions)[:size]
    layer = network.layers[0]
    added = sum((a @ plain(head.w_o) for a, head in zip(read(layer, x), layer.heads, strict=True)), plain(layer.b_o))
    x = x + added
    x = normed(layer.norm_1, x) if layer.post else x
    if layer.mlp is not None:
        y = x if layer.post else normed(layer.norm_2, x)
        y = activated(layer.mlp.activation, y @ plain(layer.mlp.w_in) + plain(layer.mlp.b_in))
        x = x + y @ plain(layer.mlp.w_out) + plain(layer.mlp.b_out)
        x = normed(layer.norm_2, x) if layer.post else x
    return x, read(network.layers[1], x)


def words_of(demands: PrefixDemands, n: int) -> list[tuple[tuple[int, ...], int]]:
    """Return all words of n symbols with the state before the last symbol, where some judged word begins so."""
    found = []
    for word in product(range(demands.moves.shape[1]), repeat=n):
        states = [0]
        for symbol in word:
            states.append(int(demands.moves[states[-1], symbol]) if states[-1] != NOWHERE else NOWHERE)
        if NOWHERE not in states:
            found.append((word, states[-2]))
    return found


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("longest", [4, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("checkpoint", "ranges"), [(False, False), (True, False), (False, True), (True, True)])
def test_cells_and_bounds_of_the_second_layer_contain_every_word(
    seed: int, checkpoint: bool, ranges: bool, longest: int
) -> None:
    network, oracle = random_case(seed)
    demands = demands_of(oracle, network, longest)
    layers = TwoLayers(network, demands, LayerLimits(score=0.02, cells=4), ranges)
    tables = layers.tables
    if checkpoint:
        state = int(np.flatnonzero(demands.reached()[2])[-1])
        tables = CellTables.made(layers, demands_of_part(demands, {2: state}, longest))
    rng, ids = np.random.default_rng(seed), network.ids
    before = [ids[str(token)] for token in network.readout.before]
    for n in range(3, longest + 1):
        words = words_of(demands, n)
        if checkpoint:
            words = [(w, s) for w, s in words if int(demands.moves[demands.moves[0, w[0]], w[1]]) == state]
        if not words:
            continue
        tokens = np.array([[*before, *(ids[SYMBOLS[one]] for one in word)] for word, _ in words])
        stream, heads = streams(network, tokens)
        number = {
            (int(s), int(u)): row
            for row, (m, s, u) in enumerate(
                zip(tables.classes.length, tables.classes.state, tables.classes.symbol, strict=True)
            )
            if m == n
        }
        rows = np.array(sorted(number.values()))
        cells = tables.cells.at(np.flatnonzero(np.isin(tables.cells.of, rows)))
        queries = tables.queries(cells)
        directions = [rng.normal(size=(3, head.shape[-1])) for head in heads]
        bounds = [
            head.bounds(n, tables.classes.state[cells.of], forms, part)
            for head, forms, part in zip(tables.heads, queries.heads, directions, strict=True)
        ]
        size = (np.abs(queries.stream.slopes).sum(axis=1) + queries.stream.e) * (1 + 1e-9) + 1e-9
        for place, (word, source) in enumerate(words):
            row = number[source, word[-1]]
            inside = (cells.of == row) & (np.abs(stream[place, -1] - queries.stream.c) <= size).all(axis=1)
            assert inside.any(), "no cell contains the word"
            for bound, head, part in zip(bounds, heads, directions, strict=True):
                # the word is in one of these cells, whose bound holds
                assert (head[place, -1] @ part.T <= bound[inside].max(axis=0) + 1e-9).all()


def test_relaxations_are_nested() -> None:
    """With fewer cells, without the lemma, or without checkpoints no more is proved, and bounds are not better."""
    for seed in (0, 3, 4, 7):
        network, oracle = random_case(seed)
        demands = demands_of(oracle, network, 6)
        found = {}
        for name, limits in {
            "all": ONE, "one cell": replace(ONE, cells=1), "no finer": replace(ONE, finer=False),
            "no lemma": replace(ONE, lemma=False), "no checkpoints": replace(ONE, depth=0),
            "no ranges": replace(ONE, levels=()),
        }.items():  # fmt: skip
            found[name] = prove_layers(network, oracle, 6, limits).proved
        for name in ("no finer", "no lemma", "no checkpoints", "no ranges"):
            assert found[name] <= found["all"], name
        with np.errstate(all="ignore"):
            tables = TwoLayers(network, demands, ONE).tables
            rows = np.flatnonzero((tables.classes.length == 6) & (tables.classes.kind >= 0))
            coarse = tables.queries(tables.positions.boxes.at(rows))
            whole, _, _ = tables.whole(6, coarse)
            tables.layers.limits = replace(ONE, lemma=False)
            without, _, _ = tables.whole(6, coarse)
        assert (without <= whole + 1e-12).all()


def test_networks_that_are_not_proved_from_the_weights() -> None:
    three = network_of(1, 1, layers=3, d=4, k=2, heads=1)
    with pytest.raises(NotProved, match="3 layers"):
        prove_layers(three, oracle_of(three, "output t0: t0 | t1"), 4)


def damaged(network: Network, rng: np.random.Generator, size: float) -> Network:
    """Return a copy with one changed weight of one layer; `size` is a factor of the changes."""
    number = int(rng.integers(2))
    layer = network.layers[number]
    places = [
        (owner, one.name)
        for owner in (*layer.heads, layer.mlp, layer.norm_1, layer.norm_2)
        if owner is not None
        for one in fields(owner)
        if isinstance(getattr(owner, one.name), np.ndarray)
    ]
    owner: Any
    owner, name = places[int(rng.integers(len(places)))]
    changed = np.array(getattr(owner, name), dtype=np.float64)
    place = tuple(int(rng.integers(0, count)) for count in changed.shape)
    changed[place] += size * float(rng.choice([-1, 1]) * np.exp(rng.uniform(-2, 2)) * (np.abs(changed).mean() + 0.1))
    new = replace(owner, **{name: changed})
    parts = {one: new if getattr(layer, one) is owner else getattr(layer, one) for one in ("mlp", "norm_1", "norm_2")}
    heads = tuple(new if one is owner else one for one in layer.heads)
    layers = list(network.layers)
    layers[number] = replace(layer, heads=heads, **parts)
    return replace(network, layers=tuple(layers))


def planted(network: Network, oracle: Any, count: int, longest: int, seed: int, size: float = 1.0) -> int:
    """Compare proofs of copies with a wrong weight with every word; return how many are wrong somewhere."""
    rng, wrong = np.random.default_rng(seed), 0
    for _ in range(count):
        copy = damaged(network, rng, size)
        compare(copy, oracle, longest, replace(ONE, levels=(2,)))
        truth = truth_of(copy, demands_of(oracle, copy, longest), longest)
        wrong += any(margin < 0 for margin in truth.high.values())
    return wrong


def test_planted_faults_are_never_proved() -> None:
    assert sum(planted(*random_case(seed), 6, 5, 1) for seed in (1, 112)) >= 4


@pytest.mark.parametrize(("far", "tried"), [(-np.inf, {1, 2, 4}), (0.0, {1, 2})])
def test_finer_cells_are_not_tried_where_bounds_are_far_from_zero(
    far: float, tried: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_layers, "FAR", far)
    network, oracle = random_case(16)
    limits = replace(ONE, levels=(1, 2, 4))
    with np.errstate(all="ignore"):
        prover = LayerProver(network, demands_of(oracle, network, 6), limits, lambda done, total: None)
        prover.run(1)
    assert prover.end == 0
    assert {*prover.made, *prover.dropped} - {0} == tried


def test_enclosures_that_closer_ones_replace_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores of the first network vary much, so its enclosures without ranges are of no use with checkpoints."""
    bounded = 0
    over = CellTables._over

    def counted(tables: CellTables, length: int, queries: Any, boxes: Any, full: Any) -> Any:
        nonlocal bounded
        bounded += len(boxes.of)
        return over(tables, length, queries, boxes, full)

    monkeypatch.setattr(CellTables, "_over", counted)
    for seed, kept in ((16, {2, 4}), (8, {0, 2, 4})):
        network, oracle = random_case(seed)
        bounded = 0
        with np.errstate(all="ignore"):
            limits = replace(ONE, levels=(1, 2, 4))
            prover = LayerProver(network, demands_of(oracle, network, 6), limits, lambda done, total: None)
            prover.run(1)
            proof = prover.result(1, {}, False)
        assert set(prover.made) == kept
        assert {*prover.made, *prover.dropped} == {0, 1, 2, 4}
        assert proof.cells == bounded > 0


@pytest.mark.parametrize("fails", [(1, 2, 4), (2, 4), (4,)])
def test_lengths_that_are_run_count_where_closer_enclosures_are_too_much_work(
    fails: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights prove nothing of this network, so words are run, here to length 4; then the weights are looked at
    once more, with the enclosures that could be made last."""

    def narrowed(layers: TwoLayers, demands: PrefixDemands, positions: Any) -> Any:
        if layers.limits.cells in fails:
            raise NotProved("too much work")
        return narrow(layers, demands, positions)

    narrow = TwoLayers._narrowed
    monkeypatch.setattr(TwoLayers, "_narrowed", narrowed)
    monkeypatch.setattr(two_layers, "WIDE", 0.0)
    network, oracle = random_case(8)
    demands = demands_of(oracle, network, 6)
    with np.errstate(all="ignore"):
        prover = LayerProver(network, demands, replace(ONE, levels=(1, 2, 4)), lambda done, total: None)
        prover.run(1)
        assert prover.end == 0
        prover.run(5)
    assert prover.end == 4


def test_the_record_says_what_was_run_and_what_comes_from_the_weights() -> None:
    splits = LayerSplits(4, 20, 30, 40, (WordsPart((), 5, 9, 8, 1, False),))
    record = PrefixProof(9, 9, 100, "prefixes", STRUCTURE, None, None, False, (), None, False, (), splits)
    assert record.proved_text.endswith("of at most 9 symbols, from the weights (to 4 symbols by running every word)")
    assert replace(record, proved_by=EVERY_WORD).how == "by running every word"
    assert replace(record, splits=None).how == "from the weights"


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the trained networks are not here")
def test_tomita7(tmp_path: Path) -> None:
    lines = f"network: {SHARED / 'tomita7'}\nalphabet: 0 1\ntokens: 0 1 <bos> <sep> <eos> <pad>\ninput: <bos> *\n"
    place = tmp_path / "tomita7.spec"
    place.write_text(f"{lines}next: /0*1*0*1*/\n", "utf-8")
    external = of_spec(place)
    proof = prove_layers(external.network, external.oracle)
    assert proof.proved == proof.longest == 151
    assert proof.prefixes == 21_959_478
    assert proof.splits is not None
    assert proof.splits.run_to == 29
    assert planted(external.network, external.oracle, 30, 10, 2, 20.0) >= 3
