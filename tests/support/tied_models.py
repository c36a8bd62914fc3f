"""Random hard-attention models with shared maxima, made to meet the rules of ties and to miss them narrowly.

Letters are a, b and perhaps c, which scores may ignore. A first layer takes means over ties, with queries that are
the same everywhere or not. Later layers read products of such a mean with letters, means of means, sign tests and
one-hot scores. Offsets are those that make a share avoid its threshold, and their neighbours, which do not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

from hardsim.lang.ast import BOS
from tests.support.language import Arith, parse_arith
from tests.support.model import Affine, Encoding, Head, Letter, Mask, Program, ProgramLayer, Rational, Unit, Weighting

ENCODINGS = {
    "first": "[i = 1]", "last": "[i = n]", "part": "i/n", "each": "1/n", "sign": "(-1)^i", "odd": "[i mod 2 = 1]",
    "after": "1/(i+1)", "start": "[i = 0]",
}  # fmt: skip
"""Position encodings by the name of their coordinate."""
OFFSETS = (
    "1/(2*n)", "-1/(2*n)", "1/(4*n)", "-1/(4*n)", "-1/(6*n)", "1/(3*n)", "1/n", "-1/(2*n^2)", "1/(4*n^2)", "-1/(6*n^2)",
    "1/(2*n+2)", "-1/(4*n+4)", "1/2", "-1/3", "1/(2*i+2)", "-1/(4*i+4)", "1/(4*n)-1/2", "[i = n]/(2*n)", "1/(8*n^3)",
    "-3/(4*n)", "2/(3*n)", "[i = 1]/2", "-[i = n]/3", "[i = 1]/(2*n)",
)  # fmt: skip
"""Encodings that are added to a mean. The first avoid thresholds; some of the others meet them for long words
alone.
"""
FINE = (
    "1/(2*n)", "1/(4*n)", "-1/(4*n)", "1/(6*n)", "3/(4*n)", "1/(2*n^2)", "1/(2*n^2)", "-1/(4*n^2)", "3/(4*n^2)",
    "-3/(4*n^2)", "2/(3*n^2)", "1/(2*(n+1)^2)", "1/(6*n^3)", "1/(2*n)-1/2",
)  # fmt: skip
"""Encodings that are added to a difference of two means, and to a mean of means."""
KEYS: tuple[Mapping[str, Rational], ...] = (
    {"ab": 1},
    {"a": 1},
    {"b": 1},
    {"a": 1, "first": 1},
    {"ab": 1, "last": 1},
    {"odd": 1},
)
THRESHOLDS = (Fraction(0), Fraction(1, 2), Fraction(1, 2), Fraction(1, 3), Fraction(2, 3), Fraction(1, 4))
Terms = dict[str, Rational]
Score = list[tuple[Terms, Terms]]


@cache
def expression(text: str) -> Arith:
    """Parse an expression once."""
    return parse_arith(text)


class TiedModel:
    """A builder of a random model: `means` has the coordinates that hold means so far."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.bos = random.random() < 0.35
        self.alphabet = ("a", "b", "c") if random.random() < 0.4 else ("a", "b")
        self.means: list[str] = []
        self.bits: list[str] = ["a", "b", "odd"]
        self.offsets: dict[str, str] = {}
        self.layers: list[ProgramLayer] = []
        self.heads: list[Head] = []
        self.words = ["a", "b", "ab"]
        self.threshold = random.choice(THRESHOLDS)

    def pick(self, *some: tuple[float, str]) -> str:
        """Choose a name by weight."""
        return self.random.choices([name for _, name in some], [weight for weight, _ in some])[0]

    def number(self, *some: Rational) -> Rational:
        """Choose a number."""
        return self.random.choice(some)

    def mask(self) -> Mask:
        """Choose a mask: none in half of the cases."""
        if self.random.random() < 0.5:
            return Mask.NONE
        return self.random.choice([mask for mask in Mask if self.bos or not mask.strict])

    # ---- scores ----

    def letters(self) -> Terms:
        """Choose a key of letters, perhaps with a term at one end."""
        kind = self.pick(
            (4, "ab"), (2, "a"), (2, "levels"), (2, "difference"), (1, "ends"), (1, "one end"), (1, "tie"), (1, "place")
        )
        keys: dict[str, Terms] = {
            "ab": {"ab": 1},
            "a": {"a": self.number(1, -1, Fraction(1, 2))},
            "levels": {"a": 2, "b": 1},
            "difference": {"a": 1, "b": -1},
            "ends": {"first": 1, "last": self.number(1, 1, 2)},
            "one end": {"ab": 1, self.random.choice(["first", "last"]): self.number(1, -1, 2, Fraction(1, 2))},
            "place": {self.random.choice(["first", "last"]): self.number(1, 2)},
            "tie": {"ab": 1, "part": self.number(Fraction(1, 2), Fraction(-1, 2), 1, 2)},
        }
        found = keys[kind]
        if self.bos and self.random.random() < 0.3:
            found = {**found, "start": self.number(1, 2, Fraction(1, 2), -1)}
        return found

    def first_score(self) -> Score:
        """Choose a score of letters and positions alone."""
        kind = self.pick((8, "letters"), (2, "query"), (2, "one-hot"), (2, "uniform"), (1, "flat"), (1, "at an end"))
        if kind == "letters":
            return [({"1": self.number(1, 1, 2, -1, Fraction(1, 2))}, self.letters())]
        if kind == "query":
            queries: list[Terms] = [{"a": 1}, {"a": 1, "1": Fraction(-1, 2)}, {"a": 1, "b": -1}, {"sign": 1}]
            return [(self.random.choice(queries), self.letters())]
        if kind == "one-hot":
            some = self.random.choice([[("a", "a"), ("b", "b")], [("a", "b"), ("b", "a")], [("a", "a")], [("a", "ab")]])
            pairs: Score = [({one: self.number(1, 1, 2)}, {other: 1}) for one, other in some]
            if self.random.random() < 0.3:
                pairs.append(({self.random.choice(["part", "a", "first"]): 1}, {"b": self.number(1, Fraction(3, 4))}))
            return pairs
        if kind == "at an end":
            end = self.random.choice(["first", "last"])
            return [({"1": 1, end: self.number(1, -1, -2)}, {"ab": 1})]
        return [] if kind == "uniform" else [({"1": 1}, {"1": 1})]

    def later_score(self) -> Score:
        """Choose a score that reads a mean or a Boolean made from one, or a score of letters and positions."""
        kind = self.pick((5, "product"), (3, "sign"), (2, "bits"), (1, "mean as key"), (3, "first"))
        if kind == "first" or not self.means:
            return self.first_score()
        mean = self.random.choice(self.means)
        query: Terms = {mean: self.number(1, 1, 2, -1)}
        if self.random.random() < 0.4:
            query["1"] = self.number(Fraction(-1, 2), Fraction(-1, 3), Fraction(1, 4), -1)
        if self.random.random() < 0.2:
            query["each"] = self.number(Fraction(1, 2), Fraction(-1, 4), Fraction(-1, 6), 1)
        if self.random.random() < 0.15 and len(self.means) > 1:
            query[self.random.choice(self.means)] = -1
        if kind == "product":
            return [(query, self.letters())]
        if kind == "sign":
            ends: list[Terms] = [{"first": 1, "last": -1}, {"first": 1}, {"first": 2, "last": -1, "ab": 1}]
            if self.bos:
                ends += [{"first": 1, "start": -1}, {"start": 1}, {"last": 1, "start": -1}]
            return [(query, self.random.choice(ends))]
        if kind == "bits":
            return [({"1": 1}, {self.random.choice(self.bits): 1, self.random.choice(self.bits): 1})]
        return [({"1": 1}, {mean: 1})]

    # ---- values ----

    def value(self) -> Terms:
        """Choose the value that a head reads."""
        kind = self.pick((4, "letter"), (2, "integers"), (3, "mean"), (1, "bit"), (1, "position"), (1, "offset"))
        if kind == "mean" and self.means:
            found: Terms = {self.random.choice(self.means): self.number(1, 1, 1, -1, 2, Fraction(1, 2))}
            if self.random.random() < 0.3:
                found[self.random.choice(["a", "1", "each", "odd", "first", "last"])] = self.number(
                    1, -1, Fraction(1, 2)
                )
            return found
        if kind == "integers":
            return self.random.choice([{"a": 1, "b": -1}, {"a": 2, "b": -1}, {"a": 1, "b": 2}, {"a": 1, "1": -1}])
        if kind == "bit":
            return {self.random.choice(self.bits): 1}
        if kind == "position":
            return {self.random.choice(["first", "last", "odd", "part", "start"]): 1}
        if kind == "offset":
            return {
                "a": 1,
                self.random.choice(["each", "part", "first", "1"]): self.number(Fraction(1, 2), Fraction(-1, 2)),
            }
        return {self.random.choice(self.words): self.number(1, 1, 1, -1, Fraction(1, 2))}

    # ---- layers ----

    def head(self, name: str, beside: Sequence[Head]) -> Head:
        """Return one more head; now and then with the score and mask of another one, or writing to the coordinate of a
        head `beside` it.
        """
        score = self.first_score() if not self.layers else self.later_score()
        mask, same = self.mask(), [head for head in self.heads if head.score]
        pairs = tuple((Affine.of(query), Affine.of(key)) for query, key in score)
        if same and self.random.random() < 0.25:
            other = self.random.choice(same)
            pairs, mask = other.score, other.mask if self.random.random() < 0.6 else mask
        weighting = Weighting.AVERAGE
        if pairs and self.random.random() < 0.1:
            weighting = self.random.choice([Weighting.LEFTMOST, Weighting.RIGHTMOST])
        out = beside[0].out if beside and self.random.random() < 0.4 else self.out()
        return Head(name, mask, weighting, ((out, Affine.of(self.value())),), pairs)

    def out(self) -> str:
        """Choose a coordinate to write to: a new one, which may have an offset of its own, or one that holds a
        mean.
        """
        if self.means and self.random.random() < 0.25:
            return self.random.choice(self.means)
        name = f"x{len(self.offsets)}"
        self.offsets[name] = self.random.choice(OFFSETS) if self.random.random() < 0.45 else ""
        return name

    def layer(self) -> None:
        """Add one more layer."""
        heads: list[Head] = []
        for _ in range(self.random.choice((1, 1, 2))):
            head = self.head(f"h{len(self.heads)}", heads)
            heads.append(head)
            self.heads.append(head)
        new = [out for head in heads for out, _ in head.values]
        units = [self.unit(new) for _ in range(self.random.choice((0, 0, 1, 1, 2)))]
        biases: tuple[tuple[str, Rational], ...] = ()
        if self.random.random() < 0.2:
            biases = ((self.random.choice(new), self.number(Fraction(-1, 2), Fraction(-1, 3), Fraction(1, 4), 1)),)
        self.layers.append(ProgramLayer(tuple(heads), tuple(units), biases))
        self.means = list(dict.fromkeys([*self.means, *new]))

    def unit(self, means: Sequence[str]) -> Unit:
        """Return a relu or a clip of a mean, or of a sum of two."""
        some = list(means) + self.means
        form: Terms = {self.random.choice(some): self.number(1, 1, -1, -1, Fraction(1, 2))}
        if self.random.random() < 0.2:
            form[self.random.choice([*some, "a", "each"])] = self.number(1, -1)
        clip = self.random.random() < 0.4
        if clip:
            factor = self.number(1, 2, 6)
            form = {name: value * factor for name, value in form.items()}
            form["1"] = self.number(0, Fraction(-1, 2), Fraction(-3, 2), 1)
        elif self.random.random() < 0.3:
            form["1"] = self.number(Fraction(-1, 2), Fraction(-1, 3), Fraction(1, 2))
        out = self.out() if self.random.random() < 0.7 else self.random.choice(some)
        if clip:
            self.bits.append(out)
        elif out not in self.means:
            self.means.append(out)
        return Unit(((out, self.number(1, 1, -1, Fraction(1, 2))),), Affine.of(form), clip)

    def add(self, heads: Sequence[Head], units: Sequence[Unit] = ()) -> None:
        """Add a layer of given heads and hidden units."""
        self.layers.append(ProgramLayer(tuple(heads), tuple(units)))
        self.heads += heads
        self.means = list(dict.fromkeys([*self.means, *(out for head in heads for out, _ in head.values)]))

    def comparison(self) -> None:
        """Add the difference of two means over ties of their own, with an offset."""
        self.offsets["x0"] = self.random.choice(FINE)
        heads: list[Head] = []
        for sign in (1, -1):
            key = self.random.choice(KEYS) if self.random.random() < 0.7 else self.letters()
            mask = Mask.NONE if self.random.random() < 0.7 else self.mask()
            value = Affine.of({self.random.choice(["a", "b", "odd", "odd", "last"]): sign})
            heads.append(_average(f"h{len(heads)}", mask, [({"1": 1}, key)], "x0", value))
        self.add(heads)
        self.threshold = Fraction(0)

    def balance(self) -> None:
        """Add layers as for brackets: causal means, their positive and negative parts, and the mean of one of
        these.
        """
        self.offsets |= {"x0": "", "x1": "", "x2": "", "x3": self.random.choice([text for text in FINE if "^" in text])}
        score = self.random.choice([[], [({"1": 1}, self.random.choice(KEYS))]])
        mask = self.random.choice([Mask.FUTURE, Mask.FUTURE, Mask.PAST, Mask.NONE])
        steps: list[Terms] = [{"a": 1, "b": -1}, {"a": 1, "b": -1}, {"a": 1, "1": Fraction(-1, 2)}, {"a": 2, "b": -1}]
        units = [Unit((("x1", 1),), Affine.of({"x0": 1}), False), Unit((("x2", 1),), Affine.of({"x0": -1}), False)]
        self.add([_average("h0", mask, score, "x0", Affine.of(self.random.choice(steps)))], units)
        later = self.random.choice([[], [], [], [({"1": 1}, self.random.choice(KEYS))]])
        units = [Unit((("x3", self.number(-1, -1, 1)),), Affine.of({self.random.choice(["x1", "x2"]): 1}), False)]
        mean = _average(
            "h1",
            Mask.NONE if self.random.random() < 0.7 else self.mask(),
            later,
            "x3",
            Affine.of({"x2": self.number(-1, -1, 1)}),
        )
        self.add([mean], self.random.choice([[], units]))
        self.threshold = Fraction(0)

    def program(self) -> Program:
        """Return the whole model."""
        kind = self.pick((6, "any"), (2, "comparison"), (1.5, "balance"))
        if kind == "any":
            for _ in range(self.random.choice((1, 1, 2, 2, 2, 3))):
                self.layer()
        else:
            self.comparison() if kind == "comparison" else self.balance()
            if self.random.random() < 0.3:
                self.layer()
        written = self.layers[-1].written
        output = written[-1] if kind != "any" else self.random.choice(written)
        if not self.offsets.get(output) and self.random.random() < 0.5:
            self.offsets[output] = self.random.choice(OFFSETS)
        letters = [Letter("a", frozenset("a")), Letter("b", frozenset("b")), Letter("ab", frozenset("ab"))]
        if self.bos and self.random.random() < 0.2:
            letters.append(Letter("ab", frozenset([BOS]), self.number(1, 2)))
        encodings = [Encoding(name, expression(text)) for name, text in ENCODINGS.items()]
        encodings += [Encoding(name, expression(text)) for name, text in self.offsets.items() if text]
        program = Program(
            alphabet=self.alphabet,
            letters=tuple(letters),
            encodings=tuple(one for one in encodings if self.bos or one.name != "start"),
            layers=tuple(self.layers),
            output=output,
            coordinates=("1", *self.words, *ENCODINGS, *self.offsets),
            bos=self.bos,
            threshold=self.threshold,
            reading=self.random.choice(["last", "last", "first"]),
        )
        if self.random.random() < 0.15:
            return replace(program, outputs=(("a", output),))
        return program


def _average(
    name: str,
    mask: Mask,
    score: Sequence[tuple[Mapping[str, Rational], Mapping[str, Rational]]],
    out: str,
    value: Affine,
) -> Head:
    """Return an average head that writes to one coordinate."""
    pairs = tuple((Affine.of(query), Affine.of(key)) for query, key in score)
    return Head(name, mask, Weighting.AVERAGE, ((out, value),), pairs)


def tied_model(seed: int) -> Program:
    """Return the random model of a seed."""
    return TiedModel(Random(seed)).program()
