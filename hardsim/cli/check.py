"""`hardsim check`: the main job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from hardsim.checking.interrupts import held, interruptible
from hardsim.cli import failures
from hardsim.cli import options as opt
from hardsim.cli.crews import Crews, crews
from hardsim.cli.estimate import announce, attention_cost, formula_cost
from hardsim.cli.options import Request
from hardsim.cli.progress import bar
from hardsim.cli.session import Session, session
from hardsim.cli.streams import note, say
from hardsim.errors import InputError, InvariantError

if TYPE_CHECKING:
    from hardsim.checking.attention_open import AttentionInput
    from hardsim.checking.attention_result import AttentionResult
    from hardsim.checking.campaign import CheckOptions
    from hardsim.checking.checkpoint import Checkpoint, Memory
    from hardsim.checking.result import CheckResult, Verdict
    from hardsim.checking.subject import Subject

R = TypeVar("R")

HELP = """Compile formulas into softmax transformers and check them word by word.

FILE is a formula file (.ltl), an S-RASP program (.srasp), a hard-attention model (.ahat.json), a compiled model
(.json), or a directory of them; there may be several.

Each formula is compiled into a transformer with rational weights, which is run on every word of each length up to
--max-n as long as a length has at most --exhaustive words, and on structured and random words beyond. On each word
three answers must agree: the formula's own semantics (oracle), hard attention in exact arithmetic (hard), and the
softmax network (soft), whose output must be exactly 0 or exactly 1. The network is run with rigorous error bounds, so
that agreement is CERTIFIED for the words tried (--engine auto). mpmath is an arithmetic without bounds: what it finds,
agreement or a mismatch, is OBSERVED.

Printed are, for each length, the words tried, mismatches, the acceptance gap (least output among accepted words minus
largest among rejected ones before rounding), the least margin (distance of an attended value from its threshold), the
least score gap, the largest error of an attended value (soft minus hard) and its bound from theory; then the verdict
and how far it reaches, with the shortest mismatching word if there is one. With several inputs the tables are left
out, and a summary ends the report (--tables prints them all the same).

A hard-attention model, or a program compiled into one, is run exactly and as a softmax model with the same parameters,
at the temperature that Theorem 26 gives for its score gap (or at --tau), in ball arithmetic. Every activation is
compared with the hard one; errors stand beside the theorem's bounds.

The words are shared by --workers processes, of this machine or of a dask or ray cluster, with the same result. With
--resume a check that was stopped, by whatever, goes on from the words it had done.

\b
Examples:
  hardsim check flipflop.ltl
  hardsim check flipflop.ltl --max-n 64 --workers 2
  hardsim check flipflop.ltl --max-n 500 --resume flipflop.run
  hardsim check flipflop.ltl --backend dask --scheduler tcp://host:8786
  hardsim check flipflop.ltl --backend ray --workers 4
  hardsim check formulas/ --regime all --json report.json
  hardsim check flipflop.ltl --engine ball --require certified
  hardsim check -e 'a S b' --alphabet 'a b c' --beta 1/2
  hardsim check since.ltl --regime none     (fails: Hahn's limit)
  hardsim check model.json
"""


def check(
    files: opt.Files = None,
    max_n: opt.MaxLength = 8,
    exhaustive: opt.Exhaustive = 1024,
    samples: opt.Samples = None,
    seed: opt.Seed = 0,
    regime: opt.Regime = "temperature",
    beta: opt.Beta = None,
    tau: opt.Tau = None,
    at: opt.Position = None,
    single_head: opt.SingleHead = False,
    counting: opt.Counting = None,
    epsilon: opt.Epsilon = None,
    engine: opt.Engine = "auto",
    require: opt.Require = None,
    dps: opt.Digits = None,
    workers: opt.Workers = None,
    backend: opt.Backend = "local",
    scheduler: opt.Scheduler = None,
    resume: opt.Resume = None,
    tables: opt.Tables = None,
    json: opt.JsonPath = None,
    expression: opt.Expression = None,
    alphabet: opt.Alphabet = None,
) -> None:
    """The command; its manual is `HELP`."""
    from hardsim.checking.campaign import CheckOptions

    request = Request(regime, beta, tau, at, single_head, counting, epsilon, dps)
    request.options()
    opt.check_engine(engine)
    wanted = opt.required(require)
    options = CheckOptions(max_n, exhaustive, samples, seed, dps, engine=engine)
    with crews(backend, scheduler, workers) as staff, session("check", json, seed) as current:
        given = list(current.read(files, expression, alphabet, at))
        several = len(given) + len(current.errors) > 1
        kept = None if resume is None else _checkpoint(resume, json, request, options, current)
        if kept is None or not kept.complete:
            staff.join()
        work = _Work(current, request, options, staff, tables if tables is not None else not several, wanted, kept)
        for one in given:
            current.each(one, request, work.check, work.check_model)
            if current.interrupted:
                break
        work.summary()
        if kept is not None and not current.interrupted:
            kept.finish()


def _checkpoint(path: str, json: str | None, request: Request, options: CheckOptions, current: Session) -> Checkpoint:
    """The file of --resume: what it holds, or a new one.

    Raises:
        InputError: if it is of another request, damaged, or something else, or cannot be written.
    """
    from hardsim.checking.checkpoint import Checkpoint, same_file

    for name in (one["name"] for one in current.inputs):
        if same_file(path, name):
            raise InputError(f"--resume {path} would overwrite what is read, {name}", hint="Give it another name.")
    if json is not None and same_file(path, json):
        raise InputError(f"--resume and --json both write {path}", hint="Name two files.")
    wanted = {
        "--max-n": options.max_n,
        "--exhaustive": options.exhaustive,
        "--samples": options.samples,
        "--seed": options.seed,
        "--engine": options.engine,
        "--dps": options.dps,
    }
    inputs = [(one["name"], one["sha256"], one["alphabet"]) for one in current.inputs]
    found = Checkpoint(path, wanted | request.tried(), inputs)
    if found.complete:
        note(f"{path} is complete: nothing is run again")
    elif found.runs:
        note(f"going on from {path}")
    return found


class _Work:
    """Checks subjects one after the other and prints each as soon as it is done."""

    def __init__(
        self,
        current: Session,
        request: Request,
        options: CheckOptions,
        staff: Crews,
        tables: bool,
        wanted: Verdict | None,
        kept: Checkpoint | None,
    ) -> None:
        self.current = current
        self.request = request
        self.options = options
        self.staff = staff
        self.tables = tables
        self.wanted = wanted
        self.kept = kept
        self.results: list[CheckResult | AttentionResult] = []

    @contextmanager
    def _memory(self, name: str, regime: str | None) -> Iterator[Memory]:
        """What is known of an input from an earlier run; what cannot be gone on from is the file's fault.

        Raises:
            InputError: if the file holds what no run can have left there.
        """
        from hardsim.checking.checkpoint import Memory

        memory = Memory() if self.kept is None else self.kept.memory(name, regime)
        known = memory.state is not None or memory.result is not None
        try:
            yield memory
        except (
            ArithmeticError,
            AssertionError,
            AttributeError,
            InvariantError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            if self.kept is None or not known:
                raise
            raise self.kept.unusable(name, error) from None

    def check(self, subject: Subject) -> None:
        """Check one subject; after an interruption the others are left alone."""
        from hardsim.checking.campaign import default_workers
        from hardsim.checking.combined import check_with_proof
        from hardsim.checking.result import CheckResult
        from hardsim.report.check import print_check
        from hardsim.report.json import check_json

        if self.current.interrupted:
            return
        self.current.precision(subject, self.options.max_n, self.options.dps, self.options.engine)
        with held(), self._memory(subject.name, subject.program.regime) as memory:
            result = memory.result
            if result is None:
                crew = self.staff.crew(lambda: default_workers(subject, self.options))
                options = replace(self.options, workers=crew.workers)
                with bar(subject.name) as shown:
                    with interruptible():
                        announce(subject.name, formula_cost(subject, options), crew.workers, memory.words)
                    update = None if shown is None else shown.update
                    result = check_with_proof(subject, options, update, crew, memory)
                if not result.partial:
                    memory.finish(result)
            found: CheckResult = _held(result, CheckResult)
            document = check_json(found)
            print_check(self.current.screen, found, subject.file.alphabet, self.tables)
            self._conclude(found, document)

    def check_model(self, given: AttentionInput) -> None:
        """Check one hard-attention model or program."""
        from hardsim.checking.attention_campaign import attention_workers
        from hardsim.checking.attention_result import AttentionResult
        from hardsim.checking.combined import check_attention_with_proof
        from hardsim.report.attention import print_attention
        from hardsim.report.attention_json import attention_json

        if self.current.interrupted:
            return
        with held(), self._memory(given.name, None) as memory:
            result = memory.result
            if result is None:
                subject, choice = given.subject, self.request.attention()
                crew = self.staff.crew(lambda: attention_workers(subject, self.options))
                options = replace(self.options, workers=crew.workers)
                with bar(given.name) as shown:
                    with interruptible():
                        announce(given.name, attention_cost(subject, options, choice), crew.workers, memory.words)
                    update = None if shown is None else shown.update
                    result = check_attention_with_proof(subject, options, choice, update, crew, memory)
                if not result.partial:
                    memory.finish(result)
            found: AttentionResult = _held(result, AttentionResult)
            document = attention_json(found)
            print_attention(self.current.screen, found, given.alphabet, self.tables)
            self._conclude(found, document)

    def _conclude(self, result: CheckResult | AttentionResult, document: dict[str, Any]) -> None:
        """The exit code that a verdict means."""
        from hardsim.checking.result import Verdict

        self.results.append(result)
        self.current.results.append(document)
        self.current.screen.flush()
        if not result.agreed:
            self.current.codes.append(failures.MISMATCH)
        elif result.verdict is Verdict.UNDECIDED:
            self.current.codes.append(failures.UNDECIDED)
        self._hold(result)
        if result.partial:
            self.current.interrupted = True
            say(f"interrupted: the result of {result.name} is partial, it stands for the words tried until now")

    def _hold(self, result: CheckResult | AttentionResult) -> None:
        """Exit code 3 for a verdict that is weaker than `--require` asks for."""
        from hardsim.checking.result import CheckResult

        if self.wanted is None or not result.agreed or result.verdict.reaches(self.wanted):
            return
        self.current.codes.append(failures.UNDECIDED)
        message = f"the verdict is {result.verdict}, and --require {self.wanted.value.lower()} was given. "
        regime = result.model.regime if isinstance(result, CheckResult) else None
        self.current.remark(result.name, regime, message + _advice(result, self.wanted))

    def summary(self) -> None:
        """One row per result, where there are several."""
        from hardsim.report.check import print_summary

        if len(self.results) > 1:
            print_summary(self.current.screen, self.results)


def _held(result: Any, kind: type[R]) -> R:
    """A result, which an earlier run may have left as something else.

    Raises:
        TypeError: if it did.
    """
    if not isinstance(result, kind):
        raise TypeError(f"a {type(result).__name__} where a {kind.__name__} is kept")
    return result


def _advice(result: CheckResult | AttentionResult, wanted: Verdict) -> str:
    """What leads to a stronger verdict."""
    from hardsim.checking.result import AUTO, MPMATH, Verdict

    if wanted is Verdict.PROVED:
        return (
            "The prover did not settle it (it is asked under --engine auto up to length 64): `hardsim prove` says why."
        )
    if result.engine == MPMATH:
        return f"mpmath encloses nothing: use --engine {AUTO}, the default."
    if not result.lengths:
        return "No word was tried: run it again."
    return f"Some words were not decided: use --engine {AUTO}, the default, or another --beta."
