"""Lines near the functions of hidden units: for an interval of arguments, a line and a bound of the distance from it.

For a slope a let D(x) = f(x) - a x. If D is between `least` and `most` on the interval, then f(x) is within (most -
least) / 2 of a x + (most + least) / 2. The slope is that of the chord between the ends.

relu is linear on both sides of 0, so D is least and greatest at an end or at 0. For the other functions consider an
interval with ends u and v, middle m and width w. By the error of linear interpolation f(x) is the value of the chord
less f''(y) (x - u)(v - x) / 2 for a y in the interval, and (x - u)(v - x) <= w^2 / 4. A wide interval is divided into
PIECES parts; D is within C (w / PIECES)^2 / 8 of the range of its values at their ends, where C bounds |f''|.

On a narrow interval let b = f''(m) and g(x) = f(x) - chord(x) + b (x - u)(v - x) / 2. Then g is 0 at both ends, and
|g''| <= T |x - m|, where T bounds the third derivative. T (w^3 / 48 - |x - m|^3 / 6) is 0 at the ends, too, and has the
second derivative -T |x - m|; so by the maximum principle |g| is at most this, that is at most T w^3 / 48. So D is
between the least of D(u) and D(v) less max(b, 0) w^2 / 8, and the greatest of them and max(-b, 0) w^2 / 8, up to T w^3
/ 48.
"""

from __future__ import annotations

from hardsim.verify.external.numbers import (
    ACTIVATION_ERROR,
    ACTIVATIONS,
    CUBIC,
    CURVATURE,
    ETA,
    GROW,
    LINEAR,
    STEEP,
    STEEPEST,
    U,
    exp_between,
    logistic,
    tanh,
)

Line = tuple[float, float, float]
"""Slope, value at 0, and a bound of the distance."""
POINT, NARROW = 2.0**-24, 0.1875
"""Greatest width of an interval on which the line is a constant; on which f'' is that of the middle."""
PIECES = 16
FAR_OUT = 24.0
"""Beyond this the second derivatives are below NEARLY_STRAIGHT: they are polynomials times e^-24 or less."""
NEARLY_STRAIGHT = 2.0**-20
THIRD = {"gelu": 0.8, "gelu_new": 0.8, "silu": 0.32, "quick_gelu": 0.93, "tanh": 2.001}
"""For each function a bound of its third derivative, in size."""
_DENSITY = 0.3989422804014327
"""1 / sqrt(2 pi)."""


def line_of(name: str, low: float, high: float) -> Line:
    """Return a line near a function of hidden units for arguments between two floats, low <= high."""
    if name == "relu":
        return _line_of_relu(low, high)
    f, width = ACTIVATIONS[name], high - low
    if width <= POINT:
        # the function moves by at most STEEPEST times the distance
        middle = low + width / 2
        return 0.0, f(middle), (STEEPEST[name] * width + 2 * ACTIVATION_ERROR * (abs(low) + abs(high))) * GROW + ETA
    at_low, at_high = f(low), f(high)
    slope = (at_high - at_low) / width
    ends = at_low - slope * low, at_high - slope * high
    most, least = max(ends), min(ends)
    if width <= NARROW:
        bend = _second(name, low + width / 2)
        share = width * width / 8
        reach = (THIRD[name] * width * share / 6 + NEARLY_STRAIGHT * share) * GROW
        most, least = most + max(-bend, 0.0) * share + reach, least - max(bend, 0.0) * share - reach
    else:
        step = width / PIECES
        inside = [low + step * k for k in range(1, PIECES)]
        some = [f(x) - slope * x for x in inside]
        # points are rounded, so parts are a little wider than a step
        part = (step + 8 * U * (abs(low) + abs(high))) * GROW
        bend = CURVATURE[name] * part * part / 8
        most, least = max(most, *some) + bend, min(least, *some) - bend
    # f is right to ACTIVATION_ERROR |x|, and slope x to 2 u |slope x|
    slack = 2 * ACTIVATION_ERROR * (abs(low) + abs(high)) * (1 + abs(slope))
    return slope, (most + least) / 2, ((most - least) / 2 + slack) * GROW + ETA


def _line_of_relu(low: float, high: float) -> Line:
    if low >= 0:
        return 1.0, 0.0, 0.0
    if high <= 0:
        return 0.0, 0.0, 0.0
    # 0 < slope <= 1, so D is at least 0: it is 0 at 0, and falls before and rises after it
    slope = high / (high - low)
    most = max(-slope * low, high - slope * high) + 16 * U * (high - low)
    return slope, most / 2, most / 2 * GROW + ETA


def _second(name: str, x: float) -> float:
    """Return the second derivative at x, within NEARLY_STRAIGHT.

    gelu: phi(x) (2 - x^2). tanh: -2 t (1 - t^2), with t its value. The others are x s(z) with the logistic function s
    and z = A x + B x^3, or z = A x: s' (2 z' + x z'' + x (1 - 2 s) z'^2) with s' = s (1 - s), which is right to 2^-49.
    For |x| <= FAR_OUT its factor is below 2^20.
    """
    if abs(x) > FAR_OUT:
        return 0.0
    if name == "gelu":
        return _DENSITY * exp_between(-x * x / 2)[1] * (2 - x * x)
    if name == "tanh":
        t = tanh(x)
        return -2 * t * (1 - t) * (1 + t)
    a, b = {"gelu_new": (LINEAR, CUBIC), "quick_gelu": (STEEP, 0.0)}.get(name, (1.0, 0.0))
    s, first = logistic(x * (a + b * x * x)), a + 3 * b * x * x
    return s * (1 - s) * (2 * first + 6 * b * x * x + x * (1 - 2 * s) * first * first)
