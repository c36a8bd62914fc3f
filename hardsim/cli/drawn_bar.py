"""The bar of a task on a terminal, as rich draws it."""

from __future__ import annotations

import sys
import time
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

STALE = 5.0
"""A time left is shown for so many seconds, and for so many parts of the rate before, without a new part."""


class TimeLeft(ProgressColumn):
    """The time left until the `end` that is expected. It is unknown if there is none, or if the present part takes much
    longer than those before it."""

    def render(self, task: Task) -> Text:
        """Return the time left as text."""
        now, end, since = time.monotonic(), task.fields["end"], task.fields["since"]
        late = task.speed and now - since > max(STALE, STALE / task.speed)
        text = "-:--:--" if end is None or late else str(timedelta(seconds=max(0, round(end - now))))
        return Text(text, style="progress.remaining")


def drawn_bar() -> Progress:
    """Return a bar on standard error, so that results can be piped; its tasks have the fields `rate`, a text, `since`,
    the time of the last part, and `end`, the time at which the task is expected to end, or None."""
    text, rate = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[rate]"))
    columns = text, BarColumn(bar_width=None), MofNCompleteColumn(), rate, TimeLeft()
    console = Console(file=sys.stderr, markup=False, emoji=False, highlight=False)
    return Progress(*columns, console=console, get_time=time.monotonic, transient=True)
