"""The editor grammars: generated from the vocabulary, with the same tokens as the lexer."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from docs.editor.grammars import (
    BRACKET,
    CLASS,
    COMMENT,
    CONSTANT,
    DEFINED,
    HEADER,
    KEYWORD,
    LETTER,
    LOGICAL,
    REGEX,
    REPEAT,
    SCOPES,
    SPEC_FORMULAS,
    SPEC_KEYS,
    SPEC_NAMED,
    VALUE,
    VECTOR,
    grammars,
    path_of,
    render,
    scope_of,
)
from hardsim.errors import Source
from hardsim.lang.crasp.crasp_parser import SPELLINGS, CraspLayout, crasp_tokens
from hardsim.lang.files import FormulaLayout, Layout, ProgramLayout
from hardsim.lang.lexer import Lexeme, formula_tokens, program_tokens
from hardsim.lang.regex.regex_parser import RegexLayout, read_regex
from hardsim.lang.spec.layout import SpecLayout
from hardsim.lang.vocabulary import FORMULAS, INDICES, PROGRAM_VECTORS, PROGRAMS, YIELDING
from tests.support.language import parse_program, parse_text

ROOT = Path(__file__).resolve().parents[1]
EDITOR = ROOT / "docs" / "editor"
SHIPPED = sorted(path for path in (ROOT / "formulas").iterdir() if path.is_file() and path.suffix != ".json")
LANGUAGES = ("ltl", "srasp", "re", "cr", "spec")


def load(suffix: str) -> Any:
    """Return the shipped grammar of a language."""
    return json.loads(path_of(suffix).read_text(encoding="utf-8"))


# ---- an editor's use of a grammar ----


def scopes(line: str, patterns: Sequence[Mapping[str, Any]], suffix: str, at: int = 0) -> list[str]:
    """Return the scope of each character of a line, without the suffix; empty where there is none.

    As in TextMate, of the patterns that match next the leftmost wins, and of several at one place the first in
    the list.
    """
    found = [""] * len(line)
    while at <= len(line):
        hits = [(re.compile(one.get("match") or one["begin"]).search(line, at), one) for one in patterns]
        matches = [(hit, one) for hit, one in hits if hit is not None and hit.end() > hit.start()]
        if not matches:
            break
        hit, one = min(matches, key=lambda pair: pair[0].start())
        groups = {"0": one} if "name" in one else {}
        groups |= one.get("captures", one.get("beginCaptures", {}))
        for group, named in groups.items():
            start, end = hit.span(int(group))
            found[start:end] = [named["name"].removesuffix(f".hardsim.{suffix}")] * (end - start)
        at = hit.end()
        if "begin" in one:
            assert one["end"] == "$"
            found[at:] = scopes(line, one["patterns"], suffix, at)[at:]
            break
    return found


def coloured(text: str, suffix: str) -> list[str]:
    """Return the scope of each character of a text."""
    patterns = load(suffix)["patterns"]
    result: list[str] = []
    for line in text.split("\n"):
        result += [*scopes(line, patterns, suffix), ""]
    return result[:-1]


def at(text: str, suffix: str, part: str) -> str:
    """Return the one scope of the first occurrence of a part of a text."""
    start = text.index(part)
    (scope,) = set(coloured(text, suffix)[start : start + len(part)])
    return scope


# ---- generated from the vocabulary ----


@pytest.mark.parametrize("suffix", LANGUAGES)
def test_what_is_shipped_is_what_the_vocabulary_makes(suffix: str) -> None:
    assert path_of(suffix).read_text(encoding="utf-8") == render(grammars()[suffix]), "python -m docs.editor.grammars"
    assert load(suffix)["scopeName"] == f"source.hardsim.{suffix}"


def test_the_editor_finds_the_grammars() -> None:
    package = json.loads((EDITOR / "package.json").read_text(encoding="utf-8"))["contributes"]
    assert [language["extensions"] for language in package["languages"]] == [[f".{suffix}"] for suffix in LANGUAGES]
    for language, grammar, suffix in zip(package["languages"], package["grammars"], LANGUAGES, strict=True):
        assert (grammar["language"], grammar["scopeName"]) == (language["id"], f"source.hardsim.{suffix}")
        assert EDITOR / grammar["path"] == path_of(suffix)
        assert (EDITOR / language["configuration"]).is_file()


@pytest.mark.parametrize(
    ("suffix", "spellings"), [("ltl", FORMULAS), ("ltl", YIELDING), ("srasp", PROGRAMS), ("cr", SPELLINGS)]
)
def test_every_spelling_has_its_scope(suffix: str, spellings: Mapping[str, tuple[str, str]]) -> None:
    for text, (terminal, canonical) in spellings.items():
        if text != "[":  # after a space it is no part of another operator
            assert at(f" \t{text} ", suffix, text) == scope_of(terminal, canonical), text


@pytest.mark.parametrize(
    ("suffix", "layout"), [("ltl", FormulaLayout), ("srasp", ProgramLayout), ("re", RegexLayout), ("cr", CraspLayout)]
)
def test_every_key_is_a_header(suffix: str, layout: type[Layout]) -> None:
    for key in layout.keys:
        line = f"{key}: // a"
        assert (at(line, suffix, key), at(line, suffix, "// a")) == (HEADER, VALUE)
    assert HEADER not in coloured("nothing: a", suffix)


# ---- shipped grammars ----


def tokens(path: Path) -> Iterator[tuple[int, int, str]]:
    """Yield the places of all tokens, header keys and comments that the lexer and the layout find, with their
    scopes.
    """
    data = path.read_text(encoding="utf-8")
    layout, found = PARTS[path.suffix](data)
    for line in layout.headers:
        yield line.at.start, line.at.end, HEADER
        yield line.body.start, line.body.end, VALUE
    for match in re.finditer(r"(?m)(?:^|\s)(//.*)$", data):
        if not any(line.at.start <= match.start(1) < line.body.end for line in layout.headers):
            yield match.start(1), match.end(1), COMMENT
    yield from found


HighlightedText: TypeAlias = tuple[Layout, list[tuple[int, int, str]]]


def scoped(tokens: Iterable[Lexeme], built_in: Mapping[str, str] = {}) -> list[tuple[int, int, str]]:
    """Return the places of tokens with their scopes; `built_in` gives other scopes to some words."""
    plain = [(token, scope_of(token.kind, token.value)) for token in tokens]
    return [
        (token.span.start, token.span.end, built_in.get(token.value, scope) if token.kind == "WORD" else scope)
        for token, scope in plain
    ]


def formula(data: str) -> HighlightedText:
    file = parse_text(data)
    layout = FormulaLayout(file.source)
    assert layout.formula is not None
    regions = [*(line.body for line in layout.definitions), layout.formula]
    found = scoped(token for region in regions for token in formula_tokens(file.source, region, file.alphabet))
    return layout, [*found, *((line.at.start, line.at.end, DEFINED) for line in layout.definitions)]


def program(data: str) -> HighlightedText:
    file = parse_program(data)
    layout = ProgramLayout(file.source)
    lines = [*layout.relations, *layout.statements]
    built_in = {**dict.fromkeys(PROGRAM_VECTORS, VECTOR), **dict.fromkeys(INDICES, "variable.parameter")}
    found = scoped(
        (token for line in lines for token in program_tokens(file.source, line.body, file.alphabet)), built_in
    )
    words = [(data.rindex("rel", 0, line.at.start), line.at.start - 1, KEYWORD) for line in layout.relations]
    return layout, [*found, *words, *((line.at.start, line.at.end, DEFINED) for line in lines)]


def regex(data: str) -> HighlightedText:
    """Colour a regular expression, as the lexer does; a set has one scope."""
    file = read_regex(data)
    kinds = {"OR": LOGICAL, "AND": LOGICAL, "NOT": LOGICAL, "ANY": CONSTANT, "REPEAT": REPEAT, "SYMBOL": LETTER}
    found, inside = list[tuple[int, int, str]](), False
    for token in file.tokens:
        inside = token.kind == "SET" or inside
        quoted = data[token.span.start] == "'"
        scope = CLASS if inside else SCOPES["QUOTED"] if quoted else kinds.get(token.kind, BRACKET)
        found.append((token.span.start, token.span.end, scope))
        inside = inside and token.kind != "RSQB"
    return file.layout, found


def crasp(data: str) -> HighlightedText:
    layout = CraspLayout(Source("", data))
    found = scoped(token for line in layout.lines for token in crasp_tokens(layout.source, line.body))
    names = [*(line.at for line in layout.lines), *layout.imports]
    return layout, [*found, *((name.start, name.end, DEFINED) for name in names)]


PARTS: Mapping[str, Callable[[str], HighlightedText]] = {".ltl": formula, ".srasp": program, ".re": regex, ".cr": crasp}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_files_are_coloured_as_they_are_read(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    given = coloured(text, path.suffix[1:])
    places = list(tokens(path))
    for start, end, scope in places:
        assert set(given[start:end]) == {scope}, (text[start:end], scope)
    assert {scope for _, _, scope in places} >= {HEADER, VALUE}


def test_what_shipped_files_do_not_have() -> None:
    assert at("X [ ! ] a", "ltl", "X [ ! ]") == SCOPES["UNARY"]
    assert at("#L[a] > 1", "ltl", "#L[") == SCOPES["COUNT"]
    assert at("a // b", "ltl", "// b") == COMMENT
    assert at("'//' & ''''", "ltl", "'//'") == SCOPES["QUOTED"]
    assert at("'//' & ''''", "ltl", "''''") == SCOPES["QUOTED"]
    assert at("GFa", "ltl", "GFa") == SCOPES["WORD"]
    assert at("'a' & \"G\"", "ltl", '"G"') == SCOPES["QUOTED"]
    for text in ("F[0,3]", "O[:3]", "once [ 2:4 ]", "X[3]", "G[1..2]", "U[1,4]", "◇[0,1]", "wX[2]"):
        assert at(f"a {text} b", "ltl", text) == SCOPES["UNARY"]
    assert at("a1F[0,3] b", "ltl", "a1F") == SCOPES["WORD"]
    assert at("{p} & q", "ltl", "{") == BRACKET
    assert at("{p} & q", "ltl", "p") == SCOPES["WORD"]
    assert at('#[pred] "a"//b', "cr", "#[pred]") == SCOPES["COUNT"]
    assert at('#[pred] "a"//b', "cr", "//b") == COMMENT
    assert at("#import pred", "cr", "#import") == KEYWORD
    assert at('A = x == "//"', "cr", '"//"') == SCOPES["QUOTED"]
    assert at("Y := ▶_j[1, 1] 0 : 1", "srasp", "▶_j") == SCOPES["ATTENTION"]
    assert at("Y := leftmost[1, 1] 0 : 1", "srasp", "leftmost") == SCOPES["ATTENTION"]
    assert at("Y := Q_'('(i)", "srasp", "Q_'('") == SCOPES["SYMBOL"]
    assert at("x_? := a_?(i)", "srasp", "a_?") == SCOPES["WORD"]


# ---- languages without files ----


def test_regular_expressions() -> None:
    text = "// c\nalphabet: a b\n(a | !b){2,3} & [^a]* 'x' // d"
    parts = {
        "// c": COMMENT,
        "alphabet": HEADER,
        "{2,3}": REPEAT,
        "*": REPEAT,
        "'x'": SCOPES["QUOTED"],
        "// d": COMMENT,
    }
    assert {part: at(text, "re", part) for part in parts} == parts
    for text_of_set in ("{}", "{p}", "{p,q}", "[{p}{p,q}]"):
        assert at(f".*{text_of_set}", "re", text_of_set) == CLASS
    assert at(text, "re", "|") == at(text, "re", "&") == at(text, "re", "!") == SCOPES["AND"]


def test_specifications() -> None:
    text = "// c\nnetwork: D2\nnext: /(a(ab)*b)*/\noutput NAME: a S b\nassume: H a"
    parts = {"// c": COMMENT, "network": HEADER, " D2": VALUE, "/(a(ab)*b)*/": REGEX, "output": HEADER, "NAME": DEFINED}
    assert {part: at(text, "spec", part) for part in parts} == parts
    assert at(text, "spec", "S") == at(text, "spec", "H") == SCOPES["UNARY"]
    assert at("value a:1: 1 / 2", "spec", "a:1") == DEFINED
    assert at("value a: pos / 2", "spec", "/") == SCOPES["STAR"]
    named = {key.partition(" ")[0] for key in SpecLayout.keys if " " in key}
    assert ({*SPEC_KEYS, *SPEC_FORMULAS}, {*SPEC_NAMED}) == (
        {*SpecLayout.keys} - {f"{key} NAME" for key in named},
        named,
    )
    for key in (*SPEC_KEYS, *SPEC_FORMULAS):
        assert at(f"{key}: a", "spec", key) == HEADER
    for key in SPEC_NAMED:
        assert at(f"{key} a: b", "spec", key) == HEADER
