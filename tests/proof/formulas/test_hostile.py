"""The prover on networks and specifications that no compiler wrote: former wrong proofs, and variants of them."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import exp, inf, nan
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hardsim.lang.arith import Constant, Expression, Indicator, Negation, Operation, Variable
from hardsim.network.columns import PositionFunction
from hardsim.network.numbers import ONE, plain
from hardsim.proof.formulas.arrays import Running, above, ball, exp_lower, exp_upper, share
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proof.formulas.network import prove_network
from hardsim.proof.formulas.sites import Classes, SiteClass
from hardsim.proof.shared.ratios import NoRatio, Ratio, ratio_of
from hardsim.targets.subject import own_predicates
from tests.proof.formulas.mutate import mutated, renamed
from tests.proof.formulas.test_perturbed import refuting_word, subjects
from tests.support.check import FormulaTarget, Sites, prove
from tests.support.language import Arith, HardsimError, SourceError, desugar, parse_arith, parse_expression
from tests.support.model import (
    PROVEN,
    Affine,
    Encoding,
    Head,
    Kind,
    LengthTable,
    Matrix,
    PredicateColumn,
    Program,
    ProgramLayer,
    Rational,
    Transformer,
    Unit,
    assemble,
)
from tests.support.networks import edited_head, put
from tests.support.subjects import compiled, stated_to_be


def proved(subject: FormulaTarget, model: Transformer, program: Program | None = None, max_n: int = 6) -> list[str]:
    """Return the kinds of proof that are found for a network: "finite", "every"."""
    core, users = desugar(subject.formula), own_predicates(subject.formula)
    found = {"finite": prove(model, program or subject.program, max_n, core, users).proved,
             "every": prove_general(model, program or subject.program, core, users).proved}  # fmt: skip
    return [name for name, holds in found.items() if holds]


# ---- expressions for every length ----

LEAVES: st.SearchStrategy[Expression] = st.one_of(
    st.integers(0, 4).map(Constant), st.sampled_from([Variable("i"), Variable("n"), Negation(Constant(1))])
)
OPERATORS = st.sampled_from(["+", "-", "*", "/", "^", "div", "mod"])
COMPARISONS = st.sampled_from(["<", "<=", "=", "!=", ">=", ">"])


def _deeper(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        inner.map(Negation),
        st.builds(Operation, OPERATORS, inner, inner),
        st.builds(Indicator, st.builds(Operation, COMPARISONS, inner, inner)),
    )


def points(one: SiteClass) -> list[tuple[int, int]]:
    """Return some positions of some lengths of a class, as pairs (i, n)."""
    return [(i, n) for n in range(1, 8) for i in range(1, n + 1)
            if (i == 1, i == n, i % 2 == 0, n % 2 == 0) == (one.first, one.last, one.even_i, one.even_n)]  # fmt: skip


@given(st.recursive(LEAVES, _deeper, max_leaves=6))
def test_an_expression_is_for_every_length_what_it_is_at_each(tree: Expression) -> None:
    function = Arith(tree)
    for one in Classes().classes:
        try:
            found = ratio_of(function, one.sign, one.domain)
        except NoRatio:
            continue
        for i, n in points(one):
            assert Ratio.of(found).at({"i": i, "n": n}).simplest == plain(function.evaluate(i=i, n=n))


@pytest.mark.parametrize("part", ["i mod 2", "1/4 mod (1/2)", "[i = 1]", "2^n", "n^(1/2)", "2^(0-1)", "1/(n-n)",
                                  "((i^16)^16)^16", "(i*n)^9", "((((10^16)^16)^16)^16)^16"])  # fmt: skip
def test_what_is_no_rational_function_is_refused(part: str) -> None:
    for one in Classes().classes:
        with pytest.raises((NoRatio, SourceError)):
            ratio_of(parse_arith(part), one.sign, one.domain)


@given(st.integers(2, 70), st.sampled_from(["n mod {} + 1", "1 + 99*[n > {}]", "1 + 99*[n mod {} = 1]"]))
@settings(max_examples=12)
def test_a_temperature_that_is_wrong_at_some_lengths_alone_is_not_proved_for_every_length(n: int, text: str) -> None:
    subject = compiled("a S b", letters="abc")
    model = replace(subject.model, temperature=parse_arith(f"({subject.model.temperature})*({text.format(n)})"))
    assert "every" not in proved(subject, model, max_n=1)


# ---- terms that depend on symbol and position together ----


def with_encoding(model: Transformer, name: str, value: PositionFunction) -> Transformer:
    return replace(model, encodings=(*model.encodings, (model.coordinates.index(name), value)))


@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("value", ["-i/n", "-i", "1/i", "3*(-1)^i"])
def test_a_key_or_value_that_depends_on_symbol_and_position_is_proved_where_it_is_right(
    regime: str, value: str
) -> None:
    subject = compiled("a S b", regime, letters="abc")
    for letter in subject.program.letters:
        model = with_encoding(subject.model, letter.name, parse_arith(value))
        assert not proved(subject, model, max_n=5) or refuting_word(subject, model, 4) is None


@given(st.fractions(-2, 2, max_denominator=4).filter(bool), st.sampled_from(["i/n", "n", "i", "1/n"]))
@settings(max_examples=20)
def test_a_key_that_undoes_the_tie_break_is_not_proved(factor: Fraction, value: str) -> None:
    subject = compiled("a S b", letters="abc")
    key = next(name for name, _ in subject.program.heads[-1].score[0][1].terms
               if name in {letter.name for letter in subject.program.letters})  # fmt: skip
    model = with_encoding(subject.model, key, parse_arith(f"({factor})*{value}"))
    # The tie-break is i/(2n) beside the letter. A term that adds to it, or is the same everywhere, keeps the order;
    # one that takes more away reverses the order.
    slope = Fraction(1, 2) + (factor if value == "i/n" else 0)
    found = proved(subject, model, max_n=3)
    if value in ("n", "1/n"):
        assert found == ["finite", "every"]
    elif value == "i/n" and slope <= 0:
        assert not found


@pytest.mark.parametrize(("text", "regime"), [("a S b", regime) for regime in PROVEN] + [
    ("#L[a] > #L[b]", "causal-position"), ("#L[a] > #L[b]", "temperature"), ("PRIME(#L[a])", "position")])  # fmt: skip
def test_values_that_depend_on_the_position_are_refused(text: str, regime: str) -> None:
    subject = compiled(text, regime)
    # A sign test reads by parity in any case.
    places = [place for place, value in subject.model.encodings
              if "i" in value.variables and str(value) != "(-1)^i"]  # fmt: skip
    w_v = subject.model.heads[-1].w_v
    out = w_v.entries[0][0]
    for place in places:
        model = edited_head(subject.model, -1, w_v=put(w_v, out, place, 1000))
        if model != subject.model:
            assert not proved(subject, model, max_n=3), (text, place)


# ---- caches ----

TABLES = st.lists(st.fractions(-3, 3, max_denominator=3), min_size=4, max_size=4).map(tuple)


@given(TABLES, TABLES)
@settings(max_examples=20)
def test_two_tables_of_one_length_are_two(first: tuple[Fraction, ...], second: tuple[Fraction, ...]) -> None:
    assume(first != second)
    sites = Sites((1, 2, 3, 4))
    for values in (first, second):
        assert sites.evaluate(LengthTable(values)) == [plain(values[n - 1]) for n in range(1, 5) for _ in range(n)]


def test_two_meanings_of_one_name_are_two() -> None:
    sites = Sites((4,))

    def column(rest: int) -> PredicateColumn:
        return PredicateColumn("P", (), 1, 0, 0, "P(x)", lambda value, n: value % 2 == rest)

    assert [sites.evaluate(column(rest)) for rest in (0, 1)] == [[0, 1, 0, 1], [1, 0, 1, 0]]


# ---- numbers beyond float64 ----


@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, 1.0, inf, nan]))
def test_what_is_no_number_is_bounded_by_anything(x: float, error: float) -> None:
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = exp_lower(np.array([x]), error)[0], exp_upper(np.array([x]), error)[0]
    assert 0 <= low <= high
    if not np.isfinite(x + error) and x + error != -inf:
        assert high == inf
    if not np.isfinite(x - error) and x - error != inf:
        assert low == 0


def test_a_ball_of_which_nothing_is_known_is_below_infinity() -> None:
    assert above(ball(1) / (ball(1) - 1)) == inf


@given(st.lists(st.tuples(st.floats(-1e306, 1e306), st.booleans()), min_size=1, max_size=8))
def test_shares_are_bounded_whatever_the_size_of_logits(logits: list[tuple[float, bool]]) -> None:
    wrong, right = Running.empty((1,)), Running.empty((1,))
    with np.errstate(invalid="ignore"):
        for logit, good in logits:
            if good:
                right = right.plus(np.array([logit]))
            else:
                wrong = wrong.plus(np.array([logit]))
        found = share(wrong, right, np.zeros(1), len(logits))[0]
    top = max(logit for logit, _ in logits)
    parts = [sum(exp(max(logit - top, -745)) for logit, own in logits if own is good and logit - top > -745)
             for good in (False, True)]  # fmt: skip
    assert found >= parts[0] / (parts[0] + parts[1]) * (1 - 1e-12)
    assert found <= 1


SIZES = st.sampled_from([Fraction(1, 10**400), Fraction(1, 10**320), Fraction(1, 10**200), Fraction(1, 100),
                         Fraction(2**60 + 1), Fraction(10**20), Fraction(10**170), Fraction(10**306),
                         Fraction(10**400)])  # fmt: skip


@given(SIZES, SIZES, st.integers(0, 6), st.booleans())
def test_numbers_of_any_size_prove_nothing_wrong(query: Fraction, key: Fraction, place: int, both: bool) -> None:
    subject = compiled("a S b", letters="abc")
    head = subject.model.heads[-1]
    rows = {(row, column): value for row, column, value in head.w_k.entries}
    rows[0, place] = (rows.get((0, place), 0) if both else 0) - key
    w_q, w_k = Matrix.of(*head.w_q.shape, {(0, 0): query}), Matrix.of(*head.w_k.shape, rows)
    model = edited_head(subject.model, -1, w_q=w_q, w_k=w_k)
    if proved(subject, model, max_n=3):
        assert refuting_word(subject, model, 3) is None


# ---- names ----


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("text", ["a S b & Y a", "PRIME(#L[a]) & first"])
def test_a_name_with_two_meanings_proves_nothing(text: str) -> None:
    subject = compiled(text)
    names = subject.program.coordinates
    for place, new in enumerate(names):
        for old in names[place + 1 :]:
            program = renamed(subject.program, old, new)
            for model in (subject.model, assemble(program, subject.budget)):
                assert not proved(subject, model, program, max_n=2), (old, new)


def test_two_heads_of_one_name_prove_nothing() -> None:
    subject = compiled("a S b & b S a")
    heads = subject.program.heads

    def layer(one: ProgramLayer) -> ProgramLayer:
        return replace(one, heads=tuple(replace(head, name=heads[-1].name) for head in one.heads))

    program = replace(subject.program, layers=tuple(layer(one) for one in subject.program.layers))
    assert len(heads) > 1
    assert not proved(subject, assemble(program, subject.budget), program)


# ---- counts ----


def in_place(form: Affine, names: dict[str, str]) -> Affine:
    """Rename coordinates that a form reads."""
    return Affine.of([(names.get(name, name), value) for name, value in form.terms])


@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("kind", ["ODD({})", "PRIME({})", "MOD(3, 1, 2*{} + 1)"])
@pytest.mark.parametrize("row", [{}, {"i": 1, "n": 1, "n*i": 1}])
def test_a_row_of_another_count_is_not_taken_for_that_of_the_count(
    regime: str, kind: str, row: dict[str, Rational]
) -> None:
    # The look-up is of the number of a's. The score also has a row with the number of all positions; its key is 0, or
    # a second row cancels it.
    text, expected = kind.format("#L[a]"), parse_expression(kind.format("pos"), ["a", "b"])
    try:
        subject = compiled(text, regime, counting="lookup")
    except HardsimError:
        return  # no construction
    names = {"[a]": ONE}
    known = {item.name for item in subject.program.encodings}
    key = Affine.of({name: value for name, value in row.items() if name in known})
    rows = [(Affine.coordinate("all.mean"), key)] + [(Affine.coordinate("all.mean").scaled(-1), key)] * bool(key.terms)

    def changed(head: Head) -> list[Head]:
        if head.out == "#L[a].mean":
            return [head, replace(head, name="all.mean", values=(("all.mean", Affine.constant(1)),))]
        if any(query == Affine.coordinate("#L[a].mean") for query, _ in head.score):
            return [replace(head, score=(*rows, *head.score))]
        if head.select is not None and head.out == "#L[a].some.read":
            score = tuple((query, in_place(other, names)) for query, other in head.score)
            values = ((head.out, Affine.constant(1)),)
            return [replace(head, score=score, values=values, select=Affine.constant(1))]
        return [head]

    layers = tuple(replace(layer, heads=tuple(new for old in layer.heads for new in changed(old)))
                   for layer in subject.program.layers)  # fmt: skip
    program = replace(subject.program, layers=layers, coordinates=())
    model = assemble(program, subject.budget)
    assert refuting_word(stated_to_be(subject, kind.format("pos")), model, 4)
    assert not prove(model, program, 4, desugar(expected)).proved
    assert not prove_general(model, program, desugar(expected)).proved


def test_two_clips_of_counts_that_write_one_coordinate_are_not_taken_for_one() -> None:
    subject = compiled("#L[a] >= 2", counting="lookup")
    layer = subject.program.layers[-1]
    (clip,) = (item for item in layer.units if item.counts)
    less = Unit(((clip.out, -clip.weight),), clip.pre - Affine.constant(2), counts=clip.counts)
    layers = (*subject.program.layers[:-1], replace(layer, units=(*layer.units, less)))
    program = replace(subject.program, layers=layers)
    model = assemble(program, subject.budget)
    # At a count of 2 one of the two is true, at larger counts both: their difference is not always 0.
    for link in (prove_network(model, program, Sites((1, 2, 3, 4)))[0], prove_general(model, program).network):
        assert link.reason == f"the coordinate '{clip.out}' can have values other than 0 and 1"


@pytest.mark.parametrize("regime", ["temperature", "position"])
@pytest.mark.parametrize("value", ["(-1)^i*(1-2*[i=n])", "(-1)^i*(1-2*[i=1])", "-(-1)^i", "(-1)^i*[i<n]"])
def test_a_sign_test_whose_neighbours_are_alike_somewhere_is_not_proved(regime: str, value: str) -> None:
    subject = compiled("O(#R[a] > #R[b])", regime, counting="sign")
    (parity,) = (item.name for item in subject.program.encodings if str(item.value) == "(-1)^i")
    names = {parity: "alike"}

    def changed(one: ProgramLayer) -> ProgramLayer:
        heads = tuple(replace(head, values=((head.out, in_place(head.value, names)),),
                              score=tuple((query, in_place(key, names)) for query, key in head.score))
                      if head.kind is Kind.SIGN else head for head in one.heads)  # fmt: skip
        return replace(one, heads=heads)

    program = replace(
        subject.program,
        encodings=(*subject.program.encodings, Encoding("alike", parse_arith(value))),
        layers=tuple(changed(layer) for layer in subject.program.layers),
        coordinates=(),
    )
    model = assemble(program, subject.budget)
    assert program.heads != subject.program.heads
    assert not proved(subject, model, program, max_n=5) or refuting_word(subject, model, 5) is None


def test_a_coordinate_called_symbol_is_no_symbol_of_a_word() -> None:
    subject = compiled("a S Y b")
    step = next(name for name in subject.program.coordinates if name.startswith("Y") and "." not in name)
    program = renamed(subject.program, step, "symbol")
    cases = prove(assemble(program, replace(subject.budget, beta=Fraction(1))), program, 4).network.cases
    assert cases
    assert {symbol for case in cases for symbol in case.symbols or ()} <= {"", "a", "b"}


def test_the_constant_is_no_letter() -> None:
    assert ONE == "1"
    subject = compiled("a S b")
    program = renamed(subject.program, subject.program.letters[0].name, ONE)
    link, _ = prove_network(subject.model, program, Sites((1, 2)))
    assert link.reason == "the specification has two meanings for the coordinate '1'"


# ---- a constant in the keys, which softmax ignores ----

LEVELS = st.one_of(st.fractions(-3, 3), st.integers(50, 300).map(lambda power: Fraction(10**power)))


def with_level(model: Transformer, number: int, level: Fraction) -> Transformer:
    """Add a constant to the first key of a head; its softmax stays the same."""
    return edited_head(model, number, w_k=put(model.heads[number].w_k, 0, 0, plain(level)))


CASES = [
    *[("temperature", text, Kind.NEAREST) for text in ("a S b", "b U a", "Y a")],
    ("causal-temperature", "a S b", Kind.NEAREST),
    *[("temperature", text, Kind.LOOKUP) for text in ("#L[a] > #L[b]", "2*#L[a] >= 3*#[b]", "#[a] = #[b]")],
]


@pytest.mark.slow
@given(LEVELS, st.sampled_from(CASES))
@settings(max_examples=24)
def test_a_head_is_proved_with_any_constant_in_its_keys(level: Fraction, case: tuple[str, str, Kind]) -> None:
    regime, text, kind = case
    subject = compiled(text, regime, letters="abc" if kind is Kind.NEAREST else "ab")
    number = next(k for k, head in enumerate(subject.program.heads) if head.kind is kind)
    assert proved(subject, with_level(subject.model, number, level)) == ["finite", "every"]


# ---- random changes ----


def sweep(count: int, longest: int, seed: int) -> Counter[str]:
    """Count changed networks and specifications that were proved; fail on one that a word refutes."""
    rng = Random(seed)
    found: Counter[str] = Counter()
    while found.total() < count:
        subject = rng.choice(subjects())
        case = mutated(subject, rng)
        if case is None:
            continue
        try:
            proofs = proved(subject, case.model, case.program, max_n=longest)
        except HardsimError:  # the temperature or an encoding has no value somewhere
            found["has no value somewhere"] += 1
            continue
        found[" and ".join(proofs) or "not proved"] += 1
        if proofs:
            word = refuting_word(subject, case.model, longest)
            assert word is None, (case.kind, subject.formula, subject.program.regime, word)
    return found


@pytest.mark.slow
def test_nothing_changed_is_proved_and_refuted() -> None:
    found = sweep(40, 4, seed=5)
    assert found["finite and every"] >= 3
    assert found["not proved"] >= 20


@pytest.mark.slow
def test_nothing_of_a_thousand_is_proved_and_refuted() -> None:
    assert sweep(1000, 5, seed=6)["finite and every"] >= 50
