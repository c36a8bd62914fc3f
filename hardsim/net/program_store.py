"""The hard-attention program of a formula, the specification of its network's heads, as JSON and back.

A linear form is an object from coordinate names to rationals. Reading checks every name, rational and kind.
"""

from __future__ import annotations

from typing import Any

from hardsim.net.encodings import Users, read_encoding
from hardsim.net.reader import Reader
from hardsim.spec.ir import Affine, Clip, Encoding, HardProgram, Head, Kind, Letter, Mask, ProgramLayer, Weighting

MASKS = ", ".join(mask.value for mask in Mask if not mask.strict)
WEIGHTINGS = ", ".join(weighting.value for weighting in Weighting if weighting is not Weighting.SOFTMAX)
KINDS = ", ".join(kind.value for kind in Kind)


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
        Encoding(item.field("name").text(), read_encoding(item.field("value"), users))
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
        mask=data.field("mask").choice(_mask, MASKS),
        weighting=data.field("weighting").choice(_weighting, WEIGHTINGS),
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


def _mask(name: str) -> Mask:
    mask = Mask(name)
    if mask.strict:
        raise ValueError(name)
    return mask


def _weighting(name: str) -> Weighting:
    weighting = Weighting(name)
    if weighting is Weighting.SOFTMAX:
        raise ValueError(name)
    return weighting
