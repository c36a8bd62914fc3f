"""`check`, `eval` and `words` on hard-attention models and programs."""

from __future__ import annotations

import json
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

import pytest

from hardsim.examples import formulas_directory
from tests.attention_models import HEAD, critical, majority, sided, some_a, with_head, write

REVERSE = (
    "alphabet: a b\nmap: ab -> ba\nm(i) := len(i) + 1 - pos(i)\nY(i) := leftmost_j[1, pos(j) = m(i)] in(j) : in(i)\n"
)
SOME_A = "// some a\nalphabet: a b\naccept: a ba\nreject: b\nY(i) := leftmost_j[1, Q_a(j)] 1 : 0\n"
TWICE = "alphabet: a b\ntwo(i) := Q_a(i) ? 2 : 0\ntotal(i) := psum_j[j <= i] two(j)\nY(i) := total(i) > 2\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path, some_a())


def program(directory: Path, text: str, name: str = "program.srasp") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def words(symbols: str, longest: int) -> list[str]:
    return ["".join(word) for n in range(1, longest + 1) for word in product(symbols, repeat=n)]


# ---- check ----


def test_a_model_that_softmax_simulates(hardsim: Any, model: Path) -> None:
    outcome = hardsim("check", model, "--max-n", "4")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [line.split() for line in outcome.out.splitlines() if line[:2].strip().isdigit() and " all " in line]
    # Of 2^n words all but bbb... have an a; the score gap is 1 wherever two scores differ.
    assert [row[:7] for row in rows] == [
        [str(n), "all", str(2**n), str(2**n - 1), "0", "–", "1" if n > 1 else "–"] for n in range(1, 5)
    ]
    assert "30 words, all words up to length 4" in outcome.out
    # Of the words of length 2, aa is the first in which both positions have the largest score.
    assert f"head {HEAD} is tieless up to length 1: at length 2, position 1 has 2 positions" in outcome.out
    assert "no assumption" in outcome.out


def test_the_json_of_a_check(hardsim: Any, model: Path) -> None:
    document = hardsim("check", model, "--max-n", "3", "--json", "-").json
    (result,) = document["results"]
    assert document["inputs"][0]["alphabet"] == ["a", "b"]
    assert (result["kind"], result["title"], result["words"], result["mismatch"]) == ("ahat", "Some a", 14, None)
    assert result["ties"] == [{"head": HEAD, "n": 2, "word": ["a", "a"], "position": 1, "count": 2}]
    two = result["lengths"][1]
    (head,) = two["heads"]
    assert (head["kind"], head["score_gap"], head["declared_gap"], head["most_maxima"]) == ("ties", "1", None, 2)
    # Outputs are 0 and 1, the threshold 3/4: half of the distance 1/4.
    assert two["epsilon"] == "1/8"
    # At length 2 the largest error is that of the word ab, 1 - 1/(1 + q); Theorem 26's bound of it is q (THEORY 2,
    # and the values lie within 1/2 of their middle).
    numerator, _, denominator = two["theorem"].partition("/")
    q = exp(-int(denominator) / int(numerator))
    assert float(two["error"]) == pytest.approx(q / (1 + q), rel=1e-9)
    assert float(two["bound"]) == pytest.approx(q, rel=1e-9)
    assert q <= 1 / 8 < exp(-int(denominator) / int(numerator) * 64 / 65)


def test_too_high_a_temperature_is_a_mismatch_whose_word_stands_alone(hardsim: Any, model: Path) -> None:
    assert critical(2) < 1
    outcome = hardsim("check", model, "--tau", "1", "--max-n", "3")
    assert (outcome.code, outcome.err) == (1, "")
    lines = outcome.out.splitlines()
    verdict = lines.index("REFUTED: soft/hard disagree on a word of length 2")
    assert lines[verdict + 2] == "ab"
    assert lines[verdict + 3].strip() == "hard attention: accept; softmax: reject"
    assert "lower --tau" in lines[verdict + 4]
    (result,) = hardsim("check", model, "--tau", "1", "--max-n", "3", "--json", "-").json["results"]
    assert result["mismatch"] == {
        "word": ["a", "b"],
        "kind": "soft/hard",
        "oracle": None,
        "hard": True,
        "soft": False,
        "decided": True,
    }
    # Wrong are ab and ba, and at length 3 the three words with one a: 2 < e < 2 * 3.
    assert [length["soft_mismatches"] for length in result["lengths"]] == [0, 2, 3]
    assert hardsim("check", model, "--tau", f"{round(critical(3) * 1000) - 1}/1000", "--max-n", "3").code == 0


def test_a_smaller_epsilon_means_a_lower_temperature(hardsim: Any, model: Path) -> None:
    def last(*options: str) -> Any:
        return hardsim("check", model, "--max-n", "2", *options, "--json", "-").json["results"][0]["lengths"][1]

    assert last("--epsilon", "1/1000")["epsilon"] == "1/1000"
    assert float(last("--epsilon", "1/1000")["bound"]) <= 1 / 1000 < float(last("--epsilon", "1/100")["bound"])
    outcome = hardsim("check", model, "--epsilon", "1")
    assert (outcome.code, outcome.out) == (2, "")
    assert "Write a number between 0 and 1" in outcome.err


def test_a_false_gap_is_refuted_by_the_word_that_shows_it(hardsim: Any, tmp_path: Path) -> None:
    # Theorem 26's temperature is then (3/2)/ln 8 = 0.72 at length 2, still below 1/ln 3.
    path = write(tmp_path, with_head(gap="3/2"))
    outcome = hardsim("check", path, "--max-n", "2")
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert f"REFUTED: the declared gap of head {HEAD} at position 1 does not hold at length 2" in lines
    assert "  claimed 1.5, measured 1" in lines
    assert lines[lines.index("The word, on a line of its own:") + 1] == "ab"
    assert "correct the gap" in outcome.out
    (result,) = hardsim("check", path, "--max-n", "2", "--json", "-").json["results"]
    assert result["violation"]["word"] == ["a", "b"]
    assert (result["violation"]["measured"], result["violation"]["claimed"]) == ("1", "1.5")
    # With gap 2 it is 2/ln 8 = 0.96, above it: softmax is wrong as well, and the gap is still named as the reason.
    outcome = hardsim("check", write(tmp_path, with_head(gap="2")), "--max-n", "2")
    assert outcome.code == 1
    assert "REFUTED: soft/hard disagree" in outcome.out
    assert "correct the gap" in outcome.out
    assert "lower --tau" not in outcome.out
    assert hardsim("check", write(tmp_path, with_head(gap="1")), "--max-n", "2").code == 0
    refused = hardsim("check", write(tmp_path, with_head(gap="i - 1")), "--max-n", "2")
    assert refused.code == 2
    assert f"head {HEAD}: the declared gap i-1 is 0 at i = 1, n = 1" in refused.err


def test_ties_that_come_late_are_found(hardsim: Any) -> None:
    path = formulas_directory() / "tieless_until_7.ahat.json"
    outcome = hardsim("check", path, "--max-n", "7")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    # 6 [1] + i: a 1 at position 1 and a 0 at position 7 have the score 7.
    said = "  head last 1 is tieless up to length 6: at length 7, position 7 has 2 positions with the largest "
    said += "score, in the word"
    assert lines[lines.index(said) + 1] == "1000000"
    assert "tieless up to" not in hardsim("check", path, "--max-n", "6").out


def test_an_output_at_the_threshold_is_undecided(hardsim: Any, tmp_path: Path) -> None:
    path = write(tmp_path, majority())
    outcome = hardsim("check", path, "--max-n", "2")
    assert outcome.code == 3
    lines = outcome.out.splitlines()
    assert any(line.startswith("UNDECIDED: hard attention itself decides nothing") for line in lines)
    assert lines[lines.index("The word, on a line of its own:") + 1] == "ab"
    assert "move the threshold" in outcome.out
    (result,) = hardsim("check", path, "--max-n", "2", "--json", "-").json["results"]
    assert result["mismatch"]["kind"] == "hard attention undecided"
    assert (result["mismatch"]["hard"], result["mismatch"]["soft"]) == (None, None)
    assert [length["soft_mismatches"] for length in result["lengths"]] == [0, 0]
    assert hardsim("check", path, "--max-n", "1").code == 0


def test_what_softmax_makes_of_an_undecided_word_refutes_nothing(hardsim: Any, tmp_path: Path) -> None:
    """A tie of a and b has the mean 1/2 in hard attention; a lesser score at c moves softmax below it."""
    document = with_head(sided("average"), w_k=[{"letter": "1"}])
    outcome = hardsim("check", write(tmp_path, document), "--max-n", "3", "--json", "-")
    assert outcome.code == 3
    (result,) = outcome.json["results"]
    assert result["verdict"] == "UNDECIDED"
    assert sum(length["soft_mismatches"] for length in result["lengths"]) == 0


@pytest.mark.parametrize(
    ("engine", "verdict"),
    [("auto", "CERTIFIED"), ("float64", "CERTIFIED"), ("ball", "CERTIFIED"), ("mpmath", "OBSERVED")],
)
def test_engines(hardsim: Any, model: Path, engine: str, verdict: str) -> None:
    outcome = hardsim("check", model, "--engine", engine, "--max-n", "3", "--json", "-")
    assert outcome.code == 0
    (result,) = outcome.json["results"]
    assert (result["engine"], result["verdict"]) == (engine, verdict)
    for length in result["lengths"][1:]:
        numerator, _, denominator = length["theorem"].partition("/")
        q = (length["n"] - 1) * exp(-int(denominator) / int(numerator))
        assert float(length["error"]) == pytest.approx(q / (1 + q), rel=1e-9)
    # The wrong words are the same in all.
    assert hardsim("check", model, "--engine", engine, "--max-n", "2", "--tau", "1").code == 1


def test_an_engine_that_does_not_exist(hardsim: Any, model: Path) -> None:
    outcome = hardsim("check", model, "--engine", "abacus")
    assert (outcome.code, outcome.out) == (2, "")
    assert "unknown engine 'abacus'" in outcome.err
    assert "mpmath" in outcome.err


def test_options_of_formulas_are_remarked_on(hardsim: Any, model: Path, since: Path) -> None:
    options = [
        "--regime",
        "position",
        "--beta",
        "3",
        "--at",
        "first",
        "--single-head",
        "--counting",
        "sign",
        "--dps",
        "9",
    ]
    outcome = hardsim("check", model, "--max-n", "1", *options, "--json", "-")
    assert outcome.code == 0
    (line,) = outcome.err.splitlines()
    assert line.startswith(
        f"note: {model}: --regime position, --beta, --at, --single-head, --counting, --dps: for formulas; "
    )
    assert outcome.json["notes"][0]["message"] in line
    # --regime all means one check of a model, and nothing to remark on.
    outcome = hardsim("check", model, "--max-n", "1", "--regime", "all", "--json", "-")
    assert (len(outcome.json["results"]), outcome.err) == (1, "")
    for command in ("check", "words"):
        outcome = hardsim(command, since, "--max-n", "1", "--epsilon", "1/8")
        assert outcome.code == 0
        assert outcome.err.startswith(f"note: {since}: --epsilon: for hard-attention models and programs")


def test_a_directory_of_all_kinds(hardsim: Any, tmp_path: Path, since: Path) -> None:
    write(tmp_path, some_a(), "some.ahat.json")
    write(tmp_path, {"anything": "else"}, "other.json")
    program(tmp_path, SOME_A, "some.srasp")
    program(tmp_path, REVERSE, "turned.srasp")
    assert hardsim("compile", since, "-o", tmp_path / "since.model.json").code == 0
    outcome = hardsim("check", tmp_path, "--max-n", "2", "--json", tmp_path / "all.json")
    assert outcome.code == 0
    assert "all 4" not in outcome.out  # the tables are left out
    assert outcome.out.rstrip().endswith("5 results: 4 PROVED, 1 CERTIFIED")  # gaps of the .ahat.json are only measured
    document = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    names = ["since.ltl", "since.model.json", "some.ahat.json", "some.srasp", "turned.srasp"]
    assert [Path(given["name"]).name for given in document["inputs"]] == names
    assert hardsim("check", tmp_path, "--max-n", "2", "--json", "-").json["results"] == document["results"]
    outcome = hardsim("words", tmp_path / "some.ahat.json", tmp_path / "some.srasp", "--max-n", "1")
    assert outcome.out.splitlines() == [f"# {tmp_path / 'some.ahat.json'}", "a", f"# {tmp_path / 'some.srasp'}", "a"]


def test_an_interrupted_check_of_a_model_is_partial(hardsim: Any, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hardsim.checking.attention_words import SoftJudge

    real = SoftJudge.tally
    calls = 0

    def tally(self: SoftJudge, given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:  # lengths 1 and 2 are done
            raise KeyboardInterrupt
        return real(self, given)

    monkeypatch.setattr(SoftJudge, "tally", tally)
    outcome = hardsim("check", model, model, "--max-n", "4", "--json", "-")
    assert outcome.code == 130
    assert "the result of" in outcome.err
    assert "partial" in outcome.err
    (result,) = outcome.json["results"]
    assert (result["partial"], result["words"], len(result["lengths"])) == (True, 2 + 4, 2)


def test_the_result_does_not_depend_on_the_number_of_processes(hardsim: Any, tmp_path: Path) -> None:
    path = program(tmp_path, SOME_A)
    arguments = ("check", path, "--max-n", "7", "--exhaustive", "100", "--json", "-")
    one, two = (hardsim(*arguments, "--workers", workers) for workers in ("1", "2"))
    assert one.code == two.code == 0
    # 64 words are a shard: lengths 1 to 6 are tried in full, of 128 words a sample.
    assert [length["exhaustive"] for length in one.json["results"][0]["lengths"]] == [True] * 6 + [False]
    assert "measured on" in one.json["results"][0]["lengths"][6]["assumption"]
    assert one.out == two.out


# ---- programs ----


def test_a_program_is_checked_against_its_semantics(hardsim: Any, tmp_path: Path) -> None:
    (result,) = hardsim("check", program(tmp_path, SOME_A), "--max-n", "4", "--json", "-").json["results"]
    assert (result["kind"], result["title"]) == ("srasp", "some a")
    assert [length["accepted"] for length in result["lengths"]] == [2**n - 1 for n in range(1, 5)]
    assert sum(length["hard_mismatches"] for length in result["lengths"]) == 0
    outcome = hardsim("check", program(tmp_path, REVERSE), "--max-n", "3")
    assert outcome.code == 0
    assert "14 words, all words up to length 3" in outcome.out


def test_a_defect_of_a_construction_would_be_found(
    hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hardsim.lang.srasp.interpreter import ProgramOracle

    monkeypatch.setattr(ProgramOracle, "accepts", lambda self, word: word == ("b",) or "a" in word)
    monkeypatch.setattr("hardsim.checking.sources.check_program_examples", lambda given: None)
    monkeypatch.setattr("hardsim.checking.attention_open.check_program_examples", lambda given: None)
    outcome = hardsim("check", program(tmp_path, SOME_A), "--max-n", "2")
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    verdict = lines.index("REFUTED: hard/oracle disagree on a word of length 1")
    assert lines[verdict + 2] == "b"
    assert lines[verdict + 3].strip() == "oracle: accept; hard attention: reject; softmax: reject"
    assert "defect of hardsim" in lines[verdict + 4]


@pytest.mark.parametrize("command", [["check"], ["bound"], ["eval"], ["words", "--by", "soft"]])
def test_an_integer_out_of_range_names_word_position_and_vector(
    hardsim: Any, tmp_path: Path, command: list[str]
) -> None:
    path = program(tmp_path, TWICE)
    if command == ["eval"]:
        assert hardsim("eval", path, "ba").code == 0  # another word of its length leaves the range
    outcome = hardsim(command[0], path, *command[1:], *(["aa"] if command == ["eval"] else ["--max-n", "2"]))
    assert outcome.code == 2
    # Twice the number of a up to position i: 2 at the first a of length 1 already.
    word, n = ("aa", 2) if command == ["eval"] else ("a", 1)
    assert f"error: {path}: word '{word}': the prefix sum of the vector total is " in outcome.err
    assert f", outside [-{n}, {n}]" in outcome.err
    assert "note: " in outcome.err  # the static analysis warned of it
    assert "the vector total may leave [-n, n]" in outcome.err
    assert hardsim("words", path, "--max-n", "3", "--by", "oracle").out.split() == [
        word for word in words("ab", 3) if 2 * word.count("a") > 2
    ]


# ---- eval, words ----


def test_eval_of_a_model(hardsim: Any, model: Path) -> None:
    outcome = hardsim("eval", model, "ab", "bb")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [line.split() for line in outcome.out.splitlines()]
    assert rows[-2][:4] == ["yes", "–", "accept", "accept"]
    assert (rows[-2][-1], rows[-1][-1]) == ("ab", "bb")
    outcome = hardsim("eval", model, "--tau", "1", "ab", "bb", "--json", "-")
    assert outcome.code == 1
    assert "1 of 2 words mismatch" in outcome.err
    first, second = outcome.json["results"][0]["words"]
    assert (first["word"], first["agree"], first["hard"], first["soft"]) == (["a", "b"], False, True, False)
    # 1 - 1/(1 + 1/e)
    assert float(first["error"]) == pytest.approx(1 / (1 + exp(1)), rel=1e-12)
    assert (second["agree"], second["soft"], second["error"]) == (True, False, "0")


def test_eval_of_what_hard_attention_leaves_undecided(hardsim: Any, tmp_path: Path) -> None:
    outcome = hardsim("eval", write(tmp_path, majority()), "ab", "aab")
    assert outcome.code == 3
    assert "hard attention decides nothing on 1 of 2 words" in outcome.err
    assert "mismatch" not in outcome.err
    rows = [line.split() for line in outcome.out.splitlines()][-2:]
    assert [row[:4] for row in rows] == [["–", "–", "undecided", "undecided"], ["yes", "–", "accept", "accept"]]


def test_eval_of_a_transduction_prints_its_output(hardsim: Any, tmp_path: Path) -> None:
    path = program(tmp_path, REVERSE)
    outcome = hardsim("eval", path, "aab")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].split()[:4] == ["yes", "baa", "baa", "baa"]
    (word,) = hardsim("eval", path, "-", "--json", "-", stdin=b"abb\n").json["results"][0]["words"]
    assert word["oracle"] == word["hard"] == word["soft"] == ["b", "b", "a"]
    refused = hardsim("eval", path, "axb")
    assert (refused.code, refused.out) == (2, "")
    assert "'x' is not a symbol of the alphabet" in refused.err


@pytest.mark.parametrize("by", ["oracle", "hard", "soft"])
def test_the_words_of_a_model(hardsim: Any, tmp_path: Path, model: Path, by: str) -> None:
    expected = [word for word in words("ab", 4) if "a" in word]
    for path in (model, program(tmp_path, SOME_A)):
        outcome = hardsim("words", path, "--max-n", "4", "--by", by)
        assert (outcome.code, outcome.err, outcome.out.split()) == (0, "", expected)
    (result,) = hardsim("words", model, "--max-n", "2", "--by", by, "--json", "-").json["results"]
    assert (result["by"], result["tried"], result["accepted"]) == (by, 6, [["a"], ["a", "a"], ["a", "b"], ["b", "a"]])


def test_the_soft_words_depend_on_the_temperature(hardsim: Any, model: Path) -> None:
    outcome = hardsim("words", model, "--max-n", "2", "--by", "soft", "--tau", "1")
    assert outcome.out.split() == ["a", "aa"]


def test_words_are_refused_where_there_are_none_or_too_many(hardsim: Any, tmp_path: Path, model: Path) -> None:
    outcome = hardsim("words", program(tmp_path, REVERSE), "--max-n", "2")
    assert (outcome.code, outcome.out) == (2, "")
    assert "maps words to words" in outcome.err
    assert "hardsim eval" in outcome.err
    outcome = hardsim("words", model, "--max-n", "20")
    assert outcome.code == 2
    assert "--exhaustive" in outcome.err
