"""`check --data` and `check --draws`: exit codes, counts and bounds, on networks with answers known by counting."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardsim as python
from hardsim.campaign.confidence import lower_bound
from hardsim.cli import check, estimate
from hardsim.network.dense import Token
from hardsim.reading.network_json import network_json
from tests.cli.conftest import Cli, written
from tests.support.external import exact, mean_of_a
from tests.support.model import Network, Readout

WORDS = [word for n in range(1, 6) for word in map("".join, product("ab", repeat=n))]
AB = ("--alphabet", "a b")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


FLOAT64 = ("--engine", "float64")


def excess(word: str) -> int:
    """Return the number of a's less that of b's, on whose sign `mean_of_a` decides. At 0 the output is 0, which exact
    arithmetic rejects and certified float64 leaves undecided."""
    return word.count("a") - word.count("b")


def network(found: Network, name: str = "net.json") -> str:
    written(Path(name), json.dumps(network_json(found)))
    return name


def classifier(outputs: tuple[Token, ...]) -> Network:
    """Return a network of two outputs: 0, and the share of a's less a half and a bit."""
    columns = np.zeros((2, 2))
    columns[1, 1] = 1.0
    found = replace(mean_of_a(), outputs=outputs, readout=Readout(decide="argmax"))
    return replace(found, unembedding=columns, unembedding_bias=exact([[0, Fraction(-511, 1024)]])[0])


def data(pairs: Any, name: str = "data.tsv") -> str:
    written(Path(name), "".join(f"{word}\t{label}\n" for word, label in pairs))
    return name


# ---- labelled data ----


def test_all_rows_right(hardsim: Cli) -> None:
    pairs = [(word, int(excess(word) > 0)) for word in WORDS if excess(word)]
    found = hardsim("check", network(mean_of_a()), "--data", data(pairs)).clean("CERTIFIED net.json")
    found.prints(f"checked against data.tsv: right on all {len(pairs)} labelled rows; in float64").lacks("wrong word")


def test_right_wrong_and_undecided_rows_are_counted(hardsim: Cli) -> None:
    """A word with as many a's as b's stays undecided; the label "every word with an a" is wrong on the others."""
    pairs = [(word, int("a" in word)) for word in WORDS] + [("ab", 1), ("aab", 1), ("abb", 1)]
    undecided = sum(excess(word) == 0 for word, _ in pairs)
    wrong = [word for word, label in pairs if excess(word) and (excess(word) > 0) != bool(label)]
    given = ("check", network(mean_of_a()), "--data", data(pairs), *FLOAT64)
    found = hardsim(*given, "--json", "-").exits(1).result["accuracy"]
    assert (found["unit"], found["total"], found["distinct"]) == ("row", len(pairs), len(WORDS))
    assert (found["wrong"], found["undecided"], found["unjudged"]) == (len(wrong), undecided, 0)
    right = len(pairs) - len(wrong) - undecided
    assert found["right"] == right
    assert abs(found["share"] - right / len(pairs)) < 1e-15
    assert ["".join(one["word"]) for one in found["wrong_words"]] == list(dict.fromkeys(wrong))[:10]
    assert (found["distribution"], found["at_least"], found["confidence"], found["seed"]) == (None, None, None, None)
    text = hardsim(*given).exits(1, "REFUTED net.json").told_text
    assert f"right on {right} of {len(pairs)} labelled rows" in text
    assert f"{len(wrong)} wrong, {undecided} undecided" in text
    assert "The first 10 wrong words:" in text
    assert "hardsim trace net.json abb" in text  # and no --against data.tsv


def test_undecided_rows_alone(hardsim: Cli) -> None:
    found = hardsim("check", network(mean_of_a()), "--data", data([("ab", 1), ("a", 1)]), *FLOAT64)
    found.exits(3, "UNDECIDED net.json", "right on 1 of 2 labelled rows (50 %), 1 undecided")


def test_labels_that_say_accept(hardsim: Cli) -> None:
    spellings = [("aa", "accept"), ("aaa", "True"), ("aab", "yes"), ("b", "0"), ("bb", "Reject"), ("bba", "false")]
    hardsim("check", network(mean_of_a()), "--data", data(spellings)).clean("right on all 6 labelled rows")
    wrong = hardsim("check", "net.json", "--data", data([("a", "maybe")]))
    wrong.refused("data.tsv:1:3: error: 'maybe' does not say if the word is accepted", "expected: accept or reject")


@pytest.mark.parametrize(
    ("outputs", "labels"),
    [(("no", "yes"), ("yes", "no")), (("no", "yes"), ("1", "0")), (("no", "yes"), ("accept", "reject")),
     (("NEG", "POS"), ("1", "0")), (("NEG", "POS"), ("POS", "NEG")), (("yes", "no"), ("no", "yes"))],
)  # fmt: skip
def test_labels_of_a_classifier(hardsim: Cli, outputs: tuple[str, str], labels: tuple[str, str]) -> None:
    """The second output wins where there are at least as many a's as b's."""
    pairs = [(word, labels[excess(word) < 0]) for word in WORDS]
    found = hardsim("check", network(classifier(outputs)), "--data", data(pairs))
    found.clean(f"right on all {len(pairs)} labelled rows")


def test_three_commands_from_a_folder_to_a_verdict(hardsim: Cli) -> None:
    """A draft with its last line left incomplete states how words are read; the labels are the reference."""
    network(classifier(("no", "yes")))
    hardsim("new", "net.json").exits(0, "complete line", "\n  hardsim check net.spec --data FILE.tsv\n")
    data([(word, "no" if excess(word) < 0 else "yes") for word in WORDS])
    hardsim("check", "net.spec").refused("net.spec:")
    found = hardsim("check", "net.spec", "--data", "data.tsv").clean("CERTIFIED net.spec", "all 62 labelled rows")
    found.prints("not PROVED: only the given words are run")  # although every word to length 5 is one of them
    text = Path("net.spec").read_text()
    written(Path("net.spec"), text.replace("input: *", "input: * b"))  # one b more after each word
    right = sum((excess(word) < 0) == (excess(word + "b") < 0) for word in WORDS)
    hardsim("check", "net.spec", "--data", "data.tsv").exits(1, f"right on {right} of 62 labelled rows")
    hardsim("check", "net.spec", "--data", "data.tsv", "--at", "first").exits(1)


def test_numbers_that_are_truths_of_another_output(hardsim: Cli) -> None:
    found = hardsim("check", network(classifier(("yes", "no"))), "--data", data([("a", 1)]))
    found.refused("data.tsv:1:3: error: 1 has two readings: output 1 is no, and as a truth it is yes", "yes or no")


def test_labels_are_all_names_or_all_numbers(hardsim: Cli) -> None:
    for mixed in ("0", "reject"):
        found = hardsim("check", network(classifier(("no", "yes"))), "--data", data([("a", "yes"), ("b", mixed)]))
        found.refused(
            f"data.tsv:2:3: error: the label {mixed} is no name of an output, and line 1 has one: yes",
            "expected: names in every row: no or yes", "Or write the number of an output, from 0, in every row.",
        )  # fmt: skip


def test_the_row_that_differs_from_the_others_is_named(hardsim: Cli) -> None:
    for outputs, right, wrong in (
        (("x", "y"), "0", "7"),
        (("x", "y"), "0", "true"),
        (("no", "yes"), "accept", "maybe"),
        (("no", "yes"), "0", "x"),
    ):
        for pairs in ([("a", right), ("ab", wrong)], [("a", wrong), ("ab", right)]):
            line = 1 + [label for _, label in pairs].index(wrong)
            found = hardsim("check", network(classifier(outputs)), "--data", data(pairs))
            found.refused(f"data.tsv:{line}:", f"error: {wrong!r} is no output of the network", "or names in every row")


def test_truths_may_be_spelled_in_several_ways(hardsim: Cli) -> None:
    """Some of them are numbers of outputs, too, which say the same here."""
    network(classifier(("no", "yes")))
    for labels in (("1", "accept", "0"), ("true", "1", "reject")):
        pairs = [(word, labels[2 if excess(word) < 0 else len(word) % 2]) for word in WORDS]
        hardsim("check", "net.json", "--data", data(pairs)).clean(f"right on all {len(pairs)} labelled rows")


def test_truths_follow_the_output_that_a_specification_says_accepts(hardsim: Cli) -> None:
    """The second output wins where there are at least as many a's as b's."""
    network(classifier(("left", "right")))
    text = "network: net.json\naccept: {}\nlanguage: #[a] >= #[b]\n"
    for accepting, labels in (("right", ("accept", "reject")), ("left", ("false", "true")), ("right", ("1", "0"))):
        written(Path("own.spec"), text.format(accepting))
        pairs = [(word, labels[excess(word) < 0]) for word in WORDS]
        hardsim("check", "own.spec", "--data", data(pairs)).clean(f"right on all {len(pairs)} labelled rows")
    written(Path("own.spec"), text.format("left"))
    hardsim("check", "own.spec", "--data", data([("a", 1)])).refused("1 has two readings: output 1 is right, and as")
    written(Path("own.spec"), text.format("rihgt"))
    found = hardsim("check", "own.spec", "--data", data([("a", "accept")]))
    found.refused("own.spec:2:9: error: the network has no output rihgt", "did you mean right?")


def test_repeated_rows_are_counted_beside_different_words(hardsim: Cli) -> None:
    """The rows are those that count; the table has the different words."""
    pairs = [("a", 1), ("a", 1), ("aa", 1), ("b", 0), ("b", 0)]
    found = hardsim("check", network(mean_of_a()), "--data", data(pairs))
    found.clean("right on all 5 labelled rows (3 different words)")
    wrong = hardsim("check", "net.json", "--data", data([*pairs, ("bb", 1), ("bb", 1)]))
    wrong.exits(1, "right on 5 of 7 labelled rows (4 different words)")


def test_sets_of_outputs_that_may_win(hardsim: Cli) -> None:
    written(Path("d.jsonl"), '{"prefix": "a", "allowed": ["x", "y"]}\n{"prefix": "b", "allowed": "x"}\n')
    hardsim("check", network(classifier(("x", "y"))), "--data", "d.jsonl").clean("right on all 2 labelled rows")
    hardsim("check", "net.json", "--data", data([("a", "x y"), ("b", "y")])).exits(1, "right on 1 of 2 labelled rows")
    hardsim("check", "net.json", "--data", data([("a", "z")])).refused("'z' is no output", "of these outputs: x y")
    hardsim("check", "net.json", "--data", data([("a", "")])).refused("data.tsv:1:3: error: the label is empty")


def test_a_label_for_each_symbol_is_no_set_of_answers(hardsim: Cli) -> None:
    """A network that labels each symbol is judged at the end of a word; a list of as many labels as symbols is refused,
    since it would be read as a set, of which any answer is right. A set has the key `allowed`, or another length."""
    network(replace(classifier(("x", "y")), readout=Readout(decide="argmax", at="each")))
    for text in ('{"tokens": ["a", "b"], "labels": ["y", "x"]}', '{"word": "ab", "label": ["x", "y"]}'):
        written(Path("d.jsonl"), text + "\n")
        found = hardsim("check", "net.json", "--data", "d.jsonl")
        found.refused("d.jsonl:1:1: error: 2 labels for 2 symbols", "expected: the label of the last symbol", "allowed")
    hardsim("check", "net.json", "--data", data([("ab", "x y")])).refused("data.tsv:1:4: error: 2 labels for 2 symbols")
    assert "2 labelled rows" in hardsim("check", "net.json", "--data", data([("ab", "y"), ("aab", "x y")])).out
    network(replace(classifier(("a", "b")), readout=Readout(decide="argmax", at="each")))  # it predicts tokens
    assert "1 labelled row" in hardsim("check", "net.json", "--data", data([("ab", "a b")])).out
    written(Path("d.jsonl"), '{"prefix": "ab", "allowed": ["a", "b"]}\n')
    assert "1 labelled row" in hardsim("check", "net.json", "--data", "d.jsonl").out
    written(Path("d.jsonl"), '{"tokens": ["a", "b"], "labels": ["a", "b"]}\n')
    hardsim("check", "net.json", "--data", "d.jsonl").refused("2 labels for 2 symbols")


def test_the_end_of_a_word_has_several_names(hardsim: Cli) -> None:
    """A draft calls the token that ends words <eos>, whatever the folder calls it: one file of data serves both."""
    for own, other in (("</s>", "<eos>"), ("<eos>", "</s>"), ("<|endoftext|>", "</s>")):
        network(classifier(("a", own)))
        plain = hardsim("check", "net.json", "--data", data([("a", "a"), ("b", own), ("ab", f"a {own}")]))
        again = hardsim("check", "net.json", "--data", data([("a", "a"), ("b", other), ("ab", f"a {other}")]))
        assert (again.code, again.out) == (plain.code, plain.out)
        assert "3 labelled rows" in plain.out
    network(classifier(("</s>", "<|endoftext|>")))
    hardsim("check", "net.json", "--data", data([("a", "<eos>")])).refused("'<eos>' is no output of the network")


def test_numbers(hardsim: Cli) -> None:
    found = replace(mean_of_a(Fraction(0)), readout=Readout(decide="value", level=Fraction(1, 1000)))
    pairs = [(word, Fraction(word.count("a"), len(word))) for word in WORDS]
    hardsim("check", network(found), "--data", data(pairs)).clean(f"right on all {len(pairs)} labelled rows")
    hardsim("check", "net.json", "--data", data([("a", "0.99")])).exits(1)
    for number in ("1e99999999", "1e-1000000", "9" * 5000):
        hardsim("check", "net.json", "--data", data([("a", number)])).refused(
            "data.tsv:1:3: error: this number has too"
        )
    hardsim("check", "net.json", "--data", data([("a", "1e400")])).refused("data.tsv:1:3: error: 1e400 is too large")
    hardsim("check", "net.json", "--data", data([("a", "x")])).refused("data.tsv:1:3: error: 'x' is no number")


def test_several_outputs_above_a_level(hardsim: Cli) -> None:
    """Output y is above 0 where there are at least as many a's as b's, and output x is 0, so never."""
    found = replace(classifier(("x", "y")), readout=Readout(decide="above", level=Fraction(0)))
    hardsim("check", network(found), "--data", data([("a", "y"), ("bb", "")])).clean("right on all 2 labelled rows")
    hardsim("check", "net.json", "--data", data([("a", "x y"), ("bb", "")])).exits(1, "right on 1 of 2 labelled rows")


def test_the_empty_word(hardsim: Cli) -> None:
    hardsim("check", network(mean_of_a()), "--data", data([("", 0)])).refused(
        "data.tsv:1:1: error: the network has no output for the empty word", "input: <bos> *"
    )
    first = replace(mean_of_a(tokens=("a", "b", "<bos>")), readout=Readout(before=("<bos>",)))
    hardsim("check", network(first), "--data", data([("", 0), ("b", 0), ("aa", 1)])).clean("all 3 labelled rows")
    hardsim("check", "net.json", "--data", data([("", 1)])).exits(1, "The shortest mismatching word is the empty word.")
    hardsim("check", "-e", "a", *AB, "--data", "data.tsv").refused("data.tsv:1:1: error: the empty word is not allowed")


@pytest.mark.parametrize("at", ["last", "each"])
@pytest.mark.parametrize("rule", ["above", "value"])
def test_the_empty_word_is_evaluated_if_a_token_is_read_for_it(hardsim: Cli, at: Any, rule: Any) -> None:
    """At <bos> the share of a's is 0, which is a half less than the level; after <bos> a it is a half."""
    readout = Readout(before=("<bos>",), at=at, decide=rule)
    name = network(replace(mean_of_a(tokens=("a", "b", "<bos>")), readout=readout))
    found = hardsim("eval", name, "", "a", "--json", "-").json["results"][0]["words"]
    assert [one["word"] for one in found] == [[], ["a"]]
    assert [[place["position"] for place in one["places"]] for one in found] == [[0], [1]]
    for one, share in zip(found, (-0.5, 0.0), strict=True):
        (output,) = one["places"][0]["outputs"]
        assert output["low"] <= share <= output["high"] <= output["low"] + 1e-12
    hardsim("eval", name, "").exits(0, "(empty)", "0 <bos>")
    hardsim("trace", name, "").exits(0, "word (empty)", "0 <bos>")
    given = python.load(name)
    given_empty: tuple[str | tuple[str, ...], ...] = ("", ())
    for empty in given_empty:
        (one,) = given.eval(empty).words
        assert (one.word, one.places[0].token) == ((), "<bos>")


def test_the_command_about_a_wrong_empty_word_runs(hardsim: Cli) -> None:
    name = network(replace(mean_of_a(tokens=("a", "b", "<bos>")), readout=Readout(before=("<bos>",))))
    found = hardsim("check", name, "--data", data([("", 1)])).exits(1, "hardsim trace net.json ''")
    assert "The shortest mismatching word is the empty word." in found.out


def test_a_command_about_a_wrong_word_is_printed_only_if_it_runs(hardsim: Cli) -> None:
    """`trace` takes no labelled data, and refuses a specification that is left to complete."""
    network(mean_of_a())
    lines = "network: net.json\nalphabet: a b\n"
    written(Path("open.spec"), f"{lines}output share:\n")
    written(Path("wrong.spec"), f"{lines}output share: #[a] > #[c]\n")
    written(Path("stated.spec"), f"{lines}output share: #[a] > #[b]\n")
    rows = data([("aab", 0)])
    for name in ("open.spec", "wrong.spec"):
        found = hardsim("check", name, "--data", rows).exits(1, f"REFUTED {name}")
        found.lacks("More about this word", "hardsim trace")
        assert found.err == ""
        hardsim("trace", name, "aab").exits(2)
    for name in ("net.json", "stated.spec"):
        found = hardsim("check", name, "--data", rows).exits(1, f"More about this word: hardsim trace {name} aab")
        (line,) = [line for line in found.out.splitlines() if line.startswith("hardsim trace")]
        hardsim(*line.split()[1:]).exits(0)


@pytest.mark.parametrize("option", ["--data", "--against"])
def test_the_errors_of_inputs_and_of_the_reference_are_all_named(hardsim: Cli, option: str) -> None:
    """Without the reference nothing is run, and inputs are read for their errors alone."""
    network(mean_of_a())
    written(Path("broken.spec"), "network: net.json\nalphabet: a b\nnosuch: a\n")
    written(Path("good.ltl"), "alphabet: a b\na -> b <-> a\n")  # which is noted
    files = {"--data": data([("a", "maybe\tb\tc")]), "--against": written(Path("broken.re"), "alphabet: a b\n(a\n")}
    bad = str(files[option])
    found = hardsim("check", "broken.spec", "good.ltl", "gone.ltl", option, bad).exits(2)
    heads = [line for line in found.err.splitlines() if "error: " in line]
    assert [line.partition(":")[0] for line in heads] == [bad, "broken.spec", "error"]
    assert heads[-1] == "error: gone.ltl: no such file"
    assert found.out == ""
    assert "note: good.ltl" not in found.err
    assert found.err.endswith("\nno result; 2 files could not be read\n")
    errors = hardsim("check", "broken.spec", option, bad, "--json", "-").exits(2).json["errors"]
    assert [one["input"] for one in errors] == [bad, "broken.spec"]
    # An input without an error adds nothing, and --fail-fast ends at the reference.
    alone = hardsim("check", "good.ltl", option, bad).exits(2)
    assert alone.out == ""
    assert alone.err == found.err[: found.err.index("broken.spec:")]
    stopped = hardsim("check", "broken.spec", "good.ltl", option, bad, "--fail-fast").exits(2)
    assert stopped.err.count("error: ") == 1


@pytest.mark.parametrize("command", ["eval", "trace"])
def test_the_empty_word_is_refused_if_nothing_is_read_for_it(hardsim: Cli, command: str) -> None:
    hardsim(command, network(mean_of_a()), "").refused(
        "<word>:1:1: error: the empty word is not allowed", "the network reads no token for it", "input: <bos> *"
    )
    with pytest.raises(python.InputError, match="the empty word is not allowed"):
        python.load("net.json").eval("")
    first = replace(mean_of_a(tokens=("a", "b", "<bos>")), readout=Readout(before=("<bos>",), at="first"))
    hardsim(command, network(first), "").refused("the empty word is not allowed")


def test_words_beyond_the_table_of_positions(hardsim: Cli) -> None:
    pairs = [("aa", 1), ("aaaa", 1)]
    found = hardsim("check", network(mean_of_a(rows=3)), "--data", data(pairs))
    found.refused("data.tsv:2:1: error: the table of positions ends: words have at most 3 symbols, not 4")


def test_a_formula_against_data(hardsim: Cli) -> None:
    """The formula is the reference of the data: the labels are right where it agrees."""
    pairs = [(word, int("ab" in word)) for word in WORDS]
    same, other = "O (b & Y a)", "O b"
    found = hardsim("check", "-e", same, *AB, "--data", data(pairs)).exits(0, "CERTIFIED", "right on all 62 labelled")
    assert "not PROVED: a proof is about the compiled network" in found.told_text
    wrong = sum(("b" in word) != ("ab" in word) for word in WORDS)
    found = hardsim("check", "-e", other, *AB, "--data", "data.tsv").exits(
        1, f"right on {62 - wrong} of 62", f"{wrong} wrong"
    )
    assert "--against" not in found.out


def test_programs_that_map_words(hardsim: Cli) -> None:
    """The label is the output, in the notation of words, or integers separated by blanks."""
    hardsim("check", "majority_rules", "--data", data([("aab", "aaa"), ("b", "b")])).exits(0, "all 2 labelled rows")
    hardsim("check", "majority_rules", "--data", data([("aab", "aab")])).exits(1, "right on 0 of 1 labelled row")
    hardsim("check", "hist", "--data", data([("abab", "2 2 2 2"), ("a", 1)])).exits(0, "all 2 labelled rows")
    hardsim("check", "copy_first_half", "--data", data([("abab", "ab"), ("a", "")])).exits(0, "all 2 labelled rows")
    cases = {
        ("majority_rules", "aab", "aa"): "data.tsv:1:5: error: the label has 2 symbols and the word 3",
        ("majority_rules", "aab", "aax"): "data.tsv:1:7: error: 'x' is not a symbol of the alphabet",
        ("hist", "ab", "1 x"): "data.tsv:1:4: error: this is no list of integers",
    }
    for (name, word, label), message in cases.items():
        hardsim("check", name, "--data", data([(word, label)])).refused(message)


def test_several_files_and_formats_for_programs(hardsim: Cli) -> None:
    data([("ab", 1)], "one.tsv")
    written(Path("two.csv"), "label,word\n0,ba\n")
    found = hardsim("check", "-e", "b", *AB, "--data", "one.tsv", "--data", "two.csv")
    found.exits(0, "checked against one.tsv, two.csv: right on all 2 labelled rows")
    document = hardsim("check", "-e", "b", *AB, "--data", "one.tsv", "--data", "two.csv", "--json", "-").json
    assert [one["name"] for one in document["inputs"]] == ["one.tsv", "two.csv", "<expression>"]
    table = hardsim("check", "-e", "a", *AB, "--data", "one.tsv", "--format", "csv").exits(1).out.splitlines()
    assert table[1].startswith(
        '<expression>,temperature,failed,1,REFUTED,ab,"REFUTED: checked against one.tsv: right on 0'
    )
    for form, text in (("junit", "<failure"), ("sarif", '"level": "error"'), ("github", "::error")):
        assert text in hardsim("check", "-e", "a", *AB, "--data", "one.tsv", "--format", form).exits(1).out
    hardsim("check", "-e", "b", *AB, "--data", "one.tsv", "--data", "one.tsv").refused("--data one.tsv is given twice")


def test_two_labels_of_one_word(hardsim: Cli) -> None:
    data([("a", 1), ("b", 0), ("a", 0)])
    found = hardsim("check", "-e", "a", *AB, "--data", "data.tsv")
    found.refused("data.tsv:3:3: error: the word a has another label on line 1: 1", "expected: one label for each word")
    data([("b", 1)], "more.tsv")
    written(Path("data.tsv"), "a\t1\nb\t0\n")
    found = hardsim("check", "-e", "a", *AB, "--data", "data.tsv", "--data", "more.tsv")
    found.refused("more.tsv:1:3: error: the word b has another label on data.tsv:2: 0")


def test_options_that_do_not_go_together(hardsim: Cli) -> None:
    written(Path("f.ltl"), "alphabet: a b\na\n")
    data([("a", 1)])
    cases = {
        ("--data", "data.tsv", "--against", "f.ltl"): "--data gives the expected answers, and so does --against f.ltl",
        ("--data", "data.tsv", "--draws", "9"): "--data and --draws both choose the words",
        ("--distribution", "uniform"): "--distribution needs --draws",
        ("--draws", "9", "--engine", "mpmath"): "--engine mpmath has no error bounds",
        ("--draws", "9", "--require", "proved"): "--require proved: only the given words are run",
        ("--data", "data.tsv", "--require", "proved"): "--require proved: only the given words are run",
        ("--data", "data.tsv", "--pin"): "data.tsv may disagree",
        ("--data", "none.tsv"): "--data none.tsv: no such file",
        ("--data", "f.ltl"): "f.ltl: labelled data is a file of words and labels",
        ("--draws", "0"): "",
    }
    for options, message in cases.items():
        hardsim("check", "f.ltl", *options).refused(message)
    found = hardsim("check", "f.ltl", "--data", "data.tsv", "--max-n", "4", "--samples", "7").exits(0)
    found.says("--max-n, --samples: not used; the words are those of the data")
    hardsim("check", "f.ltl", "--draws", "5", "--exhaustive", "7").says(
        "--exhaustive: not used; only the draws are run"
    )


def test_observed_rows(hardsim: Cli) -> None:
    found = hardsim(
        "check", network(mean_of_a()), "--data", data([("a", 1)]), "--engine", "mpmath", "--require", "certified"
    )
    found.exits(3, "OBSERVED net.json", "right on 1 of 1 labelled row; in mpmath (no rigorous enclosure)")


def test_a_resumed_run_needs_the_same_data(hardsim: Cli) -> None:
    given = ("check", network(mean_of_a()), "--data", data([("a", 1), ("b", 1)]), "--resume", "kept")
    first = hardsim(*given).exits(1)
    assert hardsim(*given).exits(1).out == first.out
    data([("a", 1)])
    hardsim(*given).refused("the input data.tsv was changed since")


# ---- independent draws ----


def test_draws_end_with_a_bound(hardsim: Cli) -> None:
    """The reference says b where the network is right on every word: the bound is that of all draws right."""
    found = (
        hardsim("check", "-e", "b", *AB, "--draws", "400", "--max-n", "6", "--json", "-").exits(0).result["accuracy"]
    )
    assert (found["unit"], found["total"], found["right"], found["seed"]) == ("draw", 400, 400, 0)
    assert found["distinct"] < 400  # with replacement
    assert found["at_least"] == float(lower_bound(400, 400))
    assert found["confidence"]["exact"] == "39/40"
    assert found["distribution"].startswith("one of lengths 1 to 6, each equally likely, then a word of this length")
    text = hardsim("check", "-e", "b", *AB, "--draws", "400", "--max-n", "6", "--seed", "3").exits(0).told_text
    assert (
        "right on all 400 independent draws; right on at least 99.08 % of the distribution with confidence 97.5 %"
        in text
    )
    assert "each equally likely; seed 3" in text


def test_undecided_draws_count_as_wrong(hardsim: Cli) -> None:
    """In float64 the network stays undecided on ab and ba, two of the six words."""
    network(mean_of_a())
    written(Path("m.ltl"), "alphabet: a b\n#[a] > #[b]\n")
    of = ("--draws", "500", "--max-n", "2", "--distribution", "uniform")
    given = ("check", "net.json", "--against", "m.ltl", *of, *FLOAT64)
    found = hardsim(*given, "--json", "-").exits(3).result
    accuracy = found["accuracy"]
    assert accuracy["undecided"] > 0 == accuracy["wrong"]
    assert accuracy["right"] + accuracy["undecided"] == 500
    assert accuracy["at_least"] == float(lower_bound(accuracy["right"], 500))
    assert accuracy["distinct"] == 6  # all words, with high probability; the seed fixes it
    # Wrong words do not end the run: all draws are counted.
    written(Path("m.ltl"), "alphabet: a b\n#[a] < #[b]\n")
    accuracy = hardsim(*given, "--json", "-").exits(1).result["accuracy"]
    assert (accuracy["right"], accuracy["at_least"]) == (0, 0)
    assert accuracy["wrong"] + accuracy["undecided"] == 500


def test_draws_of_accepted_words(hardsim: Cli) -> None:
    network(mean_of_a())
    written(Path("m.re"), "alphabet: a b\naa*b?\n")
    of = ("--draws", "50", "--max-n", "9", "--distribution", "positive")
    given = ("check", "net.json", "--against", "m.re", *of, *FLOAT64)
    found = hardsim(*given, "--json", "-").result["accuracy"]
    assert "an accepted word of this length" in found["distribution"]
    assert found["wrong"] == 0 < found["undecided"]  # ab alone is undecided
    assert found["at_least"] == float(lower_bound(found["right"], 50))
    hardsim("check", "majority_rules", "--draws", "5", "--distribution", "positive").refused(
        "--distribution positive draws words that the reference accepts, and"
    )


def test_a_program_measured_on_its_words_has_no_draws(hardsim: Cli) -> None:
    found = hardsim("check", "majority_rules", "--draws", "5", "--epsilon", "1/8")
    found.refused("the temperature of each length is measured on the words that are run", "--tau")


# ---- in Python ----


def test_data_in_python(hardsim: Cli) -> None:
    model = python.load(network(mean_of_a()))
    pairs = {word: excess(word) > 0 for word in WORDS if excess(word)}
    found = model.check(data=pairs).accuracy
    assert found is not None
    assert (found.right, found.total) == (len(pairs), len(pairs))
    assert found.share == 1
    assert model.check(data=data(pairs.items())).accuracy == found
    repeated = model.check(data=[(["a", "a"], True), ("aa", 1), ("b", 1)]).accuracy
    assert repeated is not None
    assert (repeated.right, repeated.wrong, repeated.distinct) == (2, 1, 2)
    drawn = model.check(against=lambda word: excess("".join(word)) > 0, draws=100, max_n=1).accuracy
    assert drawn is not None
    assert drawn.at_least == lower_bound(100, 100)
    assert model.check(against=lambda word: True, words=["a", "aa"]).accuracy is None


def test_mistakes_in_python(hardsim: Cli) -> None:
    model = python.load(network(mean_of_a()))
    with pytest.raises(python.InputError, match=r"data:2:1: error: 'x' is not a symbol"):
        model.check(data=[("a", 1), ("x", 1)])
    with pytest.raises(python.InputError, match="data is empty"):
        model.check(data=[])
    with pytest.raises(python.InputError, match="data and against both give the expected answers"):
        model.check(data={"a": 1}, against=lambda word: True)
    with pytest.raises(python.InputError, match="words, data and draws each choose the words"):
        model.check(data={"a": 1}, words=["a"])
    with pytest.raises(python.InputError, match="distribution needs draws"):
        model.check(against=lambda word: True, distribution="uniform")
    values: list[Any] = [["a"], 7, [("a", 1, 2)]]
    for wrong in values:
        with pytest.raises(TypeError):
            model.check(data=wrong)


def test_long_words_off_a_terminal_are_announced(hardsim: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "LATE", 0.0)
    for least, told in ((4, True), (5, False)):
        monkeypatch.setattr(check, "LONG_WORD", least)
        found = hardsim("check", network(mean_of_a()), "--data", data([("aaab", 1)])).exits(0)
        assert ("net.json: words of up to 4 symbols take long: the time grows with" in found.err) == told
