"""The opening of inputs: a path is recognised by its content and read.

An input is a formula, a program, a regular expression, a compiled formula, a hard-attention model, a specification, or
an external network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hardsim.errors import InputError, InvariantError, SourceError, Unsupported
from hardsim.examples import example_names, located
from hardsim.files import LARGEST_TEXT, is_directory, read_bytes, read_head, same_file
from hardsim.lang import ltl_parser
from hardsim.lang.ast import FormulaFile
from hardsim.lang.corpus import line_of, read_corpus, read_line
from hardsim.lang.crasp.crasp_parser import parse_crasp
from hardsim.lang.crasp.formula import as_formula
from hardsim.lang.crasp.oracle import CraspOracle
from hardsim.lang.desugar import desugar
from hardsim.lang.frontend import normalised
from hardsim.lang.regex.regex_parser import parse_regex
from hardsim.lang.semantics import check_examples
from hardsim.lang.srasp.interpreter import check_program_examples
from hardsim.lang.srasp.srasp_parser import parse_program
from hardsim.lang.unread_files import DECLARES, ENOUGH, naming, prefix_error, unread_format_error
from hardsim.lang.valuations import (
    MENTIONED,
    Alphabet,
    Valuations,
)
from hardsim.network.dense import Network
from hardsim.network.reader import read_json
from hardsim.program.file import FORMAT as AHAT
from hardsim.program.file import (
    read_ahat,
)
from hardsim.reading.folder import (
    FORMAT_DEFAULT,
    READOUT,
    described,
    names_tokens,
    network_of,
    readout_settings,
    restated,
    settings_of,
)
from hardsim.reading.network_json import FORMAT as NETWORK
from hardsim.reading.network_json import read_network_json
from hardsim.reading.tensors import (
    Stored,
    TakenSetting,
    is_network_folder,
    is_weights_name,
    read_folder,
    unread_folder,
)
from hardsim.reading.writing import json_text
from hardsim.targets.base import digest
from hardsim.targets.compiled import compile_srasp
from hardsim.targets.exported import document_of, is_exported, require_exported
from hardsim.targets.external import External
from hardsim.targets.inputs.base import KINDS, Input
from hardsim.targets.paths import CRASP, PROGRAM, REGEX, files_in
from hardsim.targets.semantics import Accepts, Members, Runs
from hardsim.targets.specification import SPEC, read_specification
from hardsim.targets.stored import FORMAT, read_compiled, read_hard_attention
from hardsim.verify.sections import FORMAT as CERTIFICATE
from hardsim.visible import visible_json

_DECLARING = (PROGRAM, ".json", SPEC)
"""The suffixes of files that always declare their own alphabet."""
THE_FILE = "the file"
"""The source of a setting that network JSON states."""


def read_input(
    path: str,
    props: str | Sequence[str] | None = None,
    alphabet: str | Sequence[str] | None = None,
    dialect: str | None = None,
    beside: Alphabet | None = None,
    alone: bool = False,
) -> Input:
    """Read the file at a path, or the example that is shipped under this name if there is no such path: a formula
    file, a program, a regular expression, a compiled formula, a hard-attention model, an external network, or a
    specification with its network (with `alone`: without it).

    `props` are the propositions of a formula or an expression that declares neither propositions nor an alphabet
    (MENTIONED: those that it mentions); `alphabet` is for these and for C-RASP programs. A formula is read in a
    `dialect` if one is given. An input that declares no alphabet, and is given none, uses the alphabet `beside`, that
    of another input.

    Raises:
        InputError: if the file cannot be read, or is none of these; if there is no file, with the nearest name.
        SourceError: if the formula or program is wrong, or an example is.
    """
    if (line := line_of(path)) is not None:
        data = read_bytes(line[0], LARGEST_TEXT)
        if beside is not None and alphabet is None and props in (None, MENTIONED) and not declares(path):
            alphabet, props = beside, None
        with naming(path, line[0]):
            file = read_line(data, *line, alphabet, props, dialect)
        return of_formula(file, digest(file.source.text.encode()), path)
    place = located(path)
    folder = is_network_folder(place) or is_weights_name(place)
    if folder or place.endswith(SPEC):
        for option, value in (("--alphabet", alphabet), ("--props", props), ("--dialect", dialect)):
            if value is not None and (folder or value != MENTIONED):
                what = KINDS["network"] if folder else "a specification of a network"
                message = f"{path} is {what}: {option} is for formulas, programs and expressions"
                raise InputError(message, f"Leave out {option}.")
    if folder:
        return of_stored(read_folder(place), path)
    if is_directory(place) and not files_in(place) and (unread := unread_folder(place)) is not None:
        raise unread
    given = alphabet is not None or props not in (None, MENTIONED)
    with naming(path, place):
        data = read_bytes(place, None if place.endswith(".json") else LARGEST_TEXT, others=example_names)
        if place.lower().endswith(".lbt") and (prefix := prefix_error(path, place, data)):
            # LTL in prefix notation; some of its lines would also parse as other formulas of hardsim.
            raise prefix
        if place.endswith(SPEC):
            return _read_spec(data, place, path, alone)
        if beside is not None and not given and not (place.endswith(_DECLARING) or _declared(data)):
            found = _read_beside(data, place, path, beside, dialect)
        else:
            found = _read_data(data, place, path, props=props, alphabet=alphabet, dialect=dialect)
    own = Path(place).name
    if place == path or not os.path.lexists(own) or same_file(own, place):
        return found
    message = f"this is the shipped example; this directory has a file {own} of its own"
    return replace(found, remarked=(*found.remarked, message))


def _read_spec(data: bytes, place: str, name: str, alone: bool) -> Input:
    """Read a specification, with the network that it names unless `alone`."""
    given = read_specification(data, name, place)
    text = given.layout.source.text
    if alone:
        alphabet, title = given.alphabet, given.layout.title
        notes = given.remarks(alphabet) if alphabet else ()
        return Input(name, given.sha256, alphabet, "network", text, title, notes, specification=given)
    path = given.network
    if not os.path.exists(path):
        raise given.wrong_network(f"there is no {path}", "the path of a folder or file, relative to this file")
    try:
        if is_directory(path) or is_weights_name(path):
            found = of_stored(read_folder(path), path)
        elif path.endswith(".json"):
            with naming(path, path):
                found = of_document(read_bytes(path), path)
        else:
            known = unread_format_error(path, path, read_head(path, ENOUGH))
            message, hint = (f"{path} is no network", "") if known is None else (known.message, known.hint)
            raise given.wrong_network(message, "a folder, a file of weights, or network JSON", hint)
    except SourceError:
        raise
    except InputError as error:
        raise given.wrong_network(error.message, hint=error.hint) from None
    if found.external is None:
        raise given.wrong_network(f"{path} is {KINDS[found.kind]}", KINDS["network"])
    # The verdict depends on both files, so the digest covers both.
    sha256 = digest(f"{given.sha256} {found.sha256}".encode())
    title = given.layout.title or found.title
    bare = replace(found.external, name=name, sha256=sha256, title=title)
    external = given.deciding(bare)
    described = (*found.described, ("network", path))
    settings = restated(found.settings, external.network, given.stated, os.path.basename(name))
    found = replace(found, described=described, specification=given, bare=bare, external=external, settings=settings)
    found = replace(found, remarked=(*found.remarked, *given.remarks(external.alphabet)))
    return replace(found, name=name, sha256=sha256, alphabet=external.alphabet, text=text, title=title)


def declares(path: str) -> bool:
    """Return True if a file declares its own alphabet; formulas, expressions and C-RASP programs need not. Raise
    InputError if the file cannot be read. Mistakes in its text are not reported here.
    """
    if (line := line_of(path)) is not None:
        return _declared(read_corpus(read_bytes(line[0], LARGEST_TEXT), line[0]).head.encode())
    place = located(path)
    if is_network_folder(place) or is_weights_name(place):
        return True
    return place.endswith(_DECLARING) or _declared(read_bytes(place, LARGEST_TEXT, others=example_names))


def _declared(data: bytes) -> bool:
    return DECLARES.search(normalised(data.decode("utf-8", "replace"))) is not None


def _read_data(
    data: bytes,
    place: str,
    name: str,
    *,
    props: str | Sequence[str] | None,
    alphabet: str | Sequence[str] | None,
    dialect: str | None,
) -> Input:
    """Read an input from the bytes of the file at `place`; `name` is the name that the user gave."""
    sha256 = digest(data)
    if props not in (None, MENTIONED) and place.endswith((PROGRAM, CRASP, ".json")):
        message = f"{name} declares its own symbols: --props is for formulas and regular expressions"
        raise InputError(message, "Leave out --props.")
    if alphabet is not None and place.endswith((PROGRAM, ".json")):
        message = (
            f"{name} declares its own alphabet: --alphabet is for formulas, C-RASP programs and regular expressions"
        )
        raise InputError(message, "Leave out --alphabet.")
    if place.endswith(CRASP):
        return _read_crasp(data, name, sha256, alphabet)
    if place.endswith(PROGRAM):
        return _read_srasp(data, name, sha256)
    if place.endswith(REGEX):
        return _read_regex(data, name, sha256, props, alphabet)
    if not place.endswith(".json"):
        return of_formula(ltl_parser.parse_text(data, name, alphabet, props, dialect), sha256)
    return of_document(data, name)


def _read_beside(data: bytes, place: str, name: str, alphabet: Alphabet, dialect: str | None) -> Input:
    """Read a file that declares no alphabet, over the alphabet of another input."""
    sha256 = digest(data)
    if place.endswith(CRASP):
        # A program names symbols one by one: sets that are declared by propositions are not listed for it.
        return _read_crasp(data, name, sha256, None if isinstance(alphabet, Valuations) else alphabet)
    if place.endswith(REGEX):
        return _read_regex(data, name, sha256, None, alphabet)
    return of_formula(ltl_parser.parse_text(data, name, alphabet=alphabet, dialect=dialect), sha256)


def of_stored(stored: Stored, name: str) -> Input:
    """Return the input for the stored tensors and settings of an external network.

    Raises:
        InputError: naming the part that hardsim does not understand.
    """
    if is_exported(stored):
        return _of_exported(stored, name)
    network, title = network_of(stored)
    found = of_network(network, name, stored.sha256, title, stored, tuple(described(stored, network, title)))
    remarked = (*stored.notes, *stored.settings.remarks)
    return replace(found, remarked=remarked, settings=settings_of(stored, network, title))


def _of_exported(stored: Stored, name: str) -> Input:
    """Return the input for the exact network of an exported folder: a compiled formula, a model, or an external
    network.
    """
    # The tensors of the folder are rounded; its document has the exact network, and both must agree.
    text = visible_json(json_text(document_of(stored)))
    found = of_document(text.encode(), name, stored.sha256)
    target = found.external or found.made
    if target is None:
        raise InvariantError(f"{name}: a document without a network was read")
    require_exported(stored, target)
    return found


def of_network(
    network: Network,
    name: str,
    sha256: str,
    title: str,
    stored: Stored | None = None,
    notes_given: tuple[tuple[str, str], ...] = (),
) -> Input:
    """Return the input for an external network. `notes_given` are labels and texts that describe what was read of
    it.
    """
    symbols = network.symbols
    if not symbols:
        hint = "Words need at least one token that does not stand before or after every word."
        raise InputError(f"{name}: no token is left that words could be made of", hint)
    made = External(
        name=name, sha256=sha256, alphabet=symbols, title=title, network=network,
        named=stored is None or names_tokens(stored, network),
    )  # fmt: skip
    return Input(name, sha256, symbols, "network", title=title, external=made, stored=stored, described=notes_given)


def of_document(data: bytes, name: str, sha256: str = "") -> Input:
    """Read JSON: a compiled formula, a hard-attention model, or a hand-written network. `sha256` is the digest of the
    source of the text, by default of the text itself.

    Raises:
        InputError: if it is none of them, naming the place inside the document.
    """
    sha256, document = sha256 or digest(data), read_json(data, name)
    formats = (FORMAT, AHAT, NETWORK)
    found = document.value.get("format") if isinstance(document.value, dict) else None
    if found == CERTIFICATE:
        raise InputError(f"{name}: this is a certificate, not a model", f"Check it: hardsim verify {name}")
    # Without a "format" the file may be any JSON, so the message explains the formats instead of naming one place.
    if found not in formats and not document.has("schema_version"):
        message = f'{name}: this is JSON without "format": one of {", ".join(formats)}'
        raise InputError(message, "docs/networks.md describes these three formats, and how other networks are read.")
    kind = document.field("format").choice(dict(zip(formats, formats, strict=True)).__getitem__, ", ".join(formats))
    text = data.decode("utf-8-sig")
    if kind == NETWORK:
        network = read_network_json(document)
        found = of_network(network, name, sha256, "network JSON", notes_given=())
        sources = {key: THE_FILE for key in READOUT if document.has(key)}
        scaled = THE_FILE if document.has("embedding_scale") else FORMAT_DEFAULT
        scale = TakenSetting("embedding_scale", str(network.embedding_scale), scaled)
        settings = (scale, *readout_settings(network, sources))
        return replace(found, text=text, document=text, settings=settings)
    if kind == AHAT:
        made, remarks = read_hard_attention(read_ahat(document), name, sha256)
        return Input(name, sha256, made.alphabet, "ahat", text, made.title, remarks, made=made, document=text)
    stored, remarks = read_compiled(document, name, sha256)
    given = of_formula(stored.file, sha256, name)
    return replace(given, made=stored, document=text, remarked=(*given.remarked, *remarks))


def of_formula(file: FormulaFile, sha256: str, name: str | None = None) -> Input:
    """Return the input for a parsed formula."""
    return _compilable(_input_of(file, sha256, name))


def _input_of(file: FormulaFile, sha256: str, name: str | None = None) -> Input:
    source, remarked = file.source, (*file.readings, *file.notes)
    return Input(name or source.name, sha256, file.alphabet, "ltl", source.text, file.title, remarked, formula=file)


def _compilable(given: Input) -> Input:
    """Return the input for a formula, with the reason if no regime can have a construction."""
    try:
        desugar(given.file)
    except Unsupported as refusal:
        return replace(given, refusal=refusal)
    return given


def read_expression(
    text: str,
    alphabet: str | Sequence[str] | None,
    props: str | Sequence[str] | None = None,
    dialect: str | None = None,
    name: str = "<expression>",
) -> Input:
    """Read a formula given as text, with its alphabet or its propositions: a sequence, or one text separated by white
    space. The propositions may be MENTIONED, those that the formula mentions. If neither is given, its symbols are
    the alphabet. The formula is read in a `dialect` if one is given. Errors refer to it as `name`.
    """
    data = text.encode("utf-8", "surrogatepass")
    with naming(name, "", data):
        file = ltl_parser.parse_expression(text, alphabet, name, props, dialect)
    return of_formula(file, digest(data))


def _read_crasp(data: bytes, path: str, sha256: str, alphabet: str | Sequence[str] | None) -> Input:
    # The examples are checked against the program's own semantics; what is compiled is a formula made of it below.
    program = parse_crasp(data, path, alphabet)
    given = _input_of(replace(program, oracle=CraspOracle(program)), sha256)
    check_examples(given.file)
    try:
        return _compilable(replace(given, formula=as_formula(given.file)))
    except Unsupported as refusal:
        examples = tuple(example.word for example in given.file.examples)
        return replace(given, formula=None, refusal=refusal, oracle=Accepts(given.file), examples=examples)


def _read_srasp(data: bytes, path: str, sha256: str) -> Input:
    program = parse_program(data, path)
    check_program_examples(program)
    text, title, notes = program.source.text, program.title, program.notes
    examples = tuple(example.word for example in program.examples)
    given = Input(path, sha256, program.alphabet, "srasp", text, title, notes, oracle=Runs(program), examples=examples)
    # A program that cannot be compiled still has a semantics: commands that need a network raise the refusal later.
    try:
        made, warnings = compile_srasp(program, path, sha256)
    except Unsupported as refusal:
        return replace(given, refusal=refusal)
    return replace(given, made=made, remarked=(*notes, *warnings), warnings=warnings)


def _read_regex(
    data: bytes,
    path: str,
    sha256: str,
    props: str | Sequence[str] | None,
    alphabet: str | Sequence[str] | None = None,
) -> Input:
    file = parse_regex(data, path, props, alphabet)
    refusal = file.error(
        "a regular expression is an oracle alone: it is not compiled into a network",
        f"hardsim check FILE --against {path} checks a formula, a program or a model against it; `hardsim words`, "
        "`eval`, `show` and `equiv` read it directly",
    )
    text, oracle = file.layout.source.text, Members(file.automaton)
    examples = tuple(example.word for example in file.examples)
    return Input(
        path,
        sha256,
        file.alphabet,
        "re",
        text,
        file.title,
        file.notes,
        refusal=refusal,
        oracle=oracle,
        examples=examples,
    )
