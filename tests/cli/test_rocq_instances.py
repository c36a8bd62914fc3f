"""Tests of `hardsim verify MODEL.json --rocq DIR`."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hardsim.proving import rocq_comparison
from tests.support.rocq_instances import INSTANCES, LIBRARY


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an instance and a made-up library, which hardsim then takes for its own."""
    shipped, own = tmp_path / "library", tmp_path / "DIR"
    for place in (shipped, own):
        place.mkdir()
        for name, data in LIBRARY.items():
            (place / name).write_bytes(data)
    monkeypatch.setattr(rocq_comparison, "LIBRARY", shipped)
    shutil.copy(INSTANCES / "since.v", own)
    return own


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The compiled model that the instance is about."""
    return Path(shutil.copy(INSTANCES / "since.json", tmp_path))


def replace(path: Path, old: str, new: str) -> None:
    """Change a text in a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_an_instance_that_states_the_model(hardsim: Any, folder: Path, model: Path) -> None:
    hardsim("verify", model, "--rocq", folder).clean(
        "VALID", "the Rocq instance states this network and this formula", "instance since.v, sha256",
        "Theorem network_computes_formula : computes N AtLast F.", "F is a S b",
        "1 layer, 1 head, 3 atoms, 23 numbers", "8 files, byte for byte", f"make -C {folder}",
    )  # fmt: skip
    hardsim("verify", model, "--rocq", folder, "-q").clean("VALID").lacks("theorem")


def test_the_record(hardsim: Any, folder: Path, model: Path) -> None:
    result = hardsim("verify", model, "--rocq", folder, "--json", "-").result
    assert (result["valid"], result["reason"], result["instance"]) == (True, None, "since.v")
    assert (result["atoms"], result["layers"], result["heads"], result["numbers"]) == (3, 1, 1, 23)
    assert sorted(result["digests"]) == sorted([*LIBRARY, "since.v"])
    replace(folder / "since.v", "(4 # 1)", "(5 # 1)")
    result = hardsim("verify", model, "--rocq", folder, "--json", "-").result
    assert (result["verdict"], result["theorem"], result["numbers"]) == ("INVALID", None, None)
    assert result["reason"] == "layer 1, head S4.read, w_q[0, 0]: 5 in the instance, 4 in the model"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Network 3", "Network 4", "number of atoms: 4 in the instance, 3 in the model"),
        ("Network 3 true", "Network 3 false", "words are over: sets of propositions in the instance"),
        ("Head Future", "Head Past", "layer 1, head S4.read, mask: past in the instance, future in the model"),
        ("(Monomial true 0%Z 0%Z)", "(Monomial false 0%Z 0%Z)", "encoding 0 (coordinate (-1)^i): 1 in the instance"),
        ("Since (Atom 0) (Atom 1)", "Since (Atom 0) (Atom 2)", "formula F: `c` in the instance, `b` in the model's"),
        ("Since (Atom 0) (Atom 1)", "Trigger (Atom 0) (Atom 1)", "formula F: `(a T b)` in the instance, `(a S b)` in"),
        ("(-3 # 2)", "(-1 # 2)", "layer 1, b_1[1]: -1/2 in the instance, -3/2 in the model"),
        (" 6 (Monomial", " 5 (Monomial", "output coordinate: 5 in the instance, 6 in the model"),
    ],
)  # fmt: skip
def test_the_first_difference(hardsim: Any, folder: Path, model: Path, old: str, new: str, message: str) -> None:
    replace(folder / "since.v", old, new)
    found = hardsim("verify", model, "--rocq", folder).clean(message, code=1)
    assert found.out.startswith(f"INVALID  {model}\n")


def test_the_reading_position(hardsim: Any, folder: Path, model: Path) -> None:
    text = (folder / "since.v").read_text(encoding="utf-8")
    (folder / "since.v").write_text(text.replace("AtLast", "AtFirst"), encoding="utf-8")
    message = "reading position: AtFirst in the instance, at: last in the model's formula"
    hardsim("verify", model, "--rocq", folder).clean(message, code=1)


def test_a_changed_library(hardsim: Any, folder: Path, model: Path) -> None:
    with (folder / "Check.v").open("a", encoding="utf-8") as file:
        file.write("Axiom x : False.\n")
    hardsim("verify", model, "--rocq", folder).clean(
        "INVALID", "Check.v: differs from the one that hardsim has", code=1
    )


def test_another_text_is_cited_with_its_place(hardsim: Any, folder: Path, model: Path) -> None:
    replace(folder / "since.v", "Definition N", "Axiom x : False.\nDefinition N")
    found = hardsim("verify", model, "--rocq", folder)
    found.refused(
        f"{folder / 'since.v'}:7:1: error: `Axiom` where an instance has `Definition N : network :=`", "^^^^^"
    )


def test_folders_that_are_refused(hardsim: Any, folder: Path, model: Path, tmp_path: Path) -> None:
    def refused(*said: str) -> None:
        hardsim("verify", model, "--rocq", folder).refused(*said)

    for name in ("since.vo", "since.glob", ".since.aux", "Check.vo", "since.axioms"):
        (folder / name).write_text("")
    assert hardsim("verify", model, "--rocq", folder).code == 0
    for name in ("Other.v", "other.v", "Own.vo", "zzz.vos", "GNUmakefile", "coqrc", "since.cmxs"):
        (folder / name).write_text("")
        refused("belongs neither to the instance nor to the library")
        (folder / name).unlink()
    for name in ("Makefile", "_CoqProject"):
        (folder / name).write_text("all:\n")
        hardsim("verify", model, "--rocq", folder).clean(f"{name}: differs from the one that hardsim has", code=1)
        (folder / name).unlink()
    (folder / "inner").mkdir()
    refused("inner belongs neither to the instance nor to the library")
    (folder / "inner").rmdir()
    (folder / "since.v").write_bytes(b"\xff")
    refused("since.v: not UTF-8 at byte 0")
    (folder / "since.v").write_bytes(b"")
    refused("since.v:1:1: error: the end of the file where an instance has `From Coq")
    (folder / "Heads.v").unlink()
    refused("the library's file Heads.v is missing")
    (folder / "Heads.v").write_bytes(LIBRARY["Heads.v"])
    (folder / "since.v").unlink()
    refused("no instance, a file .v besides the library", "hardsim prove MODEL.json --all-n --rocq DIR")
    hardsim("verify", model, "--rocq", tmp_path / "none").refused("cannot be read")
    hardsim("verify", model, "--rocq", model).refused("cannot be read")


def test_an_installation_without_the_library(
    hardsim: Any, folder: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rocq_comparison, "LIBRARY", tmp_path / "none")
    hardsim("verify", model, "--rocq", folder).refused("the Rocq library is missing")


def test_what_is_no_model(hardsim: Any, folder: Path, model: Path, since: Path, tmp_path: Path) -> None:
    hardsim("verify", since, "--rocq", folder).refused("not the compiled model of a formula", "hardsim compile")
    hardsim("verify", tmp_path / "none", "--rocq", folder).refused("no such file")
    document = json.loads(model.read_text(encoding="utf-8"))
    for data in ("[]", "{}", "[" * 10**5, "\udcff"):
        model.write_bytes(data.encode("utf-8", "surrogateescape"))
        hardsim("verify", model, "--rocq", folder).refused("not the compiled model of a formula")
    document["model"]["output"] = "none"
    model.write_text(json.dumps(document), encoding="utf-8")
    hardsim("verify", model, "--rocq", folder).refused("model.output")


def test_usage(hardsim: Any, folder: Path, model: Path) -> None:
    for option, value in (("--formula", "since"), ("--model", model), ("--spec", "x"), ("-e", "a"), ("--at", "last")):
        hardsim("verify", model, "--rocq", folder, option, value).refused(f"{option} and --rocq do not go together")
    hardsim("verify", model, model, "--rocq", folder).refused("--rocq needs one compiled model")


@pytest.mark.parametrize(("name", "code"), [("ffn", 2), ("encodings", 1)])
def test_null_is_absent(hardsim: Any, folder: Path, model: Path, name: str, code: int) -> None:
    document = json.loads(model.read_text())
    (document["model"]["layers"][0] if name == "ffn" else document["model"])[name] = None
    model.write_text(json.dumps(document))
    found = hardsim("verify", model, "--rocq", folder)
    if code == 1:
        found.clean("INVALID", code=1)
    else:
        found.refused("without w1")


def test_no_result_is_written_into_the_folder(hardsim: Any, folder: Path, model: Path) -> None:
    text = (folder / "since.v").read_bytes()
    found = hardsim("verify", model, "--rocq", folder, "--json", folder / "since.v")
    found.refused("is inside the folder of --rocq")
    assert (folder / "since.v").read_bytes() == text
