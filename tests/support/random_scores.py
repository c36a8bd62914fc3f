"""Random scores over letters, an earlier head and positions, computed by definition, and a check of claims about
rows.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from tests.support.language import parse_arith
from tests.support.model import Affine, Encoding, Head, Letter, Mask, Program, ProgramLayer, Unit, Weighting

HALF = Fraction(1, 2)
LETTERS = "abc"
SEEN: dict[Mask, Callable[[int, int], bool]] = {
    Mask.NONE: lambda i, j: True,
    Mask.FUTURE: lambda i, j: j <= i,
    Mask.STRICT_FUTURE: lambda i, j: j < i,
    Mask.PAST: lambda i, j: j >= i,
    Mask.STRICT_PAST: lambda i, j: j > i,
}
FORMS = ("a", "b", "c", "one", "edge", "ab", "first a")
"""Coordinates of random scores: the letters, 1, [i = 1], a or b, and [position 1 holds a]."""


@dataclass(frozen=True)
class RandomScore:
    """A random score as a sum of (coordinate of the query, coordinate of the key, factor), and the value of each
    letter.
    """

    bos: bool
    mask: Mask
    terms: tuple[tuple[str, str, int], ...]
    tie: Fraction
    values: tuple[int, int, int]

    @property
    def program(self) -> Program:
        """The program of the score: layer 1 computes `first a` and `ab`, and layer 2 has the head `h`."""
        pairs = [(Affine.coordinate(q), Affine.of({k: factor})) for q, k, factor in self.terms]
        pairs.append((Affine.coordinate("one"), Affine.of({"i/n": self.tie})))
        first = Head(
            "find", Mask.NONE, Weighting.AVERAGE, (("first a", Affine.coordinate("a")),),
            ((Affine.coordinate("one"), Affine.coordinate("edge")),),
        )  # fmt: skip
        read = Affine.of(dict(zip(LETTERS, self.values, strict=True)))
        head = Head("h", self.mask, Weighting.AVERAGE, (("out", read),), tuple(pairs))
        encodings = {"one": "1", "edge": "[i=1]", "i/n": "i/n"}
        unit = Unit((("ab", 1),), Affine.of({"a": 1, "b": 1}))
        return Program(
            alphabet=tuple(LETTERS),
            letters=tuple(Letter(letter, frozenset(letter)) for letter in LETTERS),
            encodings=tuple(Encoding(name, parse_arith(text)) for name, text in encodings.items()),
            layers=(ProgramLayer((first,), (unit,)), ProgramLayer((head,))),
            output="out",
            bos=self.bos,
            threshold=HALF,
        )

    def at(self, word: str, i: int) -> dict[str, int]:
        """Return the coordinates of position i, by definition."""
        held = {letter: int(i > 0 and word[i - 1] == letter) for letter in LETTERS}
        own = {"one": 1, "edge": int(i == 1), "ab": held["a"] + held["b"], "first a": int(word[0] == "a")}
        return held | own

    def rows(self, word: str) -> Iterator[tuple[int, dict[int, Fraction]]]:
        """Yield each query with the scores of the keys that it sees."""
        n = len(word)
        places = [self.at(word, i) for i in range(n + 1)]
        for i in range(1 - self.bos, n + 1):
            yield (
                i,
                {
                    j: sum((Fraction(f * places[i][q] * places[j][k]) for q, k, f in self.terms), self.tie * j / n)
                    for j in range(1 - self.bos, n + 1)
                    if SEEN[self.mask](i, j) or not j
                },
            )

    def read(self, word: str, j: int) -> int:
        """Return the value that the head reads at key j."""
        return sum(value * self.at(word, j)[letter] for letter, value in zip(LETTERS, self.values, strict=True))


def random_score(random: Random) -> RandomScore:
    """Return a score of a few products of coordinates, sometimes with a tie-break."""
    terms = tuple(
        (random.choice(FORMS), random.choice(FORMS), random.choice((-2, -1, 1, 1, 2, 3)))
        for _ in range(random.randint(1, 4))
    )
    bos = random.random() < 0.7
    mask = random.choice([mask for mask in Mask if bos or not mask.strict])
    tie = random.choice((Fraction(0), Fraction(0), Fraction(0), Fraction(1, 4), Fraction(-1, 8)))
    return RandomScore(bos, mask, terms, tie, random.choice(((1, 0, 0), (1, 1, 0), (1, 1, 1))))


def order_of(i: int, n: int) -> int:
    """Return the number of the kind of position i: 0 beginning of sequence, 1 first, 2 between, 3 last."""
    return 0 if not i else 1 if i == 1 else 3 if i == n else 2


@dataclass(frozen=True)
class Claim:
    """Claims about the rows of queries at one kind of position: the least gap at position i of length n (None: all
    scores are equal), which keys are largest, and whether the values of all maxima are one number (`agreed`).
    """

    gap: Callable[[int, int], Fraction | None]
    unique: bool
    equal: bool
    first: bool
    winners: tuple[int, ...]
    agreed: bool


def require(score: RandomScore, claims: Mapping[int, Claim], word: str) -> None:
    """Assert that the claims about rows are true on one word."""
    n = len(word)
    for i, scores in score.rows(word):
        claim = claims[order_of(i, n)]
        top = max(scores.values())
        best = [j for j, value in scores.items() if value == top]
        below = [top - value for value in scores.values() if value != top]
        if below:
            gap = claim.gap(i, n)
            assert gap is not None
            assert gap <= min(below)
        assert not claim.unique or len(best) == 1
        assert not claim.equal or not below
        assert not claim.first or 0 in best
        if claim.winners:
            assert sorted({order_of(j, n) for j in best}) == [*claim.winners]
        if claim.agreed:
            assert len({score.read(word, j) for j in best}) == 1
