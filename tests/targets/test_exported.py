"""Tests of exported folders: each is read back as the same network, and a changed folder is refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from hardsim.measuring.export import folder_files
from hardsim.network.features import NetworkFeature
from hardsim.reading.network_json import network_json
from hardsim.targets.base import Target
from hardsim.targets.exported import layout_of, transformer_of
from hardsim.targets.inputs.base import Input
from tests.cli.conftest import written
from tests.support.attention_models import majority, sided, some_a, write
from tests.support.check import Export, External, ModelOptions, Subject, export_of, read_input
from tests.support.dense_networks import featured, made
from tests.support.external import mean_of_a
from tests.support.language import InputError, parse_arith
from tests.support.mistakes import raised
from tests.support.model import PROVEN, Activation, Network, Readout
from tests.support.subjects import FORMULAS
from tests.writing.runs import network_export, to_export

WEIGHTS, CONFIG = "model.safetensors", "config.json"


def put(export: Export, folder: Path, goal: Any = "torch") -> Path:
    """Write the files of an export to a folder."""
    folder.mkdir()
    for name, data in folder_files(export, goal).items():
        (folder / name).write_bytes(data)
    return folder


def target_of(found: Input) -> Target:
    """Return the network or subject of an input."""
    return found.target(ModelOptions())


def require_same(export: Export, found: Input) -> None:
    """Require that the network that was read is the one that was exported."""
    one, other = export.target, target_of(found)
    if isinstance(one, External):
        assert isinstance(other, External)
        assert network_json(one.network) == network_json(other.network)
        assert one.network.readout == other.network.readout
    else:
        assert isinstance(one, Subject)
        assert isinstance(other, Subject)
        assert transformer_of(one) == transformer_of(other)
        assert one.program == other.program
    left, right = export.layout, layout_of(other)
    assert left.description == right.description
    assert left.arrays.keys() == right.arrays.keys()
    assert all(np.array_equal(array, right.arrays[name]) for name, array in left.arrays.items())


# ---- the same network ----


@pytest.mark.parametrize("goal", ["torch", "safetensors"])
@pytest.mark.parametrize("regime", PROVEN)
def test_formulas(regime: str, goal: str, tmp_path: Path) -> None:
    given = read_input(str(FORMULAS / "dyck1.ltl"))
    export = export_of(given, ModelOptions(regime, beta=Fraction(37, 3)), 64)
    assert isinstance(export.target, Subject)
    assert transformer_of(given.compile(ModelOptions(regime, beta=Fraction(37, 3)))) == transformer_of(export.target)
    require_same(export, read_input(str(put(export, tmp_path / "out", goal))))


@pytest.mark.parametrize(
    ("text", "tau"),
    [
        ("props: p q\nO (p & Y q)\n", None),
        ("alphabet: a b\npred NEAR(x, n) = n - x <= 2 // the end\n   or x == 007\nO (NEAR & a)\n", None),
        ("alphabet: a b\n#L[a] mod 3 = 1\n", None),
        ("alphabet: a b\nat: first\nF (a & X b)\n", "1/log(3*n^2)"),
        ('alphabet: ä 日 "\nä S 日\n', None),
    ],
)
def test_formulas_with_all_that_they_may_have(text: str, tau: str | None, tmp_path: Path) -> None:
    export = to_export(written(tmp_path / "one.ltl", text), tau)
    require_same(export, read_input(str(put(export, tmp_path / "out"))))


@pytest.mark.parametrize(
    "document", [some_a(), some_a(bos=True, embedding={"a": {"1": "1/3", "a": "1"}, "b": {"1": "1"}, "BOS": {}})]
)
@pytest.mark.parametrize("tau", ["1/(3*n)", "1/sqrt(n + 1)", None])
def test_models(document: Any, tau: str | None, tmp_path: Path) -> None:
    export = to_export(write(tmp_path, document), tau, max_n=5)
    require_same(export, read_input(str(put(export, tmp_path / "out"))))


def test_models_of_other_weightings(tmp_path: Path) -> None:
    for number, document in enumerate([majority(), sided("leftmost"), sided("rightmost")]):
        export = to_export(write(tmp_path, document), "1/n", max_n=5)
        require_same(export, read_input(str(put(export, tmp_path / str(number)))))


@pytest.mark.parametrize("name", ["reverse.srasp", "majority_rules.srasp", "increment.srasp"])
def test_programs(name: str, tmp_path: Path) -> None:
    export = to_export(FORMULAS / name, "1/(8*n)", max_n=5)
    require_same(export, read_input(str(put(export, tmp_path / "out"))))


NETWORKS: list[Network] = [
    made(fractions=True, rows=None),
    made(activation=Activation.SILU, norm="rms", post=True),
    made(layers=0, biases=False),
    featured(made(k=4), [NetworkFeature.PROJECTION, NetworkFeature.EMBEDDING_NORM, NetworkFeature.EMBEDDING_BIAS]),
    featured(made(k=4), [one for one in NetworkFeature if one is not NetworkFeature.POOLED_START]),
    mean_of_a(Fraction(1, 3), rows=5, readout=Readout(before=("s",), after=("e",)), tokens=("a", "b", "s", "e")),
    replace(mean_of_a(), positions=((0, parse_arith("i/(3*n)", ("i", "n"), "test")),)),
    mean_of_a(readout=Readout(at="each", decide="value", level=Fraction(1, 7))),
    mean_of_a(tokens=(True, 3, 2.5, "x_y"), readout=Readout(alphabet=(3, True))),
]


@pytest.mark.parametrize("network", NETWORKS)
def test_networks_of_others(network: Network, tmp_path: Path) -> None:
    assert network_export(network).document == network_json(network)
    export = network_export(network)
    require_same(export, read_input(str(put(export, tmp_path / "out"))))


def test_what_is_read_back_is_written_the_same(tmp_path: Path) -> None:
    for number, export in enumerate([to_export(FORMULAS / "since.ltl"), network_export(made())]):
        folder = put(export, tmp_path / str(number))
        files = folder_files(export_of(read_input(str(folder)), ModelOptions(), 64), "torch")
        for name in (WEIGHTS, "model.py"):
            assert files[name] == (folder / name).read_bytes()
        one, other = json.loads(files[CONFIG]), json.loads((folder / CONFIG).read_bytes())
        for config in (one, other):
            config["hardsim"].pop("source", None)  # the name and checksum are those of the file that was read,
            config["title"] = ""  # and so is the title of an external network
        assert one == other


def test_a_file_of_weights_stands_for_its_folder(tmp_path: Path) -> None:
    export = to_export(FORMULAS / "since.ltl")
    require_same(export, read_input(str(put(export, tmp_path / "out") / WEIGHTS)))


# ---- what was changed ----


@pytest.fixture(scope="module")
def compiled() -> dict[str, bytes]:
    """The files of an exported formula."""
    return folder_files(to_export(FORMULAS / "since.ltl"), "torch")


@pytest.fixture(scope="module")
def external() -> dict[str, bytes]:
    """The files of an exported external network."""
    return folder_files(network_export(made(fractions=True)), "torch")


def refused(folder: Path, files: dict[str, bytes]) -> str:
    """Return the error for a folder with these files, which must be refused."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    error = raised(InputError, read_input, str(folder))
    assert error.hint
    return str(error)


def with_tensors(files: dict[str, bytes], change: Callable[[dict[str, Any]], object]) -> dict[str, bytes]:
    """Return the files with tensors that `change` modified in place."""
    tensors = {name: array.copy() for name, array in load(files[WEIGHTS]).items()}
    change(tensors)
    return {**files, WEIGHTS: save(tensors)}


def with_config(files: dict[str, bytes], change: Callable[[dict[str, Any]], object]) -> dict[str, bytes]:
    """Return the files with a configuration that `change` modified in place."""
    config = json.loads(files[CONFIG])
    change(config)
    return {**files, CONFIG: json.dumps(config).encode()}


def nudged(name: str) -> Callable[[dict[str, Any]], None]:
    """Return a change that replaces the last number of a tensor by the next float."""

    def change(tensors: dict[str, Any]) -> None:
        flat = tensors[name].reshape(-1)
        flat[-1] = np.nextafter(flat[-1], 7.0)

    return change


def setting(name: str, make: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    """Return a change that replaces a tensor by `make` of it."""
    return lambda tensors: tensors.__setitem__(name, make(tensors[name]))


TENSORS = [
    (setting("embedding", lambda old: old.astype(np.float32)), "'embedding' is float32 of shape"),
    (setting("embedding", lambda old: old.T.copy()), "and the exact network has float64 of shape"),
    (setting("embedding", lambda old: old.reshape(-1)), "and the exact network has float64 of shape"),
    (setting("embedding", lambda old: old * np.nan), "'embedding' has nan at [0, 0]"),
    (lambda tensors: tensors.pop("unembedding"), "'unembedding' is missing"),
    (setting("extra", lambda _: 0), "'extra' is not a tensor of the exact network"),
]


def test_every_number_counts(compiled: dict[str, bytes], external: dict[str, bytes], tmp_path: Path) -> None:
    for place, files in enumerate((compiled, external)):
        for name in load(files[WEIGHTS]):
            message = refused(tmp_path / f"{place}-{name}", with_tensors(files, nudged(name)))
            assert f"the tensor {name!r} has " in message
            assert "where the exact network has " in message


@pytest.mark.parametrize(("change", "said"), TENSORS)
def test_tensors(change: Any, said: str, compiled: dict[str, bytes], tmp_path: Path) -> None:
    def with_one(tensors: dict[str, Any]) -> None:
        tensors.setdefault("extra", np.zeros(1)) if "extra" in said else change(tensors)

    assert said in refused(tmp_path / "out", with_tensors(compiled, with_one))


def described(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of one key of the description that model.py reads."""
    return lambda config: config["network"].__setitem__(key, value)


CONFIGS: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (described("first", 0), "'network', which model.py reads, differs from the exact network"),
    (described("first", 1.0), "'network', which model.py reads"),
    (described("bos", 0), "'network', which model.py reads"),
    (described("tokens", ["a", "b", "d"]), "'network', which model.py reads"),
    (described("more", 1), "'network', which model.py reads"),
    (lambda config: config["network"]["layers"][0]["heads"][0].update(scale="n"), "'network', which model.py reads"),
    (lambda config: config.pop("network"), "'network', which model.py reads"),
    (lambda config: config.update(network=[]), "'network', which model.py reads"),
    (lambda config: config.pop("hardsim"), "the exact network is missing (an object 'hardsim')"),
    (lambda config: config.update(hardsim="since"), "the exact network is missing (an object 'hardsim')"),
    (lambda config: config.update(hardsim={}), "format"),
    (lambda config: config.update(hardsim={"format": "nothing"}), "hardsim-model, hardsim-ahat or hardsim-network"),
    (lambda config: config.update(torch_dtype="float32"), "the key 'torch_dtype' is not one of model_type, version"),
    (lambda config: config["hardsim"]["model"].update(temperature="2/n"), "'network', which model.py reads"),
    (lambda config: config["hardsim"]["options"].update(at="first"), "last, where the formula of the source is read"),
    (lambda config: config["hardsim"].update(schema_version=99), "schema_version"),
]


@pytest.mark.parametrize("place", range(len(CONFIGS)))
def test_configurations(place: int, compiled: dict[str, bytes], tmp_path: Path) -> None:
    change, said = CONFIGS[place]
    assert said in refused(tmp_path / "out", with_config(compiled, change))


def test_the_document_is_of_these_tensors(
    compiled: dict[str, bytes], external: dict[str, bytes], tmp_path: Path
) -> None:
    other = folder_files(to_export(FORMULAS / "since.ltl", beta=Fraction(9, 2)), "torch")
    assert load(other[WEIGHTS]).keys() == load(compiled[WEIGHTS]).keys()
    assert "'layers.0.heads.0.w_" in refused(tmp_path / "beta", {**compiled, WEIGHTS: other[WEIGHTS]})
    assert "the tensor " in refused(tmp_path / "others", {**compiled, WEIGHTS: external[WEIGHTS]})
    both = json.loads(compiled[CONFIG]) | {"hardsim": json.loads(external[CONFIG])["hardsim"]}
    assert "'network'" in refused(tmp_path / "documents", {**compiled, CONFIG: json.dumps(both).encode()})


def test_other_files(compiled: dict[str, bytes], tmp_path: Path) -> None:
    vocabulary = {**compiled, "vocab.json": b'{"a": 0, "b": 1, "c": 2}'}
    assert "it has a vocabulary" in refused(tmp_path / "vocabulary", vocabulary)
    cut = {**compiled, WEIGHTS: compiled[WEIGHTS][:-1]}
    assert "no valid safetensors file" in refused(tmp_path / "cut", cut)
    twice = compiled[CONFIG].replace(b'"version"', b'"title": "", "version"', 1)
    assert '"title" occurs twice' in refused(tmp_path / "twice", {**compiled, CONFIG: twice})
    half = {**compiled, CONFIG: compiled[CONFIG][:500]}
    assert "error: this is not JSON" in refused(tmp_path / "half", half)
