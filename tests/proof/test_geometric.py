"""Geometric attention: formulas against the oracle, proofs, certificates, and constructions with one mistake."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.errors import InputError, InvariantError
from hardsim.lang import ast
from hardsim.network.numbers import Mask
from hardsim.network.transformer import Matrix
from hardsim.proving.formula_certificate import certificate
from hardsim.targets.sharpness import OneNetwork
from hardsim.verify import verify
from tests.support.check import FormulaTarget, ModelOptions, compile_formula
from tests.support.hostile_certificates import sealed
from tests.support.language import Unsupported, parse_arith, parse_text
from tests.support.model import Affine, SoftWeighting
from tests.support.strategies import all_words, formulas
from tests.support.subjects import agree, general_proof, judge_of, proof_of, shipped_formula

GEOMETRIC = SoftWeighting.GEOMETRIC
SLOW = pytest.mark.slow
TEXTS = (
    "a S b", "a U b", "Y a", "X b", "first", "last", "O a", "H a", "F a", "G a", "O(b & Y a)", "G(a -> X b)",
    "(a S b) S (Y b | a U b)", "#L[a] > 0", "Y(a S Y b)", "a & !Y a", "first & X last",
)  # fmt: skip


def tau(text: str) -> Any:
    return parse_arith(text, ("n",), "--tau")


def geometric(text: str, letters: str = "a b", **options: Any) -> FormulaTarget:
    """Compile a formula."""
    return compile_formula(parse_text(f"alphabet: {letters}\n{text}\n"), ModelOptions(weighting=GEOMETRIC, **options))


# ---- words ----


def drawn(data: st.DataObject, depth: int, longest: int) -> None:
    subject = compile_formula(
        ast.FormulaFile(("a", "b"), data.draw(formulas("ab", depth, future=True))), ModelOptions(weighting=GEOMETRIC)
    )
    agree(subject, all_words("ab", longest))


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_random_formulas_agree_with_the_oracle(data: st.DataObject) -> None:
    drawn(data, 3, 5)


@SLOW
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_random_formulas_agree_with_the_oracle_to_length_8(data: st.DataObject) -> None:
    drawn(data, 4, 8)


@pytest.mark.parametrize("text", TEXTS)
def test_every_operator_is_proved_at_every_length_with_a_certificate(text: str) -> None:
    subject = geometric(text)
    agree(subject, all_words("ab", 4))
    proof = general_proof(subject)
    assert proof.proved, proof.reason
    assert all(head.argument is not None and head.argument.error <= 1 / 4 for head in proof.heads)
    assert proof_of(subject, 6).proved
    for max_n in (None, 4):
        assert verify(json.loads(json.dumps(certificate(subject, max_n)))) is None


@settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_random_formulas_are_proved_at_every_length(data: st.DataObject) -> None:
    file = ast.FormulaFile(("a", "b"), data.draw(formulas("ab", 3, future=True)))
    subject = compile_formula(file, ModelOptions(weighting=GEOMETRIC))
    assert general_proof(subject).proved
    assert verify(json.loads(json.dumps(certificate(subject, None)))) is None


@pytest.mark.parametrize("name", ["since.ltl", "weak_next.ltl", "trigger.ltl", "induction_head.ltl"])
def test_shipped_formulas_are_proved(name: str) -> None:
    subject = shipped_formula(name, weighting=GEOMETRIC)
    assert general_proof(subject).proved
    assert proof_of(subject, 6).proved


# ---- temperatures ----


def test_the_temperature_is_constant_without_a_head_that_selects() -> None:
    assert str(geometric("Y a & X b").model.temperature) == "1/log(4)"
    assert str(geometric("Y a & O b").model.temperature) == "1/log(4*n)"


def test_no_position_encodings() -> None:
    for text in TEXTS:
        assert geometric(text).model.encodings == ()


@pytest.mark.parametrize(
    ("text", "temperature", "right"),
    [
        # The nearest position has the weight 1 - x = 3/4 at e^(1/tau) = 3, and less above that temperature.
        ("Y a", "1/log(3)", True),
        ("X a", "100/(101*log(3))", True),
        ("Y a", "100/(99*log(3))", False),
        # n/(1 + 4n) < 1/4 < 2/(1 + 2 * 3); 1 - (1 - 1/7)^2 is above 1/4 as well.
        ("a S b", "1/log(4*n)", True),
        ("a S b", "1/log(4*n^2)", True),
        ("a U b", "1/(2*log(2*n))", True),
        ("a S b", "1/log(3*n)", False),
        # e^(2n) is at least 1 + 2n + (2n)^2/2 + (2n)^3/6; at n = 1, 1/(1 + e) > 1/4.
        ("a S b", "1/(2*n)", True),
        ("a S b", "1/n", False),
        ("a S b", "1/8", None),
    ],
)
def test_temperatures_are_proved_up_to_the_bound(text: str, temperature: str, right: bool | None) -> None:
    """Constant temperatures are proved for Y and X alone: of `a S b` at e^8 the words grow wrong from m = 858 on, since
    1 - (1 - x)^m is above 1/4 there."""
    subject = geometric(text, tau=tau(temperature))
    assert general_proof(subject).proved is bool(right)
    assert proof_of(subject, 6).proved is (right is not False)
    if right is None:
        return
    if right:
        assert verify(json.loads(json.dumps(certificate(subject, None)))) is None
        assert verify(json.loads(json.dumps(certificate(subject, 4)))) is None
    else:
        with pytest.raises(AssertionError):
            agree(subject, all_words("ab", 3))


def test_a_constant_temperature_fails_from_the_computed_length_on() -> None:
    """At e^(1/tau) = 8, x = 1/9: (8/9)^2 = 64/81 > 3/4 > (8/9)^3 = 512/729."""
    subject = geometric("a S b", tau=tau("1/log(8)"))
    assert proof_of(subject, 2).proved
    assert not proof_of(subject, 3).proved
    agree(subject, all_words("ab", 2))
    with pytest.raises(AssertionError):
        agree(subject, [("b", "a", "a")])


# ---- constructions with one mistake ----


def broken(text: str, change: Callable[[Any], Any]) -> FormulaTarget:
    """Compile a formula with other heads in the program and in its network."""
    subject = geometric(text)
    layers = tuple(
        replace(layer, heads=tuple(change(head) for head in layer.heads)) for layer in subject.program.layers
    )
    program = replace(subject.program, layers=layers)
    return replace(subject, program=program, sharpness=OneNetwork.of(program, subject.budget))


def bias_0(head: Any) -> Any:
    """Score 2q in place of 2q - 1: a position that is not selected takes half."""
    ((query, key),) = head.score
    return replace(head, score=((query, key + Affine.constant(1)),))


def farthest_first(head: Any) -> Any:
    """The mask of the other side: the nearest position is then another one."""
    return replace(head, mask={Mask.FUTURE: Mask.PAST, Mask.PAST: Mask.FUTURE}[head.mask])


def own_position(head: Any) -> Any:
    """Y with a mask that shows the position itself."""
    return replace(head, mask=Mask.FUTURE)


def not_implied(head: Any) -> Any:
    """A value that is 1 where nothing is selected."""
    return replace(head, values=((head.out, Affine.constant(1)),))


@pytest.mark.parametrize(
    ("text", "change"),
    [("a S b", bias_0), ("a U b", bias_0), ("a S b", farthest_first), ("Y a", own_position), ("a S b", not_implied)],
)
def test_constructions_with_a_mistake_are_caught(text: str, change: Callable[[Any], Any]) -> None:
    subject = broken(text, change)
    assert not general_proof(subject).proved
    assert not proof_of(subject, 4).proved
    with pytest.raises((AssertionError, InvariantError)):
        agree(subject, all_words("ab", 4))


def test_a_value_that_does_not_imply_the_condition_is_named() -> None:
    reason = general_proof(broken("a S b", not_implied)).reason
    assert "can read 1 where it selects nothing" in str(reason)


# ---- certificates ----


def hotter(document: dict[str, Any]) -> None:
    document["model"]["temperature"] = "1/log(3*n)"


def as_softmax(document: dict[str, Any]) -> None:
    del document["model"]["weighting"]


def as_sparsemax(document: dict[str, Any]) -> None:
    document["model"]["weighting"] = "sparsemax"


def without_bias(document: dict[str, Any]) -> None:
    for layer in document["model"]["layers"]:
        for head in layer["heads"]:
            head["key"] = [{name: value for name, value in row.items() if name != "1"} for row in head["key"]]


def backwards(document: dict[str, Any]) -> None:
    for claim in document["meaning"]["heads"].values():
        claim["backwards"] = not claim["backwards"]


def to_past(document: dict[str, Any]) -> None:
    for layer in document["model"]["layers"]:
        for head in layer["heads"]:
            head["mask"] = "past"


def value_of_all(document: dict[str, Any]) -> None:
    for layer in document["model"]["layers"]:
        for head in layer["heads"]:
            head["value"] = {"1": "1"}


DAMAGE: dict[Callable[[dict[str, Any]], None], str] = {
    hotter: "",
    as_softmax: "",
    as_sparsemax: "",
    without_bias: "need scores above 0",
    backwards: "is not claimed to read the nearest selected position",
    to_past: "is not claimed to read the nearest selected position",
    value_of_all: "are not the truth of the claimed node",
}


@pytest.mark.parametrize("max_n", [None, 5])
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda one: one.__name__)
def test_altered_certificates_are_rejected(damage: Callable[[dict[str, Any]], None], max_n: int | None) -> None:
    """Over a, b and c: b and c are selected, with different values, so that heads which share weight are wrong."""
    document: dict[str, Any] = json.loads(json.dumps(certificate(geometric("a S b", "a b c"), max_n)))
    assert sealed(document) is None
    damage(document)
    found = sealed(document)
    assert found is not None
    assert DAMAGE[damage] in found


def test_a_strict_mask_belongs_to_geometric_attention() -> None:
    document: dict[str, Any] = json.loads(json.dumps(certificate(geometric("Y a"), None)))
    assert document["model"]["layers"][0]["heads"][0]["mask"] == "strict-future"
    as_softmax(document)
    assert "a strict mask may show nothing" in str(sealed(document))


def test_a_mask_that_shows_the_position_is_no_yesterday() -> None:
    document: dict[str, Any] = json.loads(json.dumps(certificate(geometric("Y a"), None)))
    document["model"]["layers"][0]["heads"][0]["mask"] = "future"
    assert "is not the truth of the claimed node" in str(sealed(document))


def test_the_bound_is_that_of_the_temperature() -> None:
    document: dict[str, Any] = json.loads(json.dumps(certificate(geometric("a S b"), None)))
    assert document["bounds"] == {"S3.read": ["4", "1/g", 250_000_000_000, 250_000_000_000]}
    document = json.loads(json.dumps(certificate(geometric("Y a", tau=tau("1/log(3)")), 2)))
    assert document["bounds"] == {"Y2.read": [[0, None], [250_000_000_000, 250_000_000_000]]}


# ---- what has no construction ----


@pytest.mark.parametrize("text", ["#L[a] >= 2", "#[a] > 0", "EVEN(pos)", "PRIME(#L[a])", "MOD(3, 1, len)"])
def test_counts_and_positions_are_refused(text: str) -> None:
    with pytest.raises(Unsupported, match=r"geometric attention has no construction") as found:
        geometric(text)
    assert "temperature" in str(found.value)


def test_the_regime_and_the_weighting_belong_together() -> None:
    file = parse_text("alphabet: a b\na S b\n")
    assert compile_formula(file, ModelOptions(regime="geometric")).program.weighting is GEOMETRIC
    for regime, weighting in (("temperature", GEOMETRIC), ("geometric", SoftWeighting.SPARSEMAX)):
        with pytest.raises(InputError, match="does not fit regime"):
            compile_formula(file, ModelOptions(regime=regime, weighting=weighting))


def test_a_larger_beta_is_sharper() -> None:
    assert general_proof(geometric("a S b", beta=Fraction(3, 2))).proved
    assert not general_proof(geometric("a S b", beta=Fraction(9, 10))).proved


# ---- networks with a random mistake ----


def changed(network: Any, rng: Random) -> Any:
    """Return a network with another number, or another mask, in one head, or another form of a clip."""
    number = rng.choice([k for k, layer in enumerate(network.layers) if layer.heads])
    layer = network.layers[number]
    place = rng.randrange(len(layer.heads))
    head = layer.heads[place]
    name = rng.choice(["w_q", "w_k", "w_v", "mask", "bias"])
    if name == "bias" and layer.ffn.units:
        unit = rng.choice(layer.ffn.units)
        moved = unit.bias + rng.choice([1, -1]) * Fraction(1, rng.choice([2, 4, 40]))
        units = tuple(replace(one, bias=moved) if one is unit else one for one in layer.ffn.units)
        other = replace(layer, ffn=replace(layer.ffn, units=units))
    elif name in ("mask", "bias"):
        mask = rng.choice([mask for mask in Mask if mask is not Mask.NONE])
        other = replace(layer, heads=(*layer.heads[:place], replace(head, mask=mask), *layer.heads[place + 1 :]))
    else:
        matrix = getattr(head, name)
        entries = {(row, column): value for row, column, value in matrix.entries}
        where = rng.choice(list(entries))
        old = entries[where]
        entries[where] = rng.choice([0, -old, old * 2, Fraction(old, 2), old + 1])
        altered = replace(head, **{name: Matrix.of(matrix.shape[0], matrix.shape[1], entries)})
        other = replace(layer, heads=(*layer.heads[:place], altered, *layer.heads[place + 1 :]))
    return replace(network, layers=(*network.layers[:number], other, *network.layers[number + 1 :]))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=SLOW) for seed in range(1, 40))])
def test_no_network_with_a_mistake_is_proved_that_is_wrong_on_a_short_word(seed: int) -> None:
    rng, wrong = Random(seed), 0
    for text in rng.sample(TEXTS[:4] + TEXTS[10:], 4):
        subject = geometric(text)
        for _ in range(4):
            try:
                model = changed(subject.model, rng)
            except InputError:
                continue
            other = replace(subject, sharpness=OneNetwork(subject.budget, model))
            proved = general_proof(other).proved or proof_of(other, 4).proved
            if not right(other):
                wrong += 1
                assert not proved, (text, model)
    assert wrong


def right(subject: FormulaTarget) -> bool:
    """Return True if the network answers all words up to length 4 as the formula does, perhaps without a margin."""
    judge = judge_of(subject, "ball")
    for _, same in groupby(all_words("ab", 4), len):
        words = list(same)
        soft = judge.soft.batch(words, judge.hard.run(words))
        found = [soft.one(place) for place in range(len(words))]
        if [one.answer if one.decided else None for one in found] != subject.answers(words):
            return False
    return True
