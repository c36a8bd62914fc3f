"""The opening of inputs: a path is recognised by its content and read.

An input is a formula, a program, a regular expression, an automaton, a compiled formula, a hard-attention model, a
specification, or an external network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hardsim.errors import InputError, SourceError
from hardsim.examples import example_names, located
from hardsim.files import LARGEST_TEXT, is_directory, read_bytes, read_head, same_file
from hardsim.lang import ltl_parser
from hardsim.lang.corpus import line_of, read_corpus, read_line
from hardsim.lang.frontend import normalised
from hardsim.lang.spec.oracle import ExpectedColumn
from hardsim.lang.unread_files import (
    DECLARES,
    ENOUGH,
    is_automaton_table,
    naming,
    prefix_error,
    unread_format_error,
)
from hardsim.lang.valuations import (
    MENTIONED,
    Alphabet,
    Valuations,
)
from hardsim.network.dense import JudgedAt
from hardsim.network.reader import read_json
from hardsim.program.file import FORMAT as AHAT
from hardsim.reading.automata.opening import declares_alphabet, drawn_format, open_drawn, open_table, read_table_json
from hardsim.reading.tensors import (
    Stored,
    TakenSetting,
    is_network_folder,
    is_weights_name,
    read_folder,
    unread_folder,
)
from hardsim.reading.writing import json_text
from hardsim.targets.base import ModelOptions, digest
from hardsim.targets.exported import document_of, is_exported, require_exported
from hardsim.targets.file_columns import column_of
from hardsim.targets.inputs.automaton import of_automaton
from hardsim.targets.inputs.base import ACCEPTING, SELF_CONTAINED, Input
from hardsim.targets.inputs.formula import of_formula
from hardsim.targets.inputs.model import compiled_of_document, model_of_document
from hardsim.targets.inputs.regex import read_regex
from hardsim.targets.paths import CRASP, PROGRAM, REGEX, files_in
from hardsim.targets.semantics import Semantics
from hardsim.targets.specification import SPEC, read_specification
from hardsim.targets.stored import FORMAT
from hardsim.visible import visible_json

# Modules of what only some files are (networks, programs) are imported where such a file is read.
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
    labelled: bool = False,
) -> Input:
    """Read the file at a path, or the example that is shipped under this name if there is no such path: a formula
    file, a program, a regular expression, an automaton, a compiled formula, a hard-attention model, an external
    network, or a specification with its network (with `alone`: without it).

    `props` are the propositions of a formula or an expression that declares neither propositions nor an alphabet
    (MENTIONED: those that it mentions); `alphabet` is for these and for C-RASP programs. A formula is read in a
    `dialect` if one is given. An input that declares no alphabet, and is given none, uses the alphabet `beside`, that
    of another input. With `labelled`, labelled data gives the expected outputs of a network, so its specification
    states only how words are read, and its last line may be left to complete. Raises InputError if the file cannot be
    read, or is none of these; if there is no file, with the nearest name; SourceError if the formula or program is
    wrong, or an example is."""
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
        _require_no_options(path, folder, {"--alphabet": alphabet, "--props": props, "--dialect": dialect})
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
            return _read_spec(data, place, path, alone, labelled)
        form = drawn_format(place, data)
        if form is not None:
            found: Input = of_automaton(open_drawn(data, path, form, alphabet, props, beside), path, digest(data))
        elif beside is not None and not given and not (place.endswith(_DECLARING) or _declared(data)):
            found = _read_beside(data, place, path, beside, dialect)
        else:
            found = _read_data(data, place, path, props=props, alphabet=alphabet, dialect=dialect)
    own = Path(place).name
    if place == path or not os.path.lexists(own) or same_file(own, place):
        return found
    message = f"this is the shipped example; this directory has a file {own} of its own"
    return replace(found, remarked=(*found.remarked, message))


def _require_no_options(path: str, folder: bool, given: Mapping[str, object]) -> None:
    """Raise InputError if an option is given that is for languages: the input is a network's folder (`folder`) or its
    specification."""
    from hardsim.targets.inputs.network import NetworkInput

    for option, value in given.items():
        if value is not None and (folder or value != MENTIONED):
            what = NetworkInput.what if folder else "a specification of a network"
            message = f"{path} is {what}: {option} is for formulas, programs and expressions"
            raise InputError(message, f"Leave out {option}.")


def _read_spec(data: bytes, place: str, name: str, alone: bool, labelled: bool) -> Input:
    """Read a specification, with the network that it names unless `alone`; `labelled` as for `read_input`."""
    from hardsim.targets.inputs.network import NetworkInput, SpecificationInput, SpecifiedInput

    given = replace(read_specification(data, name, place), opened=_accepting)
    if alone:
        return SpecificationInput.of(given)
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
    if not isinstance(found, NetworkInput):
        raise given.wrong_network(f"{path} is {found.what}", NetworkInput.what)
    return SpecifiedInput.of(given, found, path, labelled)


def require_no_specification(path: str, command: str) -> None:
    """Raise InputError if a file is a specification, which a command about languages does not take. It is called before
    the network of the file is looked for: the error about a missing one advises another command."""
    if path.endswith(SPEC) and os.path.isfile(path):
        message = f"{path} is a specification of a network, and {command} takes none: {SELF_CONTAINED}"
        error = InputError(message, ACCEPTING[0])
        error.understood = True
        raise error


def _accepting(path: str, alphabet: Alphabet, at: JudgedAt) -> ExpectedColumn:
    """Return the truth of "a file accepts the word", over the symbols of a network that is judged `at` some positions.
    Raises InputError if the file says nothing about words, or has other symbols."""
    hint = "Name a formula (.ltl), an expression (.re), a program (.cr, .srasp) or an automaton."
    if is_directory(path) or path.endswith((SPEC, ".json")):
        raise InputError(f"{path} is no file that says which words are accepted", hint)
    found = read_input(path, beside=alphabet)
    semantics = found.reference()
    if not isinstance(semantics, Semantics):
        raise InputError(f"{path} is {found.what}, and does not say which words are accepted", hint)
    semantics.require_alphabet("the network", alphabet)
    return column_of(semantics.over(alphabet), at)


def declares(path: str) -> bool:
    """Return True if a file declares its own alphabet; formulas, expressions and C-RASP programs need not. Raise
    InputError if the file cannot be read. Mistakes in its text are not reported here."""
    if (line := line_of(path)) is not None:
        return _declared(read_corpus(read_bytes(line[0], LARGEST_TEXT), line[0]).head.encode())
    place = located(path)
    if is_network_folder(place) or is_weights_name(place):
        return True
    if place.endswith(_DECLARING):
        return True
    data = read_bytes(place, LARGEST_TEXT, others=example_names)
    form = drawn_format(place, data)
    return _declared(data) if form is None else declares_alphabet(form, data)


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
    if place.endswith((CRASP, PROGRAM)):
        from hardsim.targets.inputs.program import read_crasp, read_srasp

        return read_crasp(data, name, sha256, alphabet) if place.endswith(CRASP) else read_srasp(data, name, sha256)
    if place.endswith(REGEX):
        return read_regex(data, name, sha256, props, alphabet)
    if not place.endswith(".json"):
        return of_formula(ltl_parser.parse_text(data, name, alphabet, props, dialect), sha256)
    return of_document(data, name, sha256)


def _read_beside(data: bytes, place: str, name: str, alphabet: Alphabet, dialect: str | None) -> Input:
    """Read a file that declares no alphabet, over the alphabet of another input."""
    sha256 = digest(data)
    if place.endswith(CRASP):
        from hardsim.targets.inputs.program import read_crasp

        # A program names symbols one by one: sets that are declared by propositions are not listed for it.
        return read_crasp(data, name, sha256, None if isinstance(alphabet, Valuations) else alphabet)
    if place.endswith(REGEX):
        return read_regex(data, name, sha256, None, alphabet)
    return of_formula(ltl_parser.parse_text(data, name, alphabet=alphabet, dialect=dialect), sha256)


def of_stored(stored: Stored, name: str) -> Input:
    """Return the input for the stored tensors and settings of an external network. Raises InputError, naming the part
    that hardsim does not understand."""
    if is_exported(stored):
        return _of_exported(stored, name)
    from hardsim.reading.folder import described, network_of, readout_sources, settings_of
    from hardsim.targets.inputs.network import of_network

    network, form = network_of(stored)
    found = of_network(network, name, stored.sha256, form.title, stored, tuple(described(stored, network, form)))
    remarked = (*stored.notes, *stored.settings.remarks)
    settings, sources = settings_of(stored, form), readout_sources(stored, form)
    return replace(found, remarked=remarked, settings=settings, sources=sources)


def _of_exported(stored: Stored, name: str) -> Input:
    """Return the input for the exact network of an exported folder: a compiled formula, a model, or an external
    network."""
    # The tensors of the folder are rounded; its document has the exact network, and both must agree.
    text = visible_json(json_text(document_of(stored)))
    found = of_document(text.encode(), name, stored.sha256)
    require_exported(stored, found.target(ModelOptions()))
    return found


def of_document(data: bytes, name: str, sha256: str = "") -> Input:
    """Read JSON: a compiled formula, a hard-attention model, an automaton, or a hand-written network. `sha256` is the
    digest of the source of the text, by default of the text itself. Raises InputError if it is none of them, naming the
    place inside the document."""
    sha256 = sha256 or digest(data)
    if b'"transitions"' in data:
        table = read_table_json(data, name)  # the empty key reads nothing
        if is_automaton_table(table.value) and not table.has("format"):
            return of_automaton(open_table(table, data.decode("utf-8-sig")), name, sha256)
    from hardsim.reading.network_json import FORMAT as NETWORK
    from hardsim.verify.sections import FORMAT as CERTIFICATE

    document = read_json(data, name)
    formats = (FORMAT, AHAT, NETWORK)
    found = document.value.get("format") if isinstance(document.value, dict) else None
    if found == CERTIFICATE:
        raise InputError(f"{name}: this is a certificate, not a model", f"Check it: hardsim verify {name}")
    text = data.decode("utf-8-sig")
    # Without a "format" the file may be any JSON, so the message explains the formats instead of naming one place.
    if found not in formats and not document.has("schema_version"):
        message = f'{name}: the "format" of this JSON must be {", ".join(formats[:-1])} or {formats[-1]}'
        raise InputError(
            message, "See docs/networks.md: it describes these three formats, and how other networks are read."
        )
    kind = document.field("format").choice(dict(zip(formats, formats, strict=True)).__getitem__, ", ".join(formats))
    if kind == NETWORK:
        from hardsim.reading.folder import FORMAT_DEFAULT, READOUT
        from hardsim.reading.network_json import read_network_json
        from hardsim.targets.inputs.network import of_network

        network = read_network_json(document)
        found = of_network(network, name, sha256, "network JSON")
        sources = {key: THE_FILE for key in READOUT if document.has(key)}
        scaled = THE_FILE if document.has("embedding_scale") else FORMAT_DEFAULT
        scale = TakenSetting("embedding_scale", str(network.embedding_scale), scaled)
        return replace(found, text=text, document=text, settings=(scale,), sources=sources)
    return (model_of_document if kind == AHAT else compiled_of_document)(document, text, name, sha256)


def read_expression(
    text: str,
    alphabet: str | Sequence[str] | None,
    props: str | Sequence[str] | None = None,
    dialect: str | None = None,
    name: str = "<expression>",
) -> Input:
    """Read a formula given as text, with its alphabet or its propositions: a sequence, or one text separated by white
    space. The propositions may be MENTIONED, those that the formula mentions. If neither is given, its symbols are
    the alphabet. The formula is read in a `dialect` if one is given. Errors refer to it as `name`."""
    data = text.encode("utf-8", "surrogatepass")
    with naming(name, "", data):
        file = ltl_parser.parse_expression(text, alphabet, name, props, dialect)
    return of_formula(file, digest(data))
