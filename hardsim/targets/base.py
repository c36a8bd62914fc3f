"""The protocol of targets: the networks that commands check, prove and measure, of four kinds.

`targets.formula`, `targets.program` and `targets.weights` have hard attention (`targets.subject`);
`targets.external` has a network alone.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

from hardsim.compiling.from_ltl.refusals import Method
from hardsim.compiling.from_ltl.rounded import RoundedMeans
from hardsim.lang.arith import Arith
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.valuations import Alphabet
from hardsim.lang.words import count_words
from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import SoftWeighting
from hardsim.proof.shared.result import NoProof
from hardsim.targets.claims import Claim
from hardsim.targets.result import ModelFacts, Opened, Word

At = Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The options that turn an input into a network. None stands for the default (regime, beta, temperature) or for
    the file's own choice (at, and everything that a compiled network states).

    `epsilon` is the error for which Theorem 26 gives the temperature of an input without a regime of its own.
    """

    regime: str | None = None
    beta: Fraction | None = None
    tau: Arith | None = None
    at: At | None = None
    single_head: bool = False
    counting: Method | None = None
    """The method that decides comparisons of counts: `lookup` (the default where the regime has it) or `sign`."""
    epsilon: Fraction | None = None
    weighting: SoftWeighting | None = None
    """The weighting of the network; None: softmax, or the file's own."""
    rounding: RoundedMeans | None = None
    """The rounding of regime `rounded`; None: its default, or the file's own."""

    @property
    def sharpening(self) -> tuple[str, ...]:
        """The names of the options that were given out of beta, tau and epsilon, which set how sharp attention is."""
        values = {"beta": self.beta, "tau": self.tau, "epsilon": self.epsilon}
        return tuple(name for name, value in values.items() if value is not None)


@dataclass(frozen=True, kw_only=True)
class Target(ABC):
    """One target to check. `sha256` is the digest of the input (a file's bytes, an expression's text), `alphabet`
    that of the words that are tried."""

    kind: ClassVar[Opened]
    """The kind of the input that the target was made of, as results name it."""

    name: str
    sha256: str
    alphabet: Alphabet
    examples: tuple[tuple[Word, Any], ...] = ()
    pins: bool = False
    """True if the input was read as a formula or program, whose examples are run even beyond the longest length."""
    title: str = ""
    oracle: Callable[[Word], Any] | None = None
    """The semantics; None for a target that is its own specification."""
    against: str | None = None
    """The name of the file that `oracle` comes from, if it is not the target's own."""
    rows: tuple[Word, ...] | None = None
    """The words of labelled data, one for each row, if `oracle` is such data: it has answers for these words alone."""
    needs_rows: bool = False
    """True if commands without labelled data refuse the input: its specification does not state what is expected."""
    by_function: bool = False
    """True if `oracle` is a Python function, which may leave words and positions open."""

    @property
    def reference_text(self) -> str:
        """The part of a verdict that names the reference, for a target checked against another file."""
        return f"checked against {self.against}"

    @property
    def formula_text(self) -> str | None:
        """The formula's text; None for any other input."""
        return None

    @property
    def file_title(self) -> str | None:
        """The title that a file gives itself; None if it gives none."""
        return self.title

    @property
    @abstractmethod
    def facts(self) -> ModelFacts:
        """The size of the network and how it was compiled."""

    @property
    @abstractmethod
    def acceptor(self) -> bool:
        """True if the target accepts or rejects words; False if it maps words to words, or to lists of integers."""

    @property
    @abstractmethod
    def one_network(self) -> bool:
        """True if one network serves every length."""

    @property
    def regime(self) -> str | None:
        """The name of the regime; None without a regime."""
        return None

    @property
    def own(self) -> bool:
        """True if hardsim made the network itself and it is unedited: only then is a false claim a mistake of
        hardsim."""
        return False

    @property
    def domain(self) -> Automaton | None:
        """The regular language of the words that have expected answers; None: any word may have them."""
        return None

    @property
    def shortest(self) -> int:
        """Length of the shortest words that are judged."""
        return 1

    @property
    def longest(self) -> int | None:
        """Length of the longest words that the network reads; None: there is none."""
        return None

    @property
    def searches(self) -> bool:
        """True if words with a wrong answer are searched at lengths of which not all words are tried."""
        return False

    def possible(self, n: int) -> int:
        """Return the number of words of length n that may have expected answers."""
        return count_words(len(self.alphabet), n)

    @property
    def reads_empty(self) -> bool:
        """True if there is an answer for the empty word, as tokens around words are read."""
        return False

    @property
    def any_values(self) -> bool:
        """True if symbols may be given as any Python values, which are named by their text."""
        return False

    def arithmetic(self, engine: str) -> str:
        """Return the name of the arithmetic in which an engine runs the network."""
        return engine

    def few_digits(self, max_n: int, dps: int | None, engine: str) -> str | None:
        """Return a remark if `dps` digits are fewer than mpmath needs up to length `max_n`; None if they are enough."""
        return None

    def decider(self) -> Callable[[Word], Any]:
        """Return the function that gives the expected answer of a word, where one is known."""
        return self.oracle or (lambda word: None)

    def numbered_decider(self) -> Callable[[Sequence[bytes]], list[bool]] | None:
        """Return the function that gives the expected answers of words of one length, as symbol numbers (each below
        256), where that is quicker than looking their symbols up; else None."""
        found: Callable[[Sequence[bytes]], list[bool]] | None = getattr(self.oracle, "numbered", None)
        return found

    def require_reference(self) -> None:  # noqa: B027
        """Require that there is something to compare the answers with. Raises InputError if there is no reference."""

    def require_one_network(self) -> None:  # noqa: B027
        """Require that the network does not depend on the words that are run, so that they can be trials of it. Raises
        InputError if it does."""

    def require_lengths(self, max_n: int) -> None:  # noqa: B027
        """Require that the network reads words of length `max_n`. Raises OutOfRange if it does not."""

    def require_temperature(self, n: int) -> None:  # noqa: B027
        """Require that the temperature of the one network is positive at length n. Raises InputError if it is not."""

    def require_digits(self, max_n: int, dps: int | None) -> None:  # noqa: B027
        """Require that mpmath can run words of up to `max_n` symbols, with `dps` decimal digits if that is given.
        Raises InputError if it would need too many digits."""

    @abstractmethod
    def prover(self) -> Claim | NoProof:
        """Return what can be proved of the target; or the reason why there is no proof."""

    @abstractmethod
    def quick(self, words: Callable[[int], int], max_n: int) -> bool:
        """Return True if a check of the lengths up to `max_n` takes less time than another process needs to start;
        `words` gives the number of words of a length."""

    def most_together(self, n: int) -> int | None:
        """Return the number of words of n symbols that take some seconds, where words can take that long; None if they
        cannot."""
        return None

    @abstractmethod
    def positions(self, n: int) -> int:
        """Return the number of positions that are run for a word of n symbols."""

    def answers(self, words: Sequence[Word]) -> list[Any] | None:
        """Return the answers of the semantics for words of one length, computed together if possible; None without
        a semantics."""
        if self.oracle is None:
            return None
        many: Callable[[Sequence[Word]], list[Any]] | None = getattr(self.oracle, "many", None)
        return [self.oracle(word) for word in words] if many is None else many(words)


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes as hex."""
    return hashlib.sha256(data).hexdigest()
