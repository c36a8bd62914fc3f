"""Proofs about external networks on the command line: verdicts, shortest wrong words, brackets of margins, JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest

from hardsim.proof.external import prove as prover
from hardsim.proof.external.prove import ExternalProof
from hardsim.proving import external as proving
from hardsim.reading.network_json import network_json
from tests.cli.conftest import Cli, interrupt, written
from tests.support.external import hooked_folder, mean_of_a
from tests.support.model import Network

TIE = -0.4990234375  # the float -511/1024: a share of 1/2 is above it

SHORTEST = "abaaabbbaabbaabaabbabbaaabbbaabbabaaabbaabbbaababba"
"""A shortest word after which the shipped network `dyck1_depth3` is wrong, of 51 symbols: it lets no bracket be opened
though the depth is 2."""


def test_a_proof_ends_with_the_shortest_wrong_word(hardsim: Cli) -> None:
    found = hardsim("prove", "networks/dyck1_depth3.spec").exits(1, "REFUTED", "right after all 53,316,291,172 judged")
    found.prints("at most 50 symbols, from the weights; wrong after a prefix of 51 symbols, the shortest")
    found.prints("The shortest wrong word, on a line of its own", "proved at least", "found", "at most")
    (line,) = [line for line in found.out.splitlines() if set(line) == {"a", "b"}]
    assert len(line) == 51
    hardsim("eval", "networks/dyck1_depth3.spec", line).exits(1, "WRONG")


def test_a_proof_to_a_given_length(hardsim: Cli) -> None:
    hardsim("prove", "networks/dyck1_depth3.spec", "--max-n", "20", "--no-tables").clean(
        "PROVED", "judged prefixes of at most 20 symbols", "short words were also run: each answer is as proved"
    )
    hardsim("prove", "networks/dyck1_depth3.spec", "--max-n", "128").refused("words have at most 127 symbols")


def test_a_check_asks_the_prover_first(hardsim: Cli) -> None:
    found = hardsim("check", "networks/dyck1_depth3.spec", "--max-n", "53", "--workers", "1", "--json", "-").exits(1)
    (result,) = json.loads(found.out)["results"]
    assert (result["verdict"], len(result["mismatch"]["word"])) == ("REFUTED", 51)
    assert (result["prefix_proof"]["proved_to"], result["prefix_proof"]["shortest"]) == (50, True)
    assert result["first_wrong"] == 51
    # words are run where nothing is proved, and where they are few
    assert {one["n"] for one in result["judged"] if not one["exhaustive"]} <= {51}


def test_the_brackets_hold_the_margins_of_words(hardsim: Cli) -> None:
    found = hardsim("check", "networks/majority.spec", "--max-n", "8", "--json", "-").result
    tried = {one["n"]: one["margin"] for one in found["judged"] if one["exhaustive"]}
    for one in found["prefix_proof"]["margins"]:
        assert one["low"] <= tried[one["n"]] * (1 + 1e-9)
        assert one["high"] >= tried[one["n"]]


def test_several_networks_end_in_one_code(hardsim: Cli, tmp_path: Path) -> None:
    """A share of a of 1/2 or more is above the level, so `>` is wrong after two symbols."""
    hooked_folder(tmp_path / "net", TIE, 12)
    text = "network: net\nalphabet: a b\noutput 0: #L[a] {} #L[b]\n"
    most, more = (written(tmp_path / f"{name}.spec", text.format(name)) for name in (">=", ">"))
    hardsim("prove", most, "networks/majority", "--max-n", "4").exits(0).prints("2 results: 2 PROVED")
    hardsim("prove", most, more, "--max-n", "4", "-q").exits(1).prints(f"PROVED {most}", f"REFUTED {more}")


def test_options_without_a_use_are_named(hardsim: Cli) -> None:
    found = hardsim("prove", "networks/majority", "--max-n", "4", "--min-n", "2", "--engine", "ball").exits(0)
    found.says("--min-n: not used", "--engine: not used")


def test_a_proof_that_ends_before_the_positions_is_less_than_every_length(hardsim: Cli, tmp_path: Path) -> None:
    hooked_folder(tmp_path / "net", TIE, 12)
    right, wrong = (
        written(tmp_path / f"{name}.spec", f"network: net\nalphabet: a b\noutput 0: #L[a] {name} #L[b]\n")
        for name in (">=", ">")
    )
    room = hardsim("prove", right, "--json", "-").result["max_n"]
    hardsim("prove", right, "--all-n").exits(0, "PROVED").unsaid("--all-n")
    short = hardsim("prove", right, "--all-n", "--max-n", f"{room - 1}").exits(3, "PROVED")
    short.says(f"--all-n was given, but the proof about {right}, whose positions have room for {room} symbols, covers")
    hardsim("prove", wrong, "--all-n").exits(1, "REFUTED").unsaid("--all-n")


def test_the_document_of_a_proof(hardsim: Cli) -> None:
    result = hardsim("prove", "networks/majority", "--max-n", "45", "--json", "-").result
    proof = result["prefix_proof"]
    assert (result["verdict"], result["kind"], proof["proved_to"], proof["proved_by"]) == (
        "REFUTED", "network", 44, "structure",
    )  # fmt: skip
    # words of n symbols without a tie: 2^n, less the middle binomial coefficient where n is even
    assert proof["prefixes"] == sum(2**n - (comb(n, n // 2) if n % 2 == 0 else 0) for n in range(1, 45))
    assert len(proof["wrong"]) == 45
    assert proof["wrong_margin"] < 0
    assert [one["n"] for one in proof["margins"]] == list(range(1, 45))
    assert all(0 < one["low"] <= one["high"] for one in proof["margins"])


def test_two_layers_are_proved_by_running_every_word(hardsim: Cli) -> None:
    found = hardsim("prove", "networks/flipflop", "--max-n", "6", "--json", "-").exits(0).result
    proof = found["prefix_proof"]
    # a word is a sequence of pairs, of which the first is a write: 2 * 5^(k - 1) of 2 k symbols that reads obey
    assert (proof["proved_by"], proof["proved_to"], proof["prefixes"]) == (
        "every word",
        6,
        1 + 1 + 2 + 6 + 10 + 30 + 50,
    )
    for one in proof["margins"]:
        assert one["low"] <= one["high"] <= one["low"] + 1e-4


def test_every_word_that_is_tried_is_proved(hardsim: Cli) -> None:
    for engine in ("auto", "ball"):
        found = hardsim("check", "networks/flipflop", "--max-n", "3", "--engine", engine)
        found.clean("PROVED", "by running every word").lacks("also run")
    hardsim("check", "networks/flipflop", "--max-n", "2", "--engine", "mpmath").exits(0, "OBSERVED")
    hardsim("check", "networks/flipflop", "--max-n", "13", "--samples", "5", "--no-tables").exits(0, "CERTIFIED")


@pytest.fixture
def ties(tmp_path: Path) -> Path:
    """A network whose output is above its level if at least half of the symbols are a."""
    return hooked_folder(tmp_path / "net", TIE, 12)


@pytest.mark.parametrize("assumption", ["a & !a", "pos > 100", "#[a] >= 9"])
def test_nothing_is_proved_where_nothing_is_judged(hardsim: Cli, ties: Path, tmp_path: Path, assumption: str) -> None:
    spec = written(
        tmp_path / "t.spec", f"network: net\nalphabet: a b\nat: each\nassume: {assumption}\noutput 0: #[a] >= #[b]\n"
    )
    hardsim("prove", spec, "--max-n", "4").exits(3, "UNDECIDED", "nothing is judged")
    hardsim("check", spec, "--max-n", "4").exits(3, "UNDECIDED", "no word was judged")
    hardsim("prove", spec, "--max-n", "4", "--certificate", tmp_path / "c.json").exits(3).says(
        "there is no certificate"
    )
    assert not (tmp_path / "c.json").exists()


@pytest.mark.parametrize(
    ("network", "place"),
    [
        ("networks/dyck1_depth3", "hardsim.proof.external.prove.ClassProver._prove"),
        ("networks/flipflop", "hardsim.proof.external.every_word._Run._walk"),
    ],
)
def test_an_interrupted_proof_keeps_the_lengths_proved(
    hardsim: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, network: str, place: str
) -> None:
    interrupt(monkeypatch, place, after=int(network == "networks/flipflop"))
    certificate = tmp_path / "c.json"
    found = hardsim("prove", network, "--json", "-", "--certificate", certificate)
    assert found.code == 130
    result = found.result
    proof = result["prefix_proof"]
    assert (result["verdict"], result["partial"], proof["partial"]) == ("UNDECIDED", True, True)
    assert proof["proved_to"] is None or [one["n"] for one in proof["margins"]][-1] == proof["proved_to"]
    found.says("is partial: it covers the lengths proved so far", "no certificate is written")
    assert not certificate.exists()


def test_an_interrupted_certificate_is_not_written(
    hardsim: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupt(monkeypatch, "hardsim.proving.external_certificate.accepted", after=0)
    certificate = tmp_path / "c.json"
    found = hardsim("prove", "networks/dyck1_depth3", "--max-n", 2, "--certificate", certificate)
    assert found.code == 130
    assert "PROVED" in found.out
    found.says("interrupted: no certificate is written")
    assert not certificate.exists()


def repeated(network: Network, count: int) -> str:
    """Return a network of one head as JSON text, with its layer so many times."""
    (layer,) = network.layers
    heads = [replace(layer.heads[0], name=f"mean {number}") for number in range(count)]
    layers = tuple(replace(layer, heads=(head,)) for head in heads)
    return json.dumps(network_json(replace(network, layers=layers)))


def test_a_certificate_of_three_layers_is_refused_at_once(hardsim: Cli, tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text(repeated(mean_of_a(), 3))
    spec = written(tmp_path / "n.spec", "network: n.json\nalphabet: a b\ntokens: a b\noutput share: a\n")
    found = hardsim("prove", spec, "--certificate", tmp_path / "c.json").exits(3)
    found.says("certificates are of networks of one or two layers, and this one has 3")
    assert not found.out


def test_a_certificate_of_two_layers(hardsim: Cli, tmp_path: Path) -> None:
    network = mean_of_a(Fraction(1), readout=replace(mean_of_a().readout, at="each"))
    (tmp_path / "n.json").write_text(repeated(network, 2))
    text = "network: n.json\nalphabet: a b\ntokens: a b\nat: each\noutput share: true\n"
    spec, target = written(tmp_path / "n.spec", text), tmp_path / "c.cert.json"
    hardsim("prove", spec, "--max-n", "12", "--certificate", target).exits(0, "certificate, checked")
    hardsim("verify", target, "--spec", spec).exits(0, "at most 12 symbols")


@pytest.mark.parametrize("size", ["1e+200", "1e+30"])
@pytest.mark.parametrize("decide", ["above 0", "value within 100"])
def test_numbers_beyond_float64_are_no_internal_error(
    hardsim: Cli, ties: Path, tmp_path: Path, size: str, decide: str
) -> None:
    document = network_json(mean_of_a())
    document["embedding"] = [[float(size), 0], [0, float(size)]]
    document["unembedding"] = [[float(size)], [-float(size)]]
    (tmp_path / "n.json").write_text(json.dumps(document))
    line = "output share: a" if decide == "above 0" else "value share: 0"
    text = f"network: n.json\nalphabet: a b\ntokens: a b\ndecide: {decide}\n{line}\n"
    spec = written(tmp_path / "n.spec", text)
    for command in ("prove", "check"):
        assert hardsim(command, spec, "--max-n", "3").code in (0, 1, 3)


def test_a_wrong_word_on_the_level_is_the_shortest(hardsim: Cli, tmp_path: Path) -> None:
    """With half of the symbols a the output is exactly the level, which is not above it: ba is wrong already."""
    hooked_folder(tmp_path / "net", -0.5, 12)
    language = written(tmp_path / "ends.re", "alphabet: a b\n(a|b)*a\n")
    found = hardsim("prove", tmp_path / "net", "--against", language).exits(
        1, "wrong on a word of 2 symbols, the shortest"
    )
    assert {"ba", "ab"} & set(found.out.split())


@pytest.mark.parametrize("command", ["check", "prove"])
def test_short_words_are_run_before_the_prover_is_asked_about_many_weights(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The share of a's is above a half in ab, with the bias of `TIE`, and below three quarters."""
    asked: list[int | None] = []

    def prove_external(network: Network, oracle: Any, longest: int | None, **options: Any) -> ExternalProof:
        asked.append(longest)
        return prover.prove_external(network, oracle, longest, **options)

    monkeypatch.setattr("hardsim.proving.external.prove_external", prove_external)
    monkeypatch.chdir(tmp_path)
    hooked_folder(tmp_path / "right", TIE)
    hooked_folder(tmp_path / "wrong", -0.75)
    written(tmp_path / "most.ltl", "alphabet: a b\n#[a] >= #[b]\n")
    for least, times in ((2**15, 1), (1, 0)):
        monkeypatch.setattr(proving, "WIDE", least)
        found = hardsim(command, "wrong", "--against", "most.ltl", "--max-n", "6").exits(1, "REFUTED")
        found.prints(
            {"check": "on a word of length 2, the shortest", "prove": "on a word of 2 symbols, the shortest"}[command]
        )
        assert len(asked) == times
        asked.clear()
        hardsim(command, "right", "--against", "most.ltl", "--max-n", "6").clean("PROVED", "from the weights")
        assert asked == [6]
        asked.clear()
