"""Tests of letters over sets of propositions, against lists of all sets."""

import pickle
from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from hardsim.lang.automata.diagrams import DecisionDiagrams
from hardsim.lang.automata.letters import Partition, SetClasses, SymbolClasses, below
from hardsim.lang.valuations import Exclusion, Valuations

NAMES = ("p", "q", "r", "s")
CONSTRAINTS = ((), (Exclusion("one-of", ("p", "q")),), (Exclusion("at-most-one", ("p", "s")),))
ALPHABETS = [Valuations(names, some) for names in (NAMES, NAMES[::-1]) for some in CONSTRAINTS]


@st.composite
def partitions(draw: st.DrawFn, alphabet: Valuations) -> Partition:
    """Draw letters of an alphabet: by a random function of the propositions, or with named sets."""
    if draw(st.booleans()):
        named = draw(st.sets(st.integers(0, len(alphabet) - 1), max_size=4))
        return SymbolClasses.of(alphabet, [alphabet[number] for number in named])
    diagrams = DecisionDiagrams([len(choices) for choices in alphabet.choices])
    diagram = diagrams.leaf(0)
    for part, choices in enumerate(alphabet.choices):
        for _ in range(draw(st.integers(0, 2))):
            chosen = draw(st.lists(st.integers(0, 2), min_size=len(choices), max_size=len(choices)))
            choices_here = diagrams.node(part, tuple(map(diagrams.leaf, chosen)))
            factor = draw(st.integers(1, 2))
            diagram = diagrams.combined(lambda old, new, factor=factor: (old * factor + new) % 4, diagram, choices_here)
    return SetClasses.of(alphabet, diagrams, diagram)[0]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Partition, Partition]:
    """Draw letters of two alphabets with the same sets, whose propositions may be in another order."""
    number = draw(st.integers(0, len(CONSTRAINTS) - 1))
    one, two = (draw(st.sampled_from(ALPHABETS[number :: len(CONSTRAINTS)])) for _ in range(2))
    return draw(partitions(one)), draw(partitions(two))


@given(st.sampled_from(ALPHABETS).flatmap(partitions))
def test_letters_are_those_of_the_list_of_sets(letters: Partition) -> None:
    alphabet = letters.alphabet
    listed = [letters[symbol] for symbol in alphabet]
    assert [letters.letter(number) for number in range(len(alphabet))] == listed
    assert list(dict.fromkeys(listed)) == list(range(len(letters.sizes)))
    assert letters.sizes == tuple(map(listed.count, range(len(letters.sizes))))
    assert letters.firsts == tuple(map(listed.index, range(len(letters.sizes))))
    for letter in range(len(letters.sizes)):
        same = {symbol for symbol in alphabet if letters[symbol] == letter}
        assert {letters.drawn(letter, Random(seed)) for seed in range(200)} == same
        assert list(letters.symbols([letter])) == [(one, letter) for one in alphabet if one in same]
        first = letters.alphabet[letters.firsts[letter]]
        assert letters.name(letter) in (first, f"{first} and {len(same) - 1:,} more", "any other")
    assert pickle.loads(pickle.dumps(letters)) == letters


@given(pairs())
def test_common_letters_tell_apart_what_either_does(both: tuple[Partition, Partition]) -> None:
    one, two = both
    common, found = one.common(two)
    expected = [(one[symbol], two[symbol]) for symbol in common.alphabet]
    assert [found[common[symbol]] for symbol in common.alphabet] == expected


@given(pairs())
def test_letters_over_another_order_of_the_propositions(both: tuple[Partition, Partition]) -> None:
    one, alphabet = both[0], both[1].alphabet
    moved, old = one.over(alphabet)
    assert moved.alphabet == alphabet
    assert [old[moved[symbol]] for symbol in alphabet] == [one[symbol] for symbol in alphabet]


def test_different_constraints_with_the_same_sets() -> None:
    """Two spellings of one alphabet, whose parts are different: the sets are few enough to be listed."""
    one = Valuations(("p", "q"), (Exclusion("at-most-one", ("p", "q")), Exclusion("one-of", ("p", "q"))))
    two = Valuations(("q", "p"), (Exclusion("one-of", ("p", "q")),))
    for left, right in product((one, two), repeat=2):
        diagrams = DecisionDiagrams([len(choices) for choices in left.choices])
        letters = SetClasses.of(left, diagrams, diagrams.node(0, (diagrams.leaf(0), diagrams.leaf(1))))[0]
        other = SymbolClasses.of(right, ["{p}"])
        common, found = letters.common(other)
        assert [found[common[symbol]] for symbol in left] == [(letters[symbol], other[symbol]) for symbol in left]


@given(st.integers(1, 2**70), st.integers(0, 99))
def test_a_number_below_another_is_the_one_that_python_draws(size: int, seed: int) -> None:
    """The words of a seed are the same on every version of Python that draws numbers in this way."""
    ours, theirs = Random(seed), Random(seed)
    assert [below(ours.getrandbits, size) for _ in range(5)] == [theirs.randrange(size) for _ in range(5)]
