"""Tests of the patterns of heads, on heads built to show them. Logits are x A y for vectors x of the query and y of the
key, each the one-hot token and the one-hot position.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from hardsim.campaign.given import GivenWords
from hardsim.measuring import head_patterns
from hardsim.measuring.head_patterns import (
    AFTER,
    AT_OR_AFTER,
    AT_OR_BEFORE,
    BEFORE,
    FIRST,
    FIRST_SYMBOL,
    ITSELF,
    LAST,
    NEAREST,
    NEXT,
    NONE,
    PREVIOUS,
    UNIFORM,
    HeadPattern,
    HeadsResult,
    evidence,
    heads_of,
    nearest,
)
from hardsim.network.dense import NetworkHead, NetworkLayer
from hardsim.report.head_tables import pattern_text, share_text
from hardsim.run import dense_balls
from hardsim.run.ball import BallArithmetic
from hardsim.run.dense_exact import DenseForward
from hardsim.run.dense_float import DenseFloat
from tests.support.check import CheckOptions, External
from tests.support.dense_networks import Shape
from tests.support.dense_networks import made as dense
from tests.support.language import OutOfRange, Undecided
from tests.support.mistakes import raised
from tests.support.model import Mask, Network, Norm, Readout, RootScale

ROWS = 6
"""Number of rows in the table of positions."""
Score = Callable[[int, str, int, str], float]
"""A function that gives the logit from the query's position, its token, the key's position, and its token.

It must be a sum of functions of one of the first two arguments and one of the last two.
"""


def bilinear(score: Score, tokens: Sequence[str]) -> Any:
    """Return the matrix A of a score."""
    size = len(tokens) + ROWS
    found = np.zeros((size, size))
    for q, k in product(range(size), repeat=2):
        asks = (-1, tokens[q]) if q < len(tokens) else (q - len(tokens), "")
        seen = (-1, tokens[k]) if k < len(tokens) else (k - len(tokens), "")
        found[q, k] = score(*asks, *seen)
    return found


def head(matrix: Any, mask: Mask = Mask.FUTURE) -> NetworkHead:
    """Build a head with these logits that adds nothing."""
    size = len(matrix)
    nothing = np.zeros((size, 1))
    return NetworkHead("made", mask, RootScale(), matrix, np.eye(size), nothing, nothing.T)


def network(*layers: Sequence[NetworkHead], tokens: Sequence[str] = "ab", bos: bool = False, **more: Any) -> Network:
    """Build a network of such heads."""
    size = len(tokens) + ROWS
    place = np.eye(size)
    norm = more.pop("norm", None)
    return Network(
        tokens=tuple(tokens),
        embedding=place[: len(tokens)],
        positions=more.pop("positions", place[len(tokens) :]),
        layers=tuple(NetworkLayer(tuple(some), None, norm_1=norm) for some in layers),
        final=None,
        unembedding=np.zeros((size, 1)),
        unembedding_bias=None,
        outputs=("o",),
        readout=Readout(before=("$",) if bos else ()),
    )


def found_of(
    made: Network, max_n: int = 4, words: Iterable[tuple[str, ...]] | None = None, **options: Any
) -> HeadsResult:
    """Return the result of `heads` for a network, on the words given or on those that it chooses."""
    subject = External(name="net", sha256="0" * 64, alphabet=made.symbols, title="", network=made)
    given = None if words is None else GivenWords.of(words)
    return heads_of(subject, CheckOptions(max_n, words=given, **options))


def only(made: Network, max_n: int = 4, **options: Any) -> HeadPattern:
    """Return the pattern of a network's only head."""
    (found,) = found_of(made, max_n, **options).heads
    return found


def queries_upto(max_n: int, symbols: int = 2, before: int = 0, mask: Mask = Mask.FUTURE) -> int:
    """Count the queries that see at least two positions: without a mask all of them, except in words of one token, else
    all but one of each word.
    """
    sizes = [(symbols**n, n + before) for n in range(1, max_n + 1)]
    return sum(words * ((m if m > 1 else 0) if mask is Mask.NONE else m - 1) for words, m in sizes)


# ---- positions ----


def at_position(place: Callable[[int], int], height: float = 10) -> Score:
    """Return a score that selects one position."""
    return lambda q, t, k, u: height * (q >= 0 and k >= 0 and k == place(q))


PLACES: list[tuple[str, Mask, Callable[[int], int]]] = [
    (ITSELF, Mask.FUTURE, lambda q: q),
    (ITSELF, Mask.NONE, lambda q: q),
    (ITSELF, Mask.PAST, lambda q: q),
    (PREVIOUS, Mask.FUTURE, lambda q: q - 1),
    (PREVIOUS, Mask.NONE, lambda q: max(q - 1, 0)),
    (FIRST, Mask.FUTURE, lambda q: 0),
    (FIRST, Mask.NONE, lambda q: 0),
    (NEXT, Mask.PAST, lambda q: q + 1),
]


@pytest.mark.parametrize(("pattern", "mask", "place"), PLACES)
def test_a_position_is_found(pattern: str, mask: Mask, place: Callable[[int], int]) -> None:
    """In words of up to 4 symbols, at most 3 other logits, all 0, compete with the largest, 10."""
    found = only(network([head(bilinear(at_position(place), "ab"), mask)]))
    assert (found.pattern, found.always, found.ties, found.tokens) == (pattern, True, 0, None)
    assert found.queries == found.holds == queries_upto(4, mask=mask)
    assert found.gap is not None
    assert found.weight is not None
    assert 0 <= 10 - found.gap.value < Fraction(1, 10**12)
    weight = 1 / (1 + 3 * exp(-10))
    assert 0 <= weight - found.weight.value < 1e-12
    assert len(found.weight.word) == 4
    assert (found.tie, found.exact_ties) == (None, 0)


def test_where_there_is_no_next_position_the_first_one_counts() -> None:
    """Words have 4 symbols, so that position 3 is the last; from it the head looks at position 0, or at 1."""
    for place, always in ((0, True), (1, False)):
        score = at_position(lambda q, place=place: q + 1 if q < 3 else place)  # type: ignore[misc]  # of the default
        found = only(network([head(bilinear(score, "ab"), Mask.NONE)]), words=(tuple("abab"), tuple("abba")))
        assert (found.pattern, found.queries, found.holds) == (NEXT, 8, 8 if always else 6)
        assert found.always is always


def test_the_last_position_is_found() -> None:
    made = network([head(bilinear(lambda q, t, k, u: 2.0 * k if k >= 0 and t else 0.0, "ab"), Mask.NONE)])
    found = only(made)
    assert (found.pattern, found.always, found.queries) == (LAST, True, queries_upto(4, mask=Mask.NONE))


def test_the_first_symbol_is_not_the_first_position() -> None:
    score = at_position(lambda q: 1)
    found = only(network([head(bilinear(score, "ab$"))], tokens="ab$", bos=True))
    # The beginning of sequence sees only itself.
    assert (found.pattern, found.always, found.queries) == (FIRST_SYMBOL, True, queries_upto(4, before=1))
    assert only(network([head(bilinear(score, "ab"))])).pattern == NONE


def test_a_share_is_counted() -> None:
    """At an a the head looks at the first position, at a b at the second.

    In words of three symbols the queries at positions 1 and 2 count, and at position 1 the second position is itself.
    """
    score = lambda q, t, k, u: 5.0 * (k >= 0 and k == {"a": 0, "b": 1}.get(t, -2))  # noqa: E731
    words = [tuple(word) for word in ("aaa", "aab", "aba", "aaa")]
    found = only(network([head(bilinear(score, "ab"))]), words=tuple(words))
    assert (found.queries, found.pattern, found.holds, found.always) == (6, FIRST, 4, False)
    assert [(one.n, one.queries, one.ties) for one in found.lengths] == [(3, 6, 0)]


def test_less_than_half_is_no_pattern() -> None:
    score = at_position(lambda q: q - 2)
    found = only(network([head(bilinear(score, "ab"))]), words=(tuple("ababab"),))
    # One of 5 queries has no such position; for the second query it is the first position.
    assert (found.pattern, found.holds, found.queries, found.ties) == (NONE, 0, 5, 1)


# ---- classes ----


def newest(members: str, mask: Mask = Mask.FUTURE, strict: bool = False) -> Score:
    """Return a score for the nearest of some tokens: 100 for a member, 50 for the beginning of sequence, and 1 a
    position.
    """
    sign = -1 if mask is Mask.PAST else 1

    def score(q: int, t: str, k: int, u: str) -> float:
        if not t:
            return -200.0 * (strict and q == k)
        return 100.0 * (u in members and u != "") + 50 * (u == "$") + sign * (k if k >= 0 else 0)

    return score


@pytest.mark.parametrize("members", ["a", "ac", "bc"])
def test_the_nearest_of_a_class_is_found(members: str) -> None:
    """Two adjacent members have a gap of 1, which is the smallest."""
    found = only(network([head(bilinear(newest(members), "abc$"))], tokens="abc$", bos=True))
    assert (found.pattern, found.tokens, found.always) == (AT_OR_BEFORE, tuple(members), True)
    assert found.gap is not None
    assert 0 <= 1 - found.gap.value < Fraction(1, 10**11)


@pytest.mark.parametrize("members", ["a", "ac"])
def test_the_nearest_before_differs_from_the_nearest_at_or_before(members: str) -> None:
    made = network([head(bilinear(newest(members, strict=True), "abc$"))], tokens="abc$", bos=True)
    found = only(made)
    assert (found.pattern, found.tokens, found.always) == (BEFORE, tuple(members), True)


def test_a_head_may_look_ahead() -> None:
    """Without an a ahead the logits fall with the position: the head looks at its own position, not at the last one."""
    words = [word for n in (2, 3, 4) for word in product("abc", repeat=n)]
    made = network([head(bilinear(newest("a", Mask.PAST), "abc"), Mask.PAST)], tokens="abc")
    found = only(made, words=tuple(words))
    assert (found.pattern, found.tokens) == (AT_OR_AFTER, ("a",))
    # It holds where an a is ahead: for the share 1 - (2/3)^k of the words with k symbols ahead.
    ahead = sum("a" in word[q:] for word in words for q in range(len(word) - 1))
    assert (found.holds, found.queries) == (ahead, sum(len(word) - 1 for word in words))


def naive(pattern: str, word: Sequence[int], q: int, members: set[int], nothing: int) -> int:
    """Return the nearest position of a member by the definition of the pattern; `nothing` if there is none."""
    ways = {
        AT_OR_BEFORE: range(q, -1, -1),
        BEFORE: range(q - 1, -1, -1),
        AT_OR_AFTER: range(q, len(word)),
        AFTER: range(q + 1, len(word)),
    }
    return next((place for place in ways[pattern] if word[place] in members), nothing)


@pytest.mark.parametrize("pattern", NEAREST)
@pytest.mark.parametrize("members", [{0}, {1}, {0, 2}, {1, 2}])
@pytest.mark.parametrize("n", [4, 5])
def test_classes_are_inferred_from_what_such_heads_do(pattern: str, members: set[int], n: int) -> None:
    tokens = np.array(list(product(range(3), repeat=n)))
    mask = Mask.FUTURE if pattern in (AT_OR_BEFORE, BEFORE) else Mask.PAST
    nothing = 0 if mask is Mask.FUTURE else n - 1
    argmax = np.array([[naive(pattern, word, q, members, nothing) for q in range(n)] for word in tokens.tolist()])
    assert (nearest(pattern, np.isin(tokens, list(members)), nothing) == argmax).all()
    argmax[:, nothing] = -1  # a query that sees only itself
    assert set(np.flatnonzero(evidence(pattern, mask, tokens, argmax, 4) > 0).tolist()) == members


def test_evidence_is_counted() -> None:
    """The query at position 4 attends to position 1: its token is a member, the tokens at 2, 3 and 4 are not."""
    tokens, argmax = np.array([[0, 1, 2, 2, 3]]), np.array([[-1, -1, -1, -1, 1]])
    assert evidence(AT_OR_BEFORE, Mask.FUTURE, tokens, argmax, 5).tolist() == [0, 1, -2, -1, 0]
    assert evidence(BEFORE, Mask.FUTURE, tokens, argmax, 5).tolist() == [0, 1, -2, 0, 0]
    assert evidence(AT_OR_AFTER, Mask.NONE, tokens, argmax, 5).tolist() == [0] * 5
    argmax = np.array([[-1, 3, -1, -1, -1]])
    assert evidence(AT_OR_AFTER, Mask.PAST, tokens, argmax, 5).tolist() == [0, -1, 0, 0, 0]
    assert evidence(AFTER, Mask.PAST, tokens, argmax, 5).tolist() == [0, 0, 0, 0, 0]


# ---- uniform heads and ties ----


def test_a_uniform_head_has_ties_everywhere() -> None:
    found = only(network([head(np.zeros((8, 8)))]))
    assert (found.pattern, found.always, found.gap) == (UNIFORM, True, None)
    assert found.ties == found.exact_ties == found.queries == queries_upto(4)
    assert found.tie is not None
    assert (found.tie.word, found.tie.query, found.tie.keys) == (("a", "a"), 1, (0, 1))
    assert found.weight is not None
    assert found.weight.value == 1


def test_keys_of_nothing_are_all_the_same() -> None:
    """Keys without weights are equal in every layer."""
    silent = replace(head(ALIKE), w_q=np.eye(8), w_k=np.zeros((8, 8)))
    first, second = found_of(network([head(ALIKE)], [silent])).heads
    assert (second.ties, second.exact_ties) == (queries_upto(4), queries_upto(4))
    assert (first.ties, first.exact_ties) == (queries_upto(4), queries_upto(4))
    biased = replace(head(ALIKE), w_q=np.zeros((8, 8)), b_q=np.ones(8))
    assert found_of(network([head(ALIKE)], [biased])).heads[1].exact_ties == 0


@pytest.mark.parametrize(("distance", "holds"), [(0.0199, 4), (0.0201, 2)])
def test_uniform_within_one_percent(distance: float, holds: int) -> None:
    """For two logits at this distance the larger weight is 1/2 (1 + tanh(distance / 2)), and tanh(0.01) is about
    0.01.

    Of the words of two symbols, aa and bb have a tie.
    """
    score = lambda q, t, k, u: distance * (t != "" and u == "a")  # noqa: E731
    found = only(network([head(bilinear(score, "ab"))]), 2)
    assert (found.pattern, found.holds, found.queries, found.ties) == (UNIFORM, holds, 4, 2)
    assert found.gap is not None
    assert found.gap.value <= Fraction(distance) < found.gap.value + Fraction(1, 10**12)
    assert found.gap.word == ("a", "b")


ALIKE = bilinear(lambda q, t, k, u: 1.0 * (t != "" and u != ""), "ab")
"""A matrix with the same logit for all tokens; their values differ."""


def tied(norm: Norm | None = None, more: Sequence[NetworkHead] = (), mask: Mask = Mask.FUTURE) -> HeadPattern:
    """Return the pattern of a head that looks equally at every a."""
    score = lambda q, t, k, u: 3.0 * (t != "" and u == "a")  # noqa: E731
    matrix = bilinear(score, "ab")
    blind = np.array([1.0] * 2 + [0.0] * ROWS)
    looks = replace(head(matrix, mask), w_k=np.diag(blind))
    layers = [more, [looks]] if more else [[looks]]
    return found_of(network(*layers, norm=norm), 3).heads[-1]


TIED = sum(
    (word[: q + 1].count("a") or q + 1) > 1 for n in (2, 3) for word in product("ab", repeat=n) for q in range(1, n)
)
"""Number of queries that see more than one a, or none."""


def test_ties_are_exact_where_the_head_reads_the_same() -> None:
    found = tied()
    assert (found.ties, found.exact_ties) == (TIED, TIED)
    assert found.tie is not None
    assert (found.tie.word, found.tie.query, found.tie.keys) == (("a", "a"), 1, (0, 1))
    assert [(one.n, one.ties) for one in found.lengths] == [(1, 0), (2, 2), (3, TIED - 2)]
    assert found.gap is not None
    assert 0 <= 3 - found.gap.value < Fraction(1, 10**12)
    # All weight is on the a's except for the share of one or two b's beside one a.
    assert found.weight is not None
    assert 0 <= 1 / (1 + 2 * exp(-3)) - found.weight.value < 1e-12


def test_nobody_knows_of_other_ties_whether_they_are_exact() -> None:
    """Ties are not known to be exact after a norm, which mixes coordinates, or an earlier head, which may read other
    words.
    """
    assert tied(Norm("layer", Fraction(1, 100))).exact_ties == 0
    earlier = tied(more=[head(np.zeros((8, 8)))])
    assert (earlier.ties, earlier.exact_ties) == (TIED, 0)


def test_logits_of_different_keys_may_be_equal_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both tokens have exactly equal logits for every query; or logits closer than float64 resolves."""
    for matrix, exact in ((ALIKE, 1), (ALIKE * [1, 1 + 2.0**-52, *[1] * ROWS], 0)):
        found = only(network([head(matrix)]), words=(("a", "b"),))
        assert (found.ties, found.exact_ties) == (1, exact)
    found = only(network([replace(head(ALIKE), b_q=np.eye(8)[0] * 2.0**-60)]), words=(("a", "b"),))
    assert (found.ties, found.exact_ties) == (1, 0)
    monkeypatch.setattr(head_patterns, "MOST_PRODUCTS", 0)
    for word, exact in ((("a", "b"), 0), (("a", "a"), 1)):
        found = only(network([head(ALIKE)], positions=()), words=(word,))
        assert (found.ties, found.exact_ties) == (1, exact)


def test_equal_vectors_stay_equal_under_heads_that_see_everything() -> None:
    everywhere = [head(ALIKE, Mask.NONE)]
    made = network(everywhere, everywhere, positions=())
    first, second = found_of(made, words=(("a", "a"), ("a", "b"))).heads
    assert (second.ties, second.exact_ties) == (4, 2)
    assert first.pattern == second.pattern == UNIFORM
    causal = network([head(ALIKE)], everywhere, positions=())
    assert found_of(causal, words=(("a", "a"),)).heads[1].exact_ties == 0


def test_what_float64_does_not_tell_apart_is_a_tie() -> None:
    """The logits 1e17 and 1e17 + 1 are far apart, but float64 cannot represent the second."""
    score = lambda q, t, k, u: 1e17 * (t != "" and u != "") + (q >= 0 and k == 0)  # noqa: E731
    found = only(network([head(bilinear(score, "ab"))]), 2)
    assert (found.ties, found.exact_ties, found.queries, found.pattern) == (4, 0, 4, NONE)


@pytest.mark.parametrize("size", [1e-12, 0.004, 0.3, 4.0])
@pytest.mark.parametrize("slip", [0.0, 1e-15, 1e-4, 0.02])
def test_bounds_of_rows_hold_for_all_logits_within_the_radius(size: float, slip: float) -> None:
    """Weights are recomputed in mpmath from logits at the ends of the intervals that the radius allows."""
    rng = np.random.default_rng(int(1e6 * size + 1e7 * slip))
    seen = np.tril(np.ones((5, 5), dtype=bool))
    logits = np.where(seen, rng.normal(size=(8, 5, 5)) * size, -np.inf)
    found = head_patterns.rows(logits, np.full((8, 5), slip), seen)
    for word, q in product(range(8), range(1, 5)):
        signs, here = rng.choice([-1, 1], q + 1).tolist(), logits[word, q, : q + 1].tolist()
        near = np.flatnonzero(found.near[word, q]).tolist()
        with mp.workdps(50):
            ends = [mp.mpf(value) + sign * mp.mpf(slip) for value, sign in zip(here, signs, strict=True)]
            weights = [mp.exp(end) for end in ends]
            shares = [weight / sum(weights) for weight in weights]
            second, first = sorted(ends)[-2:]
            assert ends.index(first) in near
            assert found.weight[word, q] <= sum(shares[k] for k in near) + mp.mpf(10) ** -45
            if found.certain[word, q]:
                assert near == [ends.index(first)] == [found.argmax[word, q]]
                assert 0 < found.gap[word, q] <= first - second
            if found.even[word, q]:
                assert all(abs(share * (q + 1) - 1) <= mp.mpf(1) / 100 for share in shares)
    # The bounds are also not vacuous: they hold wherever they can.
    assert slip or found.certain[:, 1:].all()
    assert found.even[:, 1:].all() or size > 1e-12 or slip > 1e-4
    assert size < 4 or not found.even[:, 1:].any()


def test_a_class_of_many_tokens_is_cut_short() -> None:
    found = only(network([head(bilinear(newest("ac"), "abc$"))], tokens="abc$", bos=True))
    assert pattern_text(found) == "nearest at or before: a c"
    many = replace(found, tokens=tuple(f"t{k}" for k in range(9)))
    assert pattern_text(many) == "nearest at or before: t0 t1 t2 t3 t4 t5 t6 t7 ... (9 in all)"
    assert share_text(found) == "all"
    assert share_text(replace(found, holds=found.queries - 1)) != "100.0%"
    assert share_text(replace(found, queries=10_000, holds=9_999)) == "99.9%"


# ---- the run ----


def test_words_are_reported() -> None:
    found = found_of(network([head(np.zeros((8, 8)))]), 6, exhaustive=4, samples=1)
    message = [(one.n, one.possible, one.exhaustive) for one in found.tried]
    assert (message[:2], message[-1]) == ([(1, 2, True), (2, 4, True)], (6, 64, False))
    assert found.words == sum(one.words for one in found.tried)
    assert (found.partial, found.seed) == (False, 0)
    assert found.summary == f"net: 1 head, 1 with a pattern that always holds, {found.words} words"


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = network([head(bilinear(newest("ac"), "abc$")), head(np.zeros((10, 10)))], tokens="abc$", bos=True)
    whole = found_of(made)
    monkeypatch.setattr(head_patterns, "CELLS", 700)
    assert found_of(made).to_json() == whole.to_json()
    # Classes are final after 100 queries: all words of up to two symbols, and some of three.
    monkeypatch.setattr(head_patterns, "REMEMBERED", 100)
    assert found_of(made).to_json() == whole.to_json()
    monkeypatch.setattr(head_patterns, "REMEMBERED", 0)  # classes are final after one batch, the words of one symbol
    assert found_of(made).heads[0].pattern == AT_OR_BEFORE


def test_an_interrupted_run_has_whole_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    made = network([head(bilinear(newest("ac"), "abc$"))], tokens="abc$", bos=True)
    attention = DenseFloat.attention

    def interrupted(self: DenseFloat, n: int, tokens: Any) -> Any:
        if n == 4:
            raise KeyboardInterrupt
        return attention(self, n, tokens)

    whole = found_of(made, 3)
    monkeypatch.setattr(DenseFloat, "attention", interrupted)
    found = found_of(made, 5)
    assert found.partial
    assert found.heads == whole.heads
    assert found.tried == whole.tried


def test_what_cannot_be_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = network([head(np.zeros((8, 8)))])
    assert "the table of positions ends" in str(raised(OutOfRange, found_of, made, ROWS + 1))
    monkeypatch.setattr(head_patterns, "distrust", lambda: "rounding is off")
    assert str(raised(Undecided, found_of, made)) == "rounding is off"


def test_a_word_of_one_position_says_nothing() -> None:
    found = only(network([head(np.zeros((8, 8)))]), 1)
    assert (found.queries, found.pattern, found.always, found.weight) == (0, NONE, False, None)


def test_rows_that_overflow_are_ties() -> None:
    score = lambda q, t, k, u: 1e200 * (t != "" and u == "a")  # noqa: E731
    large = replace(network([head(bilinear(score, "ab"))]).heads[0], w_k=np.eye(8) * 1e200)
    found = only(network([large]), 2)
    assert found.ties == found.queries == 4
    # The weights show that aa and bb are exactly tied.
    assert (found.pattern, found.exact_ties) == (NONE, 2)


def test_logits_of_a_deep_network_come_from_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Float64 has no bounds after many layers. The least gap is that of balls with 600 bits, which are other code."""
    deep = dense(Shape(d=48, k=12, heads=4, mlp=96, layers=8, rows=4))
    words = [tuple(map(str, some)) for some in product(deep.tokens, repeat=3)][:8]
    *_, unknown = found_of(deep, 3, words).heads
    assert unknown.gap is None
    monkeypatch.setattr(dense_balls, "LARGE", 1000)
    *_, last = found_of(deep, 3, words).heads
    arithmetic, gaps = BallArithmetic(600), list[float]()
    for word in words:
        *_, (_, _, rows) = DenseForward(deep, arithmetic).attention(3, deep.read(word))
        for row in rows[1:]:
            first, second, *_ = sorted((float(one.mid()) for one in row if one is not None), reverse=True)
            gaps.append(first - second)
    assert last.gap is not None
    assert min(gaps) * (1 - 1e-6) <= float(last.gap.value) <= min(gaps)
    assert last.ties == 0
