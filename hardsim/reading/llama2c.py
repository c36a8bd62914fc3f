"""Read the checkpoints of llama2.c, whose `model.py` has the names of Meta's Llama.

Source: karpathy/llama2.c, `model.py` and `train.py`. A network is a Llama with rotary positions on neighbouring
coordinates (base 10 000), which the library makes for `max_seq_len` positions.
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.network import dense
from hardsim.network.blocks import Rotary
from hardsim.network.numbers import Mask
from hardsim.reading.attention import linear, split_heads
from hardsim.reading.nanogpt import BESIDE
from hardsim.reading.tensors import DEFAULT_EPSILON, Stored, Tensors

TITLE = "llama2.c"
SECTION = "model_args"
"""The object with the sizes inside a checkpoint."""
SAID = "n_heads", "n_kv_heads", "norm_eps"
"""Settings other than sizes that determine what the network computes."""
DROPOUTS = ("dropout",)
EMBEDDING = "tok_embeddings.weight"
THETA = Fraction(10_000)


def is_llama2c(stored: Stored) -> bool:
    """Return True if stored data is that of llama2.c."""
    given = _section(stored)
    return EMBEDDING in stored.tensors and {"dim", "n_heads"} <= given.keys()


def _section(stored: Stored) -> dict[str, object]:
    found = stored.config.get(SECTION)
    return found if isinstance(found, dict) else stored.config


def read_llama2c(stored: Stored) -> dense.Network:
    """Read the network of a checkpoint, which answers with the largest output at each position. Raises InputError if a
    tensor or a setting is missing, wrong or not understood."""
    settings, weights = stored.settings, stored.weights
    inside = isinstance(stored.config.get(SECTION), dict)
    given = settings.part(SECTION) if inside else settings
    settings.library = given.library = TITLE
    embedding = weights.take(EMBEDDING, None, None)
    vocabulary, width = embedding.shape
    for key, size in (("vocab_size", vocabulary), ("dim", width)):
        given.neutral(key, size)
    heads = given.integer("n_heads")
    groups = given.integer("n_kv_heads", heads)
    if width % heads or width // heads % 2:
        raise given.at("n_heads").error(f"a divisor of dim, {width}, that leaves heads an even width")
    if heads % groups:
        raise given.at("n_kv_heads").error(f"a divisor of n_heads, {heads}")
    rotary = Rotary(THETA, width // heads, True, longest=given.integer("max_seq_len", 2048))
    layers = given.integer("n_layers", least=0)
    blocks = _Blocks(weights, width, heads, groups, rotary, given.epsilon("norm_eps", DEFAULT_EPSILON))
    given.harmless("multiple_of", "hidden_dim", *DROPOUTS)  # the tensors show the number of hidden units
    settings.harmless(*(BESIDE if inside else ()))
    for part in (given, settings):
        part.done()
    read = tuple(map(blocks.layer, range(layers)))
    final, unembedding = blocks.norm("norm"), weights.take("output.weight", vocabulary, width)
    weights.done()
    tokens = stored.tokens(vocabulary)
    readout = dense.Readout(at="each", decide="argmax")
    return dense.Network(tokens, embedding, (), read, final, unembedding.T, None, tokens, readout)


class _Blocks:
    """Reads the layers of a checkpoint, all of one shape."""

    def __init__(
        self, weights: Tensors, width: int, heads: int, groups: int, rotary: Rotary, epsilon: Fraction
    ) -> None:
        self.weights, self.width, self.heads, self.groups = weights, width, heads, groups
        self.rotary, self.epsilon = rotary, epsilon

    def layer(self, number: int) -> dense.NetworkLayer:
        """Return a layer."""
        start, width, weights = f"layers.{number}.", self.width, self.weights
        keys = self.rotary.size * self.groups
        q, k, v = (
            linear(weights.take(f"{start}attention.w{part}.weight", rows, width))
            for part, rows in (("q", width), ("k", keys), ("v", keys))
        )
        out = linear(weights.take(f"{start}attention.wo.weight", width, width))
        gate = linear(weights.take(f"{start}feed_forward.w1.weight", None, width))
        hidden = gate.weight.shape[1]
        enter = linear(weights.take(f"{start}feed_forward.w3.weight", hidden, width))
        leave = linear(weights.take(f"{start}feed_forward.w2.weight", width, hidden))
        heads = split_heads(
            number,
            self.heads,
            (q, k, v),
            out.weight,
            Mask.FUTURE,
            dense.RootScale(root=self.rotary.size),
            self.groups,
            rotary=self.rotary,
        )
        mlp = dense.Mlp(dense.Activation.SILU, enter.weight, leave.weight, w_gate=gate.weight)
        norm_1, norm_2 = self.norm(f"{start}attention_norm"), self.norm(f"{start}ffn_norm")
        return dense.NetworkLayer(heads, mlp, None, norm_1, norm_2)

    def norm(self, name: str) -> dense.Norm:
        """Return a norm."""
        return dense.Norm("rms", self.epsilon, self.weights.take(f"{name}.weight", self.width))
