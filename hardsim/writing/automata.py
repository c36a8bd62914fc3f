"""Automata written as files of other tools: Graphviz DOT, automata-lib's JSON, and JFLAP's XML.

Every file can be read again. In DOT the edges have conditions: lists of symbols, or formulas over propositions. JSON
and JFLAP have a transition for each symbol.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Literal, TypeAlias
from xml.sax.saxutils import escape

from hardsim.errors import InputError
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.letters import Partition, SetClasses, SymbolClasses
from hardsim.lang.valuations import MOST_LISTED, Valuations
from hardsim.lang.vocabulary import brief, joined_names, quoted
from hardsim.reading.automata.labels import RESERVED

AutomatonFormat: TypeAlias = Literal["dot", "json", "jff"]
MOST_TRANSITIONS = 1_000_000
"""Greatest number of transitions that a file in JSON or of JFLAP has."""
LONGEST_LABEL = 100_000
"""Greatest number of characters of a label in DOT."""
_USE_DOT = "Write DOT, whose edges have conditions instead of one symbol each: --automaton dot."
_BARE = re.compile(r"\w+")
_PER_ROW, _STEP = 8, 120
"""The states of a row in JFLAP's window, and the distance between two."""


def automaton_text(automaton: Automaton, form: AutomatonFormat, name: str) -> str:
    """Return the text of a file with an automaton; states are numbered from 1, the start state. Raises InputError,
    citing the input as `name`, if the format cannot hold it."""
    if form == "dot":
        return _dot(automaton, name)
    alphabet, states = automaton.letters.alphabet, len(automaton.moves)
    if isinstance(alphabet, Valuations) and len(alphabet) > MOST_LISTED:
        message = f"{name}: this format lists every symbol, and there are {len(alphabet):,} sets of propositions"
        raise InputError(f"{message}; at most {MOST_LISTED:,} are listed", _USE_DOT)
    if len(alphabet) * states > MOST_TRANSITIONS:
        message = f"{name}: this format lists every transition, and there are {len(alphabet) * states:,}"
        raise InputError(f"{message}; at most {MOST_TRANSITIONS:,} are listed", _USE_DOT)
    return _json(automaton) if form == "json" else _jflap(automaton, name)


def _rows(automaton: Automaton) -> Iterator[list[tuple[str, int]]]:
    """Yield the transitions of each state: every symbol with its target."""
    letters = [(symbol, automaton.letters[symbol]) for symbol in automaton.letters.alphabet]
    for row in automaton.moves:
        yield [(symbol, row[letter]) for symbol, letter in letters]


def _json(automaton: Automaton) -> str:
    def one(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    states = [str(number + 1) for number in range(len(automaton.moves))]
    rows = [
        f"    {one(state)}: {one({symbol: states[target] for symbol, target in row})}"
        for state, row in zip(states, _rows(automaton), strict=True)
    ]
    members = [
        f'  "states": {one(states)}',
        f'  "input_symbols": {one([*automaton.letters.alphabet])}',
        '  "transitions": {\n' + ",\n".join(rows) + "\n  }",
        '  "initial_state": "1"',
        f'  "final_states": {one([states[number] for number in sorted(automaton.accepting)])}',
    ]
    return "{\n" + ",\n".join(members) + "\n}\n"


def _jflap(automaton: Automaton, name: str) -> str:
    long = next((symbol for symbol in automaton.letters.alphabet if len(symbol) > 1), None)
    if long is not None:
        message = f"{name}: the symbols of JFLAP are single characters, and {brief(long)} has {len(long)}"
        raise InputError(message, "Write DOT or JSON: --automaton dot or --automaton json.")
    lines = [
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>',
        "<structure>",
        "  <type>fa</type>",
        "  <automaton>",
    ]
    for state in range(len(automaton.moves)):
        x, y = (_STEP * (part + 1) for part in (state % _PER_ROW, state // _PER_ROW))
        marks = "<initial/>" * (state == 0) + "<final/>" * (state in automaton.accepting)
        lines.append(f'    <state id="{state}" name="{state + 1}"><x>{x}.0</x><y>{y}.0</y>{marks}</state>')
    for state, row in enumerate(_rows(automaton)):
        for symbol, target in row:
            ends = f"<from>{state}</from><to>{target}</to>"
            lines.append(f"    <transition>{ends}<read>{escape(symbol)}</read></transition>")
    return "\n".join([*lines, "  </automaton>", "</structure>", ""])


# ---- DOT ----


def _dot(automaton: Automaton, name: str) -> str:
    labels = _Labels(automaton.letters, name)
    lines = ["digraph automaton {", *(f"  {line};" for line in _declared(automaton.letters)), "  rankdir=LR;"]
    lines.append("  init [shape=point];")
    for state in range(len(automaton.moves)):
        shape = "doublecircle" if state in automaton.accepting else "circle"
        lines.append(f"  {state + 1} [shape={shape}];")
    lines.append("  init -> 1;")
    for state, row in enumerate(automaton.moves):
        targets: dict[int, list[int]] = {}
        for letter, target in enumerate(row):
            targets.setdefault(target, []).append(letter)
        for target, letters in targets.items():
            lines.append(f"  {state + 1} -> {target + 1} [label={_string(labels.text(frozenset(letters)))}];")
    return "\n".join([*lines, "}", ""])


def _declared(letters: Partition) -> list[str]:
    """Return the statements that declare the alphabet."""
    alphabet = letters.alphabet
    if not isinstance(alphabet, Valuations):
        return [f"alphabet={_string(joined_names(alphabet))}"]
    found = [f"props={_string(joined_names(alphabet.props))}"]
    for key in ("one-of", "at-most-one"):
        own = [joined_names(one.names) for one in alphabet.constraints if one.key == key]
        found += [f'"{key}"={_string(";".join(own))}'] * bool(own)
    return found


def _string(text: str) -> str:
    """Return a text in double quotes, as DOT has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_Text: TypeAlias = bool | tuple[str, int]
"""A formula: a constant, or a text with how tightly its outermost connective binds (1: |, 2: &, 3: a literal)."""


class _Labels:
    """The labels of edges over one partition into letters."""

    def __init__(self, letters: Partition, name: str) -> None:
        self.name = name
        sets = isinstance(letters, SymbolClasses) and isinstance(letters.alphabet, Valuations)
        self.letters = SetClasses.naming(letters) if sets and isinstance(letters, SymbolClasses) else letters
        self._known: dict[frozenset[int], str] = {}

    def text(self, included: frozenset[int]) -> str:
        """Return the label of an edge for some letters. Raises InputError if it is longer than LONGEST_LABEL."""
        if included not in self._known:
            letters = self.letters
            found = (
                self._of_symbols(letters, included) if isinstance(letters, SymbolClasses) else self._of_sets(included)
            )
            self._known[included] = found
        return self._known[included]

    def _of_symbols(self, letters: SymbolClasses, included: Collection[int]) -> str:
        every = range(len(letters.firsts))
        if len(included) == len(every):
            return "true"
        large = {letter for letter in included if letters.sizes[letter] > 1}
        chosen = [letter for letter in every if (letter in included) != bool(large)]
        names = [_written(letters.alphabet[letters.firsts[letter]], sets=False) for letter in chosen]
        if not large:
            return ", ".join(names)
        return f"!({' | '.join(names)})" if len(names) > 1 else f"!{names[0]}"

    def _of_sets(self, included: Collection[int]) -> str:
        """Return a formula that follows the decision diagram of the letters from the last node to the first."""
        letters = self.letters
        assert isinstance(letters, SetClasses)
        values: list[_Text] = []
        for part, children in letters.nodes:
            groups: dict[_Text, set[int]] = {}
            for choice, child in enumerate(children):
                value: _Text = values[child] if child >= 0 else -1 - child in included
                groups.setdefault(value, set()).add(choice)
            values.append(self._chosen(part, groups))
        found = values[-1] if values else True
        return str(found).lower() if isinstance(found, bool) else found[0]

    def _chosen(self, part: int, groups: dict[_Text, set[int]]) -> _Text:
        """Return the formula that is one of several, depending on the choice in a part of the alphabet."""
        if len(groups) == 1:
            return next(iter(groups))
        simple = len(groups) == 2 and any(isinstance(value, bool) for value in groups)
        terms: list[_Text] = []
        for value, choices in groups.items():
            if value is False:
                continue
            if value is True:
                terms.append(self._condition(part, choices))
            elif simple and True in groups:
                terms.append(value)
            else:
                terms.append(self._joined("&", [self._condition(part, choices), value]))
        return self._joined("|", terms)

    def _joined(self, sign: str, terms: list[_Text]) -> _Text:
        """Return a conjunction or disjunction of texts."""
        if len(terms) == 1:
            return terms[0]
        binding = {"|": 1, "&": 2}[sign]
        texts = [
            str(one).lower() if isinstance(one, bool) else one[0] if one[1] >= binding else f"({one[0]})"
            for one in terms
        ]
        found = f" {sign} ".join(texts)
        if len(found) > LONGEST_LABEL:
            message = f"{self.name}: the condition of an edge has more than {LONGEST_LABEL:,} characters, the limit"
            raise InputError(message, "An automaton over fewer propositions has shorter conditions.")
        return found, binding

    def _condition(self, part: int, chosen: set[int]) -> _Text:
        """Return the formula that a part of the alphabet has one of some choices, not all."""
        alphabet = self.letters.alphabet
        assert isinstance(alphabet, Valuations)
        names, choices = alphabet.parts[part], alphabet.choices[part]
        for name in names:
            holding = {number for number, choice in enumerate(choices) if name in choice}
            if holding == chosen:
                return _written(name, sets=True), 3
            if holding.isdisjoint(chosen) and len(holding) + len(chosen) == len(choices):
                return f"!{_written(name, sets=True)}", 3
        terms: list[_Text] = []
        for number in sorted(chosen):
            own = [name for name in names if sum(name in choice for choice in choices) == 1 and name in choices[number]]
            literals = own[:1] or names
            signs = ["" if name in choices[number] else "!" for name in literals]
            written = [f"{sign}{_written(name, sets=True)}" for sign, name in zip(signs, literals, strict=True)]
            terms.append(self._joined("&", [(text, 3) for text in written]))
        return self._joined("|", terms)


def _written(name: str, sets: bool) -> str:
    """Return a name as it stands in a label: in quotes if it would be read as something else."""
    bare = _BARE.fullmatch(name) is not None and name.lower() not in RESERVED and not (sets and name in ("0", "1"))
    return name if bare else quoted(name)
