"""Sweeps: random networks and specifications against every word, and trained networks with a wrong weight."""

from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Activation, Mlp, Network, NetworkHead, NetworkLayer, Norm
from hardsim.proof.external.demands import NOWHERE, demands_of
from hardsim.proof.external.prove import ExternalProof, WorkLimits, prove_external
from hardsim.run.dense_float import DenseFloat
from tests.proof.external.test_prove import (
    COUNTING,
    FORMULAS,
    SHARED,
    SMALL,
    TRAINED,
    compare,
    margin_of,
    network_of,
    of_spec,
    oracle_of,
    truth_of,
)

TRUTHS = ("Y t1", "t0 S t1", "H (t0 -> Y t1)", "MOD(3, 1, #L[t0])", "#L[t0] > #L[t1]", "O (t0 & Y t0)", "t0")


def expression(rng: Random, depth: int) -> str:
    """Return a random regular expression over t0 and t1."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["t0", "t1"])
    parts = [expression(rng, depth - 1) for _ in range(rng.choice([2, 2, 3]))]
    return rng.choice(["({})*", "({})", "({})"]).format(rng.choice([" ", "|"]).join(parts))


def random_text(rng: Random) -> tuple[str, bool]:
    """Return a random specification, and whether it is about the last position alone."""
    kind = rng.randrange(5)
    if kind < 2:
        return f"next: /({expression(rng, 3)})*/", False
    if kind == 2:
        return f"assume: {rng.choice(TRUTHS)}\noutput t0: t0 | t1", False
    if kind == 3:
        return f"output t0: {rng.choice(TRUTHS)}\noutput t1: {rng.choice(TRUTHS)}", False
    return COUNTING, True


def random_network(seed: int, last: bool, rng: Random) -> Network:
    """Return a random network; each activation, norm, order of norms and number of heads occurs."""
    shape: dict[str, Any] = {
        "activation": list(Activation)[seed % 4], "norm": ("layer", "rms", None)[seed % 3], "post": seed % 2 == 1,
        "heads": seed % 5 % 4, "d": rng.choice([4, 6, 8]), "k": rng.choice([1, 2, 4]), "mlp": rng.choice([0, 5, 10]),
        "size": rng.choice([0.3, 0.7, 1.0]), "cold": rng.choice([1, 1, 8]), "biases": rng.random() < 0.7,
    }  # fmt: skip
    template = rng.choice(["before after", "after"]) if last else rng.choice(["before", ""])
    return network_of(rng.randrange(10**6), 2 if last else 4, template, **shape)


def against_every_word(seed: int, longest: int) -> list[ExternalProof]:
    """Compare proofs of a random network with every word: by dividing boxes, and with all means."""
    rng = Random(seed)
    text, last = random_text(rng)
    network = random_network(seed, last, rng)
    if last or (text.startswith("next") and rng.random() < 0.5):
        network = replace(network, readout=replace(network.readout, decide="argmax"))
    oracle = oracle_of(network, text)
    if text.startswith("assume") and not last:
        # a level near the least output of short words, so that some longer words are wrong
        found = truth_of(network, demands_of(oracle, network, longest), longest)
        least = min((low for n, low in found.low.items() if n < longest), default=0.0)
        level = Fraction(least - rng.choice([0.001, 0.03, 0.3]))
        network = replace(network, readout=replace(network.readout, level=level))
    return [compare(network, oracle, longest, limits) for limits in (SMALL, WorkLimits())]


@pytest.mark.parametrize("seed", range(10))
def test_some_random_networks(seed: int) -> None:
    against_every_word(seed, 6)


@pytest.mark.slow
def test_random_networks() -> None:
    right = wrong = opened = 0
    for seed in range(100):
        _, proof = against_every_word(seed, 10)
        right, wrong, opened = right + (proof.proved == 10), wrong + proof.shortest, opened + bool(proof.opened)
    print(f"{right} right, {wrong} wrong, {opened} open")
    assert right >= 5
    assert wrong >= 50
    assert opened <= 3


# ---- planted faults in trained networks ----


class Faults:
    """Copies of a trained network with one wrong weight each, and their shortest wrong lengths by running all words."""

    def __init__(self, external: Any, longest: int) -> None:
        self.network: Network = external.network
        self.oracle, self.longest = external.oracle, longest
        self.demands = demands_of(self.oracle, self.network, longest)

    def damaged(self, rng: np.random.Generator) -> Network:
        """Return a copy with one changed weight."""
        network = self.network
        (layer,) = network.layers
        head = int(rng.integers(len(layer.heads)))
        parts: list[Any] = [network, layer.heads[head], layer.mlp, layer.norm_1, layer.norm_2, network.final, layer]
        some = [one for one in parts if one is not None]
        owner = some[int(rng.integers(len(some)))]
        arrays = [one.name for one in fields(owner) if isinstance(getattr(owner, one.name), np.ndarray)]
        name = arrays[int(rng.integers(len(arrays)))]
        changed = np.array(getattr(owner, name))
        place = tuple(int(rng.integers(0, size)) for size in changed.shape)
        changed[place] += float(rng.choice([-1, 1]) * np.exp(rng.uniform(-3, 2)) * (np.abs(changed).mean() + 0.1))
        return self._with(owner, replace(owner, **{name: changed}), layer)

    def _with(self, old: object, new: object, layer: NetworkLayer) -> Network:
        changed = layer
        if isinstance(new, Network):
            return new
        if isinstance(new, Norm) and old is self.network.final:
            return replace(self.network, final=new)
        if isinstance(new, NetworkLayer):
            changed = new
        elif isinstance(new, NetworkHead):
            changed = replace(layer, heads=tuple(new if one is old else one for one in layer.heads))
        elif isinstance(new, Mlp):
            changed = replace(layer, mlp=new)
        elif isinstance(new, Norm):
            changed = replace(layer, norm_1=new) if old is layer.norm_1 else replace(layer, norm_2=new)
        return replace(self.network, layers=(changed,))

    def shortest_wrong(self, network: Network) -> tuple[int, int]:
        """Return the least lengths at which a word is certainly wrong, and perhaps wrong; beyond the longest: none."""
        engine, ids, readout = DenseFloat(network), network.ids, network.readout
        before = [ids[str(token)] for token in readout.before]
        after = [ids[str(token)] for token in readout.after]
        level, perhaps = float(readout.level), self.longest + 1
        words: list[tuple[tuple[int, ...], int]] = [((), 0)]
        for n in range(self.longest + 1):
            judged = [(word, self.demands.required[state]) for word, state in words]
            judged = [(word, kind) for word, kind in judged if kind >= 0 and n >= self.demands.shortest]
            if judged:
                tokens = np.array([[*before, *(ids[network.symbols[one]] for one in w), *after] for w, _ in judged])
                mid, rad = engine.run(n, tokens, [tokens.shape[1] - 1])
                kinds = self.demands.kinds
                margins = np.array([margin_of(kinds[k], mid[row, 0], level) for row, (_, k) in enumerate(judged)])
                off = 2 * rad[:, 0].max(axis=1)
                if (margins - off <= 0).any():
                    perhaps = min(perhaps, n)
                if (margins + off < 0).any():
                    return n, perhaps
            moves = self.demands.moves
            words = [
                ((*word, symbol), target)
                for word, state in words
                for symbol, target in enumerate(moves[state].tolist())
                if target != NOWHERE
            ]
        return self.longest + 1, perhaps


def planted(faults: Faults, count: int, seed: int) -> tuple[int, int]:
    """Prove `count` copies with a wrong weight for which some word is wrong. Return how many were refuted by a shortest
    word, and the sum of the shortest lengths."""
    rng, found, exact, total = np.random.default_rng(seed), 0, 0, 0
    while found < count:
        network = faults.damaged(rng)
        wrong, perhaps = faults.shortest_wrong(network)
        if wrong > faults.longest or (wrong <= 2 and rng.random() < 0.8):  # most are wrong at once
            continue
        found, total = found + 1, total + wrong
        proof = prove_external(network, faults.oracle, faults.longest)
        assert proof.proved < wrong
        assert proof.proved >= perhaps - 1 or proof.opened
        exact += proof.shortest
        if proof.shortest:
            assert proof.wrong is not None
            assert perhaps <= len(proof.wrong.word) <= wrong
    return exact, total


def test_some_wrong_weights_of_a_trained_network() -> None:
    exact, _ = planted(Faults(of_spec(FORMULAS / "dyck1_depth3.spec"), 10), 12, 1)
    assert exact >= 11


@pytest.mark.slow
def test_wrong_weights_of_trained_networks(tmp_path: Path) -> None:
    """Each network has the length to which all words are run."""
    places = {"dyck1_depth3": (FORMULAS / "dyck1_depth3.spec", 12), "majority": (FORMULAS / "majority.spec", 9)}
    for name, (alphabet, language, _, _) in TRAINED.items() if SHARED.is_dir() else ():
        lines = f"network: {SHARED / name}\nalphabet: {alphabet}\ntokens: {alphabet} <bos> <sep> <eos> <pad>\n"
        place = tmp_path / f"{name}.spec"
        place.write_text(f"{lines}input: <bos> *\nnext: {language}\n", "utf-8")
        places[name] = (place, {"tomita1": 60, "D2": 14, "ab_d_bc": 6}[name])
    each = 500 // len(places)
    for number, (name, (place, longest)) in enumerate(places.items()):
        exact, total = planted(Faults(of_spec(place), longest), each, number)
        print(f"{name}: {exact} of {each} refuted by a shortest word, of {total / each:.1f} symbols")
        assert exact >= 0.9 * each
