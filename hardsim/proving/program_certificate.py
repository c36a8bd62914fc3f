"""Certificates of programs and hard-attention models that are proved by structure, for `hardsim.verify.programs`.

The network is read off the softmax transformer's own matrices; the spans, and the rules that gaps follow from, are
what the prover found. The checker takes none of it on trust.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hardsim.errors import Undecided
from hardsim.lang.arith import Arith, in_python
from hardsim.lang.ast import BOS, UserPredicate
from hardsim.lang.valuations import MOST_LISTED, Valuations
from hardsim.network.columns import PositionFunction, PredicateColumn
from hardsim.network.numbers import Rational
from hardsim.network.transformer import SoftWeighting, Transformer
from hardsim.program.assemble import assemble
from hardsim.program.hard_attention import Program, ProgramLayer
from hardsim.proof.programs.every_length import ProgramArgument
from hardsim.proof.programs.lattice import DenominatorName, NumberSpan, Share, plus, positive, times
from hardsim.proof.programs.law import Law, LayerLaw, ProgramLaw
from hardsim.proof.programs.places import Place, Seen
from hardsim.proof.programs.rows import Difference, Row, distances
from hardsim.proof.programs.shares import shown_apart, shown_away
from hardsim.proof.programs.types import RULE
from hardsim.proof.shared.ratios import Ratio, Value
from hardsim.proof.shared.result import NoProof
from hardsim.proving.formula_certificate import accepted, function_text, head_json
from hardsim.proving.prove import LengthProof, ProofResult
from hardsim.targets.subject import Subject
from hardsim.verify.arithmetic import require
from hardsim.verify.program_sections import PROGRAM_VERSION, program_claim
from hardsim.verify.programs import ProgramChecker
from hardsim.verify.sections import FORMAT
from hardsim.version import __version__


def program_certificate(result: ProofResult) -> dict[str, Any]:
    """Return the certificate of a proof about a program or a model. The checker has accepted it. Raises Undecided if
    some length was proved by running all its words, or if the checker rejects the certificate."""
    subject = result.subject
    argument = result.argument if result.every_length else None
    by_words = [length.n for length in result.lengths if length.proved_by == "every word"]
    if by_words or isinstance(subject.law, NoProof):
        raise Undecided(
            f"{subject.name}: proved by running every word of some lengths, of which there are no certificates: they "
            "are of proofs by structure"
        )
    start, law = None if argument is None else argument.start, subject.law
    lengths = _lengths(subject, result.lengths, start)

    def made() -> dict[str, Any]:
        # The matrices do not depend on the temperature, so any serves where it varies with the length.
        model = program_json(assemble(subject.program, Arith.of(1)), subject.program, subject.defined)
        return {
            "format": FORMAT,
            "schema_version": PROGRAM_VERSION,
            "claim": program_claim(subject.program.weighting.value),
            "lengths": [*lengths],
            "start": start,
            "temperature": _temperature(subject, argument, lengths.values()),
            "labels": {
                "version": __version__,
                "source": {"name": subject.name, "sha256": subject.sha256},
                "title": subject.title,
                "words": _words(subject, result),
            },
            "model": model,
            "facts": program_facts(subject.program, model, law, 1 in lengths, start is not None or max(lengths) > 1),
        }

    return accepted(subject, made, ProgramChecker)


def _temperature(
    subject: Subject, argument: ProgramArgument | None, lengths: Iterable[Fraction | None]
) -> str | list[str]:
    """Return the temperature that is proved: an expression with Python's operators, or one for each length."""
    if argument is not None:
        return in_python(str(argument.tau))
    if not subject.given_temperature:
        return [str(tau) for tau in lengths]
    require(isinstance(subject.schedule, Arith), f"the temperature {subject.schedule} is no expression")
    return in_python(str(subject.schedule))


def _lengths(subject: Subject, proofs: Sequence[LengthProof], start: int | None) -> dict[int, Fraction | None]:
    """Return the lengths, with their padding, that are checked one by one, each with its temperature; None where
    one temperature is proved for every length."""
    if start is None:
        return {subject.positions(proof.n) - subject.program.bos: proof.temperature for proof in proofs}
    padded = (subject.positions(n) - subject.program.bos for n in range(1, start))
    return dict.fromkeys(sorted({n for n in padded if n < start}))


def _words(subject: Subject, result: ProofResult) -> str | None:
    """Return the sentence about the padding of words; None if words are not padded."""
    if subject.blank is None:
        return None
    some = [f"{n}: {subject.positions(n) - subject.program.bos}" for n in range(1, 6)]
    message = "words are padded to so many positions with the symbol"
    return f"{message} {subject.blank}, by their length: {', '.join(some)}, ..."


# ---- the network ----


def program_json(model: Transformer, program: Program, users: Mapping[str, UserPredicate]) -> dict[str, Any]:
    """Return the network as JSON, with coordinates by name, and with the predicates that the file defines. Raise
    Rejected for a feature that the checker does not know."""
    names = model.coordinates
    large = isinstance(model.alphabet, Valuations) and len(model.alphabet) > MOST_LISTED
    require(not large, "too large: there are too many sets of propositions to be listed")
    encodings: dict[str, list[str]] = {}
    for k, function in model.encodings:
        encodings.setdefault(names[k], []).append(_encoding(function, users))
    layers = []
    for layer in model.layers:
        heads = [head_json(head, names) for head in layer.heads]
        units = [
            {
                "clip": unit.clip,
                "bias": str(unit.bias),
                "form": {names[k]: str(value) for k, value in unit.form},
                "outs": {names[k]: str(value) for k, value in unit.outs},
            }
            for unit in layer.ffn.units
        ]
        biases = {names[k]: str(value) for k, value in layer.ffn.biases}
        layers.append({"heads": heads, "units": units, "biases": biases})
    written = {*encodings, *_written(layers)}
    columns = {name: _embedded(model, k) for k, name in enumerate(names)}
    stated = {} if model.weighting is SoftWeighting.SOFTMAX else {"weighting": model.weighting.value}
    return {
        **stated,
        "alphabet": list(model.alphabet),
        "bos": model.bos,
        "embedding": {name: row for name, row in columns.items() if {*row} != {"0"} or name not in written},
        "encodings": {name: _sum(texts) for name, texts in encodings.items()},
        "layers": layers,
        "outputs": list(program.answers),
        "read": "every" if program.maps else program.reading,
        "threshold": None if program.threshold is None or program.integers else str(program.threshold),
        "integers": program.integers,
    }


def _written(layers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the coordinates that the layers of a network add to."""
    found: list[str] = []
    for layer in layers:
        found += [out for head in layer["heads"] for out in head["values"]]
        found += [out for unit in layer["units"] for out in unit["outs"]]
        found += layer["biases"]
    return found


def _sum(texts: Sequence[str]) -> str:
    """Return the sum of the position encodings of one coordinate as one expression."""
    return texts[0] if len(texts) == 1 else " + ".join(f"({text})" for text in texts)


def _embedded(model: Transformer, k: int) -> list[str]:
    """Return the values of a coordinate in the embedding: for each symbol, and at the beginning of the sequence."""
    values = model.by_symbol(k)
    if isinstance(model.alphabet, Valuations) and model.bos:
        values = [*values, model.embedding.rows()[-1].get(k, 0)]
    require(len(values) == len(model.alphabet) + model.bos, f"the embedding has no row of {BOS}")
    return [str(value) for value in values]


def _encoding(function: PositionFunction, users: Mapping[str, UserPredicate]) -> str:
    require(
        isinstance(function, Arith | PredicateColumn), f"nothing is known of the encoding {function} at every length"
    )
    return function_text(function, users)


# ---- the prover's claims about the network ----


def program_facts(program: Program, model: Mapping[str, Any], law: ProgramLaw, one: bool, more: bool) -> dict[str, Any]:
    """Return the prover's facts about a network that is written as JSON: for words of length 1 (`one`), for longer
    words (`more`), or for both."""
    facts = _Facts(program, model)
    worlds = {"one": facts.world(law.one) if one else None, "more": facts.world(law.more) if more else None}
    return {"functions": facts.texts, "counts": facts.counts, "spans": facts.spans, **worlds}


class _Facts:
    """The prover's facts as JSON. Functions and spans are listed once and referred to by number."""

    def __init__(self, program: Program, model: Mapping[str, Any]) -> None:
        self.program, self.model = program, model
        names = [*model["embedding"], *model["encodings"], *_written(model["layers"])]
        self.coordinates = tuple(dict.fromkeys(names))
        self._functions: dict[str, int] = {}
        self._counts: dict[DenominatorName, int] = {}
        self._spans: dict[tuple[Any, ...], int] = {}

    @property
    def texts(self) -> list[str]:
        """The functions of i and n that bound numbers, as texts, in the order of their numbers."""
        return [*self._functions]

    @property
    def counts(self) -> list[list[str | int]]:
        """The names of counts of tied keys, in the order of their numbers."""
        return [[*name] for name in self._counts]

    @property
    def spans(self) -> list[list[Any]]:
        """The spans, in the order of their numbers."""
        return [_listed(span) for span in self._spans]

    def _function(self, value: Value) -> int:
        text = in_python(str(value))
        return self._functions.setdefault(text, len(self._functions))

    def _span(self, span: NumberSpan) -> int:
        parts = [self._function(part) for part in (span.low, span.high, span.offset)]
        rest: list[Any] = [None if part is None else self._function(part) for part in (span.step, span.most)]
        share = span.share
        if share is not None:
            counts = tuple(
                (self._counts.setdefault(one.name, len(self._counts)), self._function(one.most), one.power)
                for one in share.denominators
            )
            rest.append((self._function(share.offset), self._function(share.step), counts))
        rest += [None] * (share is None)
        zeros = tuple(
            (self._function(zero.base), zero.sign, tuple(map(self._function, zero.apart))) for zero in span.isolated
        )
        return self._spans.setdefault((*parts, *rest, zeros), len(self._spans))

    def _column(self, spans: Mapping[int, NumberSpan]) -> list[int]:
        return [self._span(spans[order]) for order in sorted(spans)]

    def _columns(self, columns: Mapping[str, Mapping[int, NumberSpan]], names: Iterable[str]) -> dict[str, list[int]]:
        return {name: self._column(columns[name]) for name in dict.fromkeys(names)}

    def world(self, law: Law) -> dict[str, Any]:
        """Return the claims for every length from 2 on, or for length 1, which have separate laws."""
        layers = zip(self.program.layers, law.layers, self.model["layers"], strict=True)
        return {
            "input": self._columns(law.entering, self.coordinates),
            "layers": [self._layer(*layer) for layer in layers],
            "answers": self._answers(law),
        }

    def _answers(self, law: Law) -> dict[str, list[int]]:
        """Return spans for the outputs whose own spans do not show their distance from the threshold. The returned
        spans do."""
        threshold, columns = self.program.threshold, dict(law.entering)
        for layer in law.layers:
            columns |= layer.leaving
        answers: dict[str, list[int]] = {}
        if threshold is not None and not self.program.integers:
            for out in self.program.answers:
                spans = [columns[out][place.order] for place in law.world.places]
                shown = [_shown(span, threshold, place) for span, place in zip(spans, law.world.places, strict=True)]
                if shown != spans:
                    answers[out] = list(map(self._span, shown))
        return answers

    def _layer(self, layer: ProgramLayer, law: LayerLaw, network: Mapping[str, Any]) -> dict[str, Any]:
        forms = [{"clip": unit.clip, "outs": {out: str(weight) for out, weight in unit.outs}} for unit in layer.units]
        units_text = [{key: unit[key] for key in ("clip", "outs")} for unit in network["units"]]
        require(forms == units_text, "the network has other hidden units than the program")
        heads = {}
        # A value or a bias of zero has no entry in the network's matrices: it is not written there.
        values = {head["name"]: head["values"] for head in network["heads"]}
        for head in layer.heads:
            reads = {out: self._column(law.reads[head.name, out]) for out in values[head.name]}
            rows = law.heads[head.name].rows if head.name in law.heads else {}
            orders = sorted(rows) if head.score else ()  # where all scores are 0 nothing is left to say
            heads[head.name] = {"reads": reads, "rows": [self._row(rows[order]) for order in orders]}
        units = [[self._column(spans) for spans in unit] for unit in law.units]
        read = [out for own in values.values() for out in own]
        written = [*(out for unit in network["units"] for out in unit["outs"]), *network["biases"]]
        attended, final = self._columns(law.attended, read), self._columns(law.leaving, written)
        return {"heads": heads, "attended": attended, "units": units, "final": final}

    def _row(self, row: Row) -> dict[str, Any]:
        if row.product is not None:
            query, keys = row.product.query, row.product.keys
            away = shown_away(query, 0, row.place.domains) if row.product.away else None
            query = shown_apart(query) if away is None else away
            assert keys.step is not None
            return {"product": [self._span(query), self._function(keys.offset), self._function(keys.step)]}
        if row.rules == (RULE,):
            return {"kinds": True}
        return {
            "groups": [sorted(orders) for orders in row.groups],
            "inner": [None if rule is None else self._inner(rule) for rule in row.inner or (None,)],
            "pairs": [
                [a, b, self._function(rule.step), self._function(rule.rest), rule.sign]
                for (a, b), rule in row.pairs.items()
            ],
        }

    def _inner(self, rule: Difference) -> list[Any]:
        kind = "look-up" if rule.rule == "look-up" else "lattice"
        return [kind, self._function(rule.step), self._function(rule.rest)]


def _shown(span: NumberSpan, threshold: Rational, place: Place) -> NumberSpan:
    """Return the span of an output with only the share, or the isolated zero, that keeps it away from the threshold.
    Return it unchanged if its ends or its lattice already do."""
    ends = plus(span.low, -threshold), plus(threshold, times(span.high, -1))
    numbers = span.step and not isinstance(span.step, Ratio) and not isinstance(span.offset, Ratio)
    if numbers or any(positive(end, place.domains) for end in ends):
        return span
    if span.step and (found := distances(plus(span.offset, -threshold), span.step, Seen(0, 0, place.domains))):
        return replace(span, share=Share(plus(threshold, found[2]), found[1], ()))
    return shown_away(span, threshold, place.domains) or span


def _listed(value: Any) -> Any:
    """Replace tuples by lists, at every depth."""
    return [*map(_listed, value)] if isinstance(value, tuple) else value
