"""Padding: the input of a program is a word, followed by blanks if the program has a `pad:` line."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from hardsim.errors import InputError
from hardsim.lang import ast
from hardsim.lang.arith import Arith
from hardsim.lang.valuations import listed
from hardsim.lang.words import written_word

LONGEST_PADDED: Final = 100_000
"""Greatest length of a padded word, in positions."""


def padded_word(program: ast.SraspProgram, word: Sequence[str]) -> tuple[str, ...]:
    """Return the padded word on which the vectors of a program are defined: `word`, then blanks. Raises InputError for
    the empty word, a symbol that is not in the alphabet, and a padded length that is no integer, less than the word's
    or more than LONGEST_PADDED; SourceError where the `pad:` line has no value, for instance a division by zero."""
    if not word:
        raise InputError("the empty word has no position to read a program at", "Words have one symbol or more.")
    if not set(program.alphabet).issuperset(word):
        external = next(symbol for symbol in word if symbol not in program.alphabet)
        known = listed(program.alphabet)
        raise InputError(f"the symbol '{external}' is not in the alphabet", f"The alphabet is: {known}")
    if program.pad is None:
        return tuple(word)
    length = _length(program.pad, len(word))
    if length.denominator == 1 and len(word) <= length <= LONGEST_PADDED:
        return (*word, *[ast.BLANK] * (int(length) - len(word)))
    given = (
        f"pad: {program.pad} is {length} for the word '{written_word(word, program.alphabet)}' of length {len(word)}"
    )
    if length.denominator != 1:
        hint = "The padded length must be an integer for every length."
        raise InputError(f"{given}, which is not an integer", hint)
    if length < len(word):
        raise InputError(f"{given}: shorter than the word", "The padded length must be the word's length or more.")
    hint = "Write a smaller length after pad:, or use a shorter word."
    raise InputError(f"{given}: longer than {LONGEST_PADDED} positions", hint)


@lru_cache(1 << 8)
def _length(pad: Arith, length: int) -> Fraction:
    """Return the padded length of words of a length: an exact rational, so that `denominator` tells integers apart."""
    return pad.evaluate(len=length)
