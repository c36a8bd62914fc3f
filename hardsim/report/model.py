"""What `hardsim show` prints: a compiled network, its heads, and what theory says of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hardsim.checking.compare import Judge
from hardsim.checking.result import HeadResult, ModelFacts
from hardsim.checking.subject import Subject
from hardsim.report.numbers import plural, short
from hardsim.report.screen import Column, Screen
from hardsim.run.mp import digits_needed
from hardsim.spec.ir import Head
from hardsim.spec.regimes import REGIMES

CORE_COLUMNS = (Column("coordinate", "left"), Column("holds", "left", fold=True))
MASKS = {"none": "every j", "future": "j <= i", "past": "j >= i"}


@dataclass(frozen=True, slots=True)
class BoundReport:
    """What theory allows a head at length n: the largest error, and the score gap that it declares (None: uniform)."""

    n: int
    error: Fraction
    gap: Fraction | None


@dataclass(frozen=True, slots=True)
class HeadReport:
    """One head, its score as pairs of a query form and a key form."""

    name: str
    mask: str
    weighting: str
    score: tuple[tuple[str, str], ...]
    value: str
    purpose: str
    theorem: str
    beta: Fraction
    bounds: tuple[BoundReport, ...]


@dataclass(frozen=True, slots=True)
class LayerReport:
    """One layer: its heads and how many clips its feed-forward part computes."""

    number: int
    heads: tuple[HeadReport, ...]
    clips: int


@dataclass(frozen=True, slots=True)
class ModelReport:
    """Everything that `show` says about one subject."""

    name: str
    formula: str
    facts: ModelFacts
    regime: str
    theorems: tuple[str, ...]
    meanings: tuple[tuple[str, str], ...]
    output: str
    encodings: tuple[tuple[str, str], ...]
    digits: tuple[tuple[int, int], ...]
    layers: tuple[LayerReport, ...]


def describe(subject: Subject, lengths: Sequence[int]) -> ModelReport:
    """A subject as data, with bounds and precision for words of these lengths."""
    judge = Judge(subject)
    bounds = {n: {head.name: head for head in judge.head_results(n, {}, {})} for n in lengths}
    program = subject.program
    letters = [(letter.name, f"the symbol is one of: {' '.join(sorted(letter.symbols))}") for letter in program.letters]
    layers = [
        LayerReport(
            number, tuple(_head(head, subject.budget.beta_of(head), bounds) for head in layer.heads), len(layer.clips)
        )
        for number, layer in enumerate(program.layers, start=1)
    ]
    return ModelReport(
        name=subject.name,
        formula=subject.formula,
        facts=subject.facts,
        regime=REGIMES[program.regime].summary,
        theorems=tuple(dict.fromkeys(head.theorem for head in program.heads if head.theorem)),
        meanings=(*letters, *program.meanings.items()),
        output=program.output,
        encodings=tuple((encoding.name, str(encoding.value)) for encoding in program.encodings),
        digits=tuple((n, digits_needed(judge.plan, n)) for n in lengths),
        layers=tuple(layers),
    )


def _head(head: Head, beta: Fraction, results: dict[int, dict[str, HeadResult]]) -> HeadReport:
    found = [(n, heads[head.name]) for n, heads in results.items()]
    return HeadReport(
        name=head.name,
        mask=head.mask.value,
        weighting=head.weighting.value,
        score=tuple((str(query), str(key)) for query, key in head.score),
        value=str(head.value),
        purpose=head.purpose,
        theorem=head.theorem,
        beta=beta,
        bounds=tuple(BoundReport(n, result.bound, result.declared_gap) for n, result in found),
    )


def print_model(screen: Screen, report: ModelReport) -> None:
    """The formula, its core, the network's numbers, then layer by layer."""
    facts = report.facts
    screen.line((report.name, "bold"))
    pairs = [
        ("formula", report.formula),
        ("read at", f"the {facts.at} position"),
        ("regime", f"{facts.regime}: {report.regime}"),
        ("theorems", "; ".join(report.theorems) or "none needed: no attention"),
        ("size", f"{plural(facts.layers, 'layer')}, {plural(facts.heads, 'head')}"
                 f"{', one head per layer' if facts.single_head else ''}, dimension {facts.dimension}, "
                 f"{plural(facts.parameters, 'non-zero parameter')}"),
        *([("counting", f"comparisons of counts by {facts.counting}")] if facts.counting else []),
        ("temperature", facts.temperature),
        ("beta", f"{facts.beta} (the logits are beta score / temperature)"),
        ("encodings", ", ".join(_encoding(name, value) for name, value in report.encodings)),
        ("precision", ", ".join(f"{digits} digits at n = {n}" for n, digits in report.digits)),
    ]  # fmt: skip
    for name, value in pairs:
        screen.line(f"  {name:<12} {value}")
    screen.raw()
    rows = [
        (name, f"{meaning} (the output)" if name == report.output else meaning) for name, meaning in report.meanings
    ]
    screen.table(CORE_COLUMNS, rows)
    for layer in report.layers:
        screen.raw()
        heads = plural(len(layer.heads), "head") if layer.heads else "no attention"
        screen.line((f"layer {layer.number}", "bold"), f": {heads}, {plural(layer.clips, 'clip')}")
        for head in layer.heads:
            _print_head(screen, head)
    screen.raw()


def _encoding(name: str, value: str) -> str:
    return name if name == value else f"{name} = {value}"


def _print_head(screen: Screen, head: HeadReport) -> None:
    screen.line(f"  head {head.name}: {head.purpose}" + (f" [{head.theorem}]" if head.theorem else ""))
    screen.line(f"    attends to  {MASKS[head.mask]}, {head.weighting}")
    if head.score:
        pairs = " + ".join(f"({query})_i ({key})_j" for query, key in head.score)
        screen.line(f"    score       {pairs}, times beta = {head.beta}")
    else:
        screen.line("    score       0 (uniform)")
    screen.line(f"    value       {head.value}")
    for bound in head.bounds:
        error = "exact" if bound.gap is None and not bound.error else f"error at most {short(bound.error)}"
        gap = "" if bound.gap is None else f", score gap at least {short(bound.gap)}"
        screen.line(f"    at n = {bound.n:<4} {error}{gap}")
