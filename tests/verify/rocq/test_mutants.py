"""Altered instances and altered models: none is taken for the other's."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardsim.errors import InputError
from tests.support.rocq_instances import LIBRARY, NAMES, TOKEN, bare, compared, model_of

SMALL = ("since", "since_position", "ones_divide_length")
SWEPT = [name if name in SMALL else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
FAMILIES = (
    ("Future", "Past", "Unmasked"), ("true", "false"), ("AtFirst", "AtLast"), ("First", "Last"),
    ("Once", "Historically", "Eventually", "Always", "Next", "WeakNext", "Yesterday", "WeakYesterday", "Not"),
    ("And", "Or", "Xor", "Implies", "Equivalent", "Since", "Trigger", "Until", "Release", "WeakUntil",
     "StrongRelease"),
    ("Le", "Eq"), ("Square", "Prime", "PowerOf2"), ("Both", "Either"), ("Add", "Sub", "Mul", "Div", "Mod"),
    ("X", "Len"), ("Position", "Length"), ("AtMost", "Equal"), ("CountLeft", "CountRight", "CountAll"),
    ("let_0", "let_1"), ("N", "C", "F"),
)  # fmt: skip
"""Names that could stand for each other."""


def stated(name: str) -> list[tuple[str, int]]:
    """Return the tokens outside the hints, each with its offset in the text without the first comment."""
    text = bare(name)
    hints = range(text.index("Definition C"), text.index("Theorem"))
    return [(one[0], one.start()) for one in TOKEN.finditer(text) if one.start() not in hints]


def some(name: str, mutants: list[Any]) -> list[Any]:
    """Return all mutants of a small instance, and every seventh one of another."""
    return mutants if name in SMALL else mutants[::7]


def put(name: str, at: int, old: str, new: str) -> str:
    """Return the text of an instance with one token replaced."""
    text = bare(name)
    assert text[at:].startswith(old)
    return text[:at] + new + text[at + len(old) :]


def outcome(name: str, text: str | None = None, model: Any = None) -> str:
    """Return VALID, INVALID or the class of bad input; anything else passes as a defect."""
    try:
        return "VALID" if compared(name, text, model) is None else "INVALID"
    except InputError as error:
        return type(error).__name__


def changed_names(token: str) -> Iterator[str]:
    """Yield the names that could stand in the place of a name."""
    for family in FAMILIES:
        if token in family:
            yield from (other for other in family if other != token)


@pytest.mark.parametrize("name", SWEPT)
def test_each_number_counts(name: str) -> None:
    """A denominator of 0 counts nothing: 0/1 and 0/2 are the same."""
    numbers = [(token, at) for token, at in stated(name) if token.isdigit()]
    assert len(numbers) > 50
    for token, at in some(name, numbers):
        if not re.match(r"\(0 # $", bare(name)[max(0, at - 5) : at]):
            assert outcome(name, put(name, at, token, str(int(token) + 1))) != "VALID", (token, at)


@pytest.mark.parametrize("name", SWEPT)
def test_each_name_counts(name: str) -> None:
    mutants = [put(name, at, token, new) for token, at in stated(name) for new in changed_names(token)]
    assert len(mutants) > 10
    found = {outcome(name, mutant) for mutant in some(name, mutants)}
    assert "VALID" not in found
    assert "INVALID" in found


LONGER = ("since_position", "ones_divide_length", "first_half")


@pytest.mark.parametrize("name", ["since", *(pytest.param(name, marks=pytest.mark.slow) for name in LONGER)])
def test_each_token_counts(name: str) -> None:
    """No token can be left out, or be there twice. Of modules, Definitions and Check must be imported."""
    others = {f"{one}.v" for one in ("Nodes", "Analysis", "Values", "Heads", "Surface")} & LIBRARY.keys()
    for token, at in some(name, stated(name)):
        assert f"{token}.v" in others or outcome(name, put(name, at, token, "")) != "VALID", (token, at)
        assert outcome(name, put(name, at, token, f"{token} {token}")) != "VALID", (token, at)


@pytest.mark.parametrize("name", SWEPT)
def test_each_sign_counts(name: str) -> None:
    text = bare(name)
    for one in re.finditer(r"\(-(?=[1-9])", text[: text.index("Definition C")]):
        assert outcome(name, put(name, one.start(), "(-", "(")) == "INVALID", one
    for one in re.finditer(r"\((?=[1-9]\d* # )", text[: text.index("Definition C")]):
        assert outcome(name, put(name, one.start(), "(", "(-")) == "INVALID", one


@pytest.mark.parametrize("name", SWEPT)
def test_each_operand_has_its_place(name: str) -> None:
    """Operands of operators that do not commute are exchanged; those of And are too, since trees are compared."""
    pattern = (
        r"(\((?:Since|Trigger|Until|Release|And|Or|Implies|AtMost|Le|Sub|Mod) )(\w+|\([\w ]+\)) (\w+|\([\w ]+\))\)"
    )
    text = bare(name)
    text = text[: text.index("Definition N")]
    for one in re.finditer(pattern, text):
        if one[2] != one[3]:
            new = f"{one[1]}{one[3]} {one[2]})"
            assert outcome(name, put(name, one.start(), one[0], new)) in ("INVALID", "SourceError"), new


def walk(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the path and the value of each number and text in JSON."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from walk(item, (*path, key))
    else:
        yield path, value


def with_value(name: str, path: tuple[Any, ...], new: Any) -> Any:
    """Return a model with one value changed."""
    model = model_of(name)
    at = model["model"]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return model


@pytest.mark.parametrize("name", SWEPT)
def test_each_entry_of_the_model_counts(name: str) -> None:
    """Shapes other than that of w_q, and names, are no part of the network."""
    tried = 0
    for path, value in walk(model_of(name)["model"]):
        if "entries" in path or "b1" in path or "b2" in path:
            other = value + 100 if isinstance(value, int) else f"{value}1"
            tried += 1
            assert outcome(name, model=with_value(name, path, other)) == "INVALID"
        elif path[-1] in ("mask", "temperature", "value") and "/" not in str(value):
            other = {"future": "past", "past": "none", "none": "future"}.get(value, "i^3")
            assert outcome(name, model=with_value(name, path, other)) == "INVALID"
    assert tried > 30


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("since", "a S b", "b S a"), ("since", "a S b", "a S c"), ("since", "a S b", "a T b"),
        ("since", "a S b", "!(a S b)"), ("since", "alphabet: a b c", "alphabet: b a c"),
        ("weak_next", "at: first", "at: last"), ("ones_divide_length", "n mod c == 0", "n mod c == 1"),
        ("ones_divide_length", "c != 0", "c != 1"), ("features", "O q", "H q"), ("features", "2*i > n", "2*i >= n"),
        ("features", "PRIME", "SQUARE"), ("features", "pos + 1", "pos + 2"), ("features", "props: p q", "props: q p"),
        ("features", "X far", "WX far"), ("features", "let far", "let near = p\nlet far"),
    ],
)  # fmt: skip
def test_each_part_of_the_formula_counts(name: str, old: str, new: str) -> None:
    model = model_of(name)
    text = "\n".join(line for line in model["source"]["text"].split("\n") if not line.startswith(("accept", "reject")))
    assert old in text
    assert outcome(name, model=model | {"source": {"text": text}}) == "VALID"
    assert outcome(name, model=model | {"source": {"text": text.replace(old, new)}}) == "INVALID"


def test_an_unused_definition_counts() -> None:
    text = "alphabet: a b c\nlet x = b\na S b\n"
    model = model_of("since") | {"source": {"text": text}}
    for body, expected in (("(Atom 1)", "VALID"), ("(Atom 0)", "INVALID"), ("Position", "SourceError")):
        mutant = bare("since").replace("Definition F", f"Definition let_0 : formula := {body}.\nDefinition F")
        assert outcome("since", mutant, model) == expected
        assert outcome("since", mutant) == "INVALID"
    assert outcome("since", model=model) == "INVALID"


def test_what_changes_nothing() -> None:
    text = bare("dyck1")
    for same in (
        text.replace(" ", "\n  "),
        text.replace("Definition", "(* a (* b *) *) Definition"),
        text.replace("(0 # 1)", "(0 # 5)"),
        text.replace("(1 # 2)", "(2 # 4)"),
        text.replace("(Atom 0)", "((Atom 0))"),
        text.replace("\n", "\r\n"),
    ):
        assert outcome("dyck1", same) == "VALID"


def plain(text: str) -> list[str]:
    """Return the tokens of a text without comments and hints. Fractions of 0 are 0, and brackets of names are left out.

    This is a second reading of the text, for texts that differ little from an instance."""
    text = re.sub(r"Definition C .*?(?=Theorem)", "", text, flags=re.DOTALL)
    text = re.sub(r"\(\*.*?\*\)", " ", text, flags=re.DOTALL)
    text = re.sub(r"\(-?0 # \d+\)", "0", " ".join(TOKEN.findall(text)).replace("( ", "(").replace(" )", ")"))
    text = re.sub(r"\((\w+)\)", r"\1", text)
    text = re.sub(r"\(- ?0\) % Z", "0 % Z", text)
    return TOKEN.findall(text)


PIECES = (
    "", " ", "()", "0", "1", "(", ")", "(*", "*)", "(* *)", '"', "Axiom x.", ".", "And ", "(Atom 0)", "-", "#", "let_0",
    "; ", "[]", "AtFirst", "Q", "'", ":=",
)  # fmt: skip


@settings(max_examples=300)
@given(st.sampled_from(SMALL), st.floats(0, 1), st.integers(0, 8), st.sampled_from(PIECES))
def test_a_text_that_is_altered_is_valid_only_if_it_reads_the_same(
    name: str, where: float, length: int, new: str
) -> None:
    text = bare(name)
    at = int(where * len(text))
    mutant = text[:at] + new + text[at + length :]
    if outcome(name, mutant) == "VALID":
        assert plain(mutant) == plain(text), mutant[max(0, at - 40) : at + 40]
