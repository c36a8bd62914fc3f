"""A network that others made, held against another one: what that certainly says is what is wanted."""

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
    """What a network certainly says of words, at every symbol if it is read there; UNKNOWN where it is not certain. It
    travels as the network, without what was made of it."""

    subject: Foreign

    def __reduce__(self) -> tuple[type[SaidBy], tuple[Foreign]]:
        return SaidBy, (self.subject,)

    @cached_property
    def _engine(self) -> NetworkEngine:
        return NetworkEngine(self.subject)

    def __call__(self, word: Word) -> Any:
        return self.many([word])[0]

    def many(self, words: Sequence[Word]) -> list[Any]:
        """Of words of one length."""
        listed = self.subject.network.readout.at == "each"
        places = self.subject.places(len(words[0]), listed)
        ends = self._engine.enclosures(words, places)
        found: list[Any] = []
        for number, word in enumerate(words):
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
    """Another network, as what networks are held against."""

    name: str
    sha256: str
    foreign: Foreign

    @property
    def alphabet(self) -> Alphabet:
        """What its words are made of."""
        return self.foreign.alphabet

    def deciding(self, foreign: Foreign) -> Foreign:
        """A network that others made, held against this one.

        Raises:
            InputError: if this one is read for numbers, or has other symbols or outputs.
        """
        if self.foreign.network.readout.decide == "value":
            told = f"{self.name} says numbers, of which bounds alone are known"
            raise InputError(told, "Name a network that is read by a level or by argmax (decide:), or a specification.")
        for what, here, there in (
            ("symbol", foreign.alphabet, self.foreign.alphabet),
            ("output", self.foreign.network.outputs, foreign.network.outputs),
        ):
            known = set(map(str, there))
            other = next((str(one) for one in here if str(one) not in known), None)
            if other is not None:
                names = (foreign.name, self.name) if what == "symbol" else (self.name, foreign.name)
                told = f"{names[0]} has the {what} {other}, and {names[1]} has not"
                raise InputError(told, "Both have to call their tokens alike: tokens: in a specification names them.")
        single = len(self.foreign.network.outputs) == 1 and self.foreign.network.readout.at != "each"
        accepts = single and self.foreign.network.readout.decide == "above"
        return judging(foreign, SaidBy(self.foreign), self.name, accepts=accepts)

    def judging(self, subject: Subject) -> NoReturn:
        """What was compiled here is held against no network.

        Raises:
            InputError: always.
        """
        told = f"{subject.name} was compiled here, and {self.name} is a network that others made"
        raise InputError(told, "Hold the network against the formula or the program: --against takes those.")
