"""Words on which rounding to the nearest multiple makes a comparison of counts true by mistake (ours).

A sum of -1/2 over the n + 1 positions of a word of length n and its beginning is -1/(2n + 2), and becomes 0 if that is
at least -2^-(p+1): from n = 2^p - 1 on. So a short word on which a comparison fails by 1/2 is wrong once it is made so
long by symbols that do not change the sum: at most three, repeated. A sum of -v is wrong from n = 2^(p+1) v - 1 on,
and reaches that with v = 1/2 first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hardsim.hard.exact import ExactModel
from hardsim.network.rounding import RoundingMode
from hardsim.program.hard_attention import Program
from hardsim.targets.result import Word
from hardsim.targets.subject import Subject

MOST_SYMBOLS = 3
"""Greatest number of symbols that are repeated: the first ones of the alphabet."""


def nearest_length(program: Program) -> int | None:
    """Return the least length at which a sum of -1/2 is rounded to 0; None without rounding to the nearest."""
    rounding = program.rounding
    if rounding is None or rounding.mode is not RoundingMode.NEAREST:
        return None
    return max(1, (1 << rounding.bits) - 1)


def wrong_when_rounded(subject: Subject, longest: int) -> Iterator[Word]:
    """Yield words of at most `longest` symbols that hard attention with rounding answers wrongly, the shortest
    first."""
    first = nearest_length(subject.program)
    if first is None:
        return
    symbols = subject.alphabet[:MOST_SYMBOLS]
    begun = [word for size in (0, 1, 2) for word in product(symbols, repeat=size)]
    filled = [word for size in (1, 2, 3) for word in product(symbols, repeat=size)]
    # The sum of a padded word may have the wrong parity at the least length.
    for n in range(first, min(first + 2, longest) + 1):
        words = []
        for base, repeated in product(begun, filled):
            if len(base) <= n:
                filling = (repeated * n)[: n - len(base)]
                words += [base + filling, filling + base]
        words = list(dict.fromkeys(words))
        # All at once, since this is many times as fast as the comparison of every answer.
        found = subject.hard_answers(subject.program, ExactModel(subject.program).run(words))
        expected = subject.answers(words) or found
        yield from (word for word, one, other in zip(words, found, expected, strict=True) if one != other)
