"""A bug of the checker is reported as a bug; a certificate of any depth or size is refused as a certificate."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from hardsim.verify import Unreadable, digests, read, verify
from hardsim.verify.__main__ import main
from hardsim.verify.arithmetic import Rejected
from hardsim.verify.expressions import LEVELS, NESTING, expression
from hardsim.verify.monotone import MOST_DEPTH
from tests.support import hostile_certificates, program_certificates
from tests.support.damage import at, places, replaced
from tests.support.mistakes import raised

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "same_ends.ahat.json"
FAULTS = (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError, RecursionError, AssertionError)
"""Exceptions that a bug in the checker may raise."""


def formula(max_n: int | None = 2) -> dict[str, Any]:
    """Return the certificate of a formula."""
    return hostile_certificates.made("since", "temperature", max_n)


def program() -> dict[str, Any]:
    """Return the certificate of a program."""
    return program_certificates.made(PROGRAM, 2)


CERTIFICATES: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "formula": (formula, "hardsim.verify.formulas.FormulaChecker._clips"),
    "every length": (lambda: formula(None), "hardsim.verify.every_length.EveryLengthChecker._rate"),
    "program": (program, "hardsim.verify.decay.Recursion._row"),
}
"""A certificate of each kind, and a function that its check calls."""


def broken(monkeypatch: pytest.MonkeyPatch, kind: str, fault: type[Exception]) -> dict[str, Any]:
    """Return a valid certificate, and patch the checker so that it meets a bug."""

    def wrong(*args: Any, **names: Any) -> Any:
        raise fault("a bug")

    document = CERTIFICATES[kind][0]()
    assert verify(document) is None
    monkeypatch.setattr(CERTIFICATES[kind][1], wrong)
    return document


# ---- bugs ----


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_bug_is_no_rejection(monkeypatch: pytest.MonkeyPatch, kind: str, fault: type[Exception]) -> None:
    raised(fault, verify, broken(monkeypatch, kind, fault), match="a bug")


def test_what_the_checker_raises_itself_is_a_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verify(broken(monkeypatch, "formula", Rejected)) == "a bug"


def test_too_little_memory_is_a_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "too large" in (verify(broken(monkeypatch, "formula", MemoryError)) or "")


# ---- certificates that are nested deeply ----


def deep(levels: int) -> Any:
    """Return an array nested `levels` deep."""
    found: Any = []
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 8))])
@pytest.mark.parametrize("kind", CERTIFICATES)
def test_values_that_are_nested_deeply_are_rejected_everywhere(kind: str, part: int) -> None:
    """Every eighth place is one part."""
    document = CERTIFICATES[kind][0]()
    for path in [path for path in places(document) if path][part::8]:
        assert verify(replaced(document, path, deep(10_000))) is not None, path
    others: list[Any] = [deep(10_000), None, [], "x", 1]
    for value in others:
        assert verify(value) is not None


NESTED = (
    "({})", "1+({})", "2*-({})", "[0 == ({})]", "[1 == 0 or 1 == 0 and not 0 == 1 + 1*{}]", "({})**({})", "1/({})",
    "[PRIME({})]", "(-1)**({})", "[1 < {} < 3 or not 1 < 2]", "log({})", "exp(-sqrt({}))", "-(1 + ({}))",
)  # fmt: skip
"""Expressions with a place for another expression."""
WIDE = ("log(n)" + "*1" * 3000, "log(n)" + "+1" * 3000, "1" + "+log(n)" * 900, "-" * 9000 + "n")
"""Expressions of many operators in a row."""


AT_THE_LIMIT = (98, 100, 101, 10_000)
"""Depths of expressions near the most brackets that are read, and far beyond."""


def nested(part: str, depths: Iterable[int]) -> list[str]:
    """Return expressions that are nested as deeply as the limits of length and depth allow."""
    found: list[str] = []
    for start in ("n", "i", "x"):
        for levels in depths:
            text = start
            for _ in range(levels):
                if len(text) > 16_000:
                    break
                text = part.replace("{}", text, 1).replace("{}", "2")
            found.append(text)
    return list(dict.fromkeys(found))


def with_less_room(calls: int, check: Callable[[], object]) -> object:
    """Return the result of a function that is called from `calls` calls deep."""
    return check() if not calls else with_less_room(calls - 1, check)


def resealed(document: dict[str, Any]) -> str | None:
    """Recompute the digests of a document; return the reason why it is rejected."""
    document["digests"] = digests(document)
    return verify(document)


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("depths", [AT_THE_LIMIT, pytest.param((40, 60, 80), marks=pytest.mark.slow)])
@pytest.mark.parametrize("part", NESTED)
def test_expressions_that_are_nested_deeply_are_read_or_rejected(part: str, depths: Iterable[int]) -> None:
    """Reaching Python's recursion limit is a bug, so no reader may reach it unless its caller's stack is already
    deep.
    """
    some = formula(2), formula(None), program()
    at_paths = (
        (some[0], ("model", "temperature")), (some[1], ("model", "temperature")), (some[2], ("temperature", 0)),
        (some[0], ("model", "encodings", "i")), (some[1], ("model", "encodings", "i")),
        (some[2], ("facts", "functions", 0)), (some[2], ("model", "encodings", "1")),
    )  # fmt: skip
    for text in nested(part, depths):
        for document, path in at_paths:
            changed = replaced(document, path, text)
            with_less_room(150, lambda changed=changed: resealed(changed))  # type: ignore[misc]


@pytest.mark.parametrize("text", WIDE)
def test_expressions_of_many_operators_are_read_or_rejected(text: str) -> None:
    for document, path in ((formula(None), ("model", "temperature")), (program(), ("temperature", 0))):
        changed = replaced(document, path, text)
        with_less_room(150, lambda changed=changed: resealed(changed))  # type: ignore[misc]


def test_how_deep_expressions_are_read() -> None:
    assert expression("(" * NESTING + "n" + ")" * NESTING).tree == "n"
    raised(Rejected, expression, "(" * (NESTING + 1) + "n" + ")" * (NESTING + 1), match="more than 100 brackets")
    levels = (LEVELS - 1) // 6
    inside = "[0 == 0 or 0 == 0 and 0 == 1 + 1*"
    assert expression(inside * levels + "n" + "]" * levels).names == {"n"}
    raised(Rejected, expression, inside * (levels + 1) + "n" + "]" * (levels + 1), match="more than 250 operators")
    document = formula(None)
    for terms, reason in (
        (MOST_DEPTH - 3, "fall behind the winner"),
        (MOST_DEPTH - 2, "too large: more than 64 operators"),
    ):
        # Besides the sums there are a quotient, log, and its argument.
        changed = replaced(document, ("model", "temperature"), "1/log(n + 1)" + "+1" * terms)
        assert reason in (resealed(changed) or ""), terms


def test_integers_are_of_any_size_in_no_place() -> None:
    for kind in CERTIFICATES:
        document = CERTIFICATES[kind][0]()
        for path in places(document):
            if type(at(document, path)) is int:
                assert verify(replaced(document, path, 10**5000)) is not None, path


# ---- versions ----


def test_certificates_of_version_2_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.cert.json"
    for document in (formula(), formula(None), program()):
        document["schema_version"] = 2
        known = "3, 7 or 8 for formulas, 3 or 4 for programs, 5 or 6 for external networks"
        message = f"a certificate of version 2: schema_version should be {known}"
        assert resealed(document) == message
        path.write_text(json.dumps(document), encoding="utf-8")
        raised(Unreadable, read, path.read_bytes(), match=message)
        assert main([str(path)]) == 2


@pytest.mark.parametrize("version", [None, True, 3.0, "3", -1, 10**40, [], deep(10_000)])
def test_versions_that_are_none(version: Any) -> None:
    for document in (formula(), program()):
        document["schema_version"] = version
        assert "no known version" in (verify(document) or "")


# ---- the checker alone ----


def test_the_checker_runs_alone(tmp_path: Path) -> None:
    """The checker needs its package and the standard library, and no installed package."""
    package = tmp_path / "alone" / "hardsim"
    shutil.copytree(ROOT / "hardsim" / "verify", package / "verify", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "version.py"):
        shutil.copy(ROOT / "hardsim" / name, package / name)
    valid, invalid = tmp_path / "valid.json", tmp_path / "invalid.json"
    many = tmp_path / "program.json"
    valid.write_text(json.dumps(formula(None)), encoding="utf-8")
    many.write_text(json.dumps(program()), encoding="utf-8")
    invalid.write_text(json.dumps(replaced(formula(2), ("model", "layers", 0, "heads", 0, "mask"), "past")))

    def run(*names: object) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-S", "-m", "hardsim.verify", *map(str, names)]
        return subprocess.run(line, capture_output=True, text=True, check=False, cwd=package.parent)

    done = run(valid, many)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("VALID") == 2
    assert f"sha256 of model: {formula(None)['digests']['model']}" in done.stdout
    assert "on every word of every length" in done.stdout
    done = run(valid, invalid)
    assert done.returncode == 1
    assert done.stdout.count("VALID") == 1
    assert "INVALID: model was altered" in done.stderr
    assert run(valid, tmp_path / "none.json").returncode == 2
    # A file that is invalid comes before one that cannot be read, as in `hardsim verify`.
    assert run(tmp_path / "none.json", invalid, valid).returncode == 1
    assert run().returncode == 2
    assert run("--help").stderr.startswith("usage")


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.cert.json"
    path.write_text(json.dumps(formula()), encoding="utf-8")
    assert main([str(path)]) == 0
    monkeypatch.setattr("hardsim.verify.__main__.LARGEST_FILE", path.stat().st_size - 1)
    assert main([str(path)]) == 2


def test_deep_values_are_refused_in_any_section(tmp_path: Path) -> None:
    deep: object = []
    for _ in range(5000):
        deep = [deep]
    for document in (formula(), program()):
        document["labels"] = deep
        assert "nested more than 300 deep" in str(verify(document))
