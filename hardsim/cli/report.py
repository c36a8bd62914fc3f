"""The command `hardsim report`: write the results as a web page and as LaTeX, in a form that can be run again."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, closing, contextmanager, suppress
from dataclasses import field, replace
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typer

from hardsim.campaign.check import CheckOptions, default_workers
from hardsim.campaign.interrupts import uninterrupted
from hardsim.campaign.result import CheckResult
from hardsim.campaign.workers import Crews, crews
from hardsim.cli import exit_codes, streams
from hardsim.cli.activity import still
from hardsim.cli.ahead import Ahead, OnTarget
from hardsim.cli.check import Work, checked
from hardsim.cli.estimate import bar, bound_bars
from hardsim.cli.folders import draft_of, free_directory, refusing_at, require_apart
from hardsim.cli.session import Names, Session, check_source, session
from hardsim.cli.streams import note, say
from hardsim.cli.typer_options import options_of
from hardsim.errors import InputError, Undecided
from hardsim.examples import located
from hardsim.files import STDOUT, Sink, is_directory, read_bytes, require_here
from hardsim.lang.corpus import line_of
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.bound import BoundOptions, BoundResult, bound_report, bound_subject
from hardsim.measuring.trace import TraceResult, trace_target
from hardsim.options.table import OPTIONS, Request
from hardsim.program.file import definitions
from hardsim.proving.prove import ProofResult, confirmed, plan_proof
from hardsim.report import latex, page
from hardsim.report.check import Listing
from hardsim.report.notices import Failure
from hardsim.report.parts import Making, Part
from hardsim.report.plot import require_drawable
from hardsim.report.screen import Screen
from hardsim.report.unused_options import FEWEST, SHORTEST
from hardsim.targets.external import External
from hardsim.targets.opening import read_input
from hardsim.targets.paths import expand_paths, read_with
from hardsim.targets.subject import Subject
from hardsim.version import __version__

INPUTS, RESULTS, COMMAND, SCHEMA_VERSION = "inputs", "results.json", "command.json", 1
UNREADABLE = "unreadable"
"""The key of `command.json` under which the errors of inputs without a copy are kept, if there are any."""
PAGE, PAPER = "index.html", "report.tex"
LEFT_OUT = ("files", "output", "json", "workers", "quiet")
KEPT = [name for name in options_of("report") if name not in LEFT_OUT]
"""Options on which the results depend, which are kept for `replay`."""
PACKAGES = ("numpy", "mpmath", "python-flint")
FORMULA, DEFINING = ".ltl", (".ltl", ".srasp", ".cr")
"""Suffix of formula files; suffixes of files with definitions."""
PARTS = re.compile(r"\s*(let|pred)\b")
ASIDE = re.compile(r"\s*(//|(alphabet|props|source|accept|reject|map)\s*:)")
"""Patterns of lines of a file: lines that define a name; lines that a theorem leaves out, because they do not change
the function that is computed, or because the theorem states them itself."""


def command(request: Request) -> None:
    """Run `hardsim report` as requested, and print its results."""
    check_source(request)
    require_here()
    target = free_directory(request.output, "the report", "report")
    require_apart(request.json, target, "the report")
    alone = request.json == STDOUT  # then the document alone is on standard output
    with draft_of(target) as folder, _document(request.json) as sink:
        draft = folder.path
        originals, written = _copied(request, draft, sink), request.written - {"lines"}
        if len(originals.files) == len(originals.unreadable) == 1:
            raise next(iter(originals.unreadable.values()))
        files = None if request.files is None else originals.files
        copied = replace(request, files=files, lines=False, written=written)
        found = run(copied, draft, draft / RESULTS, Names(originals.names), alone, originals.unreadable)
        if sink is not None and (draft / RESULTS).is_file():
            _write_document(sink, draft / RESULTS, found)
        # Without a complete run there is nothing that `replay` could compare with.
        if found.code == exit_codes.INTERRUPTED or not found.parts or not (draft / RESULTS).is_file():
            say("no report was written")
            raise typer.Exit(found.code)
        try:
            made = copied if files is None else replace(copied, files=originals.copies)
            _write(draft, arguments_of(made), found, originals)
            with uninterrupted(), refusing_at(target):
                folder.commit()
        except InputError as error:  # what was found keeps its exit code
            codes = [found.code, streams.report(error)]
            say("no report was written")
            raise typer.Exit(exit_codes.worst(codes)) from None
    if not (request.quiet or alone):
        where = os.path.join(request.output or "", "index.html")
        Screen().line(f"report: {where} and report.tex; `hardsim replay` runs it again", folds=False)
    raise typer.Exit(found.code)


@contextmanager
def _document(path: str | None) -> Iterator[Sink | None]:
    """Yield the destination of --json; None if the option is not given."""
    if path is None:
        yield None
        return
    with Sink(path, "--json") as sink:
        yield sink


def _write_document(sink: Sink, document: Path, found: ReportRun) -> None:
    """Write the JSON document of a run. An error is added to the exit code: the report is written all the same."""
    try:
        sink.write(document.read_text(encoding="utf-8"))
    except InputError as error:
        code = streams.report(error)
        found.code = found.code if found.code == exit_codes.INTERRUPTED else exit_codes.worst([found.code, code])


# ---- results ----


@dataclass
class ReportRun:
    """The outcome of a run: its exit code, the parts of the pages, and the errors."""

    code: int = exit_codes.AGREED
    parts: list[Part] = field(default_factory=list)
    errors: list[Failure] = field(default_factory=list)


def run(
    request: Request,
    place: Path,
    document: Path,
    called: Names,
    silent: bool = False,
    unreadable: Mapping[str, Exception] | None = None,
) -> ReportRun:
    """Run a report on files with names relative to the directory `place`, and write the JSON document. `called` has
    the names by which printed text calls these files, `unreadable` the errors of those that have no copy there."""
    found = ReportRun()
    try:
        with (
            chdir(place),
            crews(request, note, still) as staff,
            session("report", replace(request, json=str(document)), request.seed) as current,
            ExitStack() as stack,
        ):
            current.called, current.screen = called, Screen(enabled=not silent, called=called.of)
            current.errors, current.unreadable = found.errors, unreadable or {}
            given = list(current.read())
            names, networks = [one.name for one in given], all(one.is_network for one in given)
            listing = Listing(current.screen, names, request.regime, networks)
            ahead = stack.enter_context(closing(Ahead(staff, request, OnTarget(checked), current.tasks(given))))
            work = Work(current, staff, False, listing, None, current.several(given), ahead)
            parts = _Parts(current, staff, work, found.parts)
            current.all(given, parts.subject, parts.network)
            with current.printing():
                listing.end()
    except typer.Exit as left:
        found.code = left.exit_code
    return found


def _wrong_word(check: CheckResult, subject: Subject | External) -> TraceResult | None:
    """Return the trace of the word on which the answers differ; None if there is none, or it has no trace."""
    if check.mismatch is None:
        return None
    with suppress(InputError, Undecided):
        return trace_target(subject, check.mismatch.word)
    return None


@dataclass
class _Parts:
    """Finds all results of one subject after the other."""

    current: Session
    staff: Crews
    work: Work
    parts: list[Part]

    def network(self, subject: External) -> None:
        """Check an external network, which has no hard attention and no proof."""
        self.work.network(subject)
        check = self.current.results[-1]
        self.parts.append(Part(check, subject.alphabet, wrong=_wrong_word(check, subject)))

    def subject(self, subject: Subject) -> None:
        """Check, prove and bound a formula in a regime, a program or a model. A missing proof or bound becomes a
        remark."""
        current = self.current
        self.work.check(subject)
        check = current.results[-1]
        wrong = _wrong_word(check, subject)
        part = Part(check, subject.alphabet, definitions=definitions_of(subject), wrong=wrong)
        # A wrong network needs no proof; its bounds may still explain the failure.
        if part.check.agreed and not current.interrupted:
            part = replace(part, proof=self._tried("no argument for every length", subject, self._proof))
        if not current.interrupted:
            part = replace(part, bound=self._tried("no report on bounds", subject, self._bound))
        self.parts.append(part)

    def _tried(self, otherwise: str, subject: Subject, find: Callable[[Subject], Any]) -> Any:
        try:
            found = find(subject)
        except (InputError, Undecided) as error:
            message = error.message if isinstance(error, InputError) else str(error)
            self.current.remark(subject.name, subject.regime, f"{otherwise}: {message}")
            return None
        self.current.results.append(found)
        return found

    def _proof(self, subject: Subject) -> ProofResult:
        """Return the result of `prove --all-n`."""
        request, longest = self.current.request, OPTIONS["max_n"].default_of("prove")
        plan = plan_proof(subject, replace(request, all_n=True, max_n=longest, written=frozenset()))
        with bar(subject.name, plan.unit, f"{subject.name}: {plan.unit} proved") as shown:
            found = confirmed(plan.prove(shown.show))
        expected = request.all_n and not found.every_length
        if expected:
            self.current.remark(subject.name, subject.regime, "--all-n was given, but not every length is proved")
        self.current.conclude(found.mismatch is None, expected)
        return found

    def _bound(self, subject: Subject) -> BoundResult:
        """Return the result of `bound` for short lengths."""
        request, target = self.current.request, bound_subject(subject, epsilon=self.current.request.epsilon)
        longest, every = min(request.max_n, SHORTEST), min(request.exhaustive, FEWEST)
        options = CheckOptions(longest, every, request.samples, request.seed, engine=request.engine)
        crew = self.staff.crew(lambda: default_workers(target.subject, options))
        with uninterrupted(), bound_bars(subject, options) as shown:
            found = bound_report(target, options, BoundOptions(), shown.update, crew, shown.trials)
            self.current.conclude(found.agreed, False, f"the report on {subject.name} is partial" * found.partial)
        return found


def definitions_of(subject: Subject) -> tuple[str, ...]:
    """Return the lines that a theorem about a subject must show: the lines of a program, or of a formula file with
    definitions, without comments, examples and alphabet. For other inputs they are the subject's own predicates."""
    formula, name = subject.formula, subject.name
    if not name.endswith(DEFINING) or not os.path.isfile(name):
        return subject.predicates if formula is None else definitions(formula)
    lines = read_bytes(name).decode("utf-8-sig").splitlines()
    found = tuple(line.rstrip() for line in lines if line.strip() and not ASIDE.match(line))
    return () if name.endswith(FORMULA) and not any(PARTS.match(line) for line in found) else found


# ---- files ----


@dataclass
class Originals:
    """The inputs of a report as the user gave them."""

    files: list[str] = field(default_factory=list)
    """The inputs in order: the name of the copy, or that of an input that has none."""
    names: dict[str, str] = field(default_factory=dict)
    """The names that the user gave to inputs and files, by the names of their copies."""
    unreadable: dict[str, Exception] = field(default_factory=dict)
    """The errors of inputs without a copy, by their names in `files`."""

    @property
    def copies(self) -> list[str]:
        """The copied inputs, in order."""
        return [name for name in self.files if name not in self.unreadable]

    def kept(self, errors: Sequence[Failure]) -> list[dict[str, object]]:
        """Return the errors of inputs without a copy as `command.json` keeps them for `replay`."""
        return [
            {
                "input": one.input,
                "exit_code": one.exit_code,
                "message": one.message,
                "understood": getattr(self.unreadable[one.input], "understood", False),
            }
            for one in errors
            if one.input in self.unreadable
        ]

    @contextmanager
    def guard(self, name: str) -> Iterator[None]:
        """Note an error of an input in place of a copy: it does not stop the other inputs."""
        try:
            yield
        except Exception as error:
            self.files.append(name)
            self.unreadable[name] = error


def _copied(request: Request, draft: Path, sink: Sink | None) -> Originals:
    """Copy the inputs with all files that they need. Inputs that cannot be read are not copied: their errors are
    returned, with the names that the user gave. Raises InputError if `sink` would be written over an input."""
    (draft / INPUTS).mkdir()
    originals = Originals()
    for path in request.files or []:
        names: list[str] = []
        with originals.guard(path):
            names = expand_paths([path], request.lines)
        for name in names:
            if sink is not None:
                for one in read_with(name):
                    sink.spare(one)
            with originals.guard(name):
                read_input(name, props=request.props, alphabet=request.alphabet, dialect=request.dialect)
            if name not in originals.unreadable:
                _copy(name, draft, originals)
    return originals


def _copy(name: str, draft: Path, originals: Originals) -> None:
    """Copy one input with all files that it needs. Raises InputError if the draft cannot be written."""
    line = line_of(name)
    place = Path(os.path.abspath(located(name) if line is None else line[0]))
    given = {Path(os.path.abspath(one)): one for one in read_with(name) if not is_directory(one)}
    files = [*given]
    with refusing_at(draft):
        # Files keep their relative places, because one may name another by a relative path.
        root = Path(os.path.commonpath([place.parent, *(one.parent for one in files)]))
        goals = {one: one.relative_to(root) for one in files}
        folder = _folder(draft, list(goals.values()))
        for one, goal in goals.items():
            (draft / folder / goal).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(one, draft / folder / goal)
    # Forward slashes, so that a report made on Windows can be replayed elsewhere.
    copy = (folder / place.relative_to(root)).as_posix() + (f":{line[1]}" if line else "")
    with originals.guard(name):
        require_inside(draft, copy, name)
    if name not in originals.unreadable:
        originals.files.append(copy)
        originals.names |= {(folder / goals[one]).as_posix(): original for one, original in given.items()}
        originals.names[copy] = name
        return
    for goal in goals.values():
        (draft / folder / goal).unlink()
        for above in goal.parents[:-1]:
            with suppress(OSError):  # another file is left there
                (draft / folder / above).rmdir()


def _folder(draft: Path, goals: Sequence[Path]) -> Path:
    """Return the first of inputs, inputs/2, inputs/3, ... that contains none of these names."""
    number = 1
    while True:
        folder = Path(INPUTS) if number == 1 else Path(INPUTS, str(number))
        places = [draft / folder / goal for goal in goals]
        if not any(os.path.lexists(one) or any(above.is_file() for above in one.parents) for one in places):
            return folder
        number += 1


def require_inside(place: Path, name: str, given: str) -> None:
    """Require that an input, with all files that it needs, is among the inputs of a report. Raises InputError, naming a
    file that is not."""
    with chdir(place):
        inside = Path().resolve() / INPUTS
        parts = [part for one in expand_paths([name]) for part in (name, one, *read_with(one))]
        outside = [part for part in parts if not Path(part).resolve().is_relative_to(inside)]
    if outside:
        message = f"{given} names {outside[0]}, which is not a file of the report"
        error = InputError(message, "In the specification, name the file by a path relative to the specification.")
        error.understood = True
        raise error


def arguments_of(request: Request) -> list[str]:
    """Return the command line of a report without its destination: everything on which the results depend."""
    return ["report", *(request.files or []), *request.typed(KEPT)]


def versions() -> dict[str, str]:
    """Return the versions on which a result may depend, by name: of hardsim, Python, the platform and libraries."""
    machine = f"{platform.system()} {platform.machine()}"
    own = {"hardsim": __version__, "Python": platform.python_version(), "platform": machine}
    return own | {name: version(name) for name in PACKAGES}


def hashes(place: Path) -> dict[str, str]:
    """Return the SHA-256 of each input, of the results and of the pages of a report, as far as these files exist, by
    name."""
    files = sorted(path for path in (place / INPUTS).rglob("*") if path.is_file())
    files += [path for name in (RESULTS, PAGE, PAPER) if (path := place / name).is_file()]
    return {path.relative_to(place).as_posix(): _hash(path) for path in files}


def _hash(path: Path) -> str:
    with path.open("rb") as data:
        return file_digest(data, "sha256").hexdigest()


def _write(draft: Path, arguments: list[str], found: ReportRun, originals: Originals) -> None:
    """Write all files of a report except the inputs and the JSON document."""
    message, digests = versions(), hashes(draft)
    failed = tuple(error.message for error in found.errors)
    origin = Making(
        f"hardsim {shlex.join(arguments)} -o report", tuple(message.items()), tuple(digests.items()), failed
    )
    drawable = True
    try:
        require_drawable()
    except InputError as error:
        drawable = False
        note(f"the page has no pictures of bounds: {error.message}. {error.hint}")
    texts = {PAGE: page.render(found.parts, origin, drawable), PAPER: latex.render(found.parts, origin)}
    with refusing_at(draft):
        for name, text in texts.items():
            (draft / name).write_text(text, encoding="utf-8", newline="\n")
            digests[name] = _hash(draft / name)
        kept = {"schema_version": SCHEMA_VERSION, "arguments": arguments, "versions": message, "sha256": digests}
        if unreadable := originals.kept(found.errors):
            kept[UNREADABLE] = unreadable
        (draft / COMMAND).write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8", newline="\n")
