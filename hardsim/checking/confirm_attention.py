"""Words after a proof of a hard-attention model or program: the softmax models that were proved, length by length, on
some words, in certified arithmetic, beside hard attention and the program's semantics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from hardsim.ahat.exact import ExactModel
from hardsim.checking.attention import Answer, AttentionSubject, settled
from hardsim.checking.attention_floats import float_answers
from hardsim.checking.attention_result import AttentionMismatch
from hardsim.checking.attention_words import SoftJudge
from hardsim.checking.campaign import SHORT, effort
from hardsim.checking.confirm import IN_BALLS, MOST, PAIRS, SAMPLED, Confirmation, affordable, first_lengths
from hardsim.checking.result import Word
from hardsim.checking.words import enumerate_words, plan_length
from hardsim.errors import Contradiction, Undecided
from hardsim.net.model import Transformer

FIRST = 3
"""The first lengths, which go before the last one."""
COORDINATES = 16
"""A model costs what its heads and layers do, and as much for each so many coordinates."""


def confirm_attention(
    subject: AttentionSubject, networks: Mapping[int, Transformer]
) -> tuple[Confirmation, AttentionMismatch | None]:
    """Run words of a subject on the softmax networks that were proved, by length: every word of the first lengths, such
    words as `check` tries of the last length and of some between; and the first word, if there is one, on which hard
    attention is not what the program says. A KeyboardInterrupt ends it early.

    Raises:
        Contradiction: naming a word that softmax answers otherwise than hard attention.
    """
    first, last = min(networks), max(networks)
    hard = subject.hard
    weight = len(hard.heads) + len(hard.layers) + hard.dimension // COORDINATES
    # Not every length between the first and the last need be proved.
    whole = list(takewhile(networks.__contains__, first_lengths(len(subject.alphabet), first, last)))
    between = [2**power for power in range(last.bit_length()) if first < 2**power < last and 2**power in networks]
    found, exact = Confirmation(), ExactModel(hard)
    balls, wrong = IN_BALLS, None
    try:
        for n in affordable([*(whole[:FIRST] or [first]), last, *whole[FIRST:], *between], weight):
            words = list(enumerate_words(subject.alphabet, n)) if n in whole else _sample(subject, n)
            positions = len(subject.prepared(words[0])) + hard.bos
            words = words[: min(MOST - found.words, PAIRS // (weight * positions**2))]
            if not words:
                continue
            prepared = [subject.prepared(word) for word in words]
            answers = subject.hard_answers(exact, exact.run(prepared))
            wrong = wrong or _not_the_program(subject, words, answers)
            judge = SoftJudge(subject, networks[n], hard, "auto")
            undecided, balls = _hold(judge, words, answers, balls)
            found = found.and_then(n, len(words), undecided, n in whole)
    except KeyboardInterrupt:
        found = replace(found, partial=True)
    return found, wrong


def _sample(subject: AttentionSubject, n: int) -> list[Word]:
    """Some words of a length, with accepted ones among them where a program says soon which they are."""

    def accepts(word: Word) -> bool:
        return n <= SHORT and subject.oracle is not None and subject.oracle(word) is True

    tried = effort(SAMPLED, n)
    examples = tuple(word for word, _ in subject.examples)
    return list(
        plan_length(subject.alphabet, n, 0, tried.samples, 0, accepts, examples, tried.structured, tried.pairs).words
    )


def _not_the_program(
    subject: AttentionSubject, words: Sequence[Word], answers: Sequence[Answer]
) -> AttentionMismatch | None:
    """The first word on which hard attention answers otherwise than the program."""
    if subject.oracle is None:
        return None
    for word, answer in zip(words, answers, strict=True):
        wanted = subject.oracle(word)
        if wanted != answer:
            return AttentionMismatch(word, wanted, answer, answer)
    return None


def _hold(judge: SoftJudge, words: Sequence[Word], answers: Sequence[Answer], balls: int) -> tuple[int, int]:
    """Hold softmax against hard attention, in certified float64, then in balls for words of as many symbols as there
    are left for these; on how many words no answer was reached, and how many symbols are left then."""
    subject, undecided = judge.subject, 0
    found: list[Answer] = [None] * len(words)
    if judge.floats is not None:
        prepared = [subject.prepared(word) for word in words]
        found = float_answers(subject, judge.floats.run(prepared), len(prepared[0]))
    for word, hard, soft in zip(words, answers, found, strict=True):
        answer, reached = soft, settled(soft)
        if not reached and len(word) <= balls:
            balls -= len(word)
            try:
                # What is exact and still not settled lies on the threshold, where hard attention was proved not to be.
                answer, reached = judge.answer(word), True
            except Undecided:
                reached = False
        undecided += not reached
        if reached and answer != hard:
            raise Contradiction(
                f"{subject.name} was proved for words of length {len(word)}, but the word {' '.join(word)} contradicts "
                f"it: hard attention: {_text(hard)}; softmax: {_text(answer)} (temperature "
                f"{judge.soft.model.temperature})"
            )
    return undecided, balls


def _text(answer: Answer) -> str:
    """An answer in words."""
    if isinstance(answer, tuple):
        return " ".join("?" if symbol is None else symbol for symbol in answer) or "the empty word"
    return {True: "accept", False: "reject", None: "neither, exactly on the threshold"}[answer]
