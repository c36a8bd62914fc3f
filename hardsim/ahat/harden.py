"""From the hard-attention program of a formula to a hard-attention model: the forms of the heads as matrices.

The same matrices as the softmax network's but for beta, which hard attention does not need.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hardsim.lang.arith import Arith
from hardsim.net.model import Transformer
from hardsim.net.soften import soften
from hardsim.net.tables import LengthTable
from hardsim.spec.ir import HardProgram, Weighting
from hardsim.theory.budget import Budget

HALF = Fraction(1, 2)


def harden(program: HardProgram) -> Transformer:
    """The hard-attention model of a program, accepting where its output is above 1/2 (it is always 0 or 1)."""
    plain = soften(program, Budget(Fraction(1), program.temperature, fixed=True))
    layers = tuple(
        replace(
            layer,
            heads=tuple(
                replace(head, weighting=source.weighting, gap=source.promise)
                for head, source in zip(layer.heads, declared.heads, strict=True)
            ),
        )
        for layer, declared in zip(plain.layers, program.layers, strict=True)
    )
    return replace(plain, layers=layers, threshold=HALF)


def with_softmax(model: Transformer, temperature: Arith | LengthTable) -> Transformer:
    """The same parameters with softmax at a temperature in place of hardmax (Theorem 26)."""
    layers = tuple(
        replace(layer, heads=tuple(replace(head, weighting=Weighting.SOFTMAX) for head in layer.heads))
        for layer in model.layers
    )
    return replace(model, layers=layers, temperature=temperature)
