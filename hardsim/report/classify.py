"""Print the results of `classify`: a table of the classes, and the words that show that a language is outside one."""

from __future__ import annotations

from collections.abc import Sequence

from hardsim.lang.automata.classes import Membership
from hardsim.measuring.classify import ClassifyResult, class_names
from hardsim.report.check import FILE_SAYS
from hardsim.report.model_report import alphabet_line
from hardsim.report.screen import Screen, columns
from hardsim.targets.result import count, plural

ANSWERS = {True: "yes", False: "no", None: "not decided"}
BRIEF = {
    "J-trivial": "those of R-trivial and of L-trivial (Simon 1975)",
    "R-trivial": "fixed-precision softmax or leftmost-hard, future-masked, after an end symbol (Li 2025, Jerad 2025)",
    "R-trivial before the last symbol": "the same, read at the last symbol (Li 2025, Jerad 2025)",
    "L-trivial": "rightmost-hard, past-masked, read at a begin symbol (Jerad 2025)",
    "DA": "future-masked leftmost-hard and past-masked rightmost-hard (Thérien 1998, Jerad 2025)",
    "star-free": "unique-hard, strict masks, no positions (Yang 2024)",
    "quasi-aperiodic": "the same with periodic positions (Barrington 1992, Yang 2024)",
    "none of these": "none of these: counts as PARITY does (Barrington 1992)",
}
"""The transformers of each class in a few words, with the first authors of the sources."""
COLUMNS = columns("<class", "<in it", "~transformers for exactly these")
UNCLAIMED = "nothing is claimed about the weights of"


def print_classes(screen: Screen, result: ClassifyResult, alphabet: Sequence[str], explained: bool) -> None:
    """Print the sizes, the table of classes and the words of each witness; if `explained`, also the meaning of each
    class with its transformers and the whole citation, else those of the smallest classes alone."""
    found = result.classification
    specified = result.stated_by is not None
    screen.head(
        result.input,
        [
            (FILE_SAYS, None if specified else result.title),
            alphabet_line(alphabet),
            ("language", f"of {result.part}"),
            ("", f"{UNCLAIMED} {result.input}" if specified else None),
            ("automaton", f"minimal, {plural(found.states, 'state')}"),
            ("monoid", found.reason if found.monoid is None else plural(found.monoid, "element")),
        ],
    )
    screen.block(COLUMNS, [(one.name, ANSWERS[one.holds], BRIEF[one.name]) for one in found.classes])
    _print_reasons(screen, result)
    _print_witnesses(screen, result, alphabet)
    for one in found.classes if explained else result.smallest:
        _explain(screen, one)
    screen.raw()


def _print_reasons(screen: Screen, result: ClassifyResult) -> None:
    """Print why classes were not decided, or have no witness."""
    reasons = dict[str, list[str]]()
    for one in result.classification.classes:
        if one.reason is not None:
            reasons.setdefault(one.reason, []).append(one.name)
    for reason, names in reasons.items():
        screen.raw()
        screen.line(f"{', '.join(names)}: {reason}", hang=2)


def _print_witnesses(screen: Screen, result: ClassifyResult, alphabet: Sequence[str], only: str | None = None) -> None:
    """Print the rule and two words of each witness, or of that of the class `only`."""
    for pair in result.witnesses:
        if only in (None, *pair.classes):
            screen.raw()
            screen.line(f"Not {', not '.join(pair.classes)}: {pair.rule}.", hang=2)
            screen.word("In the language", pair.inside, alphabet)
            screen.word("Not in the language", pair.outside, alphabet)


def _explain(screen: Screen, one: Membership) -> None:
    """Print the meaning of a class, its transformers and the whole citation."""
    screen.raw()
    screen.line((one.name, "bold"), folds=False)
    screen.facts([("meaning", one.meaning), ("read by", one.transformers), ("source", one.citation)], width=7)


def print_classes_line(
    screen: Screen, result: ClassifyResult, alphabet: Sequence[str], within: str | None = None
) -> None:
    """Print the smallest classes and the sizes on one line. If the language is not in the class `within`, print that
    and its witness too."""
    found = result.classification
    size = "a monoid too large to count" if found.monoid is None else f"monoid of {count(found.monoid)}"
    screen.line((result.input, "bold"), f"  {class_names(result)}; {plural(found.states, 'state')}, {size}", hang=2)
    if result.stated_by not in (None, result.input):
        screen.line(f"  of {result.part}; {UNCLAIMED} {result.input}", hang=2)
    if within is not None and found[within].holds is False:
        screen.line(f"  outside {within}, which --within names")
        _print_witnesses(screen, result, alphabet, within)
