"""The hard-attention program of a formula, the specification of its network's heads, as JSON and back.

A linear form is an object from coordinate names to rationals. Reading checks every name, rational and kind: each
coordinate is written in one place, so that a name means one thing to whoever reads the program.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from hardsim.net.encodings import Users, read_encoding
from hardsim.net.reader import Reader, shown
from hardsim.spec.ir import ONE, Affine, Clip, Encoding, HardProgram, Head, Kind, Letter, Mask, ProgramLayer, Weighting

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
    data.only("regime", "alphabet", "temperature", "letters", "encodings", "layers", "output", "meanings")
    alphabet = tuple(item.text() for item in data.field("alphabet").items())
    known = {ONE}
    letters = tuple(_read_letter(item, alphabet, known) for item in data.field("letters").items())
    encodings = tuple(_read_encoding(item, users, known) for item in data.field("encodings").items())
    layers = tuple(_read_program_layer(item, known) for item in data.field("layers").items())
    return HardProgram(
        alphabet=alphabet,
        regime=data.field("regime").text(),
        temperature=data.field("temperature").arith(),
        letters=letters,
        encodings=encodings,
        layers=layers,
        output=_known(data.field("output"), known),
        meanings={name: item.text() for name, item in data.field("meanings").members()},
    )


def _new(data: Reader, known: set[str]) -> str:
    """The name of a coordinate that is written here, and nowhere before; it joins the known ones."""
    name = data.text()
    if not name or name in known:
        what = "the constant 1" if name == ONE else "another coordinate"
        raise data.error(f"the name of a new coordinate{f', not that of {what}' if name else ''}")
    known.add(name)
    return name


def _read_letter(data: Reader, alphabet: tuple[str, ...], known: set[str]) -> Letter:
    data.only("name", "symbols")
    symbols: set[str] = set()
    for item in data.field("symbols").items():
        if item.text() not in alphabet or item.text() in symbols:
            raise item.error("symbols of the alphabet, each once")
        symbols.add(item.text())
    return Letter(_new(data.field("name"), known), frozenset(symbols))


def _read_encoding(data: Reader, users: Users | None, known: set[str]) -> Encoding:
    data.only("name", "value")
    return Encoding(_new(data.field("name"), known), read_encoding(data.field("value"), users))


def _read_program_layer(data: Reader, known: set[str]) -> ProgramLayer:
    """One layer; its outputs join the known coordinates: those of the heads for its clips, all of them for later
    layers."""
    data.only("heads", "clips", "ones")
    before = frozenset(known)
    heads = tuple(_read_head(item, before, known) for item in data.field("heads").items())
    attended = frozenset(known)
    clips: list[Clip] = []
    for item in data.field("clips").items():
        item.only("out", "pre", "weight", "counts")
        # Several clips of a layer may add up in one coordinate.
        again = item.field("out").value in [clip.out for clip in clips]
        clips.append(
            Clip(
                out=item.field("out").text() if again else _new(item.field("out"), known),
                pre=_read_form(item.field("pre"), attended),
                weight=item.field("weight").integer(-1, 1),
                counts=item.field("counts").boolean(),
            )
        )
        if not clips[-1].weight:
            raise item.field("weight").error("1 or -1")
    ones: list[str] = []
    for item in data.field("ones").items():
        if item.text() not in {clip.out for clip in clips} or item.text() in ones:
            raise item.error("coordinates that clips of this layer write, each once")
        ones.append(item.text())
    return ProgramLayer(heads, tuple(clips), tuple(ones))


def _read_head(data: Reader, before: Container[str], known: set[str]) -> Head:
    data.only(
        "name", "mask", "weighting", "score", "value", "out", "select", "decay", "gap", "kind", "coefficients",
        "purpose", "theorem",
    )  # fmt: skip
    score = []
    for item in data.field("score").items():
        query, key = item.items(2)
        pair = _read_form(query, before), _read_form(key, before)
        for form, place in zip(pair, (query, key), strict=True):
            if not form.terms:
                raise place.error(
                    "a form that is not zero: the product would add nothing to the score, so leave it out"
                )
        score.append(pair)
    kind = data.field("kind").choice(Kind, KINDS)
    if (kind is Kind.UNIFORM) == bool(score):
        raise data.field("score").error(
            "no score for a uniform head" if score else "a score, since the head is not uniform"
        )
    weighting = data.field("weighting").choice(_weighting, WEIGHTINGS)
    if kind is Kind.UNIFORM and weighting is not Weighting.AVERAGE:
        raise data.field("weighting").error("average, as a uniform head has it")
    for name in ("decay", "gap"):
        if kind is Kind.UNIFORM and data.has(name):
            raise data.field(name).error("null, since the scores of a uniform head are all equal")
    if weighting is not Weighting.AVERAGE and not (data.has("decay") or data.has("gap")):
        raise data.error("a head with a decay or a gap: without one its largest score need not be unique")
    return Head(
        name=data.field("name").text(),
        mask=data.field("mask").choice(_mask, MASKS),
        weighting=weighting,
        value=_read_form(data.field("value"), before),
        out=_new(data.field("out"), known),
        score=tuple(score),
        select=_read_form(data.field("select"), before) if data.has("select") else None,
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


def _read_form(data: Reader, known: Container[str]) -> Affine:
    if not isinstance(data.value, dict):
        raise data.error("an object from coordinates to rationals")
    for name in data.value:
        if name not in known:
            raise data.error(f"coordinates that are known here (not {shown(name)})")
    return Affine.of({name: item.rational() for name, item in data.members()})


def _known(data: Reader, known: Container[str]) -> str:
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
