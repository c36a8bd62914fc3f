"""Independent draws: the exact distribution of one draw, as the sum over all choices of the generator."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.campaign.draws import distribution_of, drawn_words
from hardsim.errors import InputError
from hardsim.lang.automata import automaton, letters
from hardsim.lang.automata.letters import below as letters_below
from hardsim.options.table import POSITIVE, UNIFORM, UNIFORM_LENGTH
from hardsim.reading.network_json import network_json
from hardsim.targets.base import Target
from tests.support.check import External, ModelOptions, Word, read_expression, read_input
from tests.support.external import exact, mean_of_a, model_of
from tests.support.language import parse_regex

AB = 2


class Branches:
    """A generator that goes through all choices, one after the other, and knows the probability of each."""

    def __init__(self) -> None:
        self.path: list[list[int]] = []
        self.depth = 0

    def randrange(self, count: int) -> int:
        if self.depth == len(self.path):
            self.path.append([0, count])
        choice, known = self.path[self.depth]
        assert known == count
        self.depth += 1
        return choice

    def getrandbits(self, count: int) -> int:
        """Stand for random bits; see `_choices`."""
        raise NotImplementedError  # `_choices` asks `randrange` in its place

    def following(self) -> bool:
        """Go on to the next choices; False after the last."""
        self.depth = 0
        while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
            self.path.pop()
        if self.path:
            self.path[-1][0] += 1
        return bool(self.path)


@pytest.fixture(autouse=True)
def _choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let draws ask for numbers where they ask for random bits, so that `Branches` can answer."""

    def below(bits: Any, size: int) -> int:
        found: int = bits.__self__.randrange(size)
        return found

    for module in (automaton, letters):
        monkeypatch.setattr(module, "below", below)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_numbers_below_a_size_are_uniform(size: int) -> None:
    """`below` takes as many bits as the size has, and takes others if they give a greater number."""
    count = size.bit_length()
    values: Iterator[int] = iter([*range(2**count), 0])
    asked = list[int]()

    def bits(number: int) -> int:
        asked.append(number)
        return next(values)

    assert [letters_below(bits, size) for _ in range(size)] == [*range(size)]
    assert letters_below(bits, size) == 0
    assert asked == [count] * (2**count + 1)


def probabilities(draw: Callable[[Any], Word]) -> dict[Word, Fraction]:
    """Return the exact probability of each word, with fair choices."""
    found, rng = dict[Word, Fraction](), Branches()
    while True:
        word, chance = draw(rng), Fraction(1)
        for _, count in rng.path:
            chance /= count
        found[word] = found.get(word, Fraction(0)) + chance
        if not rng.following():
            return found


def compiled(text: str, alphabet: str = "a b") -> Target:
    return read_expression(text, alphabet).target(ModelOptions())


def words(n: int, alphabet: str = "ab") -> list[Word]:
    return list(product(alphabet, repeat=n))


def test_every_length_is_equally_likely_and_every_word_of_it() -> None:
    found = distribution_of(UNIFORM_LENGTH, compiled("a"), 3)
    assert probabilities(found.draw) == {word: Fraction(1, 3 * AB**n) for n in (1, 2, 3) for word in words(n)}
    assert found.text == "one of lengths 1 to 3, each equally likely, then a word of this length, each equally likely"


def test_every_word_is_equally_likely() -> None:
    found = distribution_of(UNIFORM, compiled("a", "a b c"), 2)
    assert probabilities(found.draw) == {word: Fraction(1, 12) for n in (1, 2) for word in words(n, "abc")}
    assert found.text == "a word of lengths 1 to 2, each equally likely"


@pytest.mark.parametrize("text", ["a & Y b", "F b & !a", "b S a"])
def test_positive_draws_are_the_words_that_the_reference_accepts(text: str) -> None:
    target = compiled(text)
    assert target.oracle is not None
    accepted = {n: [word for word in words(n) if target.oracle(word)] for n in (1, 2, 3, 4)}
    lengths = [n for n, some in accepted.items() if some]
    expected = {word: Fraction(1, len(lengths) * len(accepted[n])) for n in lengths for word in accepted[n]}
    assert probabilities(distribution_of(POSITIVE, target, 4).draw) == expected


LANGUAGES: dict[str, Callable[[Word], bool]] = {
    "/(ab)*/": lambda word: "".join(word) == "ab" * (len(word) // 2),
    "O b & a": lambda word: "b" in word and word[-1] == "a",
    "@x.ltl": lambda word: "b" in word,
    "@x.re": lambda word: word[0] == "b",
}
"""Languages of a specification, and their definitions."""


@pytest.mark.parametrize("outputs", [("share",), ("no", "yes")])
@pytest.mark.parametrize("language", LANGUAGES)
def test_positive_draws_of_the_language_of_a_specification(
    tmp_path: Path, outputs: tuple[str, ...], language: str
) -> None:
    """Every accepted word of a length is equally likely, whether one output says yes or two compete."""
    (tmp_path / "x.ltl").write_text("alphabet: a b\nO b\n")
    (tmp_path / "x.re").write_text("alphabet: a b\nb(a|b)*\n")
    network = mean_of_a()
    if len(outputs) == 2:
        columns, bias = np.zeros((2, 2)), exact([[0, 0]])[0]
        network = replace(network, outputs=outputs, unembedding=columns, unembedding_bias=bias)
        network = replace(network, readout=replace(network.readout, decide="argmax"))
    (tmp_path / "net.json").write_text(json.dumps(network_json(network)))
    (tmp_path / "net.spec").write_text(f"network: net.json\nlanguage: {language}\n")
    target = read_input(str(tmp_path / "net.spec")).target(ModelOptions())
    accepted = {n: [word for word in words(n) if LANGUAGES[language](word)] for n in (1, 2, 3)}
    lengths = [n for n, some in accepted.items() if some]
    expected = {word: Fraction(1, len(lengths) * len(accepted[n])) for n in lengths for word in accepted[n]}
    assert probabilities(distribution_of(POSITIVE, target, 3).draw) == expected


def test_only_words_that_can_be_judged_are_drawn() -> None:
    """(ab)* has words of even lengths, and the empty word counts where the empty prefix is judged."""
    network = model_of(mean_of_a())._input.target(ModelOptions())
    assert isinstance(network, External)
    domain = parse_regex("alphabet: a b\n(ab)*").automaton
    target = replace(network, domain=domain, shortest=0)
    found = distribution_of(UNIFORM_LENGTH, target, 5)
    assert probabilities(found.draw) == {tuple("ab" * k): Fraction(1, 3) for k in range(3)}
    assert found.text.startswith(
        "one of 3 lengths from 0 to 4, each equally likely, then a word of this length that can"
    )
    with pytest.raises(InputError, match="no word to draw: a word of length 1 that can be judged"):
        distribution_of(UNIFORM_LENGTH, replace(target, shortest=1), 1)


def test_sets_of_propositions() -> None:
    target = read_expression("p & X q", None, "p q").target(ModelOptions(at="first"))
    found = probabilities(distribution_of(UNIFORM_LENGTH, target, 1).draw)
    assert found == {(symbol,): Fraction(1, 4) for symbol in target.alphabet}
    assert set(probabilities(distribution_of(POSITIVE, target, 2).draw).values()) == {Fraction(1, 4)}


def test_draws_repeat_and_begin_alike() -> None:
    target = compiled("a")
    few, _ = drawn_words(target, UNIFORM_LENGTH, 10, 1, 0)
    many, _ = drawn_words(target, UNIFORM_LENGTH, 50, 1, 0)
    assert many[:10] == few
    assert set(many) == {("a",), ("b",)}
    assert drawn_words(target, UNIFORM_LENGTH, 50, 1, 1)[0] != many


def test_a_reference_without_an_automaton() -> None:
    with pytest.raises(InputError, match="--distribution positive draws words that the reference accepts, and"):
        distribution_of(POSITIVE, read_input("majority_rules").target(ModelOptions()), 3)
    with pytest.raises(InputError, match="no word to draw: an accepted word of lengths 1 to 3"):
        distribution_of(POSITIVE, compiled("a & b"), 3)


def test_a_network_that_depends_on_the_words() -> None:
    """Theorem 26 measures the words that are run, so with --epsilon a program is another network for other words."""
    program = read_input("majority_rules")
    with pytest.raises(InputError, match="the temperature of each length is measured on the words that are run"):
        drawn_words(program.target(ModelOptions(epsilon=Fraction(1, 8))), UNIFORM_LENGTH, 5, 3, 0)
    assert len(drawn_words(program.target(ModelOptions()), UNIFORM_LENGTH, 5, 3, 0)[0]) == 5


def test_draws_that_do_not_fit_in_memory() -> None:
    with pytest.raises(InputError) as caught:
        drawn_words(compiled("a"), UNIFORM, 10**6, 100, 0)
    assert caught.value.hint == "Give --draws 500000 or less, or a smaller --max-n."
