"""Train `dyck1_depth3_repaired`: `python -m formulas.networks.repair`. This needs no PyTorch.

The training begins with the weights of `dyck1_depth3` and is led by counterexamples. After every few steps, a search
finds for each length, state and last symbol a prefix whose answer is as wrong as possible (or as close to wrong), and
the next steps train on these. Once the search finds only answers that are right by a distance, `prove_external` decides
whether the network is right on every word to the end of its table of positions; if not, its shortest wrong word is
trained on, too.

The passes are those of `formulas.networks.passes`, in float64; weights are rounded to float32 before they are judged.
The search shares no code with the prover.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from formulas.networks.passes import Back, Floats, Parts, Weights, causal_attention
from formulas.networks.train import DEPTH_3, HERE, PLANS, Ids, NextSymbol, Plan, save
from hardsim.proof.external.prove import ExternalProof, prove_external
from hardsim.targets.base import ModelOptions
from hardsim.targets.external import External
from hardsim.targets.opening import read_input

BROKEN = "dyck1_depth3"
REPAIRED = "dyck1_depth3_repaired"
SEED = 1
ROUNDS = 30
"""Greatest number of rounds: a search, then STEPS steps of training."""
STEPS = 40
RATE = 1e-3
DISTANCE = 2.0
"""Margins that are less than about this are trained on."""
GOAL = 5.0
"""Least margin of the words that the search finds before a proof is attempted."""
HARDEST, OLDER, KEPT, DRAWN = 8, 8, 8, 8
"""Numbers of words in a batch: of those found last, of all that were found, hardest of the last batch, random walks."""
FOUND = 192
"""Number of words that each search adds, those of the least margins."""


class Passes(Parts):
    """Passes through a GPT-2 of one layer. Backward passes add up `gradient`, by parameter."""

    def __init__(self, weights: Weights, heads: int = 1) -> None:
        super().__init__(weights)
        self.heads = heads
        self.width = self.weights["transformer.wte.weight"].shape[1]

    def outputs(self, read: Ids) -> tuple[Floats, Callable[[Floats], None]]:
        """Return the outputs [count, rows, V] for token ids [count, rows], and the backward pass."""
        rows = read.shape[1]
        x = self.embedded(read, np.arange(rows))
        joint, to_x = self.joint(x)
        mixed, to_joint = causal_attention(joint, self.heads)
        found, to_mixed = self.after(x, mixed)

        def back(by_output: Floats) -> None:
            by_x, by_mixed = to_mixed(by_output)
            by_x = by_x + to_x(to_joint(by_mixed))
            self.gradient["transformer.wpe.weight"][:rows] += by_x.sum(axis=0)
            for token, row in enumerate(self.gradient["transformer.wte.weight"]):
                row += by_x[read == token].sum(axis=0)

        return found, back

    def embedded(self, tokens: Ids, positions: Ids) -> Floats:
        """Return the vectors that the layer reads."""
        return self.weights["transformer.wte.weight"][tokens] + self.weights["transformer.wpe.weight"][positions]

    def joint(self, x: Floats) -> tuple[Floats, Back]:
        """Return the joint queries, keys and values."""
        normed, to_x = self.norm(x, "h.0.ln_1")
        found, to_normed = self.linear(normed, "h.0.attn.c_attn")
        return found, lambda by_joint: to_x(to_normed(by_joint))

    def after(self, x: Floats, mixed: Floats) -> tuple[Floats, Callable[[Floats], tuple[Floats, Floats]]]:
        """Return the outputs if the heads return `mixed`; the backward pass gives the gradients by x and by `mixed`."""
        added, to_mixed = self.linear(mixed, "h.0.attn.c_proj")
        middle = x + added
        normed, to_middle = self.norm(middle, "h.0.ln_2")
        result, to_normed = self.mlp(normed, "h.0")
        last, to_end = self.norm(middle + result, "ln_f")
        found, to_last = self.unembedded(last)

        def back(by_output: Floats) -> tuple[Floats, Floats]:
            by_end = to_end(to_last(by_output))
            by_middle = by_end + to_middle(to_normed(by_end))
            return by_middle, to_mixed(by_middle)

        return found, back

    def unembedded(self, last: Floats) -> tuple[Floats, Back]:
        """Return the outputs of vectors [..., d] after the last norm; the output map is the embedding."""
        embedding = self.weights["transformer.wte.weight"]

        def back(by_output: Floats) -> Floats:
            flat = by_output.reshape(-1, len(embedding))
            self.gradient["transformer.wte.weight"] += flat.T @ last.reshape(-1, self.width)
            return by_output @ embedding

        return last @ embedding.T, back


@dataclass(frozen=True)
class Prefixes:
    """Prefixes with their margins, hardest first: token ids [count, rows], of which the first `lengths` + 1 count."""

    read: Ids
    lengths: Ids
    margins: Floats


class Search:
    """A search for the prefixes of a language whose answers are closest to wrong.

    For each length, state before the last symbol and last symbol, it follows the gradient of the least margin by the
    head's output. To first order, a symbol at a position changes this output by its weight times the distance of its
    value from the output, so the prefix that is worst to first order is a longest path through the automaton.
    """

    steps = 8

    def __init__(self, task: NextSymbol, rows: int) -> None:
        self.task, self.rows = task, rows
        self.table = task.table()
        moves = [
            [(source, symbol) for source, symbol in np.argwhere(self.table == state).tolist()]
            for state in range(len(self.table))
        ]
        most = max(map(len, moves))
        self.barred = np.array([[0.0] * len(one) + [-np.inf] * (most - len(one)) for one in moves])
        padded = np.array([one + [(0, 0)] * (most - len(one)) for one in moves])
        self.sources, self.symbols = padded[..., 0], padded[..., 1]
        classes, reached = [], {0}
        for length in range(1, rows):
            classes += [(length, *move) for move in np.argwhere(self.table >= 0).tolist() if move[0] in reached]
            reached = {int(target) for state in reached for target in self.table[state] if target >= 0}
        self.lengths, self.before, self.last = np.array(classes).T
        self.signs = task.signs()[self.table[self.before, self.last]]

    def __call__(self, weights: Weights) -> Prefixes:
        """Return the worst prefix that is found of each class, from several starting points."""
        passes, symbols, count = Passes(weights), len(self.task.symbols), len(self.lengths)
        x = passes.embedded(np.arange(symbols), np.arange(self.rows)[:, None])
        x[0] = passes.embedded(np.array(symbols), np.array(0))  # <bos>
        query, key, value = np.split(passes.joint(x)[0], 3, axis=2)
        scores = np.einsum("cw,jsw->cjs", query[self.lengths, self.last], key) * passes.width**-0.5
        scores[np.arange(self.rows) > self.lengths[:, None]] = -np.inf
        weight = np.exp(scores - scores.max(axis=(1, 2), keepdims=True))
        words, margins = np.zeros((count, self.rows), dtype=np.int64), np.full(count, np.inf)
        for start in np.eye(symbols):
            mixed = np.einsum("cjs,s,jsw->cw", weight, start, value) / (weight @ start).sum(axis=1, keepdims=True)
            for _ in range(self.steps):
                _, slopes = self._least(passes, x, mixed)
                here = (slopes * mixed).sum(axis=1)
                found = self._longest(weight * (here[:, None, None] - np.einsum("cw,jsw->cjs", slopes, value)))
                chosen = np.take_along_axis(weight, found[:, :, None], axis=2)[:, :, 0]
                reached = np.einsum("cj,cjw->cw", chosen, value[np.arange(self.rows), found])
                reached /= chosen.sum(axis=1, keepdims=True)
                least, _ = self._least(passes, x, reached)
                better = least < margins
                words[better], margins[better] = found[better], least[better]
                mixed = (mixed + reached) / 2
        words[:, 0] = symbols
        order = np.argsort(margins, kind="stable")
        return Prefixes(words[order], self.lengths[order], margins[order])

    def continued(self, read: Ids, lengths: Ids, rng: np.random.Generator) -> Ids:
        """Return words [count, rows] that begin with prefixes of these lengths and go on as random walks, in each of
        which some symbols are preferred."""
        count, read = len(read), read.copy()
        allowed = np.where(self.table >= 0, 0, -np.inf)
        prefer = rng.normal(0, 3, (count, *allowed.shape)) + allowed
        state, every = np.zeros(count, dtype=np.int64), np.arange(count)
        for place in range(1, self.rows):
            drawn = np.argmax(prefer[every, state] + rng.gumbel(size=(count, allowed.shape[1])), axis=1)
            read[:, place] = np.where(place <= lengths, read[:, place], drawn)
            state = self.table[state, read[:, place]]
        return read

    def _least(self, passes: Passes, x: Floats, mixed: Floats) -> tuple[Floats, Floats]:
        """Return the least margin of each class where the head returns `mixed`, and its gradient by that."""
        outputs, back = passes.after(x[self.lengths, self.last], mixed)
        signed = outputs * self.signs
        at = np.arange(len(signed)), signed.argmin(axis=1)
        by_output = np.zeros_like(signed)
        by_output[at] = self.signs[at]
        return signed[at], back(by_output)[1]

    def _longest(self, gains: Floats) -> Ids:
        """Return the prefix of each class [count, rows] with the greatest sum of gains [count, rows, symbols]."""
        every = np.arange(len(gains))
        value = np.full((len(gains), len(self.table)), -np.inf)
        value[:, 0] = 0
        taken = np.zeros((self.rows, *value.shape), dtype=np.int64)
        for place in range(1, self.rows):
            sums = value[:, self.sources] + gains[:, place, self.symbols] + self.barred
            taken[place] = sums.argmax(axis=2)
            value = sums.max(axis=2)
        found = np.zeros((len(gains), self.rows), dtype=np.int64)
        found[every, self.lengths] = self.last
        state = self.before.copy()
        for place in range(self.rows - 2, 0, -1):
            inside = place < self.lengths
            move = taken[place, every, state]
            found[inside, place] = self.symbols[state, move][inside]
            state = np.where(inside, self.sources[state, move], state)
        return found


class Adam:
    """The weights in training, and Adam's means of their gradients."""

    def __init__(self, weights: Weights) -> None:
        self.weights, self.steps = dict(weights), 0
        self.means = {name: np.zeros_like(tensor) for name, tensor in weights.items()}
        self.squares = {name: np.zeros_like(tensor) for name, tensor in weights.items()}

    def step(self, gradient: Weights, rate: float) -> None:
        """Change the weights against the gradient, which is scaled to a norm of at most 1."""
        norm = math.sqrt(sum(float(np.square(part).sum()) for part in gradient.values()))
        self.steps += 1
        for name, part in gradient.items():
            scaled = part / max(1.0, norm)
            self.means[name] = 0.9 * self.means[name] + 0.1 * scaled
            self.squares[name] = 0.99 * self.squares[name] + 0.01 * np.square(scaled)
            mean, square = self.means[name] / (1 - 0.9**self.steps), self.squares[name] / (1 - 0.99**self.steps)
            self.weights[name] = self.weights[name] - rate * mean / (np.sqrt(square) + 1e-8)


def trained_on(task: NextSymbol, passes: Passes, read: Ids) -> Floats:
    """Return the least margin of each word; the gradient of the loss, the mean of log(1 + e^(DISTANCE - margin)) over
    all outputs, is added to that of the passes."""
    outputs, back = passes.outputs(read)
    signs = task.expected(read).astype(np.float64)
    margins: Floats = outputs * signs
    back(-signs / (1 + np.exp(margins - DISTANCE)) / margins.size)
    return np.asarray(margins.min(axis=(1, 2)))


def judged(plan: Plan, weights: Weights) -> ExternalProof:
    """Return what is proved of the network with these weights, rounded to float32."""
    with tempfile.TemporaryDirectory() as place:
        save(plan, rounded(weights), Path(place) / REPAIRED)
        shutil.copy(HERE / f"{REPAIRED}.spec", place)
        external = read_input(str(Path(place) / f"{REPAIRED}.spec")).target(ModelOptions())
        assert isinstance(external, External)
        return prove_external(external.network, external.oracle)


def rounded(weights: Weights) -> dict[str, npt.NDArray[np.float32]]:
    """Return the weights as they are stored."""
    return {name: tensor.astype(np.float32) for name, tensor in weights.items()}


def repair(plan: Plan, weights: Weights, rounds: int = ROUNDS) -> tuple[Weights, ExternalProof]:
    """Train from some weights until the network is proved right to the end of its table, or for a number of rounds.
    Return the weights and what is proved of them."""
    rng, adam = np.random.default_rng(SEED), Adam(weights)
    search = Search(DEPTH_3, plan.rows)
    pool = kept = np.zeros((0, plan.rows), dtype=np.int64)
    for number in range(rounds + 1):
        found = search({name: tensor.astype(np.float64) for name, tensor in rounded(adam.weights).items()})
        wrong = found.lengths[found.margins < 0]
        first = f", the shortest of {wrong.min()} symbols" if len(wrong) else ""
        print(f"round {number}: least margin {found.margins[0]:.2f}, {len(wrong)} wrong prefixes{first}", flush=True)
        pool = np.concatenate([search.continued(found.read[:FOUND], found.lengths[:FOUND], rng), pool])
        if found.margins[0] >= GOAL or number == rounds:
            proof = judged(plan, adam.weights)
            print(f"proved to {proof.proved} of {proof.longest}", flush=True)
            if proof.proved == proof.longest or number == rounds:
                return adam.weights, proof
            if proof.wrong is not None:
                word = [DEPTH_3.symbols.index(symbol) for symbol in proof.wrong.word]
                read = np.zeros((HARDEST, plan.rows), dtype=np.int64)
                read[:, 0], read[:, 1 : len(word) + 1] = len(DEPTH_3.symbols), word
                pool = np.concatenate([search.continued(read, np.full(HARDEST, len(word)), rng), pool])
        for step in range(number * STEPS, (number + 1) * STEPS):
            rows = np.concatenate([rng.integers(0, FOUND, HARDEST), rng.integers(0, len(pool), OLDER)])
            read = np.concatenate([kept, pool[rows], DEPTH_3.draw(rng, DRAWN, plan.rows)])
            passes = Passes(adam.weights)
            least = trained_on(DEPTH_3, passes, read)
            along = step / (rounds * STEPS)
            adam.step(passes.gradient, RATE * min(1, (step + 1) / 50) * 0.5 * (1 + math.cos(math.pi * along)))
            kept = read[np.argsort(least, kind="stable")[:KEPT]]
    raise AssertionError("the last round returns")


def main() -> None:
    """Train the network and write it."""
    plan, loaded = PLANS[BROKEN], load_file(HERE / BROKEN / "model.safetensors")
    weights, proof = repair(plan, {name: tensor.astype(np.float64) for name, tensor in loaded.items()})
    save(plan, rounded(weights), HERE / REPAIRED)
    if proof.proved < proof.longest:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
