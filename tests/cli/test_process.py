"""Tests of the command as a process: pipes, closed and broken streams, signals, terminals, start-up."""

import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Cli, Outcome, ended, last_words, process, written
from tests.support.clusters import PATIENCE, awaited, gone, two_workers, words_done

FORMULAS = Path(__file__).parents[2] / "formulas"
HARDSIM = " ".join(map(repr, COMMAND))
"""The command, quoted for a shell."""


def environment(**extra: str) -> dict[str, str]:
    """Return the environment without variables that change colours, widths or messages of defects."""
    changing = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "HARDSIM_DEBUG")
    kept = {key: value for key, value in os.environ.items() if key not in changing}
    return kept | {"TERM": "xterm-256color"} | extra


def on_terminal(*arguments: str | Path, by: Sequence[str] = COMMAND, **extra: str) -> tuple[int, str]:
    """Run a command on a terminal; return the exit code and everything that appears there."""
    parent, child = pty.openpty()
    process = subprocess.Popen([*by, *arguments], stdout=child, stderr=child, env=environment(**extra))
    os.close(child)
    seen = b""
    while select.select([parent], [], [], PATIENCE)[0]:
        try:
            part = os.read(parent, 65536)
        except OSError:  # the process has closed its end of the terminal
            break
        if not part:
            break
        seen += part
    os.close(parent)
    return process.wait(PATIENCE), seen.decode()


@contextmanager
def long_check(path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A check of several minutes, in a process group of its own; the end of the block kills it."""
    process = subprocess.Popen(
        [*COMMAND, "check", path, "--max-n", "128", "--samples", "20000", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), encoding="utf-8", start_new_session=True,
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


def shell(script: str) -> Outcome:
    """Run a shell script, which can close streams."""
    return ended("bash", "-c", script, env=environment())


@pytest.mark.parametrize(
    ("script", "seen"),
    [
        ("{} words '{}' --max-n 9 | head -n 1; echo ${{PIPESTATUS[0]}}", "b\n"),
        pytest.param(
            "{} check '{}' '{}' --max-n 7 --workers 2 --json - | true; echo ${{PIPESTATUS[0]}}",
            "",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_closed_pipe_ends_quietly(since: Path, script: str, seen: str) -> None:
    done = shell(script.format(HARDSIM, since, since))
    assert (done.out, done.err) == (f"{seen}141\n", "")


@pytest.mark.slow
def test_a_closed_pipe_keeps_no_certificate_from_being_written(since: Path, tmp_path: Path) -> None:
    target = tmp_path / "since.cert.json"
    proof = f"{HARDSIM} prove '{since}' --all-n --max-n 2"
    for more in ("", " --smt -"):  # the pipe closes at the end of the report, or in the middle of the queries
        done = shell(f"{{ sleep 0.1; {proof} --certificate '{target}'{more}; echo $? >&2; }} | true")
        assert (done.out, done.err) == ("", "141\n")
        process("verify", target).exits(0, "VALID")
        target.unlink()


@pytest.mark.slow
def test_a_full_disk_is_no_defect(since: Path) -> None:
    for arguments in (["words", str(since), "--max-n", "8"], ["show", str(since), "--json", "/dev/full"]):
        with Path("/dev/full").open("w") as full:
            done = process(*arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE, env=environment())
        done.exits(2).says("No space left on device").unsaid("Exception")


@pytest.mark.sweep
@pytest.mark.parametrize(
    "script",
    [
        # Without bytecode: Python would cut the cached module, too, and every later process would read it.
        "export PYTHONDONTWRITEBYTECODE=1; ulimit -f 1; {} words '{}' --max-n 7 >{}",
        "export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1; ulimit -f 1; {} words '{}' --max-n 7 >{}",
        "{} check '{}' --max-n 2 1<{}",
        "{} check '{}' --max-n 2 --json - 1<{}",
        "exec 1<{2}; {0} examples since",
        "exec 1<{2}; {0} --help",
    ],
)
def test_results_that_cannot_be_written_are_reported(since: Path, tmp_path: Path, script: str) -> None:
    (tmp_path / "out").touch()
    done = shell(script.format(HARDSIM, since, tmp_path / "out"))
    done.exits(2).says("standard output cannot be written").unsaid("Exception", "internal error")


def test_a_pipe_that_does_not_wait_gets_everything(hardsim: Cli, since: Path) -> None:
    arguments = ("words", str(since), "--max-n", "9")
    expected = hardsim(*arguments).out
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    variables = environment(PYTHONUNBUFFERED="1")
    with (
        open(reading, encoding="utf-8") as pipe,
        subprocess.Popen([*COMMAND, *arguments], stdout=writing, env=variables) as running,
    ):
        assert awaited(lambda: not select.select([], [writing], [], 0)[1]), "the pipe never was full"
        os.close(writing)
        assert pipe.read() == expected
    assert running.returncode == 0


def test_a_connection_that_is_reset_is_like_a_closed_pipe(since: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        theirs, _ = server.accept()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()  # without lingering, so the connection is reset
        done = process("words", since, "--max-n", 2, capture_output=False, stdout=ours, stderr=subprocess.PIPE)
    assert (done.code, done.err) == (141, "")


def test_standard_input_is_read_up_to_a_limit_or_refused(hardsim: Cli, since: Path) -> None:
    shell(f"{HARDSIM} eval '{since}' - 0>/dev/null").refused("standard input cannot be read (Bad file descriptor)")
    found = hardsim("eval", since, "-", stdin=bytes(2**22 + 1))
    found.refused("<stdin>: larger than 4 MiB, the most that hardsim reads")


def test_ctrl_c_prints_what_was_found(since: Path, tmp_path: Path) -> None:
    # A single engine runs no prover before the words, however slow the machine is.
    with long_check(since, "--engine", "float64", "--resume", str(tmp_path / "run")) as running:
        assert awaited(lambda: words_done(tmp_path / "run"))
        running.send_signal(signal.SIGINT)
        last_words(running).exits(130, "CERTIFIED ").says("interrupted", "partial").unsaid("Traceback")


@pytest.mark.slow
def test_ctrl_c_ends_the_formatting_of_a_long_file(tmp_path: Path) -> None:
    path = written(tmp_path / "x.ltl", f"alphabet: a b\n{'a  | ' * 200_000}b\n")
    before = path.read_bytes()
    with subprocess.Popen(
        [*COMMAND, "fmt", "--write", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as running:
        time.sleep(2)
        running.send_signal(signal.SIGINT)
        requested = time.monotonic()
        last_words(running).exits(130).says("interrupted").unsaid("Traceback")
        assert time.monotonic() - requested < 5
    assert path.read_bytes() == before


@pytest.mark.slow
def test_ctrl_c_reaches_only_the_parent_of_the_processes(since: Path, tmp_path: Path) -> None:
    with long_check(since, "--workers", "2", "--engine", "float64", "--resume", str(tmp_path / "run")) as running:
        workers = awaited(lambda: two_workers(running.pid))
        assert awaited(lambda: words_done(tmp_path / "run"))
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        last_words(running).exits(130, "PARTIAL").says("is partial").unsaid("Traceback")
    assert workers
    assert gone(workers)


@contextmanager
def sharing(command: str, since: Path) -> Iterator[subprocess.Popen[str]]:
    """Two processes that share a quick input, whose result has been printed, and two inputs that take minutes."""
    dyck3 = (FORMULAS / "dyck3.srasp").read_text("utf-8")
    long = [written(since.parent / f"{k}.srasp", dyck3) for k in (1, 2)]
    arguments = [command, since, *long, *long, "--max-n", "60", "--workers", "2"]
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        encoding="utf-8", start_new_session=True,
    ) as running:  # fmt: skip
        try:
            assert running.stdout is not None
            while "since.ltl" not in running.stdout.readline():
                assert running.poll() is None
            yield running
        finally:
            running.kill()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["prove", "check"])
def test_ctrl_c_ends_inputs_that_other_processes_work_on(command: str, since: Path) -> None:
    with sharing(command, since) as running:
        workers = awaited(lambda: two_workers(running.pid))
        os.killpg(running.pid, signal.SIGINT)
        last_words(running).exits(130).unsaid("Traceback")
    assert workers
    assert gone(workers)


@pytest.mark.slow
def test_a_worker_that_is_killed_again_and_again_gives_no_verdict(since: Path) -> None:
    with sharing("prove", since) as running:
        assert running.stderr is not None
        seen = ""
        while "workers in a row" not in seen:  # as the system does when memory runs out
            for one in awaited(lambda: two_workers(running.pid)):
                one.kill()
            seen += running.stderr.readline()
        running.send_signal(signal.SIGINT)  # this process goes on with the other inputs
        last_words(running).exits(130, "1 file ended by an internal error").unsaid("Traceback")
    assert "3 workers in a row were lost with " in seen
    assert "1.srasp" in seen


def test_no_color_means_no_colours_on_a_terminal(since: Path) -> None:
    code, seen = on_terminal("check", since, "--max-n", "2", NO_COLOR="1")
    assert code == 0
    assert "PROVED" in seen
    assert "\x1b[" not in seen


@pytest.mark.slow
def test_no_colours_and_no_bar_in_a_pipe(since: Path) -> None:
    process("check", since, "--max-n", 7, env=environment()).clean().lacks("\x1b")


def test_a_bar_and_colours_appear_on_a_terminal(since: Path) -> None:
    # The bar appears at once instead of after a second.
    at_once = "from hardsim.cli import app, estimate; estimate.WATCHED = 0; app.main()"
    arguments = ("check", since, "--max-n", "7", "--engine", "mpmath")
    code, seen = on_terminal(*arguments, by=(sys.executable, "-c", at_once))
    assert code == 0
    # The verdict comes after the bar, and in colour, too.
    assert re.search(r"\x1b\[[0-9;]*m *OBSERVED", seen)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen)
    assert re.search(r"length \d+, no mismatch so far .* \d+/\d+ [\d.,]+ words/s (\d:\d\d:\d\d|-:--:--)", plain)


def test_output_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    path = written(tmp_path / "greek.ltl", "alphabet: α β\nβ\n")
    done = process("words", path, "--max-n", 1, env=environment(LC_ALL="C", PYTHONIOENCODING="ascii"))
    assert (done.code, done.out) == (0, "β\n")


def test_a_file_name_that_is_not_utf_8(hardsim: Cli, since: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(since.parent) + b"/\xff.ltl"))
    path.write_bytes(since.read_bytes())
    hardsim("check", path, "--max-n", "1", "--json", "-").exits(0, "\\udcff.ltl")


def test_the_module_and_the_script_are_the_same_command() -> None:
    script = Path(sys.executable).with_name("hardsim")
    assert process("--version").clean() == ended(script, "--version")


# ---- streams ----


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("show nowhere.ltl 2>&-", 2),
        pytest.param("words '{}' --max-n 2 >&-", 2, marks=pytest.mark.slow),
        pytest.param("show nowhere.ltl 2>/dev/full", 2, marks=pytest.mark.slow),
        pytest.param("check '{}' --max-n 0 2>/dev/full", 2, marks=pytest.mark.slow),
        pytest.param("check '{}' --max-n 2 --regime none 2>/dev/full", 1, marks=pytest.mark.slow),
        ("eval '{}' --regime none bc 2>/dev/full", 1),
        pytest.param("eval '{}' --regime none bc 2>&-", 1, marks=pytest.mark.slow),
        pytest.param("eval '{}' - <&-", 2, marks=pytest.mark.slow),
        pytest.param("words '{}' --max-n 2 <&- 2>&-", 0, marks=pytest.mark.slow),
        pytest.param("check '{}' --max-n 2 --workers 2 <&- 2>&-", 0, marks=pytest.mark.slow),
        pytest.param("check '{}' --max-n 2 --workers 2 2>&-", 0, marks=pytest.mark.slow),
    ],
)
def test_closed_and_full_streams_do_not_change_the_exit_code(since: Path, arguments: str, code: int) -> None:
    shell(f"{HARDSIM} {arguments.format(since)}").exits(code).unsaid("internal error", "Traceback")


@pytest.mark.sweep
@pytest.mark.parametrize("arguments", ["--help", "--version", "check --help", "examples", "examples since"])
def test_whatever_is_printed_into_a_closed_pipe_ends_quietly(arguments: str) -> None:
    # The reader ends before the first byte is written.
    done = shell(f"{{ sleep 0.1; {HARDSIM} {arguments}; echo $? >&2; }} | true")
    assert (done.out, done.err) == ("", "141\n")


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ('cd "$(mktemp -d)" && rmdir "$PWD"', "the working directory is gone"),
        pytest.param("export JOBLIB_MULTIPROCESSING=0", "joblib has no processes here", marks=pytest.mark.slow),
        ("export JOBLIB_MULTIPROCESSING=none", "joblib has no processes here"),
    ],
)
def test_where_no_process_can_be_started_one_does_the_work(since: Path, setting: str, reason: str) -> None:
    done = shell(f"{setting}; {HARDSIM} check '{since}' --max-n 3 --workers 2").exits(0, "PROVED")
    assert done.err.startswith(f"note: {reason}")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("setting", "cause"),
    [
        # A second thread keeps the processes from being forked.
        ("export OPENBLAS_NUM_THREADS=2 LOKY_MAX_CPU_COUNT=abc", "reads LOKY_MAX_CPU_COUNT=abc"),
        ("export OPENBLAS_NUM_THREADS=2 LOKY_PICKLER=nope", "reads LOKY_PICKLER=nope"),
        ("ulimit -n 12", "Too many open files"),
    ],
)
@pytest.mark.slow
def test_where_processes_cannot_be_started_the_environment_is_to_blame(since: Path, setting: str, cause: str) -> None:
    done = shell(f"{setting}; {HARDSIM} check '{since}' --max-n 3 --workers 2").exits(2)
    done.says("error: ", "worker processes cannot be started: ", "--workers 1", cause).unsaid("internal error")
    assert done.err.count("cannot be started") == 1


@pytest.mark.slow
def test_a_signal_is_answered_at_any_time_of_the_start(since: Path) -> None:
    # From the first line of hardsim on; before that, Python itself handles the signal.
    program = (
        "import os, signal, sys, threading, time\n"
        "number, wait = int(sys.argv.pop(1)), float(sys.argv.pop(1))\n"
        "import hardsim.cli.app as app\n"
        "answered = app.answer_signals\n"
        "def answer_signals():\n"
        "    answered()\n"
        "    def ask():\n"
        "        time.sleep(wait)\n"
        "        os.kill(os.getpid(), number)\n"
        "        time.sleep(0.05)\n"
        "        os.kill(os.getpid(), number)\n"
        "    threading.Thread(target=ask, daemon=True).start()\n"
        "app.answer_signals = answer_signals\n"
        "app.main()\n"
    )
    for number, wait in ((signal.SIGINT, 0.0), (signal.SIGTERM, 0.05), (signal.SIGHUP, 0.2), (signal.SIGINT, 0.4)):
        arguments = ("check", since, "--max-n", "64", "--samples", "100000")
        done = ended(sys.executable, "-c", program, int(number), wait, *arguments)
        done.exits(130).lacks("PROVED").unsaid("Traceback")
        assert done.err.splitlines()[-1].startswith("interrupted")


def test_a_closed_standard_output_says_so(since: Path) -> None:
    shell(f"{HARDSIM} words '{since}' --max-n 2 >&-").says("standard output is closed")


@pytest.mark.slow
def test_a_polite_end_keeps_the_report_whole(since: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with long_check(since, "--json", str(report)) as running:
        assert running.stderr is not None
        assert select.select([running.stderr], [], [], PATIENCE)[0]  # the note about a long run
        running.send_signal(signal.SIGTERM)
        last_words(running).exits(130).unsaid("Traceback")
    assert '"exit_code": 130' in report.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "since.ltl"]


def test_an_interruption_while_starting_has_no_traceback() -> None:
    # Ctrl-C arrives in the first import of the command line, whichever it is.
    program = (
        "import sys\n"
        "import hardsim.cli.app\n"
        "class Interrupt:\n"
        "    def find_spec(self, *arguments):\n"
        "        raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "hardsim.cli.app.main()\n"
    )
    assert ended(sys.executable, "-c", program) == Outcome(130, "", "interrupted\n")


def test_the_entry_point_imports_next_to_nothing() -> None:
    program = "import hardsim.cli.app, sys; print([name for name in ('typer', 'dataclasses') if name in sys.modules])"
    assert ended(sys.executable, "-c", program, env=os.environ | {"PYTHONNOUSERSITE": "1"}).out == "[]\n"


THREADS = """
import os, sys
import numpy as np
np.ones((400, 400)) @ np.ones((400, 400))
print(len(os.listdir("/proc/self/task")), flush=True)
"""
"""Print the number of threads of this process, after a product that NumPy would share out."""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the number of threads is read from /proc")
@pytest.mark.parametrize(
    ("start", "setting", "threads"),
    [
        ("from hardsim.cli.app import one_thread; one_thread()", {}, "1"),
        ("from hardsim.cli.app import one_thread; one_thread()", {"OPENBLAS_NUM_THREADS": "2"}, "2"),
        ("import hardsim; hardsim.check", {}, None),
    ],
)
def test_the_command_has_one_thread_and_a_program_that_imports_hardsim_decides(
    start: str, setting: dict[str, str], threads: str | None
) -> None:
    bare = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    run = [subprocess.run([sys.executable, "-c", code + THREADS], env=bare | setting, capture_output=True, text=True)
           for code in ((start, "") if threads is None else (start,))]  # fmt: skip
    assert {done.stderr for done in run} == {""}
    # OpenBLAS starts no more threads than there are processors.
    wanted = run[1].stdout if threads is None else f"{min(int(threads), os.cpu_count() or 1)}\n"
    assert run[0].stdout == wanted


@pytest.mark.parametrize(
    ("before", "called", "enabled", "kept"),
    [("", "main", True, True), ("gc.disable()", "main", False, False), ("", "run", True, False)],
)
def test_the_console_script_alone_leaves_out_garbage_collection_while_it_imports(
    before: str, called: str, enabled: bool, kept: bool
) -> None:
    program = f"""
import gc, sys
{before}
from hardsim.cli import app
try:
    app.{called}(["words", "-e", "a", "--alphabet", "a b", "--max-n", "1"])
except SystemExit:
    pass
print(gc.isenabled(), gc.get_freeze_count() > 0)
"""
    assert ended(sys.executable, "-c", program).out.splitlines()[-1] == f"{enabled} {kept}"


@pytest.mark.skipif(sys.platform != "linux", reason="settings of glibc")
@pytest.mark.parametrize(("called", "kept"), [("main", True), ("run", False)])
def test_the_console_script_alone_keeps_free_memory(called: str, kept: bool) -> None:
    """The pages of arrays that are gone, 40 MB, serve the next ones."""
    program = f"""
import resource
from hardsim.cli import app
try:
    app.{called}(["words", "-e", "a", "--alphabet", "a b", "--max-n", "1"])
except SystemExit:
    pass
import numpy as np
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    before = faults()
    arrays = [np.ones(2**18) for _ in range(20)]
    del arrays
print(faults() - before < 1000)
"""
    assert ended(sys.executable, "-c", program).out.splitlines()[-1] == str(kept)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other limits")
@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ("-v 102400", "error: this process may use 100 MiB of memory, and hardsim needs 256\n"),
        ("-n 12", "error: this process may open 12 files, and hardsim needs 32\n"),
    ],
)
def test_a_limit_too_low_for_the_libraries_is_no_verdict(limit: str, text: str) -> None:
    """OpenBLAS ends a process without memory with exit code 1, which means a mismatch."""
    found = subprocess.run(
        ["sh", "-c", f"ulimit {limit}; exec {HARDSIM} check since --max-n 2"],
        capture_output=True, env=environment(), encoding="utf-8",
    )  # fmt: skip
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == text + f"  Raise the limit, which `ulimit {limit[:2]}` shows.\n"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other limits")
@pytest.mark.parametrize("limit", [f"-v {2**18}", "-n 32"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_at_the_least_limits_a_check_runs_and_writes_its_document(limit: str, workers: str, tmp_path: Path) -> None:
    command = f"{HARDSIM} check since flipflop.ltl --max-n 3 --workers {workers} --json {tmp_path / 'x.json'}"
    found = subprocess.run(
        ["sh", "-c", f"ulimit {limit}; exec {command}"], capture_output=True, env=environment(), encoding="utf-8"
    )
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "x.json").stat().st_size
