"""Encoders of PyTorch: outputs compared with PyTorch's, and everything that is refused."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hardsim
from hardsim.network.dense import arrays_of
from hardsim.reading.tensors import Stored
from hardsim.reading.torch import read_torch
from hardsim.reading.torch_modules import from_torch
from hardsim.run.dense_exact import DenseForward
from tests.reading.folders import DATA, SHARED, difference, library_outputs
from tests.reading.plain import outputs
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import (
    Activation,
    BallArithmetic,
    Mask,
    Network,
    Norm,
    Readout,
    RootScale,
    network_of,
    read_folder,
)

FOLDERS = "torch-post", "torch-pre", "torch-layer", "torch-bare"
LINEAR = 1e-5
"""Largest distance of float32 outputs from the real ones, relative to the largest."""

Change = Callable[[dict[str, Any]], object]


def stored(name: str = "torch-post") -> Stored:
    """Return a state dict that PyTorch wrote."""
    return read_folder(str(DATA / name))


def changed(name: str, tensors: Change = dict, config: Change = dict) -> Stored:
    """Return a stored network with changed copies of its tensors and its configuration; the changes edit in place."""
    found = stored(name)
    arrays, settings = dict(found.tensors), dict(found.config)
    tensors(arrays)
    config(settings)
    return replace(found, tensors=arrays, config=settings)


def configured(name: str = "torch-post", /, **settings: Any) -> Network:
    """Read a network with other settings."""
    return read_torch(changed(name, config=lambda config: config.update(settings)))


def with_table(network: Network) -> Network:
    """Return a network with a table of positions: of zeros, if it has none."""
    if isinstance(network.positions, np.ndarray):
        return network
    return replace(network, positions=np.zeros((10, network.dimension)))


# ---- outputs ----


@pytest.mark.parametrize("name", FOLDERS)
def test_outputs_are_those_of_pytorch(name: str) -> None:
    network, form = network_of(stored(name))
    assert form.title == "PyTorch encoder"
    for ids, expected in library_outputs(name):
        assert difference(with_table(network), ids, expected) < LINEAR


def test_norms_after_each_step() -> None:
    network = read_torch(stored())
    assert (network.dimension, network.longest, network.final) == (6, 10, None)
    assert [layer.post for layer in network.layers] == [True, True]
    assert [head.name for head in network.heads] == ["L0H0", "L0H1", "L1H0", "L1H1"]
    assert {(head.mask, head.scale) for head in network.heads} == {(Mask.NONE, RootScale(Fraction(1), 3))}
    first = network.layers[0]
    assert first.mlp is not None
    assert first.norm_1 is not None
    assert (first.mlp.activation, first.norm_1.epsilon) == (Activation.RELU, Fraction(1, 100000))
    assert network.tokens == network.outputs == ("0", "1", "2", "3", "4")
    assert network.readout == Readout(at="each", decide="argmax")


def test_norms_before_each_step_and_no_biases() -> None:
    network = read_torch(stored("torch-pre"))
    assert network.positions == ()
    assert np.array_equal(network.unembedding, network.embedding.T)
    first = network.layers[0]
    assert (first.post, first.b_o, network.heads[0].b_q, network.heads[0].mask) == (False, None, None, Mask.FUTURE)
    assert first.norm_1 is not None
    assert first.norm_1.bias is None
    assert network.final is not None
    # The text 0.001 is exactly 1/1000; the final norm has its own epsilon.
    assert (first.norm_1.epsilon, network.final.epsilon) == (Fraction(1, 1000), Fraction(1, 100000))


def test_one_layer_under_other_names() -> None:
    network = read_torch(stored("torch-layer"))
    assert network.tokens == ("<s>", "a", "b", 1, 0.5)
    assert network.outputs == ("yes",)
    assert network.readout == Readout(before=("<s>",), level=Fraction(1, 4))
    assert network.symbols == ("a", "b", "1", "0.5")
    assert configured("torch-layer", alphabet=["b", 1]).symbols == ("b", "1")


def test_norms_without_weights() -> None:
    network = read_torch(stored("torch-bare"))
    assert network.layers[1].norm_2 == Norm("layer", Fraction(1, 100000))
    assert network.final == Norm("rms", Fraction(1, 4))
    assert network.outputs == ("0", "1", "2")


@pytest.mark.parametrize("start", ["", "layers.1.", "model.layers.0.body."])
def test_an_encoder_is_found_wherever_it_is(start: str) -> None:
    found = stored()
    moved = {name.replace("encoder.", start, 1): array for name, array in found.tensors.items()}
    network = read_torch(replace(found, tensors=moved))
    named = replace(found, tensors=moved, config=found.config | {"encoder": start.removesuffix(".")})
    for ids, expected in library_outputs("torch-post"):
        assert difference(network, ids, expected) < LINEAR
        assert difference(read_torch(named), ids, expected) < LINEAR


def test_one_output_is_above_0_at_the_last_position() -> None:
    network = configured("torch-layer", decide=None, outputs=None, input=None)
    assert (network.readout, network.outputs) == (Readout(), ("0",))


# ---- the scale of the embedding ----


@pytest.mark.parametrize(
    ("stated", "factor"),
    [
        (1, 1.0),
        (3, 3.0),
        (Fraction(5, 2), 2.5),
        ("sqrt(d)", sqrt(6)),
        ("sqrt( d )", sqrt(6)),
        ("1/sqrt(d)", 1 / sqrt(6)),
        ("sqrt(16)", 4.0),
        ("7/2", 3.5),
    ],
)
def test_the_embedding_is_scaled_before_positions_are_added(stated: Any, factor: float) -> None:
    """The outputs equal those of an embedding whose rows were multiplied; the unembedding, tied or not, is not
    scaled."""
    for name in ("torch-post", "torch-pre"):
        network = configured(name, embedding_scale=stated)
        by_hand = replace(network, embedding_scale=RootScale(), embedding=network.embedding * factor)
        ids, _ = library_outputs(name)[-1]
        assert difference(with_table(network), ids, outputs(with_table(by_hand), ids)) < 1e-14
        assert np.array_equal(network.unembedding, configured(name).unembedding)


@pytest.mark.parametrize("wrong", [0, -1, "sqrt(-d)", "sqrt(d", "d", "0", True, [1], "sqrt(0)", "", "1/0"])
def test_a_scale_that_is_none_is_refused(wrong: Any) -> None:
    match = 'at embedding_scale: expected a positive number or "sqrt\\(d\\)", found .*'
    assert '"embedding_scale": 1' in raised(InputError, configured, embedding_scale=wrong, match=match).hint


SCALED = SHARED / "architectures" / "torch_tutorial"


@pytest.mark.skipif(not SCALED.is_dir(), reason="networks of other libraries lie beside the project")
def test_the_tutorial_of_pytorch_is_scaled_by_the_root_of_its_width() -> None:
    expected = json.loads((SCALED / "reference_float32.json").read_text())[0]
    network = read_torch(read_folder(str(SCALED)))
    assert network.embedding_scale.rational == 4  # d = 16
    ids = [0, 1, 2, 1, 3, 2]
    assert difference(network, ids, np.array(expected)) < LINEAR
    assert difference(replace(network, embedding_scale=RootScale()), ids, np.array(expected)) > 0.1
    balls = DenseForward(network, BallArithmetic(100)).run(6, ids, range(6))
    assert np.abs(np.array([[float(one.mid()) for one in row] for row in balls]) - expected).max() < 1e-4


# ---- refusals ----


def test_all_settings_that_are_missing_are_named_at_once() -> None:
    found = changed("torch-post", config=lambda config: (config.pop("nhead"), config.pop("causal")))
    error = raised(InputError, read_torch, found, match="config.json: nhead, causal are missing")
    assert '"nhead": 4' in error.hint
    assert '"causal": true' in error.hint


def test_an_embedding_of_another_name_is_stated() -> None:
    def renamed(tensors: dict[str, Any]) -> None:
        tensors["encoder_embedding.weight"] = tensors.pop("embedding.weight")

    error = raised(InputError, read_torch, changed("torch-post", renamed), match="embedding.weight is missing")
    assert '"embedding": "encoder_embedding.weight"' in error.hint


def test_tensors_beside_those_of_a_wrapper_are_named() -> None:
    """The extra tensors are weights of a loss, beside the network in an attribute of a Lightning module."""

    def wrapped(tensors: dict[str, Any]) -> None:
        inside = {f"net.{name}": tensor for name, tensor in tensors.items()}
        tensors.clear()
        tensors.update(inside, **{"loss.weight": np.ones(3, np.float32)})

    raised(InputError, read_torch, changed("torch-post", wrapped), match="begin with net., and others, as loss.weight")


@pytest.mark.parametrize("name", ["pos_encoder.pe", "encoder.pos", "position_embedding.weight", "wpe.weight"])
def test_a_table_of_positions_must_be_stated(name: str) -> None:
    def stored_table(tensors: dict[str, Any]) -> None:
        tensors.pop("positions.weight", None)
        tensors[name] = np.ones((10, tensors["embedding.weight"].shape[1]), np.float32)

    found = changed("torch-post", stored_table, lambda config: config.pop("positions", None))
    error = raised(InputError, read_torch, found, match=f"{name} seems to be a table of positions")
    assert f'"positions": "{name}"' in error.hint


@pytest.mark.parametrize(
    "key", ["embedding_scale", "nhead", "causal", "activation", "norm_first", "layer_norm_eps", "final_norm_eps"]
)
def test_what_the_weights_do_not_show_must_be_stated(key: str) -> None:
    """The error names each setting, its possible values and a line to add. RMSNorm has no default epsilon, and
    nothing shows the epsilon of a norm at the end if other norms have a non-default one."""
    others: dict[str, tuple[str, dict[str, Any]]] = {
        "layer_norm_eps": ("torch-bare", {"norm": "rms"}),
        "final_norm_eps": ("torch-pre", {"layer_norm_eps": Fraction(1, 10)}),
    }
    name, more = others.get(key, ("torch-post", {}))
    found = changed(name, config=lambda config: (config.update(more), config.pop(key, None)))
    error = raised(InputError, read_torch, found, match=f"config.json: at {key}: expected .*, found nothing")
    assert f'"{key}"' in error.hint


@pytest.mark.parametrize(("key", "name"), [("norm", "torch-pre"), ("norm", "torch-bare"), ("final_norm", "torch-bare")])
def test_norms_that_the_weights_do_not_show_must_be_stated(key: str, name: str) -> None:
    error = raised(
        InputError,
        read_torch,
        changed(name, config=lambda config: config.pop(key)),
        match=f"at {key}: expected .*, found nothing",
    )
    assert f'"{key}": ' in error.hint


def test_a_norm_at_the_end_can_be_denied() -> None:
    assert configured("torch-bare", final_norm="none", final_norm_eps=None).final is None
    raised(InputError, configured, "torch-pre", final_norm="none", final_norm_eps=None, match="encoder.norm.weight")


def test_a_network_without_positions_is_remarked_on() -> None:
    found = changed("torch-pre", config=lambda config: config.pop("positions"))
    assert read_torch(found).positions == ()
    (remark,) = found.settings.remarks
    assert '"positions": "none"' in remark
    stated = stored("torch-pre")
    read_torch(stated)
    assert not stated.settings.remarks


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"nhead": None}, "at nhead: expected an integer from 1 to 20000000, found null"),
        ({"tokens": [Fraction(10**399)] * 6}, "a number that names a token is too large"),
        ({"nhead": 10**4000}, "at nhead: expected an integer from 1 to 20000000, found 1000"),
        ({"nhead": 4}, "at nhead: expected a divisor of the width 6 of the encoder, found 4"),
        ({"causal": None}, "at causal: expected true or false, found null"),
        ({"norm_first": None}, "at norm_first: expected true or false, found null"),
        ({"activation": None}, 'at activation: expected one of "relu", "gelu", .*, found null'),
        ({"activation": "elu"}, 'at activation: expected .*, found "elu"'),
        ({"norm": "batch"}, 'at norm: expected .*, found "batch"'),
        ({"final_norm": "batch"}, 'at final_norm: expected .*, found "batch"'),
        ({"final_norm_eps": Fraction(1, 10)}, "at final_norm_eps: expected .*, found 0.1"),
        ({"layer_norm_eps": -1}, "at layer_norm_eps: expected a number that is at least 0, found -1"),
        (
            {"final_norm": "layer", "final_norm_eps": -1},
            "at final_norm_eps: expected a number that is at least 0.*, found -1",
        ),
        ({"num_layers": 3}, "at num_layers: expected .*, found 3"),
        ({"d_model": 8}, "at d_model: expected .*, found 8"),
        ({"dim_feedforward": 8}, "at dim_feedforward: expected .*, found 8"),
        ({"rotary": True}, r"a setting that is not understood: rotary \(true\)"),
        ({"encoder": "decoder"}, "no tensor is named decoder.layers.0.self_attn.in_proj_weight"),
        ({"embedding": "tok.weight"}, "the tensor tok.weight is missing"),
        ({"positions": "pos"}, "the tensor pos is missing"),
        ({"unembedding_bias": "encoder.layers.0.linear1.bias"}, r"has the shape \[7\], not \[5\]"),
        ({"tokens": ["a", "b"]}, "2 tokens were named, and the vocabulary has 5"),
        ({"tokens": "abcde"}, 'at tokens: expected an array, found "abcde"'),
        ({"outputs": ["a", "b", "c", "d", "d"]}, "the output 'd' is named twice"),
        ({"outputs": ["a"]}, "1 outputs were named, and the network has 5"),
        ({"decide": "argmax of 7"}, "'7' is not among the outputs of the network"),
        ({"alphabet": []}, "an alphabet needs at least one symbol"),
        ({"alphabet": ["a"]}, "'a' is not among the tokens of the network"),
        ({"alphabet": "01"}, 'at alphabet: expected an array, found "01"'),
        ({"input": "<bos> *"}, "'<bos>' is not among the tokens of the network"),
        ({"at": "end"}, "at 'end' is not one of: last, first, each"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], match: str) -> None:
    assert raised(InputError, configured, **settings, match=match).hint


PLACE = "encoder.layers.1."


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda t: t.pop(PLACE + "linear1.bias"), "the tensor encoder.layers.1.linear1.bias is missing"),
        (lambda t: t.pop(PLACE + "norm2.weight"), "the tensor encoder.layers.1.norm2.weight is missing"),
        (lambda t: t.pop(PLACE + "norm1.bias"), "the tensor encoder.layers.1.norm1.bias is missing"),
        (lambda t: t.pop("encoder.layers.0.linear2.weight"), "the tensor encoder.layers.0.linear2.weight is missing"),
        (
            lambda t: t.update({PLACE + "self_attn.bias_k": t[PLACE + "norm1.bias"]}),
            "not understood: .*self_attn.bias_k",
        ),
        (lambda t: t.update({"encoder.layers.3.norm1.bias": t[PLACE + "norm1.bias"]}), "encoder.layers.2.* is missing"),
        (
            lambda t: t.update({"old.self_attn.in_proj_weight": np.zeros((18, 6))}),
            "there are several encoders, whose tensors begin with 'encoder.', 'old.'",
        ),
        (lambda t: t.update({"positions.weight": np.zeros((10, 5))}), r"\[10, 5\], not \[10, 6\]"),
        (lambda t: t.update({"positions.weight": np.zeros((2, 5, 6))}), r"\[2, 5, 6\], not \[any, 6\]"),
        (
            lambda t: t.update({"embedding.weight": np.zeros((6, 5))}),
            r"\[6, 5\], not \[any, 6\] \(the width of the enco",
        ),
        (lambda t: t.update({"unembedding.weight": np.zeros((6, 5))}), r"\[6, 5\], not \[any, 6\]"),
        (lambda t: [t.pop(name) for name in list(t) if "in_proj_weight" in name], "so there is no encoder"),
        (
            lambda t: t.update({"encoder.layers.99999999999.x": t[PLACE + "norm1.bias"]}),
            "not understood: .*99999999999",
        ),
        (
            lambda t: t.update({"encoder.layers.0.self_attn.in_proj_weight": np.array(1.0)}),
            r"is not a matrix \[3 d, d\]",
        ),
        (lambda t: t.update({"encoder.layers.0.self_attn.in_proj_weight": np.zeros((0, 0))}), "is not a matrix"),
        (lambda t: t.update({"positions.weight": np.zeros((0, 6))}), r"\[0, 6\]: it holds nothing"),
    ],
)
def test_a_wrong_tensor_is_named(change: Change, match: str) -> None:
    assert raised(InputError, read_torch, changed("torch-post", tensors=change), match=match).hint


def test_a_vocabulary_beside_it_says_the_same() -> None:
    named = replace(stored("torch-layer"), vocabulary=("<s>", "a", "b", "1", "0.5"))
    assert read_torch(named).tokens == ("<s>", "a", "b", 1, 0.5)
    other = replace(named, vocabulary=("<s>", "b", "a", "1", "0.5"))
    raised(InputError, read_torch, other, match="the names in the stored vocabulary")
    assert read_torch(replace(stored(), vocabulary=tuple("abcde"))).tokens == tuple("abcde")


# ---- from Python ----


def made_of(kind: str, **parts: Any) -> Any:
    """Return an object with the class name and the attributes of a module of PyTorch."""
    children = [(name, part) for name, part in parts.items() if hasattr(part, "named_children")]
    known = {"training": False, "_forward_hooks": {}, "_forward_pre_hooks": {}, "named_children": lambda: children}
    module = type(kind, (), {"__module__": "torch.nn.modules.like"})()
    vars(module).update(known | parts)
    return module


def encoder_like(tensors: dict[str, Any], **changes: Any) -> Any:
    """Return the encoder of `torch-post`, without PyTorch."""
    linear, dropout = made_of("Linear"), made_of("Dropout", p=0.1)
    norm = made_of("LayerNorm", normalized_shape=(6,), eps=1e-5)
    sizes = dict.fromkeys(("embed_dim", "kdim", "vdim"), 6)
    extra = {"bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout": 0.1}
    out = made_of("NonDynamicallyQuantizableLinear")
    attention = made_of("MultiheadAttention", num_heads=2, out_proj=out, **sizes, **extra)
    layer: dict[str, Any] = {"self_attn": attention, "linear1": linear, "linear2": linear, "norm1": norm, "norm2": norm}
    layer |= {"dropout": dropout, "dropout1": dropout, "dropout2": dropout}
    layer |= {"norm_first": False, "activation": made_of("ReLU"), "activation_relu_or_gelu": 1}
    layers = [made_of("TransformerEncoderLayer", **layer), made_of("TransformerEncoderLayer", **(layer | changes))]
    whole = type("ModuleList", (list,), {"__module__": "torch.nn.modules.like"})(layers)
    vars(whole).update(_forward_hooks={}, _forward_pre_hooks={})
    state = {name.removeprefix("encoder."): array for name, array in tensors.items() if name.startswith("encoder.")}
    return made_of("TransformerEncoder", layers=whole, norm=None, state_dict=lambda: state)


def test_a_module_is_read_by_its_attributes() -> None:
    """The attributes of PyTorch's modules are enough: torch is not needed."""
    tensors = stored().tensors
    unembedding = made_of("Linear", weight=tensors["unembedding.weight"], bias=tensors["unembedding.bias"])
    unembedding.state_dict = dict
    taken = from_torch(encoder_like(tensors), tensors["embedding.weight"], unembedding, tensors["positions.weight"])
    assert taken.tensors.keys() == tensors.keys()
    network = read_torch(taken)
    for ids, expected in library_outputs("torch-post"):
        assert difference(network, ids, expected) < LINEAR
    again = from_torch(encoder_like(tensors), tensors["embedding.weight"], unembedding, tensors["positions.weight"])
    assert again.sha256 == taken.sha256
    given = encoder_like(tensors), tensors["embedding.weight"], unembedding
    for scale, needed in ((2.5, RootScale(Fraction(5, 2))), ("sqrt(d)", RootScale(Fraction(6), 6)), (1, RootScale())):
        assert read_torch(from_torch(*given, embedding_scale=scale)).embedding_scale == needed
    raised(InputError, from_torch, *given, embedding_scale=None, match="embedding_scale is None")
    causal = from_torch(encoder_like(tensors), tensors["embedding.weight"], unembedding, causal=True)
    assert (read_torch(causal).heads[0].mask, read_torch(causal).positions) == (Mask.FUTURE, ())
    assert causal.sha256 != taken.sha256


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"activation": print}, "layers.1.activation is print, which is not understood"),
        ({"activation": made_of("GELU", approximate="tanh")}, "is gelu, and was relu when the layer was made"),
        ({"activation": made_of("GELU", approximate="tanh"), "activation_relu_or_gelu": 2}, "has activation gelu_tanh"),
        ({"norm_first": True}, "layers.1 has norm_first True, and layers.0 False"),
        ({"dropout1": made_of("Dropout", p=0.1, training=True)}, "layers.1.dropout1 is on"),
        ({"linear1": made_of("LazyLinear")}, "layers.1.linear1 is a LazyLinear"),
        ({"linear1": made_of("Linear", _forward_hooks={1: print})}, "layers.1.linear1 has hooks"),
        ({"norm1": made_of("RMSNorm", normalized_shape=(6,), eps=None)}, "layers.1.norm1 has no eps"),
        ({"more": made_of("Linear")}, "layers.1 has the module more"),
    ],
)
def test_a_layer_that_is_not_understood(change: dict[str, Any], match: str) -> None:
    tensors = stored().tensors
    module, weight = encoder_like(tensors, **change), tensors["embedding.weight"]
    assert raised(InputError, from_torch, module, weight, weight, match=match).hint


@pytest.fixture
def torch() -> Any:
    """Return the library."""
    return pytest.importorskip("torch")


def layer_of(torch: Any, **how: Any) -> Any:
    return torch.nn.TransformerEncoderLayer(4, 2, 8, **{"dropout": 0.0, **how})


def swapped(layer: Any, **parts: Any) -> Any:
    """Replace parts of a layer; return it."""
    for name, part in parts.items():
        setattr(layer, name, part)
    return layer


def encoder_of(torch: Any, change: Callable[[Any], object] = id, norm: Any = None) -> Any:
    """Return an encoder of two layers, of which the second is changed."""
    made = torch.nn.TransformerEncoder(layer_of(torch), 2, norm=norm, enable_nested_tensor=False)
    change(made.layers[1])
    return made


def hooked(module: Any) -> Any:
    module.linear2.register_forward_hook(lambda *_: None)
    return module


def attention(torch: Any, **how: Any) -> Any:
    return torch.nn.MultiheadAttention(4, 2, **how)


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda t: t.nn.TransformerEncoderLayer(4, 2, 8), "the layer.self_attn has its dropout on"),
    (lambda t: swapped(layer_of(t), self_attn=attention(t, dropout=0.1)), "self_attn has its dropout on"),
    (lambda t: swapped(layer_of(t), self_attn=attention(t, add_bias_kv=True)), "self_attn has add_bias_kv"),
    (lambda t: swapped(layer_of(t), self_attn=attention(t, add_zero_attn=True)), "self_attn has add_zero_attn"),
    (lambda t: swapped(layer_of(t), self_attn=attention(t, kdim=5)), "self_attn has kdim"),
    (lambda t: swapped(layer_of(t), self_attn=attention(t, vdim=5)), "self_attn has vdim"),
    (lambda t: swapped(layer_of(t), norm1=t.nn.Identity()), "the layer.norm1 is a Identity"),
    (lambda t: swapped(layer_of(t), norm1=t.nn.LayerNorm(4, eps=1.0)), "norm1 and the layer.norm2 differ"),
    (lambda t: layer_of(t, layer_norm_eps=float("nan")), "norm1 has the eps nan"),
    (lambda t: swapped(layer_of(t), norm1=t.nn.LayerNorm((2, 4))), r"norm1 is over \(2, 4\), not the 4 coordinates"),
    (lambda t: swapped(layer_of(t), linear1=t.nn.Bilinear(4, 4, 8)), "the layer.linear1 is a Bilinear"),
    (lambda t: swapped(layer_of(t), more=t.nn.Linear(4, 4)), "the layer has the module more"),
    (lambda t: swapped(layer_of(t), activation=t.nn.SiLU()), "is silu, and was relu when the layer was made"),
    (lambda t: layer_of(t, activation=lambda x: x), "activation is <lambda>, which is not understood"),
    (lambda t: layer_of(t, activation=t.nn.LeakyReLU()), "activation is LeakyReLU, which is not understood"),
    (lambda t: layer_of(t, activation=t.tanh), "activation is tanh, which is not understood"),
    (lambda t: hooked(layer_of(t)), "linear2 has hooks, or a forward of its own"),
    (lambda t: swapped(layer_of(t), forward=print), "has hooks, or a forward of its own"),
    (lambda t: layer_of(t, device="meta"), "self_attn.in_proj_weight of the module: not a plain array of numbers"),
    (lambda t: type("Mine", (t.nn.TransformerEncoderLayer,), {})(4, 2, 8), "the module is a Mine"),
    (lambda t: t.nn.TransformerDecoderLayer(4, 2), "the module is a TransformerDecoderLayer"),
    (lambda t: t.nn.Transformer(4, 2, 1, 1, 8), "the module is a Transformer"),
    (lambda t: "encoder", "the module is a str"),
    (lambda t: t.nn.Sequential(encoder_of(t)), "layers.0.attention is a TransformerEncoder"),
    (
        lambda t: encoder_of(t, lambda one: setattr(one, "norm_first", True)),
        "layers.1 has norm_first True, and layers.0",
    ),
    (
        lambda t: encoder_of(t, lambda one: setattr(one.self_attn, "num_heads", 1)),
        "layers.1 has nhead 1, and layers.0 2",
    ),
    (lambda t: encoder_of(t, norm=t.nn.BatchNorm1d(4)), "norm is a BatchNorm1d"),
    (lambda t: encoder_of(t, norm=t.nn.RMSNorm(4)), "norm has no eps, so that it depends on the number format"),
    (lambda t: swapped(encoder_of(t), head=t.nn.Linear(4, 4)), "the encoder has the module head"),
    (lambda t: t.nn.TransformerEncoder(layer_of(t), 0, enable_nested_tensor=False), "the encoder has no layers"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "match"), REFUSED)
def test_a_module_that_is_not_understood(torch: Any, make: Callable[[Any], Any], match: str) -> None:
    assert raised(InputError, from_torch, make(torch), np.eye(4), np.eye(4), match=match).hint


@pytest.mark.slow
def test_what_has_the_wrong_type(torch: Any) -> None:
    layer, rows = layer_of(torch).eval(), np.eye(3, 4)
    raised(
        TypeError, hardsim.from_torch, layer, embedding=rows, unembedding=rows, tokens=3, match="tokens must be text"
    )
    model = hardsim.load(str(DATA / "torch-post"))
    for key in ("tokens", "alphabet", "input", "at", "decide"):
        raised(TypeError, model.read_as, **{key: 3}, match="not int")
    assert model.check(against=lambda word: np.array(1.5), max_n=1).verdict == "REFUTED"
    with pytest.raises(hardsim.InputError):
        model.check(against=lambda word: np.array([1.5, 2.0]), max_n=1)


def test_what_stands_around_an_encoder(torch: Any) -> None:
    layer, linear = layer_of(torch), torch.nn.Linear
    refused = partial(raised, InputError, from_torch, layer)
    assert "Give embedding=" in str(refused(match="the embedding is missing").hint)
    assert "Give unembedding=" in str(refused(np.eye(4), match="the unembedding is missing").hint)
    refused(np.eye(4), np.eye(4), causal=1, match="causal is 1")
    refused(torch.nn.Embedding(3, 4, max_norm=1.0), np.eye(4), match="the embedding has max_norm 1.0")
    refused(torch.nn.Sequential(linear(4, 4)), np.eye(4), match="the embedding is a Sequential")
    refused(linear(3, 4), np.eye(4), match="the embedding is an nn.Linear with a bias")
    refused(np.eye(4), np.eye(4), linear(9, 4), match="the positions is a Linear")
    refused(np.eye(4), np.eye(4), tokens=[None] * 4, match="tokens: None is neither text nor a number")
    embedding, unembedding = linear(3, 4, bias=False), linear(4, 2)
    network = read_torch(
        from_torch(layer, embedding, unembedding, torch.zeros(1, 9, 4), tokens="a b c", outputs=[1, 0.5])
    )
    assert np.array_equal(network.embedding, embedding.weight.detach().numpy().T)
    assert np.array_equal(network.unembedding, unembedding.weight.detach().numpy().T)
    assert network.unembedding_bias is not None
    assert np.array_equal(network.unembedding_bias, unembedding.bias.detach().numpy())
    assert (network.tokens, network.outputs, network.longest) == (("a", "b", "c"), (1, 0.5), 9)


def drawn(torch: Any, seed: int, dtype: str) -> tuple[Any, dict[str, Any], Callable[[list[int], Any], NDArray[Any]]]:
    """Draw a random encoder, the parts around it, and a function that runs both in a dtype."""
    draw, nn = random.Random(seed), torch.nn
    functional = nn.functional
    torch.manual_seed(seed)
    heads, activations = draw.choice([1, 2, 3]), ["relu", "gelu", functional.relu, functional.gelu, functional.silu]
    activations += [torch.relu, nn.ReLU(), nn.GELU(), nn.GELU("tanh"), nn.SiLU()]
    activations.append(partial(functional.gelu, approximate="tanh"))
    width, first = heads * draw.choice([2, 4]), draw.choice([True, False])
    how = {"norm_first": first, "bias": draw.random() < 0.7, "layer_norm_eps": draw.choice([1e-5, 1e-6, 0.125])}
    flat = draw.choice([True, False])
    layer = nn.TransformerEncoderLayer(width, heads, 7, 0.1, draw.choice(activations), batch_first=flat, **how)
    norms = [nn.LayerNorm(width), nn.LayerNorm(width, bias=False), nn.LayerNorm(width, elementwise_affine=False)]
    norm = draw.choice([None, None, *norms, nn.RMSNorm(width, eps=1e-3)])
    single = draw.random() < 0.2
    module = layer if single else nn.TransformerEncoder(layer, draw.choice([1, 2, 3]), norm, enable_nested_tensor=False)
    around = nn.ModuleDict({"embedding": nn.Embedding(5, width, padding_idx=draw.choice([None, 0]))})
    around["unembedding"] = nn.Linear(width, draw.choice([1, 3, 5]), bias=draw.random() < 0.5)
    if draw.random() < 0.7:
        around["positions"] = nn.Embedding(10, width)
    whole, causal = nn.ModuleList([module, around]).eval(), draw.choice([True, False])
    with torch.no_grad():
        for parameter in whole.parameters():
            parameter.copy_(torch.randn_like(parameter) / 2)
    whole.to(getattr(torch, dtype))

    def run(ids: list[int], kind: Any) -> NDArray[Any]:
        whole.to(kind)
        x = around["embedding"](torch.tensor(ids))[None]
        if "positions" in around:
            x = x + around["positions"](torch.arange(len(ids)))
        mask = nn.Transformer.generate_square_subsequent_mask(len(ids)).to(kind) if causal else None
        y = module(x if flat else x.transpose(0, 1), mask)
        found = around["unembedding"](y if flat else y.transpose(0, 1))[0]
        return np.asarray(found.detach().numpy())

    return module, {**dict(around), "causal": causal}, run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("seed", range(60))
def test_random_encoders(torch: Any, tmp_path: Path, seed: int, dtype: str) -> None:
    """An encoder that is taken from Python, saved and loaded gives PyTorch's outputs, whatever its parts."""
    module, around, run = drawn(torch, seed, dtype)
    hardsim.from_torch(module, **around).save(tmp_path / "net")
    network = read_torch(read_folder(str(tmp_path / "net")))
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # it takes the tanh form of gelu for the other one
    try:
        for ids in ([4], [0, 1, 2], [3, 1, 4, 0, 2, 2, 0, 1, 4, 3]):
            assert difference(with_table(network), ids, run(ids, torch.float64)) < 1e-12
            assert difference(with_table(network), ids, run(ids, torch.float32)) < LINEAR
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", [".pt", ".safetensors"])
def test_a_state_dict_as_it_is_saved(torch: Any, tmp_path: Path, ending: str) -> None:
    """The numbers are those of the file, also in bfloat16."""
    weights, config = DATA / "torch-pre" / "model.safetensors", (DATA / "torch-pre" / "config.json").read_text()
    state = pytest.importorskip("safetensors.torch").load_file(weights)
    (tmp_path / "config.json").write_text(config)
    if ending == ".pt":
        torch.save(state, tmp_path / "weights.pt")
    else:
        pytest.importorskip("safetensors.torch").save_file(state, tmp_path / "weights.safetensors")
    network = read_torch(read_folder(str(tmp_path)))
    for one, other in zip(arrays_of(network), arrays_of(read_torch(stored("torch-pre"))), strict=True):
        assert np.array_equal(one, other)
