"""Tests of all commands on external networks; this network accepts if at least half of the symbols are a."""

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from shutil import copytree
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from hardsim.campaign.verdict import wrong_on
from hardsim.proof.external.result import PrefixProof
from hardsim.reading.network_json import network_json
from hardsim.targets.base import Target
from hardsim.targets.external import External
from tests.cli.conftest import Cli, interrupt, unfolded, written
from tests.reading.folders import DATA
from tests.support.check import CheckOptions, CheckResult, Mismatch, Verdict, check_subject
from tests.support.external import hooked_folder, mean_of_a

TIE = -0.4990234375  # the float -511/1024: a share of 1/2 is above it, and up to 511 symbols nothing less is
ROOM = 12


@pytest.fixture
def net(tmp_path: Path) -> Path:
    return hooked_folder(tmp_path / "net", TIE, ROOM)


@pytest.fixture
def most(tmp_path: Path) -> Path:
    return written(tmp_path / "most.ltl", "alphabet: a b\n#L[a] >= #L[b]\n")


@pytest.fixture
def more(tmp_path: Path) -> Path:
    return written(tmp_path / "more.ltl", "alphabet: a b\n#L[a] > #L[b]\n")


def test_check_holds_it_against_a_formula(hardsim: Cli, net: Path, most: Path) -> None:
    hardsim("check", net, "--against", most, "--max-n", "8").clean(
        f"PROVED {net} checked against {most}: right on all 510 judged words of at most 8 symbols, from the "
        "weights; 510 words were also run, certified"
    )
    weights = net / "model.safetensors"
    hardsim("check", weights, "--against", most, "--max-n", "3").exits(0, "all 14 judged words")


def test_a_note_says_that_the_network_reads_longer_words(hardsim: Cli, net: Path, most: Path) -> None:
    message = f"note: {net}: the network reads words of up to 12 symbols: --max-n 12 covers the longer ones, too"
    hardsim("check", net, "--against", most).exits(0).says(message)
    found = hardsim("check", net, "--against", most, "--max-n", "12").exits(0)
    assert "it reads words" not in found.err
    # With several inputs there is no such note.
    assert "it reads words" not in hardsim("check", net, net, "--against", most).exits(0).err


def test_a_wrong_word_is_printed_and_the_code_is_1(hardsim: Cli, net: Path, more: Path) -> None:
    hardsim("check", net, "--against", more).exits(
        1,
        "REFUTED", "the network is wrong on a word of length 2, the shortest: all shorter words were tried",
        "The shortest mismatching word, on a line of its own: ab", "expected: reject; network: accept",
    )  # fmt: skip
    hardsim("check", net, "--against", more, "-q").exits(1, "expected: reject; network: accept")


def test_the_json_of_a_check_meets_the_schema(hardsim: Cli, net: Path, more: Path) -> None:
    found = hardsim("check", net, "--against", more, "--max-n", "2", "--json", "-").result
    assert (found["kind"], found["verdict"], found["lengths"], found["words"]) == ("network", "REFUTED", [], 6)
    assert found["mismatch"] == {
        "kind": "soft/oracle", "word": ["a", "b"], "oracle": False, "hard": None, "soft": True, "output": None,
        "decided": True, "direct": True, "shrunk_from": None, "no_output": None,
    }  # fmt: skip
    one, two = found["judged"]
    assert (one["n"], one["words"], one["exhaustive"], one["mismatches"], one["unjudged"]) == (1, 2, True, 0, 0)
    # The share of ab is 1/2: above the level by 1/1024, where it should be below it.
    assert (two["mismatches"], two["margin_word"]) == (2, ["a", "b"])
    assert two["margin"] == pytest.approx(-1 / 1024, abs=1e-12)


def test_a_report_says_the_least_margin(hardsim: Cli, net: Path, most: Path) -> None:
    """For odd n the least margin is 1/(2n) less 1/1024, for even n it is 1/1024."""
    hardsim("check", net, "--against", most, "--max-n", "6").clean("margin the least is 0.000977, at length")
    result = hardsim("check", net, "--against", most, "--max-n", "6", "--json", "-").result
    assert result["least_margin"]["margin"] == pytest.approx(1 / 1024, abs=1e-12)
    assert result["first_wrong"] is None


@pytest.mark.parametrize(
    ("found", "reach", "word"),
    [
        (Mismatch((), True, None, False, direct=True), "the network is wrong on the empty word", "(empty)"),
        (
            Mismatch(("a", "b"), True, None, False, direct=True, shrunk_from=("a",) * 9),
            "the network is wrong on a word of length 2, shrunk from a word of 9 symbols, the shortest found",
            "ab",
        ),
    ],
)
def test_formats_tell_the_empty_word_and_what_was_shrunk(
    hardsim: Cli, net: Path, most: Path, monkeypatch: pytest.MonkeyPatch, found: Mismatch, reach: str, word: str
) -> None:
    def wrong(subject: Target, options: CheckOptions, *_: object) -> CheckResult:
        result = check_subject(subject, replace(options, max_n=1))
        return replace(result, verdict=Verdict.REFUTED, reach=wrong_on(found, ()), mismatch=found)

    monkeypatch.setattr("hardsim.cli.check.check_with_proof", wrong)
    command = ("check", net, "--against", most)
    message = "The shortest mismatching word is the empty word." if not found.word else "a line of its own: ab"
    hardsim(*command, "-q").exits(1, reach, message)
    junit = ElementTree.fromstring(hardsim(*command, "--format", "junit").exits(1).out)
    facts = {one.get("name"): one.get("value") for one in junit.iter("property")}
    assert (facts["reach"], facts["word"]) == (reach, word)
    (failure,) = junit.iter("failure")
    assert failure.get("message") == f"REFUTED: {reach}"
    assert message in " ".join(str(failure.text).split())
    (line,) = hardsim(*command, "--format", "github").exits(1).out.splitlines()
    assert message in " ".join(line.replace("%3A", ":").replace("%0A", " ").split())
    (result,) = json.loads(hardsim(*command, "--format", "sarif").exits(1).out)["runs"][0]["results"]
    assert (result["ruleId"], result["properties"]["word"], result["properties"]["reach"]) == ("mismatch", word, reach)
    assert message in " ".join(result["message"]["text"].split())


def test_a_stronger_verdict_is_advised_where_words_were_judged(
    hardsim: Cli, net: Path, most: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsure(subject: Target, options: CheckOptions, *_: object) -> CheckResult:
        return replace(check_subject(subject, replace(options, max_n=1)), verdict=Verdict.UNDECIDED)

    monkeypatch.setattr("hardsim.cli.check.check_with_proof", unsure)
    found = hardsim("check", net, "--against", most, "--require", "certified").exits(3)
    found.says("Some words were not decided")


def test_without_a_specification_nothing_is_judged(hardsim: Cli, net: Path) -> None:
    for command in ("check", "prove"):
        hardsim(command, net).refused("its expected outputs are unknown", "--against FILE", "`hardsim heads`")


def test_prove_covers_every_word_to_the_end_of_the_table(hardsim: Cli, net: Path, most: Path, more: Path) -> None:
    hardsim("prove", net, "--against", most).clean(
        f"PROVED {net} checked against {most}: right on all 8,190 judged words of at most 12 symbols, from the weights",
        "126 short words were also run: each answer is as proved",
    )
    hardsim("prove", net, "--against", more).exits(
        1,
        f"REFUTED {net} checked against {more}: right on all 2 judged words of at most 1 symbol, from the "
        "weights; wrong on a word of 2 symbols, the shortest",
        "The shortest wrong word, on a line of its own: ab expected reject, the network gives accept",
    )
    hardsim("prove", most, "--against", most).refused("was compiled here, and a proof is about what was compiled")
    result = hardsim("prove", net, "--against", most, "--max-n", "2", "--json", "-").result
    assert (result["verdict"], result["prefix_proof"]["prefixes"]) == ("PROVED", 6)


@pytest.mark.parametrize("command", ["prove", "check"])
def test_a_word_that_contradicts_a_proof_is_an_internal_error(
    hardsim: Cli, net: Path, more: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def proved(subject: External, max_n: int | None, *rest: Any, **named: Any) -> PrefixProof:
        return PrefixProof(3, 3, 14, "words", "structure", None, None, False, (), None, False, ())

    monkeypatch.setattr("hardsim.proving.external.prefix_proof", proved)
    found = hardsim(command, net, "--against", more, "--max-n", "3").exits(4)
    found.says("was proved right after every prefix of at most 3 symbols, but the word a b contradicts it")


@pytest.mark.parametrize("command", ["prove", "check"])
def test_a_wrong_word_that_is_right_is_an_internal_error(
    hardsim: Cli, net: Path, most: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def refuted(subject: External, max_n: int | None, *rest: Any, **named: Any) -> PrefixProof:
        return PrefixProof(3, 1, 2, "words", "structure", ("a", "b"), Fraction(-1), True, (), None, False, ())

    monkeypatch.setattr("hardsim.proving.external.prefix_proof", refuted)
    hardsim(command, net, "--against", most, "--max-n", "3").exits(4).says("the prover found the word a b wrong, but")


def test_eval_shows_outputs_and_margins(hardsim: Cli, net: Path, most: Path, more: Path) -> None:
    hardsim("eval", net, "a b b").clean("answer False", "0 -0.16569")
    hardsim("eval", net, "abb", "--against", most).clean("answer reject, as expected, margin 0.166")
    hardsim("eval", net, "ab", "--against", more).exits(1, "answer accept, WRONG").says(
        "1 of 1 words have another answer than"
    )
    (place,) = hardsim("eval", net, "a b b", "--json", "-").result["words"][0]["places"]
    assert (place["position"], place["token"], place["answer"], place["expected"]) == (2, "b", "False", None)
    (output,) = place["outputs"]
    assert output["low"] <= 1 / 3 + TIE <= output["high"] <= output["low"] + 1e-12


def test_tokens_without_names_are_ids(hardsim: Cli, net: Path) -> None:
    (net / "vocab.json").unlink()
    hardsim("eval", net, "0 1 1").clean("answer False")
    hardsim("eval", net, "a b").refused("give them in a vocab.json beside the weights, in Python as tokens=")


def test_show_says_what_was_read(hardsim: Cli, net: Path) -> None:
    hardsim("show", net).clean("TransformerLens", "12, all used", "causal", "a b pad", "words of 12 symbols")
    found = hardsim("show", net, "--json", "-").result
    assert (found["tokens"], found["longest"], found["kind"]) == (["a", "b", "pad"], ROOM, "network")


def test_the_default_length_ends_with_the_table_of_positions(hardsim: Cli, tmp_path: Path, most: Path) -> None:
    short = hooked_folder(tmp_path / "short", TIE, 3)
    hardsim("check", short, "--against", most).clean("all 14 judged words of at most 3 symbols")
    hardsim("check", short, "--against", most, "--max-n", "4").refused(
        f"{short}: the table of positions ends: words have at most 3 symbols, not 4", "Give --max-n 3 or less."
    )
    hardsim("eval", short, "a a a a").refused("words have at most 3 symbols, not 4")


@pytest.mark.parametrize(
    "option",
    [("--tau", "1"), ("--beta", "4"), ("--regime", "temperature"), ("--counting", "sign"), ("--epsilon", "1/4")],
)
def test_options_of_what_is_compiled_are_refused(hardsim: Cli, net: Path, most: Path, option: tuple[str, str]) -> None:
    hardsim("check", net, "--against", most, *option).refused(f"used unchanged: {option[0]} does not apply")
    mixed = hardsim("check", net, most, "--against", most, "--max-n", "3", *option)
    assert mixed.code in (0, 2)  # for formulas, too, epsilon is unused, which is a note
    mixed.says(f"note: {net}: {option[0]}: not used; the option is for compiled networks, and this network is external")


def test_what_needs_hard_attention_is_refused(hardsim: Cli, net: Path, tmp_path: Path) -> None:
    hardsim("bound", net).refused("this command needs hard attention", "heads")
    hardsim("words", net, "--max-n", "2").refused("this command needs hard attention")
    hardsim("equiv", net, "since").refused("an external network")
    hardsim("compile", net, "-o", tmp_path / "x.json").refused("but compile needs a formula, a program or a model")


def test_several_outputs_need_a_rule(hardsim: Cli, tmp_path: Path, most: Path) -> None:
    two = hooked_folder(tmp_path / "two", TIE, outputs=2)
    hardsim("check", two, "--against", most).refused("has 2 outputs", "hardsim new", "accept: NAME")
    hardsim("eval", two, "a b").clean("position token answer outputs")


def test_a_symbol_without_a_token_is_refused(hardsim: Cli, net: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "c.ltl", "alphabet: a b c\nO a\n")
    hardsim("check", net, "--against", other).refused("has no token c, which is a symbol of")
    sets = written(tmp_path / "sets.ltl", "props: a b\nO a\n")
    hardsim("check", net, "--against", sets).refused("sets of propositions")


def test_a_folder_of_folders_is_no_network(hardsim: Cli, net: Path, most: Path) -> None:
    hardsim("check", net.parent, "--max-n", "2").exits(0, "most.ltl")  # only the files in it are read
    (net / "config.json").unlink()
    hardsim("check", net, "--against", most).refused(f"{net} has no *.ltl")


def test_several_inputs_are_all_run(hardsim: Cli, net: Path, tmp_path: Path, most: Path, more: Path) -> None:
    found = hardsim("check", net, most, "--against", most, "--max-n", "4").exits(0, "2 results: 1 PROVED, 1 CERTIFIED")
    found.prints(str(net))
    (tmp_path / "bad").mkdir()
    written(tmp_path / "bad" / "config.json", "{")
    (tmp_path / "bad" / "model.safetensors").write_bytes(b"")
    hardsim("check", tmp_path / "bad", net, "--against", more, "--max-n", "2").exits(1, "REFUTED").says("bad")


def test_a_run_can_be_resumed(
    hardsim: Cli, net: Path, most: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    monkeypatch.setattr("hardsim.campaign.checkpoint.INTERVAL", 0.0)
    with monkeypatch.context() as patch:
        interrupt(patch, "hardsim.campaign.judges.NetworkJudge.tally", after=5)
        hardsim("check", net, "--against", most, "--resume", kept).exits(130, "PARTIAL")
    again = hardsim("check", net, "--against", most, "--resume", kept, "--json", "-")
    whole = hardsim("check", net, "--against", most, "--json", "-")
    assert (again.code, again.json["results"]) == (0, whole.json["results"])
    other = json.loads((net / "config.json").read_text())
    (net / "config.json").write_text(json.dumps(other, indent=1))
    hardsim("check", net, "--against", most, "--resume", kept).refused("was changed since")


@pytest.mark.parametrize("engine", ["float64", "ball", "mpmath"])
def test_engines(hardsim: Cli, net: Path, most: Path, engine: str) -> None:
    verdict = "OBSERVED" if engine == "mpmath" else "PROVED"
    hardsim("check", net, "--against", most, "--engine", engine, "--max-n", "5").exits(0, verdict, "all 62 words")


# ---- what the weights do not show ----


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """Return a PyTorch encoder whose embedding is scaled by the square root of its width 6."""
    folder = Path(copytree(DATA / "torch-layer", tmp_path / "encoder"))
    stated(folder, embedding_scale="sqrt(d)")
    return folder


def stated(folder: Path, **settings: object) -> None:
    """State settings in config.json; None removes a setting."""
    config = json.loads((folder / "config.json").read_text()) | settings
    config = {key: value for key, value in config.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))


def test_show_says_where_each_setting_comes_from(hardsim: Cli, encoder: Path) -> None:
    """The command shows each source in text, and as data."""
    shown = hardsim("show", encoder).exits(0)
    assert re.search(r"^embedding_scale +sqrt\(d\) = sqrt\(6\) +config\.json$", shown.out, re.M)
    assert re.search(r"^layer_norm_eps +1e-05 +default of PyTorch$", shown.out, re.M)

    def settings(*more: str) -> dict[str, dict[str, str]]:
        (report,) = hardsim("show", encoder, *more, "--json", "-").json["results"]
        return {one["name"]: one for one in report["settings"]}

    assert settings()["at"] == {"name": "at", "value": "last", "source": "default of the format"}
    assert settings()["nhead"] == {"name": "nhead", "value": "2", "source": "config.json"}
    assert settings("--at", "first")["at"] == {"name": "at", "value": "first", "source": "--at"}


@pytest.mark.parametrize("command", [["show"], ["eval", "a"], ["check", "--against", "most.ltl"], ["heads"]])
def test_a_network_without_its_scale_is_refused(
    hardsim: Cli, encoder: Path, most: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(most.parent)
    stated(encoder, embedding_scale=None)
    first, *others = command
    hardsim(first, encoder, *others).refused(
        "config.json: at embedding_scale: expected a positive number", '"embedding_scale": 1'
    )


def test_outputs_of_a_scaled_embedding(hardsim: Cli, encoder: Path, tmp_path: Path) -> None:
    """The outputs equal those of a network whose embedding is written out scaled, as float64, in every arithmetic,
    and those of the network that is exported and read again.
    """
    tensors = load_file(encoder / "model.safetensors")
    plain = Path(copytree(encoder, tmp_path / "plain"))
    tensors["embed.weight"] = tensors["embed.weight"].astype(np.float64) * np.sqrt(6)
    save_file(tensors, plain / "model.safetensors")
    stated(plain, embedding_scale=1)
    hardsim("export", encoder, "--to", "safetensors", "-o", tmp_path / "out").exits(0)

    def middle(network: Path, engine: str) -> float:
        (found,) = hardsim("eval", network, "a b a", "--engine", engine, "--json", "-").json["results"]
        (output,) = found["words"][0]["places"][0]["outputs"]
        return float(Fraction(output["low"]) + Fraction(output["high"])) / 2

    expected = middle(plain, "ball")
    for engine in ("ball", "float64", "mpmath"):
        assert abs(middle(encoder, engine) - expected) < 1e-9
    assert abs(middle(tmp_path / "out", "ball") - expected) < 1e-9
    stated(encoder, embedding_scale=1)
    assert abs(middle(encoder, "ball") - expected) > 1e-3


def test_a_wrapper_is_a_note(hardsim: Cli, encoder: Path) -> None:
    tensors = load_file(encoder / "model.safetensors")
    save_file({f"module.{name}": array for name, array in tensors.items()}, encoder / "model.safetensors")
    shown = hardsim("show", encoder)
    assert shown.code == 0
    assert "every tensor begins with module. (DataParallel or DistributedDataParallel)" in unfolded(shown.err)


def test_a_folder_of_training_is_named(hardsim: Cli, tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    hardsim("show", tmp_path).refused("this is an adapter (PEFT, LORA)", "merge_and_unload")


def test_numbers_beyond_the_range_of_floats_are_printed(hardsim: Cli, tmp_path: Path) -> None:
    document = network_json(mean_of_a(Fraction(10) ** 400))
    document["final_norm"] = {"kind": "rms", "epsilon": str(10**400)}
    path = written(tmp_path / "big.json", json.dumps(document))
    hardsim("show", path).clean("RMSNorm (epsilon about 10^400")
    hardsim("eval", path, "ab").clean("share about 10^")
