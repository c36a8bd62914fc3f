"""Evidence that a regular language is outside a class: a few short words, to check by hand.

A witness names words u, v, w and z. In a set of words made from them, membership in the language follows a rule that no
language of the class has. `is_refuted` checks the rule for all exponents by running an automaton.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeAlias

from hardsim.lang.automata.automaton import Automaton
from hardsim.lazy_dataclass import dataclass
from hardsim.records import Natural, Record, one_of

Symbols: TypeAlias = tuple[str, ...]

POWERS, BLOCKS, AFTER, BEFORE, BETWEEN = "powers", "blocks", "after", "before", "between"
INSERTED = (BEFORE, AFTER, BETWEEN)
"""Forms of witnesses that compare a word with and without w."""


@dataclass(frozen=True, slots=True, repr=False)
class ClassWitness(Record):
    """Words that show that a language is outside a class.

    - `powers`: whether `u v^k z` is in the language depends on k modulo `period`, a prime, for k >= `least`.
    - `blocks`: v and w have one length; membership of `u x_1 ... x_m z`, where each x_i is v or w and m >= `least`,
      depends on the number of v's modulo `period`, a prime.
    - `before`, `after`, `between`: exactly one of `u v^k z` and a word with w inserted before, after or between the
      powers (`u w v^k z`, `u v^k w z`, `u v^k w v^k z`) is in the language, for k >= `least`. Every symbol of w occurs
      in v.
    """

    form: Annotated[str, one_of(POWERS, BLOCKS, BEFORE, AFTER, BETWEEN)]
    """The form of the words."""
    u: Symbols
    """The beginning of the words."""
    v: Symbols
    """The word that is repeated."""
    w: Symbols
    """The word that is inserted, or takes the place of some v's; empty for `powers`."""
    z: Symbols
    """The end of the words."""
    accepted: tuple[bool, ...]
    """Membership by the number of v's modulo the period; else of the word without w, and of the word with w."""
    least: Natural
    """Least exponent from which the rule holds."""

    @property
    def period(self) -> int:
        """The prime modulo which v's are counted; the number of words compared for the other forms."""
        return len(self.accepted)

    def word(self, k: int, inserted: bool = False) -> Symbols:
        """Return `u v^k z`, or for the forms with an inserted w the word with w."""
        power = self.v * k
        middle = {BEFORE: self.w + power, AFTER: power + self.w, BETWEEN: power + self.w + power}
        return self.u + (middle[self.form] if inserted else power) + self.z

    @property
    def text(self) -> str:
        """The rule as one sentence, with the words in place."""
        power = f"{self.v[0]}^k" if len(self.v) == 1 else f"({' '.join(self.v)})^k"
        v, w = " ".join(self.v), " ".join(self.w)
        if self.form in INSERTED:
            middle = {BEFORE: f"{w} {power}", AFTER: f"{power} {w}", BETWEEN: f"{power} {w} {power}"}[self.form]
            words = [_joined(self.u, power, self.z), _joined(self.u, middle, self.z)]
            inside, outside = words if self.accepted[0] else words[::-1]
            rule = f"{inside} is in the language and {outside} is not, for every k >= {self.least}"
            return f"{rule}; the inserted word {w} has only symbols of the repeated word"
        rests = " or ".join(str(rest) for rest, accepted in enumerate(self.accepted) if accepted)
        if self.form == POWERS:
            exponent, word, counted = "k", _joined(self.u, power, self.z), "k"
        else:
            word = _joined(self.u, "x_1 ... x_m", self.z)
            exponent, word = "m", f"{word}, where each x_i is {v} or {w},"
            counted = f"the number of positions i with {v} as x_i"
        rule = f"{word} is in the language if and only if {counted} modulo {self.period} is {rests}"
        return f"{rule}, for every {exponent} >= {self.least}"


def _joined(u: Symbols, middle: str, z: Symbols) -> str:
    return " ".join([*u, middle, *z])


def holds_for(automaton: Automaton, witness: ClassWitness) -> bool:
    """Run an automaton on the words of a witness, and tell whether its rule holds for all exponents: after `least`
    repetitions, the states that repeated words lead to come back."""
    if not witness.v or witness.least < 1:
        return False
    if witness.form in INSERTED:
        return _inserts(automaton, witness)
    period = witness.period
    after = _runner(automaton)
    states = [after(0, witness.u + witness.v * (witness.least + k)) for k in range(period)]
    accepted = [after(state, witness.z) in automaton.accepting for state in states]
    expected = [witness.accepted[(witness.least + k) % period] for k in range(period)]
    moved = [after(state, witness.v) for state in states]
    valid = accepted == expected and len(set(accepted)) == 2 and moved == states[1:] + states[:1]
    valid = valid and all(period % divisor for divisor in range(2, period))
    if witness.form == POWERS:
        return valid
    # the words that begin with w: after u w, the state must be that of a multiple of the period
    begun = after(0, witness.u + witness.w) == states[-witness.least % period]
    fixed = [after(state, witness.w) for state in states] == states
    return valid and begun and fixed and len(witness.v) == len(witness.w) and witness.least == 1


def _inserts(automaton: Automaton, witness: ClassWitness) -> bool:
    after, power = _runner(automaton), witness.v * witness.least
    without = after(0, witness.u + power)
    end = {
        BEFORE: lambda: after(0, witness.u + witness.w + power),
        AFTER: lambda: after(without, witness.w),
        BETWEEN: lambda: after(without, witness.w + power),
    }[witness.form]()
    # every power ends in a state that one more v leads back to
    stable = [without] if witness.form == AFTER else [without, end]
    accepted = tuple(after(state, witness.z) in automaton.accepting for state in (without, end))
    return (
        all(after(state, witness.v) == state for state in stable)
        and accepted == witness.accepted
        and accepted[0] != accepted[1]
        and set(witness.w) <= set(witness.v)
    )


def _runner(automaton: Automaton) -> Callable[[int, Sequence[str]], int]:
    """Return the function that reads symbols from a state."""

    def after(state: int, symbols: Sequence[str]) -> int:
        for symbol in symbols:
            state = automaton.moves[state][automaton.letters[symbol]]
        return state

    return after
