"""Mathematics of the pages: the part of TeX that they use, between dollar signs, becomes MathML.

Viewers of repositories typeset $...$ (inline) and $$...$$ (a line of its own) themselves. The site fetches nothing,
so it cannot load a script that does; browsers draw MathML without one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Code comes first in the pattern: a dollar sign in code is no mathematics.
CODE = r"^ *```.*?^ *```$|(`+)[^`].*?\1"
PARTS = re.compile(rf"{CODE}|\$\$(?P<block>.+?)\$\$|\$(?P<line>(?:[^$\n]|\n(?!\s*\n))+)\$", re.MULTILINE | re.DOTALL)
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)

LETTERS = {
    **{name: chr(0x3B1 + place) for place, name in enumerate(["alpha", "beta", "gamma", "delta"])},
    "epsilon": "ε",
    "eta": "η",
    "mu": "μ",
    "Sigma": "Σ",
    "theta": "θ",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "infty": "∞",
}
SIGNS = {
    "pm": "±",
    "le": "≤",
    "ge": "≥",
    "ne": "≠",
    "lt": "<",
    "gt": ">",
    "in": "∈",
    "to": "→",
    "cdot": "⋅",
    "times": "×",
    "bmod": "mod",
    "cup": "∪",
    "ldots": "…",
    "cdots": "⋯",
    "sum": "∑",
    "prod": "∏",
    "lbrace": "{",
    "rbrace": "}",
    "lvert": "|",
    "rvert": "|",
}
FUNCTIONS = {"log", "ln", "exp", "tanh", "min", "max"}
NUMBERS = {"N": "ℕ", "Z": "ℤ", "Q": "ℚ", "R": "ℝ"}
SPACES = {"quad": "1em", "qquad": "2em"}
# Python-Markdown would interpret these signs as markup.
MARKS = {sign: f"&#{ord(sign)};" for sign in "&<>*_[]`\\"}


def operator(sign: str) -> str:
    """Return an operator. As in TeX, brackets are no taller than letters; MathML would stretch them over subscripts.
    Bars are brackets, too, and have no space around them."""
    fixed = ' stretchy="false"' * (sign in "()[]{}|") + ' lspace="0" rspace="0"' * (sign == "|")
    return f"<mo{fixed}>{shown(sign)}</mo>"


class Formula:
    """A parser of one formula, which reads it from left to right.

    Raises:
        ValueError: if the formula contains something unknown; the message quotes the formula.
    """

    def __init__(self, tex: str) -> None:
        self.tex = tex
        self.tokens = [token for token in TOKEN.findall(tex) if not token.isspace()]
        self.place = 0

    def error(self, what: str) -> ValueError:
        return ValueError(f"{what} in the formula {self.tex!r}")

    def next(self) -> str:
        """Return the next token and go on after it."""
        if self.place == len(self.tokens):
            raise self.error("something is missing at the end")
        self.place += 1
        return self.tokens[self.place - 1]

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def row(self, end: str = "") -> str:
        """Return the parts up to a closing brace (or the end of the formula) as one element."""
        parts = []
        while self.peek() != end:
            parts.append(self.scripted())
        if end:
            self.next()
        return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"

    def scripted(self) -> str:
        """Return an atom with its subscript, superscript and primes."""
        base, below, above = self.atom(), "", ""
        while self.peek() in ("_", "^", "'"):
            sign = self.next()
            if sign == "_" and not below:
                below = self.atom()
            elif sign == "^" and not above:
                above = self.atom()
            elif sign == "'" and (not above or above.endswith("′</mo>")):
                above = f"{above[4:-5]}′".join(("<mo>", "</mo>"))
            else:
                raise self.error(f"a second {sign}")
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        if below:
            return f"<msub>{base}{below}</msub>"
        return f"<msup>{base}{above}</msup>" if above else base

    def atom(self) -> str:
        token = self.next()
        if token == "{":
            return self.row("}")
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        if token in "_^}":
            raise self.error(f"{token} out of place")
        return operator({"-": "−", "*": "∗"}.get(token, token))

    def command(self, name: str) -> str:
        if name in LETTERS:
            return f"<mi>{LETTERS[name]}</mi>"
        if name in SIGNS:
            return operator(SIGNS[name])
        if name in FUNCTIONS:
            # Browsers put no space between a function and an argument without brackets.
            space = "" if self.peek() in ("(", "_", "^", "") else '<mspace width="0.17em"/>'
            return f"<mrow><mi>{name}</mi>{space}</mrow>" if space else f"<mi>{name}</mi>"
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"/>'
        if name == "text":
            return f'<mi mathvariant="normal">{shown(self.verbatim())}</mi>'
        if name == "mathbb" and (letter := self.verbatim()) in NUMBERS:
            # Browsers ignore mathvariant except for upright letters: use the double-struck character itself.
            return f"<mi>{NUMBERS[letter]}</mi>"
        if name == "frac":
            return f"<mfrac>{self.atom()}{self.atom()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.atom()}</msqrt>"
        raise self.error(f"\\{name} is not known")

    def verbatim(self) -> str:
        """Return the letters between braces as they stand."""
        if self.next() != "{":
            raise self.error("no brace")
        start = self.place
        while self.next() != "}":
            pass
        return "".join(self.tokens[start : self.place - 1])


def shown(text: str) -> str:
    """Return a text as Markdown and HTML show it."""
    return "".join(MARKS.get(sign, sign) for sign in text)


def mathml(tex: str, block: bool = False) -> str:
    """Return a formula as an element of MathML."""
    if block:
        return f'<math display="block">{Formula(tex).row()}</math>'
    # Python-Markdown takes <math> at the start of a line for a block of its own; the span keeps it in its paragraph.
    return f"<span><math>{Formula(tex).row()}</math></span>"


def each(text: str, change: Callable[[str, bool], str]) -> str:
    """Return a page with each formula replaced by what `change` makes of its TeX, and of whether it is a block."""

    def replaced(found: re.Match[str]) -> str:
        if found["block"]:
            return change(found["block"], True)
        return change(found["line"], False) if found["line"] else found[0]

    return PARTS.sub(replaced, text)


def typeset(text: str) -> str:
    """Return a page with its formulas in MathML."""
    return each(text, mathml)
