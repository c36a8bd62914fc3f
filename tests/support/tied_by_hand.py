"""Hand-made models with ties."""

from collections.abc import Mapping
from fractions import Fraction

from tests.support.model import Affine, Encoding, Head, Letter, Mask, Program, ProgramLayer, Unit, Weighting
from tests.support.tied_models import ENCODINGS, expression


def head(name: str, mask: Mask, query: str, key: Mapping[str, int], **values: str) -> Head:
    """Return an average head."""
    own = tuple((out, Affine.of({value: 1})) for out, value in values.items())
    return Head(name, mask, Weighting.AVERAGE, own, ((Affine.of({query: 1}), Affine.of(key)),))


def model(*layers: list[Head], units: tuple[Unit, ...] = (), **encodings: str) -> Program:
    """Return a model over a, b and c with outputs x0, x1, ...; the last one is read. `units` belong to the last
    layer.
    """
    outs = [out for heads in layers for head in heads for out, _ in head.values]
    outs = list(dict.fromkeys([*outs, *(out for unit in units for out, _ in unit.outs)]))
    letters = [Letter("a", frozenset("a")), Letter("b", frozenset("b")), Letter("ab", frozenset("ab"))]
    texts = {name: ENCODINGS[name] for name in ("first", "last")} | encodings
    last = len(layers) - 1
    return Program(
        alphabet=("a", "b", "c"),
        letters=tuple(letters),
        encodings=tuple(Encoding(name, expression(text)) for name, text in texts.items()),
        layers=tuple(ProgramLayer(tuple(heads), units if k == last else (), ()) for k, heads in enumerate(layers)),
        output=outs[-1],
        coordinates=("1", "a", "b", "ab", "first", "last", *outs),
        threshold=Fraction(1, 3),
    )


MATCHES = {"ab": 1}
ONE = [head("h", Mask.NONE, "1", MATCHES, x0="a")]
"""The share of a among a and b."""
LOCAL = [head("h", Mask.FUTURE, "1", MATCHES, x0="a")]
"""The share of a among a and b up to each position: a mean whose count differs between positions."""
BY_HAND = {
    "one mean": model(ONE),
    "local, tied": model(LOCAL, [head("g", Mask.NONE, "1", MATCHES, x1="x0")]),
    "local, at the end": model(LOCAL, [head("g", Mask.NONE, "1", {"last": 1}, x1="x0")]),
    "two queries": model([head("h", Mask.NONE, "a", MATCHES, x0="a")], [head("g", Mask.NONE, "1", MATCHES, x1="x0")]),
    "two means": model([*ONE, head("g", Mask.NONE, "1", {"a": 1}, x0="first")]),
    "two ends": model([head("h", Mask.NONE, "1", {"first": 2, "last": 2, "a": 1}, x0="first")]),
    "a sign": model(ONE, [head("g", Mask.NONE, "x0", MATCHES, x1="a")], x0="1/(4*n) - 1/2"),
    "a sign head": model(ONE, [head("g", Mask.NONE, "x0", {"first": 1, "last": -1}, x1="first")], x0="1/(4*n) - 1/2"),
    "a product": model(ONE, [head("g", Mask.NONE, "x0", MATCHES, x1="b")], x1="1/(8*n)"),
    "a relu": model(ONE, units=(Unit((("x1", 1),), Affine.of([("x0", 1), ("1", Fraction(-1, 3))]), False),)),
}
"""Small models; each needs one of the rules of ties."""
