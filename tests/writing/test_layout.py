"""Exported networks compute what the exact network computes: run as an ONNX graph, in float64."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from hardsim.lang.valuations import members_of
from hardsim.writing.layout import ExportLayout, nearest_float
from tests.reading.folders import DATA, SHARED, difference, library_outputs
from tests.reading.plain import outputs
from tests.support.check import Export
from tests.support.dense_networks import SEEN, made
from tests.support.external import mean_of_a
from tests.support.language import (
    FormulaFile,
    Oracle,
    OutOfRange,
    Unsupported,
    format_formula,
    formulas_directory,
    parse_arith,
    parse_expression,
    parse_text,
)
from tests.support.mistakes import raised
from tests.support.model import (
    PROVEN,
    REGIMES,
    Activation,
    FeedForward,
    Layer,
    LengthTable,
    Mask,
    Matrix,
    Network,
    Norm,
    Readout,
    Transformer,
    network_of,
    read_folder,
)
from tests.support.networks import dense_forward, one_head, transformers
from tests.support.strategies import all_words, formulas
from tests.support.subjects import in_regimes, known
from tests.writing.runs import NEAR, Graph, everything_of, ids_of, network_export, off, to_export, words_over

FORMULAS = formulas_directory()
LENGTHS = (1, 2, 3, 7, 20, 64)


def require(model: Transformer, lengths: tuple[int, ...] = (1, 2, 3, 4)) -> None:
    """Compare a network with all its coordinates with the definition, in 50 digits."""
    run = Graph(everything_of(model), max_n=lengths[-1])
    for word in words_over(model.alphabet, lengths):
        assert off(run(ids_of(model, word)), dense_forward(model, word)) < NEAR


def require_export(export: Export, lengths: tuple[int, ...] = LENGTHS, near: float = NEAR, **how: Any) -> None:
    """Compare an export with the exact network in balls."""
    exact, rng = export.exact_runner(), np.random.default_rng(1)
    possible = [n for n in lengths if export.longest is None or n <= export.longest] or [1]
    run = Graph(export.layout, max_n=possible[-1], **how)
    for n in possible:
        word = tuple(export.alphabet[int(k)] for k in rng.integers(0, len(export.alphabet), size=n))
        assert off(run(encoded(export.layout, word)), exact(word)) < near, (word, near)


def encoded(layout: ExportLayout, word: tuple[str, ...]) -> list[Any]:
    """Return the inputs of a graph for a word, as `docs/export.md` describes them."""
    description = layout.description
    if "propositions" in description:
        sets = [*description["before"], *map(members_of, word)]
        return [[float(name in one) for name in description["propositions"]] for one in sets]
    return [*description["before"], *map(description["tokens"].index, word), *description["after"]]


# ---- compiled networks ----


@given(transformers())
def test_random_networks(model: Transformer) -> None:
    require(model)


@pytest.mark.parametrize("tau", ["1/log(n + 1)", "1/sqrt(i + 1)", "2/exp(i/n)", "1/(3*n)", "3"])
def test_temperatures(tau: str) -> None:
    require(one_head(tau), (1, 2, 5, 17))


@pytest.mark.parametrize("text", ["log(i + n)", "sqrt(n)", "exp(i/n)", "(-1)^i/3", "[i mod 3 == 1]", "7"])
def test_encodings(text: str) -> None:
    model = one_head("1/n")
    require(replace(model, encodings=(*model.encodings, (2, parse_arith(text, ("i", "n"), "test")))), (1, 2, 5, 17))


def test_two_encodings_of_one_coordinate_are_added() -> None:
    model = one_head()
    twice = tuple((2, parse_arith(text, ("i", "n"), "test")) for text in ("i/n", "1/n"))
    run = Graph(everything_of(replace(model, encodings=twice, layers=())), max_n=5)
    assert off(run([0, 0, 1])[:, 2], [2 / 3, 1, 4 / 3]) < NEAR


def test_a_temperature_that_is_a_table() -> None:
    table = LengthTable((Fraction(1), Fraction(1, 3), Fraction(2, 7)))
    model = replace(one_head(), temperature=table)
    require(model, (1, 2, 3))
    raised(OutOfRange, Graph, everything_of(model), max_n=4, match="lengths 1 to 3")
    raised(OutOfRange, Graph, everything_of(model), length=4, match="lengths 1 to 3")


@pytest.mark.parametrize("mask", Mask)
def test_masks(mask: Mask) -> None:
    """Over a b a with a beginning of sequence, uniform attention reads the share of a's among the visible places: the
    mask allows all places, those after i or those before i, with or without i; the beginning of sequence is always
    visible.
    """
    model = one_head()
    (layer,) = model.layers
    blind = replace(layer.heads[0], w_q=Matrix((0, 4)), w_k=Matrix((0, 4)), mask=mask)
    embedding = replace(model.embedding, shape=(3, 4))
    begun = replace(model, embedding=embedding, layers=(Layer((blind,), FeedForward()),), bos=True)
    seen = {
        Mask.NONE: ["sbaa", "sbaa", "sbaa", "sbaa"],
        Mask.FUTURE: ["s", "sa", "sab", "saba"],
        Mask.PAST: ["saba", "saba", "sba", "sa"],
        Mask.STRICT_FUTURE: ["s", "s", "sa", "sab"],
        Mask.STRICT_PAST: ["saba", "sba", "sa", "s"],
    }[mask]
    shares = [one.count("a") / len(one) for one in seen]
    assert off(Graph(everything_of(begun))([2, 0, 1, 0])[:, 2], shares) < NEAR


def test_a_number_beyond_float64_is_refused() -> None:
    model = one_head()
    huge = replace(model, embedding=replace(model.embedding, entries=((0, 0, Fraction(10) ** 400),)))
    error = raised(OutOfRange, everything_of, huge)
    assert "about 2^1328" in str(error)  # log2(10^400) = 1328.77
    assert nearest_float(Fraction(1, 10**400)) == 0.0
    assert nearest_float(parse_arith("sqrt(2)").real()) == 2**0.5


# ---- formulas and programs ----


def require_oracle(file: FormulaFile, words: list[tuple[str, ...]], regimes: Any = PROVEN) -> int:
    """Compare the networks of a formula (proved to give 0 or 1) with the semantics; return their number."""
    oracle, made = Oracle(file), 0
    for subject in in_regimes(file, regimes):
        layout = everything_of(subject.model)
        run = Graph(layout, max_n=max(map(len, words)))
        for n in sorted({len(word) for word in words}):
            some = [word for word in words if len(word) == n]
            found = run.batch([encoded(layout, word) for word in some])
            expected = [oracle.accepts(word, file.at) for word in some]
            assert off(found[:, 0 if file.at == "first" else -1, subject.output], expected) < NEAR
        made += 1
    return made


@given(formulas("ab", 2))
def test_random_formulas(formula: Any) -> None:
    require_oracle(parse_expression(format_formula(formula), ["a", "b"]), all_words("ab", 3), PROVEN[:2])


@pytest.mark.parametrize("text", ["p S (q & !r)", "O (p & Y q) | pos mod 3 = 1", "#L[p] > #L[q]"])
def test_sets_of_propositions(text: str) -> None:
    file = parse_expression(text, None, props=["p", "q", "r"])
    sets = ["{}", "{p}", "{q}", "{p,r}", "{q,r}", "{p,q,r}"]
    words = [word for n in (1, 2, 3) for word in product(sets, repeat=n)]
    assert require_oracle(file, words[::3] + words_over(sets, (20, 64))) >= 2


OWN = """alphabet: a b
at: {at}
pred EDGE(x, n) = x == 1 or x == n or n mod (x + 1) == 0
{inner}
"""


@pytest.mark.parametrize(
    ("at", "inner"),
    [
        ("last", "O (EDGE & a)"),
        ("first", "F (EDGE & b)"),
        ("last", "O (PRIME & a)"),
        ("last", "O (EDGE & SQUARE(pos + 1))"),
    ],
)
def test_predicates_of_a_file(at: str, inner: str) -> None:
    file = parse_text(OWN.format(at=at, inner=inner).encode(), "own.ltl")
    assert require_oracle(file, [*all_words("ab", 4), *words_over("ab", (9, 13))]) >= 1


FORMULA_NAMES = sorted(path.name for path in FORMULAS.iterdir() if path.suffix in (".ltl", ".cr"))
PROGRAM_NAMES = sorted(path.name for path in FORMULAS.iterdir() if path.name.endswith((".srasp", ".ahat.json")))


@pytest.mark.sweep(every=40)
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("name", FORMULA_NAMES)
def test_shipped_formulas(name: str, regime: str) -> None:
    try:
        export = to_export(FORMULAS / name, regime=regime)
    except Unsupported:
        return
    require_export(export)
    require_export(export, (1, 5, 13), 1e-5, dtype="float32")


@pytest.mark.sweep(every=12)
@pytest.mark.parametrize("tau", ["1/(8*n)", None])
@pytest.mark.parametrize("name", PROGRAM_NAMES)
def test_shipped_programs_and_models(name: str, tau: str | None) -> None:
    if name.endswith(".json") and "weighting" in json.loads((FORMULAS / name).read_text(encoding="utf-8")):
        pytest.skip("this graph computes plain softmax alone")
    export = to_export(FORMULAS / name, tau, max_n=6 if tau is None else 20)
    require_export(export, (1, 2, 5, 6) if tau is None else LENGTHS[:-1], 1e-8 if tau is None else NEAR)


# ---- external networks ----


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir()))
def test_networks_that_libraries_wrote(name: str) -> None:
    """Compare with the libraries' float32 outputs by token ids, and with a plain pass in float64."""
    network = network_of(read_folder(str(DATA / name)))[0]
    if not isinstance(network.positions, np.ndarray):
        network = replace(network, positions=np.zeros((10, network.dimension)))
    run = Graph(network_export(network).layout, max_n=known(network.longest))
    for ids, rows in library_outputs(name):
        assert difference(network, ids, rows) < 1e-5
        assert off(run(ids), rows) < 1e-5
        assert off(run(ids), outputs(network, ids)) < NEAR


CASES = [
    {"norm": norm, "post": post, "activation": activation, "mask": SEEN[place % 3], "biases": place % 2 == 0}
    for place, (activation, (norm, post)) in enumerate(
        product(Activation, [(None, False), ("layer", False), ("layer", True), ("rms", False), ("rms", True)])
    )
]


@pytest.mark.parametrize("how", CASES, ids=lambda how: "-".join(map(str, how.values())))
def test_norms_and_activations(how: dict[str, Any]) -> None:
    network = made(seed=len(str(how)), **how)
    run = Graph(network_export(network).layout, max_n=24)
    for n in (1, 2, 9, 24):
        ids = [(3 * k + n) % 4 for k in range(n)]
        assert off(run(ids), outputs(network, ids)) < NEAR


@pytest.mark.parametrize("fractions", [False, True])
def test_networks_against_balls(fractions: bool) -> None:
    """Weights and layers of every kind, in exact arithmetic."""
    for seed, activation in enumerate(Activation):
        network = made(seed=seed, fractions=fractions, layers=1, activation=activation)
        require_export(network_export(network), (1, 4))
        require_export(network_export(network), (1, 4), 1e-4, dtype="float32")


def test_layers_without_a_step() -> None:
    base = made(heads=0, biases=False, norm=None)
    assert not any(layer.attends for layer in base.layers)
    for network in (base, made(mlp=0), made(layers=0), replace(base, final=Norm("rms", Fraction(1, 3)))):
        ids = [0, 1, 2, 3]
        assert off(Graph(network_export(network).layout, max_n=24)(ids), outputs(network, ids)) < NEAR


TURNS = Readout(before=("s",), after=("e", "e"))


def begun(positions: Any) -> Network:
    """Return a network with token s before the word and two e after it; the output is the share of a's so far."""
    network = mean_of_a(Fraction(0), tokens=("a", "b", "s", "e"), readout=TURNS)
    return replace(network, positions=positions)


def test_tokens_before_and_after_the_word_and_functions_of_positions() -> None:
    """Token s is read at i = 0, and the e's at n + 1 and n + 2. The mean of i/n is the output, and n is the number of
    symbols of the word.
    """
    run = Graph(network_export(begun(((0, parse_arith("i/n", ("i", "n"), "test")),))).layout)
    values = [0, 1 / 2 + 1, 2 / 2, 3 / 2, 4 / 2]  # s a b e e
    means = [sum(values[: k + 1]) / (k + 1) for k in range(5)]
    assert off(run([2, 0, 1, 3, 3])[:, 0], means) < NEAR


def test_a_table_of_positions_has_a_row_for_each_token_that_is_read() -> None:
    table = np.array([[0.0, 10.0 * row] for row in range(5)])
    run = Graph(network_export(begun(table)).layout, max_n=2)
    assert off(run([2, 0, 1, 3, 3])[:, 0], [0, 1 / 2 + 10, 1 / 3 + 20, 1 / 4 + 30, 1 / 5 + 40]) < NEAR


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the networks of others lie beside the project")
@pytest.mark.parametrize("kind", ["tracr", "trained"])
def test_networks_of_others(kind: str) -> None:
    for folder in sorted(path for path in (SHARED / kind).iterdir() if path.is_dir()):
        require_export(to_export(Path(folder)), (1, 2, 5, 9, 20))
