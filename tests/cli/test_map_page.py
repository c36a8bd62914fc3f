"""Tests of the page of `hardsim trace --plot x.html`: its structure by a parser of HTML, its numbers, and its use in a
browser.
"""

import json
import re
import shutil
import subprocess
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hardsim.report import map_page
from tests.cli.conftest import Cli
from tests.support.attention_models import with_head, write
from tests.support.pages import Page

DATA = re.compile(r"const data = (.*);\n")


HOSTILE = "alphabet: a </script><b> [/b]\nH(a -> O '</script><b>')\n"


def page_of(path: Path) -> Any:
    """Return the numbers in a page."""
    (found,) = DATA.findall(path.read_text(encoding="utf-8"))
    return json.loads(found)


def test_a_page_is_one_file_in_which_nothing_is_read_as_html(hardsim: Cli, tmp_path: Path) -> None:
    source, target = tmp_path / "x.ltl", tmp_path / "x.html"
    source.write_text(HOSTILE, encoding="utf-8")
    hardsim("trace", source, "a </script><b> [/b] a", "--plot", target)
    text = target.read_text(encoding="utf-8")
    hardsim("trace", source, "a </script><b> [/b] a", "--plot", tmp_path / "x.svg")
    found = [one.text or "" for one in ElementTree.parse(tmp_path / "x.svg").iter()]
    assert any(one.startswith("</scr") for one in found)
    assert text.count("</script>") == 1
    assert "<b>" not in text
    assert not re.search(r"""(src|href)=|https?://|@import|url\(""", text)
    assert page_of(target)["symbols"] == ["a", "</script><b>", "[/b]", "a"]


def test_a_page_shows_no_bound_that_was_rounded_to_more(hardsim: Cli, tmp_path: Path) -> None:
    """A weight of 1 - 3.06e-7 is not shown as 1, and the shown errors are upper bounds."""
    target = tmp_path / "x.html"
    hardsim("trace", "since", "cba", "--beta", "30", "--plot", target).exits(0)
    found = page_of(target)
    (head,) = found["heads"]
    assert [read["weight"] for read in head["reads"]] == ["1", "1 - 3.06e-7", "1 - 3.06e-7"]
    assert [read["error"] for read in head["reads"]] == ["0", "3.06e-7", "3.06e-7"]
    (value,) = [value for value in found["values"] if value["name"] == "S4.read"]
    assert value["error"] == ["0", "3.06e-7", "3.06e-7"]


def test_numbers_beyond_those_of_scripts_are_texts_in_a_page(hardsim: Cli, tmp_path: Path) -> None:
    """The output 10^400, and its inverse, are beyond floats."""
    huge, target = Fraction(10) ** 400, tmp_path / "x.html"
    model = write(tmp_path, with_head(w_v={"found": {"a": str(huge)}}))
    hardsim("trace", model, "ab", "--plot", target).exits(0)
    (found,) = [value["hard"] for value in page_of(target)["values"] if value["name"] == "found"]
    assert found == ["1e400", "1e400"]
    assert map_page._number(huge) == "1e400"
    assert map_page._number(-huge) == "-1e400"
    assert map_page._number(1 / huge) == "1e-400"
    assert [map_page._number(Fraction(one)) for one in (0, 3)] == [0, 3]


# ---- the structure ----


def heads_of(page: Page) -> list[dict[str, str | None]]:
    return [given for tag, given in page.elements if tag == "button" and given.get("class") == "head"]


def test_the_head_in_which_the_answer_goes_wrong_is_selected_first(hardsim: Cli, tmp_path: Path) -> None:
    """At the constant temperature 1, b is found among eight positions, but not the last of several b and c: the first
    head reads right, the second does not."""
    target = tmp_path / "x.html"
    formula = ("-e", "(O c) & (a S b)", "--alphabet", "a b c", "--regime", "none")
    hardsim("trace", *formula, "cbaacbaa", "--plot", target).exits(1)
    right, wrong = heads_of(Page(target.read_text(encoding="utf-8")))
    assert (right["aria-pressed"], wrong["aria-pressed"]) == ("false", "true")
    assert right["aria-label"] == "layer 1, S3.read: O c, read at the last position with c"
    assert wrong["aria-label"] == "layer 1, S7.read: a S b, read at the last position with !a | b; goes wrong here"
    found = page_of(target)
    assert found["start"] == 1
    # The answer is read at the last of the eight positions, and the last position with !a | b is the sixth.
    assert [head["marked"] for head in found["heads"]] == [None, [7, 5]]
    # With the first head alone, the page says where the answer goes wrong, and selects the head that there is.
    hardsim("trace", *formula, "cbaacbaa", "--head", "S3.read", "--plot", target).exits(1)
    page = Page(target.read_text(encoding="utf-8"))
    assert [head["aria-pressed"] for head in heads_of(page)] == ["true"]
    assert any(text.startswith("thick frame: layer 1, S7.read, position 8 (a)") for text in page.texts)


def test_every_layer_is_a_group_of_buttons(hardsim: Cli, tmp_path: Path) -> None:
    target = tmp_path / "x.html"
    hardsim("trace", "dyck1.srasp", "(())", "--plot", target).exits(0)
    page = Page(target.read_text(encoding="utf-8"))
    groups = [given["aria-label"] for _, given in page.elements if given.get("role") == "group"]
    assert groups == [f"layer {layer}" for layer in range(1, 5)]
    assert sorted(int(head["data-head"] or 0) for head in heads_of(page)) == list(range(7))
    assert [head["aria-pressed"] for head in heads_of(page)].count("true") == 1
    # Every button and every map has a name, and a key can reach it.
    unnamed = [given for tag, given in page.elements if tag == "button" and not given.get("aria-label")]
    assert unnamed == []
    assert [given["tabindex"] for tag, given in page.elements if tag == "svg"] == ["0", "0"]
    assert page.seen.count("script") == 1
    assert not {"link", "img", "iframe", "object", "embed"}.intersection(page.seen)


CELL = re.compile(r"<td( class=\"bad\")?>([^<]*)</td>")


def rows_of(path: Path) -> dict[str, list[tuple[bool, str]]]:
    """Return the tables of outputs as one: for each row the cells, with whether they are marked as wrong. No table is
    wider than paper."""
    text = path.read_text(encoding="utf-8")
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th>(.*?)</tr>', text.split("const data")[0], re.DOTALL)
    found: dict[str, list[tuple[bool, str]]] = {}
    for name, cells in rows:
        some = [(bool(bad), cell) for bad, cell in CELL.findall(cells)]
        assert len(some) <= 12
        found.setdefault(name, []).extend(some)
    return found


@pytest.mark.parametrize(("word", "code"), [("cbaacbaa", 1), ("bca", 0), ("ba", 0)])
def test_the_output_row_is_the_formula_at_each_position(hardsim: Cli, tmp_path: Path, word: str, code: int) -> None:
    """`a S b` is true where a b is, and only a after the last one; the answer is read at the last position."""
    target = tmp_path / "x.html"
    regime = ("--regime", "none") if code else ()
    hardsim("trace", "since", *regime, word, "--plot", target).exits(code)
    rows = rows_of(target)
    true = [str(int(re.search("ba*$", word[: k + 1]) is not None)) for k in range(len(word))]
    assert rows["hard attention"] == [(False, one) for one in true]
    assert [bad for bad, _ in rows["softmax"]] == [False] * (len(word) - 1) + [code == 1]
    (verdict,) = re.findall(r'class="verdict (\w+)"', target.read_text(encoding="utf-8"))
    assert verdict == ("wrong" if code else "right")


def test_the_output_row_of_an_output_word(hardsim: Cli, tmp_path: Path) -> None:
    """The beginning of sequence has no output."""
    target = tmp_path / "x.html"
    hardsim("trace", "reverse.srasp", "abb", "--plot", target).exits(0)
    expected = [(False, one) for one in ("", "b", "b", "a")]
    assert rows_of(target) == {"semantics": expected, "hard attention": expected, "softmax": expected}


def test_the_output_row_of_a_network(hardsim: Cli, tmp_path: Path) -> None:
    """The shortest word that the network of `dyck1_depth3.spec` gets wrong has 51 symbols: after it b may not follow
    alone."""
    target = tmp_path / "x.html"
    word = "abaaabbbaabbaabaabbabbaaabbbaabbabaaabbaabbbaababba"
    hardsim("trace", "networks/dyck1_depth3.spec", word, "--plot", target).exits(1)
    rows = rows_of(target)
    assert [k for k, (bad, _) in enumerate(rows["network"]) if bad] == [len(word)]
    assert (rows["expected"][-1][1], rows["network"][-1][1]) == ("{a b}", "{b}")
    assert {tuple(head["marked"]) for head in page_of(target)["heads"]} == {(len(word), None)}


def test_texts_that_look_like_places_of_the_template_stay_texts(hardsim: Cli, tmp_path: Path) -> None:
    source, target = tmp_path / "x.ltl", tmp_path / "x.html"
    source.write_text("alphabet: <!--OUTPUT--> /*DATA*/null <a&b>\nO '<a&b>'\n", encoding="utf-8")
    hardsim("trace", source, "<!--OUTPUT--> /*DATA*/null <a&b>", "--plot", target).exits(0)
    page = Page(target.read_text(encoding="utf-8"))
    assert page_of(target)["symbols"] == ["<!--OUTPUT-->", "/*DATA*/null", "<a&b>"]
    assert [page.texts.count(symbol) for symbol in page_of(target)["symbols"]] == [1, 1, 1]
    assert page.seen.count("table") == 2


# ---- the use ----

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
USE = """<script>
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const pointTo = (i, j, kind = "pointermove") => {
  const svg = byId("soft"), box = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent(kind, { bubbles: true, pointerType: "mouse",
    clientX: box.left + shape.left + (j + 0.5) * shape.cell, clientY: box.top + shape.top + (i + 0.5) * shape.cell }));
};
const seen = [];
const focused = () => document.activeElement.id || document.activeElement.className;
const note = () => seen.push([current, byId("told").textContent, focused()]);
note(); press("ArrowRight"); pointTo(4, 2); note(); press("ArrowLeft"); press("ArrowLeft"); note();
byId("on").click(); note(); pointTo(3, -1); note(); pointTo(-1, 2); note();
pointTo(2, 1, "click"); pointTo(4, 4); note(); pointTo(2, 1, "click"); pointTo(4, 4); note();
chosenButton().focus(); press("ArrowDown"); note(); chosenButton().click(); note();
press("Escape"); note(); byId("hard").focus(); press("ArrowDown"); press("ArrowRight"); note();
document.body.setAttribute("data-seen", JSON.stringify(seen));
const drawn = ["hard", "soft"].map((name) => byId(name).querySelectorAll(".number").length);
document.body.setAttribute("data-drawn", JSON.stringify(drawn));
</script>"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no browser")
def test_a_page_in_a_browser(hardsim: Cli, tmp_path: Path) -> None:
    """Keys, buttons and a weight under the pointer work in the page, which is unchanged except for the script that
    uses them.
    """
    target = tmp_path / "x.html"
    hardsim("trace", "dyck1.srasp", "(())", "--plot", target).exits(0)
    target.write_text(target.read_text(encoding="utf-8").replace("</body>", f"{USE}</body>"), encoding="utf-8")
    run = subprocess.run(
        [str(BROWSER), *FLAGS, f"--user-data-dir={tmp_path / 'user'}", "--dump-dom", target.as_uri()],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    seen = json.loads(unescape(re.findall(r'data-seen="([^"]*)"', run.stdout)[0]))
    assert [head for head, _, _ in seen] == [0, 1, 6, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    texts = [text.split(",")[0].split(". ")[0] for _, text, _ in seen]
    # The head `nl` of layer 2 looks from the last position at the second opening bracket.
    message = (
        "position 4 ()) reads 2 (() with weight >0.999999, hard 1. Hard attention looks at 2; softmax has at least 1 - "
    )
    assert seen[1][1].startswith(message)
    # The weight under the pointer stays selected in the next head; beside the weights only the position is shown.
    assert seen[2][1].startswith("position 4 ()) reads 2 (() with weight ")
    assert seen[2][1] != seen[1][1]
    assert texts[4:6] == ["position 3 ())", "position 2 (()"]
    # A click holds a weight, a second one lets it go.
    assert texts[6].startswith("position 2 (() reads 1 (()")
    assert texts[7].startswith("position 4 ()) reads 4 ())")
    # A key takes the focus to the layer below, Enter (a click without a pointer) to the map, and Escape back.
    assert [where for _, _, where in seen[8:11]] == ["head", "soft", "head"]
    assert texts[10].startswith("Point at a weight")
    # The first arrow enters the map, the second moves in it.
    assert texts[11].startswith("position 1 (() reads 1 (()")
    # Both maps number the five positions on two sides.
    assert json.loads(unescape(re.findall(r'data-drawn="([^"]*)"', run.stdout)[0])) == [10, 10]
