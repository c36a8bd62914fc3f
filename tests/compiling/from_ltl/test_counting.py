"""Tests of counting: every method against the oracle on all short words, its declarations, and its refusals."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from hardsim.compiling.from_ltl.lower import lower
from hardsim.compiling.from_ltl.operators import SIZES
from hardsim.compiling.from_ltl.refusals import Method
from hardsim.program.regimes import expression
from hardsim.targets.result import MPMATH
from tests.support.check import FormulaTarget, ModelOptions, compile_formula
from tests.support.hard_runs import hard_run
from tests.support.language import FormulaFile, InvariantError, Unsupported, desugar, parse_text
from tests.support.model import PROVEN, REGIMES, Affine, Head, Kind, Program, Weighting
from tests.support.strategies import all_words
from tests.support.subjects import agree, evaluations

METHODS: tuple[Method, ...] = ("lookup", "sign")

# Which of `lookup` (L) and `sign` (S) exists in temperature and position, in causal-temperature, in causal-position.
# Without counts to compare or to look up, both methods are the same: `=`.
SUPPORTED = {
    ("LS", "LS", "S"): (
        "#L[a] > #L[b]; 3*#L[a] - 5*#L[b] + 2 >= 0; 2*#L[a] > pos; Y (#L[a] = 2); O (#L[a] = #L[b]) & ODD; #L[O b] < 3"
    ),
    ("LS", "", ""): (
        "#[a] = #[b]; #R[a] >= 2; 2*#[a] + 1 < len; H(#L[a] >= #L[b]) & #[a] = #[b]; #R[a] = 1; #[a] = 1 | MID; "
        "5*#[a] - 5*#[b] = 0; #R[#[a] >= 2] = 0 | X (#R[b] = 1)"
    ),
    ("L", "", ""): (
        "#L[Y a] = #R[a]; !O(#L[Y a] = #R[a]); #L[#L[a] > #R[b]] >= 2; 5*#L[a] - 4*#R[b] - 3*#[b] + 2 != pos"
    ),
    ("=", "", ""): (
        "ODD(#[a]); MOD(3, 1, #L[a] + 2*#R[b]); SQUARE(#R[b]); POW2(#[a]); 2*pos = len; len mod 3 = 1; "
        "SQUARE(len); PRIME(#R[true]); #L[true] = #R[true]; !MID(2*#R[a] - 1); Y MID(#R[a & b]); #R[a] = 0; "
        "#[a] = 0 | MID; 2 * #[a] >= 1"
    ),
    ("=", "=", "="): (
        "EVEN; PRIME; pos > 2; MID(0); 2 > 3; PRIME(7); #L[a] - #L[a] = 0; #L[a] > 0; #L[b & Y a] = 0; 3 > 4 * #L[a]"
    ),
    ("=", "=", ""): (
        "PRIME(2*#L[a] + 1); (#L[a] + #L[b]) mod 4 = 2; MID(#L[a]); SQUARE(#L[a & b]) & !PRIME(3*#L[a & b] + 4)"
    ),
}
FORMULAS = {text: methods for methods, texts in SUPPORTED.items() for text in texts.split("; ")}


def parse(text: str) -> FormulaFile:
    return parse_text(f"alphabet: a b\nat: last\npred MID(i, n) = 2*i == n + 1 or i == 0\n{text}\n")


def compiled(text: str, regime: str = "temperature", counting: Method | None = None) -> FormulaTarget:
    return compile_formula(parse(text), ModelOptions(regime, counting=counting))


def program(text: str, regime: str = "temperature", counting: Method | None = None) -> Program:
    return compiled(text, regime, counting).program


def supported(text: str, regime: str) -> str:
    full, causal, plain = FORMULAS[text]
    return {"causal-temperature": causal, "causal-position": plain}.get(regime, full)


RUNS = [
    (text, regime, method)
    for text in FORMULAS
    for regime in PROVEN
    for method in METHODS
    if method[0].upper() in supported(text, regime) or (supported(text, regime) == "=" and method == "lookup")
]


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize(
    ("certain", "observed"), [(6, 3), pytest.param(8, 6, marks=pytest.mark.slow)], ids=["short", "longer"]
)
@pytest.mark.parametrize(("text", "regime", "method"), RUNS)
def test_counting_on_all_short_words(text: str, regime: str, method: Method, certain: int, observed: int) -> None:
    """Words up to one length are certified; up to a shorter length mpmath, which is slow, runs as well."""
    subject = compiled(text, regime, None if supported(text, regime) == "=" else method)
    agree(subject, all_words("ab", certain))
    agree(subject, all_words("ab", observed), MPMATH)


@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("text", FORMULAS)
def test_each_method_is_there_or_refused(text: str, regime: str) -> None:
    for method in METHODS:
        can = supported(text, regime)
        if method[0].upper() in can or can == "=":
            facts = compiled(text, regime, method).facts
            assert facts.counting in ((None,) if can == "=" else (method,))
            continue
        with pytest.raises(Unsupported):
            compiled(text, regime, method)
    if supported(text, regime) == "=":
        assert program(text, regime, "lookup") == program(text, regime, "sign")


@pytest.mark.parametrize("at", ["first", "last"])
def test_counts_read_at_the_first_position(at: str) -> None:
    file = replace(parse("#R[a] = 2 & #L[b] = 0"), at="first" if at == "first" else "last")
    for found in evaluations(compile_formula(file, ModelOptions()), all_words("ab", 6)):
        # At the first position: two a's in all, and an a there; at the last position #R is at most 1.
        expected = found.word.count("a") == 2 and found.word[0] == "a" if at == "first" else False
        assert (found.oracle, found.hard, found.soft) == (expected,) * 3


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("text", "regime"),
    [("#L[a] > #R[b] | ODD(#[a])", "temperature"), *(("(Y a -> O b) & (b S !a)", regime) for regime in PROVEN)],
)
def test_single_heads_change_nothing_but_the_layers(text: str, regime: str) -> None:
    shared = compiled(text, regime)
    single = compile_formula(shared.formula, ModelOptions(regime, single_head=True))
    assert max(len(layer.heads) for layer in shared.program.layers) > 1
    assert {len(layer.heads) for layer in single.program.layers} <= {0, 1}
    assert [head.name for head in single.program.heads] == [head.name for head in shared.program.heads]
    answers = evaluations(shared, all_words("ab", 5))
    assert answers == evaluations(single, all_words("ab", 5))
    assert {found.mismatch for found in answers} == {None}


# ---- shape ----


@pytest.mark.parametrize(
    ("text", "regime", "counting", "layers", "heads"),
    [
        # mean, "some" and the marker; 1/i by attention over the marker; the look-up
        ("#L[a] > 1", "temperature", "lookup", 3, 5),
        ("#L[a] > 1", "temperature", "sign", 3, 4),  # no head "some"
        ("#L[a] > 1", "causal-temperature", "lookup", 3, 5),
        ("#L[a] > 1", "causal-position", "sign", 3, 4),
        ("#R[a] > 1", "position", "lookup", 3, 5),
        ("#[a] > 1", "position", "lookup", 3, 5),
        ("#L[a] > #L[b]", "temperature", "lookup", 3, 8),  # the marker and 1/i are shared
        ("#L[a] > #L[b]", "temperature", "sign", 3, 5),
        ("#L[a] = 2", "temperature", "lookup", 4, 5),  # one look-up for both comparisons, then their conjunction
        ("#L[a] = 2", "temperature", "sign", 4, 5),
        ("ODD(#[a])", "temperature", None, 3, 5),
        ("ODD(#L[a]) ^ PRIME(#L[a])", "temperature", None, 4, 6),
        ("pos > 2", "causal-position", None, 1, 0),  # the encoding is the count
        ("EVEN", "causal-position", None, 1, 0),
        ("2*#L[a] > pos", "temperature", "sign", 3, 4),
        ("#L[#L[a] > 1] > 1", "temperature", "lookup", 5, 8),  # 1/i is shared: two more layers
    ],
)
def test_depth_and_heads(text: str, regime: str, counting: Method | None, layers: int, heads: int) -> None:
    found = program(text, regime, counting)
    assert (len(found.layers), len(found.heads)) == (layers, heads)


@pytest.mark.parametrize(
    ("text", "regime"),
    [
        ("(Y a S X b) <-> (H (a | Y Y b) ^ !G X a)", "temperature"),
        *(("#L[a] > 1 & 2*#L[a] >= pos | Y (#L[b] = 0)", regime) for regime in PROVEN),
    ],
)
def test_no_coordinate_is_written_twice(text: str, regime: str) -> None:
    found = program(text, regime)
    heads = [head.out for head in found.heads]
    assert len(set(heads)) == len(heads)
    written = [{unit.out for unit in layer.units} for layer in found.layers]
    assert sum(map(len, written)) == len(set().union(*written))
    assert not set(heads) & set().union(*written)


def test_a_sum_marks_the_clips_that_round_it() -> None:
    def marked(text: str, counting: Method = "lookup") -> int:
        return sum(unit.counts for layer in program(text, counting=counting).layers for unit in layer.units)

    assert [marked(text) for text in ("#L[a] > 1", "#L[a] = 2", "pos > 1", "ODD(#L[a])")] == [1, 2, 0, 0]
    assert marked("#L[a] > 1", "sign") == 0


# ---- declared gaps ----


def heads_of(found: Program, *kinds: Kind) -> list[Head]:
    return [head for head in found.heads if head.kind in kinds]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("text", "regime", "counting", "rate"),
    [
        ("#L[a] > 1", "temperature", "lookup", "1/i"),
        ("#L[a] > 1", "position", "lookup", "n/i"),
        ("#R[a] > 1", "temperature", "lookup", "1/(n - i + 1)"),
        ("#R[a] > 1", "position", "lookup", "n/(n - i + 1)"),
        ("#[a] > 1", "temperature", "lookup", "1/n"),
        ("#L[a] > 1", "causal-temperature", "lookup", "1/i"),
        ("ODD(#L[a])", "causal-temperature", "lookup", "1/i"),
        ("#L[a] > 1", "temperature", "sign", "1/i"),
        ("#R[a] > 1", "position", "sign", "n/(n - i + 1)"),
        ("#[a] > 1", "temperature", "sign", "1/n"),
        ("#L[a] > 1", "causal-temperature", "sign", "1/i"),
        ("#L[a] > 1", "causal-position", "sign", "1/i"),
    ],
)
def test_the_declared_gap_is_that_of_the_theory_and_kept(text: str, regime: str, counting: Method, rate: str) -> None:
    found = program(text, regime, counting)
    (head,) = heads_of(found, Kind.LOOKUP, Kind.TABLE, Kind.SIGN, Kind.SIGN_RAMP)
    assert head.promise is not None
    expected = expression(rate)
    for n in range(1, 7):
        declared = [expected.evaluate(i=i, n=n) for i in range(1, n + 1)]
        assert [head.promise.evaluate(i=i, n=n) for i in range(1, n + 1)] == declared
        for word in all_words("ab", n):
            # the interpreter checks it in every row; n = 1 has no second position
            gap = hard_run(found, word).gaps.get(head.name)
            assert (gap is None) == (len(word) == 1)
            if gap is not None:
                assert gap >= min(head.promise.evaluate(i=i, n=len(word)) for i in range(1, len(word) + 1))


def changed(found: Program, kinds: tuple[Kind, ...], **changes: Any) -> Program:
    """Return the program with its heads of some kinds changed."""
    layers = tuple(
        replace(layer, heads=tuple(replace(head, **changes) if head.kind in kinds else head for head in layer.heads))
        for layer in found.layers
    )
    return replace(found, layers=layers)


@pytest.mark.parametrize(
    ("regime", "counting", "field"),
    [
        ("temperature", "lookup", "decay"),
        ("causal-temperature", "lookup", "decay"),
        ("temperature", "sign", "gap"),
        ("causal-temperature", "sign", "gap"),
        ("causal-position", "sign", "gap"),
    ],
)
def test_a_larger_promise_is_found_out(regime: str, counting: Method, field: str) -> None:
    found = program("#L[a] > 1", regime, counting)
    kinds = (Kind.LOOKUP, Kind.SIGN, Kind.SIGN_RAMP)
    larger = changed(found, kinds, **{field: expression("60/i")})
    assert hard_run(found, "aa").gaps
    with pytest.raises(InvariantError, match=r"the score gap is .*, less than the declared \d+ "):
        hard_run(larger, "aa")


def test_a_sign_test_without_the_half_breaks_its_promise() -> None:
    """With equal numbers of a and b only the half distinguishes the parities."""
    found = program("#L[a] > #L[b]", "temperature", "sign")
    (head,) = heads_of(found, Kind.SIGN)
    ((y, key),) = head.score
    half = replace(y, terms=tuple((name, value) for name, value in y.terms if not name.startswith("1/i")))
    assert half != y
    flat = changed(found, (Kind.SIGN,), score=((half, key),))
    for word in (("a", "b"), ("b", "a", "a")):
        trace = hard_run(program("#L[a] > #L[b]", "temperature", "sign"), word)
        assert trace.gaps[head.name] >= Fraction(1, len(word))
    # Without (-1 + 1/2)/i the row of "ab" is flat: there is no second value, so no gap, and both parities are averaged.
    trace = hard_run(flat, ("a", "b"))
    assert trace.columns[head.out][1] == Fraction(1, 2)
    # Scaled down to a quarter, the gap at position 2 is 2 * 1/4 * 1/4 < 1/2.
    small = changed(found, (Kind.SIGN,), score=((y.scaled(Fraction(1, 4)), key),))
    with pytest.raises(InvariantError, match=r"at position 2 of 2 the score gap is 1/8, less than the declared 1/2"):
        hard_run(small, ("a", "b"))


def test_average_hard_heads_give_the_mean_of_ties() -> None:
    """Positions 2, 4 and 6 tie; the mean over them of [a], which is read in place of the parity, is two thirds."""
    found = program("#L[a] > 1", "temperature", "sign")
    (head,) = heads_of(found, Kind.SIGN)
    assert head.weighting is Weighting.AVERAGE
    # y > 0 from position 2 on: only even positions
    assert hard_run(found, "aaaaaa").columns[head.out] == [0, 1, 1, 1, 1, 1]
    assert hard_run(found, "bbbbbb").columns[head.out] == [0] * 6
    fourth = changed(found, (Kind.SIGN,), values=((head.out, Affine.coordinate("[a]")),))
    # counts 1 2 2 3 4 4: from position 2 on the even positions up to i; 2 and 4 are a's, 6 is not
    assert hard_run(fourth, "aabaab").columns[head.out] == [1, 1, 1, 1, 1, Fraction(2, 3)]


def test_counts_are_exact_means_and_inverses() -> None:
    found = program("#R[a] > 1")
    columns = hard_run(found, "abaa").columns
    means = [columns[head.out] for head in found.heads if head.kind is Kind.UNIFORM]
    assert [Fraction(3, 4), Fraction(2, 3), 1, 1] in means
    assert [Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), 1] in means
    assert SIZES == {"L": "i", "R": "(n - i + 1)", "": "n"}


# ---- refusals ----


@pytest.mark.parametrize(
    ("text", "regime", "counting", "start", "hint"),
    [
        (
            "b & PRIME(#L[a])",
            "causal-position",
            None,
            "4:5: error: 'PRIME' looks up a count, and regime 'causal-position' has no look-up",
            "temperature, position, causal-temperature",
        ),
        (
            "(#L[a]) mod 3 = 1",
            "causal-position",
            None,
            "4:9: error: 'mod' looks up a count",
            "temperature, position, causal-t",
        ),
        ("MID(#L[a])", "causal-position", "sign", "4:1: error: 'MID' looks up a count", "temperature, position"),
        (
            "#L[a] > 1",
            "causal-position",
            "lookup",
            "4:7: error: '>' compares counts by look-up, which regime 'causal-position' does not have",
            "Leave out --counting lookup. The regimes that can compute the whole formula: temperature, position, ",
        ),
        ("a | #R[b] > 1", "causal-temperature", None, "4:5: error: '#R' looks ahead", "temperature, position."),
        ("a | #R[b] > 1", "causal-position", None, "4:5: error: '#R' looks ahead", "temperature, position."),
        (
            "O (2 < #[b])",
            "causal-temperature",
            None,
            "4:8: error: '#' looks ahead",
            "temperature, position, layer-norm, rounded.",
        ),
        ("#L[a] + len > 1", "causal-position", None, "4:9: error: 'len' looks ahead", "temperature, position."),
        ("PRIME(len)", "causal-temperature", None, "4:7: error: 'len' looks ahead", "temperature, position."),
        ("ODD(#[a])", "causal-temperature", "lookup", "4:5: error: '#' looks ahead", "temperature, position."),
        ("Y (#L[a] = #R[b])", "causal-position", None, "4:12: error: '#R' looks ahead", "temperature, position."),
    ],
)
def test_what_a_regime_cannot_is_refused_at_the_operator(
    text: str, regime: str, counting: Method | None, start: str, hint: str
) -> None:
    with pytest.raises(Unsupported) as caught:
        compiled(text, regime, counting)
    message = str(caught.value)
    assert message.startswith(f"<text>:{start}"), message
    assert hint in message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("#L[a] > #R[b]", "#L and #R"),
        ("#L[a] > #[b]", "# and #L"),
        ("#R[a] > pos", "#L and #R"),
        ("#L[a] > len", "# and #L"),
    ],
)
@pytest.mark.parametrize("regime", ["temperature", "position"])
def test_the_sign_test_refuses_mixed_kinds(text: str, kinds: str, regime: str) -> None:
    with pytest.raises(Unsupported) as caught:
        compiled(text, regime, "sign")
    message = str(caught.value)
    assert f"mixes counts of the kinds {kinds}" in message
    assert (
        "Leave out --counting sign. The regimes that can compute the whole formula: temperature, position." in message
    )
    assert compiled(text, regime, "lookup").facts.counting == "lookup"


# ---- without sharpening ----


@pytest.mark.parametrize("text", ["2*#[a] > len", "#L[a] > #L[b]"])
def test_none_fails_visibly_at_majority_while_hard_attention_agrees(text: str) -> None:
    subject = compile_formula(parse(text), ModelOptions("none", counting="sign"))
    answers = evaluations(subject, all_words("ab", 6))
    assert all(found.hard is found.oracle is (found.word.count("a") > found.word.count("b")) for found in answers)
    assert min(len(found.word) for found in answers if found.mismatch) > 1
    assert lower(desugar(subject.formula), REGIMES["none"]) == subject.program  # the sign test is its only method
