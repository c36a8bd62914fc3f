"""The shipped hard-attention models: each follows the schema, is explained, and accepts exactly the language that its
description names.
"""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import groupby, product
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hardsim.network.reader import read_json
from hardsim.program.file import AhatFile, read_ahat, schema
from hardsim.sharpening.measure import LengthFacts
from tests.support.hard_runs import outputs_of
from tests.support.model import ExactModel, measure

DIRECTORY = Path(__file__).parents[2] / "formulas"
FILES = sorted(DIRECTORY.glob("*.ahat.json"))
LONGEST = {2: 9, 3: 6, 4: 5, 5: 5}
"""The length up to which all words are compared, by the size of the alphabet: 3,905 words at most."""

Language = Callable[[Sequence[str]], bool]


def flip_flop(word: Sequence[str]) -> bool:
    memory = None
    for symbol in word:
        if symbol[0] == "w":
            memory = symbol[1]
        if symbol[0] == "r" and symbol[1] != memory:
            return False
    return True


def dyck(word: Sequence[str]) -> bool:
    text = "".join(word)
    while "()" in text:
        text = text.replace("()", "")
    return text == ""


def dyck2_depth2(word: Sequence[str]) -> bool:
    """Remove innermost pairs, all at once, twice: what is nested deeper is left over."""
    text = "".join(word)
    for _ in range(2):
        text = text.replace("()", "-").replace("[]", "-").replace("-", "")
    return text == ""


def trigram_model(word: Sequence[str]) -> bool:
    return not re.search("^b|aaa|bab", "".join(word))


def same_ends(word: Sequence[str]) -> bool:
    letters = "".join(word).strip("_")
    return letters != "" and letters[0] == letters[-1]


LANGUAGES: dict[str, Language] = {
    "dyck1_uniform": dyck,
    "dyck2_depth2": dyck2_depth2,
    "first_layer_norm": lambda word: word[0] == "1",
    "flipflop": flip_flop,
    "majority_ties": lambda word: word.count("a") > word.count("b"),
    "no_repeats": lambda word: len(list(groupby(word))) == len(word),
    "parity_layer_norm": lambda word: word.count("1") % 2 == 1,
    "same_ends": same_ends,
    "tieless_until_7": lambda word: "1" in word[-7:],
    "ties": lambda word: word[0] != word[-1],
    "trigram_model": trigram_model,
}
TIED = {
    "dyck2_depth2": 2,
    "majority_ties": 2,
    "parity_layer_norm": 2,
    "tieless_until_7": 7,
    "ties": 2,
    "trigram_model": 1,
}
"""Models with ties, from which length on."""

NORMED = {"first_layer_norm": 2, "parity_layer_norm": 3}
"""Models whose last norm makes the output one number or its negation."""


def name_of(path: Path) -> str:
    return path.name.removesuffix(".ahat.json")


@cache
def read(path: Path) -> AhatFile:
    return read_ahat(read_json(path.read_bytes(), path.name))


@cache
def run(path: Path, n: int) -> tuple[list[tuple[str, ...]], list[Fraction], LengthFacts]:
    """Run all words of a length; return the words, the outputs and the measured facts."""
    exact = ExactModel(read(path).program)
    words = list(product(exact.program.alphabet, repeat=n))
    trace = exact.run(words)
    return words, outputs_of(exact.program, trace), measure(exact.program, words, trace)


def lengths(path: Path) -> range:
    return range(1, LONGEST[len(read(path).program.alphabet)] + 1)


@pytest.fixture(params=FILES, ids=name_of)
def path(request: pytest.FixtureRequest) -> Path:
    assert isinstance(request.param, Path)
    return request.param


def test_every_model_has_a_language_here() -> None:
    assert [name_of(path) for path in FILES] == sorted(LANGUAGES)


def test_a_file_says_what_it_is_and_where_it_comes_from(path: Path) -> None:
    file = read(path)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name_of(path))
    assert len(file.title) >= 15
    assert re.search(r"[A-Z]\w+.* (19|20)\d\d\b", file.source), "the source must name an author and a year"
    words = [word for word, _ in file.examples]
    assert len(set(words)) == len(words)
    assert sum(accepted for _, accepted in file.examples) >= 3
    assert sum(not accepted for _, accepted in file.examples) >= 3


def test_it_follows_the_schema(path: Path) -> None:
    Draft202012Validator(schema()).validate(read_json(path.read_bytes(), path.name).value)


def test_the_examples_hold(path: Path) -> None:
    file = read(path)
    exact = ExactModel(file.program)
    for word, accepted in file.examples:
        assert exact.program.verdict(outputs_of(exact.program, exact.run([word]))[0]) is accepted, " ".join(word)
        assert LANGUAGES[name_of(path)](word) is accepted


def test_the_model_accepts_the_language(path: Path) -> None:
    exact, language = ExactModel(read(path).program), LANGUAGES[name_of(path)]
    verdicts = set()
    for n in lengths(path):
        words, outputs, _ = run(path, n)
        for word, output in zip(words, outputs, strict=True):
            assert exact.program.verdict(output) is language(word), " ".join(word)
            verdicts.add(language(word))
    assert verdicts == {True, False}


def test_declared_gaps_are_kept(path: Path) -> None:
    model = read(path).program
    for n in lengths(path):
        heads = {head.name: head for head in model.heads}
        for name, head in run(path, n)[2].heads.items():
            declared = heads[name].promised(n, model.first)
            assert declared is not None
            assert all(gap is None or gap >= least for gap, least in zip(head.gaps, declared, strict=True))


def test_which_have_ties(path: Path) -> None:
    """All other models have unique maxima at every length."""
    for n in lengths(path):
        tied = any(head.tie is not None for head in run(path, n)[2].heads.values())
        assert tied == (n >= TIED.get(name_of(path), n + 1))


def test_the_first_tie_at_length_7_is_found_in_the_one_word_that_has_it() -> None:
    (head,) = run(DIRECTORY / "tieless_until_7.ahat.json", 7)[2].heads.values()
    assert head.tie is not None
    count, witness = head.tie
    assert (count, "".join(witness.word), witness.position) == (2, "1000000", 7)
    assert head.most == [1, 1, 1, 1, 1, 1, 2]


def test_outputs_that_clips_make_are_0_or_1(path: Path) -> None:
    """Outputs without clips keep the distance from the threshold that they state."""
    stated = {"dyck1_uniform": lambda n: Fraction(1, 2 * n * n), "majority_ties": lambda n: Fraction(1, 4 * n)}
    for n in lengths(path):
        _, outputs, facts = run(path, n)
        assert facts.distance is not None
        if name_of(path) in stated:
            assert facts.distance >= stated[name_of(path)](n)
        elif name_of(path) in NORMED:
            assert {abs(output) for output in outputs} == {NORMED[name_of(path)]}
        else:
            assert set(outputs) <= {0, 1}


def test_clips_are_a_quarter_away_from_where_they_bend(path: Path) -> None:
    """So an error of a quarter in the input of a clip leaves no trace."""
    for n in lengths(path):
        for layer, found in zip(read(path).program.layers, run(path, n)[2].layers, strict=True):
            if name_of(path) not in ("dyck1_uniform", *NORMED):
                assert all(unit.clip for unit in layer.units)
                assert all(margin >= Fraction(1, 4) for margin in found.margins)


def test_the_mean_over_a_tie_matters() -> None:
    """With only the two ends the output would differ for some word."""
    words, outputs, _ = run(DIRECTORY / "ties.ahat.json", 3)
    for side in (0, -1):
        assert any((word[side] == "a") != bool(output) for word, output in zip(words, outputs, strict=True))
        assert any((word[side] == "b") != bool(output) for word, output in zip(words, outputs, strict=True))
