"""Tests of `--backend`: processes of this machine, dask and ray give the same report; and errors."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from hardsim.campaign import workers
from hardsim.campaign.workers import Answer, DaskCrew, Job, Shard, unreachable
from hardsim.errors import WorkerFailure
from tests.cli.conftest import COMMAND, Cli, Outcome, ended, last_words, process
from tests.support.clusters import PATIENCE, Cluster, awaited, gone, living, local_cluster, words_done, workers_of
from tests.support.mistakes import raised

FORMULAS = Path(__file__).parents[2] / "formulas"
WORDS = ("--max-n", "6", "--exhaustive", "60", "--samples", "50", "--seed", "11")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two dask workers on loopback."""
    with local_cluster(str(tmp_path_factory.mktemp("cluster"))) as found:
        yield found


@pytest.fixture(scope="module")
def alone(inputs: list[Path]) -> Any:
    """The document of a run with one process."""
    return json.loads(process("check", *inputs, *WORDS, "--workers", 1, "--json", "-").out)


def same(done: Outcome, expected: Any) -> None:
    """Require that a run printed this document, and nothing on standard error."""
    assert json.loads(done.clean().out) == expected


def backend_of(cluster: Cluster) -> tuple[str, ...]:
    return ("--backend", "dask", "--scheduler", cluster.address)


# ---- the same results ----


@pytest.mark.slow
def test_processes_of_this_machine_give_the_same_document(hardsim: Cli, inputs: list[Path], alone: Any) -> None:
    found = hardsim("check", *inputs, *WORDS, "--workers", "2", "--json", "-")
    assert (found.json, found.err) == (alone, "")
    assert gone([one for one in living(psutil.Process()) if "Loky" in " ".join(one.cmdline())])


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_document(inputs: list[Path], alone: Any, cluster: Cluster) -> None:
    same(process("check", *inputs, *WORDS, *backend_of(cluster), "--json", "-"), alone)


@pytest.mark.slow
def test_the_commands_of_the_documentation_are_right(tmp_path: Path) -> None:
    text = (FORMULAS.parent / "docs" / "scaling.md").read_text(encoding="utf-8")
    block = next(part for part in text.split("```sh\n") if part.startswith("dask scheduler")).partition("```")[0]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    lines = [line.replace("8786", port).split() for line in block.strip().splitlines()]
    assert [line[:2] for line in lines] == [["dask", "scheduler"], ["dask", "worker"], ["hardsim", "check"]]
    running: list[subprocess.Popen[bytes]] = []
    dask = str(Path(sys.executable).with_name("dask"))
    try:
        for _, *rest in lines[:2]:
            silent: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
            running.append(subprocess.Popen([dask, *rest, "--no-dashboard"], cwd=tmp_path, **silent))
            while rest[0] == "scheduler" and unreachable(f"tcp://127.0.0.1:{port}"):
                assert running[0].poll() is None
                time.sleep(0.1)
        done = process(*lines[2][1:], cwd=FORMULAS.parent)
        end = time.monotonic() + PATIENCE
        while "the scheduler has no workers" in done.err and time.monotonic() < end:  # workers need a moment to start
            done = process(*lines[2][1:], cwd=FORMULAS.parent)
    finally:
        left = [one for started in running for one in living(psutil.Process(started.pid))]
        for started in running:
            started.kill()
            started.wait(30)
        for one in left:
            with suppress(psutil.NoSuchProcess):
                one.kill()
    done.clean("PROVED")


@pytest.mark.slow
def test_ray_gives_the_same_document_and_nothing_else(inputs: list[Path], alone: Any) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    options = ("--backend", "ray", "--workers", "2", "--json", "-")
    same(process("check", *inputs, *WORDS, *options, env=environment), alone)


# ---- lost workers ----

LONG = ("--max-n", "9", "--exhaustive", "0", "--samples", "3000", "--engine", "ball", "--seed", "2")


@pytest.fixture(scope="module")
def long_alone(inputs: list[Path]) -> Any:
    """The document of a run with one process that takes a few seconds."""
    return json.loads(process("check", inputs[-1], *LONG, "--workers", 1, "--json", "-").out)


@pytest.mark.parametrize("backend", ["local", "dask"])
@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing(
    backend: str, inputs: list[Path], cluster: Cluster, long_alone: Any, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    where = ("--workers", "2") if backend == "local" else backend_of(cluster)
    running = subprocess.Popen(
        [*COMMAND, "check", str(inputs[-1]), *LONG, "--json", "-", "--resume", str(path), *where],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert awaited(lambda: words_done(path) or running.poll() is not None)
    workers = workers_of(psutil.Process(running.pid)) if backend == "local" else cluster.workers()
    workers[0].kill()
    done = last_words(running).says("was lost: the shards that had not come back are run again").exits(0)
    assert json.loads(done.out) == long_alone


def deadly() -> Answer:
    """Return a job that kills its process at length 3."""

    def answer(shard: Shard) -> int:
        if shard.n == 3:
            os.kill(os.getpid(), 9)
        return shard.n

    return answer


@pytest.mark.slow
def test_a_shard_that_kills_dask_workers_is_named(tmp_path: Path) -> None:
    script = tmp_path / "deadly.py"
    script.write_text(
        "import sys\n"
        "from distributed import LocalCluster\n"
        "from hardsim.campaign.workers import DaskCrew, Job, Shard\n"
        "from hardsim.campaign.workers import quiet\n"
        "from hardsim.errors import WorkerFailure\n"
        "from tests.cli.test_backend import deadly\n"
        "if __name__ == '__main__':\n"
        "    with quiet(whole=True):\n"
        "        cluster = LocalCluster(n_workers=2, threads_per_worker=1, host='127.0.0.1', dashboard_address=None)\n"
        "        try:\n"
        "            with DaskCrew(cluster.scheduler_address, 1) as crew:\n"
        "                list(crew.run(Job(deadly, ()), (Shard(n, (('a',),)) for n in range(6))))\n"
        "        except WorkerFailure as error:\n"
        "            print(error, flush=True)\n"
        "        cluster.close()\n",
        encoding="utf-8",
    )
    variables = {"PYTHONPATH": str(FORMULAS.parent), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    done = ended(sys.executable, script, env=os.environ | variables)
    done.prints("1 dask workers were lost with the same words: the word 'a' of length 3")


# ---- what can be wrong ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--backend", "spark"), "unknown backend 'spark'"),
        (("--backend", "dask"), "--backend dask needs --scheduler"),
        (("--scheduler", "tcp://127.0.0.1:1"), "--scheduler goes with --backend dask"),
        (("--backend", "ray", "--scheduler", "tcp://127.0.0.1:1"), "RAY_ADDRESS"),
        (("--backend", "dask", "--scheduler", "nonsense"), "not an address such as tcp://host:8786"),
        (("--backend", "dask", "--scheduler", "tcp://127.0.0.1:1"), "nothing answers there"),
        (("--backend", "dask", "--scheduler", "127.0.0.1:99999"), "nothing answers there"),
        (("--backend", "dask", "--scheduler", "tcp://no.such.host.invalid:8786"), "nothing answers there"),
    ],
)
def test_what_cannot_be_used_is_one_error_at_once(
    hardsim: Cli, since: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert hardsim("check", since, *arguments).refused(message).unsaid("Traceback").err.count("error:") == 1


def test_an_extra_that_is_missing_says_what_to_install(
    hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "find_spec", lambda name: None)
    for backend in ("dask", "ray"):
        extra = ("--scheduler", "tcp://127.0.0.1:1") if backend == "dask" else ()
        hardsim("check", since, "--backend", backend, *extra).exits(2).says(f"pip install '.[{backend}]'")


@pytest.mark.slow
def test_a_scheduler_without_workers_is_refused(hardsim: Cli, since: Path, cluster: Cluster) -> None:
    done = process("check", since, "--backend", "dask", "--scheduler", cluster.empty)
    done.refused("the scheduler has no workers", f"dask worker {cluster.empty}")


@pytest.mark.slow
def test_a_server_that_is_no_scheduler_is_refused(since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        done = process("check", since, "--backend", "dask", "--scheduler", address)
        assert unreachable(address) is None
    assert done.refused("the server there is not a dask scheduler").err.count("\n") == 2, done.err


@pytest.mark.slow
def test_a_cluster_that_goes_away_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "REACH", 2.0)
    with local_cluster(str(tmp_path)) as found, DaskCrew(found.address) as crew:
        results = crew.run(Job(slow, ()), (Shard(n, (("a",),)) for n in range(1000)))
        assert next(results) == 0
        for one in [*found.workers(), found.process]:
            one.kill()
        caught = raised(WorkerFailure, list, results, match=r"the dask scheduler at .* has gone")
        assert "--resume" in str(caught)


def slow() -> Answer:
    """Return a job that takes a tenth of a second for each shard."""

    def answer(shard: Shard) -> int:
        time.sleep(0.1)
        return shard.n

    return answer
