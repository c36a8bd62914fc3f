"""Write docs/options.md, the page of all options, from the command line's manual: `python -m docs.site.options`."""

from __future__ import annotations

from html import escape
from pathlib import Path

from hardsim.cli.manual import COMMANDS
from hardsim.cli.options import DEFAULTS, OPTIONS

PAGE = Path(__file__).resolve().parents[1] / "options.md"
HEAD = """# All options

Made from the text of `hardsim COMMAND --help-all` by `make docs`; do not edit. What the commands do is on the page
[Commands](commands.md).
"""


def render() -> str:
    """The page: the options of each command, with its defaults, and what each option does."""
    return "\n".join([HEAD, "## By command\n", *commands(), "\n## What they do\n", *meanings()]) + "\n"


def commands() -> list[str]:
    """A table row for each command."""
    rows = ["| command | options, with their defaults |", "|---|---|"]
    for name, manual in COMMANDS.items():
        shown = [spelled(field, manual.defaults.get(field, DEFAULTS[field])) for field in optional(manual.fields)]
        rows.append(f"| `{name}` | {', '.join(shown)} |")
    return rows


def optional(fields: tuple[str, ...]) -> list[str]:
    """The fields of a manual that are options, and no arguments."""
    return [field for field in fields if field in OPTIONS]


def spelled(field: str, default: object) -> str:
    """The last name of an option, with its default if that is a value."""
    name = [part for part in OPTIONS[field][0] if part.startswith("-")][-1]
    return f"`{name}`" if default is None or isinstance(default, bool) else f"`{name}` {default}"


def meanings() -> list[str]:
    """A table row for each option; of two that share a name the commands say which is meant."""
    rows = ["| option | of | what it does |", "|---|---|---|"]
    for field, (names, text) in OPTIONS.items():
        owners = [name for name, manual in COMMANDS.items() if field in manual.fields]
        others = [name for name in COMMANDS if name not in owners]
        few = others if len(others) < len(owners) else owners
        listed = ", ".join(f"`{name}`" for name in few)
        of = listed if few is owners else f"all but {listed}" if listed else "all"
        rows.append(f"| {code(' '.join(names))} | {of} | {text} |")
    return rows


def code(text: str) -> str:
    """Code in a cell of a table, where a bar must not end the cell: viewers disagree about a backslash before it."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
