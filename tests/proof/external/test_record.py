"""Written proofs about external networks, compared with the outputs of heads on every word."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Network
from hardsim.proof.external.demands import NOWHERE, PrefixDemands, demands_of
from hardsim.proof.external.prove import prove_external
from hardsim.proof.external.record import ClassGroup, WrittenProof, recorded
from hardsim.proof.shared.result import NotProved
from hardsim.proving.external_certificate import CheckedRows, network_section
from tests.proof.external.test_prove import MOST, by_kind, levelled, network_of, oracle_of
from tests.support.model import Mask

LONGEST = 6


def written(network: Network, oracle: Any, longest: int = LONGEST) -> tuple[WrittenProof, PrefixDemands]:
    """Return the written proof of a network to the length to which it is proved, with its machine."""
    proof = prove_external(network, oracle, longest)
    assert proof.proved >= 1
    demands = demands_of(oracle, network, proof.proved)
    return noted(network, demands), demands


def noted(network: Network, demands: PrefixDemands) -> WrittenProof:
    """Return the written proof of a network for the lengths of a machine."""
    return recorded(network, demands, partial(CheckedRows, network_section(network, demands.longest), demands.longest))


def ended(demands: PrefixDemands, word: tuple[int, ...]) -> int:
    """Return the state of the machine after a word, or NOWHERE."""
    state = 0
    for symbol in word:
        state = int(demands.moves[state, symbol]) if state != NOWHERE else NOWHERE
    return state


def words_of(group: ClassGroup, demands: PrefixDemands) -> Iterator[tuple[int, ...]]:
    """Yield the prefixes of all classes of a group."""
    for word in product(range(demands.moves.shape[1]), repeat=group.length):
        before = word if group.symbol < 0 else word[:-1]
        if group.symbol in (-1, *word[-1:]) and ended(demands, before) in group.states:
            yield word


def attended(network: Network, word: tuple[int, ...]) -> list[Any]:
    """Return the output of each head after a word, before W_O, from the definition in plain floats."""
    (layer,), readout = network.layers, network.readout
    names = (*readout.before, *(network.symbols[one] for one in word), *readout.after)
    x = np.array([network.embedding[network.ids[str(name)]] for name in names])
    scale = float(network.embedding_scale.factor) / network.embedding_scale.root**0.5
    x = x * scale + network.positions[: len(names)]
    if layer.norm_1 is not None and not layer.post:
        x = normed(x, layer.norm_1)
    found = []
    for head in layer.heads:
        q, k, v = ((x @ w) + (0 if b is None else b) for w, b in zip(
            (head.w_q, head.w_k, head.w_v), (head.b_q, head.b_k, head.b_v), strict=True
        ))  # fmt: skip
        scores = float(head.scale.factor) / head.scale.root**0.5 * (k @ q[-1])
        weights = np.exp(scores - scores.max())
        found.append(weights @ v / weights.sum())
    return found


def normed(x: Any, norm: Any) -> Any:
    """Return rows of vectors after a norm."""
    y = x - x.mean(axis=1, keepdims=True) if norm.kind == "layer" else x
    y = y / np.sqrt((y * y).mean(axis=1, keepdims=True) + float(norm.epsilon))
    return y * (1 if norm.weight is None else norm.weight) + (0 if norm.bias is None else norm.bias)


def directions(tree: Any) -> Iterator[Any]:
    """Yield the directions of a tree with their bounds."""
    for half in ("low", "high") if "split" in tree else ():
        yield from directions(tree[half])
    yield from tree.get("rows", {}).values()


def require_true(network: Network, record: WrittenProof, demands: PrefixDemands) -> None:
    """Require that the groups have each judged class once, and that boxes and bounds hold on every word."""
    classes = [(one.length, one.symbol, state) for one in record.groups for state in one.states]
    assert len(set(classes)) == len(classes)
    covered = 0
    for group in record.groups:
        for word in words_of(group, demands):
            covered += 1
            z = [np.array(axes) @ a for axes, a in zip(record.axes, attended(network, word), strict=True)]
            joint = np.concatenate([np.zeros(0), *z])
            assert (np.array(group.low) <= joint + 1e-9).all()
            assert (joint <= np.array(group.high) + 1e-9).all()
            start = 0
            for number, part in enumerate(z):
                for direction, bounds in directions(group.tree):
                    assert np.array(direction[start : start + len(part)]) @ part <= bounds[number] + 1e-9
                start += len(part)
    assert covered == sum(demands.words())


@pytest.mark.parametrize("heads", [0, 1, 2])
@pytest.mark.parametrize("number", range(0, 24, 5))
def test_what_is_written_is_true_of_all_kinds(number: int, heads: int) -> None:
    network = by_kind(number, heads, size=0.5)
    oracle = oracle_of(network, MOST.format(assume=("t0 | Y t1", "t1 S t0", "!(Y Y t0)")[number % 3]))
    require_true(network, *written(levelled(network, oracle, 0.05), oracle))


@pytest.mark.parametrize("seed", range(4))
def test_counters(seed: int) -> None:
    network = network_of(seed, 1, "before after", heads=1 + seed % 2, k=3, size=0.5, mask=Mask.FUTURE)
    oracle = oracle_of(network, "assume: #[t0] > #[t1]\noutput t0: true")
    require_true(network, *written(levelled(network, oracle, 0.02), oracle))


@pytest.mark.parametrize("seed", range(4))
def test_next_symbols_from_the_empty_prefix_on(seed: int) -> None:
    network = network_of(seed, 3, size=0.5)
    bias = np.array([-1000.0, 1000.0, -1000.0])  # after t0 only t1 may follow, whatever the word
    network = replace(network, unembedding_bias=bias, readout=replace(network.readout, decide="argmax"))
    record, demands = written(network, oracle_of(network, "next: /t1(t1)*t0?/"))
    assert demands.shortest == 0 == record.groups[0].length
    require_true(network, record, demands)


def test_few_prefixes_are_run_where_the_box_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.proof.external.record.ROUNDS", 0)
    network = by_kind(3, 2, size=1.0)
    oracle = oracle_of(network, MOST.format(assume="t0 | Y t1"))
    record, demands = written(levelled(network, oracle, 0.001), oracle)
    assert any(group.tree == {"words": True} for group in record.groups)
    require_true(network, record, demands)
    monkeypatch.setattr("hardsim.proof.external.record.MANY", 0)
    with pytest.raises(NotProved, match="leave no margin for rounding errors"):
        written(levelled(network, oracle, 0.001), oracle)


def test_a_margin_that_rounding_could_hide_is_not_written() -> None:
    network = by_kind(0, 1, size=0.5)
    oracle = oracle_of(network, MOST.format(assume="t0 | Y t1"))
    level = levelled(network, oracle, 0.0).readout.level
    found = replace(network, readout=replace(network.readout, level=level - Fraction(1, 10**13)))
    assert prove_external(found, oracle, 5).proved == 5
    with pytest.raises(NotProved, match="no margin for rounding errors"):
        noted(found, demands_of(oracle, found, 5))
