"""Reports of checks and evaluations and their JSON, from handmade results: reports render and do not compute."""

import io
from dataclasses import replace
from fractions import Fraction

import jsonschema
import pytest

from hardsim.campaign.result import (
    CompileResult,
    EvalResult,
    Evaluation,
    Growth,
    HeadResult,
    LayerResult,
    LengthResult,
    Mapped,
    Parting,
    Shown,
    TemperatureRange,
    Tie,
    TiedPosition,
    TiedRow,
    Violation,
    WordsResult,
)
from hardsim.proof.shared.result import NoProof
from hardsim.report.check import (
    Listing,
    assumptions,
    grouped,
    head_row,
    length_row,
    model_line,
    print_check,
    print_evaluations,
    print_list,
    print_oracle_words,
    print_unproved,
    row_of,
    summary_row,
)
from hardsim.report.document import Document
from hardsim.report.screen import Screen
from hardsim.targets.result import ModelFacts
from tests.report.screens import printed
from tests.support.check import CheckResult, Mismatch, Verdict
from tests.support.documents import VALIDATOR, valid, validator_of
from tests.support.mistakes import raised

ALPHABET = ("a", "b")
HALF, TINY = Fraction(1, 2), Fraction(1, 10**9)
FACTS = ModelFacts(3, 2, 11, 47, "1/n", regime="temperature", beta=Fraction(7, 2), single_head=True)
HEAD = HeadResult(
    "S3", 1, "the rightmost b", "Theorem 0", Fraction(1, 8), Fraction(1, 5), Fraction(1, 4), Fraction(1, 6)
)
UNIFORM = HeadResult("first", 2, "marks the first", "", Fraction(0), Fraction(0), None, None)
SHORT = LengthResult(
    n=3,
    words=8,
    possible=8,
    exhaustive=True,
    accepted=5,
    soft_mismatches=0,
    hard_mismatches=0,
    undecided=0,
    acceptance_gap=Fraction(3, 4),
    margin=Fraction(1, 10),
    score_gap=Fraction(1, 4),
    error=Fraction(1, 8),
    bound=Fraction(1, 5),
    digits=23,
    heads=(HEAD, UNIFORM),
)
LONG = replace(
    SHORT,
    n=40,
    words=17,
    possible=2**40,
    exhaustive=False,
    soft_mismatches=2,
    hard_mismatches=1,
    acceptance_gap=None,
    margin=Fraction(-1, 10),
    score_gap=Fraction(1, 80),
    error=Fraction(1, 9),
    digits=29,
    heads=(replace(HEAD, error=Fraction(1, 9), score_gap=Fraction(1, 80), declared_gap=Fraction(1, 90)), UNIFORM),
)
RESULT = CheckResult(
    input="x[/b].ltl",
    sha256="0" * 64,
    kind="ltl",
    formula="#L[b] S a",
    title=None,
    model=FACTS,
    engine="mpmath",
    seed=3,
    max_n=40,
    exhaustive_limit=8,
    samples=17,
    lengths=(SHORT, LONG),
    verdict=Verdict.OBSERVED,
    reach="the words of this test",
    mismatch=None,
)
MISMATCH = Mismatch(("a", "b") * 200, True, True, None, Fraction(3, 4))


def text_of(result: CheckResult, tables: bool = True) -> str:
    """Return the printed block of a result, without a terminal."""
    return printed(print_check, result, ALPHABET, tables)


def test_a_row_has_what_a_reader_needs() -> None:
    assert length_row("3", SHORT) == ["3", "all 8", "5", "0", "0.1", "0.25", None, "0.125", "0.2"]
    assert length_row("40", LONG) == ["40", "17", "5", "3", "-0.1", "0.0125", None, "0.111", "0.2"]


def test_a_row_of_several_lengths_has_sums_and_extremes() -> None:
    span, row = row_of([replace(SHORT, bound=HALF), LONG])
    # The bound shown is that of length 3, where the error is largest.
    assert length_row(span, row) == ["3-40", "25", "10", "3", "-0.1", "0.0125", None, "0.125", "0.5"]
    assert length_row(*row_of([SHORT, replace(SHORT, n=4)]))[:2] == ["3-4", "all 16"]
    assert row_of([LENGTHS[0], LENGTHS[1]])[1].temperature == TemperatureRange(Fraction(1, 8), Fraction(1, 4))
    assert row_of([replace(SHORT, accepted=None), replace(LONG, accepted=None)])[1].accepted is None


def test_lengths_are_summed_up_unless_all_are_wanted() -> None:
    lengths = [replace(SHORT, n=n) for n in range(1, 21)]
    assert [[one.n for one in some] for some in grouped(lengths)][7:] == [[8], [*range(9, 17)], [17, 18, 19, 20]]
    assert [len(some) for some in grouped(lengths, every=True)] == [1] * 20
    result = replace(RESULT, lengths=tuple(lengths))
    assert "\n 9-16 " in text_of(result)
    assert "9-16" not in printed(print_check, result, ALPHABET, True, True)
    # An interrupted run has only some lengths.
    assert [len(some) for some in grouped(lengths[8:12])] == [4]


def test_a_head_has_its_extremes_with_the_bounds_of_the_same_length() -> None:
    first = head_row([SHORT, LONG], 0)
    assert first == ["S3", "1", None, "0.125", "0.2", "0.0125", "the rightmost b"]
    second = head_row([SHORT, LONG], 1, guilty=True)
    assert second == ["> first", "2", None, "0", "0", "–", "marks the first"]


def test_a_formula_has_the_columns_of_networks_that_round() -> None:
    bare = replace(RESULT, lengths=(replace(LONG, margin=None),))
    names = [line for line in text_of(bare).splitlines() if line.strip().startswith(("n ", "head "))]
    lengths = "tried accepted mismatches margin score gap error bound"
    assert [" ".join(line.split()) for line in names] == [
        f"n {lengths}", "head layer error bound score gap computes",
    ]  # fmt: skip


def test_the_verdict_has_its_reach() -> None:
    text = text_of(RESULT)
    assert text.startswith("OBSERVED  x[/b].ltl\n  the words of this test\n")
    assert "  formula   #L[b] S a\n" in text
    assert "3 layers, one head each, 2 heads, dimension 11, 47 parameters" in " ".join(text.split())
    assert "all 8" not in text_of(RESULT, tables=False)


@pytest.mark.parametrize(
    ("mismatch", "regime", "engine", "verdict", "expected"),
    [
        (MISMATCH, "temperature", "auto", Verdict.REFUTED, "raise --beta or lower --tau: the defaults"),
        (MISMATCH, "none", "auto", Verdict.REFUTED, "--regime all runs the regimes"),
        (replace(MISMATCH, hard=False), "temperature", "auto", Verdict.REFUTED, "a defect of hardsim"),
        # After mpmath the hint is to certify.
        (MISMATCH, "temperature", "mpmath", Verdict.OBSERVED, "--engine ball certifies it"),
    ],
)
def test_a_mismatch_is_on_a_line_of_its_own_with_the_next_step(
    mismatch: Mismatch, regime: str, engine: str, verdict: Verdict, expected: str
) -> None:
    facts = replace(FACTS, regime=regime, given=("beta", "tau"))
    result = replace(RESULT, engine=engine, verdict=verdict, mismatch=mismatch, model=facts, own=True)
    lines = text_of(replace(result, command="hardsim eval x.ltl abab")).splitlines()
    place = lines.index("ab" * 200)
    assert lines[place - 3].startswith(f"{verdict.name}  x[/b].ltl")
    assert lines[place - 2] == "  the words of this test"
    message = " ".join(" ".join(lines[place + 1 :]).split())
    assert "softmax: undecided (output 0.75, neither 0 nor 1)" in message
    assert expected in message
    assert "hardsim eval x.ltl abab" in lines


def test_the_head_where_softmax_leaves_hard_attention_is_named_and_marked() -> None:
    parting = Parting(1, "S3", "a S b", 7, Fraction(1), Fraction(1, 4), Fraction(1, 8))
    result = replace(RESULT, verdict=Verdict.REFUTED, mismatch=MISMATCH, parting=parting)
    message = " ".join(text_of(result).split())
    assert (
        "softmax leaves hard attention in layer 1, position 7, head S3 (a S b): it reads 0.25 instead of 1" in message
    )
    assert "off by 0.75; up to 0.125 is rounded away" in message
    assert "as the specification has it" not in message
    assert [line.split()[:2] for line in text_of(result).splitlines() if line.startswith(">")] == [[">", "S3"]]
    assert not [line for line in text_of(replace(result, parting=None)).splitlines() if line.startswith(">")]
    other = replace(result, model=replace(FACTS, specified=False))
    assert "as the specification has it" in " ".join(text_of(other).split())
    nowhere = replace(result, parting=None, mismatch=replace(MISMATCH, hard=False, soft=False))
    assert "no head or position to blame" in text_of(nowhere)
    valid(result)


def test_words_show_what_was_decided() -> None:
    lines = text_of(replace(RESULT, shown=Shown((("a",), ("a", "b")), ()))).splitlines()
    assert "  accepted  a   ab" in lines
    assert "  rejected  none of the shortest words" in lines
    outputs = Shown(outputs=(Mapped(("a", "b"), ("b", "a")), Mapped(("b",), ())))
    assert "  outputs   ab -> ba   b -> (empty)" in text_of(replace(RESULT, shown=outputs)).splitlines()
    assert "rejected" not in text_of(replace(RESULT, shown=outputs))
    # Words that do not fit side by side stand alone, as they were typed.
    long = Shown((("a",) * 50, ("b",) * 50), (("a",),))
    assert {"a" * 50, "b" * 50} < set(text_of(replace(RESULT, shown=long)).splitlines())
    valid(replace(RESULT, shown=outputs))


def test_a_mismatch_without_an_answer_of_the_network_says_so() -> None:
    mismatch = replace(MISMATCH, hard=False, soft=None, output=None, decided=False)
    result = replace(RESULT, engine="auto", verdict=Verdict.REFUTED, mismatch=mismatch)
    assert "softmax: not decided" in text_of(result)


def test_the_summary_counts_and_shows_extremes() -> None:
    assert summary_row(RESULT) == ["x[/b].ltl", "25", "0.0125", "0.125"]
    empty = replace(RESULT, lengths=(), verdict=Verdict.UNDECIDED)
    assert summary_row(empty)[1:] == ["0", "–", "–"]
    assert printed(print_unproved, [RESULT, empty, RESULT]) == ""
    why = NoProof("it is a model")
    unproved = [replace(MODEL, input=f"dir/{name}", unproved=why) for name in ("one", "two")]
    text = printed(print_unproved, [*unproved, replace(MODEL, unproved=NoProof("no law")), RESULT])
    assert "2 CERTIFIED and not PROVED: it is a model\n  one, two\n" in text
    assert "1 CERTIFIED and not PROVED: no law\n  model.ahat.json\n" in text


def test_of_several_results_each_has_a_row_and_failures_come_last() -> None:
    def listed(results: list[CheckResult]) -> list[str]:
        target = io.StringIO()
        listing = Listing(Screen(target), [one.input for one in results])
        for one in results:
            listing.add(one, ALPHABET)
        listing.end()
        return target.getvalue().splitlines()

    failed = replace(RESULT, verdict=Verdict.REFUTED, mismatch=MISMATCH)
    lines = listed([RESULT, failed, MODEL, failed])
    assert lines[0].split() == ["verdict", "input", "words", "score", "gap", "error"]
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["OBSERVED", "x[/b].ltl"], ["REFUTED", "x[/b].ltl"], ["CERTIFIED", "model.ahat.json"], ["REFUTED", "x[/b].ltl"],
    ]  # fmt: skip
    assert len({len(line) for line in lines[:5]}) == 1
    assert lines[5:7] == ["", "REFUTED  x[/b].ltl"]
    assert lines.count("ab" * 200) == lines[5:].count("REFUTED  x[/b].ltl") == 2
    assert not any(line.startswith(("OBSERVED", "CERTIFIED")) for line in lines[5:])
    # The header comes with the first row.
    assert listed([failed])[0].startswith("verdict")
    # With --quiet there are no rows, and failures come last, too.
    target = io.StringIO()
    listing = Listing(Screen(target), [RESULT.input])
    for one in (failed, RESULT):
        listing.brief(one, ALPHABET)
    listing.end()
    assert [line.split()[0] for line in target.getvalue().splitlines() if "x[/b].ltl" in line] == [
        "OBSERVED",
        "REFUTED",
    ]
    # A row has room for the regime that was asked for.
    other = replace(RESULT, input="name", model=replace(FACTS, regime="none"))
    for regime in ("none", "all"):
        target = io.StringIO()
        Listing(Screen(target), ["name"], regime).add(other, ALPHABET)
        assert len({len(line) for line in target.getvalue().splitlines()}) == 1
    # A note on words that softmax was not run on stands behind the columns, and a wide cell moves no later column.
    (length, *others) = RESULT.lengths
    noted = replace(RESULT, lengths=(replace(length, bounded=75), *others))
    head, row = listed([noted])[:2]
    assert row.endswith("  (75 by a bound)")
    assert len(row.removesuffix("  (75 by a bound)")) == len(head)
    many = replace(RESULT, lengths=(replace(length, words=12_345_678), *others))
    head, row = listed([many])[:2]
    assert len(row) == len(head)
    # Numbers that do not fit beside a long name are left out.
    assert listed([replace(RESULT, input="x" * 70)])[1] == f"OBSERVED   {'x' * 70}"
    assert printed(print_list, [RESULT, MODEL]).splitlines()[1].split()[:2] == ["OBSERVED", "x[/b].ltl"]
    other = replace(RESULT, model=replace(FACTS, regime="position"))
    assert "x[/b].ltl, regime position" in printed(print_list, [other]).splitlines()[1]


def envelope(result: CheckResult, **changes: object) -> dict[str, object]:
    """Return a document with one result."""
    return Document("check", 3, 0, results=(result,)).to_dict() | changes


def test_json_meets_the_schema_and_loses_no_word() -> None:
    mismatch = replace(MISMATCH, word=("a b", "é", "\udcff"))
    result = replace(RESULT, mismatch=mismatch, verdict=Verdict.REFUTED)
    VALIDATOR.validate(envelope(result))
    assert valid(result)["mismatch"]["word"] == ["a b", "é", "\udcff"]
    assert '"é"' in result.to_json()
    assert "\\udcff" in result.to_json()
    assert valid(RESULT)["lengths"][1]["possible"] == {"value": 1099511627776, "exact": "1099511627776"}  # 2^40


@pytest.mark.parametrize(
    "changes",
    [
        {"schema_version": 1},
        {"command": "eval"},
        {"command": "dance"},
        {"seed": None},
        {"results": [{}]},
        {"exit_code": 5},
        {"time": "now"},
    ],
)
def test_the_schema_refuses_other_documents(changes: dict[str, object]) -> None:
    raised(jsonschema.ValidationError, VALIDATOR.validate, envelope(RESULT, **changes))


# ---- models with Theorem 26's temperature ----


def tempered(n: int, error: Fraction = TINY, gap: Fraction | None = HALF, sampled: str = "") -> LengthResult:
    """Return the result of one length of a model."""
    kind = "ties" if n == 3 else "tieless"
    return LengthResult(
        n=n, words=2**n, possible=2**n, exhaustive=not sampled, accepted=n, soft_mismatches=0, hard_mismatches=0,
        undecided=0, score_gap=gap, size=Fraction(3), temperature=TemperatureRange(Fraction(1, 8), Fraction(1, 4)),
        theorem=Fraction(1, 8), epsilon=Fraction(1, 4), error=error, bound=2 * error, digits=38, sampled=sampled,
        layers=(LayerResult(1, "ties" if n > 2 else "tieless", Fraction(3), error / 2, error, error, 2 * error),),
        heads=(
            HeadResult("h", 1, "", "", error, 3 * error, gap, HALF / 2, None, kind, n, Fraction(2)),
        ),
    )  # fmt: skip


LENGTHS = (tempered(2, HALF, Fraction(1, 3)), tempered(3, TINY, Fraction(1, 7)), tempered(4))
MODEL = CheckResult(
    input="model.ahat.json", sha256="0" * 64, kind="ahat", formula=None, title="A title",
    model=ModelFacts(1, 1, 3, 4000, "that of Theorem 26 at each length", bos=True, ties_broken=("h", "k")),
    engine="ball", seed=0, max_n=4, exhaustive_limit=1024, samples=None, lengths=LENGTHS, verdict=Verdict.CERTIFIED,
    reach="28 words", mismatch=None, ties=(Tie("h", 3, ("a", "b", "b"), 2, 2),),
    growth=(Growth("gap", -1.0, 2.0, 2, 4),),
)  # fmt: skip
UNDECIDED = "hard attention: undecided; softmax: undecided (output 0.5)"
LINE = "1 layer, 1 head, dimension 3, 4,000 parameters, with a beginning of sequence, ties broken in h, k"


def test_rows_show_every_number() -> None:
    row = ["3", "all 8", "3", "0", None, "0.143", "0.125 to 0.25", "1e-9", "2e-9"]
    assert length_row("3", LENGTHS[1]) == row
    sampled = replace(LENGTHS[1], exhaustive=False, words=5, temperature=TemperatureRange(HALF, HALF), score_gap=None)
    assert length_row("3", sampled)[1:7] == ["5", "3", "0", None, "–", "0.5"]
    # Errors are largest at length 2, the gap is least at length 3, where there were ties.
    assert head_row(LENGTHS, 0) == ["h", "1", "ties", "0.5", "1.5", "0.143", None]


def test_a_uniform_head_has_no_gap() -> None:
    lengths = [
        replace(one, heads=(replace(one.heads[0], kind="uniform", score_gap=None, declared_gap=None, most_maxima=1),))
        for one in LENGTHS
    ]
    row = head_row(lengths, 0)
    assert (row[2], row[5]) == ("uniform", "–")


def test_a_block_has_tables_facts_and_verdict() -> None:
    text = text_of(MODEL)
    lines = text.splitlines()
    said = "without the added weights head h is tieless up to length 2: at length 3, position 2 has 2 positions with "
    said += "the largest score, in the word abb "
    message = " ".join(text.split()) + " "
    assert said in message
    assert "abb" in lines
    assert "growth gap ~ n^-1.00 (fitted to lengths 2 to 4) " in message
    assert (
        "bounds Theorem 26, with gap and sizes measured on all words of each length: no assumption is needed "
        in message
    )
    assert lines[:2] == ["CERTIFIED  model.ahat.json", "  28 words"]
    assert "1.5" in text
    assert "margin" not in text
    assert "computes" not in text
    bare = text_of(MODEL, tables=False).splitlines()
    assert bare[:3] == ["CERTIFIED  model.ahat.json", "  28 words", "  file says A title"]
    assert " ".join(" ".join(bare[3:]).split()) == f"network {LINE}"
    assert "title" not in text_of(replace(MODEL, title=""))
    valid(MODEL)


def test_what_a_formula_was_compiled_into_has_the_columns_of_the_formula() -> None:
    hard = replace(RESULT, kind="ahat", input="x.ahat.json", formula=None, title="x (compiled for regime temperature)")
    formula, compiled = text_of(RESULT).splitlines(), text_of(hard).splitlines()
    assert compiled[2] == "  file says x (compiled for regime temperature)"
    assert compiled[3:] == formula[3:]
    valid(hard)


def test_ties_from_the_start() -> None:
    text = " ".join(text_of(replace(MODEL, ties=(Tie("h", 1, ("a",), 0, 2),))).split())
    assert "head h has ties: at length 1, position 0 has 2 positions" in text


def test_assumptions_say_where_they_are_made() -> None:
    one = (tempered(2), tempered(3, sampled="gap and sizes"))
    assert assumptions(one) == "gap and sizes measured on samples at length 3 (an assumption)"
    two = (*one, tempered(4, sampled="the sizes"))
    assert assumptions(two) == "gap and sizes measured on samples at lengths 3 to 4 (an assumption)"
    assert assumptions((tempered(2),)) == ""
    text = " ".join(text_of(replace(MODEL, lengths=one)).split())
    assert "bounds Theorem 26, with gap and sizes measured on samples at length 3" in text
    assert "Theorem 26" not in text_of(RESULT)


@pytest.mark.parametrize(
    ("mismatch", "says", "next_step"),
    [
        (Mismatch(("a",), None, True, False), "hard attention: accept; softmax: reject", "; lower --tau: the"),
        (Mismatch(("a",), True, False, False), "oracle: accept; hard attention: reject", "defect of hardsim"),
        (Mismatch(("a",), None, None, None), "hard attention: undecided", "move the threshold"),
        (Mismatch(("a",), None, None, None, HALF), UNDECIDED, "move"),
        (Mismatch(("a",), None, ("b",), (None,)), "hard attention: b; softmax: ?", "; lower --tau: the"),
        (Mismatch(("a",), None, ("b", None), ("b", "a")), "hard attention: b?; softmax: ba", "threshold"),
    ],
)
def test_a_mismatch_says_what_to_do(mismatch: Mismatch, says: str, next_step: str) -> None:
    facts = replace(MODEL.model, given=("tau",))
    result = replace(MODEL, mismatch=mismatch, verdict=Verdict.REFUTED, reach="wrong", own=True, model=facts)
    lines = text_of(result, tables=False).splitlines()
    place = lines.index("  wrong")
    assert lines[place - 1] == "REFUTED  model.ahat.json"
    assert lines[place + 1].startswith("The shortest mismatching word" if mismatch.refutes else "The word")
    assert lines[place + 2] == "a"
    assert lines[place + 3].strip().startswith(says)
    message = " ".join(" ".join(lines[place + 4 :]).split())
    assert next_step in message
    assert "the tied positions carry" not in message
    row = TiedRow(("a", "b"), 1, (TiedPosition(1, (Fraction(1),)), TiedPosition(2, (Fraction(0),))), True)
    given = replace(result, ties=(Tie("h", 2, ("a", "b"), 1, 2, "not simulated", row),))
    message = " ".join(text_of(given, tables=False).split())
    shared = "head h ties: on `ab` the tied positions carry 1 and 0, so no temperature helps. Remove the" in message
    assert shared is ("--tau" in next_step)
    assert not (shared and "--tau" in message)
    assert "among ties" not in text_of(replace(result, ties=()), tables=False)
    valid(result)


def test_only_hardsims_own_network_is_called_a_defect() -> None:
    wrong = replace(MISMATCH, hard=False)
    for own in (False, True):
        for specified in (False, True):
            facts = replace(FACTS, specified=specified)
            text = text_of(replace(RESULT, verdict=Verdict.REFUTED, mismatch=wrong, model=facts, own=own))
            assert ("defect" in text) is (own and specified)
            assert ("compile the formula again" in " ".join(text.split())) is not (own and specified)


def test_a_violation_says_what_to_do() -> None:
    steps = {
        (True, False): "correct the gap",
        (False, False): "the bound is computed from what the file declares for its heads",
        (False, True): "a defect of hardsim, please report it",
    }
    for (declared, own), next_step in steps.items():
        violation = Violation("a claim", 3, ("a", "b"), Fraction(1, 3), HALF, declared=declared)
        result = replace(MODEL, violation=violation, verdict=Verdict.REFUTED, reach="it does not hold", own=own)
        text = text_of(result, tables=False)
        assert "claimed 0.5, measured 0.333\n" in text
        assert "\nab\n" in text
        assert next_step in " ".join(text.split())
        assert ("defect" in text) is own
        valid(result)
        wrong = replace(result, mismatch=Mismatch(("a",), None, True, False))
        assert "lower --tau" not in text_of(wrong, tables=False)
    result = replace(MODEL, violation=Violation("the error bound", 3, None, HALF, TINY))
    assert "on a line of its own" not in text_of(result, tables=False)
    valid(result)


def test_one_summary_for_all() -> None:
    assert summary_row(MODEL) == ["model.ahat.json", "28", "0.143", "0.5"]
    assert model_line(MODEL.model) == LINE


def test_json_says_what_does_not_apply() -> None:
    formula, model = valid(RESULT), valid(MODEL)
    assert (formula["kind"], formula["formula"], formula["title"]) == ("ltl", "#L[b] S a", None)
    assert (model["kind"], model["formula"], model["title"]) == ("ahat", None, "A title")
    assert (model["model"]["regime"], model["model"]["beta"], model["model"]["ties_broken"]) == (None, None, ["h", "k"])
    assert formula["lengths"][0]["temperature"] is None
    assert model["lengths"][0]["temperature"]["least"] == {"value": 0.125, "exact": "1/8"}
    assert model["lengths"][0]["margin"] is None
    assert formula["lengths"][0]["heads"][0]["most_maxima"] is None
    assert formula.keys() == model.keys()


# ---- eval ----


IN_REGIME = ModelFacts(1, 1, 3, 4, "1/n", regime="position", beta=Fraction(4))
PLAIN = ModelFacts(1, 1, 3, 4, "that of Theorem 26 at each length")
TEMPERED = [
    Evaluation(("a", "b"), None, True, True, 38, error=TINY, bound=HALF),
    Evaluation(("b",), True, None, None, 77, error=Fraction(0), bound=HALF),
    Evaluation(("b", "b"), ("b",), ("b",), (None,), 154, error=HALF, bound=HALF),
    Evaluation(("a",), None, True, None, 154, decided=False, bound=HALF),
]
ROUNDING = [
    Evaluation(("a",), True, True, True, 39, output=1 - TINY, unrounded=HALF, margin=TINY),
    Evaluation(("b",), False, False, None, 39, output=HALF),
    Evaluation(("b", "a"), False, False, None, 39, decided=False),
]


def cells(found: list[Evaluation]) -> list[list[str]]:
    """Return the cells of the table, row by row."""
    lines = printed(print_evaluations, found, "ab").splitlines()
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def test_words_of_a_model_stand_beside_the_theorem() -> None:
    assert [one.agree for one in TEMPERED] == [True, False, False, None]
    header, _, *rows = cells(TEMPERED)
    assert header == ["agree", "oracle", "hard", "soft", "error", "bound", "digits", "word"]
    assert rows == [
        ["yes", "–", "accept", "accept", "1e-9", "0.5", "38", "ab"],
        ["NO", "accept", "undecided", "undecided", "0", "0.5", "77", "b"],
        ["NO", "b", "b", "?", "0.5", "0.5", "154", "bb"],
        ["–", "–", "accept", "not decided", "–", "0.5", "154", "a"],
    ]
    assert cells([TEMPERED[3]])[0] == header


def test_words_of_a_formula_have_an_output_and_its_margin() -> None:
    header, _, *rows = cells(ROUNDING)
    assert header == ["agree", "oracle", "hard", "soft", "output", "unrounded", "margin", "digits", "word"]
    assert rows == [
        ["yes", "accept", "accept", "accept", "1 - 1e-9", "0.5", "1e-9", "39", "a"],
        ["NO", "reject", "reject", "undecided", "0.5", "–", "–", "39", "b"],
        ["–", "reject", "reject", "not decided", "–", "–", "–", "39", "ba"],
    ]
    assert cells([ROUNDING[2]])[0] == header


def test_the_semantics_alone() -> None:
    lines = printed(print_oracle_words, [(("a",), True), (("b", "a"), ("b",))], "ab").splitlines()
    assert [line.split() for line in lines[2:]] == [["accept", "a"], ["b", "ba"]]


def test_json_meets_the_schema() -> None:
    found = valid(EvalResult("x", "ahat", PLAIN, "auto", tuple(TEMPERED)))["words"]
    assert [word["soft"] for word in found] == [True, None, [None], None]
    assert [word["error"] for word in found] == [1e-9, 0, 0.5, None]
    assert {word["output"] for word in found} == {None}
    formula = valid(EvalResult("x", "ltl", IN_REGIME, "auto", tuple(ROUNDING), partial=True))
    assert [word["margin"] for word in formula["words"]] == [1e-9, None, None]
    assert [word["output"] for word in formula["words"]] == [0.999999999, 0.5, None]
    assert found[0].keys() == formula["words"][0].keys()
    found[0]["soft"] = "accept"
    raised(jsonschema.ValidationError, validator_of("EvalResult").validate, formula | {"words": found})


def test_json_of_words_and_compile() -> None:
    for facts in (IN_REGIME, PLAIN, None):
        assert valid(WordsResult("x", "srasp", facts, "oracle", 3, 14, (("a",),)))["accepted"] == [["a"]]
    for facts in (IN_REGIME, PLAIN):
        valid(CompileResult("x", "srasp", facts, "-", "0" * 64))
