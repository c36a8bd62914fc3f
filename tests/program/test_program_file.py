"""Version 2 of the `.ahat.json` format: programs by names, every error with its place, and the schema."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from tests.program.test_file import VALIDATOR, Case, check_refused, read, written
from tests.support.damage import edited
from tests.support.language import parse_arith
from tests.support.model import Affine, Head, Kind, Letter, Mask, ProgramLayer, Unit, Weighting


def program_document() -> dict[str, Any]:
    """Return a small program in which everything occurs."""
    data: dict[str, Any] = json.loads("""{
      "format": "hardsim-ahat", "schema_version": 2, "title": "A test", "temperature": "1/n", "blank": "#",
      "program": {
        "alphabet": ["a", "b"], "bos": true, "coordinates": ["1", "a", "place", "out"],
        "letters": [{"name": "a", "symbols": ["a", "BOS"]}, {"name": "a", "symbols": ["a"], "value": "-1/2"}],
        "encodings": [{"name": "place", "value": "i/n"}, {"name": "out", "value": ["1", "1/2", "0", "0"]}],
        "layers": [
          {"heads": [
             {"name": "h", "mask": "strict-future", "weighting": "leftmost",
              "score": [[{"1": "1"}, {"place": "-1"}]], "values": {"out": {"a": "1/2"}, "a": {"1": "1"}},
              "gap": "1/n", "purpose": "finds"},
             {"name": "k", "mask": "none", "weighting": "average", "score": [], "values": {}}],
           "units": [
             {"outs": {"out": "1", "a": "-1"}, "pre": {"out": "2", "1": "-1/2"}, "clip": false},
             {"outs": {"out": "1"}, "pre": {"a": "1"}, "clip": true, "counts": true}],
           "biases": {"out": "1/3"}},
          {"heads": [], "units": []}
        ],
        "output": "out", "threshold": "1/2", "reading": "first", "outputs": {"x": "out"},
        "meanings": {"out": "what comes out"}
      }
    }""")
    return data


def sharp_document() -> dict[str, Any]:
    """Return a program as it is written for a formula."""
    data: dict[str, Any] = json.loads("""{
      "format": "hardsim-ahat", "schema_version": 2,
      "sharpness": {"beta": "1/2", "beta_for_all": true, "temperature": "1/n"},
      "program": {
        "regime": "temperature", "alphabet": ["a", "b"], "letters": [{"name": "[a]", "symbols": ["a"]}],
        "encodings": [{"name": "i/n", "value": "i/n"}],
        "layers": [
          {"heads": [
             {"name": "h", "mask": "future", "weighting": "rightmost", "score": [[{"1": "1"}, {"i/n": "1"}]],
              "values": {"read": {"[a]": "1"}}, "select": {"1": "1"}, "decay": "1/n", "kind": "nearest",
              "coefficients": "2"}],
           "units": [{"outs": {"out": "1"}, "pre": {"read": "2", "1": "-1/2"}, "clip": true}]}
        ],
        "output": "out"
      }
    }""")
    return data


def test_everything_of_a_program_is_read() -> None:
    VALIDATOR.validate(program_document())
    file = read(program_document())
    program = file.program
    assert (str(file.temperature), file.sharpness, file.blank) == ("1/n", None, "#")
    assert (program.bos, program.reading, program.threshold) == (True, "first", Fraction(1, 2))
    assert (program.output, program.outputs) == ("out", (("x", "out"),))
    assert program.letters == (Letter("a", frozenset({"a", "BOS"})), Letter("a", frozenset({"a"}), Fraction(-1, 2)))
    (first, second), layer = program.heads, program.layers[0]
    assert first == Head(
        "h",
        Mask.STRICT_FUTURE,
        Weighting.LEFTMOST,
        (("out", Affine.of({"a": Fraction(1, 2)})), ("a", Affine.constant(1))),
        ((Affine.constant(1), Affine.of({"place": -1})),),
        gap=parse_arith("1/n"),
        purpose="finds",
    )
    assert (second.uniform, second.values) == (True, ())
    assert layer.units[0] == Unit(
        (("out", 1), ("a", -1)), Affine.of({"out": Fraction(2), "1": Fraction(-1, 2)}), clip=False
    )
    assert layer.units[1] == Unit((("out", 1),), Affine.coordinate("a"), counts=True)
    assert layer.biases == (("out", Fraction(1, 3)),)
    assert program.layers[1] == ProgramLayer()


def test_everything_of_a_compiled_formula_is_read() -> None:
    VALIDATOR.validate(sharp_document())
    file = read(sharp_document())
    (head,) = file.program.heads
    assert file.sharpness is not None
    assert (file.sharpness.beta, file.sharpness.fixed, str(file.sharpness.temperature)) == (Fraction(1, 2), True, "1/n")
    assert (file.temperature, file.program.threshold, file.program.regime) == (None, None, "temperature")
    assert (head.kind, head.weight, str(head.decay), head.select) == (Kind.NEAREST, 2, "1/n", Affine.constant(1))
    assert file.program.coordinates == ("1", "[a]", "i/n", "read", "out")


@pytest.mark.parametrize("make", [program_document, sharp_document])
def test_programs_are_written_as_they_were_read(make: Callable[[], dict[str, Any]]) -> None:
    file = read(make())
    assert read(written(file)) == file


SECOND: list[str | int] = ["program", "layers", 0, "heads", 0]
UNIT: list[str | int] = ["program", "layers", 0, "units", 0]
PROGRAM: list[Case] = [
    (["alphabet"], ["a"], "at the top level: expected keys among $schema, format"),
    (["program"], ..., 'expected an object with the key "program"'),
    (["program"], [], "at program: expected an object"),
    (["program", "threshold"], ..., 'at program: expected an object with the key "threshold"'),
    (["program", "threshold"], 1, "at program.threshold: expected a rational"),
    (["program", "coordinates"], ..., 'at program: expected an object with the key "coordinates"'),
    (["program", "coordinates", 1], "1", "at program.coordinates: expected distinct names"),
    (["program", "treshold"], "1", "at program: expected keys among regime, alphabet"),
    (["program", "alphabet", 0], "a\tb", "at program.alphabet[0]: expected a symbol"),
    (["program", "alphabet", 0], "BOS", "at program.alphabet: expected symbols other than BOS"),
    (["program", "bos"], False, 'expected symbols of the alphabet, each once, found "BOS"'),
    (["program", "reading"], "middle", "at program.reading: expected one of first, last"),
    (["program", "outputs"], ["x"], "at program.outputs: expected an object"),
    (["program", "meanings"], {"out": 1}, "at program.meanings.out: expected a string"),
    (["program", "letters", 0, "symbols"], ["a", "a"], "letters[0].symbols[1]: expected symbols of the alphabet, each"),
    (["program", "letters", 0, "value"], 1, "at program.letters[0].value: expected a rational"),
    (["program", "letters", 0, "scale"], "1", "at program.letters[0]: expected keys among name, symbols, holds, value"),
    (["program", "encodings", 0, "value"], 1, "at program.encodings[0].value: expected a string"),
    (["program", "layers", 0, "ffn"], {}, "at program.layers[0]: expected keys among heads, units, biases"),
    (["program", "layers", 0, "units"], ..., 'at program.layers[0]: expected an object with the key "units"'),
    (["program", "layers", 0, "heads", 0, "decay"], "1/n", "heads[0].gap: expected null, since the head has a decay"),
    (["program", "layers", 0, "biases"], {"out": 1}, "at program.layers[0].biases.out: expected a rational"),
    ([*SECOND, "mask"], "causal", "at program.layers[0].heads[0].mask: expected one of none, future, past"),
    ([*SECOND, "weighting"], "softmax", "heads[0].weighting: expected one of average, leftmost, rightmost"),
    ([*SECOND, "score", 0], [{"1": "1"}], "at program.layers[0].heads[0].score[0]: expected an array of 2"),
    ([*SECOND, "score", 0, 1], {}, "heads[0].score[0][1]: expected a form that is not zero"),
    ([*SECOND, "values"], ..., 'at program.layers[0].heads[0]: expected an object with the key "values"'),
    ([*SECOND, "values", "out"], [], "heads[0].values.out: expected an object from coordinates to rationals"),
    ([*SECOND, "w_q"], [], "at program.layers[0].heads[0]: expected keys among name, mask"),
    ([*SECOND, "gap"], 1, "at program.layers[0].heads[0].gap: expected a string"),
    ([*SECOND, "kind"], "other", "heads[0].kind: expected one of uniform, nearest"),
    ([*UNIT, "clip"], ..., 'at program.layers[0].units[0]: expected an object with the key "clip"'),
    ([*UNIT, "clip"], "yes", "at program.layers[0].units[0].clip: expected true or false"),
    ([*UNIT, "weight"], "1", "at program.layers[0].units[0]: expected keys among outs, pre, clip, counts"),
    ([*UNIT, "outs", "out"], 1, "at program.layers[0].units[0].outs.out: expected a rational"),
]
"""Cases that the loader and the schema refuse."""

PROGRAM_LOADER: list[Case] = [
    (["program", "output"], "nowhere", "at program.output: expected a coordinate of the program"),
    (["program", "outputs", "x"], "nowhere", "at program.outputs.x: expected a coordinate of the program"),
    (["program", "letters", 0, "symbols"], ["c"], "letters[0].symbols[0]: expected symbols of the alphabet"),
    (["program", "letters", 0, "name"], "x", "at program.letters[0].name: expected a coordinate of the program"),
    (["program", "encodings", 0, "value"], "1/i", "a value at every position (at i = 0, n = 1: division by zero"),
    (["program", "layers", 0, "biases"], {"x": "1"}, "expected coordinates that hidden units of this layer write"),
    ([*SECOND, "name"], "k", "at program.layers[0].heads[1].name: expected a name that no other head has"),
    ([*SECOND, "score", 0, 0], {"1": "0"}, "heads[0].score[0][0]: expected a form that is not zero"),
    ([*SECOND, "values", "x"], {}, 'expected a coordinate of the program, found "x"'),
    ([*SECOND, "gap"], "1/k", "program.layers[0].heads[0].gap:1:3: error: unknown name 'k'"),
    ([*UNIT, "pre"], {"x": "1"}, 'expected coordinates that are known here (not "x")'),
    # Nothing writes the constant; if it is no coordinate, only a bias may name it.
    (["program", "letters", 0, "name"], "1", "letters[0].name: expected a coordinate that is not the constant 1"),
    (["program", "encodings", 0, "name"], "1", "encodings[0].name: expected a coordinate that is not the constant 1"),
    ([*SECOND, "values", "1"], {}, "expected a coordinate that is not the constant 1"),
    ([*UNIT, "outs", "1"], "1", "expected a coordinate that is not the constant 1"),
    (["program", "layers", 0, "biases", "1"], "1", "expected coordinates that hidden units of this layer write"),
    (["program", "coordinates"], ["a", "place", "out"], "score[0][0]: expected coordinates that are known here"),
    ([*UNIT, "outs"], {"x": "1"}, "expected a coordinate of the program"),
    (["program", "alphabet"], ["#"], "at blank: expected a symbol of an alphabet with"),
]
"""Cases that only the loader refuses; a schema cannot express them."""

SHARP: list[Case] = [
    (["temperature"], "1", "at temperature: expected no temperature"),
    (["sharpness", "beta"], "0", "at sharpness.beta: expected a positive rational"),
    (["sharpness", "beta"], "-1/2", "at sharpness.beta: expected a positive rational"),
    (["sharpness", "beta"], ..., 'at sharpness: expected an object with the key "beta"'),
    (["sharpness", "beta_for_all"], "no", "at sharpness.beta_for_all: expected true or false"),
    (["sharpness", "temperature"], 1, "at sharpness.temperature: expected a string"),
    (["sharpness", "tau"], "1", "at sharpness: expected keys among beta, beta_for_all, temperature"),
    (["sharpness"], ..., 'expected an object with the key "coordinates"'),
    ([*SECOND, "kind"], ..., 'at program.layers[0].heads[0]: expected an object with the key "kind"'),
    ([*SECOND, "coefficients"], ..., 'at program.layers[0].heads[0]: expected an object with the key "coefficients"'),
    ([*SECOND, "coefficients"], "1/2", "heads[0].coefficients: expected a positive integer"),
]


@pytest.mark.parametrize(
    ("make", "case", "valid"),
    [
        *((program_document, case, False) for case in PROGRAM),
        *((program_document, case, True) for case in PROGRAM_LOADER),
        *((sharp_document, case, False) for case in SHARP),
    ],
)
def test_what_loader_and_schema_refuse(make: Callable[[], dict[str, Any]], case: Case, valid: bool) -> None:
    path, value, message = case
    data = edited(make(), path, value)
    if valid and path == ["program", "alphabet"]:
        data["program"]["letters"] = []
    check_refused(data, message, valid)
