"""The report of `show` about a network, and its JSON."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from hardsim.campaign.result import HeadResult
from hardsim.program.budget import Budget
from hardsim.report.model_report import ModelReport, describe, print_model, reading
from hardsim.targets.formula import FormulaTarget
from hardsim.targets.sharpness import OneNetwork
from hardsim.targets.weights import WeightsTarget
from tests.report.screens import printed
from tests.support.check import Subject
from tests.support.documents import valid, validator_of
from tests.support.language import parse_arith, parse_expression
from tests.support.model import (
    Affine,
    Encoding,
    Head,
    Kind,
    Letter,
    Mask,
    Program,
    ProgramLayer,
    Unit,
    Weighting,
)

HALF = Fraction(1, 2)
ONE = Affine.constant(1)
A, PLACE = Affine.coordinate("[a]"), Affine.coordinate("i/n")
LAST = Head(
    "last", Mask.FUTURE, Weighting.RIGHTMOST, (("last a", A),), ((ONE, A + PLACE.scaled(HALF)),),
    decay=parse_arith("1/(2*n)"), kind=Kind.NEAREST, purpose="the rightmost a", theorem="Theorem 0",
)  # fmt: skip
MEAN = Head("mean", Mask.NONE, Weighting.AVERAGE, (("mean a", A),), kind=Kind.UNIFORM, purpose="the mean of a")
LETTERS = (Letter("[a]", frozenset("a")),)
ENCODINGS = (Encoding("i/n", parse_arith("i/n")), Encoding("first", parse_arith("1/i")))
FORMULA = Program(
    alphabet=("a", "b"), letters=LETTERS, encodings=ENCODINGS,
    layers=(
        ProgramLayer((LAST, MEAN), (Unit((("O a", 1),), Affine.of((("last a", 2), ("1", -HALF)))),)),
        ProgramLayer((), (Unit((("no", -1),), Affine.coordinate("O a")),), (("no", 1),)),
    ),
    output="no", regime="temperature", meanings={"O a": "O a", "no": "!O a"},
)  # fmt: skip
TWO = Head(
    "two", Mask.STRICT_FUTURE, Weighting.LEFTMOST, (("x", A), ("y", PLACE)), ((ONE, PLACE),), gap=parse_arith("1/n")
)
MODEL = Program(
    alphabet=("a", "b"), letters=LETTERS, encodings=ENCODINGS[:1], bos=True,
    layers=(
        ProgramLayer((TWO, MEAN), (Unit((("x", -1), ("y", 1)), A, clip=False), Unit((("y", HALF),), A)), (("y", 3),)),
    ),
    output="y", threshold=HALF,
)  # fmt: skip


def head_bounds(_: Subject, n: int) -> dict[str, HeadResult]:
    """Return the bounds of the heads at length n, here a simple number."""
    return {
        "last": HeadResult("last", 1, "", "", Fraction(0), Fraction(1, n), None, Fraction(1, 2 * n)),
        "mean": HeadResult("mean", 1, "", "", Fraction(0), Fraction(0), None, None),
    }


@pytest.fixture
def formula(monkeypatch: pytest.MonkeyPatch) -> ModelReport:
    """Return the report of a formula in a regime, described at two lengths."""
    monkeypatch.setattr("hardsim.report.model_report.head_bounds", head_bounds)
    subject = FormulaTarget(
        name="x.ltl",
        sha256="0" * 64,
        alphabet=("a", "b"),
        title="!O a",
        program=FORMULA,
        sharpness=OneNetwork.of(FORMULA, Budget(Fraction(4), parse_arith("1/n"))),
        formula=parse_expression("!O a", ["a", "b"]),
    )
    return describe(subject, (8, 64))


def model(program: Program = MODEL, warnings: Sequence[str] = ()) -> ModelReport:
    """Return the report of a model."""
    subject = WeightsTarget(name="x.ahat.json", sha256="0" * 64, alphabet=("a", "b"), title="Some x", program=program)
    return describe(subject, (8,), warnings)


def lines_of(report: ModelReport) -> list[str]:
    """Return the printed lines."""
    return [line.rstrip() for line in printed(print_model, report).splitlines()]


def test_a_formula_in_a_regime(formula: ModelReport) -> None:
    lines = lines_of(formula)
    assert lines[:3] == ["x.ltl", "  formula      !O a", "  read at      the last position"]
    for line in (
        "  theorems     Theorem 0",
        f"  size         2 layers, 2 heads, dimension 8, {formula.subject.facts.parameters} non-zero parameters",
        "  temperature  1/n",
        "  beta         4 (the logits are beta score / temperature)",
        "  encodings    i/n, first = 1/i",
        "[a]         the symbol is one of: a",
        "no          !O a (the output)",
        "layer 1: 2 heads, 1 clip, needed for O a",
        "layer 2: no attention, 1 clip, needed for no",
    ):
        assert line in lines
    assert next(line for line in lines if "precision" in line).count("digits at n = ") == 2
    place = lines.index("  head last: the rightmost a [Theorem 0]")
    assert lines[place + 1 : place + 12] == [
        "    attends to  j <= i, rightmost",
        "    score       (1)_i ([a] + 1/2 i/n)_j, times beta = 4",
        "    value       [a]",
        "    at n = 8    error at most 0.125, score gap at least 0.0625",
        "    at n = 64   error at most 0.0157, score gap at least 0.00781",
        "  head mean: the mean of a",
        "    attends to  every j, average",
        "    score       0 (uniform)",
        "    value       [a]",
        "    at n = 8    exact",
        "    at n = 64   exact",
    ]


def test_a_path_has_one_coordinate_a_layer() -> None:
    assert FORMULA.longest_path == {1: "O a", 2: "no"}
    # A layer that the output does not need has none.
    idle = ProgramLayer((), (Unit((("spare", 1),), A),))
    assert replace(FORMULA, layers=(*FORMULA.layers, idle), coordinates=()).longest_path == {1: "O a", 2: "no"}
    assert Program(("a",), LETTERS, (), (), "[a]").longest_path == {}


def test_a_program_with_its_hidden_units() -> None:
    report = model(warnings=("it may overflow",))
    size = f"dimension 6, {report.subject.facts.parameters} parameters"
    assert lines_of(report) == [
        "x.ahat.json",
        "  file says    Some x",
        f"  size         1 layer, 2 heads, {size}, with a beginning of",
        "               sequence",
        "  alphabet     a b",
        "  encodings    i/n",
        "  reads        accepts where y is above 1/2 at the last position",
        "  temperature  1/n^2",
        "  warning      it may overflow",
        "",
        "layer 1: 2 heads, 3 hidden units",
        "  head two: j < i and the beginning, leftmost, declared gap 1/n",
        "    score       (1)_i (i/n)_j",
        "    x += [a]",
        "    y += i/n",
        "  head mean: every j, average",
        "    score       0 (uniform)",
        "    mean a += [a]",
        "  x += -1 relu([a])",
        "  y += relu([a]) + 1/2 clip([a]) + 3",
        "",
    ]


def test_how_other_answers_are_read() -> None:
    outputs = Program(("a",), LETTERS, (), (), "[a]", threshold=HALF, outputs=(("x", "[a]"), ("y", "1")))
    said = "the output symbol of each position is the one whose coordinate is above 1/2 (x: [a], y: 1)"
    assert reading(model(outputs).subject) == said
    first = Program(("a",), LETTERS, (), (), "[a]", reading="first")
    assert reading(model(first).subject) == "accepts where [a] is 1, rejects where it is 0, at the first position"
    assert "  encodings    none" in lines_of(model(first))


def test_json_meets_the_schema(formula: ModelReport) -> None:
    found = valid(model(warnings=("it may overflow",)))
    found["program"]["layers"] = None
    assert not validator_of("ModelReport").is_valid(found)
    shown = valid(formula)
    assert (shown["formula"], shown["title"], shown["warnings"]) == ("!O a", None, [])
    assert shown["layers"][0]["heads"][0] | {"bounds": []} == {
        "name": "last",
        "mask": "future",
        "weighting": "rightmost",
        "score": [{"query": "1", "key": "[a] + 1/2 i/n"}],
        "value": "[a]",
        "gap": "1/(2*n)",
        "purpose": "the rightmost a",
        "theorem": "Theorem 0",
        "beta": {"value": 4, "exact": "4"},
        "bounds": [],
    }
    assert shown["layers"][0]["heads"][0]["bounds"][0] == {
        "n": 8,
        "error": 0.125,
        "score_gap": {"value": 0.0625, "exact": "1/16"},
    }
    (layer,) = valid(model())["layers"]
    assert (layer["layer"], layer["clips"], layer["relus"]) == (1, 1, 1)
    assert (layer["heads"][0]["value"], layer["heads"][0]["beta"], layer["heads"][0]["bounds"]) == (None, None, [])
