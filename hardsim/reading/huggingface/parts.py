"""The parts that families of Hugging Face share: sizes, linear layers, norms, attention, rotary positions.

A reader takes the settings and tensors of a `StoredModel`. Its linear layers are those of `nn.Linear`, with a weight
of shape [out, in], unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.lang.reals import lower
from hardsim.lazy_dataclass import dataclass
from hardsim.network.blocks import DistanceBias, Rotary
from hardsim.network.dense import Activation, Dense, Mlp, NetworkHead, Norm, RootScale
from hardsim.network.numbers import Mask
from hardsim.reading.attention import Projection, split_heads
from hardsim.reading.huggingface import known
from hardsim.reading.huggingface.rotary import ALL, NO_NAMES, THETA, RotaryNames, read_rotary
from hardsim.reading.tensors import Settings, Stored

EPSILON_LAYER, EPSILON_RMS = Fraction(1, 100_000), Fraction(1, 1_000_000)
"""The default epsilons of LayerNorm and of RMSNorm in most families."""


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """The number of heads of a layer, the number of different key and value projections that they share in order, and
    the width of a key."""

    heads: int
    groups: int
    key: int


@dataclass(frozen=True)
class Projections:
    """The maps of one attention layer: queries (d, heads * key), keys and values (d, groups * key), and the output
    (heads * key, d)."""

    q: Projection
    k: Projection
    v: Projection
    o: Projection


@dataclass(frozen=True)
class ScoreRules:
    """The rules by which all heads of a layer score keys, as in `NetworkHead`."""

    scale: RootScale
    rotary: Rotary | None = None
    window: int | None = None
    cap: Fraction | None = None


class StoredModel:
    """The settings and tensors of a stored network, as the reader of a family takes them."""

    def __init__(self, stored: Stored, prefix: str, library: str) -> None:
        """Begin to read. `prefix` begins the names of the body's tensors, unless none has it; `library` is the name of
        the configuration class whose defaults replace absent settings."""
        self.stored, self.settings, self.weights = stored, stored.settings, stored.weights
        self.settings.library = library
        self.nested = any(name.startswith(prefix) for name in self.weights.names)
        self.start = prefix if self.nested else ""

    def settled(self, *harmless: str) -> None:
        """Raise InputError for a setting that was not used and is not known to change nothing. `harmless` are those
        that change nothing in this family."""
        settings = self.settings
        settings.harmless(
            *known.TRAINING, *known.RUNNING, *known.GENERATING, *known.READ_LATER, "model_type", *harmless
        )
        settings.neutral("pruned_heads", {})
        for key in ("add_cross_attention", "is_encoder_decoder", "tie_encoder_decoder"):
            settings.neutral(key, False)
        settings.done()

    # ---- sizes ----

    def size(self, name: str, *others: str, default: int | None = None, least: int = 1) -> int:
        """Return a size, which has its own name or one of several others. Raises InputError if two of them differ."""
        settings, names = self.settings, (name, *others)
        stated = next((one for one in names if settings.has(one)), name)
        found = settings.integer(stated, default, least=least)
        for other in names:
            settings.neutral(other, found)
        return found

    def shape(
        self,
        width: int,
        *names: str,
        of: str = "hidden_size",
        groups: int | None = None,
        key: int | None = None,
        grouped: bool = True,
    ) -> AttentionShape:
        """Return the number of heads, with `num_key_value_heads` and `head_dim` where they are stated.

        Args:
            width: the width of the residual stream, which the heads share unless `head_dim` says otherwise.
            names: the names of the setting with the number of heads, by default `num_attention_heads`.
            of: the name of the setting with the width.
            groups: the default of `num_key_value_heads`; None means the number of heads, as a null value does.
            key: the default of `head_dim`; None means the width divided by the number of heads.
            grouped: False if the family has neither of these two settings.
        """
        settings, own = self.settings, names or ("num_attention_heads",)
        heads = self.size(*own)
        if not grouped:
            return AttentionShape(heads, heads, self._share(width, heads, own[0], of))
        default = heads if groups is None or is_null(settings, "num_key_value_heads") else groups
        found = settings.integer("num_key_value_heads", default)
        if heads % found:
            raise settings.at("num_key_value_heads").error(f"a divisor of {own[0]}, {heads}")
        if settings.has("head_dim") or key is not None:
            return AttentionShape(heads, found, settings.integer("head_dim", key))
        return AttentionShape(heads, found, self._share(width, heads, own[0], of))

    def _share(self, width: int, heads: int, name: str, of: str) -> int:
        if width % heads:
            raise self.settings.at(name).error(f"a divisor of {of}, {width}")
        return width // heads

    # ---- parts of layers ----

    def has(self, name: str) -> bool:
        """Return True if the body has a tensor of this name."""
        return self.weights.has(self.start + name)

    def take(self, name: str, *shape: int | None, why: str = "") -> Dense:
        """Return a tensor of the body; see `Tensors.take`."""
        return self.weights.take(self.start + name, *shape, why=why)

    def linear(self, name: str, into: int, out: int, bias: bool = True, why: str = "") -> Projection:
        """Return an `nn.Linear` of the body with `into` inputs and `out` outputs."""
        weight = self.take(f"{name}.weight", out, into, why=why).T
        return Projection(weight, self.take(f"{name}.bias", out) if bias else None)

    def layer_norm(self, name: str, size: int, epsilon: Fraction, bias: bool = True) -> Norm:
        """Return an `nn.LayerNorm` of the body over `size` coordinates."""
        weight = self.take(f"{name}.weight", size)
        return Norm("layer", epsilon, weight, self.take(f"{name}.bias", size) if bias else None)

    def rms_norm(self, name: str, size: int, epsilon: Fraction, plus: int = 0) -> Norm:
        """Return an RMSNorm of the body over `size` coordinates, whose weight is `plus` more than the stored one."""
        return Norm("rms", epsilon, exact_sum(plus, self.take(f"{name}.weight", size)))

    def projections(
        self, name: str, width: int, shape: AttentionShape, bias: bool, *, out: str = "o_proj", out_bias: bool
    ) -> Projections:
        """Return the maps of an attention layer with `q_proj`, `k_proj`, `v_proj` and an output map named `out`."""
        all_queries, all_keys, why = shape.heads * shape.key, shape.groups * shape.key, "heads times their width"
        return Projections(
            self.linear(f"{name}q_proj", width, all_queries, bias, why),
            self.linear(f"{name}k_proj", width, all_keys, bias, why),
            self.linear(f"{name}v_proj", width, all_keys, bias, why),
            self.linear(f"{name}{out}", all_queries, width, out_bias, why),
        )

    def mlp(
        self, first: str, second: str, activation: Activation | None, sizes: tuple[int, int], bias: bool = True
    ) -> Mlp:
        """Return an MLP of two `nn.Linear` layers; `sizes` are its width and its number of hidden units.

        An activation of None is the square of relu: relu(z)^2 = relu(z) z is a gated MLP whose gate is its own input.
        """
        width, hidden = sizes
        into, out = self.linear(first, width, hidden, bias), self.linear(second, hidden, width, bias)
        if activation is None:
            relu = Activation.RELU
            return Mlp(relu, into.weight, out.weight, into.bias, out.bias, w_gate=into.weight, b_gate=into.bias)
        return Mlp(activation, into.weight, out.weight, into.bias, out.bias)

    def gated_mlp(self, name: str, activation: Activation, sizes: tuple[int, int], bias: bool = False) -> Mlp:
        """Return an MLP of `gate_proj`, `up_proj` and `down_proj`; `sizes` as in `mlp`."""
        width, hidden = sizes
        plain = self.mlp(f"{name}up_proj", f"{name}down_proj", activation, sizes, bias)
        gate = self.linear(f"{name}gate_proj", width, hidden, bias)
        return replace(plain, w_gate=gate.weight, b_gate=gate.bias)

    def joint_mlp(self, name: str, activation: Activation, sizes: tuple[int, int]) -> Mlp:
        """Return an MLP of `gate_up_proj`, first the gate, and `down_proj`, without biases; `sizes` as in `mlp`."""
        width, hidden = sizes
        joint = self.linear(f"{name}gate_up_proj", width, 2 * hidden, bias=False).weight
        out = self.linear(f"{name}down_proj", hidden, width, bias=False).weight
        return Mlp(activation, joint[:, hidden:], out, w_gate=joint[:, :hidden])

    def masks(self, name: str, rows: int, window: int | None = None) -> None:
        """Raise InputError unless the buffers of an attention layer that older versions store, if they exist, are the
        causal mask of `rows` positions, which `window` limits, and its filler."""
        self.weights.check_mask(f"{self.start}{name}bias", rows, window=window)
        self.weights.check_filler(f"{self.start}{name}masked_bias")

    def frequencies(self, name: str, rotary: Rotary | None) -> None:
        """Raise InputError unless the buffer of rotary frequencies of an attention layer, if it exists, has those of
        `rotary`."""
        if rotary is not None:
            expected = [float(lower(frequency)) for frequency in rotary.frequencies]
            # Older versions divided the positions by the factor, and stored frequencies without it.
            buffer, what, divisor = (
                f"{self.start}{name}rotary_emb.inv_freq",
                "rotary frequencies",
                float(rotary.divisor),
            )
            self.weights.check_numbers(buffer, what, expected, [value * divisor for value in expected])

    # ---- rules of scores ----

    def rotary(
        self, key: int, theta: Fraction | None = THETA, part: Fraction = ALL, names: Mapping[str, str] = NO_NAMES
    ) -> Rotary | None:
        """Return the rotary positions that all layers share; see `read_rotary`.

        Args:
            key: the width of a key.
            theta: the default base; None if it must be stated.
            part: the default share of the coordinates that are turned.
            names: other names of `rope_theta` and `partial_rotary_factor` outside `rope_parameters`.
        """
        return read_rotary(self.settings, key, RotaryNames(theta, part, names))

    def whole_rotary(self, key: int, theta: Fraction | None = THETA) -> Rotary:
        """Return rotary positions on all coordinates of keys of width `key`; the other arguments as in `rotary`. Raises
        InputError if the settings turn a part of them: the library fails at that, or turns all of them."""
        found = read_rotary(self.settings, key, RotaryNames(theta, whole=True))
        assert found is not None
        return found

    def windows(self, layers: int, slides: Iterable[bool], window: int | None) -> tuple[int | None, ...]:
        """Return the window of each layer, None where there is no limit. `layer_types` says which layers have the
        window; if it is absent, `slides` does."""
        settings, names = self.settings, {"full_attention": False, "sliding_attention": True}
        chosen = list(slides)
        if settings.has("layer_types"):
            place, types = settings.at("layer_types"), settings.value("layer_types")
            right = (
                isinstance(types, list)
                and len(types) == layers
                and all(isinstance(one, str) and one in names for one in types)
            )
            if not right:
                raise place.error(f"an array of {layers} names, each of them {' or '.join(names)}")
            settings.take("layer_types", ", ".join(dict.fromkeys(types)))
            chosen = [names[one] for one in types]
            if any(chosen) and window is None:
                raise settings.at("sliding_window").error("the window of the layers with sliding attention")
        return tuple(window if here else None for here in chosen)

    def pattern(self, layers: int, every: int) -> list[bool]:
        """Return which layers have a window where `layer_types` does not say it: all but every so many."""
        settings, keys = self.settings, ("sliding_window_pattern", "_sliding_window_pattern")
        key = next((one for one in keys if settings.has(one)), keys[0])
        if settings.has("layer_types"):
            settings.harmless(*keys)
            return [False] * layers
        found = settings.integer(key, every)
        return [(layer + 1) % found != 0 for layer in range(layers)]


def is_null(settings: Settings, key: str) -> bool:
    """Return True if a setting is stated to be null, which in some families differs from its default."""
    return key in settings.document.value and not settings.has(key)


def optional_size(settings: Settings, key: str, default: int | None) -> int | None:
    """Return an integer from 1 on, the default if it is absent, and None if it is stated to be null."""
    if is_null(settings, key) or (default is None and not settings.has(key)):
        settings.take(key, "none")
        settings.harmless(key)
        return None
    return settings.integer(key, default)


def optional_number(settings: Settings, key: str, default: Fraction | None) -> Fraction | None:
    """Return a number above 0, the default if it is absent, and None if it is stated to be null."""
    if is_null(settings, key) or (default is None and not settings.has(key)):
        settings.take(key, "none")
        settings.harmless(key)
        return None
    found = settings.number(key, default)
    if found <= 0:
        raise settings.at(key).error("a number above 0, or null")
    return found


def attention_heads(
    layer: int,
    shape: AttentionShape,
    maps: Projections,
    rules: ScoreRules,
    distances: Sequence[DistanceBias] = (),
    norms: tuple[Sequence[Norm], Sequence[Norm]] = ((), ()),
) -> tuple[NetworkHead, ...]:
    """Return the causal heads of a layer.

    Args:
        layer: the number of the layer, from 0.
        shape: the heads.
        maps: the projections of all heads side by side.
        rules: what all heads have in common.
        distances: the bias of each head; empty if there are none.
        norms: the norms of the queries by head, and of the keys by group; empty if there are none.
    """
    heads = split_heads(
        layer, shape.heads, (maps.q, maps.k, maps.v), maps.o.weight, Mask.FUTURE, rules.scale, shape.groups,
        rotary=rules.rotary, cap=rules.cap, window=rules.window,
    )  # fmt: skip
    return tuple(
        replace(
            head,
            norm_q=norms[0][number] if norms[0] else None,
            norm_k=norms[1][number * shape.groups // shape.heads] if norms[1] else None,
            distance=distances[number] if distances else None,
        )
        for number, head in enumerate(heads)
    )


def joint_projections(joint: Projection, places: NDArray[Any], out: Projection) -> Projections:
    """Return the maps of an attention layer with one joint matrix. `places` (heads, 3, key) are the columns of the
    queries, keys and values of each head."""
    q, k, v = (joint.columns(places[:, part]) for part in range(3))
    return Projections(q, k, v, out)


def by_head(shape: AttentionShape) -> NDArray[Any]:
    """Return the places of `joint_projections` where each head has its query, key and value side by side."""
    return np.arange(3 * shape.heads * shape.key).reshape(shape.heads, 3, shape.key)


def exact_sum(number: int, array: Dense) -> Dense:
    """Return `number + array` exactly: of float64 where that holds all sums, else of Fractions."""
    found = number + array
    # The rounding errors of the sums, which are exact (Knuth's TwoSum).
    part = found - number
    errors = (number - (found - part)) + (array - part)
    if not errors.any():
        return found
    exact = np.empty(array.shape, dtype=object)
    exact.ravel()[:] = [number + Fraction(value) for value in array.ravel().tolist()]
    return exact


def exact_product(left: Dense, right: Dense) -> Dense:
    """Return the matrix product exactly, as an array of Fractions."""
    rows = [[Fraction(value) for value in row] for row in left.tolist()]
    columns = [[Fraction(value) for value in row] for row in right.T.tolist()]
    found = np.empty((len(rows), len(columns)), dtype=object)
    for place, row in enumerate(rows):
        found[place] = [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns]
    return found
