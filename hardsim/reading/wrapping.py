"""Remove wrappers that training puts around a module from the names of tensors.

`DistributedDataParallel` saves `module.NAME`, `torch.compile` `_orig_mod.NAME`, a Lightning module whose attribute is
`model` saves `model.NAME`, and these nest. A wrapper does not change what is computed: its prefix is removed if every
tensor has it, with a note. If some tensors have the prefix of a wrapper and others do not, two state dicts were
mixed, and it is unknown which one is intended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

from hardsim.errors import InputError, enumerated
from hardsim.lazy_dataclass import dataclass

WRAPPERS = {
    "module": "DataParallel or DistributedDataParallel",
    "_orig_mod": "torch.compile",
    "_forward_module": "Lightning Fabric",
    "_fsdp_wrapped_module": "FullyShardedDataParallel",
    "_checkpoint_wrapped_module": "activation checkpointing",
}
"""Segments of names that wrappers add."""
INSIDE = tuple(name for name in WRAPPERS if name.startswith("_"))
"""Wrapper segments that are never the name of a network part; if only a part was wrapped, they stand inside a name."""
BODY = "transformer"
"""The name of a GPT-2's body beside its head. If there is no head beside it, it is no container."""
BODIES = {"biogpt": "biogpt", "gpt_neox": "gpt_neox", "gpt_neox_japanese": "gpt_neox_japanese"} | dict.fromkeys(
    (
        "opt", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "phi", "phi3", "stablelm", "olmo", "olmo2",
        "starcoder2", "cohere", "gemma3_text", "smollm3", "granite", "cohere2", "olmo3", "glm", "glm4", "nemotron",
        "arcee", "persimmon", "helium", "nanochat", "xglm", "ministral", "seed_oss", "ernie4_5", "exaone4",
    ),
    "model",
)  # fmt: skip
"""The names of the bodies of other families, by `model_type`."""


@dataclass(frozen=True)
class Unwrapped:
    """The name of each tensor after unwrapping, by its stored name, and notes."""

    names: Mapping[str, str]
    notes: tuple[str, ...] = ()


def unwrapped(stored: Iterable[str], named: Iterable[str], where: str, model_type: object = None) -> Unwrapped:
    """Remove the prefix that all tensor names share, if it belongs to a container, and wrappers of parts inside names.

    `named` are texts of the configuration: one that begins with the shared prefix names tensors as they are stored, so
    the prefix stays; so does that of the body of a family, which `model_type` names. Raises InputError if some names,
    not all, begin with a wrapper, or two tensors would get one name."""
    names, given_names = {name: name for name in stored}, set(named)
    spoken = {part for text in given_names for part in text.split(".") if part in INSIDE}
    spoken |= {
        text.split(".")[0] for text in given_names if text in names or any(one.startswith(f"{text}.") for one in names)
    }
    prefix = ""
    while first := _shared(names.values(), BODIES.get(str(model_type), BODY)):
        if first in spoken and not prefix:
            break
        prefix += f"{first}."
        names = {name: left.removeprefix(f"{first}.") for name, left in names.items()}
    _require_all(names, prefix, spoken, where)
    notes = [f"every tensor begins with {prefix} ({_kind(prefix)}): the prefix is removed"] if prefix else []
    if inner := sorted({part for left in names.values() for part in left.split(".") if part in INSIDE} - spoken):
        names = {name: ".".join(p for p in left.split(".") if p not in inner) for name, left in names.items()}
        made = "; ".join(f"{part}. ({WRAPPERS[part]})" for part in inner)
        notes.append(f"names of tensors are read without {made}")
    if len(set(names.values())) < len(names):
        left = list(names.values())
        twice = next(one for one in left if left.count(one) > 1)
        both = " and ".join(name for name, one in names.items() if one == twice)
        raise InputError(f"{where}: without their wrappers {both} have the same name", "Save a single state dict.")
    return Unwrapped(names, tuple(notes))


def _shared(names: Iterable[str], body: str) -> str:
    """Return the first segment of all names, without its dot, if they share it and it belongs to a container, which
    `body` does not; otherwise ""."""
    left = list(names)
    first = left[0].partition(".")[0] if left else ""
    if not first or not all(name.startswith(f"{first}.") and len(name) > len(first) + 1 for name in left):
        return ""
    inside = [name[len(first) + 1 :] for name in left]
    # In a GPT-2 whose head is its embedding, all tensors are in the body, so the body's name is no wrapper.
    whole = first == body and not any(name.startswith(f"{body}.") for name in inside)
    return "" if whole or inside[0].partition(".")[0].isdigit() else first


def _require_all(names: Mapping[str, str], prefix: str, spoken: set[str], where: str) -> None:
    """Raise an error if some names begin with a wrapper that other names lack."""
    for wrapper in WRAPPERS:
        some = [name for name, left in names.items() if left.startswith(f"{wrapper}.")]
        if some and wrapper not in spoken:
            other = next(name for name, left in names.items() if not left.startswith(f"{wrapper}."))
            message = (
                f"some tensors begin with {prefix}{wrapper}. ({WRAPPERS[wrapper]}), as {some[0]}, and others do not"
            )
            hint = "Save what model.state_dict() gives, of the unwrapped module; two state dicts seem to be mixed here."
            raise InputError(f"{where}: {message}, as {other}", hint)


def _kind(prefix: str) -> str:
    """Return the tool that put a prefix there."""
    known = [WRAPPERS[part] for part in prefix.split(".") if part in WRAPPERS]
    return " and ".join(dict.fromkeys(known)) or "an attribute that holds the network"


def state_dict_of(
    found: Mapping[Any, Any], tensor: type[Any], where: str, read: Collection[str] = ()
) -> tuple[Mapping[Any, Any], tuple[str, ...]]:
    """Return the state dict inside an object saved by a training loop or Lightning, with a note; return any other
    object unchanged. The note names the other members, but those that are `read` elsewhere.

    Such a file is a dict with one member that is a dict of tensors alone. It holds no tensor itself but single numbers,
    such as a loss. Raises InputError if several members are dicts of tensors."""

    def holds_tensors(value: object) -> bool:
        return isinstance(value, Mapping) and bool(value) and all(isinstance(one, tensor) for one in value.values())

    if any(isinstance(value, tensor) and tuple(value.shape) for value in found.values()):
        return found, ()
    inside = [key for key, value in found.items() if holds_tensors(value)]
    if not inside:
        return found, ()
    if len(inside) > 1:
        message = f"several state dicts are inside: {enumerated(map(repr, inside))}"
        raise InputError(f"{where}: {message}", "Save only the intended one: torch.save(checkpoint[NAME], FILE).")
    others = [key for key in found if key != inside[0] and key not in read]
    beside = f"; {enumerated(others)} beside it {'are' if len(others) > 1 else 'is'} not read" if others else ""
    return found[inside[0]], (f"the weights are {inside[0]!r} of a training checkpoint{beside}",)


def configuration_inside(found: Mapping[Any, Any], key: str) -> dict[str, Any]:
    """Return the configuration inside an object saved by a training loop: its member `key`, which must be a dict of
    names to numbers, texts, truth values or None, as JSON would hold it, and as the only member; empty if there is
    none."""
    given = found.get(key)
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        return {}
    if not all(
        one is None or isinstance(one, int | str) or (isinstance(one, float) and isfinite(one))
        for one in given.values()
    ):
        return {}
    plain = {name: Fraction(repr(one)) if isinstance(one, float) else one for name, one in given.items()}
    return {key: plain}
