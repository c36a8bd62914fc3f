"""How a long proof shows itself: the bar, and the remark before it."""

from __future__ import annotations

import io
import time

import pytest

from hardsim.checking.open import read_expression
from hardsim.checking.subject import ModelOptions, Subject
from hardsim.cli import proof_progress
from hardsim.cli.proof_progress import announcement, bar, certificate_announcement


class Terminal(io.StringIO):
    """A standard error that somebody looks at."""

    def isatty(self) -> bool:
        return True


def subject_in(regime: str) -> Subject:
    return read_expression("a S b", "a b c").compile(ModelOptions(regime))


def test_no_bar_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with bar("x", "heads") as report:
        assert report is None


def test_a_bar_appears_after_a_second_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, shown = [100.0], Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with bar("since.ltl", "heads") as report:
        assert report is not None
        report(1, 3)
        assert shown.getvalue() == ""
        clock[0] += 1.5
        report(2, 3)
        text = shown.getvalue()
    assert "since.ltl: heads proved" in text
    assert "2/3" in text
    # It is transient: the last thing written clears its line.
    assert shown.getvalue() != text


def test_a_bar_goes_when_a_proof_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[str] = []
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(proof_progress.ProofBar, "stop", lambda self: stopped.append(self.name))

    def proof() -> None:
        with bar("since.ltl", "heads"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        proof()
    assert stopped == ["since.ltl"]


def test_what_takes_over_a_minute_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def timed(subject: Subject, min_n: int, max_n: int) -> float:
        asked.append((min_n, max_n))
        return 0.5 * max_n / 256  # linear in a length

    monkeypatch.setattr(proof_progress, "_seconds", timed)
    subject = subject_in("temperature")
    # 4,096 is 16 times 256: 8 seconds.
    assert announcement(subject, 4096, 4096) is None
    assert asked == [(1, 32), (128, 128), (256, 256)]
    # 65,536 is 256 times 256: 128 seconds.
    told = announcement(subject, 65_536, 65_536)
    assert told is not None
    assert "a proof for 65,536 positions takes about 2 minutes. Ctrl-C ends it without a verdict" in told
    # All lengths to 1,400: 980,700 positions at 1/16 s for 528, which is 116 s, and 2.7 s for the longest.
    told = announcement(subject, 1, 1400)
    assert told is not None
    assert "a proof for 980,700 positions takes about 119 seconds" in told
    # In a causal regime the longest stands for all: 1,400 positions.
    assert announcement(subject_in("causal-position"), 1, 1400) is None


def test_short_proofs_are_not_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> float:
        raise AssertionError("timed")

    monkeypatch.setattr(proof_progress, "_seconds", fail)
    for first, last in ((1, 64), (1, 256), (999, 999)):
        assert announcement(subject_in("temperature"), first, last) is None
    # Refused later, with its reason.
    assert announcement(subject_in("temperature"), 1, 90_000) is None


def test_the_estimate_is_of_the_size_of_what_happens() -> None:
    # Within a factor of 30 of each other: a rough estimate, from short lengths, on a busy machine.
    subject = subject_in("temperature")
    found = proof_progress._seconds(subject, 1500, 1500)
    assert found / 30 < proof_progress._estimate(subject, 1500, 1, 1500) < found * 30


def test_a_certificate_that_takes_long_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_in("temperature")
    clock = [0.0]

    def read() -> float:
        clock[0] += 1.0
        return clock[0]

    monkeypatch.setattr(time, "perf_counter", read)
    # One second for the 1,496 pairs to 16: 60 s for the 89,440 to 64 is not yet over a minute, 93 s for those to 74.
    assert certificate_announcement(subject, 1, 32) is None
    assert certificate_announcement(subject, 1, 64) is None
    told = certificate_announcement(subject, 1, 74)
    assert told is not None
    assert "the certificate takes about 92 seconds to make" in told
    # 65,536 pairs.
    assert certificate_announcement(subject, 256, 256) is None
