"""The `hardsim show` report of a network: its size, its heads, and what theory says about each head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from hardsim.campaign.engines import head_bounds
from hardsim.campaign.result import HeadResult, LayerNumber, Length
from hardsim.lang.valuations import Valuations, is_sets, propositions_of, where_held
from hardsim.lang.vocabulary import joined_names
from hardsim.lazy_dataclass import dataclass
from hardsim.program.file import program_json
from hardsim.program.hard_attention import Head, ProgramLayer
from hardsim.program.regimes import regime_with
from hardsim.records import (
    Embedded,
    Exact,
    Measured,
    Natural,
    Positive,
    Record,
    Unwritten,
    at_least,
    at_most,
    one_of,
    written,
)
from hardsim.report.check import model_line, titles
from hardsim.report.screen import Field, Screen, columns
from hardsim.run.mp import digits_needed
from hardsim.targets.labels import SAYS
from hardsim.targets.result import plural
from hardsim.targets.subject import Subject, SubjectRecord

PROGRAM = '{"$ref": "#/$defs/program"}'
"""JSON schema of a program, which is the schema of .ahat.json files."""
MASKS = {
    "none": "every j",
    "future": "j <= i",
    "past": "j >= i",
    "strict-future": "j < i",
    "strict-past": "j > i",
}


@dataclass(frozen=True, slots=True, repr=False)
class ScoreTerm(Record):
    """A product of two linear forms, which is one term of a score."""

    query: str
    """Linear form in the coordinates of the query's position."""
    key: str
    """Linear form in the coordinates of the key's position."""


@dataclass(frozen=True, slots=True, repr=False)
class Allowed(Record):
    """The error and the score gap that theory allows a head at one length."""

    n: Length
    error: Measured
    """Bound of the error of an attended value."""
    score_gap: Exact | None
    """Lower bound of the score gap; None for uniform heads."""


@dataclass(frozen=True, slots=True, repr=False)
class ShownHead(Record):
    """A head of the network. Beta and bounds are present only in a regime."""

    name: str
    """Name of the head."""
    mask: Annotated[str, one_of(*MASKS)]
    """Which positions j a query at position i sees."""
    weighting: Annotated[str, one_of("average", "leftmost", "rightmost")]
    """Which of several positions with the largest score counts."""
    score: tuple[ScoreTerm, ...]
    """The products whose sum is the score; no products mean uniform attention."""
    value: str | None
    """The value that the head reads; None if it reads several values, which are in `program`."""
    gap: str | None
    """The declared score gap of a row, as an expression in i and n."""
    purpose: str
    """Purpose of the head."""
    theorem: str
    """Theorem on which the head rests; empty if there is none."""
    beta: Exact | None
    """Inverse-temperature constant of the head."""
    bounds: tuple[Allowed, ...]
    """Bounds from theory, by length."""


@dataclass(frozen=True, slots=True, repr=False)
class ShownLayer(Record):
    """A layer of the network, with its heads and the number of its hidden units."""

    layer: LayerNumber
    clips: Natural
    """Number of clips to [0, 1], which take two relus each."""
    relus: Natural
    """Number of other hidden units."""
    needed: str | None
    """Coordinate that needs this layer: it is on a longest path to the output; None if no coordinate of it is."""
    norm_1: Exact | None
    """Epsilon of the layer norm after attention; None: there is no norm."""
    norm_2: Exact | None
    """Epsilon of the layer norm after the hidden units; None: there is no norm."""
    heads: tuple[ShownHead, ...]
    """Heads of the layer; their outputs are added up."""


@dataclass(frozen=True, slots=True, repr=False)
class Meaning(Record):
    """The meaning of a coordinate."""

    coordinate: str
    """Name of the coordinate."""
    meaning: str
    """Meaning of the value in this coordinate."""


@dataclass(frozen=True, slots=True, repr=False)
class ShownEncoding(Record):
    """A coordinate of the position encoding."""

    coordinate: str
    """Name of the coordinate."""
    value: str
    """Value of the coordinate: an expression in i and n, or a predicate."""


@dataclass(frozen=True, slots=True, repr=False)
class Precision(Record):
    """The number of decimal digits needed at one length, in a regime."""

    n: Length
    digits: Positive
    """Number of decimal digits."""


@dataclass(frozen=True, slots=True, repr=False)
class AutomatonSize(Record):
    """The size of the minimal automaton of a formula, or the reason why it is not known."""

    states: Positive | None
    """Number of states; null if there is no automaton here, or it was not built."""
    reason: str | None
    """The reason why the number of states is not known; null if it is."""


@dataclass(frozen=True, slots=True, repr=False)
class ModelReport(SubjectRecord):
    """The report on a network; in a regime also with the bounds from theory for each head and the decimal digits
    needed, by length."""

    subject: Unwritten[Subject]
    """The subject that the report is about."""
    warnings: tuple[str, ...]
    """Warnings about integers of a program that may leave the range of its construction."""
    bounds: Unwritten[Mapping[int, Mapping[str, HeadResult]]]
    """Bounds from theory by length and name of the head."""
    precision: tuple[Precision, ...]
    """Decimal digits needed, by length."""
    automaton: AutomatonSize | None = None
    """Size of the minimal automaton of a formula; null for any other input."""

    @property
    @written
    def reads(self) -> str:
        """Sentence that states how the answer is read from the output."""
        return reading(self.subject)

    @property
    @written
    def temporal_depth(self) -> Natural | None:
        """Nesting depth of temporal operators in the formula as written, with definitions in place of their names; null
        for a network without a formula."""
        depth = self.subject.depth
        return None if depth is None else depth.temporal

    @property
    @written
    def counting_depth(self) -> Natural | None:
        """Nesting depth of counts in the formula as written, with definitions in place of their names; null for a
        network without a formula."""
        depth = self.subject.depth
        return None if depth is None else depth.counting

    @property
    @written
    def theorems(self) -> tuple[str, ...]:
        """Theorems on which the heads rest."""
        return tuple(dict.fromkeys(head.theorem for head in self.subject.program.heads if head.theorem))

    @property
    @written
    def core(self) -> tuple[Meaning, ...]:
        """Meaning of each coordinate of the core: letters, and coordinates that layers write."""
        program = self.subject.program
        # Under norms the embedding has a number other than 0 for every symbol: names and meanings say more.
        shown = [one for one in program.letters if not program.normed and one.name not in program.meanings]
        letters = [(one.name, where_held(one.symbols, program.alphabet)) for one in shown]
        return tuple(Meaning(*named) for named in (*letters, *program.meanings.items()))

    @property
    @written
    def output(self) -> str:
        """Name of the coordinate that holds the answer."""
        return self.subject.program.output

    @property
    @written
    def encodings(self) -> tuple[ShownEncoding, ...]:
        """Coordinates of the position encoding."""
        return tuple(ShownEncoding(one.name, str(one.value)) for one in self.subject.program.encodings)

    @property
    @written
    def layers(self) -> tuple[ShownLayer, ...]:
        """Layers, in order."""
        program = self.subject.program
        path = program.longest_path
        return tuple(
            ShownLayer(
                number,
                *units(layer),
                path.get(number),
                layer.norm_1,
                layer.norm_2,
                tuple(map(self._head, layer.heads)),
            )
            for number, layer in enumerate(program.layers, start=1)
        )

    @property
    @written
    def program(self) -> Annotated[dict[str, Any], Embedded(PROGRAM)]:
        """The program for hard attention, by the names of its coordinates, in the format of .ahat.json files, where
        exact rationals are strings."""
        return program_json(self.subject.program)

    def _head(self, head: Head) -> ShownHead:
        subject = self.subject
        return ShownHead(
            name=head.name,
            mask=head.mask.value,
            weighting=head.weighting.value,
            score=tuple(ScoreTerm(str(query), str(key)) for query, key in head.score),
            value=str(head.value) if len(head.values) == 1 else None,
            gap=None if head.promise is None else str(head.promise),
            purpose=head.purpose,
            theorem=head.theorem,
            beta=None if subject.regime is None else subject.budget.beta_of(head),
            bounds=tuple(
                Allowed(n, heads[head.name].bound, heads[head.name].declared_gap) for n, heads in self.bounds.items()
            ),
        )


def describe(
    subject: Subject,
    lengths: Sequence[int],
    warnings: Sequence[str] = (),
    automaton: AutomatonSize | None = None,
) -> ModelReport:
    """Return the report on a network. In a regime it has bounds and precision for words of the given lengths. Raises
    InputError if the temperature is not positive at one of these lengths."""
    if subject.regime is None:
        return ModelReport(subject, tuple(warnings), {}, (), automaton)
    # First, because this holds the temperature positive; the bounds divide by it.
    digits = {} if subject.scoreless else {n: digits_needed(subject.model, n) for n in lengths}
    precision = tuple(Precision(n, needed) for n, needed in digits.items())
    return ModelReport(subject, tuple(warnings), {n: head_bounds(subject, n) for n in lengths}, precision, automaton)


def reading(subject: Subject) -> str:
    """Return a text that states how the answer is read from the output (for an acceptor: at the first or the last
    position)."""
    program, at = subject.program, subject.facts.at
    if not subject.acceptor:
        if program.integers:
            return f"the output integer of each position is the one nearest to n times {program.output}"
        outs = ", ".join(f"{symbol}: {name}" for symbol, name in program.outputs)
        return f"the output symbol of each position is the one whose coordinate is above {program.threshold} ({outs})"
    if subject.exact:
        return f"accepts where {program.output} is 1, rejects where it is 0, at the {at} position"
    return f"accepts where {program.output} is above {program.threshold} at the {at} position"


def units(layer: ProgramLayer) -> tuple[int, int]:
    """Return the number of clips and the number of relus in a layer."""
    clips = sum(unit.clip for unit in layer.units)
    return clips, len(layer.units) - clips


def norms_text(layer: ProgramLayer) -> str:
    """Return the norms of a layer as the end of its line; empty if it has none."""
    after = [("attention", layer.norm_1), ("the hidden units", layer.norm_2)]
    return "".join(f", layer norm after {what} (epsilon {norm})" for what, norm in after if norm is not None)


def sums(layer: ProgramLayer) -> dict[str, str]:
    """Return, for each coordinate, what the hidden units and biases of a layer add to it, as text."""
    parts: dict[str, list[str]] = {}
    for unit in layer.units:
        cap = "" if unit.cap is None else f", at most {unit.cap}"
        text = f"{'clip' if unit.clip else 'relu'}({unit.pre}{cap})"
        for out, weight in unit.outs:
            parts.setdefault(out, []).append(text if weight == 1 else f"{weight} {text}")
    for out, bias in layer.biases:
        parts.setdefault(out, []).append(str(bias))
    return {out: " + ".join(terms) for out, terms in parts.items()}


def print_model(screen: Screen, report: ModelReport) -> None:
    """Print the network in numbers, then layer by layer; in a regime also the meaning of its coordinates."""
    subject, program = report.subject, report.subject.program
    regime = subject.regime is not None
    screen.head(subject.name, _regime_lines(report) if regime else _lines(report), width=12)
    if regime:
        rows = [
            (one.coordinate, one.meaning + " (the output)" * (one.coordinate == program.output)) for one in report.core
        ]
        screen.block(columns("<coordinate", Field("holds", "left", fold=True)), rows)
    path = program.longest_path
    for number, layer in enumerate(program.layers, start=1):
        clips, relus = units(layer)
        screen.raw()
        heads = plural(len(layer.heads), "head") if layer.heads else "no attention"
        # Most networks of formulas compute clips only.
        hidden = plural(2 * clips + relus, "hidden unit") if relus or not regime else plural(clips, "clip")
        hidden += norms_text(layer)
        needed = f", needed for {path[number]}" if regime and number in path else ""
        screen.line((f"layer {number}", "bold"), f": {heads}, {hidden}{needed}")
        for head in layer.heads:
            _print_head(screen, head, report)
        for out, text in {} if regime else sums(layer).items():
            screen.line(f"  {out} += {text}")
    screen.raw()


def _regime_lines(report: ModelReport) -> list[tuple[str, str | None]]:
    facts, program, size = report.subject.facts, report.subject.program, report.automaton
    # The labels of an edited file are its own claims.
    unsure = "" if facts.specified else SAYS
    regime = regime_with(program.regime, program.weighting)
    # The summary names the regime's own temperature, and --tau or the file may have another.
    other = "" if facts.temperature == str(regime.temperature) else f"; here at temperature {facts.temperature}"
    return [
        *titles(report),
        ("read at", f"the {facts.at} position"),
        ("regime", f"{unsure}{facts.regime}: {regime.summary}{other}"),
        ("theorems", "; ".join(report.theorems) or "none needed: no attention"),
        ("size", f"{plural(facts.layers, 'layer')}, {plural(facts.heads, 'head')}"
                 f"{', one head per layer' if facts.single_head else ''}, dimension {facts.dimension}, "
                 f"{plural(facts.parameters, 'non-zero parameter')}"),
        ("depth", _depth_text(report)),
        ("automaton", None if size is None else size.reason or f"minimal, {plural(size.states or 0, 'state')}"),
        ("counting", f"comparisons of counts by {facts.counting}" if facts.counting else None),
        ("temperature", facts.temperature),
        ("rounding", None if program.rounding is None
                     else f"{facts.rounding}, {program.rounding.text}, after each sublayer"),
        ("beta", None if facts.beta is None else f"{unsure}{facts.beta} (the logits are beta score / temperature)"),
        ("encodings", _encodings(report) or None),
        ("precision", ", ".join(f"{one.digits} digits at n = {one.n}" for one in report.precision) or None),
    ]  # fmt: skip


def _depth_text(report: ModelReport) -> str | None:
    """Return the nesting depth of a formula and the number of layers of its network; None without a formula."""
    depth = report.subject.depth
    if depth is None:
        return None
    layers = plural(report.subject.facts.layers, "layer")
    return f"{depth.temporal} of temporal operators, {depth.counting} of counts; the network has {layers}"


def _lines(report: ModelReport) -> list[tuple[str, str | None]]:
    subject, facts = report.subject, report.subject.facts
    return [
        *titles(report),
        ("size", model_line(facts)),
        alphabet_line(subject.program.alphabet),
        ("encodings", _encodings(report) or "none"),
        ("reads", report.reads),
        ("temperature", facts.temperature),
        *[("warning", warning) for warning in report.warnings],
    ]


def alphabet_line(alphabet: Sequence[str]) -> tuple[str, str]:
    """Return the labelled alphabet, or the labelled propositions if the symbols are sets of propositions."""
    if not is_sets(alphabet):
        return "alphabet", joined_names(alphabet)
    exclusions = alphabet.constraints if isinstance(alphabet, Valuations) else ()
    return "props", "; ".join([joined_names(propositions_of(alphabet)), *map(str, exclusions)])


def _encodings(report: ModelReport) -> str:
    named = [(one.coordinate, one.value) for one in report.encodings]
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
        # A uniform head without error reads its value exactly.
        error = "exact" if gap is None and not bound else f"error at most {at_most(bound)}"
        error = error if subject.confirmed else f"{SAYS}{error}"
        least = "" if gap is None else f", score gap at least {at_least(gap)}"
        screen.line(f"    at n = {n:<4} {error}{least}")
