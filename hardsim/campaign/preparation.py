"""Theorem 26 applied to runs: measurements of the exact run of a program, the temperature that follows at each
length, and the assumptions of the bounds.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np

from hardsim.campaign.engines import HardRunner, batch_size, batches
from hardsim.campaign.failures import given_up
from hardsim.campaign.result import Tie, TiedPosition, TiedRow, Violation
from hardsim.campaign.workers import Crew, Job, LocalCrew, Shard
from hardsim.errors import InvariantError, Undecided
from hardsim.hard.exact import HardTrace
from hardsim.hard.hardmax import ONE_VALUE, OTHER_MEAN
from hardsim.lang.arith import Arith
from hardsim.lang.reals import Real
from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import LengthTable, Schedule, SoftWeighting
from hardsim.program.assemble import assemble
from hardsim.program.hard_attention import Head, Program
from hardsim.proof.shared.result import NoProof
from hardsim.run.enclosure import Booleans
from hardsim.sharpening.measure import LengthFacts, measure, tied_values
from hardsim.sharpening.theorem26 import (
    DEFAULT_EPSILON,
    Bounds,
    Gaps,
    Solution,
    break_ties,
    declared_gaps,
    error_bounds,
    inverses,
    solve,
)
from hardsim.targets.result import Answer, Word, WordError, apart, settled
from hardsim.targets.subject import SIDES, Subject

PORTION, PORTION_PAIRS = 256, 2**18
"""Largest numbers of words, and of pairs of positions (see `batch_size`), that are measured together."""
INVISIBLE = Fraction(1, 2**20)
"""Largest error bound, relative to the least distance of an output from the threshold, with which softmax runs on a
share of the words only."""
SHARE, LEAST_RUN = 4, 4
"""The distance between the words that are run then, and the least number of words that are run, in a batch."""
PACKING = 3
"""Compression level of zlib. Runs are kept in memory until softmax has been compared with them."""


# ---- the exact run ----


@dataclass(frozen=True)
class Measured:
    """The results of exact hard attention on some words of one length: measured facts, the packed runs, so that
    softmax can be compared with them without another run, and the answers."""

    facts: LengthFacts
    runs: tuple[bytes, ...]
    answers: tuple[Answer, ...]


def measured(subject: Subject, program: Program, keep: bool, shard: Shard) -> Measured:
    """Run exact hard attention on words of one length (at least one word); with `keep`, store the runs. Raises
    OutOfRange if a program leaves the range that its construction covers."""
    runner = HardRunner(subject, program)
    facts: LengthFacts | None = None
    runs: list[bytes] = []
    answers: list[Answer] = []
    prepared = [subject.prepared(word) for word in shard.words]
    for batch in batches(prepared, len(prepared[0]) + program.bos, runner.most):
        trace = runner.trace(batch)
        subject.require_range(batch, trace)
        answers += subject.hard_answers(program, trace)
        found = measure(program, batch, trace)
        if facts is None:
            facts = found
        else:
            facts.merge(found)
        if keep:
            runs.append(packed(trace))
    assert facts is not None
    return Measured(facts, tuple(runs), tuple(answers))


Parts: TypeAlias = tuple[list[tuple[Shard, Measured]], list[WordError]]
"""Measurements of some words of one length, in parts, and the words that have no answer."""


def measured_parts(subject: Subject, program: Program, keep: bool, tolerant: bool, shard: Shard) -> Parts:
    """Measure all words of a shard; with `tolerant`, only the words that stay in the range of the construction. Raises
    OutOfRange if a word leaves that range, unless `tolerant` is set."""

    def run(words: Sequence[Word]) -> tuple[Shard, Measured]:
        some = Shard(shard.n, tuple(words))
        return some, measured(subject, program, keep, some)

    return apart(shard.words, run) if tolerant else ([run(shard.words)], [])


def packed(trace: HardTrace) -> bytes:
    """Compress a run, without the parts that are needed only for measuring."""
    layers = [replace(layer, rows={}, values={}, inputs=[]) for layer in trace.layers]
    return zlib.compress(pickle.dumps(HardTrace(trace.n, trace.inputs, layers), protocol=5), PACKING)


def unpacked(data: bytes) -> HardTrace:
    """Return the run that `packed` compressed."""
    found: HardTrace = pickle.loads(zlib.decompress(data))
    return found


# ---- all lengths ----


@dataclass(frozen=True)
class Preparation:
    """The runs of all lengths. `program` is the one that softmax simulates, with ties of leftmost and rightmost heads
    broken, unless the weights of a softmax model were given."""

    program: Program
    facts: Mapping[int, LengthFacts]
    ties: tuple[Tie, ...]
    broken: tuple[str, ...]
    """The heads whose ties were broken. The other leftmost and rightmost heads that tie read what an average head
    reads, and keep their weights."""
    violations: Mapping[int, Violation]
    """By length, a declared gap that a measured one violates, measured before any tie is broken; other lengths are
    left out."""
    failures: tuple[WordError, ...] = ()
    """Words that leave the range of the construction; they are not measured."""
    undecided: Word | None = None
    """The first word, shortest first, on which hard attention itself decides nothing; None if there is none."""


def prepare_words(
    subject: Subject,
    words: Mapping[int, Collection[Word]],
    whole: Mapping[int, bool],
    crew: Crew | None = None,
    report_progress: Callable[[int, int], None] | None = None,
    keep: bool = True,
    tolerant: bool = False,
) -> tuple[Preparation, dict[int, list[Shard]], dict[int, list[Answer]]]:
    """Run exact hard attention once on all words of some lengths. Then break the ties of leftmost and rightmost heads
    whose tied positions carry different values, since softmax cannot. Return the preparation, the words in shards with
    their runs, and the answers of hard attention before ties are broken. With `tolerant`, words out of range are listed
    as failures. Raises OutOfRange if a word leaves the range that the construction covers, unless `tolerant` is set;
    InvariantError if breaking ties changes an answer."""
    shards = [Shard(n, some) for n, every in words.items() for some in _portions(tuple(every))]

    def run(program: Program) -> tuple[dict[int, LengthFacts], dict[int, list[Shard]], dict[int, list[Answer]]]:
        facts: dict[int, LengthFacts] = {}
        runs: dict[int, list[Shard]] = {}
        answers: dict[int, list[Answer]] = {n: [] for n in words}
        job = Job(partial, (measured_parts, subject, program, keep, tolerant))
        failures.clear()
        with closing((crew or LocalCrew(1)).run(job, iter(shards))) as found:
            parts: Parts
            for shard, parts in zip(shards, found, strict=True):
                n = shard.n
                if n not in facts and _given_up(failures, answers):
                    break
                for some, part in parts[0]:
                    if n in facts:
                        facts[n].merge(part.facts)
                    else:
                        facts[n], runs[n] = part.facts, []
                    runs[n].append(Shard(n, some.words, part.runs))
                    answers[n] += part.answers
                failures.extend(parts[1])
                if report_progress is not None:
                    report_progress(n, len(shard.words))
        for n, seen in facts.items():
            seen.exhaustive = whole[n] and all(one.word is None or len(one.word) != n for one in failures)
        return facts, runs, answers

    failures = list[WordError]()
    program = subject.program
    facts, runs, answers = run(program)
    broken = [] if subject.fixed_weights else _to_break(program, facts)
    ties = first_ties(program, facts, broken)
    refuted = {n: refuted_gap(program, found) for n, found in facts.items()}
    violations = {n: violation for n, violation in refuted.items() if violation is not None}
    if broken:
        program = break_ties(program, {name: _separation(program, name, facts) for name in broken})
        facts, runs, again = run(program)
        if again != answers:
            raise InvariantError(f"{subject.name}: hard attention answers otherwise once ties are broken")
    undecided = _first_undecided(runs, answers)
    return Preparation(program, facts, ties, tuple(broken), violations, tuple(failures), undecided), runs, answers


def _to_break(program: Program, facts: Mapping[int, LengthFacts]) -> list[str]:
    """Return the leftmost and rightmost heads with a row whose tied positions carry different values. All other heads
    that tie read what an average head would read. Geometric attention breaks ties itself."""
    if program.weighting is SoftWeighting.GEOMETRIC:
        return []
    heads = (head.name for head in program.heads if head.weighting in SIDES)
    return [name for name in heads if any(found.heads[name].differ is not None for found in facts.values())]


def _first_undecided(runs: Mapping[int, Sequence[Shard]], answers: Mapping[int, Sequence[Answer]]) -> Word | None:
    """Return the first word, shortest first, on which hard attention decides nothing; None if there is none."""
    for n in sorted(runs):
        words = (word for shard in runs[n] for word in shard.words)
        for word, answer in zip(words, answers[n], strict=True):
            if not settled(answer):
                return word
    return None


def _given_up(failures: Sequence[WordError], answers: Mapping[int, Sequence[Answer]]) -> bool:
    """Return True if measuring stops because too many words left the range of the construction."""
    first = min((len(one.word or ()) for one in failures), default=0)
    return given_up(len(failures), sum(len(some) for n, some in answers.items() if n > first))


def _portions(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    size = batch_size(len(words[0]), PORTION, PORTION_PAIRS) if words else 1
    for start in range(0, len(words), size):
        yield words[start : start + size]


def tied(ties: Iterable[Tie]) -> str:
    """Return the notes on ties of leftmost and rightmost heads, as the end of a sentence; empty if there are none."""
    return "".join(f"; {tie.note}" for tie in ties if tie.note)


def _separation(program: Program, name: str, facts: Mapping[int, LengthFacts]) -> Schedule:
    """Return the separation of different scores of a head: its declared gap if that is true, else the measured gap (1
    where all were equal). A larger value could let the ramp lead past a smaller gap to another position."""
    head = next(head for head in program.heads if head.name == name)
    if head.promise is not None and not any(_exaggerated(head, program.first, found) for found in facts.values()):
        return head.promise
    longest = max(found.n for found in facts.values())
    values = {found.n: found.heads[name].gap for found in facts.values()}
    return LengthTable(tuple(values.get(n) or Fraction(1) for n in range(1, longest + 1)), f"gap of head {name}")


def first_ties(program: Program, facts: Mapping[int, LengthFacts], broken: Collection[str]) -> tuple[Tie, ...]:
    """Return the first tie of each head that has one, shortest length first. Heads in `broken` have added weights
    that break their ties. In geometric attention ties are none: of equal scores the nearest counts."""
    if program.weighting is SoftWeighting.GEOMETRIC:
        return ()
    heads, found = {head.name: head for head in program.heads}, dict[str, Tie]()
    for n in sorted(facts):
        for name, rows in facts[n].heads.items():
            if rows.tie is not None and name not in found:
                count, witness = rows.tie
                differ = _tied_row(program, heads[name], facts)
                simulated = "weights added" if name in broken else "one value" if differ is None else "not simulated"
                if heads[name].weighting not in SIDES:
                    simulated = "average"
                found[name] = Tie(name, n, witness.word, witness.position, count, simulated, differ)
    return tuple(found.values())


def _tied_row(program: Program, head: Head, facts: Mapping[int, LengthFacts]) -> TiedRow | None:
    """Return a row whose tied positions carry different values, or None. Rows in which the mean differs from what the
    head reads come first."""
    rows = (facts[n].heads[head.name].differ for n in sorted(facts))
    kind, witness = max((row for row in rows if row is not None), key=lambda row: row[0], default=(ONE_VALUE, None))
    if witness is None:
        return None
    tied = (TiedPosition(*found) for found in tied_values(program, head, witness))
    return TiedRow(witness.word, witness.position, tuple(tied), kind == OTHER_MEAN)


# ---- one length ----


@dataclass(frozen=True)
class LengthPlan:
    """The plan of one length: the program that softmax simulates, its facts, the temperature, and the bounds there.

    `solution` is Theorem 26's for the error `epsilon`. Where a temperature is given it may be missing;
    `unsolved` is then the reason.
    """

    program: Program
    facts: LengthFacts
    schedule: Schedule
    inverse: tuple[Fraction | Real, ...]
    bounds: Bounds
    solution: Solution | None
    epsilon: Fraction
    sampled: str
    violation: Violation | None
    unsolved: str = ""

    @property
    def assumption(self) -> str:
        """A text that says what the bounds assume besides Theorem 26: numbers that were measured on some words and not
        proved; empty if there are none."""
        return f"{self.sampled} measured on {self.facts.words:,} words" if self.sampled else ""

    @property
    def invisible(self) -> bool:
        """True if the error bound is so far below the distance of every output from the threshold that softmax shows
        nothing that hard attention does not. Then softmax answers as hard attention does: no output crosses the
        threshold. The bound holds for every word that was measured; a check runs only such words."""
        facts, program = self.facts, self.program
        plain = program.weighting is SoftWeighting.SOFTMAX and program.rounding is None and not program.normed
        if not plain or self.violation is not None or not facts.distance:
            return False
        return self.bounds.final <= INVISIBLE * facts.distance

    def share(self, words: int) -> Booleans:
        """Return True for the words, numbered in their order, on which softmax runs as evidence for an invisible error
        bound: every word where all words of the length are tried, else every SHARE-th, and at least LEAST_RUN."""
        if self.facts.exhaustive or words <= LEAST_RUN:
            return np.ones(words, dtype=np.bool_)
        found = np.zeros(words, dtype=np.bool_)
        found[:: max(1, min(SHARE, words // LEAST_RUN))] = True
        return found

    @property
    def theorem(self) -> Fraction:
        """Theorem 26's temperature. Raises Undecided if there is none."""
        if self.solution is None:
            raise Undecided(self.unsolved)
        return self.solution.tau


def plan_length(
    prepared: Preparation, subject: Subject, n: int, beside: LengthPlan | None = None, theorem: bool = False
) -> LengthPlan:
    """Return the temperature and the bounds at one length. The search for Theorem 26's temperature begins near that of
    the length `beside`. With `theorem`, Theorem 26's is used even if one temperature is proved for every length, unless
    the user gave one. Raises InputError if a declared gap or the temperature is not positive; Undecided if no
    temperature is given, and none gives the error `epsilon`."""
    facts, program = prepared.facts[n], prepared.program
    schedule = None if theorem and not subject.given_temperature else subject.temperature
    gaps = known_gaps(subject, program, facts)
    # Half the least distance of an output from the threshold, so that no answer changes. Outputs on the threshold have
    # no answer that could.
    near = min(DEFAULT_EPSILON, facts.clear / 2) if facts.clear else DEFAULT_EPSILON
    epsilon = subject.sharpness.epsilon or near
    solution, unsolved = None, ""
    try:
        begin = None if beside is None or beside.solution is None else beside.solution.tau
        # The temperature is proportional to the gap, so this start is closer to the new length's solution.
        if begin is not None and beside is not None and facts.gap and beside.facts.gap:
            begin *= facts.gap / beside.facts.gap
        solution = solve(program, facts, epsilon, gaps, begin)
    except Undecided as failure:
        if schedule is None:
            raise
        unsolved = _why(prepared) or str(failure)
    given = schedule
    if schedule is None:
        assert solution is not None
        schedule = Arith.of(solution.tau)
    inverse = tuple(inverses(assemble(program, schedule), facts.n))
    own = solution is not None and given is None
    return LengthPlan(
        program=program,
        facts=facts,
        schedule=schedule,
        inverse=inverse,
        bounds=solution.bounds if solution is not None and own else error_bounds(program, facts, inverse, gaps),
        solution=solution,
        epsilon=epsilon,
        sampled=sampled(program, facts),
        violation=prepared.violations.get(n),
        unsolved=unsolved,
    )


def known_gaps(subject: Subject, program: Program, facts: LengthFacts) -> Gaps:
    """Return, by head, the score gap of every query: the gap that the weights give for every word, where they
    suffice; else the declared one; else the measured one. `program` may be the subject's with ties broken."""
    if program is not subject.program or isinstance(subject.law, NoProof):
        return declared_gaps(program, facts)
    found = subject.law.facts(facts.n).heads
    return {
        name: [None if old is None else new for old, new in zip(head.gaps, found[name].gaps, strict=True)]
        for name, head in facts.heads.items()
    }


def _why(prepared: Preparation) -> str:
    """Return the reason why no temperature is low enough: ties that only added weights would break. Empty if there
    are none."""
    reason = next((tie.reason for tie in prepared.ties if tie.simulated == "not simulated"), "")
    alone = "to add weights that break ties, give the hard-attention model (leftmost or rightmost as its weighting)"
    return f"{reason}; {alone}" if reason else ""


def sampled(program: Program, facts: LengthFacts) -> str:
    """Return the facts of a length that the bounds need and that were measured on some of its words, as text; empty if
    there are none."""
    if facts.exhaustive:
        return ""
    declared = {head.name for head in program.heads if head.promise is not None}
    return "the sizes" if declared.issuperset(facts.heads) else "gap and sizes"


def refuted_gap(program: Program, facts: LengthFacts) -> Violation | None:
    """Return a violation by a row whose score gap is smaller than its head declares; None if there is no such row.
    Raises InputError if a declared gap is not positive."""
    for head in program.heads:
        for position, gap, claimed in _exaggerated(head, program.first, facts):
            what = f"the declared gap of head {head.name} at position {position}"
            found = facts.heads[head.name]
            where = found.least if gap else found.tie
            return Violation(what, facts.n, None if where is None else where[1].word, gap, claimed, declared=True)
    return None


def _exaggerated(head: Head, first: int, facts: LengthFacts) -> list[tuple[int, Fraction, Fraction]]:
    """Return the positions at which a head declares a larger gap than was measured, with the measured and the
    declared gap. A declared decay allows no tie, so a row with a tie has gap 0."""
    declared, found = head.promised(facts.n, first), facts.heads.get(head.name)
    if declared is None or found is None:
        return []
    tied = [head.decay is not None and most > 1 for most in found.most]
    gaps = [Fraction(0) if tie else gap for gap, tie in zip(found.gaps, tied, strict=True)]
    rows = zip(range(first, facts.n + 1), gaps, declared, strict=True)
    return [(position, gap, claimed) for position, gap, claimed in rows if gap is not None and gap < claimed]
