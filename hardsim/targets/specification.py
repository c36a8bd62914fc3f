"""A `.spec` file, bound to the network that it specifies.

The file gives the expected answers: which outputs the network should have on which words, and at which positions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import field, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from hardsim.errors import InputError, SourceError, Span, did_you_mean
from hardsim.files import LARGEST_TEXT, read_bytes, read_head
from hardsim.lang.ast import SraspProgram
from hardsim.lang.files import FileLine
from hardsim.lang.spec.layout import ACCEPT, FILE, FORM, OUTPUT, SpecLayout, read_spec, references
from hardsim.lang.spec.meaning import Question, remarks, require_program
from hardsim.lang.spec.oracle import ExpectedColumn, Lines, NextSymbols
from hardsim.lang.srasp.interpreter import check_program_examples
from hardsim.lang.srasp.srasp_parser import parse_program
from hardsim.lang.unread_files import ENOUGH, unread_format_error
from hardsim.lang.valuations import Alphabet, alphabet_text, listed, same_symbols
from hardsim.lang.words import read_names
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import JudgedAt, Network, Readout, Token
from hardsim.network.numbers import Mask
from hardsim.reading.readout import one_of, readout_of, require_tokens, reread
from hardsim.targets.base import digest
from hardsim.targets.external import External
from hardsim.targets.subject import Subject

SPEC = ".spec"
_FOREIGN = "tokens", "input", "next", "assume", ACCEPT
"""The keys that apply only to external networks."""
_PROGRAM = ".srasp"


Opened: TypeAlias = Callable[[str, Alphabet, JudgedAt], ExpectedColumn]
"""A function from the path of a file that accepts words, the symbols of words and the positions where a network is
judged to the truth of "the word is accepted"."""


def _unopened(path: str, alphabet: Alphabet, at: JudgedAt) -> ExpectedColumn:
    raise InputError(
        f"{path}: the specification was given as text, so a file that it names cannot be opened", "Read it from a file."
    )


@dataclass(frozen=True)
class Specification:
    """A `.spec` file that was read."""

    name: str
    sha256: str
    """SHA-256 of the file and of the program that it names."""
    layout: SpecLayout
    place: str
    """The path of the file; the paths in it are relative to its folder."""
    program: SraspProgram | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    """Settings for tokens, alphabet, input, at and decide that replace the lines of the file."""
    opened: Opened = field(default=_unopened, repr=False)
    """Opens a file that a line names (`@FILE`)."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols of words, as the file lists them; empty if the file leaves them to the network."""
        line = self.layout.header("alphabet")
        return () if line is None else tuple(self._names(line, "symbol"))

    def remarks(self, alphabet: Alphabet) -> tuple[str, ...]:
        """Return notes on lines that may have been meant otherwise, over the alphabet of the network. Lines with
        mistakes get no notes: binding the file to a network reports them."""
        with suppress(SourceError):
            return remarks(self.layout, self.program, alphabet)
        return ()

    @property
    def network(self) -> str:
        """The path of the network that the file names. Raises SourceError if the file names none."""
        line = self.layout.header("network")
        if line is None:
            hint = f"or name the network on the command line: hardsim check NETWORK --against {self.name}"
            place = self.layout.first or self.layout.end
            raise self.layout.error(place, "missing network", "a line network: with a folder or a file", hint)
        return _beside(self.place, self.layout, line)

    def wrong_network(self, message: str, expected: str = "", hint: str = "") -> SourceError:
        """Return the error for the file's `network:` line, where the named network cannot be read or is no network."""
        line = self.layout.header("network")
        assert line is not None  # it is the network that was read
        return self.layout.error(line.body, message, expected, hint)

    # ---- external networks ----

    def reading(self, external: External) -> External:
        """Return an external network that reads words as this specification states, without a reference. Raises
        InputError as `deciding`."""
        network = self._read(self._named(external))
        if not network.symbols:
            message = "no token of the network is left that words could be made of"
            raise self.layout.error(self.layout.first or self.layout.end, message, "a line alphabet:")
        return replace(external, network=network, alphabet=network.symbols, accepting=self._accepting(network))

    def _accepting(self, network: Network) -> str | None:
        """Return the output that `accept:` names, which is None without such a line."""
        line, outputs = self.layout.header(ACCEPT), list(map(str, network.outputs))
        if line is None:
            return None
        if line.text not in outputs:
            message, near = f"the network has no output {line.text}", did_you_mean(line.text, outputs)
            raise self.layout.error(line.body, message, f"a line {ACCEPT}: with one of {listed(outputs)}", near)
        return line.text

    def deciding(self, external: External) -> External:
        """Return an external network with this specification as its reference. Raises InputError with the place of the
        line that does not fit this network."""
        found = self.reading(external)
        network, symbols = found.network, found.network.symbols
        readout = network.readout
        if self.program is not None:
            require_program(self.layout, self.program, symbols)
        self._require_outputs(network)
        outputs = tuple(map(str, network.outputs))
        # In a causal network the answer at a position is that of the prefix, so every prefix can be judged in one run.
        before, causal = bool(readout.before), readout.at == "each" and _causal(network)
        among = outputs if readout.among is None else tuple(map(str, readout.among))
        question = Question(
            self.layout, self.program, symbols, readout.at, readout.decide, outputs, before, causal, among,
            self._files(symbols, readout.at),
        )  # fmt: skip
        demands = question.demands()
        if isinstance(demands.oracle, NextSymbols):
            self._require_taking_part(readout, demands.oracle.tokens)
        bare = isinstance(demands.oracle, Lines) and demands.oracle.lines[0][0] is None
        return replace(
            found,
            oracle=demands.oracle,
            against=self.name,
            mean=demands.oracle.mean if isinstance(demands.oracle, Lines) else None,
            accepts=bare and readout.decide == "above" and readout.at != "each",
            domain=demands.domain,
            prefixes=self.layout.header("next") is not None and causal,
            shortest=demands.shortest,
        )

    def fits(self, external: External) -> bool:
        """Return True if this specification can be the reference of an external network."""
        try:
            self.deciding(external)
        except InputError:
            return False
        return True

    def _files(self, alphabet: Alphabet, at: JudgedAt) -> dict[str, ExpectedColumn]:
        """Return the columns of the files that lines name, by the text of the line. Raises SourceError at the line if a
        file cannot be read, or has other symbols."""
        found = dict[str, ExpectedColumn]()
        for line in references(self.layout):
            path = _beside(self.place, self.layout, line, line.text[len(FILE) :].strip())
            try:
                found[line.text] = self.opened(path, alphabet, at)
            except SourceError:
                raise
            except InputError as error:
                raise self.layout.error(line.body, error.message, "", error.hint) from None
        return found

    @property
    def stated(self) -> tuple[str, ...]:
        """Return the settings of a readout that the file itself states."""
        keys = [key for key in ("tokens", "alphabet", "input", "at", "decide") if self.layout.header(key) is not None]
        return (*keys, *(("at", "decide") if self.layout.header("next") is not None else ()))

    def _named(self, external: External) -> Network:
        """Return the network with the names of its tokens: the given ones, those of the file, or the network's own."""
        line, network = self.layout.header("tokens"), external.network
        if "tokens" in self.given:
            return reread(network, tokens=self.given["tokens"])
        if line is None and not external.named:
            message = f"the {len(network.tokens)} tokens of the network have no names"
            expected = "a line tokens: with their names by id (or a vocab.json beside the weights)"
            raise self.layout.error(self.layout.first or self.layout.end, message, expected)
        if line is None:
            return network
        return reread(
            network, tokens=require_tokens(self._names(line, "token"), len(network.tokens), self._at(line.body))
        )

    def _names(self, line: FileLine, what: str) -> list[str]:
        return list(read_names(self.layout.source, line.body, what, f"{what}s separated by spaces"))

    def _at(self, place: Span) -> Callable[[str, str], InputError]:
        """Return a function that makes an error at a place of the file from a message and a hint."""
        return lambda message, hint: self.layout.error(place, message, "", hint)

    def _read(self, network: Network) -> Network:
        """Return the network with the readout that this specification states."""
        lines = {key: self.layout.header(key) for key in ("input", "at", "decide", "alphabet")}
        base = network.readout
        # `next:` judges at every position which tokens may follow: an output above 0 says that its token may.
        if self.layout.header("next") is not None:
            base = replace(base, at="each", decide="above", level=Fraction(0), among=None)
        for key in ("input", "at", "decide"):
            line = lines[key]
            if key in self.given:
                base = readout_of(
                    **_only(key, self.given[key]), tokens=network.tokens, outputs=network.outputs, base=base
                )
            elif line is not None:
                base = self._readout(key, line, network, base)
        symbols, line = base.alphabet, lines["alphabet"]
        if "alphabet" in self.given:
            symbols = self.given["alphabet"]
        elif line is not None:
            self._names(line, "symbol")  # for its errors
            symbols = self._each(line, network.tokens, "token")
        try:
            return reread(replace(network, readout=replace(base, alphabet=None)), alphabet=symbols)
        except InputError as error:
            place = None if "alphabet" in self.given else lines["alphabet"] or lines["input"]
            raise self._at(place.body)(error.message, error.hint) if place is not None else error from None

    def _readout(self, key: str, line: FileLine, network: Network, base: Readout) -> Readout:
        """Return a readout with the setting of one line of the file."""
        if key == "input":
            # These calls only report the exact word of the line that is wrong; `readout_of` reads the line itself.
            self._each(line, network.tokens, "token", "*")
        if key == "decide" and line.text.startswith("argmax of "):
            self._each(line, network.outputs, "output", "argmax", "of")
        error = self._at(line.body)
        return readout_of(
            **_only(key, line.text), tokens=network.tokens, outputs=network.outputs, base=base, error=error
        )

    def _each(self, line: FileLine, among: Sequence[Token], what: str, *others: str) -> tuple[Token, ...]:
        """Return the tokens or outputs that a line names, skipping the words `others`. Raise SourceError at any
        other name."""
        start, found = line.body.start, list[Token]()
        for name in line.text.split():
            begin = self.layout.source.text.index(name, start)
            start = begin + len(name)
            if name not in others:
                found.append(one_of(name, among, what, self._at(Span(begin, start))))
        return tuple(found)

    def _require_outputs(self, network: Network) -> None:
        """Raise SourceError unless the network has the outputs that lines are about, and these outputs take part
        in the argmax."""
        among = network.readout.among if network.readout.decide == "argmax" else None
        for line in self.layout.outputs or self.layout.values:
            found = one_of(line.name, network.outputs, "output", self._at(line.at))
            if among is not None and str(found) not in set(map(str, among)):
                message = f"the output {line.name} takes no part in the argmax"
                raise self.layout.error(line.at, message, f"one of {listed(list(map(str, among)))}")

    def _require_taking_part(self, readout: Readout, tokens: Set[str]) -> None:
        """Raise SourceError unless every token that may come next takes part in the argmax."""
        missing = set() if readout.among is None else tokens - set(map(str, readout.among))
        if missing:
            line = self.layout.header("next" if "decide" in self.given else "decide")
            assert line is not None  # of next: alone all outputs are judged
            message = f"{min(missing)} may come next, and takes no part in the argmax"
            raise self.layout.error(line.body, message, "argmax, or argmax of all that may come next")

    # ---- compiled subjects ----

    def judging(self, subject: Subject) -> Subject:
        """Return a compiled subject with this specification as its oracle. The specification may only state which words
        are accepted. Raises InputError with the place of a line that states anything else."""
        layout = self.layout
        for key in _FOREIGN:
            line = layout.header(key)
            if line is not None:
                message = f"{key}: is for external networks, and {subject.name} was compiled here"
                raise layout.error(line.at, message, "only lines that say which words are accepted")
        self._require_accepting(subject)
        line = layout.header("at")
        if line is not None and line.text not in ("last", "first"):
            message = f"{subject.name} was compiled here: it is read at one position"
            raise layout.error(line.body, message, "last or first")
        if self.program is not None:
            require_program(layout, self.program, subject.alphabet)
        at: JudgedAt = "first" if line is not None and line.text == "first" else "last"
        only = (self._only_output,)
        question = Question(
            layout,
            self.program,
            subject.alphabet,
            at,
            "above",
            only,
            before=False,
            files=self._files(subject.alphabet, at),
        )
        return replace(subject, oracle=question.demands().oracle, against=self.name)

    @property
    def _only_output(self) -> str:
        return self.layout.outputs[0].name if self.layout.outputs else ""

    def _require_accepting(self, subject: Subject) -> None:
        """Raise InputError unless this specification and a subject both describe which words are accepted."""
        layout = self.layout
        if not subject.acceptor:
            made = "integers" if subject.program.integers else "words"
            message = f"{subject.name} maps words to {made}, and {self.name} says which words are accepted"
            raise InputError(message, "Name what accepts words, or leave out --against.")
        if others := layout.values or layout.outputs[1:]:
            message = f"{subject.name} was compiled here: it has one output, and says which words are accepted"
            raise layout.error(others[0].at, message, f"one line {FORM[OUTPUT]}")
        own, line = layout.header("alphabet"), layout.header("decide")
        if own is not None and not same_symbols(subject.alphabet, self.alphabet):
            message = f"{subject.name} is over another alphabet: {alphabet_text(subject.alphabet, 20)}"
            raise layout.error(own.body, message, "the same symbols, in whatever order")
        if line is not None:
            found = readout_of(None, None, line.text, (), (self._only_output,), Readout(), self._at(line.body))
            level = subject.program.threshold
            if found.decide != "above" or not (found.level == level if level is not None else 0 <= found.level < 1):
                message = f"{subject.name} was compiled here, and accepts a word if its output is above "
                message += "0 (it is exactly 0 or 1)" if level is None else str(level)
                raise layout.error(line.body, message, f"decide: above {level or 0}, or no such line")


def _only(key: str, value: Any) -> dict[str, Any]:
    return {**dict.fromkeys(("input", "at", "decide")), key: value}


def _causal(network: Network) -> bool:
    """Return True if the outputs of a network at a position depend on nothing after it, however long the word is."""
    return (
        not network.readout.after
        and (isinstance(network.positions, np.ndarray) or not network.positions)
        and all(head.mask is Mask.FUTURE for head in network.heads)
    )


def read_specification(data: bytes, name: str, place: str) -> Specification:
    """Read a `.spec` file from its bytes, with the program that it names. `place` is the path of the file; errors cite
    `name`, the name that the user gave. Raises SourceError with the place of the first mistake, in the file or in the
    program."""
    layout = read_spec(data, name)
    found = Specification(name, digest(data), layout, place)
    for one in references(layout):
        path = _beside(place, layout, one, one.text[len(FILE) :].strip())
        try:
            found = replace(found, sha256=digest(f"{found.sha256} {digest(read_bytes(path, LARGEST_TEXT))}".encode()))
        except InputError as error:
            raise layout.error(one.body, error.message, "", error.hint) from None
    line = layout.header("program")
    if line is None:
        return found
    path = _beside(place, layout, line)
    if not path.endswith(_PROGRAM):
        external = unread_format_error(path, path, read_head(path, ENOUGH))
        message = "program: names no S-RASP program" + (f". {external.message}" if external else "")
        raise layout.error(line.body, message, f"a file that ends in {_PROGRAM}", external.hint if external else "")
    try:
        text = read_bytes(path, LARGEST_TEXT)
    except InputError as error:
        raise layout.error(line.body, error.message, "", error.hint) from None
    program = parse_program(text, path)
    check_program_examples(program)
    both = digest(f"{found.sha256} {digest(text)}".encode())
    return replace(found, program=program, sha256=both)


def named_files(place: str) -> list[str]:
    """Return the paths that a `.spec` file names; none if the file cannot be read."""
    with suppress(InputError):
        layout = read_spec(read_bytes(place, LARGEST_TEXT), place)
        lines = filter(None, map(layout.header, ("network", "program")))
        files = [_beside(place, layout, line, line.text[len(FILE) :].strip()) for line in references(layout)]
        return [*(_beside(place, layout, line) for line in lines), *files]
    return []


def _beside(place: str, layout: SpecLayout, line: FileLine, named: str | None = None) -> str:
    """Return the path that a line of a file at `place` names, relative to the file's folder: `named`, or the value of
    the line."""
    path = line.text if named is None else named
    if not path:
        raise layout.error(line.body, f"{line.name}: names nothing", "a path, relative to this file")
    return os.path.join(os.path.dirname(place), path)
