"""`hardsim eval`: single words."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hardsim.checking.interrupts import held, interruptible
from hardsim.cli import failures
from hardsim.cli import options as opt
from hardsim.cli.estimate import announce_words, foreseen
from hardsim.cli.options import Request
from hardsim.cli.session import Session, check_source, session
from hardsim.cli.streams import say
from hardsim.errors import InputError, Source

if TYPE_CHECKING:
    from hardsim.checking.attention_open import AttentionInput
    from hardsim.checking.subject import Subject

T = TypeVar("T")

STDIN = "-"

HELP = """Say what the formula, hard attention and the softmax network answer on given words.

FILE is a formula file (.ltl), an S-RASP program (.srasp), a hard-attention model (.ahat.json) or a compiled model
(.json); with -e there are only words. Of a program that maps words to words the outputs are printed.

A word is written as in formula files: symbols side by side, or separated by spaces (quote the word for the shell) if a
symbol is longer than one character. A sole '-' reads words from standard input, one a line. Words that start with '-'
follow '--'. Every word needs at least one symbol.

Printed are, for each word, the three answers, the network's output (exactly 0 or 1 when it has decided), the output
before its last rounding, the least margin of an attended value from its threshold, and the decimal digits of the
arithmetic.

\b
Examples:
  hardsim eval flipflop.ltl w1i0r1 w1i0r0
  hardsim eval since.ltl --regime none ab aab
  hardsim words flipflop.ltl --max-n 4 | hardsim eval flipflop.ltl -
  hardsim eval -e 'a S b' --alphabet 'a b' abba
  hardsim eval minus.ltl -- -+-
"""

Arguments = Annotated[list[str] | None, typer.Argument(metavar="WORD", hidden=True)]


def evaluate_words(
    arguments: Arguments = None,
    regime: opt.Regime = "temperature",
    beta: opt.Beta = None,
    tau: opt.Tau = None,
    at: opt.Position = None,
    single_head: opt.SingleHead = False,
    counting: opt.Counting = None,
    epsilon: opt.Epsilon = None,
    engine: opt.Engine = "auto",
    dps: opt.Digits = None,
    json: opt.JsonPath = None,
    expression: opt.Expression = None,
    alphabet: opt.Alphabet = None,
) -> None:
    """The command; its manual is `HELP`."""
    request = Request(regime, beta, tau, at, single_head, counting, epsilon, dps)
    request.options()
    opt.check_engine(engine)
    given = list(arguments or [])
    files = [] if expression is not None else given[:1]
    check_source(files, expression, alphabet)
    texts = _texts(given[len(files) :], files)
    with session("eval", json) as current:
        work = _Work(current, request, texts, dps, engine)
        for one in current.read(files, expression, alphabet, at):
            current.each(one, request, work.evaluate, work.evaluate_model)


def _texts(words: list[str], files: list[str]) -> list[Source]:
    """The words as written, each with the name under which errors cite it.

    Raises:
        InputError: if there is none, or standard input is not UTF-8.
    """
    if not words:
        what = f"no word to evaluate after {files[0]}" if files else "no word to evaluate"
        raise InputError(what, hint="Add words, or '-' to read them from standard input, one a line.")
    if words != [STDIN]:
        names = [f"<word {number}>" for number in range(1, len(words) + 1)] if len(words) > 1 else ["<word>"]
        return [Source(name, word) for name, word in zip(names, words, strict=True)]
    data = sys.stdin.buffer.read()
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(
            f"<stdin>: not UTF-8 at byte {error.start}", hint="Words on standard input are UTF-8, one a line."
        ) from None
    if not lines:
        raise InputError("<stdin> has no word", hint="Write one word a line.")
    return [Source("<stdin>", line, number) for number, line in enumerate(lines, start=1)]


class _Work:
    """Evaluates the same words on every subject."""

    def __init__(self, current: Session, request: Request, texts: list[Source], dps: int | None, engine: str) -> None:
        self.current = current
        self.request = request
        self.texts = texts
        self.dps = dps
        self.engine = engine

    def evaluate(self, subject: Subject) -> None:
        """All words on one subject, in one table; after an interruption those before it."""
        if not self.current.interrupted:
            with held():
                self._evaluate(subject)

    def _evaluate(self, subject: Subject) -> None:
        from hardsim.checking.compare import evaluate
        from hardsim.lang.words import parse_word
        from hardsim.report.check import model_line
        from hardsim.report.evaluation import print_evaluations
        from hardsim.report.json import eval_json

        words = [parse_word(text, subject.file.alphabet) for text in self.texts]
        self.current.precision(subject, max(map(len, words)), self.dps, self.engine)
        answers = evaluate(subject, words, self.dps, self.engine)
        with interruptible():
            announce_words(subject.name, words, lambda word: list(evaluate(subject, [word], self.dps, self.engine)))
        found = self._known(subject.name, answers, len(words))
        partial = len(found) < len(words)
        self.current.results.append(eval_json(subject.name, subject.facts, self.engine, found, partial))
        screen = self.current.screen
        screen.line((subject.name, "bold"), f"  {model_line(subject.facts)}")
        print_evaluations(screen, found, subject.file.alphabet)
        self._conclude(subject.name, sum(one.mismatch is not None for one in found), len(found))
        undecided = sum(not one.decided for one in found)
        if undecided:
            self.current.codes.append(failures.UNDECIDED)
            say(f"{subject.name}: {undecided} of {len(found)} words are undecided: {_advice(self.engine)}")

    def evaluate_model(self, given: AttentionInput) -> None:
        """All words on one hard-attention model or program.

        Raises:
            Unsupported: if a program has no construction, after its semantics has answered.
        """
        with held():
            self._evaluate_model(given)

    def _evaluate_model(self, given: AttentionInput) -> None:
        from hardsim.checking.attention_campaign import summary
        from hardsim.checking.campaign import CheckOptions
        from hardsim.checking.evaluate import evaluate_attention
        from hardsim.lang.words import parse_word
        from hardsim.report.attention import print_attention_words, print_oracle_words
        from hardsim.report.attention_json import evaluations_json

        words = [parse_word(text, given.alphabet) for text in self.texts]
        if given.model is None and given.oracle is not None:
            self.current.screen.line((given.name, "bold"), "  semantics alone")
            right = [(word, given.oracle(word)) for word in words]
            print_oracle_words(self.current.screen, right, given.alphabet)
        options = CheckOptions(max_n=max(map(len, words)), engine=self.engine)
        choice = self.request.attention()
        answers = evaluate_attention(given.subject, words, options, choice)
        with interruptible():
            announce_words(
                given.name, words, lambda word: list(evaluate_attention(given.subject, [word], options, choice))
            )
        found = self._known(given.name, answers, len(words))
        line = summary(given.subject, None)
        self.current.results.append(evaluations_json(given.name, line, found, len(found) < len(words)))
        self.current.screen.line((given.name, "bold"), f"  {line}")
        print_attention_words(self.current.screen, found, given.alphabet)
        undecided = sum(not one.decided for one in found)
        if undecided:
            self.current.codes.append(failures.UNDECIDED)
            say(f"{given.name}: {undecided} of {len(found)} words are undecided: {_advice(self.engine)}")
        unsettled = sum(one.agree is None and one.decided for one in found)
        if unsettled:
            self.current.codes.append(failures.UNDECIDED)
            say(f"{given.name}: hard attention decides nothing on {unsettled} of {len(found)} words")
        self._conclude(given.name, sum(one.refuted for one in found), len(found))

    def _known(self, name: str, found: Iterable[T], words: int) -> list[T]:
        """What is known of the words one after the other: of all, or of those before an interruption."""
        known: list[T] = []
        try:
            with interruptible():
                known.extend(foreseen(found, name, "words", words))  # as far as it comes
        except KeyboardInterrupt:
            self.current.interrupted = True
            say(f"interrupted: the table of {name} is partial, it has {len(known)} of {words} words")
        return known

    def _conclude(self, name: str, mismatches: int, words: int) -> None:
        """The exit code for rows that do not agree."""
        self.current.screen.flush()
        if mismatches:
            from hardsim.checking.result import MPMATH
            from hardsim.report.check import NEXT_CERTIFY

            self.current.codes.append(failures.MISMATCH)
            say(f"{name}: {mismatches} of {words} words mismatch (the rows that do not agree)")
            if self.engine == MPMATH:
                say(f"OBSERVED, not certified. {NEXT_CERTIFY}")


def _advice(engine: str) -> str:
    from hardsim.checking.result import AUTO, FLOAT64

    if engine == FLOAT64:
        return f"float64 cannot tell on which side of a threshold a value lies; use --engine {AUTO}"
    return "a value lies on a threshold, or too close to it for the limit of ball arithmetic; use another --beta"
