"""The text of the Rocq library: everything is proved in it, and what a reader must read is short."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from hardsim.proving.rocq.folder import LIBRARY, library
from tests.support.rocq_instances import NAMES, text_of

UNPROVED = (
    "Admitted", "admit", "give_up", "Axiom", "Axioms", "Parameter", "Parameters", "Conjecture", "bypass_check",
    "Checking", "Load", "Declare", "Extract", "Extraction", "Drop", "Cd", "Redirect", "Abort",
)  # fmt: skip
"""Words that leave something unproved, or switch a check off (`Unset Guard Checking`)."""
ASSUMED = ("Variable", "Variables", "Hypothesis", "Hypotheses", "Context")
"""Words that assume something: inside a section they are what its lemmas are about, and outside they are axioms."""
MOST_LINES = 120
"""Lines of the definitions that a reader of a theorem has to read."""
WORD = re.compile(r'\(\*|"(?:[^"]|"")*"|[A-Za-z_][A-Za-z0-9_\']*|\.(?=\s|$)|\S')


def tokens_of(text: str) -> Iterator[str]:
    """Yield the words and signs of a text without its comments, which nest, and without strings."""
    depth, at = 0, 0
    while match := WORD.search(text, at):
        token, at = match[0], match.end()
        if token == "(*":
            depth, at = 1, match.end()
            while depth:
                mark = re.compile(r'\(\*|\*\)|"(?:[^"]|"")*"').search(text, at)
                assert mark is not None, "a comment does not end"
                depth += {"(*": 1, "*)": -1}.get(mark[0], 0)
                at = mark.end()
        elif not token.startswith('"'):
            yield token


def unproved(text: str) -> list[str]:
    """Return what a text leaves unproved: words of UNPROVED, and assumptions outside sections."""
    found, sections, before = list[str](), list[str](), "."
    tokens = list(tokens_of(text))
    for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if before == "." and token == "Section":
            sections.append(after)
        elif before == "." and token == "End" and sections and sections[-1] == after:
            sections.pop()
        elif token in UNPROVED or (token in ASSUMED and not sections) or (before == "." and token == "Primitive"):
            found.append(token)
        before = token
    return found + sections


def sources() -> Mapping[str, str]:
    """Return the texts of the library, and of stored instances."""
    return {**library(), **{f"{name}.v": text_of(name) for name in NAMES}}


@pytest.mark.parametrize("name", sources())
def test_everything_is_proved(name: str) -> None:
    assert unproved(sources()[name]) == []


def test_each_proof_ends_in_qed_or_defined() -> None:
    for name, text in library().items():
        tokens = [".", *tokens_of(text)]
        starts = [after for before, after in pairwise(tokens) if before == "."]
        assert starts.count("Proof") == starts.count("Qed") + starts.count("Defined") > 0 or name == "Definitions.v"


def test_every_file_of_the_library_is_listed() -> None:
    assert {path.name for path in Path(LIBRARY).glob("*.v")} == {*library()}


def test_definitions_are_short() -> None:
    lines = library()["Definitions.v"].splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 120
    assert "Require Import" not in "\n".join(line for line in lines if "From Coq" not in line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lemma a : True. Proof. exact I. Qed.", []),
        ("Lemma a : True. Admitted.", ["Admitted"]),
        ("Lemma a : True. Proof. admit. Admitted.", ["admit", "Admitted"]),
        ("(* Axiom *) Axiom a : False.", ["Axiom"]),
        ("(* Axiom (* nested *) Axiom *) Section S. Variable n : nat. End S.", []),
        ('(* "*)" Axiom *) Definition a := 0.', []),
        ("Section S. End S. Hypothesis a : False.", ["Hypothesis"]),
        ("Section S. Section T. End T. Hypothesis a : False. End S.", []),
        ("Context (a : False).", ["Context"]),
        ("Section S. Parameter a : False. End S.", ["Parameter"]),
        ("Section S. Variable a : False.", ["S"]),
        ("Unset Guard Checking.", ["Checking"]),
        ("Variables a b : nat.", ["Variables"]),
        ("#[local] Axiom a : False. Local Hypothesis b : False.", ["Axiom", "Hypothesis"]),
        ("Definition a := Primitive. Primitive int := #int63_type.", ["Primitive"]),
        ("#[bypass_check(guard)] Fixpoint f (n : nat) := 0.", ["bypass_check"]),
    ],
)
def test_what_is_unproved_is_found(text: str, expected: list[str]) -> None:
    assert unproved(text) == expected
