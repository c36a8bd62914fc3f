"""A judge of networks in JSON: it computes their answers from the JSON alone and uses nothing of hardsim.

It reads `hardsim-model` and `hardsim-ahat` documents (sparse matrices, rows by name, dense rows), evaluates encodings
and temperatures with a reader of expressions of its own, and runs the definition of softmax or hard attention position
by position.

A value is an exact linear form over unknowns: a rational, plus rationals times numbers of which only a ball is known
(what a softmax head attended to, and a relu whose sign is open). So `relu(z) - relu(z - 1)` is exactly 1 where z is
certainly above 1, whatever z is. Balls are python-flint's, with precision to spare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, Literal

from flint import arb, ctx, fmpq

Answer = Literal["yes", "no", "neither", "unknown"]
BITS = (1024, 8192)
"""Precision of the balls in bits: a first attempt, and a second one if the answer stays open."""


# ---- expressions ----

PREDICATES: dict[str, Callable[..., bool]] = {
    "MOD": lambda m, r, x: (x - r) % m == 0,
    "ODD": lambda x: x % 2 == 1,
    "EVEN": lambda x: x % 2 == 0,
    "PRIME": lambda x: x > 1 and all(x % d for d in range(2, isqrt(int(x)) + 1)),
    "SQUARE": lambda x: x >= 0 and isqrt(int(x)) ** 2 == x,
    "POW2": lambda x: x > 0 and int(x) & (int(x) - 1) == 0,
}
PYTHON = {"^": "**", "mod": "%", "[": "number(", "]": ")", "=": "=="}
"""Spellings of an expression that Python writes differently."""


@lru_cache(1 << 16)
def evaluate(text: str, **values: int) -> Fraction:
    """Evaluate an expression in i and n in Fractions, by Python's own parser."""
    tokens = [match[1] for match in re.finditer(r"\s*(\d+|[^\W\d]\w*|\*\*|[<>!=]=|.)", text, re.DOTALL)]
    written = [f"number({token})" if token.isdecimal() else PYTHON.get(token, token) for token in tokens]
    names: dict[str, Any] = {name: lambda *x, holds=holds: Fraction(holds(*x)) for name, holds in PREDICATES.items()}
    names |= {name: Fraction(value) for name, value in values.items()}
    found = eval(" ".join(written), {"number": Fraction, **names})
    assert isinstance(found, Fraction), text
    return found


def function(value: Any, i: int, n: int) -> Fraction:
    """Evaluate an encoding or a temperature: an expression, a table of positions, or one of lengths."""
    if isinstance(value, dict):
        place = i - int(value.get("start", 1))
        inside = 0 <= place < len(value["values"])
        return Fraction(value["values"][place] if inside else value.get("otherwise", "0"))
    if isinstance(value, list):
        return Fraction(value[n - 1])
    return evaluate(value, i=i, n=n)


# ---- values ----


NOTHING, WHOLE = fmpq(0), fmpq(1)


def exact(value: str | int | Fraction) -> fmpq:
    """Convert a rational to python-flint, which is faster."""
    found = Fraction(value)
    return fmpq(found.numerator, found.denominator)


class Form:
    """A rational plus rationals times unknowns; `balls` has an enclosure of each unknown."""

    __slots__ = ("constant", "terms")

    def __init__(self, constant: fmpq, terms: dict[int, fmpq] | None = None) -> None:
        self.constant = constant
        self.terms = {key: value for key, value in terms.items() if value != 0} if terms else {}

    def plus(self, other: Form, factor: fmpq = WHOLE) -> Form:
        if not other.terms:
            return Form(self.constant + factor * other.constant, self.terms)
        terms = dict(self.terms)
        for key, value in other.terms.items():
            terms[key] = terms.get(key, NOTHING) + factor * value
        return Form(self.constant + factor * other.constant, terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and (self.constant, self.terms) == (other.constant, other.terms)


ZERO = Form(NOTHING)
Row = list[tuple[int, fmpq]]


def matrix(data: Any, rows: Sequence[str] | None, columns: Sequence[str] | None) -> list[Row]:
    """Return the entries of each row of a matrix whose rows and columns may have names."""
    index = {name: k for k, name in enumerate(columns or ())}

    def row(part: Any) -> Row:
        if isinstance(part, dict):
            return [(index[name], exact(value)) for name, value in part.items()]
        return [(k, exact(value)) for k, value in enumerate(part)]

    if isinstance(data, list):
        return [row(part) for part in data]
    if "shape" in data and "entries" in data:
        found: list[Row] = [[] for _ in range(data["shape"][0])]
        for at, column, value in data["entries"]:
            found[at].append((column, exact(value)))
        return found
    assert rows is not None
    return [row(data[name]) if name in data else [] for name in rows]


class Judge:
    """A network that is ready to answer words. `document` is the network itself: the member `model` of a compiled
    file, or an `.ahat.json` file whole. With `hard` every head is hard attention by its `weighting` or `hardmax`.

    With `tau` every head is softmax with the same weights at that temperature, as `--tau` does.
    """

    def __init__(self, document: dict[str, Any], hard: bool = False, tau: str | None = None) -> None:
        self.data, self.hard, self.soft = document, hard, tau is not None
        self.bos = bool(document.get("bos"))
        self.names: list[str] = document["coordinates"]
        self.alphabet: list[str] = document["alphabet"]
        self.temperature = tau or document.get("temperature", "1")
        rows = [*self.alphabet, "BOS"] if self.bos else self.alphabet
        self.embedding = matrix(document["embedding"], rows, self.names)
        self.layers = [self._layer(layer) for layer in document["layers"]]
        self.output = self.names.index(document["output"])
        self.balls: list[arb] = []

    def _layer(self, layer: dict[str, Any]) -> tuple[list[Any], Any]:
        heads = []
        for head in layer["heads"]:
            kind = head.get("weighting", self.data.get("weighting"))
            if self.hard and kind == "softmax":
                kind = head.get("hardmax", "average")
            parts = (matrix(head[key], None, self.names) for key in ("w_q", "w_k"))
            heads.append((head["mask"], kind, *parts, matrix(head["w_v"], self.names, self.names)))
        ffn = layer.get("ffn")
        if not ffn:
            return heads, None
        w1 = matrix(ffn["w1"], None, self.names)
        b1 = [exact(value) for value in ffn.get("b1", ["0"] * len(w1))]
        b2 = [exact(value) for value in ffn.get("b2", ["0"] * len(self.names))]
        return heads, (w1, b1, matrix(ffn["w2"], self.names, None), b2)

    def ask(self, word: Sequence[str]) -> Answer:
        """Return the network's answer on a word: yes, no, certainly neither (no exact 0 or 1), or unknown to the
        judge.
        """
        before = ctx.prec
        try:
            for bits in BITS:
                ctx.prec = bits
                answer = self._decide(self._run(word), len(word))
                if answer != "unknown":
                    return answer
            return "unknown"
        finally:
            ctx.prec = before

    def _decide(self, stream: list[list[Form]], n: int) -> Answer:
        first = self.data.get("reading", "last") == "first"
        value = stream[(1 if first else n) - (not self.bos)][self.output]
        threshold = self.data.get("threshold")
        if threshold is not None:
            goal = exact(threshold)
            if not value.terms:
                return "unknown" if value.constant == goal else "yes" if value.constant > goal else "no"
            found = self.enclose(value.plus(Form(-goal)))
            return "yes" if found > 0 else "no" if found < 0 else "unknown"
        if not value.terms:
            return "yes" if value.constant == 1 else "no" if value.constant == 0 else "neither"
        found = self.enclose(value)
        return "unknown" if not found.is_finite() or found.contains(0) or found.contains(1) else "neither"

    def enclose(self, form: Form) -> arb:
        total = arb(form.constant)
        for key, factor in form.terms.items():
            total += arb(factor) * self.balls[key]
        return total

    def symbol(self, known: arb) -> Form:
        self.balls.append(known)
        return Form(NOTHING, {len(self.balls) - 1: WHOLE})

    def _run(self, word: Sequence[str]) -> list[list[Form]]:
        n, self.balls = len(word), []
        places = range(0 if self.bos else 1, n + 1)
        stream: list[list[Form]] = []
        for i in places:
            start = [NOTHING] * len(self.names)
            for k, value in self.embedding[len(self.alphabet) if i == 0 else self.alphabet.index(word[i - 1])]:
                start[k] += value
            for item in self.data.get("encodings", ()):
                start[self.names.index(item["coordinate"])] += exact(function(item["value"], i, n))
            stream.append([Form(value) for value in start])
        inverse = [exact(1 / function(self.temperature, i, n)) for i in places]
        assert min(inverse) > 0
        for heads, ffn in self.layers:
            added = [self._head(head, stream, inverse, n) for head in heads]
            stream = [list(row) for row in stream]
            for found in added:
                for row, parts in zip(stream, found, strict=True):
                    for k, form in parts.items():
                        row[k] = row[k].plus(form)
            if ffn is not None:
                stream = [self._feed_forward(row, *ffn) for row in stream]
        return stream

    def _feed_forward(self, row: list[Form], w1: list[Row], b1: Any, w2: list[Row], b2: Any) -> list[Form]:
        hidden = [self._relu(combine(form, row).plus(Form(bias))) for form, bias in zip(w1, b1, strict=True)]
        return [
            old.plus(combine(form, hidden)).plus(Form(bias)) if form or bias != 0 else old
            for old, form, bias in zip(row, w2, b2, strict=True)
        ]

    def _relu(self, value: Form) -> Form:
        if not value.terms:
            return Form(max(value.constant, NOTHING))
        known = self.enclose(value)
        return value if known >= 0 else ZERO if known <= 0 else self.symbol(known.max(arb(0)))

    def _seen(self, mask: str, i: int, n: int) -> list[int]:
        """Return the visible positions as places in the stream."""
        low = {"past": i, "strict-past": i + 1}.get(mask, 1)
        high = {"future": i, "strict-future": i - 1}.get(mask, n)
        if self.bos:
            return [0, *(j for j in range(low, high + 1) if j > 0)]
        return [j - 1 for j in range(low, high + 1)]

    def _head(self, head: Any, stream: list[list[Form]], inverse: list[fmpq], n: int) -> list[dict[int, Form]]:
        mask, kind, w_q, w_k, w_v = head
        keys = [[combine(form, row) for form in w_k] for row in stream]
        values = [{k: combine(form, row) for k, form in enumerate(w_v) if form} for row in stream]
        result = []
        for at, row in enumerate(stream):
            query = [combine(form, row) for form in w_q]
            seen = self._seen(mask, at + (not self.bos), n)
            scores = [self._score(query, keys[j]) for j in seen]
            some = [values[j] for j in seen]
            if self.hard:
                result.append(hard_mean(kind, [known for known in scores if isinstance(known, fmpq)], some))
            else:
                assert kind == "softmax" or self.soft
                result.append(self._soft_mean(scores, some, inverse[at]))
        return result

    def _score(self, query: list[Form], key: list[Form]) -> fmpq | arb:
        if any(form.terms for form in (*query, *key)):
            return sum((self.enclose(q) * self.enclose(k) for q, k in zip(query, key, strict=True)), arb(0))
        return sum((q.constant * k.constant for q, k in zip(query, key, strict=True)), NOTHING)

    def _soft_mean(self, scores: list[fmpq | arb], values: list[dict[int, Form]], inverse: fmpq) -> dict[int, Form]:
        if all(isinstance(score, fmpq) and score == scores[0] for score in scores):
            return {k: mean([value[k] for value in values]) for k in values[0]}
        if all(isinstance(score, fmpq) for score in scores):
            top = max(score for score in scores if isinstance(score, fmpq))
            logits = [arb((score - top) * inverse) for score in scores if isinstance(score, fmpq)]
        else:
            parts = [arb(score) if isinstance(score, fmpq) else score for score in scores]
            highest = max(parts, key=lambda part: float_order(part))
            logits = [(part - highest) * arb(inverse) for part in parts]
        weights = [logit.exp() for logit in logits]
        total = sum(weights, arb(0))
        found = {}
        for k in values[0]:
            column = [value[k] for value in values]
            if all(form == column[0] for form in column):
                found[k] = column[0]
            else:
                parts = [weight * self.enclose(form) for weight, form in zip(weights, column, strict=True)]
                found[k] = self.symbol(sum(parts, arb(0)) / total)
        return found


def float_order(part: arb) -> tuple[int, arb]:
    """Return a key that orders balls by midpoints; the choice of the largest affects precision alone."""
    return (1, part.mid()) if part.is_finite() else (0, arb(0))


def combine(form: Row, values: Sequence[Form]) -> Form:
    total = ZERO
    for k, factor in form:
        if factor != 0:
            total = total.plus(values[k], factor)
    return total


def mean(column: list[Form]) -> Form:
    total = ZERO
    for form in column:
        total = total.plus(form, fmpq(1, len(column)))
    return total


def hard_mean(kind: str, scores: list[fmpq], values: list[dict[int, Form]]) -> dict[int, Form]:
    best = [place for place, score in enumerate(scores) if score == max(scores)]
    chosen = {"leftmost": best[:1], "rightmost": best[-1:], "average": best}[kind]
    return {k: mean([values[place][k] for place in chosen]) for k in values[0]}
