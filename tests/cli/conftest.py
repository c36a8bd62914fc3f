"""Running the command line inside the test's process, with its three outcomes kept apart."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema
import pytest

from hardsim.cli.app import run
from hardsim.report.json import schema
from hardsim.visible import visible_lines

SINCE = "// a since b\nalphabet: a b c\naccept: ab b ba\nreject: a c bc\na S b\n"
FUTURE = "// b at some time\nalphabet: a b\nat: first\nF b\n"


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as a JSON document that meets the schema."""
        document = json.loads(self.out)
        jsonschema.Draft202012Validator(schema()).validate(document)
        return document


Cli: TypeAlias = Callable[..., Outcome]


@pytest.fixture
def hardsim(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command `hardsim`, with `stdin` as the bytes on its standard input.

    Whatever is run, neither of its streams has a character that a terminal would obey instead of printing it, and a
    JSON document has standard output to itself.
    """
    monkeypatch.delenv("HARDSIM_DEBUG", raising=False)

    def command(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        for text in captured:
            assert text == visible_lines(text)
        if captured.out and ("--json", "-") in pairwise(map(str, arguments)):
            json.loads(captured.out)
        return Outcome(code, captured.out, captured.err)

    return command


@pytest.fixture
def since(tmp_path: Path) -> Path:
    """A file with the past formula `a S b` over {a, b, c}."""
    path = tmp_path / "since.ltl"
    path.write_text(SINCE, encoding="utf-8")
    return path


@pytest.fixture
def future(tmp_path: Path) -> Path:
    """A file with a formula that looks ahead, which no causal regime can do."""
    path = tmp_path / "future.ltl"
    path.write_text(FUTURE, encoding="utf-8")
    return path
