"""Single words: the answers of semantics, hard attention and softmax, the distance of softmax from hard attention, and
the words that one of the three accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, groupby, islice
from typing import Literal

from hardsim.campaign.check import CheckOptions, Deciding, words_of
from hardsim.campaign.engines import HardRunner
from hardsim.campaign.judges import HardJudge
from hardsim.campaign.preparation import Preparation, plan_length, prepare_words
from hardsim.campaign.result import Evaluation, Tie, undecided_word
from hardsim.errors import HardsimError, OutOfRange, Undecided
from hardsim.network.transformer import LengthTable
from hardsim.targets.result import Answer, Word
from hardsim.targets.stored import store_program, stored_text
from hardsim.targets.subject import Subject

BATCH, TOGETHER = 256, 2**15
"""Number of words in a batch where only their answers count, and of symbols in a batch where measured numbers count
too."""


def preparation(
    subject: Subject, options: CheckOptions, lengths: Sequence[int], extra: Sequence[Word] = ()
) -> Preparation:
    """Return hard attention measured at some lengths, on the words that a check would try and on the `extra` words.
    Raises OutOfRange if a program leaves the range that its construction covers."""
    accepts = Deciding(subject)
    plans = {n: words_of(subject, options, n, accepts) for n in lengths}
    extra_by_length = {n: [word for word in extra if len(word) == n] for n in lengths}
    words = {n: dict.fromkeys([*plan.words, *extra_by_length[n]]) for n, plan in plans.items()}
    try:
        return prepare_words(subject, words, {n: plan.exhaustive for n, plan in plans.items()}, keep=False)[0]
    except OutOfRange:
        # Another word of the length leaves the range: the words asked about are measured alone.
        if not all(extra_by_length.values()):
            raise
        return prepare_words(subject, extra_by_length, dict.fromkeys(lengths, False), keep=False)[0]


def temperatures(prepared: Preparation, subject: Subject) -> LengthTable:
    """Return Theorem 26's temperature at every length, from 1 on, that a prepared word can have. For padded words, a
    length between two measured ones gets the temperature of the next longer one, which is smaller. Raises Undecided if
    no temperature gives an error of at most epsilon."""
    known = {found.n: plan_length(prepared, subject, n).theorem for n, found in prepared.facts.items()}
    lengths = sorted(known)
    return LengthTable(tuple(known[next(m for m in lengths if m >= n)] for n in range(1, lengths[-1] + 1)))


def compiled_text(subject: Subject, hard: bool, max_n: int) -> str:
    """Return the text of `compiled_document`, without the ties."""
    return compiled_document(subject, hard, max_n)[0]


def compiled_document(subject: Subject, hard: bool, max_n: int) -> tuple[str, tuple[Tie, ...]]:
    """Return the JSON document of a subject, and the ties of the words that were run for it. The document is hard
    attention (`hard`) or the softmax network. The temperature of a program or model is its own; else one that is proved
    for every length; else that of Theorem 26 at each length up to `max_n`. Raises Undecided if no temperature gives an
    error of at most epsilon; OutOfRange if a program leaves the range that its construction covers."""
    if hard or subject.one_network:
        return stored_text(subject, hard), ()
    if subject.temperature is not None and not subject.given_temperature:
        return store_program(subject, subject.temperature), ()
    prepared = preparation(subject, CheckOptions(max_n=max_n), range(1, max_n + 1))
    schedule = subject.temperature or temperatures(prepared, subject)
    return store_program(subject, schedule, prepared.program), prepared.ties


def _judges(subject: Subject, options: CheckOptions, words: Sequence[Word]) -> Callable[[int], HardJudge]:
    """Return the function from a length of these words to the judge that answers words of it. A judge is made at the
    first use."""
    if subject.one_network:
        judge = HardJudge(subject, subject.program, None, options.dps, options.engine)
        return lambda n: judge
    prepared = preparation(subject, options, sorted({len(word) for word in words}), words)

    @cache
    def at(n: int) -> HardJudge:
        return HardJudge(subject, prepared.program, plan_length(prepared, subject, n), options.dps, options.engine)

    return at


def judge_of(subject: Subject, options: CheckOptions, word: Word) -> HardJudge:
    """Return the judge that answers a word. Raises OutOfRange if a program leaves the range that its construction
    covers."""
    return _judges(subject, options, [word])(len(word))


def evaluate(subject: Subject, words: Sequence[Word], options: CheckOptions) -> Iterator[Evaluation]:
    """Yield all answers on each word in turn; the temperature is Theorem 26's for the word's length unless there is
    another. Raises OutOfRange if a program leaves the range that its construction covers."""
    return chain.from_iterable(evaluate_together(subject, words, options))


def evaluate_together(subject: Subject, words: Sequence[Word], options: CheckOptions) -> Iterator[list[Evaluation]]:
    """Yield the evaluations of words in lists: words of one length that follow each other are run together."""
    at = _judges(subject, options, words)
    for n, alike in groupby(words, key=len):
        judge, left = at(n), iter(alike)
        while some := list(islice(left, max(1, TOGETHER // n))):
            try:
                yield judge.evaluations(some)
            except HardsimError:
                if len(some) == 1:
                    raise
                for word in some:  # so that the words before the failing one are answered
                    yield judge.evaluations([word])


def accepted_words(
    subject: Subject, words: Iterable[Word], by: Literal["oracle", "hard", "soft"], options: CheckOptions
) -> Iterator[Word]:
    """Yield the words that the semantics ("oracle"), hard attention or softmax accepts; the words are given shortest
    first. A subject without semantics of its own has hard attention as its oracle. A softmax output that is neither
    accept nor reject accepts nothing. Raises Undecided if softmax reaches no answer on a word."""
    hard, at = HardRunner(subject), None
    for _, same_length in groupby(words, len):
        # The temperature of a length depends on all words that are run there, so they are read before the first
        # answer.
        if by == "soft" and not subject.one_network:
            same_length = iter(every := list(same_length))
            at = _judges(subject, options, every)
        while batch := list(islice(same_length, BATCH)):
            answers: Sequence[Answer]
            if by == "soft":
                at = at or _judges(subject, options, batch)
                prepared = [subject.prepared(word) for word in batch]
                found = at(len(batch[0])).soft.decisions(prepared)
                answers = [_decided(word, *one) for word, one in zip(batch, found, strict=True)]
            else:
                expected = subject.answers(batch) if by == "oracle" else None
                answers = hard.answers(batch) if expected is None else expected
            yield from (word for word, answer in zip(batch, answers, strict=True) if answer is True)


def _decided(word: Word, decided: bool, answer: Answer) -> Answer:
    if not decided:
        raise Undecided(undecided_word(word))
    return answer
