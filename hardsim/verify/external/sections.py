"""The sections of a certificate of an external network: which keys there are, and the shape of each value.

The section `network` has a reader of its own (`network`). A number is a float of JSON, so that an integer is none.
After these checks every value has the expected type and no array is longer than it may be; what the numbers mean is
checked where they are used.
"""

from __future__ import annotations

from typing import Any

from hardsim.verify.arithmetic import require
from hardsim.verify.external.numbers import LARGEST
from hardsim.verify.sections import (
    FORMAT,
    FORMULA,
    SYMBOLS,
    Shape,
    integer,
    keys,
    many,
    one_of,
    row,
    such,
    text,
    truth,
)

EXTERNAL_VERSION, LAYERS_VERSION = 5, 6
"""The values of schema_version for networks of one layer, and of two."""
EXTERNAL_CLAIM = (
    "after every prefix of min_n to max_n symbols for which the specification requires anything, the network's outputs "
    "are as required"
)
EXTERNAL_WRONG_CLAIM = f"{EXTERNAL_CLAIM}; after the word of the section wrong they are not"
EXTERNAL_SECTIONS = (
    "claim", "min_n", "max_n", "labels", "network", "specification", "machine", "axes", "groups", "wrong",
)  # fmt: skip
LAYERS_SECTIONS = (
    "claim", "min_n", "max_n", "labels", "network", "specification", "machine", "run_to", "axes", "part", "wrong",
)  # fmt: skip
DEEPEST = 100
"""The most divisions of a cell inside each other."""
MOST_PLACES = 24
"""The most parts of the words inside each other."""
LONGEST = 1 << 12
"""The most symbols of a prefix."""


def _a_number(data: Any) -> bool:
    # The comparison is false for NaN.
    return type(data) is float and -LARGEST <= data <= LARGEST


decimal = such(_a_number, f"a number with a decimal point, of at most {LARGEST} in size")
AUTOMATON = keys(symbols=many(text, 1), moves=many(many(integer), 1), accepting=many(integer))
COLUMNS = {
    "formula": keys(kind=text, formula=keys(**SYMBOLS, **FORMULA)),
    "matches": keys(kind=text, automaton=AUTOMATON),
}


def column(data: Any, place: str) -> None:
    """Require what is true of a prefix: a formula, or the language of an automaton."""
    require(type(data) is dict and type(data.get("kind")) is str, f"{place}: this should be an object with a kind")
    require(data["kind"] in COLUMNS, f"{place}.kind: {data['kind']!a} is not known")
    COLUMNS[data["kind"]](data, place)


def name(data: Any, place: str) -> None:
    """Require a name, or null."""
    require(data is None or type(data) is str, f"{place}: this should be a string or null")


SPECIFICATIONS = {
    "next": keys(kind=text, automaton=AUTOMATON, end=name, empty=truth),
    "lines": keys(
        kind=text,
        lines=many(row(name, column), 1),
        assume=lambda data, place: None if data is None else column(data, place),
    ),
}


def specification(data: Any, place: str) -> None:
    """Require a specification: of the next symbols, or by lines about outputs."""
    require(type(data) is dict and type(data.get("kind")) is str, f"{place}: this should be an object with a kind")
    require(data["kind"] in SPECIFICATIONS, f"{place}.kind: {data['kind']!a} is not known")
    SPECIFICATIONS[data["kind"]](data, place)


def place_of_row(data: Any, place: str) -> None:
    """Require an object from numbers of rows, as texts, to a direction and one number for each head."""
    require(type(data) is dict, f"{place}: this should be an object")
    for key, part in data.items():
        fine = type(key) is str and key.isascii() and key.isdigit() and len(key) < 8 and str(int(key)) == key
        require(fine, f"{place}: a key is not the number of a row")
        row(many(decimal), many(decimal))(part, f"{place}.{key}")


NODES = {
    "split": keys(split=row(integer, decimal), low=such(lambda data: True, ""), high=such(lambda data: True, "")),
    "choice": keys(choice=integer, rows=place_of_row),
    "words": keys(words=such(lambda data: data is True, "true")),
}


def tree(data: Any, place: str, depth: int = 0) -> None:
    """Require the tree of a group: a division of a cell in two, a choice of rows, or all words."""
    require(depth <= DEEPEST, f"too large: more than {DEEPEST} divisions of a cell inside each other")
    require(type(data) is dict, f"{place}: this should be an object")
    kind = next((kind for kind in NODES if kind in data), None)
    require(kind is not None, f"{place}: this should be a split, a choice or words")
    NODES[kind or ""](data, place)
    if kind == "split":
        for half in ("low", "high"):
            tree(data[half], f"{place}.{half}" if depth < 4 else place, depth + 1)


def divided(leaf: Shape) -> Shape:
    """Return the shape of trees that divide a cell in two again and again, with leaves of one shape."""

    def check(data: Any, place: str, depth: int = 0) -> None:
        require(depth <= DEEPEST, f"too large: more than {DEEPEST} divisions of a cell inside each other")
        if type(data) is not dict or "split" not in data:
            leaf(data, place)
            return
        NODES["split"](data, place)
        for half in ("low", "high"):
            check(data[half], f"{place}.{half}" if depth < 4 else place, depth + 1)

    return check


BOX = row(many(decimal), many(decimal))
GROUP = keys(
    length=integer,
    symbol=integer,
    states=many(integer, 1),
    tree=keys(box=BOX, tree=tree),
)
_QUERY = divided(keys(box=BOX, tree=tree))
PREFIXES = keys(
    length=integer,
    symbol=integer,
    state=integer,
    box=BOX,
    cells=divided(such(lambda data: data is None, "null or a division of a cell")),
    query=lambda data, place: None if data is None else _QUERY(data, place),
)


def part(data: Any, place: str, depth: int = 0) -> None:
    """Require a part of the words, with the parts that it is divided into."""
    require(depth <= MOST_PLACES, f"too large: more than {MOST_PLACES} parts inside each other")

    def inner(data: Any, place: str) -> None:
        part(data, place, depth + 1)

    number = such(
        lambda data: data is None or (type(data) is int and 0 < data < LONGEST), "a number of symbols or null"
    )
    keys(classes=many(PREFIXES), place=number, parts=many(row(integer, inner)))(data, place)


EXTERNAL_CHECKED: dict[str, Shape] = {
    "min_n": integer,
    "max_n": integer,
    "network": lambda data, place: None,  # `network.read_network` checks it
    "specification": specification,
    "machine": keys(
        moves=many(many(integer), 1),
        required=many(integer),
        kinds=many(many(many(row(integer, integer), 1), 1)),
    ),
    "axes": many(many(many(decimal))),
    "groups": many(GROUP),
    "wrong": lambda data, place: None if data is None else keys(word=many(text))(data, place),
}
"""The shapes of the sections that the claim is about."""
LAYERS_CHECKED: dict[str, Shape] = {
    **{key: form for key, form in EXTERNAL_CHECKED.items() if key not in ("axes", "groups")},
    "run_to": integer,
    "axes": row(many(many(many(decimal))), many(many(many(decimal)))),
    "part": lambda data, place: None if data is None else part(data, place),
}
"""The shapes of these sections for networks of two layers."""
EXTERNAL_LABELS = keys(version=text, source=keys(name=text, sha256=text), against=name, title=name)


def _certificate(checked: dict[str, Shape], sections: tuple[str, ...]) -> Shape:
    return keys(
        format=one_of(FORMAT),
        schema_version=integer,
        claim=text,
        labels=EXTERNAL_LABELS,
        **checked,
        digests=keys(**dict.fromkeys(sections, text)),
    )


EXTERNAL_CERTIFICATE = _certificate(EXTERNAL_CHECKED, EXTERNAL_SECTIONS)
"""The shape of a whole certificate of an external network of one layer."""
LAYERS_CERTIFICATE = _certificate(LAYERS_CHECKED, LAYERS_SECTIONS)
"""The shape of a whole certificate of an external network of two layers."""
