"""Networks of transformers with a changed `config.json`, each run by the library and read by hardsim.

A case is a configuration file as the library writes it, with one setting changed, removed, null or added. The library
makes the network that the file describes, with random weights in float64, and runs it. hardsim must refuse the file or
compute the same outputs: a setting that the library uses is never ignored.
"""

from __future__ import annotations

import inspect
import json
import random
import re
import shutil
import zlib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hardsim.run.dense_float import DenseFloat
from tests.reading.folders import ball_outputs
from tests.support.language import InputError
from tests.support.model import Network, network_of, read_folder

Config: TypeAlias = dict[str, Any]
NEAR = 1e-5
SIZES: dict[str, list[Any]] = {
    "vocab_size": [7], "hidden_size": [8, 16], "n_embd": [8, 16], "d_model": [8, 16], "dim": [8, 16],
    "embedding_size": [16], "num_hidden_layers": [2], "n_layer": [2], "n_layers": [2], "num_layers": [2],
    "num_attention_heads": [2, 4], "n_head": [2, 4], "n_heads": [2, 4], "num_heads": [2, 4],
    "num_key_value_heads": [1, 2], "num_kv_heads": [1, 2], "head_dim": [None, 4, 6], "intermediate_size": [10],
    "n_inner": [None, 10], "ffn_dim": [10], "hidden_dim": [10], "ffn_hidden_size": [None, 10],
    "intermediate_multiple_size": [2], "max_position_embeddings": [14], "n_positions": [14], "n_ctx": [14],
    "max_seq_len": [14], "window_size": [3], "sliding_window": [None, 3], "max_window_layers": [1],
    "rotary_dim": [2], "word_embed_proj_dim": [8, 6], "attention_types": [[[["global", "local"], 1]]],
    "query_pre_attn_scalar": [4, 7], "attn_logit_softcapping": [None, 2.0], "final_logit_softcapping": [None, 3.0],
    "logit_scale": [None, 0.5, 1.0], "partial_rotary_factor": [0.5, 1.0], "rotary_pct": [0.5, 1.0],
    "pad_token_id": [None, 1], "bos_token_id": [None], "eos_token_id": [None], "type_vocab_size": [2],
    "dff": [7], "attention_heads": [2], "local_attention": [2, 5],
}  # fmt: skip
"""Small values of sizes and other numbers, by the names that families have for them."""
EPSILONS = re.compile(r"(^|_)(eps|epsilon)$")
ACTIVATION = {"activation_function", "hidden_act", "hidden_activation", "activation", "afn"}
SAFE = ["gelu", "gelu_new", "relu", "silu", "gelu_pytorch_tanh"]
FIXED = {
    "use_cache", "output_attentions", "output_hidden_states", "return_dict", "is_encoder_decoder", "torchscript",
    "add_cross_attention", "is_decoder", "tie_encoder_decoder", "learned_pos_emb", "summary_use_proj",
    "summary_proj_to_labels", "reorder_and_upcast_attn",
}  # fmt: skip
"""Truth values that a random configuration does not change; a case changes them one at a time."""
UNTOUCHED = {"model_type", "transformers_version", "architectures"}
OTHER_ACTIVATIONS = [
    "gelu", "relu", "silu", "gelu_new", "gelu_fast", "quick_gelu", "tanh", "gelu_10", "gelu_accurate", "sigmoid",
    "leaky_relu", "mish", "relu2", "linear", "gelu_python_tanh",
]  # fmt: skip
ADDED: Config = {
    "rope_scaling": {"type": "linear", "factor": 2.0}, "rope_theta": 70.0, "partial_rotary_factor": 0.5,
    "rotary_pct": 0.5, "rotary_emb_base": 50, "head_dim": 6, "sliding_window": 3, "attention_chunk_size": 3,
    "use_bidirectional_attention": True, "is_causal": False, "layer_types": ["sliding_attention", "full_attention"],
    "attention_bias": True, "mlp_bias": True, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 2.0,
    "logit_scale": 0.3, "tie_word_embeddings": True, "clip_qkv": 0.5, "is_decoder": True, "chunk_size_feed_forward": 2,
    "add_cross_attention": True, "pruned_heads": {"0": [0]}, "num_labels": 3, "pad_token_id": 2,
    "per_layer_config": {"0": {"sliding_window": 2}}, "position_embedding_type": "relative_key",
    "problem_type": "multi_label_classification", "hidden_act": "relu", "hidden_activation": "relu", "afn": "relu",
    "activation_function": "relu", "activation": "relu", "quantization_config": {"quant_method": "bitsandbytes"},
}  # fmt: skip
"""Settings that some families have, added to configurations of all families."""
ROPES: list[Config] = [
    {"rope_type": "default", "rope_theta": 30.0},
    {"rope_type": "linear", "rope_theta": 30.0, "factor": 2.5},
    {"rope_type": "dynamic", "rope_theta": 30.0, "factor": 2.0},
    {"rope_type": "yarn", "rope_theta": 30.0, "factor": 2.0, "original_max_position_embeddings": 6},
    {
        "rope_type": "llama3", "rope_theta": 30.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 6,
    },
    {
        "rope_type": "longrope", "rope_theta": 30.0, "short_factor": [1.0, 2.0], "long_factor": [2.0, 3.0],
        "original_max_position_embeddings": 6,
    },
    {"rope_type": "default", "rope_theta": 30.0, "partial_rotary_factor": 0.5},
    {"rope_theta": 30.0},
]  # fmt: skip
ROPES_BEFORE: list[Config] = [
    {"type": "linear", "factor": 2.5}, {"rope_type": "linear", "factor": 2.5}, {"type": "dynamic", "factor": 2.0},
    {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 6},
    {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 6},
    {"type": "default"},
]  # fmt: skip
"""Settings of `rope_scaling`, as files of version 4 state them."""


@dataclass(frozen=True)
class Change:
    """A change of one setting."""

    key: str
    what: str
    config: Config


@dataclass(frozen=True)
class Outcome:
    """The result of a case: `same` and `refused` are right, `library` (it refuses the file) says nothing."""

    kind: str
    why: str = ""


# ---- configurations ----


def draw_config(library: Any, kind: str, draw: random.Random) -> Config:
    """Return the configuration file of a small random network whose class is `kind`."""
    cls = getattr(library, kind).config_class
    defaults, given = cls().to_dict(), dict[str, Any]()
    for key, value in defaults.items():
        if key in SIZES:
            given[key] = draw.choice(SIZES[key])
        elif key in ACTIVATION:
            given[key] = draw.choice(SAFE[:1] if key == "afn" else SAFE)
        elif EPSILONS.search(key):
            given[key] = draw.choice([1e-5, 1e-2, 0.3])
        elif isinstance(value, bool) and key not in FIXED and draw.random() < 0.5:
            given[key] = not value
    if isinstance(defaults.get("head_dim"), int) and given.get("head_dim") is None:
        given["head_dim"] = 4
    if isinstance(defaults.get("sliding_window"), int) and given.get("sliding_window") is None:
        given["sliding_window"] = draw.choice([2, 5])
    if "embedding_size" in given:
        given["hidden_size"] = 16
    if "rope_parameters" in defaults and draw.random() < 0.5:
        given["rope_parameters"] = deepcopy(draw.choice(ROPES[:2]))
    return {**cls(**given).to_diff_dict(), "architectures": [kind]}


def drawn_config(library: Any, kind: str, seed: int, folder: Path) -> tuple[Config, Outcome]:
    """Return a random configuration that the library runs and hardsim does not refuse, and what becomes of it."""
    for attempt in range(50):
        try:
            found = json.loads(json.dumps(draw_config(library, kind, random.Random(f"{kind} {seed} {attempt}"))))
        except Exception:  # combinations that the library refuses, in whatever way
            continue
        result = outcome(library, kind, found, folder)
        if result.kind not in ("library", "refused"):
            return found, result
    raise AssertionError(f"no configuration of {kind} was found")


def read_by_library(library: Any, kind: str) -> set[str]:
    """Return the settings that the library's code of the family reads."""
    source = inspect.getsource(inspect.getmodule(getattr(library, kind)))  # type: ignore[arg-type]
    return set(re.findall(r"config\.([a-z]\w+)", source)) | set(re.findall(r'config, "([a-z]\w+)"', source))


def changes(library: Any, kind: str, config: Config) -> Iterator[Change]:
    """Yield the changes of a configuration file, one setting each."""
    names = read_by_library(library, kind)
    for key, value in config.items():
        if key in UNTOUCHED:
            continue
        without = {name: one for name, one in config.items() if name != key}
        yield Change(key, "removed", without)
        if value is not None:
            yield Change(key, "null", config | {key: None})
        for other in others(key, value):
            yield Change(key, json.dumps(other), config | {key: other})
    for key, value in ADDED.items():
        if key not in config:
            yield Change(key, f"added {json.dumps(value)}", config | {key: value})
    for key in sorted(names - config.keys() - ADDED.keys() - UNTOUCHED):
        for value in (True, 3):
            yield Change(key, f"added {value}", config | {key: value})
    if "rope_parameters" in config:
        rest = {name: value for name, value in config.items() if name != "rope_parameters"}
        for rope in ROPES_BEFORE:
            yield Change("rope_scaling", json.dumps(rope), rest | {"rope_scaling": rope, "rope_theta": 40.0})
        yield Change("rope_theta", "40 alone", rest | {"rope_theta": 40.0})


def others(key: str, value: Any) -> list[Any]:
    """Return other values of a setting."""
    if key in ACTIVATION:
        return [name for name in OTHER_ACTIVATIONS if name != value]
    if key == "rope_parameters":
        return [rope for rope in ROPES if rope != value]
    if key == "layer_types":
        return [["full_attention", "sliding_attention"], ["sliding_attention"] * 2, ["full_attention"], ["other"] * 2]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [found for found in (0, 1, value + 1, 2 * value) if found != value]
    if isinstance(value, float):
        return [found for found in (0.0, 0.5 * value, value + 0.25) if found != value]
    if isinstance(value, str):
        return ["other"]
    if isinstance(value, dict):
        return [one for inner in value for one in inside(value, inner)]
    if isinstance(value, list):
        return [value[::-1], value[:1], []]
    return [True, 2, 0.5, "other"]


def inside(value: Config, key: str) -> list[Config]:
    """Return objects with another value of one entry."""
    rest = {name: one for name, one in value.items() if name != key}
    return [rest, *(rest | {key: other} for other in others(key, value[key]))]


# ---- running ----


def filled(model: Any) -> Any:
    """Fill a model with random parameters, each by its name, in float64; return it."""
    import torch

    # XGLM does not run in float64. Models of TransformerLens have no `config`.
    kind = getattr(getattr(model, "config", None), "model_type", None)
    model = (model if kind == "xglm" else model.double()).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            numbers = np.random.default_rng(zlib.crc32(name.encode())).normal(size=tuple(parameter.shape)) * 0.4
            parameter.copy_(torch.tensor(numbers + (parameter.dim() == 1 and "norm" in name)))
    return model


def library_network(library: Any, kind: str, config: Config, folder: Path) -> Any:
    """Write a folder with this configuration, and weights that the library makes and saves for it; return the
    library's network."""
    for path in folder.iterdir():
        path.unlink()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    cls = getattr(library, kind)
    # The eager attention of Falcon adds the biases of ALiBi twice.
    attention = "sdpa" if config.get("alibi") is True else "eager"
    model = filled(cls._from_config(cls.config_class.from_pretrained(folder), attn_implementation=attention))
    saved = folder.parent / "saved"
    shutil.rmtree(saved, ignore_errors=True)
    model.generation_config = library.GenerationConfig()
    model.save_pretrained(saved)
    for path in saved.glob("*.safetensors*"):
        path.rename(folder / path.name)
    return model


def of_hardsim(network: Network, ids: list[int]) -> Any:
    """Return the outputs: those of each position, or one row for an answer that is read elsewhere."""
    n = len(ids) - network.readout.length(0)
    places = range(len(ids)) if network.readout.pooled == "last" else network.readout.places(n)
    middle, radius = DenseFloat(network).run(n, np.array([ids]), list(places))
    return middle[0] if radius.max() < NEAR / 10 else ball_outputs(network, ids, 256)


def outcome(library: Any, kind: str, config: Config, folder: Path) -> Outcome:
    """Compare the library with hardsim on one configuration file."""
    import torch

    try:
        model = library_network(library, kind, config, folder)
    except Exception as error:  # whatever the library says
        return Outcome("library", f"{type(error).__name__}: {error}")
    try:
        network, _ = network_of(read_folder(str(folder)))
    except InputError as error:
        return Outcome("refused", str(error))
    rows = 12 if network.longest is None else network.longest
    allowed = [network.tokens.index(token) for token in network.symbols]
    draw, ran = random.Random(1), False
    for size in sorted({min(9, rows), min(rows, 30)}):
        ids = [draw.choice(allowed) for _ in range(size)]
        try:
            with torch.no_grad():
                made = model(torch.tensor([ids]))
            expected = (made.prediction_logits if "prediction_logits" in made else made.logits)[0].numpy()
        except Exception as error:  # whatever the library says
            if ran and size == rows < 30:
                return Outcome("differs", f"the library has no {size} positions: {error}")
            return Outcome("library", f"{type(error).__name__}: {error}") if not ran else Outcome("same")
        if not np.isfinite(expected).all():
            continue
        found, ran = of_hardsim(network, ids), True
        if expected.ndim == 1:  # a classifier of sequences, or one output at each position
            found = found[-1] if network.readout.at == "last" else found[:, 0]
        if found.shape != expected.shape:
            return Outcome("differs", f"shapes {found.shape}, {expected.shape}")
        off = np.abs(found - expected).max() / max(1.0, np.abs(expected).max())
        if not off < NEAR:
            return Outcome("differs", f"by {off:.2g} for {size} tokens")
    return Outcome("same")
