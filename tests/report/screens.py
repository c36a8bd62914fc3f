"""Capture of reports that are printed."""

import io
from collections.abc import Callable
from typing import Any

from hardsim.report.screen import Screen


def printed(report: Callable[..., None], *arguments: Any) -> str:
    """Return the text that a report prints on a screen that is no terminal."""
    target = io.StringIO()
    report(Screen(target), *arguments)
    return target.getvalue()
