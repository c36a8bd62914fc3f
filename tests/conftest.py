"""Settings and selection of tests that apply to the whole suite."""

import gc
import os
import re
import signal
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from zlib import crc32

import pytest
from hypothesis import settings

# No deadline: the time of an example depends on coverage and on the load of the machine, not on the code. `make test`
# draws the same examples each time, and so costs the same; `make slow` (with the profile "new") draws others, and more
# where a test sets no number.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=12)
settings.register_profile("new", deadline=None, derandomize=False, max_examples=400)
settings.load_profile("same")

# The parent may ignore these signals, as shells do for background jobs, and child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(trylast=True)  # after the measurement of coverage has begun
def pytest_sessionstart(session: pytest.Session) -> None:
    """Import all tests from the last to the first in every second process, if all are collected.

    In a fresh clone no module is compiled yet. Processes that import in one order compile the same module at the same
    time; so each compiles about a half of them, and reads what the others have compiled.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    config = session.config
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and int(worker.removeprefix("gw")) % 2:
        gc.disable()
        for path in sorted(config.rootpath.glob("tests/**/test_*.py"), reverse=True):
            with suppress(Exception, pytest.skip.Exception):  # the collection reports it
                import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are imported and collected, nor later among what was made then.

    That makes many objects, of which hardly any are garbage. Python would look through all of them again and again: a
    third of the time of the collection. Tests that read syntax trees make many objects, too, which Python's thresholds
    slow down.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow every test with new random examples, and every sweep except one in `every` of its cases.

    The case that stays is chosen by a hash of the name, so that no pattern leaves out a regime or a file. No case may
    be a file that Python writes while tests are collected: then processes would collect different tests.
    """
    compiled = [item.nodeid for item in items if re.search(r"__pycache__|\.pyc\b", item.nodeid)]
    if compiled:
        raise pytest.UsageError(f"a test for a file that Python wrote: {compiled[0]}")
    new = settings.get_current_profile_name() == "new"
    sweeps: dict[str, list[pytest.Item]] = {}
    for item in items:
        if new and getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("slow")
        if item.get_closest_marker("sweep") and not item.get_closest_marker("slow"):
            sweeps.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for alike in sweeps.values():
        mark = alike[0].get_closest_marker("sweep")
        assert mark is not None
        ranked = sorted(alike, key=lambda item: crc32(item.nodeid.encode()))
        for item in ranked[-(-len(ranked) // mark.kwargs.get("every", 9)) :]:
            item.add_marker("slow")
