"""Networks and specifications changed together or apart, as by an attacker who wants a wrong proof.

`perturb` changes one number of a network by little. This module changes the basis of both links: the specification
with its network after it, or one of them alone, by numbers beyond float64, other encodings and temperatures, rows,
names, kinds and masks.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

from hardsim.network.columns import PositionFunction
from hardsim.network.transformer import PositionTable
from tests.proof.formulas.perturb import perturbed, with_one
from tests.support.check import FormulaTarget
from tests.support.language import Arith, HardsimError, parse_arith
from tests.support.model import (
    Affine,
    Head,
    Kind,
    LengthTable,
    Letter,
    Mask,
    Matrix,
    PredicateColumn,
    Program,
    ProgramLayer,
    Rational,
    Relus,
    Transformer,
    Unit,
    Weighting,
    assemble,
)
from tests.support.networks import put, scaled

NUMBERS: tuple[Rational, ...] = (
    0, 1, -1, 2, -2, 3, Fraction(1, 2), Fraction(-1, 2), Fraction(3, 2), Fraction(9, 10), 20, 2**53 + 1, 10**20,
    10**400, Fraction(1, 10**400), 10**305, Fraction(1, 10**330), -(10**400),
)  # fmt: skip
ENCODINGS = (
    "({})+(i mod 2)", "({})*(i mod 2)", "({})*[i<3]", "({})+[i=2]", "({})*(1+[n>4])", "({})*(n mod 3+1)", "({})*(i+1)",
    "({})*(-1)^i", "({})*(-1)^n", "-({})", "({})^2", "({})/i", "({})/n", "({})*n", "({})*10^400", "({})/10^330", "i",
    "n", "1/i", "1/n", "(-1)^i", "(-1)^(i+1)", "1", "0", "i^2", "n-i", "i mod 2", "[i=1]", "[i=n]", "(1+(-1)^i)/2",
    "({})+1/10", "({})+10^400-10^400", "2^53+({})-2^53",
)  # fmt: skip
TEMPERATURES = (
    "({})*2", "({})/2", "({})*4", "({})*(n mod 3+1)", "({})*(1+9*[n>4])", "({})*(1+9*[n mod 5 = 4])", "({})*10^400",
    "({})/10^400", "({})*i", "({})*n", "({})/n", "1", "1/n", "1/(n mod 2+1)", "({})*8*((1/4) mod (1/2))",
    "({})*(1+[i=2])", "({})*(3+(-1)^n)", "({})*(3+(-1)^i)/2",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """The name of a change, and the changed network and specification."""

    kind: str
    model: Transformer
    program: Program


def _form(form: Affine, names: list[str], rng: Random) -> Affine:
    """Change or add a coefficient of a linear form."""
    terms = dict(form.terms)
    name = rng.choice(sorted(terms)) if terms and rng.random() < 0.6 else rng.choice(names)
    value = rng.choice(NUMBERS)
    terms[name] = terms[name] * value if name in terms and rng.random() < 0.5 else value
    return Affine.of(terms)


def _swapped(form: Affine, names: list[str], rng: Random) -> Affine:
    """Replace a coordinate that a linear form reads by another one."""
    terms = dict(form.terms)
    if not terms:
        return form
    value = terms.pop(rng.choice(sorted(terms)))
    name = rng.choice(names)
    terms[name] = terms.get(name, 0) + value
    return Affine.of(terms)


def _head(head: Head, names: list[str], rng: Random) -> tuple[str, Head]:
    """Change one attribute of a head of the specification; return a name of the change and the head."""
    what = rng.choice(("value", "score", "score", "row", "mask", "weighting", "kind", "select", "zero"))
    some = _form if rng.random() < 0.5 else _swapped
    score = list(head.score)
    if what == "value":
        return what, replace(head, values=((head.out, some(head.value, names, rng)),))
    if what == "select" and head.select is not None:
        return what, replace(head, select=some(head.select, names, rng))
    if what == "mask":
        return what, replace(head, mask=rng.choice([Mask.NONE, Mask.FUTURE, Mask.PAST]))
    if what == "weighting":
        return what, replace(head, weighting=rng.choice([Weighting.LEFTMOST, Weighting.RIGHTMOST]))
    if what == "kind" and score:
        return what, replace(head, kind=rng.choice([kind for kind in Kind if kind is not Kind.UNIFORM]))
    if what == "score" and score:
        place = rng.randrange(len(score))
        query, key = score[place]
        score[place] = (some(query, names, rng), key) if rng.random() < 0.5 else (query, some(key, names, rng))
        return what, replace(head, score=tuple(score))
    if what == "row" and score:
        row = (_form(Affine(), names, rng), _form(Affine(), names, rng))
        score.insert(rng.randrange(len(score) + 1), row)
        return what, replace(head, score=tuple(score))
    if what == "zero" and score:
        score.insert(0, (Affine.coordinate(rng.choice(names)), Affine()))
        return what, replace(head, score=tuple(score))
    return "", head


def _unit(unit: Unit, names: list[str], rng: Random) -> Unit:
    if rng.random() < 0.2:
        return replace(unit, outs=((unit.out, -unit.weight),))
    return replace(unit, pre=(_form if rng.random() < 0.5 else _swapped)(unit.pre, names, rng))


def _encoding(value: PositionFunction, rng: Random) -> PositionFunction:
    if isinstance(value, PredicateColumn):
        return replace(value, of_i=value.of_i + rng.choice((-1, 0, 1)), of_n=value.of_n + rng.choice((0, 0, 1)),
                       offset=value.offset + rng.choice((-1, 0, 1)))  # fmt: skip
    kind = rng.random()
    if not isinstance(value, Arith):
        value = parse_arith("i")
    if kind < 0.1:
        return PositionTable(1, tuple(value.evaluate(i=i, n=3) for i in (1, 2, 3)), rng.choice(NUMBERS))
    if kind < 0.2:
        return LengthTable(tuple(rng.choice((Fraction(1), Fraction(n), Fraction(1, n))) for n in range(1, 100)))
    if kind < 0.3:
        return PredicateColumn(rng.choice(("PRIME", "SQUARE", "POW2")), (), 1, 0, 0)
    return parse_arith(rng.choice(ENCODINGS).format(value))


def _program(program: Program, rng: Random) -> tuple[str, Program]:
    """Change one part of a specification; return a name of the change and the specification."""
    layers = list(program.layers)
    names = list(program.coordinates)
    what = rng.choice(("head", "head", "head", "clip", "clip", "encoding", "encoding", "letter", "ones", "name"))
    number = rng.randrange(len(layers))
    layer = layers[number]
    if what == "head" and layer.heads:
        place = rng.randrange(len(layer.heads))
        part, changed = _head(layer.heads[place], names, rng)
        layers[number] = replace(layer, heads=with_one(layer.heads, place, changed))
        return f"head {part}", replace(program, layers=tuple(layers))
    if what == "clip" and layer.units:
        place = rng.randrange(len(layer.units))
        units = with_one(layer.units, place, _unit(layer.units[place], names, rng))
        layers[number] = replace(layer, units=units)
        return what, replace(program, layers=tuple(layers))
    if what == "encoding" and program.encodings:
        place = rng.randrange(len(program.encodings))
        encoding = program.encodings[place]
        encoding = replace(encoding, value=_encoding(encoding.value, rng))
        return what, replace(program, encodings=with_one(program.encodings, place, encoding))
    if what == "letter" and program.letters:
        place = rng.randrange(len(program.letters))
        symbols = frozenset(symbol for symbol in program.alphabet if rng.random() < 0.5)
        letter = Letter(program.letters[place].name, symbols)
        return what, replace(program, letters=with_one(program.letters, place, letter))
    if what == "ones":
        outs = sorted({unit.out for unit in layer.units})
        biases = tuple((name, 1) for name in outs if rng.random() < 0.5)
        layers[number] = replace(layer, biases=biases)
        return what, replace(program, layers=tuple(layers))
    if what == "name":
        return what, renamed(program, rng.choice(names[1:]), rng.choice(names))
    return "", program


def renamed(program: Program, old: str, new: str) -> Program:
    """Rename a coordinate of a specification to the name of another, everywhere."""

    def name(one: str) -> str:
        return new if one == old else one

    def form(one: Affine) -> Affine:
        return Affine.of([(name(key), value) for key, value in one.terms])

    def layer(one: ProgramLayer) -> ProgramLayer:
        heads = tuple(
            replace(head, values=((name(head.out), form(head.value)),),
                    score=tuple((form(query), form(key)) for query, key in head.score),
                    select=None if head.select is None else form(head.select))
            for head in one.heads
        )  # fmt: skip
        units = tuple(replace(unit, outs=((name(unit.out), unit.weight),), pre=form(unit.pre)) for unit in one.units)
        return ProgramLayer(heads, units, tuple((name(out), bias) for out, bias in one.biases))

    return replace(
        program,
        letters=tuple(replace(letter, name=name(letter.name)) for letter in program.letters),
        encodings=tuple(replace(encoding, name=name(encoding.name)) for encoding in program.encodings),
        layers=tuple(layer(one) for one in program.layers),
        output=name(program.output),
        coordinates=(),
    )


def _entry(matrix: Matrix, rng: Random) -> Matrix:
    """Change or add an entry of a matrix, sometimes by numbers beyond float64."""
    entries = {(row, column): value for row, column, value in matrix.entries}
    rows, columns = matrix.shape
    if not rows or not columns:
        return matrix
    place = rng.choice(sorted(entries)) if entries and rng.random() < 0.6 else (
        rng.randrange(rows), rng.randrange(columns))  # fmt: skip
    value = rng.choice(NUMBERS)
    return put(matrix, *place, entries[place] * value if place in entries and rng.random() < 0.6 else value)


def _model(model: Transformer, rng: Random) -> tuple[str, Transformer]:
    """Change one part of a network; return a name of the change and the network."""
    what = rng.choice(("w_q", "w_k", "w_k", "w_v", "w1", "w2", "embedding", "encoding", "more", "tau", "tau", "scale"))
    number = rng.randrange(len(model.layers))
    layer = model.layers[number]
    if what in ("w_q", "w_k", "w_v", "scale"):
        if not layer.heads:
            return "", model
        place = rng.randrange(len(layer.heads))
        factor = rng.choice(NUMBERS)
        part = rng.choice(("w_q", "w_k")) if what == "scale" else what
        head = layer.heads[place]
        matrix = getattr(head, part)
        edit: dict[str, Any] = {part: scaled(matrix, factor) if what == "scale" else _entry(matrix, rng)}
        new = replace(layer, heads=with_one(layer.heads, place, replace(head, **edit)))
    elif what in ("w1", "w2"):
        relus = Relus.of(layer.ffn, model.dimension)
        edit = {what: _entry(getattr(relus, what), rng)}
        new = replace(layer, ffn=relus._replace(**edit).layer())
    elif what == "embedding":
        return what, replace(model, embedding=_entry(model.embedding, rng))
    elif what == "encoding" and model.encodings:
        place = rng.randrange(len(model.encodings))
        coordinate, value = model.encodings[place]
        return what, replace(model, encodings=with_one(model.encodings, place, (coordinate, _encoding(value, rng))))
    elif what == "more":
        coordinate = rng.randrange(model.dimension)
        added = (coordinate, parse_arith(rng.choice(ENCODINGS).format("i")))
        return what, replace(model, encodings=(*model.encodings, added))
    else:
        return "tau", replace(model, temperature=parse_arith(rng.choice(TEMPERATURES).format(model.temperature)))
    return what, replace(model, layers=with_one(model.layers, number, new))


def mutated(subject: FormulaTarget, rng: Random) -> Mutant | None:
    """Return a random mutant of a subject; None if the subject has no part of the kind that was drawn."""
    program, kinds = subject.program, []
    if rng.random() < 0.6:
        for _ in range(rng.choice((1, 1, 2))):
            kind, program = _program(program, rng)
            kinds.append(kind)
    try:
        budget = replace(subject.budget) if rng.random() < 0.7 else replace(subject.budget, beta=Fraction(3))
        model = assemble(program, budget)
    except (HardsimError, KeyError, ValueError):
        return None
    if not kinds or rng.random() < 0.2:
        if rng.random() < 0.2:
            found = perturbed(model, rng)
            if found is None:
                return None
            kind, model = found
        else:
            kind, model = _model(model, rng)
        kinds.append(f"network {kind}")
    if rng.random() < 0.1:
        _, program = _program(program, rng)
        kinds.append("specification alone")
    if (program, model) == (subject.program, subject.model):
        return None
    return Mutant(", ".join(kinds), model, program)
