"""Facts that are derived from the weights of hard-attention programs, compared with exact hard attention on words.

The facts are gaps, ties, sizes, margins and distances; the programs are shipped ones, random models, and programs with
changed weights.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from pathlib import Path
from random import Random

import pytest

from hardsim.proof.programs.law import ProgramLaw, number
from hardsim.proof.programs.places import every_length
from hardsim.proof.shared.ratios import Ratio
from hardsim.sharpening.measure import LengthFacts
from tests.support.check import NotProved, law_of
from tests.support.language import parse_arith, parse_program
from tests.support.mistakes import raised
from tests.support.model import (
    Affine,
    Encoding,
    ExactModel,
    Head,
    Letter,
    Mask,
    Program,
    ProgramLayer,
    Weighting,
    compile_program,
    measure,
)
from tests.support.simulations import models, tieless
from tests.support.subjects import FORMULAS, known, shipped, subject_of

QUICK = (
    "dyck2",
    "sort",
    "ab_plus",
    "parity",
    "unmarked_reversal",
    "majority_rules",
    "run_length",
    "hist",
    "sort_unique",
)
PROGRAMS = [
    pytest.param(path.name, marks=() if path.suffix == ".json" or path.stem in QUICK else pytest.mark.slow)
    for path in sorted(FORMULAS.iterdir())
    if path.name.endswith((".srasp", ".ahat.json"))
]
MOST = 48
"""Largest number of words of a length that are run: else the first and the last half of it, in alphabetical order."""
HALF = Fraction(1, 2)


def contain(derived: LengthFacts, seen: LengthFacts) -> None:
    """Assert that everything measured lies within the derived bounds."""
    assert derived.n == seen.n
    assert derived.size >= seen.size
    assert derived.exhaustive
    for mine, theirs in zip(derived.layers, seen.layers, strict=True):
        assert mine.size >= theirs.size
        assert all(low <= found for low, found in zip(mine.margins, theirs.margins, strict=True))
        assert all(high >= found for high, found in zip(mine.tops, theirs.tops, strict=True))
        assert mine.values.keys() == theirs.values.keys()
        for place, (low, high) in theirs.values.items():
            assert mine.values[place][0] <= low <= high <= mine.values[place][1]
        assert mine.heads.keys() == theirs.heads.keys()
        for name, head in theirs.heads.items():
            own = mine.heads[name]
            assert own.reach >= head.reach
            assert all(some <= found for some, found in zip(own.fewest, head.fewest, strict=True)), name
            assert all(some >= found for some, found in zip(own.most, head.most, strict=True)), name
            for (query, key), (q, k) in zip(own.sizes, head.sizes, strict=True):
                assert query >= q
                assert key >= k
            for claimed, gap in zip(own.gaps, head.gaps, strict=True):
                assert gap is None or (claimed is not None and claimed <= gap), name
    if seen.distance is not None:
        assert derived.distance is not None
        assert derived.distance <= seen.distance


def some_words(alphabet: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    """Yield the first words of a length in alphabetical order, and the last ones."""
    forwards, backwards = (product(symbols, repeat=n) for symbols in (alphabet, alphabet[::-1]))
    yield from dict.fromkeys([*islice(forwards, MOST // 2), *islice(backwards, MOST // 2)])


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_facts_of_shipped_programs_contain_those_of_words(name: str) -> None:
    """Words on which an integer leaves its range count too: the facts depend on the weights alone."""
    subject = shipped(name)
    law, exact = law_of(subject.program), ExactModel(subject.program)
    for n in range(1, 5 if len(subject.alphabet) < 4 else 4):
        words = [subject.prepared(word) for word in some_words(subject.alphabet, n)]
        contain(law.facts(len(words[0])), measure(subject.program, words, exact.run(words)))
        if name.endswith(".srasp"):
            assert law.facts(n).distance == (HALF / len(words[0]) if subject.program.integers else HALF)
            shared = {head.name for layer in subject.program.layers for head in layer.heads if head.shares}
            heads = [head for name, head in law.facts(n).heads.items() if name not in shared]
            assert all(most == 1 for head in heads for most in head.most)


MEANS = [
    ("!Q_b(j)", "Q_a(j)", "0", "m(i) >= 1/3"),
    ("Q_b(j)", "pos(j)", "0", "m(i) >= 2"),
    ("Q_a(j)", "pos(j)", "pos(i)", "m(i) != 3/2"),
    ("s(j) = s(i)", "Q_b(j)", "1/2", "m(i) > 1/3"),
    ("Q_b(j)", "s(j)", "0", "m(i) > l(i)"),
    ("Q_b(j)", "pos(j)", "-1", "m(i) <= k(i)"),
    ("Q_b(j)", "Q_a(j)", "2/3", "m(i) = h(i)"),
    ("in(j) = in(i)", "s(j)", "s(i)", "u(i) < m(i)"),
    ("in(j) = in(i)", "s(j)", "s(i)", "w(i) > 2"),
]


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("mask", ["1", "j<=i", "j>i"])
@pytest.mark.parametrize(("score", "value", "default", "compared"), MEANS)
def test_means_of_what_a_score_selects_have_facts(
    mask: str, score: str, value: str, default: str, compared: str
) -> None:
    """The facts come from shares: of one mean, of a difference under one score, and of two denominators."""
    program = parse_program(
        f"alphabet: a b\ns(i) := psum_j[j<=i] Q_a(j)\nm(i) := mean_j[{mask}, {score}] {value} : {default}\n"
        f"l(i) := mean_j[{mask}, {score}] Q_a(j) : 1/2\nk(i) := mean_j[j>=i, Q_a(j)] pos(j) : 1\n"
        f"h(i) := mean_j[j<i, Q_a(j)] Q_a(j) : 0\nu(i) := mean_j[1] s(j)\nw(i) := mean_j[j>=i] pos(j)\n"
        f"Y(i) := {compared}\n"
    )
    model = compile_program(program).model
    law, exact = law_of(model), ExactModel(model)
    for n in range(1, 6):
        words = list(some_words(program.alphabet, n))
        contain(law.facts(n), measure(model, words, exact.run(words)))
        assert law.facts(n).distance == HALF


def test_a_function_that_neither_rises_nor_falls_has_a_bound_in_n() -> None:
    """1/((i+1)(n-i+1)) is at least 4/(n+2)^2; a function that is not positive somewhere is bounded by a number
    alone.
    """
    place = next(place for place in every_length(True).places if place.several)
    index, n = Ratio.of(place.i), Ratio.of(place.n)
    value = (Ratio.of(1) / ((index + 1) * (n - index + 1))).simplest
    bound = place.least(value)
    for length in range(3, 30):
        least = min(number(value, i, length) for i in range(2, length))
        assert 0 < number(bound, 0, length) <= least
        assert number(bound, 0, length) >= least / 8
    assert place.least((Ratio.of(value) - Fraction(1, 100)).simplest) == Fraction(-1, 100)


def test_the_facts_of_random_models_contain_those_of_all_words() -> None:
    """Sums, means and relus of all kinds, with or without a beginning of sequence, with and without ties."""
    recognised = 0
    for tied in (False, True):
        for model, lengths in models(6, 20240611, tied, lambda lengths: True):
            try:
                law = law_of(model)
            except NotProved:
                continue
            recognised += 1
            for length in lengths[:5]:
                contain(law.facts(length.facts.n), length.facts)
    assert recognised


# ---- changed weights ----


def mutants(program: Program, random: Random, count: int) -> Iterator[Program]:
    """Yield the program with one coefficient of a score or a hidden unit changed, a key dropped, or another mask."""
    for _ in range(count):
        number_of = random.randrange(len(program.layers))
        layer = program.layers[number_of]
        heads, units = list(layer.heads), list(layer.units)
        if heads and random.random() < 0.7:
            place = random.randrange(len(heads))
            heads[place] = changed(heads[place], random)
        elif units:
            place = random.randrange(len(units))
            terms = dict(units[place].pre.terms)
            name = random.choice(list(terms))
            terms[name] *= random.choice((Fraction(1, 2), Fraction(-1), Fraction(2), Fraction(5, 4)))
            units[place] = replace(units[place], pre=Affine.of(terms))
        other = replace(layer, heads=tuple(heads), units=tuple(units))
        layers = (*program.layers[:number_of], other, *program.layers[number_of + 1 :])
        yield replace(program, layers=layers)


def changed(head: Head, random: Random) -> Head:
    """Return a head with another score or mask."""
    if not head.score or random.random() < 0.2:
        return replace(head, mask=random.choice(list(Mask)))
    pairs = [[dict(query.terms), dict(key.terms)] for query, key in head.score]
    form = random.choice([form for pair in pairs for form in pair if form])
    name = random.choice(list(form))
    form[name] *= random.choice([Fraction(part, 8) for part in (0, 4, -8, 16, 64, 9)])
    score = [(Affine.of(query), Affine.of(key)) for query, key in pairs]
    return replace(head, score=tuple(pair for pair in score if pair[0].terms and pair[1].terms))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("dyck1.srasp", 4), ("ab_plus.srasp", 5), ("no_repeats.ahat.json", 8),
        pytest.param("dyck1.srasp", 60, marks=pytest.mark.slow),
        pytest.param("dyck2.srasp", 60, marks=pytest.mark.slow), pytest.param("sort.srasp", 60, marks=pytest.mark.slow),
        pytest.param("run_length.srasp", 60, marks=pytest.mark.slow),
        pytest.param("parity.srasp", 60, marks=pytest.mark.slow),
        pytest.param("majority_rules.srasp", 60, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_the_facts_of_changed_programs_contain_those_of_words(name: str, count: int) -> None:
    subject = shipped(name)
    recognised = 0
    for program in mutants(subject.program, Random(7), count):
        try:
            law = law_of(program)
        except NotProved:
            continue
        recognised += 1
        for n in range(1, 4):
            words = [subject.prepared(word) for word in some_words(subject.alphabet, n)]
            contain(law.facts(len(words[0])), measure(program, words, ExactModel(program).run(words)))
    assert recognised


# ---- shapes, with gaps computed by hand ----


def of_one_head(
    score: Sequence[tuple[dict[str, Fraction | int], dict[str, Fraction | int]]],
    mask: Mask = Mask.NONE,
    bos: bool = False,
    gap: str | None = None,
) -> Program:
    """Return a program of one head that reads [a]."""
    texts = ("i/n", "(i/n)^2", "1/n", "i", "[i = 1]", "[i = 0]", "1/(i+1)")
    pairs = tuple((Affine.of(query), Affine.of(key)) for query, key in score)
    declared = None if gap is None else parse_arith(gap)
    head = Head("h", mask, Weighting.AVERAGE, (("out", Affine.coordinate("a")),), pairs, gap=declared)
    return Program(
        alphabet=("a", "b"),
        letters=(Letter("a", frozenset("a")),),
        encodings=tuple(Encoding(text, parse_arith(text)) for text in texts),
        layers=(ProgramLayer((head,)),),
        output="out",
        coordinates=("1", "a", *texts, "out"),
        bos=bos,
        threshold=HALF,
    )


def gap_of(law: ProgramLaw, i: int, n: int) -> Fraction:
    """Return the derived gap of the row of position i."""
    law_of_head = (law.one if n == 1 else law.more).layers[0].heads["h"]
    row = law_of_head.rows[0 if not i else 1 if i == 1 else 3 if i == n else 2]
    return min(number(gap, i, n) for gap in row.gaps)


def unique(law: ProgramLaw) -> bool:
    """Return True if no row may have two maxima."""
    return all(row.unique for world in (law.one, law.more) for row in world.layers[0].heads["h"].rows.values())


def test_a_tie_break_makes_a_boolean_score_unique() -> None:
    """[a] + j/(2n): equal letters differ by 1/(2n), different ones by 1 - (n - 1)/(2n) >= 1/(2n) or more."""
    law = law_of(of_one_head([({"1": 1}, {"a": 1, "i/n": HALF})]))
    assert unique(law)
    for n in range(2, 6):
        assert gap_of(law, n, n) == Fraction(1, 2 * n)


def test_a_tie_break_that_reaches_a_step_may_tie() -> None:
    """[a] + j/n - 1/n: the first and the last differ by (n - 1)/n, less than 1; with 2j/n by more."""
    assert unique(law_of(of_one_head([({"1": 1}, {"a": 1, "i/n": 1})])))
    law = law_of(of_one_head([({"1": 1}, {"a": 1, "i/n": 2})]))
    assert not unique(law)
    assert gap_of(law, 3, 4) == Fraction(1, 4)  # 1 and 2j/n are both multiples of 1/n


def test_equal_scores_tie() -> None:
    law = law_of(of_one_head([({"1": 1}, {"a": 1})]))
    assert not unique(law)
    assert gap_of(law, 2, 3) == 1
    flat = law_of(of_one_head([({"1": 1}, {"1": 1})]))
    assert all(row.equal for row in flat.more.layers[0].heads["h"].rows.values())
    assert flat.facts(4).heads["h"].fewest == flat.facts(4).heads["h"].most == [4] * 4


def test_a_leftmost_head_reads_one_of_equal_scores() -> None:
    """The mean over n positions would be a multiple of 1/n; a leftmost head reads 0 or 1."""
    for weighting in (Weighting.LEFTMOST, Weighting.RIGHTMOST, Weighting.AVERAGE):
        model = of_one_head([({"1": 1}, {"1": 1})])
        (layer,) = model.layers
        sided = replace(model, layers=(replace(layer, heads=(replace(layer.heads[0], weighting=weighting),)),))
        law = law_of(sided)
        for n in range(1, 4):
            words = list(product("ab", repeat=n))
            contain(law.facts(n), measure(sided, words, ExactModel(sided).run(words)))
        assert (law.facts(4).distance == HALF) is (weighting is not Weighting.AVERAGE)


def test_a_look_up_of_a_number_between_two_positions_may_tie() -> None:
    """2 v j - j^2 with v = i is largest at j = i by 1; with v = i + 1/2 at i and i + 1; with i + 1/4 at i, by 1/2."""
    for shift, expected in ((Fraction(0), Fraction(1)), (Fraction(1, 4), HALF), (HALF, None)):
        score: list[tuple[dict[str, Fraction | int], dict[str, Fraction | int]]] = [
            ({"i/n": 2, "1/n": 2 * shift}, {"i/n": 1}),
            ({"1": 1}, {"(i/n)^2": -1}),
        ]
        law = law_of(of_one_head(score))
        assert unique(law) is (expected is not None)
        if expected is not None:
            assert gap_of(law, 2, 4) == expected / 16


def test_a_sign_test_needs_a_lattice_that_avoids_0() -> None:
    """([a] - 1/2) ([j = 1] - [j = 0]): 1/2 apart from all others; [a] alone may be 0."""
    keys: dict[str, Fraction | int] = {"[i = 1]": 1, "[i = 0]": -1}
    law = law_of(of_one_head([({"a": 1, "1": -HALF}, keys)], bos=True))
    assert unique(law)
    assert gap_of(law, 2, 4) == HALF
    assert not unique(law_of(of_one_head([({"a": 1}, keys)], bos=True)))


def test_keys_that_are_the_same_at_two_positions_may_tie() -> None:
    """A look-up whose keys are j - 1 squared: positions 0 and 2 have the same key."""
    score: list[tuple[dict[str, Fraction | int], dict[str, Fraction | int]]] = [({"1": 1}, {"(i/n)^2": -1, "i/n": 2})]
    # -(j/n)^2 + 2 j/n rises up to j = n.
    assert unique(law_of(of_one_head(score)))


def test_what_a_head_declares_is_not_believed() -> None:
    law = law_of(of_one_head([({"1": 1}, {"a": 1})], gap="100"))
    assert gap_of(law, 2, 3) == 1
    assert not unique(law)


def test_what_is_not_recognised_is_refused_by_name() -> None:
    """1/(j + 1) times a letter: no lattice contains the scores of all rows."""
    model = of_one_head([({"1": 1}, {"1/(i+1)": 1}), ({"1": 1}, {"a": 1, "1/n": 1})], bos=True)
    second = Head("g", Mask.NONE, Weighting.AVERAGE, (("out", Affine.coordinate("a")),),
                  ((Affine.coordinate("out"), Affine.coordinate("1/(i+1)")),
                   (Affine.coordinate("1"), Affine.coordinate("out"))))  # fmt: skip
    uniform = Head("u", Mask.FUTURE, Weighting.AVERAGE, (("out", Affine.coordinate("a")),))
    layers = (ProgramLayer((uniform,)), ProgramLayer((second,)))
    assert raised(NotProved, law_of, replace(model, layers=layers)).reason.startswith("head g: at ")


def test_tieless_random_models_keep_their_gap() -> None:
    """Random models that are recognised as tieless have no ties and keep their gap."""
    for model, lengths in models(4, 3, False, tieless):
        try:
            law = law_of(model)
        except NotProved:
            continue
        for length in lengths:
            contain(law.facts(length.facts.n), length.facts)


def test_counts_are_reciprocals_of_what_shares() -> None:
    """The share of BOS is 1/(k + 1), so the look-up of k has gap 1/(n^2 (i + 1)) or more."""
    program = parse_program("alphabet: a b\nx(i) := count_j[j<=i, Q_a(j)]\nY(i) := x(i) > 1\n")
    model = compile_program(program).model
    law = law_of(model)
    for n in range(1, 6):
        words = list(product("ab", repeat=n))
        contain(law.facts(n), measure(model, words, ExactModel(model).run(words)))
        (head,) = (head for name, head in law.facts(n).heads.items() if name == "x")
        assert head.most == [1] * (n + 1)
        assert head.gaps[n] == Fraction(1, n * n * (n + 1))


def test_what_has_no_value_but_between_the_ends_is_a_function_of_longer_words(tmp_path: Path) -> None:
    # 1/(i - 1 + [i = 1]) falls from i = 2 on, and at n - 1 it is 1/(n - 2), which has no value at length 2.
    document = {
        "format": "hardsim-ahat",
        "schema_version": 2,
        "program": {
            "alphabet": ["a", "b"],
            "coordinates": ["1", "a", "p", "e", "r", "k", "out"],
            "letters": [{"name": "a", "symbols": ["a"]}],
            "encodings": [{"name": "e", "value": "1/(i-1+[i=1])"}, {"name": "p", "value": "i"}],
            "layers": [
                {
                    "heads": [
                        {
                            "name": "h",
                            "mask": "none",
                            "weighting": "average",
                            "score": [[{"1": "1"}, {"p": "1"}]],
                            "values": {"r": {"a": "1"}},
                        }
                    ],
                    "units": [
                        {"outs": {"out": "1"}, "pre": {"r": "2", "1": "-1/2"}, "clip": True},
                        {"outs": {"k": "1"}, "pre": {"e": "1", "1": "2"}, "clip": True},
                    ],
                    "biases": {},
                }
            ],
            "output": "out",
            "threshold": "1/2",
            "reading": "last",
        },
    }
    subject = subject_of(tmp_path, document)
    law = subject.law
    assert isinstance(law, ProgramLaw)
    for n in range(1, 6):
        assert law.facts(n).layers[0].heads["h"].sizes == [(Fraction(1), Fraction(n))]
    assert not subject.argument.proved
    assert "is not bounded" in known(subject.argument.reason)


def test_programs_share_places_and_what_queries_see() -> None:
    """A shared world finds what a world of its own finds, for every pair of places and every mask."""
    for bos in (False, True):
        assert every_length(bos) is every_length(bos)
        shared = every_length(bos)
        for mask in Mask:
            for query in shared.places:
                for key in shared.places:
                    fresh = replace(shared).sees(query, key, mask)
                    assert shared.sees(query, key, mask) == shared.sees(query, key, mask) == fresh
