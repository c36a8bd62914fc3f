"""Write a layout as a network of TransformerLens: `config.json`, a state dict and a tokenizer.

The state dict has the names of `HookedTransformer` (versions 1 to 3): `blocks.0.attn.W_Q` [heads, d, k] and so on. That
class has one shape for all heads and all MLPs, so smaller ones are filled up with zeros, which change no output. The
scale of a head goes into its W_Q and b_Q, and `min(max(z, 0), cap)` becomes relu(z) - relu(z - cap). A network that is
no function of this class is refused, with the part that it has no place for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from hardsim.errors import InputError
from hardsim.writing.layout import (
    CLIP,
    EMBEDDING,
    POSITIONS,
    UNEMBEDDING,
    UNEMBEDDING_BIAS,
    Array,
    ExportLayout,
    nearest_float,
)

NAME = "transformer-lens"
DIRECTIONS = {"future": "causal", "none": "bidirectional"}
KINDS = {"layer": "LN", "rms": "RMS"}
RELU = "relu"
ACTIVATIONS = {RELU, "gelu", "gelu_new", "silu"}
UNKNOWN = "<unknown>"
"""The name of a token that is not in the vocabulary, so that a text with an unknown symbol is an error."""


def lens_files(layout: ExportLayout, max_n: int) -> tuple[dict[str, Any], dict[str, Array], dict[str, Any]]:
    """Return the configuration, the state dict and the tokenizer of a layout, for words of up to `max_n` symbols where
    the layout has no table of positions. Raises InputError if the class has no place for a part of the network;
    OutOfRange if a number is beyond float64."""
    made = _Lens(layout, max_n)
    made.require()
    tensors = made.tensors()
    return made.config(), tensors, _tokenizer(layout)


ELSEWHERE = "Write --to torch, --to safetensors or --to onnx: they have all parts."
STEADY = f"{ELSEWHERE} A formula compiled with --regime causal-position depends on neither length nor temperature."


def _refused(part: str, hint: str = ELSEWHERE) -> InputError:
    return InputError(f"--to {NAME}: TransformerLens has no place for {part}", hint)


@dataclass
class _Lens:
    """A layout on its way into the shapes of the class."""

    layout: ExportLayout
    max_n: int
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
        if layout.features:
            raise InputError(f"--to {NAME} does not write {', '.join(layout.features)}", ELSEWHERE)
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
        biased = any("norm" in name and name.endswith(".bias") for name in self.layout.arrays)
        if present and present[0]["kind"] == "rms" and biased:
            raise _refused("an RMSNorm with a bias")

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
        """The number of heads of each layer, at least 1."""
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
        return found

    def tensors(self) -> dict[str, Array]:
        """Return the state dict: float64 arrays, and the class's two buffers for masks."""
        arrays, d = self.layout.arrays, self.layout.dimension
        outputs = arrays[UNEMBEDDING].shape[1]
        found: dict[str, Any] = {
            "embed.W_E": arrays[EMBEDDING],
            "pos_embed.W_pos": self._positions(),
            "unembed.W_U": arrays[UNEMBEDDING],
            "unembed.b_U": arrays.get(UNEMBEDDING_BIAS, np.zeros(outputs)),
        }
        for number in range(len(self.layers)):
            name = f"blocks.{number}."
            found |= {f"{name}attn.{part}": array for part, array in self._attention(number).items()}
            found[f"{name}attn.mask"] = np.tril(np.ones((self.rows, self.rows), dtype=np.bool_))
            found[f"{name}attn.IGNORE"] = np.array(-np.inf)
            found |= self._norm(f"{name}ln1", f"layers.{number}.norm_1", d)
            if self.hidden:
                found |= {f"{name}mlp.{part}": array for part, array in self._filled_mlp(number).items()}
                found |= self._norm(f"{name}ln2", f"layers.{number}.norm_2", d)
        found |= self._norm("ln_final", "final_norm", d)
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

    def _attention(self, number: int) -> dict[str, Array]:
        arrays, d, h, k = self.layout.arrays, self.layout.dimension, self.heads, self.key
        found = {f"W_{part}": np.zeros((h, d, k)) for part in "QKV"} | {f"b_{part}": np.zeros((h, k)) for part in "QKV"}
        found |= {"W_O": np.zeros((h, k, d)), "b_O": arrays.get(f"layers.{number}.b_o", np.zeros(d))}
        before = sum(len(layer["heads"]) for layer in self.layers[:number])
        scales = self.layout.scaled(1)
        for place in range(len(self.layers[number]["heads"])):
            prefix, factor = f"layers.{number}.heads.{place}.", nearest_float(scales[before + place][0])
            for part, scale in (("q", factor), ("k", 1.0), ("v", 1.0)):
                weight, bias = arrays[f"{prefix}w_{part}"], arrays.get(f"{prefix}b_{part}")
                found[f"W_{part.upper()}"][place, :, : weight.shape[1]] = scale * weight
                if bias is not None:
                    found[f"b_{part.upper()}"][place, : len(bias)] = scale * bias
            w_o = arrays[f"{prefix}w_o"]
            found["W_O"][place, : len(w_o)] = w_o
        return found

    def _mlp(self, number: int) -> tuple[Array, Array, Array]:
        """Return W_in, b_in and W_out of a layer's MLP; a clipped unit is two units."""
        arrays, name = self.layout.arrays, f"layers.{number}.mlp."
        w_in, w_out = arrays[f"{name}w_in"], arrays[f"{name}w_out"]
        b_in = arrays.get(f"{name}b_in", np.zeros(w_in.shape[1]))
        cap = arrays.get(f"{name}cap")
        if cap is None:
            return w_in, b_in, w_out
        clipped = np.isfinite(cap)
        joined = np.concatenate([w_in, w_in[:, clipped]], axis=1), np.concatenate([b_in, (b_in - cap)[clipped]])
        return *joined, np.concatenate([w_out, -w_out[clipped]])

    def _filled_mlp(self, number: int) -> dict[str, Array]:
        d, m = self.layout.dimension, self.hidden
        found = {"W_in": np.zeros((d, m)), "b_in": np.zeros(m), "W_out": np.zeros((m, d)), "b_out": np.zeros(d)}
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
