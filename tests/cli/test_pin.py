"""Tests of `--pin`: a failing word becomes an example of the file, and examples are run whatever --max-n is."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from hardsim.cli.pin import SUFFIXES
from hardsim.lang.ast import Example, MapExample
from hardsim.lang.pin import with_example
from tests.cli.conftest import SINCE, Cli, interrupt, written
from tests.support.attention_models import some_a, write
from tests.support.check import check_with_proof
from tests.support.language import InputError, Oracle, parse_program, parse_text
from tests.support.mistakes import raised

LONG = "cccccccccccccccba"
"""A word on which softmax of `since` is wrong at a small beta at which shorter words are proved."""
MAP = "alphabet: a b\nY(i) := leftmost_j[j<i, 1] in(j) : in(i)\n"

MIRROR = "alphabet: a b\nY(i) := leftmost_j[1, pos(j) + pos(i) = len + 1] in(j) : in(i)\n"
"""A program that reverses words."""


def pinned(hardsim: Cli, path: Path, *options: str) -> Any:
    """Run a failing check that pins its word."""
    return hardsim("check", path, "--regime", "none", "--max-n", "2", "--pin", *options).exits(1, "REFUTED")


# ---- the text ----


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("alphabet: a b\na S b\n", "alphabet: a b\nreject: ba\na S b\n"),
        ("alphabet: a b\nreject: a\na S b\n", "alphabet: a b\nreject: a ba\na S b\n"),
        ("alphabet: a b\nreject:  a   aa \t\n\na S b", "alphabet: a b\nreject:  a   aa ba \t\n\na S b"),
        ("alphabet: a b\naccept: b\nat: last\na S b\n", "alphabet: a b\naccept: b\nreject: ba\nat: last\na S b\n"),
        ("// t\r\nalphabet: a b\r\nreject: a\r\na S b", "// t\r\nalphabet: a b\r\nreject: a ba\r\na S b"),
        ("alphabet: a b\rat: last\ra S b\r", "alphabet: a b\rat: last\rreject: ba\ra S b\r"),
        ("\ufeffalphabet: a b\r\na S b", "\ufeffalphabet: a b\r\nreject: ba\r\na S b"),
        ("  alphabet: a b\n  a S b\n", "  alphabet: a b\n  reject: ba\n  a S b\n"),
        ("alphabet: a b\n// why\nreject: a\nreject: aa\n// and\na S b\n", None),
        (f"alphabet: a b\nreject: {'a' * 99}\na S b\n", f"alphabet: a b\nreject: {'a' * 99}\nreject: ba\na S b\n"),
        ("alphabet: a b\nreject: a ba\na S b\n", "alphabet: a b\nreject: a ba\na S b\n"),
    ],
)
def test_one_line_is_added_or_made_longer(before: str, after: str | None) -> None:
    found = with_example(before.encode(), "x.ltl", Example(("b", "a"), False)).decode()
    assert found == (before.replace("reject: aa", "reject: aa ba") if after is None else after)
    assert Example(("b", "a"), False) in parse_text(found).examples
    assert parse_text(found).formula == parse_text(before).formula


def test_symbols_that_are_longer_stand_in_lines_of_their_own() -> None:
    before = "alphabet: 'x ab /* \"\naccept: ab 'x\nF ab\n"
    word = ("/*", "'x", '"', "ab")
    found = with_example(before.encode(), "x.ltl", Example(word, True)).decode()
    assert found == "alphabet: 'x ab /* \"\naccept: ab 'x\naccept: /* 'x \" ab\nF ab\n"
    assert [example.word for example in parse_text(found).examples] == [("ab", "'x"), word]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (MAP, "alphabet: a b\nmap: ab -> aa\nY(i) := leftmost_j[j<i, 1] in(j) : in(i)\n"),
        ("map: a -> a b -> b\n" + MAP, "map: a -> a b -> b\nmap: ab -> aa\n" + MAP),
        (MAP.removeprefix("alphabet: a b\n") + "Q_a(i)\nQ_b(i)", None),
        (MAP + "source: me", MAP + "source: me\nmap: ab -> aa"),
        (f"// what it does\n{MAP.partition(chr(10))[2]}Q_a(i)\nQ_b(i)\r\n", None),
    ],
)
def test_a_program_may_have_its_headers_anywhere(before: str, after: str | None) -> None:
    example = MapExample(("a", "b"), ("a", "a"))
    found = with_example(before.encode(), "x.srasp", example).decode()
    if after is None:  # without any header the new line comes first
        after = before.replace("Y(i)", "map: ab -> aa\nY(i)", 1)
    elif before == MAP + "source: me":
        after = "alphabet: a b\nY(i) := leftmost_j[j<i, 1] in(j) : in(i)\nsource: me\nmap: ab -> aa"
    assert found == after
    assert example in parse_program(found).examples
    assert parse_program(found).statements == parse_program(before).statements


def test_what_would_be_read_otherwise_is_not_written() -> None:
    """The word of the symbols - and > would be written like the arrow of a pair."""
    text = "alphabet: - >\nY(i) := leftmost_j[j<i, 1] in(j) : in(i)\n"
    error = raised(InputError, with_example, text.encode(), "x.srasp", MapExample(("-", ">"), (">", ">")))
    assert "would have another meaning in this file" in error.message
    assert with_example(text.encode(), "x.srasp", MapExample((">", "-"), (">",))) != text.encode()


# ---- the command ----


def test_a_new_word_is_added_and_named(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "since.ltl", "// a since b\nalphabet: a b c\naccept: ab\na S b\n")
    # Softmax cannot distinguish b from c when both are visible; the first such word is bc.
    pinned(hardsim, path).says(f"note: {path}: pinned as an example: reject: bc\n")
    assert path.read_text(encoding="utf-8") == "// a since b\nalphabet: a b c\naccept: ab\nreject: bc\na S b\n"
    assert not Oracle(parse_text(path.read_text(encoding="utf-8"))).accepts(("b", "c"))
    before = path.read_bytes()
    pinned(hardsim, path).says("already an example: reject: bc")
    assert path.read_bytes() == before
    # The pinned word is run although --max-n is 1.
    hardsim("check", path, "--regime", "none", "--max-n", "1").exits(1, "word of length 2")
    document = hardsim("check", path, "--regime", "none", "--max-n", "1", "--pin", "--format", "json").exits(1).json
    assert document["notes"][0]["message"] == "already an example: reject: bc"


def test_prove_and_several_regimes_pin_each_word_once(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "since.ltl", "alphabet: a b c\na S b\n")
    outcome = hardsim("prove", path, "--beta", "1/2", "--regime", "all", "--max-n", "4", "--pin").exits(1)
    file = parse_text(path.read_text(encoding="utf-8"))
    assert outcome.err.count("pinned as an example: ") == len(file.examples) >= 1
    oracle = Oracle(file)
    assert all(oracle.accepts(example.word) is example.accept for example in file.examples)


@pytest.mark.slow
def test_of_a_transduction_the_output_is_pinned(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "mirror.srasp", MIRROR)
    outcome = hardsim("check", path, "--tau", "2", "--max-n", "4", "--pin").exits(1).says("pinned as an example: map: ")
    (example,) = parse_program(path.read_text(encoding="utf-8")).examples
    assert isinstance(example, MapExample)
    assert example.output == example.word[::-1]
    assert f"\n{''.join(example.word)}\n" in outcome.out


def written_at(path: Path) -> tuple[int, int, int]:
    """Return the attributes of a file that change when it is rewritten, but not when it is read."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def test_what_agrees_leaves_the_file_alone(hardsim: Cli, since: Path) -> None:
    before = written_at(since)
    hardsim("check", since, "--max-n", "2", "--pin").clean("PROVED")
    assert written_at(since) == before


def test_the_permissions_are_kept_and_a_link_is_followed(hardsim: Cli, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = written(tmp_path / "real" / "since.ltl", "alphabet: a b c\na S b\n")
    path.chmod(0o640)
    link = tmp_path / "link.ltl"
    link.symlink_to(path)
    pinned(hardsim, link)
    assert link.is_symlink()
    assert "reject: bc" in path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == ["since.ltl"]


def test_an_interrupted_check_pins_what_it_found(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "since.ltl", "alphabet: a b c\na S b\n")
    interrupt(monkeypatch, "hardsim.campaign.judges.HardJudge.tally", 2)
    hardsim("check", path, "--regime", "none", "--max-n", "4", "--pin").exits(130).says(
        "pinned as an example: reject: bc"
    )
    assert "reject: bc" in path.read_text(encoding="utf-8")


# ---- what cannot be pinned ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{since}", "{since}"], "--pin writes into one file, but there are several"),
        (["{directory}"], "--pin writes into one file, but there are several"),
        (["{model}"], "not a formula or program to which examples can be added"),
        (["-e", "a S b", "--alphabet", "a b"], "--pin writes into the file that is read, but -e has no file"),
        (["{directory}/none.ltl"], "there is no file "),
        (["{since}", "--at", "first"], "writes an example for the position that the file names (last), but --at first"),
    ],
)
@pytest.mark.parametrize("command", ["check", "prove"])
def test_it_is_refused_before_anything_is_run(
    hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch, command: str, arguments: list[str], message: str
) -> None:
    model = write(since.parent, some_a())
    monkeypatch.setattr("hardsim.cli.check.check_with_proof", None)
    monkeypatch.setattr("hardsim.cli.prove.plan_proof", None)
    given = [text.format(since=since, model=model, directory=since.parent) for text in arguments]
    hardsim(command, *given, "--pin").refused(message)
    assert since.read_text(encoding="utf-8") == SINCE


def test_a_file_that_cannot_be_written_is_refused(hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.cli.pin.os.access", lambda *_: False)
    hardsim("check", since, "--pin").refused(f"--pin {since}: cannot be written (permission denied)")


def test_a_disk_that_is_full_costs_no_report(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "since.ltl", "alphabet: a b c\na S b\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hardsim.files.Draft.commit", full)
    outcome = pinned(hardsim, path, "--format", "json")
    assert [one["exit_code"] for one in outcome.json["errors"]] == [2]
    assert outcome.result["verdict"] == "REFUTED"
    outcome.says(f"error: --pin {path}: cannot be written (No space left on device)", "yourself: reject: bc")
    assert os.listdir(tmp_path) == ["since.ltl"]


def test_a_file_that_was_changed_meanwhile_is_left_alone(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "since.ltl", "alphabet: a b c\na S b\n")

    def slow(*arguments: Any) -> Any:
        written(path, "alphabet: a b c\nF b\n")
        return check_with_proof(*arguments)

    monkeypatch.setattr("hardsim.cli.check.check_with_proof", slow)
    pinned(hardsim, path).says("was changed since it was read, and is left alone")
    assert path.read_text(encoding="utf-8") == "alphabet: a b c\nF b\n"


def test_the_suffixes_are_of_languages_with_examples() -> None:
    assert SUFFIXES == (".ltl", ".srasp", ".cr")


# ---- pinned words are run ----


def test_pinned_words_are_run_whatever_the_largest_length_is(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "since.ltl", f"alphabet: a b c\naccept: b {LONG}\nreject: {'a' * 40}\na S b\n")
    result = hardsim("check", path, "--max-n", "2", "--json", "-").exits(0).result
    # 3 + 9 words, and those of 17 and 40 symbols; b is one of the three.
    assert [(one["n"], one["words"], one["accepted"]) for one in result["lengths"]] == [
        (1, 3, 1), (2, 9, 4), (17, 1, 1), (40, 1, 0),
    ]  # fmt: skip
    assert (result["verdict"], result["max_n"]) == ("PROVED", 2)
    assert result["reach"].startswith("every word of length 1 to 2, from the weights: ")
    assert "; and on all 12 words up to length 2 and 2 pinned words of up to 40 symbols, in" in result["reach"]
    reach = hardsim("check", path, "--max-n", "17", "--exhaustive", "0", "--samples", "0", "--json", "-").result[
        "reach"
    ]
    assert " and 1 pinned word of 40 symbols" in reach


def test_a_proof_of_shorter_words_says_nothing_of_a_pinned_one(hardsim: Cli, tmp_path: Path) -> None:
    """At beta 5/2 all words of up to two symbols are right (see the bracket of `bound --critical`), longer ones are
    not: that is no contradiction.
    """
    path = written(tmp_path / "since.ltl", f"alphabet: a b c\naccept: {LONG}\na S b\n")
    result = hardsim("check", path, "--max-n", "2", "--beta", "5/2", "--json", "-").exits(1).result
    assert (result["verdict"], "".join(result["mismatch"]["word"])) == ("REFUTED", LONG)
    assert result["proof"].startswith("every word of length 1 to 2")


def test_a_pinned_word_without_an_answer_leaves_a_check_undecided(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hardsim.campaign import tally

    path = written(tmp_path / "since.ltl", f"alphabet: a b c\naccept: {LONG}\na S b\n")
    work = tally.Tally.of

    def unanswered(words: Any, *arguments: Any) -> Any:
        found = work(words, *arguments)
        if len(words[0]) == len(LONG):
            found.undecided, found.stuck = 1, words[0]
        return found

    monkeypatch.setattr(tally.Tally, "of", staticmethod(unanswered))
    result = hardsim("check", path, "--max-n", "2", "--json", "-").exits(3).result
    assert result["verdict"] == "UNDECIDED"
    assert result["proof"].startswith("every word of length 1 to 2")


def test_a_check_is_resumed_among_its_pinned_words(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "since.ltl", f"alphabet: a b c\naccept: b {LONG}\nreject: {'a' * 40}\na S b\n")
    requested = ["check", path, "--max-n", "2", "--regime", "none"]
    whole = hardsim(*requested, "--json", "-").exits(1).result
    for after in range(1, 4):
        kept = tmp_path / f"{after}.run"
        monkeypatch.setattr("hardsim.campaign.checkpoint.INTERVAL", 0.0)
        monkeypatch.setattr("hardsim.campaign.checkpoint.SHARE", 0)
        with monkeypatch.context() as patched:
            interrupt(patched, "hardsim.campaign.judges.HardJudge.tally", after)
            hardsim(*requested, "--resume", kept).exits(130)
        assert hardsim(*requested, "--resume", kept, "--json", "-").exits(1).result == whole


def test_pinned_words_of_programs_are_run_and_those_of_models_are_read(hardsim: Cli, tmp_path: Path) -> None:
    program = written(tmp_path / "first.srasp", MAP.replace("Y(i)", "map: abbab -> aaaaa bb -> bb\nY(i)", 1))
    result = hardsim("check", program, "--max-n", "1", "--json", "-").exits(0).result
    assert [(one["n"], one["words"]) for one in result["lengths"]] == [(1, 2), (2, 1), (5, 1)]
    assert " 2 pinned words of up to 5 symbols" in result["reach"]
    model = write(tmp_path, some_a(examples={"accept": ["abb"]}), "some.ahat.json")
    result = hardsim("check", model, "--max-n", "2", "--json", "-").exits(0).result
    assert [(one["n"], one["words"]) for one in result["lengths"]] == [(1, 2), (2, 4)]


def test_bound_and_words_keep_to_the_largest_length(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "since.ltl", f"alphabet: a b c\naccept: {LONG}\na S b\n")
    result = hardsim("bound", path, "--max-n", "2", "--json", "-").exits(0).result
    assert [one["n"] for one in result["lengths"]] == [1, 2]
