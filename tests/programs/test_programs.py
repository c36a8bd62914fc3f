"""The shipped programs: explained, within the ranges that can be compiled, and right on short and on long words; as
oracle, as hard attention, and as softmax at Theorem 26's temperature.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction

import pytest

from hardsim.api import load
from hardsim.campaign.judges import HardJudge
from hardsim.campaign.preparation import plan_length, prepare_words
from hardsim.lang import ast
from hardsim.lang.srasp.interpreter import check_program_examples
from hardsim.targets.compiled import compile_srasp
from hardsim.targets.result import Answer
from tests.programs.reference import ACCEPTORS, TRANSDUCTIONS
from tests.programs.shipped import DIRECTORY, NAMES, balanced, expected, long_words, program_of, words_of
from tests.support.check import Subject, Tally, Verdict
from tests.support.language import ProgramOracle
from tests.support.sources import load_program

Word = tuple[str, ...]
EVERY = 40_000
"""A limit above the number of words to length 4 for any program."""
MOST = 20_000
"""Largest number of words for one program, where there may be more."""
FEWER = 2_000
"""Largest number of words in every run of the tests, where softmax is run."""


LONGER = [False, pytest.param(True, marks=pytest.mark.slow)]


def all_words(name: str, longer: bool, most: int) -> Iterator[Word]:
    """Yield all words to length 4, or longer if `longer`; at most `most`."""
    return words_of(program_of(name), 4 if not longer else 7 if name in ACCEPTORS else 6, most)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


def agree(name: str, words: Iterator[Sequence[str]]) -> None:
    """Assert that the definitional interpreter answers every word as the independent function does, and not all
    alike.
    """
    program = program_of(name)
    interpreter = ProgramOracle(program)
    seen: set[bool | str] = set()
    for word in words:
        needed = expected(name, word)
        answer = interpreter.accepts(word) if program.is_acceptor else "".join(map(str, interpreter.output(word)))
        assert answer == needed, "".join(word)
        seen.add(needed)
    assert len(seen) > 1


def test_every_program_has_a_function_here_and_every_function_a_program() -> None:
    assert sorted(path.stem for path in DIRECTORY.glob("*.srasp")) == NAMES
    assert len(NAMES) == len(ACCEPTORS) + len(TRANSDUCTIONS) >= 20


def test_a_file_says_what_it_is_and_where_it_comes_from(name: str) -> None:
    path = DIRECTORY / f"{name}.srasp"
    program = load_program(path)
    assert path.read_text(encoding="utf-8").startswith(f"// {program.title}")
    assert len(program.title) >= 15
    assert re.search(r"[A-Z]\w+.* (19|20)\d\d\b", program.origin), "the source line must name an author and a year"
    assert program.notes == ()
    words = [example.word for example in program.examples]
    assert len(set(words)) == len(words)


def test_the_examples_hold_for_program_and_function(name: str) -> None:
    program = program_of(name)
    check_program_examples(program)
    assert program.is_acceptor == (name in ACCEPTORS)
    verdicts: list[bool] = []
    for example in program.examples:
        if isinstance(example, ast.Example):
            verdicts.append(example.accept)
            assert expected(name, example.word) is example.accept
        else:
            assert expected(name, example.word) == "".join(map(str, example.output))
    assert len(program.examples) >= 5
    assert not verdicts or min(verdicts.count(True), verdicts.count(False)) >= 3


@pytest.mark.sweep
@pytest.mark.parametrize("longer", LONGER)
def test_all_words(name: str, longer: bool) -> None:
    agree(name, all_words(name, longer, MOST if longer else EVERY))


def test_long_words_some_of_them_nearly_in_the_language(name: str) -> None:
    longest, count = (9, 8) if name == "marked_square" else (24, 40)
    agree(name, long_words(name, longest, count))


# ---- ranges ----


def nodes(node: object) -> Iterator[object]:
    """Yield a node of the syntax tree and all nodes below it."""
    yield node
    if is_dataclass(node):
        for field in fields(node):
            value = getattr(node, field.name)
            for child in value if isinstance(value, tuple) else (value,):
                if is_dataclass(child):
                    yield from nodes(child)


def bounded(program: ast.SraspProgram) -> set[str]:
    """Return the vectors that must stay in [-n, n]: prefix sums, and the integers that are compared inside scores.
    (The counts shown here compare integers of few values, which have no limit.)

    Positions always do, and the shipped programs compare nothing but vectors there.
    """
    names = {statement.name for statement in program.statements if isinstance(statement.right, ast.PrefixSum)}
    for statement in program.statements:
        if isinstance(statement.right, ast.Attention | ast.MatchMean):
            for node in nodes(statement.right.score):
                if isinstance(node, ast.Compare) and node.left.sort is ast.Sort.INT:
                    for side in (node.left, node.right):
                        assert isinstance(side, ast.Position | ast.Ref)
                        names |= {side.name} if isinstance(side, ast.Ref) else set()
    return names


def test_sums_and_integers_in_scores_stay_within_the_padded_length(name: str) -> None:
    program = program_of(name)
    interpreter, names = ProgramOracle(program), bounded(program)
    for word in (*words_of(program, 4, 2_000), *long_words(name, 9, 20)):
        vectors = interpreter.run(word)
        for vector in names:
            column = vectors[vector]
            assert max(map(abs, map(int, column))) <= len(column), f"{vector} on {''.join(word)}"


# ---- features of the programs ----


def test_every_construct_of_the_language_is_shown_somewhere() -> None:
    programs = [program_of(name) for name in NAMES]
    text = "\n".join((DIRECTORY / f"{name}.srasp").read_text(encoding="utf-8") for name in NAMES)
    found = [node for program in programs for statement in program.statements for node in nodes(statement.right)]
    attention = [node for node in found if isinstance(node, ast.Attention)]
    assert {(node.side, node.mask) for node in attention} >= {
        ("leftmost", "1"), ("leftmost", "j<=i"), ("leftmost", "j>i"),
        ("rightmost", "1"), ("rightmost", "j<i"), ("rightmost", "j<=i"),
    }  # fmt: skip
    compared = [node for each in attention for node in nodes(each.score) if isinstance(node, ast.Compare)]
    forms = {(node.op, node.left.sort) for node in compared}
    assert forms >= {("=", ast.Sort.INT), ("=", ast.Sort.SYMBOL), (">=", ast.Sort.INT)}
    kinds = {type(node) for node in found}
    assert kinds >= {ast.PrefixSum, ast.Conditional, ast.Member, ast.Related, ast.Scale, ast.Length, ast.HasSymbol}
    assert any(program.pad is not None for program in programs)
    assert all(spelling in text for spelling in ("leftmost_j", "rightmost_j", "psum_j", "rel "))


AGGREGATES = (
    "detect_pattern_ab", "frac_prevs", "hist", "make_count", "pair_balance", "shift_by_one", "shuffle_dyck2",
    "sort_unique",
)  # fmt: skip
"""Programs of RASP and Tracr with heads whose maxima are shared, or whose value is a mean."""


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates_are_proved_for_every_length(name: str) -> None:
    found = load(str(DIRECTORY / f"{name}.srasp")).prove(all_n=True)
    assert found.verdict is Verdict.PROVED
    assert found.reach.startswith("every word of every length: softmax answers as hard attention does")


# ---- softmax ----


def judged_by_function(name: str) -> Subject:
    """Return a program whose semantics is the independent function."""
    subject, _ = compile_srasp(program_of(name), name, "")
    integers = subject.program.integers

    def answer(word: Word) -> Answer:
        needed = expected(name, word)
        return needed if isinstance(needed, bool) else tuple(map(int, needed) if integers else needed)

    return replace(subject, oracle=answer)


def compare(subject: Subject, words: Iterable[Word]) -> Iterator[Tally]:
    """Yield, length by length, all answers, and all errors beside their bounds."""
    lengths: dict[int, list[Word]] = defaultdict(list)
    for word in words:
        lengths[len(word)].append(word)
    for n, some in sorted(lengths.items()):
        found, shards, _ = prepare_words(subject, {n: some}, {n: len(some) == len(subject.alphabet) ** n})
        plan = plan_length(found, subject, n)
        assert plan.violation is None, "a declared gap is wrong"
        assert not found.ties
        tally = Tally(n)
        judge = HardJudge(subject, found.program, plan)
        for shard in shards[n]:
            tally.merge(judge.tally(shard.words, shard.known), subject.alphabet)
        assert tally.mismatch is None
        assert tally.undecided == 0
        assert tally.words == len(some)
        coordinates = [place for place in tally.errors if len(place) == 3]
        assert {name for _, _, name in coordinates} == set(found.program.coordinates)
        for number, stage, coordinate in coordinates:
            layer = plan.bounds.layers[number]
            assert tally.errors[number, stage, coordinate].reached <= (layer.attended, layer.final)[stage][coordinate]
        final = plan.bounds.layers[-1].final if plan.bounds.layers else {}
        assert max((final[out] for out in found.program.answers), default=0) <= plan.epsilon <= Fraction(1, 4)
        yield tally


@pytest.mark.sweep
@pytest.mark.parametrize("longer", LONGER)
def test_softmax_on_all_words(name: str, longer: bool) -> None:
    words = list(all_words(name, longer, MOST if longer else FEWER))
    assert sum(tally.words for tally in compare(judged_by_function(name), words)) == len(words)


def dyck_words(n: int, count: int) -> list[Word]:
    """Return balanced words, every other one with one or two symbols changed or exchanged."""
    draw = random.Random(64)
    found: list[Word] = []
    for number in range(count):
        word = balanced(n // 2, "([", n, draw)
        if number % 2:
            first, second = draw.sample(range(n), 2)
            if number % 4 == 1:
                word[first] = draw.choice("()[]")
            else:
                word[first], word[second] = word[second], word[first]
        found.append(tuple(word))
    return found


def test_dyck2_at_64_on_balanced_and_nearly_balanced_words() -> None:
    (tally,) = compare(judged_by_function("dyck2"), dyck_words(64, 200))
    assert tally.words == 200
    assert 100 <= tally.accepted < 200
