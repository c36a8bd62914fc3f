"""The checker of certificates of formulas for every length: that of `formulas`, with classes of positions in place of
positions.

A class says whether a position is the first, the last, and even, and whether the length is even. In a class, a number
that is the same for every word is a rational function of the position i and the length n; powers of -1 are known. The
truth of a predicate of positions is not known: it is a fact, a node of its own that may be true or false. So is a
comparison of positions that is true at some positions of a class and false at others. Bounds of functions come from
comparing coefficients (`ratios`).

The error of a head is bounded by a series in x = e^-g, where g is a rate in nats. There are three kinds of heads.

**Nearest position.** w is the winner. Assume that each position on the side that loses the tie loses at least g nats
for each position of distance. Then their weights, relative to the winner's, add up to at most x + x^2 + ... = x/(1 -
x). No position beyond the winner is selected. There are two cases, each with its series:

 - `2x/(1 + x)`: positions beyond w lose g nats for each position too, so the weight off the winner is at most
   2x/(1 - x) of the winner's.
 - `x`: positions j beyond w lose g (j - 1) nats (a head that looks backwards: g (n - j)), as much as if they stood
   before the first position. Their weight is at most x^w/(1 - x), while the w - 1 positions before the winner weigh at
   most (x - x^w)/(1 - x).

**Look-up.** The logits are -k (j - c)^2 with k >= g. Weights at the distance m are at most x^(m^2), and m^2 - 9 >= 7 (m
- 3) for m >= 3. So the weights of one side add up to at most t = x + x^4 + x^9/(1 - x^7).

 - A truth is off by at most `2t/(1 + 2t)`. If even and odd positions have different truths, x^4 does not count.
 - A number is pulled in opposite directions by the two sides, so it is off by at most the mean distance on one of them,
   the winner's being 0. Positions farther off than that mean would increase it, as would a smaller k. So it is off by
   at most `(x + 2x^4 + 3x^9/(1 - x^7)^2)/(1 + x + x^4)`.
 - The count 0 finds position 1. Weights are x^(m^2 + 2m) there, and m^2 + 2m >= 5m - 2: at most `x^3/(1 - x^5)^2`.

**Sign.** The tested number y is s T + r with r > 0 and s - r > 0. So |y| >= min(r, s - r), whether T >= 0 or T <= -1.

 - If keys are k at even positions and -k at odd ones, the wrong positions lose g = 2 |y| k. Among two or more
   neighbours there are at most twice as many wrong positions as right ones: `2x/(1 + 2x)`.
 - If keys are k j^2 and -k j^2 and the query is at i, the best right position has at least |y| k (i - 1)^2, and each of
   at most (i + 1)/2 wrong positions has at most -|y| k. With |y| k >= g/i the ratio is at most
   (i + 1)/2 e^(-g ((i - 1)^2 + 1)/i), called `ramp`. From i to i + 1 the exponent grows by g (1 - 2/(i (i + 1))) >= g/2
   for i >= 2, and (i + 1)/2 grows by a factor of 1 + 1/(i + 1) <= e^(1/(i + 1)). So the ratio falls from i + 1 >= 2/g
   on.

**Geometric attention** has an error of at most 1/g if 1 + e^l >= g m for the logits l of selected positions, with m
visible positions (m = 1 if all are selected; see `geometric`). The series is `1/g`.

**Sparsemax** gives no weight to a key that loses c = 1 or more to another one, and softmax with rounded exponentials
none to a key that loses the c of `exponentials`. So a head has no error if g >= c, where g is the least loss of a rival
of the nearest position, on either side; or the g of a look-up or sign test above (a wrong position of a ramp loses at
least g ((i - 1)^2 + 1)/i >= g). The series is `0`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, chain, product, repeat
from math import ceil, gcd
from typing import Any

from hardsim.verify import geometric, ratios
from hardsim.verify.arithmetic import (
    DOWN,
    GRID,
    MINUTE,
    ONE,
    UP,
    ZERO,
    Combination,
    Costs,
    Rejected,
    combine,
    exp,
    require,
    share,
)
from hardsim.verify.enclosures import FUNCTIONS
from hardsim.verify.expressions import OPERATIONS, PREDICATES, Tree, inverse_of
from hardsim.verify.formulas import FormulaChecker, HeadClaim
from hardsim.verify.monotone import MonotoneBounds, has_function
from hardsim.verify.ratios import NAMES, VARIABLE, Polynomial, Ratio, Value, fit, line, positive

Queries = list[list[Combination]]
"""The forms of a head's query over the temperature, by class."""
QUERY, LENGTH, OTHER, WINNER = VARIABLE
FIRST = ratios.ONE
INFINITE = float("inf")
"""A number above all rationals, only compared with rationals; no other number is a float."""
MOST_POWER = 64
"""Largest exponent of an expression, unless the base is -1."""
MOST_FACTORS = 4
"""Largest power of E that bounds e^(score/temperature) in geometric attention."""
MOST_QUERIES = 10_000
"""Most queries of a ramp that are computed one by one before it falls, and most triples of a query and two local types
of a head that looks for the nearest position."""
STEP = 50
"""Steps charged for an operation on rational functions."""


@dataclass(frozen=True, slots=True)
class SiteClass:
    """A class of positions i of words of length n. `places` are i and n (and two unused variables) as polynomials in
    numbers >= 0."""

    first: bool
    last: bool
    even_i: bool
    even_n: bool
    places: tuple[Polynomial, ...]

    def __str__(self) -> str:
        shown = ("i = 1" if self.first else "1 < i", "i = n" if self.last else "i < n")
        return f"where {shown[0]}, {shown[1]}, i {PARITY[self.even_i]}, n {PARITY[self.even_n]}"

    def known(self, number: Value) -> Value:
        """Return a function in this class: with 1 in place of i at the first position, n at the last."""
        return ratios.at(number, (FIRST if self.first else NAMES[1] if self.last else NAMES[0],
                                       FIRST if self.first and self.last else NAMES[1], *NAMES[2:]))  # fmt: skip


PARITY = ("odd", "even")


def beyond(start: Polynomial, gap: int, slack: int | None = None) -> Polynomial:
    """Return `start + gap`, plus the variable `slack`, a number >= 0, if it is given."""
    moved = start.plus(FIRST, gap)
    return moved if slack is None else moved.plus(NAMES[slack])


def _classes() -> Iterator[SiteClass]:
    # Length 1 has one class. All others have a first and a last position for each parity of n, and positions between.
    yield SiteClass(True, True, False, False, (FIRST, FIRST, FIRST, FIRST))
    for even in (True, False):
        end = beyond(FIRST, 1 if even else 2, 0)
        yield SiteClass(True, False, False, even, (FIRST, end, FIRST, FIRST))
        yield SiteClass(False, True, even, even, (end, end, FIRST, FIRST))
        for even_i in (True, False):
            here = beyond(FIRST, 1 if even_i else 2, 0)
            yield SiteClass(
                False, False, even_i, even, (here, beyond(here, 2 if even_i == even else 1, 1), FIRST, FIRST)
            )


CLASSES = tuple(_classes())


class EveryLengthChecker(FormulaChecker):
    """The check of a certificate of a formula for every length; the constructor raises Rejected unless it proves the
    claim. `bounds` of a head are its rate g, the name of its series, and the errors where it should read 0 and 1; heads
    that average have none."""

    def prove(self, claimed_bounds: dict[str, list[Any]] | None) -> None:
        """Prove the claim for all classes of positions at once. Raise Rejected if it does not follow, or if the bounds
        in the certificate are others."""
        Costs.__init__(self, 100 * self.size, chain(*(row.values() for row in self.rows)), MINUTE)
        with ratios.charged(self.charge):
            self._prove()
        self._compare(claimed_bounds, whole=True)

    def _prove(self) -> None:
        self.nodes, self.own, self.n = [*self.nodes], len(self.nodes), 0
        self.places, self.heads, self.bits = range(1, len(CLASSES) + 1), dict[str, Any](), list[list[int | None]]()
        self.facts: dict[Any, int] = {}
        self.same: list[dict[int, int]] = [{} for _ in CLASSES]
        # Nodes of facts are added behind the formula's own.
        for k, node in enumerate(self.nodes[: self.own]):
            self.bits.append([self._bit(k, *node, i=i) for i in self.places])
        self._extend()
        self.known = [tuple((k, bit) for k, column in enumerate(self.bits) if (bit := column[i - 1]) is not None)
                      for i in self.places]  # fmt: skip
        self._sharpen()
        self._walk()
        for i, one in enumerate(CLASSES, start=1):
            message = f"the output '{self.output}' is not the truth of formula.root {one}"
            require(not one.last or self._right(i), message)

    # ---- facts ----

    def fact(self, key: Any) -> int:
        """Return the node that stands for an unknown fact about positions. Equal keys are the same fact."""
        number = self.facts.setdefault(key, self.own + len(self.facts))
        if len(self.bits) >= self.own:
            self._extend()
        return number

    def _extend(self) -> None:
        while len(self.nodes) < self.own + len(self.facts):
            self.nodes.append(["fact", []])
            self.lits.append([])
            self.bits.append([None] * len(CLASSES))
            self.keep(len(CLASSES))

    def alias(self, k: int, i: int) -> int:
        """Return the fact that has the truth of node k in class i, or k itself."""
        return self.same[i - 1].get(k, k)

    def _decided(self, k: int, op: str, total: Value, i: int) -> int | None:
        one = CLASSES[i - 1]
        if op == "at least":
            low, high = self.lower(total, i), self.upper(total, i)
            if low is not None and low >= 0:
                return 1
            if high is not None and high < 0:
                return 0
            found = line(one.known(total))
            require(found is not None, f"formula.nodes[{k}]: it compares a number that is not linear in i and n")
            assert found is not None
            key: Any = ("line", *found)
            if all(part.denominator == 1 for part in found[:2]):
                step = gcd(int(found[0]), int(found[1])) or 1
                # i and n are integers: a i + b n + c >= 0 with integers a, b is the same as (a i + b n)/g >=
                # ceil(-c/g), g their gcd.
                key = ("integer line", found[0] / step, found[1] / step, ceil(-found[2] / step))
        else:
            key = self._truth(self.conditions[k][1].tree, {"x": one.known(total), "n": one.known(LENGTH)}, one)
            if isinstance(key, bool):
                return int(key)
        self.same[i - 1][k] = self.fact(key)
        return None

    def _condition(self, node: int, x: Value, i: int) -> Combination:
        """Return the truth of a predicate of the number x in class i."""
        one = CLASSES[i - 1]
        return self._truth_of(self.conditions[node][1].tree, {"x": one.known(x), "n": one.known(LENGTH)}, one)

    def _truth_of(self, tree: Tree, names: Mapping[str, Value], one: SiteClass) -> Combination:
        """Return a truth as a constant, or as a fact if it is not known."""
        found = self._truth(tree, names, one)
        return combine((int(found), {None: 1})) if isinstance(found, bool) else {self.fact(found): 1}

    # ---- expressions ----

    def _encoded(self, k: str, i: int) -> Combination:
        what, one = self.texts[k][1], CLASSES[i - 1]
        if what.truth:
            return self._truth_of(what.tree, {"i": one.known(QUERY), "n": one.known(LENGTH)}, one)
        return combine((1, {None: self._number_of(what.tree, {"i": QUERY, "n": LENGTH}, one)}))

    def _sharpen(self) -> None:
        """Compute one over the temperature, which must be positive, in each class. If the temperature has functions,
        take one over an upper bound of it. Then logits are at least as far apart as computed: every difference of
        scores that counts is held to be at least a rate > 0 times a number >= 0, and error bounds depend on these rates
        alone."""
        tree = self.temperature[1].tree
        self.inverse = list[Any]()
        for one in CLASSES:
            found = self._one_sided(one)
            tau = found.of(tree, 1)
            fine = found.positive(tree) and positive(tau, one.places)
            require(fine, f"model.temperature is not known to be positive {one}")
            self.inverse.append(1 / ratios.of(tau))
        if has_function(tree):
            # At length 1, the first class, the only key has all weight at any temperature. With the function of the
            # next class, fewer queries differ.
            self.inverse[0] = self.inverse[1]

    def _one_sided(self, one: SiteClass) -> MonotoneBounds:
        return MonotoneBounds(lambda part: self._number_of(part, {"i": QUERY, "n": LENGTH}, one), one.places)

    def _number_of(self, tree: Tree, names: Mapping[str, Value], one: SiteClass) -> Value:
        found: Value | tuple[Any, ...] = self._term(tree, names, one)
        if isinstance(found, tuple):
            raise Rejected(f"an expression is not a rational function of i and n {one}")
        return found

    def _term(self, tree: Tree, names: Mapping[str, Value], one: SiteClass) -> Any:
        """Return the value of an expression, or a tuple of an operator and its operands if the value is not a rational
        function."""
        self.spend(STEP)
        if isinstance(tree, int | str):
            return tree if isinstance(tree, int) else names[tree]
        op, *parts = tree
        require(op not in FUNCTIONS, f"an expression has {op!a}, for which there is no rule, {one}")
        require(op != "[", f"an expression uses a condition as a number, for which there is no rule, {one}")
        if op == "-":
            return self._joined("*", -1, self._term(parts[0], names, one), one)
        if op == "**":
            base, exponent = (self._number_of(part, names, one) for part in parts)
            return self._power(base, exponent, one)
        total = self._term(parts[0], names, one)
        for name, part in parts[1:]:
            total = self._joined(name, total, self._term(part, names, one), one)
        return total

    def _joined(self, op: str, left: Any, right: Any, one: SiteClass) -> Any:
        """Return the result of an arithmetic operator. Raises Rejected if a divisor may be 0."""
        if op in ("/", "//", "%"):
            signs = () if isinstance(right, tuple) else (right, -1 * right)
            require(any(positive(part, one.places) for part in signs), f"a divisor in an expression may be 0 {one}")
        if op in ("//", "%"):
            if not any(isinstance(part, Ratio | tuple) for part in (left, right)):
                return Fraction(left) // right if op == "//" else Fraction(left) % right
            # Only the remainder of division by 2 is known, from the parities of i and n.
            form = None if op == "//" or right != 2 or isinstance(left, tuple) else line(left)
            if form is None or any(part.denominator != 1 for part in form):
                return op, left, right
            return int(form[0] * (not one.even_i) + form[1] * (not one.even_n) + form[2]) % 2
        if isinstance(left, tuple) or isinstance(right, tuple):
            return op, left, right
        return fit(OPERATIONS[op](left, right))

    def _power(self, base: Value, exponent: Value, one: SiteClass) -> Value:
        if base == -1:
            found = line(exponent)
            message = "an exponent of -1 is not an integer"
            require(found is not None and all(part.denominator == 1 for part in found), message)
            assert found is not None
            return -1 if (found[0] * (not one.even_i) + found[1] * (not one.even_n) + found[2]) % 2 else 1
        message = f"an exponent is not an integer from 0 to {MOST_POWER}"
        require(isinstance(exponent, int) and 0 <= exponent <= MOST_POWER, message)
        assert isinstance(exponent, int)
        self.spend(STEP * exponent)
        total: Value = 1
        for _ in range(exponent):
            total = fit(total * base)
        return total

    def _truth(self, tree: Tree, names: Mapping[str, Value], one: SiteClass) -> Any:
        """Return True, False, or a tuple that describes a condition on numbers. Equal tuples are one fact."""
        self.spend(STEP)
        assert isinstance(tree, tuple)
        op, *parts = tree
        if op == "not":
            found = self._truth(parts[0], names, one)
            return not found if isinstance(found, bool) else ("not", found)
        if op in PREDICATES:
            query = self._number_of(parts[0], names, one)
            form = line(query)
            message = f"{op} is applied to a number that may not be an integer"
            require(form is not None and all(part.denominator == 1 for part in form), message)
            # Without i and n in it, the predicate is simply computed.
            return (op, query) if isinstance(query, Ratio) else PREDICATES[op](int(query))
        first, *others = parts
        if others[0][0] in ("and", "or"):
            return self._logical(others[0][0], [first, *(part for _, part in others)], names, one)
        terms = [self._term(part, names, one) for part in (first, *(part for _, part in others))]
        if any(isinstance(term, Ratio | tuple) for term in terms):
            return ("compared", terms[0], *((name, term) for (name, _), term in zip(others, terms[1:], strict=True)))
        steps = zip(others, terms, terms[1:], strict=False)
        return all(OPERATIONS[name](left, right) for (name, _), left, right in steps)

    def _logical(self, op: str, parts: list[Tree], names: Mapping[str, Value], one: SiteClass) -> Any:
        """Return `and` or `or` of several conditions. The first that decides ends it: later ones need not have
        a value."""
        left = list[Any]()
        for part in parts:
            found = self._truth(part, names, one)
            if found is (op == "or"):
                return found if not left else (op, *left, found)
            if not isinstance(found, bool):
                left.append(found)
        return (op, *left) if left else op == "and"

    # ---- numbers in classes ----

    def lower(self, number: Value, i: int) -> Fraction | None:
        """Return a lower bound of a function in the class of number i (from 1), or None if none is found."""
        self.spend(STEP)
        return ratios.lower(number, CLASSES[i - 1].places)

    def upper(self, number: Value, i: int) -> Fraction | None:
        """Return an upper bound of a function in the class of number i (from 1), or None if none is found."""
        self.spend(STEP)
        return ratios.upper(number, CLASSES[i - 1].places)

    def extent(self, side: str, i: int) -> Value:
        """Return the number of positions of a side as a function of i and n."""
        return {"L": QUERY, "R": LENGTH - QUERY + 1, "": LENGTH}[side]

    def alone(self, side: str, i: int) -> bool:
        """Return True if a side has one position, for every position of a class."""
        one = CLASSES[i - 1]
        return (one.first or side == "R") and (one.last or side == "L")

    def _total(self, column: list[Any], side: str, i: int) -> Any:
        one = CLASSES[i - 1]
        message = f"a head or a count adds up numbers that depend on the position, {one}"
        require(not any(isinstance(value, Ratio) for value in column), message)
        self.spend(STEP)
        if one.first and one.last:
            return column[i - 1]
        if side == "L":
            return self._prefix(column, one.even_n, QUERY, one.even_i, one.last)
        whole = self._prefix(column, one.even_n, LENGTH, one.even_n, True)
        if side == "" or one.first:
            return whole
        return whole - self._prefix(column, one.even_n, QUERY - 1, not one.even_i, False)

    def _prefix(self, column: list[Any], even_n: bool, end: Value, even: bool, last: bool) -> Value:
        """Return the sum of numbers over the positions 1 to `end`, in words of more than one position. `even` says
        whether `end` is even, `last` whether it is the last position. Among the positions 2 to m there are m/2 even and
        m/2 - 1 odd ones if m is even, else (m - 1)/2 of each."""
        value = {(one.first, one.last, one.even_i): number for one, number in zip(CLASSES, column, strict=True)
                 if one.even_n == even_n and not (one.first and one.last)}  # fmt: skip
        inner, even = (end - 1, not even) if last else (end, even)
        evens = inner * Fraction(1, 2) if even else (inner - 1) * Fraction(1, 2)
        odds = evens - 1 if even else evens
        total: Value = value[True, False, False]
        total = total + evens * value[False, False, True] + odds * value[False, False, False]
        return total + value[False, True, even_n] if last else total

    def _write(self, columns: dict[str, list[Combination]]) -> None:
        self.x |= columns
        self.keep(4 * len(columns) * len(CLASSES))

    # ---- heads ----

    def _errors(
        self, name: str, head: Any, reads: tuple[list[Combination], list[Any]], used: set[Any]
    ) -> list[list[Any]]:
        (side, claim, pairs), (values, keys) = head, reads
        kind = claim["kind"]
        queries = [[combine((self.inverse[i - 1], self.apply(query, i))) for query, _ in pairs] for i in self.places]
        if kind == "nearest":
            message = f"head {name} breaks ties away from the query, which its mask does not fit"
            require((side, claim["backwards"]) in SIDES, message)
            return self._nearest_everywhere(name, side, claim, queries, (values, keys))
        fixed = all(isinstance(k, int) and k >= self.own for k in used)
        fixed = fixed and all({*key} <= {None} for row in keys for key in row)
        require(fixed and kind in ("number", "table", "sign"), f"head {name} is not of the claimed kind")
        work = self._sign if kind == "sign" else self._look_up
        return work(name, side, claim, queries, (values, keys))

    def _found(self, name: str, rate: Fraction, series: str, wrong: list[list[Any]]) -> list[list[Any]]:
        """Record the bound of a head (rate, series, and the largest error where it should read 0 and where 1), and
        return its errors by class."""
        taken = [max((row[bit] for row in wrong if row[bit] is not None), default=None) for bit in range(len(wrong[0]))]
        self.bounds[name] = [str(rate), series, *taken]
        return wrong

    def _nearest_everywhere(
        self, name: str, side: str, claim: HeadClaim, queries: Queries, reads: Any
    ) -> list[list[Any]]:
        """Return the errors of a head that looks for the nearest position. The rate is that at which positions before
        and beyond the winner fall behind it, and the series is the one with the smaller error."""
        values, keys = reads
        message = f"the query of head {name} depends on the word"
        require(all({*query} <= {None} for row in queries for query in row), message)
        query_number = dict.fromkeys(tuple(query.get(None, 0) for query in row) for row in queries)
        types = dict.fromkeys(kind for j in self.places
                              for kind in self._types(name, claim, values[j - 1], keys[j - 1], j))  # fmt: skip
        message = f"too large: head {name} has too many pairs of local types"
        require(len(types) ** 2 * len(query_number) <= MOST_QUERIES, message)
        before, after = dict[Value, None](), dict[Value, None]()
        for query, (won, value, *key), (lost, wrong, *other) in product(query_number, types, types):
            # Only positions of another value count as wrong. If no position is selected, the last one wins.
            if value != wrong and (won or not lost):
                self.spend(STEP * (1 + len(key)))
                parts = (
                    a * (moved(b, NAMES[3]) - moved(c, NAMES[2])) for a, b, c in zip(query, key, other, strict=True)
                )
                before[difference := sum(parts, 0)] = None
                # Beyond a selected winner none is selected; one that is not selected is the last.
                if won and not lost:
                    after[difference] = None
        taken = {value for _, value, *_ in types}
        backwards = claim["backwards"]
        if self.cutoff:
            losses = (self._rate(before, 1, side, backwards, False), self._rate(after, 1, side, backwards, True))
            rate = self._exact(name, min(losses))
            return self._found(name, rate, "0", [[0 if bit in taken else None for bit in (0, 1)]] * len(CLASSES))
        near, far = (OTHER - WINNER, LENGTH - OTHER) if backwards else (WINNER - OTHER, OTHER - 1)
        first = self._rate(before, near, side, backwards, False)
        require(first != 0, f"head {name}: positions that lose the tie are not known to fall behind the winner")
        found = [(share(of_x(min(first, rate), series), ONE), series, min(first, rate))
                 for series, unit in (("x", far), ("2x/(1 + x)", -1 * near))
                 if (rate := self._rate(after, unit, side, backwards, True)) > 0]  # fmt: skip
        require(found, f"head {name}: positions beyond the winner are not known to fall behind it")
        error, series, rate = min(found)
        if not before:  # No position has another value than the winner.
            error, series = 0, "0"
        return self._found(name, rate, series, [[error if bit in taken else None for bit in (0, 1)]] * len(CLASSES))

    def _exact(self, name: str, rate: Fraction) -> Fraction:
        """Return the least loss of wrong keys, in nats; raise Rejected unless they then have no weight."""
        wrong = f"wrong positions are not known to lose {self.cutoff} or more, so that they may have weight"
        require(rate >= self.cutoff, f"head {name}: {wrong}")
        return rate

    def _off(self, name: str, side: str, scores: list[Fraction], always: bool) -> list[list[Any]]:
        """Return the error bounds of a head in geometric attention by class, and record its rate g: 1 + e^l >= g m."""
        empty = [one.first if side == "<" else side == ">" and one.last for one in CLASSES]
        rates = list[Fraction]()
        for i, (none, score) in enumerate(zip(empty, scores, strict=True), start=1):
            if not none:
                seen: Value = {"L": QUERY, "<": QUERY - 1, "R": LENGTH - QUERY + 1}.get(side, LENGTH - QUERY)
                power = ratios.of(1 + self._growth(score, i))
                rates.append(self.lower(power / (1 if always else seen), i) or Fraction(0))
        rate = min(rates)
        require(rate > 1, f"head {name}: 1 + e^l is not known to be above the number of visible positions")
        error = ceil(GRID / rate)
        return self._found(name, rate, geometric.SERIES, [[0, None] if none else [error, error] for none in empty])

    def _growth(self, score: Fraction, i: int) -> Value:
        """Return a function that is at most e^(score/temperature) in a class: a power of E if the temperature is
        c/log(E); else the first terms of the series of e^y, with y at most the logit; of a constant temperature the
        number itself."""
        tree, one = self.temperature[1].tree, CLASSES[i - 1]
        found = geometric.power_of(tree)
        if found is not None and score >= found[0] > 0:
            base = self._number_of(found[1], {"i": QUERY, "n": LENGTH}, one)
            if positive(base - 1, one.places):
                total: Value = 1
                for _ in range(min(int(score / found[0]), MOST_FACTORS)):
                    total = fit(total * base)
                return total
        # E^(s/c) with s < c is no power of E, but a number if the temperature is one.
        if not self.temperature[1].names:
            inverse = inverse_of(self.temperature[1], self.spend)
            require(inverse, "model.temperature is not known to be positive")
            assert inverse is not None
            return geometric.exponential(inverse[0] * score)
        y: Value = self.inverse[i - 1] * score
        return fit(1 + y + y * y * Fraction(1, 2) + y * y * y * Fraction(1, 6))

    def _rate(self, differences: Iterable[Value], unit: Value, side: str, backwards: bool, after: bool) -> Fraction:
        """Return a lower bound g of all quotients of a difference by `unit`, at most MOST_RATE or the cutoff; 0 if none
        that is positive is found."""
        rate = max(MOST_RATE, Fraction(self.cutoff))
        for difference in differences:
            # Every order of query, winner and other position must give the bound.
            for places in orders(side, backwards == after):
                self.spend(STEP)
                found = ratios.lower(ratios.of(difference) / unit, places)
                if found is None or found <= 0:
                    return Fraction(0)
                rate = min(rate, found)
        return rate

    def _look_up(self, name: str, side: str, claim: HeadClaim, queries: Queries, reads: Any) -> list[list[Any]]:
        """Return the errors of a look-up head, whose logits are -k (j - c)^2 plus a summand that does not depend on j,
        for k >= g."""
        (values, keys), (args, terms), rates = reads, claim["count"], list[Fraction]()
        require(side != "R" and terms[0][0] == 1, f"head {name} does not look up a count of the first positions")
        number = claim["kind"] == "number"
        for one, value in zip(CLASSES, values, strict=True):
            fine = value == {None: QUERY} if number else value in ({}, {None: 1}) or [*value.values()] == [1]
            require(fine, f"the values of head {name} are not {'the positions' if number else 'truths'} {one}")
        rows = [quadratic([key.get(None, 0) for key in column], name) for column in zip(*keys, strict=True)]
        for i, row in enumerate(queries, start=1):
            known = self.linear(args, terms, 0, i)
            symbol = next((key for key in known if key is not None), None)
            fine = all({*query} <= {None, symbol} for query in row)
            require(fine, f"the query of head {name} depends on more than the claimed count")
            room = self.upper(self.extent(terms[0][1], i) - self.extent(side, i), i)
            require(room is not None and room <= 0, f"head {name} does not see all positions that it may look up")
            if self.alone(side, i):
                continue
            of_count, rest = ([query.get(key, 0) if key is not None or which else 0 for query in row]
                              for which, key in ((False, symbol), (True, None)))  # fmt: skip
            # Coefficients of j and j^2 in the keys; the logit is their product with the query, which is linear in the
            # count c.
            straight, square = ([part[k] for part in rows] for k in (0, 1))
            k = -1 * dot(rest, square)
            counted = [2 * k * known.get(None, 0), 0, 0] if symbol is None else [0, 2 * k, 0]
            # -k (j - c)^2 = -k j^2 + 2 k c j - k c^2: the coefficients of j, c j and c j^2 must be those.
            shape = [dot(rest, straight), dot(of_count, straight), dot(of_count, square)]
            require(shape == counted, f"the scores of head {name} are not -k (j - c)^2 for the claimed count c")
            rates.append(self.lower(k, i) or Fraction(0))
        rate = min(rates)
        require(rate > 0, f"head {name}: other positions are not known to fall behind the looked-up one")
        if self.cutoff:
            return self._found(name, self._exact(name, rate), "0", [[0, None] if number else [0, 0]] * len(CLASSES))
        turns = [[{None: 1} if one.even_i is even else {} for one in CLASSES] for even in (True, False)]
        series = NUMBER if number else ALTERNATING if values in turns else TABLE
        error = share(of_x(rate, series), ONE)
        return self._found(name, rate, series, [[error, None] if number else [error, error]] * len(CLASSES))

    def _sign(self, name: str, side: str, claim: HeadClaim, queries: Queries, reads: Any) -> list[list[Any]]:
        """Return the errors of a sign test, whose keys have one size at all positions, or one size times j^2."""
        (values, keys), rates = reads, list[Fraction]()
        op, args, *rest = self.nodes[claim["what"][0]]
        require(op == "at least" and len(queries[0]) == 1, f"head {name} is not a sign test of the claimed node")
        sizes = [key[0].get(None, 0) * (1 if one.even_i else -1) for one, key in zip(CLASSES, keys, strict=True)]
        read = all(value == ({None: 1} if one.even_i else {}) for one, value in zip(CLASSES, values, strict=True))
        require(read and len({*sizes}) == 1, f"head {name} does not read the parity of positions by keys of one size")
        growing = "i" in names_of(sizes[0])
        key = sizes[0] / (QUERY * QUERY) if growing else sizes[0]
        message = f"the keys of head {name} depend on the position other than as j^2"
        require("i" not in names_of(key) and (side == "L" or not growing), message)
        for i, one in enumerate(CLASSES, start=1):
            message = f"the keys of head {name} are not known to be positive at even positions"
            require(positive(key, one.places), message)
            if not self.alone(side, i):
                query = self.along(queries[i - 1][0], self.linear(args, rest[0], rest[1], i))
                require({*query} <= {None, ""}, f"the query of head {name} depends on more than the claimed count")
                above = query.get(None, 0)
                for distance in (above, query.get("", 0) - above):
                    # Whether T >= 0 or T <= -1, the number is at least that far from 0.
                    rates.append(self.lower(distance * key * (QUERY if growing else 2), i) or Fraction(0))
        rate = min(rates)
        require(rate > 0, f"head {name}: the number that it tests is not known to be away from 0")
        series = "ramp" if growing else "2x/(1 + 2x)"
        if self.cutoff:
            series, error = "0", int(self._exact(name, rate) < self.cutoff)
        else:
            error = ramp(rate) if growing else share(of_x(rate, series), ONE)
        own = [[None, 0] if one.even_i else [0, None] for one in CLASSES]
        wrong = [own[i - 1] if self.alone(side, i) else [error, error] for i in self.places]
        return self._found(name, rate, series, wrong)

    # ---- clips ----

    def along(self, form: Combination, line_of: Combination) -> Combination:
        """Return a form rewritten with "" for the integer T, also if T is a linear function of i and n."""
        own, total = form.get(None, 0), line_of.get(None, 0)
        if not {*line_of} <= {None} or not isinstance(total, Ratio) or any(isinstance(k, tuple) for k in form):
            return super().along(form, line_of)
        first, second = line(own), line(total)
        if first is None or second is None:
            return form
        of_first, of_second = next(pair for pair in zip(first, second, strict=True) if pair[1])
        # T is a line in i and n too, so the position may be expressed by T.
        rest = combine((1, form), (-of_first / of_second, line_of), (of_first / of_second, {"": 1}))
        return form if isinstance(rest.get(None), Ratio) else rest

    def _fixed(self, form: Combination, i: int) -> Any:
        if not {*form} <= {None}:
            return None
        number = form.get(None, 0)
        if not isinstance(number, Ratio):
            return min(max(number, 0), 1)
        low, high = self.lower(number, i), self.upper(number, i)
        return 0 if high is not None and high <= 0 else 1 if low is not None and low >= 1 else None

    def _edge(self, op: str, i: int) -> bool:
        return CLASSES[i - 1].first if op == "Y" else op == "X" and CLASSES[i - 1].last

    def where(self, i: int) -> str:
        """Return the words for a class in messages."""
        return str(CLASSES[i - 1])

    def about(self, i: int) -> tuple[Any, ...]:
        """A table of truths belongs to one class."""
        return (i,)

    def _at_zero(self, node: int, offset: int, i: int) -> Combination:
        return self._condition(node, offset, i)

    def _reach(self, line_of: Combination, sizes: dict[Any, Any], goal: int, i: int) -> Any:
        counts = [(a, a * sizes[key][1]) for key, a in line_of.items() if key is not None]
        low, high = (
            line_of.get(None, 0) + sum(part for a, part in counts if (a > 0) == most) for most in (False, True)
        )
        if goal:
            end = self.upper(high, i)
            return None if end is not None and end < 0 else (0, high)
        end = self.lower(low, i)
        return None if end is not None and end > -1 else (low, -1)

    def _clip(self, k: str, form: Combination, ends: dict[Any, Any], line: Combination, i: int) -> Any:
        low: Any = Fraction(0)
        high: Any = Fraction(0)
        for key, a in form.items():
            up = positive(a, CLASSES[i - 1].places)
            least, most = ends[key] if key is not None and up else ends[key][::-1]
            if key is None:
                least = most = 1
            elif not up:
                message = f"a weight in a clip of '{k}' may change its sign {self.where(i)}"
                require(positive(-1 * a, CLASSES[i - 1].places), message)
            bottom, top = self.lower(a * least, i), self.upper(a * most, i)
            low, high = low + (-INFINITE if bottom is None else bottom), high + (INFINITE if top is None else top)
        require(high <= 0 or low >= 1 or low == high, f"the error bounds do not decide a clip of '{k}' {self.where(i)}")
        return min(max(low, 0), 1)

    # ---- lemmas ----

    def _holds_table(self, node: int, column: list[Combination], i: int) -> bool:
        _, _, _, ((scale, _),), offset = self.nodes[node]
        return all(column[j - 1] == self._condition(node, scale * QUERY + offset, j) for j in self.places)

    def _beside(self, where: Any, side: str, backwards: bool, i: int, step: int) -> bool:
        strict = (side, backwards, step) in (("<", False, -1), (">", True, 1))
        if not strict and (side, backwards, step) not in (("L", False, -1), ("R", True, 1)):
            return False
        node, turned = where
        beside = [self.bits[node][j - 1] for j, other in enumerate(CLASSES, start=1)
                  if neighbours(CLASSES[i - 1], other, step)]  # fmt: skip
        passed = strict or self.bits[node][i - 1] == int(turned)  # the position itself is not in the way
        return passed and all(bit == int(not turned) for bit in beside)


SIDES = (("L", False), ("", False), ("R", True), ("", True))
"""The pairs of a side and a direction of tie-breaking (True: backwards) that a head may have."""
NUMBER = "max((x + 2x^4 + 3x^9/(1 - x^7)^2)/(1 + x + x^4), x^3/(1 - x^5)^2)"
TABLE, ALTERNATING = "2t/(1 + 2t), t = x + x^4 + x^9/(1 - x^7)", "2t/(1 + 2t), t = x + x^9/(1 - x^7)"
MOST_RATE = Fraction(64)
"""The largest rate of a head that looks for the nearest position, large enough for every purpose."""


def moved(number: Value, place: Polynomial) -> Value:
    """Return a function with another polynomial in place of the position i."""
    return ratios.at(number, (place, *NAMES[1:]))


def names_of(number: Value) -> set[str]:
    """Return the names, among i and n, that a function depends on."""
    found = ratios.of(number)
    powers = [powers for poly in (found.top, *found.factors) for powers in poly.terms]
    return {name for k, name in enumerate("in") if any(power[k] for power in powers)}


def dot(left: Sequence[Value], right: Sequence[Value]) -> Value:
    """Return the sum of products of two sequences."""
    return sum((a * b for a, b in zip(left, right, strict=True)), 0)


def neighbours(one: SiteClass, other: SiteClass, step: int) -> bool:
    """Return True if the position before (step -1) or after (step 1) a position of the class `one` can be in the class
    `other`."""
    fits = other.even_n == one.even_n and other.even_i != one.even_i and not (other.first and other.last)
    return fits and not (one.first or other.last if step < 0 else one.last or other.first)


def orders(side: str, ascending: bool) -> Iterator[tuple[Polynomial, ...]]:
    """Yield i, n, j and w as polynomials in numbers >= 0, for each possible order of query i, other position j and
    winner w. j is before w if `ascending`, else after it; a side "L" or "R" puts i at the end or at the beginning."""
    pair = [(2, 0), (3, 1)] if ascending else [(3, 0), (2, 1)]
    before, after = [*pair, (0, 0)], [(0, 0), *pair]
    between = [pair[0], (0, 0), pair[1]]
    for order in {"L": [before], "R": [after], "": [before, between, after]}[side]:
        found, here = dict[int, Polynomial](), FIRST
        for slack, (which, gap) in enumerate(order):
            here = found[which] = beyond(here, gap, slack)
        yield found[0], beyond(here, 0, 3), found[2], found[3]


def quadratic(column: list[Value], name: str) -> tuple[Value, Value]:
    """Return the coefficients of j and j^2 in a key. Raises Rejected if the key is not a polynomial of degree 2 in j,
    plus a summand that does not depend on j."""
    require(len({*column}) == 1, f"the keys of head {name} are not polynomials of degree 2 in the position")
    one, two, three = (moved(column[0], FIRST.plus(FIRST, more)) for more in range(3))
    second = (three - 2 * two + one) * Fraction(1, 2)
    first = two - one - 3 * second
    rest = column[0] - first * QUERY - second * QUERY * QUERY
    require("i" not in names_of(rest), f"the keys of head {name} are not polynomials of degree 2 in the position")
    return first, second


def of_x(rate: Fraction, series: str) -> Decimal:
    """Return an upper bound of a series at x = e^-rate."""
    low, x = exp(-rate)
    if series == "x":
        return x
    if series in ("2x/(1 + x)", "2x/(1 + 2x)"):
        twice = UP.multiply(Decimal(2), x)
        return UP.divide(twice, DOWN.add(ONE, x if series == "2x/(1 + x)" else DOWN.multiply(Decimal(2), x)))
    power = [ONE, *accumulate(repeat(x, 9), UP.multiply)]
    rest, more = (DOWN.subtract(ONE, power[k]) for k in (7, 5))
    require(rest > 0 and more > 0, "too large: a rate is too small for its series")
    tail, two = UP.divide(power[9], rest), Decimal(2)
    if series == NUMBER:
        least = DOWN.add(DOWN.add(ONE, low), DOWN.multiply(*[DOWN.multiply(low, low)] * 2))
        top = UP.add(UP.add(x, UP.multiply(two, power[4])), UP.divide(UP.multiply(Decimal(3), tail), rest))
        return max(UP.divide(top, least), UP.divide(UP.divide(power[3], more), more))
    t = UP.add(UP.add(x, tail), power[4] if series == TABLE else ZERO)
    return UP.divide(UP.multiply(two, t), DOWN.add(ONE, DOWN.multiply(two, t)))


def ramp(rate: Fraction) -> int:
    """Return the largest share of wrong weight of a ramp, in units of 1/GRID, over all queries from 2 on."""
    last = max(2, ceil(2 / rate))
    require(last <= MOST_QUERIES, "too large: a rate is too small for a bound of every length")
    ratios = [UP.multiply(UP.divide(Decimal(i + 1), Decimal(2)), exp(-rate * Fraction((i - 1) ** 2 + 1, i))[1])
              for i in range(2, last + 1)]  # fmt: skip
    return max(share(ratio, DOWN.add(ONE, DOWN.divide(ratio, ONE))) for ratio in ratios)
