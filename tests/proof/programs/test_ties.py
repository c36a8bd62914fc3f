"""Facts that are proved about heads with shared maxima, compared with hard attention on words.

Random models (`tests.support.tied_models`) are derived. Every claim about a model (gaps, maxima, lattices, shares of
numbers of maxima, isolated zeros, distances from the threshold) must be true of every short word and of some longer
ones, by a small evaluator of the tests' own (`tests.support.tied_truth`).
"""

from random import Random

import pytest

from hardsim.proof.programs.law import ProgramLaw
from tests.support.check import NotProved, law_of
from tests.support.tied_models import tied_model
from tests.support.tied_truth import all_words, longer_words, require

FEW, MANY, CHUNK = 70, 20_000, 500
"""Numbers of models in `make test`, and in `make slow`, and in one of its tests."""


def law_of_seed(seed: int, longest: int = 5) -> ProgramLaw | None:
    """Return the facts derived about a model after checking them on words; None if nothing is derived.

    Every word of up to `longest` symbols is run (one less over three letters), and some longer words.
    """
    program = tied_model(seed)
    try:
        law = law_of(program)
    except NotProved:
        return None
    require(program, law, all_words(program.alphabet, longest + 2 - len(program.alphabet)))
    require(program, law, longer_words(program.alphabet, Random(seed), 12))
    return law


def try_seeds(seeds: range, longest: int = 5) -> None:
    """Check models; most must be derived, and many have a distance: a prover that refuses all of them would test
    nothing.
    """
    laws = [law for seed in seeds if (law := law_of_seed(seed, longest)) is not None]
    distances = [min(law.facts(n).distance or 0 for n in (3, 8)) for law in laws]
    assert len(laws) > len(seeds) // 2
    assert sum(distance > 0 for distance in distances) > len(seeds) // 5


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("half", range(2))
def test_the_facts_of_tied_models_are_true_of_words(half: int) -> None:
    try_seeds(range(half, FEW, 2), 4)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FEW, FEW + MANY, CHUNK))
def test_the_facts_of_many_tied_models_are_true_of_words(first: int) -> None:
    try_seeds(range(first, first + CHUNK))
