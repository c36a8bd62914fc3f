"""The words of which a specification says anything, where they are a regular language."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hardsim.lang.regex.automaton import Automaton, explored

_DONE = -1
"""In place of a state: whatever follows does not matter."""


def leading(automaton: Automaton) -> frozenset[int]:
    """The states from which a word is accepted, which may be empty."""
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
    """The prefixes of the words of a language."""
    return explored(automaton.letters, 0, automaton.moves.__getitem__, leading(automaton).__contains__)


def extensions_of(automaton: Automaton) -> Automaton:
    """The words with a prefix in a language that is not empty."""
    return explored(automaton.letters, 0, _stopping(automaton), _DONE.__eq__)


def first_in(automaton: Automaton) -> Automaton:
    """The words whose first symbol alone is a word of a language."""
    follow = _stopping(automaton)
    dead = _DONE - 1

    def following(state: int) -> Sequence[int]:
        return [target if target == _DONE else dead for target in follow(state)] if state == 0 else [state] * size

    size = len(automaton.letters.firsts)
    return explored(automaton.letters, 0, following, _DONE.__eq__)


def _stopping(automaton: Automaton) -> Callable[[int], Sequence[int]]:
    """The states that follow, where those that accept are all one, that does so for ever."""
    done = [_DONE] * len(automaton.letters.firsts)

    def following(state: int) -> Sequence[int]:
        if state == _DONE:
            return done
        return [_DONE if target in automaton.accepting else target for target in automaton.moves[state]]

    return following
