"""Short texts of numbers and words for tables."""

from __future__ import annotations

from hardsim.campaign.result import answer_text as answer_text
from hardsim.campaign.result import output_text as output_text
from hardsim.records import NOTHING as NOTHING
from hardsim.records import at_least as at_least
from hardsim.records import at_most as at_most
from hardsim.records import rounded as rounded
from hardsim.records import short as short
from hardsim.targets.result import count as count
from hardsim.targets.result import plural as plural


def tried_text(words: int, exhaustive: bool) -> str:
    """Return the number of words tried as text, with `all` before it if these are all words of their lengths."""
    return f"all {count(words)}" if exhaustive else count(words)
