"""The network as a value of the Rocq library's type `network`: exactly the matrices of the model."""

from __future__ import annotations

from collections.abc import Mapping

from hardsim.lang.arith import Arith, Constant, Expression, Negation, Operation, Variable
from hardsim.lang.predicate import OwnPredicate
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PositionFunction, PredicateColumn
from hardsim.network.numbers import Mask
from hardsim.network.transformer import AttentionHead, Layer, LengthTable, SoftWeighting, Transformer
from hardsim.proving.rocq.conditions import LENGTH, VALUE, condition, multiple, operation
from hardsim.proving.rocq.surface import atoms_of
from hardsim.proving.rocq.syntax import applied, comment, integer, listed, matrix, not_covered, rational, truth

MASKS: Mapping[Mask, str] = {Mask.FUTURE: "Future", Mask.PAST: "Past", Mask.NONE: "Unmasked"}


@dataclass(frozen=True, slots=True)
class PowerProduct:
    """(-1)^i if it `alternates`, times a power of i and a power of n."""

    alternates: bool
    of_i: int
    of_n: int

    def __str__(self) -> str:
        return applied("Monomial", truth(self.alternates), integer(self.of_i), integer(self.of_n))

    def times(self, other: PowerProduct, power: int = 1) -> PowerProduct:
        """Return the product with a power of another one."""
        alternates = self.alternates != (other.alternates and power % 2 == 1)
        return PowerProduct(alternates, self.of_i + power * other.of_i, self.of_n + power * other.of_n)


NEUTRAL = PowerProduct(False, 0, 0)


def power_product(tree: Expression) -> PowerProduct | None:
    """Return an expression as a product of powers; None if it is not written as one."""
    match tree:
        case Constant(1):
            return NEUTRAL
        case Variable("i" | "n" as name):
            return PowerProduct(False, int(name == "i"), int(name == "n"))
        case Operation("^", Negation(Constant(1)), Variable("i")):
            return PowerProduct(True, 0, 0)
        case Operation("^", base, Constant(exponent)):
            found = power_product(base)
            return None if found is None else NEUTRAL.times(found, exponent)
        case Operation("*" | "/" as op, left, right):
            first, second = power_product(left), power_product(right)
            return None if first is None or second is None else first.times(second, 1 if op == "*" else -1)
    return None


def column_condition(column: PredicateColumn, users: Mapping[str, OwnPredicate]) -> str:
    """Return the condition on the position, and the length, of an encoding that is 1 where a predicate holds."""
    argument = multiple(column.of_i, VALUE, 0)
    if column.of_n:
        of_n = multiple(column.of_n, LENGTH, 0)
        argument = operation("+", argument, of_n) if column.of_i else of_n
    return condition(column.name, column.params, multiple(1, argument, column.offset), users)


def encoding_of(function: PositionFunction, users: Mapping[str, OwnPredicate]) -> str | PowerProduct:
    """Return a position encoding: the condition where it is 1, or its number. Raises InputError if the library does not
    have such encodings."""
    if isinstance(function, PredicateColumn):
        return column_condition(function, users)
    found = power_product(function.tree) if isinstance(function, Arith) else None
    if found is None:
        raise not_covered(f"the position encoding {function}")
    return found


def temperature_of(model: Transformer) -> PowerProduct:
    """Return the temperature. Raises InputError if it is not a product of powers of i and n."""
    tau = model.temperature
    found = None if isinstance(tau, LengthTable) else power_product(tau.tree)
    if found is None or found.alternates:
        raise not_covered(f"the temperature {tau} (--tau)")
    return found


def network_text(model: Transformer, users: Mapping[str, OwnPredicate]) -> str:
    """Return the definition of the network `N`, with the names of coordinates and heads in comments. Raises InputError,
    naming the part, if the library does not have a part of it."""
    if model.bos or model.threshold is not None:
        raise not_covered("a network with a beginning of sequence or a threshold")
    if model.weighting is not SoftWeighting.SOFTMAX:
        raise not_covered(f"{model.weighting} (--weighting)")
    atoms, over_letters = atoms_of(model.alphabet), truth(not isinstance(model.alphabet, Valuations))
    coordinates = ", ".join(f"{number} {name}" for number, name in enumerate(model.coordinates))
    encodings = []
    for place, function in model.encodings:
        made = encoding_of(function, users)
        encodings.append(f"({place}, {'Indicator' if isinstance(made, str) else 'Number'} {made})")
    layers = ";\n  ".join(_layer(layer, number, model) for number, layer in enumerate(model.layers, start=1))
    return "\n".join(
        [
            comment(f"Coordinates: {coordinates}."),
            f"Definition N : network := Network {len(atoms)} {over_letters}",
            f"  {matrix(model.embedding.entries)}",
            f"  {listed(encodings)}",
            f"  [{layers}]",
            f"  {model.output} {temperature_of(model)}.",
        ]
    )


def _layer(layer: Layer, number: int, model: Transformer) -> str:
    relus = [relu for unit in layer.ffn.units for relu in unit.relus]
    first = matrix((row, place, value) for row, relu in enumerate(relus) for place, value in relu.form)
    second = matrix(sorted((out, row, value) for row, relu in enumerate(relus) for out, value in relu.outs))
    biases = dict(layer.ffn.biases)
    heads = ";\n".join(
        f"{comment(f'layer {number}, head {head.name}', '    ')}\n    {_head(head)}" for head in layer.heads
    )
    return "\n".join(
        [
            "Layer [" + (f"\n{heads}" if heads else "") + "]",
            f"    {first}",
            f"    {listed(rational(relu.bias) for relu in relus)}",
            f"    {second}",
            f"    {listed(rational(biases.get(place, 0)) for place in range(model.dimension))}",
        ]
    )


def _head(head: AttentionHead) -> str:
    matrices = (matrix(one.entries) for one in (head.w_q, head.w_k, head.w_v))
    return " ".join(["Head", MASKS[head.mask], str(head.w_q.shape[0]), *matrices])
