"""Words in the README and the pages of docs/, words a sentence, and mathematics that can be typeset."""

import re
from pathlib import Path

import pytest

from docs.site import classes
from docs.site.mathematics import each, mathml, typeset

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
MOST_WORDS = 34_000
"""Words in the README and docs/ together, as `wc -w` counts them."""
LONGEST_SENTENCE = 20.0
"""Words a sentence, on average over a page."""


def prose_of(text: str) -> list[str]:
    """Return the paragraphs and list items of a page, without code blocks, tables, headings and comments."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(\||#).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\$\$.*?\$\$$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(>|    ).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "code", text)
    return [part for part in re.split(r"\n\s*\n|\n\s*(?=(?:[-*]|\d+\.) )", text) if part.strip()]


def words_a_sentence(text: str) -> float:
    """Return the average number of words a sentence of a page; the end of a paragraph or list item ends a sentence."""
    words, sentences = 0, 0
    for part in prose_of(text):
        found = [one for one in re.split(r"[.!?:](?=[\s)\"]|$)", part) if re.search(r"\w", one)]
        words += sum(len(re.findall(r"\S*\w\S*", one)) for one in found)
        sentences += len(found)
    return words / max(1, sentences)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=named)
def test_sentences_are_short(path: Path) -> None:
    assert words_a_sentence(path.read_text(encoding="utf-8")) <= LONGEST_SENTENCE


def test_the_documents_are_short() -> None:
    words = {named(path): len(path.read_text(encoding="utf-8").split()) for path in PAGES}
    assert sum(words.values()) <= MOST_WORDS, words


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_tables_have_no_empty_lines(path: Path) -> None:
    """Markdown shows the rows after an empty line as text, because a table begins with a header and a rule."""
    text = re.sub(r"^ *```.*?^ *```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    tables = re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE)
    assert all(re.match(r"\|.*\n\|[ :|-]+\|\n\|", table) for table in tables)


def test_words_a_sentence_of_a_small_page() -> None:
    text = "# Title of it\n\nOne two. Three `a b` [four five](x.md)!\n\n- six\n- seven $a + b$: nine\n\n| no | no |\n"
    assert words_a_sentence(text) == (2 + 4 + 1 + 2 + 1) / 5
    assert words_a_sentence("One\n\n```\nmany words of code\n```\n\n    more code\n") == 1


def test_the_table_of_classes_is_that_of_the_command() -> None:
    page = classes.PAGE.read_text(encoding="utf-8")
    assert classes.written(page) == page
    assert classes.written(page.replace("|2|2|J-trivial|", "|2|2|DA|")) == page


# ---- mathematics ----


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=named)
def test_the_mathematics_of_a_page_can_be_typeset(path: Path) -> None:
    left = each(path.read_text(encoding="utf-8"), lambda tex, block: mathml(tex, block) and "")
    assert "$" not in re.sub(r"^ *```.*?^ *```$|`[^`]*`", "", left, flags=re.MULTILINE | re.DOTALL)


def test_formulas_become_mathml() -> None:
    assert mathml("n") == "<span><math><mi>n</mi></math></span>"
    half = "<mfrac><mi>i</mi><mrow><mn>2</mn><mi>n</mi></mrow></mfrac>"
    assert mathml(r"\frac{i}{2n}", block=True) == f'<math display="block">{half}</math>'
    assert mathml(r"D''\le W_Q x^2") == (
        "<span><math><mrow><msup><mi>D</mi><mo>′′</mo></msup><mo>≤</mo>"
        "<msub><mi>W</mi><mi>Q</mi></msub><msup><mi>x</mi><mn>2</mn></msup></mrow></math></span>"
    )
    assert (
        mathml(r"\log n")
        == '<span><math><mrow><mrow><mi>log</mi><mspace width="0.17em"/></mrow><mi>n</mi></mrow></math></span>'
    )
    assert mathml(r"\text{margin}") == '<span><math><mi mathvariant="normal">margin</mi></math></span>'


def test_marks_of_markdown_are_shown_as_they_are() -> None:
    left, right = (f'<mo stretchy="false">&#{ord(sign)};</mo>' for sign in "[]")
    assert f"{left}<mi>m</mi><mo>&#60;</mo><mn>1</mn>{right}<mo>∗</mo>" in typeset(r"$[m\lt1]*$")
    assert mathml(r"s\mathbb{Z}") == "<span><math><mrow><mi>s</mi><mi>ℤ</mi></mrow></math></span>"


@pytest.mark.parametrize("tex", ["(x_1)", r"\lvert x_1\rvert", r"\lbrace x_1\rbrace", "[x_1]"])
def test_brackets_do_not_grow_with_subscripts(tex: str) -> None:
    assert mathml(tex).count('<mo stretchy="false"') == 2
    assert "<mo>" not in mathml(tex)


def test_dollar_signs_in_code_are_no_mathematics() -> None:
    page = "`$x$` and ``a ` $``\n\n```sh\n$ hardsim check\n```\n"
    assert typeset(page) == page
    assert typeset(f"{page}$x$") == f"{page}<span><math><mi>x</mi></math></span>"


@pytest.mark.parametrize("tex", [r"\unknown", "x_", "x_1_2", "{x", "x}", r"\text x", r"\mathbb{A}"])
def test_what_is_no_formula_is_refused(tex: str) -> None:
    with pytest.raises(ValueError, match="in the formula"):
        mathml(tex)
