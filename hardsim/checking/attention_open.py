"""Hard-attention models as inputs, and as what `compile` writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hardsim.ahat.file import AhatFile, ahat_json, named_predicates, read_ahat
from hardsim.ahat.harden import harden
from hardsim.checking.attention import Answer, AttentionOptions, AttentionSubject
from hardsim.checking.attention_plan import Preparation, plan_length
from hardsim.checking.campaign import CheckOptions
from hardsim.checking.evaluate import preparation
from hardsim.checking.result import Word
from hardsim.checking.sources import ahat_subject, program_subject
from hardsim.checking.subject import Subject
from hardsim.errors import Unsupported
from hardsim.lang.arith import parse_arith
from hardsim.lang.srasp.interpreter import ProgramOracle, check_program_examples
from hardsim.lang.srasp.parse import parse_program_bytes
from hardsim.net.model import Schedule
from hardsim.net.reader import Reader
from hardsim.net.tables import LengthTable
from hardsim.version import __version__
from hardsim.visible import visible_json


@dataclass(frozen=True)
class AttentionInput:
    """A hard-attention model, or a program compiled into one, with the name and SHA-256 of where it came from."""

    name: str
    sha256: str
    alphabet: tuple[str, ...]
    model: AttentionSubject | None
    refusal: Unsupported | None = None
    """Why a program has no model: its semantics can be asked all the same."""
    oracle: Callable[[Word], Answer] | None = None
    text: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """Where the integers of a program can leave the range of its construction, as its static analysis finds."""

    @property
    def subject(self) -> AttentionSubject:
        """The model.

        Raises:
            Unsupported: if a program has a score for which there is no construction.
        """
        if self.model is None:
            assert self.refusal is not None
            raise self.refusal
        return self.model


def read_model(document: Reader, path: str, sha256: str) -> AttentionInput:
    """The input that an `.ahat.json` document is.

    Raises:
        InputError: naming the place inside the document, what was expected and what was found.
    """
    file = read_ahat(document)
    subject = ahat_subject(file, path, sha256)
    return AttentionInput(path, sha256, subject.alphabet, subject)


def read_srasp(data: bytes, path: str, sha256: str) -> AttentionInput:
    """The input that an S-RASP program is.

    Raises:
        SourceError: if it is wrong, or an example is.
    """
    program = parse_program_bytes(data, path)
    check_program_examples(program)
    interpreter = ProgramOracle(program)
    oracle: Callable[[Word], Answer] = interpreter.accepts if program.is_acceptor else interpreter.output
    text = program.source.text
    try:
        subject, warnings = program_subject(program, path, sha256)
    except Unsupported as refusal:
        return AttentionInput(path, sha256, program.alphabet, None, refusal, oracle, text, program.notes)
    notes = (*program.notes, *warnings)
    return AttentionInput(path, sha256, program.alphabet, subject, None, oracle, text, notes, warnings)


def store_hard(subject: Subject) -> str:
    """A formula's hard-attention program as an `.ahat.json` document.

    Raises:
        InputError: if the formula's network is another one than the specification makes.
    """
    subject.hold_specified("the hard-attention model")
    model = harden(subject.program)
    file = AhatFile(
        model=model,
        title=f"{subject.formula} (compiled for regime {subject.program.regime})",
        predicates=named_predicates(model, subject.file),
        examples=()
        if subject.file.at != "last"
        else tuple((example.word, example.accept) for example in subject.file.examples),
    )
    return text_of(ahat_json(file))


def store_model(subject: AttentionSubject, options: CheckOptions, choice: AttentionOptions, hard: bool) -> str:
    """A model as a document: the hard one, or the softmax one with its temperature.

    The temperature is the one asked for, else Theorem 26's at each length up to `options.max_n` (of padded words, for
    a program that pads: those between two lengths take the next one's, which is smaller).

    Raises:
        Undecided: if no temperature gives the wanted error.
    """
    examples = subject.examples if subject.kind == "ahat" else ()
    model, schedule = subject.hard, None
    if not hard:
        found = preparation(subject, options, range(1, options.max_n + 1))
        model = found.hard
        schedule = choice.tau or subject.schedule or temperatures(found, subject, choice)
    return text_of(
        ahat_json(
            AhatFile(
                model=replace(model, temperature=parse_arith("1")),
                title=subject.title,
                predicates=subject.predicates,
                examples=examples,
                temperature=schedule,
                outputs=subject.outputs,
                blank=subject.blank,
            )
        )
    )


def temperatures(found: Preparation, subject: AttentionSubject, choice: AttentionOptions) -> Schedule:
    """Theorem 26's temperature at every length that a prepared word can have."""
    known = {found.facts[n].n: plan_length(found, subject, choice, n).theorem for n in found.facts}
    lengths = sorted(known)
    return LengthTable(tuple(known[next(m for m in lengths if m >= n)] for n in range(1, lengths[-1] + 1)))


def text_of(document: dict[str, Any]) -> str:
    """The text of a document."""
    return visible_json(json.dumps({"version": __version__} | document, ensure_ascii=False, indent=1) + "\n")
