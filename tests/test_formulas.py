"""The shipped formulas: each is well-formed, explained, and defines the language that its title names.

Every language is written a second time here, as a regular expression or a small simulation, and compared with the
formula on all short words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, product
from pathlib import Path

import pytest

from hardsim.examples import SUFFIXES
from tests.programs import reference
from tests.support.language import FormulaFile, Oracle, format_file, parse_text
from tests.support.sources import load

DIRECTORY = Path(__file__).parents[1] / "formulas"
FILES = sorted(DIRECTORY.glob("*.ltl"))
LONGEST = {2: 8, 3: 6, 4: 7, 5: 6}
"""The length up to which all words are compared, by the size of the alphabet: 21,844 words at most."""

LONGEST_COUNTING = {2: 10, 3: 10, 4: 8}
"""The length up to which words are compared for formulas that count, by alphabet size: 88,572 words at most."""

Language = Callable[[Sequence[str]], bool]


def spelled(language: Callable[[str], bool]) -> Language:
    """Return a language of words from one of texts; each symbol is spelled by its first letter."""
    return lambda word: language("".join(symbol[0] for symbol in word))


def regex(pattern: str) -> Language:
    return spelled(reference.regex(pattern))


def balanced(*pairs: str) -> Language:
    """Return the language in which each kind of brackets is balanced by itself."""
    return lambda word: all(
        reference.dyck(pair)("".join(symbol for symbol in word if symbol in pair)) for pair in pairs
    )


def hops(count: int) -> Language:
    """Return the language in which the last symbol equals the one `count` hops from the position before it."""
    return lambda word: len(word) > 1 and reference.hops(count)("".join(word))[-2] == word[-1]


def existence_between(word: Sequence[str]) -> bool:
    """Return True if the word is in the language: reading on, a q requires a later p, and no r comes in between."""
    wanting = False
    for symbol in word:
        if symbol == "r" and wanting:
            return False
        wanting = symbol == "q" or (wanting and symbol != "p")
    return True


def automaton(start: str, accepting: str, moves: Mapping[str, str]) -> Language:
    """Return the language of a deterministic automaton; `moves` has, for a state and a symbol, the next state."""

    def accepts(word: Sequence[str]) -> bool:
        state = start
        for symbol in word:
            state = moves[state + symbol]
        return state in accepting

    return accepts


def tomita_3(word: Sequence[str]) -> bool:
    """Decide Tomita's third language run by run: the symbol of each and whether its length is odd."""
    warned = False
    for symbol, run in groupby(word):
        odd = len(list(run)) % 2 == 1
        if symbol == "0" and odd and warned:
            return False
        warned = warned or (symbol == "1" and odd)
    return True


def equal(word: Sequence[str]) -> bool:
    """Return True if cancelling an a against a b, whatever is between them, leaves neither."""
    text = "".join(word).replace("c", "")
    while "ab" in text or "ba" in text:
        text = text.replace("ab", "").replace("ba", "")
    return text == ""


def first_half(word: Sequence[str]) -> bool:
    half = len(word) // 2
    return word[:half].count("a") > word[len(word) - half :].count("a")


def majority(word: Sequence[str]) -> bool:
    """Return True if, after sorting, the symbol in the middle (the left one of two) is a 1."""
    return sorted(word)[(len(word) - 1) // 2] == "1"


def copies(symbols: str) -> Language:
    """Return the language with some number n >= 1 of each symbol, in order."""
    return lambda word: any("".join(word) == "".join(s * n for s in symbols) for n in range(1, len(word) + 1))


TEMPORAL: dict[str, Language] = {
    "ab_plus": regex("(ab)+"),
    "astar_bstar": regex("a*b*"),
    "bigram": lambda word: "ab" in "".join(word),
    "bigram_next": lambda word: "ba" in "".join(word),
    "co_existence": lambda word: ("a" in word) == ("b" in word),
    "dwyer_absence_after": regex("[pr]*(q[qr]*)?"),
    "dwyer_existence_between": existence_between,
    "dwyer_precedence": regex("q*(s[psq]*)?"),
    "dwyer_response": lambda word: "request" not in word[max(last(word, "response"), 0) :],
    "dwyer_universality_before": regex("p*r[pqr]*|[pq]*"),
    "dyck1_depth2": regex(r"(\((\(\))*\))*"),
    "exclusive_choice": lambda word: len(set(word) & {"a", "b"}) == 1,
    "first": regex("1[01]*"),
    "flipflop": spelled(reference.flip_flop),
    "induction_head": hops(1),
    "induction_head_2hop": hops(2),
    "induction_head_3hop": hops(3),
    "last": regex("[01]*1"),
    "release": regex("[ab]*|[ab]*b[abc]*"),
    "since": regex("[abc]*ba*"),
    "strong_release": regex("[ab]*b[abc]*"),
    "subsequence": regex("[abc]*a[abc]*b[abc]*c[abc]*"),
    "succession": regex("c*(a[abc]*bc*)?"),
    "tomita_1": regex("1*"),
    "tomita_2": regex("(10)*"),
    "tomita_4": lambda word: "000" not in "".join(word),
    "tomita_7": regex("0*1*0*1*"),
    "trigger": regex("[ab]*|[abc]*b[ab]*"),
    "trigram": lambda word: "aba" in "".join(word),
    "weak_next": regex("(b|ab)*a?"),
    "weak_yesterday": regex("b?(ab|a|c)*"),
}


COUNTING: dict[str, Language] = {
    "aa_star": regex("(aa)*"),
    "an_bn": copies("ab"),
    "an_bn_cn": copies("abc"),
    "dyck1": balanced("()"),
    "equal": equal,
    "even_length": regex("(..)*"),
    "first_half": first_half,
    "majority": majority,
    "middle_one": lambda word: len(word) % 2 == 1 and word[len(word) // 2] == "1",
    "mod3": regex("0*(10*10*10*)*"),
    "ones_divide_length": lambda word: len(word) in range(word.count("1"), 11, word.count("1") or 99),
    "parity": spelled(reference.ACCEPTORS["parity"]),
    "parity_no_predicate": spelled(reference.ACCEPTORS["parity"]),
    "shuffle_dyck": balanced("()", "[]"),
    "square_length": lambda word: len(word) in (1, 4, 9),
    "tomita_3": tomita_3,
    "tomita_5": automaton(
        "a", "a", {"a0": "b", "a1": "c", "b0": "a", "b1": "d", "c0": "d", "c1": "a", "d0": "c", "d1": "b"}
    ),
    "tomita_6": automaton("0", "0", {"00": "1", "01": "2", "10": "2", "11": "0", "20": "0", "21": "1"}),
}

LANGUAGES = TEMPORAL | COUNTING


def last(word: Sequence[str], symbol: str) -> int:
    """Return the index of the last occurrence, -1 if there is none."""
    return max((index for index, here in enumerate(word) if here == symbol), default=-1)


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    assert isinstance(request.param, Path)
    return request.param


@pytest.fixture
def file(path: Path) -> FormulaFile:
    return load(path)


def test_the_directory_holds_inputs_only_and_every_formula_has_a_language_here() -> None:
    assert [path.name for path in DIRECTORY.iterdir() if not path.name.endswith(SUFFIXES)] == ["networks"]
    assert [path.stem for path in FILES] == sorted(LANGUAGES)
    assert len(LANGUAGES) == len(TEMPORAL) + len(COUNTING) >= 49


def test_a_file_says_what_it_is_and_where_it_comes_from(path: Path, file: FormulaFile) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", path.stem)
    assert path.read_text(encoding="utf-8").startswith(f"// {file.title}")
    assert len(file.title) >= 15
    assert re.search(r"[A-Z]\w+.* (19|20)\d\d\b", file.origin), "the source line must name an author and a year"
    assert file.notes == ()
    words = [example.word for example in file.examples]
    assert len(set(words)) == len(words)
    assert sum(example.accept for example in file.examples) >= 3
    assert sum(not example.accept for example in file.examples) >= 3


def test_a_file_can_be_printed_and_read_again(file: FormulaFile) -> None:
    assert parse_text(format_file(file)) == file


@pytest.mark.sweep
def test_the_formula_defines_the_language(path: Path, file: FormulaFile) -> None:
    language, oracle = LANGUAGES[path.stem], Oracle(file)
    longest = (LONGEST_COUNTING if path.stem in COUNTING else LONGEST)[len(file.alphabet)]
    verdicts = set()
    for n in range(1, longest + 1):
        for word in product(file.alphabet, repeat=n):
            verdict = language(word)
            assert oracle.accepts(word) == verdict, " ".join(word)
            verdicts.add(verdict)
    assert verdicts == {True, False}


def test_tomita_3_is_the_complement_of_its_regular_expression() -> None:
    """The expression is the usual one of the words with an odd run of 0s after an odd run of 1s."""
    wrong = regex("((0|1)*0)*1(11)*(0(0|1)*1)*0(00)*(1(0|1)*)*")
    assert all(tomita_3(word) != wrong(word) for n in range(1, 13) for word in product("01", repeat=n))


def test_both_forms_of_parity_agree_on_long_words() -> None:
    oracles = [Oracle(load(DIRECTORY / f"{name}.ltl")) for name in ("parity", "parity_no_predicate")]
    for n in (63, 64):
        for ones in range(n + 1):
            for word in ("1" * ones + "0" * (n - ones), "0" * (n - ones) + "1" * ones):
                assert [oracle.accepts(word) for oracle in oracles] == [ones % 2 == 1] * 2


def all_formulas() -> str:
    """Return the text of all files without comments and header lines."""
    return "\n".join(re.sub(r"(?m)^(//.*|[a-z]+:.*)$", "", path.read_text(encoding="utf-8")) for path in FILES)


def test_every_kind_of_operator_is_shown_somewhere() -> None:
    text = all_formulas()
    for operator in ("X", "WX", "Y", "WY", "O", "H", "F", "G", "U", "R", "W", "M", "S", "T", "<->", "->", "^", "first"):
        assert re.search(rf"(?<![\w<]){re.escape(operator)}(?![\w>])", text), operator


def test_every_way_to_count_is_shown_somewhere() -> None:
    text = all_formulas()
    ways = ("#L[", "#R[", "#[", "pos", "len", "mod 3 =", "ODD(", "EVEN(", "EVEN\n", "SQUARE", "pred ", "<=", ">", " = ")
    for way in ways:
        assert way in text, way
