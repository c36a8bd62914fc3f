"""Every setting of a TransformerLens configuration changes the network as in the library, or is refused: random
networks, with one setting after another changed.

Slow, and skipped where transformer-lens is not installed. Version 3 has `HookedTransformer`, version 4 its own
networks.
"""

import inspect
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reading.sweep import NEAR, Config, Outcome, filled, of_hardsim, others
from tests.support.language import InputError
from tests.support.model import network_of, read_folder

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of the library
CHOICES: dict[str, list[Any]] = {
    "positional_embedding_type": ["standard", "rotary", "alibi", "shortformer", "relative_positional_bias"],
    "normalization_type": ["LN", "LNPre", "RMS", "RMSPre", None],
    "attention_dir": ["causal", "bidirectional"],
    "act_fn": ["relu", "gelu", "gelu_new", "silu", "gelu_fast", "solu_ln", "quick_gelu"],
    "attn_types": [["global", "local"], ["local", "local"], None],
    "window_size": [2, 3, None],
    "attn_scale": [-1.0, 2.5],
    "n_key_value_heads": [None, 1, 2],
    "rotary_dim": [None, 2, 4],
    "attn_scores_soft_cap": [-1.0, 1.5],
    "output_logits_soft_cap": [-1.0, 1.5],
    "original_architecture": ["Olmo2ForCausalLM", "GPT2LMHeadModel", "OlmoeForCausalLM", "GemmaForCausalLM"],
    "experts_per_token": [None, 1],
    "num_experts": [None, 2],
    "rope_scaling": [{"type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 2.0}],
    "relative_attention_num_buckets": [4],
    "relative_attention_max_distance": [8],
    "rotary_scaling_factor": [2.0],
    "rotary_base_local": [50.0],
    "yarn_attention_factor": [0.5],
    "clip_qkv": [0.3],
    "eps": [1e-5, 0.3],
    "init_weights": [False],
}
"""Values of settings that are no truth values."""
SAME = {"dtype", "device", "seed", "n_params", "tokenizer_name", "trust_remote_code", "load_in_4bit"}


def base(draw: random.Random, kind: str) -> Config:
    """Return random settings."""
    found: Config = {
        "d_vocab": 6, "n_ctx": 12, "d_model": 8, "n_layers": 2, "n_heads": 2, "d_head": 4, "d_mlp": 10,
        "d_vocab_out": draw.choice([-1, 3]), "act_fn": draw.choice(["relu", "gelu", "silu"]),
        "normalization_type": draw.choice(["LN", "RMS", "LNPre", "RMSPre", None]), "eps": draw.choice([1e-5, 0.1]),
        "positional_embedding_type": draw.choice(["standard", "rotary"]), "device": "cpu",
    }  # fmt: skip
    if kind == "hooked":
        found["positional_embedding_type"] = draw.choice(["standard", "rotary", "alibi", "shortformer"])
        found["gated_mlp"] = draw.random() < 0.5
        if draw.random() < 0.5:
            found |= {"use_local_attn": True, "window_size": 3, "attn_types": ["local", "global"]}
        found["parallel_attn_mlp"] = draw.random() < 0.3
        found["attn_scores_soft_cap"] = draw.choice([-1.0, 2.0])
        if found["normalization_type"] in ("RMS", "RMSPre"):
            found["use_qk_norm"] = draw.random() < 0.5
            found["use_normalization_before_and_after"] = draw.random() < 0.5
    return found


def library_model(kind: str, settings: Config) -> Any:
    """Return the library's network of these settings."""
    given = {key: value for key, value in settings.items() if key != "dtype"}
    if kind == "hooked":
        library = pytest.importorskip("transformer_lens")
        return filled(library.HookedTransformer(library.HookedTransformerConfig(**given), move_to_device=False))
    cls = pytest.importorskip("transformer_lens.config").TransformerBridgeConfig
    # A file also has the attributes that the class sets itself.
    taken = {name for one in cls.__mro__ for name in inspect.signature(one.__init__).parameters}
    config = cls(**{key: value for key, value in given.items() if key in taken})
    return filled(pytest.importorskip("transformer_lens.model_bridge.sources.native").NativeModel(config))


def changes(settings: Config) -> Iterator[tuple[str, str, Config]]:
    """Yield the changes of the settings, one each: its name, what changes, and all settings."""
    for key, value in settings.items():
        if key in SAME:
            continue
        yield key, "removed", {name: one for name, one in settings.items() if name != key}
        for other in CHOICES.get(key, others(key, value) if value is not None else [True, 2]):
            if other != value:
                yield key, repr(other), settings | {key: other}
    for key in CHOICES.keys() - settings.keys():
        for other in CHOICES[key]:
            yield key, f"added {other!r}", settings | {key: other}


def outcome(kind: str, settings: Config, folder: Path) -> Outcome:
    """Compare the library with hardsim on one configuration."""
    import torch
    from safetensors.torch import save_file

    try:
        model = library_model(kind, settings)
        model.cfg.dtype = torch.float64
        ids = [1, 4, 0, 5, 3, 3, 2, 1, 0][: model.cfg.n_ctx]
        ids = [number % model.cfg.d_vocab for number in ids]
        with torch.no_grad():
            expected = model(torch.tensor([ids]))[0].numpy()
    except Exception as error:  # whatever the library says
        return Outcome("library", f"{type(error).__name__}: {error}")
    for path in folder.iterdir():
        path.unlink()
    state = {name: value.clone().contiguous() for name, value in model.state_dict().items()}
    save_file(state, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(settings, default=str), encoding="utf-8")
    try:
        network, _ = network_of(read_folder(str(folder)))
    except InputError as error:
        return Outcome("refused", str(error))
    found = of_hardsim(network, ids)
    if found.shape != expected.shape:
        return Outcome("differs", f"shapes {found.shape}, {expected.shape}")
    off = np.abs(found - expected).max() / max(1.0, np.abs(expected).max())
    return Outcome("same") if off < NEAR else Outcome("differs", f"by {off:.2g}")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["hooked", "native"])
def test_every_setting_matters_or_is_refused(tmp_path: Path, kind: str, seed: int) -> None:
    library = pytest.importorskip("transformer_lens")
    if (kind == "hooked") != ("HookedTransformer" in vars(library)):
        pytest.skip("another version of the library makes these")
    draw = random.Random(f"{kind} {seed}")
    whole: Config = {}
    for _ in range(20):
        settings = base(draw, kind)
        if outcome(kind, settings, tmp_path).kind == "same":
            whole = json.loads(json.dumps(library_model(kind, settings).cfg.to_dict(), default=str))
            break
    assert outcome(kind, whole, tmp_path).kind == "same"
    found = {(key, what): outcome(kind, changed, tmp_path) for key, what, changed in changes(whole)}
    assert {place: one.why for place, one in found.items() if one.kind == "differs"} == {}
    counts = Counter(one.kind for one in found.values())
    assert min(counts["same"], counts["refused"]) > 5, counts
