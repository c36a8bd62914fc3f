"""Run written files with the libraries that they are written for."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.lang.valuations import members_of
from hardsim.writing.layout import ExportLayout
from hardsim.writing.onnx import OUTPUTS, TOKENS

Runner: TypeAlias = Callable[[Sequence[str]], NDArray[Any]]
"""A function from a word to the network's outputs, (tokens read, outputs)."""
TORCH, ONNXRUNTIME = "torch", "onnxruntime"


def installed(library: str) -> bool:
    """Return True if a library is installed."""
    return find_spec(library) is not None


def model_namespace(folder: Path) -> Mapping[str, Any]:
    """Run the model.py of a folder as text and return its names. Importing it would leave a cache file beside it."""
    path = folder / "model.py"
    names: dict[str, Any] = {"__name__": "model", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def torch_runner(folder: Path, dtype: str) -> Runner:
    """Return a runner of the network in a folder, by PyTorch in the dtype of this name."""
    import torch

    names = model_namespace(folder)
    model = names["load"](folder, getattr(torch, dtype))

    def run(word: Sequence[str]) -> NDArray[Any]:
        with torch.no_grad():
            found: NDArray[Any] = model(model.encode(list(word)))[0].double().numpy()
        return found

    return run


def lens_version() -> str | None:
    """Return the version of TransformerLens if one with `HookedTransformer` is installed, and None otherwise."""
    if not installed("transformer_lens"):
        return None
    try:
        from transformer_lens import HookedTransformer  # noqa: F401  # version 4 has no such class
    except ImportError:
        return None
    from importlib.metadata import version

    return version("transformer-lens")


def lens_runner(folder: Path, layout: ExportLayout, dtype: str) -> Runner:
    """Return a runner of the network in a folder, by TransformerLens in the dtype of this name."""
    import torch
    from safetensors.torch import load_file
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kind = getattr(torch, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # version 3 announces the end of the class
        model = HookedTransformer(HookedTransformerConfig(**settings, device="cpu", dtype=kind))
    model.load_state_dict(load_file(folder / "model.safetensors"))
    model = model.to(kind)

    def run(word: Sequence[str]) -> NDArray[Any]:
        given = encoded_word(layout, word, np.dtype(dtype))
        with torch.no_grad():
            found: NDArray[Any] = model(torch.tensor(given)[None])[0].double().numpy()
        return found

    return run


def onnx_runner(data: bytes, layout: ExportLayout, dtype: str) -> Runner:
    """Return a runner of an ONNX file, by onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread, so that sums are always added in the same order.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    def run(word: Sequence[str]) -> NDArray[Any]:
        given = encoded_word(layout, word, np.dtype(dtype))
        found: NDArray[Any] = session.run([OUTPUTS], {TOKENS: given[None]})[0][0]
        return found.astype(np.float64)

    return run


def encoded_word(layout: ExportLayout, word: Sequence[str], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a word as a layout reads it: token ids, or rows of zeros and ones of propositions."""
    description = layout.description
    if "tokens" in description:
        ids = {name: number for number, name in enumerate(description["tokens"])}
        return np.array(
            [*description["before"], *(ids[symbol] for symbol in word), *description["after"]], dtype=np.int64
        )
    held = (
        [set(), *map(set, map(members_of, word))] if description["before"] else [set(members_of(one)) for one in word]
    )
    return np.array([[name in one for name in description["propositions"]] for one in held], dtype=dtype)
