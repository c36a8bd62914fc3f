"""A compiled transformer as data: rational matrices that do not depend on the length, and the parts that may depend
on it.

With d coordinates in the residual stream, x_i in Q^d:

    x_i = WE[w_i] + PE_n(i)
    s_ij = (W_Q x_i) . (W_K x_j),  alpha_i = weighting(s_i / tau) over the visible j
    c_i = x_i + sum over heads, j of alpha_ij W_V x_j
    y_i = c_i + sum over hidden units of f(form(c_i) + bias) outs + biases

The weighting is softmax, or the one that the network states (`SoftWeighting`). The f of a hidden unit is relu, or
clip(z) = relu(z) - relu(z - 1) = min(max(z, 0), 1). Only PE and tau are functions of n (and i). Positions are 1..n; a
network with a beginning of sequence also has a position 0, which every query sees.
A layer may normalize after its sums (post-norm): N(c_i) in place of c_i, N(y_i) in place of y_i, or both, where
N(x) = (x - mean) / sqrt(variance + epsilon) over the d coordinates, with divisor d (LayerNorm without gain and bias).
A network with a `rounding` rounds c_i and y_i to multiples of a power of two; its heads take means, so that all values
are rational.

The word is accepted iff coordinate `output` at the reading position is exactly 1 and rejected iff it is exactly 0;
anything between is undecided. With a `threshold`, a word is accepted iff the output is above it and rejected iff the
output is below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from operator import add
from typing import TYPE_CHECKING, Any, Literal

from hardsim.errors import InputError, OutOfRange
from hardsim.lang.arith import Arith
from hardsim.lang.ast import BOS
from hardsim.lang.reals import Real, RealNumber, SignUnknown, sign
from hardsim.lang.valuations import Alphabet, Numbering, Valuations, members_of
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PositionFunction, real_row, real_value
from hardsim.network.numbers import Mask, Rational, plain
from hardsim.network.rounding import EXPONENTIALS, ExponentialFormat, Rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SoftWeighting(StrEnum):
    """The function that makes attention weights of the scores of one query, over the temperature."""

    SOFTMAX = "softmax"
    """Weights in proportion to e^z."""
    SPARSEMAX = "sparsemax"
    """The point of the simplex nearest to z: max(z_j - t, 0), with the t for which the weights add up to 1 (Martins
    and Astudillo 2016)."""
    GEOMETRIC = "geometric"
    """The nearest visible position takes the share P = 1/(1 + e^-z) of 1, the next one its share of what is left, and
    so on: P_j times the product of 1 - P_k over the nearer positions k (Csordas et al. 2022). The weights of a row add
    up to less than 1, and those of an empty row to 0."""
    FIXED_8 = "softmax:fixed:8"
    """Softmax whose exponentials e^(z - the largest z) are rounded to multiples of 2^-8; likewise for the formats
    below. Sums and quotients are exact."""
    FP16 = "softmax:fp16"
    BF16 = "softmax:bf16"
    FP32 = "softmax:fp32"
    FP64 = "softmax:fp64"

    @property
    def exponentials(self) -> ExponentialFormat | None:
        """The format to which exponentials are rounded; None without such a rounding."""
        return EXPONENTIALS.get(self.partition(":")[2])

    @property
    def text(self) -> str:
        """The name for readers, such as "softmax with fp16 exponentials"."""
        return self if self.exponentials is None else f"softmax with {self.partition(':')[2]} exponentials"

    @property
    def cutoff(self) -> int | None:
        """A number c for which a key has no weight if its z is c or more below the largest one; None if every key has
        weight. The weights are rational if z is."""
        if self is SoftWeighting.SPARSEMAX:
            return 1
        return None if self.exponentials is None else self.exponentials.cutoff

    def exact_up_to(self, maxima: int, gap: Rational) -> Rational:
        """Return the largest temperature at which a row has exactly the weights of average hard attention if it has
        this number of largest scores and no other score within the gap. Raises ValueError without a cutoff."""
        if self.cutoff is None:
            raise ValueError(f"{self} gives every key weight")
        return maxima * gap if self is SoftWeighting.SPARSEMAX else Fraction(gap) / self.cutoff


@dataclass(frozen=True, slots=True)
class PositionTable:
    """A position encoding with the value `values[k]` at position `start + k` and `otherwise` at all other positions."""

    start: int
    values: tuple[Rational, ...]
    otherwise: Rational = 0

    @property
    def variables(self) -> frozenset[str]:
        """Only the position i."""
        return frozenset({"i"})

    def evaluate(self, **given: int) -> Fraction:
        """Return the value at position i."""
        place = given["i"] - self.start
        return Fraction(self.values[place] if 0 <= place < len(self.values) else self.otherwise)

    def __str__(self) -> str:
        shown = ", ".join(str(value) for value in self.values)
        return f"table from {self.start}: {shown}; otherwise {self.otherwise}"


@dataclass(frozen=True, slots=True)
class LengthTable:
    """A function of the length n: `values[n - 1]` at length n, undefined at greater lengths. `what` names it in
    errors."""

    values: tuple[Fraction, ...]
    what: str = "temperature"

    @property
    def variables(self) -> frozenset[str]:
        """Only the length n."""
        return frozenset({"n"})

    def evaluate(self, **given: int) -> Fraction:
        """Return the value at length n. Raises OutOfRange if the table has no value for length n."""
        n = given["n"]
        if not 1 <= n <= len(self.values):
            raise OutOfRange(
                f"the {self.what} of this model is known for lengths 1 to {len(self.values)}, not for {n}",
                hint=f"Use --max-n {len(self.values)} or less; or compile the model with --max-n {n} or more, "
                "or give a temperature for all lengths with --tau.",
            )
        return self.values[n - 1]

    def __str__(self) -> str:
        return f"table of lengths 1 to {len(self.values)}"


HOTTEST, COLDEST = 2**1023, Fraction(1, 2**4096)
"""The largest and the least temperature. No float64 network divides by more than the largest. Below the least, the
logits have so many digits that they would cost more time than the words."""
Entry = tuple[int, int, Rational]
Schedule = Arith | LengthTable
"""A temperature, as a function of n (or i)."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A sparse rational matrix: `shape` is (rows, columns), `entries` the non-zero (row, column, value), sorted."""

    shape: tuple[int, int]
    entries: tuple[Entry, ...] = ()

    @staticmethod
    def of(rows: int, columns: int, entries: dict[tuple[int, int], Rational]) -> Matrix:
        """Build from a dictionary; zeros are dropped."""
        kept = sorted((row, column, value) for (row, column), value in entries.items() if value)
        return Matrix((rows, columns), tuple(kept))

    def rows(self) -> list[dict[int, Rational]]:
        """Return the non-zero entries of every row, by column."""
        result: list[dict[int, Rational]] = [{} for _ in range(self.shape[0])]
        for row, column, value in self.entries:
            result[row][column] = value
        return result

    def dense(self) -> list[list[Rational]]:
        """Return all entries, row by row."""
        return [[row.get(column, 0) for column in range(self.shape[1])] for row in self.rows()]


Terms = tuple[tuple[int, Rational], ...]
"""A linear form: (coordinate, coefficient) pairs."""


@dataclass(frozen=True)
class AttentionHead:
    """An attention head. W_Q and W_K are k x d, W_V is d x d; k = 0 is uniform attention (every score is 0)."""

    name: str
    mask: Mask
    w_q: Matrix
    w_k: Matrix
    w_v: Matrix

    @cached_property
    def scores(self) -> tuple[tuple[Terms, Terms], ...]:
        """Pairs of a row of W_Q and the same row of W_K, in which neither is 0. A score is the sum of their
        products."""
        pairs = zip(self.w_q.rows(), self.w_k.rows(), strict=True)
        return tuple((tuple(query.items()), tuple(key.items())) for query, key in pairs if query and key)

    @cached_property
    def values(self) -> tuple[tuple[int, Terms], ...]:
        """The non-zero rows of W_V, by output coordinate."""
        return tuple((row, tuple(form.items())) for row, form in enumerate(self.w_v.rows()) if form)

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """The coordinates that scores and values depend on."""
        forms = [*(form for pair in self.scores for form in pair), *(form for _, form in self.values)]
        return tuple(sorted({place for form in forms for place, _ in form}))


@dataclass(frozen=True, slots=True)
class HiddenUnit:
    """A hidden unit that adds `weight * f(form + bias)` to each coordinate of `outs`; f is a clip to [0, 1], or
    relu. Form and outs are sorted by coordinate, without zeros. The cap of a clip is 1, or the form `cap` plus
    `cap_bias` (see `Unit`)."""

    form: Terms
    bias: Rational
    outs: Terms
    clip: bool
    cap: Terms = ()
    cap_bias: Rational = 1

    @property
    def relus(self) -> tuple[HiddenUnit, ...]:
        """The unit by relus alone: itself, or `relu(z) - relu(z - cap)` for a clip."""
        if not self.clip:
            return (self,)
        outs = tuple((out, -weight) for out, weight in self.outs)
        form = dict(self.form)
        for place, value in self.cap:
            form[place] = form.get(place, 0) - value
        above = tuple(sorted((place, value) for place, value in form.items() if value))
        first = HiddenUnit(self.form, self.bias, self.outs, clip=False)
        return first, HiddenUnit(above, self.bias - self.cap_bias, outs, clip=False)

    @property
    def reads(self) -> Terms:
        """The terms of the forms that the unit reads: its input and its cap."""
        return self.form + self.cap


@dataclass(frozen=True, slots=True)
class FeedForward:
    """A feed-forward layer: hidden units, each of which writes something, and the numbers other than 0 that are added
    to coordinates, sorted by coordinate. (`store` writes and reads it as relus alone.)"""

    units: tuple[HiddenUnit, ...] = ()
    biases: Terms = ()


@dataclass(frozen=True)
class Layer:
    """Attention heads, whose outputs are added to the residual stream, then a feed-forward layer. `norm_1` and `norm_2`
    are the epsilons of the norms after the two sums; None where there is no norm."""

    heads: tuple[AttentionHead, ...]
    ffn: FeedForward
    norm_1: Fraction | None = None
    norm_2: Fraction | None = None

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the heads in groups: heads with the same mask and the same scores, which so have the same
        weights, and each uniform head alone."""
        found: dict[object, list[int]] = {}
        for number, head in enumerate(self.heads):
            found.setdefault((head.mask, head.scores) if head.scores else number, []).append(number)
        return tuple(map(tuple, found.values()))


def require_order(name: str, mask: Mask, scores: bool, bos: bool) -> None:
    """Require that geometric attention is defined for a head: it has scores, and shows positions on one side. Raises
    InputError, which names the head."""
    if mask is Mask.NONE or (bos and mask in (Mask.PAST, Mask.STRICT_PAST)):
        shows = f"mask {mask}{' with a beginning of sequence' if bos else ''} shows two sides"
        message = f"head {name}: geometric attention takes the nearest position first, and {shows}"
        other = "mask future or strict-future" if bos else "mask future, past, strict-future or strict-past"
        raise InputError(message, f"Give the head {other}; or use softmax.")
    if not scores:
        message = f"head {name} takes a mean, and geometric attention has none: a score of 0 weighs 1/2, 1/4, 1/8, ..."
        raise InputError(message, "Use softmax or sparsemax for networks that count.")


def require_rational(rounding: Rounding | None, normed: bool, scored: Sequence[str], encodings: Sequence[Any]) -> None:
    """Require that a network which rounds has rational values alone: no norms, no heads with scores (`scored` are
    their names) and no position encodings. Raises InputError if it has any of these."""
    if rounding is None or not (normed or scored or encodings):
        return
    what = "layer norms" if normed else f"scores in head {scored[0]}" if scored else "position encodings"
    message = f"a network that rounds its values ({rounding}) has {what}, and only means of rationals are rounded"
    raise InputError(message, "Leave out the rounding, or keep heads without scores, norms and encodings.")


PLAIN_HINT = "`check`, `eval` and `trace` run such a network, in exact rationals and in ball arithmetic."


class Placed:
    """The positions of words and the reading position: a base class of networks and programs."""

    bos: bool
    """True if there is a position 0, the beginning of sequence."""
    reading: Literal["first", "last"]
    """The position at which the output is read: 1 (`first`) or n (`last`)."""
    layers: tuple[Any, ...]
    """The layers, each with `norm_1` and `norm_2`."""
    rounding: Rounding | None
    """The rounding of the stream after each sublayer; None where nothing is rounded."""

    @property
    def normed(self) -> bool:
        """True if some layer normalizes."""
        return any(norm is not None for layer in self.layers for norm in (layer.norm_1, layer.norm_2))

    def require_plain(self, what: str, hint: str = "") -> None:
        """Require that no layer normalizes or rounds, for a computation that knows sums alone. Raises InputError, which
        names the computation (`what`), if one does."""
        if self.normed or self.rounding is not None:
            other = "with layer norms" if self.normed else "that round their values"
            raise InputError(f"{what} does not cover networks {other}", hint or PLAIN_HINT)

    @property
    def first(self) -> int:
        """The first position: 0 with a beginning of sequence, and 1 without."""
        return 0 if self.bos else 1

    def reading_index(self, n: int) -> int:
        """Return the index of the reading position among the positions of a word of length n."""
        return (n if self.reading == "last" else 1) - self.first


EVERY_SET = "{}"
"""The name of the last embedding row of an alphabet of sets of propositions: the row is added at every position."""
MOST_MIXED = 16
"""The greatest number of propositions that may add to one coordinate of the word embedding."""


def rows_of(alphabet: Alphabet, bos: bool) -> tuple[str, ...]:
    """Return the names of the rows of a word embedding."""
    if isinstance(alphabet, Valuations):
        return (*alphabet.props, EVERY_SET)
    return (*alphabet, BOS) if bos else alphabet


@dataclass(frozen=True)
class Entering:
    """The values that the symbols of a word add to one coordinate.

    `values` lists the possible values. Without `digits` they are in the order of the symbols. With `digits`, bit k of
    a value's index says whether proposition k holds; each entry of `digits` finds that bit for a symbol number (a
    stride, and a table over the digit).
    """

    values: list[Rational]
    digits: tuple[tuple[int, list[bool]], ...] | None = None

    @staticmethod
    def of_propositions(alphabet: Valuations, held: Sequence[Rational]) -> Entering:
        """Make the values from the number that each proposition adds where it holds (`held`, in the order of the
        propositions). Raises InputError if more than MOST_MIXED propositions add a number other than 0."""
        parts = [(name, value) for name, value in zip(alphabet.props, held, strict=True) if value]
        if len(parts) > MOST_MIXED:
            message = f"a coordinate of the word embedding is a sum of {len(parts)} propositions"
            raise InputError(message, f"Add at most {MOST_MIXED} there, and the others in a feed-forward layer.")
        values: list[Rational] = [0]
        for _, value in parts:
            values += [value + other for other in values]
        return Entering(values, tuple(alphabet.digit(name) for name, _ in parts))

    def places(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return, for an array of symbol numbers, the index in `values` of each symbol's value."""
        import numpy as np

        if self.digits is None:
            return numbers
        found = np.zeros_like(numbers)
        for bit, (stride, table) in enumerate(self.digits):
            # Bit number `bit` of the index: does this proposition hold?
            found |= np.array(table, dtype=np.int64)[numbers // stride % len(table)] << bit
        return found


@dataclass(frozen=True)
class Transformer(Placed):
    """The whole network. `coordinates` names the d coordinates for readers; the arithmetic uses indices only."""

    alphabet: Alphabet
    coordinates: tuple[str, ...]
    embedding: Matrix
    """The word embedding, |alphabet| x d: one row per symbol, and with `bos` a last row for position 0. Over sets of
    k propositions, (k + 1) x d: a row per proposition, and a last row for all positions, `{}` included. There the sum
    of the rows of the propositions that hold, and of the last row, enters at a position."""
    encodings: tuple[tuple[int, PositionFunction], ...]
    """The position encoding: pairs of a coordinate's index and its value, an expression in i and n."""
    layers: tuple[Layer, ...]
    temperature: Schedule
    """tau, an expression in n, or in the query position i if every head is future-masked."""
    output: int
    bos: bool = False
    threshold: Rational | None = None
    reading: Literal["first", "last"] = "last"
    weighting: SoftWeighting = SoftWeighting.SOFTMAX
    rounding: Rounding | None = None

    def __post_init__(self) -> None:
        """Raise InputError if the weighting is geometric, and a head takes means or has no order of positions; or if
        numbers are rounded that need not be rational."""
        require_rational(self.rounding, self.normed, [head.name for head in self.heads if head.scores], self.encodings)
        if self.weighting is SoftWeighting.GEOMETRIC:
            for head in self.heads:
                require_order(head.name, head.mask, bool(head.scores), self.bos)

    def require_softmax(self, what: str) -> None:
        """Require plain softmax, for a computation (`what`) that has no other weighting. Raises InputError for another
        weighting, and for a network that rounds its values."""
        if self.rounding is not None:
            hint = "Compile the formula in another regime; --to torch and `hardsim compile` write its rounding."
            raise InputError(f"{what} does not cover networks that round their values", hint)
        if self.weighting is not SoftWeighting.SOFTMAX:
            message = f"{what} computes plain softmax alone, and this network has {self.weighting.text}"
            hint = "Choose softmax in place of it, by --regime, by --weighting or in the file."
            if self.weighting.exponentials:
                hint = "Compile the formula without --exponential."
            raise InputError(message, hint)

    @property
    def dimension(self) -> int:
        """d, the width of the residual stream."""
        return len(self.coordinates)

    @property
    def heads(self) -> tuple[AttentionHead, ...]:
        """All heads, in the order of the layers."""
        return tuple(head for layer in self.layers for head in layer.heads)

    @cached_property
    def attended(self) -> frozenset[int]:
        """The coordinates that attention writes."""
        return frozenset(out for head in self.heads for out, _ in head.values)

    @cached_property
    def fixed(self) -> frozenset[int]:
        """The coordinates that no layer changes: without norms and rounding, those that nothing is written to."""
        if self.rounding is not None or self.normed:
            return frozenset()
        units = (unit for layer in self.layers for unit in layer.ffn.units)
        written = {out for unit in units for out, _ in unit.outs}
        written.update(out for layer in self.layers for out, _ in layer.ffn.biases)
        return frozenset(range(self.dimension)) - written - self.attended

    def rounds(self, unit: HiddenUnit) -> bool:
        """Return True if the unit is a clip that reads a coordinate written by attention: there a soft value is
        rounded."""
        return unit.clip and any(coordinate in self.attended for coordinate, _ in unit.form)

    @cached_property
    def rounding_units(self) -> tuple[tuple[bool, ...], ...]:
        """By layer, which of its units round a soft value (`rounds`)."""
        return tuple(tuple(map(self.rounds, layer.ffn.units)) for layer in self.layers)

    @property
    def parameters(self) -> int:
        """The number of non-zero parameters: embedding, W_Q, W_K, W_V, and the forms, biases and output weights of
        hidden units, where a clip counts as two relus."""
        count = len(self.embedding.entries)
        for layer in self.layers:
            count += sum(len(m.entries) for head in layer.heads for m in (head.w_q, head.w_k, head.w_v))
            relus = [relu for unit in layer.ffn.units for relu in unit.relus]
            count += len(layer.ffn.biases) + sum(len(relu.form) + len(relu.outs) + bool(relu.bias) for relu in relus)
        return count

    @cached_property
    def symbol_index(self) -> Numbering:
        """The number of each symbol. It is the symbol's row in the embedding, except over sets of propositions."""
        return Numbering(self.alphabet)

    def by_symbol(self, coordinate: int) -> list[Rational]:
        """Return the numbers that the word embedding adds to a coordinate, one per symbol, with all symbols listed."""
        values = [row.get(coordinate, 0) for row in self.embedding.rows()]
        if not isinstance(self.alphabet, Valuations):
            return values
        added = dict(zip(self.alphabet.props, values, strict=False))
        return [plain(values[-1] + sum(added[name] for name in members_of(symbol))) for symbol in self.alphabet]

    def entering(self, n: int) -> tuple[list[list[RealNumber]], dict[int, Entering]]:
        """Return the input of the first layer for words of length n: by coordinate, the values at the positions that
        are the same for every word; and, for the coordinates where symbols differ, the values that the symbols add."""
        positions = range(self.first, n + 1)
        values: list[list[RealNumber]] = [[0] * len(positions) for _ in range(self.dimension)]
        for index, encoding in self.encodings:
            values[index] = list(map(add, values[index], real_row(encoding, positions, n)))
        letters: dict[int, Entering] = {}
        rows = self.embedding.rows()
        for index in sorted({column for _, column, _ in self.embedding.entries}):
            letter = [row.get(index, 0) for row in rows]
            if isinstance(self.alphabet, Valuations):
                *held, always = letter
                values[index] = [value + always for value in values[index]]
                if any(held):
                    letters[index] = Entering.of_propositions(self.alphabet, held)
            elif len(set(letter[: len(self.alphabet)])) > 1:
                letters[index] = Entering(letter)
            # Constant over the symbols: one value at the symbols' positions, and the last row's value at position 0.
            else:
                values[index] = list(map(add, values[index], letter[-1:] * self.bos + letter[:1] * n))
        return values, letters

    def inverse_temperatures(self, n: int) -> list[Fraction | Real]:
        """Return 1/tau at every query position of words of length n. Raises InputError as `inverse_temperature`."""
        positions = range(self.first, n + 1)
        if "i" not in self.temperature.variables:
            return [self.inverse_temperature(self.first, n)] * len(positions)
        return [self.inverse_temperature(i, n) for i in positions]

    def inverse_temperature(self, i: int, n: int) -> Fraction | Real:
        """Return 1/tau at query position i of words of length n. Raises InputError if tau has no value there, is zero
        or negative, or cannot be shown to be positive; OutOfRange if tau is beyond HOTTEST or COLDEST."""
        tau, where = real_value(self.temperature, i, n), f"at i = {i}, n = {n}"
        positive = "A temperature must be positive at every position of every length tried."
        try:
            side, hot, cold = sign(tau), sign(tau, HOTTEST) > 0, sign(tau, COLDEST) < 0
        except SignUnknown:
            message = (
                f"the temperature {self.temperature} is not known to be positive {where}: it is 0 or very close to 0"
            )
            raise InputError(message, hint=positive) from None
        if side <= 0:
            raise InputError(f"the temperature {self.temperature} is {tau} {where}", hint=positive)
        if hot or cold:
            raise OutOfRange(
                f"the temperature {self.temperature} is {'more than 2^1023' if hot else 'less than 2^-4096'} {where}",
                hint="Multiply W_Q and the temperature by the same number: the logits stay as they are.",
            )
        # tau is not 0: its sign is known to be positive.
        return Fraction(1) / tau if isinstance(tau, Fraction) else Real("/", (1, tau))
