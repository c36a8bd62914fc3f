"""Tests of integers that leave [-n, n]: the static warnings, and the error with word, position and vector."""

from itertools import product

import pytest

from hardsim.compiling.from_srasp.compile import Compiled
from tests.compiling.from_srasp.harness import raises_out_of_range
from tests.support.language import OutOfRange, ProgramOracle, parse_program
from tests.support.model import ExactModel, compile_program

DOUBLE = "alphabet: a b\nd(i) := psum_j[j<=i] (Q_a(j) ? 2 : 0)\nY(i) := d(i) = 2\n"


def text_of(compiled: Compiled, word: str) -> str:
    """Return the message of the error for a word that leaves the range, else an empty text."""
    error = raises_out_of_range(compiled, tuple(word))
    return "" if error is None else error.message


def test_a_prefix_sum_above_n() -> None:
    compiled = compile_program(parse_program(DOUBLE))
    (warning,) = compiled.warnings
    assert warning == "the prefix sum of the vector d may leave [-n, n] on some words, which is then an error"
    assert raises_out_of_range(compiled, ("a", "b")) is None
    error = raises_out_of_range(compiled, ("b", "a", "a", "a"))
    assert error is not None
    assert error.message == "word 'baaa': the prefix sum of the vector d is 6 at position 4, outside [-4, 4]"
    assert "pad the word" in error.hint


def test_a_prefix_sum_below_minus_n() -> None:
    text = "alphabet: a b\nd(i) := psum_j[j<=i] (Q_a(j) ? pos(j) - 4 : 0)\nY(i) := d(i) = 2\n"
    assert "the vector d is -3 at position 1, outside [-2, 2]" in text_of(compile_program(parse_program(text)), "aa")


def test_the_check_names_exactly_the_words_that_the_oracle_sees_leave() -> None:
    program = parse_program(DOUBLE)
    compiled, oracle = compile_program(program), ProgramOracle(program)
    leaving = 0
    for n in range(1, 6):
        for word in product("ab", repeat=n):
            values = [int(value) for value in oracle.run(word)["d"]]
            first = next((i for i, value in enumerate(values, 1) if abs(value) > n), None)
            error = raises_out_of_range(compiled, word)
            assert (error is None) == (first is None)
            if error is not None:
                leaving += 1
                assert f"position {first}," in error.message
    assert leaving == 1 + 1 + 4 + 5 + 16  # words of length n with more than n/2 letters a


def test_the_first_word_of_a_batch_is_named() -> None:
    compiled = compile_program(parse_program(DOUBLE))
    words = [("a", "b", "b"), ("b", "a", "a"), ("a", "a", "a")]
    trace = ExactModel(compiled.model).run(words)
    with pytest.raises(OutOfRange, match=r"word 'baa': .* is 4 at position 3, outside \[-3, 3\]"):
        compiled.check_ranges(words, trace)


@pytest.mark.parametrize(
    ("score", "word", "value", "position"),
    [("c(j) >= 2 * c(i)", "aab", 4, 2), ("2 * c(j) >= c(i)", "aab", 4, 2), ("c(j) - 2 * pos(j) <= c(i)", "bb", -4, 2)],
)
def test_an_integer_that_is_ordered(score: str, word: str, value: int, position: int) -> None:
    text = f"alphabet: a b\nc(i) := psum_j[j<=i] Q_a(j)\nY(i) := leftmost_j[1, {score}] 1 : 0\n"
    compiled = compile_program(parse_program(text))
    assert compiled.warnings == (
        "an integer compared in the score of the vector Y may leave [-n, n] on some words, which is then an error",
    )
    message = f"an integer compared in the score of the vector Y is {value} at position {position},"
    assert message in text_of(compiled, word)


def test_integers_that_are_equal_outside() -> None:
    """The network cannot see that 2 c(i) = 4 = pos(j) + c(j) at i = j = n = 2; each side alone is refused, too."""
    text = "alphabet: a b\nc(i) := psum_j[j<=i] Q_a(j)\nY(i) := leftmost_j[1, 2 * c(i) = pos(j) + c(j)] 1 : 0\n"
    program = parse_program(text)
    compiled = compile_program(program)
    assert len(compiled.warnings) == 1
    message = "an integer compared in the score of the vector Y is 4 at position 2, outside [-2, 2]"
    assert message in text_of(compiled, "aa")
    # pos(j) + c(j) = 3 at j = 2, but 2 c(i) is 2 at most
    assert "is 3 at position 2, outside [-2, 2]" in text_of(compiled, "ba")
    assert text_of(compiled, "bb") == ""
    trace = ExactModel(compiled.model).run([("a", "a")])
    assert compiled.vectors["Y"].values(trace, 0) != ProgramOracle(program).run("aa")["Y"]


def test_no_warning_where_nothing_can_leave() -> None:
    text = (
        "alphabet: a b\nc(i) := psum_j[j<=i] Q_a(j)\ns(i) := psum_j[j<=i] (Q_a(j) ? 1 : -1)\n"
        "x(i) := leftmost_j[1, c(j) = s(i)] 1 : 0\ny(i) := leftmost_j[1, c(j) >= pos(i)] 1 : 0\n"
        "z(i) := leftmost_j[1, pos(j) = len(i) + 1 - pos(i)] 1 : 0\nY(i) := x(i) | y(i) | z(i)\n"
    )
    compiled = compile_program(parse_program(text))
    assert (compiled.warnings, compiled.guards) == ((), ())


def test_the_first_word_outside_is_named_with_its_place() -> None:
    """d is twice the number of a's: 2 on the word a, of length 1.

    e is never outside, as n is at least 2 where e is 2, but the analysis does not know that.
    """
    (limit,) = compile_program(parse_program(DOUBLE)).limits()
    assert limit == (
        "line 2: the prefix sum of the vector d may leave [-n, n] on some words, which is then an error; first at "
        "length 1, on the word 'a'\n  d(i) := psum_j[j<=i] (Q_a(j) ? 2 : 0)\n          ^^^^^^"
    )
    text = "alphabet: a b\ne(i) := psum_j[j<=i] (Q_a(j) & pos(j) = 2 ? 2 : 0)\nY(i) := e(i) = 2\n"
    (limit,) = compile_program(parse_program(text)).limits()
    assert limit.startswith("line 2: the prefix sum of the vector e may leave")
    # 2 + 4 + ... + 128 = 254 words are tried, and 256 more would be too many
    assert "on no word up to length 7\n" in limit


def test_what_an_earlier_limit_hides_is_not_reported_as_in_range() -> None:
    text = f"{DOUBLE.rpartition('Y(i)')[0]}Y(i) := leftmost_j[1, d(i) = pos(j) + d(j)] 1 : 0\n"
    first, second = compile_program(parse_program(text)).limits()
    assert "first at length 1, on the word 'a'" in first
    assert "; on no word" not in second
