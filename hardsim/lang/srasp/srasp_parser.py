"""Parsing `.srasp` programs: the file, then single right-hand sides, with all names and sorts checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import TypeAlias, cast

from hardsim.errors import SourceError, Span, did_you_mean, enumerated
from hardsim.lang import ast
from hardsim.lang.arith import Arith, read_tree
from hardsim.lang.ast import Sort
from hardsim.lang.files import FileLine, ProgramLayout
from hardsim.lang.frontend import LINE_LEVELS, lone_symbol_notes, read_examples, source_of, tree_of_tokens
from hardsim.lang.lexer import CLOSING, MAX_INTEGER, TOO_LARGE, Cited, Lexeme, program_tokens
from hardsim.lang.ltl_parser import constant_of, logical
from hardsim.lang.trees import Raw
from hardsim.lang.valuations import listed
from hardsim.lang.vocabulary import PIECE, PROGRAM_VECTORS, brief, name_hint, quoted, symbol_hint
from hardsim.lang.words import has_long_symbols, read_alphabet, read_words, unprintable
from hardsim.lazy_dataclass import dataclass

_PIECE = re.compile(r"\S+")
_MAP_FORM = "WORD -> WORD, with blanks around the arrow"
_CALLED = re.compile(r"\s*\(\s*i\s*\)$")
_KnownSort: TypeAlias = "Sort | None"
"""The sort of a tree; None for the literals 0 and 1 (and conditionals between them), which take the sort that is
needed."""
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WITH_ARTICLE = {
    Sort.BOOL: "a Boolean",
    Sort.INT: "an integer",
    Sort.SYMBOL: "a symbol",
    Sort.RATIONAL: "a rational number",
}


_BUILT_IN: Mapping[str, Callable[..., ast.Expression]] = {"in": ast.InputSymbol, "pos": ast.Position, "len": ast.Length}

_OPERAND = "a vector, a number, a quoted symbol, !, - or an opening bracket"
_ENDS_OPERAND = frozenset({"WORD", "SYMBOL", "NUMBER", "FRACTION", "QUOTED", "TRUTH", "RPAR", "RBRACE"})
_STARTS_OPERAND = frozenset({"WORD", "SYMBOL", "NUMBER", "FRACTION", "QUOTED", "TRUTH", "LPAR", "NOT"})
_FORM = {
    "ATTENTION": "{}[mask, score] value : default",
    "PSUM": "psum_j[j<=i] value",
    "COUNT_J": "count_j[mask, score]",
    "MEAN_J": "mean_j[mask] value, or mean_j[mask, score] value : default",
}


def parse_program(text: str | bytes, name: str = "<text>") -> ast.SraspProgram:
    r"""Parse a whole `.srasp` file; `name` is the file name in errors. Raises SourceError with the place of the first
    mistake. Spans are offsets in the result's `source`: the text without a byte order mark and with `\\n` line ends."""
    hint = "a small program: Y(i) := Q_a(i) | Q_b(i)"
    layout = ProgramLayout(source_of(text, name, "an alphabet: line and statements", hint))
    if not layout.statements:
        hint = "as in Y(i) := rightmost_j[j<i, 1] Q_a(j) : 0"
        raise layout.error(layout.end, "a program without statements", "NAME(i) := ...", hint)
    scope, statements = _statements(layout)
    output, assume = _output(layout, statements), _assume(layout, statements)
    declared = layout.declarations or layout.header("alphabet") is not None
    lone = () if declared else lone_symbol_notes(scope.alphabet)
    program = ast.SraspProgram(
        alphabet=scope.alphabet,
        statements=statements,
        output=output.name,
        relations=tuple(scope.relations.values()),
        pad=_pad(layout),
        examples=tuple(_examples(layout, scope.alphabet, output)),
        origin=layout.value("source"),
        title=layout.title,
        assume=assume,
        source=layout.source,
    )
    needed = program.needed(output.name, assume)
    unused = [statement.name for statement in statements if statement.name not in needed]
    vectors = f"the vector{'s' * (len(unused) > 1)} {enumerated(unused)}"
    message = [f"the output {output.name} does not need {vectors}"] * bool(unused)
    return replace(program, notes=(*lone, *message))


def _statements(layout: ProgramLayout) -> tuple[ProgramScope, tuple[ast.Statement, ...]]:
    """Read relations and statements in the order of the text; return a scope that contains all of them, and the
    statements."""
    source, line = layout.source, layout.header("alphabet")
    given = None if line is None else read_alphabet(source, line.body)
    # All statements are split into tokens first: without a header, `Q_` tokens anywhere define the alphabet.
    tokens = [program_tokens(source, line.body, given or ()) for line in layout.statements]
    declared = [_declared(layout, span, given or ()) for span in layout.declarations]
    mentioned = [token for line in tokens for token in line if token.kind == "SYMBOL"]
    alphabet = _alphabet(layout, given, declared, mentioned)
    later = {line.name: line.at for line in layout.statements}
    scope = ProgramScope(source, alphabet, padded=layout.header("pad") is not None, later=later)
    for relation in layout.relations:
        scope.relations[relation.name] = _relation(scope, relation)
    statements = []
    for statement, its_tokens in zip(layout.statements, tokens, strict=True):
        scope.current = statement.name
        right = read_right_hand_side(scope, its_tokens, statement.body)
        scope.vectors[statement.name] = right.sort
        statements.append(ast.Statement(statement.name, right, span=statement.at))
    return scope, tuple(statements)


def _declared(layout: ProgramLayout, span: Span, symbols: tuple[str, ...]) -> Lexeme:
    """Return the token of the symbol that a declaration `Q_a(i)` declares."""
    first, *rest = program_tokens(layout.source, span, symbols)
    argument = [token.value for token in rest]
    if argument and argument != ["(", "i", ")"]:
        place = Span(rest[0].span.start, rest[-1].span.end)
        hint = "each symbol is declared on a line of its own; a vector is defined by NAME(i) := ..."
        raise layout.error(place, "a declaration is Q_a(i) alone", "(i) or the end of the line", hint)
    return first


def _alphabet(
    layout: ProgramLayout, given: tuple[str, ...] | None, declared: Sequence[Lexeme], mentioned: Sequence[Lexeme]
) -> tuple[str, ...]:
    """Return the alphabet: that of the header, else the declared `Q_` symbols, else the mentioned ones, in order.
    Raises SourceError if there are none, for symbols that cannot be printed, for declarations that repeat a symbol or
    are not in the header's alphabet, and for the blank in a program with padding."""
    padded = layout.header("pad") is not None
    seen: dict[str, Span] = {}
    for token in declared:
        if given is not None and token.value not in given:
            expected = f"a symbol of the alphabet: line ({listed(given)})"
            raise layout.error(token.span, f"{brief(token.value)} is not a symbol of the alphabet", expected)
        if token.value in seen:
            raise layout.error(token.span, f"the symbol {token.value} is declared twice", "each symbol once")
        seen[token.value] = token.span
    if given is None and not declared:
        for token in mentioned:
            if not (padded and token.value == ast.BLANK):
                seen.setdefault(token.value, token.span)
    for symbol, span in seen.items():
        if unprintable(symbol):
            raise layout.error(span, f"this symbol contains {unprintable(symbol)}", "symbols that can be printed")
    symbols = given or tuple(seen)
    if not symbols:
        expected = "a line with all symbols, as in alphabet: a b"
        hint = "add it at the top of the file, or declare each symbol by a line such as Q_a(i)"
        raise layout.error(layout.first or layout.end, "missing alphabet", expected, hint)
    blank = "of a program with a pad: line", "padding fills words up with #, and the output omits #"
    begin = "of a program", f"{ast.BOS} is the beginning of sequence of its network, at position 0"
    for symbol, (where, hint) in (*([(ast.BLANK, blank)] if padded else []), (ast.BOS, begin)):
        if symbol in symbols:
            line = layout.header("alphabet")
            word = re.compile(rf"(?<!\S){symbol}(?!\S)")
            found = line and word.search(layout.source.text, line.body.start, line.body.end)
            place = Span(*found.span()) if found else seen[symbol]
            raise layout.error(place, f"{symbol} is not allowed in the alphabet {where}", "another symbol", hint)
    return symbols


def _pad(layout: ProgramLayout) -> Arith | None:
    """Return the padded length as an expression in `len`; None without a `pad:` line."""
    line = layout.header("pad")
    if line is None:
        return None
    if not line.text:
        raise layout.error(line.body, "pad: has no value", "an expression in len, as in pad: 2*len")
    return Arith(read_tree(layout.source, line.body.start, line.text, ("len",), "number"), layout.source)


def _named(layout: ProgramLayout, line: FileLine, statements: Sequence[ast.Statement]) -> ast.Statement:
    """Return the statement of the vector that a header line names. Raises SourceError if there is no such vector."""
    vectors = {statement.name: statement for statement in statements}
    name = _CALLED.sub("", line.text)
    if name not in vectors:
        place = line.body if name else Span(line.body.start, line.body.start + 1)
        message = f"unknown vector {brief(name)}" if name else f"{line.name}: names no vector"
        raise layout.error(place, message, f"a vector of the program ({listed(vectors)})", did_you_mean(name, vectors))
    return vectors[name]


def _assume(layout: ProgramLayout, statements: Sequence[ast.Statement]) -> str:
    """Return the name of the vector that is true where the output is specified; "" without an `assume:` line. Raises
    SourceError if there is no such vector, or it is not Boolean."""
    line = layout.header("assume")
    if line is None:
        return ""
    found = _named(layout, line, statements)
    if found.sort is not Sort.BOOL:
        message = f"{found.name} is {_WITH_ARTICLE[found.sort]} vector, and assume: says where the output is specified"
        hint = "compare it in a statement of its own, as in known(i) := ... > 0"
        raise layout.error(line.body, message, "a Boolean vector", hint)
    return found.name


def _output(layout: ProgramLayout, statements: Sequence[ast.Statement]) -> ast.Statement:
    """Return the statement of the output: the vector that the header names, else the last one. Raises SourceError for
    an unknown vector and for a mean."""
    line = layout.header("output")
    output, place = statements[-1], statements[-1].span
    if line is not None:
        output, place = _named(layout, line, statements), line.body
    if output.sort is Sort.RATIONAL:
        message = f"the output {output.name} is a mean"
        expected = "a Boolean vector (accepts words), or one of symbols or integers (maps words)"
        hint = "compare it, as in Y(i) := ... >= 1/2, or name another vector: output: NAME"
        raise layout.error(place, message, expected, hint)
    return output


def _examples(layout: ProgramLayout, alphabet: tuple[str, ...], output: ast.Statement) -> Iterator[ast.ProgramExample]:
    """Yield the examples, in the order of the text. Raises SourceError for words with symbols outside the alphabet,
    lines without a word or arrow, and examples of the wrong kind."""
    acceptor = output.sort is Sort.BOOL
    for line in layout.headers:
        if line.name not in ("accept", "reject", "map"):
            continue
        if acceptor != (line.name != "map"):
            mapped = f"{_WITH_ARTICLE[output.sort]} vector: the program maps words"
            kind = "Boolean: the program accepts words" if acceptor else mapped
            message = f"{line.name}: does not fit, the output {output.name} is {kind}"
            raise layout.error(line.at, message, "accept: or reject:" if acceptor else "map:")
        if line.name == "map":
            yield from _map_examples(layout, line, alphabet, output.sort is Sort.INT)
        else:
            yield from read_examples(layout, line, alphabet)


def _map_examples(
    layout: ProgramLayout, line: FileLine, alphabet: tuple[str, ...], integers: bool
) -> Iterator[ast.MapExample]:
    """Yield the pairs of a `map:` line: one pair if a symbol is longer than one character or the output has integers,
    otherwise one for each arrow."""
    piece = PIECE if has_long_symbols(alphabet) else _PIECE
    matches = list(piece.finditer(layout.source.text, line.body.start, line.body.end))
    pieces = [Span(*match.span()) for match in matches]
    arrows = [index for index, match in enumerate(matches) if match[0] == "->"]
    if not arrows:
        raise layout.error(line.body, "a pair without an arrow", _MAP_FORM)
    single = integers or has_long_symbols(alphabet)
    if single:
        if len(arrows) > 1:
            what = "integers" if integers else "words"
            hint = f"write one pair on each map: line, because the {what} contain blanks"
            raise layout.error(pieces[arrows[1]], "more than one arrow", _MAP_FORM, hint)
        starts, ends = [0], [len(pieces)]
    else:
        starts = [arrow - 1 for arrow in arrows]
        ends = [*starts[1:], len(pieces)]
        if starts[0] > 0:
            raise layout.error(pieces[0], "a word without an arrow", _MAP_FORM)
    # each pair: the word before the arrow, then its output up to the next word
    for arrow, start, end in zip(arrows, starts, ends, strict=True):
        if start < 0 or start >= arrow or start in arrows:
            raise layout.error(pieces[arrow], "no word precedes this arrow", _MAP_FORM, "words are non-empty")
        if not single and end > arrow + 2:
            raise layout.error(pieces[arrow + 2], "a word without an arrow", _MAP_FORM)
        words = read_words(layout.source, Span(pieces[start].start, pieces[arrow - 1].end), alphabet)
        if len(words) > 1:
            raise layout.error(words[1][1], "two words before one arrow", _MAP_FORM)
        right = pieces[arrow + 1 : end]
        output: tuple[str | int, ...] = ()
        if integers:
            output = tuple(_listed_integer(layout, piece) for piece in right)
        elif right:
            output = read_words(layout.source, Span(right[0].start, right[-1].end), alphabet)[0][0]
        yield ast.MapExample(words[0][0], output, span=Span(pieces[start].start, pieces[end - 1].end))


def _listed_integer(layout: ProgramLayout, piece: Span) -> int:
    text = layout.source.text[piece.start : piece.end]
    if not re.fullmatch("[+-]?[0-9]+", text):
        expected = "integers with blanks between them, one for each position, as in ab -> 1 -2"
        raise layout.error(piece, f"{brief(text)} is not an integer", expected)
    if len(text.lstrip("+-0")) > len(str(MAX_INTEGER)):
        raise layout.error(piece, *TOO_LARGE)
    return int(text)


def _relation(scope: ProgramScope, line: FileLine) -> ast.Relation:
    """Return the relation of a `rel` line. Raises SourceError for its syntax, for symbols outside the alphabet and for
    tuples of different lengths."""
    tokens = program_tokens(scope.source, line.body, scope.symbols)
    end = tokens[-1].span.end if tokens else line.body.start
    # a sentinel, so that an error at the end has a place
    tokens.append(Lexeme("END", "", Span(end, end + 1)))
    if tokens[0].kind != "LBRACE":
        raise scope.error(tokens[0].span, f"{line.name} has no set of tuples", "{ 'a' 'b', 'c' 'd' }")
    groups: list[list[Lexeme]] = [[]]
    # the closing brace ends the loop by `break`; `else` runs if there is none
    rest = iter(tokens[1:-1])
    for token in rest:
        if token.kind == "QUOTED":
            groups[-1].append(token)
            continue
        if token.kind not in ("COMMA", "RBRACE"):
            message = f"{scope.written(token.span)} is not a quoted symbol"
            hint = symbol_hint(scope.written(token.span), scope.symbols)
            raise scope.error(token.span, message, "a quoted symbol, a comma or }", hint)
        if not groups[-1]:
            message = "an empty tuple" if len(groups) > 1 or token.kind == "COMMA" else "an empty relation"
            raise scope.error(token.span, message, "quoted symbols", "it would always be false")
        if token.kind == "RBRACE":
            break
        groups.append([])
    else:
        raise scope.error(tokens[-1].span, "this relation is never closed", "}")
    if after := next(rest, None):
        raise scope.error(after.span, "the relation ends before this", "the end of the line")
    tuples: list[tuple[str, ...]] = []
    for group in groups:
        values = tuple(scope.symbol(token.value, token.span) for token in group)
        place = Span(group[0].span.start, group[-1].span.end)
        if tuples and len(values) != len(tuples[0]):
            message = f"a tuple of length {len(values)}, but the first has length {len(tuples[0])}"
            hint = "all tuples of a relation have the same length; commas separate tuples only"
            raise scope.error(place, message, f"{len(tuples[0])} quoted symbols", hint)
        if values in tuples:
            raise scope.error(place, "this tuple is in the relation twice", "each tuple once")
        tuples.append(values)
    return ast.Relation(line.name, tuple(tuples), span=line.at)


# ---- right-hand sides ----


@dataclass
class ProgramScope(Cited):
    """The names that are known at some point of a program. `later` maps the name of every vector of the file to its
    place; `current` is the vector whose statement is being read. `padded`: the program has padding, so the blank is a
    symbol too."""

    alphabet: tuple[str, ...]
    padded: bool = False
    relations: dict[str, ast.Relation] = field(default_factory=dict)
    vectors: dict[str, ast.Sort] = field(default_factory=dict)
    later: Mapping[str, Span] = field(default_factory=dict)
    current: str = ""
    indices: frozenset[str] = frozenset({"i"})
    """The position variables at which vectors may be read."""
    elsewhere: str = "j exists only in attention, psum, count_j and mean_j"
    """Reason, for messages, why vectors may not be read at the other position variable."""
    sorts: dict[Raw, _KnownSort] = field(default_factory=dict)
    """Known sorts of trees: finding one may take a walk over the operands."""

    def __post_init__(self) -> None:
        self.symbols = frozenset(self.alphabet) | ({ast.BLANK} if self.padded else frozenset())

    def symbol(self, symbol: str, span: Span) -> str:
        """Return the symbol itself. Raises SourceError unless it is in the alphabet or is the blank of a program
        with padding."""
        if symbol in self.symbols:
            return symbol
        expected = f"a symbol of the alphabet ({listed(self.alphabet)})"
        hint = did_you_mean(symbol, self.alphabet, quoted)
        if symbol == ast.BLANK:
            hint = "# is the blank of programs with a pad: line"
        raise self.error(span, f"{brief(symbol)} is not a symbol of the alphabet", expected, hint)

    def unknown(self, word: str, span: Span, called: bool) -> SourceError:
        """Return the error for a word that is no vector here (and, if it has arguments, no relation)."""
        if word == self.current:
            hint = "a vector is computed from the word and from earlier vectors"
            return self.error(span, f"{word} is defined by itself", "an earlier vector", hint)
        if word in self.later:
            message = f"{word} is defined later (line {self.line_of(self.later[word])})"
            return self.error(span, message, "an earlier vector", f"move the definition of {word} up, before this line")
        names = [*self.vectors, *sorted(PROGRAM_VECTORS)]
        expected = f"a vector ({listed(names)})"
        if self.relations and called:
            expected += f" or a relation ({listed(self.relations)})"
        return self.error(span, f"unknown vector {brief(word)}", expected, self._hint(word))

    def _hint(self, word: str) -> str:
        if word in self.symbols:
            return f"the symbol {word} is written {quoted(word)}, and Q_{word}(i) is true where it is at i"
        if f"{word}_?" in self.vectors:
            return f"did you mean {word}_??"
        others = (*PROGRAM_VECTORS, "leftmost", "rightmost", "psum", "count_j", "mean_j", "true", "false")
        return name_hint(word, (*self.vectors, *self.relations, *others))

    # ---- sorts and expressions: every method raises SourceError ----

    def _text(self, raw: Raw) -> str:
        return self.excerpt(raw.whole)

    def sort(self, raw: Raw) -> _KnownSort:
        """Return the sort of a tree, or None if it is still open. Raises SourceError for vectors that do not exist."""
        if raw not in self.sorts:
            self.sorts[raw] = self._sort(raw)
        return self.sorts[raw]

    def _sort(self, raw: Raw) -> _KnownSort:
        match raw.kind:
            case "number":
                return None if raw.text in ("0", "1") else Sort.INT
            case "quoted":
                return Sort.SYMBOL
            case "fraction":
                return Sort.RATIONAL
            case "sum" | "product" | "sign":
                return Sort.INT
            case "word":
                return self._word(raw).sort
            case "conditional":
                return self.sort(raw.args[1]) or self.sort(raw.args[2])
            case _:
                return Sort.BOOL

    def joined(self, left: Raw, right: Raw, at: Span, what: str) -> Sort:
        """Return the common sort of two trees; Boolean if both are open. Raises SourceError at `at` if they have
        different sorts; `what` names the two in the message."""
        first, second = self.sort(left), self.sort(right)
        if first is None or second is None or first is second:
            return first or second or Sort.BOOL
        shown = f"{self._text(left)} is {_WITH_ARTICLE[first]} and {self._text(right)} is {_WITH_ARTICLE[second]}"
        hint = ""
        for raw, sort in ((left, first), (right, second)):
            if sort is Sort.BOOL and Sort.SYMBOL not in (first, second):
                hint = f"to use a Boolean as a number, write ({self._text(raw)} ? 1 : 0)"
            hint = symbol_hint(self._text(raw), self.symbols) or hint
        raise self.error(at, f"{what} differ in sort: {shown}", "two expressions of one sort", hint)

    def of(self, raw: Raw, expected: Sort) -> ast.Expression:
        """Return the expression for a tree that must have a given sort. Raises SourceError if it has another one."""
        found = self.sort(raw)
        # a mean is never an operand: `_rational` handles comparisons with means
        if found is not None and (found is not expected or found is Sort.RATIONAL):
            raise self._wrong(raw, found, expected)
        match raw.kind:
            case "number" if expected is Sort.SYMBOL:
                hint = symbol_hint(raw.text, self.symbols)
                raise self.error(raw.at, f"{raw.text} is a number, and a symbol is needed here", "a symbol", hint)
            case "number":
                value = self.integer(raw.text, raw.at)
                return ast.Integer(value, span=raw.at) if expected is Sort.INT else ast.Truth(value == 1, span=raw.at)
            case "quoted":
                return ast.SymbolLiteral(self.symbol(raw.text, raw.at), span=raw.at)
            case "truth":
                return ast.Truth(raw.text == "true", span=raw.at)
            case "word":
                return self._word(raw)
            case "symbol":
                return ast.HasSymbol(self.symbol(raw.text, raw.at), self._index(raw), span=raw.at)
            case "conditional":
                test, then, otherwise = raw.args
                condition = self.of(test, Sort.BOOL)
                self.joined(then, otherwise, raw.at, "the branches of a conditional")
                return ast.Conditional(condition, self.of(then, expected), self.of(otherwise, expected), span=raw.at)
            case "sum" | "product" | "sign":
                return self._arithmetic(raw)
            case "compare":
                return self._comparison(raw)
            case "member":
                return self._member(raw)
            case _:
                return logical(raw, tuple([self.of(arg, Sort.BOOL) for arg in raw.args]))

    def _wrong(self, raw: Raw, found: Sort, expected: Sort) -> SourceError:
        if found is Sort.RATIONAL:
            what = "a fraction" if raw.kind == "fraction" else "a mean"
            message = f"{self._text(raw)} is {what}, which can only be compared"
            return self.error(raw.whole, message, "a comparison with a mean", "as in Y(i) := m(i) >= 1/2")
        hint = ""
        if expected is Sort.BOOL:
            hint = "compare it, as in ... > 0" if found is Sort.INT else "compare it, as in ... = 'a'"
        elif found is Sort.BOOL:
            hint = "a Boolean counts as 0 or 1 in + - * and psum; elsewhere write (... ? 1 : 0)"
        if expected is Sort.SYMBOL:
            hint = "a symbol is in(i), a quoted symbol, or a vector of symbols"
        needed = _WITH_ARTICLE[expected]
        message = f"{self._text(raw)} is {_WITH_ARTICLE[found]}, and {needed} is needed here"
        return self.error(raw.whole, message, needed, hint)

    def _comparison(self, raw: Raw) -> ast.Expression:
        left, right = raw.args
        op = cast(ast.CompareOp, raw.text)
        if Sort.RATIONAL in (self.sort(left), self.sort(right)):
            sides = self._rational(left), self._rational(right)
            if not any(isinstance(side, ast.Ref) for side in sides):
                hint = "multiply both sides, or write true or false"
                raise self.error(raw.whole, "a comparison of two constants", "a mean on one side", hint)
            return ast.Compare(op, *sides, span=raw.at)
        if op in _FLIPPED:
            for arg in raw.args:
                found = self.sort(arg)
                if found in (Sort.BOOL, Sort.SYMBOL):
                    hint = "symbols and Booleans are compared by = and != only"
                    message = f"{op} compares integers, and {self._text(arg)} is {_WITH_ARTICLE[found]}"
                    raise self.error(arg.whole, message, "an integer", hint)
            sort = Sort.INT
        else:
            sort = self.joined(left, right, raw.at, f"the two sides of {op}")
        return ast.Compare(op, self.of(left, sort), self.of(right, sort), span=raw.at)

    def _rational(self, raw: Raw) -> ast.Expression:
        """Return one side of a comparison of means: a mean, or a constant."""
        if raw.kind == "word" and self.sort(raw) is Sort.RATIONAL:
            return self._word(raw)
        constant = self.rational_constant(raw)
        if constant is None:
            message = f"a mean is compared with a constant or a mean, not with {self._text(raw)}"
            hint = ""
            if self.sort(raw) is Sort.INT:
                self.of(raw, Sort.INT)  # raises a better error if there is a mean inside
                hint = "write an integer v(i) as a mean, mean_j[1, pos(j) = pos(i)] v(j) : 0, in its own statement"
            raise self.error(raw.whole, message, "an integer, a fraction such as 1/2, or a mean", hint)
        return constant

    def rational_constant(self, raw: Raw) -> ast.RationalConstant | None:
        """Return the constant for a tree that is an integer or fraction, perhaps with signs; None for any other
        tree."""
        sign, number = 1, raw
        while number.kind == "sign":
            sign, number = -sign if number.text == "-" else sign, number.args[0]
        if number.kind not in ("number", "fraction"):
            return None
        over, _, under = number.text.partition("/")
        below = self.integer(under.strip() or "1", number.at)
        if below == 0:
            raise self.error(number.at, "a fraction with denominator 0", "a positive denominator")
        value = Fraction(sign * self.integer(over.strip(), number.at), below)
        return ast.RationalConstant(value, span=raw.at)

    def _member(self, raw: Raw) -> ast.Expression:
        element, *members = raw.args
        symbols: list[str] = []
        for member in members:
            if member.kind != "quoted":
                hint = f"the symbol {member.text} is written '{member.text}'" if not member.args else ""
                raise self.error(member.whole, f"{self._text(member)} is not a quoted symbol", "a quoted symbol", hint)
            symbol = self.symbol(member.text, member.at)
            if symbol in symbols:
                raise self.error(member.at, f"'{symbol}' is in the set twice", "each symbol once")
            symbols.append(symbol)
        return ast.Member(self.of(element, Sort.SYMBOL), tuple(symbols), span=raw.at)

    def number(self, raw: Raw) -> ast.Expression:
        """Return the integer expression for an operand of arithmetic or psum, where a Boolean counts as 0 or 1."""
        if self.sort(raw) is Sort.BOOL:
            return ast.AsInteger(self.of(raw, Sort.BOOL), span=raw.at)
        return self.of(raw, Sort.INT)

    def _arithmetic(self, raw: Raw) -> ast.Expression:
        for mean in (arg for arg in raw.args if arg.kind == "word" and self.sort(arg) is Sort.RATIONAL):
            message = f"{self._text(mean)} is a mean, which can only be compared"
            hint = "compute inside the mean, as in mean_j[mask, score] 2 * x(j) + y(j) : default"
            raise self.error(mean.whole, message, "a comparison with a mean", hint)
        if raw.kind == "sum":
            left, right = (self.number(arg) for arg in raw.args)
            return ast.Sum(cast(ast.SumOp, raw.text), left, right, span=raw.at)
        if raw.kind == "sign":
            arg = self.number(raw.args[0])
            if raw.text == "+":
                return arg
            # `-1` becomes a literal, so that printing it gives `-1` again
            if isinstance(arg, ast.Integer):
                return ast.Integer(-arg.value, span=raw.at)
            return ast.Scale(-1, arg, span=raw.at)
        # either side may be the constant
        for constant, other in (raw.args, reversed(raw.args)):
            factor = constant_of(self, constant, {})
            if factor is not None:
                if abs(factor) > MAX_INTEGER:
                    raise self.error(raw.at, "a factor larger than 10^18", "a smaller integer")
                return ast.Scale(factor, self.number(other), span=raw.at)
        raise self.error(raw.at, f"a product of two vectors: {self._text(raw)}", "an integer constant on one side")

    def _word(self, raw: Raw) -> ast.Expression:
        word = raw.text
        if word in ("i", "j"):
            hint = f"the number of the position is pos({word})"
            if "j" in self.indices and "i" in self.indices:
                hint += "; a condition such as j<i is a mask, and belongs before the comma"
            raise self.error(raw.at, f"{word} is a position, not a vector", "a vector, as in pos(i)", hint)
        if word in self.relations:
            return self._related(raw, self.relations[word])
        if word in _BUILT_IN:
            return _BUILT_IN[word](self._index(raw), span=raw.at)
        if word not in self.vectors:
            raise self.unknown(word, raw.at, raw.called)
        return ast.Ref(word, self._index(raw), self.vectors[word], span=raw.at)

    def _related(self, raw: Raw, relation: ast.Relation) -> ast.Expression:
        if len(raw.args) != relation.arity:
            needed = f"{relation.arity} symbol{'' if relation.arity == 1 else 's'}"
            form = f"{relation.name}({', '.join(f'x{k + 1}(i)' for k in range(relation.arity))})"
            raise self.error(raw.whole, f"{relation.name} takes {needed} as arguments, not {len(raw.args)}", form)
        args = tuple([self.of(arg, Sort.SYMBOL) for arg in raw.args])
        return ast.Related(relation.name, args, span=raw.at)

    def _index(self, raw: Raw) -> ast.Index:
        """Return the position variable at which a vector is read: its argument, or i if it has none."""
        name = f"Q_{raw.text}" if raw.kind == "symbol" else raw.text
        index = raw.args[0].text if raw.called and raw.args[0].kind == "word" and not raw.args[0].called else ""
        if raw.called and len(raw.args) != 1:
            message = f"{name} is a vector: it takes one argument, not {len(raw.args)}"
            raise self.error(raw.whole, message, f"one argument, as in {name}(i)")
        if raw.called and index not in ("i", "j"):
            hint = "to read another position use attention: its score selects the position, its value is read there"
            message = f"a vector is read at i or j, not at {self._text(raw.args[0])}"
            raise self.error(raw.args[0].whole, message, "i or j", hint)
        found = cast(ast.Index, index or "i")
        if found not in self.indices:
            hint = f"an argument left out means (i): write {name}(j)" if not raw.called else ""
            place = raw.args[0].whole if raw.called else raw.at
            expected = " or ".join(sorted(self.indices))
            raise self.error(place, f"{found} has no meaning here: {self.elsewhere}", expected, hint)
        return found


def read_right_hand_side(scope: ProgramScope, tokens: Sequence[Lexeme], region: Span) -> ast.RightHandSide:
    """Return the right-hand side that the tokens of a region form. Raises SourceError for any mistake in it."""
    raw = tree_of_tokens(
        "srasp.lark",
        scope,
        tokens,
        lambda index: _mistake(scope, tokens, index, region),
        scope.symbols,
        LINE_LEVELS,
    )
    if raw.kind == "attention":
        return _attention(scope, raw)
    if raw.kind == "mean_j":
        return _mean(scope, raw)
    if raw.kind == "count_j":
        mask_raw, score_raw = raw.args
        score = replace(scope, indices=frozenset({"i", "j"})).of(score_raw, Sort.BOOL)
        return ast.MatchCount(_mask(scope, mask_raw), score, span=raw.at)
    if raw.kind == "psum":
        mask_raw, value_raw = raw.args
        if _mask(scope, mask_raw) != "j<=i":
            hint = "for j<i subtract the value at i afterwards; totals from the right are the total minus this"
            message = f"psum adds up j<=i only, not {scope.excerpt(mask_raw.whole)}"
            raise scope.error(mask_raw.whole, message, "j<=i", hint)
        value = replace(scope, indices=frozenset({"j"}), elsewhere="psum adds up vectors at j").number(value_raw)
        return ast.PrefixSum(value, span=raw.at)
    return ast.PositionWise(scope.of(raw, scope.sort(raw) or Sort.BOOL))


def _attention(scope: ProgramScope, raw: Raw) -> ast.Attention:
    mask_raw, score_raw, value_raw, default_raw = raw.args
    mask = _mask(scope, mask_raw)
    inner = replace(scope, indices=frozenset({"i", "j"}))
    score = inner.of(score_raw, Sort.BOOL)
    outer = replace(scope, elsewhere="the default is for positions i that have no j")
    value_sort, default_sort = inner.sort(value_raw), outer.sort(default_raw)
    # literals 0 and 1 take the sort of the other branch
    sort = value_sort or default_sort or Sort.BOOL
    value = inner.of(value_raw, sort)
    if default_sort is not None and default_sort is not sort:
        message = f"the value is {_WITH_ARTICLE[sort]} and the default {_WITH_ARTICLE[default_sort]}"
        hint = "" if Sort.SYMBOL in (sort, default_sort) else "to use a Boolean as a number, write (... ? 1 : 0)"
        raise scope.error(default_raw.whole, message, _WITH_ARTICLE[sort], hint)
    side = cast(ast.Side, raw.text)
    return ast.Attention(side, mask, score, value, outer.of(default_raw, sort), span=raw.at)


def _mean(scope: ProgramScope, raw: Raw) -> ast.MatchMean:
    mask_raw, *score_raw, value_raw = raw.args[:-1] if len(raw.args) > 2 else raw.args
    mask = _mask(scope, mask_raw)
    if mask in ("j<i", "j>i") and not score_raw:
        shown = scope.excerpt(mask_raw.whole)
        message = f"at one end of the word, {shown} leaves no position to take the mean of"
        hint = f"j<=i and j>=i include i itself; with a default: mean_j[{shown}, 1] value : default"
        raise scope.error(mask_raw.whole, message, "1, j<=i or j>=i", hint)
    inner = replace(scope, indices=frozenset({"i", "j"}))
    score = inner.of(score_raw[0], Sort.BOOL) if score_raw else ast.Truth(True)
    of_j = replace(scope, indices=frozenset({"j"}), elsewhere="mean_j takes the mean of vectors at j")
    value = of_j.number(value_raw)
    outer = replace(scope, elsewhere="the default is for positions i that have no j")
    default: ast.Expression = ast.RationalConstant(Fraction(0))
    if score_raw and raw.args[-1].kind == "compare":
        message = f"{scope.excerpt(raw.args[-1].whole)} is a comparison, and the default of a mean is a number"
        hint = "compare the mean in a statement after this one, as in Y(i) := m(i) >= 1/2"
        raise scope.error(raw.args[-1].whole, message, "an integer or a fraction", hint)
    if score_raw:
        default = outer.rational_constant(raw.args[-1]) or outer.number(raw.args[-1])
    return ast.MatchMean(mask, score, value, default, span=raw.at)


def _mask(scope: ProgramScope, raw: Raw) -> ast.Mask:
    if raw.kind == "number" and raw.text == "1":
        return "1"
    sides = [arg.text for arg in raw.args if arg.kind == "word" and not arg.called]
    if raw.kind == "compare" and sorted(sides) == ["i", "j"] and raw.text in _FLIPPED:
        return cast(ast.Mask, f"j{raw.text if sides[0] == 'j' else _FLIPPED[raw.text]}i")
    message = f"{scope.excerpt(raw.whole)} is not a mask"
    hint = "other conditions on j belong to the score, after the comma"
    raise scope.error(raw.whole, message, "1, j<i, j<=i, j>i or j>=i", hint)


def _mistake(scope: ProgramScope, tokens: Sequence[Lexeme], index: int, region: Span) -> SourceError:
    """Return the error for a token, given by index, that does not fit after the tokens before it; the number of tokens
    stands for the end."""
    before = tokens[index - 1] if index > 0 else None
    last = scope.written(before.span) if before else ""
    ends = before is not None and before.kind in _ENDS_OPERAND
    # attention and the like only begin a right-hand side
    form = _FORM[tokens[0].kind].format(tokens[0].value) if tokens and tokens[0].kind in _FORM else ""
    opened = [""]
    for token in tokens[:index]:
        if token.kind in CLOSING:
            opened.append(token.kind)
        elif token.kind in ("RPAR", "RSQB", "RBRACE"):
            opened.pop()
    inside = opened[-1]
    if index == len(tokens):
        end = before.span.end if before else region.start
        place, message = Span(end, end + 1), _missing_at_end(tokens, last, form)
    else:
        place, token = tokens[index].span, tokens[index]
        if before and token.kind in _FORM:
            what = "attention" if token.kind == "ATTENTION" else token.kind.lower()
            hint = "give it a statement of its own, and use that vector here"
            expected = "an operator" if ends else _OPERAND
            message = f"{what} is a whole right-hand side: it cannot be nested", expected, hint
        elif before and before.kind in _FORM:
            message = f"missing [ after {last}", form
        elif before and before.kind == "RSQB" and tokens[0].kind == "COUNT_J" and not inside:
            hint = "count_j[mask, score] counts positions; compute with the count in a statement after this one"
            message = "count_j[...] stands alone after :=, without a value", "the end of the statement", hint
        elif ends and token.value == "in" and token.kind == "WORD" and inside != "LBRACE":
            place, message = Span(place.end, place.end + 1), ("in must be followed by a set", "{ 'a', 'b' }")
        elif ends:
            message = _after_operand(scope, tokens, index, inside, form)
        else:
            message = _before_operand(before, token.kind, last, scope.written(place))
    return scope.error(place, *message)


def _missing_at_end(tokens: Sequence[Lexeme], last: str, form: str) -> tuple[str, ...]:
    """Return message, expected text and hint for tokens that end too early; `last` is the text of the last token,
    `form` the full form of the statement's attention or psum."""
    if not tokens:
        return "nothing follows :=", f"attention, psum, count_j, mean_j or {_OPERAND}"
    kinds = [token.kind for token in tokens]
    lacking = kinds.count("CONDITIONAL") - kinds.count("COLON")  # negative: the `:` of a default is there too
    if kinds[-1] in _FORM:
        return f"missing [ after {last}", form
    if kinds[-1] not in _ENDS_OPERAND:
        default = kinds[-1] == "COLON" and lacking < 0
        what = "value" if kinds[-1] == "RSQB" else "default" if default else "operand"
        return f"missing {what} after {last}", _OPERAND
    if lacking > 0:
        return "a conditional without an alternative", ": and a value", "P(i) ? a : b"
    what = "attention" if kinds[0] == "ATTENTION" else "mean_j with a score, and"
    return f"{what} without a default", ": and a default", "the default is the value where no j fits"


def _after_operand(
    scope: ProgramScope, tokens: Sequence[Lexeme], index: int, inside: str, form: str
) -> tuple[str, ...]:
    token, end = tokens[index], "an operator or the end"
    shown = scope.written(token.span)
    first = tokens[0].kind
    what = "attention" if first == "ATTENTION" else first.lower()
    scored = any(before.kind == "COMMA" for before in tokens[:index])
    match token.kind:
        case "COMMA" if inside == "LSQB" and first == "PSUM":
            return f"{what} has a mask and no score", "]", form
        case "RSQB" if inside == "LSQB":
            return _one_bracketed(scope, tokens[2:index], what)
        case "COMMA" if inside == "LSQB":
            return f"{what} has one mask and one score", "]", "join conditions with &"
        case kind if inside == "LBRACE" and kind in _STARTS_OPERAND:
            return f"missing comma before {shown}", ", or }", "as in { 'a', 'b' }"
        case "COLON" if first == "MEAN_J" and not scored:
            return _unscored(scope, tokens, form)
        case "COLON":
            message = "this : belongs to neither a conditional nor attention"
            if form and first not in ("ATTENTION", "MEAN_J"):
                message = f"{what} has no default"
            return message, end, form or "P(i) ? a : b"
        case "COMMA":
            return "a comma is allowed only between arguments, or between mask and score", "an operator"
        case "LSQB":
            return f"{shown} has no meaning here", end, _bracketed(tokens[index - 1].value)
        case "LBRACE":
            return f"{shown} has no meaning here", end, "membership is written in(i) in { 'a', 'b' }"
        case "MEMBER":
            return "in cannot be chained", "an operator other than a comparison"
        case "LPAR" if tokens[index - 1].kind in ("QUOTED", "NUMBER", "FRACTION", "TRUTH"):
            return f"{scope.written(tokens[index - 1].span)} takes no argument", end
    if inside == "LSQB" and not scored and first in ("ATTENTION", "MEAN_J", "COUNT_J"):
        return f"missing comma before {shown}", ", and a score", form
    text, start = scope.source.text, token.span.start
    begins_line = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    hint = "indent only lines that continue the statement above" if begins_line else ""
    return f"missing operator before {shown}", "an operator or the end of the statement", hint


def _unscored(scope: ProgramScope, tokens: Sequence[Lexeme], form: str) -> tuple[str, ...]:
    """Return message, expected text and hint for a default of a mean whose brackets have no comma: the mask is missing,
    or the score."""
    inner = tokens[2 : next(place for place, token in enumerate(tokens) if token.kind == "RSQB")]
    if _is_mask(inner):
        return "mean_j without a score has no default", "an operator or the end", form
    score = scope.excerpt(Span(inner[0].span.start, inner[-1].span.end))
    return f"{score} is a score, and mean_j has no mask here", "a mask and a comma", f"as in mean_j[1, {score}]"


def _one_bracketed(scope: ProgramScope, inner: Sequence[Lexeme], what: str) -> tuple[str, ...]:
    """Return message, expected text and hint for attention whose brackets have no comma: the mask is missing, or the
    score."""
    if not inner or _is_mask(inner):
        return f"{what} without a score", ", and a score", "a score that is always true is written 1"
    score = scope.excerpt(Span(inner[0].span.start, inner[-1].span.end))
    hint = f"write [1, {score}] if every position counts"
    return f"{what} needs a mask and a score, and {score} is no mask", "MASK, SCORE", hint


def _is_mask(inner: Sequence[Lexeme]) -> bool:
    """Return True for the tokens of a mask: 1, or a comparison of i and j."""
    words = sorted(token.value for token in inner if token.kind == "WORD")
    return [token.value for token in inner] == ["1"] or (len(inner) == 3 and words == ["i", "j"])


def _bracketed(name: str) -> str:
    """Return a hint for a square bracket after a name that is no attention."""
    plain = name.lower().removesuffix("_i").removesuffix("_j")
    known = {"mean": "mean_j", "average": "mean_j", "avg": "mean_j", "count": "count_j", "sum": "psum_j"}
    if plain in known:
        return f"did you mean {known[plain]}?"
    return "square brackets follow only leftmost_j, rightmost_j, psum_j, count_j and mean_j"


def _before_operand(before: Lexeme | None, kind: str, last: str, shown: str) -> tuple[str, ...]:
    match kind:
        case "NOT" if before:
            return f"{shown} after {last} needs brackets", _OPERAND, f"write {last} ({shown}...)"
        case "RPAR" | "RSQB" | "RBRACE" if before:
            empty = before.kind == "LPAR"
            return "nothing between the brackets" if empty else f"missing operand after {last}", _OPERAND
        case "LSQB":
            return "[ is allowed only after leftmost, rightmost, psum, count_j and mean_j", _OPERAND
        case "LBRACE":
            return "a set is allowed only after in", _OPERAND, "as in in(i) in { 'a', 'b' }"
    hint = "the input is in(i): write in(i) in { 'a', 'b' }" if kind == "MEMBER" else ""
    return f"missing operand before {shown}", _OPERAND, hint
