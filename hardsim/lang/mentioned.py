"""Find the names that a formula mentions, if nothing declares its symbols or propositions.

Operators win over names: `G`, `U` and `TRUE` are never names here, and `GFa` is `G F a`. A word that begins with a
prefix operator is divided if the rest is a single letter, perhaps with a number (`GFa`, `Xp0`, `GP1`), or stands alone
elsewhere in the formula. Otherwise it is one name (`Grant`, `Open`). Tools disagree on such words, so a note says how
each was read, unless the rest is lower-case or stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hardsim.errors import Source, Span
from hardsim.lang.lexer import Lexeme, formula_tokens
from hardsim.lang.vocabulary import NAME, PREDICATES, PREFIXES, SYMBOL_PREFIX, quoted

_SHORT = re.compile(r"[^\W\d_](?:_?[0-9]+)?")
"""A letter, perhaps with a number: the only unknown names that follow operators without a space."""
_MOST_SAID = 6
"""Words that a note names."""
_WORDS: Mapping[str, str] = {"first": "first and start are position 1", **dict.fromkeys(PREDICATES, "")}
"""Words without operands that could be meant as names, with their meaning; all LTLf tools read `last` alike."""


@dataclass
class Mentions:
    """The names that a text mentions, in order, and notes on words that have a second reading."""

    names: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    strange: bool = False
    """True if there are words that cannot be names, such as 2nd."""


def mentioned(source: Source, regions: Iterable[Span], defined: Collection[str]) -> Mentions:
    """Return the names in regions of a text, without the defined ones. Raises SourceError for a character that
    begins no token."""
    tokens = [token for region in regions for token in formula_tokens(source, region, (), defined)]
    atoms = [token for token in tokens if token.kind in ("WORD", "QUOTED") and token.value not in defined]
    words = dict.fromkeys(token.value for token in atoms if token.kind == "WORD")
    known = {token.value for token in atoms if token.kind == "QUOTED"}
    known |= {word for word in words if NAME.fullmatch(word) and not PREFIXES.match(word) and not _is_spelled(word)}
    found, split, whole = Mentions(), list[tuple[str, str]](), list[str]()
    meant: dict[str, str] = {}
    for word in sorted(words, key=len):  # FGrant is F Grant once Grant is known as a name
        if not NAME.fullmatch(word):
            found.strange = True
            continue
        meant[word], operators = _divided(word, known)
        known.add(meant[word])
        rest = meant[word]
        if operators and not rest[0].islower() and rest not in words:
            split.append((word, " ".join([*operators, rest])))
        elif not operators and PREFIXES.match(word) and not word[0].islower():
            whole.append(word)
    for token in atoms:
        name = token.value if token.kind == "QUOTED" else meant.get(token.value)
        if name is not None:
            found.names.setdefault(name)
    order = [word for word in words if word in meant]
    found.notes += _notes(sorted(whole, key=order.index), sorted(split, key=lambda one: order.index(one[0])))
    found.notes += _notes_on_words(tokens)
    return found


def _is_spelled(word: str) -> bool:
    """Return whether a word is the spelling `Q_a` of a name `a`."""
    return word.startswith(SYMBOL_PREFIX) and word != SYMBOL_PREFIX


def _divided(word: str, known: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Split a word such as `Fa` into its name and the operators before it."""
    if _is_spelled(word):
        return word.removeprefix(SYMBOL_PREFIX), ()
    if word[0].islower() or word in known:
        return word, ()
    ways, operators, at = list[tuple[str, tuple[str, ...]]](), tuple[str, ...](), 0
    while prefix := PREFIXES.match(word, at):
        operators, at = (*operators, prefix[0]), prefix.end()
        ways.append((word[at:], operators))
    alone = next(((rest, glued) for rest, glued in ways if rest in known), None)
    short = next(((rest, glued) for rest, glued in ways if _SHORT.fullmatch(rest)), None)
    return alone or short or (word, ())


def _notes(whole: Sequence[str], split: Sequence[tuple[str, str]]) -> list[str]:
    """Return notes that say how words beginning with an operator were read."""
    notes = []
    if whole:
        shown = ", ".join(whole[:_MOST_SAID]) + (", ..." if len(whole) > _MOST_SAID else "")
        one = len(whole) == 1
        notes.append(
            f"{shown} {'is' if one else 'are'} read as {'one name' if one else 'names'}, although the first letter is "
            "an operator: put a space after the letter if the operator is meant"
        )
    if split:
        shown = ", ".join(f"{word} is {parts}" for word, parts in split[:_MOST_SAID])
        more = ", ..." if len(split) > _MOST_SAID else ""
        hint = f"put quotes around a name, as in {quoted(split[0][0])}"
        notes.append(f"operators win over names: {shown}{more}; {hint}")
    return notes


def _notes_on_words(tokens: Iterable[Lexeme]) -> list[str]:
    """Return notes on constants and predicates that could be meant as names."""
    used = dict.fromkeys(token.value for token in tokens if token.kind in ("CONSTANT", "PREDICATE"))
    return [
        f"{_WORDS[word] or f'{word} is the numerical predicate of positions'}, not a name: put quotes around a name "
        f"with this spelling, as in {quoted(word)}"
        for word in used
        if word in _WORDS
    ]
