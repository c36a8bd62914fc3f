"""Tokens and terms of Rocq text, and the sentences of an instance."""

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.verify.rocq.instance import read_instance
from hardsim.verify.rocq.text import MOST_DIGITS, BadRocq, tokens_of
from tests.support.mistakes import raised
from tests.support.rocq_definitions import tree_of
from tests.support.rocq_instances import MODULES, NAMES, bare, text_of


def kinds_of(text: str) -> list[str]:
    """Return the texts of the tokens."""
    return [token.text for token in tokens_of(text)][:-1]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a (* b *) c", ["a", "c"]), ("a (* (* b *) c *) d", ["a", "d"]), ('(* "*)" a *) b', ["b"]),
        ('(* "(*" a *) b', ["b"]), ('(* "a""*)" *) b', ["b"]), ("(**) b", ["b"]), ("(***) b", ["b"]),
        ("(*) b *) c", ["c"]), ("x' := (-1)%Z.", ["x'", ":=", "(", "-", "1", ")", "%", "Z", "."]),
        ("[a;b]\r\n", ["[", "a", ";", "b", "]"]), ("(* λ \u202e *)a", ["a"]),
    ],
)  # fmt: skip
def test_tokens(text: str, tokens: list[str]) -> None:
    assert kinds_of(text) == tokens


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a (* b", (2, 4)), ('a (* "b *)', (5, 6)), ("a (* (* *) b", (2, 4)), ("a.b", (1, 2)), ("1.5", (1, 2)),
        ("1e5", (0, 2)), ("0x1", (0, 2)), ("1_0", (0, 2)), ("a\x00", (1, 2)), ("(* \x1b *)", (3, 4)), ("λ", (0, 1)),
        ("a {b}", (2, 3)), ('"a"', (0, 1)), ("a + b", (2, 3)), ("@a", (0, 1)), ("a.(* *)", (1, 2)), ("*)", (0, 1)),
        ("\ufeffa", (0, 1)), ("a\u00a0b", (1, 2)), ("a\x0bb", (1, 2)),
    ],
)  # fmt: skip
def test_what_is_no_token(text: str, place: tuple[int, int]) -> None:
    error = raised(BadRocq, tokens_of, text)
    assert (error.start, error.end) == place


def test_terms() -> None:
    assert tree_of("(-3 # 6)").value == Fraction(-1, 2)
    assert tree_of("(4 # 1)").kind == "ratio"
    assert [tree_of(text).value for text in ("7%Z", "(-7)%Z", "(7)%Z", "7")] == [7, -7, 7, 7]
    assert [tree_of(text).kind for text in ("7%Z", "7", "[]", "(a, b)", "a b", "a")] == [
        "integer", "natural", "list", "tuple", "application", "name",
    ]  # fmt: skip
    tree = tree_of("Head Past 1 [(0, 1, (1 # 2)); (1, 1, (2 # 1))] []")
    assert [part.kind for part in tree.parts] == ["name", "natural", "list", "list"]
    assert [len(part.parts) for part in tree.parts] == [0, 0, 2, 0]


@pytest.mark.parametrize(
    "text",
    [
        "", "()", "(a", "a)", "[a", "a]", "(a]", "[a)", "[a;]", "[;a]", "(a,)", "(,a)", "a, b", "a; b", "[a, b]",
        "(a; b)", "1 a", "(a b) c", "-1", "(-1)", "(- a)%Z", "1%nat", "1%Q", "(1 # 0)", "(1 # -1)", "1 # 2", "a # 2",
        "(1 # 2", "01", "(1 # 02)", "a : b", "a := b", "a % Z", "(a)%Z", "[1]%Z", "1%Z%Z", "(1 # 2)%Q", "((1) # 2)",
        "(a) := b", "[a b; ]", "let x := a in b", "a -> b", "ltac:(exact a)",
    ],
)  # fmt: skip
def test_what_is_no_term(text: str) -> None:
    raised(BadRocq, tree_of, text)


def test_long_numbers_are_refused() -> None:
    assert tree_of("9" * MOST_DIGITS).kind == "natural"
    raised(BadRocq, tree_of, "9" * (MOST_DIGITS + 1), match="digits")
    raised(BadRocq, tree_of, f"(1 # {'9' * 10_000})", match="digits")


def test_deep_terms_are_read() -> None:
    depth = 20_000
    assert tree_of("(" * depth + "a" + ")" * depth).value == "a"
    tree = tree_of("(f " * depth + "a" + ")" * depth)
    for _ in range(depth):
        (tree,) = tree.parts
    assert tree.value == "a"
    raised(BadRocq, tree_of, "[" * depth)


@pytest.mark.parametrize("name", NAMES)
def test_instances_are_read(name: str) -> None:
    found = read_instance(text_of(name), MODULES)
    assert found.reading == ("AtFirst" if name in ("dwyer_response", "weak_next", "features") else "AtLast")
    assert len(found.lets) == text_of(name).count("Definition let_")
    assert found.network.value == "Network"


SENTENCES = (
    "Axiom x : False.", "Parameter x : nat.", "Hypothesis x : nat.", "Variable x : nat.", "Conjecture x : nat.",
    "Notation computes := x.", "Ltac vm_compute := admit.", "Load x.", "Declare ML Module x.", "Admitted.",
    "Require Import Other.", "Add LoadPath x.", "Definition computes := True.", "Definition And := Or.",
    "Definition let_9 : formula := First.", "Inductive x := .", "Set Implicit Arguments.", "Open Scope Z_scope.",
    "Section x.", "Module Definitions.", "Definition N : network := N.", "Coercion x : y >-> z.", "Import Other.",
    "Unset Guard Checking.", "Goal False.", "Canonical x.", "Instance x : y.", "Print x.", "Extraction x.",
    "Local Definition x := y.", "Polymorphic Definition x := y.", "Lemma x : y.", "Opaque x.", "Arguments x.",
    "Infix x := y.", "#[local] Definition x := y.", "From Coq Require Import Reals.", "Include x.", "Bind Scope x y.",
)  # fmt: skip


def ends_of_sentences(text: str) -> list[int]:
    """Return the places behind the full stops that end the sentences of a file, in order."""
    return [at + 1 for at, one in enumerate(text) if one == "." and text[at + 1 : at + 2] in ("\n", " ", "")]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_another_sentence_is_refused(sentence: str) -> None:
    """Each sentence stands at one place, and together they stand at every place."""
    text = bare("dyck1")
    places = (0, *ends_of_sentences(text))
    assert len(places) < len(SENTENCES)
    end = places[SENTENCES.index(sentence) % len(places)]
    raised(BadRocq, read_instance, f"{text[:end]}\n{sentence}\n{text[end:]}", MODULES)


@pytest.mark.sweep
@pytest.mark.parametrize("sentence", SENTENCES)
def test_another_sentence_is_refused_everywhere(sentence: str) -> None:
    text = bare("dyck1")
    ends = ends_of_sentences(text)
    assert len(ends) > 10
    for end in (0, *ends):
        # After `Require Import X.` and between any two other sentences, on a line of its own or behind a comment.
        for before in ("\n", " (* comment *) "):
            raised(BadRocq, read_instance, text[:end] + before + sentence + "\n" + text[end:], MODULES)
    # In a comment it does nothing.
    assert read_instance(f"(* {sentence} *)\n{text}", MODULES).reading == "AtLast"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("computes N AtLast F", "computes N AtLast let_0"), ("computes N AtLast F", "True"),
        ("computes N AtLast F", "computes N AtLast F -> True"), ("computes N AtLast F", "(computes N AtLast F)"),
        ("computes N AtLast F", "computes C AtLast F"), ("computes N AtLast F", "computes N Last F"),
        ("Theorem", "Lemma"), ("network_computes_formula :", "other :"), ("Qed", "Admitted"), ("Qed", "Defined"),
        ("Qed", "Abort"), ("vm_compute", "admit"), ("reflexivity", "auto"),
        ("check_sound N AtLast", "check_sound N AtFirst"),
        ("(check_sound N AtLast F C)", "check_sound"), ("Print Assumptions network_computes_formula.", ""),
        ("Print Assumptions network_computes_formula", "Print Assumptions check_sound"),
        ("List ZArith QArith", "List ZArith"), ("List ZArith QArith", "List ZArith QArith Reals"),
        ("From Coq", "From Other"), ("Definitions Nodes", "Definitions Definitions Nodes"),
        ("Require Import Definitions", "Require Import Own"), ("Require Import Definitions ", "Require Import "),
        (" Check.", "."), ("Require Import Definitions", "Require Export Definitions"), ("nat_scope", "Z_scope"),
        ("Import ListNotations", "Import Notations"), ("Definition N : network", "Definition N : certificate"),
        ("Definition F : formula", "Definition F"), ("Definition F :", "Definition G :"),
        ("Definition let_0", "Definition let_1"), ("Definition let_1", "Definition let_2"),
        ("Definition let_0 : term", "Definition let_0 : nat"), ("Definition let_0 :", "Definition let_00 :"),
        ("Definition C : certificate := Certificate", "Definition C : certificate := ltac:"),
        ("Definition C : certificate := Certificate", "Definition C : certificate := proof_of N"),
        ("Definition C : certificate := Certificate", "Definition C : certificate := match x with Certificate"),
        ("Definition C : certificate := Certificate", "Definition C : certificate := Certificate fun x"),
        ("Proof.", "Proof. exfalso."), ("Proof.", "Proof using."), ("Proof.", ""),
    ],
)  # fmt: skip
def test_another_text_of_a_sentence_is_refused(old: str, new: str) -> None:
    text = bare("dyck1")
    assert old in text
    raised(BadRocq, read_instance, text.replace(old, new, 1), MODULES)


@given(st.text(alphabet='(*)".;,:=#%-[]aFN01 \n\x00λ', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (tokens_of, tree_of):
        with suppress(BadRocq):
            read(text)
