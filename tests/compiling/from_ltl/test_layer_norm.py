"""Regime `layer-norm`: the construction against the definition, its proof, and networks with one mistake."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from operator import and_, or_, xor
from pathlib import Path
from random import Random

import pytest

from hardsim.compiling.from_ltl.layer_norm import DELTA, pairs_of
from hardsim.lang.desugar import desugar
from hardsim.proof.formulas.normed import prove_normed
from hardsim.proof.shared.result import Proof
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.formula import FormulaTarget
from tests.support.language import HardsimError, InputError, parse_text
from tests.support.model import Affine, ExactModel, Program, SoftModel, assemble

WAYS = Path(__file__).parents[3] / ".." / "shared" / "ways"
Word = tuple[str, ...]


@dataclass(frozen=True)
class Drawn:
    """A formula: its text, and its truth at every position of a word, by the definition."""

    text: str
    truth: Callable[[Word], list[bool]]


def symbol(name: str) -> Drawn:
    return Drawn(name, lambda word: [one == name for one in word])


def negation(one: Drawn) -> Drawn:
    return Drawn(f"!({one.text})", lambda word: [not held for held in one.truth(word)])


def joined(op: str, left: Drawn, right: Drawn) -> Drawn:
    table = {"&": and_, "|": or_, "^": xor}[op]
    text = f"(({left.text}) {op} ({right.text}))"
    return Drawn(text, lambda word: [table(*pair) for pair in zip(left.truth(word), right.truth(word), strict=True)])


def compared(side: str, terms: Sequence[tuple[int, Drawn]], constant: int) -> Drawn:
    def truth(word: Word) -> list[bool]:
        columns = [(value, one.truth(word)) for value, one in terms]
        ends = range(1, len(word) + 1) if side == "L" else [len(word)] * len(word)
        return [sum(value * sum(column[:end]) for value, column in columns) + constant >= 0 for end in ends]

    shown = " ".join(f"{'-' if value < 0 else '+'} {abs(value)} * #{side}[{one.text}]" for value, one in terms)
    return Drawn(f"(0 {shown} {'-' if constant < 0 else '+'} {abs(constant)} >= 0)", truth)


def once(one: Drawn) -> Drawn:
    return Drawn(f"O ({one.text})", lambda word: [any(one.truth(word)[: i + 1]) for i in range(len(word))])


def historically(one: Drawn) -> Drawn:
    return Drawn(f"H ({one.text})", lambda word: [all(one.truth(word)[: i + 1]) for i in range(len(word))])


def first() -> Drawn:
    return Drawn("first", lambda word: [i == 0 for i in range(len(word))])


def drawn(rng: Random, depth: int, sides: Sequence[str] = ("L", "L", "")) -> Drawn:
    """Return a random formula of counts."""
    kind = rng.random()
    if depth == 0 or kind < 0.12:
        return symbol(rng.choice("ab"))
    if kind < 0.22:
        return negation(drawn(rng, depth, sides))
    if kind < 0.48:
        return joined(rng.choice("&&|^"), drawn(rng, depth, sides), drawn(rng, depth, sides))
    if kind < 0.6:
        return rng.choice([once, historically])(drawn(rng, depth - 1, sides))
    if kind < 0.64:
        return first()
    terms = [(rng.choice([-3, -2, -1, 1, 2, 3]), drawn(rng, depth - 1, sides)) for _ in range(rng.randint(1, 3))]
    return compared(rng.choice(sides), terms, rng.randint(-3, 3))


def target_of(text: str, regime: str = "layer-norm") -> FormulaTarget:
    return compile_formula(parse_text(f"alphabet: a b\n{text}\n", "f"), ModelOptions(regime=regime))


def proof_of(target: FormulaTarget) -> Proof:
    assert target.formula is not None
    return prove_normed(target.model, target.program, desugar(target.formula), (1, 0))


def require_right(one: Drawn, longest: int) -> FormulaTarget | None:
    """Compare every position of every word up to a length with the definition, and require a proof. Return None if
    a part of the formula has no construction."""
    try:
        target = target_of(one.text)
    except HardsimError as error:
        if "looks ahead" not in str(error):  # "#[f] >= 1" is O f | F f
            raise
        return None
    assert proof_of(target).reason is None, one.text
    model, program = ExactModel(target.program), target.program
    size = {abs(letter.value) for letter in program.letters}
    for n in range(1, longest + 1):
        words = list(product("ab", repeat=n))
        column = model.run(words).columns[program.output]
        for number, word in enumerate(words):
            values = column.values(number)[1:]
            assert [value > 0 for value in values] == one.truth(word), (one.text, word)
            assert {abs(value) for value in values} == size
    return target


def test_random_formulas_are_right_at_every_position_and_proved_for_every_length() -> None:
    rng, done = Random(11), 0
    while done < 12:
        done += require_right(drawn(rng, 2), 4) is not None


@pytest.mark.slow
def test_a_hundred_random_formulas_on_all_words_to_length_8() -> None:
    rng, done = Random(3), 0
    while done < 100:
        done += require_right(drawn(rng, 3), 8) is not None


A, B = symbol("a"), symbol("b")
MAJORITY = compared("L", [(1, A), (-1, B)], 0)
NAMED = {
    "majority of majorities": compared("L", [(1, MAJORITY), (-1, negation(MAJORITY))], 0),
    "all positions": compared("L", [(1, compared("", [(1, A), (-1, B)], 0)), (-2, A)], 1),
    "letter": negation(A),
    "one comparison that is always true": compared("L", [(1, compared("L", [(1, A), (1, B)], -1)), (-1, A)], 0),
}


EQUAL = {
    "counts that cancel": compared("L", [(-1, B), (1, negation(A))], 0),
    "counts that cancel below": compared("L", [(1, compared("L", [(2, B), (-2, negation(A))], -1)), (1, A)], -1),
    "literals that no symbol has together": joined(
        "&", negation(joined("^", A, joined("&", negation(B), negation(first())))), A
    ),
    "a comparison with a part that is below it": compared(
        "L", [(1, joined("|", joined("&", once(B), joined("&", A, historically(A))), B)), (-2, first())], -2
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_parts_that_are_equal_on_all_words_are_proved(name: str) -> None:
    assert require_right(EQUAL[name], 5) is not None


@pytest.mark.parametrize("name", NAMED)
def test_named_formulas(name: str) -> None:
    target = require_right(NAMED[name], 5)
    assert target is not None
    assert len(target.model.layers) == {"letter": 1, "majority of majorities": 2, "all positions": 2}.get(name, 2)


def test_a_nesting_level_takes_one_layer() -> None:
    one = A
    for depth in range(1, 5):
        one = compared("L", [(1, one), (-1, negation(one))], 0)
        assert len(target_of(one.text).model.layers) == depth
    knee = parse_text((WAYS / "knee_d3.ltl").read_text(encoding="utf-8"), "knee")
    target = compile_formula(knee, ModelOptions(regime="layer-norm"))
    assert (len(target.model.layers), len(target.model.heads)) == (4, 4)
    assert proof_of(target).proved
    # Decisions of one comparison and older literals, one in the other, are computed in its layer.
    nested = joined("&", A, joined("|", B, joined("&", negation(B), MAJORITY)))
    assert len(target_of(nested.text).model.layers) == 1


def test_widths_make_the_root_rational() -> None:
    for live in range(1, 60):
        for scratch in range(12):
            width, root = pairs_of(live, scratch)
            assert width >= live + scratch
            assert root * root == Fraction(width, live)
            assert width <= 4 * max(live, scratch, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a S b", "'S' reads at the nearest position where something holds"),
        ("Y a", "'Y' reads one step back"),
        ("a U b", "'U' looks ahead"),
        ("X a", "'X' looks ahead"),
        ("F a", "'F' looks ahead"),
        ("#R[a] - #R[b] >= 0", "would need an end of sequence"),
        ("#L[a] - #[b] >= 0", "mixes counts"),
        ("PRIME(#L[a])", "is a predicate of a number"),
        ("EVEN(#[a])", "is a predicate of a number"),
        ("EVEN(pos)", "is a predicate of a number"),
    ],
)
def test_operators_without_a_construction_are_refused_with_the_regimes_that_have_one(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        target_of(text)
    named = re.search(r"The regimes that can compute the whole formula: (.*?)\.", str(caught.value))
    assert named is not None
    for regime in named[1].split(", "):
        target_of(text, regime)


def changed(target: FormulaTarget, change: Callable[[Program], Program]) -> FormulaTarget:
    """Return a target with another program, and the network that it makes."""
    from hardsim.targets.sharpness import OneNetwork

    program = change(target.program)
    return replace(target, program=program, sharpness=OneNetwork.of(program, target.budget))


def first_head(program: Program, change: Callable[[str, Affine], Affine]) -> Program:
    layer = program.layers[0]
    (head,) = layer.heads
    values = tuple((out, change(out, form)) for out, form in head.values)
    return replace(program, layers=(replace(layer, heads=(replace(head, values=values),)), *program.layers[1:]))


def first_layer(program: Program, epsilon: Fraction | None) -> Program:
    return replace(program, layers=(replace(program.layers[0], norm_2=epsilon), *program.layers[1:]))


def shifted(out: str, form: Affine) -> Affine:
    """Another constant of the comparison: 1 more than its own."""
    extra = Affine.of({"c": 1, "bos": 1}).scaled(Fraction(1, 2))
    return form + extra.scaled({"sum1": 1, "-sum1": -1}.get(out, 0))


def large(out: str, form: Affine) -> Affine:
    """A delta of eight times its size."""
    return form.scaled(8) if out.endswith(DELTA) else form


MISTAKES: dict[str, Callable[[Program], Program]] = {
    "wrong bias": lambda program: first_head(program, shifted),
    "delta too large": lambda program: first_head(program, large),
    "norm left out": lambda program: first_layer(program, None),
    "an epsilon": lambda program: first_layer(program, Fraction(1, 100)),
    "no count of one symbol": lambda program: first_head(
        program, lambda out, form: Affine.of([one for one in form.terms if "[b]" not in one[0]])
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_network_with_one_mistake_is_not_proved_and_not_right(mistake: str) -> None:
    target = target_of(NAMED["majority of majorities"].text)
    assert proof_of(target).proved
    broken = changed(target, MISTAKES[mistake])
    proof = proof_of(broken)
    assert not proof.proved
    assert proof.reason is not None
    model = SoftModel(assemble(broken.program, broken.model.temperature), "ball", rounds=False)
    wrong = []
    for n in range(1, 9):
        for word in product("ab", repeat=n):
            value = model.run(word, lambda trace: True).output
            wrong += [word] * ((value > 0) != NAMED["majority of majorities"].truth(word)[-1])
        if wrong:
            break
    assert wrong
