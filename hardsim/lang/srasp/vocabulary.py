"""The spellings of `.srasp` programs: which characters and words are which token, and what is reserved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

TokenKind: TypeAlias = Literal[
    "ATTENTION", "PSUM", "ARROW", "OR", "XOR", "AND", "NOT", "COMPARE", "MEMBER", "SIGN", "STAR", "QUESTION", "COLON",
    "WORD", "SYMBOL", "NUMBER", "QUOTED", "TRUTH", "LPAR", "RPAR", "LSQB", "RSQB", "LBRACE", "RBRACE", "COMMA",
]  # fmt: skip
"""The terminals of srasp.lark."""

WORDS: Mapping[str, tuple[TokenKind, str]] = {
    **dict.fromkeys(("leftmost", "leftmost_j"), ("ATTENTION", "leftmost")),
    **dict.fromkeys(("rightmost", "rightmost_j"), ("ATTENTION", "rightmost")),
    **dict.fromkeys(("psum", "psum_j"), ("PSUM", "psum")),
    "not": ("NOT", "!"),
    "and": ("AND", "&"),
    "or": ("OR", "|"),
    "xor": ("XOR", "^"),
    "true": ("TRUTH", "true"),
    "false": ("TRUTH", "false"),
}
"""Words that are no names: the token and its canonical spelling."""

SIGNS: Mapping[str, tuple[TokenKind, str]] = {
    **dict.fromkeys(("<->", "<=>", "↔"), ("ARROW", "<->")),
    **dict.fromkeys(("->", "=>", "→"), ("ARROW", "->")),
    **dict.fromkeys(("&&", "&", "∧"), ("AND", "&")),
    **dict.fromkeys(("||", "|", "∨"), ("OR", "|")),
    **dict.fromkeys(("^", "⊕"), ("XOR", "^")),
    **dict.fromkeys(("!", "~", "¬"), ("NOT", "!")),
    **dict.fromkeys(("<=", "≤"), ("COMPARE", "<=")),
    **dict.fromkeys((">=", "≥"), ("COMPARE", ">=")),
    **dict.fromkeys(("!=", "≠"), ("COMPARE", "!=")),
    **dict.fromkeys(("==", "="), ("COMPARE", "=")),
    "<": ("COMPARE", "<"),
    ">": ("COMPARE", ">"),
    "+": ("SIGN", "+"),
    "-": ("SIGN", "-"),
    "*": ("STAR", "*"),
    "?": ("QUESTION", "?"),
    ":": ("COLON", ":"),
    "⊤": ("TRUTH", "true"),
    "⊥": ("TRUTH", "false"),
    "(": ("LPAR", "("),
    ")": ("RPAR", ")"),
    "[": ("LSQB", "["),
    "]": ("RSQB", "]"),
    "{": ("LBRACE", "{"),
    "}": ("RBRACE", "}"),
    ",": ("COMMA", ","),
}  # fmt: skip
"""Punctuation: the token and its canonical spelling. The longest spelling that fits is taken."""

TRIANGLE = re.compile(r"(?P<side>[◀▶])[\ufe0e\ufe0f]?(?P<index>_\w*)?")
"""Attention as the papers draw it; a selector of the text or emoji form of the triangle means nothing."""
TRIANGLES: Mapping[str, str] = {"◀": "leftmost", "▶": "rightmost"}

INDICES = frozenset({"i", "j"})
BUILT_IN = frozenset({"in", "pos", "len"})
RESERVED = frozenset(WORDS) | INDICES | BUILT_IN | {"rel"}
"""Words that are never names of vectors and relations; neither is a word that begins with Q_."""
HEADER_KEYS = ("alphabet", "source", "output", "pad", "accept", "reject", "map")
REPEATED_KEYS = frozenset({"accept", "reject", "map"})

NAME = re.compile(r"[^\W\d](?:\w*_\?|\w*)")
"""What a vector or relation may be called: a word that does not begin with a digit, perhaps with `_?` at its end."""
SYMBOL_PREFIX = "Q_"

LOOK_ALIKES: Mapping[str, str] = {
    ":=": "each statement begins on a line of its own, without indentation",
    ";": "statements are separated by line ends",
    "◁": "leftmost attention is written ◀ or leftmost",
    "◄": "leftmost attention is written ◀ or leftmost",
    "▷": "rightmost attention is written ▶ or rightmost",
    "►": "rightmost attention is written ▶ or rightmost",
    "∈": "membership is written in, as in in(i) in { 'a', 'b' }",
    "·": "a product is written *",
    "×": "a product is written *",
    "−": "minus is written -",
    "/": "there is no division",
    "%": "there is no division, and no remainder",
    "//": "a comment needs a space before it",
    '"': "a symbol is quoted with single quotes, as in '('",
    "‘": "a symbol is quoted with straight quotes, as in '('",
    "’": "a symbol is quoted with straight quotes, as in '('",
    "#": "the blank is quoted, as in '#'",
    "⇒": "implication is written ->",
    "⇔": "equivalence is written <->",
}
"""Hints for characters that are no operator here."""
