"""Reading `.srasp` programs: the entrance to the language."""

from __future__ import annotations

from pathlib import Path

from hardsim.errors import Source, SourceError, Span
from hardsim.files import LARGEST_TEXT, read_bytes
from hardsim.lang.files import normalised
from hardsim.lang.parse import decoded
from hardsim.lang.raw import Lexeme
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.header import find_alphabet, given_symbols, read_examples, read_output, read_pad
from hardsim.lang.srasp.layout import Layout, lay_out
from hardsim.lang.srasp.lexer import tokenize
from hardsim.lang.srasp.relation import read_relation
from hardsim.lang.srasp.scope import Scope
from hardsim.lang.srasp.statement import read_right_hand_side
from hardsim.lang.srasp.walk import references


def load_program(path: Path | str) -> ast.Program:
    """Read and parse a `.srasp` file.

    Raises InputError if there is no such file or it cannot be read, SourceError for what is wrong inside it.
    """
    return parse_program_bytes(read_bytes(path, LARGEST_TEXT), str(path))


def parse_program_bytes(data: bytes, name: str) -> ast.Program:
    """Parse the bytes of a `.srasp` file; `name` is what errors cite.

    Raises SourceError for what is wrong inside it.
    """
    return parse_program(decoded(data, name), name)


def parse_program(text: str, name: str = "<text>") -> ast.Program:
    """Parse the text of a whole program; `name` is what errors cite.

    Raises SourceError with the place of the first mistake. Spans are offsets in the text with a byte order mark removed
    and `\\n` line ends, which is the result's `source`.
    """
    source = Source(name, normalised(text))
    if not source.text.strip():
        expected = "an alphabet: line and statements"
        raise SourceError(source, Span(0, 1), "the file is empty", expected, "a small program: Y(i) := Q_a(i) | Q_b(i)")
    layout = lay_out(source)
    if not layout.statements:
        hint = "as in Y(i) := rightmost_j[j<i, 1] Q_a(j) : 0"
        raise SourceError(source, layout.end, "a program without statements", "NAME(i) := ...", hint)
    scope, statements = _statements(layout)
    output = read_output(layout, statements)
    acceptor = scope.vectors[output] is ast.Sort.BOOL
    origin = layout.header("source")
    return ast.Program(
        alphabet=scope.alphabet,
        statements=statements,
        output=output,
        relations=tuple(scope.relations.values()),
        pad=read_pad(layout),
        examples=read_examples(layout, scope.alphabet, acceptor, output),
        origin=layout.value(origin) if origin else "",
        title=layout.title,
        notes=_notes(layout, statements, output),
        source=source,
    )


def _statements(layout: Layout) -> tuple[Scope, tuple[ast.Statement, ...]]:
    """Read relations and statements in the order of the text; the scope has all of them at the end."""
    source = layout.source
    given = given_symbols(layout)
    tokens = [tokenize(source, line.body, given or ()) for line in layout.statements]
    declared = [_declared(layout, span, given or ()) for span in layout.declarations]
    mentioned = [token for line in tokens for token in line if token.kind == "SYMBOL"]
    alphabet = find_alphabet(layout, given, declared, mentioned)
    later = {line.name: line.at for line in layout.statements}
    scope = Scope(source, alphabet, padded=layout.header("pad") is not None, later=later)
    for relation in layout.relations:
        scope.relations[relation.name] = read_relation(scope, relation)
    statements = []
    for line, line_tokens in zip(layout.statements, tokens, strict=True):
        scope.current = line.name
        right = read_right_hand_side(scope, line_tokens, line.body)
        scope.vectors[line.name] = right.sort
        statements.append(ast.Statement(line.name, right, span=line.at))
    return scope, tuple(statements)


def _declared(layout: Layout, span: Span, symbols: tuple[str, ...]) -> Lexeme:
    """The symbol of a bare line `Q_a(i)`."""
    first, *rest = tokenize(layout.source, span, symbols)
    argument = [token.value for token in rest]
    if argument and argument != ["(", "i", ")"]:
        place = Span(rest[0].span.start, rest[-1].span.end)
        hint = "each symbol is declared on a line of its own; a vector is defined by NAME(i) := ..."
        raise SourceError(layout.source, place, "a declaration is Q_a(i) alone", "(i) or the end of the line", hint)
    return first


def _notes(layout: Layout, statements: tuple[ast.Statement, ...], output: str) -> tuple[str, ...]:
    """Remarks on what is likely not meant: vectors that the output does not need."""
    needed = {output}
    for statement in reversed(statements):
        if statement.name in needed:
            needed |= references(statement.right)
    unused = [statement.name for statement in statements if statement.name not in needed]
    return tuple(f"the output {output} does not need the vector {name}" for name in unused)
