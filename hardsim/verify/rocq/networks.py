"""The network of an instance, and that of a compiled model's JSON, as equal data; and their first difference."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from hardsim.verify.rocq.formulas import constructor, literal, meaning_of
from hardsim.verify.rocq.meanings import Meanings, NotStated
from hardsim.verify.rocq.text import RocqTree

MASKS = {"Future": "future", "Past": "past", "Unmasked": "none"}
"""The constructors of masks, with the masks of models."""
LONGEST = 1000
"""Most characters of an encoding in a model."""
HIGHEST = 1000
"""Highest power in an encoding."""

Entries: TypeAlias = Mapping[tuple[int, int], Fraction]
"""The entries of a matrix that are not 0, by row and column."""
Predicates: TypeAlias = Mapping[str, Callable[[int], int]]
"""For each predicate that a file defines: the function from the meaning of its first argument to that of its
condition."""


@dataclass(frozen=True, slots=True)
class EncodingPowers:
    """The function (-1)^i (or 1) times a power of i and a power of n."""

    alternates: bool
    of_i: int
    of_n: int

    def __str__(self) -> str:
        """Return the function as text."""
        parts = ["(-1)^i"] * self.alternates
        parts += [f"{name}^{power}" for name, power in (("i", self.of_i), ("n", self.of_n)) if power]
        return "*".join(parts) or "1"


@dataclass(frozen=True, slots=True)
class HeadNumbers:
    """A head: its mask, the number of rows of queries and keys, and its matrices."""

    mask: str
    rows: int
    w_q: Entries
    w_k: Entries
    w_v: Entries


@dataclass(frozen=True, slots=True)
class LayerNumbers:
    """A layer: its heads, and the matrices and biases of its feed-forward layer."""

    heads: tuple[HeadNumbers, ...]
    w_1: Entries
    b_1: tuple[Fraction, ...]
    w_2: Entries
    b_2: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class NetworkNumbers:
    """A network. Atoms are the symbols of an alphabet of letters, or propositions; the row after the last atom of an
    embedding of propositions is added everywhere. An encoding is a function, or the meaning of a condition."""

    atoms: int
    over_letters: bool
    embedding: Entries
    encodings: tuple[tuple[int, EncodingPowers | int], ...]
    layers: tuple[LayerNumbers, ...]
    output: int
    temperature: EncodingPowers


# ---- from an instance ----


def of_instance(tree: RocqTree, table: Meanings) -> NetworkNumbers:
    """Return the network that a term of type network states. Raises BadRocq."""
    atoms, letters, embedding, encodings, layers, output, temperature = _arguments(tree, "Network", 7)
    return NetworkNumbers(
        literal(atoms, "nat"),
        literal(letters, "bool"),
        _matrix(embedding),
        tuple(_encoding(one, table) for one in _members(encodings)),
        tuple(map(_layer, _members(layers))),
        literal(output, "nat"),
        _monomial(temperature),
    )


def _arguments(tree: RocqTree, name: str, count: int) -> Sequence[RocqTree]:
    constructor(tree, [name], name.lower())
    if len(tree.parts) != count:
        tree.refuse(f"{name} with {len(tree.parts)} arguments", f"{count} arguments")
    return tree.parts


def _members(tree: RocqTree, kind: str = "list", count: int | None = None) -> Sequence[RocqTree]:
    if tree.kind != kind or count not in (None, len(tree.parts)):
        tree.refuse(f"this is not a {kind}{'' if count is None else f' of {count}'}", f"a {kind}")
    return tree.parts


def _matrix(tree: RocqTree) -> Entries:
    found: dict[tuple[int, int], Fraction] = {}
    for one in _members(tree):
        row, column, value = _members(one, "tuple", 3)
        place = literal(row, "nat"), literal(column, "nat")
        if place in found:
            one.refuse(f"the entry of row {place[0]} and column {place[1]} is listed twice", "each entry once")
        found[place] = literal(value, "Q")
    return {place: value for place, value in found.items() if value}


def _monomial(tree: RocqTree) -> EncodingPowers:
    alternates, of_i, of_n = _arguments(tree, "Monomial", 3)
    return EncodingPowers(literal(alternates, "bool"), literal(of_i, "Z"), literal(of_n, "Z"))


def _encoding(tree: RocqTree, table: Meanings) -> tuple[int, EncodingPowers | int]:
    column, value = _members(tree, "tuple", 2)
    name = constructor(value, ["Number", "Indicator"], "encoding")
    (argument,) = _arguments(value, name, 1)
    found = _monomial(argument) if name == "Number" else meaning_of(argument, "condition", table, {})
    return literal(column, "nat"), found


def _layer(tree: RocqTree) -> LayerNumbers:
    heads, w_1, b_1, w_2, b_2 = _arguments(tree, "Layer", 5)
    return LayerNumbers(tuple(map(_head, _members(heads))), _matrix(w_1), _row(b_1), _matrix(w_2), _row(b_2))


def _row(tree: RocqTree) -> tuple[Fraction, ...]:
    return tuple(literal(one, "Q") for one in _members(tree))


def _head(tree: RocqTree) -> HeadNumbers:
    mask, rows, w_q, w_k, w_v = _arguments(tree, "Head", 5)
    if mask.kind != "name":
        mask.refuse("this is not a mask", " ".join(MASKS))
    its = MASKS[constructor(mask, MASKS, "mask")]
    return HeadNumbers(its, literal(rows, "nat"), _matrix(w_q), _matrix(w_k), _matrix(w_v))


# ---- from a model ----


def of_model(model: Mapping[str, Any], table: Meanings, predicates: Predicates) -> NetworkNumbers:
    """Return the network in the section `model` of a compiled model, which is well formed. Raises NotStated if no
    instance states such a network."""
    alphabet, names = model["alphabet"], model["coordinates"]
    letters = isinstance(alphabet, list)
    atoms = alphabet if letters else alphabet["props"]
    for key in ("bos", "threshold"):
        if model.get(key):
            raise NotStated(f"a network with {key}")
    if (model.get("weighting") or "softmax") != "softmax":
        raise NotStated("hard attention")
    encodings = [
        (names.index(one["coordinate"]), _written_encoding(one["value"], table, predicates))
        for one in model.get("encodings") or ()
    ]
    return NetworkNumbers(
        len(atoms),
        letters,
        _sparse(model["embedding"]),
        tuple(encodings),
        tuple(map(_written_layer, model["layers"])),
        names.index(model["output"]),
        _power_product(model["temperature"], "temperature"),
    )


def _sparse(matrix: Any) -> Entries:
    if not isinstance(matrix, dict) or {*matrix} != {"shape", "entries"}:
        raise NotStated("a matrix that is not written as shape and entries")
    return {(row, column): Fraction(value) for row, column, value in matrix["entries"] if Fraction(value)}


def _written_layer(layer: Mapping[str, Any]) -> LayerNumbers:
    heads = []
    for head in layer["heads"]:
        if head["mask"] not in MASKS.values() or (head.get("weighting") or "softmax") != "softmax":
            raise NotStated(f"the mask or the weighting of head {head['name']}")
        w_q, w_k, w_v = (_sparse(head[key]) for key in ("w_q", "w_k", "w_v"))
        heads.append(HeadNumbers(head["mask"], head["w_q"]["shape"][0], w_q, w_k, w_v))
    ffn = layer.get("ffn") or {}
    if {*ffn} != {"w1", "b1", "w2", "b2"}:
        raise NotStated("a layer without w1, b1, w2 or b2")
    b_1, b_2 = (tuple(map(Fraction, ffn[key])) for key in ("b1", "b2"))
    return LayerNumbers(tuple(heads), _sparse(ffn["w1"]), b_1, _sparse(ffn["w2"]), b_2)


_CALL = re.compile(r"\s*([^\W\d]\w*)\s*\(((?:\s*[0-9]+\s*,)*)(.*)\)\s*", re.DOTALL)


def _written_encoding(text: Any, table: Meanings, predicates: Predicates) -> EncodingPowers | int:
    call = _CALL.fullmatch(text) if isinstance(text, str) else None
    if call is None or len(text) > LONGEST:
        return _power_product(text, "encoding")
    of_i, of_n, offset = _linear(_parsed(call[3], text), text)
    i, n = table.value("x"), table.value("n")
    argument = table.combine(table.combine(table.constant(offset), of_i, i), of_n, n)
    name, params = call[1], tuple(int(one) for one in call[2].split(",") if one.strip())
    own = predicates.get(name)
    found = own(argument) if own else table.predicate(name, params, argument)
    if found is None:
        raise NotStated(f"the encoding {text}")
    return found


def _parsed(text: str, whole: str) -> ast.expr:
    try:
        return ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotStated(f"the encoding {whole}") from None


def _linear(tree: ast.expr, text: str) -> tuple[int, int, int]:
    """Return the coefficients of i and n, and the constant."""
    match tree:
        case ast.Constant(int(value)):
            return 0, 0, int(value)
        case ast.Name("i" | "n" as name):
            return int(name == "i"), int(name == "n"), 0
        case ast.UnaryOp(ast.USub(), arg):
            a, b, c = _linear(arg, text)
            return -a, -b, -c
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            (a, b, c), (d, e, f) = _linear(left, text), _linear(right, text)
            sign = 1 if isinstance(op, ast.Add) else -1
            return a + sign * d, b + sign * e, c + sign * f
        case ast.BinOp(left, ast.Mult(), right):
            one, other = _linear(left, text), _linear(right, text)
            if one[:2] != (0, 0):
                one, other = other, one
            if one[:2] == (0, 0):
                a, b, c = other
                return one[2] * a, one[2] * b, one[2] * c
    raise NotStated(f"the argument of {text}")


def _power_product(text: Any, what: str) -> EncodingPowers:
    """Return the function that an expression in i and n denotes, if it is a product of powers."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise NotStated(f"this {what}: {str(text)[:80]}")
    number, sign, of_i, of_n = _powers(_parsed(text, text), f"the {what} {text}")
    if number != 1 or max(abs(of_i), abs(of_n)) > HIGHEST:
        raise NotStated(f"the {what} {text}")
    return EncodingPowers(bool(sign % 2), of_i, of_n)


def _powers(tree: ast.expr, what: str) -> tuple[Fraction, int, int, int]:
    """Return the number, and the exponents of (-1)^i, i and n, of a product."""
    match tree:
        case ast.Constant(int(value)):
            return Fraction(value), 0, 0, 0
        case ast.Name("i" | "n" as name):
            return Fraction(1), 0, int(name == "i"), int(name == "n")
        case ast.UnaryOp(ast.USub(), arg):
            number, *exponents = _powers(arg, what)
            return -number, exponents[0], exponents[1], exponents[2]
        case ast.BinOp(left, ast.Mult() | ast.Div() as op, right):
            one, other = _powers(left, what), _powers(right, what)
            way = 1 if isinstance(op, ast.Mult) else -1
            if way == 1 or other[0]:
                a, b, c = (x + way * y for x, y in zip(one[1:], other[1:], strict=True))
                return one[0] * other[0] if way == 1 else one[0] / other[0], a, b, c
        case ast.BinOp(left, ast.Pow(), ast.Name("i")) if _powers(left, what) == (Fraction(-1), 0, 0, 0):
            return Fraction(1), 1, 0, 0
        case ast.BinOp(left, ast.Pow(), right):
            number, a, b, c = _powers(left, what)
            exponent, *others = _powers(right, what)
            k = int(exponent)
            if exponent == k and not any(others) and abs(k) <= HIGHEST and number in (1, -1):
                return number**k, a * k, b * k, c * k
    raise NotStated(what)


# ---- their difference ----


def difference(found: NetworkNumbers, expected: NetworkNumbers, model: Mapping[str, Any]) -> str | None:
    """Return the first difference of the network of an instance and that of a model, with both values; None if they
    are equal. `model` has the names."""
    for place, one, other in _pairs(found, expected, model):
        if one != other:
            return f"{place}: {one} in the instance, {other} in the model"
    return None


_Pairs: TypeAlias = Iterator[tuple[str, Any, Any]]


def _pairs(found: NetworkNumbers, expected: NetworkNumbers, model: Mapping[str, Any]) -> _Pairs:
    """Yield each place with the values on both sides; conditions are compared by their numbers."""
    names = model["coordinates"]
    letters = {True: "letters", False: "sets of propositions"}
    yield "number of atoms", found.atoms, expected.atoms
    yield "words are over", letters[found.over_letters], letters[expected.over_letters]
    yield from _entries("embedding", found.embedding, expected.embedding)
    yield "number of encodings", len(found.encodings), len(expected.encodings)
    for k, ((place, one), (there, other)) in enumerate(zip(found.encodings, expected.encodings, strict=True)):
        yield f"coordinate of encoding {k}", place, there
        what, same = _shown(one), one == other
        yield f"encoding {k} (coordinate {names[there]})", what, what if same else _shown(other, " of the model")
    yield "number of layers", len(found.layers), len(expected.layers)
    for k, (mine, theirs) in enumerate(zip(found.layers, expected.layers, strict=True)):
        yield from _layer_pairs(f"layer {k + 1}", mine, theirs, [head["name"] for head in model["layers"][k]["heads"]])
    yield "output coordinate", found.output, expected.output
    yield "temperature", str(found.temperature), str(expected.temperature)


def _shown(encoding: EncodingPowers | int, whose: str = "") -> str:
    return str(encoding) if isinstance(encoding, EncodingPowers) else f"the condition{whose}"


def _layer_pairs(place: str, found: LayerNumbers, expected: LayerNumbers, names: Sequence[str]) -> _Pairs:
    yield f"{place}, number of heads", len(found.heads), len(expected.heads)
    for one, other, name in zip(found.heads, expected.heads, names, strict=True):
        where = f"{place}, head {name}"
        yield f"{where}, mask", one.mask, other.mask
        yield f"{where}, rows of w_q and w_k", one.rows, other.rows
        for key in ("w_q", "w_k", "w_v"):
            yield from _entries(f"{where}, {key}", getattr(one, key), getattr(other, key))
    for key in ("w_1", "b_1", "w_2", "b_2"):
        mine, theirs = getattr(found, key), getattr(expected, key)
        if key.startswith("b"):
            yield f"{place}, length of {key}", len(mine), len(theirs)
            mine, theirs = ({(k,): value for k, value in enumerate(row)} for row in (mine, theirs))
        yield from _entries(f"{place}, {key}", mine, theirs)


def _entries(place: str, found: Mapping[Any, Fraction], expected: Mapping[Any, Fraction]) -> _Pairs:
    for key in sorted({*found, *expected}):
        yield f"{place}[{', '.join(map(str, key))}]", found.get(key, Fraction(0)), expected.get(key, Fraction(0))


def numbers_in(network: NetworkNumbers) -> int:
    """Return how many rationals a network has: entries that are not 0, and biases."""
    layers = [(one.w_1, one.b_1, one.w_2, one.b_2) for one in network.layers]
    heads = [(one.w_q, one.w_k, one.w_v) for layer in network.layers for one in layer.heads]
    return len(network.embedding) + sum(len(part) for parts in (*layers, *heads) for part in parts)
