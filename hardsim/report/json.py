"""The documents of `--json`, described by `schema.json` beside this file.

Words are arrays of symbols. Exact rationals (beta, score gaps) are strings `p/q`, measured numbers decimal strings with
at most 20 significant digits, counts of possible words strings of digits (they exceed what many readers hold exactly).
There are no timestamps: the same request gives the same document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, Protocol

from hardsim.checking.compare import Evaluation
from hardsim.checking.result import CheckResult, HeadResult, LengthResult, Mismatch, ModelFacts
from hardsim.errors import HardsimError
from hardsim.report.model import ModelReport
from hardsim.report.numbers import decimal, digits, rational
from hardsim.version import __version__
from hardsim.visible import visible_json

SCHEMA_VERSION = 1

Json = dict[str, Any]


def schema() -> Json:
    """The JSON Schema (2020-12) that every document meets."""
    text = files("hardsim.report").joinpath("schema.json").read_text(encoding="utf-8")
    loaded: Json = json.loads(text)
    return loaded


def document(
    command: str,
    seed: int | None,
    inputs: Iterable[Json],
    results: Iterable[Json],
    notes: Iterable[Json],
    errors: Iterable[Json],
    exit_code: int,
) -> Json:
    """The envelope that every command shares; `seed` is None for commands without random choices."""
    return {
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "command": command,
        "seed": seed,
        "exit_code": exit_code,
        "inputs": list(inputs),
        "results": list(results),
        "notes": list(notes),
        "errors": list(errors),
    }


def encode(data: Mapping[str, Any]) -> str:
    """A document as text; a file name that is not UTF-8 keeps its bytes as escapes, and nothing in it drives a
    terminal."""
    return visible_json(json.dumps(data, ensure_ascii=False, indent=2) + "\n")


class Named(Protocol):
    """An input."""

    @property
    def name(self) -> str:
        """Path as given."""

    @property
    def sha256(self) -> str:
        """Digest of its bytes."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        """Its symbols."""


def input_json(given: Named) -> Json:
    """What was read."""
    return {"name": given.name, "sha256": given.sha256, "alphabet": list(given.alphabet)}


def note_json(name: str | None, regime: str | None, message: str) -> Json:
    """Something that was not done, or a remark on an input (None: on the command line)."""
    return {"input": name, "regime": regime, "message": message}


def error_json(name: str | None, error: BaseException, exit_code: int) -> Json:
    """An error that kept an input from being worked on."""
    message = str(error) if isinstance(error, HardsimError) else f"{type(error).__name__}: {error}"
    return {"input": name, "exit_code": exit_code, "message": message}


def model_json(facts: ModelFacts) -> Json:
    """The network in numbers."""
    return {
        "regime": facts.regime,
        "at": facts.at,
        "single_head": facts.single_head,
        "counting": facts.counting,
        "beta": rational(facts.beta),
        "temperature": facts.temperature,
        "layers": facts.layers,
        "heads": facts.heads,
        "dimension": facts.dimension,
        "parameters": facts.parameters,
    }


def check_json(result: CheckResult) -> Json:
    """A whole result of `check`."""
    return {
        "input": result.name,
        "formula": result.formula,
        "model": model_json(result.model),
        "engine": result.engine,
        "max_n": result.max_n,
        "exhaustive_limit": result.exhaustive_limit,
        "samples": result.samples,
        "verdict": result.verdict.value,
        "reach": result.reach,
        "proof": result.proof or None,
        "partial": result.partial,
        "words": result.words,
        "undecided_word": None if result.stuck is None else list(result.stuck),
        "mismatch": None if result.mismatch is None else mismatch_json(result.mismatch),
        "lengths": [length_json(length) for length in result.lengths],
    }


def mismatch_json(mismatch: Mismatch) -> Json:
    """The shortest word on which two of the three disagree."""
    return {
        "word": list(mismatch.word),
        "kind": mismatch.kind,
        "oracle": mismatch.oracle,
        "hard": mismatch.hard,
        "soft": mismatch.soft,
        "decided": mismatch.decided,
        "output": decimal(mismatch.value) if mismatch.decided else None,
    }


def length_json(length: LengthResult) -> Json:
    """All words tried of one length."""
    return {
        "n": length.n,
        "words": length.words,
        "possible": digits(length.possible),
        "exhaustive": length.exhaustive,
        "accepted": length.accepted,
        "soft_mismatches": length.soft_mismatches,
        "hard_mismatches": length.hard_mismatches,
        "undecided": length.undecided,
        "acceptance_gap": decimal(length.acceptance_gap),
        "margin": decimal(length.margin),
        "score_gap": rational(length.score_gap),
        "error": decimal(length.error),
        "bound": decimal(length.bound),
        "digits": length.digits,
        "sum_error": decimal(length.sum_error),
        "heads": [head_json(head) for head in length.heads],
    }


def head_json(head: HeadResult) -> Json:
    """One head over the words tried of one length."""
    return {
        "name": head.name,
        "layer": head.layer,
        "purpose": head.purpose,
        "theorem": head.theorem,
        "error": decimal(head.error),
        "bound": decimal(head.bound),
        "score_gap": rational(head.gap),
        "declared_gap": rational(head.declared_gap),
        "paper_bound": decimal(head.paper_bound),
    }


def eval_json(
    name: str, facts: ModelFacts, engine: str, evaluations: Iterable[Evaluation], partial: bool = False
) -> Json:
    """The words of `eval` on one model; what was not decided is null."""
    return {
        "input": name,
        "model": model_json(facts),
        "engine": engine,
        "partial": partial,
        "words": [
            {
                "word": list(found.word),
                "agree": found.agree,
                "decided": found.decided,
                "oracle": found.oracle,
                "hard": found.hard,
                "soft": found.soft,
                "output": decimal(found.value) if found.decided else None,
                "unrounded": decimal(found.unrounded),
                "margin": decimal(found.margin),
                "digits": found.digits,
            }
            for found in evaluations
        ],
    }


def words_json(
    name: str,
    facts: ModelFacts,
    by: str,
    max_n: int,
    tried: int,
    accepted: Iterable[tuple[str, ...]],
    partial: bool = False,
) -> Json:
    """The accepted words of `words`, in length-lexicographic order."""
    return {
        "input": name,
        "model": model_json(facts),
        "by": by,
        "max_n": max_n,
        "tried": tried,
        "partial": partial,
        "accepted": [list(word) for word in accepted],
    }


def show_json(report: ModelReport) -> Json:
    """The model of `show`."""
    return {
        "input": report.name,
        "formula": report.formula,
        "theorems": list(report.theorems),
        "model": model_json(report.facts),
        "core": [{"coordinate": name, "meaning": meaning} for name, meaning in report.meanings],
        "output": report.output,
        "encodings": [{"coordinate": name, "value": value} for name, value in report.encodings],
        "precision": [{"n": n, "digits": digits} for n, digits in report.digits],
        "layers": [
            {
                "layer": layer.number,
                "clips": layer.clips,
                "heads": [
                    {
                        "name": head.name,
                        "mask": head.mask,
                        "weighting": head.weighting,
                        "score": [{"query": query, "key": key} for query, key in head.score],
                        "value": head.value,
                        "purpose": head.purpose,
                        "theorem": head.theorem,
                        "beta": rational(head.beta),
                        "bounds": [
                            {"n": bound.n, "error": decimal(bound.error), "score_gap": rational(bound.gap)}
                            for bound in head.bounds
                        ],
                    }
                    for head in layer.heads
                ],
            }
            for layer in report.layers
        ],
    }


def compile_json(name: str, model: Json, output: str, sha256: str) -> Json:
    """Where `compile` wrote the network."""
    return {"input": name, "model": model, "output": output, "sha256": sha256}


def example_json(name: str, title: str, text: str | None) -> Json:
    """One shipped formula; `text` is None in a list."""
    return {"name": name, "title": title, "text": text}
