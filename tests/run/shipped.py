"""The softmax network of a shipped program or model at one length, with Theorem 26's temperature for some words."""

from collections.abc import Sequence

from hardsim.campaign.preparation import plan_length, prepare_words
from tests.support.check import Subject, Word
from tests.support.model import Transformer, assemble


def network_of(subject: Subject, words: Sequence[Word]) -> Transformer:
    """Return the network of a subject for these words, all of one length."""
    n = len(words[0])
    prepared, _, _ = prepare_words(subject, {n: words}, {n: False}, keep=False)
    return assemble(prepared.program, plan_length(prepared, subject, n).schedule)
