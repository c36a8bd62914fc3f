"""Proofs by running every prefix, compared with the run of each word by itself, judged by the specification."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import comb, inf
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Activation, Network, Readout
from hardsim.proof.external import every_word
from hardsim.proof.external.every_word import prove_by_words
from hardsim.proof.external.prove import ExternalProof
from hardsim.proof.external.two_layers import LayerLimits, prove_layers
from hardsim.proof.shared.result import NotProved
from hardsim.proving.external import prefix_proof
from hardsim.run.dense_float import DenseFloat
from hardsim.targets.base import ModelOptions
from hardsim.targets.expected import ExpectedOutputs, Rule, ended
from hardsim.targets.opening import read_input
from tests.proof.external.test_prove import oracle_of
from tests.support.dense_networks import made
from tests.support.model import Mask

SYMBOLS = ("t0", "t1")
LONGEST = 6
MOST = "assume: {assume}\noutput t0: t0 | t1"
COUNTING = "assume: !(#[t0] = #[t1])\noutput t0: #[t0] > #[t1]\noutput t1: #[t1] > #[t0]"
NEXT = "next: /(t0 t1*)*|t1/"
ASSUMED = "t0 | Y t1", "t1 S t0", "!(Y Y t0)"
FORMULAS = Path(__file__).parents[3] / "formulas" / "networks"


def network_of(seed: int, outputs: int = 4, template: str = "before", **shape: Any) -> Network:
    """Return a random network over t0 and t1; t2 and t3 stand before and after words."""
    found = made(seed=seed, rows=16, vocabulary=4, outputs=outputs, **{"d": 6, "k": 2, "mlp": 8, **shape})
    before = ("t2",) if "before" in template else ()
    after = ("t3", "t2") if "after" in template else ()
    readout = Readout(before=before, after=after, at="last" if after else "each", alphabet=SYMBOLS)
    return replace(found, readout=readout, outputs=("t0", "t1", "<eos>", "other")[:outputs])


@dataclass(frozen=True)
class Enumerated:
    """By length, bounds of the least margin, and whether some word is certainly wrong."""

    low: dict[int, float]
    high: dict[int, float]
    wrong: dict[int, bool]


def enumerated(network: Network, oracle: Any, longest: int = LONGEST) -> Enumerated:
    """Judge every word by itself at its end, with the answers of the specification."""
    found, engine = Enumerated({}, {}, {}), DenseFloat(network)
    rule = Rule(network.outputs, replace(network.readout, at="last"))
    for n in range(longest + 1):
        if n == 0 and not getattr(oracle, "empty", False):
            continue
        raws = [(word, ended(oracle(word))) for word in product(SYMBOLS, repeat=n)]
        judged = [(word, rule.place(raw)) for word, raw in raws if raw is not None]
        if not judged:
            continue
        tokens = np.array([network.read(word) for word, _ in judged])
        mid, rad = engine.run(n, tokens, [tokens.shape[1] - 1])
        expected = ExpectedOutputs.of_values([place for _, place in judged], lambda place: place)
        result = rule.compare(mid - rad * (1 + 1e-9), mid + rad * (1 + 1e-9), expected)
        if np.isfinite(result.low.min()):  # else every answer is right
            found.low[n], found.high[n] = float(result.low.min()), float(result.high.min())
            found.wrong[n] = bool(result.wrong.any())
    return found


def compare(network: Network, oracle: Any, longest: int = LONGEST) -> ExternalProof:
    """Run every prefix, and compare the proof with every word by itself; return it."""
    proof, truth = prove_by_words(network, oracle, longest), enumerated(network, oracle, longest)
    first = min((n for n, wrong in truth.wrong.items() if wrong), default=None)
    assert not proof.opened
    assert proof.proved == (longest if first is None else first - 1)
    assert (proof.wrong is None) == (first is None)
    assert proof.shortest is (first is not None)
    if proof.wrong is not None and first is not None:
        assert len(proof.wrong.word) == first
        assert truth.low[first] <= proof.wrong.margin <= truth.high[first] + 1e-6 < 0.01
    assert {n for n in proof.margins if proof.margins[n].low < inf} == {n for n in truth.low if n <= proof.proved}
    for n, margins in proof.margins.items():
        if n in truth.low:
            assert margins.low <= truth.high[n]
            assert margins.high >= truth.low[n]
            assert margins.high - margins.low <= (truth.high[n] - truth.low[n]) * (1 + 1e-6) + 1e-9
    return proof


def levelled(network: Network, oracle: Any, share: float) -> Network:
    """Return the network with a level below which no output of a short word is: by `share` times the range of the
    margins. Longer words may be below, unless the share is large."""
    found = enumerated(network, oracle)
    least = min(found.low[n] for n in found.low if n <= LONGEST - 2)
    level = network.readout.level + Fraction(least - share * (max(found.high.values()) - min(found.low.values())))
    return replace(network, readout=replace(network.readout, level=level))


# ---- every word by itself ----

KINDS = list(product(Activation, ("layer", "rms", None), (False, True)))


@pytest.mark.parametrize("layers", [1, pytest.param(2, marks=pytest.mark.slow), 3])
def test_every_kind_of_network(layers: int) -> None:
    proved = wrong = 0
    for number, (activation, norm, post) in enumerate(KINDS):
        heads = 1 + (number + layers) % 2
        network = network_of(number, 1, layers=layers, activation=activation, norm=norm, post=post, heads=heads)
        oracle = oracle_of(network, MOST.format(assume=ASSUMED[number % 3]))
        proof = compare(levelled(network, oracle, (0.02, 2.0)[number % 2]), oracle)
        proved += proof.proved == LONGEST
        wrong += proof.wrong is not None
    assert proved >= len(KINDS) // 2
    assert wrong >= 3


def random_case(seed: int) -> tuple[Network, Any]:
    """Return a random network with the oracle of a random specification."""
    rng = Random(seed)
    shape: dict[str, Any] = {
        "layers": rng.choice((1, 2, 3)),
        "heads": rng.choice((0, 1, 2, 3)),
        "activation": rng.choice(list(Activation)),
        "norm": rng.choice(("layer", "rms", None)),
        "post": rng.random() < 0.5,
        "biases": rng.random() < 0.7,
        "d": rng.choice((2, 6, 9)),
        "k": rng.choice((1, 2, 4)),
        "mlp": rng.choice((0, 5, 8)),
        "size": rng.choice((0.3, 0.5, 1.0)),
        "cold": rng.choice((1, 10)),
    }
    kind: Any = rng.choice(("above", "argmax", "counts", "level"))
    if kind == "level":
        network = network_of(seed, 1, rng.choice(("", "before", "before after", "after")), **shape)
        oracle = oracle_of(network, MOST.format(assume=rng.choice(ASSUMED)))
        return levelled(network, oracle, rng.choice((0.005, 0.02, 0.1, 2.0))), oracle
    if kind == "counts":
        network = network_of(seed, 2, rng.choice(("after", "before after")), **shape)
        network = replace(network, readout=replace(network.readout, decide="argmax"))
        return network, oracle_of(network, COUNTING)
    network = network_of(seed, 4, **shape)
    network = replace(network, readout=replace(network.readout, decide=kind))
    return network, oracle_of(network, NEXT)


def compare_random(seeds: range) -> None:
    """Compare random networks with every word by itself, where certified float64 decides each word."""
    right = wrong = 0
    for seed in seeds:
        network, oracle = random_case(seed)
        truth = enumerated(network, oracle)
        if all(truth.wrong[n] or truth.low[n] > 0 for n in truth.low):
            found = compare(network, oracle)
            right += found.wrong is None
            wrong += found.wrong is not None
    assert right >= len(seeds) // 10
    assert wrong >= len(seeds) // 2


def test_random_networks() -> None:
    compare_random(range(24))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(40, 1000, 120))
def test_more_random_networks(start: int) -> None:
    compare_random(range(start, start + 120))


@pytest.mark.parametrize("seed", range(6))
def test_argmax_of_counts_with_tokens_after_words(seed: int) -> None:
    network = network_of(seed, 2, "before after", layers=1 + seed % 3, size=0.5)
    network = replace(network, readout=replace(network.readout, decide="argmax"))
    compare(network, oracle_of(network, COUNTING))


@pytest.mark.parametrize("decide", ["above", "argmax"])
@pytest.mark.parametrize("seed", range(4))
def test_next_symbols(seed: int, decide: Any) -> None:
    network = network_of(seed, 4, layers=2, size=0.5)
    network = replace(network, readout=replace(network.readout, decide=decide))
    compare(network, oracle_of(network, NEXT))


def test_one_layer_that_sees_all_tokens() -> None:
    network = network_of(3, 1, "before after", layers=1, mask=Mask.NONE)
    oracle = oracle_of(network, MOST.format(assume=ASSUMED[0]))
    compare(levelled(network, oracle, 0.02), oracle)


def test_nothing_before_words() -> None:
    network = network_of(2, 1, "", layers=2)
    oracle = oracle_of(network, MOST.format(assume=ASSUMED[1]))
    compare(levelled(network, oracle, 0.02), oracle)


def test_stages_and_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is the same for other stages, and for batches of a few prefixes."""
    network = network_of(5, 1, layers=2)
    oracle = oracle_of(network, MOST.format(assume=ASSUMED[0]))
    network = levelled(network, oracle, 2.0)
    whole = compare(network, oracle)
    monkeypatch.setattr(every_word, "STAGE", 1.01)
    monkeypatch.setattr("hardsim.run.dense_tree.MOST_TOGETHER", 3)
    assert compare(network, oracle).margins.keys() == whole.margins.keys()


def test_the_worst_of_the_shortest_wrong_prefixes_is_told() -> None:
    """A level above every output: each prefix is wrong, and the one of the least output is the worst."""
    network = network_of(4, 1, layers=2)
    network = replace(network, readout=replace(network.readout, level=Fraction(1000)))
    proof = compare(network, oracle_of(network, "output t0: t0 | t1"))
    assert proof.wrong is not None
    assert len(proof.wrong.word) == 1
    assert proof.proved == 0


# ---- what certified float64 leaves open ----


def exact_zero(layers: int) -> Network:
    """Return a network whose only output is exactly 0 after every prefix, as the sum of two equal numbers of opposite
    signs."""
    network = network_of(0, 1, layers=layers, activation=Activation.RELU, norm=None, biases=False)
    none = [replace(layer, heads=(), b_o=None, mlp=None, norm_1=None, norm_2=None) for layer in network.layers]
    embedding = np.zeros_like(network.embedding)
    return replace(network, layers=tuple(none), embedding=embedding, positions=(), final=None)


def test_balls_decide_what_float64_leaves_open() -> None:
    """An output that is exactly 0 is not above 0, so a specification that says so is proved, and its opposite is
    refuted: both with the margin 0."""
    network = exact_zero(1)
    proof = prove_by_words(network, oracle_of(network, "output t0: t0 & !t0"), 3)
    assert proof.proved == 3
    assert not proof.opened
    assert (proof.margins[3].low, proof.margins[3].high) == (0, 0)
    wrong = prove_by_words(network, oracle_of(network, "output t0: t0 | t1"), 3)
    assert wrong.wrong is not None
    assert (len(wrong.wrong.word), wrong.wrong.margin, wrong.proved) == (1, 0, 0)


def test_more_open_prefixes_than_balls_decide_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every_word, "MOST_ALONE", 4)
    network = exact_zero(1)
    proof = prove_by_words(network, oracle_of(network, "output t0: t0 & !t0"), 5)
    assert proof.proved == 2
    assert proof.wrong is None
    assert {one.length for one in proof.opened} == {3}
    assert all(one.bound <= 0 <= one.sampled for one in proof.opened)


def test_outputs_beyond_float64_stay_open_or_are_settled_by_balls() -> None:
    network = network_of(1, 1, layers=2, norm=None, size=1e150, dtype=np.float64, activation=Activation.RELU)
    proof = prove_by_words(network, oracle_of(network, "output t0: t0 | t1"), 2)
    assert proof.wrong is not None or proof.opened or proof.proved == 2


# ---- which lengths are run ----


def test_the_number_of_prefixes_bounds_the_lengths() -> None:
    network = network_of(5, 1, layers=2)
    oracle = oracle_of(network, "output t0: t0 | t1")
    network = levelled(network, oracle, 5.0)
    proof = prove_by_words(network, oracle, most=16)
    assert (proof.proved, proof.longest, proof.prefixes) == (4, 15, 2 + 4 + 8 + 16)
    assert proof.wrong is None
    assert not proof.opened
    assert prove_by_words(network, oracle, 3).proved == 3


def test_the_work_bounds_the_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_of(5, 1, layers=2)
    oracle = oracle_of(network, "output t0: t0 | t1")
    network = levelled(network, oracle, 5.0)
    monkeypatch.setattr(every_word, "WORK", 1e6)
    small = prove_by_words(network, oracle).proved
    monkeypatch.setattr(every_word, "WORK", 1e7)
    assert 0 < small < prove_by_words(network, oracle).proved < 15
    monkeypatch.setattr(every_word, "WORK", 1)
    nothing = prove_by_words(network, oracle)
    assert (nothing.proved, nothing.prefixes, nothing.wrong, nothing.opened) == (-1, 0, None, ())


@pytest.mark.slow
def test_more_work_is_done_where_it_reaches_the_length_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_of(5, 1, layers=2)
    oracle = oracle_of(network, "output t0: t0 | t1")
    network = levelled(network, oracle, 5.0)
    monkeypatch.setattr(every_word, "WORK", 1)
    assert prove_by_words(network, oracle, 6).proved == -1
    assert prove_by_words(network, oracle, 6, thorough=True).proved == 6
    nothing = LayerLimits(few=1, work=-1.0)
    assert prove_layers(network, oracle, 6, nothing).proved == 6
    assert prove_layers(network, oracle, None, nothing).proved == 0
    # all or nothing: a part of the lengths is not worth more work
    monkeypatch.setattr(every_word, "MORE_WORK", 1)
    assert prove_by_words(network, oracle, 6, thorough=True).proved == -1
    assert prove_layers(network, oracle, 6, nothing).proved == 0


def test_progress_is_reported() -> None:
    network = network_of(5, 1, layers=2)
    oracle = oracle_of(network, "output t0: t0 | t1")
    seen: list[tuple[int, int]] = []
    prove_by_words(levelled(network, oracle, 5.0), oracle, 5, report=lambda *pair: seen.append(pair))
    assert seen == sorted(seen)
    assert seen[-1] == (63, 63)


def test_a_machine_with_too_many_states_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The difference of two counts has 2 n + 1 values up to length n: 25 for 12 symbols, and 9 for 4."""
    network = network_of(5, 1, "before after", layers=2)
    oracle = oracle_of(network, "assume: !(#[t0] = #[t1])\noutput t0: #[t0] > #[t1] | #[t1] > #[t0]")
    network = levelled(network, oracle, 5.0)
    monkeypatch.setattr("hardsim.proof.external.demands.MOST_STATES", 20)
    with pytest.raises(NotProved, match="over 20 states"):
        prove_by_words(network, oracle, 12)
    monkeypatch.setattr(every_word, "FEWER", 4)
    proof = prove_by_words(network, oracle, 12)
    assert (proof.proved, proof.longest, proof.prefixes) == (4, 12, 2 + 2 + 8 + 10)
    assert proof.reason == "the machine of the specification has too many states beyond 4 symbols"


# ---- what is refused ----


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mask": Mask.NONE}, "is not causal"),
        ({"mask": Mask.PAST}, "is not causal"),
        ({"rows": None}, "give a greatest length"),
    ],
)
def test_refused_networks(change: dict[str, Any], message: str) -> None:
    network = replace(made(layers=2, **change), readout=Readout(at="each", alphabet=SYMBOLS))
    with pytest.raises(NotProved, match=message):
        prove_by_words(network, None)


def test_refused_references() -> None:
    network = network_of(0, 1, layers=2)
    with pytest.raises(NotProved, match="program or a function"):
        prove_by_words(network, lambda word: True)


# ---- trained networks ----

SHARED = Path(__file__).parents[4] / "shared" / "trained"


def test_the_shipped_flipflop_to_nine() -> None:
    """The margins are those of the search, by word."""
    external: Any = read_input(str(FORMULAS / "flipflop.spec")).target(ModelOptions())
    proof = prove_by_words(external.network, external.oracle, 9)
    assert (proof.proved, proof.prefixes) == (9, 1 + 1 + 2 + 6 + 10 + 30 + 50 + 150 + 250 + 750)
    engine, network = DenseFloat(external.network), external.network
    for n in (4, 9):
        words = list(external.domain.words(n))
        tokens = np.array([network.read(word) for word in words])
        mid, rad = engine.run(n, tokens, [tokens.shape[1] - 1])
        rule = Rule(network.outputs, replace(network.readout, at="last"))
        expected = ExpectedOutputs.of_values([ended(external.oracle(word)) for word in words], rule.place)
        result = rule.compare(mid - rad, mid + rad, expected)
        assert proof.margins[n].low == pytest.approx(float(result.low.min()), abs=1e-5)


def test_an_open_class_of_two_layers_has_a_reason_in_one_line() -> None:
    """A word is a sequence of pairs: one of 7 symbols is one of the 50 of 6 with one of three instructions."""
    external: Any = read_input(str(FORMULAS / "flipflop.spec")).target(ModelOptions())
    found = prefix_proof(external, 12, most=100)
    assert (found.proved_to, found.complete, found.open[0].length) == (6, False, 7)
    assert found.reason is not None
    assert found.reason.startswith("there are 150 prefixes of 7 symbols, too many to run, and bounds from the weights")
    assert found.open_text.startswith("open: prefixes of 7 symbols that end with ")
    assert found.open_text.endswith(f" more classes: {found.reason}")
    assert replace(found, open=found.open[:2]).open_text.endswith(f"; and 1 more class: {found.reason}")
    assert prefix_proof(external, 6, most=100).reason is None


@pytest.mark.skipif(not SHARED.is_dir(), reason="the trained networks are not here")
def test_a_published_network_of_two_layers(tmp_path: Path) -> None:
    text = f"network: {SHARED / 'tomita7'}\nalphabet: 0 1\ntokens: 0 1 <bos> <sep> <eos> <pad>\n"
    place = tmp_path / "here.spec"
    place.write_text(f"{text}input: <bos> *\nnext: /0*1*0*1*/\n", "utf-8")
    external: Any = read_input(str(place)).target(ModelOptions())
    proof = prove_by_words(external.network, external.oracle, 25)
    assert (proof.proved, proof.opened, proof.wrong) == (25, (), None)
    # a word that begins with 0 changes its symbol at most three times, one that begins with 1 at most twice
    changes = [(n, count) for n in range(1, 26) for most in (3, 2) for count in range(most + 1)]
    assert proof.prefixes == 1 + sum(comb(n - 1, count) for n, count in changes)
