"""The command `hardsim classify`: print which published classes a language is in, and the transformers of each."""

from __future__ import annotations

from functools import partial
from typing import cast

from hardsim.cli.estimate import patient
from hardsim.cli.session import ResultText, Session, session
from hardsim.measuring.classify import ClassifyResult, class_names, classify_input
from hardsim.options.table import LANGUAGE_CLASSES, Request
from hardsim.report.classify import print_classes, print_classes_line
from hardsim.report.summary import counted
from hardsim.targets.base import At
from hardsim.targets.inputs.base import Input


def command(request: Request) -> None:
    """Run `hardsim classify` as requested, and print its results."""
    with session("classify", request) as current:
        given = list(current.read())
        several = current.several(given)
        for one in given:
            if current.over:
                break
            with current.guard(one.name):
                with patient(f"{one.name}: classifying it takes long, because its monoid is large"):
                    result = classify_input(one, cast("At | None", request.at))
                _conclude(current, one, result, several)
        names = [" and ".join(one.name for one in result.smallest) for result in current.results]
        current.counted = counted(names, LANGUAGE_CLASSES) if several else None


def _conclude(current: Session, given: Input, result: ClassifyResult, several: bool) -> None:
    """Print a result and note its exit code: with --within it depends on the named class alone."""
    request, alphabet, within = current.request, given.alphabet, current.request.within
    brief = partial(print_classes_line, result=result, alphabet=alphabet, within=within)
    several = several if request.tables is None else not request.tables
    whole = partial(print_classes, result=result, alphabet=alphabet, explained=request.explain)
    full = brief if several else whole
    holds = result.decided or None if within is None else result[within].holds
    current.conclude(holds is not False, holds is None, "", ResultText(result, full, brief, reach=class_names(result)))
