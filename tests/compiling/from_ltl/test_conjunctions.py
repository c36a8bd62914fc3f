"""Tests of conjunctions in the layer of their newest operand: fewer layers, and the same answers."""

import copy
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.compiling.from_ltl import operators
from hardsim.compiling.from_ltl.lower import lower
from hardsim.compiling.from_ltl.operators import MOST_CLIPS, MOST_READ, Clip, OperatorBlock
from hardsim.network.numbers import ONE
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proving.formula_certificate import certificate
from hardsim.verify import verify
from tests.support.check import ModelOptions, compile_formula
from tests.support.hostile_certificates import sealed
from tests.support.language import Oracle, desugar, parse_expression, parse_text
from tests.support.model import REGIMES, Affine, ExactModel, Program, assemble
from tests.support.strategies import all_words
from tests.support.subjects import agree

KNEE = "let a1 = #L[a] >= 1\nlet b1 = #L[b & a1] >= 1\nlet a2 = #L[a & b1] >= 1\na2 & #L[b & a2] = 0 & #L[b & !a1] = 0"
"""Words of a+ b+ a+, as C-RASP says it: counts nested four deep, each compared with 0 or 1."""
LETTER, TRUE, FALSE = Affine.coordinate("[a]"), Affine.constant(1), Affine.constant(0)
TABLE = operators.reach("S", LETTER, LETTER, "T", REGIMES["temperature"], "test").heads[0]
BLOCKS = {
    "reach": operators.reach("S", LETTER, LETTER, "S", REGIMES["temperature"], "test"),
    "until": operators.reach("U", LETTER, LETTER, "U", REGIMES["temperature"], "test"),
    "first": operators.edge("first", REGIMES["temperature"]),
    "and": operators.conjunction([LETTER, Affine.coordinate("p"), TRUE - Affine.coordinate("q")]),
    "xor": operators.exclusive(LETTER, Affine.coordinate("p")),
    "table": operators.table(TABLE, Affine.coordinate("p"), Affine.coordinate("q")),
}


def program(text: str, regime: str = "temperature") -> Program:
    return lower(desugar(parse_expression(text, ["a", "b", "c"])), REGIMES[regime])


def value(clip: Clip, given: dict[str, Fraction]) -> Fraction:
    cap = TRUE if clip.cap is None else clip.cap
    low, high = (sum((c * given[name] for name, c in form.terms), Fraction(0)) for form in (clip.form, clip.form - cap))
    return clip.weight * (max(low, Fraction(0)) - max(high, Fraction(0)))


def cases(block: OperatorBlock) -> list[dict[str, Fraction]]:
    """Return values of everything that a block's clips read: exact Booleans, and heads within 1/4 of a Boolean (for the
    mark of the first position, within 1/3 of 0, or 1)."""
    heads = {head.out for head in block.heads}
    names = sorted({name for clip in block.clips for name, _ in clip.form.terms} - {ONE})
    near = [Fraction(0), Fraction(1, 4), Fraction(3, 4), Fraction(1)]
    marks = [Fraction(-1, 3), Fraction(0), Fraction(1, 3), Fraction(1)]
    ranges = [
        (marks if name.endswith(".mean") else near) if name in heads else [Fraction(0), Fraction(1)] for name in names
    ]
    return [{ONE: Fraction(1)} | dict(zip(names, chosen, strict=True)) for chosen in product(*ranges)]


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("kind", BLOCKS)
def test_a_closed_block_is_the_conjunction(kind: str, negated: bool) -> None:
    block = BLOCKS[kind]
    others = [Affine.coordinate("x"), TRUE - Affine.coordinate("y")]
    made = operators.conjunction_in_layer(block, negated, others)
    assert made is not None
    for read in cases(block):
        own = sum(value(clip, read) for clip in block.clips)
        for x, y in product((0, 1), repeat=2):
            given = read | {"x": Fraction(x), "y": Fraction(y)}
            expected = (1 - own if negated else own) if x and not y else 0
            assert sum(value(clip, given) for clip in made.clips) == expected


@pytest.mark.parametrize("kind", BLOCKS)
def test_declared_ranges_hold(kind: str) -> None:
    block = BLOCKS[kind]
    for clip in block.clips:
        forms = [value(Clip(clip.form, None, None), read) for read in cases(block)]
        assert set(forms) <= {0, 1}
        exact = [sum((c * read[name] for name, c in clip.form.terms), Fraction(0)) for read in cases(block)]
        assert clip.least is not None
        assert clip.most is not None
        assert all(clip.least <= one <= clip.most for one in exact)


@pytest.mark.parametrize("negated", [False, True])
def test_a_clip_without_an_upper_bound_has_one_cap(negated: bool) -> None:
    block = OperatorBlock((), (operators.compare(Affine.coordinate("#")),))
    for other in (Affine.coordinate("x"), TRUE - Affine.coordinate("x")):
        made = operators.conjunction_in_layer(block, negated, [other])
        assert made is not None
        for total, x, error in product((-100, -2, -1, 0, 1, 100), (0, 1), (Fraction(-1, 4), Fraction(1, 4))):
            given = {"#": total + error, "x": Fraction(x), ONE: Fraction(1)}
            held = x == (other.terms[-1][1] == 1)
            assert value(made.clips[0], given) == int(((total >= 0) != negated) and held)
        assert operators.conjunction_in_layer(made, negated, [LETTER]) is None
    assert operators.conjunction_in_layer(block, negated, [LETTER, TRUE]) is None
    with pytest.raises(ValueError, match="too many values"):
        block.clips[0].closed_unless([LETTER, TRUE])


def test_blocks_stay_small() -> None:
    block = BLOCKS["reach"]
    fits, long = ([Affine.coordinate(f"x{k}") for k in range(size)] for size in (MOST_READ - 1, MOST_READ))
    assert operators.conjunction_in_layer(block, False, fits) is not None
    assert operators.conjunction_in_layer(block, False, long) is None
    many = OperatorBlock((), BLOCKS["and"].clips * MOST_CLIPS)
    assert operators.conjunction_in_layer(many, False, [LETTER]) is not None
    assert operators.conjunction_in_layer(many, True, [LETTER]) is None  # one clip more


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("a & O b", 1),
        ("a & !O b", 1),
        ("a | !(b & O c)", 1),  # nested, with one operator
        ("O a & O b", 2),  # two operators of one layer
        ("b & Y a", 2),  # the mark of the first position is in layer 1
        ("O a & O c & !Y b", 2),
        ("O (a & O (b & O (c & O a)))", 4),
        ("H (a -> O (b | !O (c & !O a)))", 4),
        ("c & #L[a] > #L[b]", 3),
        ("c | #[a] > #[b]", 3),
        ("#L[a] = 1", 3),  # that the count is at least 1 is known in layer 1
        ("c & #L[a] > 2 & #L[a] > #L[b]", 4),  # two comparisons of one layer
        ("b & O c & #L[a] > #L[b]", 3),  # the other two are joined in layer 1
        ("b & Y c & !(#R[a] > #[b]) & !Y a", 4),  # the other two operators are in layer 2
        ("c & PRIME(#L[a])", 3),
        ("c | EVEN(#[a])", 3),
        ("EVEN(#L[a]) & #L[a] > 0", 4),  # the predicate's clips read that the count is positive already
    ],
)
def test_layers(text: str, layers: int) -> None:
    assert len(program(text).layers) == layers


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("c & #L[a] > #L[b]", 3),
        ("c | #[a] > #[b] + 2", 3),
        ("a & !Y b & #R[a] > 1", 3),
        ("O a & O b & O c & Y a & #L[a] > #L[b]", 4),  # both clips would repeat four other operands
    ],
)
def test_layers_of_sign_tests(text: str, layers: int) -> None:
    core = desugar(parse_expression(text, ["a", "b", "c"]))
    assert len(lower(core, REGIMES["temperature"], counting="sign").layers) == layers


@pytest.mark.parametrize(
    ("text", "counting"),
    [
        ("#L[a] > #L[b] + 1", "sign"),
        ("!(#[a] >= 2 * #[b] - 1)", "sign"),
        ("PRIME(#L[a])", "lookup"),
        ("!EVEN(#[a])", "lookup"),
        ("#L[a] > #L[b] + 1", "lookup"),
        ("!(#[a] >= 2 * #[b] - 1)", "lookup"),
        ("#R[a] + 2 * #L[b] > #[a]", "lookup"),
    ],
)
def test_joined_counts_are_right_proved_and_certified(text: str, counting: Any) -> None:
    first = "" if counting == "lookup" and ">" in text else "(b | first) & "  # a cap is one literal
    file = parse_text(f"alphabet: a b\n{text} & {first}!(b & Y b)\n", "f")
    found = compile_formula(file, ModelOptions(counting=counting))
    assert len(found.program.layers) == 3
    agree(found, all_words("ab", 5))
    assert prove_general(found.model, found.program, desugar(file)).proved
    assert verify(certificate(found, None)) is None


@pytest.mark.parametrize(
    "text",
    ["#L[!b] > #L[a]", "#L[!b] > #L[a] - 1", "b & (#L[!b] > #L[a] - 1)", "#L[!b] + 3*#L[b & O a] != #L[a] - 1"],
)
def test_counts_that_cancel_are_proved(text: str) -> None:
    """Two coordinates have the same count, since the negation of one letter is the other one."""
    file = parse_text(f"alphabet: a b\n{text}\n", "f")
    found = compile_formula(file, ModelOptions(counting="sign"))
    agree(found, all_words("ab", 5))
    assert prove_general(found.model, found.program, desugar(file)).proved


@pytest.mark.parametrize("text", ["#L[a] > #L[b] & b & Y a", "!(#[a] > #L[b] + 1) & !(b & O a) & (a | last)"])
def test_the_other_operands_of_a_comparison_are_joined_first(text: str) -> None:
    file = parse_text(f"alphabet: a b\n{text}\n", "f")
    found = compile_formula(file, ModelOptions())
    assert len(found.program.layers) == 3
    (name,) = [name for name in found.program.coordinates if ".but" in name]
    assert "#" not in found.program.meanings[name]
    agree(found, all_words("ab", 6))
    assert prove_general(found.model, found.program, desugar(file)).proved
    assert verify(certificate(found, None)) is None


def mistakes(form: Affine) -> list[Affine]:
    """Return the form of a clip with each coefficient left out or turned, and with other constants."""
    parts = [(name, factor) for name, factor in form.terms if name != ONE]
    changed = [Affine.of([(name, -factor if way else -2 * factor)]) for name, factor in parts for way in (0, 1)]
    return [form + change for change in [*changed, *(Affine.constant(value) for value in (-3, -1, 1, 3))]]


@pytest.mark.parametrize(
    ("text", "counting"),
    [
        ("#L[a] > #L[b] & b & !Y b", "sign"),
        ("#L[a] > #L[b] & !Y a", "lookup"),
        pytest.param("#L[a] <= #L[b] & Y b", "lookup", marks=pytest.mark.slow),
        pytest.param("!(#[a] > #[b]) & b & !Y b", "sign", marks=pytest.mark.slow),
        pytest.param("!EVEN(#L[a]) & b & !Y b", "lookup", marks=pytest.mark.slow),
    ],
)
def test_mistakes_in_joined_clips_are_not_proved_and_not_certified(text: str, counting: Any) -> None:
    """Each change of a clip or its cap that makes some word's answer wrong is refused by both links of the proof and by
    the checker of certificates."""
    file = parse_text(f"alphabet: a b\n{text}\n", "f")
    found, words = compile_formula(file, ModelOptions(counting=counting)), all_words("ab", 5)
    program, document, wrong = found.program, certificate(found, 4), 0
    layer = program.layers[-1]
    lengths = [[word for word in words if len(word) == n] for n in range(1, 6)]
    expected = {word: int(Oracle(file).accepts(word)) for word in words}
    for number, unit in enumerate(layer.units):
        caps = [] if unit.cap is None else [replace(unit, cap=cap) for cap in (None, *mistakes(unit.cap))]
        for changed in [*(replace(unit, pre=form) for form in mistakes(unit.pre)), *caps]:
            units = (*layer.units[:number], changed, *layer.units[number + 1 :])
            other = replace(program, layers=(*program.layers[:-1], replace(layer, units=units)))
            model = ExactModel(other)
            runs = [model.run(batch).columns[program.output] for batch in lengths]
            if all(
                column.values(k)[-1] == expected[word]
                for column, batch in zip(runs, lengths, strict=True)
                for k, word in enumerate(batch)
            ):
                continue
            wrong += 1
            network, core = assemble(other, found.budget), desugar(file)
            assert not prove_general(network, other, core).proved
            assert not prove_general(network, program, core).proved
            broken = copy.deepcopy(document)
            forms = [dict(form.terms) for form in (changed.pre, *[changed.cap or TRUE] * (unit.cap is not None))]
            parts = [(str(form.pop(ONE, 0)), {name: str(c) for name, c in form.items()}) for form in forms]
            clip = [str(unit.weight), *(one for part in parts for one in part)]
            broken["model"]["layers"][-1]["clips"][unit.out][1][number] = clip
            assert sealed(broken) is not None
    assert wrong >= 8


@pytest.mark.parametrize("regime", ["temperature", "position", "causal-temperature", "causal-position"])
def test_nested_counts_take_one_layer_each(regime: str) -> None:
    file = parse_text(f"alphabet: a b\n{KNEE}\n")
    found = compile_formula(file, ModelOptions(regime))
    assert (len(found.program.layers), len(found.program.heads)) == (4, 5)
    agree(found, all_words("ab", 7))


def test_what_several_read_is_not_written_twice() -> None:
    """Y has two clips; the conjunction would repeat both."""
    once, twice = program("O (a & Y b)"), program("O (a & Y b) & Y b")
    assert [len(layer.units) for layer in once.layers] == [1, 2, 1]
    assert "Y4" not in once.coordinates
    assert sum(name.startswith("Y") and "." not in name for name in twice.coordinates) == 1


NESTED = st.recursive(
    st.sampled_from(["a", "b", "first", "EVEN"]),
    lambda inner: st.one_of(
        st.builds("{}({})".format, st.sampled_from(["!", "Y", "O", "H", "X", "F", "#L", "#R", "#"]), inner).map(
            lambda text: text.replace("(", "[", 1)[:-1] + "] >= 1" if text.startswith("#") else text
        ),
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["&", "|", "^", "S", "U"]), inner),
    ),
    max_leaves=8,
)


@given(NESTED, st.sampled_from(["temperature", "position"]))
def test_random_nested_formulas(text: str, regime: str) -> None:
    agree(compile_formula(parse_text(f"alphabet: a b\n{text}\n"), ModelOptions(regime)), all_words("ab", 4))
