"""Write a report in LaTeX that compiles alone with pdflatex: tables with booktabs, figures with pgfplots, and the
argument for every length as a theorem and its proof.

All text from a file goes through `escaped` (formulas of an argument, which hardsim wrote, through `maths`). Its result
is ASCII and contains no command that is not in this module.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import ceil, floor, log10

from hardsim.measuring.bound import BoundResult
from hardsim.records import NOTHING, short
from hardsim.report.blocks import Block, Copied, Fact, Line, Table
from hardsim.report.parts import AGAIN, DECIMALS, Making, Part
from hardsim.report.plot import PANELS, points_of
from hardsim.report.screen import MATHS
from hardsim.visible import visible

PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[a4paper,margin=2.2cm]{geometry}
\usepackage{amsmath,amssymb,amsthm,array,booktabs,textcomp,graphicx,pgfplots}
\pgfplotsset{compat=1.14}
\newtheorem{theorem}{Theorem}
\newsavebox{\tablebox}
\newcommand{\fitted}[1]{\sbox{\tablebox}{#1}\ifdim\wd\tablebox>\linewidth
  \resizebox{\linewidth}{!}{\usebox{\tablebox}}\else\usebox{\tablebox}\fi}
\setlength{\parindent}{0pt}\setlength{\parskip}{2pt plus 1pt}\emergencystretch=3em
\begin{document}
"""
TITLE, END = "\\title{%s}\n\\author{}\\date{}\n\\maketitle\n", "\\end{document}\n"
LONG_TOKEN, MOST_ROWS, MOST_MARKS = 16, 40, 6
"""Largest number of characters of a token of code in which no line may break; largest number of rows of a table,
because no page breaks inside a table; largest number of marks on an axis."""
SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\ttfamily\char34}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "-": "-{}", ",": ",{}", "!": "!{}", "?": "?{}", "[": "{[}", "]": "{]}",
    "–": "--", "…": r"\dots{}", "≤": r"\ensuremath{\le}", "≥": r"\ensuremath{\ge}", "≠": r"\ensuremath{\ne}",
    "∧": r"\ensuremath{\wedge}", "∨": r"\ensuremath{\vee}", "¬": r"\ensuremath{\neg}", "×": r"\ensuremath{\times}",
    "→": r"\ensuremath{\to}", "↔": r"\ensuremath{\leftrightarrow}", "⇒": r"\ensuremath{\Rightarrow}",
    "∀": r"\ensuremath{\forall}", "∃": r"\ensuremath{\exists}", "⊤": r"\ensuremath{\top}", "⊥": r"\ensuremath{\bot}",
    "□": r"\ensuremath{\Box}", "◇": r"\ensuremath{\Diamond}", "∈": r"\ensuremath{\in}", "∞": r"\ensuremath{\infty}",
}  # fmt: skip
"""LaTeX for characters that LaTeX would interpret, would not print, or would join to the next character."""
GREEK = """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi
omega"""
SPECIAL |= dict(zip("αβγδεζηθικλμνξπρστυφχψω", (rf"\ensuremath{{\{name}}}" for name in GREEK.split()), strict=True))
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0307": ".", "\u0308": '"',
           "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c"}  # fmt: skip
"""Combining marks, with the LaTeX commands that put them on a letter."""
TOKEN = re.compile(r"<=|>=|(?<![\w./^])[0-9]+/[0-9]+(?=\*)|[A-Za-z]\w*|[0-9.]+(?:e-?[0-9]+)?|\s+|.", re.DOTALL)
COMMANDS = {"l": r"\ell", "tau": r"\tau", "eta": r"\eta", "N0": "N_0", "<=": r"\le", ">=": r"\ge", "<": "<", ">": ">",
            "log": r"\log", "exp": r"\exp", "max": r"\max", "min": r"\min", "*": r"\,"}  # fmt: skip
PLAIN, OPERAND = "+-/=()0123456789.", re.compile(r"[\w),]$")


# ---- text ----


def escaped(text: str) -> str:
    """Return a text as LaTeX that prints its characters; a character without a LaTeX form is printed as its
    code point."""
    return "".join(map(_character, visible(text))).replace(" -{}-{} ", " -- ")


def _character(one: str) -> str:
    if one in SPECIAL:
        return SPECIAL[one]
    if one.isascii():
        return one
    # pdflatex without packages for Unicode has only letters with one accent.
    letter, *marks = list(unicodedata.normalize("NFD", one))
    if len(marks) == 1 and marks[0] in ACCENTS and letter.isascii() and letter.isalpha():
        return rf"\{ACCENTS[marks[0]]}{{{letter}}}"
    return f"(U+{ord(one):04X})"


def code(text: str) -> str:
    """Return a text to be copied as LaTeX: every space is kept, and a line may break anywhere in a long token."""
    parts = re.split(r"( +)", visible(text))
    inner = (
        "\\ " * len(part) if part[:1] == " " else
        # An empty token is between two spaces; a long one may break after each character.
        ("\\allowbreak{}" if len(part) > LONG_TOKEN else "").join(map(_character, part))
        for part in parts
    )  # fmt: skip
    return rf"\texttt{{{''.join(inner)}}}"


def maths(text: str) -> str:
    """Return a formula of an argument, such as `4*n - 2*j >= 2 (w - j)`, as LaTeX in mathematics mode."""
    return f"${_maths(visible(text))}$"


def _maths(text: str) -> str:
    found, place = list[str](), 0
    while place < len(text):
        token = TOKEN.match(text, place)
        assert token is not None
        word, place = token[0], token.end()
        if word in ("^", "sqrt"):
            inner, place = _operand(text, place)
            found.append(rf"{'^' if word == '^' else chr(92) + 'sqrt'}{{{_maths(inner)}}}")
        elif word == "*" and text[place : place + 1].isdigit():
            found.append(r"\cdot ")
        elif "/" in word[1:]:  # before a product: what is written on a line would read as divided by all of it
            over, under = word.split("/")
            found.append(rf"\tfrac{{{over}}}{{{under}}}")
        elif word in COMMANDS:
            found.append(f"{COMMANDS[word]} ")
        elif (len(word) == 1 and word.isalpha() and word.isascii()) or all(one in PLAIN for one in word):
            found.append(word)
        elif not word.isspace():
            found.append(rf"\text{{{escaped(word)}}}")
        # A space between two operands is a product.
        elif OPERAND.search(text[: token.start()]) and re.match(r"[\w(]", text[place:]):
            found.append(r"\;")
    return "".join(found)


def _operand(text: str, place: int) -> tuple[str, int]:
    """Return the operand of a power or a root that starts at `place`, and the place after it: the text in brackets, or
    a sign and a token."""
    if text[place : place + 1] != "(":
        token = re.compile(r"-?\w*").match(text, place)
        assert token is not None
        return token[0], token.end()
    depth = 0
    for end in range(place, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if not depth:
            return text[place + 1 : end], end + 1
    return text[place + 1 :], len(text)


# ---- blocks ----


def blocks(found: Iterable[Block]) -> str:
    """Return blocks as LaTeX; consecutive indented lines become a list."""
    parts = list[str]()
    for items, some in groupby(found, lambda block: isinstance(block, Line) and block.depth > 1):
        inner = [_block(block) for block in some]
        parts += ["\\begin{itemize}\\setlength{\\itemsep}{0pt}", *inner, "\\end{itemize}"] if items else inner
    return "\n\n".join(parts)


def _block(block: Block) -> str:
    match block:
        case Line(parts, depth):
            return ("\\item " if depth > 1 else "") + "".join(_styled(*part) for part in parts)
        case Copied(word):
            return rf"\begin{{quote}}\raggedright {code(word)}\end{{quote}}"
        case Fact(label, said, words):
            inner = r" \quad ".join(map(code, words)) or escaped(said)
            return rf"{{\raggedright \textit{{{escaped(label)}}}\quad {inner}\par}}"
        case Table(columns, rows):
            # LaTeX breaks no page inside a tabular, so long tables become several.
            some = [rows[start : start + MOST_ROWS] for start in range(0, len(rows), MOST_ROWS)]
            return "\n".join(_table(Table(columns, part)) for part in some)


def _styled(text: str, style: str) -> str:
    if style == MATHS:
        return maths(text)
    return rf"\textbf{{{escaped(text)}}}" if style else escaped(text)


def _table(table: Table) -> str:
    """Return a table as LaTeX, scaled down to the line width if it is wider; a column of long texts gets a third of the
    line."""
    kinds = "".join(
        r">{\raggedright\arraybackslash}p{.33\linewidth}"
        if one.below and max((len(row[place]) for row in table.rows), default=0) > 2 * LONG_TOKEN
        else one.align[0]
        for place, one in enumerate(table.columns)
    )  # fmt: skip
    heads = (
        rf"\begin{{tabular}}[b]{{@{{}}{one.align[0]}@{{}}}}{_lines(one.header)}\end{{tabular}}" for one in table.columns
    )
    rows = (
        " & ".join(
            code(cell) if one.copied and cell != NOTHING else escaped(cell)
            for one, cell in zip(table.columns, row, strict=True)
        )
        for row in table.rows
    )
    lines = [r"\toprule", " & ".join(heads) + r"\\", r"\midrule", *(f"{row}\\\\" for row in rows), r"\bottomrule"]
    inner = "\n".join([rf"\begin{{tabular}}{{{kinds}}}", *lines, r"\end{tabular}"])
    return rf"\begin{{center}}\small\fitted{{{inner}}}\end{{center}}"


def _lines(header: str) -> str:
    return r"\\".join(map(escaped, header.split("\n")))


# ---- the whole ----


def render(parts: Sequence[Part], origin: Making) -> str:
    """Return the LaTeX document of all parts."""
    body = [PREAMBLE, TITLE % "hardsim report", escaped(DECIMALS), ""]
    for part in parts:
        body += [rf"\section{{{escaped(part.title)}}}", blocks(part.checked), *_every_length(part)]
        if part.bound is not None:
            body += ["\\subsection{Gaps, temperatures and errors}", blocks(part.bounded), _figure(part.bound)]
    body += ["\\section{Not done}", blocks(map(Copied, origin.failures))] if origin.failures else []
    body += ["\\section{How it was made}", escaped(AGAIN), blocks([Copied(origin.command)])]
    for head, rows in (("Version of", origin.versions), ("SHA-256 of", origin.hashes)):
        body += [rf"\subsection*{{{head}}}", blocks(Fact(name, words=(value,)) for name, value in rows)]
    return "\n".join([*body, END])


def _every_length(part: Part) -> Iterator[str]:
    if part.proof is None:
        return
    yield "\\subsection{Every length}"
    yield blocks(part.verdict)
    if part.theorem:
        yield f"\\begin{{theorem}}\n{escaped(part.theorem)}\n\n\\upshape {blocks(part.network)}\n\\end{{theorem}}"
        yield f"\\begin{{proof}}\n{blocks(part.argument)}\n\\end{{proof}}"


def _figure(result: BoundResult) -> str:
    """Return the figure of a bound report: side by side, the panels that have points."""
    panels = []
    for title, series in PANELS:
        drawn = [(label, points) for label, value in series if (points := points_of(result, value))]
        if drawn:
            panels.append(_panel(title, drawn, [length.n for length in result.lengths]))
    return "\n".join(["\\begin{center}", *panels, "\\end{center}"]) if panels else ""


def _panel(title: str, drawn: Sequence[tuple[str, Sequence[tuple[int, float]]]], lengths: Sequence[int]) -> str:
    across = _ticks("x", [n for n in lengths if n & (n - 1) == 0])
    upright = _ticks("y", _marks([y for _, points in drawn for _, y in points]))
    how = rf"""width=.36\linewidth,height=5.2cm,xmode=log,ymode=log,grid=major,title={{{escaped(title)}}},
xlabel={{$n$}},{across},{upright},tick label style={{font=\tiny}},title style={{font=\small}},
legend style={{font=\tiny,at={{(.5,-.3)}},anchor=north}},cycle list name=black white"""
    lines = [rf"\begin{{tikzpicture}}[baseline=(current axis.north)]\begin{{axis}}[{how}]"]
    for label, points in drawn:
        lines.append(rf"\addplot coordinates {{{' '.join(f'({n},{y:.6g})' for n, y in points)}}};")
        lines.append(rf"\addlegendentry{{{escaped(label)}}}")
    return "\n".join([*lines, r"\end{axis}\end{tikzpicture}"])


def _marks(values: Sequence[float]) -> list[float]:
    """Return round numbers in the range of some values, for the marks of an axis: 1, 2 and 5 times powers of ten, or
    only powers of ten if these are too many."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    near = [float(f"{digit}e{power}") for power in range(low, high + 1) for digit in (1, 2, 5)]
    near = [one for one in near if min(values) / 1.5 <= one <= max(values) * 1.5]
    if len(near) <= MOST_MARKS:
        return near
    return [float(f"1e{power}") for power in range(low, high + 1, -(-(high - low) // MOST_MARKS))]


def _ticks(axis: str, places: Sequence[float]) -> str:
    return (
        f"{axis}tick={{{','.join(f'{one:g}' for one in places)}}},{axis}ticklabels={{{','.join(map(short, places))}}}"
    )
