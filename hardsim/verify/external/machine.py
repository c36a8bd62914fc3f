"""The requirements of a specification after each prefix, and the machine of a certificate that says the same.

`RequiredAnswers` is the checker's own reading of the section `specification`: readers that run side by side, and from
their state what is required of the outputs. A requirement is a set of choices, each a set of rows (above, below): the
numbers of two outputs, the first of which should be greater; -1 stands for the level. The network is right if all rows
of some choice hold.

The `machine` of a certificate is small, and the rest of the proof is about its states. `compare` walks all pairs of a
state of the machine and a state of the specification that one prefix leads to, up to the greatest length, and compares
what is required. A move -1 leads nowhere: after it nothing may be required, up to the greatest length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hardsim.verify.arithmetic import require
from hardsim.verify.external.readers import AutomatonTruth, FormulaReader, PrefixReader

Rows = frozenset[frozenset[tuple[int, int]]]
"""A requirement: choices of rows."""
NOWHERE = -1
LEVEL = -1
MOST_PAIRS = 500_000
"""Most pairs of states that are visited."""
ROOM = 1 << 24
"""Most values in all states of readers."""
MOST_REACHED = 1 << 20
"""Most states that are reached, over all lengths."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How answers are read from the outputs of a network: names of outputs, `above` or `argmax`, the outputs that take
    part in an argmax, symbols of words, and True if a word is read at its end alone."""

    outputs: Sequence[str]
    decide: str
    among: Sequence[str]
    symbols: Sequence[str]
    ending: bool

    def right(self, allowed: Iterable[str], place: str) -> Rows | None:
        """Return what is required where these outputs, and no others, are right answers; None if that is nothing."""
        names = {*allowed}
        if self.decide == "above":
            require(names <= {*self.outputs}, f"{place}: an answer is no output")
            return self.above({name: name in names for name in self.outputs})
        numbers = {name: number for number, name in enumerate(self.outputs)}
        may = [numbers[name] for name in self.among if name in names]
        others = [numbers[name] for name in self.among if name not in names]
        require(may, f"{place}: after some prefix every right answer is an output that the argmax leaves out")
        return frozenset(frozenset((one, other) for other in others) for one in may) if others else None

    def above(self, truths: dict[str, bool]) -> Rows | None:
        """Return what is required where outputs should be above the level or not; None if that is nothing."""
        numbers = {name: number for number, name in enumerate(self.outputs)}
        pairs = ((numbers[name], LEVEL) if true else (LEVEL, numbers[name]) for name, true in truths.items())
        return frozenset({frozenset(pairs)}) if truths else None


class RequiredAnswers:
    """The readers of a specification. The constructor raises Rejected if it does not fit the network's outputs and
    symbols, or requires what does not depend on the prefix alone. `spend` is called with the steps done."""

    def __init__(self, data: dict[str, Any], reading: Reading, spend: Callable[[int], None]) -> None:
        self.reading, self.place, self.spend = reading, "specification", spend
        self.readers: list[PrefixReader] = []
        self.empty = data["kind"] == "next" and data["empty"]
        """True if the empty prefix is judged."""
        if data["kind"] == "next":
            self._required = self._next(data)
        else:
            self._required = self._lines(data)
        self.kept = 0
        self._known: dict[Any, Rows | None] = {}
        self._steps: dict[Any, Any] = {}
        self.first = tuple(reader.first for reader in self.readers)

    def _next(self, data: dict[str, Any]) -> Callable[[Any], Rows | None]:
        reading, end = self.reading, data["end"]
        reader = AutomatonTruth(data["automaton"], reading.symbols, "specification.automaton")
        self.readers.append(reader)
        followers = reader.followers()

        def required(states: Any) -> Rows | None:
            (state,) = states
            names = followers[state]
            if names is None:
                return None
            ends = [end] if state in reader.accepting and end is not None else []
            return reading.right([*names, *ends], self.place)

        return required

    def _lines(self, data: dict[str, Any]) -> Callable[[Any], Rows | None]:
        reading, names = self.reading, [name for name, _ in data["lines"]]
        fine = names == [None] or (None not in names and {*names} <= {*reading.outputs} and len({*names}) == len(names))
        require(fine, "specification.lines: each line should name an output of its own; a single line may name none")
        judged = data["assume"] is not None
        for number, (_, column) in enumerate(data["lines"]):
            self._column(column, f"specification.lines[{number}]")
        if judged:
            self._column(data["assume"], "specification.assume")
        alone = names == [None]
        if alone and reading.decide == "above":
            require(len(reading.outputs) == 1, "specification.lines: the network has several outputs")
            names, alone = [*reading.outputs], False

        def required(states: Any) -> Rows | None:
            truths = [reader.truth(state) for reader, state in zip(self.readers, states, strict=True)]
            if judged and not truths.pop():
                return None
            if alone:
                return reading.right({str(truths[0])}, self.place)
            if reading.decide == "above":
                return reading.above(dict(zip(names, truths, strict=True)))
            holding = [name for name, truth in zip(names, truths, strict=True) if truth]
            require(len(holding) == 1, "specification.lines: after some prefix not exactly one line is true")
            return reading.right(holding, self.place)

        return required

    def _column(self, data: dict[str, Any], place: str) -> None:
        reading = self.reading
        if data["kind"] == "matches":
            self.readers.append(AutomatonTruth(data["automaton"], reading.symbols, f"{place}.automaton"))
        else:
            here = f"{place}.formula"
            self.readers.append(FormulaReader(data["formula"], reading.symbols, reading.ending, here, self.spend))

    def step(self, states: Any, symbol: int) -> Any:
        """Return the state of all readers after one more symbol."""
        found = []
        for number, (reader, state) in enumerate(zip(self.readers, states, strict=True)):
            key = number, state, symbol
            if key not in self._steps:
                self.spend(reader.cost)
                self.kept += reader.size + 8
                require(self.kept <= ROOM, "too large: too many states of the specification")
                self._steps[key] = reader.step(state, symbol)
            found.append(self._steps[key])
        return tuple(found)

    def required(self, states: Any) -> Rows | None:
        """Return what is required after a prefix that leads to this state; None if nothing is."""
        if states not in self._known:
            self._known[states] = self._required(states)
        return self._known[states]

    def after(self, word: Sequence[int]) -> Rows | None:
        """Return what is required after one word."""
        states = self.first
        for symbol in word:
            states = self.step(states, symbol)
        return self.required(states)


@dataclass(frozen=True, slots=True)
class ClaimedMachine:
    """The machine of a certificate: moves by state and symbol, the kind of requirement by state (-1: none), and the
    kinds as lists of choices of rows. Words begin in state 0."""

    moves: Sequence[Sequence[int]]
    required: Sequence[int]
    kinds: Sequence[Sequence[Sequence[tuple[int, int]]]]

    def reached(self, longest: int, spend: Callable[[int], None], passed: Mapping[int, int]) -> list[list[int]]:
        """Return the states that some prefix of each length leads to, from length 0 on; of the prefixes alone that are
        in the states `passed` after so many symbols (at least one), or are shorter and can get there. `spend` is called
        with the steps done."""
        layers, total = [[0]], 0
        for n in range(longest):
            total += len(layers[-1])
            require(total <= MOST_REACHED, "too large: the machine reaches too many states")
            spend(2 * len(layers[-1]) * len(self.moves[0]))
            found = {one for state in layers[-1] for one in self.moves[state]} - {NOWHERE}
            layers.append(sorted(found & {passed[n + 1]} if n + 1 in passed else found))
        for n in range(max(passed, default=0) - 1, -1, -1):
            after = {*layers[n + 1]}
            layers[n] = [state for state in layers[n] if not after.isdisjoint(self.moves[state])]
        return layers


def read_machine(data: dict[str, Any], symbols: int, outputs: int) -> ClaimedMachine:
    """Return the machine of a certificate of a network with so many symbols and outputs. Raises Rejected if states,
    kinds or outputs do not exist."""
    moves, required, kinds = data["moves"], data["required"], data["kinds"]
    require(moves and len(required) == len(moves), "machine.required: this should be a kind for each state")
    for state, row in enumerate(moves):
        fine = len(row) == symbols and all(NOWHERE <= target < len(moves) for target in row)
        require(fine, f"machine.moves[{state}]: this should be a state or -1 for each symbol")
    fine = all(-1 <= kind < len(kinds) for kind in required)
    require(fine, "machine.required: this should be the numbers of kinds, or -1")
    for number, kind in enumerate(kinds):
        rows = [row for choice in kind for row in choice]
        fine = bool(kind) and all(kind) and all(-1 <= one < outputs for row in rows for one in row)
        require(fine, f"machine.kinds[{number}]: this should be choices of rows of two outputs, -1 for the level")
    found = [[[(above, below) for above, below in choice] for choice in kind] for kind in kinds]
    return ClaimedMachine(moves, required, found)


def compare(
    machine: ClaimedMachine, specification: RequiredAnswers, longest: int, spend: Callable[[int], None]
) -> None:
    """Raise Rejected unless the machine requires after every prefix of at most `longest` symbols what the specification
    requires (after the empty one only if it is judged). `spend` is called with the steps done.

    A pair is followed where it is first reached: there the most symbols are left. The state NOWHERE stays where it is,
    and requires nothing.
    """
    kinds = [frozenset(frozenset(choice) for choice in kind) for kind in machine.kinds]
    nowhere, symbols = (NOWHERE,) * len(specification.reading.symbols), range(len(specification.reading.symbols))
    first = (0, specification.first)
    if specification.empty:
        _same(machine, kinds, specification, *first)
    layer, seen = [first], set[Any]()
    for _ in range(longest):
        after = []
        for state, states in layer:
            spend(len(symbols) * (2 + len(specification.readers)))
            row = nowhere if state == NOWHERE else machine.moves[state]
            for symbol in symbols:
                pair = row[symbol], specification.step(states, symbol)
                if pair not in seen:
                    seen.add(pair)
                    require(len(seen) <= MOST_PAIRS, "too large: too many states of the specification")
                    _same(machine, kinds, specification, *pair)
                    after.append(pair)
        layer = after


def _same(machine: ClaimedMachine, kinds: list[Rows], specification: RequiredAnswers, state: int, states: Any) -> None:
    """Raise Rejected unless a state of the machine requires what a state of the specification requires."""
    kind = -1 if state == NOWHERE else machine.required[state]
    found = None if kind < 0 else kinds[kind]
    what = "a move to -1" if state == NOWHERE else f"machine.required[{state}]"
    require(found == specification.required(states), f"{what}: the specification requires something else there")
