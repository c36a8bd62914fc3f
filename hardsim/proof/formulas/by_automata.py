"""A second proof that the hard heads compute the formula, for programs without counts: by automata.

`ProgramReader` reads the hard-attention program itself, whatever formula it was compiled from. It keeps one value for
each head that finds the nearest selected position: a head that looks back remembers the value at the last selected
position so far; of a head that looks ahead the value at the next selected position is guessed, and checked when that
position comes. (Read from the last symbol to the first, it is the other way round.) Everything else is computed at one
position: symbols, congruences of the position, linear forms and clips. Heads that take the mean of (-1)^j mark the
first or the last position: at all other positions the mean lies between -1/3 and 1/3, and a clip that reads it must be
constant there.

The minimal automaton of the formula (`lang.automata.of_formula`) is compared with this reader, and also with the text
of the formula (`lang.automata.of_text`), on all words of all lengths. So neither the automaton nor the core language,
from which both automaton and program were made, has to be trusted. The first proof compares Boolean functions of facts
about positions (`meaning`); it shares no code with this one. The hard heads are what the program declares of them
(`select`). That the weights attend so is the first link of the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import lcm
from typing import TypeAlias

from hardsim.errors import Contradiction
from hardsim.lang.ast import FormulaFile
from hardsim.lang.automata.compared import LanguageReader, Memory, Move, NotCompared, compared, divided
from hardsim.lang.automata.of_formula import NoAutomaton, automaton_of_formula
from hardsim.lang.automata.of_text import TextReader
from hardsim.lang.words import written_word
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PredicateColumn
from hardsim.network.numbers import ONE, Mask, Rational
from hardsim.program.hard_attention import Affine, Encoding, Head, Program, ProgramLayer, Weighting
from hardsim.program.regimes import PARITY, expression
from hardsim.proof.shared.result import SecondProof

MOST_STEPS = 10_000
"""Greatest number of nodes that are combined for the automaton of a formula: less than a tenth of a second."""
MOST_GUESSED = 5
"""Greatest number of heads whose values are guessed."""
LONGEST_PERIOD = 24
"""Greatest period of the predicates of positions and lengths together."""
Value: TypeAlias = int | None
"""The value that a head remembers or guesses; None: no selected position on that side."""
Values: TypeAlias = dict[str, Rational]
"""The coordinates at a position."""
Interval: TypeAlias = tuple[Rational, Rational]
POSSIBLE: tuple[Value, ...] = (None, 0, 1)


def second_proof(name: str, program: Program, file: FormulaFile) -> SecondProof:
    """Prove once more, by automata, that the hard heads of a program compute a formula. The result says why there is no
    such proof if the program or the formula counts, or a limit is exceeded. Raises Contradiction, naming a shortest
    word, if the automaton differs from the program or from the text of the formula."""
    if program.normed:
        return SecondProof(reason="automata are not compared with programs that have layer norms")
    if program.rounding is not None:
        return SecondProof(reason="automata are not compared with programs that round their values")
    try:
        readers: dict[str, LanguageReader] = {
            "the formula as written": TextReader(file),
            "the compiled program": ProgramReader(program),
        }
        automaton = automaton_of_formula(file, MOST_STEPS)
        found = {what: compared(automaton, reader) for what, reader in readers.items()}
    except (NotCompared, NoAutomaton) as why:
        return SecondProof(reason=str(why))
    for what, comparison in found.items():
        if comparison.word is not None:
            word = written_word(comparison.word, file.alphabet)
            raise Contradiction(f"{name}: {what} and the minimal automaton of the formula differ on the word {word}")
    return SecondProof(len(automaton.moves), sum(comparison.pairs for comparison in found.values()))


@dataclass(frozen=True, slots=True)
class _State:
    """Memory of a reader between two positions: the number of the next position modulo the period, the length modulo
    the period (0 where nothing depends on it), True after the first symbol that was read, and a value for each
    head."""

    phase: int
    length: int
    begun: bool
    heads: tuple[Value, ...]


class ProgramReader:
    """The language of a hard-attention program without counts, symbol by symbol (see the module)."""

    def __init__(self, program: Program) -> None:
        """Prepare the program. Raises NotCompared if it has parts that are not read here."""
        if program.bos or program.maps or program.threshold is not None or program.reading != "last":
            raise NotCompared("the program is not one of a formula")
        self.program = program
        self.nearest = [head.name for head in program.heads if not _require_read(head).uniform]
        ahead = {head.name for head in program.heads if head.mask is Mask.PAST}
        self.backward = 2 * sum(name in ahead for name in self.nearest) > len(self.nearest)
        self.guessed = [(name in ahead) != self.backward for name in self.nearest]
        if sum(self.guessed) > MOST_GUESSED:
            raise NotCompared(f"the values of more than {MOST_GUESSED} heads would be guessed")
        self.letters, members = divided(program.alphabet, [letter.symbols for letter in program.letters])
        self.embedded = [
            {letter.name: letter.value if member else 0 for letter, member in zip(program.letters, some, strict=True)}
            for some in members
        ]
        self.columns = [found for one in program.encodings if (found := _periodic(one, program)) is not None]
        self.period = lcm(*(period for _, period, _ in self.columns))
        if self.period > LONGEST_PERIOD:
            raise NotCompared(f"the period of the predicates of positions is above {LONGEST_PERIOD}")
        self.by_length = any("n" in encoding.value.variables for encoding, _, _ in self.columns)
        self.certain = [
            [
                number
                for number, (name, guessed) in enumerate(zip(self.nearest, self.guessed, strict=True))
                if not guessed and self._selects(name, phase)
            ]
            for phase in range(self.period)
        ]
        self.layers = [_Layer(layer) for layer in program.layers]
        marked = {head.mask for head in program.heads if head.uniform}
        self.apart = (Mask.FUTURE if self.backward else Mask.PAST) in marked
        """True if the position that is read last has values of its own."""
        self.known: dict[tuple[_State, int], Sequence[Move]] = {}

    def _selects(self, name: str, phase: int) -> bool:
        """Return True if a head selects every position of a phase, whatever its symbol is."""
        head = next(head for head in self.program.heads if head.name == name)
        terms = dict(head.select.terms) if head.select is not None else {}
        return {*terms} <= {PARITY, ONE} and terms.get(PARITY, 0) * _sign(phase) + terms.get(ONE, 0) == 1

    def first(self) -> Iterable[Memory]:
        """Return the memories before any symbol is read."""
        phases = range(self.period) if self.backward else [1 % self.period]
        lengths = range(self.period) if self.by_length else [0]
        heads = list(product(*(POSSIBLE if guessed else (None,) for guessed in self.guessed)))
        for phase, length, values in product(phases, lengths, heads):
            if not self.backward or not self.by_length or phase == length:
                yield _State(phase, length, False, values)

    def moves(self, memory: Memory, letter: int) -> Sequence[Move]:
        """Return the ways on from a memory at a symbol with the given letter. Raises NotCompared if a value is not
        known there."""
        assert isinstance(memory, _State)
        found = self.known.get((memory, letter))
        if found is None:
            first = not memory.begun and not self.backward
            run = _Position(self, memory, letter, first, not memory.begun and self.backward)
            final = run
            if self.apart:
                final = _Position(self, memory, letter, first or self.backward, run.last or not self.backward)
            found = self.known[memory, letter] = [*self._onwards(memory, run), *self._ends(memory, final)]
        return found

    def _onwards(self, state: _State, run: _Position) -> Iterable[Move]:
        """Yield the ways on at a position that is not the last one to be read."""
        if run.failed:
            return
        following = [run.after[name] for name in self.nearest]
        phase = (state.phase + (-1 if self.backward else 1)) % self.period
        for number in self.certain[phase]:
            # A value that the next position replaces makes no difference.
            following[number] = (None,)
        answer = self._answer(run) if run.last else None
        for values in product(*following):
            yield Move(_State(phase, state.length, True, values), answer)

    def _ends(self, state: _State, run: _Position) -> Iterable[Move]:
        """Yield the end of a word at a position, if nothing forbids it."""
        phase = 1 % self.period if self.backward else state.length
        if run.failed or ((self.backward or self.by_length) and state.phase != phase):
            return
        promises = (run.after[name] for name, guessed in zip(self.nearest, self.guessed, strict=True) if guessed)
        # A promise that is still open at the end is broken.
        if all(None in values for values in promises):
            yield Move(None, self._answer(run) if run.last or not self.backward else None)

    def _answer(self, run: _Position) -> bool:
        answer = self.program.verdict(run.values[self.program.output])
        if answer is None:
            raise NotCompared("the output is neither 0 nor 1")
        return answer


class _Position:
    """The coordinates of a program at one position, with the values that its heads may keep for the next one. `failed`
    is True if a guess is wrong here."""

    def __init__(self, reader: ProgramReader, state: _State, letter: int, first: bool, last: bool) -> None:
        self.first, self.last, self.failed = first, last, False
        self.kept = dict(zip(reader.nearest, zip(state.heads, reader.guessed, strict=True), strict=True))
        self.after: dict[str, tuple[Value, ...]] = {}
        self.values: Values = {ONE: 1, **reader.embedded[letter]}
        for encoding, _, column in reader.columns:
            found = _sign(state.phase) if column is None else int(column.evaluate(i=state.phase, n=state.length))
            self.values[encoding.name] = found
        self.between: dict[str, Interval] = {}
        for layer in reader.layers:
            if not self.failed:
                self._layer(layer)

    def _layer(self, layer: _Layer) -> None:
        for head in layer.marks:
            self.between[head.out] = self._mean(head)
        for out, value in [(out, self._nearest(name, *forms)) for name, out, *forms in layer.heads]:
            self.values[out] = self.values.get(out, 0) + value
        written: dict[str, Rational] = dict(layer.biases)
        for form, unit in layer.units:
            least, most = self._bounds(form)
            if unit.cap is not None:
                raise NotCompared(f"the unit that writes '{unit.outs[0][0]}' has a cap")
            if unit.clip:
                least, most = min(form.scale, least), min(form.scale, most)
            value = max(0, least)
            if value != max(0, most):
                raise NotCompared(f"the unit that writes '{unit.outs[0][0]}' does not round what it reads")
            value = value // form.scale if value % form.scale == 0 else Fraction(value) / form.scale
            for out, weight in unit.outs:
                written[out] = written.get(out, 0) + weight * value
        for out, value in written.items():
            self.values[out] = self.values.get(out, 0) + value

    def _nearest(self, name: str, select: _Form, read: _Form) -> Rational:
        """Return what a head reads that looks for the nearest selected position."""
        selected, value = self._bit(select), self._bit(read)
        kept, guessed = self.kept[name]
        if selected:
            self.failed |= guessed and kept != value
            self.after[name] = POSSIBLE if guessed else (value,)
            return value
        self.after[name] = (kept,)
        # If no visible position is selected, the head reads its own position.
        return value if kept is None else kept

    def _mean(self, head: Head) -> Interval:
        """Return bounds of the mean that a head takes of a multiple of (-1)^j and a constant: from i = 2 on the mean of
        (-1)^j over j <= i lies between -1/3 and 0; over j >= i, for i < n, between -1/3 and 1/3."""
        terms = dict(head.value.terms)
        factor, constant = terms.get(PARITY, 0), terms.get(ONE, 0)
        if self.first if head.mask is Mask.FUTURE else self.last:
            here = factor * self._value(PARITY) + constant
            return here, here
        ends = [factor * Fraction(-1, 3), factor * Fraction(0 if head.mask is Mask.FUTURE else 1, 3)]
        return min(ends) + constant, max(ends) + constant

    def _bounds(self, form: _Form) -> Interval:
        """Return the least and the greatest value of a form, times its denominator."""
        least: Rational = 0
        most: Rational = 0
        for name, factor in form.terms:
            if name in self.between:
                ends = [factor * bound for bound in self.between[name]]
                least, most = least + min(ends), most + max(ends)
            else:
                value = factor * self._value(name)
                least, most = least + value, most + value
        return least, most

    def _bit(self, form: _Form) -> int:
        total: Rational = 0
        for name, factor in form.terms:
            total += factor * self._value(name)
        if total not in (0, form.scale):
            raise NotCompared("a head selects by, or reads, a form that is neither 0 nor 1")
        return int(total != 0)

    def _value(self, name: str) -> Rational:
        value = self.values.get(name)
        if value is None:
            raise NotCompared(f"'{name}' is read, whose values are not finitely many")
        return value


@dataclass(frozen=True, slots=True)
class _Form:
    """A linear form times a common denominator, `scale`: integers are faster than fractions."""

    scale: int
    terms: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, form: Affine | None) -> _Form:
        """Return the scaled form of a linear form."""
        terms = () if form is None else form.terms
        scale = lcm(*(factor.denominator for _, factor in terms))
        return cls(scale, tuple((name, int(factor * scale)) for name, factor in terms))


class _Layer:
    """A layer with scaled forms: heads that mark an edge, other heads as name, output, selection and what is read, and
    units."""

    def __init__(self, layer: ProgramLayer) -> None:
        self.marks = [head for head in layer.heads if head.uniform]
        others = [head for head in layer.heads if not head.uniform]
        self.heads = [(head.name, head.out, _Form.of(head.select), _Form.of(head.value)) for head in others]
        self.units = [(_Form.of(unit.pre), unit) for unit in layer.units]
        self.biases = layer.biases


def _sign(phase: int) -> int:
    return -1 if phase % 2 else 1


def _require_read(head: Head) -> Head:
    """Return a head. Raises NotCompared if it is none of those that are read here."""
    if head.uniform:
        if head.mask in (Mask.FUTURE, Mask.PAST) and {name for name, _ in head.value.terms} <= {PARITY, ONE}:
            return head
        raise NotCompared(f"head {head.name} takes a mean")
    sides = {Mask.FUTURE: Weighting.RIGHTMOST, Mask.PAST: Weighting.LEFTMOST}
    if head.select is None or sides.get(head.mask) is not head.weighting or len(head.values) != 1:
        raise NotCompared(f"head {head.name} does not look for the nearest selected position")
    return head


def _periodic(encoding: Encoding, program: Program) -> tuple[Encoding, int, PredicateColumn | None] | None:
    """Return an encoding that is a periodic function of i and n, with its period and, unless it is (-1)^i, its
    predicate. Return None for one that nothing reads but scores, or that is not periodic: reading it is refused."""
    if encoding.name not in _read(program):
        return None
    if isinstance(encoding.value, PredicateColumn):
        column = encoding.value
        return (encoding, column.params[0], column) if column.name == "MOD" and column.user is None else None
    return (encoding, 2, None) if str(encoding.value) == str(expression(PARITY)) else None


def _read(program: Program) -> frozenset[str]:
    """Return the coordinates that heads select by or read, that units read, or that is the output."""
    forms = [form for head in program.heads for form in (head.select, head.value) if form is not None]
    forms += [Affine(unit.reads) for layer in program.layers for unit in layer.units]
    return frozenset({name for form in forms for name, _ in form.terms} | {program.output})
