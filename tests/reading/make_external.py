"""Write `data/`: small random networks as the libraries save them, with the outputs that the libraries compute.

    python tests/reading/make_external.py

Written with transformers 5.23, transformer-lens 4.3, and transformer-lens 3.9 for the networks `hooked-*`, which
version 4 cannot make: each run renews the networks that the installed version can make. `outputs.json` holds token
ids and the float32 outputs at each position.
"""

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
IDS = [[0], [3, 1, 2, 0, 1], [4, 4, 2, 1, 0, 3, 2, 1]]
"""Token ids of the words that are run."""


def filled(model: Any, seed: int) -> Any:
    """Fill a model with random parameters, norms and biases too, large enough that every part has an effect;
    return it.
    """
    import torch

    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) / 2)
    return model.eval()


def write_outputs(folder: Path, run: Any) -> None:
    """Write the outputs of a model beside its weights; `run` returns the outputs at each position of one word."""
    import torch

    with torch.no_grad():
        rows = [run(torch.tensor([ids])).tolist() for ids in IDS]
    text = json.dumps({"ids": IDS, "outputs": rows}).replace("]], [[", "]],\n[[")
    (folder / "outputs.json").write_text(text + "\n", encoding="utf-8")


def fresh(name: str) -> Path:
    """Create an empty folder of this name."""
    folder = DATA / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def gpt2(name: str, kind: str, seed: int, dtype: str = "float32", shards: str = "1GB", **settings: Any) -> None:
    """Write a GPT-2 of Hugging Face; narrow weights are run as the same numbers in float32."""
    import torch
    from transformers import GPT2Config  # type: ignore[import-not-found,unused-ignore]  # an extra

    sizes = {"vocab_size": 5, "n_positions": 10, "n_embd": 6, "n_layer": 2, "n_head": 2, "n_inner": 7}
    tokens = {"bos_token_id": None, "eos_token_id": None}
    model = getattr(import_module("transformers"), kind)(GPT2Config(**sizes | tokens | settings))
    model = filled(model, seed).to(getattr(torch, dtype))
    folder = fresh(name)
    model.save_pretrained(folder, max_shard_size=shards)
    (folder / "generation_config.json").unlink(missing_ok=True)
    whole = model.float()
    head = getattr(whole, "score", None) or whole.lm_head
    write_outputs(folder, lambda ids: head(whole.transformer(ids).last_hidden_state)[0])


def lens(name: str, seed: int, native: bool = False, **settings: Any) -> None:
    """Write a network of TransformerLens; `native`: with the names of layers inside the bridge of version 4."""
    from safetensors.torch import save_file

    sizes = {"d_vocab": 5, "n_ctx": 10, "d_model": 6, "n_layers": 2, "n_heads": 2, "d_head": 2, "d_mlp": 7}
    library = import_module("transformer_lens.config")
    known = {"device": "cpu", "act_fn": "gelu"} | sizes | settings
    if name.startswith("hooked"):
        if not hasattr(library, "HookedTransformerConfig"):
            return
        made = import_module("transformer_lens").HookedTransformer(library.HookedTransformerConfig(**known))
    elif hasattr(library, "HookedTransformerConfig"):
        return
    elif native:
        made = import_module("transformer_lens.model_bridge.sources.native").NativeModel(
            library.TransformerBridgeConfig(**known)
        )
    else:
        bridge = import_module("transformer_lens.model_bridge").TransformerBridge
        made = bridge.boot_native(library.TransformerBridgeConfig(**known))
    model, folder = filled(made, seed), fresh(name)
    save_file({key: value.contiguous() for key, value in model.state_dict().items()}, folder / "model.safetensors")
    config = json.dumps(model.cfg.to_dict(), default=str, indent=1)
    (folder / "config.json").write_text(config + "\n", encoding="utf-8")
    write_outputs(folder, lambda ids: model(ids)[0])


def main() -> None:
    """Write all networks that the installed libraries can make."""
    gpt2("gpt2", "GPT2LMHeadModel", 1)
    gpt2("gpt2-own-head", "GPT2LMHeadModel", 2, tie_word_embeddings=False, activation_function="relu")
    inverse: dict[str, Any] = {"scale_attn_by_inverse_layer_idx": True}
    gpt2("gpt2-bfloat16", "GPT2LMHeadModel", 3, "bfloat16", activation_function="gelu", **inverse)
    gpt2("gpt2-parts", "GPT2LMHeadModel", 4, "float16", "1KB", scale_attn_weights=False, activation_function="silu")
    labels: dict[str, Any] = {"id2label": {0: "no", 1: "yes", 2: "odd"}, "label2id": {"no": 0, "yes": 1, "odd": 2}}
    gpt2("gpt2-labels", "GPT2ForSequenceClassification", 5, pad_token_id=4, **labels)
    lens("hooked", 6)
    lens("hooked-pre", 7, normalization_type="LNPre", act_fn="gelu_new", scale_attn_by_inverse_layer_idx=True)
    lens("hooked-rms", 8, normalization_type="RMS", attention_dir="bidirectional", attn_scale=2.5, d_vocab_out=3)
    lens("hooked-attention", 9, attn_only=True, normalization_type=None, use_attn_scale=False)
    lens("bridge", 10, act_fn="relu")
    lens("bridge-rms", 11, normalization_type="RMSPre", act_fn="silu", final_rms=True, use_attn_scale=False)
    lens("native", 12, native=True, act_fn="gelu_new", n_key_value_heads=2)
    lens("native-final-rms", 13, native=True, normalization_type=None, final_rms=True, d_vocab_out=1)


if __name__ == "__main__":
    main()
