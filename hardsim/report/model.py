"""What `hardsim show` says of a network: in numbers, its heads, and what theory says of each; and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hardsim.checking.engines import head_bounds
from hardsim.checking.result import HeadResult
from hardsim.checking.subject import Subject
from hardsim.program.file import program_json
from hardsim.program.model import Head, Program, ProgramLayer
from hardsim.program.regimes import REGIMES
from hardsim.report.check import model_line, title_label
from hardsim.report.json import Json, model_json, titles_json
from hardsim.report.numbers import decimal, plural, rational, short
from hardsim.report.screen import Field, Screen, columns
from hardsim.run.mp import digits_needed

MASKS = {
    "none": "every j",
    "future": "j <= i",
    "past": "j >= i",
    "strict-future": "j < i",
    "strict-past": "j > i",
}


@dataclass(frozen=True, slots=True)
class ModelReport:
    """A subject; in a regime also what theory allows each head, and the decimal digits that are needed, by length."""

    subject: Subject
    warnings: Sequence[str]
    bounds: Mapping[int, Mapping[str, HeadResult]]
    digits: Mapping[int, int]


def describe(subject: Subject, lengths: Sequence[int], warnings: Sequence[str] = ()) -> ModelReport:
    """The report on a subject; of a regime with bounds and precision for words of these lengths."""
    if subject.regime is None:
        return ModelReport(subject, warnings, {}, {})
    bounds = {n: head_bounds(subject, n) for n in lengths}
    return ModelReport(subject, warnings, bounds, {n: digits_needed(subject.model, n) for n in lengths})


def reading(subject: Subject) -> str:
    """How the answer is read, an acceptor's at the first or the last position."""
    program, at = subject.program, subject.facts.at
    if not subject.acceptor:
        outs = ", ".join(f"{symbol}: {name}" for symbol, name in program.outputs)
        return f"the output symbol of each position is the one whose coordinate is above {program.threshold} ({outs})"
    if subject.exact:
        return f"accepts where {program.output} is 1, rejects where it is 0, at the {at} position"
    return f"accepts where {program.output} is above {program.threshold} at the {at} position"


def theorems(program: Program) -> list[str]:
    """The theorems that its heads rest on."""
    return list(dict.fromkeys(head.theorem for head in program.heads if head.theorem))


def meanings(program: Program) -> list[tuple[str, str]]:
    """What each coordinate of the core holds."""
    letters = [(letter.name, f"the symbol is one of: {' '.join(sorted(letter.symbols))}") for letter in program.letters]
    return [*letters, *program.meanings.items()]


def units(layer: ProgramLayer) -> tuple[int, int]:
    """How many clips and how many relus a layer computes."""
    clips = sum(unit.clip for unit in layer.units)
    return clips, len(layer.units) - clips


def sums(layer: ProgramLayer) -> dict[str, str]:
    """What the hidden units and biases of a layer add to each coordinate."""
    parts: dict[str, list[str]] = {}
    for unit in layer.units:
        text = f"{'clip' if unit.clip else 'relu'}({unit.pre})"
        for out, weight in unit.outs:
            parts.setdefault(out, []).append(text if weight == 1 else f"{weight} {text}")
    for out, bias in layer.biases:
        parts.setdefault(out, []).append(str(bias))
    return {out: " + ".join(terms) for out, terms in parts.items()}


def print_model(screen: Screen, report: ModelReport) -> None:
    """The model in numbers, then layer by layer; in a regime also what its coordinates hold."""
    subject, program = report.subject, report.subject.program
    regime = subject.regime is not None
    screen.head(subject.name, _regime_lines(report) if regime else _lines(report), width=12)
    if regime:
        rows = [(name, meaning + " (the output)" * (name == program.output)) for name, meaning in meanings(program)]
        screen.block(columns("<coordinate", Field("holds", "left", fold=True)), rows)
    for number, layer in enumerate(program.layers, start=1):
        clips, relus = units(layer)
        screen.raw()
        heads = plural(len(layer.heads), "head") if layer.heads else "no attention"
        hidden = plural(clips, "clip") if regime else plural(2 * clips + relus, "hidden unit")
        screen.line((f"layer {number}", "bold"), f": {heads}, {hidden}")
        for head in layer.heads:
            _print_head(screen, head, report)
        for out, text in {} if regime else sums(layer).items():
            screen.line(f"  {out} += {text}")
    screen.raw()


def _regime_lines(report: ModelReport) -> list[tuple[str, str | None]]:
    facts, program = report.subject.facts, report.subject.program
    return [
        (title_label(report.subject.kind), report.subject.title),
        ("read at", f"the {facts.at} position"),
        ("regime", f"{facts.regime}: {REGIMES[program.regime].summary}"),
        ("theorems", "; ".join(theorems(program)) or "none needed: no attention"),
        ("size", f"{plural(facts.layers, 'layer')}, {plural(facts.heads, 'head')}"
                 f"{', one head per layer' if facts.single_head else ''}, dimension {facts.dimension}, "
                 f"{plural(facts.parameters, 'non-zero parameter')}"),
        ("counting", f"comparisons of counts by {facts.counting}" if facts.counting else None),
        ("temperature", facts.temperature),
        ("beta", f"{facts.beta} (the logits are beta score / temperature)"),
        ("encodings", _encodings(program)),
        ("precision", ", ".join(f"{digits} digits at n = {n}" for n, digits in report.digits.items())),
    ]  # fmt: skip


def _lines(report: ModelReport) -> list[tuple[str, str | None]]:
    subject, facts = report.subject, report.subject.facts
    return [
        (title_label(subject.kind), subject.title or None),
        ("size", model_line(facts)),
        ("alphabet", " ".join(subject.program.alphabet)),
        ("encodings", _encodings(subject.program) or "none"),
        ("reads", reading(subject)),
        ("temperature", facts.temperature),
        *[("warning", warning) for warning in report.warnings],
    ]


def _encodings(program: Program) -> str:
    named = [(encoding.name, str(encoding.value)) for encoding in program.encodings]
    return ", ".join(name if name == value else f"{name} = {value}" for name, value in named)


def _print_head(screen: Screen, head: Head, report: ModelReport) -> None:
    mask, subject = head.mask.value, report.subject
    beginning = " and the beginning" if subject.program.bos and mask != "none" else ""
    see = f"{MASKS[mask]}{beginning}, {head.weighting.value}"
    regime, sharp = subject.regime is not None, ""
    if not regime:
        screen.line(f"  head {head.name}: {see}" + (f", declared gap {head.promise}" if head.promise else ""))
    else:
        screen.line(f"  head {head.name}: {head.purpose}" + (f" [{head.theorem}]" if head.theorem else ""))
        screen.line(f"    attends to  {see}")
        sharp = f", times beta = {subject.budget.beta_of(head)}"
    score = " + ".join(f"({query})_i ({key})_j" for query, key in head.score)
    screen.line(f"    score       {score}{sharp}" if head.score else "    score       0 (uniform)")
    for out, form in head.values:
        screen.line(f"    value       {form}" if regime else f"    {out} += {form}")
    for n, heads in report.bounds.items():
        bound, gap = heads[head.name].bound, heads[head.name].declared_gap
        error = "exact" if gap is None and not bound else f"error at most {short(bound)}"
        least = "" if gap is None else f", score gap at least {short(gap)}"
        screen.line(f"    at n = {n:<4} {error}{least}")


# ---- JSON ----


def show_json(report: ModelReport) -> Json:
    """The model of `show`."""
    subject, program = report.subject, report.subject.program
    return titles_json(subject.kind, subject.title) | {
        **model_json(subject.name, subject.kind, subject.facts),
        "reads": reading(subject),
        "warnings": list(report.warnings),
        "theorems": theorems(program),
        "core": [{"coordinate": name, "meaning": meaning} for name, meaning in meanings(program)],
        "output": program.output,
        "encodings": [{"coordinate": one.name, "value": str(one.value)} for one in program.encodings],
        "precision": [{"n": n, "digits": digits} for n, digits in report.digits.items()],
        "layers": [
            {"layer": number, "heads": [head_json(head, report) for head in layer.heads]}
            | dict(zip(("clips", "relus"), units(layer), strict=True))
            for number, layer in enumerate(program.layers, start=1)
        ],
        "program": program_json(program),
    }


def head_json(head: Head, report: ModelReport) -> Json:
    """One head: its score is the sum of products of two forms, of the query and of the key; `value` is what it reads
    (null: several values); beta and bounds are of a regime."""
    subject = report.subject
    found = [(n, heads[head.name]) for n, heads in report.bounds.items()]
    return {
        "name": head.name,
        "mask": head.mask.value,
        "weighting": head.weighting.value,
        "score": [{"query": str(query), "key": str(key)} for query, key in head.score],
        "value": str(head.value) if len(head.values) == 1 else None,
        "purpose": head.purpose,
        "theorem": head.theorem,
        "gap": None if head.promise is None else str(head.promise),
        "beta": None if subject.regime is None else rational(subject.budget.beta_of(head)),
        "bounds": [{"n": n, "error": decimal(one.bound), "score_gap": rational(one.declared_gap)} for n, one in found],
    }
