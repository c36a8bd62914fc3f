"""Parsing `.cr` programs: lines `NAME = EXPR` (`:=` as in papers is allowed), `#import NAME`, comments after `//`; and,
as hardsim's own additions, header lines `key: value` and `pred NAME(i, j) = condition`.

A program is parsed to a formula file whose trees may contain `CountWhere`, `Extremum` and `Conditional`; its predicates
count positions from 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import ClassVar, Literal

from hardsim.errors import Source, SourceError, Span, did_you_mean
from hardsim.lang import ast, frontend
from hardsim.lang.arith import WORD_OPERATORS
from hardsim.lang.ast import FormulaFile, UserPredicate
from hardsim.lang.deep import Walk, each
from hardsim.lang.files import HEADER, REGEX_KEYS, FileLine, Layout
from hardsim.lang.lexer import Lexeme, Scanner
from hardsim.lang.ltl_parser import (
    Definition,
    Scope,
    misfit_error,
)
from hardsim.lang.predicate import OwnPredicate, compile_predicate
from hardsim.lang.trees import Raw, levels
from hardsim.lang.valuations import GivenNames
from hardsim.lang.vocabulary import COMMON, NAME, Spellings, name_hint, spelled, words_of
from hardsim.lang.words import check_alphabet
from hardsim.lazy_dataclass import dataclass

_ENDS_OPERAND = frozenset({"WORD", "NUMBER", "QUOTED", "CONSTANT", "RPAR"})
"""Kinds of tokens that end an operand."""
MAX_PIECES = 200
"""Greatest number of words and runs of signs in the condition of a `pred` line, so that functions on its tree may be
recursive."""
PUBLIC: Mapping[str, UserPredicate] = {
    "pred": UserPredicate("pred", ("i", "j"), "j == i - 1"),
    "pred4": UserPredicate("pred4", ("i", "j"), "j == i - 4"),
    "pos_even": UserPredicate("pos_even", ("i",), "i mod 2 == 0"),
}
"""The predicates that `#import` can import."""

_ELSEWHERE = {"and": "&&", "or": "||", "not": "!", "true": "true", "false": "false"}
_PIECES = re.compile(r"\w+|[^\w\s]+")
_QUOTED = re.compile(r'"([^"\s]+(?:[ ]+[^"\s]+)*)"')
_COUNT = re.compile(r"#(?:\s*\[\s*(\w+)\s*\])?")
_IMPORT = re.compile(r"#\s*import\s+(?P<name>\w+)\s*(?://.*)?$")
_PREDICATE = re.compile(r"pred\s+(?P<name>\w+)\s*\((?P<params>[^()]*)\)\s*=(?!=)\s*(?P<body>.*?)\s*(?://.*)?$")
_OF_PAPERS = re.compile(r"\w+\s*\(\s*\w+\s*\)\s*:?=")
_NO_COMMENT = re.compile(r"#\s*import\b|#\s*[\"'(\[]|#\S.*[<>=]")
"""The beginning of an import, or of a count: of something in quotes or brackets, or of a name, with a comparison."""
_NUMBERED = re.compile(r"\(?\d+[.):]?\s+\S|(let|def|return)\s+\w")
_SIGNED = re.compile(r"[^\W\d][^\s:=]*(?=\s*:=)")
_LINE = re.compile(r'(?P<name>\w+)\s*:?=(?!=)\s*(?P<body>(?:"[^"\s]+(?:[ ]+[^"\s]+)*"|(?!//).)*)')


class CountWhere(ast.IntegerNode):
    """`#[predicate] arg`: the number of positions j <= i where the predicate holds for (i, j), both counted from 0,
    and `arg` is true at j."""

    predicate: str
    arg: ast.Node


class Extremum(ast.IntegerNode):
    """`min(left, right)` or `max(left, right)`."""

    op: Literal["min", "max"]
    left: ast.Term
    right: ast.Term


def parse_crasp(text: str | bytes, name: str = "<text>", alphabet: GivenNames = None) -> FormulaFile:
    """Parse a C-RASP program. The result's formula is the last Boolean of the program. `alphabet` gives all symbols; by
    default they are those of the `alphabet:` line, else those that occur. Raises SourceError with the place of the
    first mistake (`name` is the file name in errors), and InputError for a bad alphabet."""
    layout = CraspLayout(frontend.source_of(text, name, "lines NAME = EXPR", 'a small program: L = #"a" == #"b"'))
    tokens = [crasp_tokens(layout.source, line.body) for line in layout.lines]
    symbols = _symbols(layout, tokens, alphabet)
    # An alphabet that was taken from the program may lack symbols that its words have.
    lone = frontend.lone_symbol_notes(symbols) if alphabet is None and layout.header("alphabet") is None else ()
    scope = _Scope(layout.source, symbols, predicates=layout.predicates, later=layout.places)
    lets, notes = list[ast.Let](), dict[str, None]()
    for line, its_tokens in zip(layout.lines, tokens, strict=True):
        raw = _tree(scope, its_tokens, line.body, notes)
        count = scope.is_count(raw)
        lets.append(ast.Let(line.name, scope.term(raw) if count else scope.formula(raw), span=line.at))
        scope.lets[line.name] = Definition(count, 0, scope.constant_of(raw) if count else None)
    # The definitions are dropped that the answer does not use; a mistake in one was reported above.
    answer = next((let.body for let in reversed(lets) if not scope.lets[let.name].is_term), None)
    if answer is None:
        raise layout.error(layout.end, "no line is a Boolean; the last Boolean is the answer", "as in L = C > 0")
    needed = {node.name for node in ast.walk(answer, lets=lets) if isinstance(node, ast.Ref)}
    used, own = tuple(let for let in lets if let.name in needed), tuple(layout.predicates.values())
    return FormulaFile(
        alphabet=symbols,
        formula=answer,
        lets=used,
        predicates=own,
        origin=layout.value("source"),
        title=layout.title,
        examples=frontend.examples_of(layout, symbols),
        notes=(*lone, *notes),
        source=layout.source,
        placed=True,
    )


def _symbols(layout: CraspLayout, tokens: Sequence[Sequence[Lexeme]], alphabet: GivenNames) -> tuple[str, ...]:
    """Return the alphabet: the symbols of the header, or the given ones, or those that occur in the program."""
    declared = frontend.declared_alphabet(layout, alphabet, None)
    if declared is not None:
        return tuple(declared)
    if alphabet is not None:
        return check_alphabet(alphabet)
    occurring = tuple(dict.fromkeys(token.value for each in tokens for token in each if token.kind == "QUOTED"))
    if not occurring:
        hint = 'write a symbol as "a", or add a line alphabet: a b'
        raise layout.error(layout.end, "the program mentions no symbol", "a symbol, or an alphabet: line", hint)
    return occurring


def conditions(program: FormulaFile) -> dict[str, OwnPredicate]:
    """Return the predicates of a program by name, as functions of i and j; a predicate of i alone takes the length as
    its second argument."""
    return {
        one.name: compile_predicate(program.source, replace(one, params=(*one.params, _other(one.params[0]))[:2]))
        for one in program.predicates
    }


def _other(name: str) -> str:
    return "n" if name != "n" else "length"


SPELLINGS: Spellings = {
    **{sign: COMMON[sign] for sign in ("&&", "||", "==", "!=", "<=", ">=", "<", ">", *"+-*()")},
    **spelled("UNARY", "!"),
    **spelled("CONDITIONAL", "if"),
    **spelled("COLON", "else"),
    **spelled("CONSTANT", "true", "false"),
    **spelled("EXTREME", "min", "max"),
    ",": COMMON[","],
}


class _Scanner(Scanner):
    spellings = SPELLINGS
    look_alikes: ClassVar = {
        "=": "equality is written ==, and each definition has a line of its own",
        **dict.fromkeys("&|", "and is written &&, or is written ||"),
        '"': 'a symbol has two quotes and no blanks, as in "a"',
        **dict.fromkeys("/%", "there is no division, and a remainder (mod) only in pred lines"),
        ";": "a line has no mark at its end",
        "?": "a choice is written A if X else B for counts, (X && A) || (!X && B) for Booleans",
        **dict.fromkeys("←⃖", "# alone counts the positions up to this one"),
        "∧": "and is written &&",
        "∨": "or is written ||",
        **dict.fromkeys("¬~", "not is written !"),
        **dict.fromkeys("→⇒", "implication is written !A || B"),
        "≤": "at most is written <=",
        "≥": "at least is written >=",
        "≠": "unequal is written !=",
        "[": "square brackets are allowed only after #, around the name of a predicate; #[j <= i] in papers is # alone",
    }

    def special(self) -> bool:
        if symbol := self.match(_QUOTED):
            self.add("QUOTED", symbol[1], symbol.end())
        elif count := self.match(_COUNT):
            self.add("PSUM", count[1] or "", count.end())
        else:
            self.require_closed()
        return bool(symbol or count)

    def quoted_symbol(self, kind: str, start: int) -> None:
        """Raise SourceError: symbols need double quotes here."""
        raise self.error(Span(start, start + 1), "unknown operator '", "an operand", 'a symbol is written "a"')

    def check_word(self, word: str, end: int) -> None:
        """Accept any word: the parser checks names later."""


def crasp_tokens(source: Source, region: Span) -> list[Lexeme]:
    """Return the tokens of a right-hand side. Raises SourceError for a character that starts no token."""
    return _Scanner(source, region, ()).run()


@dataclass
class CraspLayout(Layout):
    """The parts of a C-RASP program: `lines` are the definitions of Booleans and counts, `predicates` the imported
    and defined predicates by name, `places` the place of each defined name, `imports` those of the imported names.
    Raises SourceError for a line of any other form, unknown or repeated keys, malformed names, a name that is
    defined twice, and an import of an unknown predicate."""

    keys = ("alphabet", "source", "accept", "reject")
    hints: ClassVar = {"at": "a C-RASP program is read at the last position", **REGEX_KEYS}
    lines: list[FileLine] = field(default_factory=list)
    predicates: dict[str, UserPredicate] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)
    imports: list[Span] = field(default_factory=list)

    def _line(self, line: Span, text: str, indented: bool) -> None:
        start = line.end - len(text)
        header = HEADER.match(text)
        if header and not header["value"].startswith("="):
            if self.places:
                expected, hint = "NAME = EXPR", "move the line above the first definition"
                raise self.error(Span(start, start + header.end("key")), "header lines must come first", expected, hint)
            self._add_header(start, header)
        else:
            self._take(Span(start, line.end))

    def _require_readable(self, line: Span, text: str) -> None:
        if not _NO_COMMENT.match(text):
            super()._require_readable(line, text)

    def _finish(self) -> None:
        """Raise SourceError if an imported predicate is unknown."""
        for span in self.imports:
            name = self.written(span)
            if name not in self.predicates:
                hint = did_you_mean(name, PUBLIC) or f"define it in a line of its own: pred {name}(i, j) = ..."
                raise self.error(span, f"{name} cannot be imported: there is no such predicate", " ".join(PUBLIC), hint)

    def _take(self, span: Span) -> None:
        place = self.source.text, span.start, span.end
        match = _IMPORT.match(*place) or _PREDICATE.match(*place) or _LINE.match(*place)
        if match is None:
            text = self.written(span)
            expected = "NAME = EXPR, #import NAME, pred NAME(i, j) = ... or a header line"
            hint = "each definition is one line" if self.lines else ""
            if _NUMBERED.match(text):
                hint = "remove the line number or the word before the name"
            elif signed := _SIGNED.match(text):
                hint = f"{signed[0]} is not a name: a name is a letter, then letters, digits and underscores"
            if text[0] in "#\"'":
                hint = "an expression needs a name before it, as in NAME = EXPR"
            if _OF_PAPERS.match(text):
                hint = 'write names without (i); Q_a(i) in papers is written "a"'
            raise self.error(span, "this line is not a definition", expected, hint)
        name, at = match["name"], Span(*match.span("name"))
        if name in words_of(SPELLINGS) or not NAME.fullmatch(name):
            reserved = "choose another name: this word is reserved" if name in words_of(SPELLINGS) else ""
            raise self.error(at, f"{name} is not a name", "a letter, then letters, digits and underscores", reserved)
        if match.re is _IMPORT:
            self.imports.append(at)
            if name in PUBLIC and name not in self.places:
                self.predicates[name] = PUBLIC[name]
            return
        if before := self.places.get(name):
            raise self.error(at, f"{name} is defined twice", "a new name", f"see line {self.line_of(before)}")
        self.places[name], body = at, Span(*match.span("body"))
        self.predicates.pop(name, None)  # a definition replaces an import of the same name
        if match.re is _LINE:
            self.lines.append(FileLine(name, at, body))
            return
        params = tuple(part.strip() for part in match["params"].split(","))
        # counts the valid, distinct names; fewer than the parameters means that one is bad
        if not len({*filter(NAME.fullmatch, params)} - WORD_OPERATORS) == len(params) < 3:
            message = "a predicate has one argument, i, or two, i and j <= i"
            raise self.error(Span(*match.span("params")), message, "different names, as in pred NAME(i, j) = ...")
        self.predicates[name] = UserPredicate(name, params, match["body"], span=body)
        compile_predicate(self.source, self.predicates[name])  # only to raise its errors
        if len(_PIECES.findall(match["body"])) > MAX_PIECES:
            raise self.error(
                body, f"a condition of more than {MAX_PIECES} words and signs", hint="Write a shorter one."
            )


def _tree(scope: Scope, tokens: list[Lexeme], body: Span, notes: dict[str, None]) -> Raw:
    """Return the tree of a right-hand side; add to `notes` a remark on each `!` that the public interpreter groups
    differently."""
    root = frontend.tree_of_tokens(
        "crasp.lark", scope, tokens, lambda index: _misfit(scope, tokens, index, body), most=frontend.LINE_LEVELS
    )
    following = {before.span.end: token for before, token in pairwise(tokens)}
    # The public interpreter reads `!a && b` as `!(a && b)`, and `!a || b` likewise.
    for raw, _ in levels(root):
        after = following.get(raw.whole.end)
        if raw.kind == "unary" and raw.whole.start == raw.at.start and after and after.kind in ("AND", "OR"):
            part, sign = scope.excerpt(raw.whole), scope.written(after.span)
            note = f"line {scope.line_of(raw.at)}: {part} {sign} ... is read as ({part}) {sign} ...; the public "
            notes[f"{note}interpreter reads !({part[1:].strip()} {sign} ...): add brackets to choose"] = None
    return root


def _misfit(scope: Scope, tokens: Sequence[Lexeme], index: int, body: Span) -> SourceError:
    """Return the error for a token, given by index, that does not fit after the tokens before it: also for `if` without
    `else`, and for a wrong number of operands of `min` and `max`."""
    openings = [-1]  # the brackets around the token, outermost first
    for place, token in enumerate(tokens[:index]):
        if token.kind == "LPAR":
            openings.append(place)
        elif token.kind == "RPAR":
            openings.pop()
    depth, kinds = 0, list[str]()  # of the tokens directly in the innermost brackets
    for token in tokens[openings[-1] + 1 : index]:
        depth -= token.kind == "RPAR"
        kinds += [token.kind] * (depth == 0)
        depth += token.kind == "LPAR"
    kind = tokens[index].kind if index < len(tokens) else "END"
    end = (
        tokens[index].span if kind != "END" else Span(tokens[-1].span.end, tokens[-1].span.end + 1) if tokens else body
    )
    if kind not in ("RPAR", "COMMA", "END") or not kinds or kinds[-1] not in _ENDS_OPERAND:
        return misfit_error(scope, tokens, index, body, False)
    if kinds.count("CONDITIONAL") > kinds.count("COLON"):
        return scope.error(end, "a conditional without an alternative", "else and a value", "A if X else B")
    opening = openings[-1]
    name = scope.written(tokens[opening - 1].span) if opening > 0 and tokens[opening - 1].kind == "EXTREME" else ""
    if name and kind == "RPAR":
        return scope.error(end, f"{name} of one operand", ", and a second operand", f"{name}(A, B)")
    if name:
        return scope.error(end, f"{name} of more than two operands", ")", f"write {name}(A, {name}(B, C))")
    if kind == "COMMA":
        return scope.error(end, "a comma is allowed only between the operands of min and max", "an operator")
    return misfit_error(scope, tokens, index, body, False)


class _Scope(Scope):
    def symbol_of(self, word: str, span: Span) -> str | None:
        """Return None: a bare word is always a name, never a symbol."""

    def hint(self, word: str, operators: bool = True) -> str:
        """Return a hint for an unknown word: how to import it, its sign in this language, the name that it may be a
        misspelling of, or else how to quote it."""
        if word in PUBLIC:
            return f"import it: #import {word}"
        if word.lower() in _ELSEWHERE:
            return f"{word} is written {_ELSEWHERE[word.lower()]}"
        return name_hint(word, [*self.lets, *self.predicates]) or f'the symbol {word} is written "{word}"'

    def is_count(self, raw: Raw) -> bool:
        """Return True if a tree is a count, judging by its root: a number, arithmetic, `#`, a choice, `min` or
        `max`, or the name of a count."""
        if raw.kind == "word":
            return raw.text in self.lets and self.lets[raw.text].is_term
        return raw.kind in ("number", "sum", "sign", "product", "psum", "conditional", "extreme")

    def as_formula(self, raw: Raw) -> Walk[ast.Formula]:
        """Return the walk that turns a parsed tree into a Boolean expression."""
        if self.is_count(raw):
            raise self._needs_formula(raw)
        return super().as_formula(raw)

    def _atom(self, raw: Raw) -> ast.Formula | Walk[ast.Formula]:
        if raw.kind == "word" and raw.text in self.predicates:
            if len(self.predicates[raw.text].params) == 2:
                message, form = f"{raw.text} has two arguments", f"as in #[{raw.text}] true"
                raise self.error(raw.at, message, "a predicate of i", form)
            return ast.Predicate(raw.text, (), None, span=raw.at)
        return super()._atom(raw)

    def as_term(self, raw: Raw, hint: str = "") -> Walk[ast.Term]:
        """Return the walk that turns a parsed tree into a count."""
        name = raw.text
        match raw.kind:
            case "conditional":
                then, test, otherwise = raw.args
                parts = (yield self.as_formula(test)), (yield self.as_term(then)), (yield self.as_term(otherwise))
                return ast.Conditional(*parts, span=raw.at)
            case "extreme":
                left, right = yield each(map(self.as_term, raw.args))
                return Extremum("min" if name == "min" else "max", left, right, span=raw.at)
            case "psum" if not name:
                return ast.Count("L", (yield self.as_formula(raw.args[0])), span=raw.at)
            case "psum" if name not in self.predicates or len(self.predicates[name].params) == 1:
                message, expected = f"{name} is not a predicate of i and j", "#import NAME, or pred NAME(i, j) = ..."
                known = name in self.predicates or name not in PUBLIC
                raise self.error(raw.at, message, expected, "" if known else self.hint(name))
            case "psum":
                return CountWhere(name, (yield self.as_formula(raw.args[0])), span=raw.at)
        return super().as_term(raw, "as a count a Boolean is written 1 if X else 0")
