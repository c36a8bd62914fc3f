"""The documents of `--json`, described by `schema.json` beside this file.

All kinds of inputs have the same documents, with null where something does not apply. Words are arrays of symbols.
Exact rationals (beta, score gaps) are strings `p/q`, measured numbers decimal strings with at most 20 significant
digits, counts of possible words strings of digits (they exceed what many readers hold exactly). There are no
timestamps: the same request gives the same document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from importlib.resources import files
from typing import Any

from hardsim.checking.bound import BoundLength, BoundResult
from hardsim.checking.result import (
    CheckResult,
    Evaluation,
    Growth,
    HeadResult,
    LayerResult,
    Mismatch,
    ModelFacts,
    Verdict,
    Violation,
    Word,
)
from hardsim.report.numbers import decimal, digits, rational
from hardsim.version import __version__
from hardsim.visible import visible_json

SCHEMA_VERSION = 2

Json = dict[str, Any]

NAMES: dict[type, dict[str, str]] = {
    BoundLength: {"gap": "score_gap", "declared": "declared_gap", "used": "temperature"},
    BoundResult: {"name": "input", "sha256": "", "seed": ""},
    CheckResult: {"name": "input", "sha256": "", "seed": "", "stuck": "undecided_word"},
    Evaluation: {"value": "output"},
    HeadResult: {"gap": "score_gap", "most": "most_maxima", "reach": "score_range"},
    LayerResult: {"number": "layer"},
    Mismatch: {"value": "output"},
    ModelFacts: {"broken": "ties_broken"},
    Violation: {"observed": ""},
}
"""The keys of fields that have another name in a document; those without any are left out."""
BOUND_HEAD = ("name", "layer", "kind", "declared_gap", "score_gap", "logit_range", "error", "bound")
"""What a bound report says of a head."""
EXACT = {
    "beta", "declared_gap", "distance", "epsilon", "g", "rate", "right", "score_gap", "score_range", "size",
    "temperature", "theorem", "wrong",
}  # fmt: skip
"""The keys of exact rationals; others are measured numbers."""


def schema() -> Json:
    """The JSON Schema (2020-12) that every document meets."""
    return dict(json.loads(files("hardsim.report").joinpath("schema.json").read_text(encoding="utf-8")))


def document(command: str, seed: int | None, exit_code: int = 0, **found: list[Json]) -> Json:
    """The envelope that every command shares; `seed` is None for commands without random choices. Found are inputs,
    results, notes and errors."""
    head = {"schema_version": SCHEMA_VERSION, "version": __version__, "command": command, "seed": seed}
    parts = {name: found.get(name, []) for name in ("inputs", "results", "notes", "errors")}
    return {**head, "exit_code": exit_code, **parts}


def encode(data: Mapping[str, Any]) -> str:
    """A document as text; a file name that is not UTF-8 keeps its bytes as escapes, and nothing in it drives a
    terminal."""
    return visible_json(json.dumps(data, ensure_ascii=False, indent=2) + "\n")


def data(value: Any, key: str = "") -> Any:
    """What was found as JSON, a dataclass by its fields (see `NAMES`); `key` is the one that it stands under."""
    match value:
        case Fraction():
            return rational(value) if key in EXACT else decimal(value)
        case float():
            return decimal(Fraction(value))
        case Verdict():
            return value.value
        case tuple() if key == "temperature":
            return {"least": rational(value[0]), "largest": rational(value[1])}
        case tuple():
            return [data(item, key) for item in value]
        case int() if key == "possible":
            return digits(value)
        case Growth():  # for people: rounded
            exponent = decimal(Fraction(round(value.exponent, 4)).limit_denominator(10**4))
            span = {"from_n": value.lengths[0], "to_n": value.lengths[1]}
            return {"what": value.what, "exponent": exponent, "factor": decimal(Fraction(value.factor)), **span}
        case Mismatch():
            return fields_json(value if value.decided else replace(value, value=None)) | {"kind": value.kind}
        case bool() | int() | str() | None:
            return value
    return fields_json(value)


def fields_json(value: Any, **named: str) -> Json:
    """A dataclass by its fields, whose keys are those of `NAMES`, or `named` here."""
    names = NAMES.get(type(value), {}) | named
    keys = {names.get(field.name, field.name): getattr(value, field.name) for field in fields(value)}
    return {key: data(item, key) for key, item in keys.items() if key}


def titles_json(kind: str, title: str) -> Json:
    """A formula has its text, anything else its title."""
    return {"formula": title if kind == "ltl" else None, "title": None if kind == "ltl" else title}


# ---- the results of each command ----


def model_json(name: str, kind: str, facts: ModelFacts | None) -> Json:
    """What a result is about."""
    return {"input": name, "kind": kind, "model": data(facts)}


def check_json(result: CheckResult) -> Json:
    """A whole result of `check`."""
    more = {"words": result.words, "proof": result.proof or None}
    return fields_json(result) | titles_json(result.kind, result.title) | more


def eval_json(
    name: str, kind: str, facts: ModelFacts, engine: str, evaluations: Iterable[Evaluation], partial: bool = False
) -> Json:
    """The words of `eval` on one model."""
    words = [fields_json(numbers(found)) | {"agree": found.agree} for found in evaluations]
    return model_json(name, kind, facts) | {"engine": engine, "partial": partial, "words": words}


def numbers(found: Evaluation) -> Evaluation:
    """What was found of a word, without the numbers that mean nothing where nothing was decided."""
    return found if found.decided else replace(found, soft=None, value=None, unrounded=None, margin=None, error=None)


def words_json(
    name: str,
    kind: str,
    facts: ModelFacts | None,
    by: str,
    max_n: int,
    tried: int,
    accepted: Iterable[Word],
    partial: bool = False,
) -> Json:
    """The accepted words of `words`, in length-lexicographic order; a program may have semantics and no model."""
    found = {"by": by, "max_n": max_n, "tried": tried, "partial": partial, "accepted": list(map(list, accepted))}
    return model_json(name, kind, facts) | found


def compile_json(name: str, kind: str, facts: ModelFacts, output: str, sha256: str) -> Json:
    """Where `compile` wrote the network."""
    return model_json(name, kind, facts) | {"output": output, "sha256": sha256}


def bound_json(result: BoundResult) -> Json:
    """A whole result of `bound`."""
    found = fields_json(result)
    for length, row in zip(found["lengths"], result.lengths, strict=True):
        heads = [fields_json(head, reach="logit_range") for head in row.heads]
        length["heads"] = [{key: head[key] for key in BOUND_HEAD} for head in heads]
    return found
