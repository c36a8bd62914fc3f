"""Networks of regime `rounded` in PyTorch: the exported model.py rounds after each sublayer."""

import json
import sys
from itertools import product
from pathlib import Path

import pytest

from hardsim.measuring.export import export_of, folder_files
from hardsim.options.values import parse_rounding
from hardsim.targets.base import ModelOptions
from hardsim.targets.inputs.formula import of_formula
from tests.compiling.from_ltl.test_layer_norm import NAMED
from tests.support.language import parse_text


def folder(path: Path, text: str, rounding: str) -> Path:
    given = of_formula(parse_text(f"alphabet: a b\n{text}\n", "f"), "")
    options = ModelOptions(rounding=parse_rounding(rounding))
    for name, data in folder_files(export_of(given, options, 6), "torch").items():
        (path / name).write_bytes(data)
    return path


def test_the_layout_states_the_rounding_of_every_layer(tmp_path: Path) -> None:
    config = json.loads((folder(tmp_path, NAMED["all positions"].text, "biased:3") / "config.json").read_text("utf-8"))
    assert [layer["rounding"] for layer in config["network"]["layers"]] == [["nearest", 3]] * 2
    assert "encoder" not in config["network"]


@pytest.mark.slow
@pytest.mark.parametrize("rounding", ["floor:0", "floor:8", "biased:3", "floor:100"])
@pytest.mark.parametrize("name", ["majority of majorities", "all positions", "letter"])
def test_the_export_answers_as_the_formula(
    name: str, rounding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(folder(tmp_path, NAMED[name].text, rounding)))
    monkeypatch.delitem(sys.modules, "model", raising=False)
    from model import load  # type: ignore[import-not-found]

    soft = load()
    for n in range(1, 8):
        words = list(product("ab", repeat=n))
        found = soft(soft.encode(*(" ".join(word) for word in words)))[:, -1, 0].tolist()
        assert found == [float(NAMED[name].truth(word)[-1]) for word in words]


@pytest.mark.slow
def test_rounding_to_the_nearest_fails_in_torch_where_it_fails_in_rationals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(folder(tmp_path, "#L[a] >= 1", "nearest:4")))
    monkeypatch.delitem(sys.modules, "model", raising=False)
    from model import load

    soft = load()
    # -1/(2 * 16) is the tie of 0 and -1/16, and goes to 0; it is the first: n + 1 = 16 positions.
    assert [soft(soft.encode("b " * n))[0, -1, 0].item() for n in (14, 15)] == [0.0, 1.0]
