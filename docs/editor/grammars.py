"""Write the editor grammars in `syntaxes` from the vocabulary of the languages: `python -m docs.editor.grammars`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from hardsim.lang import vocabulary
from hardsim.lang.crasp.crasp_parser import SPELLINGS as CRASP
from hardsim.lang.crasp.crasp_parser import CraspLayout
from hardsim.lang.files import FormulaLayout, ProgramLayout
from hardsim.lang.regex.notation import CHOICES
from hardsim.lang.regex.regex_parser import RegexLayout
from hardsim.lang.vocabulary import FORMULAS, PAIRED, PROGRAMS, SINGLE, WORD, YIELDING, Spellings

Pattern: TypeAlias = dict[str, Any]

FOLDER = Path(__file__).resolve().parent / "syntaxes"

COMMENT, HEADER, VALUE = "comment.line.double-slash", "keyword.other.header", "string.unquoted"
KEYWORD, DEFINED, COLON = "storage.type", "entity.name.function", "punctuation.separator"
SYMBOL, NUMBER, NAME = "string.quoted.single", "constant.numeric", "variable.other"
LOGICAL, TEMPORAL, COMPARISON = "keyword.operator.logical", "keyword.operator.temporal", "keyword.operator.comparison"
ARITHMETIC, ASSIGNMENT = "keyword.operator.arithmetic", "keyword.operator.assignment"
CONSTANT, FUNCTION, INDEX, VECTOR = "constant.language", "support.function", "variable.parameter", "variable.language"
BRACKET, MEMBER, CONDITIONAL = "punctuation.bracket", "keyword.operator.membership", "keyword.operator.conditional"
LETTER, REPEAT, CLASS, REGEX = "string.unquoted", "keyword.operator.quantifier", "constant.other.class", "string.regexp"

SCOPES: Mapping[str, str] = {
    **dict.fromkeys(("ARROW", "AND", "OR", "XOR", "NOT"), LOGICAL),
    **dict.fromkeys(("UNARY", "BINARY"), TEMPORAL),
    **dict.fromkeys(("SIGN", "STAR", "MODULO"), ARITHMETIC),
    **dict.fromkeys(("CONSTANT", "TRUTH"), CONSTANT),
    **dict.fromkeys(("PREDICATE", "ATTENTION", "PSUM", "COUNT_J", "MEAN_J", "COUNT", "EXTREME"), FUNCTION),
    **dict.fromkeys(("CONDITIONAL", "COLON"), CONDITIONAL),
    **dict.fromkeys(("LPAR", "RPAR", "LSQB", "RSQB", "LBRACE", "RBRACE"), BRACKET),
    **dict.fromkeys(("QUOTED", "SYMBOL"), SYMBOL),
    "COMPARE": COMPARISON,
    "MEMBER": MEMBER,
    "COMMA": COLON,
    **dict.fromkeys(("NUMBER", "FRACTION"), NUMBER),
    "WORD": NAME,
}
"""The scope of each terminal: a terminal that is added to the vocabulary needs an entry."""
SPEC_KEYS = ("alphabet", "source", "network", "tokens", "input", "at", "decide", "program", "accept", *CHOICES)
"""Header keys of `.spec` files; keys whose values are formulas, terms or regular expressions are in SPEC_FORMULAS and
SPEC_NAMED.
"""
SPEC_FORMULAS = ("assume", "next", "language")
SPEC_NAMED = ("output", "value")


def scope_of(terminal: str, canonical: str) -> str:
    """Return the scope of a token."""
    return LOGICAL if canonical == "!" else SCOPES[terminal]


def rule(scope: str, pattern: str, **captures: str) -> Pattern:
    """Return a TextMate rule: a pattern with one scope, or with a scope for each group by its number (`_1`)."""
    found: Pattern = {"name": scope} if scope else {}
    found["match"] = pattern
    if captures:
        found["captures"] = {group.strip("_"): {"name": name} for group, name in captures.items()}
    return found


def spelled(spellings: Spellings) -> list[Pattern]:
    """Return rules for spellings: words first, then signs, the longest sign first."""
    words: dict[str, list[str]] = {}
    signs: list[tuple[str, str]] = []
    for text, (terminal, canonical) in spellings.items():
        scope = scope_of(terminal, canonical)
        if WORD.fullmatch(text):
            words.setdefault(scope, []).append(text)
        else:
            signs.append((text, scope))
    rules = [rule(scope, word(texts)) for scope, texts in words.items()]
    signs.sort(key=lambda sign: -len(sign[0]))
    return rules + [rule(scope, re.escape(text)) for text, scope in signs]


def word(texts: Iterable[str]) -> str:
    """Return a pattern for any of these texts as a whole word; longer texts come first."""
    return rf"(?<!\w)(?:{'|'.join(sorted(texts, key=lambda text: (-len(text), text)))})(?!\w)"


def either(texts: Iterable[str]) -> str:
    """Return a pattern for any of these words or signs."""
    listed = [*texts]
    signs = sorted((text for text in listed if not WORD.fullmatch(text)), key=lambda text: (-len(text), text))
    return "|".join([word(filter(WORD.fullmatch, listed)), *map(re.escape, signs)])


def headers(keys: Iterable[str]) -> list[Pattern]:
    """Return rules for header lines with these keys, then for comments; a header line contains no comment."""
    line = rf"^\s*({'|'.join(keys)})\s*(:)(?!=)(.*)$"
    return [rule("", line, _1=HEADER, _2=COLON, _3=VALUE), rule(COMMENT, r"(?:^|(?<=\s))//.*$")]


ATOMS = [rule(SYMBOL, r"'(?:''|[^'\s])+'|'''"), rule(NUMBER, r"(?<!\w)[0-9]+(?!\w)")]
BOUNDED = [text for text, (_, operator) in {**FORMULAS, **YIELDING}.items() if operator in PAIRED | SINGLE]
"""Operators that may be followed by bounds."""
FORMULA = [
    rule("", r"^\s*(let|pred)\s+([^\W\d]\w*)", _1=KEYWORD, _2=DEFINED),
    rule(TEMPORAL, r"X\s*\[\s*!\s*\]"),
    rule(TEMPORAL, rf"(?:{either(BOUNDED)})\s*\[\s*(?:[0-9]+|(?=[,:.]))\s*(?:(?:,|:|\.\.)\s*[0-9]+\s*)?\]"),
    rule(FUNCTION, r"#\s*[LR]?\s*\["),
    *spelled(FORMULAS),
    *spelled(YIELDING),
    rule(BRACKET, r"[{}]"),
    rule(SYMBOL, r'"[^"\s]+"'),
    *ATOMS,
    rule(NAME, WORD.pattern),
]
PROGRAM = [
    rule("", r"^\s*(rel)\s+([^\W\d]\w*)", _1=KEYWORD, _2=DEFINED),
    rule("", r"^\s*([^\s:=()]+)(?=\s*(?:\(\s*i\s*\))?\s*:=)", _1=DEFINED),
    rule(ASSIGNMENT, ":="),
    rule(SYMBOL, r"(?<!\w)Q_(?:'(?:''|[^'\s])+'|\w+|[^\s\w'])"),
    rule(FUNCTION, "[◀▶][\ufe0e\ufe0f]?(?:_j)?"),
    rule(MEMBER, r"(?<!\w)in(?=\s*\{)"),
    rule(VECTOR, word(vocabulary.PROGRAM_VECTORS)),
    rule(INDEX, word(vocabulary.INDICES)),
    *spelled(PROGRAMS),
    rule(NUMBER, r"(?<!\w)[0-9]+[^\S\n]*/[^\S\n]*[0-9]+(?!\w)"),
    *ATOMS,
    rule(NAME, rf"{vocabulary.VECTOR_NAME.pattern}|{WORD.pattern}"),
]
EXPRESSION = [
    rule(CLASS, r"\[\s*\^?(?:'(?:''|[^'\s])+'|[^\]'])*\]"),
    rule(REPEAT, r"\{\s*[0-9]+\s*(?:,\s*[0-9]*\s*)?\}|[*+?]"),
    rule(CLASS, r"\{[^{}]*\}"),
    rule(LOGICAL, r"[|&!]"),
    rule(CONSTANT, r"\."),
    rule(BRACKET, r"[()]"),
    rule(SYMBOL, r"'(?:''|[^'\s])+'|'''"),
    rule(LETTER, r"[^\s|&!.*+?()\[\]{}']"),
]


C_RASP = [
    rule("", r"^\s*(#\s*import)\s+([^\W\d]\w*)", _1=KEYWORD, _2=DEFINED),
    rule("", r"^\s*(pred)\s+([^\W\d]\w*)", _1=KEYWORD, _2=DEFINED),
    rule("", r"^\s*([^\W\d]\w*)\s*(:?=)(?!=)", _1=DEFINED, _2=ASSIGNMENT),
    rule(SYMBOL, r'"[^"\s]+"'),
    rule(COMMENT, r"//.*$"),
    rule(FUNCTION, r"#(?:\s*\[\s*\w+\s*\])?"),
    *spelled(CRASP),
    rule(NUMBER, r"(?<!\w)[0-9]+(?!\w)"),
    rule(NAME, WORD.pattern),
]


def specification() -> list[Pattern]:
    """Return the rules for lines of a `.spec` file: values are formulas, or regular expressions between slashes."""
    regex = rule(REGEX, r"/.*/\s*$")
    plain, named = "|".join(SPEC_FORMULAS), "|".join(SPEC_NAMED)
    begins: list[tuple[str, Mapping[str, str]]] = [
        (rf"^\s*({plain})\s*(:)", {"1": HEADER, "2": COLON}),
        (rf"^\s*({named})\s+(\S+)(:)(?=\s|$)", {"1": HEADER, "2": DEFINED, "3": COLON}),
    ]
    lines = [
        {
            "begin": begin,
            "end": "$",
            "beginCaptures": {group: {"name": scope} for group, scope in scopes.items()},
            "patterns": [regex, rule(ARITHMETIC, "/(?!\\\\)"), *FORMULA],
        }
        for begin, scopes in begins
    ]
    return [rule(COMMENT, r"^\s*//.*$"), *headers(SPEC_KEYS)[:1], *lines]


def grammars() -> dict[str, dict[str, Any]]:
    """Return the grammar of each language by its file suffix, without a dot; scopes end in the suffix."""
    patterns = {
        "ltl": [*headers(FormulaLayout.keys), *FORMULA],
        "srasp": [*headers(ProgramLayout.keys), *PROGRAM],
        "re": [*headers(RegexLayout.keys), *EXPRESSION],
        "cr": [*headers(CraspLayout.keys), *C_RASP],
        "spec": specification(),
    }
    named = {
        "ltl": "Temporal logic",
        "srasp": "S-RASP",
        "re": "Regular expression",
        "cr": "C-RASP",
        "spec": "Specification",
    }
    return {
        suffix: {
            "name": f"{named[suffix]} (hardsim)",
            "scopeName": f"source.hardsim.{suffix}",
            "fileTypes": [suffix],
            "patterns": [suffixed(one, suffix) for one in found],
        }
        for suffix, found in patterns.items()
    }


def suffixed(pattern: Any, suffix: str) -> Any:
    """Return a pattern with the suffix of the language appended to all its scopes, which is TextMate's convention."""
    if isinstance(pattern, list):
        return [suffixed(one, suffix) for one in pattern]
    if not isinstance(pattern, dict):
        return pattern
    return {
        key: f"{value}.hardsim.{suffix}" if key == "name" else suffixed(value, suffix) for key, value in pattern.items()
    }


def render(grammar: Mapping[str, Any]) -> str:
    """Return the text of a grammar file."""
    return json.dumps(grammar, indent=1, ensure_ascii=False) + "\n"


def path_of(suffix: str) -> Path:
    """Return the path of a grammar file."""
    return FOLDER / f"{suffix}.tmLanguage.json"


if __name__ == "__main__":
    for one, made in grammars().items():
        path_of(one).write_text(render(made), encoding="utf-8")
