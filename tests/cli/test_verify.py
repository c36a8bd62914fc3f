"""`hardsim prove --certificate` and `hardsim verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_a_certificate_is_written_and_accepted(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "since.cert.json"
    outcome = hardsim("prove", since, "--max-n", "5", "--certificate", target)
    assert outcome.code == 0
    assert "certificate, checked" in outcome.out
    checked = hardsim("verify", target)
    assert checked.code == 0
    assert "VALID: every word of length 1 to 5" in checked.out
    (result,) = hardsim("verify", target, "--json", "-").json["results"]
    assert (result["valid"], result["max_n"], result["formula"]["root"]) == (True, 5, [4, False])


def test_an_altered_certificate_is_rejected(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "since.cert.json"
    assert hardsim("prove", since, "--max-n", "3", "--certificate", target).code == 0
    document = json.loads(target.read_text(encoding="utf-8"))
    document["model"]["layers"][0]["heads"][0]["mask"] = "past"
    target.write_text(json.dumps(document), encoding="utf-8")
    outcome = hardsim("verify", target)
    assert outcome.code == 1
    assert "INVALID: model was altered" in outcome.out
    (result,) = hardsim("verify", target, "--json", "-").json["results"]
    assert (result["verdict"], result["claim"]) == ("INVALID", None)


def test_what_is_no_certificate(hardsim: Any, since: Path, tmp_path: Path) -> None:
    text = hardsim("verify", since)
    assert (text.code, text.out) == (2, "")
    assert "not JSON" in text.err
    assert "hardsim prove FILE --certificate" in text.err
    assert hardsim("verify", tmp_path / "none").code == 2
    wrong = tmp_path / "wrong.json"
    for text in ("{}", "[]", '{"format": "hardsim-certificate", "schema_version": 3}', '{"a": 1, "a": 2}', "[" * 10**5):
        wrong.write_text(text, encoding="utf-8")
        outcome = hardsim("verify", wrong)
        assert outcome.code == 2, text[:20]
        assert "error" in outcome.err
    wrong.write_text('{"format": "hardsim-certificate", "schema_version": 2}', encoding="utf-8")
    assert hardsim("verify", wrong).code == 1


def test_there_is_no_certificate_without_a_proof(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "none.json"
    assert hardsim("prove", since, "--beta", "1", "--max-n", "4", "--certificate", target).code == 1
    assert not target.exists()


def test_options_that_do_not_go_together(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "c.json"
    for more in (
        ("--heads-only",),
        ("--regime", "all"),
        ("--max-n", "300"),
        ("--json", target),
        (since,),
    ):
        outcome = hardsim("prove", since, "--certificate", target, *more)
        assert outcome.code == 2, more
        assert not target.exists()
    assert hardsim("prove", since, "--certificate", "-", "--json", "-").code == 2
    piped = hardsim("prove", since, "--max-n", "2", "--certificate", "-")
    assert json.loads(piped.out)["format"] == "hardsim-certificate"


def test_a_certificate_of_a_span_claims_that_span(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "since.cert.json"
    for first, last, told in ((6, 6, "length 6\n"), (3, 5, "length 3 to 5\n"), (1, 1, "length 1\n")):
        arguments = ("--min-n", str(first), "--max-n", str(last), "--certificate", target)
        assert hardsim("prove", since, *arguments).code == 0
        outcome = hardsim("verify", target)
        assert outcome.code == 0
        assert f"VALID: every word of {told}" in outcome.out
        (result,) = hardsim("verify", target, "--json", "-").json["results"]
        assert (result["min_n"], result["max_n"]) == (first, last)
        assert "length min_n to max_n" in result["claim"]


def test_a_certificate_does_not_speak_of_other_lengths(hardsim: Any, since: Path, tmp_path: Path) -> None:
    from hardsim.verify import digests

    target = tmp_path / "since.cert.json"
    assert hardsim("prove", since, "--min-n", "4", "--max-n", "5", "--certificate", target).code == 0
    text = target.read_text(encoding="utf-8")
    for changes, reason in (
        ({"min_n": 1}, "bounds of head"),
        ({"min_n": 5}, "bounds of head"),
        ({"max_n": 6}, "bounds of head"),
        ({"min_n": 6}, "lengths from 1 to 256 can be checked, in this order"),
        ({"min_n": 0}, "lengths from 1 to 256"),
        ({"min_n": True}, "min_n: this should be an integer"),
        ({"max_n": 257}, "lengths from 1 to 256"),
    ):
        document = json.loads(text) | changes
        target.write_text(json.dumps(document), encoding="utf-8")
        assert hardsim("verify", target).code == 1
        # Even where the digests are made anew.
        document["digests"] = digests(document)
        target.write_text(json.dumps(document), encoding="utf-8")
        outcome = hardsim("verify", target)
        assert outcome.code == 1
        assert reason in outcome.out, changes
