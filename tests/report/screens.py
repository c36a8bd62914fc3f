"""What is printed where nobody looks."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from hardsim.report.screen import Screen


def printed(report: Callable[..., None], *arguments: Any) -> str:
    """All that a report puts on a screen that is no terminal."""
    target = io.StringIO()
    report(Screen(target), *arguments)
    return target.getvalue()
