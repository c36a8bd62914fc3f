"""Proofs that a network answers as specified after every prefix of some lengths, by running every one of them.

Any number of layers and heads is allowed, if no token sees what follows it. All prefixes of at most some length form a
tree, and `run.dense_tree` does the work of one token for each prefix. Prefixes that no judged prefix begins with are
left out: the machine of the demands has no state for them. The tree is walked in depth, some hundred prefixes of one
length at a time, so that few keys and values are kept; the lengths are taken in stages, each of a few times the work of
those before it, so that a wrong prefix is found before much longer ones are run.

Outputs are enclosed in certified float64. A margin is positive if the lower end of what should be greater is above the
upper end of what should not; where neither this nor its opposite is certain, ball arithmetic decides the prefix alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from fractions import Fraction
from itertools import accumulate, pairwise
from math import inf, nextafter
from typing import Any

import numpy as np

from hardsim.errors import Undecided
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.proof.external.columns import steady_positions
from hardsim.proof.external.demands import NOWHERE, PrefixDemands, Requirement, demands_of, require_answer_at_end
from hardsim.proof.external.prove import ExternalProof, LengthMargins, OpenClass, WrongPrefix, greatest_length
from hardsim.proof.external.result import symbols
from hardsim.proof.shared.result import NotProved
from hardsim.records import about
from hardsim.run.dense_balls import DenseBalls
from hardsim.run.dense_float import DenseFloat
from hardsim.run.dense_tree import Prefixes, PrefixTree, shares_prefixes
from hardsim.run.enclosure import Floats, Integers, rounded
from hardsim.run.soft import bounds

WORK = 3 * 10**10
"""The work on all prefixes that is done where no number of prefixes is given, in units of about a nanosecond."""
MORE_WORK = 30 * WORK
"""The work that is done where a length is asked for and that suffices for all prefixes to it."""
OF_KEY, OF_PARAMETER, OF_HEAD, OF_LAYER = 1.7, 0.1, 1_500.0, 1_000.0
"""The work on a token for each number of the keys and values that it sees, and for each parameter, head and layer (with
one more for the outputs)."""
STAGE = 8
"""The work up to the end of a stage, as a multiple of that up to its start."""
FEWER = 48
"""Greatest length of the prefixes that are run if the machine of a specification has too many states for longer
ones."""
TOO_MANY = "the machine of the specification has too many states"
MOST_ALONE = 64
"""Greatest number of prefixes of one length that ball arithmetic decides."""


def prove_by_words(
    network: Network,
    oracle: Any,
    longest: int | None = None,
    most: int | None = None,
    report: Callable[[int, int], None] | None = None,
    thorough: bool = False,
) -> ExternalProof:
    """Return what is proved of a network whose specification has this oracle by running all prefixes of as many lengths
    as the work allows, of at most `longest` symbols (None: of as many as the table of positions has room for).

    `most` is the greatest number of prefixes of one length that are run; None: as many as WORK allows, or all if
    `longest` was asked for (`thorough`) and MORE_WORK allows that. `report` is called with the number of prefixes that
    were run, and of those that will be. Lengths that are not run are neither proved nor open in the result. Raises
    NotProved if the answers after a prefix depend on more than the prefix, or if the oracle does not say what is
    required after each."""
    greatest = greatest_length(network, longest)
    require_answer_at_end(network)
    if not shares_prefixes(network, network.readout.at == "last"):
        raise NotProved("the network is not causal, so its prefixes cannot be run alone")
    demands = short_demands(oracle, network, greatest)
    thorough = thorough and demands.longest == greatest
    run = _Run(network, demands, most, report or (lambda done, total: None), thorough)
    found = run.run()
    if found.longest == greatest:
        return found
    cut = None if found.wrong or found.opened else found.reason or f"{TOO_MANY} beyond {symbols(found.longest)}"
    return replace(found, longest=greatest, reason=cut)


def too_many(length: int, count: int) -> str:
    """Return the reason why the prefixes of a length are not run: there are so many."""
    return f"there are {about(count)} prefixes of {symbols(length)}, too many to run"


def words_reach(network: Network, demands: PrefixDemands, thorough: bool = False) -> int:
    """Return the greatest length up to which all prefixes are run where no number of prefixes is given; `thorough`: the
    greatest length of the demands is asked for."""
    return _Run(network, demands, None, lambda done, total: None, thorough).last


def few_reach(oracle: Any, network: Network, longest: int, most: int) -> int:
    """Return the greatest length up to which every length has at most `most` prefixes; -1 if not even the empty one is
    one. Raises NotProved as `demands_of` does."""
    return _first_above(short_demands(oracle, network, greatest_length(network, longest)).live(), most) - 1


def _first_above(numbers: Sequence[float], most: float) -> int:
    """Return the index of the first number above a limit, or the count of the numbers."""
    return next((index for index, number in enumerate(numbers) if number > most), len(numbers))


def short_demands(oracle: Any, network: Network, longest: int) -> PrefixDemands:
    """Return what an oracle requires after every prefix of at most `longest` symbols, or of at most FEWER if the
    machine for these has too many states. Raises NotProved as `demands_of` does."""
    try:
        return demands_of(oracle, network, longest)
    except NotProved:
        if longest <= FEWER:
            raise
        return demands_of(oracle, network, FEWER)


@dataclass(slots=True)
class Pending:
    """Prefixes that are to be run: the prefixes of a symbol less that they extend, given by index, with the symbols,
    the states that they lead to, and the height of the store of the tree before them."""

    before: Prefixes
    of: Integers
    words: Integers
    """The numbers of their symbols, (prefixes, length)."""
    states: Integers
    height: tuple[int, int]


@dataclass(slots=True)
class RunLength:
    """The facts about the prefixes of one length that were run: bounds of the least margin of those that are decided,
    and those that certified float64 leaves open, as many as ball arithmetic may decide."""

    margins: LengthMargins = field(default_factory=LengthMargins)
    wrong: WrongPrefix | None = None
    count: int = 0
    """The number of prefixes that are left open."""
    left: list[tuple[tuple[int, ...], int, float, float]] = field(default_factory=list)
    """Symbols of these, the kind of what is required, and bounds of the margin."""


class _Run:
    """A walk over the tree of prefixes."""

    def __init__(
        self,
        network: Network,
        demands: PrefixDemands,
        most: int | None,
        report: Callable[[int, int], None],
        thorough: bool,
    ) -> None:
        self.network, self.demands, self.report, self.thorough = network, demands, report, thorough
        readout = network.readout
        self.before = [network.ids[str(token)] for token in readout.before]
        self.after = [network.ids[str(token)] for token in readout.after] if readout.at == "last" else []
        self.symbols = np.array([network.ids[symbol] for symbol in network.symbols], dtype=np.int64)
        self.floats = DenseFloat(network)
        self.counts = demands.live()
        self.last = self._affordable(most)
        size = len(self.before) + max(self.last, 0) + len(self.after)
        self.tree = PrefixTree(self.floats, steady_positions(network, self.last, size))
        self.required = np.array(demands.required, dtype=np.int64)
        self.rules = [MarginRule(kind, network.readout.level) for kind in demands.kinds]
        self.facts: dict[int, RunLength] = {}
        self.done = 0

    # ---- the choice of lengths ----

    def _work(self) -> list[float]:
        """Return the work on all prefixes of each length."""
        extra, around = 1 + len(self.after), len(self.before) + len(self.after)
        base = work_on(self.network, 0)
        step = work_on(self.network, 1) - base
        return [count * extra * (base + step * (around + n)) for n, count in enumerate(self.counts)]

    def _affordable(self, most: int | None) -> int:
        """Return the greatest length up to which all prefixes are run; -1 if not even the empty one is."""
        if most is not None:
            return _first_above(self.counts, most) - 1
        total = list(accumulate(self._work()))
        return _first_above(total, MORE_WORK if self.thorough and total[-1] <= MORE_WORK else WORK) - 1

    def _stages(self) -> list[tuple[int, int]]:
        """Return the lengths of each stage: the first, and the one after the last."""
        ends, before = [self.last + 1], list(accumulate(self._work(), initial=0.0))
        while ends[-1] > 1:
            limit = before[ends[-1]] / STAGE
            below = max((n for n in range(ends[-1]) if before[n] <= limit), default=0)
            ends.append(below)
        ends.reverse()
        starts = [0, *ends[:-1]]
        return [(start, stop) for start, stop in zip(starts, ends, strict=True) if start < stop]

    # ---- the walk ----

    def run(self) -> ExternalProof:
        """Return the result."""
        done = 0
        try:
            for start, stop in self._stages():
                self._walk(start, stop)
                done = stop
                wrong = self._shortest_wrong
                # shorter prefixes that float64 leaves open may be wrong, too
                if self._settle(stop if wrong is None else wrong) or wrong is not None:
                    break
        except KeyboardInterrupt:
            return replace(self._result(done), opened=(), reason="the proof was interrupted", interrupted=True)
        return self._result(done)

    @property
    def _shortest_wrong(self) -> int | None:
        return min((n for n, facts in self.facts.items() if facts.wrong is not None), default=None)

    def _walk(self, start: int, stop: int) -> None:
        """Run all prefixes of less than `stop` symbols, and judge those of at least `start`. Longer ones than a wrong
        one are left out."""
        tree = self.tree
        tree.used = 0, 0
        root = tree.root
        for token in self.before:
            root = tree.extended(root, np.zeros(1, dtype=np.int64), np.array([token]))
        none = np.zeros((1, 0), dtype=np.int64)
        if start == 0:
            self._judge(root, none, np.zeros(1, dtype=np.int64))
        stack = self._following(root, none, np.zeros(1, dtype=np.int64), stop)
        while stack:
            pending = stack.pop()
            n = pending.words.shape[1]
            if (wrong := self._shortest_wrong) is not None and n > wrong:
                continue
            tree.used = pending.height
            made = tree.extended(pending.before, pending.of, self.symbols[pending.words[:, -1]])
            if n >= start:
                self._judge(made, pending.words, pending.states)
            stack += self._following(made, pending.words, pending.states, stop)

    def _following(self, made: Prefixes, words: Integers, states: Integers, stop: int) -> list[Pending]:
        """Return the prefixes of one more symbol than some prefixes, if they have less than `stop`; the last ones
        first."""
        if words.shape[1] + 1 >= stop:
            return []
        targets = self.demands.moves[states]
        of, symbols = np.nonzero(targets != NOWHERE)
        words = np.concatenate([words[of], symbols[:, None]], axis=1)
        states = targets[of, symbols]
        count = -(-len(of) // self.tree.together)
        ends = [len(of) * part // max(count, 1) for part in range(count + 1)]
        parts = [slice(*pair) for pair in pairwise(ends)]
        height = self.tree.used
        return [Pending(made, of[part], words[part], states[part], height) for part in reversed(parts)]

    def _judge(self, made: Prefixes, words: Integers, states: Integers) -> None:
        """Compare the outputs after prefixes of one length with what is required."""
        n = words.shape[1]
        kinds = self.required[states] if n >= self.demands.shortest else np.full(len(words), -1)
        chosen = np.flatnonzero(kinds >= 0)
        self.done += len(words)
        self.report(self.done, sum(self.counts[: self.last + 1]))
        if not len(chosen):
            return
        facts = self.facts.setdefault(n, RunLength())
        mid, rad = self._outputs(made, chosen)
        kinds = kinds[chosen]
        low, high = np.empty(len(chosen)), np.empty(len(chosen))
        for kind in np.unique(kinds).tolist():
            rows = np.flatnonzero(kinds == kind)
            low[rows], high[rows] = self.rules[kind].of_enclosures(mid[rows], rad[rows])
        wrong, open_rows = high < 0, np.flatnonzero(~((low > 0) | (high < 0)))
        sure = np.ones(len(chosen), dtype=np.bool_)
        sure[open_rows] = False
        facts.margins.low = min(facts.margins.low, float(low[sure].min(initial=inf)))
        facts.margins.high = min(facts.margins.high, float(high[sure].min(initial=inf)))
        facts.count += len(open_rows)
        for row in open_rows[: max(0, MOST_ALONE - len(facts.left))].tolist():
            word = tuple(words[chosen[row]].tolist())
            facts.left.append((word, int(kinds[row]), float(low[row]), float(high[row])))
        if wrong.any():
            row = int(high.argmin())
            self._refuted(facts, words[chosen[row]].tolist(), float(high[row]))

    def _refuted(self, facts: RunLength, word: Sequence[int], margin: float) -> None:
        """Note a wrong prefix, if its margin is the least so far."""
        if facts.wrong is None or margin < facts.wrong.margin:
            facts.wrong = WrongPrefix(tuple(self.network.symbols[symbol] for symbol in word), margin)

    def _outputs(self, made: Prefixes, chosen: Integers) -> tuple[Floats, Floats]:
        """Return the outputs where the network is read after some of the prefixes."""
        if not self.after:
            if not made.tokens:
                raise NotProved("no token is read before the first symbol")
            return self.tree.outputs(made, chosen)
        height, of = self.tree.used, chosen
        for token in self.after:
            made = self.tree.extended(made, of, np.full(len(chosen), token))
            of = np.arange(len(chosen))
        found = self.tree.outputs(made)
        self.tree.used = height
        return found

    # ---- single prefixes in ball arithmetic ----

    def _settle(self, stop: int) -> bool:
        """Decide the prefixes of less than `stop` symbols that are left open. Return True if one is wrong, or stays
        open."""
        balls = DenseBalls(self.network, floats=self.floats)
        for n in range(stop):
            facts = self.facts.get(n)
            if facts is None or not facts.left:
                continue
            if facts.count > len(facts.left):
                return True
            facts.left = [one for one in facts.left if not self._alone(balls, facts, one[0], one[1])]
            facts.count = len(facts.left)
            if facts.left or facts.wrong is not None:
                return True
        return False

    def _alone(self, balls: DenseBalls, facts: RunLength, word: tuple[int, ...], kind: int) -> bool:
        """Decide one prefix, and return True if it is decided."""
        network, rule = self.network, self.rules[kind]
        n, start = len(word), len(self.before)
        tokens = network.read([network.symbols[symbol] for symbol in word])
        place = len(tokens) - 1 if network.readout.at == "last" else start + n - 1

        def ends(rows: Sequence[Sequence[Any]]) -> tuple[list[Fraction], list[Fraction]]:
            pairs = [bounds(value) for value in rows[0]]
            return [low for low, _ in pairs], [high for _, high in pairs]

        def settled(rows: Sequence[Sequence[Any]]) -> bool:
            try:
                return rule.decided(*ends(rows)) is not None
            except Undecided:  # something has no bounds yet
                return False

        try:
            rows, _ = balls.run(n, tokens, [place], settled)
        except Undecided:
            return False
        low, high = rule.of_numbers(*ends(rows))
        facts.margins.low = min(facts.margins.low, _below(low))
        facts.margins.high = min(facts.margins.high, -_below(-high))
        if rule.decided(*ends(rows)) is False:
            self._refuted(facts, word, -_below(-high))
        return True

    # ---- the result ----

    def _result(self, done: int) -> ExternalProof:
        facts = self.facts
        wrong_length = self._shortest_wrong
        open_length = min((n for n, one in facts.items() if one.count), default=None)
        ends = [end - 1 for end in (wrong_length, open_length) if end is not None]
        proved = min([*ends, done - 1])
        margins = {n: facts[n].margins for n in sorted(facts) if n <= proved}
        wrong = None if wrong_length is None else facts[wrong_length].wrong
        opened = () if open_length is None or proved != open_length - 1 else self._opened(open_length)
        covered = sum(self.demands.words()[: proved + 1])
        greatest, reason = self.demands.longest, None
        if proved == self.last < greatest:
            reason = too_many(proved + 1, self.counts[proved + 1])
        return ExternalProof(greatest, proved, covered, wrong, opened, margins, 0, 0, reason)

    def _opened(self, n: int) -> tuple[OpenClass, ...]:
        """Return the prefixes of one length that are left open, by their last symbols."""
        by_symbol: dict[str | None, tuple[float, float]] = {}
        for word, _, low, high in self.facts[n].left:
            name = self.network.symbols[word[-1]] if word and not self.after else None
            before = by_symbol.get(name, (inf, inf))
            by_symbol[name] = min(before[0], low), min(before[1], high)
        return tuple(OpenClass(n, name, low, high) for name, (low, high) in by_symbol.items())


def _below(value: Fraction) -> float:
    """Return a float that is at most a number."""
    near, off = rounded(value)
    return near if off == 0 else nextafter(near - off, -inf)


class MarginRule:
    """The margin of what is required: the greatest over its choices of the least difference of two outputs, or of an
    output and the level.

    A row (a, b) is right if output a is above output b; with b the level, if it is above the level; with a the level,
    if output b is at most the level. So a margin of 0 may be right, but nothing is right or wrong by a bound of 0.
    """

    def __init__(self, required: Requirement, level: Fraction) -> None:
        self.required, self.level = required, level
        near, off = rounded(level)
        self.ends = (near, near) if off == 0 else (nextafter(near - off, -inf), nextafter(near + off, inf))
        self.rows = [np.array(choice, dtype=np.int64).reshape(-1, 2).T for choice in required.choices]

    def of_enclosures(self, mid: Floats, rad: Floats) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of the margins from outputs (prefixes, outputs). Each end is rounded once, and
        so is each difference."""
        ends = []
        for side, level in zip((-1, 1), self.ends, strict=True):
            end = np.nextafter(mid + side * rad, side * inf)
            ends.append(np.concatenate([end, np.full((len(mid), 1), level)], axis=1))  # -1 is the level
        found = []
        for side, (over, under) in ((-1, ends), (1, ends[::-1])):
            by_choice = [
                np.nextafter(over[:, above] - under[:, below], side * inf).min(axis=1, initial=inf)
                for above, below in self.rows
            ]
            found.append(np.max(by_choice, axis=0))
        return found[0], found[1]

    def of_numbers(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        """Return bounds of the margin from bounds of the outputs."""
        over, under = [*low, self.level], [*high, self.level]
        least = max(min(over[a] - under[b] for a, b in choice) for choice in self.required.choices)
        most = max(min(under[a] - over[b] for a, b in choice) for choice in self.required.choices)
        return least, most

    def decided(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> bool | None:
        """Return whether the answer is right, from bounds of the outputs; None if these do not say it."""
        over, under = [*low, self.level], [*high, self.level]
        if any(all(over[a] > under[b] or (a < 0 and over[a] >= under[b]) for a, b in c) for c in self.required.choices):
            return True
        if all(any(under[a] < over[b] or (b < 0 and under[a] <= over[b]) for a, b in c) for c in self.required.choices):
            return False
        return None


def work_on(network: Network, tokens: int) -> float:
    """Return the work on one token that sees this number of tokens, in units of about a nanosecond."""
    columns = sum(int(head.w_k.shape[1] + head.w_v.shape[1]) for head in network.heads)
    parts = OF_LAYER * (1 + len(network.layers)) + OF_HEAD * len(network.heads)
    return parts + OF_PARAMETER * network.weights + OF_KEY * columns * tokens
