"""Folders of networks for tests: those that libraries wrote, and made-up ones."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import ctx
from numpy.typing import NDArray
from safetensors.numpy import save_file

from hardsim.reading.tensors import Stored
from hardsim.run.dense_exact import DenseForward
from tests.reading.plain import outputs
from tests.support.model import BallArithmetic, Network

DATA = Path(__file__).parent / "data"
STORED = sorted(path.parent.name for path in DATA.glob("*/config.json"))
"""The names of the networks that are folders in DATA."""
SHARED = Path(__file__).parents[2].parent / "shared"
ARCHITECTURES = SHARED / "architectures"

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


def architecture(name: str) -> str:
    """Return the path of a network that a library wrote; the test is skipped if it is not there."""
    if not ARCHITECTURES.exists():
        pytest.skip("the shared networks are not here")
    return str(ARCHITECTURES / name)


def reference(name: str) -> list[tuple[list[int], NDArray[Any]]]:
    """Return token ids with the outputs of the library at each position: in float64, if they are there."""
    if (path := ARCHITECTURES / name / "reference.json").exists():
        cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
        return [(case["ids"], np.array(case["outputs"])) for case in cases]
    (rows,) = json.loads((ARCHITECTURES / name / "reference_float32.json").read_text(encoding="utf-8"))
    return [([0, 1, 2, 1, 3, 2], np.array(rows))]


def ball_outputs(network: Network, ids: list[int], bits: int = 96) -> NDArray[Any]:
    """Return the midpoints of the outputs in balls for token ids, which are all that is read: at each position, or in
    one row for one that answers for a whole word. `bits` is the precision."""
    n = len(ids) - network.readout.length(0)
    places = range(len(ids)) if network.readout.pooled == "last" else network.readout.places(n)
    rows = DenseForward(network, BallArithmetic(bits)).run(n, ids, places)
    return np.array([[float(value.mid()) for value in row] for row in rows])


def made_up(tensors: Arrays, config: Mapping[str, Any], vocabulary: tuple[str, ...] | None = None) -> Stored:
    """Return the stored data of a network with these tensors and settings."""
    return Stored("net", dict(tensors), dict(config), vocabulary=vocabulary)


def drawn(seed: int, **shapes: tuple[int, ...]) -> dict[str, NDArray[Any]]:
    """Draw float32 tensors of these shapes; `__` in a name stands for a dot."""
    rng = np.random.default_rng(seed)
    named = {name.replace("__", "."): shape for name, shape in shapes.items()}
    return {name: rng.normal(size=shape).astype(np.float32) / 2 for name, shape in named.items()}


def evaluated(network: Network, ids: list[int]) -> Any:
    """Return the outputs at each position, from balls of 80 bits."""
    balls = BallArithmetic(80)
    rows = DenseForward(network, balls).run(len(ids), ids, range(len(ids)))
    with ctx.workprec(80):
        return np.array([[float(value.mid()) for value in row] for row in rows])
