"""Opening of inputs: recognise by content what a command was given, and compile it into a subject with model
options.

An input is a formula, a program, a regular expression, a compiled formula, a hard-attention model, a specification,
or an external network.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

from hardsim.campaign.engines import HardRunner
from hardsim.campaign.result import Answer, Opened, Word
from hardsim.compiling.from_ltl.lower import Method, lower
from hardsim.compiling.from_srasp.compile import compile_program
from hardsim.errors import Contradiction, HardsimError, InputError, InvariantError, SourceError, Unsupported
from hardsim.examples import example_names, located
from hardsim.files import LARGEST_TEXT, is_directory, names_in, read_bytes, read_head, same_file
from hardsim.lang import ast, ltl_parser
from hardsim.lang.ast import FUTURE_NOTE, FormulaFile
from hardsim.lang.batch_oracle import BatchOracle
from hardsim.lang.corpus import OTHERS, line_of, read_corpus, read_line
from hardsim.lang.crasp.crasp_parser import parse_crasp
from hardsim.lang.crasp.formula import as_formula
from hardsim.lang.crasp.oracle import CraspOracle
from hardsim.lang.desugar import desugar
from hardsim.lang.frontend import normalised
from hardsim.lang.pretty import format_file, format_formula
from hardsim.lang.regex.automaton import Automaton
from hardsim.lang.regex.regex_parser import parse_regex
from hardsim.lang.semantics import Oracle, check_examples
from hardsim.lang.srasp.batch_program import BatchProgram
from hardsim.lang.srasp.interpreter import ProgramOracle, check_program_examples
from hardsim.lang.srasp.srasp_parser import parse_program
from hardsim.lang.unread_files import DECLARES, ENOUGH, naming, prefix_error, unread_format_error
from hardsim.lang.valuations import (
    MENTIONED,
    Alphabet,
    Numbering,
    Valuations,
    alphabet_text,
    listed,
    same_spelling,
    same_symbols,
)
from hardsim.lang.vocabulary import brief
from hardsim.lang.words import written_word
from hardsim.network.dense import Network
from hardsim.network.reader import Reader
from hardsim.network.store import Users, read_transformer, transformer_json
from hardsim.network.transformer import LengthTable, Schedule, Transformer
from hardsim.program.assemble import assemble
from hardsim.program.file import FORMAT as AHAT
from hardsim.program.file import (
    AhatFile,
    Origin,
    ahat_json,
    named_predicates,
    program_json,
    read_ahat,
    read_json,
    read_program,
    read_sharpness,
)
from hardsim.program.hard_attention import Program
from hardsim.program.regimes import DEFAULT_REGIME, REGIMES, regime_named
from hardsim.program.sharpness import Budget, choose
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
    CONFIGS,
    WHOLE,
    Stored,
    TakenSetting,
    is_network_folder,
    is_weights_name,
    parts_of,
    read_folder,
    unread_folder,
)
from hardsim.reading.writing import json_text
from hardsim.targets.base import At, ModelOptions, digest
from hardsim.targets.exported import document_of, is_exported, require_exported
from hardsim.targets.external import External, judging
from hardsim.targets.formula import FormulaTarget
from hardsim.targets.labels import budget_of, relabelled
from hardsim.targets.program import ProgramTarget
from hardsim.targets.program_reference import ProgramReference
from hardsim.targets.python_reference import PythonReference
from hardsim.targets.reference_network import ReferenceNetwork
from hardsim.targets.specification import SPEC, Specification, named_files, read_specification
from hardsim.targets.subject import Subject, counting_of, own_predicates
from hardsim.targets.weights import WeightsTarget
from hardsim.verify.sections import FORMAT as CERTIFICATE
from hardsim.version import __version__
from hardsim.visible import visible_json

FORMAT = "hardsim-model"
SCHEMA_VERSION = 2
PROGRAM, CRASP, REGEX = ".srasp", ".cr", ".re"
SUFFIXES = (".ltl", PROGRAM, CRASP, ".ahat.json", ".model.json", SPEC)
"""The suffixes of the files that a directory stands for: everything that can be checked, so no regular expressions."""
OTHER = (
    "the network in this file differs from the one that its specification compiles to at its beta: verdicts are about "
    "the network; error bounds, declared gaps and purposes of heads are about the specification"
)

_DECLARING = (PROGRAM, ".json", SPEC)
"""The suffixes of files that always declare their own alphabet."""

_LOOKED_AT = 20
"""The largest number of files to inspect in a directory that has nothing to check."""

THE_FILE = "the file"
"""The source of a setting that network JSON states."""
CHANGED = (
    "The network differs from the one that hardsim compiles from this formula: correct the file's claims about its "
    "heads, or compile the formula again."
)


@dataclass(frozen=True)
class Input:
    """One input of a command, with the name and SHA-256 of its source.

    `formula` is set for formulas and compiled formulas. `made` is the subject that comes with the input (of a
    compiled formula or a model). `refusal` is the reason why the input cannot be compiled into a network; its
    semantics can be evaluated all the same.
    """

    name: str
    sha256: str
    alphabet: Alphabet
    kind: Opened
    text: str = ""
    title: str = ""
    remarked: tuple[str, ...] = ()
    """Remarks on the input."""
    warnings: tuple[str, ...] = ()
    """The places where the integers of a program can leave the range of its construction, found by static analysis."""
    formula: FormulaFile | None = None
    made: Subject | None = None
    refusal: Unsupported | None = None
    examples: tuple[Word, ...] = ()
    """The words of the examples of a program or a regular expression."""
    oracle: Callable[[Word], Answer] | None = None
    """The semantics of a program or a regular expression."""
    against: GivenReference | None = None
    """The reference that the input is checked against instead of its own semantics."""
    document: str = ""
    """The JSON that a compiled formula or a model was read from."""
    external: External | None = None
    """An external network; it has nothing that is compiled."""
    stored: Stored | None = None
    """The stored tensors and settings of an external network that was read from a folder."""
    described: tuple[tuple[str, str], ...] = ()
    """The report of what was read of an external network, as labels and texts."""
    settings: tuple[TakenSetting, ...] = ()
    """The settings that decide what a network computes and how it reads words, with the source of each."""
    specification: Specification | None = None
    """The specification that names the network, if the input is a `.spec` file; `external` is then the network with
    the specification's readout.
    """
    bare: External | None = None
    """The network as it is stored, where a specification changes its readout."""

    @property
    def regimes(self) -> bool:
        """True if the input is compiled for the regime that the user asks for."""
        return self.formula is not None and self.made is None

    @property
    def file(self) -> FormulaFile:
        """The formula of the input.

        Raises:
            InputError: if the input is no formula.
        """
        if self.formula is None:
            hint = "Name a formula (.ltl) or a compiled formula."
            raise self.refusal or InputError(f"{self.name} is {KINDS[self.kind]}", hint)
        return self.formula

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the input, including one on a network that differs from what its specification compiles to."""
        return self.remarked if self.made is None or self.made.specified else (*self.remarked, OTHER)

    def remarks(self, at: str | None) -> tuple[str, ...]:
        """Return the remarks that apply where a formula is read at `at` (None: at the file's own position)."""
        if at is None or not self.regimes:
            return self.notes
        others = tuple(note for note in self.notes if note != FUTURE_NOTE)
        if not self.file.examples or examples_apply(self.file, at):
            return others
        return (
            *others,
            f"its accept: and reject: words were written for at: {self.file.at}, so with --at {at} they are not judged",
        )

    def network(self, options: ModelOptions) -> External:
        """Return the external network with its reference.

        Raises:
            InputError: if an option is for what is compiled, or the reference cannot give the expected outputs.
        """
        if self.external is None:
            raise InvariantError(f"{self.name} is {KINDS[self.kind]}")
        if self.specification is not None and self.bare is not None:
            if self.against is not None:
                message = f"{self.name} already specifies what its network should compute"
                raise InputError(message, "Leave out --against, or name the network in place of the specification.")
            return self.external if options.at is None else self.read_as(at=options.at).network(ModelOptions())
        found = self.external if options.at is None else _read_at(self.external, options.at)
        return found if self.against is None else self.against.deciding(found)

    def read_as(self, **how: Any) -> Input:
        """Return this input with its network read in another way than the specification states: `how` are names of
        tokens, the alphabet, input, at and decide.

        Raises:
            InputError: if what the specification says of the outputs does not fit that.
        """
        assert self.specification is not None
        assert self.bare is not None
        changed = replace(self.specification, given={**self.specification.given, **how})
        external = changed.deciding(self.bare)
        return replace(self, specification=changed, external=external, alphabet=external.alphabet)

    def compile(self, options: ModelOptions) -> Subject:
        """Return the subject to check: compiled with these options, or the stored network.

        Raises:
            SourceError: see `compile_formula`.
            Unsupported: if a program has a score for which there is no construction.
            InputError: if an option contradicts a stored network, which was compiled with its own; if the input is an
                external network.
        """
        if self.external is not None:
            message = f"this command needs hard attention, and {self.name} is {KINDS[self.kind]}, which has none"
            raise InputError(
                message, "Commands for external networks: show, eval, check --against, prove --against and heads."
            )
        subject = self._compiled(options)
        return subject if self.against is None else self.against.judging(subject)

    def _compiled(self, options: ModelOptions) -> Subject:
        if self.refusal is not None and self.formula is None:
            raise self.refusal
        if self.made is None:
            return compile_formula(self.file, options, self.sha256, self.name)
        if self.formula is None:
            return _sharpened(self.made, options)
        _require_options(self.made, options)
        return self.made

    def meaning(self, at: str | None) -> Callable[[Word], Answer] | None:
        """Return the semantics, for a formula read at `at` (by default at the file's own position). Return None
        for a model.
        """
        if self.formula is None:
            return self.oracle
        return Accepts(self.formula if at is None else replace(self.formula, at=cast(Any, at)))

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Turn a false claim about a stored network into an InputError, since its file is at fault. A claim that
        hardsim derived from its formula stays an internal error; no file contradicts a proof.
        """
        try:
            yield
        except InvariantError as error:
            if self.made is None or self.made.own or isinstance(error, Contradiction):
                raise
            message = f"{self.name}: the specification in this model does not hold: {error}"
            raise InputError(message, CHANGED) from error


METHODS: dict[str, Method] = {"lookup": "lookup", "sign": "sign"}
KINDS: dict[Opened, str] = {
    "ltl": "a formula",
    "srasp": "an S-RASP program",
    "ahat": "a hard-attention model",
    "re": "a regular expression",
    "network": "an external network",
}


def _read_at(external: External, at: At) -> External:
    network = external.network
    return replace(external, network=replace(network, readout=replace(network.readout, at=at)))


def _sharpened(made: Subject, options: ModelOptions) -> Subject:
    """Return a program or model with another temperature, or with another beta where it has one.

    Raises:
        InputError: if both a beta and Theorem 26's temperature for an error are asked for.
    """
    old = made.sharpness
    if old is not None and options.epsilon is not None and options.beta is not None:
        message = f"{made.name}: --epsilon selects Theorem 26's temperature, and --beta belongs to a regime's"
        raise InputError(message, "Give one of --epsilon and --beta.")
    if old is None or options.epsilon is not None:
        schedule: Schedule | None = options.tau or made.schedule
        given = tuple(name for name in options.sharpening if name != "beta")  # a beta is only of a regime
        return replace(made, sharpness=None, stored=None, schedule=schedule, epsilon=options.epsilon, given=given)
    beta, tau = options.beta or old.beta, options.tau or old.temperature
    budget = Budget(beta, tau, options.beta is not None or old.fixed)
    return replace(made, sharpness=budget, stored=assemble(made.program, budget), given=options.sharpening)


def _require_options(stored: Subject, options: ModelOptions) -> None:
    facts = stored.facts
    expected = {
        "--regime": (options.regime, (None, facts.regime)),
        "--beta": (options.beta, (None, facts.beta)),
        "--tau": (options.tau, (None, stored.model.temperature)),
        "--at": (options.at, (None, facts.at)),
        "--single-head": (options.single_head, (False, facts.single_head)),
        "--counting": (options.counting, (None, facts.counting)),
    }
    for option, (value, allowed) in expected.items():
        if value not in allowed:
            given = option if value is True else f"{option} {value}"
            regime = f"regime {facts.regime}" if facts.regime else "no regime of hardsim"
            raise InputError(
                f"{stored.name} is already compiled ({regime}, beta {stored.budget.beta}, temperature "
                f"{facts.temperature}, at {facts.at}), so {given} does not apply",
                hint=f"Leave out {option}, or give the formula instead of the model.",
            )


# ---- reading ----


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
    if is_directory(place) and not _files_in(place) and (unread := unread_folder(place)) is not None:
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


GivenReference: TypeAlias = "Semantics | Specification | ReferenceNetwork | ProgramReference | PythonReference"
"""The references that give the expected answers."""


def read_with(path: str) -> list[str]:
    """Return all files that reading a path involves: the file itself, the files that a specification names, and the
    files of a network.
    """
    line = line_of(path)
    place = located(path) if line is None else line[0]
    found = [place, *(named_files(place) if place.endswith(SPEC) else [])]
    networks = [one for one in found if is_directory(one) or is_weights_name(one)]
    with suppress(InputError):
        return found + [part for one in networks for part in parts_of(one)]
    return found


def reference_of_input(given: Input, at: At | None = None) -> GivenReference:
    """Return the reference that an input is for other targets: a specification, the semantics of a formula (read at
    `at`, or at the file's own position), a program or an expression, or the outputs of a network.

    Raises:
        InputError: if the input cannot give expected answers.
        SourceError: if an example of a formula is wrong.
    """
    if given.specification is None and given.external is not None:
        return ReferenceNetwork(given.name, given.sha256, given.external)
    if isinstance(given.oracle, Runs) and (given.oracle.program.assume or not given.oracle.program.is_acceptor):
        return ProgramReference(given.name, given.sha256, given.oracle.program)
    return given.specification or Semantics.of(given, at)


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
        made, remarks = _of_ahat(read_ahat(document), name, sha256)
        return Input(name, sha256, made.alphabet, "ahat", text, made.title, remarks, made=made, document=text)
    stored, remarks = _read_model(document, name, sha256)
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


def _corpora(path: str) -> list[str]:
    """Return the files with a formula on each line that a path stands for: the path itself, or the *.ltl and *.txt
    files of a directory, sorted by name.
    """
    if not is_directory(path) or is_network_folder(path):
        return [path]
    found = sorted(str(Path(path, name)) for name in names_in(path) if name.endswith((".ltl", ".txt")))
    if not found:
        raise InputError(f"{path} has no *.ltl or *.txt file", "--lines reads files with a formula on each line.")
    return found


def _numbers(path: str) -> list[int]:
    """Return the line numbers of the formulas in a file with a formula on each line."""
    if line_of(path) is not None:
        raise InputError(f"{path} is one line already", "Leave out --lines, or name the file.")
    if path.endswith(OTHERS) or is_directory(path):
        message = f"{path} is no file of formulas, and --lines reads a formula on each line"
        raise InputError(message, "Leave out --lines, or name the file alone.")
    place = located(path)
    data = read_bytes(place, LARGEST_TEXT, others=example_names)
    if known := unread_format_error(path, place, data, sure=True):
        raise known
    corpus = read_corpus(data, path)
    if place != path:
        raise InputError(f"--lines reads files, and {path} is shipped", f"`hardsim examples {path}` prints it.")
    return [*corpus.formulas]


def expand_paths(paths: Sequence[str], lines: bool = False) -> list[str]:
    """Return the files that these paths stand for: a directory stands for its formulas, programs and models, sorted by
    name. With `lines`, a file stands for its formulas, one on each line, and a directory for such files.

    Raises:
        InputError: if a directory has none, or cannot be read; if a file has no formula on a line.
    """
    if lines:
        return [f"{path}:{number}" for one in paths for path in _corpora(one) for number in _numbers(path)]
    result: list[str] = []
    for path in paths:
        if not is_directory(path) or is_network_folder(path):
            result.append(path)
            continue
        names, found = names_in(path), _files_in(path)
        if not found and (unread := unread_folder(path)) is not None:
            raise unread
        if not found:
            half = any(name in CONFIGS or is_weights_name(name) for name in names)
            lacking = f"no weights ({WHOLE}, say)" if any(name in CONFIGS for name in names) else f"no {CONFIGS[0]}"
            network = f"This may be a network that is not complete: it has {lacking}. See docs/networks.md."
            raise InputError(
                f"{path} has no *{', *'.join(SUFFIXES[:-1])} or *{SUFFIXES[-1]} file",
                network if half else _unread_file_among(path, names) or "Name the files one by one.",
            )
        result.extend(found)
    return result


def _files_in(folder: str) -> list[str]:
    """Return the paths of the files that a directory stands for, without its subfolders: those that end in one of
    SUFFIXES, sorted by name.
    """
    return sorted(str(Path(folder, name)) for name in names_in(folder) if name.endswith(SUFFIXES))


def _unread_file_among(folder: str, names: Iterable[str]) -> str:
    """Return a message on the first file of a folder in a format of another tool, with a hint; "" if there is none."""
    for name in sorted(names)[:_LOOKED_AT]:
        place = str(Path(folder, name))
        if found := unread_format_error(name, place, read_head(place, ENOUGH)):
            return f"{found.message}. {found.hint}"
    return ""


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


# ---- semantics, without a network ----


@dataclass(frozen=True)
class Members:
    """The language of an automaton as a semantics: True for the words that it accepts."""

    automaton: Automaton

    def __call__(self, word: Word) -> bool:
        return self.automaton.accepts(word)

    def many(self, words: Sequence[Word]) -> list[Answer]:
        """Return the answers for words of one length."""
        return [self.automaton.accepts(word) for word in words]


@dataclass(frozen=True)
class Respelled:
    """A semantics for words whose sets of propositions may be spelled in another order than in its own alphabet."""

    oracle: Accepts | Runs
    alphabet: Alphabet
    """The alphabet of the semantics itself."""

    @cached_property
    def _own(self) -> Callable[[str], str]:
        return Numbering(self.alphabet).own

    def __call__(self, word: Word) -> Answer:
        return self.oracle(tuple(map(self._own, word)))

    def many(self, words: Sequence[Word]) -> list[Answer]:
        """Return the answers for words of one length."""
        return self.oracle.many([tuple(map(self._own, word)) for word in words])

    def __reduce__(self) -> tuple[type[Respelled], tuple[Accepts | Runs, Alphabet]]:
        # The cached numbering is left out when this is sent to a worker process.
        return Respelled, (self.oracle, self.alphabet)


@dataclass(frozen=True)
class Semantics:
    """The semantics of a file that accepts words, and the words of its examples."""

    name: str
    sha256: str
    kind: Opened
    alphabet: Alphabet
    oracle: Accepts | Runs | Members | Respelled
    examples: tuple[Word, ...] = ()

    @classmethod
    def of(cls, given: Input, at: At | None = None) -> Semantics:
        """Return the semantics of an input, of a formula read at `at` (None: at the file's own position).

        Raises:
            InputError: if the input has no semantics of its own (a model, a compiled formula), or does not accept
                words.
            SourceError: if an example of a formula is wrong; the examples of other files are checked when they are
                read.
        """
        oracle, examples = given.oracle, given.examples
        if given.regimes:
            if examples_apply(given.file, at):
                check_examples(given.file, at=at)
            file = given.file if at is None else replace(given.file, at=at)
            oracle, examples = Accepts(file), tuple(example.word for example in file.examples)
        if not isinstance(oracle, Accepts | Runs | Members):
            what = "compiled already" if given.formula is not None else KINDS[given.kind]
            message = f"{given.name} is {what}, and a file that says which words are accepted is needed here"
            hint = (
                "Name a formula (.ltl), a program (.srasp, .cr), a regular expression (.re) or a specification (.spec)."
            )
            raise InputError(message, hint)
        if isinstance(oracle, Runs) and not oracle.program.is_acceptor:
            made = "words" if given.made is None or not given.made.program.integers else "integers"
            message = f"{given.name} maps words to {made}, so it does not say which words are accepted"
            hint = "Name a formula (.ltl), a program that accepts (.srasp, .cr) or a regular expression (.re)."
            raise InputError(message, hint)
        return cls(given.name, given.sha256, given.kind, given.alphabet, oracle, examples)

    def over(self, alphabet: Alphabet) -> Semantics:
        """Return this semantics for words written in another alphabet with the same symbols."""
        if same_spelling(alphabet, self.alphabet):
            return self
        oracle = self.oracle
        if isinstance(oracle, Members):
            oracle = Members(oracle.automaton.over(alphabet))
        elif not isinstance(oracle, Respelled):
            oracle = Respelled(oracle, self.alphabet)
        own = Numbering(alphabet).own
        examples = tuple(tuple(map(own, word)) for word in self.examples)
        return replace(self, alphabet=alphabet, oracle=oracle, examples=examples)

    def require_alphabet(self, name: str, alphabet: Alphabet) -> None:
        """Raise an InputError that shows both alphabets unless words have the same symbols here as in `name`, in
        any order.
        """
        if not same_symbols(alphabet, self.alphabet):
            message = f"{name} and {self.name} have different alphabets: {_shown(alphabet)}; {_shown(self.alphabet)}"
            raise InputError(message, "Give both the same symbols; their order does not matter.")

    def judging(self, subject: Subject) -> Subject:
        """Return a subject with this semantics as its oracle.

        Raises:
            InputError: if the subject maps words to words, or its alphabet is another one.
        """
        if not subject.acceptor:
            made = "integers" if subject.program.integers else "words"
            message = f"{subject.name} maps words to {made}, and {self.name} says which words are accepted"
            raise InputError(message, "Name what accepts words, or leave out --against.")
        self.require_alphabet(subject.name, subject.alphabet)
        semantics = self.over(subject.alphabet)
        examples = (*subject.examples, *((word, None) for word in semantics.examples))
        return replace(subject, oracle=semantics.oracle, against=self.name, examples=examples, pins=True)

    def deciding(self, external: External) -> External:
        """Return an external network with this semantics as its reference: its single output should be above its
        level where the semantics accepts.

        Raises:
            InputError: if the network has several outputs, or no token for a symbol.
        """
        network = external.network
        readout = network.readout
        if len(network.outputs) != 1 or readout.decide != "above":
            if isinstance(self.oracle, Runs):
                return ProgramReference(self.name, self.sha256, self.oracle.program).deciding(external)
            what = "gives one number" if len(network.outputs) == 1 else f"has {len(network.outputs)} outputs"
            message = f"{external.name} {what}, and {self.name} says only which words are accepted"
            hint = (
                "State which output decides (`output NAME:`) and how (`decide:`, `at:`) in a .spec file, or in Python "
            )
            hint += "hardsim.load(DIR, decide=..., at=...).check(against=FUNCTION)."
            raise InputError(message, hint)
        symbols = list(listed_symbols(self.alphabet))
        unknown = [symbol for symbol in symbols if symbol not in network.ids]
        if unknown:
            message = f"{external.name} has no token {unknown[0]}, which is a symbol of {self.name}"
            hint = f"Its tokens are: {' '.join(list(network.ids)[:20])}"
            raise InputError(message, hint)
        # One answer is expected for each word, so a network read at each position is read at the last.
        at: At = "first" if readout.at == "first" else "last"
        read = replace(readout, at=at, alphabet=tuple(symbols))
        made = replace(external, network=replace(network, readout=read), alphabet=self.alphabet)
        longest = network.longest
        examples = tuple((word, None) for word in self.examples if longest is None or len(word) <= longest)
        return replace(judging(made, self.oracle, self.name, accepts=True), examples=examples, pins=True)


def listed_symbols(alphabet: Alphabet) -> Sequence[str]:
    """Return all symbols of an alphabet.

    Raises:
        InputError: if they are sets of propositions, which no token of a network is.
    """
    if isinstance(alphabet, Valuations):
        message = "words are over sets of propositions here, and the tokens of a network are symbols"
        raise InputError(message, "Give a file with an alphabet: of symbols.")
    return alphabet


def _shown(alphabet: Alphabet) -> str:
    """Return an alphabet as text, for messages that compare two alphabets."""
    more = f" ({len(alphabet):,} symbols)" if not isinstance(alphabet, Valuations) and len(alphabet) > 20 else ""
    return alphabet_text(alphabet, 20) + more


# ---- subjects ----


def compile_formula(
    file: FormulaFile, options: ModelOptions, sha256: str | None = None, name: str | None = None
) -> FormulaTarget:
    """Compile a formula, after checking its accept and reject examples against the semantics, unless they were
    written for another position than the one that is asked for.

    Raises:
        SourceError: if an example is wrong, or the formula has no construction in the regime (Unsupported).
        InputError: if an option does not apply.
    """
    if examples_apply(file, options.at):
        check_examples(file, at=options.at)
    if options.at is not None:
        file = replace(file, at=options.at)
    regime, own = regime_named(options.regime or DEFAULT_REGIME), own_predicates(file)
    program = lower(desugar(file), regime, options.single_head, options.counting, own)
    budget = choose(program, options.beta, options.tau)
    sha256 = sha256 or digest(file.source.text.encode())
    network = assemble(program, budget)
    subject = _of_formula(file, name or file.source.name, sha256, program, budget, network, options.single_head)
    return replace(subject, pins=True, given=options.sharpening)


def _of_formula(
    file: FormulaFile, name: str, sha256: str, program: Program, budget: Budget, network: Transformer, single: bool
) -> FormulaTarget:
    return FormulaTarget(
        name=name,
        sha256=sha256,
        program=program,
        alphabet=file.alphabet,
        examples=tuple((example.word, example.accept) for example in file.examples),
        title=format_formula(file.formula),
        oracle=Accepts(file),
        predicates=named_predicates(program, file),
        sharpness=budget,
        stored=network,
        formula=file,
        single_head=single,
        counting=counting_of(program),
    )


@dataclass(frozen=True)
class Accepts:
    """The semantics of a formula: True for the words that satisfy it. It is pickled as the formula, without what
    was computed.
    """

    file: FormulaFile

    @cached_property
    def _oracle(self) -> Oracle:
        return self.file.oracle or Oracle(self.file)

    def __call__(self, word: Word) -> bool:
        return self._oracle.accepts(word, self.file.at)

    @cached_property
    def _parallel(self) -> BatchOracle:
        return BatchOracle(self.file)

    def many(self, words: Sequence[Word]) -> list[Answer]:
        """Return the answers for words of one length."""
        if self.file.oracle is not None:
            return list(map(self, words))
        return list(self._parallel.accepts(self._parallel.symbols(words)).tolist())

    def __reduce__(self) -> tuple[type[Accepts], tuple[FormulaFile]]:
        return Accepts, (self.file,)


@contextmanager
def about_alphabet(file: FormulaFile | None) -> Iterator[None]:
    """Explain in the hint of an error where the alphabet comes from, if a word uses a symbol outside it: a formula may
    have supplied the symbols or names.

    Raises:
        InputError: the one that was raised inside, with this explanation in its hint.
    """
    try:
        yield
    except InputError as error:
        option, value = (file and file.supplied) or ("", "")
        hints = {
            ("alphabet", ""): "the alphabet was taken from the formula: --alphabet gives all symbols",
            ("props", MENTIONED): "the propositions are those of the formula: --props gives all of them",
        }
        if error.outside:
            error.hint = "; ".join(filter(None, (hints.get((option, value)), error.hint)))
        raise


def examples_apply(file: FormulaFile, at: str | None) -> bool:
    """Return True if a file's examples apply at the position `at` (None: the file's own). A file that names no
    position leaves it to the user, unless its examples are right at the default position and not at `at`.
    """

    def require(read_at: At) -> bool:
        try:
            check_examples(file, at=read_at)
        except SourceError:
            return False
        return True

    if at is None or at == file.at:
        return True
    return not file.placed and (require("first" if file.at == "last" else "last") or not require(file.at))


@dataclass(frozen=True)
class Runs:
    """The semantics of an S-RASP program: its answer for a word. It is pickled as the program, without what was
    computed.
    """

    program: ast.SraspProgram

    @cached_property
    def _oracle(self) -> ProgramOracle:
        return ProgramOracle(self.program)

    @cached_property
    def _parallel(self) -> BatchProgram:
        return BatchProgram(self.program)

    def __call__(self, word: Word) -> Answer:
        return self._oracle.accepts(word) if self.program.is_acceptor else self._oracle.output(word)

    def many(self, words: Sequence[Word]) -> list[Answer]:
        """Return the answers for words of one length."""
        found = self._parallel.accepts(words) if self.program.is_acceptor else self._parallel.outputs(words)
        return list(found)

    def __reduce__(self) -> tuple[type[Runs], tuple[ast.SraspProgram]]:
        return Runs, (self.program,)


def compile_srasp(program: ast.SraspProgram, name: str, sha256: str) -> tuple[ProgramTarget, tuple[str, ...]]:
    """Compile an S-RASP program into hard attention. Return the subject, and warnings where its integers may leave
    the range of the construction.

    Raises:
        Unsupported: if a score has no construction.
    """
    compiled = compile_program(program)
    subject = ProgramTarget(
        name=name,
        sha256=sha256,
        program=compiled.model,
        alphabet=program.alphabet,
        examples=tuple((example.word, None) for example in program.examples),
        pins=True,
        title=program.title,
        oracle=Runs(program),
        blank=None if program.pad is None else ast.BLANK,
        compiled=compiled,
    )
    return subject, compiled.limits()


def _of_ahat(file: AhatFile, name: str, sha256: str) -> tuple[WeightsTarget, tuple[str, ...]]:
    """Return the subject of a hard-attention model whose examples have been checked, with remarks on its labels.

    Raises:
        InputError: if the model does not decide an example as the file says.
    """
    budget, origin = file.sharpness, file.compiled
    formula = None if origin is None else _origin(origin)
    single = origin is not None and origin.single_head
    counting = None if origin is None or origin.counting is None else METHODS[origin.counting]
    tau = None if budget is None else budget.temperature
    labels = relabelled(file.program, tau, formula, single, counting)
    program = labels.program
    subject = WeightsTarget(
        name=name,
        sha256=sha256,
        program=program,
        alphabet=_unpadded(program.alphabet, file.blank),
        examples=file.examples,
        title=file.title,
        blank=file.blank,
        predicates=file.predicates,
        sharpness=budget,
        stored=None if budget is None else assemble(program, budget),
        schedule=file.temperature,
        softmax=file.temperature is not None,
        counting=counting_of(program),
        single_head=single and all(len(layer.heads) <= 1 for layer in program.layers),
        structural=labels.compiled,
        confirmed=labels.compiled,
        origin=formula if labels.compiled else None,
    )
    # Without the outputs of a transduction, the model answers by its single output, as its examples expect.
    runner = HardRunner(replace(subject, program=replace(program, outputs=())))
    for word, accepted in file.examples:
        answer = runner.answer(word)
        if answer is not accepted:
            shown = brief(written_word(word, program.alphabet))
            found, level = "accepts" if answer else "rejects", program.threshold
            if answer is None:
                where = "neither 0 nor 1" if level is None else f"the threshold itself, {level}"
                found, shown = "does not decide", f"{shown} (the output is {where})"
            raise InputError(
                f"{name}: at examples: the model {found} {shown}, which is listed as "
                f"{'accepted' if accepted else 'rejected'}",
                hint="Correct the model, or the example.",
            )
    return subject, labels.remarks


def _unpadded(alphabet: Alphabet, blank: str | None) -> Alphabet:
    """Return the symbols that words are made of: all except the blank, which only pads words."""
    if blank is None or isinstance(alphabet, Valuations):
        return alphabet
    return tuple(symbol for symbol in alphabet if symbol != blank)


def _origin(origin: Origin) -> FormulaFile | None:
    """Return the formula that a model's file names as its source; None if it is no formula."""
    try:
        return ltl_parser.parse_text(origin.text, "compiled.text")
    except HardsimError:
        return None


# ---- compiled formulas as files ----


def store_text(subject: Subject) -> str:
    """Return the `model.json` of a formula: the network, the specification of its heads, the formula, and how it was
    compiled.
    """
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
    return _document(document)


def _document(content: dict[str, Any]) -> str:
    return visible_json(json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def store_program(subject: Subject, schedule: Schedule | None = None, program: Program | None = None) -> str:
    """Return the `.ahat.json` of a subject: hard attention, with the sharpness of its regime if it has one, or as the
    softmax model at a temperature.

    Raises:
        InputError: if a formula's network is another one than the specification compiles to.
    """
    subject.require_specified("the hard-attention model")
    formula, compiled = subject.formula, None
    if formula is not None and schedule is None:
        compiled = Origin(format_file(formula), subject.single_head, subject.counting)
    file = AhatFile(
        program=program or subject.program,
        title=subject.title if formula is None else f"{subject.title} (compiled for regime {subject.regime})",
        predicates=subject.predicates,
        examples=subject.examples if subject.kind == "ahat" or (formula and formula.at == "last") else (),
        temperature=schedule,
        sharpness=subject.sharpness if schedule is None else None,
        compiled=compiled,
        blank=subject.blank,
    )
    return _document({"version": __version__} | ahat_json(file))


def _read_model(document: Reader, path: str, sha256: str) -> tuple[FormulaTarget, tuple[str, ...]]:
    """Return the subject of a `model.json`, with remarks on its labels. Its formula is compiled again only to check
    them.

    Raises:
        InputError: naming the place inside the document.
    """
    document.only("format", "schema_version", "version", "source", "options", "model", "specification")
    version = document.field("schema_version").integer(1, SCHEMA_VERSION)
    source, options = document.field("source"), document.field("options")
    source.only("name", "sha256", "text")
    for place, key in ((document, "version"), (source, "name"), (source, "sha256")):
        if place.has(key):
            place.field(key).text()
    file = ltl_parser.parse_text(source.field("text").text(), f"{path} (source)")
    users = own_predicates(file)
    model = _read_network(document.field("model"), users)
    specification = document.field("specification")
    program = read_program(specification, users)
    if specification.has("regime"):
        specification.field("regime").choice(REGIMES.__getitem__, ", ".join(REGIMES))
    for place, alphabet in ((document.field("model"), model.alphabet), (specification, program.alphabet)):
        if alphabet != file.alphabet:
            raise place.field("alphabet").error(f"the alphabet of the formula, {listed(file.alphabet)}")
    missing = set(program.coordinates) - set(model.coordinates)
    if missing:
        raise document.field("model").field("coordinates").error(f"those of the specification too ({min(missing)})")
    # These belong to hand-written models; the constructions for formulas never make them.
    if program.bos or program.threshold is not None or program.outputs or program.reading != "last":
        raise specification.error("the hard attention of a formula, read where its output is 0 or 1")
    _check_heads(document, [[head.name for head in layer.heads] for layer in model.layers])
    single, budget = _read_options(options, file, model, program)
    counting = counting_of(program)
    method = None if counting is None else METHODS[counting]
    labels = relabelled(program, budget.temperature, file, single, method, older=version < SCHEMA_VERSION)
    budget, message = budget_of(labels.program, model, budget)
    made = _of_formula(file, path, sha256, labels.program, budget, model, single)
    return replace(made, confirmed=labels.compiled and made.specified), (*labels.remarks, *message)


def _read_network(data: Reader, users: Users) -> Transformer:
    """Read the network of a formula. Refuse the features that only other models have."""
    data.only("alphabet", "bos", "coordinates", "embedding", "encodings", "layers", "output", "weighting",
              "temperature", "threshold", "reading")  # fmt: skip
    model = read_transformer(data, users)
    data.field("temperature")  # it is 1 by default only where nothing is divided by it
    if data.has("reading") and model.reading != "last":
        raise data.field("reading").error("last, where the network of a formula is read")
    if model.threshold is not None:
        raise data.field("threshold").error("none: the network of a formula outputs exactly 0 or 1")
    if isinstance(model.temperature, LengthTable):
        raise data.field("temperature").error("an expression: the network of a formula has no table of temperatures")
    softmax = {"softmax": "softmax"}.__getitem__
    for layer in data.field("layers").items():
        for head in layer.field("heads").items():
            head.only("name", "mask", "weighting", "w_q", "w_k", "w_v")
            if head.has("weighting") or not data.has("weighting"):
                head.field("weighting").choice(softmax, "softmax")
    if data.has("weighting"):
        data.field("weighting").choice(softmax, "softmax")
    if model.bos:
        raise data.error("the softmax network of a formula, without a beginning of sequence")
    return model


def _read_options(options: Reader, file: FormulaFile, model: Transformer, program: Program) -> tuple[bool, Budget]:
    """Return True if the network was compiled to have at most one head in each layer, and the sharpness. The
    options must agree with the formula and the network.
    """
    options.only("at", "beta", "beta_for_all", "single_head", "counting")
    if options.field("at").choice({"first": "first", "last": "last"}.__getitem__, "first, last") != file.at:
        raise options.field("at").error(f"{file.at}, where the formula of the source is read")
    single = options.field("single_head").boolean()
    if single and any(len(layer.heads) > 1 for layer in model.layers):
        raise options.field("single_head").error("false, since a layer has several heads")
    given = {key: options.field(key).value for key in ("beta", "beta_for_all")}
    given["temperature"] = str(model.temperature)
    budget = read_sharpness(Reader(given, options.name, options.path))
    counts = counting_of(program)
    if (options.field("counting").text() if options.has("counting") else None) != counts:
        raise options.field("counting").error(f"{counts or 'null'}, as the heads of the specification count")
    return single, budget


def _check_heads(document: Reader, found: list[list[str]]) -> None:
    """Raise InputError unless the specification lists the heads of the network, layer by layer."""
    layers = document.field("specification").field("layers")
    for index, layer in enumerate(layers.items(len(found))):
        heads = layer.field("heads")
        if [head.field("name").text() for head in heads.items()] != found[index]:
            raise heads.error(f"the heads of the network's layer, {', '.join(found[index]) or 'none'}")
