"""Command lines whose inputs are wrong in as many places, or about as many names, as a size says."""

from __future__ import annotations

import json
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from hardsim.cli.app import run
from tests.support.language import formulas_directory

NETWORK = formulas_directory() / "networks" / "dyck1_depth3"
FORMULA, PROGRAM, AUTOMATON = "x.ltl", "x.srasp", "x.json"


def names(size: int, letter: str = "s") -> str:
    """Return names with blanks between them."""
    return " ".join(f"{letter}{number}" for number in range(size))


def _file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def unknown_symbol(folder: Path, size: int) -> list[str]:
    """A formula with a symbol that an alphabet of this size lacks."""
    return ["check", _file(folder, FORMULA, f"alphabet: {names(size)}\nunknown S s0\n")]


def unknown_number(folder: Path, size: int) -> list[str]:
    """A formula with a number, where the message lists the alphabet."""
    return ["check", _file(folder, FORMULA, f"alphabet: {names(size)}\n7 S s0\n")]


def unknown_word(folder: Path, size: int) -> list[str]:
    """A word with symbols that the alphabet lacks."""
    return ["eval", _file(folder, FORMULA, f"alphabet: {names(size)}\ns0 S s1\n"), names(size, "z")]


def wrong_examples(folder: Path, size: int) -> list[str]:
    """A formula all of whose examples are wrong."""
    return ["check", _file(folder, FORMULA, "alphabet: a b\n" + "accept: b\n" * size + "H a\n")]


def unknown_propositions(folder: Path, size: int) -> list[str]:
    """Constraints about propositions that are not declared."""
    return ["check", _file(folder, FORMULA, f"props: {names(size)}\none-of: {names(size, 'q')}\ns0\n")]


def too_many_sets(folder: Path, size: int) -> list[str]:
    """Constraints that leave too many sets, or none."""
    lines = "".join(f"at-most-one: s{number} s{number + 1}\n" for number in range(size))
    return ["check", _file(folder, FORMULA, f"props: {names(size + 1)}\n{lines}s0\n")]


def long_formula(folder: Path, size: int) -> list[str]:
    """A formula that is not closed, on one line."""
    return ["check", _file(folder, FORMULA, "alphabet: a b\n(" + "a & " * size + "a\n")]


def no_construction(folder: Path, size: int) -> list[str]:
    """A formula that no causal regime supports, whose operators are many."""
    text = " & ".join(f"F s{number % 3}" for number in range(size + 2))
    return ["check", _file(folder, FORMULA, f"alphabet: s0 s1 s2\nat: first\n{text}\n"), "--regime", "causal-position"]


def many_formulas(folder: Path, size: int) -> list[str]:
    """A directory of files, none of which can be read."""
    for number in range(size):
        _file(folder, f"f{number:03}.ltl", "alphabet: a b\na S\n")
    return ["check", str(folder)]


def many_expressions(folder: Path, size: int) -> list[str]:
    """Expressions that have different mistakes."""
    given = [part for number in range(min(size, 100)) for part in ("-e", f"s{number} S")]
    return ["equiv", "--alphabet", "a b", *given, "-e", "a"]


def unknown_files(folder: Path, size: int) -> list[str]:
    """Files that do not exist."""
    return ["check", *(str(folder / f"missing{number}.ltl") for number in range(min(size, 200)))]


def unknown_names(folder: Path, size: int) -> list[str]:
    """A program that uses a name that it does not define, among many that it does."""
    lines = "".join(f"P{number} := Q_a\n" for number in range(size))
    return ["check", _file(folder, PROGRAM, f"alphabet: a b\n{lines}Y := Missing\n")]


def stranger_tensors(folder: Path, size: int) -> list[str]:
    """A network with tensors that no reader knows."""
    shutil.copytree(NETWORK, folder / "net", copy_function=shutil.copy)
    path = folder / "net" / "model.safetensors"
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    header |= {f"other.{number}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for number in range(size)}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return ["show", str(folder / "net")]


def missing_tensors(folder: Path, size: int) -> list[str]:
    """A network whose configuration has more layers than its weights."""
    return _configured(folder, {"n_layer": size + 1})


def stranger_settings(folder: Path, size: int) -> list[str]:
    """A network with settings that no reader knows."""
    return _configured(folder, {f"setting{number}": number + 1 for number in range(size)})


def _configured(folder: Path, changes: dict[str, int]) -> list[str]:
    shutil.copytree(NETWORK, folder / "net", copy_function=shutil.copy)
    path = folder / "net" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    return ["show", str(folder / "net")]


def unknown_outputs(folder: Path, size: int) -> list[str]:
    """A specification whose lines name outputs that the network lacks."""
    lines = "".join(f"output z{number}: a\n" for number in range(size))
    return ["check", _file(folder, "x.spec", f"network: {NETWORK}\nalphabet: a b\ninput: *\nat: last\n{lines}")]


def unknown_tokens(folder: Path, size: int) -> list[str]:
    """A specification whose tokens are more than the network has."""
    text = f"network: {NETWORK}\nalphabet: {names(size)}\ntokens: {names(size + 7)}\ninput: *\nat: last\noutput 0: s0\n"
    return ["check", _file(folder, "x.spec", text)]


def other_alphabets(folder: Path, size: int) -> list[str]:
    """Two formulas over different alphabets."""
    one = _file(folder, "one.ltl", f"alphabet: {names(size)}\ns0\n")
    return ["equiv", one, _file(folder, "two.ltl", f"alphabet: {names(size, 'z')}\nz0\n")]


def unknown_states(folder: Path, size: int) -> list[str]:
    """An automaton whose transitions lead to states that it lacks."""
    steps = {f"q{number}": {"a": f"z{number}"} for number in range(size)}
    document = {"states": [*steps], "input_symbols": ["a"], "transitions": steps, "initial_state": "q0"}
    return ["show", _file(folder, AUTOMATON, json.dumps(document | {"final_states": [f"y{n}" for n in range(size)]}))]


def unknown_heads(folder: Path, size: int) -> list[str]:
    """A head that a formula lacks, among many."""
    text = " & ".join(f"O(s{number % 9} & {'Y ' * number}s1)" for number in range(min(size, 30) + 1))
    path = _file(folder, FORMULA, f"alphabet: {names(9)}\n{text}\n")
    return ["trace", path, "s1 s2", "--head", "missing"]


KINDS: tuple[Callable[[Path, int], list[str]], ...] = (
    unknown_symbol,
    unknown_number,
    unknown_word,
    wrong_examples,
    unknown_propositions,
    too_many_sets,
    long_formula,
    no_construction,
    many_formulas,
    many_expressions,
    unknown_files,
    unknown_names,
    stranger_tensors,
    missing_tensors,
    stranger_settings,
    unknown_outputs,
    unknown_tokens,
    other_alphabets,
    unknown_states,
    unknown_heads,
)
SEVERAL = (many_formulas, many_expressions, unknown_files)
"""Kinds with several errors."""


def command_line(folder: Path, number: int, size: int) -> list[str]:
    """Write the files of a kind of bad input into a folder of its own below `folder`, and return the command line."""
    place = folder / KINDS[number].__name__
    place.mkdir()
    return KINDS[number](place, size)


if __name__ == "__main__":  # every kind in one process: the folder and the size are arguments
    for own in range(len(KINDS)):
        code = run(command_line(Path(sys.argv[1]), own, int(sys.argv[2])))
        sys.stderr.write(f"exit code {code}\n")
