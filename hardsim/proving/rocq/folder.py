"""The folder of a theorem: the library, the instance, `_CoqProject` for editors, and a Makefile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from hardsim.errors import InputError
from hardsim.files import Draft, Folder, refusing, target_of

LIBRARY = Path(__file__).resolve().with_name("library")
"""The folder of the library's files, which are shipped; its `_CoqProject` lists them in the order of dependence."""
PROJECT, MAKEFILE, SUFFIX = "_CoqProject", "Makefile", ".v"
MARK = "# Written by hardsim prove --rocq. The last file is the instance."
"""The first line of a `_CoqProject` by which a folder is known to be one of hardsim's."""
FLAGS = ("-q", "-R", ".", "Hardsim")
"""The options of coqc: no settings of the user, and the logical name of this folder."""
AXIOMS = (
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
)
"""The axioms of the real numbers in Rocq's standard library, on which every theorem rests."""
PLACES = ("COQPATH", "ROCQPATH")
"""Variables of the environment by which Rocq would look for modules elsewhere."""
RULES = """\
# Checks the theorem with Rocq: `make` prints the axioms that it rests on, and fails if one is not expected.
# Only what changed is checked again.
COQC ?= $(shell command -v coqc >/dev/null 2>&1 && echo coqc || echo rocq c)
FLAGS = {flags}
# Modules from other places could take the place of the library's.
unexport {places}

.PHONY: all clean
all: {instance}.axioms
	@cat $<

{instance}.axioms: {instance}.v {last}.vo
	$(COQC) $(FLAGS) $< > $@.partial
	@if grep '^[^ ]' $@.partial | grep -Ev '{expected}'; then echo 'error: further axioms' >&2; exit 1; fi
	@mv $@.partial $@

{rules}
clean:
	rm -f {built}
"""
RULE = "{name}.vo: {needs}\n\t$(COQC) $(FLAGS) $<\n"
BUILT = ("*.vo", "*.vok", "*.vos", "*.glob", ".*.aux", "*.axioms", "*.axioms.partial")
"""The files that coqc and make leave in the folder."""


@cache
def library() -> Mapping[str, str]:
    """Return the texts of the library's files by name, in the order of dependence."""
    lines = (LIBRARY / PROJECT).read_text(encoding="utf-8").splitlines()
    names = [line.strip() for line in lines if line.strip().endswith(SUFFIX)]
    return {name: (LIBRARY / name).read_text(encoding="utf-8") for name in names}


def modules() -> tuple[str, ...]:
    """Return the names of the library's modules, in the order of dependence."""
    return tuple(name.removesuffix(SUFFIX) for name in library())


def folder_files(module: str, instance: str) -> dict[str, str]:
    """Return the texts of all files of a folder by name: the library, the instance of that module, Makefile and
    `_CoqProject`, which marks the folder and so comes last."""
    own = f"{module}{SUFFIX}"
    project = "\n".join([MARK, " ".join(FLAGS[1:]), *library(), own, ""])
    return {**library(), own: instance, MAKEFILE: _makefile(module), PROJECT: project}


def _makefile(instance: str) -> str:
    """Return the Makefile. Each module of the library is checked after the one before it, of which it may need all."""
    names = modules()
    rules = [
        RULE.format(name=name, needs=" ".join([f"{name}{SUFFIX}", *(f"{one}.vo" for one in before)]))
        for name, before in zip(names, ((), *zip(names)), strict=False)
    ]
    endings = "|".join(axiom.split(".")[-1] for axiom in AXIOMS)
    # Rocq prints the name of an axiom at the start of a line; modules that are open are left out of it.
    expected = rf"^Axioms:|^([A-Za-z_]+\.)*({endings})( |$$)"
    facts = {"instance": instance, "last": names[-1], "rules": "\n".join(rules), "built": " ".join(BUILT)}
    return RULES.format(flags=" ".join(FLAGS), expected=expected, places=" ".join(PLACES), **facts)


def require_free(path: str, option: str, module: str | None = None) -> Path:
    """Return the absolute path of the folder that an option names, if it does not exist, is empty, or has a theorem
    written by hardsim: of the instance `module`, if that is known. Raises InputError for anything else."""
    if not path:
        raise InputError(f"{option}: the name of the folder is empty", f"Name a folder: {option} theorem")
    target = Path(os.path.abspath(path))
    with refusing(path, option, "folder"):
        with suppress(FileNotFoundError):
            os.lstat(target)  # a bad name is reported before anything runs
        if os.path.lexists(target) and not target.is_dir():
            raise InputError(f"{option} {path}: exists and is no folder", f"Give {option} another name.")
        if not target.is_dir():
            if not target.parent.is_dir():
                raise InputError(f"{option} {path}: there is no folder {target.parent}", "Make that folder first.")
            return target
        names = {one for one in os.listdir(target) if not one.startswith(".")}
    listed = _listed(target)
    if names and listed is None:
        message = f"{option} {path}: this folder is not empty, and was not written by hardsim prove --rocq"
        raise InputError(message, "Name a new folder, or an empty one.")
    other = next((one for one in listed or () if one in names and one not in library()), None)
    if module is not None and other not in (None, f"{module}{SUFFIX}"):
        raise InputError(
            f"{option} {path}: this folder has another theorem, {other}", "Name a folder for each theorem."
        )
    return target


def _listed(target: Path) -> Sequence[str] | None:
    """Return the Rocq files that the `_CoqProject` of a folder lists; None if hardsim did not write it."""
    try:
        lines = (target / PROJECT).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    return [line for line in lines if line.endswith(SUFFIX)] if lines[:1] == [MARK] else None


def write_folder(target: Path, option: str, files: Mapping[str, str]) -> None:
    """Write the files of a folder. A new folder appears whole; in one that hardsim wrote, each file is replaced as a
    whole if it differs. Raises InputError if that fails: no file is ever incomplete."""
    with refusing(str(target), option, "folder"):
        if _listed(target) is None:
            with closing(Folder(target, option)) as made:
                for name, text in files.items():
                    (made.path / name).write_text(text, encoding="utf-8", newline="\n")
                made.commit()
            return
        for name, text in files.items():
            data, place = text.encode("utf-8"), target / name
            if place.is_file() and place.read_bytes() == data:
                continue  # its time stays, so that make does nothing
            with closing(Draft(target_of(str(place), option))) as draft:
                draft.commit(data)
