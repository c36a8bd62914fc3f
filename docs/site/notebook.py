"""Run the cells of the tour, `docs/tour.ipynb`, and write their outputs: `python -m docs.site.notebook`.

Cells run in order, in one namespace, as in Jupyter, which is not needed. The stored notebook depends on nothing but the
code: it has no cell counts and no times.
"""

from __future__ import annotations

import ast
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "tour.ipynb"


def stored() -> Any:
    """Read the notebook as JSON of nbformat 4."""
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def renewed(notebook: Any) -> Any:
    """Run the cells and return the notebook with their outputs; an exception in a cell is raised."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [
        cell if cell["cell_type"] == "markdown" else cell | {"outputs": outputs("".join(cell["source"]), names)}
        for cell in notebook["cells"]
    ]
    return notebook | {"cells": cells}


def outputs(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell with this source and return its outputs: what it prints, and the value of its last expression."""
    tree, value = ast.parse(source), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    found: list[dict[str, Any]] = []
    if text := printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": lines(text)})
    if value is not None:
        html = getattr(value, "_repr_html_", None)
        data = {} if html is None else {"text/html": lines(html())}
        data["text/plain"] = lines(repr(value))
        found.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return found


def lines(text: str) -> list[str]:
    """Split a text into lines, as notebooks store it."""
    return text.splitlines(keepends=True)


def written(notebook: Any) -> str:
    """Return the text of the notebook as Jupyter writes it."""
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(written(renewed(stored())), encoding="utf-8")
