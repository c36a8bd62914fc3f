"""The four ways to find the maxima of a row of scores, compared with the definition, and when each is chosen."""

from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardsim.compiling.from_ltl.lower import lower
from hardsim.hard import hardmax as ways
from hardsim.hard.exact import HardTrace, require_head, require_promises
from hardsim.hard.hardmax import (
    AttendedRows,
    Scores,
    Sight,
    concave,
    dense,
    few_keys,
    few_queries,
    hardmax,
    visible,
    visible_folds,
)
from hardsim.network.integers import SAFE, Exact, Integers
from hardsim.program.regimes import expression
from tests.support.check import ModelOptions, read_input
from tests.support.language import InvariantError, desugar, parse_expression
from tests.support.model import REGIMES, ExactModel, Head, Kind, Mask, Program, Weighting

SHIPPED = Path(__file__).resolve().parents[2] / "formulas"
Table = list[list[Fraction]]
Pairs = list[tuple[Table, Table]]
WEIGHTINGS = st.sampled_from([Weighting.AVERAGE, Weighting.LEFTMOST, Weighting.RIGHTMOST])
SIGHTS = st.one_of(
    st.builds(Sight, st.sampled_from([Mask.NONE, Mask.FUTURE, Mask.PAST]), WEIGHTINGS, st.just(False)),
    st.builds(Sight, st.sampled_from(list(Mask)), WEIGHTINGS, st.just(True)),
)
SCALES = st.sampled_from([Fraction(1), Fraction(7, 3), Fraction(10**12), Fraction(10**30, 3)])


def column(table: Table) -> Exact:
    """Return a column of numbers by word (one row if all words share it) and position."""
    unit = 36
    assert all((value * unit).denominator == 1 for row in table for value in row)
    return Exact.of(np.array([[int(value * unit) for value in row] for row in table], dtype=object), unit)


def numbers(draw: st.DrawFn, words: int, size: int) -> Table:
    small = st.builds(Fraction, st.integers(-4, 4), st.integers(1, 3))
    scale = draw(SCALES)
    return [[draw(small) * scale for _ in range(size)] for _ in range(words)]


@st.composite
def few(draw: st.DrawFn) -> Pairs:
    """Draw one or two pairs whose keys take at most two values each."""
    words, size = draw(st.integers(1, 2)), draw(st.integers(2, 8))
    pairs: Pairs = []
    for _ in range(draw(st.integers(1, 2))):
        some = draw(st.lists(st.integers(-2, 2).map(Fraction), min_size=2, max_size=2))
        pairs.append((numbers(draw, words, size), [[draw(st.sampled_from(some)) for _ in range(size)]]))
    return pairs


@st.composite
def curves(draw: st.DrawFn) -> Pairs:
    """Draw pairs whose keys have strictly rising or falling slopes, and queries of which most agree with them."""
    words, size = draw(st.integers(1, 2)), draw(st.integers(3, 9))
    steps = [draw(st.integers(1, 2)) for _ in range(size - 1)]
    slopes = sorted(draw(st.sets(st.integers(-9, 9), min_size=size - 1, max_size=size - 1)))
    across = list(accumulate(steps, initial=draw(st.integers(-5, 5))))
    up = list(accumulate((step * slope for step, slope in zip(steps, slopes, strict=True)), initial=0))
    turn, sign = draw(st.sampled_from([1, -1])), draw(st.sampled_from([1, -1]))
    least = draw(st.sampled_from([0, 0, 0, -1]))
    steady = draw(st.booleans())
    a = [[row[0]] * size if steady else row for row in numbers(draw, words, size)]
    b = [[Fraction(-turn * sign * draw(st.integers(least, 3))) for _ in range(size)] for _ in range(words)]
    pairs: Pairs = [
        (a, [[Fraction(turn * value) for value in across]]),
        (b, [[Fraction(sign * value) for value in up]]),
    ]
    return [([[value * turn for value in row] for row in a], pairs[0][1]), pairs[1]][:: draw(st.sampled_from([1, -1]))]


@st.composite
def repeated(draw: st.DrawFn) -> Pairs:
    """Draw one to four pairs, of which every word has at most two different queries, and keys of any kind; pairs may
    have the same keys or a constant query."""
    words, size = draw(st.integers(1, 2)), draw(st.integers(2 * ways.SHARED, 2 * ways.SHARED + 3))
    choice = [[draw(st.integers(0, 1)) for _ in range(size)] for _ in range(draw(st.sampled_from([1, words])))]
    pairs: Pairs = []
    for _ in range(draw(st.integers(1, 4))):
        queries = numbers(draw, len(choice), 2)
        if draw(st.booleans()):
            queries = [[queries[0][0]] * 2] * len(choice)
        again = draw(st.booleans())
        keys = pairs[-1][1] if pairs and again else numbers(draw, draw(st.sampled_from([1, words])), size)
        pairs.append(([[row[k] for k in line] for row, line in zip(queries, choice, strict=True)], keys))
    return pairs


def rows_of(pairs: Pairs, sight: Sight) -> list[list[dict[int, Fraction]]]:
    """Return the visible scores by word and query."""
    words = max(len(table) for pair in pairs for table in pair)
    size = len(pairs[0][0][0])
    seen = visible(sight.mask, size, sight.bos)
    return [
        [
            {
                j: sum((q[word % len(q)][i] * k[word % len(k)][j] for q, k in pairs), Fraction(0))
                for j in range(size)
                if seen[i, j]
            }
            for i in range(size)
        ]
        for word in range(words)
    ]


def at(part: Integers, word: int, i: int) -> Fraction:
    """Return a number of an array that may be shared by all words or all positions."""
    return Fraction(int(part[word % len(part), i % part.shape[1]]))


def require(found: AttendedRows, scores: Scores, pairs: Pairs, sight: Sight, values: list[int]) -> None:
    """Assert that every row has the maxima, gap and mean of the definition."""
    for word, rows in enumerate(rows_of(pairs, sight)):
        for i, row in enumerate(rows):
            gap, maxima, reach, winners = (at(part, word, i) for part in found[:4])
            ranked = sorted(set(row.values()), reverse=True)
            top = [j for j, score in row.items() if score == ranked[0]]
            unit = scores.units[i]
            assert gap == (-1 if len(ranked) == 1 else (ranked[0] - ranked[1]) * unit)
            assert maxima == len(top)
            assert reach == (ranked[0] - ranked[-1]) * unit
            assert winners == (top[-1] if sight.last else top[0])
            some = top if sight.average else [int(winners)]
            assert at(found.totals["x"], word, i) == sum(values[j] for j in some)


def scores_of(pairs: Pairs) -> Scores:
    return Scores.of([(column(query), column(key)) for query, key in pairs], len(pairs[0][0][0]))


@given(st.one_of(few(), curves(), repeated()), SIGHTS, st.data())
def test_every_way_that_is_taken_leads_to_the_definition(pairs: Pairs, sight: Sight, data: st.DataObject) -> None:
    size = len(pairs[0][0][0])
    values = data.draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size))
    scores = scores_of(pairs)
    for way in (dense, few_keys, concave, few_queries):
        found = way(scores, sight, {"x": np.array([values])})
        if found is not None:
            require(found, scores, pairs, sight, values)


@settings(max_examples=40, deadline=None)
@given(st.one_of(few(), curves(), repeated()), SIGHTS, SCALES, st.data())
def test_what_tied_positions_carry_is_their_values(
    pairs: Pairs, sight: Sight, scale: Fraction, data: st.DataObject
) -> None:
    """Each position has two values, from few different ones, so that ties of each kind occur."""
    size = len(pairs[0][0][0])
    numbers = st.lists(st.integers(0, 2), min_size=size, max_size=size)
    values = [[one * scale for one in data.draw(numbers)] for _ in range(2)]
    words = max(len(table) for pair in pairs for table in pair)
    head = Head("h", sight.mask, sight.weighting, ())
    columns = {name: column([row]) for name, row in zip("xy", values, strict=True)}
    scores = [(column(query), column(key)) for query, key in pairs]
    rows, results = hardmax(head, scores, columns, (words, size), sight.bos)
    for word, every in enumerate(rows_of(pairs, sight)):
        for i, row in enumerate(every):
            top = [j for j, score in row.items() if score == max(row.values())]
            read = top[-1] if sight.last else top[0]
            alike = all(one[j] == one[read] for one in values for j in top)
            mean = all(sum(one[j] for j in top) == len(top) * one[read] for one in values)
            expected = ways.ONE_VALUE if sight.average or alike else ways.SAME_MEAN if mean else ways.OTHER_MEAN
            assert rows.differ[word, i] == expected
            if not sight.average:
                assert [results[name].at(word, i) for name in "xy"] == [one[read] for one in values]


def test_a_mean_that_is_read_is_distinguished_from_one_value() -> None:
    """All scores are 0. The mean of 1 0 2 is 1: a leftmost head reads it too, a rightmost head does not."""
    zero = column(constant(0, 3))
    for weighting, numbers, kind in (
        (Weighting.LEFTMOST, [1, 0, 2], ways.SAME_MEAN),
        (Weighting.RIGHTMOST, [1, 0, 2], ways.OTHER_MEAN),
        (Weighting.RIGHTMOST, [2, 2, 2], ways.ONE_VALUE),
        (Weighting.AVERAGE, [1, 0, 2], ways.ONE_VALUE),
        # The squares of these integers exceed machine integers.
        (Weighting.LEFTMOST, [10**18, 0, 2 * 10**18], ways.SAME_MEAN),
        (Weighting.LEFTMOST, [10**18, 0, 2 * 10**18 + 1], ways.OTHER_MEAN),
    ):
        head = Head("h", Mask.NONE, weighting, ())
        rows, _ = hardmax(head, [(zero, zero)], {"x": Exact.row(numbers, 1)}, (1, 3), False)
        assert rows.differ.tolist() == [[kind] * 3]


def constant(value: int, size: int, words: int = 1) -> Table:
    return [[Fraction(value)] * size for _ in range(words)]


def parabola(a: int, b: int, size: int = 8) -> Pairs:
    """Return the score 2 a j - b j^2."""
    ramp, squares = [[Fraction(2 * j) for j in range(size)]], [[Fraction(-j * j) for j in range(size)]]
    return [(constant(a, size), ramp), (constant(b, size), squares)]


ALL = Sight(Mask.NONE, Weighting.AVERAGE, False)


def taken(pairs: Pairs, sight: Sight = ALL) -> list[str]:
    """Return the names of the ways that apply to these rows."""
    nothing = {"x": np.zeros((1, 1), dtype=np.int64).repeat(len(pairs[0][0][0]), axis=1)}
    return [way.__name__ for way in (few_keys, concave) if way(scores_of(pairs), sight, nothing) is not None]


def test_when_scores_are_concave() -> None:
    assert taken(parabola(3, 1)) == taken(parabola(3, 1)[::-1]) == taken(parabola(-3, 0)) == ["concave"]
    assert taken(parabola(3, -1)) == taken(parabola(0, 0)) == []  # the ends are largest, or all keys are
    for mask in Mask:
        masked = [taken(parabola(3, 1), Sight(mask, Weighting.RIGHTMOST, bos)) for bos in (False, True)]
        some = mask in (Mask.NONE, Mask.FUTURE), not mask.strict
        assert masked == [["concave"] if some[1] else [], ["concave"] if some[0] else []]


def test_numbers_beyond_floats_on_a_concave_curve() -> None:
    pairs = [([[value * 10**400 for value in row] for row in query], keys) for query, keys in parabola(3, 1)]
    found = concave(scores_of(pairs), ALL, {"x": np.arange(8)[None]})
    assert found is not None
    require(found, scores_of(pairs), pairs, ALL, list(range(8)))


def test_keys_that_are_not_on_a_strictly_concave_curve() -> None:
    (a, ramp), (b, squares) = parabola(3, 1)
    straight = [[-2 * value for value in ramp[0]]]
    broken = [[*squares[0][:4], *(value - 9 for value in squares[0][4:5]), *squares[0][5:]]]
    still = [[*ramp[0][:-1], ramp[0][-2]]]
    for pairs in ([(a, ramp), (b, straight)], [(a, ramp), (b, broken)], [(a, still), (b, still)], [(a, ramp)]):
        assert "concave" not in taken(pairs)
    assert taken([(a, ramp * 2), (b, squares)]) == []  # as if the key depended on the word
    assert taken([(a, ramp), (b, squares), (b, ramp)]) == []


def test_when_keys_are_few() -> None:
    sign = [[Fraction((-1) ** j) for j in range(8)]]
    assert taken([(constant(3, 8), sign)]) == ["few_keys"]
    assert taken([(constant(3, 8), sign * 2)]) == []
    four, five = ([[Fraction(j % count) for j in range(8)]] for count in (4, 5))
    assert (taken([(constant(3, 8), four)]), taken([(constant(3, 8), five)])) == (["few_keys"], [])
    many = [[Fraction(j % (ways.FEW + 1)) for j in range(4 * ways.FEW)]]
    assert taken([(constant(3, 4 * ways.FEW), many)]) == []


def queries_are_few(pairs: Pairs, sight: Sight = ALL) -> bool:
    size = len(pairs[0][0][0])
    return few_queries(scores_of(pairs), sight, {"x": np.zeros((1, size), dtype=np.int64)}) is not None


def test_when_queries_are_few() -> None:
    """Twice SHARED positions may have two different queries in a word; other words may have others."""
    size = 2 * ways.SHARED
    keys = [[Fraction(j * j % 7) for j in range(size)]]
    two, three = ([[Fraction(j % count) for j in range(size)]] for count in (2, 3))
    assert (queries_are_few([(two, keys)]), queries_are_few([(three, keys)])) == (True, False)
    assert queries_are_few([([two[0], [value + 5 for value in two[0]]], keys)])
    assert not queries_are_few([(two, keys), (two[:1] + three, keys)])
    for mask in Mask:
        masked = [queries_are_few([(two, keys)], Sight(mask, Weighting.AVERAGE, bos)) for bos in (False, True)]
        assert masked == [True, mask not in (Mask.PAST, Mask.STRICT_PAST)]
    huge = [[value * 10**30 for value in two[0]]]
    assert not queries_are_few([(huge, keys)])  # machine integers alone


@pytest.mark.parametrize("mask", Mask)
@pytest.mark.parametrize("weighting", [Weighting.AVERAGE, Weighting.LEFTMOST, Weighting.RIGHTMOST])
def test_a_query_that_sees_one_key_does_not_count(mask: Mask, weighting: Weighting) -> None:
    """Two queries of 2 SHARED positions are few, and so are three if one sees a single key, at the end that the mask
    hides others from; without a mask they are many."""
    size = 2 * ways.SHARED
    keys = [[Fraction(j * j % 7) for j in range(size)], [Fraction(j * j % 5 - 2) for j in range(size)]]
    for end in (0, size - 1):
        query = [Fraction(j % 2 + 1) for j in range(size)]
        query[end] = Fraction(-9)
        pairs, sight = [([query], keys)], Sight(mask, weighting, False)
        scores, values = scores_of(pairs), [j * j % 11 for j in range(size)]
        found = few_queries(scores, sight, {"x": np.array([values])})
        first = mask in (Mask.FUTURE, Mask.STRICT_FUTURE)
        assert (found is not None) == (mask is not Mask.NONE and first == (end == 0))
        if found is not None and not mask.strict:
            require(found, scores, pairs, sight, values)


def test_different_queries_that_are_combined_to_one_number() -> None:
    """(0, 0) and (1, -SPREAD) give the same number, and stay two queries: the rows are those of all scores."""
    spread, size = int(ways.SPREAD), 2 * ways.SHARED
    first, second = ([[value * (j % 2) for j in range(size)]] for value in (1, -spread))
    keys = np.arange(size)[None] % 5
    queries = [np.array(first), np.array(second)]
    scores = Scores(queries, [keys, np.zeros((1, size), dtype=np.int64)], [1] * size, 10)
    sight = Sight(Mask.FUTURE, Weighting.AVERAGE, False)
    assert few_queries(scores, sight, {"x": keys}) is None
    scores = Scores([queries[0], 0 * queries[1]], scores.keys, scores.units, 10)
    assert few_queries(scores, sight, {"x": keys}) is not None


def test_rows_have_units_of_their_own_where_one_for_all_is_large() -> None:
    """Means of i numbers, i up to 60: their common unit has 80 bits, and each row's no more than i."""
    size = 60
    means = Exact.row([Fraction(i // 2, i) for i in range(1, size + 1)], 1)
    scores = Scores.of([(means, Exact.row(range(size), 1))], size)
    assert means.whole.dtype == object
    assert all(unit <= row for row, unit in enumerate(scores.units, 1))
    assert [int(whole) for whole in scores.queries[0][0]] == [
        unit * (row // 2) // row for row, unit in enumerate(scores.units, 1)
    ]
    assert {part.dtype for part in (*scores.queries, *scores.keys)} == {np.dtype(np.int64)}


@pytest.mark.parametrize(("size", "kind"), [(SAFE - 1, np.int64), (SAFE, object)])
def test_scores_are_machine_integers_below_the_limit(size: int, kind: type) -> None:
    found = dense(Scores.of([(Exact.row([1, 1], 1), Exact.row([size, -size], 1))], 2), ALL, {})
    assert found.gap.dtype == kind
    assert [int(gap) for gap in found.gap[0]] == [2 * size] * 2


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("mask", list(Mask))
def test_extremes_of_what_is_seen(mask: Mask, bos: bool) -> None:
    values = np.array([[3, -1, 4, 1, -5, 9], [2, 6, -5, 3, 5, -8]])
    seen = visible(mask, 6, bos)
    for fold, nothing, of in ((np.maximum, -99, max), (np.minimum, 99, min)):
        expected = [
            [of((int(row[j]) for j in range(6) if seen[i, j]), default=nothing) for i in range(6)] for row in values
        ]
        assert visible_folds(fold, values, mask, bos, nothing).tolist() == expected


def compared(program: Program, words: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch) -> HardTrace:
    """Run words in all ways and by all scores; assert that columns, rows and attention outputs are the same."""
    found = ExactModel(program).run(words)
    with monkeypatch.context() as patch:
        patch.setattr(ways, "few_keys", lambda *_: None)
        patch.setattr(ways, "concave", lambda *_: None)
        patch.setattr(ways, "few_queries", lambda *_: None)
        patch.setattr(ways, "_known_rows", lambda *_: None)
        plain = ExactModel(program).run(words)
    for one, other in zip(found.layers, plain.layers, strict=True):
        for name in program.coordinates:
            for word in range(len(words)):
                assert one.columns[name].values(word) == other.columns[name].values(word)
        for name, rows in one.rows.items():
            expected = other.rows[name]
            for mine, theirs in ((rows.gap, expected.gap), (rows.reach, expected.reach)):
                assert (mine == theirs).all()
            assert rows.units == expected.units
            assert (rows.maxima == expected.maxima).all()
            assert (rows.winners == expected.winners).all()
            assert (rows.differ == expected.differ).all()
            assert rows.sizes == expected.sizes
    return found


@pytest.mark.sweep
@pytest.mark.parametrize(
    "path",
    [path for path in sorted(SHIPPED.iterdir()) if path.suffix in (".srasp", ".json")],
    ids=lambda path: path.stem,
)
def test_shipped_programs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = read_input(str(path)).compile(ModelOptions())
    random = Random(path.stem)
    for n in (1, 2, *random.sample(range(3, 41), 3)):
        words = [tuple(random.choices(subject.program.alphabet, k=n)) for _ in range(3)]
        compared(subject.program, words, monkeypatch)


@pytest.mark.parametrize("regime", ["temperature", "position", "causal-temperature", "causal-position"])
def test_counts_of_long_words(regime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a look-up, or a sign test, at lengths at which the means have no common machine integer."""
    program = lower(desugar(parse_expression("#L[a] > #L[b] + 1", ["a", "b"])), REGIMES[regime])
    random = Random(regime)
    words = [tuple(random.choices("ab", k=90)) for _ in range(2)]
    require_promises(program, compared(program, [*words, ("b",) * 90], monkeypatch))


@pytest.mark.parametrize("way", ["few_keys", "concave"])
def test_a_declared_gap_that_is_too_large_is_found_in_every_way(way: str) -> None:
    """Scores 2 (3 j) - j^2 of j = 1 to 8 have the gap 1; scores 3 (-1)^j have the gap 6."""
    query = column(constant(3, 8)) if way == "few_keys" else column(constant(3, 8, 2))
    pairs = {
        "few_keys": [(query, Exact.row([(-1) ** j for j in range(1, 9)], 1))],
        "concave": [
            (query, Exact.row([2 * j for j in range(1, 9)], 1)),
            (column(constant(1, 8)), Exact.row([-j * j for j in range(1, 9)], 1)),
        ],
    }[way]
    gap = 6 if way == "few_keys" else 1
    head = Head("h", Mask.NONE, Weighting.AVERAGE, (), ())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ways, "dense", None)
        rows, _ = hardmax(head, pairs, {}, (2, 8), False)
    program = lower(desugar(parse_expression("a", ["a"])), REGIMES["temperature"])
    require_head(program, head, rows, [Fraction(gap)] * 8, None)
    limits = [Fraction(gap)] * 5 + [Fraction(gap) + Fraction(1, 10)] * 3
    with pytest.raises(
        InvariantError, match=rf"position 6 of 8 the score gap is {gap}, less than the declared {limits[-1]}"
    ):
        require_head(program, head, rows, limits, None)


def test_a_look_up_that_is_less_sharp_than_declared() -> None:
    """The decay of a look-up is 1/i; a declared decay of 2/i is refused at once."""
    program = lower(desugar(parse_expression("#L[a] > 2", ["a", "b"])), REGIMES["causal-temperature"])
    trace = ExactModel(program).run(["abaab"])
    require_promises(program, trace)

    def hastier(head: Head) -> Head:
        return replace(head, decay=expression("2/i")) if head.kind is Kind.LOOKUP else head

    layers = tuple(replace(layer, heads=tuple(map(hastier, layer.heads))) for layer in program.layers)
    with pytest.raises(InvariantError, match="less than the declared"):
        require_promises(replace(program, layers=layers), trace)


@given(repeated(), SIGHTS)
def test_rows_of_scores_that_all_words_share_are_those_of_every_batch(pairs: Pairs, sight: Sight) -> None:
    """The rows that are kept do not depend on the batch that came first."""
    size = len(pairs[0][0][0])
    shared = [(column(query[:1]), column(key[:1])) for query, key in pairs]
    head = Head("h", sight.mask, sight.weighting, ())
    for value in ([*range(size)], [1] * size):
        rows, results = hardmax(head, shared, {"x": Exact.row(value, 1)}, (2, size), sight.bos)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ways, "_known_rows", lambda *_: None)
            plain, expected = hardmax(head, shared, {"x": Exact.row(value, 1)}, (2, size), sight.bos)
        for name in ("gap", "maxima", "reach", "winners", "differ"):
            assert np.array_equal(getattr(rows, name), getattr(plain, name))
        assert [results["x"].values(word) for word in (0, 1)] == [expected["x"].values(word) for word in (0, 1)]
        assert (rows.least_gaps, rows.closest) == (plain.least_gaps, plain.closest)
        known = [
            (Fraction(gap, unit), query)
            for query, (gap, unit) in enumerate(zip(rows.least_gaps, rows.units, strict=True))
            if gap >= 0
        ]
        assert rows.least() == min((gap for gap, _ in known), default=None)
        assert rows.closest == min(known, default=(None, None))[1]
