"""The wheel and the source distribution: what is inside, what they say of themselves, and the wheel in an empty
environment. `make package` runs these tests on the files of dist/."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import pytest
from trove_classifiers import classifiers

from hardsim.version import DISTRIBUTION, __version__
from tests.support.clusters import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
STEM = f"{DISTRIBUTION.replace('-', '_')}-{__version__}"
BUILD = (sys.executable, "-m", "hatchling", "build", "-d")
NEEDED = """hardsim/py.typed hardsim/lang/ltl.lark hardsim/lang/srasp.lark hardsim/lang/re.lark
hardsim/lang/crasp.lark
hardsim/program/ahat.schema.json hardsim/report/maps.html hardsim/proving/rocq/library/Check.v
hardsim/formulas/since.ltl hardsim/formulas/networks/majority.spec hardsim/formulas/networks/majority/config.json
hardsim/formulas/networks/majority/model.safetensors"""
"""Files besides modules that commands read."""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both distributions: that of the variable DIST, or a new one."""
    if "DIST" in os.environ:
        return Path(os.environ["DIST"]).resolve()
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([*BUILD, folder], cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def source(dist: Path) -> Path:
    (found,) = dist.glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return BytesParser().parsebytes(archive.read(f"{STEM}.dist-info/METADATA"))


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def tracked(*folders: str) -> set[str]:
    """Return the files of folders of the source tree, without what Python writes."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {path.relative_to(ROOT).as_posix() for path in found if path.suffix != ".pyc"}


def test_the_wheel_has_the_package_and_the_shipped_formulas_alone(wheel: Path) -> None:
    assert wheel.name == f"{STEM}-py3-none-any.whl"
    formulas = {f"hardsim/{name}" for name in tracked("formulas") if not name.endswith(".py")}
    expected = tracked("hardsim") | formulas
    assert {*NEEDED.split()} <= expected
    described = {f"{STEM}.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    assert {*contents(wheel)} == expected | described | {f"{STEM}.dist-info/licenses/LICENSE"}


def test_the_source_distribution_has_no_tests_and_builds_the_same_wheel(
    source: Path, wheel: Path, tmp_path: Path
) -> None:
    with tarfile.open(source) as archive:
        names = {name.removeprefix(f"{STEM}/") for name in archive.getnames()}
        archive.extractall(tmp_path, filter="data")
    apart = {name.partition("/")[0] for name in names}
    assert apart >= {"hardsim", "formulas", "docs", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"}
    assert not apart & {"tests", "benchmarks", ".ci", ".venv"}
    subprocess.run([*BUILD, tmp_path, "-t", "wheel"], cwd=tmp_path / STEM, check=True, capture_output=True)
    assert contents(tmp_path / wheel.name) == contents(wheel)


def test_the_metadata_describe_the_project(metadata: Message) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (metadata["Name"], metadata["Version"]) == (DISTRIBUTION, __version__)
    assert 20 <= len(metadata["Summary"]) <= 200
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert bytes(metadata.get_payload(decode=True)).decode("utf-8").strip() == text.strip()
    assert (metadata["License-Expression"], metadata.get_all("License-File")) == ("MIT", ["LICENSE"])
    assert metadata["Requires-Python"] == ">=3.11"
    found = metadata.get_all("Classifier") or []
    assert {*found} <= {*classifiers}
    assert not [one for one in found if one.startswith("License")]  # an expression replaces these
    needed = [re.split(r"[^\w-]", one)[0] for one in metadata.get_all("Requires-Dist") or [] if "extra ==" not in one]
    assert "numpy" in needed
    assert not {*needed} & {"torch", "matplotlib", "onnx", "watchfiles", "pytest"}
    # An address is stated only once it is known; then people who cite the project find it, too.
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    addresses = [one.partition(", ")[2] for one in metadata.get_all("Project-URL") or []]
    assert all(address.startswith("https://") for address in addresses)
    assert not addresses or any(address in citation for address in addresses)


def test_the_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """Only what hardsim needs is installed. No command starts in the source tree."""
    place, elsewhere = tmp_path / "environment", tmp_path / "elsewhere"
    elsewhere.mkdir()
    venv.create(place, with_pip=True)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}

    def run(program: str, *arguments: object, code: int = 0) -> str:
        command = [programs / program, *map(str, arguments)]
        options = {"cwd": elsewhere, "env": env, "timeout": PATIENCE, "encoding": "utf-8", "capture_output": True}
        done = subprocess.run(command, **options)  # type: ignore[call-overload]  # options of several types
        assert done.returncode == code, done.stderr
        return str(done.stdout + done.stderr)

    pip = ("-m", "pip", "--disable-pip-version-check")
    run("python", *pip, "install", "--quiet", "--no-compile", "-c", ROOT / "constraints.txt", wheel)
    assert "No broken requirements" in run("python", *pip, "check")
    files = run("python", *pip, "show", "--files", DISTRIBUTION).partition("Files:\n")[2].splitlines()
    folders = {Path(line.strip()).parts[0] for line in files}
    assert folders == {"hardsim", f"{STEM}.dist-info", ".."}  # `..` leads to the script
    assert [line for line in files if ".." in line and "hardsim" not in line] == []
    where = run("python", "-c", "import hardsim; print(hardsim.__file__)")
    assert place.resolve() in Path(where.strip()).resolve().parents
    assert run("hardsim", "--version") == f"hardsim {__version__}\n"
    assert run("hardsim", "check", "since").startswith("PROVED  since\n")
    assert run("hardsim", "check", "dyck1.srasp", "networks/majority", "--max-n", "3", "--quiet").count("PROVED") == 2
    run("hardsim", "trace", "since", "ba", "--plot", "map.html")
    assert "<html" in (elsewhere / "map.html").read_text(encoding="utf-8")
    run("hardsim", "prove", "since", "--max-n", "4", "--certificate", "since.cert.json")
    assert run("hardsim", "verify", "since.cert.json", "--formula", "since").startswith("VALID")
