"""Read and write hard-attention programs as JSON, with exact rationals as strings and every value checked.

A program is the `program` of an .ahat.json and the `specification` of a model.json. A linear form is an object from
coordinate names to rationals. A softmax model of a program also has a `temperature`; a program compiled from a
formula also has the `sharpness` of its regime.

Version 1 is read too. In its .ahat.json a program is given by the matrices of a transformer, in which a pair relu(z)
- relu(z - 1) is a clip. In its specifications, heads have one `value` and `out`, hidden units are `clips`, and biases
are `ones`. The JSON Schema `ahat.schema.json` beside this file describes the format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, field, replace
from fractions import Fraction
from importlib.resources import files
from typing import Any

from hardsim.errors import SourceError
from hardsim.lang.arith import Arith
from hardsim.lang.ast import BOS, FormulaFile
from hardsim.lang.ltl_parser import parse_text
from hardsim.lang.predicate import user_predicates
from hardsim.lang.valuations import Alphabet, PropositionSymbols, Valuations, everything
from hardsim.lang.words import parse_word, written_word
from hardsim.lazy_dataclass import dataclass
from hardsim.network import store
from hardsim.network.columns import PredicateColumn
from hardsim.network.numbers import ONE, Rational
from hardsim.network.reader import Reader, shown
from hardsim.network.transformer import AttentionHead, HiddenUnit, Matrix, Schedule, SoftWeighting, Transformer, rows_of
from hardsim.program.budget import Budget
from hardsim.program.hard_attention import Affine, Encoding, Head, Kind, Letter, Program, ProgramLayer, Unit, Weighting

FORMAT = "hardsim-ahat"
SCHEMA_VERSION = 2
ABOUT = (
    "$schema", "format", "schema_version", "version", "title", "source", "notes", "predicates", "examples",
    "temperature", "blank",
)  # fmt: skip
KEYS = {
    1: (*ABOUT, "alphabet", "bos", "coordinates", "embedding", "encodings", "layers", "output", "threshold", "reading",
        "weighting", "outputs"),
    2: (*ABOUT, "program", "sharpness", "compiled", "weighting"),
}  # fmt: skip
# The weightings of hard attention; softmax appears only in version 1.
HARD = {weighting.value: weighting for weighting in Weighting if weighting is not Weighting.SOFTMAX}
WEIGHTINGS = ", ".join(HARD)
ANY_WEIGHTING = f"softmax, {WEIGHTINGS}"
KINDS = ", ".join(kind.value for kind in Kind)
HEAD = (
    "name",
    "mask",
    "weighting",
    "score",
    "select",
    "decay",
    "gap",
    "shares",
    "kind",
    "coefficients",
    "purpose",
    "theorem",
)


@dataclass(frozen=True)
class AhatFile:
    """A hard-attention program together with the other contents of its file.

    `examples` are words, each with True if it is accepted. `temperature` belongs to a softmax model, whose heads are
    compared with the hard attention that they stand for. `sharpness` is the budget with which a formula was compiled.
    """

    program: Program
    title: str = ""
    source: str = ""
    predicates: tuple[str, ...] = ()
    """Definitions such as `MIDDLE(i, n) = 2*i == n + 1`, which encodings may use by name."""
    examples: tuple[tuple[tuple[str, ...], bool], ...] = ()
    temperature: Schedule | None = None
    sharpness: Budget | None = None
    blank: str | None = None
    compiled: Origin | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """The formula from which a program was compiled, as its file states, and the options of the compilation."""

    text: str
    single_head: bool
    counting: str | None


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the format."""
    return dict(json.loads(files("hardsim.program").joinpath("ahat.schema.json").read_text(encoding="utf-8")))


def read_ahat(document: Reader) -> AhatFile:
    """Return the program that a document describes. Raises InputError, naming the place inside the document, what was
    expected and what was found."""
    document.field("format").choice({FORMAT: FORMAT}.__getitem__, FORMAT)
    version = document.field("schema_version").integer(1, SCHEMA_VERSION)
    newer = [key for key in KEYS[SCHEMA_VERSION] if key not in KEYS[version] and document.has(key)]
    if newer:
        reason = f"the key {shown(newer[0])} is one of schema_version {SCHEMA_VERSION}, and this file says {version}"
        raise document.field("schema_version").refusal(reason, f'Write "schema_version": {SCHEMA_VERSION}')
    document.only(*KEYS[version])
    users, predicates = _read_predicates(document)
    if version == 1:
        program, soft = _read_matrices(document, users)
        sharpness = None
    else:
        sharpness = read_sharpness(document.field("sharpness")) if document.has("sharpness") else None
        place = document.field("program")
        weighting = store.read_weighting(document)
        program = read_program(place, users, sharpness is not None and not _normed(place), weighting)
        sharpness = sharpness and replace(sharpness, weighting=program.weighting)
        soft = document.has("temperature")
        if soft and sharpness is not None:
            raise document.field("temperature").error("no temperature: the sharpness has one already")
    # Only a program compiled from a formula answers without a threshold.
    if program.threshold is None and sharpness is None:
        place = document if version == 1 else document.field("program")
        raise place.error('an object with the key "threshold"')
    blank = document.field("blank").text() if document.has("blank") else None
    if program.alphabet == (blank,):
        raise document.field("blank").error("a symbol of an alphabet with at least two symbols")
    return AhatFile(
        program=program,
        title=document.field("title").text() if document.has("title") else "",
        source=document.field("source").text() if document.has("source") else "",
        predicates=predicates,
        examples=_read_examples(document.field("examples"), program.alphabet) if document.has("examples") else (),
        temperature=store.read_schedule(document.field("temperature")) if soft else None,
        sharpness=sharpness,
        blank=blank,
        compiled=_read_origin(document.field("compiled")) if document.has("compiled") else None,
    )


def _normed(program: Reader) -> bool:
    """Return True if a layer of a program states a norm. Norms write every coordinate in every layer."""
    layers = program.field("layers").items() if program.has("layers") else ()
    return any(layer.has(key) for layer in layers for key in store.NORMS)


def _read_origin(data: Reader) -> Origin:
    data.only("text", "single_head", "counting")
    methods = {"lookup": "lookup", "sign": "sign"}
    counting = data.field("counting").choice(methods.__getitem__, "lookup, sign") if data.has("counting") else None
    return Origin(data.field("text").text(), data.field("single_head").boolean(), counting)


def read_sharpness(data: Reader) -> Budget:
    """Read the budget of a regime: beta and the temperature."""
    data.only("beta", "beta_for_all", "temperature")
    return Budget(
        read_beta(data.field("beta")), data.field("temperature").arith(), data.field("beta_for_all").boolean()
    )


def read_beta(data: Reader) -> Fraction:
    """Read beta, which must be positive."""
    beta = Fraction(data.rational())
    if beta <= 0:
        raise data.error("a positive rational")
    return beta


# ---- programs by names ----


def program_json(program: Program) -> dict[str, Any]:
    """Return a program as JSON data."""
    hard = program.threshold is not None
    return _text_of(
        alphabet=store.alphabet_json(program.alphabet),
        regime=program.regime or None,
        bos=program.bos or None,
        coordinates=list(program.coordinates),
        letters=[
            _text_of(
                name=letter.name,
                holds=letter.symbols.name if isinstance(letter.symbols, PropositionSymbols) else None,
                symbols=None if isinstance(letter.symbols, PropositionSymbols) else sorted(letter.symbols),
                value=None if letter.value == 1 else str(letter.value),
            )
            for letter in program.letters
        ],
        encodings=[{"name": one.name, "value": store.encoding_json(one.value)} for one in program.encodings],
        layers=[
            {
                "heads": [_head_json(head) for head in layer.heads],
                "units": [
                    _text_of(
                        outs=_terms_json(unit.outs),
                        pre=_terms_json(unit.pre.terms),
                        clip=unit.clip,
                        counts=unit.counts or None,
                        cap=None if unit.cap is None else _terms_json(unit.cap.terms),
                    )
                    for unit in layer.units
                ],
                "biases": _terms_json(layer.biases),
            }
            | store.norms_json(layer)
            for layer in program.layers
        ],
        output=program.output,
        threshold=str(program.threshold) if hard else None,
        reading=program.reading if hard else None,
        outputs=dict(program.outputs) or None,
        integers=program.integers or None,
        meanings=dict(program.meanings) or None,
        rounding=None if program.rounding is None else str(program.rounding),
    )


def _head_json(head: Head) -> dict[str, Any]:
    return _text_of(
        name=head.name,
        mask=head.mask.value,
        weighting=head.weighting.value,
        score=[[_terms_json(query.terms), _terms_json(key.terms)] for query, key in head.score],
        values={out: _terms_json(form.terms) for out, form in head.values},
        select=head.select and _terms_json(head.select.terms),
        decay=head.decay and str(head.decay),
        gap=head.gap and str(head.gap),
        shares=head.shares or None,
        kind=head.kind and head.kind.value,
        coefficients=None if head.kind is None else str(head.weight),
        purpose=head.purpose or None,
        theorem=head.theorem or None,
    )


def _text_of(**members: Any) -> dict[str, Any]:
    """Return the members that are not None."""
    return {key: value for key, value in members.items() if value is not None}


def _terms_json(terms: Iterable[tuple[str, Rational]]) -> dict[str, str]:
    return {name: str(value) for name, value in terms}


def read_program(
    data: Reader,
    users: store.Users | None = None,
    once: bool = True,
    weighting: SoftWeighting = SoftWeighting.SOFTMAX,
) -> Program:
    """Read a program from JSON data.

    With `once`, each coordinate is written in one place only and read only after it, so that its name has one meaning.
    Compilers write such programs. Raises InputError, naming the place, what was expected and what was found."""
    data.only("regime", "alphabet", "bos", "coordinates", "temperature", "letters", "encodings", "layers", "output",
              "threshold", "reading", "outputs", "integers", "meanings", "rounding")  # fmt: skip
    if data.has("temperature"):
        # Version 1 repeated the regime's temperature here: it is checked and not used.
        data.field("temperature").arith()
    alphabet, bos = store.read_alphabet(data), store.read_bos(data)
    names = store.read_names(data.field("coordinates")) if data.has("coordinates") or not once else ()
    # In a program without the coordinate 1, only a hidden unit's bias may name the constant.
    known = {ONE} if not names or ONE in names else set()
    own = set(names) if names else None
    reading = _Reading(alphabet, bos, once, known if once else set(names), own, users or {}, weighting)
    letters = tuple(reading.letter(item) for item in data.field("letters").items())
    encodings = tuple(reading.encoding(item) for item in data.field("encodings").items())
    layers = tuple(reading.layer(item) for item in data.field("layers").items())
    outputs = data.field("outputs").members() if data.has("outputs") else ()
    return Program(
        alphabet=alphabet,
        letters=letters,
        encodings=encodings,
        layers=layers,
        output=reading.known_name(data.field("output")),
        coordinates=names,
        bos=bos,
        threshold=data.field("threshold").rational() if data.has("threshold") else None,
        reading=store.read_reading(data),
        outputs=tuple((symbol, reading.known_name(item)) for symbol, item in outputs),
        integers=data.has("integers") and data.field("integers").boolean(),
        regime=data.field("regime").text() if data.has("regime") else "",
        meanings={name: item.text() for name, item in data.field("meanings").members()} if data.has("meanings") else {},
        weighting=weighting,
        rounding=store.read_rounding(data),
    )


@dataclass
class _Reading:
    """The state of reading a program: `known` are the coordinates that may be read so far, `names` all coordinates
    (None: any name)."""

    alphabet: Alphabet
    bos: bool
    once: bool
    known: set[str]
    names: set[str] | None
    users: store.Users
    weighting: SoftWeighting
    heads: set[str] = field(default_factory=set)

    def new(self, data: Reader, again: Iterable[str] = ()) -> str:
        """Return the name of a coordinate that is written at this place. With `once`, it must not have been written
        before, unless it is in `again`."""
        name = data.text()
        if name == ONE and not self.once:
            raise data.error("a coordinate that is not the constant 1")
        if not self.once or name in again:
            return self.known_name(data)
        if not name or name in self.known:
            what = "the constant 1" if name == ONE else "another coordinate"
            raise data.error(f"the name of a new coordinate{f', not that of {what}' if name else ''}")
        if self.names is not None and name not in self.names:
            raise data.error("one of the coordinates")
        self.known.add(name)
        return name

    def known_name(self, data: Reader) -> str:
        """Return the name of a coordinate that may be read at this place."""
        name = data.text()
        if name not in self.known:
            raise data.error("a coordinate of the program")
        return name

    def form(self, data: Reader, known: Iterable[str]) -> Affine:
        """Read a linear form over known coordinates."""
        if not isinstance(data.value, dict):
            raise data.error("an object from coordinates to rationals")
        for name in data.value:
            if name not in known:
                raise data.error(f"coordinates that are known here (not {shown(name)})")
        return Affine.of({name: item.rational() for name, item in data.members()})

    def letter(self, data: Reader) -> Letter:
        """Read a coordinate of the word embedding."""
        data.only("name", "symbols", "holds", "value")
        if data.has("holds") and isinstance(self.alphabet, Valuations):
            held = data.field("holds").choice({name: name for name in self.alphabet.props}.__getitem__, "a proposition")
            one = data.field("value").rational() if data.has("value") else 1
            return Letter(self.new(data.field("name")), self.alphabet.holding(held), one)
        if isinstance(self.alphabet, Valuations) and data.field("symbols").value:
            raise data.error("holds with the name of a proposition, or an empty array of symbols")
        symbols: set[str] = set()
        for item in data.field("symbols").items():
            if item.text() not in (*self.alphabet, *([BOS] if self.bos else [])) or item.text() in symbols:
                raise item.error("symbols of the alphabet, each once")
            symbols.add(item.text())
        value = data.field("value").rational() if data.has("value") else 1
        return Letter(self.new(data.field("name")), frozenset(symbols), value)

    def encoding(self, data: Reader) -> Encoding:
        """Read a coordinate of the position encoding."""
        data.only("name", "value")
        name = self.new(data.field("name"))
        value = store.read_encoding(data.field("value"), self.users)
        store.require_encoding(data.field("value"), value, self.bos)
        return Encoding(name, value)

    def layer(self, data: Reader) -> ProgramLayer:
        """Read one layer. The heads' outputs become known to the layer's hidden units, and all outputs to later
        layers."""
        members = ("clips", "ones") if data.has("clips") else ("units", "biases")
        data.only("heads", *members, *store.NORMS)
        before = frozenset(self.known)
        heads = tuple(self.head(item, before) for item in data.field("heads").items())
        attended = frozenset({ONE, *self.known})
        own: set[str] = set()  # the coordinates of this layer's units: several units may add to one
        units: list[Unit] = []
        for item in data.field(members[0]).items():
            units.append(self.unit(item, attended, own))
            own |= {out for out, _ in units[-1].outs}
        return ProgramLayer(heads, _writing(units), tuple(self._biases(data, own)), *store.read_norms(data))

    def _biases(self, data: Reader, own: set[str]) -> Iterable[tuple[str, Rational]]:
        if data.has("biases"):
            for name, item in data.field("biases").members():
                if name not in (own if self.once else self.known - {ONE}):
                    raise item.error(f"coordinates that hidden units of this layer write (not {shown(name)})")
                yield name, item.rational()
        elif data.has("ones"):
            seen: set[str] = set()
            for item in data.field("ones").items():
                if item.text() not in own or item.text() in seen:
                    raise item.error("coordinates that clips of this layer write, each once")
                seen.add(item.text())
                yield item.text(), 1

    def unit(self, data: Reader, attended: frozenset[str], own: set[str]) -> Unit:
        """Read a hidden unit, which may read the outputs of this layer's heads."""
        if data.has("outs"):
            data.only("outs", "pre", "clip", "counts", "cap")
            outs = tuple(
                (self.new(Reader(name, data.name, place.path), own), place.rational())
                for name, place in data.field("outs").members()
            )
            clip = data.field("clip").boolean()
        else:
            data.only("out", "pre", "weight", "counts")
            if not (data.has("out") and data.has("weight")):
                raise data.error('a hidden unit: an object with the keys "outs", "pre" and "clip"')
            weight = data.field("weight").integer(-1, 1)
            if not weight:
                raise data.field("weight").error("1 or -1")
            outs, clip = ((self.new(data.field("out"), own), weight),), True
        counts = data.has("counts") and data.field("counts").boolean()
        if data.has("cap") and not clip:
            raise data.field("cap").error("no cap: this unit is a relu")
        cap = self.form(data.field("cap"), attended) if data.has("cap") else None
        return Unit(outs, self.form(data.field("pre"), attended), clip, counts, cap)

    def head(self, data: Reader, before: frozenset[str]) -> Head:
        """Read an attention head, which may read the outputs of earlier layers."""
        data.only(*HEAD, *(("value", "out") if data.has("out") else ("values",)))
        name = data.field("name").text()
        if name in self.heads:
            raise data.field("name").error("a name that no other head has")
        self.heads.add(name)
        score = tuple(self._pair(item, before) for item in data.field("score").items())
        kind = data.field("kind").choice(Kind, KINDS) if data.has("kind") or self.once else None
        if kind is not None and (kind is Kind.UNIFORM) == bool(score):
            raise data.field("score").error(
                "no score for a uniform head" if score else "a score, since the head is not uniform"
            )
        weighting = data.field("weighting").choice(HARD.__getitem__, WEIGHTINGS)
        if kind is Kind.UNIFORM and weighting is not Weighting.AVERAGE:
            raise data.field("weighting").error("average, since the head is uniform")
        for key in ("decay", "gap"):
            if kind is Kind.UNIFORM and data.has(key):
                raise data.field(key).error("null, since the scores of a uniform head are all equal")
        if data.has("decay") and data.has("gap"):
            raise data.field("gap").error("null, since the head has a decay, which implies a gap")
        geometric = self.weighting is SoftWeighting.GEOMETRIC  # which needs no gap: the nearest one counts
        open_tie = kind and weighting is not Weighting.AVERAGE and not geometric
        if open_tie and not (data.has("decay") or data.has("gap")):
            raise data.error("a head with a decay or a gap: without one its largest score need not be unique")
        if data.has("out"):
            value = self.form(data.field("value"), before)
            values = [(self.new(data.field("out")), value)]
        else:
            members = data.field("values").members()
            values = [(self.new(Reader(out, data.name, item.path)), self.form(item, before)) for out, item in members]
        mask = store.read_mask(data, self.bos or geometric)
        select = self.form(data.field("select"), before) if data.has("select") else None
        decay = data.field("decay").arith() if data.has("decay") else None
        gap = data.field("gap").arith() if data.has("gap") else None
        weight = data.field("coefficients").rational() if data.has("coefficients") or self.once else 1
        if weight.denominator != 1 or weight < 1:
            raise data.field("coefficients").error("a positive integer")
        return Head(
            name=name,
            mask=mask,
            weighting=weighting,
            values=tuple(values),
            score=score,
            select=select,
            decay=decay,
            gap=gap,
            shares=data.has("shares") and data.field("shares").boolean(),
            kind=kind,
            weight=int(weight),
            purpose=data.field("purpose").text() if data.has("purpose") else "",
            theorem=data.field("theorem").text() if data.has("theorem") else "",
        )

    def _pair(self, data: Reader, before: frozenset[str]) -> tuple[Affine, Affine]:
        query, key = data.items(2)
        pair = self.form(query, before), self.form(key, before)
        for form, place in zip(pair, (query, key), strict=True):
            if not form.terms:
                raise place.error(
                    "a form that is not zero: the product would add nothing to the score, so leave it out"
                )
        return pair


def _writing(units: Iterable[Unit]) -> tuple[Unit, ...]:
    """Return the hidden units without outputs of weight 0, and without units that have no other outputs.

    The network's matrices leave these out too, so that a proof about the program's units is a proof about the
    network's.
    """
    weighted = (replace(unit, outs=tuple((out, weight) for out, weight in unit.outs if weight)) for unit in units)
    return tuple(unit for unit in weighted if unit.outs)


# ---- version 1: programs by matrices ----


def _read_matrices(document: Reader, users: store.Users) -> tuple[Program, bool]:
    """Read version 1: return the program that the matrices stand for, and True if they are those of a softmax model.
    Raises InputError if the document has mistakes, or softmax heads and hard heads are mixed, since there is then no
    hard attention to compare with."""
    network = store.read_transformer(document, users, hard=True)
    encodings = document.field("encodings").items() if network.encodings else ()
    for (_, encoding), place in zip(network.encodings, encodings, strict=True):
        # Hard attention compares exact scores, so its encodings must be rational.
        store.require_encoding(place.field("value"), encoding, network.bos)
    default = _weighting(document, "weighting") if document.has("weighting") else None
    parts = [part for layer in document.field("layers").items() for part in layer.field("heads").items()]
    given = [_weighting(part, "weighting", default) for part in parts]
    kinds = {weighting is Weighting.SOFTMAX for weighting in given}
    if len(kinds) == 2:
        raise document.field("layers").error("heads that are all softmax, or all average, leftmost or rightmost")
    soft = kinds == {True}
    if kinds == {False} and document.has("temperature"):
        raise document.field("temperature").error("no temperature: hard attention has none")
    for number, part in enumerate(parts):
        if soft:
            given[number] = _weighting(part, "hardmax", Weighting.AVERAGE)
        elif part.has("hardmax"):
            raise part.field("hardmax").error("no hardmax: only softmax heads have one")
    gaps = [part.field("gap").arith() if part.has("gap") else None for part in parts]
    outputs: tuple[tuple[str, str], ...] = ()
    if document.has("outputs"):
        data = document.field("outputs")
        if not isinstance(data.value, dict) or not data.value:
            raise data.error("an object from output symbols to coordinates")
        names = {name: name for name in network.coordinates}
        outputs = tuple((symbol, item.choice(names.__getitem__, "the coordinates")) for symbol, item in data.members())
    return program_of(network, list(zip(given, gaps, strict=True)), outputs), soft


def _weighting(data: Reader, key: str, default: Weighting | None = None) -> Weighting:
    if default is not None and not data.has(key):
        return default
    if key == "hardmax":
        return data.field(key).choice(HARD.__getitem__, WEIGHTINGS)
    return data.field(key).choice(Weighting, ANY_WEIGHTING)


def program_of(
    network: Transformer, heads: list[tuple[Weighting, Arith | None]], outputs: tuple[tuple[str, str], ...] = ()
) -> Program:
    """Turn matrices into a program that refers to coordinates by name. `heads` are the weighting and the declared gap
    of each head.

    A coordinate named 1 that is not the constant 1 gets another name in the program.
    """
    names = _names(network)
    remaining = iter(heads)
    renamed = dict(zip(network.coordinates, names, strict=True))
    return Program(
        alphabet=network.alphabet,
        letters=_letters(network, names),
        encodings=tuple(Encoding(names[index], value) for index, value in network.encodings),
        layers=tuple(
            ProgramLayer(
                tuple(_head(head, *next(remaining), names) for head in layer.heads),
                tuple(
                    Unit(
                        outs=tuple((names[index], weight) for index, weight in unit.outs),
                        pre=Affine.of([(ONE, unit.bias), *((names[index], value) for index, value in unit.form)]),
                        clip=unit.clip,
                        cap=_cap(unit, names),
                    )
                    for unit in layer.ffn.units
                ),
                tuple((names[index], bias) for index, bias in layer.ffn.biases),
                layer.norm_1,
                layer.norm_2,
            )
            for layer in network.layers
        ),
        output=names[network.output],
        coordinates=names,
        bos=network.bos,
        threshold=network.threshold,
        reading=network.reading,
        outputs=tuple((symbol, renamed[name]) for symbol, name in outputs),
    )


def _cap(unit: HiddenUnit, names: tuple[str, ...]) -> Affine | None:
    cap = [(ONE, unit.cap_bias), *((names[index], value) for index, value in unit.cap)]
    return Affine.of(cap) if unit.cap or unit.cap_bias != 1 else None


def _letters(network: Transformer, names: tuple[str, ...]) -> tuple[Letter, ...]:
    """Return the coordinates that the word embedding writes, apart from the constant 1: one `Letter` per coordinate
    and value. Over sets of propositions, whose rows add up, one per coordinate and row."""
    entries = [entry for entry in network.embedding.entries if names[entry[1]] != ONE]
    if isinstance(network.alphabet, Valuations):
        held = [*map(network.alphabet.holding, network.alphabet.props), everything(network.alphabet)]
        return tuple(Letter(names[column], held[row], value) for row, column, value in entries)
    symbols, found = rows_of(network.alphabet, True), dict[tuple[str, Rational], set[str]]()
    for row, column, value in entries:
        found.setdefault((names[column], value), set()).add(symbols[row])
    return tuple(Letter(name, frozenset(some), value) for (name, value), some in found.items())


def _names(network: Transformer) -> tuple[str, ...]:
    """Return the names of the coordinates. A coordinate named 1 that is not the constant 1 is renamed."""
    if ONE not in network.coordinates:
        return network.coordinates
    place = network.coordinates.index(ONE)
    written = {place for place, _ in network.encodings}
    for layer in network.layers:
        written |= {row for head in layer.heads for row, _, _ in head.w_v.entries}
        written |= {out for unit in layer.ffn.units for out, _ in unit.outs} | {out for out, _ in layer.ffn.biases}
    # Over sets of propositions every position has the last row, so only that row may be 1.
    sets = isinstance(network.alphabet, Valuations)
    *some, last = (row.get(place, 0) for row in network.embedding.rows())
    if not network.normed and place not in written and last == 1 and all(value == (0 if sets else 1) for value in some):
        return network.coordinates
    free = next(name for k in range(2, len(network.coordinates) + 3) if (name := f"1 ({k})") not in network.coordinates)
    return tuple(free if name == ONE else name for name in network.coordinates)


def _head(head: AttentionHead, weighting: Weighting, gap: Arith | None, names: tuple[str, ...]) -> Head:
    queries, keys = _forms(head.w_q, names), _forms(head.w_k, names)
    return Head(
        name=head.name,
        mask=head.mask,
        weighting=weighting,
        values=tuple((names[out], form) for out, form in enumerate(_forms(head.w_v, names)) if form.terms),
        score=tuple((query, key) for query, key in zip(queries, keys, strict=True) if query.terms and key.terms),
        gap=gap,
    )


def _forms(matrix: Matrix, names: tuple[str, ...]) -> list[Affine]:
    return [Affine.of({names[index]: value for index, value in row.items()}) for row in matrix.rows()]


# ---- the other contents of a file ----


def _read_predicates(document: Reader) -> tuple[store.Users, tuple[str, ...]]:
    if not document.has("predicates"):
        return {}, ()
    definitions = tuple(item.text() for item in document.field("predicates").items())
    # A small formula file, so that the parser of formula files reads the definitions.
    text = "alphabet: a\n" + "".join(f"pred {' '.join(definition.split())}\n" for definition in definitions) + "true\n"
    try:
        file = parse_text(text, f"{document.name}: predicates")
    except SourceError as error:
        raise document.field("predicates").error(f"definitions of predicates ({error.message})") from None
    meanings = user_predicates(file)
    return {item.name: (item.text, meanings[item.name]) for item in file.predicates}, definitions


def _read_examples(data: Reader, alphabet: Alphabet) -> tuple[tuple[tuple[str, ...], bool], ...]:
    data.only("accept", "reject")
    found: list[tuple[tuple[str, ...], bool]] = []
    for key, accepted in (("accept", True), ("reject", False)):
        if not data.has(key):
            continue
        for item in data.field(key).items():
            try:
                found.append((parse_word(item.text(), alphabet), accepted))
            except SourceError as error:
                raise item.error(f"a word over the alphabet ({error.message})") from None
    return tuple(found)


def ahat_json(file: AhatFile) -> dict[str, Any]:
    """Return the document of a program as JSON data."""
    examples = {
        key: [written_word(word, file.program.alphabet) for word, expected in file.examples if expected is accepted]
        for key, accepted in (("accept", True), ("reject", False))
    }
    return _text_of(
        format=FORMAT,
        schema_version=SCHEMA_VERSION,
        title=file.title or None,
        source=file.source or None,
        predicates=list(file.predicates) or None,
        examples=examples if file.examples else None,
        blank=file.blank,
        temperature=file.temperature and store.schedule_json(file.temperature),
        sharpness=file.sharpness and sharpness_json(file.sharpness),
        weighting=None if file.program.weighting is SoftWeighting.SOFTMAX else file.program.weighting.value,
        compiled=file.compiled and asdict(file.compiled),
        program=program_json(file.program),
    )


def sharpness_json(budget: Budget) -> dict[str, Any]:
    """Return the budget of a regime as JSON data."""
    return {"beta": str(budget.beta), "beta_for_all": budget.fixed, "temperature": str(budget.temperature)}


def named_predicates(program: Program, formula: FormulaFile) -> tuple[str, ...]:
    """Return the definitions of the formula's own predicates that the program's encodings name."""
    used = {encoding.value.name for encoding in program.encodings if isinstance(encoding.value, PredicateColumn)}
    return tuple(text for one, text in zip(formula.predicates, definitions(formula), strict=True) if one.name in used)


def definitions(formula: FormulaFile) -> tuple[str, ...]:
    """Return the definitions of all predicates that the formula file defines."""
    return tuple(f"{one.name}({', '.join(one.params)}) = {' '.join(one.text.split())}" for one in formula.predicates)
