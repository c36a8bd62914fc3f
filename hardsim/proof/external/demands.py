"""The requirements of a specification on an external network, by state of a machine that reads the word.

By causality the outputs at a position depend on the prefix that ends there alone, so what is required is stated for
prefixes (the word itself, where the network is read at its end). A `PrefixDemands` is a deterministic machine over the
symbols whose states say what is required after a prefix: nothing, or a `Requirement`. Its states are those that some
prefix of at most `longest` symbols reaches and from which a judged prefix can be reached; with counters they are
finitely many at each length.

A `Requirement` is a list of choices, each a list of rows. A row is a linear combination of the outputs and the level;
the answer is right if all rows of some choice are above 0, and the margin is the greatest over the choices of the least
row. Outputs compared with a level have one choice, with a row for each judged output; an argmax has one for each output
that may win, with a row for each that may not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any

import numpy as np

from hardsim.errors import Undecided, Unsupported
from hardsim.lang.automata.of_formula import NoAutomaton, automaton_of_formula
from hardsim.lang.desugar import desugar
from hardsim.lang.spec.domain import leading
from hardsim.lang.spec.oracle import ExpectedColumn, FormulaTruth, InLanguage, Lines, Matches, Negated, NextSymbols
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.proof.external.online import AutomatonReader, NegatedReader, NotOnline, Online, State, WordReader
from hardsim.proof.shared.result import NotProved
from hardsim.run.enclosure import Booleans, Floats, Integers

MOST_STATES = 20_000
"""Greatest number of states of a machine."""
NOWHERE = -1


@dataclass(frozen=True)
class Requirement:
    """The right answers after a prefix: `choices` are lists of rows (see the module), each as the numbers of two
    outputs, the first of which should be greater; -1 stands for the level."""

    choices: tuple[tuple[tuple[int, int], ...], ...]

    def rows(self, outputs: int) -> tuple[Floats, Floats, list[slice]]:
        """Return the factors of the outputs (outputs, rows), the factor of the level in each row, and the rows of each
        choice."""
        every = [row for choice in self.choices for row in choice]
        factors, levels = np.zeros((outputs, len(every))), np.zeros(len(every))
        for place, (above, below) in enumerate(every):
            for output, sign in ((above, 1.0), (below, -1.0)):
                if output < 0:
                    levels[place] += sign
                else:
                    factors[output, place] += sign
        ends = np.cumsum([0, *map(len, self.choices)]).tolist()
        return factors, levels, [slice(*pair) for pair in pairwise(ends)]


@dataclass(frozen=True)
class PrefixDemands:
    """The machine of what is required (see the module). Words begin in state 0."""

    moves: Integers
    """The next state, (states, symbols); NOWHERE where no judged prefix can follow."""
    required: tuple[int, ...]
    """By state, the index in `kinds`; -1 where nothing is judged."""
    kinds: tuple[Requirement, ...]
    shortest: int
    """0 if the empty prefix may be judged, else 1."""
    longest: int

    def reached(self) -> Booleans:
        """Return which states some prefix of each length ends in, (longest + 1, states)."""
        found = np.zeros((self.longest + 1, len(self.moves)), dtype=np.bool_)
        found[0, 0] = True
        for n in range(self.longest):
            targets = self.moves[found[n]].ravel()
            found[n + 1, targets[targets != NOWHERE]] = True
        return found

    def _counts(self) -> Iterator[dict[int, int]]:
        """Yield, for each length from 0 on, the number of prefixes by the state that they lead to."""
        counts = {0: 1}
        rows: list[list[int]] = self.moves.tolist()
        yield counts
        for _ in range(self.longest):
            after: dict[int, int] = {}
            for state, count in counts.items():
                for target in rows[state]:
                    if target != NOWHERE:
                        after[target] = after.get(target, 0) + count
            counts = after
            yield counts

    def live(self) -> list[int]:
        """Return the number of prefixes of each length from 0 to `longest` that are judged, or begin a longer judged
        prefix."""
        return [sum(counts.values()) for counts in self._counts()]

    def words(self) -> list[int]:
        """Return the number of judged prefixes of each length, from 0 on."""
        found = [
            sum(count for state, count in counts.items() if self.required[state] >= 0) for counts in self._counts()
        ]
        found[0] *= self.shortest == 0
        return found


def require_answer_at_end(network: Network) -> None:
    """Raise NotProved unless a network answers at the end of a prefix."""
    readout = network.readout
    if readout.at == "first" or readout.pooled == "start":
        raise NotProved("the network is read at the first position; proofs are about its answers after prefixes")
    if readout.pooled == "mean":
        raise NotProved(
            "the network answers from the mean of all positions, each a nonlinear function of the word; proofs are "
            "about answers at the last one"
        )


def demands_of(oracle: Any, network: Network, longest: int) -> PrefixDemands:
    """Return what an oracle of a specification requires of a network after every prefix of at most `longest` symbols.
    Raises NotProved if that does not depend on the prefix alone, or is no decision by outputs."""
    readout, symbols = network.readout, network.symbols
    require_answer_at_end(network)
    if readout.decide == "value":
        raise NotProved("the output is compared with a number; proofs are about outputs above a level, and argmax")
    outputs = [str(output) for output in network.outputs]
    if len({*outputs}) < len(outputs):
        raise NotProved("two outputs of the network have the same name")
    chosen = _Decision(network, outputs)
    if isinstance(oracle, NextSymbols):
        if oracle.at != "last" and not oracle.causal:
            raise NotProved("the answers depend on what follows a prefix: the network is not causal")
        reader = AutomatonReader.of(oracle.automaton, symbols)
        allowed = _allowed(oracle)
        return _machine([reader], lambda states: chosen.of(allowed[states[0]]), len(symbols), longest, oracle.empty)
    if not isinstance(oracle, Lines):
        raise NotProved("what is expected comes from a program or a function, not from formulas or expressions")
    ending = readout.at == "last"
    readers = [_reader(column, symbols, ending) for _, column in oracle.lines]
    names = [name for name, _ in oracle.lines]
    if oracle.assume is not None:
        readers.append(_reader(oracle.assume, symbols, ending))

    def required(states: tuple[State, ...]) -> Requirement | None:
        truths = [reader.truth(state) for reader, state in zip(readers, states, strict=True)]
        if oracle.assume is not None and not truths.pop():
            return None
        return chosen.of_lines(names, truths)

    return _machine(readers, required, len(symbols), longest, False)


class _Decision:
    """Turns expected answers into what is required of outputs."""

    def __init__(self, network: Network, outputs: Sequence[str]) -> None:
        self.decide, self.names = network.readout.decide, outputs
        self.place = {name: number for number, name in enumerate(outputs)}
        among = network.readout.among
        self.among = outputs if among is None else [name for name in outputs if name in {*map(str, among)}]

    def of(self, allowed: AbstractSet[str] | None) -> Requirement | None:
        """Return what is required where these outputs, and no others, are right answers."""
        if allowed is None:
            return None
        if self.decide == "above":
            return self._above({name: name in allowed for name in self.names})
        may = [self.place[name] for name in self.among if name in allowed]
        others = [self.place[name] for name in self.among if name not in allowed]
        if not may:
            raise NotProved("after some prefix every right answer is an output that the argmax leaves out")
        return Requirement(tuple(tuple((one, other) for other in others) for one in may)) if others else None

    def of_lines(self, names: Sequence[str | None], truths: Sequence[bool]) -> Requirement | None:
        """Return what is required where lines about outputs have these truths; the name of the only output is None."""
        if names == [None]:
            if self.decide == "argmax":
                return self.of({str(truths[0])})
            return self._above({self.names[0]: truths[0]})
        pairs = {str(name): truth for name, truth in zip(names, truths, strict=True)}
        if self.decide == "above":
            return self._above(pairs)
        holding = {name for name, truth in pairs.items() if truth}
        if len(holding) != 1:
            raise NotProved("after some prefix not exactly one output line is true, as an argmax requires")
        return self.of(holding)

    def _above(self, pairs: Mapping[str, bool]) -> Requirement:
        rows = [(self.place[name], -1) if truth else (-1, self.place[name]) for name, truth in pairs.items()]
        return Requirement((tuple(rows),))


def _reader(column: ExpectedColumn, symbols: tuple[str, ...], ending: bool) -> WordReader:
    """Return a machine for the truth of a line after each prefix. Raises NotProved if there is none."""
    if isinstance(column, Negated):
        return NegatedReader(_reader(column.column, symbols, ending))
    if isinstance(column, Matches | InLanguage):
        return AutomatonReader.of(column.automaton, symbols)
    if not isinstance(column, FormulaTruth):
        raise NotProved(
            "a line names a program, or a formula read elsewhere; proofs are about formulas and expressions"
        )
    try:
        online = Online(desugar(column.file.read_at("last")), symbols, ending)
    except Unsupported as error:
        raise NotProved(f"a formula of the specification is not compiled: {error.message}") from None
    except NotOnline as error:
        if not ending:
            raise NotProved(f"what a formula requires at a position depends on later positions: {error}") from None
        return AutomatonReader.of(_automaton(column, str(error)), symbols)
    try:
        return AutomatonReader.of(automaton_of_formula(column.file.read_at("last")), symbols)
    except NoAutomaton:
        return online


def _automaton(column: FormulaTruth, why: str) -> Any:
    """Return the automaton of a formula that is not read from left to right; `why` is the reason."""
    try:
        return automaton_of_formula(column.file.read_at("last"))
    except Undecided as error:
        message = f"a formula of the specification cannot be read from left to right ({why})"
        raise NotProved(f"{message}, and has no automaton: {error}") from None


def _allowed(oracle: NextSymbols) -> list[AbstractSet[str] | None]:
    """Return by state of the automaton the outputs that may come next; None where no word can be completed."""
    automaton, live = oracle.automaton, leading(oracle.automaton)
    found: list[AbstractSet[str] | None] = []
    for state, row in enumerate(automaton.moves):
        letters = frozenset(letter for letter, target in enumerate(row) if target in live)
        after = {symbol for symbol, _ in automaton.letters.symbols(letters)} if letters else set[str]()
        ends = {oracle.end} if oracle.end is not None and state in automaton.accepting else set[str]()
        found.append(after | ends if state in live else None)
    return found


def _machine(readers: Sequence[WordReader], required: Any, symbols: int, longest: int, empty: bool) -> PrefixDemands:
    """Return the machine of readers that run side by side, on words of at most `longest` symbols; `required` gives what
    is required in a joint state."""
    first = tuple(reader.first for reader in readers)
    numbers, order, rows = {first: 0}, [first], list[list[int]]()
    layer = [first]
    for _ in range(longest):
        new = []
        for state in layer:
            row = []
            for symbol in range(symbols):
                target = tuple(reader.step(one, symbol) for reader, one in zip(readers, state, strict=True))
                if target not in numbers:
                    if len(numbers) == MOST_STATES:
                        raise NotProved(f"the machine of the specification has over {MOST_STATES:,} states")
                    numbers[target] = len(numbers)
                    order.append(target)
                    new.append(target)
                row.append(numbers[target])
            rows.append(row)
        layer = new
        if not layer:
            break
    rows += [[NOWHERE] * symbols] * (len(order) - len(rows))  # states of words of the greatest length
    kinds: dict[Requirement, int] = {}
    of: list[int] = []
    for number, state in enumerate(order):
        # the start state may be judged after symbols, though it is not judged before them
        found = required(state) if number or empty or _returns(rows) else None
        of.append(-1 if found is None else kinds.setdefault(found, len(kinds)))
    useful = _leading(rows, {state for state, kind in enumerate(of) if kind >= 0})
    moves = np.array([[one if one in useful else NOWHERE for one in row] for row in rows], dtype=np.int64)
    return PrefixDemands(moves.reshape(len(order), symbols), tuple(of), tuple(kinds), 0 if empty else 1, longest)


def _returns(rows: Sequence[Sequence[int]]) -> bool:
    return any(0 in row for row in rows)


def _leading(rows: Sequence[Iterable[int]], goals: set[int]) -> set[int]:
    """Return the states from which one of some states is reached."""
    sources: list[list[int]] = [[] for _ in rows]
    for state, row in enumerate(rows):
        for target in row:
            if target != NOWHERE:
                sources[target].append(state)
    found, left = set(goals), list(goals)
    while left:
        for source in sources[left.pop()]:
            if source not in found:
                found.add(source)
                left.append(source)
    return found
