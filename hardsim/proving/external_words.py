"""Proofs about external networks by running every word, where words are few.

Where the answers after a prefix depend on the prefix alone and a specification says what they should be, prefixes share
their work (`proof.external.every_word`). Otherwise words are run one by one, by the judge of a check: where the network
is read at the first symbol or sees what follows, and where the reference is a program or a function.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import inf
from typing import Any

from hardsim.campaign.engines import MARGIN, float_at_most
from hardsim.campaign.judges import NetworkJudge
from hardsim.campaign.tally import Tally
from hardsim.campaign.words import AllWords, LanguageWords
from hardsim.proof.external.every_word import WORK, prove_by_words, work_on
from hardsim.proof.external.prove import ExternalProof, LengthMargins, OpenClass, WrongPrefix
from hardsim.proof.shared.result import NotProved
from hardsim.proving.prove import EVERY
from hardsim.targets.external import External
from hardsim.targets.result import Word, plural

TOGETHER = 4096
"""Number of words that are judged together."""


def prove_by_running(
    subject: External,
    oracle: Any | None,
    longest: int | None,
    known: ExternalProof | None = None,
    report: Callable[[int, int], None] | None = None,
) -> ExternalProof:
    """Return what is proved of an external network by running every word of as many lengths as the work allows.

    `oracle` is the reference as the prover of prefixes reads it, None if there is no such form. `known` is what was
    proved without running every word: what it says of longer words is kept, where running every word proves less.
    `report` is called with the number of prefixes or lengths that are done, and of all that will be. Raises NotProved
    if words have no greatest length; InputError if the reference fails on a word."""
    try:
        if oracle is None:
            raise NotProved("the reference is a program or a function")
        found = prove_by_words(subject.network, oracle, longest, report=report)
    except NotProved:
        found = run_every_word(subject, longest, report=report)
    return found if known is None else joined(known, found)


def joined(known: ExternalProof, run: ExternalProof) -> ExternalProof:
    """Return what two proofs about the same words show together, one of them by running every word."""
    if run.wrong is not None and run.shortest:
        return run
    if run.proved <= known.proved:
        return known
    # Classes of a length that was run are not open any more, and a wrong prefix of another length stays one.
    opened = tuple(one for one in known.opened if one.length > run.proved) if known.wrong is None else ()
    wrong = known.wrong if run.wrong is None else run.wrong
    return replace(run, wrong=wrong, opened=run.opened or opened)


def run_every_word(
    subject: External,
    longest: int | None,
    most: int = EVERY,
    report: Callable[[int, int], None] | None = None,
) -> ExternalProof:
    """Return what is proved of an external network by running the words of each length in turn, one by one: up to
    `longest` symbols (None: as many as the table of positions has room for), while a length has at most `most` words
    and the work on all is at most WORK. Raises NotProved if words have no greatest length; InputError if the reference
    fails on a word."""
    ends = [one for one in (subject.longest, longest) if one is not None]
    if not ends:
        raise NotProved("the network has no table of positions, so no greatest length: give one")
    greatest = min(ends)
    proof = ExternalProof(greatest, subject.shortest - 1, 0, None, (), {}, 0, 0, by_words=True)
    judge, work = NetworkJudge(subject), 0.0
    for n in range(subject.shortest, greatest + 1):
        count, size = subject.possible(n), subject.positions(n)
        work += count * size * work_on(subject.network, size)
        if count > most or work > WORK:
            return replace(proof, reason=f"there are {plural(count, 'word')} of {n:,} symbols, too many to run")
        total, left = Tally(n), iter(words_of_length(subject, n))
        while some := list(islice(left, TOGETHER)):
            total.merge(judge.tally(some), subject.alphabet)
        proof = _with_length(proof, total)
        if proof.wrong is not None or proof.opened:
            return proof
        if report is not None:
            report(n, greatest)
    return proof


def words_of_length(subject: External, n: int) -> Collection[Word]:
    """Return all words of n symbols that may have expected outputs."""
    if subject.domain is not None:
        return LanguageWords(subject.domain, n, subject.possible(n))
    return AllWords(subject.alphabet, n)


def _with_length(proof: ExternalProof, total: Tally) -> ExternalProof:
    """Return a proof with the results of one more length. Raises InputError if the reference failed on a word."""
    if total.mismatch is None and total.failures:
        raise total.failures[0].error
    n, least = total.n, total.extremes.get(MARGIN)
    if total.mismatch is not None:
        if least is not None and least.bounds[1] < 0:
            return replace(proof, wrong=WrongPrefix(least.word, _above(least.bounds[1])))
        return replace(proof, wrong=WrongPrefix(total.mismatch.word, -inf))
    if total.undecided:
        return replace(proof, opened=(OpenClass(n, None, -inf, inf),))
    margins = dict(proof.margins)
    if least is not None:
        margins[n] = LengthMargins(float_at_most(Fraction(least.bound)), _above(least.reached))
    judged = total.words - total.unjudged
    return replace(proof, proved=n, prefixes=proof.prefixes + judged, margins=margins)


def _above(value: float | Fraction) -> float:
    """Return a float that is at least a number."""
    return -float_at_most(-Fraction(value))
