"""What all tests share."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

# How long one example takes depends on coverage and on what else the machine does: it is no property of the code.
# `make test` draws the same examples each time, and so costs the same; `make slow` (with the profile "new") looks for
# others, and for more where a test does not say how many.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("new", deadline=None, derandomize=False, max_examples=400)
settings.load_profile("same")

# Whoever starts the tests may ignore these signals, as shells do for what they run in the background, and processes
# inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With new random examples every random test is one for `make slow`."""
    if settings.get_current_profile_name() == "new":
        for item in items:
            if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
                item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Coverage measures nothing new in sweeps, and would make them several times as long."""
    if item.get_closest_marker("sweep") is None:
        return (yield)
    # pytest-cov's own `no_cover` stops one of the two measurements that it has in a process of pytest-xdist.
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)
