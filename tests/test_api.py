"""The Python interface."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import hardsim
from hardsim.checking.result import Verdict
from hardsim.errors import InputError
from tests.mistakes import raised
from tests.strategies import all_words


@pytest.fixture
def formula() -> hardsim.Formula:
    return hardsim.parse("alphabet: a b c\naccept: b cba\nreject: a bc\na S b\n")


def test_formula(formula: hardsim.Formula) -> None:
    assert formula.alphabet == ("a", "b", "c")
    assert formula.accepts("cbaa") is True
    assert formula.accepts(["b", "c"]) is False
    assert formula.accepts("bc", at="first") is True


def test_model(formula: hardsim.Formula) -> None:
    model = formula.compile(regime="position")
    assert model.accepts("cba") is True
    assert model.accepts("bc") is False
    assert model.evaluate("cba").mismatch is None
    expected = [word for word in all_words("abc", 3) if "".join(word).rstrip("a").endswith("b")]
    assert list(model.words(3)) == list(model.words(3, by="soft")) == expected


def test_an_undecided_output_is_none(formula: hardsim.Formula) -> None:
    assert formula.compile(beta="1/2").accepts("ba") is None


def test_check(formula: hardsim.Formula) -> None:
    result = hardsim.check(formula, max_n=5)
    assert (result.verdict, result.agreed, result.max_n) == (Verdict.PROVED, True, 5)
    assert hardsim.check(formula.compile(), max_n=5) == result
    assert hardsim.check(formula, beta=Fraction(1, 2), options=hardsim.CheckOptions(max_n=3)).verdict is Verdict.REFUTED
    raised(InputError, hardsim.check, formula.compile(), regime="position", match="a compiled model has its own regime")


def test_files(formula: hardsim.Formula, tmp_path: Path) -> None:
    path = tmp_path / "since.model.json"
    path.write_text(formula.compile(regime="causal-temperature").to_json(), encoding="utf-8")
    assert hardsim.check(path, max_n=4).model.regime == "causal-temperature"
    assert hardsim.load(path).compile().accepts("cba") is True


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hardsim.nothing  # noqa: B018
