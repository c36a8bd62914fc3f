"""A list of all messages of hardsim, found in its source text without running it.

Each line names the module, the exit code, and the text; `{}` stands for what is filled in. The exit code is that of the
error class that receives the text: directly, through a name, through a function that returns such an error, or from a
function that returns the text. A text that no error receives has no code (`-`): remarks, reasons, and sentences of
reports. Names of classes and functions do not appear: renaming them changes nothing here, rewording changes one line.
"""

import ast
import gc
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import hardsim
from hardsim import errors

PACKAGE = Path(hardsim.__file__).parent
RECORD = Path(__file__).with_name("messages.txt")
NO_CODE = "-"
MOST_LINES = 3
"""The greatest number of line breaks of a message, plus one. Longer texts are no messages but pages: manuals, grammars,
and programs that are written to files.
"""
UNSEEN = frozenset({
    "compile", "count", "encode", "endswith", "find", "fullmatch", "getattr", "index", "match", "partition",
    "removeprefix", "removesuffix", "replace", "rfind", "rpartition", "rsplit", "search", "split", "startswith",
    "strip", "sub",
})  # fmt: skip
"""Methods whose string arguments are never printed: patterns, separators, names of attributes."""

_PATTERN = re.compile(r"\\[sSwb](?![a-z])|\\[.(]|\[\^|\(\?[:P]")
_WORD = re.compile(r"[A-Za-z]{2,}")
_PROSE = re.compile(r"[A-Za-z]{2,}[,;:.!?)']* (?:\S+ )*\(?[a-z]{2,}")

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SURVEYED = (ast.Call, ast.FunctionDef, ast.arg, ast.ImportFrom)
ASSIGNING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.comprehension)
Code: TypeAlias = str


def error_codes() -> dict[str, Code]:
    """Return the exit code of each error class of hardsim, and of typer's."""
    found = {
        name: str(kind.exit_code)
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.HardsimError)
    }
    return found | {"BadParameter": "2"}


class Module:
    """A module of hardsim: its texts, and what its names stand for.

    A scope is the outermost function or method around a node, or the module.
    """

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name, self.tree = name, tree
        self.texts: dict[int, str] = {}
        """The texts that may be printed, in the order of the source, by the identity of their nodes."""
        self.codes: dict[int, set[Code]] = defaultdict(set)
        """The exit codes of those texts that an error receives."""
        self.handed: set[tuple[int, Code]] = set()
        """The expressions that an error receives, with its exit code."""
        self.scopes: dict[int, ast.AST] = {}
        """The scope of each node that is a name."""
        self.assigned: dict[tuple[int, str], list[ast.expr]] = defaultdict(list)
        """The expressions that are assigned to each name of each scope."""
        self.nodes: list[ast.AST] = []
        """The nodes that can determine the class of an error."""
        self._survey(tree, tree, shown=True)

    def _survey(self, node: ast.AST, scope: ast.AST, shown: bool) -> None:
        """Record the names, texts and assignments below a node. `shown` is False where a string is never printed."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # a docstring
            return
        if isinstance(node, ast.Name):
            self.scopes[id(node)] = scope
        elif isinstance(node, SURVEYED):
            self.nodes.append(node)
        elif isinstance(node, ASSIGNING):
            self._assign(node, scope)
        inside = node if scope is self.tree and isinstance(node, FUNCTIONS) else scope
        text = template(node)
        if text is not None and shown:
            self.texts[id(node)] = text
        hides = isinstance(node, ast.Call) and last_name(node.func) in UNSEEN
        for child in children(node) if text is None else inner(node):
            hidden = hides or (isinstance(node, ast.Compare) and template(child) is not None)
            self._survey(child, inside, shown and not hidden)

    def _assign(self, node: ast.AST, scope: ast.AST) -> None:
        """Record what a node assigns."""
        for target, value in assignments(node):
            for one in ast.walk(target):
                if isinstance(one, ast.Name):
                    self.assigned[id(scope), one.id].append(value)

    @cached_property
    def writers(self) -> dict[str, list[ast.FunctionDef]]:
        """The functions and methods that return texts, by name."""
        found: dict[str, list[ast.FunctionDef]] = defaultdict(list)
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                named = {last_name(one) for one in ast.walk(node.returns)}
                if "str" in named:
                    found[node.name].append(node)
        return found

    @cached_property
    def imported(self) -> dict[str, tuple[str, str]]:
        """The module, and the name there, of each name that is imported from the package."""
        return {
            alias.asname or alias.name: (node.module, alias.name)
            for node in self.nodes
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }


def assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the target and the value of each assignment that a node makes."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield node.target, node.iter


def last_name(node: ast.AST) -> str:
    """Return the last part of the dotted name that is called or annotated."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class Package:
    """All modules, and the exit code of each text."""

    def __init__(self, modules: list[Module]) -> None:
        self.modules = {module.name: module for module in modules}
        self.classes = error_codes()
        self.aliases = self._aliases()
        self.functions = self._functions()
        for module in modules:
            parameters = self._parameters(module)
            for node in module.nodes:
                if isinstance(node, ast.Call):
                    self._hand(module, node, parameters)

    def _code(self, annotation: ast.AST | None) -> Code | None:
        """Return the exit code of the error class that an annotation names."""
        named = [last_name(node) for node in ast.walk(annotation)] if annotation is not None else []
        return next((self.classes[name] for name in named if name in self.classes), None)

    def _aliases(self) -> dict[str, Code]:
        """Return the type aliases of functions that return errors."""
        values = (
            (target, value) for module in self.modules.values() for node in module.tree.body
            for target, value in assignments(node)
        )  # fmt: skip
        return {
            last_name(target): code
            for target, value in values
            if isinstance(value, ast.Subscript) and last_name(value.value) == "Callable" and (code := self._code(value))
        }

    def _functions(self) -> dict[str, Code]:
        """Return the functions and methods that return an error."""
        found = {}
        for module in self.modules.values():
            for node in module.nodes:
                if not isinstance(node, ast.FunctionDef) or isinstance(node.returns, ast.Subscript):
                    continue
                if code := self._code(node.returns):
                    found[node.name] = code
        return found

    def _parameters(self, module: Module) -> dict[str, Code]:
        """Return the parameters of functions that are functions which return an error."""
        found = {}
        for node in module.nodes:
            if isinstance(node, ast.arg) and isinstance(node.annotation, (ast.Name, ast.Subscript)):
                kind = last_name(getattr(node.annotation, "value", node.annotation))
                code = self._code(node.annotation) if kind == "Callable" else self.aliases.get(kind)
                if code:
                    found[node.arg] = code
        return found

    def _hand(self, module: Module, call: ast.Call, parameters: dict[str, Code]) -> None:
        """Mark the arguments of a call that creates an error."""
        name = last_name(call.func)
        code = self.classes.get(name) or self.functions.get(name)
        if code is None and isinstance(call.func, ast.Name):
            code = parameters.get(name)
        if code is not None:
            for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                self._mark(module, argument, code)

    def _mark(self, module: Module, argument: ast.expr, code: Code) -> None:
        """Mark a text with an exit code, and the expressions assigned to the names in it."""
        if (id(argument), code) in module.handed:
            return
        module.handed.add((id(argument), code))
        for node in ast.walk(argument):
            if isinstance(node, ast.Name):
                self._mark_name(module, module.scopes[id(node)], node.id, code)
            elif isinstance(node, ast.Call):
                self._mark_call(module, node.func, code)
            elif id(node) in module.texts:
                module.codes[id(node)].add(code)

    def _mark_call(self, module: Module, called: ast.expr, code: Code) -> None:
        """Mark the texts that a function of the module returns, or one that is imported, or a method of the object."""
        name = last_name(called)
        if isinstance(called, ast.Attribute) and last_name(called.value) != "self":
            return
        home, own = module.imported.get(name, (module.name, name))
        for function in self.modules[home].writers.get(own, ()) if home in self.modules else ():
            for node in ast.walk(function):
                if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                    self._mark(self.modules[home], node.value, code)

    def _mark_name(self, module: Module, scope: ast.AST, name: str, code: Code) -> None:
        """Mark the expressions assigned to a name, in the same scope, in the module, or where it is imported from."""
        if values := module.assigned.get((id(scope), name)):
            for value in values:
                self._mark(module, value, code)
        elif scope is not module.tree:
            self._mark_name(module, module.tree, name, code)
        elif name in module.imported:
            home, own = module.imported[name]
            if home in self.modules and own.isupper():
                self._mark_name(self.modules[home], self.modules[home].tree, own, code)


def template(node: ast.AST) -> str | None:
    """Return the text of an expression with `{}` for what is filled in; None if no part of it is a literal string."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join("{}" if (part := template(value)) is None else part for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [template(left), template(right)]
            return None if parts == [None, None] else "".join("{}" if part is None else part for part in parts)
    return None


def children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes directly below a node."""
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.expr_context, ast.operator)))


def inner(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a text that are no literals."""
    for child in children(node):
        if template(child) is None:
            yield child
        else:
            yield from inner(child)


def is_message(text: str, coded: bool) -> bool:
    """Return True if a text is prose of a few lines: for an error any words, for other texts at least two in a row."""
    if text.count("\n") >= MOST_LINES or _PATTERN.search(text):
        return False
    return bool(_WORD.search(text) and " " in text.strip()) if coded else bool(_PROSE.search(text))


def lines_of(module: Module) -> list[str]:
    """Return the lines of a module, without repetitions."""
    found = []
    for node, text in module.texts.items():
        codes = module.codes.get(node, set())
        if is_message(text, bool(codes)):
            plain = text.encode("unicode_escape").decode("ascii")
            found.append(f"{module.name}  {','.join(sorted(codes)) or NO_CODE}  {plain}")
    return list(dict.fromkeys(found))


def parsed(path: Path) -> Module:
    """Return a module of the package by its file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, ast.parse(path.read_text(encoding="utf-8"), str(path)))


def found_messages() -> list[str]:
    """Return the whole list, sorted by module, and in each module in the order of its text.

    Garbage collection is off: among so many tree nodes it would take as long as all the rest.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        package = Package([parsed(path) for path in sorted(PACKAGE.rglob("*.py"))])
        return [line for name in sorted(package.modules) for line in lines_of(package.modules[name])]
    finally:
        if collects:
            gc.enable()


def pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that matches a text of the list when it is printed."""
    plain = text.encode("ascii").decode("unicode_escape")
    return re.compile(".*".join(map(re.escape, plain.split("{}"))), re.DOTALL)
