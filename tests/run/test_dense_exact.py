"""Dense networks in balls and mpmath: compared with each other and with plain floats by the definition, at any
precision.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, erf, exp, floor, log, pi, sqrt, tanh
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from hardsim.network.blocks import Rotary
from hardsim.network.dense import Mlp, NetworkLayer
from hardsim.network.features import NetworkFeature, features
from hardsim.network.rotary_scaling import Llama3Scaling, LongScaling, YarnScaling
from hardsim.run.dense_balls import DenseBalls
from hardsim.run.dense_exact import DenseForward, sees
from tests.support.dense_networks import SEEN, Shape, featured, made
from tests.support.language import Undecided
from tests.support.model import Activation, BallArithmetic, Mask, MpArithmetic, Network, Norm

M = 5
KINDS = list(product(Activation, ("layer", "rms", None), (False, True), SEEN, (False, True)))
FUNCTIONS = {
    Activation.RELU: lambda x: max(x, 0.0),
    Activation.GELU: lambda x: x * (1 + erf(x / sqrt(2))) / 2,
    Activation.GELU_NEW: lambda x: x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2,
    Activation.QUICK_GELU: lambda x: x / (1 + exp(-1.702 * x)),
    Activation.SILU: lambda x: x / (1 + exp(-x)),
    Activation.TANH: tanh,
}


def floats(array: Any) -> Any:
    """Return the nearest floats; 0 for an absent array."""
    return 0.0 if array is None else np.asarray(array, dtype=np.float64)


def normed(norm: Norm | None, x: Any) -> Any:
    """Apply a norm by its definition."""
    if norm is None:
        return x
    c = x - x.mean(axis=1, keepdims=True) if norm.kind == "layer" else x
    y = c / np.sqrt((c**2).mean(axis=1, keepdims=True) + float(norm.epsilon))
    return y * (1.0 if norm.weight is None else floats(norm.weight)) + floats(norm.bias)


def scaling_factors(rotary: Rotary) -> tuple[list[float], float]:
    """Return the factor of each frequency, and that of cosines and sines, from the papers' definitions."""
    scaling, size, base = rotary.scaling, rotary.size, float(rotary.base)
    rates = [base ** (-2 * r / size) for r in range(size // 2)]
    match scaling:
        case Llama3Scaling():
            waves, low, high = [2 * pi / rate for rate in rates], float(scaling.low), float(scaling.high)
            smooth = [min(1.0, max(0.0, (scaling.length / wave - low) / (high - low))) for wave in waves]
            return [(1 - part) / float(scaling.factor) + part for part in smooth], 1.0
        case YarnScaling():
            ends = [
                size * log(scaling.length / (float(turns) * 2 * pi)) / (2 * log(base))
                for turns in (scaling.fast, scaling.slow)
            ]
            ends = [floor(ends[0]), ceil(ends[1])] if scaling.truncate else ends
            low, high = max(ends[0], 0), min(ends[1], size - 1)
            ramp = np.clip((np.arange(size // 2) - low) / (high - low or 0.001), 0, 1)
            amplitude = 0.1 * log(float(scaling.factor)) + 1 if scaling.stated is None else float(scaling.stated)
            return (ramp / float(scaling.factor) + 1 - ramp).tolist(), amplitude
        case LongScaling():
            amplitude = sqrt(1 + log(float(scaling.factor)) / log(scaling.length))
            return [1 / float(one) for one in scaling.divisors], amplitude
    return [1.0] * (size // 2), 1.0


def turned(rotary: Rotary | None, rows: Any) -> Any:
    """Turn queries or keys by their positions: complex numbers times e^(i angle)."""
    if rotary is None:
        return rows
    found, half = rows.copy(), rotary.size // 2
    factors, amplitude = scaling_factors(rotary)
    for r in range(half):
        a, b = (2 * r, 2 * r + 1) if rotary.interleaved else (r, r + half)
        angle = np.arange(len(rows)) * float(rotary.base) ** (-2 * r / rotary.size) / float(rotary.divisor) * factors[r]
        point = (rows[:, a] + 1j * rows[:, b]) * np.exp(1j * angle) * amplitude
        found[:, a], found[:, b] = point.real, point.imag
    return found


def attended(layer: NetworkLayer, y: Any, scored: Any) -> Any:
    """Return the contribution of heads, query by query. Queries and keys read `scored`."""
    found = np.zeros_like(y) + floats(layer.b_o)
    place = np.arange(len(y))
    for head in layer.heads:
        q = turned(head.rotary, normed(head.norm_q, scored @ floats(head.w_q) + floats(head.b_q)))
        k = turned(head.rotary, normed(head.norm_k, scored @ floats(head.w_k) + floats(head.b_k)))
        v = y @ floats(head.w_v) + floats(head.b_v)
        for query in range(len(y)):
            far = np.abs(place - query)
            logits = k @ q[query] * float(head.scale.factor) / sqrt(head.scale.root)
            logits = logits if head.cap is None else float(head.cap) * np.tanh(logits / float(head.cap))
            logits = logits if head.distance is None else logits - 2.0 ** -float(head.distance.exponent) * far
            seen = {Mask.FUTURE: place <= query, Mask.PAST: place >= query, Mask.NONE: place >= 0}[head.mask]
            seen = seen & (far < (np.inf if head.window is None else head.window))
            weights = np.where(seen, np.exp(logits - logits[seen].max()), 0.0)
            found[query] += weights @ v / weights.sum() @ floats(head.w_o)
    return found


def processed(mlp: Mlp, y: Any) -> Any:
    """Return the contribution of an MLP."""
    f = np.vectorize(FUNCTIONS[mlp.activation])
    entered = y @ floats(mlp.w_in) + floats(mlp.b_in)
    hidden = f(entered) if mlp.w_gate is None else f(y @ floats(mlp.w_gate) + floats(mlp.b_gate)) * entered
    return hidden @ floats(mlp.w_out) + floats(mlp.b_out)


def plain(network: Network, n: int, tokens: list[int]) -> Any:
    """Return all outputs in numpy's floats, by the definition in network/dense.py."""
    scale = float(network.embedding_scale.factor) / sqrt(network.embedding_scale.root)
    positions = floats(network.encoding(n))
    inside, beside = (positions, 0.0) if network.positions_at == "stream" else (0.0, positions)
    x = scale * floats(network.embedding)[tokens] + inside + floats(network.embedding_bias)
    x = normed(network.embedding_norm, x)
    x = x if network.projection is None else x @ floats(network.projection) + floats(network.projection_bias)
    for layer in network.layers:
        entered = x
        if layer.attends:
            y = x if layer.post else normed(layer.norm_1, x)
            x = x + normed(layer.out_1, attended(layer, y, y + beside))
            x = normed(layer.norm_1, x) if layer.post else x
        if layer.mlp is not None:
            y = entered if layer.parallel else x
            x = x + normed(layer.out_2, processed(layer.mlp, y if layer.post else normed(layer.norm_2, y)))
            x = normed(layer.norm_2, x) if layer.post else x
    return answered(network, normed(network.final, x))


def answered(network: Network, x: Any) -> Any:
    """Return the outputs from the vectors after the final norm."""
    x = x.mean(axis=0, keepdims=True) if network.readout.pooled == "mean" else x
    if (step := network.transform) is not None:
        x = x @ floats(step.weight) + floats(step.bias)
        x = x if step.activation is None else np.vectorize(FUNCTIONS[step.activation])(x)
        x = normed(step.norm, x)
    x = x @ floats(network.unembedding) + floats(network.unembedding_bias)
    return x if network.output_cap is None else float(network.output_cap) * np.tanh(x / float(network.output_cap))


def compare(network: Network, tokens: list[int]) -> None:
    """Assert that balls contain the values of mpmath, and that the plain pass is near."""
    n, balls, numbers = len(tokens) - network.readout.length(0), BallArithmetic(300), MpArithmetic(60)
    rows = DenseForward(network, balls).run(n, tokens, range(len(tokens)))
    other = DenseForward(network, numbers).run(n, tokens, range(len(tokens)))
    near = plain(network, n, tokens)
    with ctx.workprec(300):
        for place, row in enumerate(rows):
            for out, value in enumerate(row):
                assert value.rad() < 1e-60
                assert abs(value - arb(numbers.context.nstr(other[place][out], 70))) < 1e-45
                assert abs(float(value.mid()) - near[place, out]) < 1e-9 * (1 + np.abs(near).max())


@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("post", [False, True])
def test_balls_mpmath_and_plain_floats_agree(activation: Activation, post: bool) -> None:
    compare(made(activation=activation, post=post), [0, 3, 1, 2, 2])


@pytest.mark.parametrize("feature", list(NetworkFeature))
def test_balls_mpmath_and_plain_floats_agree_on_each_feature(feature: NetworkFeature) -> None:
    network = featured(made(k=4), [feature])
    assert features(network) == (feature,)
    compare(network, [0, 3, 1, 2, 2])


@pytest.mark.parametrize("mask", SEEN)
def test_all_features_together_agree(mask: Mask) -> None:
    together = [feature for feature in NetworkFeature if feature is not NetworkFeature.POOLED_START]
    compare(featured(made(mask=mask, k=4), together, seed=1), [3, 0, 1, 1])


@pytest.mark.parametrize(
    "norm", [pytest.param("layer", marks=pytest.mark.slow), "rms", pytest.param(None, marks=pytest.mark.slow)]
)
def test_every_kind_agrees(norm: Any) -> None:
    for seed, (activation, kind, post, mask, fractions) in enumerate(KINDS):
        if kind == norm:
            shape = Shape(activation=activation, norm=norm, post=post, mask=mask, fractions=fractions)
            tokens = np.random.default_rng(seed).integers(0, 4, size=4).tolist()
            compare(made(shape, seed, biases=seed % 3 > 0), tokens)


@pytest.mark.parametrize(
    "changes",
    [{"d": 1, "norm": None}, {"mlp": 0}, {"heads": 0}, {"heads": 0, "biases": False}, {"layers": 0}, {"rows": None}],
    ids=str,
)
def test_parts_may_be_missing(changes: dict[str, Any]) -> None:
    compare(made(**changes), [1, 0, 2])


def test_numbers_are_those_of_the_definition() -> None:
    """One coordinate, no layers: ((3/7) (2/7) + 5/7), exactly where an arithmetic can."""
    network = made(d=1, layers=0, norm=None, fractions=True, rows=None, outputs=1, vocabulary=1)
    parts = [np.array([[Fraction(k, 7)]], dtype=object) for k in (3, 2, 5)]
    network = replace(network, embedding=parts[0], unembedding=parts[1], unembedding_bias=parts[2][0])
    ((value,),) = DenseForward(network, BallArithmetic(200)).run(1, [0], [0])
    with ctx.workprec(400):
        assert (value * 49).contains(41)
        assert (value * 49).rad() < 1e-55


@pytest.mark.parametrize("post", [False, True])
def test_places_are_the_requested_ones(post: bool) -> None:
    for layers in (0, 2):
        forward = DenseForward(made(layers=layers, post=post), BallArithmetic(200))
        every = forward.run(6, [0, 1, 2, 3, 0, 1], range(6))
        some = forward.run(6, [0, 1, 2, 3, 0, 1], [4, 1])
        assert all(
            a.overlaps(b)
            for one, place in zip(some, (4, 1), strict=True)
            for a, b in zip(one, every[place], strict=True)
        )
        assert len(some) == 2


def test_logits_are_those_of_the_definition() -> None:
    network = made(mask=Mask.PAST, layers=1)
    (layer,) = network.layers
    y = normed(layer.norm_1, floats(network.embedding)[[2, 0, 3]] + floats(network.encoding(3)))
    found = list(DenseForward(network, BallArithmetic(100)).attention(3, [2, 0, 3]))
    assert [(number, head) for number, head, _ in found] == [(0, head) for head in layer.heads]
    for _, head, rows in found:
        q, k = y @ head.w_q + head.b_q, y @ head.w_k + head.b_k
        near = q @ k.T * float(head.scale.factor) / sqrt(head.scale.root)
        for query, key in product(range(3), range(3)):
            score = rows[query][key]
            assert (score is None) == (key < query)
            assert score is None or abs(float(score.mid()) - near[query, key]) < 1e-12


def test_every_query_sees_itself() -> None:
    (head, *_) = made().heads
    for mask, expected in zip(SEEN, ([True, False], [True, True], [False, True]), strict=True):
        masked = replace(head, mask=mask)
        assert sees(masked, 2, 2)
        assert [sees(masked, 1, key) for key in (0, 2)] == expected
        assert [sees(replace(masked, window=1), 1, key) for key in (0, 1, 2)] == [False, True, False]


# ---- as many bits as an answer needs ----


def test_bits_double_until_it_is_settled() -> None:
    network, radii = made(), []

    def settled(rows: list[list[arb]]) -> bool:
        radii.append(float(rows[0][0].rad()))
        return radii[-1] < 1e-200

    rows, bits = DenseBalls(network).run(3, [0, 1, 2], [2], settled)
    assert bits == 96 * 8  # 10^-200 needs 665 bits, and some are lost
    assert len(radii) == 4
    assert rows[0][0].rad() < 1e-200
    assert DenseBalls(network).run(3, [0, 1, 2], [2], lambda rows: True)[1] == 96


def test_what_is_not_settled_at_the_limit_is_undecided() -> None:
    tried = []

    def settled(rows: list[list[arb]]) -> bool:
        tried.append(ctx.prec)
        return False

    with pytest.raises(Undecided, match="t0 t1 is undecided: with 500 bits"):
        DenseBalls(made(), limit=500).run(2, [0, 1], [1], settled)
    assert tried == [96, 192, 384, 500]
    assert ctx.prec == 53
    with pytest.raises(Undecided, match=r"\(60 tokens\) is undecided: with 96 bits"):
        DenseBalls(made(rows=60, layers=0), limit=96).run(60, [0] * 60, [1], lambda rows: False)


def test_a_variance_of_nothing_is_never_settled() -> None:
    network = replace(made(layers=0, rows=None), embedding=np.full((4, 8), 3.0), final=Norm("layer", Fraction(0)))
    with pytest.raises(Undecided):
        DenseBalls(network, limit=200).run(1, [0], [0], lambda rows: all(value.is_finite() for value in rows[0]))
