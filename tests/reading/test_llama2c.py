"""Checkpoints of llama2.c: outputs compared with those of a Llama in plain numpy, and what is refused."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.reading.llama2c import TITLE
from tests.reading.folders import ball_outputs, drawn, made_up, write_folder
from tests.support.causal_families import Evaluation, attend, rope, silu, split
from tests.support.language import InputError, OutOfRange
from tests.support.mistakes import raised
from tests.support.model import network_of, read_folder

D, HEADS, GROUPS, HIDDEN, V, ROWS = 8, 2, 1, 6, 5, 9
ARGS: dict[str, Any] = {
    "dim": D, "n_layers": 2, "n_heads": HEADS, "n_kv_heads": GROUPS, "vocab_size": V, "multiple_of": 4,
    "max_seq_len": ROWS, "dropout": Fraction(0), "norm_eps": Fraction(1, 10),
}  # fmt: skip


def tensors() -> dict[str, Any]:
    """Draw the tensors of a checkpoint."""
    shapes: dict[str, tuple[int, ...]] = {
        "tok_embeddings__weight": (V, D), "output__weight": (V, D), "norm__weight": (D,)
    }  # fmt: skip
    key = D // HEADS
    parts = {
        "attention__wq": (D, D), "attention__wk": (GROUPS * key, D), "attention__wv": (GROUPS * key, D),
        "attention__wo": (D, D), "feed_forward__w1": (HIDDEN, D), "feed_forward__w2": (D, HIDDEN),
        "feed_forward__w3": (HIDDEN, D), "attention_norm": (D,), "ffn_norm": (D,),
    }  # fmt: skip
    for layer in range(2):
        shapes |= {f"layers__{layer}__{name}__weight": shape for name, shape in parts.items()}
    return drawn(11, **shapes)


def expected(stored: dict[str, Any], ids: list[int]) -> Any:
    """Return the outputs from the definition: a Llama that turns neighbouring coordinates."""
    e, key = Evaluation(stored), D // HEADS
    x = e.t["tok_embeddings.weight"][ids]
    for layer in range(2):
        p = f"layers.{layer}."
        y = e.rms(f"{p}attention_norm", x, 0.1)
        q, k, v = (split(e.linear(f"{p}attention.w{part}", y), key) for part in "qkv")
        found = [
            attend(rope(one, key, neighbours=True), rope(k[0], key, neighbours=True), v[0], key**-0.5) for one in q
        ]
        x = x + e.linear(f"{p}attention.wo", np.concatenate(found, -1))
        y = e.rms(f"{p}ffn_norm", x, 0.1)
        hidden = silu(e.linear(f"{p}feed_forward.w1", y)) * e.linear(f"{p}feed_forward.w3", y)
        x = x + e.linear(f"{p}feed_forward.w2", hidden)
    return e.linear("output", e.rms("norm", x, 0.1))


def test_outputs_are_those_of_the_definition(tmp_path: Path) -> None:
    found, ids = tensors(), [2, 0, 4, 4, 1]
    written = {key: float(value) if isinstance(value, Fraction) else value for key, value in ARGS.items()}
    write_folder(tmp_path, found, {"model_args": written, "iter_num": 7})
    for stored in (made_up(found, ARGS), made_up(found, {"model_args": ARGS}), read_folder(str(tmp_path))):
        network, form = network_of(stored)
        assert form.title == TITLE
        assert np.abs(ball_outputs(network, ids) - expected(found, ids)).max() < 1e-9
        raised(OutOfRange, network.read, ["0"] * (ROWS + 1), match=f"words have at most {ROWS} symbols")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"dim": 6}, "at dim: expected 8"),
        ({"n_heads": 3}, "at n_heads: expected a divisor of dim, 8"),
        ({"n_heads": 8}, "that leaves heads an even width"),
        ({"n_kv_heads": 3}, "at n_kv_heads: expected a divisor of n_heads, 2"),
        ({"rope_theta": 5}, "not understood: rope_theta"),
        ({"n_layers": 3}, r"layers\.2\.attention\.wq\.weight is missing"),
        ({"n_layers": 1}, r"not understood: layers\.1"),
    ],
)
def test_other_settings_are_refused(changes: dict[str, Any], match: str) -> None:
    assert raised(InputError, network_of, made_up(tensors(), ARGS | changes), match=match).hint
