"""Alphabets of sets: at each position a set of propositions holds, and these sets are the symbols.

A set is written `{}`, `{p}`, `{p,q}`, its propositions in the order in which they were declared. An alphabet whose
symbols all have this form is one of sets, wherever it comes from; a file that declares propositions has `Valuations`,
which know what was declared.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from hardsim.errors import InputError
from hardsim.lang.vocabulary import joined_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SETS: Final = 2**62
"""Sets of propositions at a position, whose numbers are machine integers: 62 propositions without constraints."""
MOST_CONNECTED: Final = 4_096
"""Sets of propositions that constraints connect."""
MOST_LISTED: Final = 4_096
"""Sets that are listed one by one, where something needs a list."""
MENTIONED: Final = "auto"
"""In place of propositions: those that the formula mentions."""

_NAME = r"[^\s{},]+(?:[ ]+[^\s{},]+)*"
_SET = re.compile(rf"\{{(?:{_NAME}(?:,{_NAME})*)?\}}")

ConstraintKey: TypeAlias = Literal["one-of", "at-most-one"]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A header line that says of some propositions that exactly one of them, or at most one, holds at each position."""

    key: ConstraintKey
    names: tuple[str, ...]

    def allows(self, holding: Collection[str]) -> bool:
        """Whether a set of propositions is as it says."""
        found = sum(name in holding for name in self.names)
        return found == 1 or (found == 0 and self.key == "at-most-one")

    @property
    def meaning(self) -> str:
        """What it says, for messages."""
        return f"{'exactly' if self.key == 'one-of' else 'at most'} one of {', '.join(self.names)} holds"

    def __str__(self) -> str:
        return f"{self.key}: {joined_names(self.names)}"


class Valuations(Sequence[str]):
    """All sets of some propositions that fulfil some constraints, as symbols, made when they are asked for. The first
    proposition changes fastest: `{}`, `{p}`, `{q}`, `{p,q}`.

    A symbol's number is written in digits, one for each part of the propositions that no constraint connects to others:
    `strides` are their units, `choices` the sets of a part by digit.
    """

    def __init__(self, props: Sequence[str], constraints: Sequence[Exclusion] = ()) -> None:
        """The alphabet of some propositions, which are all that constraints speak of.

        Raises:
            InputError: if there are more than MOST_SETS sets, or none.
        """
        self.props, self.constraints = tuple(props), tuple(constraints)
        self.parts = _parts(props, constraints)
        self.choices = [_choices(part, constraints) for part in self.parts]
        sizes = [len(choices) for choices in self.choices]
        size = prod(sizes)
        if size > MOST_SETS:
            told = f"these {len(props)} propositions make more than {MOST_SETS:,} sets, which is the most there may be"
            raise InputError(told, "say which propositions exclude each other (one-of, at-most-one)")
        if not size:
            raise InputError("no set of propositions fulfils all of these constraints", "leave one of them out")
        self.strides = [prod(sizes[:place]) for place in range(len(sizes))]
        self._size, self._hash = size, hash((self.props, self.constraints))
        self._place = {name: place for place, part in enumerate(self.parts) for name in part}

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(self._size)))
        number = index + self._size if index < 0 else index
        if not 0 <= number < self._size:
            raise IndexError(index)
        digits = zip(self.choices, self.strides, strict=True)
        return written_set(set().union(*(some[number // stride % len(some)] for some, stride in digits)), self.props)

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(self._size))

    def __contains__(self, symbol: object) -> bool:
        try:
            return isinstance(symbol, str) and self[self.index(symbol)] == symbol
        except ValueError:
            return False

    def index(self, symbol: str, start: int = 0, stop: int | None = None) -> int:
        """The number of a symbol; ValueError for what is none."""
        names = frozenset(members_of(symbol))
        if not names <= self._place.keys():
            raise ValueError(f"{symbol!r} is not in the alphabet")
        digits = zip(self.parts, self.choices, self.strides, strict=True)
        return sum(stride * choices.index(names.intersection(part)) for part, choices, stride in digits)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Valuations):
            return (self.props, self.constraints) == (other.props, other.constraints)
        return isinstance(other, tuple) and len(other) == self._size and tuple(self) == other

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Valuations({'; '.join([' '.join(self.props), *map(str, self.constraints)])})"

    def digit(self, name: str) -> tuple[int, list[bool]]:
        """Where a proposition is seen in a number: the stride of its digit, and by digit whether it holds."""
        place = self._place[name]
        return self.strides[place], [name in choice for choice in self.choices[place]]

    def holding(self, name: str) -> Holding:
        """The sets that have a proposition."""
        return Holding(self, name)

    def fitting(self, assigned: Mapping[str, int]) -> str | None:
        """The first set in which some propositions hold (1) and others do not (0); None if there is none."""
        names: set[str] = set()
        for part, choices in zip(self.parts, self.choices, strict=True):
            fits = (choice for choice in choices if all((name in choice) == assigned.get(name, name in choice)
                                                        for name in part))  # fmt: skip
            choice = next(fits, None)
            if choice is None:
                return None
            names |= choice
        return written_set(names, self.props)

    def simple(self) -> tuple[str, ...]:
        """A few sets: as little as possible, each proposition alone, if it can be, and all that can hold together."""
        found = [self.fitting({}), *(self.fitting({name: 1}) for name in self.props), self[len(self) - 1]]
        return tuple(dict.fromkeys(symbol for symbol in found if symbol is not None))

    def within(self, other: Valuations) -> bool:
        """Whether all these sets are among others."""
        if {*self.props} != {*other.props}:
            return False
        return all(self._projected(part, choices) for part, choices in zip(other.parts, other.choices, strict=True))

    def _projected(self, names: Sequence[str], allowed: Collection[frozenset[str]]) -> bool:
        """Whether what these sets have of some propositions is always one of the allowed sets."""
        seen = [{choice.intersection(names) for choice in choices} for choices in self.choices]
        # Parts are independent, so that every combination occurs: more than are allowed need not be listed.
        if prod(map(len, seen)) > len(allowed):
            return False
        return all(frozenset().union(*some) in allowed for some in product(*seen))

    def broken(self, holding: Collection[str]) -> Exclusion | None:
        """The first constraint that a set of propositions does not fulfil."""
        return next((one for one in self.constraints if not one.allows(holding)), None)


Alphabet: TypeAlias = tuple[str, ...] | Valuations
"""Symbols, or the sets of some propositions."""


@dataclass(frozen=True, slots=True)
class Holding(Container[str]):
    """The sets of an alphabet that have a proposition; all of them, if that is None."""

    alphabet: Valuations
    name: str | None

    def __bool__(self) -> bool:
        return True

    def __contains__(self, symbol: object) -> bool:
        return isinstance(symbol, str) and (self.name is None or self.name in members_of(symbol))


Symbols: TypeAlias = frozenset[str] | Holding
"""Some symbols of an alphabet."""


def everything(alphabet: Alphabet) -> Symbols:
    """All symbols of an alphabet."""
    return Holding(alphabet, None) if isinstance(alphabet, Valuations) else frozenset(alphabet)


def _parts(props: Sequence[str], constraints: Sequence[Exclusion]) -> list[list[str]]:
    """The propositions in parts that no constraint connects, each in their order."""
    groups = [{name} for name in props]
    for constraint in constraints:
        touched = [group for group in groups if not group.isdisjoint(constraint.names)]
        groups = [group for group in groups if group not in touched] + [set().union(*touched)]
    order = {name: number for number, name in enumerate(props)}
    return sorted((sorted(group, key=order.__getitem__) for group in groups), key=lambda part: order[part[0]])


def _choices(part: Sequence[str], constraints: Sequence[Exclusion]) -> list[frozenset[str]]:
    """The sets of propositions that constraints connect which fulfil them, the first proposition changing fastest.

    Raises:
        InputError: if there are too many on the way.
    """
    found, left = [frozenset[str]()], set(part)
    for number, name in enumerate(part):
        left.remove(name)
        mine = [frozenset(constraint.names) for constraint in constraints if name in constraint.names]
        # A constraint that speaks of propositions to come may still lack the one that is to hold.
        due = [
            frozenset(constraint.names)
            for constraint in constraints
            if constraint.key == "one-of" and name in constraint.names and left.isdisjoint(constraint.names)
        ]
        without = [some for some in found if not any(some.isdisjoint(names) for names in due)]
        found = without + [some | {name} for some in found if all(some.isdisjoint(names) for names in mine)]
        if len(found) > MOST_CONNECTED:
            told = f"the constraints leave more than {MOST_CONNECTED:,} sets of {', '.join(part[: number + 1])}"
            raise InputError(told, "leave out propositions, or say of more of them that they exclude each other")
    return found


def same_symbols(some: Alphabet, others: Alphabet) -> bool:
    """Whether two alphabets have the same symbols, in whatever order; propositions of a set too may be in any order."""
    if len(some) != len(others):
        return False
    if isinstance(some, Valuations) and isinstance(others, Valuations):
        return some.within(others)
    if isinstance(some, Valuations) or isinstance(others, Valuations):
        sets, symbols = (some, others) if isinstance(some, Valuations) else (others, some)
        held = sets_of(symbols)
        return held is not None and all(set_symbol(names, sets) is not None for names in held)
    held, wanted = sets_of(some), sets_of(others)
    return {*some} == {*others} if held is None or wanted is None else held.keys() == wanted.keys()


def same_spelling(some: Alphabet, others: Alphabet) -> bool:
    """Whether two alphabets that have the same symbols certainly write them the same."""
    if isinstance(some, Valuations) and isinstance(others, Valuations):
        return some.props == others.props
    spelled, known = (others, some) if isinstance(some, Valuations) else (some, others)
    written = known if isinstance(known, Valuations) else {*known}
    return all(symbol in written for symbol in spelled)


def listing(symbols: Symbols, alphabet: Alphabet) -> list[str]:
    """Some symbols, one by one, in the order of the alphabet."""
    return [symbol for symbol in alphabet if symbol in symbols]


class Numbering(dict[str, int]):
    """The numbers of symbols in an alphabet; those of sets are worked out when they are asked for, their propositions
    in any order. KeyError for what is no symbol."""

    def __init__(self, alphabet: Sequence[str]) -> None:
        """Nothing is listed of sets."""
        listed = () if isinstance(alphabet, Valuations) else alphabet
        super().__init__({symbol: number for number, symbol in enumerate(listed)})
        self.alphabet = alphabet

    def __missing__(self, symbol: str) -> int:
        own = set_symbol(members_of(symbol), self.alphabet) if _SET.fullmatch(symbol) else None
        if own is None:
            raise KeyError(symbol)
        self[symbol] = self.alphabet.index(own)
        return self[symbol]

    def own(self, symbol: str) -> str:
        """A symbol as it is written in the alphabet."""
        return self.alphabet[self[symbol]]


def holds_at(symbols: Container[str], alphabet: Sequence[str], numbers: NDArray[Any]) -> NDArray[Any]:
    """Whether the symbols of some numbers are among some symbols, as 0 and 1; an array of the shape of `numbers`."""
    import numpy as np

    if isinstance(symbols, Holding) and symbols.name is not None:
        stride, table = symbols.alphabet.digit(symbols.name)
        held: NDArray[Any] = np.array(table, dtype=np.int64)[numbers // stride % len(table)]
        return held
    if isinstance(alphabet, Valuations):
        return np.full(numbers.shape, int(bool(symbols)), dtype=np.int64)
    known: NDArray[Any] = np.array([int(symbol in symbols) for symbol in alphabet], dtype=np.int64)[numbers]
    return known


# ---- sets as text ----


def written_set(names: Collection[str], order: Iterable[str]) -> str:
    """A set of propositions as a symbol."""
    return f"{{{','.join(name for name in order if name in names)}}}"


def members_of(symbol: str) -> list[str]:
    """The propositions of a symbol that is a set."""
    return [name for name in symbol[1:-1].split(",") if name]


def is_proposition(name: str) -> bool:
    """Whether a name can stand in a set."""
    return re.fullmatch(_NAME, name) is not None


def is_sets(alphabet: Sequence[str]) -> bool:
    """Whether an alphabet is one of sets."""
    return isinstance(alphabet, Valuations) or sets_of(alphabet) is not None


def set_symbol(names: Collection[str], alphabet: Sequence[str]) -> str | None:
    """The symbol of a set in an alphabet of sets, if it is one of them."""
    if isinstance(alphabet, Valuations):
        symbol = written_set(names, alphabet.props)
        return symbol if alphabet.broken(names) is None and len(members_of(symbol)) == len(set(names)) else None
    return (sets_of(alphabet) or {}).get(frozenset(names))


def sets_of(alphabet: Sequence[str]) -> Mapping[frozenset[str], str] | None:
    """The symbol of each set, if a list of symbols is one of sets."""
    if isinstance(alphabet, Valuations) or not alphabet or not _SET.fullmatch(alphabet[0]):
        return None
    return _sets_of(tuple(alphabet))


@lru_cache(64)
def _sets_of(alphabet: tuple[str, ...]) -> Mapping[frozenset[str], str] | None:
    if not all(map(_SET.fullmatch, alphabet)):
        return None
    found = {frozenset(members_of(symbol)): symbol for symbol in alphabet}
    # Symbols that only look like sets may say one thing twice.
    return found if len(found) == len(alphabet) else None


def propositions_of(alphabet: Sequence[str]) -> tuple[str, ...]:
    """The propositions of an alphabet of sets, in the order in which they were declared or occur."""
    if isinstance(alphabet, Valuations):
        return alphabet.props
    return tuple(dict.fromkeys(name for symbol in alphabet for name in members_of(symbol)))


def held_by(symbols: Container[str], alphabet: Sequence[str]) -> str | None:
    """The proposition that holds at these symbols alone, if the alphabet is one of sets and there is such a one."""
    if isinstance(symbols, Holding):
        return symbols.name
    if sets_of(alphabet) is None:
        return None
    same = (name for name in propositions_of(alphabet)
            if all((name in members_of(symbol)) == (symbol in symbols) for symbol in alphabet))  # fmt: skip
    return next(same, None)


def where_held(symbols: Symbols, alphabet: Alphabet) -> str:
    """Where a coordinate of the word embedding is not 0, in words."""
    held = held_by(symbols, alphabet)
    return f"{held} holds" if held else f"the symbol is one of: {' '.join(sorted(listing(symbols, alphabet)))}"


def listed(names: Collection[str], most: int = 12) -> str:
    """The first few symbols or names, for messages."""
    return joined_names(islice(names, most)) + (" ..." if len(names) > most else "")


def alphabet_text(alphabet: Sequence[str], most: int) -> str:
    """Return an alphabet as text for messages: its first symbols, or its first propositions and all of its
    constraints."""
    if not isinstance(alphabet, Valuations):
        return listed(alphabet, most)
    return " ".join(["props", listed(alphabet.props, most), *map(str, alphabet.constraints)])


def told_of(alphabet: Sequence[str]) -> list[str]:
    """What says which alphabet it is: its symbols, or what is declared of its propositions."""
    if isinstance(alphabet, Valuations):
        return ["props", *alphabet.props, *map(str, alphabet.constraints)]
    return list(alphabet)
