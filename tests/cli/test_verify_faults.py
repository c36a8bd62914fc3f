"""Tests of reports of `hardsim verify` on bugs of the checker, and on certificates that are too deep or too old."""

import json
from pathlib import Path
from typing import Any

import pytest

from hardsim.api import load
from hardsim.verify.__main__ import main
from tests.support.mistakes import raised
from tests.verify.test_faults import CERTIFICATES, PROGRAM, broken, formula


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_bug_has_exit_code_4(
    hardsim: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    path = tmp_path / "x.cert.json"
    path.write_text(json.dumps(broken(monkeypatch, kind, AttributeError)), encoding="utf-8")
    hardsim("verify", path).exits(4).says("internal error", "AttributeError: a bug", "Please report").lacks("VALID")
    capsys.readouterr()
    assert main([str(path)]) == 4
    said = capsys.readouterr()
    assert "VALID" not in said.out + said.err
    assert "internal error" in said.err
    assert "Nothing is known of the certificate" in said.err


@pytest.mark.parametrize("kind", ["formula", "program"])
def test_a_bug_in_the_check_of_a_new_certificate_is_no_lack_of_one(
    hardsim: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    broken(monkeypatch, kind, AttributeError)
    path, name = tmp_path / "x.cert.json", "since" if kind == "formula" else PROGRAM
    raised(AttributeError, load(name).prove, max_n=2, certificate=path, match="a bug")
    hardsim("prove", name, "--max-n", "2", "--certificate", path).exits(4).says("internal error", "a bug")
    assert not path.exists()


def test_files_that_are_nested_deeply_are_refused(hardsim: Any, tmp_path: Path) -> None:
    path, text = tmp_path / "x.cert.json", json.dumps(formula())
    for levels, codes in ((100, {1}), (900, {1, 2}), (100_000, {2})):
        path.write_text(text.replace('"min_n": 1', f'"min_n": {"[" * levels}{"]" * levels}'), encoding="utf-8")
        outcome = hardsim("verify", path)
        assert outcome.code in codes, levels
        assert not outcome.out.startswith("VALID")
        assert main([str(path)]) in codes, levels


def test_a_certificate_of_version_2_is_not_read(hardsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.cert.json"
    path.write_text(json.dumps(formula() | {"schema_version": 2}), encoding="utf-8")
    message = "a certificate of version 2: schema_version should be 3, 7 or 8 for formulas, 3 or 4 for programs"
    outcome = hardsim("verify", path).exits(2)
    outcome.says(message, "Make a certificate with: hardsim prove FILE --certificate NAME.cert.json").lacks("VALID")
