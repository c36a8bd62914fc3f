"""What was written, run by the library that it was written for."""

from __future__ import annotations

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
"""The outputs of a word, (tokens that are read, outputs)."""
TORCH, ONNXRUNTIME = "torch", "onnxruntime"


def installed(library: str) -> bool:
    """Whether a library is there."""
    return find_spec(library) is not None


def model_namespace(folder: Path) -> Mapping[str, Any]:
    """The names of the model.py of a folder. It is run as text: importing it would leave a file beside it."""
    path = folder / "model.py"
    names: dict[str, Any] = {"__name__": "model", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def torch_runner(folder: Path, dtype: str) -> Runner:
    """The network in a folder, run by PyTorch in a dtype of that name."""
    import torch

    names = model_namespace(folder)
    model = names["load"](folder, getattr(torch, dtype))

    def run(word: Sequence[str]) -> NDArray[Any]:
        with torch.no_grad():
            found: NDArray[Any] = model(model.encode(list(word)))[0].double().numpy()
        return found

    return run


def onnx_runner(data: bytes, layout: ExportLayout, dtype: str) -> Runner:
    """An ONNX file, run by onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
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
    """A word as a layout reads it: token ids, or rows of zeros and ones of propositions."""
    told = layout.description
    if "tokens" in told:
        ids = {name: number for number, name in enumerate(told["tokens"])}
        return np.array([*told["before"], *(ids[symbol] for symbol in word), *told["after"]], dtype=np.int64)
    held = [set(), *map(set, map(members_of, word))] if told["before"] else [set(members_of(one)) for one in word]
    return np.array([[name in one for name in told["propositions"]] for one in held], dtype=dtype)
