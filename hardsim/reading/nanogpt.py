"""Read the checkpoints of nanoGPT and minGPT.

Sources: karpathy/nanoGPT, `model.py` and `train.py`; karpathy/minGPT, `mingpt/model.py` in its versions of 2020 and
2022. Both are GPT-2 with `nn.Linear` layers (weights [out, in]): pre-norm, LayerNorm with epsilon 0.00001, a causal
mask, scores divided by sqrt(d / heads), a table of positions. They differ in four points:

    nanoGPT:       gelu, biases that may be missing, an unembedding that is the embedding
    minGPT, 2022:  the tanh form of gelu, the same names of tensors, an unembedding of its own
    minGPT, 2020:  gelu, other names (`blocks.0.attn.query.weight`), an unembedding of its own

Early versions of nanoGPT had the tanh form too. Those before the setting `bias` must state their activation.
"""

from __future__ import annotations

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network import dense
from hardsim.network.numbers import Mask
from hardsim.reading.attention import Projection, linear, split_heads, thirds
from hardsim.reading.tensors import DEFAULT_EPSILON, Settings, Stored, Tensors

NANO, MINI = "nanoGPT", "minGPT"
SECTIONS = "model_args", "model"
"""The object with the sizes inside the configuration: nanoGPT's checkpoint, and minGPT's config.json."""
SAID = ("n_head", "activation", "bias")
"""Settings other than sizes that determine what the network computes."""
BESIDE = "config", "iter_num", "best_val_loss", "optimizer", "system", "data", "trainer"
"""Entries beside the section of the sizes: they describe the training."""
DROPOUTS = "dropout", "embd_pdrop", "resid_pdrop", "attn_pdrop"
"""Dropouts act in training only."""
ACTIVATIONS = {
    "gelu": dense.Activation.GELU,
    "gelu_new": dense.Activation.GELU_NEW,
    "gelu_tanh": dense.Activation.GELU_NEW,
    "relu": dense.Activation.RELU,
}
ADVICE = {
    "activation": 'This version of nanoGPT is older than the setting "bias". Its activation was the tanh form of gelu: '
    'write "activation": "gelu_new", or "gelu" if the model has nn.GELU().',
    "n_head": 'Write the number of heads of each layer, such as "n_head": 4.',
}
"""Hints for the settings that must be stated."""
HEADS = {
    "openai-gpt": 12, "gpt2": 12, "gpt2-medium": 16, "gpt2-large": 20, "gpt2-xl": 25, "gopher-44m": 16, "gpt-mini": 6,
    "gpt-micro": 4, "gpt-nano": 3,
}  # fmt: skip
"""The number of heads of each type of model that minGPT names."""


@dataclass(frozen=True)
class _Names:
    """The names of tensors; a layer's are below `layer`."""

    embedding: str
    positions: str
    layer: str
    norms: tuple[str, str]
    joint: tuple[str, ...]
    """The maps to queries, keys and values: one for all three, or three."""
    out: str
    mask: str
    hidden: tuple[str, str]
    final: str
    unembedding: str


NEW = _Names(
    "transformer.wte.weight", "transformer.wpe.weight", "transformer.h.{}.", ("ln_1", "ln_2"), ("attn.c_attn",),
    "attn.c_proj", "attn.bias", ("mlp.c_fc", "mlp.c_proj"), "transformer.ln_f", "lm_head.weight",
)  # fmt: skip
OLD = _Names(
    "tok_emb.weight", "pos_emb", "blocks.{}.", ("ln1", "ln2"), ("attn.query", "attn.key", "attn.value"), "attn.proj",
    "attn.mask", ("mlp.0", "mlp.2"), "ln_f", "head.weight",
)  # fmt: skip


def family_of(stored: Stored) -> str | None:
    """Return NANO or MINI if the configuration is that of nanoGPT or minGPT; None for any other."""
    section = next((key for key in SECTIONS if isinstance(stored.config.get(key), dict)), "")
    given = stored.config[section] if section else stored.config
    if "block_size" not in given or not {"n_head", "n_embd"} & given.keys():
        return None
    old = OLD.embedding in stored.tensors
    return NANO if not old and (section == SECTIONS[0] or {"bias", "dropout"} & given.keys()) else MINI


def read_nanogpt(stored: Stored) -> dense.Network:
    """Read the network of a checkpoint of nanoGPT or minGPT, which answers with the largest output at each position.

    Raises InputError if a tensor or a setting is missing, wrong or not understood."""
    settings, weights = stored.settings, stored.weights
    family = settings.library = family_of(stored) or NANO
    settings.examples = ADVICE
    section = next((key for key in SECTIONS if isinstance(stored.config.get(key), dict)), None)
    given = settings.part(section) if section else settings
    given.examples = ADVICE
    names = OLD if weights.has(OLD.embedding) else NEW
    embedding = weights.take(names.embedding, None, None)
    vocabulary, width = embedding.shape
    positions = _positions(weights, names, width)
    for key, size in (("vocab_size", vocabulary), ("n_embd", width), ("block_size", len(positions))):
        given.neutral(key, size)
    count = given.integer("n_layer", _count(weights, names), least=0)
    heads, biased = _heads(given, width), _biased(given, weights, names, family)
    blocks = _Blocks(weights, names, width, heads, len(positions), biased, _activation(given, stored, names, family))
    given.harmless(*DROPOUTS)
    settings.harmless(*(BESIDE if section else ()))
    for part in (given, settings):
        part.done()
    layers, final = tuple(map(blocks.layer, range(count))), blocks.norm(names.final)
    unembedding = _unembedding(weights, names, embedding, family)
    weights.done()
    tokens = stored.tokens(vocabulary)
    readout = dense.Readout(at="each", decide="argmax")
    return dense.Network(tokens, embedding, positions, layers, final, unembedding.T, None, tokens, readout)


@dataclass(frozen=True)
class _Blocks:
    """Reads the layers of a checkpoint, all of one shape."""

    weights: Tensors
    names: _Names
    width: int
    heads: int
    rows: int
    biased: bool
    activation: dense.Activation

    def layer(self, number: int) -> dense.NetworkLayer:
        """Return the layer of a number, from 0: its attention and its MLP."""
        names, width, hidden = self.names, self.width, 4 * self.width
        start = names.layer.format(number)
        if len(names.joint) == 1:
            maps = thirds(self.linear(start + names.joint[0], 3 * width, width))
        else:
            q, k, v = (self.linear(start + name, width, width) for name in names.joint)
            maps = q, k, v
        out = self.linear(start + names.out, width, width)
        enter = self.linear(start + names.hidden[0], hidden, width)
        leave = self.linear(start + names.hidden[1], width, hidden)
        self.weights.check_mask(start + names.mask, self.rows)
        scale = dense.RootScale(root=width // self.heads)
        heads = split_heads(number, self.heads, maps, out.weight, Mask.FUTURE, scale)
        mlp = dense.Mlp(self.activation, enter.weight, leave.weight, enter.bias, leave.bias)
        norm_1, norm_2 = (self.norm(start + name) for name in names.norms)
        return dense.NetworkLayer(heads, mlp, out.bias, norm_1, norm_2)

    def norm(self, name: str) -> dense.Norm:
        """Return a norm."""
        weight = self.weights.take(f"{name}.weight", self.width)
        return dense.Norm("layer", DEFAULT_EPSILON, weight, self._bias(name, self.width))

    def linear(self, name: str, rows: int, columns: int) -> Projection:
        """Return the map of an nn.Linear."""
        return linear(self.weights.take(f"{name}.weight", rows, columns), self._bias(name, rows))

    def _bias(self, name: str, size: int) -> dense.Dense | None:
        return self.weights.take(f"{name}.bias", size) if self.biased else None


def _heads(given: Settings, width: int) -> int:
    """Return the number of heads: as stated, else that of a type of model of minGPT."""
    kind = given.value("model_type")
    known = HEADS.get(kind) if isinstance(kind, str) else None
    heads = given.integer("n_head", known)
    if width % heads:
        raise given.at("n_head").error(f"a divisor of n_embd, {width}")
    if not given.has("n_head"):
        given.take("n_head", str(heads), f"{given.source}: model_type {kind}")
    return heads


def _positions(weights: Tensors, names: _Names, width: int) -> dense.Dense:
    if names is NEW:
        return weights.take(names.positions, None, width)
    return weights.take(names.positions, 1, None, width).reshape(-1, width)


def _count(weights: Tensors, names: _Names) -> int:
    """Return the number of layers that have tensors."""
    start = names.layer.partition("{")[0]
    numbers = {name.removeprefix(start).partition(".")[0] for name in weights.names if name.startswith(start)}
    return len(numbers)


def _biased(given: Settings, weights: Tensors, names: _Names, family: str) -> bool:
    """Return True if all maps and norms have biases, and False if none has one."""
    if family == MINI:
        return True
    found = weights.has(f"{names.final}.bias")
    biased = given.truth("bias", found)
    if biased != found:
        raise given.at("bias").error(f"{str(found).lower()}, as the tensor {names.final}.bias shows")
    return biased


def _activation(given: Settings, stored: Stored, names: _Names, family: str) -> dense.Activation:
    stated = given.has("activation")
    if family == MINI:
        return given.choice("activation", ACTIVATIONS, "gelu" if names is OLD else "gelu_new")
    # Only versions that still had the tanh form lacked the setting `bias`.
    found = given.choice("activation", ACTIVATIONS, "gelu" if given.has("bias") else None)
    if not stated:
        stored.settings.remarks.append(
            "activation is not stated: read as gelu, that of nanoGPT since the middle of 2023. For a model trained "
            f'with an older version write "activation": "gelu_new" beside n_head in {stored.config_name}'
        )
    return found


def _unembedding(weights: Tensors, names: _Names, embedding: dense.Dense, family: str) -> dense.Dense:
    if family == MINI:
        return weights.take(names.unembedding, *embedding.shape)
    found = weights.maybe(names.unembedding, *embedding.shape)
    if found is not None and not np.array_equal(found, embedding):
        message = f"{names.unembedding} differs from {names.embedding}, and in nanoGPT they are one tensor"
        raise weights.error(message, "Save the state dict of the model again. Networks of minGPT have their own.")
    return embedding
