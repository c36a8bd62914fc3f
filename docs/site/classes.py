"""Write the table of docs/classes.md: `python -m docs.site.classes` classifies everything shipped that has an
automaton."""

from __future__ import annotations

from pathlib import Path

import hardsim

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "classes.md"
BEGIN, END = "<!-- classes: made by `python -m docs.site.classes`, do not edit -->\n\n", "\n<!-- end of classes -->"
HEAD = "|file|states|monoid|smallest classes|\n|---|---:|---:|---|\n"


def rows() -> str:
    """Return the table: each shipped formula and expression that has an automaton, with its smallest classes."""
    found = []
    for path in sorted((ROOT / "formulas").iterdir()):
        if path.suffix in (".ltl", ".cr", ".re"):
            try:
                result = hardsim.load(path).classify()
            except hardsim.NoAutomaton:
                continue
            sizes = result.classification
            names = ", ".join(one.name for one in result.smallest)
            found.append(f"|{path.name}|{sizes.states}|{sizes.monoid}|{names}|\n")
    return HEAD + "".join(found)


def written(page: str) -> str:
    """Return the text of a page with a new table."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + rows() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
