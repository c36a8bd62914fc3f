"""The result of `hardsim serve`: where the page is."""

from __future__ import annotations

from hardsim.lazy_dataclass import dataclass
from hardsim.records import Record


@dataclass(frozen=True, slots=True, repr=False)
class ServeResult(Record):
    """A page that is ready. The document is written when the page can be opened, and exit_code is 0 then."""

    url: str
    """Address of the page, on this machine only."""
    port: int
    """Port of the address."""
