"""The canonical text of files (`hardsim fmt`), made from tokens, so that comments and line breaks stay.

Canonical are the spellings of operators, blanks, quotes of symbols, indentation, and runs of blank lines. In formulas
and S-RASP programs unneeded brackets are removed too, and long lines are folded (see `lines`). C-RASP programs keep
their brackets, since other interpreters have other precedences, and so do regular expressions, where brackets group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

from hardsim.errors import InputError, InvariantError, Span
from hardsim.lang.ast import NO_SPAN, FormulaFile, SraspProgram
from hardsim.lang.crasp.crasp_parser import CraspLayout, crasp_tokens, parse_crasp
from hardsim.lang.files import FileLine, FormulaLayout, Layout, ProgramLayout
from hardsim.lang.lexer import Lexeme, formula_tokens, program_tokens
from hardsim.lang.lines import INDENT, WIDTH, Spelt, Style, printed, spaced
from hardsim.lang.ltl_parser import mentions_propositions, parse_text
from hardsim.lang.regex.regex_parser import RegexLayout, RegexText, read_regex
from hardsim.lang.spec.layout import OUTPUT, VALUE, SpecLayout, read_spec
from hardsim.lang.srasp.srasp_parser import parse_program
from hardsim.lang.trees import levels
from hardsim.lang.valuations import MENTIONED, Alphabet, Valuations, is_sets
from hardsim.lang.vocabulary import (
    PIECE,
    PREFIXES,
    SYMBOL_PREFIX,
    WORD,
    YIELDING,
    is_bare,
    joined_names,
    quoted,
    unquoted,
)
from hardsim.lang.words import has_long_symbols, read_alphabet, read_words, written_word
from hardsim.lazy_dataclass import dataclass

_COMMENT = re.compile(r"(?<!\S)//[^\n]*")
_COMMENT_OR_SYMBOL = re.compile(r'"[^"\s]+(?:[ ]+[^"\s]+)*"|//[^\n]*')
"""A comment of a C-RASP program, which needs no space before it, or a quoted symbol, which may contain `//`."""
_OBEYED_BLANK = re.compile("[\t\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
"""White space that a terminal obeys; it becomes a space also in comments and in the value of `source:`."""
_WORDS = frozenset({"accept", "reject"})
_NAMES = frozenset({"alphabet", "props", "one-of", "at-most-one"})
"""Header keys whose value is a list of names, some of which may be quoted."""
_TEXTS = frozenset({"source", "network", "program"})
"""Header keys whose value is kept unchanged."""
_Item: TypeAlias = tuple[int, int, Sequence[str]]
"""The offsets at which a part of a file begins and ends, and the lines that replace it."""


# ---- spellings ----


def _formula_style(file: FormulaFile, names: frozenset[str]) -> Style:
    """Return the style for formulas. Quotes, and braces in reelay's notation, are removed where the text is read the
    same without them, also in a file whose propositions are those that it mentions."""
    mentioned, text = mentions_propositions(file), file.source.text
    atoms = _atoms(file.alphabet)

    def atom(word: str) -> str:
        # without a declaration, a bare `GFa` or `once` would be read as operators
        known = not mentioned or not (word in YIELDING or PREFIXES.match(word) or word[0].isdigit())
        return word if is_bare(word) and known else quoted(word)

    def spelling(token: Lexeme, written: str) -> str:
        match token.kind:
            case "QUOTED":
                return atom(token.value)
            case "WORD" if token.value in names or (mentioned and token.value.startswith(SYMBOL_PREFIX)):
                return token.value
            case "WORD" if token.value.startswith(SYMBOL_PREFIX):
                return atom(token.value if token.value in atoms else token.value.removeprefix(SYMBOL_PREFIX))
            case "WORD" if text[: token.span.start].rstrip().endswith("{"):  # reelay's notation
                return atom(token.value)
            case "COUNT":
                return f"#{token.value}["
        return token.value

    return Style(spelling, spaced)


def _atoms(alphabet: Alphabet) -> frozenset[str]:
    """Return the names of the atoms of formulas over an alphabet: symbols or propositions."""
    return frozenset(alphabet.props if isinstance(alphabet, Valuations) else alphabet)


def _program_spelling(token: Lexeme, _written: str) -> str:
    """Return the canonical spelling of a token of an S-RASP program."""
    match token.kind:
        case "QUOTED":
            return quoted(token.value)
        case "SYMBOL":
            return SYMBOL_PREFIX + (token.value if WORD.fullmatch(token.value) else quoted(token.value))
        case "ATTENTION" | "PSUM":
            return f"{token.value}_j"
    return token.value


def _crasp_spelling(token: Lexeme, _written: str) -> str:
    """Return the canonical spelling of a token of a C-RASP program."""
    match token.kind:
        case "QUOTED":
            return f'"{token.value}"'
        case "PSUM":
            return f"#[{token.value}]" if token.value else "#"
    return {"&": "&&", "|": "||", "=": "=="}.get(token.value, token.value)


def _crasp_spaced(first: Spelt, second: Spelt, inside: str, blank: bool) -> bool:
    """Return True if a C-RASP program has a space between two adjacent tokens: `#"a"`, but `#[pred] "a"`."""
    return bool(first.token.value) if first.token.kind == "PSUM" else spaced(first, second, inside, blank)


def _regex_spelling(token: Lexeme, written: str) -> str:
    """Return the spelling of a token in a regular expression. A quoted symbol keeps its quotes if it is not a word,
    or is the key of a header line, and gets them if it would begin a comment. `{1,}` stays: the meaning of `+`
    depends on the text after it."""
    match token.kind:
        case "SYMBOL" if WORD.fullmatch(token.value) and token.value not in RegexLayout.keys:
            return token.value
        case "SYMBOL":
            return quoted(token.value) if written.startswith("'") or token.value.startswith("/") else token.value
        case "SET":
            return f"[{token.value}"
        case "REPEAT":
            least, most = token.value.split(",")
            bounds = f"{{{least}}}" if least == most else f"{{{token.value}}}"
            return "+" if written == "+" else {"0,": "*", "0,1": "?"}.get(token.value, bounds)
    return token.value


def _regex_style(long: bool) -> Style:
    """Return the style for regular expressions; `long`: symbols may have several characters. A blank between adjacent
    operands stays, since authors group by blanks for the reader, as in `000 (0 | 1)`."""

    def apart(first: Spelt, second: Spelt, inside: str, blank: bool) -> bool:
        kinds = first.token.kind, second.token.kind
        if not {"OR", "AND"}.isdisjoint(kinds):
            return True
        if kinds[0] in {"LPAR", "SET", "NOT"} or kinds[1] in {"RPAR", "RSQB", "REPEAT"}:
            return False
        if kinds == ("SYMBOL", "SYMBOL") and (long or (first.text.endswith("'") and second.text.startswith("'"))):
            return True
        return blank and inside != "SET"

    return Style(_regex_spelling, apart, brackets=False)


PROGRAM_STYLE = Style(_program_spelling, spaced)
CRASP_STYLE = Style(_crasp_spelling, _crasp_spaced, brackets=False, folds=False)


# ---- parts of files ----


def _pieces(line: FileLine) -> list[str]:
    """Return the pieces of a header line between white space. Names get quotes only if they need them."""
    pieces = [match[0] for match in PIECE.finditer(line.text)]
    return [joined_names([unquoted(piece)]) for piece in pieces] if line.name in _NAMES else pieces


def _header(layout: Layout, line: FileLine, alphabet: Alphabet) -> list[str]:
    """Return the canonical lines for a header line; examples that do not fit on one line are divided."""
    key, words = f"{line.name}:", _pieces(line)
    if line.name in _WORDS and is_sets(alphabet):
        return [f"{key} {written_word(word, alphabet)}" for word, _ in read_words(layout.source, line.body, alphabet)]
    if line.name in _WORDS:
        lines, whole = [key], has_long_symbols(alphabet)
        words = words if whole else line.text.split()
        for word in words:
            if not whole and lines[-1] != key and len(lines[-1]) + 1 + len(word) > WIDTH:
                lines.append(key)
            lines[-1] += f" {word}"
        return lines
    if line.name == "map":  # two spaces between pairs
        arrows = [word == "->" for word in [*words[1:], ""]]
        pairs = [" " * (arrow and k > 0) + word for k, (word, arrow) in enumerate(zip(words, arrows, strict=True))]
        return [" ".join([key, *(words if has_long_symbols(alphabet) else pairs)])]
    if line.name in _TEXTS:
        return [f"{key} {line.text}".rstrip()]
    return [" ".join([key, *words])]


def _condition(head: str, text: str) -> list[str]:
    """Return the lines of a `pred` definition, whose condition changes in its blanks only."""
    lines = []
    for line in text.split("\n"):
        found = _COMMENT.search(line)
        code, comment = (line[: found.start()], found[0].rstrip()) if found else (line, "")
        parts = [" ".join(code.split()), comment]
        lines.append("  ".join(filter(None, parts)))
    first, *rest = lines
    return [f"{head} {first}".rstrip(), *(f"{' ' * INDENT}{line}".rstrip() for line in rest)]


def _whole(layout: Layout, alphabet: Alphabet, items: Sequence[_Item]) -> str:
    """Return the text of a file: its header lines and other parts (`items`), with the comments and empty lines
    between them."""
    text = layout.source.text
    headers = [(line.at.start, _line_end(text, line.at.start), _header(layout, line, alphabet))
               for line in layout.headers]  # fmt: skip
    lines, at = list[str](), 0
    for start, end, own in sorted([*headers, *items]):
        # between two parts only whole lines remain: the rest of the line of the first one belongs to it
        lines += [line.strip() for line in text[at:start].split("\n")[bool(at) : -1]]
        lines += own
        at = end
    lines += [line.strip() for line in text[at:].split("\n")[1:]]
    return re.sub(r"\n{3,}", "\n\n", _OBEYED_BLANK.sub(" ", "\n".join(lines)).strip("\n")) + "\n"


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _beside_tree(layout: Layout) -> tuple[dict[str, str], list[str]]:
    """Return the content of a text other than its tree and its examples: the values of its other header lines, by key,
    and its comments."""
    values: dict[str, str] = {}
    text, rest, at = layout.source.text, "", 0
    for line in layout.headers:
        if line.name not in (*_WORDS, "map"):
            content = _OBEYED_BLANK.sub(" ", line.text) if line.name in _TEXTS else " ".join(_pieces(line))
            values[line.name] = f"{values.get(line.name, '')}{content}\n"
        rest += text[at : line.at.start] + "\n"
        at = _line_end(text, line.at.start)
    pattern = _COMMENT_OR_SYMBOL if isinstance(layout, CraspLayout) else _COMMENT
    found = pattern.findall(rest + text[at:])
    return values, [_OBEYED_BLANK.sub(" ", comment.rstrip()) for comment in found if comment.startswith("//")]


# ---- files ----


@dataclass(frozen=True, slots=True)
class Canonical:
    r"""The canonical text of a file, with `\\n` line ends, and the alphabet of the file."""

    text: str
    alphabet: Alphabet


def canonical_formula(data: bytes | str, name: str) -> Canonical:
    """Return the canonical text of an `.ltl` file; a file without declarations has the propositions that it mentions.
    Raises SourceError if the file has a mistake."""
    file = parse_text(data, name, props=MENTIONED)
    layout, source = FormulaLayout(file.source), file.source
    names = frozenset(line.name for line in layout.definitions)
    style, items = _formula_style(file, names), list[_Item]()

    def lines(region: Span, head: str = "") -> list[str]:
        return printed(source, region, formula_tokens(source, region, _atoms(file.alphabet), names), style, head)

    for line in layout.definitions:
        equals = source.text.index("=", line.at.end) + 1
        if line.params:
            start = source.text.rindex("pred", 0, line.at.start)
            own = _condition(_pred(line.name, line.params), source.text[equals : line.body.end])
        else:
            start = source.text.rindex("let", 0, line.at.start)
            own = lines(Span(equals, line.body.end), f"let {line.name} =")
        items.append((start, line.body.end, own))
    assert layout.formula is not None  # the parser raises an error if there is none
    items.append((layout.formula.start, layout.formula.end, lines(layout.formula)))

    def content(one: FormulaFile) -> Any:
        return _blanked(one), one.placed, one.notes, _beside_tree(FormulaLayout(one.source))

    def again(text: str) -> Any:
        return content(parse_text(text, name, props=MENTIONED))

    return _limited(_whole(layout, file.alphabet, items), name, file.alphabet, again, content(file))


def _pred(name: str, params: Sequence[str]) -> str:
    return f"pred {name}({', '.join(params)}) ="


def _blanked(file: FormulaFile) -> FormulaFile:
    """Return a file with normalised blanks in conditions and without title and origin. (A comment may come to be in the
    first line, and so become the title, when the bracket before it is removed.)"""
    blanked = [replace(one, text=" ".join(one.text.split())) for one in file.predicates]
    return replace(file, predicates=tuple(blanked), title="", origin="")


def canonical_program(data: bytes | str, name: str) -> Canonical:
    """Return the canonical text of an `.srasp` file. Raises SourceError if the file has a mistake."""
    file = parse_program(data, name)
    layout, source, items = ProgramLayout(file.source), file.source, list[_Item]()
    declared = layout.header("alphabet")
    symbols = () if declared is None else read_alphabet(source, declared.body)

    def add(start: int, head: str, region: Span) -> None:
        tokens = program_tokens(source, region, symbols)
        items.append((start, region.end, printed(source, region, tokens, PROGRAM_STYLE, head)))

    for span in layout.declarations:
        add(span.start, "", span)
    for line in layout.relations:
        equals = source.text.index("=", line.at.end) + 1
        add(source.text.rindex("rel", 0, line.at.start), f"rel {line.name} =", Span(equals, line.body.end))
    for line in layout.statements:
        called = "(i)" if "(" in source.text[line.at.end : line.body.start] else ""
        add(line.at.start, f"{line.name}{called} :=", line.body)

    def content(one: SraspProgram) -> Any:
        return replace(one, title="", origin=""), one.notes, _beside_tree(ProgramLayout(one.source))

    whole = _whole(layout, file.alphabet, items)
    return _limited(whole, name, file.alphabet, lambda text: content(parse_program(text, name)), content(file))


def canonical_regex(data: bytes | str, name: str) -> Canonical:
    """Return the canonical text of an `.re` file; no automaton is built. Raises SourceError if the file has a
    mistake."""
    file = read_regex(data, name, MENTIONED)
    layout, region = file.layout, file.layout.expression
    assert region is not None  # the parser raises an error if there is none
    own = printed(layout.source, region, file.tokens, _regex_style(has_long_symbols(file.alphabet)))

    def content(one: RegexText) -> Any:
        tree = [(node.kind, node.text, len(node.args)) for node, _ in levels(one.expression)]
        return tree, _plain(one.tokens), one.alphabet, one.examples, _beside_tree(one.layout)

    whole = _whole(layout, file.alphabet, [(region.start, region.end, own)])
    return _limited(whole, name, file.alphabet, lambda text: content(read_regex(text, name, MENTIONED)), content(file))


def _plain(tokens: Sequence[Lexeme]) -> list[tuple[str, str]]:
    """Return the kinds and values of tokens, without their places."""
    return [(token.kind, token.value) for token in tokens]


def canonical_crasp(data: bytes | str, name: str) -> Canonical:
    """Return the canonical text of a `.cr` file, whose lines are never folded. Raises SourceError if the file has
    a mistake."""
    file = parse_crasp(data, name)
    layout, source = CraspLayout(file.source), file.source
    text, items = source.text, list[_Item]()

    def add(name_at: int, end: int, code: str) -> None:
        """Add a line, given by its canonical code, with the comment at its end; `name_at` is an offset in the line."""
        start, last = text.rfind("\n", 0, name_at) + 1, _line_end(text, name_at)
        items.append((start, last, ["  ".join(filter(None, [code, text[end:last].strip()]))]))

    for span in layout.imports:
        add(span.start, span.end, f"#import {layout.written(span)}")
    for one in layout.predicates.values():
        if one.span != NO_SPAN:
            add(one.span.start, one.span.end, f"{_pred(one.name, one.params)} {' '.join(one.text.split())}")
    for line in layout.lines:
        (code,) = printed(source, line.body, crasp_tokens(source, line.body), CRASP_STYLE, f"{line.name} =")
        add(line.at.start, line.body.end, code)

    def content(one: FormulaFile) -> Any:
        parts = CraspLayout(one.source)
        lines = [(line.name, _plain(crasp_tokens(one.source, line.body))) for line in parts.lines]
        imports = [parts.written(span) for span in parts.imports]
        return _blanked(one), lines, imports, len(one.notes), _beside_tree(parts)

    whole = _whole(layout, file.alphabet, items)
    return _limited(whole, name, file.alphabet, lambda text: content(parse_crasp(text, name)), content(file))


def canonical_spec(data: bytes | str, name: str) -> Canonical:
    """Return the canonical text of a `.spec` file, which differs in blanks only, since only its network may know the
    symbols. Raises SourceError for mistakes in its lines."""
    layout = read_spec(data, name)

    def named(one: SpecLayout) -> list[tuple[int, int, list[str]]]:
        pairs = [(key, line) for key, lines in ((OUTPUT, one.outputs), (VALUE, one.values)) for line in lines]
        text = one.source.text
        return [
            (text.rindex(key, 0, line.at.start), _line_end(text, line.at.start),
             [" ".join([key, f"{line.name}:", *line.text.split()])])
            for key, line in pairs
        ]  # fmt: skip

    def content(one: SpecLayout) -> Any:
        return [own for _, _, own in sorted(named(one))], _beside_tree(one)

    declared = layout.header("alphabet")
    alphabet = () if declared is None else read_alphabet(layout.source, declared.body)
    whole = _whole(layout, alphabet, named(layout))
    return _limited(whole, name, alphabet, lambda text: content(read_spec(text, name)), content(layout))


def _limited(text: str, name: str, alphabet: Alphabet, content: Callable[[str], Any], expected: Any) -> Canonical:
    """Return the canonical text if its content is that of its file. Raises InvariantError if it is not, or the text
    cannot be parsed."""
    found = None
    with suppress(InputError):
        found = content(text)
    if found != expected:
        raise InvariantError(f"the canonical text of {name} would not have the same meaning as the file")
    return Canonical(text, alphabet)


FORMATTERS: Mapping[str, Callable[[bytes | str, str], Canonical]] = {
    ".ltl": canonical_formula,
    ".srasp": canonical_program,
    ".re": canonical_regex,
    ".cr": canonical_crasp,
    ".spec": canonical_spec,
}
"""The function that makes the canonical text of a file, by the suffix of the file's name; new languages register here.
Each takes the bytes and the name that errors cite, raises SourceError for mistakes, and checks that the text which it
returns has the same meaning."""


def canonical(data: bytes, place: str, name: str = "") -> Canonical:
    """Return the canonical text of a file with the given bytes. `place` is the file's path, `name` the name in errors.
    Raises SourceError if the file has a mistake; InputError if the path has the suffix of no language with a canonical
    form."""
    form = next((form for suffix, form in FORMATTERS.items() if place.endswith(suffix)), None)
    if form is None:
        hint = f"Name files that end in {', '.join([*FORMATTERS][:-1])} or {[*FORMATTERS][-1]}."
        raise InputError(f"{name or place} has no canonical form: its suffix belongs to no language that has one", hint)
    return form(data, name or place)


def encoded(text: str, data: bytes) -> bytes:
    """Encode a text that replaces the content `data` of a file: in UTF-8 without a byte order mark, with the kind of
    line end that the first line of `data` has."""
    first, end, _ = data.partition(b"\n")
    written = text.encode("utf-8")
    return written.replace(b"\n", b"\r\n") if end and first.endswith(b"\r") else written
