"""Recognise folders of training runs that contain no readable network, and suggest what to do.

A Hugging Face Trainer writes optimizer states beside the weights, and each checkpoint into its own folder; DeepSpeed
and FSDP split the weights into pieces; PEFT saves only an adapter. Such folders look like networks, so "a file is
missing" would be the wrong explanation.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress

from hardsim.errors import InputError
from hardsim.files import is_directory, names_in, read_head
from hardsim.lang.unread_files import ENOUGH, unread_format_error
from hardsim.reading.unsupported import PAGE

STATE = re.compile(
    r"(optimizer|scheduler|scaler|rng_state|training_args|random_states)(_?\d+)*\.(pt|pth|bin|pkl)|trainer_state\.json"
)
"""Names of files with the state of a training run, which contain no network."""
SHARDS = "pytorch_model.bin.index.json"
ADAPTER, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model."
MERGED = frozenset({"LORA", "ADALORA", "LOHA", "LOKR", "OFT", "BOFT", "IA3", "VERA"})
"""Kinds of adapters that can be merged into the weights of their base model."""
MOST_LOOKED_AT = 100
"""The greatest number of entries of one folder, and of folders of one level, to inspect."""
MOST_NAMED = 4
DEEPEST = 2
"""The number of folder levels to search for networks."""
ENDINGS = (".h5", ".msgpack", ".gguf", ".npz", ".npy", ".pkl", ".pickle", ".joblib", ".onnx", ".pb", ".index", ".keras")
"""Endings of the names of weight files that are not supported."""


def is_state(name: str) -> bool:
    """Return True if a file of this name holds the state of a training run, and no network."""
    return STATE.fullmatch(name) is not None


def adapter_error(path: str, folder: str, names: Iterable[str], whole: bool) -> InputError | None:
    """Return the error for a folder with an adapter; None if there is no adapter.

    Args:
        path: the name of the folder in the error.
        folder: the folder.
        names: the names of the files in it.
        whole: True if it also contains the weights of a network. transformers adds the adapter when it loads such a
            folder, so the weights alone are a different network.
    """
    found = sorted(name for name in names if name == ADAPTER or name.startswith(ADAPTER_WEIGHTS))
    if not found:
        return None
    stated = _object(os.path.join(folder, ADAPTER)) if ADAPTER in found else {}
    kind, base = stated.get("peft_type", "LORA"), stated.get("base_model_name_or_path")
    if whole:
        message = f"{path}: an adapter (PEFT, {kind}) is beside the weights, and loading the folder adds it to them"
    else:
        message = f"{path}: this is an adapter (PEFT, {kind}), which holds only the changes to its base model"
        message += f", {base}" if isinstance(base, str) and base else ""
    if kind not in MERGED:
        hint = "Adapters of this kind cannot be merged into weights: name a whole network without one."
        return InputError(message, f"{hint} See {PAGE}.")
    merged = "PeftModel.from_pretrained(base, DIR).merge_and_unload().save_pretrained(OUT)"
    return InputError(message, f"Merge the adapter first, in Python: {merged}. Then name OUT. See {PAGE}.")


def folder_error(path: str, networks: Iterable[str], weights: bool) -> InputError | None:
    """Return the error for a folder without a readable network, if its content is recognised; otherwise None.

    Args:
        path: the folder.
        networks: folders inside it that contain a network.
        weights: True if it contains supported weights; then only a configuration is missing.
    """
    names = set(names_in(path))
    if (adapter := adapter_error(path, path, names, False)) is not None:
        return adapter
    state = sorted(name for name in names if is_state(name))
    inside = sorted(networks, key=_numbered)
    if inside:
        run = (
            "the output folder of a training run" if state or any(map(_is_checkpoint, inside)) else "no network itself"
        )
        shown = ", ".join(os.path.relpath(one, path) for one in inside[-MOST_NAMED:])
        message = f"{path}: this is {run}: the network{'s are' if len(inside) > 1 else ' is'} in {shown}"
        return InputError(message + " and others" * (len(inside) > MOST_NAMED), f"Name one: {inside[-1]}")
    if pieces := _pieces(names):
        return InputError(f"{path}: {pieces[0]}", f"{pieces[1]} See {PAGE}.")
    if weights:
        return None
    for name in sorted(name for name in names if name.lower().endswith(ENDINGS) and not is_state(name)):
        place = os.path.join(path, name)
        found = None if is_directory(place) else unread_format_error(place, place, read_head(place, ENOUGH))
        if found is not None:
            return found
    if state:
        message = f"{path}: this is a folder of a training run, without weights: {', '.join(state[:MOST_NAMED])}"
        hint = f"Save the network with trainer.save_model(DIR) or model.save_pretrained(DIR), and name DIR. See {PAGE}."
        return InputError(f"{message} hold the state of the run", hint)
    return None


def _pieces(names: set[str]) -> tuple[str, str] | None:
    """Return the message about weights in several pieces, and a hint; None if no such pieces are recognised."""
    if "zero_to_fp32.py" in names or any(name.startswith("global_step") for name in names):
        return "the weights are pieces of DeepSpeed", "Join them: python zero_to_fp32.py . OUT."
    if any(name.endswith(".distcp") or name.startswith("pytorch_model_fsdp") for name in names):
        return "the weights are pieces of FSDP", "Join them: accelerate merge-weights DIR OUT."
    return None


def networks_inside(path: str, holds: Callable[[str], bool]) -> list[str]:
    """Return the folders 1 to DEEPEST levels below a folder that hold a network. At most MOST_LOOKED_AT folders of
    a level are searched."""
    found, level = list[str](), [path]
    for _ in range(DEEPEST):
        below = [os.path.join(one, name) for one in level for name in sorted(_names(one))[:MOST_LOOKED_AT]]
        level = [one for one in below if is_directory(one)][:MOST_LOOKED_AT]
        with suppress(InputError):  # skip folders that cannot be opened
            found += [one for one in level if holds(one)]
    return found


def _names(path: str) -> list[str]:
    try:
        return names_in(path)
    except InputError:
        return []


def _is_checkpoint(path: str) -> bool:
    return re.fullmatch(r"checkpoint-\d+", os.path.basename(path)) is not None


def _numbered(path: str) -> tuple[str, int]:
    """Return a sort key that orders checkpoints by their steps."""
    name, _, number = path.rpartition("-")
    return (name, int(number)) if number.isdigit() and len(number) < 20 else (path, 0)


def _object(path: str) -> dict[str, object]:
    """Return the JSON object in a file; empty if there is none."""
    try:
        found = json.loads(read_head(path, ENOUGH) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
