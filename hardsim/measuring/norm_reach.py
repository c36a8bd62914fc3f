"""The reach of the epsilon of layer norms (`--norm-epsilon`): a proved length, and the shortest wrong word found.

With an epsilon above 0 a network of regime `layer-norm` is a Lipschitz function, so that it is wrong on some long words
if it nests comparisons. The proof is that of `proof.formulas.normed`. The search runs words in float64, and those that
look wrong in ball arithmetic: only what balls decide is reported. It tries every word of short lengths; of longer ones
words of few runs of symbols, and random ones. So shorter words than the one that is reported may be wrong, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError
from hardsim.lang.desugar import desugar
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring import critical as criticals
from hardsim.network.numbers import Mask
from hardsim.network.transformer import Transformer
from hardsim.proof.formulas.normed import proved_to
from hardsim.proof.shared.result import NotProved
from hardsim.records import Exact, Natural, Record
from hardsim.run.soft import SoftModel, side
from hardsim.targets.claims import HeadsClaim
from hardsim.targets.result import FormulaText, InputKind, InputName, ModelFacts, Title, Word
from hardsim.targets.subject import Subject

BEYOND, FARTHEST_WORD, TRIED = 8, 160, 6
"""Factor of the proved length up to which words are tried, the greatest length of a word, and the number of words of a
length that are run in balls."""
UNUSED = (criticals.UNUSED[0], "the reach of an epsilon has a proof and a search of its own")
"""Options that do not apply, and the reason."""
SYMBOLS = 3
"""Most symbols, the first of the alphabet, of which words with few runs are made."""
EVERY, RANDOM = 1_024, 256
"""The greatest number of words of a length that are all tried, and the number of random words of other lengths."""


@dataclass(frozen=True, slots=True, repr=False)
class NormReach(Record):
    """The lengths up to which a network of regime layer-norm is right if its norms have an epsilon above 0."""

    input: InputName
    kind: InputKind
    formula: FormulaText
    title: Title
    model: ModelFacts
    """The network, whose own norms have the epsilon 0."""
    epsilon: Exact
    """The epsilon of every norm."""
    proved_to: Natural | None
    """Every word of at most this many symbols is right, which is proved; null: every word of every length is."""
    word: Word | None
    """The shortest wrong word that was found; null: none was found, or none was sought since every length is proved."""
    tried_to: Natural
    """Length of the longest words that were tried; 0: none were."""

    @property
    def summary(self) -> str:
        """The two ends as one sentence."""
        if self.proved_to is None:
            return f"epsilon {self.epsilon}: every word of every length is right (proved)"
        right = f"epsilon {self.epsilon}: every word up to length {self.proved_to} is right (proved)"
        if self.word is None:
            return f"{right}; no wrong word was found up to length {self.tried_to}"
        return f"{right}; the shortest wrong word found has length {len(self.word)}"


def norm_reach(subject: Subject, epsilon: Fraction, report: Callable[[int, int], None] | None = None) -> NormReach:
    """Return how far a network of regime `layer-norm` is right with an epsilon. `report` is called with the length that
    is searched and the last one. Raises InputError for any other network."""
    claim = subject.prover()
    layers = subject.model.layers if subject.one_network else ()
    if not isinstance(claim, HeadsClaim) or claim.heads_only or not layers or any(one.norm_2 != 0 for one in layers):
        message = f"{subject.name}: --norm-epsilon is for formulas in regime layer-norm"
        formula = isinstance(claim, HeadsClaim) and not claim.heads_only
        hint = "Add --regime layer-norm; or leave" if formula else "A model states the epsilon of its norms. Leave"
        raise InputError(message, f"{hint} out --norm-epsilon.")
    if not subject.model.normed:
        raise InputError(f"{subject.name}: its network has no layer norms", "Add --regime layer-norm.")
    model = replace(subject.model, layers=tuple(replace(layer, norm_2=epsilon) for layer in layers))
    try:
        reach = proved_to(model, desugar(claim.formula))
    except NotProved:
        reach = 0
    word, last = None, 0
    if reach is not None:
        last = min(FARTHEST_WORD, BEYOND * max(reach, 4))
        word = _wrong(model, subject, reach + 1, last, report)
    return NormReach(
        subject.name, subject.kind, subject.formula_text, subject.file_title, subject.facts, epsilon, reach, word, last
    )


def _wrong(
    model: Transformer, subject: Subject, first: int, last: int, report: Callable[[int, int], None] | None
) -> Word | None:
    """Return the first word that balls show to be wrong, among those of these lengths that float64 takes for wrong."""
    symbols = tuple(subject.alphabet)
    floats, balls = _Floats(model), SoftModel(model, "ball", rounds=False)
    for n in range(first, last + 1):
        if report is not None:
            report(n, last)
        every = len(symbols) ** n <= EVERY
        words = list(
            product(symbols, repeat=n)
            if every
            else dict.fromkeys((*_words(symbols[:SYMBOLS], n), *_random(symbols, n)))
        )
        expected = [bool(answer) for answer in subject.answers(words) or ()]
        outputs = floats.outputs(words).tolist()
        doubtful = [k for k, value in enumerate(outputs) if (value > 0) is not expected[k]]
        for k in doubtful[:TRIED]:
            found = balls.run(words[k], lambda trace: side(trace.output(model), Fraction(0)) is not None)
            with found.precision():
                answer = side(found.trace.output(model), Fraction(0))
            if answer is not None and answer is not expected[k]:
                return words[k]
    return None


def _words(symbols: Sequence[str], n: int) -> Iterator[Word]:
    """Yield words of length n with up to three runs of symbols, of which two are nearly equally long, or one is
    short."""
    yield from ((symbol,) * n for symbol in symbols)
    for a, b in permutations(symbols, 2):
        for cut in range(1, n):
            yield (a,) * cut + (b,) * (n - cut)
        for p in range(1, n - 1):
            for q in (p - 1, p, p + 1):
                if 0 < q < n - p:
                    yield (a,) * p + (b,) * q + (a,) * (n - p - q)
        yield from (((a, b) * n)[:n], ((a, b) * n)[1 : n + 1])


def _random(symbols: Sequence[str], n: int) -> Iterator[Word]:
    """Yield random words of length n, in each of which symbols have shares of their own."""
    rng = np.random.default_rng(n)
    for shares in rng.dirichlet(np.ones(len(symbols)), RANDOM):
        yield tuple(symbols[k] for k in rng.choice(len(symbols), n, p=shares).tolist())


class _Floats:
    """A network of means and norms in float64, without bounds: it only chooses words."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self.embedding = np.array(model.embedding.dense(), dtype=np.float64)
        self.layers = []
        for layer in model.layers:
            heads = [(head.mask, np.array(head.w_v.dense(), dtype=np.float64).T) for head in layer.heads]
            inner, outer = (np.zeros((model.dimension, len(layer.ffn.units))) for _ in range(2))
            for number, unit in enumerate(layer.ffn.units):
                for place, value in unit.form:
                    inner[place, number] = float(value)
                for place, value in unit.outs:
                    outer[place, number] = float(value)
            self.layers.append((heads, inner, outer.T, float(layer.norm_2 or 0)))

    def outputs(self, words: Sequence[Word]) -> NDArray[np.float64]:
        """Return the output of each word, all of one length."""
        index = self.model.symbol_index
        rows = np.array([[len(index), *map(index.__getitem__, word)] for word in words])
        x = self.embedding[rows]
        counts = np.arange(1, x.shape[1] + 1, dtype=np.float64)[None, :, None]
        for heads, inner, outer, epsilon in self.layers:
            total = x
            for mask, w_v in heads:
                values = x @ w_v
                mean = np.cumsum(values, axis=1) / counts
                total = total + (mean if mask is Mask.FUTURE else mean[:, -1:])
            total = total + np.maximum(total @ inner, 0) @ outer
            total = total - total.mean(-1, keepdims=True)
            x = total / np.sqrt((total * total).mean(-1, keepdims=True) + epsilon)
        found: NDArray[np.float64] = x[:, -1, self.model.output]
        return found
