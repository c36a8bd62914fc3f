"""Tests of the table of options: an entry appears in all that is made of it, and values and earlier names are right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

import pytest

from docs.site import options as pages
from hardsim.campaign.workers import BACKENDS
from hardsim.cli.commands import page
from hardsim.cli.completion import Completion
from hardsim.cli.manual import COMMANDS
from hardsim.cli.typer_options import options_of
from hardsim.lang.vocabulary import DIALECTS
from hardsim.measuring.export import GOALS
from hardsim.options.table import ALIKE, ALL, FORMATS, OPTIONS, Request, option, table
from hardsim.options.values import COUNT
from hardsim.precision.safe_lengths import ARITHS
from hardsim.targets.base import At
from hardsim.targets.result import ENGINES
from hardsim.writing.onnx import DTYPES
from tests.support.model import NAMED


@dataclass(frozen=True)
class LongerRequest(Request):
    """A request with one more option."""

    turns: int = option(
        "-t --turns K",
        default=3,
        brief="check",
        also="words prove",
        kind=COUNT,
        own={"prove": (5, ", as a proof turns more")},
        aliases="--rounds",
    )("Turns. There are a few.")


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Add an option to the table, and yield the list of the requests that commands get."""
    found: list[Any] = []
    monkeypatch.setitem(OPTIONS, "turns", table(LongerRequest)["turns"])
    monkeypatch.setattr("hardsim.cli.typer_options.Request", LongerRequest)
    monkeypatch.setattr("hardsim.cli.check.command", found.append)
    monkeypatch.setenv("COLUMNS", "80")
    page.cache_clear()  # commands that were made of another table
    yield found
    page.cache_clear()


def test_an_option_is_one_entry(hardsim: Any, requests: list[Any]) -> None:
    hardsim("check", "--help").clean("-t, --turns K               Turns.  [default: 3]").lacks("There are a few")
    hardsim("check", "--help-all").clean("Turns. There are a few.  [default: 3]")
    hardsim("prove", "--help").clean().lacks("--turns")
    hardsim("prove", "--help-all").clean("Turns (default: 5, as a proof turns more). There are a few.")
    hardsim("eval", "--help-all").clean().lacks("--turns")
    for typed in (["--turns", "4"], ["-t", "4"], ["--turns=4"]):
        hardsim("check", "since", *typed).clean()
    assert [(one.turns, "turns" in one.written) for one in requests] == [(4, True)] * 3
    hardsim("check", "since").clean()
    assert (requests[-1].turns, requests[-1].written) == (3, {"files"})
    hardsim("check", "--turns", "x").refused("Invalid value for '-t' / '--turns': 'x' is not an integer")
    hardsim("check", "--turn", "3").refused("no such option: --turn; did you mean --turns?")
    assert (
        "- `-t --turns K` (`check`, `words`, `prove`): Turns. There are a few (default: 3; `prove` 5, as a proof"
        in pages.render(OPTIONS)
    )
    names: dict[str, Any] = {}
    exec(pages.keywords(OPTIONS), names)
    taking = {name for name, found in names.items() if "turns" in getattr(found, "__annotations__", ())}
    assert taking == {"CheckKeywords", "WordsKeywords", "ProveKeywords"}
    assert names["CheckKeywords"].__annotations__["turns"].__forward_arg__ == "int"
    assert OPTIONS["turns"].of_python("turns", 7) == 7


@pytest.mark.parametrize("typed", [["--rounds", "4"], ["--rounds=4"]])
def test_an_earlier_name_is_read_with_a_note(hardsim: Any, requests: list[Any], typed: list[str]) -> None:
    hardsim("check", "since", *typed).exits(0).says("note: --rounds is now called --turns")
    assert requests[-1].turns == 4
    hardsim("check", "since", "--help-all").clean().lacks("--rounds")
    hardsim("eval", "since", "a", *typed).refused("no such option: --rounds")
    hardsim("check", "--", *typed).clean()  # these are files
    assert requests[-1].files == typed


def test_the_number_format_has_one_name(hardsim: Any) -> None:
    new, old = (hardsim("precision", "since", name, "float16", "--max-n", "3") for name in ("--dtype", "--arith"))
    assert (new.code, new.out) == (old.code, old.out)
    new.clean()
    old.says("note: --arith is now called --dtype")


def test_values_are_those_that_there_are() -> None:
    known = {
        "regime": (*NAMED, ALL), "engine": ENGINES, "to": GOALS, "backend": BACKENDS, "format": FORMATS,
        "at": get_args(At), "dialect": DIALECTS, "dtype": dict.fromkeys((*DTYPES, *ARITHS)),
    }  # fmt: skip
    for name, values in known.items():
        assert tuple(OPTIONS[name].choices) == tuple(values)
        assert Completion(name)(None, "") == list(values)


def test_every_entry_names_commands_and_a_default_of_its_own_has_a_reason() -> None:
    assert {command for one in OPTIONS.values() for command in one.commands} == {*COMMANDS} - {*ALIKE}
    for one in OPTIONS.values():
        assert len(one.commands) == len({*one.commands})
        assert one.own.keys() <= {*one.commands}
        assert all(reason for _, reason in one.own.values())
    for command in COMMANDS:
        assert sum(not OPTIONS[name].names for name in options_of(command)) == (command != "serve")
        names = [name for field in options_of(command) for name in OPTIONS[field].names]
        assert len(names) == len({*names})


GIVEN: dict[str, str] = {
    "beta": "7/2",
    "epsilon": "1/8",
    "norm_epsilon": "1/1000",
    "rounding": "biased:3",
    "weighting": "sparsemax",
    "exponential": "fp16",
    "by": "oracle",
    "soft_words": "all",
    "distribution": "uniform",
    "within": "DA",
    "format": "json",
}
"""Values of the options that are parsed and are no integers."""


@pytest.mark.parametrize("name", [name for name, one in OPTIONS.items() if one.kind.parse])
def test_a_parsed_value_is_written_as_it_was_typed(name: str) -> None:
    """Commands that run others write their options again."""
    kind, text = OPTIONS[name].kind, GIVEN.get(name, "8")
    assert kind is not None
    assert kind.parse is not None
    value = kind.parse(text)
    request = replace(Request(), **{name: value}, written=frozenset({name}))
    assert request.typed([name]) == [OPTIONS[name].flag, text]
