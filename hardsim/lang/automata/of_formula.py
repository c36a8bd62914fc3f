"""The minimal deterministic automaton of a formula.

Let every operator of the core language (see `core`) have a track: its truth values along the word. The words whose
track of the whole formula is true at the last position are a language of two states. Tracks are then removed, the whole
formula's first and those of its operands later: the automaton runs beside the machine of the operator (`tracks`), which
allows the one track that the operands and symbols determine, and the track itself is forgotten. Connectives need no
machine: they are functions of other tracks at the same position. What is left reads symbols alone.

Forgetting the track of an operator of the future makes the automaton nondeterministic, since its machine guesses. It is
made deterministic again by sets of states (Rabin and Scott 1959), and minimal after every step. This is the translation
of MONA (Henriksen et al. 1995) with operators in the place of quantifiers over sets; the machines are ours. A past
formula with m operators that keep a truth value has at most 2^m states, a future one up to 2^2^m.

A conjunction or disjunction is made from the automata of its parts, the smallest first, because most parts of a
specification are small and their tracks then never meet.

No automaton library serves here: those that are well kept list the symbols of an alphabet one by one, and an alphabet
of 20 propositions has a million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from functools import reduce
from heapq import heapify, heappop, heappush
from itertools import count
from typing import cast

from hardsim.errors import Undecided, Unsupported
from hardsim.kept import kept
from hardsim.lang.ast import Formula, FormulaFile, Nary
from hardsim.lang.automata.automaton import MAX_STATES, Automaton
from hardsim.lang.automata.diagrams import MOST_STEPS, DecisionDiagrams, TooManySteps
from hardsim.lang.automata.lettered import AutomatonTooLarge, lettered
from hardsim.lang.automata.letters import Digits
from hardsim.lang.automata.minimal import Transitions, minimised, started_at
from hardsim.lang.automata.tracks import Machine, Memory, Moves, NotRegular, Timed, machine_of
from hardsim.lang.core import And, Core, Letters, Lit, Node, Xor
from hardsim.lang.desugar import desugar
from hardsim.lang.pretty import brief_formula
from hardsim.lazy_dataclass import dataclass

MOST_HELD = 3_000_000
"""Greatest number of pairs, of a state and a guess, that the states of an automaton stand for on the way."""


class NoAutomaton(Undecided):
    """An error for a formula without an automaton here: its language is not known to be regular, or the automaton would
    be too large."""


class AutomatonTooSlow(NoAutomaton):
    """An error for a formula whose automaton would take too many steps to build."""


@kept
def automaton_of_formula(file: FormulaFile, most_steps: int = MOST_STEPS) -> Automaton:
    """Return the minimal automaton of the non-empty words that satisfy a formula at its own position. Whether the
    automaton accepts the empty word means nothing: of the two automata the smaller one is returned.

    Raises NoAutomaton if the formula compares counts that can both grow, uses a predicate of positions that is no
    congruence, or if a limit is exceeded on the way: MAX_STATES states, MOST_LETTERS letters, MOST_ENTRIES transitions,
    `most_steps` nodes of decision diagrams that are combined, or the limits of compiled formulas.
    """
    try:
        core = desugar(file)
    except Unsupported as error:
        raise NoAutomaton(f"this formula is not compiled: {error.message}") from None
    operator, parts = parts_of(file.formula)
    cores = [core] if operator is None else [desugar(replace(file, formula=part)) for part in parts]
    digits = Digits(core.alphabet, [node.symbols for one in cores for node in _live(one) if isinstance(node, Letters)])
    diagrams = DecisionDiagrams(digits.sizes, most_steps)
    try:
        # From the last part to the first: of several parts without an automaton the last one is cited.
        found = [_Removal(one, digits, diagrams).transitions() for one in reversed(cores)]
        rows = _joined(diagrams, found, any if operator == "|" else all)
        return lettered(digits, diagrams, started_at(diagrams, rows))
    except AutomatonTooLarge as error:
        raise NoAutomaton(f"the automaton of this formula would be too large: {error}") from None
    except TooManySteps:
        raise AutomatonTooSlow("the automaton of this formula would take too many steps to build") from None


def parts_of(formula: Formula) -> tuple[str | None, list[Formula]]:
    """Return the parts of a conjunction or disjunction, with its operator; None for other formulas."""
    if not isinstance(formula, Nary) or formula.op == "^":
        return None, [formula]
    found: list[Formula] = []
    waiting: list[Formula] = [formula]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Nary) and one.op == formula.op:
            waiting += reversed(one.args)
        else:
            found.append(one)
    return formula.op, found


def _live(core: Core) -> list[Node]:
    return [core.nodes[number] for number in core.live]


@dataclass
class _Removal:
    """An automaton over symbols and tracks, from which the tracks are removed one by one."""

    core: Core
    digits: Digits
    diagrams: DecisionDiagrams
    timed: list[int] = field(default_factory=list)
    """The numbers of the operators that have a track."""

    def __post_init__(self) -> None:
        self._truths: dict[int, int] = {}
        for number in self.core.live:
            self._truths[number] = self._truth(number)
        root = self.operand(self.core.root)
        after = self.diagrams.combined(int, root)
        self.rows = minimised(self.diagrams, Transitions((after, after), frozenset({1})))

    def _truth(self, number: int) -> int:
        """Return the diagram of a node's truth at a position: of its track, or of those of its operands."""
        match self.core.nodes[number]:
            case Letters(symbols):
                return self.digits.diagram(self.diagrams, symbols)
            case And(args):
                parts = map(self.operand, args)
                return reduce(lambda one, two: self.diagrams.combined(lambda a, b: bool(a and b), one, two), parts)
            case Xor(left, right):
                return self.diagrams.combined(lambda a, b: a != b, self._truths[left], self._truths[right])
            case _:
                # Operands have smaller numbers: the track that is removed next is always the first variable.
                self.timed.append(number)
                return self.diagrams.truth(-1 - number)

    def operand(self, lit: Lit) -> int:
        """Return the diagram of the truth of a literal at a position."""
        truth = self._truths[lit.node]
        return self.diagrams.combined(lambda value: not value, truth) if lit.negated else truth

    def transitions(self) -> Transitions:
        """Remove the tracks of all operators (their truth at each position), and return the transitions of what is
        left: an automaton over symbols."""
        for number in reversed(self.timed):
            self.remove(number)
        return self.rows

    def remove(self, number: int) -> None:
        """Remove the track of an operator (its truth at each position), whose number is the greatest among those left:
        intersect with the machine of the operator, leave the track out, minimise."""
        node = cast("Timed", self.core.nodes[number])
        try:
            machine = machine_of(node, self.diagrams, self.operand)
        except NotRegular as error:
            raise NoAutomaton(f"hardsim makes no automaton of {self._cited(number)}: {error}") from None
        self.rows = minimised(self.diagrams, _Beside(self.diagrams, self.rows, machine, -1 - number).rows())

    def _cited(self, number: int) -> str:
        mention = self.core.mentions.get(number)
        return (
            "a part of this formula"
            if mention is None or mention.node is None
            else f"'{brief_formula(mention.node, 60)}'"
        )


def _joined(
    diagrams: DecisionDiagrams, parts: list[Transitions], accepted: Callable[[Iterable[bool]], bool]
) -> Transitions:
    """Return the minimal automaton of a conjunction or disjunction of automata: always the two with the fewest states
    are made one. Raises AutomatonTooLarge if one of these has too many states."""
    waiting = [(len(part.moves), number, part) for number, part in enumerate(parts)]
    heapify(waiting)
    for number in count(len(parts)):
        one = heappop(waiting)[-1]
        if not waiting:
            return one
        both = _product(diagrams, one, heappop(waiting)[-1], accepted)
        heappush(waiting, (len(both.moves), number, both))
    raise AssertionError("unreachable")


def _product(
    diagrams: DecisionDiagrams, one: Transitions, other: Transitions, accepted: Callable[[Iterable[bool]], bool]
) -> Transitions:
    """Return the minimal automaton of two that run side by side."""
    numbers, rows = {(0, 0): 0}, list[int]()
    order, memo = [(0, 0)], dict[tuple[int, ...], int]()
    for mine, theirs in order:  # which grows
        row = diagrams.combined(lambda a, b: (a, b), one.moves[mine], other.moves[theirs], memo=memo)
        for pair in diagrams.values(row):
            if pair not in numbers:
                if len(numbers) == MAX_STATES:
                    raise AutomatonTooLarge(f"over {len(numbers):,} states before it is minimised")
                numbers[pair] = len(numbers)
                order.append(pair)
        rows.append(row)
    renamed: dict[tuple[int, ...], int] = {}
    moves = tuple(diagrams.combined(numbers.__getitem__, row, memo=renamed) for row in rows)
    accepting = (number for (a, b), number in numbers.items() if accepted((a in one.accepting, b in other.accepting)))
    return minimised(diagrams, Transitions(moves, frozenset(accepting)))


class _Beside:
    """An automaton that runs beside a machine, made deterministic: a state is a set of pairs of their states."""

    def __init__(self, diagrams: DecisionDiagrams, rows: Transitions, machine: Machine, track: int) -> None:
        self.diagrams, self.old, self.machine, self.track = diagrams, rows, machine, track
        self._moves: dict[Memory, int] = {}
        self._pairs: dict[tuple[int, Memory], int] = {}
        self._paired: dict[tuple[int, ...], int] = {}
        self._joined: dict[tuple[int, ...], int] = {}

    def rows(self) -> Transitions:
        """Return the deterministic automaton. Raises AutomatonTooLarge if it has too many states."""
        first = frozenset((0, memory) for memory in self.machine.first)
        numbers, order, rows = {first: 0}, [first], list[int]()
        held = 0
        for state in order:  # which grows
            row = self._row(state)
            for target in self.diagrams.values(row):
                if target not in numbers:
                    held += len(target)
                    if len(numbers) == MAX_STATES or held > MOST_HELD:
                        raise AutomatonTooLarge(
                            f"over {len(numbers):,} states before it is minimised, of {held:,} pairs"
                        )
                    numbers[target] = len(numbers)
                    order.append(target)
            rows.append(row)
        memo: dict[tuple[int, ...], int] = {}
        moves = tuple(self.diagrams.combined(numbers.__getitem__, row, memo=memo) for row in rows)
        accepting = frozenset(number for state, number in numbers.items() if any(map(self._accepts, state)))
        return Transitions(moves, accepting)

    def _accepts(self, pair: tuple[int, Memory]) -> bool:
        return pair[0] in self.old.accepting and self.machine.final(pair[1])

    def _row(self, state: frozenset[tuple[int, Memory]]) -> int:
        """Return the diagram of the next set of pairs."""
        parts = [self._pair(*pair) for pair in state] or [self.diagrams.leaf(frozenset())]
        while len(parts) > 1:  # in halves, so that sets of many pairs share work
            pairs = zip(parts[::2], parts[1::2], strict=False)
            odd = parts[-1:] if len(parts) % 2 else []
            parts = [self.diagrams.combined(frozenset.union, *two, memo=self._joined) for two in pairs] + odd
        return parts[0]

    def _pair(self, state: int, memory: Memory) -> int:
        """Return the diagram of the sets of pairs that follow one pair."""
        if (state, memory) not in self._pairs:
            if memory not in self._moves:
                self._moves[memory] = self.machine.moves(memory)
            ways = self.diagrams.children(self.old.moves[state], self.track)
            self._pairs[state, memory] = self.diagrams.combined(_paired, self._moves[memory], *ways, memo=self._paired)
        return self._pairs[state, memory]


def _paired(moves: Moves, without: int, following: int) -> frozenset[tuple[int, Memory]]:
    """Return the pairs that follow, where the automaton goes on by the value that the machine allows."""
    return frozenset((following if truth else without, memory) for truth, memory in moves)
