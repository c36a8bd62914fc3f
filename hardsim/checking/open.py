"""What a command is given: a formula file, an expression, or a compiled model, told apart by content."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from hardsim.checking.subject import ModelOptions, Subject, compile_file, digest, own_predicates
from hardsim.errors import InputError
from hardsim.lang import parse
from hardsim.lang.ast import FormulaFile
from hardsim.lang.pretty import format_file
from hardsim.net.program_store import program_json, read_program
from hardsim.net.reader import Reader
from hardsim.net.store import read_transformer, transformer_json
from hardsim.net.tables import LengthTable
from hardsim.spec.regimes import REGIMES
from hardsim.theory.budget import Budget
from hardsim.version import __version__

FORMAT = "hardsim-model"
SCHEMA_VERSION = 1
METHODS = {"lookup": "lookup", "sign": "sign"}


@dataclass(frozen=True)
class Input:
    """A formula with the name and SHA-256 of where it came from; `stored` is the compiled network, if that is what
    was given."""

    name: str
    sha256: str
    file: FormulaFile
    stored: Subject | None = None

    def compile(self, options: ModelOptions) -> Subject:
        """The subject to check: compiled with these options, or the stored network.

        Raises:
            SourceError: see `compile_file`.
            InputError: if an option contradicts a stored network, which was compiled with its own.
        """
        if self.stored is None:
            return compile_file(self.file, options, self.sha256)
        facts = self.stored.facts
        wanted = {
            "--regime": (options.regime, (ModelOptions().regime, facts.regime)),
            "--beta": (options.beta, (None, facts.beta)),
            "--tau": (options.tau, (None, self.stored.model.temperature)),
            "--at": (options.at, (None, facts.at)),
            "--single-head": (options.single_head, (False, facts.single_head)),
            "--counting": (options.counting, (None, facts.counting)),
        }
        for option, (value, allowed) in wanted.items():
            if value not in allowed:
                given = option if value is True else f"{option} {value}"
                raise InputError(
                    f"{self.name} is already compiled (regime {facts.regime}, beta {facts.beta}, temperature "
                    f"{facts.temperature}, at {facts.at}), so {given} does not apply",
                    hint="Leave the option out, or give the formula instead of the model.",
                )
        return self.stored


def read_input(path: str) -> Input:
    """A formula file or a `model.json`.

    Raises:
        InputError: if it cannot be read, or is neither.
        SourceError: if the formula is wrong.
    """
    data = parse.read_bytes(path)
    sha256 = digest(data)
    if path.endswith(".json"):
        stored = _read_model(data, path, sha256)
        return Input(path, sha256, stored.file, stored)
    return Input(path, sha256, parse.parse_bytes(data, path))


def read_expression(text: str, alphabet: str) -> Input:
    """A formula given on the command line, with its alphabet as symbols separated by white space."""
    file = parse.parse_expression(text, alphabet.split())
    return Input(file.source.name, digest(text.encode("utf-8", "surrogateescape")), file)


def expand_paths(paths: Sequence[str]) -> list[str]:
    """The files that these paths mean: a directory stands for its `.ltl` and `.model.json` files, in order of name.

    Raises:
        InputError: if a directory has none.
    """
    result: list[str] = []
    for path in paths:
        if not Path(path).is_dir():
            result.append(path)
            continue
        found = sorted(str(entry) for pattern in ("*.ltl", "*.model.json") for entry in Path(path).glob(pattern))
        if not found:
            raise InputError(f"{path} has no .ltl or .model.json file", hint="Name the files one by one.")
        result.extend(found)
    return result


# ---- compiled models ----


def store_text(subject: Subject) -> str:
    """The `model.json` of a subject: the network, the specification of its heads, the formula, and how it was
    compiled."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "source": {"name": subject.name, "sha256": subject.sha256, "text": format_file(subject.file)},
        "options": {
            "at": subject.file.at,
            "beta": str(subject.budget.beta),
            "beta_for_all": subject.budget.fixed,
            "single_head": subject.single_head,
            "counting": subject.counting,
        },
        "model": transformer_json(subject.model),
        "specification": program_json(subject.program),
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _read_model(data: bytes, path: str, sha256: str) -> Subject:
    """The subject of a `model.json`; nothing is compiled again.

    Raises:
        InputError: naming the place inside the document.
    """
    try:
        document = Reader(json.loads(data.decode("utf-8-sig")), path)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except (RecursionError, ValueError):
        raise InputError(f"{path}: not JSON that hardsim can read (nested too deeply, or a number too long)") from None
    document.field("format").choice({FORMAT: FORMAT}.__getitem__, FORMAT)
    document.field("schema_version").integer(SCHEMA_VERSION, SCHEMA_VERSION)
    source, options = document.field("source"), document.field("options")
    file = parse.parse_text(source.field("text").text(), f"{path} (source)")
    users = own_predicates(file)
    model = read_transformer(document.field("model"), users)
    if not model.soft or model.bos or model.threshold is not None or isinstance(model.temperature, LengthTable):
        raise document.field("model").error("the softmax network of a formula")
    specification = document.field("specification")
    program = read_program(specification, users)
    specification.field("regime").choice(REGIMES.__getitem__, ", ".join(REGIMES))
    places: dict[str, Literal["first", "last"]] = {"first": "first", "last": "last"}
    file = replace(file, at=options.field("at").choice(places.__getitem__, "first, last"))
    for place, alphabet in ((document.field("model"), model.alphabet), (specification, program.alphabet)):
        if alphabet != file.alphabet:
            raise place.field("alphabet").error(f"the alphabet of the formula, {' '.join(file.alphabet)}")
    _check_heads(document, model.coordinates, [[head.name for head in layer.heads] for layer in model.layers])
    beta = Fraction(options.field("beta").rational())
    if beta <= 0:
        raise options.field("beta").error("a positive rational")
    return Subject(
        name=path,
        sha256=sha256,
        file=file,
        program=program,
        budget=Budget(beta, model.temperature, options.field("beta_for_all").boolean()),
        model=model,
        single_head=options.field("single_head").boolean(),
        counting=options.field("counting").choice(METHODS.__getitem__, ", ".join(METHODS))
        if options.has("counting")
        else None,
    )


def _check_heads(document: Reader, coordinates: tuple[str, ...], found: list[list[str]]) -> None:
    """The specification speaks of the network's own heads, layer by layer."""
    layers = document.field("specification").field("layers")
    for index, layer in enumerate(layers.items(len(found))):
        heads = layer.field("heads")
        if [head.field("name").text() for head in heads.items()] != found[index]:
            raise heads.error(f"the heads of the network's layer, {', '.join(found[index]) or 'none'}")
        for head in heads.items():
            if head.field("out").text() not in coordinates:
                raise head.field("out").error("a coordinate of the network")
