"""SMT-LIB 2 queries for the numerical steps of proofs, and the terms in them: numbers, sums, and functions of positions
and lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from hardsim.lang.arith import (
    Arith,
    Complement,
    Constant,
    Expression,
    Indicator,
    Negation,
    Operation,
    Variable,
    linear_form,
)
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Rational
from hardsim.proof.shared.ratios import NAMES, Ratio
from hardsim.proof.shared.result import NotProved
from hardsim.visible import visible

MOST_TERMS = 400
"""Largest number of terms of the series of e^g, enough for every g up to 100."""


@dataclass(frozen=True, slots=True)
class Query:
    """Query for one step: the head or clip that it is about, the kind of step, the claim as text, and the commands
    that deny the claim."""

    about: str
    kind: str
    claim: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """Query as text, in an assertion level of its own."""
        # An SMT-LIB string ends at a double quote.
        message = visible(f"{self.about}: {self.claim}").replace('"', "'")
        body = "\n".join(self.lines)
        return f'(push 1)\n; {self.kind}\n(echo "{message}")\n{body}\n(set-info :status unsat)\n(check-sat)\n(pop 1)\n'


def text_of(queries: Sequence[Query], title: str, defined: Iterable[str]) -> str:
    """Return queries as the text of one file, after the shared definitions `defined`."""
    head = [
        f"; {visible(title)}: the numerical steps of the proof for every length.",
        f"; {len(queries)} queries. Each denies one step: the answer unsat confirms the step. Its claim is echoed.",
        "(set-logic ALL)",
        *defined,
    ]
    return "\n".join([*head, "", *(query.text for query in queries)])


# ---- terms ----


def number(value: Rational) -> str:
    """Return a rational as an SMT term of sort Real."""
    exact = Fraction(value)
    size = f"{abs(exact.numerator)}.0"
    size = size if exact.denominator == 1 else f"(/ {size} {exact.denominator}.0)"
    return f"(- {size})" if exact < 0 else size


def total(parts: Iterable[str]) -> str:
    """Return the sum of terms."""
    terms = list(parts)
    return "0.0" if not terms else terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"


def times(factor: Rational, term: str) -> str:
    """Return a term times a rational factor."""
    return term if factor == 1 else f"(* {number(factor)} {term})"


def both(parts: Iterable[str]) -> str:
    """Return the conjunction of formulas."""
    terms = list(parts)
    return "true" if not terms else terms[0] if len(terms) == 1 else f"(and {' '.join(terms)})"


def either(parts: Iterable[str]) -> str:
    """Return the disjunction of formulas."""
    terms = list(parts)
    return "false" if not terms else terms[0] if len(terms) == 1 else f"(or {' '.join(terms)})"


def ratio(value: Any) -> str:
    """Return a rational function of positions and the length as a term, in the variables' names."""
    if not isinstance(value, Ratio):
        return number(value)
    top, bottom = (_polynomial(part) for part in (value.top, value.bottom))
    return top if bottom == "1.0" else f"(/ {top} {bottom})"


def _polynomial(poly: Any) -> str:
    parts = []
    for powers, c in poly.to_dict().items():
        factors = [name for name, power in zip(NAMES, powers, strict=True) for _ in range(power)]
        coefficient = number(Fraction(int(c.p), int(c.q)))
        parts.append(f"(* {coefficient} {' '.join(factors)})" if factors else coefficient)
    return total(parts)


def expression(function: Arith) -> str:
    """Return an expression in i and n as a term in the way it is written; powers of -1 become the parities. Raises
    NotProved if the expression has other functions."""

    def power(left: Expression, right: Expression) -> str:
        if left == Negation(Constant(1)):
            found = linear_form(right, ("i", "n"))
            if found is None:
                raise NotProved(f"{function} has a power of -1 whose exponent is not linear in i and n")
            odd = [sign for sign, often in zip(("si", "sn", "(- 1.0)"), found, strict=True) if often % 2]
            return f"(* {' '.join(odd)})" if len(odd) > 1 else odd[0] if odd else "1.0"
        if not isinstance(right, Constant):
            raise NotProved(f"{function} has a power whose exponent is not a constant")
        factors = [spelled(left)] * right.value
        return f"(* {' '.join(factors)})" if len(factors) > 1 else factors[0] if factors else "1.0"

    def remainder(left: Expression, divisor: int) -> str:
        # The number is an integer at every position, so `to_int` rounds nothing.
        if linear_form(left, ("i", "n")) is None:
            raise NotProved(f"{function} has a division with remainder of a term that is not linear in i and n")
        return f"(to_real (mod (to_int {spelled(left)}) {divisor}))"

    def spelled(tree: Expression) -> str:
        match tree:
            case Constant(value):
                return number(value)
            case Variable(name):
                return name
            case Negation(arg):
                return f"(- {spelled(arg)})"
            case Operation("^", left, right):
                return power(left, right)
            case Operation("+" | "-" | "*" | "/" as op, left, right):
                return f"({op} {spelled(left)} {spelled(right)})"
            case Indicator(condition):
                return f"(ite {rendered(condition)} 1.0 0.0)"
            case Operation("mod", left, Constant(divisor)) if divisor > 0:
                return remainder(left, divisor)
            case _:
                raise NotProved(f"{function} is not a rational function of i, n and powers of -1")

    def rendered(tree: Expression) -> str:
        match tree:
            case Complement(arg):
                return f"(not {rendered(arg)})"
            case Operation("and" | "or" as op, left, right):
                return f"({op} {rendered(left)} {rendered(right)})"
            case Operation("!=", left, right):
                return f"(not (= {spelled(left)} {spelled(right)}))"
            case Operation("<" | "<=" | "=" | ">=" | ">" as op, left, right):
                return f"({op} {spelled(left)} {spelled(right)})"
            case _:
                raise NotProved(f"{function} has a condition that compares no numbers")

    return spelled(function.tree)


def small(name: str, g: Fraction) -> tuple[str, ...]:
    """Return a definition of a number that is more than e^-g: one over the first terms of the series of e^g."""
    parts = [Fraction(1)]
    # Enough terms that the next ones change little: they fall once there are more than g.
    while len(parts) < MOST_TERMS and (len(parts) < g or parts[-1] * 2**80 > 1):
        parts.append(parts[-1] * g / len(parts))
    terms, series = len(parts), sum(parts, Fraction(0))
    message = f"; at least e^-g: one over 1 + g + ... + g^{terms - 1}/{terms - 1}!, g = {g}"
    return message, f"(define-fun {name} () Real (/ 1.0 {number(series)}))"
