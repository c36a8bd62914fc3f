"""Certificates: what `hardsim.verify` needs to check a proof again, written down.

The checker takes nothing from here on trust: what each coordinate and head is claimed to stand for is only a hint that
it verifies from the weights. The bounds of the heads are the checker's own numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from hardsim.checking.subject import Subject, own_predicates
from hardsim.errors import Undecided
from hardsim.exact import Rejected, hold
from hardsim.lang.ast import UserPredicate
from hardsim.lang.core import And, AtLeast, Core, CountOf, Edge, Letters, Lit, Node, Numeric, Reach, Step, Xor
from hardsim.lang.desugar import desugar
from hardsim.lang.pretty import format_file
from hardsim.net.model import AttentionHead, Matrix, Transformer
from hardsim.run.plan import make_plan
from hardsim.sections import CLAIM, FORMAT, SCHEMA_VERSION
from hardsim.spec.columns import PositionFunction, PredicateColumn
from hardsim.spec.ir import ONE, Affine, HardProgram, Head, Kind, Mask, Rational, Weighting
from hardsim.spec.lower import node_coordinates
from hardsim.spec.refuse import Method
from hardsim.spec.regimes import PARITY, regime_named
from hardsim.verify import Checker, digests, rejection
from hardsim.version import __version__
from hardsim.visible import visible_json

SIDES = {Mask.FUTURE: "L", Mask.PAST: "R", Mask.NONE: ""}
METHODS: dict[str, Method] = {"lookup": "lookup", "sign": "sign"}
HALF = Fraction(1, 2)
SPELLINGS = {"≤": "<=", "≥": ">=", "≠": "!=", r"\bdiv\b": "//", r"\bmod\b": "%", "(?<![<>=!])=(?!=)": "=="}

Literal = list[Any]
"""`[node, negated]`."""


def certificate(subject: Subject, max_n: int, min_n: int = 1) -> dict[str, Any]:
    """The certificate of a subject that was proved for words of length `min_n` to `max_n`, checked.

    Raises:
        Undecided: if the checker does not accept it; it knows fewer constructions than the prover.
    """
    core = desugar(subject.file)
    try:
        claims = _Claims(subject, core)
        document: dict[str, Any] = {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "claim": CLAIM,
            "min_n": min_n,
            "max_n": max_n,
            "labels": {
                "version": __version__,
                "source": {"name": subject.name, "sha256": subject.sha256, "text": format_file(subject.file)},
                "formula": subject.formula,
                "at": subject.file.at,
                "regime": subject.program.regime,
                "beta": str(subject.budget.beta),
            },
            "formula": formula_json(core, claims.nodes),
            "model": network_json(subject.model, claims.users),
            "meaning": {"coordinates": claims.coordinates, "heads": claims.heads},
        }
        reason = rejection(lambda: document.update(bounds=Checker(document).bounds))
    except Rejected as error:
        reason = str(error)
    if reason is not None:
        raise Undecided(f"{subject.name}: proved, but there is no certificate: the checker does not follow ({reason})")
    document["digests"] = digests(document)
    return document


def certificate_text(document: Mapping[str, Any]) -> str:
    """A certificate as JSON."""
    return visible_json(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


# ---- the formula ----


def formula_json(core: Core, nodes: list[list[Any]]) -> dict[str, Any]:
    """A formula as the table of its nodes, in primitive operators."""
    return {"alphabet": list(core.alphabet), "nodes": nodes, "root": [core.root.node, core.root.negated]}


def core_nodes(core: Core, users: Mapping[str, UserPredicate]) -> list[list[Any]]:
    """The nodes of a core as a certificate has them."""
    true = core.nodes.index(Letters(frozenset(core.alphabet)))
    return [_node(node, true, users) for node in core.nodes]


def _node(node: Node, true: int, users: Mapping[str, UserPredicate]) -> list[Any]:
    def lit(of: Lit) -> Literal:
        return [of.node, of.negated]

    match node:
        case Letters(symbols):
            return ["letters", [], *sorted(symbols)]
        case Edge(which):
            return ["at least", [[true, False]], [[-1, "L" if which == "first" else "R"]], 1]
        case And(args):
            return ["and", [lit(arg) for arg in args]]
        case Xor(left, right):
            return ["xor", [[left, False], [right, False]]]
        case Step(op, arg):
            return [op, [lit(arg)]]
        case Reach(op, left, right, _):
            return [op, [lit(left), lit(right)]]
        case AtLeast(terms, constant):
            return [
                "at least",
                [lit(count.arg) for _, count in terms],
                [[k, count.side] for k, count in terms],
                constant,
            ]
        case Numeric(name, params, scale, CountOf(side, arg), offset):
            text = predicate_text(name, params, "x", users)
            return ["predicate", [lit(arg)], text, [[scale, side]], offset]
    raise AssertionError(node)


# ---- the network ----


def network_json(model: Transformer, users: Mapping[str, UserPredicate]) -> dict[str, Any]:
    """The network by coordinate names: rows of matrices without their zeros, pairs of hidden units as clips."""
    names, rows, layers = model.coordinates, model.embedding.rows(), []
    encoded = [names[k] for k, _ in model.encodings]
    hold(len(set(encoded)) == len(encoded), "a coordinate has several position encodings, which add up")
    embedding = {name: [str(row.get(k, 0)) for row in rows] for k, name in enumerate(names)}
    for own, layer in zip(make_plan(model).layers, model.layers, strict=True):
        clips: dict[str, list[Any]] = {names[k]: [str(bias), []] for k, bias in own.biases}
        for unit in own.units:
            if not unit.clip:
                raise Rejected("a hidden unit is no clip")
            for out, weight in unit.outs:
                row = {names[k]: str(value) for k, value in unit.form}
                clips.setdefault(names[out], ["0", []])[1].append([str(weight), str(unit.bias), row])
        layers.append({"heads": [_head_json(head, names) for head in layer.heads], "clips": clips})
    return {
        "alphabet": list(model.alphabet),
        "embedding": {name: values for name, values in embedding.items() if set(values) != {"0"}},
        "encodings": {names[k]: function_text(value, users) for k, value in model.encodings},
        "temperature": _python(model.temperature),
        "layers": layers,
        "output": names[model.output],
    }


def _head_json(head: AttentionHead, names: tuple[str, ...]) -> dict[str, Any]:
    def rows(matrix: Matrix) -> list[dict[str, str]]:
        return [{names[k]: str(value) for k, value in row.items()} for row in matrix.rows()]

    values = {names[k]: row for k, row in enumerate(rows(head.w_v)) if row}
    if len(values) != 1:
        raise Rejected(f"head {head.name} writes {len(values)} coordinates")
    ((out, value),) = values.items()
    return {
        "name": head.name,
        "mask": head.mask.value,
        "query": rows(head.w_q),
        "key": rows(head.w_k),
        "value": value,
        "out": out,
    }


def _python(function: object) -> str:
    """An expression as Python writes it."""
    return str(function).replace("^", "**").replace(" mod ", " % ")


def function_text(function: PositionFunction, users: Mapping[str, UserPredicate]) -> str:
    """A position encoding as an expression in i and n with Python's operators."""
    if not isinstance(function, PredicateColumn):
        return _python(function)
    text = f"{function.of_i}*i + {function.of_n}*n + {function.offset}"
    simple = (function.of_i, function.of_n, function.offset) == (1, 0, 0)
    return predicate_text(function.name, function.params, "i" if simple else f"({text})", users)


def predicate_text(name: str, params: tuple[int, ...], x: str, users: Mapping[str, UserPredicate]) -> str:
    """A numerical predicate of `x` as such an expression, in n too."""
    if name == "MOD":
        return f"({x} - {params[1]}) % {params[0]} == 0"
    if name not in users:
        return f"{name}({x})"
    text = users[name].text
    for pattern, spelling in SPELLINGS.items():
        text = re.sub(pattern, spelling, text)
    values = dict(zip(users[name].params, (x, "n"), strict=False))
    return re.sub(r"\b[^\W\d]\w*", lambda word: values.get(word[0], word[0]), text)


# ---- what everything stands for ----


@dataclass
class _Claims:
    """Nodes, and what coordinates and heads stand for, read from the specification and the lowering's names."""

    subject: Subject
    core: Core
    nodes: list[list[Any]] = field(default_factory=list)
    coordinates: dict[str, Literal] = field(default_factory=dict)
    heads: dict[str, dict[str, Any]] = field(default_factory=dict)
    means: dict[str, tuple[str, Literal]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        subject, program = self.subject, self.subject.program
        self.users = {item.name: item for item in subject.file.predicates}
        self.true = self.core.nodes.index(Letters(frozenset(self.core.alphabet)))
        self.nodes = core_nodes(self.core, self.users)
        regime, method = regime_named(program.regime), METHODS.get(subject.counting or "")
        named = node_coordinates(self.core, regime, method, own_predicates(subject.file))
        self.coordinates = {name: [number, False] for number, name in named.items() if name != ONE}
        if program.output not in self.coordinates:
            self.coordinates[program.output] = [self.core.root.node, self.core.root.negated]
        for letter in program.letters:
            self.coordinates[letter.name] = self._letters(letter.symbols)
        for layer in program.layers:
            for head in layer.heads:
                self._head(head, program)

    def _add(self, node: list[Any]) -> int:
        if node not in self.nodes:
            self.nodes.append(node)
        return self.nodes.index(node)

    def _letters(self, symbols: frozenset[str]) -> Literal:
        own, other = (["letters", [], *sorted(part)] for part in (symbols, frozenset(self.core.alphabet) - symbols))
        if other in self.nodes and own not in self.nodes:
            return [self.nodes.index(other), True]
        return [self._add(own), False]

    def literal(self, form: Affine) -> Literal | None:
        """The literal that a form is, if it is one."""
        terms: dict[str, Rational] = dict(form.terms)
        constant = terms.pop(ONE, 0)
        if not terms:
            return [self.true, constant == 0] if constant in (0, 1) else None
        ((name, factor), *others) = terms.items()
        if not others and name == PARITY and constant == HALF == abs(factor):
            even = self._add(["predicate", [[self.true, False]], "x % 2 == 0", [[1, "L"]], 0])
            return [even, factor < 0]
        if others or name not in self.coordinates or (constant, factor) not in ((0, 1), (1, -1)):
            return None
        node, negated = self.coordinates[name]
        return [node, negated != (factor < 0)]

    def _head(self, head: Head, program: HardProgram) -> None:
        what = self.literal(head.value)
        if head.kind is Kind.UNIFORM:
            if what is not None:
                self.heads[head.name] = {"kind": "mean", "what": what}
                self.means[head.out] = (SIDES[head.mask], what)
        elif head.kind is Kind.NEAREST:
            where = None if head.select is None else self.literal(head.select)
            backwards = head.weighting is Weighting.LEFTMOST
            self.heads[head.name] = {"kind": "nearest", "where": where, "what": what, "backwards": backwards}
            out = _reader(program, head)
            if out not in self.coordinates and where == what:
                # "Some": a Boolean that only counts need.
                self.coordinates[out] = [self._add(["at least", [what], [[1, SIDES[head.mask]]], -1]), False]
        elif head.kind in (Kind.LOOKUP, Kind.TABLE):
            side, lit = self.means[head.score[0][0].terms[0][0]]
            some = self._add(["at least", [lit], [[1, side]], -1])
            kind = "number" if head.kind is Kind.LOOKUP else "table"
            self.heads[head.name] = {"kind": kind, "count": [[lit], [[1, side]]], "some": [some, False]}
        else:
            self.heads[head.name] = {"kind": "sign", "what": [self.coordinates[_reader(program, head)][0], False]}


def _reader(program: HardProgram, head: Head) -> str:
    """The coordinate that the first clip that reads a head writes."""
    for layer in program.layers:
        for clip in layer.clips:
            if head.out in dict(clip.pre.terms):
                return clip.out
    raise Rejected(f"nothing reads what head {head.name} writes")
