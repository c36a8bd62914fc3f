"""The readers compared with the libraries: random networks of every kind that is read, saved and run by the
library.

Slow, and skipped where a library is not installed (`pip install "hardsim-transformers[foreign]"`). Networks of
`HookedTransformer` need transformer-lens before version 4, which `make slow` installs in a folder of its own.
"""

import json
import random
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reading.folders import difference, evaluated, write_folder
from tests.reading.plain import outputs
from tests.support.causal_families import CASES
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Network, network_of, read_folder

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of the libraries
NEAR = 1e-5
DTYPES = ["float32", "float32", "float16", "bfloat16"]


@pytest.fixture
def torch() -> Any:
    """Return the library."""
    return pytest.importorskip("torch")


def filled(torch: Any, model: Any, seed: int, dtype: str = "float32") -> Any:
    """Fill a model with random parameters of a narrow format, to run in float32; return it."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4)
    return model.eval().to(getattr(torch, dtype))


def compare(torch: Any, path: Path, run: Any, draw: random.Random) -> Network:
    """Read a folder, and compare it with the library on random tokens of several lengths."""
    network, _ = network_of(read_folder(str(path)))
    assert isinstance(network.positions, np.ndarray)
    for size in {1, 2, draw.randrange(3, 9), len(network.positions)}:
        ids = [draw.randrange(len(network.tokens)) for _ in range(size)]
        with torch.no_grad():
            expected = run(torch.tensor([ids])).numpy()
        assert difference(network, ids, expected) < NEAR
    return network


def save(torch: Any, folder: Path, state: dict[str, Any], draw: random.Random) -> None:
    """Save a state dict in one of several ways that occur."""
    form = draw.choice(["model.safetensors", "weights.safetensors", "state.pt", "state.pth", "pytorch_model.bin"])
    owned = OrderedDict((name, value.clone().contiguous()) for name, value in state.items())
    if form.endswith("safetensors"):
        pytest.importorskip("safetensors.torch").save_file(dict(owned), folder / form)
    else:
        torch.save(owned, folder / form)


# ---- Hugging Face ----


@pytest.mark.parametrize("seed", range(40))
def test_gpt2(torch: Any, tmp_path: Path, seed: int) -> None:
    transformers = pytest.importorskip("transformers")
    draw = random.Random(seed)
    heads = draw.choice([1, 2, 3])
    config = transformers.GPT2Config(
        vocab_size=draw.randrange(2, 9),
        n_positions=draw.randrange(9, 20),
        n_embd=heads * draw.choice([2, 4, 5]),
        n_layer=draw.choice([0, 1, 2, 3]),
        n_head=heads,
        n_inner=draw.choice([None, 3, 16]),
        activation_function=draw.choice(["gelu_new", "gelu", "relu", "silu", "swish", "gelu_pytorch_tanh"]),
        layer_norm_epsilon=draw.choice([1e-5, 1e-3, 1e-12]),
        scale_attn_weights=draw.random() < 0.7,
        scale_attn_by_inverse_layer_idx=draw.random() < 0.3,
        tie_word_embeddings=draw.random() < 0.5,
        num_labels=draw.choice([1, 2, 3]),
        bos_token_id=None,
        eos_token_id=None,
    )
    kinds = ["GPT2LMHeadModel", "GPT2LMHeadModel", "GPT2ForSequenceClassification", "GPT2ForTokenClassification"]
    model = filled(torch, getattr(transformers, draw.choice(kinds))(config), seed, draw.choice(DTYPES))
    if draw.random() < 0.7:
        model.save_pretrained(tmp_path, max_shard_size=draw.choice(["1GB", "2KB"]))
    else:
        model.config.architectures = [type(model).__name__]
        model.config.save_pretrained(tmp_path)
        tied = "lm_head" not in "".join(dict(model.named_parameters()))
        state = {name: value for name, value in model.state_dict().items() if not (tied and name.startswith("lm_head"))}
        save(torch, tmp_path, state, draw)
    whole = model.float()
    head = next(getattr(whole, name) for name in ("lm_head", "score", "classifier") if hasattr(whole, name))
    compare(torch, tmp_path, lambda ids: head(whole.transformer(ids).last_hidden_state)[0], draw)


@pytest.mark.parametrize("name", CASES)
def test_families(torch: Any, tmp_path: Path, name: str) -> None:
    """The library reads the made-up folder, and its own outputs and folder are those of hardsim."""
    transformers = pytest.importorskip("transformers")
    case = CASES[name]()
    first, second = tmp_path / "given", tmp_path / "saved"
    first.mkdir()
    config = case.config | dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"))
    if config.get("num_key_value_heads", 0) is None:  # version 5 refuses the null that version 4 takes
        config["num_key_value_heads"] = config["num_attention_heads"]
    write_folder(first, case.tensors, config)
    # The eager attention of Falcon adds the biases of ALiBi twice.
    attention = "sdpa" if config.get("alibi") else "eager"
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        first, attn_implementation=attention, output_loading_info=True
    )
    assert not report["unexpected_keys"]
    model.eval().save_pretrained(second)
    for ids in ([1], [4, 0], [0, 3, 1, 4, 4, 2, 1]):
        with torch.no_grad():
            expected = model(torch.tensor([ids])).logits[0].double().numpy()
        for folder in (first, second):
            found = evaluated(network_of(read_folder(str(folder)))[0], ids)
            assert np.abs(found - expected).max() < NEAR * max(1.0, np.abs(expected).max())


def test_gpt2_without_a_head(torch: Any, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=4, n_positions=12, n_embd=6, n_layer=2, n_head=2)
    filled(torch, transformers.GPT2Model(config), 1).save_pretrained(tmp_path)
    raised(InputError, network_of, read_folder(str(tmp_path)), match="at architectures")
    written = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(written | {"architectures": ["GPT2LMHeadModel"]}))
    language = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    compare(torch, tmp_path, lambda ids: language(ids).logits[0], random.Random(1))


def test_the_label_of_a_sequence_is_that_of_its_last_token(torch: Any, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=4, n_positions=9, n_embd=6, n_layer=2, n_head=2, pad_token_id=3)
    model = filled(torch, transformers.GPT2ForSequenceClassification(config), 2)
    model.save_pretrained(tmp_path)
    network, _ = network_of(read_folder(str(tmp_path)))
    assert network.symbols == ("0", "1", "2")
    draw = random.Random(2)
    for _ in range(20):
        ids = [draw.randrange(3) for _ in range(draw.randrange(1, 7))]
        padded = ids + [3] * (9 - len(ids))
        with torch.no_grad():
            expected = model(torch.tensor([padded])).logits.numpy()
        assert np.abs(outputs(network, ids)[network.readout.places(len(ids))] - expected).max() < NEAR


def test_a_tokenizer_of_the_library_names_tokens(torch: Any, tmp_path: Path) -> None:
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    vocabulary = {"a": 0, "b": 1, "<pad>": 2}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<pad>"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>").save_pretrained(tmp_path)
    config = transformers.GPT2Config(vocab_size=3, n_positions=9, n_embd=6, n_layer=1, n_head=2)
    filled(torch, transformers.GPT2LMHeadModel(config), 3).save_pretrained(tmp_path)
    assert network_of(read_folder(str(tmp_path)))[0].tokens == ("a", "b", "<pad>")


# ---- TransformerLens ----


def lens_settings(draw: random.Random) -> dict[str, Any]:
    """Return random settings that every version takes."""
    key, heads = draw.choice([1, 2, 3, 4]), draw.choice([1, 2, 3])
    return {
        "d_vocab": draw.randrange(2, 9),
        "n_ctx": draw.randrange(9, 20),
        "d_model": draw.randrange(3, 9),
        "n_layers": draw.choice([1, 2, 3]),
        "n_heads": heads,
        "d_head": key,
        "d_mlp": draw.choice([None, 3, 16]),
        "d_vocab_out": draw.choice([-1, -1, 1, 3]),
        "act_fn": draw.choice(["relu", "gelu", "gelu_new", "silu"]),
        "normalization_type": draw.choice(["LN", "LN", "LNPre", "RMS", "RMSPre", None]),
        "eps": draw.choice([1e-5, 1e-3]),
        "attention_dir": draw.choice(["causal", "causal", "bidirectional"]),
        "use_attn_scale": draw.random() < 0.7,
        "attn_scale": draw.choice([-1.0, -1.0, 2.5, 0.7]),
        "attn_only": draw.random() < 0.2,
        "final_rms": draw.random() < 0.2,
        "device": "cpu",
    }


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("form", ["hooked", "bridge", "native"])
def test_transformerlens(torch: Any, tmp_path: Path, form: str, seed: int) -> None:
    library = pytest.importorskip("transformer_lens")
    draw = random.Random(seed)
    settings = lens_settings(draw)
    if (form == "hooked") != ("HookedTransformer" in vars(library)):
        pytest.skip("another version of the library makes these")
    if form == "hooked":
        settings["scale_attn_by_inverse_layer_idx"] = draw.random() < 0.3
        model = library.HookedTransformer(library.HookedTransformerConfig(**settings))
    else:
        config = pytest.importorskip("transformer_lens.config").TransformerBridgeConfig(**settings)
        sources = pytest.importorskip("transformer_lens.model_bridge.sources.native")
        bridge = pytest.importorskip("transformer_lens.model_bridge").TransformerBridge
        model = sources.NativeModel(config) if form == "native" else bridge.boot_native(config)
    narrow = filled(torch, model, seed, draw.choice(DTYPES))
    save(torch, tmp_path, narrow.state_dict(), draw)
    written = json.dumps(model.cfg.to_dict(), default=str)
    (tmp_path / "config.json").write_text(written, encoding="utf-8")
    whole = narrow.float()
    whole.cfg.dtype = torch.float32
    compare(torch, tmp_path, lambda ids: whole(ids)[0], draw)


# ---- PyTorch files ----


def state_folder(torch: Any, folder: Path, value: object) -> str:
    """Save a value with `torch.save` in a new folder; return its path."""
    torch.save(value, folder / "state.pt")
    (folder / "config.json").write_text("{}")
    return str(folder)


def test_state_dicts_are_read_exactly(torch: Any, tmp_path: Path) -> None:
    names = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
    base = torch.tensor([[0.1, -3.0, 0.0], [2.0**-6, 240.0, -0.3]], dtype=torch.float64)
    tensors = {name: base.to(getattr(torch, name)) for name in names}
    views = {"turned": base.T, "cut": base[:, 1:], "parameter": torch.nn.Parameter(base), "scalar": torch.tensor(2.5)}
    weights = read_folder(state_folder(torch, tmp_path, OrderedDict(tensors | views))).weights
    for name, tensor in (tensors | views).items():
        found = weights.take(name, *tensor.shape)
        assert found.tolist() == tensor.detach().to(torch.float64).tolist()
    weights.done()


def test_files_of_more_than_tensors_are_refused(torch: Any, tmp_path: Path) -> None:
    weight = torch.ones(2)
    for value, said in (
        (torch.nn.Linear(2, 2), "not a file of tensors alone"),
        ({"w": weight, "when": print}, "not a file of tensors alone"),
        ({"model": {"w": weight}, "ema": {"w": weight}}, "several state dicts are inside: 'model', 'ema'"),
        ({"w": weight, "epoch": 3}, "'epoch' is not a tensor"),
        ({3: weight}, "3 is not a tensor"),
        ([weight], "holds list, not a state dict"),
        (weight, "holds Tensor, not a state dict"),
        ({}, "holds no tensors"),
        ({"w": torch.eye(2).to_sparse()}, "'w' is sparse"),
        ({"w": torch.empty(2, device="meta")}, "'w' is sparse, quantised or without numbers"),
    ):
        path = state_folder(torch, tmp_path, value)
        assert raised(InputError, read_folder, path, match=said).hint
    for broken in ((tmp_path / "state.pt").read_bytes()[:-20], b"", b"text"):
        (tmp_path / "state.pt").write_bytes(broken)
        raised(InputError, read_folder, str(tmp_path), match="not a file of tensors alone")


@pytest.mark.parametrize("key", ["state_dict", "model_state_dict", "model"])
def test_a_training_checkpoint_holds_a_state_dict(torch: Any, tmp_path: Path, key: str) -> None:
    names = {f"module._orig_mod.{name}": torch.ones(2) for name in ("a.w", "b.w")}
    saved = {key: names, "epoch": 3, "optimizer_states": [{"state": {0: torch.ones(2)}}], "version": "2.5"}
    stored = read_folder(state_folder(torch, tmp_path, saved))
    assert set(stored.tensors) == {"a.w", "b.w"}
    assert [note.partition(": ")[2].split(" (")[0] for note in stored.notes] == [
        f"the weights are '{key}' of a training checkpoint; epoch, optimizer_states, version beside it are not read",
        "every tensor begins with module._orig_mod.",
    ]


def test_integers_are_no_weights(torch: Any, tmp_path: Path) -> None:
    weights = read_folder(state_folder(torch, tmp_path, {"w": torch.ones(2, dtype=torch.int64)})).weights
    raised(InputError, weights.take, "w", 2, match="the tensor w is stored as int64")
    weights = read_folder(state_folder(torch, tmp_path, {"w": torch.ones(2, dtype=torch.complex64)})).weights
    raised(InputError, weights.take, "w", 2, match="the tensor w is stored as complex64")


def test_weights_in_several_pytorch_files(torch: Any, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=4, n_positions=9, n_embd=6, n_layer=2, n_head=2)
    model = filled(torch, transformers.GPT2LMHeadModel(config), 3)
    model.config.save_pretrained(tmp_path)
    state = {name: value for name, value in model.state_dict().items() if not name.startswith("lm_head")}
    parts = [dict(list(state.items())[::2]), dict(list(state.items())[1::2])]
    names = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]
    for name, part in zip(names, parts, strict=True):
        torch.save(part, tmp_path / name)
    index = {"weight_map": {key: name for name, part in zip(names, parts, strict=True) for key in part}}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    compare(torch, tmp_path, lambda ids: model(ids).logits[0], random.Random(1))
    index["weight_map"]["more"] = names[0]
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    raised(InputError, read_folder, str(tmp_path), match="the tensor 'more' is not there")
