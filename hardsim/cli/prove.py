"""`hardsim prove`: all words at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hardsim.checking.interrupts import held, interruptible
from hardsim.cli import failures
from hardsim.cli import options as opt
from hardsim.cli.options import ALL, Request
from hardsim.cli.proof_progress import announcement, attention_announcement, bar, certificate_announcement
from hardsim.cli.session import Session, session
from hardsim.cli.sink import STDOUT, Sink
from hardsim.cli.streams import note, say
from hardsim.errors import InputError

if TYPE_CHECKING:
    from hardsim.checking.attention import AttentionSubject
    from hardsim.checking.attention_open import AttentionInput
    from hardsim.checking.prove import ProveResult
    from hardsim.checking.prove_attention import AttentionProof
    from hardsim.checking.subject import Subject

R = TypeVar("R")
Told = Callable[[int, int], None]

HELP = """Prove that a compiled transformer is right on every word of some lengths, from its weights.

FILE is a formula file (.ltl), an S-RASP program (.srasp), a hard-attention model (.ahat.json), a compiled model
(.json), or a directory of them; there may be several.

After every rounding the network's Booleans are exactly 0 or 1, so each attention head can be judged on all words at
once: what it reads at a position is one of a few local types, and the worst choice of a type for every position
bounds all words. The proof has two links: the softmax network does what its hard heads do (numerically, from its
matrices, encodings, masks and temperature), and the hard heads compute the formula (the truth tables of the
feed-forward parts, and one lemma per operator).

Printed are, for each head, its worst case over all words: the largest error, the least margin (distance of a clip's
input from the threshold that it must have passed), the position, and the local types that attain it; then the
verdict. PROVED speaks of every word; up to 1,000 words are run after it all the same, in rigorous arithmetic, and one
that contradicts it is an internal error (exit code 4). Where the proof fails, short words and those that the worst
case suggests are tried: REFUTED names a word, and otherwise the answer is UNDECIDED (worst cases may not belong to any
word).

Of a program or a hard-attention model it is proved that softmax answers as hard attention does, by the error recursion
of Theorem 26: with the gaps and ranges of the program's constructions where no integer can leave its range, else with
exact hard attention on every word of a length (up to 20,000 words; without --max-n the lengths that have no more).

--min-n N proves the lengths from N on, and with the same --max-n a single length, which may be long: every length up
to N costs up to N times as much. In the causal regimes, where nothing depends on the length of the word, the longest
length proves all shorter ones.

With --all-n a second argument covers every length: the logits are rational functions of positions and length, a rate
at which positions fall behind the winner is read off their coefficients, and a series in closed form bounds the error
of the head. It is printed so that it can be checked by hand. Where it does not go through the reason is printed, and
the verdict is UNDECIDED; with --max-n too it is PROVED for the lengths up to that. Of programs and hard-attention
models there is no such argument.

\b
Examples:
  hardsim prove flipflop.ltl
  hardsim prove formulas/ --regime all --max-n 64
  hardsim prove formulas/ --regime all --all-n     (every length)
  hardsim prove flipflop.ltl --min-n 4096 --max-n 4096
  hardsim prove since.ltl --beta 1                (refuted by a word)
  hardsim prove model.json --heads-only           (claims nothing about a formula)
  hardsim prove since.ltl --max-n 16 --certificate since.cert.json

With --certificate the proof is written down so that `hardsim verify` can check it again, with code that shares nothing
with this command's.
"""

HeadsOnly = Annotated[
    bool,
    typer.Option(
        "--heads-only", help="Prove only that the network does what its heads' specification says; no formula."
    ),
]
AllLengths = Annotated[
    bool,
    typer.Option(
        "--all-n",
        help="Prove it for every length, with an argument that can be checked by hand; and to --max-n by other means.",
    ),
]
Search = Annotated[
    int,
    typer.Option(
        "--search",
        metavar="M",
        parser=opt.integer(0, opt.LARGEST_COUNT),
        help="Where there is no proof, try every word of the short lengths that have at most M words together.",
    ),
]
Certificate = Annotated[
    str | None,
    typer.Option(
        "--certificate",
        metavar="PATH",
        help="Write what `hardsim verify` needs to check the proof; '-' is standard output. It is checked first.",
    ),
]


def prove(
    context: typer.Context,
    files: opt.Files = None,
    max_n: opt.MaxLength = 64,
    min_n: opt.MinLength = 1,
    all_n: AllLengths = False,
    heads_only: HeadsOnly = False,
    search: Search = 2000,
    certificate: Certificate = None,
    regime: opt.Regime = "temperature",
    beta: opt.Beta = None,
    tau: opt.Tau = None,
    at: opt.Position = None,
    single_head: opt.SingleHead = False,
    counting: opt.Counting = None,
    epsilon: opt.Epsilon = None,
    engine: opt.Engine = "auto",
    dps: opt.Digits = None,
    workers: opt.Workers = None,
    tables: opt.Tables = None,
    json: opt.JsonPath = None,
    expression: opt.Expression = None,
    alphabet: opt.Alphabet = None,
) -> None:
    """The command; its manual is `HELP`."""
    request = Request(regime, beta, tau, at, single_head, counting, epsilon)
    request.options()
    _ordered(min_n, max_n, _given(context, "max_n"))
    opt.check_engine(engine)
    unused = {"--engine": engine != "auto", "--dps": dps is not None, "--workers": workers is not None}
    target = None if certificate is None else _target(certificate, request, heads_only, max_n, json)
    try:
        with session("prove", json, quiet=certificate == STDOUT) as current:
            current.without(unused, "a proof is one process, in rigorous arithmetic of its own")
            if target is not None:
                current.outputs.append(target)
                if current.sink is not None and current.sink.same(target):
                    raise InputError(f"--certificate and --json both write {certificate}", hint="Name two files.")
            given = list(current.read(files, expression, alphabet, at))
            several = len(given) + len(current.errors) > 1
            if several and target is not None:
                raise InputError("one certificate is of one input, and there are several", hint="Give one of them.")
            aim = _Aim(min_n, max_n, _given(context, "max_n"), all_n, heads_only, search)
            work = _Work(current, request, aim, tables if tables is not None else not several, target)
            for one in given:
                current.each(one, request, work.prove, work.prove_model)
                if current.interrupted:
                    break
            work.summary()
    finally:
        if target is not None:
            target.discard()


def _target(path: str, request: Request, heads_only: bool, max_n: int, json: str | None) -> Sink:
    """Where the certificate goes.

    Raises:
        InputError: if there cannot be one, or it cannot be written there.
    """
    from hardsim.sections import LARGEST

    if request.regime == ALL:
        raise InputError("one certificate is of one network: --regime all is several", hint="Name one regime.")
    if heads_only:
        raise InputError(
            "a certificate says that the network computes the formula, and --heads-only claims nothing about it",
            hint="Leave out one of --certificate and --heads-only.",
        )
    if max_n > LARGEST:
        raise InputError(
            f"certificates go up to length {LARGEST}, not {max_n:,}",
            hint=f"Use --max-n {LARGEST} or less (the checker's exact arithmetic takes hours beyond), or leave out "
            "--certificate.",
        )
    if path == STDOUT == json:
        raise InputError("--certificate - and --json - both want standard output", hint="Give one of them a file.")
    return Sink(path, "--certificate")


def _ordered(min_n: int, max_n: int, given: bool) -> None:
    """Hold that there is a length to prove.

    Raises:
        InputError: if the smallest is larger than the largest.
    """
    if min_n > max_n:
        largest = f"--max-n {max_n}" if given else f"the largest, {max_n} unless --max-n says otherwise"
        raise InputError(
            f"--min-n {min_n} is larger than {largest}", hint=f"For length {min_n:,} alone add --max-n {min_n}."
        )


def _given(context: typer.Context, name: str) -> bool:
    """Whether an option was written on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@dataclass(frozen=True, slots=True)
class _Aim:
    """What is to be proved. `bounded` says that a largest length was asked for: where every length was asked for too
    and is not proved, the proof up to that length is an answer. Without it a model is proved as far as can be."""

    min_n: int
    max_n: int
    bounded: bool
    all_n: bool
    heads_only: bool
    search: int


class _Work:
    """Proves subjects one after the other and prints each as soon as it is done."""

    def __init__(self, current: Session, request: Request, aim: _Aim, tables: bool, target: Sink | None = None) -> None:
        self.current = current
        self.target = target
        self.request = request
        self.aim = aim
        self.tables = tables
        self.results: list[ProveResult] = []

    def prove(self, subject: Subject) -> None:
        """Prove one subject; after an interruption the others are left alone."""
        from hardsim.checking.prove import confirmed, prove_subject
        from hardsim.checking.result import Verdict
        from hardsim.report.prove import print_proof, prove_json

        if self.current.interrupted:
            return
        aim = self.aim
        warning = announcement(subject, aim.min_n, aim.max_n)
        if warning is not None:
            note(f"{subject.name}: {warning}")
        with held():
            result = self._settled(
                subject.name,
                subject.facts.regime,
                "heads",
                lambda report: prove_subject(
                    subject,
                    aim.max_n,
                    aim.heads_only,
                    aim.search,
                    aim.all_n,
                    min_n=aim.min_n,
                    bounded=aim.bounded,
                    report=report,
                ),
            )
            if result is None:
                return
            with interruptible():
                result = confirmed(subject, result)
            self.results.append(result)
            self.current.results.append(prove_json(result))
            print_proof(self.current.screen, result, subject.file.alphabet, self.tables)
            self._conclude(result)
        if self.target is not None and result.verdict is Verdict.PROVED and not self.current.interrupted:
            self._certify(subject, self.target)

    def prove_model(self, given: AttentionInput) -> None:
        """Prove one hard-attention model or program.

        Raises:
            InputError: if a certificate was asked for, which is of a formula's network.
        """
        if self.target is not None:
            raise InputError(
                f"{given.name} is no formula, and certificates are of the networks of formulas",
                hint="Leave out --certificate.",
            )
        from hardsim.checking.prove_attention import confirmed, prove_attention, unproved_for_every_length
        from hardsim.report.prove_attention import attention_proof_json, print_attention_proof

        if self.current.interrupted:
            return
        aim, subject, choice = self.aim, given.subject, self.request.attention()
        max_n = aim.max_n
        if not aim.all_n or aim.bounded:
            max_n = self._longest(subject)
            warning = attention_announcement(subject, aim.min_n, max_n, choice)
            if warning is not None:
                note(f"{given.name}: {warning}")

        def prove_it(report: Told | None) -> AttentionProof:
            if aim.all_n and not aim.bounded:
                return unproved_for_every_length(subject, max_n, aim.min_n)
            return prove_attention(subject, max_n, choice, aim.search, min_n=aim.min_n, report=report)

        with held():
            result = self._settled(given.name, None, "lengths", prove_it)
            if result is None:
                return
            if not aim.all_n or aim.bounded:
                with interruptible():
                    result = confirmed(subject, result)
            self.current.results.append(attention_proof_json(result))
            print_attention_proof(self.current.screen, result, given.alphabet, self.tables)
            self._conclude(result)

    def _settled(self, name: str, regime: str | None, unit: str, prove: Callable[[Told | None], R]) -> R | None:
        """What a proof, or the search after it, comes to; None where it was interrupted: then nothing is claimed."""
        try:
            with interruptible(), bar(name, unit) as report:
                return prove(report)
        except KeyboardInterrupt:
            self.current.interrupted = True
            self.current.remark(name, regime, "interrupted before there was a verdict: nothing is claimed")
            return None

    def _longest(self, subject: AttentionSubject) -> int:
        """The longest length to prove: what was asked for, else what can be done; said where these differ."""
        from hardsim.checking.prove_attention import EVERY, longest

        aim = self.aim
        possible = longest(subject, aim.max_n)
        if possible == aim.max_n:
            return aim.max_n
        limit = f"every word of a length is run for a proof, and length {possible + 1} has more than {EVERY:,}"
        if aim.bounded or possible < aim.min_n:
            advice = f" (--max-n {possible} goes as far as there is)" if possible >= aim.min_n else ""
            self.current.remark(subject.name, None, f"{limit}: of that and longer ones there is no proof{advice}")
            return aim.max_n
        self.current.remark(subject.name, None, f"{limit}: proved is up to length {possible}")
        return possible

    def _conclude(self, result: ProveResult | AttentionProof) -> None:
        """The exit code that a verdict means."""
        from hardsim.checking.result import Verdict

        self.current.screen.flush()
        if result.verdict is Verdict.REFUTED:
            self.current.codes.append(failures.MISMATCH)
        elif result.verdict is Verdict.UNDECIDED:
            self.current.codes.append(failures.UNDECIDED)
        if result.confirmed is not None and result.confirmed.partial:
            self.current.interrupted = True
            say(f"interrupted: {result.name} was proved, but not all words were run that are run after a proof")

    def _certify(self, subject: Subject, target: Sink) -> None:
        """Write the certificate of a subject that was proved.

        Raises:
            Undecided: if the checker does not follow the proof.
        """
        from hardsim.checking.certificate import certificate, certificate_text

        warning = certificate_announcement(subject, self.aim.min_n, self.aim.max_n)
        if warning is not None:
            note(f"{subject.name}: {warning}")
        document = certificate(subject, self.aim.max_n, self.aim.min_n)
        target.write(certificate_text(document))
        self.current.screen.line(f"certificate, checked: {target.path} (model sha256 {document['digests']['model']})")

    def summary(self) -> None:
        """One row per result, where there are several."""
        from hardsim.report.prove import print_proofs

        if len(self.results) > 1:
            print_proofs(self.current.screen, self.results)
