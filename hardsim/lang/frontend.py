"""What the readers of all languages share: the text of a file, its alphabet and examples, and the tree of a list of
tokens. What is written on which line is in `files.py`, tokens are in `lexer.py`, the grammars in `trees.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import cast

from hardsim.errors import InputError, Source, SourceError, Span
from hardsim.lang.ast import Example
from hardsim.lang.files import FileLine, Layout
from hardsim.lang.lexer import Cited, Lexeme, bracket_error
from hardsim.lang.trees import Grammar, Raw, build, levels
from hardsim.lang.valuations import MENTIONED, Alphabet, ConstraintKey, Valuations, listed
from hardsim.lang.words import check_alphabet, check_propositions, read_alphabet, read_propositions, read_words

LINE_LEVELS = 100
"""Operators on a path from the root of a line of a program to a leaf, counted as in formulas. What walks such trees may
therefore be recursive."""


def normalised(text: str) -> str:
    """The text without a byte order mark and with `\\n` as the only line end; spans are offsets in this."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def source_of(text: str | bytes, name: str, expected: str, hint: str, first: int = 1) -> Source:
    """Return the source for a file's text, from line `first` on. Raises SourceError if it is not UTF-8 or, with the
    expected content, if it is empty."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _undecodable(error, name) from None
    source = Source(name, normalised(text), first)
    if not source.text.strip():
        raise SourceError(source, Span(0, 1), "the file is empty", expected, hint)
    return source


def _undecodable(error: UnicodeDecodeError, name: str) -> SourceError:
    data, start = error.object, error.start
    good = normalised(data[:start].decode("utf-8"))
    rest = data[start:].split(b"\n", 1)[0].decode("utf-8", errors="replace").rstrip("\r")
    message = f"not UTF-8: byte 0x{data[start]:02x} at offset {start}"
    hint = "save the file as UTF-8" + (" (it looks like UTF-16)" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "")
    return SourceError(Source(name, good + rest), Span(len(good), len(good) + 1), message, "text in UTF-8", hint)


def given_alphabet(alphabet: Sequence[str] | str | None, props: Sequence[str] | str | None) -> Alphabet:
    """The alphabet that is given outside a file: symbols, or propositions, or what was read before. Raises InputError
    for both, for none, and for a bad one."""
    if alphabet is not None and props is not None:
        raise InputError("symbols and propositions are both given", "give the alphabet or the propositions")
    if props is not None:
        return check_propositions(props)
    return alphabet if isinstance(alphabet, Valuations) else check_alphabet(alphabet or ())


def declared_alphabet(
    layout: Layout, alphabet: Sequence[str] | str | None, props: Sequence[str] | str | None
) -> Alphabet | None:
    """What the header says, which is what is given if that is given too; None if it says nothing. Raises SourceError
    for both kinds of lines, and for constraints on nothing."""
    own = layout.header("alphabet")
    declared = layout.header("props")
    exclusions = [line for line in layout.headers if line.name in ("one-of", "at-most-one")]
    if declared is not None:
        if own is not None:
            hint = f"remove one of the two lines (alphabet: is line {layout.line_of(own.at)})"
            raise layout.error(declared.at, "props: beside alphabet:", "one of the two", hint)
        constraints = [(cast("ConstraintKey", line.name), line.body) for line in exclusions]
        return _agreed(layout, declared, read_propositions(layout.source, declared.body, constraints), alphabet, props)
    if exclusions:
        first = exclusions[0]
        hint = f"write props: {first.text}".rstrip() + " above it"
        raise layout.error(first.at, f"{first.name}: without props:", "a line props: with all propositions", hint)
    if own is not None:
        return _agreed(layout, own, read_alphabet(layout.source, own.body), alphabet, props)
    return None


def _agreed(
    layout: Layout,
    line: FileLine,
    own: Alphabet,
    alphabet: Sequence[str] | str | None,
    props: Sequence[str] | str | None,
) -> Alphabet:
    """The alphabet of the file, where none is given besides (MENTIONED is for files without one) or it is the same.
    Raises SourceError at a line if it is another one."""
    given = None if alphabet is None and props in (None, MENTIONED) else given_alphabet(alphabet, props)
    if given is not None and given != own:
        what, names = ("propositions are", given.props) if isinstance(given, Valuations) else ("alphabet is", given)
        message = f"the {what} also given as {listed(names)}"
        raise layout.error(line.body, message, hint="give the alphabet in one of the two places only")
    return own


def read_examples(layout: Layout, line: FileLine, alphabet: Alphabet) -> list[Example]:
    """The words of an `accept:` or `reject:` line. Raises SourceError for foreign symbols."""
    words = read_words(layout.source, line.body, alphabet)
    return [Example(word, line.name == "accept", span=span) for word, span in words]


def examples_of(layout: Layout, alphabet: Alphabet) -> tuple[Example, ...]:
    """The words of all `accept:` and `reject:` lines, in order. Raises SourceError for foreign symbols."""
    lines = [line for line in layout.headers if line.name in ("accept", "reject")]
    return tuple(example for line in lines for example in read_examples(layout, line, alphabet))


def lone_symbol_notes(symbols: Sequence[str]) -> tuple[str, ...]:
    """The note on a program that declares no alphabet and mentions one symbol: words have no other, which few mean."""
    if len(symbols) != 1:
        return ()
    told = f"no alphabet is declared, and {symbols[0]} is the only symbol mentioned: words have no other symbol; "
    return (f"{told}a line such as alphabet: a b declares all symbols",)


def tree_of_tokens(
    grammar: Grammar,
    text: Cited,
    tokens: Sequence[Lexeme],
    misfit: Callable[[int], SourceError],
    symbols: Collection[str] = (),
    most: int | None = None,
) -> Raw:
    """The tree of a list of tokens, as `build` makes it. Raises SourceError, too, for brackets that do not match, where
    `symbols` are the alphabet as far as it is known, and for more than `most` operators above each other."""
    if wrong := bracket_error(text, tokens, symbols):
        raise wrong
    root = build(grammar, text, tokens, misfit)
    for node, above in levels(root) if most is not None else ():
        if above > (most or 0):
            hint = "a chain of &, | or ^ is one level; give a part of it a line of its own"
            raise text.error(node.at, f"nesting beyond {most} levels", hint=hint)
    return root
