"""External networks as targets, with the reference that gives their expected outputs.

An external network has no hard attention and no semantics of its own. Its expected outputs come from a reference: a
specification, the semantics of a file, or a function. `campaign.judges` compares the outputs of the network, which are
known between two ends, with the expected outputs (`expected.Rule`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

from hardsim.errors import InputError, OutOfRange
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.words import count_words, shown_word
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.proof.shared.result import NoProof
from hardsim.reading.readout import at_text
from hardsim.targets.base import Target
from hardsim.targets.claims import PrefixClaim
from hardsim.targets.expected import ExpectedOutputs, Rule, by_position, require_positions
from hardsim.targets.result import ModelFacts, Word

QUICK_PRODUCTS = 10**9
"""Number of products that are computed faster than another process starts."""
SLOW = 2**18
"""Number of parameters from which single words can take seconds."""


@dataclass(frozen=True, kw_only=True)
class External(Target):
    """An external network with its reference, if it has one."""

    kind = "network"

    network: Network
    named: bool = True
    """True if its tokens have names; without names they are called by their ids."""
    accepts: bool = False
    """True if the expected output of a word is that it is accepted, or that it is not."""
    accepting: str | None = None
    """Name of the output that a specification states to accept words (`accept:`); None: it states none."""
    domain: Automaton | None = None
    """The regular language of the words that have expected outputs; None: any word may have them."""
    prefixes: bool = False
    """True if the expected output at a position is about the prefix that ends there, and the outputs there depend only
    on that prefix. A word is then judged at its end, since its prefixes are words of their own."""
    shortest: int = 1
    """Length of the shortest words that are judged, 0 or 1: 0 where the tokens before the first symbol are judged too.
    """

    mean: str | None = None
    """Name of the mean in a reference program that the network's number is compared with, in place of the program's
    output. None: the output."""

    @property
    def reference_text(self) -> str:
        """The words of a verdict that name the reference. A mean in place of the program's output is named too."""
        level = self.network.readout.level
        return super().reference_text + ("" if self.mean is None else f", its mean {self.mean}, to within {level}")

    @property
    def acceptor(self) -> bool:
        """True if the expected output of a word is a truth value."""
        return self.accepts

    @property
    def any_values(self) -> bool:
        """True: its tokens may be values of any type."""
        return True

    @property
    def reads_empty(self) -> bool:
        """True if there is an answer for the empty word, as tokens around words are read."""
        return self.network.reads_empty

    @property
    def searches(self) -> bool:
        """True if there is a reference."""
        return self.oracle is not None

    @property
    def longest(self) -> int | None:
        """Length of the longest words that the positions of the network have room for; None: there is no limit."""
        return self.network.longest

    @property
    def one_network(self) -> bool:
        """True: an external network serves every length."""
        return True

    @property
    def facts(self) -> ModelFacts:
        """The size of the network: numbers of layers, heads, coordinates and parameters."""
        network = self.network
        return ModelFacts(
            layers=len(network.layers),
            heads=len(network.heads),
            dimension=network.dimension,
            parameters=network.parameters,
            temperature="1",
            at=at_text(network.readout),
            bos=bool(network.readout.before),
        )

    def positions(self, n: int) -> int:
        """Return the number of tokens that are read for a word of n symbols."""
        return self.network.readout.length(n)

    @cached_property
    def rule(self) -> Rule:
        """The comparison of the network's outputs with the expected ones."""
        return Rule(self.network.outputs, self.network.readout)

    def positions_of(self, n: int, raw: Any) -> tuple[int, int]:
        """Return two numbers of positions of a word of n symbols: those that the expected output `raw` judges, and
        those that it leaves open. A single value judges one of the symbols at which the network is read, None judges
        none. If prefixes are words of their own, there is one position."""
        if by_position(raw):
            judged = sum(one is not None for one in raw)
            return judged, len(raw) - judged
        each = self.network.readout.at == "each" and not self.prefixes
        judged = int(raw is not None)
        return judged, (n + 1 - self.shortest if each else 1) - judged

    def places(self, n: int, listed: bool) -> Sequence[int]:
        """Return the positions, from 0 among all tokens that are read, where a word of n symbols is judged. With a list
        by position (`listed`): every symbol, and where the empty word is judged the position before the first.
        Otherwise: where the network is read (all of them, if that is their mean, which has one row of outputs), or the
        last symbol if it is read at each."""
        readout = self.network.readout
        start = len(readout.before)
        if listed:
            return range(start - (self.shortest == 0), start + n)
        return readout.places(n) if readout.at != "each" else range(start + n - 1, start + n)

    @cached_property
    def _possible(self) -> list[int]:
        """The numbers of words in the domain by length, from length 0 on, as far as they were counted."""
        return [1]

    def possible(self, n: int) -> int:
        """Return the number of words of length n that may have expected outputs: without a domain all, and 1 for the
        empty word."""
        if self.domain is None or n == 0:
            return count_words(len(self.alphabet), n)
        known = self._possible
        if n >= len(known):
            known[1:] = islice(self.domain.counts(), 2 * n)
        return known[n]

    def expected(self, words: Sequence[Word], raws: Sequence[Any], listed: bool) -> ExpectedOutputs:
        """Return the expected outputs of words at the positions where they are judged. Raises InputError with the word,
        if a value cannot be an expected output."""
        try:
            if listed:
                for word, raw in zip(words, raws, strict=True):
                    require_positions(raw, word, self.shortest)
            flat = list(chain.from_iterable(raws)) if listed else raws
            return ExpectedOutputs.of_values(flat, self.rule.place).shaped(len(words))
        except InputError:
            self._require_expected(words, raws, listed)  # raises for the first word, and names it
            raise

    def _require_expected(self, words: Sequence[Word], raws: Sequence[Any], listed: bool) -> None:
        """Raise InputError with the first word that has a value that cannot be an expected output."""
        for word, raw in zip(words, raws, strict=True):
            if listed:
                require_positions(raw, word, self.shortest)
            try:
                for one in raw if listed else [raw]:
                    self.rule.place(one)
            except InputError as error:
                message = f"on the word {shown_word(word, self.alphabet)}: {error.message}"
                raise InputError(message, error.hint) from None

    def prover(self) -> PrefixClaim | NoProof:
        """Return the claim about every prefix; without a reference, the reason why there is none."""
        return PrefixClaim(self) if self.oracle is not None else NoProof("the expected outputs are unknown")

    def require_reference(self) -> None:
        """Require that there is something to compare the outputs with. Raises InputError if there is no reference."""
        if self.oracle is None:
            message = f"{self.name} is an external network without a reference, so its expected outputs are unknown"
            hint = f"`hardsim new {self.name}` writes a specification"
            if os.path.isfile(f"{self.name.rstrip(os.sep)}.spec"):
                hint = f"Name the specification beside it, {self.name.rstrip(os.sep)}.spec"
            hint += "; or compare with a file of the expected answers: "
            shown = (
                "`hardsim check NETWORK --against FILE`, or with labelled words: `--data FILE`. `hardsim eval` and "
                "`hardsim heads` need no reference."
            )
            raise InputError(message, hint + shown)

    def quick(self, words: Callable[[int], int], max_n: int) -> bool:
        """Return True if the products of all weights and symbols are few."""
        count = sum(words(n) for n in range(max_n + 1))
        return count * max_n * self.network.weights < QUICK_PRODUCTS

    def most_together(self, n: int) -> int | None:
        """Return the number of words of n symbols that take some seconds; None for small networks."""
        weights = self.network.weights
        return None if weights < SLOW else max(1, QUICK_PRODUCTS // (weights * max(1, self.positions(n))))

    def require_lengths(self, max_n: int) -> None:
        """Raise OutOfRange if the positions of the network end before words of length `max_n`."""
        longest = self.network.longest
        if longest is not None and max_n > longest:
            most = max(longest, 0)
            message = f"{self.name}: {self.network.full} ends: words have at most {most} symbols, not {max_n}"
            raise OutOfRange(
                message,
                f"Give --max-n {longest} or less."
                if longest > 0
                else "Give the network fewer tokens beside the words.",
            )


def judging(subject: External, oracle: Callable[[Word], Any], name: str, accepts: bool = False) -> External:
    """Return the network with a reference; `name` is the reference in reports, and `accepts` is True if the expected
    output of a word is a truth value."""
    return replace(subject, oracle=oracle, against=name, accepts=accepts)
