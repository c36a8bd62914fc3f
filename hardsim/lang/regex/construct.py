"""Build the automaton of a regular expression: Thompson's construction, the subset construction, Hopcroft's
minimisation.

Operands of `!` and `&` are made into automata first, from the innermost outwards; such an automaton then serves as a
part, like a symbol. No function is recursive, so brackets may be nested to any depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import reduce
from itertools import pairwise

from hardsim.errors import SourceError
from hardsim.lang.automata.automaton import MAX_STATES, Automaton, TooManyStates, explored
from hardsim.lang.automata.letters import SymbolClasses
from hardsim.lang.lexer import Cited
from hardsim.lang.trees import Raw, levels
from hardsim.lang.valuations import Alphabet
from hardsim.lazy_dataclass import dataclass

MOST = 100_000
"""Greatest number of states of Thompson's construction, which are about the parts of an expression with all
repetitions written out; also the greatest bound of one repetition."""
MOST_HELD = 10_000_000
"""Greatest total size of the sets of parts that the states of an automaton stand for, before minimisation. It bounds
memory and time for expressions such as (a?){9000}, where each of many states stands for many parts."""


class _TooManyParts(Exception):
    """An expression has more than MOST parts."""


class _TooManyMembers(Exception):
    """The states of an automaton stand for more than MOST_HELD parts in total."""


def automaton_of(text: Cited, expression: Raw, alphabet: Alphabet) -> Automaton:
    """Return the minimal automaton of an expression, which is a tree of `re.lark` with symbols of the alphabet. Raises
    SourceError at the part of the expression whose automaton would be too large, with the limit."""
    # symbols that the expression does not name share one letter
    named = {node.text for node, _ in levels(expression) if node.kind == "symbol"}
    return _made(text, expression, SymbolClasses.of(alphabet, named))


def _made(text: Cited, expression: Raw, letters: SymbolClasses) -> Automaton:
    known: dict[int, Automaton] = {}

    def made(node: Raw) -> Automaton:
        try:
            return known.get(id(node)) or _Parts(letters, known).automaton(node)
        except (TooManyStates, _TooManyParts, _TooManyMembers) as error:
            raise _too_large(text, node, error) from None

    # `levels` lists each node before its operands, so the reverse order is innermost first
    inner = [node for node, _ in levels(expression) if node.kind == "not" or (node.kind, node.text) == ("nary", "&")]
    for node in reversed(inner):
        parts = [made(one) for one in node.args]
        try:
            known[id(node)] = parts[0].complement() if node.kind == "not" else reduce(Automaton.intersection, parts)
        except TooManyStates as error:
            raise _too_large(text, node, error) from None
    return made(expression)


def _too_large(text: Cited, node: Raw, error: Exception) -> SourceError:
    if isinstance(error, _TooManyParts):
        message = f"with its repetitions written out this has more than {MOST:,} parts"
        return text.error(node.whole, message, "", "repeat less often")
    message = f"the automaton of this expression has more than {MAX_STATES:,} states, the limit"
    if isinstance(error, _TooManyMembers):
        message = f"the states of the automaton of this expression stand for more than {MOST_HELD:,} parts in total"
    return text.error(node.whole, message, "", "an expression that remembers less of a word has fewer states")


@dataclass
class _Parts:
    """The states of Thompson's construction (On-line problem solving: Regular expression search algorithm, 1968), with
    the transitions of each by a letter and without one. `known` maps the `id` of a part to its automaton if it has
    one."""

    letters: SymbolClasses
    known: dict[int, Automaton]
    by_letter: list[list[tuple[frozenset[int], int]]] = field(default_factory=list)
    by_nothing: list[list[int]] = field(default_factory=list)
    members: int = 0
    """Total size so far of the sets of parts that states stand for."""

    def automaton(self, expression: Raw) -> Automaton:
        """Return the minimal automaton of an expression."""
        start, end = self._state(), self._state()
        left = [(expression, start, end)]
        while left:
            node, begin, finish = left.pop()
            left += self._part(node, begin, finish)
        size = len(self.letters.firsts)

        def following(states: frozenset[int]) -> list[frozenset[int]]:
            targets: list[set[int]] = [set() for _ in range(size)]
            for state in states:
                for reads, target in self.by_letter[state]:
                    for letter in reads:
                        targets[letter].add(target)
            return [self._closed(some, end) for some in targets]

        return explored(self.letters, self._closed({start}, end), following, lambda states: end in states)

    def _state(self) -> int:
        if len(self.by_letter) > MOST:
            raise _TooManyParts
        self.by_letter.append([])
        self.by_nothing.append([])
        return len(self.by_letter) - 1

    def _closed(self, states: Iterable[int], end: int) -> frozenset[int]:
        """Return the states reachable by transitions without a letter, restricted to those that read a letter and
        to `end`."""
        found, left = set(states), list(states)
        while left:
            for target in self.by_nothing[left.pop()]:
                if target not in found:
                    found.add(target)
                    left.append(target)
        self.members += len(found)
        if self.members > MOST_HELD:
            raise _TooManyMembers
        # other states only pass on; leaving them out makes equal sets equal
        return frozenset(state for state in found if self.by_letter[state] or state == end)

    def _part(self, node: Raw, begin: int, finish: int) -> Iterator[tuple[Raw, int, int]]:
        """Add a part between two states, and return its subparts, each with its two states. No part has a transition
        back to its first state or out of its last one, so several parts may share these two."""
        if id(node) in self.known:
            return self._automaton(self.known[id(node)], begin, finish)
        every = set(range(len(self.letters.firsts)))
        match node.kind:
            case "symbol":
                return self._reads({self.letters[node.text]}, begin, finish)
            case "any":
                return self._reads(every, begin, finish)
            case "set":
                given = {self.letters[one.text] for one in node.args}
                return self._reads(every - given if node.text else given, begin, finish)
            case "empty":
                self.by_nothing[begin].append(finish)
                return iter(())
            case "nary":
                return ((one, begin, finish) for one in node.args)
            case "sequence":
                between = [begin, *(self._state() for _ in node.args[1:]), finish]
                return zip(node.args, between, between[1:], strict=False)
            case "repeat":
                return self._repeated(node, begin, finish)
        raise AssertionError(f"a {node.kind} in an expression")

    def _reads(self, letters: set[int], begin: int, finish: int) -> Iterator[tuple[Raw, int, int]]:
        if letters:
            self.by_letter[begin].append((frozenset(letters), finish))
        return iter(())

    def _repeated(self, node: Raw, begin: int, finish: int) -> Iterator[tuple[Raw, int, int]]:
        """Yield copies of a repeated part in a row, of which the later ones may be skipped; without an upper bound, a
        last copy that may be passed any number of times."""
        least, _, most = node.text.partition(",")
        (inner,) = node.args
        places = [begin, *(self._state() for _ in range(int(most or least)))]
        if not most:
            # the loop has a state of its own, so that no transition leads back to a shared state
            loop = self._state()
            self.by_nothing[places[-1]].append(loop)
            self.by_nothing[loop].append(finish)
            yield inner, loop, loop
        for place in places[int(least) :] if most else ():
            self.by_nothing[place].append(finish)
        for one, other in pairwise(places):
            yield inner, one, other

    def _automaton(self, made: Automaton, begin: int, finish: int) -> Iterator[tuple[Raw, int, int]]:
        """Add a finished automaton as a part between two states."""
        states = [self._state() for _ in made.moves]
        self.by_nothing[begin].append(states[0])
        for state, row in zip(states, made.moves, strict=True):
            for letter, target in enumerate(row):
                self.by_letter[state].append((frozenset({letter}), states[target]))
        for state in made.accepting:
            self.by_nothing[states[state]].append(finish)
        return iter(())
