"""C-RASP programs: the oracle and the formula on all short words, own predicates, refusals, and errors with their
place.
"""

import pickle
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings

from hardsim.lang.crasp.crasp_parser import parse_crasp
from hardsim.lang.crasp.formula import as_formula
from hardsim.lang.crasp.oracle import CraspOracle
from tests.support.crasp_definitions import Tree, conditions, programs, value
from tests.support.language import FormulaFile, InputError, Oracle, SourceError, Unsupported, format_file, parse_text
from tests.support.mistakes import raised

SAMPLES = Path(__file__).parents[4] / "shared" / "crasp"
BALANCED = """// Balanced brackets
Opened = # "("
V = Opened < #")"   // somewhere more are closed
D = (# V == 0) && (Opened == #")")
"""
SQUARES = '#import pred4\nsame = "a" && #[pred4] "a" == 1 || "b" && (#[pred4] "b") == 1\nL = 2*#same == #true\n'
EVEN = '#import pos_even\n#import pred\nD = (!pos_even) && # !"a" == 0 // positions are from 0\nunused = #[pred] "a"\n'
HALF = 'C = #"a"\nD = (C if C >= #"b" - C else #"b" - C)\n'
HALF += 'M = (1 if "a" else 2) * 1 + D >= (3 if 3 <= #true else #true) - (0 if C == 2 else -1)\n'


def balanced(word: str) -> bool:
    depths = [word[:k].count("(") - word[:k].count(")") for k in range(len(word) + 1)]
    return min(depths) == depths[-1] == 0


def half(word: str) -> bool:
    a, b = word.count("a"), word.count("b")
    return (1 if word[-1] == "a" else 2) + max(a, b - a) >= min(3, len(word)) - (0 if a == 2 else -1)


def both(text: str, alphabet: str | None = None) -> tuple[Callable[[tuple[str, ...]], bool], FormulaFile]:
    """Return the oracle and the formula of a program; the formula is parsed from its printed text."""
    program = parse_crasp(text, "program.cr", alphabet)
    made = as_formula(program)
    again = parse_text(format_file(made))
    assert (again.lets, again.formula) == (made.lets, made.formula)
    return CraspOracle(program).accepts, again


@pytest.mark.parametrize(
    ("text", "alphabet", "expected", "longest"),
    [
        (BALANCED, None, balanced, 9),
        (SQUARES, None, lambda word: len(word) == 8 and word[:4] == word[4:], 9),
        (EVEN, "a b", lambda word: word.count("a") == len(word) and len(word) % 2 == 0, 6),
        (HALF, None, half, 8),
        ('pred back(k, m) = k + 1 - m == 3\nL = #[back] "a" == #"b"', None,
         lambda word: word[-3:-2].count("a") == word.count("b"), 7),
        ('pred T(i, j) = j mod 3 == 1\npred S(n) = n * n > 7\npred R(i, j) = i >= 2\npred Q_(i, j) = i == 2 + j\n'
         'L = #[T] "a" == 1 && S && #[R] "b" == #[Q_] "b" + 1', None,
         lambda word: word[1::3].count("a") == 1 < len(word) - 2 and word.count("b") == word[-3:-2].count("b") + 1, 8),
        ('W = "X"\nX = "W" && #W == 1\nQ_ = !X\nODD = Q_ || "W"\nM = "X" && #ODD == #X + 1', None,
         lambda word: word[-1] == "X" and 1 + sum(word[k] == "W" and word[:k].count("X") == 1 for k in range(len(word)))
         == len(word), 7),
    ],
    ids=["balanced", "squares", "even", "cases", "back", "predicates", "names"],
)  # fmt: skip
def test_what_programs_say(text: str, alphabet: str | None, expected: Callable[[str], bool], longest: int) -> None:
    oracle, formula = both(text, alphabet)
    meaning, copy = Oracle(formula), pickle.loads(pickle.dumps(oracle))
    for n in range(1, longest + 1):
        for word in product(formula.alphabet, repeat=n):
            assert oracle(word) == copy(word) == meaning.accepts(word) == expected("".join(word)), word


def require(text: str, answer: Tree, longest: int) -> None:
    """Compare the oracle and the formula of a program with the definitions on all words over a and b up to a
    length.
    """
    try:
        oracle, formula = both(text, "a b")
        judges = [oracle, Oracle(formula).accepts]
    except Unsupported as refusal:
        if not refusal.message.startswith(("more than 64 cases", "a count with choices")):
            raise
        judges = [CraspOracle(parse_crasp(text, "program.cr", "a b")).accepts]
    for n in range(1, longest + 1):
        for word in product("ab", repeat=n):
            assert {judge(word) for judge in judges} == {bool(value(answer, word, n - 1))}, word


@given(programs())
def test_the_oracle_and_the_formula_say_what_the_definitions_do(program: tuple[str, Tree]) -> None:
    require(*program, longest=6)


@given(conditions())
def test_predicates_are_taken_apart_by_distance_and_residue(condition: str) -> None:
    """The conditions, except for `mod`, are also Python expressions with the same meaning."""
    expected = eval(f"lambda i, j: bool({condition.replace('mod', '%')})")
    text = f'pred P(i, j) = {condition}\nL = #[P] "a" == # "b"'
    try:
        oracle, formula = both(text, "a b")
    except Unsupported as refusal:
        if "more than 64 cases" in refusal.message:
            return
        raise
    meaning = Oracle(formula)
    for n in range(1, 8):
        for word in product("ab", repeat=n):
            counted = sum(word[j] == "a" and expected(n - 1, j) for j in range(n))
            assert oracle(word) == meaning.accepts(word) == (counted == word.count("b")), word


@pytest.mark.parametrize(
    ("text", "message", "marked"),
    [
        ("", "the file is empty", ""),
        ('L = "a', "this quote is never closed", '"'),
        ('L = "a" && b', "unknown symbol or name 'b'", "b"),
        ('L = "a" && L', "'L' is defined later (line 1)", "L"),
        ('L = "a"\nL = "b"', "L is defined twice", "L"),
        ('if = "a"', "if is not a name", "if"),
        ('L(i) := "a"', "this line is not a definition", 'L(i) := "a"'),
        ('L := #[j <= i] "a" == 1', "unknown operator [", "["),
        ('L :== "a"', "this line is not a definition", 'L :== "a"'),
        ('L = "a" = "b"', "unknown operator =", "="),
        ('L = "a" + 1 == 2', '"a" is a formula, and a number is needed here', '"a"'),
        ('L = #"a"', "no line is a Boolean; the last Boolean is the answer", ""),
        ('L = #"a" && "b"', '#"a" is a number, and a formula is needed here', '#"a"'),
        ('L = "1" && 1', "1 is a number, and a formula is needed here", "1"),
        ('L = #"a" * #"b" == 1', 'a product of two terms, neither of them an integer: #"a" * #"b"', "*"),
        ('L = min(1) == 1 && "a"', "min of one operand", ")"),
        ('L = 1 + max(#"a", min(#"a", 2), (3)) == 1', "max of more than two operands", ","),
        ('L = max("a", 2) == 1', '"a" is a formula, and a number is needed here', '"a"'),
        ('L = min == 1 && "a"', "missing operand before ==", "=="),
        ('L = "a" && (1, 2) == 1', "a comma is allowed only between the operands of min and max", ","),
        ('L = (#"a" == 1', "this bracket is never closed: (", "("),
        ('L = (1 if "a") == 1', "a conditional without an alternative", ")"),
        ('L = 1 if "a"', "a conditional without an alternative", ""),
        ('L = min(1 if "a", 2) == 1', "a conditional without an alternative", ","),
        ('L = 1 if ("a" && (1 if "a" else 2) == 1)', "a conditional without an alternative", ""),
        ('L = 1 if "a" else', "missing operand after else", ""),
        ('L = "a" && ', "missing operand after &&", ""),
        ('L = "a" < 1 < 2', "comparisons cannot be chained", "<"),
        ('L = #[pred] "a" == 1', "pred is not a predicate of i and j", "#[pred]"),
        ('#import near\nL = #[near] "a" == 1', "near cannot be imported: there is no such predicate", "near"),
        ('#import pred.py\nL = "a"', "this line is not a definition", "#import pred.py"),
        ("L = 'a' && \"b\"", "unknown operator '", "'"),
        ('L = #"a" % 2 == 0', "unknown operator %", "%"),
        ('#"(" == #")"', 'this line is not a definition', '#"(" == #")"'),
        ("#'a' > 2", 'this line is not a definition', "#'a' > 2"),
        ('#x > #y', 'this line is not a definition', '#x > #y'),
        ('#[i < j] "a" > 0', 'this line is not a definition', '#[i < j] "a" > 0'),
        ('# "a" >= 1', 'this line is not a definition', '# "a" >= 1'),
        ('#(x & y) > 1', 'this line is not a definition', '#(x & y) > 1'),
        ('"a"', 'this line is not a definition', '"a"'),
        ('# a comment\nL = "a"', "# does not begin a comment here", "#"),
        ('L = "a"\nalphabet: a', "header lines must come first", "alphabet"),
        ('at: first\nL = "a"', "unknown header key 'at'", "at"),
        ('alphabet: b\nL = "a"', "unknown symbol 'a'", '"a"'),
        ('accept: ab\nL = "a"', "'b' is not a symbol of the alphabet", "b"),
        ("L = 1 == 1", "the program mentions no symbol", ""),
        ('#import pred\nL = pred && "a"', "pred has two arguments", "pred"),
        ('#import pos_even\nL = #[pos_even] "a" == 1', "pos_even is not a predicate of i and j", "#[pos_even]"),
        (f'pred P(i, j) = j == i{" + 1" * 100}\nL = "a"', "a condition of more than 200 words and signs",
         f"j == i{' + 1' * 100}"),
        ("pred P(i, i) = i == 1", "a predicate has one argument, i, or two, i and j <= i", "i, i"),
        ("pred P(i) = i == n", "unknown name 'n'", "n"),
        (f'L = {"!" * 101}"a"', "nesting beyond 100 levels", '"a"'),
        ('L = 1.5 == #"a"', "not an integer", "1.5"),
    ],
)  # fmt: skip
def test_mistakes_are_shown_with_their_place(text: str, message: str, marked: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_crasp(text, "program.cr")
    error = caught.value
    shown = error.source.text[error.span.start : error.span.end].strip()
    assert (error.message, shown) == (message, marked)
    assert error.expected or error.hint


def test_the_alphabet_is_what_occurs_or_is_given() -> None:
    text = 'L = "b" && #"a" == 1'
    assert parse_crasp(text).alphabet == ("b", "a")
    assert parse_crasp(text, "x.cr", "a b c").alphabet == ("a", "b", "c")
    with pytest.raises(SourceError, match="unknown symbol 'b'"):
        parse_crasp(text, "x.cr", "a c")
    assert parse_crasp(f"alphabet: a b c\n{text}").alphabet == ("a", "b", "c")
    with pytest.raises(SourceError, match="the alphabet is also given as a b"):
        parse_crasp(f"alphabet: a b c\n{text}", "x.cr", "a b")
    with pytest.raises(InputError, match="the alphabet is empty"):
        parse_crasp(text, "x.cr", "")
    with pytest.raises(InputError, match="the symbol 'c' is not in the alphabet"):
        CraspOracle(parse_crasp(text)).accepts(("c",))


# The program accepts 1111 0000; its comment and its tests cover x <= 14, where no carry is lost.
CASES: dict[str, Callable[[str], bool]] = {
    "aa_star_h25": lambda word: set(word) == {"a"} and len(word) % 2 == 0,
    "contains_ab_h25": lambda word: "ab" in word,
    "copy4": lambda word: len(word) == 8 and word[:4] == word[4:],
    "count3_yc24": lambda word: word == "".join(symbol * (len(word) // 3) for symbol in "abc"),
    "dyck1_yc24": balanced,
    "increment": lambda word: word in {f"{x:04b}"[::-1] + f"{(x + 1) % 16:04b}"[::-1] for x in range(16)},
}


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the public programs lie beside the project")
@pytest.mark.parametrize(("name", "expected"), CASES.items(), ids=CASES)
def test_public_programs(name: str, expected: Callable[[str], bool]) -> None:
    oracle, formula = both((SAMPLES / f"{name}.cr").read_text())
    meaning, longest = Oracle(formula), 8 if len(formula.alphabet) < 3 else 5
    words = [word for n in range(1, longest + 1) for word in product(formula.alphabet, repeat=n)]
    longer = ("abcaabca", "abcaabcb", "bbbbbbbb", "aabbcc", "aabcbc") if longest == 5 else ()
    for word in [*words, *map(tuple, longer)]:
        assert oracle(word) == meaning.accepts(word) == expected("".join(word)), word


def test_definitions_of_papers_are_read() -> None:
    read, written = (parse_crasp(f'C {sign} #"a"\nL {sign} C == #"b"\n') for sign in (":=", "="))
    assert (read.alphabet, read.lets, read.formula) == (written.alphabet, written.lets, written.formula)


def test_an_own_predicate_may_be_imported_too() -> None:
    oracle, _ = both('#import pos_even\npred pos_even(i) = i mod 3 == 0\nL = pos_even && # "a" > 0')
    assert [oracle(("a",) * n) for n in range(1, 6)] == [True, False, False, True, False]


def test_a_note_where_the_public_interpreter_reads_something_else() -> None:
    (note,) = parse_crasp('A = "a"\nL = A && !A && A || (!A) && !(A && A)', alphabet="a b").notes
    assert note.startswith("line 2: !A && ... is read as (!A) && ...; the public interpreter reads !(A && ...)")


def test_a_program_over_the_only_symbol_that_it_mentions_says_so() -> None:
    text = 'C = # "a"\nY = C == 1'
    (note,) = parse_crasp(text).notes
    assert note.startswith("no alphabet is declared, and a is the only symbol mentioned: words have no other symbol")
    assert parse_crasp(text, alphabet="a b").notes == parse_crasp(f"alphabet: a\n{text}").notes == ()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("C_( := # Q_(", "C_( is not a name"),
        ('true = "a"', "this word is reserved"),
        ('Y = #"a" < 1 < 2', "write ... < ... && ... < ..."),
        ('Y = max(1, 2, #"a") == 1', "write max(A, max(B, C))"),
        ('(1) C := # "a"', "remove the line number"),
        ('3. C := # "a"', "remove the line number"),
        ('let C = # "a"', "remove the line number or the word"),
        ('Y = # "a" > 1;', "has no mark at its end"),
        ('Y = # "a" ≤ 1', "<="),
        ('Y = "a" ∧ "b"', "&&"),
        ('Y = ¬"a"', "!"),
        ('C = # "a"\nY = C > 1 ? 1 : 0', "A if X else B"),
    ],
)
def test_the_notation_of_papers_is_refused_with_what_to_write(text: str, hint: str) -> None:
    assert hint in raised(SourceError, parse_crasp, text).hint


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('pred P(i, j) = (i - j) mod 2 == i\nL = #[P] "a" == 1', "#[P] has no construction: it compares"),
        ('pred P(i, j) = i == j * j\nL = #[P] "a" == 1', "#[P] has no construction: it compares"),
        ('pred P(i, j) = i div 2 == j\nL = #[P] "a" == 1', "#[P] has no construction: it compares"),
        ('pred P(i, j) = j + j == i\nL = #[P] "a" == 1', "#[P] has no construction"),
        ('pred P(i, j) = j + i == i + j\nL = #[P] "a" == 1', "#[P] has no construction"),
        ('pred P(i, j) = j == i - 99\nL = #[P] "a" == 1', "it depends on distances i - j greater than 64"),
        ('pred P(i, j) = (i - j) mod 67 == 1\nL = #[P] "a" == 1', "it has more than 64 cases of i"),
        ("L = " + " + ".join(f'(#"a" if #"a" == {k} else 0)' for k in range(7)) + " == 1", "more than 64 cases of if"),
        ('C0 = (1 if "a" else 2)\n' + "".join(f"C{k + 1} = C{k} + C{k}\n" for k in range(50)) + "L = C50 > 0",
         "a count with choices that has more than 1000 nodes"),
        ('A0 = "a"\n' + "".join(f"A{k + 1} = #A{k} > 1\n" for k in range(2501)), "nesting beyond"),
    ],
)  # fmt: skip
def test_what_has_no_formula_still_has_a_meaning(text: str, message: str) -> None:
    program = parse_crasp(text)
    refusal = raised(Unsupported, as_formula, program)
    assert message in refusal.message
    assert refusal.span.end > 0
    assert isinstance(CraspOracle(program).accepts(("a",) * 5), bool)


def test_many_choices_between_integers_are_added_up() -> None:
    """Seven choices would be 128 cases."""
    tests = " + ".join(f'(3 if #"a" == {k} else 2)' for k in range(7))
    oracle, formula = both(f"L = {tests} == 15", "a b")
    meaning = Oracle(formula)
    for word in product("ab", repeat=8):
        assert oracle(word) == meaning.accepts(word) == (word.count("a") < 7)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('L = "a" and "b"', "and is written &&"),
        ('L = "a" || True', "True is written true"),
        ('L = "a" && b', 'the symbol b is written "b"'),
        ('Left = #"a"\nL = Lefd == "a"', "did you mean Left?"),
        ('L = #[pred] "a" == 1', "import it: #import pred"),
        ('L = "a" & "b"', "and is written &&, or is written ||"),
        ('at: last\nL = "a"', "a C-RASP program is read at the last position"),
        ('#import perd\nL = "a"', "did you mean pred?"),
        ('#import near\nL = "a"', "define it in a line of its own: pred near(i, j) = ..."),
        ("L = #a == 1", 'write a symbol as "a", or add a line alphabet: a b'),
        ('L = 1 == (2 if "a" else "b")', "as a count a Boolean is written 1 if X else 0"),
    ],
)
def test_mistakes_come_with_what_to_do(text: str, hint: str) -> None:
    assert raised(SourceError, parse_crasp, text).hint.lower() == hint.lower()


@pytest.mark.slow
def test_the_random_programs_are_not_the_same_few() -> None:
    """Many programs are neither always true nor always false, and have the constructions under test."""
    seen: Counter[str] = Counter()

    @settings(max_examples=80, deadline=None, database=None, derandomize=True)
    @given(programs())
    def each(program: tuple[str, Tree]) -> None:
        text, answer = program
        answers = {value(answer, word, n - 1) for n in range(1, 5) for word in product("ab", repeat=n)}
        body = text.rsplit("\nA =", 1)[1]
        seen.update(part for part in ("#[", " if ", "min(", "max(") if part in body)
        seen["varied"] += len(answers) == 2

    each()
    assert min(seen[part] for part in ("#[", " if ", "varied")) >= 20
    assert seen["min("] + seen["max("] >= 10


@pytest.mark.parametrize(
    ("condition", "counted"),
    [
        ("i == 0 or 6 mod i == 0", lambda i, j: i in (0, 1, 2, 3, 6)),
        ("j > 0 and i - j <= 2 and 6 mod j == 0", lambda i, j: j in (1, 2, 3, 6) and i - j <= 2),
        ("not (i == 0 or 6 mod i != 0) and j < i", lambda i, j: i in (1, 2, 3, 6) and j < i),
    ],
)
def test_conditions_are_guarded_as_they_were(condition: str, counted: Callable[[int, int], bool]) -> None:
    oracle, formula = both(f'pred P(i, j) = {condition}\nL = #[P] "a" >= 2', "a b")
    meaning = Oracle(formula)
    for n in range(1, 9):
        for word in product("ab", repeat=n):
            expected = sum(word[j] == "a" and counted(n - 1, j) for j in range(n)) >= 2
            assert oracle(word) == meaning.accepts(word) == expected, word


def test_a_name_of_an_integer_is_one() -> None:
    oracle, formula = both('N = -2\nTwo = 1 - N - 1\nL = N * #"a" + Two * #"b" == 0 && Two > 0')
    meaning = Oracle(formula)
    for word in product("ab", repeat=6):
        assert oracle(word) == meaning.accepts(word) == (word.count("a") == 3)


def test_examples_and_the_source_are_read() -> None:
    program = parse_crasp('// b last\nalphabet: a b\nsource: nobody\naccept: b ab\nreject: a\nL = "b" // so\n')
    assert (program.title, program.origin) == ("b last", "nobody")
    assert [("".join(one.word), one.accept) for one in program.examples] == [("b", True), ("ab", True), ("a", False)]
