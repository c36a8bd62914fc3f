"""The truth of one operator along a word, as a finite machine that reads the truth of its operands.

The truth values of a formula at all positions of a word are a *track*. A `Machine` relates the track of an operator to
the tracks of its operands: it reads a word from left to right, keeps a memory of finitely many values, and allows at
each position the values that the operator can have there. What an operator of the past is follows from the memory. For
an operator of the future, the memory is a promise about the positions that are still to come: the machine guesses it,
and a wrong guess ends without a way on. Exactly one run of a machine survives on each word.

Machines exist for all operators but comparisons of counts, and predicates of counts other than congruences. Of
comparisons these are covered: sums of counts whose coefficients have one sign, compared with a constant. Such a sum
only grows along the word (or towards its end), so that the memory stops counting at the constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, assert_never

from hardsim.lang.automata.diagrams import DecisionDiagrams
from hardsim.lang.core import AtLeast, CountOf, Edge, Lit, Numeric, Reach, Step
from hardsim.lazy_dataclass import dataclass

Memory: TypeAlias = Any
"""The memory of a machine: a truth value, a count, or a pair of counts."""
Moves: TypeAlias = frozenset[tuple[bool, Memory]]
"""The possible moves at a position: the value of the operator there, with the memory afterwards."""
Operand: TypeAlias = Callable[[Lit], int]
"""Gives the diagram of the truth of a literal at a position."""
Timed: TypeAlias = Edge | Step | Reach | AtLeast | Numeric
"""Operators whose truth depends on other positions."""

MOST_COUNTED = 10_000
"""Greatest constant with which a sum of counts is compared, and greatest modulus: a memory has as many values."""


class NotRegular(Exception):
    """An operator has no machine. The text says why."""


@dataclass(frozen=True)
class Machine:
    """The machine of one operator."""

    first: frozenset[Memory]
    """The memories before the first position."""
    moves: Callable[[Memory], int]
    """Gives the diagram of the moves (`Moves`) from a memory at a position, as a function of the operands there."""
    final: Callable[[Memory], bool]
    """Returns True for a memory with which the word may end."""


def machine_of(node: Timed, diagrams: DecisionDiagrams, operand: Operand) -> Machine:
    """Return the machine of an operator of the core language. Raises NotRegular if it has none."""
    match node:
        case Edge("first"):
            both = {True: diagrams.leaf(frozenset({(True, False)})), False: diagrams.leaf(frozenset({(False, False)}))}
            return Machine(frozenset({True}), lambda memory: both[bool(memory)], lambda memory: True)
        case Edge():
            # The memory is True after the position that was guessed to be the last.
            now = {True: diagrams.leaf(frozenset()), False: diagrams.leaf(frozenset({(False, False), (True, True)}))}
            return Machine(frozenset({False}), lambda memory: now[bool(memory)], bool)
        case Step("Y", arg):
            return _yesterday(diagrams, operand(arg))
        case Step(_, arg):
            return _next(diagrams, operand(arg))
        case Reach("S", _, right, where):
            return _since(diagrams, operand(where), operand(right))
        case Reach(_, _, right, where):
            return _until(diagrams, operand(where), operand(right))
        case AtLeast():
            return _threshold(node, diagrams, operand)
        case Numeric():
            return _congruence(node, diagrams, operand)
        case _:
            assert_never(node)


def _yesterday(diagrams: DecisionDiagrams, arg: int) -> Machine:
    """The memory is the truth of the operand one position before, False before the first position."""

    def moves(memory: Memory) -> int:
        return diagrams.combined(lambda truth: frozenset({(bool(memory), truth)}), arg)

    return Machine(frozenset({False}), moves, lambda memory: True)


def _next(diagrams: DecisionDiagrams, arg: int) -> Machine:
    """The memory is the promise of the operand's truth at the position to come. None: nothing was promised, at the
    first position; after the last position the promise must be False."""

    def moves(memory: Memory) -> int:
        free = frozenset({(False, False), (True, True)})
        return diagrams.combined(lambda truth: free if memory in (None, truth) else frozenset(), arg)

    return Machine(frozenset({None}), moves, lambda memory: not memory)


def _since(diagrams: DecisionDiagrams, where: int, right: int) -> Machine:
    """The memory is the truth of the operator one position before. With `where` = !f | g, the truth of f S g is that of
    g where `where` is true, and else the one before."""

    def moves(memory: Memory) -> int:
        def step(decided: bool, now: bool) -> Moves:
            truth = bool(now if decided else memory)
            return frozenset({(truth, truth)})

        return diagrams.combined(step, where, right)

    return Machine(frozenset({False}), moves, lambda memory: True)


def _until(diagrams: DecisionDiagrams, where: int, right: int) -> Machine:
    """The memory is the promise of the operator's truth at this position, which that of the next position decides as in
    `_since`. At the end the promise must be False."""

    def moves(memory: Memory) -> int:
        def step(decided: bool, now: bool) -> Moves:
            after = [promise for promise in (False, True) if bool(now if decided else promise) == memory]
            return frozenset((bool(memory), promise) for promise in after)

        return diagrams.combined(step, where, right)

    return Machine(frozenset({False, True}), moves, lambda memory: not memory)


def _sum_of(terms: Mapping[Lit, int], diagrams: DecisionDiagrams, operand: Operand) -> int:
    """Return the diagram of a weighted sum of truth values at a position."""
    total = diagrams.leaf(0)
    for lit, weight in terms.items():
        if weight:
            total = diagrams.combined(lambda value, truth, weight=weight: value + weight * truth, total, operand(lit))
    return total


def _congruence(node: Numeric, diagrams: DecisionDiagrams, operand: Operand) -> Machine:
    """The memory is a count modulo m: that of the positions before for `L`; for `R`, the promise of the count of the
    positions to come; for a count of all positions, the promise of the whole count, with the count so far."""
    if node.name != "MOD":
        raise NotRegular(f"{node.name} is not among the predicates that it covers: MOD, EVEN and ODD")
    modulus, residue = node.params
    if modulus > MOST_COUNTED:
        raise NotRegular(f"a modulus above {MOST_COUNTED:,}")
    counted, side = operand(node.count.arg), node.count.side

    def holds(count: int) -> bool:
        return (node.scale * count + node.offset - residue) % modulus == 0

    if side == "":

        def onwards(memory: Memory) -> int:
            whole, count = memory
            return diagrams.combined(lambda t: frozenset({(holds(whole), (whole, (count + t) % modulus))}), counted)

        pairs = frozenset((whole, 0) for whole in range(modulus))
        return Machine(pairs, onwards, lambda memory: memory[0] == memory[1])

    def moves(memory: Memory) -> int:
        if side == "L":
            return diagrams.combined(lambda t: frozenset({(holds(memory + t), (memory + t) % modulus)}), counted)
        return diagrams.combined(lambda t: frozenset({(holds(memory), (memory - t) % modulus)}), counted)

    if side == "L":
        return Machine(frozenset({0}), moves, lambda memory: True)
    return Machine(frozenset(range(modulus)), moves, lambda memory: memory == 0)


def _by_side(terms: tuple[tuple[int, CountOf], ...]) -> tuple[dict[Lit, int], dict[Lit, int], dict[Lit, int]]:
    """Return coefficients such that a sum of counts is a sum over the positions before i, plus one over the positions
    from i on, plus a weighted sum of truth values at i."""
    before: dict[Lit, int] = {}
    after: dict[Lit, int] = {}
    here: dict[Lit, int] = {}
    for coefficient, count in terms:
        if count.side in ("L", ""):
            before[count.arg] = before.get(count.arg, 0) + coefficient
        if count.side in ("R", ""):
            after[count.arg] = after.get(count.arg, 0) + coefficient
        if count.side == "L":  # its position i is not among those before
            here[count.arg] = here.get(count.arg, 0) + coefficient
    return before, after, here


def _threshold(node: AtLeast, diagrams: DecisionDiagrams, operand: Operand) -> Machine:
    """The memory is the sum over the positions before, and the promise of the sum over the positions to come; neither
    counts beyond the largest sum that makes a difference."""
    before, after, here = _by_side(node.terms)
    weights = [weight for terms in (before, after) for weight in terms.values() if weight]
    negative = any(weight < 0 for weight in weights)
    if negative and any(weight > 0 for weight in weights):
        raise NotRegular("it compares counts that can both grow without bound")
    sign = -1 if negative else 1
    past, future, own = (
        _sum_of({lit: sign * weight for lit, weight in terms.items()}, diagrams, operand)
        for terms in (before, after, here)
    )
    least = min(diagrams.values(own), default=0)
    # sum + constant >= 0 is: -sum > constant is false. With sign -1, the sum must stay below or at the constant.
    needed = -node.constant if sign > 0 else node.constant + 1
    most = max(0, needed - least)
    if most > MOST_COUNTED:
        raise NotRegular(f"a count is compared with a number above {MOST_COUNTED:,}")

    def moves(memory: Memory) -> int:
        passed, promised = memory

        def step(some: int, more: int, extra: int) -> Moves:
            reached = (passed + promised + extra >= needed) == (sign > 0)
            grown = min(most, passed + some)
            return frozenset((reached, (grown, left)) for left in _left(promised, more, most))

        return diagrams.combined(step, past, future, own)

    promises = range(most + 1) if any(after.values()) else range(1)
    return Machine(frozenset((0, promise) for promise in promises), moves, lambda memory: memory[1] == 0)


def _left(promised: int, more: int, most: int) -> Iterator[int]:
    """Yield the promises for the positions to come after one that adds `more` to a promised sum, which stops at
    `most`."""
    if promised < most:
        return iter([promised - more] if promised >= more else [])
    return iter(range(max(0, most - more), most + 1))
