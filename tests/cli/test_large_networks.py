"""Networks with many weights on the command line: the arithmetic that is used, and the progress of single words."""

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from hardsim.cli.estimate import Bar, LayerSteps
from hardsim.targets.external import judging
from hardsim.targets.inputs.network import of_network
from tests.cli.conftest import Cli
from tests.support.check import CheckOptions, check_subject
from tests.support.dense_networks import Shape, made
from tests.support.subjects import known

D, LAYERS, TOKENS, ROWS = 64, 6, 6, 16


def gpt2_folder(path: Path, layers: int = LAYERS) -> Path:
    """Write a random GPT-2, whose weights have a standard deviation of 0.02, and return its folder."""
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return (rng.standard_normal(shape) * 0.02).astype(np.float32)

    tensors = {"transformer.wte.weight": drawn(TOKENS, D), "transformer.wpe.weight": drawn(ROWS, D)}
    norms = ["transformer.ln_f"]
    for layer in range(layers):
        name = f"transformer.h.{layer}."
        norms += [name + "ln_1", name + "ln_2"]
        sizes = {"attn.c_attn": (D, 3 * D), "attn.c_proj": (D, D), "mlp.c_fc": (D, 4 * D), "mlp.c_proj": (4 * D, D)}
        for part, size in sizes.items():
            tensors |= {f"{name}{part}.weight": drawn(*size), f"{name}{part}.bias": drawn(size[1])}
    for norm in norms:
        tensors |= {norm + ".weight": np.ones(D, dtype=np.float32), norm + ".bias": np.zeros(D, dtype=np.float32)}
    path.mkdir()
    save_file(tensors, path / "model.safetensors")
    config = {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": D, "n_layer": layers, "n_head": 2,
        "vocab_size": TOKENS, "n_positions": ROWS, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
    }  # fmt: skip
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return path


def test_the_arithmetic_of_a_large_network_is_reported(hardsim: Cli, tmp_path: Path) -> None:
    folder, out = gpt2_folder(tmp_path / "net"), tmp_path / "out.json"
    done = hardsim("eval", str(folder), "0 1 2 3", "--engine", "ball", "--json", str(out))
    assert done.code == 0
    assert "in balls of vectors, in fixed-point numbers with 128 bits behind the point" in " ".join(done.out.split())
    (word,) = json.loads(out.read_text())["results"][0]["words"]
    assert word["arithmetic"].startswith("balls of vectors")
    assert word["digits"] == 38
    plain = hardsim("eval", str(folder), "0 1 2 3", "--json", str(out))
    assert "balls" not in plain.out
    (other,) = json.loads(out.read_text())["results"][0]["words"]
    assert other["arithmetic"] is None
    assert other["soft"] == word["soft"]


def test_layers_are_the_steps_of_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first layers are prepared; a layer of a word costs as much as the word has tokens."""
    subject = known(of_network(made(Shape(layers=3)), "net", "0" * 64, "by hand").external)
    steps = LayerSteps(subject, [("t0",), ("t0",) * 4])
    assert [steps.cost(done) for done in (0, 3, 4, 6, 9)] == [0, 24, 25, 27, 39]
    seen: list[tuple[int, int]] = []
    shown = Bar("net", "layers")
    monkeypatch.setattr(shown, "show", lambda done, total: seen.append((done, total)))
    step = steps.of(shown)
    for _ in range(3):
        step(1, 3)
        step(3, 3)
        steps.next()
    assert seen == [(1, 9), (3, 9), (3, 9), (4, 9), (6, 9), (6, 9), (7, 9), (9, 9), (9, 9)]


def test_the_time_that_is_left_is_announced_within_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    text = io.StringIO()
    monkeypatch.setattr("sys.stderr", text)
    subject = known(of_network(made(Shape(layers=30, rows=None)), "net", "0" * 64, "by hand").external)
    steps = LayerSteps(subject, [("t0",) * 160])
    step = steps.of(Bar("net", "layers of the words", "net", steps.cost))
    # A layer of 160 tokens costs 20 times as much as one that is prepared.
    for seconds in (1.0, 20.0):
        for done in range(1, 31):
            clock[0] += seconds
            step(done, 30)
        steps.next()
    sized, announced = text.getvalue().splitlines()
    assert sized == "note: net: 38 more layers of the words; how long is not known yet. Ctrl-C ends it."
    found = re.fullmatch(r"note: net: (\d+) more layers of the words: about (\d+) minutes. Ctrl-C ends it.", announced)
    assert found is not None
    layers, minutes = map(int, found.groups())
    assert layers >= 15
    assert minutes == round(layers * 20 / 60)


def test_an_export_shows_the_layers_of_the_words_that_are_compared(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the layers that are prepared, then those of every word: a sum that is right is reached at its end."""
    pytest.importorskip("onnxruntime")
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(Bar, "show", lambda self, done, total, advice="": seen.append((done, total)))
    folder, out = gpt2_folder(tmp_path / "net", 6), tmp_path / "out.onnx"
    done = hardsim("export", str(folder), "--to", "onnx", "-o", str(out), "--length", "2").exits(0)
    assert "on 3 random words" in " ".join(done.out.split())
    assert [done for done, _ in seen if done % LAYERS] == [k for k in range(4 * LAYERS) if k % LAYERS]
    assert {total for _, total in seen} == {4 * LAYERS}
    assert seen[-1] == (4 * LAYERS, 4 * LAYERS)


def test_an_export_of_many_weights_has_no_exact_copy(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = gpt2_folder(tmp_path / "net", 1), tmp_path / "out"
    assert hardsim("export", str(folder), "--to", "safetensors", "-o", str(out)).code == 0
    small = json.loads((out / "config.json").read_text())
    monkeypatch.setattr("hardsim.measuring.export.MOST_DOCUMENTED", 50_000)
    large = tmp_path / "large"
    done = hardsim("export", str(folder), "--to", "safetensors", "-o", str(large))
    assert done.code == 0
    assert "config.json has no exact copy of so many weights, so hardsim does not read it again" in done.err
    assert json.loads((large / "config.json").read_text()) == {
        key: value for key, value in small.items() if key != "hardsim"
    }
    assert (large / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()
    again = hardsim("show", str(large))
    assert again.code == 2
    assert "the exact network is missing" in again.err


def test_few_words_of_a_large_network_are_run_between_two_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = known(of_network(made(Shape(rows=None, outputs=1)), "net", "0" * 64, "by hand").external)
    assert subject.most_together(5) is None
    monkeypatch.setattr("hardsim.targets.external.SLOW", 1)
    parameters = subject.facts.parameters
    monkeypatch.setattr("hardsim.targets.external.QUICK_PRODUCTS", 15 * parameters)
    assert [subject.most_together(n) for n in (0, 1, 5, 7, 15, 64)] == [15, 15, 3, 2, 1, 1]
    judged = judging(subject, lambda word: True, "a function")
    seen: list[int] = []
    check_subject(judged, CheckOptions(max_n=1), lambda state: seen.append(state.done))
    assert len(seen) == 1
    monkeypatch.setattr("hardsim.targets.external.QUICK_PRODUCTS", parameters)
    seen.clear()
    check_subject(judged, CheckOptions(max_n=1), lambda state: seen.append(state.done))
    # One word at a time.
    assert seen == [1, 2, 3, 4]
