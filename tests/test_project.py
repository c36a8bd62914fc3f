"""Rules for the source text: the order of the rooms, sizes, docstrings, one version.

A room is a subpackage of hardsim. A room may import only rooms that stand before it in ROOMS.
"""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

import pytest

from hardsim import __version__
from hardsim.version import DISTRIBUTION
from tests.support.mistakes import raised

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "errors", "verify", "lang", "theory", "network", "program", "hard", "compiling", "reading", "writing", "run",
    "sharpening", "proof", "targets", "options", "campaign", "proving", "measuring", "precision", "report", "serving",
    "cli",
)  # fmt: skip
# Modules outside the rooms ("" is the package itself), each with the room whose place in the line it shares.
TOOLS = ("version", "visible", "files", "examples", "records", "kept", "lazy_dataclass")
OUTSIDE = dict.fromkeys(TOOLS, "errors") | {
    "keywords": "report",
    "api": "report",
    "": "report",
    "__main__": "cli",
}
# The engines that decide words share no code: for each, the modules that none of its imports may lead to.
ORACLES = ("lang.semantics", "lang.srasp.interpreter", "lang.regex", "lang.crasp")
APART: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("network", "program", "compiling", "reading", "hard"), ORACLES),
    "run": (*ORACLES, "hard.batch_hard", "hard.exact"),
    "hard.exact": ("hard.batch_hard", "run"),
    "hard.batch_hard": ("run",),
    "sharpening": ("lang.semantics", "hard.batch_hard"),
    "proof": ("lang.semantics", "hard.batch_hard", "compiling", "program.assemble"),
    # Formulas and programs are proved by different arguments, which share only what is common to all proofs.
    "proof.formulas": ("proof.programs",),
    "proof.programs": ("proof.formulas",),
    "proof.shared": ("proof.formulas", "proof.programs"),
    "lang.semantics": ("lang.core", "lang.desugar"),
    "lang.crasp.oracle": ("lang.core", "lang.desugar", "lang.crasp.formula"),
    "lang.crasp.formula": ("lang.semantics",),
}
CHECKER = {
    "arithmetic": set[str](),
    "enclosures": {"arithmetic"},
    "expressions": {"arithmetic", "enclosures"},
    "ratios": {"arithmetic"},
    "monotone": {"arithmetic", "enclosures", "expressions", "ratios"},
    "exponentials": set(),
    "sections": {"arithmetic", "exponentials", "expressions"},
    "geometric": {"arithmetic", "expressions", "monotone"},
    "formulas": {"arithmetic", "expressions", "sections", "geometric"},
    "counting": {"arithmetic", "sections"},
    "normed": {"arithmetic", "sections", "counting"},
    "rounded": {"arithmetic", "sections", "counting"},
    "every_length": {"arithmetic", "enclosures", "expressions", "ratios", "monotone", "geometric", "formulas"},
    "program_sections": {"arithmetic", "exponentials", "sections"},
    "spans": {"arithmetic", "expressions", "ratios", "monotone"},
    "shares": {"arithmetic", "ratios", "spans"},
    "rows": {"arithmetic", "ratios", "shares", "spans"},
    "types": {"arithmetic", "ratios", "rows", "spans"},
    "decay": {"arithmetic", "ratios", "spans", "rows", "monotone"},
    "programs": {
        "arithmetic", "exponentials", "expressions", "types", "ratios", "sections", "program_sections", "shares",
        "spans", "rows", "decay",
    },
    "external.numbers": {"arithmetic"},
    "external.parts": {"arithmetic", "external.numbers"},
    "external.network": {"arithmetic", "sections", "external.numbers", "external.parts"},
    "external.sections": {"arithmetic", "sections", "external.numbers"},
    "external.readers": {"arithmetic", "expressions", "sections"},
    "external.machine": {"arithmetic", "external.readers"},
    "external.columns": {"arithmetic", "external.numbers", "external.network"},
    "external.supports": {
        "arithmetic", "external.numbers", "external.machine", "external.columns",
    },
    "external.bends": {"external.numbers"},
    "external.run": {"arithmetic", "external.network", "external.numbers", "external.parts"},
    "external.affine": {
        "arithmetic", "external.bends", "external.network", "external.numbers", "external.run",
    },
    "external.prefixes": {
        "arithmetic", "sections", "external.numbers", "external.network", "external.sections", "external.machine",
        "external.columns", "external.supports", "external.affine",
    },
    "external.check": {
        "arithmetic", "external.network", "external.sections", "external.prefixes", "external.columns",
        "external.supports", "external.affine", "external.run",
    },
    "external.second": {
        "arithmetic", "external.numbers", "external.network", "external.machine", "external.columns",
        "external.supports", "external.affine",
    },
    "external.layers": {
        "arithmetic", "external.network", "external.sections", "external.machine", "external.columns",
        "external.supports", "external.affine", "external.run", "external.prefixes", "external.second",
    },
    "external": set(),
    "rocq.text": set(),
    "rocq.instance": {"rocq.text"},
    "rocq.meanings": set(),
    "rocq.formulas": {"rocq.text", "rocq.meanings"},
    "rocq.networks": {"rocq.text", "rocq.meanings", "rocq.formulas"},
    "rocq": set(),
    "": {
        "arithmetic", "sections", "normed", "rounded", "program_sections", "formulas", "every_length", "programs",
        "external.sections", "external.check", "external.layers", "external.prefixes",
    },
    "__main__": {"", "sections"},
}  # fmt: skip
"""The modules of the checker of certificates in `hardsim.verify`, with all that each imports of hardsim, in reading
order.
"""
OF_PROGRAMS = ("program_sections", "spans", "shares", "rows", "types", "decay", "programs")
"""Modules of the checker that only certificates of programs need."""
IDEAS = {
    "Columns": "keys, values and scores of a one-layer causal network by position and token, with bounds",
    "Decay": "errors of all coordinates, as factors of one falling function of the length",
    "Denominator": "a power of the number of tied keys, which divides the step of a share",
    "Group": "neighbouring places of keys whose scores have one form",
    "Head": "an attention head by names of coordinates: mask, query, key and value forms",
    "HeadColumns": "keys and values of one head by token and position, with bounds of their errors",
    "HeadLaw": "what is known of a head at a place: its rows, and bounds of its forms",
    "HeadSupports": "bounds of directions of the outputs of one head, over all prefixes of a class",
    "Induction": "the errors of every length from some length on",
    "IsolatedZero": "a number to which all others keep a distance",
    "Law": "what is known of hard attention on every word",
    "LayerLaw": "what is known of a layer on every word",
    "Level": "keys of one type, with equal scores",
    "NumberSpan": "the numbers between two functions, and on a lattice",
    "Pieces": "the score of a query and a key: its known part, and factors of the unknown ones",
    "Place": "a kind of position: beginning, first, between, last",
    "PositionMoves": "the moves of a machine at one position, by the state that is reached",
    "Ratio": "a rational function of positions and length",
    "Row": "what is known of the scores of a row: gap, ties, winners",
    "ScoreRows": "the rows of one head for queries at one place",
    "Share": "the numbers of a lattice whose step is divided by numbers of tied keys",
    "SiteClass": "one of nine classes of positions of every length",
    "TypedColumns": "the joint values of coordinates at each place",
    "TypedRows": "the rows of one head, from the types of its queries and keys",
    "World": "the places of length 1, or of every length from 2 on",
}
"""Names of classes that both the checker of certificates and the rest of hardsim have, with their one idea. The two
share no code, so each has a class of its own."""
MAX_FUNCTION_LINES = 60
MOST_QUESTIONS = {"isinstance": 5, "None": 7, "kind": 0}
"""The most questions outside `hardsim.targets` about which target or input there is: by class, by fields that only some
have, and by kind."""
TARGET_CLASSES = [f"targets.{name}" for name in ("base", "subject", "formula", "program", "weights", "external")]
FIELDS_OF_SOME = {
    "bare", "external", "formula", "made", "origin", "schedule", "sharpness", "specification", "stored",
}  # fmt: skip
NAMES_OF_TARGETS = {"given", "input", "one", "side", "subject", "target", "made"}
"""Names of variables and fields that have targets and inputs."""
HEAVY = ("numpy", "mpmath", "flint", "gmpy2", "lark", "typer", "rich", "msgspec")

Imports: TypeAlias = dict[str, set[str]]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definition: TypeAlias = Function | ast.ClassDef


def module_of(path: Path) -> str:
    """Return the dotted name of a file below the package; "" for the package itself."""
    parts = path.relative_to(ROOT / "hardsim").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def package_files() -> tuple[Path, ...]:
    """Return the Python files of the package."""
    return tuple(sorted((ROOT / "hardsim").rglob("*.py")))


@cache
def package_trees() -> dict[str, ast.Module]:
    """Return the syntax tree of every module, by its name."""
    return {module_of(path): ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in package_files()}


def imported_names(tree: ast.Module, module: str) -> Iterator[tuple[str, str | None]]:
    """Yield every import in a module, wherever it stands: the absolute name of a module, and the name taken from
    it.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"hardsim.{module}, line {node.lineno}: write the import with its full name"
            yield from ((node.module or "", alias.name) for alias in node.names)


def read_imports(trees: Mapping[str, ast.Module]) -> Imports:
    """Return the modules of the package that each module imports; `from hardsim.lang import ast` imports
    `lang.ast`.
    """
    imports: Imports = {module: set() for module in trees}
    for module, tree in trees.items():
        for name, taken in imported_names(tree, module):
            if name.split(".")[0] == "hardsim":
                target = name.removeprefix("hardsim").removeprefix(".")
                inner = f"{target}.{taken}".removeprefix(".")
                imports[module].add(inner if inner in trees else target)
    return imports


@cache
def package_imports() -> Imports:
    """Return the modules of the package that each of its modules imports."""
    return read_imports(package_trees())


def rank(module: str) -> int:
    """Return the place of a module in the order of the rooms."""
    room = module.split(".")[0]
    room = OUTSIDE.get(room, room)
    assert room in ROOMS, f"hardsim.{module} stands in no room of {', '.join(ROOMS)}"
    return ROOMS.index(room)


def backward_imports(imports: Imports) -> list[str]:
    """Return the imports of a room that stands later in the order."""
    return [
        f"hardsim.{module} imports hardsim.{target}"
        for module, targets in sorted(imports.items())
        for target in sorted(targets)
        # The package itself imports on first use only, so that every module may read the version from it.
        if target and rank(target) > rank(module)
    ]


def import_cycle(imports: Imports) -> list[str]:
    """Return the modules of one import cycle, each imported by the next; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def within(module: str, prefix: str) -> bool:
    """Return True if a module is the named one or stands in the named room."""
    return module == prefix or module.startswith(f"{prefix}.")


def forbidden_chains(imports: Imports) -> list[str]:
    """Return chains of imports by which one decider reaches a module that it must be independent of."""
    found = []
    for module in sorted(imports):
        barred = [what for who, all_barred in APART.items() if within(module, who) for what in all_barred]
        chains = {module: f"hardsim.{module}"}
        waiting = [module]
        while waiting:
            last = waiting.pop()
            for target in sorted(imports.get(last, set()) - chains.keys()):
                chains[target] = f"{chains[last]} -> hardsim.{target}"
                waiting.append(target)
        found += [chain for target, chain in chains.items() if any(within(target, what) for what in barred)]
    return found


def definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield all functions and classes with their qualified names; `<locals>` marks those defined inside a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield prefix + child.name, child
            inner = "" if isinstance(child, ast.ClassDef) else "<locals>."
            yield from definitions(child, f"{prefix}{child.name}.{inner}")
        else:
            yield from definitions(child, prefix)


def long_functions(tree: ast.Module) -> list[str]:
    """Return functions with too many lines, docstring included."""
    lengths = {
        name: (node.end_lineno or node.lineno) - node.lineno + 1
        for name, node in definitions(tree)
        if isinstance(node, Function)
    }
    return [f"{name} has {lines} lines" for name, lines in lengths.items() if lines > MAX_FUNCTION_LINES]


def undocumented(tree: ast.Module) -> list[str]:
    """Return the names that have no docstring: the module, and public classes, functions and methods (overloads and
    setters aside).
    """
    missing = ["the module"] if tree.body and not ast.get_docstring(tree) else []
    for name, node in definitions(tree):
        private = any(part.startswith(("_", "<")) for part in name.split("."))
        decorators = {ast.unparse(decorator).rsplit(".", 1)[-1] for decorator in node.decorator_list}
        if not private and not decorators & {"overload", "setter"} and not ast.get_docstring(node):
            missing.append(name)
    return missing


def shared_names(trees: Mapping[str, ast.Module]) -> list[str]:
    """Return public classes of one name that stand in several modules, or twice in one."""
    found: dict[str, list[str]] = {}
    for module, tree in trees.items():
        for name, node in definitions(tree):
            if isinstance(node, ast.ClassDef) and not name.startswith("_"):
                found.setdefault(node.name, []).append(module)
    return [f"{name} in {', '.join(modules)}" for name, modules in sorted(found.items()) if len(modules) > 1]


def questions(tree: ast.AST, classes: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield each test that asks which target or input something is, as a key of MOST_QUESTIONS and its line: isinstance
    with one of these classes, a field that only some have compared with None, or a kind compared with anything.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            if any(isinstance(part, ast.Name) and part.id in classes for part in ast.walk(node.args[1])):
                yield "isinstance", node.lineno
        elif isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                if not isinstance(side, ast.Attribute):
                    continue
                if side.attr in FIELDS_OF_SOME and ast.unparse(node.comparators[-1]) == "None":
                    yield "None", node.lineno
                named = ast.unparse(side.value).split(".")[-1] in NAMES_OF_TARGETS
                if side.attr == "kind" and named and not isinstance(node.ops[0], ast.IsNot):
                    yield "kind", node.lineno


def in_package(found: Mapping[str, Collection[str]]) -> list[str]:
    """Return findings of several modules, one a line."""
    return [f"hardsim.{module}: {finding}" for module, findings in sorted(found.items()) for finding in findings]


def trees(**sources: str) -> dict[str, ast.Module]:
    """Return made-up modules; `__` in a name stands for a dot."""
    return {name.replace("__", "."): ast.parse(text) for name, text in sources.items()}


def imports_of(**sources: str) -> Imports:
    """Return the imports of made-up modules."""
    return read_imports(trees(**sources))


def test_a_room_imports_only_rooms_above_it() -> None:
    assert backward_imports(package_imports()) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert import_cycle(package_imports()) == []


def test_the_deciders_share_no_code() -> None:
    imports = package_imports()
    assert {"lang.semantics", "lang.desugar", "lang.core", "hard.exact", "hard.batch_hard", "run.mp"} <= imports.keys()
    assert forbidden_chains(imports) == []


def of_checker(name: str) -> str:
    """Return the module of the package that a name in CHECKER stands for."""
    return f"verify.{name}".removesuffix(".")


def file_of_checker(name: str) -> str:
    """Return the file below hardsim/verify of a name in CHECKER."""
    folder = name in ("", *(other.rpartition(".")[0] for other in CHECKER))
    return f"{name.replace('.', '/')}/__init__.py".lstrip("/") if folder else f"{name.replace('.', '/')}.py"


def test_the_checker_imports_nothing_but_itself() -> None:
    imports = package_imports()
    found = {module: targets for module, targets in imports.items() if within(module, "verify")}
    expected = {of_checker(name): {*map(of_checker, targets)} for name, targets in CHECKER.items()}
    assert found == expected
    for module in found:
        roots = {name.split(".")[0] for name, _ in imported_names(package_trees()[module], module)}
        assert roots - {"hardsim", "__future__"} <= sys.stdlib_module_names, module


def test_the_guide_to_the_checker_lists_its_modules() -> None:
    guide = (ROOT / "docs" / "checker.md").read_text(encoding="utf-8")
    listed = {name: int(lines) for name, lines in re.findall(r"^\|`([\w/]+\.py)`\|(\d+)\|$", guide, re.MULTILINE)}
    assert list(listed) == [*map(file_of_checker, CHECKER)]
    for name, lines in listed.items():
        found = len((ROOT / "hardsim" / "verify" / name).read_text(encoding="utf-8").splitlines())
        assert abs(found - lines) <= max(10, found // 20), f"{name} has {found} lines"
    names = list(CHECKER)
    assert [name for name in names if not CHECKER[name] <= {*names[: names.index(name)]}] == []


ALONE = """
import sys
sys.path.insert(0, {folder!r})
from importlib import import_module
for name in {names!r}:
    import_module(name)
print(*sorted(sys.modules))
"""


def test_the_checker_runs_without_the_rest(tmp_path: Path) -> None:
    package = tmp_path / "hardsim"
    shutil.copytree(ROOT / "hardsim" / "verify", package / "verify")
    for name in ("__init__.py", "version.py"):
        shutil.copy(ROOT / "hardsim" / name, package / name)
    names = [f"hardsim.{of_checker(name)}" for name in CHECKER]
    # -S: installed packages outside the standard library cannot be imported either.
    script = ALONE.format(folder=str(tmp_path), names=names)
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert {name for name in loaded if within(name, "hardsim")} == {"hardsim", "hardsim.version", *names}
    assert {*HEAVY} & {*loaded} == set()


def code_lines(text: str) -> int:
    """Count lines that hold code: neither docstrings nor comments, and not blank."""
    texts = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    said = [node for node in texts if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)]
    docstrings = {line for node in said for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and line.strip()[0] != "#" and k not in docstrings for k, line in lines)


def test_lines_of_code_are_counted() -> None:
    assert code_lines('"""Said.\n\nMore."""\nx = 1  # why\n# why\n\ny = """\n"""\n') == 3


def test_the_checker_is_small() -> None:
    files = {name: ROOT / "hardsim" / "verify" / file_of_checker(name) for name in CHECKER}
    lines = {name: code_lines(path.read_text(encoding="utf-8")) for name, path in files.items()}
    assert sum(lines[name] for name in OF_PROGRAMS) < 2_300
    networks, rocq = ({name for name in CHECKER if name.startswith(room)} for room in ("external", "rocq"))
    assert sum(lines[name] for name in networks) < 2_800
    assert sum(lines[name] for name in rocq) < 800
    assert sum(lines[name] for name in ("counting", "normed", "rounded")) < 570
    assert lines["geometric"] < 100
    assert lines["exponentials"] < 25
    apart = {*OF_PROGRAMS, *networks, *rocq, "counting", "normed", "rounded", "geometric", "exponentials"}
    assert sum(lines[name] for name in CHECKER if name not in apart) < 2_510


def test_nothing_outside_asks_which_kind_of_input_it_has() -> None:
    taken = {
        (module, name)
        for module, tree in package_trees().items()
        if not within(module, "targets")
        for source, name in imported_names(tree, module)
        if within(source, "hardsim.targets.inputs")
    }
    assert {name for _, name in taken} == {"Input", "of_formula"}


def test_no_function_is_too_long() -> None:
    assert in_package({module: long_functions(tree) for module, tree in package_trees().items()}) == []


def class_names(trees: Mapping[str, ast.Module]) -> set[str]:
    """Return the names of all public classes of some modules."""
    found = (node for tree in trees.values() for _, node in definitions(tree))
    return {node.name for node in found if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}


def test_a_name_means_one_idea() -> None:
    checker = {module: tree for module, tree in package_trees().items() if within(module, "verify")}
    rest = {module: tree for module, tree in package_trees().items() if module not in checker}
    assert shared_names(checker) == []
    assert shared_names(rest) == []
    assert class_names(checker) & class_names(rest) == IDEAS.keys()


def test_the_laws_speak_of_what_there_is() -> None:
    modules = package_trees().keys()
    named = {*ROOMS, *OUTSIDE, *map(of_checker, CHECKER), *APART}
    named |= {module for barred in APART.values() for module in barred}
    assert {name for name in named if not any(within(module, name) for module in modules)} == set()


def test_nothing_asks_which_target_it_is() -> None:
    """The classes in `hardsim.targets` answer for themselves."""
    trees = package_trees()
    own = [tree for module, tree in trees.items() if module in TARGET_CLASSES]
    classes = {node.name for tree in own for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    found = [
        (what, f"hardsim.{module}, line {line}")
        for module, tree in trees.items()
        if not within(module, "targets") and rank(module) >= rank("targets")
        for what, line in questions(tree, classes)
    ]
    for kind, most in MOST_QUESTIONS.items():
        places = [place for what, place in found if what == kind]
        assert len(places) <= most, (kind, places)


def test_everything_public_is_documented() -> None:
    assert in_package({module: undocumented(tree) for module, tree in package_trees().items()}) == []


def test_imports_are_seen_wherever_they_stand() -> None:
    found = imports_of(
        lang__ast="import hardsim.errors as e, os\n",
        errors="",
        run__mp="def f():\n    from hardsim.lang import ast\n    from hardsim.lang.ast import Not\n",
        cli="from hardsim import errors, load\n",
    )
    assert found == {"lang.ast": {"errors"}, "errors": set(), "run.mp": {"lang.ast"}, "cli": {"errors", ""}}


def test_a_backward_import_is_named() -> None:
    found = imports_of(
        lang__ltl_parser="from hardsim.run.mp import evaluate", run__mp="from hardsim.lang import ltl_parser"
    )
    assert backward_imports(found) == ["hardsim.lang.ltl_parser imports hardsim.run.mp"]
    with pytest.raises(AssertionError, match=r"hardsim\.cellar\.wine stands in no room"):
        backward_imports(imports_of(cellar__wine="import hardsim.errors", errors=""))


def test_a_relative_import_is_refused() -> None:
    raised(
        AssertionError,
        read_imports,
        trees(lang__ltl_parser="from . import ast"),
        match=r"hardsim\.lang\.ltl_parser, line 1",
    )


def test_a_circle_is_named() -> None:
    inner, outer = "if X:\n    from hardsim.lang import c", "from hardsim.lang.a import y"
    found = import_cycle(imports_of(lang__a="import hardsim.lang.b", lang__b=inner, lang__c=outer))
    assert set(found) == {"lang.a", "lang.b", "lang.c"}


def test_a_shared_decision_is_named_with_the_chain() -> None:
    found = imports_of(
        run__mp="import hardsim.network.transformer",
        network__transformer="import hardsim.hard.batch_hard",
        hard__batch_hard="import hardsim.errors",
    )
    assert forbidden_chains(found) == ["hardsim.run.mp -> hardsim.network.transformer -> hardsim.hard.batch_hard"]


def test_long_functions_are_named() -> None:
    body = "    x = 1\n" * MAX_FUNCTION_LINES
    tree = ast.parse(f"class A:\n  def short(self): ...\n  def long(self):\n{body}")
    assert long_functions(tree) == [f"A.long has {MAX_FUNCTION_LINES + 1} lines"]


def test_classes_of_one_name_are_named() -> None:
    found = shared_names(
        trees(
            run__mp="class Step: ...\nclass _Part: ...\ndef f():\n    class Own: ...",
            network__transformer="class Step: ...\nclass _Part: ...\nclass Matrix:\n    class Step: ...",
        )
    )
    assert found == ["Step in run.mp, network.transformer, network.transformer"]


def test_missing_docstrings_are_named() -> None:
    tree = ast.parse(
        '"""Module."""\n'
        "class A:\n"
        "    '''Class.'''\n"
        "    def method(self): ...\n"
        "    def _private(self): ...\n"
        "def documented():\n"
        "    '''Yes.'''\n"
        "    def local(): ...\n"
        "def bare(): ...\n"
    )
    assert undocumented(tree) == ["A.method", "bare"]
    assert undocumented(ast.parse("x = 1")) == ["the module"]


def test_the_version_is_stated_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "hardsim/version.py"
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert citation is not None
    assert citation[1] == __version__
    assert project["project"]["name"] == DISTRIBUTION
    assert list(project["project"]["scripts"]) == ["hardsim"]
    assert version(DISTRIBUTION) == __version__, "the installation is older than hardsim/version.py: install again"
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_dependency_is_pinned() -> None:
    def name(requirement: str) -> str:
        return re.split(r"[<>=!~\[ ]", requirement, maxsplit=1)[0].lower().replace("_", "-")

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []
    expected = [project["build-system"]["requires"], project["project"]["dependencies"]]
    extras = project["project"]["optional-dependencies"]
    assert [name for name in extras.pop("foreign") if "==" not in name] == []  # pinned by a separate environment
    expected += extras.values()
    assert {name(requirement) for group in expected for requirement in group} - {name(pin) for pin in pins} == set()


def test_starting_up_is_cheap() -> None:
    script = f"import hardsim, sys; print(*sorted(set({HEAVY!r}) & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


OWN_TEXTS = {
    "assumption", "bound", "claim", "failure", "hint", "kind", "message", "note", "proof", "purpose", "reach", "reason",
    "summary", "theorem", "what",
}  # fmt: skip
"""Names of attributes that hold texts for people."""
PARSING = {"endswith", "find", "index", "partition", "removeprefix", "removesuffix", "rpartition", "rsplit", "split",
           "splitlines", "startswith"}  # fmt: skip
"""Methods that take a text apart."""


def parsed_texts(tree: ast.Module) -> list[str]:
    """Return the expressions that take a text for people apart, or look for a part of it."""
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PARSING:
            found.append(node.func.value)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            found.append(node.comparators[0])
    return [ast.unparse(one) for one in found if isinstance(one, ast.Attribute) and one.attr in OWN_TEXTS]


def test_no_result_is_read_back_from_its_text() -> None:
    assert in_package({module: parsed_texts(tree) for module, tree in package_trees().items()}) == []
    (tree,) = trees(a="result.proof.startswith('x')\n'x' in error.message\nwords.split()\n1 in result.words").values()
    assert parsed_texts(tree) == ["result.proof", "error.message"]
