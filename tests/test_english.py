"""The language of the source text: first words of docstrings, phrases, names, and the share of comments."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FIRST_WORDS = ("The same", "That of", "What", "Whether", "Of")
"""Beginnings of docstrings that name no subject and no action."""
# Each phrase is split into words, so that this file does not contain it.
PHRASES = (("that", "others", "made"), ("is", "told"), ("is", "said"), ("held", "against"))
NAMES = {name for word in ("told", "asked", "meant", "wanted") for name in (word, word.capitalize())}
"""Names that say who speaks, and not which thing they name."""
LEAST_COMMENTS = 0.025
"""Least share of comments in the lines of hardsim/ that are neither blank nor docstrings."""
DIRECTIVES = re.compile(r"#\s*(type:|fmt:|noqa|pragma:|ruff:|!)")
"""Comments for tools, which explain nothing to a reader."""


def python_files(*folders: str) -> list[Path]:
    """Return the Python files below some folders of the project."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def text_files() -> list[Path]:
    """Return the files that must be free of PHRASES: sources, data of the package and of the tests, and pages."""
    folders = [path for folder in ("hardsim", "tests", "benchmarks") for path in (ROOT / folder).rglob("*")]
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG"))]
    return sorted(path for path in (*folders, *pages) if path.is_file() and "__pycache__" not in path.parts)


def docstrings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield docstrings, and strings that describe an assignment, with their lines."""
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        for child in getattr(node, field, ()):
            match child:
                case ast.Expr(ast.Constant(str(text))) if documented:
                    yield child.lineno, text.strip()
                case ast.stmt() | ast.ExceptHandler() | ast.match_case() if not isinstance(child, ast.Expr):
                    yield from docstrings(child)
            documented = isinstance(child, ast.Assign | ast.AnnAssign)


def bad_beginnings(text: str) -> list[str]:
    """Return the first lines of docstrings that begin with FIRST_WORDS, each with its line number."""
    begins = rf"({'|'.join(FIRST_WORDS)})\b"
    if not re.search(rf"[\"']\s*{begins}", text):  # most files need no parser, which is slow
        return []
    return [f"{line}: {doc.splitlines()[0]}" for line, doc in docstrings(ast.parse(text)) if re.match(begins, doc)]


def bad_phrases(text: str) -> list[str]:
    """Return the PHRASES of a text with their line numbers, also those that a line end (of a comment) splits."""
    gap = r"\s+(?:#\s*)?"
    phrase = re.compile("|".join(rf"\b{gap.join(words)}\b" for words in PHRASES), re.IGNORECASE)
    return [f"{text.count(chr(10), 0, hit.start()) + 1}: {' '.join(hit[0].split())}" for hit in phrase.finditer(text)]


def identifiers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names of functions, classes, parameters, attributes, variables and keyword arguments, by line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield node.lineno, name
            case ast.alias():
                yield node.lineno, node.asname or node.name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
                yield node.lineno, name


def bad_names(text: str) -> list[str]:
    """Return the identifiers that are one of NAMES, underscores aside, or begin with hold_."""
    forbidden = rf"_*({'|'.join(sorted(NAMES))})_*|_*hold_\w*"
    if not re.search(rf"\b({forbidden})\b", text):  # most files need no parser, which is slow
        return []
    found = sorted(set(identifiers(ast.parse(text))))
    return [f"{line}: {name}" for line, name in found if re.fullmatch(forbidden, name)]


def comments_and_lines(text: str) -> tuple[int, int]:
    """Return the number of comments for readers, and of lines that are neither blank nor part of a docstring.

    A comment at the end of a line of code counts as one; directives for tools do not count.
    """
    lines = {k for k, line in enumerate(text.split("\n"), 1) if line.strip()}
    comments, before = 0, tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments += not DIRECTIVES.match(token.string)
        elif token.type == tokenize.STRING and before == tokenize.NEWLINE:  # a statement of its own
            lines -= set(range(token.start[0], token.end[0] + 1))
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            before = token.type
    return comments, len(lines)


def named(path: Path, findings: list[str]) -> list[str]:
    """Return findings with the path of their file."""
    name = path.relative_to(ROOT).as_posix()
    return [f"{name}:{one}" for one in findings]


def test_docstrings_begin_with_a_subject_or_an_action() -> None:
    files = python_files("hardsim", "tests", "benchmarks", "docs")
    assert [one for path in files for one in named(path, bad_beginnings(path.read_text("utf-8")))] == []


def test_phrases_of_the_old_dialect_are_gone() -> None:
    found = []
    for path in text_files():
        try:
            found += named(path, bad_phrases(path.read_text("utf-8")))
        except UnicodeDecodeError:  # stored networks and other data that is no text
            continue
    assert found == []


def test_identifiers_name_things() -> None:
    assert [one for path in python_files("hardsim") for one in named(path, bad_names(path.read_text("utf-8")))] == []


def test_comments_say_why() -> None:
    counts = [comments_and_lines(path.read_text("utf-8")) for path in python_files("hardsim")]
    comments, lines = (sum(column) for column in zip(*counts, strict=True))
    assert comments >= LEAST_COMMENTS * lines, f"{comments} comments in {lines} lines are {comments / lines:.2%}"


@pytest.mark.parametrize("words", FIRST_WORDS)
def test_a_docstring_without_a_subject_is_found(words: str) -> None:
    text = '"""{0} module."""\nA = 1\n"""{0} attribute."""\nclass C:\n    """{0} class."""\n'
    text += '    x: int\n    """{0} field."""\n'
    text += '    def f(self):\n        """\n        {0} method.\n        """\n"""{0} no docstring."""\n'
    expected = ["1: {0} module.", "3: {0} attribute.", "5: {0} class.", "7: {0} field.", "9: {0} method."]
    assert bad_beginnings(text.format(words)) == [one.format(words) for one in expected]
    assert bad_beginnings(text.format(f"Return{words}")) == []


@pytest.mark.parametrize("words", PHRASES)
def test_a_phrase_is_found_within_a_line_and_over_lines(words: tuple[str, ...]) -> None:
    phrase = " ".join(words)
    assert bad_phrases(f"x\n# A {phrase} b") == [f"2: {phrase}"]
    assert len(bad_phrases(f"a\nb {words[0]}\n    {' '.join(words[1:])} c")) == 1
    assert len(bad_phrases(f"# {words[0].capitalize()}\n# {' '.join(words[1:])}.")) == 1
    assert bad_phrases(f"x{phrase}, {phrase}x") == []


@pytest.mark.parametrize(
    "text",
    ["def {0}(): pass", "class {0}: pass", "def f({0}): pass", "a.{0} = 1", "{0} = 1", "for {0} in a: pass", "f({0}=1)",
     "from a import b as {0}", "lambda {0}: 1", "match a:\n    case {0}: pass"],
)  # fmt: skip
def test_a_name_of_the_old_dialect_is_found(text: str) -> None:
    for name in (*NAMES, "_told", "hold_rows"):
        assert [one.partition(": ")[2] for one in bad_names(text.format(name))] == [name]
    for name in ("told_words", "tasked", "holds", "threshold_of"):
        assert bad_names(text.format(name)) == []


def test_comments_are_counted() -> None:
    text = (
        '"""Title.\n\n# no comment\n"""\n\n# why\nx = 1  # unit\ny = "# text"  # type: ignore[x]\nz = 2  # fmt: skip\n'
    )
    assert comments_and_lines(text) == (2, 4)
    comments, lines = comments_and_lines("x = 1\n" * 40 + "# one\n")
    assert comments < LEAST_COMMENTS * lines
