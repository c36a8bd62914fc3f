"""`dataclass` as in the standard library, with methods that are compiled when they are first used.

The standard library compiles six methods of a frozen dataclass when the class is made, in 0.4 milliseconds. A command
imports 500 such classes, makes objects of a third of them, and compares or prints few: compiling all methods took a
third of the time of a short command. Here the standard library makes the fields and the slots. In place of each method
stands a descriptor, which puts the method in its place on first use. Classes cannot have an `InitVar`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields, make_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Make a class a dataclass, with the options of the standard library."""
        return _made(cls, **options) if cls is not None else lambda found: _made(found, **options)


class _Factory:
    """The default of a parameter whose value a function makes."""

    def __repr__(self) -> str:
        return "<factory>"


FACTORY = _Factory()


class _Later:
    """A method that is compiled when it is first looked up; `make` returns it. It then replaces this descriptor."""

    __slots__ = ("make", "name", "owner")

    def __init__(self, owner: type, name: str, make: Callable[[type], Any]) -> None:
        self.owner, self.name, self.make = owner, name, make

    def __get__(self, instance: object, kind: type | None = None) -> Any:
        method = self.make(self.owner)
        method.__qualname__ = f"{self.owner.__qualname__}.{self.name}"
        if vars(self.owner).get(self.name) is self:
            setattr(self.owner, self.name, method)
        return method.__get__(instance, kind)


def _made(cls: Any, repr: bool = True, eq: bool = True, frozen: bool = False, order: bool = False, **shape: Any) -> Any:
    if order:
        return dataclasses.dataclass(cls, repr=repr, eq=eq, frozen=frozen, order=order, **shape)
    own = set(vars(cls))
    explicit_hash = "__hash__" in own and not (cls.__hash__ is None and "__eq__" in own)
    # Without a docstring the standard library writes the signature, which takes longer than all the rest.
    cls.__doc__ = cls.__doc__ or cls.__name__
    # The standard library refuses a class that is not frozen below one that is, and the first is what it makes here.
    above = [vars(base)["__dataclass_params__"] for base in cls.__mro__[1:] if "__dataclass_params__" in vars(base)]
    icy = [one for one in above if one.frozen]
    try:
        for one in icy:
            one.frozen = False
        made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, **shape)
    finally:
        for one in icy:
            one.frozen = True
    about = made.__dataclass_params__
    about.init, about.repr, about.eq, about.frozen = True, repr, eq, frozen
    methods: dict[str, Any] = {"__init__": _frozen_init if frozen else _init}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods["__eq__"] = _eq
    for name, make in methods.items():
        if name not in own:
            setattr(made, name, _Later(made, name, make))
    if eq and not explicit_hash:
        made.__hash__ = _Later(made, "__hash__", _hash) if frozen else None
    if frozen:
        _freeze(made, own)
    return made


# ---- methods ----


def _freeze(cls: Any, own: set[str]) -> None:
    """Refuse changes of objects of a class. Pickles of objects with slots are read without such changes."""
    names = frozenset(one.name for one in fields(cls))

    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807  # it becomes the class's
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__
    if "__slots__" in vars(cls):
        for method in (_getstate, _setstate):
            if (name := f"__{method.__name__[1:]}__") not in own:
                setattr(cls, name, method)


@cache
def _names(cls: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(cls))


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in _names(self.__class__)]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(_names(self.__class__), state, strict=True):
        object.__setattr__(self, name, value)


def _twin(cls: Any, **which: Any) -> Any:
    """Return a class with the fields of a dataclass, for which the standard library makes the methods `which`."""
    parts = [(one.name, one.type, one) for one in fields(cls)]
    return make_dataclass(cls.__name__, parts, **{"init": False, "repr": False, "eq": False, **which})


def _repr(cls: Any) -> Any:
    return _twin(cls, repr=True).__repr__


def _eq(cls: Any) -> Any:
    return _twin(cls, eq=True).__eq__


def _hash(cls: Any) -> Any:
    return _twin(cls, unsafe_hash=True).__hash__


def _frozen_init(cls: Any) -> Any:
    return _init(cls, "    set_(self_, {name!r}, {value})")


def _init(cls: Any, setting: str = "    self_.{name} = {value}") -> Any:
    """Compile `__init__`. Names that end in an underscore are no fields (`tests/test_lazy_dataclass.py`)."""
    scope: dict[str, Any] = {"__name__": cls.__module__, "set_": object.__setattr__, "factory_": FACTORY}
    plain, keywords, lines = ["self_"], ["*"], []
    for one in fields(cls):
        name, value = one.name, one.name
        if one.default_factory is not MISSING:
            scope[f"make_{name}_"] = one.default_factory
            value = " ".join([f"make_{name}_()", *(("if", name, "is", "factory_", "else", name) if one.init else ())])
        elif one.default is not MISSING:
            scope[f"default_{name}_"] = one.default
            value = name if one.init else f"default_{name}_"
        if one.init:
            (keywords if one.kw_only else plain).append(name + _default(one))
        elif one.default_factory is MISSING and (one.default is MISSING or "__slots__" not in vars(cls)):
            continue
        lines.append(setting.format(name=name, value=value))
    if hasattr(cls, "__post_init__"):
        lines.append("    self_.__post_init__()")
    parameters = ", ".join(plain + (keywords if keywords[1:] else []))
    exec("\n".join([f"def __init__({parameters}):", *lines, "    return"]), scope)
    method = scope.pop("__init__")
    method.__annotations__ = {one.name: one.type for one in fields(cls) if one.init} | {"return": None}
    return method


def _default(one: Field[Any]) -> str:
    """Return how the parameter of a field gives its default."""
    if one.default_factory is not MISSING:
        return "=factory_"
    return "" if one.default is MISSING else f"=default_{one.name}_"
