"""Formulas, terms and conditions of an instance: from Rocq's constructors to their meanings.

The constructors are those of the library's `Definitions`. Over words of length n, at position i:

    Yesterday f     i > 1 and f at i - 1         WeakYesterday f  i = 1 or f at i - 1
    Next f          i < n and f at i + 1         WeakNext f       i = n or f at i + 1
    Once, Historically, Eventually, Always       some or all j <= i, some or all j >= i
    Since f g       some j <= i with g at j and f at all k in (j, i];    Trigger is its dual
    Until f g       some j >= i with g at j and f at all k in [i, j);    Release is its dual
    WeakUntil f g   Always f or Until f g        StrongRelease f g   some j >= i with f at j and g at all k in [i, j]
    AtMost s t      s <= t                       Holds c t        the condition c, with X the value of t and Len n

Their operators in hardsim's syntax are `Y WY X WX O H F G S T U R W M`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from hardsim.verify.rocq.meanings import Meanings, NotStated
from hardsim.verify.rocq.text import RocqTree

Constructor: TypeAlias = tuple[str, Callable[..., int]]
"""The sorts of the arguments, in one text, and the function from a table and the arguments to a meaning."""


def _operator(op: str, sorts: str) -> Constructor:
    return sorts, lambda table, *parts: table.node(op, *parts)


def _count(side: str) -> Constructor:
    return "formula", lambda table, part: table.value("count", part, values=(side,))


FORMULAS: Mapping[str, Constructor] = {
    "Truth": ("bool", lambda table, value: table.truth(value)),
    "Atom": ("nat", lambda table, number: table.node("atom", values=(number,))),
    "First": _operator("first", ""),
    "Last": _operator("last", ""),
    "Holds": _operator("at", "condition term"),
    "Not": ("formula", lambda table, part: table.negation(part)),
    "And": _operator("&", "formula formula"),
    "Or": _operator("|", "formula formula"),
    "Xor": _operator("^", "formula formula"),
    "Implies": _operator("->", "formula formula"),
    "Equivalent": _operator("<->", "formula formula"),
    "Yesterday": _operator("Y", "formula"),
    "WeakYesterday": _operator("WY", "formula"),
    "Once": _operator("O", "formula"),
    "Historically": _operator("H", "formula"),
    "Since": _operator("S", "formula formula"),
    "Trigger": _operator("T", "formula formula"),
    "Next": _operator("X", "formula"),
    "WeakNext": _operator("WX", "formula"),
    "Eventually": _operator("F", "formula"),
    "Always": _operator("G", "formula"),
    "Until": _operator("U", "formula formula"),
    "Release": _operator("R", "formula formula"),
    "WeakUntil": _operator("W", "formula formula"),
    "StrongRelease": _operator("M", "formula formula"),
    "AtMost": ("term term", lambda table, one, other: table.at_least(other, one)),
    "Equal": ("term term", lambda table, one, other: table.equal(one, other)),
}
TERMS: Mapping[str, Constructor] = {
    "Constant": ("Z", lambda table, value: table.constant(value)),
    "Position": ("", lambda table: table.value("pos")),
    "Length": ("", lambda table: table.value("len")),
    "CountLeft": _count("L"),
    "CountRight": _count("R"),
    "CountAll": _count(""),
    "Plus": ("term term", lambda table, one, other: table.combine(one, 1, other)),
    "Times": ("Z term", lambda table, factor, term: table.combine(table.constant(0), factor, term)),
}
CONDITIONS: Mapping[str, Constructor] = {
    "Le": ("integer integer", lambda table, one, other: table.at_least(other, one)),
    "Eq": ("integer integer", lambda table, one, other: table.equal(one, other)),
    "Square": _operator("SQUARE", "integer"),
    "Prime": _operator("PRIME", "integer"),
    "PowerOf2": _operator("POW2", "integer"),
    "Both": _operator("and", "condition condition"),
    "Either": _operator("or", "condition condition"),
    "Negated": ("condition", lambda table, part: table.negation(part)),
}
INTEGERS: Mapping[str, Constructor] = {
    "X": ("", lambda table: table.value("x")),
    "Len": ("", lambda table: table.value("n")),
    "Const": ("Z", lambda table, value: table.constant(value)),
    "Add": ("integer integer", lambda table, one, other: table.combine(one, 1, other)),
    "Sub": ("integer integer", lambda table, one, other: table.combine(one, -1, other)),
    "Mul": ("integer integer", lambda table, one, other: table.product(one, other)),
    "Div": ("integer integer", lambda table, one, other: table.value("div", one, other)),
    "Mod": ("integer integer", lambda table, one, other: table.value("mod", one, other)),
}
SORTS: Mapping[str, Mapping[str, Constructor]] = {
    "formula": FORMULAS, "term": TERMS, "condition": CONDITIONS, "integer": INTEGERS,
}  # fmt: skip
"""The constructors of each sort."""


def literal(tree: RocqTree, sort: str) -> Any:
    """Return the value of a number or a truth value of sort nat, Z, Q or bool. Raises BadRocq."""
    kind = {"nat": "natural", "Z": "integer", "Q": "ratio", "bool": "name"}[sort]
    if tree.kind != kind or (sort == "bool" and tree.value not in ("true", "false")):
        example = {"nat": "0", "Z": "0%Z or (-1)%Z", "Q": "(1 # 2)", "bool": "true or false"}[sort]
        tree.refuse(f"this is not a value of type {sort}", example)
    return tree.value == "true" if sort == "bool" else tree.value


def constructor(tree: RocqTree, known: Sequence[str] | Mapping[str, object], sort: str) -> str:
    """Return the name of the constructor that a term applies, one of those that are known. Raises BadRocq."""
    if tree.kind not in ("name", "application") or tree.value not in known:
        tree.refuse(f"this is not a value of type {sort}", " ".join(known))
    return str(tree.value)


def meaning_of(tree: RocqTree, sort: str, table: Meanings, lets: Mapping[str, tuple[str, int]]) -> int:
    """Return the meaning of a term of a sort (formula, term, condition or integer). `lets` are the sorts and meanings
    of names that are defined before. Raises BadRocq for a term of another type, by a loop: terms may be deep."""
    waiting: list[tuple[RocqTree, str, bool]] = [(tree, sort, False)]
    found: list[Any] = []
    while waiting:
        one, kind, ready = waiting.pop()
        if kind not in SORTS:
            found.append(literal(one, kind))
            continue
        if one.kind == "name" and lets.get(str(one.value), ("",))[0] == kind:
            found.append(lets[str(one.value)][1])
            continue
        sorts, make = SORTS[kind][constructor(one, SORTS[kind], kind)]
        arguments = sorts.split()
        if len(one.parts) != len(arguments):
            one.refuse(f"{one.value} with {len(one.parts)} arguments", f"{one.value} {sorts}".rstrip())
        if not ready:
            waiting.append((one, kind, True))
            waiting += [(part, its, False) for part, its in reversed([*zip(one.parts, arguments, strict=True)])]
            continue
        values = found[len(found) - len(arguments) :]
        del found[len(found) - len(arguments) :]
        try:
            found.append(make(table, *values))
        except NotStated as error:
            one.refuse(str(error))
    (result,) = found
    return int(result)
