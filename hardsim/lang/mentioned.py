"""Find the names that a formula mentions, for texts that declare neither symbols nor propositions.

Operators win over names: `G`, `U` and `TRUE` are never names here, and `GFa` is `G F a`. A word that begins with a
prefix operator is divided if the rest is a single letter, perhaps with a number (`GFa`, `Xp0`, `GP1`), or occurs alone
elsewhere in the formula. Otherwise it is one name (`Grant`, `Open`). Tools disagree on such words, so a note tells how
each was read, unless the formula itself shows that the rest is a name: it occurs alone, or after other operators.
Several operators before a lower-case letter (`GFa`) need no note either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.lexer import Lexeme, formula_tokens
from hardsim.lang.vocabulary import NAME, PREDICATES, PREFIXES, SYMBOL_PREFIX, quoted
from hardsim.lazy_dataclass import dataclass

_SHORT = re.compile(r"[^\W\d_](?:_?[0-9]+)?")
"""A letter, perhaps with a number. An unknown name directly after an operator must have this form."""
_MOST_SAID = 6
"""Greatest number of words that one note lists."""
_MOST_BLANKS = 80
"""Greatest number of blanks between an opening brace and the name after it."""
_BETWEEN = "URVWMST"
"""The binary operators that are letters, as in `aUb`."""
_OPERATORS = frozenset({"UNARY", "BINARY", "ARROW", "AND", "OR", "XOR", "COUNT", "COMPARE"})
_WORDS: Mapping[str, str] = {
    "first": "first and start are position 1",
    "last": "last is the last position",
    **dict.fromkeys(PREDICATES, ""),
}
"""Words without operands that the user could have intended as names, with their meaning."""
_CONSTANTS_ELSEWHERE = ("end",)
"""Names that are constants in Lydia and flloat."""


@dataclass
class Mentions:
    """The names that a text mentions, in order, and notes on words that have a second reading."""

    names: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    strange: bool = False
    """True if there are words that cannot be names, such as 2nd."""


def mentioned(source: Source, regions: Iterable[Span], defined: Collection[str]) -> Mentions:
    """Return the names in regions of a text, except the defined ones. Raises SourceError for a character that
    begins no token, and for a region that is a formula in quotes."""
    tokens = list[Lexeme]()
    for region in regions:
        tokens += (found_here := formula_tokens(source, region, (), defined))
        _check_unquoted(source, found_here)
    atoms = [token for token in tokens if token.kind in ("WORD", "QUOTED") and token.value not in defined]
    enclosed = {token.value for token in atoms if token.kind == "QUOTED" or _is_braced(source, token)}
    words = dict.fromkeys(token.value for token in atoms if token.kind == "WORD" and not _is_braced(source, token))
    known = set(enclosed)
    # these words have one reading only, and so help to read the others
    known |= {word for word in words if NAME.fullmatch(word) and not PREFIXES.match(word) and not _is_spelled(word)}
    found, whole = Mentions(), list[str]()
    split: dict[str, tuple[str, ...]] = {}
    resolved: dict[str, str] = {}
    for word in sorted(words, key=len):  # shortest first: FGrant is F Grant once Grant is known
        if not NAME.fullmatch(word):
            found.strange = True
            continue
        resolved[word], operators = _divided(word, known)
        known.add(resolved[word])
        if operators:
            split[word] = operators
        # `wX` is an operator too, but a word in lower case is a name without doubt
        elif PREFIXES.match(word) and not word[0].islower():
            whole.append(word)
    for token in atoms:
        name = token.value if token.value in enclosed else resolved.get(token.value)
        if name is not None:
            found.names.setdefault(name)
    order = [word for word in words if word in resolved]
    shown = Counter(resolved.values())
    unsure = [
        (word, " ".join([*split[word], resolved[word]]))
        for word in order
        if word in split
        # a name that other words contain too is certain, so no note
        and shown[resolved[word]] == 1
        and resolved[word] not in enclosed
        and not (len(split[word]) > 1 and resolved[word][0].islower())
    ]
    found.notes += _notes(sorted(whole, key=order.index), unsure)
    found.notes += _notes_between([word for word in order if word not in split and word not in whole], known)
    found.notes += _notes_on_words(tokens, found.names)
    return found


def _check_unquoted(source: Source, tokens: Sequence[Lexeme]) -> None:
    """Raise SourceError if the text is a single formula in quotes, as in tables and JSON.

    Otherwise the formula would be read as one proposition with that long name.
    """
    if len(tokens) != 1 or tokens[0].kind != "QUOTED":
        return
    inside = Source("", tokens[0].value)
    try:
        within = formula_tokens(inside, Span(0, len(inside.text)), ())
    except SourceError:
        return
    if any(token.kind in _OPERATORS for token in within):
        raise SourceError(
            source,
            tokens[0].span,
            "the quotes make all of this one name",
            "a formula without quotes around it",
            "remove the quotes; to use a name with this spelling, declare it in a line props: or alphabet:",
        )


def _is_braced(source: Source, token: Lexeme) -> bool:
    """Return True if a word is in braces, where it contains no operator."""
    start = token.span.start
    return token.kind == "WORD" and source.text[max(0, start - _MOST_BLANKS) : start].rstrip().endswith("{")


def _is_spelled(word: str) -> bool:
    """Return True if a word is the spelling `Q_a` of a name `a`."""
    return word.startswith(SYMBOL_PREFIX) and word != SYMBOL_PREFIX


def _divided(word: str, known: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Split a word such as `Fa`; return its name and the operators before the name; the whole word and () if it has
    no such operators."""
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
    """Return notes on words that begin with an operator: how each was read."""
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


def _notes_between(words: Iterable[str], known: Collection[str]) -> list[str]:
    """Return notes on names that look like two operands with an operator between them, as `aUb`."""

    def is_operand(text: str) -> bool:
        return text in known or _SHORT.fullmatch(text) is not None

    found = [
        (word, letter)
        for word in words
        for at, letter in enumerate(word)
        if letter in _BETWEEN and is_operand(word[:at]) and is_operand(word[at + 1 :])
    ]
    return [
        f"{word} is read as one name: put spaces around {letter} if the operator is meant"
        for word, letter in found[:_MOST_SAID]
    ]


def _notes_on_words(tokens: Iterable[Lexeme], names: Iterable[str]) -> list[str]:
    """Return notes on constants and predicates that the user could have intended as names, and on names that are
    constants in other tools."""
    used = dict.fromkeys(token.value for token in tokens if token.kind in ("CONSTANT", "PREDICATE"))
    return [
        f"{_WORDS[word] or f'{word} is the numerical predicate of positions'}, not a name: put quotes around a name "
        f"with this spelling, as in {quoted(word)}"
        for word in used
        if word in _WORDS
    ] + [
        f"{word} is read as a name; in Lydia and flloat it is a constant"
        for word in names
        if word in _CONSTANTS_ELSEWHERE
    ]
