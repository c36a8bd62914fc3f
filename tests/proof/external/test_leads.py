"""Leads of one-layer networks, compared with every word of a length."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Network, Readout
from hardsim.proof.external import leads
from hardsim.proof.external.demands import NOWHERE
from hardsim.proof.external.leads import Leads, Word
from hardsim.proof.shared.result import NotProved
from hardsim.run.dense_float import DenseFloat
from tests.proof.external.test_prove import (
    COUNTING,
    KINDS,
    MOST,
    NEXT,
    by_kind,
    margin_of,
    network_of,
    oracle_of,
)
from tests.support.dense_networks import made
from tests.support.external import mean_of_a

N = 8
FORMULA = MOST.format(assume="t0 | Y t1")


def margins(network: Network, found: Leads) -> dict[tuple[int, int], dict[Word, float]]:
    """Return the margins of all judged words of N symbols by class: the state before the last symbol and that symbol,
    or the state after it and -1 where tokens follow the word."""
    by: dict[tuple[int, int], dict[Word, float]] = {}
    engine, ending = DenseFloat(network), found.prover.columns.symbol_last
    for numbers in product(range(len(network.symbols)), repeat=N):
        states = [0]
        for number in numbers:
            states.append(NOWHERE if states[-1] == NOWHERE else int(found.demands.moves[states[-1], number]))
        if states[-1] == NOWHERE or found.demands.required[states[-1]] < 0:
            continue
        word = tuple(network.symbols[number] for number in numbers)
        tokens = np.array([network.read(word)])
        outputs, _ = engine.run(N, tokens, [tokens.shape[1] - 1])
        required = found.demands.kinds[found.demands.required[states[-1]]]
        pair = (states[-2], numbers[-1]) if ending else (states[-1], -1)
        by.setdefault(pair, {})[word] = margin_of(required, outputs[0, 0], float(network.readout.level))
    return by


def mean_network() -> tuple[Network, Any]:
    """Return a network over t0 and t1 whose output is a share of t0, with its oracle."""
    network = mean_of_a(Fraction(-5, 9), 12, Readout(at="each", level=Fraction(0)), tokens=("t0", "t1"))
    network = replace(network, outputs=("t0",))
    return network, oracle_of(network, "output t0: #L[t0] > #L[t1]")


def test_a_linear_network_is_led_to_the_worst_word_of_each_class() -> None:
    """All weights are equal, so the output is linear in the symbols: no prefix of a class is worse than the lead."""
    network, oracle = mean_network()
    found = Leads(network, oracle, N)
    first, by = found.first(), margins(network, found)
    worst = {pair: min(some.values()) for pair, some in by.items()}
    chosen = [(pair, some[word]) for word in first for pair, some in by.items() if word in some]
    assert len(chosen) == len(first) == len({*first})
    assert {pair for pair, _ in chosen} <= worst.keys()
    for pair, margin in chosen:
        assert margin == pytest.approx(worst[pair])
    # the classes that are not chosen are no worse
    assert len(worst) > leads.WORST
    for pair in worst.keys() - {pair for pair, _ in chosen}:
        assert worst[pair] >= max(margin for _, margin in chosen) - 1e-9


def test_a_judged_word_leads_to_the_worst_one_of_its_class() -> None:
    network, oracle = mean_network()
    found = Leads(network, oracle, N)
    for some in margins(network, found).values():
        word = max(some, key=lambda one: some[one])
        least = min(some.values())
        after = found.after([word])
        assert [some[one] for one in after] == pytest.approx(
            [least] if some[word] > least else [some[one] for one in after]
        )
        assert word not in after


@pytest.mark.parametrize("heads", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_leads_have_small_margins(heads: int) -> None:
    """On networks of all kinds the least margin of the leads is nearly always among the least hundredth of all margins;
    not where the least one lies between words to which slopes lead. The level makes margins small: a row is divided by
    the scale of the last norm, which only matters far from 0."""
    small = 0
    numbers = range(0, len(KINDS), 3)
    for number in numbers:
        network = by_kind(number, heads, size=0.5)
        oracle = oracle_of(network, FORMULA)
        least = min(min(some.values()) for some in margins(network, Leads(network, oracle, N)).values())
        network = replace(network, readout=replace(network.readout, level=network.readout.level + Fraction(least)))
        found = Leads(network, oracle, N)
        every = {word: margin for some in margins(network, found).values() for word, margin in some.items()}
        first = found.first()
        reached = min(every[word] for word in [*first, *found.after(first)])
        small += sum(margin < reached for margin in every.values()) <= len(every) // 100
        assert len(first) <= 2 * leads.WORST
    assert small >= len(numbers) - 1


def test_leads_where_tokens_follow_the_word_and_for_argmax() -> None:
    network = network_of(1, 2, "before after", heads=1, k=3, size=0.5)
    network = replace(network, readout=replace(network.readout, decide="argmax"))
    found = Leads(network, oracle_of(network, COUNTING), N)
    every = {word: margin for some in margins(network, found).values() for word, margin in some.items()}
    first = found.first()
    assert min(every[word] for word in [*first, *found.after(first)]) == min(every.values())


def test_leads_of_next_symbols_are_prefixes_of_the_language() -> None:
    network = network_of(2, 4, size=0.5)
    found = Leads(network, oracle_of(network, NEXT), N)
    every = {word for some in margins(network, found).values() for word in some}
    assert found.first()
    assert {*found.first()} <= every
    assert found.after([("t1",) * N]) == []  # no judged prefix


def test_a_length_without_judged_words_has_no_leads() -> None:
    network = network_of(2, 4, size=0.5)
    found = Leads(network, oracle_of(network, "next: /t0 t1/"), N)
    assert found.first() == []
    assert found.after([("t0",) * N]) == []


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    network, oracle = mean_network()
    deep = replace(
        made(seed=0, layers=2, rows=16, vocabulary=4, outputs=1), readout=network_of(0).readout, outputs=("t0",)
    )
    with pytest.raises(NotProved, match="2 layers"):
        Leads(deep, oracle_of(deep, FORMULA), N)
    with pytest.raises(NotProved, match="not from formulas"):
        Leads(network, lambda word: True, N)
    monkeypatch.setattr(leads, "MOST", 10)
    with pytest.raises(NotProved, match="8 symbols have 16 classes"):
        Leads(network, oracle, N)
    monkeypatch.setattr(leads, "MOST_SYMBOLS", 1)
    with pytest.raises(NotProved, match="more than 1 symbols"):
        Leads(network, oracle, N)
