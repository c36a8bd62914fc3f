"""The regimes: four ways to sharpen soft attention, and `none`, which does not sharpen it.

A regime fixes the position encodings, the masks, the temperature, and the scores by which a head looks for the
nearest position that satisfies a Boolean q. With `tie` = +1 for the rightmost and -1 for the leftmost such position,
the scores are

| regime               | temperature | score                | decay per position |
|----------------------|-------------|----------------------|--------------------|
| `temperature`        | 1/n         | q_j + tie j/(2n)     | 1/(2n)             |
| `position`           | 1           | n q_j + tie j/2      | 1/2                |
| `causal-temperature` | 1/i^2       | q_j - 1/(2j)         | 1/(2i^2)           |
| `causal-position`    | 1           | i q_j + j/2          | 1/2                |
| `none`               | 1           | q_j + tie j/(2n)     | 1/(2n)             |

Each score has a unique maximum j* in every row, and `s_j <= s_j* - decay |j - j*|` (Lemma 8, restated per position).
On the side that the tie-break prefers less, equal q differ by the tie-break alone (for `causal-temperature`, 1/(2j) -
1/(2j*) = (j* - j)/(2 j j*) >= (j* - j)/(2i^2)). On the other side q_j = 0 < q_j* and the loss of a whole unit of q
outweighs the tie-break: 1 - |j - j*|/(2n) >= |j - j*|/(2n) since |j - j*| <= n (the position regimes are this times
n, or times i with j <= i), and 1 - 1/(2j*) + 1/(2j) >= 1/2 >= |j - j*|/(2i^2). A smaller q_j loses both. Divided by
the temperature and multiplied by beta, the decay is at least beta/2 nats per position in every regime but `none`:
this is Lemma 6's g. In `none` it is beta/(2n), which vanishes: Hahn's limit.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from hardsim.errors import InputError
from hardsim.lang.arith import Arith, parse_arith
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE, Rational
from hardsim.network.transformer import SoftWeighting
from hardsim.program.hard_attention import Affine, Encoding

HALF = Fraction(1, 2)

RAMP = "(-1)^i*i^2"
"""The key of the sign test that needs neither a temperature nor n."""

PARITY = "(-1)^i"
"""The encoding coordinate that is 1 at even positions and -1 at odd ones; every regime has it."""


def expression(text: str) -> Arith:
    """Parse an expression in i and n that hardsim's own code contains."""
    return parse_arith(text, ("i", "n"), "<built in>")


PLAIN = expression("1")
"""The temperature of plain softmax."""


@dataclass(frozen=True, slots=True)
class Regime:
    """One row of the table above.

    `scale` is the query coordinate that multiplies q_j. `ramp` is the key coordinate of the tie-break, and `slope`
    its coefficient for the rightmost position. `variable` is the variable that the temperature may depend on; None if
    the temperature is 1 by definition.
    """

    name: str
    summary: str
    step_theorem: str = ""
    """The theorem that computes Y and X in this regime; empty if there is none."""
    reach_theorem: str = ""
    """The theorem that computes S and U, and with them O, H, F and G."""
    count_theorem: str = "Theorem 20, first stage"
    """The theorem about counts. Their means are exact in every regime: this is its first of three stages."""
    causal: bool = False
    temperature: Arith = PLAIN
    variable: Literal["n", "i"] | None = None
    scale: str = ONE
    ramp: str = "i/n"
    slope: Rational = HALF
    decay: str = "1/(2*n)"
    look_up: tuple[str, str] = ("", "")
    """The key coordinates for j and j^2 of a count's look-up; empty if the regime has no look-up."""
    look_up_rate: str = "1"
    """The factor of the look-up's keys. The look-up's decay per position is this divided by the number of positions
    counted."""
    sign_key: str = PARITY
    """The key coordinate of the sign test."""
    sign_rate: str = "1"
    """The gap of the sign test, times the number of positions counted."""
    bounded: bool = True
    converges: bool = True
    """True if the softmax error has a bound that does not depend on n."""

    weighting: SoftWeighting = SoftWeighting.SOFTMAX
    """The weighting of attention that the scores are made for."""

    def score(self, q: Affine, side: Literal["left", "right"]) -> tuple[tuple[Affine, Affine], ...]:
        """Return the query and key forms of the score that selects the rightmost or leftmost visible j with q_j = 1.

        If no visible q_j is 1, the score's maximum is at the last visible position of that side (at i itself under
        that side's mask).
        """
        if self.weighting is SoftWeighting.GEOMETRIC:
            return ((Affine.coordinate(ONE), q.scaled(2) - Affine.constant(1)),)
        tie = Affine.of({self.ramp: self.slope if side == "right" else -self.slope})
        if self.scale == ONE:
            return ((Affine.coordinate(ONE), q + tie),)
        return ((Affine.coordinate(self.scale), q), (Affine.coordinate(ONE), tie))

    @property
    def encodings(self) -> tuple[Encoding, ...]:
        """The position encodings of this regime, without those that counting adds."""
        if self.weighting is SoftWeighting.GEOMETRIC:
            return ()
        names = dict.fromkeys([PARITY, *(name for name in (self.ramp, self.scale) if name != ONE)])
        return tuple(Encoding(name, expression(name)) for name in names)


_BOUNDED_KEYS = "bounded position encodings (look-ups of counts add i and i^2)"

REGIMES: dict[str, Regime] = {
    regime.name: regime
    for regime in (
        Regime(
            "temperature",
            f"softmax at temperature 1/n, {_BOUNDED_KEYS}, any mask",
            step_theorem="Theorem 12a",
            reach_theorem="Theorem 15a",
            count_theorem="Theorem 20a",
            temperature=expression("1/n"),
            variable="n",
            look_up=("i", "i^2"),
        ),
        Regime(
            "position",
            "plain softmax, unbounded position encodings, any mask",
            step_theorem="Theorem 12b",
            reach_theorem="Theorem 15b",
            count_theorem="Theorem 20b",
            scale="n",
            ramp="i",
            decay="1/2",
            look_up=("n*i", "n*i^2"),
            look_up_rate="n",
            sign_key="n*(-1)^i",
            sign_rate="n",
            bounded=False,
        ),
        Regime(
            "causal-temperature",
            f"softmax at temperature 1/i^2, {_BOUNDED_KEYS}, future-masked, no dependence on n",
            step_theorem="Theorem 13c",
            reach_theorem="Theorem 16a",
            count_theorem="Theorem 21",
            causal=True,
            temperature=expression("1/i^2"),
            variable="i",
            ramp="1/i",
            slope=-HALF,
            decay="1/(2*i^2)",
            look_up=("i", "i^2"),
        ),
        Regime(
            "causal-position",
            "plain softmax, unbounded position encodings, future-masked, no dependence on n",
            step_theorem="Theorem 13d",
            reach_theorem="Theorem 16b",
            causal=True,
            scale="i",
            ramp="i",
            decay="1/2",
            sign_key=RAMP,
            bounded=False,
        ),
        Regime(
            "none",
            "plain softmax, bounded position encodings: right to a length that grows with beta (Hahn's limit)",
            converges=False,
        ),
    )
}

PROVEN = tuple(name for name, regime in REGIMES.items() if regime.converges)
"""The regimes above that the theory proves correct."""
LAYER_NORM = Regime(
    "layer-norm",
    "plain softmax, no position encodings but a beginning of sequence; layer norms make means Booleans (counts only)",
)
"""The regime whose heads have no scores: they take means, and a norm after each layer makes numbers of any size
Booleans (see `compiling.from_ltl.layer_norm`). None of the attributes about scores matters."""
ROUNDED = Regime(
    "rounded",
    "plain softmax, no position encodings but a beginning of sequence; rounding makes means Booleans (counts only)",
)
"""The regime whose heads take means, which rounding after each sublayer makes Booleans (see
`compiling.from_ltl.rounded`)."""
ROUNDED_EXPONENTIALS = Regime(
    ROUNDED.name,
    "plain softmax with rounded exponentials: O, H, F and G need no positions; S, U, Y and X reach a length that grows "
    "with beta (no counts)",
    reach_theorem="rounded exponentials (ours)",
    converges=False,
)
"""Regime `rounded` if exponentials are rounded in place of the stream. Scores of 0 and 1 then find all positions that
have the larger one; scores of nearest positions are those of `none`."""
MEANS = (LAYER_NORM, ROUNDED)
"""The regimes whose heads have no scores."""
GEOMETRIC = Regime(
    "geometric",
    "geometric attention, the nearest position first, at temperature 1/log(4 n): no position encodings (no counts)",
    step_theorem="geometric attention (ours)",
    reach_theorem="geometric attention (ours)",
    temperature=expression("1/log(4*n)"),
    variable="n",
    weighting=SoftWeighting.GEOMETRIC,
)
"""The regime of geometric attention: scores 2 q_j - 1 and the order of positions find the nearest one (see
`compiling.from_ltl.operators.nearest`)."""
STEPS = expression("1/log(4)")
"""The temperature of geometric attention if every head reads the nearest visible position, whatever is there. The error
of such a head is then 1/5. At 1/log(3) it is 1/4: right as well, but without room for rounded arithmetic."""
NAMED = REGIMES | {one.name: one for one in (*MEANS, GEOMETRIC)}
"""All regimes by name."""
EVERY = (*PROVEN, *(one.name for one in MEANS))
"""The regimes that `--regime all` means: those that are right at every length."""


DEFAULT_REGIME = "temperature"


def regime_with(name: str, weighting: SoftWeighting) -> Regime:
    """Return the regime of a name in `NAMED`, as it is with this weighting."""
    return ROUNDED_EXPONENTIALS if name == ROUNDED.name and weighting.exponentials else NAMED[name]


def regime_named(name: str) -> Regime:
    """Return the regime with this name. Raises InputError if there is no such regime."""
    if name not in NAMED:
        raise InputError(f"unknown regime '{name}'", hint=f"The regimes are: {', '.join(NAMED)}.")
    return NAMED[name]
