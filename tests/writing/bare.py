"""The module model.py without torch: the parts that run before any tensor."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import hardsim

MODEL = Path(hardsim.__file__).parent / "writing" / "torch_model.py"


def names_of_model() -> Mapping[str, Any]:
    """Return the names that model.py defines, with a nearly empty module in place of torch."""
    torch, nn = ModuleType("torch"), ModuleType("torch.nn")
    empty: dict[str, Any] = {"nn": nn, "Tensor": object, "dtype": object, "float64": None}
    torch.__dict__.update(empty)
    nn.__dict__["Module"] = object
    names: dict[str, Any] = {"__name__": "model", "__file__": str(MODEL)}
    with patch.dict(sys.modules, {"torch": torch, "torch.nn": nn}):
        exec(compile(MODEL.read_text(encoding="utf-8"), str(MODEL), "exec"), names)
    return names
