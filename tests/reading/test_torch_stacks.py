"""Decoders of PyTorch with a memory of zeros, and stacks of attentions: compared with plain numpy, without PyTorch."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hardsim
from hardsim.reading.tensors import Stored
from hardsim.reading.torch import read_torch
from hardsim.reading.torch_modules import from_torch
from tests.reading.folders import architecture, ball_outputs, drawn, made_up, reference, write_folder
from tests.reading.test_torch import made_of
from tests.support.check import ModelOptions, read_input
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import read_folder

D, HEADS, HIDDEN, V = 4, 2, 5, 3
IDS = [1, 0, 2, 2]
Shapes = dict[str, tuple[int, ...]]
ATTENTION: Shapes = {
    "in_proj_weight": (3 * D, D),
    "in_proj_bias": (3 * D,),
    "out_proj.weight": (D, D),
    "out_proj.bias": (D,),
}
LINEAR: Shapes = {
    "linear1.weight": (HIDDEN, D), "linear1.bias": (HIDDEN,), "linear2.weight": (D, HIDDEN), "linear2.bias": (D,),
}  # fmt: skip
NORM: Shapes = {"weight": (D,), "bias": (D,)}
EMBEDDING, UNEMBEDDING = drawn(1, rows=(V, D))["rows"], drawn(2, rows=(2, D))["rows"]

Array = NDArray[Any]


def attention(w: dict[str, Array], y: Array, memory: Array | None = None) -> Array:
    """Return `nn.MultiheadAttention` of these weights: causal, or over a memory."""
    keys = y if memory is None else memory
    bias = w.get("in_proj_bias", np.zeros(3 * D))
    parts = zip((y, keys, keys), np.split(w["in_proj_weight"], 3), np.split(bias, 3), strict=True)
    q, k, v = (x @ weight.T + b for x, weight, b in parts)
    found = []
    for head in range(HEADS):
        part = slice(head * D // HEADS, (head + 1) * D // HEADS)
        powers = np.exp(q[:, part] @ k[:, part].T / np.sqrt(D / HEADS))
        powers = powers * (np.tri(len(y)) if memory is None else 1.0)
        found.append(powers / powers.sum(1, keepdims=True) @ v[:, part])
    return np.asarray(np.concatenate(found, axis=1) @ w["out_proj.weight"].T + w.get("out_proj.bias", 0.0))


def norm(w: dict[str, Array], x: Array) -> Array:
    """Return LayerNorm."""
    c = x - x.mean(-1, keepdims=True)
    return np.asarray(c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-5) * w["weight"] + w.get("bias", 0.0))


def mlp(w: dict[str, Array], x: Array) -> Array:
    """Return the feed-forward layer, with relu."""
    hidden = np.maximum(x @ w["linear1.weight"].T + w.get("linear1.bias", 0.0), 0)
    return np.asarray(hidden @ w["linear2.weight"].T + w.get("linear2.bias", 0.0))


def tensors(layers: int, parts: dict[str, Shapes]) -> dict[str, Array]:
    """Draw the tensors of layers with parts of these shapes."""
    named = {f"{part}.{name}": shape for part, inner in parts.items() for name, shape in inner.items()}
    flat = {name.removeprefix("."): shape for name, shape in named.items()}
    return drawn(5, **{f"layers.{n}.{name}": shape for n in range(layers) for name, shape in flat.items()})


def below(w: dict[str, Array], start: str) -> dict[str, Array]:
    """Return the tensors whose names begin with this, in float64, without it."""
    return {name.removeprefix(start): array.astype(float) for name, array in w.items() if name.startswith(start)}


def far(found: Stored, x: Array) -> float:
    """Return the distance of a network's outputs from those of the vectors before the unembedding."""
    return float(np.abs(ball_outputs(read_torch(found), IDS) - x @ UNEMBEDDING.T).max())


# ---- decoders ----


DECODER: dict[str, Shapes] = {
    "self_attn": ATTENTION,
    "multihead_attn": ATTENTION,
    "": LINEAR,
    "norm1": NORM,
    "norm2": NORM,
    "norm3": NORM,
}
CONFIG = {"model_type": "torch-encoder", "nhead": HEADS, "activation": "relu", "causal": True, "embedding_scale": 1}


def decoder(first: bool, bias: bool = True, **more: Any) -> tuple[Stored, Array]:
    """Return a stored decoder of two layers, and the vectors that it gives for IDS with a memory of zeros."""
    drawn_ = {name: array for name, array in tensors(2, DECODER).items() if bias or not name.endswith("bias")}
    x, memory = EMBEDDING[IDS].astype(float), np.zeros((3, D))
    for number in range(2):
        w = below(drawn_, f"layers.{number}.")
        cross = partial(attention, below(w, "multihead_attn."), memory=memory)
        steps: list[Callable[[Array], Array]] = [partial(attention, below(w, "self_attn.")), cross, partial(mlp, w)]
        for step, place in zip(steps, ("norm1.", "norm2.", "norm3."), strict=True):
            x = x + step(norm(below(w, place), x)) if first else norm(below(w, place), x + step(x))
    around = {"embedding.weight": EMBEDDING, "unembedding.weight": UNEMBEDDING}
    norms = {} if bias else {"norm": "layer"}
    stored = made_up(drawn_ | around, CONFIG | {"norm_first": first, "positions": "none"} | norms | more)
    return stored, x


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_a_decoder_reads_a_memory_of_zeros(first: bool, bias: bool) -> None:
    stored, x = decoder(first, bias, memory="zeros")
    assert far(stored, x) < 1e-9
    assert not stored.settings.remarks


def test_outputs_are_those_of_pytorch() -> None:
    stored = read_folder(architecture("kneedeep"))
    network = read_torch(stored)
    for ids, rows in reference("kneedeep"):
        assert np.abs(ball_outputs(network, ids) - rows).max() < 1e-5
    assert "read with a memory of zeros" in stored.settings.remarks[0]


def test_outputs_are_those_of_the_tutorial() -> None:
    network = read_torch(read_folder(architecture("torch_tutorial")))
    for ids, rows in reference("torch_tutorial"):
        assert np.abs(ball_outputs(network, ids) - rows).max() < 1e-5


@pytest.mark.slow
def test_a_decoder_of_pytorch_as_it_is_saved() -> None:
    pytest.importorskip("torch")
    network = read_torch(read_folder(architecture("kneedeep") + "/best.pth"))
    for ids, rows in reference("kneedeep"):
        assert np.abs(ball_outputs(network, ids) - rows).max() < 1e-5


def test_what_a_decoder_must_have() -> None:
    assert far(decoder(False, memory=0)[0], decoder(False)[1]) < 1e-9
    raised(InputError, read_torch, decoder(False, memory="encoder")[0], match='at memory: expected one of "zeros"')
    stored, _ = decoder(False)
    stored.tensors.pop("layers.1.multihead_attn.in_proj_bias")
    raised(InputError, read_torch, stored, match=r"layers\.1\.multihead_attn\.in_proj_bias is missing")
    stored.tensors.pop("layers.1.norm3.weight")
    raised(InputError, read_torch, stored, match="is missing")


# ---- stacks ----


def module(kind: str, w: dict[str, Array], **parts: Any) -> Any:
    """Return an object like a module of PyTorch with these tensors."""
    made = made_of(kind, **parts)
    made.state_dict = lambda: w
    return made


def attention_like(w: dict[str, Array], **changes: Any) -> Any:
    """Return an object like `nn.MultiheadAttention`."""
    sizes: dict[str, Any] = dict.fromkeys(("embed_dim", "kdim", "vdim"), D)
    extra: dict[str, Any] = {"bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout": 0.1, "num_heads": HEADS}
    extra |= {"in_proj_bias": w.get("in_proj_bias"), "out_proj": made_of("NonDynamicallyQuantizableLinear")}
    return module("MultiheadAttention", w, **(sizes | extra | changes))


def norm_like(w: dict[str, Array], eps: float = 1e-5) -> Any:
    """Return an object like `nn.LayerNorm`."""
    return module("LayerNorm", w, normalized_shape=(D,), eps=eps)


def taken(stack: Any, **how: Any) -> Stored:
    """Return a stack as it is taken from Python."""
    return from_torch(stack, EMBEDDING, UNEMBEDDING, causal=True, **how)


def test_a_list_of_attentions_is_a_stack() -> None:
    w = tensors(2, {"": ATTENTION})
    ones = [below(w, f"layers.{n}.") for n in range(2)]
    x = EMBEDDING[IDS].astype(float)
    for one in ones:
        x = x + attention(one, x)
    found = taken([attention_like(one) for one in ones])
    assert far(found, x) < 1e-9
    network = read_torch(found)
    assert [(layer.mlp, layer.norm_1, layer.norm_2) for layer in network.layers] == [(None, None, None)] * 2
    first = EMBEDDING[IDS] + attention(ones[0], EMBEDDING[IDS].astype(float))
    assert far(taken(attention_like(ones[0])), first) < 1e-9
    end = below(drawn(8, weight=(D,), bias=(D,)), "")
    assert far(taken([attention_like(one) for one in ones], final_norm=norm_like(end)), norm(end, x)) < 1e-9


@pytest.mark.parametrize("first", [True, False])
def test_layers_of_a_stack_may_have_norms_and_mlps(first: bool) -> None:
    shapes: dict[str, Shapes] = {"self_attn": {k: s for k, s in ATTENTION.items() if "bias" not in k}, "": LINEAR}
    w = tensors(2, shapes | {"norm1": NORM, "norm2": NORM})
    x, stack = EMBEDDING[IDS].astype(float), []
    for number in range(2):
        one = below(w, f"layers.{number}.")
        heads = below(one, "self_attn.")
        for step, place in ((partial(attention, heads), "norm1."), (partial(mlp, one), "norm2.")):
            x = x + step(norm(below(one, place), x)) if first else norm(below(one, place), x + step(x))
        linears = {
            key: module("Linear", below(one, f"{key}."), bias=one[f"{key}.bias"]) for key in ("linear1", "linear2")
        }
        norms = {key: norm_like(below(one, f"{key}.")) for key in ("norm1", "norm2")}
        stack.append({"attention": attention_like(heads), **linears, **norms, "activation": made_of("ReLU")})
    found = taken(stack, norm_first=first)
    assert found.config["biases"] == "mlp"
    assert far(found, x) < 1e-9


ONE = {name.removeprefix("layers.0."): array for name, array in tensors(1, {"": ATTENTION}).items()}


@pytest.mark.parametrize(
    ("stack", "how", "match"),
    [
        ([], {}, "the stack has no layers"),
        ([attention_like(ONE, num_heads=1), attention_like(ONE)], {}, "layers.1 has nhead 2, and layers.0 1"),
        ([attention_like(ONE, training=True)], {}, "layers.0.attention has its dropout on"),
        ([attention_like(ONE, kdim=3)], {}, "layers.0.attention has kdim"),
        ([made_of("Linear")], {}, "layers.0.attention is a Linear"),
        ([{"attention": attention_like(ONE), "mlp": made_of("Linear")}], {}, "layers.0 has the part 'mlp'"),
        ([{"attention": attention_like(ONE), "linear1": made_of("Linear")}], {}, "layers.0 has only linear1"),
        ([{"attention": attention_like(ONE), "norm1": norm_like(ONE)}], {}, "which has norms: norm_first is missing"),
        ([attention_like(ONE)], {"norm_first": True}, "without norms, but norm_first"),
        ([attention_like(ONE)], {"memory": 0}, "memory is 0, and the module is no decoder"),
        (made_of("TransformerDecoder"), {}, "the module is a TransformerDecoder, and memory is None"),
        (made_of("TransformerDecoder"), {"memory": 1}, "the module is a TransformerDecoder, and memory is 1"),
        (made_of("TransformerEncoder"), {"norm_first": True}, "the layers of this module have their own"),
        (made_of("GPT"), {}, "the module is a GPT"),
    ],
)
def test_a_module_that_is_not_understood(stack: Any, how: dict[str, Any], match: str) -> None:
    assert raised(InputError, taken, stack, **how, match=match).hint


# ---- readouts ----


def test_answers_may_come_from_the_mean_or_the_first_token(tmp_path: Path) -> None:
    stored, x = decoder(False, memory="zeros", at="mean")
    network = read_torch(stored)
    assert (network.readout.at, network.readout.pooled) == ("last", "mean")
    assert np.abs(ball_outputs(network, IDS) - x.mean(axis=0, keepdims=True) @ UNEMBEDDING.T).max() < 1e-9
    folder = write_folder(tmp_path, stored.tensors, stored.config)
    model = hardsim.load(folder)
    word = [str(token) for token in IDS]
    assert len(model.eval(word).words[0].places) == 1
    assert model.eval(word).model.at == "mean"
    assert hardsim.load(folder, at="start").eval(word).model.at == "start"
    assert hardsim.load(folder, at="start").eval(word).words[0].places[0].position == 0
    assert hardsim.load(folder, at="first").eval(word).model.at == "first"
    # The option --at replaces the whole setting.
    read = read_input(folder).network(ModelOptions(at="first")).network.readout
    assert (read.at, read.pooled) == ("first", "last")
    taken_here = taken(attention_like(ONE), at="mean", decide="argmax")
    assert read_torch(taken_here).readout.pooled == "mean"
