"""What a command is given: a formula file, an expression, or a compiled model, told apart by content."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from hardsim.ahat.file import FORMAT as AHAT
from hardsim.ahat.file import read_ahat, read_json
from hardsim.checking.attention_open import AttentionInput, read_model, read_srasp
from hardsim.checking.subject import (
    ModelOptions,
    Subject,
    compile_file,
    counting_of,
    digest,
    examples_apply,
    own_predicates,
)
from hardsim.errors import InputError
from hardsim.files import LARGEST_TEXT, is_directory, names_in, read_bytes
from hardsim.lang import parse
from hardsim.lang.ast import FormulaFile
from hardsim.lang.pretty import format_file
from hardsim.lang.srasp.parse import parse_program_bytes
from hardsim.net.encodings import Users
from hardsim.net.model import Transformer
from hardsim.net.program_store import program_json, read_program
from hardsim.net.reader import Reader
from hardsim.net.store import read_transformer, transformer_json
from hardsim.net.tables import LengthTable
from hardsim.spec.ir import HardProgram
from hardsim.spec.regimes import REGIMES
from hardsim.theory.budget import Budget
from hardsim.version import __version__
from hardsim.visible import visible_json

FORMAT = "hardsim-model"
SCHEMA_VERSION = 1
PROGRAM = ".srasp"
SUFFIXES = (".ltl", ".srasp", ".ahat.json", ".model.json")
"""Of the files that a directory stands for."""
OTHER = (
    "the network in this file is not the one that its specification makes at its beta: verdicts speak of the network, "
    "error bounds, declared gaps and what the heads are for of the specification"
)


@dataclass(frozen=True)
class Input:
    """A formula with the name and SHA-256 of where it came from; `stored` is the compiled network, if that is what
    was given."""

    name: str
    sha256: str
    file: FormulaFile
    stored: Subject | None = None

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols of the words."""
        return self.file.alphabet

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the formula, and on a network that is not what its specification makes."""
        if self.stored is None or self.stored.specified:
            return self.file.notes
        return *self.file.notes, OTHER

    def remarks(self, at: str | None) -> tuple[str, ...]:
        """The remarks that apply where the formula is read at `at` (None: where the file says)."""
        if at is None or self.stored is not None:
            return self.notes
        if not self.file.examples or examples_apply(self.file, at):
            return ()
        return (
            f"its accept: and reject: words were written for at: {self.file.at}, so with --at {at} they are not judged",
        )

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


@dataclass(frozen=True, slots=True)
class SourceText:
    """What a file says of itself."""

    name: str
    sha256: str
    alphabet: tuple[str, ...]
    text: str
    title: str


def read_input(path: str) -> Input | AttentionInput:
    """A formula file, a compiled model, or a hard-attention model.

    Raises:
        InputError: if it cannot be read, or is none of them.
        SourceError: if the formula is wrong.
    """
    data = read_bytes(path, None if path.endswith(".json") else LARGEST_TEXT)
    sha256 = digest(data)
    if path.endswith(PROGRAM):
        return read_srasp(data, path, sha256)
    if path.endswith(".json"):
        document = read_json(data, path)
        kind = document.field("format").choice({FORMAT: FORMAT, AHAT: AHAT}.__getitem__, f"{FORMAT}, {AHAT}")
        if kind == AHAT:
            return read_model(document, path, sha256)
        stored = _read_model(document, path, sha256)
        return Input(path, sha256, stored.file, stored)
    return Input(path, sha256, parse.parse_bytes(data, path))


def read_formula(path: str) -> Input:
    """A formula file or a compiled formula.

    Raises:
        InputError: as `read_input`, and if it is a hard-attention model.
    """
    given = read_input(path)
    if isinstance(given, AttentionInput):
        kind = "an S-RASP program" if path.endswith(PROGRAM) else "a hard-attention model"
        raise InputError(f"{path} is {kind}", hint="Name a formula (.ltl) or a model compiled from one (.model.json).")
    return given


def read_source(path: str) -> SourceText:
    """A file's text and title, without compiling what is in it.

    Raises:
        InputError: as `read_input`.
    """
    data = read_bytes(path, None if path.endswith(".json") else LARGEST_TEXT)
    sha256 = digest(data)
    if path.endswith(PROGRAM):
        program = parse_program_bytes(data, path)
        return SourceText(path, sha256, program.alphabet, program.source.text, program.title)
    if path.endswith(".json"):
        file = read_ahat(read_json(data, path))
        return SourceText(path, sha256, file.model.alphabet, data.decode("utf-8-sig"), file.title)
    formula = parse.parse_bytes(data, path)
    return SourceText(path, sha256, formula.alphabet, formula.source.text, formula.title)


def read_expression(text: str, alphabet: str) -> Input:
    """A formula given on the command line, with its alphabet as symbols separated by white space."""
    file = parse.parse_expression(text, alphabet.split())
    return Input(file.source.name, digest(text.encode("utf-8", "surrogateescape")), file)


def expand_paths(paths: Sequence[str]) -> list[str]:
    """The files that these paths mean: a directory stands for its formulas, programs and models, in order of name.

    Raises:
        InputError: if a directory has none, or cannot be read.
    """
    result: list[str] = []
    for path in paths:
        if not is_directory(path):
            result.append(path)
            continue
        found = sorted(str(Path(path, name)) for name in names_in(path) if name.endswith(SUFFIXES))
        if not found:
            raise InputError(
                f"{path} has no *{', *'.join(SUFFIXES[:-1])} or *{SUFFIXES[-1]} file", hint="Name the files one by one."
            )
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
    return visible_json(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


def _read_model(document: Reader, path: str, sha256: str) -> Subject:
    """The subject of a `model.json`; nothing is compiled again.

    Raises:
        InputError: naming the place inside the document.
    """
    document.only("format", "schema_version", "version", "source", "options", "model", "specification")
    document.field("schema_version").integer(SCHEMA_VERSION, SCHEMA_VERSION)
    source, options = document.field("source"), document.field("options")
    source.only("name", "sha256", "text")
    for place, key in ((document, "version"), (source, "name"), (source, "sha256")):
        if place.has(key):
            place.field(key).text()
    file = parse.parse_text(source.field("text").text(), f"{path} (source)")
    users = own_predicates(file)
    model = _read_network(document.field("model"), users)
    specification = document.field("specification")
    program = read_program(specification, users)
    specification.field("regime").choice(REGIMES.__getitem__, ", ".join(REGIMES))
    for place, alphabet in ((document.field("model"), model.alphabet), (specification, program.alphabet)):
        if alphabet != file.alphabet:
            raise place.field("alphabet").error(f"the alphabet of the formula, {' '.join(file.alphabet)}")
    missing = set(program.coordinates) - set(model.coordinates)
    if missing:
        raise document.field("model").field("coordinates").error(f"those of the specification too ({min(missing)})")
    _check_heads(document, [[head.name for head in layer.heads] for layer in model.layers])
    return Subject(
        name=path,
        sha256=sha256,
        file=replace(file, at=_read_place(options, file)),
        program=program,
        budget=_read_budget(options, model),
        model=model,
        single_head=_read_single(options, model),
        counting=_read_counting(options, program),
    )


def _read_network(data: Reader, users: Users) -> Transformer:
    """The network of a formula, which has nothing of what only other models have."""
    data.only("alphabet", "bos", "coordinates", "embedding", "encodings", "layers", "output", "weighting",
              "temperature", "threshold", "reading")  # fmt: skip
    model = read_transformer(data, users)
    if data.has("reading") and model.reading != "last":
        raise data.field("reading").error("last, where the network of a formula is read")
    if model.threshold is not None:
        raise data.field("threshold").error("none: the network of a formula says exactly 0 or 1")
    if isinstance(model.temperature, LengthTable):
        raise data.field("temperature").error("an expression, as the network of a formula has it")
    if not model.soft or model.bos:
        raise data.error("the softmax network of a formula, without a beginning of sequence")
    for layer in data.field("layers").items():
        for head in layer.field("heads").items():
            head.only("name", "mask", "weighting", "w_q", "w_k", "w_v")
    return model


def _read_place(options: Reader, file: FormulaFile) -> Literal["first", "last"]:
    """Where the formula is read: what the options say, which its text says too."""
    options.only("at", "beta", "beta_for_all", "single_head", "counting")
    places: dict[str, Literal["first", "last"]] = {"first": "first", "last": "last"}
    found = options.field("at").choice(places.__getitem__, "first, last")
    if found != file.at:
        raise options.field("at").error(f"{file.at}, where the formula of the source is read")
    return found


def _read_budget(options: Reader, model: Transformer) -> Budget:
    beta = Fraction(options.field("beta").rational())
    if beta <= 0:
        raise options.field("beta").error("a positive rational")
    assert not isinstance(model.temperature, LengthTable)
    return Budget(beta, model.temperature, options.field("beta_for_all").boolean())


def _read_single(options: Reader, model: Transformer) -> bool:
    single = options.field("single_head").boolean()
    if single and any(len(layer.heads) > 1 for layer in model.layers):
        raise options.field("single_head").error("false, since a layer has several heads")
    return single


def _read_counting(options: Reader, program: HardProgram) -> str | None:
    found = options.field("counting").text() if options.has("counting") else None
    counts = counting_of(program)
    if found != counts:
        raise options.field("counting").error(f"{counts or 'null'}, as the heads of the specification count")
    return found


def _check_heads(document: Reader, found: list[list[str]]) -> None:
    """The specification speaks of the network's own heads, layer by layer."""
    layers = document.field("specification").field("layers")
    for index, layer in enumerate(layers.items(len(found))):
        heads = layer.field("heads")
        if [head.field("name").text() for head in heads.items()] != found[index]:
            raise heads.error(f"the heads of the network's layer, {', '.join(found[index]) or 'none'}")
