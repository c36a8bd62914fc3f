"""Certificates of programs for tests, and their claims by the definitions.

The judge of the mutants runs softmax and hard attention; it reads the certificate's network alone.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from flint import arb, ctx

from hardsim.proving.formula_certificate import certificate_text
from hardsim.proving.program_certificate import program_certificate
from hardsim.proving.prove import prove_every_length
from hardsim.verify import digests, verify
from hardsim.verify.program_sections import PROGRAM_CLAIM
from hardsim.verify.sections import FORMAT, SCHEMA_VERSION
from tests.mutants.judge import Judge
from tests.support.check import prove_attention
from tests.support.subjects import shipped

Word = tuple[str, ...]


@cache
def _text(name: str, max_n: int | None) -> str:
    subject = shipped(name)
    result = prove_every_length(subject, 0) if max_n is None else prove_attention(subject, max_n, search=0)
    return certificate_text(program_certificate(result))


def made(name: str, max_n: int | None = None) -> dict[str, Any]:
    """Return the certificate of a shipped program or model, read back from its text.

    It is about lengths up to `max_n`, or about every length (None).
    """
    document: dict[str, Any] = json.loads(_text(name, max_n))
    return document


def sealed(document: dict[str, Any]) -> str | None:
    """Recompute the digests of a document; return the reason why it is rejected, None if it is valid."""
    with suppress(KeyError, TypeError, ValueError):
        document["digests"] |= digests(document)
    return verify(document)


# ---- claims ----


def network(document: dict[str, Any]) -> dict[str, Any]:
    """Return the network of a certificate as a document for the judge."""
    model, layers = document["model"], list[dict[str, Any]]()
    names = sorted({*model["embedding"], *model["encodings"], *_written(model)})
    rows = [*model["alphabet"], *(["BOS"] if model["bos"] else [])]
    embedding = {row: {name: values[k] for name, values in model["embedding"].items()} for k, row in enumerate(rows)}
    for layer in model["layers"]:
        heads = [
            {"mask": head["mask"], "weighting": "average", "w_q": head["query"], "w_k": head["key"],
             "w_v": head["values"]} for head in layer["heads"]
        ]  # fmt: skip
        w1, b1 = list[Any](), list[str]()
        entries: dict[tuple[int, int], Fraction] = {}
        for unit in layer["units"]:
            for shift, sign in ((0, 1), (1, -1)) if unit["clip"] else ((0, 1),):
                for out, weight in unit["outs"].items():
                    entries[names.index(out), len(w1)] = sign * Fraction(weight)
                w1.append(unit["form"])
                b1.append(str(Fraction(unit["bias"]) - shift))
        w2 = {"shape": [len(names), len(w1)], "entries": [[*at, str(value)] for at, value in entries.items()]}
        b2 = [layer["biases"].get(name, "0") for name in names]
        layers.append({"heads": heads, "ffn": {"w1": w1, "b1": b1, "b2": b2, "w2": w2}})
    encodings = [{"coordinate": name, "value": text} for name, text in model["encodings"].items()]
    found = {"alphabet": model["alphabet"], "bos": model["bos"], "coordinates": names, "embedding": embedding}
    return {**found, "encodings": encodings, "layers": layers, "output": model["outputs"][0]}


def _written(model: dict[str, Any]) -> Iterator[str]:
    for layer in model["layers"]:
        for part in (*(head["values"] for head in layer["heads"]), *(unit["outs"] for unit in layer["units"])):
            yield from part
        yield from layer["biases"]


def lengths_of(document: dict[str, Any], most: int) -> Iterator[tuple[int, str]]:
    """Yield the claimed lengths up to `most`, with their temperatures."""
    tau = document["temperature"]
    for place, n in enumerate(document["lengths"]):
        if n <= most:
            yield n, tau if isinstance(tau, str) else tau[place]
    if document["start"] is not None:
        yield from ((n, tau) for n in range(document["start"], most + 1))


def wrong_word(document: dict[str, Any], most: int = 3, words: Sequence[Word] | None = None) -> Word | None:
    """Return a word on which softmax certainly answers differently from hard attention; None if none is found.

    All words up to length `most` are tried, or `words` if given.
    """
    data = network(document)
    for n, tau in lengths_of(document, most):
        hard, soft = Judge(data, hard=True), Judge(data, tau=tau)
        for word in product(data["alphabet"], repeat=n) if words is None else words:
            if _differ(document["model"], hard, soft, word):
                return word
    return None


def _differ(model: dict[str, Any], hard: Judge, soft: Judge, word: Word) -> bool:
    before, ctx.prec, n = ctx.prec, 4096, len(word)
    try:
        streams = [judge._run(word) for judge in (hard, soft)]
        shift = not model["bos"]
        read = {"every": range(1, n + 1), "first": [1], "last": [n]}[model["read"]]
        for i, out in product(read, model["outputs"]):
            k = soft.names.index(out)
            exact = streams[0][i - shift][k]
            assert not exact.terms
            found = soft.enclose(streams[1][i - shift][k])
            if _apart(model, Fraction(int(exact.constant.p), int(exact.constant.q)), found, n):
                return True
        return False
    finally:
        ctx.prec = before


def _apart(model: dict[str, Any], hard: Fraction, soft: arb, n: int) -> bool:
    """Return True if the softmax output certainly has another meaning than the output of hard attention."""
    if model["integers"]:
        return bool(abs(soft * n - arb(round(hard * n))) > arb("0.5"))
    if model["threshold"] is None:
        return not soft.contains(arb(hard.numerator) / hard.denominator)
    goal = Fraction(model["threshold"])
    if hard == goal:
        return True
    off = soft - arb(goal.numerator) / goal.denominator
    return bool(off < 0 if hard > goal else off > 0)


# ---- handmade certificates ----

NUMBERS = {
    "0": [0, 0, 0, 0, None],
    "1": [1, 1, 1, 0, None],
    "0 or 1": [0, 1, 0, 1, None],
    "0 to 1": [0, 1, 0, None, None],
}
"""Spans that a head may read, by name; their numbers refer to functions 0 and 1, which are the constants 0 and 1."""


def handmade(score: str, functions: Sequence[str], rows: Sequence[Any], **other: Any) -> dict[str, Any]:
    """Return a certificate about words of a's, without digests.

    Its one head finds the largest `score`, whose values at the first position, between, and at the last are functions
    2 to 4. The head reads 1 at the last position and 0 elsewhere.
    """
    reads = [[*NUMBERS].index(name) for name in other.pop("reads", ("0 or 1",) * 3)]
    form = {"mask": other.pop("mask", "none"), "query": [{"1": "1"}], "key": [{"score": "1"}]}
    head = {"name": "h", **form, "values": {"out": {"last": "1"}}}
    model = {"alphabet": ["a"], "bos": False, "embedding": {"1": ["1"]}, "outputs": ["out"], "read": "last",
             "encodings": {"score": score, "last": "[i == n]"}, "threshold": other.pop("threshold", "3/4"),
             "layers": [{"heads": [head], "units": [], "biases": {}}], "integers": False}  # fmt: skip
    layer = {"heads": {"h": {"reads": {"out": reads}, "rows": list(rows)}}, "attended": {"out": reads}, "units": []}
    own = {"1": [1] * 3, "score": [4, 5, 6], "last": [0, 0, 1], "out": [0] * 3}
    spans = [*NUMBERS.values(), *([k, k, k, 0, None] for k in (2, 3, 4))]
    more = {"input": own, "layers": [layer | {"final": {}}]}
    facts = {"functions": ["0", "1", *functions], "spans": spans, "one": None, "more": more}
    labels = {"version": "1", "source": {"name": "", "sha256": ""}, "title": "", "words": None}
    description = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "claim": PROGRAM_CLAIM,
        "lengths": [4],
        "start": None,
    }
    return {
        **description,
        "temperature": "1/8",
        "labels": labels,
        "model": model,
        "facts": facts,
        "digests": {},
    } | other


def row(groups: list[list[int]], inner: list[Any], *pairs: list[Any]) -> dict[str, Any]:
    """Return the claims about the scores at one kind of position; rules and pairs name functions by number."""
    return {"groups": groups, "inner": inner, "pairs": list(pairs)}


def rising(**other: Any) -> dict[str, Any]:
    """Return the certificate whose score is the position itself, so that the last one is found: the claim is true."""
    return handmade("i", ["1", "i", "n", "j"], [row([[1, 2, 3]], [["lattice", 0, 5]])] * 3, **other)
