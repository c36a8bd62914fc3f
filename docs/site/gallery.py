"""The pictures of the gallery: `python -m docs.site.gallery` draws them anew with the commands that its pages show.

The network that Tracr compiled is not shipped: `python -m docs.site.gallery DIRECTORY` finds it there.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

from hardsim.cli.app import run

GALLERY = Path(__file__).resolve().parents[1] / "gallery"
ROOT = GALLERY.parents[1]


def commands() -> Iterator[list[str]]:
    """The arguments of each command of a page that draws, with the picture's name after `--plot`."""
    for page in sorted(GALLERY.glob("*.md")):
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("hardsim trace ") and " --plot " in line:
                yield shlex.split(line, comments=True)[1:]


def draw(arguments: list[str], directory: Path, networks: Path = ROOT) -> Path | None:
    """Run such a command, with its picture in a directory. What it prints is that of the command. Networks that are not
    shipped are looked for where others lie; None where one is missing.

    Raises:
        RuntimeError: if it draws nothing.
    """
    place = arguments.index("--plot") + 1
    target = directory.resolve() / arguments[place]
    home = next((one for one in (ROOT, networks) if (one / arguments[1]).exists()), None)
    if home is None:
        return None
    with chdir(home):
        code = run([*arguments[:place], str(target), *arguments[place + 1 :]])
    if code not in (0, 1) or not target.exists():
        raise RuntimeError(f"{shlex.join(arguments)}: exit code {code}")
    return target


if __name__ == "__main__":
    for found in commands():
        draw(found, GALLERY, Path(*sys.argv[1:2]))
