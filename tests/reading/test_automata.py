"""Tests of automata in the files of other tools: their languages, derived by hand or by an independent run of the
nondeterministic automaton, and their errors."""

import json
from itertools import product
from pathlib import Path
from random import Random

import pytest

from hardsim.lang.valuations import Valuations
from hardsim.reading.automata import graph as graphs
from hardsim.reading.automata.graph import Condition, StateGraph
from hardsim.targets.inputs.automaton import AutomatonInput
from hardsim.targets.opening import declares, read_input
from tests.support.language import InputError, SourceError

LTLF2DFA = """digraph MONA_DFA {
 rankdir = LR;
 center = true;
 size = "7.5,10.5";
 edge [fontname = Courier];
 node [height = .5, width = .5];
 node [shape = doublecircle]; 3;
 node [shape = circle]; 1; 2;
 init [shape = plaintext, label = ""];
 init -> 1;
 1 -> 1 [label="~a & ~b"];
 1 -> 2 [label="a"];
 1 -> 3 [label="~a & b"];
 2 -> 2 [label="true"];
 3 -> 3 [label="true"];
}
"""
"""Some b, and no a up to it."""
TABLE = {
    "states": ["1", "2", "3"],
    "input_symbols": ["a", "b"],
    "transitions": {"1": {"a": "2"}, "2": {"b": "1"}, "3": {}},
    "initial_state": "1",
    "final_states": ["1"],
}
"""Repetitions of ab."""
JFLAP = """<?xml version="1.0" encoding="UTF-8" standalone="no"?><!--Created with JFLAP 6.4.--><structure>
  <type>fa</type>
  <automaton>
    <state id="0" name="q0"><x>80.0</x><y>90.0</y><initial/></state>
    <state id="7" name="q1"><x>180.0</x><y>90.0</y><final/></state>
    <transition><from>0</from><to>0</to><read>a</read></transition>
    <transition><from>0</from><to>0</to><read>b</read></transition>
    <transition><from>0</from><to>7</to><read>a</read></transition>
    <transition><from>7</from><to>0</to><read/></transition>
  </automaton>
</structure>
"""
"""The words that end in a: nondeterministic, with a transition that reads nothing."""


def opened(folder: Path, name: str, text: str, props: str | None = None, alphabet: str | None = None) -> AutomatonInput:
    """Return the input of a file with this name and text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    found = read_input(str(path), props, alphabet)
    assert isinstance(found, AutomatonInput)
    return found


def accepted(found: AutomatonInput, n: int) -> set[str]:
    """Return the accepted words of one length, as texts."""
    return {"".join(word) for word in found.automaton.words(n)}


# ---- what is read ----


def test_a_drawing_of_ltlf2dfa_is_over_propositions(tmp_path: Path) -> None:
    found = opened(tmp_path, "u.dot", LTLF2DFA)
    assert found.alphabet == Valuations(("a", "b"))
    for n in (1, 2, 3):
        sets = ["{}", "{a}", "{b}", "{a,b}"]
        until = {word for word in product(sets, repeat=n) if "{b}" in word and all(
            one == "{}" for one in word[: word.index("{b}")])}  # fmt: skip
        assert set(found.automaton.words(n)) == until
    assert len(found.automaton.moves) == 3


def test_labels_without_connectives_are_symbols(tmp_path: Path) -> None:
    """The field case: a, then any number of b."""
    text = 'digraph dfa { rankdir=LR; 0 -> 1 [label="a"]; 1 -> 1 [label="b"]; 1 [shape=doublecircle]; }'
    found = opened(tmp_path, "ab.dot", text)
    assert found.alphabet == ("a", "b")
    assert [accepted(found, n) for n in (1, 2, 3)] == [{"a"}, {"ab"}, {"abb"}]
    assert any("labels are symbols: a b" in note for note in found.notes)
    assert any("no start state is marked: it is '0'" in note for note in found.notes)
    # as propositions: a holds at first, then b
    found = opened(tmp_path, "ab.dot", text, props="auto")
    assert accepted(found, 1) == {"{a}", "{a,b}"}
    assert len(accepted(found, 2)) == 4
    found = opened(tmp_path, "ab.dot", text, alphabet="c b a")
    assert (found.alphabet, accepted(found, 2)) == (("c", "b", "a"), {"ab"})
    assert opened(tmp_path, "ab", text).alphabet == ("a", "b")  # by its content


@pytest.mark.parametrize(
    ("label", "symbols"),
    [
        ("a, c", "ac"),
        ("a\\nc", "ac"),
        ("!a", "bcd"),
        ("true", "abcd"),
        ("a | b & !b", "a"),
        ("a ^ b", "ab"),
        ("not (a or b) and !c", "d"),
        ("a -> b", "bcd"),
        ("(a -> b) -> c", "ac"),
        ("a -> (b -> c)", "abcd"),
        ("a -> b <-> b -> c", "cd"),
        ("(a ^ b) | c", "abc"),
        ("a ^ (a | b)", "b"),
        ("a ^ b ^ c -> a | b | c", "abcd"),
        ("a | b, a ^ c", "abc"),
        ("a <-> b", "cd"),
        ("'a', \\\"b\\\"", "ab"),
        ("~(a || b) && true", "cd"),
        ("!a,\\nb", "bcd"),
        ("a &\\n!b", "a"),
        ("¬a ∧ ¬b ∨ ⊥", "cd"),
        ("false", ""),
        ("a /\\\\ b \\\\/ c", "c"),
    ],
)
def test_labels_over_given_symbols(tmp_path: Path, label: str, symbols: str) -> None:
    """A position has exactly one symbol, so a & b never holds."""
    text = f'digraph {{ i -> 1; 1 -> 2 [label="{label}"]; 2 [peripheries=2]; }}'
    assert accepted(opened(tmp_path, "x.gv", text, alphabet="a b c d"), 1) == set(symbols)


def test_attributes_declare_the_alphabet(tmp_path: Path) -> None:
    text = 'digraph { alphabet="a b (" ; i -> 1; 1 -> 2 [label="("]; 2 [shape=doublecircle] }'
    found = opened(tmp_path, "x.dot", text)
    assert (found.alphabet, accepted(found, 1)) == (("a", "b", "("), {"("})
    text = 'digraph { graph [props="p q r", "one-of"="q r"]; i -> 1; 1 -> 2 [label=p]; 2 [shape=doublecircle] }'
    found = opened(tmp_path, "x.dot", text)
    assert accepted(found, 1) == {"{p,q}", "{p,r}"}
    assert declares(str(tmp_path / "x.dot"))
    with pytest.raises(SourceError, match="--alphabet gives symbols, and this file has propositions"):
        opened(tmp_path, "x.dot", text, alphabet="a b")


def test_defaults_subgraphs_ports_and_chains(tmp_path: Path) -> None:
    """Nodes that are named while a default holds have it; x and y lead to z by a, and z accepts after b."""
    text = """/* made by hand */ strict digraph "G" {
    # a comment
    node [shape=doublecircle] z; node [shape=circle];
    start [shape=point]; edge [label=a]
    start -> x [label=""];
    x -> {y; w} -> z:n:sw [weight=2]; subgraph cluster { node [shape=doublecircle]; "in" + "ner" }
    z -> "inner" [label=b]
    } // end"""
    found = opened(tmp_path, "x.dot", text)
    assert [accepted(found, n) for n in (1, 2, 3, 4)] == [set(), {"aa"}, {"aab"}, set()]


def test_several_starts_and_edges_that_read_nothing(tmp_path: Path) -> None:
    text = 'digraph { i -> {1 2}; 1 -> 3 [label=a]; 2 -> 3 [label=b]; 3 -> 4 [label="ε"]; 4 [shape=doublecircle] }'
    assert accepted(opened(tmp_path, "x.dot", text), 1) == {"a", "b"}


def test_tables_of_automata_lib(tmp_path: Path) -> None:
    found = opened(tmp_path, "x.json", json.dumps(TABLE))
    assert [accepted(found, n) for n in (1, 2, 3, 4)] == [set(), {"ab"}, set(), {"abab"}]
    # nondeterministic: the third symbol from the end is a
    moves = {"0": {"a": ["0", "1"], "b": ["0"]}, "1": {"a": ["2"], "b": ["2"]}, "2": {"a": ["3"], "b": ["3"]}, "3": {}}
    nondeterministic = TABLE | {
        "states": [0, 1, 2, 3], "transitions": moves, "initial_state": 0, "final_states": [3],
    }  # fmt: skip
    found = opened(tmp_path, "x.json", json.dumps(nondeterministic))
    assert accepted(found, 3) == {"".join(word) for word in product("ab", repeat=3) if word[0] == "a"}
    assert len(found.automaton.moves) == 8
    silent = TABLE | {"transitions": {"1": {"": ["2"]}, "2": {"b": ["3"]}, "3": {}}, "final_states": ["3"]}
    assert accepted(opened(tmp_path, "x.json", json.dumps(silent)), 1) == {"b"}
    rows = [{"from": "1", "symbol": "a", "to": "2"}, {"from": "2", "symbol": "b", "to": "1"}]
    listed = {"states": ["1", "2"], "alphabet": ["a", "b"], "transitions": rows, "initial": "1", "accepting": ["1"]}
    assert accepted(opened(tmp_path, "x.json", json.dumps(listed)), 4) == {"abab"}


def test_files_of_jflap(tmp_path: Path) -> None:
    found = opened(tmp_path, "x.jff", JFLAP)
    assert accepted(found, 3) == {"".join(word) for word in product("ab", repeat=3) if word[-1] == "a"}
    assert len(found.automaton.moves) == 2
    # JFLAP reads a longer text character by character
    text = JFLAP.replace("<read>b</read>", "<read>bc</read>")
    assert accepted(opened(tmp_path, "x.jff", text), 3) == {"aaa", "bca"}
    found = opened(tmp_path, "x.jff", text, alphabet="a bc")
    assert set(found.automaton.words(2)) == {("a", "a"), ("bc", "a")}


# ---- against an independent run ----


def run(graph: StateGraph, word: tuple[str, ...], holds: dict[str, frozenset[str]]) -> bool:
    """Return True if the graph accepts a word: its states are followed one symbol at a time, without letters."""

    def closed(places: set[int]) -> set[int]:
        while more := {t for s, guard, t in graph.edges if guard is None and s in places} - places:
            places |= more
        return places

    def fits(one: Condition, symbol: str) -> bool:
        values = [fits(part, symbol) for part in one.args]
        match one.sign:
            case "":
                return one.name in holds[symbol] if one.name else one.truth
            case "!":
                return not values[0]
            case "&":
                return all(values)
            case "|":
                return any(values)
        return sum(values) % 2 == 1

    places = closed(set(graph.starts))
    for symbol in word:
        steps = {
            t for s, guard, t in graph.edges
            if guard is not None and s in places and fits(graph.guards[guard], symbol)
        }  # fmt: skip
        places = closed(steps)
    return not places.isdisjoint(graph.accepting)


def random_graph(rng: Random, names: tuple[str, ...]) -> StateGraph:
    """Return a graph of up to five states with random guards over some names."""

    def guard(depth: int) -> Condition:
        sign = rng.choice(["", "", "!", "&", "|", "^"]) if depth else ""
        if sign:
            return Condition(sign, tuple(guard(depth - 1) for _ in range(1 if sign == "!" else rng.choice([2, 3]))))
        return Condition(name=rng.choice(names)) if rng.random() < 0.9 else Condition(truth=rng.random() < 0.5)

    states = rng.randrange(1, 6)
    guards = tuple(guard(2) for _ in range(4))
    edges = tuple(
        (rng.randrange(states), rng.choice([None, 0, 1, 2, 3, 0, 1, 2, 3]), rng.randrange(states))
        for _ in range(rng.randrange(9))
    )
    some = [frozenset(rng.sample(range(states), rng.randrange(1, min(states, 2) + 1))) for _ in range(2)]
    return StateGraph(states, some[0], some[1], guards, edges)


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_accept_what_an_independent_run_accepts(seed: int) -> None:
    rng = Random(seed)
    for alphabet in (("a", "b", "c", "d"), Valuations(("a", "b"))):
        names = alphabet.props if isinstance(alphabet, Valuations) else alphabet[:3]
        sets = {"{}": "", "{a}": "a", "{b}": "b", "{a,b}": "ab"}
        holds = {one: frozenset(sets.get(one, one)) for one in alphabet}
        graph = random_graph(rng, names)
        automaton = graph.automaton(alphabet)
        for n in range(1, 5):
            for word in product(alphabet, repeat=n):
                assert automaton.accepts(word) == run(graph, word, holds)


def test_an_automaton_that_grows_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The n-th symbol from the end is a: 2^n states."""
    chain = "; ".join(f'{k} -> {k + 1} [label="a, b"]' for k in range(1, 20))
    text = f'digraph {{ i -> 0; 0 -> 0 [label="a, b"]; 0 -> 1 [label=a]; {chain}; 20 [shape=doublecircle] }}'
    with pytest.raises(InputError, match="too large: it has more than 10,000 states when it is deterministic"):
        opened(tmp_path, "x.dot", text)
    with pytest.raises(InputError, match="too large: it has more than 10,000 states when it is deterministic"):
        opened(tmp_path, "x.dot", text, props="a b")
    monkeypatch.setattr(graphs, "MOST_HELD", 1_000)
    with pytest.raises(InputError, match="stand for over 1,000 states in total"):
        opened(tmp_path, "x.dot", text)
    monkeypatch.setattr(graphs, "MOST_HELD", 10**7)
    monkeypatch.setattr(graphs, "MOST_ENTRIES", 100)
    with pytest.raises(InputError, match="more than 100 transitions"):
        opened(tmp_path, "x.dot", text)


# ---- what is refused ----

EDGES = "i -> 1; 2 [shape=doublecircle]; "


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("digraph { a -> }", "1:16", "'}' does not fit here"),
        ("digraph {\n a -> b [label=\"x &\"] }", "2:20", "this label is not complete"),
        ('digraph { a -> b [label="x y"] }', "1:28", "no operator between 'x' and 'y'"),
        ('digraph { a -> b [label="(x"] }', "1:28", "this label is not complete"),
        ('digraph { a -> b [label="& x"] }', "1:26", "'&' does not fit here"),
        ("digraph { a -> b [label=x]; b -> c }", "1:31", "this edge has no label"),
        ("digraph { a -> b }", "1:1", "no label names a symbol"),
        ("digraph { a -> b [label=true] }", "1:25", "no label names a symbol"),
        ("digraph { a -> b [label=x]", "1:9", "ends before this brace is closed"),
        ("digraph { a -> b [label=x", "1:18", "ends before this bracket is closed"),
        ('digraph { a -> b [label="x] }', "1:25", "this text is never closed"),
        ("digraph { a -> b [label] }", "1:24", "']' does not fit here"),
        ("digraph { a -- b }", "1:13", "an edge without direction"),
        ("graph { a -- b }", "1:1", "this graph is not directed"),
        ("digraph { }", "1:1", "this graph has no states"),
        ("digraph { a } digraph { b }", "1:15", "'digraph' does not fit here"),
        ("digraph { a -> b [label=<x>] }", "1:25", "HTML"),
        ("digraph { a -> b [label=x]; b -> a [label=x]; }", "1:1", "no start state is marked, and edges lead to every"),
        ("digraph { a -> b [label=x]; c -> b [label=x]; }", "1:1", "no edge leads to any of the states a c"),
        ("digraph { /* a -> b }", "1:11", "this comment is never closed"),
        ("digraph { a § b }", "1:13", "'§' does not fit here"),
        ("digraph { node = a }", "1:16", "'=' does not fit here"),
        ("digraph MONA_DFA { 0 -> 1 [label=X] }", "1:1", "MONA's own drawing"),
        ('digraph MONA_DFA { i -> 0; 0 -> 1 [label="0,X\\n1,0"]; 0 -> 0 [label=X] }', "1:1", "MONA's own drawing"),
        ('digraph { a -> b [label="p xor p || p"] }', "1:28", r"\^ beside \| needs brackets"),
        ('digraph { a -> b [label="p | q & p xor r"] }', "1:36", r"\^ beside \| needs brackets"),
        ('digraph { a -> b [label="!(p | q ^ r), p"] }', "1:34", r"\^ beside \| needs brackets"),
        ('digraph { a -> b [label="p -> q -> r"] }', "1:33", "two -> in a row need brackets"),
        ('digraph { a -> b [label="q <-> (p implies q => r)"] }', "1:45", "two -> in a row need brackets"),
        ('digraph { alphabet="a a"; 0 -> 1 [label=a] }', "1:20", "the symbol a is in the alphabet twice"),
        ('digraph { alphabet="ab cd"; 0 -> 1 [label=ac] }', "1:43", "'ac' is not a symbol of the alphabet"),
        ('digraph { props="p q"; 0 -> 1 [label="p & r"] }', "1:43", "'r' is not a proposition of the alphabet"),
        ('digraph { props="p"; "one-of"="p r"; 0 -> 1 [label=p] }', "1:31", "unknown proposition 'r'"),
        ("digraph { a -> b [label=\"" + "(" * 200 + "\"] }", "1:126", "nesting beyond 100 levels"),
        ("digraph {" + "{" * 60 + "}" * 61, "1:59", "more than 50 subgraphs"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_drawing_has_a_place(tmp_path: Path, text: str, place: str, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        opened(tmp_path, "x.dot", text)
    assert f"x.dot:{place}: error: " in str(caught.value)


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"initial_state": "9"}, "initial_state", "expected a state of the list states"),
        ({"final_states": "1"}, "final_states", "expected an array"),
        ({"final_states": ["1", 5]}, r"final_states\[1\]", "expected a state of the list states"),
        ({"states": ["1", "1"]}, r"states\[1\]", "expected each state once"),
        ({"states": [["1"]]}, r"states\[0\]", "expected a state as a string or an integer"),
        ({"input_symbols": []}, "input_symbols", "the alphabet is empty"),
        ({"input_symbols": ["a"]}, r"transitions\['2'\]\.b|transitions\.2\.b", "expected a symbol of input_symbols"),
        ({"transitions": {"1": {"a": "8"}}}, r"transitions\.1\.a", "expected a state of the list states"),
        ({"transitions": {"8": {}, "1": {"a": "1"}, "9": {"a": "1"}}}, r"transitions\.9", "expected a state"),
        ({"transitions": "none"}, "transitions", "expected an object"),
        ({"transitions": [{"from": "1", "to": "2"}]}, r"transitions\[0\]", 'an object with the key "symbol"'),
        ({"initial_state": None}, "initial_state", "expected a state as a string or an integer, found null"),
    ],
)
def test_a_mistake_in_a_table_has_a_place(tmp_path: Path, change: dict[str, object], place: str, message: str) -> None:
    with pytest.raises(InputError, match=f"x.json: at {place}: .*({message})"):
        opened(tmp_path, "x.json", json.dumps(TABLE | change))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"b": "1"',
            '"b": "1", "a": "1", "b": "2"',
            r"x.json: at transitions.2: the key \"b\" occurs twice in one object",
        ),
        ('"1": {', '"2": {}, "1": {', 'x.json: at transitions: the key "2" occurs twice in one object'),
        (
            '{"states"',
            '{"states": [], "states"',
            'x.json: at the top level: the key "states" occurs twice in one object',
        ),
        ('"3": {}', '"3": {', "x.json:1:.*: error: this is not JSON"),
    ],
)
def test_a_table_that_is_no_sound_json_has_a_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    """The format is known, so the error is not one for an unknown format."""
    text = json.dumps(TABLE)
    assert old in text
    with pytest.raises(InputError, match=message) as caught:
        opened(tmp_path, "x.json", text.replace(old, new, 1))
    assert "docs/languages.md describes such files" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("<type>fa", "<type>pda", "2:3", "this is a pushdown automaton"),
        ("<type>fa", "<type>turing", "2:3", "this is a Turing machine"),
        ("<type>fa", "<type>re", "2:3", "this is a regular expression"),
        ("<type>fa", "<type>own", "2:3", "a structure of the type 'own'"),
        ("<type>fa</type>", "", "1:85", "this structure has no type"),
        ("<initial/>", "", "3:3", "no state is initial"),
        ("<to>7</to>", "<to>8</to>", "8:31", "no state has the id '8'"),
        ("<to>7</to>", "", "8:5", "this transition has no <to>"),
        ('id="7"', 'id="0"', "5:5", "the id '0' occurs twice"),
        ("<read>b</read>", "<read>b</rea>", "7:50", "not XML: mismatched tag"),
        ("<structure>", "<!DOCTYPE x [<!ENTITY a 'aa'>]><structure>", "1:85", "a document type and its entities"),
        ("<automaton>", "<x>" * 60, "3:150", "more than 50 elements inside each other"),
        ("<read>b</read>", "<read>b c</read>", "7:41", "a blank is not a symbol"),
        ("<read>b</read>", f"<read>{'b' * 2000}</read>", "7:41", "more than 1,000 characters"),
        ("<read>b</read>", "<read>&lol;</read>", "7:47", "not XML: undefined entity"),
    ],
)
def test_a_mistake_in_a_file_of_jflap_has_a_place(tmp_path: Path, old: str, new: str, place: str, message: str) -> None:
    assert old in JFLAP
    with pytest.raises(SourceError, match=message) as caught:
        opened(tmp_path, "x.jff", JFLAP.replace(old, new))
    assert f"x.jff:{place}: error: " in str(caught.value)


def test_propositions_do_not_fit_jflap(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="transitions of JFLAP read symbols"):
        opened(tmp_path, "x.jff", JFLAP, props="p q")
    with pytest.raises(SourceError, match="'b' is not a symbol of the alphabet"):
        opened(tmp_path, "x.jff", JFLAP, alphabet="a c")
