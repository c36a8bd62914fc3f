"""Tests of instances: the network and the hints as text, names of modules, and comments that nothing ends early."""

import re
from fractions import Fraction

import pytest

from hardsim.errors import InputError
from hardsim.lang.arith import parse_arith
from hardsim.lang.ltl_parser import parse_text
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proving.rocq.folder import modules
from hardsim.proving.rocq.hints import exponential_below, rounded_up
from hardsim.proving.rocq.instance import instance_text, module_name, statement_of
from hardsim.proving.rocq.network import PowerProduct, power_product
from hardsim.proving.rocq.syntax import comment, folded
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.subject import Subject, own_predicates


def compiled(text: str, name: str = "x.ltl", **options: str) -> Subject:
    """Compile the text of a formula file."""
    return compile_formula(parse_text(text), ModelOptions(**options), name=name)  # type: ignore[arg-type]  # texts


def instance(subject: Subject) -> str:
    """Return the instance of a formula that is proved for every length."""
    claim = subject.prover()
    proof = prove_general(subject.model, subject.program, None, own_predicates(claim.formula))  # type: ignore[union-attr]
    assert proof.proved
    return instance_text(subject, statement_of(subject, modules()), modules(), proof)


def test_the_network_of_since() -> None:
    # One head looks for the last b or c at temperature 1/n, by beta = 4 on the score [b or c] + j/(2n), and reads b;
    # clip(2 read - 1/2) is relu(2 read - 1/2) - relu(2 read - 3/2).
    text = " ".join(statement_of(compiled("alphabet: a b c\na S b\n"), ()).network.split())
    for part in (
        "Coordinates: 0 1, 1 [b], 2 [b c], 3 (-1)^i, 4 i/n, 5 S4.read, 6 S4.",
        "Definition N : network := Network 3 true",
        "[(0, 0, (1 # 1)); (1, 0, (1 # 1)); (1, 1, (1 # 1)); (1, 2, (1 # 1)); (2, 0, (1 # 1)); (2, 2, (1 # 1))]",
        "[(3, Number (Monomial true 0%Z 0%Z)); (4, Number (Monomial false 1%Z (-1)%Z))]",
        "Head Future 1 [(0, 0, (4 # 1))] [(0, 2, (1 # 1)); (0, 4, (1 # 2))] [(5, 1, (1 # 1))]",
        "[(0, 5, (2 # 1)); (1, 5, (2 # 1))] [(-1 # 2); (-3 # 2)] [(6, 0, (1 # 1)); (6, 1, (-1 # 1))]",
    ):
        assert part in text
    assert text.endswith("6 (Monomial false 0%Z (-1)%Z).")


def test_the_hints_of_since() -> None:
    # Nodes: true, a, b, b or c, a S b, first, last, even. The head reads node 4 up to e^-2,
    # rounded up to a multiple of 2^-20.
    text = " ".join(instance(compiled("alphabet: a b c\na S b\n")).split())
    nodes = "NAnd []; NLetters [0]; NLetters [1]; NLetters [1; 2]; NSince (1, false) (2, false); NFirst; NLast; NEven"
    assert f"[ {nodes}]" in text
    assert "Hint 5 (Reach 4 ByLength (4 # 1) (70955 # 524288)) [3; 2; 1]" in text
    assert "Unit 6 (4, false) [4]" in text
    assert "Theorem network_computes_formula : computes N AtLast F." in text


def test_the_hints_of_two_counts_in_one_conjunction() -> None:
    """Each head decides the count of what it reads: the first of a, the second of the conjunction that it reads."""
    text = " ".join(instance(compiled("alphabet: a b\n#L[a] >= 1 & #L[b & #L[a] = 0] = 0\n")).split())
    nodes = re.search(r"\[ (NAnd .*?; NLast; NEven)", text)
    assert nodes is not None
    listed = nodes[1].split("; N")
    counts = [place for place, node in enumerate(listed) if node.startswith("AtLeast [(1%Z, (Before")]
    letter, conjunction = listed.index("Letters [0]"), next(k for k, node in enumerate(listed) if "And [(" in node)
    assert [re.findall(r"\((\d+), false\)", listed[place]) for place in counts] == [[str(letter)], [str(conjunction)]]
    assert re.findall(r"Reach (\d+)", text) == [str(place) for place in counts]


def test_the_position_of_reading() -> None:
    assert ": computes N AtFirst F." in instance(compiled("alphabet: a b\nat: first\nF b\n"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", (False, 0, 0)), ("i", (False, 1, 0)), ("1/n", (False, 0, -1)), ("i/n", (False, 1, -1)),
        ("n*i^2", (False, 2, 1)), ("(-1)^i*i^2", (True, 2, 0)), ("1/i^2", (False, -2, 0)), ("n/(i*n)", (False, -1, 0)),
        ("((-1)^i)^2", (False, 0, 0)), ("2*i", None), ("i + n", None), ("2^i", None), ("log(n)", None),
    ],
)  # fmt: skip
def test_products_of_powers(text: str, expected: tuple[bool, int, int] | None) -> None:
    found = power_product(parse_arith(text, ("i", "n"), "test").tree)
    assert found == (None if expected is None else PowerProduct(*expected))


def test_errors_are_bounds() -> None:
    # e > 2.718281828459045, and 1/e < 0.36787944117144235 (Abramowitz and Stegun, table 4.4).
    below = exponential_below(Fraction(1))
    assert Fraction("2.718281828459045") < below < Fraction("2.718281828459046")
    above = rounded_up(1 / below)
    assert Fraction("0.36787944117144232") < above < Fraction("0.36787944117144232") + Fraction(1, 2**20)
    assert rounded_up(Fraction(-1, 3)) == Fraction(-349525, 2**20)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("formulas/since.ltl", "Since"), ("an_bn.ltl", "An_bn"), ("x.model.json", "X"), ("lines.ltl:7", "Lines_7"),
        ("<expression>", "Formula"), ("2nd try.ltl", "Formula_2nd_try"), ("é.ltl", "Formula"), (".ltl", "Formula"),
        ("values.ltl", "Values_formula"), ("CHECK.ltl", "CHECK_formula"), ("let.ltl", "Let_formula"),
        ("a" * 300 + ".ltl", "A" + "a" * 59),
    ],
)  # fmt: skip
def test_names_of_modules(name: str, module: str) -> None:
    assert module_name(name, modules()) == module


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "(* plain *)"),
        ("a (* b", "(* a ( * b *)"),
        ("a *) b", "(* a * ) b *)"),
        ("(*)", "(* ( * ) *)"),
        ('say "a', "(* say ''a *)"),
        ("\x1b[31m", r"(* \x1b[31m *)"),
        ("two\nlines", "(* two\n   lines *)"),
        ("(", "(* ( *)"),
        ("*", "(* * *)"),
        ("", "(*  *)"),
    ],
)
def test_nothing_ends_a_comment_early(text: str, expected: str) -> None:
    assert comment(text) == expected


def test_long_lines_are_broken_at_spaces_alone() -> None:
    line = "  [" + "; ".join(f"({k}, {k})" for k in range(40)) + "]"
    broken = folded(line).split("\n")
    assert len(broken) > 1
    assert all(len(one) <= 120 for one in broken)
    assert " ".join(folded(line).split()) == " ".join(line.split())


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"regime": "none"}, "the regime none"),
        ({"tau": "1/(2*n)"}, "the temperature 1/(2*n) (--tau)"),
    ],
)
def test_networks_that_the_library_does_not_cover(options: dict[str, str], part: str) -> None:
    made = {name: parse_arith(value, ("n",), "--tau") if name == "tau" else value for name, value in options.items()}
    with pytest.raises(InputError) as caught:
        statement_of(compiled("alphabet: a b\na S b\n", **made), ())  # type: ignore[arg-type]  # an expression
    assert part in str(caught.value)
