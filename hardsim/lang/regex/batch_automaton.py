"""Automata on many words at once: the states after every prefix of all words of one length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError
from hardsim.lang.automata.automaton import Automaton, Word
from hardsim.lang.valuations import listed

States: TypeAlias = NDArray[np.integer[Any]]
"""States of an automaton after the first 0, 1, ..., n symbols of each word, shape (words, n + 1)."""


class BatchAutomaton:
    """Runs a deterministic automaton on batches of words of one length."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self._moves = np.array(automaton.moves, dtype=np.int64)
        self._letters = _Letters(automaton)

    def states(self, words: Sequence[Word]) -> States:
        """Return the states after every prefix of words of one length, which may be 0; shape (words, n + 1). Raises
        InputError for a symbol that is not in the alphabet."""
        letters = np.array([list(map(self._letters.__getitem__, word)) for word in words], dtype=np.int64)
        found = np.zeros((len(words), len(words[0]) + 1 if words else 1), dtype=np.int64)
        for place in range(found.shape[1] - 1):
            found[:, place + 1] = self._moves[found[:, place], letters[:, place]]
        return found


class _Letters(dict[str, int]):
    """The letters of symbols, looked up once each."""

    def __init__(self, automaton: Automaton) -> None:
        super().__init__()
        self._automaton = automaton

    def __missing__(self, symbol: str) -> int:
        try:
            found = self[symbol] = self._automaton.letters[symbol]
        except KeyError:
            known = listed(self._automaton.letters.alphabet)
            raise InputError(f"the symbol '{symbol}' is not in the alphabet", f"The alphabet is: {known}") from None
        return found
