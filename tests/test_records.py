"""Results as documents: how each type is written, on made-up records and on random results of every class."""

import json
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hardsim
from hardsim.campaign.result import Evaluation, Mapped, Parting, Shown, TemperatureRange, Tie, WordsResult
from hardsim.measuring.critical import Bracket
from hardsim.measuring.head_patterns import HeadLeast, HeadTie
from hardsim.proof.programs.every_length import HeadDecay, ProgramArgument
from hardsim.proof.shared.result import NoProof
from hardsim.records import (
    LONGEST_REPR,
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
    short,
    written,
)
from hardsim.report.document import RANDOM, RESULTS, Document
from hardsim.report.notices import InputRead, Note
from hardsim.report.schema import described, docstrings_of, schema
from hardsim.report.schema import text as schema_text
from hardsim.targets.base import ModelOptions
from hardsim.targets.external import External
from hardsim.targets.opening import read_input
from hardsim.visible import OBEYED
from tests.support.check import Mismatch, Subject
from tests.support.documents import SCHEMA, VALIDATOR, exact, valid
from tests.support.language import Arith, parse_arith
from tests.support.mistakes import raised
from tests.support.model import LengthTable, Transformer
from tests.support.pages import Page
from tests.support.subjects import shipped

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
    """The object that the record was made from."""

    @property
    @written
    def double(self) -> Measured:
        """Twice the error."""
        return 2 * self.error

    @property
    def triple(self) -> Fraction:
        """A number that is not part of the document."""
        return 3 * self.error


def literals(record: Record) -> dict[str, str]:
    """Return the numbers of a record's document as they are written."""
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
    """A record class that lacks descriptions and types."""

    bare: Fraction | None
    """A fraction without a way to write it."""
    dumb: int
    fine: Annotated[int, "An integer."]
    text_of: Exact
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
    assert repr(Sample("x", gap=Fraction(1, 3))) == "<Sample double=0 name='x' gap=0.333>"
    assert repr(Note(None, None, "a\tb\x1b[1m")) == "<Note input=None regime=None message='a\\tb\\x1b[1m'>"
    assert repr(Sample("yes " * 400)).endswith(" yes yes ...>")
    assert repr(Sample("y" * 400)).endswith("yyy ...>")
    assert all(len(repr(Sample(name))) <= LONGEST_REPR + 2 for name in ("yes " * 400, "y" * 400))


def test_a_fact_is_not_left_out_because_it_is_none_or_false_or_0() -> None:
    bracket = Bracket(None, None, None, None, 0, False)
    assert Record.summary.fget(bracket) == (  # type: ignore[attr-defined]  # a property
        "closed=False temperature_constant=None n=None right_at=None wrong_at=None word=None tried=0 exhaustive=False"
    )
    assert repr(bracket) == "<Bracket no beta proved right, no word found wrong>"
    # The default is 1; True must not count as 1.
    assert "words=True" in repr(Sample("x", words=True))


def test_what_drives_a_terminal_is_visible_in_every_summary() -> None:
    word = ("\x1b[1m", "\u202e")
    for record in (
        Mismatch(word, True, False, None),
        Evaluation(word, None, word, (None, "\x9b"), 9),
        WordsResult("a\nb\x1b\udc80", "ltl", None, "hard", 1, 2, (word,)),
    ):
        assert OBEYED.search(repr(record)) is None
        assert OBEYED.search(record._repr_html_()) is None
    assert repr(Mismatch(word, True, False, None)).startswith(
        "<Mismatch soft/hard and hard/oracle on \\x1b[1m \\u202e:"
    )
    assert repr(WordsResult("a\nb\x1b\udc80", "ltl", None, "hard", 1, 2, (word,))) == (
        "<WordsResult a b\\x1b\\udc80: 1 word to length 1, by hard>"
    )


def test_a_long_word_leaves_room_for_the_answers() -> None:
    word = ("a",) * 500
    begins = "a" * 40 + "... (500 symbols)"
    assert repr(Evaluation(word, True, True, None, 9, output=Fraction(1, 4))) == (
        f"<Evaluation {begins}: oracle accept, hard accept, soft undecided (output 0.25)>"
    )
    assert repr(Evaluation(("a",), None, ("a", None), None, 9, decided=False)) == (
        "<Evaluation a: hard a?, soft not decided>"
    )
    assert repr(Evaluation(("ab", "b"), (), (), (), 9)) == (
        "<Evaluation ab b: oracle (empty), hard (empty), soft (empty)>"
    )


SINCE = str(Path(__file__).parents[1] / "formulas" / "since.ltl")


def test_each_result_says_what_a_reader_needs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(SINCE).parent)
    since = hardsim.load("since.ltl")
    right, wrong = since.check(max_n=2), since.check(max_n=2, regime="none")
    assert repr(right).startswith("<CheckResult PROVED since.ltl: every word of length 1 to 2, from the weights: ")
    assert repr(right).endswith(" ...>")
    # Without sharpening b and c have too similar weights; a word of one symbol is still right, bc is wrong.
    assert repr(wrong) == f"<CheckResult REFUTED since.ltl: {wrong.reach}: bc>"
    assert wrong.mismatch is not None
    assert wrong.mismatch.output is not None
    output = short(wrong.mismatch.output)
    answers = f"oracle reject, hard reject, soft undecided (output {output})"
    assert repr(wrong.mismatch) == f"<Mismatch soft/hard on bc: {answers}>"
    assert repr(since.prove(max_n=2)) == (
        "<ProofResult PROVED since.ltl: every word of length 1 to 2, from the weights: the network accepts exactly "
        "what the formula says>"
    )
    report = since.bound(max_n=2)
    assert repr(report) == f"<BoundResult CERTIFIED since.ltl: {report.reach}>"
    # Words of a, b, c up to length 2 that end in b, or in b and a.
    assert repr(since.words(max_n=2)) == "<WordsResult since.ltl: 5 words to length 2, by oracle>"
    found = since.eval("cba", "bc")
    assert repr(found) == "<EvalResult since.ltl: 2 words, 2 agree, 0 mismatches>"
    assert repr(found[0]) == "<Evaluation cba: oracle accept, hard accept, soft accept>"
    assert repr(since.eval("bc", beta="1/2")) == "<EvalResult since.ltl: 1 word, 0 agree, 1 mismatch>"
    assert repr(right.model) == "<ModelFacts 1 layer, 1 head, regime temperature, beta 4>"
    least = since.bound(max_n=2, critical=True)
    every = least.every_length
    assert None not in (every.right_at, every.wrong_at, every.word)
    right_at, wrong_at = (f"{rounded(Fraction(end or 0), 12):f}" for end in (every.right_at, every.wrong_at))
    assert repr(least) == (
        f"<CriticalResult since.ltl: every length right at beta {right_at}, wrong at {wrong_at} on "
        f"{''.join(every.word or ())}>"
    )
    assert repr(replace(least, partial=True)).endswith(", interrupted>")
    assert repr(replace(found, partial=True)).endswith(", interrupted>")


def test_a_transduction_shows_its_output() -> None:
    found = hardsim.load(Path(SINCE).with_name("reverse.srasp"))
    word = found.alphabet[:2]
    shown = "".join(reversed(word))
    assert repr(found.eval(word)[0]) == (f"<Evaluation {''.join(word)}: oracle {shown}, hard {shown}, soft {shown}>")


def test_records_are_compared_hashed_and_pickled_as_data() -> None:
    record = Mismatch(("a",), True, False, None, Fraction(1, 3))
    assert pickle.loads(pickle.dumps(record)) == record
    assert hash(pickle.loads(pickle.dumps(record))) == hash(record)
    assert not hasattr(record, "__dict__")


# ---- in a notebook ----


def test_a_result_in_a_notebook() -> None:
    rows = (Tie("h1", 1, ("a", "b"), 0, 2), Tie("h2", 3, ("b",), 1, 2))
    html = Sample("x", gap=Fraction(1, 3), rows=rows, words=10**30)._repr_html_()
    page = Page(html)
    assert page.texts[0] == "double=0 name='x' gap=0.333 words=1e30"
    assert {"name", "x", "gap", "0.333", "h1", "h2", "a b", "position", "1e30"} <= set(page.texts)
    assert '<span title="1/3">0.333</span>' in html
    assert f'<span title="{10**30}">1e30</span>' in html
    assert "<details open><summary>rows: 2</summary>" in html
    assert "<details><summary>all facts</summary>" in html
    assert page.seen.count("tr") == 9 + 1 + 2  # a row for each other key, and three rows of the table
    assert "style" not in html
    assert "class=" not in html


def test_the_verdict_stands_before_the_facts_in_a_notebook() -> None:
    html = hardsim.load(SINCE).check(max_n=2, regime="none")._repr_html_()
    docstrings_of = Page(html).texts
    assert docstrings_of[0].startswith("REFUTED ")
    places = [html.index(part) for part in ("<strong>REFUTED", "soft/hard on bc", "score gap", "all facts", "sha256")]
    assert places == sorted(places)
    assert "score_gap" not in html
    assert "<details><summary>1</summary><table>" in html  # the head of a length
    # The place where softmax departs from hard attention: with a score 1 ahead at temperature 1 it reads 1/(1 + e) for
    # 0.
    assert {
        "parting",
        ": layer 1, position 2, head S4.read: it reads 0.269 instead of 0, off by 0.269; up to 0.25",
    } <= {one.removesuffix(" is rounded away") for one in docstrings_of}
    # An answer that is missing on every word keeps its column; the exact ends of a bracket stay distinct.
    blunt = Page(hardsim.load(SINCE).eval("bc", beta="1/2")._repr_html_()).texts
    assert blunt[blunt.index("word") :][:4] == ["word", "oracle", "hard", "soft"]
    ends = Bracket(2, Fraction(2773, 1000), Fraction(2772, 1000), ("a",), 9, True)._repr_html_()
    assert "<td>2.773</td>" in ends
    assert "<td>2.772</td>" in ends


def test_a_record_within_another_is_one_line_that_opens() -> None:
    html = hardsim.load(SINCE).prove(all_n=True)._repr_html_()
    docstrings_of = Page(html).texts
    assert docstrings_of[docstrings_of.index("shown") + 1] == ": accepted b, ab, acb; rejected a, ac, abc"
    assert docstrings_of[docstrings_of.index("all n") + 1] == ": proved"
    assert "the rightmost selected position, mask 'future': error at most x <= 0.136" in docstrings_of  # e^-2 = 0.1353
    # The notebook omits facts that are not about the network; the result itself has all facts.
    model, facts = html[html.index("<b>model</b>") : html.index("<b>all n</b>")], html[html.index("all facts") :]
    assert "<th>beta</th><td>4</td>" in model
    assert "ties broken" not in model
    assert "<th>mismatch</th><td>–</td>" in facts


def test_texts_with_blanks_stay_distinct_in_a_notebook() -> None:
    found = HeadDecay("h", 1, ("positions in order", "look-up"), ("1/n",), True, None, Fraction(0), 0)
    assert {"positions in order; look-up", "1/n"} <= set(Page(found._repr_html_()).texts)


def test_words_are_described_in_one_line() -> None:
    assert Shown(outputs=(Mapped(("a", "b"), (1, 2)), Mapped(("b",), ("b",)))).summary == "ab -> 1 2; b -> b"
    assert HeadLeast(Fraction(1, 8), ("a", "b"), 1).summary == "0.125 on ab at 1"
    assert HeadTie(("a", "b"), 2, (0, 1)).summary == "ab at 2: 0, 1"
    assert TemperatureRange(Fraction(1, 8), Fraction(1, 4)).summary == "0.125 to 0.25"
    assert TemperatureRange(Fraction(1, 8), Fraction(1, 8)).summary == "0.125"
    assert ProgramArgument(parse_arith("1/n")).summary == "proved at temperature 1/n"
    assert ProgramArgument(None, reason="no rate").summary == "not proved: no rate"
    assert Parting(1, "h", "", 2, Fraction(0), Fraction(1, 4), None).reads == "it reads 0.25 instead of 0, off by 0.25"


def test_rows_of_different_classes_stand_one_by_one_in_a_notebook() -> None:
    word = Evaluation(("a",), True, True, True, 9)
    least = Bracket(None, None, None, None, 0, False)
    docstrings_of = Page(Document("x", None, 0, results=(word, least))._repr_html_()).texts  # type: ignore[arg-type]  # of no command
    assert {"results: 2", word.summary, least.summary} <= set(docstrings_of)


def test_a_long_list_of_words_is_cut_in_a_notebook() -> None:
    words = tuple((symbol,) for symbol in map(str, range(103)))
    docstrings_of = "".join(Page(WordsResult("x", "ltl", None, "hard", 1, 103, words)._repr_html_()).texts)
    assert "98, 99, ... (3 more)" in docstrings_of
    assert "accepted: 103" in docstrings_of


@given(st.text(st.sampled_from("<>&\"'/ab"), max_size=12))
def test_text_is_escaped_in_a_notebook(text: str) -> None:
    hostile = "<script>alert(1)</script>" + text
    page = Page(Sample(hostile, rows=(Tie(hostile, 1, (hostile,), 0, 2),))._repr_html_())
    assert "script" not in page.seen
    assert "".join(page.texts).count(hostile) >= 3  # the name, the head, the word; quotes are escaped in the summary


# ---- random results of every class ----

CLASSES = sorted({one for some in RESULTS.values() for one in some} | {Document}, key=lambda one: one.__name__)


def parts(kind: Any) -> Iterator[type[Record]]:
    """Yield a record class and the record classes of its fields."""
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
    # The objects that results were made from are not part of the document.
    External: st.just(read_input("networks/majority").network(ModelOptions())),
    Subject: st.sampled_from([shipped("since.ltl"), shipped("ties.ahat.json"), shipped("dyck1.srasp")]),
    NoProof: st.none(),
    Transformer: st.none(),
    Arith: st.sampled_from([parse_arith("1/(8*n^4)"), parse_arith("1/log(n+1)")]),
    LengthTable: st.just(LengthTable((Fraction(1, 2),))),
    Mapping: st.just({}),
    dict: st.just({}),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Draw values of a type as results have it."""
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
                return st.lists(values(get_args(base)[0]), min_size=least, max_size=3).map(tuple)
            case Limits():
                return st.just("0a" * 32)
    arguments = get_args(base)
    if get_origin(base) in (Union, UnionType):
        # A table that may be null is null: `{}` does not meet the schema of each.
        own = [one for one in arguments if "dict" not in repr(one) or NoneType not in arguments]
        return st.one_of([values(one) for one in own])
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
"""Keys whose text may be a number: all digits of one, or an expression in i and n."""


def numeric_strings(data: Any, key: str = "") -> Iterator[str]:
    """Yield texts that look like numbers under any other key; a program that is embedded as a file is left out."""
    if isinstance(data, dict):
        for name, one in data.items():
            yield from numeric_strings(one, name) if name != "program" else ()
    elif isinstance(data, list):
        for one in data:
            yield from numeric_strings(one, key)
    elif isinstance(data, str) and key not in TEXTS and NUMBER.fullmatch(data):
        yield f"{key}: {data}"


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_results_meet_the_schema(kind: type[Record], data: st.DataObject) -> None:
    record = data.draw(values(kind))
    found = record.to_dict() if kind is Document else valid(record)
    assert list(numeric_strings(found)) == []
    assert list(found) == list(kinds(kind))
    assert repr(record).count("\n") == 0
    assert len(repr(record)) <= LONGEST_REPR + 2
    Page(record._repr_html_())


@pytest.mark.sweep(every=16)
@pytest.mark.parametrize("command", RESULTS)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_documents_hold_the_results_of_their_command_alone(command: str, data: st.DataObject) -> None:
    result = data.draw(values(data.draw(st.sampled_from(RESULTS[command]))))
    inputs = (InputRead("x", "0" * 64, ("a",)),)
    document = Document(command, 0 if command in RANDOM else None, 0, inputs, (result,)).to_dict()
    VALIDATOR.validate(document)
    for other in RESULTS.keys() - {command}:
        message = type(result) in RESULTS[other] and (other in RANDOM) == (command in RANDOM)  # as check in a report
        assert VALIDATOR.is_valid(document | {"command": other}) is message
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
    assert committed == schema_text(), "docs/schema.json is out of date: run `make schema`"
    VALIDATOR.check_schema(SCHEMA)
    assert schema() == SCHEMA


def untold(kind: type[Record]) -> list[str]:
    """Return the keys of a record that neither the class nor their type describes, and those that are bare
    fractions.
    """
    texts = docstrings_of(kind)
    return [key for key, hint in kinds(kind).items() if not (texts.get(key) or described(hint)) or bare(hint)]


def bare(kind: Any) -> bool:
    """Return True if a type contains a fraction without a mark for how to write it."""
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
