"""Exports for tests, and runs of the exported graphs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from hardsim.targets.inputs.base import Input
from hardsim.targets.inputs.network import of_network
from hardsim.writing.layout import Answer, ExportLayout, transformer_layout
from hardsim.writing.onnx import OUTPUTS, TOKENS, onnx_bytes
from tests.support.check import Export, ModelOptions, Word, export_of, read_input
from tests.support.language import parse_arith
from tests.support.model import Network, Transformer

Array = NDArray[Any]

NEAR = 1e-9
"""Largest distance of float64 from the exact outputs, relative to them where they are above 1."""


def to_export(path: str | Path, tau: str | None = None, max_n: int = 64, **options: Any) -> Export:
    """Return the export of a file."""
    schedule = None if tau is None else parse_arith(tau)
    return export_of(read_input(str(path)), ModelOptions(tau=schedule, **options), max_n)


def network_input(network: Network) -> Input:
    """Return an external network as if it had been read from a file."""
    return of_network(network, "net", "0" * 64, "by hand")


def network_export(network: Network) -> Export:
    """Return the export of an external network."""
    return export_of(network_input(network), ModelOptions(), 64)


def everything_of(model: Transformer) -> ExportLayout:
    """Return the layout of a compiled network with all coordinates as outputs."""
    outputs = tuple((name, place) for place, name in enumerate(model.coordinates))
    return transformer_layout(model, Answer(outputs, "each", {"rule": "exact"}), {})


def ids_of(model: Transformer, word: Sequence[str]) -> list[int]:
    """Return token ids: symbols in the order of the alphabet, then the beginning of sequence."""
    return [len(model.alphabet)] * model.bos + [model.alphabet.index(symbol) for symbol in word]


def session_of(data: bytes) -> Any:
    """Return a session of onnxruntime for an ONNX file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


class Graph:
    """The graph of a layout, run by onnxruntime."""

    def __init__(
        self, layout: ExportLayout, dtype: str = "float64", max_n: int = 64, length: int | None = None
    ) -> None:
        self.data = onnx_bytes(layout, dtype, max_n, length)
        self.session, self.dtype = session_of(self.data), np.dtype(dtype)

    def batch(self, words: Sequence[Any]) -> Array:
        """Return the outputs, (words, tokens, outputs), for token ids, or for zeros and ones of propositions."""
        given = np.array(words)
        given = given.astype(np.int64 if given.ndim == 2 else self.dtype)
        found: Array = self.session.run([OUTPUTS], {TOKENS: given})[0]
        assert found.dtype == self.dtype
        return found

    def __call__(self, word: Sequence[Any]) -> Array:
        """Return the outputs of one word, (tokens, outputs)."""
        found: Array = self.batch([word])[0]
        return found


def off(found: Array, expected: Any) -> float:
    """Return the largest difference, relative to the largest expected number where that is above 1."""
    needed = np.array(expected, dtype=float)
    assert found.shape == needed.shape
    return float(np.abs(found - needed).max() / max(1.0, float(np.abs(needed).max())))


def words_over(alphabet: Sequence[str], lengths: Iterable[int], seed: int = 0) -> list[Word]:
    """Return a random word of each length."""
    rng = np.random.default_rng(seed)
    return [tuple(alphabet[k] for k in rng.integers(0, len(alphabet), size=n)) for n in lengths]
