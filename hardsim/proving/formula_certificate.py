"""Certificates: proofs in JSON with everything that `hardsim.verify` needs to check them again.

The checker trusts nothing that is written here. The claimed meaning of each coordinate and head is only a hint, which
it verifies from the weights. The bounds of the heads are the checker's own numbers. This module also compares
certificates with files: with a formula, and with a compiled network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, assert_never

from hardsim.errors import Undecided
from hardsim.lang.arith import Arith, in_python
from hardsim.lang.ast import FormulaFile, UserPredicate
from hardsim.lang.core import (
    And,
    AtLeast,
    Core,
    CountOf,
    Edge,
    Letters,
    Lit,
    Node,
    Numeric,
    Reach,
    Step,
    Xor,
    positive_counts,
)
from hardsim.lang.desugar import desugar, with_listed_sets
from hardsim.lang.pretty import format_file, format_formula
from hardsim.lang.valuations import Alphabet, PropositionSymbols, Symbols, Valuations, everything, listing
from hardsim.network.columns import PositionFunction, PredicateColumn, column_text, predicate_text
from hardsim.network.numbers import ONE, Rational
from hardsim.network.transformer import AttentionHead, Layer, Matrix, SoftWeighting, Terms, Transformer
from hardsim.program.hard_attention import Affine, Head, Kind, Program, Weighting
from hardsim.program.regimes import PARITY
from hardsim.proof.formulas.account import account_of
from hardsim.proof.formulas.every_length import GeneralFacts
from hardsim.proof.formulas.facts import Facts, TooLarge
from hardsim.proof.formulas.network import sites_up_to
from hardsim.proof.formulas.sites import Classes
from hardsim.proof.shared.result import NotProved
from hardsim.targets.base import Target
from hardsim.targets.claims import HeadsClaim
from hardsim.targets.subject import Subject, own_predicates
from hardsim.verify import checker_of, digests, rejection
from hardsim.verify.arithmetic import Rejected, require
from hardsim.verify.normed import NORMED_CLAIM, NORMED_VERSION, NormedChecker
from hardsim.verify.rounded import ROUNDED_VERSION, RoundedChecker
from hardsim.verify.sections import CLAIM, EVERY_LENGTH, FORMAT, SCHEMA_VERSION, SIDES
from hardsim.version import __version__
from hardsim.visible import visible_json

HALF = Fraction(1, 2)

Literal = list[Any]
"""A literal in JSON: `[node, negated]`."""


def certificate(
    subject: Subject, max_n: int | None, min_n: int = 1, literals: Mapping[str, Lit] | None = None
) -> dict[str, Any]:
    """Return the certificate of a subject that was proved for words of length `min_n` to `max_n` (None: of every
    length), after the checker has accepted it. For a hard-attention model it states that the network computes the
    formula that it was compiled from. `literals` are those of the proof that the heads equal the formula; without them
    that is proved here. Raises Undecided if the checker does not accept the certificate (it knows fewer constructions
    than the prover)."""
    claim = subject.prover()
    assert isinstance(claim, HeadsClaim)
    file, network = claim.formula, subject.model

    def of_rounded() -> dict[str, Any]:
        return _certificate_of_means(subject, file, ROUNDED_VERSION, EVERY_LENGTH, rounded_network_json(network))

    def of_normed() -> dict[str, Any]:
        return _certificate_of_means(subject, file, NORMED_VERSION, NORMED_CLAIM, normed_network_json(network))

    if network.rounding is not None:
        return accepted(subject, of_rounded, RoundedChecker)
    if network.normed:
        return accepted(subject, of_normed, NormedChecker)

    def made() -> dict[str, Any]:
        formula, meaning, users = _formula_and_meaning(claim, max_n, min_n, literals)
        return {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "claim": EVERY_LENGTH if max_n is None else CLAIM,
            "min_n": min_n,
            "max_n": max_n,
            "labels": _labels(subject, file, subject.budget.beta),
            "formula": formula,
            "model": network_json(subject.model, users),
            "meaning": meaning,
        }

    # The checker's bounds become part of the certificate.
    return accepted(subject, made, lambda document: document.update(bounds=checker_of(document)(document).bounds))


def _labels(subject: Subject, file: FormulaFile, beta: Rational) -> dict[str, Any]:
    """Return what a certificate says of its origin, which the checker does not read."""
    return {
        "version": __version__,
        "source": {"name": subject.name, "sha256": subject.sha256, "text": format_file(file)},
        "formula": format_formula(file.formula),
        "at": file.at,
        "regime": subject.regime or "",
        "beta": str(beta),
    }


def _certificate_of_means(
    subject: Subject, file: FormulaFile, version: int, claim: str, model: dict[str, Any]
) -> dict[str, Any]:
    """Return the certificate of a network of means, which is about every length. It needs no hints."""
    return {
        "format": FORMAT,
        "schema_version": version,
        "claim": claim,
        "min_n": 1,
        "max_n": None,
        "labels": _labels(subject, file, 1),
        "formula": formula_json(with_listed_sets(desugar(file)), {}),
        "model": model,
    }


def rounded_network_json(model: Transformer) -> dict[str, Any]:
    """Return a network of means and rounded values by names of coordinates. Raises Rejected if it has other parts."""
    names, rounding = model.coordinates, model.rounding
    plain = model.bos and model.threshold is None and model.reading == "last" and rounding is not None
    require(plain, "the network has no beginning of sequence, a threshold, or no rounding")
    assert rounding is not None

    def named(terms: Terms) -> dict[str, str]:
        return {names[k]: str(value) for k, value in terms}

    layers = [
        {
            "heads": _means_json(layer, names),
            "units": [
                ["clip" if unit.clip else "relu", named(unit.form), str(unit.bias), named(unit.outs)]
                for unit in layer.ffn.units
            ],
            "biases": named(layer.ffn.biases),
        }
        for layer in model.layers
    ]
    return _network_of_means(model, layers) | {"rounding": [rounding.mode.value, rounding.bits]}


def _means_json(layer: Layer, names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": head.name,
            "mask": head.mask.value,
            "values": {names[out]: {names[k]: str(value) for k, value in form} for out, form in head.values},
        }
        for head in layer.heads
    ]


def _network_of_means(model: Transformer, layers: list[dict[str, Any]]) -> dict[str, Any]:
    table, names = model.embedding.dense(), model.coordinates
    return {
        **alphabet_json(model.alphabet),
        "coordinates": list(names),
        "embedding": {name: [str(row[k]) for row in table] for k, name in enumerate(names) if any(r[k] for r in table)},
        "temperature": in_python(str(model.temperature)),
        "layers": layers,
        "output": names[model.output],
    }


def normed_network_json(model: Transformer) -> dict[str, Any]:
    """Return a network of means and layer norms by names of coordinates. Raises Rejected if it has other parts."""
    names = model.coordinates
    plain = model.bos and model.threshold == 0 and model.reading == "last" and not model.encodings
    require(plain, "the network has position encodings, no beginning of sequence, or another threshold than 0")
    layers = []
    for layer in model.layers:
        fine = layer.norm_1 is None and layer.norm_2 is not None and not layer.ffn.biases
        units = layer.ffn.units
        require(fine and not any(unit.clip or unit.bias for unit in units), "a layer has biases, or other norms")
        require(not any(head.scores for head in layer.heads), "a head has scores")
        rows = [[{names[k]: str(value) for k, value in part} for part in (unit.form, unit.outs)] for unit in units]
        layers.append({"heads": _means_json(layer, names), "units": rows, "epsilon": str(layer.norm_2)})
    return _network_of_means(model, layers)


def formula_and_meaning(subject: Subject, literals: Mapping[str, Lit] | None = None) -> dict[str, dict[str, Any]]:
    """Return the parts `formula` and `meaning` of the certificate of a subject that was proved for every length, as
    hints for another checker: the certificate's own one has not accepted them. Raises Undecided if they cannot be
    written down."""
    claim = subject.prover()
    assert isinstance(claim, HeadsClaim)
    try:
        formula, meaning, _ = _formula_and_meaning(claim, None, 1, literals)
    except (Rejected, NotProved, TooLarge) as error:
        raise Undecided(f"{subject.name}: proved, but the proof cannot be written down ({error})") from None
    return {"formula": formula, "meaning": meaning}


def _formula_and_meaning(
    claim: HeadsClaim, max_n: int | None, min_n: int, literals: Mapping[str, Lit] | None
) -> tuple[dict[str, Any], dict[str, Any], Mapping[str, UserPredicate]]:
    """Return the formula's nodes and the meaning of coordinates and heads in JSON, and the user's predicates."""
    file, subject = claim.formula, claim.target
    core = desugar(file)
    if literals is None:
        users = own_predicates(file)
        if max_n is None:
            facts: Facts = GeneralFacts(Classes(), core.alphabet, users)
        else:
            facts = Facts(sites_up_to(subject.model, subject.program, max_n, core, min_n)[0], core.alphabet, users)
        literals = account_of(facts, subject.program, core).literals()
    claims = _Claims(claim, core, literals)
    return claims.formula, {"coordinates": claims.coordinates, "heads": claims.heads}, claims.users


def accepted(
    subject: Target, make: Callable[[], dict[str, Any]], check: Callable[[dict[str, Any]], object]
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


# ---- the formula ----


def formula_json(core: Core, users: Mapping[str, UserPredicate]) -> dict[str, Any]:
    """Return a formula as the table of its nodes, in primitive operators. Propositions may form any set, whatever
    constraints there are, which makes the claim stronger."""
    true = core.nodes.index(Letters(everything(core.alphabet)))
    positive = positive_counts(core)
    nodes = [_node(node, true, users, positive) for node in core.nodes]
    return {**alphabet_json(core.alphabet), "nodes": nodes, "root": [core.root.node, core.root.negated]}


def alphabet_json(alphabet: Alphabet) -> dict[str, list[str]]:
    """Return the propositions in JSON under "props", or the symbols under "alphabet"."""
    return {"props": list(alphabet.props)} if isinstance(alphabet, Valuations) else {"alphabet": list(alphabet)}


def letters_json(symbols: Symbols) -> list[Any]:
    """Return the node in JSON for a set of symbols: true, a proposition that holds, or a list of letters."""
    if isinstance(symbols, PropositionSymbols):
        return ["true", []] if symbols.name is None else ["holds", [], symbols.name]
    return ["letters", [], *sorted(symbols)]


def _node(node: Node, true: int, users: Mapping[str, UserPredicate], positive: Mapping[Reach, CountOf]) -> list[Any]:
    """Return a node in JSON; the nodes `positive` as counts of at least 1, since look-ups of these counts read their
    coordinates."""

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
            if node in positive:
                return ["at least", lits(right), [[1, positive[node].side]], -1]
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
                cap = [str(unit.cap_bias), {names[k]: str(value) for k, value in unit.cap}]
                cap = cap if unit.cap or unit.cap_bias != 1 else []
                clips.setdefault(names[out], ["0", []])[1].append([str(weight), str(unit.bias), row, *cap])
        layers.append({"heads": [_writing_once(head_json(head, names)) for head in layer.heads], "clips": clips})
    stated = {} if model.weighting is SoftWeighting.SOFTMAX else {"weighting": model.weighting.value}
    return {
        **stated,
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

    def __init__(self, claim: HeadsClaim, core: Core, literals: Mapping[str, Lit]) -> None:
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
        self.readers = {name: unit.out for unit in reversed(units) for name, _ in unit.reads}
        self.coordinates: dict[str, Literal] = {name: [lit.node, lit.negated] for name, lit in literals.items()}
        self.coordinates |= {letter.name: self._letters(letter.symbols) for letter in program.letters}
        for name in dict.fromkeys(unit.out for unit in units if unit.out not in self.coordinates):
            if found := re.fullmatch(r"and(\d+)\.but(\d+)", name):  # the other operands of a conjunction
                op, args, *_ = self.nodes[int(found[1])]
                self.coordinates[name] = [self._add([op, [lit for lit in args if lit[0] != int(found[2])]]), False]
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
            if out not in self.coordinates and where == what and not head.mask.strict:
                # "Some": a Boolean that only counts need.
                self.coordinates[out] = [self._add(["at least", [what], [[1, SIDES[head.mask]]], -1]), False]
        elif head.kind in (Kind.LOOKUP, Kind.TABLE):
            side, lit = self.means[head.score[0][0].terms[0][0]]
            some = self._add(["at least", [lit], [[1, side]], -1])
            kind = "number" if head.kind is Kind.LOOKUP else "table"
            self.heads[head.name] = {"kind": kind, "count": [[lit], [[1, side]]], "some": [some, False]}
        else:
            self.heads[head.name] = {"kind": "sign", "what": [self._tested(head), False]}

    def _tested(self, head: Head) -> int:
        """Return the comparison whose sign a head tests: the node with most of the counts and the constant of the
        head's query. Literals with the same truth may be different nodes, so that none of them is required; the node of
        the coordinate that reads the head, or a part of that conjunction, comes first."""
        query: dict[str, Rational] = dict(head.score[0][0].terms)
        counts = {json.dumps(self.means[name]): value for name, value in query.items() if name in self.means}
        constants = {value - HALF for name, value in query.items() if name not in self.means}
        parts = [self.coordinates[self._reader(head)][0]]
        for number in parts:  # which grows
            op, args, *_ = self.nodes[number]
            parts += [part for part, _ in args if op in ("and", "xor") and part not in parts]
        found = dict[int, float]()
        for number in dict.fromkeys([*parts, *range(len(self.nodes))]):
            op, args, *rest = self.nodes[number]
            if op == "at least":
                sums = [(json.dumps((side, lit)), value) for lit, (value, side) in zip(args, rest[0], strict=True)]
                alike = sum(counts.get(of) == value for of, value in sums) + (rest[1] in constants)
                found[number] = alike + (number in parts) / 2
        require(bool(found), f"the comparison that head {head.name} tests is not known")
        return max(found, key=lambda number: found[number])

    def _reader(self, head: Head) -> str:
        """Return the coordinate written by the first clip that reads a head."""
        require(head.out in self.readers, f"no hidden unit reads what head {head.name} writes")
        return self.readers[head.out]
