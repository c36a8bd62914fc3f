"""The command `hardsim trace`: one word, position by position."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

from hardsim.campaign.interrupts import interruptible, uninterrupted
from hardsim.cli.estimate import layers_bar
from hardsim.cli.eval import network_words, words_of_request
from hardsim.cli.session import Session, session
from hardsim.cli.streams import note, say
from hardsim.errors import InputError, Source
from hardsim.files import Sink
from hardsim.lang.words import parse_word
from hardsim.measuring.trace import trace_target
from hardsim.options.table import Request, require_one_regime
from hardsim.report.maps import drawn, require_map
from hardsim.report.trace import print_trace
from hardsim.run.dense_pass import Watch
from hardsim.targets.external import External
from hardsim.targets.result import Word
from hardsim.targets.semantics import about_alphabet
from hardsim.targets.subject import Subject


def command(request: Request) -> None:
    """Run `hardsim trace` as requested, and print its results."""
    request, texts = words_of_request(request)
    if len(texts) > 1:
        raise InputError(f"a trace shows one word, but {len(texts)} are given", "Trace them one by one.")
    if request.plot is not None:
        require_one_regime(request, "a picture shows one network")
        require_map(request.plot)
    with (
        nullcontext() if request.plot is None else Sink(request.plot, "--plot") as target,
        session("trace", request, None, [] if target is None else [target]) as current,
    ):
        given = list(current.read())
        if target is not None and current.several(given):
            raise InputError("a picture shows one input", "Draw the inputs one by one, or leave out --plot.")
        for one in given:
            current.each(
                one, partial(_trace, current, texts[0], target), partial(_trace_external, current, texts, target)
            )


@uninterrupted()
def _trace(current: Session, text: Source, target: Sink | None, subject: Subject) -> None:
    with about_alphabet(subject.formula):
        word = parse_word(text, subject.alphabet)
    current.precision(subject, len(word))
    _show(current, subject, word, target)


@uninterrupted()
def _trace_external(current: Session, texts: list[Source], target: Sink | None, subject: External) -> None:
    word = network_words(texts, subject)[0]
    with layers_bar(subject, [word, word], "the word") as watch:
        _show(current, subject, word, target, watch)


def _show(
    current: Session, subject: Subject | External, word: Word, target: Sink | None, watch: Watch | None = None
) -> None:
    with interruptible():
        result = trace_target(subject, word, current.request.engine, current.request.dps, watch)
    names = current.request.head or []
    chosen = result.chosen(names)
    current.results.append(result)
    print_trace(current.screen, result, names, subject.alphabet)
    answers = result.answers
    if answers.agree is False:
        say(f"{result.input}: the answers on this word differ")
    open_ = not answers.decided or (answers.agree is None and not answers.places)
    current.conclude(answers.agree is not False, open_)
    if target is not None:  # written last: a failure to write it keeps the exit code of the answers
        target.write(drawn(result, chosen, target.path))
        note(f"the picture is in {target.path}")
