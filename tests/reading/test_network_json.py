"""Networks in handwritten JSON: their outputs, `to_network_json`, and everything that is refused."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardsim
from hardsim.network.dense import arrays_of
from hardsim.network.features import NetworkFeature, features
from hardsim.network.reader import read_json
from hardsim.program.file import read_ahat
from hardsim.reading.network_json import FORMAT, LARGEST, network_json, read_network_json
from tests.support.dense_networks import SEEN, featured, made
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Activation, Mask, Network, Norm, Readout, RootScale

Document = dict[str, Any]
MORE_A: Document = {
    "format": FORMAT,
    "schema_version": 1,
    "tokens": ["<s>", "a", "b"],
    "embedding": [[0, 0, 0], [1, 0, 0], [-1, 0, 0]],
    "positions": [{"coordinate": 1, "value": "[i = 0]"}],
    "layers": [
        {
            "heads": [
                {
                    "mask": "future",
                    "scale": "3/sqrt(2)",
                    "w_q": [[0], [0], [0]],
                    "w_k": [[0], [0], [0]],
                    "w_v": [[1], [0], [0]],
                    "w_o": [[0, 0, 1]],
                }
            ]
        }
    ],
    "unembedding": [[0], [0], [1]],
    "unembedding_bias": [-0.1],
    "input": "<s> *",
}
"""A network whose head takes the mean, over the word and the token before it, of 1 at a and -1 at b: for a word with A
times a and B times b, the output is (A - B) / (A + B + 1) - 1/10.
"""
RICH: Document = {
    "format": FORMAT,
    "schema_version": 1,
    "title": "Every key",
    "tokens": ["a", 2, 0.5, True],
    "embedding": {"shape": [4, 2], "entries": [[0, 0, "1/3"], [1, 1, 0.1]]},
    "positions": [[0, 1], [0.5, 0]],
    "layers": [
        {
            "heads": [
                {
                    "name": "one",
                    "mask": "past",
                    "scale": 0.3,
                    "w_q": [[1], [2]],
                    "w_k": [[0], [1]],
                    "w_v": [[1, 0], [0, 1]],
                    "w_o": [[1, 0], [0, 1]],
                    "b_q": [1],
                    "b_k": [2],
                    "b_v": [3, 4],
                }
            ],
            "b_o": [5, 6],
            "mlp": {"activation": "silu", "w_in": [[1, 2, 3], [4, 5, 6]], "b_in": [1, 2, 3], "w_out": [[1, 2]] * 3,
                    "b_out": [7, 8]},
            "norm_1": {"kind": "layer", "epsilon": 1e-5, "weight": [1, 2], "bias": [3, 4]},
            "norm_2": {"kind": "rms", "epsilon": 0},
            "norms": "after",
        }
    ],
    "final_norm": {"kind": "rms", "epsilon": "1/7", "weight": [1, 0.25]},
    "unembedding": [[1, 0], [0, 1]],
    "outputs": ["no", "yes"],
    "alphabet": ["a", 2],
    "input": "* True",
    "at": "first",
    "decide": "argmax of yes no",
}  # fmt: skip


def read(document: Document | str) -> Network:
    """Read the network of a document."""
    text = document if isinstance(document, str) else json.dumps(document)
    return read_network_json(read_json(text.encode(), "net.json"))


def same(one: Any, other: Any) -> bool:
    """Return True if two networks, or parts of them, are equal to the last digit, in floats or Fractions."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    if is_dataclass(one):
        names = [field.name for field in fields(one)]
        return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


# ---- reading ----


@pytest.mark.parametrize("word", ["a", "b", "aab", "abab", "aaaaaaaaaa", "bbbbbbba"])
def test_a_network_by_hand_computes_what_was_derived(tmp_path: Path, word: str) -> None:
    (tmp_path / "net.json").write_text(json.dumps(MORE_A))
    (found,) = hardsim.load(tmp_path / "net.json").eval(" ".join(word))
    (place,) = found.places
    (one,) = place.outputs
    expected = Fraction(word.count("a") - word.count("b"), len(word) + 1) - Fraction(1, 10)
    assert Fraction(one.low or 0) <= expected <= Fraction(one.high or 0)
    assert Fraction(one.high or 0) - Fraction(one.low or 0) < Fraction(1, 10**9)


def test_a_network_by_hand_is_checked_against_a_function(tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(json.dumps(MORE_A))
    model = hardsim.load(tmp_path / "net.json")

    def more_a(word: tuple[str, ...]) -> bool:
        return 10 * (word.count("a") - word.count("b")) > len(word) + 1

    assert str(model.check(against=more_a, max_n=6).verdict) == "PROVED"
    # With one a more than b the output is 1/(n + 1) - 1/10, which is 0 at n = 9 and negative at n = 11.
    words = ["a" * (size + 1) + "b" * size for size in (1, 3, 5)]
    wrong = model.check(against=lambda word: word.count("a") > word.count("b"), words=words).mismatch
    assert wrong is not None
    assert wrong.word == tuple(words[-1])


def test_every_key_is_read() -> None:
    network = read(RICH)
    assert network.tokens == ("a", 2, 0.5, True)
    assert network.embedding.dtype == object
    assert network.embedding.tolist() == [[Fraction(1, 3), 0], [0, Fraction(1, 10)], [0, 0], [0, 0]]
    assert isinstance(network.positions, np.ndarray)
    assert network.positions.dtype == np.float64
    assert network.positions.tolist() == [[0, 1], [0.5, 0]]
    (layer,), (head,) = network.layers, network.heads
    assert (head.name, head.mask, head.scale) == ("one", Mask.PAST, RootScale(Fraction(3, 10)))
    assert [array.tolist() for array in arrays_of(head)] == [
        [[1], [2]], [[0], [1]], [[1, 0], [0, 1]], [[1, 0], [0, 1]], [1], [2], [3, 4],
    ]  # fmt: skip
    assert layer.b_o is not None
    assert (layer.b_o.tolist(), layer.post) == ([5, 6], True)
    assert layer.mlp is not None
    assert layer.mlp.activation is Activation.SILU
    assert [array.tolist() for array in arrays_of(layer.mlp)] == [
        [[1, 2, 3], [4, 5, 6]], [[1, 2]] * 3, [1, 2, 3], [7, 8],
    ]  # fmt: skip
    assert same(layer.norm_1, Norm("layer", Fraction(1, 100000), np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    assert same(layer.norm_2, Norm("rms", Fraction(0)))
    assert same(network.final, Norm("rms", Fraction(1, 7), np.array([1, 0.25])))
    assert network.unembedding_bias is None
    assert network.outputs == ("no", "yes")
    assert network.readout == Readout((), (True,), "first", "argmax", Fraction(0), ("yes", "no"), ("a", 2))


def test_what_is_left_out() -> None:
    network = read(MORE_A)
    assert network.readout == Readout(before=("<s>",))
    assert [head.name for head in network.heads] == ["L0H0"]
    assert network.heads[0].scale == RootScale(Fraction(3), 2)
    assert network.outputs == ("0",)
    assert network.unembedding_bias is not None
    assert network.unembedding_bias.tolist() == [Fraction(-1, 10)]
    three = read(MORE_A | {"unembedding": np.eye(3, dtype=int).tolist(), "unembedding_bias": None, "positions": None})
    assert three.outputs == three.tokens
    assert three.readout == Readout(before=("<s>",), at="each", decide="argmax")
    assert three.positions == ()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7), ("-0.1", Fraction(-1, 10)), ("1e-3", Fraction(1, 1000)), ("2.5E2", 250), ('"-1/3"', Fraction(-1, 3)),
        ("0.1000000000000000055511151231257827", Fraction(1000000000000000055511151231257827, 10**34)),
        ("1e400", 10**400),
    ],
)  # fmt: skip
def test_numbers_are_what_is_written(text: str, number: Fraction) -> None:
    bias = read(json.dumps(MORE_A).replace("-0.1", text)).unembedding_bias
    assert bias is not None
    assert bias.tolist() == [number]


def test_numbers_that_float64_holds_are_floats() -> None:
    network = read(MORE_A | {"unembedding": [["1/1024"], [0], [9007199254740993]]})
    assert network.embedding.dtype == np.float64
    assert network.unembedding.dtype == object  # 2^53 + 1 is no float64
    assert read(MORE_A | {"unembedding": [["1/1024"], [0], [9007199254740992]]}).unembedding.dtype == np.float64


# ---- writing ----


@pytest.mark.parametrize("seed", range(24))
def test_a_network_that_is_written_is_read_again(seed: int) -> None:
    network = made(
        seed=seed,
        norm=("layer", "rms", None)[seed % 3],
        post=seed % 2 == 1,
        activation=list(Activation)[seed % 4],
        mask=SEEN[seed % 3],
        fractions=seed % 5 == 0,
        outputs=(1, 3, 4)[seed % 3],
        rows=(None, 9)[seed % 2],
        biases=seed % 7 > 0,
    )
    assert same(network, read(network_json(network)))


@pytest.mark.parametrize("feature", list(NetworkFeature))
def test_a_network_with_a_feature_that_is_written_is_read_again(feature: NetworkFeature) -> None:
    # One output: then the readout that is not stated is that of a word.
    network = featured(made(outputs=1, k=4), [feature])
    again = read(network_json(network))
    assert features(again) == (feature,)
    assert same(network, again)


@pytest.mark.parametrize("document", [MORE_A, RICH], ids=["more a", "every key"])
@pytest.mark.parametrize("decide", ["above 1/3", "value within 0.5", "argmax"])
def test_a_document_that_is_read_and_written_is_the_same_network(document: Document, decide: str) -> None:
    network = read(document | {"decide": decide})
    assert same(network, read(network_json(network)))
    assert same(network, read(json.dumps(network_json(network), indent=1)))


@pytest.mark.parametrize(
    "readout",
    [
        Readout(alphabet=("t0", "t2"), padding="t1"),
        Readout(at="each", decide="argmax", padding="t1"),
        Readout(at="last", decide="above", pooled="mean", excluded=("t1",)),
        Readout(before=("t0",), at="last", decide="above", alphabet=("t2",), excluded=("t1", "t3")),
    ],
)
def test_a_readout_with_padding_is_kept(readout: Readout) -> None:
    network = made(outputs=1)
    network = replace(network, readout=readout, tokens=tuple(f"t{number}" for number in range(len(network.tokens))))
    again = read(network_json(network))
    assert again.readout == readout
    assert same(network, again)
    assert again.symbols == network.symbols
    assert "t1" not in network.symbols or not readout.excluded


def test_every_part_of_a_readout_is_written() -> None:
    """A field that the document leaves out would be read as its default."""
    others = Readout(("a",), (2,), "last", "argmax", Fraction(0), ("yes",), ("a", 2), 0.5, "mean", (True,))
    plain, kept = Readout(), [field.name for field in fields(Readout) if field.name != "level"]
    assert all(getattr(others, name) != getattr(plain, name) for name in kept if name != "at")
    network = replace(read(RICH), readout=others)
    assert read(network_json(network)).readout == others


# ---- refusals ----


def put(path: str, value: Any) -> Callable[[Document], None]:
    """Return an edit that puts a value at a place such as `layers.0.b_o`."""

    def change(document: Document) -> None:
        *inside, last = [int(key) if key.isdigit() else key for key in path.split(".")]
        place: Any = document
        for key in inside:
            place = place[key]
        place[last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        ("format", "hardsim-ahat", "at format: expected one of hardsim-network"),
        ("schema_version", 2, "at schema_version: expected an integer from 1 to 1"),
        ("colour", 1, "at the top level: expected keys among"),
        ("title", 3, "at title: expected a string"),
        ("tokens", ["a", 2, 0.5], "at tokens: 3 tokens were named, and the vocabulary has 4"),
        ("tokens", ["a", 2, 0.5, "2"], "at tokens: the token '2' is named twice"),
        ("tokens", ["a", 2, 0.5, "x y"], "at tokens: the token 'x y' cannot be written"),
        ("tokens.1", None, r"at tokens\[1\]: expected a number"),
        ("padding", 3, "at padding: '3' is not among the tokens of the network"),
        ("excluded", [0.5, "x"], "at excluded: 'x' is not among the tokens of the network"),
        ("excluded", ["a"], "at the top level: 'a' is padding, without which this network counts its positions"),
        ("excluded", [True], "at the top level: 'True' is padding, without which this network counts its positions"),
        ("embedding", [], "at embedding: expected an array of rows, at least one"),
        ("embedding", [[]], r"at embedding\[0\]: expected a row with at least one number"),
        ("embedding", [[1, 2], [3]], r"at embedding\[1\]: expected an array of 2"),
        ("embedding", [[1, "x"]], r"at embedding\[0\]\[1\]: expected a number"),
        ("embedding", [[1, True]], r"at embedding\[0\]\[1\]: expected a number"),
        ("embedding.shape", [4, 0], r"at embedding.shape\[1\]: expected an integer from 1"),
        ("embedding.shape", [4], "at embedding.shape: expected an array of 2"),
        ("embedding.shape", [LARGEST, 2], f"at embedding.shape: expected a matrix of at most {LARGEST} entries"),
        ("embedding.shape", [10**12, 1], "at the top level: matrices of more than .* entries together"),
        ("embedding.entries.0", [4, 0, 1], r"at embedding.entries\[0\]\[0\]: expected an integer from 0 to 3"),
        ("embedding.entries.0", [0, 2, 1], r"at embedding.entries\[0\]\[1\]: expected an integer from 0 to 1"),
        ("embedding.entries.0", [1, 1, 1], r"at embedding.entries\[1\]: expected each entry once"),
        ("embedding.entries.0", [1, 0], r"at embedding.entries\[0\]: expected an array of 3"),
        ("embedding.more", 1, "at embedding: expected keys among shape, entries"),
        ("positions", [[1, 2, 3]], r"at positions\[0\]: expected an array of 2"),
        ("positions", {"shape": [2, 3], "entries": []}, r"at positions.shape: expected \[any, 2\]"),
        (
            "positions",
            [{"coordinate": 2, "value": "i"}],
            r"at positions\[0\].coordinate: expected an integer from 0 to 1",
        ),
        ("positions", [{"coordinate": 0, "value": "1/i"}, 3], r"at positions\[1\]: expected an object"),
        (
            "positions",
            [{"coordinate": 0, "value": "1/(n - i)"}],
            r"at positions\[0\].value: expected an expression with",
        ),
        ("positions", [{"coordinate": 0, "value": "1/(n - i + 1)"}], "at i = 2, n = 1"),  # at the token after the word
        ("positions", 3, "at positions: expected an array"),
        ("layers", None, "at layers: expected an array"),
        ("layers.0.depth", 1, r"at layers\[0\]: expected keys among"),
        ("layers.0.heads.0.more", 1, r"at layers\[0\].heads\[0\]: expected keys among"),
        ("layers.0.heads.0.mask", "strict-future", "expected one of none, future, past"),
        ("layers.0.heads.0.scale", "sqrt(-8)", "expected what scores are multiplied by"),
        ("layers.0.heads.0.scale", "1/sqrt(0)", "expected what scores are multiplied by"),
        ("layers.0.heads.0.scale", 0, "expected what scores are multiplied by"),
        ("layers.0.heads.0.scale", "0/sqrt(2)", "expected what scores are multiplied by"),
        ("layers.0.heads.0.scale", -1, "expected what scores are multiplied by"),
        ("layers.0.heads.0.scale", None, "expected what scores are multiplied by"),
        ("layers.0.heads.0.w_q", [[1, 2]], r"w_q: expected an array of 2, found"),
        ("layers.0.heads.0.w_k", [[1, 2], [3, 4]], r"w_k\[0\]: expected an array of 1"),
        ("layers.0.heads.0.w_v", [[1]] * 3, "w_v: expected an array of 2"),
        ("layers.0.heads.0.w_o", [[1, 2]], "w_o: expected an array of 2"),
        ("layers.0.heads.0.w_o", [[1, 2, 3]] * 2, r"w_o\[0\]: expected an array of 2"),
        ("layers.0.heads.0.b_q", [1, 2], "b_q: expected an array of 1"),
        ("layers.0.heads.0.b_k", [], "b_k: expected an array of 1"),
        ("layers.0.heads.0.b_v", [1], "b_v: expected an array of 2"),
        ("layers.0.heads.0.name", " ", "the name ' ' is empty, not printable, or the name of another head"),
        ("layers.0.b_o", [1, 2, 3], "b_o: expected an array of 2"),
        ("layers.0.b_o", {"0": 1}, "b_o: expected an array of 2"),
        ("layers.0.heads.0.distance", {"exponent": 10**30}, "expected a number from -1000 to 1000"),
        ("layers.0.heads.0.window", 0, "expected an integer from 1"),
        ("layers.0.heads.0.cap", 0, "expected a number above 0"),
        ("layers.0.heads.0.rotary", {"base": 10, "size": 3, "pairs": "halves"}, "expected an"),
        ("layers.0.mlp.activation", "elu", "expected one of relu, gelu, gelu_new, silu, quick_gelu, tanh"),
        ("layers.0.mlp.w_in", [[1], [2], [3]], "w_in: expected an array of 2"),
        ("layers.0.mlp.w_out", [[1, 2]] * 4, "w_out: expected an array of 3"),
        ("layers.0.mlp.b_in", [1, 2], "b_in: expected an array of 3"),
        ("layers.0.mlp.b_out", [1], "b_out: expected an array of 2"),
        ("layers.0.mlp.gate", [1], r"at layers\[0\].mlp: expected keys among"),
        ("layers.0.mlp", None, r"at layers\[0\].norm_2: expected null, since this layer has no mlp"),
        ("layers.0.norms", None, r"norms: expected one of before, after, found null"),
        ("layers.0.norms", "around", "norms: expected one of before, after"),
        ("layers.0.norm_1.kind", "batch", "expected one of layer, rms"),
        ("layers.0.norm_1.epsilon", -1, "epsilon: expected a number that is at least 0"),
        ("layers.0.norm_1.weight", [1], "weight: expected an array of 2"),
        ("layers.0.norm_1.bias", [1], "bias: expected an array of 2"),
        ("final_norm.gain", 1, "at final_norm: expected keys among kind, epsilon, weight, bias"),
        ("unembedding", [[1, 2]], "at unembedding: expected an array of 2"),
        ("unembedding_bias", [1], "at unembedding_bias: expected an array of 2"),
        ("outputs", ["yes"], "at outputs: 1 outputs were named, and the network has 2"),
        ("outputs", ["no", "no"], "at outputs: the output 'no' is named twice"),
        ("alphabet", [], "at alphabet: an alphabet needs at least one symbol"),
        ("alphabet", ["a", "a"], "at alphabet: an alphabet needs at least one symbol, and each only once"),
        ("alphabet", ["c"], "at alphabet: 'c' is not among the tokens of the network"),
        ("input", "a", r"at input: input 'a' contains \* 0 times"),
        ("at", "end", "at at: at 'end' is not one of: last, first, each"),
        ("decide", "argmax of maybe", "at decide: 'maybe' is not among the outputs of the network"),
        ("decide", 1, "at decide: expected a string"),
        ("decide", "x" * 10**6, r"decide 'x+'\.\.\. \(1000000 characters\) is not one of"),
    ],
)
def test_a_wrong_document_is_refused_at_its_place(path: str, value: Any, match: str) -> None:
    document = deepcopy(RICH)
    put(path, value)(document)
    found = raised(InputError, read, document, match=match)
    assert "net.json" in str(found)
    assert "hardsim compile" not in str(found)


def test_matrices_by_entries_fit_into_memory_together() -> None:
    document = deepcopy(RICH)
    head = document["layers"][0]["heads"][0]
    document["layers"] *= 4
    head["w_q"] = {"shape": [2, LARGEST // 2], "entries": []}
    raised(InputError, read, document, match="at the top level: matrices of more than 33,554,432 entries together")


@pytest.mark.parametrize("key", ["format", "schema_version", "tokens", "embedding", "layers", "unembedding"])
def test_what_must_be_there(key: str) -> None:
    document = {name: value for name, value in RICH.items() if name != key}
    raised(InputError, read, document, match=f'expected an object with the key "{key}"')


def test_norms_without_their_step() -> None:
    document = deepcopy(MORE_A)
    document["layers"] = [{"norm_1": {"kind": "rms", "epsilon": 1}, "norms": "before"}]
    raised(InputError, read, document, match=r"at layers\[0\].norm_1: expected null, since this layer has no attention")


def test_names_of_heads_are_different() -> None:
    document = deepcopy(MORE_A)
    (head,) = document["layers"][0]["heads"]
    document["layers"][0]["heads"] = [head | {"name": "L0H1"}, head]
    raised(
        InputError, read, document, match=r"at layers\[0\].heads\[1\]: the name 'L0H1' is .* the name of another head"
    )


@pytest.mark.parametrize("text", ["1e401", "1e-401", f"0.{'1' * 400}", "NaN", "Infinity"])
def test_numbers_that_are_none_or_too_long(text: str) -> None:
    raised(InputError, read, json.dumps(MORE_A).replace("-0.1", text), match="at unembedding_bias|is not a JSON number")


def test_a_projection_has_its_parts_and_needs_positions_in_the_stream() -> None:
    plain: Document = network_json(made(outputs=1))
    wide: Document = network_json(featured(made(outputs=1), [NetworkFeature.PROJECTION]))
    assert read(wide).dimension == 8 == read(wide).embedding.shape[1] - 3
    bias = {"projection_bias": [0] * 8}
    raised(InputError, read, plain | bias, match="at projection_bias: expected a projection")
    raised(InputError, read, wide | {"positions_at": "scores"}, match="at positions_at: expected stream, since")
    raised(InputError, read, wide | {"projection": [[1, 2]] * 8}, match=r"at projection: .*11")


def test_decimals_are_refused_where_rationals_are_text() -> None:
    document = '{"format": "hardsim-ahat", "schema_version": 2, "program": {"alphabet": ["a"], "coordinates": ["1"], '
    document += '"letters": [{"name": "1", "symbols": ["a"], "value": 0.5}]}}'
    with pytest.raises(InputError):
        read_ahat(read_json(document.encode(), "x.ahat.json"))
    number = read_json(b'{"weight": 0.5}', "x").field("weight")
    raised(InputError, number.rational, match="expected a rational as a string .*, found 0.5")
    raised(InputError, number.integer, 0, 9, match="expected an integer from 0 to 9, found 0.5")
