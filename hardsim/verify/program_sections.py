"""The sections of a certificate of a program: which keys there are, and the shape of each value (see `sections`)."""

from __future__ import annotations

from typing import Any

from hardsim.verify.arithmetic import require
from hardsim.verify.exponentials import LEAST
from hardsim.verify.sections import FORMAT, ROW, Shape, integer, keys, many, named, one_of, rational, row, text, truth

PROGRAM_CLAIM = (
    "on every word of model.alphabet of each length in lengths, and of each from start on if it is not null, softmax "
    "at the temperature answers as hard attention with the same weights: at each position that is read every output is "
    "on the same side of model.threshold, or n times every output is nearest to the same integer if model.integers, or "
    "every output is the same number if there is neither"
)
PROGRAM_VERSION = 4
"""The version of new certificates of programs."""
PROGRAM_VERSIONS = (3, PROGRAM_VERSION)
"""The versions that are read. Version 3 states nothing about means over tied keys."""
PROGRAM_SECTIONS = ("claim", "lengths", "start", "temperature", "labels", "model", "facts")
MASKS = ("none", "future", "past", "strict-future", "strict-past")
MOST_POSITIONS = 4096
"""The greatest length that is checked by itself."""


def program_claim(weighting: str) -> str:
    """Return the claim about a network with this weighting."""
    return PROGRAM_CLAIM.replace("softmax", weighting)


def maybe(form: Shape) -> Shape:
    """Return the shape of values that are null or have the given shape."""
    return lambda data, place: None if data is None else form(data, place)


# An index is a number of a function or a span in the section `facts`.
INDICES = many(integer)
RULE = maybe(row(one_of("lattice", "look-up"), integer, integer))
GROUPS = keys(groups=many(many(integer, 1), 1), inner=many(RULE), pairs=many(row(integer, integer, integer, integer,
              maybe(integer))))  # fmt: skip
PRODUCT = keys(product=row(integer, integer, integer))
KINDS = keys(kinds=truth)


def row_claim(data: Any, place: str) -> None:
    """Require a claim about a row of scores: about groups of keys, one product, or ("kinds") the types of keys."""
    names = data if type(data) is dict else {}
    (PRODUCT if "product" in names else KINDS if "kinds" in names else GROUPS)(data, place)


HEAD_CLAIM = keys(reads=named(INDICES), rows=many(row_claim))
LAYER_CLAIM = keys(heads=named(HEAD_CLAIM), attended=named(INDICES), units=many(row(INDICES, INDICES)),
                   final=named(INDICES))  # fmt: skip
# Claims about length 1 ("one") or about all lengths from 2 on ("more").
WORLD = keys(input=named(INDICES), layers=many(LAYER_CLAIM), answers=named(INDICES))
SHARE = maybe(row(integer, integer, many(row(integer, integer, integer))))
ISOLATED = many(row(integer, integer, INDICES))
SPAN = row(integer, integer, integer, maybe(integer), maybe(integer), SHARE, ISOLATED)
COUNT = many(lambda data, place: (text if type(data) is str else integer)(data, place), 1)
HEAD = keys(name=text, mask=one_of(*MASKS), query=many(ROW), key=many(ROW), values=named(ROW))
UNIT = keys(clip=truth, bias=rational, form=ROW, outs=ROW)
PARTS: dict[str, Shape] = {
    "alphabet": many(text, 1),
    "bos": truth,
    "embedding": named(many(rational, 1)),
    "encodings": named(text),
    "layers": many(keys(heads=many(HEAD), units=many(UNIT), biases=ROW)),
    "outputs": many(text, 1),
    "read": one_of("every", "first", "last"),
    "threshold": maybe(rational),
    "integers": truth,
}


def model(data: Any, place: str) -> None:
    """Require a network, whose weighting is stated if it is not softmax."""
    stated = {"weighting": one_of("sparsemax", *LEAST)} if type(data) is dict and "weighting" in data else {}
    keys(**PARTS, **stated)(data, place)


CHECKED = {
    "lengths": many(integer),
    "start": maybe(integer),
    "temperature": lambda data, place: (many(text) if type(data) is list else text)(data, place),
    "model": model,
    "facts": keys(functions=many(text), counts=many(COUNT), spans=many(SPAN), one=maybe(WORLD), more=maybe(WORLD)),
}
LABELS = keys(version=text, source=keys(name=text, sha256=text), title=text, words=maybe(text))
PROGRAM_CERTIFICATE = keys(
    format=one_of(FORMAT),
    schema_version=integer,
    claim=text,
    **CHECKED,
    labels=LABELS,
    digests=keys(**dict.fromkeys(PROGRAM_SECTIONS, text)),
)
"""The shape of a whole certificate of a program."""


def as_written_now(document: dict[str, Any]) -> dict[str, Any]:
    """Convert a certificate of version 3 to version 4. Any other document is returned unchanged. Raises Rejected if a
    document of version 3 has parts that only version 4 has."""
    facts = document["facts"]
    if document.get("schema_version") != PROGRAM_VERSIONS[0] or type(facts) is not dict:
        return document
    worlds = {key: facts[key] for key in ("one", "more") if type(facts.get(key)) is dict}
    strange = "counts" in facts or any("answers" in world for world in worlds.values())
    require(not strange, "facts: a certificate of version 3 has neither counts nor answers")
    # Two more parts at the end of each span: no share, and no isolated zeros.
    spans = facts.get("spans")
    if type(spans) is list:
        spans = [[*span, None, []] if type(span) is list else span for span in spans]
    now = {**facts, "counts": [], "spans": spans, **{key: {**world, "answers": {}} for key, world in worlds.items()}}
    return {**document, "schema_version": PROGRAM_VERSION, "facts": now}
