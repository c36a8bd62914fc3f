"""From a word to what a program reads: the word itself, or filled up with blanks as the `pad:` line says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hardsim.errors import InputError
from hardsim.lang.srasp import ast
from hardsim.lang.words import has_long_symbols

LONGEST_PADDED: Final = 100_000
"""Positions of the longest padded word."""


def show_word(program: ast.Program, word: Sequence[str]) -> str:
    """A word as the user writes it."""
    return (" " if has_long_symbols(program.alphabet) else "").join(word)


def padded_word(program: ast.Program, word: Sequence[str]) -> tuple[str, ...]:
    """The word that the vectors of a program are about, of n symbols: `word` and then blanks.

    Raises:
        InputError: for the empty word, a symbol that is not in the alphabet, and a padded length that is no integer,
            less than the word's or more than LONGEST_PADDED.
        SourceError: where the `pad:` line has no value, as for a division by zero.
    """
    if not word:
        raise InputError("the empty word has no position to read a program at", "Words have one symbol or more.")
    if not set(program.alphabet).issuperset(word):
        foreign = next(symbol for symbol in word if symbol not in program.alphabet)
        known = " ".join(program.alphabet)
        raise InputError(f"the symbol '{foreign}' is not in the alphabet", f"The alphabet is: {known}")
    if program.pad is None:
        return tuple(word)
    length = program.pad.evaluate(len=len(word))
    given = f"pad: {program.pad} is {length} for the word '{show_word(program, word)}' of length {len(word)}"
    if length.denominator != 1:
        raise InputError(
            f"{given}, and a length is an integer", "The padded length must be an integer for every length."
        )
    if length < len(word):
        raise InputError(f"{given}: shorter than the word", "The padded length must be the word's length or more.")
    if length > LONGEST_PADDED:
        raise InputError(f"{given}: longer than {LONGEST_PADDED} positions", "Use a shorter word.")
    return (*word, *[ast.BLANK] * (int(length) - len(word)))
