"""Commands that once gave a false result, and the results that they must not give again.

They live beside the project, in `../shared/counterexamples`; a checkout without them collects nothing here. Every
cause also has tests in the place where it was.
"""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from hardsim.cli.app import run

DIRECTORY = Path(__file__).parents[2] / "shared" / "counterexamples"
MANIFEST = DIRECTORY / "manifest.jsonl"
CASES: list[dict[str, Any]] = (
    [json.loads(line) for line in MANIFEST.read_text(encoding="utf-8").splitlines()] if MANIFEST.is_file() else []
)

if CASES:

    @pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
    def test_nothing_false_is_printed(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(DIRECTORY)
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run(case["args"])
        assert code in case.get("code", (0, 1, 2, 3)), (code, case["why"], err.getvalue())
        for word in case.get("never", ()):
            assert word not in out.getvalue(), case["why"]
