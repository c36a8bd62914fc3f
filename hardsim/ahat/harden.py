"""From the hard-attention program of a formula to a hard-attention model: the forms of the heads as matrices.

The same matrices as the softmax network's but for beta, which hard attention does not need.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hardsim.lang.arith import Arith, parse_arith
from hardsim.net.model import Matrix, Transformer
from hardsim.net.soften import soften
from hardsim.net.tables import LengthTable
from hardsim.spec.ir import HardProgram, Weighting, plain
from hardsim.theory.budget import Budget

HALF = Fraction(1, 2)


def harden(program: HardProgram, budget: Budget | None = None) -> Transformer:
    """The hard-attention model of a program, accepting where its output is above 1/2 (it is always 0 or 1).

    With a budget, the scores (and gaps) of a head are multiplied by its own beta over the budget's, so that softmax at
    1/beta of the regime's temperature is the compiled network.
    """
    network = soften(program, Budget(Fraction(1), program.temperature, fixed=True))
    layers = []
    for layer, declared in zip(network.layers, program.layers, strict=True):
        heads = []
        for head, source in zip(layer.heads, declared.heads, strict=True):
            factor = Fraction(1) if budget is None or source.uniform else budget.beta_of(source) / budget.beta
            heads.append(
                replace(
                    head,
                    w_q=scaled(head.w_q, factor),
                    weighting=source.weighting,
                    gap=source.promise if factor == 1 else parse_arith(f"{factor}*({source.promise})"),
                )
            )
        layers.append(replace(layer, heads=tuple(heads)))
    return replace(network, layers=tuple(layers), threshold=HALF)


def scaled(matrix: Matrix, factor: Fraction) -> Matrix:
    """A matrix times a number."""
    if factor == 1:
        return matrix
    entries = tuple((row, column, plain(value * factor)) for row, column, value in matrix.entries)
    return Matrix(matrix.shape, entries)


def with_softmax(model: Transformer, temperature: Arith | LengthTable) -> Transformer:
    """The same parameters with softmax at a temperature in place of hardmax (Theorem 26)."""
    layers = tuple(
        replace(layer, heads=tuple(replace(head, weighting=Weighting.SOFTMAX) for head in layer.heads))
        for layer in model.layers
    )
    return replace(model, layers=layers, temperature=temperature)
