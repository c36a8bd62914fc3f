"""Steps that the parsers of all languages share: the text of a file, its alphabet and examples, and the tree of a list
of tokens. `files.py` splits a text into lines, `lexer.py` makes tokens, `trees.py` has the grammars."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import cast

from hardsim.errors import InputError, Source, SourceError, Span
from hardsim.lang.ast import Example
from hardsim.lang.files import FileLine, Layout
from hardsim.lang.lexer import Cited, Lexeme, bracket_error
from hardsim.lang.trees import Grammar, Raw, build, levels
from hardsim.lang.valuations import MENTIONED, Alphabet, ConstraintKey, GivenNames, Valuations, listed
from hardsim.lang.words import check_alphabet, check_propositions, read_alphabet, read_propositions, read_words

LINE_LEVELS = 100
"""Greatest number of operators on a path from the root to a leaf of a program's line, counted as in formulas. Functions
that walk such trees may therefore be recursive."""


def normalised(text: str) -> str:
    r"""Remove a byte order mark and make `\\n` the only line end; spans are offsets in the resulting text."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def source_of(text: str | bytes, name: str, expected: str, hint: str, first: int = 1) -> Source:
    """Return the source for a text; `first` is the number of its first line in the file. Raises SourceError if the
    text is not UTF-8, or if it is empty: then the error shows `expected` and `hint`."""
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
    # The error shows the line up to the bad byte, so that the caret points at it.
    good = normalised(data[:start].decode("utf-8"))
    rest = data[start:].split(b"\n", 1)[0].decode("utf-8", errors="replace").rstrip("\r")
    message = f"not UTF-8: byte 0x{data[start]:02x} at offset {start}"
    hint = "save the file as UTF-8" + (" (it looks like UTF-16)" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "")
    return SourceError(Source(name, good + rest), Span(len(good), len(good) + 1), message, "text in UTF-8", hint)


def given_alphabet(alphabet: GivenNames, props: GivenNames) -> Alphabet:
    """Return the alphabet that is given outside a file: symbols, or propositions, or an alphabet read before. Raises
    InputError if both arguments are given, or none, or if the alphabet is bad."""
    if alphabet is not None and props is not None:
        raise InputError("symbols and propositions are both given", "Give the alphabet or the propositions.")
    if props is not None:
        return check_propositions(props)
    return alphabet if isinstance(alphabet, Valuations) else check_alphabet(alphabet or ())


def declared_alphabet(layout: Layout, alphabet: GivenNames, props: GivenNames) -> Alphabet | None:
    """Return the alphabet that the header declares; None if it declares none. An alphabet given in the arguments must
    be the same. Raises SourceError if it differs, for both an `alphabet:` and a `props:` line, and for constraints
    without propositions."""
    own = layout.header("alphabet")
    declared = layout.header("props")
    exclusions = [line for line in layout.headers if line.name in ("one-of", "at-most-one")]
    if declared is not None:
        if own is not None:
            hint = f"remove one of the two lines (alphabet: is line {layout.line_of(own.at)})"
            raise layout.error(declared.at, "the file has both props: and alphabet:", "one of the two", hint)
        constraints = [(cast("ConstraintKey", line.name), line.body) for line in exclusions]
        return _agreed(layout, declared, read_propositions(layout.source, declared.body, constraints), alphabet, props)
    if exclusions:
        first = exclusions[0]
        hint = f"write props: {first.text}".rstrip() + " above it"
        raise layout.error(first.at, f"{first.name}: without props:", "a line props: with all propositions", hint)
    if own is not None:
        return _agreed(layout, own, read_alphabet(layout.source, own.body), alphabet, props)
    return None


def _agreed(layout: Layout, line: FileLine, own: Alphabet, alphabet: GivenNames, props: GivenNames) -> Alphabet:
    """Return the alphabet of the file if no other one is given in the arguments (MENTIONED is for files without one).
    Raises SourceError at the header line if a different one is given."""
    # An alphabet given twice is accepted if both are equal, so that scripts can always give one.
    given = None if alphabet is None and props in (None, MENTIONED) else given_alphabet(alphabet, props)
    if given is not None and given != own:
        message, hint = given_otherwise(given, own)
        raise layout.error(line.body, message, hint=hint)
    return own


def given_otherwise(given: Alphabet, own: Alphabet) -> tuple[str, str]:
    """Return the message and the hint for an alphabet that is given in the arguments, and is not that of the file."""
    if isinstance(given, Valuations) == isinstance(own, Valuations):
        what, names = ("propositions are", given.props) if isinstance(given, Valuations) else ("alphabet is", given)
        return f"the {what} also given as {listed(names)}", "Give the alphabet in one of the two places only."
    if isinstance(given, Valuations):
        return "--props gives propositions, and this file has symbols", "Leave out --props."
    return "--alphabet gives symbols, and this file has propositions", "Leave out --alphabet."


def read_examples(layout: Layout, line: FileLine, alphabet: Alphabet) -> list[Example]:
    """Return the words of an `accept:` or `reject:` line. Raises SourceError for symbols outside the alphabet."""
    words = read_words(layout.source, line.body, alphabet)
    return [Example(word, line.name == "accept", span=span) for word, span in words]


def examples_of(layout: Layout, alphabet: Alphabet) -> tuple[Example, ...]:
    """Return the words of all `accept:` and `reject:` lines, in order. Raises SourceError for symbols outside the
    alphabet."""
    lines = [line for line in layout.headers if line.name in ("accept", "reject")]
    return tuple(example for line in lines for example in read_examples(layout, line, alphabet))


def lone_symbol_notes(symbols: Sequence[str]) -> tuple[str, ...]:
    """Return one note if a program, which declares no alphabet, mentions only one symbol, else no note: words have
    no other symbol then, which is rarely intended."""
    if len(symbols) != 1:
        return ()
    message = f"no alphabet is declared, and {symbols[0]} is the only symbol mentioned: words have no other symbol; "
    return (f"{message}a line such as alphabet: a b declares all symbols",)


def tree_of_tokens(
    grammar: Grammar,
    text: Cited,
    tokens: Sequence[Lexeme],
    misfit: Callable[[int], SourceError],
    symbols: Collection[str] = (),
    most: int | None = None,
) -> Raw:
    """Build the tree of a list of tokens by `build` (see there for `misfit`). Also raises SourceError for brackets
    that do not match (`symbols` is the alphabet as far as it is known, for hints), and for more than `most` nested
    operators (None: no limit)."""
    if wrong := bracket_error(text, tokens, symbols):
        raise wrong
    root = build(grammar, text, tokens, misfit)
    # programs pass a limit; for formulas, `parse` checks its own limit after expanding `let`
    for node, above in levels(root) if most is not None else ():
        if above > (most or 0):
            hint = "a chain of &, | or ^ is one level; give a part of it a line of its own"
            raise text.error(node.at, f"nesting beyond {most} levels", hint=hint)
    return root
