"""One attention head at every site: what it is exactly, or how far its value can be from the specified one.

Everything is read from the network's W_Q, W_K, W_V, mask and temperature; the specification says only what the value
should be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hardsim.errors import InvariantError
from hardsim.proof.counts import look_up
from hardsim.proof.nearest import head_worst_case
from hardsim.proof.ratios import simplest
from hardsim.proof.reading import Example, LocalType, NearestReading
from hardsim.proof.result import NotProved
from hardsim.proof.signs import sign_test
from hardsim.proof.state import SYMBOL, Attended, BooleanHead, Exact, Mean, State
from hardsim.run.plan import HeadPlan, Terms
from hardsim.spec.ir import Head, Kind, Mask, Rational, Weighting, plain

SIDES = {
    (Weighting.RIGHTMOST, Mask.FUTURE): True,
    (Weighting.RIGHTMOST, Mask.NONE): True,
    (Weighting.LEFTMOST, Mask.PAST): False,
    (Weighting.LEFTMOST, Mask.NONE): False,
}
"""Where the last position in the direction of the tie-break is visible to every query on that side of it."""


Read = Callable[[State, HeadPlan, Head, int, list[int], list[int]], Attended]
"""How far the value of a head can be off: of the layer of that number, which reads these values in the network and in
the specification."""


def attended(state: State, plan: HeadPlan, head: Head, layer: int, soft: list[int], hard: list[int]) -> Attended:
    """How far the value of a head can be off at every site, over all words.

    Raises:
        NotProved: if its scores are not those of its kind.
    """
    match head.kind:
        case Kind.NEAREST:
            return _nearest(state, plan, head, layer, soft, hard)
        case Kind.LOOKUP | Kind.TABLE:
            return look_up(state, plan, head, layer, soft, hard)
        case Kind.SIGN | Kind.SIGN_RAMP:
            return sign_test(state, plan, head, layer, soft, hard)
        case Kind.UNIFORM:
            raise InvariantError(f"head {head.name} has no scores")


def attend(state: State, plan: HeadPlan, head: Head, layer: int, read: Read) -> None:
    """Add what one head writes to the state.

    Raises:
        NotProved: if the network's head is not of the form that the specification speaks of.
    """
    if (plan.name, plan.mask) != (head.name, head.mask):
        raise NotProved(
            f"the network's head {plan.name} has mask '{plan.mask}', the specified head {head.name} '{head.mask}'",
            head.name,
        )
    if len(plan.values) != 1:
        raise NotProved(f"head {head.name} writes {len(plan.values)} coordinates instead of one", head.name)
    out, value = plan.values[0]
    if state.model.coordinates[out] != head.out:
        raise NotProved(f"head {head.name} writes the coordinate '{state.model.coordinates[out]}'", head.name)
    if state.written(out):
        raise NotProved(f"the coordinate '{head.out}' is written twice, the second time by a head", head.name)
    if head.uniform != (not plan.scores):
        raise NotProved(f"head {head.name} is uniform in one of network and specification only", head.name)
    soft, hard = state.soft(value, 0, f"head {head.name}"), state.hard(head.value, f"head {head.name}")
    if head.uniform:
        _uniform(state, head, out, soft, hard)
        state.heads[head.name] = None
        return
    found = read(state, plan, head, layer, soft, hard)
    state.heads[head.name] = found
    state.pending[out] = (None, None, found)


def _uniform(state: State, head: Head, out: int, soft: list[int], hard: list[int]) -> None:
    """The mean over the visible positions, exactly."""
    exact = mean = None
    if state.static(soft) and state.static(hard):
        means = [state.sites.means(state.numbers(column), head.mask) for column in (soft, hard)]
        terminal = state.diagrams.terminal
        exact = Exact(*([terminal(value) for value in column] for column in means))
    elif soft != hard:
        raise NotProved(f"head {head.name} averages another value than its specification says", head.name)
    values = {value for number in set(soft) for value in state.diagrams.values(number)}
    if soft == hard and values <= {0, 1}:
        mean = Mean(head.mask, state.sites.sizes(head.mask))
    elif exact is None:
        raise NotProved(f"head {head.name} averages values other than 0 and 1", head.name)
    state.pending[out] = (exact, mean, None)


def split(state: State, form: Terms, what: str) -> tuple[list[Any], Terms, list[tuple[Rational, list[int]]]]:
    """A form of the network as the part that is the same for every word (its values, and as a form) and the rest."""
    fixed: list[tuple[int, Rational]] = []
    varying: list[tuple[Rational, list[int]]] = []
    for coordinate, coefficient in form:
        column = state.soft(((coordinate, 1),), 0, what)
        if state.static(column):
            fixed.append((coordinate, coefficient))
        else:
            varying.append((coefficient, column))
    return state.numbers(state.soft(tuple(fixed), 0, what)), tuple(fixed), varying


def scaled_queries(state: State, plan: HeadPlan, name: str) -> tuple[tuple[Any, ...], ...]:
    """The rows of W_Q x_i over the temperature, which must be the same for every word.

    Raises:
        NotProved: otherwise.
    """
    queries = []
    for query, _ in plan.scores:
        if query not in state.queries:
            values, _, varying = split(state, query, f"the query of head {name}")
            if varying:
                raise NotProved(f"the query of head {name} depends on the word", name)
            state.queries[query] = tuple(
                simplest(value * factor) for value, factor in zip(values, state.inverse, strict=True)
            )
        queries.append(state.queries[query])
    return tuple(queries)


def _nearest(state: State, plan: HeadPlan, head: Head, layer: int, soft: list[int], hard: list[int]) -> BooleanHead:
    """A head that looks for the nearest position where `select` holds."""
    if head.select is None or (head.weighting, head.mask) not in SIDES:
        raise NotProved(f"head {head.name} is not specified as the nearest position on a side", head.name)
    select = state.hard(head.select, f"head {head.name}")
    queries = scaled_queries(state, plan, head.name)
    keys, forms, columns = [], [], []
    for _, key in plan.scores:
        values, fixed, varying = split(state, key, f"the key of head {head.name}")
        # Heads that have the same key share the column, and its numbers as an array.
        if fixed not in state.keys:
            state.keys[fixed] = _without_level(state, values)
        keys.append(state.keys[fixed])
        forms.append(fixed)
        columns.append(state.combine(varying, 0))
    kinds, types, values_of = local_types(state, head.name, columns, select, hard, soft)
    types = _without_least(types)
    reading = NearestReading(head.mask, SIDES[head.weighting, head.mask], queries, tuple(keys), kinds, types)
    signature = (head.mask, reading.rightmost, tuple(query for query, _ in plan.scores), tuple(forms), kinds, types)
    known = state.known.get(signature)
    if known is None:
        known = head_worst_case(state.sites, reading, state.columns)
        state.known[signature] = known
    variable = state.diagrams.variable(("head", head.name))
    bits = []
    for off, on in zip(known[0].winner.tolist(), known[1].winner.tolist(), strict=True):
        bits.append(variable if off and on else state.diagrams.one if on else state.diagrams.zero)
    return BooleanHead(head.name, layer, bits, values_of, (known[0].wrong, known[1].wrong), reading, known)


def _without_level(state: State, column: Sequence[Rational]) -> tuple[Rational, ...]:
    """A key less its value at the first position of each length, where that is most of it: softmax is the same, and
    floats keep the digits that tell positions apart."""
    result = list(column)
    for _, start, end in state.sites.words():
        first = column[start]
        others = [Fraction(column[site]) - first for site in (min(start + 1, end - 1), end - 1)]
        if first and all(2 * abs(other) < abs(Fraction(first)) for other in others):
            result[start:end] = [plain(value - first) for value in column[start:end]]
    return tuple(result)


Types = tuple[tuple[LocalType, ...], ...]


def _without_least(types: Types) -> Types:
    """Types with what all of their keys have in common left out, row by row, for the same reason."""
    rows: list[tuple[Rational, ...]] = list(zip(*(kind.key for some in types for kind in some), strict=True))
    least = [max(min(row), 0) + min(max(row), 0) for row in rows]
    if not any(least):
        return types
    return tuple(
        tuple(
            replace(kind, key=tuple(plain(value - common) for value, common in zip(kind.key, least, strict=True)))
            for kind in some
        )
        for some in types
    )


def local_types(
    state: State, name: str, keys: list[list[int]], select: list[int], hard: list[int], soft: list[int]
) -> tuple[tuple[int, ...], Types, tuple[Rational, Rational]]:
    """The set of local types of every site, the different sets, and the network's values of 0 and 1."""
    sets: dict[tuple[int, ...], int] = {}
    found: list[tuple[LocalType, ...]] = []
    values: dict[int, Rational] = {}
    kinds = []
    for numbers in zip(*keys, select, hard, soft, strict=True):
        if numbers not in sets:
            sets[numbers] = len(found)
            joined = state.diagrams.join(numbers)
            types = []
            for value in state.diagrams.values(joined):
                *key, selected, specified, own = value
                if selected not in (0, 1) or specified not in (0, 1):
                    raise NotProved(f"head {name} selects or reads values other than 0 and 1", name)
                if values.setdefault(int(specified), own) != own:
                    raise NotProved(f"head {name} reads several values where one is specified", name)
                example = describe(state, state.diagrams.example(joined, value))
                types.append(LocalType(tuple(key), bool(selected), int(specified), example))
            found.append(tuple(types))
        kinds.append(sets[numbers])
    return tuple(kinds), tuple(found), (values.get(0, 0), values.get(1, 1))


def describe(state: State, path: dict[object, int]) -> Example:
    """An assignment as pairs of what and which."""
    pairs: list[tuple[str | None, str]] = []
    for name, branch in path.items():
        if name == SYMBOL:
            pairs.append((None, state.model.alphabet[branch]))
        elif isinstance(name, tuple):
            pairs.append((str(name[-1]), str(branch)))
    return tuple(pairs)
