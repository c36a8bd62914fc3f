"""Write `data/torch-*`: small random encoders of PyTorch as state dicts, with the outputs that PyTorch computes.

    python tests/reading/make_torch.py

Written with torch 2.13. `outputs.json` has the format of `make_external`.
"""

import json
from typing import Any

from tests.reading.make_external import filled, fresh, write_outputs

WIDTH, HEADS, HIDDEN, VOCABULARY, ROWS = 6, 2, 7, 5, 10


def write(name: str, module: Any, config: dict[str, Any], run: Any) -> None:
    """Write a folder with a state dict, a configuration and outputs."""
    from safetensors.torch import save_file

    folder = fresh(name)
    state = {key: value.contiguous() for key, value in module.state_dict().items()}
    save_file(state, folder / "model.safetensors")
    text = json.dumps({"model_type": "torch-encoder", "nhead": HEADS, "embedding_scale": 1} | config, indent=1)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
    module.float()
    write_outputs(folder, run)


def layer_of(**how: Any) -> Any:
    """Return one layer, with dropout that acts in training only."""
    from torch import nn

    return nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, batch_first=True, **how)


def mask_of(size: int) -> Any:
    """Return the causal mask of PyTorch."""
    from torch import nn

    return nn.Transformer.generate_square_subsequent_mask(size)


def post() -> None:
    """Write an encoder with norms after each step, relu, biases, positions; as many outputs as tokens."""
    import torch
    from torch import nn

    parts = nn.ModuleDict(
        {
            "encoder": nn.TransformerEncoder(layer_of(), 2, enable_nested_tensor=False),
            "embedding": nn.Embedding(VOCABULARY, WIDTH),
            "positions": nn.Embedding(ROWS, WIDTH),
            "unembedding": nn.Linear(WIDTH, VOCABULARY),
        }
    )
    filled(parts, 1)

    def run(ids: Any) -> Any:
        x = parts["embedding"](ids) + parts["positions"](torch.arange(ids.shape[1]))
        return parts["unembedding"](parts["encoder"](x))[0]

    write("torch-post", parts, {"activation": "relu", "norm_first": False, "causal": False}, run)


def pre() -> None:
    """Write a causal encoder with norms before each step and at the end, gelu, no biases, no positions, bfloat16, and
    a tied embedding.
    """
    from torch import nn

    layer = layer_of(activation="gelu", norm_first=True, bias=False, layer_norm_eps=1e-3)
    encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False)
    parts = nn.ModuleDict({"encoder": encoder, "embedding": nn.Embedding(VOCABULARY, WIDTH)})
    filled(parts, 2).bfloat16()

    def run(ids: Any) -> Any:
        x = encoder(parts["embedding"](ids), mask=mask_of(ids.shape[1]))
        return (x @ parts["embedding"].weight.T)[0]

    config = {"activation": "gelu", "norm_first": True, "causal": True, "layer_norm_eps": 1e-3, "final_norm_eps": 1e-5}
    stated = {"norm": "layer", "final_norm": "layer", "positions": "none", "unembedding": "embedding.weight"}
    write("torch-pre", parts, config | stated, run)


def single() -> None:
    """Write an encoder of one layer under other names, silu, positions with an axis of length 1, one output."""
    import torch
    from torch import nn
    from torch.nn import functional

    body = layer_of(activation=functional.silu)
    parts = nn.ModuleDict({"body": body, "embed": nn.Embedding(VOCABULARY, WIDTH), "head": nn.Linear(WIDTH, 1)})
    filled(parts, 3)
    table = torch.randn(1, ROWS, WIDTH) / 2
    parts.register_buffer("pos", table)

    def run(ids: Any) -> Any:
        size = ids.shape[1]
        return parts["head"](body(parts["embed"](ids) + table[:, :size], src_mask=mask_of(size)))[0]

    config = {"activation": "silu", "norm_first": False, "causal": True, "d_model": WIDTH, "dim_feedforward": HIDDEN}
    names = {"encoder": "body", "embedding": "embed.weight", "positions": "pos", "unembedding": "head.weight"}
    words = {"tokens": ["<s>", "a", "b", 1, 0.5], "outputs": ["yes"], "input": "<s> *", "decide": "above 1/4"}
    write("torch-layer", parts, config | names | words, run)


def bare() -> None:
    """Write an encoder with norms without weights, another kind of norm at the end, the tanh form of gelu, three
    outputs.
    """
    from torch import nn

    layer = layer_of(activation=nn.GELU(approximate="tanh"), norm_first=True)
    layer.norm1, layer.norm2 = (nn.LayerNorm(WIDTH, elementwise_affine=False) for _ in range(2))
    final = nn.RMSNorm(WIDTH, eps=0.25, elementwise_affine=False)
    encoder = nn.TransformerEncoder(layer, 2, norm=final, enable_nested_tensor=False)
    parts = nn.ModuleDict(
        {
            "encoder": encoder,
            "embedding": nn.Embedding(VOCABULARY, WIDTH),
            "unembedding": nn.Linear(WIDTH, 3, bias=False),
        }
    )
    filled(parts, 4)
    config = {"activation": "gelu_tanh", "norm_first": True, "causal": False, "norm": "layer"}
    write(
        "torch-bare",
        parts,
        config | {"positions": "none", "final_norm": "rms", "final_norm_eps": 0.25},
        lambda ids: parts["unembedding"](encoder(parts["embedding"](ids)))[0],
    )


def main() -> None:
    """Write all encoders."""
    import torch

    torch.backends.mha.set_fastpath_enabled(False)  # it takes the tanh form of gelu for the other one
    for make in (post, pre, single, bare):
        make()


if __name__ == "__main__":
    main()
