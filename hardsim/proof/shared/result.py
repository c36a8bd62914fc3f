"""Results of a proof as records, and the reason why there is no proof: as the exception `NotProved`, and as the value
`NoProof`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, TypeAlias

from hardsim.lang.core import Lit
from hardsim.lazy_dataclass import dataclass
from hardsim.records import Exact, Lower, Natural, Positive, Record, Unwritten, Upper, at_most, short, written

Position: TypeAlias = Annotated[Positive, "A position, from 1."]


@dataclass(frozen=True, slots=True, repr=False)
class TypeRun(Record):
    """Run of neighbouring positions with the same local type, from `first` to `last`, both included."""

    first: Position
    last: Position
    type: str
    """Local type of the positions, as text."""


@dataclass(frozen=True, slots=True, repr=False)
class WorstCase(Record):
    """Worst case of a head over all words: length, query position, and the local types of the keys. The error is
    rounded up, the margin down."""

    n: Annotated[Positive, "The length."]
    i: Annotated[Positive, "The query position."]
    value: Exact | None
    """Boolean that the head should read; None for a count."""
    error: Upper
    """Bound of the distance between the value that softmax attention reads and the value that should be read."""
    margin: Lower | None
    """Least distance between the input of a clip that reads the head and its threshold; negative if the clip is not
    proved right."""
    winner: Position | None
    """Position that the head should read; None where that position does not decide the error."""
    types: tuple[TypeRun, ...] = ()
    """Local types of all positions in the worst case, by runs of positions."""
    symbols: tuple[str, ...] | None = None
    """Word with these local types, one symbol a position; an empty text stands for any symbol. None where `winner`
    is None."""

    @property
    def summary(self) -> str:
        """Length, position, error and margin of the worst case, on one line."""
        margin = "" if self.margin is None else f", margin {short(self.margin)}"
        return f"length {self.n}, position {self.i}: error {short(self.error)}{margin}"


@dataclass(frozen=True, slots=True, repr=False)
class Inequality(Record):
    """Inequality `larger >= rate * unit`, for all positions in an order."""

    order: str
    """Order of the positions for which the inequality holds."""
    larger: str
    """Left side: the difference of logits, with its formula."""
    rate: Exact
    """Factor of the unit on the right side."""
    unit: str
    """Unit of the right side, a function of the positions."""


@dataclass(frozen=True, slots=True, repr=False)
class HeadArgument(Record):
    """Reason why a head's error is bounded at every length."""

    shape: str
    """Position that the head looks for, in words."""
    inequalities: tuple[Inequality, ...]
    """Inequalities that the bound follows from."""
    g: Exact | None
    """Least rate of the inequalities, in nats; None where no logit falls behind."""
    bound: str
    """Bound of the error as a formula in x = e^-g."""
    error: float
    """Bound of the error as a number, rounded up."""
    lemma: str | None = None
    """Bound of the paper's lemma, if it differs from `bound`."""
    lemma_error: float | None = None
    """Bound of the paper's lemma as a number, rounded up; None without a lemma."""
    ramp: Unwritten[bool] = False
    """True if the bound is a maximum over positions, since the keys grow with the position."""
    exact: bool = False
    """True if there is no error because wrong positions have no weight."""
    cutoff: Unwritten[int] = 0
    """If `exact`, the loss in nats from which on the weighting gives a position no weight."""

    @property
    def summary(self) -> str:
        """Position that the head looks for, and the bound of its error, on one line."""
        return f"{self.shape}: error at most {self.bound} <= {at_most(self.error)}"


@dataclass(frozen=True, slots=True, repr=False)
class HeadProof(Record):
    """Result of the proof for one head."""

    name: str
    """Name of the head."""
    layer: Annotated[Positive, "The layer, from 1."]
    purpose: str
    """Purpose of the head, in words."""
    exact: bool
    """True for uniform attention, which has no error."""
    worst: WorstCase | None
    """Worst case over all words; None for exact heads, and in a proof of every length, which has no worst case."""
    margin: Lower | None = None
    """Least distance between the input of a clip that reads the head and the threshold, 0 or 1, that the input must
    pass; None where no clip reads the head."""
    argument: HeadArgument | None = None
    """Reason why the error is bounded at every length, in a proof of every length; None for uniform attention,
    which has no error."""
    clips: tuple[str, ...] = ()
    """Inputs of the clips that read the head, as formulas."""

    @property
    def summary(self) -> str:
        """Name, layer, purpose and margin of the head, on one line."""
        margin = "" if self.margin is None else f", margin {short(self.margin)}"
        return f"{self.name} in layer {self.layer}: {self.purpose}{', exact' * self.exact}{margin}"


class NotProved(Exception):
    """Failure of an argument of the proof: the reason, and the head and its worst cases if one head is the cause.
    The network may still be right. `rounded` says that float64 cannot tell the head's logits apart."""

    def __init__(
        self, reason: str, head: str | None = None, cases: tuple[WorstCase, ...] = (), rounded: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.head, self.cases, self.rounded = reason, head, cases, rounded


@dataclass(frozen=True, slots=True)
class NoProof:
    """Value in place of a proof, or of what a proof needs, where there is none: the reason, as text, and whether the
    prover attempted one at all."""

    reason: str
    attempted: bool = True

    @property
    def summary(self) -> str:
        """`not proved` or `not asked`, with the reason."""
        return f"not {'proved' if self.attempted else 'asked'}: {self.reason}"


@dataclass(frozen=True, slots=True, repr=False)
class LinkProof(Record):
    """Result of one of the two links of a proof."""

    claim: str
    """Claim of the link, as text."""
    reason: str | None = None
    """Reason why the link is not proved; None if it is proved."""
    head: str | None = None
    """Name of the head that is the reason; None if the link is proved, or the reason is not one head."""
    cases: tuple[WorstCase, ...] = ()
    """Worst cases of that head in which the proof fails, shortest words first."""
    limit: bool = False
    """True if the prover gave up at a limit on size, named by the reason; no error was found then."""
    rounded: bool = False
    """True if float64 cannot tell the logits of that head apart."""
    literals: Unwritten[Mapping[str, Lit] | None] = field(default=None, compare=False)
    """In a proof that the heads equal the formula, the literals that equal coordinates of the program, by name."""

    @property
    @written
    def proved(self) -> bool:
        """True if the link is proved."""
        return self.reason is None


@dataclass(frozen=True, slots=True, repr=False)
class SecondProof(Record):
    """Second proof that the hard heads equal the formula, for every length. It compares the minimal automaton of the
    formula with the compiled program and with the text of the formula, and shares no code with the first proof."""

    states: Natural | None = None
    """Number of states of the minimal automaton; None where there is no second proof."""
    pairs: Natural | None = None
    """Number of pairs that were compared, of a state of the automaton and what the program, or the text, keeps in mind
    between two positions; None where there is no second proof."""
    reason: str | None = None
    """Reason why there is no second proof, which says nothing against the first; None where there is one."""

    @property
    @written
    def made(self) -> bool:
        """True if there is a second proof."""
        return self.reason is None

    @property
    def summary(self) -> str:
        """`proved`, with the size of the automaton, or `not made` with the reason."""
        if self.states is None:
            return f"not made: {self.reason}"
        return f"proved, with an automaton of {self.states:,} state{'s' * (self.states != 1)}"


@dataclass(frozen=True, repr=False)
class Proof(Record):
    """Proof for all words of the lengths from the first to the last of `span`, or of every length."""

    network: Unwritten[LinkProof]
    """Link 1: the softmax network equals its hard heads."""
    meaning: Unwritten[LinkProof | None]
    """Link 2: the hard heads equal the formula; None where only link 1 was requested."""
    heads: tuple[HeadProof, ...] = ()
    """Results for the heads, in the order of the layers, up to the point where the proof of link 1 fails."""
    prefix: bool = False
    """True if nothing depends on the length, so that the longest length stands for all."""
    span: Unwritten[tuple[int, int]] = (1, 0)
    """First and last length that is proved; (1, 0) in a proof of every length."""
    predicates: tuple[str, ...] = ()
    """Predicates of positions and lengths that the proof treats as arbitrary Booleans."""
    temperatures: tuple[str, ...] = ()
    """Rational functions that replace a temperature which is no rational function. They are nowhere colder than it,
    and the inequalities are those of logits at these temperatures."""

    @property
    @written
    def links(self) -> tuple[LinkProof, ...]:
        """Links of the proof that were requested."""
        return (self.network,) if self.meaning is None else (self.network, self.meaning)

    @property
    def failing(self) -> LinkProof | None:
        """First link that is not proved; None if all are."""
        return next((link for link in self.links if not link.proved), None)

    @property
    def summary(self) -> str:
        """`proved`, or `not proved` with the reason."""
        return "proved" if self.reason is None else f"not proved: {self.reason}"

    @property
    @written
    def proved(self) -> bool:
        """True if every requested link is proved."""
        return self.failing is None

    @property
    @written
    def reason(self) -> str | None:
        """Reason why there is no proof; None if there is one."""
        return None if self.failing is None else self.failing.reason

    @property
    @written
    def margin(self) -> Lower | None:
        """Least margin of all heads; None if no head has a margin."""
        return min((head.margin for head in self.heads if head.margin is not None), default=None)
