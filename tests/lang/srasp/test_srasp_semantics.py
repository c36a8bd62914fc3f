"""The oracle compared with hand-computed values and independent Python functions."""

from collections.abc import Callable

import pytest

from hardsim.lang.srasp.interpreter import check_program_examples
from hardsim.lang.srasp.padding import LONGEST_PADDED
from tests.programs.reference import dyck, regex
from tests.programs.shipped import DIRECTORY
from tests.support.language import InputError, ProgramOracle, SourceError, parse_program
from tests.support.mistakes import raised
from tests.support.strategies import all_words

DYCK1_DEPTH2 = """\
P_l:=▶[j<i,1]Q_l(j):0
S_r:=◀[i<j,1]Q_r(j):0
I:=(Q_l&S_r)|(P_l&Q_r)
A_r:=◀[i<j,!I(j)]Q_r(j):0
B_l:=▶[j<i,!I(j)]Q_l(j):0
C:=I|(Q_l&A_r)|(Q_r&B_l)
Y:=▶[1,!C(j)]0:1
"""
AB_PLUS = """\
AB:=▶[j<i,1]Q_a(j)&Q_b(i):0
BA:=◀[i<j,1]Q_a(i)&Q_b(j):0
I:=AB|BA
Y:=▶[1,!I(j)]0:1
"""
SIMULATOR = """\
Q_a(i)
Q_b(i)
AB(i) := rightmost [j<i, 1] Q_a(j) & Q_b(i) : 0
BA(i) := leftmost [j>i, 1] Q_a(i) & Q_b(j) : 0
I(i) := AB(i) | BA(i)
Y_?(i) := rightmost [1, !I(j)] 0 : 1
"""
DYCK2 = (DIRECTORY / "dyck2.srasp").read_text(encoding="utf-8")
"""The program of appendix E."""


def shallow(word: str) -> bool:
    depth = 0
    for letter in word:
        depth += 1 if letter == "l" else -1
        if not 0 <= depth <= 2:
            return False
    return depth == 0


@pytest.mark.parametrize(
    ("text", "alphabet", "longest", "language"),
    [
        (DYCK1_DEPTH2, "lr", 10, shallow),
        (AB_PLUS, "ab", 10, regex("(ab)+")),
        (SIMULATOR, "ab", 10, regex("(ab)+")),
        (DYCK2, "()[]", 6, dyck("()", "[]")),
    ],
    ids=["Dyck-1 of depth 2", "(ab)+", "(ab)+ as in the simulator", "Dyck-2"],
)
def test_programs_of_the_papers(text: str, alphabet: str, longest: int, language: Callable[[str], bool]) -> None:
    program = parse_program(text)
    assert program.alphabet == tuple(alphabet)
    oracle = ProgramOracle(program)
    tested = all_words(alphabet, longest)
    assert [word for word in tested if oracle.accepts(word) is not language("".join(word))] == []
    assert any(language("".join(word)) for word in tested)


@pytest.mark.parametrize("variant", ["\ufe0e", "\ufe0f", "_j", "\ufe0f_j"])
def test_forms_of_the_triangle(variant: str) -> None:
    text = AB_PLUS.replace("▶", f"▶{variant}").replace("◀", f"◀{variant}")
    assert parse_program(text) == parse_program(AB_PLUS)


# which j attention finds at i = 1..4 (0: the default) among the positions of a in `abaa`
@pytest.mark.parametrize(
    ("side", "mask", "found"),
    [
        ("leftmost", "1", [1, 1, 1, 1]),
        ("rightmost", "1", [4, 4, 4, 4]),
        ("leftmost", "j<i", [0, 1, 1, 1]),
        ("rightmost", "j<i", [0, 1, 1, 3]),
        ("leftmost", "j<=i", [1, 1, 1, 1]),
        ("rightmost", "j<=i", [1, 1, 3, 4]),
        ("leftmost", "j>i", [3, 3, 4, 0]),
        ("rightmost", "j>i", [4, 4, 4, 0]),
        ("leftmost", "j>=i", [1, 3, 3, 4]),
        ("rightmost", "j>=i", [4, 4, 4, 4]),
    ],
)
def test_attention(side: str, mask: str, found: list[int]) -> None:
    program = parse_program(f"alphabet: a b\noutput: Y\nP := {side}[{mask}, Q_a(j)] pos(j) : 0\nY := P = 0")
    assert ProgramOracle(program).run("abaa")["P"] == found


# the value of V at every position of `abba`
@pytest.mark.parametrize(
    ("right", "values"),
    [
        ("psum[j<=i] Q_a(j)", [1, 1, 1, 2]),
        ("psum_j[j<=i] !Q_a(j)", [0, 1, 2, 2]),
        ("psum_j[i>=j] 1", [1, 2, 3, 4]),
        ("psum[j<=i] pos(j)", [1, 3, 6, 10]),
        ("psum[j<=i] -pos(j) + len(j)", [3, 5, 6, 6]),
        ("psum[j<=i] 1000000000000000000 * pos(j)", [10**18, 3 * 10**18, 6 * 10**18, 10 * 10**18]),
        ("pos + pos", [2, 4, 6, 8]),
        ("2 * pos - len * 3", [-10, -8, -6, -4]),
        ("+Q_a", [1, 0, 0, 1]),
        ("Q_a + Q_a - Q_b", [2, -1, -1, 2]),
        ("-Q_a", [-1, 0, 0, -1]),
        ("Q_b ? pos : -1", [-1, 2, 3, -1]),
        ("Q_b ? 1 : 2", [2, 1, 1, 2]),
        ("1 + (Q_b ? 1 : 0)", [1, 2, 2, 1]),
        ("Q_b ? 1 : 0", [False, True, True, False]),
        ("1", [True] * 4),
        ("0 = 1", [False] * 4),
        ("0 < 1", [True] * 4),
        ("Q_a = 1", [True, False, False, True]),
        ("Q_a != Q_b", [True] * 4),
        ("pos >= 3", [False, False, True, True]),
        ("pos = 1", [True, False, False, False]),
        ("in = 'a'", [True, False, False, True]),
        ("in != 'a'", [False, True, True, False]),
        ("in in {'b'}", [False, True, True, False]),
        ("in in { }", [False] * 4),
        ("'a' in {'a', 'b'}", [True] * 4),
        ("in", ["a", "b", "b", "a"]),
        ("Q_a ? 'b' : 'a'", ["b", "a", "a", "b"]),
        ("in = 'a' ? in : 'a'", ["a"] * 4),
        ("Q_a ^ pos > 1 ^ 1", [False, False, False, True]),
        ("Q_a -> pos = 4", [False, True, True, True]),
        ("Q_a <-> pos = 4", [False, True, True, True]),
        ("pos = 1 -> (Q_b -> 0)", [True] * 4),
        ("Q_a & pos = 1 | Q_b & pos = 2", [True, True, False, False]),
        ("next(in, 'b')", [True, False, False, True]),
        ("one(Q_a ? 'a' : 'b')", [False, True, True, False]),
        ("leftmost[1, pos(j) = pos(i) + 1] in(j) : 'a'", ["b", "b", "a", "a"]),
        ("rightmost[1, in(i) = in(j) & pos(j) != pos(i)] pos(j) - pos(i) : len(i)", [3, 1, -1, -3]),
        ("leftmost[1, pos(j) > pos(i) | len = pos] Q_a(i) & Q_b(j) : Q_b", [True, False, False, False]),
        ("leftmost[1, 0] 0 : Q_a", [True, False, False, True]),
    ],
)
def test_values(right: str, values: list[bool | int | str]) -> None:
    text = f"alphabet: a b\noutput: Y\nrel next = {{'a' 'b'}}\nrel one = {{'b'}}\nV := {right}\nY := in"
    found = ProgramOracle(parse_program(text)).run("abba")["V"]
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


def test_the_output_need_not_be_last_and_is_read_at_the_end() -> None:
    oracle = ProgramOracle(parse_program("output: P(i)\nP := Q_a\nR := Q_b"))
    assert [oracle.accepts(word) for word in ("a", "b", "ab", "ba")] == [True, False, False, True]
    assert oracle.program.notes == ("the output P does not need the vector R",)
    raised(InputError, oracle.output, "a", match="maps no words")


def test_a_transduction() -> None:
    oracle = ProgramOracle(parse_program("alphabet: a b c\nY := leftmost[1, pos(j) = len - pos(i) + 1] in(j) : 'c'"))
    assert oracle.output("aabc") == tuple("cbaa")
    raised(InputError, oracle.accepts, "a", match="accepts no words")


DOUBLE = """\
alphabet: a b
pad: 2*len
map: a -> aa  ab -> abab
half(i) := leftmost[1, in(j) = '#'] pos(j) - 1 : 0
Y(i) := leftmost[1, pos(j) = (pos(i) > half(i) ? pos(i) - half(i) : pos(i))] in(j) : '#'
"""


def test_padding() -> None:
    program = parse_program(DOUBLE)
    check_program_examples(program)
    oracle = ProgramOracle(program)
    assert oracle.run("ab")["Y"] == ["a", "b", "a", "b"]
    assert oracle.run("ab")["half"] == [2, 2, 2, 2]
    assert oracle.output("bba") == tuple("bbabba")
    assert program.symbols == ("a", "b", "#")


def test_blanks_are_positions_and_are_dropped() -> None:
    text = "alphabet: a b\npad: len + 2\nY := pos = len ? '#' : Q_'#' ? 'b' : Q_# ? 'a' : in"
    oracle = ProgramOracle(parse_program(text))
    assert oracle.run("aa")["Y"] == ["a", "a", "b", "#"]
    assert oracle.output("aa") == tuple("aab")
    longer = ProgramOracle(parse_program("alphabet: a\npad: (len*len + len) / 2\nY := len = 6"))
    assert [longer.accepts("a" * n) for n in (1, 2, 3, 4)] == [False, False, True, False]


def test_a_blank_without_padding_is_a_symbol_like_others() -> None:
    oracle = ProgramOracle(parse_program("alphabet: a #\nY := Q_a ? '#' : 'a'"))
    assert oracle.output("a#") == ("#", "a")


@pytest.mark.parametrize(
    ("pad", "message"),
    [
        ("len - 1", "pad: len-1 is 2 for the word 'aba' of length 3: shorter than the word"),
        ("len/2", "pad: len/2 is 3/2 for the word 'aba' of length 3, which is not an integer"),
        ("len^20", f"pad: len^20 is 3486784401 for the word 'aba' of length 3: longer than {LONGEST_PADDED} positions"),
        ("1/(len - 3)", "division by zero in 1 / 0, at len = 3"),
    ],
)
def test_padded_lengths_that_are_none(pad: str, message: str) -> None:
    oracle = ProgramOracle(parse_program(f"alphabet: a b\npad: {pad}\nY := in"))
    assert raised(InputError, oracle.output, "aba").message == message


def test_words_that_are_none() -> None:
    oracle = ProgramOracle(parse_program(DOUBLE))
    for word, message in [("", "the empty word"), ("abc", "the symbol 'c' is not"), ("a#", "the symbol '#' is not")]:
        raised(InputError, oracle.run, word, match=message)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a b\naccept: a ab\nreject: b\nY := Q_a", 2, "the program rejects 'ab', which is listed under 'accept:'"),
        ("a b\naccept: a\nreject: b ba\nY := Q_a", 3, "the program accepts 'ba', which is listed under 'reject:'"),
        ("a b\nmap: a -> a  ab -> ba\nY := in", 2, "the program maps 'ab' to 'ab', but 'map:' expects 'ba'"),
        ("a b\nmap: a ->\nY := in", 2, "the program maps 'a' to 'a', but 'map:' expects ''"),
        ("on off\nmap: on off -> off\nY := in", 2, "the program maps 'on off' to 'on off', but 'map:' expects 'off'"),
        ("a b\npad: len-1\nmap: ab -> b\nY := in", 3, "pad: len-1 is 1 for the word 'ab' of length 2: shorter"),
    ],
)
def test_examples_that_are_wrong(text: str, line: int, message: str) -> None:
    caught = raised(SourceError, check_program_examples, parse_program(f"alphabet: {text}", "f"))
    assert str(caught).startswith(f"f:{line}:")
    assert caught.message.startswith(message)


def test_examples_that_are_right() -> None:
    check_program_examples(parse_program("accept: a ba\nreject: b ab\naccept: bba\nY := Q_a | 0 & Q_b"))
    check_program_examples(parse_program("alphabet: a b\npad: len\nmap: a ->  b -> b  aab -> b\nY := Q_b ? in : '#'"))
