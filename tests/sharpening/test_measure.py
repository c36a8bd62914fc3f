"""Gaps, ties, witnesses, sizes: recomputed from the definition, and merged from parts."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hardsim.hard.hardmax import ONE_VALUE, OTHER_MEAN, SAME_MEAN
from hardsim.sharpening.measure import HeadFacts, LengthFacts, Witness, lower, tied_values
from tests.support.model import Affine, ExactModel, Head, Mask, Program, Weighting, measure
from tests.support.networks import ALPHABET, HardLayer, HardNetwork, dense_hard, hard_transformers
from tests.support.simulations import one_head, run_hard

Words = list[list[str]]
ANYWHERE = Witness(("any",), 1)
BATCHES = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.sampled_from(ALPHABET), min_size=n, max_size=n), min_size=2, max_size=5)
)


def measured(model: Program, words: Words) -> LengthFacts:
    return measure(model, words, ExactModel(model).run(words))


def row_gap(row: dict[int, Fraction]) -> Fraction | None:
    ranked = sorted(set(row.values()))
    return ranked[-1] - ranked[-2] if len(ranked) > 1 else None


@given(hard_transformers(), BATCHES)
def test_facts_are_recounted(hard: HardNetwork, words: Words) -> None:
    model = hard.program
    facts = measured(model, words)
    passes = [dense_hard(hard, word) for word in words]
    assert (facts.n, facts.words) == (len(words[0]), len(words))
    for number in range(len(model.layers)):
        for name, head in facts.layers[number].heads.items():
            check_head(model, head, [layers[number].scores[name] for layers in passes], words)
            (declared,) = (one for one in model.layers[number].heads if one.name == name)
            check_tied(hard, declared, head, [layers[number] for layers in passes], words)
    finals = [[entry for row in layers[-1].final for entry in row] for layers in passes]
    assert facts.size == max(abs(entry) for final in finals for entry in final)
    place = model.reading_index(facts.n)
    threshold = Fraction(model.threshold or 0)
    distances = [abs(layers[-1].final[place][hard.network.output] - threshold) for layers in passes]
    assert facts.distance == min(distances)
    assert facts.clear == min(filter(None, distances), default=None)
    check_layers(hard, facts, passes)


def check_head(model: Program, head: HeadFacts, rows: Sequence[list[dict[int, Fraction]]], words: Words) -> None:
    for query in range(len(rows[0])):
        here = [word[query] for word in rows]
        assert head.gaps[query] == min((gap for row in here if (gap := row_gap(row)) is not None), default=None)
        maxima = [list(row.values()).count(max(row.values())) for row in here]
        assert (head.fewest[query], head.most[query]) == (min(maxima), max(maxima))
    assert head.reach == max(max(row.values()) - min(row.values()) for word in rows for row in word)
    assert head.gap == min((gap for gap in head.gaps if gap is not None), default=None)
    if head.least is not None:
        word = words.index(list(head.least[1].word))
        assert row_gap(rows[word][head.least[1].position - model.first]) == head.least[0]
    assert (head.tie is None) == (max(head.most) == 1)
    if head.tie is not None:
        row = rows[words.index(list(head.tie[1].word))][head.tie[1].position - model.first]
        assert list(row.values()).count(max(row.values())) == head.tie[0] == max(head.most)


def check_tied(hard: HardNetwork, head: Head, found: HeadFacts, layers: Sequence[HardLayer], words: Words) -> None:
    """Recompute the facts about tied positions: the worst kind of all rows, and the positions and values of its
    row.
    """
    model, names, name = hard.program, hard.network.coordinates, head.name
    kinds: dict[tuple[tuple[str, ...], int], int] = {}
    for word, layer in zip(words, layers, strict=True):
        for query, row in enumerate(layer.scores[name]):
            best = [layer.carried[name][key] for key, score in row.items() if score == max(row.values())]
            read = best[-1 if head.weighting is Weighting.RIGHTMOST else 0]
            mean = [sum(column) / len(best) for column in zip(*best, strict=True)]
            kind = ONE_VALUE if all(one == read for one in best) else SAME_MEAN if mean == read else OTHER_MEAN
            kinds[tuple(word), query] = ONE_VALUE if head.weighting is Weighting.AVERAGE else kind
    assert (ONE_VALUE if found.differ is None else found.differ[0]) == max(kinds.values())
    if found.differ is not None:
        kind, witness = found.differ
        query = witness.position - model.first
        assert kinds[witness.word, query] == kind
        layer = layers[words.index(list(witness.word))]
        row = layer.scores[name][query]
        expected = [
            (key + model.first, tuple(layer.carried[name][key][names.index(out)] for out, _ in head.values))
            for key, score in row.items()
            if score == max(row.values())
        ]
        assert tied_values(model, head, witness) == expected


def check_layers(hard: HardNetwork, facts: LengthFacts, passes: Sequence[list[HardLayer]]) -> None:
    names = hard.network.coordinates
    for number, (layer, found) in enumerate(zip(hard.network.layers, facts.layers, strict=True)):
        after = [row for layers in passes for row in layers[number].attended]
        for unit, margin, top in zip(layer.ffn.units, found.margins, found.tops, strict=True):
            inputs = [sum(value * row[index] for index, value in unit.form) + unit.bias for row in after]
            assert top == max(inputs)
            assert margin == min(max(-z, z - 1) for z in inputs)
        assert found.size >= max(abs(entry) for row in after for entry in row)
        if number:
            entering = [row for layers in passes for row in layers[number - 1].final]
            assert found.size == max(abs(entry) for row in entering + after for entry in row)
            for head in layer.heads:
                for out, form in enumerate(head.w_v.dense()):
                    if any(form):
                        values = [sum(a * b for a, b in zip(form, row, strict=True)) for row in entering]
                        assert found.values[head.name, names[out]] == (min(values), max(values))
    assert facts.largest == max([facts.size, *(layer.size for layer in facts.layers)])


@given(hard_transformers(), BATCHES, st.integers(1, 4))
def test_parts_that_are_merged_are_the_whole(hard: HardNetwork, words: Words, cut: int) -> None:
    model, cut = hard.program, min(cut, len(words) - 1)
    whole, first, second = measured(model, words), measured(model, words[:cut]), measured(model, words[cut:])
    untouched = deepcopy(second)
    first.merge(second)
    assert second == untouched
    for facts in (whole, first):
        # Several words may have the same row; each engine may name another word, but the row must be the same.
        for head in (head for layer in facts.layers for head in layer.heads.values()):
            head.least = head.least and (head.least[0], ANYWHERE)
            head.tie = head.tie and (head.tie[0], ANYWHERE)
            head.differ = head.differ and (head.differ[0], ANYWHERE)
    assert first == whole


def test_the_gap_of_a_length_is_that_of_its_worst_head() -> None:
    """The scores are 1, 2, 3 and, from the second layer on, 2, 4, 6."""
    model = one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE)
    (layer,) = model.layers
    double = replace(
        layer, heads=(replace(layer.heads[0], name="k", score=((Affine.constant(2), Affine.coordinate("place")),)),)
    )
    facts = run_hard(replace(model, layers=(double, layer)), 3)[-1].facts
    assert {name: head.gap for name, head in facts.heads.items()} == {"k": 2, "h": 1}
    assert facts.gap == 1
    assert run_hard(model, 1)[0].facts.gap is None


def test_the_lesser_of_what_is_there() -> None:
    one, two = Fraction(1), Fraction(2)
    pairs = ((one, two), (two, one), (None, two), (one, None), (None, None))
    assert [lower(*pair) for pair in pairs] == [1, 1, 2, 1, None]
