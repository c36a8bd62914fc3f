"""Hand-made external networks whose answers are known."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from hardsim.api import Model
from hardsim.network.dense import NetworkHead, NetworkLayer, Token
from hardsim.targets.inputs.network import of_network
from tests.support.model import Mask, Network, Readout, RootScale

AT_THE_END = Readout()


def exact(rows: list[Any]) -> Any:
    """Return an array of Fractions."""
    return np.array([[Fraction(value) for value in row] for row in rows], dtype=object)


def mean_of_a(
    bias: Fraction = Fraction(-1, 2), rows: int | None = None, readout: Readout = AT_THE_END, **more: Any
) -> Network:
    """Return a network over a and b whose only output is the share of a's among the visible positions, plus `bias`.

    Coordinate 0 is 1 at an a; coordinate 1 receives the output of the head.
    """
    tokens: tuple[Token, ...] = more.pop("tokens", ("a", "b"))
    embedding = np.zeros((len(tokens), 2))
    embedding[0, 0] = 1.0
    zero, value = np.zeros((2, 1)), np.array([[1.0], [0.0]])
    mask = more.pop("mask", Mask.FUTURE)
    head = NetworkHead("mean", mask, RootScale(), zero, zero, value, np.array([[0.0, 1.0]]))
    return Network(
        tokens=tokens,
        embedding=embedding,
        positions=() if rows is None else np.zeros((rows, 2)),
        layers=(NetworkLayer((head,), None),),
        final=None,
        unembedding=np.array([[0.0], [1.0]]),
        unembedding_bias=exact([[bias]])[0],
        outputs=more.pop("outputs", ("share",)),
        readout=readout,
    )


def falling(start: Fraction, by: Fraction, rows: int) -> Network:
    """Return a network over a and b whose only output is `start`, less `by` for each symbol of the word, plus the
    share of a's.
    """
    table = exact([[0, -by * (row + 1)] for row in range(rows)])
    return replace(mean_of_a(start, rows), positions=table)


def model_of(network: Network, name: str = "net") -> Model:
    """Return the network as a model that was read from a file of this name."""
    return Model(of_network(network, name, "0" * 64, "by hand"))


def hooked_folder(path: Path, bias: float, rows: int = 12, outputs: int = 1) -> Path:
    """Write the network of `mean_of_a` over a, b and pad as TransformerLens stores it; return the folder.

    Of several outputs, all but one are -9 everywhere.
    """
    path.mkdir(parents=True)
    head = "blocks.0.attn."
    tensors = {
        "embed.W_E": [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
        "pos_embed.W_pos": [[0.0, 0.0]] * rows,
        head + "W_Q": [[[0.0], [0.0]]],
        head + "W_K": [[[0.0], [0.0]]],
        head + "W_V": [[[1.0], [0.0]]],
        head + "W_O": [[[0.0, 1.0]]],
        head + "b_Q": [[0.0]],
        head + "b_K": [[0.0]],
        head + "b_V": [[0.0]],
        head + "b_O": [0.0, 0.0],
        "unembed.W_U": [[0.0] * outputs, [1.0] + [0.0] * (outputs - 1)],
        "unembed.b_U": [bias] + [-9.0] * (outputs - 1),
    }
    save_file(
        {name: np.array(rows_of, dtype=np.float32) for name, rows_of in tensors.items()}, path / "model.safetensors"
    )
    config = {
        "n_layers": 1, "d_model": 2, "n_ctx": rows, "d_head": 1, "n_heads": 1, "attn_only": True, "d_vocab": 3,
        "d_vocab_out": outputs, "normalization_type": None, "act_fn": "relu", "attention_dir": "causal",
    }  # fmt: skip
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (path / "vocab.json").write_text(json.dumps({"a": 0, "b": 1, "pad": 2}), encoding="utf-8")
    return path
