"""The spellings of formulas and programs: the token for each text, the reserved words, and hints for unknown text.

Names that begin with `PROGRAM_` are for programs only; `COMMON` holds the spellings that both languages share.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from hardsim.errors import did_you_mean

Spellings: TypeAlias = Mapping[str, tuple[str, str]]
"""Maps each spelling to its terminal in the grammar and its canonical spelling."""

WORD = re.compile(r"\w+")
"""Letters, digits and underscores of any script."""
NUMBER = re.compile(r"[0-9]+")
NAME = re.compile(r"[^\W\d]\w*")
"""A name that `let` and `pred` may define, or an argument of `pred`."""
VECTOR_NAME = re.compile(r"[^\W\d](?:\w*_\?|\w*)")
"""A name of a vector or relation: a word that does not begin with a digit, perhaps with `_?` at its end."""
SYMBOL_PREFIX = "Q_"
# A closing quote counts only before white space, so that text such as `'a'b` stays one piece.
PIECE = re.compile(
    r"""'(?P<single>(?:''|[^'\s])+(?:[ ]+(?:''|[^'\s])+)*)'(?!\S)|"(?P<double>[^"\s]+(?:[ ]+[^"\s]+)*)"(?!\S)|\S+"""
)
"""One name in a list of names separated by white space; a quoted name may have spaces inside."""
LONGEST_SHOWN = 80
"""Greatest number of characters of a name or word that an error message repeats."""


def spelled(terminal: str, *operators: str) -> Spellings:
    """Return the spellings for a terminal. Each argument lists the spellings of one operator, the canonical one
    first."""
    return {each: (terminal, operator.split()[0]) for operator in operators for each in operator.split()}


def words_of(spellings: Spellings) -> Spellings:
    """Return the spellings that are words, not signs."""
    return {text: token for text, token in spellings.items() if WORD.fullmatch(text)}


COMMON: Spellings = {
    **spelled("ARROW", "<-> <=> ↔", "-> => →"),
    **spelled("AND", "& && ∧ and"),
    **spelled("OR", "| || ∨ or"),
    **spelled("XOR", "^ ⊕ xor"),
    **spelled("COMPARE", "<= ≤", ">= ≥", "!= ≠", "= ==", "<", ">"),
    **spelled("SIGN", "+", "-"),
    **spelled("STAR", "*"),
    **spelled("LPAR", "("),
    **spelled("RPAR", ")"),
    **spelled("RSQB", "]"),
    **spelled("COMMA", ","),
}
_OPERATORS: Spellings = {
    **COMMON,
    **spelled("MODULO", "mod"),
    **spelled("AND", "& /\\"),
    **spelled("OR", "| \\/"),
    **spelled("UNARY", "! ~ ¬ not", "X ○ ◯", "WX wX N", "Y", "WY Z", "O", "H", "F <> ◇", "G [] □"),
    **spelled("BINARY", "U", "R V", "W", "M", "S", "T"),
}
PREDICATES: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("EVEN", "ODD", "PRIME", "SQUARE", "POW2"), (0, 1)),
    "MOD": (2, 3),
}
"""The numerical predicates, with the least and the greatest number of arguments; the last argument is the term,
which may be left out, and MOD has m and r before it."""
CONSTANTS = ("true", "false", "first", "last", "pos", "len")
FORMULAS: Spellings = {
    **_OPERATORS,
    **spelled("CONSTANT", "true ⊤", "false ⊥", *CONSTANTS[2:]),
    **spelled("PREDICATE", *PREDICATES),
}
YIELDING: Spellings = {
    **spelled("CONSTANT", "true True TRUE tt", "false False FALSE ff", "first start"),
    **spelled("UNARY", "! NOT", "O once", "H historically", "Y prev pre"),
    **spelled("BINARY", "S since"),
    **spelled("AND", "& AND"),
    **spelled("OR", "| OR"),
    **spelled("XOR", "^ XOR"),
    **spelled("ARROW", "-> implies IMPLIES IMP", "<-> iff IFF EQUIV BIIMP"),
}
"""Spellings of other tools. A symbol or name of the file with the same spelling takes precedence over the operator."""
WORD_OPERATORS = frozenset(words_of(_OPERATORS))
"""Words that are operators in formulas."""
PREFIXES = re.compile(r"WX|wX|WY|[XNYZOHFG]")
"""Unary temporal operators that may precede a letter or digit without a space, as in `GFa`."""
PAIRED, SINGLE = frozenset("FGOHUS"), frozenset({"X", "WX", "Y", "WY"})
"""The operators that take two bounds, as in `F[0,3]`, and those that take a number of steps, as in `X[3]`."""
UNBOUNDED = {
    "F": "X[{n}] F a, with the strong X",
    "G": "N[{n}] G a",
    "O": "Y[{n}] O a",
    "H": "Z[{n}] H a",
    "U": "G[0,{m}] a & X[{n}] (a U b), with the strong X",
    "S": "H[0,{m}] a & Y[{n}] (a S b)",
}
"""For each operator, a formula that means "within the bounds [n, infinity)", which cannot be written as bounds; m is n
- 1, and n is at least 1."""
DIALECTS = {"strong-next": "X", "weak-next": "WX"}
"""The canonical operator for a bare X in each dialect."""
HEADER_KEYS = ("alphabet", "props", "one-of", "at-most-one", "accept", "reject", "source", "at", "dialect")
KEYWORDS = frozenset({"let", "pred"})
RESERVED = frozenset(words_of(FORMULAS)) | KEYWORDS
"""Words that are never names, and never symbols unless quoted."""

PROGRAMS: Spellings = {
    **COMMON,
    **spelled("NOT", "! ~ ¬ not"),
    **spelled("TRUTH", "true ⊤", "false ⊥"),
    **spelled("ATTENTION", "leftmost leftmost_j", "rightmost rightmost_j"),
    **spelled("PSUM", "psum psum_j"),
    **spelled("COUNT_J", "count_j"),
    **spelled("MEAN_J", "mean_j"),
    **spelled("CONDITIONAL", "?"),
    **spelled("COLON", ":"),
    **spelled("LSQB", "["),
    **spelled("LBRACE", "{"),
    **spelled("RBRACE", "}"),
}
INDICES = frozenset({"i", "j"})
PROGRAM_VECTORS = frozenset({"in", "pos", "len"})
PROGRAM_RESERVED = frozenset(words_of(PROGRAMS)) | INDICES | PROGRAM_VECTORS | {"rel"}
"""Words that are never names of vectors and relations; neither are words that begin with Q_."""

_CONNECTIVES: Mapping[str, str] = {
    "->": "implies imp then",
    "<->": "iff equivalent equiv biimp",
    "true": "tt",
    "false": "ff",
}
_TEMPORAL: Mapping[str, str] = {
    "S": "since 𝒮 𝓢",
    "U": "until 𝒰 𝓤",
    "R": "release releases",
    "W": "weakuntil weak_until unless",
    "M": "strongrelease strong_release",
    "T": "trigger triggers triggered",
    "G": "always globally henceforth",
    "F": "eventually finally sometime sometimes",
    "X": "next nexttime tomorrow",
    "WX": "weaknext weak_next",
    "Y": "pre previous previously prev yesterday",
    "WY": "weakprevious weak_previous weakyesterday weak_yesterday",
    "O": "once",
    "H": "historically",
}
"""Names of operators in other languages, by our operator."""
_LATEX: Mapping[str, str] = {
    "&": "land wedge",
    "|": "lor vee",
    "!": "lnot neg",
    "^": "oplus",
    "->": "to rightarrow longrightarrow Rightarrow implies",
    "<->": "leftrightarrow Leftrightarrow iff",
    "<=": "leq le",
    ">=": "geq ge",
    "!=": "neq ne",
    "*": "cdot times",
    "true": "top",
    "false": "bot",
}
_LATEX_TEMPORAL: Mapping[str, str] = {
    "G": "Box square",
    "F": "Diamond lozenge diamond",
    "X": "bigcirc Circle circ",
    "H": "blacksquare",
    "O": "blacklozenge",
    "Y": "ominus",
}
OVERLONG = re.compile(r"&{3,}|\|{3,}|<?-{2,}>|<?={2,}>|!==|={3,}|>>")
"""Operators of other languages that begin like one of ours; none of them can occur in a formula or program."""
_OVERLONG = {"&": "&", "|": "|", "->": "--> ==> >>", "<->": "<--> <==>", "!=": "!==", "=": "==="}


def _written(names: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Return a hint for each foreign name: the operator to write in its place."""
    return {
        prefix + name: f"{prefix}{name} is written {operator}"
        for operator, several in names.items()
        for name in several.split()
    }


FOREIGN: Mapping[str, str] = {
    **_written(_CONNECTIVES),
    **_written(_TEMPORAL),
    "P": "P of other tools is written O (at this position or an earlier one) or Y (at the one before)",
    **{
        path + operator: f"there are no path quantifiers (A and E of CTL): write {operator}"
        for path in "AE"
        for operator in "GFX"
    },
    "count": "a count is written #L[a], #R[a] or #[a]",
}
"""Hints for words that are operators in other languages."""

_LOOK_ALIKES: Mapping[str, str] = {
    **_written(_LATEX, "\\"),
    **_written(_OVERLONG),
    "&": "and is written &",
    "|": "or is written |",
    "$": "leave out LaTeX's $",
    **dict.fromkeys("×·", "a product is written *"),
    "−": "minus is written -",
    "⇒": "implication is written ->",
    "⇔": "equivalence is written <->",
    "//": "a comment needs a space before it",
    '"': "a symbol is quoted with single quotes, as in '('",
    **dict.fromkeys("‘’", "a symbol is quoted with straight quotes, as in '('"),
}
LOOK_ALIKES: Mapping[str, str] = {
    **_LOOK_ALIKES,
    "%": "the remainder is written (t) mod m = r",
    "/": "there is no division: multiply both sides",
    "⟹": "implication is written ->",
    "≡": "equivalence is written <->",
    **_written(_TEMPORAL, "\\"),
    **_written(_LATEX_TEMPORAL, "\\"),
    **dict.fromkeys("◻⬜▢☐", "always is written G"),
    **dict.fromkeys("⋄◊♢⬦", "eventually is written F"),
    **dict.fromkeys("■◼⬛", "historically is written H"),
    **dict.fromkeys("◆⧫♦", "once is written O"),
    **dict.fromkeys("●⊖", "yesterday is written Y"),
    **dict.fromkeys("←⃖", "a count up to this position is written #L[a]"),
    ";": "a formula has no mark at its end",
    **dict.fromkeys(".@$-", "write a name with signs in quotes, as in 'door.open'"),
    "[": "square brackets occur in counts, as in #L[a], in bounds, as in F[0,3], and in [] and X[!] only",
    **dict.fromkeys("{}", "use round brackets: ( ); braces contain one proposition alone, as in {p}"),
    '"': "a quoted name has spaces only inside, as in \"a\" or 'send invoice'",
    "#": "a count is written #L[a], #R[a] or #[a]; a comment begins with //",
    ":": "a header line is a key of letters and a colon, before the definitions and the formula",
}
"""Hints for characters that are no operators of formulas."""
PROGRAM_LOOK_ALIKES: Mapping[str, str] = {
    **_LOOK_ALIKES,
    ":=": "each statement begins on a line of its own, without indentation",
    ";": "statements are separated by line ends",
    **dict.fromkeys("◁◄", "leftmost attention is written ◀ or leftmost"),
    **dict.fromkeys("▷►", "rightmost attention is written ▶ or rightmost"),
    "∈": "membership is written in, as in in(i) in { 'a', 'b' }",
    "/": "there is no division; a fraction of two integers, as in m(i) >= 1/2, can be compared with a mean",
    "%": "there is no division, and no remainder; a percentage is a fraction, as in m(i) >= 1/2",
    "#": "the blank is quoted, as in '#'; a comment begins with //",
}


def is_bare(symbol: str) -> bool:
    """Return True if a symbol needs no quotes where a formula is expected."""
    return WORD.fullmatch(symbol) is not None and symbol not in RESERVED and not symbol.startswith(SYMBOL_PREFIX)


def brief(text: str) -> str:
    """Return a piece of the user's text in quotes, shortened if it is long, for use inside a sentence."""
    return repr(text) if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN // 2]!r}... ({len(text)} characters)"


def quoted(symbol: str) -> str:
    """Put a symbol in quotes; a quote inside it is doubled."""
    doubled = symbol.replace("'", "''")
    return f"'{doubled}'"


def unquoted(piece: str) -> str:
    """Return the name in a piece of a list of names: the text inside its quotes, or the piece itself."""
    match = PIECE.fullmatch(piece)
    if match is None or match.lastgroup is None:
        return piece
    return match[match.lastgroup].replace("''", "'") if match.lastgroup == "single" else match[match.lastgroup]


def is_name(text: str) -> bool:
    """Return True if a text can be a symbol: it is not empty, and its only white space is spaces inside."""
    return bool(text) and text == text.strip() and not any(char.isspace() and char != " " for char in text)


def open_quote(pieces: Sequence[str]) -> int | None:
    """Return the index of the first piece of a list of names that opens a quote without closing it, as in `'a b','c d'`
    and `' a'`; a later piece ends or contains that quote. None if there is none. A quote that is a symbol may be a
    piece."""
    plain = [(index, piece) for index, piece in enumerate(pieces) if unquoted(piece) == piece]
    for index, piece in plain:
        mark = piece[:1]
        if mark in ("'", '"') and piece[1:2] != mark:
            ends = [one for later, one in plain if later > index and mark in one[1:]]
            # A quote alone is a symbol, unless a later piece ends with it, as in `' a'`.
            if any(one.endswith(mark) for one in ends) if piece == mark else ends:
                return index
    return None


def split_names(text: str) -> list[str]:
    """Split a text at white space into names; names with spaces are quoted."""
    return [unquoted(match[0]) for match in PIECE.finditer(text)]


def joined_names(names: Iterable[str]) -> str:
    """Join names to a text that `split_names` reads back."""
    # a name that contains a space, or may open a quote whatever the names beside it, is quoted
    return " ".join(quoted(name) if " " in name or (len(name) > 1 and name[0] in "'\"") else name for name in names)


def symbol_hint(text: str, symbols: Collection[str]) -> str:
    """Return a hint on how to quote a symbol if the text is a symbol of the alphabet, else ""."""
    return f"the symbol {text} is written {quoted(text)}" if text in symbols else ""


def other_syntax_hint(word: str) -> str:
    """Return the hint for a word that is an operator in other languages; "" if the word is not."""
    # `P` differs from `p`, so the exact spelling comes first
    return FOREIGN.get(word) or FOREIGN.get(word.lower(), "")


def name_hint(word: str, names: Iterable[str], others: Iterable[str] = ()) -> str:
    """Return a hint with the name that an unknown word may be a misspelling of, or ""; `others` count only if they
    differ in case alone."""
    folded = [name for name in others if name.casefold() == word.casefold()]
    known = list(names)
    exact = [name for name in known if name.casefold() == word.casefold()]
    return did_you_mean(word, exact or folded or known)
