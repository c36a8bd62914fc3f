"""Print reports on external networks: what was read from files, outputs on words, and the result of a check.

A word is judged if the reference gives an expected answer for it; the margin is the distance of an output from the
nearest output that would give another answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Annotated, assert_never

from rich.cells import cell_len

from hardsim.campaign.check import WIDTH
from hardsim.campaign.result import (
    MOST_ROWS,
    CheckResult,
    Evaluation,
    InputDigest,
    JudgedLength,
    OutputEnds,
    judged_text,
    printed_lengths,
)
from hardsim.lang.words import shown_word
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network, NetworkHead, NetworkLayer, Norm
from hardsim.network.rotary_scaling import Llama3Scaling, LongScaling, RotaryScaling, YarnScaling
from hardsim.proof.external.result import PrefixProof
from hardsim.reading.readout import at_text
from hardsim.reading.tensors import TakenSetting
from hardsim.records import NOTHING, Natural, Positive, Record, at_least, at_most, one_of, short
from hardsim.report.screen import Screen, columns, tried_text
from hardsim.targets.external import External
from hardsim.targets.result import InputName, ModelFacts, Title, count, plural
from hardsim.visible import visible

JUDGED_COLUMNS = columns("n", "words\njudged", "mismatches", "undecided", "least\nmargin", "=on word")
OUTPUT_COLUMNS = columns("position", "<token", "<answer", "<expected", "~outputs")
MARGIN_COLUMNS = columns("length", "least margin,\nproved at least", "found\nat most")
SETTING_COLUMNS = columns("<setting", "<value", "~from")
MOST_OUTPUTS = 8
"""Largest number of outputs of a position that a table shows."""
OUTPUT_DIGITS = 6
MARGINS_ROOM = 12
"""Number of columns before the text of a fact."""
RIGHT = {True: "as expected", False: "WRONG", None: ""}


# ---- check ----


def print_margins(screen: Screen, result: CheckResult, alphabet: Sequence[str]) -> None:
    """Print the least margin over all words with its word, and the first wrong length."""
    least = result.least_margin
    if least is not None:
        decided = " of the words decided" * any(length.undecided for length in result.judged)
        message = f"the least{decided} is {short(least.margin)}, at length {least.n:,}"
        word = shown_word(least.word, alphabet)
        line = f"{message}, on {word}"
        # A word that does not fit stands on a line of its own, where it can be copied.
        if cell_len(visible(line)) + MARGINS_ROOM <= screen.width:
            screen.facts([("margin", line)])
        else:
            screen.facts([("margin", f"{message}, on the word")])
            screen.raw(word)
    wrong = result.first_wrong
    screen.facts([("wrong", None if wrong is None else f"the first wrong length found is {wrong:,}")])


def print_judged(screen: Screen, lengths: Sequence[JudgedLength], alphabet: Sequence[str], every: bool) -> None:
    """Print a table with a row for each length or for several lengths; length 0 stands for the tokens read before every
    word."""
    rows = []
    # A network with tokens before the word has an output at length 0, too.
    for span in (range(1), *printed_lengths(lengths[-1].n, every or lengths[-1].n <= MOST_ROWS)):
        some = [length for length in lengths if length.n in span]
        if some:
            rows.append(_row(some, alphabet))
    screen.block(JUDGED_COLUMNS, rows)


def print_brackets(
    screen: Screen, proof: PrefixProof, judged: Sequence[JudgedLength] = (), every: bool = False
) -> None:
    """Print a table of the least margins by length, from below by the proof and from above by prefixes that were run:
    those of the prover, and the words of a check (`judged`), whose margins are known up to WIDTH. Where every word of a
    length was tried, the least margin found is a bound of all."""
    tried = [one for one in judged if one.margin is not None]
    found = {one.n: one.margin + abs(one.margin) * Fraction(WIDTH) for one in tried if one.margin is not None}
    whole = {one.n: one.margin for one in tried if one.exhaustive and not one.undecided}
    spans = (range(1), *printed_lengths(proof.margins[-1].n, every)) if proof.margins else ()
    rows = []
    for span in spans:
        some = [one for one in proof.margins if one.n in span]
        if some:
            first, last = some[0].n, some[-1].n
            lows = [whole.get(one.n) or one.low for one in some]
            low = None if None in lows else least(lows)
            high = least([*(one.high for one in some), *(found.get(one.n) for one in some)])
            rows.append([str(first) if first == last else f"{first}-{last}", at_least(low), at_most(high)])
    screen.block(MARGIN_COLUMNS, rows)


def least(values: Iterable[Fraction | None]) -> Fraction | None:
    """Return the least of the numbers that are not None, or None if there are none."""
    return min((value for value in values if value is not None), default=None)


def _row(some: Sequence[JudgedLength], alphabet: Sequence[str]) -> list[str | None]:
    first, last = some[0], some[-1]
    known = [length for length in some if length.margin is not None]
    least = min(known, key=lambda length: length.margin or Fraction(0), default=None)
    word = NOTHING if least is None or least.margin_word is None else shown_word(least.margin_word, alphabet)
    return [
        str(first.n) if len(some) == 1 else f"{first.n}-{last.n}",
        tried_text(sum(length.words for length in some), all(length.exhaustive for length in some)),
        count(sum(length.mismatches for length in some)),
        count(sum(length.undecided for length in some)),
        NOTHING if least is None else short(least.margin),
        word,
    ]


# ---- eval ----


def print_outputs(screen: Screen, found: Sequence[Evaluation], alphabet: Sequence[str]) -> None:
    """Print the outputs on each word, with a table of positions for each."""
    for one in found:
        screen.raw()
        answer = "not decided" if not one.places else judged_text(one.soft)
        margin = f", margin {short(one.margin)}" if one.margin is not None else ""
        verdict = f", {RIGHT[one.right]}" if one.right is not None else ""
        screen.raw(shown_word(one.word, alphabet))
        screen.line(f"  answer {answer}{verdict}{margin}")
        if one.arithmetic is not None:
            screen.line(f"  in {one.arithmetic}", hang=2)
        if one.no_output is not None:
            screen.line(f"  {one.no_output.summary}", hang=2)
        # Without a specification there is no column for expected outputs.
        wished = any(place.expected is not None for place in one.places)
        rows = [
            [
                str(place.position),
                place.token,
                place.answer or "?",
                (place.expected or NOTHING) if wished else None,
                _outputs(place.outputs),
            ]
            for place in one.places
        ]
        if rows:
            screen.table(OUTPUT_COLUMNS, rows)


def _outputs(outputs: Sequence[OutputEnds]) -> str:
    shown = [f"{one.output} {_middle(one)}" for one in outputs[:MOST_OUTPUTS]]
    return ", ".join(shown) + (f", ... ({len(outputs)} in all)" if len(outputs) > MOST_OUTPUTS else "")


def _middle(one: OutputEnds) -> str:
    if one.low is None or one.high is None:
        return "?"
    return _about((one.low + one.high) / 2, f".{OUTPUT_DIGITS}g")


def _about(value: Fraction, form: str) -> str:
    """Return a number as a float is written; beyond the range of floats its power of ten."""
    try:
        return format(float(value), form)
    except OverflowError:
        sign = "-" if value < 0 else ""
        return f"{sign}about 10^{len(str(abs(int(value)))) - 1:,}"


# ---- show ----


@dataclass(frozen=True, slots=True, repr=False)
class NetworkFact(Record):
    """A fact that was read from the files of a network."""

    what: str
    """Name of the fact."""
    read: str
    """Text of the fact, as it was read."""


@dataclass(frozen=True, slots=True, repr=False)
class NetworkSetting(Record):
    """A setting that decides what a network computes or how it reads words, and that the weights need not show."""

    name: str
    """Name of the setting."""
    value: str
    """Value of the setting."""
    source: str
    """Source of the value: a file, an option, the weights, or the default of a library or format."""


@dataclass(frozen=True, slots=True, repr=False)
class NetworkLayerReport(Record):
    """A layer of an external network, described in words."""

    layer: Positive
    """Number of the layer, from 1."""
    heads: tuple[str, ...]
    """Description of each head: mask, scale and widths."""
    mlp: str | None
    """Number of hidden units and activation; null: the layer has none."""
    norms: str
    """Norms of the layer and their places."""


@dataclass(frozen=True, slots=True, repr=False)
class NetworkReport(Record):
    """The report on an external network: what was read, and the parts of the network."""

    input: InputName
    sha256: InputDigest
    kind: Annotated[str, one_of("network")]
    """Kind of the input: `network`, an external network."""
    title: Title
    model: ModelFacts
    """Size of the network."""
    tokens: tuple[str, ...]
    """Tokens of the vocabulary, by token id."""
    alphabet: tuple[str, ...]
    """Symbols of words."""
    outputs: tuple[str, ...]
    """Names of the outputs."""
    longest: Natural | None
    """Length of the longest word for which the network has positions; null: there is no limit."""
    reads: str
    """How a word is read, and how the outputs decide the answer."""
    facts: tuple[NetworkFact, ...]
    """Facts that were read from the files."""
    settings: tuple[NetworkSetting, ...]
    """Settings that the weights need not show, with their sources."""
    final_norm: str | None
    """Norm before the unembedding; null: there is none."""
    layers: tuple[NetworkLayerReport, ...]
    """Layers, in order."""


def describe_network(
    subject: External, described: Sequence[tuple[str, str]], settings: Sequence[TakenSetting] = ()
) -> NetworkReport:
    """Return the report on an external network. `described` are labelled facts from its files."""
    network = subject.network
    return NetworkReport(
        input=subject.name,
        sha256=subject.sha256,
        kind="network",
        title=subject.title,
        model=subject.facts,
        tokens=tuple(map(str, network.tokens)),
        alphabet=tuple(subject.alphabet),
        outputs=tuple(map(str, network.outputs)),
        longest=network.longest,
        reads=reads(subject),
        facts=(*(NetworkFact(*pair) for pair in described), *_parts(network)),
        settings=tuple(NetworkSetting(one.name, one.value, one.source) for one in settings),
        final_norm=None if network.final is None else norm_text(network.final),
        layers=tuple(_layer(number, layer) for number, layer in enumerate(network.layers, start=1)),
    )


def reads(subject: External) -> str:
    """Return a text that states which tokens are read around a word, where the answer is read, and how outputs decide
    it."""
    readout = subject.network.readout
    given = " ".join([*map(str, readout.before), "*", *map(str, readout.after)])
    where = {
        "last": "the last position that is read",
        "first": "the first symbol",
        "each": "each symbol",
        "start": "the first token",
        "mean": "the mean of all positions",
    }[at_text(readout)]
    among = "" if readout.among is None else f" among {' '.join(map(str, readout.among))}"
    how = {
        "above": f"each output above {readout.level} or not",
        "argmax": f"the largest output{among}",
        "value": f"the number itself, right to within {readout.level}",
    }[readout.decide]
    return f"{given} (the word is *), answer at {where}: {how}"


def _layer(number: int, layer: NetworkLayer) -> NetworkLayerReport:
    mlp = layer.mlp
    order = "after each sum" if layer.post else "before each part"
    message = _norms((layer.norm_1, layer.norm_2), order)
    if added := _norms((layer.out_1, layer.out_2), "of what each part adds"):
        message = f"{message}; {added}" if message else added
    message = (message or "none") + "; heads and hidden units read the same vectors" * layer.parallel
    units = None
    if mlp is not None:
        gated = "gated " * (mlp.w_gate is not None)
        units = f"{plural(mlp.w_in.shape[1], f'{gated}hidden unit')}, {mlp.activation.value}"
    return NetworkLayerReport(number, tuple(map(_head, layer.heads)), units, message)


def _norms(norms: Sequence[Norm | None], order: str) -> str:
    """Return norms in words, with the place where they are; empty if there are none."""
    found = dict.fromkeys(norm_text(norm) for norm in norms if norm is not None)
    return f"{' and '.join(found)}, {order}" if found else ""


def _parts(network: Network) -> Iterator[NetworkFact]:
    """Yield the parts of a network besides its layers that only some families have."""
    if network.embedding_bias is not None:
        yield NetworkFact("embedding", "a bias is added to every token")
    if network.embedding_norm is not None:
        yield NetworkFact("embedding", norm_text(network.embedding_norm))
    if network.projection is not None:
        yield NetworkFact("embedding", f"of width {len(network.projection)}, mapped to the dimension")
    if network.positions_at == "scores":
        yield NetworkFact("positions", "read by queries and keys alone")
    if (step := network.transform) is not None:
        norm = "" if step.norm is None else f", {norm_text(step.norm)}"
        f = "" if step.activation is None else f", {step.activation.value}"
        yield NetworkFact("transform", f"to width {step.weight.shape[1]} before the outputs{f}{norm}")
    if network.output_cap is not None:
        yield NetworkFact("outputs", f"soft cap {network.output_cap}")


def norm_text(norm: Norm) -> str:
    """Return a norm in words: its kind, its epsilon, and which parameters it has."""
    kind = {"layer": "LayerNorm", "rms": "RMSNorm"}[norm.kind]
    parts = [name for name, array in (("weight", norm.weight), ("bias", norm.bias)) if array is not None]
    return f"{kind} (epsilon {_about(norm.epsilon, 'g')}{', ' * bool(parts)}{' and '.join(parts)})"


def _head(head: NetworkHead) -> str:
    mask = {"none": "sees every position", "future": "causal", "past": "sees itself and what follows"}[head.mask.value]
    wide = f"keys of width {head.w_k.shape[1]}"
    if head.w_v.shape[1] != head.w_k.shape[1]:
        wide += f", values of width {head.w_v.shape[1]}"
    found = [f"{head.name}: {mask}, logits times {head.scale}, {wide}"]
    if head.window is not None:
        found.append(f"a window of {plural(head.window, 'position')}")
    norms = [norm_text(norm) for norm in (head.norm_q, head.norm_k) if norm is not None]
    if norms:
        which = "queries and keys" if len(norms) == 2 else "queries" if head.norm_k is None else "keys"
        found.append(f"{which} normed by {' and '.join(dict.fromkeys(norms))}")
    if (rotary := head.rotary) is not None:
        pairs = "neighbours" if rotary.interleaved else "halves"
        slower = "" if rotary.divisor == 1 else f", {rotary.divisor} times slower"
        scaled = "" if rotary.scaling is None else f", {_scaling(rotary.scaling)}"
        ends = "" if rotary.longest is None else f", for {plural(rotary.longest, 'position')}"
        text = f"rotary positions in {rotary.size} coordinates (base {rotary.base}, {pairs}{slower}{scaled}{ends})"
        found.append(text)
    if head.cap is not None:
        found.append(f"soft cap {head.cap}")
    if head.distance is not None:
        found.append(f"ALiBi slope 2^-{head.distance.exponent}")
    return ", ".join(found)


def _scaling(scaling: RotaryScaling) -> str:
    """Return the text of a scaling of rotary positions."""
    match scaling:
        case Llama3Scaling(factor, low, high, length):
            return f"llama3 scaling by {factor} from {low} to {high} turns over {length}"
        case YarnScaling(factor, fast, slow, length):
            text = f"yarn scaling by {factor} from {slow} to {fast} turns over {length}"
        case LongScaling():
            text = "longrope scaling, pair by pair"
        case _:
            assert_never(scaling)
    return text if scaling.amplitude == 1 else f"{text}, times {scaling.amplitude}"


def print_network(screen: Screen, report: NetworkReport) -> None:
    """Print what was read from the files, then the network layer by layer."""
    facts = report.model
    size = f"{plural(facts.layers, 'layer')}, {plural(facts.heads, 'head')}, dimension {facts.dimension}, "
    room = None if report.longest is None else plural(report.longest, "symbol")
    lines: list[tuple[str, str | None]] = [
        ("size", f"{size}{plural(facts.parameters, 'non-zero parameter')}"),
        ("tokens", " ".join(report.tokens)),
        ("alphabet", " ".join(report.alphabet)),
        ("outputs", " ".join(report.outputs)),
        ("reads", report.reads),
        ("longest", room and f"words of {room}: its table of positions ends there"),
        *((fact.what, fact.read) for fact in report.facts),
    ]
    screen.head(report.input, lines, width=12)
    if report.settings:
        screen.raw()
        screen.table(SETTING_COLUMNS, [(one.name, one.value, one.source) for one in report.settings])
    for layer in report.layers:
        screen.raw()
        screen.line((f"layer {layer.layer}", "bold"), f": {plural(len(layer.heads), 'head')}")
        screen.line(f"  norms  {layer.norms}")
        for head in layer.heads:
            screen.line(f"  head {head}")
        screen.line(f"  mlp    {layer.mlp or 'none'}")
    if report.final_norm is not None:
        screen.raw()
        screen.line(("at the end", "bold"), f": {report.final_norm}")
    screen.raw()
