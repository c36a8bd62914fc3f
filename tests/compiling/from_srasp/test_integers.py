"""Tests of integer outputs: hard attention gives n times the coordinate exactly, and the facts known without running
hold.
"""

from fractions import Fraction

import pytest

from tests.compiling.from_srasp.harness import agree, words_to
from tests.support.check import law_of
from tests.support.language import parse_program
from tests.support.model import ExactModel, compile_program, measure

OUTPUTS = [
    "pos(i)",
    "0",
    "0 - 3",
    "+Q_a(i)",
    "2 * s(i) - 5",
    "7 * s(i) - len(i) + (Q_a(i) ? pos(i) : -2)",
    "Q_b(i) ? s(i) : 100 * pos(i)",
]


@pytest.mark.sweep
@pytest.mark.parametrize("expression", OUTPUTS)
@pytest.mark.parametrize("pad", ["", "pad: len + 2\n"])
def test_integer_outputs(expression: str, pad: str) -> None:
    program = parse_program(
        f"alphabet: a b\n{pad}s(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)\nY(i) := {expression} + (s(i) > s(i) ? 1 : 0)\n"
    )
    compiled = compile_program(program)
    assert compiled.model.integers
    assert (compiled.guards, agree(program, words_to(program, 5), compiled).compared) == ((), 62)
    model = compiled.model
    for n in (3, 4):
        words = [(*word, *["#"] * (2 if pad else 0)) for word in words_to(program, n) if len(word) == n]
        size = len(words[0])
        measured, known = measure(model, words, ExactModel(model).run(words)), law_of(model).facts(size)
        # an integer over n is half a step of 1/n away from rounding to another integer
        assert measured.distance == known.distance == Fraction(1, 2 * size)
