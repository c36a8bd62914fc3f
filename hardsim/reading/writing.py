"""Write a stored network as a folder from which the same network is read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from hardsim.errors import InputError
from hardsim.files import Folder, refusing
from hardsim.reading.tensors import WHOLE, Stored
from hardsim.reading.tokenizer import TOKENIZER, VOCABULARY

OPTION = "save"


def save(stored: Stored, path: str) -> None:
    """Write a folder with the configuration, the tensors in their stored dtypes and, if there is one, the vocabulary.

    The folder appears whole or not at all: it is made beside its final place and then renamed. Raises InputError if the
    path exists already, or cannot be written."""
    target = Path(path)
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(f"{OPTION}: {path} exists already", "Name a folder that does not exist, or an empty one.")
    from safetensors.numpy import save as packed

    files = {stored.config_name: json_text(stored.config).encode(), WHOLE: packed(dict(stored.tensors))}
    if stored.tokenizer is not None:
        files[TOKENIZER] = stored.tokenizer.text
    elif stored.vocabulary is not None:
        ids = {token: number for number, token in enumerate(stored.vocabulary)}
        files[VOCABULARY] = json_text(ids).encode()
    with refusing(path, OPTION, "folder"):
        folder = Folder(target, OPTION)
        try:
            for name, data in files.items():
                (folder.path / name).write_bytes(data)
            folder.commit()
        finally:
            folder.close()


def json_text(value: Any) -> str:
    """Return JSON text in which a Fraction is written as a decimal. Raises InputError for a Fraction that is not a
    decimal."""
    if isinstance(value, Mapping):
        members = (f"{json.dumps(str(key), ensure_ascii=False)}: {json_text(one)}" for key, one in value.items())
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(json_text, value))}]"
    return _decimal(value) if isinstance(value, Fraction) else json.dumps(value, ensure_ascii=False)


def _decimal(value: Fraction) -> str:
    """Return a number as JSON with a decimal point; without a point it would be read as an integer."""
    places, rest = 0, value.denominator
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest, count = rest // prime, count + 1
        places = max(places, count)
    if rest != 1:
        message = f"{OPTION}: the number {value} of the configuration is not a decimal"
        raise InputError(message, "Write it as a decimal.")
    places = max(places, 1)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
