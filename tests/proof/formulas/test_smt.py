"""Queries for an SMT solver: z3 answers unsat to each of them, and finds a solution if the step is wrong."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.network.transformer import AttentionHead
from hardsim.proof.formulas import every_length, smt
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proof.formulas.smt import Writer, smt_text, writer
from hardsim.proof.formulas.state import BooleanHead
from hardsim.proof.shared.ratios import Ratio
from tests.support.check import ModelOptions, NotProved, compile_formula, read_input
from tests.support.language import InputError, parse_arith, parse_text
from tests.support.model import PROVEN, Mask, Program
from tests.support.solver import answers, by_kind

FORMULAS = Path(__file__).resolve().parents[3] / "formulas"


def network(name: str, regime: str, beta: Fraction | None = None) -> Writer:
    """Return the writer of queries about a shipped formula's network."""
    subject = read_input(str(FORMULAS / f"{name}.ltl")).compile(ModelOptions(regime, beta))
    return writer(subject.model, subject.program)


def solved(made: Writer, directory: Path) -> dict[str, set[str]]:
    """Return z3's answers to the queries of each kind."""
    return by_kind(list(made.steps()), smt_text(made, "test"), directory)


CASES = [("majority", "causal-position"), ("equal", "temperature"), ("since", "causal-temperature")]


@pytest.mark.parametrize(("name", "regime"), CASES)
def test_every_step_holds(name: str, regime: str, tmp_path: Path) -> None:
    found = solved(network(name, regime), tmp_path)
    assert set.union(*found.values()) == {"unsat"}
    assert {"temperature", "bound", "clip"} <= found.keys()


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FORMULAS.glob("*.ltl")), ids=lambda path: str(path.stem))
def test_every_step_of_every_shipped_formula_holds(path: Path, tmp_path: Path) -> None:
    for regime in PROVEN:
        for counting in (None, "sign"):
            try:
                subject = read_input(str(path)).compile(ModelOptions(regime, counting=counting))
            except InputError:
                continue
            found = solved(writer(subject.model, subject.program), tmp_path)
            assert set.union(*found.values()) == {"unsat"}, (regime, counting)


# ---- wrong steps ----


def claimed(made: Writer, **changed: Any) -> Writer:
    """Change the claims about all heads; the network stays the same."""
    for head in made.state.heads.values():
        if head is not None and head.argument is not None:
            head.argument = replace(head.argument, **changed)
    return made


def wrong_rate(name: str, regime: str, factor: int) -> Callable[[], Writer]:
    """Return a writer with a rate that is too large by a factor."""

    def make() -> Writer:
        made = network(name, regime)
        for head in made.state.heads.values():
            if head is not None and head.argument is not None and head.argument.g is not None:
                head.argument = replace(head.argument, g=head.argument.g * factor)
        return made

    return make


def hot() -> Writer:
    """Return a writer with a temperature that is 0 at length 3."""
    made = network("since", "temperature")
    made.state.model = replace(made.state.model, temperature=parse_arith("1 - n/3"))
    return made


def dull() -> Writer:
    """Return a writer whose network has a tenth of the proved scores."""
    made = network("since", "position")
    model = made.state.model

    def weaker(head: AttentionHead) -> AttentionHead:
        entries = tuple((row, column, value / Fraction(10)) for row, column, value in head.w_q.entries)
        return replace(head, w_q=replace(head.w_q, entries=entries))

    layers = tuple(replace(layer, heads=tuple(map(weaker, layer.heads))) for layer in model.layers)
    made.state.model = replace(model, layers=layers)
    return made


def badly_summed() -> Writer:
    """Return a writer with sums that are larger by the square of the position."""
    made = network("first", "temperature")
    totals = made.state.sites.totals

    def wrong(column: Any, mask: Mask) -> list[Any]:
        i = Ratio.variable("i")
        return [Ratio.of(value) + i * i for value in totals(column, mask)]

    made.state.sites.totals = wrong  # type: ignore[method-assign]  # of this one
    return made


def far_off() -> Writer:
    """Return a writer with heads whose error exceeds what a clip rounds away."""
    made = network("since", "temperature")
    for head in made.state.heads.values():
        assert isinstance(head, BooleanHead)
        head.wrong = (np.full(9, 0.26), np.full(9, 0.26))
    return made


WRONG: list[tuple[str, Callable[[], Writer]]] = [
    ("temperature", hot),
    ("sum", badly_summed),
    ("nearest", wrong_rate("since", "temperature", 2)),
    ("nearest", wrong_rate("since", "causal-temperature", 2)),
    ("nearest", dull),
    ("look-up", wrong_rate("dyck1", "temperature", 2)),
    ("sign", wrong_rate("dyck1", "causal-position", 3)),
    ("bound", lambda: claimed(network("since", "temperature"), error=0.1353)),
    ("bound", lambda: claimed(network("dyck1", "causal-position"), error=0.01)),
    ("bound", lambda: claimed(network("dyck1", "temperature"), error=1e-6)),
    ("clip", far_off),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("kind", "make"), WRONG)
def test_a_wrong_step_has_a_solution(kind: str, make: Callable[[], Writer], tmp_path: Path) -> None:
    found = solved(make(), tmp_path)
    assert "sat" in found[kind]
    assert "unknown" not in found[kind]


def test_a_number_that_is_nearer_to_0_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true = every_length.least_distance
    monkeypatch.setattr(smt, "least_distance", lambda *given: true(*given) * Fraction(11, 10))
    assert "sat" in solved(network("dyck1", "causal-position"), tmp_path)["number"]


def test_comparisons_hold_their_errors(tmp_path: Path) -> None:
    made = network("dyck1", "temperature")
    for head in made.state.heads.values():
        if head is not None and not isinstance(head, BooleanHead):
            head.error = np.full(9, 0.6)
    assert solved(made, tmp_path)["clip"] == {"sat", "unsat"}


def test_coefficients_that_are_no_multiples_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "common", lambda steps: 2 * max(map(abs, steps)))
    assert "sat" in solved(network("dyck1", "temperature"), tmp_path)["clip"]


def test_what_is_not_proved_has_no_queries() -> None:
    subject = compile_formula(parse_text("alphabet: a b\na S b", "weak"), ModelOptions(beta=Fraction(1)))
    with pytest.raises(NotProved):
        writer(subject.model, subject.program)


def test_names_end_no_line(tmp_path: Path) -> None:
    """A coordinate's name from a file stands in a comment, and a head's name in a string."""
    subject = read_input(str(FORMULAS / "since.ltl")).compile(ModelOptions())
    odd = 'x"\n(check-sat)'
    layers = tuple(
        replace(one, heads=tuple(replace(own, name=odd) for own in one.heads)) for one in subject.model.layers
    )
    model = replace(subject.model, layers=layers)
    program: Program = subject.program
    specified = tuple(replace(one, heads=tuple(replace(own, name=odd) for own in one.heads)) for one in program.layers)
    program = replace(program, layers=specified)
    assert prove_general(model, program).network.proved
    made = writer(model, program)
    assert answers(smt_text(made, odd), tmp_path) == ["unsat"] * len(list(made.steps()))
