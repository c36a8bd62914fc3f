"""Readers of formula and program files that use nothing but `hardsim.lang`."""

from pathlib import Path

from hardsim.files import LARGEST_TEXT, read_bytes
from hardsim.lang.ast import SraspProgram
from tests.support.language import FormulaFile, parse_program, parse_text


def load(path: Path | str) -> FormulaFile:
    """Read a `.ltl` file."""
    return parse_text(read_bytes(path, LARGEST_TEXT), str(path))


def load_program(path: Path | str) -> SraspProgram:
    """Read a `.srasp` file."""
    return parse_program(read_bytes(path, LARGEST_TEXT), str(path))
