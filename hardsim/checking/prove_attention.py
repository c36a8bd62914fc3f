"""Proofs for hard-attention models and programs: softmax answers as hard attention on every word of a length.

By the error recursion of Theorem 26. What it needs to know of the hard model (gaps, sizes, which clips saturate) comes

 - from the structure of the model, where a compiled program has no integer that could leave its range: spans of all
   coordinates are derived from the matrices (`ahat.static`), and the gaps are those of the program's constructions; or
 - from exact hard attention on every single word of the length, where there are at most so many.

If the bound at the output is then smaller than the distance of every hard output from the threshold, softmax is on the
same side: no softmax model is run for that. After a proof some words are run all the same (`confirm_attention`).

What is proved is the softmax network that was opened, or the one that hardsim makes of a hard-attention model: ties of
leftmost and rightmost heads are broken in the second only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import log10

from hardsim.ahat.exact import ExactModel, Trace
from hardsim.ahat.harden import with_softmax
from hardsim.ahat.measure import LengthFacts, lower
from hardsim.ahat.recursion import Bounds, error_bounds
from hardsim.ahat.static import static_facts
from hardsim.ahat.temperature import DEFAULT_EPSILON, declared_gaps, inverses, solve
from hardsim.checking.attention import Answer, AttentionOptions, AttentionSubject, settled
from hardsim.checking.attention_plan import added, constant, prepare, refuted_gap
from hardsim.checking.attention_result import AttentionMismatch
from hardsim.checking.attention_words import SoftJudge, batches
from hardsim.checking.confirm import Confirmation
from hardsim.checking.confirm_attention import confirm_attention
from hardsim.checking.result import Verdict, Word, span_text
from hardsim.checking.words import count_words
from hardsim.errors import Contradiction, Undecided
from hardsim.net.model import Schedule, Transformer
from hardsim.spec.ir import Weighting

EVERY = 20_000
"""Words of a length that are run one by one where structure says nothing."""
MANY_DIGITS = 12
"""A number of words with more digits is shown as a power."""
AMISS = "hard attention is not what the program says"
UNDECIDING = "hard attention itself decides nothing on a word: an output is the threshold"


@dataclass(frozen=True, slots=True)
class LengthProof:
    """One length. `how` is structure, every word, or empty where `reason` says why there is no proof; `bound` is that
    of the output's error, `distance` how far every hard output is from the threshold at least. `network` is the softmax
    network that was proved."""

    n: int
    how: str
    tau: Fraction | None = None
    bound: Fraction | None = None
    distance: Fraction | None = None
    reason: str = ""
    broken: tuple[str, ...] = ()
    """The heads whose ties softmax breaks with weights that are added to the model's."""
    network: Transformer | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class AttentionProof:
    """What is known of all words of length `min_n` to `max_n`. `tried` words were run in search of a refutation,
    `confirmed` are those that were run after a proof."""

    name: str
    sha256: str
    kind: str
    title: str
    max_n: int
    lengths: tuple[LengthProof, ...]
    verdict: Verdict
    reach: str
    tried: int
    mismatch: AttentionMismatch | None
    min_n: int = 1
    confirmed: Confirmation | None = None

    @property
    def proved_to(self) -> int:
        """The length up to which every length from `min_n` on is proved (0: not even that one)."""
        found = 0
        for length in self.lengths:
            if not length.how:
                break
            found = length.n
        return found


def longest(subject: AttentionSubject, max_n: int, every: int = EVERY) -> int:
    """The longest length up to `max_n` of which there may be a proof: any, where structure says enough, else one that
    has at most `every` words (0: none)."""
    if subject.structural or len(subject.alphabet) == 1:
        return max_n
    n = 0
    while n < max_n and count_words(len(subject.alphabet), n + 1) <= every:
        n += 1
    return n


def unproved_for_every_length(subject: AttentionSubject, max_n: int, min_n: int = 1) -> AttentionProof:
    """The result where a proof for every length is asked for: there is no argument for that, whatever the model."""
    reach = (
        "there is no argument for every length of programs and hard-attention models, whose proofs are about one "
        "length at a time; no length was looked at. Next: leave out --all-n, and name the longest length with --max-n"
    )
    return AttentionProof(
        name=subject.name,
        sha256=subject.sha256,
        kind=subject.kind,
        title=subject.title,
        max_n=max_n,
        lengths=(),
        verdict=Verdict.UNDECIDED,
        reach=reach,
        tried=0,
        mismatch=None,
        min_n=min_n,
    )


def prove_attention(
    subject: AttentionSubject,
    max_n: int,
    choice: AttentionOptions,
    search: int = 2000,
    every: int = EVERY,
    *,
    min_n: int = 1,
    report: Callable[[int, int], None] | None = None,
) -> AttentionProof:
    """Prove every length from `min_n` to `max_n`; where one is not proved at a given temperature, try up to `search`
    words. `report` is told how many of how many lengths are done.

    Raises:
        InputError: if the temperature is not positive, or a word leaves the range of a program (OutOfRange).
    """
    lengths: list[LengthProof] = []
    tried, mismatch = 0, None
    schedule = choice.tau or subject.schedule
    for n in range(min_n, max_n + 1):
        found, wrong = prove_length(subject, n, choice, every)
        lengths.append(found)
        mismatch = mismatch or wrong
        affordable = count_words(len(subject.alphabet), n) <= search - tried
        if not found.how and mismatch is None and schedule is not None and affordable:
            words = list(product(subject.alphabet, repeat=n))
            tried += len(words)
            mismatch = _refute(subject, words, schedule)
        if mismatch is not None or (n > longest(subject, n, every) and (schedule is None or not affordable)):
            break  # of longer ones there is neither a proof nor a refutation
        if report is not None:
            report(len(lengths), max_n - min_n + 1)
    verdict, reach = _conclude(subject, lengths, (min_n, max_n), tried, mismatch)
    return AttentionProof(
        name=subject.name,
        sha256=subject.sha256,
        kind=subject.kind,
        title=subject.title,
        max_n=max_n,
        lengths=tuple(lengths),
        verdict=verdict,
        reach=reach,
        tried=tried,
        mismatch=mismatch,
        min_n=min_n,
    )


def prove_length(
    subject: AttentionSubject, n: int, choice: AttentionOptions, every: int
) -> tuple[LengthProof, AttentionMismatch | None]:
    """The proof of one length, and a word on which hard attention is not what the program says."""
    if subject.structural:
        size = len(subject.prepared((subject.alphabet[0],) * n))
        facts = static_facts(subject.hard, size, [out for _, out in subject.outputs])
        return _settle(subject, subject.hard, facts, choice, n, "structure"), None
    if n > longest(subject, n, every):
        return LengthProof(n, "", reason=_too_many(subject, n)), None
    words: list[Word] = list(product(subject.alphabet, repeat=n))
    wrong, distance = _run_hard(subject, ExactModel(subject.hard), words)
    if wrong is not None:
        return LengthProof(n, "", reason=AMISS if wrong.refutes else UNDECIDING), wrong
    found = prepare(subject, {n: words}, {n: True})
    split = _split(subject, found.facts[n]) if not found.broken else found.broken
    if subject.schedule is not None and split:
        reason = f"head {split[0]} has ties on some word, and the softmax network in the file attends to all of them"
        return LengthProof(n, "", reason=reason), None
    broken = refuted_gap(found.hard, found.facts[n])
    if broken is not None:
        return LengthProof(n, "", reason=f"{broken.what} does not hold"), None
    facts = replace(found.facts[n], distance=distance)
    settled_length = _settle(subject, found.hard, facts, choice, n, "every word")
    return replace(settled_length, broken=found.broken), None


def _settle(
    subject: AttentionSubject, hard: Transformer, facts: LengthFacts, choice: AttentionOptions, n: int, how: str
) -> LengthProof:
    """Whether the bound at the outputs is smaller than their distance from the threshold."""
    distance = facts.distance or Fraction(0)
    if not distance:
        return LengthProof(n, "", reason="an output may lie on the threshold")
    gaps = declared_gaps(hard, facts)
    schedule = choice.tau or subject.schedule
    try:
        if schedule is None:
            epsilon = choice.epsilon or min(DEFAULT_EPSILON, distance / 2)
            solution = solve(hard, facts, epsilon, gaps)
            bounds, tau = solution.bounds, solution.tau
        else:
            inverse = inverses(with_softmax(hard, schedule), facts.n)
            bounds, tau = error_bounds(hard, facts, inverse, gaps), 1 / min(inverse)
    except Undecided as failure:
        return LengthProof(n, "", reason=str(failure))
    bound = output_bound(subject, bounds)
    if bound < distance:
        return LengthProof(n, how, tau, bound, distance, network=with_softmax(hard, schedule or constant(tau)))
    reason = "the bound of the output's error is not smaller than its distance from the threshold"
    return LengthProof(n, "", tau, bound, distance, reason)


def output_bound(subject: AttentionSubject, bounds: Bounds) -> Fraction:
    """The bound of the error at the output coordinates."""
    outs = [subject.hard.output] if subject.acceptor else [out for _, out in subject.outputs]
    return max(bounds.layers[-1].final[out] for out in outs) if bounds.layers else Fraction(0)


def _run_hard(
    subject: AttentionSubject, exact: ExactModel, words: Sequence[Word]
) -> tuple[AttentionMismatch | None, Fraction | None]:
    """A word on which hard attention differs from the semantics, or decides nothing; else how far its outputs are from
    the threshold at least, all of them where there are several."""
    place, distance = 0, None
    prepared = [subject.prepared(word) for word in words]
    for batch in batches(prepared, len(prepared[0]) + subject.hard.bos):
        trace = exact.run(batch)
        for answer in subject.hard_answers(exact, trace):
            word = words[place]
            place += 1
            oracle: Answer = None if subject.oracle is None else subject.oracle(word)
            if not settled(answer) or (subject.oracle is not None and oracle != answer):
                return AttentionMismatch(word, oracle, answer, answer), None
        distance = lower(distance, _distance(subject, exact, trace))
    return None, distance


def _distance(subject: AttentionSubject, exact: ExactModel, trace: Trace) -> Fraction:
    """The least distance from the threshold of an output of one batch."""
    if subject.acceptor:
        values = exact.outputs(trace)
    else:
        first, columns = 1 - subject.hard.first, [trace.columns[out] for _, out in subject.outputs]
        count = columns[0].whole.shape[0]
        values = [value for column in columns for word in range(count) for value in column.values(word)[first:]]
    return min(abs(value - subject.threshold) for value in values)


def _refute(subject: AttentionSubject, words: list[Word], schedule: Schedule) -> AttentionMismatch | None:
    """A word of one length that softmax answers wrongly at a temperature, in the network that was to be proved.

    Words at which softmax lies on the threshold itself, so that no precision settles them, refute nothing.
    """
    n = len(words[0])
    hard = subject.hard if subject.schedule is not None else prepare(subject, {n: words}, {n: True}).hard
    return SoftJudge(subject, with_softmax(hard, schedule), hard, "auto").tally(words).mismatch


def _upto(first: int, last: int) -> str:
    """The lengths that were proved before one that was not."""
    return f"to length {last}" if first == 1 else f"for {span_text(first, last)}"


def confirmed(subject: AttentionSubject, result: AttentionProof) -> AttentionProof:
    """A result with words run after it, if it is PROVED; a KeyboardInterrupt ends them early. REFUTED instead, where
    hard attention is not the program on one of them, which a proof by structure does not claim.

    Raises:
        Contradiction: naming a word that is not answered as was proved.
    """
    if result.verdict is not Verdict.PROVED:
        return result
    networks = {length.n: length.network for length in result.lengths if length.network is not None}
    found, wrong = confirm_attention(subject, networks)
    if wrong is None:
        return replace(result, confirmed=found)
    if any(length.n == len(wrong.word) and length.how != "structure" for length in result.lengths):
        raise Contradiction(f"{subject.name}: hard attention was found to be the program on {' '.join(wrong.word)}")
    reach = f"{wrong.kind} disagree on a word of length {len(wrong.word)}"
    return replace(result, verdict=Verdict.REFUTED, reach=reach, mismatch=wrong)


def _too_many(subject: AttentionSubject, n: int) -> str:
    """Why nothing is known of a length with more words than are run."""
    size = len(subject.alphabet)
    possible = f"{size}^{n}" if n * log10(size) > MANY_DIGITS else f"{count_words(size, n):,}"
    if subject.kind == "srasp":
        return f"its integers may leave their range on some of the {possible} words, which are too many to be tried"
    return (
        "a gap that is measured, or declared by the file, says nothing of words that were not tried, and "
        f"{possible} words are too many"
    )


def _split(subject: AttentionSubject, facts: LengthFacts) -> list[str]:
    """The leftmost and rightmost heads that have ties."""
    sides = (Weighting.LEFTMOST, Weighting.RIGHTMOST)
    return [head.name for head in subject.hard.heads if head.weighting in sides and facts.heads[head.name].tie]


def _conclude(
    subject: AttentionSubject,
    lengths: list[LengthProof],
    span: tuple[int, int],
    tried: int,
    mismatch: AttentionMismatch | None,
) -> tuple[Verdict, str]:
    if mismatch is not None and mismatch.refutes:
        where = f"on a word of length {len(mismatch.word)}"
        return Verdict.REFUTED, f"{mismatch.kind} disagree {where}{added(lengths[-1].broken)}"
    broken = added(dict.fromkeys(name for length in lengths for name in length.broken))
    claim = f"softmax answers as hard attention does{broken}"
    if subject.kind == "srasp":
        how = {length.how for length in lengths}
        claim += ", and hard attention as the program says" if how == {"every word"} else ""
        claim += (
            " (that hard attention is the program rests on one construction per vector)" if "structure" in how else ""
        )
    first = next((length for length in lengths if not length.how), None)
    if first is None:
        return Verdict.PROVED, f"every word of {span_text(*span)}: {claim}"
    before = f"proved {_upto(span[0], first.n - 1)}; " if first.n > span[0] else ""
    searched = f" ({tried:,} words tried, none refutes)" if tried else ""
    least = f"--min-n {span[0]} " if span[0] > 1 else ""
    after = f". Next: {least}--max-n {first.n - 1} is proved" if first.n > span[0] else ". Next"
    after += f"{', and' if first.n > span[0] else ':'} `hardsim check` tries words of any length"
    if mismatch is not None:
        after = ""
    return Verdict.UNDECIDED, f"{before}not at length {first.n}: {first.reason}{searched}{after}"
