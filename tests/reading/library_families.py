"""Random networks of transformers, by family: configurations with random settings, and what the library computes.

Run as a script with transformers installed, it writes one small network of each family, with the library's outputs, for
ordinary tests: `python -m tests.reading.library_families` (all, or those that are named).
"""

import json
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

Config: TypeAlias = dict[str, Any]
FIXTURES = Path(__file__).parent / "families"
PLAIN = ["silu", "gelu", "gelu_pytorch_tanh", "relu"]


@dataclass(frozen=True)
class LibraryFamily:
    """A family: the classes of its networks, and random settings."""

    classes: tuple[str, ...]
    draw: Callable[[random.Random], Config]
    seeds: int = 6


def sizes(draw: random.Random, *, grouped: bool = True, key: bool = False) -> Config:
    """Return random sizes with the names of Llama."""
    heads, width = draw.choice([2, 4]), draw.choice([4, 6])
    found = {
        "vocab_size": draw.randrange(3, 8), "hidden_size": heads * width, "intermediate_size": draw.choice([5, 12]),
        "num_hidden_layers": draw.choice([2, 3]), "num_attention_heads": heads, "max_position_embeddings": 32,
        "pad_token_id": None, "bos_token_id": None, "eos_token_id": None, "num_labels": 3,
        "tie_word_embeddings": draw.random() < 0.5,
    }  # fmt: skip
    if grouped:
        found["num_key_value_heads"] = draw.choice([1, 2, heads])
    if key:
        found["head_dim"] = draw.choice([4, 8])
    return found


def flags(draw: random.Random, *names: str) -> Config:
    """Return settings that are true or false."""
    return {name: draw.random() < 0.5 for name in names}


def rope(draw: random.Random, *parts: float, kinds: str = "default linear llama3 yarn") -> Config:
    """Return random rotary positions as version 5 states them."""
    kind = draw.choice(kinds.split())
    found: Config = {"rope_type": kind, "rope_theta": draw.choice([30.0, 1000.0])}
    if parts:
        found["partial_rotary_factor"] = draw.choice(parts)
    if kind != "default":
        found["factor"] = draw.choice([2.0, 8.0, 1.5])
    if kind in ("llama3", "yarn", "longrope"):
        found["original_max_position_embeddings"] = draw.choice([8, 16, 64])
    if kind == "llama3":
        found |= {"low_freq_factor": draw.choice([0.5, 1.0]), "high_freq_factor": draw.choice([2.0, 4.0])}
    if kind == "yarn":
        more: list[Config] = [
            {}, {"beta_fast": 4.0, "beta_slow": 0.5}, {"attention_factor": 1.7}, {"truncate": False},
            {"mscale": 0.7, "mscale_all_dim": 0.4}, {"mscale": 0.7}, {"beta_fast": 2, "truncate": False},
        ]  # fmt: skip
        found |= draw.choice(more)
    return {"rope_parameters": found}


def kinds_of_layers(draw: random.Random, config: Config) -> Config:
    """Return windows in some of the layers."""
    types = [draw.choice(["full_attention", "sliding_attention"]) for _ in range(config["num_hidden_layers"])]
    return {"sliding_window": draw.choice([2, 3, 5]), "layer_types": types}


def ropes_by_layer(draw: random.Random) -> Config:
    """Return rotary positions for each kind of layers."""
    return {
        "rope_parameters": {
            "full_attention": {key: one for key, one in rope(draw)["rope_parameters"].items() if key != "truncate"},
            "sliding_attention": rope(draw, kinds="default linear")["rope_parameters"],
        }
    }


def _llama(draw: random.Random) -> Config:
    config = sizes(draw, key=True) | flags(draw, "attention_bias", "mlp_bias") | {"hidden_act": draw.choice(PLAIN)}
    return config | rope(draw, kinds="llama3 yarn linear dynamic longrope") | {"rms_norm_eps": draw.choice([1e-5, 0.1])}


def _with_long_factors(config: Config, draw: random.Random) -> Config:
    """Add the factors of longrope, one for each pair."""
    inside, pairs = config["rope_parameters"], config["head_dim"] // 2
    if inside["rope_type"] == "longrope":
        inside["short_factor"] = [draw.choice([1.0, 1.5, 3.0]) for _ in range(pairs)]
        inside["long_factor"] = [draw.choice([1.0, 1.5, 3.0]) for _ in range(pairs)]
        inside["original_max_position_embeddings"] = 16
    return config


def _gemma3(draw: random.Random) -> Config:
    config = sizes(draw, key=True)
    more = {"query_pre_attn_scalar": draw.choice([3, 16]), "final_logit_softcapping": draw.choice([None, 2.0])}
    return config | more | flags(draw, "attention_bias") | kinds_of_layers(draw, config) | ropes_by_layer(draw)


def _smollm3(draw: random.Random) -> Config:
    config = sizes(draw) | flags(draw, "attention_bias", "mlp_bias", "use_sliding_window") | rope(draw)
    layers = draw.choice([None, [draw.choice([0, 1]) for _ in range(config["num_hidden_layers"])]])
    return config | {"no_rope_layers": layers, "no_rope_layer_interval": 2, "sliding_window": draw.choice([None, 3])}


def _granite(draw: random.Random) -> Config:
    names = "embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"
    numbers = {name: draw.choice([0.3, 0.5, 1.0, 1.7]) for name in names}
    return sizes(draw) | flags(draw, "attention_bias", "mlp_bias") | numbers | rope(draw)


def _cohere2(draw: random.Random) -> Config:
    config = sizes(draw)
    return (
        config | flags(draw, "attention_bias") | kinds_of_layers(draw, config) | rope(draw)
        | {"logit_scale": draw.choice([0.25, 0.7])}
    )  # fmt: skip


def _olmo3(draw: random.Random) -> Config:
    config = sizes(draw)
    return config | flags(draw, "attention_bias") | kinds_of_layers(draw, config) | ropes_by_layer(draw)


def _glm(draw: random.Random) -> Config:
    return sizes(draw, key=True) | flags(draw, "attention_bias") | rope(draw, 0.5, 1.0)


def _squared(draw: random.Random) -> Config:
    more = {"hidden_act": draw.choice(["relu2", "relu2", "gelu"])}
    return sizes(draw, key=True) | flags(draw, "attention_bias", "mlp_bias") | more


def _nemotron(draw: random.Random) -> Config:
    return _squared(draw) | rope(draw, 0.5, 1.0) | {"norm_eps": draw.choice([1e-5, 0.1])}


def _persimmon(draw: random.Random) -> Config:
    config = sizes(draw, grouped=False)
    config["hidden_size"] = 4 * config["num_attention_heads"]
    return config | flags(draw, "qk_layernorm") | rope(draw, 0.5, 1.0) | {"hidden_act": draw.choice(["relu2", "gelu"])}


def _helium(draw: random.Random) -> Config:
    config = sizes(draw)
    config["head_dim"] = config["hidden_size"] // config["num_attention_heads"]
    return config | flags(draw, "attention_bias", "mlp_bias") | rope(draw)


def _nanochat(draw: random.Random) -> Config:
    more = {"final_logit_softcapping": draw.choice([None, 2.0, 15.0])}
    return sizes(draw) | flags(draw, "attention_bias") | rope(draw, kinds="default linear llama3") | more


def _ministral(draw: random.Random) -> Config:
    config = sizes(draw, key=True)
    return config | kinds_of_layers(draw, config) | rope(draw)


def _seed(draw: random.Random) -> Config:
    return sizes(draw, key=True) | flags(draw, "attention_bias", "attention_out_bias", "mlp_bias") | rope(draw)


def _ernie(draw: random.Random) -> Config:
    return sizes(draw, key=True) | flags(draw, "use_bias") | rope(draw)


def _exaone4(draw: random.Random) -> Config:
    config = sizes(draw)
    none = {"sliding_window": None, "layer_types": ["full_attention"] * config["num_hidden_layers"]}
    return config | draw.choice([kinds_of_layers(draw, config), none]) | rope(draw)


def _xglm(draw: random.Random) -> Config:
    heads, width = draw.choice([1, 2]), draw.choice([4, 5])
    return {
        "vocab_size": draw.randrange(3, 8), "d_model": heads * width, "attention_heads": heads, "num_layers": 2,
        "ffn_dim": 7, "max_position_embeddings": 16, "pad_token_id": draw.choice([None, 1, 2]), "bos_token_id": None,
        "eos_token_id": None, "activation_function": draw.choice(PLAIN),
    } | flags(draw, "scale_embedding", "tie_word_embeddings")  # fmt: skip


def _biogpt(draw: random.Random) -> Config:
    return sizes(draw, grouped=False) | flags(draw, "scale_embedding") | {"hidden_act": draw.choice(PLAIN)}


def _ctrl(draw: random.Random) -> Config:
    heads, width = draw.choice([1, 2]), draw.choice([2, 4])
    return {
        "vocab_size": draw.randrange(3, 8), "n_embd": heads * width, "n_head": heads, "n_layer": 2, "dff": 7,
        "n_positions": 16, "num_labels": 3, "pad_token_id": None, "layer_norm_epsilon": draw.choice([1e-6, 0.1]),
    } | flags(draw, "tie_word_embeddings")  # fmt: skip


def _modernbert(draw: random.Random) -> Config:
    config = sizes(draw, grouped=False)
    config["hidden_size"] = 4 * config["num_attention_heads"]
    names = "norm_bias", "attention_bias", "mlp_bias", "decoder_bias", "classifier_bias"
    window = {"local_attention": draw.choice([2, 4, 5]), "layer_types": kinds_of_layers(draw, config)["layer_types"]}
    more = {
        "classifier_pooling": draw.choice(["cls", "mean"]), "hidden_activation": draw.choice(PLAIN),
        "classifier_activation": draw.choice(PLAIN), "norm_eps": draw.choice([1e-5, 0.1]),
    }  # fmt: skip
    return config | flags(draw, *names) | window | more | ropes_by_layer(draw)


def _bert(draw: random.Random) -> Config:
    config = sizes(draw, grouped=False) | {"hidden_act": draw.choice(PLAIN), "type_vocab_size": draw.choice([1, 2])}
    return config | {"embedding_size": config["hidden_size"]}


def _narrow(draw: random.Random) -> Config:
    return _bert(draw) | {"embedding_size": draw.choice([3, 5, 16])}


def _albert(draw: random.Random) -> Config:
    layers = draw.choice([1, 2, 3, 4])
    return _narrow(draw) | {
        "num_hidden_layers": layers, "num_hidden_groups": draw.randrange(1, layers + 2), "layer_norm_eps": 1e-3,
        "inner_group_num": draw.choice([1, 1, 2]), "pad_token_id": draw.choice([None, 0]),
    }  # fmt: skip


HEADS = "ForCausalLM", "ForSequenceClassification", "ForTokenClassification"


def _classes(name: str, heads: int = 3) -> tuple[str, ...]:
    return tuple(name + head for head in HEADS[:heads])


FAMILIES = {
    "llama": LibraryFamily(_classes("Llama"), lambda draw: _with_long_factors(_llama(draw), draw), 30),
    "gemma3": LibraryFamily(("Gemma3ForCausalLM", "Gemma3TextForSequenceClassification"), _gemma3),
    "smollm3": LibraryFamily(_classes("SmolLM3"), _smollm3),
    "granite": LibraryFamily(_classes("Granite", 1), _granite),
    "cohere2": LibraryFamily(_classes("Cohere2", 1), _cohere2),
    "olmo3": LibraryFamily(_classes("Olmo3", 2), _olmo3),
    "glm": LibraryFamily(_classes("Glm"), _glm),
    "glm4": LibraryFamily(_classes("Glm4"), _glm),
    "nemotron": LibraryFamily(_classes("Nemotron"), _nemotron),
    "arcee": LibraryFamily(_classes("Arcee"), lambda draw: _squared(draw) | rope(draw)),
    "persimmon": LibraryFamily(_classes("Persimmon"), _persimmon),
    "helium": LibraryFamily(_classes("Helium"), _helium),
    "nanochat": LibraryFamily(_classes("NanoChat", 1), _nanochat),
    "ministral": LibraryFamily(_classes("Ministral"), _ministral),
    "seed_oss": LibraryFamily(_classes("SeedOss"), _seed),
    "ernie4_5": LibraryFamily(_classes("Ernie4_5", 1), _ernie),
    "exaone4": LibraryFamily(_classes("Exaone4"), _exaone4),
    "xglm": LibraryFamily(_classes("XGLM", 1), _xglm),
    "biogpt": LibraryFamily(_classes("BioGpt"), _biogpt),
    "ctrl": LibraryFamily(("CTRLLMHeadModel", "CTRLForSequenceClassification"), _ctrl),
    "bert": LibraryFamily(("BertForPreTraining",), _bert),
    "electra-narrow": LibraryFamily(
        tuple(f"Electra{head}" for head in ("ForMaskedLM", *HEADS[1:], "ForPreTraining")), _narrow, 8
    ),
    "albert": LibraryFamily(
        tuple(f"Albert{head}" for head in ("ForMaskedLM", *HEADS[1:], "ForPreTraining")), _albert, 20
    ),
    "electra": LibraryFamily(("ElectraForPreTraining",), _bert),
    "modernbert": LibraryFamily(tuple(f"ModernBert{head}" for head in ("ForMaskedLM", *HEADS[1:])), _modernbert, 12),
}


def library_model(name: str, seed: int) -> Any:
    """Return a random network of a family, with random parameters, in float32."""
    torch, transformers = import_module("torch"), import_module("transformers")
    family, draw = FAMILIES[name], random.Random(f"{name} {seed}")
    kind = family.classes[0] if seed % 3 < 2 else draw.choice(family.classes)
    made = getattr(transformers, kind)
    config = made.config_class(**family.draw(draw))
    config._attn_implementation = "eager"
    torch.manual_seed(seed)
    model = made(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    return model


def drawn_ids(model: Any, seed: int, size: int) -> list[int]:
    """Return random token ids."""
    draw = random.Random(seed)
    return [draw.randrange(model.config.vocab_size) for _ in range(size)]


def library_outputs(model: Any, ids: list[int]) -> NDArray[Any]:
    """Return the outputs at each position, in float64; those of the last one for a classifier of sequences."""
    torch = import_module("torch")
    with torch.no_grad():
        # XGLM does not run in float64.
        whole = model if model.config.model_type == "xglm" else model.double()
        made = whole(torch.tensor([ids]))
        logits = made.prediction_logits if "prediction_logits" in made else made.logits
    found: NDArray[Any] = logits[0].double().numpy()
    return found[:, None] if len(found) == len(ids) and found.ndim == 1 else found


def stored_case(name: str) -> tuple[dict[str, NDArray[Any]], Config, list[int], NDArray[Any]]:
    """Return the tensors, the configuration, token ids and the library's outputs of a fixture. Decimals are
    Fractions."""
    path = FIXTURES / f"{name}.safetensors"
    with safe_open(path, framework="np") as file:
        about = {key: json.loads(text, parse_float=Fraction) for key, text in file.metadata().items()}
    return load_file(path), about["config"], about["ids"], np.array(about["outputs"], dtype=np.float64)


def write_fixtures(names: Iterable[str]) -> None:
    """Write a network of each of these families."""
    FIXTURES.mkdir(exist_ok=True)
    for name in names:
        model = library_model(name, 0)
        ids = drawn_ids(model, 0, 6)
        tensors = {key: value.numpy() for key, value in model.state_dict().items()}
        if model.config.tie_word_embeddings:
            for one in ("lm_head.weight", "output_projection.weight", "decoder.weight"):
                tensors.pop(one, None)
        outputs = library_outputs(model, ids).round(9).tolist()
        config = model.config.to_diff_dict() | {"architectures": [type(model).__name__]}
        about = {"config": json.dumps(config), "ids": json.dumps(ids), "outputs": json.dumps(outputs)}
        save_file(
            {key: np.ascontiguousarray(value) for key, value in tensors.items()},
            FIXTURES / f"{name}.safetensors",
            about,
        )


if __name__ == "__main__":
    write_fixtures(sys.argv[1:] or FAMILIES)
