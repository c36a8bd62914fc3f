"""The second link: a program of another formula is not proved to compute this one."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import get_args

import pytest

from hardsim.lang.core import Node
from hardsim.network.numbers import ONE
from hardsim.proof.formulas.facts import Facts
from hardsim.proof.formulas.network import prove_meaning
from hardsim.proof.shared.result import LinkProof
from hardsim.targets.subject import own_predicates
from tests.support.check import ModelOptions, Sites, compile_formula, prove
from tests.support.language import desugar, parse_expression, parse_text
from tests.support.model import Affine, Head, Mask, PredicateColumn, Program, Unit, Weighting
from tests.support.subjects import compiled, known

SITES = Sites(tuple(range(1, 8)))


def meaning(program: Program, text: str) -> LinkProof:
    """Try to prove that a program computes a formula."""
    return prove_meaning(program, desugar(parse_expression(text, ["a", "b"])), Facts(SITES, ("a", "b")))


PAIRS = (
    ("a S b", "b S a"),
    ("a S b", "a T b"),
    ("Y a", "X a"),
    ("Y a", "WY a"),
    ("Y a", "Y b"),
    ("Y a", "Y Y a"),
    ("O(a & Y b)", "O(a & O b)"),
    ("a U Y b", "F Y b"),
    ("a S Y b", "O Y b"),
    ("Y a ^ Y b", "Y a | Y b"),
    ("first & a", "last & a"),
    ("O(first & a)", "O(last & a)"),
    ("#L[a] > #L[b]", "#L[a] >= #L[b]"),
    ("#L[a] > #L[b]", "#L[b] > #L[a]"),
    ("#L[a] > 1", "#[a] > 1"),
    ("O(#L[a] > 1)", "O(#R[a] > 1)"),
    ("2 * #L[a] > #L[b]", "#L[a] > #L[b]"),
    ("#L[a] > pos - 2", "#L[a] > pos - 1"),
    ("ODD(#L[a])", "EVEN(#L[a])"),
    ("ODD(#L[a])", "ODD(#L[b])"),
    ("MOD(3, 1, #L[a])", "MOD(3, 2, #L[a])"),
    ("PRIME(#L[a])", "ODD(#L[a])"),
    ("MOD(2, 0, #L[a]) & !O a & Y b", "MOD(2, 1, #L[a]) & !O a & Y b"),  # the others say that the count is 0
    ("!MOD(2, 0, #L[a]) | O a | Y b", "!MOD(2, 0, #L[a]) | O b | Y b"),
    ("PRIME", "ODD"),
    ("O(a & 2 * pos > len)", "O(a & 2 * pos >= len)"),
)


def test_no_kind_of_node_is_left_out_above() -> None:
    cores = [desugar(parse_expression(text, ["a", "b"])) for text, _ in PAIRS]
    assert {type(node) for core in cores for node in core.nodes} == {*get_args(Node)}


SIGNS = (("#L[a] > #L[b]", "#L[a] >= #L[b]"), ("#R[a] = 2", "#R[a] = 1"), ("O(#[a] > 2 * #[b])", "O(#[a] > #[b])"))


@pytest.mark.parametrize(
    ("text", "other", "counting"), [*((*pair, None) for pair in PAIRS), *((*pair, "sign") for pair in SIGNS)]
)
def test_a_formula_is_itself_and_no_other(text: str, other: str, counting: str | None) -> None:
    program = compiled(text, counting=counting).program
    assert meaning(program, text).reason is None
    assert meaning(program, other).reason is not None


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("O a", "!H !a"),
        ("a W b", "b R (a | b)"),
        ("a -> b", "!(a & !b)"),
        ("(a S b) ^ Y a", "(Y a & !(a S b)) | (a S b & !Y a)"),
        ("2 * #L[a] >= 3", "#L[a] >= 2"),
        ("#L[a] = #L[b]", "#L[a] >= #L[b] & #L[b] >= #L[a]"),
    ],
)
def test_equal_formulas_have_equal_meanings(text: str, other: str) -> None:
    assert meaning(compiled(text).program, other).reason is None


HEADS: dict[str, Callable[[Head], Head]] = {
    "mirrored": lambda head: replace(head, mask=Mask.PAST, weighting=Weighting.LEFTMOST),
    "reads b": lambda head: replace(head, values=((head.out, Affine.coordinate("[b]")),)) if head.score else head,
    "looks for a": lambda head: replace(head, select=Affine.coordinate("[a]")) if head.select else head,
}
UNITS: dict[str, Callable[[Unit], Unit]] = {
    "shifted": lambda unit: replace(unit, pre=unit.pre + Affine.constant(1)),
    "loose": lambda unit: replace(unit, pre=unit.pre.scaled(Fraction(1, 3))),
    "negated": lambda unit: replace(unit, outs=((unit.out, -1),)),
}
EDITS = {
    ("a S Y b", None): ["mirrored"],
    ("Y a", None): ["reads b", "looks for a", "shifted"],
    ("O a", None): ["shifted", "negated"],
    ("#L[a] > #L[b]", None): ["shifted", "loose", "reads b"],
    ("#L[a] > #L[b]", "sign"): ["shifted", "loose", "negated", "reads b", "mirrored"],
    ("#[a] > 2", None): ["mirrored"],
    ("ODD(#L[a])", None): ["shifted", "negated", "reads b"],
    ("first & a", None): ["shifted"],
}


@pytest.mark.parametrize(("text", "counting", "edit"), [(*key, edit) for key, edits in EDITS.items() for edit in edits])
def test_an_edited_program_is_not_proved(text: str, counting: str | None, edit: str) -> None:
    program = compiled(text, counting=counting).program
    head, unit = HEADS.get(edit, lambda head: head), UNITS.get(edit, lambda unit: unit)
    layers = [
        replace(layer, heads=tuple(map(head, layer.heads)), units=tuple(map(unit, layer.units)))
        for layer in program.layers
    ]
    other = replace(program, layers=tuple(layers))
    assert other != program
    assert meaning(other, text).reason is not None


def test_another_column_of_a_predicate_is_another_predicate() -> None:
    program = compiled("ODD(#L[a])").program
    encodings = tuple(
        replace(item, value=replace(item.value, offset=item.value.offset + 1))
        if isinstance(item.value, PredicateColumn)
        else item
        for item in program.encodings
    )
    assert encodings != program.encodings
    assert meaning(replace(program, encodings=encodings), "ODD(#L[a])").reason is not None


def test_an_own_predicate_is_compared_by_its_values() -> None:
    text = "alphabet: a b\npred P(c, n) = c != 0 and n mod c == 0\npred Q(c, n) = n mod (c + 1) == 0\n"
    file, other = (parse_text(text + f"{name}(#L[a])\n", "<test>") for name in "PQ")
    program = compile_formula(file, ModelOptions()).program
    assert own_predicates(file).keys() == {"P", "Q"}
    assert prove_meaning(program, desugar(file), Facts(SITES, file.alphabet, own_predicates(file))).reason is None
    assert prove_meaning(program, desugar(other), Facts(SITES, other.alphabet, own_predicates(other))).reason


def test_an_output_that_nothing_rounds_has_no_meaning() -> None:
    program = replace(compiled("O a").program, output="S2.read")
    assert "is read without being rounded" in known(meaning(program, "O a").reason)


def test_another_alphabet_is_no_proof() -> None:
    core = desugar(parse_expression("O a", ["a", "b", "c"]))
    assert prove_meaning(compiled("O a").program, core, Facts(SITES, ("a", "b"))).reason is not None


def test_a_future_formula_is_not_proved_by_its_prefixes() -> None:
    # `F a` means a at the last position, but not at an earlier one: one length must not represent all.
    program = compiled("a | first & false", "causal-position").program
    proof = prove(compiled("O a", "causal-position").model, program, 3, desugar(parse_expression("F a", ["a", "b"])))
    assert not proof.prefix


def test_constants_are_formulas() -> None:
    for text in ("true", "false"):
        assert meaning(compiled(text).program, text).reason is None
    assert compiled("true").program.output == ONE
