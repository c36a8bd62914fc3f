"""Check that a network of means, rounded after each sublayer, computes a formula, for every word of every length.

A value is a constant, or 0 or 1 by a Boolean function of the symbol and of comparisons of counts (`counting`).

1. A head reads a linear form of these, and takes the mean over m positions: y = (sum of a #[f] + B)/m, with its own
   value B at position 0. m is one more than the number of symbols that it sees.
2. Rounding makes a multiple k 2^-p of y. Rounded down, k >= t iff 2^p y >= t. Rounded to the nearest, a number in the
   middle to the even multiple, k >= t iff 2^(p+1) y >= 2t - 1, and > if t is odd. Times m, each compares counts.
3. A clip reads values and at most one such k, as clip(s k + d) with integers s and d for given values. It is 1 iff
   s k >= 1 - d, and 0 otherwise: k >= t with t = ceil((1 - d)/s), or for s < 0 not k >= floor((1 - d)/s) + 1.
4. What is added to a coordinate must make 0 or 1 of it, or the same constant for every word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

from hardsim.verify.arithmetic import exact, require
from hardsim.verify.counting import MEANS_HEAD, MEANS_SECTIONS, CountFunctions, Linear, Signs, means_certificate
from hardsim.verify.sections import EVERY_LENGTH, ROW, integer, keys, many, one_of, rational, row

ROUNDED_VERSION = 8
MOST_PLACES = 256
"""Most binary places of a rounding."""
ROUNDED_SECTIONS = MEANS_SECTIONS
ROUNDED_LAYER = keys(heads=many(MEANS_HEAD), units=many(row(one_of("clip", "relu"), ROW, rational, ROW)), biases=ROW)
ROUNDED_CERTIFICATE = means_certificate(EVERY_LENGTH, ROUNDED_LAYER, rounding=row(one_of("floor", "nearest"), integer))
KnownValue = Fraction | Signs | None
"""A constant; a function, or its negation with the sign -1; None: a value that must not be read."""
Writer = tuple[bool, Mapping[str, Fraction], Fraction, Fraction]
"""A hidden unit as one coordinate sees it: True for a clip, its form and bias, and the weight by which it is added."""


class MeanOfValues:
    """The mean of values over the positions of a side: counts, the value at position 0, and a bound of its size."""

    def __init__(self, side: str, counts: Linear, start: Fraction, most: Fraction) -> None:
        self.side, self.counts, self.start, self.most = side, counts, start, most


class RoundedChecker(CountFunctions):
    """The check of one certificate. The constructor raises Rejected if it does not prove its claim."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.mode, self.bits = self.model["rounding"]
        require(0 <= self.bits <= MOST_PLACES, f"model.rounding: from 0 to {MOST_PLACES} binary places are read")
        self.values, self.start = self._embedded()
        self.means: dict[str, MeanOfValues] = {}
        for layer in self.model["layers"]:
            self._attention(layer)
            self._hidden(layer)
        found = self.values[self.model["output"]]
        if isinstance(found, Fraction):
            require(found in (0, 1), "model.output: it is neither 0 nor 1")
            found = (1 if found else -1), None
        require(found == self.root, "model.output: it is not the truth of formula.root")

    def _embedded(self) -> tuple[dict[str, KnownValue], dict[str, Fraction | None]]:
        values: dict[str, KnownValue] = dict.fromkeys(self.names, Fraction(0))
        start: dict[str, Fraction | None] = dict.fromkeys(self.names, Fraction(0))
        table = exact(self.model["embedding"])
        require({*table} <= {*self.names}, "model.embedding: it names no coordinate")
        for name, numbers in table.items():
            require(
                len(numbers) == len(self.symbols) + 1, f"model.embedding: {name!a} has not one value for each symbol"
            )
            *column, start[name] = map(Fraction, numbers)
            if len({*column}) == 1:
                values[name] = column[0]
            else:
                require({*column} == {0, 1}, f"model.embedding: {name!a} is neither constant nor 0 and 1")
                values[name] = self.function([], _held(column))
        return values, start

    def rounded(self, value: Fraction) -> Fraction:
        """Return a number as the network rounds it."""
        scaled = value * 2**self.bits
        down = floor(scaled)
        if self.mode == "nearest":
            rest = scaled - down
            down += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2 == 1)
        return Fraction(down, 2**self.bits)

    # ---- attention ----

    def _attention(self, layer: Mapping[str, Any]) -> None:
        self.means, start = {}, dict(self.start)
        for head in layer["heads"]:
            for out, form in exact(head["values"]).items():
                require({out, *form} <= {*self.names}, "model: a head names no coordinate")
                own = self.values[out]
                plain = isinstance(own, Fraction) and own == self.start[out] and out not in self.means
                require(plain, f"model: a head adds to {out!a}, which is no constant")
                assert isinstance(own, Fraction)
                mean = self._mean("L" if head["mask"] == "future" else "", form)
                alone = mean.start + own if mean.side == "L" else None
                # The constant is added to the mean at every position, and so to every value of the mean.
                mean.counts[None] = mean.counts.get(None, Fraction(0)) + own
                mean.start, mean.most = mean.start + own, mean.most + abs(own)
                self.means[out], start[out] = mean, alone
        self.start = {name: None if value is None else self.rounded(value) for name, value in start.items()}
        self.values = {
            k: self.rounded(value) if isinstance(value, Fraction) else value for k, value in self.values.items()
        }

    def _mean(self, side: str, form: Mapping[str, Any]) -> MeanOfValues:
        counts: Linear = {}
        start = Fraction(0)
        for name, number in form.items():
            weight, value, first = Fraction(number), self.values[name], self.start[name]
            require(value is not None and first is not None, f"model: a head reads {name!a}, which is not known")
            start += (first or 0) * weight
            if isinstance(value, Fraction):
                counts[None] = counts.get(None, Fraction(0)) + value * weight
            elif value is not None:
                sign, function = value
                counts[function] = counts.get(function, Fraction(0)) + sign * weight
                counts[None] = counts.get(None, Fraction(0)) + (weight if sign < 0 else 0)
        # Each function is 0 or 1, so these are the least and the greatest number that a symbol can add.
        weights = [weight for function, weight in counts.items() if function is not None]
        ends = [counts.get(None, Fraction(0)) + sum(one for one in weights if one * sign > 0) for sign in (-1, 1)]
        return MeanOfValues(side, counts, start, max(abs(start), *map(abs, ends)))

    # ---- hidden units ----

    def _hidden(self, layer: Mapping[str, Any]) -> None:
        writers: dict[str, list[Writer]] = {name: [] for name in exact(layer["biases"])}
        for kind, form, bias, outs in layer["units"]:
            form, outs = exact(form), exact(outs)
            require({*form} <= {*self.names}, "model: a hidden unit names no coordinate")
            for out, weight in outs.items():
                read = {name: Fraction(value) for name, value in form.items()}
                writers.setdefault(out, []).append((kind == "clip", read, Fraction(bias), Fraction(weight)))
        require({*writers} <= {*self.names}, "model: a hidden unit names no coordinate")
        # Only a hidden unit makes a truth value of a rounded mean.
        values, start = self.values | dict.fromkeys(self.means), dict(self.start)
        for name, units in writers.items():
            bias = Fraction(exact(layer["biases"]).get(name, 0))
            require(self.values[name] is not None and name not in self.means, f"model: {name!a} is not known")
            values[name] = self._at_symbols(name, units, bias)
            start[name] = self._at_start(name, units, bias)
        self.values, self.start = values, start

    def _at_symbols(self, name: str, units: Sequence[Writer], bias: Fraction) -> KnownValue:
        """Return a coordinate at the positions of symbols after the hidden units."""
        read = [self.values[one] for _, form, *_ in units for one in form if one not in self.means]
        require(None not in read, f"model: a hidden unit that adds to {name!a} reads a value that is not known")
        functions = list({one[1]: None for one in (self.values[name], *read) if isinstance(one, tuple) and one[1]})
        own = sorted({atom for atoms, _ in functions for atom in atoms})
        new = {
            term[0]
            for symbol, choice in self.cases(own)
            for unit in units
            if not isinstance(term := self._term(name, unit, symbol, choice), Fraction)
        }
        totals = set[Fraction]()

        def join(symbol: int, choice: dict[int, bool]) -> bool:
            total = bias + self._number(self.values[name], symbol, choice)
            for unit in units:
                term = self._term(name, unit, symbol, choice)
                total += term if isinstance(term, Fraction) else unit[3] * (choice[term[0]] == term[1])
            totals.add(self.rounded(total))
            return self.rounded(total) == 1

        found = self.function(functions, join, sorted(new))
        if len(totals) == 1:
            return totals.pop()
        require(totals == {0, 1}, f"model: {name!a} is neither 0 nor 1 for some words")
        return found

    def _number(self, value: KnownValue, symbol: int, choice: Mapping[int, bool]) -> Fraction:
        assert value is not None
        if isinstance(value, Fraction):
            return value
        return Fraction(self.holds(value[1], symbol, choice) == (value[0] > 0))

    def _term(self, name: str, unit: Writer, symbol: int, choice: Mapping[int, bool]) -> Fraction | tuple[int, bool]:
        """Return what a hidden unit adds at a symbol for a choice of atoms; or an atom and its truth for which the unit
        is 1, where it is 0 for the other truth."""
        clip, form, bias, weight = unit
        constant = bias + sum(
            (
                value * self._number(self.values[one], symbol, choice)
                for one, value in form.items()
                if one not in self.means
            ),
            Fraction(0),
        )
        means = [(self.means[one], value) for one, value in form.items() if one in self.means]
        if not means:
            return weight * active(clip, constant)
        require(clip and len(means) == 1, f"model: a unit that adds to {name!a} reads two sums, or is no clip")
        ((mean, value),) = means
        s = value / 2**self.bits
        whole = s != 0 and s.denominator == constant.denominator == 1
        require(whole, f"model: a unit that adds to {name!a} may be neither 0 nor 1")
        t = ceil((1 - constant) / s) if s > 0 else floor((1 - constant) / s) + 1
        # |k| is at most the bound of the mean in units, rounded up.
        if abs(t) > ceil(mean.most * 2**self.bits):
            return weight * Fraction((t < 0) == (s > 0))
        atom = self._reaches(mean, t)
        if isinstance(atom, bool):
            return weight * Fraction(atom == (s > 0))
        return atom[0], atom[1] == (s > 0)

    def _reaches(self, mean: MeanOfValues, t: int) -> tuple[int, bool] | bool:
        """Return the atom of "the rounded mean is at least t units", with its polarity; or its truth for every word."""
        nearest = self.mode == "nearest"
        level, scale = (2 * t - 1, 2 ** (self.bits + 1)) if nearest else (t, 2**self.bits)
        strict = nearest and t % 2 == 1
        counts: Linear = {function: value * scale for function, value in mean.counts.items()}
        counts[None] = counts.get(None, Fraction(0)) - level
        counts, start = {function: value for function, value in counts.items() if value}, mean.start * scale - level
        if not counts:
            return bool(start > 0 if strict else start >= 0)
        return self.atom(mean.side, counts, start, strict)

    def _at_start(self, name: str, units: Sequence[Writer], bias: Fraction) -> Fraction | None:
        """Return a coordinate at position 0 after the hidden units; None if it may depend on the word."""
        own = self.start[name]
        if own is None:
            return None
        total = own + bias
        for clip, form, constant, weight in units:
            low = high = constant
            for one, value in form.items():
                first = self.start[one]
                if first is not None:
                    low, high = low + value * first, high + value * first
                elif one in self.means:
                    far = abs(value) * Fraction(ceil(self.means[one].most * 2**self.bits), 2**self.bits)
                    low, high = low - far, high + far
                else:
                    return None
            if active(clip, low) != active(clip, high):
                return None
            total += weight * active(clip, low)
        return self.rounded(total)


def active(clip: bool, value: Fraction) -> Fraction:
    """Return the value of a hidden unit, a clip to [0, 1] or a relu."""
    above = max(value, Fraction(0))
    return min(above, Fraction(1)) if clip else above


def _held(column: Sequence[Fraction]) -> Any:
    """Return the function that is true at the symbols of value 1."""
    return lambda symbol, _: column[symbol] == 1
