"""Certificates of random networks of every kind: true ones are accepted, and those with one wrong answer are not.

The specification is an automaton whose states are all words up to a length, so any answers to words can be written
down: those that the network gives, and those in which one output after one word is the opposite.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from hardsim.verify.arithmetic import Rejected
from hardsim.verify.external.affine import AfterHeads
from hardsim.verify.external.check import check_external
from hardsim.verify.external.network import read_network
from hardsim.verify.external.sections import EXTERNAL_CLAIM, EXTERNAL_VERSION
from tests.support.network_sections import after_heads, attended, embedded, network_section

KINDS = [*product(["relu", "gelu", "gelu_new", "silu", None], ["layer", "rms", None], [False, True])]
LONGEST = 3
WORDS = [word for n in range(LONGEST + 1) for word in product(range(2), repeat=n)]
STATE = {word: number for number, word in enumerate(WORDS)}
NAMES = ("yes", "no")
Truths = Mapping[tuple[int, ...], tuple[bool, ...]]
"""By word, whether each of NAMES should be above the level."""


class Case:
    """A random network with its answers and the means of its heads after all words."""

    def __init__(self, seed: str, activation: str | None, kind: str | None, post: bool, heads: int) -> None:
        source = random.Random(seed)
        self.data = network_section(source, activation, kind, post, heads)
        self.network = read_network(self.data)
        self.axes = [[[float(k == j) for j in range(width)] for k in range(width)] for width in self.widths]
        self.rest = AfterHeads(self.network, [(rows, [1e-9] * len(rows)) for rows in self.axes])
        self.margins, self.means = {}, dict[tuple[int, ...], list[float]]()
        for word in WORDS:
            tokens = [0, *(1 + symbol for symbol in word)]
            means = attended(self.data, tokens)
            outputs = after_heads(self.data, embedded(self.data, tokens[-1], len(tokens) - 1), means)
            self.means[word] = [float(z) for mean in means for z in mean]
            self.margins[word] = [float(outputs[k]) - 1 / 3 for k in range(len(NAMES))]
        self.truths = {word: tuple(margin > 0 for margin in margins) for word, margins in self.margins.items()}

    @property
    def widths(self) -> list[int]:
        return [len(head.o.rows) for head in self.network.heads]

    def certificate(self, truths: Truths, running: bool = False) -> dict[str, Any]:
        """Return a certificate that says that the network gives these answers; `running` runs all words."""
        kinds = [*product([False, True], repeat=len(NAMES))]
        rows = [[(k, -1) if true else (-1, k) for k, true in enumerate(kind)] for kind in kinds]
        moves = [[STATE.get((*word, symbol), -1) for symbol in range(2)] for word in WORDS]
        groups: dict[tuple[int, int, tuple[bool, ...]], list[tuple[int, ...]]] = {}
        for word in WORDS[1:]:
            groups.setdefault((len(word), word[-1], truths[word]), []).append(word)
        lines = [
            [name, {"kind": "matches", "automaton": {
                "symbols": ["a", "b"],
                "moves": [[max(target, 0) for target in row] for row in moves],
                "accepting": [STATE[word] for word in WORDS[1:] if truths[word][k]],
            }}]
            for k, name in enumerate(NAMES)
        ]  # fmt: skip
        return {
            "schema_version": EXTERNAL_VERSION,
            "claim": EXTERNAL_CLAIM,
            "min_n": 1,
            "max_n": LONGEST,
            "network": self.data,
            "specification": {"kind": "lines", "lines": lines, "assume": None},
            "machine": {
                "moves": moves,
                "required": [-1, *(kinds.index(truths[word]) for word in WORDS[1:])],
                "kinds": [[[[*row] for row in choice]] for choice in rows],
            },
            "axes": self.axes,
            "groups": [
                {
                    "length": length,
                    "symbol": symbol,
                    "states": [STATE[word[:-1]] for word in words],
                    "tree": self.tree(words, rows[kinds.index(kind)], running),
                }
                for (length, symbol, kind), words in groups.items()
            ],
            "wrong": None,
        }

    def tree(self, words: list[tuple[int, ...]], choice: list[tuple[int, int]], running: bool) -> dict[str, Any]:
        points = [self.means[word] for word in words]
        low, high = ([side(column) for column in zip(*points, strict=True)] for side in (min, max))
        low, high = [a - 1e-9 for a in low], [a + 1e-9 for a in high]
        where = 1 + words[0][-1], len(words[0])
        node = {"words": True} if running else self.node(where, low, high, choice, 7)
        return {"box": [low, high], "tree": node}

    def node(
        self, where: tuple[int, int], low: list[float], high: list[float], choice: list[tuple[int, int]], depth: int
    ) -> dict[str, Any]:
        """Return a tree of cells in which the rows are positive where they can be: the widest side is halved."""
        try:
            bounds = self.rest.rows(*where, low, high, choice)
        except Rejected:
            bounds = []
        widths = [b - a for a, b in zip(low, high, strict=True)]
        falls = [sum(abs(s) * w / 2 for s, w in zip(slopes, widths, strict=True)) for _, slopes, _ in bounds]
        fine = bounds and all(g - e - fall > 1e-12 for (g, _, e), fall in zip(bounds, falls, strict=True))
        if fine or depth == 0 or not low:
            return {"choice": 0, "rows": {}}
        k = widths.index(max(widths))
        cut = (low[k] + high[k]) / 2
        return {
            "split": [k, cut],
            "low": self.node(where, low, [*high[:k], cut, *high[k + 1 :]], choice, depth - 1),
            "high": self.node(where, [*low[:k], cut, *low[k + 1 :]], high, choice, depth - 1),
        }


def accepted(document: dict[str, Any]) -> bool:
    try:
        check_external(document)
    except Rejected:
        return False
    return True


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("number", range(len(KINDS)))
def test_one_wrong_answer(number: int) -> None:
    case = Case(f"wrong {number}", *KINDS[number], 1 + number % 2)
    assert accepted(case.certificate(case.truths, running=True))
    order = sorted((abs(margin), word, k) for word in WORDS[1:] for k, margin in enumerate(case.margins[word]))
    # the smallest margins are the hardest to tell
    for _, word, k in (order[0], order[-1]):
        changed = tuple(true != (place == k) for place, true in enumerate(case.truths[word]))
        for running in (False, True):
            assert not accepted(case.certificate({**case.truths, word: changed}, running))


def test_most_true_certificates_are_accepted() -> None:
    cases = [Case(f"true {k}", *KINDS[k], 1) for k in range(len(KINDS))]
    assert sum(accepted(case.certificate(case.truths)) for case in cases) > len(cases) / 2
