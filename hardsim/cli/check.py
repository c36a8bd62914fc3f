"""The command `hardsim check`: check subjects on words, and try to prove them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import replace
from functools import partial

from hardsim.campaign.check import CheckOptions, check_options_of, default_workers, require_one_choice
from hardsim.campaign.checkpoint import Checkpoint, checkpoint_of, remembering
from hardsim.campaign.interrupts import uninterrupted
from hardsim.campaign.result import CheckResult, Verdict
from hardsim.campaign.workers import Crews, LocalCrew, crews, need
from hardsim.cli.activity import still
from hardsim.cli.ahead import Ahead, OnTarget
from hardsim.cli.estimate import Bar, patient, words_bar
from hardsim.cli.pin import pin, require_pinnable, require_placed
from hardsim.cli.session import ResultText, Session, check_source, session
from hardsim.cli.streams import note
from hardsim.errors import InputError
from hardsim.files import same_file
from hardsim.lazy_dataclass import dataclass
from hardsim.options.table import Request
from hardsim.proving.proof_before_words import check_with_proof
from hardsim.report.check import Listing, print_check, print_list, print_unproved, print_verdict
from hardsim.report.screen import Screen
from hardsim.targets.base import Target
from hardsim.targets.external import External
from hardsim.targets.result import AUTO, MPMATH
from hardsim.targets.subject import Subject

LONG_WORD = 4_096
"""Number of symbols from which a single word may take long."""
COMPILED = (".ltl", ".srasp", ".cr", ".ahat.json")
"""Suffixes of files whose content cannot make them external networks."""
REQUIRED = {None: None, "proved": Verdict.PROVED, "certified": Verdict.CERTIFIED}


def command(request: Request) -> None:
    """Run `hardsim check` as requested, and print its results."""
    require_options(request)
    require_pinnable(request)
    with crews(request, note, still) as staff, session("check", request, request.seed) as current, ExitStack() as stack:
        # All inputs are read before the first is checked, so that bad input is reported early.
        given = list(current.read())
        if (request.against is not None or request.data) and not given:
            return  # the error has been reported
        compiled = [one.name for one in given if not one.is_network]
        _require_proof_of_itself(request, compiled)
        require_placed(request, given)
        kept = _checkpoint(current)
        if kept is not None:
            stack.callback(kept.close)
        if kept is None or not kept.complete:
            # A complete checkpoint needs no workers.
            staff.join()
        tables = current.tables(given)
        networks = all(one.is_network for one in given)
        listing = Listing(current.screen, [one.name for one in given], request.regime, networks)
        blocks = tables or not current.several(given)
        # A checkpoint keeps the words of one input after the other.
        tasks = current.tasks(given) if kept is None else []
        ahead = stack.enter_context(closing(Ahead(staff, request, OnTarget(checked), tasks)))
        work = Work(current, staff, tables, None if blocks else listing, kept, current.several(given), ahead)
        current.all(given, work.check, work.network)
        with current.printing():
            listing.end()
        if len(current.results) > 1 and not request.quiet:
            if blocks:
                print_list(current.screen, current.results)
            print_unproved(current.screen, current.results)
        pin(current, given)
        if kept is not None and not current.interrupted:
            kept.finish()


def require_options(request: Request) -> None:
    """Require that the options of a check have values, and go together, whatever the files are. Raises InputError,
    naming an option."""
    if request.require not in REQUIRED:
        message = f"--require must be proved or certified, not {request.require!r}"
        raise InputError(message, "Write --require certified or --require proved.")
    require_one_choice(request)
    if request.data or request.draws is not None:
        _require_proofs(request, "only the given words are run, so no verdict is PROVED")
    _require_proof_of_itself(request, [name for name in request.files or [] if name.endswith(COMPILED)])
    need(request.backend, request.scheduler)
    check_source(request)


def _require_proof_of_itself(request: Request, compiled: Sequence[str]) -> None:
    """Refuse --require proved with --against for files that are compiled. Raises InputError, naming one."""
    if request.against is not None and compiled:
        message = f"a proof about {compiled[0]} says nothing of {request.against}"
        _require_proofs(request, f"{message}, so no verdict of it with --against is PROVED")


def _require_proofs(request: Request, message: str) -> None:
    """Refuse --require proved where nothing can be proved, for the reason in `message`. Raises InputError."""
    if REQUIRED[request.require] is Verdict.PROVED:
        raise InputError(f"--require proved: {message}", "Write --require certified.")


def _checkpoint(current: Session) -> Checkpoint | None:
    """Open the checkpoint file of --resume, existing or new, and return it; None without --resume."""
    request = current.request
    if request.resume is not None and request.json is not None and same_file(request.resume, request.json):
        raise InputError(f"--resume and --json both write {request.resume}", "Name two files.")
    found = checkpoint_of(request, [(one.name, one.sha256, one.alphabet) for one in current.inputs])
    if found is not None:
        found.lost = partial(current.fail, None)  # a lost checkpoint does not lose the results
    if found is not None and found.complete:
        note(f"{found.path} is complete: nothing is run again")
    elif found is not None and found.runs:
        note(f"continuing from {found.path}")
    return found


@dataclass
class Work:
    """Checks subjects one after the other, and prints each result as soon as it is known."""

    current: Session
    staff: Crews
    tables: bool
    listing: Listing | None
    kept: Checkpoint | None
    several: bool
    ahead: Ahead

    def check(self, subject: Subject) -> None:
        """Check the words of one compiled network, and print the result."""
        self.current.precision(subject, self.current.request.max_n)
        self._run(subject, check_options_of(self.current.request, subject))

    def network(self, subject: External) -> None:
        """Check an external network."""
        options, longest = check_options_of(self.current.request, subject), subject.network.longest
        self._run(subject, options)
        unasked = options.words is None and "max_n" not in self.current.request.written and not self.several
        if unasked and longest is not None and longest > options.max_n:
            message = (
                f"the network reads words of up to {longest:,} symbols: --max-n {longest} covers the longer ones, too"
            )
            self.current.remark(subject.name, None, message, tell=note)

    def _run(self, subject: Target, options: CheckOptions) -> None:
        with uninterrupted(), remembering(self.kept, subject.name, subject.regime) as memory:
            result = memory.result or self.current.known(self.ahead)
            if result is None:
                alone = self.ahead.workers > 1  # the other processes have work
                crew = LocalCrew(1) if alone else self.staff.crew(lambda: default_workers(subject, options))
                options = replace(options, workers=crew.workers)
                with words_bar(subject, options) as shown, _long_words(subject, options, shown):
                    result = check_with_proof(subject, options, shown.update, crew, memory)
                if not result.partial:
                    memory.finish(result)
            if not isinstance(result, CheckResult):  # an earlier run may have left anything
                raise TypeError(f"a {type(result).__name__} where a result of a check is kept")
            message = result_text(result, subject.alphabet, self.tables, self.current.request.all_lengths, self.listing)
            left = f"the result of {result.input} is partial: it covers the words tried so far"
            undecided = result.verdict is Verdict.UNDECIDED
            left = left if result.partial else ""
            self.current.conclude(result.agreed, undecided, left, message, self._weaker(result))

    def _weaker(self, result: CheckResult) -> str:
        """Return a message that the verdict is weaker than `--require` asks for, with advice; empty if it is strong
        enough."""
        expected, why = REQUIRED[self.current.request.require], result.unproved
        if expected is None or not result.agreed or result.verdict.reaches(expected):
            return ""
        if expected is Verdict.PROVED:
            found = "The prover found no proof" if why is None or why.attempted else "The prover was not used"
            advice = f"{found}: {'`hardsim prove` shows why' if why is None else why.reason}."
        elif result.engine == MPMATH:
            advice = f"mpmath has no error bounds: use --engine {AUTO}, the default."
        elif not result.words:
            advice = "No word was tried: run the command again."
        else:
            advice = f"Some words were not decided: use --engine {AUTO}, the default, or another --beta."
        return f"the verdict is {result.verdict}, but --require {expected.value.lower()} was given. {advice}"


def checked(request: Request, subject: Target) -> CheckResult:
    """Check the words of one target in this process, without a word on its progress."""
    return check_with_proof(subject, check_options_of(request, subject), None, LocalCrew(1))


def _long_words(subject: Target, options: CheckOptions, shown: Bar) -> AbstractContextManager[None]:
    """Return a context that says, where no bar does, that long words take long: one word has no parts to count."""
    words = () if options.words is None else options.words.times
    longest = max(map(len, words), default=options.max_n)
    if not shown.silent or longest < LONG_WORD:
        return nullcontext()
    return patient(f"{subject.name}: words of up to {longest:,} symbols take long: the time grows with their square")


def result_text(
    result: CheckResult,
    alphabet: Sequence[str],
    tables: bool,
    all_lengths: bool = False,
    listing: Listing | None = None,
) -> ResultText:
    """Return how to print the result of a check: as a block of its own, or as a row of a listing."""
    mismatch, violation = result.mismatch, result.violation
    word = result.undecided_word if mismatch is None else mismatch.word

    def full(screen: Screen) -> None:
        if listing is not None:
            listing.add(result, alphabet)
        else:
            print_check(screen, result, alphabet, tables, all_lengths)

    def brief(screen: Screen) -> None:
        if listing is not None:
            listing.brief(result, alphabet)
        else:
            print_verdict(screen, result, alphabet)

    return ResultText(
        result=result,
        full=full,
        brief=brief,
        details=partial(print_verdict, result=result, alphabet=alphabet),
        regime=result.model.regime,
        word=violation.word if word is None and violation is not None else word,
        alphabet=alphabet,
    )
