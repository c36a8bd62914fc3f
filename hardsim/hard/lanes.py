"""Truth values of many words at once: one bit for each word, 64 words to a lane (numpy uint64).

An array of lanes has shape (..., ceil(words / 64)); word w is bit w % 64 of lane w // 64. The bits behind the last word
repeat it, so every bit speaks of a real word and no operation needs a mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Lanes = NDArray[np.uint64]
"""Shape (..., lanes)."""
Booleans = NDArray[np.bool_]
Symbols = NDArray[np.integer[Any]]
"""Words of one length n as rows of symbol numbers, shape (words, n)."""

WIDTH = 64
FULL = np.uint64(2**64 - 1)
"""True of every word."""


def count_lanes(words: int) -> int:
    """How many lanes hold so many words."""
    return -(-words // WIDTH)


def pack(truth: Booleans) -> Lanes:
    """Truth values by word and position, (words, n), as lanes by position, (n, lanes)."""
    return pack_rows(truth.T)


def pack_rows(truth: Booleans) -> Lanes:
    """Truth values by position and word, (n, words), as lanes by position, (n, lanes)."""
    n, words = truth.shape
    full = np.empty((n, count_lanes(words) * WIDTH), dtype=np.bool_)
    full[:, :words] = truth
    full[:, words:] = truth[:, -1:]
    return np.packbits(full, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def unpack(lanes: Lanes, words: int) -> Booleans:
    """The inverse of `pack`: lanes by position, (n, lanes), as truth values by word and position, (words, n)."""
    return np.ascontiguousarray(unpack_rows(lanes, words).T)


def unpack_rows(lanes: Lanes, words: int) -> Booleans:
    """The inverse of `pack_rows`: lanes by position, (n, lanes), as truth values by position and word, (n, words)."""
    octets = np.ascontiguousarray(lanes).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=words, bitorder="little").view(np.bool_)
