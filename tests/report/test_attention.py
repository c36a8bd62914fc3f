"""What is printed of hard-attention models, and their JSON."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import jsonschema
import pytest

from hardsim.checking.attention_result import (
    AttentionLength,
    AttentionMismatch,
    AttentionResult,
    Growth,
    HeadRow,
    LayerRow,
    Tie,
    Violation,
)
from hardsim.checking.evaluate import AttentionEvaluation
from hardsim.checking.result import Verdict
from hardsim.report.attention import (
    answer_text,
    assumptions,
    head_row,
    layer_row,
    length_row,
    print_attention,
    print_attention_words,
)
from hardsim.report.attention_json import attention_json, evaluations_json
from hardsim.report.json import schema
from hardsim.report.screen import Screen

HALF, TINY = Fraction(1, 2), Fraction(1, 10**9)


def length(n: int, error: Fraction = TINY, gap: Fraction | None = HALF, assumption: str = "") -> AttentionLength:
    return AttentionLength(
        n=n, words=2**n, possible=2**n, exhaustive=not assumption, accepted=n, soft_mismatches=0, hard_mismatches=0,
        gap=gap, size=Fraction(3), tau=(Fraction(1, 8), Fraction(1, 4)), theorem=Fraction(1, 8), epsilon=Fraction(1, 4),
        error=error, bound=2 * error, bits=128, assumption=assumption,
        layers=(LayerRow(1, "ties" if n > 2 else "tieless", Fraction(3), error / 2, error, error, 2 * error),),
        heads=(HeadRow("h", 1, "ties" if n == 3 else "tieless", gap, HALF / 2, n, Fraction(2), error, 3 * error),),
    )  # fmt: skip


LENGTHS = (length(2, HALF, Fraction(1, 3)), length(3, TINY, Fraction(1, 7)), length(4))
RESULT = AttentionResult(
    name="model.ahat.json", sha256="0" * 64, kind="ahat", title="A title", summary="1 layer", engine="ball", seed=0,
    max_n=4, lengths=LENGTHS, ties=(Tie("h", 3, ("a", "b", "b"), 2, 2),), growth=(Growth("gap", -1.0, 2.0, (2, 4)),),
    verdict=Verdict.CERTIFIED, reach="28 words",
)  # fmt: skip


def printed(write: Callable[[Screen], None]) -> str:
    target = io.StringIO()
    write(Screen(target))
    return target.getvalue()


def shown(result: AttentionResult, alphabet: tuple[str, ...] = ("a", "b"), tables: bool = True) -> str:
    return printed(lambda screen: print_attention(screen, result, alphabet, tables))


def valid(result: AttentionResult) -> None:
    named = {"$ref": "#/$defs/attention_check", "$defs": schema()["$defs"]}
    jsonschema.Draft202012Validator(named).validate(attention_json(result))


def test_answers() -> None:
    assert [answer_text(answer, "ab") for answer in (True, False, None)] == ["accept", "reject", "undecided"]
    assert answer_text(("a", None, "b"), "ab") == "a?b"
    assert answer_text(("aa", "b"), ("aa", "b")) == "aa b"
    assert answer_text((), "ab") == "(empty)"


def test_rows_show_every_number() -> None:
    row = ["3", "all 8", "3", "0", "0", "0.143", "3", "0.125 to 0.25", "0.25", "1e-9", "2e-9", "128"]
    assert length_row(LENGTHS[1], "srasp") == row
    sampled = replace(LENGTHS[1], exhaustive=False, words=5, tau=(HALF, HALF), gap=None)
    assert length_row(sampled, "srasp")[1:8] == ["5 of 8", "3", "0", "0", "–", "3", "0.5"]
    # Errors are largest at length 2, the gap is least at length 3, where there were ties.
    assert layer_row(LENGTHS, 0) == ["1", "ties", "2", "0.25", "0.5", "0.5", "1"]
    assert head_row(LENGTHS, 0) == ["h", "1", "ties", "0.143", "3", "0.25", "4", "0.5", "2", "1.5"]


def test_a_uniform_head_has_no_gap() -> None:
    lengths = [
        replace(one, heads=(replace(one.heads[0], kind="uniform", gap=None, declared=None, most=1),)) for one in LENGTHS
    ]
    assert head_row(lengths, 0)[2:7] == ["uniform", "–", "–", "–", "–"]


def test_a_block_has_tables_facts_and_verdict() -> None:
    text = shown(RESULT)
    lines = text.splitlines()
    said = "  head h is tieless up to length 2: at length 3, position 2 has 2 positions with the largest "
    said += "score, in the word"
    assert lines[lines.index(said) + 1] == "abb"
    assert "  growth   gap ~ n^-1.00 (fitted to lengths 2 to 4)" in lines
    assert "  bounds   Theorem 26, with gap and sizes of all words of each length: no assumption" in lines
    assert lines[-2] == "CERTIFIED: 28 words"
    assert "1.5" in text
    assert shown(RESULT, tables=False).splitlines() == [
        "model.ahat.json", "  title    A title", "  model    1 layer", "CERTIFIED: 28 words", "",
    ]  # fmt: skip
    valid(RESULT)


def test_ties_from_the_start() -> None:
    text = shown(replace(RESULT, ties=(Tie("h", 1, ("a",), 0, 2),)))
    assert "head h has ties: at length 1, position 0 has 2 positions" in text


def test_assumptions_say_where_they_are_made() -> None:
    one = (length(2), length(3, assumption="gap and sizes measured on 5 words"))
    assert assumptions(one) == "gap and sizes measured on samples at length 3 (an assumption)"
    two = (*one, length(4, assumption="the sizes measured on 7 words"))
    assert assumptions(two) == "gap and sizes measured on samples at lengths 3 to 4 (an assumption)"
    assert assumptions((length(2),)) == ""
    assert "  bounds   Theorem 26, with gap and sizes measured on samples at length 3" in shown(
        replace(RESULT, lengths=one)
    )


@pytest.mark.parametrize(
    ("mismatch", "says", "next_step"),
    [
        (AttentionMismatch(("a",), None, True, False), "hard attention: accept; softmax: reject", "lower --tau"),
        (AttentionMismatch(("a",), True, False, False), "oracle: accept; hard attention: reject", "defect of hardsim"),
        (AttentionMismatch(("a",), None, None, None), "hard attention: undecided", "move the threshold"),
        (AttentionMismatch(("a",), None, ("b",), (None,)), "hard attention: b; softmax: ?", "lower --tau"),
        (AttentionMismatch(("a",), None, ("b", None), ("b", "a")), "hard attention: b?; softmax: ba", "threshold"),
    ],
)
def test_a_mismatch_says_what_to_do(mismatch: AttentionMismatch, says: str, next_step: str) -> None:
    result = replace(RESULT, mismatch=mismatch, verdict=Verdict.REFUTED, reach="wrong")
    lines = shown(result, tables=False).splitlines()
    place = lines.index("REFUTED: wrong")
    assert lines[place + 2] == "a"
    assert lines[place + 3].strip().startswith(says)
    assert next_step in lines[place + 4]
    valid(result)


def test_a_violation_says_what_to_do() -> None:
    for what, next_step in (
        ("the declared gap of head h", "correct the gap"),
        ("the error bound", "defect of hardsim"),
    ):
        violation = Violation(what, 3, ("a", "b"), Fraction(1, 3), HALF)
        result = replace(RESULT, violation=violation, verdict=Verdict.REFUTED, reach="it does not hold")
        text = shown(result, tables=False)
        assert "claimed 0.5, measured 0.333\n" in text
        assert "\nab\n" in text
        assert next_step in text
        valid(result)
    result = replace(RESULT, violation=Violation("the error bound", 3, None, HALF, TINY))
    assert "on a line of its own" not in shown(result, tables=False)
    valid(result)


def test_words_of_eval() -> None:
    found = [
        AttentionEvaluation(("a", "b"), None, True, True, TINY, HALF, 128),
        AttentionEvaluation(("b",), True, None, None, Fraction(0), HALF, 256),
        AttentionEvaluation(("b", "b"), ("b",), ("b",), (None,), HALF, HALF, 512),
    ]
    assert [one.agree for one in found] == [True, False, False]
    assert [one.refuted for one in found] == [False, True, True]
    rows = [
        line.split() for line in printed(lambda screen: print_attention_words(screen, found, "ab")).splitlines()[2:]
    ]
    assert rows == [
        ["yes", "–", "accept", "accept", "1e-9", "0.5", "128", "ab"],
        ["NO", "accept", "undecided", "undecided", "0", "0.5", "256", "b"],
        ["NO", "b", "b", "?", "0.5", "0.5", "512", "bb"],
    ]
    document = evaluations_json("x", "1 layer", found)
    named = {"$ref": "#/$defs/attention_eval", "$defs": schema()["$defs"]}
    jsonschema.Draft202012Validator(named).validate(document)
    assert document["words"][2]["soft"] == [None]
    document["words"][0]["soft"] = "accept"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(named).validate(document)
