"""Alphabets of sets: each symbol is a set of propositions, those that hold at a position.

A set is written `{}`, `{p}`, `{p,q}`, with its propositions in the order of their declaration. An alphabet whose
symbols all have this form is an alphabet of sets, wherever it comes from; a file that declares propositions has the
class `Valuations`, which also knows the declarations.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice, product
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from hardsim.errors import InputError, enumerated
from hardsim.lang.vocabulary import joined_names
from hardsim.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SETS: Final = 2**62
"""Greatest number of sets in an alphabet, so that symbol numbers are machine integers: 62 propositions without
constraints."""
MOST_CONNECTED: Final = 4_096
"""Greatest number of sets in one part, that is, of propositions that constraints connect with each other."""
MOST_LISTED: Final = 4_096
"""Greatest number of sets that may be listed one by one, where code needs a list."""
MENTIONED: Final = "auto"
"""A value of the argument `props`: use the propositions that the formula mentions."""

GivenNames: TypeAlias = Sequence[str] | str | None
"""Symbols or propositions that are given outside a file: a sequence, or one text with spaces between them; None: none
are given."""
_NAME = r"[^\s{},]+(?:[ ]+[^\s{},]+)*"
_SET = re.compile(rf"\{{(?:{_NAME}(?:,{_NAME})*)?\}}")

OTHER: Final = 255
"""The byte that stands for a symbol without a number below it."""

ConstraintKey: TypeAlias = Literal["one-of", "at-most-one"]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A header line with a constraint: exactly one of some propositions, or at most one, holds at each position."""

    key: ConstraintKey
    names: tuple[str, ...]

    def allows(self, holding: Collection[str]) -> bool:
        """Return True if a set of propositions fulfils the constraint."""
        found = sum(name in holding for name in self.names)
        return found == 1 or (found == 0 and self.key == "at-most-one")

    @property
    def meaning(self) -> str:
        """The constraint in words, for messages."""
        return f"{'exactly' if self.key == 'one-of' else 'at most'} one of {enumerated(self.names)} holds"

    def __str__(self) -> str:
        return f"{self.key}: {joined_names(self.names)}"


class Valuations(Sequence[str]):
    """All sets of some propositions that fulfil some constraints, as a sequence of symbols that are computed on demand.
    The first proposition changes fastest: `{}`, `{p}`, `{q}`, `{p,q}`.

    The propositions are divided into parts that no constraint connects. A symbol's number in the sequence has one digit
    for each part: `strides` are the place values of the digits, `choices` the sets of each part by digit.
    """

    def __init__(self, props: Sequence[str], constraints: Sequence[Exclusion] = ()) -> None:
        """Build the alphabet of some propositions; constraints may mention only these. Raises InputError if there are
        more than MOST_SETS sets, or none."""
        self.props, self.constraints = tuple(props), tuple(constraints)
        self.parts = _parts(props, constraints)
        self.choices = [_choices(part, constraints) for part in self.parts]
        sizes = [len(choices) for choices in self.choices]
        size = prod(sizes)
        if size > MOST_SETS:
            message = f"these {len(props)} propositions make more than {MOST_SETS:,} sets, the limit"
            raise InputError(message, "State which propositions exclude each other (one-of, at-most-one).")
        if not size:
            raise InputError("no set of propositions fulfils all of these constraints", "Leave one of them out.")
        self.strides = [prod(sizes[:place]) for place in range(len(sizes))]
        # the hash does not list the sets, of which there may be 2^62
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
        # mixed radix: one digit for each independent part
        return written_set(set().union(*(some[number // stride % len(some)] for some, stride in digits)), self.props)

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(self._size))

    def __contains__(self, symbol: object) -> bool:
        try:
            return isinstance(symbol, str) and self[self.index(symbol)] == symbol
        except ValueError:
            return False

    def index(self, symbol: str, start: int = 0, stop: int | None = None) -> int:
        """Return the number of a symbol, from 0; `start` and `stop` are ignored. Raises ValueError for text that is
        no symbol."""
        # any order of the propositions is accepted here; `__contains__` compares the spelling
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
        """Return how a symbol's number shows whether a proposition holds: the stride of its digit, and a list of
        truth values by digit. The digit is `number // stride % len(list)`."""
        place = self._place[name]
        return self.strides[place], [name in choice for choice in self.choices[place]]

    def holding(self, name: str) -> PropositionSymbols:
        """Return the sets that contain a proposition."""
        return PropositionSymbols(self, name)

    @cached_property
    def _having(self) -> dict[str, list[frozenset[str]]]:
        """By proposition, the choices of its part that have it, in order: a scan for each of thousands takes long."""
        found: dict[str, list[frozenset[str]]] = {}
        for one in chain.from_iterable(self.choices):
            for name in one:
                found.setdefault(name, []).append(one)
        return found

    def fitting(self, assigned: Mapping[str, int]) -> str | None:
        """Return the first set in which the given propositions hold (1) or do not hold (0); None if there is none."""
        by_part: dict[int, dict[str, bool]] = {}
        for name, held in assigned.items():
            by_part.setdefault(self._place[name], {})[name] = bool(held)
        # Parts without an assigned proposition take their first choice: a scan of all would be quadratic.
        names = set[str]().union(*(choices[0] for place, choices in enumerate(self.choices) if place not in by_part))
        for place, values in by_part.items():
            true = next((name for name, held in values.items() if held), None)
            some = self.choices[place] if true is None else self._having.get(true, ())
            fits = (one for one in some if all((name in one) == held for name, held in values.items()))
            choice = next(fits, None)
            if choice is None:
                return None
            names |= choice
        return written_set(names, self.props)

    def simple(self) -> tuple[str, ...]:
        """Return a few simple sets: the first set, the first set with each proposition (if any), and the last set."""
        return self._simple

    @cached_property
    def _simple(self) -> tuple[str, ...]:
        found = [self.fitting({}), *(self.fitting({name: 1}) for name in self.props), self[len(self) - 1]]
        return tuple(dict.fromkeys(symbol for symbol in found if symbol is not None))

    def within(self, other: Valuations) -> bool:
        """Return True if every set of this alphabet is also in another one; False unless both have the same
        propositions."""
        if {*self.props} != {*other.props}:
            return False
        return all(self._projected(part, choices) for part, choices in zip(other.parts, other.choices, strict=True))

    def _projected(self, names: Sequence[str], allowed: Collection[frozenset[str]]) -> bool:
        """Return True if every set of this alphabet, restricted to some propositions, is one of the allowed sets."""
        seen = [{choice.intersection(names) for choice in choices} for choices in self.choices]
        # Parts are independent, so every combination occurs; if there are too many, one is not allowed.
        if prod(map(len, seen)) > len(allowed):
            return False
        return all(frozenset().union(*some) in allowed for some in product(*seen))

    def broken(self, holding: Collection[str]) -> Exclusion | None:
        """Return the first constraint that a set of propositions does not fulfil, or None."""
        return next((one for one in self.constraints if not one.allows(holding)), None)


Alphabet: TypeAlias = tuple[str, ...] | Valuations
"""The symbols of an alphabet as a tuple, or the sets of some propositions."""


@dataclass(frozen=True, slots=True)
class PropositionSymbols(Container[str]):
    """The sets of an alphabet that contain the proposition `name`; all sets of the alphabet if it is None."""

    alphabet: Valuations
    name: str | None

    def __bool__(self) -> bool:
        # without a length, this makes the truth value explicit: some set always exists
        return True

    def __contains__(self, symbol: object) -> bool:
        return isinstance(symbol, str) and (self.name is None or self.name in members_of(symbol))


Symbols: TypeAlias = frozenset[str] | PropositionSymbols
"""A subset of an alphabet's symbols."""


def everything(alphabet: Alphabet) -> Symbols:
    """Return the set of all symbols of an alphabet."""
    return PropositionSymbols(alphabet, None) if isinstance(alphabet, Valuations) else frozenset(alphabet)


def _parts(props: Sequence[str], constraints: Sequence[Exclusion]) -> list[list[str]]:
    """Divide the propositions into parts that no constraint connects, each in the order of declaration."""
    groups = [{name} for name in props]
    for constraint in constraints:
        # the constraint joins all groups that it mentions
        touched = [group for group in groups if not group.isdisjoint(constraint.names)]
        groups = [group for group in groups if group not in touched] + [set().union(*touched)]
    order = {name: number for number, name in enumerate(props)}
    return sorted((sorted(group, key=order.__getitem__) for group in groups), key=lambda part: order[part[0]])


def _choices(part: Sequence[str], constraints: Sequence[Exclusion]) -> list[frozenset[str]]:
    """Return the sets of a part's propositions that fulfil the constraints, with the first proposition changing
    fastest. Raises InputError if there are too many sets at an intermediate step."""
    own, last = dict.fromkeys(part, 0), dict[str, int]()
    order = {name: number for number, name in enumerate(part)}
    for number, constraint in enumerate(constraints):
        names = [name for name in constraint.names if name in own]
        for name in names:
            own[name] |= 1 << number
        if constraint.key == "one-of" and names:
            # `one-of` is decided at the last proposition of its list; before, the one that holds may still come.
            decided = max(names, key=order.__getitem__)
            last[decided] = last.get(decided, 0) | 1 << number
    # Each set with the constraints of which it has a proposition, as bits: sets of sets would make this quadratic.
    found = [(frozenset[str](), 0)]
    for number, name in enumerate(part):
        mine, due = own[name], last.get(name, 0)
        without = [one for one in found if one[1] & due == due] if due else found
        found = without + [(some | {name}, held | mine) for some, held in found if not held & mine]
        if len(found) > MOST_CONNECTED:
            message = f"the constraints leave more than {MOST_CONNECTED:,} sets of {enumerated(part[: number + 1])}"
            hint = "remove propositions, or state that more of them exclude each other (one-of:, at-most-one:)"
            raise InputError(message, hint)
    return [some for some, _ in found]


def same_symbols(some: Alphabet, others: Alphabet) -> bool:
    """Return True if two alphabets have the same symbols, in any order; the propositions of a set may be in any
    order too."""
    if len(some) != len(others):
        return False
    if isinstance(some, Valuations) and isinstance(others, Valuations):
        return some.within(others)
    if isinstance(some, Valuations) or isinstance(others, Valuations):
        sets, symbols = (some, others) if isinstance(some, Valuations) else (others, some)
        held = sets_of(symbols)
        return held is not None and all(set_symbol(names, sets) is not None for names in held)
    held, other_sets = sets_of(some), sets_of(others)
    return {*some} == {*others} if held is None or other_sets is None else held.keys() == other_sets.keys()


def same_spelling(some: Alphabet, others: Alphabet) -> bool:
    """Return True if two alphabets with the same symbols certainly spell each symbol the same way."""
    if isinstance(some, Valuations) and isinstance(others, Valuations):
        return some.props == others.props
    spelled, known = (others, some) if isinstance(some, Valuations) else (some, others)
    written = known if isinstance(known, Valuations) else {*known}
    return all(symbol in written for symbol in spelled)


def listing(symbols: Symbols, alphabet: Alphabet) -> list[str]:
    """Return the given symbols as a list, in the order of the alphabet."""
    return [symbol for symbol in alphabet if symbol in symbols]


class Numbering(dict[str, int]):
    """Maps symbols to their numbers in an alphabet. The numbers of sets are computed on demand, with propositions in
    any order. Raises KeyError for text that is no symbol."""

    def __init__(self, alphabet: Sequence[str]) -> None:
        """Start with all symbols of a listed alphabet, and with none of an alphabet of sets, which may be huge."""
        listed = () if isinstance(alphabet, Valuations) else alphabet
        super().__init__({symbol: number for number, symbol in enumerate(listed)})
        self.alphabet = alphabet
        table = bytearray([OTHER] * 256)
        for number, symbol in enumerate(listed[:OTHER]):
            if len(symbol) == 1 and ord(symbol) < 256:
                table[ord(symbol)] = number
        self._bytes = bytes(table)

    def __missing__(self, symbol: str) -> int:
        own = set_symbol(members_of(symbol), self.alphabet) if _SET.fullmatch(symbol) else None
        if own is None:
            raise KeyError(symbol)
        self[symbol] = self.alphabet.index(own)
        return self[symbol]

    def rows(self, words: Sequence[Sequence[str]]) -> NDArray[Any]:
        """Return one or more words of one length as rows of symbol numbers, int64 (words, n). Raises KeyError for a
        symbol that is not in the alphabet."""
        import numpy as np

        shape = len(words), len(words[0])
        # Symbols that are single characters of Latin-1 are translated as bytes, which is six times as fast.
        text = "".join(map("".join, words))
        if text and len(text) == shape[0] * shape[1]:
            found = np.frombuffer(text.encode("latin-1", "ignore").translate(self._bytes), dtype=np.uint8)
            if len(found) == len(text) and found.max(initial=0) < OTHER:
                return found.astype(np.int64).reshape(shape)
        numbers = map(self.__getitem__, chain.from_iterable(words))
        return np.fromiter(numbers, np.int64, shape[0] * shape[1]).reshape(shape)

    def own(self, symbol: str) -> str:
        """Return a symbol in the spelling of the alphabet."""
        return self.alphabet[self[symbol]]


def holds_at(symbols: Container[str], alphabet: Sequence[str], numbers: NDArray[Any]) -> NDArray[Any]:
    """Return 1 for each symbol number whose symbol is in `symbols`, else 0; an array of the shape of `numbers`."""
    import numpy as np

    if isinstance(symbols, PropositionSymbols) and symbols.name is not None:
        stride, table = symbols.alphabet.digit(symbols.name)
        held: NDArray[Any] = np.array(table, dtype=np.int64)[numbers // stride % len(table)]
        return held
    if isinstance(alphabet, Valuations):
        return np.full(numbers.shape, int(bool(symbols)), dtype=np.int64)
    known: NDArray[Any] = np.array([int(symbol in symbols) for symbol in alphabet], dtype=np.int64)[numbers]
    return known


# ---- sets as text ----


def written_set(names: Collection[str], order: Iterable[str]) -> str:
    """Return the symbol for a set of propositions, in the given order."""
    return f"{{{','.join(name for name in order if name in names)}}}"


def members_of(symbol: str) -> list[str]:
    """Return the propositions in a symbol that is a set."""
    return [name for name in symbol[1:-1].split(",") if name]


def is_proposition(name: str) -> bool:
    """Return True if a name may occur in a set: it has no comma, no brace, and only single inner blanks between
    words."""
    return re.fullmatch(_NAME, name) is not None


def is_sets(alphabet: Sequence[str]) -> bool:
    """Return True if all symbols of an alphabet are sets of propositions."""
    return isinstance(alphabet, Valuations) or sets_of(alphabet) is not None


def set_symbol(names: Collection[str], alphabet: Sequence[str]) -> str | None:
    """Return the symbol for a set in an alphabet of sets; None if the alphabet does not contain the set."""
    if isinstance(alphabet, Valuations):
        symbol = written_set(names, alphabet.props)
        return symbol if alphabet.broken(names) is None and len(members_of(symbol)) == len(set(names)) else None
    return (sets_of(alphabet) or {}).get(frozenset(names))


def sets_of(alphabet: Sequence[str]) -> Mapping[frozenset[str], str] | None:
    """Map each set to its symbol, if all symbols in a list are sets; else return None (also for `Valuations`)."""
    if isinstance(alphabet, Valuations) or not alphabet or not _SET.fullmatch(alphabet[0]):
        return None
    return _sets_of(tuple(alphabet))


@lru_cache(64)
def _sets_of(alphabet: tuple[str, ...]) -> Mapping[frozenset[str], str] | None:
    if not all(map(_SET.fullmatch, alphabet)):
        return None
    found = {frozenset(members_of(symbol)): symbol for symbol in alphabet}
    # Symbols that only look like sets may be the same set in two orders.
    return found if len(found) == len(alphabet) else None


def propositions_of(alphabet: Sequence[str]) -> tuple[str, ...]:
    """Return the propositions of an alphabet of sets, in the order of declaration or occurrence."""
    if isinstance(alphabet, Valuations):
        return alphabet.props
    return tuple(dict.fromkeys(name for symbol in alphabet for name in members_of(symbol)))


def held_by(symbols: Container[str], alphabet: Sequence[str]) -> str | None:
    """Return the proposition that holds in exactly these symbols, if the alphabet is one of sets and there is such a
    proposition; else None."""
    if isinstance(symbols, PropositionSymbols):
        return symbols.name
    if sets_of(alphabet) is None:
        return None
    same = (name for name in propositions_of(alphabet)
            if all((name in members_of(symbol)) == (symbol in symbols) for symbol in alphabet))  # fmt: skip
    return next(same, None)


def where_held(symbols: Symbols, alphabet: Alphabet) -> str:
    """Describe in words where a coordinate of the word embedding is not 0."""
    held = held_by(symbols, alphabet)
    return f"{held} holds" if held else f"the symbol is one of: {' '.join(sorted(listing(symbols, alphabet)))}"


def listed(names: Collection[str], most: int = 12) -> str:
    """Return the first `most` symbols or names as text for messages, with ` ...` at the end if there are more."""
    return joined_names(islice(names, most)) + (" ..." if len(names) > most else "")


def alphabet_text(alphabet: Sequence[str], most: int) -> str:
    """Return an alphabet as text for messages: its first `most` symbols, or its first `most` propositions and all of
    its constraints."""
    if not isinstance(alphabet, Valuations):
        return listed(alphabet, most)
    return " ".join(["props", listed(alphabet.props, most), *map(str, alphabet.constraints)])


def alphabet_lines(alphabet: Sequence[str]) -> list[str]:
    """Return a list that identifies an alphabet: its symbols, or the declarations of its propositions."""
    if isinstance(alphabet, Valuations):
        return ["props", *alphabet.props, *map(str, alphabet.constraints)]
    return list(alphabet)
