"""The conditions of `pred` lines, such as `pred MIDDLE(i, n) = 2*i == n + 1`: a small language without surprises.

Loosest first: `or`; `and`; `not`; the comparisons `== = != < <= > >=`, which do not chain; `+ -`; `* div mod`; unary
`+ -`; `**`, which groups to the right. Operands are integers of any size up to `MAX_VALUE`, the two arguments, and
brackets; nothing else.

- `div` and `mod` round down, as `//` and `%` of Python do: `-7 div 2` is -4, `-7 mod 2` is 1, and `a mod b` has the
  sign of b. In formulas `mod` binds less tightly than `+ -`, here (as in Python) more tightly: where the two
  readings differ, as in `i + 1 mod 2`, brackets are required.
- `and` and `or` look at their right side only if the left one does not decide, so `c != 0 and n mod c == 0` is safe.
- `0 ** 0` is 1; `-2 ** 2` is -4.
- No value may be larger than `MAX_VALUE` in absolute value, the first argument included; a power that would be is
  refused without computing it. That, a negative exponent and a division by zero are errors at the operator.

A predicate is called as `holds(value, n)`: with the position, or with the value of the term it is applied to, which
may be 0, negative, or larger than n; n is the length of the word. It is called at every position of a word, whether
or not the rest of the formula needs its value there, so it must have one everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Final

from hardsim.errors import Source, SourceError
from hardsim.lang import ast
from hardsim.lang.condition import MAX_VALUE, Step, read_condition

__all__ = ["MAX_VALUE", "OwnPredicate", "compile_predicate", "user_predicates"]


@dataclass(frozen=True, slots=True)
class OwnPredicate:
    """A predicate that a file defines, ready to be called; it can be pickled.

    `program` is for a stack machine, so a long condition costs no recursion.
    """

    name: str
    params: tuple[str, ...]
    program: tuple[Step, ...]
    source: Source

    def __call__(self, value: int, n: int) -> bool:
        """Whether the predicate holds of an integer (a position or the value of a term) and the length n of the word.

        Raises:
            SourceError: at the operator that has no value for these two, or one beyond MAX_VALUE.
        """
        arguments = (int(value), int(n))  # a count of the oracle may be a bool, which would be shown as one
        stack: list[int] = []
        at = 0
        while at < len(self.program):
            step = self.program[at]
            at += 1
            match step.op:
                case "constant":
                    stack.append(step.operand)
                case "argument":
                    stack.append(self._argument(step, arguments))
                case "and" | "or":
                    # what is on top is the result if it decides; if not it makes room for the right side
                    if bool(stack[-1]) == (step.op == "or"):
                        at = step.operand
                    else:
                        stack.pop()
                case "not":
                    stack[-1] = not stack[-1]
                case "negate":
                    stack[-1] = -stack[-1]
                case _:
                    right = stack.pop()
                    stack[-1] = self._binary(step, stack[-1], right, arguments)
        return bool(stack[0])

    def _argument(self, step: Step, arguments: tuple[int, int]) -> int:
        value = arguments[step.operand]
        if abs(value) > MAX_VALUE:
            raise self._error(step, "the argument is larger than 10^18 in absolute value", arguments)
        return value

    def _binary(self, step: Step, left: int, right: int, arguments: tuple[int, int]) -> int:
        compare = _COMPARE.get(step.op)
        if compare is not None:
            return compare(left, right)
        written = f"{_shown(left)} {step.op} {_shown(right)}"
        if step.op in ("div", "mod"):
            if right == 0:
                hint = f"guard it, as in `x != 0 and n {step.op} x == 1`: the right side of `and` is then left out"
                raise self._error(step, f"division by zero in {written}", arguments, hint)
            return left // right if step.op == "div" else left % right
        if step.op == "**":
            if right < 0:
                raise self._error(step, f"negative exponent in {written}", arguments, "values are integers")
            result = _power(left, right)
        else:
            result = _ARITHMETIC[step.op](left, right)
        if abs(result) > MAX_VALUE:
            raise self._error(step, f"{written} is larger than 10^18 in absolute value", arguments)
        return result

    def _error(self, step: Step, message: str, arguments: tuple[int, int], hint: str = "") -> SourceError:
        given = ", ".join(f"{name} = {value}" for name, value in zip(self.params, arguments, strict=True))
        return SourceError(self.source, step.span, f"{self.name}: {message}, at {given}", hint=hint)


_COMPARE: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "==": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_ARITHMETIC: Final[Mapping[str, Callable[[int, int], int]]] = {"+": add, "-": sub, "*": mul}


def _power(base: int, exponent: int) -> int:
    """The power, or some number beyond MAX_VALUE if it is beyond; both arguments are within, the exponent is >= 0."""
    if abs(base) <= 1 or exponent <= MAX_VALUE.bit_length():
        return int(base**exponent)
    return 2 * MAX_VALUE  # |base| >= 2, so the power has more bits than MAX_VALUE


def _shown(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def compile_predicate(source: Source, predicate: ast.UserPredicate) -> OwnPredicate:
    """A `pred` line as a function of a value and the length of the word.

    Args:
        source: the text of the file; the span of the predicate's right-hand side is a place in it.
        predicate: the definition. One that was made without a span is cited by its own text.

    Raises:
        SourceError: for a right-hand side that is not a condition of the language above, at its first mistake.
    """
    start = predicate.span.start
    if predicate.span == ast.NO_SPAN:
        source, start = Source(f"<pred {predicate.name}>", predicate.text), 0
    program = read_condition(source, start, predicate.text, predicate.params)
    return OwnPredicate(predicate.name, predicate.params, program, source)


def user_predicates(file: ast.FormulaFile) -> dict[str, OwnPredicate]:
    """The predicates that a file defines, by name.

    Raises:
        SourceError: at the first mistake in one of them.
    """
    return {predicate.name: compile_predicate(file.source, predicate) for predicate in file.predicates}
