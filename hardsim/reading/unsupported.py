"""Recognise networks of other libraries by the names of their tensors, and say what to do with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hardsim.errors import InputError

DEQUANTISE = (
    "Save it without: load it in Python, then model.dequantize().save_pretrained(OUT), if its format can do that; else "
    "name the network that it was made from."
)
PAGE = "docs/networks.md"
"""The page about networks that are read, and others."""
_KNOWN = (
    (
        re.compile(r"(^|\.)attn_layers\.layers\.\d+\."),
        "a network of x-transformers, whose options its weights do not show",
        "Write it as network JSON, with its norms, positions and gates as its options say.",
    ),
    (
        re.compile(r"\.lora_[AB]\.|\.lora_(embedding|magnitude)|\.base_layer\."),
        "a network with a LoRA adapter that is not merged into its weights",
        "Merge it first, in Python: model.merge_and_unload().save_pretrained(OUT). Then name OUT.",
    ),
    (
        re.compile(r"(^|\.)(A_log|mixer\.conv1d\.weight|time_decay|time_mix_\w+)$"),
        "a network with recurrent layers (Mamba, RWKV)",
        "hardsim reads networks of attention and MLPs alone: train one of these on the same words.",
    ),
    (
        re.compile(r"(^|\.)encoder\.layers\.\d+\.fc1\.|(^|\.)decoder\.layers\.\d+\.encoder_attn\."),
        "an encoder with a decoder (BART and its kin)",
        "Encoders with decoders are not supported: train one of the supported families on the same words.",
    ),
    (
        re.compile(r"(^|\.)block\.\d+\.layer\.\d+\.(SelfAttention|EncDecAttention)\."),
        "a network of T5, with biases of relative positions",
        "Its encoder and decoder are not supported: train one of the supported families on the same words.",
    ),
    (
        re.compile(r"\.experts\.\d+\.|\.block_sparse_moe\."),
        "a network with experts (mixture of experts)",
        "Each token passes through other experts, which is not supported: train a network with plain MLPs.",
    ),
    (
        re.compile(
            r"\.(qweight|qzeros|g_idx|SCB|weight_format|weight_scale(_inv)?)$|\.weight\.(absmax|quant_map|quant_)"
        ),
        "a network with quantised weights (GPTQ, AWQ, bitsandbytes)",
        DEQUANTISE,
    ),
)


def quantised_network(path: str, config: Mapping[str, Any]) -> InputError | None:
    """Return the error for a configuration of quantised weights; None for any other."""
    found = config.get("quantization_config")
    if not isinstance(found, dict) or not found:
        return None
    method = found.get("quant_method")
    named = f" ({method})" if isinstance(method, str) else ""
    message = f"{path}: quantization_config says that the weights are quantised{named}, which is not supported"
    return InputError(message, f"{DEQUANTISE} See {PAGE}.")


def unsupported_network(path: str, names: Iterable[str]) -> InputError | None:
    """Return the error for tensors whose names are those of a library or a kind of layer that is not supported; None if
    they are not recognised. `path` is the name of the network in the error."""
    listed = list(names)
    for pattern, what, hint in _KNOWN:
        if found := next((name for name in listed if pattern.search(name)), None):
            return InputError(f"{path}: the tensor {found} is that of {what}", f"{hint} See {PAGE}.")
    return None
