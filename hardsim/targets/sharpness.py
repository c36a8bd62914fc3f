"""How sharp the softmax attention of a subject is: one network for every length, or a temperature that is given or
found."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, TypeAlias

from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import Schedule, Transformer
from hardsim.program.assemble import assemble
from hardsim.program.budget import Budget
from hardsim.program.hard_attention import Program


@dataclass(frozen=True, slots=True)
class OneNetwork:
    """The budget of a regime, with the one network that it makes for every length. A network that was read from a file
    may differ from it."""

    budget: Budget
    network: Transformer
    epsilon: ClassVar[None] = None

    @staticmethod
    def of(program: Program, budget: Budget) -> OneNetwork:
        """Return a budget with the network that it makes of a program."""
        return OneNetwork(budget, assemble(program, budget))


@dataclass(frozen=True, slots=True)
class FoundTemperature:
    """No temperature is given. It is a function of the length for which every length is proved, if there is one and no
    `epsilon` is given; else that of Theorem 26 at each length, for the error `epsilon` (None: a default)."""

    epsilon: Fraction | None = None


@dataclass(frozen=True, slots=True)
class GivenTemperature:
    """The temperature `schedule`, which was given, or came with a softmax model. `epsilon` is the error for which
    reports show Theorem 26's temperature beside it."""

    schedule: Schedule
    epsilon: Fraction | None = None


FOUND = FoundTemperature()
Sharpness: TypeAlias = OneNetwork | FoundTemperature | GivenTemperature
