"""Tests of `hardsim prove --certificate` and `hardsim verify`."""

import json
from pathlib import Path
from typing import Any

import pytest

from hardsim.verify import digests
from tests.cli.conftest import written


@pytest.fixture
def proved(hardsim: Any, since: Path, tmp_path: Path) -> Path:
    """The certificate of `a S b`."""
    target = tmp_path / "since.cert.json"
    assert hardsim("prove", since, "--max-n", "3", "--certificate", target).code == 0
    return target


def altered(path: Path, change: Any, resealed: bool = True) -> None:
    """Change a certificate, with digests that match if `resealed`."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    if resealed:
        document["digests"] = digests(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def masked(mask: str) -> Any:
    """Return a change of the head's mask."""
    return lambda document: document["model"]["layers"][0]["heads"][0].update(mask=mask)


def test_an_altered_certificate_is_rejected(hardsim: Any, proved: Path) -> None:
    altered(proved, masked("past"), resealed=False)
    assert hardsim("verify", proved).clean(code=1).out.startswith(f"INVALID  {proved}\n  model was altered")
    result = hardsim("verify", proved, "--json", "-").result
    assert (result["verdict"], result["claim"]) == ("INVALID", None)


def test_what_is_no_certificate(hardsim: Any, since: Path, tmp_path: Path) -> None:
    hardsim("verify", since).refused(f"{since}:1:1: error: this is not JSON", "hardsim prove FILE --certificate")
    assert hardsim("verify", tmp_path / "none").code == 2
    wrong = tmp_path / "wrong.json"
    for text in ("{}", "[]", '{"format": "hardsim-certificate", "schema_version": 9}', '{"a": 1, "a": 2}', "[" * 10**5):
        wrong.write_text(text, encoding="utf-8")
        assert hardsim("verify", wrong).says("error").code == 2, text[:20]
    for data, message in (
        (b"[" * 10**5, "the brackets of this JSON are nested too deeply"),
        (b'["\xff"]', "not UTF-8: byte 0xff at offset 2"),
        (b"[1" + b"0" * 5000 + b"]", "an integer of this JSON is too long"),
    ):
        wrong.write_bytes(data)
        hardsim("verify", wrong).refused(message)
    hardsim("verify", tmp_path / "none").refused("no such file", "make a certificate with: hardsim prove FILE")
    wrong.write_text('{"format": "hardsim-certificate", "schema_version": 4}', encoding="utf-8")
    assert hardsim("verify", wrong).code == 1


def test_there_is_no_certificate_without_a_proof(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "none.json"
    assert hardsim("prove", since, "--beta", "1", "--max-n", "4", "--certificate", target).code == 1
    assert not target.exists()


def test_options_that_do_not_go_together(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "c.json"
    for more in (("--regime", "all"), ("--json", target), (since,)):
        assert hardsim("prove", since, "--certificate", target, *more).code == 2, more
        assert not target.exists()
    assert hardsim("prove", since, "--certificate", "-", "--json", "-").code == 2
    piped = hardsim("prove", since, "--max-n", "2", "--certificate", "-")
    assert json.loads(piped.out)["format"] == "hardsim-certificate"


SOFT = ("--tau", "2^(-n)")
"""A temperature that is no rational function, so that each length has its own proof."""


def test_a_certificate_of_a_span_claims_that_span(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "since.cert.json"
    for first, last, message in ((6, 6, "length 6\n"), (3, 5, "length 3 to 5\n"), (1, 1, "length 1\n")):
        arguments = (*SOFT, "--min-n", str(first), "--max-n", str(last), "--certificate", target)
        assert hardsim("prove", since, *arguments).code == 0
        hardsim("verify", target).exits(0, "VALID ", f"every word of {message}")
        result = hardsim("verify", target, "--json", "-").result
        assert (result["min_n"], result["max_n"]) == (first, last)
        assert "length min_n to max_n" in result["claim"]


def test_a_certificate_does_not_speak_of_other_lengths(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "since.cert.json"
    assert hardsim("prove", since, *SOFT, "--min-n", "4", "--max-n", "5", "--certificate", target).code == 0
    text = target.read_text(encoding="utf-8")
    for changes, reason in (
        ({"min_n": 1}, "bounds of head"),
        ({"min_n": 5}, "bounds of head"),
        ({"max_n": 6}, "bounds of head"),
        ({"min_n": 6}, "lengths from 1 to 1024 can be checked, in this order"),
        ({"min_n": 0}, "lengths from 1 to 1024"),
        ({"min_n": True}, "min_n: this should be an integer"),
        ({"max_n": 1025}, "lengths from 1 to 1024"),
    ):
        target.write_text(text, encoding="utf-8")
        altered(target, lambda document, changes=changes: document.update(changes), resealed=False)
        assert hardsim("verify", target).code == 1
        altered(target, lambda document: None)  # with new digests
        hardsim("verify", target).clean(reason, code=1)


def test_a_certificate_is_compared_with_files(hardsim: Any, since: Path, proved: Path, tmp_path: Path) -> None:
    model, other = tmp_path / "since.model.json", tmp_path / "other.model.json"
    assert hardsim("compile", since, "-o", model).code == 0
    assert hardsim("compile", since, "--beta", "5", "-o", other).code == 0
    alone = hardsim("verify", proved)
    alone.prints("not compared with a file: the formula and the model (--formula and --model)", "4: 1 S 2")
    result = hardsim("verify", proved, "--formula", since, "--model", model, "--json", "-").exits(0).result
    assert result["compared"] == {"formula": str(since), "model": str(model), "specification": None}
    assert "not compared" not in hardsim("verify", proved, "--formula", since, "--model", model).out
    assert "the model (--model)" in hardsim("verify", proved, "--formula", since).out
    wrong = hardsim("verify", proved, "--model", other)
    wrong.clean("INVALID", f"model.layers[0].heads[0].query[0].1: differs from that of {other}", code=1)


@pytest.mark.parametrize(
    ("formula", "place"),
    [
        ("(a S b)", None),
        ("!!(a S b)", None),
        ("!(a S b)", "formula.root"),
        ("b S a", "formula.nodes[1]"),
        ("a S (b | c)", "formula.nodes[2]"),
        ("Y (a S b)", "formula.nodes[4]"),
        ("#[a] > 1", "formula.nodes[4]"),
    ],
)
def test_the_first_difference_of_formulas_is_named(hardsim: Any, proved: Path, formula: str, place: str | None) -> None:
    outcome = hardsim("verify", proved, "-e", formula, "--alphabet", "c b a").clean(code=1 if place else 0)
    assert outcome.out.startswith(f"INVALID  {proved}\n  {place}" if place else "VALID  ")
    assert hardsim("verify", proved, "-e", formula, "--alphabet", "c b a", "--at", "first").code == 1
    hardsim("verify", proved, "-e", formula, "--alphabet", "c b a d").clean("formula.alphabet", code=1)


def test_what_cannot_be_compared(hardsim: Any, since: Path, proved: Path, tmp_path: Path) -> None:
    model = tmp_path / "since.model.json"
    assert hardsim("compile", since, "-o", model).code == 0
    for options in (
        ("--formula", model),
        ("--formula", tmp_path / "none.ltl"),
        ("--model", since),
        ("--model", proved),
        ("--formula", since, "-e", "a S b", "--alphabet", "a b c"),
        ("-e", "a S b"),
        ("--alphabet", "a b"),
        ("--at", "first"),
        ("--formula", since, "--at", "middle"),
        ("--formula", since, "--json", since),
    ):
        outcome = hardsim("verify", proved, *options).says("error")
        assert (outcome.code, outcome.out) == (2, ""), options
    program = written(tmp_path / "first.srasp", "alphabet: a b\nY(i) := Q_a(i)\n")
    hardsim("verify", proved, "--formula", program).refused("is an S-RASP program")
    hardsim("verify", proved, "--model", program).clean("about a formula, not about a program", code=1)


def test_a_source_text_of_another_formula_is_no_label(hardsim: Any, proved: Path) -> None:
    honest = proved.read_text(encoding="utf-8")
    for key, value in (
        ("text", "alphabet: a b c\nODD(#[b])\n"),
        ("text", "alphabet: a b c\nat: first\na S b\n"),
        ("text", "PARITY"),
        ("text", ""),
        ("formula", "ODD(#[b])"),
        ("at", "first"),
    ):
        proved.write_text(honest, encoding="utf-8")

        def change(document: Any, key: str = key, value: str = value) -> None:
            labels = document["labels"]
            (labels["source"] if key == "text" else labels)[key] = value

        altered(proved, change)
        hardsim("verify", proved).clean("INVALID ", code=1).lacks("ODD", "PARITY")


def test_labels_that_nobody_checks_are_not_shown(hardsim: Any, proved: Path) -> None:
    def change(document: Any) -> None:
        document["labels"] |= {"version": "PARITY", "regime": "PARITY", "beta": "77777/2"}
        document["labels"]["source"] |= {"name": "PARITY", "sha256": "PARITY"}

    altered(proved, change)
    for options in ((), ("--json", "-")):
        hardsim("verify", proved, *options).exits(0, "VALID").lacks("PARITY", "77777")


def test_kinds_of_numbers_are_distinguished(hardsim: Any, proved: Path) -> None:
    text = proved.read_text(encoding="utf-8")
    for old, new, code, said in (
        ('"schema_version": 3', '"schema_version": 3.0', 2, ""),
        ('"min_n": 1', '"min_n": 1.0', 1, ""),
        ('"min_n": 1', '"min_n": true', 1, ""),
        ('"min_n": 1', '"min_n": 1, "min_n": 1', 2, ""),
        ('"min_n": 1', '"min_n": 1e0', 1, ""),
        *(
            ('"min_n": 1', f'"min_n": {no}', 2, f"at min_n: {no} is not a JSON number")
            for no in ("NaN", "Infinity", "-Infinity")
        ),
    ):
        proved.write_text(text.replace(old, new), encoding="utf-8")
        found = hardsim("verify", proved)
        if code == 1:
            found.clean("INVALID", code=1)
        else:
            found.refused(said)


def test_a_file_that_is_too_large_is_no_certificate(
    hardsim: Any, proved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.proving.verify.LARGEST_FILE", 2**20)
    proved.write_text(proved.read_text(encoding="utf-8") + " " * 2**20, encoding="utf-8")
    hardsim("verify", proved).refused("larger than 1 MiB")


@pytest.mark.slow
def test_long_formulas_are_shown_in_part(hardsim: Any, tmp_path: Path) -> None:
    path, target = tmp_path / "long.ltl", tmp_path / "long.cert.json"
    path.write_text("alphabet: a b\n" + "(a S Y " * 24 + "b" + ")" * 24 + "\n", encoding="utf-8")
    assert hardsim("prove", path, "--max-n", "1", "--certificate", target).code == 0
    out = hardsim("verify", target).out
    assert "... and " in out
    assert len(out.splitlines()) < 30


def test_names_in_a_certificate_drive_no_terminal(hardsim: Any, proved: Path) -> None:
    evil = "\x1b[2J\x07\u202e\x9b"

    altered(proved, masked(evil))
    hardsim("verify", proved).clean("INVALID", code=1)

    def rename(document: Any) -> None:
        masked("future")(document)
        document |= json.loads(json.dumps(document).replace("S4.read", json.dumps(evil)[1:-1]).replace('"0"', '"1/7"'))

    altered(proved, rename)
    assert all(char.isprintable() or char == "\n" for char in hardsim("verify", proved).clean("INVALID", code=1).out)


def test_a_certificate_of_every_length(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "every.json"
    hardsim("prove", since, "--all-n", "--max-n", "4", "--certificate", target).exits(0, "certificate, checked")
    outcome = hardsim("verify", target, "--formula", since, "--json", "-")
    (result,) = json.loads(outcome.out)["results"]
    assert (result["valid"], result["min_n"], result["max_n"]) == (True, 1, None)
    assert "every word of every length" in result["claim"]
    assert "every word of every length" in hardsim("verify", target, "--quiet").out
    text = target.read_text(encoding="utf-8")
    target.write_text(text.replace('"max_n": null', '"max_n": 4'), encoding="utf-8")
    hardsim("verify", target).clean("max_n was altered", code=1)


def test_where_not_every_length_is_proved_a_certificate_is_of_those_that_are(
    hardsim: Any, since: Path, tmp_path: Path
) -> None:
    target = tmp_path / "some.json"
    hardsim("prove", since, "--all-n", "--max-n", "4", "--tau", "1/2^n", "--certificate", target).exits(0)
    assert json.loads(target.read_text(encoding="utf-8"))["max_n"] == 4


def test_certificates_of_programs(hardsim: Any, tmp_path: Path) -> None:
    program, target = Path("formulas/reverse.srasp").resolve(), tmp_path / "reverse.cert.json"
    for lengths, said in (
        (("--all-n",), "every word of every length"),
        (("--max-n", "4"), "every word of length 1 to 4"),
    ):
        hardsim("prove", program, *lengths, "--certificate", target).exits(0, "certificate, checked")
        hardsim("verify", target).exits(0, "VALID", said, "softmax answers as hard attention", "not compared")
        hardsim("verify", target, "--model", program).exits(0, "that of")
    other = Path("formulas/rotate_right.srasp").resolve()
    hardsim("verify", target, "--model", other).clean("differs from that of", code=1)
    hardsim("verify", target, "-e", "a S b", "--alphabet", "a b").clean("not about a formula", code=1)
    result = json.loads(hardsim("verify", target, "--json", "-").out)["results"][0]
    assert (result["valid"], result["min_n"], result["max_n"], result["formula"]) == (True, 1, 4, None)


def test_a_program_without_layers_has_a_certificate(hardsim: Any, tmp_path: Path) -> None:
    program, target = tmp_path / "first.srasp", tmp_path / "first.cert.json"
    program.write_text("alphabet: a b\nY(i) := Q_a(i)\n", encoding="utf-8")
    hardsim("prove", program, "--all-n", "--certificate", target).exits(0, "certificate, checked")
    hardsim("verify", target).exits(0, "VALID")


def test_what_was_proved_by_every_word_has_no_certificate(hardsim: Any, tmp_path: Path) -> None:
    target = tmp_path / "ties.cert.json"
    outcome = hardsim(
        "prove", Path("formulas/tieless_until_7.ahat.json").resolve(), "--max-n", "2", "--certificate", target
    )
    assert outcome.code == 3
    assert "proved by running every word" in outcome.err
    assert not target.exists()


@pytest.mark.parametrize("score", ["a and b first", "all alike"])
def test_a_certificate_of_means_is_not_of_leftmost_heads_whose_ties_differ(
    hardsim: Any, tmp_path: Path, score: str
) -> None:
    model = json.loads(Path("formulas/majority_ties.ahat.json").read_text(encoding="utf-8"))
    del model["examples"]
    (head,) = model["program"]["layers"][0]["heads"]
    if score == "all alike":
        head["score"] = []
        del head["gap"]
    mean, left, target = tmp_path / "mean.ahat.json", tmp_path / "left.ahat.json", tmp_path / "means.cert.json"
    mean.write_text(json.dumps(model), encoding="utf-8")
    hardsim("prove", mean, "--all-n", "--certificate", target).exits(0)
    hardsim("verify", target, "--model", mean).exits(0, "VALID")
    # On `ba` the leftmost reading is 0 and the mean 1/2; on `baa` leftmost rejects and the mean accepts.
    head["weighting"] = "leftmost"
    left.write_text(json.dumps(model), encoding="utf-8")
    hardsim("verify", target, "--model", left).clean("INVALID", "head a and b is leftmost in", code=1)
    # All tied positions carry one value, so the leftmost value is the mean.
    head["values"]["share"] = {"counts": "1"} if head["score"] else {"1": "1"}
    left.write_text(json.dumps(model), encoding="utf-8")
    hardsim("prove", left, "--all-n", "--certificate", target).exits(0, "PROVED")
    hardsim("verify", target, "--model", left).exits(0, "VALID")
