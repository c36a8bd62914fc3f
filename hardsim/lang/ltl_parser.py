"""Parsing `.ltl` files, single formulas and terms: from text to syntax trees with all names and sorts checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, Literal, cast

from hardsim.errors import InputError, Source, SourceError, Span
from hardsim.lang import ast, vocabulary
from hardsim.lang.arith import WORD_OPERATORS as CONDITION_WORDS
from hardsim.lang.ast import FUTURE_NOTE, Formula, FormulaFile, Let, Supplied, UserPredicate, looks_ahead_only
from hardsim.lang.deep import Walk, each, walked
from hardsim.lang.files import FileLine, FormulaLayout, Layout
from hardsim.lang.frontend import declared_alphabet, examples_of, given_alphabet, normalised, source_of, tree_of_tokens
from hardsim.lang.lexer import MAX_INTEGER, TOO_LARGE, Cited, Lexeme, begins_anew, formula_tokens
from hardsim.lang.mentioned import mentioned
from hardsim.lang.predicate import compile_predicate
from hardsim.lang.trees import Raw, levels, mixes_arrows
from hardsim.lang.valuations import MENTIONED, Alphabet, GivenNames, Valuations, listed
from hardsim.lang.vocabulary import (
    CONSTANTS,
    DIALECTS,
    NAME,
    PREDICATES,
    WORD,
    WORD_OPERATORS,
    brief,
    joined_names,
    name_hint,
    other_syntax_hint,
    quoted,
    symbol_hint,
)
from hardsim.lang.words import check_alphabet, check_propositions, parse_word, segmented
from hardsim.lazy_dataclass import dataclass

__all__ = ["FUTURE_NOTE", "parse_expression", "parse_text", "parse_word"]

MIXED_NOTE = "-> binds tighter than <->: a -> b <-> c is (a -> b) <-> c"
DIALECT_HINT = "strong-next: X a is false at the last position, as X[!] a is; weak-next: X a is true there, as WX a is"
MAX_LEVELS = 5_000
"""Greatest number of operators on a path from the root to a leaf after expanding `let`.

A chain of `&`, `|` or `^` is one level; a chain of any other operator has a level for each of its operators. No
function that walks trees is recursive (see `deep.py`), so the stack is no reason for this limit. It bounds running
time: functions that describe the subtree below each level take quadratic time, a few seconds at this depth.
"""

_OPERAND = "a symbol, a name, a constant, a unary operator, a count or an opening bracket"
_ENDS_OPERAND = frozenset({"WORD", "NUMBER", "QUOTED", "CONSTANT", "PREDICATE", "RPAR", "RSQB"})
_STARTS_OPERAND = frozenset({"WORD", "NUMBER", "QUOTED", "CONSTANT", "PREDICATE", "LPAR", "COUNT", "UNARY"})
_TERM_OPERATORS = frozenset({"COMPARE", "MODULO", "SIGN", "STAR", "SLASH"})
_OPERATOR_HINTS = {
    "=": "= compares numbers; equivalence is written <->, p=1 is written p, and p=0 is written !p",
    "!=": "!= compares numbers; exclusive or of two formulas is written ^",
    "<=": "<= compares numbers; implication is written ->",
}
_MOD_FORM = "write (t) mod m = r"
TAKEN = "no alphabet was given, so it consists of the symbols of the formula"
TAKEN_HINT = "--alphabet sets another one, --props auto reads the names as propositions"


def parse_text(
    text: str | bytes,
    name: str = "<text>",
    alphabet: GivenNames = None,
    props: GivenNames = None,
    dialect: str | None = None,
    first: int = 1,
) -> FormulaFile:
    r"""Parse a whole `.ltl` file, or a part of a file: `first` is the number of the text's first line in the file.

    `name` is the file name in errors. `alphabet`, or `props` (MENTIONED: the propositions that the text mentions), is
    used if the text has no such header line. `dialect`, one of DIALECTS, overrides the dialect of the text. The tree
    has no dialect: in it `X` is strong. Raises SourceError with the place of the first mistake (InputError for a bad
    `alphabet`, `props` or `dialect`). Spans are offsets in the result's `source`: the text without a byte order mark
    and with `\\n` line ends.
    """
    source = source_of(text, name, "an alphabet: line and a formula", "a small file: alphabet: a b, then F a", first)
    layout = FormulaLayout(source)
    symbols, supplied, readings = _alphabet(layout, alphabet, props)
    at = _at(layout)
    spoken = _dialect(layout, dialect)
    examples = examples_of(layout, symbols)
    scope, lets = _definitions(layout, symbols, spoken)
    if layout.formula is None:
        raise layout.error(layout.end, "missing formula", "a formula after the header and the definitions")
    formula = scope.formula(_read(scope, layout.formula, whole_file=True)[0])
    return FormulaFile(
        alphabet=symbols,
        formula=formula,
        lets=lets,
        predicates=tuple(scope.predicates.values()),
        at=at or "last",
        origin=layout.value("source"),
        title=layout.title,
        examples=examples,
        notes=(*scope.notes, *(() if at else _notes(formula, lets))),
        source=source,
        placed=at is not None,
        dialect=dialect,
        bare_next=False in scope.nexts,
        supplied=supplied,
        readings=(*readings, *scope.clashes()),
    )


def parse_expression(
    text: str, alphabet: GivenNames, name: str = "<expression>", props: GivenNames = None, dialect: str | None = None
) -> FormulaFile:
    """Parse a single formula. `alphabet` gives the symbols (a sequence, or a text with spaces between symbols), or
    `props` the propositions (MENTIONED: those that the formula mentions). If both are None, the alphabet is the symbols
    that the formula mentions, if there are at least two. `dialect` is one of DIALECTS. Raises SourceError with the
    place of the first mistake, InputError for a bad alphabet, bad propositions, a bad dialect, or fewer than two
    symbols."""
    source = Source(name, normalised(text))
    open_names = alphabet is None and props in (None, MENTIONED)
    known = None if open_names else given_alphabet(alphabet, props)
    if not source.text.strip():
        raise SourceError(source, Span(0, 1), "missing formula", "a formula, such as F a")
    start = len(source.text) - len(source.text.lstrip())
    region = Span(start, len(source.text))
    readings: Sequence[str] = ()
    if known is None:
        known, readings = _mentioned(source, [region], frozenset(), symbols=props is None)
    scope = replace(scope_over(source, known), dialect=dialect and _known_dialect(dialect))
    formula = scope.formula(_read(scope, region, whole_file=True)[0])
    return FormulaFile(
        alphabet=known,
        formula=formula,
        notes=(*scope.notes, *_notes(formula, ())),
        source=source,
        dialect=dialect,
        bare_next=False in scope.nexts,
        supplied=_supplied(alphabet, props),
        readings=(*readings, *scope.clashes()),
    )


def _alphabet(
    layout: FormulaLayout, alphabet: GivenNames, props: GivenNames
) -> tuple[Alphabet, Supplied, Sequence[str]]:
    """Return the alphabet of the header, or else the given one; the option that supplied it; and notes on how words
    were read, if the propositions are MENTIONED."""
    declared = declared_alphabet(layout, alphabet, props)
    if declared is not None:
        return declared, None, ()
    if props == MENTIONED and alphabet is None:
        names = frozenset(line.name for line in layout.definitions)
        regions = [line.body for line in layout.definitions if not line.params]
        found, readings = _mentioned(layout.source, [*regions, *filter(None, [layout.formula])], names)
        return found, ("props", MENTIONED), readings
    if alphabet is None and props is None:
        place = layout.first or layout.end
        _, key, symbols = layout.written(place).partition("alphabet ")
        hint = f"write alphabet: {symbols.strip()}" if key else "add it at the top of the file"
        if not key and NAME.search(layout.written(place)):
            hint += "; --props auto reads the names of the formula as propositions"
            if layout.formula is not None and "\n" in layout.written(layout.formula):
                hint += ", and --lines each line as a formula of its own"
        raise layout.error(place, "missing alphabet", "a line with all symbols, as in alphabet: a b", hint)
    return given_alphabet(alphabet, props), _supplied(alphabet, props), ()


def _supplied(alphabet: GivenNames, props: GivenNames) -> Supplied:
    """Return the option that supplies the alphabet in place of the text, and its value as text ("" if there is
    none); None for an alphabet read from another file."""
    if props is not None:
        return "props", props if isinstance(props, str) else joined_names(props)
    if isinstance(alphabet, Valuations):  # the declared propositions of another file
        return None
    return "alphabet", "" if alphabet is None else alphabet if isinstance(alphabet, str) else joined_names(alphabet)


def mentions_propositions(file: FormulaFile) -> bool:
    """Return True if the propositions of a file are MENTIONED: the text declares neither symbols nor propositions."""
    return file.supplied == ("props", MENTIONED)


def _mentioned(
    source: Source, regions: Sequence[Span], defined: Collection[str], symbols: bool = False
) -> tuple[Alphabet, list[str]]:
    """Return the alphabet of the propositions (or `symbols`) that a text mentions, and notes on how words were read; no
    propositions if the text has only constants. `defined` are the names that the text defines. Raises SourceError for
    words that are not names, and for too many propositions, and InputError for fewer than two symbols."""
    found = mentioned(source, regions, defined)
    names = tuple(found.names)
    if symbols:
        return _symbols_of(names), [*found.notes, f"{TAKEN}: {joined_names(names)}; {TAKEN_HINT}"]
    place = regions[-1] if regions else Span(0, 1)
    if not names and (found.strange or not regions):
        hint = "declare the propositions in the header: props: p q"
        raise SourceError(source, place, "no proposition is mentioned here", "a name such as p or REQ", hint)
    try:
        return check_propositions(names) if names else Valuations(()), found.notes
    except InputError as error:
        raise SourceError(source, place, error.message, "", error.hint) from None


def _symbols_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the symbols of a formula as its alphabet. Raises InputError if there are fewer than two."""
    if len(names) > 1:
        return check_alphabet(names)
    message = f"the one symbol {brief(names[0])}" if names else "no symbol"
    raise InputError(
        f"the formula alone does not determine the alphabet: it names {message}",
        f"Give all symbols with --alphabet, as in --alphabet 'a b'{' (including your symbol)' * bool(names)}, or read "
        "names as propositions with --props auto.",
    )


def _at(layout: Layout) -> Literal["last", "first"] | None:
    """Return the position that the `at:` line gives, or None without such a line."""
    line = layout.header("at")
    if line is None or line.text in ("first", "last"):
        return cast('Literal["last", "first"] | None', line and line.text)
    message = f"at: cannot be {brief(line.text)}" if line.text else "at: has no value"
    raise layout.error(line.body, message, "last or first", "last is the default; first is LTLf's convention")


def _dialect(layout: Layout, given: str | None) -> str | None:
    """Return the given dialect, else that of the `dialect:` line, or None without such a line."""
    line = layout.header("dialect")
    if line is not None and line.text not in DIALECTS:
        message = f"unknown dialect {brief(line.text)}" if line.text else "dialect: has no value"
        raise layout.error(line.body, message, " or ".join(DIALECTS), DIALECT_HINT)
    if given is not None:
        return _known_dialect(given)
    return None if line is None else line.text


def _known_dialect(name: str) -> str:
    if name not in DIALECTS:
        raise InputError(f"unknown dialect {brief(name)}", f"Write {' or '.join(DIALECTS)}: {DIALECT_HINT}.")
    return name


def _definitions(layout: FormulaLayout, alphabet: Alphabet, dialect: str | None) -> tuple[Scope, tuple[Let, ...]]:
    """Read the definitions in order; return a scope that contains all of them, and the `let` definitions."""
    places: dict[str, Span] = {}
    for line in layout.definitions:
        places.setdefault(line.name, line.at)
    bodies = {line.name: line.body for line in layout.definitions if not line.params}
    scope = replace(scope_over(layout.source, alphabet), later=places, bodies=bodies, dialect=dialect)
    lets = []
    for line in layout.definitions:
        _check_name(scope, line)
        if line.params:
            scope.predicates[line.name] = _predicate(layout, line)
            continue
        scope.current = line.name
        raw, depth = _read(scope, line.body)
        is_term = _is_term(raw, scope)
        body = scope.term(raw) if is_term else scope.formula(raw)
        constant = scope.constant_of(raw) if is_term else None
        scope.lets[line.name] = Definition(is_term, depth, constant, raw.kind == "number" and not is_term)
        lets.append(Let(line.name, body, span=line.at))
    scope.current = ""
    return scope, tuple(lets)


def _check_name(scope: Scope, line: FileLine) -> None:
    name, hint = line.name, "choose another name"
    if name in vocabulary.RESERVED:
        message = f"{name} is reserved: operators, constants and predicates are never names"
    elif name in scope.symbols:
        message = f"{name} is {scope.known_atom}"
    elif name.startswith("Q_"):
        message = f"{name} is reserved: Q_ begins the name of a symbol"
    elif name in scope.lets or name in scope.predicates:
        message = f"duplicate definition of {name}"
        hint = f"it is defined in line {scope.line_of(scope.later[name])}"
    else:
        return
    raise scope.error(line.at, message, "a new name", hint)


def _predicate(layout: Layout, line: FileLine) -> UserPredicate:
    """Read a `pred` line. Raises SourceError for an argument name that is an operator of conditions, and for mistakes
    in the condition."""
    for name in line.params:
        if name in CONDITION_WORDS:
            match = re.compile(rf"\b{name}\b").search(layout.source.text, line.at.end, line.body.start)
            place = Span(*match.span()) if match else line.at
            message = f"{name} is an operator: it cannot be an argument"
            raise layout.error(place, message, "a new name", "choose another name, such as i")
    # blanks replace comments, so that offsets in the text stay valid
    text = re.sub(r"(?m)(?<=\s)//.*", lambda match: " " * len(match[0]), layout.written(line.body)).rstrip()
    predicate = UserPredicate(line.name, line.params, text, span=line.body)
    compile_predicate(layout.source, predicate)  # only to raise its errors, in the order of the text
    return predicate


def _notes(formula: Formula, lets: tuple[Let, ...]) -> tuple[str, ...]:
    return (FUTURE_NOTE,) if looks_ahead_only(formula, lets) else ()


def scope_over(source: Source, alphabet: Alphabet) -> Scope:
    """Return a scope whose atoms are the symbols or propositions of an alphabet."""
    if isinstance(alphabet, Valuations):
        return Scope(source, alphabet.props, "proposition")
    return Scope(source, alphabet)


# ---- parts of other texts ----


def formula_in(scope: Scope, region: Span) -> Formula:
    """Return the formula in a region of a scope's text. Raises SourceError with the place of its first mistake."""
    return scope.formula(_read(scope, region)[0])


def term_in(scope: Scope, region: Span) -> ast.Term:
    """Return the term in a region of a scope's text; it may be rational: products and quotients of any terms. Raises
    SourceError with the place of its first mistake."""
    rational = replace(scope, rational=True)
    return rational.term(_read(rational, region)[0])


# ---- expressions ----


@dataclass(frozen=True, slots=True)
class Definition:
    """A `let` definition: whether it is a term or a formula, its depth after expansion, and its value if it is an
    integer constant. `digit` is True if the body is a lone number which was read as a symbol."""

    is_term: bool
    depth: int
    constant: int | None = None
    digit: bool = False


@dataclass
class Scope(Cited):
    """The names that are known at some point of a file. `alphabet` are the atoms of formulas: symbols or propositions,
    as `atom` tells. `later` maps the name of every `let` and `pred` of the file to its place, `bodies` maps the name of
    every `let` to the place of its body."""

    alphabet: tuple[str, ...]
    atom: Literal["symbol", "proposition"] = "symbol"
    lets: dict[str, Definition] = field(default_factory=dict)
    predicates: dict[str, ast.UserPredicate] = field(default_factory=dict)
    later: Mapping[str, Span] = field(default_factory=dict)
    bodies: Mapping[str, Span] = field(default_factory=dict)
    current: str = ""
    """Name of the `let` whose body is being read."""
    dialect: str | None = None
    notes: tuple[str, ...] = ()
    nexts: dict[bool, Span] = field(default_factory=dict)
    """First place of a bare X or X[k] (key False) and of an X[!] (key True); a key is missing if there is none."""
    constants: dict[Raw, int | None] = field(default_factory=dict)
    """Values of trees that were computed before: an integer, or None for a tree that is not an integer constant."""
    part: bool = False
    """True if the text is not an `.ltl` file, and so has no line for a dialect."""
    rational: bool = False
    """True if terms may have division and products of any two terms, as in specifications."""
    operators: set[str] = field(default_factory=set)
    """Operators of the text whose spelling is also a symbol of the alphabet."""
    quoted: set[str] = field(default_factory=set)
    """Symbols that occur in the text in quotes."""

    def __post_init__(self) -> None:
        self.symbols = frozenset(self.alphabet)
        self._spelled_alike = self.symbols & vocabulary.RESERVED

    @property
    def known_atom(self) -> str:
        """A description of an atom for messages: "a symbol of the alphabet" or "a proposition"."""
        return "a symbol of the alphabet" if self.atom == "symbol" else "a proposition"

    def tokens(self, region: Span) -> list[Lexeme]:
        """Return the tokens of a region, with X replaced by the next operator of the dialect. Raises SourceError for
        text that is no token, and for X[!] beside a bare X without a dialect."""
        lexemes = formula_tokens(self.source, region, self.symbols, self.later, division=self.rational)
        return [self._spoken(token) for token in lexemes]

    def clashes(self) -> list[str]:
        """Return a note on each symbol that occurs only as an operator with the same spelling."""
        return [
            f"operators win over names: {word} is the operator here, and never {self.known_atom}; the {self.atom} "
            f"is written {quoted(word)}"
            for word in sorted(self.operators - self.quoted)
        ]

    def _spoken(self, token: Lexeme) -> Lexeme:
        if token.kind == "QUOTED":
            self.quoted.add(token.value)
        elif token.kind not in ("WORD", "NUMBER") and (word := self.written(token.span)) in self._spelled_alike:
            self.operators.add(word)
        if token.kind != "UNARY" or not (token.value == "X" or token.value.startswith("X[")):
            return token
        strong = token.value == "X[!]"
        self.nexts.setdefault(strong, token.span)
        if self.dialect is None and len(self.nexts) == 2:
            message = "X[!] and a bare X in one file: without a dialect, X could be strong or weak"
            lines = " or ".join(f"dialect: {name}" for name in DIALECTS)
            expected = "X[!] or WX alone" if self.part else f"a header line {lines} (or --dialect)"
            raise self.error(token.span, message, expected, DIALECT_HINT)
        return replace(
            token, value="X" if strong else token.value.replace("X", DIALECTS[self.dialect or "strong-next"])
        )

    def symbol_of(self, word: str, span: Span) -> str | None:
        """Return the symbol that a bare word stands for: itself, or `a` for `Q_a`; None if it is no symbol. Raises
        SourceError if both are symbols."""
        short = word[2:] if word.startswith("Q_") else None
        if word in self.symbols:
            if short in self.symbols:
                message = f"{word} is {self.known_atom}, and could also mean the {self.atom} {short}"
                raise self.error(span, message, f"{quoted(word)} or {short}")
            return word
        return short if short in self.symbols else None

    def knows(self, word: str, span: Span) -> bool:
        """Return True if a bare word is a symbol or a defined name."""
        return word in self.lets or word in self.predicates or self.symbol_of(word, span) is not None

    def unknown(self, word: str, span: Span, what: str = "", operators: bool = False) -> SourceError:
        """Return the error for a word that is neither a symbol (or proposition) nor a defined name. `operators`: the
        word may be meant as an operator."""
        if word in self.later and word not in self.predicates:
            return self._recursion(word, span)
        message = f"unknown {what or f'{self.atom} or name'} {brief(word)}"
        expected = f"{self.known_atom} ({listed(self.alphabet)})"
        if self.lets or self.predicates:
            expected += f" or a name ({listed([*self.lets, *self.predicates])})"
        return self.error(span, message, expected, self.hint(word, operators))

    def _recursion(self, word: str, span: Span) -> SourceError:
        """Return the error for a name that is defined by itself or later in the file. If definitions lead back to the
        current one, the message shows the shortest such path."""
        message = f"{word!r} is defined later (line {self.line_of(self.later[word])})"
        hint = f"move the definition of {word} up, before this line"
        # breadth-first search, so the first path that comes back is a shortest one
        paths, seen = [[self.current, word]] if self.current and word in self.bodies else [], {word}
        for path in paths:
            if path[-1] == self.current:
                message = f"recursion of let: {' -> '.join(path)}"
                hint = "a definition may use earlier names only; use S, U, O, H, F or G to speak of other positions"
                break
            with suppress(SourceError):  # a body with a mistake in it is skipped; reading it later reports the mistake
                for token in formula_tokens(self.source, self.bodies[path[-1]], self.symbols, self.later):
                    if token.kind == "WORD" and token.value in self.bodies and token.value not in seen:
                        seen.add(token.value)
                        paths.append([*path, token.value])
        return self.error(span, message, "a symbol or an earlier name", hint)

    def hint(self, word: str, operators: bool = True) -> str:
        """Return a hint for an unknown word: the likely intended spelling, or "". `operators`: an operator may stand in
        its place."""
        known = {*vocabulary.RESERVED, *self.symbols, *self.lets, *self.predicates}
        pieces = segmented(word, sorted(filter(WORD.fullmatch, known), key=len))
        if len(pieces) > 1 and not WORD_OPERATORS.isdisjoint(pieces) and not other_syntax_hint(word):  # like `GFa`
            return f"an operator needs a space before a letter or digit: {' '.join(pieces)}"
        comma = next((s for s in self.alphabet if s.rstrip(",;") == word), "")
        if comma:
            return f"the symbol of the alphabet is {comma}: separate symbols by spaces alone"
        joined = [s for s in self.alphabet if len(s) > 1 and word in s]
        if joined and len(word) == 1:
            apart = " ".join(letter for letter in joined[0] if letter not in ",;{}")
            return f"{joined[0]} is one symbol: separate symbols by spaces, as in alphabet: {apart}"
        if word in vocabulary.HEADER_KEYS:
            return f"a header line has a colon: {word}:"
        names = (*self.alphabet, *self.lets, *self.predicates, *CONSTANTS, *PREDICATES)
        cased = any(name.casefold() == word.casefold() for name in names)
        return ("" if cased else other_syntax_hint(word)) or name_hint(word, names, WORD_OPERATORS if operators else ())

    # ---- sorts: every method raises SourceError ----

    def _shown(self, raw: Raw) -> str:
        return self.excerpt(raw.whole)

    def formula(self, raw: Raw) -> ast.Formula:
        """Turn a parsed tree into a formula, with names and sorts checked."""
        return walked(self.as_formula(raw))

    def term(self, raw: Raw) -> ast.Term:
        """Turn a parsed tree into a term, with names and sorts checked."""
        return walked(self.as_term(raw))

    def constant_of(self, raw: Raw) -> int | None:
        """Return the value of a parsed tree of integers and names of integers; None if the tree contains anything
        else."""
        return constant_of(self, raw, self.lets, self.constants)

    def as_formula(self, raw: Raw) -> Walk[ast.Formula]:
        """Return the walk (see `deep`) that turns a parsed tree into a formula."""
        match raw.kind:
            case "word" | "number" | "quoted":
                return self._atom(raw)
            case "constant" if raw.text in ("true", "false"):
                return ast.Truth(raw.text == "true", span=raw.at)
            case "constant" if raw.text in ("first", "last"):
                return ast.Marker("first" if raw.text == "first" else "last", span=raw.at)
            case "unary" | "nary" | "binary" | "arrow":
                return logical(raw, tuple((yield each(map(self.as_formula, raw.args)))))
            case "compare":
                return self._compare(raw)
            case "predicate":
                return self._predicate(raw)
            case "mod":
                raise self.error(raw.at, "mod without a remainder", "(t) mod m = r", "add = and the remainder")
        raise self._needs_formula(raw)

    def _needs_formula(self, raw: Raw) -> SourceError:
        message = f"{self._shown(raw)} is a number, and a formula is needed here"
        hint = f"compare it with a number, as in {self._shown(raw)} > 0"
        return self.error(raw.whole, message, "a formula", symbol_hint(self._shown(raw), self.symbols) or hint)

    def _atom(self, raw: Raw) -> ast.Formula | Walk[ast.Formula]:
        word = raw.text
        if raw.kind == "word" and (raw.called or word in self.predicates):
            return self._predicate(raw)
        if raw.kind == "word" and word in self.lets:
            if self.lets[word].is_term:
                raise self._needs_formula(raw)
            return ast.Ref(word, span=raw.at)
        symbol = self.symbol_of(word, raw.at) if raw.kind == "word" else word if word in self.symbols else None
        if symbol is not None:
            return ast.Symbol(symbol, span=raw.at)
        if raw.kind == "number":
            expected = f"{self.known_atom} ({listed(self.alphabet)}) or a formula"
            truth = {"0": "0 is not a truth value: write false", "1": "1 is not a truth value: write true"}
            hint = truth.get(word, f"a number is a formula only if it is {self.known_atom}")
            raise self.error(raw.at, f"unknown {self.atom} {brief(word)}", expected, hint)
        raise self.unknown(word, raw.at, self.atom if raw.kind == "quoted" else "")

    def _compare(self, raw: Raw) -> Walk[ast.Formula]:
        left, right = raw.args
        if left.kind != "mod":
            hint = _OPERATOR_HINTS.get(raw.text, "")
            terms = (yield self.as_term(left, hint)), (yield self.as_term(right, hint))
            return ast.Compare(cast(ast.CompareOp, raw.text), *terms, span=raw.at)
        if raw.text != "=":
            hint = f"write !({self._shown(left)} = {self._shown(right)})" if raw.text == "!=" else ""
            raise self.error(raw.at, f"{raw.text} after mod", "=", hint)
        term = yield self.as_term(left.args[0], f"{_MOD_FORM}, with a term t")
        return ast.Congruent(term, *(yield self._modulus(left.args[1], right)), span=left.at)

    def _modulus(self, modulus: Raw, residue: Raw) -> Walk[tuple[int, int]]:
        """Return the modulus m and the remainder r after checking m >= 1 and 0 <= r < m."""
        m = yield self._constant(modulus, "the modulus")
        r = yield self._constant(residue, "the remainder")
        if m < 1:
            raise self.error(modulus.whole, f"the modulus is {m}", "a modulus of at least 1")
        if not 0 <= r < m:
            raise self.error(residue.whole, f"the remainder {r} never occurs", f"a remainder from 0 to {m - 1}")
        return m, r

    def _constant(self, raw: Raw, what: str) -> Walk[int]:
        yield self.as_term(raw, f"{what} must be an integer")
        value = self.constant_of(raw)
        if value is None:
            raise self.error(raw.whole, f"{what} is not a constant: {self._shown(raw)}", "an integer")
        return value

    def _predicate(self, raw: Raw) -> Walk[ast.Formula]:
        name = raw.text
        if raw.kind == "word" and name not in self.predicates:
            if name in self.lets or self.symbol_of(name, raw.at) is not None:
                hint = other_syntax_hint(name) or f"put an operator between {name} and ("
                raise self.error(raw.at, f"{name} takes no argument", hint=hint)
            raise self.unknown(name, raw.at, "predicate or operator", operators=True)
        (least, most), given = PREDICATES.get(name, (0, 1)), len(raw.args)
        if not least <= given <= most:
            forms = "MOD(m, r) or MOD(m, r, t)" if name == "MOD" else f"{name} or {name}(t)"
            shown = f"{given} argument{'' if given == 1 else 's'}"
            raise self.error(raw.whole, f"wrong number of arguments: {name} with {shown}", forms)
        modulus = (yield self._modulus(raw.args[0], raw.args[1])) if name == "MOD" else ()
        term = (yield self.as_term(raw.args[-1])) if given == most else None
        if modulus and term is not None:
            return ast.Congruent(term, *modulus, span=raw.at)
        return ast.Predicate(name, modulus, term, span=raw.at)

    def as_term(self, raw: Raw, hint: str = "") -> Walk[ast.Term]:
        """Return the walk (see `deep`) that turns a parsed tree into a term; `hint` is the advice if the tree is a
        formula."""
        match raw.kind:
            case "number":
                return ast.Integer(self.integer(raw.text, raw.at), span=raw.at)
            case "constant" if raw.text == "pos":
                return ast.Position(span=raw.at)
            case "constant" if raw.text == "len":
                return ast.Length(span=raw.at)
            case "word" if not raw.called and raw.text in self.lets:
                if not self.lets[raw.text].is_term:
                    raise self._needs_term(raw, hint)
                return ast.Ref(raw.text, sort=ast.Sort.INT, span=raw.at)
            case "count":
                inner = replace(self, rational=False) if self.rational else self  # a formula's own terms are linear
                return ast.Count(cast(ast.CountSide, raw.text), (yield inner.as_formula(raw.args[0])), span=raw.at)
            case "sign":
                return ast.Signed(cast(ast.SumOp, raw.text), (yield self.as_term(raw.args[0], hint)), span=raw.at)
            case "sum" | "product" | "quotient":
                return self._operation(raw, hint)
            case "mod":
                raise self.error(raw.at, "mod can be used only with = and a remainder", "a number", _MOD_FORM)
        raise self._needs_term(raw, hint)

    def _needs_term(self, raw: Raw, hint: str) -> SourceError:
        if raw.kind == "word" and not self.knows(raw.text, raw.at):
            return self.unknown(raw.text, raw.at)
        message = f"{self._shown(raw)} is a formula, and a number is needed here"
        if raw.kind == "word" and raw.text in self.lets and self.lets[raw.text].digit:
            hint = f"let {raw.text} names {self.known_atom}; for the integer write it with a sign, as in +1"
        return self.error(raw.whole, message, "a number", hint or "#L[phi] counts the positions where phi holds")

    def _operation(self, raw: Raw, hint: str) -> Walk[ast.Term]:
        if raw.kind == "quotient" and not self.rational:
            raise self.error(raw.at, "there is no division inside a formula", "", "multiply both sides")
        left, right = yield each(self.as_term(arg, hint) for arg in raw.args)
        if raw.kind == "quotient":
            return ast.Quotient(left, right, span=raw.at)
        if raw.kind == "product" and not self.rational and all(self.constant_of(arg) is None for arg in raw.args):
            message = f"a product of two terms, neither of them an integer: {self._shown(raw)}"
            hint = "terms are linear: one side of * must be an integer"
            raise self.error(raw.at, message, "an integer on one side of *", hint)
        if abs(self.constant_of(raw) or 0) > MAX_INTEGER:
            raise self.error(raw.at, *TOO_LARGE)
        if raw.kind == "product":
            return ast.Product(left, right, span=raw.at)
        return ast.Sum(cast(ast.SumOp, raw.text), left, right, span=raw.at)


def logical(raw: Raw, args: tuple[ast.Node, ...]) -> ast.Node:
    """Return the node of a logical or temporal operator with the given operands."""
    op: Any = raw.text
    if raw.kind == "nary":
        return ast.Nary(op, args, span=raw.at)
    if raw.kind in ("unary", "binary") and op.endswith("]"):
        # bounds are part of the operator's spelling, such as `F[0,3]` and `X[2]`
        op, _, bounds = op[:-1].partition("[")
        least, _, most = bounds.partition(",")
        return ast.Bounded(op, int(least), int(most or least), args, span=raw.at)
    if op == "!":
        return ast.Not(*args, span=raw.at)
    make: Any = {"arrow": ast.Arrow, "binary": ast.Binary, "unary": ast.Unary}[raw.kind]
    return cast(ast.Node, make(op, *args, span=raw.at))


def constant_of(
    text: Cited, raw: Raw, lets: Mapping[str, Definition], known: dict[Raw, int | None] | None = None
) -> int | None:
    """Return the value of a parsed tree of integers and names of integers; None if the tree contains anything else.
    `known` caches the values of subtrees. Raises SourceError for a number that is too large."""
    known = {} if known is None else known

    def value(raw: Raw) -> Walk[int | None]:
        if raw in known:
            return known[raw]
        found: int | None = None
        match raw.kind:
            case "number":
                found = text.integer(raw.text, raw.at)
            case "word" if not raw.called and raw.text in lets:
                found = lets[raw.text].constant
            case "sign":
                one = yield value(raw.args[0])
                found = -one if one is not None and raw.text == "-" else one
            case "sum" | "product":
                left, right = yield each(map(value, raw.args))
                if left is not None and right is not None:
                    found = left * right if raw.kind == "product" else left + right if raw.text == "+" else left - right
        known[raw] = found
        return found

    return walked(value(raw))


def _is_term(raw: Raw, scope: Scope) -> bool:
    """Return True if the body of a `let` is a term. A lone number is a symbol if the alphabet contains it."""
    match raw.kind:
        case "number":
            return raw.text not in scope.symbols
        case "constant":
            return raw.text in ("pos", "len")
        case "word" if not raw.called and raw.text in scope.lets:
            return scope.lets[raw.text].is_term
        case kind:
            return kind in ("sum", "sign", "product", "count")


def _read(scope: Scope, region: Span, whole_file: bool = False) -> tuple[Raw, int]:
    """Parse a region; return the tree and its depth after expanding `let`. Raises SourceError at the operator or name
    that exceeds MAX_LEVELS."""
    tokens = scope.tokens(region)
    root = tree_of_tokens(
        "ltl.lark",
        scope,
        tokens,
        lambda index: misfit_error(scope, tokens, index, region, whole_file),
        scope.alphabet,
    )
    deepest = 0
    for node, above in levels(root):
        let = scope.lets.get(node.text) if node.kind == "word" and not node.args else None
        if mixes_arrows(node) and MIXED_NOTE not in scope.notes:
            scope.notes = (*scope.notes, MIXED_NOTE)
        own = let.depth if let else int(bool(node.args) and node.kind != "mod")
        deepest = max(deepest, above + own)
        if deepest > MAX_LEVELS:
            message = f"nesting beyond {MAX_LEVELS} levels"
            if let:
                message += f": {node.text} has {own} levels, and {above} more are around it"
            hint = "a chain of &, | or ^ is one level; the levels of a definition count where its name is used"
            raise scope.error(node.at, message, hint=hint)
    return root, deepest


def misfit_error(scope: Scope, tokens: Sequence[Lexeme], index: int, region: Span, whole_file: bool) -> SourceError:
    """Return the error for a token, given by index, that does not fit after the tokens before it."""
    before = tokens[index - 1] if index > 0 else None
    token = tokens[index] if index < len(tokens) else None

    def fail(span: Span, message: str, expected: str, hint: str = "") -> SourceError:
        for near in (token, before):
            if not hint and near is not None and near.kind not in ("QUOTED", "WORD", "NUMBER"):
                hint = symbol_hint(scope.written(near.span), scope.symbols) or _operator_hint(scope, near)
        return scope.error(span, message, expected, hint)

    after = f"missing operand after {scope.written(before.span)}" if before else "missing formula"
    if token is None:
        end = before.span.end if before else region.start
        hint = "a regular expression needs a file of its own (.re)" if before and before.kind == "STAR" else ""
        return fail(Span(end, end + 1), after, _OPERAND, hint)
    place, shown = token.span, scope.written(token.span)
    if before is None or before.kind not in _ENDS_OPERAND:
        if before and before.kind in _TERM_OPERATORS and token.kind == "UNARY":
            message = f"{shown} makes a formula, and a number is needed after {scope.written(before.span)}"
            defines = [each.kind for each in tokens[: index - 1]] == ["WORD"] and scope.written(before.span) == "="
            name = tokens[0].value
            hint = f"a definition is written let {name} = ..., and equivalence <->" if defines else ""
            return fail(place, message, "a number", hint)
        if before and token.kind in ("RPAR", "RSQB"):
            empty = before.kind in ("LPAR", "COUNT")
            follows = tokens[index + 1].kind if index + 1 < len(tokens) else ""
            hint = "() of other tools is written X" if empty and follows in _STARTS_OPERAND else ""
            return fail(place, "nothing between the brackets" if empty else after, _OPERAND, hint)
        hints = {"<>": "unequal is written !=", "mod": "the predicate is MOD(m, r), the remainder (t) mod m = r"}
        hint = hints.get(shown, "")
        return fail(place, f"missing operand before {shown}", _OPERAND, hint)
    # An unknown word explains the mistake better than the token after it.
    if before.kind == "WORD" and not scope.knows(before.value, before.span):
        return scope.unknown(before.value, before.span, operators=True)
    if token.kind == "COMMA":
        return fail(place, "a comma is allowed only between the arguments of a predicate", "an operator")
    if shown == "<>":
        hint = "<> is eventually (F); unequal is written !="
        return fail(place, f"missing operator before {shown}", "an operator", hint)
    if whole_file and token.kind in _STARTS_OPERAND and begins_anew(scope.source.text, token.span.start, region.start):
        hint = "a file has one formula: join the two with & or |, or name the first with let; --lines reads each line "
        hint += "as a formula of its own"
        return fail(place, "a second formula begins here", "an operator or the end of the file", hint)
    if token.kind == "WORD" and not scope.knows(token.value, place):
        hint = scope.hint(token.value) or _blank_hint(tokens, index)
        return fail(place, f"unknown operator {shown}", "an operator", hint)
    external = (other_syntax_hint(each.value) for each in (token, before) if each.kind == "WORD")
    hint = next(filter(None, external), "") or _blank_hint(tokens, index)
    return fail(place, f"missing operator before {shown}", "an operator or the end of the formula", hint)


def _blank_hint(tokens: Sequence[Lexeme], index: int) -> str:
    """Return a hint on how to write adjacent words as one name; "" unless the token at the index and the one before are
    words."""
    if not tokens[index - 1].kind == tokens[index].kind == "WORD":
        return ""
    first, last = index - 1, index
    while first > 0 and tokens[first - 1].kind == "WORD":
        first -= 1
    while last + 1 < len(tokens) and tokens[last + 1].kind == "WORD":
        last += 1
    name = " ".join(token.value for token in tokens[first : last + 1])
    return f"write a name with blanks in quotes: {quoted(name)}"


def _operator_hint(scope: Scope, token: Lexeme) -> str:
    """Return a hint on how to write a name that was read as one operator or several; "" if the token is a sign,
    not a word."""
    if token.kind not in ("UNARY", "BINARY"):
        return ""
    word = next((found for found in WORD.finditer(scope.source.text) if found.end() >= token.span.end), None)
    if word is None or word.start() > token.span.start:
        return ""
    what = "an operator" if word[0] in WORD_OPERATORS else "read as operators"
    return f"{word[0]} is {what}; a {scope.atom} of that name is written {quoted(word[0])}"
