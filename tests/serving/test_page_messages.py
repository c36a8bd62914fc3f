"""Tests of the messages of a command on the page."""

import re
from pathlib import Path
from typing import get_args

import pytest

from hardsim.options.table import OPTIONS
from hardsim.serving.page_messages import FIELDS, page_messages
from hardsim.serving.page_requests import Action, PageRequest

MESSAGES = Path(__file__).parents[1] / "golden" / "messages.txt"
FLAGS = {name for one in OPTIONS.values() for text in one.names for name in text.split("/") if name.startswith("--")}
REQUEST = PageRequest("check", "ltl", "alphabet: a b\na S b --beta\n")


def test_every_option_that_any_message_names_is_found_on_the_page_or_is_not_there() -> None:
    """Advice of the command line says in the words of the page what to do, or that the page cannot."""
    named = 0
    for line in MESSAGES.read_text(encoding="utf-8").splitlines():
        if "On this page: " in line:
            continue
        options = {one for one in re.findall(r"--[a-z-]*[a-z]", line) if one in FLAGS}
        shown, _, about = page_messages(f"note: {line}\n", REQUEST).partition("On this page: ")
        if not re.match(r"hardsim\.cli\.(serve|watch)", line):
            assert "Ctrl-C" not in shown
        if "Ctrl-C" not in line:
            assert shown == f"note: {line}\n"
        here, _, apart = about.partition("Only the command line has ")
        assert {one for one in options if one in FIELDS} == {*re.findall(r"(--[a-z-]+) is ", here)}
        assert {one for one in options if one not in FIELDS} == {*re.findall(r"--[a-z-]*[a-z]", apart)}
        named += bool(options)
    assert named > 100


@pytest.mark.parametrize(
    ("messages", "shown"),
    [
        ("note: the picture is in maps.svg\n", ""),
        ("error: it is\n  Leave it out.\n", "error: it is\n  Leave it out.\n"),
        ("note: it takes long. Ctrl-C ends it.\n", "note: it takes long.\n"),
        ("note: long. Ctrl-C stops it and keeps the rest; be brief.\n", "note: long. be brief.\n"),
        # The text itself gives no advice.
        ("error: no\n  a S b --beta\n        ^\n", "error: no\n  a S b --beta\n        ^\n"),
        (
            "error: no\n  Give --max-n below 2, or allow more with --exhaustive.\n",
            "error: no\n  Give --max-n below 2, or allow more with --exhaustive.\n"
            "On this page: --max-n is the field 'longest word'. Only the command line has --exhaustive.\n",
        ),
    ],
)
def test_messages_of_the_page(messages: str, shown: str) -> None:
    assert page_messages(messages, REQUEST) == shown


def test_the_page_has_every_option_of_its_own_commands() -> None:
    for action in get_args(Action):
        shown = PageRequest(action, "ltl", "true", 3, "rounded", "2", "a").shown
        assert {text.partition("=")[0] for text in shown if re.match(r"--\w", text)} <= {*FIELDS}
