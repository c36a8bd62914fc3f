"""Tests of the messages of a command on the page."""

import re
from pathlib import Path

import pytest

from hardsim.options.table import OPTIONS
from hardsim.serving.page_messages import FIELDS, page_messages
from hardsim.serving.page_requests import PageRequest

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
        shown, _, about = page_messages(f"error: {line}\n", REQUEST).partition("On this page: ")
        assert shown == f"error: {line}\n"
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
