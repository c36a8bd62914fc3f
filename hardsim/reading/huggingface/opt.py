"""OPT: the first token has position 2 of the table; words may be embedded in fewer coordinates.

Source: transformers, `models/opt/modeling_opt.py` (Zhang et al. 2022, arXiv 2205.01068). With `do_layer_norm_before`
false, norms follow the sums, and there is no final norm.
"""

from __future__ import annotations

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Activation, NetworkLayer, Norm, RootScale, Transform
from hardsim.reading.huggingface.causal import CausalBody, CausalFamily
from hardsim.reading.huggingface.known import ACTIVATIONS
from hardsim.reading.huggingface.parts import (
    EPSILON_LAYER,
    AttentionShape,
    ScoreRules,
    StoredModel,
    attention_heads,
    exact_product,
)

OFFSET = 2
"""The row of the position table that belongs to the first token."""


@dataclass(frozen=True)
class OptLayers:
    """The layers of OPT, and of families with the same names of tensors."""

    model: StoredModel
    shape: AttentionShape
    sizes: tuple[int, int]
    """The width, and the number of hidden units."""
    activation: Activation
    biased: bool = True
    weighted: bool = True
    """True if norms have weights and biases."""
    post: bool = False

    def read(self, count: int) -> tuple[NetworkLayer, ...]:
        """Return the layers."""
        return tuple(map(self._layer, range(count)))

    def _layer(self, number: int) -> NetworkLayer:
        name, model, width, biased = f"layers.{number}.", self.model, self.sizes[0], self.biased
        maps = model.projections(f"{name}self_attn.", width, self.shape, biased, out="out_proj", out_bias=biased)
        mlp = model.mlp(f"{name}fc1", f"{name}fc2", self.activation, self.sizes, biased)
        norm_1, norm_2 = self.norm(f"{name}self_attn_layer_norm"), self.norm(f"{name}final_layer_norm")
        heads = attention_heads(number, self.shape, maps, ScoreRules(RootScale(root=self.shape.key)))
        return NetworkLayer(heads, mlp, maps.o.bias, norm_1, norm_2, post=self.post)

    def norm(self, name: str) -> Norm:
        """Return the norm of this name."""
        if not self.weighted:
            return Norm("layer", EPSILON_LAYER)
        return self.model.layer_norm(name, self.sizes[0], EPSILON_LAYER)


def _body(model: StoredModel) -> CausalBody:
    settings = model.settings
    width, count = model.size("hidden_size", "d_model"), model.size("num_hidden_layers", least=0)
    shape = model.shape(width, grouped=False)
    vocabulary, hidden = model.size("vocab_size"), model.size("ffn_dim")
    rows, words = model.size("max_position_embeddings"), model.size("word_embed_proj_dim", default=width)
    activation = settings.choice("activation_function", ACTIVATIONS, "relu")
    before = settings.truth("do_layer_norm_before", True)
    ends = before and not settings.truth("_remove_final_layer_norm", False)
    biased = settings.truth("enable_bias", True)
    weighted = settings.truth("layer_norm_elementwise_affine", True)
    model.settled()

    parts = OptLayers(model, shape, (width, hidden), activation, biased, weighted, not before)
    layers = parts.read(count)
    embedding = model.take("embed_tokens.weight", vocabulary, words, why="vocab_size, word_embed_proj_dim")
    table = model.take("embed_positions.weight", rows + OFFSET, width, why="max_position_embeddings + 2")
    final = parts.norm("final_layer_norm") if ends else None
    if words == width:
        return CausalBody(embedding, layers, final, table[OFFSET:])
    into, out = model.linear("project_in", words, width, bias=False), model.linear("project_out", width, words, False)
    embedded = exact_product(embedding, into.weight)
    return CausalBody(embedded, layers, final, table[OFFSET:], transform=Transform(out.weight), words=embedding)


OPT = CausalFamily("opt", "OPT", "OPT", "model.decoder.", _body, "embed_tokens.weight", padding=1)
