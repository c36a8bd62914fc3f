"""Certificates of external networks: `prove --certificate` and `verify` with `--model` and `--spec`."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hardsim as package
from hardsim.reading.network_json import network_json
from hardsim.verify import digests
from hardsim.verify.__main__ import main
from tests.cli.conftest import Cli, written
from tests.cli.test_verify import altered
from tests.support.external import hooked_folder, mean_of_a

TIE = -0.4990234375  # the float -511/1024: a share of 1/2 is above it, and up to 511 symbols nothing less is
MOST = "network: net\nalphabet: a b\noutput 0: #L[a] >= #L[b]\n"
FORMULAS = Path(__file__).parents[2] / "formulas" / "networks"
SHARED = Path(__file__).parents[3] / "shared" / "trained"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network that accepts if at least half of the symbols are a, a right specification, and one that is wrong first
    after a prefix with as many a as b."""
    hooked_folder(tmp_path / "net", TIE)
    hooked_folder(tmp_path / "other", TIE + 2.0**-20)
    written(tmp_path / "most.spec", MOST)
    written(tmp_path / "more.spec", MOST.replace(">=", ">"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def right(hardsim: Cli, here: Path) -> Path:
    """The certificate of the right network to length 8."""
    hardsim("prove", "most.spec", "--max-n", "8", "--certificate", "most.json").exits(0, "certificate, checked: most")
    return here / "most.json"


@pytest.fixture
def wrong(hardsim: Cli, here: Path) -> Path:
    """The certificate of the network that is wrong after 2 symbols."""
    hardsim("prove", "more.spec", "--max-n", "8", "--certificate", "more.json").exits(1, "certificate, checked: more")
    return here / "more.json"


@pytest.mark.usefixtures("right", "wrong")
def test_a_certificate_is_valid_and_compared_with_files(hardsim: Cli) -> None:
    found = hardsim("verify", "most.json")
    found.clean("VALID most.json", "right after every judged prefix of at most 8 symbols", "prefixes 510")
    found.prints("not compared with a file: the model and the specification (--model and --spec)")
    for options in (("--model", "net", "--spec", "most.spec"), ("--spec", "most.spec")):
        found = hardsim("verify", "most.json", *options).clean("network that of", "sha256", "that of most.spec")
        assert "not compared" not in found.out
    hardsim("verify", "most.json", "--model", "net").clean("not compared with a file: the specification (--spec)")
    found = hardsim("verify", "more.json", "--model", "net", "--spec", "more.spec")
    found.clean("right after every judged prefix of at most 1 symbol; wrong after a prefix of 2 symbols, the shortest")


@pytest.mark.usefixtures("here")
def test_a_wrong_word_alone(hardsim: Cli) -> None:
    written(Path("all.ltl"), "alphabet: a b\ntrue\n")
    hardsim("prove", "net", "--against", "all.ltl", "--max-n", "4", "--certificate", "all.json").exits(1)
    found = hardsim("verify", "all.json", "--model", "net", "--spec", "all.ltl")
    found.clean("VALID all.json wrong after a prefix of 1 symbol, the shortest", "wrong b")
    result = hardsim("verify", "all.json", "--json", "-").exits(0).result
    assert (result["min_n"], result["max_n"], result["lengths"], result["prefixes"]) == (None, None, [], 0)
    hardsim("verify", "all.json", "--spec", "all.ltl").refused("--spec is for certificates of external networks")


def test_the_result_for_other_programs(hardsim: Cli, right: Path, wrong: Path) -> None:
    result = hardsim("verify", right, "--spec", "most.spec", "--json", "-").exits(0).result
    assert (result["min_n"], result["max_n"], result["prefixes"], result["wrong"]) == (1, 8, 510, None)
    assert (result["specification"]["kind"], result["formula"], result["temperature"]) == ("lines", None, None)
    assert result["compared"]["specification"] == "most.spec"
    assert set(result["digests"]) >= {"network", "specification", "groups"}
    result = hardsim("verify", wrong, "--json", "-").exits(0).result
    assert (result["lengths"], sorted(result["wrong"]), result["shortest"]) == ([[1, 1]], ["a", "b"], True)


def test_a_certificate_of_another_network_or_specification_is_invalid(hardsim: Cli, right: Path) -> None:
    def refused(*options: str, message: str) -> None:
        hardsim("verify", right, *options).clean("INVALID", message, code=1)

    another = "the certificate is about another network than"
    refused("--model", "other", message=f"{another} other: network.unembedding_bias[0] differs")
    refused("--model", "other", "--spec", "most.spec", message=f"{another} other: network.unembedding_bias[0] differs")
    (layer,) = mean_of_a().layers
    layers = tuple(replace(layer, heads=(replace(layer.heads[0], name=f"h{number}"),)) for number in range(3))
    written(right.parent / "deep.json", json.dumps(network_json(replace(mean_of_a(), layers=layers))))
    refused("--model", "deep.json", message=f"{another} deep.json (a network of 3 layers: certificates are about one")
    other = "the certificate is about another reference than that of more.spec: specification.lines[0][1].formula"
    refused("--spec", "more.spec", message=other)
    for name, text in (("swapped", MOST.replace("a b", "b a")), ("after", MOST + "input: * pad\nat: last\n")):
        written(right.parent / f"{name}.spec", text)
        refused("--spec", f"{name}.spec", message=f"than that of {name}.spec: network.readout")


def test_certificates_of_other_kinds(hardsim: Cli, right: Path, since: Path) -> None:
    hardsim("prove", since, "--max-n", "2", "--certificate", "since.json").exits(0)
    hardsim("compile", since, "-o", "model.json").exits(0)
    about = "the certificate is about"
    hardsim("verify", "since.json", "--model", "net").clean(f"{about} a formula, not about an external", code=1)
    hardsim("verify", "since.json", "--spec", "most.spec").clean(f"{about} a formula, not about an external", code=1)
    hardsim("verify", right, "--formula", since).clean(f"{about} an external network, not about a formula", code=1)
    hardsim("verify", right, "--model", "model.json").clean("not about a compiled model", code=1)
    hardsim("verify", right, "--model", "model.json", "--spec", "most.spec").refused("Name the network with --model")
    hardsim("verify", right, "--model", "most.spec", "--spec", "most.spec").refused("is a specification itself")


def test_the_checker_alone_says_the_same(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(wrong)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"VALID  {wrong}")
    assert '\n  wrong: {"word": [' in shown
    assert '\n  specification: {"kind": "lines"' in shown
    assert "\n  sha256 of network: " in shown
    altered(wrong, lambda document: document["machine"]["moves"].reverse())
    assert main([str(wrong)]) == 1
    assert "INVALID" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_a_certificate_that_is_too_large_is_not_written(hardsim: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.proving.proof_files.LARGEST_FILE", 2**10)
    found = hardsim("prove", "most.spec", "--max-n", "4", "--certificate", "most.json")
    assert "the certificate would be larger than 0 MiB" in found.exits(3, "PROVED").err
    assert not Path("most.json").exists()


def test_python_writes_the_same_certificate(right: Path) -> None:
    place = right.parent / "again.json"
    package.load("most.spec").prove(max_n=8, certificate=place)
    assert place.read_text(encoding="utf-8") == right.read_text(encoding="utf-8")


def sides(document: Any) -> Any:
    """Return the first group whose box is not a point."""
    return next(one for one in document["groups"] if one["tree"]["box"][0] != one["tree"]["box"][1])


def narrowed(document: Any) -> None:
    group = sides(document)
    low, high = group["tree"]["box"]
    group["tree"]["box"][0] = [high[0], *low[1:]]


def required_else(document: Any) -> None:
    required = document["machine"]["required"]
    required[-1] = 1 - required[-1]


def last_length(n: int) -> Callable[[Any], None]:
    return lambda document: document.update(max_n=n)


FORGED: dict[str, Callable[[Any], object]] = {
    "a digest": lambda document: document["digests"].update(network="0" * 64),
    "the claim": lambda document: document.update(claim="P is not NP"),
    "the version": lambda document: document.update(schema_version=4),
    "an unknown section": lambda document: document.update(margins=[]),
    "a missing section": lambda document: document.pop("axes"),
    "a greater length": last_length(9),
    "a smaller length": last_length(7),
    "no length": last_length(0),
    "the shortest length": lambda document: document.update(min_n=0),
    "a wrong word that is right": lambda document: document.update(wrong={"word": ["a"] * 9}),
    "a weight": lambda document: document["network"].update(unembedding_bias=[TIE - 0.01]),
    "a weight that is no number": lambda document: document["network"].update(unembedding_bias=["x"]),
    "an activation": lambda document: document["network"]["layers"][0].update(mlp={"activation": "relu"}),
    "a mask": lambda document: document["network"]["layers"][0]["heads"][0].update(mask="past"),
    "the level": lambda document: document["network"]["readout"].update(level="1/100"),
    "the alphabet": lambda document: document["network"]["readout"].update(alphabet=["b", "a"]),
    "the specification": lambda document: document["specification"]["lines"][0][1]["formula"].update(root=[0, False]),
    "a move": lambda document: document["machine"]["moves"][0].reverse(),
    "a move to nowhere": lambda document: document["machine"]["moves"].__setitem__(0, [-1, -1]),
    "a requirement": required_else,
    "a kind": lambda document: document["machine"]["kinds"].reverse(),
    "an axis": lambda document: document["axes"][0].pop(),
    "a missing class": lambda document: document["groups"].pop(),
    "a missing state": lambda document: max(document["groups"], key=lambda one: len(one["states"]))["states"].pop(),
    "a state that is not reached": lambda document: document["groups"][0]["states"].append(40),
    "the length of a group": lambda document: document["groups"][0].update(length=8),
    "the symbol of a group": lambda document: document["groups"][0].update(symbol=1),
    "a box": narrowed,
    "a choice": lambda document: document["groups"][0].update(tree={"box": [[-9.0], [9.0]], "tree": {"choice": 1}}),
    "no tree": lambda document: document["groups"][0]["tree"].update(tree={}),
    "a box too wide to prove anything": lambda document: sides(document)["tree"].update(box=[[-9.0], [9.0]]),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_certificates_are_invalid(hardsim: Cli, right: Path, what: str) -> None:
    document = json.loads(right.read_text(encoding="utf-8"))
    FORGED[what](document)
    if what not in ("a digest", "a missing section"):
        document["digests"] = digests(document)
    right.write_text(json.dumps(document), encoding="utf-8")
    hardsim("verify", right).clean("INVALID", code=1)


@pytest.mark.parametrize("word", [["a", "a"], ["a"], ["a", "b", "a"], ["c", "b"], []])
def test_another_word_is_not_wrong(hardsim: Cli, wrong: Path, word: list[str]) -> None:
    altered(wrong, lambda document: document.update(wrong={"word": word}))
    hardsim("verify", wrong).clean("INVALID", "wrong.word", code=1)


def test_altered_sections_are_named(hardsim: Cli, right: Path) -> None:
    altered(right, lambda document: document["network"].update(unembedding_bias=[0.0]), resealed=False)
    hardsim("verify", right).clean("INVALID", "network was altered: its SHA-256 digest is another", code=1)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the trained networks are not here")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["tomita1", "D2"])
def test_published_networks(hardsim: Cli, tmp_path: Path, name: str) -> None:
    alphabet, expression = {"tomita1": ("0 1", "/1*/"), "D2": ("a b", "/(a(ab)*b)*/")}[name]
    text = f"alphabet: {alphabet}\ntokens: {alphabet} <bos> <sep> <eos> <pad>\ninput: <bos> *\nnext: {expression}\n"
    spec, certificate = written(tmp_path / "here.spec", text), tmp_path / "here.json"
    found = hardsim("prove", SHARED / name, "--against", spec, "--certificate", certificate)
    assert found.code == (1 if name == "D2" else 0)
    hardsim("verify", certificate, "--model", SHARED / name, "--spec", spec).clean("VALID")
    assert certificate.stat().st_size < 10**6


def leaves(node: Any) -> Iterator[Any]:
    """Yield the leaves of a tree."""
    for half in ("low", "high") if "split" in node else ():
        yield from leaves(node[half])
    if "choice" in node:
        yield node


def divided(document: Any) -> Any:
    """Return the first tree that begins with a division."""
    return next(one["tree"]["tree"] for one in document["groups"] if "split" in one["tree"]["tree"])


def directed(document: Any) -> Any:
    """Return the first leaf that names a direction."""
    return next(leaf for one in document["groups"] for leaf in leaves(one["tree"]["tree"]) if leaf["rows"])


def turned(document: Any) -> None:
    for direction, _ in directed(document)["rows"].values():
        direction[:] = [-value for value in direction]


def lowered(document: Any) -> None:
    for _, bounds in directed(document)["rows"].values():
        bounds[0] -= 1.0


DIVIDED: dict[str, Callable[[Any], object]] = {
    "a missing cell": lambda document: divided(document).update(low={}),
    "one half for both": lambda document: divided(document).update(high=divided(document)["low"]),
    "a division outside of the cell": lambda document: divided(document).update(split=[0, 10.0**6]),
    "a division of no coordinate": lambda document: divided(document).update(split=[99, 0.0]),
    "another direction": turned,
    "a lower bound": lowered,
    "no direction": lambda document: directed(document)["rows"].clear(),
    "a row that is not there": lambda document: directed(document)["rows"].update({"7": [[], []]}),
    "words within a cell": lambda document: divided(document).update(low={"words": True}),
}


FEW = ("one half for both", "a lower bound")
"""Alterations that are tried in `make test`; the readers of tests/verify/external/test_check.py meet the others."""


@pytest.mark.parametrize("altering", [FEW, pytest.param(DIVIDED, marks=pytest.mark.slow)], ids=["few", "all"])
def test_the_shipped_brackets(hardsim: Cli, tmp_path: Path, altering: Iterable[str]) -> None:
    certificate = tmp_path / "here.json"
    hardsim("prove", FORMULAS / "dyck1_depth3.spec", "--certificate", certificate).exits(1)
    found = hardsim("verify", certificate, "--spec", FORMULAS / "dyck1_depth3.spec")
    found.clean("at most 50 symbols; wrong after a prefix of 51 symbols, the shortest")
    hardsim("verify", certificate, "--model", FORMULAS / "majority").clean("about another network than", code=1)
    text = certificate.read_text(encoding="utf-8")
    for what in altering:
        certificate.write_text(text, encoding="utf-8")
        altered(certificate, DIVIDED[what])
        hardsim("verify", certificate).clean("INVALID", code=1)
