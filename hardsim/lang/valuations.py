"""Alphabets of sets: at each position a set of propositions holds, and these sets are the symbols.

A set is written `{}`, `{p}`, `{p,q}`, its propositions in the order in which they were declared. An alphabet whose
symbols all have this form is one of sets, wherever it comes from; a file that declares propositions has `Valuations`,
which know what was declared.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Final, Literal, TypeAlias

from hardsim.errors import InputError

MOST_SETS: Final = 4_096
"""Sets of propositions at a position: a network has a row for each. Without constraints these are 12 propositions."""
MENTIONED: Final = "auto"
"""In place of propositions: those that the formula mentions."""

_SET = re.compile(r"\{(?:[^\s{},]+(?:,[^\s{},]+)*)?\}")
_NO_NAME = re.compile(r"[\s{},]")

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
        return f"{self.key}: {' '.join(self.names)}"


class Valuations(tuple[str, ...]):
    """All sets of some propositions that fulfil some constraints, as symbols. The first proposition changes fastest:
    `{}`, `{p}`, `{q}`, `{p,q}`. Compares as the tuple that it is."""

    props: tuple[str, ...]
    """The propositions, in the order in which they were declared."""
    constraints: tuple[Exclusion, ...]

    @staticmethod
    def of(props: Sequence[str], constraints: Sequence[Exclusion] = ()) -> Valuations:
        """The alphabet of some propositions, which are all that constraints speak of.

        Raises:
            InputError: if there are more than MOST_SETS sets, or none.
        """
        parts = [_choices(part, constraints) for part in _parts(props, constraints)]
        size = prod(map(len, parts))
        if size > MOST_SETS:
            many = f"{size:,}" if size < 10**12 else "more than 10^12"
            told = f"these {len(props)} propositions make {many} sets, and at most {MOST_SETS:,} are read"
            hint = "12 propositions make 4,096 sets; of more of them say which exclude each other (one-of, at-most-one)"
            raise InputError(told, hint)
        if not size:
            raise InputError("no set of propositions fulfils all of these constraints", "leave one of them out")
        sets = [frozenset[str]()]
        for choices in parts:
            sets = [found | choice for choice in choices for found in sets]
        made = Valuations(written_set(found, props) for found in sets)
        made.props, made.constraints = tuple(props), tuple(constraints)
        return made

    def holding(self, name: str) -> frozenset[str]:
        """The sets that have a proposition."""
        return frozenset(symbol for symbol in self if name in members_of(symbol))

    def broken(self, holding: Collection[str]) -> Exclusion | None:
        """The first constraint that a set of propositions does not fulfil."""
        return next((one for one in self.constraints if not one.allows(holding)), None)


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
    own = [constraint for constraint in constraints if constraint.names[0] in part]
    found = [frozenset[str]()]
    for number, name in enumerate(part):
        left = set(part[number + 1 :])
        grown = [*found, *(some | {name} for some in found)]
        # A constraint that speaks of propositions to come may still lack the one that is to hold.
        found = [
            some
            for some in grown
            if all(
                constraint.allows(some)
                or (not some.intersection(constraint.names) and left.intersection(constraint.names))
                for constraint in own
            )
        ]
        if len(found) > MOST_SETS:
            told = f"the constraints leave more than {MOST_SETS:,} sets of {', '.join(part[: number + 1])}"
            raise InputError(told, "leave out propositions, or say of more of them that they exclude each other")
    return found


# ---- sets as text ----


def written_set(names: Collection[str], order: Iterable[str]) -> str:
    """A set of propositions as a symbol."""
    return f"{{{','.join(name for name in order if name in names)}}}"


def members_of(symbol: str) -> list[str]:
    """The propositions of a symbol that is a set."""
    return [name for name in symbol[1:-1].split(",") if name]


def is_proposition(name: str) -> bool:
    """Whether a name can stand in a set."""
    return bool(name) and _NO_NAME.search(name) is None


def sets_of(alphabet: Sequence[str]) -> Mapping[frozenset[str], str] | None:
    """The symbol of each set, if an alphabet is one of sets."""
    if not alphabet or not _SET.fullmatch(alphabet[0]):
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


def held_by(symbols: Collection[str], alphabet: Sequence[str]) -> str | None:
    """The proposition that holds at these symbols alone, if the alphabet is one of sets and there is such a one."""
    if sets_of(alphabet) is None:
        return None
    known = [set(members_of(symbol)) for symbol in symbols]
    shared = set[str]().union(*known).intersection(*known)
    return next(
        (
            name
            for name in propositions_of(alphabet)
            if name in shared and sum(name in members_of(symbol) for symbol in alphabet) == len(symbols)
        ),
        None,
    )
