"""Compare the Rocq instance in a folder with a compiled model: does its text state this network and this formula?

`hardsim.verify.rocq` reads the instance. This module reads the folder, parses the model's formula with hardsim's own
parser, and says what differs. Nothing that is decided here is shared with the generator of instances; only the text of
Makefile and `_CoqProject` is taken from there.
"""

from __future__ import annotations

import json
import os
from codecs import BOM_UTF8
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from hardsim.campaign.result import verdict_summary
from hardsim.errors import InputError, Source, SourceError, Span
from hardsim.files import LARGEST_TEXT, read_bytes
from hardsim.lang import ltl_parser
from hardsim.lang.ast import FormulaFile
from hardsim.lang.pretty import format_formula
from hardsim.lazy_dataclass import dataclass
from hardsim.network.reader import read_json
from hardsim.proving.rocq.folder import folder_files
from hardsim.proving.rocq_formula import FormulaMeaning, atoms_of, meaning_of_file, predicates_of
from hardsim.records import Embedded, Natural, Record, one_of, written
from hardsim.targets.opening import read_input
from hardsim.targets.result import InputName
from hardsim.targets.stored import FORMAT
from hardsim.verify.rocq import networks
from hardsim.verify.rocq.formulas import meaning_of
from hardsim.verify.rocq.instance import NEEDED, READINGS, STATEMENT, RocqInstance, read_instance
from hardsim.verify.rocq.meanings import Meanings, NotStated
from hardsim.verify.rocq.text import BadRocq
from hardsim.visible import visible

LIBRARY = Path(__file__).resolve().with_name("rocq") / "library"
"""The folder of the library's files, which are shipped."""
WRITE_ONE = "Write one with: hardsim prove MODEL.json --all-n --rocq DIR"
"""Advice for a folder that has no instance."""
COMPILED = "hardsim compile FILE.ltl -o MODEL.json"
"""The command that writes models."""
SHA256 = """{"type": "object", "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}"""
"""JSON Schema of the digests of a folder's files."""
SUFFIX = ".v"
BUILT = ("vo", "vok", "vos", "glob", "axioms", "axioms.partial")
"""Endings of what coqc and make leave in a folder."""


@dataclass(frozen=True, slots=True, repr=False)
class RocqResult(Record):
    """Result of comparing the Rocq instance in a folder with a compiled model. What an invalid instance states is not
    reported: null."""

    input: InputName
    verdict: Annotated[str, one_of("VALID", "INVALID")]
    """VALID if the instance states the network and the formula of the model, otherwise INVALID."""
    reason: str | None
    """First difference; null if there is none."""
    folder: str
    """Folder of the instance, as given."""
    instance: str
    """Name of the instance's file in the folder."""
    theorem: str | None
    """Statement of the theorem in the instance."""
    formula: str | None
    """Formula of the model, whose meaning the formula of the instance has."""
    definitions: Natural | None
    """Number of definitions that the formula uses, which were compared, too."""
    atoms: Natural | None
    """Number of symbols or propositions."""
    layers: Natural | None
    """Number of layers."""
    heads: Natural | None
    """Number of heads."""
    numbers: Natural | None
    """Number of rationals of the network: entries that are not 0, and biases."""
    digests: Annotated[dict[str, str], Embedded(SHA256)]
    """SHA-256 of the instance and of each file of the library in the folder, in hexadecimal, by name."""
    command: str
    """The command that checks the proof, which this comparison does not do."""

    @property
    def summary(self) -> str:
        """The line that names the verdict, the model, and the reason or the instance."""
        return verdict_summary(self.verdict, self.input, self.reason or self.instance)

    @property
    @written
    def valid(self) -> bool:
        """True if the instance states this network and this formula."""
        return self.verdict == "VALID"


def compare_folder(path: str, folder: str) -> RocqResult:
    """Return the result of comparing the instance in a folder with the model of a file that `hardsim compile` wrote.
    Raises InputError if the file is no compiled model, if the folder has no instance, or if the instance is not in the
    language of instances (then with the place)."""
    return compare_model(read_model(path), path, folder, shipped_library())


def shipped_library() -> dict[str, bytes]:
    """Return the content of each Rocq file of the library, by name. Raises InputError if the installation has none."""
    found = {path.name: path.read_bytes() for path in sorted(LIBRARY.glob(f"*{SUFFIX}"))}
    if not {f"{name}{SUFFIX}" for name in NEEDED} <= found.keys():
        raise InputError(f"the Rocq library is missing (looked in {LIBRARY})", "Install hardsim again.")
    return found


def read_model(path: str) -> dict[str, Any]:
    """Return the JSON of a compiled model. Raises InputError if the file is none, or is damaged."""
    data = read_bytes(path, missing=f"Check the path; `{COMPILED}` writes a model.")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
        # A file that begins otherwise, such as a formula, is not a model with a mistake.
        if data.removeprefix(BOM_UTF8).lstrip().startswith(b"{"):
            read_json(data, path, f"Write a model with: {COMPILED}")  # whose errors have a place
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{path}: not the compiled model of a formula", f"Write one with: {COMPILED}")
    read_input(path).as_read()  # which checks every name, index and number
    return document


def compare_model(document: Mapping[str, Any], name: str, folder: str, library: Mapping[str, bytes]) -> RocqResult:
    """Return the result of comparing the theorem in a folder, which is about one network, with a model: the JSON
    `document` of the file or input `name`. `library` has the files that must be in the folder. Raises InputError as
    `compare_folder`."""
    instance, found = _files(folder, library)
    expected = {**library, **_around(folder, instance.removesuffix(SUFFIX))}
    changed = next((one for one, data in expected.items() if _content(folder, one, found) != data), None)
    facts: dict[str, Any] = {}
    if changed is not None:
        reason: str | None = f"{os.path.join(folder, changed)}: differs from the one that hardsim has"
    else:
        reason, facts = compare_text(
            _decoded(found[instance], os.path.join(folder, instance)),
            document,
            os.path.join(folder, instance),
            library,
        )
    empty = dict.fromkeys(("theorem", "formula", "definitions", "atoms", "layers", "heads", "numbers"))
    return RocqResult(
        name,
        "VALID" if reason is None else "INVALID",
        reason,
        folder,
        instance,
        digests={one: sha256(data).hexdigest() for one, data in found.items()},
        command=f"make -C {visible(folder)} clean all",
        **empty | facts,
    )


def _around(folder: str, module: str) -> dict[str, bytes]:
    """Return what the Makefile and `_CoqProject` of a folder must be, as far as it has them."""
    files = folder_files(module, "")
    return {
        name: text.encode()
        for name, text in files.items()
        if not name.endswith(SUFFIX) and os.path.lexists(os.path.join(folder, name))
    }


def _content(folder: str, name: str, found: Mapping[str, bytes]) -> bytes:
    return found[name] if name in found else read_bytes(os.path.join(folder, name), _LARGEST)


def _files(folder: str, library: Mapping[str, bytes]) -> tuple[str, dict[str, bytes]]:
    """Return the name of the instance in a folder, and the content of the instance and of the library's files."""
    try:
        with os.scandir(folder) as entries:
            names = sorted((one.name, one.is_dir()) for one in entries if not one.name.startswith("."))
    except OSError as error:
        raise InputError(f"--rocq {folder}: cannot be read: {error.strerror}", WRITE_ONE) from None
    own = [name for name, inner in names if name.endswith(SUFFIX) and not inner and name not in library]
    if missing := [name for name in library if (name, False) not in names]:
        raise InputError(f"--rocq {folder}: the library's file {missing[0]} is missing", WRITE_ONE)
    if not own:
        raise InputError(f"--rocq {folder}: no instance, a file {SUFFIX} besides the library", WRITE_ONE)
    # Another file could change what `make` checks: a module in the place of one that the instance imports, or rules.
    stems = {name.removesuffix(SUFFIX) for name in (*library, own[0])}
    fixed = {*library, own[0], *folder_files("", "")}
    for name, inner in names:
        stem, _, suffix = name.partition(".")
        if inner or (name not in fixed and not (stem in stems and suffix in BUILT)):
            hint = "The folder of an instance has one instance, the library, Makefile, and what coqc makes of them."
            raise InputError(f"--rocq {folder}: {name} belongs neither to the instance nor to the library", hint)
    return own[0], {name: read_bytes(os.path.join(folder, name), _LARGEST) for name in (own[0], *library)}


_LARGEST = 8 * LARGEST_TEXT


def _decoded(data: bytes, place: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8 at byte {error.start}", WRITE_ONE) from None


def compare_text(
    text: str, document: Mapping[str, Any], place: str, library: Mapping[str, bytes]
) -> tuple[str | None, dict[str, Any]]:
    """Return the first difference between an instance, which is the text of the file `place`, and a model; None with
    what the instance states, as fields of RocqResult, if there is none. Raises SourceError, with the place, for a text
    that is not in the language of instances; InputError for a model that no instance states."""
    table = Meanings()
    file = ltl_parser.parse_text(document["source"]["text"], "source.text of the model")
    try:
        expected = meaning_of_file(file, table)
        model = networks.of_model(document["model"], table, predicates_of(file, table))
    except NotStated as error:
        raise InputError(f"no Rocq instance states {error}", "`hardsim verify` also checks certificates.") from None
    try:
        instance = read_instance(text, [name.removesuffix(SUFFIX) for name in library])
        network = networks.of_instance(instance.network, table)
        reason = networks.difference(network, model, document["model"])
        reason = reason or _formula_difference(instance, expected, file, table)
    except BadRocq as error:
        raise SourceError(Source(place, text), Span(error.start, error.end), error.message, error.expected) from None
    if reason is not None:
        return reason, {}
    return None, {
        "theorem": STATEMENT.format(instance.reading),
        "formula": format_formula(file.formula),
        "definitions": len(instance.lets),
        "atoms": network.atoms,
        "layers": len(network.layers),
        "heads": sum(len(layer.heads) for layer in network.layers),
        "numbers": networks.numbers_in(network),
    }


def _formula_difference(
    instance: RocqInstance, expected: FormulaMeaning, file: FormulaFile, table: Meanings
) -> str | None:
    """Return the first difference of the formulas, their definitions and their reading positions."""
    names = atoms_of(file)
    if len(instance.lets) != len(file.lets):
        return f"number of definitions: {len(instance.lets)} in the instance, {len(file.lets)} in the model's formula"
    lets: dict[str, tuple[str, int]] = {}
    for let, own, meaning in zip(instance.lets, file.lets, expected.lets, strict=True):
        found = meaning_of(let.body, let.sort, table, lets)
        if found != meaning:
            return _differ(f"{let.name} ({own.name})", found, meaning, table, names)
        lets[let.name] = let.sort, found
    found = meaning_of(instance.formula, "formula", table, lets)
    if found != expected.formula:
        return _differ("F", found, expected.formula, table, names)
    if READINGS[instance.reading] != file.at:
        return f"reading position: {instance.reading} in the instance, at: {file.at} in the model's formula"
    return None


def _differ(name: str, found: int, expected: int, table: Meanings, names: tuple[str, ...]) -> str:
    one, other = (visible(table.text(number, names)) for number in table.difference(found, expected))
    return f"formula {name}: `{one}` in the instance, `{other}` in the model's formula"
