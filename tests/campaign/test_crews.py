"""Tests that libraries that start processes print nothing on the streams of a command."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from hardsim.campaign import workers
from hardsim.campaign.crews import quiet
from hardsim.campaign.workers import Job, LocalCrew
from tests.campaign.test_workers import counting, shards


@pytest.mark.parametrize(("shutdown", "message"), [(True, False), (False, True)])
def test_an_error_of_the_thread_of_processes_that_are_ended_is_nothing_to_hear_of(
    shutdown: bool, message: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise KeyError(9)

    thread = threading.Thread(target=fail)
    thread.executor_flags = SimpleNamespace(shutdown=shutdown)  # type: ignore[attr-defined]  # like loky's thread
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    with quiet(whole=False):
        thread.start()
        thread.join()
    assert ("KeyError: 9" in capsys.readouterr().err) == message
    assert threading.excepthook is threading.__excepthook__


@pytest.mark.slow
def test_an_interrupt_just_after_the_first_shards_are_out_ends_their_processes(
    recwarn: pytest.WarningsRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = workers.without_interrupts

    @contextmanager
    def interrupted() -> Iterator[None]:
        with whole():
            yield
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "without_interrupts", interrupted)
    with quiet(whole=False), LocalCrew(2) as crew, pytest.raises(KeyboardInterrupt):
        list(crew.run(Job(counting, ()), shards(40)))
    gc.collect()
    assert [str(one.message) for one in recwarn] == []
