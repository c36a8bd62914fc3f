"""Rocq instances with the models that they are about, stored in tests/verify/rocq/instances.

They were made once by another generator than that of hardsim. `since` has the whole model, as `hardsim compile` writes
it, and the others the parts that are compared. Some have comments that only a reader of nested comments skips.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from hardsim.proving.rocq_comparison import compare_text

INSTANCES = Path(__file__).resolve().parents[1] / "verify" / "rocq" / "instances"
NAMES = sorted(path.stem for path in INSTANCES.glob("*.v"))
MODULES = ("Analysis", "Check", "Definitions", "Heads", "Nodes", "Polynomials", "Surface", "Values")
LIBRARY = {f"{name}.v": f"(* {name} *)\n".encode() for name in MODULES}
"""A library that has the names of the real one."""
TOKEN = re.compile(r"[A-Za-z_][\w']*|[0-9]+|:=|\.|[^\s\w]")
"""A token of an instance without its comments."""


@cache
def text_of(name: str) -> str:
    """Return the text of an instance."""
    return (INSTANCES / f"{name}.v").read_text(encoding="utf-8")


def model_of(name: str) -> Any:
    """Return the JSON of the model of an instance."""
    return json.loads((INSTANCES / f"{name}.json").read_text(encoding="utf-8"))


@cache
def _kept(name: str) -> Any:
    return model_of(name)


def compared(name: str, text: str | None = None, model: Any = None) -> str | None:
    """Return the first difference between the text of an instance (by default the stored one) and a model (by default
    the stored one).
    """
    return compare_text(text_of(name) if text is None else text, model or _kept(name), f"{name}.v", LIBRARY)[0]


def bare(name: str) -> str:
    """Return the text of an instance without the comment at its beginning."""
    text = text_of(name)
    return text[text.index("From Coq") :]
