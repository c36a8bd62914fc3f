"""Parsing `.re` files: header lines and one regular expression.

Operators, loosest first: `|`, `&`, symbols side by side, then repetition or complement of one symbol, set or bracket.
Brackets are required where tools disagree: `!a*` and `!ab`, and two repetitions in a row (which in other tools may be a
lazy one). `notation.py` decides the meaning of `+` and `.` between two operands.

If the symbols are sets of propositions, `{p}` is exactly that set, and braces are a repetition only if they follow an
operand and contain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

from hardsim.errors import InputError, Source, SourceError, Span, Unsupported, WrongExample
from hardsim.lang.ast import Example
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.files import HEADER, Layout
from hardsim.lang.frontend import declared_alphabet, examples_of, given_alphabet, source_of, tree_of_tokens
from hardsim.lang.lexer import Cited, Lexeme, Scanner, begins_anew
from hardsim.lang.regex.construct import MOST, automaton_of
from hardsim.lang.regex.notation import CHOICES, ENDS_OPERAND, STARTS_OPERAND, Notation, notation_of, resolved
from hardsim.lang.trees import Raw, levels, mixed
from hardsim.lang.valuations import MENTIONED, Alphabet, GivenNames, Valuations, is_sets, listed, propositions_of
from hardsim.lang.vocabulary import brief, quoted, spelled, symbol_hint
from hardsim.lang.words import check_propositions, has_long_symbols, read_set, segmented, written_word
from hardsim.lazy_dataclass import dataclass

_SIGNS = "|&!.*+?()[]{}'"
_RUN = re.compile(r"[^\s|&!.*+?()\[\]{}']+")
_BRACES = re.compile(r"\{[^{}]*\}")
_MENTIONS = re.compile(r"'[^'\s]+'|(?<!\S)//[^\n]*|\{(?P<set>[^{}]*)\}")
"""A quoted symbol, a comment, or braces with their content."""
_COUNTED = re.compile(r"[\s0-9,]*")
_EMPTY = re.compile(r"\(\s*\)")
_SET = re.compile(r"\[\s*(\^?)")
_BOUNDS = re.compile(r"\{\s*([0-9]*)\s*(,?)\s*([0-9]*)\s*\}")
_OPERAND = "a symbol, ., a set such as [ab], ! or an opening bracket"
_AFTER = "a symbol, a repetition, |, & or the end"
_FORM = "{m}, {m,} or {m,n}"
_REPEATS = {"*": "0,", "?": "0,1"}
_BRACED = "a set of symbols is written [ab]; sets of propositions need a line props: in place of alphabet:"
_EMPTY_WORD, _EMPTY_LANGUAGE = "the empty word is written ()", "the empty language is written !(.*)"
_NAMED = re.compile(r"[@\\]?(?:(?P<word>eps(?:ilon)?|varepsilon|lambda|Lambda)|empty_?set|varnothing)\b")
"""Spellings of the empty word and the empty language in other notations."""
_NOTHING = {
    **dict.fromkeys((*"εϵɛλΛ", "eps", "epsilon", "lambda"), _EMPTY_WORD),
    **dict.fromkeys(("∅", "empty"), _EMPTY_LANGUAGE),
}
"""Hints for symbols that denote the empty word or the empty language in other notations."""
_OPENING, _CLOSING = frozenset({"LPAR", "SET"}), frozenset({"RPAR", "RSQB"})
_BRACKETS = _OPENING | _CLOSING | {"EMPTY"}
_LOOK_ALIKES = {
    **_NOTHING,
    **dict.fromkeys("€@1", _EMPTY_WORD),
    **dict.fromkeys("#0", f"{_EMPTY_LANGUAGE}, and {_EMPTY_WORD}"),
    **dict.fromkeys("~¬", "the complement is written !( ... )"),
    **dict.fromkeys("∪⋃∨⋁⊔U", "union is written |"),
    **dict.fromkeys("∩⋂∧⋀⊓", "the intersection is written &"),
    **dict.fromkeys("∗⋆＊★", "repetition is written *"),
    **dict.fromkeys("⁺＋", "one or more times is written {1,}"),
    **dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹", "a power such as a² is written a{2}"),
    **dict.fromkeys("·⋅∘;", "to concatenate, write operands side by side"),
    "-": "the difference of two languages is written e & !(f)",
    "^": "a power such as a^3 is written a{3}; an expression matches whole words: leave out ^ and $",
    "$": "an expression matches whole words: leave out ^ and $; the empty word is written ()",
    "Σ": "any symbol is written .",
    "\\": f"there are no escapes: symbols that are signs here are quoted, as in '('; {_EMPTY_WORD}",
    "/": "write the expression without slashes around it",
    '"': "symbols are quoted as in 'a'",
    ",": "separate symbols by blanks only",
    ":=": "write the expression alone, without a name",
}


@dataclass(frozen=True)
class RegexFile:
    """A parsed `.re` file: alphabet, expression, its automaton, and the examples of the file, which the automaton has
    been checked against. `notes` are remarks for the user."""

    alphabet: Alphabet
    expression: Raw
    automaton: Automaton
    layout: RegexLayout
    examples: tuple[Example, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The first line of the file if it is a comment, else ""."""
        return self.layout.title

    @property
    def origin(self) -> str:
        """The value of the `source:` line, or ""."""
        return self.layout.value("source")

    def error(self, message: str, hint: str) -> Unsupported:
        """Return an error that cites the expression, for a request that has no construction."""
        assert self.layout.expression is not None
        return Unsupported(self.layout.source, self.layout.expression, message, "", hint)


@dataclass
class RegexLayout(Layout):
    """The parts of a `.re` file; `expression` is None if missing. Raises SourceError for lines out of order and for
    unknown or repeated keys."""

    keys = ("alphabet", "props", "one-of", "at-most-one", "accept", "reject", "source", *CHOICES)
    hints: ClassVar = {
        "at": "at: belongs to formulas (.ltl files): an expression matches whole words",
        **{key: f"{key}: belongs to programs (.srasp files)" for key in ("map", "pad", "output", "rel")},
    }
    expression: Span | None = None

    def _line(self, line: Span, text: str, indented: bool) -> None:
        header, start = HEADER.match(text), line.end - len(text)
        if self.expression is not None:
            if header and header["key"] in self.keys:
                hint = f"move the line above the expression (line {self.line_of(self.expression)})"
                raise self.error(line, "header lines must come before the expression", "the end of the file", hint)
            self.expression = Span(self.expression.start, line.end)
        elif header and not indented:
            self._add_header(start, header)
        elif indented and self.headers:
            hint = "a header line cannot be continued: repeat its key, and begin the expression without a space"
            raise self.error(line, "an indented line after a header line", "a line without indentation", hint)
        else:
            if wrong := self._colon(line, text):
                raise wrong
            self.expression = line


@dataclass(frozen=True)
class RegexText:
    """The parsed text of a `.re` file, before its automaton is built: parts, alphabet, examples, and the tokens and
    the tree of its expression."""

    layout: RegexLayout
    alphabet: Alphabet
    examples: tuple[Example, ...]
    tokens: tuple[Lexeme, ...]
    expression: Raw


def read_regex(
    text: str | bytes, name: str = "<text>", props: GivenNames = None, alphabet: GivenNames = None
) -> RegexText:
    """Parse a whole `.re` file without building an automaton; `name` is the file name in errors. `alphabet`, or `props`
    (MENTIONED: those in the sets of the expression), is used if the file declares neither symbols nor propositions.
    Raises SourceError with the place of the first mistake, and InputError for a bad `alphabet` or `props`."""
    source = source_of(text, name, "an alphabet: line and an expression", "a small file: alphabet: a b, then (ab)*")
    layout = RegexLayout(source)
    known = declared_alphabet(layout, alphabet, props)
    if known is None and (alphabet is not None or props not in (None, MENTIONED)):
        known = given_alphabet(alphabet, props)
    if known is None and props == MENTIONED and layout.expression is not None:
        known = _mentioned(source, layout.expression)
    if known is None:
        expected = "a line with all symbols, as in alphabet: a b, or with all propositions, as in props: p q"
        raise layout.error(layout.first or layout.end, "missing alphabet", expected, "add it at the top of the file")
    examples = examples_of(layout, known)
    if layout.expression is None:
        raise layout.error(layout.end, "missing expression", "an expression after the header, such as (ab)*")
    tokens = regex_tokens(layout, layout.expression, known, notation_of(layout))
    _require_one_expression(layout, tokens, layout.expression)
    return RegexText(layout, known, examples, tuple(tokens), read_expression(layout, tokens, layout.expression))


def _require_one_expression(layout: RegexLayout, tokens: Sequence[Lexeme], region: Span) -> None:
    """Raise SourceError if a line that is not indented begins with an operand after an operand.

    Otherwise a file with an expression on each line would be read as one long sequence. An operator, an open bracket or
    an indentation shows that the line continues the expression.
    """
    depth = 0
    for before, token in pairwise(tokens):
        depth += before.kind in _OPENING
        depth -= before.kind in _CLOSING
        joined = before.kind in ENDS_OPERAND | {"REPEAT"} and token.kind in STARTS_OPERAND
        if joined and not depth and begins_anew(layout.source.text, token.span.start, region.start):
            expected = "an operator, an indented line or the end of the file"
            hint = "a file has one expression: join the two with |, or indent a line that goes on with the one before"
            raise layout.error(token.span, "a second expression begins here", expected, hint)


def parse_regex(
    text: str | bytes, name: str = "<text>", props: GivenNames = None, alphabet: GivenNames = None
) -> RegexFile:
    """Parse a whole `.re` file as `read_regex` does, build its automaton, and check its examples. Raises SourceError at
    the first mistake of the text, an example that the expression contradicts, or the part that makes the automaton too
    large."""
    read = read_regex(text, name, props, alphabet)
    layout, symbols = read.layout, read.alphabet
    automaton = automaton_of(layout, read.expression, symbols)
    for example in read.examples:
        if automaton.accepts(example.word) != example.accept:
            listed, does = ("accept", "does not match") if example.accept else ("reject", "matches")
            message = (
                f"the expression {does} '{written_word(example.word, symbols)}', which is listed under '{listed}:'"
            )
            raise WrongExample(layout.source, example.span, message, hint="Correct the expression or the example.")
    notes = mistakable(layout, read.tokens, symbols)
    notes += ["the expression matches no word (words are non-empty)"] * automaton.empty
    return RegexFile(symbols, read.expression, automaton, layout, read.examples, tuple(notes))


def _mentioned(source: Source, region: Span) -> Valuations:
    """Return the alphabet of the propositions in the sets of an expression. Raises SourceError if there is none, or
    there are too many."""
    inside = [found["set"] for found in _MENTIONS.finditer(source.text, region.start, region.end) if found["set"]]
    # braces with only digits and commas are repetitions, not sets
    found = dict.fromkeys(name.strip() for one in inside if not _COUNTED.fullmatch(one) for name in one.split(","))
    names = tuple(filter(None, found))
    if not names:
        hint = "declare the propositions in the header: props: p q"
        raise SourceError(source, region, "no proposition is mentioned here", "a set of them, as in {p,q}", hint)
    try:
        return check_propositions(names)
    except InputError as error:
        raise SourceError(source, region, error.message, "", error.hint) from None


def mistakable(text: Cited, tokens: Sequence[Lexeme], alphabet: Alphabet) -> list[str]:
    """Return notes on signs that look like a symbol of the alphabet, or like another notation, but have a
    different meaning."""
    signs = [token for token in tokens if token.kind in ("ANY", "OR", "AND", "NOT", "REPEAT")]
    used = {text.written(token.span): token.kind for token in signs}
    kinds = {"REPEAT": "a repetition after what it repeats"} if is_sets(alphabet) else {}
    found = {sign: kinds.get(kind, "an operator") for sign, kind in used.items() if sign in alphabet}
    named = {token.value for token in tokens if token.kind == "SYMBOL"}
    brackets = "".join(text.written(token.span) for token in tokens if token.kind in _BRACKETS)
    found |= {sign: "a bracket" for sign in dict.fromkeys(brackets) if sign in alphabet and sign not in named}
    notes = [f"{sign} is {what}; the symbol is written {quoted(sign)}" for sign, what in found.items()]
    if not is_sets(alphabet):
        sets = {sign: numbers for sign in used if (numbers := _as_set(sign)) and set(numbers) <= {*alphabet}}
        notes += [
            f"{sign} repeats the operand before it; the set is written [{' '.join(numbers)}]"
            for sign, numbers in sets.items()
        ]
    # quoted symbols are certain, so only bare ones get a note
    bare = dict.fromkeys(text.written(token.span) for token in tokens if token.kind == "SYMBOL")
    notes += [f"{sign} is a symbol of the alphabet here; {hint}" for sign in bare if (hint := _NOTHING.get(sign))]
    return notes


def _as_set(braces: str) -> list[str]:
    """Return the numbers in braces that the user may intend as a set of symbols, as in {0,1}; none for {2,}."""
    return re.findall("[0-9]+", braces) if re.fullmatch(r"\{\s*[0-9]+\s*(,\s*[0-9]+\s*)?\}", braces) else []


# ---- tokens ----


class _RegexScanner(Scanner):
    """Splits an expression into tokens. A symbol is one character; if the alphabet has longer symbols, the text between
    blanks and signs is one symbol, and if the symbols are sets, the text between braces."""

    spellings: ClassVar = {
        **spelled("OR", "|"),
        **spelled("AND", "&"),
        **spelled("NOT", "!"),
        **spelled("PLUS", "+"),
        **spelled("ANY", "."),
        **spelled("LPAR", "("),
        **spelled("RPAR", ")"),
        **spelled("RSQB", "]"),
    }
    look_alikes: ClassVar = _LOOK_ALIKES

    def __init__(self, source: Source, region: Span, symbols: Alphabet, notation: Notation) -> None:
        super().__init__(source, region, symbols)
        self.alphabet, self.sets, self.notation = symbols, is_sets(symbols), notation

    def special(self) -> bool:
        char = self.text[self.at]
        if char in _REPEATS:
            self._repeat(char)
        # for an alphabet of sets, braces are a set unless they can only be a repetition
        elif char == "{" and self.sets and not self._repeats():
            found = self.match(_BRACES)
            if found is None:
                raise self.wrong(self.at + 1, "this brace is never closed", "} further on")
            self.add("SYMBOL", read_set(self.source, Span(*found.span()), self.alphabet), found.end())
        elif char == "{":
            self._bounds()
        elif empty := self.match(_EMPTY):
            self.add("EMPTY", "()", empty.end())
        elif begun := self.match(_SET):
            self.add("SET", begun[1], begun.end())
        elif char == "}":
            raise self.wrong(self.at + 1, "this bracket closes nothing: }", _AFTER, symbol_hint(char, self.symbols))
        elif char not in _SIGNS:
            self._symbol()
        else:
            return False
        return True

    def check_word(self, word: str, end: int) -> None:
        """Accept any word; `special` has read all symbols before."""

    def quoted_symbol(self, kind: str, start: int) -> None:
        super().quoted_symbol("SYMBOL", start)
        token = self.tokens[-1]
        if self.sets and _BRACES.fullmatch(token.value):
            inside = Span(start + 1, token.span.end - 1)
            self.tokens[-1] = replace(token, value=read_set(self.source, inside, self.alphabet))
        elif token.value not in self.symbols:
            raise self.error(token.span, *self._unknown_symbol_error(token.value))

    def _repeats(self) -> bool:
        """Return True if the braces at the current offset are a repetition, for an alphabet of sets."""
        before = self.tokens[-1].kind if self.tokens else ""
        after = before in ENDS_OPERAND | {"REPEAT"} or (before == "PLUS" and self.notation.plus == "repeat")
        bounds = self.match(_BOUNDS)
        return after and bounds is not None and bool(bounds[1] or bounds[3]) and not in_set(self.tokens)

    def _symbol(self) -> None:
        run = self.match(_RUN)
        assert run is not None  # callers have checked that the character is neither a sign nor a blank
        found = run[0] if has_long_symbols(self.symbols) else run[0][0]
        if found == "-" and self.tokens[-1:] and self.tokens[-1].kind == "SYMBOL" and in_set(self.tokens):
            hint = f"list all of its symbols{'; the symbol - is quoted' * (found in self.symbols)}"
            raise self.wrong(self.at + 1, "there are no ranges of symbols", "a symbol or ]", hint)
        if found in self.symbols:
            self.add("SYMBOL", found, self.at + len(found))
            return
        raise self.wrong(self.at + len(found), *self._unknown_symbol_error(found))

    def _unknown_symbol_error(self, found: str) -> tuple[str, str, str]:
        """Return message, expected text and hint for text that is no symbol."""
        # `abc` over symbols `ab` and `c`: the blanks are missing
        parts = segmented(found, self.symbols) if len(found) > 1 and not self.sets else []
        hint = f"separate symbols by blanks: {' '.join(parts)}" if parts else _LOOK_ALIKES.get(found[0], "")
        if named := self.match(_NAMED):
            hint = _EMPTY_WORD if named["word"] else _EMPTY_LANGUAGE
        expected = f"symbols of the alphabet: {listed(self.alphabet, 20)}"
        if self.sets and not hint:
            alone = f"{{{found}}} is the set of {found} alone; " if found in propositions_of(self.alphabet) else ""
            hint = f"{alone}sets are written {{p,q}}, and several of them [{{p}}{{p,q}}]"
        return f"{brief(found)} is not a symbol of the alphabet", expected, hint

    def _repeat(self, sign: str) -> None:
        blank = self.tokens and self.tokens[-1].span.end < self.at
        if sign == "?" and self.tokens and self.tokens[-1].kind == "LPAR":
            raise self.wrong(self.at + 1, "? repeats nothing", _OPERAND, "write a group in plain brackets, without ?")
        if sign == "?" and blank:
            hint = "any symbol (? in xfst) is written .; a repetition follows its operand without a blank"
            raise self.wrong(self.at + 1, "a blank before ?", _AFTER, symbol_hint(sign, self.symbols) or hint)
        self.add("REPEAT", _REPEATS[sign], self.at + 1)

    def _bounds(self) -> None:
        bounds = self.match(_BOUNDS)
        if bounds is None or not (bounds[1] or bounds[3]):
            hint = symbol_hint("{", self.symbols) or _BRACED
            raise self.wrong(self.at + 1, "these braces are not a repetition", _FORM, hint)
        low, comma, high = bounds.groups()
        place = Span(self.at, bounds.end())
        if not low:
            raise self.error(place, "a repetition without its least number", _FORM, f"write {{0,{high}}}")
        least, most = (self.integer(text, place) if text else None for text in (low, high if comma else low))
        if high and not comma:
            raise self.error(place, "a comma is missing", _FORM, f"write {{{low},{high}}}")
        assert least is not None
        if most is not None and most < least:
            raise self.error(place, f"{most} repetitions are fewer than {least}", f"{{{most},{least}}}")
        if max(least, most or 0) > MOST:
            raise self.error(place, f"more than {MOST:,} repetitions", "a smaller number")
        self.add("REPEAT", f"{least},{'' if most is None else most}", bounds.end())


def regex_tokens(text: Cited, region: Span, symbols: Alphabet, notation: Notation) -> list[Lexeme]:
    """Return the tokens of an expression. Raises SourceError for text that is neither a symbol of the alphabet nor a
    sign, and for a sign whose meaning the notation does not decide."""
    return resolved(text, _RegexScanner(text.source, region, symbols, notation).run(), notation, symbols)


# ---- the tree ----


def read_expression(text: Cited, tokens: Sequence[Lexeme], region: Span) -> Raw:
    """Return the tree of an expression. Raises SourceError for tokens that do not fit, and where brackets are
    required."""
    tree = tree_of_tokens("re.lark", text, tokens, lambda index: _misfit(text, tokens, index, region))
    for node, _ in levels(tree):
        if both := mixed(node, "|", "&"):
            hint = "write (e & f) | g or e & (f | g)"
            raise text.error(both.at, "& beside | needs brackets: tools disagree on which binds tighter", "", hint)
        for one in node.args[:-1] if node.kind == "sequence" else ():
            # `!ab` without brackets: in some tools `!` takes `a`, in others `ab`
            if one.kind == "not" and one.whole.start == one.at.start and one.args[0].whole == one.args[0].at:
                inner = text.written(one.args[0].whole)
                hint = f"write (!{inner}) for the complement of this operand, or !( ... ) for that of a longer part"
                raise text.error(one.at, f"!{inner} before another operand needs brackets", "", hint)
    return tree


def _misfit(text: Cited, tokens: Sequence[Lexeme], index: int, region: Span) -> SourceError:
    """Return the error for a token, given by index, that does not fit after the tokens before it; the number of tokens
    stands for the end."""
    before = tokens[index - 1] if index else None
    if index == len(tokens):
        end = before.span.end if before else region.start
        place, written = Span(end, end + 1), ""
        message = f"an operand is missing after {text.written(before.span)}" if before else "an operand is missing"
        return text.error(place, message, _OPERAND, _EMPTY_WORD if before else "")
    token = tokens[index]
    place, written = token.span, text.written(token.span)
    if in_set(tokens[:index]):
        if token.kind == "RSQB":
            return text.error(
                place, "a set without symbols", "a symbol", "any symbol is written ., the empty language !(.*)"
            )
        hint = f"in a set {written} has no meaning; the symbol is written {quoted(written)}"
        return text.error(place, f"{written} in a set", "a symbol or ]", hint)
    if token.kind == "REPEAT":
        return _misplaced_repeat(text, tokens, index)
    what = f"after {text.written(before.span)}" if before else "at the beginning"
    ends = before is not None and (before.kind in ENDS_OPERAND or before.kind == "REPEAT")
    hint = _EMPTY_WORD if token.kind in ("OR", "AND", "RPAR") else ""
    if before is not None and (before.kind, token.kind) == ("NOT", "NOT"):
        hint = "write !(!( ... ))"
    if before is not None and before.kind == token.kind and token.kind in ("OR", "AND"):
        hint = f"write {written} once"
    return text.error(place, f"{written} cannot stand {what}", _AFTER if ends else _OPERAND, hint)


def in_set(tokens: Sequence[Lexeme]) -> bool:
    """Return True if the tokens end inside a set such as [ab]."""
    return next((token.kind == "SET" for token in reversed(tokens) if token.kind != "SYMBOL"), False)


def _misplaced_repeat(text: Cited, tokens: Sequence[Lexeme], index: int) -> SourceError:
    """Return the error for a repetition after nothing, after another repetition, or after a complement without
    brackets."""
    before, token = tokens[index - 1] if index else None, tokens[index]
    written, place = text.written(token.span), token.span
    if before is None:
        return text.error(place, f"{written} repeats nothing", _OPERAND, _BRACED if written[0] == "{" else "")
    if before.kind == "REPEAT":
        hint = f"write ( ... {text.written(before.span)}){written}; there are no lazy or possessive repetitions"
        return text.error(place, "two repetitions in a row need brackets", _AFTER, hint)
    if before.kind in ENDS_OPERAND:
        hint = f"write !( ... {written}) or (! ...){written}"
        return text.error(place, f"! beside {written} needs brackets", _AFTER, hint)
    return text.error(place, f"{written} repeats nothing", _OPERAND)
