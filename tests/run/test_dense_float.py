"""Certified float64 of dense networks: enclosures compared with balls and plain numpy, and a need for each bound."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import exp, inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from benchmarks.external import SHAPES, PlainPass
from hardsim.network.dense import Mlp, NetworkHead, NetworkLayer
from hardsim.run import dense_float
from hardsim.run.dense_exact import DenseForward
from hardsim.run.dense_float import (
    STEEPEST,
    DenseFloat,
    Vectors,
    activate,
    is_sparse,
    lengths,
    scale_of,
    stretch,
)
from hardsim.run.enclosure import ETA
from hardsim.run.float_tail import tail_table
from tests.support.dense_networks import SEEN, Shape, made
from tests.support.model import Activation, BallArithmetic, Mask, Network, Norm, Readout, RootScale

BITS = 400
CURVED = [activation for activation in Activation if activation is not Activation.RELU]
TRAINED = Path(__file__).parents[3] / "shared" / "trained"


@dataclass(frozen=True)
class DenseRun:
    """The largest radius, and the largest true error as a share of its radius."""

    radius: float
    share: float


def held(network: Network, m: int = 7, words: int = 2, seed: int = 0, fine: bool | None = None) -> DenseRun:
    """Compare all outputs at all positions with balls; a share above 1 is an enclosure that misses the true value.

    A radius of 0 with an error counts as an infinite share.
    """
    tokens = np.random.default_rng(seed).integers(0, len(network.tokens), size=(words, m))
    n = m - network.readout.length(0)
    mid, rad = DenseFloat(network, fine).run(n, tokens, slice(None))
    exact, share = DenseForward(network, BallArithmetic(BITS)), 0.0
    with ctx.workprec(BITS):
        for word, rows in enumerate(exact.run(n, row, range(m)) for row in tokens.tolist()):
            for place, out in product(range(m), range(len(network.outputs))):
                radius = float(rad[word, place, out])
                if radius < inf:
                    error = float(abs(rows[place][out] - arb(mid[word, place, out].item())).lower())
                    share = max(share, error / radius if radius else inf * error if error else 0.0)
    assert not np.isnan(rad).any()
    assert np.isfinite(mid).all()
    return DenseRun(float(rad.max()), share)


# ---- enclosures ----


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("activation", list(Activation))
def test_enclosures_hold(activation: Activation, fine: bool) -> None:
    found = held(made(activation=activation), fine=fine)
    assert found.share <= 1
    assert found.radius < 1e-5


KINDS = list(product(Activation, ("layer", "rms", None), (False, True), SEEN, (False, True)))


@pytest.mark.sweep
@pytest.mark.parametrize("norm", ["layer", "rms", None])
@pytest.mark.parametrize("fine", [False, True])
def test_enclosures_hold_of_every_kind(norm: Any, fine: bool) -> None:
    for seed, (activation, kind, post, mask, fractions) in enumerate(KINDS):
        if kind == norm:
            shape = Shape(activation=activation, norm=norm, post=post, mask=mask, fractions=fractions)
            found = held(made(shape, seed, biases=seed % 3 > 0), words=1, m=5, seed=seed, fine=fine)
            assert found.share <= 1
            assert found.radius < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_enclosures_hold_of_random_shapes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = Shape(
        d=int(rng.integers(1, 24)),
        layers=int(rng.integers(0, 4)),
        heads=int(rng.integers(0, 4)),
        k=int(rng.integers(1, 9)),
        mlp=int(rng.choice([0, 1, 5, 40])),
        norm=(None, "layer", "rms")[rng.integers(3)],
        post=bool(rng.integers(2)),
        activation=list(Activation)[rng.integers(len(Activation))],
        biases=bool(rng.integers(2)),
        mask=SEEN[rng.integers(3)],
        fractions=bool(rng.integers(2)),
        dtype=[np.float16, np.float32, np.float64][rng.integers(3)],
        cold=int(rng.choice([1, 30, 3000])),
        size=float(rng.choice([1e-3, 0.3, 1.0, 10.0])),
    )
    assert held(made(shape, seed), m=int(rng.integers(1, 24)), seed=seed, fine=bool(rng.integers(2))).share <= 1


EDGES = {
    "one coordinate": Shape(d=1, k=1, mlp=1),
    "one coordinate, rms": Shape(d=1, k=1, mlp=1, norm="rms"),
    "no mlp": Shape(mlp=0),
    "no heads": Shape(heads=0),
    "neither heads nor biases": Shape(heads=0, biases=False),
    "no layers": Shape(layers=0),
    "no layers, no norm": Shape(layers=0, norm=None, biases=False),
    "no positions": Shape(rows=None),
    "cold": Shape(cold=100),
    "colder": Shape(cold=100_000),
    "colder than float64 can say": Shape(cold=10**18),
    "half precision": Shape(dtype=np.float16),
    "tiny weights": Shape(dtype=np.float64, size=1e-160),
    "tiny weights, relu, no norm": Shape(dtype=np.float64, size=1e-160, norm=None, activation=Activation.RELU),
    "subnormal weights": Shape(dtype=np.float64, size=1e-310, activation=Activation.GELU),
    "large weights": Shape(dtype=np.float64, size=1e6),
    "huge weights": Shape(dtype=np.float64, size=1e150, activation=Activation.SILU),
    "no epsilon": Shape(epsilon=Fraction(0)),
    "a large epsilon": Shape(epsilon=Fraction(10**6)),
    "an epsilon beyond float64": Shape(epsilon=Fraction(10) ** 400),
    "an epsilon below float64": Shape(epsilon=Fraction(1, 10**400)),
}


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("name", list(EDGES))
def test_enclosures_hold_at_the_edges(name: str, fine: bool) -> None:
    for seed in range(2):
        assert held(made(EDGES[name], seed), seed=seed, fine=fine).share <= 1


@pytest.mark.parametrize("name", ["one coordinate, rms", "no mlp", "no heads", "no layers", "no positions", "cold"])
def test_something_is_known_at_the_edges(name: str) -> None:
    assert held(made(EDGES[name])).radius < 1e-3


@dataclass(frozen=True)
class Share:
    """The coordinate (i + shift) / n."""

    shift: int
    variables = frozenset({"i", "n"})

    def evaluate(self, **values: int) -> Fraction:
        """Return the value."""
        return Fraction(values["i"] + self.shift, values["n"])


@pytest.mark.parametrize("fine", [False, True])
def test_positions_may_be_expressions(fine: bool) -> None:
    network = replace(
        made(rows=None), positions=((0, Share(0)), (3, Share(2)), (0, Share(-1))), readout=Readout(("t0",))
    )
    found = held(network, fine=fine)
    assert found.share <= 1
    assert found.radius < 1e-5


# ---- against a plain pass ----


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_plain_pass_agrees(shape: Any) -> None:
    n = 20
    network = shape.network(n)
    tokens = np.random.default_rng(1).integers(0, 8, size=(3, n))
    mid, rad = DenseFloat(network).run(n, tokens, slice(None))
    assert np.abs(mid - PlainPass(network).run(tokens)).max() < 1e-9
    assert rad.max() < (1e-8 if shape.width == 16 else 1e-3)


@pytest.mark.skipif(not TRAINED.is_dir(), reason="the trained networks live beside the project")
@pytest.mark.parametrize("name", ["D2", "ab_d_bc", "majority", "tomita1", "tomita7"])
def test_radii_are_small_on_trained_networks(name: str) -> None:
    network = trained(name)
    tokens = np.random.default_rng(2).integers(0, len(network.tokens), size=(4, 150))
    assert DenseFloat(network).run(150, tokens, slice(None))[1].max() < 1e-8
    assert held(network, m=6, words=1).share <= 1


def trained(name: str) -> Network:
    """Read one of the shipped GPT-2 networks of one head."""
    from safetensors.numpy import load_file

    stored = load_file(TRAINED / name / "model.safetensors")
    config = json.loads((TRAINED / name / "config.json").read_text(encoding="utf-8"))
    found = {key.removeprefix("transformer."): array.astype(np.float64) for key, array in stored.items()}
    d, epsilon = config["n_embd"], Fraction(str(config["layer_norm_epsilon"]))
    assert config["n_head"] == 1

    def norm(name: str) -> Norm:
        return Norm("layer", epsilon, found[f"{name}.weight"], found[f"{name}.bias"])

    def layer(at: str) -> NetworkLayer:
        weights = np.split(found[f"{at}.attn.c_attn.weight"], 3, axis=1)
        biases = np.split(found[f"{at}.attn.c_attn.bias"], 3)
        scale, out = RootScale(Fraction(1), d), found[f"{at}.attn.c_proj.weight"]
        head = NetworkHead(at, Mask.FUTURE, scale, weights[0], weights[1], weights[2], out, *biases)
        names = ("c_fc.weight", "c_proj.weight", "c_fc.bias", "c_proj.bias")
        mlp = Mlp(Activation.GELU_NEW, *(found[f"{at}.mlp.{name}"] for name in names))
        return NetworkLayer((head,), mlp, found[f"{at}.attn.c_proj.bias"], norm(f"{at}.ln_1"), norm(f"{at}.ln_2"))

    names = tuple(map(str, range(config["vocab_size"])))
    layers = tuple(layer(f"h.{number}") for number in range(config["n_layer"]))
    unembedding = found.get("lm_head.weight", found["wte.weight"]).T
    return Network(names, found["wte.weight"], found["wpe.weight"], layers, norm("ln_f"), unembedding, None, names)


# ---- batches and places ----


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("layers", [0, 2])
def test_places_are_the_requested_ones(layers: int, fine: bool) -> None:
    for mask in SEEN:
        network = made(layers=layers, mask=mask)
        tokens = np.random.default_rng(3).integers(0, 4, size=(3, 9))
        runner = DenseFloat(network, fine)
        mid, rad = runner.run(9, tokens, slice(None))
        for places in ([8], [4, 0, 4], range(2, 5), [-1]):
            some, off = runner.run(9, tokens, places)
            assert some.shape == (3, len(places), 3)
            assert (np.abs(some - mid[:, places]) <= off + rad[:, places]).all()
            assert off.max() < 1e-5
        assert runner.run(9, tokens, slice(0, 0))[0].shape == (3, 0, 3)


def test_batches_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    network, tokens = made(), np.random.default_rng(4).integers(0, 4, size=(50, 9))
    together = DenseFloat(network).run(9, tokens, [8])
    monkeypatch.setattr(dense_float, "CELLS", 1)
    monkeypatch.setattr(dense_float, "ROWS", 4)
    alone = DenseFloat(network).run(9, tokens, [8])
    assert (np.abs(together[0] - alone[0]) <= together[1] + alone[1]).all()
    assert max(together[1].max(), alone[1].max()) < 1e-6
    assert DenseFloat(network).run(9, tokens[:0], [8])[0].shape == (0, 1, 3)


@pytest.mark.parametrize("words", [1, 2, 9, 40, 41, 1000])
def test_batches_have_nearly_equal_sizes(words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No batch has half as many numbers again as it should, or a few words that a batch before had room for."""
    runner = DenseFloat(made())
    monkeypatch.setattr(dense_float, "CELLS", 10 * 9 * max(runner.width, 9))
    parts = [range(words)[some] for some in runner._batches(words, 9)]
    assert [word for part in parts for word in part] == list(range(words))
    assert max(map(len, parts)) <= 15
    assert len(parts) == 1 or min(map(len, parts)) >= 5


def test_the_highest_numbers_are_those_over_positions() -> None:
    array = np.random.default_rng(5).normal(size=(3, 7, 2))
    array[1, 4, 0], array[2, 0, 1] = inf, nan
    found = dense_float.highest(array)
    for word, column in product(range(3), range(2)):
        here = [float(row[column]) for row in array[word]]
        assert found[word, column] == max(here) if not any(x != x for x in here) else np.isnan(found[word, column])


@pytest.mark.parametrize("fine", [False, True])
def test_enclosures_hold_where_words_share_their_tokens(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vectors of tokens at each position give the bounds of words that share nothing."""
    kinds = [Shape(mask=mask, post=post) for mask, post in product(SEEN, (False, True))]
    for shape in (*kinds, *EDGES.values()):
        apart = held(made(shape), fine=fine)
        with monkeypatch.context() as patch:
            patch.setattr(dense_float, "SHARED_BY", 0)
            together = held(made(shape), fine=fine)
        assert together.share <= 1
        assert together.radius == pytest.approx(apart.radius, rel=1e-6)


def test_tokens_are_shared_where_that_is_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, network = np.random.default_rng(4), made()
    few, many = rng.integers(0, 2, size=(50, 9)), rng.integers(0, 4, size=(5, 9))
    opened: list[int] = []
    whole = dense_float.FloatLayer.opened

    def counted(*args: Any) -> Vectors:
        opened.append(1)
        return whole(*args)

    monkeypatch.setattr(dense_float.FloatLayer, "opened", counted)
    runner = DenseFloat(network)
    for tokens, shared in ((few, True), (many, False), (few + 1, True), (few, True)):
        opened.clear()
        mid, rad = runner.run(9, tokens, slice(None))
        assert bool(opened) == shared
        for row, middle, radius in zip(tokens[:5], mid, rad, strict=False):
            alone, off = DenseFloat(network).run(9, row[None], slice(None))
            assert (np.abs(alone[0] - middle) <= off[0] + radius).all()
            assert np.allclose(off[0], radius, rtol=1e-6, atol=0)
    opened.clear()
    monkeypatch.setattr(dense_float, "OPENED", 9)
    runner.run(9, few, slice(None))
    assert not opened


def test_what_tokens_share_is_kept_by_length() -> None:
    """An encoding of the length gives each length vectors of its own."""
    network = replace(made(rows=None), positions=((1, Share(0)),))
    runner, tokens = DenseFloat(network), np.random.default_rng(1).integers(0, 2, size=(9, 12))
    for n in (3, 4, 5, 6, 7, 3, 4):
        mid, rad = runner.run(n, tokens[:, :n], [n - 1])
        alone, off = DenseFloat(network).run(n, tokens[:1, :n], [n - 1])
        assert (np.abs(mid[:1] - alone) <= rad[:1] + off).all()
        assert rad.max() < 1e-5


def test_lengths_are_remembered_apart() -> None:
    network = replace(made(rows=None), positions=((1, Share(0)),))
    runner, tokens = DenseFloat(network), np.array([[0, 1, 2, 3]])
    first = runner.run(4, tokens, [3])[0].copy()
    for n in range(5, 12):
        runner.run(n, np.zeros((1, n), dtype=np.int64), [0])
    assert (runner.run(4, tokens, [3])[0] == first).all()


# ---- attention ----


@pytest.mark.parametrize("fine", [False, True])
def test_logits_are_enclosed(fine: bool) -> None:
    for mask, post in product(SEEN, (False, True)):
        network = made(mask=mask, post=post, fractions=post)
        tokens = np.random.default_rng(5).integers(0, 4, size=(2, 6))
        found = list(DenseFloat(network, fine).attention(6, tokens))
        assert [(layer, head) for layer, head, _, _ in found] == [
            (number, head) for number, layer in enumerate(network.layers) for head in layer.heads
        ]
        for word in range(2):
            exact = DenseForward(network, BallArithmetic(BITS)).attention(6, tokens[word].tolist())
            for (_, _, logits, slip), (_, _, rows) in zip(found, exact, strict=True):
                assert slip.max() < 1e-6
                with ctx.workprec(BITS):
                    for query, key in product(range(6), range(6)):
                        value = float(logits[word, query, key])
                        assert (rows[query][key] is None) == (value == -inf)
                        if value > -inf:
                            assert abs(rows[query][key] - arb(value)) <= arb(float(slip[word, query]))


@pytest.mark.parametrize("fine", [False, True])
def test_small_logits_need_no_distance_from_the_largest(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to weigh keys are right where logits are small; large ones overflow without their distances."""
    for mask, flat in product(SEEN, (-1.0, inf)):
        monkeypatch.setattr(dense_float, "FLAT", flat)
        found = held(made(mask=mask), fine=fine)
        assert found.share <= 1
        assert found.radius < 1e-5
    large = made(cold=1000, size=0.5, layers=1)
    assert held(large, fine=fine).radius == inf
    monkeypatch.undo()
    found = held(large, fine=fine)
    assert found.share <= 1
    assert found.radius < 1e-3


def test_logits_beyond_float64_are_not_bounded() -> None:
    network = made(size=1e120, dtype=np.float64, norm=None, layers=1)
    for _, _, logits, slip in DenseFloat(network).attention(5, np.zeros((1, 5), dtype=np.int64)):
        assert (slip == inf).all()
        assert not np.isnan(logits).any()


# ---- undecided outputs ----


@pytest.mark.parametrize("kind", ["layer", "rms"])
@pytest.mark.parametrize("fine", [False, True])
def test_a_variance_of_nothing_has_no_bound(kind: Any, fine: bool) -> None:
    bare = made(layers=0, norm=kind, rows=None)
    alike = np.full((4, 8), 3.0 if kind == "layer" else 0.0)
    for epsilon, known in ((Fraction(0), False), (Fraction(1, 10**320), False), (Fraction(1, 1000), True)):
        network = replace(bare, embedding=alike, final=Norm(kind, epsilon))
        mid, rad = DenseFloat(network, fine).run(2, np.zeros((1, 2), dtype=np.int64), [1])
        assert (rad < inf).all() if known else ((rad == inf) & (mid == 0)).all()


@pytest.mark.parametrize("value", [inf, -inf, nan, 1e308])
@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("fine", [False, True])
def test_what_overflows_decides_nothing(value: float, activation: Activation, fine: bool) -> None:
    network = made(activation=activation, norm=None, layers=1)
    mlp = network.layers[0].mlp
    assert mlp is not None
    w_in = mlp.w_in.copy()
    w_in[:, 0] = value
    layer = replace(network.layers[0], mlp=replace(mlp, w_in=w_in))
    mid, rad = DenseFloat(replace(network, layers=(layer,)), fine).run(3, np.array([[0, 1, 2]]), slice(None))
    known = rad < 1e300
    assert not known.any() or value == 1e308
    assert np.isfinite(mid).all()


# ---- activations ----

POINTS = np.concatenate(
    [
        side
        * np.concatenate([np.logspace(-320, 300, 700), np.linspace(0, 12, 4001), np.arange(80) / 8, [745.0, 709.78]])
        for side in (1.0, -1.0)
    ]
)
POINTS = np.unique(np.concatenate([POINTS, np.nextafter(POINTS, inf), np.nextafter(POINTS, -inf)]))


def true_activation(activation: Activation, x: arb) -> arb:
    """Evaluate an activation by another formula than the passes use."""
    match activation:
        case Activation.RELU:
            return x.max(arb(0))
        case Activation.SILU:
            return x / 2 * (1 + (x / 2).tanh())
        case Activation.GELU:
            return x / 2 * (-x / arb(2).sqrt()).erfc()
        case Activation.QUICK_GELU:
            return x / 2 * (1 + (x * 851 / 1000).tanh())
        case Activation.TANH:
            return 1 - 2 / ((2 * x).exp() + 1) if x > 0 else 2 / ((-2 * x).exp() + 1) - 1
        case Activation.GELU_NEW:
            inner = (2 / arb.pi()).sqrt() * (x + arb(44715) / 1_000_000 * x**3)
            return x * (1 - 1 / (1 + (2 * inner).exp())) if inner > 0 else x / (1 + (-2 * inner).exp())


def worst_share(activation: Activation, points: Any) -> float:
    """Return the largest error at a point as a share of the output radius, for an input radius of nearly 0."""
    x = np.array(points, dtype=np.float64)[:, None]
    each = np.full_like(x, ETA)
    with np.errstate(all="ignore"):
        found = activate(activation, Vectors(x.copy(), lengths(each), each), lengths(x))
    worst = 0.0
    assert found.each is not None
    with ctx.workprec(3000):  # 1 + tanh cancels
        for place, point in enumerate(x[:, 0].tolist()):
            true = true_activation(activation, arb(point))
            off, far = float(found.mid[place, 0]), float(found.each[place, 0])
            error = abs(true - arb(off))
            worst = max(worst, float((error / arb(float(found.length[place, 0]))).upper()))
            if far:
                worst = max(worst, float((error / arb(far)).upper()))
            else:
                assert error.contains(0)
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("activation", list(Activation))
def test_activations_are_as_near_as_they_say(activation: Activation) -> None:
    assert worst_share(activation, POINTS) <= 1


@pytest.mark.parametrize("activation", CURVED)
def test_activations_that_were_taken_for_exact_would_be_found_out(
    activation: Activation, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = np.linspace(-3, 3, 200)
    assert worst_share(activation, points) <= 1
    for name in ("EXP_ERROR", "TANH_ERROR", "U"):
        monkeypatch.setattr(dense_float, name, 0.0)
    monkeypatch.setattr(dense_float, "gamma", lambda k: 0.0)
    table = tail_table()
    monkeypatch.setattr(dense_float, "tail_table", lambda: replace(table, error=0.0))
    assert worst_share(activation, points) > 1


def slope(activation: Activation, x: arb) -> arb:
    """Return the derivative over a ball."""
    match activation:
        case Activation.SILU:
            share = 1 / (1 + (-x).exp())
            return share * (1 + x * (1 - share))
        case Activation.QUICK_GELU:
            share = 1 / (1 + (-x * 851 / 500).exp())
            return share * (1 + x * 851 / 500 * (1 - share))
        case Activation.TANH:
            return 1 / x.cosh() ** 2
        case Activation.GELU:
            return (-x / arb(2).sqrt()).erfc() / 2 + x * (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
        case Activation.GELU_NEW:
            factor, cubic = (2 / arb.pi()).sqrt(), arb(44715) / 1_000_000
            t = (factor * x * (1 + cubic * x * x)).tanh()
            return (1 + t + x * (1 - t * t) * factor * (1 + 3 * cubic * x * x)) / 2
    raise AssertionError(activation)


def bounded(activation: Activation, limit: float, low: float, high: float) -> bool:
    """Return True if the slope is at most the limit in size between two numbers, proved by balls over subintervals."""
    waiting = [(low, high)]
    while waiting:
        low, high = waiting.pop()
        if abs(slope(activation, arb((low + high) / 2, (high - low) / 2))) <= limit:
            continue
        if high - low < 1e-5:
            return False
        waiting += [(low, (low + high) / 2), ((low + high) / 2, high)]
    return True


FAR = 20.0


@pytest.mark.parametrize("activation", CURVED)
def test_no_slope_is_steeper_than_stated(activation: Activation) -> None:
    limit = STEEPEST[activation] - 2.0**-10
    assert bounded(activation, limit, -FAR, FAR)
    assert not bounded(activation, limit - 0.01, -FAR, FAR)
    # Farther out a slope is one of a number in [0, 1] and of x times a density: of e^-|x| (silu: s (1 - s) <= e^-|x|),
    # of e^(-x^2 / 2) / 2, or of 2 e^-2z z' with z = 0.79 (|x| + 0.04 |x|^3) >= 0.79 |x| and z' <= 0.8 (1 + 0.14 x^2).
    # All of these decrease beyond 20, where they are less than 2^-10.
    density = {
        Activation.SILU: exp(-FAR),
        Activation.QUICK_GELU: 1.702 * exp(-1.702 * FAR),
        Activation.TANH: 4 * exp(-2 * FAR),
        Activation.GELU: exp(-FAR * FAR / 2),
        Activation.GELU_NEW: 2 * exp(-2 * 0.79 * FAR) * 0.8 * (1 + 0.14 * FAR * FAR),
    }
    assert 1 + FAR * density[activation] < limit


def test_relu_keeps_what_is_certain() -> None:
    each = np.array([[1.0, 1.0, 1.0, ETA, inf]])
    found = activate(Activation.RELU, Vectors(np.array([[-1.0, -0.5, 2.0, -1.0, -9.0]]), lengths(each), each), each)
    assert found.mid.tolist() == [[0, 0, 2, 0, 0]]
    assert found.each is not None
    assert found.each.tolist() == [[0, 1, 1, 0, inf]]


def test_the_table_of_the_normal_distribution_is_as_near_as_it_says() -> None:
    table, points = tail_table(), POINTS[(POINTS >= 0) & (POINTS < 30)]
    assert table.error < 2e-16
    found = table(points)
    with ctx.workprec(200):
        true = [(arb(x) / arb(2).sqrt()).erfc() / 2 for x in points.tolist()]
        errors = [float(abs(one - arb(y)).upper()) for one, y in zip(true, found.tolist(), strict=True)]
    assert max(errors) <= table.error
    assert np.isnan(table(np.array([nan])))[0]


def test_constants_are_right_to_two_units() -> None:
    with ctx.workprec(200):
        factor = 2 * (2 / arb.pi()).sqrt()
        for value, true in ((dense_float.A_NEW, factor), (dense_float.B_NEW, factor * 44715 / 1_000_000)):
            assert abs(arb(value) / true - 1) < 2.0**-52


# ---- matrices and scales ----


def test_the_largest_singular_value_is_bounded() -> None:
    rng = np.random.default_rng(6)
    for rows, columns, size in product((1, 3, 40), (1, 7, 64), (1e-290, 1.0, 1e150)):
        matrix = rng.normal(size=(rows, columns)) * size
        true = np.linalg.svd(matrix / size, compute_uv=False)[0] * size
        assert true * (1 - 1e-12) <= stretch(matrix) <= 1.1 * true
    assert stretch(np.full((9, 16), 2.0)) >= 24  # exactly 2 sqrt(9 * 16)
    assert stretch(np.zeros((3, 4))) == 0
    assert stretch(np.zeros((0, 4))) == 0
    assert stretch(np.array([[1.0, inf]])) == inf
    assert stretch(np.array([[1.0, nan]])) == inf


def test_scales_are_real_numbers() -> None:
    assert scale_of(RootScale(Fraction(3), 16)) == (0.75, 0.0)
    assert scale_of(RootScale(Fraction(0))) == (0.0, 0.0)
    for scale in (RootScale(Fraction(1), 3), RootScale(Fraction(1, 3)), RootScale(Fraction(10**300), 7)):
        near, share = scale_of(scale)
        with ctx.workprec(200):
            true = arb(scale.factor.numerator) / scale.factor.denominator / arb(scale.root).sqrt()
            assert 0 < abs(arb(near) / true - 1) <= share
    assert scale_of(RootScale(Fraction(1, 10**320), 3))[1] == inf
    assert scale_of(RootScale(Fraction(10**320), 3))[1] == inf


def test_sparse_networks_are_bounded_coordinate_by_coordinate() -> None:
    network = made(mlp=16)
    assert not is_sparse(network)
    mlp = network.layers[0].mlp
    assert mlp is not None
    few = replace(mlp, w_in=np.eye(8, 16), w_out=np.eye(16, 8))
    layers = tuple(NetworkLayer((), few) for _ in network.layers)
    assert is_sparse(replace(network, layers=layers))
    assert DenseFloat(replace(network, layers=layers)).fine


# ---- a need for each bound ----

ROUND: dict[str, Any] = {"dtype": np.float64, "layers": 0, "norm": None, "biases": False}
"""Settings of a network without layers: an embedding plus a position, times an unembedding, of numbers with all
bits.
"""


def worst(network: Network, fine: bool, **options: Any) -> float:
    """Return the largest share over some words."""
    return max(held(network, seed=seed, fine=fine, **options).share for seed in range(4))


def nothing(*arguments: Any) -> float:
    """Return 0, in the place of a bound."""
    return 0.0


@pytest.mark.parametrize("fine", [False, True])
def test_sums_taken_for_exact_would_be_found_out(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    network = made(rows=None, **ROUND)
    assert worst(network, fine) <= 1
    monkeypatch.setattr(dense_float, "gamma", nothing)
    assert worst(network, fine) > 1


@pytest.mark.parametrize("fine", [False, True])
def test_positions_taken_for_exactly_added_would_be_found_out(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    network = replace(made(d=3, **ROUND), unembedding=np.eye(3))
    monkeypatch.setattr(dense_float, "gamma", nothing)  # of products with 0 and 1
    assert worst(network, fine) <= 1
    monkeypatch.setattr(dense_float, "U", 0.0)
    assert worst(network, fine) > 1


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("part", ["unembedding", "unembedding_bias", "embedding", "weight", "bias"])
def test_fractions_taken_for_floats_would_be_found_out(part: str, fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    thirds = np.array([[Fraction(1, 3), Fraction(-2, 3), Fraction(5, 3)]], dtype=object)
    network = made(d=2, outputs=2, rows=None, vocabulary=1, **ROUND)
    network = replace(network, embedding=np.array([[1.0, -1.0]]), unembedding=np.eye(2))
    if part == "weight":  # the norm maps (1, -1) to (1, -1)
        network = replace(network, final=Norm("layer", Fraction(0), thirds[0, :2]))
    elif part == "bias":
        network = replace(network, final=Norm("layer", Fraction(0), np.zeros(2), thirds[0, :2]))
    elif part == "embedding":
        network = replace(network, embedding=thirds[:, :2])
    elif part == "unembedding":
        network = replace(network, embedding=np.eye(1, 2), unembedding=thirds[[0, 0], :2])
    else:
        network = replace(network, embedding=np.zeros((1, 2)), unembedding_bias=thirds[0, :2])
    for name, other in (("gamma", nothing), ("U", 0.0)):  # nothing else is rounded
        monkeypatch.setattr(dense_float, name, other)
    assert worst(network, fine) <= 1
    monkeypatch.setattr(
        dense_float, "floats", lambda values: (np.array(list(map(float, values))), np.zeros(len(values)))
    )
    assert worst(network, fine) > 1


def shifted() -> Network:
    """Return a network whose keys have a large bias, which adds the same to all logits of a row: digits that
    matter are lost.
    """
    network = made(layers=1, heads=1, mlp=0, norm=None, dtype=np.float64)
    (head,) = network.layers[0].heads
    return replace(network, layers=(replace(network.layers[0], heads=(replace(head, b_k=np.full(4, 1e7)),)),))


@pytest.mark.parametrize("fine", [False, True])
def test_weights_taken_for_right_would_be_found_out(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert worst(shifted(), fine) <= 1
    monkeypatch.setattr(dense_float, "mean_factor", lambda slip: np.zeros_like(slip))
    assert worst(shifted(), fine) > 1


@pytest.mark.parametrize("fine", [False, True])
def test_logits_taken_for_exact_would_be_found_out(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    original = dense_float.FloatAttention.slip
    monkeypatch.setattr(dense_float.FloatAttention, "slip", lambda *given: 0 * original(*given))
    assert worst(shifted(), fine) > 1


def far_off(activation: Activation = Activation.RELU) -> Network:
    """Return a network whose first norm loses 8 digits, which its MLP enlarges: rounding is small beside them."""
    network = made(layers=1, heads=0, rows=None, d=9, dtype=np.float64, activation=activation, biases=False)
    mlp = network.layers[0].mlp
    assert mlp is not None
    large = replace(mlp, w_out=mlp.w_out * 1000)
    layer = NetworkLayer((), large, np.zeros(9), Norm("layer", Fraction(0)), None, post=True)
    return replace(network, embedding=network.embedding + 1e8, layers=(layer,), final=None)


@pytest.mark.parametrize("fine", [False, True])
def test_a_mean_taken_for_exact_would_be_found_out(fine: bool) -> None:
    network = replace(far_off(), layers=(), final=Norm("layer", Fraction(0)))
    assert 1e-3 < worst(network, fine) <= 1  # the rounding of other steps is 10^-8 of that of the mean


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("activation", CURVED)
def test_an_activation_that_errors_do_not_pass_would_be_found_out(
    activation: Activation, fine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert worst(far_off(activation), fine) <= 1
    monkeypatch.setitem(dense_float.STEEPEST, activation, 0.0)
    assert worst(far_off(activation), fine) > 1


def test_matrices_that_errors_do_not_pass_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worst(far_off(), False) <= 1
    monkeypatch.setattr(dense_float, "stretch", nothing)
    assert worst(far_off(), False) > 1


def test_coordinates_that_errors_do_not_pass_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worst(far_off(), True) <= 1
    monkeypatch.setattr(dense_float, "slack", lambda x, rad: 0 * x)
    assert worst(far_off(), True) > 1
