"""Proofs of one-layer external networks, compared with every word of small lengths."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.lang.spec.layout import read_spec
from hardsim.lang.spec.meaning import Question
from hardsim.network.dense import Activation, Network, Readout
from hardsim.proof.external.demands import NOWHERE, PrefixDemands, Requirement, demands_of
from hardsim.proof.external.prove import ExternalProof, WorkLimits, prove_external
from hardsim.run.dense_float import DenseFloat
from hardsim.targets.base import ModelOptions
from hardsim.targets.expected import ExpectedOutputs, Rule, ended
from hardsim.targets.network_outputs import NetworkEngine
from hardsim.targets.opening import read_input
from tests.support.dense_networks import made
from tests.support.model import Mask

LONGEST = 7
SYMBOLS = ("t0", "t1")


def network_of(seed: int, outputs: int = 4, template: str = "before", **shape: Any) -> Network:
    """Return a random network of one layer over t0 and t1; t2 and t3 stand before and after words."""
    found = made(seed=seed, layers=1, rows=16, vocabulary=4, outputs=outputs, **shape)
    before = ("t2",) if "before" in template else ()
    after = ("t3",) if "after" in template else ()
    readout = Readout(before=before, after=after, at="last" if after else "each", alphabet=SYMBOLS)
    names = ("t0", "t1", "<eos>", "other")[:outputs]
    return replace(found, readout=readout, outputs=names)


def oracle_of(network: Network, text: str, symbols: tuple[str, ...] = SYMBOLS) -> Any:
    """Return the oracle of a specification of a network."""
    readout, names = network.readout, tuple(map(str, network.outputs))
    layout = read_spec(text, "here.spec")
    causal = readout.at == "each"
    question = Question(layout, None, symbols, readout.at, readout.decide, names, bool(readout.before), causal)
    return question.demands().oracle


@dataclass(frozen=True)
class Truth:
    """The least margin of each length, between two bounds, from running every word."""

    low: dict[int, float]
    high: dict[int, float]


def prefixes(demands: PrefixDemands, longest: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield every word with a judged end, with the index of what is required."""
    for n in range(demands.shortest, longest + 1):
        for word in product(range(demands.moves.shape[1]), repeat=n):
            state = 0
            for symbol in word:
                state = int(demands.moves[state, symbol]) if state != NOWHERE else NOWHERE
            if state != NOWHERE and demands.required[state] >= 0:
                yield word, demands.required[state]


def margin_of(required: Requirement, outputs: Any, level: float) -> float:
    """Return the margin from the definition: over the choices, the least difference of two outputs."""

    def value(place: int) -> float:
        return level if place < 0 else float(outputs[place])

    return max(min((value(a) - value(b) for a, b in choice), default=inf) for choice in required.choices)


def truth_of(network: Network, demands: PrefixDemands, longest: int) -> Truth:
    """Run every word in certified float64."""
    found = Truth({}, {})
    engine, ids = DenseFloat(network), network.ids
    before = [ids[str(token)] for token in network.readout.before]
    after = [ids[str(token)] for token in network.readout.after]
    level = float(network.readout.level)
    judged = list(prefixes(demands, longest))
    for n in sorted({len(word) for word, _ in judged}):
        some = [(word, kind) for word, kind in judged if len(word) == n]
        tokens = np.array([[*before, *(ids[network.symbols[one]] for one in word), *after] for word, _ in some])
        mid, rad = engine.run(n, tokens, [tokens.shape[1] - 1])
        margins = [margin_of(demands.kinds[kind], mid[row, 0], level) for row, (_, kind) in enumerate(some)]
        found.low[n], found.high[n] = min(margins) - 2 * float(rad.max()), min(margins) + 2 * float(rad.max())
    return found


def compare(network: Network, oracle: Any, longest: int = LONGEST, limits: WorkLimits | None = None) -> ExternalProof:
    """Prove a network, and compare each claim with every word; return the proof."""
    proof = prove_external(network, oracle, longest, limits)
    truth = truth_of(network, demands_of(oracle, network, longest), longest)
    wrong = min((n for n, margin in truth.high.items() if margin < 0), default=longest + 1)
    assert proof.proved < wrong
    assert proof.proved == wrong - 1 or proof.opened
    if proof.wrong is not None:
        n = len(proof.wrong.word)
        assert n >= wrong
        assert truth.low[n] <= proof.wrong.margin < 0
        assert proof.shortest == (n == wrong and proof.proved == wrong - 1)
    for n, margins in proof.margins.items():
        assert margins.low <= truth.high[n]
        assert margins.high >= truth.low[n]
    return proof


# ---- whole proofs against every word ----

MOST = "assume: {assume}\noutput t0: t0 | t1"
COUNTING = "assume: !(#[t0] = #[t1])\noutput t0: #[t0] > #[t1]\noutput t1: #[t1] > #[t0]"
NEXT = "next: /(t0 t1*)*|t1/"


def levelled(network: Network, oracle: Any, share: float) -> Network:
    """Return the network with a level below which no output of a short word is: by `share` times the range of all
    outputs. Longer words may be below, unless the share is large."""
    found = truth_of(network, demands_of(oracle, network, LONGEST), LONGEST)
    least = min(found.low[n] for n in found.low if n <= LONGEST - 2)
    level = least - share * (max(found.high.values()) - min(found.low.values()))
    return replace(network, readout=replace(network.readout, level=Fraction(level)))


KINDS = list(product(Activation, ("layer", "rms", None), (False, True)))
SMALL = WorkLimits(rounds=12, cells=1_200, words=0)
"""WorkLimits for quick tests, in which no class is proved by running its prefixes."""


def by_kind(number: int, heads: int, **more: Any) -> Network:
    """Return a random network of one of the KINDS."""
    activation, norm, post = KINDS[number]
    shape: dict[str, Any] = {"activation": activation, "norm": norm, "post": post, "heads": heads}
    return network_of(number, 1, d=6, k=2, mlp=8, **shape, **more)


def at_share(network: Network, number: int, share: float, limits: WorkLimits | None) -> ExternalProof:
    """Compare a network at a level."""
    oracle = oracle_of(network, MOST.format(assume=("t0 | Y t1", "t1 S t0", "!(Y Y t0)")[number % 3]))
    return compare(levelled(network, oracle, share), oracle, limits=limits)


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("heads", [0, 1, 2])
def test_bounds_of_all_kinds(heads: int) -> None:
    proved = wrong = 0
    for number in range(len(KINDS)):
        network = by_kind(number, heads, size=0.5)
        proved += at_share(network, number, 2.0, SMALL).proved == LONGEST
        wrong += at_share(network, number, 0.02, SMALL).shortest
    assert proved == len(KINDS)
    assert wrong >= 3


@pytest.mark.parametrize("number", range(0, len(KINDS), 7))
def test_running_every_prefix_settles_all_short_words(number: int) -> None:
    for share in (0.001, 0.1, 1.0):
        proof = at_share(by_kind(number, 2), number, share, WorkLimits(rounds=1))
        assert not proof.opened
        assert proof.shortest or proof.proved == LONGEST


def test_work_is_bounded() -> None:
    """Classes that would take more work than allowed stay open; the lengths before are proved rightly."""
    network = by_kind(3, 2, size=0.5)
    oracle = oracle_of(network, MOST.format(assume="t0 | Y t1"))
    network = levelled(network, oracle, 2.0)
    assert not compare(network, oracle).opened
    for work in (0.0, 5e3, 2e4):
        proof = compare(network, oracle, limits=WorkLimits(work=work))
        assert proof.proved < LONGEST
        assert {one.length for one in proof.opened} == {proof.proved + 1}


@pytest.mark.parametrize("seed", range(8))
def test_argmax_of_counts(seed: int) -> None:
    mask = (Mask.FUTURE, Mask.NONE)[seed % 2]
    network = network_of(seed, 2, "before after", heads=1 + seed % 2, k=3, size=0.5, mask=mask)
    network = replace(network, readout=replace(network.readout, decide="argmax"))
    compare(network, oracle_of(network, COUNTING), limits=SMALL)


@pytest.mark.parametrize("decide", ["above", "argmax"])
@pytest.mark.parametrize("seed", range(4))
def test_next_symbols(seed: int, decide: Any) -> None:
    network = network_of(seed, 4, size=0.5, heads=1 + seed % 2)
    network = replace(network, readout=replace(network.readout, decide=decide))
    compare(network, oracle_of(network, NEXT), limits=SMALL)
    compare(network, oracle_of(network, NEXT))


# ---- planted faults ----


@pytest.mark.parametrize("seed", range(12))
def test_no_planted_fault_is_proved(seed: int) -> None:
    """A network that is right with a margin gets a wrong weight; `compare` finds any word that is proved and wrong."""
    number = 2 * seed
    oracle = oracle_of(network := by_kind(number, 1, size=0.5), MOST.format(assume="t0 | Y t1"))
    network = levelled(network, oracle, 0.1)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        compare(damaged(network, rng), oracle, limits=SMALL)


def damaged(network: Network, rng: np.random.Generator) -> Network:
    """Return a network with one changed weight, of the values, the output or the table of positions."""
    (layer,) = network.layers
    head, place = layer.heads[0], int(rng.integers(3))
    arrays = (head.w_v, head.w_o, network.positions)
    changed = np.array(arrays[place])
    changed[tuple(rng.integers(0, size) for size in changed.shape)] += float(rng.normal() * 2)
    if place == 2:
        return replace(network, positions=changed)
    heads = (replace(head, w_o=changed) if place else replace(head, w_v=changed),)
    return replace(network, layers=(replace(layer, heads=heads),))


# ---- trained networks ----

SHARED = Path(__file__).parents[4] / "shared" / "trained"
FORMULAS = Path(__file__).parents[3] / "formulas" / "networks"
TRAINED = {
    "tomita1": ("0 1", "/1*/", 151, None),
    "D2": ("a b", "/(a(ab)*b)*/", 149, 150),
    "ab_d_bc": ("a b c d", "/[ab]*d[bc]*/", 151, None),
}


def of_spec(place: Path) -> Any:
    """Return the network of a specification, with its oracle."""
    return read_input(str(place)).target(ModelOptions())


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the trained networks are not here")
@pytest.mark.parametrize("name", TRAINED)
def test_published_networks(name: str, tmp_path: Path) -> None:
    alphabet, expression, proved, wrong = TRAINED[name]
    text = f"network: {SHARED / name}\nalphabet: {alphabet}\ntokens: {alphabet} <bos> <sep> <eos> <pad>\n"
    place = tmp_path / "here.spec"
    place.write_text(f"{text}input: <bos> *\nnext: {expression}\n", "utf-8")
    check_trained(of_spec(place), proved, wrong)


def test_the_shipped_brackets_are_right_to_50_and_wrong_at_51() -> None:
    check_trained(of_spec(FORMULAS / "dyck1_depth3.spec"), 50, 51)


@pytest.mark.slow
def test_the_shipped_majority_is_right_to_44_and_wrong_at_45() -> None:
    check_trained(of_spec(FORMULAS / "majority.spec"), 44, 45)


def check_trained(external: Any, proved: int, wrong: int | None) -> None:
    """Prove a trained network. Its wrong prefix is judged by the oracle, and run in balls."""
    network, oracle = external.network, external.oracle
    proof = prove_external(network, oracle)
    assert proof.proved == proved
    assert not proof.opened
    assert (None if proof.wrong is None else len(proof.wrong.word)) == wrong
    for n, margins in proof.margins.items():
        assert 0 < margins.low <= margins.high, n
    if proof.wrong is not None:
        raw = ended(oracle(proof.wrong.word))
        readout = replace(network.readout, at="last") if network.readout.at == "each" else network.readout
        place = network.readout.length(len(proof.wrong.word)) - 1
        rule = Rule(network.outputs, readout)
        expected = ExpectedOutputs.of_values([raw], rule.place)
        bounds = NetworkEngine(network, "ball").alone(proof.wrong.word, [place], lambda low, high: True)
        assert bounds is not None
        assert rule.compare(bounds.low, bounds.high, expected).wrong.all()
