"""S-RASP programs as text: ASCII operators, every argument written out, and only the brackets and quotes that are
needed.

Parsing the text gives the same program, spans aside. The constants 0 and 1 are written so that inference finds
their sort: `+1` is the integer where `1` would be Boolean, `true` the Boolean where `1` would be an integer.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from hardsim.lang import ast
from hardsim.lang.vocabulary import WORD, quoted
from hardsim.lang.words import written_output, written_word

# How tightly an operator binds; an operand that binds less tightly than its place asks for gets brackets.
CONDITIONAL, ARROW, OR, XOR, AND, NOT, COMPARE, SUM, PRODUCT, SIGNED, ATOM = range(11)
NARY = {"|": OR, "^": XOR, "&": AND}
MASKS = {"1": "1", "j<i": "j < i", "j<=i": "j <= i", "j>i": "j > i", "j>=i": "j >= i"}

Place: TypeAlias = Literal["open", "joined", "number", "counted"]
"""Knowledge of type inference about an expression, from its place.

`open`: nothing, or that it is Boolean. `joined`: it has the same sort as another expression, which is an integer if
this one is. `number`: it is an operand of arithmetic. `counted`: it is an operand of arithmetic, and a Boolean.
"""


def format_program(program: ast.SraspProgram) -> str:
    """Return the text of a program: title, header, examples, relations and statements, each on lines of its own."""
    return "\n".join(_lines(program)) + "\n"


def _lines(program: ast.SraspProgram) -> Iterator[str]:
    if program.title:
        yield f"// {program.title}"
    yield f"alphabet: {' '.join(program.alphabet)}"
    if program.origin:
        yield f"source: {program.origin}"
    if program.pad is not None:
        yield f"pad: {program.pad}"
    if program.output != program.statements[-1].name:
        yield f"output: {program.output}"
    if program.assume:
        yield f"assume: {program.assume}"
    for example in program.examples:
        word = written_word(example.word, program.alphabet)
        if isinstance(example, ast.MapExample):
            yield f"map: {word} -> {written_output(example.output, program.alphabet)}".rstrip()
        else:
            yield f"{'accept' if example.accept else 'reject'}: {word}"
    for relation in program.relations:
        tuples = (" ".join(quoted(symbol) for symbol in symbols) for symbols in relation.tuples)
        yield f"rel {relation.name} = {{ {', '.join(tuples)} }}"
    for statement in program.statements:
        yield f"{statement.name}(i) := {format_right_hand_side(statement.right)}"


def format_right_hand_side(right: ast.RightHandSide) -> str:
    """Return the text of a statement after its `:=`."""
    match right:
        case ast.PositionWise(expr):
            return _text(expr, CONDITIONAL, "open")
        case ast.PrefixSum(value):
            return f"psum_j[j <= i] {_text(value, CONDITIONAL, 'number')}"
        case ast.MatchMean("1" | "j<=i" | "j>=i" as mask, ast.Truth(True), value, ast.RationalConstant(0)):
            return f"mean_j[{MASKS[mask]}] {_text(value, CONDITIONAL, 'number')}"
        case ast.MatchMean(mask, score, value, default):
            head = f"mean_j[{MASKS[mask]}, {_text(score, CONDITIONAL, 'open')}]"
            return f"{head} {_text(value, ARROW, 'number')} : {_text(default, CONDITIONAL, 'number')}"
        case ast.MatchCount(mask, score):
            return f"count_j[{MASKS[mask]}, {_text(score, CONDITIONAL, 'open')}]"
        case ast.Attention(side, mask, score, value, default):
            place: Place = "open" if _is_bit(value) and _is_bit(default) else "joined"
            head = f"{side}_j[{MASKS[mask]}, {_text(score, CONDITIONAL, 'open')}]"
            return f"{head} {_text(value, ARROW, place)} : {_text(default, CONDITIONAL, place)}"


def _is_bit(node: ast.Node) -> bool:
    """Return True if inference alone would not find that an integer expression is one: 0, 1 and conditionals of
    these.
    """
    if isinstance(node, ast.Conditional):
        return _is_bit(node.then) and _is_bit(node.otherwise)
    return isinstance(node, ast.Integer) and node.value in (0, 1)


def _text(node: ast.Node, level: int, place: Place) -> str:
    """Return the text of an expression, in brackets if it binds less tightly than `level`."""
    own, text = _arithmetic(node, place) if isinstance(node, ast.IntegerNode) else _logic(node, place)
    return text if own >= level else f"({text})"


def _logic(node: ast.Node, place: Place) -> tuple[int, str]:
    """Return how tightly an expression binds, and its text."""
    match node:
        case ast.Conditional(test, then, otherwise):
            if place != "counted" and node.sort is ast.Sort.INT and not (place == "open" and _is_bit(node)):
                place = "joined"
            branches = f"{_text(then, ARROW, place)} : {_text(otherwise, CONDITIONAL, place)}"
            return CONDITIONAL, f"{_text(test, ARROW, 'open')} ? {branches}"
        case ast.Arrow(op, left, right):
            tail = ARROW if op == "<->" and isinstance(right, ast.Arrow) and right.op == op else OR
            return ARROW, f"{_text(left, OR, 'open')} {op} {_text(right, tail, 'open')}"
        case ast.Nary(op, args):
            inside = NARY["&"] if op == "|" else NARY[op] + 1  # ^ beside | needs brackets
            return NARY[op], f" {op} ".join(_text(arg, inside, "open") for arg in args)
        case ast.Not(arg):
            return NOT, f"!{_text(arg, NOT, 'open')}"
        case ast.Compare(op, left, right):
            sides: Place = "open" if op in ("=", "!=") and _is_bit(left) and _is_bit(right) else "joined"
            return COMPARE, f"{_text(left, SUM, sides)} {op} {_text(right, SUM, sides)}"
        case ast.Member(arg, symbols):
            listed = f" {', '.join(map(quoted, symbols))} " if symbols else " "
            return COMPARE, f"{_text(arg, SUM, 'open')} in {{{listed}}}"
        case ast.Truth(value):
            return ATOM, (("false", "true") if place == "counted" else ("0", "1"))[value]
        case ast.Related(name, args):
            return ATOM, f"{name}({', '.join(_text(arg, CONDITIONAL, 'open') for arg in args)})"
        case ast.Ref(name, index):
            return ATOM, f"{name}({index})"
        case ast.InputSymbol(index):
            return ATOM, f"in({index})"
        case ast.HasSymbol(symbol, index):
            return ATOM, f"Q_{symbol if WORD.fullmatch(symbol) else quoted(symbol)}({index})"
        case ast.RationalConstant(value):
            return SIGNED, str(value)
        case ast.SymbolLiteral(name):
            return ATOM, quoted(name)
        case _:
            raise TypeError(f"not an expression: {node!r}")


def _arithmetic(node: ast.IntegerNode, place: Place) -> tuple[int, str]:
    """Return how tightly a numerical expression binds, and its text."""
    match node:
        case ast.AsInteger(arg) if place == "number":
            return _logic(arg, "counted")
        case ast.AsInteger(arg):
            return SIGNED, f"+{_text(arg, SIGNED, 'counted')}"
        case ast.Sum(op, left, right):
            return SUM, f"{_text(left, SUM, 'number')} {op} {_text(right, PRODUCT, 'number')}"
        case ast.Scale(-1, arg) if not isinstance(arg, ast.Integer):
            return SIGNED, f"-{_text(arg, SIGNED, 'number')}"
        case ast.Scale(factor, arg):
            return PRODUCT, f"{factor} * {_text(arg, SIGNED, 'number')}"
        case ast.Integer(value):
            sign = "+" if place == "open" and value in (0, 1) else ""
            return ATOM if value >= 0 and not sign else SIGNED, f"{sign}{value}"
        case ast.Position(index):
            return ATOM, f"pos({index})"
        case ast.Length(index):
            return ATOM, f"len({index})"
        case _:
            raise TypeError(f"not an expression: {node!r}")
