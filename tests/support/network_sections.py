"""Random networks of one layer as certificates of external networks write them, and what they compute, by mpmath."""

from __future__ import annotations

import random
from typing import Any

import mpmath

REAL = mpmath.mp.clone()
REAL.prec = 160


def matrix(source: random.Random, rows: int, columns: int, size: float = 1.0) -> list[list[Any]]:
    """Return random numbers: floats, and now and then a rational that is no float."""
    return [[_number(source, size) for _ in range(columns)] for _ in range(rows)]


def _number(source: random.Random, size: float) -> Any:
    return f"{source.randint(-9, 9)}/7" if source.random() < 0.02 else source.gauss(0, size)


def norm(source: random.Random, kind: str | None, d: int) -> dict[str, Any] | None:
    """Return a norm with weights and biases, now and then without; None without a kind."""
    if kind is None:
        return None
    some = [matrix(source, 1, d)[0] if source.random() < 0.7 else None for _ in range(2)]
    return {"kind": kind, "epsilon": "1/100000", "weight": some[0], "bias": some[1]}


def network_section(
    source: random.Random, activation: str | None, kind: str | None, post: bool, heads: int, **others: Any
) -> dict[str, Any]:
    """Return the section of a random network of one layer with 5 coordinates and 3 outputs. Without an activation it
    has no MLP, without a kind no norms; `others` are sections to replace."""
    d, width, tokens = 5, 7, ["<bos>", "a", "b"]

    def bias(size: int) -> list[Any] | None:
        return matrix(source, 1, size)[0] if source.random() < 0.7 else None

    layer = {
        "heads": [_head(source, d, source.choice([1, 2, 3])) for _ in range(heads)],
        "b_o": bias(d),
        "mlp": activation
        and {
            "activation": activation,
            "w_in": matrix(source, d, width),
            "b_in": bias(width),
            "w_out": matrix(source, width, d, 0.5),
            "b_out": bias(d),
        },
        "norm_2": norm(source, kind if activation else None, d),
        "post": post,
    }
    layer["norm_1"] = norm(source, kind if heads or layer["b_o"] is not None else None, d)
    return {
        "tokens": tokens,
        "embedding": matrix(source, 3, d),
        "embedding_scale": source.choice([{"factor": "1", "root": 1}, {"factor": "3/2", "root": 2}]),
        "positions": matrix(source, 12, d) if source.random() < 0.8 else None,
        "layers": [layer],
        "final": norm(source, source.choice([kind, None]), d),
        "unembedding": matrix(source, d, 3),
        "unembedding_bias": bias(3),
        "outputs": ["yes", "no", "end"],
        "readout": {
            "before": ["<bos>"],
            "after": [],
            "at": "each",
            "decide": "above",
            "level": "1/3",
            "among": None,
            "alphabet": None,
        },
    } | others


def _head(source: random.Random, d: int, width: int) -> dict[str, Any]:
    keys = source.choice([1, 2])
    parts: dict[str, Any] = {
        f"w_{name}": matrix(source, d, size) for name, size in (("q", keys), ("k", keys), ("v", width))
    }
    parts |= {f"b_{name}": matrix(source, 1, len(parts[f"w_{name}"][0]))[0] for name in "qkv" if source.random() < 0.7}
    none = dict.fromkeys(("b_q", "b_k", "b_v"))
    return none | parts | {"mask": "future", "scale": {"factor": "1", "root": keys}, "w_o": matrix(source, width, d)}


# ---- what it computes ----


def real(x: Any) -> Any:
    """Return a number of a section, or an array of them, as real numbers of 160 bits."""
    if isinstance(x, list):
        return [real(part) for part in x]
    top, _, bottom = x.partition("/") if isinstance(x, str) else (x, "", "")
    return REAL.mpf(top) / REAL.mpf(bottom or 1)


def linear(x: list[Any], weight: list[list[Any]], bias: list[Any] | None) -> list[Any]:
    """Return x W + b."""
    columns = zip(*real(weight), strict=True)
    found = [REAL.fsum(a * b for a, b in zip(x, column, strict=True)) for column in columns]
    return found if bias is None else [a + b for a, b in zip(found, real(bias), strict=True)]


def normed(x: list[Any], part: dict[str, Any] | None) -> list[Any]:
    """Return the value of a norm."""
    if part is None:
        return x
    y, root = [a - REAL.fsum(x) / len(x) for a in x] if part["kind"] == "layer" else x, divisor(x, part)
    weight, bias = (real(part[key] or [str(k)] * len(y)) for key, k in (("weight", 1), ("bias", 0)))
    return [a / root * w + b for a, w, b in zip(y, weight, bias, strict=True)]


def activated(name: str, x: Any) -> Any:
    """Return the value of a function of hidden units."""
    if name == "relu":
        return max(x, 0)
    if name == "gelu":
        return x * REAL.erfc(-x / REAL.sqrt(2)) / 2
    if name == "silu":
        return x / (1 + REAL.exp(-x))
    if name == "quick_gelu":
        return x / (1 + REAL.exp(-real("1702/1000") * x))
    if name == "tanh":
        return REAL.tanh(x)
    return x * (1 + REAL.tanh(REAL.sqrt(2 / REAL.pi) * (x + real("44715/1000000") * x**3))) / 2


def embedded(section: dict[str, Any], token: int, place: int) -> list[Any]:
    """Return the row of a token as it enters the layer."""
    scale = section["embedding_scale"]
    factor = real(scale["factor"]) / REAL.sqrt(scale["root"])
    row = [factor * x for x in real(section["embedding"][token])]
    return (
        row
        if section["positions"] is None
        else [a + b for a, b in zip(row, real(section["positions"][place]), strict=True)]
    )


def attended(section: dict[str, Any], tokens: list[int]) -> list[list[Any]]:
    """Return the mean of the values of each head at the last of some tokens."""
    (layer,) = section["layers"]
    rows = [embedded(section, token, place) for place, token in enumerate(tokens)]
    entering = rows if layer["post"] else [normed(row, layer["norm_1"]) for row in rows]
    found = []
    for head in layer["heads"]:
        scale = real(head["scale"]["factor"]) / REAL.sqrt(head["scale"]["root"])
        query = linear(entering[-1], head["w_q"], head["b_q"])
        keys, values = ([linear(row, head[f"w_{x}"], head[f"b_{x}"]) for row in entering] for x in "kv")
        weights = [REAL.exp(scale * REAL.fsum(a * b for a, b in zip(query, key, strict=True))) for key in keys]
        columns = zip(*values, strict=True)
        found.append(
            [REAL.fsum(a * b for a, b in zip(weights, column, strict=True)) / sum(weights) for column in columns]
        )
    return found


def last_vector(
    section: dict[str, Any], x: list[Any], means: list[list[Any]]
) -> tuple[list[Any], dict[str, Any] | None]:
    """Return the last vector and the last norm, from the row at the last token and the means of the heads there."""
    (layer,) = section["layers"]
    if layer["b_o"] is not None:
        x = [a + b for a, b in zip(x, real(layer["b_o"]), strict=True)]
    for head, mean in zip(layer["heads"], means, strict=True):
        x = [a + b for a, b in zip(x, linear(mean, head["w_o"], None), strict=True)]
    post, mlp = layer["post"], layer["mlp"]
    norms = [layer["norm_1"] if post else None]
    if mlp is not None:
        x = normed(x, norms.pop())
        entering = x if post else normed(x, layer["norm_2"])
        hidden = [activated(mlp["activation"], a) for a in linear(entering, mlp["w_in"], mlp["b_in"])]
        x = [a + b for a, b in zip(x, linear(hidden, mlp["w_out"], mlp["b_out"]), strict=True)]
        norms = [layer["norm_2"] if post else None]
    kept = [norm for norm in (*norms, section["final"]) if norm is not None]
    for norm in kept[:-1]:
        x = normed(x, norm)
    return x, kept[-1] if kept else None


def divisor(x: list[Any], norm: dict[str, Any] | None) -> Any:
    """Return the number that a norm divides by, 1 if there is none."""
    if norm is None:
        return REAL.mpf(1)
    y = [a - REAL.fsum(x) / len(x) for a in x] if norm["kind"] == "layer" else x
    return REAL.sqrt(REAL.fsum(a * a for a in y) / len(y) + real(norm["epsilon"]))


def after_heads(section: dict[str, Any], x: list[Any], means: list[list[Any]]) -> list[Any]:
    """Return the outputs, from the row at the last token and the means of the heads there."""
    return linear(normed(*last_vector(section, x, means)), section["unembedding"], section["unembedding_bias"])


def outputs(section: dict[str, Any], tokens: list[int]) -> list[Any]:
    """Return the outputs at the last of some tokens."""
    return after_heads(section, embedded(section, tokens[-1], len(tokens) - 1), attended(section, tokens))
