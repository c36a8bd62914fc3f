"""Proofs from patterns of words: every bound is compared with every word of short lengths."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hardsim.campaign.workers import Crew, LocalCrew
from hardsim.errors import Undecided
from hardsim.network.dense import Network
from hardsim.proof.external import class_ranges, class_search, coarse_words, two_layers
from hardsim.proof.external import pattern_proof as pattern_proof_module
from hardsim.proof.external.affine import AffineForm
from hardsim.proof.external.coarse_words import CoarseWords
from hardsim.proof.external.demands import demands_of
from hardsim.proof.external.open_positions import OpenForms, OpenLayout
from hardsim.proof.external.pattern_proof import PatternProof, PatternTables, PatternWork, alone, prove_patterns
from hardsim.proof.external.patterns import OPEN, ClassPatterns
from hardsim.proof.external.result import STRUCTURE, LayerSplits, PatternsPart, PrefixProof
from hardsim.proof.external.scaled_rows import ScaledRows
from hardsim.proof.external.two_layers import LayerLimits, TwoLayers, prove_layers
from hardsim.proof.shared.result import NotProved
from hardsim.proving.external import shared_by
from hardsim.proving.external_certificate import external_certificate
from hardsim.run.dense_float import DenseFloat
from tests.proof.external.test_every_word import network_of
from tests.proof.external.test_prove import margin_of, of_spec, oracle_of, truth_of
from tests.proof.external.test_two_layers import damaged, random_case, streams, words_of

FLIPFLOP = Path(__file__).parents[3] / "formulas" / "networks" / "flipflop.spec"
SEEDS = 10, 18


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take few samples: they choose how words are divided, not what is proved."""
    for module, name, count in (
        (coarse_words, "SAMPLES", 8),
        (class_search, "SAMPLES", 8),
        (pattern_proof_module, "PROBES", 6),
        (class_ranges, "SAMPLES", 60),
    ):
        monkeypatch.setattr(module, name, count)
    with np.errstate(all="ignore"):
        yield


def flipflop() -> tuple[Network, Any]:
    case = of_spec(FLIPFLOP)
    return case.network, case.oracle


def tables_of(network: Network, oracle: Any, n: int) -> PatternTables:
    """Return the facts about words of at most n symbols. Raises NotProved if the network is of another kind."""
    demands = demands_of(oracle, network, n)
    layers = TwoLayers(network, demands, LayerLimits(cells=1))
    return PatternTables.of(network, demands, layers.first, layers.entry, layers.fixed)


def work_of(network: Network, oracle: Any, n: int) -> PatternWork:
    """Return what bounds patterns of words of at most n symbols. Raises NotProved if the network is of another kind."""
    return PatternWork(tables_of(network, oracle, n))


def cases() -> list[tuple[Network, Any]]:
    """Return networks of the kind that is bounded."""
    found = [flipflop()]
    for seed in SEEDS:
        network, oracle = random_case(seed)
        try:
            work_of(network, oracle, 3)
        except NotProved:
            continue
        found.append((network, oracle))
    assert len(found) > 1
    return found


def tokens_of(network: Network, words: Any) -> Any:
    """Return the tokens that the network reads for words of symbols."""
    ids = [network.ids[str(token)] for token in network.readout.before]
    return np.array([[*ids, *(network.ids[str(network.symbols[one])] for one in word)] for word in words])


def random_patterns(patterns: ClassPatterns, words: Any, rng: np.random.Generator, count: int) -> Any:
    """Return the pattern of all words, and patterns of words with some positions open."""
    some = words[rng.integers(0, len(words), count)]
    some = np.where(rng.random(some.shape) < 0.5, patterns.root, some)
    return np.concatenate([patterns.root, some])


def inside(patterns: Any, word: Any) -> Any:
    return ((patterns == OPEN) | (patterns == word)).all(axis=1)


@pytest.mark.parametrize("n", [2, 5])
def test_queries_keys_and_values_of_every_word_are_in_the_forms_of_its_patterns(n: int) -> None:
    rng, count = np.random.default_rng(n), 0
    for network, oracle in cases():
        work = work_of(network, oracle, n)
        for symbol in range(len(network.symbols)):
            rows = np.flatnonzero((work.classes.length == n) & (work.classes.symbol == symbol))
            if not len(rows):
                continue
            patterns = work.entries.patterns(rows)
            states = set(work.classes.state[rows].tolist())
            every = np.array([w for w, s in words_of(work.tables.demands, n) if w[-1] == symbol and s in states])
            layout = OpenLayout(patterns.allowed, np.arange(0))
            some = random_patterns(patterns, every[:, :-1], rng, 4)
            cells = OpenForms(work.entries, patterns, layout)(some)
            truth = OpenForms(work.entries, patterns, OpenLayout(patterns.allowed, np.arange(n)))(every[:, :-1])
            for word, row in zip(every[:, :-1], range(len(every)), strict=True):
                for at in np.flatnonzero(inside(some, word)).tolist():
                    y = signs(layout, some[at], word)
                    for form, exact in zip(parts_of(cells), parts_of(truth), strict=True):
                        slack = cells.apart[at] * np.abs(form.slopes[at]).sum(axis=0)
                        off = np.abs(exact.c[row] - form.c[at] - y @ form.slopes[at])
                        assert not (off > form.e[at] + slack + exact.e[row] + 1e-9).any()
                        count += 1
    assert count > 100


def parts_of(cells: Any) -> list[AffineForm]:
    return [cells.stream, cells.heads[0].queries, cells.heads[0].keys, cells.heads[0].values]


def signs(layout: OpenLayout, pattern: Any, word: Any) -> Any:
    """Return the coordinates y of a word in a layout."""
    found = np.zeros(layout.count)
    for place, symbols in layout.symbols.items():
        if place >= len(word) or pattern[place] != OPEN:
            continue
        number, start = symbols.tolist().index(word[place]), layout.start[place]
        table = [(-1.0,), (1.0,)] if len(symbols) == 2 else [(0.0, 1.0), (1.0, -1.0), (-1.0, -1.0)]
        found[start : start + len(symbols) - 1] = table[number]
    return found


@pytest.mark.parametrize("symbols", [2, 3])
def test_the_coordinates_of_open_symbols_give_the_vector_of_each_symbol(symbols: int) -> None:
    layout = OpenLayout(np.ones((1, symbols), dtype=np.bool_), np.arange(0))
    x = np.random.default_rng(0).normal(size=(1, symbols, 4))
    middle, slopes = layout.vectors(0, x)
    for symbol in range(symbols):
        y = signs(layout, np.array([OPEN]), np.array([symbol]))
        assert np.allclose(middle[0] + y @ slopes[0], x[0, symbol])


def test_margins_of_scaled_rows_hold_for_every_mean_of_some_outputs() -> None:
    """The outputs of the heads are any means of a few vectors, and the stream any point of a box."""
    rng, count = np.random.default_rng(3), 0
    for network, oracle in cases():
        work = work_of(network, oracle, 3)
        d, v = network.dimension, work.scaled.out.shape[0]
        for _ in range(8):
            size = 10 ** rng.uniform(-2, 0.3)
            corners = rng.normal(size=(1, 4, v)) * size + rng.normal(size=(1, 1, v))
            slopes = rng.normal(size=(1, 3, d)) * size / 3
            stream = AffineForm(rng.normal(size=(1, d)) * 2, slopes, np.full((1, d), 1e-9))
            z = rng.uniform(-1, 1, (200, 3))
            shares = rng.dirichlet(np.full(4, 0.3), 200)
            x = stream.c + z @ slopes[0]
            for kind, required in enumerate(work.tables.demands.kinds):

                def most(directions: Any, corners: Any = corners) -> Any:
                    return (directions @ corners[0].T).max(axis=2) + 1e-12

                low = work.scaled(kind, stream, corners.mean(axis=1), most)[0]
                outputs = rest_of(network, x + (shares @ corners[0]) @ work.scaled.out)
                margins = [margin_of(required, one, float(network.readout.level)) for one in outputs]
                if np.isfinite(low):
                    assert low <= max(min(margins), 0.0) + 1e-9
                    count += low > 0
    assert count


def rest_of(network: Network, x: Any) -> Any:
    """Return the outputs of a network from its stream after the last attention, without that layer's bias."""
    from tests.proof.external.test_two_layers import activated, normed, plain

    layer, d = network.layers[1], network.dimension
    x = x + (0.0 if layer.b_o is None else plain(layer.b_o))
    mlp = layer.mlp
    assert mlp is not None
    h = normed(layer.norm_2, x) @ plain(mlp.w_in) + (0.0 if mlp.b_in is None else plain(mlp.b_in))
    x = x + activated(mlp.activation, h) @ plain(mlp.w_out) + (0.0 if mlp.b_out is None else plain(mlp.b_out))
    x = x if network.final is None else normed(network.final, x)
    bias = 0.0 if network.unembedding_bias is None else plain(network.unembedding_bias)
    assert x.shape[1] == d
    return x @ plain(network.unembedding) + bias


@pytest.mark.parametrize("n", [1, 3, 5])
def test_coarse_words_bound_the_margin_after_every_word(n: int) -> None:
    rng, count = np.random.default_rng(n), 0
    for network, oracle in cases():
        work = work_of(network, oracle, n)
        demands, level = work.tables.demands, float(network.readout.level)
        for symbol in range(len(network.symbols)):
            rows = work.rows(n, symbol)
            if not len(rows):
                continue
            tables = work.tables
            words = CoarseWords(work.entries, rows, tables.ranges, tables.fixed, work.scaled)
            of = {int(state): number for number, state in enumerate(work.classes.state[rows])}
            pairs = [one for one in words_of(demands, n) if one[0][-1] == symbol and one[1] in of]
            tokens = tokens_of(network, [word for word, _ in pairs])
            mid, rad = DenseFloat(network).run(n, tokens, [tokens.shape[1] - 1])
            free = np.array([word[:-1] for word, _ in pairs], dtype=np.int64).reshape(len(pairs), n - 1)
            patterns = random_patterns(words.patterns, free, rng, 6)
            bounds, result = words.bounds(patterns), words.prove(words.patterns.root)
            for place, (_, state) in enumerate(pairs):
                kind = demands.kinds[words.kinds[of[state]]]
                margin = margin_of(kind, mid[place, 0], level) + 2 * float(rad.max())
                found = bounds.margins[inside(patterns, free[place]), of[state]]
                assert not (found > max(margin, 0.0)).any()
                assert not result.low[of[state]] > max(margin, 0.0)
                count += len(found)
    assert count > 20


def test_what_the_head_reads_is_below_the_bounds_of_coarse_words() -> None:
    network, oracle = flipflop()
    n, rng = 5, np.random.default_rng(1)
    work = work_of(network, oracle, n)
    symbol = network.symbols.index("r")
    tables = work.tables
    words = CoarseWords(work.entries, work.rows(n, symbol), tables.ranges, tables.fixed, work.scaled)
    seen: list[Any] = []

    class Kept(ScaledRows):
        def __init__(self, other: ScaledRows) -> None:
            self.__dict__.update(other.__dict__)

        def __call__(self, kind: int, stream: AffineForm, near: Any, most: Any) -> Any:
            seen.append(most)
            return super().__call__(kind, stream, near, most)

    words.scaled = Kept(words.scaled)
    words.bounds(words.patterns.root)
    pairs = [one for one in words_of(tables.demands, n) if one[0][-1] == symbol]
    truth = streams(network, tokens_of(network, [word for word, _ in pairs]))[1][0][:, -1]
    directions = rng.normal(size=(1, 20, truth.shape[1]))
    for number, state in enumerate(words.states()):
        some = truth[[place for place, one in enumerate(pairs) if one[1] == state]]
        assert (seen[2 * number](directions)[0] >= (some @ directions[0].T).max(axis=0) - 1e-9).all()


def pattern_proof(network: Network, oracle: Any, first: int, longest: int) -> PatternProof:
    found = PatternProof(first - 1)
    prove_patterns(tables_of(network, oracle, longest), found, alone, lambda done, total: None)
    return found


@pytest.mark.parametrize("last", [5, pytest.param(11, marks=pytest.mark.slow)])
def test_the_lengths_of_the_shipped_network_are_proved_in_both_ways(last: int) -> None:
    network, oracle = flipflop()
    found = pattern_proof(network, oracle, 4, last)
    assert (found.end, found.open) == (last, None)
    assert {part.length for part in found.parts} == set(range(4, last + 1))
    ways = {part.symbol: part.histories for part in found.parts}
    assert (ways["r"], ways["0"]) == ("one history", "independent histories")
    every = prove_layers(network, oracle, last)
    for n, low in found.margins.items():
        assert 0 < low <= every.margins[n].high


@pytest.mark.parametrize(("most", "last"), [(1, 4), pytest.param(12, 7, marks=pytest.mark.slow)])
def test_planted_faults_are_not_proved_beyond_their_shortest_wrong_length(most: int, last: int) -> None:
    network, oracle = flipflop()
    rng, count = np.random.default_rng(4), 0
    while count < most:
        other = damaged(network, rng, 1.0)
        truth = prove_layers(other, oracle, last, LayerLimits(few=10**6))
        if truth.wrong is None or not truth.wrong.word:
            continue
        count += 1
        try:
            found = pattern_proof(other, oracle, 1, last)
        except NotProved:
            continue
        assert found.end < len(truth.wrong.word)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("norm", "final", "bounded"), [
    ("layer", "layer", True), ("layer", None, False), ("layer", "rms", False),
    ("rms", "rms", True), ("rms", None, True), ("rms", "layer", False),
])  # fmt: skip
def test_margins_are_below_the_truth_whatever_the_last_norm_is(
    seed: int, norm: str, final: str | None, bounded: bool
) -> None:
    """Without a norm that subtracts the mean, a row depends on the mean that the norm before the MLP subtracted."""
    shape: dict[str, Any] = {"heads": 1, "d": 4, "mlp": 5, "biases": seed % 2 == 0, "size": 0.7}
    network = network_of(seed, 1, norm=norm, **shape)
    network = replace(network, final=None if final is None else network_of(seed, 1, norm=final, **shape).final)
    oracle = oracle_of(network, "output t0: t0 | t1")
    least = truth_of(network, demands_of(oracle, network, 4), 4).low
    level = Fraction(sorted(least.values())[1] + 0.01)  # so that the second worst length is wrong
    network = replace(network, readout=replace(network.readout, level=level))
    truth = truth_of(network, demands_of(oracle, network, 4), 4)
    for first in (1, 4):
        try:
            found = pattern_proof(network, oracle, first, 4)
        except NotProved:
            assert not bounded
        else:
            assert bounded
            assert all(low <= truth.high[n] for n, low in found.margins.items() if n <= found.end)
            assert not any(truth.high[n] < 0 for n in range(first, found.end + 1))


def test_lengths_that_cannot_be_run_are_proved_by_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    network, oracle = flipflop()
    monkeypatch.setattr(two_layers, "words_reach", lambda *_: -1)
    limits = LayerLimits(few=20, levels=())
    found = prove_layers(network, oracle, 6, limits)
    assert found.splits is not None
    assert found.proved == 6
    assert [part.length for part in found.splits.patterns][-1] == 6
    assert prove_layers(network, oracle, 6, replace(limits, patterns=False)).proved < 6


def test_nothing_is_proved_by_patterns_where_the_empty_word_is_open() -> None:
    network, oracle = flipflop()
    found = prove_layers(network, oracle, 3, LayerLimits(few=0, more=False, levels=()))
    assert (found.proved, found.splits and found.splits.patterns) == (-1, ())


def test_words_that_would_need_too_many_patterns_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse_words, "MOST_COARSE", 2)
    network, oracle = flipflop()
    found = pattern_proof(network, oracle, 5, 5)
    reason = "over 2 patterns of words would be needed"
    assert (found.end, found.open, found.reason) == (4, (5, network.symbols.index("r")), reason)
    monkeypatch.setattr(two_layers, "words_reach", lambda *_: -1)
    proof = prove_layers(network, oracle, 5, LayerLimits(few=5, levels=()))
    assert proof.proved == 4
    assert proof.reason is not None
    assert proof.reason.endswith(f"too many to run, and after r, {reason}")


def test_an_interrupted_proof_keeps_the_lengths_that_are_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    network, oracle = flipflop()
    monkeypatch.setattr(two_layers, "words_reach", lambda *_: -1)

    def share(make: Any, parts: Any, tasks: Any) -> Any:
        do = make(*parts)
        for task in tasks:
            if task.length > 5:
                raise KeyboardInterrupt
            yield do(task)

    found = prove_layers(network, oracle, 6, LayerLimits(few=20, levels=()), share=share)
    assert found.interrupted
    assert found.proved == 4
    assert found.splits is not None
    assert all(part.length <= found.proved for part in found.splits.patterns)


def test_processes_that_share_a_proof_find_what_one_finds() -> None:
    network, oracle = flipflop()
    tables = tables_of(network, oracle, 6)
    found = []
    for workers in (1, 2):
        with LocalCrew(workers) as crew:
            one = PatternProof(5)
            prove_patterns(tables, one, shared_by(partial(itself, crew)), lambda done, total: None)
        found.append((one.end, one.open, one.margins, one.parts))
    assert found[0] == found[1]
    assert found[0][0] == 6


def itself(crew: Crew) -> Crew:
    return crew


def test_no_certificate_is_written_of_a_proof_by_patterns() -> None:
    part = PatternsPart(24, "0", "independent histories", 10, 20)
    splits = LayerSplits(18, 20, 30, 40, (), (part,))
    record = PrefixProof(24, 24, 100, "prefixes", STRUCTURE, None, None, False, (), None, False, (), splits)
    with pytest.raises(Undecided, match=r"lengths from 24 on are proved by patterns of words.*--max-n 23"):
        external_certificate(SimpleNamespace(name="net", network=flipflop()[0]), record)  # type: ignore[arg-type]  # only these are read
