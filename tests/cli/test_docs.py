"""Tests of README, CONTRIBUTING and the pages of docs/: examples run as they are, links work, names exist.

A fenced block is `console` (a command and what it prints), `sh` (commands), `python`, `json` (a network is checked),
`yaml` (steps of a workflow), `make` (a rule `check`) or text. A comment before it may say `slow`. A command must end
with exit code 0, unless a comment after it gives another code or its report says REFUTED.
"""

import ast
import json
import os
import re
import shlex
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from html import unescape
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest
import yaml

from docs.site import hooks, notebook, options
from hardsim.cli.manual import COMMANDS
from hardsim.lang.vocabulary import FORMULAS
from hardsim.options.table import FORMATS, OPTIONS
from hardsim.targets.result import ENGINES
from tests.cli.conftest import Cli, Outcome, ended, process, written
from tests.support.check import Verdict
from tests.support.model import NAMED as ALL_REGIMES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted([*DOCS.glob("*.md"), *DOCS.glob("gallery/*.md")])]
BLOCK = re.compile(r"^(?:<!-- (?P<remark>[^\n]*) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
NAMED = re.compile(r"`(?P<path>(?:hardsim|tests|formulas|benchmarks|docs)/[\w./]*)(?:::(?P<name>[\w.]+))?`")
CODE = re.compile(r"exit code (\d+)")
ELSEWHERE = {".", "pip", "make", "jq", "dask", "ray", "RAY_ADDRESS=127.0.0.1:6379"}
"""First words of commands that these tests do not run."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    place: str
    kind: str
    text: str
    remark: str


def blocks_of(path: Path) -> Iterator[Block]:
    """Yield the blocks of a page, in order."""
    text = path.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        place = f"{path.name}:{text.count(chr(10), 0, found.start('kind')) + 1}"
        yield Block(place, found["kind"], found["text"], found["remark"] or "")


BLOCKS = [block for path in PAGES for block in blocks_of(path)]


def of_kind(kind: str) -> list[Any]:
    """Return the parameters of a test of all blocks of a kind; those of the README always run."""

    def marks(block: Block) -> list[pytest.MarkDecorator]:
        if block.remark == "slow":
            return [pytest.mark.slow]
        return [] if block.place.startswith("README") else [pytest.mark.sweep(every=2)]

    found = [block for block in BLOCKS if block.kind == kind]
    return [pytest.param(block.text, id=block.place, marks=marks(block)) for block in found]


def by_page(found: list[Any]) -> list[Any]:
    """Group the parameters by page, since the blocks of a page run one after the other."""
    pages = {page: list(some) for page, some in groupby(found, lambda one: one.id.partition(":")[0])}
    return [
        pytest.param([one.values[0] for one in some], id=page, marks=[mark for one in some for mark in one.marks])
        for page, some in pages.items()
    ]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, with the shipped formulas in it, as after cloning; git must ignore what examples leave in
    it.
    """
    (tmp_path / "formulas").symlink_to(ROOT / "formulas")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    ignored = re.findall(r"^/(\S+)$", (ROOT / ".gitignore").read_text(encoding="utf-8"), re.MULTILINE)
    left = [path.name for path in tmp_path.iterdir() if path.name != "formulas"]
    assert [name for name in left if not any(fnmatch(name, one) for one in ignored)] == []


def run(hardsim: Cli, line: str) -> Outcome | None:
    """Run a command line without a shell, pipes included; return None for commands that are not run here."""
    words = shlex.split(line, comments=True)
    parts = [list(part) for part in _between(words, "|")]
    outcome, given = None, ""
    for part in parts:
        if part[0] == "printf":
            given = part[1].encode().decode("unicode_escape")
        elif part[0] == "hardsim":
            if "--backend" in part:
                return None
            outcome = hardsim(*part[1:], stdin=given.encode())
            given = outcome.out
        else:
            assert part[0] in ELSEWHERE, line
    return outcome


def _between(words: list[str], mark: str) -> Iterator[list[str]]:
    while mark in words:
        yield words[: words.index(mark)]
        words = words[words.index(mark) + 1 :]
    yield words


def expected_code(command: str, output: str = "") -> int:
    """Return the exit code that the page promises for a command."""
    said = CODE.search(command.partition("  # ")[2])
    return int(said[1]) if said else int(bool(re.search("^REFUTED", output, re.MULTILINE)))


# ---- examples ----


@pytest.mark.parametrize("text", of_kind("console"))
def test_a_console_example_prints_what_the_page_shows(text: str, hardsim: Cli, directory: Path) -> None:
    prompt, _, output = text.partition("\n")
    found = run(hardsim, prompt.removeprefix("$ "))
    assert found is not None
    assert found.out.strip("\n") == output.strip("\n")
    assert found.code == expected_code(prompt, output), found.err


@pytest.mark.parametrize("text", of_kind("sh"))
def test_commands_end_as_they_should(text: str, hardsim: Cli, directory: Path) -> None:
    for command in re.sub(r"\|\n\s*", "| ", text).splitlines():
        found = run(hardsim, command)
        assert found is None or found.code == expected_code(command), (command, found.out, found.err)


THEOREMS = (DOCS / "theorems.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"\|`(hardsim [^`]*)`\|$", THEOREMS, re.MULTILINE)


@pytest.mark.parametrize("command", [pytest.param(one, id=one, marks=pytest.mark.sweep(every=4)) for one in SHOWN])
def test_the_commands_of_the_theorem_map_end_well(command: str, hardsim: Cli, directory: Path) -> None:
    """A row that says "every length" must be proved for every length."""
    found = run(hardsim, command)
    assert found is not None
    found.exits(0)
    row = next(line for line in THEOREMS.splitlines() if f"|`{command}`|" in line)
    if " prove " in command:
        assert "every length" in row
        assert found.out.startswith("PROVED")
        assert "every word of every length" in found.out


def test_the_theorem_map_has_every_statement_of_the_paper() -> None:
    """Definitions 10, 14 and 19 have numbers of the same row; all others from 6 to 34 are statements."""
    kinds = "Lemmas?|Propositions?|Theorems?|Corollar(?:y|ies)"
    named: set[int] = set()
    for first, to, last in re.findall(rf"\*\*(?:{kinds}) (\d+)(?: (to|and) (\d+))?\.\*\*", THEOREMS):
        named |= {int(first)} if not to else {*range(int(first), int(last) + 1)}
    assert named == {*range(6, 35)} - {10, 14, 19}


def steps_of(data: Any) -> Iterator[str]:
    """Yield the command lines of a workflow, in order; pre-commit appends the files that a commit changes."""
    if isinstance(data, list):
        for one in data:
            yield from steps_of(one)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key == "entry":
                yield f"{value} formulas/since.ltl"
            elif key in ("run", "script"):
                yield from "\n".join([value] if isinstance(value, str) else value).splitlines()
            else:
                yield from steps_of(value)


def on_one(text: str) -> str:
    """Replace all formulas in commands by one formula, since all take minutes."""
    return re.sub(r" formulas/(?=\s|$)", " formulas/since.ltl", text)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("text", of_kind("yaml"))
def test_the_commands_of_a_workflow_are_right(text: str, whole: bool, hardsim: Cli, directory: Path) -> None:
    """With `--require proved` the code is 3: some shipped files are certified and not proved, as the page says."""
    steps = [step.partition(" > ")[0] for step in steps_of(yaml.safe_load(text))]
    assert any(step.startswith("hardsim check ") for step in steps) or "hardsim/docs/ci" in text
    for step in steps:
        found = run(hardsim, step if whole else on_one(step))
        expected = 3 if whole and "--require proved" in step else 0
        assert found is None or found.code == expected, (step, found.out, found.err)


@pytest.mark.parametrize("text", of_kind("make"))
def test_the_rule_of_a_makefile_is_right(text: str, directory: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    makefile = written(tmp_path_factory.mktemp("make") / "Makefile", on_one(text))
    bins = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ended("make", "-f", makefile, "check", cwd=directory, env=os.environ | {"PATH": bins}).exits(0, "PROVED")


@pytest.mark.parametrize("texts", by_page(of_kind("python")))
def test_the_python_of_a_page_runs(texts: list[str], directory: Path) -> None:
    names = {"__name__": "example"}
    for text in texts:
        exec(compile(text, "example", "exec"), names)


@pytest.mark.parametrize("text", of_kind("json"))
def test_a_network_that_is_shown_is_right(text: str, hardsim: Cli, directory: Path) -> None:
    if '"hardsim-ahat"' in text:
        hardsim("check", written(directory / "shown.ahat.json", text), "--max-n", "3").clean("PROVED")
    if '"hardsim-network"' in text:
        shown = written(directory / "majority.json", text)
        for command in ("check", "prove"):
            found = hardsim(command, shown, "--against", "formulas/majority.ltl", "--max-n", "10")
            found.clean("PROVED", "2,046")


def test_the_network_that_is_shown_is_the_one_that_is_shipped() -> None:
    (shown,) = (json.loads(block.text) for block in BLOCKS if '"hardsim-ahat"' in block.text)
    shipped = json.loads((ROOT / "formulas" / "majority_ties.ahat.json").read_text(encoding="utf-8"))
    assert shown == {key: value for key, value in shipped.items() if key not in ("title", "source", "notes")}


def test_the_pages_have_examples_of_each_kind() -> None:
    kinds = [block.kind for block in BLOCKS]
    assert min(map(kinds.count, ("console", "sh", "python", "json"))) >= 1
    assert set(kinds) <= {"", "text", "console", "sh", "python", "json", "yaml", "make"}


def test_a_wrong_example_is_seen(hardsim: Cli, directory: Path) -> None:
    found = run(hardsim, "hardsim eval formulas/since.ltl ab  # exit code 1")
    assert found is not None
    assert found.code != expected_code("hardsim eval formulas/since.ltl ab  # exit code 1")
    with pytest.raises(AssertionError, match="hardsmi"):
        run(hardsim, "hardsmi check formulas/since.ltl")


# ---- links and names ----


def prose_of(path: Path) -> str:
    """Return a page without its blocks and comments."""
    return re.sub(r"<!--.*?-->", "", BLOCK.sub("", path.read_text(encoding="utf-8")), flags=re.DOTALL)


@cache
def anchors_of(path: Path) -> set[str]:
    """Return the anchors of a page's headings, which must be the same on the site and in a repository's viewer."""
    titles = re.findall(r"^#+ (.*)$", prose_of(path), re.MULTILINE)
    slugs = [re.sub(r"[^\w\s-]", "", title).strip().lower() for title in titles]
    assert [slug for slug in slugs if not re.fullmatch(r"[a-z0-9_]+([ -][a-z0-9_]+)*", slug)] == [], path.name
    return {slug.replace(" ", "-") for slug in slugs}


def broken_links(path: Path) -> list[str]:
    """List the relative links of a page that lead nowhere."""
    broken = []
    for found in LINK.finditer(prose_of(path)):
        target, _, anchor = found["target"].partition("#")
        if "://" in target:
            continue
        page = (path.parent / target).resolve() if target else path
        if not page.exists() or (anchor and anchor not in anchors_of(page)):
            broken.append(found["target"])
    return broken


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    assert broken_links(path) == []


def test_a_broken_link_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.cli.test_docs.ROOT", tmp_path)
    links = "[a](#two-words) [b](#three) [c](other.md) [d](page.md#one)"
    page = written(tmp_path / "page.md", f"# One\n## Two words\n{links}\n")
    assert broken_links(page) == ["#three", "other.md"]


def defined_in(path: Path) -> set[str]:
    """Return the names that a module defines; methods are prefixed by their class."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        outer = {getattr(target, "name", getattr(target, "id", "")) for target in targets}
        inner = node.body if isinstance(node, ast.ClassDef) else []
        names |= outer | {f"{name}.{getattr(one, 'name', '')}" for name in outer for one in inner}
    return names


def missing_names(text: str) -> list[str]:
    """List the files that a text names and that do not exist, and names (`file::name`) that their file does not
    define.
    """
    missing = []
    for found in NAMED.finditer(text):
        path = ROOT / found["path"]
        if not path.exists() or (found["name"] and found["name"] not in defined_in(path)):
            missing.append(found[0])
    return missing


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_files_and_functions_that_are_named_exist(path: Path) -> None:
    assert missing_names(prose_of(path)) == []


def test_a_name_that_does_not_exist_is_found() -> None:
    assert missing_names("`hardsim/errors.py::Source` `hardsim/lang/core.py::CoreBuilder.both`") == []
    wrong = ["`hardsim/error.py`", "`hardsim/errors.py::Sauce`", "`hardsim/lang/core.py::both`"]
    assert missing_names(" ".join(wrong)) == wrong


def barred(text: str) -> list[str]:
    """List code with a backslash before a bar: in a table Python-Markdown shows both, other viewers only the bar."""
    return [code for code in re.findall(r"`[^`\n]+`", text) if "\\|" in code]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_bars_in_code_are_shown_alike_everywhere(path: Path) -> None:
    assert barred(prose_of(path)) == []


def test_a_backslash_before_a_bar_is_found() -> None:
    assert barred("| `or` `a\\|b` | <code>&#124;</code> |") == ["`a\\|b`"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_lines_of_text_are_short(path: Path) -> None:
    lines = [line for line in prose_of(path).splitlines() if not line.startswith(("|", "Run of ", "- float64 pass"))]
    assert [line for line in lines if len(line) > 120] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_make_has_the_targets_that_are_named() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {name for path in PAGES for name in re.findall(r"`make ([a-z][a-z-]*)", path.read_text(encoding="utf-8"))}
    assert {"check", "test", "docs"} <= named <= targets


def test_every_page_is_in_the_menu() -> None:
    menu = (DOCS / "site" / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    shown = re.findall(r"^ *- (?:[^#\n]*: )?([\w/-]+\.md)$", menu, re.MULTILINE)
    pages = [path.relative_to(DOCS).as_posix() for path in PAGES[2:]]
    assert sorted(shown) == sorted(["contributing.md", "tour.md", *pages])


# ---- the notebook ----


def shown(tour: Any) -> list[Any]:
    """Return the outputs of a notebook's cells without titles, whose further digits depend on the machine's
    arithmetic.
    """
    untitled = re.sub(r' title=\\"[^"]*\\"', "", json.dumps([cell.get("outputs") for cell in tour["cells"]]))
    return list(json.loads(untitled))


@pytest.mark.slow
def test_the_notebook_shows_what_the_code_says(directory: Path) -> None:
    assert shown(notebook.renewed(notebook.stored())) == shown(notebook.stored())


def test_the_notebook_is_small_and_holds_nothing_that_changes() -> None:
    text, tour = notebook.NOTEBOOK.read_text(encoding="utf-8"), notebook.stored()
    assert text == notebook.written(tour)
    assert len(text) < 64_000
    assert (tour["nbformat"], set(tour["metadata"])) == (4, {"kernelspec", "language_info"})
    assert len({cell["id"] for cell in tour["cells"]}) == len(tour["cells"])
    found = [one for cell in tour["cells"] for one in (cell, *cell.get("outputs", ()))]
    assert [one for one in found if one.get("metadata") or one.get("execution_count")] == []
    prose = "\n".join(line for cell in tour["cells"] if cell["cell_type"] == "markdown" for line in cell["source"])
    assert [found["target"] for found in LINK.finditer(prose) if not (DOCS / found["target"]).exists()] == []
    assert [line for line in prose.splitlines() if len(line) > 120] == []


def test_a_cell_shows_what_it_prints_and_its_last_value() -> None:
    cell = {"cell_type": "code", "source": ["import hardsim\n", "print('x')\n", "hardsim.load('since')"]}
    description = {"cell_type": "markdown", "source": ["text"]}
    printed, value = notebook.renewed({"cells": [description, cell | {"outputs": []}]})["cells"][1]["outputs"]
    assert printed == {"name": "stdout", "output_type": "stream", "text": ["x\n"]}
    assert value["data"]["text/plain"] == ["<hardsim.Model since: formula, a S b, over a b c>"]
    assert value["data"]["text/html"][0].startswith("<table>")
    names: dict[str, Any] = {}
    assert notebook.outputs("one = 1\nNone", names) == []
    assert [one["data"] for one in notebook.outputs("one", names)] == [{"text/plain": ["1"]}]


def test_the_site_has_a_page_of_the_notebook() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# One\n", "two"]},
        {"cell_type": "code", "source": ["1"], "outputs": [{"data": {"text/plain": ["1"]}}]},
        {"cell_type": "code", "source": ["x"], "outputs": [{"text": ["y\n"]}, {"data": {"text/html": ["<p>"]}}]},
    ]
    made = ["# One\ntwo", "```python\n1\n```", "```text\n1\n```", "```python\nx\n```", "```text\ny\n```", "<p>"]
    assert list(hooks.parts({"cells": cells})) == made


def test_verdicts_of_reports_have_colours() -> None:
    """Only at the start of a line of a block; what a page says of verdicts keeps its colour."""
    html = "<p>PROVED is</p><pre><code>$ x\nPROVED  a\n  not PROVED b\n<span>REFUTED  c</span>\nUNDECIDED</code></pre>"
    made = html.replace("\nPROVED", '\n<span class="verdict verdict-right">PROVED</span>').replace(
        ">REFUTED", '><span class="verdict verdict-wrong">REFUTED</span>'
    )
    assert hooks.on_page_content(html, None, None, None) == made
    assert {word for words in hooks.KINDS.values() for word in words} >= {*Verdict}


def test_another_output_is_seen() -> None:
    tour = {"cells": [{"outputs": [{"data": {"text/html": ['<span title="1.25">1.3</span>']}}]}]}
    text = json.dumps(tour)
    assert shown(tour) == shown(json.loads(text.replace("1.25", "1.26")))
    assert shown(tour) != shown(json.loads(text.replace("1.3", "1.4")))


# ---- what there is ----


def first_cells(page: str, title: str) -> list[str]:
    """Return the code in the first column of a page's first table whose head begins with a title."""
    table = (DOCS / page).read_text(encoding="utf-8").partition(f"\n|{title}|")[2].partition("\n\n")[0]
    return re.findall(r"^\|(?:\[?`)?([\w-]+)", table.partition("\n|--")[2], re.MULTILINE)


def test_tables_name_all_that_there_is() -> None:
    assert first_cells("commands.md", "verdict") == list(Verdict)
    assert first_cells("commands.md", "engine") == list(ENGINES)
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    named = {word for title in re.findall(r"^### (.*)$", page, re.MULTILINE) for word in title.split()}
    assert {*COMMANDS} <= named | {*re.findall(r"\[`(\w+)`\]\(", page)}
    assert first_cells("ci.md", "`--format`") == list(FORMATS)
    head = (DOCS / "theory.md").read_text(encoding="utf-8").partition("\n||`temperature`")[1:]
    assert re.findall(r"`([\w-]+)`", "".join(head).splitlines()[1]) == list(ALL_REGIMES)
    assert set(ALL_REGIMES) <= {*re.findall(r"[\w-]+", OPTIONS["regime"].help)}


def test_the_readme_agrees_with_the_page_of_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\|`([A-Z]+)`\|", readme, re.MULTILINE) == list(Verdict)
    assert first_cells("commands.md", "exit code") == ["0", "1", "2", "3", "4", "130", "141"]
    codes = readme.partition("\nExit codes: ")[2].partition("(")[0]
    assert re.findall(r"(\d) \w", codes) == list("01234")


def test_every_spelling_of_an_operator_is_on_the_page_of_languages() -> None:
    page = unescape(re.sub("</?code>", "`", prose_of(DOCS / "languages.md")))
    codes = " ".join(re.findall(r"`([^`]+)`", page)).split()
    brackets = {"LPAR", "RPAR", "RSQB", "COMMA"}
    spellings = {text for text, (terminal, _) in FORMULAS.items() if terminal not in brackets}
    unsaid = {text for text in spellings if not any(code == text or code.startswith(f"{text}(") for code in codes)}
    assert unsaid == set()


def test_what_is_made_of_the_table_of_options_is_up_to_date() -> None:
    assert options.PAGE.read_text(encoding="utf-8") == options.render(), "run make docs"
    assert options.KEYWORDS.read_text(encoding="utf-8") == options.keywords(), "run make docs"


# ---- the recipe of CONTRIBUTING ----


def entered(text: str, name: str, entry: str) -> str:
    """Return the text of a module with an entry appended to the list or dictionary of a name."""
    lines = text.split("\n")
    place = next(k for k, line in enumerate(lines) if re.match(rf'{name}\b|    \*\*spelled\("{name}"', line))
    if lines[place].endswith("{"):
        lines.insert(lines.index("}", place), f"    {entry}")
    else:
        end = max(map(lines[place].rfind, ")]"))
        lines[place] = f"{lines[place][:end]}, {entry}{lines[place][end:]}"
    return "\n".join(lines)


@pytest.mark.slow
def test_an_operator_is_added_as_it_is_written(tmp_path: Path) -> None:
    (recipe,) = (block.text for block in BLOCKS if block.remark == "recipe")
    for name in ("hardsim", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("formulas", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    for line in recipe.splitlines():
        file, name, entry = re.split(" {2,}", line)
        path = tmp_path / file
        written(path, entered(path.read_text(encoding="utf-8"), name, entry))
    given = ("-e", "YO b", "--alphabet", "a b")
    here: dict[str, Any] = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(tmp_path)}}
    process("check", *given, "--regime", "all", **here).exits(0, "4 results: 4 PROVED").says("'YO'")
    process("prove", *given, "--all-n", "--max-n", "8", "--certificate", "p.json", **here).clean("word of every length")
    process("verify", "p.json", **here).clean("VALID ", "every word of every length")
    tests = [f"tests/lang/test_{name}.py" for name in ("semantics", "batch_oracle", "ltl_parser")]
    ended(sys.executable, "-m", "pytest", "-q", "-k", "[YO] or left_out", *tests, **here).exits(0, "passed")


# ---- a cluster of ray (that of dask is in test_backend.py) ----


@pytest.fixture
def ray_home() -> Iterator[Path]:
    """A home directory without a token of ray, under a short path (sockets need one); its processes are ended
    afterwards.
    """
    with TemporaryDirectory(prefix="ray", dir="/tmp") as home:
        yield Path(home)
        for one in psutil.process_iter(["cmdline"]):
            if any(home in part for part in one.info["cmdline"] or ()):
                with suppress(psutil.NoSuchProcess):
                    one.kill()
                    one.wait(30)


@pytest.mark.slow
def test_the_commands_for_a_cluster_of_ray_are_right(ray_home: Path) -> None:
    lines = [line for path in PAGES for block in blocks_of(path) for line in block.text.splitlines()]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    start, check = (
        line.replace("6379", port).split() for line in lines if line.startswith(("ray start", "RAY_ADDRESS="))
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    here: dict[str, Any] = {"cwd": ROOT, "env": clean | {"HOME": str(ray_home)}}
    ray = str(Path(sys.executable).with_name("ray"))
    quietly = ("--num-cpus", 2, "--include-dashboard", "false", "--disable-usage-stats", "--temp-dir", ray_home / "ray")
    ended(ray, *start[1:], *quietly, **here).exits(0)
    given = dict(part.split("=", 1) for part in check[: check.index("hardsim")])
    process(*check[check.index("hardsim") + 1 :], cwd=ROOT, env=here["env"] | given).clean("PROVED")
