"""The shipped formula files are found in a source tree and in an installation."""

from pathlib import Path

import pytest

from hardsim import examples
from tests.support.language import InputError
from tests.support.mistakes import raised

ROOT = Path(__file__).resolve().parents[1]


def package_with(files: list[str], at: Path) -> Path:
    """Write a package directory with these files in its `formulas/`, at path `at`; return it."""
    at.mkdir(parents=True)
    for name in files:
        (at / name).parent.mkdir(exist_ok=True)
        (at / name).write_text("alphabet: ab\na\n", encoding="utf-8")
    package = at.parent / "hardsim" if at.parent.name != "hardsim" else at.parent
    package.mkdir(exist_ok=True)
    return package


def test_an_installed_package_holds_its_formulas(tmp_path: Path) -> None:
    package = package_with(["b.ltl", "a.ltl", "notes.txt"], tmp_path / "hardsim" / "formulas")
    (tmp_path / "formulas").mkdir()
    assert examples.formulas_directory(package) == package / "formulas"
    assert [path.name for path in examples.example_files(package)] == ["a.ltl", "b.ltl"]


def test_a_source_tree_has_them_beside_the_package(tmp_path: Path) -> None:
    package = package_with(["a.ltl"], tmp_path / "formulas")
    with pytest.raises(InputError, match="the shipped formulas are missing") as caught:
        examples.formulas_directory(package)  # a user's `formulas` beside an installed package does not count
    assert caught.value.hint
    (tmp_path / "pyproject.toml").touch()
    assert examples.formulas_directory(package) == tmp_path / "formulas"
    assert [path.name for path in examples.example_files(package)] == ["a.ltl"]


def test_this_tree_ships_its_formulas() -> None:
    assert examples.formulas_directory() == ROOT / "formulas"
    names = {examples.example_path(path) for path in examples.example_files()}
    files = {path for pattern in ("*", "networks/*.spec") for path in (ROOT / "formulas").glob(pattern)}
    assert names == {path.relative_to(ROOT / "formulas").as_posix() for path in files if path.is_file()}
    assert {"since.ltl", "dyck2.srasp", "ties.ahat.json", "networks/majority.spec"} <= names


def test_a_name_that_several_files_share_means_the_formula(tmp_path: Path) -> None:
    package = package_with(
        ["a.srasp", "a.ltl", "b.ahat.json", "b.srasp", "c.ahat.json"], tmp_path / "hardsim" / "formulas"
    )
    found = {name: examples.example_file(name, package).name for name in ("a", "a.srasp", "b", "b.ahat.json", "c")}
    assert found == {
        "a": "a.ltl", "a.srasp": "a.srasp", "b": "b.srasp", "b.ahat.json": "b.ahat.json", "c": "c.ahat.json"
    }  # fmt: skip
    shown = [examples.example_name(path) for path in examples.example_files(package)]
    assert shown == ["a", "a.srasp", "b.srasp", "b.ahat.json", "c.ahat.json"]


def test_a_specification_of_a_network_is_called_by_its_folder(tmp_path: Path) -> None:
    package = package_with(["a.ltl", "networks/a.spec"], tmp_path / "hardsim" / "formulas")
    names = {name: path.name for name, path in examples.named_examples(package).items()}
    assert names == {"a": "a.ltl", "a.ltl": "a.ltl", "networks/a": "a.spec", "networks/a.spec": "a.spec"}
    assert [examples.example_name(path) for path in examples.example_files(package)] == ["a", "networks/a.spec"]


def test_an_example_is_found_by_name(tmp_path: Path) -> None:
    package = package_with(["since.ltl", "until.ltl"], tmp_path / "hardsim" / "formulas")
    assert examples.example_file("since", package) == package / "formulas" / "since.ltl"
    assert examples.example_file("since.ltl", package) == package / "formulas" / "since.ltl"


@pytest.mark.parametrize(
    ("name", "hint"), [("snice", "did you mean since?"), ("../since", "did you mean since?"), ("zzz", "examples")]
)
def test_an_unknown_example_is_refused(tmp_path: Path, name: str, hint: str) -> None:
    package = package_with(["since.ltl", "until.ltl"], tmp_path / "hardsim" / "formulas")
    refused = raised(InputError, examples.example_file, name, package, match="no shipped file is called")
    assert hint in refused.hint
