"""What all tests share."""

from __future__ import annotations

import signal
from zlib import crc32

import pytest
from hypothesis import settings

# How long one example takes depends on coverage and on what else the machine does: it is no property of the code.
# `make test` draws the same examples each time, and so costs the same; `make slow` (with the profile "new") looks for
# others, and for more where a test does not say how many.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=12)
settings.register_profile("new", deadline=None, derandomize=False, max_examples=400)
settings.load_profile("same")

# Whoever starts the tests may ignore these signals, as shells do for what they run in the background, and processes
# inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With new random examples every random test is one for `make slow`; so is a sweep, but for one in `every` of its
    cases. Which one is decided by the name, so that no regime or file is left out as one of a pattern."""
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
        for item in ranked[-(-len(ranked) // mark.kwargs.get("every", 6)) :]:
            item.add_marker("slow")
