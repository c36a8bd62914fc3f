"""Sparsemax: formulas and programs against their oracles, proofs, certificates, and what is not sharp enough."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.campaign.engines import HardRunner
from hardsim.lang import ast
from hardsim.measuring.critical import _search, critical
from hardsim.proof.programs.every_length import InverseTemperature
from hardsim.proof.shared.result import NoProof
from hardsim.proving.formula_certificate import certificate
from hardsim.proving.program_certificate import program_certificate
from hardsim.proving.prove import ProofResult, prove_every_length
from hardsim.verify import digests, verify
from tests.support.check import ModelOptions, Subject, Verdict, compile_formula, prove_attention
from tests.support.counting_strategies import ALL_SIDES, counting_formulas
from tests.support.hostile_certificates import sealed
from tests.support.language import Unsupported, parse_arith, parse_text
from tests.support.model import PROVEN, REGIMES, SoftWeighting
from tests.support.strategies import all_words, formulas
from tests.support.subjects import agree, at_temperature, general_proof, proof_of, shipped, shipped_formula

SPARSEMAX = SoftWeighting.SPARSEMAX
SLOW = pytest.mark.slow
FORMULAS = (
    "since.ltl",
    "mod3.ltl",
    *(pytest.param(name, marks=SLOW) for name in ("dyck1.ltl", "majority.ltl", "weak_next.ltl", "trigger.ltl")),
)
PROGRAMS = (
    "flipflop.ahat.json",
    "ties.ahat.json",
    *(pytest.param(name, marks=SLOW) for name in ("dyck1.srasp", "sort.srasp", "majority_ties.ahat.json")),
)


def sparse(text: str, regime: str = "temperature", **options: Any) -> Any:
    """Compile a formula over a, b and c."""
    return compile_formula(
        parse_text(f"alphabet: a b c\n{text}\n"), ModelOptions(regime, weighting=SPARSEMAX, **options)
    )


# ---- words ----


def drawn(data: st.DataObject, regime: str, depth: int, longest: int) -> None:
    future = not REGIMES[regime].causal
    sides = ALL_SIDES if future else ("L",)
    some = st.one_of(formulas("ab", depth, future=future), counting_formulas("ab", sides=sides))
    file = ast.FormulaFile(("a", "b"), data.draw(some))
    try:
        subject = compile_formula(file, ModelOptions(regime, weighting=SPARSEMAX))
    except Unsupported:
        return
    agree(subject, all_words("ab", longest))


@pytest.mark.parametrize("regime", PROVEN)
@settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_random_formulas_agree_with_the_oracle(regime: str, data: st.DataObject) -> None:
    drawn(data, regime, 3, 5)


@pytest.mark.slow
@pytest.mark.parametrize("regime", PROVEN)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_random_formulas_agree_with_the_oracle_to_length_8(regime: str, data: st.DataObject) -> None:
    drawn(data, regime, 4, 8)


@pytest.mark.parametrize("name", PROGRAMS)
def test_softmax_is_replaced_by_exactly_hard_attention(name: str) -> None:
    """At the temperature that is found for every length, every value of every word equals that of hard attention."""
    subject = shipped(name, weighting=SPARSEMAX)
    assert not isinstance(subject.law, NoProof)
    for n in range(1, 4):
        found = prove_attention(subject, n, search=0, min_n=n)
        assert found.verdict is Verdict.PROVED
        assert found.lengths[0].bound == 0


# ---- proofs ----


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_proved_at_every_length_with_a_certificate(name: str) -> None:
    for regime in PROVEN:
        try:
            subject = shipped_formula(name, regime=regime, weighting=SPARSEMAX)
        except Unsupported:
            continue
        proof = general_proof(subject)
        assert proof.proved, (regime, proof.reason)
        assert all(head.argument is None or head.argument.error == 0 for head in proof.heads)
        assert verify(certificate(subject, None)) is None
    assert proof_of(subject, 8).proved
    assert verify(certificate(subject, 6)) is None


def test_beta_2_is_the_least_that_is_proved() -> None:
    """The tie-break of 1/(2n) is a gap of 1/(2n), so temperature 1/n times 1/beta is at most that from beta = 2 on."""
    for beta in (Fraction(2), Fraction(199, 100)):
        subject = sparse("a S b", beta=beta)
        assert general_proof(subject).proved is (beta == 2)
        assert proof_of(subject, 6).proved is (beta == 2)
    assert sparse("a S b").budget.beta == 2


def test_a_gap_that_is_too_small_gives_a_wrong_word() -> None:
    """With beta = 1/2 two neighbours of the tie-break differ by 1/4: for `a S b` on b c with c in neither operand, the
    share of the wrong position is 1/2 - 1/8 > 1/4, so the output is neither 0 nor 1.
    """
    subject = sparse("a S b", beta=Fraction(1, 2))
    with pytest.raises(AssertionError):
        agree(subject, [("b", "c")])


def test_plain_sparsemax_is_right_up_to_half_of_beta() -> None:
    """In regime none the gap is 1/(2n) at temperature 1/beta: exact if and only if n <= beta/2."""
    subject = sparse("a S b", "none", beta=Fraction(12))
    assert proof_of(subject, 6).proved
    assert not proof_of(subject, 7).proved
    assert not general_proof(subject).proved


@pytest.mark.parametrize("text", ["O a", "H a", "F a", "G a", "O(a & F b)", "G(a | O(b & H !c))", "#L[a] > 0"])
def test_heads_that_read_their_condition_need_no_positions(text: str) -> None:
    """Ties share one value, so the score is the condition alone: right at temperature 1 for every length, even in
    regime none.
    """
    subject = sparse(text, "none", beta=Fraction(1))
    read = {name for head in subject.program.heads for pair in head.score for form in pair for name, _ in form.terms}
    assert not read & {encoding.name for encoding in subject.program.encodings}
    agree(subject, all_words("abc", 4))
    assert general_proof(subject).proved
    assert proof_of(subject, 6).proved
    assert verify(certificate(subject, None)) is None
    assert verify(certificate(subject, 4)) is None


def test_temperature_1_is_the_largest_for_such_heads() -> None:
    """A row with one a among others has m g = 1. At temperature 5/2 a b beside an a has the share 1/2 - 1/5 = 3/10."""
    search = _search(sparse("O a", "none"))
    assert [search.hard_up_to(n).temperature for n in (2, 5)] == [1, 1]
    assert not general_proof(sparse("O a", "none", beta=Fraction(99, 100))).proved
    with pytest.raises(AssertionError):
        agree(sparse("O a", "none", beta=Fraction(2, 5)), [("a", "b")])


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_proved_at_the_gap_itself(name: str) -> None:
    """The temperature has no logarithm and no further power of n: it is C n^-k where every gap is at least that."""
    subject = shipped(name, weighting=SPARSEMAX)
    found = prove_every_length(subject, 0)
    assert found.every_length, found.reach
    assert found.argument is not None
    assert all(layer.rate is None for layer in found.argument.layers)
    assert verify(program_certificate(found)) is None


def test_temperatures_above_the_gap_are_not_proved() -> None:
    """`flipflop.ahat.json` has a gap of 1/(2n)."""
    subject = shipped("flipflop.ahat.json", weighting=SPARSEMAX)
    assert prove_every_length(at_temperature(subject, "1/(2*n)"), 0).every_length
    found = prove_every_length(at_temperature(subject, "2/(3*n)"), 0)
    assert not found.every_length
    assert found.argument is not None
    assert "sparsemax is exact if the gap over the temperature is at least 1" in str(found.argument.reason)


# ---- certificates ----


def written(subject: Subject) -> dict[str, Any]:
    found: ProofResult = prove_every_length(subject, 0)
    document: dict[str, Any] = json.loads(json.dumps(program_certificate(found)))
    return document


def hotter(document: dict[str, Any]) -> None:
    document["model"]["temperature"] = "2/n"


def without_weighting(document: dict[str, Any]) -> None:
    del document["model"]["weighting"]


def another_weighting(document: dict[str, Any]) -> None:
    document["model"]["weighting"] = "entmax"


DAMAGE: dict[Callable[[dict[str, Any]], None], str] = {
    hotter: "may have weight",
    without_weighting: "the error bounds do not decide a clip",
    another_weighting: 'this should be "sparsemax"',
}


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda one: one.__name__)
def test_altered_certificates_of_formulas_are_rejected(damage: Callable[[dict[str, Any]], None]) -> None:
    document: dict[str, Any] = json.loads(json.dumps(certificate(sparse("a S b"), None)))
    assert sealed(document) is None
    damage(document)
    assert DAMAGE[damage] in str(sealed(document))


def test_a_length_with_too_small_a_gap_has_no_certificate() -> None:
    """In regime none, beta = 12 is enough up to length 6: the checker finds it too small at length 7."""
    document: dict[str, Any] = json.loads(json.dumps(certificate(sparse("a S b", "none", beta=Fraction(12)), 6)))
    document["max_n"] = 7
    assert "the error bounds do not decide a clip" in str(sealed(document))


def test_altered_certificates_of_programs_are_rejected() -> None:
    made = written(shipped("flipflop.ahat.json", weighting=SPARSEMAX))

    def reason(**changed: Any) -> str:
        document = json.loads(json.dumps(made)) | changed
        document["digests"] = digests(document)
        return str(verify(document))

    assert reason() == "None"
    assert "over the temperature is not known to be at least 1" in reason(temperature="2/(3*n)")
    plain = {key: value for key, value in made["model"].items() if key != "weighting"}
    assert reason(model=plain) == "claim: it is not the one that is checked"
    assert "softmax" not in made["claim"]


# ---- the largest temperature ----


def test_the_largest_temperature_is_exact() -> None:
    """For `a S b` it is the gap 1/(2n), from length 2 on; for the tie of two in `ties.ahat.json` twice the gap of 1."""
    search = _search(sparse("a S b"))
    for n in (2, 3, 6, 12):
        row = search.hard_up_to(n)
        assert (row.temperature, row.constant, row.proved) == (Fraction(1, 2 * n), Fraction(1, 2), True)
        assert row.exhaustive is (n < 8)
    assert search.hard_up_to(1).temperature is None
    tied = critical(shipped("ties.ahat.json", weighting=SPARSEMAX), 3).hard_up_to[-1]
    assert (tied.temperature, tied.head, tied.proved) == (Fraction(2), "ends", True)


def test_softmax_has_no_largest_temperature_of_this_kind() -> None:
    assert critical(compile_formula(parse_text("alphabet: a b\na\n"), ModelOptions()), 1).hard_up_to == ()


def test_the_inverse_temperature_is_that_of_the_gap() -> None:
    """The largest temperature that the proof takes is the largest constant over a power of n below the gap."""
    argument = shipped("flipflop.ahat.json", weighting=SPARSEMAX).argument
    assert argument.tau == parse_arith("1/(2*n)", ("n",), "test")
    assert InverseTemperature.of(parse_arith("1/(2*n)", ("n",), "test")).at(5) == 10


# ---- the shipped examples ----


def trigrams(word: str) -> bool:
    """Return True if no b is first, and neither a a a nor b a b occurs."""
    return not word.startswith("b") and "aaa" not in word and "bab" not in word


def brackets(word: str) -> bool:
    """Return True if brackets are balanced, and at most two are open at a time: with a stack."""
    stack: list[str] = []
    for symbol in word:
        if symbol in "([":
            stack.append(symbol)
        elif not stack or stack.pop() + symbol not in ("()", "[]"):
            return False
        if len(stack) > 2:
            return False
    return not stack


@pytest.mark.parametrize(
    ("name", "language", "longest", "tau"),
    [
        ("trigram_model.ahat.json", trigrams, 8, "1"),
        pytest.param("dyck2_depth2.ahat.json", brackets, 8, "1/(2*n)", marks=SLOW),
    ],
)
def test_the_shipped_networks_accept_what_their_titles_say(
    name: str, language: Callable[[str], bool], longest: int, tau: str
) -> None:
    """They state sparsemax themselves, are proved at the gap, and hard attention, to which sparsemax is equal, accepts
    the language.
    """
    subject = shipped(name)
    assert subject.program.weighting is SPARSEMAX
    found = prove_every_length(subject, 0)
    assert found.every_length
    assert found.argument is not None
    assert str(found.argument.tau) == tau
    assert verify(program_certificate(found)) is None
    hard = HardRunner(subject)
    for n in range(1, longest + 1):
        words = [word for word in all_words("".join(subject.alphabet), n) if len(word) == n]
        assert hard.answers(words) == [language("".join(word)) for word in words]
