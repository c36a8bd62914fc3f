"""Families of transformers that are not read: why, and what to do."""

from __future__ import annotations

RECURRENT = (
    "It has recurrent layers or convolutions, and hardsim reads networks of attention and MLPs alone: "
    "train one of another family on the same words."
)
TWO_PARTS = "It is an encoder with a decoder, which is not supported: train one of another family on the same words."
EXPERTS = (
    "Its tokens pass through different experts (mixture of experts), which is not supported: "
    "train one with plain MLPs, such as Mistral, on the same words."
)
ATTENTION = (
    "Its attention is of another kind ({}), which is not supported: train one of another family on the same words."
)
MEDIA = (
    "It reads images or sound beside text, which is not supported. If only its text is meant, save its language model."
)
_REASONS: dict[str, tuple[str, ...]] = {
    RECURRENT: (
        "mamba", "mamba2", "falcon_mamba", "falcon_h1", "rwkv", "xlstm", "jamba", "zamba", "zamba2", "recurrent_gemma",
        "bamba", "nemotron_h", "granitemoehybrid", "qwen3_next", "qwen3_5_text", "olmo_hybrid", "minimax",
        "kimi_linear", "lfm2", "lfm2_moe", "convbert", "fnet", "hyena", "retnet",
    ),
    TWO_PARTS: (
        "t5", "mt5", "umt5", "longt5", "t5gemma", "bart", "mbart", "plbart", "marian", "pegasus", "pegasus_x",
        "blenderbot", "blenderbot-small", "encoder-decoder", "m2m_100", "nllb", "led", "prophetnet", "fsmt",
        "bigbird_pegasus", "mvp", "udop",
    ),
    EXPERTS: (
        "mixtral", "qwen2_moe", "qwen3_moe", "phimoe", "olmoe", "flex_olmo", "granitemoe", "granitemoeshared",
        "deepseek_v2", "deepseek_v3", "dbrx", "jetmoe", "gpt_oss", "llama4_text", "ernie4_5_moe", "glm4_moe",
        "nllb-moe", "switch_transformers", "hunyuan_v1_moe", "dots1", "minimax_m2", "arctic", "cohere2_moe",
        "exaone_moe", "afmoe",
    ),
    ATTENTION.format("biases or embeddings of relative positions"): (
        "deberta", "deberta-v2", "mpnet", "xlnet", "transfo-xl", "bros", "esm", "rembert",
    ),
    ATTENTION.format("sparse, hashed or pooled"): (
        "reformer", "longformer", "big_bird", "funnel", "nystromformer", "yoso", "mra", "perceiver", "canine",
    ),
    ATTENTION.format("differential or latent"): ("diffllama", "minicpm3", "youtu", "doge"),
    MEDIA: (
        "gemma3", "gemma3n", "llava", "idefics", "paligemma", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "mllama", "whisper",
        "vit", "clip", "siglip", "blip", "fuyu", "llama4",
    ),
    "Its layers have bottlenecks, and norms of another kind, which are not supported: BERT is.": ("mobilebert",),
    "Its weights have one of three values and its activations are rounded, which is not supported: Llama is.": (
        "bitnet",
    ),
}  # fmt: skip
REASONS = {model_type: reason for reason, types in _REASONS.items() for model_type in types}
"""The reason, and what to do, by `model_type`."""

ELSEWHERE = "Any other network of attention and MLPs can be written as network JSON: docs/networks.md."
"""The hint for a network of a family that is not known."""
