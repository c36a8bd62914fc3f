"""Truth values of many words at once: one bit for each word, 64 words to a lane (a numpy uint64).

An array of lanes has shape (..., ceil(words / 64)); word w is bit w % 64 of lane w // 64. The bits after the last
word repeat the last word, so that every bit belongs to a real word and no operation needs a mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Lanes = NDArray[np.uint64]
"""Truth values of many words, shape (..., lanes)."""
Booleans = NDArray[np.bool_]
Symbols = NDArray[np.integer[Any]]
"""Words of one length n as rows of symbol numbers, shape (words, n)."""

WIDTH = 64
FULL = np.uint64(2**64 - 1)
"""The lane that is true for every word."""


def count_lanes(words: int) -> int:
    """Return the number of lanes that hold this many words."""
    return -(-words // WIDTH)


def pack(truth: Booleans) -> Lanes:
    """Convert truth values by word and position, (words, n), to lanes by position, (n, lanes)."""
    return pack_rows(truth.T)


def pack_rows(truth: Booleans) -> Lanes:
    """Convert truth values by position and word, (n, words), to lanes by position, (n, lanes)."""
    n, words = truth.shape
    full = np.empty((n, count_lanes(words) * WIDTH), dtype=np.bool_)
    full[:, :words] = truth
    full[:, words:] = truth[:, -1:]
    # "<u8" fixes the byte order, so that word w is bit w % 64 on every machine.
    return np.packbits(full, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def unpack(lanes: Lanes, words: int) -> Booleans:
    """Convert lanes by position, (n, lanes), to truth values by word and position, (words, n): the inverse of
    `pack`."""
    return np.ascontiguousarray(unpack_rows(lanes, words).T)


def unpack_rows(lanes: Lanes, words: int) -> Booleans:
    """Convert lanes by position, (n, lanes), to truth values by position and word, (n, words): the inverse of
    `pack_rows`."""
    octets = np.ascontiguousarray(lanes).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=words, bitorder="little").view(np.bool_)
