"""The lines of `.spec` files: their contents, and errors with their place."""

import pytest

from hardsim.lang.spec.layout import SpecLayout, read_spec
from tests.support.language import SourceError

WHOLE = """// D_2: brackets to depth 2
network: nets/D2
alphabet: a b
tokens: a b <bos> // <eos>

// where
input: <bos> *
at: each
decide: above 0
assume: /(a b)*/
output a: #L[a] > #L[b]
output a:1: Y a
output <eos>: !a
program: d2.srasp
source: a book // page 3
"""


def refused(text: str) -> str:
    with pytest.raises(SourceError) as caught:
        read_spec(text, "x.spec")
    return str(caught.value)


def test_what_is_read() -> None:
    layout = read_spec(WHOLE, "x.spec")
    assert layout.title == "D_2: brackets to depth 2"
    assert {line.name: line.text for line in layout.headers} == {
        "network": "nets/D2", "alphabet": "a b", "tokens": "a b <bos> // <eos>", "input": "<bos> *", "at": "each",
        "decide": "above 0", "assume": "/(a b)*/", "program": "d2.srasp", "source": "a book // page 3",
    }  # fmt: skip
    assert [(line.name, line.text) for line in layout.outputs] == [
        ("a", "#L[a] > #L[b]"), ("a:1", "Y a"), ("<eos>", "!a")
    ]  # fmt: skip
    for line in layout.outputs:
        assert (layout.written(line.at), layout.written(line.body)) == (line.name, line.text)


def test_the_last_colon_before_a_blank_ends_a_name() -> None:
    layout = read_spec("value a:b:2: pos\nvalue ::\t1\n", "x.spec")
    assert [(line.name, line.text) for line in layout.values] == [("a:b:2", "pos"), (":", "1")]


def test_all_lines_may_be_indented_alike_and_end_in_any_way() -> None:
    layout = read_spec(b"\xef\xbb\xbf  at: last\r\n  output x: a\r\n", "x.spec")
    assert (layout.value("at"), layout.outputs[0].text) == ("last", "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "networks: net\noutput x: a\n",
            "x.spec:1:1: error: unknown header key 'networks'\n"
            "  networks: net\n  ^^^^^^^^\n"
            "  expected: network: alphabet: tokens: input: at: decide: assume: output NAME: value NAME: program: next: "
            "language: accept: source: plus: dot:\n  did you mean network:?",
        ),
        (
            "model: net\n",
            "x.spec:1:1: error: unknown header key 'model'\n"
            "  model: net\n  ^^^^^\n"
            "  expected: network: alphabet: tokens: input: at: decide: assume: output NAME: value NAME: program: next: "
            "language: accept: source: plus: dot:\n  write `network: PATH`",
        ),
        (
            "zzz: net\n",
            "x.spec:1:1: error: unknown header key 'zzz'\n"
            "  zzz: net\n  ^^^\n"
            "  expected: network: alphabet: tokens: input: at: decide: assume: output NAME: value NAME: program: next: "
            "language: accept: source: plus: dot:\n  docs/specifications.md describes each line",
        ),
        (
            "formula: x.ltl\n",
            "x.spec:1:1: error: unknown header key 'formula'\n"
            "  formula: x.ltl\n  ^^^^^^^\n"
            "  expected: network: alphabet: tokens: input: at: decide: assume: output NAME: value NAME: program: next: "
            "language: accept: source: plus: dot:\n"
            "  write accepted words as a line `language: FORMULA` or `language: @FILE.ltl`",
        ),
        (
            "at = each\noutput x: a\n",
            "x.spec:1:4: error: a header line has a colon\n  at = each\n     ^\n  expected: at:\n  write at: each",
        ),
        (
            "at: each\noutput x: a\nat: last\n",
            "x.spec:3:1: error: duplicate header line at:\n  at: last\n  ^^\n  expected: one at: line\n"
            "  remove one of the two lines (the first is line 1)",
        ),
        (
            "output x: a\noutput x: b\n",
            "x.spec:2:8: error: a second line output 'x'\n  output x: b\n         ^\n"
            "  expected: one line for each output\n  remove one of the two (the first is line 1)",
        ),
        (
            "output x = a\n",
            "x.spec:1:10: error: the name of an output ends with a colon\n  output x = a\n           ^\n"
            "  expected: x:\n  write output x: a",
        ),
        (
            "value x 3\n",
            "x.spec:1:1: error: value without a name and a colon\n  value x 3\n  ^^^^^^^^^\n"
            "  expected: value NAME: TERM\n  put white space after the colon, and none inside the name",
        ),
        (
            "output x: a // here\n",
            "x.spec:1:13: error: a comment cannot follow a value here\n  output x: a // here\n              ^^\n"
            "  expected: the end of the line\n  put a comment on a line of its own, which begins with //",
        ),
        (
            "at: last // where\noutput x: a\n",
            "x.spec:1:10: error: a comment cannot follow a value here\n  at: last // where\n           ^^\n"
            "  expected: the end of the line\n  put a comment on a line of its own, which begins with //",
        ),
        (
            "output x: a &\n  b\n",
            "x.spec:2:1: error: an indented line\n    b\n  ^^^\n  expected: a line without indentation\n"
            "  a line cannot be continued: write all of it in one, without a space before it",
        ),
        (
            "let p = a\noutput x: p\n",
            "x.spec:1:1: error: this line does not belong in a specification\n  let p = a\n  ^^^^^^^^^\n"
            "  expected: a key and a colon, output NAME: FORMULA, or a comment that begins with //",
        ),
        (
            "outputs x: a\n",
            "x.spec:1:1: error: this line does not belong in a specification\n  outputs x: a\n  ^^^^^^^^^^^^\n"
            "  expected: a key and a colon, output NAME: FORMULA, or a comment that begins with //\n"
            "  did you mean output NAME: FORMULA?",
        ),
        (
            "network: net\n",
            "x.spec:1:13: error: no line states what the outputs should be\n  network: net\n              ^\n"
            "  expected: output NAME: FORMULA, value NAME: TERM, language: /EXPRESSION/, program: FILE.srasp or next: "
            "/EXPRESSION/",
        ),
        (
            "plus: or\nnext: /a/\n",
            "x.spec:1:7: error: plus: cannot be 'or'\n  plus: or\n        ^^\n  expected: union or repeat",
        ),
        (
            "output x: a\nplus: union\nassume: a\n",
            "x.spec:2:1: error: plus: applies to regular expressions, and there is none here\n  plus: union\n  ^^^^\n"
            "  expected: next: /EXPRESSION/, say\n  remove the line",
        ),
        (
            "output x: a\nvalue y: 1\n",
            "x.spec:2:7: error: lines value and output in one specification: its outputs are numbers or "
            "truth values, not both\n"
            "  value y: 1\n        ^\n  expected: lines of one kind only",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_place(text: str, message: str) -> None:
    assert refused(text) == message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("output: a\n", "write output NAME: FORMULA, where NAME is the network's name for the output"),
        ("value: 1\n", "write value NAME: TERM, where NAME is the network's name for the output"),
        ("props: p q\noutput x: p\n", "the tokens of a network are symbols: alphabet: a b"),
        ("reject: ab\noutput x: a\n", "specifications have no such line"),
        ("# comment\noutput x: a\n", "a comment begins with //, on each line"),
        ("", "a small file: network: net, then output NAME: F a"),
    ],
)
def test_what_belongs_elsewhere_has_a_hint(text: str, hint: str) -> None:
    assert refused(text).endswith(hint)


@pytest.mark.parametrize("line", ["assume: a", "output x: a", "value x: 1", "program: p.srasp"])
def test_next_stands_alone(line: str) -> None:
    message = refused(f"next: /a*/\n{line}\n")
    assert message.startswith("x.spec:2:")
    assert "next: defines assume: and all outputs" in message
    assert message.endswith("remove it, or remove next: (line 1) and write a line for each output")


def test_a_layout_knows_its_keys() -> None:
    known = "network alphabet tokens input at decide assume output value program next language accept source plus dot"
    assert {key.partition(" ")[0] for key in SpecLayout.keys} == set(known.split())
