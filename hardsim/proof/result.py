"""What a proof found, as data; and the exception that carries why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The worst case of a head over all words: at query i of length n the specified value is `value`, and the soft one
    is off by at most `error`. `margin` is the least distance of a clip that reads the head from its threshold, in units
    of the clip's input (at least; negative where it is not proved), `winner` the position that should win (None where
    that is not what decides), `types` the local types that attain it: text by runs of positions, and `symbols` a word
    that has them where they are symbols (None elsewhere)."""

    n: int
    i: int
    value: Fraction | None
    error: Fraction
    margin: Fraction | None
    winner: int | None
    types: tuple[tuple[int, int, str], ...] = ()
    symbols: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Inequality:
    """`larger >= rate * unit` at all positions in an order, with what is compared as text."""

    order: str
    larger: str
    rate: Fraction
    unit: str


@dataclass(frozen=True, slots=True)
class HeadArgument:
    """Why a head is right for every length: what it is, the inequalities, the rate g in nats (None where nothing falls
    behind), the bound in x = e^-g as text and as a number (at least), and what the paper's lemma gives, if it
    is another bound that applies."""

    shape: str
    steps: tuple[Inequality, ...]
    rate: Fraction | None
    bound: str
    error: float
    lemma: str = ""
    lemma_error: float | None = None


@dataclass(frozen=True, slots=True)
class HeadProof:
    """One head: exact heads have no worst case; `case` is None too where no clip reads the head. `argument` bounds its
    error for every length, if that was asked for; `clips` are the inputs of the clips that read it."""

    name: str
    layer: int
    purpose: str
    exact: bool
    case: WorstCase | None
    argument: HeadArgument | None = None
    clips: tuple[str, ...] = ()

    @property
    def margin(self) -> Fraction | None:
        """The least distance of the input of a clip that reads it from the threshold, 0 or 1, that it must have passed
        (None where no clip reads it)."""
        return None if self.case is None else self.case.margin


class NotProved(Exception):
    """The argument does not go through: why, and where it is a matter of a head's worst cases, which and how. It does
    not say that the network is wrong. `rounded` says that floats do not tell the logits of the head apart."""

    def __init__(
        self, reason: str, head: str | None = None, cases: tuple[WorstCase, ...] = (), rounded: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.head, self.cases, self.rounded = reason, head, cases, rounded


@dataclass(frozen=True)
class LinkProof:
    """One of the two links of a proof. `reason` says why it is missing (None: it holds), `cases` are the failing
    worst cases, shortest words first, where a head is the reason; `limit` says that the prover gave up, at a size that
    the reason names, and so found nothing amiss; `rounded` that floats do not tell the logits of that head apart."""

    claim: str
    reason: str | None = None
    head: str | None = None
    cases: tuple[WorstCase, ...] = ()
    limit: bool = False
    rounded: bool = False

    @property
    def holds(self) -> bool:
        """Whether the link is proved."""
        return self.reason is None


@dataclass(frozen=True)
class Proof:
    """What was proved of a network for all words of some lengths, the first and the last (`span`), or of every length.
    `network` is the first link (soft network = hard heads), `meaning` the second (hard heads = formula; None where it
    was not asked for). `prefix` says that nothing depends on the length, so that one length proved all; `predicates`
    are those of positions and lengths that count as free Booleans, where every length is proved."""

    network: LinkProof
    meaning: LinkProof | None
    heads: tuple[HeadProof, ...] = ()
    prefix: bool = False
    span: tuple[int, int] = (1, 0)
    predicates: tuple[str, ...] = ()

    @property
    def links(self) -> list[LinkProof]:
        """The links that were asked for."""
        return [self.network] if self.meaning is None else [self.network, self.meaning]

    @property
    def failing(self) -> LinkProof | None:
        """The first link that is missing."""
        return next((link for link in self.links if not link.holds), None)

    @property
    def proved(self) -> bool:
        """Whether every link that was asked for holds."""
        return self.failing is None

    @property
    def reason(self) -> str | None:
        """Why there is no proof."""
        return None if self.failing is None else self.failing.reason

    @property
    def margin(self) -> Fraction | None:
        """The least margin of all heads."""
        return min((head.margin for head in self.heads if head.margin is not None), default=None)
