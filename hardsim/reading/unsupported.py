"""Recognise networks of other libraries by the names of their tensors, and say what to do with them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hardsim.errors import InputError

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
        re.compile(r"(^|\.)block\.\d+\.layer\.\d+\.(SelfAttention|EncDecAttention)\."),
        "a network of T5, with biases of relative positions",
        "Its encoder and decoder are not supported: train one of the supported families on the same words.",
    ),
    (
        re.compile(r"\.experts\.\d+\.|\.block_sparse_moe\."),
        "a network with experts (mixture of experts)",
        "Each token passes through other experts, which is not supported: train a network with plain MLPs.",
    ),
)


def unsupported_network(path: str, names: Iterable[str]) -> InputError | None:
    """Return the error for tensors whose names are those of a library or a kind of layer that is not supported; None if
    they are not recognised. `path` is the name of the network in the error."""
    listed = list(names)
    for pattern, what, hint in _KNOWN:
        if found := next((name for name in listed if pattern.search(name)), None):
            return InputError(f"{path}: the tensor {found} is that of {what}", f"{hint} See {PAGE}.")
    return None
