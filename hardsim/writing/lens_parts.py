"""The parts of external networks that only some families have, in TransformerLens: its settings for them.

The class has each part once, for all heads and layers. A network in which they differ is refused, with the part.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import field
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from hardsim.errors import InputError
from hardsim.lazy_dataclass import dataclass
from hardsim.network.blocks import DistanceBias, Rotary
from hardsim.network.dense import Mlp, Network, NetworkHead, NetworkLayer, Norm
from hardsim.network.features import NetworkFeature
from hardsim.network.numbers import Mask
from hardsim.writing.layout import nearest_float

H = TypeVar("H", bound=Hashable)
NAME = "transformer-lens"
ELSEWHERE = "Write --to torch, --to safetensors or --to onnx: they have all parts."
HELD = frozenset(NetworkFeature) - {
    NetworkFeature.PROJECTION,
    NetworkFeature.TRANSFORM,
    NetworkFeature.POOLED_START,
    NetworkFeature.POOLED_MEAN,
}
"""The features of external networks that the class has a place for."""


def refused(part: str, hint: str = ELSEWHERE) -> InputError:
    """Return the error about a part of a network that the class has no place for."""
    return InputError(f"--to {NAME}: TransformerLens has no place for {part}", hint)


@dataclass
class LensParts:
    """The further parts of an external network. Raises InputError where heads or layers differ in them."""

    network: Network
    settings: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments of `HookedTransformerConfig`."""

    def __post_init__(self) -> None:
        self.rotary: Rotary | None = _shared((head.rotary for head in self.heads), "heads with different rotary parts")
        self.gated = _shared((mlp.w_gate is not None for mlp in self.mlps), "MLPs with and without gates") or False
        self.head_norms = any(head.norm_q is not None or head.norm_k is not None for head in self.heads)
        self.around = any(layer.out_1 is not None or layer.out_2 is not None for layer in self.network.layers)
        self._positions()
        self._windows()
        self._caps()
        self._layers()
        self._epsilons()

    @property
    def heads(self) -> tuple[NetworkHead, ...]:
        """All heads, layer by layer."""
        return self.network.heads

    @property
    def mlps(self) -> list[Mlp]:
        """All MLPs."""
        return [layer.mlp for layer in self.network.layers if layer.mlp is not None]

    @property
    def norms(self) -> list[Norm]:
        """The norms of these parts."""
        found = [self.network.embedding_norm]
        found += [norm for layer in self.network.layers for norm in (layer.out_1, layer.out_2)]
        found += [norm for head in self.heads for norm in (head.norm_q, head.norm_k)]
        return [norm for norm in found if norm is not None]

    def _positions(self) -> None:
        network, settings = self.network, self.settings
        placed = isinstance(network.positions, np.ndarray) or network.positions != ()
        slopes = any(head.distance is not None for head in self.heads)
        if placed and (slopes or self.rotary is not None):
            raise refused("rotary positions or ALiBi beside other positions")
        if slopes and self.rotary is not None:
            raise refused("rotary positions and ALiBi together")
        if slopes:
            self._slopes()
            settings["positional_embedding_type"] = "alibi"
        if self.rotary is not None:
            settings |= _rotary_settings(self.rotary)
        if network.positions_at == "scores":
            settings["positional_embedding_type"] = "shortformer"
        if network.embedding_norm is not None:
            if network.embedding_norm.kind != "layer" or "positional_embedding_type" not in settings or placed:
                raise refused("a norm of embeddings that is no LayerNorm, or beside positions that are added to them")
            settings["post_embedding_ln"] = True

    def _slopes(self) -> None:
        for layer in self.network.layers:
            count = max(len(layer.heads) for layer in self.network.layers)
            expected = [DistanceBias(Fraction(8 * (place + 1), count)) for place in range(count)]
            if layer.heads and [head.distance for head in layer.heads] != expected:
                raise refused(f"ALiBi slopes other than 2^(-8 h / {count}) for h = 1 to {count} in each layer")
        if any(head.mask is not Mask.FUTURE for head in self.heads):
            raise refused("ALiBi in heads that are not causal")

    def _windows(self) -> None:
        different = "heads of one layer with different windows"
        windows = [_shared((head.window for head in layer.heads), different) for layer in self.network.layers]
        window = _shared((one for one in windows if one is not None), "windows of different sizes")
        if window is None:
            return
        if any(head.mask is not Mask.FUTURE for head in self.heads):
            raise refused("windows of heads that are not causal")
        kinds = ["global" if one is None else "local" for one in windows]
        self.settings |= {"use_local_attn": True, "window_size": window, "attn_types": kinds}

    def _caps(self) -> None:
        caps = _shared((head.cap for head in self.heads), "heads with different soft caps"), self.network.output_cap
        for key, cap in zip(("attn_scores_soft_cap", "output_logits_soft_cap"), caps, strict=True):
            if cap is not None:
                self.settings[key] = nearest_float(cap)

    def _layers(self) -> None:
        full = [layer for layer in self.network.layers if layer.attends and layer.mlp is not None]
        if _shared((layer.parallel for layer in full), "parallel and sequential layers"):
            self.settings["parallel_attn_mlp"] = True
        if self.gated:
            if any(bias is not None and bias.any() for mlp in self.mlps for bias in (mlp.b_in, mlp.b_gate)):
                raise refused("gated MLPs with biases of their hidden units")
            self.settings["gated_mlp"] = True
        if self.head_norms:
            self.settings["use_qk_norm"] = True
            for layer in self.network.layers:
                self._require_head_norms(layer)
        if self.around:
            self.settings["use_normalization_before_and_after"] = True
            added = [layer.out_1 for layer in self.network.layers if layer.attends]
            added += [layer.out_2 for layer in self.network.layers if layer.mlp is not None]
            if not all(norm is not None and norm.kind == "rms" and norm.bias is None for norm in added):
                raise refused("norms of what a layer adds that are no RMSNorm, or only some of them")

    def _require_head_norms(self, layer: NetworkLayer) -> None:
        wide = {head.w_q.shape[1] for head in self.heads}
        for norms in ([head.norm_q for head in layer.heads], [head.norm_k for head in layer.heads]):
            weights = {None if norm is None or norm.weight is None else norm.weight.tobytes() for norm in norms}
            plain = all(norm is not None and norm.kind == "rms" and norm.bias is None for norm in norms)
            if not plain or len(weights) > 1 or len(wide) > 1 or len({head.scale for head in layer.heads}) > 1:
                raise refused("norms of queries and keys that are no RMSNorm, or that differ from head to head")

    def _epsilons(self) -> None:
        epsilon = _shared((norm.epsilon for norm in self.norms), "norms with different epsilons")
        if epsilon is not None:
            self.settings["eps"] = nearest_float(epsilon)

    def tables(self, rows: int) -> dict[str, Any]:
        """Return the buffers of rotary positions of a layer, for `rows` positions."""
        if self.rotary is None:
            return {}
        frequencies = [nearest_float(frequency) for frequency in self.rotary.frequencies]
        of = {place: r for r, pair in enumerate(self.rotary.pairs) for place in pair}
        angles = np.arange(rows)[:, None] * np.array([frequencies[of[place]] for place in range(self.rotary.size)])
        return {"rotary_sin": np.sin(angles), "rotary_cos": np.cos(angles)}


def _rotary_settings(rotary: Rotary) -> dict[str, Any]:
    if rotary != Rotary(rotary.base, rotary.size, rotary.interleaved):
        raise refused("scaled rotary positions")
    return {
        "positional_embedding_type": "rotary",
        "rotary_dim": rotary.size,
        "rotary_base": nearest_float(rotary.base),
        "rotary_adjacent_pairs": rotary.interleaved,
    }


def _shared(values: Iterable[H], different: str) -> H | None:
    """Return the value that all have; None if there are none. Raises InputError if they differ."""
    found = set(values)
    if len(found) > 1:
        raise refused(different)
    return found.pop() if found else None
