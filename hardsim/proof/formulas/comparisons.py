"""Which part of a formula a coordinate of a network of means is the truth of: comparisons of counts in a form of their
own, and tables of truths.

A comparison is written `sum of a #[node] >= bound` with coprime integers a. Two comparisons are equal if they are
written alike. A truth that depends on comparisons and literals is compared with every node of the core, for all choices
of the symbol and of the comparisons that decide the literals, also those that no word has. If these choices are too
many, the literals are chosen freely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor, gcd, lcm
from typing import TypeAlias

from hardsim.lang.ast import BOS
from hardsim.lang.core import And, AtLeast, Core, Edge, Letters, Lit, Reach, Xor
from hardsim.lang.desugar import with_listed_sets
from hardsim.lang.valuations import everything
from hardsim.network.numbers import ONE, Mask
from hardsim.network.transformer import AttentionHead, Transformer
from hardsim.program.hard_attention import Program
from hardsim.proof.shared.result import HeadProof, LinkProof, NotProved, Proof

MEANS = "every head takes the mean that its specification states, which softmax computes exactly"
MOST_CHOICES = 2**12
"""Greatest number of choices of the literals that the hidden units of one coordinate read: all are tried."""
Compared: TypeAlias = tuple[str, tuple[tuple[int | None, int], ...], int]
"""A comparison `sum of coefficient * #[node] >= bound` of counts of a side, with coprime coefficients, the first one
positive; None stands for all positions."""


def divisor(values: Iterable[Fraction]) -> Fraction:
    """Return the greatest common divisor of rationals; 0 of none."""
    some = list(values)
    over = lcm(*(value.denominator for value in some)) if some else 1
    return Fraction(gcd(*(int(value * over) for value in some)), over)


def canonical(
    side: str, counts: Mapping[int | None, Fraction], start: Fraction, strict: bool = True
) -> tuple[Compared, bool]:
    """Return `sum of counts + start > 0`, or `>= 0` unless `strict`, as a comparison and a polarity. Some count has a
    coefficient other than 0."""
    step = divisor(counts.values())
    ordered = sorted(counts.items(), key=lambda item: -1 if item[0] is None else item[0])
    positive = ordered[0][1] > 0
    whole = tuple((node, int(value / step) * (1 if positive else -1)) for node, value in ordered)
    # step Z + start > 0 iff Z > -start/step iff Z >= floor(-start/step) + 1; -Z' the same iff not Z' >= 1 - that.
    bound = floor(-start / step) + 1 if strict else ceil(-start / step)
    return ((side, whole, bound), True) if positive else ((side, whole, 1 - bound), False)


def representatives(core: Core) -> tuple[dict[int, Lit], dict[int, tuple[Compared, bool]]]:
    """Return, for each node that is equal to an earlier node or to the negation of one, that literal: sets of symbols
    with their complements, and comparisons; and the comparison, with its polarity, of each node that is one."""
    letters, seen = dict[frozenset[str], Lit](), dict[Compared, tuple[int, bool]]()
    same, compared = dict[int, Lit](), dict[int, tuple[Compared, bool]]()
    true = core.nodes.index(Letters(everything(core.alphabet)))
    for number in core.live:
        node = core.nodes[number]
        if isinstance(node, Letters) and isinstance(node.symbols, frozenset):
            if node.symbols in letters:
                same[number] = letters[node.symbols]
            letters[frozenset(core.alphabet) - node.symbols] = Lit(number, True)
        found = comparison_of(core, number, same)
        if isinstance(found, bool):
            same[number] = Lit(true, not found)
        elif found is not None:
            compared[number] = found
            first, polarity = seen.setdefault(found[0], (number, found[1]))
            if first != number:
                same[number] = Lit(first, polarity != found[1])
    return same, compared


def comparison_of(core: Core, number: int, same: Mapping[int, Lit]) -> tuple[Compared, bool] | bool | None:
    """Return the comparison of counts that a node is, with its polarity; its truth, if the counts cancel; None if it is
    no comparison, or one of several kinds. `same` are the literals that stand for others."""
    node, counts = core.nodes[number], dict[int | None, Fraction]()

    def add(lit: Lit, value: int) -> None:
        lit = standing(lit, same)
        every = core.nodes[lit.node] == Letters(everything(core.alphabet))
        where = None if every else lit.node
        if not lit.negated:
            counts[where] = counts.get(where, Fraction(0)) + value
        elif not every:
            counts[None] = counts.get(None, Fraction(0)) + value
            counts[where] = counts.get(where, Fraction(0)) - value

    side, constant = "L", 0
    match node:
        case AtLeast(terms, constant):
            sides = {count.side for _, count in terms}
            if len(sides) != 1:
                return None
            (side,) = sides
            for value, count in terms:
                add(count.arg, value)
        case Reach("S", Lit(left, False), right) if core.nodes[left] == Letters(everything(core.alphabet)):
            constant = -1
            add(right, 1)
        case Edge("first"):
            counts[None], constant = Fraction(-1), 1
        case _:
            return None
    kept = {where: value for where, value in counts.items() if value}
    return canonical(side, kept, constant + Fraction(1, 2)) if kept else constant >= 0


def standing(lit: Lit, same: Mapping[int, Lit]) -> Lit:
    """Return the literal that stands for one."""
    while lit.node in same:
        found = same[lit.node]
        lit = Lit(found.node, found.negated != lit.negated)
    return lit


def side_of(head: AttentionHead) -> str:
    """Return the side that a mean is taken over. Raises NotProved for a head that is no mean."""
    if head.scores or head.mask not in (Mask.FUTURE, Mask.NONE):
        raise NotProved("it is no mean of all positions, or of those up to its own", head.name)
    return "L" if head.mask is Mask.FUTURE else ""


def require_specified(model: Transformer, program: Program) -> None:
    """Raise NotProved unless the matrices are those that the specification states, name by name."""
    index = {name: number for number, name in enumerate(model.coordinates)}

    def terms(form: Iterable[tuple[str, Fraction | int]], biased: bool = False) -> dict[int, Fraction]:
        return {index[name]: Fraction(value) for name, value in form if name != ONE or not biased}

    read = (
        model.coordinates,
        model.rounding,
        model.bos,
        model.threshold,
        model.reading,
        model.output,
        len(model.layers),
    )
    stated = (
        program.coordinates,
        program.rounding,
        program.bos,
        program.threshold,
        program.reading,
        index.get(program.output),
    )
    if read != (*stated, len(program.layers)) or model.encodings or program.encodings:
        raise NotProved("the network differs from its specification in what it reads or where it answers")
    rows = (*model.alphabet, BOS)
    embedded = {(rows[row], column): Fraction(value) for row, column, value in model.embedding.entries}
    named = [(one, one.symbols) for one in program.letters if isinstance(one.symbols, frozenset)]
    letters = {(symbol, index[one.name]): Fraction(one.value) for one, some in named for symbol in some}
    letters |= {(row, index[ONE]): Fraction(1) for row in rows if ONE in index}
    if embedded != letters:
        raise NotProved("the network differs from its specification in the embedding")
    for layer, own in zip(model.layers, program.layers, strict=True):
        for head in layer.heads:
            if head.scores:
                raise NotProved(f"head {head.name} has scores; with norms or rounding only means are proved", head.name)
        heads = [(one.name, one.mask, {out: dict(form) for out, form in one.values}) for one in layer.heads]
        means = [(one.name, one.mask, {index[out]: terms(form.terms) for out, form in one.values}) for one in own.heads]
        if any(one.cap or one.cap_bias != 1 for one in layer.ffn.units) or any(one.cap for one in own.units):
            raise NotProved("a clip has another cap than 1")
        units = [(dict(one.form), one.bias, dict(one.outs), one.clip) for one in layer.ffn.units]
        forms = [
            (terms(one.pre.terms, biased=True), dict(one.pre.terms).get(ONE, 0), terms(one.outs), one.clip)
            for one in own.units
        ]
        rest = (dict(layer.ffn.biases), layer.norm_1, layer.norm_2)
        if heads != means or units != forms or rest != (terms(own.biases), own.norm_1, own.norm_2):
            raise NotProved("a layer of the network differs from its specification")


def link_of(claim: str, argue: Callable[[], None]) -> LinkProof:
    """Return the proof of a claim, which `argue` raises NotProved against."""
    try:
        argue()
    except NotProved as failure:
        return LinkProof(claim, failure.reason, failure.head)
    return LinkProof(claim)


def proof_of_means(model: Transformer, program: Program, span: tuple[int, int], meaning: LinkProof | None) -> Proof:
    """Return the proof of a network of means: that its heads take the means of the specification, and `meaning`, that
    it computes the formula (None: there is none). `span` are the lengths that the result names."""
    heads = tuple(
        HeadProof(head.name, number, head.purpose, True, None)
        for number, layer in enumerate(program.layers, start=1)
        for head in layer.heads
    )
    return Proof(link_of(MEANS, lambda: require_specified(model, program)), meaning, heads, span=span)


class Truths:
    """The nodes of a core as a proof knows them: `same` are the literals that stand for equal nodes, `compared` the
    comparisons, and `found` what the present layer adds to `same`."""

    def __init__(self, model: Transformer, core: Core) -> None:
        self.model, self.core = model, with_listed_sets(core)
        self.same, self.compared = representatives(self.core)
        self.true = self.core.nodes.index(Letters(everything(self.core.alphabet)))
        self.found: dict[int, Lit] = {}

    def learn(self) -> None:
        """Take what a layer has added into account: comparisons of the next layers count the nodes that stand for
        others."""
        self.same |= self.found
        known = {number: comparison_of(self.core, number, self.same) for number in self.compared}
        self.compared = {number: found for number, found in known.items() if isinstance(found, tuple)}
        constants = {number: Lit(self.true, not found) for number, found in known.items() if found in (True, False)}
        self.same |= {number: lit for number, lit in constants.items() if number != self.true}

    def is_root(self, found: Lit | bool) -> bool:
        """Return True if a literal or a constant is the truth of the formula."""
        root = standing(self.core.root, self.same)
        if self.core.nodes[root.node] == Letters(everything(self.core.alphabet)):
            return found is not root.negated if isinstance(found, bool) else False
        return found == root

    def sets(self) -> dict[frozenset[str], Lit]:
        """Return, by set of symbols, the literal that is true at these symbols."""
        nodes = {number: self.core.nodes[number] for number in self.core.live}
        own = {k: node.symbols for k, node in nodes.items() if isinstance(node, Letters) and k not in self.same}
        some = {number: symbols for number, symbols in own.items() if isinstance(symbols, frozenset)}
        letters = {frozenset(self.model.alphabet).difference(held): Lit(k, True) for k, held in some.items()}
        return letters | {held: Lit(k) for k, held in some.items()}

    def name(self, place: int) -> str:
        """Return the name of a coordinate."""
        return self.model.coordinates[place]

    def choices(self, place: int, lits: Sequence[Lit]) -> Iterator[tuple[dict[int, bool], dict[Lit, bool]]]:
        """Yield truths of nodes, and those of literals that they decide: all that a word may have. The nodes are the
        sets of symbols, for each symbol, and the comparisons below the literals; or the literals, if these are too
        many."""
        letters = {
            number: node.symbols
            for number, node in enumerate(self.core.nodes)
            if isinstance(node, Letters) and isinstance(node.symbols, frozenset)
        }
        below = sorted({node for lit in lits for node in self._below(lit.node)} - {*letters})
        if len(self.model.alphabet) * 2 ** len(below) <= MOST_CHOICES:
            for symbol in self.model.alphabet:
                sets = {number: symbol in some for number, some in letters.items()}
                for choice in product((False, True), repeat=len(below)):
                    held = sets | dict(zip(below, choice, strict=True))
                    truths = {lit: self._truth(lit.node, held, {}) for lit in lits}
                    yield held, {lit: truth for lit, truth in truths.items() if truth is not None}
            return
        if 2 ** len(lits) > MOST_CHOICES:
            raise NotProved(f"{self.name(place)} depends on {len(lits)} literals, which have too many choices")
        for choice in product((False, True), repeat=len(lits)):
            yield dict(zip((lit.node for lit in lits), choice, strict=True)), dict(zip(lits, choice, strict=True))

    def _below(self, number: int) -> Iterator[int]:
        """Yield the nodes below a Boolean combination that are none themselves."""
        node = self.core.nodes[number]
        if number in self.same:
            yield from self._below(self.same[number].node)
        elif isinstance(node, And):
            for lit in node.args:
                yield from self._below(lit.node)
        elif isinstance(node, Xor):
            yield from self._below(node.left)
            yield from self._below(node.right)
        else:
            yield number

    def identified(
        self, place: int, table: Sequence[tuple[Mapping[int, bool], Mapping[Compared, bool], bool]]
    ) -> Lit | bool:
        """Return the literal of which a table has the truth, or a constant. A row of the table has truths of nodes,
        those of comparisons, and the truth of the coordinate. Raises NotProved if it is no node of the core."""
        equal: list[Lit] = []
        for number in self.core.live:
            if number not in self.same:
                differ: set[bool | None] = set()
                for held, atoms, value in table:
                    truth = self._truth(number, held, atoms)
                    differ.add(None if truth is None else truth != value)
                    if len(differ) > 1 or None in differ:
                        break
                if len(differ) == 1 and None not in differ:
                    equal.append(Lit(number, bool(differ.pop())))
        values = {value for *_, value in table}
        constant = next(iter(values)) if len(values) == 1 else None
        if not equal and constant is None:
            raise NotProved(f"coordinate {self.name(place)} was not shown to be the truth of any part of the formula")
        # Of equal nodes the first stands for all; for a constant, the node "true".
        first = equal[0] if constant is None else Lit(self.true, not constant)
        for lit in equal:
            if lit.node != first.node:
                self.found[lit.node] = Lit(first.node, first.negated != lit.negated)
        return first if constant is None else constant

    def _truth(self, number: int, held: Mapping[int, bool], atoms: Mapping[Compared, bool]) -> bool | None:
        """Return the truth of a node, given that of some nodes and of some comparisons; None if these do not decide
        it."""
        if number in held:
            return held[number]
        if number in self.same:
            lit = self.same[number]
            found = self._truth(lit.node, held, atoms)
            return None if found is None else found != lit.negated
        own = self.compared.get(number)
        if own is not None:
            return atoms[own[0]] == own[1] if own[0] in atoms else None
        node = self.core.nodes[number]
        match node:
            case And(args):
                parts = [self._truth(lit.node, held, atoms) for lit in args]
                if None in parts:
                    return None
                return all(part != lit.negated for part, lit in zip(parts, args, strict=True))
            case Xor(left, right):
                one, other = (self._truth(part, held, atoms) for part in (left, right))
                return None if one is None or other is None else one != other
        return None
