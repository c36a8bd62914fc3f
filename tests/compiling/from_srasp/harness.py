"""Functions that compare a compiled program with the oracle, vector by vector, and its heads with their
declarations.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, product

import numpy as np

from hardsim.compiling.from_srasp.compile import Compiled
from hardsim.hard.exact import HardTrace, LayerTrace
from hardsim.lang.ast import BLANK, SraspProgram
from hardsim.lang.srasp.padding import padded_word
from tests.support.hard_runs import outputs_of
from tests.support.language import OutOfRange, ProgramOracle
from tests.support.model import ExactModel, Head, Weighting, compile_program

Word = tuple[str, ...]
BATCH = 512


@dataclass
class Findings:
    """The result of a comparison: words compared, words out of range, and the smallest gap at each (padded) length."""

    compared: int = 0
    out_of_range: int = 0
    gaps: dict[int, Fraction] = field(default_factory=dict)


def words_to(program: SraspProgram, longest: int, most: int = 10**9) -> Iterator[Word]:
    """Yield all words up to length `longest`, at most `most` of each length."""
    for n in range(1, longest + 1):
        yield from islice(product(program.alphabet, repeat=n), most)


def batches(compiled: Compiled, words: Iterable[Word]) -> Iterator[list[Word]]:
    """Yield the words in batches of one padded length."""
    groups: dict[int, list[Word]] = {}
    for word in words:
        group = groups.setdefault(len(padded_word(compiled.program, word)), [])
        group.append(word)
        if len(group) == BATCH:
            yield groups.pop(len(padded_word(compiled.program, word)))
    yield from groups.values()


def agree(
    program: SraspProgram, words: Iterable[Word], compiled: Compiled | None = None, beyond: bool = False
) -> Findings:
    """Assert that every vector agrees with the oracle on every word in range, and that every declared gap holds.

    `beyond` asserts the same for words out of range: a number that is compared for equality with one in range must
    match nothing there.
    """
    compiled = compiled or compile_program(program)
    model, oracle = ExactModel(compiled.model), ProgramOracle(program)
    findings = Findings()
    for batch in batches(compiled, words):
        trace = model.run([padded_word(compiled.program, word) for word in batch])
        for number, word in enumerate(batch):
            if beyond or not any(guard.measure.outside(trace)[number].any() for guard in compiled.guards):
                findings.compared += 1
                check_word(compiled, model, oracle, trace, number, word)
            else:
                findings.out_of_range += 1
        if not findings.out_of_range:
            check_gaps(compiled, trace, findings.gaps)
    return findings


def check_word(
    compiled: Compiled, model: ExactModel, oracle: ProgramOracle, trace: HardTrace, number: int, word: Word
) -> None:
    """Assert that every vector of one word of a batch agrees with the oracle, and the output as a user of the model
    reads it.
    """
    expected = oracle.run(word)
    found = {name: compiled.vectors[name].values(trace, number) for name in expected}
    assert found == expected, f"{''.join(word)}: {found} instead of {expected}"
    program = compiled.program
    if program.is_acceptor:
        assert compiled.model.verdict(outputs_of(model.program, trace)[number]) == oracle.accepts(word)
        return
    if compiled.model.integers:
        column = trace.columns[compiled.model.output].values(number)[1:]
        assert tuple(value * trace.n for value in column) == oracle.output(word)
        return
    columns = {symbol: trace.columns[name].values(number)[1:] for symbol, name in compiled.model.outputs}
    for i in range(trace.n):
        assert sorted(column[i] for column in columns.values()) == [0] * (len(columns) - 1) + [1]
    symbols = [next(symbol for symbol in columns if columns[symbol][i] == 1) for i in range(trace.n)]
    assert tuple(symbol for symbol in symbols if program.pad is None or symbol != BLANK) == oracle.output(word)


def check_gaps(compiled: Compiled, trace: HardTrace, gaps: dict[int, Fraction]) -> None:
    """Assert that every head is uniform, or has a maximum that exceeds the next score by at least the declared gap.

    The maximum is unique unless the head declares that several positions share it.
    """
    for layer, run in zip(compiled.model.layers, trace.layers, strict=True):
        for head in layer.heads:
            assert head.weighting is Weighting.AVERAGE
            if not head.uniform:
                smallest = _check_head(head, run, trace.n)
                gaps[trace.n] = min(gaps.get(trace.n, smallest), smallest)


def _check_head(head: Head, run: LayerTrace, n: int) -> Fraction:
    """Return the smallest gap of a head in a batch."""
    rows = run.rows[head.name]
    assert head.shares or (rows.maxima == 1).all(), f"{head.name} is not tieless"
    assert head.gap is not None
    smallest = []
    for i in range(n + 1):
        column: Sequence[int] = [int(gap) for gap in np.unique(rows.gap[:, i]) if gap >= 0]
        if column:
            smallest.append(Fraction(min(column), rows.units[i]))
            assert smallest[-1] >= head.gap.evaluate(i=i, n=n), f"{head.name} at {i} of {n}: {smallest[-1]}"
    return min(smallest, default=Fraction(10**6))


def raises_out_of_range(compiled: Compiled, word: Word) -> OutOfRange | None:
    """Return the error for a word that leaves the range, else None."""
    trace = ExactModel(compiled.model).run([padded_word(compiled.program, word)])
    try:
        compiled.check_ranges([word], trace)
    except OutOfRange as error:
        return error
    return None
