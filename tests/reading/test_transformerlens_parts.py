"""TransformerLens with rotary positions, ALiBi, windows, gates and the like, compared with plain numpy."""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import erf, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hardsim.network.features import NetworkFeature, features
from hardsim.reading.tensors import Stored
from hardsim.reading.transformerlens import read_transformerlens
from tests.reading.folders import ball_outputs, drawn, made_up
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Network

D, K, HEADS, HIDDEN, V, ROWS, LAYERS = 6, 4, 3, 5, 4, 8, 2
IDS = [2, 0, 3, 3, 1, 2]
CONFIG: dict[str, Any] = {
    "d_model": D, "d_head": K, "n_heads": HEADS, "n_layers": LAYERS, "n_ctx": ROWS, "d_vocab": V, "d_mlp": HIDDEN,
    "act_fn": "gelu", "eps": Fraction(1, 1000),
}  # fmt: skip

Array = NDArray[Any]


def shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors that a network of the library has with these settings."""
    groups, own = config.get("n_key_value_heads", HEADS), "_" if "n_key_value_heads" in config else ""
    rms = config.get("normalization_type") == "RMS"
    found: dict[str, tuple[int, ...]] = {"embed.W_E": (V, D), "unembed.W_U": (D, V), "unembed.b_U": (V,)}
    if config.get("positional_embedding_type") != "rotary":
        found["pos_embed.W_pos"] = (ROWS, D)
    norms = ["ln_final"]
    for layer in range(LAYERS):
        start = f"blocks.{layer}."
        norms += [f"{start}ln1", f"{start}ln2"]
        found |= {f"{start}attn.W_Q": (HEADS, D, K), f"{start}attn.b_Q": (HEADS, K)}
        for letter in "KV":
            found |= {f"{start}attn.{own}W_{letter}": (groups, D, K), f"{start}attn.{own}b_{letter}": (groups, K)}
        found |= {f"{start}attn.W_O": (HEADS, K, D), f"{start}attn.b_O": (D,)}
        found |= {f"{start}mlp.W_in": (D, HIDDEN), f"{start}mlp.b_in": (HIDDEN,)}
        found |= {f"{start}mlp.W_out": (HIDDEN, D), f"{start}mlp.b_out": (D,)}
        if config.get("gated_mlp"):
            found[f"{start}mlp.W_gate"] = (D, HIDDEN)
        if config.get("use_normalization_before_and_after"):
            found |= {f"{start}ln1_post.w": (D,), f"{start}ln2_post.w": (D,)}
        if config.get("use_qk_norm"):
            found |= {f"{start}attn.q_norm.w": (K,), f"{start}attn.k_norm.w": (K,)}
    found |= {f"{name}.{part}": (D,) for name in norms for part in ("w" if rms else "wb")}
    return found | ({"embed.ln.w": (D,), "embed.ln.b": (D,)} if config.get("post_embedding_ln") else {})


def norm(w: dict[str, Array], name: str, x: Array, rms: bool) -> Array:
    """Return LayerNorm or RMSNorm."""
    c = x if rms else x - x.mean(-1, keepdims=True)
    return np.asarray(c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-3) * w[f"{name}.w"] + w.get(f"{name}.b", 0.0))


def turned(x: Array, size: int, base: float, adjacent: bool) -> Array:
    """Turn the first coordinates of each row by its position: complex numbers times e^(i angle)."""
    found = x.copy()
    for r in range(size // 2):
        a, b = (2 * r, 2 * r + 1) if adjacent else (r, r + size // 2)
        point = (x[:, a] + 1j * x[:, b]) * np.exp(1j * np.arange(len(x)) / base ** (r / (size / 2)))
        found[:, a], found[:, b] = point.real, point.imag
    return found


def gelu(x: Array) -> Array:
    """Apply gelu."""
    return np.asarray(np.vectorize(lambda value: value * (1 + erf(value / sqrt(2))) / 2)(x))


def silu(x: Array) -> Array:
    """Apply silu."""
    return np.asarray(x / (1 + np.exp(-x)))


@dataclass
class Plain:
    """The library's forward pass, from its settings and tensors."""

    config: dict[str, Any]
    w: dict[str, Array]

    def get(self, key: str) -> Any:
        """Return a setting, or None."""
        return self.config.get(key)

    def outputs(self) -> Array:
        """Return the outputs for IDS."""
        rms, kind = self.get("normalization_type") == "RMS", self.get("positional_embedding_type") or "standard"
        x, beside = self.w["embed.W_E"][IDS], np.zeros((len(IDS), D))
        if self.get("post_embedding_ln"):
            x = norm(self.w, "embed.ln", x, rms=False)
        if kind == "standard":
            x = x + self.w["pos_embed.W_pos"][: len(IDS)]
        if kind == "shortformer":
            beside = self.w["pos_embed.W_pos"][: len(IDS)]
        for layer in range(LAYERS):
            start = f"blocks.{layer}."
            y = norm(self.w, f"{start}ln1", x, rms)
            first = self.attention(f"{start}attn.", layer, y + beside, y)
            first = norm(self.w, f"{start}ln1_post", first, True) if f"{start}ln1_post.w" in self.w else first
            read = x if self.get("parallel_attn_mlp") else x + first
            second = self.mlp(f"{start}mlp.", norm(self.w, f"{start}ln2", read, rms))
            second = norm(self.w, f"{start}ln2_post", second, True) if f"{start}ln2_post.w" in self.w else second
            x = x + first + second
        found = norm(self.w, "ln_final", x, rms) @ self.w["unembed.W_U"] + self.w["unembed.b_U"]
        cap = float(self.get("output_logits_soft_cap") or 0)
        return np.asarray(cap * np.tanh(found / cap) if cap > 0 else found)

    def attention(self, name: str, layer: int, scored: Array, y: Array) -> Array:
        """Return what attention adds."""
        own, groups = ("_", self.get("n_key_value_heads")) if self.get("n_key_value_heads") else ("", HEADS)
        local = self.get("use_local_attn") and self.get("attn_types")[layer] == "local"
        rotary, cap = self.get("positional_embedding_type") == "rotary", float(self.get("attn_scores_soft_cap") or 0)
        found, place = self.w[f"{name}b_O"] + np.zeros_like(y), np.arange(len(y))
        for head in range(HEADS):
            group = head // (HEADS // groups)
            q = scored @ self.w[f"{name}W_Q"][head] + self.w[f"{name}b_Q"][head]
            k = scored @ self.w[f"{name}{own}W_K"][group] + self.w[f"{name}{own}b_K"][group]
            v = y @ self.w[f"{name}{own}W_V"][group] + self.w[f"{name}{own}b_V"][group]
            if self.get("use_qk_norm"):
                q, k = norm(self.w, f"{name}q_norm", q, True), norm(self.w, f"{name}k_norm", k, True)
            if rotary:
                base = self.get("rotary_base") or 10000
                base = self.get("rotary_base_local") or base if local else base
                how = self.get("rotary_dim") or K, float(base), bool(self.get("rotary_adjacent_pairs"))
                q, k = turned(q, *how), turned(k, *how)
            scores = q @ k.T / sqrt(K)
            scores = cap * np.tanh(scores / cap) if cap > 0 else scores
            if self.get("positional_embedding_type") == "alibi":
                scores = scores - 2.0 ** (-8 / HEADS * (head + 1)) * np.maximum(place[:, None] - place, 0)
            seen = place <= place[:, None]
            seen = seen & (place > place[:, None] - self.get("window_size")) if local else seen
            seen = np.ones_like(seen) if self.get("attention_dir") == "bidirectional" else seen
            powers = np.where(seen, np.exp(scores), 0.0)
            found = found + powers / powers.sum(1, keepdims=True) @ v @ self.w[f"{name}W_O"][head]
        return np.asarray(found)

    def mlp(self, name: str, y: Array) -> Array:
        """Return what the MLP adds; a gated one adds b_in to the product."""
        f = gelu if self.config["act_fn"] == "gelu" else silu
        if self.get("gated_mlp"):
            hidden = f(y @ self.w[f"{name}W_gate"]) * (y @ self.w[f"{name}W_in"]) + self.w[f"{name}b_in"]
        else:
            hidden = f(y @ self.w[f"{name}W_in"] + self.w[f"{name}b_in"])
        return np.asarray(hidden @ self.w[f"{name}W_out"] + self.w[f"{name}b_out"])


def stored(**settings: Any) -> Stored:
    """Draw a network of the library with these settings."""
    config = CONFIG | settings
    return made_up(drawn(len(str(settings)), **shapes(config)), config)


def check(found: Stored) -> Network:
    """Assert that a network has the outputs of the library."""
    network = read_transformerlens(found)
    w = {name: array.astype(float) for name, array in found.tensors.items()}
    assert np.abs(ball_outputs(network, IDS) - Plain(found.config, w).outputs()).max() < 1e-9
    return network


LOCAL = {"use_local_attn": True, "window_size": 2, "attn_types": ["global", "local"]}
GEMMA = {
    "normalization_type": "RMS", "use_normalization_before_and_after": True, "gated_mlp": True, "use_qk_norm": True,
    "attn_scores_soft_cap": 3, "output_logits_soft_cap": Fraction(5, 2), "positional_embedding_type": "rotary",
    "n_key_value_heads": 1, "rotary_base": 1000, "rotary_base_local": 100, "act_fn": "silu", **LOCAL,
}  # fmt: skip
F = NetworkFeature
CASES: list[tuple[dict[str, Any], set[NetworkFeature]]] = [
    ({"positional_embedding_type": "rotary"}, {F.ROTARY}),
    ({"positional_embedding_type": "rotary", "rotary_dim": 2, "rotary_adjacent_pairs": True}, {F.ROTARY}),
    ({"positional_embedding_type": "rotary", "rotary_base": 50, "parallel_attn_mlp": True}, {F.ROTARY, F.PARALLEL}),
    ({"positional_embedding_type": "shortformer"}, {F.SCORE_POSITIONS}),
    ({"positional_embedding_type": "alibi", "post_embedding_ln": True}, {F.DISTANCE, F.EMBEDDING_NORM}),
    (LOCAL, {F.WINDOW}),
    (LOCAL | {"attention_dir": "bidirectional"}, set()),
    ({"gated_mlp": True, "act_fn": "silu", "normalization_type": "RMS"}, {F.GATE}),
    ({"n_key_value_heads": 1}, set()),
    ({"n_key_value_heads": 3}, set()),
    ({"use_qk_norm": True, "attn_scores_soft_cap": Fraction(1, 2)}, {F.HEAD_NORM, F.SCORE_CAP}),
    (GEMMA, {F.ROTARY, F.GATE, F.HEAD_NORM, F.SCORE_CAP, F.OUTPUT_CAP, F.OUT_NORM, F.WINDOW}),
]


@pytest.mark.parametrize(("settings", "expected"), CASES)
def test_outputs_are_those_of_the_library(settings: dict[str, Any], expected: set[NetworkFeature]) -> None:
    assert set(features(check(stored(**settings)))) == expected


def test_buffers_of_rotary_positions_are_verified() -> None:
    found = stored(positional_embedding_type="rotary", rotary_dim=2, rotary_base=7)
    angles = np.arange(ROWS)[:, None] * np.ones(2)
    tables = {"blocks.0.attn.rotary_sin": np.sin(angles), "blocks.0.attn.rotary_cos": np.cos(angles)}
    check(replace(found, tensors=found.tensors | {name: t.astype(np.float32) for name, t in tables.items()}))
    tables["blocks.0.attn.rotary_cos"] = np.cos(2 * angles)
    wrong = replace(found, tensors=found.tensors | tables)
    raised(InputError, read_transformerlens, wrong, match="rotary_cos does not hold the cosines of rotary positions")
    local = stored(**LOCAL)
    mask = np.tri(ROWS, dtype=bool) & ~np.tri(ROWS, k=-2, dtype=bool)
    check(replace(local, tensors=local.tensors | {"blocks.1.attn.mask": mask}))
    wrong = replace(local, tensors=local.tensors | {"blocks.0.attn.mask": mask})
    raised(InputError, read_transformerlens, wrong, match="is not the causal mask of 8 positions")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"positional_embedding_type": "alibi", "attention_dir": "bidirectional"}, 'expected "causal", since'),
        ({"post_embedding_ln": True}, "at post_embedding_ln: expected false, since positions are standard"),
        ({"positional_embedding_type": "rotary", "rotary_dim": 3}, "at rotary_dim: expected an even number"),
        ({"positional_embedding_type": "rotary", "rotary_dim": 6}, "at rotary_dim: expected an even number"),
        ({"positional_embedding_type": "rotary", "use_yarn_rope": True}, "at use_yarn_rope: expected false"),
        ({"positional_embedding_type": "rotary", "rotary_scaling_factor": 2}, "at rotary_scaling_factor: expected 1"),
        (LOCAL | {"attn_types": ["local"]}, "at attn_types: expected an array of 2 names"),
        (LOCAL | {"window_size": None}, "at window_size: expected an integer"),
        ({"use_normalization_before_and_after": True}, "expected false, or .*RMS"),
        ({"use_qk_norm": True, "qk_norm_after_rope": True}, "at qk_norm_after_rope: expected false"),
        ({"n_key_value_heads": 2}, "at n_key_value_heads: expected a divisor of n_heads, 3"),
    ],
)
def test_what_is_refused(settings: dict[str, Any], match: str) -> None:
    assert raised(InputError, read_transformerlens, stored(**settings), match=match).hint


# ---- version 4 ----


def native(**settings: Any) -> tuple[Stored, Stored]:
    """Return a network as version 4 names its tensors, and the same as the versions before."""
    hooked = stored(positional_embedding_type="rotary", rotary_adjacent_pairs=True, **settings)
    renamed: dict[str, Array] = {}
    for name, array in hooked.tensors.items():
        start, _, last = name.replace("blocks", "layers").rpartition(".")
        if ".attn" in name:
            letter = last.strip("_")[2].lower()
            flat = array.transpose(0, 2, 1).reshape(-1, D) if letter != "o" and "W" in last else array
            flat = array.reshape(-1, D).T if last == "W_O" else flat.reshape(-1) if "b_" in last else flat
            renamed[f"{start}.{letter}.{'weight' if 'W' in last else 'bias'}"] = flat
        elif ".mlp" in name:
            kind = last[2:] if settings.get("gated_mlp") else f"fc_{last[2:]}"
            if "W" in last:
                renamed[f"{start}.{kind}.weight"] = array.T
            elif not settings.get("gated_mlp"):
                renamed[f"{start}.{kind}.bias"] = array
            else:
                array[:] = 0.0
        elif name.startswith(("embed", "unembed")):
            if last != "b_U":
                renamed["tok_embed.weight" if last == "W_E" else "head.weight"] = array if last == "W_E" else array.T
            else:
                array[:] = 0.0
        else:
            renamed[f"{start.replace('ln_final', 'ln_out')}.{'weight' if last == 'w' else 'bias'}"] = array
    return replace(hooked, tensors=renamed), hooked


@pytest.mark.parametrize(
    "settings",
    [
        {"rotary_dim": 2},
        {"gated_mlp": True, "act_fn": "silu", "normalization_type": "RMS", "n_key_value_heads": 1},
        {"attn_scores_soft_cap": 2, "output_logits_soft_cap": 2},
    ],
)
def test_version_4_is_the_same_network(settings: dict[str, Any]) -> None:
    found, hooked = native(**settings)
    check(hooked)
    expected = ball_outputs(read_transformerlens(hooked), IDS)
    # In version 4 neighbours are turned together, whatever the setting is.
    for config in (found.config, found.config | {"rotary_adjacent_pairs": False}):
        network = read_transformerlens(replace(found, config=config))
        assert np.abs(ball_outputs(network, IDS) - expected).max() < 1e-9
    for wrong, match in (({"use_qk_norm": True}, "use_qk_norm"), ({"positional_embedding_type": "alibi"}, "alibi")):
        raised(InputError, read_transformerlens, replace(found, config=found.config | wrong), match=match)


def test_gated_mlps_of_version_4_have_no_relu() -> None:
    found, _ = native(gated_mlp=True)
    wrong = replace(found, config=found.config | {"act_fn": "relu"})
    raised(InputError, read_transformerlens, wrong, match="at act_fn: expected gelu, gelu_new or silu")
