"""Train small networks of one layer with several heads: `python -m formulas.networks.heads NAME ... --to FOLDER`.

The prover is measured on them; they are not shipped. They learn brackets to depth 2 or a*b*: which tokens may come
next, or only whether what was read is in the language (the output of <eos>). Norms stand before attention and the MLP,
as in a GPT-2, or after them. This needs no PyTorch.

A name is `LANGUAGE-TASK-HEADS-WIDTH-ORDER-SEED`, as `dyck-next-4-32-pre-1`: `dyck` or `star`, `next` or `accept`, the
number of heads, the width, `pre` or `post`, and the seed of the weights and words. One machine always makes the same
network of a name.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from formulas.networks.passes import Back, Floats, Weights
from formulas.networks.repair import Adam, Passes, rounded, trained_on
from formulas.networks.train import EPSILON, SPECIAL, NextSymbol, Plan, Signs, initial
from hardsim.network.dense import Activation, Mlp, Network, NetworkHead, NetworkLayer, Norm, Readout, RootScale
from hardsim.network.numbers import Mask

LONGEST = 64
"""Number of symbols of the longest words."""
STEPS, BATCH, RATE = 400, 24, 4e-3


class EndAlone(NextSymbol):
    """The task to compute, at each position, whether what was read is in the language."""

    def signs(self) -> Signs:
        """Return the signs of <eos>; no other output is judged."""
        found = super().signs()
        judged = np.zeros_like(found)
        judged[:, len(self.symbols) + SPECIAL.index("<eos>")] = 1
        return found * judged


DYCK = {"a": 1}, {"a": 2, "b": 0}, {"b": 1}
"""The automaton of brackets to depth 2; below, those of a*b* and a*b*a*."""
STAR, BACK = ({"a": 0, "b": 1}, {"b": 1}), ({"a": 0, "b": 1}, {"a": 2, "b": 1}, {"a": 2})
TASKS: dict[tuple[str, str], tuple[NextSymbol, str]] = {
    ("dyck", "next"): (NextSymbol("ab", DYCK, frozenset({0})), "next: /(a(ab)*b)*/"),
    ("star", "next"): (NextSymbol("ab", STAR, frozenset({0, 1})), "next: /a*b*/"),
    ("dyck", "accept"): (
        EndAlone("ab", DYCK, frozenset({0})),
        "assume: /(a(ab)*b)*(()|a(ab)*(()|a))/\noutput <eos>: #L[a] = #L[b]",
    ),
    ("star", "accept"): (EndAlone("ab", BACK, frozenset({0, 1})), "assume: /a*b*a*/\noutput <eos>: H (Y b -> b)"),
}
"""For each language and task what is learned, on words that begin a word of the automaton, and the lines of a `.spec`
file that follow `network:`."""


@dataclass(frozen=True)
class HeadsPlan:
    """A network with several heads, and its training."""

    plan: Plan
    specification: str
    """The expected answers: the lines of a `.spec` file that follow `network:`."""
    post: bool

    @classmethod
    def named(cls, name: str) -> HeadsPlan:
        """Return the plan of a name. Raises ValueError or KeyError if there is none."""
        language, kind, heads, width, order, seed = name.split("-")
        task, specification = TASKS[language, kind]
        plan = Plan(
            task, layers=1, heads=int(heads), rows=LONGEST + 1, hidden=2 * int(width),
            steps=STEPS, batch=BATCH, rate=RATE, seed=int(seed), width=int(width),
        )  # fmt: skip
        return cls(plan, specification, {"pre": False, "post": True}[order])

    def network(self, weights: Weights) -> Network:
        """Return the network with these weights, rounded to float32."""
        plan, parts = self.plan, {name.split(".", 1)[1]: one for name, one in rounded(weights).items()}
        found = {name: one.astype(np.float64) for name, one in parts.items()}
        size, k = plan.width, plan.width // plan.heads
        joint, bias = found["h.0.attn.c_attn.weight"], found["h.0.attn.c_attn.bias"]
        out = found["h.0.attn.c_proj.weight"]
        heads = []
        for number in range(plan.heads):
            at = [slice(size * part + k * number, size * part + k * (number + 1)) for part in range(3)]
            (w_q, w_k, w_v), (b_q, b_k, b_v) = ([one[..., here] for here in at] for one in (joint, bias))
            scale, w_o = RootScale(Fraction(1), k), out[at[0]]
            heads.append(NetworkHead(f"h{number}", Mask.FUTURE, scale, w_q, w_k, w_v, w_o, b_q, b_k, b_v))

        def norm(name: str) -> Norm:
            return Norm("layer", Fraction(str(EPSILON)), found[f"{name}.weight"], found[f"{name}.bias"])

        mlp = Mlp(
            Activation.GELU_NEW, found["h.0.mlp.c_fc.weight"], found["h.0.mlp.c_proj.weight"],
            found["h.0.mlp.c_fc.bias"], found["h.0.mlp.c_proj.bias"],
        )  # fmt: skip
        layer = NetworkLayer(
            tuple(heads), mlp, found["h.0.attn.c_proj.bias"], norm("h.0.ln_1"), norm("h.0.ln_2"), self.post
        )
        tokens, embedding = (*plan.task.symbols, *SPECIAL), found["wte.weight"]
        readout = Readout(before=("<bos>",), after=(), at="each", decide="above", alphabet=tuple(plan.task.symbols))
        final = None if self.post else norm("ln_f")
        return Network(
            tokens, embedding, found["wpe.weight"], (layer,), final, embedding.T.copy(), None, tokens, readout
        )


class HeadPasses(Passes):
    """Passes through a network of one layer with several heads; `post`: the norms stand after attention and the MLP."""

    def __init__(self, weights: Weights, heads: int, post: bool) -> None:
        super().__init__(weights, heads)
        self.post = post

    def joint(self, x: Floats) -> tuple[Floats, Back]:
        """Return the joint queries, keys and values."""
        return self.linear(x, "h.0.attn.c_attn") if self.post else super().joint(x)

    def after(self, x: Floats, mixed: Floats) -> tuple[Floats, Callable[[Floats], tuple[Floats, Floats]]]:
        """Return the outputs if the heads return `mixed`; the backward pass gives the gradients by x and by `mixed`."""
        if not self.post:
            return super().after(x, mixed)
        added, to_mixed = self.linear(mixed, "h.0.attn.c_proj")
        middle, to_sum = self.norm(x + added, "h.0.ln_1")
        result, to_middle = self.mlp(middle, "h.0")
        last, to_end = self.norm(middle + result, "h.0.ln_2")
        found, to_last = self.unembedded(last)

        def back(by_output: Floats) -> tuple[Floats, Floats]:
            by_end = to_end(to_last(by_output))
            by_sum = to_sum(by_end + to_middle(by_end))
            return by_sum, to_mixed(by_sum)

        return found, back


def trained(one: HeadsPlan) -> Weights:
    """Train a network, and return its weights."""
    plan = one.plan
    assert isinstance(plan.task, NextSymbol)
    rng = np.random.default_rng(plan.seed)
    adam = Adam({name: tensor.astype(np.float64) for name, tensor in initial(plan).items()})
    for step in range(plan.steps):
        read = plan.task.draw(rng, plan.batch, plan.rows)
        passes = HeadPasses(adam.weights, plan.heads, one.post)
        trained_on(plan.task, passes, read)
        rate = plan.rate * min(1, (step + 1) / 50) * 0.5 * (1 + math.cos(math.pi * step / plan.steps))
        adam.step(passes.gradient, rate)
    return adam.weights


def main() -> None:
    """Train the networks that the command line names, and write their weights and specifications."""
    reader = argparse.ArgumentParser(description="Train networks of one layer with several heads.")
    reader.add_argument("names", nargs="+", metavar="NAME", help="LANGUAGE-TASK-HEADS-WIDTH-ORDER-SEED")
    reader.add_argument("--to", type=Path, default=Path(), metavar="FOLDER", help="where the weights are written")
    given = reader.parse_args()
    for name in given.names:
        one = HeadsPlan.named(name)
        save_file(rounded(trained(one)), given.to / f"{name}.safetensors")
        (given.to / f"{name}.txt").write_text(f"{one.specification}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
