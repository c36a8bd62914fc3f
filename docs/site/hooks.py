"""What mkdocs asks while it builds the site: CONTRIBUTING.md, which stands beside the README, is a page of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


def on_files(files: Any, config: Any) -> Any:
    """The files of the site with this one among them."""
    from mkdocs.structure.files import File

    text = CONTRIBUTING.read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "contributing.md", content=text))
    return files
