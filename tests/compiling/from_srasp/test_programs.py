"""Tests of the shipped programs as hard attention, Dyck-2 in depth, and random programs."""

import json
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings

from hardsim.lang.ast import SraspProgram
from hardsim.network.reader import Reader
from hardsim.network.store import read_transformer, transformer_json
from hardsim.program.file import program_json, read_program
from tests.compiling.from_srasp.harness import BATCH, agree, batches, check_gaps, words_to
from tests.programs.reference import dyck
from tests.programs.shipped import NAMES, expected, long_words, program_of, words_of
from tests.support.hard_runs import outputs_of
from tests.support.language import Unsupported, parse_arith
from tests.support.model import ExactModel, assemble, compile_program
from tests.support.srasp_strategies import Shape, programs


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("longest", "of_square", "most"), [(4, 4, 400), pytest.param(7, 5, 10_000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", NAMES)
def test_shipped_programs(name: str, longest: int, of_square: int, most: int) -> None:
    """Every word to a length, or random words where there are more; no shipped program leaves its range."""
    program = program_of(name)
    words = list(words_of(program, of_square if name == "marked_square" else longest, most))
    found = agree(program, words)
    assert (found.compared, found.out_of_range) == (len(words), 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_program_can_be_written_and_read(name: str) -> None:
    model = compile_program(program_of(name)).model
    text = json.dumps(program_json(model))
    assert read_program(Reader(json.loads(text), "model"), once=False) == model
    soft = assemble(model, parse_arith("1/n"))
    text = json.dumps(transformer_json(soft))
    assert read_transformer(Reader(json.loads(text), "model")) == soft


def test_dyck_2() -> None:
    """Dyck-2 is right on all 5,460 words to length 6, in 6 layers of which 5 attend, with gap 1/(8 n^3) from n = 3.

    From n = 3 on a word can have two equal depths at different positions, and then the tie-break of neighbouring
    positions decides: (1/n^2)(1/n)/8.
    """
    compiled = compile_program(program_of("dyck2"))
    layers = compiled.model.layers
    assert (len(layers), sum(bool(layer.heads) for layer in layers)) == (6, 5)
    model, accepts = ExactModel(compiled.model), dyck("()", "[]")
    gaps: dict[int, Fraction] = {}
    count = 0
    for n in range(1, 7):
        words = list(product("()[]", repeat=n))
        for start in range(0, len(words), BATCH):
            batch = words[start : start + BATCH]
            trace = model.run(batch)
            compiled.check_ranges(batch, trace)
            check_gaps(compiled, trace, gaps)
            verdicts = [compiled.model.verdict(output) for output in outputs_of(model.program, trace)]
            assert verdicts == [accepts("".join(word)) for word in batch]
            count += len(batch)
    assert count == 5460
    assert {n: gap for n, gap in gaps.items() if n >= 3} == {n: Fraction(1, 8 * n**3) for n in range(3, 7)}


def test_dyck_2_on_long_words() -> None:
    """Random words to length 64, balanced ones and ones with a wrong symbol."""
    compiled = compile_program(program_of("dyck2"))
    model = ExactModel(compiled.model)
    members = 0
    for batch in batches(compiled, long_words("dyck2", 64, 200)):
        trace = model.run(batch)
        compiled.check_ranges(batch, trace)
        needed = [expected("dyck2", word) for word in batch]
        assert [compiled.model.verdict(output) for output in outputs_of(model.program, trace)] == needed
        members += sum(map(bool, needed))
    assert 50 < members < 150


def test_activations_are_bounded() -> None:
    """X = O(1): the largest activation of Dyck-2 does not grow with n."""
    model = ExactModel(compile_program(program_of("dyck2")).model)
    largest = {}
    for n in (4, 16, 48):
        trace = model.run(["(" * n, "([" * (n // 4) + "])" * (n // 4), ")" * n])
        largest[n] = max(column.magnitude for layer in trace.layers for column in layer.columns.values())
    assert max(largest.values()) <= 2


@pytest.mark.parametrize(
    ("shape", "examples", "words"),
    [(Shape(vectors=5), 30, 30), pytest.param(Shape(vectors=7, depth=3), 3000, 0, marks=pytest.mark.slow)],
)
def test_random_programs(shape: Shape, examples: int, words: int) -> None:
    """A random program agrees with the oracle wherever it compiles and stays in range."""
    seen: Counter[str] = Counter()

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs(shape))
    def check(program: SraspProgram) -> None:
        try:
            compiled = compile_program(program)
        except Unsupported:
            seen["refused"] += 1
            return
        found = agree(program, words_to(program, 5), compiled)
        seen["compiled"] += 1
        seen["words"] += found.compared

    check()
    assert seen["compiled"] > 2 * seen["refused"]
    assert seen["words"] > words * seen["compiled"]


@pytest.mark.slow
def test_random_programs_without_integers_always_compile() -> None:
    """In B-RASP nothing is refused, and nothing can leave a range."""

    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs(Shape(integers=False)))
    def check(program: SraspProgram) -> None:
        compiled = compile_program(program)
        assert (compiled.guards, compiled.warnings) == ((), ())
        assert agree(program, words_to(program, 5), compiled).compared == 62

    check()
