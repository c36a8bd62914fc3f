"""The tokens in `meta.pkl`, which the scripts of nanoGPT write beside their data.

The file is a pickle of a dict with `itos` (names by id) and `stoi` (ids by name). A pickle can name any function of
Python, to be called when it is read. Here every such name is refused, so that only plain values are made: dicts, lists,
tuples, texts, numbers.
"""

from __future__ import annotations

import pickle
import pickletools
from io import BytesIO
from typing import Any

from hardsim.errors import InputError
from hardsim.reading.tokenizer import names_by_id

META = "meta.pkl"
BLANKS = {"\n": "<newline>", " ": "<space>", "\t": "<tab>", "\r": "<return>"}
"""The names of characters that a word cannot have."""
AGAIN = 'Write the names as vocab.json beside the weights, such as {"a": 0, "b": 1}, and remove this file.'


class _Plain(pickle.Unpickler):
    """Makes plain values alone."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}, and only plain values are read")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it names an object outside the file")


def _require_small_memo(data: bytes) -> None:
    """Raise UnpicklingError for a pickle that numbers a value higher than it has bytes: the unpickler would make a
    table of that size."""
    for operation, argument, _ in pickletools.genops(data):
        if operation.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(argument or 0) > len(data):
            raise pickle.UnpicklingError("it numbers a value higher than it has bytes")


def names_of_meta(data: bytes, where: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of tokens by id, and notes. Raises InputError if the file is not such a pickle, has no names, or
    if `itos` and `stoi` differ. `where` names the file in errors."""
    try:
        _require_small_memo(data)
        found = _Plain(BytesIO(data)).load()
    except Exception as error:  # pickles fail in many ways; all mean that the file is not readable
        said = str(error).strip().split("\n")[0][:200] if isinstance(error, pickle.UnpicklingError) else ""
        reason = said or "it is damaged"
        raise InputError(f"{where}: not a pickle of plain values ({reason})", AGAIN) from None
    stoi, itos = (found.get(key) if isinstance(found, dict) else None for key in ("stoi", "itos"))
    if isinstance(itos, list | tuple):
        itos = dict(enumerate(itos))
    ids: Any = stoi
    if stoi is None and isinstance(itos, dict) and all(isinstance(name, str) for name in itos.values()):
        ids = {name: number for number, name in itos.items()}
        if len(ids) < len(itos):
            raise InputError(f"{where}: itos names two ids alike", AGAIN)
    if not isinstance(ids, dict) or not all(isinstance(name, str) for name in ids):
        raise InputError(f"{where}: neither stoi nor itos gives the names of tokens", AGAIN)
    if isinstance(itos, dict) and {number: name for name, number in ids.items()} != itos:
        raise InputError(f"{where}: stoi and itos name other tokens", AGAIN)
    names = names_by_id(ids, where)
    changed = {name: BLANKS[name] for name in names if name in BLANKS and BLANKS[name] not in ids}
    notes = tuple(f"the token {name!r} is called {new}" for name, new in changed.items())
    return tuple(changed.get(name, name) for name in names), notes
