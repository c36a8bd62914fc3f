"""An external network as the reference: what its outputs certainly say is the expected output of another network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn

from hardsim.errors import InputError
from hardsim.lang.valuations import Alphabet
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.expected import UNKNOWN, Ends
from hardsim.targets.external import External, judging
from hardsim.targets.network_outputs import NetworkEngine
from hardsim.targets.result import Word
from hardsim.targets.subject import Subject
from hardsim.writing.specification import predicts_tokens


@dataclass(frozen=True)
class CertainAnswers:
    """The expected outputs of words, as a reference network certainly gives them: by symbol if the network is read at
    each symbol, and UNKNOWN where its output is not certain. It is pickled as the network alone, without its engine."""

    subject: External

    def __reduce__(self) -> tuple[type[CertainAnswers], tuple[External]]:
        return CertainAnswers, (self.subject,)

    @cached_property
    def _engine(self) -> NetworkEngine:
        return NetworkEngine(self.subject.network)

    def __call__(self, word: Word) -> Any:
        return self.many([word])[0]

    def many(self, words: Sequence[Word]) -> list[Any]:
        """Return the expected outputs of words of one length."""
        listed = self.subject.network.readout.at == "each"
        places = self.subject.places(len(words[0]), listed)
        ends = self._engine.enclosures(words, places)
        found: list[Any] = []
        for number, word in enumerate(words):
            # Float64 answers most words; a word with an uncertain output is run alone, with as many bits as it needs.
            said = [None] * len(places) if ends is None else self._answers(ends[0][[number]], ends[1][[number]])
            if None in said:
                alone = self._engine.alone(word, places, lambda low, high: None not in self._answers(low, high))
                said = said if alone is None else self._answers(alone.low, alone.high)
            known = [UNKNOWN if one is None else one for one in said]
            found.append(known if listed else known[0])
        return found

    def _answers(self, low: Ends, high: Ends) -> list[Any]:
        return [self.subject.rule.certain_answer(*ends) for ends in zip(low[0], high[0], strict=True)]


@dataclass(frozen=True)
class ReferenceNetwork:
    """An external network as the reference for other networks, with its name and the SHA-256 of its file."""

    name: str
    sha256: str
    external: External

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words that the reference network reads."""
        return self.external.alphabet

    def deciding(self, external: External) -> External:
        """Return an external network with this network's outputs as the expected ones. Raises InputError if this
        network outputs numbers, or the two differ in a symbol or an output."""
        if self.external.network.readout.decide == "value":
            message = f"{self.name} outputs numbers, which are known only between bounds"
            raise InputError(
                message, "Name a specification, or a network that decides by a level or by argmax (decide:)."
            )
        # Words go from `external` to this network, and outputs back: each direction needs names that the other side
        # knows.
        for what, here, there in (
            ("symbol", external.alphabet, self.external.alphabet),
            ("output", self.external.network.outputs, external.network.outputs),
        ):
            known = set(map(str, there))
            other = next((str(one) for one in here if str(one) not in known), None)
            if other is not None:
                names = (external.name, self.name) if what == "symbol" else (self.name, external.name)
                message = f"{names[0]} has the {what} {other}, and {names[1]} does not"
                labels = what == "output" and not predicts_tokens(external.network)
                stated = "labels (id2label in config.json)" if labels else "token names (`tokens:` in a specification)"
                raise InputError(message, f"Give both networks the same {stated}.")
        single = len(self.external.network.outputs) == 1 and self.external.network.readout.at != "each"
        accepts = single and self.external.network.readout.decide == "above"
        return judging(external, CertainAnswers(self.external), self.name, accepts=accepts)

    def judging(self, subject: Subject) -> NoReturn:
        """Refuse a compiled formula or program: only external networks are compared with a network. Always raises
        InputError."""
        message = f"{subject.name} was compiled by hardsim, and {self.name} is an external network"
        raise InputError(message, "Check the network against the formula or the program: name that with --against.")
