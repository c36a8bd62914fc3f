"""Proofs about external networks as results: what is asked of the prover, and the words that are run beside a proof.

The prover covers the prefixes of words (`proof.external`). Its results are compared with words that other code runs and
judges: a wrong prefix must be judged wrong there, and no short word may be judged wrong that lies within a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from typing import Annotated, Any

from hardsim.campaign.check import CheckOptions, Progress, Report, check_subject, searched
from hardsim.campaign.checkpoint import Memory
from hardsim.campaign.given import GIVEN, GivenWords
from hardsim.campaign.interrupts import interruptible, to_the_report
from hardsim.campaign.result import Against, CheckResult, Mismatch, Partial, Reach, Verdict, verdict_summary
from hardsim.campaign.workers import Crew, Job, Shard, WorkerLost
from hardsim.errors import Contradiction, InputError
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network, arrays_of
from hardsim.options.table import Request
from hardsim.proof.external.every_word import few_reach, prove_by_words
from hardsim.proof.external.pattern_proof import Share, alone
from hardsim.proof.external.prove import ExternalProof, greatest_length, prove_external
from hardsim.proof.external.result import EVERY_WORD, STRUCTURE, OpenPrefixes, PrefixProof, ProvedMargin
from hardsim.proof.external.two_layers import LayerLimits, prove_layers, require_two_layers
from hardsim.proof.shared.result import NoProof, NotProved
from hardsim.proving.external_words import affordable_length, run_every_word
from hardsim.proving.prove import bounded
from hardsim.records import Natural, Unwritten, one_of
from hardsim.targets.external import External
from hardsim.targets.prefix_oracle import prefix_oracle
from hardsim.targets.result import AUTO, plural
from hardsim.targets.subject import SubjectRecord

SHORT, FEW = 6, 100
"""Greatest length of the words that are run before or after a proof, and most words of each length after it."""
FEW_PREFIXES = 100_000
"""Most words of an open length that are all run."""
TRIED = "a class of prefixes stays open from the weights"
EVERY = 4096
"""Most words of a length that a check runs every one of, where a network is not proved from its weights."""
WIDE = 2**15
"""Number of weights of one layer from which short words are run before the prover is asked, which takes long there."""
FIRST = 20_000
"""Most words of a length that are run before the prover is asked: a few seconds, for a layer of a million weights."""
ASSUMED = "the stored weights, computed in real numbers: rounding on your machine is not part of the proof"
"""The assumption of every proof about an external network."""

StepReport = Callable[[int, int], None]
"""A function that is called with the number of steps that are done and of all: lengths, or prefixes that are run."""


@dataclass(frozen=True, repr=False)
class NetworkProof(SubjectRecord):
    """The result of `prove` for an external network: PROVED if its answers are right after every judged prefix of at
    most `max_n` symbols (where every prefix is run and no length was given: as far as that was done), REFUTED if it is
    wrong after one, UNDECIDED otherwise."""

    subject: Unwritten[External]
    """The network, with its reference."""
    max_n: Natural
    """Greatest length that was given, or else that the table of positions has room for."""
    verdict: Annotated[Verdict, one_of("PROVED", "REFUTED", "UNDECIDED")]
    """The verdict on the claim."""
    reach: Reach
    prefix_proof: PrefixProof
    """The proof, prefix by prefix."""
    mismatch: Mismatch | None = None
    """The wrong prefix as a word of its own, with the answer of the network and the expected one; null: there is
    none."""
    confirmed: Natural = 0
    """Number of short words that were run after the proof; each answer was as proved."""
    partial: Partial = False
    against: Against = None

    @property
    def summary(self) -> str:
        """One line: the verdict, the network, how far the verdict reaches, and the refuting word."""
        return verdict_summary(self.verdict, self.input, self.reach, self.mismatch.word if self.mismatch else None)


# ---- the prover ----


def prefix_proof(
    subject: External,
    max_n: int | None,
    report: StepReport | None = None,
    most: int | None = None,
    share: Share = alone,
) -> PrefixProof:
    """Return what is proved of an external network for words of at most `max_n` symbols (None: of as many as its table
    of positions has room for): from its weights, or else by running every prefix, of a length at most `most` (None: as
    many as take about half a minute; all to `max_n`, if that takes a quarter of an hour). Where a class of a short
    length stays open, every prefix is run as well. `share` shares long proofs among processes. Raises NotProved if no
    proof is attempted."""
    network, oracle = subject.network, prefix_oracle(subject)
    try:
        with interruptible():
            if len(network.layers) > 1:
                limits = LayerLimits() if most is None else LayerLimits(few=most, more=False, levels=(), patterns=False)
                found = prove_layers(network, oracle, max_n, limits, report, share)
            elif (wrong := _wrong_short(network, oracle, max_n)) is not None:
                return _record(subject, wrong, EVERY_WORD)
            else:
                found = prove_external(network, oracle, max_n, report=report)
    except NotProved as error:
        with interruptible():
            run = prove_by_words(network, oracle, max_n, most, report, max_n is not None)
        if max_n is None and run.proved >= 0 and not run.opened and run.wrong is None and not run.interrupted:
            run = replace(run, longest=run.proved)
        return _record(subject, run, EVERY_WORD, error.reason)
    if len(network.layers) > 1:
        return _of_layers(subject, found, max_n)
    if found.opened and not found.shortest and _few(subject, found.proved + 1, most):
        greatest = max_n if found.wrong is None else len(found.wrong.word)
        with interruptible():
            run = replace(prove_by_words(network, oracle, greatest, most, report), longest=found.longest)
        if run.shortest or (found.wrong is None and run.proved > found.proved):
            return _record(subject, run, EVERY_WORD, TRIED)
    return _record(subject, found, STRUCTURE)


def _wrong_short(network: Network, oracle: Any, max_n: int | None) -> ExternalProof | None:
    """Return the result of running every short word on a network of many weights, if one of them is wrong. Raises
    NotProved as `prove_by_words`."""
    if sum(array.size for array in arrays_of(network.layers)) < WIDE:
        return None
    longest = greatest_length(network, max_n)
    found = prove_by_words(network, oracle, min(SHORT, longest), FIRST)
    return replace(found, longest=longest) if found.wrong is not None or found.interrupted else None


def _of_layers(subject: External, found: ExternalProof, max_n: int | None) -> PrefixProof:
    """Return the record of a proof of several layers. Where the weights prove no more than the words that were run, and
    no length was given, the claim is about these words."""
    splits = found.splits
    if splits is None:
        return _record(subject, found, EVERY_WORD)
    if found.proved != splits.run_to:
        return _record(subject, found, STRUCTURE)
    if max_n is None and found.opened:
        found = replace(found, longest=found.proved, opened=(), splits=None)
    return _record(subject, found, EVERY_WORD)


def shared_by(crew: Callable[[], Crew]) -> Share:
    """Return the function that shares the tasks of a proof among the workers of a crew, which is asked for when there
    are tasks."""

    def share(
        make: Callable[..., Callable[[Any], Any]], parts: tuple[Any, ...], tasks: Iterable[Any]
    ) -> Generator[Any, None, None]:
        shards = (Shard(task.length, (), known=task) for task in tasks)
        yield from crew().run(Job(_doing, (make, parts)), shards)

    return share


def _doing(make: Callable[..., Callable[[Any], Any]], parts: tuple[Any, ...]) -> Callable[[Shard], Any]:
    """Return the function of a job that does the tasks of a proof."""
    do = make(*parts)
    return lambda shard: do(shard.known)


def words_proof(subject: External, max_n: int | None, report: StepReport | None = None) -> PrefixProof | None:
    """Return what is proved of an external network by running every word by itself: of at most `max_n` symbols (None:
    of as many as may be run). Return None if not all of these may be run. Raises InputError if the reference fails on
    a word."""
    longest = subject.longest if max_n is None else max_n
    if longest is None:
        return None
    end = affordable_length(subject, longest)
    if end < (subject.shortest if max_n is None else longest):
        return None
    return replace(_record(subject, run_every_word(subject, end, report), EVERY_WORD), judged="words")


def _few(subject: External, n: int, most: int | None) -> bool:
    """Return True if words of n symbols are so few that every one is run."""
    return subject.possible(n) <= (FEW_PREFIXES if most is None else most)


def _record(subject: External, found: ExternalProof, proved_by: str, why: str = "") -> PrefixProof:
    """Return the prover's result as a record; `why` says why prefixes were run. Numbers that are not finite are left
    out."""
    wrong, reason = found.wrong, found.reason if found.proved < found.longest else None
    if reason is not None and why and not found.interrupted:
        reason = f"{reason} ({why})"
    return PrefixProof(
        longest=found.longest,
        proved_to=None if found.proved < 0 else found.proved,
        prefixes=found.prefixes,
        judged="prefixes" if subject.prefixes or subject.network.readout.at == "each" else "words",
        proved_by=proved_by,
        wrong=None if wrong is None else wrong.word,
        wrong_margin=None if wrong is None else _exact(wrong.margin),
        shortest=found.shortest,
        open=tuple(
            OpenPrefixes(one.length, one.symbol, _exact(one.bound), _exact(one.sampled)) for one in found.opened
        ),
        reason=reason,
        partial=found.interrupted,
        margins=tuple(
            ProvedMargin(n, _exact(one.low) if one.low > 0 else None, _exact(one.high))
            for n, one in sorted(found.margins.items())
        ),
        splits=found.splits,
    )


def _exact(value: float) -> Fraction | None:
    return Fraction(value) if isfinite(value) else None


def prove_network(
    subject: External, request: Request, report: StepReport | None = None, share: Share = alone
) -> NetworkProof:
    """Prove that an external network answers as its reference says after every judged prefix of at most `--max-n`
    symbols (not given: of as many as its table of positions has room for, or the default without such a table), or find
    a shortest prefix after which it does not; `share` shares long proofs among processes. Raises NotProved if no proof
    is attempted; InputError if the network has no reference, or no room for that many symbols; Contradiction if a word
    that is run contradicts the prover."""
    subject.require_reference()
    room = subject.longest
    max_n = request.max_n if bounded(request) or room is None else None
    greatest = room if max_n is None and room is not None else request.max_n
    if max_n is not None:
        subject.require_lengths(max_n)
    try:
        proof = prefix_proof(subject, max_n, report, share=share)
    except NotProved:
        with interruptible():
            by_words = words_proof(subject, max_n, report)
        if by_words is None:
            raise
        proof = by_words
    mismatch, verdict = None, Verdict.PROVED if proof.complete else Verdict.UNDECIDED
    if proof.wrong is not None:
        verdict, mismatch = Verdict.REFUTED, wrong_word(subject, proof).mismatch
    confirmed = 0 if proof.partial else _confirmed(subject, proof)
    reach = _reach(subject, proof)
    against = subject.against
    return NetworkProof(subject, greatest, verdict, reach, proof, mismatch, confirmed, proof.partial, against)


def _reach(subject: External, proof: PrefixProof) -> str:
    return proof.summary if subject.against is None else f"{subject.reference_text}: {proof.summary}"


def wrong_word(subject: External, proof: PrefixProof) -> CheckResult:
    """Return the result of a check of the wrong prefix alone. Raises Contradiction if it is not judged wrong there."""
    word = proof.wrong
    assert word is not None
    found = check_subject(subject, CheckOptions(max_n=max(1, len(word)), words=GivenWords.of([word])))
    if found.mismatch is None or found.verdict is not Verdict.REFUTED:
        raise Contradiction(f"{subject.name}: the prover found the word {' '.join(word)} wrong, but {found.reach}")
    return found


def _confirmed(subject: External, proof: PrefixProof) -> int:
    """Run some short words within a proof, and return their number. Raises Contradiction if one is judged wrong."""
    longest = min(proof.proved_to or 0, SHORT)
    if longest < 1:
        return 0
    found = check_subject(subject, CheckOptions(longest, exhaustive=FEW, samples=FEW))
    require_as_proved(subject, proof, found)
    return found.words


def require_as_proved(subject: External, proof: PrefixProof, found: CheckResult) -> None:
    """Raise Contradiction if a word was judged wrong after which the network is proved to be right."""
    word = None if found.mismatch is None else found.mismatch.word
    if word is not None and proof.proved_to is not None and len(word) <= proof.proved_to:
        raise Contradiction(
            f"{subject.name} was proved right after every prefix of at most {proof.proved_to} symbols, but the word "
            f"{' '.join(word)} contradicts it: {found.reach}"
        )


# ---- a check with a proof before it ----


def check_network(
    subject: External,
    options: CheckOptions,
    progress: Report | None = None,
    crew: Crew | None = None,
    memory: Memory | None = None,
) -> CheckResult:
    """Check an external network after the prover has tried to settle the lengths up to `options.max_n`: where these are
    proved, only short words are run; the words of all other lengths are chosen as without a prover. The prover is asked
    under engine `auto`, and not about words that were given.

    Raises InputError as for `check_subject`; Contradiction if a word contradicts the proof."""
    if options.engine != AUTO or options.words is not None:
        why = GIVEN if options.words is not None else NoProof(f"a check asks the prover only with --engine {AUTO}")
        why = replace(why, attempted=False)
        return without_proof(check_subject(subject, options, progress, crew, memory), why)
    subject.require_lengths(options.max_n)
    known, early, most = list[PrefixProof | NoProof](), list[CheckResult](), max(options.exhaustive, EVERY)
    guess = None if crew is None or crew.alone or (memory or Memory()).lasts else _guess(subject, options, most)

    def ask() -> None:
        if guess is not None and crew is not None:
            words, proof = _side_by_side(subject, options, guess, progress, crew)
            early.extend(words)
            known.extend(proof)
            if words and words[0].partial:
                return
        known.extend([] if known else [proof_or_reason(subject, options.max_n, most)])
        if isinstance(known[0], PrefixProof) and known[0].partial:
            raise KeyboardInterrupt  # no words are run either

    def report(stopped: bool) -> CheckResult:
        if early and (not known or _left(options, known) == guess):
            return replace(early[0], partial=early[0].partial or stopped)
        return check_subject(subject, _left(options, known), progress, crew, memory, stopped)

    result = to_the_report(ask, report)
    if not known:
        return result
    found = known[0]
    return without_proof(result, found) if isinstance(found, NoProof) else _joined(subject, found, result)


def proof_or_reason(subject: External, max_n: int, most: int) -> PrefixProof | NoProof:
    """Return what is proved of words of at most `max_n` symbols, as `prefix_proof` does, or why no proof is
    attempted."""
    try:
        return prefix_proof(subject, max_n, most=most)
    except NotProved as error:
        return NoProof(error.reason)


def _asking(subject: External, max_n: int, most: int) -> Callable[[Shard], PrefixProof | NoProof]:
    """Return `proof_or_reason` as the function of a job."""
    return lambda shard: proof_or_reason(subject, max_n, most)


# ---- words and a proof at the same time ----
# A proof of two layers takes as long as the search of words beside it. Which words are run depends on what is proved,
# which is often no more than the lengths with few prefixes. So processes search words on this guess while one of them
# asks the prover; if the guess was wrong, the words that belong to the proof are run in their place.


class _SupersededError(Exception):
    """The proof is there, and other words belong to it than those that are being run."""


def _guess(subject: External, options: CheckOptions, most: int) -> CheckOptions | None:
    """Return the options of the words beside a proof that proves no more than the lengths with at most `most` prefixes
    each; None if that is not known, or no words are searched then."""
    try:
        require_two_layers(subject.network)
        settled = few_reach(prefix_oracle(subject), subject.network, options.max_n, most)
    except NotProved:
        return None
    guess = replace(options, settled=settled)
    return guess if searched(subject, guess) else None


def _side_by_side(
    subject: External, options: CheckOptions, guess: CheckOptions, progress: Report | None, crew: Crew
) -> tuple[list[CheckResult], list[PrefixProof | NoProof]]:
    """Run the words of a guess while a worker asks the prover. Return the result of the words, if they were run to the
    end or to an interruption, and the proof, if it is known; where a list is empty the work is to be done again."""
    most = max(options.exhaustive, EVERY)
    shard = Shard(0, (), name=f"the proof about {subject.name}")
    with crew.beside(Job(_asking, (subject, options.max_n, most)), shard) as started:
        if started is None:
            return [], []

        def watched(found: Progress) -> None:
            if started.done and _left(options, [started.answer()]) != guess:
                raise _SupersededError
            if progress is not None:
                progress(found)

        try:
            words = [check_subject(subject, guess, watched, crew)]
        except (_SupersededError, WorkerLost, InputError):  # an error about words has its turn after the proof
            words = []
        if words and words[0].partial:
            return words, []
        try:
            return words, [started.answer()]
        except WorkerLost:
            return words, []


def _left(options: CheckOptions, known: list[PrefixProof | NoProof]) -> CheckOptions:
    """Return the options of the words that are run beside a proof: none longer than a wrong word that is known, if that
    is a shortest one."""
    if not known or isinstance(known[0], NoProof):
        return options
    proof = known[0]
    settled = -1 if proof.proved_to is None else proof.proved_to
    if proof.shortest and proof.wrong is not None:
        return replace(options, settled=settled, max_n=max(1, len(proof.wrong)))
    return replace(options, settled=settled)


def _joined(subject: External, proof: PrefixProof, result: CheckResult) -> CheckResult:
    """Return the result of a proof together with the words that were run beside it."""
    require_as_proved(subject, proof, result)
    if proof.proved_to is not None and not proof.prefixes and proof.wrong is None:
        return replace(result, proof=proof.summary)
    max_n = max(result.max_n, proof.longest)
    result = replace(result, prefix_proof=proof, proof=proof.summary, max_n=max_n)
    tried = result.mismatch if result.mismatch is not None and result.mismatch.refutes else None
    if proof.wrong is not None and (tried is None or len(tried.word) > len(proof.wrong)):
        found = wrong_word(subject, proof)
        judged = (*(one for one in result.judged if one.n < len(proof.wrong)), *found.judged)
        reach, left = _wrong(subject, len(proof.wrong), proof), not proof.shortest
        return replace(
            result, verdict=Verdict.REFUTED, reach=reach, mismatch=found.mismatch, judged=judged, shorter_left=left
        )
    if tried is not None:
        n = len(tried.word)
        if not result.shorter_left or proof.proved_to is None or proof.proved_to < n - 1:
            return result
        return replace(result, reach=_wrong(subject, n, proof), shorter_left=False)
    by_words = proof.proved_by == EVERY_WORD
    if proof.complete:
        return replace(result, verdict=Verdict.PROVED, reach=_both(subject, proof.summary, result, by_words))
    if proof.proved_to is None or result.verdict is not Verdict.CERTIFIED:
        return result
    return replace(result, reach=_both(subject, proof.proved_text, result, by_words))


def _wrong(subject: External, n: int, proof: PrefixProof) -> str:
    """Return the reach of a refutation by a word of n symbols."""
    known = proof.proved_to is not None and proof.proved_to >= n - 1
    shorter = "the shortest: it is proved right on all shorter ones" if known else "the shortest found"
    return _named(subject, f"the network is wrong on a word of length {n:,}, {shorter}")


def _both(subject: External, proved: str, result: CheckResult, by_words: bool) -> str:
    """Return the reach of a proof and of the words beside it, which are named only if the proof ran no words."""
    if by_words:
        return _named(subject, proved)
    many = plural(result.words, "word")
    return _named(subject, f"{proved}; {many} {'was' if result.words == 1 else 'were'} also run, certified")


def _named(subject: External, text: str) -> str:
    return text if subject.against is None else f"{subject.reference_text}: {text}"


def without_proof(result: CheckResult, why: NoProof) -> CheckResult:
    """Return a complete result in which the answers agree, with the reason why there is no other proof: PROVED if every
    word of every length was run and certified, as that is a proof, too. Labelled data and draws prove nothing: they
    may leave out shorter words, and their verdict counts rows."""
    if result.partial or not result.agreed:
        return result
    if result.accuracy is not None:
        return replace(result, proof=why.summary, unproved=why)
    first = result.judged[0].n if result.judged else 1
    whole = all(one.exhaustive and not one.undecided for one in result.judged)
    covered = {one.n for one in result.judged} >= {*range(first, result.max_n + 1)}
    if result.verdict is Verdict.CERTIFIED and result.judged and whole and covered:
        return replace(result, verdict=Verdict.PROVED, reach=f"{result.reach}: a proof by running every word")
    return replace(result, proof=why.summary, unproved=why)
