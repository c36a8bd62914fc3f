"""Tests of the gallery: its pictures are those that its commands draw, and its report about a network that is not
shipped is right.
"""

import hashlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docs.site import gallery
from tests.cli.conftest import Cli, written
from tests.reading.test_tracr import SHARED, WRONG, needs_shared

PICTURES = [command[command.index("--plot") + 1] for command in gallery.commands()]


def pixels(data: bytes) -> str:
    """Return a digest of the pixels of a PNG, since its bytes depend on the compressor."""
    with Image.open(io.BytesIO(data)) as image:
        return hashlib.sha256(np.asarray(image.convert("RGBA")).tobytes()).hexdigest()


def content(path: Path) -> str:
    """Return the content of a picture, independent of compression."""
    return pixels(path.read_bytes()) if path.suffix == ".png" else path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("command", [*gallery.commands()], ids=PICTURES)
def test_a_picture_is_the_one_that_its_command_draws(command: list[str], tmp_path: Path) -> None:
    made = gallery.draw(command, tmp_path, SHARED)
    if made is None:
        pytest.skip("the network is in the shared test data, which is not here")
    assert content(made) == content(gallery.GALLERY / made.name)


def test_every_picture_is_drawn_shown_and_small() -> None:
    stored = [path for path in gallery.GALLERY.iterdir() if path.suffix != ".md"]
    assert sorted(path.name for path in stored) == sorted(PICTURES)
    shown = "".join(path.read_text(encoding="utf-8") for path in gallery.GALLERY.glob("*.md"))
    assert [name for name in PICTURES if f"]({name})" not in shown] == []
    assert [path.name for path in stored if path.suffix == ".svg" and path.stat().st_size > 150_000] == []
    assert sum(path.stat().st_size for path in gallery.GALLERY.iterdir()) < 1_000_000


def test_a_picture_that_is_changed_is_seen(tmp_path: Path) -> None:
    (one, *_) = sorted(gallery.GALLERY.glob("*.svg"))
    text = one.read_text(encoding="utf-8")
    assert content(written(tmp_path / "a.svg", text)) == content(one)
    assert content(written(tmp_path / "b.svg", text.replace("hard", "herd"))) != content(one)


def test_what_is_not_there_is_not_drawn(tmp_path: Path) -> None:
    assert gallery.draw(["trace", "nowhere", "a", "--plot", "x.svg"], tmp_path) is None
    with pytest.raises(RuntimeError, match="exit code 2"):
        gallery.draw(["trace", "formulas/since.ltl", "x", "--plot", "x.svg"], tmp_path)


@needs_shared
@pytest.mark.slow
def test_the_report_of_tracr_s_failure(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (gallery.GALLERY / "tracr.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text\n\$ hardsim (.*?)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / WRONG).symlink_to(SHARED / WRONG)
    written(tmp_path / "length.srasp", "alphabet: a b\nL(i) := len\n")
    written(tmp_path / "length.spec", "network: length_12\nprogram: length.srasp\n")
    monkeypatch.chdir(tmp_path)
    found = hardsim(*block[0].split())
    assert (found.code, found.out.strip("\n")) == (1, block[1].strip("\n"))
