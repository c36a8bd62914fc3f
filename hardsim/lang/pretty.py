"""Formulas and files as text: ASCII operators, and only the brackets and quotes that are needed.

Reading the text again gives the same tree (the same file), spans aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

from hardsim.lang import ast
from hardsim.lang.vocabulary import is_bare, quoted
from hardsim.lang.walk import looks_ahead_only
from hardsim.lang.words import has_long_symbols

# How tightly an operator binds; an operand that binds less tightly than its place asks for gets brackets.
_ARROW, _OR, _XOR, _AND, _BINARY, _UNARY, _COMPARE, _SUM, _PRODUCT, _SIGNED, _ATOM = range(11)
_NARY = {"|": _OR, "^": _XOR, "&": _AND}
_WIDTH = 100

_Piece: TypeAlias = "str | tuple[ast.Node, int]"
"""Text, or an operand and how tightly it must bind to stand without brackets."""


def format_formula(node: ast.Node) -> str:
    """The text of a formula or term. No recursion, so trees of any depth can be printed."""
    out: list[str] = []
    stack: list[_Piece] = [(node, _ARROW)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
            continue
        inner, wanted = piece
        level, pieces = _layout(inner)
        if level < wanted:
            pieces = ["(", *pieces, ")"]
        stack.extend(reversed(pieces))
    return "".join(out)


def format_file(file: ast.FormulaFile) -> str:
    """The text of a file: title, header, examples, predicates, definitions and formula, each on lines of its own."""
    lines = [f"// {file.title}"] if file.title else []
    lines.append(f"alphabet: {' '.join(file.alphabet)}")
    if file.origin:
        lines.append(f"source: {file.origin}")
    # an `at: last` that was written silences a note, which would come back without it
    silenced = not file.notes and looks_ahead_only(file.formula, file.lets)
    if file.at != "last" or silenced:
        lines.append(f"at: {file.at}")
    for accept, examples in groupby(file.examples, key=lambda example: example.accept):
        key = "accept" if accept else "reject"
        words = [example.word for example in examples]
        lines.extend(f"{key}: {text}" for text in _word_lines(words, has_long_symbols(file.alphabet)))
    for predicate in file.predicates:
        text = re.sub(r"\n(?=\S)", "\n  ", predicate.text)  # a line without indentation would end the definition
        lines.append(f"pred {predicate.name}({', '.join(predicate.params)}) = {text}")
    lines.extend(f"let {let.name} = {format_formula(let.body)}" for let in file.lets)
    lines.append(format_formula(file.formula))
    return "\n".join(lines) + "\n"


def _word_lines(words: Sequence[tuple[str, ...]], long_symbols: bool) -> Iterable[str]:
    """The values of header lines for these words: one word each, or as many as fit."""
    if long_symbols:
        yield from (" ".join(word) for word in words)
        return
    line = ""
    for word in words:
        text = "".join(word)
        if line and len(line) + len(text) > _WIDTH:
            yield line
            line = ""
        line = f"{line}  {text}" if line else text
    yield line


def _layout(node: ast.Node) -> tuple[int, list[_Piece]]:
    """How tightly a node binds, and its text with the operands still to be printed."""
    match node:
        case ast.Arrow(op, left, right):
            tail = _ARROW if isinstance(right, ast.Arrow) and right.op == op else _OR
            return _ARROW, [(left, _OR), f" {op} ", (right, tail)]
        case ast.Nary(op, args):
            level = _NARY[op]
            pieces: list[_Piece] = [(args[0], level + 1)]
            for arg in args[1:]:
                pieces += [f" {op} ", (arg, level + 1)]
            return level, pieces
        case ast.Binary(op, left, right):
            tail = _BINARY if isinstance(right, ast.Binary) and right.op == op else _UNARY
            return _BINARY, [(left, _UNARY), f" {op} ", (right, tail)]
        case ast.Not(arg):
            return _UNARY, ["!", (arg, _UNARY)]
        case ast.Unary(op, arg):
            bracketed = isinstance(arg, ast.Arrow | ast.Nary | ast.Binary)  # all that binds less tightly
            return _UNARY, [op if bracketed else f"{op} ", (arg, _UNARY)]
        case ast.Compare(op, first, second):
            return _COMPARE, [(first, _SUM), f" {op} ", (second, _SUM)]
        case ast.Congruent(term, modulus, residue):
            return _COMPARE, [(term, _SUM), f" mod {modulus} = {residue}"]
        case _:
            return _term_layout(node)


def _term_layout(node: ast.Node) -> tuple[int, list[_Piece]]:
    match node:
        case ast.Sum(op, left, right):
            return _SUM, [(left, _SUM), f" {op} ", (right, _PRODUCT)]
        case ast.Product(left, right):
            return _PRODUCT, [(left, _PRODUCT), " * ", (right, _SIGNED)]
        case ast.Signed(op, arg):
            return _SIGNED, [op, (arg, _SIGNED)]
        case ast.Count(side, formula):
            return _ATOM, [f"#{side}[", (formula, _ARROW), "]"]
        case ast.Predicate(name, params, argument):
            args: list[_Piece] = [str(param) for param in params]
            args += [] if argument is None else [(argument, _ARROW)]
            pieces: list[_Piece] = [name]
            for index, item in enumerate(args):
                pieces += ["(" if index == 0 else ", ", item]
            return _ATOM, [*pieces, ")"] if args else pieces
        case _:
            return _ATOM, [_word(node)]


def _word(node: ast.Node) -> str:
    """The text of a node without operands."""
    match node:
        case ast.Symbol(name):
            return name if is_bare(name) else quoted(name)
        case ast.Ref(name):
            return name
        case ast.Truth(value):
            return "true" if value else "false"
        case ast.Marker(which):
            return which
        case ast.Integer(number):
            return str(number)
        case ast.Position():
            return "pos"
        case ast.Length():
            return "len"
        case _:
            raise TypeError(f"not a node of the surface syntax: {node!r}")
