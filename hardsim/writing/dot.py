"""Drawings of automata in Graphviz's DOT language (graphviz.org/doc/info/lang.html)."""

from __future__ import annotations

import re

from hardsim.lang.automata.automaton import Automaton


def dot_text(automaton: Automaton) -> str:
    """Return a graph of an automaton: states are numbered from 1, a word begins in state 1, and accepting states have
    two circles. An edge is labelled with its letters, by name."""
    lines = ["digraph {", "  rankdir=LR;", "  node [shape=circle];", '  init [shape=point, label=""];', "  init -> 1;"]
    lines += [f"  {state + 1} [shape=doublecircle];" for state in sorted(automaton.accepting)]
    names = [automaton.letters.name(letter) for letter in range(len(automaton.letters.firsts))]
    for state, row in enumerate(automaton.moves):
        targets: dict[int, list[str]] = {}
        for letter, target in enumerate(row):
            targets.setdefault(target, []).append(names[letter])
        lines += [
            f"  {state + 1} -> {target + 1} [label={_quoted(', '.join(some))}];" for target, some in targets.items()
        ]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    """Return a text as a quoted string, with signs that would end it or begin an escape protected."""
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
