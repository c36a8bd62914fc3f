"""Certified float64 of the parts that only some families have: compared with 120 digits, and a need for each bound."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf, pi
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from hardsim.network.blocks import DistanceBias, Rotary
from hardsim.network.dense import Mlp, NetworkLayer, Transform
from hardsim.network.features import NetworkFeature
from hardsim.network.rotary_scaling import Llama3Scaling, LongScaling, YarnScaling
from hardsim.run import dense_float, dense_tree, float_blocks
from hardsim.run.ball import ball
from hardsim.run.dense_exact import DenseForward
from hardsim.run.dense_float import DenseFloat, Vectors, averaged, lengths, looks, multiplied, visible
from hardsim.run.dense_tree import SharedFloat, shares_prefixes
from hardsim.run.enclosure import EXP_ERROR
from hardsim.run.float_blocks import ScoreSteps, SoftCap, Turns, hyperbolic, turn_table
from tests.support.dense_networks import SEEN, Shape, featured, made
from tests.support.model import Activation, Mask, MpArithmetic, Network, Readout

ARITHMETIC = MpArithmetic(120)
TOGETHER = [one for one in NetworkFeature if one not in (NetworkFeature.POOLED_START, NetworkFeature.POOLED_MEAN)]
"""All features that a network may have at once."""


def held(network: Network, m: int = 7, fine: bool | None = None, shared: bool = False, seed: int = 0) -> Any:
    """Compare the outputs at all positions of two words with 120 digits. Return the largest true error as a share of
    its radius (infinite for an error with a radius of 0), and the largest radius."""
    tokens = np.random.default_rng(seed).integers(0, len(network.tokens), size=(2, m))
    n = m - network.readout.length(0)
    if shared:
        tokens = np.repeat(tokens[:1], 2, axis=0)
        tokens[1, -1] = (tokens[0, -1] + 1) % len(network.tokens)
    mid, rad = (SharedFloat(network) if shared else DenseFloat(network, fine)).run(n, tokens, slice(None))
    exact, share = DenseForward(network, ARITHMETIC), 0.0
    for word, row in enumerate(tokens.tolist()):
        rows = exact.run(n, row, range(m))
        assert mid[word].shape == (len(rows), len(rows[0]))
        with ARITHMETIC.precision():
            for place, out in np.ndindex(mid[word].shape):
                error = abs(rows[place][out] - ARITHMETIC.number(Fraction(mid[word, place, out])))
                radius = float(rad[word, place, out])
                share = max(share, float(error) / radius if radius else inf * float(error) if error else 0.0)
    return share, float(rad.max())


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("feature", list(NetworkFeature))
def test_enclosures_hold_of_each_feature(feature: NetworkFeature, fine: bool) -> None:
    share, radius = held(featured(made(k=4, size=0.5), [feature]), 6, fine)
    assert share <= 1
    assert radius < 5e-9


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("feature", list(NetworkFeature))
def test_enclosures_hold_where_words_share_their_tokens(
    feature: NetworkFeature, fine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = featured(made(k=4, size=0.5), [feature])
    apart = held(network, 6, fine)
    monkeypatch.setattr(dense_float, "SHARED_BY", 0)
    share, radius = held(network, 6, fine)
    assert share <= 1
    assert radius == pytest.approx(apart[1], rel=1e-6)


def test_enclosures_hold_of_all_features_together() -> None:
    for seed, (mask, fine) in enumerate(product(SEEN, (False, True))):
        chosen = [*TOGETHER, *([NetworkFeature.POOLED_MEAN] * (seed % 2))]
        share, radius = held(featured(made(mask=mask, k=4), chosen, seed), 4, fine)
        assert share <= 1
        assert radius < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_enclosures_hold_of_random_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = [one for one in NetworkFeature if rng.random() < 0.4]
    if NetworkFeature.POOLED_START in chosen and NetworkFeature.POOLED_MEAN in chosen:
        chosen.remove(NetworkFeature.POOLED_MEAN)
    shape = Shape(
        d=int(rng.integers(1, 12)),
        layers=int(rng.integers(0, 4)),
        heads=int(rng.integers(0, 4)),
        k=2 * int(rng.integers(1, 4)),
        mlp=int(rng.choice([0, 1, 5, 20])),
        norm=(None, "layer", "rms")[rng.integers(3)],
        activation=list(Activation)[rng.integers(len(Activation))],
        mask=SEEN[rng.integers(3)],
        rows=(None, 20)[rng.integers(2)],
        fractions=bool(rng.integers(2)),
        dtype=[np.float32, np.float64][rng.integers(2)],
        cold=int(rng.choice([1, 30, 3000])),
        size=float(rng.choice([1e-3, 1.0, 10.0])),
    )
    network = featured(made(shape, seed), chosen, seed)
    assert held(network, int(rng.integers(1, 14)), bool(rng.integers(2)))[0] <= 1
    assert not shares_prefixes(network, False) or held(network, 9, shared=True)[0] <= 1


def of(*chosen: NetworkFeature, **changes: Any) -> Network:
    """Return a network with some features."""
    return featured(made(k=4, **changes), chosen)


# ---- trees of prefixes ----


@pytest.mark.parametrize("fine", [False, True])
def test_prefixes_are_shared_under_every_feature(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_tree, "DenseFloat", lambda network, **_: DenseFloat(network, fine))
    monkeypatch.setattr(dense_tree, "BLOCK", 3)
    monkeypatch.setattr(dense_tree, "WORTH", 1)
    monkeypatch.setattr(DenseFloat, "run", lambda *_: pytest.fail("the words were run one by one"))
    windows = [NetworkFeature.WINDOW, NetworkFeature.DISTANCE]
    for chosen in ([NetworkFeature.ROTARY], windows, TOGETHER, [NetworkFeature.POOLED_START]):
        network = of(*chosen)
        share, radius = held(network, 7, shared=True)
        assert share <= 1
        assert radius < 1e-6


@pytest.mark.parametrize("block", [1, 3, 8])
@pytest.mark.parametrize("window", [1, 2, 4, 6, 12])
def test_windows_of_prefixes_are_those_of_words(block: int, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_tree, "BLOCK", block)
    network = of(NetworkFeature.ROTARY, NetworkFeature.DISTANCE)
    layers = tuple(
        replace(layer, heads=tuple(replace(head, window=window) for head in layer.heads)) for layer in network.layers
    )
    network = replace(network, layers=layers)
    tokens = np.zeros((8, 10), dtype=np.int64)
    tokens[:, 7:] = list(product((1, 2), repeat=3))
    mid, rad = SharedFloat(network).run(10, tokens, slice(None))
    own, off = DenseFloat(network).run(10, tokens, slice(None))
    assert (np.abs(own - mid) <= rad + off).all()
    assert np.abs(own - mid).max() < 1e-12


def test_the_mean_is_not_shared() -> None:
    network = of(NetworkFeature.POOLED_MEAN)
    assert not shares_prefixes(network, True)
    assert not shares_prefixes(network, False)
    assert shares_prefixes(of(NetworkFeature.POOLED_START), False)
    mid, rad = SharedFloat(network).run(4, np.zeros((9, 4), dtype=np.int64), slice(None))
    assert mid.shape == (9, 1, 3)
    assert rad.max() < 1e-6


# ---- attention ----


@pytest.mark.parametrize("fine", [False, True])
def test_scores_are_enclosed(fine: bool) -> None:
    for mask in SEEN:
        network = of(*TOGETHER, mask=mask)
        tokens = np.array([[0, 3, 1, 1, 2]])
        exact = DenseForward(network, ARITHMETIC).attention(5, tokens[0].tolist())
        for (_, _, logits, slip), (_, _, rows) in zip(
            DenseFloat(network, fine).attention(5, tokens), exact, strict=True
        ):
            assert slip.max() < 1e-7
            with ARITHMETIC.precision():
                for query, key in np.ndindex(5, 5):
                    near, true = float(logits[0, query, key]), rows[query][key]
                    assert (true is None) == (near == -inf)
                    if true is not None:
                        error = abs(true - ARITHMETIC.number(Fraction(near)))
                        assert error <= ARITHMETIC.number(Fraction(float(slip[0, query])))


def test_looks_at_windows() -> None:
    """Keys that a look leaves out are not visible, and the others are hidden where they are not."""
    for mask, window, size in product(SEEN, (None, 1, 3, 200), (1, 7, 150)):
        queries = np.random.default_rng(size).permutation(size)[: size // 2 + 1]
        whole = visible(mask, window, queries, np.arange(size))
        for look in looks(mask, window, tuple(queries.tolist()), size):
            found = np.zeros((look.rows.stop - look.rows.start, size), dtype=np.bool_)
            found[:, look.keys] = True
            assert (look.seen is None) == (look.hidden is None)
            if look.seen is not None and look.hidden is not None:
                found[:, look.keys][:, look.partly] = look.seen
                assert (look.seen == np.exp(look.hidden)).all()
            assert (found == whole[look.rows]).all()
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert visible(Mask.FUTURE, 2, np.arange(4), np.arange(4)).tolist() == expected


# ---- parts ----


def test_the_hyperbolic_tangent_is_as_near_as_it_says() -> None:
    points = np.concatenate([np.logspace(-320, 300, 400), np.linspace(0, 40, 3000)])
    points = np.concatenate([points, -points, [0.0, inf]])
    found = hyperbolic(points)
    assert (np.abs(found) <= np.abs(points)).all()
    assert found[-1] == 1
    with ctx.workprec(200):
        errors = [abs(arb(x).tanh() - arb(y)) for x, y in zip(points[:-1].tolist(), found.tolist(), strict=False)]
        worst = max(float(error.upper()) for error in errors)
    assert 0.05 * EXP_ERROR < worst <= EXP_ERROR
    assert np.isnan(hyperbolic(np.array([np.nan]))[0])


@pytest.mark.parametrize("cap", [Fraction(30), Fraction(1, 3), Fraction(50, 7), Fraction(10**9, 3)])
def test_soft_caps_are_as_near_as_they_say(cap: Fraction) -> None:
    soft = SoftCap(cap)
    points = np.concatenate([np.linspace(-3, 3, 400), np.logspace(-9, 3, 100)]) * float(cap)
    with ctx.workprec(200):
        number = arb(cap.numerator) / cap.denominator
        errors = [
            abs(number * (arb(x) / number).tanh() - arb(y))
            for x, y in zip(points.tolist(), soft(points).tolist(), strict=True)
        ]
        worst = max(float(error.upper()) for error in errors)
    assert 0.05 * soft.error < worst <= soft.error


def test_caps_beyond_float64_know_nothing() -> None:
    assert SoftCap(Fraction(10**400)).error == inf
    assert SoftCap(Fraction(1, 10**320)).error == inf
    network = replace(made(), output_cap=Fraction(10**400))
    mid, rad = DenseFloat(network).run(3, np.array([[0, 1, 2]]), slice(None))
    assert (rad == inf).all()
    assert (mid == 0).all()


ROTATIONS = [
    Rotary(Fraction(10_000), 8, False),
    Rotary(Fraction(10_000), 6, True, Fraction(8)),
    Rotary(Fraction(1, 3), 8, True),
    Rotary(Fraction(500_000), 2, False),
    Rotary(Fraction(50), 8, False, scaling=YarnScaling(Fraction(8), Fraction(4), Fraction(1, 2), 32)),
    Rotary(
        Fraction(50), 8, True, scaling=YarnScaling(Fraction(8), Fraction(32), Fraction(1), 64, False, Fraction(2, 5))
    ),
    Rotary(Fraction(50), 6, False, scaling=Llama3Scaling(Fraction(8), Fraction(1), Fraction(4), 32)),
    Rotary(Fraction(50), 4, False, scaling=LongScaling((Fraction(3, 2), Fraction(5)), Fraction(4), 16)),
]


@pytest.mark.parametrize("rotary", ROTATIONS, ids=str)
def test_turns_are_as_near_as_they_say(rotary: Rotary) -> None:
    """A vector and its error are turned by a rotation whose angles come from 60 digits."""
    rng, positions, turns = np.random.default_rng(1), np.array([0, 1, 2, 63, 64, 1000]), Turns(rotary)
    x, e = rng.normal(size=(6, 8)), rng.normal(size=(6, 8)) * 1e-13
    mid = turns(x, positions)
    length, each = turns.length(lengths(e), lengths(x), positions), turns.each(x, np.abs(e), positions)
    for place, position in enumerate(positions.tolist()):
        true = [Fraction(a) + Fraction(b) for a, b in zip(x[place].tolist(), e[place].tolist(), strict=True)]
        with ctx.workprec(300):
            found = [arb(value.numerator) / value.denominator for value in true]
            for r, (a, b) in enumerate(rotary.pairs):
                if rotary.scaling is None:
                    power = (arb(rotary.base.numerator) / rotary.base.denominator).log() * -2 * r / rotary.size
                    angle = power.exp() * position / int(rotary.divisor)
                else:
                    angle = ball(rotary.frequencies[r]) * position
                c, s = (ball(rotary.amplitude) * part for part in (angle.cos(), angle.sin()))
                found[a], found[b] = found[a] * c - found[b] * s, found[b] * c + found[a] * s
            errors = [found[one] - arb(mid[place, one].item()) for one in range(8)]
            for error, radius in zip(errors, each[place].tolist(), strict=True):
                assert abs(error) <= arb(radius)
            squares = sum((error * error for error in errors), arb(0))
            assert squares.sqrt() <= arb(length[place, 0].item())
    assert length.max() < 2e-12
    assert (length >= lengths(e)).all()


def test_turns_too_fast_for_balls_know_nothing() -> None:
    assert not turn_table(Rotary(Fraction(1, 10**400), 4, False), 64)[2] < 1


def test_tables_of_turns_are_those_of_the_functions() -> None:
    cosines, sines, off = turn_table(Rotary(Fraction(100), 4, False), 64)
    assert cosines.shape == (64, 2)
    assert 0 < off < 2.0**-52
    np.testing.assert_allclose(cosines[10], np.cos([10, 1]), atol=1e-15)
    np.testing.assert_allclose(sines[10], np.sin([10, 1]), atol=1e-15)
    assert abs(cosines[44, 0] - np.cos(44 - 14 * pi)) < 1e-12


def test_steps_of_scores_are_those_of_the_definition() -> None:
    products = np.random.default_rng(2).normal(size=(2, 4, 3)) * 4
    steps = ScoreSteps(Fraction(5, 3), DistanceBias(Fraction(1, 2)))
    queries, keys = np.array([3, 0, 1, 8]), np.array([0, 1, 2])
    expected = 5 / 3 * np.tanh(products * 3 / 5) - 0.5**0.5 * np.abs(queries[:, None] - keys)
    np.testing.assert_allclose(steps(products.copy(), queries, keys), expected, atol=1e-14)


def test_products_of_vectors_are_enclosed() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        a, b = rng.normal(size=(2, 1, 5))
        e, f = rng.normal(size=(2, 1, 5)) * 10.0 ** rng.integers(-9, 1, size=(2, 1, 1))
        found = multiplied(Vectors(a, lengths(e), np.abs(e)), Vectors(b, lengths(f), np.abs(f)))
        coarse = multiplied(Vectors(a, lengths(e)), Vectors(b, lengths(f)))
        error = (a + e) * (b + f) - found.mid
        assert found.each is not None
        assert (np.abs(error) <= found.each + 1e-15).all()
        assert np.linalg.norm(error) <= min(found.length[0, 0], coarse.length[0, 0]) + 1e-15
        # The bound of length is tight where both errors lie in the same coordinate.
    one = Vectors(np.array([[3.0, 0.0]]), np.array([[1.0]]))
    assert multiplied(one, one).length[0, 0] == pytest.approx(4**2 - 3**2)


def test_means_are_enclosed() -> None:
    rng = np.random.default_rng(4)
    x, e = rng.normal(size=(2, 1, 9, 4))
    found = averaged(Vectors(x, lengths(e), np.abs(e)))
    assert found.each is not None
    true = (x + e).mean(axis=1, keepdims=True)
    assert (np.abs(true - found.mid) <= found.each).all()
    assert (np.linalg.norm(true - found.mid, axis=2) <= found.length[:, :, 0]).all()
    assert found.length.max() <= np.linalg.norm(e, axis=2).mean() * (1 + 1e-6)


# ---- a need for each bound ----


def lossy(*, gate: bool = False, transform: bool = False) -> Network:
    """Return a network whose first norm loses 8 digits, before a gated MLP or a transform."""
    network = made(layers=1, heads=0, rows=None, d=9, dtype=np.float64, activation=Activation.TANH, biases=False)
    mlp = network.layers[0].mlp
    assert mlp is not None
    rng = np.random.default_rng(5)
    if gate:
        mlp = replace(mlp, w_gate=rng.normal(size=mlp.w_in.shape), w_out=mlp.w_out * 1000)
    step = Transform(rng.normal(size=(9, 9)), None, Activation.TANH) if transform else None
    plain: Mlp | None = None if transform else mlp
    layer = NetworkLayer((), plain, np.zeros(9), dense_norm(), None, post=True)
    embedding, unembedding = network.embedding + 1e8, network.unembedding * 1000
    return replace(network, embedding=embedding, layers=(layer,), final=None, transform=step, unembedding=unembedding)


def dense_norm() -> Any:
    """Return a layer norm without epsilon."""
    return replace(made().layers[0].norm_1 or pytest.fail("no norm"), epsilon=Fraction(0), weight=None, bias=None)


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("part", ["gate", "transform"])
def test_errors_that_do_not_pass_would_be_found_out(part: str, fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    network = lossy(**{part: True})
    share, radius = held(network, 3, fine)
    assert share <= 1
    assert radius > 1e-8
    if part == "gate":
        lost = lambda a, b: Vectors(a.mid * b.mid, 0 * a.length, None if a.each is None else 0 * a.each)  # noqa: E731
        monkeypatch.setattr(dense_float, "multiplied", lost)
    else:
        monkeypatch.setitem(dense_float.STEEPEST, Activation.TANH, 0.0)
    assert held(network, 3, fine)[0] > 1


def far_keys(feature: NetworkFeature) -> Network:
    """Return a network of one head with a feature, whose keys lose digits to a large bias that all keys share, in the
    coordinates that are not turned."""
    network = of(feature, layers=1, heads=1, mlp=0, norm=None, dtype=np.float64)
    (head,) = network.layers[0].heads
    head = replace(head, b_k=np.array([0, 0, 1e7, 1e7]))
    return replace(network, layers=(replace(network.layers[0], heads=(head,)),))


@pytest.mark.parametrize("fine", [False, True])
def test_turned_keys_taken_for_exact_would_be_found_out(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    network = far_keys(NetworkFeature.ROTARY)
    assert held(network, 5, fine)[0] <= 1
    monkeypatch.setattr(dense_float, "mean_factor", lambda slip: np.zeros_like(slip))
    assert held(network, 5, fine)[0] > 1


@pytest.mark.parametrize("name", ["length", "each"])
def test_tables_taken_for_exact_would_be_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a coarse table the turned vectors are as far off as it says."""
    rotary = Rotary(Fraction(10_000), 8, False)
    original = float_blocks.turn_table

    def coarse(rotary: Rotary, count: int) -> Any:
        cosines, sines, _ = original(rotary, count)
        return np.round(cosines, 3), np.round(sines, 3), 0.0005

    monkeypatch.setattr(float_blocks, "turn_table", coarse)
    positions, x, turns = np.arange(40), np.random.default_rng(6).normal(size=(40, 8)), Turns(rotary)
    off = turns(x, positions)
    monkeypatch.setattr(float_blocks, "turn_table", original)
    error = np.abs(off - turns(x, positions))
    monkeypatch.setattr(float_blocks, "turn_table", coarse)
    if name == "each":
        assert (error <= turns.each(x, np.zeros_like(x), positions)).all()
    else:
        bound = turns.length(np.zeros((40, 1)), lengths(x), positions)[:, 0]
        assert (np.linalg.norm(error, axis=1) <= bound).all()
        assert (np.linalg.norm(error, axis=1) > bound / 20).any()


def test_readouts_around_the_word() -> None:
    network = replace(of(*TOGETHER), readout=Readout(("t0",), ("t1",)))
    assert held(network, 6)[0] <= 1
