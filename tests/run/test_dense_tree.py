"""Certified float64 over the tree of prefixes, compared with balls and with the run of each word by itself."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import inf
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from hardsim.lang.arith import parse_arith
from hardsim.run import dense_tree
from hardsim.run.dense_exact import DenseForward
from hardsim.run.dense_float import DenseFloat
from hardsim.run.dense_tree import PrefixTree, SharedFloat, shares_prefixes
from tests.support.dense_networks import Shape, made
from tests.support.model import Activation, BallArithmetic, Mask, Network

BITS = 300


def words_of(m: int, symbols: int = 2) -> Any:
    """Return all words of m symbols, in their order, as token ids."""
    return np.array(list(product(range(symbols), repeat=m)))


def shared(network: Network, tokens: Any, places: Any = slice(None)) -> Any:
    """Run words over their tree, and fail if they are run one by one."""
    engine = SharedFloat(network)

    def never(*_: Any) -> Any:
        pytest.fail("the words were run one by one")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.floats, "run", never)
        return engine.run(tokens.shape[1], tokens, places)


def held(network: Network, m: int = 4, fine: bool | None = None) -> float:
    """Compare the outputs at all positions of all words with balls, and their bounds with those of whole words; return
    the largest radius."""
    tokens = words_of(m)
    mid, rad = shared(network, tokens)
    _, whole = DenseFloat(network, fine).run(m, tokens, slice(None))
    assert (rad <= whole * (1 + 1e-6)).all()
    exact = DenseForward(network, BallArithmetic(BITS))
    with ctx.workprec(BITS):
        for word, rows in enumerate(exact.run(m, row, range(m)) for row in tokens.tolist()):
            for place, out in product(range(m), range(len(network.outputs))):
                error = abs(rows[place][out] - arb(mid[word, place, out].item())).lower()
                assert float(error) <= rad[word, place, out]
    return float(rad.max())


KINDS: Any = list(product(Activation, ("layer", "rms", None), (False, True), (1, 2, 3)))


def hold_of_kinds(fine: bool, start: int, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check some of the KINDS, with or without bounds of single coordinates."""
    monkeypatch.setattr(dense_tree, "DenseFloat", lambda network, **_: DenseFloat(network, fine))
    for seed, (activation, norm, post, layers) in list(enumerate(KINDS))[start::step]:
        shape = Shape(activation=activation, norm=norm, post=post, layers=layers, heads=1 + seed % 3)
        assert held(made(shape, seed, biases=seed % 4 > 0, fractions=seed % 5 == 0), 4, fine) < inf


@pytest.mark.parametrize("fine", [False, True])
def test_enclosures_hold(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    hold_of_kinds(fine, int(fine), 9, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("fine", [False, True])
def test_enclosures_hold_of_every_kind(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    hold_of_kinds(fine, 0, 1, monkeypatch)


@pytest.mark.parametrize(
    "shape",
    [
        Shape(layers=0),
        Shape(heads=0),
        Shape(heads=0, biases=False),
        Shape(mlp=0),
        Shape(rows=None),
        Shape(d=1, k=1, mlp=1),
        Shape(cold=30),
    ],
)
def test_edges(shape: Shape) -> None:
    assert held(made(shape)) < inf


def test_only_as_many_words_are_kept_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words in several batches, and prefixes in several parts of a batch, have the same outputs."""
    network, tokens = made(layers=2), words_of(7)
    mid, rad = shared(network, tokens)
    monkeypatch.setattr(dense_tree, "KEPT_NUMBERS", 3_000)
    monkeypatch.setattr(dense_tree, "MOST_TOGETHER", 5)
    parts, off = shared(network, tokens)
    assert (np.abs(parts - mid) <= rad + off).all()
    np.testing.assert_allclose(off, rad, rtol=1e-6)


@pytest.mark.parametrize("block", [1, 3, 8])
def test_long_words_are_those_of_single_runs(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All words of 19 symbols with at most two ones: their keys are kept in several blocks and single ones."""
    monkeypatch.setattr(dense_tree, "BLOCK", block)
    monkeypatch.setattr(dense_tree, "CACHED", 999)
    words = np.zeros((191, 19), dtype=np.int64)
    for row, ones in enumerate([some for count in range(3) for some in combinations(range(19), count)]):
        words[row, list(ones)] = 1
    words = words[np.lexsort(words.T[::-1])]
    network = made(layers=2)
    mid, rad = shared(network, words)
    own, off = DenseFloat(network).run(19, words, slice(None))
    assert (np.abs(own - mid) <= rad + off).all()
    assert (rad <= off * (1 + 1e-6)).all()
    assert np.abs(own - mid).max() < 1e-9


def test_outputs_that_are_not_known_have_infinite_radii() -> None:
    network = made(size=1e200, dtype=np.float64)
    mid, rad = shared(network, words_of(4))
    assert (rad == inf).any()
    assert (mid[rad == inf] == 0).all()


@pytest.mark.parametrize(("mask", "last", "expected"), [
    (Mask.FUTURE, False, True),
    (Mask.FUTURE, True, True),
    (Mask.NONE, False, False),
    (Mask.NONE, True, False),
    (Mask.PAST, True, False),
])  # fmt: skip
def test_what_shares_prefixes(mask: Mask, last: bool, expected: bool) -> None:
    assert shares_prefixes(made(mask=mask, layers=2), last) is expected


def test_the_last_layer_may_see_all_tokens_where_the_last_one_is_read() -> None:
    network = made(mask=Mask.NONE, layers=2)
    first = made(layers=2).layers[0]
    network = replace(network, layers=(first, network.layers[1]))
    assert shares_prefixes(network, last=True)
    assert not shares_prefixes(network, last=False)
    tokens = words_of(6)
    mid, rad = shared(network, tokens, [5])
    own, off = DenseFloat(network).run(6, tokens, [5])
    assert (np.abs(own - mid) <= rad + off).all()


@pytest.mark.parametrize("mask", [Mask.NONE, Mask.PAST])
def test_other_networks_run_word_by_word(mask: Mask) -> None:
    network, tokens = made(mask=mask), words_of(5)
    found, own = SharedFloat(network).run(5, tokens, slice(None)), DenseFloat(network).run(5, tokens, slice(None))
    for one, two in zip(found, own, strict=True):
        np.testing.assert_array_equal(one, two)


def test_words_that_share_nothing_run_word_by_word() -> None:
    network, tokens = made(), np.random.default_rng(0).permutation(words_of(5))
    found, own = SharedFloat(network).run(5, tokens, [4]), DenseFloat(network).run(5, tokens, [4])
    np.testing.assert_array_equal(found[0], own[0])


def test_encodings_of_the_length_are_those_of_the_words() -> None:
    """The positions of a word may be encoded by its length, if all words have the same one."""
    network = replace(made(), positions=((0, parse_arith("i/n", ("i", "n"), "test")),))
    assert held(network) < 1e-4


def test_a_lower_stack_drops_prefixes() -> None:
    network = made(layers=2, rows=8)
    engine = DenseFloat(network)
    tree = PrefixTree(engine, engine.encoding(8))
    one = tree.extended(tree.root, np.array([0]), np.array([1]))
    height = tree.used
    first = tree.outputs(tree.extended(one, np.array([0, 0]), np.array([0, 1])))
    tree.used = height
    tree.extended(one, np.zeros(9, dtype=np.int64), np.full(9, 2))
    tree.used = height
    again = tree.outputs(tree.extended(one, np.array([0, 0]), np.array([0, 1])), np.array([1]))
    np.testing.assert_allclose(first[0][1:], again[0], rtol=1e-9)


def test_scaled_embeddings_and_sparse_networks() -> None:
    sparse = made(seed=1, fractions=True, epsilon=Fraction(1, 7))
    layers = tuple(replace(layer, mlp=None) for layer in sparse.layers)
    assert held(replace(sparse, layers=layers)) < 1e-4
