"""Networks of regime `rounded` in PyTorch: the exported model.py rounds after each sublayer, or its exponentials."""

import json
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from hardsim.lang.semantics import Oracle
from hardsim.measuring.export import export_of, folder_files
from hardsim.network.transformer import SoftWeighting
from hardsim.options.values import parse_rounding
from hardsim.targets.base import ModelOptions
from hardsim.targets.inputs.formula import of_formula
from tests.compiling.from_ltl.test_layer_norm import NAMED
from tests.compiling.from_ltl.test_rounded_exponentials import FORMS
from tests.support.language import parse_text


def folder(path: Path, text: str, rounding: str) -> Path:
    return written(path, text, ModelOptions(rounding=parse_rounding(rounding)))


def written(path: Path, text: str, options: ModelOptions) -> Path:
    given = of_formula(parse_text(f"alphabet: a b\n{text}\n", "f"), "")
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


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", ["O (a & H b)", "H (a -> O b)", "a S b"])
def test_exponentials_are_rounded_in_torch(
    text: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`a S b` is `O b` over a and b. At the beta of a format wrong weights are 0 there, and so in float64."""
    pytest.importorskip("torch")
    options = ModelOptions(weighting=SoftWeighting(f"softmax:{form}"))
    monkeypatch.syspath_prepend(str(written(tmp_path, text, options)))
    monkeypatch.delitem(sys.modules, "model", raising=False)
    from model import load

    soft, oracle = load(), Oracle(parse_text(f"alphabet: a b\n{text}\n"))
    for n in (1, 2, 3, 7, 64):
        words = list(product("ab", repeat=n)) if n < 8 else [("a",) * n, ("b",) + ("a",) * (n - 1), ("b",) * n]
        found = soft(soft.encode(*(" ".join(word) for word in words)))[:, -1, 0].tolist()
        assert found == [float(oracle.accepts(word)) for word in words]


@pytest.mark.slow
def test_a_small_beta_is_right_in_torch_where_weights_are_rounded_to_0_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """e^-6 is 0.63 units of 2^-8, and rounded to one: 86 wrong positions weigh more than 1/3. At beta 7 none does."""
    pytest.importorskip("torch")
    outputs = []
    for beta in (6, 7):
        options = ModelOptions(beta=Fraction(beta), weighting=SoftWeighting.FIXED_8)
        (tmp_path / str(beta)).mkdir()
        monkeypatch.syspath_prepend(str(written(tmp_path / str(beta), "O a", options)))
        monkeypatch.delitem(sys.modules, "model", raising=False)
        from model import load

        soft = load()
        outputs += [soft(soft.encode("a" + " b" * others))[0, -1, 0].item() for others in (85, 86)]
    assert [one == 1 for one in outputs] == [True, False, True, True]
