"""The spellings of `.ltl` expressions: which characters and words are which token, and what is reserved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

TokenKind: TypeAlias = Literal[
    "ARROW", "OR", "XOR", "AND", "BINARY", "UNARY", "COMPARE", "MODULO", "SIGN", "STAR",
    "WORD", "NUMBER", "QUOTED", "CONSTANT", "PREDICATE", "COUNT", "LPAR", "RPAR", "RSQB", "COMMA",
]  # fmt: skip
"""The terminals of ltl.lark."""

WORD_OPERATORS: Mapping[str, tuple[TokenKind, str]] = {
    "not": ("UNARY", "!"),
    "and": ("AND", "&"),
    "or": ("OR", "|"),
    "xor": ("XOR", "^"),
    "mod": ("MODULO", "mod"),
    **{word: ("UNARY", word) for word in ("X", "WX", "Y", "WY", "O", "H", "F", "G")},
    **dict.fromkeys(("wX", "N"), ("UNARY", "WX")),
    "Z": ("UNARY", "WY"),
    **{word: ("BINARY", word) for word in ("U", "R", "W", "M", "S", "T")},
    "V": ("BINARY", "R"),
}
"""Words that are operators: the token and its canonical spelling."""

SIGN_OPERATORS: Mapping[str, tuple[TokenKind, str]] = {
    **dict.fromkeys(("<->", "<=>", "↔"), ("ARROW", "<->")),
    **dict.fromkeys(("->", "=>", "→"), ("ARROW", "->")),
    **dict.fromkeys(("&&", "&", "∧"), ("AND", "&")),
    **dict.fromkeys(("||", "|", "∨"), ("OR", "|")),
    **dict.fromkeys(("^", "⊕"), ("XOR", "^")),
    **dict.fromkeys(("!", "~", "¬"), ("UNARY", "!")),
    **dict.fromkeys(("<>", "◇"), ("UNARY", "F")),
    **dict.fromkeys(("[]", "□"), ("UNARY", "G")),
    **dict.fromkeys(("<=", "≤"), ("COMPARE", "<=")),
    **dict.fromkeys((">=", "≥"), ("COMPARE", ">=")),
    **dict.fromkeys(("!=", "≠"), ("COMPARE", "!=")),
    **dict.fromkeys(("==", "="), ("COMPARE", "=")),
    "<": ("COMPARE", "<"),
    ">": ("COMPARE", ">"),
    "+": ("SIGN", "+"),
    "-": ("SIGN", "-"),
    "*": ("STAR", "*"),
    "⊤": ("CONSTANT", "true"),
    "⊥": ("CONSTANT", "false"),
    "(": ("LPAR", "("),
    ")": ("RPAR", ")"),
    "]": ("RSQB", "]"),
    ",": ("COMMA", ","),
}  # fmt: skip
"""Punctuation: the token and its canonical spelling. The longest spelling that fits is taken."""

CONSTANTS = frozenset({"true", "false", "first", "last", "pos", "len"})
PREDICATES: Mapping[str, tuple[int, int]] = {
    "EVEN": (0, 1),
    "ODD": (0, 1),
    "MOD": (2, 3),
    "PRIME": (0, 1),
    "SQUARE": (0, 1),
    "POW2": (0, 1),
}
"""The numerical predicates, with the least and the largest number of arguments."""
HEADER_KEYS = ("alphabet", "accept", "reject", "source", "at")
KEYWORDS = frozenset({"let", "pred"})
RESERVED = frozenset(WORD_OPERATORS) | CONSTANTS | frozenset(PREDICATES) | KEYWORDS
"""Words that are never names and never symbols without quotes."""

LOOK_ALIKES: Mapping[str, str] = {
    "/\\": "and is written &",
    "\\/": "or is written |",
    "%": "the remainder is written (t) mod m = r",
    "/": "there is no division: multiply both sides",
    "×": "a product is written *",
    "·": "a product is written *",
    "−": "minus is written -",
    "⇒": "implication is written ->",
    "⟹": "implication is written ->",
    "⇔": "equivalence is written <->",
    "≡": "equivalence is written <->",
    "○": "next is written X",
    "//": "a comment needs a space before it",
    '"': "a symbol is quoted with single quotes, as in '('",
    "‘": "a symbol is quoted with straight quotes, as in '('",
    "’": "a symbol is quoted with straight quotes, as in '('",
    "[": "square brackets occur in counts, as in #L[a], and in [] and X[!] only",
    "{": "brackets are round: ( )",
    "}": "brackets are round: ( )",
    "#": "a count is written #L[a], #R[a] or #[a]",
    ":": "a header line is a key of letters and a colon, before the definitions and the formula",
}
"""Hints for characters that are no operator here."""

WORD = re.compile(r"\w+")
"""Letters, digits and underscores of any script."""
NUMBER = re.compile(r"[0-9]+")
NAME = re.compile(r"[^\W\d]\w*")
"""What `let` and `pred` may define, and the argument names of `pred`."""


LONGEST_SHOWN = 80
"""Characters of a name or word that an error repeats."""


def is_bare(symbol: str) -> bool:
    """Whether a symbol may be written without quotes wherever a formula is expected."""
    return WORD.fullmatch(symbol) is not None and symbol not in RESERVED and not symbol.startswith("Q_")


def brief(text: str) -> str:
    """A piece of the user's text for the middle of a sentence, in quotes and never endless."""
    return repr(text) if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN // 2]!r}... ({len(text)} characters)"


def quoted(symbol: str) -> str:
    """The symbol in quotes; a quote inside is doubled."""
    doubled = symbol.replace("'", "''")
    return f"'{doubled}'"
