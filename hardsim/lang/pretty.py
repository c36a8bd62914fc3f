"""Print formulas and formula files as text: ASCII operators, and only the brackets and quotes that are needed.

Parsing the text again gives the same tree (the same file), except for spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from textwrap import wrap
from typing import TypeAlias

from hardsim.lang import ast
from hardsim.lang.valuations import Valuations
from hardsim.lang.vocabulary import SINGLE, is_bare, joined_names, quoted
from hardsim.lang.words import has_long_symbols, written_word

# Binding strengths of operators; an operand that binds less tightly than its place requires gets brackets.
_ARROW, _OR, _XOR, _AND, _BINARY, _UNARY, _COMPARE, _SUM, _PRODUCT, _SIGNED, _ATOM = range(11)
_NARY = {"|": _OR, "^": _XOR, "&": _AND}
_WIDTH = 102

_Piece: TypeAlias = "str | tuple[ast.Node, int]"
"""Text, or an operand together with the binding strength that it needs to be printed without brackets."""


def format_formula(node: ast.Node) -> str:
    """Return the text of a formula or term."""
    return "".join(_texts(node))


def brief_formula(node: ast.Node, most: int) -> str:
    """Return the text of a formula or term, cut to at most `most` characters."""
    text = ""
    for part in _texts(node):
        text += part
        if len(text) > most:
            break
    return shortened(text, most)


def shortened(text: str, most: int) -> str:
    """Cut a text to at most `most` characters, at a space if there is one, and end it with `...`; a short text is
    unchanged."""
    if len(text) <= most:
        return text
    kept = text[: most - 3]
    return (kept[: kept.rindex(" ") + 1] if " " in kept else kept) + "..."


def _texts(node: ast.Node) -> Iterator[str]:
    """Yield the text of a node in parts. No recursion, so trees of any depth can be printed."""
    stack: list[_Piece] = [(node, _ARROW)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            yield piece
            continue
        own, pieces = _layout(piece[0])
        stack.extend(reversed(pieces if own >= piece[1] else ["(", *pieces, ")"]))


def _layout(node: ast.Node) -> tuple[int, list[_Piece]]:
    """Return the binding strength of a node, and its text with the operands still to be printed."""
    match node:
        case ast.Arrow(op, left, right):
            tail = _ARROW if op == "<->" and isinstance(right, ast.Arrow) and right.op == op else _OR
            return _ARROW, [(left, _OR), f" {op} ", (right, tail)]
        case ast.Nary(op, args):
            least = _AND if op == "|" else _NARY[op] + 1  # ^ beside | needs brackets
            return _NARY[op], _listed([(arg, least) for arg in args], f" {op} ")
        case ast.Binary(op, left, right):
            return _BINARY, [(left, _UNARY), f" {op} ", (right, _UNARY)]
        case ast.Not(arg):
            return _UNARY, ["!", (arg, _UNARY)]
        case ast.Unary(op, arg):
            return _UNARY, [_before(op, arg), (arg, _UNARY)]
        case ast.Bounded(op, least, most, args):
            bounds = f"{op}[{least}]" if op in SINGLE else f"{op}[{least},{most}]"
            if len(args) == 1:
                return _UNARY, [_before(bounds, args[0]), (args[0], _UNARY)]
            return _BINARY, [(args[0], _UNARY), f" {bounds} ", (args[1], _UNARY)]
        case ast.Compare(op, left, right):
            return _COMPARE, [(left, _SUM), f" {op} ", (right, _SUM)]
        case ast.Congruent(term, modulus, residue):
            return _COMPARE, [(term, _SUM), f" mod {modulus} = {residue}"]
        case ast.Sum(op, left, right):
            return _SUM, [(left, _SUM), f" {op} ", (right, _PRODUCT)]
        case ast.Product(left, right):
            return _PRODUCT, [(left, _PRODUCT), " * ", (right, _SIGNED)]
        case ast.Signed(op, arg):
            return _SIGNED, [op, (arg, _SIGNED)]
        case ast.Integer(value):
            return _ATOM if value >= 0 else _SIGNED, [str(value)]
        case ast.Count(side, formula):
            return _ATOM, [f"#{side}[", (formula, _ARROW), "]"]
        case ast.Predicate(name, params, argument):
            of: list[_Piece] = [] if argument is None else [(argument, _ARROW)]
            inside = _listed([*map(str, params), *of], ", ")
            return _ATOM, [name, "(", *inside, ")"] if inside else [name]
        case ast.Symbol(name):
            return _ATOM, [name if is_bare(name) else quoted(name)]
        case ast.Truth(truth):
            return _ATOM, ["true" if truth else "false"]
        case ast.Marker(text) | ast.Ref(text):
            return _ATOM, [text]
        case ast.Position():
            return _ATOM, ["pos"]
        case ast.Length():
            return _ATOM, ["len"]
        case _:
            raise TypeError(f"not a node of the surface syntax: {node!r}")


def _before(operator: str, arg: ast.Node) -> str:
    """Return a temporal operator as printed before its operand: without a space if the operand gets brackets."""
    loose = isinstance(arg, ast.Arrow | ast.Nary | ast.Binary) or (isinstance(arg, ast.Bounded) and len(arg.args) == 2)
    return operator if loose else f"{operator} "


def _listed(pieces: Iterable[_Piece], separator: str) -> list[_Piece]:
    """Return the pieces with a separator between any two."""
    return [part for piece in pieces for part in (separator, piece)][1:]


def format_file(file: ast.FormulaFile) -> str:
    """Return the text of a formula file: title, header, examples, predicates, definitions and formula, each on its
    own lines."""
    return f"{format_head(file)}{format_formula(file.formula)}\n"


def format_head(file: ast.FormulaFile) -> str:
    """Return the text of a formula file up to the line of the formula."""
    lines = [f"// {file.title}"] if file.title else []
    if isinstance(file.alphabet, Valuations):
        lines.append(f"props: {joined_names(file.alphabet.props)}")
        lines.extend(map(str, file.alphabet.constraints))
    else:
        lines.append(f"alphabet: {joined_names(file.alphabet)}")
    if file.origin:
        lines.append(f"source: {file.origin}")
    # An explicit `at: last` silences the note about formulas that look ahead, so it must stay in the text.
    silenced = ast.FUTURE_NOTE not in file.notes and ast.looks_ahead_only(file.formula, file.lets)
    if file.at != "last" or silenced:
        lines.append(f"at: {file.at}")
    for accept, examples in groupby(file.examples, key=lambda example: example.accept):
        words = [written_word(example.word, file.alphabet) for example in examples]
        if not has_long_symbols(file.alphabet):  # several words on each line
            words = wrap("  ".join(words), _WIDTH, break_long_words=False, break_on_hyphens=False)
        lines.extend(f"{'accept' if accept else 'reject'}: {word}" for word in words)
    for predicate in file.predicates:
        text = re.sub(r"\n(?=\S)", "\n  ", predicate.text)  # a line without indentation would end the definition
        lines.append(f"pred {predicate.name}({', '.join(predicate.params)}) = {text}")
    lines.extend(f"let {let.name} = {format_formula(let.body)}" for let in file.lets)
    return "".join(f"{line}\n" for line in lines)
