"""The messages of a command as the page shows them.

A command gives advice in the words of the command line. Below its messages the page says where it has the options that
they name, and which only the command line has. What is about the command line itself is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hardsim.errors import enumerated
from hardsim.options.table import OPTIONS
from hardsim.serving.page_requests import PageRequest

FIELDS: Mapping[str, str] = {
    "--max-n": "the field 'longest word'",
    "--regime": "the menu 'regime'",
    "--beta": "the field 'beta'",
    "--critical": "the part 'The smallest beta that works'",
    "--plot": "what the page draws for a word",
    "--alphabet": "the line 'alphabet:' of the text",
    "--props": "the line 'props:' of the text",
    "--at": "the line 'at:' of the text",
}
"""Where the page has what an option gives."""
_OPTIONS = {name for one in OPTIONS.values() for name in "/".join(one.names).split("/")}
_OPTION = re.compile(r"(?<![\w-])--[a-z](?:[a-z-]*[a-z])?(?![\w-])")
_KEY = re.compile(r" ?Ctrl-C (?:ends it\.|stops it and keeps [^;]*;)")
"""A part of a note about a key, which does something else in a browser."""
_PICTURE = "note: the picture is in "


def page_messages(messages: str, request: PageRequest) -> str:
    """Return the messages of a command as the page shows them: without the note that a picture was written, which the
    page shows, without keys, and with a line about the options that they name."""
    lines = [line for line in messages.splitlines(keepends=True) if not line.startswith(_PICTURE)]
    lines = [_KEY.sub("", line) if line.startswith("note: ") else line for line in lines]
    typed = {line.strip() for line in request.text.splitlines()}  # an error quotes the line that it is about
    advice = "".join(line for line in lines if line.strip() not in typed)
    named = [*dict.fromkeys(found for found in _OPTION.findall(advice) if found in _OPTIONS)]
    here = [f"{option} is {FIELDS[option]}" for option in named if option in FIELDS]
    apart = [option for option in named if option not in FIELDS]
    said = [f"{'; '.join(here)}."] * bool(here)
    said += [f"Only the command line has {enumerated(apart)}."] * bool(apart)
    return "".join([*lines, *[f"On this page: {' '.join(said)}\n"] * bool(said)])
