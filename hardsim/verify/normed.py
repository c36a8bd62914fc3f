"""Check that a network of means and layer norms computes a formula, for every word of every length.

Every value of a row is 0, or x or -x with one x > 0 for the whole row and for all positions. Its sign is a Boolean
function of the symbol and of comparisons of counts (`counting`).

1. A head reads a sum of signs, and takes the mean over m positions: y = (sum of a #[f] + B)/m, with its own value B at
   position 0. With g the greatest common divisor of the a, it is at least r/m in size, r the distance of B from the
   multiples of g, and at most Y. If r is 0 the sign is not known, and the steps below fail.
2. A relu has no bias, and reads signs, at most one such y, and t = 1/m. For given signs it is linear in t and |y|, and
   0 <= t <= 1, r t <= |y| <= Y. It is 0, or its own argument, if that has one sign at the four corners.
3. What a coordinate is then must be 0 or k t or -k t, with the same k in each row (or constants instead of multiples of
   t), whatever the signs.
4. LayerNorm with epsilon 0 makes signs of one size of it: the mean of a row is 0 if the functions cancel in pairs, and
   the number of values that are not 0 is the same at all positions.

A positive factor of all rows changes none of this, since no relu has a bias, and the output is compared with 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from hardsim.verify.arithmetic import exact, require
from hardsim.verify.counting import (
    MEANS_HEAD,
    MEANS_SECTIONS,
    CountFunctions,
    Function,
    Linear,
    Signs,
    divisor,
    means_certificate,
)
from hardsim.verify.sections import ROW, keys, many, one_of, row

NORMED_VERSION = 7
NORMED_CLAIM = (
    "on every word of every length the network's output at the last position is above 0 if formula.root holds there, "
    "and below 0 if not"
)
NORMED_SECTIONS = MEANS_SECTIONS
NORMED_LAYER = keys(heads=many(MEANS_HEAD), units=many(row(ROW, ROW)), epsilon=one_of("0"))
NORMED_CERTIFICATE = means_certificate(NORMED_CLAIM, NORMED_LAYER)
Units = Sequence[tuple[Mapping[str, Any], Fraction]]
"""Arguments of relus, by names of coordinates, with the weights with which the relus are added to one coordinate."""


class SumOfSigns:
    """The mean of a sum of signs over the positions of a side, with the value `start` at position 0."""

    def __init__(self, side: str, form: Linear, start: Fraction) -> None:
        self.side, self.start = side, start
        self.form = {function: value for function, value in form.items() if value}
        self.most = max(sum(map(abs, self.form.values()), Fraction(0)), abs(start))
        counts: Linear = {None: self.form.get(None, Fraction(0))}
        for function, value in self.form.items():
            if function is not None:
                counts[function], counts[None] = 2 * value, counts[None] - value
        self.counts = {function: value for function, value in counts.items() if value}
        step = divisor(self.counts)
        rest = start % step if step else abs(start)
        self.least = min(rest, step - rest) if step else rest

    def over(self, other: SumOfSigns) -> Fraction | None:
        """Return the factor that makes this mean of another one; None if there is none."""
        if self.side != other.side or not other.start:
            return None
        factor = self.start / other.start
        same = self.form == {function: value * factor for function, value in other.form.items()}
        return factor if factor and same else None


class NormedValue:
    """A value after attention: signs and constants, a multiple of t, and a multiple of one mean."""

    def __init__(self, form: Linear | None = None, t: Fraction = Fraction(0), mean: SumOfSigns | None = None) -> None:
        self.form: Linear = form or {}
        self.t, self.mean, self.factor = t, mean, Fraction(mean is not None)

    def add(self, other: NormedValue, weight: Fraction) -> None:
        """Add a multiple of another value."""
        for function, value in other.form.items():
            self.form[function] = self.form.get(function, Fraction(0)) + weight * value
        self.t += weight * other.t
        if other.mean is not None and other.factor:
            self.mean = self.mean if self.mean is not None and self.factor else other.mean
            factor = other.mean.over(self.mean)
            require(factor is not None, "model: a relu reads two comparisons of one layer")
            self.factor += weight * other.factor * (factor or 0)


def _positive(values: Sequence[Any]) -> Callable[[int, dict[int, bool]], bool]:
    """Return the function that is true at a symbol whose number is positive."""
    return lambda symbol, _: bool(values[symbol] > 0)


class NormedChecker(CountFunctions):
    """The check of one certificate. The constructor raises Rejected if it does not prove its claim."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        signs, start = self._embedded()
        for layer in self.model["layers"]:
            signs, start = self._layer(layer, signs, start)
        found = signs[self.model["output"]]
        require(found == self.root, "model.output: its sign is not the truth of formula.root")

    # ---- the network ----

    def _embedded(self) -> tuple[dict[str, Signs], dict[str, Fraction]]:
        table = exact(self.model["embedding"])
        require({*table} <= {*self.names}, "model.embedding: it names no coordinate")
        fine = all(len(values) == len(self.symbols) + 1 for values in table.values())
        require(fine, "model.embedding: one value is needed for each symbol, and one for position 0")
        sizes = {abs(Fraction(value)) for values in table.values() for value in values if value}
        require(len(sizes) == 1, "model.embedding: its numbers are not of one size")
        (size,) = sizes
        signs, start = dict.fromkeys(self.names, (0, None)), dict.fromkeys(self.names, Fraction(0))
        found: dict[str, Signs] = dict(signs)
        for name, (*values, last) in table.items():
            if any(values):
                require(all(values), f"model.embedding: {name!a} is 0 at some symbols only")
                found[name] = self.function([], _positive(values))
            start[name] = Fraction(last) / size
        self._centred(found, start)
        return found, start

    def _centred(self, signs: Mapping[str, Signs], start: Mapping[str, Fraction]) -> None:
        counted = Counter(signs.values())
        pairs = all(counted[-sign, function] == count for (sign, function), count in counted.items() if sign)
        require(pairs and not sum(start.values()), "model: the mean of a row is not known to be 0")
        same = all(bool(signs[name][0]) == bool(start[name]) for name in self.names)
        require(same, "model: position 0 has other values that are 0")

    def _layer(
        self, layer: Mapping[str, Any], signs: Mapping[str, Signs], start: Mapping[str, Fraction]
    ) -> tuple[dict[str, Signs], dict[str, Fraction]]:
        means = [(out, mean) for head in layer["heads"] for out, mean in self._means(head, signs, start)]
        units = {mean.side for _, mean in means if not mean.counts}
        require(len(units) < 2, "model: means of 1 over positions of two kinds")
        global_t = "" in units
        here = {
            name: NormedValue({function: Fraction(sign)} if sign else {}) for name, (sign, function) in signs.items()
        }
        there = {name: NormedValue({None: value}) for name, value in start.items()}
        for out, mean in means:
            require(not signs[out][0] and here[out].mean is None and not here[out].t, f"model: a head adds to {out!a}")
            # Over fewer positions 1/m is no less than t. A mean of all positions needs the t of all positions.
            require(global_t or mean.side == "L" or not mean.counts, "model: t is over fewer positions than a mean")
            found = NormedValue(mean=mean) if mean.counts else NormedValue(t=mean.start)
            here[out].add(found, Fraction(1))
            there[out].add(NormedValue({None: mean.start}) if mean.side == "L" else found, Fraction(1))
        writers: dict[str, list[tuple[Mapping[str, Any], Fraction]]] = {}
        for form, outs in exact(layer["units"]):
            require({*form, *outs} <= {*self.names}, "model: a relu names no coordinate")
            for out, weight in outs.items():
                writers.setdefault(out, []).append((form, Fraction(weight)))
        after, sizes = dict[str, Signs](), set[Any]()
        begun, begun_sizes = dict[str, Fraction](), set[Any]()
        for name in self.names:
            after[name] = self._symbols_after(here, name, writers.get(name, []), sizes)
            begun[name] = self._start_after(there, name, writers.get(name, []), begun_sizes)
        require(len(sizes) == len(begun_sizes) == 1, "model: the values of a row are not of one size")
        self._centred(after, begun)
        return after, begun

    def _means(
        self, head: Mapping[str, Any], signs: Mapping[str, Signs], start: Mapping[str, Fraction]
    ) -> Iterator[tuple[str, SumOfSigns]]:
        side = "L" if head["mask"] == "future" else ""
        for out, form in exact(head["values"]).items():
            require({out, *form} <= {*self.names}, "model: a head names no coordinate")
            total: Linear = {}
            for name, value in form.items():
                sign, function = signs[name]
                total[function] = total.get(function, Fraction(0)) + sign * Fraction(value)
            yield (
                out,
                SumOfSigns(
                    side, total, sum((start[name] * Fraction(value) for name, value in form.items()), Fraction(0))
                ),
            )

    def _parts(
        self, row_of: Mapping[str, NormedValue], name: str, units: Units
    ) -> tuple[list[tuple[NormedValue, Fraction | None]], SumOfSigns | None]:
        """Return a coordinate (with None) and the arguments of the relus that add to it, and the one mean in them."""
        parts: list[tuple[NormedValue, Fraction | None]] = [(row_of[name], None)]
        for form, weight in units:
            total = NormedValue()
            for read, value in form.items():
                total.add(row_of[read], Fraction(value))
            parts.append((total, weight))
        means = [one.mean for one, _ in parts if one.mean is not None and one.factor]
        fine = all(mean.over(means[0]) is not None for mean in means)
        require(fine, f"model: {name!a} depends on two comparisons of one layer")
        return parts, means[0] if means else None

    def _symbols_after(self, row_of: Mapping[str, NormedValue], name: str, units: Units, sizes: set[Any]) -> Signs:
        parts, mean = self._parts(row_of, name, units)
        functions = list(dict.fromkeys(one for part, _ in parts for one in part.form if one is not None))
        atom = None if mean is None else self.atom(mean.side, mean.counts, mean.start)
        zero: set[bool] = set()

        def join(symbol: int, choice: dict[int, bool]) -> bool:
            truth = {one: self.holds(one, symbol, choice) for one in functions}
            size, sign = self._result(name, parts, truth, mean, atom is None or choice[atom[0]] == atom[1])
            zero.add(not sign)
            sizes.update({size} if sign else ())
            return sign > 0

        found = self.function(functions, join, [] if atom is None else [atom[0]])
        require(len(zero) == 1, f"model: {name!a} is 0 in some cases only")
        return (0, None) if zero.pop() else found

    def _start_after(self, row_of: Mapping[str, NormedValue], name: str, units: Units, sizes: set[Any]) -> Fraction:
        parts, mean = self._parts(row_of, name, units)
        found = {self._result(name, parts, {}, mean, positive) for positive in (False, True)}
        sizes |= {size for size, sign in found if sign}
        signs = {sign for _, sign in found}
        require(len(signs) == 1, f"model: {name!a} at position 0 depends on the word")
        return Fraction(signs.pop())

    def _result(
        self,
        name: str,
        parts: Sequence[tuple[NormedValue, Fraction | None]],
        truth: Mapping[Function, bool],
        mean: SumOfSigns | None,
        positive: bool,
    ) -> tuple[tuple[Fraction, Fraction], int]:
        """Return the size (a constant, and a multiple of t) and the sign of a coordinate after the relus, for given
        signs."""
        ends = [(Fraction(0), Fraction(0)), (Fraction(1), Fraction(0))]
        if mean is not None:
            ends = [ends[0], (Fraction(0), mean.most), (Fraction(1), mean.least), (Fraction(1), mean.most)]
        total = [Fraction(0)] * 3
        for part, weight in parts:
            constant = sum((v * (1 if f is None or truth[f] else -1) for f, v in part.form.items()), Fraction(0))
            factor = Fraction(0)
            if mean is not None and part.mean is not None and part.factor:
                factor = part.factor * (part.mean.over(mean) or 0) * (1 if positive else -1)
            corners = [constant + part.t * t + factor * y for t, y in ends]
            known = weight is None or min(corners) >= 0 or max(corners) <= 0
            require(known, f"model: a relu that adds to {name!a} is not known to be on one side of 0")
            if weight is None or max(corners) > 0:
                scale = Fraction(1) if weight is None else weight
                total = [old + scale * new for old, new in zip(total, (constant, part.t, factor), strict=True)]
        constant, t, y = total
        require(not y and not (constant and t), f"model: {name!a} is not known to be a truth value")
        return (abs(constant), abs(t)), (constant + t > 0) - (constant + t < 0)
