"""Tests of training folders: a network beside the state of a run is read, and other folders are named by their
content."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest

import hardsim
from hardsim.reading.training import is_state
from hardsim.targets.paths import expand_paths
from tests.reading.folders import DATA
from tests.support.check import read_input
from tests.support.language import InputError
from tests.support.mistakes import raised

GPT2 = DATA / "gpt2"
STATE = ["optimizer.pt", "scheduler.pt", "rng_state.pth", "rng_state_0.pth", "scaler.pt", "training_args.bin"]
LORA = json.dumps({"peft_type": "LORA", "base_model_name_or_path": "gpt2"})

Fill = Callable[[Path], object]


def network(place: Path) -> Path:
    """Write a GPT-2 network to a folder."""
    return Path(copytree(GPT2, place, dirs_exist_ok=True))


def state(place: Path) -> None:
    """Write the files that a Trainer leaves beside a network."""
    place.mkdir(exist_ok=True)
    for name in STATE:
        (place / name).write_bytes(b"PK")
    (place / "trainer_state.json").write_text('{"log_history": []}')


def with_files(**files: str | bytes) -> Fill:
    """Write files; `__` in a name stands for a dot."""

    def fill(place: Path) -> None:
        for name, data in files.items():
            (place / name.replace("__", ".")).write_bytes(data if isinstance(data, bytes) else data.encode())

    return fill


def test_a_network_beside_the_state_of_its_training_is_read(tmp_path: Path) -> None:
    folder = network(tmp_path)
    state(folder)
    given = read_input(str(folder))
    plain = read_input(str(GPT2))
    assert given.sha256 == plain.sha256  # the state was not opened
    assert not given.remarked


@pytest.mark.parametrize("weights", ["model.safetensors", "pytorch_model.bin"])
def test_checkpoints_inside_are_named_in_order_of_their_steps(tmp_path: Path, weights: str) -> None:
    for step in (1000, 500, 20):
        inside = network(tmp_path / f"checkpoint-{step}")
        state(inside)
        (inside / "model.safetensors").rename(inside / weights)
    state(tmp_path)
    error = raised(InputError, expand_paths, [str(tmp_path)], match="the output folder of a training run")
    assert error.message.endswith("the networks are in checkpoint-20, checkpoint-500, checkpoint-1000")
    assert error.hint == f"Name one: {tmp_path / 'checkpoint-1000'}"


def test_a_network_at_the_top_of_a_training_run_is_read(tmp_path: Path) -> None:
    network(tmp_path / "checkpoint-5")
    assert read_input(str(network(tmp_path))).is_network


@pytest.mark.parametrize(
    ("fill", "message", "helps"),
    [
        (state, "a folder of a training run, without weights", "save_pretrained"),
        (
            with_files(adapter_config__json=LORA),
            r"an adapter \(PEFT, LORA\), .* its base model, gpt2",
            "merge_and_unload",
        ),
        (with_files(adapter_model__safetensors=b"x"), "an adapter", "Merge the adapter first"),
        (with_files(adapter_config__json='{"peft_type": "PREFIX_TUNING"}'), "PREFIX_TUNING", "cannot be merged"),
        (with_files(adapter_config__json="{"), "an adapter", "Merge the adapter first"),
        (with_files(tf_model__h5=b"\x89HDF\r\n\x1a\n1"), "tf_model.h5: this is weights in HDF5", "safetensors"),
        (with_files(flax_model__msgpack=b"\x81\xa1a"), "flax_model.msgpack", "safetensors"),
        (with_files(model__gguf=b"GGUF\x03"), "model.gguf: this is weights in GGUF", "safetensors"),
        (with_files(weights__npz=b"PK\x03\x04" + b"\0" * 26 + b"w.npy"), "weights.npz", "safetensors"),
        (with_files(weights__npy=b"\x93NUMPY\x01"), "weights.npy", "safetensors"),
        (with_files(weights__pkl=b"\x80\x04K\x01."), "weights.pkl: this is a pickle", "safetensors"),
        (with_files(zero_to_fp32__py="import torch"), "pieces of DeepSpeed", "zero_to_fp32.py"),
        (with_files(__0_0__distcp=b"x"), "pieces of FSDP", "merge-weights"),
    ],
)
@pytest.mark.parametrize("configured", [False, True])
def test_what_is_no_network_is_named(tmp_path: Path, fill: Fill, message: str, helps: str, configured: bool) -> None:
    """The error appears on the command line, in Python and in a specification, with or without a configuration file."""
    folder = tmp_path / "net"
    folder.mkdir()
    fill(folder)
    if configured:
        (folder / "config.json").write_text((GPT2 / "config.json").read_text())
    spec = tmp_path / "net.spec"
    spec.write_text("network: net\nalphabet: a b\nat: last\noutput 0: true\n")
    calls: list[Callable[[], object]] = [
        lambda: [read_input(one) for one in expand_paths([str(folder)])],
        lambda: hardsim.load(str(folder)),
        lambda: read_input(str(spec)),
    ]
    for call in calls:
        error = raised(InputError, call, match=message)
        assert helps in str(error)
        assert "docs/networks.md" in str(error)


def test_an_adapter_beside_a_network_is_not_left_out(tmp_path: Path) -> None:
    """transformers applies an adapter when it loads the folder, so the weights alone are another network."""
    folder = network(tmp_path)
    with_files(adapter_config__json=LORA)(folder)
    raised(InputError, read_input, str(folder), match="is beside the weights")
    raised(InputError, read_input, str(folder / "model.safetensors"), match="is beside the weights")


def test_weights_without_a_configuration_are_not_taken_for_missing(tmp_path: Path) -> None:
    state(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((GPT2 / "model.safetensors").read_bytes())
    assert "it has no config.json" in raised(InputError, expand_paths, [str(tmp_path)]).hint
    raised(InputError, read_input, str(tmp_path / "training_args.bin"), match="the state of a training run")


def test_a_folder_of_networks_names_them(tmp_path: Path) -> None:
    for name in ("one", "two"):
        network(tmp_path / "all" / name)
    error = raised(InputError, expand_paths, [str(tmp_path)], match="the networks are in all/one, all/two")
    assert error.hint == f"Name one: {tmp_path / 'all' / 'two'}"


def test_names_of_states() -> None:
    assert all(map(is_state, [*STATE, "optimizer_0.pt", "random_states_1.pkl", "trainer_state.json"]))
    assert not any(map(is_state, ["model.pt", "my_optimizer_net.pt", "pytorch_model.bin", "state.pth"]))
