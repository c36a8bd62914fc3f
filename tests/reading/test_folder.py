"""Formats are recognised, and reports show what was read."""

from dataclasses import replace

import numpy as np
import pytest

from hardsim.network.dense import symbols_of
from hardsim.reading.folder import FORMATS, READOUT, described, readout_settings, readout_sources, settings_of
from hardsim.reading.tensors import Stored
from tests.reading.folders import DATA, SHARED, STORED
from tests.support.check import External, ModelOptions, read_input
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Readout, network_of, read_folder


def test_a_format_that_is_not_known_is_refused() -> None:
    error = raised(
        InputError,
        network_of,
        Stored("here", {}, {"model_type": "t0"}),
        match='at model_type: the family "t0" is unknown',
    )
    assert "docs/networks.md" in error.hint
    error = raised(
        InputError,
        network_of,
        Stored("here", {}, {}),
        match="here: config.json: at model_type: expected a format that is supported, found nothing",
    )
    assert all(kind in error.hint for kind in ("gpt2", "llama", "TransformerLens", "Tracr", "PyTorch encoder"))
    for kind in ("mamba", "rwkv"):
        found = Stored("here", {}, {"model_type": kind})
        assert (
            "recurrent layers" in raised(InputError, network_of, found, match=f'the family "{kind}" is not read').hint
        )


@pytest.mark.parametrize("name", STORED)
def test_one_format_fits(name: str) -> None:
    stored = read_folder(str(DATA / name))
    assert [form.title for form in FORMATS if form.fits(stored)] == [network_of(stored)[1].title]


def settings(name: str, **changes: object) -> dict[str, str]:
    """Return the settings that the report of a network shows, by label."""
    stored = read_folder(str(DATA / name))
    stored = replace(stored, config=stored.config | changes)
    rows = described(stored, *network_of(stored))
    assert len({label for label, _ in rows}) == len(rows)
    return dict(rows)


def test_settings_show_what_was_read() -> None:
    assert settings("gpt2") == {
        "format": "Hugging Face GPT-2 (GPT2LMHeadModel)",
        "files": "config.json, model.safetensors",
        "tensors": "28, all used (28 float32)",
        "no part in evaluation": "attn_pdrop 0.1, embd_pdrop 0.1, resid_pdrop 0.1",
        "vocabulary": "token ids",
        "score scale": "1/sqrt(3)",
        "positions": "a table of 10",
        "unembedding": "the embedding",
    }


def test_settings_show_other_parts() -> None:
    assert settings("gpt2-labels")["unembedding"] == "its own"
    rms = settings("hooked-rms")
    assert rms["format"] == "TransformerLens"
    assert rms["masks"] == "4 buffers, verified"
    assert rms["score scale"] == "2/5"
    assert rms["unembedding"] == "its own, with a bias"
    assert "no part in evaluation" not in rms
    assert "masks" not in settings("bridge")
    assert settings("gpt2-bfloat16")["tensors"] == "28, all used (28 bfloat16)"
    assert settings("gpt2-bfloat16")["score scale"] == "1/sqrt(3); 1/2/sqrt(3)"
    assert settings("gpt2", architectures=None)["format"] == "Hugging Face GPT-2"
    assert "resid_pdrop" not in settings("gpt2", resid_pdrop=0)["no part in evaluation"]


def sources(name: str, **changes: object) -> dict[str, tuple[str, str]]:
    """Return the value and the source of each setting."""
    stored = read_folder(str(DATA / name))
    stored = replace(stored, config=stored.config | changes)
    network, form = network_of(stored)
    settings = *settings_of(stored, form), *readout_settings(network, readout_sources(stored, form))
    return {one.name: (one.value, one.source) for one in settings}


def test_settings_have_a_source() -> None:
    found = sources("gpt2", scale_attn_weights=None)
    assert found["activation_function"] == ("gelu_new", "config.json")
    assert found["layer_norm_epsilon"] == ("1e-05", "config.json")
    assert found["scale_attn_weights"] == ("true", "default of GPT2Config")
    assert found["tie_word_embeddings"] == ("true", "config.json")
    assert found["architectures"] == ("GPT2LMHeadModel", "config.json")
    assert found["decide"] == ("argmax", "default of the format")
    assert sources("gpt2", architectures=None)["architectures"] == (
        "GPT2LMHeadModel",
        "the weights: the names of tensors",
    )
    encoder = sources("torch-layer", embedding_scale="sqrt(d)")
    assert encoder["embedding_scale"] == ("sqrt(d) = sqrt(6)", "config.json")
    assert sources("torch-layer", embedding_scale="sqrt(9)")["embedding_scale"][0] == "sqrt(9) = 3"
    assert encoder["layer_norm_eps"] == ("1e-05", "default of PyTorch")
    assert encoder["norm"] == ("layer", "the weights: norms have biases")
    assert encoder["final_norm"] == ("none", "the weights: there is no tensor body.norm.weight")
    assert encoder["input"] == ("<s> *", "config.json")
    assert encoder["at"] == ("last", "default of the format")
    hooked = sources("hooked-rms", attention_dir=None)
    assert hooked["attention_dir"] == ("causal", "default of HookedTransformerConfig")


@pytest.mark.parametrize("name", STORED)
def test_every_setting_that_decides_is_there(name: str) -> None:
    """settings_of lists every setting that a reader used."""
    stored = read_folder(str(DATA / name))
    _, form = network_of(stored)
    found = {one.name for one in settings_of(stored, form)}
    if form.title.startswith(("Hugging Face", "TransformerLens")):  # lists for all networks, which have some of these
        return
    optional = {"final_norm_eps", "act_fn", "attn_only", "memory"}
    assert set(form.settings) - found <= optional


def test_what_is_stated_anew_has_another_source() -> None:
    given = read_input(str(DATA / "gpt2"))
    external = given.target(ModelOptions(at="last"))
    assert isinstance(external, External)
    found = {one.name: one for one in given.how_read(external, "last")[1]}
    assert (found["at"].value, found["at"].source) == ("last", "--at")
    assert found["decide"].source == "default of the format"
    assert found["n_head"].source == "config.json"
    assert [*found][-5:] == [*READOUT]


def test_settings_show_a_stored_vocabulary() -> None:
    stored = replace(read_folder(str(DATA / "gpt2")), vocabulary=tuple("abcde"))
    assert dict(described(stored, *network_of(stored)))["vocabulary"] == "5 names, stored"


def test_a_network_without_positions_is_described() -> None:
    stored = read_folder(str(DATA / "gpt2"))
    network, form = network_of(stored)
    assert dict(described(stored, replace(network, positions=()), form))["positions"] == "none"


def test_parameters_are_counted() -> None:
    # d = 6, V = 5, 10 positions, 7 hidden units. Each layer has two norms, c_attn, c_proj and two matrices of the MLP.
    # The unembedding is the embedding again. Random entries are not 0.
    layer = 4 * 6 + 6 * 18 + 18 + 6 * 6 + 6 + 6 * 7 + 7 + 7 * 6 + 6
    network, _ = network_of(read_folder(str(DATA / "gpt2")))
    assert network.parameters == network.weights == 2 * 5 * 6 + 10 * 6 + 2 * layer + 2 * 6
    assert replace(network, layers=network.layers * 3).parameters == network.parameters


def test_keys_of_a_group_of_heads_count_once() -> None:
    stored = read_folder(str(SHARED / "architectures" / "qwen2"))
    network, _ = network_of(stored)
    assert network.parameters == sum(map(np.count_nonzero, stored.tensors.values())) < network.weights


@pytest.mark.parametrize(("name", "explained"), [("kneedeep", True), ("torch_tutorial", False), ("bert_cls", False)])
def test_layers_without_heads_are_explained(name: str, explained: bool) -> None:
    """A layer of a decoder is two layers; the second adds the vector of cross attention on zeros."""
    stored = read_folder(str(SHARED / "architectures" / name))
    network, form = network_of(stored)
    assert [bool(layer.heads) for layer in network.layers] == ([True, False] * 2 if explained else [True] * 2)
    assert ("no heads" in dict(described(stored, network, form))) is explained


def test_marks_are_no_symbols_of_words() -> None:
    tokens = "<bos>", "a", "b", "</s>", "[PAD]", "EOS", "[", "<>"
    assert symbols_of(Readout(before=("<bos>",)), tokens) == ("a", "b", "[", "<>")
    assert symbols_of(Readout(padding="b", excluded=("[",)), tokens) == ("a", "<>")
    assert symbols_of(Readout(alphabet=("a", "[PAD]")), tokens) == ("a", "[PAD]")
    assert symbols_of(Readout(), ("<a>", "[b]")) == ("<a>", "[b]")
