"""What the header lines of a program say: alphabet, padded length, output and examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from hardsim.errors import SourceError, Span
from hardsim.lang.arith import Arith, parse_arith
from hardsim.lang.files import HeaderLine
from hardsim.lang.raw import Lexeme
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.layout import Layout
from hardsim.lang.srasp.scope import listed
from hardsim.lang.vocabulary import brief
from hardsim.lang.words import has_long_symbols, read_alphabet, read_words, unprintable

_PIECE = re.compile(r"\S+")
_MAP_FORM = "WORD -> WORD, with blanks around the arrow"
_CALLED = re.compile(r"\s*\(\s*i\s*\)$")


def given_symbols(layout: Layout) -> tuple[str, ...] | None:
    """The symbols of the `alphabet:` line, None without one."""
    line = layout.header("alphabet")
    return None if line is None else read_alphabet(layout.source, line.value)


def find_alphabet(
    layout: Layout, given: tuple[str, ...] | None, declared: Sequence[Lexeme], mentioned: Sequence[Lexeme]
) -> tuple[str, ...]:
    """The alphabet: that of the header, else the declared `Q_` symbols, else the mentioned ones, in order.

    Raises SourceError if there is none of the three, for symbols that cannot be printed, for declarations of foreign
    symbols or twice, and for the blank in a program that pads.
    """
    source, padded = layout.source, layout.header("pad") is not None
    seen: dict[str, Span] = {}
    for token in declared:
        if given is not None and token.value not in given:
            expected = f"a symbol of the alphabet: line ({listed(given)})"
            raise SourceError(source, token.span, f"{brief(token.value)} is not a symbol of the alphabet", expected)
        if token.value in seen:
            raise SourceError(source, token.span, f"the symbol {token.value} is declared twice", "each symbol once")
        seen[token.value] = token.span
    if given is None and not declared:
        for token in mentioned:
            if not (padded and token.value == ast.BLANK):
                seen.setdefault(token.value, token.span)
    for symbol, span in seen.items():
        if unprintable(symbol):
            message = f"this symbol has {unprintable(symbol)} in it"
            raise SourceError(source, span, message, "symbols that can be printed")
    symbols = given or tuple(seen)
    if not symbols:
        expected = "a line with all symbols, as in alphabet: a b"
        hint = "add it at the top of the file, or declare each symbol by a line such as Q_a(i)"
        raise SourceError(source, layout.first or layout.end, "missing alphabet", expected, hint)
    if padded and ast.BLANK in symbols:
        _refuse_blank(layout, seen)
    return symbols


def _refuse_blank(layout: Layout, seen: dict[str, Span]) -> None:
    line = layout.header("alphabet")
    if line is None:
        place = seen[ast.BLANK]
    else:
        match = re.compile(r"(?<!\S)#(?!\S)").search(layout.source.text, line.value.start, line.value.end)
        place = Span(*match.span()) if match else line.value
    message = "# is not allowed in the alphabet of a program with a pad: line"
    hint = "words are filled up with #, and # is dropped from the output"
    raise SourceError(layout.source, place, message, "another symbol", hint)


def read_pad(layout: Layout) -> Arith | None:
    """The padded length as an expression in `len`, None without a `pad:` line."""
    line = layout.header("pad")
    if line is None:
        return None
    if not layout.value(line):
        place = Span(line.value.start, line.value.start + 1)
        raise SourceError(layout.source, place, "pad: says no length", "an expression in len, as in pad: 2*len")
    try:
        return parse_arith(layout.value(line), ("len",), "pad:")
    except SourceError as error:
        span = Span(line.value.start + error.span.start, line.value.start + error.span.end)
        raise SourceError(layout.source, span, error.message, error.expected, error.hint) from None


def read_output(layout: Layout, statements: Sequence[ast.Statement]) -> str:
    """The name of the output vector: that of the header, else the last.

    Raises SourceError for an unknown vector and a vector of integers.
    """
    line = layout.header("output")
    last = statements[-1]
    name, place = last.name, last.span
    if line is not None:
        name = _CALLED.sub("", layout.value(line))
        place = line.value if name else Span(line.value.start, line.value.start + 1)
    sorts = {statement.name: statement.sort for statement in statements}
    if name not in sorts:
        close = get_close_matches(name, sorts, n=1, cutoff=0.6)
        hint = f"did you mean {close[0]}?" if close else ""
        message = f"unknown vector {brief(name)}" if name else "output: names no vector"
        raise SourceError(layout.source, place, message, f"a vector of the program ({listed(sorts)})", hint)
    if sorts[name] is ast.Sort.INT:
        message = f"the output {name} is a vector of integers"
        expected = "a Boolean vector (accepts words) or a symbol vector (a transduction)"
        hint = "compare it, as in Y(i) := ... > 0, or name another vector: output: NAME"
        raise SourceError(layout.source, place, message, expected, hint)
    return name


def read_examples(layout: Layout, alphabet: tuple[str, ...], acceptor: bool, output: str) -> tuple[ast.Example, ...]:
    """The examples, in the order of the text.

    Raises SourceError for words over other symbols, lines without a word or arrow, and examples of the wrong kind.
    """
    examples: list[ast.Example] = []
    for line in layout.headers:
        if line.key not in ("accept", "reject", "map"):
            continue
        if acceptor != (line.key != "map"):
            kind = "Boolean: the program accepts words" if acceptor else "a symbol vector: the program maps words"
            message = f"{line.key}: does not fit, the output {output} is {kind}"
            raise SourceError(layout.source, line.at, message, "accept: or reject:" if acceptor else "map:")
        if line.key == "map":
            examples += _map_examples(layout, line, alphabet)
        else:
            words = read_words(layout.source, line.value, alphabet)
            examples += [ast.WordExample(word, line.key == "accept", span=span) for word, span in words]
    return tuple(examples)


def _map_examples(layout: Layout, line: HeaderLine, alphabet: tuple[str, ...]) -> list[ast.MapExample]:
    """The pairs of a `map:` line: one if a symbol is longer than one character, otherwise one for each arrow."""
    source = layout.source
    pieces = [Span(*match.span()) for match in _PIECE.finditer(source.text, line.value.start, line.value.end)]
    arrows = [index for index, span in enumerate(pieces) if source.text[span.start : span.end] == "->"]
    whole = line.value if pieces else Span(line.value.start, line.value.start + 1)
    if not arrows:
        raise SourceError(source, whole, "a pair without an arrow", _MAP_FORM)
    if has_long_symbols(alphabet):
        if len(arrows) > 1:
            hint = "one pair stands on each map: line, because the words have blanks in them"
            raise SourceError(source, pieces[arrows[1]], "more than one arrow", _MAP_FORM, hint)
        starts, ends = [0], [len(pieces)]
    else:
        starts = [arrow - 1 for arrow in arrows]
        ends = [*starts[1:], len(pieces)]
        if starts[0] > 0:
            raise SourceError(source, pieces[0], "a word without an arrow", _MAP_FORM)
    examples = []
    for arrow, start, end in zip(arrows, starts, ends, strict=True):
        if start < 0 or start >= arrow or start in arrows:
            raise SourceError(
                source, pieces[arrow], "no word stands before this arrow", _MAP_FORM, "words are non-empty"
            )
        if not has_long_symbols(alphabet) and end > arrow + 2:
            raise SourceError(source, pieces[arrow + 2], "a word without an arrow", _MAP_FORM)
        word = _word(layout, pieces[start:arrow], alphabet)
        output = _word(layout, pieces[arrow + 1 : end], alphabet)
        examples.append(ast.MapExample(word, output, span=Span(pieces[start].start, pieces[end - 1].end)))
    return examples


def _word(layout: Layout, pieces: Sequence[Span], alphabet: tuple[str, ...]) -> tuple[str, ...]:
    """The word of one side of an arrow, which may be empty on the right."""
    if not pieces:
        return ()
    return read_words(layout.source, Span(pieces[0].start, pieces[-1].end), alphabet)[0][0]
