"""The canonical text of files, from their tokens: comments, line breaks and all that a tree does not have stay.

Normalised are the spellings of operators, blanks, brackets that are not needed, quotes of symbols, indentation, and
runs of blank lines; lines that are too long are folded. Two kinds of brackets that the grammar does not need stay,
because without them a reader would take the text for another: those around a comparison after a prefix operator, as in
`!(i = j)`, and those around a sum before `mod`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hardsim.errors import InputError, InvariantError, Source, Span
from hardsim.lang.ast import FormulaFile
from hardsim.lang.files import FileLine, FormulaLayout, Layout, ProgramLayout
from hardsim.lang.lexer import CLOSING, Lexeme, formula_tokens, program_tokens
from hardsim.lang.parse import parse_text
from hardsim.lang.srasp.parse import parse_program
from hardsim.lang.vocabulary import SYMBOL_PREFIX, WORD, is_bare, quoted
from hardsim.lang.words import has_long_symbols

WIDTH = 100
"""Columns of a line, beyond which formulas, right-hand sides and lines of examples are folded."""
_INDENT = 2
"""Columns that a continuation line is indented by, and as many more for each bracket that is open there."""

# How tightly operators bind, loosest first, by their terminals; `!` and temporal operators bind as _PREFIX, signs as
# _SIGNED. What is no operator (_OPERANDS) binds tightest; whatever is neither keeps its brackets.
_LOOSEST, _PREFIX, _COMPARE, _SUM, _SIGNED, _ATOM = 0, 6, 7, 9, 11, 12
_INFIX = {
    "CONDITIONAL": _LOOSEST,
    "COLON": _LOOSEST,
    "ARROW": 1,
    "OR": 2,
    "XOR": 3,
    "AND": 4,
    "BINARY": 5,
    "COMPARE": _COMPARE,
    "MEMBER": _COMPARE,
    "MODULO": 8,
    "SIGN": _SUM,
    "STAR": 10,
}
_PREFIXES = frozenset({"UNARY", "NOT"})
_FLAT, _LEFT, _RIGHT = ("OR", "XOR", "AND"), ("SIGN", "STAR"), ("ARROW", "BINARY")
"""Operators of which a chain is one node, and those that group to the left or to the right."""
_NAMES = frozenset({"WORD", "PREDICATE", "SYMBOL"})
_OPERANDS = _NAMES | {"NUMBER", "QUOTED", "CONSTANT", "TRUTH"}
_WHOLE = frozenset({"ATTENTION", "PSUM", "COUNT_J", "MEAN_J"})
"""What begins a right-hand side."""
_CLOSERS = frozenset({"RPAR", "RSQB", "RBRACE"})
_OPENERS = frozenset(CLOSING)
_STRONG = "X[!]"
"""The strong next stays as it is written: a bare X means another one in other dialects."""

_COMMENT = re.compile(r"(?<!\S)//[^\n]*")
_EVENT = re.compile(r"\n|//[^\n]*")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A token as it is printed, with how many brackets are open around it, and the comments and line ends before it.
    `infix` is how tightly it binds if a line may be folded before it."""

    text: str
    depth: int
    gap: tuple[str, ...]
    spaced: bool
    infix: int | None = None


@dataclass
class _Group:
    """Brackets that are open: what has been seen inside them, outside inner ones. `grouping` brackets may go."""

    opening: int
    grouping: bool
    level: int = _ATOM
    operators: set[str] = field(default_factory=set)
    """Those of the loosest level."""

    def meet(self, level: int, operators: set[str]) -> None:
        """Take in operators of a level."""
        if level < self.level:
            self.level, self.operators = level, set()
        if level == self.level:
            self.operators |= operators


# ---- brackets ----


_Binding: TypeAlias = tuple[int, bool] | None
"""How tightly an operator binds, and whether it stands between its operands; None for what is no operator."""


def _bindings(tokens: Sequence[Lexeme]) -> list[_Binding]:
    """Those of all tokens. A sign stands between operands if one ends before it."""
    found = list[_Binding]()
    opened = list[int]()
    ended = False
    for index, token in enumerate(tokens):
        sign = token.kind == "SIGN" and not ended
        infix = (_INFIX[token.kind], True) if token.kind in _INFIX else None
        found.append((_SIGNED, False) if sign else (_PREFIX, False) if token.kind in _PREFIXES else infix)
        ended = token.kind in _OPERANDS or token.kind in _CLOSERS
        if token.kind in _OPENERS:
            opened.append(index)
        elif token.kind in _CLOSERS:
            ended = not _is_form(tokens, opened.pop())
    return found


def _is_form(tokens: Sequence[Lexeme], opening: int) -> bool:
    """Whether a bracket has what stands before the value of attention or psum in it."""
    return opening > 0 and tokens[opening - 1].kind in _WHOLE


def _unneeded(tokens: Sequence[Lexeme], bindings: Sequence[_Binding]) -> set[int]:
    """The indices of the round brackets without which the tree is the same."""
    gone: set[int] = set()
    groups = [_Group(-1, False)]
    forms: set[int] = set()
    """The square brackets that end what is before the value of attention and psum."""
    for index, token in enumerate(tokens):
        before = tokens[index - 1].kind if index else ""
        if token.kind in _OPENERS:
            groups.append(_Group(index, token.kind == "LPAR" and before not in _NAMES))
        elif token.kind in _CLOSERS:
            group = groups.pop()
            if _is_form(tokens, group.opening):
                forms.add(index)
            if group.grouping and _can_go(tokens, bindings, group, index, forms):
                gone |= {group.opening, index}
                groups[-1].meet(group.level, group.operators)
        elif binding := bindings[index]:
            groups[-1].meet(binding[0], {token.value})
        elif token.kind not in _OPERANDS and token.kind != "COMMA":
            groups[-1].meet(-1, {token.value})
    return gone


def _can_go(
    tokens: Sequence[Lexeme], bindings: Sequence[_Binding], group: _Group, closing: int, forms: set[int]
) -> bool:
    """Whether a pair of brackets can, by what stands before and after it."""
    level, left, right = group.level, group.opening - 1, closing + 1
    after = bindings[right] if right < len(tokens) else None
    if level < 0 or (right < len(tokens) and after is None and tokens[right].kind not in {*_CLOSERS, "COMMA"}):
        return False
    if after is not None:
        kind, bound = tokens[right].kind, after[0]
        if level < bound or (level == bound and kind not in (*_FLAT, *_LEFT)):
            return False
        if kind == "MODULO" and level < _SIGNED:
            return False
    if left < 0 or tokens[left].kind in {*_OPENERS, "COMMA"}:
        return True
    if left in forms:
        return level > _LOOSEST
    before = bindings[left]
    if before is None:
        return False
    bound, infix = before
    kind = tokens[left].kind
    if not infix:
        return level >= bound and not (kind in _PREFIXES and level < _SUM and level > _PREFIX)
    if level != bound:
        return level > bound
    chained = kind in _RIGHT and group.operators == {tokens[left].value} and (after is None or after[0] != level)
    return kind in _FLAT or chained or (kind == "COLON" and after is None)


# ---- tokens ----


def _formula_spelling(token: Lexeme, written: str, symbols: Sequence[str]) -> str:
    """A token of a formula."""
    match token.kind:
        case "QUOTED":
            return token.value if is_bare(token.value) else quoted(token.value)
        case "WORD" if token.value.startswith(SYMBOL_PREFIX):
            symbol = token.value if token.value in symbols else token.value.removeprefix(SYMBOL_PREFIX)
            return symbol if is_bare(symbol) else quoted(symbol)
        case "COUNT":
            return f"#{token.value}["
        case "UNARY" if written.endswith("]") and token.value != "G":
            return _STRONG if token.value == "X" else written
    return token.value


def _program_spelling(token: Lexeme, written: str, symbols: Sequence[str]) -> str:
    """A token of a program."""
    match token.kind:
        case "QUOTED":
            return quoted(token.value)
        case "SYMBOL":
            return SYMBOL_PREFIX + (token.value if WORD.fullmatch(token.value) else quoted(token.value))
        case "ATTENTION" | "PSUM":
            return f"{token.value}_j"
    return token.value


_Spelling: TypeAlias = Callable[[Lexeme, str, Sequence[str]], str]


def _pieces(
    source: Source, region: Span, tokens: Sequence[Lexeme], spelling: _Spelling, symbols: Sequence[str]
) -> list[_Piece]:
    """The tokens of a region that stay, and last an empty one with what is after them."""
    bindings = _bindings(tokens)
    gone, found, depth = _unneeded(tokens, bindings), list[_Piece](), 0
    gap: list[str] = []
    at, previous = region.start, -1
    for index, token in enumerate(tokens):
        gap += _EVENT.findall(source.text[at : token.span.start])
        at = token.span.end
        if index in gone:
            continue
        binding = bindings[index]
        closes = token.kind in _CLOSERS
        depth -= closes
        text = spelling(token, source.text[token.span.start : token.span.end], symbols)
        call = token.kind == "LPAR" and tokens[previous].kind in _NAMES
        spaced = previous < 0 or (not call and _spaced(tokens[previous], bindings[previous], token))
        infix = binding[0] if binding and binding[1] else None
        if previous >= 0 and tokens[previous].kind == "COMMA":
            infix = _ATOM
        found.append(_Piece(text, depth, tuple(gap), spaced, infix))
        depth += token.kind in _OPENERS
        gap, previous = [], index
    gap += _EVENT.findall(source.text[at : region.end])
    return [*found, _Piece("", 0, tuple(gap), False)]


def _spaced(first: Lexeme, binding: _Binding, second: Lexeme) -> bool:
    """Whether a space stands between two tokens that are neighbours; the first binds so."""
    if "LBRACE" in (first.kind, second.kind) or second.kind == "RBRACE":
        return True
    if first.kind in _OPENERS or second.kind in {"RPAR", "RSQB", "COMMA", "LSQB"}:
        return False
    if binding and not binding[1]:  # `!a`, `-1`, `H(a)`, but `H a`
        return WORD.search(first.value) is not None and second.kind != "LPAR"
    return True


# ---- lines ----


def _printed(head: str, pieces: Sequence[_Piece]) -> Iterator[str]:
    """The lines of something that may go on over several, after a head that may be empty; `pieces` end in an empty
    one."""
    line = [_Piece(head, 0, (), False)] if head else []
    first = True  # the first line, and with it all that stands before a formula, is not indented
    for piece in pieces:
        comment, between, ends = _broken(piece.gap)
        if line and (ends or not piece.text):
            yield from _folded(line, first, comment)
            line, first = [], False
        elif comment:
            between = [comment, *between]
        margin = "" if first or not piece.text else _margin(piece)
        yield from ((margin + text).rstrip() for text in between)
        line.append(piece)


def _broken(gap: Sequence[str]) -> tuple[str, list[str], bool]:
    """What a gap between tokens has in it: a comment after the first, lines of comments (and one empty line where there
    were such), and whether the line ends."""
    after, between, ends = "", list[str](), 0
    for event in gap:
        if event == "\n":
            ends += 1
            continue
        if not ends and not between:
            after = event.rstrip()
            continue
        between += [""] * (ends > 1) + [event.rstrip()]
        ends = 0
    return after, between + [""] * (ends > 1), "\n" in gap


def _margin(piece: _Piece) -> str:
    return " " * (_INDENT * (1 + piece.depth))


def _folded(line: Sequence[_Piece], first: bool, comment: str) -> Iterator[str]:
    """A line, as several where it is too long: they begin with the loosest operators, of which as few as can be."""
    rest, margin = line, "" if first else _margin(line[0])
    while True:
        width, best = len(margin) + len(rest[0].text), 0
        for index in range(1, len(rest)):
            piece = rest[index]
            if piece.infix is not None and (width <= WIDTH or not best):
                best = index if not best else min(best, index, key=lambda k: (rest[k].depth, rest[k].infix, -k))
            width += piece.spaced + len(piece.text)
            if width > WIDTH and best:
                break
        if width <= WIDTH or not best:
            break
        yield margin + _joined(rest[:best])
        rest = rest[best:]
        margin = _margin(rest[0])
    yield margin + _joined(rest) + (f"  {comment}" if comment else "")


def _joined(pieces: Sequence[_Piece]) -> str:
    return "".join(" " * (piece.spaced and index > 0) + piece.text for index, piece in enumerate(pieces))


_Item: TypeAlias = tuple[int, int, Sequence[str]]
"""Where a part of a file begins and ends, and the lines that it is printed as."""


def _header(line: FileLine, symbols: Sequence[str]) -> list[str]:
    """A header line; examples that do not fit into one line are divided."""
    key, words = f"{line.name}:", line.text.split()
    if line.name in ("alphabet", "accept", "reject"):
        lines, whole = [key], line.name == "alphabet" or has_long_symbols(symbols)
        for word in words:
            if not whole and lines[-1] != key and len(lines[-1]) + 1 + len(word) > WIDTH:
                lines.append(key)
            lines[-1] += f" {word}"
        return lines
    if line.name == "map":  # two spaces between pairs
        arrows = [word == "->" for word in [*words[1:], ""]]
        pairs = [" " * (arrow and k > 0) + word for k, (word, arrow) in enumerate(zip(words, arrows, strict=True))]
        return [" ".join([key, *(words if has_long_symbols(symbols) else pairs)])]
    return [f"{key} {line.text}".rstrip()]


def _condition(head: str, text: str) -> list[str]:
    """A `pred` line, whose condition stays as it is but for blanks."""
    lines = []
    for line in text.split("\n"):
        found = _COMMENT.search(line)
        code, comment = (line[: found.start()], found[0].rstrip()) if found else (line, "")
        parts = [" ".join(code.split()), comment]
        lines.append("  ".join(filter(None, parts)))
    first, *rest = lines
    return [f"{head} {first}".rstrip(), *(f"{' ' * _INDENT}{line}".rstrip() for line in rest)]


def _whole(source: Source, items: Sequence[_Item]) -> str:
    """The text of a file: its parts, and the comments and empty lines between them."""
    lines, at = list[str](), 0
    for start, end, printed in sorted(items):
        lines += [line.strip() for line in source.text[at:start].split("\n")[bool(at) : -1]]
        lines += printed
        at = end
    lines += [line.strip() for line in source.text[at:].split("\n")[1:]]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n")) + "\n"


def _headers(layout: Layout, symbols: Sequence[str]) -> Iterator[_Item]:
    for line in layout.headers:
        text = layout.source.text
        end = text.find("\n", line.at.start)
        yield line.at.start, len(text) if end < 0 else end, _header(line, symbols)


# ---- files ----


@dataclass(frozen=True, slots=True)
class Canonical:
    """The canonical text of a file, with `\\n` line ends, and the alphabet of the file."""

    text: str
    alphabet: tuple[str, ...]


def canonical_formula(data: bytes | str, name: str) -> Canonical:
    """The canonical text of an `.ltl` file. Raises SourceError if the file is wrong."""
    file = parse_text(data, name)
    layout, source = FormulaLayout(file.source), file.source
    items = list(_headers(layout, file.alphabet))

    def lines(head: str, region: Span) -> list[str]:
        tokens = formula_tokens(source, region, file.alphabet)
        return list(_printed(head, _pieces(source, region, tokens, _formula_spelling, file.alphabet)))

    for line in layout.definitions:
        equals = source.text.index("=", line.at.end) + 1
        if line.params:
            start = source.text.rindex("pred", 0, line.at.start)
            head = f"pred {line.name}({', '.join(line.params)}) ="
            printed = _condition(head, source.text[equals : line.body.end])
        else:
            start = source.text.rindex("let", 0, line.at.start)
            printed = lines(f"let {line.name} =", Span(equals, line.body.end))
        items.append((start, line.body.end, printed))
    assert layout.formula is not None  # the file was read
    items.append((layout.formula.start, layout.formula.end, lines("", layout.formula)))
    text = _whole(source, items)
    _hold(_blanked(parse_text(text, name)) == _blanked(file), name)
    return Canonical(text, file.alphabet)


def _blanked(file: FormulaFile) -> tuple[FormulaFile, bool, tuple[str, ...]]:
    """All that a file says, with blanks in conditions alike."""
    predicates = tuple(replace(one, text=" ".join(one.text.split())) for one in file.predicates)
    return replace(file, predicates=predicates), file.placed, file.notes


def canonical_program(data: bytes | str, name: str) -> Canonical:
    """The canonical text of an `.srasp` file. Raises SourceError if the file is wrong."""
    file = parse_program(data, name)
    layout, source = ProgramLayout(file.source), file.source
    items = list(_headers(layout, file.alphabet))

    def add(start: int, head: str, region: Span) -> None:
        tokens = program_tokens(source, region, file.alphabet)
        pieces = _pieces(source, region, tokens, _program_spelling, file.alphabet)
        items.append((start, region.end, list(_printed(head, pieces))))

    for span in layout.declarations:
        add(span.start, "", span)
    for line in layout.relations:
        equals = source.text.index("=", line.at.end) + 1
        add(source.text.rindex("rel", 0, line.at.start), f"rel {line.name} =", Span(equals, line.body.end))
    for line in layout.statements:
        head = " ".join(source.text[line.at.start : line.body.start].split())
        called = "(i)" if "(" in head else ""
        add(line.at.start, f"{line.name}{called} :=", line.body)
    text = _whole(source, items)
    again = parse_program(text, name)
    _hold((again, again.notes) == (file, file.notes), name)
    return Canonical(text, file.alphabet)


def _hold(same: bool, name: str) -> None:
    if not same:
        raise InvariantError(f"the canonical text of {name} would say something else than the file")


FORMATTERS: Mapping[str, Callable[[bytes | str, str], Canonical]] = {
    ".ltl": canonical_formula,
    ".srasp": canonical_program,
}
"""What makes the canonical text of a file, by the suffix of its name: a language that is added registers here. Each
takes the bytes and the name that errors cite, raises SourceError for what is wrong, and holds that the text which it
returns says the same."""


def canonical(data: bytes, place: str, name: str = "") -> Canonical:
    """The canonical text of the bytes of a file that lies at a place; errors cite the `name` that was given for it.

    Raises:
        SourceError: if the file is wrong.
        InputError: if the place has the suffix of no language that has a canonical form.
    """
    form = next((form for suffix, form in FORMATTERS.items() if place.endswith(suffix)), None)
    if form is None:
        hint = f"Name files that end in {' or '.join(FORMATTERS)}."
        raise InputError(f"{name or place} has no canonical form: it is in no language that has one", hint)
    return form(data, name or place)


def encoded(text: str, data: bytes) -> bytes:
    """A text as the bytes that replace others: in UTF-8 without a byte order mark, with the line ends that the first
    line of the others has."""
    first, end, _ = data.partition(b"\n")
    written = text.encode("utf-8")
    return written.replace(b"\n", b"\r\n") if end and first.endswith(b"\r") else written
