"""Places the heads of counts, comparisons and predicates of counts in the layers of a program.

Per count: its mean c/m a layer after the Boolean, the Boolean "some" beside it, 1/m in layer 2, the look-up after
both. Positions, lengths and predicates of them are columns of the position encoding and need no head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from hardsim.lang.core import AtLeast, CountOf, Lit, Numeric
from hardsim.spec import counting
from hardsim.spec.columns import PositionFunction, PredicateColumn, UserPredicate
from hardsim.spec.counting import CountForms, Side
from hardsim.spec.ir import ONE, Affine, Kind
from hardsim.spec.operators import HALF, Block, conjunction
from hardsim.spec.refuse import Method
from hardsim.spec.regimes import Regime, expression


class Place(Protocol):
    """What the counts need of the lowering as a whole."""

    regime: Regime

    def put(self, name: str, layer: int, block: Block, meaning: str) -> str:
        """Place a block that writes a coordinate; returns the name."""

    def form(self, lit: Lit) -> Affine:
        """A literal as a linear form."""

    def layer_of(self, lit: Lit) -> int:
        """The layer that writes a literal's coordinate."""

    def read(self, name: str) -> Affine:
        """A coordinate, marked as wanted."""

    def marker(self, which: Literal["first", "last"]) -> str:
        """The coordinate of a marker (layer 1)."""

    def encode(self, name: str, value: PositionFunction) -> str:
        """A coordinate of the position encoding."""

    def is_true(self, lit: Lit) -> bool:
        """Whether a literal is the constant `true`."""


@dataclass
class CountLowering:
    """Lowers the counting nodes of one core.

    `weights` is the largest sum of |coefficients| of a comparison that reads a count, `users` the user's predicates
    by name: their text and their meaning.
    """

    place: Place
    method: Method
    weights: Mapping[CountOf, int]
    users: Mapping[str, tuple[str, UserPredicate]]

    # ---- comparisons ----

    def comparison(self, node: AtLeast, name: str) -> tuple[int, Block, bool]:
        """The layer, the block, and whether its clip reads a sum of looked-up counts."""
        if self.method == "sign" and not all(self._plain(count) for _, count in node.terms):
            return (*self._sign(node, name), False)
        total = Affine.constant(node.constant)
        layer = 1
        for coefficient, count in node.terms:
            form, ready = self._value(count)
            total += form.scaled(coefficient)
            layer = max(layer, ready)
        return layer, Block((), (counting.compare(total),)), layer > 1

    def _plain(self, count: CountOf) -> bool:
        return self.place.is_true(count.arg)

    def _value(self, count: CountOf) -> tuple[Affine, int]:
        """A count as a linear form, with the layer in which it is there: exact for positions and lengths, else
        looked up."""
        if self._plain(count):
            return self._extent(count.side), 0
        forms, ready = self._forms(count)
        out = f"{self._title(count)}.read"
        position = Affine.coordinate(self._column("i"))
        head = counting.look_up(
            forms, position, out, self._with_keys(), max(1, self.weights.get(count, 1)), Kind.LOOKUP
        )
        self.place.put(out, ready, Block((head,), ()), self._title(count))
        form = self.place.read(out) + self.place.read(forms.some) - Affine.constant(1)
        return form, ready

    def _extent(self, side: Side) -> Affine:
        """How many positions a side has: pos, n - i + 1 or len."""
        if side == "L":
            return Affine.coordinate(self._column("i"))
        if side == "":
            return Affine.coordinate(self._column("n"))
        return Affine.of([(self._column("n"), 1), (self._column("i"), -1), (ONE, 1)])

    def _column(self, text: str) -> str:
        return self.place.encode(text, expression(text))

    def _with_keys(self) -> Regime:
        """The regime, with the key columns of its look-ups in the position encoding."""
        for text in self.place.regime.look_up:
            self._column(text)
        return self.place.regime

    def _title(self, count: CountOf) -> str:
        form = self.place.form(count.arg)
        if len(form.terms) > 1:
            return f"#{count.side}[{form}]"
        name = form.terms[0][0]  # the coordinate of a set of symbols has its brackets already
        return f"#{count.side}{name}" if name.startswith("[") else f"#{count.side}[{name}]"

    def _forms(self, count: CountOf) -> tuple[CountForms, int]:
        """The mean, the inverse and "some" of a count, with the layer where a head can use them."""
        place, side, title = self.place, count.side, self._title(count)
        mean, start = self._mean(count)
        some = f"{title}.some"
        place.put(some, start, counting.some(side, place.form(count.arg), some, place.regime), f"{title} > 0")
        return CountForms(side, mean, self._inverse(side), some), max(start, 2) + 1

    def _mean(self, count: CountOf) -> tuple[str, int]:
        """The coordinate that holds c/m, and the layer that writes it."""
        side, title, value = count.side, self._title(count), self.place.form(count.arg)
        start = self.place.layer_of(count.arg) + 1
        mean = f"{title}.mean"
        block = counting.mean(side, value, mean, f"the mean of {value}")
        return self.place.put(mean, start, block, f"{title} / {counting.SIZES[side]}"), start

    def _inverse(self, side: Side) -> str:
        """1/m, by uniform attention over a marker (layer 2)."""
        name = f"1/{counting.SIZES[side]}.mean"
        marker = self.place.marker("last" if side == "R" else "first")
        block = counting.mean(side, self.place.read(marker), name, f"the mean of {marker}")
        return self.place.put(name, 2, block, f"1/{counting.SIZES[side]}")

    # ---- the sign test ----

    def _sign(self, node: AtLeast, name: str) -> tuple[int, Block]:
        (side,) = {count.side for _, count in node.terms}
        inverse = self._inverse(side)
        means = Affine()
        ready = 2
        for coefficient, count in node.terms:
            if self._plain(count):
                means += Affine.constant(coefficient)
                continue
            mean, start = self._mean(count)
            means += Affine.coordinate(mean).scaled(coefficient)
            ready = max(ready, start)
        y = means + Affine.coordinate(inverse).scaled(node.constant + HALF)
        size = sum(abs(coefficient) for coefficient, _ in node.terms) + abs(node.constant)
        alone, known = self._alone(side)
        regime = self.place.regime
        self._column(regime.sign_key)
        block = counting.sign(side, y, means + Affine.constant(node.constant), size, alone, name, regime)
        return max(ready, known) + 1, block

    def _alone(self, side: Side) -> tuple[Affine, int]:
        """The Boolean "only one position is visible", and the layer that writes it."""
        if side == "L":
            return self.place.read(self.place.marker("first")), 1
        if side == "R":
            return self.place.read(self.place.marker("last")), 1
        edges = [self.place.read(self.place.marker(which)) for which in ("first", "last")]
        return self.place.read(self.place.put("single", 2, conjunction(edges), "first & last")), 2

    # ---- predicates ----

    def column(self, node: Numeric) -> str | None:
        """The encoding coordinate of a predicate of positions or lengths; None if it is of a real count."""
        if self.place.is_true(~node.count.arg):
            return self._predicate(node, 0, 0, node.offset)  # a count of `false` is 0
        if not self._plain(node.count):
            return None
        of_i = {"L": node.scale, "R": -node.scale, "": 0}[node.count.side]
        of_n = 0 if node.count.side == "L" else node.scale
        extra = node.scale if node.count.side == "R" else 0
        return self._predicate(node, of_i, of_n, node.offset + extra)

    def _predicate(self, node: Numeric, of_i: int, of_n: int, offset: int) -> str:
        definition, user = self.users.get(node.name, ("", None))
        column = PredicateColumn(node.name, node.params, of_i, of_n, offset, definition, user)
        return self.place.encode(str(column), column)

    def predicate(self, node: Numeric, name: str) -> tuple[int, Block]:
        """A predicate of a count, looked up in its column."""
        forms, ready = self._forms(node.count)
        value = Affine.coordinate(self._predicate(node, node.scale, 0, node.offset))
        at_zero = Affine.coordinate(self._predicate(node, 0, 0, node.offset))
        head = counting.look_up(forms, value, f"{name}.read", self._with_keys(), 1, Kind.TABLE)
        clips = counting.table(head.out, self.place.read(forms.some), at_zero)
        return ready, Block((head,), clips)
