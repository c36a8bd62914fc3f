"""The assumptions of certified float64 about a process are tested once; if one fails, balls take over and a note
says so.
"""

import ctypes
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.campaign import workers
from hardsim.campaign.workers import Job, LocalCrew, Shard
from hardsim.cli.app import run
from hardsim.run import float_trust
from hardsim.run.float_trust import arithmetic_fault, distrust, exp_fault, hear, reasons

ROUNDINGS = {"up": 0x800, "down": 0x400, "to zero": 0xC00}
"""FE_UPWARD, FE_DOWNWARD and FE_TOWARDZERO of glibc on x86."""
GLIBC = sys.platform == "linux" and sys.maxsize > 2**32 and hasattr(ctypes.CDLL(None), "fesetround")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Start each test as a process that has tested nothing yet."""
    distrust.cache_clear()
    float_trust._heard.clear()
    yield
    distrust.cache_clear()
    float_trust._heard.clear()


def lying(low: float, high: float, share: float, least: int = 0) -> Any:
    """Return an exp like numpy's with a relative error `share` for arguments in [low, high], in arrays of `least`
    numbers or more.
    """
    true = np.exp

    def exp(x: Any, out: Any = None) -> Any:
        before = np.array(x, copy=True)
        found = true(x, out=out)
        if before.size >= least:
            found[(before >= low) & (before <= high)] *= 1 + share
        return found

    return exp


def test_this_machine_keeps_what_is_assumed() -> None:
    assert reasons() == ()  # nothing was tested yet
    assert distrust() is None
    assert reasons() == ()


@pytest.mark.parametrize("share", [1e-12, -1e-12])
@pytest.mark.parametrize(
    "place",
    [
        *[(-1e-9, -1e-10), (-0.5, -0.2), (-12.0, -11.0), (-350.0, -345.0), (-708.0, -700.0)],
        *[(1e-10, 1e-9), (0.2, 0.5), (11.0, 12.0), (345.0, 350.0), (700.0, 709.0)],
    ],
)
def test_an_exp_that_is_off_in_one_range_is_found(
    place: tuple[float, float], share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np, "exp", lying(*place, share))
    assert "exp" in (exp_fault() or "")
    assert "exp" in (distrust() or "")
    assert reasons() == (distrust(),)


def test_an_exp_that_is_off_in_long_arrays_or_flushes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = np.exp
    monkeypatch.setattr(np, "exp", lying(-3.0, -1.0, 1e-13, least=500))
    assert exp_fault() is not None
    monkeypatch.setattr(np, "exp", lambda x, out=None: np.where(x < -700, 0.0, true(x, out=out)))
    assert exp_fault() is not None
    monkeypatch.setattr(np, "exp", lambda x, out=None: np.where(x < -740, 2.0**-1000, true(x, out=out)))
    assert exp_fault() is not None
    monkeypatch.setattr(np, "exp", lambda x, out=None: np.where(x < -740, np.nan, true(x, out=out)))
    assert exp_fault() is not None


def test_an_exp_that_does_not_overflow_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = np.exp
    monkeypatch.setattr(np, "exp", lambda x, out=None: np.where(x > 709.75, 1e300, true(x, out=out)))
    assert "at 709.78" in (exp_fault() or "")


@pytest.mark.parametrize("share", [2.0**-52, -(2.0**-52)])
def test_a_square_root_that_is_not_rounded_to_the_nearest_is_found(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert arithmetic_fault() is None
    true = np.sqrt
    monkeypatch.setattr(np, "sqrt", lambda x: true(x) * (1 + share))
    assert "not rounded once" in (arithmetic_fault() or "")


IN_ANOTHER_MODE = """
import ctypes, sys
import numpy, flint
from hardsim.cli.app import main
ctypes.CDLL(None).fesetround(int(sys.argv.pop(1)))
main()
"""


@pytest.mark.skipif(not GLIBC, reason="the rounding mode is changed through glibc")
@pytest.mark.parametrize("mode", list(ROUNDINGS))
def test_another_rounding_mode_is_found(mode: str) -> None:
    library = ctypes.CDLL(None)
    library.fesetround(ROUNDINGS[mode])
    try:
        found = arithmetic_fault()
    finally:
        library.fesetround(0)
    assert found is not None
    assert "nearest" in found
    assert arithmetic_fault() is None


def test_numbers_flushed_to_zero_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a processor that flushes, every result computed from such a number is 0."""
    real = np.full

    def flushed(shape: Any, value: float, *rest: Any) -> Any:
        return real(shape, 0.0 if 0 < value <= 2.0**-1022 else value, *rest)

    monkeypatch.setattr(np, "full", flushed)
    assert "flushes" in (arithmetic_fault() or "")


@pytest.mark.skipif(not GLIBC, reason="the rounding mode is changed through glibc")
def test_balls_do_the_work_and_the_report_says_why(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    command = [sys.executable, "-c", IN_ANOTHER_MODE, str(ROUNDINGS["up"]), "check", "-e", "a S b", "--alphabet", "a b"]
    done = subprocess.run(
        [*command, "--max-n", "2", "--json", str(path)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0
    assert "all 6 words up to length 2, in ball arithmetic" in " ".join(done.stdout.split())
    assert "does not round floating-point numbers" in done.stderr
    notes = json.loads(path.read_text(encoding="utf-8"))["notes"]
    assert any("does not round floating-point numbers" in note["message"] for note in notes)


@pytest.mark.parametrize("engine", ["auto", "float64"])
def test_models_go_to_balls_or_stay_undecided(
    engine: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(float_trust, "arithmetic_fault", lambda: "this is a test")
    for path in ("formulas/flipflop.ahat.json", "formulas/flipflop.ltl"):
        assert run(["check", path, "--max-n", "2", "--engine", engine]) == (0 if engine == "auto" else 3)
        assert "auto uses balls: this is a test" in capsys.readouterr().err


def result_text() -> Any:
    """Return a result of a worker that finds a fault."""

    def answer(shard: Shard) -> int:
        hear(("wrong here",))
        return shard.n

    return answer


@pytest.mark.slow
def test_what_a_worker_finds_reaches_its_parent() -> None:
    with LocalCrew(2) as crew:
        assert list(crew.run(Job(result_text, ()), [Shard(n, (("a",),)) for n in range(4)])) == list(range(4))
    assert reasons() == ("wrong here",)


def test_the_answer_of_a_worker_comes_with_what_it_found() -> None:
    assert workers.work(Job(result_text, ()).parcel(), Shard(3, (("a",),))) == (3, ("wrong here",))
