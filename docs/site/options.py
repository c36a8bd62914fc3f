"""Write docs/options.md, the page of all options, from the command line's manual: `python -m docs.site.options`."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

from hardsim.cli.manual import COMMANDS
from hardsim.cli.options import DEFAULTS, OPTIONS

PAGE = Path(__file__).resolve().parents[1] / "options.md"
HEAD = """# All options

`hardsim COMMAND --help-all` prints the options of one command, and [Commands](commands.md) describes the commands.
(`make docs` writes this page from the help texts.) Options of at most four commands name them in brackets.

"""
FEW = 4
"""The largest number of commands that an item names."""


def render() -> str:
    """Return the page: a list item for each option."""
    return HEAD + "".join(f"{item(field)}\n" for field in OPTIONS)


def item(field: str) -> str:
    """Return the list item of an option: its names, the commands that take it, its help text and its defaults."""
    names, text = OPTIONS[field]
    owners = [name for name, manual in COMMANDS.items() if field in manual.fields]
    of = f" ({', '.join(f'`{name}`' for name in owners)})" if len(owners) <= FEW else ""
    default = defaults(field, owners)
    message = f"{text[:-1]} (default: {default})." if default else text
    whole = f"`{' '.join(names)}`{of}: {message}"
    return fill(whole, 120, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def defaults(field: str, owners: list[str]) -> str:
    """Return the default values of an option as text: the most frequent one first, then those of single commands.
    Empty for an option that has none, or whose help text describes it.
    """
    found: dict[object, list[str]] = {}
    for name in owners:
        found.setdefault(COMMANDS[name].defaults.get(field, DEFAULTS[field]), []).append(name)
    shown = [(value, names) for value, names in found.items() if value is not None and not isinstance(value, bool)]
    shown.sort(key=lambda one: -len(one[1]))
    parts = [f"{', '.join(f'`{name}`' for name in names)} {value}" for value, names in shown[1:]]
    return "; ".join([str(value) for value, _ in shown[:1]] + parts)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
