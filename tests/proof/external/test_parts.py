"""The parts of proofs about external networks: machines of specifications, supports, affine enclosures; refusals."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from hardsim.network.dense import Activation, Mlp, Network, Norm, Readout
from hardsim.proof.external import affine
from hardsim.proof.external.affine import (
    CURVATURE,
    AffineForm,
    LinearPart,
    MlpForm,
    NormForm,
    activated,
    mean_square,
    root,
)
from hardsim.proof.external.columns import Columns, classes_of
from hardsim.proof.external.demands import PrefixDemands, demands_of
from hardsim.proof.external.first_layer import BoxCells
from hardsim.proof.external.joint import JointSupports
from hardsim.proof.external.prove import ClassProver, WorkLimits, prove_external
from hardsim.proof.external.ranges import FirstMlp, FunctionRanges
from hardsim.proof.external.supports import HeadSupports, Paths, PositionMoves, _moved
from hardsim.proof.shared.result import NotProved
from tests.proof.external.test_prove import COUNTING, NEXT, SYMBOLS, network_of, oracle_of, prefixes
from tests.support.dense_networks import made
from tests.support.model import Mask

# ---- what a specification wants, against its oracle ----

FORMULAS = (
    "output t0: Y t1",
    "output t0: (t0 S t1) & !Y Y t0",
    "assume: #L[t0] > #L[t1]\noutput t0: MOD(3, 1, #L[t1])",
    "assume: /(t0 t1*)*/\noutput t0: 2 * #L[t0] - 3 * #L[t1] >= 1\noutput other: EVEN(pos)",
    "output t0: H (t0 -> Y t1)",
    "output t0: PRIME(#L[t0] + 1)",
)
AT_THE_END = (
    "output t0: #[t0] >= 2 * #[t1] - 1",
    "output t0: (X t1) | #R[t0] >= 1 & pos = len",
    "output t0: t0 U t1",
    "output t0: O (t0 & X t1)",
    "output t0: #[Y t0] = #[t1 S t0]",
)


def told(network: Network, text: str, longest: int = 6) -> None:
    """Compare the machine of a specification with its oracle, on every word."""
    oracle, outputs = oracle_of(network, text), list(map(str, network.outputs))
    demands = demands_of(oracle, network, longest)
    judged = dict(prefixes(demands, longest))
    for n in range(1, longest + 1):
        words = list(product(range(2), repeat=n))
        for word, raw in zip(words, oracle.many([tuple(SYMBOLS[one] for one in word) for word in words]), strict=True):
            expected = raw[-1] if network.readout.at == "each" else raw
            found = demands.kinds[judged[word]] if word in judged else None
            assert (found is None) == (expected is None)
            if found is None:
                continue
            if isinstance(expected, str):
                expected = {expected}
            names = {name: name in expected for name in outputs} if isinstance(expected, set | frozenset) else expected
            if network.readout.decide == "above":
                (rows,) = found.choices
                assert {outputs[max(row)]: row[0] >= 0 for row in rows} == dict(names)
            else:
                assert {outputs[choice[0][0]] for choice in found.choices} == {one for one in names if names[one]}


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_at_each_position(text: str) -> None:
    told(network_of(0), text + "\noutput t1: t0")


@pytest.mark.parametrize("text", [*FORMULAS, *AT_THE_END])
def test_formulas_at_the_end(text: str) -> None:
    told(network_of(0, template="before after"), text + "\noutput t1: t0")


@pytest.mark.parametrize("decide", ["above", "argmax"])
def test_next_and_argmax(decide: Any) -> None:
    network = network_of(0)
    network = replace(network, readout=replace(network.readout, decide=decide))
    told(network, NEXT)
    both = network_of(0, 2, "before after")
    told(replace(both, readout=replace(both.readout, decide="argmax")), COUNTING)


def test_numbers_of_judged_prefixes() -> None:
    demands = demands_of(oracle_of(network_of(0), NEXT), network_of(0), 6)
    assert demands.words() == [1, 2, 2, 4, 8, 16, 32]  # t0 before everything, and the word t1
    counted = network_of(0, 2, "before after")
    counted = replace(counted, readout=replace(counted.readout, decide="argmax"))
    assert demands_of(oracle_of(counted, COUNTING), counted, 6).words() == [0, 2, 2, 8, 10, 32, 44]


# ---- supports, against all prefixes ----


@pytest.mark.parametrize(("template", "text"), [("before", NEXT), ("before after", COUNTING), ("after", COUNTING)])
@pytest.mark.parametrize("seed", range(4))
def test_supports_are_the_greatest_values(template: str, text: str, seed: int) -> None:
    network = network_of(seed, 4, template, heads=2, k=3, cold=1 + 20 * (seed == 3))
    demands = demands_of(oracle_of(network, text), network, 6)
    columns, paths = Columns(network, 6), Paths(demands)
    classes = classes_of(demands, columns.symbol_last)
    directions = np.random.default_rng(seed).normal(size=(1, 5, 4))
    directions[0, 4] = 0.0
    for head in (HeadSupports(columns, one, paths) for one in columns.heads):
        found = head.bounds(classes, directions)
        for row in range(len(classes)):
            greatest = np.max(mean(head, demands, classes.at(np.array([row])), directions[0]), axis=0)
            assert (found[row] >= greatest - 1e-13).all()
            assert (found[row] <= greatest + 1e-9).all()


class JointCase:
    """Some directions of several heads, with the ranges of each head alone, and the true values on every prefix."""

    def __init__(self, heads: int, seed: int) -> None:
        network = network_of(seed, 1, heads=heads, k=3, cold=1 + 9 * (seed == 3))
        demands = demands_of(oracle_of(network, "output t0: t0 | t1"), network, 6)
        columns, paths = Columns(network, 6), Paths(demands)
        self.classes, self.paths = classes_of(demands, columns.symbol_last), paths
        parts = np.random.default_rng(seed).normal(size=(heads, 1, 5, 4))
        self.heads = [HeadSupports(columns, one, paths) for one in columns.heads]
        pairs = list(zip(self.heads, parts, strict=True))
        self.highs = np.stack([head.bounds(self.classes, part) for head, part in pairs], axis=2)
        self.lows = -np.stack([head.bounds(self.classes, -part) for head, part in pairs], axis=2)
        self.directions = np.repeat(np.concatenate(list(parts), axis=2), len(self.classes), axis=0)
        rows = [self.classes.at(np.array([row])) for row in range(len(self.classes))]
        self.values = [np.stack([mean(head, demands, row, part[0]) for head, part in pairs], axis=2) for row in rows]
        """By class, (prefixes, directions, heads)."""

    def bounds(self, share: float = 1.0, **options: Any) -> Any:
        """Return the joint bounds where each head is in the lower `share` of its range."""
        count = len(self.classes)
        joint = JointSupports(self.heads, self.paths, count, **options)
        highs = self.lows + share * (self.highs - self.lows)
        return joint.bounds(np.arange(count), self.classes, self.directions, self.lows, highs)


@pytest.mark.parametrize("symbols", [(0, 1, 2), (1,), ()])
def test_a_step_of_paths_takes_the_greatest_sum_into_each_state(symbols: tuple[int, ...]) -> None:
    """The sums into a state are compared one by one, also where the first moves do not lead into every state."""
    rng = np.random.default_rng(5)
    arcs = [(0, 0, 0), (1, 0, 1), (1, 1, 0), (2, 1, 1), (2, 0, 2), (3, 1, 2)]
    kept = [tuple(arc for arc in group if arc[2] in symbols) for group in (arcs[:2] + arcs[3::2], [arcs[2], arcs[4]])]
    moves = tuple(tuple(np.array([arc[i] for arc in group], dtype=np.int64) for i in range(3)) for group in kept)
    layer = PositionMoves(moves if symbols else (), np.arange(4))  # type: ignore[arg-type]
    value, weight = rng.normal(size=(2, 3, 2)), rng.random((2, 3, 2))
    gains, high = rng.normal(size=(3, 3, 2)), rng.random((3, 3, 1))
    sums, weights = _moved(layer, value.copy(), weight.copy(), gains.copy(), high.copy())
    for state, row, column in product(range(4), range(3), range(2)):
        into = [
            (
                value[source, row, column] + gains[symbol, row, column],
                weight[source, row, column] + high[symbol, row, 0],
            )
            for target, source, symbol in arcs
            if target == state and symbol in symbols
        ]
        best, beside = max(into, default=(-np.inf, 0.0))
        assert weights[state, row, column] == beside
        found = sums[state, row, column]
        assert found == best if best == -np.inf else best < found < best + 1e-14 * abs(best) + 1e-14


@pytest.mark.parametrize("heads", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_heads_are_bounded_together(heads: int, seed: int) -> None:
    case = JointCase(heads, seed)
    found, narrow, gained = case.bounds(), case.bounds(0.6), 0.0
    for row, values in enumerate(case.values):
        assert (found[row] >= values.sum(axis=2).max(axis=0) - 1e-12).all()
        gained += float((case.highs[row].sum(axis=1) - found[row]).sum())
        within = (values <= case.lows[row] + 0.6 * (case.highs[row] - case.lows[row])).all(axis=2)
        assert (narrow[row] >= np.where(within, values.sum(axis=2), -np.inf).max(axis=0) - 1e-12).all()
    assert gained > 0.5


@pytest.mark.parametrize("heads", [2, 3])
def test_more_steps_give_better_joint_bounds(heads: int) -> None:
    case = JointCase(heads, 3)
    bounds = [case.highs.sum(axis=2), *(case.bounds(steps=steps) for steps in range(5))]
    for before, after in pairwise(bounds):
        assert (after <= before + 1e-12).all()
    assert (bounds[4] < bounds[2] - 1e-3).any()
    assert (bounds[2] < bounds[0] - 1e-3).any()


def mean(head: HeadSupports, demands: PrefixDemands, classes: Any, directions: Any) -> list[Any]:
    """Return c.a of every prefix of one class, in plain float64."""
    columns, (row,), (place,) = head.columns, *head.columns.query(classes)
    q, found = head.head.queries.mid[row, place], []
    rows, places = head.columns.fixed(classes)
    fixed = [(one, at) for one, at in zip(rows[0], places[0], strict=True) if one >= 0]
    for word in product(range(2), repeat=int(classes.free[0])):
        state = 0
        for symbol in word:
            state = int(demands.moves[state, symbol]) if state >= 0 else -1
        if state != int(classes.state[0]):
            continue
        tokens = [(columns.row[columns.symbols[one]], columns.start + at) for at, one in enumerate(word)] + fixed
        scores = np.array([head.head.keys.mid[token] @ q for token in tokens])
        shares = np.exp(scores - scores.max())
        values = np.array([head.head.values.mid[token] for token in tokens])
        found.append(directions @ (shares @ values / shares.sum()))
    return found


# ---- affine enclosures, against points ----


def boxes(seed: int, radius: float, d: int = 6, m: int = 4) -> tuple[AffineForm, Any, Any]:
    """Return random affine enclosures, and points z and x in them."""
    rng = np.random.default_rng(seed)
    box = AffineForm(rng.normal(size=(9, d)), rng.normal(size=(9, m, d)) * radius, rng.random((9, d)) * radius / 9)
    z = rng.uniform(-1, 1, size=(300, 9, m))
    z = np.where(rng.random(z.shape) < 0.5, np.sign(z), z)
    x = box.c + np.einsum("snm,nmd->snd", z, box.slopes) + box.e * rng.choice([-1, 0, 1], size=(300, 9, d))
    return box, z, x


def encloses(form: AffineForm, z: Any, values: Any) -> bool:
    """Return True if values at points z lie in an enclosure; so must linear maps of them, which use what the
    remainders of several coordinates have in common."""
    width = values.shape[2]
    rng = np.random.default_rng(5)
    for matrix in (np.eye(width), rng.normal(size=(width, 40)), rng.choice([-1.0, 0, 1], size=(width, 40))):
        one = LinearPart(matrix, None)(form).first(z.shape[2])
        found = one.c + np.einsum("snm,nmd->snd", z, one.slopes)
        if not (np.abs(values @ matrix - found) <= one.e + 1e-13).all():
            return False
    return True


@pytest.mark.parametrize("radius", [1e-9, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_norms_and_roots_are_enclosed(kind: Any, radius: float) -> None:
    rng = np.random.default_rng(3)
    norm = Norm(kind, Fraction(1, 1000), rng.normal(size=6), rng.normal(size=6))
    box, z, x = boxes(1, radius)
    with np.errstate(all="ignore"):
        found, form = NormForm(norm, 6)(box), NormForm(norm, 6)
        sigma = root(mean_square(form.entering(box), form.epsilon))
    y = x - x.mean(axis=2, keepdims=True) if kind == "layer" else x
    true = np.sqrt((y * y).mean(axis=2, keepdims=True) + 1 / 1000)
    assert encloses(found, z, y / true * norm.weight + norm.bias)
    as_form = AffineForm(sigma.mid[:, None], sigma.slopes[:, :, None], sigma.off[:, None])
    assert encloses(as_form, z, true)
    assert (true[:, :, 0] <= sigma.high + 1e-14).all()
    if radius <= 0.01:
        assert found.first(4).e.max() < 0.1  # of second order, beside the part e of the argument


def test_where_a_norm_may_divide_by_zero_nothing_is_claimed() -> None:
    box = AffineForm(np.zeros((1, 3)), np.ones((1, 1, 3)), np.zeros((1, 3)))
    with np.errstate(all="ignore"):
        found = NormForm(Norm("rms", Fraction(0)), 3)(box)
        sigma = root(mean_square(box, (0.0, 0.0)))
    assert not np.isfinite(found.e).any()
    assert not np.isfinite(sigma.off).any()


@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("radius", [1e-9, 0.1, 1.0, 20.0])
def test_activations_are_enclosed(activation: Activation, radius: float) -> None:
    box, z, x = boxes(2, radius)
    with np.errstate(all="ignore"):
        found = activated(activation, box)
        assert encloses(found, z, affine.values(activation, x)[0])
    if radius == 0.1:
        assert found.e.max() < 0.2


@pytest.mark.parametrize("radius", [1e-9, 0.1, 0.5])
@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_a_norm_with_its_mlp_is_enclosed(kind: Any, radius: float) -> None:
    rng = np.random.default_rng(4)
    norm = Norm(kind, Fraction(1, 1000), rng.normal(size=6), rng.normal(size=6))
    mlp = Mlp(Activation.GELU, rng.normal(size=(6, 9)), rng.normal(size=(9, 6)), rng.normal(size=9), rng.normal(size=6))
    box, z, x = boxes(1, radius)
    with np.errstate(all="ignore"):
        found = box.plus(MlpForm(mlp)(NormForm(norm, 6)(box)))
    y = x - x.mean(axis=2, keepdims=True) if kind == "layer" else x
    y = y / np.sqrt((y * y).mean(axis=2, keepdims=True) + 1 / 1000) * norm.weight + norm.bias
    hidden = affine.values(Activation.GELU, y @ mlp.w_in + mlp.b_in)[0]
    assert encloses(found, z, x + hidden @ mlp.w_out + mlp.b_out)


@pytest.mark.parametrize("kept", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("kind", ["layer", "rms", None])
@pytest.mark.parametrize("activation", list(Activation))
def test_ranges_of_functions_narrow_an_mlp(activation: Activation, kind: Any, kept: float) -> None:
    """Points near a line through a box: the functions' ranges are those of the points, and no more is enclosed."""
    rng = np.random.default_rng(6)
    norm = None if kind is None else Norm(kind, Fraction(1, 1000), rng.normal(size=6), rng.normal(size=6))
    mlp = Mlp(activation, rng.normal(size=(6, 9)), rng.normal(size=(9, 6)), rng.normal(size=9), rng.normal(size=6))
    turned, middles, radii = rng.normal(size=(4, 6)), rng.normal(size=(8, 4)), rng.random((8, 4)) * 0.3
    line = rng.choice([-1.0, 1.0], size=(8, 4)) * rng.uniform(-1, 1, size=(300, 8, 1))
    z = np.clip(line + rng.normal(size=(300, 8, 4)) * kept, -1, 1)
    t = middles + radii * z
    base, e = rng.normal(size=(8, 6)) * 3, np.full((8, 6), 1e-3)
    x = AffineForm(base + middles @ turned, radii[:, :, None] * turned, e)
    points = base + t @ turned + e * rng.choice([-1, 0, 1], size=(300, 8, 6))
    plain, form = MlpForm(mlp), None if norm is None else NormForm(norm, 6)
    first = FirstMlp(form, plain, turned)
    tilt = rng.normal(size=(8, 6))
    tilted = tilt @ first.functions[:, :6].T / 3
    values = np.concatenate([t @ first.functions, (t * tilted).sum(axis=2, keepdims=True)], axis=2)
    ranges = FunctionRanges(values.min(axis=0), values.max(axis=0), tilt, tilted)
    with np.errstate(all="ignore"):
        found = first(x, middles, radii, ranges)
        infinite = first(x, middles, radii, replace(ranges, low=values[0] - np.inf, high=values[0] + np.inf))
        box = x.plus(plain(x if form is None else form(x)))
    y = points
    if norm is not None:
        y = points - points.mean(axis=2, keepdims=True) if kind == "layer" else points
        y = y / np.sqrt((y * y).mean(axis=2, keepdims=True) + 1 / 1000) * norm.weight + norm.bias
    true = points + affine.values(activation, y @ mlp.w_in + mlp.b_in)[0] @ mlp.w_out + mlp.b_out
    assert encloses(found, z, true)
    assert encloses(infinite, z, true)
    if kept == 0.01:
        assert found.first(4).e.mean() < 0.95 * box.first(4).e.mean()


@pytest.mark.parametrize("post", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_ranges_of_functions_hold_for_all_prefixes(seed: int, heads: int, post: bool) -> None:
    """Ranges and rows with them, against every prefix of each class."""
    network = network_of(seed, 1, heads=heads, k=3, norm=None if post else "layer", post=post)
    demands = demands_of(oracle_of(network, "output t0: t0 | t1"), network, 6)
    prover = ClassProver(network, demands, WorkLimits())
    first = prover.rest.first_mlp
    assert first is not None
    box = prover.boxes(np.arange(len(prover.classes)))
    prover.widest = dict(enumerate(box.radii))
    with np.errstate(all="ignore"):
        plain = prover._rows(0, box, box.radii).form
        prover._with_ranges(box)
        rows, found = prover._rows(0, box, box.radii).form, prover.ranges
    assert found is not None
    narrowed = 0
    for row in range(len(prover.classes)):
        some = prover.classes.at(np.array([row]))
        parts = zip(prover.heads, prover.bases, strict=True)
        t = np.concatenate([np.array(mean(head, demands, some, basis.axes)) for head, basis in parts], axis=1)
        values = np.concatenate([t @ first.functions, (t @ found.tilted[row])[:, None]], axis=1)
        assert (values.max(axis=0) <= found.high[row] + 1e-12).all()
        assert (values.min(axis=0) >= found.low[row] - 1e-12).all()
        if heads == 1:
            assert (values.max(axis=0) >= found.high[row] - 1e-8).all()
        z = (t - box.middles[row]) / box.radii[row]
        exact = replace_box(box.at(np.full(len(t), row)), t)
        with np.errstate(all="ignore"):
            true = prover.rest.rows(0, prover.classes.at(exact.of), exact.middles, exact.radii).form.c
        assert (true >= rows.c[row] + z @ rows.slopes[row] - rows.e[row] - 1e-7).all()
        narrowed += bool((rows.e[row] < plain.e[row]).all())
    if heads == 2:
        assert narrowed > len(prover.classes) / 2


def replace_box(cells: BoxCells, middles: Any) -> BoxCells:
    """Return cells so small that they are points, with these middles."""
    return BoxCells(cells.of, middles, np.full_like(middles, 1e-9))


def test_second_derivatives_are_bounded() -> None:
    """The constants CURVATURE, by balls over a partition; beyond it derivatives are below 1/100."""
    with ctx.workprec(80):
        for step in range(-24_000, 24_000):
            x = arb(step) / 3000 + arb(0, 1) / 6000 + arb(1) / 6000
            density = (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
            u, first, second = new_argument(x)
            s = 1 / (1 + (-2 * u).exp())
            ds = 2 * s * (1 - s)
            dds = 2 * ds * (1 - 2 * s)
            new = 2 * ds * first + x * (dds * first * first + ds * second)
            bounds = {
                Activation.SILU: bend_of_silu(x), Activation.GELU: density * (2 - x * x), Activation.GELU_NEW: new,
                Activation.QUICK_GELU: bend_of_silu(x * 851 / 500) * 851 / 500,
                Activation.TANH: 2 * x.tanh() / x.cosh() ** 2,
            }  # fmt: skip
            for activation, value in bounds.items():
                assert abs(value) <= CURVATURE[activation]


def bend_of_silu(x: Any) -> Any:
    """Return the second derivative of silu."""
    logistic = 1 / (1 + (-x).exp())
    slope = logistic * (1 - logistic)
    return 2 * slope + x * slope * (1 - 2 * logistic)


def new_argument(x: Any) -> tuple[Any, Any, Any]:
    """Return the argument of the tangent in gelu_new, with its first two derivatives."""
    scale, cubic = (2 / arb.pi()).sqrt(), arb(44715) / 1000000
    return scale * (x + cubic * x**3), scale * (1 + 3 * cubic * x**2), scale * 6 * cubic * x


def test_halves_cover_their_cell() -> None:
    rng = np.random.default_rng(0)
    middles, radii = rng.normal(size=(50, 3)) * 10.0 ** rng.integers(-9, 9, size=(50, 3)), rng.random((50, 3)) + 1e-9
    cells, axis = BoxCells(np.arange(50), middles, radii), rng.integers(0, 3, size=50)
    halves = cells.halves(axis)
    for row, column in enumerate(axis.tolist()):
        ends = [[Fraction(one[row, column].item()) for one in (part.middles, part.radii)] for part in parts_of(halves)]
        whole = Fraction(middles[row, column].item()), Fraction(radii[row, column].item())
        (low, low_radius), (high, high_radius) = ends
        assert low - low_radius <= whole[0] - whole[1]
        assert low + low_radius >= high - high_radius
        assert high + high_radius >= whole[0] + whole[1]
    others = np.arange(3)[None] != axis[:, None]
    for part in parts_of(halves):
        assert (part.middles[others] == middles[others]).all()
        assert (part.radii[others] == radii[others]).all()


def parts_of(halves: BoxCells) -> list[BoxCells]:
    """Return the lower and the upper halves."""
    return [halves.at(slice(start, start + 50)) for start in (0, 50)]


# ---- what is refused ----


def refused(network: Network, text: str, longest: int | None = 5) -> str:
    """Return the reason why no proof is attempted."""
    with pytest.raises(NotProved) as caught:
        prove_external(network, oracle_of(network, text), longest)
    return caught.value.reason


def test_refusals() -> None:
    network, text = network_of(0), "output t0: Y t1"
    assert "2 layers" in refused(replace(network, layers=network.layers * 2), text)
    assert "give a greatest length" in refused(replace(network, positions=()), text, None)
    ahead = replace(network, readout=Readout(before=("t2",), at="each", alphabet=SYMBOLS))
    assert "depends on later positions" in refused(ahead, "output t0: F t1")
    assert "first position" in refused(replace(network, readout=replace(network.readout, at="first")), text)
    assert "not causal" in refused(network_of(0, mask=Mask.NONE), text)
    assert "from its own on" in refused(network_of(0, template="after", mask=Mask.PAST), text)
    twice = replace(network, readout=replace(network.readout, decide="argmax"))
    assert "not exactly one" in refused(twice, "output t0: t0\noutput t1: Y t1")
    numbers = network_of(0, 1, template="after")
    numbers = replace(numbers, readout=replace(numbers.readout, decide="value", level=Fraction(1, 9)))
    assert "a number" in refused(numbers, "value t0: #[t0]")


def test_without_positions_words_are_as_long_as_asked_for() -> None:
    network = replace(made(layers=1, rows=None, vocabulary=2, outputs=1, size=0.5), outputs=("t0",))
    network = replace(network, readout=Readout(at="last"))
    proof = prove_external(network, oracle_of(network, "output t0: t0 | t1"), 9)
    assert proof.longest == 9
