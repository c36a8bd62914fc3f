"""What a proof found, as data; and the exception that carries why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Case:
    """The worst case of a head over all words: at query i of length n the specified value is `value`, and the soft
    one is off by at most `error`.

    `margin` is the least distance of a clip that reads the head from its threshold, in units of the clip's input (at
    least; negative where it is not proved), `winner` the position that should win (None where that is not what
    decides), `types` the local types that attain it: text by runs of positions, and `symbols` a word that has them
    where they are symbols (None elsewhere).
    """

    n: int
    i: int
    value: Fraction | None
    error: Fraction
    margin: Fraction | None
    winner: int | None
    types: tuple[tuple[int, int, str], ...] = ()
    symbols: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class HeadProof:
    """One head: exact heads have no worst case; `case` is None too where no clip reads the head."""

    name: str
    layer: int
    purpose: str
    exact: bool
    case: Case | None


class NotProved(Exception):
    """The argument does not go through: why, and where it is a matter of a head's worst cases, which and how.

    It does not say that the network is wrong. `rounded` says that floats do not tell the logits of the head apart.
    """

    def __init__(
        self, reason: str, head: str | None = None, cases: tuple[Case, ...] = (), rounded: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.head = head
        self.cases = cases
        self.rounded = rounded


@dataclass(frozen=True)
class LinkProof:
    """One of the two links of a proof. `reason` says why it is missing (None: it holds), `cases` are the failing
    worst cases, shortest words first, where a head is the reason; `limit` says that the prover gave up, at a size that
    the reason names, and so found nothing amiss; `rounded` that floats do not tell the logits of that head apart."""

    claim: str
    reason: str | None = None
    head: str | None = None
    cases: tuple[Case, ...] = ()
    limit: bool = False
    rounded: bool = False

    @property
    def holds(self) -> bool:
        """Whether the link is proved."""
        return self.reason is None


@dataclass(frozen=True)
class Proof:
    """What was proved of a network for all words of length `min_n` to `max_n`.

    `network` is the first link (soft network = hard heads), `meaning` the second (hard heads = formula; None where it
    was not asked for). `prefix` says that nothing depends on the length, so that one length proved all.
    """

    max_n: int
    network: LinkProof
    meaning: LinkProof | None
    heads: tuple[HeadProof, ...] = field(default=())
    prefix: bool = False
    min_n: int = 1

    @property
    def proved(self) -> bool:
        """Whether every link that was asked for holds."""
        return self.network.holds and (self.meaning is None or self.meaning.holds)

    @property
    def margin(self) -> Fraction | None:
        """The least margin of all heads."""
        return min((h.case.margin for h in self.heads if h.case and h.case.margin is not None), default=None)
