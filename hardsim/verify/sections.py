"""The sections of a certificate of a formula: which keys there are, and the shape of each value.

A certificate with any other key is rejected: the checker accepts nothing that it does not read. An integer is not a
truth value, and no number has a decimal point. After these checks every value has the expected type, so that the rest
of the checker cannot fail on a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from hardsim.verify.arithmetic import RATIONAL, exact, require
from hardsim.verify.exponentials import LEAST, cutoff_of
from hardsim.verify.expressions import Expression, expression

FORMAT, SCHEMA_VERSION, LARGEST = "hardsim-certificate", 3, 1024
EVERY_LENGTH = (
    "on every word of every length the network's output at the last position is exactly 1 if formula.root holds there, "
    "and exactly 0 if not"
)
CLAIM = (
    "on every word of length min_n to max_n the network's output at the last position is exactly 1 if formula.root "
    "holds there, and exactly 0 if not"
)
MOST = 10**30
"""Integers of a certificate are below this in size."""
SECTIONS = ("claim", "min_n", "max_n", "labels", "formula", "model", "meaning", "bounds")
SIDES = {"future": "L", "past": "R", "none": ""}
"""The visible positions of each mask: "L" those up to the query, "R" those from the query on, "" all."""
STRICT = {"strict-future": "<", "strict-past": ">"}
"""The masks of geometric attention besides: "<" shows the positions before the query, ">" those after it."""

Shape = Callable[[Any, str], None]
"""A function that raises Rejected if a value does not have some shape. Its second argument is the place of the value in
the certificate, for the message."""


def such(fits: Callable[[Any], object], what: str) -> Shape:
    """Return the shape of the values that satisfy a condition. `what` describes them in the message."""
    return lambda data, place: require(fits(data), f"{place}: this should be {what}")


# `type`, not isinstance: to Python, True is an int, and a subclass may behave in any way.
text = such(lambda data: type(data) is str, "a string")
truth = such(lambda data: type(data) is bool, "true or false")
rational = such(lambda data: type(data) is str and RATIONAL.fullmatch(data), 'a rational such as "-1/2"')
bound = such(lambda data: data is None or (type(data) is int and abs(data) < MOST), "an integer or null")
"""A bound of a head's error, `null` if there is nothing to bound."""


def integer(data: Any, place: str) -> None:
    """Require an integer of at most 30 digits; `true` and 1.0 are not integers."""
    require(type(data) is int, f"{place}: this should be an integer")
    require(abs(data) < MOST, f"{place}: too large: an integer of more than 30 digits")


def one_of(*values: str) -> Shape:
    """Return the shape of the strings among `values`."""
    return such(lambda data: type(data) is str and data in values, " or ".join(f'"{value}"' for value in values))


def many(form: Shape, least: int = 0) -> Shape:
    """Return the shape of arrays with at least `least` entries, all of one shape."""
    what = f"an array of {least} or more" if least else "an array"

    def check(data: Any, place: str) -> None:
        require(type(data) is list and len(data) >= least, f"{place}: this should be {what}")
        for k, part in enumerate(data):
            form(part, f"{place}[{k}]")

    return check


def row(*forms: Shape) -> Shape:
    """Return the shape of arrays with one entry of each shape, in this order."""

    def check(data: Any, place: str) -> None:
        require(type(data) is list and len(data) == len(forms), f"{place}: this should be an array of {len(forms)}")
        for k, (form, part) in enumerate(zip(forms, data, strict=True)):
            form(part, f"{place}[{k}]")

    return check


def named(form: Shape) -> Shape:
    """Return the shape of objects with any keys, whose values have one shape."""

    def check(data: Any, place: str) -> None:
        require(type(data) is dict, f"{place}: this should be an object")
        for key, part in data.items():
            text(key, place)
            form(part, f"{place}[{key!a}]")

    return check


def keys(**forms: Shape) -> Shape:
    """Return the shape of objects with exactly these keys."""

    def check(data: Any, place: str) -> None:
        whole = place or "the certificate"
        require(type(data) is dict, f"{whole}: this should be an object")
        strange = [key for key in data if key not in forms]
        found = f", and {strange[0]!a} is not known" if strange else ""
        for key in (*forms, *data):
            require(key in data, f"{whole}: the key {key!a} is missing{found}")
            require(key in forms, f"{whole}: the key {key!a} is not known")
        for key, form in forms.items():
            form(data[key], f"{place}.{key}" if place else key)

    return check


LITERAL = row(integer, truth)
"""A literal: the number of a node, and whether it is negated."""
SIDE = one_of(*SIDES.values())
COUNT = row(integer, SIDE)
"""A term of a count: a coefficient, and the side of the query whose positions count."""
ROW = named(rational)
"""A linear form: coefficients by names of coordinates."""


NODES = {
    "and": row(text, many(LITERAL, 1)),
    **dict.fromkeys(("Y", "X"), row(text, row(LITERAL))),
    **dict.fromkeys(("xor", "S", "U"), row(text, row(LITERAL, LITERAL))),
    "at least": row(text, many(LITERAL), many(COUNT), integer),
    "predicate": row(text, row(LITERAL), text, row(COUNT), integer),
}
"""Shapes of the nodes of a formula by operator, without `letters` (any number of symbols, so `node` makes its shape)
and without those of OVER_PROPOSITIONS."""
OVER_PROPOSITIONS = {"true": row(text, row()), "holds": row(text, row(), text)}
"""Nodes that stand for `letters` if symbols are sets of propositions: all sets, or all sets with one proposition."""


def node(data: Any, place: str) -> None:
    """Require a node of a formula: an operator, its operands, and whatever else it needs."""
    require(type(data) is list and len(data) > 1 and type(data[0]) is str, f"{place}: this should be a node")
    forms = NODES | OVER_PROPOSITIONS | {"letters": row(text, row(), *[text] * (len(data) - 2))}
    require(data[0] in forms, f"{place}: the operator {data[0]!a} is not known")
    forms[data[0]](data, place)
    require(data[0] != "at least" or len(data[1]) == len(data[2]), f"{place}: each count needs one literal")


CLAIMS = {
    **dict.fromkeys(("mean", "sign"), keys(kind=text, what=LITERAL)),
    "nearest": keys(kind=text, where=LITERAL, what=LITERAL, backwards=truth),
    **dict.fromkeys(("number", "table"), keys(kind=text, count=row(row(LITERAL), row(COUNT)), some=LITERAL)),
}


def head_claim(data: Any, place: str) -> None:
    """Require a claim about what a head computes."""
    require(type(data) is dict and type(data.get("kind")) is str, f"{place}: this should be an object with a kind")
    require(data["kind"] in CLAIMS, f"{place}.kind: {data['kind']!a} is not known")
    CLAIMS[data["kind"]](data, place)


HEAD = keys(name=text, mask=one_of(*SIDES, *STRICT), query=many(ROW), key=many(ROW), value=ROW, out=text)


def clip(data: Any, place: str) -> None:
    """Require a clip: an output weight, a bias and a form; then the constant and the form of its cap, unless that is
    1."""
    cap = (rational, ROW) if type(data) is list and len(data) > 3 else ()
    row(rational, rational, ROW, *cap)(data, place)


LAYER = keys(heads=many(HEAD), clips=named(row(rational, many(clip))))
FORMULA = {"nodes": many(node, 1), "root": LITERAL}
MODEL = {"encodings": named(text), "temperature": text, "layers": many(LAYER), "output": text}
SYMBOLS, SETS = {"alphabet": many(text, 1)}, {"props": many(text)}
EACH_SYMBOL, EACH_PROPOSITION = {"embedding": named(many(rational, 1))}, {"embedding": named(ROW)}
"""The embedding of a coordinate: one value for each symbol; or, for sets of propositions, a multiple of each
proposition that holds, and (under the empty name) of 1."""


def over(symbols: dict[str, Shape], sets: dict[str, Shape], optional: dict[str, Shape] | None = None) -> Shape:
    """Return the shape of objects about words of symbols, or (with a key "props") about words of sets of
    propositions. They may have the `optional` keys."""

    def check(data: Any, place: str) -> None:
        given = data if isinstance(data, dict) else {}
        more = {key: form for key, form in (optional or {}).items() if key in given}
        keys(**(sets if "props" in given else symbols), **more)(data, place)

    return check


WEIGHTED = {"weighting": one_of("sparsemax", "geometric", *LEAST)}
"""The key for the weighting of a network, if that is not softmax."""
CHECKED = {
    "min_n": integer,
    "max_n": lambda data, place: None if data is None else integer(data, place),
    "formula": over(SYMBOLS | FORMULA, SETS | FORMULA),
    "model": over(SYMBOLS | EACH_SYMBOL | MODEL, SETS | EACH_PROPOSITION | MODEL, WEIGHTED),
    "meaning": keys(coordinates=named(LITERAL), heads=named(head_claim)),
}
"""The shapes of the sections that the claim is about."""
LENGTH_BOUNDS = many(bound)


def entry(data: Any, place: str) -> None:
    """Require an entry of a list of bounds: the bounds of a head at one length; or, for every length, its rate, the
    name of its series, or a bound."""
    if type(data) is str:
        text(data, place)
    elif type(data) is list:
        LENGTH_BOUNDS(data, place)
    else:
        bound(data, place)


LABELS = keys(
    version=text,
    source=keys(name=text, sha256=text, text=text),
    formula=text,
    at=one_of("first", "last"),
    regime=text,
    beta=rational,
)
CERTIFICATE = keys(
    format=one_of(FORMAT),
    schema_version=integer,
    claim=text,
    **CHECKED,
    labels=LABELS,
    bounds=named(many(entry)),
    digests=keys(**dict.fromkeys(SECTIONS, text)),
)
"""The shape of a whole certificate of a formula."""


Lit = tuple[int, bool]
"""A literal: the number of a node, and whether it is negated."""


def size(data: Any) -> int:
    """Return the number of values inside an array or object, itself included."""
    if isinstance(data, dict):
        return 1 + sum(map(size, data.values()))
    return 1 + sum(map(size, data)) if isinstance(data, list) else 1


class Claim:
    """The claim of a certificate, read from the document: lengths, formula, network, and the meaning of coordinates and
    heads. The constructor raises Rejected if these do not fit together."""

    def __init__(self, document: dict[str, Any]) -> None:
        for key, form in CHECKED.items():
            form(document.get(key), key)
        first, last = document["min_n"], document["max_n"]
        fine = first == 1 if last is None else 0 < first <= last <= LARGEST
        message = f"min_n, max_n: lengths from 1 to {LARGEST} can be checked, in this order; or every one from 1 on"
        require(fine, message)
        self.lengths, self.size = range(first, (last or 0) + 1), sum(size(document[key]) for key in CHECKED)
        self._formula(document["formula"])
        self._model(document["model"], document["meaning"])

    def _formula(self, formula: dict[str, Any]) -> None:
        self.alphabet, self.nodes = formula.get("alphabet", []), formula["nodes"]
        self.props: dict[str, int | None] = dict.fromkeys(formula.get("props", []))
        require(len(set(self.alphabet)) == len(self.alphabet), "formula.alphabet: symbols must differ")
        require("props" not in formula or [*self.props] == formula["props"], "formula.props: propositions must differ")
        require("" not in self.props, "formula.props: a proposition needs a name")
        self.symbols, self.conditions = list[frozenset[str]](), dict[int, tuple[str, Expression]]()
        for k, (op, _, *rest) in enumerate(self.nodes):
            own = frozenset(rest if op == "letters" else ())
            require(op not in OVER_PROPOSITIONS or "props" in formula, f"formula.nodes[{k}]: there are no propositions")
            if op == "holds":
                require(rest[0] in self.props, f"formula.nodes[{k}]: it names no proposition of formula.props")
                self.props[rest[0]] = k
            fine = own <= {*self.alphabet} and (op != "letters" or len(own) == len(rest))
            require(fine, f"formula.nodes[{k}]: symbols must be of the alphabet, and differ")
            self.symbols.append(own)
            if op == "predicate":
                self.conditions[k] = rest[0], expression(rest[0], "xn")
                message = f"formula.nodes[{k}]: the predicate is a number, not a truth value"
                require(self.conditions[k][1].truth, message)
        # Operands stand before their node, so there are no circles.
        self.lits = [[self.lit(lit, k) for lit in node[1]] for k, node in enumerate(self.nodes)]
        self.root = self.lit(formula["root"], len(self.nodes))

    def _model(self, model: dict[str, Any], meaning: dict[str, Any]) -> None:
        require(model.get("alphabet", []) == self.alphabet, "model.alphabet differs from formula.alphabet")
        require(model.get("props", []) == [*self.props], "model.props differ from formula.props")
        self.geometric, self.cutoff = model.get("weighting") == "geometric", cutoff_of(model.get("weighting"))
        self.claims = {name: self.lit(lit, len(self.nodes)) for name, lit in meaning["coordinates"].items()}
        self.output, self.embedding = model["output"], exact(model["embedding"])
        self.texts = {name: (text, expression(text, "in")) for name, text in model["encodings"].items()}
        self.temperature = model["temperature"], expression(model["temperature"], "in", functions=True)
        require(not self.temperature[1].truth, "model.temperature is a truth value, not a number")
        self.layers = [([self._parse(head, meaning["heads"]) for head in layer["heads"]], exact(layer["clips"]))
                       for layer in model["layers"]]  # fmt: skip
        sizes = {len(values) for values in self.embedding.values()} if self.alphabet else set()
        require(sizes <= {len(self.alphabet)}, "model.embedding: one value is needed for each symbol")
        for values in self.embedding.values() if not self.alphabet else ():
            known = {name for name, k in self.props.items() if k is not None} | {""}
            require(values.keys() <= known, "model.embedding: it reads a proposition that no node of the formula names")
        written = [*self.embedding, *(model["encodings"].keys() - self.embedding.keys())]
        written += [out for heads, clips in self.layers for out in (*(head[-1] for head in heads), *clips)]
        require("" not in written, "model: a coordinate needs a name")
        require(len(set(written)) == len(written), "model: a coordinate is written twice")
        # What nothing writes is 0 everywhere, so it may be the output only if something is claimed of it.
        require(self.output in (*written, *self.claims), "model.output: nothing writes it")
        self.rows = [row for _, clips in self.layers for _, parts in clips.values() for part in parts
                     for row in part[2::2]]  # fmt: skip
        for heads, _ in self.layers:
            self.rows += [row for *_, pairs, value, _ in heads for row in (value, *chain(*pairs))]
        strange = {*chain(*self.rows)} - {*written} - self.claims.keys()
        require(not strange, f"model: it reads coordinates that nothing writes: {sorted(strange)[:3]!a}")
        names = [name for heads, _ in self.layers for name, *_ in heads]
        require(len(set(names)) == len(names) and "" not in names, "model: names of heads must differ")
        require(meaning["heads"].keys() <= {*names}, "meaning.heads: it names a head that the network does not have")

    def lit(self, data: Any, below: int) -> Lit:
        """Return a literal of one of the first `below` nodes; raise Rejected for another number."""
        node, negated = data
        require(0 <= node < below, f"formula or meaning: {data!r} is not a literal of one of the first {below} nodes")
        return node, negated

    def _parse(self, head: dict[str, Any], claims: dict[str, Any]) -> tuple[Any, ...]:
        # A head without a claim has the kind None.
        claim = {"kind": None} | claims.get(head["name"], {})
        same = len(head["query"]) == len(head["key"])
        require(same, f"head {head['name']}: query and key have different dimensions")
        claim |= {key: self.lit(claim[key], len(self.nodes)) for key in ("where", "what", "some") if key in claim}
        for lit in claim["count"][0] if "count" in claim else ():
            self.lit(lit, len(self.nodes))
        pairs = [*zip(exact(head["query"]), exact(head["key"]), strict=True)]
        strict = head["mask"] in STRICT
        require(self.geometric or not strict, f"head {head['name']}: a strict mask may show nothing")
        return head["name"], (SIDES | STRICT)[head["mask"]], claim, pairs, exact(head["value"]), head["out"]


LONGEST_SHOWN = 400
"""Most characters to show of a text from a certificate."""


def printable(text: str) -> str:
    """Return a text that cannot control a terminal: characters that are not printable become escapes, a long text is
    cut."""
    shown = text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)
