"""The command `hardsim eval`: the answers on given words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap

from hardsim.campaign.check import CheckOptions
from hardsim.campaign.evaluate import evaluate, evaluate_together
from hardsim.campaign.interrupts import interruptible, uninterrupted
from hardsim.campaign.judges import NetworkJudge
from hardsim.campaign.result import EvalResult, Evaluation, OracleAnswer, OracleResult
from hardsim.cli import activity
from hardsim.cli.estimate import bar, layers_bar, patient
from hardsim.cli.session import Session, check_source, session
from hardsim.cli.streams import say
from hardsim.errors import InputError, Source, SourceError, Span
from hardsim.files import read_stdin
from hardsim.lang.words import parse_word
from hardsim.options.table import Request
from hardsim.report.check import NEXT_CERTIFY, model_line, next_arithmetic, print_evaluations, print_oracle_words
from hardsim.report.network import print_outputs
from hardsim.targets.base import Target
from hardsim.targets.external import External
from hardsim.targets.inputs.base import Input
from hardsim.targets.result import AUTO, FLOAT64, MPMATH, Word, WordError, apart
from hardsim.targets.semantics import about_alphabet
from hardsim.targets.subject import Subject

STDIN = "-"


def command(request: Request) -> None:
    """Run `hardsim eval` as requested, and print its results."""
    request, texts = words_of_request(request)
    with session("eval", request) as current:
        for one in current.read():
            if not one.compilable and one.against is None:
                _semantics(current, one, texts)
                if one.oracle_alone:
                    continue
            current.each(one, partial(_evaluate, current, texts), partial(_evaluate_network, current, texts))


def words_of_request(request: Request) -> tuple[Request, list[Source]]:
    """Split the arguments into the input and the words; return the request with the input only, and the words."""
    given = list(request.words or [])
    # With -e every argument is a word; without it the first is the input.
    request = replace(request, files=[] if request.expression is not None else given[:1])
    files = request.files or []
    check_source(request)
    return request, _texts(given[len(files) :], files)


def _texts(words: list[str], files: list[str]) -> list[Source]:
    """Return the words as written, each with the name that errors cite. Raises InputError if there is no word."""
    if not words:
        what = f"no word to evaluate after {files[0]}" if files else "no word to evaluate"
        raise InputError(what, "Add words, or '-' to read them from standard input, one a line.")
    if words != [STDIN]:
        names = [f"<word {number}>" for number in range(1, len(words) + 1)] if len(words) > 1 else ["<word>"]
        return list(map(Source, names, words))
    activity.hold()  # the user may be typing
    try:
        lines = read_stdin("<stdin>").decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        hint = "Write words on standard input in UTF-8, one a line."
        raise InputError(f"<stdin>: not UTF-8 at byte {error.start}", hint) from None
    finally:
        activity.release()
    if not lines:
        raise InputError("<stdin> has no word", "Write one word a line.")
    return [Source("<stdin>", line, number) for number, line in enumerate(lines, start=1)]


def _semantics(current: Session, given: Input, texts: list[Source]) -> None:
    """Answer all words by the semantics alone, for an input that cannot be compiled."""
    with current.guard(given.name):
        with given.about_alphabet():
            words = [parse_word(text, given.alphabet) for text in texts]
        oracle = given.meaning(current.request.at)
        if oracle is not None:
            current.screen.line((given.name, "bold"), "  semantics alone")
            answers = [(word, oracle(word)) for word in words]
            print_oracle_words(current.screen, answers, given.alphabet)
            current.results.append(OracleResult(given.name, given.kind, tuple(starmap(OracleAnswer, answers))))


def network_words(texts: list[Source], subject: External) -> list[Word]:
    """Return the words in the tokens of an external network, whose tokens may have no names. The empty word is one if
    tokens around words are read."""
    try:
        return [parse_word(text, subject.alphabet, subject.reads_empty) for text in texts]
    except SourceError as error:
        if (mark := _mark_at(error, subject)) is not None:
            raise mark from None
        if not error.source.text.strip():
            error.hint = (
                "the network reads no token for it; a specification can name tokens before words: input: <bos> *"
            )
        elif all(name.isdecimal() for name in subject.network.ids):
            advice = "the tokens have no names: give them in a vocab.json beside the weights, in Python as tokens="
            error.hint = "; ".join(filter(None, (error.hint, advice)))
        raise


def _mark_at(error: SourceError, subject: External) -> SourceError | None:
    """Return the error for a token of the network at the place of an error, which is no symbol of words, such as
    <bos>; None if there is no such token."""
    for piece in re.finditer(r"\S+", error.source.text):
        span = Span(*piece.span())
        if span.start <= error.span.start < span.end and piece[0] in subject.network.ids:
            message = f"{piece[0]} is a special token of the network, and no part of words"
            return SourceError(error.source, span, message, error.expected, "leave it out")
    return None


def _keep(
    current: Session, subject: Target, words: Sequence[Word], found: Sequence[Evaluation], bad: Sequence[WordError]
) -> None:
    """Add the answers on words to the results, and print the heading of their table. Raises InputError if no word has
    an answer."""
    if bad and not found:
        raise bad[0].error
    # An interruption leaves words without an answer and without an error.
    partly = len(found) + len(bad) < len(words)
    current.results.append(EvalResult.of(subject, current.request.engine, found, bad, partly))
    current.screen.line((subject.name, "bold"), f"  {model_line(subject.facts)}")


@uninterrupted()
def _evaluate_network(current: Session, texts: list[Source], subject: External) -> None:
    """Answer all words by an external network; after an interruption, only the words before it."""
    words, engine = network_words(texts, subject), current.request.engine
    found, bad = list[Evaluation](), list[WordError]()
    try:
        with interruptible(), layers_bar(subject, words, "the words") as watch:
            judge = NetworkJudge(subject, current.request.dps, engine, watch.step)
            for word in words:
                watch.next()
                parts, failed = apart([word], lambda some: [judge.evaluation(one) for one in some])
                found += [one for part in parts for one in part]
                bad += failed
            watch.next()
    except KeyboardInterrupt:
        current.interrupted = True
        say(f"interrupted: {len(found)} of {len(words)} words were evaluated")
    _keep(current, subject, words, found, bad)
    print_outputs(current.screen, found, subject.alphabet)
    undecided, wrong = sum(not one.decided for one in found), sum(one.right is False for one in found)
    if undecided:
        say(
            f"{subject.name}: {undecided} of {len(found)} words are undecided. {next_arithmetic(engine, external=True)}"
        )
    if wrong:
        say(f"{subject.name}: {wrong} of {len(found)} words have another answer than {subject.against} expects")
    if wrong and engine == MPMATH:
        say(f"OBSERVED, not certified. {NEXT_CERTIFY}")
    current.conclude(not wrong, undecided > 0)
    if bad:
        raise bad[0].error


@uninterrupted()
def _evaluate(current: Session, texts: list[Source], subject: Subject) -> None:
    """Answer all words by one subject, and print them in one table; after an interruption, only the words before it."""
    name, engine = subject.name, current.request.engine
    with about_alphabet(subject.formula):
        words = [parse_word(text, subject.alphabet) for text in texts]
    longest = max(map(len, words))
    current.precision(subject, longest)
    options = CheckOptions(max_n=longest, dps=current.request.dps, engine=engine)
    found, bad = list[Evaluation](), list[WordError]()

    def alone(some: Sequence[Word]) -> list[Evaluation]:
        return list(evaluate(subject, some, options))

    try:
        with interruptible(), bar(name) as shown, patient(f"{name}: {longest:,} symbols take long"):
            try:
                for some in evaluate_together(subject, words, options):
                    found += some
                    shown.show(len(found), len(words))
            except InputError:  # some word has no answer; the others have
                for word in words[len(found) :]:
                    parts, failed = apart([word], alone)
                    found += [one for part in parts for one in part]
                    bad += failed
    except KeyboardInterrupt:
        current.interrupted = True
        say(f"interrupted: the table of {name} is partial: it has {len(found)} of {len(words)} words")
    _keep(current, subject, words, found, bad)
    print_evaluations(current.screen, found, subject.alphabet)
    undecided = sum(not one.decided for one in found)
    if undecided:
        advice = "a value lies on a threshold, or too close to it for ball arithmetic to separate; use another --beta"
        if engine == FLOAT64:
            advice = f"float64 cannot tell on which side of a threshold a value lies; use --engine {AUTO}"
        say(f"{name}: {undecided} of {len(found)} words are undecided: {advice}")
    unsettled = sum(one.agree is None and one.decided for one in found)
    if unsettled:
        say(f"{name}: hard attention decides nothing on {unsettled} of {len(found)} words")
    mismatches = sum(one.mismatch is not None for one in found)
    current.conclude(not mismatches, undecided + unsettled > 0)
    if mismatches:
        say(f"{name}: {mismatches} of {len(found)} words mismatch (the rows that do not agree)")
        if engine == MPMATH:
            say(f"OBSERVED, not certified. {NEXT_CERTIFY}")
    if bad:
        raise bad[0].error
