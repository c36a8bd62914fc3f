"""Write what is made of the table of options, `python -m docs.site.options`: docs/options.md, the page of all options,
and hardsim/keywords.py, the types of the keywords of the Python methods.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

from hardsim.measuring.critical import REFUSED, UNUSED
from hardsim.options.table import OPTIONS, Option

ROOT = Path(__file__).resolve().parents[2]
PAGE, KEYWORDS = ROOT / "docs" / "options.md", ROOT / "hardsim" / "keywords.py"
HEAD = """# All options

`hardsim COMMAND --help-all` prints the options of one command, and [Commands](commands.md) describes the commands.
(`make docs` writes this page from the help texts.) Options of at most four commands name them in brackets.

"""
FEW = 4
"""The largest number of commands that an item names."""
METHODS = (
    "check", "prove", "eval", "words", "equiv", "classify", "bound", "compile", "export", "precision", "heads", "trace",
)  # fmt: skip
"""The commands that are methods of `hardsim.Model`."""
BASES = {"Model": ("beta", "what is compiled"), "Arithmetic": ("engine", "the arithmetic of the softmax network")}
"""Groups of keywords: the name of their class, one of them, whose methods take them all, and what they are about."""
TYPES = '''"""The keywords of the methods of `hardsim.Model`, and their types. (`make docs` writes this file from the
table of options, `hardsim.options.table`.)
"""

from __future__ import annotations

import os
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias, TypedDict

from hardsim.compiling.from_ltl.refusals import Method
from hardsim.options.table import Judge
from hardsim.targets.base import At

Number: TypeAlias = int | float | Fraction | Decimal | str
"""An exact number: an integer, a fraction, a decimal, a text such as `7/2` or `3.9`, or a float that is exactly the
number it prints as (0.5 is, 0.1 is not).
"""
'''


# ---- the page ----


def render(table: dict[str, Option] = OPTIONS) -> str:
    """Return the page: a list item for each option."""
    return HEAD + "".join(f"{item(one)}\n" for one in table.values() if one.names)


def item(one: Option) -> str:
    """Return the list item of an option: its names, the commands that take it, its help text and its defaults."""
    of = f" ({', '.join(f'`{name}`' for name in one.commands)})" if len(one.commands) <= FEW else ""
    default = defaults(one)
    message = f"{one.help[:-1]} (default: {default})." if default else one.help
    whole = f"`{one.spelled}`{of}: {message}"
    return fill(whole, 120, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def defaults(one: Option) -> str:
    """Return the default values of an option as text: its own, then those of single commands. Empty for an option that
    has none, or whose help text describes it.
    """
    if one.default is None or isinstance(one.default, bool):
        return ""
    return "; ".join([str(one.default), *(f"`{name}` {value}{why}" for name, (value, why) in one.own.items())])


# ---- the keywords ----


def keywords(table: dict[str, Option] = OPTIONS) -> str:
    """Return the module of the keywords: a class for each method, with classes above it for groups of keywords."""
    taken = {method: [name for name, one in table.items() if one.is_keyword(method)] for method in METHODS}
    methods = {name: {method for method in METHODS if name in taken[method]} for name in table}
    found, groups, free = [TYPES], dict[str, list[str]](), list(table)
    for base, (one, about) in BASES.items():
        groups[base] = [name for name in free if methods[name] >= methods[one]]
        free = [name for name in free if name not in groups[base]]
        found.append(klass(base, "TypedDict, total=False", f"Keywords for {about}.", groups[base], table))
    critical = [name for name in taken["bound"] if name not in (*UNUSED[0].split(), *REFUSED)]
    for method, names in [*taken.items(), ("critical", critical)]:
        above = [base for base, group in groups.items() if {*group} <= {*names}]
        left = [name for name in names if not any(name in groups[base] for base in above)]
        bases = ", ".join(f"{base}Keywords" for base in above) or "TypedDict"
        text = f"Keywords of `{'bound` with `critical' if method == 'critical' else method}`."
        found.append(klass(method.title(), f"{bases}, total=False", text, left, table))
    return "\n\n".join(found)


def klass(title: str, bases: str, text: str, names: list[str], table: dict[str, Option]) -> str:
    """Return the class of some keywords."""
    rows = [f"    {name}: {type_of(table[name], title.lower())}" for name in names]
    return "\n".join([f"class {title}Keywords({bases}):", f'    """{text}"""', *[""] * bool(rows), *rows, ""])


def type_of(one: Option, method: str) -> str:
    """Return the type of the Python values of an option, as it is written."""
    given = one.kind.python or one.type
    none = " | None" if one.default is None or method in one.omitted.split() else ""
    return given.removesuffix(" | None") + none


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    KEYWORDS.write_text(keywords(), encoding="utf-8")
