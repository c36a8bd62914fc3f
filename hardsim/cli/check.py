"""`hardsim check`: the main job."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hardsim.cli import failures
from hardsim.cli import options as opt
from hardsim.cli.options import Request
from hardsim.cli.progress import announcement, bar
from hardsim.cli.session import Session, session
from hardsim.cli.streams import note, say

if TYPE_CHECKING:
    from hardsim.checking.attention_open import AttentionInput
    from hardsim.checking.attention_result import AttentionResult
    from hardsim.checking.campaign import CheckOptions
    from hardsim.checking.result import CheckResult, Verdict
    from hardsim.checking.subject import Subject

HELP = """Compile formulas into softmax transformers and check them word by word.

FILE is a formula file (.ltl), an S-RASP program (.srasp), a hard-attention model (.ahat.json), a compiled model
(.json), or a directory of them; there may be several.

Each formula is compiled into a transformer with rational weights, which is run on every word of each length up to
--max-n as long as a length has at most --exhaustive words, and on structured and random words beyond. On each word
three answers must agree: the formula's own semantics (oracle), hard attention in exact arithmetic (hard), and the
softmax network (soft), whose output must be exactly 0 or exactly 1. The network is run with rigorous error bounds, so
that agreement is CERTIFIED for the words tried (--engine auto; mpmath is an arithmetic without bounds: OBSERVED).

Printed are, for each length, the words tried, mismatches, the acceptance gap (least output among accepted words minus
largest among rejected ones before rounding), the least margin (distance of an attended value from its threshold), the
least score gap, the largest error of an attended value (soft minus hard) and its bound from theory; then the verdict
and how far it reaches, with the shortest mismatching word if there is one. With several inputs the tables are left
out, and a summary ends the report (--tables prints them all the same).

A hard-attention model, or a program compiled into one, is run exactly and as a softmax model with the same parameters,
at the temperature that Theorem 26 gives for its score gap (or at --tau), in ball arithmetic. Every activation is
compared with the hard one; errors stand beside the theorem's bounds.

\b
Examples:
  hardsim check flipflop.ltl
  hardsim check flipflop.ltl --max-n 64 --workers 2
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
    with session("check", json, seed) as current:
        given = list(current.read(files, expression, alphabet))
        several = len(given) + len(current.errors) > 1
        work = _Work(current, request, options, workers, tables if tables is not None else not several, wanted)
        for one in given:
            current.each(one, request, work.check, work.check_model)
            if current.interrupted:
                break
        work.summary()


class _Work:
    """Checks subjects one after the other and prints each as soon as it is done."""

    def __init__(
        self,
        current: Session,
        request: Request,
        options: CheckOptions,
        workers: int | None,
        tables: bool,
        wanted: Verdict | None,
    ) -> None:
        self.current = current
        self.request = request
        self.options = options
        self.workers = workers
        self.tables = tables
        self.wanted = wanted
        self.results: list[CheckResult | AttentionResult] = []

    def check(self, subject: Subject) -> None:
        """Check one subject; after an interruption the others are left alone."""
        from hardsim.checking.campaign import check_subject, default_workers
        from hardsim.report.check import print_check
        from hardsim.report.json import check_json

        if self.current.interrupted:
            return
        options = replace(self.options, workers=self.workers or default_workers(subject, self.options))
        warning = announcement(subject, options)
        if warning is not None:
            note(f"{subject.name}: {warning}")
        with bar(subject.name) as shown:
            result = check_subject(subject, options, None if shown is None else shown.update)
        self.results.append(result)
        self.current.results.append(check_json(result))
        print_check(self.current.screen, result, subject.file.alphabet, self.tables)
        self._conclude(result)

    def check_model(self, given: AttentionInput) -> None:
        """Check one hard-attention model or program."""
        from hardsim.checking.attention_campaign import attention_workers, check_attention
        from hardsim.report.attention import print_attention
        from hardsim.report.attention_json import attention_json

        if self.current.interrupted:
            return
        workers = self.workers or attention_workers(given.subject, self.options)
        options = replace(self.options, workers=workers)
        with bar(given.name) as shown:
            update = None if shown is None else shown.update
            result = check_attention(given.subject, options, self.request.attention(), update)
        self.results.append(result)
        self.current.results.append(attention_json(result))
        print_attention(self.current.screen, result, given.alphabet, self.tables)
        self._conclude(result)

    def _conclude(self, result: CheckResult | AttentionResult) -> None:
        """The exit code that a verdict means."""
        from hardsim.checking.result import Verdict

        self.current.screen.flush()
        if result.verdict is Verdict.REFUTED:
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

        if self.wanted is None or result.verdict.value == "REFUTED" or result.verdict.reaches(self.wanted):
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


def _advice(result: CheckResult | AttentionResult, wanted: Verdict) -> str:
    """What leads to a stronger verdict."""
    from hardsim.checking.result import AUTO, MPMATH, Verdict

    if wanted is Verdict.PROVED:
        return "A check of single words is no proof: ask for --require certified, or prove the model."
    if result.engine == MPMATH:
        return f"mpmath encloses nothing: use --engine {AUTO}, the default."
    if not result.lengths:
        return "No word was tried: run it again."
    return f"Some words were not decided: use --engine {AUTO}, the default, or another --beta."
