"""What a proof found, as data; and the exception that carries why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from hardsim.records import Exact, Lower, Positive, Record, Unwritten, Upper, at_most, short, written

Position: TypeAlias = Annotated[Positive, "A position, from 1."]


@dataclass(frozen=True, slots=True, repr=False)
class TypeRun(Record):
    """Neighbouring positions with the same local type."""

    first: Position
    last: Position
    type: str
    """The local type, as text."""


@dataclass(frozen=True, slots=True, repr=False)
class WorstCase(Record):
    """A worst case of a head over all words. The error is rounded up, the margin down."""

    n: Annotated[Positive, "The length."]
    i: Annotated[Positive, "The query position."]
    value: Exact | None
    """The Boolean that should be read; None: a count."""
    error: Upper
    """How far the soft value may be off."""
    margin: Lower | None
    """Least distance of the input of a clip that reads the head from its threshold; negative: not proved."""
    winner: Position | None
    """The position that should win; None where that is not what decides."""
    types: tuple[TypeRun, ...] = ()
    """The local types that attain it, by runs of positions."""
    symbols: tuple[str, ...] | None = None
    """A word that has these types, where they are symbols; an empty text stands for any symbol."""

    @property
    def summary(self) -> str:
        """Where it is, and how bad."""
        margin = "" if self.margin is None else f", margin {short(self.margin)}"
        return f"length {self.n}, position {self.i}: error {short(self.error)}{margin}"


@dataclass(frozen=True, slots=True, repr=False)
class Inequality(Record):
    """`larger >= rate * unit` at all positions in an order."""

    order: str
    """The order of the positions for which it holds."""
    larger: str
    """What is at least as large."""
    rate: Exact
    """The factor of the unit."""
    unit: str
    """What the rate is per."""


@dataclass(frozen=True, slots=True, repr=False)
class HeadArgument(Record):
    """Why a head's error is bounded at every length."""

    shape: str
    """What the head looks for."""
    inequalities: tuple[Inequality, ...]
    """What the bound rests on."""
    g: Exact | None
    """The least rate, in nats; None where nothing falls behind."""
    bound: str
    """The bound of the error, in x = e^-g."""
    error: float
    """The bound as a number, at least."""
    lemma: str | None = None
    """The bound of the paper's lemma, where it is another that applies."""
    lemma_error: float | None = None
    """The lemma's bound as a number."""

    @property
    def summary(self) -> str:
        """What it looks for, and how far it is off at most."""
        return f"{self.shape}: error at most {self.bound} <= {at_most(self.error)}"


@dataclass(frozen=True, slots=True, repr=False)
class HeadProof(Record):
    """What is proved of one head."""

    name: str
    """The head's name."""
    layer: Annotated[Positive, "The layer, from 1."]
    purpose: str
    """What the head is for."""
    exact: bool
    """Whether it is uniform attention, which has no error."""
    worst: WorstCase | None
    """The worst case over all words; None for exact heads, and where every length is proved, which has none."""
    margin: Lower | None = None
    """The least distance of the input of a clip that reads it from the threshold, 0 or 1, that it must have passed;
    None where no clip reads it."""
    argument: HeadArgument | None = None
    """Why its error is bounded at every length, if that was asked for; None: uniform attention, which has no error."""
    clips: tuple[str, ...] = ()
    """The inputs of the clips that read the head."""

    @property
    def summary(self) -> str:
        """What it is, and its error or margin."""
        margin = "" if self.margin is None else f", margin {short(self.margin)}"
        return f"{self.name} in layer {self.layer}: {self.purpose}{', exact' * self.exact}{margin}"


class NotProved(Exception):
    """The argument does not go through: why, and where it is a matter of a head's worst cases, which and how. It does
    not say that the network is wrong. `rounded` says that floats do not tell the logits of the head apart."""

    def __init__(
        self, reason: str, head: str | None = None, cases: tuple[WorstCase, ...] = (), rounded: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.head, self.cases, self.rounded = reason, head, cases, rounded


@dataclass(frozen=True, slots=True, repr=False)
class LinkProof(Record):
    """One of the two links of a proof."""

    claim: str
    """What is claimed."""
    reason: str | None = None
    """Why it is not proved; None: it is."""
    head: str | None = None
    """The head that is the reason."""
    cases: tuple[WorstCase, ...] = ()
    """The failing worst cases of that head, shortest words first."""
    limit: bool = False
    """Whether the prover gave up, at a size that the reason names, and so found nothing amiss."""
    rounded: bool = False
    """Whether floats do not tell the logits of that head apart."""

    @property
    @written
    def proved(self) -> bool:
        """Whether it is proved."""
        return self.reason is None


@dataclass(frozen=True, repr=False)
class Proof(Record):
    """A proof for all words of some lengths, the first and the last (`span`), or of every length."""

    network: Unwritten[LinkProof]
    """Soft network = hard heads."""
    meaning: Unwritten[LinkProof | None]
    """Hard heads = formula; None where it was not asked for."""
    heads: tuple[HeadProof, ...] = ()
    """The heads that were got to."""
    prefix: bool = False
    """Whether nothing depends on the length, so that the longest length stands for all."""
    span: Unwritten[tuple[int, int]] = (1, 0)
    """The first and the last length."""
    predicates: tuple[str, ...] = ()
    """Predicates of positions and lengths that count as Booleans of which nothing is known."""
    temperatures: tuple[str, ...] = ()
    """Rational temperatures in place of one that is no rational function, and is nowhere hotter: the inequalities are
    of logits at these."""

    @property
    @written
    def links(self) -> tuple[LinkProof, ...]:
        """The links that were asked for."""
        return (self.network,) if self.meaning is None else (self.network, self.meaning)

    @property
    def failing(self) -> LinkProof | None:
        """The first link that is missing."""
        return next((link for link in self.links if not link.proved), None)

    @property
    def summary(self) -> str:
        """Whether it is one, or why not."""
        return "proved" if self.reason is None else f"not proved: {self.reason}"

    @property
    @written
    def proved(self) -> bool:
        """Whether every link that was asked for holds."""
        return self.failing is None

    @property
    @written
    def reason(self) -> str | None:
        """Why there is no proof."""
        return None if self.failing is None else self.failing.reason

    @property
    @written
    def margin(self) -> Lower | None:
        """The least margin of all heads."""
        return min((head.margin for head in self.heads if head.margin is not None), default=None)
