"""The second link: a program that means another formula is not proved to mean this one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from hardsim.checking.open import compile_formula
from hardsim.checking.subject import ModelOptions, Subject, own_predicates
from hardsim.lang.desugar import desugar
from hardsim.lang.parse import parse_expression, parse_text
from hardsim.network.columns import PredicateColumn
from hardsim.network.numbers import ONE, Mask
from hardsim.program.model import Affine, Head, Program, Unit, Weighting
from hardsim.proof.facts import Facts
from hardsim.proof.network import prove, prove_meaning
from hardsim.proof.result import LinkProof
from hardsim.proof.sites import Sites

SITES = Sites(tuple(range(1, 8)))


def subject_of(text: str, regime: str = "temperature", counting: str | None = None) -> Subject:
    options = ModelOptions(regime, counting="sign" if counting == "sign" else None)
    return compile_formula(parse_expression(text, ["a", "b"]), options)


def meaning(program: Program, text: str) -> LinkProof:
    """Whether a program is proved to be a formula."""
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
    ("PRIME", "ODD"),
    ("O(a & 2 * pos > len)", "O(a & 2 * pos >= len)"),
)


@pytest.mark.parametrize(("text", "other"), PAIRS)
def test_a_formula_is_itself_and_no_other(text: str, other: str) -> None:
    program = subject_of(text).program
    assert meaning(program, text).reason is None
    assert meaning(program, other).reason is not None


@pytest.mark.parametrize(
    ("text", "other"),
    [("#L[a] > #L[b]", "#L[a] >= #L[b]"), ("#R[a] = 2", "#R[a] = 1"), ("O(#[a] > 2 * #[b])", "O(#[a] > #[b])")],
)
def test_sign_tests_are_their_own_comparison(text: str, other: str) -> None:
    program = subject_of(text, counting="sign").program
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
    assert meaning(subject_of(text).program, other).reason is None


def edited(program: Program, edit: Callable[[Head | Unit], Head | Unit]) -> Program:
    """A program with every head and hidden unit edited."""
    layers = []
    for layer in program.layers:
        heads = tuple(item for head in layer.heads if isinstance(item := edit(head), Head))
        units = tuple(item for unit in layer.units if isinstance(item := edit(unit), Unit))
        layers.append(replace(layer, heads=heads, units=units))
    return replace(program, layers=tuple(layers))


def mirrored(item: Head | Unit) -> Head | Unit:
    return replace(item, mask=Mask.PAST, weighting=Weighting.LEFTMOST) if isinstance(item, Head) else item


def reads_b(item: Head | Unit) -> Head | Unit:
    if not isinstance(item, Head) or not item.score:
        return item
    return replace(item, values=((item.out, Affine.coordinate("[b]")),))


def looks_for_a(item: Head | Unit) -> Head | Unit:
    return replace(item, select=Affine.coordinate("[a]")) if isinstance(item, Head) and item.select else item


def shifted(item: Head | Unit) -> Head | Unit:
    return replace(item, pre=item.pre + Affine.constant(1)) if isinstance(item, Unit) else item


def loose(item: Head | Unit) -> Head | Unit:
    return replace(item, pre=item.pre.scaled(Fraction(1, 3))) if isinstance(item, Unit) else item


def negated(item: Head | Unit) -> Head | Unit:
    return replace(item, outs=((item.out, -1),)) if isinstance(item, Unit) else item


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("a S Y b", mirrored),
        ("Y a", reads_b),
        ("Y a", looks_for_a),
        ("Y a", shifted),
        ("O a", shifted),
        ("O a", negated),
        ("#L[a] > #L[b]", shifted),
        ("#L[a] > #L[b]", loose),
        ("#L[a] > #L[b]", reads_b),
        ("#[a] > 2", mirrored),
        ("ODD(#L[a])", shifted),
        ("ODD(#L[a])", negated),
        ("ODD(#L[a])", reads_b),
        ("first & a", shifted),
    ],
)
def test_an_edited_program_is_not_proved(text: str, edit: Callable[[Head | Unit], Head | Unit]) -> None:
    program = subject_of(text).program
    other = edited(program, edit)
    assert other != program
    assert meaning(other, text).reason is not None


@pytest.mark.parametrize("edit", [shifted, loose, negated, reads_b, mirrored])
def test_an_edited_sign_test_is_not_proved(edit: Callable[[Head | Unit], Head | Unit]) -> None:
    text = "#L[a] > #L[b]"
    program = subject_of(text, counting="sign").program
    assert meaning(edited(program, edit), text).reason is not None


def test_another_column_of_a_predicate_is_another_predicate() -> None:
    program = subject_of("ODD(#L[a])").program
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
    program = replace(subject_of("O a").program, output="S2.read")
    reason = meaning(program, "O a").reason
    assert reason is not None
    assert "nothing rounds" in reason


def test_another_alphabet_is_no_proof() -> None:
    core = desugar(parse_expression("O a", ["a", "b", "c"]))
    assert prove_meaning(subject_of("O a").program, core, Facts(SITES, ("a", "b"))).reason is not None


def test_a_future_formula_is_not_proved_by_its_prefixes() -> None:
    # `F a` at the last position means a, but at an earlier one it does not: one length must not stand for all.
    program = subject_of("a | first & false", "causal-position").program
    proof = prove(subject_of("O a", "causal-position").model, program, 3, desugar(parse_expression("F a", ["a", "b"])))
    assert not proof.prefix


def test_constants_are_formulas() -> None:
    for text in ("true", "false"):
        assert meaning(subject_of(text).program, text).reason is None
    assert subject_of("true").program.output == ONE
