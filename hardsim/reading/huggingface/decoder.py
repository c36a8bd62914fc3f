"""Bodies whose tensors are named as those of Llama: `layers.0.self_attn.q_proj.weight`, and so on.

A family of this kind says by a `DecoderPlan` which norms, projections and MLPs its layers have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Activation, Mlp, NetworkHead, NetworkLayer, Norm
from hardsim.reading.huggingface.causal import CausalBody
from hardsim.reading.huggingface.parts import (
    AttentionShape,
    Projections,
    ScoreRules,
    StoredModel,
    attention_heads,
)

HeadNorms: TypeAlias = tuple[Sequence[Norm], Sequence[Norm]]
"""The norms of the queries by head, and of the keys by group; empty if there are none."""


@dataclass(frozen=True, slots=True)
class DecoderSizes:
    """The sizes of a network: V, d, the hidden units of an MLP, the number of layers, and the heads."""

    vocabulary: int
    width: int
    hidden: int
    layers: int
    shape: AttentionShape


@dataclass(frozen=True)
class NormNames:
    """The names of a layer's norms as in `NetworkLayer`; None where it has none."""

    norm_1: str | None = "input_layernorm"
    norm_2: str | None = "post_attention_layernorm"
    out_1: str | None = None
    out_2: str | None = None


def no_norms(name: str) -> HeadNorms:
    """Return no norms of queries and keys."""
    return (), ()


@dataclass(frozen=True)
class DecoderPlan:
    """The parts of every layer of a family."""

    rules: Callable[[int], ScoreRules]
    """How a layer, by its number, scores keys."""
    norm: Callable[[str], Norm]
    """Return the norm of this name."""
    mlp: Callable[[str], Mlp]
    """Return the MLP whose tensors' names begin so."""
    bias: bool = False
    """True if queries, keys and values have biases."""
    out_bias: bool = False
    """True if the output of attention has a bias."""
    out: str = "o_proj"
    """The name of the output map of attention."""
    names: NormNames = NormNames()
    parallel: bool = False
    head_norms: Callable[[str], HeadNorms] = no_norms
    """Return the norms of queries and keys of the attention whose tensors' names begin so."""
    refined: Callable[[str, tuple[NetworkHead, ...], Projections], tuple[NetworkHead, ...]] | None = None
    """Change the heads of the attention whose tensors' names begin so, which are made of these maps."""
    maps: Callable[[str], Projections] | None = None
    """Return the maps of the attention whose tensors' names begin so, if they are not `q_proj` and so on."""
    final: str = "norm"


def read_sizes(model: StoredModel, groups: int | None = None, key: int | None = None) -> DecoderSizes:
    """Read the sizes; `groups` and `key` are the defaults of `num_key_value_heads` and `head_dim`."""
    width = model.size("hidden_size")
    shape = model.shape(width, groups=groups, key=key)
    vocabulary, hidden = model.size("vocab_size"), model.size("intermediate_size")
    return DecoderSizes(vocabulary, width, hidden, model.size("num_hidden_layers", least=0), shape)


def gated(model: StoredModel, sizes: DecoderSizes, activation: Activation, bias: bool = False) -> Callable[[str], Mlp]:
    """Return the maker of MLPs with `gate_proj`, `up_proj` and `down_proj` for a `DecoderPlan`."""
    return lambda name: model.gated_mlp(name, activation, (sizes.width, sizes.hidden), bias)


def rms(model: StoredModel, sizes: DecoderSizes, epsilon: Fraction, plus: int = 0) -> Callable[[str], Norm]:
    """Return the maker of RMSNorms for a `DecoderPlan`, whose weights are `plus` more than the stored ones."""
    return lambda name: model.rms_norm(name, sizes.width, epsilon, plus)


def shared_norms(shape: AttentionShape, norm: Callable[[str], Norm], kind: str = "norm") -> Callable[[str], HeadNorms]:
    """Return the `head_norms` of a `DecoderPlan` with one norm for all queries and one for all keys.

    `norm` makes the norm of a name, over the coordinates of one key; `kind` ends the names: `q_norm`, `k_norm`."""

    def found(name: str) -> HeadNorms:
        norm_q, norm_k = (norm(f"{name}{part}_{kind}") for part in "qk")
        return [norm_q] * shape.heads, [norm_k] * shape.groups

    return found


def read_decoder(model: StoredModel, sizes: DecoderSizes, plan: DecoderPlan) -> CausalBody:
    """Read the tensors of a body, after its settings."""

    def norm(prefix: str, name: str | None) -> Norm | None:
        return None if name is None else plan.norm(prefix + name)

    layers = []
    for layer in range(sizes.layers):
        prefix, rules = f"layers.{layer}.", plan.rules(layer)
        name = f"{prefix}self_attn."
        if plan.maps is not None:
            maps = plan.maps(name)
        else:
            maps = model.projections(name, sizes.width, sizes.shape, plan.bias, out=plan.out, out_bias=plan.out_bias)
        model.frequencies(name, rules.rotary)
        heads = attention_heads(layer, sizes.shape, maps, rules, norms=plan.head_norms(name))
        heads = heads if plan.refined is None else plan.refined(name, heads, maps)
        read = NetworkLayer(
            heads,
            plan.mlp(f"{prefix}mlp."),
            maps.o.bias,
            norm(prefix, plan.names.norm_1),
            norm(prefix, plan.names.norm_2),
            parallel=plan.parallel,
            out_1=norm(prefix, plan.names.out_1),
            out_2=norm(prefix, plan.names.out_2),
        )
        layers.append(read)
    embedding = model.take("embed_tokens.weight", sizes.vocabulary, sizes.width, why="vocab_size, hidden_size")
    return CausalBody(embedding, tuple(layers), plan.norm(plan.final))
