"""Tests of comparisons with an earlier commit: each version runs its own code, on the same files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import before
from benchmarks.commands import SINCE
from benchmarks.runner import ROOT, FailedError, environment

HISTORY = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="there is no history")


def version(directory: Path, name: str) -> Path:
    """Write a hardsim whose command prints a name, its words, the directory, and the variables for threads."""
    package = directory / "hardsim" / "cli"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    shown = f"{name!r}, sys.argv[1:], os.getcwd(), [word for word in os.environ if word.endswith('_NUM_THREADS')]"
    (package / "app.py").write_text(f"import os, sys\ndef main(): print({shown})\n", encoding="utf-8")
    return directory.resolve()


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Path, Path]:
    return version(tmp_path / "new", "new"), version(tmp_path / "old", "old")


def test_each_version_runs_its_own_code_in_one_directory(
    versions: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    for code in versions:
        for place in versions:
            printed = before.report(code, place, ["check", "a b"])
            assert printed == f"{code.name} ['check', 'a b'] {place} []\n"


def test_another_version_than_the_requested_one_is_no_time(
    versions: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsafe(code: Path) -> dict[str, str]:
        return {name: value for name, value in environment(code).items() if name != "PYTHONSAFEPATH"}

    monkeypatch.setattr(before, "environment", unsafe)  # now the directory where a command runs comes first
    new, old = versions
    assert before.report(old, old, []).startswith("old ")
    with pytest.raises(FailedError, match=rf"{old}/hardsim/__init__\.py ran, not the hardsim of {new}"):
        before.report(new, old, [])


def test_a_version_is_not_compared_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def same(commit: str) -> Iterator[Path]:
        yield ROOT

    monkeypatch.setattr(before, "checkout", same)
    with pytest.raises(FailedError, match=f"this version is that of {before.EARLIER}"):
        before.compared(1, ["--version"])


def test_both_versions_run_in_turns_on_the_earlier_files(
    versions: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def earlier(commit: str) -> Iterator[Path]:
        yield versions[1]

    runs: list[tuple[Path, Path, Sequence[str]]] = []
    monkeypatch.setattr(before, "checkout", earlier)
    monkeypatch.setattr(before, "report", lambda *given: runs.append(given))
    seconds, _ = before.compared(2, ["check", before.SPECIFICATION])
    assert [*seconds] == [before.NOW, before.THEN]
    assert [code for code, _, _ in runs] == 2 * [ROOT, versions[1]]
    assert {place for _, place, _ in runs} == {versions[1]}
    ((check, specification, *rest),) = {tuple(words) for _, _, words in runs}
    assert (check, Path(specification).name, rest) == ("check", "widened.spec", ["--workers", "1"])


@HISTORY
def test_a_commit_is_extracted_and_removed() -> None:
    with before.checkout("HEAD") as root:
        assert before.modules(root).keys() >= {"hardsim/__init__.py", "hardsim/cli/app.py"}
        assert (root / SINCE).exists()
        assert not (root / "tests").exists()
    assert not root.exists()


def test_a_commit_that_the_history_lacks_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(before, "EARLIER", "0" * 40)
    figures = [figure for case in before.CASES for figure in case.figures()]
    assert len(figures) == len(before.FASTER)
    for figure in figures:
        assert (figure.value, figure.missed) == (None, True)
        assert figure.note == f"failed: commit {'0' * 40} is not in the git history of this checkout: not measured"


def test_without_git_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FailedError, match="is not in the git history"), before.checkout("HEAD"):
        pass
