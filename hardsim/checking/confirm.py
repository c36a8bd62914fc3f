"""Words after a proof: certified runs, held against what was proved of every word.

They make no proof stronger. They are run because a prover can be wrong, and a word that is not answered as was proved
then says so. They are chosen by length, so that they cost little beside the proof: what a length costs is mostly the
tables that its words share, and of long words the attention of every position to every other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hardsim.checking.campaign import CheckOptions, plan_words
from hardsim.checking.compare import Judge
from hardsim.checking.result import AUTO, Word
from hardsim.checking.rigorous import AutoEngine
from hardsim.checking.soft import Decision
from hardsim.checking.subject import Subject
from hardsim.checking.words import count_words, enumerate_words
from hardsim.errors import Contradiction

MOST = 1000
"""Words after one proof."""
WHOLE = 600
"""Of these, words of the first lengths, of which every one is run."""
FIRST = 4
"""The first lengths, which go before long ones."""
TABLES = 5_000
"""What the tables of all lengths may cost: heads and layers times the length and SETUP; about a quarter of a second."""
SETUP = 18
PAIRS = 5_000_000
"""What the words of one long length may cost: heads and layers times pairs of positions; about as long."""
IN_BALLS = 256
"""Symbols of the words that float64 leaves undecided and balls are asked about, over all lengths."""
SAMPLED = CheckOptions(exhaustive=0)
"""How words of a length that has too many are chosen: as `check` does."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The words that were run after a proof, none of which contradicts it.

    `words` is how many, of up to `longest` symbols; of each length up to `whole`, from the first that was proved, every
    word was among them (0: of none). On `undecided` of them no answer was reached, which says nothing. `partial` says
    that they were interrupted.
    """

    words: int = 0
    whole: int = 0
    longest: int = 0
    undecided: int = 0
    partial: bool = False

    def and_then(self, n: int, words: int, undecided: int, whole: bool) -> Confirmation:
        """With more words, of a longer length."""
        return replace(
            self,
            words=self.words + words,
            whole=n if whole else self.whole,
            longest=n if words else self.longest,
            undecided=self.undecided + undecided,
        )


def first_lengths(size: int, min_n: int, max_n: int) -> list[int]:
    """The lengths from `min_n` on that have at most `WHOLE` words together over an alphabet of `size` symbols."""
    found: list[int] = []
    words = 0
    for n in range(min_n, max_n + 1):
        words += count_words(size, n)
        if words > WHOLE:
            break
        found.append(n)
    return found


def affordable(wanted: Sequence[int], weight: int) -> list[int]:
    """As many of the wanted lengths as `TABLES` pays for at `weight` heads and layers, the first of them in any case;
    in order."""
    chosen: list[int] = []
    left = TABLES
    for n in dict.fromkeys(wanted):
        cost = max(1, weight) * (n + SETUP)
        if not chosen or cost <= left:
            chosen.append(n)
            left -= cost
    return sorted(chosen)


def confirm(
    subject: Subject,
    min_n: int,
    max_n: int,
    suggested: Sequence[Word] = (),
    *,
    every_length: bool = False,
    heads_only: bool = False,
) -> Confirmation:
    """Run words of a network that was proved for every word of length `min_n` to `max_n`, or (`every_length`) of every
    length: every word of the first lengths, the `suggested` words, and such words as `check` tries of the last length
    and of some between; also two lengths beyond, where that was proved.

    The answer must be that of the formula's semantics, or (`heads_only`) that of the hard-attention program. A
    KeyboardInterrupt ends it early.

    Raises:
        Contradiction: naming a word that is answered otherwise.
    """
    judge = Judge(subject, engine=AUTO)
    weight = (len(subject.program.heads) + len(subject.model.layers)) * (2 if heads_only else 1)
    whole = first_lengths(len(subject.file.alphabet), min_n, max_n)
    beyond = (max_n + 1, 2 * max_n) if every_length else ()
    between = [2**power for power in range(max_n.bit_length()) if min_n < 2**power < max_n]
    own = [len(word) for word in suggested]
    lengths = [*whole[:FIRST], *(() if whole else (min_n,)), max_n, *beyond, *own, *whole[FIRST:], *between]
    found = Confirmation()
    balls = IN_BALLS
    try:
        for n in affordable(lengths, weight):
            if n in whole:
                words = list(enumerate_words(subject.file.alphabet, n))
            else:
                some = [word for word in suggested if len(word) == n]
                words = _sample(subject, n, judge.oracle.accepts, some, weight)[: MOST - found.words]
            answers, balls = _answers(judge, words, balls)
            for word, (decided, answer), wanted in zip(words, answers, _right(judge, words, heads_only), strict=True):
                if decided and answer is not wanted:
                    raise Contradiction(_text(subject, word, wanted, answer, heads_only))
            found = found.and_then(n, len(words), sum(not decided for decided, _ in answers), n in whole)
    except KeyboardInterrupt:
        return replace(found, partial=True)
    return found


def _sample(
    subject: Subject, n: int, accepts: Callable[[Word], bool], suggested: Sequence[Word], weight: int
) -> list[Word]:
    """Some words of one length, as many as are affordable."""
    room = PAIRS // (max(1, weight) * n * n)
    if not room:
        return []
    return list(dict.fromkeys([*suggested, *plan_words(subject, SAMPLED, n, accepts).words]))[:room]


def _answers(judge: Judge, words: list[Word], balls: int) -> tuple[list[Decision], int]:
    """What the network answers, in certified float64, then in balls for as many symbols as there are left for these."""
    assert isinstance(judge.engine, AutoEngine)
    if not words:
        return [], balls
    found = judge.engine.floats.decisions(words)
    for place, (decided, _) in enumerate(found):
        if not decided and len(words[place]) <= balls:
            balls -= len(words[place])
            (found[place],) = judge.engine.balls.decisions([words[place]])
    return found, balls


def _right(judge: Judge, words: list[Word], heads_only: bool) -> list[bool]:
    """What the network must answer."""
    if not words:
        return []
    symbols = judge.hard_of_many.symbols(words)
    accepted = judge.hard_of_many.run(symbols).accepted if heads_only else judge.oracle_of_many.accepts(symbols)
    return [bool(one) for one in accepted]


def _text(subject: Subject, word: Word, right: bool, answer: bool | None, heads_only: bool) -> str:
    """What contradicts a proof, with all that names the network."""
    facts = subject.facts
    wanted = "hard attention" if heads_only else "oracle"
    names = {True: "accept", False: "reject", None: "neither 0 nor 1"}
    return (
        f"{subject.name} was proved for words of length {len(word)}, but the word {' '.join(word)} contradicts it: "
        f"{wanted}: {names[right]}; softmax: {names[answer]} (regime {facts.regime}, temperature {facts.temperature}, "
        f"beta {facts.beta}, read at the {facts.at} position)"
    )
