"""Tests of `classify`: known languages as formulas and expressions, witnesses asked of the oracle of the input, and the
messages and exit codes of all refusals."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hardsim.lang.automata.classes as classes
from hardsim import load
from hardsim.lang.automata.classes import CLASSES
from hardsim.lang.automata.witnesses import BLOCKS, POWERS, ClassWitness
from hardsim.measuring.classify import words_of
from hardsim.options.table import LANGUAGE_CLASSES
from tests.cli.conftest import Cli, written

J, R, LAST, L, DA = "J-trivial", "R-trivial", "R-trivial before the last symbol", "L-trivial", "DA"
SF, QA, NONE = "star-free", "quasi-aperiodic", "none of these"
IN_J, IN_R, IN_DA, IN_SF, IN_QA = {J, R, LAST, L, DA, SF, QA}, {R, LAST, DA, SF, QA}, {DA, SF, QA}, {SF, QA}, {QA}
FORMULAS = Path(__file__).parents[2] / "formulas"

SHIPPED = [
    ("tomita_1", IN_J),
    ("tomita_2", IN_SF),
    ("tomita_3", IN_QA),
    ("tomita_4", IN_SF),
    ("tomita_4.re", IN_SF),
    ("tomita_5", {NONE}),
    ("tomita_6", {NONE}),
    ("tomita_7", IN_J),
    ("dyck1_depth2", IN_SF),
    ("parity", {NONE}),
    ("mod3", {NONE}),
    ("even_length", IN_QA),
    ("aa_star", IN_QA),
    ("flipflop", IN_SF),
    ("flipflop.re", IN_SF),
    ("astar_bstar", IN_J),
    ("ab_plus", IN_SF),
    ("subsequence", IN_J),
    ("first", IN_R),
    ("last", {LAST, L, *IN_DA}),
]
"""Shipped files, with the classes that their languages are in."""
WRITTEN = [
    ("H 1", "0 1", IN_J),
    ("0 & H(0 -> Y 1) & H(1 -> !Y 1) & H(first -> 1)", "0 1", IN_SF),
    ("!O(0 & Y(0 & Y 0))", "0 1", IN_SF),
    ("EVEN(#[0]) & EVEN(#[1])", "0 1", {NONE}),
    ("!O(0 & O(1 & O(0 & O 1)))", "0 1", IN_J),
    ("ODD(#[a])", "a b", {NONE}),
    ("H a & EVEN", "a b", IN_QA),
    ("!r S s", "s r i", {L, *IN_DA}),
    ("H(a -> !O b)", "a b", IN_J),
    ("O(b & O a)", "a b c", IN_J),
    ("O(b & Y a)", "a b", IN_J),
    ("O(b & Y a)", "a b c", IN_SF),
    ("a & O(first & a)", "a b", {LAST, *IN_DA}),
    ("H(a <-> Y b | first) & b", "a b", IN_SF),
]
"""Formulas over alphabets, with the classes that their languages are in."""


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize(("name", "expected"), SHIPPED)
def test_shipped_languages(hardsim: Cli, name: str, expected: set[str]) -> None:
    """Shipped languages are in the classes derived here by hand.

    - A language that says which subsequences occur is J-trivial: only 1's (Tomita 1: no subsequence 0), no 1010
      (Tomita 7), a*b* (no b a), and the subsequence abc.
    - (10)* (Tomita 2), (ab)+ and Dyck-1 to depth 2 are aperiodic, since a power of a word keeps the state or goes to
      the dead state. (ab)^k is inside and (ab)^k a (ab)^k is not, whose inserted word has only symbols of the power, so
      they are outside DA, and outside all classes within it. The same holds for Tomita 4, with (01)^k and
      (01)^k 000 (01)^k, and for the flip-flop with instructions, w0 (w0)^k w0 and w (0w)^k w (0w)^k 0.
    - In Tomita 3 a run of 1's may have to be even, so 1^k moves between two states: not star-free. Words of one length
      agree on that parity, because the run has 1's only: quasi-aperiodic. Even length, and a* of even length, likewise.
    - In Tomita 5 the words 00 and 01 have one length, and only the second changes a parity. In Tomita 6 it is 01 and
      00, modulo 3, in parity 0 and 1, and in `mod3` (the number of 1's modulo 3) 0 and 1. None of the classes has them.
    - "The first symbol is 1" is decided by a state that is never left: R-trivial; a word may be put before another one
      with the same symbols, so it is not L-trivial. "The last symbol is 1" is the mirror image; before the last symbol
      it is every word, or none.
    """
    assert _classes(hardsim, name) == expected


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize(("formula", "alphabet", "expected"), WRITTEN)
def test_languages_of_formulas(hardsim: Cli, formula: str, alphabet: str, expected: set[str]) -> None:
    """Formulas of the command line are in the classes derived here by hand.

    - Tomita 1, 2, 4, 5 and 7 once more, parity, and a* of even length: see the shipped languages.
    - The flip-flop with set, reset and ignore: the last symbol that is no i is s. Its monoid is {1, s, r}, where the
      later of two symbols wins (x s = s, x r = r): L-trivial. It is not R-trivial, as (sr)^k s is inside and (sr)^k is
      not. Before a last i it is the flip-flop again, so the last symbol does not help.
    - a*b* has no subsequence b a, and O(b & O a) is the subsequence a b. Of two symbols the factor a b is the
      subsequence a b, because every symbol between an a and a later b is a or b. A third symbol makes the difference:
      (acb)^k has no factor a b, and (acb)^k a b (acb)^k has it.
    - The first and the last symbol are a: neither R-trivial (a (ba)^k is inside, a (ba)^k b is not) nor, for the mirror
      image of this, L-trivial. Before a last a it is "the first symbol is a", which is R-trivial, and before a last b
      it is empty.
    - (ab)+ as every symbol a exactly after b or at the first position, and b at the end: star-free, not DA.
    """
    assert _classes(hardsim, "-e", formula, "--alphabet", alphabet) == expected


@pytest.mark.parametrize("depth", range(1, 5))
def test_dyck_languages_to_a_depth(hardsim: Cli, tmp_path: Path, depth: int) -> None:
    """Dyck-1 to depth d has d + 1 heights and a dead state. It is star-free and not in DA (see above). A word is known
    by how far it goes down (p) and up (q, with p + q <= d) from where it begins, and by where it ends, from -p to q;
    the others are 0. There are 1 + 1 + 4 + ... + (d + 1)^2 elements: 6, 15, 31 and 56 for d = 1, 2, 3 and 4."""
    expression = ""
    for _ in range(depth):
        expression = f"(a{expression}b)*"
    path = written(tmp_path / "dyck.re", f"alphabet: a b\n{expression}\n")
    result = hardsim("classify", path, "--json", "-").clean().result
    assert {one["name"] for one in result["classification"]["classes"] if one["holds"]} == IN_SF
    found = result["classification"]
    assert (found["states"], found["monoid"]) == (depth + 2, 1 + sum((m + 1) ** 2 for m in range(depth + 1)))


def _classes(hardsim: Cli, *arguments: str) -> set[str]:
    """Return the classes that `classify` reports, after asking `eval` about each word that it prints: `eval` runs the
    semantics of the file, and no automaton."""
    result = hardsim("classify", *arguments, "--json", "-").clean().result
    found = result["classification"]["classes"]
    assert [one["name"] for one in found] == [one.name for one in CLASSES]
    outside = {name for pair in result["witnesses"] for name in pair["classes"]}
    assert outside == {one["name"] for one in found if not one["holds"]} - {NONE}
    text = hardsim("classify", *arguments, "--explain").clean().out
    for pair in result["witnesses"]:
        for key, expected in (("inside", True), ("outside", False)):
            word = "".join(pair[key])
            assert f"\n{word}\n" in text
            (answer,) = hardsim("eval", *arguments, word, "--json", "-").clean().result["words"]
            assert answer["oracle"] is expected
    assert max(map(len, text.splitlines())) <= 80
    return {one["name"] for one in found if one["holds"]}


# ---- the report ----


def test_the_report_has_sizes_classes_witnesses_and_sources(hardsim: Cli) -> None:
    found = hardsim("classify", "tomita_4").clean("minimal, 4 states", "12 elements", "star-free yes", "DA no")
    found.prints("Not DA: (0 1)^k is in the language and (0 1)^k 0 0 0 (0 1)^k is not, for every k >= 1", "0100001")
    found.prints("read by Unique-hard attention with strict masks and without positions", "arXiv:2310.13897")
    found.lacks("arXiv:2505.23623", "nothing is claimed about the weights")
    whole = hardsim("classify", "tomita_4", "--explain").clean("arXiv:2505.23623", "STOC 1998", "NC^1", "LNCS 33")
    for one in CLASSES:
        whole.prints(f"{one.name} meaning {one.meaning} read by {one.transformers} source {one.citation}")


def test_the_position_decides(hardsim: Cli) -> None:
    """At the first position, O a says that the first symbol is a: R-trivial. At the last, that a occurs: J-trivial."""
    first = hardsim("classify", "-e", "O a", "--alphabet", "a b", "--at", "first", "-q")
    assert first.clean().out == "<expression>  R-trivial; 3 states, monoid of 3\n"
    assert hardsim("classify", "-e", "O a", "--alphabet", "a b", "-q").out.startswith("<expression>  J-trivial; 2 ")


def test_dialects_and_propositions(hardsim: Cli) -> None:
    """A bare X at the last position is false if strong, and true if weak; the sets of propositions are symbols."""
    strong, weak = (
        hardsim("classify", "-e", "X p", "--props", "p q", "--dialect", name, "--json", "-").result
        for name in ("strong-next", "weak-next")
    )
    assert strong["classification"]["states"] == weak["classification"]["states"] == 1
    hardsim("classify", "-e", "p & Y q", "--props", "p q").clean("props p q", "{q}{p}")


def test_several_inputs_have_a_line_each(hardsim: Cli) -> None:
    names = ["tomita_1", "tomita_4", "last", "tomita_7"]
    found = hardsim("classify", *names).exits(0)
    assert found.out.splitlines()[:2] == [
        "tomita_1  J-trivial; 2 states, monoid of 2",
        "tomita_4  star-free; 4 states, monoid of 12",
    ]
    found.prints(f"4 results: 2 J-trivial, 1 star-free, 1 {LAST} and {L}")
    hardsim("classify", *names, "--tables").exits(0, "file says Tomita 4", "Not DA: (0 1)^k")
    lines = hardsim("classify", "--lines", FORMULAS / "tomita_1.ltl").exits(0)
    assert lines.out.startswith(f"{FORMULAS / 'tomita_1.ltl'}:")


# ---- what the language comes from ----


@pytest.mark.parametrize("name", ["flipflop.srasp", "flipflop.ahat.json"])
def test_the_specification_of_programs_and_models(hardsim: Cli, tmp_path: Path, name: str) -> None:
    """A language over the symbols of the program, or of the model: one of them occurs, which is J-trivial."""
    symbols = {"flipflop.srasp": "w r i 0 1", "flipflop.ahat.json": "w0 w1 r0 r1 i"}[name]
    path = written(tmp_path / "some_i.ltl", f"alphabet: {symbols}\nO i\n")
    found = hardsim("classify", name, "--against", path).clean(f"nothing is claimed about the weights of {name}")
    found.prints(f"of the specification {path}, read at the last position", "J-trivial yes")
    result = hardsim("classify", name, "--against", path, "--json", "-").clean().result
    assert (result["input"], result["stated_by"]) == (name, str(path))
    brief = hardsim("classify", name, "--against", path, "-q").clean("nothing is claimed about the weights")
    assert brief.out.startswith(f"{name}  J-trivial; 2 states")
    hardsim("classify", name, "--against", path, "--at", "first").exits(0).says("--at: not used")


def test_the_specification_of_an_external_network(hardsim: Cli) -> None:
    """The specification of the trained flip-flop has the expression of the shipped one: star-free, not in DA."""
    spec = FORMULAS / "networks" / "flipflop.spec"
    for arguments in ([spec], [FORMULAS / "networks" / "flipflop", "--against", spec]):
        found = hardsim("classify", *arguments).clean("line next:", "star-free yes", "DA no", "w0w0")
        found.prints(f"nothing is claimed about the weights of {arguments[0]}")


@pytest.mark.parametrize(
    ("at", "formula", "expected", "read"),
    [
        ("last", "O 1", J, "read at the last position"),
        ("first", "F(1 & X 0)", J, "read at the first position"),
        ("each", "1", f"{LAST} and {L}", "read at the last position (the network is judged at each position)"),
    ],
)
def test_specifications_with_one_output(
    hardsim: Cli, tmp_path: Path, at: str, formula: str, expected: str, read: str
) -> None:
    """The formulas say that 1 occurs, that 1 0 occurs (a subsequence, of two symbols), and what the last symbol is."""
    path = _specification(tmp_path, f"at: {at}\ndecide: above 0\noutput 1: {formula}\n")
    hardsim("classify", path, "-q").clean(f"{path} {expected}")
    hardsim("classify", path).clean(f"of the specification {path}, line output 1:, {read}")


def test_the_language_of_two_outputs_is_one(hardsim: Cli, tmp_path: Path) -> None:
    """`language:` makes two lines: an output where the formula is true, and the other where it is false."""
    path = _specification(tmp_path, "at: last\ndecide: argmax of 0 1\naccept: 1\nlanguage: O 1\n")
    alone = hardsim("classify", "-e", "O 1", "--alphabet", "0 1", "--json", "-").clean().result
    found = hardsim("classify", path, "--json", "-").clean().result
    assert found["classification"]["classes"] == alone["classification"]["classes"]
    hardsim("classify", path).clean(f"of the specification {path}, line language:, read at the last position")


def _specification(tmp_path: Path, text: str) -> Path:
    network = FORMULAS / "networks" / "majority"
    head = f"network: {network}\nalphabet: 0 1\ntokens: 0 1 <bos> <sep> <eos> <pad>\ninput: <bos> * <sep>\n"
    return written(tmp_path / "mine.spec", head + text)


def test_a_compiled_formula_is_classified_by_its_formula(hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "since.model.json"
    hardsim("compile", "since", "-o", path).exits(0)
    found = hardsim("classify", path).clean("the formula in this model, read at the last position", "L-trivial yes")
    found.prints(f"nothing is claimed about the weights of {path}")


# ---- refusals ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dyck2.srasp"], "dyck2.srasp is an S-RASP program: what it computes has no automaton here"),
        (["ties.ahat.json"], "Give a specification of what it should compute: --against FILE."),
        ([FORMULAS / "networks" / "flipflop"], "is an external network: what it computes has no automaton here"),
        (["since", "--against", "last"], "since itself says which words are accepted"),
        (["sort.srasp", "--against", "last"], "sort.srasp maps words to words"),
        (["dyck2.srasp", "--against", "last"], "dyck2.srasp and last have different alphabets"),
        ([FORMULAS / "networks" / "majority.spec"], "leaves words open (assume:), so it states no single language"),
        ([], "nothing to read"),
        (["since", "--within", "starfree"], "Did you mean star-free?"),
        (["since", "-e", "a"], "-e gives a formula, so no file can be given with it"),
        (["-e", "a S d", "--alphabet", "a b"], "<expression>:1:5: error: unknown symbol or name 'd'"),
        (["since", "--props", "p", "--alphabet", "a"], "a formula has only one of the two"),
    ],
)
def test_refusals(hardsim: Cli, arguments: list[object], message: str) -> None:
    hardsim("classify", *arguments).refused(message)


def test_specifications_without_one_language_are_refused(hardsim: Cli, tmp_path: Path) -> None:
    path = _specification(tmp_path, "at: last\ndecide: argmax of 0 1\noutput 0: 0\noutput 1: 1\n")
    hardsim("classify", path).refused(f"{path} has 2 lines output, each with a language of its own")
    path = _specification(tmp_path, "at: last\ndecide: value within 1/10\nvalue 1: #[1]\n")
    hardsim("classify", path).refused("states its answers by a program or as numbers", code=3)
    network = FORMULAS / "networks" / "majority"
    hardsim("classify", path, "--against", network).refused("already specifies what its network should compute")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("majority", "hardsim makes no automaton of '#L[1] > #L[0]': it compares counts that can both grow"),
        ("dyck1.cr", "hardsim makes no automaton of 'opened = closed'"),
        ("square_length", "hardsim makes no automaton of 'SQUARE': SQUARE is not among the predicates that it covers"),
    ],
)
def test_formulas_without_an_automaton_are_undecided(hardsim: Cli, name: str, reason: str) -> None:
    hardsim("classify", name).refused(f"error: {name}: {reason}", "classify needs a regular language", code=3)
    # the other input has its result
    hardsim("classify", name, "tomita_1").exits(3, "tomita_1  J-trivial", "1 result: 1 J-trivial").says(reason)


def test_what_exceeds_the_limit_is_not_decided(hardsim: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for 3 elements, the 12 of Tomita 4 are too many; that it is outside DA follows without them."""
    monkeypatch.setattr(classes.classify, "__defaults__", (3,))
    found = hardsim("classify", "tomita_4").clean("star-free not decided", "DA no", "more than 3", code=3)
    found.prints("quasi-aperiodic not decided")
    hardsim("classify", "tomita_4", "-q").clean("not decided: star-free, quasi-aperiodic, none of these", code=3)
    hardsim("classify", "tomita_4", "--within", "DA").exits(1)
    hardsim("classify", "tomita_4", "--within", "star-free").exits(3)
    # a language in DA is star-free, however large its monoid is
    hardsim("classify", "tomita_7", "--within", "star-free").exits(0)
    hardsim("classify", "tomita_7").exits(0, "more than 3", "J-trivial yes")


# ---- continuous integration ----


def test_a_class_can_be_required(hardsim: Cli, tmp_path: Path) -> None:
    assert [one.name for one in CLASSES] == [*LANGUAGE_CLASSES, NONE]
    hardsim("classify", "tomita_4", "--within", "star-free").clean("star-free yes")
    found = hardsim("classify", "tomita_4", "--within", "DA", "-q").clean(code=1)
    found.prints("outside DA, which --within names", "Not DA: (0 1)^k", "In the language, on a line of its own:")
    assert {"01", "0100001"} <= {*found.out.splitlines()}
    report = hardsim("classify", "tomita_4", "tomita_1", "--within", DA, "--format", "junit")
    assert report.code == 1
    cases = ElementTree.fromstring(report.out).iter("testcase")
    failures = {case.get("name"): case.find("failure") for case in cases}
    assert [failure is not None for failure in failures.values()] == [True, False]
    path = tmp_path / "found.json"
    hardsim("classify", "tomita_4", "--json", path).clean("12 elements")
    assert json.loads(path.read_text(encoding="utf-8"))["results"][0]["classification"]["monoid"] == 12
    assert hardsim("classify", "tomita_4", "--format", "json").clean().json["command"] == "classify"


@pytest.mark.parametrize(
    ("witness", "inside", "outside"),
    [
        # k is 2 or 3 modulo 3 from 2 on; the shortest accepted one is k = 3
        (ClassWitness(POWERS, ("x",), ("a",), (), ("z",), (True, False, False), 2), "xaaaz", "xaaz"),
        # two of three v's are accepted, and none is not: the words have one length
        (ClassWitness(BLOCKS, (), ("a",), ("b",), (), (False, False, True), 1), "aa", "bb"),
        (ClassWitness(BLOCKS, (), ("a",), ("b",), (), (True, False), 1), "b", "a"),
    ],
)
def test_two_words_of_a_witness(witness: ClassWitness, inside: str, outside: str) -> None:
    assert tuple(map("".join, words_of(witness))) == (inside, outside)


def test_classes_are_found_by_name_alone() -> None:
    found = load("since").classify()
    assert "star-free" in found
    assert "aperiodic" not in found
    assert len([*found]) == 8
    with pytest.raises(KeyError, match="'aperiodic' is not one of 'J-trivial', 'R-trivial'"):
        found["aperiodic"]


@pytest.mark.parametrize(
    ("name", "hint"), [("aperiodic", "star-free"), ("LTL", "star-free"), ("FO2", "DA"), ("R-trivia", "R-trivial")]
)
def test_other_names_of_a_class_are_hints(hardsim: Cli, name: str, hint: str) -> None:
    hardsim("classify", "since", "--within", name).refused(f"Did you mean {hint}?")
