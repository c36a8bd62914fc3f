"""Train networks of two layers with several heads: `python -m formulas.networks.stacks FOLDER NAME ...`.

The networks are small GPT-2s like those that `train` makes, for words of at most 64 symbols. Weights decay (AdamW), as
is usual, so that no part of a network is larger than it has to be. Networks like these are what proofs of two layers
are measured with; they are not shipped. This needs no PyTorch: passes forward and backward are written out here in
float64, and weights are rounded to float32 at the end. Seeds are fixed, so one machine always writes the same files.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from formulas.networks.train import EPSILON, Ids, NextSymbol, Plan, initial, save

Floats = npt.NDArray[np.float64]
Weights = dict[str, Floats]
Back = Callable[[Floats], Floats]
"""A function from the gradient by the values of a step to the gradient by its inputs."""
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


class DeepPasses:
    """Passes through a GPT-2. Backward passes add up `gradient`, by parameter."""

    def __init__(self, plan: Plan, weights: Weights) -> None:
        self.plan, self.weights = plan, weights
        self.gradient = {name: np.zeros_like(tensor) for name, tensor in weights.items()}

    def outputs(self, read: Ids) -> tuple[Floats, Callable[[Floats], None]]:
        """Return the outputs [count, rows, V] for token ids [count, rows], and the backward pass."""
        embedding, rows = self.weights["transformer.wte.weight"], read.shape[1]
        x, steps = embedding[read] + self.weights["transformer.wpe.weight"][:rows], list[Back]()
        for layer in range(self.plan.layers):
            for part in (self._attention, self._mlp):
                x, back = part(x, f"h.{layer}")
                steps.append(back)
        last, to_last = self._norm(x, "ln_f")

        def backward(by_output: Floats) -> None:
            flat = by_output.reshape(-1, len(embedding))
            self.gradient["transformer.wte.weight"] += flat.T @ last.reshape(-1, self.plan.width)
            by_x = to_last(by_output @ embedding)
            for back in reversed(steps):
                by_x = by_x + back(by_x)
            self.gradient["transformer.wpe.weight"][:rows] += by_x.sum(axis=0)
            np.add.at(self.gradient["transformer.wte.weight"], read, by_x)

        return last @ embedding.T, backward

    def _attention(self, x: Floats, block: str) -> tuple[Floats, Back]:
        """Return x with what attention adds; the backward pass returns what it adds to the gradient by x."""
        count, rows, width = x.shape
        heads = self.plan.heads
        size = width // heads
        normed, to_x = self._norm(x, f"{block}.ln_1")
        joint, to_normed = self._linear(normed, f"{block}.attn.c_attn")
        query, key, value = joint.reshape(count, rows, 3, heads, size).transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(2, 3) * size**-0.5 + np.triu(np.full((rows, rows), -np.inf), 1)
        share = np.exp(scores - scores.max(axis=3, keepdims=True))
        share /= share.sum(axis=3, keepdims=True)
        mixed = (share @ value).transpose(0, 2, 1, 3).reshape(x.shape)
        added, to_mixed = self._linear(mixed, f"{block}.attn.c_proj")

        def back(by_x: Floats) -> Floats:
            by_mixed = to_mixed(by_x).reshape(count, rows, heads, size).transpose(0, 2, 1, 3)
            by_share = by_mixed @ value.swapaxes(2, 3)
            by_scores = share * (by_share - (by_share * share).sum(axis=3, keepdims=True)) * size**-0.5
            parts = by_scores @ key, by_scores.swapaxes(2, 3) @ query, share.swapaxes(2, 3) @ by_mixed
            return to_x(to_normed(np.stack(parts).transpose(1, 3, 0, 2, 4).reshape(joint.shape)))

        return x + added, back

    def _mlp(self, x: Floats, block: str) -> tuple[Floats, Back]:
        """Return x with what the MLP adds; the backward pass returns what it adds to the gradient by x."""
        normed, to_x = self._norm(x, f"{block}.ln_2")
        inner, to_normed = self._linear(normed, f"{block}.mlp.c_fc")
        bent = np.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3))
        added, to_active = self._linear(0.5 * inner * (1 + bent), f"{block}.mlp.c_proj")
        slope = (1 - bent**2) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * inner**2)
        return x + added, lambda by_x: to_x(to_normed(to_active(by_x) * 0.5 * (1 + bent + inner * slope)))

    def _linear(self, x: Floats, name: str) -> tuple[Floats, Back]:
        weight, bias = f"transformer.{name}.weight", f"transformer.{name}.bias"

        def back(by_result: Floats) -> Floats:
            flat = by_result.reshape(-1, by_result.shape[-1])
            self.gradient[weight] += x.reshape(-1, x.shape[-1]).T @ flat
            self.gradient[bias] += flat.sum(axis=0)
            return by_result @ self.weights[weight].T

        return x @ self.weights[weight] + self.weights[bias], back

    def _norm(self, x: Floats, name: str) -> tuple[Floats, Back]:
        weight, bias = f"transformer.{name}.weight", f"transformer.{name}.bias"
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        unit = centred * scale

        def back(by_result: Floats) -> Floats:
            axes = tuple(range(x.ndim - 1))
            self.gradient[weight] += (by_result * unit).sum(axis=axes)
            self.gradient[bias] += by_result.sum(axis=axes)
            by_unit = by_result * self.weights[weight]
            inward = by_unit - by_unit.mean(axis=-1, keepdims=True)
            return np.asarray((inward - unit * (by_unit * unit).mean(axis=-1, keepdims=True)) * scale)

        return unit * self.weights[weight] + self.weights[bias], back


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
