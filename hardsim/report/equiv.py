"""Print the results of `equiv`: the verdict on two files and, if they differ, the word with the answer of each file; of
several files, a line for each."""

from __future__ import annotations

from collections.abc import Sequence

from hardsim.campaign.result import answer_text, printed_lengths
from hardsim.lang.words import written_word
from hardsim.measuring.equiv import SAME, EquivLength, EquivResult
from hardsim.report.check import STYLES, print_headline
from hardsim.report.screen import Screen, columns, tried_text
from hardsim.targets.result import Answer, count

LENGTH_COLUMNS = columns("n", "words\ntried", "accepted\nby both")


def print_equiv(screen: Screen, result: EquivResult, alphabet: Sequence[str]) -> None:
    """Print the verdict, and a table of the lengths at which words were tried."""
    print_equiv_verdict(screen, result, alphabet)
    lengths = result.lengths
    # Automata decide every length at once, without lengths that were tried.
    spans = printed_lengths(lengths[-1].n) if lengths else ()
    grouped = ([one for one in lengths if one.n in span] for span in spans)
    screen.block(LENGTH_COLUMNS, [_row(some) for some in grouped if some])


def _row(lengths: Sequence[EquivLength]) -> list[str]:
    """Return one table row for several lengths: their span, the words tried, and the words that both files accept."""
    first, last = lengths[0].n, lengths[-1].n
    span = str(last) if first == last else f"{first}-{last}"
    tried = tried_text(sum(one.words for one in lengths), all(one.exhaustive for one in lengths))
    return [span, tried, count(sum(one.accepted for one in lengths))]


def print_equiv_line(screen: Screen, result: EquivResult, alphabet: Sequence[str]) -> None:
    """Print the verdict on one of several files in one line, and the word that shows a failure alone on the next
    line."""
    headline = (result.verdict.value, STYLES[result.verdict]), "  ", (result.other, "bold")
    screen.line(*headline, f": {line_reach(result)}{'; PARTIAL: interrupted' * result.partial}", folds=False)
    if result.word is not None:
        screen.raw(written_word(result.word, alphabet))


def line_reach(result: EquivResult) -> str:
    """Return how far a verdict reaches and, if the files differ, which of them accepts the word."""
    differ = result.word is not None and result.relation == SAME
    accepting = [f"{name} accepts it" for name, answer in _answers(result) if differ and answer is True]
    return "; ".join([result.reach, *accepting])


def _answers(result: EquivResult) -> list[tuple[str, Answer]]:
    return [(result.input, result.answer), (result.other, result.other_answer)]


def print_equiv_verdict(screen: Screen, result: EquivResult, alphabet: Sequence[str]) -> None:
    """Print the verdict, how far it reaches, and the word on which the two files differ."""
    names = f"{result.input}, {result.other}"
    print_headline(screen, result.verdict.value, STYLES[result.verdict], names, result.reach)
    if result.partial:
        screen.line("  PARTIAL: interrupted; this covers only what was done before the interruption")
    if result.word is not None:
        screen.word("The word", result.word, alphabet)
        for name, answer in _answers(result):
            screen.line(f"  {name}: {answer_text(answer, alphabet)}")
