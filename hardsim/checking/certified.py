"""What a certificate is about, compared with files: a formula, and a compiled network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hardsim.checking.certificate import core_nodes, formula_json, network_json
from hardsim.checking.subject import Subject, own_predicates
from hardsim.errors import HardsimError
from hardsim.exact import Rejected, hold
from hardsim.lang import parse
from hardsim.lang.ast import FormulaFile
from hardsim.lang.desugar import desugar
from hardsim.lang.pretty import format_file

LINE = "\n"
LONGEST_TEXT = 1 << 20
"""Characters of the formula's text in a certificate."""


def check_labels(document: Mapping[str, Any]) -> None:
    """Hold that the formula that a certificate cites as its source is the one that it is about.

    Raises:
        Rejected: saying where they differ.
    """
    labels = document["labels"]
    text = labels["source"]["text"]
    hold(len(text) <= LONGEST_TEXT, f"too large: labels.source.text has {len(text)} characters")
    try:
        file = parse.parse_text(text, "labels.source.text")
        check_formula(document, file, "labels.source.text")
        # The formula is the last line of a file as it is written; the label may have brackets that are not needed.
        own = f"{format_file(file).rstrip().rpartition(LINE)[0]}{LINE}{labels['formula']}"
        same = LINE not in labels["formula"] and parse.parse_text(own, "labels.formula").formula == file.formula
    except HardsimError:
        raise Rejected("labels.source.text: it is no formula that can be read") from None
    hold(labels["at"] == file.at, "labels.at: it is not that of labels.source.text")
    hold(same, "labels.formula: it is not that of labels.source.text")


def check_formula(document: Mapping[str, Any], file: FormulaFile, name: str) -> None:
    """Hold that a certificate is about the formula of a file, read at the file's own position.

    Raises:
        Rejected: with the first place of difference; `name` is what it calls the file.
        InputError: if the formula has no core.
    """
    own_predicates(file)
    core = desugar(file)
    wanted = formula_json(core, core_nodes(core, {item.name: item for item in file.predicates}))
    found = document["formula"]
    same = set(found["alphabet"]) == set(wanted["alphabet"])
    hold(same, f"formula.alphabet: it is not that of {name}, {' '.join(wanted['alphabet'])}")
    table: dict[Any, int] = {}
    own, other = _shapes(found["nodes"], table), _shapes(wanted["nodes"], table)
    (k, negated), (j, otherwise) = found["root"], wanted["root"]
    while own[k] != other[j]:
        (op, args, *rest), (op_there, args_there, *rest_there) = found["nodes"][k], wanted["nodes"][j]
        pairs = [(a, b) for a, b in zip(args, args_there, strict=False) if _shape(own, a) != _shape(other, b)]
        alike = _rest(op, rest) == _rest(op_there, rest_there) and len(args) == len(args_there) and pairs
        if not (alike and pairs[0][0][1] == pairs[0][1][1]):
            there = json.dumps(wanted["nodes"][j], ensure_ascii=False)
            raise Rejected(f"formula.nodes[{k}]: it is not the formula of {name}, which has node {j} here: {there}")
        ((k, _), (j, _)), *_ = pairs
    hold(negated == otherwise, f"formula.root: it is negated, but not in {name}, or the other way round")


def _rest(op: str, rest: list[Any]) -> Any:
    return op, frozenset(rest) if op == "letters" else json.dumps(rest)


def _shape(shapes: list[int], lit: list[Any]) -> tuple[int, bool]:
    return shapes[lit[0]], lit[1]


def _shapes(nodes: list[list[Any]], table: dict[Any, int]) -> list[int]:
    """A number for each node: equal formulas, in whatever table, have equal numbers."""
    shapes: list[int] = []
    for op, args, *rest in nodes:
        key = (_rest(op, rest), *(_shape(shapes, lit) for lit in args))
        shapes.append(table.setdefault(key, len(table)))
    return shapes


def check_model(document: Mapping[str, Any], subject: Subject, name: str) -> None:
    """Hold that a certificate is about the network of a compiled model.

    Raises:
        Rejected: with the first place of difference; `name` is what it calls the model.
    """
    users = {item.name: item for item in subject.file.predicates}
    found = difference(document["model"], network_json(subject.model, users), "model")
    hold(found is None, f"{found}: it is not what {name} has")


def difference(found: Any, wanted: Any, place: str) -> str | None:
    """The first place where two JSON values differ; None if they are equal."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        steps = {f".{key}": (found.get(key), wanted.get(key)) for key in (*wanted, *found)}
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        steps = {f"[{k}]": pair for k, pair in enumerate(zip(found, wanted, strict=True))}
    else:
        return None if type(found) is type(wanted) and found == wanted else place
    return next((at for step, pair in steps.items() if (at := difference(*pair, place + step)) is not None), None)


# ---- the formula in words ----


def node_lines(formula: Mapping[str, Any], most: int) -> list[str]:
    """The nodes that the root depends on, one a line, the last `most` of them."""
    nodes, (root, _) = formula["nodes"], formula["root"]
    wanted = {root}
    for k in range(root, -1, -1):
        if k in wanted:
            wanted |= {a for a, _ in nodes[k][1]}
    shown = sorted(wanted)[-most:]
    more = [f"... and {len(wanted) - len(shown)} more"] if len(wanted) > len(shown) else []
    return more + [f"{k}: {_node_text(nodes[k])}" for k in shown]


def literal_text(lit: list[Any]) -> str:
    """A node, or `!` and a node."""
    return f"{'!' if lit[1] else ''}{lit[0]}"


def _node_text(node: list[Any]) -> str:
    op, args, *rest = node
    names = [literal_text(lit) for lit in args]
    if op == "letters":
        return f"letters {' '.join(rest)}".rstrip()
    if op in ("S", "U", "and", "xor"):
        return f" {op} ".join(names)
    if op in ("Y", "X"):
        return f"{op} {names[0]}"
    terms = [f"{a}*#{side}[{lit}]" for (a, side), lit in zip(rest[-2], names, strict=True)]
    total = " + ".join([*terms, str(rest[-1])])
    return f"{total} >= 0" if op == "at least" else f"({rest[0]}) at x = {total}"
