"""Models and programs as JSON and back, and the errors for a damaged document."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.compiling.from_ltl.lower import lower
from hardsim.lang.words import unprintable
from hardsim.network.reader import Reader
from hardsim.network.store import read_transformer, transformer_json
from hardsim.program.budget import choose
from hardsim.program.file import program_json, read_program
from tests.support.damage import at, edited
from tests.support.language import HardsimError, InputError, desugar, parse_expression
from tests.support.model import (
    PROVEN,
    REGIMES,
    FeedForward,
    HiddenUnit,
    Matrix,
    Program,
    Rational,
    Relus,
    Transformer,
    assemble,
)
from tests.support.networks import relus

TEXT = "(Y a -> O (b & !first)) & (b S a ^ a)"


def compiled(regime: str) -> tuple[Transformer, Program]:
    program = lower(desugar(parse_expression(TEXT, ["a", "b"])), REGIMES[regime])
    return assemble(program, choose(program)), program


def documents(regime: str = "temperature") -> tuple[dict[str, Any], dict[str, Any]]:
    model, program = compiled(regime)
    return transformer_json(model), program_json(program)


@pytest.mark.parametrize("regime", PROVEN)
def test_round_trip(regime: str) -> None:
    model, program = compiled(regime)
    net, hard = json.loads(json.dumps(documents(regime)))
    assert read_transformer(Reader(net, "m")) == model
    assert read_program(Reader(hard, "m")) == program


# ---- clips, which files state as pairs of relus ----


def ffn(units: list[tuple[Rational, Rational, int]]) -> FeedForward:
    """Return hidden units relu(weight * x + bias), each with the factor of its output."""
    m = len(units)
    w1: dict[tuple[int, int], Rational] = {(unit, 1): weight for unit, (weight, _, _) in enumerate(units)}
    w2: dict[tuple[int, int], Rational] = {(0, unit): factor for unit, (_, _, factor) in enumerate(units)}
    return Relus(Matrix.of(m, 2, w1), tuple(bias for _, bias, _ in units), Matrix.of(2, m, w2), (0, 0)).layer()


def test_a_clip_is_written_as_two_relus() -> None:
    clip = FeedForward((HiddenUnit(((2, 2),), Fraction(-1, 2), ((3, 1),), clip=True),), ((0, 5),))
    w1, w2 = Matrix.of(2, 4, {(0, 2): 2, (1, 2): 2}), Matrix.of(4, 2, {(3, 0): 1, (3, 1): -1})
    assert Relus.of(clip, 4) == Relus(w1, (Fraction(-1, 2), Fraction(-3, 2)), w2, (5, 0, 0, 0))
    assert ffn([(1, 7, 0)]) == FeedForward()


def test_pairs_of_hidden_units_that_are_clips() -> None:
    """A pair of opposite weights is a clip if it has one form and a bias lower by 1, or if one relu follows the other
    with the cap x or 1 - x. Nothing else is a clip."""

    def clips(units: list[tuple[Rational, Rational, int]]) -> list[bool]:
        return [unit.clip for unit in ffn(units).units]

    clip: list[tuple[Rational, Rational, int]] = [(2, 0, 1), (2, -1, -1)]
    assert clips(clip) == [True]
    assert clips(clip[::-1]) == [True]
    assert clips(clip + clip) == [True, True]
    for other in [(2, -1, 1), (2, -1, -2), (2, -2, -1), (3, 0, -1), (3, -1, 1), (4, -1, -1), (1, -1, -1)]:
        assert clips([(2, 0, 1), other]) == [False, False]
    for second, cap in [((1, 0, -1), (((1, 1),), 0)), ((3, -1, -1), (((1, -1),), 1))]:
        (unit,) = ffn([(2, 0, 1), second]).units
        assert (unit.clip, unit.cap, unit.cap_bias) == (True, *cap)
        assert clips([second, (2, 0, 1)]) == [False, False]
    # A staircase: unit 1 pairs with unit 0; unit 2, which steps back up, has no partner.
    assert clips([(2, 0, 1), (2, -1, -1), (2, -2, 1)]) == [True, False]


@given(relus(), st.lists(st.fractions(-3, 3, max_denominator=4), min_size=5, max_size=5))
def test_pairs_are_clips(network: Relus, point: list[Fraction]) -> None:
    """Hidden units in pairs write the numbers that the matrices write."""

    def times(matrix: Matrix, vector: Sequence[Fraction]) -> list[Fraction]:
        return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix.dense()]

    active = [max(Fraction(0), z + bias) for z, bias in zip(times(network.w1, point), network.b1, strict=True)]
    expected, found = times(network.w2, active), [Fraction(0)] * len(point)
    layer = network.layer()
    assert Relus.of(layer, len(point)).layer() == layer
    for unit in layer.units:
        value = max(Fraction(0), sum((a * point[index] for index, a in unit.form), Fraction(unit.bias)))
        if unit.clip:
            cap = sum((a * point[index] for index, a in unit.cap), Fraction(unit.cap_bias))
            above = sum((a * point[index] for index, a in unit.form), Fraction(unit.bias)) - cap
            value -= max(Fraction(0), above)
        for index, weight in unit.outs:
            found[index] += weight * value
    assert found == expected


# ---- damaged documents ----

Place = list[str | int]
HEAD: Place = ["layers", 1, "heads", 0]
FIRST: Place = ["layers", 0, "heads", 0]
LETTER: Place = ["letters", 0]
NETWORK: list[tuple[Place, Any, str]] = [
    (["layers"], ..., 'expected an object with the key "layers"'),
    ([*FIRST, "mask"], "causal", "at layers[0].heads[0].mask: expected one of none, future, past"),
    ([*HEAD, "w_q", "shape"], [1, 2], "at layers[1].heads[0].w_q.shape: expected [any, "),
    ([*HEAD, "w_k", "entries", 0, 2], 0.5, "expected a rational as a string"),
    ([*HEAD, "w_k", "entries", 0, 2], "1/0", "expected a rational as a string"),
    ([*HEAD, "w_k", "entries", 0, 1], 999, "expected an integer from 0 to "),
    ([*HEAD, "w_v", "entries", 0], [0, 1], "expected an array of 3, found [0, 1]"),
    (["layers", 0, "ffn", "b2"], ["0"], "at layers[0].ffn.b2: expected an array of "),
    (["output"], "nowhere", 'at output: expected one of the coordinates, found "nowhere"'),
    (["alphabet"], [], "at alphabet: expected distinct symbols, at least one"),
    (["coordinates", 1], "1", "at coordinates: expected distinct names"),
    (["temperature"], "1/k", "'k'"),
    (["encodings", 0, "value"], "i/", "m: encodings[0].value:1:"),
]

PROGRAM: list[tuple[Place, Any, str]] = [
    (["output"], "nowhere", "at output: expected a coordinate of the program"),
    ([*HEAD, "values"], {"Y2.even": {"later": "1"}}, 'expected coordinates that are known here (not "lat'),
    ([*HEAD, "values"], {"Y2.even": []}, "expected an object from coordinates to rationals"),
    ([*HEAD, "values"], {"1": {}}, "expected the name of a new coordinate, not that of the constant 1"),
    ([*FIRST, "weighting"], "softmax", "expected one of average, leftmost, rightmost"),
    (["layers", 0, "units", 0, "outs"], {"first": 2}, "at layers[0].units[0].outs.first: expected a rational"),
    ([*LETTER, "symbols"], "a", "at letters[0].symbols: expected an array"),
    (["meanings"], [], "at meanings: expected an object"),
    (["regime"], 3, "at regime: expected a string, found 3"),
    ([*LETTER, "symbols"], ["a", "a"], "at letters[0].symbols[1]: expected symbols of the alphabet, each once"),
    ([*LETTER, "symbols"], ["c"], "at letters[0].symbols[0]: expected symbols of the alphabet, each once"),
    ([*LETTER, "name"], "1", "at letters[0].name: expected the name of a new coordinate, not that of the constant"),
    ([*LETTER, "name"], "", "at letters[0].name: expected the name of a new coordinate"),
    ([*HEAD, "score", 0, 1], {}, "at layers[1].heads[0].score[0][1]: expected a form that is not zero"),
    ([*HEAD, "score", 0, 0], {"1": "0"}, "at layers[1].heads[0].score[0][0]: expected a form that is"),
    ([*HEAD, "scale"], "2", "at layers[1].heads[0]: expected keys among name, mask, weighting"),
    ([*HEAD, "decay"], None, "at layers[1].heads[0]: expected a head with a decay or a gap"),
    ([*FIRST, "weighting"], "rightmost", "at layers[0].heads[0].weighting: expected average"),
    ([*FIRST, "gap"], "1/n", "at layers[0].heads[0].gap: expected null, since the scores of a uni"),
    ([*FIRST, "decay"], "1", "at layers[0].heads[0].decay: expected null, since the scores of a uni"),
    (["layers", 0, "units", 0, "bias"], "1", "at layers[0].units[0]: expected keys among outs, pre, clip, counts"),
    (["layers", 0, "biases"], {"later": "1"}, "at layers[0].biases.later: expected coordinates that hidden units of "),
    (["layers", 0, "ones"], [], "at layers[0]: expected keys among heads, units, biases"),
    ([*HEAD, "out"], "x", "at layers[1].heads[0]: expected keys among name, mask"),
    (["coordinates", 1], "other", "at letters[0].name: expected one of the coordinates"),
    ([*LETTER, "scale"], "1", "at letters[0]: expected keys among name, symbols"),
    (["encodings", 0, "scale"], "1", "at encodings[0]: expected keys among name, value"),
    (["layers", 0, "bias"], [], "at layers[0]: expected keys among heads, units, biases"),
    (["treshold"], "1", "at the top level: expected keys among regime, alphabet"),
]

VERSION_1: list[tuple[Place, Any, str]] = [
    ([*HEAD, "value"], {"later": "1"}, 'expected coordinates that are known here (not "later")'),
    ([*HEAD, "value"], [], "expected an object from coordinates to rationals"),
    ([*HEAD, "values"], {}, "at layers[1].heads[0]: expected keys among name, mask"),
    (["layers", 0, "clips", 0, "weight"], 2, "expected an integer from -1 to 1, found 2"),
    (["layers", 0, "clips", 0, "weight"], 0, "at layers[0].clips[0].weight: expected 1 or -1"),
    (["layers", 0, "clips", 0, "bias"], "1", "at layers[0].clips[0]: expected keys among out, pre, weight, counts"),
    (["layers", 0, "ones"], ["later"], "at layers[0].ones[0]: expected coordinates that clips of this layer write"),
    (["layers", 0, "bias"], [], "at layers[0]: expected keys among heads, clips, ones"),
    (["layers", 0, "units"], [], "at layers[0]: expected keys among heads, clips, ones"),
    (["temperature"], "1/k", "'k'"),
]


def version_1(document: dict[str, Any]) -> dict[str, Any]:
    """Return a program as version 1 wrote it: heads with one value, clips that write one coordinate, ones."""
    old = {key: value for key, value in document.items() if key != "coordinates"} | {"temperature": "1/n"}
    old["layers"] = []
    for layer in document["layers"]:
        heads = []
        for head in layer["heads"]:
            ((out, value),) = head["values"].items()
            heads.append({key: part for key, part in head.items() if key != "values"} | {"out": out, "value": value})
        clips = []
        for unit in layer["units"]:
            ((out, weight),) = unit["outs"].items()
            clips.append({"out": out, "weight": int(weight), "pre": unit["pre"]})
        assert set(layer["biases"].values()) <= {"1"}
        old["layers"].append({"heads": heads, "clips": clips, "ones": list(layer["biases"])})
    return old


@pytest.mark.parametrize("regime", PROVEN)
def test_version_1_of_a_program_is_read(regime: str) -> None:
    _, document = documents(regime)
    assert read_program(Reader(version_1(document), "m")) == read_program(Reader(document, "m"))


@pytest.mark.parametrize(
    ("kind", "case"),
    [(kind, case) for kind, cases in (("network", NETWORK), ("program", PROGRAM), ("v1", VERSION_1)) for case in cases],
)
def test_a_damaged_document_is_named_by_its_place(kind: str, case: tuple[Place, Any, str]) -> None:
    network, program = documents()
    document = {"network": network, "program": program, "v1": version_1(program)}[kind]
    check_damage(document, *case, read_transformer if kind == "network" else read_program)


@given(st.data())
def test_no_two_coordinates_of_a_program_have_one_name(data: st.DataObject) -> None:
    document = version_1(documents(data.draw(st.sampled_from(PROVEN)))[1])
    names: list[Place] = [["letters", n, "name"] for n in range(len(document["letters"]))]
    names += [["encodings", n, "name"] for n in range(len(document["encodings"]))]
    for number, layer in enumerate(document["layers"]):
        for kind in ("heads", "clips"):
            # Clips of one layer may add up in one coordinate; the first one represents all.
            members = range(len(layer[kind]) if kind == "heads" else min(1, len(layer[kind])))
            names += [["layers", number, kind, n, "out"] for n in members]
    places = data.draw(st.lists(st.sampled_from(range(len(names))), min_size=2, max_size=2, unique=True).map(sorted))
    earlier, later = (names[place] for place in places)
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in later).removeprefix(".")
    message = f"at {path}: expected the name of a new coordinate"
    check_damage(document, later, at(document, tuple(earlier)), message, read_program)


@given(st.text(min_size=1))
def test_symbols_may_be_called_anything_that_can_be_printed(symbol: str) -> None:
    _, document = documents()
    document["alphabet"][0] = symbol
    for letter in document["letters"]:
        letter["symbols"] = [symbol if one == "a" else one for one in letter["symbols"]]
    if symbol.strip() != symbol or any(c.isspace() for c in symbol.replace(" ", "")) or unprintable(symbol):
        with pytest.raises(
            InputError, match="a symbol, which is not empty, has no control characters, and spaces only inside"
        ):
            read_program(Reader(document, "m"))
    elif symbol != "b":
        assert read_program(Reader(document, "m")).alphabet == (symbol, "b")


def check_damage(
    document: dict[str, Any], path: Place, value: Any, message: str, read: Callable[[Reader], Any]
) -> None:
    with pytest.raises(HardsimError) as caught:
        read(Reader(edited(document, path, value), "m"))
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_repeated_matrix_entry_is_refused() -> None:
    document, _ = documents()
    entries = document["layers"][1]["heads"][0]["w_k"]["entries"]
    entries.append(entries[0])
    with pytest.raises(HardsimError, match="expected each entry once"):
        read_transformer(Reader(document, "m"))
