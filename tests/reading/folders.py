"""Folders of networks for tests: those that libraries wrote, and made-up ones."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from tests.reading.plain import outputs
from tests.support.model import Network

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[2].parent / "shared"

Arrays = Mapping[str, NDArray[Any]]


def write_folder(folder: Path, tensors: Arrays, config: object, name: str = "model.safetensors") -> str:
    """Write a folder with weights and a configuration; return its path."""
    save_file({key: np.asarray(array, order="C") for key, array in tensors.items()}, folder / name)
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config), encoding="utf-8")
    return str(folder)


def library_outputs(name: str) -> list[tuple[list[int], NDArray[Any]]]:
    """Return token ids, and the float32 outputs at each position of the library that wrote the folder."""
    found = json.loads((DATA / name / "outputs.json").read_text(encoding="utf-8"))
    return [(ids, np.array(rows)) for ids, rows in zip(found["ids"], found["outputs"], strict=True)]


def difference(network: Network, ids: list[int], expected: NDArray[Any]) -> float:
    """Return the distance of a network from expected outputs, relative to the largest of them where that is above
    1.
    """
    found = outputs(network, ids)
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / max(1.0, float(np.abs(expected).max())))
