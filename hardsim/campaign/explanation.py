"""Explanations of a verdict: the place where softmax departs from hard attention on a word, the command that shows
more of this word, and a few short words that illustrate what was decided.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import chain, islice
from typing import Any

from hardsim.campaign.check import CheckOptions
from hardsim.campaign.engines import HardRunner
from hardsim.campaign.evaluate import judge_of
from hardsim.campaign.judges import HardJudge
from hardsim.campaign.result import CheckResult, Mapped, Mismatch, Parting, Shown, Verdict
from hardsim.campaign.words import enumerate_words, structured_words
from hardsim.compiling.from_ltl.rounded import rounding_of
from hardsim.errors import InputError, Undecided
from hardsim.hard.exact import HardTrace
from hardsim.lang.crasp.crasp_parser import CraspLayout
from hardsim.lang.files import FormulaLayout
from hardsim.lang.valuations import Valuations
from hardsim.lang.vocabulary import joined_names
from hardsim.lang.words import written_word
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE
from hardsim.program.hard_attention import Affine, Head, Program, Unit
from hardsim.program.regimes import DEFAULT_REGIME, NAMED
from hardsim.run.forward import Trace
from hardsim.run.soft import bounds
from hardsim.targets.result import AUTO, FLOAT64, Answer, Word, settled
from hardsim.targets.subject import Subject

LONGEST_TRACED = 256
"""Largest number of positions of a traced word: each sees every other, in balls."""

EXPRESSION = "<expression>"
"""The name of an input that is given as text."""
EACH = 3
"""Most words shown of each kind: accepted, rejected, mapped."""
ASKED, ASKED_ONE_BY_ONE, STRUCTURED = 1000, 200, 24
"""Largest numbers of words to run while searching for words to show: of formulas, which are run all together; of any
other input; and of a length that has more words than that."""
LONGEST_SHOWN = 12
"""Largest number of symbols of a word that is shown."""

Interval = tuple[Fraction, Fraction]


def explained(subject: Subject, options: CheckOptions, result: CheckResult) -> CheckResult:
    """Return a result with its explanation. If the answers agree, it is a few words to show; if not, the place where
    softmax departs from hard attention and the command that shows more."""
    mismatch = result.mismatch
    # A mismatch is explained even where it refutes nothing (hard attention undecided): the command still helps.
    if mismatch is not None:
        command = command_for(subject, mismatch.word, options.engine, options.dps)
        return replace(result, parting=parting_of(subject, mismatch, options), command=command)
    if not result.agreed or result.verdict is Verdict.UNDECIDED:
        return result
    return replace(result, shown=shown_words(subject, 1, result.lengths[-1].n))


# ---- the place where softmax leaves hard attention ----


@dataclass(frozen=True)
class _Runs:
    """The exact run and the softmax run of one word: the residual stream after attention, layer by layer, and the
    values that heads read. `index` gives the number of each coordinate in the softmax run."""

    program: Program
    hard: HardTrace
    soft: Trace[Any]
    index: Mapping[str, int]

    def hard_form(self, form: Affine, number: int, place: int) -> Fraction:
        """Evaluate an affine form of the residual stream after the attention of layer `number` in the exact run. Layers
        and positions (`place`) count from 0."""
        columns = self.hard.layers[number].attended
        return sum((value * Fraction(columns[name].at(0, place)) for name, value in form.terms), Fraction(0))

    def soft_form(self, form: Affine, number: int, place: int) -> Interval:
        """Return lower and upper bounds of an affine form of the residual stream after the attention of layer `number`
        in the softmax run. Layers and positions (`place`) count from 0."""
        low = high = Fraction(0)
        columns = self.soft.layers[number][0]
        for name, value in form.terms:
            constant = name == ONE and ONE not in self.index  # a bias
            held = (1, 1) if constant else bounds(columns[self.index[name]].values[place])
            # A negative coefficient swaps the ends of the enclosure.
            ends = sorted(value * end for end in held)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def reads(self, head: Head, out: str, place: int) -> tuple[Fraction, Fraction]:
        """Return the value that a head writes to `out` at a position: by hard attention, and by softmax (the middle of
        its enclosure)."""
        hard = next(layer.results[head.name][out] for layer in self.hard.layers if head.name in layer.results)
        column = self.soft.attended[head.name].get(self.index[out])
        # A coordinate without a column is 0 at every position.
        low, high = (Fraction(0), Fraction(0)) if column is None else bounds(column.values[place])
        return Fraction(hard.at(0, place)), (low + high) / 2

    def partings(self, number: int, unit: Unit) -> Iterator[int]:
        """Yield the positions, from 0 among those that are read, at which a clip of a layer certainly differs between
        the runs."""
        for place in range(self.hard.n + 1 - self.program.first):
            expected = _clip(self.hard_form(unit.pre, number, place))
            low, high = map(_clip, self.soft_form(unit.pre, number, place))
            if unit.cap is not None:
                # Where the cap is a Boolean, the clip is the least of both.
                most = self.hard_form(unit.cap, number, place)
                ends = self.soft_form(unit.cap, number, place)
                expected, low, high = min(expected, most), min(low, ends[0]), min(high, ends[1])
            # An enclosure that contains the exact value shows no difference: only certain ones count.
            if low > expected or high < expected:
                yield place


def _clip(value: Fraction) -> Fraction:
    return min(max(value, Fraction(0)), Fraction(1))


def parting_of(subject: Subject, mismatch: Mismatch, options: CheckOptions) -> Parting | None:
    """Return the place where softmax departs from hard attention on a mismatching word. Return None where the two
    agree, where no arithmetic decides, and for words with more than LONGEST_TRACED positions."""
    word = mismatch.word
    if not mismatch.soft_differs or subject.positions(len(word)) > LONGEST_TRACED:
        return None
    with suppress(Undecided, InputError):
        return parting(judge_of(subject, options, word), word)
    return None


def parting(judge: HardJudge, word: Word) -> Parting | None:
    """Return the head that makes the first clip differ, in the first layer and at the first position where one does, or
    else the head with the largest error of all. Return None where softmax reads everywhere what hard attention reads.
    Raises Undecided if the softmax network reaches no answer."""
    subject, program = judge.subject, judge.program
    prepared = subject.prepared(word)
    found = judge.soft.words.run(prepared)
    with found.precision():
        runs = _Runs(program, judge.hard.trace([prepared]), found.trace, subject.index)
        return _first(runs) or _largest(runs)


def _first(runs: _Runs) -> Parting | None:
    """Return the head that makes the first clip differ, or None if no clip differs because of a head."""
    program, layers = runs.program, dict[str, tuple[int, Head]]()
    for number, layer in enumerate(program.layers):
        # A clip may read heads of earlier layers too, so `layers` collects the heads of all layers so far.
        layers |= {out: (number, head) for head in layer.heads for out, _ in head.values}
        clips = [unit for unit in layer.units if unit.clip]
        places = [(place, k) for k, unit in enumerate(clips) for place in islice(runs.partings(number, unit), 1)]
        for place, k in sorted(places):
            unit, errors = clips[k], list[tuple[Fraction, str, Fraction]]()
            for out, factor in unit.pre.terms:
                if out in layers:
                    hard, soft = runs.reads(layers[out][1], out, place)
                    errors.append((abs(factor * (soft - hard)), out, Fraction(factor)))
            if errors and max(errors)[0]:
                _, out, factor = max(errors)
                expected = runs.hard_form(unit.pre, number, place)
                # The clip cuts off whatever lies outside [0, 1]; an error of the head is scaled by its factor in the
                # clip.
                allowed = max(-expected, expected - 1, Fraction(0)) / abs(factor)
                return _divergence(runs, *layers[out], out, place, allowed)
    return None


def _largest(runs: _Runs) -> Parting | None:
    """Return the head with the largest error of all layers and positions, or None if no head has an error."""
    errors: list[tuple[Fraction, int, int, str, Head]] = []
    for number, layer in enumerate(runs.program.layers):
        for head in layer.heads:
            for out, _ in head.values:
                for place in range(runs.hard.n + 1 - runs.program.first):
                    hard, soft = runs.reads(head, out, place)
                    errors.append((abs(soft - hard), number, place, out, head))
    if not errors:
        return None
    error, number, place, out, head = max(errors, key=lambda one: one[0])
    return _divergence(runs, number, head, out, place, None) if error else None


def _divergence(runs: _Runs, number: int, head: Head, out: str, place: int, allowed: Fraction | None) -> Parting:
    hard, soft = runs.reads(head, out, place)
    return Parting(number + 1, head.name, head.purpose, place + runs.program.first, hard, soft, allowed)


# ---- the command that shows more ----


def command_for(subject: Subject, word: Word, engine: str = AUTO, dps: int | None = None) -> str:
    """Return the command line, quoted for a POSIX shell, that traces one word on the same network, or evaluates the
    word if it is too long to trace."""
    # Options equal to the default of the command are left out: the command should be short.
    options: dict[str, str | None] = {}
    file, budget = subject.formula, subject.budget if subject.one_network else None
    if budget is not None and file is not None:
        regime = NAMED.get(subject.program.regime, NAMED[DEFAULT_REGIME])
        options["--regime"] = None if regime.name == DEFAULT_REGIME else regime.name
        options["--tau"] = None if budget.temperature == regime.temperature else str(budget.temperature)
        alone = subject.name == EXPRESSION or file.oracle is not None  # neither names a position
        read_at = "last" if alone else FormulaLayout(file.source).value("at") or "last"
        options["--rounding"] = rounding_of(subject.program)
        options["--exponential"] = subject.program.weighting.partition(":")[2] or None
        # an expression is printed in the default dialect
        options["--dialect"] = None if subject.name == EXPRESSION else file.dialect
        if file.oracle is not None and CraspLayout(file.source).header("alphabet") is None:
            options["--alphabet"] = joined_names(subject.alphabet)
        options["--at"] = None if file.at == read_at else file.at
        options["--counting"] = subject.counting if subject.counting == "sign" and regime.look_up[0] else None
    if budget is not None and budget.fixed:
        options["--beta"] = str(budget.beta)
    if subject.given_temperature and not subject.fixed_weights:
        options["--tau"] = str(subject.schedule)
    if epsilon := subject.sharpness.epsilon:
        options["--epsilon"] = str(epsilon)
    # A function has no name of a file, and labelled data is no reference of a trace.
    options["--against"] = None if subject.by_function or subject.rows is not None else subject.against
    traced = subject.positions(len(word)) <= LONGEST_TRACED
    usual = engine == AUTO or (traced and engine == FLOAT64)  # a trace is in balls
    options |= {"--engine": None if usual else engine, "--dps": None if dps is None else str(dps)}
    given = [part for name, value in options.items() if value is not None for part in (name, value)]
    given += ["--single-head"] * subject.single_head
    text = written_word(word, subject.alphabet)
    if subject.name == EXPRESSION and subject.formula_text is not None:
        source, given = list[str](), ["-e", subject.formula_text, *_atoms(subject.alphabet), *given]
    else:
        source = [subject.name]
        if file is not None and file.supplied is not None:
            option, value = file.supplied
            given += [f"--{option}", value]
    return command_line("trace" if traced else "eval", source, text, given)


def command_line(command: str, source: Sequence[str], text: str, given: Sequence[str]) -> str:
    """Return the command line that runs a command on an input and a word with the given options, quoted for a
    POSIX shell."""
    # After -- nothing is an option, so a word or a path may begin with a dash.
    dash = ["--"] if any(one.startswith("-") for one in (*source, text)) and text != "-" else []
    line = shlex.join(["hardsim", command, *given, *dash, *source, text] if dash or not source else
                      ["hardsim", command, *source, text, *given])  # fmt: skip
    return f"echo - | {line}" if text == "-" else line  # a lone - is standard input


def _atoms(alphabet: Sequence[str]) -> list[str]:
    """Return the options that give the alphabet of a formula."""
    if isinstance(alphabet, Valuations):
        return ["--props", joined_names(alphabet.props)]
    return ["--alphabet", joined_names(alphabet)]


# ---- words to show ----


def shown_words(subject: Subject, min_n: int, max_n: int) -> Shown | None:
    """Return up to three accepted and three rejected words, or three words of a transduction with their outputs: words
    of `min_n` to at most LONGEST_SHOWN symbols, of different lengths, with as many different symbols as possible.
    Return None where every word is longer, or where a program leaves its range."""
    most = min(max_n, LONGEST_SHOWN)
    if min_n > most:
        return None
    # An oracle with `many` answers words of one length together, which is far cheaper for each word.
    together = subject.oracle is not None and getattr(subject.oracle, "many", None) is not None
    left = ASKED if together else ASKED_ONE_BY_ONE
    kinds: dict[bool | None, dict[int, list[tuple[Word, Answer]]]] = {True: {}, False: {}, None: {}}
    hard: list[Callable[[Sequence[Word]], list[Answer]]] = []
    with suppress(InputError):
        for n in range(min_n, most + 1):
            words = _some(subject, n, left)
            left -= len(words)
            answers = subject.answers(words)
            if answers is None:
                hard = hard or [HardRunner(subject).answers]
                answers = hard[0](words)
            for word, answer in zip(words, answers, strict=True):
                if settled(answer):
                    kinds[answer if isinstance(answer, bool) else None].setdefault(n, []).append((word, answer))
            if left <= 0:
                break
    if not any(kinds.values()):
        return None
    accepted, rejected = (tuple(word for word, _ in _chosen(kinds[kind])) for kind in (True, False))
    outputs = [(word, answer) for word, answer in _chosen(kinds[None]) if isinstance(answer, tuple)]
    pairs = tuple(Mapped(word, tuple(part for part in answer if part is not None)) for word, answer in outputs)
    return Shown(accepted, rejected, pairs)


def _some(subject: Subject, n: int, most: int) -> list[Word]:
    """Return all words of a length if there are at most `most`, else at most that many: the examples of this length and
    some words of simple shape."""
    words = list(islice(enumerate_words(subject.alphabet, n), most + 1))
    if len(words) <= most:
        return words
    given = (word for word, _ in subject.examples if len(word) == n)
    return list(islice(dict.fromkeys(chain(given, structured_words(subject.alphabet, n, STRUCTURED))), most))


def _chosen(found: Mapping[int, list[tuple[Word, Answer]]]) -> list[tuple[Word, Answer]]:
    """Return the EACH best words (or all, if there are fewer), the shortest first. The best have the most different
    symbols: one of each of the first lengths, or several of a length where there are too few lengths."""
    ranked = {n: sorted(some, key=lambda one: -len(set(one[0]))) for n, some in found.items()}
    turns = (some[turn] for turn in range(EACH) for some in ranked.values() if len(some) > turn)
    return sorted(islice(turns, EACH), key=lambda one: len(one[0]))
