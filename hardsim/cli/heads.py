"""The command `hardsim heads`: show where the heads of an external network attend."""

from __future__ import annotations

from hardsim.campaign.check import tried_of
from hardsim.campaign.interrupts import uninterrupted
from hardsim.cli.estimate import bar
from hardsim.cli.session import Session, session
from hardsim.measuring.head_patterns import heads_of, network_alone
from hardsim.options.table import Request
from hardsim.report.head_tables import print_heads
from hardsim.targets.external import External


def command(request: Request) -> None:
    """Run `hardsim heads` as requested, and print its results."""
    with session("heads", request, request.seed) as current:
        for given in current.read():
            if current.over:
                break
            with current.guard(given.name):
                _show(current, network_alone(given, request))


@uninterrupted()
def _show(current: Session, subject: External) -> None:
    with bar(subject.name) as shown:
        result = heads_of(
            subject, tried_of(current.request, subject), lambda at: shown.at_length(at.n, at.done, at.total)
        )
    current.results.append(result)
    print_heads(current.screen, result, subject.alphabet)
    left = f"the report on {subject.name} is partial: it covers the words tried so far"
    current.conclude(True, False, left * result.partial)
