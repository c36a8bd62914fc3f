"""Tests of hints that say to leave something out: they name only what was given."""

import json
import re
from pathlib import Path
from shutil import copyfile, copytree
from typing import Any

import pytest

import hardsim as python
from tests.support.attention_models import shares, sided, with_head
from tests.support.language import HardsimError, formulas_directory

_BLAME = re.compile(
    r"[Ll]eave (?P<out>[^.;:\n]*)|(?P<given>[^.;:\n]*) (?:does not apply|cannot be given)"
    r"|(?P<goes>--[a-z-]+) (?:goes with|is for|are for)"
    r"|(?:[Ll]arger|[Ss]maller|[Ll]ower|[Hh]igher|[Ff]ewer|[Ll]ess|[Rr]aise|[Ww]ithout) (?P<moved>--[a-z-]+)"
)
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def blamed(text: str) -> set[str]:
    """Return the options that a text says to leave out, or that do not apply."""
    joined = " ".join(text.split())
    parts = (next(filter(None, found.groups()), "") for found in _BLAME.finditer(joined))
    return {option for part in parts for option in _OPTION.findall(part)}


FAILING = [
    "check x.model.json --beta 7",
    "check x.model.json --regime position",
    "check x.model.json --tau 1/2",
    "check x.model.json --single-head",
    "check x.model.json --counting sign",
    "check x.model.json --at first",
    "check net --beta 3",
    "check net --regime all --single-head",
    "check net --alphabet a",
    "check net --dialect weak-next",
    "check x.ltl --against net",
    "check x.ltl --beta 1 --max-n 5",
    "check x.ltl --regime none --max-n 5",
    "check x.ltl --regime position --tau 1/2",
    "check x.srasp --tau 5 --max-n 4",
    "check x.srasp --epsilon 9/10 --max-n 3",
    "check x.ltl --tau 1 --max-n 5",
    "check x.ltl --tau 1 --beta 1 --max-n 5",
    "check lcm.ahat.json --max-n 6",
    "check lcm.ahat.json --max-n 6 --tau 1/2",
    "check lcm.ahat.json --max-n 6 --epsilon 1/3",
    "check first.ahat.json --max-n 4",
    "check first.soft.ahat.json --max-n 4",
    "check x.srasp --samples 100000 --max-n 900",
    "bound lcm.ahat.json --max-n 3 --tau 1/2",
    "bound x.ltl --regime none --max-n 3",
    "prove lcm.ahat.json --all-n",
    "prove lcm.ahat.json",
    "prove first.ahat.json --all-n",
    "prove x.ltl --beta 1",
    "prove low.model.json",
    "prove x.ltl --beta 2 --tau 1",
    "words x.ltl --max-n 30",
    "words x.re --max-n 300000 --exhaustive 9",
    "check soft.ahat.json --max-n 4",
    "check hard.ahat.json --beta 2 --epsilon 1/9",
    "check low.model.json --max-n 4",
    "check x.ltl --scheduler tcp://h:1",
    "check x.ltl --pin --against x.re",
    "check x.ltl x.srasp --pin",
    "check -e a --alphabet a --props a",
    "check -e a x.ltl",
    "check x.ltl --format json --json y",
    "check x.ltl --lines",
    "bound x.ltl --beta 1 --max-n 5",
    "bound low.model.json --max-n 4",
    "bound soft.ahat.json --max-n 4",
    "bound x.ltl --critical --beta 3",
    "bound x.ltl --critical --gap",
    "bound net",
    "prove x.srasp --all-n",
    "prove x.ltl --smt q.smt2",
    "prove hard.ahat.json --all-n --smt q.smt2",
    "prove net --certificate c",
    "prove x.ltl --against x.re",
    "prove x.ltl --regime none",
    "prove x.ltl x.srasp --certificate c",
    "trace x.ltl a --engine float64",
    "trace x.ltl x.srasp a --plot p.png",
    "trace low.model.json bc",
    "eval x.ltl a --regime none",
    "compile net -o z",
    "compile x.re -o z",
    "export x.ltl --to torch --length 3 -o z",
    "export x.ltl --to onnx --length 3 --max-n 4 -o z",
    "precision x.ltl --accumulate float8",
    "precision x.ltl --dtype float64",
    "fmt x.ltl --check --write",
    "verify c.json --at first",
    "verify c.json --dialect weak-next",
    "words x.ltl --alphabet a",
    "show x.re --regime position",
    "equiv x.ltl net",
    "heads x.ltl",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an input of each kind."""
    place = tmp_path_factory.mktemp("inputs")
    (place / "x.ltl").write_text("alphabet: a b c\na S b\n", encoding="utf-8")
    (place / "x.re").write_text("alphabet: a b c\na*\n", encoding="utf-8")
    copyfile(formulas_directory() / "flipflop.srasp", place / "x.srasp")
    model = python.load(place / "x.ltl")
    model.compile().save(place / "x.model.json")
    model.compile(beta=1).save(place / "low.model.json")
    model.compile(hard=True).save(place / "hard.ahat.json")
    model.prove(max_n=3, certificate=place / "c.json")
    document = json.loads((place / "hard.ahat.json").read_text("utf-8"))
    del document["compiled"], document["sharpness"], document["program"]["regime"]
    document["program"]["threshold"], document["temperature"] = "1/2", "5"
    (place / "soft.ahat.json").write_text(json.dumps(document), encoding="utf-8")
    (place / "lcm.ahat.json").write_text(json.dumps(shares()), encoding="utf-8")
    (place / "first.ahat.json").write_text(json.dumps(sided("leftmost")), encoding="utf-8")
    softmax = with_head(sided("softmax"), hardmax="leftmost") | {"temperature": "1/9"}
    (place / "first.soft.ahat.json").write_text(json.dumps(softmax), encoding="utf-8")
    copytree(formulas_directory() / "networks" / "flipflop", place / "net")
    return place


@pytest.fixture
def files(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copytree(made, tmp_path / "inputs")
    monkeypatch.chdir(tmp_path / "inputs")
    return tmp_path / "inputs"


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("command", FAILING)
def test_a_hint_blames_only_what_was_given(hardsim: Any, files: Path, command: str) -> None:
    words = command.split()
    outcome = hardsim(*words)
    assert outcome.code in (0, 1, 2, 3), outcome.err
    assert blamed(outcome.out + outcome.err) <= set(words), outcome.out + outcome.err


def test_what_is_blamed_is_found() -> None:
    """The function `blamed` finds options in all forms of hints, so the test above can fail."""
    assert blamed("Leave out --x, or give y.") == {"--x"}
    assert blamed("give --beta, or leave --tau out.") == {"--tau"}
    assert blamed("so --regime all does not apply") == {"--regime"}
    assert blamed("--length is for --to onnx") == {"--length"}
    assert blamed("raise --beta or lower --tau: the defaults") == {"--beta", "--tau"}
    assert blamed("Give a smaller --max-n.") == {"--max-n"}
    assert blamed("Add --backend dask, or --max-n below 3.") == set()


def refused(action: Any) -> str:
    with pytest.raises(HardsimError) as caught:
        action()
    return str(caught.value)


def test_python_names_only_what_was_given(files: Path) -> None:
    model = python.load("x.ltl")
    assert "Leave out backend." in refused(lambda: model.check(against=lambda word: True, backend="ray"))
    assert "Leave out workers." in refused(lambda: model.check(against=lambda word: True, workers=2))
    given: dict[str, Any]
    for given in ({"props": "auto"}, {"dialect": "weak-next"}):
        (name,) = given
        message = refused(lambda given=given: python.load("net", **given))
        assert name in message
        assert not ({"props", "dialect"} - {name}) & {*re.findall(r"\w+", message)}
