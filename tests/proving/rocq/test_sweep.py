"""Rocq checks theorems of shipped and random formulas, and rejects altered ones."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random

import pytest

from hardsim.proving.rocq.coqc import printed_axioms
from hardsim.proving.rocq.folder import AXIOMS
from tests.support.check import ModelOptions, compile_formula, read_input
from tests.support.language import Undecided, Unsupported, parse_text
from tests.support.model import PROVEN
from tests.support.rocq_formulas import random_formula
from tests.support.rocq_mutants import (
    Mutant,
    altered_formulas,
    altered_hints,
    altered_networks,
    original_is_right,
    some_of,
    wrong_word,
)
from tests.support.rocq_theorems import HEAD, Rocq, Theorem, read_theorem, theorem_of, written
from tests.support.subjects import FORMULAS

BATCH = 25
"""Number of theorems that one run of coqc checks."""
RANDOM = 100
BETAS = (None, None, None, Fraction(3), Fraction(7, 2), Fraction(6), Fraction(20))
"""Inverse-temperature constants of random formulas; None is the default."""
SHIPPED = sorted(path.stem for path in FORMULAS.glob("*.ltl"))
CAUSAL = ("causal-temperature", "causal-position")


def shipped_theorem(name: str, regime: str) -> Theorem:
    """Return the theorem of a shipped formula."""
    file = read_input(str(FORMULAS / f"{name}.ltl")).file
    return theorem_of(compile_formula(file, ModelOptions(regime), name=name))


def require_accepted(rocq: Rocq, theorems: Sequence[Theorem]) -> None:
    """Require that Rocq accepts theorems, with the four axioms of its real numbers."""
    wrong: dict[str, str] = {}
    for start in range(0, len(theorems), BATCH):
        wrong |= rocq.rejected(theorems[start : start + BATCH])
    assert not wrong, wrong


@pytest.mark.slow
@pytest.mark.parametrize("regime", PROVEN)
def test_shipped_formulas_have_theorems(rocq: Rocq, regime: str) -> None:
    """Every shipped formula that the regime can compute."""
    theorems = []
    for name in SHIPPED:
        try:
            theorems.append(shipped_theorem(name, regime))
        except Unsupported:
            assert regime in CAUSAL, name
    assert len(theorems) == len(SHIPPED) or (regime in CAUSAL and len(theorems) > 20)
    require_accepted(rocq, theorems)


@pytest.mark.slow
def test_the_checker_rests_on_the_axioms_of_real_numbers(rocq: Rocq) -> None:
    """So does each theorem, which uses it: exactly on these four."""
    output, error = rocq.run(f"{HEAD}Print Assumptions check_sound.\n")
    assert error is None
    assert {*(printed_axioms(output) or ())} == {*AXIOMS}


def random_theorems() -> Iterator[Theorem]:
    """Yield theorems of random formulas, each in one regime and with one beta that proves it."""
    for seed in range(10_000):
        rng = Random(seed)
        regime = rng.choice(PROVEN)
        text = random_formula(rng, rng.choice([2, 2, 3, 3, 4]), future=regime not in CAUSAL)
        try:
            subject = compile_formula(parse_text(text), ModelOptions(regime, rng.choice(BETAS)), name=f"random {seed}")
            yield theorem_of(subject)
        except (Unsupported, Undecided):
            continue


@pytest.mark.slow
def test_random_formulas_have_theorems(rocq: Rocq) -> None:
    theorems = [theorem for theorem, _ in zip(random_theorems(), range(RANDOM), strict=False)]
    require_accepted(rocq, theorems)
    used = Counter(word for one in theorems for word in written(one.formula).replace("(", " ").split())
    for name in ("Since", "Trigger", "Until", "Release", "WeakUntil", "StrongRelease", "Holds", "AtMost"):
        assert used[name] > 0, name


# ---- altered theorems ----

BASES = (
    ("since", "temperature"), ("since", "causal-position"), ("weak_next", "temperature"),
    ("dwyer_response", "position"), ("dyck1", "causal-position"), ("an_bn", "temperature"),
    ("first_half", "position"), ("parity", "temperature"), ("ones_divide_length", "causal-temperature"),
    ("even_length", "causal-position"), ("exclusive_choice", "position"), ("trigger", "causal-temperature"),
)  # fmt: skip
"""Shipped formulas whose theorems are altered: every kind of head, mask, encoding and temperature is in one of them."""
NETWORKS, OTHERS = 30, 25
"""Numbers of changes of each network, and of each formula and hints."""


def base_theorems() -> list[Theorem]:
    """Return the theorems that are altered, and one over propositions."""
    text = "props: p q\nat: first\nlet far = 2*pos > len\nG (p -> F (q & far | X !p))\n"
    subject = compile_formula(parse_text(text), ModelOptions("temperature"), name="propositions")
    return [*(shipped_theorem(name, regime) for name, regime in BASES), theorem_of(subject)]


def accepted(rocq: Rocq, theorems: Sequence[Theorem], mutants: Sequence[Sequence[Mutant]]) -> list[list[bool]]:
    """Return for each theorem and each of its mutants whether the checker accepts it, or accepts it with hints that
    follow the change. The theorems themselves are accepted."""
    head = "\n".join(f"Module T{k}.\n{theorem.definitions}\nEnd T{k}." for k, theorem in enumerate(theorems))
    asked = [[mutant.terms(k) for mutant in group] for k, group in enumerate(mutants)]
    own = [f"check T{k}.N {theorem.reading} T{k}.F T{k}.C" for k, theorem in enumerate(theorems)]
    found = iter(rocq.values(head, [*own, *(term for group in asked for terms in group for term in terms)]))
    assert [next(found) for _ in own] == ["true"] * len(own)
    return [["true" in [next(found) for _ in terms] for terms in group] for group in asked]


def judged(rocq: Rocq, theorems: Sequence[Theorem], mutants: Sequence[Sequence[Mutant]]) -> int:
    """Require that the checker accepts no mutant that is really wrong, and return how many of them are."""
    wrong = 0
    for theorem, group, answers in zip(theorems, mutants, accepted(rocq, theorems, mutants), strict=True):
        for mutant, answer in zip(group, answers, strict=True):
            word = wrong_word(mutant, theorem)
            wrong += word is not None
            assert word is None or not answer, (theorem.name, mutant.change, word)
    return wrong


@pytest.mark.slow
def test_altered_networks_are_rejected(rocq: Rocq) -> None:
    """Each part of the network counts: matrices, biases, masks, temperature, encodings, output. Altered networks that
    are wrong on a short word are rejected, whether the hints follow the change or not."""
    theorems = base_theorems()
    assert all(map(original_is_right, theorems))
    groups = [altered_networks(theorem) for theorem in theorems]
    mutants = [some_of(group, NETWORKS, Random(k)) for k, group in enumerate(groups)]
    assert judged(rocq, theorems, mutants) >= 150
    assert {label for group in groups for label in group} >= {
        "atoms", "letters", "embedding", "encodings", "layers", "heads", "mask", "rows", "w_q", "w_k", "w_v", "w_1",
        "b_1", "w_2", "b_2", "output", "temperature",
    }  # fmt: skip


@pytest.mark.slow
def test_each_number_of_a_network_counts(rocq: Rocq) -> None:
    """All changes of one small network."""
    theorem = shipped_theorem("since", "temperature")
    mutants = [mutant for group in altered_networks(theorem).values() for mutant in group]
    assert judged(rocq, [theorem], [mutants]) >= 100


@pytest.mark.slow
def test_altered_formulas_are_rejected(rocq: Rocq) -> None:
    """An operator, an operand, a definition or the reading position is another one."""
    theorems = base_theorems()
    mutants = [some_of({"": altered_formulas(theorem)}, OTHERS, Random(k)) for k, theorem in enumerate(theorems)]
    assert judged(rocq, theorems, mutants) >= 150


@pytest.mark.slow
def test_altered_hints_prove_nothing_else(rocq: Rocq) -> None:
    """A changed hint is rejected, or it proves the same theorem: a larger bound of an error may do as well."""
    theorems = base_theorems()
    mutants = [some_of({"": altered_hints(theorem)}, OTHERS, Random(k)) for k, theorem in enumerate(theorems)]
    same = []
    answers = accepted(rocq, theorems, mutants)
    for theorem, group, found in zip(theorems, mutants, answers, strict=True):
        statement, proof = theorem.text.partition("Definition C")[0], theorem.text.partition("Theorem")[2]
        for mutant in (mutant for mutant, answer in zip(group, found, strict=True) if answer):
            hints = f"Definition C : certificate := {written(mutant.theorem.hints)}."
            read = read_theorem(f"{theorem.name}: {mutant.change}", f"{statement}{hints}\nTheorem{proof}")
            assert [written(read.formula), written(read.network)] == [*map(written, (theorem.formula, theorem.network))]
            same.append(read)
    assert sum(map(len, answers)) - len(same) >= 150
    require_accepted(rocq, same)
