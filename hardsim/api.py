"""The Python interface: load a formula, program or model, compile it, run it, check it.

import hardsim

formula = hardsim.load("formulas/since.ltl")
model = formula.compile(regime="position")
model.accepts("acb")
result = hardsim.check(formula, max_n=6)
result.verdict, result.reach
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Literal

from hardsim.checking import combined, evaluate
from hardsim.checking import open as opening
from hardsim.checking.campaign import CheckOptions, Progress
from hardsim.checking.open import Input
from hardsim.checking.result import Answer, CheckResult, Evaluation, Word
from hardsim.checking.subject import At, ModelOptions, Subject, digest
from hardsim.compiling.from_ltl.lower import Method
from hardsim.errors import InputError
from hardsim.lang.arith import Arith, parse_arith
from hardsim.lang.parse import parse_text, parse_word
from hardsim.lang.semantics import Oracle

__all__ = ["CheckOptions", "CheckResult", "Formula", "Model", "check", "load", "parse"]


@dataclass(frozen=True)
class Model:
    """Hard attention with the softmax transformer that is made of it."""

    subject: Subject

    def evaluate(self, word: str | Sequence[str], dps: int | None = None) -> Evaluation:
        """What the semantics, hard attention and the network say of a word (text, or a sequence of symbols)."""
        options = CheckOptions(max_n=len(word), dps=dps)
        return next(evaluate.evaluate(self.subject, [_word(word, self.subject.alphabet)], options))

    def accepts(self, word: str | Sequence[str]) -> Answer:
        """Whether the softmax network accepts (or the symbols it writes); None for an output that is no answer."""
        return self.evaluate(word).soft

    def words(self, max_n: int, by: Literal["oracle", "hard", "soft"] = "oracle") -> Iterator[Word]:
        """The accepted words of length 1 to max_n, shortest first, in the order of the alphabet."""
        for n in range(1, max_n + 1):
            words = product(self.subject.alphabet, repeat=n)
            yield from evaluate.accepted_words(self.subject, words, by, CheckOptions(max_n=n))

    def to_json(self) -> str:
        """The text of a `model.json` or `.ahat.json`: exact rationals, with what the heads are for."""
        store = opening.store_program if self.subject.formula is None else opening.store_text
        return store(self.subject)


@dataclass(frozen=True)
class Formula:
    """A formula with its alphabet and examples, a program, or a model read back."""

    input: Input

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols, in order."""
        return self.input.alphabet

    def accepts(self, word: str | Sequence[str], at: At | None = None) -> bool:
        """Whether the formula holds of a word, by the semantics alone.

        Raises:
            hardsim.errors.InputError: if it is no formula.
        """
        return Oracle(self.input.file).accepts(_word(word, self.alphabet), at)

    def compile(
        self,
        regime: str = "temperature",
        *,
        beta: Fraction | int | str | None = None,
        tau: Arith | str | None = None,
        at: At | None = None,
        single_head: bool = False,
        counting: Method | None = None,
    ) -> Model:
        """Compile into a softmax transformer.

        Raises:
            hardsim.errors.InputError: if the regime has no construction for the formula, or an option does not apply.
        """
        return Model(self.input.compile(_options(regime, beta, tau, at, single_head, counting)))


def load(path: str | Path) -> Formula:
    """Read a formula, an S-RASP program, a hard-attention model or a compiled formula.

    Raises:
        hardsim.errors.InputError: if it cannot be read or is wrong (SourceError, with the place).
    """
    return Formula(opening.read_input(str(path)))


def parse(text: str, name: str = "<text>") -> Formula:
    """Read the text of a `.ltl` file.

    Raises:
        hardsim.errors.SourceError: if it is wrong.
    """
    return Formula(opening.of_formula(parse_text(text, name), digest(text.encode())))


def check(
    formula: Formula | Model | str | Path,
    *,
    regime: str = "temperature",
    beta: Fraction | int | str | None = None,
    tau: Arith | str | None = None,
    at: At | None = None,
    single_head: bool = False,
    counting: Method | None = None,
    options: CheckOptions | None = None,
    max_n: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> CheckResult:
    """Compare the semantics, hard attention and the network on words of length 1 to max_n; the data that `hardsim
    check` renders.

    A Model is checked as it is compiled; a Formula or a path is compiled with the model options first.

    Raises:
        hardsim.errors.InputError: as `load` and `Formula.compile`.
    """
    if isinstance(formula, str | Path):
        formula = load(formula)
    if isinstance(formula, Formula):
        formula = formula.compile(regime, beta=beta, tau=tau, at=at, single_head=single_head, counting=counting)
    elif _options(regime, beta, tau, at, single_head, counting) != ModelOptions():
        raise InputError("a compiled model has its own regime, beta, tau, at and single_head")
    chosen = options or CheckOptions()
    if max_n is not None:
        chosen = replace(chosen, max_n=max_n)
    return combined.check_with_proof(formula.subject, chosen, progress)


def _options(
    regime: str,
    beta: Fraction | int | str | None,
    tau: Arith | str | None,
    at: At | None,
    single_head: bool,
    counting: Method | None,
) -> ModelOptions:
    exact = None if beta is None else Fraction(beta)
    schedule = parse_arith(tau, ("i", "n"), "tau") if isinstance(tau, str) else tau
    return ModelOptions(regime, exact, schedule, at, single_head, counting)


def _word(word: str | Sequence[str], alphabet: tuple[str, ...]) -> Word:
    return parse_word(word, alphabet) if isinstance(word, str) else tuple(word)
