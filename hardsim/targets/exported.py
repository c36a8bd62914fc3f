"""Exported networks: the description files of an export, and the reading of exports.

The config.json of an export holds, beside the data for model.py, the exact document of the network (a compiled formula,
a softmax model, or network JSON). A reader takes the network from that document. Since other programs run the tensors,
the reader also requires that the tensors are those of the document.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from hardsim.errors import InputError
from hardsim.network.numbers import Rational
from hardsim.network.transformer import Transformer
from hardsim.program.assemble import assemble
from hardsim.reading.tensors import NAMING, Stored
from hardsim.targets.external import External
from hardsim.targets.subject import Subject
from hardsim.version import __version__
from hardsim.writing.layout import Answer, ExportLayout, network_layout, transformer_layout

MODEL_TYPE = "hardsim"
DOCUMENT, NETWORK = "hardsim", "network"
"""Keys of config.json: the exact document, and the description that model.py reads."""
KEYS = ("model_type", "version", "title", NETWORK, DOCUMENT)
AGAIN = "Export it again. A network whose weights were changed is no longer the one of its exact description."


def is_exported(stored: Stored) -> bool:
    """Return True if a folder was written by `hardsim export`."""
    return stored.config.get("model_type") == MODEL_TYPE


def document_of(stored: Stored) -> Any:
    """Return the exact document of an exported network. Raises InputError if there is no document."""
    where = f"{stored.name}: {stored.config_name}"
    unknown = [key for key in stored.config if key not in KEYS]
    if unknown:
        raise InputError(f"{where}: the key {unknown[0]!r} is not one of {', '.join(KEYS)}", AGAIN)
    # Two sources for the names of tokens could contradict each other.
    if stored.vocabulary is not None:
        message = (
            f"{stored.name}: it has a vocabulary, but an exported network names its tokens in {stored.config_name}"
        )
        raise InputError(message, f"Remove {', '.join(name for name in stored.files if name in NAMING)}.")
    document = stored.config.get(DOCUMENT)
    if not isinstance(document, dict):
        raise InputError(f"{where}: the exact network is missing (an object {DOCUMENT!r})", AGAIN)
    return document


def require_exported(stored: Stored, target: Subject | External) -> None:
    """Require that the tensors and the description are those of the exact network. Raises InputError with the first
    that differs."""
    made, where = layout_of(target), stored.name
    # Through JSON text, as the file went: tuples become lists.
    if not _same(stored.config.get(NETWORK), json.loads(json.dumps(made.description))):
        message = f"{where}: {stored.config_name}: {NETWORK!r}, which model.py reads, differs from the exact network"
        raise InputError(message, AGAIN)
    for name in sorted(made.arrays.keys() | stored.tensors.keys()):
        if name not in made.arrays or name not in stored.tensors:
            what = "is missing" if name in made.arrays else "is not a tensor of the exact network"
            raise InputError(f"{where}: the tensor {name!r} {what}", AGAIN)
        one, other = made.arrays[name], stored.tensors[name]
        if other.dtype != np.float64 or one.shape != other.shape:
            message = f"{where}: the tensor {name!r} is {other.dtype.name} of shape {list(other.shape)}"
            raise InputError(f"{message}, and the exact network has float64 of shape {list(one.shape)}", AGAIN)
        if not np.array_equal(one, other):
            place = [int(index) for index in np.argwhere(one != other)[0]]
            message = f"{where}: the tensor {name!r} has {other[tuple(place)]} at {place}"
            raise InputError(f"{message}, where the exact network has {one[tuple(place)]}", AGAIN)


def _same(one: Any, other: Any) -> bool:
    """Return True if two JSON values are the same. 1, 1.0 and true are three values, which model.py may treat in three
    ways."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def layout_of(target: Subject | External) -> ExportLayout:
    """Return the layout of a network in tensors. Raises OutOfRange if a number is beyond float64; InputError if the
    subject has another network for every length."""
    if isinstance(target, External):
        return network_layout(target.network)
    return transformer_layout(transformer_of(target), _answer(target), target.defined)


def transformer_of(subject: Subject) -> Transformer:
    """Return the network of a subject: its one network, or that of its temperature for all lengths. Raises InputError
    if the subject has neither."""
    if subject.one_network:
        return subject.model
    if not subject.given_temperature:
        message = f"{subject.name} has no one temperature for all lengths: Theorem 26 gives each length its own"
        raise InputError(message, "Give one temperature for all lengths with --tau.")
    return assemble(subject.program, subject.schedule)


def _answer(subject: Subject) -> Answer:
    """Return the rule by which the outputs of a subject are read."""
    program, index = subject.program, subject.index
    level: Rational | None = program.threshold
    if not program.maps:
        rule = {"rule": "exact"} if level is None else {"rule": "above", "level": str(level)}
        return Answer((("accepts", subject.output),), program.reading, rule)
    if program.integers:
        return Answer((("integer", subject.output),), "each", {"rule": "integer"})
    outputs = tuple((symbol, index[name]) for symbol, name in program.outputs)
    return Answer(outputs, "each", {"rule": "above", "level": str(subject.threshold)})


def config_json(layout: ExportLayout, document: Any, title: str) -> str:
    """Return the text of config.json. A document of None is left out."""
    config = {"model_type": MODEL_TYPE, "version": __version__, "title": title, NETWORK: layout.description}
    exact = {} if document is None else {DOCUMENT: document}
    return json.dumps(config | exact, ensure_ascii=False, indent=1) + "\n"
