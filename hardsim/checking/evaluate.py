"""Single words on a hard-attention model: what each of the answers is, and how far softmax is from hard attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hardsim.ahat.exact import ExactModel
from hardsim.checking.attention import Answer, AttentionOptions, AttentionSubject, settled
from hardsim.checking.attention_campaign import engine_of, words_of
from hardsim.checking.attention_plan import Preparation, plan_length, prepare
from hardsim.checking.attention_result import AttentionMismatch
from hardsim.checking.attention_words import SoftJudge
from hardsim.checking.campaign import CheckOptions
from hardsim.checking.result import Word, undecided_word
from hardsim.errors import OutOfRange, Undecided


@dataclass(frozen=True, slots=True)
class AttentionEvaluation:
    """One word: the answers, the largest error of an activation (upper end) and its bound, the bits used.

    Where `decided` is false no answer of softmax was reached, and `soft` and `error` mean nothing.
    """

    word: Word
    oracle: Answer
    hard: Answer
    soft: Answer
    error: Fraction
    bound: Fraction
    bits: int
    decided: bool = True

    @property
    def agree(self) -> bool | None:
        """Whether all answers are the same; None where one is missing and no two differ."""
        if self.refuted:
            return False
        return True if self.decided and settled(self.hard) else None

    @property
    def refuted(self) -> bool:
        """Whether two answers differ, rather than one being missing."""
        return AttentionMismatch(self.word, self.oracle, self.hard, self.soft, self.decided).refutes


def preparation(
    subject: AttentionSubject, options: CheckOptions, lengths: Sequence[int], extra: Sequence[Word] = ()
) -> Preparation:
    """The hard model measured at some lengths, on the words that a check would try and some more.

    Raises:
        OutOfRange: if a program leaves the range that its construction covers.
    """
    words: dict[int, list[Word]] = {}
    whole: dict[int, bool] = {}
    for n in lengths:
        found, whole[n] = words_of(subject, options, n)
        known = set(found)
        words[n] = [*found, *dict.fromkeys(word for word in extra if len(word) == n and word not in known)]
    try:
        return prepare(subject, words, whole)
    except OutOfRange:
        # Another word of the length leaves the range: the words asked about are measured alone.
        asked = {n: [word for word in extra if len(word) == n] for n in lengths}
        if not all(asked.values()):
            raise
        return prepare(subject, asked, dict.fromkeys(lengths, False))


def evaluate_attention(
    subject: AttentionSubject, words: Sequence[Word], options: CheckOptions, choice: AttentionOptions
) -> Iterator[AttentionEvaluation]:
    """All answers on each word in turn; the temperature is Theorem 26's for its length unless one is given.

    Raises:
        OutOfRange: if a program leaves the range that its construction covers.
    """
    found = preparation(subject, options, sorted({len(word) for word in words}), words)
    judges: dict[int, tuple[SoftJudge, Fraction]] = {}
    for word in words:
        n = len(word)
        if n not in judges:
            plan = plan_length(found, subject, choice, n)
            judge = SoftJudge(subject, plan.model, found.hard, engine_of(options.engine))
            judges[n] = judge, plan.bounds.final
        judge, bound = judges[n]
        tally = judge.tally([word])
        mismatch = tally.mismatch
        hard = hard_answer(subject, judge.exact, word) if mismatch is None else mismatch.hard
        oracle = (None if subject.oracle is None else hard) if mismatch is None else mismatch.oracle
        yield AttentionEvaluation(
            word=word,
            oracle=oracle,
            hard=hard,
            soft=hard if mismatch is None else mismatch.soft,
            error=tally.error(len(found.hard.layers) - 1, 1, bound),
            bound=bound,
            bits=tally.bits,
            decided=not tally.undecided,
        )


def hard_answer(subject: AttentionSubject, exact: ExactModel, word: Word) -> Answer:
    """The answer of exact hard attention."""
    return subject.hard_answers(exact, exact.run([subject.prepared(word)]))[0]


def accepted_by(
    subject: AttentionSubject,
    words: Sequence[Word],
    by: Literal["oracle", "hard", "soft"],
    options: CheckOptions,
    choice: AttentionOptions,
) -> Iterator[Word]:
    """The words of one length that the program's semantics, hard attention or softmax accepts.

    A model without semantics of its own has hard attention as its oracle.

    Raises:
        Undecided: if softmax reaches no answer on a word.
    """
    if by == "soft":
        for one in evaluate_attention(subject, words, options, choice):
            if not one.decided:
                raise Undecided(undecided_word(one.word))
            if one.soft is True:
                yield one.word
        return
    exact = ExactModel(subject.hard)
    for word in words:
        if by == "oracle" and subject.oracle is not None:
            accepted = subject.oracle(word)
        else:
            accepted = hard_answer(subject, exact, word)
        if accepted is True:
            yield word
