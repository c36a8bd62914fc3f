"""Proofs about external networks on the command line: verdicts, shortest wrong words, brackets of margins, JSON."""

from __future__ import annotations

import json
from math import comb

from tests.cli.conftest import Cli

SHORTEST = "abaaabbbaabbaabaabbabbaaabbbaabbabaaabbaabbbaababba"
"""A shortest word after which the shipped network `dyck1_depth3` is wrong, of 51 symbols: it lets no bracket be opened
though the depth is 2."""


def test_a_proof_ends_with_the_shortest_wrong_word(hardsim: Cli) -> None:
    found = hardsim("prove", "networks/dyck1_depth3.spec").exits(1, "REFUTED", "right after all 53,316,291,172 judged")
    found.prints("at most 50 symbols, from the weights; wrong after a prefix of 51 symbols, the shortest")
    found.prints("The shortest wrong word, on a line of its own", "margin after", "after the worst")
    (line,) = [line for line in found.out.splitlines() if set(line) == {"a", "b"}]
    assert len(line) == 51
    hardsim("eval", "networks/dyck1_depth3.spec", line).exits(1, "WRONG")


def test_a_proof_to_a_given_length(hardsim: Cli) -> None:
    hardsim("prove", "networks/dyck1_depth3.spec", "--max-n", "20", "--no-tables").clean(
        "PROVED", "judged prefixes of at most 20 symbols", "short words were also run: each answer is as proved"
    )
    hardsim("prove", "networks/dyck1_depth3.spec", "--max-n", "128").refused("words have at most 127 symbols")


def test_a_check_asks_the_prover_first(hardsim: Cli) -> None:
    found = hardsim("check", "networks/dyck1_depth3.spec", "--max-n", "127", "--json", "-").exits(1)
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


def test_several_networks_end_in_one_code(hardsim: Cli) -> None:
    found = hardsim("prove", "networks/dyck1_depth3", "networks/majority", "--max-n", "6").exits(0)
    found.prints("2 results: 2 PROVED")
    found = hardsim("prove", "networks/dyck1_depth3", "networks/majority", "--max-n", "46", "-q").exits(1)
    found.prints("PROVED networks/dyck1_depth3", "REFUTED networks/majority")


def test_options_without_a_use_are_named(hardsim: Cli) -> None:
    found = hardsim("prove", "networks/majority", "--max-n", "4", "--all-n", "--min-n", "2", "--engine", "ball").exits(
        0
    )
    found.says("--all-n: not used", "--min-n: not used", "--engine: not used")


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
        hardsim("check", "networks/flipflop", "--max-n", "4", "--engine", engine).clean(
            "PROVED", "by running every word"
        )
    hardsim("check", "networks/flipflop", "--max-n", "4", "--engine", "mpmath").exits(0, "OBSERVED")
    hardsim("check", "networks/flipflop", "--max-n", "20", "--samples", "5", "--no-tables").exits(0, "CERTIFIED")
