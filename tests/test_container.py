"""Build the image of docs/ci/Containerfile with an engine, and run `hardsim check` in it.

The base image is made here, of Debian's packages, under the name that the file gives: a machine that reaches package
registries need not reach one of images. buildah's own isolation needs no rights but root's.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "ci" / "Containerfile"
DEBIAN = "trixie"
"""The release of Debian whose Python is that of the base image, 3.13."""
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
MISSING = [name for name in ("buildah", "debootstrap") if shutil.which(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(MISSING != [] or os.geteuid() != 0, reason=f"not root, or without {' and '.join(MISSING)}"),
]


class Engine:
    """buildah, with its storage in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        storage = ("--root", str(folder / "storage"), "--runroot", str(folder / "run"), "--storage-driver", "vfs")
        self._command = ("buildah", *storage)

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the engine."""
        return subprocess.run([*self._command, command, *arguments], capture_output=True, text=True, check=False)

    def output(self, command: str, *arguments: str) -> str:
        """Run a command that must succeed, and return the last line of its output."""
        done = self.run(command, *arguments)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip().rpartition("\n")[2]


def base_system(folder: Path) -> None:
    """Make the files of a base image: a small Debian, whose pip may install programs, as in the images of Python."""
    packages = "--include=python3,python3-pip,ca-certificates"
    subprocess.run(["debootstrap", "--variant=minbase", packages, DEBIAN, str(folder)], check=True, capture_output=True)
    (folder / "usr" / "bin" / "python").symlink_to("python3")
    for mark in folder.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        mark.unlink()
    if CERTIFICATES.exists():  # this machine may reach the registry of packages through another one
        shutil.copyfile(CERTIFICATES, folder / CERTIFICATES.relative_to("/"))


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, str]]:
    """An engine with a container of the image."""
    folder = tmp_path_factory.mktemp("engine")
    engine, base = Engine(folder), folder / "base"
    base_system(base)
    (name,) = re.findall(r"^FROM (\S+)$", FILE.read_text(encoding="utf-8"), re.MULTILINE)
    made = engine.output("from", "scratch")
    engine.output("add", made, str(base), "/")
    engine.output("config", "--env", f"PIP_CERT={CERTIFICATES}", made)
    engine.output("commit", made, f"docker.io/library/{name}")
    engine.output("bud", "--isolation", "chroot", "--pull=never", "-t", "hardsim", "-f", str(FILE), str(ROOT))
    yield engine, engine.output("from", "--pull-never", "localhost/hardsim")
    engine.run("rm", "--all")
    shutil.rmtree(folder)


def test_the_image_checks_files_of_the_user(container: tuple[Engine, str], tmp_path: Path) -> None:
    """The command of the image gives the exit codes of `check`, for mounted files and for shipped names."""
    engine, running = container
    config = json.loads(engine.run("inspect", running).stdout)["OCIv1"]["config"]
    assert (config["Entrypoint"], config["Cmd"], config["WorkingDir"]) == (["hardsim"], ["--help"], "/work")
    for name, text in (("right", "O a"), ("broken", "O (")):
        (tmp_path / f"{name}.ltl").write_text(f"alphabet: a b\n{text}\n", encoding="utf-8")
    mount = ("--isolation", "chroot", "--volume", f"{tmp_path}:/work:ro")

    def checked(*arguments: str) -> tuple[int, str]:
        command = [*config["Entrypoint"], "check", *arguments, "--max-n", "3", "--quiet"]
        done = engine.run("run", *mount, running, "--", *command)
        return done.returncode, done.stdout.partition("  ")[0]

    assert checked("right.ltl") == checked("since") == (0, "PROVED")
    assert checked("since", "--regime", "none")[0] == 1
    assert checked("broken.ltl")[0] == 2
    # Nothing of the source is left in the image.
    assert engine.run("run", "--isolation", "chroot", running, "--", "ls", "/source").returncode != 0
