"""Facts about the scores of a row that follow from types, compared with every short word: gaps, ties, and the largest
positions.

The scores of the random heads are computed here, from letters, a Boolean of an earlier head and positions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from hardsim.lang.valuations import Valuations
from hardsim.proof.programs import types
from hardsim.proof.programs.lattice import NumberSpan
from hardsim.proof.programs.law import number
from hardsim.proof.programs.rows import Row
from hardsim.proof.programs.types import RULE, TypedRows, TypeTable, combined, free
from tests.proof.programs.test_law import contain, mutants
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
from tests.support.random_scores import HALF, LETTERS, Claim, RandomScore, random_score, require

LONGEST = 4
"""Greatest length of the words on which claims are checked."""


def claims_of(rows: TypedRows) -> Claim:
    """Return the facts about a row that follow from types alone."""
    row, ((_, value),) = rows.row(), rows.head.values
    return Claim(
        lambda i, n: min((number(gap, i, n) for gap in row.gaps), default=None),
        row.unique,
        row.equal,
        row.first,
        row.winners if row.winner is None else (row.winner,),
        rows.agrees(value),
    )


def claimed(score: RandomScore) -> Iterator[dict[int, Claim]]:
    """Yield the claims about rows that follow from types, by kind of position: at length 1, and at others."""
    program = score.program
    law, (head,) = law_of(program), program.layers[1].heads
    for world in (law.one, law.more):
        places = world.world.places
        yield {p.order: claims_of(TypedRows(world.world, head, p, world.layers[1].types)) for p in places}


def sweep(seed: int, count: int) -> int:
    """Assert that the claims about random heads are true of short words; return the number of heads with claims."""
    random, recognised = Random(seed), 0
    for _ in range(count):
        score = random_score(random)
        try:
            one, more = claimed(score)
        except NotProved:
            continue
        recognised += 1
        for n in range(1, LONGEST + 1):
            for letters in product(LETTERS, repeat=n):
                require(score, one if n == 1 else more, "".join(letters))
    return recognised


@pytest.mark.sweep
def test_what_types_claim_of_random_heads_is_true_of_every_word() -> None:
    assert sweep(5, 20) > 10


@pytest.mark.slow
def test_what_types_claim_of_many_random_heads_is_true_of_every_word() -> None:
    assert sweep(6, 2000) > 1000


KEYS, JOINT = TypedRows._keys, TypedRows._joint
BROKEN = {
    "the largest is no lower than the highest level": ("surest", lambda self, levels: len(levels) - 1),
    "a level is one position": ("single", lambda self, level: True),
    "a level holds the maxima": ("_always", lambda self, levels: tuple(sorted(levels[-1].orders))),
    "no place has lower scores": ("_elsewhere", lambda self, order, levels: order not in self.seen),
    "keys of one type only": ("_keys", lambda self, forms, order: KEYS(self, forms, order)[:1]),
    "queries of one type only": ("_joint", lambda self, forms, order: JOINT(self, forms, order)[:1]),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_caught(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wrong = BROKEN[rule]
    monkeypatch.setattr(TypedRows, name, wrong)
    raised(AssertionError, sweep, 5, 60)


def test_a_table_that_forgets_a_choice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The forgotten choice is that of a Boolean, or that of the value that a head picks."""
    for name in ("free", "_picked"):
        with monkeypatch.context() as patch:
            right = getattr(types, name)

            def wrong(*some: object, right: object = right) -> object:
                found = right(*some)  # type: ignore[operator]
                if isinstance(found, dict):
                    return {out: TypeTable.constant(table.values[0]) for out, table in found.items()}
                return None if found is None else TypeTable.constant(found.values[0])

            patch.setattr(types, name, wrong)
            if name == "free":
                patch.setattr(types, "_picked", lambda *some: {})
            raised(AssertionError, sweep, 5, 60)


# ---- handmade rows ----


def of_letters(pairs: Sequence[tuple[dict[str, int], dict[str, int]]], bos: bool = True) -> Program:
    """Return a program with a head over the letters a, b and c with a score, which reads [a]."""
    score = tuple((Affine.of(query), Affine.of(key)) for query, key in pairs)
    head = Head("h", Mask.NONE, Weighting.AVERAGE, (("out", Affine.coordinate("a")),), score)
    return Program(
        alphabet=tuple(LETTERS),
        letters=tuple(Letter(letter, frozenset(letter)) for letter in LETTERS),
        encodings=(Encoding("1", parse_arith("0")), Encoding("begin", parse_arith("[i=0]"))),
        layers=(ProgramLayer((head,)),),
        output="out",
        bos=bos,
        threshold=HALF,
    )


def rows_of(program: Program) -> dict[int, Row]:
    """Return the rows of the head at lengths from 2 on."""
    return dict(law_of(program).more.layers[0].heads["h"].rows)


def test_letters_exclude_each_other() -> None:
    """[in(j) = in(i)] + [j = 0]: matches and BOS have 1, all others 0. The sum of three independent Booleans could
    be 3.
    """
    same = [({letter: 1}, {letter: 1}) for letter in LETTERS]
    for row in rows_of(of_letters([*same, ({"1": 1}, {"begin": 1})])).values():
        assert (row.gaps, row.first) == ((1,), True)
        assert row.rules == ((RULE,) if row.place.order else row.rules)


def test_the_gap_is_the_least_difference_of_levels_that_can_be_largest() -> None:
    """Scores 0, 2 and 5 of letters and 3 of BOS: 2 and 0 are never largest, so the gap is the least of 3 - 2 and 5 - 3,
    while the lattice has 1. Without BOS every level can be largest: 2 - 0 and 5 - 2."""
    pairs = [({"1": 1}, {"b": 2, "c": 5, "begin": 3})]
    with_bos, bare = rows_of(of_letters(pairs)), rows_of(of_letters(pairs, bos=False))
    assert {min(map(Fraction, row.gaps)) for row in with_bos.values()} == {1}  # type: ignore[arg-type]
    assert {min(map(Fraction, row.gaps)) for row in bare.values()} == {2}  # type: ignore[arg-type]
    assert all(row.rules == (RULE,) for row in bare.values())


def test_levels_without_a_known_order_are_refused() -> None:
    """[a] and [b] (i/n + 1/2) for a query at i: their order changes in the middle of a word."""
    program = of_letters([({"1": 1}, {"a": 1}), ({"p": 1}, {"b": 1})], bos=False)
    for text, known in (("i/n+1/2", False), ("i/n+1", True), ("1/(2*n)", True)):
        encodings = (Encoding("1", parse_arith("0")), Encoding("p", parse_arith(text)))
        changed = replace(program, encodings=encodings, coordinates=("1", *LETTERS, "p", "out"))
        law, (layer,) = law_of(changed).more, changed.layers
        rows = TypedRows(law.world, layer.heads[0], law.world.places[1], law.layers[0].types)
        if known:
            assert rows.row().rules == (RULE,)
        else:
            assert "order" in raised(NotProved, rows.row).reason


def test_exclusive_values_that_a_head_picks_stay_exclusive() -> None:
    """The symbol before, as three Booleans of one head: at most one is 1, also in scores of the next layer."""
    text = (
        "alphabet: a b c\np(i) := rightmost_j[j<i, 1] in(j) : 'a'\n"
        "k(i) := count_j[j<=i, p(j) = p(i)]\nY(i) := k(i) > 1\n"
    )
    law = law_of(compile_program(parse_program(text)).model)
    (rows,) = (layer.heads["k: share"].rows for layer in law.more.layers if "k: share" in layer.heads)
    assert all(row.first for order, row in rows.items() if order)
    assert rows[2].rules == (RULE,)


def test_sets_of_propositions_have_independent_parts() -> None:
    """The propositions p and q are independent."""
    alphabet = Valuations(["p", "q", "r", "s"], [])
    letters = tuple(Letter(name, alphabet.holding(name)) for name in alphabet.props)
    head = Head(
        "h", Mask.NONE, Weighting.AVERAGE, (("out", Affine.coordinate("p")),),
        tuple((Affine.coordinate(name), Affine.coordinate(name)) for name in ("p", "q")),
    )  # fmt: skip
    program = Program(alphabet, letters, (), (ProgramLayer((head,)),), "out", threshold=HALF)
    tables = law_of(program).more.layers[0].types
    joint = tables.joint([Affine.coordinate(name) for name in ("p", "q")], 1)
    assert sorted(joint or []) == [(0, 0), (0, 1), (1, 0), (1, 1)]


# ---- tables ----


def test_tables_drop_what_does_not_matter() -> None:
    """[a] + [b] + [c] is 1 for every letter; [a] of one source and a Boolean of another have four joint values."""
    letters = [TypeTable((("symbol",),), (3,), tuple(int(k == own) for k in range(3))) for own in range(3)]
    assert combined((letter, 1) for letter in letters) == TypeTable.constant(1)
    boolean = TypeTable((("x",),), (2,), (0, 1))
    found = combined([(letters[0], 2), (boolean, 1)], 5)
    assert found is not None
    assert sorted(found.values) == [5, 5, 6, 6, 7, 8]
    assert combined([(None, 1)]) is None
    assert combined([(None, 0), (boolean, 1)]) == boolean


def test_a_table_that_is_too_large_is_none() -> None:
    many = [TypeTable(((str(k),),), (2,), (0, 1)) for k in range(10)]
    assert combined((table, 1) for table in many[:9]) is not None
    assert combined((table, 1) for table in many) is None


def test_a_free_number_has_few_values_or_no_table() -> None:
    assert free(NumberSpan(-1, 1, -1, 2), ("x",)) == TypeTable((("x",),), (2,), (-1, 1))
    assert free(NumberSpan(0, 1, 0, Fraction(1, 3)), ("x",)) == TypeTable(
        (("x",),), (4,), (0, Fraction(1, 3), Fraction(2, 3), 1)
    )
    assert free(NumberSpan(0, 100, 0, 1), ("x",)) is None
    assert free(NumberSpan(0, 1), ("x",)) is None
    assert free(NumberSpan.exactly(7), ("x",)) == TypeTable.constant(7)


# ---- counts ----

COUNTS = {
    "1": "in(j) = in(i)",
    "j<i": "in(j) != in(i)",
    "j<=i": "(Q_a(j) | Q_b(j)) <-> (Q_a(i) | Q_b(i))",
    "j>i": "r(in(j), in(i))",
    "j>=i": "in(j) = in(i) & (p(i) <-> p(j))",
}
"""Scores that depend on i, by mask: letters, classes of letters, a relation, and a Boolean of an earlier head."""


@pytest.mark.parametrize("mask", COUNTS)
def test_counts_whose_score_depends_on_i_are_proved(mask: str) -> None:
    """The share of BOS is 1/(k + 1), since it is always among the largest."""
    program = parse_program(
        "alphabet: a b c\nrel r = { 'a' 'b', 'b' 'c' }\np(i) := rightmost_j[j<i, Q_a(j)] pos(j) > 1 : false\n"
        f"k(i) := count_j[{mask}, {COUNTS[mask]}]\nY(i) := k(i) >= 2\n"
    )
    model = compile_program(program).model
    law = law_of(model)
    assert law.facts(5).distance == HALF
    for n in range(1, 4):
        words = list(product(LETTERS, repeat=n))
        contain(law.facts(n), measure(model, words, ExactModel(model).run(words)))


# ---- one value at all maxima ----


def sided(score: dict[str, int], value: dict[str, int]) -> Program:
    """Return a program with a leftmost head over letters whose score depends on the key alone."""
    program = of_letters([({"1": 1}, score)], bos=False)
    ((head,),) = (layer.heads for layer in program.layers)
    changed = replace(head, weighting=Weighting.LEFTMOST, values=(("out", Affine.of(value)),))
    return replace(program, layers=(ProgramLayer((changed,)),))


def test_a_leftmost_head_whose_maxima_have_one_value_is_an_average_head() -> None:
    """The score determines the letter that is read if a, b and c have different scores; if b and c share one, b and c
    must have the same value.
    """
    for score, value, one in (
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"b": 1, "c": 1}, True),
        ({}, {"a": 1}, False),
        ({}, {"1": 1}, True),
    ):
        program = sided(score, value)
        law, (head,) = law_of(program), program.layers[0].heads
        assert law.may_tie(head) is not one
        averaged = replace(program, layers=(ProgramLayer((replace(head, weighting=Weighting.AVERAGE),)),))
        for n in range(1, 4):
            words = list(product(LETTERS, repeat=n))
            outputs = [ExactModel(model).run(words).columns["out"] for model in (program, averaged)]
            same = all(outputs[0].at(k, i) == outputs[1].at(k, i) for k in range(len(words)) for i in range(n))
            assert same or not one
            contain(law_of(averaged).facts(n), measure(averaged, words, ExactModel(averaged).run(words)))
        assert (law_of(averaged).facts(3).distance == HALF) is one


@pytest.mark.parametrize("count", [6, pytest.param(120, marks=pytest.mark.slow)])
def test_the_facts_of_changed_programs_contain_those_of_words(count: int) -> None:
    """A changed program has another coefficient of a score or a hidden unit, or another mask of a head."""
    text = (
        "alphabet: a b c\np(i) := rightmost_j[j<i, 1] in(j) : 'a'\n"
        "k(i) := count_j[j<=i, p(j) = in(i)]\nY(i) := k(i) > 1\n"
    )
    model, recognised = compile_program(parse_program(text)).model, 0
    for program in mutants(model, Random(3), count):
        try:
            law = law_of(program)
        except NotProved:
            continue
        recognised += 1
        for n in range(1, 4):
            words = list(product(LETTERS, repeat=n))
            contain(law.facts(n), measure(program, words, ExactModel(program).run(words)))
    assert recognised > count // 3
