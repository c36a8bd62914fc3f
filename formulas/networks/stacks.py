"""Train networks of two layers with several heads: `python -m formulas.networks.stacks FOLDER NAME ...`.

The networks are small GPT-2s like those that `train` makes, for words of at most 64 symbols. Weights decay (AdamW), as
is usual, so that no part of a network is larger than it has to be. Networks like these are what proofs of two layers
are measured with; they are not shipped. This needs no PyTorch: the passes are those of `formulas.networks.passes`, in
float64. Weights are rounded to float32 at the end. Seeds are fixed, so one machine always writes the same files.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from formulas.networks.passes import Back, Floats, Parts, Weights, causal_attention
from formulas.networks.train import Ids, NextSymbol, Plan, initial, save

DEPTH_2 = NextSymbol("ab", ({"a": 1}, {"a": 2, "b": 0}, {"b": 1}), frozenset({0}))
SORTED = NextSymbol("ab", ({"a": 0, "b": 1}, {"b": 1}), frozenset({0, 1}))
LANGUAGES = {"dyck1_depth2": (DEPTH_2, "/(a(ab)*b)*/"), "sorted": (SORTED, "/a*b*/")}
"""Each language with the expression of its specification."""
MOMENTS = 0.9, 0.99


@dataclass(frozen=True)
class Training:
    """A network, the language, and how strongly weights decay: each step multiplies matrices by 1 - rate decay."""

    plan: Plan
    language: str
    decay: float


def training(language: str, heads: int) -> Training:
    """Return the training of a network for a language of LANGUAGES."""
    task, _ = LANGUAGES[language]
    plan = Plan(task, 2, heads, rows=65, steps=1200, batch=32, rate=4e-3)
    return Training(plan, language, decay=0.5)


TRAININGS = {f"{language}_2x{heads}": training(language, heads) for language in LANGUAGES for heads in (2, 4)}
"""All trainings, by name: the language, the layers, and the heads of each layer."""


class DeepPasses(Parts):
    """Passes through a GPT-2. Backward passes add up `gradient`, by parameter."""

    def __init__(self, plan: Plan, weights: Weights) -> None:
        super().__init__(weights)
        self.plan = plan

    def outputs(self, read: Ids) -> tuple[Floats, Callable[[Floats], None]]:
        """Return the outputs [count, rows, V] for token ids [count, rows], and the backward pass."""
        embedding, rows = self.weights["transformer.wte.weight"], read.shape[1]
        x, steps = embedding[read] + self.weights["transformer.wpe.weight"][:rows], list[Back]()
        for layer in range(self.plan.layers):
            for part in (self._attention, self._mlp):
                x, back = part(x, f"h.{layer}")
                steps.append(back)
        last, to_last = self.norm(x, "ln_f")

        def backward(by_output: Floats) -> None:
            flat = by_output.reshape(-1, len(embedding))
            self.gradient["transformer.wte.weight"] += flat.T @ last.reshape(-1, self.plan.width)
            by_x = to_last(by_output @ embedding)
            for back in reversed(steps):
                by_x = by_x + back(by_x)
            self.gradient["transformer.wpe.weight"][:rows] += by_x.sum(axis=0)
            np.add.at(self.gradient["transformer.wte.weight"], read, by_x)

        return last @ embedding.T, backward

    def inverse_root(self, variance: Floats) -> Floats:
        """Return 1 / sqrt(variance), rounded as it was when these networks were measured."""
        return np.asarray(1 / np.sqrt(variance))

    def _attention(self, x: Floats, block: str) -> tuple[Floats, Back]:
        """Return x with what attention adds; the backward pass returns what it adds to the gradient by x."""
        normed, to_x = self.norm(x, f"{block}.ln_1")
        joint, to_normed = self.linear(normed, f"{block}.attn.c_attn")
        mixed, to_joint = causal_attention(joint, self.plan.heads)
        added, to_mixed = self.linear(mixed, f"{block}.attn.c_proj")
        return x + added, lambda by_x: to_x(to_normed(to_joint(to_mixed(by_x))))

    def _mlp(self, x: Floats, block: str) -> tuple[Floats, Back]:
        """Return x with what the MLP adds; the backward pass returns what it adds to the gradient by x."""
        normed, to_x = self.norm(x, f"{block}.ln_2")
        added, to_normed = self.mlp(normed, block)
        return x + added, lambda by_x: to_x(to_normed(by_x))


def trained(one: Training, report: int = 200) -> Weights:
    """Train a network and return its weights. The loss is the mean of log(1 + e^-margin) over all outputs."""
    plan = one.plan
    rng = np.random.default_rng(plan.seed)
    weights = {name: tensor.astype(np.float64) for name, tensor in initial(plan).items()}
    first, second = ({name: np.zeros_like(tensor) for name, tensor in weights.items()} for _ in range(2))
    for step in range(plan.steps):
        read = plan.task.draw(rng, plan.batch, plan.rows)
        signs = plan.task.expected(read).astype(np.float64)
        passes = DeepPasses(plan, weights)
        outputs, backward = passes.outputs(read)
        found = signs * outputs
        backward(-signs / (1 + np.exp(np.clip(found, -60, 60))) / found.size)
        norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in passes.gradient.values()))
        # The rate rises over 50 steps, then falls to 0 along a cosine.
        rate = plan.rate * min(1, (step + 1) / 50) * 0.5 * (1 + math.cos(math.pi * step / plan.steps))
        for name, gradient in passes.gradient.items():
            clipped = gradient * min(1, 1 / (norm + 1e-9))
            first[name] += (1 - MOMENTS[0]) * (clipped - first[name])
            second[name] += (1 - MOMENTS[1]) * (clipped**2 - second[name])
            near = first[name] / (1 - MOMENTS[0] ** (step + 1))
            far = second[name] / (1 - MOMENTS[1] ** (step + 1))
            if weights[name].ndim > 1:
                weights[name] *= 1 - rate * one.decay
            weights[name] -= rate * near / (np.sqrt(far) + 1e-8)
        if step % report == 0:
            print(f"{step:6} loss {np.logaddexp(0, -found).mean():.6f}, least margin {found.min():.3f}", flush=True)
    return weights


def write(name: str, folder: Path) -> Path:
    """Train a network into a folder of this name, write its specification beside it, and return that file's path."""
    one = TRAININGS[name]
    save(one.plan, {key: tensor.astype(np.float32) for key, tensor in trained(one).items()}, folder / name)
    tokens = "alphabet: a b\ntokens: a b <bos> <sep> <eos> <pad>\ninput: <bos> *\nat: each\ndecide: above 0\n"
    place = folder / f"{name}.spec"
    place.write_text(f"network: {name}\n{tokens}next: {LANGUAGES[one.language][1]}\n", encoding="utf-8")
    return place


def main() -> None:
    """Train the networks that the command line names, or all."""
    reader = argparse.ArgumentParser(description="Train networks with several heads.")
    reader.add_argument("folder", type=Path, help="the folder to write to")
    reader.add_argument("names", nargs="*", metavar="NAME", help=f"networks to train: {', '.join(TRAININGS)}")
    arguments = reader.parse_args()
    for name in arguments.names or TRAININGS:
        print(write(name, arguments.folder))


if __name__ == "__main__":
    main()
