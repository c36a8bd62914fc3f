"""The stored data of an external network before it is interpreted: tensors, a configuration, a vocabulary.

A folder contains a configuration (`config.json`, or Tracr's `meta.json`) beside weights: safetensors, whole or in
parts with an index (https://github.com/huggingface/safetensors), or a PyTorch state dict, the only case that needs
torch. The use of both is tracked: `Tensors.done` and `Settings.done` raise an error for anything that no reader used,
so that no part of a network is ignored silently. Numbers are exact: weights keep their stored dtype, and decimals of
the configuration are Fractions.
"""

from __future__ import annotations

import os
import re
import struct
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from io import BytesIO
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, did_you_mean, enumerated
from hardsim.files import LARGEST_FILE, is_directory, names_in, read_bytes
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Dense, RootScale, parse_scale
from hardsim.network.reader import Reader, exact_number, read_json, shown
from hardsim.reading.meta_pickle import META, names_of_meta
from hardsim.reading.readout import require_tokens
from hardsim.reading.tokenizer import (
    LINES,
    TOKENIZER,
    UNNAMED,
    VOCABULARY,
    Tokenizer,
    names_by_id,
    names_by_line,
    read_tokenizer,
)
from hardsim.reading.training import (
    ADAPTER_WEIGHTS,
    SHARDS,
    adapter_error,
    folder_error,
    is_state,
    networks_inside,
)
from hardsim.reading.unsupported import PAGE, unsupported_network
from hardsim.reading.wrapping import configuration_inside, state_dict_of, unwrapped

T = TypeVar("T")

LARGEST_WEIGHTS = 2 * 2**30
"""The greatest number of bytes of weights for one network; as float64 they take up to eight times as much memory."""
CONFIGS = "config.json", "meta.json", "model_args.json"
"""Names of configuration files; the first one that exists is read."""
CHECKPOINT = "ckpt.pt"
"""The name of nanoGPT's checkpoints, whose configuration is inside, as the entry INSIDE."""
INSIDE = "model_args"
WHOLE, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
SAFE, PICKLED = (".safetensors",), (".pt", ".pth", ".bin", ".ckpt")
"""Endings of the names of weight files."""
LARGEST_NUMBER = 10**300
"""The largest absolute value of a number in a configuration: libraries compute with floats."""
NAMING = VOCABULARY, TOKENIZER, LINES, META
"""Names of the files that name tokens."""
LARGEST_SIZE = 2 * 10**7
"""The largest size in a configuration: weights of a larger network would not be read."""
SAVE_AGAIN = "Save it again: it was cut short or changed, or it is something else."
LFS_POINTER = b"version https://git-lfs"
"""The first bytes of the text file that Git LFS leaves in the place of a file that was not fetched."""
COUNTS = ("n_layer", "num_hidden_layers", "n_layers", "num_layers")
"""The settings with the number of layers, by their names in configurations."""
DEFAULT_EPSILON = Fraction(1, 100_000)
"""The default epsilon of LayerNorm, which is added to a variance, in all of these libraries."""
NARROW = "bfloat16", "float8_e4m3fn", "float8_e5m2"
"""Dtypes of real numbers that numpy lacks."""
OTHERS = "Weights and configuration are of different networks."
FORMATS = "Convert the weights to float64, float32, float16 or bfloat16, and save them again."


@dataclass(frozen=True)
class Stored:
    """The stored data of a network."""

    name: str
    """The folder, or the file of weights, as the user named it."""
    tensors: dict[str, NDArray[Any]]
    """The tensors by name in their stored dtypes; those that numpy lacks (bfloat16, float8) are those of ml_dtypes."""
    config: dict[str, Any]
    """The JSON of the configuration: integers are int, other numbers Fractions."""
    config_name: str = CONFIGS[0]
    vocabulary: tuple[str, ...] | None = None
    """The names of tokens by id, if a vocabulary is stored."""
    sha256: str = ""
    """The SHA-256 of the names and contents of all files that were read, in hexadecimal digits."""
    files: tuple[str, ...] = ()
    """The names, inside the folder, of all files that were read."""
    notes: tuple[str, ...] = ()
    """Notes on changes to the names of tensors before a reader sees them, and on what of a tokenizer is not used."""
    tokenizer: Tokenizer | None = None
    """The tokenizer that names the tokens, if there is one."""
    config_source: str = ""
    """Where the configuration was found, if it was in no file of its own."""

    @cached_property
    def settings(self) -> Settings:
        """The configuration as a Settings object. It is always the same object, so that it records which settings its
        reader used."""
        hint = "Correct the configuration, or save the network again."
        source = self.config_source or self.config_name
        return Settings(Reader(self.config, f"{self.name}: {source}", advice=hint), source)

    @property
    def weights(self) -> Tensors:
        """The tensors as a new Tensors object, which records which of them a reader takes."""
        return Tensors(self)

    def tokens(self, count: int) -> tuple[str, ...]:
        """Return the names of `count` tokens: from the vocabulary if there is one, otherwise their ids. Ids beyond
        those of a tokenizer are called `<unused_ID>`: libraries round the number of rows up. Raises InputError if the
        vocabulary has another size, or a name that cannot be written in a word."""
        found = self.vocabulary
        if found is None:
            return tuple(map(str, range(count)))
        if self.tokenizer is not None:
            found = (*found, *map(UNNAMED.format, range(len(found), count)))
        remove = (
            f"remove {', '.join(name for name in self.files if name in NAMING)}: then tokens are called by their ids"
        )
        if len(found) != count:
            message = f"the vocabulary names {len(found)} tokens, and the network has {count}"
            raise InputError(f"{self.name}: {message}", f"Name every token, or {remove}.")
        hint = f"Rename it, or {remove}."
        require_tokens(found, count, lambda message, _: InputError(f"{self.name}: {message}", hint))
        return found


# ---- the files ----


def is_network_folder(path: str) -> bool:
    """Return True if the path is a folder with a configuration beside weights."""
    names = set(names_in(path)) if is_directory(path) else set()
    weights = INDEX in names or SHARDS in names or any(map(_holds_network, names))
    return CHECKPOINT in names or (weights and bool(names.intersection(CONFIGS)))


def is_weights_name(name: str) -> bool:
    """Return True if a file of this name holds weights."""
    return name.lower().endswith((*SAFE, *PICKLED))


def _holds_network(name: str) -> bool:
    """Return True if a file name in a folder is that of network weights; the state of a training run does not count."""
    return is_weights_name(name) and not is_state(name)


def unread_folder(path: str) -> InputError | None:
    """Return the error for a folder without a readable network, which says what the folder contains; None if that is
    not known."""
    weights = any(map(_holds_network, names_in(path)))
    return folder_error(path, networks_inside(path, is_network_folder), weights)


def parts_of(path: str) -> list[str]:
    """Return the files that may be read for a network: those of a folder, or of the folder around a file of weights."""
    folder = path if is_directory(path) else os.path.dirname(path)
    known = {*CONFIGS, INDEX, SHARDS, *NAMING}
    return [os.path.join(folder, name) for name in names_in(folder or ".") if name in known or is_weights_name(name)]


def read_folder(path: str) -> Stored:
    """Read the stored data of one network from a folder, or from the folder around a file of weights. Raises InputError
    if files are missing, ambiguous, too large, unreadable or damaged; or if torch is needed and not installed."""
    folder = path if is_directory(path) else os.path.dirname(path)
    digest = _Digest(folder)
    if folder != path:
        if not is_weights_name(path):
            known = ", ".join((*SAFE, *PICKLED))
            hint = f"Name a folder with config.json beside weights, or the file of weights ({known})."
            raise InputError(f"{path}: neither a folder nor a file of weights", hint)
        # Reading it raises the usual error for a missing file.
        if not os.path.isfile(path):
            read_bytes(path)
        if is_state(os.path.basename(path)):
            hint = f"Name the folder, if it holds the weights too: {PAGE}."
            raise InputError(f"{path}: this is the state of a training run, not a network", hint)
    names = set(names_in(folder or "."))
    weights = os.path.basename(path) if folder != path else _weights_of(path, names)
    whole = any(_holds_network(name) and not name.startswith(ADAPTER_WEIGHTS) for name in names)
    if (adapter := adapter_error(path, folder, names, whole)) is not None:
        raise adapter
    config_name = next((name for name in CONFIGS if name in names), "")
    beside = digest.read_json(config_name) if config_name else None
    tensors, inside, notes = _read_weights(digest, weights)
    config = beside if beside is not None else inside
    if beside is None and not inside:
        if (unsupported := unsupported_network(path, tensors)) is not None:
            raise unsupported
        hint = f"A state dict does not say what network it belongs to: put the configuration beside it. See {PAGE}."
        raise InputError(f"{path}: no {CONFIGS[0]} beside {weights}", hint)
    texts = (value for value in config.values() if isinstance(value, str))
    found = unwrapped(tensors, texts, path, config.get("model_type"))
    tensors = {found.names[name]: array for name, array in tensors.items()}
    vocabulary, tokenizer, unused = _vocabulary(digest, names)
    message = (*(f"{weights}: {note}" for note in (*notes, *found.notes)), *unused)
    files = tuple(digest.names)
    name, source = config_name or CONFIGS[-1], f"{INSIDE} in {weights}" if beside is None else ""
    return Stored(path, tensors, config, name, vocabulary, digest.hexdigest(), files, message, tokenizer, source)


def _weights_of(path: str, names: set[str]) -> str:
    """Return the name of the weight file, or the index, in a folder."""
    for name in (WHOLE, INDEX, SHARDS):
        if name in names:
            return name
    for endings in (SAFE, (PICKLE,), PICKLED):
        found = sorted(name for name in names if name.lower().endswith(endings) and _holds_network(name))
        if len(found) > 1:
            message = f"{path}: there are several files of weights: {enumerated(found)}"
            raise InputError(message, "Name one of the files.")
        if found:
            return found[0]
    if (unread := unread_folder(path)) is not None:
        raise unread
    hint = f"Put {WHOLE} (or a state dict, .pt) beside the configuration. See {PAGE}."
    raise InputError(f"{path}: the folder has no weights", hint)


class _Digest:
    """Reads the files of a folder, and records their names and checksum."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.names: list[str] = []
        self._sum = sha256()
        self._left = LARGEST_WEIGHTS

    def read(self, name: str, limit: int) -> bytes:
        """Return the bytes of a file, which may have at most `limit` bytes, and record it."""
        data = read_bytes(self.path(name), limit)
        self.names.append(name)
        # Lengths come first, so that no two lists of files give the same bytes.
        self._sum.update(f"{len(name.encode())} {name} {len(data)} ".encode())
        self._sum.update(data)
        return data

    def read_weights(self, name: str) -> bytes:
        """Return the bytes of a file of weights. The total size of all of them is limited."""
        data = self.read(name, self._left)
        self._left -= len(data)
        return data

    def read_json(self, name: str) -> dict[str, Any]:
        """Return the JSON object in a file."""
        return json_object(self.read(name, LARGEST_FILE), self.path(name))

    def path(self, name: str) -> str:
        """Return the name of a file in errors."""
        return os.path.join(self.folder, name)

    def hexdigest(self) -> str:
        """Return the SHA-256 of everything that was read, names included, in hexadecimal digits."""
        return self._sum.hexdigest()


def json_object(data: bytes, name: str) -> dict[str, Any]:
    """Parse a JSON object: integers are int, other numbers Fractions.

    Raises:
        InputError: if the text is not a JSON object, a key occurs twice, or a number is invalid or has too many digits.
    """
    return read_json(data, name, "Correct it, or save it again.", settings=True).object()


# ---- weights ----


def _read_weights(digest: _Digest, name: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any], tuple[str, ...]]:
    """Return the tensors by name, the configuration inside the file (empty if there is none), and notes."""
    if name in (INDEX, SHARDS):
        return _read_parts(digest, name), {}, ()
    data, where = digest.read_weights(name), digest.path(name)
    _require_fetched(data, where)
    whole = name.lower().endswith(SAFE)
    tensors, inside, notes = (_safetensors(data, where), {}, ()) if whole else _state_dict(data, where)
    if not tensors:
        raise InputError(f"{where}: holds no tensors", SAVE_AGAIN)
    return tensors, inside, notes


def _read_parts(digest: _Digest, index: str) -> dict[str, NDArray[Any]]:
    """Read weights in several files, with an index that gives the file of each tensor."""
    where, listed = digest.path(index), digest.read_json(index).get("weight_map")
    safe = index == INDEX
    kind, endings = ("safetensors file", SAFE) if safe else ("PyTorch file", PICKLED)
    if not isinstance(listed, dict) or not listed or not all(isinstance(part, str) for part in listed.values()):
        raise InputError(f"{where}: weight_map with the file of each tensor is missing", SAVE_AGAIN)
    found: dict[str, NDArray[Any]] = {}
    for part in sorted(set(listed.values())):
        if os.path.basename(part) != part or not part.lower().endswith(endings):
            raise InputError(f"{where}: {part!r} is not a {kind} of this folder", SAVE_AGAIN)
        data, place = digest.read_weights(part), digest.path(part)
        _require_fetched(data, place)
        tensors = _safetensors(data, place) if safe else _state_dict(data, place)[0]
        expected = {name for name, file in listed.items() if file == part}
        if wrong := sorted(expected ^ tensors.keys()):
            message = "is not there" if wrong[0] in expected else f"is not listed in {index}"
            raise InputError(f"{digest.path(part)}: the tensor {wrong[0]!r} {message}", "Save the network again.")
        found |= tensors
    return found


def _require_fetched(data: bytes, where: str) -> None:
    """Raise InputError if a file is the pointer that Git LFS leaves in the place of the weights."""
    if data.startswith(LFS_POINTER):
        raise InputError(f"{where}: a Git LFS pointer in the place of the weights", "Fetch the weights: git lfs pull")


def _dtypes() -> dict[str, Any]:
    import ml_dtypes

    narrow = {"BF16": ml_dtypes.bfloat16, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2}
    integers = {f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)}
    return {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": np.uint8, **integers, **narrow}


def _numbered(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names by the numbers inside: h.2 comes before h.10."""
    parts = re.split(r"([0-9]+)", name)
    return [(len(part.lstrip("0")) if place % 2 else 0, part) for place, part in enumerate(parts)]


def _safetensors(data: bytes, where: str) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError, deserialize

    try:
        found = deserialize(data)  # type: ignore[no-untyped-call]  # the library has no types
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{where}: no valid safetensors file ({str(error)[:200]})", SAVE_AGAIN) from None
    # `deserialize` accepts a key that occurs twice, so the header is parsed again.
    length = struct.unpack("<Q", data[:8])[0]
    read_json(data[8 : 8 + length], where, SAVE_AGAIN, settings=True)
    dtypes, tensors = _dtypes(), {}
    # The library's order differs from run to run, and messages list names.
    for name, tensor in sorted(found, key=lambda one: _numbered(one[0])):
        if tensor["dtype"] not in dtypes:
            raise InputError(f"{where}: the tensor {name!r} is stored as {tensor['dtype']}", FORMATS)
        flat = np.frombuffer(tensor["data"], dtype=dtypes[tensor["dtype"]])
        try:
            array = flat.reshape(tensor["shape"])
        except ValueError as error:  # more axes, or longer ones, than an array has
            message = f"{where}: the tensor {name!r} has a shape that is not supported ({error})"
            raise InputError(message, SAVE_AGAIN) from None
        tensors[name] = array != 0 if tensor["dtype"] == "BOOL" else array
    return tensors


def _state_dict(data: bytes, where: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any], tuple[str, ...]]:
    try:
        import torch
    except ImportError:
        hint = "Install torch, or write the weights with safetensors.torch.save_model(model, 'model.safetensors')."
        raise InputError(f"{where}: a PyTorch file, and torch is not installed", hint) from None
    save = "Save what model.state_dict() gives, with torch.save or safetensors.torch.save_file."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as warnings of other protocols: only the error below is shown
            # With weights_only, a pickle cannot run code.
            found = torch.load(BytesIO(data), weights_only=True, map_location="cpu")
    except Exception as error:  # torch raises many types; all mean that the file is not readable
        reason = str(error).strip().split("\n")[0][:200] or type(error).__name__
        raise InputError(f"{where}: not a file of tensors alone ({reason})", save) from None
    if not isinstance(found, Mapping):
        raise InputError(f"{where}: holds {type(found).__name__}, not a state dict", save)
    inside = configuration_inside(found, INSIDE)
    found, notes = state_dict_of(found, torch.Tensor, where, (INSIDE,) if inside else ())
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise InputError(f"{where}: {name!r} is not a tensor, so this is not a state dict", save)
    return {name: _from_torch(value, name, where) for name, value in found.items()}, inside, notes


def _from_torch(tensor: Any, name: str, where: str) -> NDArray[Any]:
    import ml_dtypes
    import torch

    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        raise InputError(f"{where}: the tensor {name!r} is sparse, quantised or without numbers", FORMATS)
    narrow: dict[Any, tuple[Any, Any]] = {
        torch.bfloat16: (torch.int16, ml_dtypes.bfloat16),
        torch.float8_e4m3fn: (torch.uint8, ml_dtypes.float8_e4m3fn),
        torch.float8_e5m2: (torch.uint8, ml_dtypes.float8_e5m2),
    }
    plain = tensor.detach().contiguous()
    if plain.dtype in narrow:
        bits, dtype = narrow[plain.dtype]
        return np.asarray(plain.view(bits).numpy()).view(dtype)
    try:
        return np.asarray(plain.numpy())
    except (TypeError, RuntimeError):
        raise InputError(f"{where}: the tensor {name!r} is stored as {plain.dtype}", FORMATS) from None


# ---- vocabularies ----


def _vocabulary(digest: _Digest, names: set[str]) -> tuple[tuple[str, ...] | None, Tokenizer | None, tuple[str, ...]]:
    """Return the names of tokens that are stored beside the weights (None if there are none), the tokenizer, and notes
    on what of it is not used."""
    ids = digest.read_json(VOCABULARY) if VOCABULARY in names else None
    listed = None if ids is None else names_by_id(ids, digest.path(VOCABULARY))
    if TOKENIZER in names:
        where = digest.path(TOKENIZER)
        # Read without the digest: a tokenizer that names no tokens is no part of the network.
        text = read_bytes(where)
        found = read_tokenizer(json_object(text, where), text, where)
        if isinstance(found, Tokenizer):
            digest.read(TOKENIZER, LARGEST_FILE)
            if listed is not None and found.names[: len(listed)] != listed:
                message = f"{where}: names other tokens than {VOCABULARY} beside it"
                raise InputError(message, "Remove the one that is wrong.")
            return found.names, found, tuple(f"{TOKENIZER}: {note}" for note in found.notes)
        return listed, None, (f"{TOKENIZER} is not used: {found}",)
    # Without the file that says so it is not known which tokens a tokenizer puts around a text.
    unread = tuple(
        f"{name} is not read: write the tokens around words, such as input: [CLS] * [SEP], in a specification"
        for name in ("tokenizer_config.json",)
        if name in names
    )
    if listed is None and META in names and LINES not in names:
        listed, notes = names_of_meta(digest.read(META, LARGEST_FILE), digest.path(META))
        return listed, None, (*unread, *(f"{META}: {note}" for note in notes))
    if listed is None and LINES in names:
        return names_by_line(digest.read(LINES, LARGEST_FILE), digest.path(LINES)), None, unread
    return listed, None, unread


# ---- tensors and settings, with their use tracked ----


class Tensors:
    """Tensors by name, each of which a reader must use.

    A shape is given by its sizes, with None for any size. A tensor that is taken is an exact float64 array.
    """

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._used: set[str] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tensors, in the order of the file."""
        return tuple(self._stored.tensors)

    def has(self, name: str) -> bool:
        """Return True if there is a tensor of this name."""
        return name in self._stored.tensors

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor, without counting the tensor as used. Raises InputError if there is no tensor of
        this name."""
        return self._found(name, used=False).shape

    def take(self, name: str, *shape: int | None, why: str = "") -> Dense:
        """Return a tensor of real numbers as float64. `why` explains the expected shape in errors. Raises InputError if
        there is no tensor of this name, its shape is wrong, its dtype is not one of real numbers, or an entry is not
        finite."""
        found = self._found(name)
        if len(found.shape) != len(shape) or any(w not in (None, h) for w, h in zip(shape, found.shape, strict=True)):
            message = f"the tensor {name} has the shape {_shape(found.shape)}, not {_shape(shape)}"
            raise self.error(message + (f" ({why})" if why else ""), OTHERS)
        # Numbers wider than float64 would be rounded.
        if (found.dtype.kind != "f" or found.dtype.itemsize > 8) and found.dtype.name not in NARROW:
            reason = f"the tensor {name} is stored as {found.dtype.name}, which is no dtype of weights"
            raise self.error(reason, FORMATS)
        if any(expected is None and not size for expected, size in zip(shape, found.shape, strict=True)):
            raise self.error(f"the tensor {name} has the shape {_shape(found.shape)}: it holds nothing", SAVE_AGAIN)
        exact = np.ascontiguousarray(found, dtype=np.float64).reshape(found.shape)
        if not np.isfinite(exact).all():
            place = tuple(int(index) for index in np.argwhere(~np.isfinite(exact))[0])
            message = f"the tensor {name} holds {exact[place]} at {_shape(place)}"
            raise self.error(message, "Weights must be numbers: the training of this network went wrong, or the file.")
        return exact

    def maybe(self, name: str, *shape: int | None, why: str = "") -> Dense | None:
        """Return a tensor as `take` does; None if there is no tensor of this name."""
        return self.take(name, *shape, why=why) if self.has(name) else None

    def check_mask(self, name: str, size: int, causal: bool = True, window: int | None = None) -> None:
        """Raise InputError unless a buffer, if it exists, is the mask of `size` positions: 1 where the key is no
        later than the query (not `causal`: everywhere) and, with a window, less than that many positions away; 0
        elsewhere.

        Leading axes of length 1 are allowed. A buffer without entries is made anew when the network runs, and is
        accepted.
        """
        if not self.has(name):
            return
        found = self._found(name)
        if not found.size:
            return
        square = found.shape[-2:] == (size, size) and found.size == size**2
        if not square or not np.array_equal(self._buffer(name).reshape(size, size), _mask(size, causal, window)):
            kind = ("causal" if causal else "full") + ("" if window is None else f" window-{window}")
            message = f"the buffer {name} is not the {kind} mask of {size} positions"
            hint = "Other masks are not supported. If the buffer is not used, save the network without it."
            raise self.error(message, hint)

    def check_filler(self, name: str) -> None:
        """Raise InputError unless a buffer, if it exists, is one number of at most -10^4, which hides the scores that
        it is added to or replaces."""
        if self.has(name) and not (self._found(name).size == 1 and self._buffer(name).item() <= -1e4):
            raise self.error(f"the buffer {name} is not one number of at most -10000", "Save the network without it.")

    def check_numbers(self, name: str, what: str, *expected: Sequence[float]) -> None:
        """Raise InputError unless a buffer, if it exists, holds one of these sequences of numbers, up to rounding to
        its dtype. `what` names them in the error."""
        if not self.has(name):
            return
        found = self._buffer(name)
        # A table in 16 bits may hold rounded results of rounded steps.
        near = 1e-5 if self._found(name).dtype.itemsize > 2 else 2.0**-6
        if not any(found.shape == (len(one),) and np.allclose(found, one, rtol=near, atol=0) for one in expected):
            message = f"the buffer {name} does not hold the {what} that the configuration gives"
            raise self.error(message, "If the buffer is not used, save the network without it.")

    def check_table(self, name: str, what: str, expected: Dense) -> None:
        """Raise InputError unless a buffer, if it exists, holds a table of numbers of at most 1, up to rounded steps in
        its dtype. `what` names the table in the error."""
        if self.has(name):
            found, near = self._buffer(name), 1e-3 if self._found(name).dtype.itemsize > 2 else 2.0**-5
            if found.shape != expected.shape or np.abs(found - expected).max() > near:
                message = f"the buffer {name} does not hold the {what} that the configuration gives"
                raise self.error(message, "If the buffer is not used, save the network without it.")

    def done(self) -> None:
        """Raise InputError that names every tensor that was not used, if there are any."""
        if left := [name for name in self.names if name not in self._used]:
            message = (
                f"{'tensors that are' if len(left) > 1 else 'a tensor that is'} not understood: {enumerated(left)}"
            )
            raise self.error(message, "The network computes something unsupported: no tensor is ignored silently.")

    def error(self, message: str, hint: str) -> InputError:
        """Return an error about this network."""
        return InputError(f"{self._stored.name}: {message}", hint)

    def _buffer(self, name: str) -> Dense:
        """Return a tensor that is no weight, as float64."""
        found = self._found(name)
        if found.dtype.kind == "c":
            raise self.error(f"the buffer {name} is stored as {found.dtype.name}", "Save the network without it.")
        return found.astype(np.float64)

    def _found(self, name: str, used: bool = True) -> NDArray[Any]:
        if not self.has(name):
            hint = did_you_mean(name, self.names) or OTHERS
            if (lacking := self._fewer_layers(name)) is not None:
                raise self.error(lacking, OTHERS)
            raise self.error(f"the tensor {name} is missing", hint)
        if used:
            self._used.add(name)
        return self._stored.tensors[name]

    def _fewer_layers(self, name: str) -> str | None:
        """Return the reason if a tensor is missing because the configuration states more layers than have tensors."""
        numbered = re.fullmatch(r"(.*?)([0-9]+)\..*", name)
        if numbered is None:
            return None
        start, layer = numbered[1], int(numbered[2])
        inside = re.compile(rf"{re.escape(start)}([0-9]+)\.")
        found = {int(one[1]) for other in self.names if (one := inside.match(other))}
        if not layer or found != set(range(layer)):
            return None
        for key in COUNTS:
            count = self._stored.config.get(key)
            if isinstance(count, int) and count > layer:
                have = f"{layer} layer" + "s" * (layer > 1)
                return f"{key} is {count}, and the weights have {have}: the tensor {name} is missing"
        return None


def _mask(size: int, causal: bool, window: int | None) -> Dense:
    """Return the mask of `check_mask`."""
    mask = np.tri(size, k=0 if causal else size)
    return mask if window is None else mask - np.tri(size, k=-window)


def _shape(sizes: tuple[int | None, ...]) -> str:
    return f"[{', '.join('any' if size is None else str(size) for size in sizes)}]"


@dataclass(frozen=True, slots=True)
class TakenSetting:
    """A setting that a reader used, with its source."""

    name: str
    value: str
    """The value as it is printed."""
    source: str
    """The source of the value: a file, the default of a library, the weights, or an option."""


@dataclass
class Settings:
    """The settings of a configuration, each of which a reader must understand. A null setting counts as absent, and a
    setting without a default is required. Used settings are recorded with their sources, for `show`."""

    document: Reader
    source: str = CONFIGS[0]
    """The file that states them."""
    library: str = "hardsim"
    """The library or format whose defaults replace absent settings."""
    examples: Mapping[str, str] = field(default_factory=dict)
    """A hint for each setting that must be stated: what to write."""
    used: set[str] = field(default_factory=set)
    taken: dict[str, TakenSetting] = field(default_factory=dict)
    """The settings that the reader used, by name."""
    remarks: list[str] = field(default_factory=list)
    """The reader's remarks, to be printed as notes."""

    def part(self, key: str) -> Settings:
        """Return an object inside the configuration; its used settings are recorded here."""
        place = self.at(key)
        place.object()
        return Settings(place, self.source, self.library, taken=self.taken)

    def take(self, key: str, value: Any, source: str | None = None) -> None:
        """Record a used setting: by default its source is the file, or the library where the file is silent."""
        written = value if isinstance(value, str) else shown(value)
        message = self.source if self.has(key) else f"default of {self.library}"
        self.taken[key] = TakenSetting(key, written, source or message)

    def has(self, key: str) -> bool:
        """Return True if a setting is present and not null."""
        return self.document.has(key)

    def at(self, key: str) -> Reader:
        """Return the place of a setting, present or not, which is then used."""
        self.used.add(key)
        place = self.document.at(key)
        return replace(place, advice=self.examples.get(key, place.advice))

    def value(self, key: str) -> Any:
        """Return the value of a setting, whatever its type; None if it is absent."""
        self.used.add(key)
        return self.document.value.get(key)

    def integer(self, key: str, default: int | None = None, least: int = 1) -> int:
        """Return an integer from `least` to LARGEST_SIZE, both included."""
        return self._taken(key, default).integer(least, LARGEST_SIZE)

    def number(self, key: str, default: Fraction | None = None) -> Fraction:
        """Return a number, exactly as it is written; its size must be that of a float64."""
        found = Fraction(self._taken(key, default).number())
        if abs(found) > LARGEST_NUMBER:
            raise self.at(key).error("a number of at most 10^300")
        return found

    def epsilon(self, key: str, default: Fraction | None = DEFAULT_EPSILON) -> Fraction:
        """Return the number that a norm adds to its variance; the default of all these libraries is 0.00001."""
        found = self.number(key, default)
        if found < 0:
            raise self.at(key).error("a number that is at least 0")
        return found

    def truth(self, key: str, default: bool | None = None) -> bool:
        """Return a setting that is true or false."""
        return self._taken(key, default).boolean()

    def text(self, key: str, default: str | None = None) -> str:
        """Return a setting that is text."""
        return self._taken(key, default).text()

    def choice(self, key: str, options: Mapping[str, T], default: str | None = None) -> T:
        """Return the value that `options` gives for the name in a setting. Raises InputError if the setting is not
        among the options."""
        return self._taken(key, default).choice(options.__getitem__, ", ".join(map(shown, options)))

    def scale(self, key: str, width: int) -> RootScale:
        """Return a positive number, exactly as it is written, or the value of a text such as "sqrt(d)", where d is the
        width. Raises InputError if it is missing, or anything else."""
        found = self.value(key)
        text = found.replace(" ", "").replace("(d)", f"({width})") if isinstance(found, str) else ""
        scale, number = parse_scale(text), exact_number(found)
        if not text and number is not None and number > 0:
            scale = RootScale(Fraction(number))
        if scale is None:
            raise self.at(key).error('a positive number or "sqrt(d)"')
        exact = str(scale if scale.rational is None else scale.rational)
        self.take(key, f"{found} = {exact}" if text and found != exact else found)
        return scale

    def harmless(self, *keys: str) -> None:
        """Accept settings that do not affect what a network computes, whatever their values."""
        self.used.update(keys)

    def neutral(self, key: str, *values: Any) -> None:
        """Accept a setting only if it is absent, null or has one of these values. Raises InputError if it has another
        value."""
        found = self.value(key)
        if found is not None and not any(type(found) is type(value) and found == value for value in values):
            raise self.at(key).error(" or ".join(map(shown, values or [None])), "Other values are not supported.")

    def done(self) -> None:
        """Raise InputError that names every setting that was not used, except those that are null or false, if there
        are any."""
        given = {key: value for key, value in self.document.value.items() if value is not None and value is not False}
        if left := [f"{key} ({shown(value)})" for key, value in given.items() if key not in self.used]:
            message = "settings that are" if len(left) > 1 else "a setting that is"
            hint = "If it does not affect what the network computes, remove it: no setting is ignored silently."
            raise self.document.refusal(f"{message} not understood: {enumerated(left)}", hint)

    def _taken(self, key: str, default: Any) -> Reader:
        """Return the place of a setting, with the default if it is absent, and record it."""
        place = self.at(key)
        if not self.has(key) and default is not None:
            place = replace(place, value=default)
        self.take(key, place.value)
        return place
