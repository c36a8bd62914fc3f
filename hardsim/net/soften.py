"""From a hard-attention program to a softmax transformer with the same scores: where names become indices.

W_Q of a head is multiplied by beta, the inverse-temperature constant; apart from that the matrices are the
program's own forms.
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.net.model import AttentionHead, FeedForward, Layer, Matrix, Transformer
from hardsim.spec.ir import ONE, Affine, HardProgram, Head, ProgramLayer, Rational
from hardsim.theory.budget import Budget


def soften(program: HardProgram, budget: Budget) -> Transformer:
    """The softmax transformer of a program: the same forms as matrices, at the budget's beta and temperature."""
    names = program.coordinates
    index = {name: number for number, name in enumerate(names)}
    embedding: dict[tuple[int, int], Rational] = {}
    for row, symbol in enumerate(program.alphabet):
        embedding[row, index[ONE]] = 1
        for letter in program.letters:
            embedding[row, index[letter.name]] = int(symbol in letter.symbols)
    return Transformer(
        alphabet=program.alphabet,
        coordinates=names,
        embedding=Matrix.of(len(program.alphabet), len(names), embedding),
        encodings=tuple((index[encoding.name], encoding.value) for encoding in program.encodings),
        layers=tuple(_layer(layer, index, budget) for layer in program.layers),
        temperature=budget.temperature,
        output=index[program.output],
    )


def _layer(layer: ProgramLayer, index: dict[str, int], budget: Budget) -> Layer:
    return Layer(tuple(_head(head, index, budget.beta_of(head)) for head in layer.heads), _ffn(layer, index))


def _head(head: Head, index: dict[str, int], beta: Fraction) -> AttentionHead:
    d = len(index)
    return AttentionHead(
        name=head.name,
        mask=head.mask,
        w_q=_forms([query.scaled(beta) for query, _ in head.score], index),
        w_k=_forms([key for _, key in head.score], index),
        w_v=Matrix.of(d, d, {(index[head.out], index[name]): value for name, value in head.value.terms}),
    )


def _forms(forms: list[Affine], index: dict[str, int]) -> Matrix:
    """One row per linear form."""
    entries = {(row, index[name]): value for row, form in enumerate(forms) for name, value in form.terms}
    return Matrix.of(len(forms), len(index), entries)


def _ffn(layer: ProgramLayer, index: dict[str, int]) -> FeedForward:
    """Two hidden units per clip: `clip(z) = relu(z) - relu(z - 1)` (Lemma 9)."""
    d, m = len(index), 2 * len(layer.clips)
    w1: dict[tuple[int, int], Rational] = {}
    w2: dict[tuple[int, int], Rational] = {}
    b1: list[Rational] = [0] * m
    b2: list[Rational] = [0] * d
    for number, clip in enumerate(layer.clips):
        for unit, sign in ((2 * number, 1), (2 * number + 1, -1)):
            for name, value in clip.pre.terms:
                if name == ONE:
                    b1[unit] = value
                else:
                    w1[unit, index[name]] = value
            w2[index[clip.out], unit] = sign * clip.weight
        b1[2 * number + 1] -= 1
    for name in layer.ones:
        b2[index[name]] = 1
    return FeedForward(Matrix.of(m, d, w1), tuple(b1), Matrix.of(d, m, w2), tuple(b2))
