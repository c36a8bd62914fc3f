"""Proofs about external networks by running every word by itself, where words are few.

Where the answers after a prefix depend on the prefix alone and a specification says what they should be, prefixes share
their work (`proof.external.every_word`). Here are the others: the network is read at the first symbol or sees what
follows, or the reference is a program or a function. The judge of a check decides each word.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import inf

from hardsim.campaign.engines import MARGIN, float_at_most
from hardsim.campaign.judges import NetworkJudge
from hardsim.campaign.tally import Tally
from hardsim.campaign.words import AllWords, LanguageWords
from hardsim.proof.external.every_word import WORK, work_on
from hardsim.proof.external.prove import ExternalProof, LengthMargins, OpenClass, WrongPrefix
from hardsim.proving.prove import EVERY
from hardsim.targets.external import External
from hardsim.targets.result import Word

TOGETHER = 4096
"""Number of words that are judged together."""


def affordable_length(subject: External, longest: int) -> int:
    """Return the greatest length of at most `longest` up to which every word may be run: each length has at most EVERY
    words, and the work on all is at most WORK. It is less than that of the shortest words if none may be run."""
    work = 0.0
    for n in range(subject.shortest, longest + 1):
        count, size = subject.possible(n), subject.positions(n)
        work += count * size * work_on(subject.network, size)
        if count > EVERY or work > WORK:
            return n - 1
    return longest


def run_every_word(subject: External, longest: int, report: Callable[[int, int], None] | None = None) -> ExternalProof:
    """Return what is proved of an external network by running every word of at most `longest` symbols, one by one, to
    the first length at which a word is wrong or stays undecided. `report` is called with a length that is done and the
    greatest one. Raises InputError if the reference fails on a word."""
    proof = ExternalProof(longest, subject.shortest - 1, 0, None, (), {}, 0, 0)
    judge = NetworkJudge(subject)
    for n in range(subject.shortest, longest + 1):
        total, left = Tally(n), iter(words_of_length(subject, n))
        while some := list(islice(left, TOGETHER)):
            total.merge(judge.tally(some), subject.alphabet)
        proof = _with_length(proof, total)
        if proof.wrong is not None or proof.opened:
            return proof
        if report is not None:
            report(n, longest)
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
