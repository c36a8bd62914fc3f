"""Dataclasses whose methods are compiled late are compared with those of the standard library."""

import ast
import copy
import dataclasses
import inspect
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, make_dataclass, replace
from itertools import product
from types import FunctionType
from typing import Any, ClassVar

import pytest

from hardsim.lazy_dataclass import dataclass as lazy
from tests.test_project import package_trees

Maker = Callable[..., Any]
SHAPES = [
    dict(zip(("frozen", "slots", "eq", "repr", "kw_only"), options, strict=True))
    for options in product((False, True), repeat=5)
]


def made(dataclass: Maker, options: dict[str, bool]) -> Any:
    """Return a class with a field of each kind."""

    @dataclass(**options)
    class Example:
        """Example."""

        shared: ClassVar[str] = "shared"
        first: Any
        hidden: int = field(compare=False, repr=False)
        second: int = 2
        rows: list[int] = field(default_factory=list, hash=False)
        fixed: str = field(default="fixed", init=False)
        derived: int = field(init=False)
        late: int = field(default=3, kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "derived", self.second + 1)

    return Example


def outcome(act: Callable[[], Any]) -> Any:
    """Return what a call returns, or the type and the text of its error."""
    try:
        return act()
    except Exception as error:
        return type(error), str(error)


def uses(cls: Any, options: dict[str, bool]) -> list[Any]:
    """Return what uses of a class give, as values that can be compared across classes."""
    one, same, other = cls(first=1, hidden=5), cls(first=1, hidden=6), cls(first=2, hidden=5, rows=[7], late=4)
    return [
        [[getattr(found, part.name) for part in fields(cls)] for found in (one, same, other)],
        outcome(lambda: vars(one)),
        repr(one) if options["repr"] else cls.__repr__ is object.__repr__,
        [one == same, one == other, one == (1, 5)],
        outcome(lambda: hash(one) == hash(same)) if cls.__eq__ is not object.__eq__ else None,
        outcome(lambda: setattr(one, "first", 9)),
        # Of a class with slots, Python 3.11 raises a TypeError of its own.
        None if options["slots"] else outcome(lambda: setattr(one, "unknown", 9)),
        outcome(lambda: delattr(one, "second")),
        [replace(other, first=8).first, outcome(lambda: replace(other, fixed="x"))],
        [getattr(copy.copy(other), part.name) for part in fields(cls)],
        other.__reduce_ex__(2)[2],
        [outcome(lambda: cls()), outcome(lambda: cls(1, 2, 3, [4], 5, 6)), outcome(lambda: cls(first=1, no=2))],
        str(inspect.signature(cls)),
        [cls.__match_args__, cls.__doc__, cls.__init__.__qualname__.split(".")[-2:], cls.__init__.__module__],
        [getattr(cls.__dataclass_params__, name) for name in ("init", "repr", "eq", "order", "frozen")],
        {name for name in vars(cls) if name in ("__eq__", "__hash__", "__repr__", "__setattr__", "__getstate__")},
    ]


@pytest.mark.parametrize("options", SHAPES, ids=lambda one: " ".join(name for name in one if one[name]) or "none")
def test_classes_are_those_of_the_standard_library(options: dict[str, bool]) -> None:
    late, standard = (uses(made(dataclass, options), options) for dataclass in (lazy, dataclasses.dataclass))
    assert late == standard


def test_methods_are_compiled_on_first_use() -> None:
    cls = made(lazy, {"frozen": True})
    names = ("__init__", "__repr__", "__eq__", "__hash__")
    assert not any(isinstance(vars(cls)[name], FunctionType) for name in names)
    one = cls(1, 2)
    assert [isinstance(vars(cls)[name], FunctionType) for name in names] == [True, False, False, False]
    assert one == cls(1, 3)
    assert hash(one) == hash(cls(1, 3))
    assert repr(one).endswith("Example(first=1, second=2, rows=[], fixed='fixed', derived=3, late=3)")
    assert all(isinstance(vars(cls)[name], FunctionType) for name in names)


def test_an_object_with_slots_refuses_names_that_are_no_fields() -> None:
    one = made(lazy, {"frozen": True, "slots": True})(1, 2)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'unknown'"):
        one.unknown = 3


def test_own_methods_stay() -> None:
    @lazy(frozen=True)
    class Own:
        number: int

        def __init__(self, number: int) -> None:
            object.__setattr__(self, "number", number + 1)

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    @lazy(frozen=True)
    class Hashed:
        number: int

        def __hash__(self) -> int:
            return 7

    assert (Own(1).number, repr(Own(1)), Own(1) == Own(2)) == (2, "own", True)
    assert hash(Own(1)) == hash((2,))
    assert hash(Hashed(1)) == 7
    assert Own.__doc__ == "Own"


@pytest.mark.parametrize("above", [lazy, dataclasses.dataclass])
@pytest.mark.parametrize("below", [lazy, dataclasses.dataclass])
def test_classes_inherit_across_both_kinds(above: Any, below: Any) -> None:
    @above(frozen=True, slots=True)
    class Above:
        first: int

    @below(frozen=True, slots=True)
    class Below(Above):
        second: int = 2

    class Plain(Above):
        pass

    kinds: tuple[Any, ...] = (Above, Below, Plain)
    one, two, three = (kind(1) for kind in kinds)
    assert (two.first, two.second, two == kinds[1](1, 2), two == one, three.first) == (1, 2, True, False, 1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'first'"):
        two.first = 2
    with pytest.raises(TypeError, match="non-frozen"):
        dataclasses.dataclass(type("Loose", (Above,), {}))


def test_an_ordered_class_is_one_of_the_standard_library() -> None:
    @lazy(frozen=True, order=True)
    class Ordered:
        number: int

    assert Ordered(1) < Ordered(2)
    assert isinstance(vars(Ordered)["__init__"], FunctionType)


def shipped() -> list[Any]:
    """Return the dataclasses of all modules of the package that are imported, except those of the checker."""
    for module in ("api", "cli.app", "cli.commands", "proving.prove", "precision.structure", "targets.opening"):
        __import__(f"hardsim.{module}")
    modules = [sys.modules[name] for name in sorted(sys.modules) if name.split(".")[0] == "hardsim"]
    return [
        one
        for module in modules
        if not module.__name__.startswith("hardsim.verify")
        for one in vars(module).values()
        if isinstance(one, type) and is_dataclass(one) and one.__module__ == module.__name__
    ]


def test_shipped_classes_are_called_as_in_the_standard_library() -> None:
    found = shipped()
    assert len(found) > 300
    for cls in found:
        parts = [(one.name, one.type, copy.copy(one)) for one in fields(cls)]
        frozen = cls.__dataclass_params__.frozen
        standard: Any = make_dataclass(cls.__name__, parts, frozen=frozen, eq=cls.__dataclass_params__.eq)
        assert cls.__match_args__ == standard.__match_args__, cls
        assert not any(one.name.endswith("_") for one in fields(cls)), f"{cls}: its names are those of __init__"
        if "__init__" in vars(cls) and cls.__init__.__code__.co_filename == "<string>":
            assert str(inspect.signature(cls)) == str(inspect.signature(standard)), cls


def test_no_class_of_the_package_has_parameters_that_are_no_fields() -> None:
    names = {node.id for tree in package_trees().values() for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "InitVar" not in names


def test_modules_take_the_decorator_from_here() -> None:
    found = {
        module.split(".")[0]
        for module, tree in package_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if any(alias.name == "dataclass" for alias in node.names)
    }
    assert found == {"lazy_dataclass", "verify"}
