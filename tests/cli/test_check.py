"""Tests of `hardsim check`: verdicts, tables, exit codes."""

import hashlib
import re
import shlex
from fractions import Fraction
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hardsim.cli import streams
from tests.cli.conftest import written
from tests.support.attention_models import some_a_by_words, write
from tests.support.check import CheckOptions, CheckResult, Subject, check_subject
from tests.support.documents import exact
from tests.support.language import InvariantError, Undecided, formulas_directory
from tests.support.model import PROVEN


@pytest.mark.parametrize(("option", "value", "step"), [("--beta", "1/2", "raise"), ("--tau", "1/1", "lower")])
def test_too_soft_is_refuted_and_says_what_to_do(hardsim: Any, since: Path, option: str, value: str, step: str) -> None:
    other = "--tau" if option == "--beta" else "--beta"
    hardsim("check", since, option, value).exits(1, "REFUTED", f"{step} {option}: the defaults").lacks(f"{other}:")


def test_nothing_tried_is_undecided(hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def undecided(subject: Subject, options: CheckOptions, *rest: object) -> CheckResult:
        raise Undecided("no answer within 7 seconds")

    monkeypatch.setattr("hardsim.proving.proof_before_words.check_subject", undecided)
    assert hardsim("check", since).refused(code=3).err == f"error: {since}: no answer within 7 seconds\n"


def test_all_regimes_are_those_that_are_proved_and_refusals_are_notes(hardsim: Any, since: Path, future: Path) -> None:
    outcome = hardsim("check", since, "--regime", "all", "--max-n", "2", "--json", "-")
    assert [result["model"]["regime"] for result in outcome.json["results"]] == list(PROVEN)
    assert [note["regime"] for note in outcome.json["notes"]] == ["layer-norm", "rounded"]  # they have counts alone
    outcome = hardsim("check", future, "--regime", "all", "--max-n", "2", "--json", "-").exits(0)
    assert [result["model"]["regime"] for result in outcome.json["results"]] == ["temperature", "position"]
    assert [note["regime"] for note in outcome.json["notes"]] == [
        "causal-temperature",
        "causal-position",
        "layer-norm",
        "rounded",
    ]
    assert outcome.err.count("looks ahead") == 4


def test_tau_is_a_note_where_it_does_not_apply(hardsim: Any, since: Path) -> None:
    outcome = hardsim("check", since, "--regime", "all", "--tau", "1/(2*n)", "--max-n", "2").exits(0)
    notes = [line for line in outcome.err.splitlines() if line.startswith("note: ")]
    assert [line.split("regime ")[1].split(":")[0] for line in notes] == [
        "position",
        "causal-temperature",
        "causal-position",
        "layer-norm",
        "rounded",
    ]


def test_a_regime_that_refuses_alone_is_an_error(hardsim: Any, future: Path) -> None:
    outcome = hardsim("check", future, "--regime", "causal-position")
    outcome.refused(f"{future}:4:1: error: 'F' looks ahead", "\n  F b\n  ^")


def test_what_every_regime_refuses_is_one_error(hardsim: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "wrong.ltl", "alphabet: a b\naccept: b\na\n")
    assert hardsim("check", path, "--regime", "all").exits(2).says(f"{path}:2:9: error: ").err.count("error:") == 1


def test_several_inputs_are_compact_with_a_summary(hardsim: Any, since: Path, future: Path) -> None:
    outcome = hardsim("check", since.parent, "--max-n", "3").exits(0).lacks("all 27")
    assert outcome.out.rstrip().endswith("2 results: 2 PROVED")
    assert outcome.out.index(str(future)) < outcome.out.index(str(since))
    assert "all 27" in hardsim("check", since.parent, "--max-n", "3", "--tables").out


@pytest.mark.parametrize(
    ("kinds", "code"),
    [("good", 0), ("good undecided", 3), ("undecided missing", 2), ("missing wrong", 1), ("wrong broken", 4)],
)
def test_every_input_runs_and_the_worst_code_wins(
    hardsim: Any, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: str, code: int
) -> None:
    from hardsim.proving import proof_before_words

    def faulty(subject: Subject, options: CheckOptions, *rest: object) -> CheckResult:
        if "undecided" in subject.name:
            raise Undecided("no answer")
        if "broken" in subject.name:
            raise InvariantError("a score gap is too small")
        return check_subject(subject, options)

    monkeypatch.setattr(proof_before_words, "check_subject", faulty)
    paths = [tmp_path / f"{kind}.ltl" for kind in kinds.split()]
    for path in paths:
        if path.stem != "missing":
            path.write_bytes(since.read_bytes())
    wrong = ["--beta", "1/2"] if "wrong" in kinds else []
    outcome = hardsim("check", *paths, since, "--max-n", "2", *wrong).exits(code, str(since))
    for path in paths:
        assert (str(path) in outcome.out) is (path.stem in ("good", "wrong"))
        said = [line for line in outcome.err.splitlines() if not line.startswith("note: slowest: ")]
        assert (str(path) in "\n".join(said)) is (path.stem not in ("good", "wrong"))


@pytest.mark.parametrize("error", [InvariantError("a claim"), RecursionError("too deep"), MemoryError(), KeyError("x")])
def test_a_defect_is_exit_code_4_without_traceback(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr("hardsim.proving.proof_before_words.check_subject", fail)
    outcome = hardsim("check", since).refused("test_check.py:", "Please report", code=4).unsaid("Traceback")
    assert outcome.err.startswith(f"internal error on {since}: {type(error).__name__}")
    monkeypatch.setenv("HARDSIM_DEBUG", "1")
    assert streams.internal(error).startswith("Traceback")


def test_json_has_hashes_words_and_exact_numbers(hardsim: Any, since: Path) -> None:
    outcome = hardsim("check", since, "--max-n", "3", "--regime", "none", "--seed", "-7", "--json", "-")
    document = outcome.json
    assert (
        outcome.err
        == f"note: {since}: --seed: not used; every word of these lengths is tried, and none is drawn at random\n"
    )
    assert document["exit_code"] == outcome.code == 1
    assert document["seed"] == -7
    assert document["inputs"][0]["sha256"] == hashlib.sha256(since.read_bytes()).hexdigest()
    (result,) = document["results"]
    assert all(symbol in "abc" for symbol in result["mismatch"]["word"])
    third = result["lengths"][2]
    # In this regime the declared gap is 1/(2n), and a word such as aaa (every q = 0) meets it.
    assert third["possible"] == {"value": 27, "exact": "27"}
    assert exact(third["score_gap"]) == exact(third["heads"][0]["declared_gap"]) == Fraction(1, 6)


def test_the_same_request_gives_the_same_bytes(hardsim: Any, since: Path) -> None:
    arguments = ("check", since, "--max-n", "5", "--exhaustive", "10", "--json", "-")
    assert hardsim(*arguments).out == hardsim(*arguments).out
    assert hardsim(*arguments).out != hardsim(*arguments, "--seed", "1").out


def test_expression(hardsim: Any) -> None:
    outcome = hardsim("check", "-e", "a S b", "--alphabet", "a b", "--max-n", "3", "--json", "-").exits(0)
    # over {a, b}: every word with a b in it
    assert [length["accepted"] for length in outcome.result["lengths"]] == [1, 3, 7]
    assert outcome.json["inputs"][0]["sha256"] == hashlib.sha256(b"a S b").hexdigest()


def test_a_compiled_model_keeps_its_options(hardsim: Any, since: Path, tmp_path: Path) -> None:
    model = tmp_path / "since.model.json"
    hardsim("compile", since, "-o", model, "--regime", "position", "--beta", "7/2").exits(0)
    assert "already compiled" in hardsim("check", model, "--regime", "all", "--max-n", "1").err
    hardsim("check", model, "--beta", "5").refused("--beta 5 does not apply")


def test_notes_of_a_file_go_to_standard_error(hardsim: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "eventually.ltl", "alphabet: a b\nF a\n")
    assert hardsim("check", path, "--max-n", "1").says("at: first").lacks("at: first").err.startswith(f"note: {path}: ")


def test_a_long_check_is_announced(hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is 1,000 seconds later."""
    monkeypatch.setattr("hardsim.cli.estimate.time", SimpleNamespace(monotonic=count(step=1000).__next__))
    outcome = hardsim("check", since, "--max-n", "30", "--workers", "1", "--engine", "ball")
    assert re.search(r"note: .*: [\d,]+ more words: about [\d,]+ (minutes|hours|days)\. Ctrl-C stops it", outcome.err)


@pytest.mark.parametrize("engine", ["auto", "float64", "ball", "mpmath"])
def test_engines_from_the_command_line(hardsim: Any, since: Path, tmp_path: Path, engine: str) -> None:
    for path, best in ((since, "PROVED"), (write(tmp_path, some_a_by_words()), "CERTIFIED")):
        result = hardsim("check", path, "--max-n", "3", "--engine", engine, "--json", "-").exits(0).result
        verdict = {"auto": best, "mpmath": "OBSERVED"}.get(engine, "CERTIFIED")
        assert (result["engine"], result["verdict"], result["undecided_word"]) == (engine, verdict, None)
        assert result["proof"].startswith("not asked: ") is (verdict != "PROVED")
        assert [length["undecided"] for length in result["lengths"]] == [0, 0, 0]


@pytest.mark.parametrize(
    ("engine", "required", "code", "advice"),
    [
        ("auto", "certified", 0, ""),
        ("ball", "certified", 0, ""),
        ("mpmath", "certified", 3, "use --engine auto"),
        ("auto", "proved", 0, ""),
        ("ball", "proved", 3, "The prover was not used: a check asks the prover only with --engine auto"),
    ],
)
def test_a_weaker_verdict_than_required_is_exit_code_3(
    hardsim: Any, since: Path, engine: str, required: str, code: int, advice: str
) -> None:
    outcome = hardsim("check", since, "--max-n", "3", "--engine", engine, "--require", required, "--json", "-")
    assert (outcome.code, outcome.json["exit_code"]) == (code, code)
    notes = [note["message"] for note in outcome.json["notes"]]
    assert len(notes) == (code == 3)
    if code:
        assert notes[0].startswith(f"the verdict is {outcome.result['verdict']}, but --require {required} was given. ")
        assert advice in notes[0]
        assert advice in outcome.err


def test_a_refutation_stays_one_whatever_is_required(hardsim: Any, since: Path) -> None:
    hardsim("check", since, "--max-n", "3", "--beta", "1/2", "--require", "proved").exits(1).unsaid("--require")


def undecidable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make float64 undecided on all words of length 2."""
    from hardsim.campaign.engines import FloatEngine

    real = FloatEngine.batch

    def batch(self: FloatEngine, words: Any, *others: Any) -> Any:
        found = real(self, words, *others)
        if len(words[0]) == 2:
            found.decided[:] = False
        return found

    monkeypatch.setattr(FloatEngine, "batch", batch)


def test_undecided_words_are_exit_code_3_and_printed(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undecidable(monkeypatch)
    outcome = hardsim("check", since, "--max-n", "3", "--engine", "float64")
    reach = "no answer of the softmax network was reached on 9 of 39 words; the others agree"
    others = "The largest errors in the tables are those of the other words."
    lines = outcome.exits(3, "UNDECIDED ", reach, "--engine auto continues in ball", others).out.splitlines()
    assert lines[lines.index("The first of these words, on a line of its own:") + 1] == "aa"
    document = hardsim("check", since, "--max-n", "3", "--engine", "float64", "--require", "certified", "--json", "-")
    document.says("Some words were not decided: use --engine auto")
    result = document.result
    assert (result["verdict"], result["undecided_word"]) == ("UNDECIDED", ["a", "a"])
    assert [length["undecided"] for length in result["lengths"]] == [0, 9, 0]
    # The default engine continues in balls.
    assert others not in hardsim("check", since, "--max-n", "3").out
    again = hardsim("check", since, "--max-n", "3", "--json", "-")
    assert (again.code, again.result["verdict"]) == (0, "PROVED")
    assert "9 of them in ball arithmetic" in again.result["reach"]


def test_eval_says_what_is_undecided(hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undecidable(monkeypatch)
    outcome = hardsim("eval", since, "ba", "cba", "--engine", "float64")
    outcome.exits(3).says("1 of 2 words are undecided: float64 cannot tell")
    rows = outcome.out.splitlines()[-2:]
    assert rows[0].split() == ["–", "accept", "accept", "not", "decided", "–", "–", "–", "15", "ba"]
    assert rows[1].split()[:4] == ["yes", "accept", "accept", "accept"]
    document = hardsim("eval", since, "ba", "cba", "--engine", "float64", "--json", "-").json
    first, second = document["results"][0]["words"]
    assert (first["agree"], first["decided"], first["soft"], first["output"]) == (None, False, None, None)
    assert (second["agree"], second["decided"], second["soft"]) == (True, True, True)
    assert hardsim("eval", since, "ba").code == 0
    for engine in ("ball", "mpmath"):
        assert hardsim("eval", since, "ba", "--engine", engine).code == 0


@pytest.mark.parametrize(
    ("header", "code", "said"),
    [
        ("", 0, ""),  # without a header, examples hold for the requested position
        ("at: first\n", 0, ""),
        ("at: last\n", 0, "its accept: and reject: words were written for at: last, so with --at first"),
    ],
)
def test_examples_are_judged_where_the_formula_is_read(
    hardsim: Any, tmp_path: Path, header: str, code: int, said: str
) -> None:
    path = written(tmp_path / "ahead.ltl", f"alphabet: a b\n{header}accept: ba\nreject: aa\nF b & X a\n")
    outcome = hardsim("check", path, "--at", "first", "--max-n", "3").exits(code).unsaid("looks ahead")
    assert (said in outcome.err) if said else (outcome.err == "")


def test_examples_for_the_default_position_do_not_hinder_reading_at_the_other(hardsim: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "since.ltl", "alphabet: a b\naccept: ab\nreject: a\na S b\n")
    outcome = hardsim("check", path, "--at", "first", "--max-n", "3")
    assert (outcome.code, "so with --at first they are not judged" in outcome.err) == (0, True)
    path.write_text("alphabet: a b\naccept: a\nreject: b\na S b\n")  # the examples are wrong at either position
    assert hardsim("check", path, "--at", "first", "--max-n", "3").code == 2


def test_what_mpmath_sees_is_no_refutation(hardsim: Any, since: Path) -> None:
    arguments = ("--beta", "1/2", "--engine", "mpmath")
    outcome = hardsim("check", since, "--max-n", "2", "--json", "-", *arguments)
    result = outcome.result
    assert (outcome.code, result["verdict"], result["mismatch"]["kind"]) == (1, "OBSERVED", "soft/hard")
    message = hardsim("check", since, "--max-n", "2", *arguments)
    message.prints("OBSERVED ", "a mismatch in mpmath", "--engine ball").lacks("REFUTED")
    one = hardsim("eval", since, "ba", *arguments)
    assert (one.code, "OBSERVED, not certified" in one.err) == (1, True)
    assert (
        "OBSERVED: mpmath gives no enclosures"
        in hardsim("words", since, "--by", "soft", *arguments, "--max-n", "2").err
    )
    bound = hardsim("bound", since, "--max-n", "2", *arguments)
    assert (bound.code, "REFUTED" in bound.out, "OBSERVED" in bound.out) == (1, False, True)


def test_few_digits_are_noted(hardsim: Any, since: Path) -> None:
    outcome = hardsim("check", since, "--engine", "mpmath", "--dps", "15", "--max-n", "3")
    outcome.exits(0).says("15 decimal digits are fewer than the")
    assert hardsim("check", since, "--dps", "5", "--max-n", "3").err == ""


def test_the_command_that_is_printed_runs_and_finds_the_mismatch(hardsim: Any) -> None:
    given = ("-e", "a S b", "--alphabet", "a b c", "--regime", "none")
    result = hardsim("check", *given, "--max-n", "2", "--json", "-").result
    assert result["command"] in hardsim("check", *given, "--max-n", "2").out.splitlines()
    assert hardsim(*shlex.split(result["command"])[1:]).code == 1


@pytest.mark.sweep
@pytest.mark.parametrize("width", [40, *(pytest.param(width, marks=pytest.mark.slow) for width in (60, 80, 120, 200))])
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "flipflop.ltl", "--max-n", "9"),
        ("check", "flipflop.ltl", "--regime", "none", "--max-n", "6"),
        ("check", "dyck1.srasp", "--max-n", "3"),
        ("check", "ties.ahat.json", "--max-n", "6"),
        ("check", "since.ltl", "ties.ahat.json", "reverse.srasp", "--max-n", "2"),
        ("prove", "flipflop.ltl", "--all-n", "--max-n", "6"),
        ("bound", "since.ltl", "--max-n", "9"),
        ("bound", "--gap", "since.ltl", "flipflop.ahat.json", "--max-n", "3"),
    ],
)
def test_reports_fit_every_terminal_and_break_no_word(
    hardsim: Any, arguments: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(formulas_directory())
    wide = hardsim(*arguments).told_text.split()
    monkeypatch.setattr("hardsim.report.screen.FILE_WIDTH", width)
    outcome = hardsim(*arguments)
    longest = {line for line in outcome.out.splitlines() if len(line) > width}
    # Only text to copy is longer: commands, words, and single long words.
    assert [line for line in longest if not line.startswith("hardsim ") and " " in line.strip()] == []
    if len([one for one in arguments if "." in one]) > 1 and arguments[0] == "check":
        return  # rows of several inputs leave out numbers that do not fit
    # Every word of the report at 80 columns is present, and whole.
    assert set(wide) - set(outcome.told_text.split()) <= {one for one in wide if set(one) == {"\u2500"}}


def test_symbols_that_look_like_markup_are_shown_and_quoted(hardsim: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "a b.ltl", "alphabet: [/b] #L[b] -\n'[/b]' S '#L[b]'\n")
    outcome = hardsim("check", path, "--regime", "none", "--max-n", "2").exits(1)
    lines = outcome.out.splitlines()
    assert "#L[b] -" in lines
    assert shlex.join(["hardsim", "trace", str(path), "#L[b] -", "--regime", "none"]) in lines
    outcome.prints("('[/b]' S '#L[b]', read at the last position with !'[/b]' | '#L[b]')")


# ---- a constant temperature ----


@pytest.mark.parametrize("options", [("--regime", "none"), ("--tau", "1")])
def test_how_far_a_constant_temperature_reaches(hardsim: Any, options: tuple[str, ...]) -> None:
    requested = ("check", "-e", "O a", "--alphabet", "a b", *options, "--beta", "4", "--max-n", "8")
    outcome = hardsim(*requested).exits(
        1, "At beta 4, with a constant temperature, every word to length 6 is right (all were"
    )
    outcome.prints("and one of length 7 is wrong.", "No constant beta reaches every length (Hahn's limit).")
    outcome.lacks("must fail", "defect")
    found = hardsim(*requested, "--json", "-").exits(1).result["constant"]
    assert (found["right_to"], found["proved"], found["wrong_at"], found["limited"]) == (6, False, 7, True)
    # The beta that the report names does reach twice as far.
    beta = found["farther_beta"]["exact"]
    hardsim(*requested[:-4], "--beta", beta, "--max-n", "14").exits(0, "PROVED", f"At beta {float(Fraction(beta)):g}")


def test_what_has_no_heads_is_right_at_every_length(hardsim: Any) -> None:
    outcome = hardsim("check", "-e", "a", "--alphabet", "a b", "--regime", "none", "--max-n", "4").exits(0, "PROVED")
    outcome.lacks("Hahn", "constant beta")


def test_a_compiled_file_gets_no_advice_about_options(hardsim: Any, since: Path, tmp_path: Path) -> None:
    path = tmp_path / "since.model.json"
    for options in (("--regime", "none"), ("--beta", "1")):
        hardsim("compile", since, *options, "-o", path).exits(0)
        outcome = hardsim("check", path, "--max-n", "3").exits(1, "compile the formula again")
        outcome.lacks("defect", "leave both out", "--regime all")
