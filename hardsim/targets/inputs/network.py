"""External networks, alone or with the specification that names them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, NoReturn

from hardsim.errors import InputError
from hardsim.lang.spec.layout import LANGUAGE
from hardsim.lang.spec.meaning import END
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.reading.folder import names_tokens, readout_settings
from hardsim.reading.network_json import network_json
from hardsim.reading.readout import reread
from hardsim.reading.tensors import Stored, TakenSetting
from hardsim.targets.base import At, ModelOptions, digest
from hardsim.targets.data import ENDS, LabelledData
from hardsim.targets.external import External
from hardsim.targets.inputs.base import Input
from hardsim.targets.reference import Reference
from hardsim.targets.reference_network import ReferenceNetwork
from hardsim.targets.result import ModelFacts
from hardsim.targets.semantics import require_accepting
from hardsim.targets.specification import Specification
from hardsim.writing.specification import FolderMarks, SpecificationDraft, draft_of, marks_of


@dataclass(frozen=True, kw_only=True)
class NetworkInput(Input):
    """An external network."""

    kind = "network"
    noun = "external network"
    what = f"an {noun}"
    is_network = True

    external: External
    bare: External
    """The network as it is stored, before anything states how it is read."""
    stored: Stored | None = None
    """The stored tensors and settings of a network that was read from a folder."""
    described: tuple[tuple[str, str], ...] = ()
    """The report of what was read of the network, as labels and texts."""
    settings: tuple[TakenSetting, ...] = ()
    """The settings that decide what a network computes, with the source of each."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The source of each setting that is stated of how words are read."""
    document: str = ""
    """The JSON that the network was read from."""

    @property
    def facts(self) -> ModelFacts:
        """The size of the network."""
        return self.external.facts

    def _compiled(self, options: ModelOptions) -> NoReturn:
        message = f"this command needs hard attention, and {self.name} is {self.what}, which has none"
        hint = "Commands for external networks: show, eval, trace, heads, new, check, prove, export and precision."
        raise InputError(message, hint)

    def target(self, options: ModelOptions) -> External:
        """Return the network, as `network` does."""
        return self.network(options)

    def network(self, options: ModelOptions) -> External:
        """Return the network with its reference. Raises InputError if the reference cannot give expected outputs."""
        found = self.external
        if options.at is not None:
            found = replace(found, network=reread(found.network, at=options.at))
        return found if self.against is None else self.against.deciding(found)

    def reference(self, at: At | None = None) -> Reference:
        """Return the outputs of the network as a reference."""
        return ReferenceNetwork(self.name, self.sha256, self.external)

    def read_as(self, **how: Any) -> NetworkInput:
        """Return the network read in another way."""
        keys = ("tokens", "alphabet", "input", "at", "decide")
        network = reread(self.external.network, *map(how.get, keys))
        found = of_network(network, self.name, self.sha256, self.title, self.stored, self.described)
        return replace(found, text=self.text, bare=self.bare)

    def how_read(
        self, external: External, at: str | None
    ) -> tuple[tuple[tuple[str, str], ...], tuple[TakenSetting, ...]]:
        """Return what was read of the network, and its settings."""
        sources = self.sources if at is None else {**self.sources, "at": "--at"}
        return self.described, (*self.settings, *readout_settings(external.network, sources))

    def require_accepting(self, reference: str) -> None:
        """Raise InputError unless the outputs of the network say which words are accepted."""
        require_accepting(self.external, reference)

    def draft(self, place: str) -> SpecificationDraft:
        """Return a draft of a specification for the network, which is at the path `place` relative to it."""
        network = self.external.network
        if self.stored is None:
            return draft_of(network, place, named=True, marks=FolderMarks())
        marks = marks_of(self.stored.config, network.tokens, around=self.stored.tokenizer is not None)
        return draft_of(network, place, names_tokens(self.stored, network), marks)

    def to_json(self) -> str:
        """Return the document that was read, or `hardsim-network` JSON of a network from elsewhere."""
        return self.document or json.dumps(network_json(self.external.network), ensure_ascii=False) + "\n"

    def folder(self) -> Stored | None:
        """Return the tensors and settings of a folder; None if there are none. Raises InputError if the network's
        readout differs from the one that its folder would give: a folder stores no other."""
        here, there = self.external.network, self.bare.network
        same = (there.tokens, there.outputs, there.readout) == (here.tokens, here.outputs, here.readout)
        if self.stored is not None and not same:
            message = (
                f"save: {self.name} is read differently from its folder's settings, and a folder cannot store that"
            )
            raise InputError(message, "Give a name that ends in .json: network JSON keeps how words are read.")
        return self.stored


@dataclass(frozen=True, kw_only=True)
class SpecifiedInput(NetworkInput):
    """A specification with the network that it names; `external` has the readout that it states."""

    specification: Specification

    def require_accepting(self, reference: str) -> None:
        """Do nothing: a specification takes no other reference, as `network` reports."""

    def draft(self, place: str) -> SpecificationDraft:
        """Raise InputError: the network has a specification."""
        raise InputError(f"{self.name} is a specification already", "Name the network alone: a folder or a file.")

    @classmethod
    def of(cls, given: Specification, found: NetworkInput, path: str, labelled: bool = False) -> SpecifiedInput:
        """Return the input for a specification and the network at the path that it names; `labelled` as for
        `read_input`. Raises SourceError if the network does not fit it."""
        # The verdict depends on both files, so the digest covers both.
        name, sha256 = given.name, digest(f"{given.sha256} {found.sha256}".encode())
        title = given.layout.title or found.title
        bare = replace(found.external, name=name, sha256=sha256, title=title)
        external = given.reading(bare) if labelled else given.deciding(bare)
        return cls(
            name=name,
            sha256=sha256,
            alphabet=external.alphabet,
            text=given.layout.source.text,
            title=title,
            remarked=(*found.remarked, *given.remarks(external.alphabet), *_open_points(given, external)),
            external=external,
            stored=found.stored,
            described=(*found.described, ("network", path)),
            settings=found.settings,
            sources={**found.sources, **dict.fromkeys(given.stated, os.path.basename(name))},
            document=found.document,
            specification=given,
            bare=bare,
        )

    def network(self, options: ModelOptions) -> External:
        """Return the network with the specification as its reference, or with labelled data, read as the specification
        states. Raises InputError if there is any other reference."""
        if isinstance(self.against, LabelledData):
            given = self.specification.given if options.at is None else {**self.specification.given, "at": options.at}
            specification = replace(self.specification, given=given)
            found = self.against.deciding(specification.reading(self.bare))
            return replace(found, needs_rows=not specification.fits(self.bare))
        if self.against is not None:
            message = f"{self.name} already specifies what its network should compute"
            raise InputError(message, "Leave out --against, or name the network in place of the specification.")
        return self.external if options.at is None else self.read_as(at=options.at).external

    def reference(self, at: At | None = None) -> Reference:
        """Return the specification."""
        return self.specification

    def read_as(self, **how: Any) -> SpecifiedInput:
        """Return this input with its network read in another way than the specification states. Raises InputError if
        what the specification says of the outputs does not fit that."""
        given = {key: value for key, value in how.items() if value is not None}
        changed = replace(self.specification, given={**self.specification.given, **given})
        external = changed.deciding(self.bare)
        return replace(self, specification=changed, external=external, alphabet=external.alphabet)


def _open_points(given: Specification, external: External) -> Iterator[str]:
    """Yield notes on what a specification leaves out, although its author may have meant it."""
    network, outputs = external.network, set(map(str, external.network.outputs))
    lines = [*given.layout.outputs, *filter(None, [given.layout.header(LANGUAGE)])]
    # Formulas have no value at the empty word, and expressions do.
    if external.shortest and external.reads_empty and any(line.text.startswith("/") for line in lines):
        yield "the network answers the empty word too, which is not judged: words have length 1 or more"
    ends = sorted(ENDS.intersection(outputs).difference(network.symbols))
    if given.layout.header("next") is not None and END not in outputs and ends:
        yield (
            f"no output is called {END}, so the end of a word is not judged, and {ends[0]} may never come next: if it "
            f"ends words, call it {END} in a line tokens: (`hardsim new` writes one)"
        )


@dataclass(frozen=True, kw_only=True)
class SpecificationInput(Input):
    """A specification without its network, as the reference of another one."""

    kind = "network"
    noun = "external network"
    what = f"an {noun}"

    specification: Specification

    @classmethod
    def of(cls, given: Specification) -> SpecificationInput:
        """Return the input for a specification."""
        alphabet = given.alphabet
        return cls(
            name=given.name,
            sha256=given.sha256,
            alphabet=alphabet,
            text=given.layout.source.text,
            title=given.layout.title,
            remarked=given.remarks(alphabet) if alphabet else (),
            specification=given,
        )

    def reference(self, at: At | None = None) -> Reference:
        """Return the specification."""
        return self.specification


def of_network(
    network: Network,
    name: str,
    sha256: str,
    title: str,
    stored: Stored | None = None,
    described: tuple[tuple[str, str], ...] = (),
) -> NetworkInput:
    """Return the input for an external network. `described` are labels and texts that describe what was read of it."""
    symbols = network.symbols
    if not symbols:
        hint = "Words need at least one token that does not stand before or after every word."
        raise InputError(f"{name}: no token is left that words could be made of", hint)
    named = stored is None or names_tokens(stored, network)
    external = External(name=name, sha256=sha256, alphabet=symbols, title=title, network=network, named=named)
    return NetworkInput(
        name=name, sha256=sha256, alphabet=symbols, title=title, external=external, bare=external, stored=stored,
        described=described,
    )  # fmt: skip
