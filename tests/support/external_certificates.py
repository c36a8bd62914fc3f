"""Certificates of small external networks, made by running every word: networks with random numbers as JSON, their
outputs in plain float64, and groups whose boxes and bounds come from all words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import erf, pi
from typing import Any, TypeAlias

import numpy as np

from hardsim.run.enclosure import Floats
from hardsim.verify.external.sections import EXTERNAL_CLAIM, EXTERNAL_VERSION

SYMBOLS = ("a", "b")
TOKENS = ("a", "b", "<s>", "</s>")
SLACK = 1e-8
Json: TypeAlias = dict[str, Any]
Word: TypeAlias = tuple[int, ...]


def network(seed: int, heads: int = 1, template: str = "before", outputs: int = 2, **more: Any) -> Json:
    """Return a network over `a` and `b` with random numbers; `more` has d, k, v, rows, mlp, norm, post, final,
    and the factor of the scores."""
    rng = np.random.default_rng(seed)
    d, k, v, mlp = more.get("d", 4), more.get("k", 3), more.get("v", 3), more.get("mlp", 5)
    norm, post, rows = more.get("norm", "layer"), more.get("post", False), more.get("rows", 12)

    def draw(*shape: int, scale: float = 1.0) -> Any:
        return (rng.standard_normal(shape) * scale).tolist()

    def normed(kind: str | None) -> Json | None:
        if kind is None:
            return None
        return {"kind": kind, "epsilon": "1/1000", "weight": draw(d), "bias": draw(d, scale=0.3)}

    def head() -> Json:
        biases = {"b_q": draw(k), "b_k": draw(k), "b_v": draw(v)}
        maps = {"w_q": draw(d, k), "w_k": draw(d, k), "w_v": draw(d, v, scale=0.3), "w_o": draw(v, d, scale=0.3)}
        return {"mask": "future", "scale": {"factor": more.get("factor", "1"), "root": k}, **maps, **biases}

    layer = {
        "heads": [head() for _ in range(heads)],
        "b_o": draw(d, scale=0.2) if heads else None,
        "mlp": {
            "activation": more.get("activation", "relu"),
            "w_in": draw(d, mlp),
            "w_out": draw(mlp, d, scale=0.1),
            "b_in": draw(mlp),
            "b_out": None,
        },
        "norm_1": normed(norm) if heads else None,
        "norm_2": normed(norm),
        "post": post,
    }
    names = ["a", "b", "</s>", "y"][:outputs] if outputs > 1 else ["y"]
    after = "after" in template
    return {
        "tokens": [*TOKENS],
        "embedding": draw(len(TOKENS), d),
        "embedding_scale": {"factor": "3", "root": 2},
        "positions": draw(rows, d, scale=0.4),
        "layers": [layer],
        "final": normed(more.get("final", "layer")),
        "unembedding": draw(d, outputs),
        "unembedding_bias": draw(outputs),
        "outputs": names,
        "readout": {
            "before": ["<s>"] if "before" in template else [],
            "after": ["</s>"] if after else [],
            "at": "last" if after else "each",
            "decide": more.get("decide", "above"),
            "level": "0",
            "among": None,
            "alphabet": [*SYMBOLS],
        },
    }


def array(data: Any) -> Floats:
    """Return numbers as an array; some may be texts "p/q"."""
    return np.array(_each(data), dtype=np.float64)


def _each(data: Any) -> Any:
    return [_each(part) for part in data] if isinstance(data, list) else float(Fraction(data))


def _norm(data: Json | None, x: Floats) -> Floats:
    if data is None:
        return x
    y = x - x.mean(axis=-1, keepdims=True) if data["kind"] == "layer" else x
    root = np.sqrt((y * y).mean(axis=-1, keepdims=True) + float(Fraction(data["epsilon"])))
    weight = 1.0 if data["weight"] is None else array(data["weight"])
    bias = 0.0 if data["bias"] is None else array(data["bias"])
    return np.asarray(y / root * weight + bias)


def _linear(x: Floats, weight: Any, bias: Any) -> Floats:
    return np.asarray(x @ array(weight) + (0.0 if bias is None else array(bias)))


def _scale(data: Json) -> float:
    return float(Fraction(data["factor"])) / float(np.sqrt(data["root"]))


@dataclass(frozen=True)
class Reference:
    """A network in plain float64."""

    data: Json

    def tokens(self, word: Sequence[int]) -> list[int]:
        """Return the tokens that are read, up to where the network is read."""
        readout = self.data["readout"]
        ids = {name: number for number, name in enumerate(self.data["tokens"])}
        after = readout["after"] if readout["at"] == "last" else []
        return [ids[name] for name in (*readout["before"], *(readout["alphabet"][one] for one in word), *after)]

    def entered(self, tokens: Sequence[int]) -> Floats:
        """Return the embedded tokens."""
        data = self.data
        x = array(data["embedding"])[list(tokens)] * _scale(data["embedding_scale"])
        return x if data["positions"] is None else x + array(data["positions"])[: len(tokens)]

    def heads(self, tokens: Sequence[int]) -> list[Floats]:
        """Return what each head gives at the last token, before its output matrix."""
        (layer,) = self.data["layers"]
        x = self.entered(tokens)
        y = x if layer["post"] else _norm(layer["norm_1"], x)
        found = []
        for head in layer["heads"]:
            q, k, v = (_linear(y, head[f"w_{one}"], head[f"b_{one}"]) for one in "qkv")
            scores = k @ q[-1] * _scale(head["scale"])
            weights = np.exp(scores - scores.max())
            found.append(weights @ v / weights.sum())
        return found

    def outputs(self, tokens: Sequence[int]) -> Floats:
        """Return the outputs at the last token."""
        data, x = self.data, self.entered(tokens)
        for layer in data["layers"]:
            x = self._after(layer, x)
        return _linear(_norm(data["final"], x[-1]), data["unembedding"], data["unembedding_bias"])

    def parts(self, tokens: Sequence[int]) -> list[list[list[Floats]]]:
        """Return by layer and head the scaled query, key, value and mean at the last token."""
        x, found = self.entered(tokens), []
        for layer in self.data["layers"]:
            found.append([[row[-1] for row in rows] for rows in self._attended(layer, x)])
            x = self._after(layer, x)
        return found

    def _attended(self, layer: Json, x: Floats) -> list[list[Floats]]:
        """Return by head the scaled queries, keys, values and means, where each token attends to those up to it."""
        y, found = x if layer["post"] else _norm(layer["norm_1"], x), []
        for head in layer["heads"]:
            q, k, v = (_linear(y, head[f"w_{one}"], head[f"b_{one}"]) for one in "qkv")
            q = q * _scale(head["scale"])
            scores = np.where(np.tri(len(x), dtype=np.bool_), q @ k.T, -np.inf)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            found.append([q, k, v, weights @ v / weights.sum(axis=1, keepdims=True)])
        return found

    def _after(self, layer: Json, x: Floats) -> Floats:
        """Return the vectors after a layer, in which each token attends to those up to it."""
        attended = self._attended(layer, x)
        for head, (*_, mean) in zip(layer["heads"], attended, strict=True):
            x = x + mean @ array(head["w_o"])
        x = x if layer["b_o"] is None else x + array(layer["b_o"])
        x = _norm(layer["norm_1"], x) if layer["post"] else x
        if layer["mlp"] is not None:
            mlp = layer["mlp"]
            hidden = _linear(x if layer["post"] else _norm(layer["norm_2"], x), mlp["w_in"], mlp["b_in"])
            x = x + _linear(ACTIVATED[mlp["activation"]](hidden), mlp["w_out"], mlp["b_out"])
            x = _norm(layer["norm_2"], x) if layer["post"] else x
        return x


ACTIVATED: dict[str, Callable[[Floats], Floats]] = {
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * (1 + np.vectorize(erf)(x / 2**0.5)) / 2,
    "gelu_new": lambda x: x * (1 + np.tanh((2 / pi) ** 0.5 * (x + 0.044715 * x**3))) / 2,
}

NEXT: Json = {
    "kind": "next",
    "automaton": {"symbols": ["a", "b"], "moves": [[1, 2], [0, 1], [2, 2]], "accepting": [1]},
    "end": "</s>",
    "empty": True,
}
"""The next symbols of words that begin with a; b keeps state 1, and a leads back to the start."""
NEXT_MACHINE: Json = {
    "moves": [[1, -1], [0, 1]],
    "required": [0, 1],
    "kinds": [[[[0, -1], [-1, 1], [-1, 2]]], [[[0, -1], [1, -1], [2, -1]]]],
}
"""The machine of NEXT for the outputs a, b and </s>: state 2, from which nothing is accepted, is left out."""


def words(machine: Json, first: int, last: int) -> Iterator[tuple[Word, int, int]]:
    """Yield the judged words, with the state before the last symbol and that after it."""
    for n in range(first, last + 1):
        for word in product(range(len(machine["moves"][0])), repeat=n):
            state, before = 0, 0
            for symbol in word:
                before, state = state, (machine["moves"][state][symbol] if state >= 0 else -1)
            if state >= 0 and machine["required"][state] >= 0:
                yield word, before, state


def margin(reference: Reference, machine: Json, word: Word, state: int) -> float:
    """Return the margin of a word: the greatest over the choices of the least row."""
    found, level = reference.outputs(reference.tokens(word)), float(Fraction(reference.data["readout"]["level"]))
    kind = machine["kinds"][machine["required"][state]]

    def value(number: int) -> float:
        return level if number < 0 else float(found[number])

    return max(min(value(above) - value(below) for above, below in choice) for choice in kind)


def axes_of(data: Json, seed: int = 0) -> list[Any]:
    """Return random rows, nearly orthogonal, for each head."""
    rng = np.random.default_rng(seed)
    heads = data["layers"][0]["heads"]
    widths = [len(head["w_v"][0]) for head in heads]
    return [np.linalg.qr(rng.standard_normal((width, width)))[0].tolist() for width in widths]


def document(data: Json, specification: Json, machine: Json, last: int, tree: Any = None) -> Json:
    """Return a certificate without labels and digests. `tree` gives the tree of a group from its length, symbol,
    points (words, coordinates), low and high; without it each group has one cell and no rows."""
    first = 0 if specification["kind"] == "next" and specification["empty"] else 1
    reference, axes = Reference(data), axes_of(data)
    free = data["readout"]["at"] == "last" and bool(data["readout"]["after"])
    groups: dict[tuple[int, int, int], tuple[set[int], list[Floats]]] = {}
    for word, before, state in words(machine, first, last):
        own = state if free or not word else before
        key = len(word), word[-1] if word and not free else -1, machine["required"][state]
        states, points = groups.setdefault(key, (set(), []))
        states.add(own)
        heads = zip(axes, reference.heads(reference.tokens(word)), strict=True)
        points.append(np.concatenate([np.zeros(0), *(np.array(rows) @ one for rows, one in heads)]))
    made = []
    for (length, symbol, kind), (states, points) in sorted(groups.items()):
        low, high = np.min(points, axis=0) - SLACK, np.max(points, axis=0) + SLACK
        node = {"choice": 0, "rows": {}} if tree is None else tree(np.array(points), low, high, machine["kinds"][kind])
        box = {"box": [low.tolist(), high.tolist()], "tree": node}
        made.append({"length": length, "symbol": symbol, "states": sorted(states), "tree": box})
    return {
        "format": "hardsim-certificate",
        "schema_version": EXTERNAL_VERSION,
        "claim": EXTERNAL_CLAIM,
        "min_n": first,
        "max_n": last,
        "network": data,
        "specification": specification,
        "machine": machine,
        "axes": axes,
        "groups": made,
        "wrong": None,
    }


EITHER: Json = {"alphabet": ["a", "b"], "nodes": [["letters", [], "a", "b"]], "root": [0, False]}
TRUE: Json = {"kind": "formula", "formula": EITHER}
EVEN: Json = {
    "kind": "matches",
    "automaton": {"symbols": ["b", "a"], "moves": [[0, 1], [1, 0]], "accepting": [0]},
}
"""The words with an even number of a."""
JUDGED: Json = {"kind": "lines", "lines": [[None, TRUE]], "assume": EVEN}
"""The only output is above the level after the words of EVEN."""
JUDGED_MACHINE: Json = {"moves": [[1, 0], [0, 1]], "required": [0, -1], "kinds": [[[[0, -1]]]]}


FALSE: Json = {"kind": "formula", "formula": {**EITHER, "root": [0, True]}}
PAIR: Json = {"kind": "lines", "lines": [["a", TRUE], ["b", FALSE]], "assume": EVEN}
"""After the words of EVEN, the output a is above the level and b is not; or a is the greatest."""
PAIR_MACHINE: Json = {**JUDGED_MACHINE, "kinds": [[[[0, -1], [-1, 1]]]]}
GREATEST_MACHINE: Json = {**JUDGED_MACHINE, "kinds": [[[[0, 1]]]]}


def shifted(data: Json, machine: Json, last: int, by: float) -> Json:
    """Return a network of outputs a and b (or of one) whose least margin up to a length is `by`, for one of the
    machines of JUDGED and PAIR: the outputs are moved away from the level, or from each other."""
    reference = Reference(data)
    found = np.array([reference.outputs(reference.tokens(word)) for word, *_ in words(machine, 1, last)])
    bias = np.array(data["unembedding_bias"])
    if machine["kinds"] == GREATEST_MACHINE["kinds"]:
        bias[0] += by - (found[:, 0] - found[:, 1]).min()
    else:
        bias[0] += by - found[:, 0].min()
        bias[1:] -= by + found[:, 1:].max(axis=0)
    return data | {"unembedding_bias": bias.tolist()}
