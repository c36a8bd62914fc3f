"""Altered Rocq instances, and whether they are really wrong.

A part of the network, of the formula or of the hints is changed. A judge that uses nothing of hardsim runs altered
networks; altered formulas are evaluated from the definitions of the library. An altered instance counts as wrong if a
word is found on which network and formula differ. Hints cannot make a statement wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice, pairwise, product
from random import Random
from typing import Any, TypeAlias

from hardsim.verify.rocq.text import RocqTree
from tests.mutants.judge import Answer, Judge
from tests.support.rocq_definitions import condition, holds, tree_of
from tests.support.rocq_theorems import Theorem, paths, put, with_parts, written

Symbol: TypeAlias = frozenset[int]
"""The atoms that hold at a position."""
FAMILIES = (
    ("true", "false"), ("Future", "Past", "Unmasked"), ("X", "Len"), ("Le", "Eq"), ("Square", "Prime", "PowerOf2"),
    ("Both", "Either"), ("Add", "Sub", "Mul", "Div", "Mod"), ("First", "Last"), ("Position", "Length"),
    ("Not", "Yesterday", "WeakYesterday", "Once", "Historically", "Next", "WeakNext", "Eventually", "Always"),
    ("And", "Or", "Xor", "Implies", "Equivalent", "Since", "Trigger", "Until", "Release", "WeakUntil",
     "StrongRelease"),
    ("AtMost", "Equal"), ("CountLeft", "CountRight", "CountAll"),
    ("NFirst", "NLast", "NEven"), ("NPrev", "NNext"), ("NSince", "NUntil"), ("Before", "After", "Everywhere"),
    ("ByI", "ByM", "ByN"), ("ByLength", "BySquare", "ByPosition"), ("Mean", "VLit"),
)  # fmt: skip
"""Constructors with the same arguments, which can stand for each other."""
PARTS = ("atoms", "letters", "embedding", "encodings", "layers", "output", "temperature")
OF_LAYERS = ("heads", "w_1", "b_1", "w_2", "b_2")
OF_HEADS = ("mask", "rows", "w_q", "w_k", "w_v")
MOST_WORDS = 130
LONGER = 12
"""Number of random words that are longer than the others."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """An altered instance: what was altered, the part of the instance, and hints that follow the change."""

    theorem: Theorem
    part: str
    change: str
    followed: RocqTree | None = None

    def terms(self, number: int) -> list[str]:
        """Return terms that compute whether the checker accepts it, with each of its hints. The unchanged instance is
        the module T of this number."""
        network, formula, hints = (f"T{number}.{name}" for name in "NFC")
        if self.part == "formula":
            formula = written(inlined(self.theorem.formula, self.theorem.lets))
        elif self.part == "hints":
            hints = written(self.theorem.hints)
        else:
            network = written(self.theorem.network)
        others = [] if self.followed is None else [written(self.followed)]
        return [f"check {network} {self.theorem.reading} {formula} {one}" for one in (hints, *others)]


def inlined(tree: RocqTree, lets: Mapping[str, RocqTree]) -> RocqTree:
    """Return a formula with its definitions in place of their names."""
    if tree.kind == "name" and tree.value in lets:
        return inlined(lets[str(tree.value)], lets)
    return replace(tree, parts=tuple(inlined(part, lets) for part in tree.parts))


# ---- changes of one part of a term ----


def changes(tree: RocqTree) -> Iterator[RocqTree]:
    """Yield what a part of a term can be changed to."""
    match tree.kind:
        case "ratio":
            value = Fraction(tree.value)
            others = (value + 1, -value, value / 2, Fraction(0), value * 3 / 2, value + Fraction(1, 1000))
            yield from (replace(tree, value=other) for other in others if other != value)
        case "natural" | "integer":
            number = int(tree.value)
            yield replace(tree, value=number + 1)
            if number or tree.kind == "integer":
                yield replace(tree, value=number - 1)
        case "list":
            for k in range(len(tree.parts)):
                yield with_parts(tree, [*tree.parts[:k], *tree.parts[k + 1 :]])
                yield with_parts(tree, [*tree.parts[: k + 1], *tree.parts[k:]])
            for k, (first, second) in enumerate(pairwise(tree.parts)):
                if written(first) != written(second):
                    yield with_parts(tree, [*tree.parts[:k], second, first, *tree.parts[k + 2 :]])
        case "name" | "application":
            for family in FAMILIES:
                if tree.value in family:
                    yield from (replace(tree, value=other) for other in family if other != tree.value)


def of_formula(tree: RocqTree) -> Iterator[RocqTree]:
    """Yield what a part of a formula can be changed to: besides other constructors, operands that change places or are
    left out, a negation, a truth."""
    yield from changes(tree)
    if tree.value in {name for family in FAMILIES[9:11] for name in family}:
        yield from tree.parts
        if len(tree.parts) == 2:
            yield with_parts(tree, tree.parts[::-1])
        yield tree_of(f"(Not {written(tree)})")
    if tree.value in ("Atom", "Since", "Once", "Holds", "AtMost", "Equal"):
        yield from (tree_of(text) for text in ("(Truth true)", "(Truth false)", "First"))


def label(path: Sequence[int]) -> str:
    """Return the name of the part of a network at a path."""
    name = PARTS[path[0]] if path else "network"
    if name == "layers" and len(path) > 2:
        name = OF_LAYERS[path[2]]
        if name == "heads" and len(path) > 4:
            name = OF_HEADS[path[4]]
    return name


def altered_networks(theorem: Theorem) -> dict[str, list[Mutant]]:
    """Return all instances with one change of the network, by the name of the part that changes."""
    found: dict[str, list[Mutant]] = {}
    for path, part in paths(theorem.network):
        for new in changes(part):
            change = f"{label(path)} {list(path)}: {written(part)[:60]} becomes {written(new)[:60]}"
            network = put(theorem.network, path, new)
            followed = None
            if part.kind == "ratio" and label(path) in ("w_q", "w_k"):
                followed = replaced(theorem.hints, written(part), new)
            changed = replace(theorem, network=network)
            found.setdefault(label(path), []).append(Mutant(changed, "network", change, followed))
    return found


def replaced(tree: RocqTree, old: str, new: RocqTree) -> RocqTree:
    """Return a term in which each part with this text is replaced."""
    if written(tree) == old:
        return new
    return replace(tree, parts=tuple(replaced(part, old, new) for part in tree.parts))


def altered_formulas(theorem: Theorem) -> list[Mutant]:
    """Return all instances with one change of the formula, of a definition that it uses, or of the reading position."""
    found = []
    for name, body in [*theorem.lets.items(), ("F", theorem.formula)]:
        for path, part in paths(body):
            for new in of_formula(part):
                tree = put(body, path, new)
                changed = replace(theorem, lets={**theorem.lets, name: tree})
                if name == "F":
                    changed = replace(theorem, formula=tree)
                change = f"{name} {list(path)}: {written(part)[:60]} becomes {written(new)[:60]}"
                found.append(Mutant(changed, "formula", change))
    other = "AtFirst" if theorem.reading == "AtLast" else "AtLast"
    return [*found, Mutant(replace(theorem, reading=other), "formula", f"read {other}")]


def altered_hints(theorem: Theorem) -> list[Mutant]:
    """Return all instances with one change of the hints."""
    return [
        Mutant(
            replace(theorem, hints=put(theorem.hints, path, new)),
            "hints",
            f"C {list(path)}: {written(part)[:60]} becomes {written(new)[:60]}",
        )
        for path, part in paths(theorem.hints)
        for new in changes(part)
    ]


def some_of(groups: Mapping[str, Sequence[Mutant]], number: int, rng: Random) -> list[Mutant]:
    """Return random mutants, in turn from each group."""
    orders = [rng.sample(group, len(group)) for group in groups.values()]
    turns = [mutant for row in range(max(map(len, orders))) for mutant in (o[row] for o in orders if row < len(o))]
    return [*islice(turns, number)]


# ---- what is really wrong ----


def symbols_of(theorem: Theorem) -> list[Symbol]:
    """Return the symbols about which the statement is."""
    atoms = range(int(theorem.network.parts[0].value))
    if theorem.over_letters:
        return [frozenset([atom]) for atom in atoms]
    return [frozenset(chosen) for number in range(len(atoms) + 1) for chosen in combinations(atoms, number)]


def words_of(symbols: Sequence[Symbol], rng: Random) -> Iterator[tuple[Symbol, ...]]:
    """Yield all words of small lengths, at most MOST_WORDS, and some random ones that are longer."""
    if not symbols:
        return
    longest = next(n for n in range(1, 9) if n == 8 or sum(len(symbols) ** k for k in range(1, n + 2)) > MOST_WORDS)
    for n in range(1, longest + 1):
        yield from product(symbols, repeat=n)
    for _ in range(LONGER):
        yield tuple(rng.choice(symbols) for _ in range(rng.randrange(longest + 1, longest + 5)))


def truth(theorem: Theorem, word: Sequence[Symbol]) -> bool:
    """Return the truth of the formula of an instance at the position where it is read."""
    return bool(holds(theorem.formula, word, 1 if theorem.reading == "AtFirst" else len(word), theorem.lets))


def wrong_word(mutant: Mutant, original: Theorem) -> tuple[Symbol, ...] | None:
    """Return a word on which the network and the formula of an altered instance differ; None if none was found. The
    original is right: so a formula that is altered is compared with it."""
    network = NetworkAnswers(mutant.theorem.network) if mutant.part == "network" else None
    for word in words_of(symbols_of(mutant.theorem), Random(1)):
        expected = truth(original, word)
        if network is None:
            if truth(mutant.theorem, word) != expected:
                return word
        elif network.answer(word) not in ("unknown", "yes" if expected else "no"):
            return word
    return None


class NetworkAnswers:
    """Answers of the network of an instance on words, by the judge of networks, as Definitions.v says: entries of one
    place are added up, and those beyond the rows of queries or the embedding are not used."""

    def __init__(self, network: RocqTree) -> None:
        self.network = network
        self.atoms = int(network.parts[0].value)
        self.embedding = entries(network.parts[2])
        self.encodings = [(int(one.parts[0].value), one.parts[1]) for one in network.parts[3].parts]
        self.judges: dict[int, Judge] = {}

    def answer(self, word: Sequence[Symbol]) -> Answer:
        """Return the answer on a word; unknown if a temperature is not positive."""
        n = len(word)
        if min(self.temperatures(n)) <= 0:
            return "unknown"
        if n not in self.judges:
            self.judges[n] = Judge(self.document(n))
        return self.judges[n].ask([written_symbol(symbol) for symbol in word])

    def temperatures(self, n: int) -> list[Fraction]:
        """Return the temperature at each position."""
        return [monomial(self.network.parts[6], i, n) for i in range(1, n + 1)]

    @cached_property
    def dimension(self) -> int:
        """The number of coordinates that occur."""
        found = [int(self.network.parts[5].value), *(column for _, column, _ in self.embedding)]
        found += [place for place, _ in self.encodings]
        for layer in self.network.parts[4].parts:
            heads, w_1, _, w_2, b_2 = layer.parts
            found += [*(c for _, c, _ in entries(w_1)), *(r for r, _, _ in entries(w_2)), len(b_2.parts)]
            for head in heads.parts:
                found += [c for one in head.parts[2:] for _, c, _ in entries(one)]
                found += [r for r, _, _ in entries(head.parts[4])]
        return 1 + max(found)

    def document(self, n: int) -> dict[str, Any]:
        """Return the network for words of length n as JSON that the judge reads. Each symbol is a letter."""
        symbols = [frozenset(chosen) for k in range(self.atoms + 1) for chosen in combinations(range(self.atoms), k)]
        rows = [
            (number, column, value)
            for number, symbol in enumerate(symbols)
            for row, column, value in self.embedding
            if row in symbol or row == self.atoms
        ]
        encodings = [
            {"coordinate": str(place), "value": {"values": [encoded(one, i, n) for i in range(1, n + 1)]}}
            for place, one in self.encodings
        ]
        return {
            "alphabet": [written_symbol(symbol) for symbol in symbols],
            "coordinates": [str(place) for place in range(self.dimension)],
            "embedding": sparse(rows, len(symbols), self.dimension),
            "encodings": encodings,
            "layers": [self.layer(layer) for layer in self.network.parts[4].parts],
            "output": str(self.network.parts[5].value),
            "temperature": {"values": self.temperatures(n)},
            "weighting": "softmax",
        }

    def layer(self, layer: RocqTree) -> dict[str, Any]:
        """Return a layer. Hidden units without a bias have bias 0."""
        heads, w_1, b_1, w_2, b_2 = layer.parts
        first, second = entries(w_1), entries(w_2)
        hidden = max([len(b_1.parts), *(row + 1 for row, _, _ in first), *(c + 1 for _, c, _ in second)])
        biases = [Fraction(one.value) for one in b_1.parts]
        others = [Fraction(one.value) for one in b_2.parts]
        return {
            "heads": [self.head(head) for head in heads.parts],
            "ffn": {
                "w1": sparse(first, hidden, self.dimension),
                "b1": biases + [Fraction(0)] * (hidden - len(biases)),
                "w2": sparse(second, self.dimension, hidden),
                "b2": others + [Fraction(0)] * (self.dimension - len(others)),
            },
        }

    def head(self, head: RocqTree) -> dict[str, Any]:
        """Return a head."""
        mask, rows, *matrices = head.parts
        count = int(rows.value)
        w_q, w_k, w_v = map(entries, matrices)
        queries, keys = ([one for one in matrix if one[0] < count] for matrix in (w_q, w_k))
        return {
            "name": "",
            "mask": {"Future": "future", "Past": "past", "Unmasked": "none"}[str(mask.value)],
            "w_q": sparse(queries, count, self.dimension),
            "w_k": sparse(keys, count, self.dimension),
            "w_v": sparse(w_v, self.dimension, self.dimension),
        }


Entry: TypeAlias = tuple[int, int, Fraction]


def entries(matrix: RocqTree) -> list[Entry]:
    """Return the entries of a matrix: row, column and value."""
    return [(int(r.value), int(c.value), Fraction(value.value)) for r, c, value in (one.parts for one in matrix.parts)]


def sparse(found: Sequence[Entry], rows: int, columns: int) -> dict[str, Any]:
    """Return a matrix as JSON."""
    return {"shape": [rows, columns], "entries": [*map(list, found)]}


def written_symbol(symbol: Symbol) -> str:
    """Return a symbol as text."""
    return " ".join(map(str, sorted(symbol)))


def monomial(tree: RocqTree, i: int, n: int) -> Fraction:
    """Return `monomial_value n i` of a monomial."""
    alternates, of_i, of_n = (part.value for part in tree.parts)
    return (-1 if alternates == "true" and i % 2 else 1) * Fraction(i) ** int(of_i) * Fraction(n) ** int(of_n)


def encoded(tree: RocqTree, i: int, n: int) -> Fraction:
    """Return `encoding_value n i` of an encoding."""
    (part,) = tree.parts
    return monomial(part, i, n) if tree.value == "Number" else Fraction(condition(part, i, n))


def original_is_right(theorem: Theorem) -> bool:
    """Return True if no word is found on which an instance that is not altered is wrong."""
    return wrong_word(Mutant(theorem, "network", "nothing"), theorem) is None
