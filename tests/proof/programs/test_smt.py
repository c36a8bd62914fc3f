"""Queries of the steps of programs' proofs: z3 answers unsat to each of them, finds a solution if a step is wrong, and
finds the assumptions of each query possible.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import pytest

from hardsim.network.transformer import AttentionHead
from hardsim.proof.programs.every_length import Decay, DecayClaim, LayerStep, PowerBound, WeightStep, argue
from hardsim.proof.programs.lattice import NumberSpan, times
from hardsim.proof.programs.law import Law, LayerLaw, ProgramLaw
from hardsim.proof.programs.places import World
from hardsim.proof.programs.rows import Row
from hardsim.proof.programs.smt import ProgramWriter, program_text, program_writer
from hardsim.proof.shared.smt import text_of
from tests.support.check import NotProved, Subject, law_of
from tests.support.language import Arith, parse_arith
from tests.support.mistakes import raised
from tests.support.model import Matrix, Program, Relus, assemble
from tests.support.simulations import random_model
from tests.support.solver import answers, by_kind
from tests.support.subjects import FORMULAS, known, program_of, shipped, tau_of

BY_STRUCTURE = [*sorted(path.name for path in FORMULAS.glob("*.srasp")),
                "flipflop.ahat.json", "no_repeats.ahat.json", "same_ends.ahat.json"]  # fmt: skip
SMALL = "same_ends.ahat.json"
FEW = ["dyck1.srasp", "same_ends.ahat.json"]
TWO = Fraction(2)
Change = Callable[[ProgramWriter], ProgramWriter]


def of_subject(subject: Subject) -> ProgramWriter:
    assert isinstance(subject.law, ProgramLaw)
    model = assemble(subject.program, tau_of(subject.argument))
    return program_writer(model, subject.program, subject.law, subject.argument, subject.exact)


def of_program(program: Program) -> ProgramWriter | None:
    """Return the writer for a program without other known facts; None unless it has a proof for every length."""
    try:
        claim = DecayClaim(program, law_of(program), program.threshold is None, lambda end: range(1, end))
    except NotProved:
        return None
    argument = argue(claim)
    if not argument.proved:
        return None
    model = assemble(program, tau_of(argument))
    return program_writer(model, program, claim.law, argument, claim.exact)


@cache
def writer(name: str) -> ProgramWriter:
    return of_subject(shipped(name))


def solved(made: ProgramWriter, directory: Path) -> dict[str, set[str]]:
    return by_kind(list(made.steps()), program_text(made, "test"), directory)


def solutions(made: ProgramWriter, kind: str, directory: Path) -> set[str]:
    """Return z3's answers to the queries of one kind."""
    return set(answers(text_of([step for step in made.steps() if step.kind == kind], "test", ()), directory))


@pytest.mark.parametrize("name", FEW)
def test_every_step_holds(name: str, tmp_path: Path) -> None:
    found = solved(writer(name), tmp_path)
    assert set.union(*found.values()) == {"unsat"}
    assert {"temperature", "input", "unit", "scores", "gap", "rate", "size", "margin", "error", "decay"} <= found.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_STRUCTURE)
def test_every_step_of_every_shipped_program_holds(name: str, tmp_path: Path) -> None:
    assert set.union(*solved(writer(name), tmp_path).values()) == {"unsat"}


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 80), marks=pytest.mark.slow)])
def test_every_step_of_random_models_holds(seeds: range, tmp_path: Path) -> None:
    """Random models that have a proof, with averages over ties and alternating encodings."""
    some = [made for seed in seeds if (made := of_program(random_model(Random(seed), tied=not seed % 2))) is not None]
    assert len(some) * 4 > len(seeds)
    for made in some:
        assert set.union(*solved(made, tmp_path).values()) == {"unsat"}


@pytest.mark.parametrize("name", FEW)
def test_what_a_query_takes_for_granted_is_possible(name: str, tmp_path: Path) -> None:
    queries = [query for query in writer(name).steps() if len(query.lines) > 1]
    assert all(query.lines[-1].startswith("(assert ") for query in queries)
    granted = "\n".join("\n".join(("(push 1)", *query.lines[:-1], "(check-sat)", "(pop 1)")) for query in queries)
    assert answers(granted, tmp_path) == ["sat"] * len(queries)


def test_a_share_of_the_positions_with_the_largest_score(tmp_path: Path) -> None:
    """A count by the mean of [j = 0] over the beginning of sequence and the selected positions."""
    text = "alphabet: a b\nc(i) := count_j[j<=i, Q_a(j)]\nY(i) := c(i) > 1\n"
    found = solved(of_subject(program_of(tmp_path, text)), tmp_path)
    assert set.union(*found.values()) == {"unsat"}
    assert "order" in found


# ---- wrong steps ----


def heads(change: Callable[[AttentionHead], AttentionHead]) -> Change:
    """Return a change of the matrices of every head."""

    def make(made: ProgramWriter) -> ProgramWriter:
        layers = tuple(replace(layer, heads=tuple(map(change, layer.heads))) for layer in made.model.layers)
        return replace(made, model=replace(made.model, layers=layers))

    return make


def scaled(matrix: Matrix, factor: Fraction, column: int | None = None) -> Matrix:
    entries = tuple((k, c, v * factor if column in (None, c) else v) for k, c, v in matrix.entries)
    return replace(matrix, entries=entries)


def forward(change: Callable[[Relus], Relus]) -> Change:
    """Return a change of the feed-forward networks."""

    def make(made: ProgramWriter) -> ProgramWriter:
        model = made.model
        found = (change(Relus.of(layer.ffn, model.dimension)).layer() for layer in model.layers)
        layers = tuple(replace(layer, ffn=ffn) for layer, ffn in zip(model.layers, found, strict=True))
        return replace(made, model=replace(model, layers=layers))

    return make


def hot(tau: Callable[[Arith], str]) -> Change:
    """Return a change of the temperature."""

    def make(made: ProgramWriter) -> ProgramWriter:
        assert isinstance(made.model.temperature, Arith)
        return replace(made, model=replace(made.model, temperature=parse_arith(tau(made.model.temperature))))

    return make


def embedded(made: ProgramWriter) -> ProgramWriter:
    """Make the embedding larger by a half."""
    return replace(made, model=replace(made.model, embedding=scaled(made.model.embedding, Fraction(3, 2))))


def encoded(made: ProgramWriter) -> ProgramWriter:
    """Divide encodings by n + 1."""
    encodings = tuple((k, parse_arith(f"({value})*n/(n+1)")) for k, value in made.model.encodings)
    return replace(made, model=replace(made.model, encodings=encodings))


def layers(change: Callable[[LayerLaw], LayerLaw]) -> Change:
    """Return a change of the known facts about every layer."""

    def make(made: ProgramWriter) -> ProgramWriter:
        more: Law = replace(made.law.more, layers=tuple(map(change, made.law.more.layers)))
        return replace(made, law=replace(made.law, more=more))

    return make


def rows(change: Callable[[Row], Row]) -> Change:
    """Return a change of the known facts about every row."""

    def of_layer(layer: LayerLaw) -> LayerLaw:
        found = {name: replace(head, rows={order: change(row) for order, row in head.rows.items()})
                 for name, head in layer.heads.items()}  # fmt: skip
        return replace(layer, heads=found)

    return layers(of_layer)


def steps(change: Callable[[LayerStep], LayerStep]) -> Change:
    """Return a change of the errors of every layer."""

    def make(made: ProgramWriter) -> ProgramWriter:
        return replace(made, found=replace(made.found, steps=[*map(change, made.found.steps)]))

    return make


def weights(change: Callable[[WeightStep], WeightStep]) -> Change:
    """Return a change of the known facts about the weights of every head."""
    return steps(lambda step: replace(step, weights={name: change(found) for name, found in step.weights.items()}))


def halved(error: Decay) -> Decay:
    return replace(error, factors={name: factor / 2 for name, factor in error.factors.items()})


def larger(bound: PowerBound | None) -> PowerBound | None:
    return None if bound is None else replace(bound, factor=4 * bound.factor)


def smaller(bound: PowerBound) -> PowerBound:
    return replace(bound, factor=bound.factor / 4)


def checks(**factors: Fraction) -> Change:
    """Return a change that multiplies numbers of the inequalities by factors."""

    def make(made: ProgramWriter) -> ProgramWriter:
        found = [replace(check, **{name: getattr(check, name) * factor for name, factor in factors.items()})
                 for check in made.found.checks]  # fmt: skip
        return replace(made, found=replace(made.found, checks=found))

    return make


def of_lattice(row: Row) -> Row:
    """Negate the steps of lattices."""
    inner = tuple(rule and replace(rule, step=times(rule.step, -1)) for rule in row.inner)
    return replace(row, inner=inner)


def without_values(layer: LayerLaw) -> LayerLaw:
    """Claim that all hidden units give 0."""
    nothing = NumberSpan.exactly(0)
    units = tuple((read, dict.fromkeys(given, nothing)) for read, given in layer.units)
    return replace(layer, units=units)


WRONG: list[tuple[str, str, Change]] = [
    (SMALL, "temperature", hot(lambda _: "1 - n/3")),
    (SMALL, "rate", hot(lambda tau: f"2*({tau})")),
    (SMALL, "rate", weights(lambda found: replace(found, rate=found.rate and 2 * found.rate))),
    (SMALL, "error", weights(lambda found: replace(found, rate=found.rate and found.rate / 2))),
    (SMALL, "scores", heads(lambda head: replace(head, w_q=scaled(head.w_q, Fraction(1, 10))))),
    ("ab_plus.srasp", "order", heads(lambda head: replace(head, w_q=scaled(head.w_q, Fraction(-1))))),
    ("dyck1.srasp", "twice", heads(lambda head: replace(head, w_k=scaled(head.w_k, TWO, 1)))),
    (SMALL, "groups", rows(lambda row: replace(row, inner=(None,) * len(row.inner)))),
    ("ab_plus.srasp", "groups", rows(lambda row: replace(row, pairs={}))),
    ("dyck1.srasp", "read", heads(lambda head: replace(head, w_v=scaled(head.w_v, TWO)))),
    (SMALL, "gap", rows(lambda row: replace(row, gaps=tuple(times(gap, 2) for gap in row.gaps)))),
    ("reverse.srasp", "gap", rows(lambda row: replace(row, gaps=tuple(times(gap, 2) for gap in row.gaps)))),
    (SMALL, "step", rows(of_lattice)),
    (SMALL, "input", embedded),
    (SMALL, "input", encoded),
    (SMALL, "unit", forward(lambda ffn: ffn._replace(b1=tuple(b + Fraction(1, 3) for b in ffn.b1)))),
    (SMALL, "sum", forward(lambda ffn: ffn._replace(b2=tuple(b + 1 for b in ffn.b2)))),
    (SMALL, "unit", layers(without_values)),
    (SMALL, "error", steps(lambda step: replace(step, attended=halved(step.attended)))),
    ("dyck1.srasp", "error", steps(lambda step: replace(step, before=halved(step.before)))),
    (SMALL, "margin", steps(lambda step: replace(step, margins=tuple(map(larger, step.margins))))),
    (SMALL, "size", weights(lambda found: replace(found, sizes=tuple((smaller(q), k) for q, k in found.sizes)))),
    ("dyck1.srasp", "error", weights(lambda found: replace(found, eta=smaller(found.eta)))),
    ("dyck1.srasp", "error", weights(lambda found: replace(found, over=smaller(found.over)))),
    (SMALL, "decay", checks(limit=Fraction(1, 10**6))),
    (SMALL, "decay", checks(rate=Fraction(1, 100))),
    (SMALL, "error", checks(factor=Fraction(1, 10))),
]  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "kind", "change"), WRONG)
def test_a_wrong_step_has_a_solution(name: str, kind: str, change: Change, tmp_path: Path) -> None:
    assert "sat" in solutions(change(writer(name)), kind, tmp_path)


def test_a_tie_that_is_claimed_to_be_none_has_a_solution(tmp_path: Path) -> None:
    made = known(of_program(random_model(Random(0), tied=True)))
    said = rows(lambda row: replace(row, unique=True))(made)
    assert "sat" not in solutions(made, "twice", tmp_path)
    assert "sat" in solutions(said, "twice", tmp_path)


def test_a_wrong_number_of_positions_has_a_solution(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made, count = writer("dyck1.srasp"), World.count
    monkeypatch.setattr(World, "count", lambda *given: times(count(*given), 2))
    assert "sat" in solutions(made, "count", tmp_path)


def test_a_wrong_look_up_has_a_solution(tmp_path: Path) -> None:
    def slower(row: Row) -> Row:
        return replace(row, inner=tuple(rule and replace(rule, step=times(rule.step, 2)) for rule in row.inner))

    assert "sat" in solutions(rows(slower)(writer("dyck1.srasp")), "look-up", tmp_path)


def test_a_network_with_other_hidden_units_has_no_queries() -> None:
    made = writer("dyck1.srasp")
    change = forward(lambda ffn: ffn._replace(w2=scaled(ffn.w2, TWO)))
    assert "other hidden units" in raised(NotProved, change, made).reason


def test_what_is_not_proved_has_no_queries() -> None:
    subject = shipped("dyck1.srasp")
    assert isinstance(subject.law, ProgramLaw)
    argument = replace(subject.argument, start=None, reason="why")
    model = assemble(subject.program, parse_arith("1"))
    failure = raised(NotProved, program_writer, model, subject.program, subject.law, argument, subject.exact)
    assert failure.reason == "why"
