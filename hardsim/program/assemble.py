"""Assemble a hard-attention program into a softmax transformer with the same scores: names become indices.

W_Q of a head is multiplied by beta, the inverse-temperature constant that the budget gives the head. Apart from that,
the matrices are the program's own linear forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from hardsim.kept import kept
from hardsim.lang.valuations import PropositionSymbols, Valuations
from hardsim.network.numbers import ONE, Rational
from hardsim.network.transformer import (
    AttentionHead,
    FeedForward,
    HiddenUnit,
    Layer,
    Matrix,
    Schedule,
    Terms,
    Transformer,
    rows_of,
)
from hardsim.program.budget import Budget
from hardsim.program.hard_attention import Affine, Program, ProgramLayer


@kept
def assemble(program: Program, sharpness: Budget | Schedule) -> Transformer:
    """Return the softmax transformer of a program.

    `sharpness` is a budget, which gives the temperature and each head's beta, or only a temperature (such as that of
    Theorem 26), with every beta 1.
    """
    names = program.coordinates
    index = {name: number for number, name in enumerate(names)}
    rows = rows_of(program.alphabet, program.bos)
    # The coordinate 1 is 1 at every position: through every row, or over sets of propositions through the last row,
    # which is added everywhere.
    constant = [len(rows) - 1] if isinstance(program.alphabet, Valuations) else range(len(rows))
    embedding: dict[tuple[int, int], Rational] = {(row, index[ONE]): 1 for row in constant if ONE in index}
    for letter in program.letters:
        for number, row in enumerate(rows):
            if row == letter.symbols.name if isinstance(letter.symbols, PropositionSymbols) else row in letter.symbols:
                place = number, index[letter.name]
                embedding[place] = embedding.get(place, 0) + letter.value
    layers: list[Layer] = []
    for layer in program.layers:
        heads: list[AttentionHead] = []
        for head in layer.heads:
            # beta multiplies the queries, so that the temperature stays one number for all heads.
            beta = sharpness.beta_of(head) if isinstance(sharpness, Budget) else Fraction(1)
            w_q = _forms([query.scaled(beta) for query, _ in head.score], index)
            w_k = _forms([key for _, key in head.score], index)
            values = {(index[out], index[name]): c for out, form in head.values for name, c in form.terms}
            w_v = Matrix.of(len(index), len(index), values)
            heads.append(AttentionHead(name=head.name, mask=head.mask, w_q=w_q, w_k=w_k, w_v=w_v))
        layers.append(Layer(tuple(heads), _ffn(layer, index), layer.norm_1, layer.norm_2))
    return Transformer(
        alphabet=program.alphabet,
        coordinates=names,
        embedding=Matrix.of(len(rows), len(names), embedding),
        encodings=tuple((index[encoding.name], encoding.value) for encoding in program.encodings),
        layers=tuple(layers),
        temperature=sharpness.temperature if isinstance(sharpness, Budget) else sharpness,
        output=index[program.output],
        bos=program.bos,
        threshold=program.threshold,
        reading=program.reading,
        weighting=program.weighting,
        rounding=program.rounding,
    )


def _forms(forms: Iterable[Affine], index: Mapping[str, int]) -> Matrix:
    """Return the matrix with one row per linear form."""
    rows = list(forms)
    entries = {(row, index[name]): value for row, form in enumerate(rows) for name, value in form.terms}
    return Matrix.of(len(rows), len(index), entries)


def _terms(terms: Iterable[tuple[str, Rational]], index: Mapping[str, int]) -> Terms:
    return tuple(sorted((index[name], value) for name, value in terms if value))


def _ffn(layer: ProgramLayer, index: Mapping[str, int]) -> FeedForward:
    """Return the feed-forward layer, with the same hidden units: a unit's constant term becomes its bias."""
    units: list[HiddenUnit] = []
    for unit in layer.units:
        form, outs = dict(unit.pre.terms), _terms(unit.outs, index)
        bias = form.pop(ONE, 0)
        cap = {ONE: 1} if unit.cap is None else dict(unit.cap.terms)
        cap_bias = cap.pop(ONE, 0)
        if outs:
            terms, most = _terms(form.items(), index), _terms(cap.items(), index)
            units.append(HiddenUnit(terms, bias, outs, unit.clip, most, cap_bias))
    return FeedForward(tuple(units), _terms(Affine.of(layer.biases).terms, index))
