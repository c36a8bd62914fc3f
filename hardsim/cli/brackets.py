"""The searches of `hardsim bound` for a constant: the least beta (`--critical`), and the lengths up to which an epsilon
of layer norms leaves a network right (`--norm-epsilon`)."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from hardsim.campaign.interrupts import uninterrupted
from hardsim.cli.estimate import bar
from hardsim.cli.session import ResultText, Session
from hardsim.lang.words import written_word
from hardsim.measuring import critical, norm_reach
from hardsim.options.table import Request
from hardsim.records import short
from hardsim.report.check import named
from hardsim.report.critical import print_conclusions, print_critical, print_criticals
from hardsim.report.screen import Screen
from hardsim.targets.subject import Subject


def require_critical(request: Request) -> None:
    """Raise InputError if an option does not go with `--critical`."""
    critical.require_critical(request)


def search(current: Session) -> None:
    """Search for the constant that is requested, for all inputs."""
    if current.request.norm_epsilon is not None:
        _norm_reaches(current, current.request.norm_epsilon)
    else:
        _criticals(current)


def _criticals(current: Session) -> None:
    """Bracket the least beta of all inputs, then print a row for each if there are several."""
    current.without(*critical.UNUSED)
    given = list(current.read())
    tables = current.tables(given)

    def brackets(subject: Subject) -> None:
        with uninterrupted():
            with bar(subject.name, "lengths") as shown:
                result = critical.critical(subject, current.request.max_n, shown.show)
            message = _bracket(result, subject, tables)
            left = f"the report on {result.input} is partial" if result.partial else ""
            current.conclude(True, not result.proved and not left, left, message)

    current.all(given, brackets)
    if len(current.results) > 1 and not current.request.quiet:
        print_criticals(current.screen, current.results)


def _norm_reaches(current: Session, epsilon: Fraction) -> None:
    """Report how far networks of regime `layer-norm` are right with an epsilon."""
    current.without(*norm_reach.UNUSED)

    def reach(subject: Subject) -> None:
        with bar(subject.name, "lengths") as shown:
            result = norm_reach.norm_reach(subject, epsilon, shown.show)
        alphabet = subject.alphabet

        def full(screen: Screen) -> None:
            word = None if result.word is None else written_word(result.word, alphabet)
            right = "every length" if result.proved_to is None else f"length {result.proved_to}"
            tried = f"none found up to length {result.tried_to}" if result.tried_to else "none: every length is proved"
            lines = [
                ("epsilon", short(result.epsilon)),
                ("proved to", right),
                ("wrong", tried if word is None else f"{word} (length {len(result.word or ())}, the shortest found)"),
            ]
            screen.head(named(result.input, result.model.regime), lines, width=13)

        message = ResultText(result=result, regime=result.model.regime, reach=result.summary, full=full, brief=full,
                             word=result.word, alphabet=alphabet)  # fmt: skip
        current.conclude(True, False, "", message)

    current.all(list(current.read()), reach)


def _bracket(result: critical.CriticalResult, subject: Subject, tables: bool) -> ResultText:
    """Return how to print a bracket, which has no verdict."""
    alphabet = subject.alphabet

    def brief(screen: Screen) -> None:
        screen.line((named(result.input, result.model.regime), "bold"))
        print_conclusions(screen, result, alphabet)

    return ResultText(
        result=result,
        regime=result.model.regime,
        reach=f"every length {result.every_length.summary}",
        full=partial(print_critical, result=result, alphabet=alphabet, tables=tables),
        brief=brief,
        word=result.every_length.word,
        alphabet=alphabet,
    )
