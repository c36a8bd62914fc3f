"""Lower a core formula of counts to a network of means, relus and layer norms (regime `layer-norm`; ours).

**Stream.** Every value v has two coordinates, v and -v, so that the mean of a row is 0. Live values are s or -s: the
constant `c` = s, `bos` (s at position 0), the letters, and one value for each other node of the core, which is s until
its node is written. Scratch values are 0 between layers: one sum for each comparison of a layer, and `delta`. With P
pairs, of which P0 are live, LayerNorm with epsilon 0 makes numbers +-x, x > 0 the same in a row, of P0 pairs +-s for
s = sqrt(P/P0). P0 = u m^2 and P = u k^2, with u free of squares, make s = k/m rational.

**Attention.** Each head takes a mean, of positions 0 to i (`#L`) or of all (`#`). For a comparison "sum of l #[f] + k
>= 0", where f has the truth t(f) in {0, 1} at position 0, the head reads `sum of l (c + f)/2 + w (c + bos)/2` with w =
k + 1/2 - sum of l t(f), and gets `y = s (sum of l #[f] + k + 1/2) / m` of m positions. That is never 0: |y| >= s/(2m).
It also reads (c + bos)/8, and gets delta = s/(4m), at most half of |y|. In a layer with both kinds of counts delta is a
mean of all positions, which is the least.

**Hidden units.** With clamp(x, d) = relu(x + d) - relu(x - d) - d, a new comparison becomes clamp(y, delta) = +-delta.
A conjunction of it with k literals b of earlier layers becomes clamp(x - (B + 1) sum of (c - b)/2, delta), where |x| <=
B s; a conjunction of earlier literals alone is clamp(sum of b - (k - 1) c, delta), and an exclusive or is min(|a - b|,
2 delta) - delta. An old value b becomes 2 relu(b - c + delta) - delta = +-delta, and scratch values become 0. Then all
live values are +-delta, which the norm makes +-s again: exactly, at every length. Layers without comparisons have
no attention, and use c in place of delta.

A comparison of all positions (`#`) has its value at position 0 as well, where it must be the same for every word to be
counted: there it is made false, as a conjunction with "not position 0".
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from hardsim.compiling.from_ltl.means import BOS_MARK, HALF, CountComparison, MeanLowering
from hardsim.compiling.from_ltl.refusals import countable
from hardsim.lang.ast import BOS
from hardsim.lang.core import And, Core, Letters, Lit, Node, Xor
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask, Rational
from hardsim.program.hard_attention import Affine, Head, Kind, Letter, Program, ProgramLayer, Unit, Weighting
from hardsim.program.regimes import LAYER_NORM

THEOREM = "layer norm (ours)"
C, DELTA = "c", "delta"
SHARE = Fraction(1, 8)
"""Half of the least |y|: the number that the head of delta reads at position 0, over 2 s."""


def lower_normed(core: Core) -> Program:
    """Return the program of a formula of counts in regime `layer-norm`. Raises Unsupported as `countable`."""
    return _Normed(countable(core, LAYER_NORM)).program()


def pairs_of(live: int, scratch: int) -> tuple[int, Fraction]:
    """Return the least number P of pairs, of which `live` are not 0 and `scratch` are, for which sqrt(P / live) is
    rational; and that root, s."""
    square = max(m for m in range(1, isqrt(live) + 1) if live % (m * m) == 0)
    free = live // (square * square)
    k = square
    while free * k * k < live + scratch:
        k += 1
    return free * k * k, Fraction(k, square)


@dataclass(frozen=True, slots=True)
class _Signed:
    """A linear form whose sign is a node's truth, and which is at least delta in size: |form| <= bound * s."""

    form: Affine
    bound: Fraction


def _difference(left: Affine, *right: tuple[Affine, Rational]) -> Affine:
    for form, factor in right:
        left += form.scaled(-factor)
    return left


class _Normed(MeanLowering):
    """The lowering to means and layer norms. `live` are the values that are never 0, `sums` the most comparisons of a
    layer."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, C)
        self.live = [BOS_MARK, *dict.fromkeys(name for name in self.names.values() if name != C)]
        counted = [sum(self.ready[k] == layer for k in self.comparisons) for layer in range(1, self.depth + 1)]
        self.sums = max(counted, default=0)
        self.width, self.size = pairs_of(len(self.live) + 1, self.sums + bool(self.sums))

    def form(self, lit: Lit) -> Affine:
        """Return the form of a literal that an earlier layer has written: s if it is true, -s otherwise."""
        name = self.names[lit.node]
        return Affine.coordinate(f"-{name}" if lit.negated else name)

    def program(self) -> Program:
        """Return the program made of all layers."""
        root = self.core.root
        name = self.names[root.node]
        scratch = [f"sum{k + 1}" for k in range(self.sums)] + [DELTA] * bool(self.sums)
        names = [C, *self.live, *scratch]
        names += [f"0 ({k + 1})" for k in range(self.width - len(names))]
        layers = [self._layer(index) for index in range(1, self.depth + 1)]
        if not layers:
            # A formula without counts has a layer that only norms, and changes nothing: a network without norms would
            # be taken for one whose output is 0 or 1.
            layers = [ProgramLayer((), (), (), None, Fraction(0))]
        return Program(
            alphabet=self.core.alphabet,
            letters=tuple(self._letters()),
            encodings=(),
            layers=tuple(layers),
            output=f"-{name}" if root.negated else name,
            coordinates=tuple(part for one in names for part in (one, f"-{one}")),
            bos=True,
            threshold=0,
            regime=LAYER_NORM.name,
            meanings=self.meanings(),
        )

    def _letters(self) -> list[Letter]:
        """Return the embedding: s or -s for every live value."""
        alphabet = frozenset(self.core.alphabet)
        true = {C: alphabet | {BOS}, BOS_MARK: frozenset({BOS})}
        for number, name in self.names.items():
            node = self.core.nodes[number]
            held = node.symbols if isinstance(node, Letters) and isinstance(node.symbols, frozenset) else None
            true.setdefault(name, alphabet | {BOS} if held is None else held)
        found = []
        for name, symbols in true.items():
            for some, value in ((symbols, self.size), (alphabet.union({BOS}) - symbols, -self.size)):
                if some:
                    found += [Letter(name, some, value), Letter(f"-{name}", some, -value)]
        return found

    # ---- one layer ----

    def _layer(self, index: int) -> ProgramLayer:
        new = [number for number in self.written if self.ready[number] == index]
        compared = [number for number in new if number in self.comparisons]
        sums = {number: f"sum{k + 1}" for k, number in enumerate(compared)}
        size = DELTA if compared else C
        units: list[Unit] = []
        if compared:
            units += self._rescaled([self.names[number] for number in new], list(sums.values()))
        signed: dict[int, _Signed] = {}
        minus: list[str] = []
        for number in new:
            name, node = self.names[number], self.core.nodes[number]
            units += self._filler(name)
            if isinstance(node, Xor):
                units += self._exclusive(node, name, size)
            else:
                signed[number] = self._signed(number, node, sums, signed)
                units += self._clamp(signed[number].form, name, size)
            minus.append(name)
        units.append(self._added(Affine.coordinate(size), dict.fromkeys(minus, -1)))
        return ProgramLayer(tuple(self._heads(index, sums)), _merged(units), (), None, Fraction(0))

    def _added(self, form: Affine, outs: dict[str, Rational]) -> Unit:
        """Return a relu of a form that adds multiples to values, in both coordinates of each."""
        pairs = [pair for name, weight in outs.items() for pair in ((name, weight), (f"-{name}", -weight))]
        return Unit(tuple(pairs), form, clip=False)

    def _filler(self, name: str) -> list[Unit]:
        """Return the unit that removes the s of a value that is not written yet."""
        return [self._added(Affine.coordinate(name), {name: -1})]

    def _clamp(self, form: Affine, name: str, size: str) -> list[Unit]:
        """Return relu(x + d) - relu(x - d); the caller adds -d."""
        d = Affine.coordinate(size)
        return [self._added(form + d, {name: 1}), self._added(form - d, {name: -1})]

    def _exclusive(self, node: Xor, name: str, size: str) -> list[Unit]:
        """Return min(|a - b|, 2 d) for the two literals; the caller adds -d."""
        x = self.form(Lit(node.left)) - self.form(Lit(node.right))
        twice = Affine.of({size: 2})
        signs = [x, x.scaled(-1)]
        ups = [self._added(one, {name: 1}) for one in signs]
        return ups + [self._added(one - twice, {name: -1}) for one in signs]

    def _rescaled(self, new: list[str], sums: list[str]) -> list[Unit]:
        """Return the units that make every old live value +-delta, and scratch values 0."""
        delta, unwritten = Affine.coordinate(DELTA), set(new)
        old = [name for name in self.live if name not in unwritten]
        outs: dict[str, Rational] = dict.fromkeys((*old, DELTA), -1)
        units = [self._added(delta, outs | {C: 1}), self._added(Affine.coordinate(C), {C: -1})]
        for name in old:
            b = Affine.coordinate(name)
            units.append(self._added(b - Affine.coordinate(C) + delta, {name: 2}))
        for name in (*old, *sums):
            units += [self._added(Affine.coordinate(name), {name: -1})]
            units += [self._added(Affine.coordinate(f"-{name}"), {name: 1})]
        return units

    def _signed(self, number: int, node: Node, sums: dict[int, str], known: dict[int, _Signed]) -> _Signed:
        """Return the form whose sign is the truth of a node."""
        if number in self.comparisons:
            found = self.comparisons[number]
            bound = Fraction(sum(abs(value) for value, _ in found.terms) + abs(found.constant) + 1)
            plain = _Signed(Affine.coordinate(sums[number]), bound)
            # The value of a comparison of all positions is made false at position 0.
            return plain if found.side == "L" else self._gated(plain, [Affine.coordinate(f"-{BOS_MARK}")])
        assert isinstance(node, And)
        newest = self.fused.get(number)
        if newest is None:
            form = _difference(Affine(), (Affine.coordinate(C), len(node.args) - 1))
            for lit in node.args:
                form += self.form(lit)
            return _Signed(form, Fraction(2 * len(node.args)))
        below = known[newest.node]
        signed = _Signed(below.form.scaled(-1 if newest.negated else 1), below.bound)
        return self._gated(signed, [self.form(lit) for lit in node.args if lit != newest])

    def _gated(self, signed: _Signed, literals: list[Affine]) -> _Signed:
        """Return the form of a conjunction with literals that earlier layers have written."""
        form, factor = signed.form, signed.bound + 1
        for literal in literals:
            form += (literal - Affine.coordinate(C)).scaled(factor * HALF)
        return _Signed(form, signed.bound + factor * len(literals))

    def _heads(self, index: int, sums: dict[int, str]) -> list[Head]:
        sides = sorted({self.comparisons[number].side for number in sums}, reverse=True)
        heads = []
        for side in sides:
            values: list[tuple[str, Affine]] = []
            own = [number for number in sums if self.comparisons[number].side == side]
            for number in own:
                values += _pair(sums[number], self._read(self.comparisons[number]))
            if side == sides[-1]:  # "" comes last: the mean of all positions is the least
                values += _pair(DELTA, Affine.of({C: SHARE, BOS_MARK: SHARE}))
            which = ", ".join(self.text(number) for number in own)
            mask = Mask.FUTURE if side == "L" else Mask.NONE
            name = f"mean{index}" + ("" if side == "L" else ".all")
            heads.append(Head(name, mask, Weighting.AVERAGE, tuple(values), kind=Kind.UNIFORM,
                              purpose=f"the difference that decides {which}", theorem=THEOREM))  # fmt: skip
        return heads

    def _read(self, compared: CountComparison) -> Affine:
        """Return the form that the head of a comparison reads; see the module."""
        total, weight = Affine(), self.weight_at_bos(compared)
        for value, lit in compared.terms:
            total += (Affine.coordinate(C) + self.form(lit)).scaled(value * HALF)
        return total + Affine.of({C: weight * HALF, BOS_MARK: weight * HALF})


def _pair(name: str, form: Affine) -> list[tuple[str, Affine]]:
    return [(name, form), (f"-{name}", form.scaled(-1))]


def _merged(units: list[Unit]) -> tuple[Unit, ...]:
    """Return the hidden units with one unit for each form; units that write nothing are left out."""
    outs: dict[Affine, dict[str, Rational]] = {}
    for unit in units:
        total = outs.setdefault(unit.pre, {})
        for name, weight in unit.outs:
            total[name] = total.get(name, 0) + weight
    kept = {form: {name: value for name, value in total.items() if value} for form, total in outs.items()}
    return tuple(Unit(tuple(total.items()), form, clip=False) for form, total in kept.items() if total)
