"""The letters of an automaton whose transitions are decision diagrams."""

from __future__ import annotations

from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.diagrams import DecisionDiagrams
from hardsim.lang.automata.letters import Digits
from hardsim.lang.automata.minimal import Transitions

MOST_ENTRIES = 20_000_000
"""Greatest number of states times letters of an automaton."""
MOST_LETTERS = 20_000
"""Greatest number of letters of an automaton over sets of propositions."""


class AutomatonTooLarge(Exception):
    """An automaton would be too large. The text names the limit."""


def lettered(digits: Digits, diagrams: DecisionDiagrams, rows: Transitions) -> Automaton:
    """Return a minimal automaton with letters: symbols share one if no state tells them apart. Raises AutomatonTooLarge
    beyond MOST_LETTERS letters or MOST_ENTRIES transitions."""
    joint = diagrams.leaf(0)
    for row in rows.moves:
        # The letters so far are divided by the next states from one more state.
        joint = diagrams.combined(lambda letter, target: (letter, target), joint, row)
        numbers = {pair: number for number, pair in enumerate(diagrams.values(joint))}
        if len(numbers) > MOST_LETTERS or len(numbers) * len(rows.moves) > MOST_ENTRIES:
            raise AutomatonTooLarge(f"it has {len(rows.moves):,} states and over {len(numbers) - 1:,} letters")
        joint = diagrams.combined(numbers.__getitem__, joint)
    letters, order = digits.classes(diagrams, joint)
    moves = []
    for row in rows.moves:
        pairs = diagrams.combined(lambda letter, target: (letter, target), joint, row)
        after = dict(diagrams.values(pairs))
        moves.append(tuple(after[letter] for letter in order))
    return Automaton(letters, tuple(moves), rows.accepting)
