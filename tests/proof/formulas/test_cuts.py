"""Cut points: clips of many Booleans without a table, accounts that names do not fool, and large Declare models."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.declare import model
from hardsim.lang.core import And, Lit, Reach
from hardsim.proof.formulas.account import Account, account_of
from hardsim.proof.formulas.facts import MOST_JOINED, Column, Facts
from hardsim.proof.formulas.network import prove_meaning, prove_network
from hardsim.targets.subject import own_predicates
from tests.proof.formulas.mutate import renamed
from tests.proof.formulas.perturb import with_one
from tests.support.check import FormulaTarget, ModelOptions, NotProved, Sites, compile_formula, prove
from tests.support.language import desugar, parse_text
from tests.support.model import Affine, Program, Rational, Unit, assemble
from tests.support.subjects import compiled, general_proof, proof_of

ONE_SITE = Sites((1,))


def variables(facts: Facts, number: int) -> list[Column]:
    return [facts.everywhere(facts.fact("x", k)) for k in range(number)]


# ---- clips ----

SIGNS = st.lists(st.sampled_from([-1, 1]), min_size=2, max_size=6)


@given(SIGNS, st.sampled_from([1, 2, Fraction(1, 2), 3]), st.fractions(-9, 9, max_denominator=2), st.data())
def test_a_clip_is_what_its_table_says(
    signs: list[int], size: Fraction, constant: Fraction, data: st.DataObject
) -> None:
    """Compare the diagrams of clips with tables: equal coefficients, any threshold; variables, conjunctions and
    constants.
    """
    facts = Facts(ONE_SITE, ("a", "b"))
    known = variables(facts, 4)
    known += [facts.both(known[:2]), facts.negated(facts.both(known[1:3])), facts.letter(frozenset("a"))]
    known += [facts.everywhere(facts.diagrams.one), facts.everywhere(facts.diagrams.zero)]
    parts: list[tuple[Rational, Column]] = [(sign * size, data.draw(st.sampled_from(known))) for sign in signs]
    if data.draw(st.booleans()):
        factor: Rational = data.draw(st.sampled_from([Fraction(2), Fraction(1, 3)]))
        parts[0] = (factor, parts[0][1])
    assert facts.clip(parts, constant) == facts.clipped(facts.combine(parts, constant))


@pytest.mark.parametrize("number", [200, 1500])
@pytest.mark.parametrize("sign", [1, -1])
def test_many_booleans_take_a_node_each(number: int, sign: int) -> None:
    """Their sum would take number^2 / 2 nodes."""
    facts = Facts(ONE_SITE, ("a", "b"))
    bits = variables(facts, number)
    before = len(facts.diagrams._nodes)
    found = facts.clip([(sign, bit) for bit in bits], 1 - number if sign > 0 else 1)
    assert found == facts.both([bit if sign > 0 else facts.negated(bit) for bit in bits])
    assert len(facts.diagrams._nodes) - before <= 4 * number


def test_what_is_joined_is_cut_where_there_is_much_of_it() -> None:
    """If k + 1 exclusive ors share a variable, their conjunction requires all others to be equal; with cuts it becomes
    a conjunction of k + 1 variables.
    """
    facts = Facts(ONE_SITE, ("a", "b"))
    first, *others = variables(facts, MOST_JOINED + 2)
    parts = [(1, facts.each("xor", lambda a, b: int(a != b), first, other)) for other in others]
    cuts = [facts.fact("cut", place) for place in range(len(parts))]
    expected = facts.both([facts.everywhere(cut) for cut in cuts])
    assert facts.clip(parts, 1 - len(parts), cuts.__getitem__) == expected
    for fewer, cut in ((parts[1:], cuts.__getitem__), (parts, lambda place: None)):
        whole = facts.both([column for _, column in fewer])
        assert facts.clip(fewer, 1 - len(fewer), cut) == whole


# ---- accounts ----


def account(subject: FormulaTarget, program: Program | None = None) -> Account:
    core = desugar(subject.formula)
    facts = Facts(Sites((1, 2, 3, 4)), core.alphabet, own_predicates(subject.formula))
    return account_of(facts, program or subject.program, core)


def test_every_coordinate_of_a_formula_is_a_node_of_its_core() -> None:
    subject = compiled("(a S Y b) & !(Y b ^ O c) & #L[a] > #L[b] & first", letters="abc")
    core, found = desugar(subject.formula), account(subject)
    held = {lit.node for unit in subject.program.layers[-1].units if (lit := found.literal(unit.out)) is not None}
    assert core.root.node in held
    written = {unit.out for layer in subject.program.layers for unit in layer.units}
    nodes = {name: found.literal(name) for name in written}
    assert {name for name, lit in nodes.items() if lit is None} == {"#L[a].some", "#L[b].some"}
    assert all(isinstance(core.nodes[lit.node], Reach) for name, lit in nodes.items() if lit and name.startswith("S"))


def test_names_mean_nothing_to_an_account() -> None:
    subject = compiled("(a S Y b) & (Y a S b)")
    own = account(subject)
    first, second = (unit.out for unit in subject.program.layers[2].units)
    swapped = renamed(renamed(renamed(subject.program, first, "?"), second, first), "?", second)
    found = account(subject, swapped)
    assert (found.literal(first), found.literal(second)) == (own.literal(second), own.literal(first)) != (None, None)


def test_a_negation_is_a_literal() -> None:
    subject = compiled("!(a S Y b)")
    root = desugar(subject.formula).root
    assert account(subject).literal("accept") == root == Lit(root.node, True)


# ---- Declare models ----


def declared(number: int, symbols: int, props: bool = False, seed: int = 0) -> FormulaTarget:
    return compile_formula(parse_text(model(number, symbols, seed, props)), ModelOptions())


@pytest.mark.parametrize("props", [False, True])
def test_a_model_of_many_constraints_is_proved(props: bool) -> None:
    subject = declared(40, 10, props)
    assert proof_of(subject, 5).reason is None
    assert general_proof(subject).reason is None


@pytest.mark.slow
@pytest.mark.parametrize(("number", "symbols", "props"), [(100, 15, False), (200, 15, False), (330, 58, True)])
def test_mined_models_are_proved_to_length_64(number: int, symbols: int, props: bool) -> None:
    subject = declared(number, symbols, props)
    assert proof_of(subject, 64).reason is None
    assert general_proof(subject).reason is None


def edited(program: Program, rng: Random) -> tuple[Program, str]:
    """Change a clip of many inputs: leave one out, make one fail, or negate one."""
    wide = [(number, place) for number, layer in enumerate(program.layers)
            for place, unit in enumerate(layer.units) if len(unit.pre.terms) > 4]  # fmt: skip
    number, place = rng.choice(wide)
    layer = program.layers[number]
    unit: Unit = layer.units[place]
    terms = dict(unit.pre.terms)
    name = rng.choice([name for name in terms if name != "1"])
    match rng.choice(["left out", "may fail", "negated"]):
        case "left out":
            form = Affine.of([(key, value) for key, value in terms.items() if key != name])
            form += Affine.constant(max(terms[name], 0))
        case "may fail":
            form = unit.pre + Affine.constant(1)
        case _:
            form = unit.pre - Affine.of({name: 2 * terms[name], "1": -terms[name]})
    units = with_one(layer.units, place, replace(unit, pre=form))
    return replace(program, layers=with_one(program.layers, number, replace(layer, units=units))), unit.out


@pytest.mark.slow
def test_no_changed_conjunction_of_a_large_model_is_proved() -> None:
    # No member of the conjunction follows from the others.
    parts = [f"G({a} -> F {b})" for a, b in permutations("abcdef", 2)]
    text = f"alphabet: a b c d e f\nat: first\n{' & '.join(parts)}\n"
    subject, rng, sites = compile_formula(parse_text(text), ModelOptions()), Random(1), Sites((1, 2, 3))
    core = desugar(subject.formula)
    assert prove_meaning(subject.program, core, Facts(sites, core.alphabet)).proved
    for _ in range(8):
        program, out = edited(subject.program, rng)
        assert not prove_meaning(program, core, Facts(sites, core.alphabet)).proved, out
        # The changed program describes its own network, and not the original one.
        assert prove_network(assemble(program, subject.budget), program, sites)[0].proved
        assert not prove_network(subject.model, program, sites)[0].proved


def test_another_large_model_is_not_proved() -> None:
    subject, other = declared(20, 8), declared(20, 8, seed=1)
    assert not prove(subject.model, subject.program, 3, desugar(other.formula)).proved


def test_a_conjunction_in_the_core_that_no_coordinate_is_loses_nothing() -> None:
    """The core only suggests where to cut: with a conjunction that lost a member it proves the same."""
    subject = declared(30, 8)
    core = desugar(subject.formula)
    nodes = tuple(And(node.args[1:]) if isinstance(node, And) and len(node.args) > 2 else node for node in core.nodes)
    assert nodes != core.nodes
    facts = Facts(Sites((1, 2, 3)), core.alphabet)
    assert prove_meaning(subject.program, replace(core, nodes=nodes), facts).reason is None


def test_an_account_of_another_alphabet_is_refused() -> None:
    core = desugar(parse_text("alphabet: a b c\nO a\n"))
    with pytest.raises(NotProved, match="different alphabets"):
        Account(Facts(ONE_SITE, ("a", "b")), compiled("O a").program, core)
