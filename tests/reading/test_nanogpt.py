"""Checkpoints of nanoGPT and minGPT: outputs compared with nanoGPT's and with plain numpy, and what is refused."""

import pickle
from dataclasses import replace
from fractions import Fraction
from math import erf, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hardsim.reading.meta_pickle import names_of_meta
from hardsim.reading.nanogpt import MINI, NANO, family_of, read_nanogpt
from hardsim.reading.tensors import Stored
from hardsim.reading.wrapping import configuration_inside
from tests.reading.folders import architecture, ball_outputs, drawn, made_up, reference, write_folder
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Activation, network_of, read_folder

D, HEADS, ROWS, V = 6, 2, 5, 4
IDS = [2, 0, 3, 3]
ARGS: dict[str, Any] = {"n_layer": 2, "n_head": HEADS, "n_embd": D, "block_size": ROWS, "vocab_size": V}
NANO_ARGS = {**ARGS, "bias": True, "dropout": Fraction(0)}
MINI_ARGS = {**ARGS, "embd_pdrop": Fraction(1, 10), "resid_pdrop": Fraction(1, 10), "model_type": None}

Array = NDArray[Any]


def tensors(biased: bool = True) -> dict[str, Array]:
    """Draw the tensors of nanoGPT, except the unembedding."""
    shapes: dict[str, tuple[int, ...]] = {"transformer__wte__weight": (V, D), "transformer__wpe__weight": (ROWS, D)}
    parts = {"attn__c_attn": (3 * D, D), "attn__c_proj": (D, D), "mlp__c_fc": (4 * D, D), "mlp__c_proj": (D, 4 * D)}
    for layer in range(2):
        for name, shape in (parts | {"ln_1": (D,), "ln_2": (D,)}).items():
            shapes[f"transformer__h__{layer}__{name}__weight"] = shape
            shapes[f"transformer__h__{layer}__{name}__bias"] = shape[:1]
    found = drawn(7, **shapes, transformer__ln_f__weight=(D,), transformer__ln_f__bias=(D,))
    return {name: array for name, array in found.items() if biased or not name.endswith("bias")}


def old_names(found: dict[str, Array]) -> dict[str, Array]:
    """Return the same tensors as the minGPT of 2020 names them."""
    renamed = {}
    changes = {
        "transformer.h.": "blocks.", "ln_1": "ln1", "ln_2": "ln2", "attn.c_proj": "attn.proj", "mlp.c_fc": "mlp.0",
        "mlp.c_proj": "mlp.2", "transformer.": "", "wte": "tok_emb",
    }  # fmt: skip
    for name, array in found.items():
        for before, after in changes.items():
            name = name.replace(before, after)
        if "c_attn" in name:
            for third, part in enumerate(("query", "key", "value")):
                renamed[name.replace("c_attn", part)] = array[third * D : (third + 1) * D]
        else:
            renamed[name] = array
    renamed["pos_emb"] = renamed.pop("wpe.weight")[None]
    renamed["head.weight"] = renamed.pop("lm_head.weight")
    return renamed


def expected(w: dict[str, Array], exact: bool, unembedding: Array) -> Array:
    """Return the outputs for IDS in plain numpy."""
    f = {name.removeprefix("transformer."): array.astype(float) for name, array in w.items()}

    def map_(name: str, x: Array) -> Array:
        return np.asarray(x @ f[f"{name}.weight"].T + f.get(f"{name}.bias", 0.0))

    def norm(name: str, x: Array) -> Array:
        c = x - x.mean(-1, keepdims=True)
        scaled = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-5)
        return np.asarray(scaled * f[f"{name}.weight"] + f.get(f"{name}.bias", 0.0))

    def gelu(x: float) -> float:
        return x * (1 + (erf(x / sqrt(2)) if exact else np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))) / 2

    x = f["wte.weight"][IDS] + f["wpe.weight"][: len(IDS)]
    for layer in range(2):
        q, k, v = np.split(map_(f"h.{layer}.attn.c_attn", norm(f"h.{layer}.ln_1", x)), 3, axis=1)
        outs = []
        for head in range(HEADS):
            part = slice(head * D // HEADS, (head + 1) * D // HEADS)
            scores = q[:, part] @ k[:, part].T / sqrt(D / HEADS)
            powers = np.where(np.tri(len(IDS)) > 0, np.exp(scores), 0.0)
            outs.append(powers / powers.sum(1, keepdims=True) @ v[:, part])
        x = x + map_(f"h.{layer}.attn.c_proj", np.concatenate(outs, axis=1))
        hidden = np.vectorize(gelu)(map_(f"h.{layer}.mlp.c_fc", norm(f"h.{layer}.ln_2", x)))
        x = x + map_(f"h.{layer}.mlp.c_proj", hidden)
    return np.asarray(norm("ln_f", x) @ unembedding.T.astype(float))


def far(found: Stored, rows: Array) -> float:
    """Return the greatest distance of the outputs from expected ones."""
    return float(np.abs(ball_outputs(read_nanogpt(found), IDS) - rows).max())


def test_outputs_are_those_of_nanogpt() -> None:
    stored = read_folder(architecture("nanogpt"))
    network, form = network_of(stored)
    assert (form.title, stored.config_name) == (NANO, "model_args.json")
    for ids, rows in reference("nanogpt"):
        assert np.abs(ball_outputs(network, ids) - rows).max() < 1e-5
    (remark,) = stored.settings.remarks
    assert "read as gelu" in remark


@pytest.mark.parametrize("biased", [True, False])
def test_nanogpt_ties_its_unembedding_and_may_lack_biases(biased: bool) -> None:
    w = tensors(biased)
    args = NANO_ARGS | {"bias": biased}
    rows = expected(w, True, w["transformer.wte.weight"])
    mask = {"transformer.h.0.attn.bias": np.tri(ROWS)[None, None]}
    # Flat, as in the checkpoint, and with the buffers of versions without flash attention.
    assert far(made_up(w, args), rows) < 1e-9
    inside = {"model_args": args, "iter_num": 3, "config": {"dataset": "dyck"}}
    assert far(made_up(w | mask | {"lm_head.weight": w["transformer.wte.weight"]}, inside), rows) < 1e-9
    early = expected(w, False, w["transformer.wte.weight"])
    stated = made_up(w, args | {"activation": "gelu_new"})
    assert far(stated, early) < 1e-9
    assert not stated.settings.remarks
    assert far(made_up(w, args | {"activation": "gelu_new"}), rows) > 1e-6


def test_mingpt_has_the_tanh_form_and_an_unembedding_of_its_own() -> None:
    w = tensors() | drawn(3, lm_head__weight=(V, D))
    rows = expected(w, False, w["lm_head.weight"])
    whole = {"system": {"seed": 1}, "data": {}, "model": MINI_ARGS, "trainer": {"max_iters": None}}
    for config in (MINI_ARGS, whole):
        assert family_of(made_up(w, config)) == MINI
        assert far(made_up(w, config), rows) < 1e-9
    # minGPT of 2020: separate maps, other names, gelu
    old = old_names(w) | {"blocks.1.attn.mask": np.tri(ROWS)[None, None]}
    assert far(made_up(old, MINI_ARGS), expected(w, True, w["lm_head.weight"])) < 1e-9


def test_the_heads_of_mingpt_may_be_those_of_its_type() -> None:
    w = tensors() | drawn(3, lm_head__weight=(V, D))
    named = MINI_ARGS | {"n_head": None, "n_layer": None, "n_embd": None, "model_type": "gpt-nano"}
    network = read_nanogpt(made_up(w, named))
    assert len(network.layers[0].heads) == 3
    assert network.layers[0].mlp is not None
    assert network.layers[0].mlp.activation is Activation.GELU_NEW
    raised(InputError, read_nanogpt, made_up(w, named | {"model_type": "gpt"}), match="at model.*n_head|n_head")


def test_what_is_refused() -> None:
    w = tensors()
    other = w | drawn(3, lm_head__weight=(V, D))
    for found, match in (
        (made_up(w, NANO_ARGS | {"n_head": 4}), "at n_head: expected a divisor of n_embd, 6"),
        (made_up(w, NANO_ARGS | {"bias": False}), "at bias: expected true, as the tensor"),
        (made_up(w, NANO_ARGS | {"block_size": 7}), "at block_size: expected 5"),
        (made_up(w, NANO_ARGS | {"use_rmsnorm": True}), r"not understood: use_rmsnorm"),
        (made_up(w, NANO_ARGS | {"n_head": None}), "at n_head: expected an integer"),
        (made_up(w, {key: one for key, one in NANO_ARGS.items() if key != "bias"}), "at activation: expected one of"),
        (made_up(other, NANO_ARGS), "lm_head.weight differs from transformer.wte.weight"),
        (made_up(w, MINI_ARGS), "the tensor lm_head.weight is missing"),
        (made_up(w | {"extra": w["transformer.ln_f.bias"]}, NANO_ARGS), "not understood: extra"),
        (made_up(w | {"transformer.h.1.attn.bias": np.ones((1, 1, ROWS, ROWS))}, NANO_ARGS), "is not the causal mask"),
    ):
        assert raised(InputError, read_nanogpt, found, match=match).hint
    assert family_of(made_up(w, {"block_size": 3, "hidden_size": 6})) is None


def test_a_checkpoint_alone_is_a_network(tmp_path: Path) -> None:
    """Without torch the error is that torch is missing, not the configuration, which is inside."""
    (tmp_path / "ckpt.pt").write_bytes(b"not a checkpoint")
    message = raised(InputError, read_folder, str(tmp_path)).message
    assert "config.json" not in message


def test_the_configuration_inside_a_checkpoint() -> None:
    args = {"n_layer": 2, "bias": True, "dropout": 0.1, "vocab_size": None}
    found = configuration_inside({"model": {}, "model_args": args}, "model_args")
    assert found == {"model_args": args | {"dropout": Fraction(1, 10)}}
    for wrong in (None, [1], {"a": float("inf")}, {"a": [1]}, {1: 2}):
        assert configuration_inside({"model_args": wrong}, "model_args") == {}


@pytest.mark.slow
def test_a_checkpoint_of_nanogpt() -> None:
    pytest.importorskip("torch")
    stored = read_folder(architecture("nanogpt") + "/ckpt.pt")
    plain = replace(stored, config={"model_args": dict(stored.config["model_args"])})
    for ids, rows in reference("nanogpt"):
        assert np.abs(ball_outputs(read_nanogpt(plain), ids) - rows).max() < 1e-5


# ---- the tokens of nanoGPT's data ----


def meta(**entries: Any) -> bytes:
    """Return a pickle of these entries."""
    return pickle.dumps(entries)


def test_meta_names_the_tokens(tmp_path: Path) -> None:
    config = {key: value for key, value in NANO_ARGS.items() if key != "dropout"}
    write_folder(tmp_path, tensors(), config)
    names = ["\n", " ", "a", "b"]
    stoi, itos = {name: number for number, name in enumerate(names)}, dict(enumerate(names))
    (tmp_path / "meta.pkl").write_bytes(meta(vocab_size=4, stoi=stoi, itos=itos))
    found = read_folder(str(tmp_path))
    assert network_of(found)[0].tokens == ("<newline>", "<space>", "a", "b")
    assert "meta.pkl" in found.files
    assert [note for note in found.notes if "<newline>" in note] == ["meta.pkl: the token '\\n' is called <newline>"]
    assert names_of_meta(meta(itos=["a", "b"]), "m")[0] == ("a", "b")


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"text", "not a pickle of plain values"),
        (b"", "not a pickle of plain values"),
        (pickle.dumps({"stoi": Fraction}), "not a pickle of plain values .it names fractions.Fraction"),
        (pickle.dumps({"stoi": {"a": 0}, "more": Path("a")}), "not a pickle of plain values .it names pathlib"),
        (b"\x80\x04cos\nsystem\n(X\x04\x00\x00\x00exittR.", "it names os.system"),
        (meta(), "neither stoi nor itos"),
        (bytes.fromhex("80044e72ffffff0f2e"), "it numbers a value higher than it has bytes"),
        (b"}Na.", "it is damaged"),
        (b"}]Ns.", "it is damaged"),
        (pickle.dumps([1]), "neither stoi nor itos"),
        (meta(stoi={"a": 0}, itos={0: "b"}), "stoi and itos name other tokens"),
        (meta(stoi={"a": 1}), "not 0"),
        (meta(itos={0: "a", 1: "a"}), "itos names two ids alike"),
        (meta(stoi={1: 0}), "neither stoi nor itos"),
    ],
)
def test_other_pickles_are_refused(data: bytes, match: str) -> None:
    assert raised(InputError, names_of_meta, data, "meta.pkl", match=match).hint
