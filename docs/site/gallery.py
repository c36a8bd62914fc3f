"""Draw the pictures of the gallery with the commands that its pages show: `python -m docs.site.gallery`.

The network that Tracr compiled is not shipped: `python -m docs.site.gallery DIRECTORY` finds it in DIRECTORY.
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
    """Yield the arguments of each command on the gallery's pages that draws a picture; the picture's name follows
    `--plot`.
    """
    for page in sorted(GALLERY.glob("*.md")):
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("hardsim trace ") and " --plot " in line:
                yield shlex.split(line, comments=True)[1:]


def draw(arguments: list[str], directory: Path, networks: Path = ROOT) -> Path | None:
    """Run a command and write its picture to `directory`; return the picture's path. The command prints as usual.

    Networks are read from this repository, or from `networks` if they are not shipped; None if the network is
    missing.

    Raises:
        RuntimeError: if the command draws nothing.
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
