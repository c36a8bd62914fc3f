"""Tests of the page of `hardsim serve` in a browser, at the widths of a phone, a tablet and a screen."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, hardsim, written
from tests.serving.test_server import SINCE, Server, serving
from tests.support.browser import BROWSER, Tab, browser

__all__ = ["hardsim"]  # the fixture
LESSONS = json.loads(files("hardsim.serving").joinpath("lessons.json").read_text(encoding="utf-8"))
VERDICTS = ("PROVED", "REFUTED", *["PROVED"] * 8)
"""The verdict of each lesson: the second one is about a temperature that is wrong."""
WIDTHS = (400, 800, 1400)
CTRL = 2
QUIET = "!document.querySelector('.busy') && document.querySelector('#status').textContent.startsWith('No errors')"
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


# ---- lessons ----


def test_there_are_ten_lessons() -> None:
    assert len(LESSONS) == len(VERDICTS) == 10
    assert len({lesson["title"] for lesson in LESSONS}) == 10
    for lesson in LESSONS:
        assert lesson["question"].rstrip(".").count("?") >= 1 or lesson["question"].endswith(".")
        assert 2 <= lesson["text"].count(". ") + 1 <= 4
        assert lesson.keys() <= {"title", "text", "question", "suffix", "program", "word", "max_n", "regime", "beta"}


@pytest.mark.sweep
@pytest.mark.parametrize(("lesson", "verdict"), [*zip(LESSONS, VERDICTS, strict=True)], ids=lambda one: str(one)[:30])
def test_a_lesson_can_be_checked(hardsim: Cli, tmp_path: Path, lesson: dict[str, str], verdict: str) -> None:
    file = written(tmp_path / f"typed.{lesson['suffix']}", lesson["program"])
    regime = [f"--regime={lesson['regime']}"] if "regime" in lesson else []
    hardsim("check", file, "--max-n", "3", *regime).prints(verdict)
    if "word" in lesson:
        hardsim("trace", file, "--", lesson["word"]).exits(0)


# ---- the page ----


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("user")) as tab:
        yield tab


@pytest.fixture
def tab(started: Tab, server: Server) -> Iterator[Tab]:
    """A tab, in which no error is logged and nothing is asked of others."""
    started.logged.clear()
    started.requested.clear()
    yield started
    assert started.logged == []
    own = (server.url, "about:blank", "data:,", "data:image/svg+xml", "blob:" + server.url)
    assert [url for url in started.requested if not url.startswith(own)] == []


def texts(tab: Tab, selector: str) -> list[str]:
    """Return the texts of the elements that a selector finds."""
    found: list[str] = tab.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)")
    return found


def retype(tab: Tab, text: str) -> None:
    """Replace the text, as a user does."""
    tab.run("byId('text').focus(); byId('text').select()")
    tab.type(text)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no browser")
class TestPage:
    """The page in a browser."""

    @pytest.mark.parametrize("width", WIDTHS)
    def test_errors_answers_and_maps(self, tab: Tab, server: Server, hardsim: Cli, tmp_path: Path, width: int) -> None:
        """Everything fits, and says what the command line says."""
        tab.open(server.url, width)
        tab.wait(QUIET)
        retype(tab, "alphabet: a b c\na S (b\n")
        tab.wait("!byId('errors').hidden")
        place = written(tmp_path / "typed.ltl", "alphabet: a b c\na S (b\n")
        expected = hardsim("show", place).err.replace(str(place), "typed.ltl")
        assert texts(tab, "#errors") == [expected]
        assert tab.run("byId('text').getAttribute('aria-invalid')") == "true"
        assert tab.run(FITS)
        retype(tab, SINCE)
        tab.wait(f"byId('errors').hidden && document.querySelector('#classify table') && {QUIET}")
        written(place, SINCE)
        (check,) = hardsim("check", place, "--max-n", "6", "--json", "-").json["results"]
        assert texts(tab, "#check .body p")[0] == f"{check['verdict']}: {check['reach']}"
        words = hardsim("words", place, "--max-n", "5").out.splitlines()
        accepted, rejected = texts(tab, "#words h3")
        assert (accepted, rejected) == (f"{len(words)} accepted", f"{3 + 9 + 27 + 81 + 243 - len(words)} rejected")
        lists = [texts(tab, f"#words ul:nth-of-type({k}) .word") for k in (1, 2)]
        assert lists[0] == words[:40]
        assert not set(lists[1]) & set(words)
        (classes,) = hardsim("classify", place, "--json", "-").json["results"]
        given = {True: "yes", False: "no"}
        expected_rows = [(one["name"], given[one["holds"]]) for one in classes["classification"]["classes"]]
        cells = texts(tab, "#classify td")
        assert list(zip(cells[::3], cells[1::3], strict=True)) == expected_rows
        tab.run("document.querySelector('#words .word').click()")
        tab.wait("document.querySelector('#trace img')?.naturalWidth > 0")
        assert texts(tab, "#trace .command code") == ["hardsim trace typed.ltl --plot=maps.svg -- b"]
        assert tab.run("document.querySelector('#trace img').alt").startswith("Attention weights on b")
        assert tab.run(FITS)

    @pytest.mark.parametrize("text", ["a", "a | b & !a", "MOD(2,1)", "true"])
    def test_a_text_without_heads(self, tab: Tab, server: Server, text: str) -> None:
        """A word has its answers, and no picture."""
        tab.open(server.url)
        tab.wait(QUIET)
        retype(tab, f"alphabet: a b\n{text}\n")
        tab.wait(f"document.querySelector('#words .word') && {QUIET}")
        tab.run("document.querySelector('#words .word').click()")
        tab.wait("document.querySelector('#trace .body p')")
        said = texts(tab, "#trace .body p")
        assert said[0].startswith("the text accepts; hard attention accepts; softmax accepts")
        assert said[1:] == ["This network has no attention heads: there is nothing to draw."]
        assert tab.run("document.querySelector('#trace .messages').hidden")
        assert tab.run("document.querySelector('#trace button:nth-of-type(2)').disabled")

    def test_a_text_without_a_network_in_this_regime_has_words_and_classes(self, tab: Tab, server: Server) -> None:
        tab.open(f"{server.url}#suffix=ltl&max_n=3&regime=rounded&text=alphabet%3A+a+b+c%0Aa+S+b")
        tab.wait("document.querySelector('#classify td')")
        assert "regime 'rounded' has no construction" in texts(tab, "#errors")[0]
        assert texts(tab, "#words h3") == ["18 accepted", "21 rejected"]  # 1 + 4 + 13 of 3 + 9 + 27
        assert texts(tab, "#check .verdict") == []

    def test_a_regular_expression_has_words_and_classes_alone(self, tab: Tab, server: Server) -> None:
        tab.open(f"{server.url}#suffix=re&word=ab&text=alphabet%3A+a+b%0A%28a%7Cb%29*a")
        tab.wait(f"document.querySelector('#classify td') && {QUIET}")
        assert texts(tab, "#words .word")[:3] == ["a", "aa", "ba"]
        assert tab.run("document.querySelectorAll('#words button.word').length") == 0
        assert texts(tab, "#words h3") == ["31 accepted", "31 rejected"]  # half of the words up to length 5
        hidden = "['check', 'trace', 'critical', 'words', 'classify'].map((name) => byId(name).hidden)"
        assert tab.run(hidden) == [True, True, True, False, False]
        tab.run("document.querySelector('input[value=ltl]').click()")
        retype(tab, SINCE)
        tab.wait(f"document.querySelector('#check .verdict') && {QUIET}")
        assert tab.run(hidden) == [False] * 5

    def test_an_open_answer_has_its_number(self, tab: Tab, server: Server) -> None:
        tab.open(f"{server.url}#suffix=ltl&max_n=3&regime=none&word=bca&text=alphabet%3A+a+b+c%0Aa+S+b")
        tab.wait("document.querySelector('#trace img')?.naturalWidth > 0")
        assert "softmax undecided (output 0.163, neither 0 nor 1)" in texts(tab, "#trace .body p")[0]
        assert texts(tab, "#trace .messages") == ["typed.ltl: the answers on this word differ\n"]

    def test_the_smallest_beta(self, tab: Tab, server: Server, hardsim: Cli, tmp_path: Path) -> None:
        tab.open(f"{server.url}#suffix=ltl&max_n=1&text=alphabet%3A+a+b+c%0Aa+S+b")
        tab.wait(QUIET)
        tab.run("document.querySelector('#critical button').click()")
        tab.wait("document.querySelector('#critical table')")
        place = written(tmp_path / "typed.ltl", SINCE)
        (found,) = hardsim("bound", place, "--critical", "--max-n", "1", "--json", "-").json["results"]
        beta = found["every_length"]["right_at"]["value"]
        assert texts(tab, "#critical .body p")[0] == f"Every length: right at beta {beta}."

    def test_a_link_restores_everything(self, tab: Tab, server: Server) -> None:
        tab.open(server.url)
        tab.wait(QUIET)
        tab.run("document.querySelector('input[value=cr]').click()")
        retype(tab, 'alphabet: a b\nmore = #"a" > #"b"\n')
        for name, value in (("max_n", "4"), ("beta", "7/2"), ("word", "aab")):
            tab.run(f"byId('{name}').value = '{value}'")
        tab.run("byId('run').click()")
        tab.wait("document.querySelector('#trace img')")
        link = tab.run("location.href")
        state = "[suffix(), byId('text').value, byId('max_n').value, byId('beta').value, byId('word').value]"
        before = tab.run(state)
        assert before == ["cr", 'alphabet: a b\nmore = #"a" > #"b"\n', "4", "7/2", "aab"]
        tab.open(link)
        tab.wait("document.querySelector('#trace img')")
        assert tab.run(state) == before
        assert texts(tab, "#check .command code") == ["hardsim check typed.cr --max-n 4 --beta=7/2"]

    def test_lessons_fill_the_page(self, tab: Tab, server: Server) -> None:
        tab.open(server.url, 400)
        tab.wait(QUIET)
        for index, (lesson, verdict) in enumerate(zip(LESSONS, VERDICTS, strict=True)):
            tab.run(f"byId('lesson').value = '{index}'; byId('lesson').dispatchEvent(new Event('change'))")
            tab.wait(f"byId('text').value === {json.dumps(lesson['program'])} && {QUIET}")
            tab.wait(f"document.querySelector('#check .verdict')?.textContent === {json.dumps(verdict)}")
            assert texts(tab, "#about p") == [lesson["text"], f"Question: {lesson['question']}"]
            assert tab.run(FITS)

    def test_keys_reach_everything(self, tab: Tab, server: Server) -> None:
        """Tab goes through all controls in the order of the page, and Ctrl+Enter runs the text."""
        tab.open(server.url)
        tab.wait(QUIET)
        tab.run("document.activeElement.blur(); window.scrollTo(0, 0)")
        seen: list[Any] = []
        for _ in range(16):
            tab.press("Tab", 9)
            seen.append(tab.run("((one) => one.id || one.value || one.className)(document.activeElement)"))
        assert seen[:10] == ["skip", "lesson", "ltl", "text", "max_n", "regime", "beta", "run", "link", "save"]
        assert tab.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
        unnamed = "!one.labels?.length && !one.textContent.trim()"
        controls = "[...document.querySelectorAll('input, select, textarea, button')]"
        assert tab.run(f"{controls}.filter((one) => {unnamed}).length") == 0
        tab.run("byId('text').focus(); byId('text').value = 'alphabet: a b\\nO b'")
        tab.press("Enter", 13, CTRL)
        tab.wait(f"document.querySelector('#words .word')?.textContent === 'b' && {QUIET}")

    def test_a_dark_page_has_contrast(self, tab: Tab, server: Server) -> None:
        """The contrast of text is at least 4.5 in both schemes (WCAG 2, level AA)."""
        script = """(() => {
            const light = (text) => text.match(/[0-9.]+/g).slice(0, 3).map((one) => one / 255)
                .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
                .reduce((sum, one, k) => sum + one * [0.2126, 0.7152, 0.0722][k], 0);
            const behind = (one) => { const back = getComputedStyle(one).backgroundColor;
                return back === 'rgba(0, 0, 0, 0)' && one.parentElement ? behind(one.parentElement) : back; };
            return [...document.querySelectorAll('h1, h2, h3, p, span, td, th, code, pre, button, a, .verdict')]
                .filter((one) => one.textContent.trim() && one.offsetParent)
                .map((one) => { const [a, b] = [light(getComputedStyle(one).color), light(behind(one))];
                    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), one.outerHTML.slice(0, 80)]; })
                .filter(([ratio]) => ratio < 4.5);
        })()"""
        grounds = []
        for scheme in ("light", "dark"):
            tab.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            tab.open(server.url)
            tab.wait(QUIET)
            assert tab.run(script) == []
            grounds.append(tab.run("getComputedStyle(document.body).backgroundColor"))
        assert grounds == ["rgb(255, 255, 255)", "rgb(22, 24, 29)"]

    def test_what_is_typed_is_no_html(self, tab: Tab, server: Server) -> None:
        tab.open(server.url)
        tab.wait(QUIET)
        hostile = "<img src=x onerror=alert(1)>"
        retype(tab, f"alphabet: a {hostile!r}\nO {hostile!r}\n{hostile}\n")
        tab.wait("!byId('errors').hidden")
        assert hostile in texts(tab, "#errors")[0]
        assert tab.run("document.querySelectorAll('img').length") == 0
        retype(tab, f"alphabet: a '{hostile}'\nO '{hostile}'\n")
        tab.wait(f"{QUIET} && document.querySelector('#words .word')?.textContent.includes('onerror')")
        assert tab.run("document.querySelectorAll('img').length") == 0
        # A symbol with blanks is quoted in a word, as on the command line.
        tab.run("document.querySelector('#words .word').click()")
        tab.wait("document.querySelector('#trace img')?.naturalWidth > 0")
        assert tab.run("byId('word').value") == f"'{hostile}'"

    def test_a_server_that_has_ended_is_named(self, tab: Tab) -> None:
        with serving() as other:
            tab.open(other.url)
            tab.wait(QUIET)
        tab.run("byId('run').click()")
        tab.wait("byId('errors').textContent.includes('is `hardsim serve` still running?')")
        tab.logged.clear()
        tab.requested.clear()
