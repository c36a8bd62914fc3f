"""Does the search for wrong words find faults that random words miss?

    python -m benchmarks.planted --processes 2    make faulty networks, check each; a quarter of an hour on two cores
    python -m benchmarks.planted --docs           write the tables of docs/search.md from planted.json; nothing is run

Each faulty network is checked as by `hardsim check`, whose search tries some words of each length; then as many random
words of the same lengths are tried. A network counts as found only if the certified check refutes it. Apart from that
the prover is asked how far each faulty network is right.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from statistics import mean, median
from textwrap import fill

import numpy as np

from benchmarks.faults import KINDS, Fault, Planter, Pool, Sampler, arrays, margins
from benchmarks.handmade import Case, cases
from benchmarks.page import ROOT, Page, each, grid
from hardsim.campaign.check import CheckOptions, check_subject
from hardsim.campaign.given import GivenWords
from hardsim.campaign.result import Verdict
from hardsim.proof.shared.result import NotProved
from hardsim.proving.external import EVERY, prefix_proof, wrong_word
from hardsim.targets.base import ModelOptions
from hardsim.targets.external import External
from hardsim.targets.opening import read_input

PAGE = Page("planted", "search.md", "planted.json")
RIGHT = {"dyck1_depth3": 40, "flipflop": 40, "majority": 44}
"""The length up to which a shipped network is taken for right: dyck1_depth3 and majority are proved right on every word
so short, and majority is wrong on one of 45 symbols; of flipflop no search found such a word."""
SAMPLES = 100
"""Number of words of each length that the search tries, where there are more than EXHAUSTIVE."""
EXHAUSTIVE = 100
EACH = 4
"""Number of faults of each kind in each network."""
SHAPE = "simple shape"
WIDTH = 120
WAYS = "letters", "words"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results for one fault.

    `wrong` of `pool` random words of the length of `word` are wrong, and the share `rarity` of random words of all
    lengths. The search tried `words` words in all; `found` is the length of the wrong word that it found, and `shrunk`
    the length after shrinking, None if it found none. `random` holds, for each way to draw random words, the number
    tried until one was wrong, None if all of them were right.

    `proved` is the length up to which the prover shows the faulty network right, None if it shows nothing; `least` is
    the length of a shortest wrong word, None if it is not known: a word of `proved` + 1 symbols that the prover
    found."""

    case: str
    kind: str
    weight: str
    word: str
    wrong: int
    pool: int
    rarity: float
    words: int
    found: int | None
    shrunk: int | None
    random: tuple[int | None, ...]
    proved: int | None = None
    least: int | None = None

    @property
    def exact(self) -> bool:
        """True if all words are proved right that are shorter than the shortest known wrong word."""
        known = [length for length in (self.least, self.shrunk) if length is not None]
        return bool(known) and self.proved == min(known) - 1


# ---- one fault ----


def all_cases() -> list[Case]:
    """Return the handmade networks, and the shipped networks up to a length at which no search finds them wrong: their
    tables of positions end after words of that length."""
    found = list(cases())
    for name, longest in RIGHT.items():
        subject = read_input(str(ROOT / "formulas" / "networks" / f"{name}.spec")).network(ModelOptions())
        network = subject.network
        assert isinstance(network.positions, np.ndarray)
        rows = network.positions[: network.readout.length(longest)]
        found.append(Case(name, replace(subject, network=replace(network, positions=rows))))
    return found


def faults_of(case: Case) -> list[Outcome]:
    """Plant faults of every kind in a network and search for them.

    Some kinds may yield no fault. A network that the search finds wrong as it is gets none."""
    longest = case.subject.network.longest
    assert longest is not None
    if not check_subject(case.subject, CheckOptions(longest, EXHAUSTIVE, 2 * SAMPLES)).agreed:
        print(f"{case.name} is wrong by itself", file=sys.stderr, flush=True)
        return []
    made = Planter(case, 0)
    # Only kinds of weights that the network has.
    kinds = [kind for kind in KINDS if arrays(made.network)[kind]]
    found: list[Outcome] = []
    for kind, number in product((*kinds, SHAPE), range(EACH)):
        rng, shaped = Random(f"{case.name}/{kind}/{number}"), kind == SHAPE
        fault = made.fault(rng.choice(kinds) if shaped else kind, shaped, rng)
        if fault is not None:
            found.append(compared(case.name, fault, kind, rng.randrange(2**32)))
        message = f"search {found[-1].shrunk}, random {found[-1].random}" if fault else "no fault"
        print(f"{case.name}, {kind}, {number}: {message}", file=sys.stderr, flush=True)
    return found


def compared(case: str, fault: Fault, kind: str, seed: int, samples: int = SAMPLES) -> Outcome:
    """Compare the search with random words on one faulty network."""
    subject = fault.subject
    longest = subject.network.longest
    assert longest is not None
    found = check_subject(subject, CheckOptions(longest, EXHAUSTIVE, samples, seed))
    tried = {length.n: length.words for length in found.judged if length.n}
    mismatch = found.mismatch if found.verdict is Verdict.REFUTED else None
    proved, least = proved_part(subject)
    return Outcome(
        case=case,
        kind=kind,
        weight=fault.weight,
        word=" ".join(fault.word),
        wrong=fault.wrong,
        pool=fault.pool,
        rarity=fault.rarity,
        words=sum(tried.values()),
        found=None if mismatch is None else len(mismatch.shrunk_from or mismatch.word),
        shrunk=None if mismatch is None else len(mismatch.word),
        random=tuple(first_wrong(subject, tried, way, seed) for way in WAYS),
        proved=proved,
        least=least,
    )


def proved_part(subject: External) -> tuple[int | None, int | None]:
    """Return the length up to which a network is proved right, and the length of a shortest wrong word; None where that
    is not known. A wrong word that the prover finds must be judged wrong by the certified check."""
    try:
        proof = prefix_proof(subject, subject.network.longest, most=EVERY)
    except NotProved:
        return None, None
    if proof.wrong is None or not proof.shortest:
        return proof.proved_to, None
    wrong_word(subject, proof)
    return proof.proved_to, len(proof.wrong)


def first_wrong(subject: External, tried: dict[int, int], way: str, seed: int) -> int | None:
    """Return the number of random words, in random order, up to the first wrong one; None if all are right.

    `tried` gives the number of words of each length. The certified check must refute the wrong word."""
    sampler = Sampler(subject, way)
    rng = np.random.default_rng([seed, WAYS.index(way)])
    pool = Pool.of(subject, [word for n, count in tried.items() for word in sampler.words(n, count, rng)])
    order = rng.permutation(len(pool.words))
    wrong = np.flatnonzero(margins(subject, subject.network, pool)[order] < 0)
    if not len(wrong):
        return None
    word = pool.words[int(order[wrong[0]])]
    assert check_subject(subject, CheckOptions(words=GivenWords.of([word]))).verdict is Verdict.REFUTED, word
    return int(wrong[0]) + 1


# ---- tables ----


def render(outcomes: Sequence[Outcome]) -> str:
    """Return the table of results: a row for each kind of fault, and one for all faults."""
    head = (
        "fault", "faults", "wrong per million", "found by the search", "random letters", "random words",
        "median length found", "after shrinking", "all shorter words proved right",
    )  # fmt: skip
    rows = []
    for kind in (*KINDS, SHAPE, "all"):
        some = [one for one in outcomes if kind in (one.kind, "all")]
        if some:
            known = [[one.found for one in some if one.found], [one.shrunk for one in some if one.shrunk]]
            drawn = [sum(one.random[way] is not None for one in some) for way in range(len(WAYS))]
            share = f"{1e6 * mean(one.rarity for one in some):.0f}"
            lengths = [f"{median(values):.0f}" if values else "" for values in known]
            proved = sum(one.exact for one in some)
            rows.append((kind, *map(str, [len(some), share, len(known[0]), *drawn, *lengths, proved])))
    return f"{grid(head, rows, range(1, len(head)))}\n\n{summary(outcomes)}"


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return sentences on what is proved of the faults that the search finds, and of the others."""
    found = [one for one in outcomes if one.found is not None]
    others = [one for one in outcomes if one.found is None]
    exact = [one for one in found if one.exact]
    first = sum(one.shrunk == (one.proved or 0) + 1 for one in exact)
    rest = sum(one.exact for one in others)
    text = (
        f"The search finds {len(found)} of {len(outcomes)} faults. All words shorter than the shortest wrong one are "
        f"proved right for {len(exact)} of these; for {first} of them the search has a word of that length, after "
        f"shrinking. It misses {len(others)}; for {rest} of these all shorter words are proved right."
    )
    return fill(text, WIDTH)


def main() -> None:
    """Run all cases, or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--docs", action="store_true", help=f"render {PAGE.results} into docs/{PAGE.page}")
    given = parser.parse_args()
    if given.docs:
        PAGE.write(render(PAGE.read(Outcome)))
        return
    tasks = all_cases()
    found = [one for outcomes in each(faults_of, ((case,) for case in tasks), given.processes) for one in outcomes]
    names = [case.name for case in tasks]
    found.sort(key=lambda one: names.index(one.case))
    PAGE.store(found)
    print(render(found))


if __name__ == "__main__":
    main()
