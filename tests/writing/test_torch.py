"""model.py, run by PyTorch: slow, and skipped where torch is not installed."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from hardsim.measuring.export import folder_files, run_folder
from hardsim.network.features import NetworkFeature
from hardsim.writing.layout import ExportLayout
from tests.cli.conftest import written
from tests.reading.folders import DATA, SHARED, STORED, library_outputs
from tests.reading.plain import outputs
from tests.run.test_dense_exact import plain
from tests.support.check import Export, ModelOptions, export_of, read_expression, read_input
from tests.support.dense_networks import SEEN, featured, made
from tests.support.documents import valid
from tests.support.external import mean_of_a
from tests.support.language import Oracle, Unsupported, formulas_directory, parse_arith, parse_expression
from tests.support.model import (
    REGIMES,
    Activation,
    LengthTable,
    Mask,
    Network,
    Norm,
    Readout,
    SoftWeighting,
    Transformer,
    network_of,
    read_folder,
)
from tests.support.networks import dense_forward, one_head, transformers
from tests.support.strategies import all_words
from tests.support.subjects import in_regimes, known
from tests.writing.bare import MODEL
from tests.writing.runs import NEAR, everything_of, ids_of, network_export, off, to_export, words_over

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of the library
FORMULAS = formulas_directory()
PAGE = Path(__file__).parents[2] / "docs" / "export.md"


@pytest.fixture(scope="module")
def torch() -> Any:
    """Return the library."""
    return pytest.importorskip("torch")


def put(files: dict[str, bytes], folder: Path) -> Path:
    """Write these files to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def files_of(layout: ExportLayout) -> dict[str, bytes]:
    """Return the files that model.py needs for a layout."""
    from safetensors.numpy import save

    config = json.dumps({"network": layout.description}).encode()
    return {"model.safetensors": save(layout.arrays), "config.json": config, "model.py": MODEL.read_bytes()}


def load(folder: Path, **how: Any) -> Any:
    """Load the network in a folder."""
    names: dict[str, Any] = {"__name__": "model", "__file__": str(folder / "model.py")}
    exec(compile((folder / "model.py").read_text("utf-8"), "model.py", "exec"), names)
    return names["load"](folder, **how)


def run(model: Any, ids: Sequence[Any]) -> Any:
    """Return the outputs for token ids, or zeros and ones of propositions, (tokens, outputs)."""
    import torch

    with torch.no_grad():
        return model(torch.tensor([list(ids)]))[0].double().numpy()


# ---- the same numbers ----


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(transformers())
def test_random_networks(torch: Any, tmp_path: Path, model: Transformer) -> None:
    made_of = load(put(files_of(everything_of(model)), tmp_path / "out"))
    for word in words_over(model.alphabet, (1, 2, 3, 4)):
        assert off(run(made_of, ids_of(model, word)), dense_forward(model, word)) < NEAR


@pytest.mark.parametrize("text", ["1/log(n + 1)", "1/sqrt(i + 1)", "2/exp(i/n)", "1/(3*n)", "[i mod 3 = 1] + 1/n"])
def test_functions(torch: Any, tmp_path: Path, text: str) -> None:
    model = one_head(text)
    model = replace(model, encodings=(*model.encodings, (2, parse_arith(text, ("i", "n"), "test"))))
    made_of = load(put(files_of(everything_of(model)), tmp_path / "out"))
    for word in words_over(model.alphabet, (1, 2, 5, 17)):
        assert off(run(made_of, ids_of(model, word)), dense_forward(model, word)) < NEAR


def require(export: Export, folder: Path, lengths: tuple[int, ...], near: float = NEAR) -> None:
    """Write an export to a folder and compare it with the exact network in balls, through `encode`."""
    model, exact = load(put(folder_files(export, "torch"), folder)), export.exact_runner()
    import torch

    for word in words_over(export.alphabet, [n for n in lengths if n <= (export.longest or n)]):
        with torch.no_grad():
            found = model(model.encode(list(word)))[0].numpy()
        assert off(found, exact(word)) < near


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("name", sorted(path.name for path in FORMULAS.iterdir() if path.suffix in (".ltl", ".cr")))
def test_shipped_formulas(torch: Any, tmp_path: Path, name: str, regime: str) -> None:
    try:
        require(to_export(FORMULAS / name, regime=regime), tmp_path / "out", (1, 2, 7, 64))
    except Unsupported:
        return


@pytest.mark.parametrize("name", sorted(one.name for one in FORMULAS.iterdir() if one.suffix in (".srasp", ".json")))
def test_shipped_programs_and_models(torch: Any, tmp_path: Path, name: str) -> None:
    require(to_export(FORMULAS / name, "1/(8*n)", max_n=16), tmp_path / "out", (1, 2, 7, 16))


@pytest.mark.parametrize("beta", ["2", "1/2", "1/10"])
@pytest.mark.parametrize("name", ["since.ltl", "dyck1.ltl"])
def test_sparsemax(torch: Any, tmp_path: Path, name: str, beta: str) -> None:
    """At beta 2 all weights are hard; below it, rows share their weight among some keys, as the exact network does."""
    options = ModelOptions(beta=Fraction(beta), weighting=SoftWeighting.SPARSEMAX)
    export = export_of(read_input(str(FORMULAS / name)), options, 16)
    require(export, tmp_path / "out", (1, 2, 7, 16))


@pytest.mark.parametrize("tau", [None, "1/log(n + 2)"])
@pytest.mark.parametrize(
    "text", ["a S b", "b U (a & X b)", "Y a", "X (b & X a)", "first", "O(a & Y b) & (last | F b)", "a S (b & Y Y a)"]
)
def test_geometric_attention(torch: Any, tmp_path: Path, text: str, tau: str | None) -> None:
    """At the temperature that is right, and at a larger one, where values between 0 and 1 pass the clips."""
    path = tmp_path / "formula.ltl"
    path.write_text(f"alphabet: a b\n{text}\n", encoding="utf-8")
    schedule = None if tau is None else parse_arith(tau, ("n",), "--tau")
    export = export_of(read_input(str(path)), ModelOptions(tau=schedule, weighting=SoftWeighting.GEOMETRIC), 16)
    require(export, tmp_path / "out", (1, 2, 7, 16))


@pytest.mark.parametrize("name", STORED)
def test_networks_that_libraries_wrote(torch: Any, tmp_path: Path, name: str) -> None:
    network = network_of(read_folder(str(DATA / name)))[0]
    if not isinstance(network.positions, np.ndarray):
        network = replace(network, positions=np.zeros((10, network.dimension)))
    model = load(put(folder_files(network_export(network), "torch"), tmp_path / "out"))
    for ids, rows in library_outputs(name):
        assert off(run(model, ids), rows) < 1e-5
        assert off(run(model, ids), outputs(network, ids)) < NEAR


@pytest.mark.skipif(not SHARED.is_dir(), reason="the networks of others lie beside the project")
@pytest.mark.parametrize("kind", ["tracr", "trained"])
def test_networks_of_others(torch: Any, tmp_path: Path, kind: str) -> None:
    for folder in sorted(path for path in (SHARED / kind).iterdir() if path.is_dir()):
        require(to_export(folder), tmp_path / folder.name, (1, 2, 5, 9, 20))


@pytest.mark.parametrize("activation", Activation)
@pytest.mark.parametrize(("norm", "post"), [(None, False), ("layer", False), ("rms", True), ("layer", True)])
def test_norms_and_activations(torch: Any, tmp_path: Path, activation: Activation, norm: Any, post: bool) -> None:
    network = made(seed=3, activation=activation, norm=norm, post=post, fractions=post)
    model = load(put(folder_files(network_export(network), "torch"), tmp_path / "out"))
    for n in (1, 5, 24):
        ids = [(3 * k + n) % 4 for k in range(n)]
        assert off(run(model, ids), outputs(network, ids)) < NEAR


@pytest.mark.parametrize("mask", SEEN)
def test_the_parts_of_all_families(torch: Any, tmp_path: Path, mask: Mask) -> None:
    together = [one for one in NetworkFeature if one is not NetworkFeature.POOLED_START]
    network = featured(made(k=4, mask=mask), together, seed=1)
    model = load(put(folder_files(network_export(network), "torch"), tmp_path / "out"))
    for n in (1, 5, 24):
        ids = [(3 * k + n) % 4 for k in range(n)]
        assert off(run(model, ids), plain(network, n, ids)) < NEAR


def test_layers_without_a_step(torch: Any, tmp_path: Path) -> None:
    base = made(heads=0, biases=False, norm=None)
    several = [base, made(mlp=0), made(layers=0), replace(base, final=Norm("rms", Fraction(1, 3)))]
    for place, network in enumerate(several):
        model = load(put(folder_files(network_export(network), "torch"), tmp_path / str(place)))
        assert off(run(model, [0, 1, 2, 3]), outputs(network, [0, 1, 2, 3])) < NEAR


# ---- inputs ----


def test_words_of_tokens(torch: Any, tmp_path: Path) -> None:
    readout = Readout(before=("s",), after=("e", "e"), at="first")
    network = mean_of_a(Fraction(0), tokens=("a", "b", "s", "e"), readout=readout)
    model = load(put(folder_files(network_export(network), "torch"), tmp_path / "out"))
    assert model.encode("b a").tolist() == model.encode(["b", "a"]).tolist() == [[2, 1, 0, 3, 3]]
    assert model.encode("a", ["b"]).tolist() == [[2, 0, 3, 3], [2, 1, 3, 3]]
    assert model(model.encode("a b", "b b", "a a")).shape == (3, 5, 1)
    assert model.judged("a b a").tolist() == [[0.5]]  # over s and a, the first symbol of the word
    for wrong in (("a c",), ("a b", "a")):
        with pytest.raises(ValueError, match=r"c|length"):
            model.encode(*wrong)


@pytest.mark.parametrize(("at", "expected"), [("last", [[1 / 3]]), ("each", [[0.5], [1 / 3]]), ("first", [[0.5]])])
def test_where_a_word_is_judged(torch: Any, tmp_path: Path, at: Any, expected: list[list[float]]) -> None:
    """The output is the share of a's so far, s included; with nothing after the word, its last symbol is the last
    token.
    """
    network = mean_of_a(Fraction(0), tokens=("a", "b", "s"), readout=Readout(before=("s",), at=at))
    model = load(put(folder_files(network_export(network), "torch"), tmp_path / "out"))
    assert off(model.judged("a b").detach().numpy(), expected) < NEAR


def test_words_of_sets(torch: Any, tmp_path: Path) -> None:
    file = parse_expression("p S (q & !r)", None, props=["p", "q", "r"])
    sets = ["{}", "{p}", "{q}", "{q,r}", "{p,q,r}"]
    oracle = Oracle(file)
    for subject in in_regimes(file):
        layout = everything_of(subject.model)
        model = load(put(files_of(layout), tmp_path / known(subject.regime)))
        given = model.encode("{} {p} {q,r}", ["{p,q,r}", "r,q", "{ p , q }"]).tolist()
        assert given == [[[0, 0, 0], [1, 0, 0], [0, 1, 1]], [[1, 1, 1], [0, 1, 1], [1, 1, 0]]]
        with pytest.raises(ValueError, match="s"):
            model.encode("{p} {p,s}")
        for n in (1, 2, 3):
            some = [word for word in all_words(sets, n) if len(word) == n]
            with torch.no_grad():
                found = model(model.encode(*some))[:, -1, subject.output].numpy()
            assert off(found, [oracle.accepts(word, "last") for word in some]) < NEAR


def test_what_is_beyond_a_table_has_no_output(torch: Any, tmp_path: Path) -> None:
    for rows in (1, 4):
        model = load(put(folder_files(network_export(mean_of_a(rows=rows)), "torch"), tmp_path / str(rows)))
        assert run(model, [0] * rows).shape == (rows, 1)
        with pytest.raises(IndexError):
            run(model, [0] * (rows + 1))
    base = one_head()
    table = LengthTable((Fraction(1), Fraction(1, 3)))
    begun = replace(base, temperature=table, bos=True, embedding=replace(base.embedding, shape=(3, 4)))
    model = load(put(files_of(everything_of(begun)), tmp_path / "table"))
    assert run(model, [2, 0, 1]).shape == (3, 4)
    for ids in ([2], [2, 0, 1, 1]):
        with pytest.raises(IndexError):
            run(model, ids)


# ---- other dtypes, and nothing else installed ----


@pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-5), ("bfloat16", 0.2), ("float16", 0.05)])
def test_dtypes(torch: Any, tmp_path: Path, dtype: str, near: float) -> None:
    network: Network = made(seed=1, activation=Activation.GELU)
    model = load(put(folder_files(network_export(network), "torch"), tmp_path / "a"), dtype=getattr(torch, dtype))
    assert {one.dtype for one in model.parameters()} == {getattr(torch, dtype)}
    assert model(torch.tensor([[0, 1]])).dtype == getattr(torch, dtype)
    assert off(run(model, [0, 1, 2]), outputs(network, [0, 1, 2])) < near
    export = to_export(FORMULAS / "since.ltl")
    model = load(put(folder_files(export, "torch"), tmp_path / "b"), dtype=getattr(torch, dtype))
    for word, accepted in (("a b a a", 1), ("a b c", 0), ("b a a a a a a a", 1)):
        assert abs(float(model.judged(word).detach()[0, 0]) - accepted) < 0.01


def test_it_can_be_trained(torch: Any, tmp_path: Path) -> None:
    model = load(put(folder_files(network_export(made(seed=1)), "torch"), tmp_path / "out"))
    model(torch.tensor([[0, 1, 2]])).sum().backward()
    assert all(one.grad is not None for one in model.parameters())


ALONE = """
import sys

class Forbidden:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in ("hardsim", "numpy", "safetensors", "ml_dtypes"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Forbidden())
sys.path.insert(0, sys.argv[1])
import torch
from model import load
model = load()
print(float(model.judged("a b a a")[0, 0]), float(model.judged("a b c a")[0, 0]), model.embedding.dtype)
"""


def test_it_needs_torch_alone(torch: Any, tmp_path: Path) -> None:
    folder = put(folder_files(to_export(FORMULAS / "since.ltl"), "torch"), tmp_path / "out")
    command = [sys.executable, "-I", "-B", "-W", "ignore", "-c", ALONE, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    accepted, rejected, dtype = done.stdout.split()
    assert abs(float(accepted) - 1) < NEAR
    assert abs(float(rejected)) < NEAR
    assert dtype == "torch.float64"


def test_an_export_runs_itself(torch: Any, tmp_path: Path) -> None:
    file = written(tmp_path / "count.ltl", "alphabet: a b\n#L[a] > #L[b]\n")
    export = to_export(file)
    folder = put(folder_files(export, "torch"), tmp_path / "out")
    runs = list(run_folder(export, folder, 64, 0))
    assert [(one.library, one.dtype, one.longest) for one in runs] == [
        ("torch", "float64", 64),
        ("torch", "float32", 64),
    ]
    valid(runs[0])  # the version of torch has a class of its own
    assert known(runs[0].difference) < NEAR
    assert known(runs[1].difference) < 1e-4
    assert sorted(one.name for one in folder.iterdir()) == ["config.json", "model.py", "model.safetensors"]


def test_the_example_of_the_page(torch: Any, tmp_path: Path) -> None:
    """The example is shown as text, since most tests have no torch."""
    (example,) = re.findall(r"```text\n(import torch\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    folder = put(folder_files(to_export(FORMULAS / "since.ltl"), "torch"), tmp_path / "out")
    done = subprocess.run([sys.executable, "-B", "-c", example], capture_output=True, text=True, check=True, cwd=folder)
    printed = [re.findall(r"\d[.]\d*(?:e-\d+)?", line.partition("]")[0]) for line in done.stdout.splitlines()]
    assert [[round(float(number)) for number in one] for one in printed] == [[1], [1, 0]]


def test_sets_of_propositions_need_no_blanks_between_them(torch: Any, tmp_path: Path) -> None:
    """Sets are written as hardsim reads and prints words: one after another; blanks within a set mean nothing."""
    written_out = export_of(read_expression("F(q & !p)", None, props="p q"), ModelOptions(), 8)
    model = load(put(folder_files(written_out, "torch"), tmp_path / "out"))
    for texts, listed in (
        (("{p}{q}", "{p} {q}", "p q"), ["{p}", "{q}"]),
        (("{p,q}", "{p, q}", "{ p , q }"), ["{p,q}"]),
        (("{}{q}{}", "{} {q} {}"), ["{}", "{q}", "{}"]),
    ):
        for text in texts:
            assert model.encode(text).tolist() == model.encode(listed).tolist()
    assert model.judged("{p}{q}").item() > 0.5 > model.judged("{p}{p,q}").item()
