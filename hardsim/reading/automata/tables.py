"""Automata in JSON: the arguments of the classes DFA and NFA of automata-lib, with lists in the place of sets.

    {"states": ["1", "2"], "input_symbols": ["a", "b"], "transitions": {"1": {"a": "2"}, "2": {"b": "2"}},
     "initial_state": "1", "final_states": ["2"]}

A list of targets makes an automaton nondeterministic, and the symbol "" reads nothing. Transitions may also be a list
of objects with the keys from, symbol and to.
"""

from __future__ import annotations

from collections.abc import Iterator

from hardsim.errors import InputError
from hardsim.lang.automata.automaton import MAX_STATES
from hardsim.lang.valuations import listed
from hardsim.lang.words import check_alphabet
from hardsim.network.reader import Reader
from hardsim.reading.automata.drawn import AutomatonText
from hardsim.reading.automata.graph import Condition, Edge, StateGraph

ADVICE = "docs/languages.md describes such files."
_KEYS = {
    "states": ("states",),
    "symbols": ("input_symbols", "alphabet", "symbols"),
    "moves": ("transitions",),
    "initial": ("initial_state", "initial", "start", "start_state"),
    "final": ("final_states", "accepting", "final", "accepting_states", "accept_states"),
}
_OTHERS = {
    "stack_symbols": "a pushdown automaton",
    "tape_symbols": "a Turing machine",
    "blank_symbol": "a Turing machine",
}
"""Keys of automata-lib that show another kind of automaton."""


def read_table(document: Reader) -> AutomatonText:
    """Read an automaton from JSON. Raises InputError with the place inside the document."""
    for key, what in _OTHERS.items():
        if document.has(key):
            hint = "Write its language as a formula or a program, or restrict it to a finite automaton."
            raise InputError(f"{document.name}: this is {what}, and only finite automata are read", hint)
    states = _states(_field(document, "states"))
    known, name = _symbols(_field(document, "symbols"))
    initial, final = _field(document, "initial"), _field(document, "final")
    starts = [initial] if not isinstance(initial.value, list) else list(initial.items())
    numbers: dict[str, int] = {}
    edges: list[Edge] = []
    for source, symbol, target in _moves(_field(document, "moves"), states):
        read, label = None, _text(symbol, "a symbol")
        if label or "" in known:
            if label not in known:
                raise symbol.error(f"a symbol of {name} ({listed(known, 12)})")
            read = numbers.setdefault(label, len(numbers))
        edges.append((source, read, _state(target, states)))
    graph = StateGraph(
        len(states),
        frozenset(_state(one, states) for one in starts),
        frozenset(_state(one, states) for one in final.items()),
        tuple(Condition(name=one) for one in numbers),
        tuple(edges),
    )
    return AutomatonText(graph, known, ("no state accepts: the list of final states is empty",) * (not graph.accepting))


def _field(document: Reader, kind: str) -> Reader:
    """Return the member of a kind. Raises InputError if there is none."""
    found = [key for key in _KEYS[kind] if document.has(key)]
    return document.field(found[0] if found else _KEYS[kind][0])


def _text(place: Reader, what: str) -> str:
    """Return the name of a state or a symbol: a string, or an integer, which JSON makes a string where it is a key."""
    value = place.value
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise place.error(f"{what} as a string or an integer")
    return str(value)


def _states(place: Reader) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in place.items():
        name = _text(one, "a state")
        if name in found:
            raise one.error("each state once")
        if len(found) == MAX_STATES:
            raise place.refusal(f"more than {MAX_STATES:,} states, the limit")
        found[name] = len(found)
    return found


def _state(place: Reader, states: dict[str, int]) -> int:
    name = _text(place, "a state")
    if name not in states:
        raise place.error(f"a state of the list states ({listed(states, 12)})")
    return states[name]


def _symbols(place: Reader) -> tuple[tuple[str, ...], str]:
    """Return the symbols that the file declares, and the key that does so."""
    names = [_text(one, "a symbol") for one in place.items()]
    try:
        return check_alphabet(names), place.path
    except InputError as error:
        raise place.refusal(error.message, error.hint) from None


def _moves(place: Reader, states: dict[str, int]) -> Iterator[tuple[int, Reader, Reader]]:
    """Yield the transitions: the source, the place of the symbol, and that of the target."""
    if isinstance(place.value, list):
        for one in place.items():
            three = [one.field(key) for key in ("from", "symbol", "to")] if isinstance(one.value, dict) else []
            source, symbol, target = three or list(one.items(3))
            for end in target.items() if isinstance(target.value, list) else [target]:
                yield _state(source, states), symbol, end
        return
    for name, row in place.members():
        source = Reader(name, row.name, row.path, row.advice)
        for label, target in row.members():
            symbol = Reader(label, target.name, target.path, target.advice)
            for end in target.items() if isinstance(target.value, list) else [target]:
                yield _state(source, states), symbol, end
