"""Tests of regular expressions on the command line, alone and as references: `--against` and `equiv`."""

from pathlib import Path

import pytest

import hardsim as package
from tests.cli.conftest import Cli, interrupt, written
from tests.support.language import InputError, Unsupported, formulas_directory

ORACLE_ALONE = "a regular expression only says which words are accepted: it is not compiled into a network"


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    """A file with the language of alternating a and b, like the shipped ab_plus."""
    return written(tmp_path / "turns.re", "// turns\nalphabet: a b\naccept: ab\nreject: ba\n(ab)+\n")


@pytest.fixture
def ending(tmp_path: Path) -> Path:
    """A file with the language of words that end in b, whose alphabet is in the other order."""
    return written(tmp_path / "ending.re", "alphabet: b a\n.*b\n")


# ---- an expression alone ----


@pytest.mark.parametrize("path", sorted(formulas_directory().glob("*.re")), ids=lambda path: path.name)
def test_what_is_shipped_says_what_the_formula_of_its_name_says(hardsim: Cli, path: Path) -> None:
    hardsim("equiv", path.stem, path.name).exits(0, "PROVED")
    assert hardsim("examples", path.name).clean().out == path.read_text(encoding="utf-8")


def test_words_are_listed_in_order(hardsim: Cli, ending: Path) -> None:
    assert hardsim("words", ending, "--max-n", "3").clean().out.split() == [
        "b", "bb", "ab", "bbb", "bab", "abb", "aab"
    ]  # fmt: skip
    result = hardsim("words", ending, "--max-n", "2", "--json", "-").result
    assert (result["accepted"], result["kind"], result["model"]) == ([["b"], ["b", "b"], ["a", "b"]], "re", None)
    assert result["tried"] == 3


def test_show_prints_the_minimal_automaton_and_counts_its_words(hardsim: Cli, ending: Path) -> None:
    # Half of the words of each length end in b.
    found = hardsim("show", ending, "--max-n", "40").clean().out
    assert "alphabet  b a" in found
    assert "minimal, 2 states" in found
    table = [line.split() for line in found.splitlines() if line.strip()[:1].isdigit()]
    assert table[:2] == [["1", "no", "2", "1"], ["2", "yes", "2", "1"]]
    counted = [*range(1, 13), 40]
    assert table[2:] == [[str(n), f"{2 ** (n - 1):,}" if n < 40 else "about", *["10^11"] * (n == 40)] for n in counted]
    result = hardsim("show", ending, "--json", "-").result
    assert result["states"][0] == {"state": 1, "accepting": False, "after": [2, 1]}
    assert [one["words"]["exact"] for one in result["counts"]] == [str(2 ** (n - 1)) for n in range(1, 65)]


def test_show_names_the_symbols_that_an_expression_does_not_tell_apart(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "sets.re", "props: p q r\n.*{p,q}\n")
    result = hardsim("show", path, "--max-n", "2", "--json", "-").result
    assert result["letters"] == ["any other", "{p,q}"]
    assert [one["words"]["value"] for one in result["counts"]] == [1, 8]
    assert "--regime: for networks" in hardsim("show", path, "--regime", "position").exits(0).err


def test_few_long_words_are_listed(hardsim: Cli, turns: Path) -> None:
    """Twenty of the 2^41 words up to length 40 are in the language."""
    lines = hardsim("words", turns, "--max-n", "40").clean().out.split()
    assert lines == ["ab" * k for k in range(1, 21)]
    assert package.load(turns).words(max_n=40).accepted == tuple(tuple(line) for line in lines)


def test_words_are_counted_before_they_are_listed(hardsim: Cli, ending: Path) -> None:
    # 1 + 2 + 4 + 8
    hardsim("words", ending, "--exhaustive", "14").refused("15 words to length 4, and at most 14 are listed")
    assert len(hardsim("words", ending, "--max-n", "4", "--exhaustive", "15").clean().out.split()) == 15


@pytest.mark.parametrize("by", ["hard", "soft"])
def test_there_is_no_network_to_list_words_by(hardsim: Cli, turns: Path, by: str) -> None:
    hardsim("words", turns, "--by", by).refused(ORACLE_ALONE)


def test_eval_says_what_matches(hardsim: Cli, turns: Path) -> None:
    outcome = hardsim("eval", turns, "abab", "ba").clean("semantics alone")
    assert [line.split() for line in outcome.out.splitlines()[-2:]] == [["accept", "abab"], ["reject", "ba"]]
    document = hardsim("eval", turns, "ab", "ba", "--json", "-").json
    (result,) = document["results"]
    assert (document["exit_code"], document["errors"]) == (0, [])
    assert [(one["word"], one["oracle"]) for one in result["words"]] == [(["a", "b"], True), (["b", "a"], False)]
    hardsim("eval", turns, "abc").exits(2).says("'c' is not a symbol of the alphabet")


@pytest.mark.parametrize("command", ["check", "prove", "bound", ("compile", "-o", "-"), ("check", "-q")])
def test_what_needs_a_network_is_refused(hardsim: Cli, turns: Path, command: str | tuple[str, ...]) -> None:
    name, *options = [command] if isinstance(command, str) else command
    advice = f"hardsim check FILE --against {turns}"
    hardsim(name, turns, *options).refused(f"{turns}:5:1: error: {ORACLE_ALONE}", "  (ab)+\n  ^^^^^\n", advice)


def test_a_directory_stands_for_what_can_be_checked(hardsim: Cli, turns: Path, since: Path) -> None:
    assert hardsim("check", turns.parent, "--max-n", "2", "--json", "-").result["input"] == str(since)


@pytest.mark.parametrize("command", ["words", "show", ("eval", "ab"), ("equiv", "ab_plus"), "fmt"])
@pytest.mark.parametrize("expression", ["(a+b)*", "a+ b", "(a|b)+a", "ba + ab", "a.b"])
def test_a_sign_that_tools_read_in_two_ways_is_refused(
    hardsim: Cli, tmp_path: Path, expression: str, command: str | tuple[str, ...]
) -> None:
    path = written(tmp_path / "two.re", f"alphabet: a b\n{expression}\n")
    name, *others = [command] if isinstance(command, str) else command
    operands = [others[0], path] if name == "equiv" else [path, *others]
    choice = "dot: any or dot: concatenation" if "." in expression else "plus: union or plus: repeat"
    outcome = hardsim(name, *operands).exits(2)
    outcome.says(f"{path}:2:", "in programming", f"or choose in the header: {choice}")
    assert outcome.out == ""
    with pytest.raises(InputError, match=choice):
        package.load(path)


def test_the_header_chooses(hardsim: Cli, tmp_path: Path) -> None:
    for header, words in (("plus: union", ["a", "aa", "ba"]), ("plus: repeat", ["a", "aba"])):
        path = written(tmp_path / "chosen.re", f"alphabet: a b\n{header}\n(a+b)*a\n")
        # Of the 14 words to length 3, the union contains all 7 that end in a.
        found = ["".join(word) for word in package.load(path).words(max_n=3).accepted]
        expected = words if header.endswith("repeat") else [*words, "aaa", "aba", "baa", "bba"]
        assert found == expected
        assert hardsim("words", path, "--max-n", "3").clean().out.split() == expected
        hardsim("fmt", path, "--write").exits(0)
        assert [*package.load(path).words(max_n=3).accepted] == [tuple(word) for word in expected]


def test_it_is_opened_in_python(turns: Path) -> None:
    found = package.load(turns)
    assert (found.kind, found.title, found.alphabet, found.network) == ("re", "turns", ("a", "b"), None)
    for ask in (found.check, found.prove, found.compile, found.bound):
        with pytest.raises(Unsupported, match=ORACLE_ALONE):
            ask()


# ---- check and eval with --against ----


@pytest.mark.parametrize("name", ["ab_plus.ltl", "ab_plus.srasp"])
def test_a_network_is_checked_against_an_expression(hardsim: Cli, turns: Path, name: str) -> None:
    outcome = hardsim("check", name, "--against", turns, "--max-n", "4").exits(0)
    outcome.prints("CERTIFIED", f"checked against {turns}: all 30 words up to length 4", f"and says nothing of {turns}")
    document = hardsim("check", name, "--against", turns, "--max-n", "4", "--json", "-").json
    (result,) = document["results"]
    assert [one["name"] for one in document["inputs"]] == [str(turns), name]
    assert (result["against"], result["verdict"]) == (str(turns), "CERTIFIED")
    assert [one["accepted"] for one in result["lengths"][:4]] == [0, 1, 0, 1]


@pytest.mark.parametrize("suffix", ["model.json", "ahat.json"])
def test_a_model_is_checked_against_an_expression(hardsim: Cli, turns: Path, ending: Path, suffix: str) -> None:
    model = turns.parent / f"ab.{suffix}"
    hardsim("compile", "ab_plus", "-o", model, *["--hard"] * (suffix == "ahat.json")).clean()
    result = hardsim("check", model, "--against", turns, "--max-n", "4", "--json", "-").result
    assert (result["verdict"], result["mismatch"]) == ("CERTIFIED", None)
    result = hardsim("check", model, "--against", ending, "--max-n", "4", "--json", "-").result
    assert (result["verdict"], result["mismatch"]["word"]) == ("REFUTED", ["b"])


@pytest.mark.parametrize("other", ["ending.re", "ending.ltl", "ending.srasp"])
def test_the_shortest_word_refutes(hardsim: Cli, ending: Path, other: str) -> None:
    written(ending.parent / "ending.ltl", "alphabet: a b\nb\n")
    written(ending.parent / "ending.srasp", "alphabet: a b\nY(i) := Q_b(i)\n")
    path = ending.parent / other
    outcome = hardsim("check", "ab_plus", "--against", path, "--max-n", "4").exits(1)
    lines = outcome.out.splitlines()
    assert lines[lines.index("The shortest mismatching word, on a line of its own:") + 1] == "b"
    command = f"hardsim trace ab_plus b --against {path}"
    assert command in lines
    outcome.prints(
        "REFUTED", f"checked against {path}: hard/oracle disagree on a word of length 1",
        "oracle: accept; hard attention: reject; softmax: reject", f"and {path} disagree: correct one of them",
    )  # fmt: skip
    outcome.lacks("defect of hardsim")
    hardsim(*command.split()[1:]).exits(1, "NO").says("the answers on this word differ")
    assert hardsim(*command.split()[1:], "--json", "-").result["against"] == str(path)


def test_softmax_is_judged_all_the_same(hardsim: Cli, turns: Path) -> None:
    """Plain softmax fails, and the report says this instead of blaming the files."""
    outcome = hardsim("check", "ab_plus", "--regime", "none", "--against", turns).exits(1, "soft/hard", "Hahn's limit")
    outcome.lacks("correct one of them")


def test_an_expression_of_the_command_line_is_checked(hardsim: Cli, ending: Path) -> None:
    hardsim("check", "-e", "b", "--alphabet", "a b", "--against", ending, "--max-n", "3").exits(0, "CERTIFIED")
    outcome = hardsim("check", "-e", "a", "--alphabet", "a b", "--against", ending, "--max-n", "3").exits(1)
    outcome.prints(f"hardsim trace -e a --alphabet 'a b' --against {ending} a")


def test_members_are_tried_where_words_are_drawn(hardsim: Cli, tmp_path: Path) -> None:
    """The language has four words among 4^16, and no example."""
    rare = written(tmp_path / "rare.re", "alphabet: a b c d\n(abcaddbc|dabbacca){2}\n")
    result = hardsim(
        "check", "-e", "false", "--alphabet", "a b c d", "--against", rare, "--max-n", "16", "--exhaustive", "4",
        "--samples", "0", "--json", "-",
    ).result  # fmt: skip
    assert result["verdict"] == "REFUTED"
    assert len(result["mismatch"]["word"]) == 16


def test_examples_of_the_other_file_are_run(hardsim: Cli, tmp_path: Path) -> None:
    other = written(tmp_path / "other.re", f"alphabet: a b\naccept: {'ab' * 9}\n(ab){{9}}|(ab)*b\n")
    result = hardsim("check", "ab_plus", "--against", other, "--max-n", "1", "--json", "-").result
    assert [one["n"] for one in result["lengths"]][-1] == 18


@pytest.mark.slow
def test_workers_and_resumption_know_it(hardsim: Cli, turns: Path, ending: Path) -> None:
    requested = ("check", "ab_plus", "--max-n", "5", "--against", turns)
    alone = hardsim(*requested, "--json", "-").result
    assert hardsim(*requested, "--workers", "2", "--json", "-").result == alone
    kept = turns.parent / "kept.run"
    assert hardsim(*requested, "--resume", kept, "--json", "-").result == alone
    assert hardsim(*requested, "--resume", kept, "--json", "-").result == alone
    hardsim("check", "ab_plus", "--max-n", "5", "--resume", kept).refused("belongs to another request", "--against")
    hardsim(*requested[:-1], ending, "--resume", kept).refused("belongs to another request", "--against")
    written(turns, "alphabet: a b\nab\n")
    hardsim(*requested, "--resume", kept).refused(f"the input {turns} was changed since")
    model = package.load("ab_plus")
    assert model.check(max_n=5, against=written(turns, "alphabet: a b\n(ab)+\n")).to_dict() == alone


@pytest.mark.parametrize("form", ["junit", "github", "sarif"])
def test_other_programs_get_the_difference(hardsim: Cli, ending: Path, form: str) -> None:
    hardsim("check", "ab_plus", "--against", ending, "--max-n", "2", "--format", form).exits(1, "checked against")


def test_it_is_read_where_it_says_itself(hardsim: Cli, tmp_path: Path) -> None:
    """`F b` at the first position is `O b` at the last; --at applies only to the file that is compiled."""
    other = written(tmp_path / "first.ltl", "alphabet: a b\nat: first\nF b\n")
    for at in ("first", "last"):
        requested = ("check", "-e", "(O b & last) | F b & first", "--alphabet", "a b", "--at", at, "--max-n", "4")
        assert hardsim(*requested, "--against", other, "--json", "-").result["verdict"] == "CERTIFIED"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "since", "--against", "turns.re"), "since and turns.re have different alphabets: a b c; a b"),
        (("eval", "since", "a", "--against", "turns.re"), "since and turns.re have different alphabets"),
        (("check", "sort", "--against", "turns.re"), "sort maps words to words, and turns.re says which"),
        (("check", "ab_plus", "--against", "sort.srasp"), "sort.srasp maps words to words"),
        (("check", "counts.srasp", "--against", "turns.re"), "counts.srasp maps words to integers"),
        (("equiv", "turns.re", "counts.srasp"), "counts.srasp maps words to integers"),
        (("check", "ab_plus", "--against", "flipflop.ahat.json"), "flipflop.ahat.json is a hard-attention model"),
        (("check", "ab_plus", "--against", "none.re"), "none.re: no such file"),
        (("check", "turns.re", "--against", "turns.re"), ORACLE_ALONE),
        (("eval", "turns.re", "ab", "--against", "turns.re"), ORACLE_ALONE),
        (("check", "ab_plus.ltl", "--against", "turns.re", "--pin"), "turns.re may disagree"),
        (("check", "ab_plus", "--against", "turns.re", "--require", "proved"), "says nothing of turns.re"),
        (("check", "ab_plus", "--against", "turns.re", "--json", "turns.re"), "--json turns.re"),
        (("check", "ab_plus", "--against", "wrong.re"), "wrong.re:2:1: error: * repeats nothing"),
        (("equiv", "turns.re", "since"), "turns.re and since have different alphabets: a b; a b c"),
        (("equiv", "turns.re", "sort"), "sort maps words to words"),
        (("equiv", "turns.re", "flipflop.ahat.json"), "flipflop.ahat.json is a hard-attention model"),
        (("equiv", "turns.re", "none.re"), "none.re: no such file"),
        (("equiv", "turns.re", "wrong.re"), "wrong.re:2:1: error: * repeats nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(
    hardsim: Cli, turns: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(turns.parent)
    written(turns.parent / "wrong.re", "alphabet: a b\n*a\n")
    written(turns.parent / "counts.srasp", "alphabet: a b\nY(i) := count_j[1, Q_a(j)]\n")
    before = turns.read_text(encoding="utf-8")
    hardsim(*arguments).refused(message)
    assert turns.read_text(encoding="utf-8") == before


def test_equiv_of_python_takes_models_and_paths() -> None:
    with pytest.raises(TypeError, match="equiv takes a model, or a path, not int"):
        package.load("since").equiv(3)  # type: ignore[arg-type]  # the wrong type is what is tested


# ---- equiv ----


def test_expressions_are_the_same_at_every_length(hardsim: Cli, turns: Path) -> None:
    other = written(turns.parent / "other.re", "alphabet: b a\na.*b & !(.*(aa|bb).*)\n")
    hardsim("equiv", turns, other).clean("PROVED", "every word of every length")
    assert package.load(turns).equiv(other).verdict == "PROVED"


def test_a_difference_exits_with_1(hardsim: Cli, turns: Path, ending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(turns.parent)
    outcome = hardsim("equiv", "turns.re", "ending.re").clean("a word of length 1, the shortest", code=1)
    assert outcome.out.splitlines()[0] == "REFUTED  turns.re, ending.re"
    assert outcome.out.splitlines()[2:] == [
        "The word, on a line of its own:", "b", "  turns.re: reject", "  ending.re: accept"
    ]  # fmt: skip
    result = hardsim("equiv", turns, ending, "--json", "-").result
    assert (result["word"], result["answer"], result["other_answer"]) == (["b"], False, True)
    assert package.load(turns).equiv(ending).to_dict() == result


def test_undecided_exits_with_3(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.lang.automata.automaton.MAX_PAIRS", 10)
    files = [written(tmp_path / f"{n}.re", f"alphabet: a\na{{{n}}}\n") for n in (40, 41)]
    hardsim("equiv", *files).clean("UNDECIDED", "agree up to length 10", "more than 10 pairs of states", code=3)


def test_an_interruption_leaves_a_partial_report(hardsim: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "hardsim.targets.semantics.Runs.many", after=2)
    outcome = hardsim("equiv", "ab_plus", "ab_plus.srasp", "--json", "-")
    assert (outcome.code, outcome.result["partial"], len(outcome.result["lengths"])) == (130, True, 2)
    outcome.says("interrupted: the comparison is partial")


def test_options_decide_what_is_tried(hardsim: Cli, turns: Path) -> None:
    requested = ("equiv", "ab_plus.srasp", turns, "--max-n", "9", "--exhaustive", "16", "--samples", "5", "--seed", "3")
    result = hardsim(*requested, "--json", "-").result
    assert [one["exhaustive"] for one in result["lengths"]] == [True] * 4 + [False] * 5
    assert package.load("ab_plus.srasp").equiv(turns, max_n=9, exhaustive=16, samples=5, seed=3).to_dict() == result


# ---- propositions ----


def test_words_are_printed_in_the_order_of_the_first_file(hardsim: Cli, tmp_path: Path) -> None:
    one = written(tmp_path / "one.ltl", "props: p q\naccept: {p}{q,p}\np & q\n")
    two = written(tmp_path / "two.re", "props: q p\naccept: {p,q}{q}\n.*{q}|{p,q}\n")
    for first, second, word in ((one, two, "{q}"), (two, one, "{q}")):
        assert hardsim("equiv", first, second, "--json", "-").exits(1).result["word"] == [word]
    same = written(tmp_path / "same.re", "props: q p\n.*{p,q}\n")
    worse = written(tmp_path / "worse.re", "props: q p\n.*{p,q}&!({q,p}{p})&!(.{2}{p,q})\n")
    hardsim("equiv", one, same).exits(0, "PROVED")
    assert hardsim("equiv", same, worse).exits(1).out.splitlines()[3:4] == ["{}{}{q,p}"]
    assert "{}{}{p,q}" in hardsim("equiv", one, worse).exits(1).out.splitlines()
    hardsim("check", one, "--against", same, "--max-n", "3").exits(0, "CERTIFIED")
    shown = hardsim("check", one, "--against", worse, "--max-n", "3").exits(1, "REFUTED")
    assert "{}{}{p,q}" in shown.out.splitlines()


def test_an_expression_over_sets(hardsim: Cli, tmp_path: Path) -> None:
    many = " ".join(f"p{k}" for k in range(58))
    big = written(tmp_path / "big.re", f"props: {many}\n.*{{p1,p3}}{{2}}\n")
    assert hardsim("words", big, "--max-n", "2").clean().out.split() == ["{p1,p3}{p1,p3}"]
    listed = "to length 3, and at most 100,000 are listed"
    hardsim("words", big, "--max-n", "3").refused(listed, "Give --max-n below 3.")
    hardsim("eval", big, "{}{p3,p1}{p1,p3}").clean("accept")
    hardsim("equiv", big, big).exits(0, "PROVED")
    bare = written(tmp_path / "bare.re", "({p}+){p,q}\n")
    assert hardsim("words", bare, "--max-n", "3", "--props", "auto").clean().out.split() == ["{p}{p,q}", "{p}{p}{p,q}"]
    hardsim("words", bare).refused("missing alphabet")


@pytest.mark.parametrize(
    ("text", "message"), [("alphabet: a b\na(\n", "this bracket is never closed"), (None, "no such file")]
)
@pytest.mark.parametrize("command", [("check", "ab_plus"), ("eval", "ab_plus", "ab")])
def test_a_mistake_in_a_reference_is_bad_input(
    hardsim: Cli, tmp_path: Path, text: str | None, message: str, command: tuple[str, ...]
) -> None:
    other = tmp_path / "other.re" if text is None else written(tmp_path / "other.re", text)
    outcome = hardsim(*command, "--against", other, "--json", "-").exits(2)
    document = outcome.json
    assert (document["exit_code"], document["results"]) == (2, [])
    (error,) = document["errors"]
    assert (error["input"], error["exit_code"]) == (str(other), 2)
    assert message in error["message"]
    outcome.says(str(other), message)


def test_what_declares_no_alphabet_has_that_of_the_reference(hardsim: Cli, tmp_path: Path) -> None:
    """Only a occurs in the program; without the reference's alphabet the alphabets would differ."""
    program = written(tmp_path / "last.cr", 'L = "a"\n')
    formula = written(tmp_path / "last.ltl", "alphabet: b a\na\n")
    external = written(tmp_path / "foreign.ltl", "alphabet: b c\nb\n")
    hardsim("check", formula, "--against", program, "--max-n", "3").exits(0, "all 14 words up to length 3")
    hardsim("equiv", formula, program).exits(0, "PROVED")
    hardsim("equiv", program, formula).exits(0, "PROVED")
    expression = ("check", "-e", "O a", "--alphabet", "a b", "--max-n", "2", "--against", program)
    assert hardsim(*expression, "--json", "-").exits(1).result["mismatch"]["word"] == ["a", "b"]
    document = hardsim("check", formula, external, "--against", program, "--max-n", "3", "--json", "-").exits(2).json
    assert [one["verdict"] for one in document["results"]] == ["CERTIFIED"]
    assert [one["input"] for one in document["errors"]] == [str(external)]
    hardsim("equiv", program, external).exits(2)
    found = package.load(formula).check(max_n=3, against=program)
    assert (found.verdict, found.against) == ("CERTIFIED", str(program))


def test_a_formula_alone_has_the_propositions_of_the_reference(hardsim: Cli, tmp_path: Path) -> None:
    bare, other = written(tmp_path / "bare.ltl", "p\n"), written(tmp_path / "other.re", ".*[{p}{p,q}]\n")
    header = written(tmp_path / "header.ltl", "props: q p\np\n")
    hardsim("check", header, "--against", bare, "--max-n", "2").exits(0, "all 20 words up to length 2")
    hardsim("check", header, "--against", other, "--max-n", "2").exits(0, "all 20 words up to length 2")
    hardsim("equiv", bare, header).exits(0, "PROVED")
    hardsim("equiv", header, other).exits(0, "PROVED")
    hardsim("check", bare, "--props", "auto", "--against", other).refused("unknown proposition 'q'")
    hardsim("check", bare, "--props", "auto", "--against", bare, "--max-n", "2").exits(0, "all 6 words")
    hardsim("equiv", bare, other).refused("missing alphabet")
    constrained = written(tmp_path / "constrained.ltl", "props: p q\none-of: p q\np\n")
    hardsim("check", constrained, "--against", bare, "--max-n", "2").exits(0, "all 6 words up to length 2")
    many = " ".join(f"p{k}" for k in range(58))
    big = written(tmp_path / "big.ltl", f"props: {many}\np1\n")
    hardsim("check", big, "--against", written(tmp_path / "p1.ltl", "p1\n"), "--max-n", "2").exits(0, "CERTIFIED")
    program = written(tmp_path / "set.cr", 'L = "{p1}"\n')
    hardsim("check", big, "--against", program).refused("have different alphabets")


@pytest.mark.parametrize("command", [("words", "--max-n", "2"), ("eval", "ab")])
def test_options_of_networks_are_reported_as_unused(hardsim: Cli, turns: Path, command: tuple[str, ...]) -> None:
    name, *rest = command
    words, options = ([], rest) if name == "words" else (rest, [])
    outcome = hardsim(name, turns, *words, *options, "--regime", "position", "--tau", "1/n", "--single-head")
    outcome.exits(0).says("--regime, --tau, --single-head: for networks and formulas", "has no network")
    assert "for networks" not in hardsim(name, turns, *words, *options).exits(0).err


def test_equiv_says_nothing_of_networks(hardsim: Cli, tmp_path: Path) -> None:
    # total is twice the number of a's up to position i, beyond the range [-n, n] of a network
    text = "two(i) := Q_a(i) ? 2 : 0\ntotal(i) := psum_j[j <= i] two(j)\nY(i) := total(i) > 2\n"
    program = written(tmp_path / "far.srasp", f"alphabet: a b\n{text}")
    twice = written(tmp_path / "twice.re", "alphabet: a b\n.*a.*a.*\n")
    hardsim("equiv", program, twice, "--max-n", "4").clean()
    assert "may leave [-n, n]" in hardsim("check", program, "--max-n", "1").err
