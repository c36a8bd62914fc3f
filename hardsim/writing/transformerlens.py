"""Write a layout as a network of TransformerLens: `config.json`, a state dict and a tokenizer.

The state dict has the names of `HookedTransformer` (versions 1 to 3): `blocks.0.attn.W_Q` [heads, d, k] and so on. That
class has one shape for all heads and all MLPs, so smaller ones are filled up with zeros, which change no output. The
scale of a head goes into its W_Q and b_Q, and `min(max(z, 0), cap)` becomes relu(z) - relu(z - cap). A network that is
no function of this class is refused, with the part that it has no place for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.writing.layout import (
    CLIP,
    EMBEDDING,
    EMBEDDING_BIAS,
    POSITIONS,
    UNEMBEDDING,
    UNEMBEDDING_BIAS,
    Array,
    ExportLayout,
    nearest_float,
)
from hardsim.writing.lens_parts import ELSEWHERE, LensParts
from hardsim.writing.lens_parts import refused as _refused

DIRECTIONS = {"future": "causal", "none": "bidirectional"}
KINDS = {"layer": "LN", "rms": "RMS"}
RELU = "relu"
ACTIVATIONS = {RELU, "gelu", "gelu_new", "silu"}
UNKNOWN = "<unknown>"
"""The name of a token that is not in the vocabulary, so that a text with an unknown symbol is an error."""


def lens_files(
    layout: ExportLayout, max_n: int, network: Network | None = None
) -> tuple[dict[str, Any], dict[str, Array], dict[str, Any]]:
    """Return the configuration, the state dict and the tokenizer of a layout, for words of up to `max_n` symbols where
    the layout has no table of positions. `network` is the external network that it is the layout of. Raises InputError
    if the class has no place for a part of the network; OutOfRange if a number is beyond float64."""
    made = _Lens(layout, max_n, None if network is None else LensParts(network))
    made.require()
    tensors = made.tensors()
    return made.config(), tensors, _tokenizer(layout)


STEADY = f"{ELSEWHERE} A formula compiled with --regime causal-position depends on neither length nor temperature."


@dataclass
class _Lens:
    """A layout on its way into the shapes of the class."""

    layout: ExportLayout
    max_n: int
    parts: LensParts | None
    """The further parts of an external network."""
    layers: list[dict[str, Any]] = field(init=False)
    rows: int = field(init=False)
    """The number of positions of the table."""

    def __post_init__(self) -> None:
        self.layers = self.layout.description["layers"]
        table = self.layout.arrays.get(POSITIONS)
        self.rows = len(table) if table is not None else self.max_n + self.layout.fixed

    def require(self) -> None:
        """Raise InputError unless the class can hold the network."""
        layout = self.layout
        if "propositions" in layout.description:
            raise _refused("sets of propositions: its inputs are token ids")
        if strange := self.activations - ACTIVATIONS:
            raise _refused(f"the activation {', '.join(sorted(strange))}")
        if layout.scaled_by:
            raise _refused("scores whose scale depends on the length or the position (a temperature)", STEADY)
        if any("n" in variables for variables in layout.encoded_by.values()):
            raise _refused("position encodings that depend on the length of the word", STEADY)
        if len(self.masks) > 1 or not self.masks <= DIRECTIONS.keys():
            raise _refused(f"heads with the masks {', '.join(sorted(self.masks))}: all must be future, or all none")
        if len(self.activations) > 1:
            raise _refused(f"MLPs with different activations ({', '.join(sorted(self.activations))})")
        if any(layer.get("norms") == "after" and (layer.get("norm_1") or layer.get("norm_2")) for layer in self.layers):
            raise _refused("norms after the sums (post-norm)")
        self._require_norms()

    def _require_norms(self) -> None:
        present = [norm for norm in self._norms() if norm is not None]
        if present and (len(present) < len(list(self._norms())) or any(norm != present[0] for norm in present)):
            raise _refused("norms of several kinds or epsilons, or only some of the norms")
        own = (".norm_1.bias", ".norm_2.bias", "final_norm.bias")
        biased = any(name.endswith(own) for name in self.layout.arrays)
        if present and present[0]["kind"] == "rms" and biased:
            raise _refused("an RMSNorm with a bias")
        self._require_parts(present[0] if present else None)

    def _require_parts(self, norm: dict[str, Any] | None) -> None:
        if self.parts is None:
            return
        if norm is not None and any(str(other.epsilon) != norm["epsilon"] for other in self.parts.norms):
            raise _refused("norms with different epsilons")
        if self.parts.around and (norm is None or norm["kind"] != "rms"):
            raise _refused("norms of what a layer adds without an RMSNorm before it")
        if self.parts.head_norms and any(head.w_q.shape[1] < self.key for head in self.parts.heads):
            raise _refused("norms of queries and keys beside wider values")

    def _norms(self) -> Iterable[dict[str, Any] | None]:
        """Yield the norm before each step of each layer that there is, and the final norm."""
        for number, layer in enumerate(self.layers):
            if layer["heads"] or f"layers.{number}.b_o" in self.layout.arrays:
                yield layer.get("norm_1")
            if layer["mlp"]:
                yield layer.get("norm_2")
        yield self.layout.description.get("final_norm")

    @property
    def norm(self) -> dict[str, Any] | None:
        """The kind and epsilon of all norms; None if there are none."""
        return next((norm for norm in self._norms() if norm is not None), None)

    @property
    def masks(self) -> set[str]:
        """The masks of all heads."""
        return {head["mask"] for layer in self.layers for head in layer["heads"]}

    @property
    def activations(self) -> set[str]:
        """The activations of all MLPs; a clip is made of relus."""
        return {RELU if layer["mlp"] == CLIP else layer["mlp"] for layer in self.layers if layer["mlp"]}

    @property
    def heads(self) -> int:
        """The greatest number of heads of a layer, at least 1."""
        return max([1, *(len(layer["heads"]) for layer in self.layers)])

    @property
    def key(self) -> int:
        """The width of keys and values of each head."""
        arrays = self.layout.arrays
        sizes = [int(array.shape[1]) for name, array in arrays.items() if name.endswith((".w_q", ".w_v"))]
        return max([1, *sizes])

    @property
    def hidden(self) -> int:
        """The number of hidden units of each MLP; 0 if no layer has one."""
        return max([0, *(len(self._mlp(number)[1]) for number, layer in enumerate(self.layers) if layer["mlp"])])

    def config(self) -> dict[str, Any]:
        """Return the configuration: keyword arguments of `HookedTransformerConfig`."""
        layout, norm = self.layout, self.norm
        found = {
            "d_model": layout.dimension,
            "d_head": self.key,
            "n_heads": self.heads,
            "n_layers": len(self.layers),
            "n_ctx": self.rows,
            "d_vocab": len(layout.description["tokens"]),
            "d_vocab_out": len(layout.description["outputs"]),
            "attn_only": self.hidden == 0,
            "act_fn": next(iter(self.activations), RELU),
            "normalization_type": None if norm is None else KINDS[norm["kind"]],
            "attention_dir": DIRECTIONS[next(iter(self.masks), "future")],
            "positional_embedding_type": "standard",
            "use_attn_scale": False,
            "default_prepend_bos": False,
        }
        if self.hidden:
            found["d_mlp"] = self.hidden
        if norm is not None:
            found["eps"] = nearest_float(Fraction(norm["epsilon"]))
        return found if self.parts is None else found | self.parts.settings

    def tensors(self) -> dict[str, Array]:
        """Return the state dict: float64 arrays, and the class's two buffers for masks."""
        arrays, d, parts = self.layout.arrays, self.layout.dimension, self.parts
        outputs = arrays[UNEMBEDDING].shape[1]
        found: dict[str, Any] = {
            "embed.W_E": arrays[EMBEDDING] + arrays.get(EMBEDDING_BIAS, 0.0),
            "unembed.W_U": arrays[UNEMBEDDING],
            "unembed.b_U": arrays.get(UNEMBEDDING_BIAS, np.zeros(outputs)),
        }
        for number in range(len(self.layers)):
            name = f"blocks.{number}."
            found |= {f"{name}attn.{part}": array for part, array in self._attention(number).items()}
            found[f"{name}attn.mask"] = self._mask(number)
            found[f"{name}attn.IGNORE"] = np.array(-np.inf)
            found |= {f"{name}attn.{part}": array for part, array in (parts.tables(self.rows) if parts else {}).items()}
            found |= self._norm(f"{name}ln1", f"layers.{number}.norm_1", d)
            found |= self._around(number)
            if self.hidden:
                found |= {f"{name}mlp.{part}": array for part, array in self._filled_mlp(number).items()}
                found |= self._norm(f"{name}ln2", f"layers.{number}.norm_2", d)
        found |= self._norm("ln_final", "final_norm", d)
        if parts is None or parts.rotary is None:
            found["pos_embed.W_pos"] = self._positions()
        if parts is not None and parts.network.embedding_norm is not None:
            found["embed.ln.w"] = arrays.get("embedding_norm.weight", np.ones(d))
            found["embed.ln.b"] = arrays.get("embedding_norm.bias", np.zeros(d))
        return {name: np.ascontiguousarray(array) for name, array in found.items()}

    def _positions(self) -> Array:
        arrays, d = self.layout.arrays, self.layout.dimension
        if POSITIONS in arrays:
            return arrays[POSITIONS]
        found = np.zeros((self.rows, d))
        for place, values in self.layout.encoded(self.max_n):
            found[:, place] += [nearest_float(value) for value in values]
        return found

    def _norm(self, name: str, prefix: str, d: int) -> dict[str, Array]:
        """Return the parameters of one norm; those of a step that is left out are 1 and 0."""
        if self.norm is None:
            return {}
        found = {f"{name}.w": self.layout.arrays.get(f"{prefix}.weight", np.ones(d))}
        if self.norm["kind"] == "layer":
            found[f"{name}.b"] = self.layout.arrays.get(f"{prefix}.bias", np.zeros(d))
        return found

    def _mask(self, number: int) -> NDArray[np.bool_]:
        """Return the buffer of the positions that a layer sees, which the class keeps for causal attention alone."""
        whole = np.tri(self.rows, dtype=np.bool_)
        windows = [head["window"] for head in self.layers[number]["heads"] if "window" in head]
        return whole & ~np.tri(self.rows, k=-windows[0], dtype=np.bool_) if windows else whole

    def _around(self, number: int) -> dict[str, Array]:
        """Return the weights of the norms of queries and keys, and of what a layer adds."""
        arrays, parts, found = self.layout.arrays, self.parts, dict[str, Array]()
        start, name = f"layers.{number}.", f"blocks.{number}."
        if parts is not None and parts.head_norms:
            for one in "qk":
                weight = arrays.get(f"{start}heads.0.norm_{one}.weight", np.ones(self.key))
                # A factor before the norm would have no effect.
                scale = self._scales(number)[0] if one == "q" and self.layers[number]["heads"] else 1.0
                found[f"{name}attn.{one}_norm.w"] = scale * weight
        if parts is not None and parts.around:
            for place in (1, 2) if self.hidden else (1,):
                weight = arrays.get(f"{start}out_{place}.weight", np.ones(self.layout.dimension))
                found[f"{name}ln{place}_post.w"] = weight
        return found

    def _attention(self, number: int) -> dict[str, Array]:
        arrays, d, h, k = self.layout.arrays, self.layout.dimension, self.heads, self.key
        found = {f"W_{part}": np.zeros((h, d, k)) for part in "QKV"} | {f"b_{part}": np.zeros((h, k)) for part in "QKV"}
        found |= {"W_O": np.zeros((h, k, d)), "b_O": arrays.get(f"layers.{number}.b_o", np.zeros(d))}
        normed = self.parts is not None and self.parts.head_norms
        for place, scale_of in enumerate(self._scales(number)):
            prefix, factor = f"layers.{number}.heads.{place}.", 1.0 if normed else scale_of
            for part, scale in (("q", factor), ("k", 1.0), ("v", 1.0)):
                weight, bias = arrays[f"{prefix}w_{part}"], arrays.get(f"{prefix}b_{part}")
                found[f"W_{part.upper()}"][place, :, : weight.shape[1]] = scale * weight
                if bias is not None:
                    found[f"b_{part.upper()}"][place, : len(bias)] = scale * bias
            w_o = arrays[f"{prefix}w_o"]
            found["W_O"][place, : len(w_o)] = w_o
        return found

    def _scales(self, number: int) -> list[float]:
        """Return the factor of the scores of each head of a layer."""
        before, count = sum(len(layer["heads"]) for layer in self.layers[:number]), len(self.layers[number]["heads"])
        return [nearest_float(row[0]) for row in self.layout.scaled(1)[before : before + count]]

    def _mlp(self, number: int) -> tuple[Array, Array, Array]:
        """Return W_in, b_in and W_out of a layer's MLP; a clipped unit is two units."""
        arrays, name = self.layout.arrays, f"layers.{number}.mlp."
        w_in, w_out = arrays[f"{name}w_in"], arrays[f"{name}w_out"]
        b_in = arrays.get(f"{name}b_in", np.zeros(w_in.shape[1]))
        cap = arrays.get(f"{name}cap")
        if cap is None:
            return w_in, b_in, w_out
        clipped = np.isfinite(cap)
        above = w_in - arrays.get(f"{name}w_cap", 0.0)
        joined = np.concatenate([w_in, above[:, clipped]], axis=1), np.concatenate([b_in, (b_in - cap)[clipped]])
        return *joined, np.concatenate([w_out, -w_out[clipped]])

    def _filled_mlp(self, number: int) -> dict[str, Array]:
        d, m = self.layout.dimension, self.hidden
        found = {"W_in": np.zeros((d, m)), "b_in": np.zeros(m), "W_out": np.zeros((m, d)), "b_out": np.zeros(d)}
        if self.parts is not None and self.parts.gated:
            found["W_gate"] = np.zeros((d, m))
            if (gate := self.layout.arrays.get(f"layers.{number}.mlp.w_gate")) is not None:
                found["W_gate"][:, : gate.shape[1]] = gate
        if self.layers[number]["mlp"]:
            w_in, b_in, w_out = self._mlp(number)
            found["W_in"][:, : len(b_in)], found["b_in"][: len(b_in)], found["W_out"][: len(b_in)] = w_in, b_in, w_out
            found["b_out"] = self.layout.arrays.get(f"layers.{number}.mlp.b_out", found["b_out"])
        return found


def _tokenizer(layout: ExportLayout) -> dict[str, Any]:
    """Return a tokenizer that looks up symbols separated by blanks, and puts the network's tokens around every text."""
    description = layout.description
    names = description["tokens"]
    before, after = ([names[number] for number in description[side]] for side in ("before", "after"))
    special = sorted({*before, *after}, key=names.index)
    pieces = [{"SpecialToken": {"id": name, "type_id": 0}} for name in before]
    pieces += [{"Sequence": {"id": "A", "type_id": 0}}]
    pieces += [{"SpecialToken": {"id": name, "type_id": 0}} for name in after]
    marks = {name: {"id": name, "ids": [names.index(name)], "tokens": [name]} for name in special}
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": names.index(name), "content": name, "special": True, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False}
            for name in special
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing", "single": pieces, "special_tokens": marks,
            "pair": [*pieces, {"Sequence": {"id": "B", "type_id": 1}}],
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {name: k for k, name in enumerate(names)}, "unk_token": UNKNOWN},
    }  # fmt: skip


def lens_json(value: dict[str, Any]) -> bytes:
    """Return the bytes of a JSON file of the folder."""
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
