"""Tests of the list of messages: the source text has the recorded messages, and the finder finds the right texts."""

import ast

import pytest

from tests.golden import messages, screens
from tests.golden.messages import Module, Package, lines_of, pattern
from tests.golden.running import changes, require_same


def recorded() -> list[str]:
    return messages.RECORD.read_text(encoding="utf-8").splitlines()


def test_the_list_is_on_file() -> None:
    require_same(changes(recorded(), messages.found_messages()), "messages")


def test_errors_that_are_printed_are_on_the_list() -> None:
    """The error in each recorded screen is a text of the list with its exit code.

    Errors of usage are found by typer and reworded by hardsim: these have no code in the list.
    """
    listed = [(code, pattern(text)) for _, code, text in (line.split("  ", 2) for line in recorded())]
    patterns = [(code, found) for code, found in listed if len(found.pattern.replace(".*", "").strip()) >= 8]
    said = []
    for line in screens.SCREENS:
        text = screens.path_of(line).read_text(encoding="utf-8")
        code = text.split("\n")[1].removeprefix("exit code ")
        for error in (one for one in text.partition(screens.ERR)[2].split("\n") if "error: " in one):
            said.append(error)
            codes = {one for one, expected in patterns if expected.search(error)}
            assert codes & ({messages.NO_CODE} if "no such option" in error else {code}), error
    assert len(said) >= 12


SOURCE = '''"""Not the docstring of a module."""
from hardsim.errors import InputError, Undecided
HINT = "Give a smaller number."
"""Not the docstring of a name."""
UNUSED = "This sentence is printed somewhere else."

def check(n: int, path: str) -> None:
    """Not the docstring of a function."""
    told = f"{path}: the number {n} is " + ("too large" if n else "missing here")
    if path == "not what is compared" or path.startswith("nor what is looked for"):
        raise InputError(told, HINT)
    if n > 7:
        raise refusal("seven is the most")
    if n > 5:
        raise InputError(*reason(n))
    raise Undecided("no verdict")

def reason(n: int) -> tuple[str, str]:
    return f"{n} is refused", "Give a number below 6."

def refusal(why: str) -> InputError:
    return InputError(f"refused: {why}")
'''


def found(source: str) -> list[str]:
    module = Module("m", ast.parse(source))
    Package([module])
    return lines_of(module)


def test_messages_are_found() -> None:
    """Texts are followed through names, constants, and functions that return errors or texts. Compared strings and
    docstrings are not on the list.
    """
    assert found(SOURCE) == [
        "m  2  Give a smaller number.",
        "m  -  This sentence is printed somewhere else.",
        "m  2  {}: the number {} is {}",
        "m  2  too large",
        "m  2  missing here",
        "m  2  seven is the most",
        "m  3  no verdict",
        "m  2  {} is refused",
        "m  2  Give a number below 6.",
        "m  2  refused: {}",
    ]


def test_renaming_changes_nothing() -> None:
    renamed = SOURCE.replace("told", "message").replace("refusal", "refused_by").replace("HINT", "ADVICE")
    assert renamed != SOURCE
    assert found(renamed) == found(SOURCE)


def test_a_change_is_reported_in_one_line() -> None:
    old = found(SOURCE)
    new = found(SOURCE.replace("no verdict", "no verdict yet"))
    assert changes(old, old) == []
    assert changes(old, new) == ["'m  3  no verdict' was recorded, 'm  3  no verdict yet' is found"]
    with pytest.raises(
        pytest.fail.Exception, match=r"^'m  3 .* yet' is found; .*: python -m tests.golden.record messages$"
    ):
        require_same(changes(old, new), "messages")
