"""Networks of regime `layer-norm` in PyTorch: the exported model.py, and its tensors in an `nn.TransformerEncoder`."""

import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.compiling.from_ltl.test_layer_norm import NAMED
from tests.support.language import parse_text

NESTED = NAMED["majority of majorities"]


def folder(path: Path) -> Path:
    from hardsim.measuring.export import export_of, folder_files
    from hardsim.targets.base import ModelOptions
    from hardsim.targets.inputs.formula import of_formula

    given = of_formula(parse_text(f"alphabet: a b\n{NESTED.text}\n", "f"), "")
    for name, data in folder_files(export_of(given, ModelOptions(regime="layer-norm"), 6), "torch").items():
        (path / name).write_bytes(data)
    return path


@pytest.mark.slow
def test_the_export_and_an_encoder_of_torch_answer_as_the_formula(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    monkeypatch.syspath_prepend(str(folder(tmp_path)))
    monkeypatch.delitem(sys.modules, "model", raising=False)
    from model import load  # type: ignore[import-not-found]

    soft = load()
    d = soft.embedding.shape[1]
    layers = []
    for one in soft.layers:
        hidden = one.mlp.w_in.shape[1]
        layer: Any = nn.TransformerEncoderLayer(d, 1, hidden, dropout=0.0, layer_norm_eps=0.0, dtype=torch.float64)
        assert not layer.norm_first
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.zero_()
            (head,) = one.heads
            # Queries and keys are 0, so that attention is uniform.
            layer.self_attn.in_proj_weight[2 * d :] = (head.w_v @ head.w_o).T
            layer.self_attn.out_proj.weight.copy_(torch.eye(d, dtype=torch.float64))
            layer.linear1.weight.copy_(one.mlp.w_in.T)
            layer.linear2.weight.copy_(one.mlp.w_out.T)
            layer.norm2.weight.fill_(1.0)
        layer.norm1 = nn.Identity()
        layers.append(layer)
    encoder = nn.TransformerEncoder(layers[0], len(layers), enable_nested_tensor=False)
    encoder.layers = nn.ModuleList(layers)
    encoder.eval()
    for n in range(1, 7):
        words = [" ".join(word) for word in product("ab", repeat=n)]
        tokens = soft.encode(*words)
        mask = nn.Transformer.generate_square_subsequent_mask(n + 1, dtype=torch.float64)
        with torch.no_grad():
            found = encoder(soft.embedding[tokens].transpose(0, 1), mask=mask)[-1] @ soft.unembedding
            own = soft(tokens)[:, -1]
        for word, value, other in zip(words, found[:, 0].tolist(), own[:, 0].tolist(), strict=True):
            right = NESTED.truth(tuple(word.split()))[-1]
            assert (value > 0) is right, word
            assert abs(value - other) < 1e-9
            assert abs(abs(value) - abs(soft.embedding[0, 0].item())) < 1e-9
