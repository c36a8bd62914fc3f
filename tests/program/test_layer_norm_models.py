"""The shipped models with layer norms: softmax at several temperatures, the same network in network JSON, and changes
that must give a wrong word."""

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import hardsim
from hardsim.network.reader import Reader
from hardsim.program.file import read_ahat
from tests.support.language import InputError, parse_arith
from tests.support.model import SoftModel, assemble

DIRECTORY = Path(__file__).parents[2] / "formulas"
OUTPUT = {"parity": 3, "first": 2}
"""The output for an accepted word: sqrt(d/2) for d coordinates, since before the last norm only y and -y are not 0."""
LANGUAGE: dict[str, Any] = {"parity": lambda word: word.count("1") % 2 == 1, "first": lambda word: word[0] == "1"}
SHORT = [word for n in range(1, 5) for word in product("01", repeat=n)]
LONG = [tuple("1" + "0" * 29), tuple("0" * 29 + "1"), tuple("01" * 16), tuple("1" * 31)]


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DIRECTORY / f"{name}_layer_norm.ahat.json").read_text(encoding="utf-8"))
    return found


def outputs(made: dict[str, Any], words: Any, temperature: str = "1") -> list[Fraction]:
    """Return the outputs for words, to 30 digits, by softmax at a temperature."""
    program = read_ahat(Reader(made, "model")).program
    soft = SoftModel(assemble(program, parse_arith(temperature)), "ball", rounds=False)
    found: list[Any] = [soft.run(list(word), lambda trace: True).output for word in words]
    exact = int | Fraction
    return [Fraction(one if isinstance(one, exact) else str(one.mid().str(30, radius=False))) for one in found]


@pytest.mark.parametrize("name", OUTPUT)
@pytest.mark.parametrize("temperature", ["1/3", "1", "5/n"])
def test_softmax_gives_the_number_of_the_last_norm(name: str, temperature: str) -> None:
    words = [*SHORT, *LONG] if temperature == "1" else SHORT
    for word, output in zip(words, outputs(document(name), words, temperature), strict=True):
        right = OUTPUT[name] if LANGUAGE[name](word) else -OUTPUT[name]
        assert abs(output - right) < Fraction(1, 10**15), word


def wrong(change: Callable[[Any], object], name: str = "parity") -> bool:
    """Return True if a changed model gives another answer or another number for some short word, or divides by 0."""
    made = document(name)
    change(made["program"])
    try:
        found = outputs(made, SHORT)
    except (InputError, ValueError):  # a norm divides by 0, or by an enclosure of 0
        return True
    expected = [OUTPUT[name] if LANGUAGE[name](word) else -OUTPUT[name] for word in SHORT]
    return any(abs(output - right) > Fraction(1, 10**9) for output, right in zip(found, expected, strict=True))


CHANGES: dict[str, Callable[[Any], object]] = {
    "no mean of the 1s": lambda program: program["layers"][0]["heads"].pop(0),
    "no mean of the beginning": lambda program: program["layers"][0]["heads"].pop(1),
    "a ramp in place of a hat": lambda program: program["layers"][0]["units"].pop(1),
    "no complement of the hat": lambda program: program["layers"][0]["units"].pop(3),
    "positions over n": lambda program: program["encodings"][2].update(value="i/n"),
    "even positions alone": lambda program: program["layers"][1]["heads"].pop(1),
    "two heads at even positions": lambda program: program["layers"][1]["heads"][1].update(
        score=program["layers"][1]["heads"][0]["score"]
    ),
    "the hat is left in the row": lambda program: program["layers"][1]["units"].pop(2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_parity_is_wrong(change: str) -> None:
    assert not wrong(lambda program: None)
    assert wrong(CHANGES[change])


@pytest.mark.parametrize("name", OUTPUT)
def test_without_the_last_norm_the_output_falls_with_the_length(name: str) -> None:
    made = document(name)
    assert wrong(lambda program: program["layers"][-1].pop("norm_2"), name)
    del made["program"]["layers"][-1]["norm_1"], made["program"]["layers"][-1]["norm_2"]
    made["program"]["layers"][-1].pop("norms")
    short, long = outputs(made, ["1000", "1" + "0" * 31])
    assert 0 < long * 4 < short  # 32 positions in place of 4, or 33 in place of 5


def network_json(made: dict[str, Any]) -> dict[str, Any]:
    """Return the matrices of a model as network JSON."""
    program = made["program"]
    names, bos = program["coordinates"], ["BOS"] if program.get("bos") else []
    at = {name: place for place, name in enumerate(names)}
    tokens = [*program["alphabet"], *bos]
    embedding = [[0] * len(names) for _ in tokens]
    for letter in program["letters"]:
        for symbol in letter["symbols"]:
            embedding[tokens.index(symbol)][at[letter["name"]]] = letter.get("value", 1)

    def columns(forms: list[dict[str, str]]) -> dict[str, Any]:
        entries = [[at[name], k, value] for k, form in enumerate(forms) for name, value in form.items()]
        return {"shape": [len(names), max(1, len(forms))], "entries": entries}

    def rows(forms: list[dict[str, str]]) -> dict[str, Any]:
        entries = [[k, at[name], value] for k, form in enumerate(forms) for name, value in form.items()]
        return {"shape": [len(forms), len(names)], "entries": entries}

    layers = []
    for layer in program["layers"]:
        heads = [
            {
                "name": head["name"], "mask": head["mask"], "scale": "1",
                "w_q": columns([query for query, _ in head["score"]]),
                "w_k": columns([key for _, key in head["score"]]),
                "w_v": columns([*head["values"].values()]), "w_o": rows([{name: "1"} for name in head["values"]]),
            }
            for head in layer["heads"]
        ]  # fmt: skip
        units = layer["units"]
        mlp = {"activation": "relu", "w_in": columns([unit["pre"] for unit in units]),
               "w_out": rows([unit["outs"] for unit in units])}  # fmt: skip
        norms = {key: layer[key] for key in ("norms", "norm_1", "norm_2") if key in layer}
        layers.append({"heads": heads, "mlp": mlp, **norms})
    positions = [{"coordinate": at[one["name"]], "value": one["value"]} for one in program["encodings"]]
    return {
        "format": "hardsim-network", "schema_version": 1, "tokens": tokens, "embedding": embedding,
        "positions": positions, "layers": layers, "unembedding": columns([{program["output"]: "1"}]),
        "outputs": ["answer"], "input": " ".join([*bos, "*"]), "alphabet": program["alphabet"], "at": "last",
        "decide": "above 0",
    }  # fmt: skip


@pytest.mark.parametrize("name", OUTPUT)
def test_network_json_states_the_same_network(name: str, tmp_path: Path) -> None:
    path = tmp_path / "network.json"
    path.write_text(json.dumps(network_json(document(name))))
    model = hardsim.load(path)
    assert str(model.check(against=LANGUAGE[name], max_n=5).verdict) == "PROVED"
    for word in (*SHORT, *LONG):
        ((place,),) = (found.places for found in model.eval(" ".join(word)))
        (one,) = place.outputs
        right = Fraction(OUTPUT[name] if LANGUAGE[name](word) else -OUTPUT[name])
        assert Fraction(one.low or 0) <= right <= Fraction(one.high or 0)
