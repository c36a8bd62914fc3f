"""`hardsim bound`: what theory allows, beside what happens."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from hardsim.checking.interrupts import held, interruptible
from hardsim.cli import failures
from hardsim.cli import options as opt
from hardsim.cli.crews import Crews, crews
from hardsim.cli.estimate import Foresight, announce, bound_cost
from hardsim.cli.options import Request
from hardsim.cli.progress import bar
from hardsim.cli.session import Session, session
from hardsim.cli.sink import Sink
from hardsim.cli.streams import say
from hardsim.errors import InputError

if TYPE_CHECKING:
    from hardsim.checking.attention import AttentionOptions
    from hardsim.checking.attention_open import AttentionInput
    from hardsim.checking.bound import BoundSubject
    from hardsim.checking.bound_result import BoundResult
    from hardsim.checking.campaign import CheckOptions
    from hardsim.checking.critical import CriticalResult
    from hardsim.checking.subject import Subject

HELP = """Report score gaps, temperatures and errors: what the theory allows against what happens.

FILE is a formula file (.ltl), an S-RASP program (.srasp), a hard-attention model (.ahat.json), a compiled model
(.json), or a directory of them; there may be several. With --gap alone and no FILE: everything that is shipped.

For each length are printed the least score gap, measured beside declared; the largest activation; Theorem 26's
temperature for the wanted error, the largest temperature of a grid up to which softmax is right on every word tried,
and the next one with a word on which it is wrong (rightness is not monotone in the temperature, so every temperature of
the grid below is tried; beyond --exhaustive words, words are searched for that make it hard); the largest error beside
its bound, at the theorem's temperature (of a formula: at the regime's temperature and --beta, or at --tau); the bits of
precision that settle every answer; and what a rounding feed-forward network would need instead (Lemma 27). Then each
head, and the growth with n beside the theorem's.

With --critical instead: how small beta, the inverse-temperature constant of every head, may be for all words of each
length, and for every length, between two ends. At the upper end all words are proved right (see `prove`), at the lower
one a word is wrong; both are rigorous, and next to each other where the bracket is closed. What lies between, or below
the lower end, is not claimed: rightness need not be monotone.

\b
Examples:
  hardsim bound since.ltl --regime all
  hardsim bound dyck2.srasp --max-n 5
  hardsim bound model.ahat.json --epsilon 1/100 --json bound.json
  hardsim bound --gap                       (a short report on everything shipped)
  hardsim bound since.ltl --max-n 32 --plot since.svg
  hardsim bound since.ltl --critical        (the least beta, between a proof and a word)
  hardsim bound sort.srasp --workers 2      (the lengths are shared)
"""

BITS = "a bound report finds for itself how many bits settle every answer"
BALLS = "the least beta is found by the prover, in one process and in arithmetic of its own"

Gap = Annotated[bool, typer.Option("--gap", help="Score gaps only: a short report for continuous integration.")]
Critical = Annotated[
    bool,
    typer.Option(
        "--critical", help="How small beta may be for all words of a length, and of every length (formulas only)."
    ),
]
Plot = Annotated[
    str | None,
    typer.Option("--plot", metavar="OUT.svg", help="Draw gap, error and temperature against n (needs hardsim[plot])."),
]


def bound(
    files: opt.Files = None,
    gap: Gap = False,
    critical: Critical = False,
    max_n: opt.MaxLength = 8,
    exhaustive: opt.Exhaustive = 256,
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
    dps: opt.Digits = None,
    workers: opt.Workers = None,
    backend: opt.Backend = "local",
    scheduler: opt.Scheduler = None,
    plot: Plot = None,
    tables: opt.Tables = None,
    json: opt.JsonPath = None,
    expression: opt.Expression = None,
    alphabet: opt.Alphabet = None,
) -> None:
    """The command; its manual is `HELP`."""
    from hardsim.checking.campaign import CheckOptions

    request = Request(regime, beta, tau, at, single_head, counting, epsilon)
    request.options()
    opt.check_engine(engine)
    _refuse_with_critical(critical, gap, plot, beta)
    if plot is not None:
        _need_matplotlib(plot)
    target = None if plot is None else Sink(plot, "--plot")
    paths = _paths(files, gap, expression)
    options = CheckOptions(max_n, exhaustive, samples, seed, engine=engine)
    unused = _unused(critical, engine, dps, workers, backend)
    try:
        with crews(backend, scheduler, workers) as staff, session("bound", json, seed) as current:
            current.without(unused, BALLS if critical else BITS)
            if target is not None:
                current.outputs.append(target)
            given = list(current.read(paths, expression, alphabet, at))
            several = len(given) + len(current.errors) > 1 or gap
            shown = tables if tables is not None else not several
            work = _Critical(current, max_n, shown) if critical else _Work(current, request, options, gap, shown, staff)
            if not critical:
                staff.join()
            for one in given:
                current.each(one, request, work.report, work.report_model)
                if current.interrupted:
                    break
            work.summary()
            if target is not None and isinstance(work, _Work):
                _draw(work.results, target)
    finally:
        if target is not None:
            target.discard()


def _unused(critical: bool, engine: str, dps: int | None, workers: int | None, backend: str) -> dict[str, bool]:
    """Which of the options that every command has were given, and have no use in this report."""
    unused = {"--dps": dps is not None}
    if critical:
        unused |= {"--engine": engine != "auto", "--workers": workers is not None, "--backend": backend != "local"}
    return unused


def _refuse_with_critical(critical: bool, gap: bool, plot: str | None, beta: Fraction | None) -> None:
    """Refuse what --critical leaves no room for.

    Raises:
        InputError: if --critical is given with one of the others.
    """
    given = {"--gap": gap, "--plot": plot is not None, "--beta": beta is not None}
    for option in (option for option, there in given.items() if critical and there):
        raise InputError(
            f"--critical looks for the least beta, so {option} does not apply", hint=f"Leave {option} out."
        )


def _paths(files: list[str] | None, gap: bool, expression: str | None) -> list[str] | None:
    """The files to read: with --gap and none named, the shipped ones."""
    if files or expression is not None or not gap:
        return files
    from hardsim.examples import formulas_directory

    return [str(formulas_directory())]


def _need_matplotlib(path: str) -> None:
    """Refuse a plot before anything is computed.

    Raises:
        InputError: if matplotlib is not installed, or the name has no suffix that it can draw.
    """
    from importlib.util import find_spec

    if not path.endswith(".svg"):
        raise InputError(f"--plot {path}: plots are SVG files", hint="Give a name that ends in .svg.")
    if find_spec("matplotlib") is None:
        raise InputError(
            "--plot needs matplotlib, which is not installed", hint='Install it: pip install "hardsim[plot]"'
        )


def _draw(results: list[BoundResult], target: Sink) -> None:
    from hardsim.report.plot import draw

    target.write(draw(results))


class _Critical:
    """Looks for the least beta of one formula after the other."""

    def __init__(self, current: Session, max_n: int, tables: bool) -> None:
        self.current = current
        self.max_n = max_n
        self.tables = tables
        self.results: list[CriticalResult] = []

    def report(self, subject: Subject) -> None:
        """The brackets of a formula in one regime."""
        from hardsim.checking.critical import critical
        from hardsim.report.critical import critical_json, print_critical

        if self.current.interrupted:
            return
        with held():
            result = critical(subject, self.max_n, Foresight(subject.name, "lengths"))
            self.results.append(result)
            self.current.results.append(critical_json(result))
            print_critical(self.current.screen, result, subject.file.alphabet, self.tables)
            self.current.screen.flush()
            if result.partial:
                self.current.interrupted = True
                say(f"interrupted: the report on {result.name} is partial")
            elif result.every.proved is None:
                self.current.codes.append(failures.UNDECIDED)

    def report_model(self, given: AttentionInput) -> None:
        """A hard-attention model has no such bracket: its words are not proved all at once.

        Raises:
            InputError: always.
        """
        raise InputError(
            f"{given.name} is no formula: --critical covers formulas and what was compiled from them",
            hint="Leave out --critical: the report gives the temperatures at which words tried are right and wrong.",
        )

    def summary(self) -> None:
        """One row per result, where there are several."""
        from hardsim.report.critical import print_criticals

        if len(self.results) > 1:
            print_criticals(self.current.screen, self.results)


class _Work:
    """Reports on one input after the other."""

    def __init__(
        self, current: Session, request: Request, options: CheckOptions, gap: bool, tables: bool, staff: Crews
    ) -> None:
        self.staff = staff
        self.current = current
        self.request = request
        self.options = options
        self.gap = gap
        self.tables = tables
        self.results: list[BoundResult] = []

    def report(self, subject: Subject) -> None:
        """The report on a formula in one regime."""
        from hardsim.checking.attention import AttentionOptions
        from hardsim.checking.sources import formula_bounds

        # The budget of the subject already has --tau and --beta.
        choice = AttentionOptions(epsilon=self.request.epsilon)
        self._report(formula_bounds(subject, scaled=not self.gap), subject.file.alphabet, choice)

    def report_model(self, given: AttentionInput) -> None:
        """The report on a hard-attention model or program."""
        from hardsim.checking.sources import attention_bounds

        self._report(attention_bounds(given.subject), given.alphabet, self.request.attention())

    def _report(self, target: BoundSubject, alphabet: tuple[str, ...], choice: AttentionOptions) -> None:
        from hardsim.checking.attention_campaign import attention_workers
        from hardsim.checking.bound import BoundOptions, bound_report

        if self.current.interrupted:
            return
        name = target.subject.name
        wanted = BoundOptions(gap=self.gap, choice=choice)
        crew = self.staff.crew(lambda: 1 if self.gap else attention_workers(target.subject, self.options))
        with held():
            with bar(name) as shown:
                if not self.gap:
                    with interruptible():
                        announce(name, bound_cost(target, self.options, wanted), crew.workers)
                result = bound_report(target, self.options, wanted, None if shown is None else shown.update, crew)
            self._conclude(result, alphabet)

    def _conclude(self, result: BoundResult, alphabet: tuple[str, ...]) -> None:
        """Print a result, and the exit code that it means."""
        from hardsim.checking.result import Verdict
        from hardsim.report.bound import bound_json, print_bound

        self.results.append(result)
        self.current.results.append(bound_json(result))
        if not self.gap:
            print_bound(self.current.screen, result, alphabet, self.tables)
        elif not result.agreed:
            print_bound(self.current.screen, result, alphabet, tables=False)
        self.current.screen.flush()
        if not result.agreed:
            self.current.codes.append(failures.MISMATCH)
        elif result.verdict is Verdict.UNDECIDED:
            self.current.codes.append(failures.UNDECIDED)
        if result.partial:
            self.current.interrupted = True
            say(f"interrupted: the report on {result.name} is partial")

    def summary(self) -> None:
        """One row per result, where there are several or gaps alone were asked for."""
        from hardsim.report.bound import print_gaps, print_summary

        if self.gap:
            print_gaps(self.current.screen, self.results)
        elif len(self.results) > 1:
            print_summary(self.current.screen, self.results)
