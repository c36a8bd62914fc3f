"""The bar of a task on a terminal, as rich draws it."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

STALE = 5.0
"""A time left is shown for so many seconds, and for so many parts of the rate before, without a new part."""


class _TimeLeft(TimeRemainingColumn):
    """The time left, unless the present part takes much longer than those before it: then nothing is known of it."""

    def render(self, task: Task) -> Text:
        """Return the time left as text."""
        since = task.fields["since"]
        if task.speed and time.monotonic() - since > max(STALE, STALE / task.speed):
            return Text("-:--:--", style="progress.remaining")
        return super().render(task)


def drawn_bar() -> Progress:
    """Return a bar on standard error, so that results can be piped; its tasks have the fields `rate`, a text, and
    `since`, the time of the last part."""
    text, rate = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[rate]"))
    columns = text, BarColumn(bar_width=None), MofNCompleteColumn(), rate, _TimeLeft()
    console = Console(file=sys.stderr, markup=False, emoji=False, highlight=False)
    return Progress(*columns, console=console, get_time=time.monotonic, transient=True)
