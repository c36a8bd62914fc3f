"""Reading stored tensors: files, dtypes, damage, vocabularies, and the check that every tensor is used."""

import json
import struct
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from hardsim.network.reader import Reader
from hardsim.reading import tensors as reading
from hardsim.reading.tensors import Settings, Stored, Tensors, is_network_folder, json_object
from tests.reading.folders import write_folder
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import read_folder

ONE = {"w": np.ones((2, 3), np.float32)}


def refused(path: Path | str, match: str) -> InputError:
    """Return the error that refuses a folder; assert that it has a hint."""
    error = raised(InputError, read_folder, str(path), match=match)
    assert error.hint
    return error


def tracked(**arrays: object) -> Tensors:
    """Return made-up tensors."""
    return Stored("here", {name: np.asarray(array) for name, array in arrays.items()}, {}).weights


def settings(**values: object) -> Settings:
    """Return made-up settings."""
    return Settings(Reader(values, "here: config.json"))


# ---- files ----


def test_a_folder_is_read(tmp_path: Path) -> None:
    path = write_folder(tmp_path, ONE, '{"eps": 1e-05, "n": 3, "x": 0.1, "deep": {"y": -2.5E+1}, "no": null}')
    found = read_folder(path)
    assert found.config == {
        "eps": Fraction(1, 100000),
        "n": 3,
        "x": Fraction(1, 10),
        "deep": {"y": Fraction(-25)},
        "no": None,
    }
    assert isinstance(found.config["n"], int)
    assert found.tensors["w"].dtype == np.float32
    assert found.tensors["w"].tolist() == [[1, 1, 1], [1, 1, 1]]
    assert (found.name, found.config_name, found.vocabulary) == (path, "config.json", None)
    assert found.files == ("config.json", "model.safetensors")


def test_a_file_of_weights_means_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path, {"v": np.zeros(1)}, {"a": 1})
    write_folder(tmp_path, ONE, {"a": 1}, "other.safetensors")
    found = read_folder(str(tmp_path / "other.safetensors"))
    assert list(found.tensors) == ["w"]
    assert found.config == {"a": 1}
    monkeypatch.chdir(tmp_path)
    assert read_folder("other.safetensors").sha256 == found.sha256
    assert list(read_folder(".").tensors) == ["v"]


def test_a_single_file_of_another_name_is_found(tmp_path: Path) -> None:
    write_folder(tmp_path, ONE, {}, "weights.safetensors")
    assert read_folder(str(tmp_path)).files == ("config.json", "weights.safetensors")
    write_folder(tmp_path, ONE, {}, "more.safetensors")
    refused(tmp_path, r"there are several files of weights: more\.safetensors, weights\.safetensors")


def test_meta_json_is_a_configuration(tmp_path: Path) -> None:
    write_folder(tmp_path, ONE, {})
    (tmp_path / "config.json").rename(tmp_path / "meta.json")
    assert read_folder(str(tmp_path)).config_name == "meta.json"


def test_the_checksum_is_of_all_that_was_read(tmp_path: Path) -> None:
    first = read_folder(write_folder(tmp_path, ONE, {"a": 1})).sha256
    assert read_folder(str(tmp_path)).sha256 == first
    (tmp_path / "readme.txt").write_text("not read")
    assert read_folder(str(tmp_path)).sha256 == first
    (tmp_path / "vocab.json").write_text('{"x": 0}')
    named = read_folder(str(tmp_path)).sha256
    other = read_folder(write_folder(tmp_path, ONE, {"a": 2})).sha256
    more = read_folder(write_folder(tmp_path, {"w": np.zeros(3)}, {"a": 1})).sha256
    assert len({first, named, other, more}) == 4


def test_which_folders_are_networks(tmp_path: Path) -> None:
    assert not is_network_folder(str(tmp_path))
    write_folder(tmp_path, ONE, {})
    assert is_network_folder(str(tmp_path))
    (tmp_path / "config.json").rename(tmp_path / "meta.json")
    assert is_network_folder(str(tmp_path))
    (tmp_path / "meta.json").unlink()
    assert not is_network_folder(str(tmp_path))
    assert not is_network_folder(str(tmp_path / "model.safetensors"))
    assert not is_network_folder(str(tmp_path / "missing"))
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "config.json").write_text("{}")
    assert not is_network_folder(str(tmp_path))
    (tmp_path / "state.PT").touch()
    assert is_network_folder(str(tmp_path))


def test_missing_files_are_named(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "neither a folder nor a file of weights")
    refused(tmp_path / "nowhere.safetensors", "no such file")
    refused(tmp_path, "the folder has no weights")
    (tmp_path / "config.json").write_text("{}")
    refused(tmp_path, "the folder has no weights")
    refused(tmp_path / "config.json", "neither a folder nor a file of weights")
    write_folder(tmp_path, ONE, {})
    (tmp_path / "config.json").unlink()
    refused(tmp_path, r"no config\.json beside model\.safetensors")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "config.json:1:2: error: this is not JSON"),
        ("[1]", "at the top level: expected an object"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1, "a": 1}', '"a" occurs twice'),
        ('{"a": 1e999999999}', "more than 400 digits"),
        ('{"a": 0.' + "1" * 500 + "}", "more than 400 digits"),
        ('{"a": ' + "1" * 5000 + "}", "an integer of this JSON is too long"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_wrong_json_is_refused(tmp_path: Path, text: str, why: str) -> None:
    refused(write_folder(tmp_path, ONE, text), why)


def test_json_that_is_no_text_is_refused() -> None:
    raised(InputError, json_object, b'{"a": "\xff"}', "x", match="not UTF-8")


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    write_folder(tmp_path, ONE, {})
    file = tmp_path / "model.safetensors"
    whole = file.read_bytes()
    for cut in (0, 4, 20, len(whole) - 1):
        file.write_bytes(whole[:cut])
        refused(tmp_path, "no valid safetensors file")
    file.write_bytes(whole + b"x")
    refused(tmp_path, "no valid safetensors file")
    entry = '"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    for header, data in ((f"{{{entry},{entry}}}", 4), ("{}", 0)):
        file.write_bytes(struct.pack("<Q", len(header)) + header.encode() + bytes(data))
        refused(tmp_path, '"w" occurs twice' if data else "holds no tensors")


def test_weights_that_are_too_large_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path, ONE, {})
    monkeypatch.setattr(reading, "LARGEST_WEIGHTS", 50)
    refused(tmp_path, "larger than 50 bytes")


def test_parts_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "model.safetensors.index.json"

    def listed(**parts: object) -> None:
        index.write_text(json.dumps({"metadata": {}, "weight_map": parts}))

    write_folder(tmp_path, ONE, {}, "a.safetensors")
    write_folder(tmp_path, {"v": np.zeros(2)}, {}, "b.safetensors")
    listed(w="a.safetensors", v="b.safetensors")
    found = read_folder(str(tmp_path))
    assert set(found.tensors) == {"w", "v"}
    assert found.files == ("config.json", "model.safetensors.index.json", "a.safetensors", "b.safetensors")
    for parts, why in (
        ({"w": "a.safetensors"}, None),
        ({"w": "a.safetensors", "v": "c.safetensors"}, "no such file"),
        ({"w": "a.safetensors", "v": "a.safetensors"}, r"a\.safetensors: the tensor 'v' is not there"),
        ({"v": "b.safetensors", "u": "../a.safetensors"}, "not a safetensors file of this folder"),
        ({"w": 3}, "weight_map"),
        ({}, "weight_map"),
    ):
        listed(**parts)
        if why is not None:
            refused(tmp_path, why)
    write_folder(tmp_path, {"w": np.zeros(2), "v": np.zeros(2)}, {}, "b.safetensors")
    listed(w="a.safetensors", v="b.safetensors")
    refused(tmp_path, r"b\.safetensors: the tensor 'w' is not listed in model\.safetensors\.index\.json")
    write_folder(tmp_path, {"v": np.zeros(2)}, {}, "b.safetensors")
    sizes = [(tmp_path / name).stat().st_size for name in ("a.safetensors", "b.safetensors")]
    monkeypatch.setattr(reading, "LARGEST_WEIGHTS", sum(sizes))
    read_folder(str(tmp_path))
    monkeypatch.setattr(reading, "LARGEST_WEIGHTS", sum(sizes) - 1)
    refused(tmp_path, "larger than")


def test_an_error_names_torch_where_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path, ONE, {})
    (tmp_path / "model.safetensors").rename(tmp_path / "state.pt")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "Install torch" in refused(tmp_path, "torch is not installed").hint


# ---- dtypes ----


def raw_folder(folder: Path, dtype: str, data: bytes, shape: tuple[int, ...]) -> str:
    """Write a folder with one tensor "w" of a dtype of safetensors, from the description of the format."""
    header = json.dumps({"w": {"dtype": dtype, "shape": shape, "data_offsets": [0, len(data)]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    (folder / "config.json").write_text("{}")
    return str(folder)


@pytest.mark.parametrize(
    ("name", "dtype", "values"),
    [
        ("F64", np.float64, [0.1, -1e300, 5e-324]),
        ("F32", np.float32, [0.1, 2.0**-149, -3.4e38]),
        ("F16", np.float16, [0.1, 2.0**-24, 65504]),
        ("BF16", ml_dtypes.bfloat16, [0.1, 2.0**-133, -3e38]),
        ("F8_E4M3", ml_dtypes.float8_e4m3fn, [0.1, 2.0**-9, 448]),
        ("F8_E5M2", ml_dtypes.float8_e5m2, [0.1, 2.0**-16, -57344]),
    ],
)
def test_every_format_is_read_exactly(tmp_path: Path, name: str, dtype: Any, values: list[float]) -> None:
    stored = np.array(values).astype(dtype)
    exact = read_folder(raw_folder(tmp_path, name, stored.tobytes(), (3,))).weights.take("w", 3)
    assert exact.dtype == np.float64
    assert exact.tolist() == [float(value) for value in stored]
    assert exact.tobytes() == stored.astype(np.float64).tobytes()


def test_bits_of_narrow_formats_mean_what_they_should(tmp_path: Path) -> None:
    # bfloat16 and e5m2 are the upper halves of float32 and float16; e4m3 has an exponent of 4 bits with the bias 7.
    bits = np.array([0x3F80, 0xC049, 0x0001], "<u2")
    found = read_folder(raw_folder(tmp_path, "BF16", bits.tobytes(), (3,))).weights.take("w", None)
    assert found.tolist() == [1.0, -(2 + 1 + 2**-3 + 2**-6), 2.0**-133]
    found = read_folder(raw_folder(tmp_path, "F8_E4M3", bytes([0x38, 0x81, 0x7E]), (3,))).weights.take("w", 3)
    assert found.tolist() == [1.0, -(2.0**-9), 448.0]
    found = read_folder(raw_folder(tmp_path, "F8_E5M2", bytes([0x3C, 0x01]), (2,))).weights.take("w", 2)
    assert found.tolist() == [1.0, 2.0**-16]


def test_empty_and_scalar_tensors_are_read(tmp_path: Path) -> None:
    weights = read_folder(write_folder(tmp_path, {"e": np.zeros((0, 3)), "s": np.array(2.0)}, {})).weights
    assert weights.take("e", 0, 3).shape == (0, 3)
    assert weights.take("s").tolist() == 2


@pytest.mark.parametrize("shape", [(1,) * 70, (0, 2**63 - 1)])
def test_shapes_that_no_array_has_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    data = bytes(0 if 0 in shape else 4)
    refused(raw_folder(tmp_path, "F32", data, shape), "the tensor 'w' has a shape that is not supported")


def test_formats_that_are_no_weights_are_refused(tmp_path: Path) -> None:
    weights = read_folder(write_folder(tmp_path, {"i": np.arange(3), "b": np.array([True])}, {})).weights
    for name, kind in (("i", "int64"), ("b", "bool")):
        error = raised(InputError, weights.take, name, None, match=f"the tensor {name} is stored as {kind}")
        assert error.hint
    refused(raw_folder(tmp_path, "F8_E8M0", b"\0", (1,)), "'w' is stored as F8_E8M0")


# ---- vocabularies ----


def test_a_vocabulary_names_tokens(tmp_path: Path) -> None:
    write_folder(tmp_path, ONE, {})
    (tmp_path / "vocab.json").write_text('{"b": 1, "a": 0, "<bos>": 2}')
    found = read_folder(str(tmp_path))
    assert found.vocabulary == found.tokens(3) == ("a", "b", "<bos>")
    assert "vocab.json" in found.files
    raised(InputError, found.tokens, 4, match="names 3 tokens, and the network has 4")
    (tmp_path / "vocab.json").unlink()
    assert read_folder(str(tmp_path)).tokens(3) == ("0", "1", "2")


@pytest.mark.parametrize("name", ["a b", "", "\n", "\x1b[31m", "\ud800"])
def test_a_name_that_no_word_can_have_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps({name: 0, "b": 1}))
    found = read_folder(write_folder(tmp_path, {"w": np.zeros(1)}, {}))
    assert "remove vocab.json" in raised(InputError, found.tokens, 2, match="cannot be written in a word").hint


@pytest.mark.parametrize("ids", [{"a": 0, "b": 2}, {"a": 1}, {"a": 0, "b": 0}, {"a": "0"}, {"a": True}, {}, {"a": -1}])
def test_a_broken_vocabulary_is_refused(tmp_path: Path, ids: dict[str, object]) -> None:
    write_folder(tmp_path, ONE, {})
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    refused(tmp_path, r"vocab\.json: ")


# ---- use of every tensor ----


def test_float64_is_not_copied() -> None:
    array = np.ones((2, 2))
    assert np.shares_memory(tracked(w=array).take("w", 2, 2), array)


@pytest.mark.parametrize(("shape", "said"), [((2, 4), r"\[2, 3\], not \[2, 4\]"), ((None,), r"\[2, 3\], not \[any\]")])
def test_a_wrong_shape_is_reported(shape: tuple[int | None, ...], said: str) -> None:
    error = raised(InputError, lambda: tracked(**ONE).take("w", *shape, why="n_embd"), match=said)
    assert "the tensor w" in error.message
    assert "(n_embd)" in error.message


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_what_is_no_number_is_named_with_its_place(value: float, dtype: Any) -> None:
    array = np.zeros((3, 2))
    array[1, 1] = value
    error = raised(InputError, tracked(w=array.astype(dtype)).take, "w", 3, 2, match="the tensor w holds")
    assert error.message.endswith(f"{value} at [1, 1]")


def test_a_missing_tensor_is_named() -> None:
    weights = tracked(**{"wte.weight": np.ones(1)})
    error = raised(InputError, weights.take, "wpe.weight", None, match=r"the tensor wpe\.weight is missing")
    assert error.hint == "did you mean wte.weight?"
    assert weights.maybe("wpe.weight", None) is None
    assert not weights.has("wpe.weight")
    raised(InputError, weights.shape, "wpe.weight", match="is missing")


def test_every_tensor_must_be_used() -> None:
    weights = tracked(a=np.ones(1), b=np.ones(2), c=np.ones(3))
    weights.take("b", 2)
    assert weights.shape("c") == (3,)
    raised(InputError, weights.done, match=r"(?m)here: tensors that are not understood: a, c$")
    weights.maybe("a", None)
    raised(InputError, weights.done, match=r"(?m)a tensor that is not understood: c$")
    weights.take("c", None)
    weights.done()


def test_a_mask_must_be_one() -> None:
    causal = np.tri(3)
    right: list[NDArray[Any]] = [
        causal,
        causal.astype(bool),
        causal[None, None].astype(np.uint8),
        np.empty((0, 0), bool),
    ]
    for array in right:
        weights = tracked(m=array)
        weights.check_mask("m", 3)
        weights.done()
    tracked(m=np.ones((3, 3))).check_mask("m", 3, causal=False)
    tracked().check_mask("m", 3)
    wrong: list[NDArray[Any]] = [causal.T, causal * 2, np.ones((3, 3)), np.tri(4), causal.reshape(9), causal[..., None]]
    for array in (*wrong, np.tri(3, k=-1), causal.reshape(1, 9)):
        raised(InputError, tracked(m=array).check_mask, "m", 3, match="the buffer m is not the causal mask of 3")
    raised(InputError, tracked(m=causal).check_mask, "m", 10**30, match="not the causal mask of")
    raised(InputError, tracked(m=causal.astype(complex)).check_mask, "m", 3, match="stored as complex128")
    raised(InputError, tracked(m=causal).check_mask, "m", 3, False, match="not the full mask of 3 positions")


def test_a_filler_must_hide() -> None:
    for value in (-1e4, -np.inf, np.float32(-3e38)):
        weights = tracked(f=np.array(value))
        weights.check_filler("f")
        weights.done()
    tracked().check_filler("f")
    for wrong in (np.array(-9999.0), np.array(np.nan), np.full(2, -1e9), np.array(0.0)):
        raised(InputError, tracked(f=wrong).check_filler, "f", match="the buffer f is not one number")


def test_settings_are_typed() -> None:
    found = settings(i=3, n=Fraction(1, 3), r="1/3", t=True, s="x", z=0, nothing=None)
    assert found.integer("i") == 3
    assert found.number("n") == found.number("r") == Fraction(1, 3)
    assert found.number("i") == 3
    assert found.truth("t") is True
    assert found.text("s") == "x"
    assert found.choice("s", {"x": 5}) == 5
    assert found.integer("z", least=0) == 0
    assert found.integer("nothing", 7) == found.integer("absent", 7) == 7
    assert found.value("s") == "x"
    assert found.has("i")
    assert not found.has("nothing")
    found.done()


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda s: s.integer("absent"), "at absent: expected an integer from 1 to 20000000, found nothing"),
        (lambda s: s.integer("nothing"), "at nothing: expected an integer.*, found null"),
        (lambda s: s.integer("z"), "at z: expected an integer from 1 to 20000000, found 0"),
        (lambda s: s.integer("large"), "at large: expected an integer from 1 to 20000000, found .*"),
        (lambda s: s.integer("t"), "at t: expected an integer.*, found true"),
        (lambda s: s.integer("n"), r"at n: expected an integer.*, found 0\.5"),
        (lambda s: s.number("s"), 'at s: expected a number.*, found "x"'),
        (lambda s: s.number("c"), r'at c: expected a number.*, found "\\u202e"'),
        (lambda s: s.truth("z"), "at z: expected true or false.*, found 0"),
        (lambda s: s.text("z"), "at z: expected a string.*, found 0"),
        (lambda s: s.choice("s", {"y": 1}), 'at s: expected one of "y", found "x"'),
        (lambda s: s.neutral("z", False), "at z: expected false, found 0"),
        (lambda s: s.neutral("t", 1), "at t: expected 1, found true"),
        (lambda s: s.neutral("s"), 'at s: expected null, found "x"'),
    ],
)
def test_wrong_settings_are_refused(ask: Any, said: str) -> None:
    found = settings(z=0, t=True, n=Fraction(1, 2), s="x", c="\u202e", nothing=None, large=10**4000)
    assert raised(InputError, ask, found, match=f"here: config.json: {said}").hint


def test_every_setting_must_be_understood() -> None:
    found = settings(a=1, b="x", c=None, d=False, e=0, f={})
    raised(
        InputError, found.done, match=r'(?m)settings that are not understood: a \(1\), b \("x"\), e \(0\), f \(\{\}\)$'
    )
    found.harmless("a", "absent")
    found.neutral("b", "x")
    found.neutral("f", {})
    raised(InputError, found.done, match=r"(?m)a setting that is not understood: e \(0\)$")
    found.neutral("e", 0)
    found.done()
