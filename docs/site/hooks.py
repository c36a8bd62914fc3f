"""Functions that mkdocs calls while it builds the site.

They add two pages, CONTRIBUTING.md, which is not in docs/, and the notebook, and the style sheet; they also typeset
mathematics and colour verdicts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.site.mathematics import typeset
from hardsim.version import __version__

DOCS = Path(__file__).resolve().parents[1]
CONTRIBUTING = DOCS.parent / "CONTRIBUTING.md"
TOUR = DOCS / "tour.ipynb"
STYLE = Path(__file__).with_name("site.css")
KINDS = {
    "right": ("PROVED", "CERTIFIED", "OBSERVED", "VALID", "IDENTICAL"),
    "wrong": ("REFUTED", "INVALID"),
    "open": ("UNDECIDED",),
}
"""The verdicts of each colour."""
VERDICT = re.compile(rf"(?<=>|\n)({'|'.join(word for words in KINDS.values() for word in words)})(?= )")
CODE = re.compile(r"<pre.*?</pre>", re.DOTALL)


def on_config(config: Any) -> Any:
    """Name the version at the foot of each page."""
    config.copyright = f"hardsim {__version__}"
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the two pages and the style sheet to the files of the site; the notebook's own file stays, for links to
    download it."""
    from mkdocs.structure.files import File

    text = CONTRIBUTING.read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "contributing.md", content=text))
    tour = "\n\n".join(parts(json.loads(TOUR.read_text(encoding="utf-8"))))
    files.append(File.generated(config, "tour.md", content=f"{tour}\n\n[The notebook](tour.ipynb)\n"))
    files.append(File.generated(config, STYLE.name, content=STYLE.read_text(encoding="utf-8")))
    return files


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Return a page whose reports have verdicts in colour."""
    return CODE.sub(lambda block: VERDICT.sub(_coloured, block[0]), html)


def _coloured(verdict: re.Match[str]) -> str:
    kind = next(kind for kind, words in KINDS.items() if verdict[0] in words)
    return f'<span class="verdict verdict-{kind}">{verdict[0]}</span>'


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return a page with its mathematics typeset, and with links to the page of the notebook, not to its file."""
    markdown = typeset(markdown)
    return markdown if page.file.src_uri == "tour.md" else markdown.replace("](tour.ipynb)", "](tour.md)")


def parts(notebook: Any) -> Iterator[str]:
    """Yield the cells of a notebook as Markdown, with their outputs as the notebook shows them."""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
        for output in cell.get("outputs", ()):
            data = output.get("data", {"text/plain": output.get("text", ())})
            html = "".join(data.get("text/html", ()))
            yield html or f"```text\n{''.join(data['text/plain']).rstrip()}\n```"
