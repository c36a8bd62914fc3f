"""Mistakes of somebody who uses hardsim for the first time: each message names the cause and the next step."""

import json
import shutil
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hardsim.records import about
from tests.cli.conftest import Cli, interrupt, written
from tests.support.documents import VALIDATOR
from tests.support.language import formulas_directory

NETWORKS = formulas_directory() / "networks"


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ('"r U g', "this quote is never closed"),
        ('r U "g', "this quote is never closed"),
        ("AG r", "there are no path quantifiers (A and E of CTL): write G"),
        ("EF(r)", "there are no path quantifiers (A and E of CTL): write F"),
        ("mod(2,0)", "the predicate is MOD(m, r), the remainder (t) mod m = r"),
        ("z r", "did you mean Z?"),
    ],
)
def test_formulas(hardsim: Cli, formula: str, said: str) -> None:
    hardsim("check", "-e", formula, "--alphabet", "r g").refused(said)


def test_an_operator_is_no_advice_where_only_a_name_may_stand(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "z.ltl", "alphabet: r g\nlet y = g\nH (r -> z)\n")
    hardsim("check", path).refused("unknown symbol or name 'z'").unsaid("Z?")


def test_an_open_quote_in_a_program(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "q.cr", 'alphabet: a b\nA = "a && true\n')
    hardsim("check", path).refused("q.cr:2:5: error: this quote is never closed")


def changed(path: Path, change: Any) -> Path:
    """Write the shipped flip-flop model to a path, with a change, and return the path."""
    document = json.loads((formulas_directory() / "flipflop.ahat.json").read_text(encoding="utf-8"))
    change(document)
    return written(path, json.dumps(document))


def test_keys_of_another_version(hardsim: Cli, tmp_path: Path) -> None:
    path = changed(tmp_path / "old.ahat.json", lambda document: document.update(schema_version=1))
    message = 'at schema_version: the key "program" is one of schema_version 2, and this file says 1'
    hardsim("check", path).refused(message, 'Write "schema_version": 2')


def test_the_weighting_that_strict_masks_need_is_not_that_of_a_head(hardsim: Cli, tmp_path: Path) -> None:
    def strict(document: Any) -> None:
        document["program"]["layers"][0]["heads"][0]["mask"] = "strict-future"

    hardsim("check", changed(tmp_path / "m.ahat.json", strict)).refused("a key of the whole network, not of the head")


def test_a_unit_with_out_in_place_of_outs(hardsim: Cli, tmp_path: Path) -> None:
    def unit(document: Any) -> None:
        document["program"]["layers"][0]["units"] = [{"out": {"x": "1"}, "pre": {"1": "1"}}]

    hardsim("check", changed(tmp_path / "u.ahat.json", unit)).refused('with the keys "outs", "pre" and "clip"')


def test_weights_with_fewer_layers_than_the_configuration_states(hardsim: Cli, tmp_path: Path) -> None:
    with chdir(tmp_path):
        shutil.copytree(NETWORKS / "majority", "net")
        config = Path("net/config.json").read_text(encoding="utf-8")
        written(Path("net/config.json"), config.replace('"n_layer": 1', '"n_layer": 2'))
        hardsim("eval", "net", "01").refused("n_layer is 2, and the weights have 1 layer: the tensor transformer.h.1.")
        written(Path("net/config.json"), config)
        written(Path("net/model.safetensors"), "version https://git-lfs.github.com/spec/v1\nsize 12\n")
        hardsim("eval", "net", "01").refused("a Git LFS pointer", "git lfs pull")


def test_words_of_a_network(hardsim: Cli) -> None:
    specification = NETWORKS / "majority.spec"
    hardsim("eval", specification, "0 <bos> 1").refused("<bos> is a special token of the network", "leave it out")
    # Its table has 128 places, two of them for the tokens around the word.
    hardsim("eval", specification, "01" * 64).refused("at most 126 symbols, not 128", "shorter").unsaid("--max-n")


def test_a_network_beside_its_specification(hardsim: Cli, tmp_path: Path) -> None:
    with chdir(tmp_path):
        shutil.copytree(NETWORKS / "majority", "net")
        hardsim("check", "net").refused("`hardsim new net` writes a specification").unsaid("net.spec")
        shutil.copy(NETWORKS / "majority.spec", "net.spec")
        hardsim("check", "net").refused("Name the specification beside it, net.spec").unsaid("hardsim new")


def test_great_numbers_have_two_digits() -> None:
    assert about(999_999_999_999) == "999,999,999,999"
    assert about(10**12) == "about 1e12"
    assert about(659 * 10**24) == "about 6.6e26"


def test_an_interruption_before_the_run(
    hardsim: Cli, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, "hardsim.cli.check.crews")
    hardsim("check", since, "--json", tmp_path / "found.json").exits(130)
    document = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    VALIDATOR.validate(document)
    assert (document["command"], document["exit_code"], document["results"]) == ("check", 130, [])


def test_an_interruption_before_any_result(hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "hardsim.cli.session.read_input")
    hardsim("check", since).exits(130).says("interrupted\n").unsaid("has been printed")


def test_commas_between_the_names_of_a_specification(hardsim: Cli, tmp_path: Path) -> None:
    text = (NETWORKS / "majority.spec").read_text(encoding="utf-8")
    with chdir(tmp_path):
        shutil.copytree(NETWORKS / "majority", "majority")
        for old, new in (("alphabet: 0 1", "alphabet: 0, 1"), ("input: <bos> * <sep>", "input: <bos>, * <sep>")):
            written(Path("commas.spec"), text.replace(old, new))
            hardsim("check", "commas.spec").refused("Separate names by spaces alone, without commas").unsaid("did you")
        written(Path("commas.spec"), text.replace("tokens: 0 1 <bos> <sep>", "tokens: 0, 1, <bos>, <sep>,"))
        hardsim("check", "commas.spec").refused("Separate names by spaces alone, without commas").unsaid("did you")


def test_that_a_run_takes_long_is_noted_once(
    hardsim: Cli, since: Path, future: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.cli.estimate.LATE", 0.0)
    noted: list[str] = []

    @contextmanager
    def patient(what: str) -> Iterator[None]:
        noted.append(what)
        yield

    monkeypatch.setattr("hardsim.cli.precision.patient", patient)
    hardsim("precision", since, future, "--max-n", "3", "--workers", "1").exits(0)
    assert noted == [f"{since}: this takes long: lengths are checked one by one, format by format"]
