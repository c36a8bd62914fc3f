"""Results as documents: how each type is written, on made-up records and on random results of every class."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from html.parser import HTMLParser
from math import inf, nan
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.checking.result import Mismatch, Tie
from hardsim.checking.subject import Subject
from hardsim.network.model import Transformer
from hardsim.records import (
    Count,
    Exact,
    Limits,
    Lower,
    Measured,
    OneOf,
    Record,
    Unwritten,
    Upper,
    Written,
    exact_text,
    kinds,
    number_text,
    rounded,
    written,
)
from hardsim.report.document import RANDOM, RESULTS, Document, InputRead, Note
from hardsim.report.schema import described, said, schema
from hardsim.report.schema import text as schema_text
from hardsim.visible import OBEYED
from tests.documents import SCHEMA, VALIDATOR, exact, valid
from tests.mistakes import raised
from tests.subjects import shipped

TINY = Fraction(1, 10**400)


@dataclass(frozen=True, slots=True, repr=False)
class Sample(Record):
    """A made-up record."""

    name: str
    """A text."""
    gap: Exact | None = None
    """An exact number."""
    error: Measured = Fraction(0)
    """A measured number."""
    ratio: float = 0.5
    """A float."""
    words: Count = 1
    """A count."""
    seed: int = 0
    """An integer."""
    above: Upper = Fraction(0)
    """An upper bound."""
    below: Lower = Fraction(0)
    """A lower bound."""
    rows: tuple[Tie, ...] = ()
    """Rows."""
    inner: Unwritten[object] = None
    """What it was made of."""

    @property
    @written
    def double(self) -> Measured:
        """Twice the error."""
        return 2 * self.error

    @property
    def triple(self) -> Fraction:
        """No part of the document."""
        return 3 * self.error


def literals(record: Record) -> dict[str, str]:
    """The numbers of a record's document as they are written."""
    return dict(re.findall(r'^  "(\w+)": ([^\s",\[{]+),?$', record.to_json(), re.MULTILINE))


# ---- numbers ----


def test_the_type_of_a_field_says_how_it_is_written() -> None:
    found = Sample("x", gap=Fraction(25, 210), error=Fraction(1, 4), words=2**70, inner=object()).to_dict()
    assert list(found) == [
        "double", "name", "gap", "error", "ratio", "words", "seed", "above", "below", "rows",
    ]  # fmt: skip
    assert found["gap"] == {"value": pytest.approx(25 / 210, rel=1e-15), "exact": "5/42"}
    assert (found["error"], found["double"], found["ratio"]) == (0.25, 0.5, 0.5)
    assert found["words"] == {"value": float(2**70), "exact": "1180591620717411303424"}
    assert Sample("x").to_dict()["gap"] is None


def test_a_small_number_is_not_0_and_a_large_one_no_infinity() -> None:
    found = literals(Sample("x", error=TINY, above=Fraction(10**400 + 1)))
    assert (found["error"], found["double"], found["above"]) == ("1E-400", "2E-400", "1.0000000000000000001E+400")
    assert exact(json.loads(Sample("x", gap=TINY).to_json(), parse_float=Decimal)["gap"]) == TINY
    VALIDATOR.evolve(schema={"type": "number"}).validate(Decimal("1E-400"))


@pytest.mark.parametrize(("value", "text"), [(inf, "inf"), (-inf, "-inf")])
def test_infinities_are_strings(value: float, text: str) -> None:
    assert Sample("x", ratio=value).to_dict()["ratio"] == text


def test_what_is_no_number_is_refused() -> None:
    raised(ValueError, number_text, nan)
    raised(ValueError, Sample("x", ratio=nan).to_json)


@given(st.fractions(), st.integers(-3000, 3000))
def test_bounds_stay_bounds_when_they_are_rounded(value: Fraction, power: int) -> None:
    value *= Fraction(10) ** power
    found = literals(Sample("x", above=value, below=value, error=value))
    above, below, near = (Fraction(found[key]) for key in ("above", "below", "error"))
    assert below <= value <= above
    assert above - below <= abs(value) / 10**18
    assert abs(near - value) <= abs(value) / 10**19
    assert bool(near) is bool(value)
    assert all(len(re.sub(r"E.*|\D", "", found[key]).strip("0")) <= 20 for key in ("above", "below", "error"))


@given(st.integers() | st.integers(-(10**40), 10**40))
def test_integers_are_written_whole(value: int) -> None:
    assert Sample("x", seed=value).to_dict()["seed"] == value
    assert Sample("x", words=value).to_dict()["words"]["exact"] == str(value)


def test_a_number_of_millions_of_bits_takes_no_time() -> None:
    # 2^-10^7: 10^7 log10(2) = 3010299.9566, and 10^0.0433602 = 1.10499.
    assert f"{rounded(Fraction(1, 2**10_000_000), 3)}" == "1.1E-3010300"
    assert exact_text(Fraction(10**5000, 3)) == "1" + "0" * 5000 + "/3"


@dataclass(frozen=True, repr=False)
class Silent(Record):
    """A class that says too little."""

    bare: Fraction | None
    """How is it written?"""
    dumb: int
    fine: Annotated[int, "An integer."]
    told: Exact
    """An exact number."""


def test_a_fraction_that_does_not_say_how_it_is_written_is_refused() -> None:
    with pytest.raises(TypeError, match="does not say how it is written"):
        Silent(Fraction(1, 2), 0, 0, Fraction(1)).to_json()


# ---- text ----


@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_any_text_comes_back_and_drives_no_terminal(text: str) -> None:
    record = Sample(text, rows=(Tie(text, 1, (text, "\x7f00e9"), 0, 2),))
    found = record.to_json()
    data = json.loads(found)
    # What JSON calls a surrogate pair is one character.
    once = json.loads(json.dumps(text))
    assert (data["name"], data["rows"][0]["word"]) == (once, [once, "\x7f00e9"])
    for shown in (found.replace("\n", ""), repr(record), record._repr_html_()):
        assert OBEYED.search(shown) is None


def test_a_result_on_one_line() -> None:
    assert repr(Sample("x", gap=Fraction(1, 3))) == "<Sample name=x gap=0.3333 ratio=0.5 words=1>"
    assert repr(Note(None, None, "a\nb\x1b[1m")) == "<Note message=a b\\x1b[1m>"
    assert len(repr(Sample("y " * 400))) < 200


def test_records_are_compared_hashed_and_pickled_as_data() -> None:
    record = Mismatch(("a",), True, False, None, Fraction(1, 3))
    assert pickle.loads(pickle.dumps(record)) == record
    assert hash(pickle.loads(pickle.dumps(record))) == hash(record)
    assert not hasattr(record, "__dict__")


# ---- in a notebook ----


class Page(HTMLParser):
    """Holds that elements are closed in order; collects their names, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.seen, self.said = list[str](), list[str](), list[str]()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def test_a_result_in_a_notebook() -> None:
    rows = (Tie("h1", 1, ("a", "b"), 0, 2), Tie("h2", 3, ("b",), 1, 2))
    page = Page(Sample("x", gap=Fraction(1, 3), rows=rows)._repr_html_())
    assert page.said[0] == "Sample"
    assert {"name", "x", "gap", "0.3333", "h1", "h2", "a b", "position"} <= set(page.said)
    assert page.seen.count("tr") == 10 + 1 + 2  # a row for each key, and of the table of ties the head and two rows


@given(st.text(st.sampled_from("<>&\"'/ab"), max_size=12))
def test_text_is_escaped_in_a_notebook(text: str) -> None:
    hostile = "<script>alert(1)</script>" + text
    page = Page(Sample(hostile, rows=(Tie(hostile, 1, (hostile,), 0, 2),))._repr_html_())
    assert "script" not in page.seen
    assert "".join(page.said).count(hostile) == 3


# ---- random results of every class ----

CLASSES = sorted({one for some in RESULTS.values() for one in some} | {Document}, key=lambda one: one.__name__)


def parts(kind: Any) -> Iterator[type[Record]]:
    """A record class, and those that it is made of."""
    if isinstance(kind, type) and issubclass(kind, Record):
        yield kind
        for one in kinds(kind).values():
            yield from parts(one)
    else:
        for one in get_args(kind):
            yield from parts(one)


ALL = sorted({part for one in CLASSES for part in parts(one)}, key=lambda one: one.__name__)
TEXT = st.text(max_size=3).map(lambda text: f"t{text}")


SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(),
    bool: st.booleans(),
    NoneType: st.none(),
    float: st.floats(allow_nan=False),
    # What results are made of is no part of the document.
    Subject: st.sampled_from([shipped("since.ltl"), shipped("ties.ahat.json"), shipped("dyck1.srasp")]),
    Transformer: st.none(),
    Mapping: st.just({}),
    dict: st.none(),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type as results have it."""
    base, *marks = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    for mark in marks:
        match mark:
            case Written():
                return st.fractions() if base is Fraction else st.integers(0, 10**30)
            case OneOf():
                return st.sampled_from(mark.values)
            case Limits((("ge", least),)):
                return st.integers(least, 10**20)
            case Limits((("min_length", least),)):
                return st.lists(TEXT, min_size=least, max_size=3).map(tuple)
            case Limits():
                return st.just("0a" * 32)
    arguments = get_args(base)
    if get_origin(base) in (Union, UnionType):
        return st.one_of([values(one) for one in arguments])
    if get_origin(base) is tuple:
        return st.lists(values(arguments[0]), min_size=2 * (arguments[-1] is not Ellipsis), max_size=2).map(tuple)
    if isinstance(base, type) and issubclass(base, Record):
        hints = get_type_hints(base, include_extras=True)
        return st.builds(base, **{field.name: values(hints[field.name]) for field in fields(base)})  # type: ignore[arg-type]  # a record is a dataclass
    if isinstance(base, type) and issubclass(base, Enum):
        return st.sampled_from(list(base))
    return SIMPLE[get_origin(base) or base]


NUMBER = re.compile(r"-?[0-9.]+([eE][+-]?[0-9]+)?(/[0-9]+)?")


TEXTS = {"exact", "query", "key", "value", "gap", "temperature", "schedule", "bound"}
"""Where a text may be a number: all digits of one, or an expression in i and n."""


def numeric_strings(data: Any, key: str = "") -> Iterator[str]:
    """Where else a text looks like a number; what is embedded as a file has it is left out."""
    if isinstance(data, dict):
        for name, one in data.items():
            yield from numeric_strings(one, name) if name != "program" else ()
    elif isinstance(data, list):
        for one in data:
            yield from numeric_strings(one, key)
    elif isinstance(data, str) and key not in TEXTS and NUMBER.fullmatch(data):
        yield f"{key}: {data}"


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_results_meet_the_schema(kind: type[Record], data: st.DataObject) -> None:
    record = data.draw(values(kind))
    found = record.to_dict() if kind is Document else valid(record)
    assert list(numeric_strings(found)) == []
    assert list(found) == list(kinds(kind))
    assert repr(record).count("\n") == 0
    Page(record._repr_html_())


@pytest.mark.parametrize("command", RESULTS)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_documents_hold_the_results_of_their_command_alone(command: str, data: st.DataObject) -> None:
    result = data.draw(values(data.draw(st.sampled_from(RESULTS[command]))))
    inputs = (InputRead("x", "0" * 64, ("a",)),)
    document = Document(command, 0 if command in RANDOM else None, 0, inputs, (result,)).to_dict()
    VALIDATOR.validate(document)
    for other in RESULTS.keys() - {command}:
        assert not VALIDATOR.is_valid(document | {"command": other})
    for key in document:
        assert not VALIDATOR.is_valid({name: one for name, one in document.items() if name != key})
    assert not VALIDATOR.is_valid(document | {"seed": None if command in RANDOM else 0})


def test_numeric_strings_are_found() -> None:
    assert list(numeric_strings({"a": ["1/2", "x"], "b": {"exact": "1"}, "c": "1e-9", "d": "inf"})) == [
        "a: 1/2",
        "c: 1e-9",
    ]


# ---- the schema ----


def test_the_schema_is_that_of_the_classes() -> None:
    committed = (Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8")
    assert committed == schema_text(), "make schema writes it anew"
    VALIDATOR.check_schema(SCHEMA)
    assert schema() == SCHEMA


def untold(kind: type[Record]) -> list[str]:
    """The keys of a record that neither the class nor their type describes, and those that are bare fractions."""
    texts = said(kind)
    return [key for key, hint in kinds(kind).items() if not (texts.get(key) or described(hint)) or bare(hint)]


def bare(kind: Any) -> bool:
    """Whether a type has a fraction that does not say how it is written."""
    if get_origin(kind) is Annotated and any(isinstance(mark, Written) for mark in get_args(kind)[1:]):
        return False
    return kind is Fraction or any(map(bare, get_args(kind)))


def test_every_key_is_described_and_typed() -> None:
    assert {kind.__name__: untold(kind) for kind in ALL if untold(kind)} == {}
    assert all(kind.__doc__ and kind.__repr__ is Record.__repr__ for kind in ALL)
    assert len(ALL) > 40


def test_a_key_without_a_description_or_a_type_is_named() -> None:
    assert untold(Silent) == ["bare", "dumb"]


def test_the_schema_is_as_strict_as_its_classes() -> None:
    for kind in ALL:
        if kind is not Document:
            found = SCHEMA["$defs"][kind.__name__]
            assert found["additionalProperties"] is False
            assert found["required"] == list(found["properties"]) == list(kinds(kind))
    (digest, verdict) = (SCHEMA["$defs"]["CheckResult"]["properties"][key] for key in ("sha256", "verdict"))
    assert digest["pattern"] == "^[0-9a-f]{64}$"
    assert sorted(verdict["enum"]) == ["CERTIFIED", "OBSERVED", "PROVED", "REFUTED", "UNDECIDED"]
