"""The JSON Schema (2020-12) of the documents, made from the classes of the results: `docs/schema.json`.

Run as a module, it prints the schema. Descriptions are the docstrings of classes, fields and properties in the source.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Mapping
from enum import Enum
from functools import cache, reduce
from operator import or_
from types import GenericAlias, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from hardsim.program.file import schema as ahat_schema
from hardsim.records import Embedded, Limits, OneOf, Record, Written, computed, kinds
from hardsim.report.document import RANDOM, RESULTS, SCHEMA_VERSION, Document, Result

DIALECT = "https://json-schema.org/draft/2020-12/schema"
INFINITE = Literal["inf", "-inf"]
Number = float | INFINITE
ExactNumber = msgspec.defstruct(
    "ExactNumber",
    [
        ("value", Annotated[Number, msgspec.Meta(description="The number, rounded to 20 significant digits.")]),
        (
            "exact",
            Annotated[
                str,
                msgspec.Meta(
                    pattern="^-?[0-9]+(/[1-9][0-9]*)?$", description="The number itself, p or p/q in lowest terms."
                ),
            ],
        ),
    ],
    namespace={"__doc__": "An exact rational, or an integer that may exceed 2^53."},
    forbid_unknown_fields=True,
)


def one_line(text: str | None) -> str:
    """Return a docstring on one line, with None written as null."""
    return re.sub(r"\bNone\b", "null", " ".join((text or "").split()))


def docstrings_of(kind: type) -> Mapping[str, str]:
    """Return the docstrings of the fields and properties of a record class and its base classes, by name, each on one
    line."""
    found: dict[str, str] = {}
    # A subclass may describe an inherited field again: the last one counts.
    for base in reversed(kind.__mro__[: kind.__mro__.index(Record)]):
        (tree,) = ast.parse(inspect.getsource(base)).body
        assert isinstance(tree, ast.ClassDef)
        for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(after, ast.Expr):
                # Python keeps no docstrings of fields, so they are read from the source.
                found[node.target.id] = ast.literal_eval(after.value)
    found |= {name: get.__doc__ for name, get in computed(kind) if get.__doc__}
    return {name: one_line(text) for name, text in found.items()}


def described(kind: Any) -> str:
    """Return the description in the annotation of a type; empty if it has none."""
    return " ".join(mark for mark in get_args(kind)[1:] if isinstance(mark, str)) if annotated(kind) else ""


def annotated(kind: Any) -> bool:
    """Return True if a type is annotated."""
    return get_origin(kind) is Annotated


@cache
def wire(kind: Any) -> Any:
    """Return the type of a value in a JSON document, as a type whose schema msgspec knows."""
    if isinstance(kind, type) and issubclass(kind, Record):
        return structure(kind.__name__, kind, kinds(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Literal[tuple(one.value for one in kind)]
    if kind is float:
        return Number
    if get_origin(kind) in (Union, UnionType):
        return reduce(or_, map(wire, get_args(kind)))
    if get_origin(kind) is tuple:
        return GenericAlias(tuple, (wire(get_args(kind)[0]), ...))
    if not annotated(kind):
        return kind
    base, *marks = get_args(kind)
    text = described(kind)
    found, more = wire(base) if all(not isinstance(mark, Written) for mark in marks) else base, dict[str, Any]()
    for mark in marks:
        match mark:
            case Written():
                found = ExactNumber if mark.exact else Number
            case OneOf():
                found = Literal[mark.values]
            case Embedded():
                found, more = Any, more | {"extra_json_schema": json.loads(mark.schema)}
            case Limits():
                more |= mark.keywords
    return Annotated[found, msgspec.Meta(**more | ({"description": text} if text else {}))]


def structure(name: str, kind: type, hints: Mapping[str, Any], **how: Any) -> Any:
    """Return a msgspec class for a record, in which every field is required and no other field is allowed."""
    texts, namespace = docstrings_of(kind), how.pop("namespace", {"__doc__": one_line(kind.__doc__)})
    members = []
    for key, hint in hints.items():
        text = texts.get(key) or described(hint)
        members.append((key, Annotated[wire(hint), msgspec.Meta(description=text)] if text else wire(hint)))
    return msgspec.defstruct(name, members, namespace=namespace, forbid_unknown_fields=True, **how)


def schema() -> dict[str, Any]:
    """Return the JSON Schema that every document meets."""
    documents = []
    for command, results in RESULTS.items():
        # Classes without a tag make no union in msgspec, but do in a schema.
        items = {"items": {"anyOf": [{"$ref": f"#/$defs/{one.__name__}"} for one in results]}}
        hints = kinds(Document) | {"seed": int if command in RANDOM else None}
        hints["results"] = Annotated[tuple[Any, ...], Embedded(json.dumps(items | {"type": "array"}))]
        del hints["command"]
        description = {"__doc__": f"The document that `hardsim {command} --json` writes."}
        name = f"{command.capitalize()}Document"
        documents.append(structure(name, Document, hints, namespace=description, tag_field="command", tag=command))
    types = [reduce(or_, documents), *(wire(one) for one in get_args(Result))]
    (root, *_), found = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    head = {"$schema": DIALECT, "title": f"hardsim --json, schema version {SCHEMA_VERSION}"}
    about = {"description": one_line(Document.__doc__)}
    return head | about | {"oneOf": root["anyOf"], "$defs": found | _of_programs("program")}


def _of_programs(*names: str) -> dict[str, Any]:
    """Return the named definitions of the schema of .ahat.json files, with all definitions to which they refer."""
    there, found, waiting = ahat_schema()["$defs"], dict[str, Any](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = there[name]
            waiting += [other for other in there if f'"#/$defs/{other}"' in json.dumps(found[name])]
    return dict(sorted(found.items()))


def text() -> str:
    """Return the schema as text, as in `docs/schema.json`."""
    return json.dumps(schema(), ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    print(text(), end="")
