"""Random hard-attention models, and measured distances of their softmax counterparts from them, in balls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from random import Random

from flint import arb

from hardsim.hard.exact import HardTrace, Word
from hardsim.network.integers import Exact
from hardsim.network.transformer import AttentionHead
from hardsim.program.file import program_of
from hardsim.run.arithmetic import Column
from hardsim.sharpening.measure import LengthFacts
from tests.support.language import parse_arith
from tests.support.model import (
    BallArithmetic,
    ExactModel,
    FeedForward,
    Forward,
    Layer,
    LengthTable,
    Mask,
    Matrix,
    Program,
    Relus,
    Transformer,
    Weighting,
    assemble,
    measure,
)

LONGEST = 6
D = 4
"""Number of coordinates: a constant, the symbol, a position encoding, and one that starts at 0."""
BITS = 192
"""Precision of the balls. Weights and logits of these models lose a few tens of these bits."""
SMALL = [Fraction(k, 2) for k in (-3, -2, -1, 1, 2, 3)]
BIASES = [Fraction(0)] * 3 + [Fraction(1), Fraction(-1, 2)]
TAU = parse_arith("1", ("n",), "test")


def binary_words(n: int) -> list[tuple[str, ...]]:
    return list(product("ab", repeat=n))


def random_model(random: Random, tied: bool = False) -> Program:
    """Return a model of one to three layers of one or two heads.

    Unless `tied`, keys have a term that grows with the position, which often makes maxima unique. With `tied`, keys
    are made of symbols alone, which makes maxima shared.
    """
    bos = random.random() < 0.3
    encoding = random.choice(["i/n", "i", "(-1)^i/(i+1)", "1/(i+1)"])
    weightings: list[Weighting] = []
    layers = tuple(random_layer(random, number, bos, tied, weightings) for number in range(random.randint(1, 3)))
    symbols = {(0, 0): 1, (1, 0): 1, (0, 1): 1}
    if bos:
        symbols |= {(2, 0): 1, (2, 1): random.choice([-1, 0])}
    network = Transformer(
        alphabet=("a", "b"),
        coordinates=("1", "a", "place", "free"),
        embedding=Matrix.of(2 + bos, D, dict(symbols)),
        encodings=((2, parse_arith(encoding, ("i", "n"), "test")),),
        layers=layers,
        temperature=TAU,
        output=3,
        bos=bos,
        threshold=Fraction(1, 2),
    )
    return program_of(network, [(weighting, None) for weighting in weightings])


def random_layer(random: Random, number: int, bos: bool, tied: bool, weightings: list[Weighting]) -> Layer:
    """Return a layer; append the weightings of its heads to `weightings`."""
    found = [random_head(random, f"{number}.{k}", bos, tied) for k in range(random.randint(1, 2))]
    weightings += [weighting for _, weighting in found]
    return Layer(tuple(head for head, _ in found), random_ffn(random))


def random_head(random: Random, name: str, bos: bool, tied: bool) -> tuple[AttentionHead, Weighting]:
    mask = random.choice([mask for mask in Mask if bos or not mask.strict])
    value = {(random.randrange(D), random.randrange(1, D)): random.choice(SMALL) for _ in range(random.randint(1, 3))}
    w_v = Matrix.of(D, D, dict(value))
    weighting = (
        Weighting.AVERAGE if tied else random.choice([Weighting.AVERAGE, Weighting.LEFTMOST, Weighting.RIGHTMOST])
    )
    if random.random() < 0.3:
        return AttentionHead(name, mask, Matrix((0, D)), Matrix((0, D)), w_v), Weighting.AVERAGE
    query: dict[tuple[int, int], Fraction | int] = {(0, 0): random.choice([-1, 1])}
    key: dict[tuple[int, int], Fraction | int] = {(0, 1 if tied else 2): random.choice(SMALL)}
    if random.random() < 0.7:
        query[0, random.choice([1, 2, 3])] = random.choice(SMALL)
    if random.random() < 0.7:
        key[0, random.choice([1, 3])] = random.choice(SMALL)
    rows = 1
    if random.random() < 0.3:
        rows, query[1, random.randrange(D)], key[1, random.randrange(1, D)] = 2, random.choice(SMALL), 1
    return AttentionHead(name, mask, Matrix.of(rows, D, query), Matrix.of(rows, D, key), w_v), weighting


def random_ffn(random: Random) -> FeedForward:
    """Return up to two clips and two free hidden units."""
    w1: dict[tuple[int, int], Fraction | int] = {}
    w2: dict[tuple[int, int], Fraction | int] = {}
    b1: list[Fraction | int] = []
    for _ in range(random.randint(0, 2)):
        form = {random.randrange(1, D): random.choice([-4, -2, 2, 4]) for _ in range(random.randint(1, 2))}
        out, bias, weight = random.randrange(D), random.choice(SMALL), random.choice([-1, 1, 2])
        for unit in (len(b1), len(b1) + 1):
            w1 |= {(unit, column): value for column, value in form.items()}
        w2 |= {(out, len(b1)): weight, (out, len(b1) + 1): -weight}
        b1 += [bias, bias - 1]
    for _ in range(random.randint(0, 2)):
        w1 |= {(len(b1), random.randrange(D)): random.choice(SMALL) for _ in range(2)}
        w2 |= {(random.randrange(D), len(b1)): random.choice(SMALL)}
        b1.append(random.choice(SMALL))
    b2 = [random.choice(BIASES) for _ in range(D)]
    return Relus(Matrix.of(len(b1), D, w1), tuple(b1), Matrix.of(D, len(b1), w2), tuple(b2)).layer()


@dataclass(frozen=True)
class Measured:
    """The run of a hard model on all binary words of one length, with its measured facts."""

    words: Sequence[Word]
    trace: HardTrace
    facts: LengthFacts


def run_hard(model: Program, longest: int = LONGEST) -> list[Measured]:
    """Run a hard model on all binary words up to length `longest`, length by length."""
    exact, found = ExactModel(model), []
    for n in range(1, longest + 1):
        words = binary_words(n)
        trace = exact.run(words)
        found.append(Measured(words, trace, measure(model, words, trace)))
    return found


def tieless(lengths: Sequence[Measured]) -> bool:
    """Return True if every head that is not uniform has one maximum in every row of every word."""
    return all(head.most == [1] * len(head.most) for length in lengths for head in length.facts.heads.values())


def unique(model: Program) -> Program:
    """Return the model with heads renamed by layer, since names in a file must be unique."""
    layers = tuple(
        replace(layer, heads=tuple(replace(head, name=f"{number}.{head.name}") for head in layer.heads))
        for number, layer in enumerate(model.layers)
    )
    return replace(model, layers=layers)


def models(
    count: int, seed: int, tied: bool, expected: Callable[[Sequence[Measured]], bool]
) -> list[tuple[Program, list[Measured]]]:
    """Return the first `count` random models that fulfil `expected` and have at least one head with scores."""
    random = Random(seed)
    found: list[tuple[Program, list[Measured]]] = []
    while len(found) < count:
        model = random_model(random, tied)
        if all(head.uniform for head in model.heads):
            continue
        lengths = run_hard(model)
        if expected(lengths):
            found.append((model, lengths))
    return found


Errors = list[tuple[dict[str, arb], dict[str, arb]]]
"""By layer, after attention and at its end: for each coordinate a ball of the largest |soft - hard|."""


def soft_errors(model: Program, taus: Sequence[Fraction], lengths: Sequence[Measured]) -> list[Errors]:
    """Return, length by length, the largest distances of the softmax activations from the hard ones.

    The balls must be read in the precision that made them; only their ends (`lower`, `upper`) do not depend on it.
    """
    arithmetic = BallArithmetic(BITS)
    forward = Forward(assemble(model, LengthTable(tuple(taus))), arithmetic)
    found: list[Errors] = []
    with arithmetic.precision():
        for length in lengths:
            zeros = dict.fromkeys(model.coordinates, arb(0))
            errors: Errors = [(dict(zeros), dict(zeros)) for _ in model.layers]
            for index, word in enumerate(length.words):
                trace = forward.run(word)
                for layer, hard, (attended, final) in zip(trace.layers, length.trace.layers, errors, strict=True):
                    for d, name in enumerate(model.coordinates):
                        attended[name] = farther(attended[name], layer[0][d], hard.attended[name], index, arithmetic)
                        final[name] = farther(final[name], layer[1][d], hard.columns[name], index, arithmetic)
            found.append(errors)
    return found


def farther(known: arb, soft: Column, hard: Exact, word: int, arithmetic: BallArithmetic) -> arb:
    """Return the larger of a known distance and the distances of a soft column from the hard one on a word."""
    expected = hard.values(word)
    if soft.exact and soft.values == expected:
        return known
    for value, target in zip(soft.values, expected, strict=True):
        if isinstance(value, int | Fraction):
            if value != target:
                known = known.max(arithmetic.number(abs(Fraction(value) - target)))
        else:
            known = known.max(abs(value - arithmetic.number(target)))
    return known


def one_head(
    query: Sequence[int], key: Sequence[int], mask: Mask, weighting: Weighting, gap: str | None = None
) -> Program:
    """Return a model of one head without a feed-forward network; its encoding is the position itself.

    Coordinates are those of D. `query` and `key` name a coordinate for each row of W_Q and W_K. The value is [a],
    added to the last coordinate.
    """
    w_q = Matrix.of(len(query), D, dict.fromkeys(enumerate(query), 1))
    w_k = Matrix.of(len(key), D, dict.fromkeys(enumerate(key), 1))
    declared = None if gap is None else parse_arith(gap)
    head = AttentionHead("h", mask, w_q, w_k, Matrix.of(D, D, {(3, 1): 1}))
    network = Transformer(
        alphabet=("a", "b"),
        coordinates=("1", "a", "place", "free"),
        embedding=Matrix.of(2, D, {(0, 0): 1, (1, 0): 1, (0, 1): 1}),
        encodings=((2, parse_arith("i")),),
        layers=(Layer((head,), FeedForward()),),
        temperature=parse_arith("1"),
        output=3,
        threshold=Fraction(1, 2),
    )
    return program_of(network, [(weighting, declared)])
