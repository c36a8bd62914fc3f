"""Programs as text: ASCII operators, every argument written out, and only the brackets and quotes that are needed.

Reading the text again gives the same program, spans aside. The constants 0 and 1 are written so that inference finds
the sort they have: `+1` is the integer where `1` would be Boolean, `true` the Boolean where `1` would be an integer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from hardsim.lang.srasp import ast
from hardsim.lang.srasp.ast import Sort
from hardsim.lang.srasp.padding import show_word
from hardsim.lang.vocabulary import WORD, quoted

# How tightly an operator binds; an operand that binds less tightly than its place asks for gets brackets.
_CONDITIONAL, _ARROW, _OR, _XOR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGNED, _ATOM = range(11)
_NARY = {"|": _OR, "^": _XOR, "&": _AND}
_MASKS = {"1": "1", "j<i": "j < i", "j<=i": "j <= i", "j>i": "j > i", "j>=i": "j >= i"}

_Place: TypeAlias = Literal["open", "joined", "number", "counted"]
"""What inference knows of an expression from where it stands.

`open`: nothing, or that it is Boolean. `joined`: it has the sort of something else, which is integer if it is.
`number`: it is an operand of arithmetic. `counted`: it is an operand of arithmetic, and a Boolean.
"""
_Piece: TypeAlias = "str | tuple[ast.Expression, int, _Place]"
_Layout: TypeAlias = "tuple[int, list[_Piece]]"


def format_expression(node: ast.Expression) -> str:
    """The text of an expression that stands alone, as a right-hand side."""
    return _text(node, _CONDITIONAL, "open")


def format_right_hand_side(right: ast.RightHandSide) -> str:
    """The text of a statement after its `:=`."""
    match right:
        case ast.PositionWise(expr):
            return format_expression(expr)
        case ast.PrefixSum(value):
            return f"psum_j[j <= i] {_text(value, _CONDITIONAL, 'number')}"
        case ast.Attention(side, mask, score, value, default):
            place: _Place = "open" if _is_bit(value) and _is_bit(default) else "joined"
            head = f"{side}_j[{_MASKS[mask]}, {_text(score, _CONDITIONAL, 'open')}]"
            return f"{head} {_text(value, _ARROW, place)} : {_text(default, _CONDITIONAL, place)}"


def format_program(program: ast.Program) -> str:
    """The text of a program: title, header, examples, relations and statements, each on lines of its own."""
    return "\n".join([*_header(program), *_body(program)]) + "\n"


def _header(program: ast.Program) -> Iterator[str]:
    if program.title:
        yield f"// {program.title}"
    yield f"alphabet: {' '.join(program.alphabet)}"
    if program.origin:
        yield f"source: {program.origin}"
    if program.pad is not None:
        yield f"pad: {program.pad}"
    if program.output != program.statements[-1].name:
        yield f"output: {program.output}"
    for example in program.examples:
        word = show_word(program, example.word)
        if isinstance(example, ast.MapExample):
            yield f"map: {word} -> {show_word(program, example.output)}".rstrip()
        else:
            yield f"{'accept' if example.accept else 'reject'}: {word}"


def _body(program: ast.Program) -> Iterator[str]:
    for relation in program.relations:
        tuples = (" ".join(quoted(symbol) for symbol in symbols) for symbols in relation.tuples)
        yield f"rel {relation.name} = {{ {', '.join(tuples)} }}"
    for statement in program.statements:
        yield f"{statement.name}(i) := {format_right_hand_side(statement.right)}"


def _text(node: ast.Expression, level: int, place: _Place) -> str:
    """The text of an expression at a place that asks for a tightness. No recursion."""
    out: list[str] = []
    stack: list[_Piece] = [(node, level, place)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
            continue
        inner, wanted, inner_place = piece
        own, pieces = _layout(inner, inner_place)
        if own < wanted:
            pieces = ["(", *pieces, ")"]
        stack.extend(reversed(pieces))
    return "".join(out)


def _is_bit(node: ast.Expression) -> bool:
    """Whether inference alone would not know that an integer expression is one: 0, 1 and conditionals between them."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Conditional):
            stack += [node.then, node.otherwise]
        elif not (isinstance(node, ast.Integer) and node.value in (0, 1)):
            return False
    return True


def _layout(node: ast.Expression, place: _Place) -> _Layout:
    """How tightly a node binds, and its text with the operands still to be printed."""
    match node:
        case ast.Conditional(test, then, otherwise):
            inner = place
            if place != "counted" and node.sort is Sort.INT and not (place == "open" and _is_bit(node)):
                inner = "joined"
            branches: list[_Piece] = [(then, _ARROW, inner), " : ", (otherwise, _CONDITIONAL, inner)]
            return _CONDITIONAL, [(test, _ARROW, "open"), " ? ", *branches]
        case ast.Arrow(op, left, right):
            tail = _ARROW if isinstance(right, ast.Arrow) and right.op == op else _OR
            return _ARROW, [(left, _OR, "open"), f" {op} ", (right, tail, "open")]
        case ast.Nary(op, args):
            level = _NARY[op]
            pieces: list[_Piece] = [(args[0], level + 1, "open")]
            for arg in args[1:]:
                pieces += [f" {op} ", (arg, level + 1, "open")]
            return level, pieces
        case ast.Not(arg):
            return _NOT, ["!", (arg, _NOT, "open")]
        case ast.Compare(op, left, right):
            bits = op in ("=", "!=") and _is_bit(left) and _is_bit(right)
            sides: _Place = "open" if bits else "joined"
            return _COMPARE, [(left, _SUM, sides), f" {op} ", (right, _SUM, sides)]
        case ast.Member(arg, symbols):
            listed = ", ".join(quoted(symbol) for symbol in symbols)
            return _COMPARE, [(arg, _SUM, "open"), f" in {{ {listed} }}" if listed else " in { }"]
        case ast.Related(name, args):
            pieces = [f"{name}("]
            for index, arg in enumerate(args):
                pieces += [", " if index else "", (arg, _CONDITIONAL, "open")]
            return _ATOM, [*pieces, ")"]
        case _:
            return _number(node, place)


def _number(node: ast.Expression, place: _Place) -> _Layout:
    """`_layout` of arithmetic and of what has no operands."""
    match node:
        case ast.AsInteger(arg) if place == "number":
            return _layout(arg, "counted")
        case ast.AsInteger(arg):
            return _SIGNED, ["+", (arg, _SIGNED, "counted")]
        case ast.Sum(op, left, right):
            return _SUM, [(left, _SUM, "number"), f" {op} ", (right, _PRODUCT, "number")]
        case ast.Scale(-1, arg) if not isinstance(arg, ast.Integer):
            return _SIGNED, ["-", (arg, _SIGNED, "number")]
        case ast.Scale(factor, arg):
            return _PRODUCT, [f"{factor} * ", (arg, _SIGNED, "number")]
        case ast.Integer(value):
            sign = "+" if place == "open" and value in (0, 1) else ""
            return _ATOM if value >= 0 and not sign else _SIGNED, [f"{sign}{value}"]
        case ast.Truth(value):
            words = ("false", "true") if place == "counted" else ("0", "1")
            return _ATOM, [words[value]]
        case _:
            return _ATOM, [_vector(node)]


def _vector(node: ast.Expression) -> str:
    """The text of a vector at a position, or of a symbol."""
    match node:
        case ast.Letter(name):
            return quoted(name)
        case ast.HasSymbol(symbol, index):
            return f"Q_{symbol if WORD.fullmatch(symbol) else quoted(symbol)}({index})"
        case ast.Input(index):
            return f"in({index})"
        case ast.Position(index):
            return f"pos({index})"
        case ast.Length(index):
            return f"len({index})"
        case ast.Ref(name, index):
            return f"{name}({index})"
        case _:
            raise TypeError(f"not an expression: {node!r}")
