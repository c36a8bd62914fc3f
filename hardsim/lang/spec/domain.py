"""The words for which a specification expects any output, if they form a regular language."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hardsim.lang.automata.automaton import Automaton, explored

_DONE = -1
"""An accepting state, beside those of an automaton (numbered from 0), after which every continuation is accepted
too."""


def leading(automaton: Automaton) -> frozenset[int]:
    """Return the states from which some word, perhaps the empty one, is accepted."""
    sources: list[set[int]] = [set() for _ in automaton.moves]
    for state, row in enumerate(automaton.moves):
        for target in row:
            sources[target].add(state)
    found, left = set(automaton.accepting), list(automaton.accepting)
    while left:
        new = sources[left.pop()] - found
        found |= new
        left += new
    return frozenset(found)


def prefixes_of(automaton: Automaton) -> Automaton:
    """Return the automaton of the prefixes of the words in a language."""
    return explored(automaton.letters, 0, automaton.moves.__getitem__, leading(automaton).__contains__)


def extensions_of(automaton: Automaton) -> Automaton:
    """Return the automaton of the words that have a non-empty prefix in a language."""
    # the empty prefix does not count, so the start state is never merged
    return explored(automaton.letters, 0, _stopping(automaton), _DONE.__eq__)


def first_in(automaton: Automaton) -> Automaton:
    """Return the automaton of the words whose first symbol alone is a word of a language."""
    follow = _stopping(automaton)
    # any number that is no state and not _DONE
    dead = _DONE - 1

    def following(state: int) -> Sequence[int]:
        return [target if target == _DONE else dead for target in follow(state)] if state == 0 else [state] * size

    size = len(automaton.letters.firsts)
    return explored(automaton.letters, 0, following, _DONE.__eq__)


def _stopping(automaton: Automaton) -> Callable[[int], Sequence[int]]:
    """Return the successor function of an automaton in which all accepting states are merged into one that is
    never left."""
    done = [_DONE] * len(automaton.letters.firsts)

    def following(state: int) -> Sequence[int]:
        if state == _DONE:
            return done
        return [_DONE if target in automaton.accepting else target for target in automaton.moves[state]]

    return following
