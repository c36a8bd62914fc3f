"""Tests of standard output for other programs (`--format`), and of how little it may be (`--quiet`, `--fail-fast`)."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from hardsim.cli.typer_options import options_of
from hardsim.report import github, junit, sarif
from hardsim.report.outcome import Ending, Finished, Outcome
from hardsim.visible import visible_lines
from tests.cli.conftest import SINCE, Cli, interrupt, unfolded, written
from tests.support.language import InvariantError

FORMATS = ("json", "junit", "github", "sarif")
COMMAND_LINE = re.compile(r"::(?P<level>error|warning|notice) (?P<properties>[^\n]*?)::(?P<message>[^\n]*)")
DYCK = "alphabet: ( )\nN(i) := psum_j[j<=i] (Q_((j) ? 1 : 0)\nY(i) := N(i) > 0\n"


# ---- reading what was written ----


def unescaped(text: str) -> str:
    """Decode a text as GitHub's runner does, which knows these five codes."""
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


def github_lines(text: str) -> list[dict[str, str]]:
    """Return the workflow commands of a report, which must contain nothing else."""
    found = []
    for line in text.splitlines():
        match = COMMAND_LINE.fullmatch(line)
        assert match is not None, line
        pairs = [part.split("=", 1) for part in match["properties"].split(",")]
        properties = {name: unescaped(value) for name, value in pairs}
        found.append({"level": match["level"], "message": unescaped(match["message"]), **properties})
    return found


def suite(text: str) -> ElementTree.Element:
    """Return the only test suite of a report, and require that its counts agree with its cases."""
    root = ElementTree.fromstring(text)
    (found,) = root
    assert (root.tag, found.tag) == ("testsuites", "testsuite")
    cases = found.findall("testcase")
    for element in (root, found):
        assert element.get("tests") == str(len(cases))
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert element.get(count) == str(len(found.findall(f"testcase/{tag}")))
    for case in cases:
        assert {"classname", "name", "time"} <= case.attrib.keys()
        assert len([part for part in case if part.tag != "properties"]) <= 1
    return found


def properties(element: ElementTree.Element) -> dict[str, str]:
    """Return the properties of a suite or a case."""
    return {str(one.get("name")): str(one.get("value")) for one in element.findall("properties/property")}


def sarif_results(text: str) -> list[dict[str, Any]]:
    """Return the results of a SARIF document, and require what the standard requires of its parts."""
    document = json.loads(text)
    assert document.keys() == {"$schema", "version", "runs"}
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "hardsim"
    assert {"version", "rules"} <= driver.keys()
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    (invocation,) = run["invocations"]
    assert isinstance(invocation["executionSuccessful"], bool)
    assert isinstance(invocation["exitCode"], int)
    for found in run["results"]:
        assert found["ruleId"] == rules[found["ruleIndex"]]
        assert found["level"] in ("error", "warning", "note")
        assert found["message"]["text"]
        for location in found.get("locations", ()):
            place = location["physicalLocation"]
            assert re.fullmatch(r"[A-Za-z0-9._~!$&'()*+,;=:@/%-]+", place["artifactLocation"]["uri"])
            assert all(isinstance(number, int) and number >= 1 for number in place.get("region", {}).values())
    return list(run["results"])


Read: TypeAlias = Callable[[str], list[Any]]
READ: dict[str, Read] = {
    "json": lambda text: [json.loads(text)],
    "junit": lambda text: [case[-1].tag for case in suite(text).findall("testcase") if case[-1].tag != "properties"],
    "github": lambda text: [one["level"] for one in github_lines(text)],
    "sarif": lambda text: [(one["ruleId"], one["level"]) for one in sarif_results(text)],
}
"""For each format, the outcomes of inputs that did not pass, as read from a report."""


# ---- each format of each ending ----

ENDINGS: dict[str, tuple[int, dict[str, list[Any]]]] = {
    "passed": (0, {"junit": [], "github": [], "sarif": []}),
    "refuted": (1, {"junit": ["failure"], "github": ["error"], "sarif": [("mismatch", "error")]}),
    "undecided": (3, {"junit": ["skipped"], "github": ["warning"], "sarif": [("undecided", "warning")]}),
    "observed": (0, {"junit": ["skipped"], "github": ["notice"], "sarif": [("observed", "note")]}),
    "required": (3, {"junit": ["failure"], "github": ["error"], "sarif": [("required", "error")]}),
    "bad": (2, {"junit": ["error"], "github": ["error"], "sarif": [("bad-input", "error")]}),
    "internal": (4, {"junit": ["error"], "github": ["error"], "sarif": [("internal-error", "error")]}),
    "interrupted": (130, {"junit": ["skipped"], "github": ["warning"] * 2, "sarif": [("not-run", "warning")]}),
}
"""For each ending, the exit code and the outcome in each format; GitHub has an additional annotation for an
interruption.
"""


def run_to(ending: str, hardsim: Cli, directory: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> Any:
    """Run a command that has this ending."""
    path = written(directory / "since.ltl", SINCE)
    if ending == "undecided":
        return hardsim("prove", written(directory / "some.srasp", DYCK), "--all-n", "--tau", "1/(999*n)", *options)
    if ending == "bad":
        written(path, "alphabet: a b\n  \na S d\n")
    if ending == "internal":
        monkeypatch.setattr("hardsim.proving.prove.prove_subject", lambda *_, **__: _fail())
    if ending == "interrupted":
        interrupt(monkeypatch, "hardsim.campaign.judges.HardJudge.tally", 1)
    requested = {
        "refuted": ["--regime", "none"],
        "observed": ["--engine", "mpmath"],
        "required": ["--engine", "float64", "--require", "proved"],
    }
    return hardsim("check", path, "--max-n", "3", *requested.get(ending, []), *options)


def _fail() -> None:
    raise InvariantError("a lemma is false")


@pytest.mark.sweep
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", [*FORMATS, "text"])
def test_a_run_ends_the_same_in_every_format(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, name: str
) -> None:
    code, called = ENDINGS[ending]
    outcome = run_to(ending, hardsim, tmp_path, monkeypatch, "--format", name)
    assert outcome.code == code
    assert bool(outcome.err) is (ending not in ("passed", "refuted", "undecided", "observed"))
    if name == "json":
        document = outcome.json
        assert document["exit_code"] == code
        assert bool(document["errors"]) is (ending in ("bad", "internal"))
    elif name != "text":
        assert READ[name](outcome.out) == called[name]
    if name == "github" and ending == "passed":
        assert outcome.out == ""


@pytest.mark.parametrize("name", ["junit", "github", "sarif"])
def test_a_failure_comes_with_the_word_and_the_answers(hardsim: Cli, since: Path, name: str) -> None:
    text = hardsim("check", since, "--regime", "none", "--max-n", "3", "--format", name).exits(1).out
    if name == "junit":
        (case,) = suite(text).findall("testcase")
        assert case.get("name") == f"{since} (none)"
        assert case.get("file") == str(since)
        assert float(str(case.get("time"))) >= 0
        said, facts = str(case[-1].text), properties(case)
    elif name == "github":
        (found,) = github_lines(text)
        assert (found["file"], found["title"]) == (str(since), "hardsim check: REFUTED (regime none)")
        said = found["message"]
        facts = {"verdict": said.split()[0], "word": said.partition("on a line of its own:\n")[2].partition("\n")[0]}
    else:
        (result,) = sarif_results(text)
        said, facts = result["message"]["text"], result["properties"]
    # The word that the text format shows, of two symbols: see the tests of `check`.
    assert facts["verdict"] == "REFUTED"
    assert len(facts["word"]) == 2
    assert {facts["word"]} < set(said.splitlines())
    assert "oracle: reject; hard attention: reject; softmax: undecided" in said


def messages(name: str, text: str) -> list[str]:
    """Return the messages of a report about the outcomes that did not pass."""
    if name == "junit":
        return [str(case[-1].text) for case in suite(text).findall("testcase") if case[-1].tag != "properties"]
    if name == "github":
        return [one["message"] for one in github_lines(text)]
    return [one["message"]["text"] for one in sarif_results(text)]


FOLDED = {
    "check": ("--regime", "none", "--max-n", "3"),
    "prove": ("--beta", "1", "--max-n", "5"),
    "bound": ("--beta", "1/2", "--max-n", "3"),
}
"""Options with which each command refutes a formula, in sentences of more than 80 columns."""


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("columns", ["20", "80"])
@pytest.mark.parametrize("command", FOLDED)
@pytest.mark.parametrize("name", ["junit", "github", "sarif"])
def test_lines_of_messages_do_not_fold(
    hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: str, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = hardsim(command, since, *FOLDED[command], "--quiet").exits(1).out
    (message,) = messages(name, hardsim(command, since, *FOLDED[command], "--format", name).exits(1).out)
    # The words are in the same order, and each line of the text is within one line of the message.
    assert unfolded(text) in unfolded(message)
    hanging = [line for line in text.splitlines() if line.startswith("    ")]
    assert len(message.splitlines()) == len(text.splitlines()) - len(hanging)
    assert hanging or command == "bound"
    sentences = message.splitlines()
    for start in (line for line in text.splitlines() if not line.startswith("    ")):
        assert any(start in sentence for sentence in sentences)


@pytest.mark.parametrize("name", ["junit", "github", "sarif"])
def test_a_mistake_in_a_file_has_its_place(hardsim: Cli, tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "wrong.ltl", "alphabet: a b\n\na S  d\n")
    text = hardsim("prove", path, "--format", name).exits(2).says("wrong.ltl:3:6: error: unknown symbol").out
    if name == "junit":
        (case,) = suite(text).findall("testcase")
        assert (case.get("file"), case.get("line"), case[-1].get("type")) == (str(path), "3", "bad input")
        said = str(case[-1].text)
    elif name == "github":
        (found,) = github_lines(text)
        assert (found["file"], found["line"], found["col"]) == (str(path), "3", "6")
        said = found["message"]
    else:
        (result,) = sarif_results(text)
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == path.as_uri()
        assert place["region"] == {"startLine": 3, "startColumn": 6}
        said = result["message"]["text"]
    assert "unknown symbol or name 'd'" in said


def test_a_mistake_in_an_option_has_no_place_in_a_file(hardsim: Cli, since: Path) -> None:
    """A mistake in a formula on the command line has no file either."""
    (found,) = github_lines(
        hardsim("check", since, "--tau", "1/m", "--format", "github").exits(2).says("--tau:1:3").out
    )
    assert "file" not in found
    (found,) = github_lines(hardsim("check", "-e", "a S d", "--alphabet", "a b", "--format", "github").exits(2).out)
    assert "file" not in found
    assert found["message"].startswith("<expression>: ")
    (result,) = sarif_results(hardsim("check", "-e", "a S d", "--alphabet", "a b", "--format", "sarif").exits(2).out)
    assert "locations" not in result


def test_what_is_shipped_under_a_name_is_no_file_of_that_name(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    requested = ["--regime", "none", "--max-n", "3", "--format", "github"]
    assert "file" not in github_lines(hardsim("check", "since", *requested).exits(1).out)[0]
    written(tmp_path / "since", SINCE)
    assert github_lines(hardsim("check", "since", *requested).exits(1).out)[0]["file"] == "since"


@pytest.mark.parametrize(
    "name", ["junit", *(pytest.param(name, marks=pytest.mark.slow) for name in ("github", "sarif"))]
)
def test_verify_and_bound_have_formats_too(hardsim: Cli, since: Path, tmp_path: Path, name: str) -> None:
    certificate = tmp_path / "since.cert.json"
    hardsim("prove", since, "--max-n", "2", "--certificate", certificate).exits(0)
    assert READ[name](hardsim("verify", certificate, "--format", name).clean().out) == []
    damaged = written(
        tmp_path / "bad.cert.json", certificate.read_text(encoding="utf-8").replace("every word", "a word")
    )
    text = hardsim("verify", damaged, "--format", name).clean("INVALID", code=1).out
    assert READ[name](text) == ENDINGS["refuted"][1][name]
    assert "INVALID" in text
    assert READ[name](hardsim("bound", since, "--max-n", "2", "--format", name).clean().out) == []
    text = hardsim("bound", since, "--max-n", "2", "--beta", "1/2", "--format", name).exits(1).out
    assert READ[name](text) == ENDINGS["refuted"][1][name]
    text = hardsim("bound", since, "--critical", "--max-n", "2", "--format", name).clean().out
    assert READ[name](text) == []
    if name == "junit":
        assert "right at every length from beta" in text or "every length" in text


@pytest.mark.parametrize("name", ["junit", "github", "sarif"])
def test_what_an_interruption_left_out_is_reported(
    hardsim: Cli, since: Path, future: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    interrupt(monkeypatch, "hardsim.campaign.judges.HardJudge.tally", 1)
    outcome = hardsim("check", since, future, "--max-n", "2", "--format", name).exits(130).says("is partial")
    if name == "junit":
        message = [case[-1].get("message") for case in suite(outcome.out).findall("testcase")]
        assert properties(suite(outcome.out))["exit_code"] == "130"
    elif name == "github":
        message = [one["message"] for one in github_lines(outcome.out)]
    else:
        message = [one["message"]["text"] for one in sarif_results(outcome.out)]
    assert "interrupted: the result of" in str(message[0])
    assert "no verdict: interrupted" in str(message[1])
    monkeypatch.undo()
    interrupt(monkeypatch, "hardsim.campaign.judges.HardJudge.tally", 1)
    document = hardsim("check", since, future, "--max-n", "2", "--format", "json").exits(130).json
    assert (document["not_run"], document["stopped"]) == ([{"input": str(future), "regime": None}], False)


def test_json_is_json_to_standard_output(hardsim: Cli, since: Path) -> None:
    one, other = (
        hardsim("check", since, "--max-n", "2", *requested) for requested in (["--format", "json"], ["--json", "-"])
    )
    assert one.clean().json == other.clean().json


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "json", "--json", "-"], "--format json means --json -, but --json - is given too"),
        (
            ["--format", "json", "--json", "report.json"],
            "--format json means --json -, but --json report.json is given",
        ),
        (["--format", "junit", "--json", "-"], "--json - and --format junit both write to standard output"),
        (["--format", "text", "--json", "-"], "--json - and --format text both write to standard output"),
        (["--format", "xml"], "'xml' is not one of 'text', 'json', 'junit', 'github', 'sarif'"),
    ],
)
def test_two_things_are_not_written_to_standard_output(
    hardsim: Cli, since: Path, arguments: list[str], message: str
) -> None:
    hardsim("check", since, *arguments).refused(message)


def test_a_certificate_and_a_format_both_want_standard_output(hardsim: Cli, since: Path) -> None:
    message = "--certificate - and --format sarif both write to standard output"
    hardsim("prove", since, "--certificate", "-", "--format", "sarif").refused(message)
    message = "--certificate - and --format json both write to standard output"
    hardsim("prove", since, "--certificate", "-", "--format", "json").refused(message)


def test_a_document_may_be_written_beside_a_format(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    outcome = hardsim("check", since, "--max-n", "2", "--format", "junit", "--json", report).clean()
    assert len(suite(outcome.out).findall("testcase")) == 1
    assert json.loads(report.read_text(encoding="utf-8"))["exit_code"] == 0


# ---- hostile names and texts ----

HOSTILE = "a\nb::error::%0A,]]><x>\x1b[31m\udcff\u202e&\"' \ufffe"


@pytest.mark.parametrize("name", FORMATS)
def test_a_hostile_name_stays_in_its_place(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = HOSTILE.replace("/", "") + ".ltl"
    Path(file).write_text("alphabet: a b c\na S b\n", encoding="utf-8")
    text = hardsim("check", file, "--regime", "none", "--max-n", "3", "--format", name).exits(1).out
    if name == "json":
        assert json.loads(text)["inputs"][0]["name"] == file
    elif name == "junit":
        (case,) = suite(text).findall("testcase")
        shown = r"a\nb::error::%0A,]]><x>\x1b[31m\udcff\u202e&" + "\"' " + r"\ufffe.ltl"
        assert (case.get("file"), case.get("name")) == (shown, f"{shown} (none)")
    elif name == "github":
        (found,) = github_lines(text)
        # The runner decodes a line break and a percent sign; characters it cannot represent are escaped.
        assert found["file"] == "a\nb::error::%0A,]]><x>" + r"\x1b[31m\udcff\u202e&" + "\"' \ufffe.ltl"
    else:
        (result,) = sarif_results(text)
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert unquote(uri, errors="surrogateescape") == file


def outcome(**changes: Any) -> Outcome:
    """Return the outcome of a failing file with a word, with some fields changed."""
    given: dict[str, Any] = {
        "input": "f.ltl",
        "regime": None,
        "ending": Ending.FAILED,
        "code": 1,
        "message": "it fails",
    }
    return Outcome(**given | {"seconds": 1.25, "verdict": "REFUTED"} | changes)


@pytest.mark.parametrize("text", [HOSTILE, "]]>", "%0A", "::error::x", "\r\n", "<a>&amp;", "\x00\x0b\ufffe\uffff"])
def test_any_text_is_valid_and_reads_back(text: str) -> None:
    finished = Finished("check", 1, [outcome(message=text, details=f"one\n{text}", word=text)], [text], [text])
    shown = [form.render(finished) for form in (junit, github, sarif)]
    assert all(one == visible_lines(one) for one in shown)
    (case,) = suite(shown[0]).findall("testcase")
    assert str(case[-1].text).startswith("one\n")
    assert str(case[-1].get("message")).isprintable()
    found, remark = github_lines(shown[1])
    assert found["message"].startswith("one\n")
    assert (found["level"], remark["level"]) == ("error", "warning")
    (result,) = sarif_results(shown[2])
    # JSON loses nothing.
    assert (result["message"]["text"], result["properties"]["word"]) == (f"one\n{text}", text)


def test_what_is_ordinary_stays_as_it_is() -> None:
    finished = Finished("check", 1, [outcome(message="<a> & b: c, 5 %", regime="none")], [], [])
    (case,) = suite(junit.render(finished)).findall("testcase")
    assert (case[-1].get("message"), case.get("time")) == ("<a> & b: c, 5 %", "1.250")
    assert github.render(finished) == (
        "::error file=f.ltl,title=hardsim check%3A REFUTED (regime none)::<a> & b: c, 5 %25\n"
    )


@pytest.mark.parametrize(
    ("name", "uri"),
    [("a b.ltl", "a%20b.ltl"), ("./d/ä#?.ltl", "d/%C3%A4%23%3F.ltl"), ("../x.ltl", "../x.ltl"), ("c:d", "c%3Ad")],
)
def test_a_file_is_a_relative_reference(name: str, uri: str) -> None:
    assert sarif.uri(name) == uri


def test_a_file_elsewhere_is_an_absolute_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert sarif.uri(str(tmp_path / "here" / "x.ltl")) == "x.ltl"
    assert sarif.uri(str(tmp_path / "other.ltl")) == (tmp_path / "other.ltl").as_uri()


# ---- several inputs ----


def test_the_slowest_of_several_is_named(hardsim: Cli, since: Path, future: Path) -> None:
    outcome = hardsim("check", since, future, "--max-n", "2").exits(0)
    (line,) = [line for line in outcome.err.splitlines() if "slowest" in line]
    assert re.fullmatch(
        r"note: slowest: .*(since|future)\.ltl \(temperature\), \d+\.\d of \d+\.\d seconds of work", line
    )
    hardsim("check", since, "--max-n", "2").clean()
    hardsim("check", since, future, "--max-n", "2", "--format", "junit").clean()


@pytest.mark.parametrize("command", ["words", "precision", "check"])
def test_a_file_that_was_not_read_is_never_the_slowest(
    hardsim: Cli, since: Path, future: Path, tmp_path: Path, command: str
) -> None:
    missing = tmp_path / "none.ltl", tmp_path / "none.cr"
    outcome = hardsim(command, *missing, since, future, "--max-n", "2").exits(2)
    slowest = [line for line in outcome.err.splitlines() if "slowest" in line]
    assert len(slowest) == (command == "check")
    assert "none." not in "".join(slowest)


@pytest.mark.parametrize("command", ["check", "prove", "bound"])
def test_a_run_ends_at_the_first_failure(hardsim: Cli, since: Path, tmp_path: Path, command: str) -> None:
    others = [written(tmp_path / f"{name}.ltl", SINCE) for name in ("one", "two")]
    requested = ["--regime", "none", "--max-n", "3", "--fail-fast"]
    outcome = hardsim(command, since, *others, *requested).exits(1, str(since)).lacks(str(others[0]))
    outcome.says("stopped at the first failure (--fail-fast); not run: 2 inputs\n")
    document = hardsim(command, since, *others, *requested, "--format", "json").exits(1).json
    assert document["stopped"] is True
    assert [one["input"] for one in document["not_run"]] == list(map(str, others))
    assert len(document["results"]) == 1
    cases = suite(hardsim(command, since, *others, *requested, "--format", "junit").out).findall("testcase")
    assert [case[-1].tag for case in cases] == ["failure", "skipped", "skipped"]
    assert cases[1][-1].get("message") == "not run: --fail-fast ended the run"


def test_all_regimes_of_an_input_are_left_where_one_fails(hardsim: Cli, since: Path) -> None:
    requested = ["--regime", "all", "--beta", "1/2", "--max-n", "2", "--fail-fast"]
    outcome = hardsim("check", since, *requested).exits(1).says(f"not run: 5 regimes of {since}\n")
    document = hardsim("check", since, *requested, "--format", "json").exits(1).json
    assert [one["regime"] for one in document["not_run"]] == [
        "position",
        "causal-temperature",
        "causal-position",
        "layer-norm",
        "rounded",
    ]
    assert outcome.out.count("REFUTED") == 1


def test_bad_input_ends_a_run_before_anything_is_run(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    wrong = written(tmp_path / "wrong.ltl", "alphabet: a\nb\n")
    outcome = hardsim("check", since, wrong, "--fail-fast").refused("unknown symbol")
    outcome.says("not run: 1 input\n")
    certificate = written(tmp_path / "x.cert.json", "{}")
    hardsim("verify", certificate, certificate.parent / "y", "--fail-fast").refused(
        "not a certificate", "not run: 1 input"
    )


def test_less_than_was_required_ends_a_run_and_undecided_alone_does_not(
    hardsim: Cli, since: Path, future: Path, tmp_path: Path
) -> None:
    requested = ["--engine", "float64", "--max-n", "2", "--fail-fast"]
    hardsim("check", since, future, *requested).exits(0, str(future)).unsaid("stopped")
    hardsim("check", since, future, *requested, "--require", "proved").exits(3).lacks(str(future)).says(
        "not run: 1 input"
    )
    undecided = written(tmp_path / "some.srasp", DYCK)
    hardsim("prove", undecided, undecided, "--all-n", "--tau", "1/(999*n)", "--fail-fast").exits(3).unsaid("stopped")


def test_a_run_without_a_failure_is_not_stopped(hardsim: Cli, since: Path, future: Path) -> None:
    document = hardsim("check", since, future, "--max-n", "2", "--fail-fast", "--format", "json").clean().json
    assert (document["stopped"], document["not_run"]) == (False, [])


# ---- quiet ----


@pytest.mark.slow
def test_quiet_is_verdicts_and_failures_alone(hardsim: Cli, since: Path, future: Path) -> None:
    outcome = hardsim("check", since, future, "--max-n", "2", "--quiet").clean(str(since), str(future), "PROVED")
    outcome.lacks("formula a S b", "regime temperature", "2 results", "words tried")
    hardsim("check", since, "--regime", "none", "--max-n", "3", "--quiet").clean(
        "REFUTED  ", "oracle: reject; hard attention: reject", code=1
    )
    hardsim("prove", since, future, "--max-n", "2", "--quiet").clean("PROVED").lacks("link 1", "margin")
    hardsim("bound", since, future, "--max-n", "2", "--quiet").clean("CERTIFIED").lacks("grid", "theorem")
    hardsim("bound", since, "--gap", "--max-n", "2", "--quiet").clean("CERTIFIED").lacks("tightest")
    hardsim("bound", since, "--critical", "--max-n", "2", "--quiet").clean("every length: right").lacks(
        "words tried", "wrong on"
    )


def test_quiet_verifies_in_a_line(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    certificate = tmp_path / "since.cert.json"
    outcome = hardsim("prove", since, "--max-n", "2", "--certificate", certificate, "--quiet").clean("PROVED")
    outcome.lacks("certificate, checked")
    assert (
        hardsim("verify", certificate, "--quiet").clean().out == f"VALID  {certificate}\n  every word of every length\n"
    )
    damaged = written(
        tmp_path / "bad.cert.json", certificate.read_text(encoding="utf-8").replace("every word", "a word")
    )
    hardsim("verify", damaged, "--quiet").clean("INVALID", code=1)


def test_quiet_is_silent_of_what_no_verdict_depends_on(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    looks_ahead = written(tmp_path / "ahead.ltl", "alphabet: a b\nF b\n")
    talk = [
        ["check", looks_ahead, "--max-n", "2"],
        ["check", since, "--max-n", "2", "--epsilon", "1/4"],
        ["prove", since, "--max-n", "2", "--dps", "40"],
        ["check", looks_ahead, "--regime", "all", "--max-n", "2"],
    ]
    for requested in talk:
        hardsim(*requested).exits(0).says("note: ")
        hardsim(*requested, "--quiet").clean()
    # The next run prints all notes again.
    hardsim(*talk[0]).says("note: ")


def test_quiet_says_what_a_verdict_depends_on(hardsim: Cli, since: Path) -> None:
    requested = ["check", since, "--max-n", "2", "--engine", "float64", "--require", "proved", "--quiet"]
    hardsim(*requested).exits(3).says("note: ", "--require proved was given")
    hardsim("check", since, "--at", "first", "--max-n", "2", "--quiet").exits(0).says("they are not judged")
    hardsim("check", since, "--engine", "mpmath", "--dps", "3", "--max-n", "2", "--quiet").says("fewer than the")
    hardsim("check", since.parent / "no.ltl", "--quiet").refused("no such file")


@pytest.mark.parametrize("name", ["check", "prove", "bound", "verify"])
def test_who_gives_verdicts_tells_them_in_every_format(name: str) -> None:
    assert {"format", "quiet", "fail_fast"} <= {*options_of(name)}
