"""Patterns in the minimal automaton of a language that show that the language is outside a class.

Write `p v` for the state that a word v leads to from p. All states below are states of one minimal automaton.

- *R-trivial*: no two states lie on one cycle. With `p v = p`, `v = x y` and `q = p x`, the words `u v^k` and `u v^k x`
  lead to p and q for all k.
- *R-trivial before the last symbol*: two states on one cycle have the same successors. (The language of the words w
  with w a in L has the same moves; its minimal automaton merges the states that no word ending in a distinguishes. So
  all these languages are R-trivial if and only if no non-empty word is accepted from one of two states on one cycle
  and rejected from the other.)
- *DA*: there are no two states `p != q` and words v and w with `p v = p`, `q v = q` and `p w = q`, where every symbol
  of w occurs in v. Such words give `v^n w v^n != v^n` for every n. Conversely, if `e = (x y z)^n` is idempotent and
  `e y e != e`, then `v = (x y z)^n`, `w = y v`, and some p = s e and q = s e y e are such states.
- *L-trivial*: there are no three states s and `p != q` and words v, w and w' with `p v = p`, `q v = q`, `s w = p` and
  `s w' = q`, where every symbol of w and w' occurs in v. The argument is that for DA, with `w v^n = w' v^n` in place of
  `v^n w v^n = v^n`.

In the last two, the words v that lead from a pair of states back to the pair are the cycles of a strongly connected
component in the graph of pairs. One cycle has all symbols of the component, so that only this set of symbols matters.
Hence all four are decided without the syntactic monoid, in a time polynomial in the number of states.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from itertools import count
from math import gcd
from typing import TypeAlias, TypeVar

import numpy as np

from hardsim.lang.automata.automaton import Automaton, explored
from hardsim.lang.automata.monoid import Functions, TooManyElements, components, smallest_type
from hardsim.lang.automata.witnesses import AFTER, BEFORE, BETWEEN, BLOCKS, POWERS, ClassWitness

Node = TypeVar("Node", bound=Hashable)
Pair: TypeAlias = tuple[int, int]
States: TypeAlias = tuple[int, ...]
Letters: TypeAlias = list[int]

MAX_PAIRS = 500_000
"""Greatest number of pairs of states that are searched."""
MAX_TUPLES = 200_000
"""Greatest number of states in the tuples of a search for two words of one length."""
MAX_HELD = 2_000_000
"""Greatest number of states in the steps between tuples that are held in this search."""
FEW_HELD = 10_000
"""Greatest number of states in the tuples, or in the steps between them, of a first attempt."""
MAX_TURNS = 100_000
"""Greatest number of functions of states that the words of one length compute."""
TRIED = 20
"""Number of patterns of one kind from which the one with the shortest words is taken."""
MAX_TRIED = 20_000
"""Bounds the number of patterns tried, times the number of pairs that a search for their words may visit."""


class TooManyPairs(Exception):
    """An automaton has more than MAX_PAIRS pairs of states on cycles."""


def without_empty_word(automaton: Automaton) -> Automaton:
    """Return the smallest automaton that decides all non-empty words as the given one does. It may accept the empty
    word or not, whichever needs fewer states, so that it does not depend on what the given one does."""
    entered = {target for row in automaton.moves for target in row}
    # the words read from these states are the same, apart from the empty word
    first = [state for state, row in enumerate(automaton.moves) if row == automaton.moves[0]]
    start = min(first, key=lambda state: (state not in entered, state in automaton.accepting))
    return explored(automaton.letters, start, automaton.moves.__getitem__, automaton.accepting.__contains__)


def shortest(
    first: Node, after: Callable[[Node], Sequence[Node | None]], found: Callable[[Node], bool], least: int = 0
) -> Letters | None:
    """Return the letters of a shortest path of `least` (0 or 1) or more steps from a node to one that is looked for;
    None if there is none. `after` gives the next node by letter, None for a letter that must not be used."""
    if not least and found(first):
        return []
    before: dict[Node, tuple[Node | None, int]] = {first: (None, -1)}
    waiting = deque([first])
    while waiting:
        node = waiting.popleft()
        for letter, target in enumerate(after(node)):
            if target is None or (target in before and target != first):
                continue
            if found(target):
                path = [letter]
                while (step := before[node])[0] is not None:
                    node = step[0]
                    path.append(step[1])
                return path[::-1]
            if target not in before:
                before[target] = node, letter
                waiting.append(target)
    return None


class Patterns:
    """A language of non-empty words, by its smallest automaton, and searches for patterns in the automaton. Letters
    that all states agree on are one letter here."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = without_empty_word(automaton)
        moves = self.automaton.moves
        columns = {tuple(row[letter] for row in moves): letter for letter in reversed(range(len(moves[0])))}
        used = sorted(columns.values())
        self.moves = [tuple(row[letter] for letter in used) for row in moves]
        self._symbols = [self.automaton.letters.alphabet[self.automaton.letters.firsts[letter]] for letter in used]
        self.component = components(self.moves)
        """The strongly connected component of each state."""

    # ---- words ----

    def symbols(self, letters: Sequence[int]) -> tuple[str, ...]:
        """Return a word as symbols."""
        return tuple(self._symbols[letter] for letter in letters)

    def read(self, state: int, letters: Sequence[int]) -> int:
        """Return the state that a word leads to."""
        for letter in letters:
            state = self.moves[state][letter]
        return state

    def to(self, state: int) -> Letters:
        """Return a shortest word that leads to a state from the beginning."""
        return _known(shortest(0, self.moves.__getitem__, state.__eq__))

    def telling(self, states: States, least: int = 0) -> Letters | None:
        """Return a shortest word, of `least` (0 or 1) or more letters, that is accepted from some of the states and not
        from others."""
        return shortest(states, self._after, lambda found: len(set(self._accepted(found))) == 2, least)

    def _after(self, states: States) -> list[States]:
        return list(zip(*(self.moves[state] for state in states), strict=True))

    def _accepted(self, states: Sequence[int]) -> tuple[bool, ...]:
        return tuple(state in self.automaton.accepting for state in states)

    def _within(self, state: int) -> list[int | None]:
        """Return the successors of a state by letter, None for those outside its component."""
        component = self.component
        return [target if component[target] == component[state] else None for target in self.moves[state]]

    def _by(self, letters: frozenset[int]) -> Callable[[int], list[int | None]]:
        """Return the successors of states by letter, None for other letters."""
        return lambda state: [target if letter in letters else None for letter, target in enumerate(self.moves[state])]

    # ---- R-trivial ----

    def cycle(self, least: int = 0) -> ClassWitness | None:
        """Return a cycle through two states that a word of `least` (0 or 1) or more symbols distinguishes."""
        for state in range(len(self.moves)):

            def other(target: int, state: int = state) -> bool:
                return self.moves[target] != self.moves[state] if least else target != state

            if (there := shortest(state, self._within, other)) is not None:
                target = self.read(state, there)
                back = _known(shortest(target, self._within, state.__eq__))
                end = _known(self.telling((state, target), least))
                return self._inserted(AFTER, self.to(state), there + back, there, end)
        return None

    # ---- DA and L-trivial ----

    @cached_property
    def pairs(self) -> dict[Pair, int]:
        """The component, in the graph of pairs, of each pair of states p < q that some word leads back to itself.
        Raises TooManyPairs."""
        return self._pairs[0]

    @cached_property
    def _pairs(self) -> tuple[dict[Pair, int], list[frozenset[int]]]:
        """`pairs`, and the letters that occur in each component."""
        moves, size = np.array(self.moves), len(self.moves)
        component = np.array(self.component)
        inner = component[moves] == component[:, np.newaxis]
        cyclic = np.flatnonzero(inner.any(axis=1))
        if len(cyclic) * (len(cyclic) - 1) // 2 > MAX_PAIRS:
            raise TooManyPairs(f"there are more than {MAX_PAIRS:,} pairs of states on cycles")
        one, two = (cyclic[index] for index in np.triu_indices(len(cyclic), 1))
        kept = inner[one] & inner[two] & (moves[one] != moves[two])
        some = kept.any(axis=1)
        one, two, kept = one[some], two[some], kept[some]
        keys = one * size + two
        after = np.minimum(moves[one], moves[two]) * size + np.maximum(moves[one], moves[two])
        place = np.searchsorted(keys, after)
        place[place == len(keys)] = 0
        kept &= keys[place] == after if len(keys) else kept
        numbers = np.array(components([row[use].tolist() for row, use in zip(place, kept, strict=True)]), dtype=np.intp)
        kept &= numbers[place] == numbers[:, np.newaxis]
        used = np.zeros((len(keys), moves.shape[1]), dtype=np.bool_)
        np.logical_or.at(used, numbers, kept)
        sets, place = np.unique(used, axis=0, return_inverse=True)
        different = [frozenset(np.flatnonzero(row).tolist()) for row in sets]
        letters = [different[number] for number in place.ravel().tolist()]
        found = zip(one.tolist(), two.tolist(), numbers.tolist(), strict=True)
        return {(p, q): number for p, q, number in found if letters[number]}, letters

    def _ancestors(self, letters: frozenset[int]) -> list[int]:
        """Return for each state the set, as bits, of the states from which it is reached by words of some letters."""
        found = [1 << state for state in range(len(self.moves))]
        order = sorted(range(len(self.moves)), key=self.component.__getitem__, reverse=True)
        changed = True
        while changed:
            changed = False
            for state in order:
                for letter in letters:
                    target = self.moves[state][letter]
                    if found[state] & ~found[target]:
                        found[target] |= found[state]
                        # within a component, a state may have been read before what leads to it
                        changed |= self.component[state] == self.component[target]
        return found

    @cached_property
    def _violations(self) -> tuple[list[Pair], list[tuple[int, Pair]]]:
        """The pairs p, q with the pattern that DA forbids, and the states s with pairs that being L-trivial forbids."""
        numbers, letters = self._pairs
        groups: dict[frozenset[int], list[Pair]] = {}
        for pair, number in numbers.items():
            groups.setdefault(letters[number], []).append(pair)
        leading, common = list[Pair](), list[tuple[int, Pair]]()
        for used, pairs in groups.items():
            ancestors = self._ancestors(used)
            for p, q in pairs:
                leading += [(s, t) for s, t in ((p, q), (q, p)) if ancestors[t] >> s & 1]
                if both := ancestors[p] & ancestors[q]:
                    common.append(((both & -both).bit_length() - 1, (p, q)))
        return sorted(leading), sorted(common)

    @property
    def _tried(self) -> int:
        return max(1, min(TRIED, MAX_TRIED // (1 + len(self.pairs))))

    def between(self) -> ClassWitness | None:
        """Return a pattern that DA forbids. Raises TooManyPairs."""
        return _least(self._between(p, q) for p, q in self._violations[0][: self._tried])

    def _between(self, p: int, q: int) -> ClassWitness:
        letters = self._used(p, q)
        word = _known(shortest(p, self._by(letters), q.__eq__))
        end = _known(self.telling((p, q)))
        return self._inserted(BETWEEN, self.to(p), self._loop((p, q), word), word, end)

    def before(self) -> ClassWitness | None:
        """Return a pattern that being L-trivial forbids. Raises TooManyPairs."""
        leading, common = self._violations
        if leading:
            return _least(self._before(p, p, q) for p, q in leading[: self._tried])
        return _least(self._before(s, *pair) for s, pair in common[: self._tried])

    def _before(self, s: int, p: int, q: int) -> ClassWitness:
        # If no word leads from p to q in this way, the language is in DA and hence star-free: the powers of v lead from
        # s to one state, which differs from p or from q.
        step = self._by(self._used(p, q))
        words = [_known(shortest(s, step, target.__eq__)) for target in (p, q)]
        loop = self._loop((p, q), words[0] + words[1])
        last = self.read(s, loop * len(self.moves))
        word, target = (words[1], q) if last != q else (words[0], p)
        return self._inserted(BEFORE, self.to(s), loop, word, _known(self.telling((last, target))))

    def _used(self, p: int, q: int) -> frozenset[int]:
        numbers, letters = self._pairs
        return letters[numbers[min(p, q), max(p, q)]]

    def _loop(self, pair: Pair, letters: Sequence[int]) -> Letters:
        """Return a word that leads each of two states to itself and has all of some letters."""
        number = self.pairs[min(pair), max(pair)]

        def after(node: Pair) -> list[Pair | None]:
            targets = zip(self.moves[node[0]], self.moves[node[1]], strict=True)
            return [(p, q) if self.pairs.get((min(p, q), max(p, q))) == number else None for p, q in targets]

        node, word, left = pair, list[int](), set(letters)
        while left:
            needed = sorted(left)

            def leads_on(found: Pair, needed: Letters = needed) -> bool:
                return any(after(found)[letter] for letter in needed)

            path = _known(shortest(node, after, leads_on))
            end = self.read(node[0], path), self.read(node[1], path)
            path.append(next(letter for letter in needed if after(end)[letter]))
            node = self.read(node[0], path), self.read(node[1], path)
            word += path
            left -= set(path)
        return word + _known(shortest(node, after, pair.__eq__, least=0 if word else 1))

    def _inserted(self, form: str, u: Letters, v: Letters, w: Letters, z: Letters) -> ClassWitness:
        """Return a witness that compares two words, with the least exponent from which it holds."""
        p, q = self.read(0, u), self.read(0, u + w)
        for least in count(1):
            p = self.read(p, v)
            q = self.read(q, v) if form == BEFORE else self.read(p, w + v * least * (form == BETWEEN))
            if self.read(p, v) == p and (form == AFTER or self.read(q, v) == q):
                break
        return self._witness(form, u, v, w, z, self._accepted([self.read(p, z), self.read(q, z)]), least)

    def _witness(
        self, form: str, u: Letters, v: Letters, w: Letters, z: Letters, accepted: tuple[bool, ...], least: int
    ) -> ClassWitness:
        return ClassWitness(form, self.symbols(u), self.symbols(v), self.symbols(w), self.symbols(z), accepted, least)

    # ---- cycles of words ----

    @property
    def loops(self) -> list[list[int]]:
        """The states of each component that has more than one."""
        found: dict[int, list[int]] = {}
        for state, number in enumerate(self.component):
            found.setdefault(number, []).append(state)
        return [states for states in found.values() if len(states) > 1]

    def functions(self, states: Sequence[int]) -> tuple[Letters, Functions]:
        """Return letters that act differently on the states of one component, and a row for each: the states that it
        leads to, by their place among the states, with one more entry and value for all states outside."""
        place = np.full(len(self.moves), len(states))
        place[states] = range(len(states))
        outside = np.full((len(self.moves[0]), 1), len(states))
        rows = np.hstack([place[np.array(self.moves)[states]].T, outside]).astype(smallest_type(len(states) + 1))
        rows, letters = np.unique(rows, axis=0, return_index=True)
        return letters.tolist(), rows

    def part(self, states: Sequence[int]) -> tuple[list[int], int]:
        """Return some states of a component, and the greatest common divisor d of the lengths of its cycles. The
        component falls into d parts such that words of d letters lead from each part only to the part itself; these
        states are the smallest part.

        Two words of one length that move and fix the states of a cycle have a multiple of d letters. If there are such
        words for the states of one part, there are for every part: begin within the word that fixes the states."""
        steps = {states[0]: 0}
        for state in (waiting := [states[0]]):
            for target in self._within(state):
                if target is not None and target not in steps:
                    steps[target] = steps[state] + 1
                    waiting.append(target)
        edges = [(state, target) for state in states for target in self._within(state) if target is not None]
        period = gcd(*(steps[one] + 1 - steps[two] for one, two in edges))
        parts = [[state for state in states if steps[state] % period == place] for place in range(period)]
        return min(parts, key=len), period

    def turns(self, part: Sequence[int], period: int) -> tuple[list[Letters], Functions]:
        """Return the words of d letters that act differently on the states of a part, and a row for each as in
        `functions`. Raises TooManyElements."""
        found: dict[States, Letters] = {tuple(part): []}
        none = [None] * len(self._symbols)
        for _ in range(period):
            after: dict[States, Letters] = {}
            for states, word in found.items():
                columns = zip(*(none if state < 0 else self._within(state) for state in states), strict=True)
                for letter, column in enumerate(columns):
                    after.setdefault(tuple(-1 if state is None else state for state in column), [*word, letter])
            found = after
            if len(found) > MAX_TURNS:
                raise TooManyElements(f"there are more than {MAX_TURNS:,} functions of words of {period} symbols")
        place = {state: number for number, state in enumerate(part)}
        rows = [[*(place.get(state, len(part)) for state in states), len(part)] for states in found]
        return list(found.values()), np.array(rows, dtype=smallest_type(len(part) + 1))

    def _cycle_of(self, states: Sequence[int], word: Letters) -> States:
        """Return the shortest cycle of two or more of some states of one component in which a word moves them. There
        must be one."""
        seen: dict[int, int] = {}
        cycles = list[list[int]]()
        for first in states:
            state, path = first, list[int]()
            while state not in seen and self.component[state] == self.component[first]:
                seen[state] = first
                path.append(state)
                state = self.read(state, word)
            if seen.get(state) == first and state != path[-1]:
                cycles.append(path[path.index(state) :])
        cycle = min(cycles, key=len)
        start = cycle.index(min(cycle))
        return tuple(cycle[start:] + cycle[:start])

    def powers(self, states: Sequence[int], word: Letters) -> ClassWitness:
        """Return the witness that a word moves states of a component in a cycle."""
        cycle = self._cycle_of(states, word)
        step = len(cycle) // _primes(len(cycle))[-1]
        return self._counting(POWERS, cycle[::step], word * step, [])

    def blocks(self, states: Sequence[int], word: Letters) -> ClassWitness | None:
        """Return two words of one length for a cycle in which a word moves states of a component: one moves the states
        of the cycle, the other fixes them. Return None if there are none, or if the search holds too many tuples of
        states."""
        cycle = self._cycle_of(states, word)
        cycle = cycle[:: len(cycle) // _primes(len(cycle))[0]]
        found, back = None, self._tuples(cycle, FEW_HELD)
        if back is None:  # of many tuples, few often suffice
            found = self._turning(cycle, lambda one: len(set(one)) == len(one), FEW_HELD)
            back = None if found else self._tuples(cycle, MAX_TUPLES)
        if back:
            found = self._turning(cycle, back.__contains__, MAX_HELD)
        return None if found is None else self._counting(BLOCKS, *found)

    def _turning(
        self, cycle: States, used: Callable[[States], bool], most: int
    ) -> tuple[States, Letters, Letters] | None:
        """Return a cycle in an order in which a word moves its states, the word, and a word of the same length that
        fixes them: the shortest on the way through tuples of states that may be used. Return None if there are none
        before so many steps are held."""
        turned = {cycle[turn:] + cycle[:turn]: turn for turn in range(1, len(cycle))}
        layers: list[dict[States, tuple[States, int]]] = []
        last, held = [cycle], 0
        while last and held <= most:
            layer: dict[States, tuple[States, int]] = {}
            for before in last:
                for letter, after in enumerate(self._after(before)):
                    if used(after):
                        layer.setdefault(after, (before, letter))
            layers.append(layer)
            last, held = list(layer), held + len(layer) * len(cycle)
            if cycle in layer and (moved := [one for one in turned if one in layer]):
                turn = turned[moved[0]]
                order = tuple(cycle[turn * place % len(cycle)] for place in range(len(cycle)))
                return order, _path(layers, moved[0]), _path(layers, cycle)
        return None

    def _tuples(self, cycle: States, most: int) -> set[States] | None:
        """Return the tuples of states on the ways from a cycle of states back to it; the empty set if one number of
        steps never leads both to the cycle and to a turned one; None if so many states do not suffice."""
        numbers, lengths, after = {cycle: 0}, [0], list[list[int]]()
        for states in (waiting := [cycle]):
            after.append([])
            for found in self._after(states):
                if self.component[found[0]] == self.component[cycle[0]] and len(set(found)) == len(found):
                    if found not in numbers:
                        numbers[found] = len(waiting)
                        lengths.append(lengths[numbers[states]] + 1)
                        waiting.append(found)
                    after[-1].append(numbers[found])
            if len(waiting) * len(cycle) > most:
                return None
        # the lengths of two ways from the cycle to a tuple are the same modulo the period of the component
        component = components(after)
        inside = [number for number, one in enumerate(component) if one == component[0]]
        inner = [(one, two) for one in inside for two in after[one] if component[two] == component[0]]
        period = gcd(*(lengths[one] + 1 - lengths[two] for one, two in inner))
        turned = (numbers[cycle[turn:] + cycle[:turn]] for turn in range(1, len(cycle)))
        return {waiting[number] for number in inside} if any(not lengths[one] % period for one in turned) else set()

    def _counting(self, form: str, cycle: States, v: Letters, w: Letters) -> ClassWitness:
        end = _known(self.telling(cycle))
        accepted = self._accepted([self.read(state, end) for state in cycle])
        return self._witness(form, self.to(cycle[0]), v, w, end, accepted, 1)


def _path(layers: Sequence[dict[States, tuple[States, int]]], last: States) -> Letters:
    """Return the word that leads to a tuple of states in the last layer."""
    word = []
    for layer in reversed(layers):
        last, letter = layer[last]
        word.append(letter)
    return word[::-1]


def _primes(number: int) -> list[int]:
    """Return the prime divisors of a number, in order."""
    divisors = [one for one in range(2, number + 1) if not number % one]
    return [one for one in divisors if all(one % other for other in divisors if other < one)]


def _known(found: Letters | None) -> Letters:
    """Return the letters of a path that exists because the automaton is minimal or the nodes are in one component."""
    assert found is not None
    return found


def _least(witnesses: Iterator[ClassWitness]) -> ClassWitness | None:
    """Return the witness with the shortest words; None if there is none."""
    return min(witnesses, key=lambda one: len(one.u + one.v + one.w + one.z), default=None)
