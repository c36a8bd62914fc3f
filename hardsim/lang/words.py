"""Alphabets and words in the notation of users: checking, parsing and printing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from hardsim.errors import InputError, Source, SourceError, Span, did_you_mean
from hardsim.lang import valuations
from hardsim.lang.vocabulary import PIECE, brief, is_name, open_quote, quoted, unquoted
from hardsim.records import EMPTY
from hardsim.visible import OBEYED

E = TypeVar("E", bound=InputError)

LARGEST_ALPHABET = 10_000
"""Greatest number of symbols in an alphabet that lists them: a network has a row for each, and there are as many
two-symbol words as its square."""

_PIECE = re.compile(r"\S+")
_SET_PIECE = re.compile(r"\{(?P<inside>[^{}]*)\}|\S[^\s{}]*")
"""A set of propositions in braces, or a piece of text that is not a set."""
_PLAIN_NAME = "Separate propositions by spaces; their names contain no comma and no brace."
_QUOTED_NAMES = "Names with blanks are quoted and separated by blanks: 'a b' 'c d'; a quote inside is doubled."
_QUOTE_SETS = "on a command line quote the word, since shells expand braces"
_PRINTABLE = "Leave out control characters, and give text as UTF-8."


def check_alphabet(alphabet: Sequence[str] | str) -> tuple[str, ...]:
    """Return an alphabet given outside a file: symbols, or one text with symbols separated by white space (symbols
    with spaces in quotes). Raises InputError for an empty alphabet, more than LARGEST_ALPHABET symbols, a repeated
    symbol, an unclosed quote, and a symbol that is empty or contains control characters or white space other than
    inner spaces."""
    symbols = _given_names(alphabet)
    if not symbols:
        raise InputError("the alphabet is empty", "Give its symbols separated by spaces, such as 'a b'.")
    if len(symbols) > LARGEST_ALPHABET:
        raise InputError(f"the alphabet has {len(symbols):,} symbols", f"Give at most {LARGEST_ALPHABET:,}.")
    for index, symbol in enumerate(symbols):
        if not is_name(symbol):
            raise InputError(f"{symbol!r} is not a symbol", "A symbol is not empty, and has spaces only inside.")
        if unprintable(symbol):
            raise InputError(f"{brief(symbol)} is not a symbol: it contains {unprintable(symbol)}", _PRINTABLE)
        if symbol in symbols[:index]:
            raise InputError(f"the symbol {symbol} is in the alphabet twice", "Give each symbol once.")
    return symbols


def _given_names(names: Sequence[str] | str) -> tuple[str, ...]:
    """Return names given outside a file as a tuple. Raises InputError for an unclosed quote."""
    if not isinstance(names, str):
        return tuple(names)
    pieces = [match[0] for match in PIECE.finditer(names)]
    index = open_quote(pieces)
    if index is not None:
        raise InputError(f"no quote before a blank closes the name that begins {brief(pieces[index])}", _QUOTED_NAMES)
    return tuple(map(unquoted, pieces))


def unprintable(symbol: str) -> str:
    """Describe the first character of a symbol that is a control character (which a terminal obeys), prints nothing or
    is no text; "" if there is none."""
    found = OBEYED.search(symbol)
    if found is None:
        return ""
    bad = found[0]
    # Python decodes command-line bytes that are not UTF-8 to lone surrogates, U+DC80 to U+DCFF.
    kinds = {"Cs": "text that is not UTF-8", "Cf": "the invisible character"}
    return f"{kinds.get(unicodedata.category(bad), 'the control character')} (U+{ord(bad):04X})"


def read_alphabet(source: Source, region: Span) -> tuple[str, ...]:
    """Return the symbols in the value of an `alphabet:` line. Raises SourceError for an empty line, a repeated symbol
    and control characters."""
    return tuple(read_names(source, region, "symbol", "symbols separated by spaces, as in alphabet: a b"))


def read_names(source: Source, region: Span, what: str, expected: str) -> dict[str, Span]:
    """Return the symbols, propositions or tokens in the value of a header line, with their places. `what` is the noun
    for one of them, `expected` the expected text if there is none. Raises SourceError as `read_alphabet` does."""
    seen: dict[str, Span] = {}
    pieces = [(match[0], Span(*match.span())) for match in PIECE.finditer(source.text, region.start, region.end)]
    index = open_quote([piece for piece, _ in pieces])
    if index is not None:
        message = f"this {what} begins with a quote, and no quote before a blank closes it"
        raise SourceError(source, pieces[index][1], message, "a closing quote and a blank", _QUOTED_NAMES)
    for piece, span in pieces:
        symbol = unquoted(piece)
        if symbol in seen:
            raise SourceError(source, span, f"duplicate {what} {symbol}", f"each {what} once", "remove one of the two")
        if unprintable(symbol):
            message = f"this {what} contains {unprintable(symbol)}"
            raise SourceError(source, span, message, f"{what}s that can be printed", _PRINTABLE)
        if len(seen) == LARGEST_ALPHABET:
            message = f"the alphabet has more than {LARGEST_ALPHABET:,} symbols"
            raise SourceError(source, span, message, "the end of the line", "leave out symbols that mean the same")
        seen[symbol] = span
    if not seen:
        message = "the alphabet is empty" if what == "symbol" else f"there is no {what} on this line"
        raise SourceError(source, region, message, expected)
    return seen


def check_propositions(
    names: Sequence[str] | str, constraints: Sequence[valuations.Exclusion] = ()
) -> valuations.Valuations:
    """Return the alphabet of propositions given outside a file: names, or one text with names separated by white space.
    Raises InputError as `check_alphabet` does, for a name with a comma or brace, and for too many sets."""
    given = _given_names(names)
    if not given:
        raise InputError("there are no propositions", "Give them separated by spaces, such as 'p q'.")
    for name in given:
        if not valuations.is_proposition(name):
            raise InputError(f"{brief(name)} is not a proposition", _PLAIN_NAME)
        if unprintable(name):
            raise InputError(f"{brief(name)} is not a proposition: it contains {unprintable(name)}", _PRINTABLE)
        if given.count(name) > 1:
            raise InputError(f"the proposition {name} is given twice", "Give each proposition once.")
    return valuations.Valuations(given, constraints)


def read_propositions(
    source: Source, region: Span, constraints: Sequence[tuple[valuations.ConstraintKey, Span]] = ()
) -> valuations.Valuations:
    """Return the alphabet of the propositions in the value of a `props:` line, with the values of `one-of:` and
    `at-most-one:` lines as constraints. Raises SourceError for an empty line, a name that is repeated or contains a
    comma or brace, an unknown name in a constraint, constraints that no set fulfils, and more sets than the limit."""
    names = read_names(source, region, "proposition", "propositions separated by spaces, as in props: p q")
    for name, span in names.items():
        if not valuations.is_proposition(name):
            message = f"{brief(name)} is not a proposition"
            raise SourceError(source, span, message, "names without commas and braces", _PLAIN_NAME)
    exclusions = []
    for key, body in constraints:
        own = read_names(
            source, body, "proposition", f"propositions separated by spaces, as in {key}: {' '.join(names)}"
        )
        for name, span in own.items():
            if name not in names:
                hint = did_you_mean(name, names) or f"declare it as well: props: {_some(tuple(names))} {name}"
                expected = f"propositions of the props: line ({_some(tuple(names))})"
                raise SourceError(source, span, f"unknown proposition {brief(name)}", expected, hint)
        exclusions.append(valuations.Exclusion(key, tuple(own)))
    try:
        return valuations.Valuations(tuple(names), exclusions)
    except InputError as error:
        raise SourceError(source, region, error.message, "", error.hint) from None


def has_long_symbols(alphabet: Collection[str]) -> bool:
    """Return True if a word must be written with spaces between its symbols or as sets: a symbol is longer than one
    character, or the alphabet has propositions."""
    return isinstance(alphabet, valuations.Valuations) or any(len(symbol) > 1 for symbol in alphabet)


def written_word(word: Iterable[str], alphabet: Sequence[str]) -> str:
    """Return a word as text in the notation of users: its symbols side by side if all symbols of the alphabet are
    single characters or all are sets, else separated by blanks, and in quotes if they contain a blank."""
    if not has_long_symbols(alphabet) or valuations.is_sets(alphabet):
        return "".join(word)
    return " ".join(quoted(symbol) if " " in symbol else symbol for symbol in word)


def shown_word(word: Sequence[str], alphabet: Sequence[str]) -> str:
    """Return a word as text for tables and messages, in which the empty word is "(empty)"."""
    return written_word(word, alphabet) if word else EMPTY


def written_output(output: Sequence[str | int], alphabet: Sequence[str]) -> str:
    """Return an output as text: symbols in the notation of words, or integers separated by blanks."""
    several = any(isinstance(part, int) for part in output)
    return " ".join(map(str, output)) if several else written_word(map(str, output), alphabet)


def read_words(source: Source, region: Span, alphabet: Sequence[str]) -> list[tuple[tuple[str, ...], Span]]:
    """Return the words in the value of an `accept:` or `reject:` line, with their places: one word if a symbol of the
    alphabet is longer than one character, otherwise words separated by white space. Raises SourceError for a symbol
    that is not in the alphabet, and if there is no word."""
    pieces = _pieces(source, region)
    if not pieces:
        message, expected = "there is no word here, and the empty word is not allowed", "a word of at least one symbol"
        raise SourceError(source, region, message, expected, "words are non-empty")
    # long symbols need spaces inside a word, so a line holds one word
    words = [pieces] if has_long_symbols(alphabet) else [[piece] for piece in pieces]
    return [(_symbols(source, word, alphabet), Span(word[0][1].start, word[-1][1].end)) for word in words]


def parse_word(text: str | Source, alphabet: Sequence[str], empty: bool = False) -> tuple[str, ...]:
    """Parse one word: symbols of one character, with or without white space between them, or symbols separated by
    spaces. Raises SourceError, with the caret at the symbol, for a symbol that is not in the alphabet, and for the
    empty word unless it is allowed (`empty`)."""
    source = text if isinstance(text, Source) else Source("<word>", text)
    pieces = _pieces(source, Span(0, len(source.text)))
    if not pieces and not empty:
        hint = "Words are non-empty: positions are 1 to n."
        raise SourceError(source, Span(0, 1), "the empty word is not allowed", "at least one symbol", hint)
    return _symbols(source, pieces, alphabet)


def check_word(symbols: Sequence[str], alphabet: Sequence[str], empty: bool = False) -> tuple[str, ...]:
    """Return a word that is given as symbols, as a tuple, with sets in the spelling of the alphabet. Raises InputError
    for a symbol that is not in the alphabet, and for the empty word unless it is allowed (`empty`)."""
    if not symbols and not empty:
        raise InputError("the empty word is not allowed", "Words are non-empty: positions are 1 to n.")
    if valuations.is_sets(alphabet):
        try:
            # the second pattern matches any text
            found = [_SET_PIECE.fullmatch(one) or re.fullmatch("(?s:.*)", one) for one in symbols]
            return tuple(_set_symbol(Source("<word>", piece.string), piece, alphabet) for piece in found if piece)
        except SourceError as error:
            plain = InputError(error.message, error.hint or f"expected {error.expected}")
            raise (_outside(plain) if error.outside else plain) from None
    for symbol in symbols:
        if symbol not in alphabet:
            raise _outside(InputError(f"{brief(symbol)} is not a symbol of the alphabet", _expected(alphabet)))
    return tuple(symbols)


def _outside(error: E) -> E:
    """Return an error, marked as one about a symbol or a proposition that the alphabet lacks."""
    error.outside = True
    return error


def _expected(alphabet: Sequence[str]) -> str:
    return f"symbols of the alphabet: {_some(alphabet)}"


def _some(names: Sequence[str]) -> str:
    return valuations.listed(names, 20)


def _pieces(source: Source, region: Span) -> list[tuple[str, Span]]:
    """Return the pieces of a region between white space, with their places."""
    return [(match[0], Span(*match.span())) for match in _PIECE.finditer(source.text, region.start, region.end)]


def _symbol_pieces(source: Source, region: Span, alphabet: Sequence[str]) -> list[tuple[str, Span]]:
    """Split a word at spaces into symbols. Quotes around a piece are removed, unless the alphabet has the symbol
    with quotes."""
    found = list[tuple[str, Span]]()
    for match in PIECE.finditer(source.text, region.start, region.end):
        span, name = Span(*match.span()), unquoted(match[0])
        if match[0] not in alphabet and name in alphabet:
            found.append((name, span))
        else:
            found += _pieces(source, span)
    return found


def _symbols(source: Source, pieces: Sequence[tuple[str, Span]], alphabet: Sequence[str]) -> tuple[str, ...]:
    """Return the symbols of a word: sets; or its pieces, if there are symbols of several characters; or its
    characters."""
    if valuations.is_sets(alphabet):
        found = _SET_PIECE.finditer(source.text, pieces[0][1].start, pieces[-1][1].end)
        return tuple(_set_symbol(source, match, alphabet) for match in found)
    long = has_long_symbols(alphabet)
    if long:
        pieces = _symbol_pieces(source, Span(pieces[0][1].start, pieces[-1][1].end), alphabet)
    for text, span in pieces:
        for offset, symbol in enumerate([text] if long else text):
            if symbol not in alphabet:
                expected, hint = _expected(alphabet), _hint(text, symbol, alphabet)
                place = span if long else Span(span.start + offset, span.start + offset + 1)
                message = f"{brief(symbol)} is not a symbol of the alphabet"
                raise _outside(SourceError(source, place, message, expected, hint))
    return tuple(symbol for text, _ in pieces for symbol in ([text] if long else text))


def read_set(source: Source, region: Span, alphabet: Sequence[str]) -> str:
    """Return the alphabet's symbol for the set of propositions at a place (in any order). Raises SourceError for text
    that is no set of the alphabet."""
    found = _SET_PIECE.fullmatch(source.text, region.start, region.end)
    assert found is not None  # callers have checked the braces
    return _set_symbol(source, found, alphabet)


def _set_symbol(source: Source, piece: re.Match[str], alphabet: Sequence[str]) -> str:
    """Return the alphabet's symbol for a set of propositions in any order. Raises SourceError for text that is no set
    of the alphabet."""
    names = valuations.propositions_of(alphabet)
    text, span = piece[0], Span(*piece.span())
    if not text.startswith("{") or not text.endswith("}") or len(text) < 2:
        raise _no_set(source, text, span, names)
    # the common case: the exact spelling of the alphabet
    if text in alphabet:
        return text
    # each name's own place is needed for its error
    held: dict[str, Span] = {}
    start = span.start + 1
    for part in text[1:-1].split(",") if text[1:-1].strip() else []:
        name = part.strip()
        if name not in names and unquoted(name) in names:
            name = unquoted(name)
        begin = start + len(part) - len(part.lstrip())
        at = Span(begin, begin + max(1, len(name)))
        expected = f"a proposition ({_some(names)})"
        if not name:
            raise SourceError(source, at, "a proposition is missing here", expected, "leave out the comma")
        if name not in names:
            hint = did_you_mean(name, names) or "a set is written {p,q}: its propositions are separated by commas"
            raise _outside(SourceError(source, at, f"unknown proposition {brief(name)}", expected, hint))
        if name in held:
            raise SourceError(source, at, f"{name} is in this set twice", "each proposition once", "leave one out")
        held[name] = at
        start += len(part) + 1
    symbol = valuations.set_symbol(held, alphabet)
    if symbol is not None:
        return symbol
    broken = alphabet.broken(held) if isinstance(alphabet, valuations.Valuations) else None
    shown = valuations.written_set(held, names)
    if broken is None:
        raise SourceError(source, span, f"{shown} is not a set of the alphabet", _expected(alphabet))
    raise SourceError(source, span, f"{shown} violates {broken}", f"a set in which {broken.meaning}")


def _no_set(source: Source, text: str, span: Span, names: Sequence[str]) -> SourceError:
    """Return the error for a piece of a word that is not a set."""
    expected = "sets of propositions, as in {}{" + names[0] + "}" if names else "sets of propositions"
    if text.startswith("{"):
        return SourceError(source, span, "this brace is never closed", "} further on", _QUOTE_SETS)
    if text.startswith("}"):
        return SourceError(source, Span(span.start, span.start + 1), "this brace closes nothing", expected)
    hint = f"write {{{text}}}; {_QUOTE_SETS}" if text in names else _QUOTE_SETS
    return SourceError(source, span, f"{brief(text)} is not a set", expected, hint)


def _hint(text: str, symbol: str, alphabet: Sequence[str]) -> str:
    """Return a hint for a piece of a word that contains the unknown symbol `symbol`, or ""."""
    if not has_long_symbols(alphabet):
        if text.startswith("//"):
            return "there are no comments in header lines: move it to a line of its own"
        hints = {",": "separate words by spaces only", "ε": "words are non-empty"}
        return hints.get(symbol, "write words without quotes" if symbol in "\"'" else "")
    blank = next((name for name in alphabet if " " in name and text.strip("'\"") in name.split()), None)
    if blank is not None:
        return f"write a symbol with blanks in quotes: {quoted(blank)}"
    parts, letters = segmented(text, alphabet), list(dict.fromkeys("".join(alphabet)))
    hint = "separate symbols by spaces" + (f": {' '.join(parts)}" if parts else "")
    if len(alphabet) == 1 and all(letter in letters for letter in text):
        hint += f", or in the alphabet: {' '.join(letters)}"
    return hint


def segmented(text: str, pieces: Collection[str]) -> list[str]:
    """Split a text into pieces from a collection: as few as possible, and of several ways the one with the latest
    last piece; [] if there is no way, or the text has more than 100 characters."""
    best: dict[int, list[str]] = {0: []}
    # at most 100 characters: the time grows with length times number of pieces, and this serves for hints only
    for end in range(1, min(len(text), 100) + 1):
        for piece in pieces:
            start = end - len(piece)
            if start in best and text[start:end] == piece and len(best.get(end, text)) > len(best[start]):
                best[end] = [*best[start], piece]
    return best.get(len(text), [])


def count_words(k: int, n: int) -> int:
    """Return the number of words of length n over k symbols."""
    return int(k**n)
