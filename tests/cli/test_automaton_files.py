"""Tests of automata in files on the command line: written by `show --automaton`, read again by every command that reads
languages, and damaged at random."""

import json
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import hardsim as package
from hardsim.lang.automata.automaton import Automaton, explored
from hardsim.lang.automata.letters import SymbolClasses
from hardsim.lang.valuations import Alphabet, Exclusion, Valuations
from hardsim.targets.inputs.automaton import AutomatonInput
from hardsim.targets.opening import read_input
from hardsim.writing import automata as writing
from hardsim.writing.automata import automaton_text
from tests.cli.conftest import Cli, written
from tests.reading.test_automata import JFLAP, LTLF2DFA, TABLE, random_graph
from tests.support.language import InputError

ALPHABETS: list[tuple[str, ...]] = [
    ("a", "b"),
    ("'", '"', "\\", "a"),
    ("send invoice", "it's", "'q'", "a, b", "a"),
    ("true", "not", "&&", "(", "!a", "a", "0", "1"),
    ("é", "漢", "𝔸", "ε", "λ", "->"),
    ("{}", "{p}", "{q}", "{p,q}"),
    ("{", "}", "[", ";", "\\n", "//", "#"),
    tuple(f"s{k}" for k in range(200)),
]
SETS = [
    Valuations(("p", "q", "open door")),
    Valuations(("p", "true", "0", "it's", "r"), [Exclusion("one-of", ("p", "true", "0"))]),
    Valuations(("p", "q", "r", "s"), [Exclusion("at-most-one", ("p", "q")), Exclusion("at-most-one", ("r", "s"))]),
]


def random_automaton(rng: Random, alphabet: Alphabet) -> Automaton:
    """Return a random automaton over an alphabet; over sets, one with conditions on the propositions."""
    if isinstance(alphabet, Valuations):
        return random_graph(rng, alphabet.props).automaton(alphabet)
    named = rng.sample(alphabet, rng.randrange(1, len(alphabet) + 1))
    letters, states = SymbolClasses.of(alphabet, named), rng.randrange(1, 8)
    rows = [[rng.randrange(states) for _ in letters.firsts] for _ in range(states)]
    accepting = {state for state in range(states) if rng.random() < 0.4}
    return explored(letters, 0, rows.__getitem__, accepting.__contains__)


@pytest.mark.parametrize("alphabet", [*ALPHABETS, *SETS], ids=str)
def test_what_is_written_is_read_again(tmp_path: Path, alphabet: Alphabet) -> None:
    rng, path = Random(str(alphabet)), tmp_path / "x"
    single = not isinstance(alphabet, Valuations) and all(len(one) == 1 for one in alphabet)
    for _ in range(8):
        automaton = random_automaton(rng, alphabet)
        for form in ("dot", "json", *(["jff"] if single else [])):
            name = path.with_suffix(f".{form}")
            name.write_text(automaton_text(automaton, form, "x"), encoding="utf-8")  # type: ignore[arg-type]  # of a list
            found = read_input(str(name))
            assert isinstance(found, AutomatonInput)
            expected = tuple(alphabet) if form == "json" else alphabet
            assert set(found.alphabet) == set(expected)
            assert form == "jff" or found.alphabet == expected
            assert len(found.automaton.moves) == len(automaton.moves)
            assert found.automaton.over(alphabet).difference(automaton) is None


@pytest.mark.parametrize("form", ["dot", "json", "jff"])
@pytest.mark.parametrize("name", ["since", "flipflop.ltl", "tomita_4.re", "dwyer_response.ltl"])
def test_show_writes_what_equiv_finds_equal(hardsim: Cli, tmp_path: Path, form: str, name: str) -> None:
    path = tmp_path / f"a.{form}"
    outcome = hardsim("show", name, "--automaton", form, "-o", path)
    if form == "jff" and name.startswith("dwyer"):
        outcome.refused("the symbols of JFLAP are single characters, and 'request' has 7", "--automaton dot")
        return
    outcome.exits(0).prints(f"{name} -> {path}: minimal automaton of ")
    hardsim("equiv", name, path).exits(0, "PROVED")
    streamed = hardsim("show", name, "--automaton", form).exits(0)
    assert streamed.out == path.read_text(encoding="utf-8")


def test_the_document_says_what_was_written(hardsim: Cli, tmp_path: Path) -> None:
    found = hardsim("show", "since", "--automaton", "dot", "-o", tmp_path / "a.dot", "--json", "-").json["results"]
    assert [(one["format"], one["states"], one["kind"]) for one in found] == [("dot", 2, "ltl")]
    hardsim("show", "since", "--automaton", "dot", "--json", "-").refused("both write to standard output")


def test_the_library_s_form(hardsim: Cli) -> None:
    """The arguments of automata-lib's DFA: complete, with a row for each state."""
    found = json.loads(hardsim("show", "tomita_4.re", "--automaton", "json").exits(0).out)
    assert sorted(found) == ["final_states", "initial_state", "input_symbols", "states", "transitions"]
    assert found["states"] == [*found["transitions"]]
    for row in found["transitions"].values():
        assert sorted(row) == sorted(found["input_symbols"])
        assert {*row.values()} <= {*found["states"]}


def test_what_is_not_written(hardsim: Cli, tmp_path: Path) -> None:
    hardsim("show", "majority", "--automaton", "dot").refused("it compares counts that can both grow", code=3)
    hardsim("show", "since", "--automaton", "hoa").refused("unknown automaton format 'hoa'", "HOA speaks of infinite")
    hardsim("show", "since", "-o", tmp_path / "x").refused("-o is for the automaton that --automaton writes")
    hardsim("show", "since", "dyck1", "--automaton", "dot").refused("one file holds one automaton")
    many = ["show", "-e", "O p0", "--props", " ".join(f"p{k}" for k in range(20))]
    hardsim(*many, "--automaton", "json").refused("1,048,576 sets of propositions", "--automaton dot")
    assert 'label="p0"' in hardsim(*many, "--automaton", "dot").exits(0).out
    hardsim("show", "networks/flipflop", "--automaton", "dot").exits(2)


def test_conditions_that_grow_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "LONGEST_LABEL", 20)
    automaton = random_graph(Random(3), SETS[2].props).automaton(SETS[2])
    parity = package.load("(p ^ q ^ r ^ s)", props="p q r s")
    with pytest.raises(InputError, match="the condition of an edge has more than 20 characters"):
        automaton_text(parity._input.semantics().automaton, "dot", "x")
    monkeypatch.setattr(writing, "MOST_TRANSITIONS", 3)
    with pytest.raises(InputError, match="this format lists every transition"):
        automaton_text(automaton, "json", "x")


def test_show_has_the_size_of_the_automaton(hardsim: Cli) -> None:
    """`a S b` remembers one truth value: two states."""
    hardsim("show", "since").exits(0).prints("automaton    minimal, 2 states")
    result = hardsim("show", "since", "--json", "-").result
    assert result["automaton"] == {"states": 2, "reason": None}
    result = hardsim("show", "majority", "--json", "-").result
    assert result["automaton"]["states"] is None
    assert "compares counts" in result["automaton"]["reason"]
    assert hardsim("show", "flipflop.srasp", "--json", "-").result["automaton"] is None


def test_the_size_of_a_large_automaton_is_not_computed(hardsim: Cli) -> None:
    """The twelfth symbol from the end: 4,096 states."""
    result = hardsim("show", "-e", "Y[12] a", "--alphabet", "a b", "--json", "-").result
    assert result["automaton"]["states"] is None
    assert "takes long; --automaton dot writes it" in result["automaton"]["reason"]


# ---- every command that reads languages ----


@pytest.mark.parametrize(("name", "text"), [("x.dot", LTLF2DFA), ("x.json", json.dumps(TABLE)), ("x.jff", JFLAP)])
def test_every_command_reads_them(hardsim: Cli, tmp_path: Path, name: str, text: str) -> None:
    path = written(tmp_path / name, text)
    word = {"x.dot": "{}{b}", "x.json": "abab", "x.jff": "ba"}[name]
    hardsim("show", path, "--max-n", "3").exits(0).prints("minimal, ", "a word begins in state 1")
    assert word in hardsim("words", path, "--max-n", "4").exits(0).out.split()
    hardsim("eval", path, word).exits(0)
    hardsim("equiv", path, path, "--max-n", "3").exits(0, "PROVED")
    hardsim("check", path).refused("an automaton only says which words are accepted", "hardsim words")
    model = package.load(path)
    assert (model.kind, model.network) == ("automaton", None)
    assert word in {"".join(one) for one in model.words(max_n=4).accepted}


def test_they_are_references(hardsim: Cli, tmp_path: Path) -> None:
    """Words that end in a: the formula a, read at the last position; and b U a as LTLf2DFA writes it."""
    path = written(tmp_path / "x.jff", JFLAP)
    hardsim("check", "-e", "a", "--alphabet", "a b", "--against", path, "--max-n", "4").exits(0, "CERTIFIED")
    hardsim("check", "-e", "b", "--alphabet", "a b", "--against", path, "--max-n", "4").exits(1, "REFUTED")
    drawn = written(tmp_path / "u.dot", LTLF2DFA)
    formula = written(tmp_path / "u.ltl", "props: a b\nat: first\n(!a & !b) U (!a & b)\n")
    hardsim("equiv", drawn, formula).exits(0, "PROVED")
    # a drawing without declarations takes the alphabet of the other file
    text = "digraph { i -> 1; 1 -> 1 [label=a]; 1 [shape=doublecircle] }"
    other = written(tmp_path / "o.re", "alphabet: a b c\na*\n")
    hardsim("equiv", written(tmp_path / "o.dot", text), other).exits(0, "PROVED")


# ---- damage ----

PIECES = [
    '"',
    "{",
    "}",
    "[",
    "]",
    "->",
    "=",
    ";",
    "<",
    ">",
    "&",
    "\\",
    "label",
    "\0",
    "é",
    "(",
    "!",
    ":",
    ",",
    "digraph",
    "null",
    "1e999",
    "</",
    "&lt;",
    "<![CDATA[",
    "<!DOCTYPE",
    "\n",
    "'",
    "ε",
    "/*",
    "+",
    "subgraph",
]


@pytest.mark.parametrize(("name", "text"), [("x.dot", LTLF2DFA), ("x.json", json.dumps(TABLE)), ("x.jff", JFLAP)])
@pytest.mark.parametrize("seed", range(8))
def test_damaged_files_are_errors_with_the_name_of_the_file(tmp_path: Path, name: str, text: str, seed: int) -> None:
    rng, path = Random(f"{name}/{seed}"), tmp_path / name
    for _ in range(50):
        damaged = text
        for _ in range(rng.randrange(1, 4)):
            at, width = rng.randrange(len(damaged)), rng.choice([0, 0, 1, 2, 10])
            damaged = damaged[:at] + rng.choice(["", *PIECES]) + damaged[at + width :]
        data = damaged.encode("utf-8")
        if rng.random() < 0.1:
            data = data[: rng.randrange(len(data))] + b"\xff" + data[rng.randrange(len(data)) :]
        path.write_bytes(data)
        with suppress(InputError):
            read_input(str(path))
            continue
        with pytest.raises(InputError, match=name):
            read_input(str(path))


def test_deep_and_large_files_end_soon(tmp_path: Path) -> None:
    """None of these may take more than some seconds, or end in a traceback."""
    half = "a" * 10
    texts = {
        "a.dot": "digraph {" + "{" * 10**5,
        "b.dot": 'digraph { i -> 1; 1 -> 1 [label="' + "!" * 10**5 + 'a"] }',
        "c.dot": 'digraph { i -> 1; 1 -> 1 [label="' + " & ".join([half] * 10**4) + ', b"]; 1 [shape=doublecircle] }',
        "d.dot": "digraph { {" + " ".join(f"n{k}" for k in range(3000)) + "} -> {" + " ".join(
            f"m{k}" for k in range(3000)) + "} }",
        "e.jff": "<structure>" + "<a>" * 10**5,
        "f.json": '{"states": ' + "[" * 10**5 + ', "transitions": 1, "alphabet": 1}',
    }  # fmt: skip
    for name, text in texts.items():
        path = written(tmp_path / name, text)
        if name == "c.dot":
            assert isinstance(read_input(str(path)), AutomatonInput)
            continue
        with pytest.raises(InputError):
            read_input(str(path))
