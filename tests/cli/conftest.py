"""Fixtures that run the command line in the test's process, with its exit code, output and error output kept apart."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeAlias

import pytest

from hardsim.cli.app import run
from hardsim.visible import visible_lines
from tests.support.attention_models import some_a, write
from tests.support.clusters import PATIENCE
from tests.support.documents import VALIDATOR
from tests.support.language import formulas_directory

COMMAND = (sys.executable, "-m", "hardsim")
SINCE = "// a since b\nalphabet: a b c\naccept: ab b ba\nreject: a c bc\na S b\n"
FUTURE = "// b at some time\nalphabet: a b\nat: first\nF b\n"


def unfolded(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


@dataclass(frozen=True)
class Outcome:
    """The exit code and the output of a run."""

    code: int
    out: str
    err: str

    @property
    def told_text(self) -> str:
        """Standard output on one line, since line breaks depend on the width of the terminal."""
        return unfolded(self.out)

    @property
    def json(self) -> Any:
        """Standard output as a JSON document, which must match the schema."""
        document = json.loads(self.out)
        VALIDATOR.validate(document)
        return document

    @property
    def result(self) -> Any:
        """The only result of the JSON document."""
        (found,) = self.json["results"]
        return found

    def exits(self, code: int, *printed: str) -> Outcome:
        """Require this exit code, and all of these texts on standard output."""
        assert self.code == code
        return self.prints(*printed)

    def clean(self, *printed: str, code: int = 0) -> Outcome:
        """Require empty standard error, this exit code, and all of these texts on standard output."""
        assert (self.code, self.err) == (code, "")
        return self.prints(*printed)

    def refused(self, *said: str, code: int = 2) -> Outcome:
        """Require this exit code, empty standard output, and all of these texts on standard error."""
        assert (self.code, self.out) == (code, "")
        return self.says(*said)

    def prints(self, *texts: str) -> Outcome:
        """Require all of these texts on standard output, however its lines are broken."""
        assert [text for text in texts if unfolded(text) not in self.told_text] == [], self.out
        return self

    def says(self, *texts: str) -> Outcome:
        """Require all of these texts on standard error."""
        assert [text for text in texts if text not in self.err] == [], self.err
        return self

    def lacks(self, *texts: str) -> Outcome:
        """Require that none of these texts is on standard output."""
        assert [text for text in texts if unfolded(text) in self.told_text] == [], self.out
        return self

    def unsaid(self, *texts: str) -> Outcome:
        """Require that none of these texts is on standard error."""
        assert [text for text in texts if text in self.err] == [], self.err
        return self


Cli: TypeAlias = Callable[..., Outcome]


def ended(*arguments: object, **options: Any) -> Outcome:
    """Run a program in a separate process and return its outcome."""
    given: dict[str, Any] = {"capture_output": True, "text": True, "encoding": "utf-8", "timeout": PATIENCE} | options
    done = subprocess.run([*map(str, arguments)], **given)
    return Outcome(done.returncode, done.stdout or "", done.stderr or "")


def process(*arguments: object, **options: Any) -> Outcome:
    """Run the command `hardsim` in a separate process and return its outcome."""
    return ended(*COMMAND, *arguments, **options)


def last_words(running: subprocess.Popen[str]) -> Outcome:
    """Wait for a started process to end and return its outcome."""
    out, err = running.communicate(timeout=PATIENCE)
    return Outcome(running.returncode, out, err)


def written(path: Path, text: str) -> Path:
    """Write a file with this text and return its path."""
    path.write_text(text, encoding="utf-8")
    return path


def interrupt(monkeypatch: pytest.MonkeyPatch, place: str, after: int = 0) -> None:
    """Raise KeyboardInterrupt in a function, after `after` calls of it."""
    owner, name = resolve_name(place.rsplit(".", 1)[0]), place.rsplit(".", 1)[1]
    before: Callable[..., Any] = getattr(owner, name)
    calls = count(1)

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if next(calls) == after + 1:
            raise KeyboardInterrupt
        return before(*arguments, **named)

    monkeypatch.setattr(owner, name, interrupted)


@pytest.fixture
def hardsim(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command `hardsim`, with `stdin` as the bytes on its standard input.

    Every run is checked: neither stream has a character that would control a terminal, and a JSON document is alone on
    standard output.
    """
    monkeypatch.delenv("HARDSIM_DEBUG", raising=False)
    monkeypatch.setattr("hardsim.cli.estimate.LATE", PATIENCE)  # no note about a slow machine

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
    return written(tmp_path / "since.ltl", SINCE)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files with a shipped formula, a shipped program and a shipped model."""
    directory = tmp_path_factory.mktemp("inputs")
    for name in ("dyck1.srasp", "flipflop.ahat.json", "since.ltl"):
        (directory / name).write_bytes((formulas_directory() / name).read_bytes())
    return sorted(directory.iterdir())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A file with the hard-attention model `some_a`."""
    return write(tmp_path, some_a())


@pytest.fixture
def future(tmp_path: Path) -> Path:
    """A file with a formula that looks ahead, which no causal regime supports."""
    return written(tmp_path / "future.ltl", FUTURE)
