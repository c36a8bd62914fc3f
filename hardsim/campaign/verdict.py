"""The verdict of a check, and the words that it covers."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import count, takewhile

from hardsim.campaign.result import (
    CERTIFY,
    OBSERVED_MISMATCH,
    HardUndecided,
    LengthCounts,
    LengthResult,
    Mismatch,
    Verdict,
    Violation,
    WordCounts,
    no_answer,
)
from hardsim.options.values import LARGEST_LENGTH
from hardsim.targets.result import AUTO, BALL, FLOAT64, MPMATH, RATIONAL, plural

NO_ANSWER = "hard attention itself gives no answer on a word: its outputs do not select exactly one symbol"
HOW = {
    AUTO: "in float64 with rigorous error bounds",
    FLOAT64: "in float64 with rigorous error bounds",
    BALL: "in ball arithmetic",
    MPMATH: "in mpmath (no rigorous enclosure)",
    RATIONAL: "in exact rationals",
}


def judge(
    lengths: Sequence[LengthCounts],
    mismatch: Mismatch | None,
    violation: Violation | None,
    engine: str,
    escalated: int = 0,
    every: bool = False,
    judged: bool = False,
    max_n: int = LARGEST_LENGTH,
    least: int = 1,
    counted: bool = True,
    undecided: HardUndecided | None = None,
) -> tuple[Verdict, str]:
    """Return the verdict and a sentence on the words it covers. Certain contradictions come first, then those that
    mpmath observed. One word without an answer leaves a check undecided.

    Args:
        max_n: the longest length; longer words are pinned.
        least: the shortest length.
        every: True if every error bound was checked too.
        judged: True if some words have no expected answer; these are not counted as tried.
        counted: True if words without an expected answer are counted among the possible words.
        undecided: a word on which hard attention itself decides nothing.
    """
    found: list[tuple[bool, str]] = []
    if mismatch is not None and mismatch.refutes:
        what = f"{mismatch.kind} disagree on a word of length {len(mismatch.word)}, the shortest mismatch found"
        if mismatch.no_output is not None:
            what = f"{mismatch.no_output.summary}; {what}"
        if mismatch.direct:
            what = wrong_on(mismatch, lengths, least)
        found.append((mismatch.certain(engine), what))
    if violation is not None:
        found.append((not violation.observed, f"{violation.what} does not hold at length {violation.n}"))
    if found:
        return contradiction(found)
    # Words without an expected answer are no evidence, so without judged words there is no verdict.
    if not any(length.words for length in lengths):
        left = sum(length.unjudged for length in lengths)
        message = (
            f"no word was judged: the reference leaves {plural(left, 'word')} open" if left else "no word was tried"
        )
        return Verdict.UNDECIDED, message
    if mismatch is not None:
        return Verdict.UNDECIDED, NO_ANSWER if undecided is None else undecided.summary
    stuck = sum(length.undecided for length in lengths)
    if stuck:
        total = sum(length.words for length in lengths)
        return Verdict.UNDECIDED, f"{no_answer(stuck, total)}; the others agree"
    # Only `auto` chooses the arithmetic word by word.
    in_balls = f", {escalated:,} of them in ball arithmetic" if escalated and engine == AUTO else ""
    how = HOW[engine]
    # Networks with layer norms are not run in float64.
    if engine == AUTO and escalated == sum(length.words for length in lengths):
        how, in_balls = HOW[BALL], ""
    claim = ": every answer and every error bound" if every else ""
    verdict = Verdict.OBSERVED if engine == MPMATH else Verdict.CERTIFIED
    tried = words_tried(lengths, max_n, "judged word" if judged else "word", least, counted)
    return verdict, f"{tried}{_run(lengths, f'{how}{in_balls}{claim}')}"


def _run(lengths: Sequence[LengthCounts], how: str) -> str:
    """Return the text on how softmax was run. Words that it was not run on are no measurements, and are counted
    apart."""
    some = [length for length in lengths if isinstance(length, LengthResult) and length.bounded]
    if not some:
        return f", {how}"
    left, total = sum(length.bounded for length in some), sum(length.words for length in lengths)
    rest = f"on the other {left:,} ({lengths_text([length.n for length in some])})"
    return (
        f"; softmax was run on {total - left:,} of these {total:,} words, {how}; {rest} an error bound shows that it "
        "answers as hard attention does"
    )


def contradiction(found: Sequence[tuple[bool, str]]) -> tuple[Verdict, str]:
    """Return the verdict where a claim is contradicted; `found` has (certain?, text) pairs, and a certain one goes
    before one that mpmath observed."""
    certain, what = max(found, key=lambda one: one[0])
    return (Verdict.REFUTED, what) if certain else (Verdict.OBSERVED, f"{OBSERVED_MISMATCH}: {what}; {CERTIFY}")


def wrong_on(mismatch: Mismatch, lengths: Sequence[LengthCounts], least: int = 1) -> str:
    """Return the text that an external network is wrong on a word, with the word that it was shrunk from."""
    n, first = len(mismatch.word), mismatch.shrunk_from
    expected = "" if mismatch.no_output is None else f"{mismatch.no_output.summary}; "
    if not n:
        return f"{expected}the network is wrong on the empty word"
    source = "" if first is None else f"a word of {len(first):,}" if len(first) > n else "another word with as many"
    of = f", shrunk from {source} symbols" if source else ""
    return f"{expected}the network is wrong on a word of length {n:,}{of}, {shortest(lengths, n, least)}"


def shortest(lengths: Sequence[LengthCounts], n: int, least: int = 1) -> str:
    """Return the text on the length n of a wrong word: whether it is known to be the shortest."""
    return "the shortest: all shorter words were tried" if all_shorter(lengths, n, least) else "the shortest found"


def shorter_left(mismatch: Mismatch | None, lengths: Sequence[LengthCounts], least: int) -> bool:
    """Return True if an external network is wrong on a word, and not all shorter words were tried."""
    return mismatch is not None and mismatch.direct and not all_shorter(lengths, len(mismatch.word), least)


def all_shorter(lengths: Sequence[LengthCounts], n: int, least: int = 1) -> bool:
    """Return True if all words of `least` to n - 1 symbols were tried, and none of them was left undecided."""
    return {length.n for length in lengths if length.exhaustive and not length.undecided} >= {*range(least, n)}


def lengths_text(lengths: Sequence[int]) -> str:
    """Return a text for ascending lengths, some of which may be left out: `lengths 1 to 8`, `3 lengths from 2 to 9`."""
    first, last = lengths[0], lengths[-1]
    if first == last:
        return f"length {first}"
    if len(lengths) == last - first + 1:
        return f"lengths {first} to {last}"
    if len(lengths) == 2:
        return f"lengths {first} and {last}"
    return f"{len(lengths)} lengths from {first} to {last}"


def words_tried(
    found: Sequence[WordCounts], max_n: int, noun: str = "word", least: int = 1, counted: bool = True
) -> str:
    """Return a text for the words tried: all words of `least` symbols up to some length, the number of longer ones, and
    the pinned ones. Unless `counted`, the number of possible words with an expected answer is unknown, and the text
    counts them `among` all words."""
    lengths = [length for length in found if length.n <= max_n]
    longer = [length for length in found if length.n > max_n and length.words]
    known = zip(lengths, count(least), strict=False)
    # Only lengths that follow each other without a gap, from `least` on, are reported as "all words up to".
    whole = sum(1 for _ in takewhile(lambda one: one[0].exhaustive and one[0].n == one[1], known))
    parts: list[str] = []
    if total := sum(length.words for length in lengths[:whole]):
        parts.append(f"all {total:,} {noun}s up to length {least + whole - 1}")
    rest = lengths[whole:]
    if rest:
        possible = sum(length.possible for length in rest)
        span = lengths_text([length.n for length in rest])
        shown = f"{possible:,}" if possible < 10**12 else f"about 10^{Decimal(possible).adjusted()}"
        among = f"of {shown} {noun}s" if counted else f"{noun}s among the {shown} words"
        parts.append(f"{sum(length.words for length in rest):,} {among} of {span}")
    if longer:
        up_to = "up to " if len(longer) > 1 else ""
        words = plural(sum(length.words for length in longer), "pinned word")
        parts.append(f"{words} of {up_to}{longer[-1].n:,} symbols")
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
