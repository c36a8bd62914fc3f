"""The files that paths stand for: directories, and files with a formula on each line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from hardsim.errors import InputError, enumerated
from hardsim.examples import example_names, located
from hardsim.files import LARGEST_TEXT, is_directory, names_in, read_bytes, read_head
from hardsim.lang.corpus import OTHERS, line_of, read_corpus
from hardsim.lang.unread_files import ENOUGH, unread_format_error
from hardsim.reading.tensors import (
    CONFIGS,
    WHOLE,
    is_network_folder,
    is_weights_name,
    parts_of,
    unread_folder,
)
from hardsim.targets.specification import SPEC, named_files

PROGRAM, CRASP, REGEX = ".srasp", ".cr", ".re"
SUFFIXES = (".ltl", PROGRAM, CRASP, ".ahat.json", ".model.json", SPEC)
"""The suffixes of the files that a directory stands for: everything that can be checked, so no regular expressions."""
LANGUAGES = (REGEX, ".dot", ".gv", ".jff")
"""The suffixes of files that are languages alone, which commands about languages read too."""
_LOOKED_AT = 20
"""The largest number of files to inspect in a directory that has nothing to check."""


def read_with(path: str) -> list[str]:
    """Return all files that reading a path involves: the file itself, the files that a specification names, and the
    files of a network."""
    line = line_of(path)
    place = located(path) if line is None else line[0]
    found = [place, *(named_files(place) if place.endswith(SPEC) else [])]
    networks = [one for one in found if is_directory(one) or is_weights_name(one)]
    with suppress(InputError):
        return found + [part for one in networks for part in parts_of(one)]
    return found


def _corpora(path: str) -> list[str]:
    """Return the files with a formula on each line that a path stands for: the path itself, or the *.ltl and *.txt
    files of a directory, sorted by name."""
    if not is_directory(path) or is_network_folder(path):
        return [path]
    found = sorted(str(Path(path, name)) for name in names_in(path) if name.endswith((".ltl", ".txt")))
    if not found:
        raise InputError(f"{path} has no *.ltl or *.txt file", "--lines reads files with a formula on each line.")
    return found


def _numbers(path: str) -> list[int]:
    """Return the line numbers of the formulas in a file with a formula on each line."""
    if line_of(path) is not None:
        raise InputError(f"{path} is one line already", "Leave out --lines, or name the file.")
    if path.endswith(OTHERS) or is_directory(path):
        message = f"{path} is no file of formulas, and --lines reads a formula on each line"
        raise InputError(message, "Leave out --lines, or name the file alone.")
    place = located(path)
    data = read_bytes(place, LARGEST_TEXT, others=example_names)
    if known := unread_format_error(path, place, data, sure=True):
        raise known
    corpus = read_corpus(data, path)
    if place != path:
        raise InputError(f"--lines reads files, and {path} is shipped", f"`hardsim examples {path}` prints it.")
    return [*corpus.formulas]


def expand_paths(paths: Sequence[str], lines: bool = False, languages: bool = False) -> list[str]:
    """Return the files that these paths stand for: a directory stands for its formulas, programs and models, sorted by
    name; with `languages`, also for its regular expressions and automata. With `lines`, a file stands for its formulas,
    one on each line, and a directory for such files. Raises InputError if a directory has none, or cannot be read; if a
    file has no formula on a line."""
    suffixes = SUFFIXES + LANGUAGES if languages else SUFFIXES
    if lines:
        return [f"{path}:{number}" for one in paths for path in _corpora(one) for number in _numbers(path)]
    result: list[str] = []
    for path in paths:
        if not is_directory(path) or is_network_folder(path):
            result.append(path)
            continue
        found = files_in(path, suffixes)
        if not found:
            raise _not_a_network(path, f"{path} has no {_patterns('or', suffixes)} file", "Name the files one by one.")
        result.extend(found)
    return result


def require_network_folder(path: str) -> None:
    """Raise InputError if a path is a directory, but not the folder of a network."""
    if is_directory(path) and not is_network_folder(path):
        hint = f"A network's folder has a {CONFIGS[0]} and weights ({WHOLE}, say): docs/networks.md."
        raise _not_a_network(path, f"{path} is no folder of a network", hint)


def _not_a_network(path: str, message: str, hint: str) -> InputError:
    """Return the error for a directory that is not the folder of a network; the message and hint where nothing in it is
    a part of one, or a file of another tool."""
    names = names_in(path)
    if (unread := unread_folder(path)) is not None:
        return unread
    if any(name in CONFIGS or is_weights_name(name) for name in names):
        configured = any(name in CONFIGS for name in names)
        lacking = f"no weights ({WHOLE}, say)" if configured else f"no {CONFIGS[0]} ({CONFIGS[-1]} for nanoGPT)"
        hint = f"This may be a network that is not complete: it has {lacking}. See docs/networks.md."
    else:
        hint = _unread_file_among(path, names) or hint
    return InputError(message, hint)


def files_in(folder: str, suffixes: tuple[str, ...] = SUFFIXES) -> list[str]:
    """Return the paths of the files that a directory stands for, without its subfolders: those that end in one of some
    suffixes, sorted by name. Names that begin with a dot are hidden, as in shells."""
    names = [name for name in names_in(folder) if name.endswith(suffixes) and not name.startswith(".")]
    return sorted(str(Path(folder, name)) for name in names)


def left_out_of(paths: Sequence[str]) -> str | None:
    """Return a remark on what directories have besides the languages that they stand for: other files and subfolders.
    None if there is nothing."""
    folders = [path for path in paths if is_directory(path) and not is_network_folder(path)]
    found: list[str] = []
    for folder in folders:
        read = {Path(one).name for one in files_in(folder, SUFFIXES + LANGUAGES)}
        found += [str(Path(folder, name)) for name in sorted(names_in(folder)) if name not in read and name[0] != "."]
    if not found:
        return None
    which = _patterns("and", SUFFIXES + LANGUAGES)
    return f"not compared: {enumerated(found)}; a directory stands for its {which} files"


def _patterns(last: str, suffixes: tuple[str, ...]) -> str:
    """Return patterns of names with some suffixes, with a word before the last one."""
    return f"*{', *'.join(suffixes[:-1])} {last} *{suffixes[-1]}"


def links_out_of(folder: str, names: Iterable[str]) -> list[str]:
    """Return those of the files of a directory that are links to files outside of it. Who can put a file into the
    directory could otherwise have any file of the reader quoted in a report."""
    root = Path(os.path.realpath(folder))
    return [name for name in names if os.path.islink(name) and root not in Path(os.path.realpath(name)).parents]


def _unread_file_among(folder: str, names: Iterable[str]) -> str:
    """Return a message on the first file of a folder in a format of another tool, with a hint; "" if there is none."""
    for name in sorted(names)[:_LOOKED_AT]:
        place = str(Path(folder, name))
        if found := unread_format_error(name, place, read_head(place, ENOUGH)):
            return f"{found.message}. {found.hint}"
    return ""
