"""Networks and programs as JSON, with exact rationals as strings, and back.

A matrix is `{"shape": [rows, columns], "entries": [[row, column, "p/q"], ...]}`; a linear form is an object from
coordinate names to rationals. Reading checks every shape, index, rational and name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hardsim.net.model import AttentionHead, FeedForward, Layer, Matrix, Transformer
from hardsim.net.reader import Reader
from hardsim.spec.columns import PositionFunction, UserPredicate, parse_column
from hardsim.spec.ir import (
    Affine,
    Clip,
    Encoding,
    HardProgram,
    Head,
    Kind,
    Letter,
    Mask,
    ProgramLayer,
    Rational,
    Weighting,
)

Users = Mapping[str, tuple[str, UserPredicate]]
"""The formula's own predicates: text and meaning by name."""

MASKS = ", ".join(mask.value for mask in Mask)
WEIGHTINGS = ", ".join(weighting.value for weighting in Weighting)
KINDS = ", ".join(kind.value for kind in Kind)
LARGEST = 1_000_000


# ---- the network ----


def transformer_json(model: Transformer) -> dict[str, Any]:
    """The network as JSON data."""
    return {
        "weighting": "softmax",
        "alphabet": list(model.alphabet),
        "coordinates": list(model.coordinates),
        "embedding": _matrix_json(model.embedding),
        "encodings": [
            {"coordinate": model.coordinates[index], "value": str(value)} for index, value in model.encodings
        ],
        "temperature": str(model.temperature),
        "layers": [
            {
                "heads": [
                    {
                        "name": head.name,
                        "mask": head.mask.value,
                        "w_q": _matrix_json(head.w_q),
                        "w_k": _matrix_json(head.w_k),
                        "w_v": _matrix_json(head.w_v),
                    }
                    for head in layer.heads
                ],
                "ffn": {
                    "w1": _matrix_json(layer.ffn.w1),
                    "b1": [str(value) for value in layer.ffn.b1],
                    "w2": _matrix_json(layer.ffn.w2),
                    "b2": [str(value) for value in layer.ffn.b2],
                },
            }
            for layer in model.layers
        ],
        "output": model.coordinates[model.output],
    }


def read_transformer(data: Reader, users: Users | None = None) -> Transformer:
    """The network that JSON data describes.

    Raises:
        InputError: naming the place, what was expected and what was found.
    """
    data.field("weighting").choice({"softmax": "softmax"}.__getitem__, "softmax")
    alphabet = tuple(item.text() for item in data.field("alphabet").items())
    coordinates = tuple(item.text() for item in data.field("coordinates").items())
    if not alphabet or len(set(alphabet)) != len(alphabet):
        raise data.field("alphabet").error("distinct symbols, at least one")
    if len(set(coordinates)) != len(coordinates):
        raise data.field("coordinates").error("distinct names")
    index = {name: number for number, name in enumerate(coordinates)}
    d = len(coordinates)
    encodings = [
        (item.field("coordinate").choice(index.__getitem__, "the coordinates"), _encoding(item.field("value"), users))
        for item in data.field("encodings").items()
    ]
    return Transformer(
        alphabet=alphabet,
        coordinates=coordinates,
        embedding=_read_matrix(data.field("embedding"), len(alphabet), d),
        encodings=tuple(encodings),
        layers=tuple(_read_layer(item, d) for item in data.field("layers").items()),
        temperature=data.field("temperature").arith(),
        output=data.field("output").choice(index.__getitem__, "the coordinates"),
    )


def _encoding(data: Reader, users: Users | None) -> PositionFunction:
    """An expression in i and n, or a predicate such as `PRIME(2*i + 1)`; `users` are the formula's own."""
    return parse_column(data.text(), users or {}) or data.arith()


def _read_layer(data: Reader, d: int) -> Layer:
    heads = []
    for item in data.field("heads").items():
        k = item.field("w_q").field("shape").value
        rows = k[0] if isinstance(k, list) and k and isinstance(k[0], int) else 0
        heads.append(
            AttentionHead(
                name=item.field("name").text(),
                mask=item.field("mask").choice(Mask, MASKS),
                w_q=_read_matrix(item.field("w_q"), rows, d),
                w_k=_read_matrix(item.field("w_k"), rows, d),
                w_v=_read_matrix(item.field("w_v"), d, d),
            )
        )
    ffn = data.field("ffn")
    b1 = tuple(item.rational() for item in ffn.field("b1").items())
    return Layer(
        tuple(heads),
        FeedForward(
            w1=_read_matrix(ffn.field("w1"), len(b1), d),
            b1=b1,
            w2=_read_matrix(ffn.field("w2"), d, len(b1)),
            b2=tuple(item.rational() for item in ffn.field("b2").items(d)),
        ),
    )


def _matrix_json(matrix: Matrix) -> dict[str, Any]:
    return {
        "shape": list(matrix.shape),
        "entries": [[row, column, str(value)] for row, column, value in matrix.entries],
    }


def _read_matrix(data: Reader, rows: int, columns: int) -> Matrix:
    shape = tuple(item.integer(0, LARGEST) for item in data.field("shape").items(2))
    if shape != (rows, columns):
        raise data.field("shape").error(f"[{rows}, {columns}]")
    entries: dict[tuple[int, int], Rational] = {}
    for item in data.field("entries").items():
        row, column, value = item.items(3)
        place = row.integer(0, rows - 1), column.integer(0, columns - 1)
        if place in entries:
            raise item.error("each entry once")
        entries[place] = value.rational()
    return Matrix.of(rows, columns, entries)


# ---- the hard-attention program, the specification of the heads ----


def program_json(program: HardProgram) -> dict[str, Any]:
    """The hard-attention program as JSON data."""
    return {
        "regime": program.regime,
        "alphabet": list(program.alphabet),
        "temperature": str(program.temperature),
        "letters": [{"name": letter.name, "symbols": sorted(letter.symbols)} for letter in program.letters],
        "encodings": [{"name": encoding.name, "value": str(encoding.value)} for encoding in program.encodings],
        "layers": [
            {
                "heads": [_head_json(head) for head in layer.heads],
                "clips": [
                    {"out": clip.out, "pre": _form_json(clip.pre), "weight": clip.weight, "counts": clip.counts}
                    for clip in layer.clips
                ],
                "ones": list(layer.ones),
            }
            for layer in program.layers
        ],
        "output": program.output,
        "meanings": dict(program.meanings),
    }


def _head_json(head: Head) -> dict[str, Any]:
    return {
        "name": head.name,
        "mask": head.mask.value,
        "weighting": head.weighting.value,
        "score": [[_form_json(query), _form_json(key)] for query, key in head.score],
        "value": _form_json(head.value),
        "out": head.out,
        "select": None if head.select is None else _form_json(head.select),
        "decay": None if head.decay is None else str(head.decay),
        "gap": None if head.gap is None else str(head.gap),
        "kind": head.kind.value,
        "coefficients": str(head.weight),
        "purpose": head.purpose,
        "theorem": head.theorem,
    }


def _form_json(form: Affine) -> dict[str, str]:
    return {name: str(value) for name, value in form.terms}


def read_program(data: Reader, users: Users | None = None) -> HardProgram:
    """The program that JSON data describes; a form may only read coordinates written before it.

    Raises:
        InputError: naming the place, what was expected and what was found.
    """
    letters = tuple(
        Letter(item.field("name").text(), frozenset(part.text() for part in item.field("symbols").items()))
        for item in data.field("letters").items()
    )
    encodings = tuple(
        Encoding(item.field("name").text(), _encoding(item.field("value"), users))
        for item in data.field("encodings").items()
    )
    known = {"1", *(letter.name for letter in letters), *(encoding.name for encoding in encodings)}
    layers = tuple(_read_program_layer(item, known) for item in data.field("layers").items())
    meanings = data.field("meanings")
    if not isinstance(meanings.value, dict):
        raise meanings.error("an object")
    return HardProgram(
        alphabet=tuple(item.text() for item in data.field("alphabet").items()),
        regime=data.field("regime").text(),
        temperature=data.field("temperature").arith(),
        letters=letters,
        encodings=encodings,
        layers=layers,
        output=_known(data.field("output"), known),
        meanings={name: meanings.field(name).text() for name in meanings.value},
    )


def _read_program_layer(data: Reader, known: set[str]) -> ProgramLayer:
    """One layer; its outputs join the known coordinates."""
    heads = tuple(_read_head(item, known) for item in data.field("heads").items())
    known |= {head.out for head in heads}
    clips = tuple(
        Clip(
            out=item.field("out").text(),
            pre=_read_form(item.field("pre"), known),
            weight=item.field("weight").integer(-1, 1),
            counts=item.field("counts").boolean(),
        )
        for item in data.field("clips").items()
    )
    ones = tuple(item.text() for item in data.field("ones").items())
    known |= {clip.out for clip in clips} | set(ones)
    return ProgramLayer(heads, clips, ones)


def _read_head(data: Reader, known: set[str]) -> Head:
    score = []
    for item in data.field("score").items():
        query, key = item.items(2)
        score.append((_read_form(query, known), _read_form(key, known)))
    kind = data.field("kind").choice(Kind, KINDS)
    if (kind is Kind.UNIFORM) == bool(score):
        raise data.field("score").error(
            "no score for a uniform head" if score else "a score, since the head is not uniform"
        )
    return Head(
        name=data.field("name").text(),
        mask=data.field("mask").choice(Mask, MASKS),
        weighting=data.field("weighting").choice(Weighting, WEIGHTINGS),
        value=_read_form(data.field("value"), known),
        out=data.field("out").text(),
        score=tuple(score),
        select=_read_form(data.field("select"), known) if data.has("select") else None,
        decay=data.field("decay").arith() if data.has("decay") else None,
        gap=data.field("gap").arith() if data.has("gap") else None,
        kind=kind,
        weight=_positive(data.field("coefficients")),
        purpose=data.field("purpose").text(),
        theorem=data.field("theorem").text(),
    )


def _positive(data: Reader) -> int:
    """A positive integer of any size, as a string."""
    value = data.rational()
    if value.denominator != 1 or value < 1:
        raise data.error("a positive integer")
    return int(value)


def _read_form(data: Reader, known: set[str]) -> Affine:
    if not isinstance(data.value, dict):
        raise data.error("an object from coordinates to rationals")
    for name in data.value:
        if name not in known:
            raise data.error(f"coordinates that are known here (not '{name}')")
    return Affine.of({name: data.field(name).rational() for name in data.value})


def _known(data: Reader, known: set[str]) -> str:
    name = data.text()
    if name not in known:
        raise data.error("a coordinate of the program")
    return name
