"""Tests of reading files: all of a file that grows or has no stated size, and no more memory than a file needs."""

import tracemalloc
from pathlib import Path

import pytest

from hardsim.errors import InputError
from hardsim.files import PART, read_bytes


def test_a_small_file_takes_little_memory_whatever_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    tracemalloc.start()
    try:
        assert read_bytes(path, 2**31) == b"abc"
        assert tracemalloc.get_traced_memory()[1] < PART
    finally:
        tracemalloc.stop()


def test_a_file_without_a_stated_size_is_read_whole() -> None:
    path = Path("/proc/self/limits")
    if not path.exists():
        pytest.skip("no /proc")
    assert path.stat().st_size == 0
    assert read_bytes(path) == path.read_bytes() != b""
    with pytest.raises(InputError, match="limits: larger than 10 bytes"):
        read_bytes(path, 10)


@pytest.mark.parametrize("size", [0, 1, 9, 10])
def test_a_file_up_to_its_limit_is_read(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * size)
    assert read_bytes(path, 10) == b"a" * size


def test_a_larger_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * 11)
    with pytest.raises(InputError):
        read_bytes(path, 10)
