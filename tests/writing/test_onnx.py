"""ONNX graphs: their inputs, the lengths that they allow, and their content."""

import json
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import onnx
import pytest

from hardsim.network.dense import Mlp, NetworkLayer
from hardsim.writing import onnx as writing
from hardsim.writing.onnx import onnx_bytes, require_onnx
from tests.support.dense_networks import made
from tests.support.external import mean_of_a
from tests.support.language import InputError, OutOfRange, parse_arith, parse_expression
from tests.support.mistakes import raised
from tests.support.model import Activation, Network, Readout
from tests.support.networks import one_head
from tests.support.subjects import in_regimes
from tests.writing.runs import NEAR, Graph, everything_of, network_export, off


def stops(run: Graph, words: list[list[Any]]) -> str:
    """Return the runtime's error for words without an output."""
    with pytest.raises(Exception, match="ONNXRuntimeError") as caught:
        run.batch(words)
    return str(caught.value)


# ---- inputs ----


def test_words_of_one_length_are_a_batch() -> None:
    run = Graph(everything_of(one_head("1/n")), max_n=6)
    words = [[0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0]]
    found = run.batch(words)
    assert found.shape == (3, 4, 4)
    assert np.array_equal(found, [run(word) for word in words])


@pytest.mark.parametrize(
    ("tau", "encoding"),
    [("1/n", "1"), ("1", "n"), ("1", "i"), ("1", "i/n"), ("1/(i + 1)", "1")],
    ids=["n of tau", "n", "i", "i and n", "i of tau"],
)
def test_a_word_beyond_the_tables_has_no_output(tau: str, encoding: str) -> None:
    plain = replace(one_head(tau), encodings=((1, parse_arith(encoding, ("i", "n"), "test")),))
    run = Graph(everything_of(plain), max_n=5)
    assert run([0] * 5).shape == (5, 4)
    stops(run, [[0] * 6])
    stops(run, [[0] * 70])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_word_of_no_symbols_has_no_output(dtype: str) -> None:
    """Otherwise its length would be read at the end of a table, by a negative index."""
    model = replace(one_head("1/n"), bos=True, embedding=replace(one_head().embedding, shape=(3, 4)))
    stops(Graph(everything_of(model), dtype, max_n=5), [[2]])


def test_a_table_of_positions_ends() -> None:
    stops(Graph(network_export(mean_of_a(rows=4)).layout, max_n=4), [[0] * 5])
    one = Graph(network_export(mean_of_a(rows=1)).layout, max_n=1)
    assert off(one([0]), [[0.5]]) < NEAR
    stops(one, [[0, 0]])


def test_a_network_without_tables_takes_any_length() -> None:
    run = Graph(network_export(mean_of_a()).layout, max_n=2)
    assert off(run([0, 1] * 100)[-1], [0]) < NEAR  # half of the symbols are a; 1/2 is subtracted


def test_a_token_that_there_is_not_has_no_output() -> None:
    stops(Graph(everything_of(one_head()), max_n=5), [[2]])  # tokens are 0 and 1


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_single_length(length: int) -> None:
    """Tables then have one row, and words of other lengths are refused."""
    layout = everything_of(one_head("1/n"))
    run, whole = Graph(layout, length=length), Graph(layout, max_n=length)
    words = [[0, 1, 1, 0, 1][:length], [1] * length]
    assert off(run.batch(words), whole.batch(words)) == 0
    for other in {1, 4, 6} - {length}:
        assert "Got invalid dimensions" in stops(run, [[0] * other])


def test_a_single_length_with_tokens_around() -> None:
    readout = Readout(before=("s",), after=("e", "e"))
    network = replace(
        mean_of_a(Fraction(0), tokens=("a", "b", "s", "e"), readout=readout),
        positions=((0, parse_arith("i/n", ("i", "n"), "test")),),
    )
    layout = network_export(network).layout
    word = [2, 0, 1, 3, 3]
    assert off(Graph(layout, length=2)(word), Graph(layout)(word)) == 0
    assert "Expected: 5" in stops(Graph(layout, length=2), [[2, 0, 3, 3]])


# ---- content of a graph ----


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_graph_is_valid_and_says_what_it_is(dtype: str) -> None:
    for subject in in_regimes(parse_expression("p S q", None, props=["p", "q"])):
        layout = everything_of(subject.model)
        model = onnx.load_from_string(onnx_bytes(layout, dtype, 8, None))
        onnx.checker.check_model(model, full_check=True)
        assert [(one.domain, one.version) for one in model.opset_import] == [("", 17)]
        (tokens,), (outputs,) = model.graph.input, model.graph.output
        kind = {"float64": onnx.TensorProto.DOUBLE, "float32": onnx.TensorProto.FLOAT}[dtype]
        assert tokens.type.tensor_type.elem_type == outputs.type.tensor_type.elem_type == kind  # sets: zeros and ones
        sizes = [axis.dim_param or axis.dim_value for axis in tokens.type.tensor_type.shape.dim]
        assert sizes == ["words", "tokens_read", 2]
        (message,) = (json.loads(one.value) for one in model.metadata_props if one.key == "hardsim")
        assert message == json.loads(json.dumps(layout.description))


def test_a_file_is_the_same_again() -> None:
    layout = network_export(made()).layout
    assert onnx_bytes(layout, "float64", 9, None) == onnx_bytes(layout, "float64", 9, None)


# ---- numbers ----


def curve(points: list[float]) -> Network:
    """Return a network in which token k is the number points[k] and the output is its gelu: the residual x is
    subtracted.
    """
    base = mean_of_a(tokens=tuple(f"t{place}" for place in range(len(points))))
    mlp = Mlp(Activation.GELU, np.array([[1.0], [0.0]]), np.array([[0.0, 1.0]]))
    embedding = np.array([[point, 0.0] for point in points])
    layers = (NetworkLayer((), mlp),)
    return replace(base, embedding=embedding, layers=layers, unembedding_bias=None)


def test_the_error_function_against_mpmath() -> None:
    """erf(x) is 2 gelu(x sqrt 2)/(x sqrt 2) - 1: near 0, where e^(-x^2) is small, and at the ends of the
    polynomial.
    """
    roots = [k / 16 for k in range(-120, 121)] + [5.99, 6.01, -5.999, 1e-9, -1e-300, 30.0, -400.0]
    points = [float(root * np.sqrt(2)) for root in roots]
    layout = network_export(curve(points)).layout
    found = Graph(layout, max_n=len(points))(list(range(len(points))))[:, 0]
    narrow = Graph(layout, "float32", max_n=len(points))(list(range(len(points))))[:, 0]
    with mpmath.workdps(40):
        for point, one, other in zip(points, found, narrow, strict=True):
            x = mpmath.mpf(point)
            expected = x * (1 + mpmath.erf(x / mpmath.sqrt(2))) / 2
            assert abs(one - expected) <= 1e-15 * max(1, abs(x))
            assert abs(other - expected) <= 1e-6 * max(1, abs(x))


def test_float32_is_near() -> None:
    for seed, activation in enumerate(Activation):
        layout = network_export(made(seed=seed, activation=activation)).layout
        ids = [0, 3, 1, 1, 2]
        assert off(Graph(layout, "float32", max_n=24)(ids), Graph(layout, max_n=24)(ids)) < 1e-4


def test_a_number_beyond_float32_is_refused() -> None:
    huge = replace(mean_of_a(), embedding=np.array([[1e60, 0.0], [0.0, 0.0]]))
    layout = network_export(huge).layout
    error = raised(OutOfRange, Graph, layout, "float32", match="beyond float32 \\(1e[+]60\\)")
    assert "float64" in error.hint
    assert Graph(layout)([1]).shape == (1, 1)
    scale = everything_of(one_head("1/(n*10^50)"))
    raised(OutOfRange, Graph, scale, "float32", match="beyond float32 \\(1e[+]50\\)")


def test_a_table_that_would_be_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = replace(one_head(), encodings=((1, parse_arith("i/n", ("i", "n"), "test")),))
    error = raised(InputError, Graph, everything_of(model), max_n=6000, match="a table of 36,000,000 numbers")
    assert "--length" in error.hint
    monkeypatch.setattr(writing, "LARGEST_TABLE", 24)
    raised(InputError, Graph, everything_of(model), max_n=5, match="a table of 25 numbers in the graph, and 24 are")
    Graph(everything_of(model), length=24)
    Graph(everything_of(one_head("1/n")), max_n=24)


def test_without_the_library_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install" in raised(InputError, require_onnx).hint
