"""The `.ahat.json` format: every spelling, every error with its place, and a schema that agrees with the loader."""

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

import hardsim
from hardsim.network.reader import Reader, read_json
from hardsim.network.transformer import PositionTable, SoftWeighting
from hardsim.program.file import AhatFile, ahat_json, read_ahat, schema
from tests.support.damage import edited
from tests.support.language import HardsimError, InputError, parse_arith
from tests.support.model import Affine, FeedForward, HiddenUnit, LengthTable, Mask, Matrix, Unit, Weighting, assemble
from tests.support.networks import HardNetwork, hard_transformers
from tests.support.simulations import unique

VALIDATOR = Draft202012Validator(schema())


def test_the_schema_lists_every_weighting() -> None:
    listed = [part for name, part in schema_parts(schema()) if name == "weighting" and "enum" in part]
    assert any(set(part["enum"]) == {*SoftWeighting, None} for part in listed)


def schema_parts(data: Any) -> list[tuple[str, Any]]:
    """Return every key of a schema, at any depth, whose value is an object."""
    inside = list(data.items()) if isinstance(data, dict) else [("", part) for part in data]
    own = [(name, part) for name, part in inside if isinstance(part, dict | list)]
    return [*((name, part) for name, part in own if name), *(one for _, part in own for one in schema_parts(part))]


DOCUMENT = """{
  "$schema": "ahat.schema.json", "format": "hardsim-ahat", "schema_version": 1, "version": "1.0",
  "title": "A test", "source": "Nobody 2000", "notes": ["anything"],
  "predicates": ["MIDDLE(i, n) = 2*i == n + 1"], "examples": {"accept": ["ab", "b a"], "reject": ["bb"]},
  "alphabet": ["a", "b"], "bos": true, "coordinates": ["1", "a", "place", "out"],
  "embedding": {"a": {"1": "1", "a": "1"}, "b": ["1", "0", "0", "0"], "BOS": {"1": "1"}},
  "encodings": [
    {"coordinate": "place", "value": "i/n"},
    {"coordinate": "place", "value": {"start": 0, "values": ["1/2", "-3"], "otherwise": "2"}},
    {"coordinate": "out", "value": "MIDDLE(2*i - n)"},
    {"coordinate": "out", "value": "PRIME(i)"}
  ],
  "layers": [
    {"heads": [
       {"name": "h", "mask": "strict-future", "weighting": "average", "gap": "1/(2*n)",
        "w_q": [{"1": "1"}, ["0", "1/2", "0", "0"]],
        "w_k": {"shape": [2, 4], "entries": [[0, 2, "1"], [1, 3, "-2"]]},
        "w_v": {"out": {"a": "2/4"}}},
       {"name": "k", "mask": "none", "weighting": "leftmost", "w_q": [], "w_k": [], "w_v": {}}],
     "ffn": {"w1": [{"out": "1"}, ["0", "0", "0", "1"]], "b1": ["0", "-1"],
             "w2": {"out": ["1", "-1"]}, "b2": ["0", "0", "0", "1/3"]}},
    {"heads": []}
  ],
  "output": "out", "threshold": "1/2", "reading": "first"
}"""
"""A small model in which everything occurs."""


def document() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(DOCUMENT)
    return data


def soft_document() -> dict[str, Any]:
    """Return the same document with softmax."""
    data = document()
    for head in data["layers"][0]["heads"]:
        head["hardmax"], head["weighting"] = head["weighting"], "softmax"
    return data | {"temperature": ["1", "1/2", "1/3"]}


def read(data: Any) -> AhatFile:
    return read_ahat(Reader(json.loads(json.dumps(data)), "m"))


def written(file: AhatFile) -> dict[str, Any]:
    """Return the document of a model, as a file has it, after validating it against the schema."""
    data: dict[str, Any] = json.loads(json.dumps(ahat_json(file)))
    VALIDATOR.validate(data)
    return data


def test_everything_is_read() -> None:
    VALIDATOR.validate(document())
    file = read(document())
    program = file.program
    model = assemble(program, parse_arith("1"))
    assert (file.title, file.source, file.temperature) == ("A test", "Nobody 2000", None)
    assert file.examples == ((("a", "b"), True), (("b", "a"), True), (("b", "b"), False))
    assert (model.bos, model.reading, model.threshold, model.output) == (True, "first", Fraction(1, 2), 3)
    assert (program.bos, program.reading, program.threshold, program.output) == (True, "first", Fraction(1, 2), "out")
    assert model.embedding == Matrix.of(3, 4, {(0, 0): 1, (0, 1): 1, (1, 0): 1, (2, 0): 1})
    first, second = model.heads
    hard, other = program.heads
    assert (hard.mask, hard.weighting, str(hard.gap)) == (Mask.STRICT_FUTURE, Weighting.AVERAGE, "1/(2*n)")
    assert first.mask is Mask.STRICT_FUTURE
    assert first.w_q == Matrix.of(2, 4, {(0, 0): 1, (1, 1): Fraction(1, 2)})
    assert first.w_k == Matrix.of(2, 4, {(0, 2): 1, (1, 3): -2})
    assert first.w_v == Matrix.of(4, 4, {(3, 1): Fraction(1, 2)})
    assert not second.scores
    assert (other.score, other.weighting, other.gap) == ((), Weighting.LEFTMOST, None)
    assert program.layers[0].units == (Unit((("out", 1),), Affine.coordinate("out")),)
    assert program.layers[0].biases == (("out", Fraction(1, 3)),)
    clip = HiddenUnit(((3, 1),), 0, ((3, 1),), clip=True)
    assert [layer.ffn for layer in model.layers] == [FeedForward((clip,), ((3, Fraction(1, 3)),)), FeedForward()]
    table = model.encodings[1][1]
    assert isinstance(table, PositionTable)
    assert [table.evaluate(i=i, n=9) for i in (0, 1, 2, -1)] == [Fraction(1, 2), -3, 2, 2]
    middle, prime = model.encodings[2][1], model.encodings[3][1]
    # MIDDLE(x, n) means 2x = n + 1; for x = 2i - n and n = 5: 2 (2i - 5) = 6 at i = 4.
    assert [middle.evaluate(i=i, n=5) for i in range(1, 6)] == [0, 0, 0, 1, 0]
    assert [prime.evaluate(i=i, n=5) for i in range(1, 6)] == [0, 1, 1, 0, 1]


def test_a_softmax_file_is_read_as_the_hard_model_that_it_stands_for() -> None:
    VALIDATOR.validate(soft_document())
    file = read(soft_document())
    assert file.program == read(document()).program
    assert file.temperature == LengthTable((Fraction(1), Fraction(1, 2), Fraction(1, 3)))
    without = soft_document()
    del without["layers"][0]["heads"][1]["hardmax"]
    assert read(without).program.heads[1].weighting is Weighting.AVERAGE


@given(hard_transformers())
def test_what_is_written_is_read_again(hard: HardNetwork) -> None:
    file = AhatFile(unique(hard.program), "title", "source", (), (((*"ab",), True), ((*"ccb",), False)))
    again = read(written(file))
    assert ahat_json(again) == ahat_json(file)
    assert again == file


def test_both_documents_are_written_as_they_were_read() -> None:
    for data in (document(), soft_document()):
        file = read(data)
        again = written(file)
        assert read(again) == file
        assert again["examples"] == {"accept": ["ab", "ba"], "reject": ["bb"]}


def test_transductions_and_long_symbols() -> None:
    data = document() | {"alphabet": ["a", "go"], "outputs": {"x": "a", "go": "out"}, "blank": "#"}
    data["embedding"]["go"] = data["embedding"].pop("b")
    data["examples"] = {"accept": ["a go"]}
    VALIDATOR.validate(data)
    file = read(data)
    assert file.program.outputs == (("x", "a"), ("go", "out"))
    assert (file.blank, file.examples) == ("#", ((("a", "go"), True),))
    assert read(ahat_json(file)) == file


OPTIONAL = ["title", "source", "predicates", "examples", "bos", "encodings", "reading", "weighting", "temperature"]


@pytest.mark.parametrize("key", OPTIONAL)
def test_null_is_as_good_as_nothing(key: str) -> None:
    data = document()
    if key == "bos":
        data["layers"][0]["heads"][0]["mask"] = "future"
        del data["embedding"]["BOS"]
    if key == "predicates":
        del data["encodings"][2]
    data[key] = None
    VALIDATOR.validate(data)
    found = read(data)
    del data[key]
    VALIDATOR.validate(data)
    assert read(data) == found


def test_one_weighting_for_all_heads() -> None:
    data = document() | {"weighting": "rightmost"}
    del data["layers"][0]["heads"][0]["weighting"]
    data["layers"][0]["heads"][1]["weighting"] = None
    VALIDATOR.validate(data)
    assert [head.weighting for head in read(data).program.heads] == [Weighting.RIGHTMOST] * 2


Case = tuple[list[str | int], Any, str]
"""The path of a value, its replacement, and the error."""
HEAD: list[str | int] = ["layers", 0, "heads", 0]
FFN: list[str | int] = ["layers", 0, "ffn"]
ROWS = "at layers[0].heads[0].w_q: expected an array of rows, or an object with shape"
BOTH: list[Case] = [
    (["format"], "hardsim-model", 'm: at format: expected one of hardsim-ahat, found "hardsim-model"'),
    (["format"], ..., 'm: at the top level: expected an object with the key "format"'),
    (["schema_version"], 3, "m: at schema_version: expected an integer from 1 to 2, found 3"),
    (["schema_version"], 0, "m: at schema_version: expected an integer from 1 to 2, found 0"),
    (["schema_version"], 2, "m: at the top level: expected keys among $schema, format"),
    (["treshold"], "1/2", "keys among $schema, format"),
    (["threshold"], ..., 'expected an object with the key "threshold"'),
    (["threshold"], 0.5, 'm: at threshold: expected a rational as a string such as "3" or "-1/2", found 0.5'),
    (["threshold"], "1/00", "at threshold: expected a rational"),
    (["threshold"], "1.5", "at threshold: expected a rational"),
    (["threshold"], "٣", "at threshold: expected a rational"),
    (["title"], ["no"], "at title: expected a string"),
    (["predicates"], "MIDDLE", "at predicates: expected an array"),
    (["examples"], ["ab"], "at examples: expected an object"),
    (["examples", "acept"], ["ab"], 'at examples: expected keys among accept, reject (not "acept")'),
    (["examples", "accept"], "ab", "at examples.accept: expected an array"),
    (["examples", "accept", 0], 3, "at examples.accept[0]: expected a string"),
    (["alphabet"], [], "at alphabet: expected distinct symbols, at least one"),
    (["alphabet"], ["a", "a"], "at alphabet: expected distinct symbols"),
    (["alphabet", 0], "", "at alphabet[0]: expected a symbol, which is not empty, has no control"),
    (["alphabet", 0], "a\tb", "at alphabet[0]: expected a symbol"),
    (["alphabet", 0], "a\u0007", "at alphabet[0]: expected a symbol"),
    (["alphabet", 0], "BOS", "at alphabet: expected symbols other than BOS"),
    (["bos"], "yes", 'at bos: expected true or false, found "yes"'),
    (["bos"], False, "at layers[0].heads[0].mask: expected a mask under which every query sees something"),
    (["coordinates"], [], "at coordinates: expected distinct names"),
    (["coordinates", 1], "1", "at coordinates: expected distinct names"),
    (["embedding"], "all", "at embedding: expected an array"),
    (["embedding", "a"], {"1": 1}, "at embedding.a.1: expected a rational"),
    (["encodings", 0], {"coordinate": "place"}, 'at encodings[0]: expected an object with the key "value"'),
    (["encodings", 0, "vlaue"], "1", 'at encodings[0]: expected keys among coordinate, value (not "vlaue")'),
    (["encodings", 0, "value"], 1, "at encodings[0].value: expected a string"),
    (["encodings", 1, "value", "stop"], 3, "at encodings[1].value: expected keys among start, values, otherwise"),
    (["encodings", 1, "value", "values"], ..., 'expected an object with the key "values"'),
    (["encodings", 1, "value", "values", 0], 2, "at encodings[1].value.values[0]: expected a rational"),
    (["encodings", 1, "value", "start"], "0", "at encodings[1].value.start: expected an integer from -1000000000"),
    (["layers"], ..., 'expected an object with the key "layers"'),
    (["layers", 1], {}, 'at layers[1]: expected an object with the key "heads"'),
    (["layers", 1, "fnn"], {}, 'at layers[1]: expected keys among heads, ffn, norms, norm_1, norm_2 (not "fnn")'),
    ([*HEAD, "mask"], "causal", "at layers[0].heads[0].mask: expected one of none, future, past, strict-future"),
    ([*HEAD, "weighting"], "hard", "at layers[0].heads[0].weighting: expected one of softmax, average, leftmost"),
    ([*HEAD, "weighting"], ..., 'at layers[0].heads[0]: expected an object with the key "weighting"'),
    (
        [*HEAD, "weighting"],
        None,
        "at layers[0].heads[0].weighting: expected one of softmax, average, leftmost, rightmost, found null",
    ),
    ([*HEAD, "hardmax"], "average", "at layers[0].heads[0].hardmax: expected no hardmax"),
    ([*HEAD, "gpa"], "1", "at layers[0].heads[0]: expected keys among name, mask"),
    ([*HEAD, "gap"], 1, "at layers[0].heads[0].gap: expected a string"),
    ([*HEAD, "name"], ..., 'at layers[0].heads[0]: expected an object with the key "name"'),
    ([*HEAD, "w_q"], {"1": {"1": "1"}}, ROWS),
    ([*HEAD, "w_q", 0], "1", "at layers[0].heads[0].w_q[0]: expected an array of 4"),
    ([*HEAD, "w_k", "shape"], [2], "at layers[0].heads[0].w_k.shape: expected an array of 2"),
    ([*HEAD, "w_k", "shape", 0], -1, "at layers[0].heads[0].w_k.shape[0]: expected an integer from 0"),
    ([*HEAD, "w_k", "entries", 0], [0, 2], "at layers[0].heads[0].w_k.entries[0]: expected an array of 3"),
    ([*HEAD, "w_k", "entries", 0, 2], "x", "at layers[0].heads[0].w_k.entries[0][2]: expected a rational"),
    ([*HEAD, "w_k", "rows"], 2, 'at layers[0].heads[0].w_k: expected keys among shape, entries (not "rows")'),
    ([*HEAD, "w_v"], {"out": {"a": 1}}, "at layers[0].heads[0].w_v.out.a: expected a rational"),
    ([*FFN, "b_1"], ["0", "0"], 'at layers[0].ffn: expected keys among w1, b1, w2, b2 (not "b_1")'),
    ([*FFN, "w2"], {"out": {"0": "1"}}, "at layers[0].ffn.w2.out: expected an array of 2 rationals"),
    ([*FFN, "w2"], ..., 'at layers[0].ffn: expected an object with the key "w2"'),
    ([*FFN, "b2"], "0", "at layers[0].ffn.b2: expected an array of 4"),
    (["output"], 3, "at output: expected one of the coordinates, found 3"),
    (["reading"], "middle", "at reading: expected one of first, last"),
    (["weighting"], "hard", "at weighting: expected one of softmax, average"),
    (["outputs"], {}, "at outputs: expected an object from output symbols to coordinates"),
    (["outputs"], {"x": 1}, "at outputs.x: expected one of the coordinates, found 1"),
    (["blank"], 0, "at blank: expected a string"),
]
"""Cases that the loader and the schema refuse."""

LOADER: list[Case] = [
    (["predicates", 0], "MIDDLE(i, n) = 2*i ==", "at predicates: expected definitions of predicates ("),
    (["predicates", 0], "EVEN(i, n) = i > 1", "at predicates: expected definitions of predicates ("),
    (["predicates"], ..., "encodings[2].value:1:1"),
    (["predicates"], ["A(i, n) = i > 1", "A(i, n) = i > 2"], "at predicates: expected definitions of predicates ("),
    (["examples", "reject", 0], "ac", "at examples.reject[0]: expected a word over the alphabet ("),
    (["examples", "reject", 0], "", "at examples.reject[0]: expected a word over the alphabet ("),
    (["embedding", "c"], {}, 'at embedding: expected rows named a, b, BOS (not "c")'),
    (["embedding"], [["0"] * 4] * 2, "at embedding: expected an array of 3"),
    (["embedding", "a"], {"2": "1"}, 'at embedding.a: expected coordinates of the model (not "2")'),
    (["encodings", 0, "coordinate"], "2", "at encodings[0].coordinate: expected one of the coordinates"),
    (["encodings", 0, "value"], "i/", "m: encodings[0].value:1:3: error: missing operand"),
    (["encodings", 0, "value"], "j", "unknown name 'j'"),
    (["encodings", 0, "value"], "1/(i-3)", "a value at every position (at i = 3, n = 3: division by zero"),
    (["encodings", 0, "value"], "1/i", "a value at every position (at i = 0, n = 1: division by zero"),
    (
        ["encodings", 0, "value"],
        "2^(i/2)",
        "a value at every position (at i = 1, n = 1: an exponent that is not an integer",
    ),
    (["encodings", 0, "value"], "PRIMES(i)", "m: encodings[0].value:1:"),
    ([*HEAD, "gap"], "1/k", "m: layers[0].heads[0].gap:1:3: error: unknown name 'k'"),
    ([*HEAD, "name"], "k", "at layers[0].heads[1].name: expected a name that no other head has"),
    ([*HEAD, "w_q", 1], ["1"] * 3, "at layers[0].heads[0].w_q[1]: expected an array of 4"),
    ([*HEAD, "w_k", "shape"], [3, 4], "at layers[0].heads[0].w_k.shape: expected [2, 4]"),
    ([*HEAD, "w_k", "shape"], [2, 3], "at layers[0].heads[0].w_k.shape: expected [2, 4]"),
    ([*HEAD, "w_k", "entries", 0, 1], 4, "at layers[0].heads[0].w_k.entries[0][1]: expected an integer from 0 to 3"),
    ([*HEAD, "w_k", "entries", 1], [0, 2, "3"], "at layers[0].heads[0].w_k.entries[1]: expected each entry once"),
    ([*HEAD, "w_k"], [{"1": "1"}], "at layers[0].heads[0].w_k: expected an array of 2"),
    ([*HEAD, "w_v"], {"x": {}}, 'at layers[0].heads[0].w_v: expected rows named 1, a, place, out (not "x")'),
    ([*FFN, "b1"], ["0"], "at layers[0].ffn.b1: expected an array of 2"),
    ([*FFN, "w2"], {"out": ["1"]}, "at layers[0].ffn.w2.out: expected an array of 2"),
    (["output"], "nowhere", 'at output: expected one of the coordinates, found "nowhere"'),
    (["outputs"], {"x": "nowhere"}, "at outputs.x: expected one of the coordinates"),
]
"""Cases that only the loader refuses; a schema cannot express them."""


SOFT: list[Case] = [
    (["temperature"], ..., 'm: at the top level: expected an object with the key "temperature"'),
    (["temperature"], ["1", 2], "at temperature[1]: expected a rational"),
    ([*HEAD, "weighting"], "average", "at layers: expected heads that are all softmax, or all average"),
    ([*HEAD, "hardmax"], "softmax", "at layers[0].heads[0].hardmax: expected one of average, leftmost, rightmost"),
]
"""Cases of a softmax model that the loader and the schema refuse."""


def check_refused(data: Any, message: str, valid: bool) -> None:
    """Assert that the loader refuses a document with a message, and that the schema accepts it iff `valid`."""
    with pytest.raises(HardsimError) as caught:
        read(data)
    assert message in str(caught.value)
    assert caught.value.exit_code == 2
    assert VALIDATOR.is_valid(data) is valid


@pytest.mark.parametrize(
    ("make", "case", "valid"),
    [
        *((document, case, False) for case in BOTH),
        *((document, case, True) for case in LOADER),
        *((soft_document, case, False) for case in SOFT),
    ],
)
def test_what_loader_and_schema_refuse(make: Callable[[], dict[str, Any]], case: Case, valid: bool) -> None:
    path, value, message = case
    check_refused(edited(make(), path, value), message, valid)


def test_a_common_softmax_needs_a_temperature_too() -> None:
    data = document() | {"weighting": "softmax"}
    for head in data["layers"][0]["heads"]:
        del head["weighting"]
    check_refused(data, 'expected an object with the key "temperature"', False)
    data["temperature"] = "1/n"
    assert str(read(data).temperature) == "1/n"
    VALIDATOR.validate(data)


@pytest.mark.parametrize("data", [[], "text", None, 3])
def test_a_document_is_an_object(data: Any) -> None:
    check_refused(data, "m: at the top level: expected an object", False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": \xff}', "m.ahat.json:1:7: error: not UTF-8: byte 0xff at offset 6"),
        (b'{"a": 1, 2}', "m.ahat.json:1:10: error: this is not JSON"),
        (
            b'{\n"a" 1}',
            'm.ahat.json:2:5: error: this is not JSON\n  "a" 1}\n      ^\n  expected: a colon',
        ),
        (b'{"a": {"t": 1, "t": 2}}', 'm.ahat.json: at a: the key "t" occurs twice in one object'),
        (b'[{"a": 1}, {"a": {"b": 1, "c": 2, "b": 3}, "a": 4}]', 'm.ahat.json: at [1]: the key "a" occurs twice'),
        (b'{"a": [0, {"b c": {"": 1}}]}', 'm.ahat.json: at a[1]["b c"]: a key is empty'),
        (b'{"a": [NaN]}', "m.ahat.json: at a[0]: NaN is not a JSON number"),
        (b'{"a": -Infinity}', "m.ahat.json: at a: -Infinity is not a JSON number"),
        (b"[" * 100_000, "m.ahat.json:1:301: error: the brackets of this JSON are nested too deeply"),
        (b"9" * 5000, "m.ahat.json:1:1: error: an integer of this JSON is too long"),
    ],
)
def test_what_is_not_json(text: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_json(text, "m.ahat.json")
    assert message in str(caught.value)


def test_a_byte_order_mark_is_allowed() -> None:
    text = "\ufeff" + json.dumps(document())
    assert read_ahat(read_json(text.encode(), "m")) == read(document())


def test_the_schema_is_one_and_explains_itself() -> None:
    data = schema()
    Draft202012Validator.check_schema(data)
    assert all(len(item["description"]) >= 20 for item in data["properties"].values())
    head = data["$defs"]["head"]["properties"]
    assert set(head) == {"name", "mask", "weighting", "hardmax", "gap", "w_q", "w_k", "w_v"}


def test_a_blank_leaves_a_symbol_for_words() -> None:
    only: dict[str, Any] = {"alphabet": ["a"], "embedding": {}, "examples": None, "blank": "a"}
    check_refused(document() | only, "at blank: expected a symbol of an alphabet with at least two symbols", True)


def test_matrices_over_propositions_add_up(tmp_path: Path) -> None:
    # The score of j is s_j + 3j/2, where s_j is how many propositions hold; the output is s - 1 at the winner, the last
    # position unless two hold just before it and none there.
    document = {
        "format": "hardsim-ahat",
        "schema_version": 1,
        "alphabet": {"props": ["p", "q"]},
        "coordinates": ["1", "s", "i", "r", "out"],
        "embedding": {"shape": [3, 5], "entries": [[0, 1, "1"], [1, 1, "1"], [2, 0, "1"]]},
        "encodings": [{"coordinate": "i", "value": "i"}],
        "layers": [
            {
                "heads": [
                    {
                        "name": "h",
                        "mask": "none",
                        "weighting": "average",
                        "w_q": {"shape": [1, 5], "entries": [[0, 0, "1"]]},
                        "w_k": {"shape": [1, 5], "entries": [[0, 1, "1"], [0, 2, "3/2"]]},
                        "w_v": {"shape": [5, 5], "entries": [[3, 1, "1"]]},
                    }
                ],
                "ffn": {
                    "w1": {"shape": [1, 5], "entries": [[0, 3, "1"]]},
                    "b1": ["-1"],
                    "w2": {"shape": [5, 1], "entries": [[4, 0, "1"]]},
                    "b2": ["0"] * 5,
                },
            }
        ],
        "output": "out",
        "threshold": "1/2",
        "reading": "last",
    }
    path = tmp_path / "sums.ahat.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    model = hardsim.load(path)
    number = {"{}": 0, "{p}": 1, "{q}": 1, "{p,q}": 2}
    for n in range(1, 4):
        words = list(product(number, repeat=n))
        for word, found in zip(words, model.eval(*words), strict=True):
            before = number[word[-2]] if n > 1 else 0
            expected = number[word[-1]] == 2 or (before == 2 and number[word[-1]] == 0)
            assert (found.hard, found.soft) == (expected, expected), word
