"""Hard-attention models and formulas as subjects of checks and bound reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from hardsim.ahat.exact import ExactModel
from hardsim.ahat.file import AhatFile
from hardsim.ahat.harden import harden
from hardsim.checking.attention import AttentionSubject
from hardsim.checking.bound import BoundSubject
from hardsim.checking.result import Word
from hardsim.checking.soft import allowed_error
from hardsim.checking.subject import Subject
from hardsim.errors import InputError
from hardsim.lang.arith import parse_arith
from hardsim.lang.ast import FormulaFile
from hardsim.lang.semantics import Oracle
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.ast import BLANK
from hardsim.lang.srasp.interpreter import ProgramOracle, check_program_examples
from hardsim.lang.vocabulary import brief
from hardsim.rasp.compile import compile_program
from hardsim.spec.ir import Head
from hardsim.spec.regimes import REGIMES
from hardsim.theory.budget import Budget

ASYMPTOTICS = {
    "temperature": "gap Omega(1/n), so Theorem 26 asks for 1/tau = O(n log n); with heads that look for one position "
    "(Lemma 6) 1/tau = beta n is enough",
    "position": "gap Omega(1), so Theorem 26 asks for 1/tau = O(log n); with heads that look for one position (Lemma "
    "6) 1/tau = beta is enough",
    "causal-temperature": "gap Omega(1/i^2), so Theorem 26 asks for 1/tau = O(n^2 log n); with heads that look for one "
    "position (Lemma 6) 1/tau(i) = beta i^2 is enough",
    "causal-position": "gap Omega(1), so Theorem 26 asks for 1/tau = O(log n); with heads that look for one position "
    "(Lemma 6) 1/tau = beta is enough",
    "none": "gap Omega(1/n), so no constant temperature is enough for all n",
}
GENERAL = "Theorem 26: 1/tau = O((1/gap) log(n X/(epsilon gap))); with gap >= n^-k and X <= n^k, O(n^k log n)"
PROGRAM = "gap Omega(n^-3) and X = O(1), so Theorem 26 asks for 1/tau = O(n^3 log n)"


def ahat_subject(file: AhatFile, name: str, sha256: str) -> AttentionSubject:
    """A hard-attention model, after its examples have been held against it.

    Raises:
        InputError: if the model does not decide an example as the file says.
    """
    model = ExactModel(file.model)
    for word, accepted in file.examples:
        answer = model.verdict(model.outputs(model.run([word]))[0])
        if answer is not accepted:
            plain = all(len(symbol) == 1 for symbol in file.model.alphabet)
            shown = brief(("" if plain else " ").join(word))
            found = {True: "accepts", False: "rejects", None: "does not decide"}[answer]
            raise InputError(
                f"{name}: at examples: the model {found} {shown}, which is listed as "
                f"{'accepted' if accepted else 'rejected'}",
                hint="Correct the model, or the example.",
            )
    return AttentionSubject(
        name=name,
        sha256=sha256,
        kind="ahat",
        hard=file.model,
        alphabet=tuple(symbol for symbol in file.model.alphabet if symbol != file.blank),
        examples=file.examples,
        title=file.title,
        outputs=file.outputs,
        blank=file.blank,
        schedule=file.temperature,
        predicates=file.predicates,
    )


def attention_bounds(subject: AttentionSubject) -> BoundSubject:
    """The bound report of a hard-attention model or a program: at the theorem's temperature."""
    return BoundSubject(subject, parse_arith("1"), asymptotics=PROGRAM if subject.kind == "srasp" else GENERAL)


def formula_bounds(subject: Subject, scaled: bool = True) -> BoundSubject:
    """The bound report of a formula in a regime: at the regime's temperature and the budget's beta.

    `scaled` multiplies the scores of heads with a larger beta of their own, so that one temperature serves all.

    Raises:
        InputError: if the network is another one than the specification makes.
    """
    subject.hold_specified("bounds")
    file, program, budget = subject.file, subject.program, subject.budget
    return BoundSubject(
        subject=AttentionSubject(
            name=subject.name,
            sha256=subject.sha256,
            kind="ltl",
            hard=harden(program, budget if scaled else None),
            alphabet=file.alphabet,
            examples=tuple((example.word, example.accept) for example in file.examples),
            title=subject.formula,
            oracle=_Accepts(file),
            rounded=True,
        ),
        schedule=budget.temperature,
        regime=program.regime,
        used=1 / budget.beta,
        allowed=_Allowed({head.name: head for head in program.heads}, budget),
        asymptotics=ASYMPTOTICS[program.regime] if program.regime in REGIMES else "",
    )


class _Accepts:
    """Whether a formula holds of a word; it travels as the formula, without what was computed."""

    def __init__(self, file: FormulaFile) -> None:
        self._file = file
        self._oracle = Oracle(file)

    def __call__(self, word: Word) -> bool:
        return self._oracle.accepts(word)

    def __reduce__(self) -> tuple[type[_Accepts], tuple[FormulaFile]]:
        return _Accepts, (self._file,)


@dataclass(frozen=True)
class _Allowed:
    """What theory allows each head at a length; unlike a function inside a function it can be sent to a worker."""

    heads: Mapping[str, Head]
    budget: Budget

    def __call__(self, name: str, n: int) -> Fraction:
        return allowed_error(self.budget, self.heads[name], n)


def program_subject(program: ast.Program, name: str, sha256: str) -> tuple[AttentionSubject, tuple[str, ...]]:
    """An S-RASP program compiled into a hard-attention model, after its examples have been held against its semantics,
    and where its integers may leave the range of the construction.

    Raises:
        SourceError: if an example is wrong, or a score has no construction (Unsupported).
    """
    check_program_examples(program)
    compiled = compile_program(program)
    oracle = ProgramOracle(program)
    subject = AttentionSubject(
        name=name,
        sha256=sha256,
        kind="srasp",
        hard=compiled.model,
        alphabet=program.alphabet,
        examples=tuple((example.word, None) for example in program.examples),
        title=program.title,
        outputs=compiled.outputs,
        blank=None if program.pad is None else BLANK,
        prepared=compiled.padded,
        oracle=oracle.accepts if program.is_acceptor else oracle.output,
        guard=compiled.check_ranges,
        structural=not compiled.guards,
    )
    return subject, compiled.warnings
