"""Certificates for tests: of shipped formulas, made by hand, and with bounds and digests recomputed after a change."""

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from hardsim.proving.formula_certificate import certificate, certificate_text
from hardsim.verify import checker_of, digests, rejection, verify
from hardsim.verify.sections import CLAIM, EVERY_LENGTH, SCHEMA_VERSION
from tests.support.check import ModelOptions, read_input

FORMULAS = Path(__file__).resolve().parents[2] / "formulas"


CASES = [
    ("since", "temperature"),
    ("flipflop", "position"),
    ("majority", "causal-position"),
    ("mod3", "temperature"),
    ("middle_one", "position"),
    ("ones_divide_length", "temperature"),
    ("co_existence", "causal-position"),
    ("parity_no_predicate", "temperature"),
    ("bigram_next", "position"),
    ("strong_release", "temperature"),
    ("dyck1", "causal-temperature"),
    ("since", "geometric"),
    ("bigram_next", "geometric"),
]
"""Shipped formulas and regimes with heads of every kind."""


@cache
def _text(name: str, regime: str, max_n: int | None, beta: Fraction | None) -> str:
    subject = read_input(str(FORMULAS / f"{name}.ltl")).compile(ModelOptions(regime, beta))
    return certificate_text(certificate(subject, max_n))


def made(name: str, regime: str, max_n: int | None = 3, beta: Fraction | None = None) -> dict[str, Any]:
    """Return the certificate of a shipped formula, read back from its text; `max_n` None means every length."""
    document: dict[str, Any] = json.loads(_text(name, regime, max_n, beta))
    return document


def sealed(document: dict[str, Any]) -> str | None:
    """Recompute the bounds and digests of a document; return the reason why it is rejected, None if it is valid."""
    reason = rejection(lambda: document.update(bounds=checker_of(document)(document).bounds))
    document["digests"] |= digests(document)
    message = verify(document)
    return message and (reason or message)


def handmade(nodes: list[Any], root: list[Any], n: int | None, **model: Any) -> dict[str, Any]:
    """Return a certificate about words over {a, b} of length n, or of every length (None)."""
    meaning = {"coordinates": model.pop("coordinates", {}), "heads": model.pop("heads", {})}
    network = {"embedding": {}, "encodings": {}, "temperature": "1", "layers": []} | model
    labels = {"version": "1", "source": {"name": "", "sha256": "", "text": ""}, "formula": "", "at": "last",
              "regime": "", "beta": "1"}  # fmt: skip
    return {
        "format": "hardsim-certificate",
        "schema_version": SCHEMA_VERSION,
        "claim": EVERY_LENGTH if n is None else CLAIM,
        "min_n": n or 1,
        "max_n": n,
        "labels": labels,
        "formula": {"alphabet": ["a", "b"], "nodes": nodes, "root": root},
        "model": {"alphabet": ["a", "b"], "output": "out"} | network,
        "meaning": meaning,
        "bounds": {},
        "digests": {},
    }


TRUE: list[Any] = ["letters", [], "a", "b"]
