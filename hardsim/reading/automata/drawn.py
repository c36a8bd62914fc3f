"""Automata drawn as DOT graphs, as LTLf2DFA and many other tools write them.

Accepting states have two circles (`shape=doublecircle` or `peripheries=2`). The start state is the target of an edge
without a label from a node that is no state: it has no other edges and nothing leads to it. Without such a node, the
only state that no other state leads to is the start state.

The labels are symbols (`a`, or `a, b` for either), or formulas over propositions (`a & !b`). They are formulas over
propositions if `--props` or the graph's attribute `props` says so, or if a label has a connective or a constant and no
`alphabet` is given; with a given alphabet, a formula is over its symbols.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from hardsim.errors import InputError, Source, SourceError, did_you_mean
from hardsim.lang.frontend import given_otherwise
from hardsim.lang.valuations import (
    MENTIONED,
    Alphabet,
    ConstraintKey,
    Exclusion,
    GivenNames,
    Valuations,
    is_proposition,
    listed,
)
from hardsim.lang.vocabulary import brief, is_name, joined_names, split_names
from hardsim.lang.words import check_alphabet, check_propositions, unprintable
from hardsim.lazy_dataclass import dataclass
from hardsim.reading.automata.dot import SMALL, DotEdge, DotGraph, DotNode, DotText, read_dot
from hardsim.reading.automata.graph import Condition, Edge, StateGraph
from hardsim.reading.automata.labels import NOTHING, Label, Token, guard_of, is_formula, tokens_of

_START_HINT = "mark it: init [shape=point]; init -> STATE;"
_COLUMNS = re.compile(r"[01X,\s]*")
"""The labels in MONA's own drawings: a row for each variable, with its values in columns."""


@dataclass(frozen=True, slots=True)
class AutomatonText:
    """An automaton as a file states it: its graph, its alphabet, and remarks for the user."""

    graph: StateGraph
    alphabet: Alphabet
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Written:
    """A label with its tokens; `whole` is its text without blanks."""

    label: Label
    tokens: list[Token]

    @property
    def whole(self) -> str:
        return self.label.whole


def read_drawn(
    source: Source, alphabet: GivenNames, props: GivenNames, beside: Alphabet | None = None
) -> AutomatonText:
    """Read an automaton drawn in DOT. `alphabet` and `props` are given outside the file; if the file declares none and
    none is given, words are over the alphabet `beside`. Raises SourceError at the first mistake."""
    graph = read_dot(source)
    labels = {id(edge): found for edge in graph.edges if (found := _label(edge)) is not None}
    # LTLf2DFA gives its drawings the same name
    if graph.name == "MONA_DFA" and labels and all(_COLUMNS.fullmatch(one.text) for one in labels.values()):
        hint = "draw the automaton with LTLf2DFA, whose labels name the propositions"
        message = "this is MONA's own drawing, whose labels are tables without the names of variables"
        raise SourceError(source, graph.span, message, "labels that are symbols or formulas", hint)
    if not graph.nodes:
        raise SourceError(source, graph.span, "this graph has no states", "nodes and edges", SMALL)
    marked = _marked(graph, labels)
    known = _declared(graph, alphabet, props)
    if known is None and alphabet is None and props in (None, MENTIONED):
        known = beside
    distinct: dict[str, _Written] = {}
    for edge in graph.edges:
        if (one := labels.get(id(edge))) is not None and one.text not in distinct:
            distinct[one.text] = _Written(one, tokens_of(one))
    written = list(distinct.values())
    symbols, notes = (known, ()) if known is not None else _mentioned(graph, written, props == MENTIONED)
    names = frozenset(symbols.props if isinstance(symbols, Valuations) else symbols)
    guards = {text: _guard(one, symbols, names) for text, one in distinct.items()}
    state_numbers = [number for number in range(len(graph.nodes)) if number not in marked]
    place = {old: new for new, old in enumerate(state_numbers)}
    starts, more = _starts(graph, marked, place)
    numbers = {text: number for number, text in enumerate(guards)}
    edges = tuple(_edges(graph, labels, guards, numbers, place))
    accepting = frozenset(place[number] for number in state_numbers if _accepts(graph.nodes[number]))
    notes = (*notes, *more, *(["no state accepts: no node has two circles (shape=doublecircle)"] * (not accepting)))
    listed_guards = tuple(one or Condition() for one in guards.values())
    return AutomatonText(StateGraph(len(place), starts, accepting, listed_guards, edges), symbols, notes)


def _label(edge: DotEdge) -> Label | None:
    """Return the label of an edge; None if it has none. The one of an outer label counts if there is no inner one."""
    found = edge.attributes.get("label") or edge.attributes.get("xlabel")
    return None if found is None else found.label


def _edges(
    graph: DotGraph,
    labels: Mapping[int, Label],
    guards: Mapping[str, Condition | None],
    numbers: Mapping[str, int],
    place: Mapping[int, int],
) -> list[Edge]:
    found: list[Edge] = []
    for edge in graph.edges:
        if edge.source not in place:
            continue
        label = labels.get(id(edge))
        if label is None:
            hint = "an edge that reads nothing has the label ε; only the edge to the start state has none"
            raise SourceError(graph.source, edge.span, "this edge has no label", "an edge with [label=...]", hint)
        guard = guards[label.text]
        found.append((place[edge.source], None if guard is None else numbers[label.text], place[edge.target]))
    return found


def _accepts(node: DotNode) -> bool:
    shape = node.attributes["shape"].text.lower() if "shape" in node.attributes else ""
    rings = node.attributes["peripheries"].text if "peripheries" in node.attributes else ""
    return shape in ("doublecircle", "doubleoctagon", "tripleoctagon") or rings == "2"


def _marked(graph: DotGraph, labels: Mapping[int, Label]) -> frozenset[int]:
    """Return the nodes that are no states: those that only mark start states."""
    leaving: dict[int, bool] = {}
    for edge in graph.edges:
        label = labels.get(id(edge))
        leaving[edge.source] = leaving.get(edge.source, True) and (label is None or not label.whole)
    entered = {edge.target for edge in graph.edges}
    return frozenset(number for number, bare in leaving.items() if bare and number not in entered
                     and not _accepts(graph.nodes[number]))  # fmt: skip


def _starts(graph: DotGraph, marked: frozenset[int], place: Mapping[int, int]) -> tuple[frozenset[int], list[str]]:
    """Return the start states, with a remark if no node marks one. Raises SourceError if it is not known which state is
    the start."""
    found = frozenset(place[edge.target] for edge in graph.edges if edge.source in marked)
    if found:
        return found, []
    entered = {edge.target for edge in graph.edges if edge.source != edge.target}
    free = [number for number in place if number not in entered]
    if len(free) != 1:
        message = "no start state is marked"
        if len(free) > 1:
            names = listed([graph.nodes[number].name for number in free], 6)
            message += f", and no edge leads to any of the states {names}"
        else:
            message += ", and edges lead to every state"
        raise SourceError(graph.source, graph.span, message, "an edge without label to the start state", _START_HINT)
    name = graph.nodes[free[0]].name
    return frozenset({place[free[0]]}), [f"no start state is marked: it is {brief(name)}, to which no edge leads"]


# ---- the alphabet ----


def _declared(graph: DotGraph, alphabet: GivenNames, props: GivenNames) -> Alphabet | None:
    """Return the alphabet that the graph declares, or that is given; None if there is none. Raises SourceError if the
    two differ, InputError if the given one is bad."""
    given: Alphabet | None = None
    if alphabet is not None:
        given = alphabet if isinstance(alphabet, Valuations) else check_alphabet(alphabet)
    elif props is not None and props != MENTIONED:
        given = check_propositions(props)
    own = next((graph.attributes[key] for key in ("props", "alphabet") if key in graph.attributes), None)
    if own is None:
        return given
    with _at(graph.source, own):
        if "props" not in graph.attributes:
            declared: Alphabet = check_alphabet(own.text)
        else:
            declared = check_propositions(own.text, _exclusions(graph, split_names(own.text)))
    if given is not None and given != declared:
        message, hint = given_otherwise(given, declared)
        raise SourceError(graph.source, own.span, message, "", hint)
    return declared


@contextmanager
def _at(source: Source, value: DotText) -> Iterator[None]:
    """Turn an InputError of the block into one at a value of the file."""
    try:
        yield
    except SourceError:
        raise
    except InputError as error:
        raise SourceError(source, value.span, error.message, "", error.hint) from None


def _exclusions(graph: DotGraph, names: Sequence[str]) -> list[Exclusion]:
    """Return the constraints that the graph declares; several of one kind are separated by semicolons."""
    keys: tuple[ConstraintKey, ...] = ("one-of", "at-most-one")
    found = []
    for key in keys:
        value = graph.attributes.get(key)
        for part in [] if value is None else value.text.split(";"):
            own = split_names(part)
            for name in own:
                if name not in names:
                    assert value is not None
                    hint = did_you_mean(name, names)
                    message = f"unknown proposition {brief(name)}"
                    raise SourceError(graph.source, value.span, message, f"propositions: {listed(names)}", hint)
            found.append(Exclusion(key, tuple(own)))
    return found


def _mentioned(graph: DotGraph, labels: Sequence[_Written], sets: bool) -> tuple[Alphabet, tuple[str, ...]]:
    """Return the alphabet of the names in the labels: propositions if a label is a formula, else symbols, with a remark
    that says so."""
    read = [one for one in labels if one.whole not in NOTHING]
    sets = sets or any(is_formula(one.tokens) for one in read)
    found: dict[str, tuple[_Written, Condition]] = {}
    for one in read:
        for guard in guard_of(one.label, one.tokens, sets).names():
            found.setdefault(guard.name, (one, guard))
    for name, (one, guard) in found.items():
        bad = f"it contains {unprintable(name)}" if unprintable(name) else ""
        if not is_proposition(name) if sets else not is_name(name):
            bad = "a name has no comma, no brace and only single blanks inside"
        if bad:
            what = "proposition" if sets else "symbol"
            raise SourceError(one.label.source, guard.span, f"{brief(name)} is not a {what}: {bad}")
    if not found:
        hint = "--props 'p q' gives the propositions, --alphabet 'a b' the symbols"
        span = read[0].label.span(0, len(read[0].label.text)) if read else graph.span
        raise SourceError(graph.source, span, "no label names a symbol or a proposition", "", hint)
    names = tuple(found)
    try:
        alphabet: Alphabet = check_propositions(names) if sets else check_alphabet(names)
    except InputError as error:
        raise SourceError(graph.source, graph.span, error.message, "", error.hint) from None
    message = f"the labels are symbols: {joined_names(names)}; --props makes them propositions, --alphabet adds symbols"
    return alphabet, () if sets else (message,)


def _guard(one: _Written, alphabet: Alphabet, known: Collection[str]) -> Condition | None:
    """Return the condition of a label; None if it reads nothing. Raises SourceError for a name that is not `known`."""
    whole, sets = one.whole, isinstance(alphabet, Valuations)
    if whole in NOTHING and not (whole and whole in known):
        return None
    try:
        found = guard_of(one.label, one.tokens, sets)
    except SourceError:
        if whole not in known:
            raise
        found = Condition(name=whole)  # a symbol of signs, such as &&
    if whole in known and not all(guard.name in known for guard in found.names()):
        found = Condition(name=whole)
    for guard in found.names():
        if guard.name not in known:
            names = alphabet.props if isinstance(alphabet, Valuations) else alphabet
            what = "proposition of the alphabet" if sets else "symbol of the alphabet"
            near = did_you_mean(guard.name, names)
            hint = near or "give all propositions by --props, or all symbols by --alphabet"
            message = f"{brief(guard.name)} is not a {what}"
            raise SourceError(one.label.source, guard.span, message, listed(names, 20), hint)
    return found
