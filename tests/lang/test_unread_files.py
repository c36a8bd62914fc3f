"""Files of other tools are recognised by their format, and no file of hardsim is mistaken for one."""

import re
from pathlib import Path

import pytest

from hardsim.examples import example_files, example_path
from hardsim.lang.unread_files import naming, unread_format_error
from hardsim.lang.unread_formats import FORMATS
from tests.support.language import InputError

ROOT = Path(__file__).parents[2]

# Each row is a file from the tool's own documentation: its name, its text, and the expected name of its format.
TEXTS = [
    ("a.hoa", "HOA: v1\nname: \"F a\"\nStates: 2\n", "HOA"),
    ("a.txt", "/* made by hand */\nHOA: v1\nStates: 1\n--BODY--\n--END--\n", "HOA"),
    ("a.ltl", "HOA: v1.1\r\nStates: 1\r\n", "HOA"),
    ("a.re", "\ufeffHOA: v1\n--ABORT--\nHOA: v1\n", "HOA"),
    ("a.pml", "never { /* G a */\nT0_init:\n  if\n  :: (a) -> goto T0_init\n  fi;\n}\n", "never claim"),
    ("a.txt", "never claim1 {\n skip }\n", "never claim"),
    ("a.dot", "digraph dfa {\n 0 -> 1 [label=\"a\"];\n}\n", "DOT"),
    ("a.gv", "// by hand\n/* two\nlines */ strict digraph \"my dfa\" { }", "DOT"),
    ("a", "# dot\ngraph {\n a -- b }", "DOT"),
    ("a.ltl", "digraph MONA_DFA {\n rankdir = LR;\n}", "DOT"),
    ("a.dot", "DIGRAPH G{}", "DOT"),
    ("a.jff", "<?xml version=\"1.0\" encoding=\"UTF-8\"?><!--JFLAP--><structure><type>fa</type></structure>", "JFLAP"),
    ("a.xml", "<structure>\n<type>pda</type>", "JFLAP"),
    ("a.gff", "<?xml version=\"1.0\"?>\n<structure label-on=\"transition\" type=\"fa\">", "GOAL"),
    ("a.xml", "<?xml version='1.0'?><!DOCTYPE nta PUBLIC 'x' 'y'><nta></nta>", "UPPAAL"),
    ("a.graphml", "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">", "GraphML"),
    ("a.mata", "@NFA-explicit\n%Alphabet-auto\n%Initial q0\nq0 a q1\n", "Mata"),
    ("a.txt", "# one\n@DFA-bits\n", "Mata"),
    ("a.fa", "@DFA 1 * 0\n0 a 1\n", "FAdo"),
    ("a.txt", "@NFA 2 * 0 1\n", "FAdo"),
    ("a.ba", "[0]\na,[0]->[1]\nb,[1]->[1]\n[1]\n", "BA format"),
    ("a.txt", "q0\na,q0->q1\nq1\n", "BA format"),
    ("a.timbuk", "Ops a:1 b:1 x:0\n\nAutomaton A\nStates q0 q1\n", "Timbuk"),
    ("a.dfa", "MONA DFA\nnumber of variables: 1\n", "MONA"),
    ("a.aut", "des (0, 3, 2)\n(0, \"a\", 1)\n", "Aldebaran"),
    ("a.gr", "(START) |- 0\n0 a 1\n1 -| (FINAL)\n", "Grail"),
    ("a.dra", "DRA v2 explicit\nComment: \"x\"\n", "ltl2dstar"),
    ("a.gm", "parity 4;\n0 6 1 4,2 \"a\";\n", "PGSolver"),
    ("a.att", "0\t1\ta\ta\n1\t1\tb\tb\n1\n", "AT&T"),
    ("a.txt", "0 1 a a 0.5\n0 0 b b\n1 0.25\n", "AT&T"),
    ("a.fsa", "0\t1\ta\n1\n", "AT&T"),
    ("a.plebby", "=a{/a}\n=b{/b}\n", "plebby"),
    ("a.txt", "states: q0 q1\nalphabet: a b\ninitial: q0\nfinal: q1\n", "automaton as lines"),
    ("a.txt", "Alphabet: a, b\nStates: q0, q1\nStart: q0\nTransitions:\nq0 a q1\n", "automaton as lines"),
    ("a.txt", "#states\ns0\ns1\n#initial\ns0\n#accepting\ns1\n#alphabet\na\nb\n", "automaton as lines"),
    ("a.tlsf", "INFO {\n TITLE: \"t\"\n}\n", "TLSF"),
    ("a.ltl", "// by hand\nINFO { TITLE: \"t\" }", "TLSF"),
    ("a.part", ".inputs: a b\n.outputs: c\n", "synthesis"),
    ("a.structuredslugs", "[INPUT]\na\n[OUTPUT]\nb\n", "Slugs"),
    ("a.mona", "m2l-str;\nvar2 X;\nex1 p: p in X;\n", "MONA"),
    ("a.txt", "# a comment\nws1s;\nvar1 x;\n", "MONA"),
    ("a.mona", "var2 P, Q;\nP = Q + {1};\n", "MONA"),
    ("a.smv", "MODULE main\nVAR\n x : boolean;\n", "SMV"),
    ("a.txt", "-- a door\n\nMODULE main -- here\n", "SMV"),
    ("a.smv", "#include \"x\"\n", "by its name (*.smv) this is an SMV model"),
    ("a.pml", "ltl p { [] (a -> <> b) }\n", "Promela"),
    ("a.pml", "#define N 3\nbyte x;\n", "Promela"),
    ("a.txt", "bool a, b;\nactive proctype P() { a = 1 }", "Promela"),
    ("a.txt", "active [2] proctype P() { skip }", "Promela"),
    ("a.tla", "---- MODULE Clock ----\nEXTENDS Naturals\n====\n", "TLA"),
    ("a.als", "open util/ordering[Time]\nsig Time {}\n", "Alloy"),
    ("a.txt", "abstract sig Person { father: lone Person }\n", "Alloy"),
    ("a.pm", "// die\ndtmc\n\nmodule die\nendmodule\n", "PRISM"),
    ("a.sv", "property p;\n @(posedge clk) a |-> ##1 b;\nendproperty\n", "SystemVerilog"),
    ("a.txt", "assert always (a -> next b);\n", "PSL"),
    ("a.aag", "aag 3 2 0 1 1\n2\n4\n6\n6 2 4\n", "AIGER"),
    ("a.smt2", "; a comment\n(set-logic LIA)\n(declare-fun x () Int)\n", "SMT-LIB"),
    ("a.pddl", "(define (domain door)\n)", "PDDL"),
    ("a.decl", "activity Send\nactivity Receive\nResponse[Send, Receive] | |\n", "Declare"),
    ("a.txt", "activity A\nbind A: grade\ngrade: integer between 1 and 5\n", "Declare"),
    ("a.ltl", "Chain Response[A, B] |A.x > 2 |T.y = 1 |\n", "Declare"),
    ("a.txt", "Absence2[Pay] | |\n", "Declare"),
    ("a.decl", "activity Pay\n", "Declare"),
    ("a.xml", "<?xml version=\"1.0\"?>\n<model><assignment><activitydefinitions/></assignment></model>", "Declare"),
    ("a.xml", "<processModel><constraints/></processModel>", "Declare"),
    ("a.pnml", "<?xml version=\"1.0\"?>\n<pnml><net/></pnml>", "Petri"),
    ("a.bpmn", "<bpmn:definitions xmlns:bpmn=\"x\">", "BPMN"),
    ("a.xes", "<?xml version=\"1.0\"?>\n<log xes.version=\"1.0\">", "XES"),
    ("a.json", "<!DOCTYPE html>\n<html lang=\"en\"><head>", "HTML"),
    ("a.xml", "<?xml version=\"1.0\"?>\n<a:b/>", "XML"),
    ("a.py", "import torch\n", "Python"),
    ("a.txt", "#!/usr/bin/env python3\nprint(1)\n", "Python"),
    ("a.py", "# a comment\nfrom tracr.rasp import rasp\n\ndef f():\n    pass\n", "Python"),
    ("a.py", "x = 1\n", "by its name (*.py) this is a Python program"),
    ("a.py", "\"\"\"A program.\"\"\"\n", "Python"),
    ("a.rasp", "set example \"hello\"\n", "RASP"),
    ("a.rasp", "flip = select(indices, length - indices - 1, ==);\nreverse = aggregate(flip, tokens);\n", "RASP"),
    ("a.txt", "def f(x) {\n  return x + 1;\n}\n", "RASP"),
    ("a.tex", "% a comment\n\\documentclass{article}\n", "LaTeX"),
    ("a.txt", "aab\tTRUE\nba\tFALSE\n", "list of words with labels"),
    ("a.csv", "aab,1\nba,0\n", "list of words with labels"),
    ("a.txt", "word,label\naab,accept\nba,reject\n", "list of words with labels"),
    ("a.tsv", "1\tab\n0\tba\n", "list of words with labels"),
    ("log.csv", "case,activity,timestamp\n1,Send,2020\n", "CSV"),
    ("a.jsonl", "{\"text\": \"ab\", \"label\": 1}\n{\"text\": \"ba\", \"label\": 0}\n", "lines of JSON"),
    ("a.yaml", "states: [q0]\n", "YAML"),
]  # fmt: skip

AUTOMATA = [
    '{"states":["0","1"],"alphabet":["a"],"initial":"0","accepting":["1"],"transitions":[]}',
    '{"states": ["q0"], "input_symbols": ["a"], "transitions": {}, "initial_state": "q0", "final_states": []}',
    '{"type": "DFA", "states": [], "startState": "q", "acceptStates": [], "transition function": {}}',
    '{"Q": ["q0"], "Sigma": ["a"], "delta": {}, "q0": "q0", "F": []}',
    '{"id": "door", "initial": "open", "states": {"open": {"on": {"CLOSE": "shut"}}}}',
    '{"nodes": [{"x": 1, "isAcceptState": true}], "links": []}',
    '{"directed": true, "nodes": [], "edges": []}',
    '{"dfa": {"states": [], "delta": []}}',
    '{"automata": [{"states": [], "transitions": []}]}',
    '[{"from": "q0", "to": "q1", "symbol": "a"}]',
    '[{"states": [], "start_state": "q"}]',
    '{"states": ["q0"], "initial_state": "q0", "transitions": {"q0": {"a": "q',  # cut short
]

DOCUMENTS = [
    ("config.json", '{"model_type": "gpt2", "n_layer": 2}', "configuration of a network"),
    ("x.json", '{"architectures": ["GPT2LMHeadModel"]}', "configuration of a network"),
    ("adapter_config.json", '{"peft_type": "LORA", "base_model_name_or_path": "gpt2"}', "adapter"),
    ("trainer_state.json", '{"log_history": [], "epoch": 1}', "training run"),
    ("model.safetensors.index.json", '{"metadata": {}, "weight_map": {}}', "index of a network"),
    ("tokenizer.json", '{"added_tokens": [], "model": {"vocab": {}}}', "tokenizer"),
    ("w.json", '{"layers.0.weight": [[1]]}', "weights in JSON"),
    ("x.ipynb", '{"cells": [], "nbformat": 4, "metadata": {}}', "notebook"),
    ("x.jani", '{"jani-version": 1, "name": "m"}', "JANI"),
    ("x.json", '{"semantics": "mealy", "inputs": [], "outputs": [], "guarantees": []}', "BoSy"),
    ("x.json", '{"name": "m", "tasks": ["A"], "constraints": []}', "Declare"),
    ("r.json", '{"schema_version": 3, "command": "check", "exit_code": 0, "results": []}', "--json"),
]

BINARY = [
    ("a.pkl", b"\x80\x04\x95\x00\x00\x00", "pickle"),
    ("a.dat", b"\x80\x02}q\x00.", "pickle"),
    ("a.pkl", b"(dp0\n.", "pickle"),
    ("a.npy", b"\x93NUMPY\x01\x00v\x00", "numpy"),
    ("a.npz", b"PK\x03\x04" + bytes(26) + b"w.npy\x93NUMPY", "(.npz)"),
    ("a.model", b"PK\x03\x04" + bytes(26) + b"archive/data.pkl", "PyTorch"),
    ("a.model", b"\x40\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\"", "safetensors"),
    ("a.h5", b"\x89HDF\r\n\x1a\n\x00", "HDF5"),
    ("a.gguf", b"GGUF\x03\x00", "GGUF"),
    ("a.fst", b"\xd6\xfd\xb2\x7e\x06\x00", "OpenFST"),
    ("a.hoa.gz", b"\x1f\x8b\x08\x00", "gzip"),
    ("a.zip", b"PK\x03\x04" + bytes(26) + b"a.txt", "ZIP"),
    ("a.tar", bytes(257) + b"ustar\x00", "archive"),
    ("a.onnx", b"\x08\x08\x12\x00", "ONNX"),
    ("a.pdf", b"%PDF-1.7\n", "PDF"),
    ("a.json", b"SQLite format 3\x00", "SQLite"),
    ("a.hoa", "HOA: v1\nStates: 1\n".encode("utf-16"), "HOA"),
    ("a.parquet", b"PAR1\x15\x04", "Parquet"),
]  # fmt: skip


TEXTS += [
    (
        "a.jff",
        "<?xml version='1.0'?><structure>\n<type>re</type><expression>a+b</expression></structure>",
        "`plus: union`",
    ),
    ("a.jff", "<?xml version='1.0'?><structure><type>fa</type></structure>", "an automaton or a grammar of JFLAP"),
    ("a.srasp", "flip = select(1, 1, ==);\n", "a RASP program"),
    ("reference.py", "def f(word):\n    return True\n", "check(against=FUNCTION)"),
]


def message_of(name: str, data: bytes) -> str:
    found = unread_format_error("GIVEN", name, data)
    assert found is not None, name
    assert found.hint
    return str(found)


@pytest.mark.parametrize(("name", "text", "expected"), TEXTS)
def test_a_text_is_named(name: str, text: str, expected: str) -> None:
    assert expected in message_of(name, text.encode())


@pytest.mark.parametrize("text", AUTOMATA)
@pytest.mark.parametrize("name", ["a.json", "a.dfa.json", "automaton", "a.ltl"])
def test_an_automaton_in_json_is_named(name: str, text: str) -> None:
    found = message_of(name, text.encode())
    assert re.search("this is an automaton( or a graph)? in JSON", found)
    assert "again" not in found


@pytest.mark.parametrize(("name", "text", "expected"), DOCUMENTS)
def test_other_json_is_named(name: str, text: str, expected: str) -> None:
    assert expected in message_of(name, text.encode())


@pytest.mark.parametrize(("name", "data", "expected"), BINARY)
def test_a_binary_file_is_named(name: str, data: bytes, expected: str) -> None:
    assert expected in message_of(name, data)


@pytest.mark.parametrize(
    ("text", "infix"),
    [
        ("& p0 p1", "p0 & p1"),
        ("U p0 p1", "p0 U p1"),
        ("| ! p0 X p1", "! p0 | X p1"),
        ("i G p0 F p1", "G p0 -> F p1"),
        ("e p0 ^ p1 p2", "p0 <-> (p1 ^ p2)"),
        ("V f W t M p0 p1", "false R (true W (p0 M p1))"),
        ("G & F p0 ! p1", "G (F p0 & ! p1)"),
        ('U "a b" "c"', '"a b" U "c"'),
        ("U request grant", "request U grant"),
        ("G p0\n& p0 p1\nF t", "G p0"),
        ("&\n  p0\n  p1\n", "p0 & p1"),
        ("props: p0 p1\n& p0 p1", "p0 & p1"),
        ("// from LBT\nalphabet: a b\nU a b", "a U b"),
    ],
)
def test_prefix_notation_is_named_and_translated(text: str, infix: str) -> None:
    """The infix formulas are worked out by hand from the arity of each operator."""
    found = message_of("a.ltl", text.encode())
    assert "prefix notation" in found
    assert f"hardsim writes {infix}." in found


def test_a_long_formula_in_prefix_notation_is_not_shown() -> None:
    found = message_of("a.ltl", ("& p0 " * 5000 + "p1").encode())
    assert "prefix notation" in found
    assert len(found) < 300


OWN = [
    "a U b",
    "G a",  # the same in prefix notation
    "F t",
    "digraph & graph",
    "alphabet: digraph graph a\ndigraph S graph {",
    "activity U b",
    "props: activity case\nactivity U case )",
    "alphabet: a b\nstates := 1\n",
    "never U a",
    "mdp & x",
    "init -> X y",
    "MODULE & a",
    "sig S a",
    "<> a",
    "<-> a",
    "[] a",
    "{a} S {b}",
    "F[0,3] | b",
    "alphabet: a b\n| a b |",
    "import S a",
    "label: a",
]


@pytest.mark.parametrize("text", OWN)
@pytest.mark.parametrize("name", ["a.ltl", "a.txt", "a"])
def test_a_formula_that_looks_like_another_format_is_not_taken_for_one(name: str, text: str) -> None:
    assert unread_format_error("GIVEN", name, text.encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        "alphabet: a b\nx(i) := rightmost[j](1, Q_a(j) 1\n",
        "alphabet: a b\ny := select(x, y);\n",
        "alphabet: a b\n0 1 a a\n",
        "alphabet: a b\nclass X:\n",
    ],
)
@pytest.mark.parametrize("name", ["a.srasp", "a.cr", "a.re", "a.spec", "a.smv", "a.py"])
def test_a_file_that_declares_its_symbols_was_written_for_hardsim(name: str, text: str) -> None:
    """The file gets its own error with a place, which helps more than the name of a format."""
    assert unread_format_error("GIVEN", name, text.encode()) is None


@pytest.mark.parametrize("path", example_files(), ids=example_path)
def test_nothing_that_is_shipped_is_taken_for_something_else(path: Path) -> None:
    data = path.read_bytes()
    assert unread_format_error("GIVEN", str(path), data) is None
    assert unread_format_error("GIVEN", "renamed", data) is None


@pytest.mark.parametrize("data", [b"", b"  \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_in_no_format(data: bytes) -> None:
    assert unread_format_error("GIVEN", "a.hoa", data) is None


def test_only_a_reader_that_fails_is_corrected(tmp_path: Path) -> None:
    place = tmp_path / "a.hoa"
    place.write_text("HOA: v1\n", encoding="utf-8")
    with naming("a.hoa", str(place)):
        pass
    with pytest.raises(InputError, match=r"a\.hoa: this is an automaton in HOA format"), naming("a.hoa", str(place)):
        raise InputError("missing alphabet")
    with pytest.raises(ValueError, match="other"), naming("a.hoa", str(place)):
        raise ValueError("other")
    with pytest.raises(InputError, match="no such file"), naming("b.hoa", str(tmp_path / "b.hoa")):
        raise InputError("no such file")


def test_every_page_that_is_named_exists() -> None:
    for form in FORMATS:
        for page in re.findall(r"docs/[\w./]*\w", form.advice):
            assert (ROOT / page).is_file(), (form.title, page)
        assert form.title[0].islower() or form.title in ("XML", "YAML", "Verilog, SystemVerilog or PSL")
        assert form.advice.endswith((".", "`"))
    assert any("docs/declare.md" in form.advice for form in FORMATS if "Declare" in form.title)


@pytest.mark.parametrize(
    "noise", [b"{" * 10**5, b'{"a":' * 10**5, b"[" * 10**5, b"<" * 10**5, b"& " * 10**5, b"#" * 10**6]
)
def test_hostile_files_are_looked_at_in_no_time(noise: bytes) -> None:
    unread_format_error("GIVEN", "a.txt", noise)
