"""Networks of regime `layer-norm` in PyTorch: the exported model.py runs them as an `nn.TransformerEncoder`."""

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.compiling.from_ltl.test_layer_norm import NAMED
from tests.support.language import parse_text


def folder(path: Path, text: str) -> Path:
    from hardsim.measuring.export import export_of, folder_files
    from hardsim.targets.base import ModelOptions
    from hardsim.targets.inputs.formula import of_formula

    given = of_formula(parse_text(f"alphabet: a b\n{text}\n", "f"), "")
    for name, data in folder_files(export_of(given, ModelOptions(regime="layer-norm"), 6), "torch").items():
        (path / name).write_bytes(data)
    return path


def exported(path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Any:
    """Export a formula over a and b, and return the network that model.py loads."""
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(folder(path, text)))
    monkeypatch.delitem(sys.modules, "model", raising=False)
    from model import load  # type: ignore[import-not-found]

    return load()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["majority of majorities", "letter", "one comparison that is always true"])
def test_the_export_is_an_encoder_of_torch_that_answers_as_the_formula(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    soft, drawn = exported(tmp_path, monkeypatch, NAMED[name].text), NAMED[name]
    nn = pytest.importorskip("torch").nn
    assert isinstance(soft.encoder, nn.TransformerEncoder)
    assert not list(soft.layers)
    for layer in soft.encoder.layers:
        assert isinstance(layer.norm2, nn.LayerNorm)
        assert (layer.norm2.eps, layer.norm_first, layer.training) == (0, False, False)
    size = abs(soft.embedding[0, 0].item())
    for n in range(1, 7):
        words = [" ".join(word) for word in product("ab", repeat=n)]
        found = soft(soft.encode(*words))[:, -1, 0].tolist()
        for word, value in zip(words, found, strict=True):
            assert (value > 0) is drawn.truth(tuple(word.split()))[-1], word
            assert abs(abs(value) - size) < 1e-9


@pytest.mark.slow
def test_means_of_two_kinds_keep_layers_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soft = exported(tmp_path, monkeypatch, NAMED["all positions"].text)
    assert soft.encoder is None
    assert len(soft.layers) == 2


@pytest.mark.parametrize(
    ("text", "mask"),
    [(NAMED["majority of majorities"].text, "future"), ("#[a] >= 2", "none"), (NAMED["all positions"].text, None)],
)
def test_the_layout_says_which_networks_are_encoders(tmp_path: Path, text: str, mask: str | None) -> None:
    config = json.loads((folder(tmp_path, text) / "config.json").read_text(encoding="utf-8"))
    assert config["network"].get("encoder") == mask
