"""Lower a core formula of counts to a network of means whose values are rounded after each sublayer (regime `rounded`;
ours, after Knee-Deep's rounding down).

All values are 0 or 1, but for one sum per comparison. For "sum of l #[f] + k >= 0" the head reads `sum of l f`, and at
position 0 the number that makes the mean of m positions

    y = (sum of l #[f] + k + 1/2) / m,

which is never 0. Rounded down to a multiple x of 2^-p it is at least 0 if y > 0, and at most -2^-p if y < 0. So z = 1 +
2^p x is an integer, at least 1 if the comparison is true and at most 0 if not: clip(z) is its truth. That holds for
every length and for every p >= 0, with weights that do not depend on the length.

Rounded to the nearest multiple, y becomes 0 if -2^-(p+1) <= y < 0, and the comparison is true by mistake: where it
fails by 1/2, from m = 2^p on. With `bias` the head reads 2^-(p+1) less. Then y > 0 becomes at least 0: y - 2^-(p+1) is
above -2^-(p+1). And y < 0 becomes at most -2^-p, as y - 2^-(p+1) is below -2^-(p+1).

A conjunction of z with k literals b of earlier layers is clip(z - B sum of (1 - b)), where |z| <= B; the negation of z
is 1 - z. Conjunctions of earlier literals alone are clip(sum of b - (k - 1)), and an exclusive or is clip(a - b) +
clip(b - a). A comparison of all positions (`#`) is made false at position 0, as a conjunction with "not position 0",
since it must have one value there to be counted.
"""

from __future__ import annotations

from dataclasses import replace

from hardsim.compiling.from_ltl.means import BOS_MARK, HALF, CountComparison, MeanLowering
from hardsim.compiling.from_ltl.refusals import countable
from hardsim.lang.ast import BOS
from hardsim.lang.core import And, Core, Letters, Lit, Node, Xor
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE, Mask, Rational
from hardsim.network.rounding import Rounding, RoundingMode
from hardsim.program.hard_attention import Affine, Head, Kind, Letter, Program, ProgramLayer, Unit, Weighting
from hardsim.program.regimes import ROUNDED

THEOREM = "rounding (ours)"
ACCEPT = "accept"
"""The output coordinate if the root is a negation."""


@dataclass(frozen=True, slots=True)
class RoundedMeans:
    """The rounding of a network of means; with `bias` its heads read half a unit less, so that rounding to the nearest
    multiple never makes a negative number 0."""

    rounding: Rounding
    bias: bool = False

    def __str__(self) -> str:
        """Return it as `--rounding` names it."""
        return f"biased:{self.rounding.bits}" if self.bias else str(self.rounding)


ROUNDED_DOWN = RoundedMeans(Rounding(RoundingMode.FLOOR, 8))
"""The default of regime `rounded`."""


def rounding_text(program: Program) -> str | None:
    """Return how a compiled program rounds, as `--rounding` names it; None for programs without rounding."""
    rounding = program.rounding
    if rounding is None:
        return None
    forms = [dict(form.terms) for head in program.heads for _, form in head.values]
    # Half a unit alone makes the constant that a head reads a fraction.
    biased = any(form.get(ONE, 0).denominator > 1 for form in forms)
    return str(RoundedMeans(rounding, biased))


def rounding_of(program: Program) -> str | None:
    """Return the option that chose the rounding of a compiled program; None for the default and for programs without
    rounding."""
    text = rounding_text(program)
    return None if text == str(ROUNDED_DOWN.rounding) else text


def lower_rounded(core: Core, rounded: RoundedMeans) -> Program:
    """Return the program of a formula of counts in regime `rounded`. Raises Unsupported as `countable`."""
    return _Rounded(countable(core, ROUNDED), rounded).program()


@dataclass(frozen=True, slots=True)
class _Integer:
    """A form with an integer value that is at least 1 iff a node is true: |form| <= bound."""

    form: Affine
    bound: Rational

    def negated(self) -> _Integer:
        # At most 0 becomes at least 1: the form has integer values.
        return _Integer(Affine.constant(1) - self.form, self.bound + 1)

    def gated(self, literals: list[Affine]) -> _Integer:
        """Return the form of a conjunction with literals that earlier layers have written."""
        form = self.form
        for literal in literals:
            form += (literal - Affine.constant(1)).scaled(self.bound)
        return _Integer(form, self.bound * (1 + len(literals)))


class _Rounded(MeanLowering):
    """The lowering to means and rounded values."""

    def __init__(self, core: Core, rounded: RoundedMeans) -> None:
        super().__init__(core, ONE)
        self.rounding, self.bias = rounded.rounding, rounded.bias
        self.sums = {number: f"sum{number}" for number in self.comparisons}

    def form(self, lit: Lit) -> Affine:
        """Return the form of a literal that an earlier layer has written: 1 if it is true, 0 otherwise."""
        own = Affine.coordinate(self.names[lit.node])
        return Affine.constant(1) - own if lit.negated else own

    def program(self) -> Program:
        """Return the program made of all layers."""
        return Program(
            alphabet=self.core.alphabet,
            letters=tuple(self._letters()),
            encodings=(),
            layers=tuple(self._layer(index) for index in range(1, self.depth + 1)),
            output=ACCEPT if self.core.root.negated else self.names[self.core.root.node],
            bos=True,
            regime=ROUNDED.name,
            meanings=self.meanings(),
            rounding=self.rounding,
        )

    def _letters(self) -> list[Letter]:
        """Return the embedding: position 0, and each set of symbols."""
        found, root = {BOS_MARK: frozenset({BOS})}, self.core.root
        for number, name in self.names.items():
            node = self.core.nodes[number]
            if isinstance(node, Letters) and isinstance(node.symbols, frozenset):
                if name != ONE:
                    found[name] = node.symbols
                if root == Lit(number, True):
                    found[ACCEPT] = frozenset(self.core.alphabet) - node.symbols
        return [Letter(name, symbols) for name, symbols in found.items()]

    def _layer(self, index: int) -> ProgramLayer:
        new = [number for number in self.written if self.ready[number] == index]
        units: list[Unit] = []
        integers: dict[int, _Integer] = {}
        for number in new:
            node = self.core.nodes[number]
            if isinstance(node, Xor):
                x = self.form(Lit(node.left)) - self.form(Lit(node.right))
                forms = [x, x.scaled(-1)]
            else:
                integers[number] = self._integer(number, node, integers)
                forms = [integers[number].form]
            # Sums stay in the stream: no later layer reads them, so no unit is spent on removing them.
            units += [Unit(((self.names[number], 1),), form) for form in forms]
        root, biases = self.core.root, dict[str, Rational]()
        if root.negated and root.node in new:
            own = self.names[root.node]
            units += [replace(unit, outs=((ACCEPT, -1),)) for unit in units if unit.out == own]
            biases[ACCEPT] = 1
        return ProgramLayer(tuple(self._heads(new)), tuple(units), tuple(biases.items()))

    def _integer(self, number: int, node: Node, known: dict[int, _Integer]) -> _Integer:
        """Return the integer form of a node that is no exclusive or."""
        if number in self.comparisons:
            compared, size = self.comparisons[number], 2**self.rounding.bits
            form = Affine.of({self.sums[number]: size}) + Affine.constant(1)
            # A head reads at most the sum of |l|, and |k| + 1/2 more at position 0. Bias and rounding add a unit each.
            most = sum(abs(value) for value, _ in compared.terms) + abs(compared.constant) + 1
            plain = _Integer(form, size * most + 3)
            return plain if compared.side == "L" else plain.gated([Affine.constant(1) - Affine.coordinate(BOS_MARK)])
        assert isinstance(node, And)
        newest = self.fused.get(number)
        if newest is None:
            form = Affine.constant(1 - len(node.args))
            for lit in node.args:
                form += self.form(lit)
            return _Integer(form, len(node.args))
        below = known[newest.node]
        own = below.negated() if newest.negated else below
        return own.gated([self.form(lit) for lit in node.args if lit != newest])

    def _heads(self, new: list[int]) -> list[Head]:
        heads = []
        for side, mask, name in (("L", Mask.FUTURE, "mean"), ("", Mask.NONE, "mean.all")):
            own = [number for number in new if number in self.comparisons and self.comparisons[number].side == side]
            if own:
                values = tuple((self.sums[number], self._read(self.comparisons[number])) for number in own)
                which = ", ".join(self.text(number) for number in own)
                heads.append(Head(name.replace("mean", f"mean{self.ready[own[0]]}"), mask, Weighting.AVERAGE, values,
                                  kind=Kind.UNIFORM, purpose=f"the difference that decides {which}",
                                  theorem=THEOREM))  # fmt: skip
        return heads

    def _read(self, compared: CountComparison) -> Affine:
        """Return the form that the head of a comparison reads; see the module."""
        total = Affine.of({BOS_MARK: self.weight_at_bos(compared)})
        for value, lit in compared.terms:
            total += self.form(lit).scaled(value)
        return total - Affine.constant(self.rounding.unit * HALF) if self.bias else total
