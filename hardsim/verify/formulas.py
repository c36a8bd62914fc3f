"""The checker of certificates of formulas, length by length. It shares no code with the compiler and the prover.

A certificate holds a softmax transformer (exact rationals), a formula as a table of nodes in a few primitive operators,
and the meaning of coordinates and heads. From the weights alone, length by length and layer by layer, the checker
computes the value of each coordinate at each position: an exact linear combination of 1, truths of nodes, counts, and
values read by heads. Each value read by a head has an error bound. It is the worst case over all words: every position
takes the worst local type that its nodes allow, for every position that can be the winner. Clips must turn every value
within the bounds into exactly the truth of the claimed node. `_lemma` proves that the value which a head should read is
that truth.

If all positions of a length have the same query, one bound is tried for all of them (`worst_of_all`), and one for each
position only if that does not suffice. If nothing depends on the length, the longest word stands for all
(`_looks_back`).

Under sparsemax a key whose logit is c = 1 or more below that of another key has no weight, and likewise with rounded
exponentials for the c of `exponentials`. There a bound is 0 if all keys with another value than the right one lose at
least c, and else as large as the values allow. Geometric attention has bounds of its own (`geometric`).

The bounds in the certificate must be exactly the ones computed here.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, product
from math import isqrt
from typing import Any

from hardsim.verify import geometric
from hardsim.verify.arithmetic import (
    FAR,
    GRID,
    Combination,
    Costs,
    Rejected,
    above,
    bits,
    combine,
    common,
    distance,
    exp_up_to,
    falls,
    most,
    require,
    sparse_distance,
    sparse_worst,
    too_large,
    words,
    worst,
    worst_of_all,
)
from hardsim.verify.expressions import Expression, evaluate, inverse_of
from hardsim.verify.sections import Claim

WIDE = 12
"""Most nodes whose truths are enumerated jointly. Beyond that, a conjunction counts as independent of its parts, which
only adds cases."""
LARGE = Fraction(2**40)
"""Largest |logit| to which logits are scaled down if e^x would be too large a number."""
LEAVES = ("letters", "holds")
"""Operators that depend on the symbol of the position alone."""
HeadClaim = dict[str, Any]
"""A claim about what a head computes, with numbers of nodes in place of their lists."""
STEP = 50
"""Steps charged for a bound of a head in geometric attention, and for each position that it sees."""
TOGETHER = 16
"""Most truths of nodes and heads that are enumerated at once; beyond that a certificate is rejected."""


class FormulaChecker(Claim, Costs):
    """The check of a certificate of a formula; the constructor raises Rejected unless it proves the claim for each
    length. `bounds` are the error bounds that it computes for the heads; they must be those in `claimed_bounds`, if
    these are given."""

    def __init__(self, document: dict[str, Any], claimed_bounds: dict[str, list[Any]] | None = None) -> None:
        super().__init__(document)
        Costs.__init__(self, self.size * sum(n * n for n in self.lengths), chain(*(row.values() for row in self.rows)))
        self.values: dict[tuple[Any, ...], Fraction] = {}
        self.bounds: dict[str, list[Any]] = {name: [] for heads, _ in self.layers for name, *_ in heads}
        self.cache: dict[Any, Any] = {}
        self.numbers: dict[str, Any] = {}
        self.together, self.joined, self.apart = True, False, False
        self.prove(claimed_bounds)

    def prove(self, claimed_bounds: dict[str, list[Any]] | None) -> None:
        """Prove the claim for one length after the other, or for the longest alone if nothing depends on the length."""
        prefix = self._looks_back()
        for done, n in enumerate(self.lengths[-1:] if prefix else self.lengths):
            self._compare(claimed_bounds)
            self.joined = False
            try:
                self._length(n)
            except Rejected:
                # The common bound of all positions is weaker than one for each: try those before rejecting.
                if not self.joined:
                    raise
                self.together = False  # with bounds for each position by itself
                self.cache = {}
                for rows in self.bounds.values():
                    del rows[done:]
                self._length(n)
            # In the longest word, position i stands for the end of a word of length i.
            for i in range(self.lengths[0] if prefix else n, n + 1):
                require(self._right(i), f"the output '{self.output}' is not the truth of formula.root at length {i}")
        self._compare(claimed_bounds, whole=True)

    def _looks_back(self) -> bool:
        """Return True if nothing depends on the length or on what follows a position. Then what holds at a position of
        a long word holds at the end of the prefix up to there."""
        live = {lit[0] for lit in (self.root, *self.claims.values())}
        heads = [head for heads, _ in self.layers for head in heads]
        live |= {part[0] for _, _, claim, *_ in heads for part in claim.values() if isinstance(part, tuple)}
        counts = [claim["count"] for _, _, claim, *_ in heads if "count" in claim]
        sides = {side for _, side, *_ in heads} | {side for _, ((_, side),) in counts}
        live |= {k for ((k, _),), _ in counts}
        # Operands stand before their node, so one pass from the end finds everything that the root depends on.
        for k in range(len(self.nodes) - 1, -1, -1):
            live |= {a for a, _ in self.lits[k]} if k in live else set()
        for k in live:
            op, _, *rest = self.nodes[k]
            seen = rest[-2] if op in ("at least", "predicate") else [[1, "R"]] if op in ("X", "U") else []
            sides |= {side for _, side in seen}
        message = [*self.texts.values(), self.temperature, *(self.conditions[k] for k in live if k in self.conditions)]
        return sides <= {"L"} and not any("n" in what.names for _, what in message)

    def _compare(self, claimed_bounds: dict[str, list[Any]] | None, whole: bool = False) -> None:
        """Require that the bounds in the certificate are the bounds computed so far, so that an error shows at the
        first length."""
        require(claimed_bounds is None or claimed_bounds.keys() == self.bounds.keys(), "bounds: each head needs a list")
        for name, rows in (claimed_bounds or {}).items():
            fine = self.bounds[name] == (rows if whole else rows[: len(self.bounds[name])])
            require(fine, f"bounds of head {name}: they differ from the bounds that follow from the weights")

    def value(self, text: str, what: Expression, **names: int) -> Fraction:
        """Return the value of an expression. A value that does not depend on the length is computed once."""
        if "n" in what.names:
            return evaluate(what, self.spend, n=self.n, **names)
        key = (text, *names.values())
        if key not in self.values:
            self.values[key] = evaluate(what, self.spend, **names)
        return self.values[key]

    def _length(self, n: int) -> None:
        self.n, self.places, self.heads, self.bits = n, range(1, n + 1), dict[str, Any](), list[list[int | None]]()
        # Caches hold for all lengths; they are emptied only if they are full.
        if self.release():
            self.cache, self.values = {}, {}
        self.keep(n * len(self.nodes))
        for k, node in enumerate(self.nodes):
            self.bits.append([self._bit(k, *node, i=i) for i in self.places])
        self.known = [tuple((k, bit) for k, column in enumerate(self.bits) if (bit := column[i - 1]) is not None)
                      for i in self.places]  # fmt: skip
        self._sharpen()
        self.unit = max(self.least, words(self.inverse))
        self._walk()

    def _sharpen(self) -> None:
        """Compute `inverse`, one over the temperature by position; the temperature must be positive.

        If the temperature is not rational, `inverse` is a rational lower bound of one over it, and `stretch` is 1 + d
        such that (1 + d) times that is an upper bound. A logit x (score over temperature) is then from x to (1 + d) x,
        and the factor is the same for all logits of the row. The error bounds take each weight from e^(least logit) to
        e^(largest logit); they hold for every choice of weights in these intervals, so for the actual ones.
        """
        what = self.temperature[1]
        self.inverse, self.stretch, found = list[Any](), list[Any](), None
        for i in self.places:
            if found is None or "i" in what.names:
                found = inverse_of(what, self.spend, n=self.n, i=i)
            require(found, f"model.temperature is not positive at length {self.n}")
            assert found is not None
            self.inverse.append(found[0])
            self.stretch.append(found[1])

    def _right(self, i: int) -> bool:
        """Return True if the output at a position is the truth of the root. A coordinate that nothing writes is 0."""
        off = combine((1, self.truth(self.root, i)), (-1, self.x[self.output][i - 1] if self.output in self.x else {}))
        nodes = tuple(sorted(off.keys() - {None}, key=str))
        if not off or not all(isinstance(k, int) for k in nodes):
            return not off
        rows = (dict(zip(nodes, message, strict=True)) | {None: 1} for message in self.possible(nodes, i))
        return not any(sum(a * row[k] for k, a in off.items()) for row in rows)

    def _walk(self) -> None:
        """Compute all coordinates, layer by layer."""
        self.x: dict[str, list[Combination]] = {}
        for k in (*self.embedding, *(self.texts.keys() - self.embedding.keys())):
            self._embed(k)
        for heads, clips in self.layers:
            self._write({out: self._head(*head) for *head, out in heads})
            self._write({k: [self._clips(k, i, *clip) for i in self.places] for k, clip in clips.items()})

    def _embed(self, k: str) -> None:
        """Compute what the embedding and the position encodings write to a coordinate."""
        # A coordinate that only an encoding writes has the embedding 0 for every symbol.
        values = self.embedding.get(k, [Fraction(0)])
        self.spend(len(self.places) * (1 + len(values)))
        added = [self._encoded(k, i) if k in self.texts else {} for i in self.places]
        if isinstance(values, dict):  # multiples of propositions, and of 1
            held = combine(*((a, {self.props[name]: 1} if name else {None: 1}) for name, a in values.items()))
            self._write({k: [combine((1, held), (1, more)) for more in added]})
            return
        self._write({k: [combine((values[0], {None: 1}), (1, more)) for more in added]})
        # From here on the coordinate is the truth of the claimed node: which symbols have 1 was compared.
        if len(set(values)) > 1:
            reason = f"meaning.coordinates: no claim about the coordinate '{k}', which depends on the word"
            require(k in self.claims, reason)
            (node, negated), self.x[k] = self.claims[k], [self.truth(self.claims[k], i) for i in self.places]
            message = [int((symbol in self.symbols[node]) != negated) for symbol in self.alphabet]
            fine = self.nodes[node][0] == "letters" and values == message and k not in self.texts
            require(fine, f"model.embedding: the coordinate '{k}' is not the truth of the claimed node")

    def _encoded(self, k: str, i: int) -> Combination:
        """Return the value of a position encoding at position i."""
        return {None: self.value(*self.texts[k], i=i)}

    def _write(self, columns: dict[str, list[Combination]]) -> None:
        """Add columns of coordinates. Steps cost more from here on if the columns hold large numbers."""
        self.x |= columns
        for column in columns.values():
            self.unit = max(self.unit, size := words(value.get(None, 0) for value in column))
            self.keep(len(column) * (1 + (size >> 5)))

    def _bit(self, k: int, op: str, args: list[Any], *rest: Any, i: int) -> int | None:
        """Return the truth of a node at a position if it is the same for every word, else None."""
        self.spend(1 + len(args))
        if op == "letters":
            return int(bool(rest)) if len(rest) in (0, len(self.alphabet)) else None
        if op in ("Y", "X", "S", "U"):
            return self._near(op, args, i)
        if op == "holds":
            return None
        if op == "true":
            return 1
        if op in ("and", "xor"):
            known = [self.bits[k][i - 1] for k, _ in args]
            return None if None in known else self.join(op, [bool(self.truth(lit, i)) for lit in args])
        total = self.linear(args, rest[-2], rest[-1], i)
        return self._decided(k, op, total.get(None, 0), i) if total.keys() <= {None} else None

    def _near(self, op: str, args: list[Any], i: int) -> int | None:
        """Return the truth of Y, X, S or U at a position if it is the same for every word, else None. It is if the
        operand has one truth at all positions, if there is nothing on that side, or (S, U) if the right operand holds
        here."""
        column = self.bits[args[-1][0]]
        known = {None if bit is None else int(bit != args[-1][1]) for bit in column}
        here = None if column[i - 1] is None else int(column[i - 1] != args[-1][1])
        if self._edge("Y" if op in ("Y", "S") else "X", i):
            return here if op in ("S", "U") else 0
        return known.pop() if len(known) == 1 else 1 if here and op in ("S", "U") else None

    def _decided(self, k: int, op: str, total: Any, i: int) -> int | None:
        """Return the truth of a comparison or a predicate of the number `total`."""
        return int(total >= 0 if op == "at least" else self.value(*self.conditions[k], x=int(total)))

    def join(self, op: str, bits: list[bool]) -> int:
        """Return the truth of a conjunction or an exclusive or of truth values."""
        return int(all(bits) if op == "and" else bits[0] != bits[1])

    def truth(self, lit: Any, i: int) -> Combination:
        """Return a literal at a position as a linear combination: a constant if its truth is the same for every
        word."""
        bit = self.bits[lit[0]][i - 1]
        own = {self.alias(lit[0], i): 1} if bit is None else {None: bit}
        return combine((1, {None: 1}), (-1, own)) if lit[1] else combine((1, own))

    def alias(self, k: int, i: int) -> int:
        """Return the node that has the same truth as node k at position i. For words of one length that is k itself."""
        return k

    def extent(self, side: str, i: int) -> Any:
        """Return the number of positions of a side ("L", "R" or "" for all) seen from i."""
        return len(self.seen(side, i))

    def alone(self, side: str, i: int) -> bool:
        """Return True if only one position of a side is visible from i."""
        return len(self.seen(side, i)) == 1

    def seen(self, side: str, i: int) -> range:
        """Return the positions of a side: "L" up to i, "R" from i on, "<" before i, ">" after i, "" all."""
        start, end = {"R": i, ">": i + 1}.get(side, 1), {"L": i, "<": i - 1}.get(side, self.n)
        return range(start, end + 1)

    def linear(self, args: list[Any], terms: list[Any], constant: int, i: int) -> Combination:
        """Return the sum of `constant` and of integers times counts. Counts that are the same for every word become
        constants."""
        parts: list[tuple[Any, Combination]] = [(Fraction(constant), {None: 1})]
        for (a, side), (k, negated) in zip(terms, args, strict=True):
            column = [None if bit is None else bit ^ negated for bit in self.bits[k]]
            self.spend(len(column))
            known = None if None in column else {None: self._total(column, side, i)}
            parts.append((a, {(side, (k, negated)): 1} if known is None else known))
        return combine(*parts)

    def _total(self, column: list[Any], side: str, i: int) -> Any:
        """Return the sum of a column of numbers over a side."""
        return sum(column[j - 1] for j in self.seen(side, i))

    def apply(self, row: dict[str, Fraction], i: int, bias: Any = 0) -> Combination:
        """Return a linear form of coordinates, plus a bias, at a position."""
        self.spend(1 + len(row))
        return combine((bias, {None: 1}), *((a, self.x[k][i - 1]) for k, a in row.items() if k in self.x))

    def possible(self, nodes: tuple[int, ...], i: int) -> frozenset[tuple[int, ...]]:
        """Return all joint truths, in the order of `nodes`, that nodes can have at a position, perhaps with others that
        no word has: truths that depend on other positions count as independent."""
        key = nodes, self.known[i - 1], self.about(i)
        self.spend(1 + len(self.known[i - 1]))
        if key not in self.cache:
            leaves, inner, known, found = {*nodes}, list[int](), dict(self.known[i - 1]), set()
            # Conjunctions and exclusive ors are replaced by their parts while these are few. So no truth is tried that
            # contradicts them.
            for k in range(max(nodes, default=0), -1, -1):
                if k in leaves and k not in known and self.nodes[k][0] in ("and", "xor"):
                    grown = leaves - {k} | {self.alias(node, i) for node, _ in self.lits[k]}
                    self.spend(len(grown))
                    if len(grown - known.keys()) <= WIDE:
                        leaves, inner = grown, [k, *inner]
            # The symbol fixes all `letters` nodes at once; the others (Y, S, holds, ...) are tried both ways.
            letters = sorted(k for k in leaves - known.keys() if self.nodes[k][0] == "letters")
            free = sorted(leaves - known.keys() - {*letters})
            require(len(free) <= TOGETHER, f"too large: {len(free)} truths are read together")
            self.spend(len(self.alphabet) * len(letters))
            here = {tuple(int(symbol in self.symbols[k]) for k in letters) for symbol in self.alphabet} or {()}
            self.spend(len(here) * (len(known) + len(nodes) + 4 * len(inner) + len(free)) << len(free))
            for message, chosen in product(here, product((0, 1), repeat=len(free))):
                truth = known | dict(zip(free, chosen, strict=True)) | dict(zip(letters, message, strict=True))
                for k in inner:
                    truth[k] = self.join(
                        self.nodes[k][0], [bool(truth[self.alias(a, i)]) != b for a, b in self.lits[k]]
                    )
                found.add(tuple(truth[k] for k in nodes))
            self.keep(len(found) * (1 + (len(nodes) >> 4)))
            self.cache[key] = frozenset(found)
        return frozenset(self.cache[key])

    def _head(self, name: str, side: str, claim: HeadClaim, pairs: list[Any], row: Any) -> list[Combination]:
        """Return the values that a head writes, by position."""
        self.keep(len(self.places) * (1 + len(pairs)))
        kind, values = claim["kind"], [self.apply(row, j) for j in self.places]
        keys = [[self.apply(key, j) for _, key in pairs] for j in self.places]
        used = {k for value in (*values, *chain(*keys)) for k in value} - {None}
        # All scores are 0: the head takes the mean over its side, which is a count over the number of positions.
        if not any(query and key for query, key in pairs):
            require(not self.geometric, f"head {name} takes a mean, which geometric attention does not")
            message = kind == "mean" and all(value == self.truth(claim["what"], j) for j, value in enumerate(values, 1))
            require(message or not used, f"head {name} averages other values than the claimed node's truth")
            self.spend(0 if used else self.n * self.n)
            numbers = [value.get(None, 0) for value in values]
            return [combine((Fraction(1) / self.extent(side, i), {(side, claim["what"]): 1} if used else
                             {None: self._total(numbers, side, i)})) for i in self.places]  # fmt: skip
        # A score or value may depend on truths of nodes alone. Counts and other heads would have errors of their own.
        rounded = all(isinstance(k, int) for k in used)
        require(rounded, f"head {name} reads a coordinate that no clip rounds to 0 or 1 before it")
        work = self._geometric if self.geometric else self._errors
        wrong = work(name, (side, claim, pairs), (values, keys), used)
        self.heads[name] = side, claim, values, wrong
        return [self._number(claim, {name: 1}, i) if kind == "number" else {name: 1} for i in self.places]

    def _errors(self, name: str, head: Any, reads: Any, used: set[Any]) -> list[list[Any]]:
        """Return the error bounds of a head by position, in units of 1/GRID: one where it should read 0, one where it
        should read 1. None stands for a case that no word has."""
        (side, claim, pairs), (values, keys) = head, reads
        kind = claim["kind"]
        counted = kind == "sign" or (kind in ("number", "table") and side != "R")
        require(kind == "nearest" or (counted and not used), f"head {name} is not of the claimed kind")
        work, wrong = (self._nearest if kind == "nearest" else self._counted), list[list[Any]]()
        read = [self._types(name, claim, values[j - 1], keys[j - 1], j) if kind == "nearest" else
                (values[j - 1].get(None, Fraction(0)), keys[j - 1]) for j in self.places]  # fmt: skip
        query_number = [
            [combine((self.inverse[i - 1], self.apply(query, i))) for query, _ in pairs] for i in self.places
        ]
        if kind == "number":
            self.numbers[name] = query_number, read
        found = self._at_once(name, (side, claim["backwards"]), query_number, read) if kind == "nearest" else None
        if found is not None:
            self.bounds[name].append(found)
            return [found] * self.n
        before: Any = None
        for i, queries in enumerate(query_number, start=1):
            size = len(self.seen(claim["count"][1][0][1], i)) if "count" in claim else 0
            same = (queries, self.stretch[i - 1], size, self.seen(side, i), i * (kind == "sign"))
            # Equal rows have equal bounds; sign tests depend on the position itself.
            again = wrong[-1:] if same == before else list[list[Any]]()
            wrong += again or [work(name, claim, queries, [read[j - 1] for j in self.seen(side, i)], i)]
            before = same
        self.bounds[name].append([most(column) for column in zip(*wrong, strict=True)])
        return wrong

    def _geometric(self, name: str, head: Any, reads: Any, _: set[Any]) -> list[list[Any]]:
        """Return the error bounds of a head in geometric attention, in the form of `_errors` (see `geometric`)."""
        (side, claim, pairs), (values, keys) = head, reads
        fine = claim["kind"] == "nearest" and (side, claim["backwards"]) in geometric.WAYS
        require(fine, f"head {name} is not claimed to read the nearest selected position")
        types = [self._types(name, claim, values[j - 1], keys[j - 1], j) for j in self.places]
        kinds = geometric.kinds_of(name, chain(*types))
        taken = {(selected, value) for selected, value, *_ in kinds}
        rows = [self._query(name, [self.apply(query, i) for query, _ in pairs]) for i in self.places]
        scores = {row: geometric.least_score(name, row, kinds) for row in dict.fromkeys(rows)}
        self.spend(self.n * (1 + len(pairs)) * (1 + len(kinds)))
        wrong = self._off(name, side, [scores[row] for row in rows], all(selected for selected, _ in taken))
        # Only a selected position with the value 0 lets positions beyond it count.
        if not {(1, 0), (1, 1)} <= taken:
            wrong = [[min(zero, 0), one] for zero, one in wrong]
        zeros, ones = any(not value for _, value in taken), (1, 1) in taken
        return [[zero if zeros or one is None else None, one if ones else None] for zero, one in wrong]

    def _off(self, name: str, side: str, scores: list[Fraction], always: bool) -> list[list[Any]]:
        """Return the error bounds of a head by position: selected positions have at least the score of the position,
        others at most its negative. With `always`, all are selected."""
        wrong = list[list[Any]]()
        for i, score in enumerate(scores, start=1):
            seen, power = len(self.seen(side, i)), self._exponential(score, i)
            self.spend(STEP * (1 if always else seen))
            both = [geometric.off_by(power, m) for m in (1, 1 if always else seen)] if seen else [0, None]
            wrong.append(both)
        self.bounds[name].append([most(column) for column in zip(*wrong, strict=True)])
        return wrong

    def _exponential(self, score: Fraction, i: int) -> Fraction:
        """Return a lower bound of e^(score/temperature) at a position: exactly that if the temperature is c/log(E)."""
        found = geometric.power_of(self.temperature[1].tree)
        # Exactly, where a rounded exponential would miss a bound that is met with equality, as 1/4 at e^(1/tau) = 3.
        if found is not None and (score / found[0]).denominator == 1 and 0 < score / found[0] <= geometric.MOST_POWER:
            base = geometric.number(found[1], {"i": i, "n": self.n})
            if base is not None:
                require(base > 0, f"model.temperature has no value at length {self.n}")
                return geometric.fitting(base ** int(score / found[0]))
        return geometric.exponential(score * self.inverse[i - 1])

    def _number(self, claim: HeadClaim, off: Combination, i: int) -> Combination:
        """Return the value that a look-up head should read for a count c, max(c, 1) = c + 1 - [c > 0], plus the error
        `off`."""
        args, terms = claim["count"]
        fine = self.nodes[claim["some"][0]] == ["at least", args, terms, -1] and not claim["some"][1]
        require(fine, "meaning: `some` is not the node for a count of at least 1")
        return combine((1, self.linear(args, terms, 1, i)), (-1, self.truth(claim["some"], i)), (1, off))

    def _types(
        self, name: str, claim: HeadClaim, value: Combination, keys: list[Combination], j: int
    ) -> frozenset[Any]:
        """Return the local types of a position j: the joint choices of selected or not, value, and keys, over all
        words. Raises Rejected if the value is not the truth of the claimed literal."""
        # Every truth that the value, the keys and the claim depend on is tried.
        lits, found = tuple((self.alias(k, j), turned) for k, turned in (claim["where"], claim["what"])), set()
        nodes = tuple(sorted({k for part in (value, *keys) for k in part if k is not None} | {k for k, _ in lits}))
        rows = self.possible(nodes, j)
        self.spend(len(rows) * (len(nodes) + sum(map(len, (value, *keys)))))
        for message in rows:
            truth: Combination = dict(zip(nodes, message, strict=True)) | {None: 1}
            own, *key = (sum((a * truth[k] for k, a in part.items()), 0) for part in (value, *keys))
            selected, what = (truth[k] ^ negated for k, negated in lits)
            require(own == what, f"the values of head {name} are not the truth of the claimed node")
            found.add((selected, what, *key))
        self.keep(len(found) * (1 + len(keys)))
        return frozenset(found)

    def _at_once(self, name: str, way: tuple[str, bool], queries: list[Any], read: list[Any]) -> list[Any] | None:
        """Return two bounds (where the head should read 0, and where 1) that hold at all positions, if each sees the
        positions up to it (or from it on) and all have the same query; else None."""
        alike = all(query == queries[0] for query in queries) and len({*self.stretch}) == 1
        if self.cutoff or not self.together or way not in (("L", False), ("R", True)) or not alike:
            return None
        weights, far = self._weights(self._query(name, queries[0]), read[::-1] if way[1] else read, self.stretch[0])
        if far:
            return None
        self.joined = True
        return [worst_of_all(weights, goal) for goal in (0, 1)]

    def _query(self, name: str, queries: list[Combination]) -> tuple[Any, ...]:
        """Return a query that is the same for every word; raise Rejected for another one."""
        require(all({*query} <= {None} for query in queries), f"the query of head {name} depends on the word")
        return tuple(query.get(None, 0) for query in queries)

    def _weights(self, query: tuple[Any, ...], order: Any, stretch: Any) -> tuple[list[Any], bool]:
        """Return the local types of each position as (selected, value, bounds of the weight; under sparsemax: logit),
        and whether logits had to be scaled down. Scaled logits belong to a hotter temperature."""
        self.spend(40 * (1 + len(query)) * sum(map(len, order)))
        logits = [[sum((x * y for x, y in zip(query, key, strict=True)), Fraction(0)) for _, _, *key in types]
                  for types in order]  # fmt: skip
        if self.cutoff:
            pairs = zip(order, logits, strict=True)
            return [[(a, b, x / self.cutoff) for (a, b, *_), x in zip(*pair, strict=True)] for pair in pairs], False
        far = too_large(chain(*logits), stretch)
        if far:
            # All logits times one factor: that is the same row at a hotter temperature.
            shrunk = min(LARGE / max(map(abs, chain(*logits))), 1)
            logits, stretch = [[x * shrunk for x in row] for row in logits], 1
        return [[(a, b, *exp_up_to(x, stretch)) for (a, b, *_), x in zip(types, row, strict=True)]
                for types, row in zip(order, logits, strict=True)], far  # fmt: skip

    def _nearest(self, name: str, claim: HeadClaim, queries: list[Combination], read: list[Any], i: int) -> list[Any]:
        query, order = self._query(name, queries), tuple(read[::-1] if claim["backwards"] else read)
        self.spend(len(order))
        known = query, order, self.stretch[i - 1]
        if known not in self.cache:
            weights, far = self._weights(query, order, self.stretch[i - 1])
            # Where none is selected, the last one wins.
            alone = [[kind for kind in types if not kind[0]] for types in weights]
            alone[-1:] = [[(1, *kind[1:]) for kind in alone[-1]]]
            # Each position must be able to be unselected for that case to occur.
            cases = (weights, alone) if all(alone) else (weights,)
            judge = sparse_worst if self.cutoff else worst
            self.cache[known] = [most(judge(case, goal, far) for case in cases) for goal in (0, 1)]
        return list(self.cache[known])

    def _counted(self, name: str, claim: HeadClaim, queries: list[Combination], read: list[Any], i: int) -> list[Any]:
        """Return the error bounds of a head whose keys and values are the same for every word, and whose query is
        linear in a count c, or in the number T of an `at least` node."""
        values, wrong, kind = [int(value) for value, _ in read], list[Any]([None, None]), claim["kind"]
        require(values == [value for value, _ in read], f"the values of head {name} are not integers")
        require(kind == "number" or {*values} <= {0, 1}, f"the values of head {name} are not 0 and 1")
        symbol: Any = None
        if kind == "sign":
            # The larger T, the more weight is on the positive keys: T = 0 and T = -1 are the worst cases.
            op, args, *rest = self.nodes[claim["what"][0]]
            require(op == "at least", f"head {name} is not a sign test of the claimed node")
            symbol, line = "", self.linear(args, rest[0], rest[1], i)
            queries = [self.along(query, line) for query in queries]
            # With one visible position the head reads its value whatever T is.
            points = [(0, 1), (-1, 0)] if len(values) > 1 else [(0, int(values[0]))]
            fine = queries[0].get("", 0) >= 0 and all(value == (key[0].get(None, 0) > 0) for value, key in read)
            require(fine and len(queries) == 1, f"head {name} is not a sign test of the claimed node")
        else:
            args, terms = claim["count"]
            require(terms[0][0] == 1, f"head {name} looks up something else than one count")
            known, size = self.linear(args, terms, 0, i), len(self.seen(terms[0][1], i))
            symbol = next((key for key in known if key is not None), None)
            # A count runs from 0 to the number of positions on its side.
            counts = range(size + 1) if symbol else [int(known.get(None, 0))]
            require(max(counts) <= len(values), f"head {name} does not see all positions that it may look up")
            points = [(c, values[max(c, 1) - 1]) for c in counts]
            fine = kind == "table" or values == [*range(1, len(values) + 1)]
            require(fine, f"the values of head {name} are not the positions 1, 2, ...")
        message = f"the query of head {name} depends on more than the claimed count"
        require(all({*query} <= {None, symbol} for query in queries), message)
        # Over a common denominator logits are integers.
        slopes = [query.get(symbol, 0) if symbol is not None else 0 for query in queries]
        pairs = [(query.get(None, 0), slope) for query, slope in zip(queries, slopes, strict=True)]
        keys = [[key.get(None, 0) for key in keys] for _, keys in read]
        below = [common(chain(*pairs)), common(chain(*keys))]
        whole = [(int(a * below[0]), int(b * below[0])) for a, b in pairs]
        rows = [[int(b * below[1]) for b in row] for row in keys]
        fixed, slope = ([sum(pair[k] * b for pair, b in zip(whole, row, strict=True)) for row in rows] for k in (0, 1))
        scale, reach = below[0] * below[1], len(rows)
        if symbol and kind != "sign" and (twice := falls(fixed, slope)):
            # Beyond its reach all weights together are less than a unit of a bound. A number is farthest off at an end.
            reach = isqrt(2 * FAR * scale // twice) + 1
            points = points[:2] if kind == "number" else points
        self.spend((len(points) * min(len(rows), 2 * reach + 1) * 6 + len(rows) * len(queries))
                   * (1 + (bits(below[0]) + bits(below[1]) >> 8)))  # fmt: skip
        for c, goal in points:
            # Position c has the index c - 1, and the count 0 reads position 1.
            near = slice(max(0, c - 1 - reach), max(c, 1) + reach)
            logits = [a + c * b for a, b in zip(fixed[near], slope[near], strict=True)]
            bit = 0 if kind == "number" else int(goal)
            judge, unit = (sparse_distance, scale * self.cutoff) if self.cutoff else (distance, scale)
            off = judge(logits, unit, values[near], goal, self.stretch[i - 1])
            # One unit more for all weights outside the slice; there are none under sparsemax.
            wrong[bit] = max(wrong[bit] or 0, off + (len(logits) < len(rows) and not self.cutoff))
        return wrong

    def along(self, form: Combination, line: Combination) -> Combination:
        """Return a form rewritten with "" for the integer T (the linear combination `line`), if no counts are left
        then; else the form unchanged."""
        # The multiple of T that cancels the first count; the others must cancel with it.
        ratio = next((Fraction(1) * form.get(key, 0) / a for key, a in line.items() if key), Fraction(0))
        rest = combine((1, form), (-ratio, line), (ratio, {"": 1}))
        return form if any(isinstance(key, tuple) for key in rest) else rest

    def _clips(self, k: str, i: int, bias: Fraction, parts: list[Any]) -> Combination:
        """Return the sum of clips at a position: a constant, or the truth of the node claimed for coordinate k. Raises
        Rejected if the sum is not that truth for every word."""
        # A clip is `relu(z) - relu(z - cap)`: with a cap of 0 or 1 the product of that number and min(max(z, 0), 1).
        forms = [(a, self.apply(row, i, b), self.apply(cap[1], i, cap[0]) if cap else {None: 1})
                 for a, b, row, *cap in parts]  # fmt: skip
        fixed = [None if cap.keys() - {None} else self._fixed(form, i) for _, form, cap in forms]
        bounded = all(cap.keys() - {None} or cap.get(None, 0) in (0, 1) for *_, cap in forms)
        require(bounded, f"the cap of a clip of '{k}' is not 0 or 1")
        if None not in fixed:
            return combine(
                (bias, {None: 1}), *((a * value, cap) for (a, _, cap), value in zip(forms, fixed, strict=True))
            )
        reason = f"meaning.coordinates: no claim about the coordinate '{k}', which depends on the word"
        require(k in self.claims, reason)
        node, negated = self.claims[k]
        op, used = self.nodes[node][0], {key for _, *some in forms for form in some for key in form}
        parts, inner = self._parts(node, used) if op in ("and", "xor") else ([], [])
        subject = self._subject(node, [part for part in parts if part not in used], used)
        what, args, *rest = self.nodes[subject]
        line = self.linear(args, rest[0], rest[1], i) if what == "at least" else {}
        forms = [(a, self.along(form, line), cap) for a, form, cap in forms]
        # The node is an unknown fact of this class of positions: its clip may only repeat another coordinate's truth.
        if self.alias(node, i) != node and not any("" in form for _, form, _ in forms):
            op, what, line = LEAVES[0], LEAVES[0], {}
        used = {key for _, *some in forms for form in some for key in form}
        heads = sorted(key for key in used if isinstance(key, str) and key)
        # These heads should read exactly the truth of the subject, or of another part of a conjunction.
        lemmas = [name for name in heads if self._lemma(subject, name, i)]
        nearest = [name for name in heads if parts and self.heads[name][1]["kind"] == "nearest"]
        reads = {name: part for name in nearest for part in parts if self._lemma(part, name, i)}
        edge = self._edge(op, i)
        message = f"the coordinate '{k}' is not the truth of the claimed node ({op}) {self.where(i)}"
        require(lemmas or edge or op in ("and", "xor", "at least", *LEAVES), message)
        if not (op == "and" and not heads and self._joins(bias, forms, node, negated, i)):
            sizes = {key: (0, self.extent(key[0], i)) for key in {*used, *line} if isinstance(key, tuple)}
            read = heads, lemmas, edge, reads, (parts, inner)
            self._table((k, op, bias, forms, message), (subject, what), read, (line, sizes), i)
        return self.truth((node, negated), i)

    def _subject(self, node: int, parts: list[int], used: set[Any]) -> int:
        """Return the part of a conjunction or exclusive or that is a comparison or a predicate of the counts and heads
        that its clips read, or a comparison of positions if they read no head; the node itself if no part is."""
        claims = [self.heads[key][1] for key in used if isinstance(key, str)]
        for claim, part in product(claims or [{"kind": None}], parts):
            what, args, *rest = self.nodes[part]
            table = what == "predicate" and claim.get("count") == [args, [[1, rest[1][0][1]]]]
            number = claim["kind"] == "number" and part != claim["some"][0] and claim["count"][0][0] in args
            compared = what == "at least" and (number or not claims)
            if table or compared or (claim["kind"], claim.get("what")) == ("sign", (part, False)):
                return part
        return node

    def _parts(self, node: int, used: set[Any]) -> tuple[list[int], list[int]]:
        """Return the operands of a conjunction or exclusive or, each replaced by its own operands as long as it is of
        that kind and no clip reads it; and the nodes that were replaced, operands first."""
        parts, inner = {k for k, _ in self.lits[node]}, list[int]()
        for k in range(node - 1, -1, -1):
            if k in parts and k not in used and self.nodes[k][0] in ("and", "xor"):
                self.spend(1 + len(self.lits[k]))
                parts, inner = parts - {k} | {a for a, _ in self.lits[k]}, [k, *inner]
        return sorted(parts), inner

    def _made(self, read: set[int], below: set[int]) -> set[int]:
        """Return the conjunctions among some nodes whose operands are all `below`, from which their truth follows."""
        return {k for k in read if self.nodes[k][0] == "and" and {a for a, _ in self.lits[k]} <= below}

    def _fixed(self, form: Combination, i: int) -> Any:
        """Return the clip of a form that is the same for every word, else None."""
        return min(max(form.get(None, 0), 0), 1) if {*form} <= {None} else None

    def _edge(self, op: str, i: int) -> bool:
        """Return True if Y or X is false at a position because there is no position before or after it."""
        return (op, i) in (("Y", 1), ("X", self.n))

    def where(self, i: int) -> str:
        """Return the words for a position in messages."""
        return f"at position {i} of {self.n}"

    def _table(self, clips: Any, about: tuple[int, str], read: Any, counted: Any, i: int) -> None:
        """Require, for each joint truth of what some clips read, that their sum is the truth of the claimed node. What
        they read of counts decides the subject: that node, or a part of that conjunction."""
        (k, op, bias, forms, message), (subject, what), (line, sizes) = clips, about, counted
        heads, lemmas, edge, reads, (parts, inner) = read
        node, negated = self.claims[k]
        used = {key for _, *some in forms for form in some for key in form}
        # Truths that the node depends on are enumerated although no clip reads them.
        also = {*parts} if op in ("and", "xor") else {node} if op in LEAVES else set()
        also |= {self.heads[name][1]["some"][0] for name in lemmas if what == "predicate"}
        zero = self._at_zero(subject, self.nodes[subject][-1], i) if what == "predicate" and lemmas else None
        known = dict(self.known[i - 1])
        made = self._made({key for key in used if isinstance(key, int)} - also, also | {*inner}) if parts else set()
        inner = [*inner, *sorted(made)]
        free = {self.alias(a, i) for a in also if a not in known} | {k for k in used if isinstance(k, int)} - made
        free |= {key for key in zero or () if key is not None}
        reason = f"too large: the clips of '{k}' read more than {TOGETHER} truths and heads together"
        require(len(free) + len(heads) <= TOGETHER, reason)
        found = [tuple(self.heads[name][3][i - 1]) for name in heads]
        # Everything that the table depends on. If a table was accepted before, it need not be computed again.
        key = ("clips", k, op, subject, tuple((a, *form.items(), "", *cap.items()) for a, form, cap in forms), *lemmas,
               "", edge, *reads.items(), "", *parts, "", *line.items(), "", *sizes.items(), "", *found,
               self.known[i - 1], *(zero or {}).items(), *self.about(i))  # fmt: skip
        self.spend(len(known) + sum(map(len, (forms, line, found))))
        if key in self.cache:
            return
        self.apart = False
        ways = len(free) + len(heads) + (op == "at least")
        self.spend(2 * (2 + len(known) + sum(1 + len(form) + len(cap) for _, form, cap in forms)) << ways)
        for chosen in product((0, 1), repeat=ways):
            truth: Combination = dict(zip([*sorted(free), *heads, ""], chosen, strict=False)) | known
            truth |= {a: truth[self.alias(a, i)] for a in also}
            # `goal` is the truth of the node in this case, and `own` that of the subject.
            own = goal = truth[lemmas[0]] if lemmas and what != "at least" else truth.get("", 0)
            if op in LEAVES:  # a clip that turns what another coordinate says of the symbol, as !p does
                own = goal = truth[node]
            elif zero is not None and not truth[self.heads[lemmas[0]][1]["some"][0]]:
                own = goal = sum(a * (1 if part is None else truth[part]) for part, a in zero.items())
            if op in ("and", "xor"):
                if any(truth[a] != truth[b] for a, b in reads.items()) or (zero is not None and own != truth[subject]):
                    continue
                own = truth[subject] if subject != node else 0
                for a in (*inner, node):
                    goal = truth[a] = self.join(self.nodes[a][0], [bool(truth[c]) != b for c, b in self.lits[a]])
            ends: Combination = {key: (truth[key],) * 2 for key in (*free, *known, *inner)} | sizes | {None: (1, 1)}
            ends |= {name: self._ends(name, truth[name], i) for name in heads}
            if what == "at least":
                ends[""] = None if any(truth[name] != own for name in lemmas) else self._reach(line, sizes, own, i)
            # A case in which some part cannot have that truth does not occur.
            if all(ends.values()):
                caps = [between(cap, ends) for *_, cap in forms]
                require(all(pair in ((0, 0), (1, 1)) for pair in caps), f"the cap of a clip of '{k}' is not 0 or 1")
                total = bias + sum(a * self._clip(k, form, ends, line, i) * cap
                                   for (a, form, _), (cap, _) in zip(forms, caps, strict=True))  # fmt: skip
                require(total == ((goal and not edge) != negated), message)
        # `_together` looks at queries and keys too, which the cache key does not have.
        if not self.apart:
            self.cache[key] = True

    def about(self, i: int) -> tuple[Any, ...]:
        """Return what the joint truths at a position depend on besides nodes; nothing here."""
        return ()

    def _at_zero(self, node: int, offset: int, i: int) -> Combination:
        """Return the truth of a predicate of the count 0."""
        return {None: int(self.value(*self.conditions[node], x=offset))}

    def _reach(self, line: Combination, sizes: dict[Any, Any], goal: int, i: int) -> Any:
        """Return the least and the largest T of a comparison that is true (goal 1) or false; None if it never is."""
        counts = [a * sizes[key][1] for key, a in line.items() if key]
        low, high = (line.get(None, 0) + sum(pick(a, 0) for a in counts) for pick in (min, max))
        low, high = (max(low, 0), high) if goal else (low, min(high, -1))
        return (low, high) if low <= high else None

    def _joins(self, bias: Fraction, forms: list[Any], node: int, negated: bool, i: int) -> bool:
        """Return True if clips that read the parts of a conjunction give its truth, without a table of all cases, so
        for any number of parts. If all parts hold, the inputs of the clips are known. Each part that fails changes an
        input by its weight, so inputs then lie between two ends."""
        parts, whole = dict[int, bool](), True
        for k, turned in self.lits[node]:
            known = self.bits[k][i - 1]
            if known is not None:
                whole &= known != turned
            else:
                whole &= parts.setdefault(self.alias(k, i), turned) == turned
        totals = {True: bias, False: bias}
        for a, form, cap in forms:
            self.spend(2 + len(form) + len(parts))
            # In certificates of every length numbers may be functions of the position, which have no order.
            if (
                cap != {None: 1}
                or form.keys() - {None} - parts.keys()
                or not all(isinstance(b, int | Fraction) for b in form.values())
            ):
                return False
            moves = [form.get(k, 0) * (1 if turned else -1) for k, turned in parts.items()]
            all_hold = form.get(None, Fraction(0)) + sum(form.get(k, 0) for k, turned in parts.items() if not turned)
            ends = [all_hold, all_hold]
            if moves:  # of one part at least that does not hold, unless there is another one, which never holds
                ends = [all_hold + (sum(pick(move, 0) for move in moves) if not whole or pick(pick(moves), 0) else
                                    pick(moves)) for pick in (min, max)]  # fmt: skip
            for case, low, high in ((True, all_hold, all_hold), (False, *ends)):
                if not (high <= 0 or low >= 1 or low == high):
                    return False
                totals[case] += a * min(max(low, 0), 1)
        return (not whole or totals[True] == (not negated)) and totals[False] == negated

    def _ends(self, name: str, bit: int, i: int) -> Any:
        """Return the least and the largest value of a head that should read `bit`; None if it never should."""
        (_, claim, _, wrong), off = self.heads[name], self.heads[name][3][i - 1][bit]
        if claim["kind"] == "number":
            return (-Fraction(wrong[i - 1][0], GRID), Fraction(wrong[i - 1][0], GRID))
        return None if off is None else (1 - Fraction(off, GRID), 1) if bit else (0, Fraction(off, GRID))

    def _clip(self, k: str, form: Combination, ends: dict[Any, Any], line: Combination, i: int) -> Any:
        low, high = between(form, ends)
        if not (high <= 0 or low >= 1 or low == high):
            low, high = self._together(form, ends, line, i) or (low, high)
        message = f"the error bounds do not decide a clip of '{k}' at position {i} of {self.n}"
        require(high <= 0 or low >= 1 or low == high, message)
        return min(max(low, 0), 1)

    def _together(self, form: Combination, ends: dict[Any, Any], line: Combination, i: int) -> tuple[Any, Any] | None:
        """Return the least and the largest input of a clip that reads the difference of two looked-up numbers, if both
        are looked up in the same way for the two counts that T compares; else None. The T next to the threshold fixes
        the difference of the counts, and with it the error of the difference."""
        names = [name for name in form if name in self.numbers]
        if self.cutoff or len(names) != 2 or sum(form[name] for name in names) or "" not in form:
            return None
        # `alike` describes the whole row: equal ones make equal errors for equal counts.
        (one, alike), (other, otherwise) = (self._looked_up(name, i) for name in names)
        step = line.get(one, 0)
        fits = one is not None and alike == otherwise and line.keys() - {None} == {one, other}
        if not fits or not step or line[other] != -step:
            return None
        low, high = ends[""]
        # `near` is the T next to the threshold: 0 if the comparison holds, -1 if not.
        near, far = (low, (low + 1, high)) if low >= 0 else (high, (low, high - 1))
        # At T = near the two counts differ by exactly `apart`, so only such pairs of counts occur.
        apart, off = Fraction(near - line.get(None, 0)) / step, self._offsets(alike)
        pairs = [(c, c - int(apart)) for c in range(len(off)) if 0 <= c - apart < len(off) and apart.denominator == 1]
        # Equal counts are looked up by equal queries.
        found = [(0, 0) if c == d else (off[c][0] - off[d][1], off[c][1] - off[d][0]) for c, d in pairs]
        cases = [ends | {"": far}] if far[0] <= far[1] else []
        if found:
            ranges = min(low for low, _ in found), max(high for _, high in found)
            apart_by = tuple(Fraction(end, GRID) for end in ranges)
            cases.append(ends | {"": (near, near), names[0]: apart_by, names[1]: (0, 0)})
        self.apart, inputs = True, [between(form, case) for case in cases]
        return min(low for low, _ in inputs), max(high for _, high in inputs)

    def _looked_up(self, name: str, i: int) -> tuple[Any, tuple[Any, ...]]:
        """Return the count that a head looks up at a position, and how: queries, largest count, visible values and
        keys, stretch."""
        (side, claim, *_), (query_number, read) = self.heads[name], self.numbers[name]
        args, terms = claim["count"]
        symbol = next((key for key in self.linear(args, terms, 0, i) if key is not None), None)
        queries = tuple((query.get(None, 0), query.get(symbol, 0)) for query in query_number[i - 1])
        seen = tuple((int(value), *(key.get(None, 0) for key in keys))
                     for value, keys in (read[j - 1] for j in self.seen(side, i)))  # fmt: skip
        return symbol, (queries, len(self.seen(terms[0][1], i)), seen, self.stretch[i - 1])

    def _offsets(self, look_up: tuple[Any, ...]) -> list[tuple[int, int]]:
        """Return, for each count c = 0, 1, ..., the least and the largest error of the looked-up number, in units of
        1/GRID. The right number is max(c, 1)."""
        if ("offsets", look_up) not in self.cache:
            queries, size, seen, stretch = look_up
            values, keys = [value for value, *_ in seen], [key for _, *key in seen]
            scale = common(chain(*queries)) * common(chain(*keys))
            self.spend((size + 1) * len(seen) * (8 + len(queries)) * (1 + (bits(scale) >> 8)))
            found = list[tuple[int, int]]()
            for c in range(size + 1):
                query = [scale * (a + c * b) for a, b in queries]
                logits = [int(sum(a * b for a, b in zip(query, key, strict=True))) for key in keys]
                low = -above(logits, scale, [-value for value in values], -max(c, 1), stretch)
                found.append((low, above(logits, scale, values, max(c, 1), stretch)))
            self.keep(2 * len(found) + len(seen) * (1 + len(queries)))
            self.cache["offsets", look_up] = found
        return list(self.cache["offsets", look_up])

    def _lemma(self, node: int, name: str, i: int) -> bool:
        """Return True if the value that a head should read at position i is the truth of a node there. The cases are
        lemmas:

        S (U is the mirror image): take the last j <= i with !left | right. Either right holds at j, and left ever
        since; or left fails at j, and right ever since. If there is no such j, right fails at i too.
        Y (X): if the selected positions are the same for every word, then i - 1 (i + 1) is the last of them.
        Some phi (`at least` 1): the last position with phi has phi; if there is none, the last position does not have
        phi.
        A predicate of a count c > 0: the value at position c. `sign`: T >= 0, if two or more positions are visible.
        """
        (op, args, *rest), (side, claim, column, _), lits = self.nodes[node], self.heads[name], self.lits[node]
        # `what` is the literal whose truth the head reads, `where` the one that selects positions.
        kind, what, where = claim["kind"], claim.get("what"), claim.get("where")
        if kind == "sign" or op in ("and", "xor"):
            return bool(kind == "sign" and what == (node, False) and not self.alone(side, i))
        if kind == "table" and op == "predicate":
            of = rest[1][0][1]
            some = self.nodes[claim["some"][0]] == ["at least", args, [[1, of]], -1] and not claim["some"][1]
            return bool(some and [args, [[1, of]]] == claim["count"] and self._holds_table(node, column, i))
        if kind != "nearest" or not lits or what != lits[-1]:
            return False
        if op in ("S", "U"):
            nodes, (a, b, c) = zip(where, *lits, strict=True)
            # Selection must be !left | right at every position and for every word.
            rows = {row for j in self.places for row in self.possible(tuple(self.alias(k, j) for k in nodes), j)}
            self.spend(len(rows) * len(self.places))
            fine = all(w ^ a == (1 ^ left ^ b | right ^ c) for w, left, right in rows)
            return fine and (side, claim["backwards"]) == (("L", False) if op == "S" else ("R", True))
        if op in ("Y", "X"):
            return self._beside(where, side, claim["backwards"], i, -1 if op == "Y" else 1)
        return bool(where == what and rest == [[[1, side]], -1])

    def _holds_table(self, node: int, column: list[Combination], i: int) -> bool:
        """Return True if the value at each position j is the predicate of the count j, for all counts that occur."""
        _, _, _, ((scale, of),), offset = self.nodes[node]
        positions = range(1, len(self.seen(of, i)) + 1)
        found = [self.value(*self.conditions[node], x=scale * j + offset) for j in positions]
        return [value.get(None, 0) for value in column[: len(found)]] == found

    def _beside(self, where: Any, side: str, backwards: bool, i: int, step: int) -> bool:
        """Return True if the last selected position visible from i is i + step, for every word."""
        column = self.bits[where[0]]
        order = [j for j in self.seen(side, i) if column[j - 1] != where[1]]
        return None not in column and (order[::-1] if backwards else order)[-1:] == [i + step]


def between(form: Combination, ends: dict[Any, Any]) -> tuple[Any, Any]:
    """Return the least and the largest value of a linear form, given those of its parts."""
    low, high = (sum(pick(a * end for end in ends[key]) for key, a in form.items()) for pick in (min, max))
    return low, high
