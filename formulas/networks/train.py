"""Train the networks of this folder: `make networks`, or `python -m formulas.networks.train NAME ...`.

They are GPT-2s of width 16, in the format of Hugging Face's `save_pretrained`. This file contains the whole training:
the languages (as automata, independent of the specifications in this folder), the training words, the forward pass and
the loss. Random numbers have fixed seeds, so one machine always writes the same files; another machine may round
differently, which changes the weights.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

Ids = npt.NDArray[np.int64]
Signs = npt.NDArray[np.float32]
Weights = dict[str, npt.NDArray[np.float32]]
HERE = Path(__file__).resolve().parent
SPECIAL = "<bos>", "<sep>", "<eos>", "<pad>"
EPSILON = 1e-5


class Task(Protocol):
    """A task: the language that a network learns, and how its outputs encode the answer."""

    @property
    def symbols(self) -> str:
        """The alphabet; the first token ids are its symbols', the next are those of SPECIAL."""

    def draw(self, rng: np.random.Generator, count: int, rows: int) -> Ids:
        """Draw `count` random words as token ids [count, rows]; words are padded or cut to `rows`, the size of the
        table.
        """

    def expected(self, read: Ids) -> Signs:
        """Return the expected sign of each output by word, position and token [count, rows, V]: 1 for large, -1 for
        small, 0 if the output has no expected value.
        """

    together: bool
    """True if the outputs of a word are compared with each other, False if each is compared with 0."""


@dataclass(frozen=True)
class NextSymbol:
    """The task to compute, at each position, which tokens may come next."""

    symbols: str
    moves: tuple[dict[str, int], ...]
    """For each state, the symbols that may come next and the states they lead to; words start in the first state."""
    accepting: frozenset[int]
    together = False

    def draw(self, rng: np.random.Generator, count: int, rows: int) -> Ids:
        """Draw random walks along the automaton.

        In each state some symbols are preferred, often so strongly that others hardly occur: words repeat themselves.
        Preferences change a few times in each word.
        """
        table = self.table()
        prefer = np.zeros((count, *table.shape))
        prefer[:, table < 0] = -np.inf
        read = np.full((count, rows), len(self.symbols))
        state, every = np.zeros(count, dtype=np.int64), np.arange(count)
        often = rng.choice([0.02, 0.1, 0.3], count)
        for place in range(1, rows):
            change = rng.random(count) < (often if place > 1 else 1)
            drawn = rng.normal(0, 3, (int(change.sum()), *table.shape))
            prefer[change] = np.where(table < 0, -np.inf, drawn)
            read[:, place] = np.argmax(prefer[every, state] + rng.gumbel(size=(count, table.shape[1])), axis=1)
            state = table[state, read[:, place]]
        return read

    def expected(self, read: Ids) -> Signs:
        """Return, for each position, 1 for every token that may come next (<eos> if the prefix is in the language),
        else -1.
        """
        table, signs = self.table(), self.signs()
        states = np.zeros(read.shape, dtype=np.int64)
        for place in range(1, read.shape[1]):
            states[:, place] = table[states[:, place - 1], read[:, place]]
        return signs[states]

    def signs(self) -> Signs:
        """Return the expected signs after a prefix, by its state: [states, V]."""
        table, end = self.table(), len(self.symbols) + SPECIAL.index("<eos>")
        signs = np.full((len(table), len(self.symbols) + len(SPECIAL)), -1, dtype=np.float32)
        signs[:, : len(self.symbols)][table >= 0] = 1
        signs[sorted(self.accepting), end] = 1
        return signs

    def table(self) -> Ids:
        """Return the next states, [states, symbols]; -1 where a symbol is not possible."""
        return np.array([[moves.get(symbol, -1) for symbol in self.symbols] for moves in self.moves])


@dataclass(frozen=True)
class Majority:
    """The task to compute, at <sep> after the word, which of two symbols is more frequent. Ties, which only words of
    even length can have, are not drawn.
    """

    symbols: str = "01"
    together = True

    def draw(self, rng: np.random.Generator, count: int, rows: int) -> Ids:
        """Draw words of all lengths, many of them close to a tie, in every order from shuffled to sorted."""
        bos, sep, _, pad = range(2, 6)
        read = np.full((count, rows), pad)
        for row in read:
            n = int(rng.integers(1, rows - 1))
            ahead = min(n, 2 * int(1 + n * rng.random() * rng.choice([0, 0.05, 0.5])) - n % 2)
            ones = (n + ahead * int(rng.choice([-1, 1]))) // 2
            sorted_by = np.arange(n) * rng.choice([-1, 1]) * rng.choice([0, 1, 10])
            word = np.repeat([0, 1], [n - ones, ones])[np.argsort(sorted_by + rng.random(n) * n)]
            row[0], row[1 : n + 1], row[n + 1] = bos, word, sep
        return read

    def expected(self, read: Ids) -> Signs:
        signs = np.zeros((*read.shape, len(self.symbols) + len(SPECIAL)), dtype=np.float32)
        ahead = np.sign((read == 1).sum(1) - (read == 0).sum(1))
        every, place = np.arange(len(read)), np.argmax(read == 3, axis=1)
        signs[every, place, 0], signs[every, place, 1] = -ahead, ahead
        return signs


@dataclass(frozen=True)
class Plan:
    """A network and its training."""

    task: Task
    layers: int
    heads: int = 1
    rows: int = 128
    hidden: int = 32
    steps: int = 3000
    batch: int = 64
    kept: int = 32
    rate: float = 3e-3
    seed: int = 1
    width: int = 16

    def config(self) -> dict[str, Any]:
        """Return the contents of the network's `config.json`."""
        vocabulary = len(self.task.symbols) + len(SPECIAL)
        bos, _, eos, pad = range(len(self.task.symbols), vocabulary)
        return {
            "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "bos_token_id": bos,
            "dtype": "float32", "eos_token_id": eos, "layer_norm_epsilon": EPSILON, "model_type": "gpt2",
            "n_embd": self.width, "n_head": self.heads, "n_inner": self.hidden, "n_layer": self.layers,
            "n_positions": self.rows, "pad_token_id": pad, "tie_word_embeddings": True, "vocab_size": vocabulary,
        }  # fmt: skip


DEPTH_3 = NextSymbol("ab", ({"a": 1}, {"a": 2, "b": 0}, {"a": 3, "b": 1}, {"b": 2}), frozenset({0}))
FLIPFLOP = NextSymbol(
    "wri01",
    (
        {"w": 1}, {"0": 2, "1": 5},
        {"w": 1, "r": 3, "i": 4}, {"0": 2}, {"0": 2, "1": 2},
        {"w": 1, "r": 6, "i": 7}, {"1": 5}, {"0": 5, "1": 5},
    ),
    frozenset({2, 5}),
)  # fmt: skip
PLANS = {
    "dyck1_depth3": Plan(DEPTH_3, layers=1),
    "flipflop": Plan(FLIPFLOP, layers=2, rows=64, steps=2500),
    "majority": Plan(Majority(), layers=1, steps=2500, kept=8),
}


def initial(plan: Plan) -> Weights:
    """Return the weights before training, with the names and shapes of a Hugging Face GPT-2."""
    rng, width, hidden = np.random.default_rng(plan.seed), plan.width, plan.hidden
    weights: dict[str, npt.NDArray[np.float64]] = {
        "wte.weight": 0.3 * rng.standard_normal((plan.config()["vocab_size"], width)),
        "wpe.weight": 0.3 * rng.standard_normal((plan.rows, width)),
    }
    norms = ["ln_f"]
    for block in (f"h.{layer}" for layer in range(plan.layers)):
        norms += [f"{block}.ln_1", f"{block}.ln_2"]
        for name, shape in (
            ("attn.c_attn", (width, 3 * width)),
            ("attn.c_proj", (width, width)),
            ("mlp.c_fc", (width, hidden)),
            ("mlp.c_proj", (hidden, width)),
        ):
            weights[f"{block}.{name}.weight"] = rng.standard_normal(shape) * shape[0] ** -0.5
            weights[f"{block}.{name}.bias"] = np.zeros(shape[1])
    for name in norms:
        weights |= {f"{name}.weight": np.ones(width), f"{name}.bias": np.zeros(width)}
    return {f"transformer.{name}": tensor.astype(np.float32) for name, tensor in weights.items()}


def forward(plan: Plan, weights: dict[str, Any], read: Any) -> Any:
    """Return the outputs [count, rows, V] for token ids [count, rows]."""
    from torch.nn import functional

    def norm(x: Any, name: str) -> Any:
        return functional.layer_norm(x, (plan.width,), *parameters(name), EPSILON)

    def parameters(name: str) -> tuple[Any, Any]:
        return weights[f"transformer.{name}.weight"], weights[f"transformer.{name}.bias"]

    def linear(x: Any, name: str) -> Any:
        weight, bias = parameters(name)
        return x @ weight + bias

    count, rows = read.shape
    embedding = weights["transformer.wte.weight"]
    x = embedding[read] + weights["transformer.wpe.weight"][:rows]
    for layer in range(plan.layers):
        block = f"h.{layer}."
        joint = linear(norm(x, f"{block}ln_1"), f"{block}attn.c_attn")
        q, k, v = joint.view(count, rows, 3, plan.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + linear(mixed, f"{block}attn.c_proj")
        inner = functional.gelu(linear(norm(x, f"{block}ln_2"), f"{block}mlp.c_fc"), approximate="tanh")
        x = x + linear(inner, f"{block}mlp.c_proj")
    return norm(x, "ln_f") @ embedding.T


def margins(plan: Plan, weights: dict[str, Any], read: Ids) -> Any:
    """Return the margins of each word's outputs, [count, outputs]: the distance of an output from 0 on its expected
    side, or the difference between the expected output and the other one.
    """
    import torch

    signed = forward(plan, weights, torch.from_numpy(read)) * torch.from_numpy(plan.task.expected(read))
    return signed.sum((1, 2))[:, None] if plan.task.together else signed.flatten(1)


def train(plan: Plan, report: int = 500) -> Weights:
    """Train a network and return its weights.

    The loss is the mean of log(1 + e^-margin) over all outputs; words with the least margins are read again in the next
    step.
    """
    import torch

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    rng = np.random.default_rng(plan.seed)
    weights = {name: torch.tensor(start, requires_grad=True) for name, start in initial(plan).items()}
    adam = torch.optim.Adam(weights.values(), lr=plan.rate, betas=(0.9, 0.99))
    kept = plan.task.draw(rng, 0, plan.rows)
    for step in range(plan.steps):
        # The rate rises over 200 steps, then falls to 0 along a cosine.
        for group in adam.param_groups:
            group["lr"] = plan.rate * min(1, step / 200) * 0.5 * (1 + math.cos(math.pi * step / plan.steps))
        read = np.concatenate([kept, plan.task.draw(rng, plan.batch - len(kept), plan.rows)])
        found = margins(plan, weights, read)
        least = found.min(1).values
        loss = torch.nn.functional.softplus(-found).mean()
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        adam.step()
        kept = read[np.argsort(least.detach().numpy())[: plan.kept]]
        if step % report == 0:
            wrong = float((least[plan.kept :] <= 0).float().mean())
            print(f"{step:6} loss {float(loss.detach()):.6f}, wrong words {wrong:.3f}", flush=True)
    return {name: tensor.detach().numpy() for name, tensor in weights.items()}


def save(plan: Plan, weights: Weights, folder: Path) -> None:
    """Write the folder of a network."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(plan.config(), indent=2) + "\n", encoding="utf-8")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def main() -> None:
    """Train the networks that the command line names, or all."""
    reader = argparse.ArgumentParser(description="Train the networks of this folder.")
    reader.add_argument(
        "names", nargs="*", metavar="NAME", help=f"networks to train (default: all): {', '.join(PLANS)}"
    )
    for name in reader.parse_args().names or PLANS:
        save(PLANS[name], train(PLANS[name]), HERE / name)


if __name__ == "__main__":
    main()
