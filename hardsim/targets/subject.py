"""Targets with hard attention: the common base of formulas, programs and weights.

A subject is hard attention, the softmax network made of it, and the semantics that gives the expected answers, if
there is one. `targets.compiled` and `targets.stored` make them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardsim.compiling.from_ltl.rounded import rounding_text
from hardsim.errors import InputError, InvariantError
from hardsim.hard.batch_hard import BatchHard
from hardsim.hard.exact import ExactModel, HardTrace
from hardsim.lang.arith import Arith
from hardsim.lang.ast import FormulaFile
from hardsim.lang.ltl_parser import parse_text
from hardsim.lang.nesting import NestingDepth, nesting_depth
from hardsim.lang.predicate import user_predicates
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import Defined, UserPredicate
from hardsim.network.integers import widened
from hardsim.network.transformer import Schedule, SoftWeighting, Transformer
from hardsim.program.assemble import assemble
from hardsim.program.budget import Budget
from hardsim.program.hard_attention import Kind, Program, Weighting
from hardsim.proof.programs.law import ProgramLaw, law_of
from hardsim.proof.shared.result import NoProof, NotProved
from hardsim.records import Record, Unwritten, written
from hardsim.run.forward import Trace
from hardsim.run.mp import ACCURATE_DIGITS, choose_digits, digits_needed
from hardsim.run.soft import nearest, output_settled, rounded, side
from hardsim.targets.base import Target
from hardsim.targets.claims import AttentionClaim, HeadsClaim
from hardsim.targets.result import (
    BALL,
    MPMATH,
    RATIONAL,
    Answer,
    FormulaText,
    InputKind,
    InputName,
    ModelFacts,
    NoOutput,
    Title,
    Word,
    settled,
)
from hardsim.targets.sharpness import FOUND, GivenTemperature, OneNetwork, Sharpness

if TYPE_CHECKING:  # most commands prove nothing for every length
    from hardsim.proof.programs.every_length import DecayClaim, ProgramArgument

QUICK, QUICK_SYMBOLS = 3_000_000, 200_000
"""Number of scores of heads, and of heads at symbols of words, that are computed faster than another process starts."""
HALF = Fraction(1, 2)
SIDES = (Weighting.LEFTMOST, Weighting.RIGHTMOST)


@dataclass(frozen=True, kw_only=True)
class Subject(Target):
    """Hard attention, and the softmax network made of it.

    Its `sharpness` is one network for every length, or a temperature.
    """

    program: Program
    blank: str | None = None
    """The symbol that is dropped from the output of a padded transduction."""
    predicates: tuple[str, ...] = ()
    """Definitions of predicates that the position encodings name."""
    sharpness: Sharpness = FOUND
    formula: FormulaFile | None = None
    """The formula that this is the network of; its `at` is the position at which it is read."""
    single_head: bool = False
    counting: str | None = None
    """The method that decides comparisons of counts; None where there are none."""
    given: tuple[str, ...] = ()
    """The options out of beta, tau and epsilon that were given, for advice."""

    # ---- what the kinds of subjects answer ----

    def prover(self) -> HeadsClaim | AttentionClaim:
        """Return what can be proved: that softmax answers as hard attention does."""
        return AttentionClaim(self)

    @property
    def confirmed(self) -> bool:
        """True if purposes, theorems and declared gaps are hardsim's own; False if they are claims of a file."""
        return True

    @property
    def in_range(self) -> bool:
        """True if the numbers of every word stay in the range that the construction covers."""
        return True

    @property
    def of_formula(self) -> bool:
        """True for the network of a formula, which is written with its formula."""
        return False

    @property
    def depth(self) -> NestingDepth | None:
        """Nesting depth of the formula as written; None for a network without a formula."""
        return None if self.formula is None else nesting_depth(self.formula)

    @property
    def constructed(self) -> bool:
        """True if hard attention computes a program by its constructions, on which every proof rests."""
        return False

    @property
    def given_temperature(self) -> bool:
        """True if the temperature was given, or came with a softmax model."""
        return isinstance(self.sharpness, GivenTemperature)

    @property
    def rests_on(self) -> str:
        """The end of the claim of a proof: what it takes for granted."""
        return ""

    def too_many_text(self, words: str) -> str:
        """Return the reason why a length is not proved whose `words` words are not all tried."""
        return (
            "a gap that is measured, or declared by the file, does not cover words that were not tried, and "
            f"{words} words are too many"
        )

    @property
    def fixed_weights(self) -> bool:
        """True for a softmax model, whose weights are never changed, with or without ties."""
        return False

    @property
    def reading(self) -> str:
        """The position at which the answer is read: first, last or each."""
        return self.program.reading

    def without_budget(self) -> Subject:
        """Return this target with the same network at a given temperature, as Theorem 26 has it. Its recursion uses the
        declared gaps of heads, and no other claim about them. A target without a budget stays as it is."""
        return self

    def hard_model(self, program: Program) -> ExactModel | BatchHard:
        """Return exact hard attention, ready to run, of this target's program or of one with its ties broken."""
        return ExactModel(program)

    def require_one_network(self) -> None:
        """Require that no temperature is measured on the words that are run. Raises InputError if Theorem 26 gives
        it."""
        if self.by_theorem:
            message = (
                f"{self.name}: the temperature of each length is measured on the words that are run, so there is no "
                "one network of which draws could be trials"
            )
            raise InputError(message, "Give a temperature (--tau), or leave out --draws.")

    def require_temperature(self, n: int) -> None:
        """Require that the temperature of the one network is positive at length n. Raises InputError if it is not."""
        if self.one_network:
            # A temperature depends on n alone, or on i alone: both run through all their values over the lengths.
            self.model.inverse_temperature(n, n)

    @property
    def scoreless(self) -> bool:
        """True if the heads take means by construction, so that there is no beta: layer norms or rounding make means
        Booleans."""
        return self.program.normed or self.program.rounding is not None

    def arithmetic(self, engine: str) -> str:
        """Return the name of the arithmetic in which an engine runs the network."""
        if self.program.weighting is SoftWeighting.GEOMETRIC and engine != MPMATH:
            return BALL  # in which values that are rational are exact
        exact = self.program.weighting.cutoff is not None and not self.program.normed
        return RATIONAL if exact or self.program.rounding is not None else engine

    def few_digits(self, max_n: int, dps: int | None, engine: str) -> str | None:
        """Return a remark if the decimal digits asked for are fewer than mpmath needs up to length `max_n`."""
        if engine != MPMATH or dps is None or not self.one_network or self.scoreless:
            return None
        needed = digits_needed(self.model, max_n)
        text = (
            f"{dps} decimal digits are fewer than the {needed:,} that keep every activation right to "
            f"10^-{ACCURATE_DIGITS} at length {max_n}: the results of mpmath may be rounding errors"
        )
        return text if dps < needed else None

    def decider(self) -> Callable[[Word], Any]:
        """Return the function that gives the expected answer of a word: by the semantics, or else by hard attention."""
        if self.oracle is not None:
            return self.oracle
        model = ExactModel(self.program)
        return lambda word: self.hard_answers(self.program, model.run([self.prepared(word)]))[0]

    def hard_answers(self, program: Program, trace: HardTrace) -> list[Answer]:
        """Return the answers of a run of exact hard attention, word by word: a truth value of an acceptor (None:
        neither), otherwise a tuple with the outputs at the symbols, without blanks (None: not exactly one output is
        selected, or no integer)."""
        if self.acceptor:
            place = program.reading_index(trace.n)
            column = trace.columns[program.output]
            outputs = column.whole[:, place].tolist()
            verdicts = {output: program.verdict(Fraction(output, column.unit)) for output in set(outputs)}
            return [verdicts[output] for output in outputs]
        # Index of the first symbol: a beginning of sequence at position 0 has no output.
        first, level = 1 - program.first, self.threshold
        if program.integers:
            column, n = trace.columns[program.output], trace.n
            # An integer output is stored as the integer over n, the length as run.
            rows: list[list[int]] = column.whole[:, first:].tolist()
            divided = [[divmod(value * n, column.unit) for value in row] for row in rows]
            return [tuple(None if rest else whole for whole, rest in row) for row in divided]
        overs, unders = list[NDArray[np.bool_]](), list[NDArray[np.bool_]]()
        for _, name in program.outputs:
            column = trace.columns[name]
            bound = max(column.size * level.denominator, abs(level.numerator) * column.unit)
            whole = widened(column.whole[:, first:], bound) * level.denominator
            overs.append(whole > level.numerator * column.unit)
            unders.append(whole < level.numerator * column.unit)
        return list(self.symbols(np.stack(overs), np.stack(unders)))

    def require_digits(self, max_n: int, dps: int | None) -> None:
        """Require that mpmath can run words of up to `max_n` symbols in the one network. Raises InputError if it would
        need too many digits."""
        if self.one_network:
            choose_digits(self.model, max_n, dps)

    def quick(self, words: Callable[[int], int], max_n: int) -> bool:
        """Return True if the scores of all heads are few: at all pairs of positions for a run of hard attention, at all
        positions for one network."""
        heads, total = max(1, len(self.program.heads)), 0
        if self.one_network:
            return sum(map(words, range(1, max_n + 1))) * max_n * heads < QUICK_SYMBOLS
        for n in range(1, max_n + 1):
            total += words(n) * (self.positions(n) + (not self.program.bos)) ** 2
            if total * heads >= QUICK:  # whatever the longer lengths add
                return False
        return True

    def prepared(self, word: Word) -> Word:
        """Return the word that is run for a word: a program may pad it."""
        return tuple(word)

    def require_range(self, words: Sequence[Word], trace: HardTrace) -> None:
        """Check the exact run of some prepared words. Raises OutOfRange if a word leaves the range that the
        construction covers."""

    # ---- data of some subjects only: InvariantError for any other subject ----

    @property
    def budget(self) -> Budget:
        """The sharpness of the regime."""
        return self._network.budget

    @property
    def model(self) -> Transformer:
        """The one network for every length."""
        return self._network.network

    @property
    def _network(self) -> OneNetwork:
        if not isinstance(self.sharpness, OneNetwork):
            raise InvariantError(f"{self.name} has another network for every length")
        return self.sharpness

    @property
    def schedule(self) -> Schedule:
        """The given temperature."""
        if not isinstance(self.sharpness, GivenTemperature):
            raise InvariantError(f"{self.name} has no temperature of its own")
        return self.sharpness.schedule

    # ---- properties ----

    @property
    def acceptor(self) -> bool:
        """True if the subject accepts or rejects words; False if it maps words to words, or to lists of integers."""
        return not self.program.maps

    @property
    def one_network(self) -> bool:
        """True if a regime's sharpness makes one network for every length."""
        return isinstance(self.sharpness, OneNetwork)

    def positions(self, n: int) -> int:
        """Return the number of positions of a word of n symbols as it is run, with a beginning of sequence if
        there is one."""
        return len(self.prepared((self.alphabet[0],) * n)) + self.program.bos

    @property
    def exact(self) -> bool:
        """True if the output must be exactly 1 or exactly 0; False if it is compared with a threshold."""
        return self.program.threshold is None

    @property
    def threshold(self) -> Fraction:
        """The number that an output is compared with; 1/2 where outputs must be exactly 0 or 1."""
        return HALF if self.program.threshold is None else Fraction(self.program.threshold)

    @cached_property
    def law(self) -> ProgramLaw | NoProof:
        """The facts of the program on every word of every length, from its weights; or the reason why they do not
        suffice to compare softmax with it."""
        if self.program.weighting is SoftWeighting.GEOMETRIC:
            return NoProof("geometric attention is proved for formulas, and for models that were compiled from one")
        try:
            found = law_of(self.program)
        except NotProved as failure:
            return NoProof(failure.reason)
        doubt = found.more.doubt or found.one.doubt
        if not self.exact and doubt:
            return NoProof(doubt)
        tied = next((head for head in self.program.heads if head.weighting in SIDES and found.may_tie(head)), None)
        return (
            found
            if tied is None
            else NoProof(f"head {tied.name} may have ties, which {self.program.weighting} does not break")
        )

    @cached_property
    def argument(self) -> ProgramArgument:
        """The argument for every length, at the given temperature or else at one that is found for it; or the reason
        why there is none."""
        from hardsim.proof.programs.every_length import ProgramArgument, argue

        claim, tau = self.decay_claim, self.schedule if self.given_temperature else None
        if isinstance(claim, NoProof):
            return ProgramArgument(None, reason=claim.reason)
        if tau is not None and not isinstance(tau, Arith):
            return ProgramArgument(tau, reason=f"its temperature is a {tau}, which is not defined for longer words")
        return argue(claim, tau)

    @property
    def decay_claim(self) -> DecayClaim | NoProof:
        """The claim to prove for every length, or the reason why there is none. It is computed at each use: a process
        cannot send it."""
        from hardsim.proof.programs.every_length import DecayClaim

        if not self.in_range:
            return NoProof("its integers may leave their range on some words")
        if isinstance(self.law, NoProof):
            return self.law

        def lengths(end: int) -> list[int]:
            found: set[int] = set()
            for n in range(1, end):  # a padded word is no shorter
                with suppress(InputError):  # no word of this length can be padded
                    found.add(self.positions(n) - self.program.bos)
            return sorted(n for n in found if n < end)

        return DecayClaim(self.program, self.law, self.exact, lengths)

    @cached_property
    def temperature(self) -> Schedule | None:
        """The temperature of a subject without a regime: the given one, or a function of the length at which every
        length is proved. None: Theorem 26's at each length, which is also used if the user asks for an error."""
        if self.given_temperature:
            return self.schedule
        if self.sharpness != FOUND:
            return None
        found = self.argument
        return found.tau if found.proved else None

    @property
    def by_theorem(self) -> bool:
        """True if Theorem 26 gives the temperature, another one for each length."""
        return not self.one_network and self.temperature is None

    @property
    def by_structure(self) -> bool:
        """True if enough is known of every word without running it. For a program this includes that its integers
        stay in range: only then hard attention computes what the program does."""
        return self.in_range and not isinstance(self.law, NoProof)

    @property
    def regime(self) -> str | None:
        """The name of the regime; None without a regime."""
        return self.program.regime or None if self.one_network else None

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each coordinate in the softmax network."""
        # A stored network may have other coordinates than its specification, in another order.
        names = self.model.coordinates if self.one_network else self.program.coordinates
        return {name: number for number, name in enumerate(names)}

    @property
    def output(self) -> int:
        """The coordinate of the softmax network that an acceptor answers by: the stored network's own, even if the
        program names another."""
        return self.model.output if self.one_network else self.index[self.program.output]

    @cached_property
    def specified(self) -> bool:
        """True if the network equals the one that the program compiles to. A network compiled here does; a file
        may differ."""
        return not self.one_network or assemble(self.program, self.budget) == self.model

    def require_specified(self, what: str) -> None:
        """Refuse a computation from the specification if the network is another one. Raises InputError with `what`, the
        name of that computation."""
        if not self.specified:
            raise InputError(
                f"{self.name}: the network differs from the one that its specification compiles to at its beta, and "
                f"{what} would be about the specification",
                hint="Compile the formula again; check, prove, eval and words use the network itself.",
            )

    @property
    def facts(self) -> ModelFacts:
        """The size of the network and how it was compiled."""
        program, one = self.program, self.one_network
        found = self.budget.temperature if one else self.temperature
        # The sizes do not depend on the temperature.
        network = self.model if one else assemble(program, found or Arith.of(1))
        return ModelFacts(
            layers=len(network.layers),
            heads=len(network.heads),
            dimension=network.dimension,
            parameters=network.parameters,
            temperature="that of Theorem 26 at each length" if found is None else str(found),
            at=self.reading,
            regime=self.regime,
            beta=self.budget.beta if one and not self.scoreless else None,
            single_head=self.single_head,
            counting=self.counting,
            weighting=program.weighting.value,
            rounding=rounding_text(program),
            bos=program.bos,
            specified=self.specified,
            given=self.given,
        )

    @property
    def defined(self) -> Defined:
        """The predicates that the position encodings may name, by name."""
        # Definitions are parsed as part of a formula file; `alphabet: a` and `true` only complete it.
        definitions = "".join(f"pred {' '.join(text.split())}\n" for text in self.predicates)
        return {item.name: item for item in parse_text(f"alphabet: a\n{definitions}true\n", self.name).predicates}

    # ---- answers ----

    def no_output(self, expected: Answer) -> NoOutput | None:
        """Return the first value of an expected answer that no output of a transduction has; None if there is no such
        value, or if words are accepted or rejected."""
        if not isinstance(expected, tuple):
            return None
        integers = self.program.integers
        symbols = tuple(symbol for symbol, _ in self.program.outputs if symbol != self.blank)
        for position, value in enumerate(expected, start=1):
            if value is not None and (isinstance(value, str) if integers else value not in symbols):
                return NoOutput.of(str(value), position, () if integers else symbols)
        return None

    def soft_answer(self, trace: Trace[Any]) -> Answer:
        """Return the answer of a softmax run: True or False for an acceptor, otherwise the symbols or integers of
        the output; None where it is uncertain."""
        if self.acceptor:
            value = trace.columns[self.output].values[trace.index]
            return rounded(value) if self.exact else side(value, self.threshold)
        first = 1 - self.program.first
        if self.program.integers:
            column = trace.columns[self.output].values[first:]
            return tuple(nearest(value, len(column)) for value in column)
        columns = [trace.columns[self.index[name]].values[first:] for _, name in self.program.outputs]
        sides = np.array([[[side(value, self.threshold) for value in column]] for column in columns], dtype=object)
        return self.symbols(sides == np.array(True), sides == np.array(False))[0]

    def is_settled(self, trace: Trace[Any]) -> bool:
        """Return True if more precision would not change the answer of a run."""
        if not self.acceptor:
            outs = [trace.columns[self.index[name]].values for name in self.program.answers]
            # Exact outputs cannot change, even where no answer is certain.
            known = all(isinstance(value, int | Fraction) for column in outs for value in column)
            return known or settled(self.soft_answer(trace))
        value = trace.columns[self.output].values[trace.index]
        if self.exact or isinstance(value, int | Fraction):
            return output_settled(value)
        return side(value, self.threshold) is not None

    def symbols(self, over: NDArray[np.bool_], under: NDArray[np.bool_]) -> list[tuple[str | None, ...]]:
        """Return by word the symbols of a one-hot output, without blanks; None at positions where the symbol is
        uncertain.

        `over` and `under` are (outputs, words, positions): True where the coordinate of the output's symbol is
        certainly above the threshold, and certainly below it.
        """
        certain = (over.sum(axis=0) == 1) & (over | under).all(axis=0)
        names = [*(symbol for symbol, _ in self.program.outputs), None]
        chosen = np.where(certain, over.argmax(axis=0), len(names) - 1).tolist()
        rows = [[names[number] for number in row] for row in chosen]
        return [tuple(symbol for symbol in row if symbol is None or symbol != self.blank) for row in rows]


@dataclass(frozen=True, slots=True, repr=False)
class SubjectRecord(Record):
    """A result about a subject."""

    subject: Unwritten[Target]
    """The target that the result is about."""

    @property
    @written
    def input(self) -> InputName:
        """Path as given, or <expression>."""
        return self.subject.name

    @property
    @written
    def kind(self) -> InputKind:
        """A formula, a program, a hard-attention model or an external network."""
        return self.subject.kind

    @property
    @written
    def formula(self) -> FormulaText:
        """A formula's text; null for any other input."""
        return self.subject.formula_text

    @property
    @written
    def title(self) -> Title:
        """The title that a file gives itself, which is not verified; null for a formula."""
        return self.subject.file_title

    @property
    @written
    def model(self) -> ModelFacts:
        """The size of the network and how it was compiled."""
        return self.subject.facts


def counting_of(program: Program) -> str | None:
    """Return the method by which the heads of a program count, `sign` or `lookup`; None where they do not count."""
    kinds = {head.kind for head in program.heads}
    if kinds & {Kind.SIGN, Kind.SIGN_RAMP}:
        return "sign"
    return "lookup" if Kind.LOOKUP in kinds else None


def own_predicates(file: FormulaFile) -> dict[str, tuple[str, UserPredicate]]:
    """Return the predicates that a file defines: text and meaning by name."""
    meanings = user_predicates(file)
    return {item.name: (item.text, meanings[item.name]) for item in file.predicates}
