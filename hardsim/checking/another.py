"""An external network as the reference: what its outputs certainly say is the expected output of another network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from hardsim.checking.foreign import Foreign, NetworkEngine, judging
from hardsim.checking.result import Word
from hardsim.checking.subject import Subject
from hardsim.checking.wanted import UNKNOWN, Ends
from hardsim.errors import InputError
from hardsim.lang.valuations import Alphabet


@dataclass(frozen=True)
class SaidBy:
    """The expected outputs of words, as a reference network certainly gives them: by symbol if the network is read at
    each symbol, and UNKNOWN where its output is not certain. It is pickled as the network alone, without its engine."""

    subject: Foreign

    def __reduce__(self) -> tuple[type[SaidBy], tuple[Foreign]]:
        return SaidBy, (self.subject,)

    @cached_property
    def _engine(self) -> NetworkEngine:
        return NetworkEngine(self.subject)

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
            said = [None] if ends is None else self._said(ends[0][[number]], ends[1][[number]])
            if None in said:
                alone = self._engine.alone(word, places, lambda low, high: None not in self._said(low, high))
                said = [None] * len(places) if alone is None else self._said(alone.low, alone.high)
            known = [UNKNOWN if one is None else one for one in said]
            found.append(known if listed else known[0])
        return found

    def _said(self, low: Ends, high: Ends) -> list[Any]:
        return [self.subject.rule.says(*ends) for ends in zip(low[0], high[0], strict=True)]


@dataclass(frozen=True)
class Another:
    """An external network as the reference for other networks, with its name and the SHA-256 of its file."""

    name: str
    sha256: str
    foreign: Foreign

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words that the reference network reads."""
        return self.foreign.alphabet

    def deciding(self, foreign: Foreign) -> Foreign:
        """Return an external network with this network's outputs as the expected ones.

        Raises:
            InputError: if this network outputs numbers, or the two differ in a symbol or an output.
        """
        if self.foreign.network.readout.decide == "value":
            told = f"{self.name} outputs numbers, which are known only between bounds"
            raise InputError(told, "Name a specification, or a network that decides by a level or by argmax (decide:).")
        # Words go from `foreign` to this network, and outputs back: each direction needs names that the other side
        # knows.
        for what, here, there in (
            ("symbol", foreign.alphabet, self.foreign.alphabet),
            ("output", self.foreign.network.outputs, foreign.network.outputs),
        ):
            known = set(map(str, there))
            other = next((str(one) for one in here if str(one) not in known), None)
            if other is not None:
                names = (foreign.name, self.name) if what == "symbol" else (self.name, foreign.name)
                told = f"{names[0]} has the {what} {other}, and {names[1]} does not"
                raise InputError(told, "Give both networks the same token names, with `tokens:` in a specification.")
        single = len(self.foreign.network.outputs) == 1 and self.foreign.network.readout.at != "each"
        accepts = single and self.foreign.network.readout.decide == "above"
        return judging(foreign, SaidBy(self.foreign), self.name, accepts=accepts)

    def judging(self, subject: Subject) -> NoReturn:
        """Refuse a compiled formula or program: only external networks are compared with a network.

        Raises:
            InputError: always.
        """
        told = f"{subject.name} was compiled by hardsim, and {self.name} is an external network"
        raise InputError(told, "Check the network against the formula or the program: name that with --against.")
