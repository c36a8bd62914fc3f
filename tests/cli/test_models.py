"""Tests of every command on hard-attention models and programs."""

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hardsim.program.file import schema
from tests.cli.conftest import written
from tests.support.attention_models import HEAD, critical, majority, sided, some_a, some_a_by_words, with_head, write
from tests.support.documents import exact
from tests.support.language import formulas_directory

REVERSE = (
    "alphabet: a b\nmap: ab -> ba\nm(i) := len(i) + 1 - pos(i)\nY(i) := leftmost_j[1, pos(j) = m(i)] in(j) : in(i)\n"
)
SOME_A = "// some a\nalphabet: a b\naccept: a ba\nreject: b\nY(i) := leftmost_j[1, Q_a(j)] 1 : 0\n"
TWICE = "alphabet: a b\ntwo(i) := Q_a(i) ? 2 : 0\ntotal(i) := psum_j[j <= i] two(j)\nY(i) := total(i) > 2\n"


def program(directory: Path, text: str, name: str = "program.srasp") -> Path:
    return written(directory / name, text)


def words(symbols: str, longest: int) -> list[str]:
    return ["".join(word) for n in range(1, longest + 1) for word in product(symbols, repeat=n)]


@pytest.fixture
def by_words(tmp_path: Path) -> Path:
    """A file with a model that no temperature proves for every length."""
    return write(tmp_path, some_a_by_words())


# ---- check ----


def test_the_json_of_a_check(hardsim: Any, by_words: Path) -> None:
    document = hardsim("check", by_words, "--max-n", "3", "--json", "-").json
    (result,) = document["results"]
    assert document["inputs"][0]["alphabet"] == ["a", "b"]
    assert (result["kind"], result["title"], result["words"], result["mismatch"]) == ("ahat", "Some a", 14, None)
    tie = {"head": HEAD, "n": 2, "word": ["a", "a"], "position": 1, "count": 2}
    assert result["ties"] == [tie | {"simulated": "average", "differ": None}]
    two = result["lengths"][1]
    (head,) = two["heads"]
    assert (head["kind"], exact(head["score_gap"]), head["declared_gap"], head["most_maxima"]) == (
        "ties",
        Fraction(1),
        None,
        2,
    )
    # Outputs are 0 and 1, the threshold 3/4: half of the distance 1/4.
    assert exact(two["epsilon"]) == Fraction(1, 8)
    # At length 2 the largest error is that of the word ab, 1 - 1/(1 + q); Theorem 26 bounds it by q,
    # as the values are within 1/2 of their middle.
    inverse = 1 / exact(two["theorem"])
    q = exp(-inverse)
    assert two["error"] == pytest.approx(q / (1 + q), rel=1e-9)
    assert two["bound"] == pytest.approx(q, rel=1e-9)
    assert q <= 1 / 8 < exp(-inverse * 64 / 65)


def test_too_high_a_temperature_is_a_mismatch_whose_word_stands_alone(hardsim: Any, model: Path) -> None:
    assert critical(2) < 1
    lines = hardsim("check", model, "--tau", "1", "--max-n", "3").clean("lower --tau", code=1).out.splitlines()
    verdict = lines.index("  soft/hard disagree on a word of length 2, the shortest mismatch found")
    assert lines[verdict + 2] == "ab"
    # The weight of the a beside the b is e/(1 + e), which is less than 3/4.
    assert lines[verdict + 3].strip() == "hard attention: accept; softmax: reject (output 0.731)"
    result = hardsim("check", model, "--tau", "1", "--max-n", "3", "--json", "-").result
    assert result["mismatch"].pop("output") == pytest.approx(exp(1) / (1 + exp(1)), rel=1e-9)
    assert result["mismatch"] == {
        "word": ["a", "b"],
        "kind": "soft/hard",
        "oracle": None,
        "hard": True,
        "soft": False,
        "decided": True,
        "direct": False,
        "shrunk_from": None,
        "no_output": None,
    }
    # ab and ba are wrong, and at length 3 the three words with one a: 2 < e < 2 * 3.
    assert [length["soft_mismatches"] for length in result["lengths"]] == [0, 2, 3]
    assert hardsim("check", model, "--tau", f"{round(critical(3) * 1000) - 1}/1000", "--max-n", "3").code == 0


def test_a_smaller_epsilon_means_a_lower_temperature(hardsim: Any, model: Path) -> None:
    def last(*options: str) -> Any:
        return hardsim("check", model, "--max-n", "2", *options, "--json", "-").result["lengths"][1]

    assert last("--epsilon", "1/1000")["epsilon"] == {"value": 0.001, "exact": "1/1000"}
    assert last("--epsilon", "1/1000")["bound"] <= 1 / 1000 < last("--epsilon", "1/100")["bound"]
    hardsim("check", model, "--epsilon", "1").refused("Write a number between 0 and 1")


@pytest.mark.parametrize("command", [("check",), ("bound",), ("bound", "--gap")])
def test_a_false_gap_is_refuted_by_the_word_that_shows_it(
    hardsim: Any, tmp_path: Path, command: tuple[str, ...]
) -> None:
    # Theorem 26's temperature is then (3/2)/ln 8 = 0.72 at length 2, still below 1/ln 3.
    path = write(tmp_path, with_head(gap="3/2"))
    said = f"the declared gap of head {HEAD} at position 1 does not hold at length 2 "
    outcome = hardsim(*command, path, "--max-n", "2").exits(1, "REFUTED ", said, "correct the gap")
    outcome.prints("\n  claimed 1.5, measured 1\n", "The word, on a line of its own:\nab\n")
    violation = hardsim(*command, path, "--max-n", "2", "--json", "-").exits(1).result["violation"]
    assert (violation["word"], violation["measured"], violation["claimed"]) == (["a", "b"], 1, 1.5)


def test_a_false_gap_is_named_as_the_reason(hardsim: Any, tmp_path: Path) -> None:
    # With gap 2 the temperature is 2/ln 8 = 0.96, too high: softmax is wrong as well, and the gap is the reason given.
    outcome = hardsim("check", write(tmp_path, with_head(some_a_by_words(), gap="2")), "--max-n", "2")
    outcome.exits(1, "REFUTED ", "soft/hard disagree", "correct the gap").lacks("lower --tau")
    assert hardsim("check", write(tmp_path, with_head(gap="1")), "--max-n", "2").code == 0
    refused = hardsim("check", write(tmp_path, with_head(gap="i - 1")), "--max-n", "2")
    refused.exits(2).says(f"head {HEAD}: the declared gap i-1 is 0 at i = 1, n = 1")


def test_ties_that_come_late_are_found(hardsim: Any) -> None:
    path = formulas_directory() / "tieless_until_7.ahat.json"
    # 6 [1] + i: a 1 at position 1 and a 0 at position 7 have the score 7.
    said = "head last 1 is tieless up to length 6: at length 7, position 7 has 2 positions with the largest "
    outcome = hardsim("check", path, "--max-n", "7").exits(0, said + "score, in the word 1000000 ")
    assert "1000000" in outcome.out.splitlines()
    assert "tieless up to" not in hardsim("check", path, "--max-n", "6").told_text


def test_what_softmax_makes_of_an_undecided_word_refutes_nothing(hardsim: Any, tmp_path: Path) -> None:
    """A tie of a and b has the mean 1/2 in hard attention; a lesser score at c moves softmax below it."""
    document = with_head(sided("average"), w_k=[{"letter": "1"}])
    result = hardsim("check", write(tmp_path, document), "--max-n", "3", "--json", "-").exits(3).result
    assert result["verdict"] == "UNDECIDED"
    assert sum(length["soft_mismatches"] for length in result["lengths"]) == 0


def test_options_of_formulas_are_remarked_on(hardsim: Any, model: Path, since: Path) -> None:
    given = {"--regime": "position", "--beta": "3", "--at": "first", "--counting": "sign", "--dps": "9"}
    options = [*(text for pair in given.items() for text in pair), "--single-head"]
    outcome = hardsim("check", model, "--max-n", "1", *options, "--json", "-").exits(0)
    (line,) = outcome.err.splitlines()
    assert line.startswith(
        f"note: {model}: --regime position, --beta, --at, --single-head, --counting: not used; they are for formulas. "
    )
    assert outcome.json["notes"][0]["message"] in line
    # --regime all means one check of a model, and nothing to remark on.
    outcome = hardsim("check", model, "--max-n", "1", "--regime", "all", "--json", "-")
    assert (len(outcome.json["results"]), outcome.err) == (1, "")
    for command in ("check", "words"):
        outcome = hardsim(command, since, "--max-n", "1", "--epsilon", "1/8").exits(0)
        assert outcome.err.startswith(f"note: {since}: --epsilon: for hard-attention models and programs")


def test_a_directory_of_all_kinds(hardsim: Any, tmp_path: Path, since: Path) -> None:
    write(tmp_path, some_a_by_words(), "some.ahat.json")
    write(tmp_path, {"anything": "else"}, "other.json")
    program(tmp_path, SOME_A, "some.srasp")
    program(tmp_path, REVERSE, "turned.srasp")
    assert hardsim("compile", since, "-o", tmp_path / "since.model.json").code == 0
    # several inputs have no tables
    outcome = hardsim("check", tmp_path, "--max-n", "2", "--json", tmp_path / "all.json").exits(0).lacks("all 4")
    outcome.prints("5 results: 4 PROVED, 1 CERTIFIED")  # the gaps of the .ahat.json are only measured
    document = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    names = ["since.ltl", "since.model.json", "some.ahat.json", "some.srasp", "turned.srasp"]
    assert [Path(given["name"]).name for given in document["inputs"]] == names
    assert hardsim("check", tmp_path, "--max-n", "2", "--json", "-").json["results"] == document["results"]
    outcome = hardsim("words", tmp_path / "some.ahat.json", tmp_path / "some.srasp", "--max-n", "1")
    assert outcome.out.splitlines() == [f"# {tmp_path / 'some.ahat.json'}", "a", f"# {tmp_path / 'some.srasp'}", "a"]


# ---- programs ----


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_processes(hardsim: Any, tmp_path: Path) -> None:
    arguments = ("check", program(tmp_path, SOME_A), "--max-n", "7", "--exhaustive", "100", "--json", "-")
    one, two = (hardsim(*arguments, "--workers", workers).exits(0) for workers in ("1", "2"))
    # A shard is 64 words: lengths 1 to 6 are tried in full, and of the 128 words of length 7 a sample.
    assert [length["exhaustive"] for length in one.result["lengths"]] == [True] * 6 + [False]
    assert "measured on" in one.result["lengths"][6]["assumption"]
    assert one.out == two.out


def test_a_defect_of_a_construction_would_be_found(
    hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hardsim.targets.semantics import Runs

    def wrong(_: Runs, words: Sequence[tuple[str, ...]]) -> list[bool]:
        return [word == ("b",) or "a" in word for word in words]

    monkeypatch.setattr(Runs, "many", wrong)
    monkeypatch.setattr("hardsim.targets.inputs.program.check_program_examples", lambda given: None)
    outcome = hardsim("check", program(tmp_path, SOME_A), "--max-n", "2").exits(1, "REFUTED ", "defect of hardsim")
    lines = outcome.out.splitlines()
    verdict = lines.index("  hard/oracle disagree on a word of length 1, the shortest mismatch found")
    assert lines[verdict + 2] == "b"
    assert lines[verdict + 3].strip() == "oracle: accept; hard attention: reject; softmax: reject (output 0)"


@pytest.mark.parametrize("command", [["check"], ["bound"], ["eval"], ["words", "--by", "soft"]])
def test_an_integer_out_of_range_names_word_position_and_vector(
    hardsim: Any, tmp_path: Path, command: list[str]
) -> None:
    path = program(tmp_path, TWICE)
    if command == ["eval"]:
        assert hardsim("eval", path, "ba").code == 0  # another word of its length leaves the range
    outcome = hardsim(command[0], path, *command[1:], *(["aa"] if command == ["eval"] else ["--max-n", "2"]))
    outcome.exits(2).says("note: ", "the vector total may leave [-n, n]")
    # Twice the number of a up to position i: 2 at the first a of length 1 already.
    word, n = ("aa", 2) if command == ["eval"] else ("a", 1)
    outcome.says(f"error: {path}: word '{word}': the prefix sum of the vector total is ", f", outside [-{n}, {n}]")
    # the static analysis warned of it
    assert hardsim("words", path, "--max-n", "3", "--by", "oracle").out.split() == [
        word for word in words("ab", 3) if 2 * word.count("a") > 2
    ]


# ---- eval, words ----


def test_eval_of_a_model(hardsim: Any, model: Path) -> None:
    rows = [line.split() for line in hardsim("eval", model, "ab", "bb").clean().out.splitlines()]
    assert rows[-2][:4] == ["yes", "–", "accept", "accept"]
    assert (rows[-2][-1], rows[-1][-1]) == ("ab", "bb")
    outcome = hardsim("eval", model, "--tau", "1", "ab", "bb", "--json", "-").exits(1).says("1 of 2 words mismatch")
    first, second = outcome.result["words"]
    assert (first["word"], first["agree"], first["hard"], first["soft"]) == (["a", "b"], False, True, False)
    # 1 - 1/(1 + 1/e)
    assert first["error"] == pytest.approx(1 / (1 + exp(1)), rel=1e-12)
    assert (second["agree"], second["soft"], second["error"]) == (True, False, 0)


def test_eval_of_what_hard_attention_leaves_undecided(hardsim: Any, tmp_path: Path) -> None:
    outcome = hardsim("eval", write(tmp_path, majority()), "ab", "aab")
    outcome.exits(3).says("hard attention decides nothing on 1 of 2 words").unsaid("mismatch")
    rows = [line.split() for line in outcome.out.splitlines()][-2:]
    assert [row[:4] for row in rows] == [["–", "–", "undecided", "undecided"], ["yes", "–", "accept", "accept"]]


def test_eval_of_a_transduction_prints_its_output(hardsim: Any, tmp_path: Path) -> None:
    path = program(tmp_path, REVERSE)
    assert hardsim("eval", path, "aab").exits(0).out.splitlines()[-1].split()[:4] == ["yes", "baa", "baa", "baa"]
    (word,) = hardsim("eval", path, "-", "--json", "-", stdin=b"abb\n").result["words"]
    assert word["oracle"] == word["hard"] == word["soft"] == ["b", "b", "a"]
    hardsim("eval", path, "axb").refused("'x' is not a symbol of the alphabet")


@pytest.mark.parametrize("by", ["oracle", "hard", "soft"])
def test_the_words_of_a_model(hardsim: Any, tmp_path: Path, model: Path, by: str) -> None:
    expected = [word for word in words("ab", 4) if "a" in word]
    for path in (model, program(tmp_path, SOME_A)):
        outcome = hardsim("words", path, "--max-n", "4", "--by", by)
        assert (outcome.code, outcome.err, outcome.out.split()) == (0, "", expected)
    result = hardsim("words", model, "--max-n", "2", "--by", by, "--json", "-").result
    assert (result["by"], result["tried"], result["accepted"]) == (by, 6, [["a"], ["a", "a"], ["a", "b"], ["b", "a"]])


def test_the_soft_words_depend_on_the_temperature(hardsim: Any, model: Path) -> None:
    assert hardsim("words", model, "--max-n", "2", "--by", "soft", "--tau", "1").out.split() == ["a", "aa"]


def test_words_are_refused_where_there_are_none_or_too_many(hardsim: Any, tmp_path: Path, model: Path) -> None:
    hardsim("words", program(tmp_path, REVERSE), "--max-n", "2").refused("maps words to words", "hardsim eval")
    hardsim("words", model, "--max-n", "20").exits(2).says("--exhaustive")


# ---- compile ----


def valid(path: Path) -> Any:
    """Read a document, which must match the schema of the format."""
    document = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema()).validate(document)
    return document


def test_hard_attention_of_a_formula_keeps_how_sharp_softmax_is(hardsim: Any, since: Path, tmp_path: Path) -> None:
    hard = tmp_path / "hard.ahat.json"
    outcome = hardsim("compile", since, "--hard", "-o", hard, "--beta", "7", "--tau", "1/(9*n)", "--json", "-")
    assert outcome.clean().result["sha256"] == hashlib.sha256(hard.read_bytes()).hexdigest()
    document = valid(hard)
    assert document["sharpness"] == {"beta": "7", "beta_for_all": True, "temperature": "1/(9*n)"}
    assert hardsim("compile", since, "--hard", "-o", hard).code == 0
    assert valid(hard)["program"] == document["program"]
    assert valid(hard)["sharpness"] == {"beta": "4", "beta_for_all": False, "temperature": "1/n"}


def test_the_softmax_model_of_a_model(hardsim: Any, tmp_path: Path) -> None:
    path, soft = (
        write(tmp_path, some_a_by_words(examples={"accept": ["ba"], "reject": ["b"]})),
        tmp_path / "soft.ahat.json",
    )
    result = hardsim("compile", path, "--max-n", "4", "-o", soft, "--json", "-").exits(0).result
    assert result["kind"] == "ahat"
    assert result["sha256"] == hashlib.sha256(soft.read_bytes()).hexdigest()
    document = valid(soft)
    assert document["program"]["layers"][0]["heads"][0]["weighting"] == "average"
    direct = hardsim("check", path, "--max-n", "4", "--json", "-").result["lengths"]
    # A temperature for each length, Theorem 26's.
    assert document["temperature"] == [length["theorem"]["exact"] for length in direct]
    assert hardsim("check", soft, "--max-n", "4", "--json", "-").exits(0).result["lengths"] == direct
    outcome = hardsim("check", soft, "--max-n", "5")
    outcome.refused("known for lengths 1 to 4, not for 5", "Use --max-n 4 or less", "with --max-n 5 or more")
    assert hardsim("check", soft, "--max-n", "5", "--tau", "1/9").code == 0
    assert "softmax; hard attention" in hardsim("compile", soft, "--hard", "--tau", "1", "-o", tmp_path / "x.json").err
    hard = valid(tmp_path / "x.json")
    assert "temperature" not in hard
    assert hard["program"]["layers"][0]["heads"][0]["weighting"] == "average"


def test_the_temperature_of_a_softmax_model_is_the_one_that_is_checked(hardsim: Any, tmp_path: Path) -> None:
    soft = tmp_path / "soft.ahat.json"
    assert hardsim("compile", write(tmp_path, some_a()), "--tau", "1", "-o", soft).code == 0
    assert valid(soft)["temperature"] == "1"
    assert critical(2) < 1
    assert hardsim("check", soft, "--max-n", "2", "--json", "-").exits(1).result["mismatch"]["word"] == ["a", "b"]


@pytest.mark.parametrize("weighting", ["leftmost", "rightmost"])
@pytest.mark.parametrize("gap", [None, "1"])
def test_broken_ties_read_back(hardsim: Any, tmp_path: Path, weighting: str, gap: str | None) -> None:
    document = sided(weighting) if gap is None else with_head(sided(weighting), gap=gap)
    path, soft = write(tmp_path, document), tmp_path / "soft.ahat.json"
    hardsim("check", path, "--max-n", "3").exits(0, f"ties broken in {HEAD}")
    assert hardsim("compile", path, "--max-n", "3", "-o", soft).code == 0
    assert valid(soft)["program"]["layers"][0]["heads"][0]["weighting"] == weighting
    expected = hardsim("words", path, "--max-n", "3").out
    for by in ("hard", "soft"):
        assert hardsim("words", soft, "--max-n", "3", "--by", by).out == expected
    outcome = hardsim("check", soft, "--max-n", "3", "--json", "-")
    assert (outcome.code, outcome.result["ties"]) == (0, [])


def test_the_softmax_model_of_a_program(hardsim: Any, tmp_path: Path) -> None:
    path, soft = tmp_path / "swap.srasp", tmp_path / "soft.ahat.json"
    path.write_text("alphabet: a b\nY(i) := in(i) = 'a' ? 'b' : 'a'\n", encoding="utf-8")
    for options in ([], ["--hard"]):
        assert hardsim("compile", path, "--max-n", "3", "-o", soft, *options).code == 0
        assert set(valid(soft)["program"]["outputs"]) == {"a", "b"}
        assert hardsim("eval", soft, "aab").exits(0).out.splitlines()[-1].split()[:4] == ["yes", "–", "bba", "bba"]
        assert hardsim("check", soft, "--max-n", "3").code == 0


# ---- what is wrong with a model ----

WRONG: list[tuple[dict[str, Any], str, str]] = [
    (some_a(format="other"), "format", 'one of hardsim-model, hardsim-ahat, hardsim-network, found "other"'),
    (
        some_a(embedding={"shape": [2, 3], "entries": [[2, 0, "1"]]}),
        "embedding.entries[0][0]",
        "an integer from 0 to 1",
    ),
    (with_head(mask="strict-past"), "layers[0].heads[0].mask", 'strict masks need "bos": true'),
]
"""A few errors in models; the tests of the reader of models have the others."""


@pytest.mark.parametrize(("document", "place", "expected"), WRONG)
def test_an_error_in_a_model_names_file_place_expected_and_found(
    hardsim: Any, tmp_path: Path, document: Any, place: str, expected: str
) -> None:
    path = write(tmp_path, document)
    first, hint = hardsim("check", path).refused().err.splitlines()
    assert first.startswith(f"error: {path}: at {place}: expected ")
    assert expected in first
    assert ", found " in first
    assert hint == "  Correct the file, or make it again with `hardsim compile`."


def test_errors_that_show_the_text(hardsim: Any, tmp_path: Path) -> None:
    path = write(tmp_path, with_head(gap="1/m"))
    hardsim("show", path).refused(f"{path}: layers[0].heads[0].gap:1:3: error: unknown name 'm'\n  1/m\n    ^\n")
    path.write_text('{"format": "hardsim-ahat",\n  1}', encoding="utf-8")
    hardsim("show", path).refused(f"{path}:2:3: error: this is not JSON")


def test_an_example_that_the_model_gets_wrong(hardsim: Any, tmp_path: Path) -> None:
    path = write(tmp_path, some_a(examples={"accept": ["ab", "bb"]}))
    hardsim("check", path).refused(f"error: {path}: at examples: the model rejects 'bb', which is listed as accepted")


# ---- show, examples ----


def test_show_of_a_model(hardsim: Any, tmp_path: Path) -> None:
    document = with_head(some_a(encodings=[{"coordinate": "1", "value": "(i + n)/(2*n)"}]), gap="1/n", mask="past")
    path = write(tmp_path, document)
    outcome = hardsim("show", path).clean()
    for said in (
        "1 (2) = (i+n)/(2*n)", f"head {HEAD}: j >= i, average, declared gap 1/n", "(1 (2))_i (a)_j", "found += a",
        "accepts where found is above 3/4 at the last position",
    ):  # fmt: skip
        assert said in outcome.out
    result = hardsim("show", path, "--json", "-").result
    (head,) = result["program"]["layers"][0]["heads"]
    assert (head["mask"], head["weighting"], head["gap"]) == ("past", "average", "1/n")
    assert (head["score"], head["values"]) == ([[{"1 (2)": "1"}, {"a": "1"}]], {"found": {"a": "1"}})
    assert result["reads"] == "accepts where found is above 3/4 at the last position"


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize(
    "name", ["no_repeats.ahat.json", "dyck1_uniform.ahat.json", "dyck2.srasp", "marked_square.srasp"]
)
def test_show_of_what_is_shipped(hardsim: Any, name: str) -> None:
    path = formulas_directory() / name
    outcome = hardsim("show", path).exits(0)
    result = hardsim("show", path, "--json", "-").result
    assert all(head["name"] in outcome.out for layer in result["program"]["layers"] for head in layer["heads"])
    assert all(f"warning {warning.splitlines()[0]}" in outcome.told_text for warning in result["warnings"])


def test_an_edited_network_is_its_files_fault(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "edited.json"
    hardsim("compile", since, "-o", target)
    document = json.loads(target.read_text("utf-8"))
    document["model"]["layers"][0]["heads"][0]["w_k"]["entries"][0][2] = "1/9"  # which no beta gives
    target.write_text(json.dumps(document), "utf-8")
    outcome = hardsim("check", target, "--max-n", "3", "--json", tmp_path / "found.json").exits(1, "REFUTED")
    assert "Next: the network is not the one that its specification compiles to; compile the" in outcome.told_text
    assert "defect" not in outcome.out
    (result,) = json.loads((tmp_path / "found.json").read_text("utf-8"))["results"]
    assert result["model"]["specified"] is False


@pytest.mark.parametrize("command", ["check", "prove", "bound"])
@pytest.mark.parametrize("kind", ["formula", "weights", "claims"])
def test_whatever_is_edited_is_never_called_a_defect(
    hardsim: Any, since: Path, tmp_path: Path, command: str, kind: str
) -> None:
    """The edits are a different formula in the file, the same change in network and specification, and a false claim
    about a head.
    """
    target = tmp_path / "edited.model.json"
    hardsim("compile", since, "-o", target).exits(0)
    document = json.loads(target.read_text("utf-8"))
    if kind == "formula":
        document["source"]["text"] = "alphabet: a b c\nb S a\n"
    elif kind == "weights":
        # The head reads [b c], which it looks for, instead of [b].
        document["specification"]["layers"][0]["heads"][0]["values"] = {"S4.read": {"[b c]": "1"}}
        place = document["model"]["coordinates"].index("[b c]")
        document["model"]["layers"][0]["heads"][0]["w_v"]["entries"][0][1] = place
    else:
        document["specification"]["layers"][0]["heads"][0]["decay"] = "1/n"
    target.write_text(json.dumps(document), "utf-8")
    outcome = hardsim(command, target, "--max-n", "3")
    # A proof depends on the weights, not on the file's claims about its heads.
    assert outcome.code == (1 if kind != "claims" else {"check": 2, "prove": 0, "bound": 1}[command])
    assert "defect" not in outcome.out + outcome.err
    assert "report it" not in outcome.out + outcome.err
    if command == "check" and kind != "claims":
        outcome.exits(1, "hard attention itself disagrees with the formula", "compile the formula again")
