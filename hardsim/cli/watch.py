"""The command `hardsim watch`: run `hardsim check` again whenever a file is saved.

Every check is a process of its own, `hardsim check` with the same options. So there is one way to check, nothing of an
earlier check is left in memory, a save can end a check that is still running, and a check that runs out of memory ends
nothing else. It is forked from a process that has imported everything, so that it starts at once. On a terminal a check
has two steps: short words, which take a moment, and then everything; a mistake in a file appears after the first.
Elsewhere there is one step.

The library watchfiles reports that something happened in a folder. Whether a watched file changed is decided by its
time, size and number on the disk. So it makes no difference whether an editor writes into the file or replaces it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from hardsim.campaign.interrupts import asked_to_end, uninterrupted
from hardsim.cli import activity
from hardsim.cli.check import require_options
from hardsim.cli.session import require_one_output
from hardsim.cli.typer_options import options_of
from hardsim.cli.watch_view import CheckOutput, LineView, ScreenView
from hardsim.errors import HardsimError, InputError, enumerated
from hardsim.files import STDOUT, Sink
from hardsim.options.table import JSON, TEXT, Request
from hardsim.serving.forked import ForkedProcesses
from hardsim.targets.paths import SUFFIXES, expand_paths, read_with
from hardsim.version import install_hint

SHORT = 4
"""Largest length of the words of the first step."""
TICK, STEP, MOST = 100, 50, 400
"""Milliseconds between two looks at a running check; without a further change, after which changes are reported; and
for which changes are gathered at most."""
GRACE = 0.4
"""Seconds for which a file may be missing or empty before it is checked like that: an editor may be replacing it."""
PATIENCE = 3.0
"""Seconds that a check has to end by itself."""
MODULES = ("hardsim.cli.commands", "hardsim.cli.check", "hardsim.report.document", "hardsim.serving.warm")
"""The modules that are imported before the first check."""

Watcher = Callable[..., Iterator[object]]
State = tuple[int, int, int] | None
"""The time, the size and the number of a file; None if there is no file."""


def command(request: Request) -> None:
    """Run `hardsim watch` as requested, until it is interrupted."""
    if not request.files:
        raise InputError("nothing to watch: give a file", "For example: hardsim watch mine.ltl")
    watcher = _watcher()
    if request.format not in (TEXT, JSON):
        message = f"hardsim watch prints text or json, not {request.format}"
        raise InputError(message, f"`hardsim check --format {request.format}` prints one report.")
    require_options(request)
    require_one_output(request, [f"--json {STDOUT}"] * (request.json == STDOUT))
    files = WatchedFiles(request)
    files.require()
    documents = request.format == JSON or request.json == STDOUT
    screen = sys.stdout.isatty() and request.format == TEXT and not documents
    view = ScreenView(len(request.files) > 1) if screen else LineView(documents)
    processes = ForkedProcesses(MODULES)
    processes.warm()
    with closing(CheckRuns(files, steps(request, screen), view, processes)) as checks:
        while True:
            # The folders that matter change with the files: a specification may name others after a save.
            folders = files.folders()
            with suppress(FileNotFoundError):  # a folder went away just now
                for changes in watcher(
                    *folders, watch_filter=None, debounce=MOST, step=STEP, rust_timeout=TICK, yield_on_timeout=True,
                    recursive=False, ignore_permission_denied=True,
                ):  # fmt: skip
                    checks.look(bool(changes))
                    if changes and files.folders() != folders:
                        break


def _watcher() -> Watcher:
    """Return the function that reports changes. Raises InputError if its library is not installed."""
    try:
        from watchfiles import watch
    except ImportError:
        raise InputError("hardsim watch needs watchfiles, which is not installed", install_hint("watch")) from None
    return watch


def steps(request: Request, screen: bool) -> list[tuple[str, list[str]]]:
    """Return the steps of a check: what each does, and the arguments of `hardsim` in its process."""
    options = [name for name in options_of("watch") if name != "files"]
    every = [*request.typed(options), "--", *(request.files or [])]
    whole = f"words up to length {request.max_n}, and the proof", ["check", *every]
    # Labelled data and independent draws are no words of growing length.
    if not screen or request.max_n <= SHORT or request.data or request.draws is not None:
        return [whole]
    others = request.typed([name for name in options if name not in ("max_n", "quiet", "json")])
    short = ["--max-n", str(SHORT), "--quiet", *others, "--", *(request.files or [])]
    return [(f"words up to length {SHORT}", ["check", *short]), whole]


class WatchedFiles:
    """The files on which the checks of a request depend."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._given = [*(request.files or []), *(request.data or []), *filter(None, [request.against])]
        self._known = {path: [path] for path in self._given}
        """By each given path, all files that are read with it; of a damaged file, those before the damage."""

    def require(self) -> None:
        """Require that each given path exists. Raises InputError, naming one that does not."""
        for path in self._given:
            expand_paths([path], self._request.lines)
            if missing := [one for one in read_with(path) if not os.path.lexists(one)][:1]:
                raise InputError(
                    f"{missing[0]}: no such file", "Check the path: `watch` waits for no file at its start."
                )
        self._require_spared(self._request.json)

    def _require_spared(self, sink: str | None) -> None:
        """Require that no check writes what the next one reads. Raises InputError, naming the option."""
        if sink in (None, STDOUT):
            return
        place = Path(os.path.realpath(sink))
        folders = [Path(os.path.realpath(path)) for path in self._given if os.path.isdir(path)]
        inside = place.parent in folders and place.name.endswith(SUFFIXES)
        if inside or str(place) in map(os.path.realpath, self.all()):
            raise InputError(f"--json {sink}: is a file that each check reads", "Give --json another name.")
        with Sink(str(sink), "--json"):
            pass

    def all(self) -> list[str]:
        """Return the paths of all these files, and of given folders."""
        for path in self._given:
            with suppress(HardsimError, OSError):
                names = expand_paths([path], self._request.lines)
                read = [one for name in names for one in read_with(name)]
                self._known[path] = [path, *read] if os.path.isdir(path) else read
        return [*dict.fromkeys(os.path.abspath(one) for found in self._known.values() for one in found)]

    def folders(self) -> set[Path]:
        """Return the folders in which changes of these files appear: those of links and of what they lead to. For a
        folder that does not exist, it is the next one above."""
        found = set[Path]()
        for path in self.all():
            for place in (Path(path), Path(os.path.realpath(path))):
                folder = place if place.is_dir() else place.parent
                found.add(next(one for one in (folder, *folder.parents) if one.is_dir()))
        return found

    def states(self) -> dict[str, State]:
        """Return the state of each of these files."""
        return {path: _state(path) for path in self.all() if not os.path.isdir(path)}


LOST = 255
"""Exit code of a process of which nobody knows how it ended: the one from which it was forked has ended."""


def _state(path: str) -> State:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class WatchView(Protocol):
    """The way in which checks are shown."""

    def begin(self, number: int, changed: str, step: str) -> None:
        """Show that a check begins with a step; `changed` names the files that changed."""

    def show(self, done: CheckOutput, following: str) -> None:
        """Show the result of a step; `following` says what the next step does, and is empty after the last one."""


def run_check(arguments: list[str], out: str, err: str) -> None:
    """Run a command in this process, whose output goes to two files. This is the whole life of the process."""
    from hardsim.cli.app import main

    for descriptor, path in enumerate((out, err), start=1):
        target = os.open(path, os.O_WRONLY)
        os.dup2(target, descriptor)
        os.close(target)
    main(arguments)


class CheckRuns:
    """The checks of a run, one at a time."""

    def __init__(
        self, files: WatchedFiles, steps: list[tuple[str, list[str]]], view: WatchView, processes: ForkedProcesses
    ) -> None:
        self._files, self._steps, self._view, self._processes = files, steps, view, processes
        self._folder = TemporaryDirectory(prefix="hardsim-watch-", ignore_cleanup_errors=True)  # removed in `close`
        self._number, self._step = 0, 0
        self._outputs: list[Path] = []
        """The files with the output and the errors of the last step."""
        self._states: dict[str, State] | None = None
        """The states of the files when the last check began; None before the first."""
        self._changed_at: float | None = 0.0
        """Time of the last change that no check has seen; None without one."""
        self._process: BaseProcess | None = None

    @uninterrupted()  # a line that is interrupted on its way out would be written twice
    def look(self, changed: bool) -> None:
        """Begin a check if a file was saved, and show a step that has ended."""
        now = time.monotonic()
        if changed:
            self._changed_at = now
        if self._changed_at is not None:
            states = self._files.states()
            # A file that is missing or empty may be half-way between two versions.
            if now - self._changed_at >= GRACE or all(state is not None and state[1] for state in states.values()):
                self._changed_at = None
                if states != self._states:
                    self._begin(states)
        if self._process is not None and not self._process.is_alive():
            self._end(self._process)

    def _begin(self, states: dict[str, State]) -> None:
        before, self._states = self._states, states
        changed = (
            [] if before is None else [path for path in {**before, **states} if before.get(path) != states.get(path)]
        )
        self._number += 1
        self._stop()
        named = enumerated([os.path.relpath(path) for path in changed]) if changed else ""
        self._view.begin(self._number, named, self._steps[0][0])
        self._start(0)

    def _start(self, step: int) -> None:
        self._step = step
        activity.release()
        activity.restart(self._steps[step][0])
        # Files and no pipes: nobody needs to read while the process runs. It may have processes of its own.
        self._outputs = [Path(self._folder.name, f"{self._number}.{step}.{name}") for name in ("out", "err")]
        for place in self._outputs:
            place.touch()
        given = self._steps[step][1], *map(str, self._outputs)
        try:
            self._process = self._processes.start(run_check, *given, daemon=False)
        except OSError:
            # A signal for all these processes ends those of checks first: that is no failure.
            if asked_to_end():
                raise KeyboardInterrupt from None
            raise

    def _end(self, process: BaseProcess) -> None:
        """Show the step that has ended, and begin the next one, unless a single file is wrong already."""
        code, (out, err), step = process.exitcode or 0, map(_text, self._outputs), self._step
        if code < 0 or code == LOST:
            err += f"error: the check was ended by {f'signal {-code}' if code < 0 else 'the end of another process'}\n"
        self._forget()
        more = step + 1 < len(self._steps) and (code in (0, 3) or len(self._files.states()) > 1)
        if more:
            self._start(step + 1)
        self._view.show(CheckOutput(self._number, code, out, err), self._steps[step + 1][0] if more else "")

    def _forget(self) -> None:
        if self._process is not None:
            self._process.close()
        self._process = None
        for place in self._outputs:
            place.unlink()
        activity.hold()

    def _stop(self) -> None:
        """End a check that is running."""
        if self._process is None:
            return
        self._process.terminate()  # as Ctrl-C does: it ends its own workers
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._forget()

    def close(self) -> None:
        """End a check that is running, and remove its files."""
        self._stop()
        self._folder.cleanup()


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "backslashreplace")
