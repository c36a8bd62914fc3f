"""Rounded exponentials: the weights by their definition, the construction against the semantics, its proof, and
networks with one mistake."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from hardsim.campaign.engines import SoftEngine
from hardsim.lang.desugar import desugar
from hardsim.lang.semantics import Oracle
from hardsim.network.rounding import EXPONENTIALS
from hardsim.network.transformer import SoftWeighting, Transformer
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proof.formulas.network import prove
from hardsim.run.rounded_softmax import rounded_exponential, rounded_softmax
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.formula import FormulaTarget
from tests.support.language import InputError, Unsupported, parse_text
from tests.support.model import PROVEN

CUTOFFS = [("fixed:8", 7), ("fp16", 18), ("bf16", 93), ("fp32", 104), ("fp64", 746)]
FORMS = tuple(form for form, _ in CUTOFFS)


def exponential_target(text: str, form: str, beta: Fraction | None = None) -> FormulaTarget:
    file = parse_text(f"alphabet: a b c\n{text}\n", "f")
    return compile_formula(file, ModelOptions(beta=beta, weighting=SoftWeighting(f"softmax:{form}")))


def answers_of(target: FormulaTarget, words: Sequence[tuple[str, ...]]) -> list[object]:
    """Return the network's answers: True, False, or None for an output that is neither 0 nor 1."""
    engine = SoftEngine(target, target.model, target.program)
    assert engine.floats is None  # rationals alone
    found = engine.decisions([target.prepared(word) for word in words])
    assert all(decided for decided, _ in found)
    return [answer for _, answer in found]


# ---- the weights ----


def nearest(loss: Fraction, form: str) -> Fraction:
    """Return e^-loss rounded to the nearest number of a format, from decimals of 400 digits: by the definition, the
    nearest of all multiples of the step of its binade."""
    context = Context(prec=400, Emin=-(10**6))
    exact = Fraction(context.exp(context.divide(Decimal(-loss.numerator), Decimal(loss.denominator))))
    least, digits = {"fixed:8": (8, None), "fp16": (24, 11), "bf16": (133, 8), "fp32": (149, 24), "fp64": (1074, 53)}[
        form
    ]
    step = Fraction(1, 2**least)
    while digits is not None and exact >= step * 2**digits:
        step *= 2
    return round(exact / step) * step


@pytest.mark.parametrize("form", FORMS)
def test_exponentials_are_rounded_to_the_nearest_number(form: str) -> None:
    random, given = Random(form), EXPONENTIALS[form]
    for _ in range(20):
        loss = Fraction(random.randint(0, given.cutoff * 1000), 1000)
        found = Fraction(rounded_exponential(loss.numerator, loss.denominator, given), 2**given.places)
        assert found == nearest(loss, form), loss


@pytest.mark.parametrize(("form", "cutoff"), CUTOFFS)
def test_the_cutoff_is_the_least_loss_that_is_rounded_to_0(form: str, cutoff: int) -> None:
    assert SoftWeighting(f"softmax:{form}").cutoff == EXPONENTIALS[form].cutoff == cutoff
    assert nearest(Fraction(cutoff), form) == 0 < nearest(Fraction(cutoff - 1), form)


def test_weights_are_those_of_hard_attention_from_the_cutoff_on() -> None:
    random, given = Random(3), EXPONENTIALS["fp16"]
    for _ in range(500):
        row = [random.choice([0, 18, 30, random.randint(0, 40)]) for _ in range(random.randint(1, 7))]
        top = max(row)
        m, gap = row.count(top), min((top - z for z in row if z < top), default=99)
        weights = rounded_softmax(row, 1, given)
        assert sum(weights) == 1
        assert (weights == [Fraction(z == top, m) for z in row]) == (gap >= 18)


# ---- the construction ----


def drawn(random: Random, depth: int) -> str:
    """Return a random formula of O, H, F, G and Boolean operators."""
    if not depth:
        return random.choice(["a", "b", "c", "(a | b)", "!c"])
    kind = random.choice(["O", "H", "F", "G", "&", "|", "!", "O", "H"])
    if kind in "&|":
        return f"({drawn(random, depth - 1)} {kind} {drawn(random, random.randrange(depth))})"
    return f"{kind} ({drawn(random, depth - 1)})"


def require_right(text: str, form: str, longest: int) -> None:
    """Compare every word up to a length with the semantics, and require a proof for every length."""
    target = exponential_target(text, form)
    assert target.formula is not None
    assert not target.program.encodings
    assert prove_general(target.model, target.program, desugar(target.formula)).proved, text
    oracle = Oracle(target.formula)
    for n in range(1, longest + 1):
        words = list(product("abc" if n < 6 else "ab", repeat=n))
        assert answers_of(target, words) == [oracle.accepts(word) for word in words], (text, n)


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed % 9 > 0)) for seed in range(100)])
def test_random_formulas_are_right_and_proved_for_every_length(seed: int) -> None:
    random = Random(seed)
    require_right(drawn(random, 3), FORMS[seed % 5], 8 if seed % 9 else 4)


def test_both_proofs_reach_positions_that_are_marked() -> None:
    """`first` has a uniform head, which needs the parity of positions, and no exponentials."""
    target = exponential_target("O (a & first)", "fp16")
    assert target.formula is not None
    core = desugar(target.formula)
    assert prove(target.model, target.program, 8, core).proved
    assert prove_general(target.model, target.program, core).proved


# ---- mistakes ----


def reason_of(target: FormulaTarget, model: Transformer | None = None) -> str | None:
    assert target.formula is not None
    return prove_general(model or target.model, target.program, desugar(target.formula)).reason


def in_format(weighting: SoftWeighting) -> Callable[[Transformer], Transformer]:
    return lambda model: replace(model, weighting=weighting)


def of_units(change: Callable[[Fraction], Fraction]) -> Callable[[Transformer], Transformer]:
    def changed(model: Transformer) -> Transformer:
        layers = []
        for layer in model.layers:
            units = tuple(replace(unit, bias=change(Fraction(unit.bias))) for unit in layer.ffn.units)
            layers.append(replace(layer, ffn=replace(layer.ffn, units=units)))
        return replace(model, layers=tuple(layers))

    return changed


MISTAKES = {
    "a format that keeps smaller numbers": (in_format(SoftWeighting.FP32), "softmax:fp32 is exact if"),
    "exponentials that are not rounded": (in_format(SoftWeighting.SOFTMAX), "no positive rate"),
    "a clip with another bias": (of_units(lambda bias: bias - 1), "is wrong"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_not_proved(name: str) -> None:
    change, expected = MISTAKES[name]
    target = exponential_target("H (a -> O b)", "fp16")
    assert reason_of(target) is None
    assert expected in str(reason_of(target, change(target.model)))


@pytest.mark.parametrize(("form", "cutoff"), CUTOFFS)
def test_a_gap_that_is_one_too_small_is_not_proved(form: str, cutoff: int) -> None:
    """No short word is wrong: a position of the least weight counts only beside millions of others."""
    target = exponential_target("O a", form, Fraction(cutoff - 1))
    assert f"wrong keys lose at least {cutoff} over" in str(reason_of(target))
    assert target.formula is not None
    assert prove(target.model, target.program, 4, desugar(target.formula)).proved
    assert reason_of(exponential_target("O a", form, Fraction(cutoff))) is None


# ---- what has no construction, and options that do not fit ----


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "#L[a] >= #L[b]",
            "temperature, position, causal-temperature, causal-position, or --rounding floor:8",
        ),
        ("#R[a] >= 2", "temperature, position."),
        ("pos >= 2", "temperature, position, causal-temperature"),
        ("PRIME(#[a])", "temperature, position."),
    ],
)
def test_counts_are_refused_with_the_regimes_that_have_them(text: str, names: str) -> None:
    with pytest.raises(Unsupported, match="regime 'rounded' with rounded exponentials has no") as caught:
        exponential_target(text, "fp16")
    assert names in str(caught.value.hint)


@pytest.mark.parametrize("regime", PROVEN)
def test_other_regimes_are_exact_at_twice_the_cutoff(regime: str) -> None:
    """Their logits fall by half of beta with each position's distance."""
    file = parse_text("alphabet: a b c\n(a S b) & Y (O c) | #L[a] >= #L[b] + 1\n", "f")
    target = compile_formula(file, ModelOptions(regime, weighting=SoftWeighting.FP16))
    assert target.budget.beta == 36
    assert reason_of(target) is None
    words = list(product("abc", repeat=4))
    assert answers_of(target, words) == [Oracle(file).accepts(word) for word in words]
    colder = compile_formula(file, ModelOptions(regime, Fraction(35), weighting=SoftWeighting.FP16))
    assert "wrong keys lose at least 18" in str(reason_of(colder))


def test_geometric_attention_has_no_exponentials() -> None:
    with pytest.raises(InputError, match="--exponential does not fit regime 'geometric'"):
        compile_formula(parse_text("alphabet: a b\nO a\n"), ModelOptions("geometric", weighting=SoftWeighting.FP16))


# ---- nearest positions, up to a length ----


@pytest.mark.parametrize(
    ("text", "form", "first"),
    [("a S b", "fixed:8", 3), ("a S b", "fp16", 7), ("Y a", "fixed:8", 6), ("Y a", "fp16", 13)],
)
def test_nearest_positions_are_proved_to_the_length_before_the_first_wrong_word(
    text: str, form: str, first: int
) -> None:
    """The first length is that of `tests.proving.test_rounded_words`, where every shorter word is run."""
    target = exponential_target(text, form)
    assert target.formula is not None
    core = desugar(target.formula)
    assert prove(target.model, target.program, first - 1, core).proved
    assert not prove(target.model, target.program, first, core).proved


@pytest.mark.parametrize("rightmost", [True, False])
def test_the_bound_of_wrong_values_is_reached_by_some_word(rightmost: bool) -> None:
    """On all words of a length the largest share of wrong values is at most the bound of the proof, and is reached
    where every position can have every type."""
    text, form = ("a S b", "a U b")[not rightmost], EXPONENTIALS["fp16"]
    file = parse_text(f"alphabet: a b c\n{text}\n", "f").read_at("last" if rightmost else "first")
    target = compile_formula(file, ModelOptions(at="last" if rightmost else "first", weighting=SoftWeighting.FP16))
    beta, n = target.budget.beta, 5
    worst = Fraction(0)
    for word in product("abc", repeat=n):
        order = list(word) if rightmost else list(word[::-1])
        # Scores q + (place)/(2n), the same for both sides up to a constant; the last selected one wins.
        logits = [beta * ((symbol != "a") + Fraction(place, 2 * n)) for place, symbol in enumerate(order)]
        winner = max(range(n), key=lambda j: logits[j])
        one = 2 * n
        weights = rounded_softmax([int(logit * one) for logit in logits], one, form)
        right = order[winner] == "b"
        share = sum(weight for weight, symbol in zip(weights, order, strict=True) if (symbol == "b") != right)
        worst = max(worst, Fraction(share))
    core = desugar(file)
    head, *_ = prove(target.model, target.program, n, core, min_n=n).heads
    assert head.worst is not None
    assert worst <= head.worst.error <= worst * (1 + Fraction(1, 2**40))
