"""The report in LaTeX: no text from a file is obeyed, and formulas are mathematics."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.report.blocks import Copied, Fact, Line, Table
from hardsim.report.latex import END, PREAMBLE, SPECIAL, blocks, code, escaped, maths
from hardsim.report.screen import MATHS, columns

# Text that `escaped` may write: a command of SPECIAL or an accent with its argument, a bracket in braces, any other
# mark.
ALLOWED = re.compile(
    r"\\(?:[{}$&#_%]|text\w+\{\}|dots\{\}|ensuremath\{\\\w+\})|\{\\ttfamily\\char34\}|\{[][]\}|[-,!?]\{\}"
    r"|\\(?:[\"'`^~=.]|[a-zA-Z])\{[A-Za-z]\}|[^\\{}$&#_%~^<>|\"'`]"
)
HOSTILE = r"\input{/etc/passwd} \end{document} % # _ ~ ^ & $x$ `y` {x} ^^41 \write18{ls} <b> [/b]"


def is_harmless(text: str) -> bool:
    """Return True if LaTeX obeys nothing in the text except the commands for single characters."""
    return text.isascii() and re.fullmatch(f"(?:{ALLOWED.pattern})*", text) is not None


@given(st.text())
def test_text_is_never_obeyed(text: str) -> None:
    assert is_harmless(escaped(text))


@pytest.mark.parametrize("text", [HOSTILE, "".join(SPECIAL), "∧ö日\x1b\ud800\u202e", "--- '' `` << ?` !` ,,"])
def test_hostile_text_is_never_obeyed(text: str) -> None:
    assert is_harmless(escaped(text))
    inner = code(text).removeprefix(r"\texttt{").removesuffix("}")
    assert is_harmless(inner.replace(r"\allowbreak{}", "").replace("\\ ", " "))


def test_the_guard_of_these_tests_sees_what_is_obeyed() -> None:
    for text in (r"\input{x}", "a_b", "%", "{", r"\\", "~", "^^41", "é", r"\textbf{x}"):
        assert not is_harmless(text)


def test_text_keeps_its_characters() -> None:
    assert escaped("a_1 & 50 %") == r"a\_1 \& 50 \%"
    assert escaped("ö ∧ é λ") == r"\"{o} \ensuremath{\wedge} \'{e} \ensuremath{\lambda}"
    # A character without a letter of its own is written by its number, so that it stays distinct.
    assert escaped("日\x1b") == r"(U+65E5)\textbackslash{}x1b"
    assert escaped("a -- b --max-n") == r"a -- b -{}-{}max-{}n"
    assert code("a  b") == r"\texttt{a\ \ b}"
    assert code("x" * 17).count(r"\allowbreak{}") == 16


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 <= j < w", r"$1\le j< w$"),
        ("l(w) - l(j) = -2*j + 2*w", r"$\ell (w)-\ell (j)=-2\, j+2\, w$"),
        ("(9/4) (w - j)", r"$(9/4)\;(w-j)$"),
        ("n^3 e^(-(32/3) n)", r"$n^{3}\;e^{-(32/3)\;n}$"),
        ("x = e^-g", "$x=e^{-g}$"),
        # As `549/250\\, j` it could be read as 549/(250 j).
        ("4*n - 549/250*j + (1/4)/(n)", r"$4\, n-\tfrac{549}{250}\, j+(1/4)/(n)$"),
        ("n/2/3*j", r"$n/2/3\, j$"),
        ("2*3 + sqrt(n*m)", r"$2\cdot 3+\sqrt{n\, m}$"),
        ("eta/tau with N0", r"$\eta /\tau \;\text{with}\;N_0 $"),
        (r"\evil{$}_", r"$\text{\textbackslash{}}\text{evil}\text{\{}\text{\$}\text{\}}\text{\_}$"),
        ("^(n", "$^{n}$"),
    ],
)
def test_formulas(text: str, expected: str) -> None:
    assert maths(text) == expected


@given(st.text("abl()^ -*/<=\\{}$%_1é", max_size=12))
def test_a_formula_is_one_formula(text: str) -> None:
    found = re.sub(r"\\[{}$%_]", "", maths(text))
    assert found.count("$") == 2
    assert found.count("{") == found.count("}")
    assert "%" not in found


def everything() -> str:
    """Return all kinds of blocks, with hostile texts."""
    fields = columns("n", "<a\nname", "~text", "=word")
    table = Table(fields, (("1", HOSTILE, HOSTILE, HOSTILE), *[("2", "x", "y", "z")] * 50))
    lines = [Line(((HOSTILE, ""), (HOSTILE, "bold")), 0), Line((("x ", ""), ("1/tau <= n^2", MATHS)), 2)]
    return blocks([*lines, Copied(HOSTILE), Fact("formula", words=(HOSTILE, "b")), Fact("a_b", HOSTILE), table])


def test_tables_are_cut_where_no_page_holds_them() -> None:
    text = everything()
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 2
    assert text.count(r"\begin{itemize}") == 1
    assert sorted(re.findall(r"\\begin\{(\w+)\}", text)) == sorted(re.findall(r"\\end\{(\w+)\}", text))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_blocks_compile(tmp_path: Path) -> None:
    text = escaped("".join(SPECIAL) + "öéèñçčőåŸλ日" + HOSTILE)
    compiled(tmp_path / "all.tex", f"{PREAMBLE}{text}\n\n{everything()}\n\n{maths('1/tau <= e^(-n) over i')}\n{END}")


def compiled(path: Path, text: str) -> None:
    """Require that pdflatex makes a PDF of a document."""
    path.write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", path.name]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode("latin-1")[-2000:]
    assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
