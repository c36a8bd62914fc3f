"""Random networks, and a dense forward pass written from the definition with which every engine is compared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from hypothesis import strategies as st

from hardsim.lang.reals import RealNumber
from hardsim.network.columns import real_value
from hardsim.network.transformer import AttentionHead
from hardsim.program.file import program_of
from tests.support.language import Arith, parse_arith
from tests.support.model import (
    FeedForward,
    Forward,
    HiddenUnit,
    Layer,
    Mask,
    Matrix,
    MpArithmetic,
    Program,
    Rational,
    Relus,
    Transformer,
    Weighting,
)
from tests.support.reals import context as context
from tests.support.reals import mp_value

ALPHABET = ("a", "b", "c")
D = 5
"""Number of coordinates. It differs from the numbers of symbols, key rows (2) and hidden units (7 at most), so that a
transposed matrix cannot pass.
"""


def mp_forward(model: Transformer, dps: int) -> Forward[Any]:
    """Return a forward pass of the network in mpmath, with `dps` digits."""
    return Forward(model, MpArithmetic(dps))


def number(value: RealNumber) -> Any:
    """Convert a real number to mpmath."""
    return mp_value(value)


def fraction(value: Any) -> Fraction:
    """Return the rational that an mpmath number is."""
    mantissa, exponent = (int(part) for part in value.man_exp)
    size = mantissa * Fraction(2, 1) ** exponent
    return -size if value < 0 else size


def softmax(logits: Sequence[Fraction]) -> list[Any]:
    """Return softmax by its definition, at 60 digits."""
    weights = [context.exp(number(x - max(logits))) for x in logits]
    total = context.fsum(weights)
    return [weight / total for weight in weights]


def dense_forward(model: Transformer, word: Sequence[str]) -> list[list[Any]]:
    """Return the final activations by Section 3.1 of the paper, entry by entry.

    The shape is n x d, or n + 1 x d with a beginning of sequence.
    """
    n, size = len(word), len(word) + model.bos
    start = 0 if model.bos else 1
    embedding = model.embedding.dense()
    symbols = [len(ALPHABET)] * model.bos + [model.alphabet.index(symbol) for symbol in word]
    x = [[number(value) for value in embedding[symbol]] for symbol in symbols]
    for index, encoding in model.encodings:
        for i in range(size):
            x[i][index] += number(real_value(encoding, i + start, n))

    def times(matrix: Matrix, vector: list[Any]) -> list[Any]:
        return [context.fsum(number(a) * b for a, b in zip(row, vector, strict=True)) for row in matrix.dense()]

    for layer in model.layers:
        c = [list(row) for row in x]
        for head in layer.heads:
            queries, keys = [times(head.w_q, row) for row in x], [times(head.w_k, row) for row in x]
            values = [times(head.w_v, row) for row in x]
            for i in range(size):
                inverse = number(model.inverse_temperature(i + start, n))
                seen = [j for j in range(size) if visible(head.mask, i, j) or (model.bos and j == 0)]
                weights = [
                    context.exp(inverse * context.fsum(a * b for a, b in zip(queries[i], keys[j], strict=True)))
                    for j in seen
                ]
                for index in range(model.dimension):
                    top = context.fsum(w * values[j][index] for w, j in zip(weights, seen, strict=True))
                    c[i][index] += top / context.fsum(weights)
        x, relus = [], Relus.of(layer.ffn, model.dimension)
        for row in (normalized(row, layer.norm_1) for row in c):
            hidden = [max(z + number(b), 0) for z, b in zip(times(relus.w1, row), relus.b1, strict=True)]
            out = times(relus.w2, hidden)
            total = [a + b + number(bias) for a, b, bias in zip(row, out, relus.b2, strict=True)]
            x.append(normalized(total, layer.norm_2))
    return x


def normalized(row: list[Any], epsilon: Fraction | None) -> list[Any]:
    """Return LayerNorm by its definition, or the row without a norm. Raises ZeroDivisionError where it divides by 0, or
    by so small a number that its digits are lost."""
    if epsilon is None:
        return row
    mean = context.fsum(row) / len(row)
    variance = context.fsum((value - mean) ** 2 for value in row) / len(row)
    if variance + number(epsilon) < context.mpf(10) ** -40:
        raise ZeroDivisionError
    return [(value - mean) / context.sqrt(variance + number(epsilon)) for value in row]


def put(matrix: Matrix, row: int, column: int, value: Rational) -> Matrix:
    """Return a matrix with one entry replaced."""
    return Matrix.of(*matrix.shape, {**{(r, c): v for r, c, v in matrix.entries}, (row, column): value})


def scaled(matrix: Matrix, factor: Rational) -> Matrix:
    return Matrix.of(*matrix.shape, {(row, column): value * factor for row, column, value in matrix.entries})


def edited_head(model: Transformer, number: int, **changes: Any) -> Transformer:
    """Return a network with changed attributes of one head; `number` is its index in `model.heads`."""
    head = model.heads[number]
    layers = (replace(layer, heads=tuple(replace(one, **changes) if one is head else one for one in layer.heads))
              for layer in model.layers)  # fmt: skip
    return replace(model, layers=tuple(layers))


@dataclass(frozen=True)
class HardNetwork:
    """Hard attention as matrices: a network, and the weighting and the declared gap of each of its heads in order."""

    network: Transformer
    heads: tuple[tuple[Weighting, Arith | None], ...]

    @cached_property
    def program(self) -> Program:
        """The model as a program whose forms use the names of the coordinates, in the same order."""
        return program_of(self.network, list(self.heads))


@dataclass
class HardLayer:
    """A layer by the definition, position by position.

    It has the residual stream after attention and at the end, and for every head the visible scores of each query by
    key index, and the value at each key.
    """

    attended: list[list[Fraction]]
    final: list[list[Fraction]]
    scores: dict[str, list[dict[int, Fraction]]]
    carried: dict[str, list[list[Fraction]]]


def dense_hard(hard: HardNetwork, word: Sequence[str]) -> list[HardLayer]:
    """Run hard attention entry by entry, in rationals: the counterpart of `dense_forward`."""
    model, weightings = hard.network, iter(hard.heads)
    n, size, start = len(word), len(word) + model.bos, 0 if model.bos else 1
    embedding = model.embedding.dense()
    symbols = [len(model.alphabet)] * model.bos + [model.alphabet.index(symbol) for symbol in word]
    x = [[Fraction(value) for value in embedding[symbol]] for symbol in symbols]
    for index, encoding in model.encodings:
        for i in range(size):
            x[i][index] += encoding.evaluate(i=i + start, n=n)

    def times(matrix: Matrix, vector: list[Fraction]) -> list[Fraction]:
        return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix.dense()]

    layers = []
    for layer in model.layers:
        c = [list(row) for row in x]
        scores: dict[str, list[dict[int, Fraction]]] = {}
        carried = {head.name: [times(head.w_v, vector) for vector in x] for head in layer.heads}
        for head in layer.heads:
            scores[head.name] = []
            weighting, _ = next(weightings)
            for i in range(size):
                query = times(head.w_q, x[i])
                seen = [j for j in range(size) if visible(head.mask, i, j) or (model.bos and j == 0)]
                row = {
                    j: sum((a * b for a, b in zip(query, times(head.w_k, x[j]), strict=True)), Fraction(0))
                    for j in seen
                }
                best = [j for j in seen if row[j] == max(row.values())]
                chosen = {Weighting.LEFTMOST: best[:1], Weighting.RIGHTMOST: best[-1:]}.get(weighting, best)
                for j in chosen:
                    c[i] = [a + b / len(chosen) for a, b in zip(c[i], times(head.w_v, x[j]), strict=True)]
                scores[head.name].append(row)
        x, relus = [], Relus.of(layer.ffn, model.dimension)
        for vector in c:
            hidden = [max(z + b, Fraction(0)) for z, b in zip(times(relus.w1, vector), relus.b1, strict=True)]
            out = times(relus.w2, hidden)
            x.append([a + b + bias for a, b, bias in zip(vector, out, relus.b2, strict=True)])
        layers.append(HardLayer(c, x, scores, carried))
    return layers


def visible(mask: Mask, i: int, j: int) -> bool:
    return {
        Mask.NONE: True,
        Mask.FUTURE: j <= i,
        Mask.PAST: j >= i,
        Mask.STRICT_FUTURE: j < i,
        Mask.STRICT_PAST: j > i,
    }[mask]


READINGS: tuple[Literal["first", "last"], ...] = ("first", "last")
RATIONALS = st.sampled_from([Fraction(k, 2) for k in range(-3, 4)])


def matrices(rows: int, columns: int) -> st.SearchStrategy[Matrix]:
    places = st.tuples(st.integers(0, max(rows - 1, 0)), st.integers(0, columns - 1))
    filled = st.dictionaries(places, RATIONALS, max_size=6 if rows and columns else 0)
    return filled.map(lambda entries: Matrix.of(rows, columns, dict(entries)))


@st.composite
def relus(draw: st.DrawFn) -> Relus:
    """Draw free hidden units, and sometimes a clip `relu(z) - relu(z - 1)` among them."""
    m = draw(st.sampled_from([0, 3, 7]))
    w1, w2 = draw(matrices(m, D)), draw(matrices(D, m)) if m else Matrix((D, 0))
    b1 = [draw(RATIONALS) for _ in range(m)]
    if m and draw(st.booleans()):
        one = {(row, column): value for row, column, value in w1.entries if row > 1}
        one |= {(unit, column): value for unit in (0, 1) for column, value in w1.rows()[0].items()}
        two = {(row, column): value for row, column, value in w2.entries if column > 1}
        two |= {(4, 0): Fraction(2), (4, 1): Fraction(-2)}
        b1[1] = b1[0] - 1
        w1, w2 = Matrix.of(m, D, one), Matrix.of(D, m, two)
    return Relus(w1, tuple(b1), w2, tuple(draw(st.lists(RATIONALS, min_size=D, max_size=D))))


HARD = (Weighting.AVERAGE, Weighting.LEFTMOST, Weighting.RIGHTMOST)


@st.composite
def transformers(draw: st.DrawFn, bos: bool | None = None) -> Transformer:
    """Draw random networks; `bos` chooses whether they have a beginning of sequence (None: some have)."""
    bos = draw(st.booleans()) if bos is None else bos
    heads = st.builds(
        AttentionHead,
        st.sampled_from(["h", "k"]),
        st.sampled_from([mask for mask in Mask if bos or not mask.strict]),
        matrices(2, D),
        matrices(2, D),
        matrices(D, D),
    )
    some = st.lists(heads, max_size=2, unique_by=lambda head: head.name).map(tuple)
    layers = st.builds(Layer, some, relus().map(Relus.layer))
    encodings = draw(
        st.lists(st.tuples(st.integers(0, D - 1), st.sampled_from(["i/n", "(-1)^i", "1/(i+1)", "n"])), max_size=2)
    )
    return Transformer(
        alphabet=ALPHABET,
        coordinates=tuple("vwxyz"),
        embedding=draw(matrices(3 + bos, D)),
        encodings=tuple((index, parse_arith(text, ("i", "n"), "test")) for index, text in encodings),
        layers=tuple(draw(st.lists(layers, min_size=1, max_size=3))),
        temperature=parse_arith(draw(st.sampled_from(["1", "1/n", "1/(i+1)"])), ("i", "n"), "test"),
        output=0,
        bos=bos,
    )


@st.composite
def hard_transformers(draw: st.DrawFn) -> HardNetwork:
    """Draw hard-attention models with small numbers, so that scores are often tied."""
    model = replace(draw(transformers()), threshold=draw(RATIONALS), reading=draw(st.sampled_from(READINGS)))
    return HardNetwork(model, tuple((draw(st.sampled_from(HARD)), None) for _ in model.heads))


EXTREME = st.sampled_from(
    [
        *(sign * (Fraction(2) ** power + off) for sign in (1, -1) for power in (53, 60) for off in (-1, 0, 1)),
        *(sign * Fraction(10) ** power for sign in (1, -1) for power in (-400, -330, -300, 155, 300, 308, 400)),
        *(Fraction(2) ** power for power in (-1075, -1074, -1022, -700, 700, 1023)),
        Fraction(17, 10) * 10**308,
        Fraction(1, 3),
    ]
)
"""Rationals at and beyond the ends of float64."""
TEMPERATURES = ("1", "1/n", "1/10^302", "1/10^400", "10^307", "2^700", "1/2^1060", "2^1023")


@st.composite
def hostile_transformers(draw: st.DrawFn, bos: bool | None = None) -> Transformer:
    """Draw random networks in which some numbers are extreme."""
    model = draw(transformers(bos=bos))

    def number(value: int | Fraction) -> int | Fraction:
        return draw(EXTREME) if draw(st.integers(0, 5)) == 0 else value

    def matrix(old: Matrix) -> Matrix:
        return Matrix(old.shape, tuple((row, column, number(value)) for row, column, value in old.entries))

    layers = []
    for layer in model.layers:
        heads = tuple(
            replace(head, w_q=matrix(head.w_q), w_k=matrix(head.w_k), w_v=matrix(head.w_v)) for head in layer.heads
        )
        old = Relus.of(layer.ffn, D)
        b1, b2 = (tuple(number(bias) for bias in part) for part in (old.b1, old.b2))
        # The weights are unchanged, so that some pairs stay clips.
        layers.append(Layer(heads, Relus(matrix(old.w1), b1, old.w2, b2).layer()))
    extra = draw(st.sampled_from(["3^(10*i)", "2^(60*i)", "10^300*i", "i*[i<3]", "1-[i=2]"]))
    return replace(
        model,
        embedding=matrix(model.embedding),
        encodings=(*model.encodings, (draw(st.integers(0, D - 1)), parse_arith(extra, ("i", "n"), "test"))),
        layers=tuple(layers),
        temperature=parse_arith(draw(st.sampled_from(TEMPERATURES)), ("i", "n"), "test"),
    )


def one_head(temperature: str = "1") -> Transformer:
    """Return a network in which position i attends to its past by the score 3 i j; the value is [a]."""
    head = AttentionHead(
        "h", Mask.FUTURE, Matrix.of(1, 4, {(0, 1): 3}), Matrix.of(1, 4, {(0, 1): 1}), Matrix.of(4, 4, {(2, 0): 1})
    )
    ffn = FeedForward((HiddenUnit(((2, 2),), Fraction(-1, 2), ((3, 1),), clip=True),))
    position = (1, parse_arith("i", ("i", "n"), "test"))
    tau = parse_arith(temperature, ("i", "n"), "test")
    embedding = Matrix.of(2, 4, {(0, 0): 1})
    return Transformer(("a", "b"), ("[a]", "i", "read", "out"), embedding, (position,), (Layer((head,), ffn),), tau, 3)


def clipped_at(threshold: Fraction, temperature: str = "1") -> Transformer:
    """Return the network of `one_head` followed by the clip `2 (x - threshold)`."""
    model = one_head(temperature)
    layer = model.layers[0]
    (clip,) = layer.ffn.units
    return replace(model, layers=(Layer(layer.heads, FeedForward((replace(clip, bias=-2 * threshold),))),))
