"""Certificates: proofs in JSON with everything that `hardsim.verify` needs to check them again.

The checker trusts nothing that is written here. The claimed meaning of each coordinate and head is only a hint, which
it verifies from the weights. The bounds of the heads are the checker's own numbers. This module also compares
certificates with files: with a formula, and with a compiled network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, assert_never

from hardsim.campaign.result import Length, numbers_text, span_text, verdict_summary
from hardsim.errors import HardsimError, Undecided
from hardsim.lang import ltl_parser
from hardsim.lang.arith import Arith, in_python
from hardsim.lang.ast import FormulaFile, UserPredicate
from hardsim.lang.core import And, AtLeast, Core, CountOf, Edge, Letters, Lit, Node, Numeric, Reach, Step, Xor
from hardsim.lang.desugar import desugar
from hardsim.lang.pretty import format_file, format_formula, format_head
from hardsim.lang.valuations import Alphabet, PropositionSymbols, Symbols, Valuations, everything, listing
from hardsim.network.columns import PositionFunction, PredicateColumn, column_text, predicate_text
from hardsim.network.numbers import ONE, Rational
from hardsim.network.transformer import AttentionHead, Matrix, Transformer
from hardsim.program.hard_attention import Affine, Head, Kind, Program, Weighting
from hardsim.program.regimes import PARITY
from hardsim.proof.formulas.account import Account, account_of
from hardsim.proof.formulas.every_length import GeneralFacts
from hardsim.proof.formulas.facts import Facts, TooLarge
from hardsim.proof.formulas.network import sites_up_to
from hardsim.proof.formulas.sites import Classes
from hardsim.proof.shared.result import NotProved
from hardsim.records import Embedded, Record, one_of, written
from hardsim.targets.claims import HeadsClaim
from hardsim.targets.result import InputName
from hardsim.targets.subject import Subject, own_predicates
from hardsim.verify import checker_of, digests, rejection
from hardsim.verify.arithmetic import Rejected, require
from hardsim.verify.sections import CLAIM, EVERY_LENGTH, FORMAT, SCHEMA_VERSION, SIDES
from hardsim.version import __version__
from hardsim.visible import visible_json

HALF = Fraction(1, 2)

FORMULA = """{"type": "object", "required": ["nodes", "root"], "additionalProperties": false,
  "properties": {
  "alphabet": {"type": "array", "items": {"type": "string"}},
  "props": {"type": "array", "items": {"type": "string"}},
  "nodes": {"type": "array", "items": {"type": "array"}},
  "root": {"type": "array", "description": "A node, and whether it is negated."}}}"""
DIGESTS = """{"type": "object", "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}"""
"""JSON Schemas of parts of a certificate: the formula's table of nodes, and the SHA-256 of each part by name."""
Literal = list[Any]
"""A literal in JSON: `[node, negated]`."""


def certificate(subject: Subject, max_n: int | None, min_n: int = 1) -> dict[str, Any]:
    """Return the certificate of a subject that was proved for words of length `min_n` to `max_n` (None: of every
    length), after the checker has accepted it. For a hard-attention model it states that the network computes the
    formula that it was compiled from. Raises Undecided if the checker does not accept the certificate (it knows fewer
    constructions than the prover)."""
    claim = subject.prover()
    assert isinstance(claim, HeadsClaim)
    file = claim.formula
    core, users = desugar(file), own_predicates(file)
    if max_n is None:
        facts: Facts = GeneralFacts(Classes(), core.alphabet, users)
    else:
        facts = Facts(sites_up_to(subject.model, subject.program, max_n, core, min_n)[0], core.alphabet, users)

    def made() -> dict[str, Any]:
        claims = _Claims(claim, core, account_of(facts, subject.program, core))
        return {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "claim": EVERY_LENGTH if max_n is None else CLAIM,
            "min_n": min_n,
            "max_n": max_n,
            "labels": {
                "version": __version__,
                "source": {"name": subject.name, "sha256": subject.sha256, "text": format_file(file)},
                "formula": format_formula(file.formula),
                "at": file.at,
                "regime": subject.regime or "",
                "beta": str(subject.budget.beta),
            },
            "formula": claims.formula,
            "model": network_json(subject.model, claims.users),
            "meaning": {"coordinates": claims.coordinates, "heads": claims.heads},
        }

    # The checker's bounds become part of the certificate.
    return accepted(subject, made, lambda document: document.update(bounds=checker_of(document)(document).bounds))


def accepted(
    subject: Subject, make: Callable[[], dict[str, Any]], check: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    """Return a new certificate of a subject with its digests. The independent checker runs before a certificate is
    handed out: what it does not accept is never given out. Raises Undecided with the reason, if none can be made or the
    checker does not accept it."""
    try:
        document = make()
        reason = rejection(lambda: check(document))
    except (Rejected, NotProved, TooLarge) as error:
        reason = str(error)
    if reason is not None:
        raise Undecided(f"{subject.name}: proved, but no certificate: the checker cannot follow the proof ({reason})")
    return document | {"digests": digests(document)}


def certificate_text(document: Mapping[str, Any]) -> str:
    """Return a certificate as JSON text."""
    return visible_json(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


def lengths_of(document: Mapping[str, Any]) -> list[list[int | None]]:
    """Return the lengths that a certificate covers, as runs `[first, last]`; the last run is `[first, null]` if it has
    no end."""
    if "lengths" not in document:
        return [[document["min_n"], document["max_n"]]]
    start, runs = document["start"], list[list[int | None]]()
    for n in document["lengths"]:
        if start is not None and n >= start:
            break
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    if start is not None:
        # Single lengths that reach up to `start` join the last run, which has no end.
        runs.append([runs.pop()[0] if runs and runs[-1][1] == start - 1 else start, None])
    return runs


def span_of(runs: Sequence[Sequence[int | None]]) -> str:
    """Return runs of lengths as text: `length 2 to 4, 6, and every one from 10 on`."""
    (first, last), *others = runs
    if last is None:
        return "every length" if first == 1 else f"every length from {first:,} on"
    parts = [span_text(first or 1, last)]
    for low, high in others:
        parts.append(f"and every one from {low:,} on" if high is None else numbers_text(low or 1, high))
    return ", ".join(parts)


# ---- the formula ----


@dataclass(frozen=True, slots=True, repr=False)
class Compared(Record):
    """Files that the certificate was compared with; null where no file was named, and nothing was compared."""

    formula: str | None
    """Name of the formula's file; null if none was named."""
    model: str | None
    """Name of the network's file; null if none was named."""


@dataclass(frozen=True, slots=True, repr=False)
class VerifyResult(Record):
    """Result for one certificate. The contents of an invalid certificate are not reported: null."""

    input: InputName
    verdict: Annotated[str, one_of("VALID", "INVALID")]
    """VALID if the proof is accepted, otherwise INVALID."""
    reason: str | None
    """Reason why the certificate is invalid; null if it is valid."""
    claim: str | None
    """Statement that the certificate proves."""
    min_n: Length | None
    """First length that the claim covers; for a program counted with padding."""
    max_n: Length | None
    """Last length such that the claim covers all lengths from `min_n` to it; null in a valid certificate if there is no
    end."""
    lengths: tuple[tuple[Length | None, ...], ...] | None
    """All lengths that the claim covers, as runs [first, last]; the last is null if the run has no end."""
    temperature: str | tuple[str, ...] | None
    """Temperature of the network: an expression in i and n, or one for each length of a program."""
    formula: Annotated[dict[str, Any], Embedded(FORMULA)] | None
    """Formula of the claim, as the certificate's table of nodes; null for a program or a model."""
    compared: Compared
    """Files that the certificate was compared with."""
    digests: Annotated[dict[str, str], Embedded(DIGESTS)] | None
    """SHA-256 of each part, in hexadecimal, by the name of the part."""

    @property
    def summary(self) -> str:
        """The line that names the verdict, the input, and the reason or the claim."""
        return verdict_summary(self.verdict, self.input, self.reason or self.claim or "")

    @property
    @written
    def valid(self) -> bool:
        """True if the certificate is valid."""
        return self.verdict == "VALID"


def formula_json(core: Core, users: Mapping[str, UserPredicate]) -> dict[str, Any]:
    """Return a formula as the table of its nodes, in primitive operators. Propositions may form any set, whatever
    constraints there are, which makes the claim stronger."""
    true = core.nodes.index(Letters(everything(core.alphabet)))
    nodes = [_node(node, true, users) for node in core.nodes]
    return {**alphabet_json(core.alphabet), "nodes": nodes, "root": [core.root.node, core.root.negated]}


def alphabet_json(alphabet: Alphabet) -> dict[str, list[str]]:
    """Return the propositions in JSON under "props", or the symbols under "alphabet"."""
    return {"props": list(alphabet.props)} if isinstance(alphabet, Valuations) else {"alphabet": list(alphabet)}


def letters_json(symbols: Symbols) -> list[Any]:
    """Return the node in JSON for a set of symbols: true, a proposition that holds, or a list of letters."""
    if isinstance(symbols, PropositionSymbols):
        return ["true", []] if symbols.name is None else ["holds", [], symbols.name]
    return ["letters", [], *sorted(symbols)]


def _node(node: Node, true: int, users: Mapping[str, UserPredicate]) -> list[Any]:
    def lits(*of: Lit) -> list[Literal]:
        return [[lit.node, lit.negated] for lit in of]

    match node:
        case Letters(symbols):
            return letters_json(symbols)
        case Edge(which):
            return ["at least", lits(Lit(true)), [[-1, "L" if which == "first" else "R"]], 1]
        case And(args):
            return ["and", lits(*args)]
        case Xor(left, right):
            return ["xor", lits(Lit(left), Lit(right))]
        case Step(op, arg):
            return [op, lits(arg)]
        case Reach(op, left, right, _):
            return [op, lits(left, right)]
        case AtLeast(terms, constant):
            counts = [[k, count.side] for k, count in terms]
            return ["at least", lits(*(count.arg for _, count in terms)), counts, constant]
        case Numeric(name, params, scale, CountOf(side, arg), offset):
            return ["predicate", lits(arg), predicate_text(name, params, "x", users), [[scale, side]], offset]
        case _:
            assert_never(node)


# ---- the network ----


def network_json(model: Transformer, users: Mapping[str, UserPredicate]) -> dict[str, Any]:
    """Return the network by names of coordinates: rows of matrices without their zeros; symbols as in
    `formula_json`."""
    names, layers = model.coordinates, []
    encoded = [names[k] for k, _ in model.encodings]
    require(
        len(set(encoded)) == len(encoded), "a coordinate has several position encodings, and a certificate states one"
    )
    for layer in model.layers:
        clips: dict[str, list[Any]] = {names[k]: [str(bias), []] for k, bias in layer.ffn.biases}
        for unit in layer.ffn.units:
            require(unit.clip, "a hidden unit is not a clip")
            for out, weight in unit.outs:
                row = {names[k]: str(value) for k, value in unit.form}
                clips.setdefault(names[out], ["0", []])[1].append([str(weight), str(unit.bias), row])
        layers.append({"heads": [_writing_once(head_json(head, names)) for head in layer.heads], "clips": clips})
    return {
        **alphabet_json(model.alphabet),
        "embedding": _embedding_json(model),
        "encodings": {names[k]: function_text(value, users) for k, value in model.encodings},
        "temperature": in_python(str(model.temperature)),
        "layers": layers,
        "output": names[model.output],
    }


def _embedding_json(model: Transformer) -> dict[str, Any]:
    """Return the embedding by names of coordinates, without those that are 0 throughout: the value for each symbol, or
    the multiples of propositions and (under the empty name) of 1."""
    names = enumerate(model.coordinates)
    if not isinstance(model.alphabet, Valuations):
        columns = {name: [str(value) for value in model.by_symbol(k)] for k, name in names}
        return {name: values for name, values in columns.items() if set(values) != {"0"}}
    rows = list(zip((*model.alphabet.props, ""), model.embedding.rows(), strict=True))
    multiples = {name: {prop: str(row[k]) for prop, row in rows if row.get(k)} for k, name in names}
    return {name: values for name, values in multiples.items() if values}


def head_json(head: AttentionHead, names: Sequence[str]) -> dict[str, Any]:
    """Return a head by names of coordinates, without zeros: the rows of W_Q, W_K and, by what they write, of W_V."""

    def rows(matrix: Matrix) -> list[dict[str, str]]:
        return [{names[k]: str(value) for k, value in row.items()} for row in matrix.rows()]

    values = {names[k]: row for k, row in enumerate(rows(head.w_v)) if row}
    own = {"name": head.name, "mask": head.mask.value, "query": rows(head.w_q), "key": rows(head.w_k)}
    return {**own, "values": values}


def _writing_once(head: dict[str, Any]) -> dict[str, Any]:
    values = head.pop("values")
    require(len(values) == 1, f"head {head['name']} writes {len(values)} coordinates")
    ((out, value),) = values.items()
    return {**head, "value": value, "out": out}


def function_text(function: PositionFunction, users: Mapping[str, UserPredicate]) -> str:
    """Return a position encoding as an expression in i and n with Python's operators."""
    if not isinstance(function, PredicateColumn):
        irrational = isinstance(function, Arith) and function.irrational
        require(not irrational, f"{function}: an encoding with log, sqrt or exp is not an exact number")
        return in_python(str(function))
    return column_text(function, users)


# ---- the meaning of coordinates and heads ----


class _Claims:
    """The claims of a certificate: its nodes, and the meaning of coordinates and heads in the prover's account of the
    program."""

    def __init__(self, claim: HeadsClaim, core: Core, account: Account) -> None:
        self.core = core
        program: Program = claim.target.program
        self.heads: dict[str, dict[str, Any]] = {}
        self.means: dict[str, tuple[str, Literal]] = {}
        self.users = {item.name: item for item in claim.formula.predicates}
        self.true = self.core.nodes.index(Letters(everything(self.core.alphabet)))
        self.formula = formula_json(self.core, self.users)
        self.nodes: list[list[Any]] = self.formula["nodes"]
        self.numbers = {json.dumps(node): number for number, node in reversed([*enumerate(self.nodes)])}
        # Reversed: of several clips that read a head, the first one names the coordinate.
        units = [unit for layer in program.layers for unit in layer.units]
        self.readers = {name: unit.out for unit in reversed(units) for name, _ in unit.pre.terms}
        names = [*(encoding.name for encoding in program.encodings), *(unit.out for unit in units)]
        found = {name: account.literal(name) for name in names if name != ONE}
        self.coordinates: dict[str, Literal] = {
            name: [lit.node, lit.negated] for name, lit in found.items() if lit is not None
        }
        self.coordinates |= {letter.name: self._letters(letter.symbols) for letter in program.letters}
        for head in program.heads:
            self._head(head)

    def _add(self, node: list[Any]) -> int:
        number: int = self.numbers.setdefault(json.dumps(node), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number

    def _letters(self, symbols: Symbols) -> Literal:
        if isinstance(symbols, PropositionSymbols):
            return [self._add(letters_json(symbols)), False]
        known = frozenset(listing(symbols, self.core.alphabet))
        # A node that exists for the other symbols is used again, negated, instead of a second node.
        own, other = (["letters", [], *sorted(part)] for part in (known, frozenset(self.core.alphabet) - known))
        if json.dumps(other) in self.numbers and json.dumps(own) not in self.numbers:
            return [self._add(other), True]
        return [self._add(own), False]

    def literal(self, form: Affine) -> Literal | None:
        """Return the literal that an affine form equals: 0 or 1, a test for even or odd positions, or a known
        coordinate or its complement. None for any other form."""
        terms: dict[str, Rational] = dict(form.terms)
        constant = terms.pop(ONE, 0)
        match list(terms.items()):
            case [] if constant in (0, 1):
                return [self.true, constant == 0]
            # (1 +- parity)/2 is 1 at the even positions or at the odd ones.
            case [(name, factor)] if name == PARITY and constant == HALF == abs(factor):
                even = self._add(["predicate", [[self.true, False]], "x % 2 == 0", [[1, "L"]], 0])
                return [even, factor < 0]
            case [(name, factor)] if name in self.coordinates and (constant, factor) in ((0, 1), (1, -1)):
                node, negated = self.coordinates[name]
                return [node, negated != (factor < 0)]
        return None

    def _head(self, head: Head) -> None:
        what = self.literal(head.value)
        if head.kind is Kind.UNIFORM:
            if what is not None:
                self.heads[head.name] = {"kind": "mean", "what": what}
                self.means[head.out] = (SIDES[head.mask], what)
        elif head.kind is Kind.NEAREST:
            where = None if head.select is None else self.literal(head.select)
            backwards = head.weighting is Weighting.LEFTMOST
            self.heads[head.name] = {"kind": "nearest", "where": where, "what": what, "backwards": backwards}
            out = self._reader(head)
            if out not in self.coordinates and where == what:
                # "Some": a Boolean that only counts need.
                self.coordinates[out] = [self._add(["at least", [what], [[1, SIDES[head.mask]]], -1]), False]
        elif head.kind in (Kind.LOOKUP, Kind.TABLE):
            side, lit = self.means[head.score[0][0].terms[0][0]]
            some = self._add(["at least", [lit], [[1, side]], -1])
            kind = "number" if head.kind is Kind.LOOKUP else "table"
            self.heads[head.name] = {"kind": kind, "count": [[lit], [[1, side]]], "some": [some, False]}
        else:
            self.heads[head.name] = {"kind": "sign", "what": [self.coordinates[self._reader(head)][0], False]}

    def _reader(self, head: Head) -> str:
        """Return the coordinate written by the first clip that reads a head."""
        require(head.out in self.readers, f"no hidden unit reads what head {head.name} writes")
        return self.readers[head.out]


# ---- comparison with files ----

LONGEST_TEXT = 1 << 20
"""Most characters of the formula's text in a certificate."""


def check_labels(document: Mapping[str, Any]) -> None:
    """Require that a certificate is about the formula that it cites as its source. Raises Rejected with the place where
    they differ."""
    labels = document["labels"]
    text = labels["source"]["text"]
    require(len(text) <= LONGEST_TEXT, f"too large: labels.source.text has {len(text)} characters")
    try:
        file = ltl_parser.parse_text(text, "labels.source.text")
        check_formula(document, file, "labels.source.text")
        # The formula is the last line of a file; the label may have brackets that are not needed.
        own = f"{format_head(file)}{labels['formula']}"
        same = "\n" not in labels["formula"] and ltl_parser.parse_text(own, "labels.formula").formula == file.formula
    except HardsimError:
        raise Rejected("labels.source.text: not a readable formula") from None
    require(labels["at"] == file.at, "labels.at: differs from labels.source.text")
    require(same, "labels.formula: differs from labels.source.text")


def check_formula(document: Mapping[str, Any], file: FormulaFile, name: str) -> None:
    """Require that a certificate is about the formula of a file, read at the file's own position. Raises Rejected with
    the first place of difference; `name` is the name of the file in the message; InputError if the formula has no
    core."""
    own_predicates(file)
    core = desugar(file)
    found = document["formula"]
    expected = formula_json(core, {item.name: item for item in file.predicates})
    for key in ("alphabet", "props"):
        same = set(found.get(key, [])) == set(expected.get(key, []))
        require(
            same, f"formula.{key}: differs from that of {name}, {' '.join(expected.get(key, [])) or 'which has none'}"
        )
    table: dict[Any, int] = {}
    own, other = _shapes(found["nodes"], table), _shapes(expected["nodes"], table)
    (k, negated), (j, otherwise) = found["root"], expected["root"]
    # Walk down to the deepest pair of nodes that differ: the message then names the place of the difference, not the
    # root.
    while own[k] != other[j]:
        (op, args, *rest), (op_there, args_there, *rest_there) = found["nodes"][k], expected["nodes"][j]
        pairs = [(a, b) for a, b in zip(args, args_there, strict=False) if _shape(own, a) != _shape(other, b)]
        alike = _rest(op, rest) == _rest(op_there, rest_there) and len(args) == len(args_there) and pairs
        if not (alike and pairs[0][0][1] == pairs[0][1][1]):
            there = json.dumps(expected["nodes"][j], ensure_ascii=False)
            raise Rejected(f"formula.nodes[{k}]: differs from the formula of {name}, whose node {j} is {there}")
        ((k, _), (j, _)), *_ = pairs
    require(negated == otherwise, f"formula.root: negated in only one of the certificate and {name}")


def _rest(op: str, rest: list[Any]) -> Any:
    return op, frozenset(rest) if op == "letters" else json.dumps(rest)


def _shape(shapes: list[int], lit: list[Any]) -> tuple[int, bool]:
    return shapes[lit[0]], lit[1]


def _shapes(nodes: list[list[Any]], table: dict[Any, int]) -> list[int]:
    """Return a number for each node: equal formulas have equal numbers, in every table that shares `table`."""
    shapes: list[int] = []
    for op, args, *rest in nodes:
        key = (_rest(op, rest), *(_shape(shapes, lit) for lit in args))
        shapes.append(table.setdefault(key, len(table)))
    return shapes


def check_model(document: Mapping[str, Any], subject: Subject, name: str) -> None:
    """Require that a certificate is about the network of a compiled or hard-attention model. Raises Rejected with the
    first place of difference; `name` is the name of the model in the message."""
    claim = subject.prover()
    if not isinstance(claim, HeadsClaim):
        raise Rejected("the certificate is about a formula, not about a program or a model")
    network = network_json(subject.model, {item.name: item for item in claim.formula.predicates})
    found = difference(document["model"], network, "model")
    require(found is None, f"{found}: differs from that of {name}")


def difference(found: Any, expected: Any, place: str) -> str | None:
    """Return the first place where two JSON values differ, as a path that begins with `place`; None if they are equal.
    1 and true differ."""
    if isinstance(found, dict) and isinstance(expected, dict):
        # Keys of both sides: an extra or a missing entry is a difference too.
        steps = {f".{key}": (found.get(key), expected.get(key)) for key in (*expected, *found)}
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        steps = {f"[{k}]": pair for k, pair in enumerate(zip(found, expected, strict=True))}
    else:
        return None if type(found) is type(expected) and found == expected else place
    return next((at for step, pair in steps.items() if (at := difference(*pair, place + step)) is not None), None)


# ---- the formula in words ----


def node_lines(formula: Mapping[str, Any], most: int) -> list[str]:
    """Return the nodes that the root depends on, itself included, one a line: the last `most` of them, after a line
    with the number of the others, if there are any."""
    nodes, (root, _) = formula["nodes"], formula["root"]
    expected = {root}
    for k in range(root, -1, -1):
        if k in expected:
            expected |= {a for a, _ in nodes[k][1]}
    shown = sorted(expected)[-most:]
    more = [f"... and {len(expected) - len(shown)} more"] if len(expected) > len(shown) else []
    return more + [f"{k}: {_node_text(nodes[k])}" for k in shown]


def literal_text(lit: list[Any]) -> str:
    """Return a literal as text: the number of a node, after `!` if negated."""
    return f"{'!' if lit[1] else ''}{lit[0]}"


def _node_text(node: list[Any]) -> str:
    op, args, *rest = node
    names = [literal_text(lit) for lit in args]
    if op in ("letters", "true", "holds"):
        return f"{op} {' '.join(rest)}".rstrip()
    if op in ("S", "U", "and", "xor"):
        return f" {op} ".join(names)
    if op in ("Y", "X"):
        return f"{op} {names[0]}"
    terms = [f"{a}*#{side}[{lit}]" for (a, side), lit in zip(rest[-2], names, strict=True)]
    total = " + ".join([*terms, str(rest[-1])])
    return f"{total} >= 0" if op == "at least" else f"({rest[0]}) at x = {total}"
