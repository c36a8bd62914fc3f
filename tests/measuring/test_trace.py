"""Tests of the trace of one word: it agrees with weights computed by hand, with the definition of softmax, and with the
exact run of hard attention.
"""

import json
from dataclasses import replace
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hardsim
from hardsim.errors import Remark
from hardsim.lang import ast
from hardsim.measuring.trace import TraceHead, TraceResult, trace_of
from tests.support.check import ModelOptions, compile_formula
from tests.support.external import falling, mean_of_a, model_of
from tests.support.hard_runs import hard_run
from tests.support.strategies import formulas
from tests.support.subjects import shipped

SINCE = hardsim.load(str(Path(__file__).parents[2] / "formulas" / "since.ltl"))


def head_of(result: TraceResult, name: str) -> TraceHead:
    return next(head for head in result.heads if head.name == name)


def soft_rows(head: TraceHead) -> Any:
    return np.array([[0.0 if one is None else float(one) for one in row] for row in head.weights])


def test_the_weights_of_since_are_those_of_its_scores() -> None:
    """In `cbaa` a key's score is [b or c] + i/(2n), so 9/8, 10/8, 3/8, 4/8; logits are 4 * 4 times that."""
    result = SINCE.trace("cbaa")
    head = head_of(result, "S4.read")
    scores = [9 / 8, 10 / 8, 3 / 8, 4 / 8]
    for query in range(4):
        powers = [exp(16 * score) for score in scores[: query + 1]]
        expected = [power / sum(powers) for power in powers] + [None] * (3 - query)
        found = [None if one is None else float(one) for one in head.weights[query]]
        assert found == [None if one is None else pytest.approx(one, abs=1e-6) for one in expected]
        best = max(range(query + 1), key=lambda key: scores[key])
        read = head.reads[query]
        assert read.keys == (best + 1,)
        assert float(read.weight) == pytest.approx(powers[best] / sum(powers), abs=1e-12)
        assert read.weight <= 1
    assert [read.gap for read in head.reads] == [None, *[Fraction(1, 8)] * 3]
    (value,) = [value for value in result.values if value.coordinate == "S4"]
    assert value.holds == "[a] S [b]"
    assert list(map(int, value.hard)) == list(map(float, value.soft)) == [0, 1, 1, 1]
    # The value is rounded at 1/4 and 3/4; the margin is its distance from these.
    assert value.margin is not None
    assert float(value.margin[1]) == pytest.approx(1 / (1 + exp(-2)) - 3 / 4, abs=1e-12)


def test_plain_softmax_reads_too_little() -> None:
    result = SINCE.trace("cbaa", regime="none")
    read = head_of(result, "S4.read").reads[3]
    powers = [exp(4 * score) for score in (9 / 8, 10 / 8, 3 / 8, 4 / 8)]
    assert float(read.soft[0]) == pytest.approx(powers[1] / sum(powers), abs=1e-9)
    assert [*read.hard] == [1]
    assert read.error is not None
    assert float(read.error) == pytest.approx(1 - powers[1] / sum(powers), abs=1e-9)
    assert result.answers.agree is False


def require(result: TraceResult, program: Any, prepared: Any) -> None:
    """Require that hard attention agrees with the exact interpreter, that softmax is the mean with its own weights, and
    that bounds are bounds.
    """
    known = hard_run(program, prepared)
    for head in result.heads:
        rows = soft_rows(head)
        assert rows.sum(axis=1) == pytest.approx(1, abs=1e-4)
        for place, read in enumerate(head.reads):
            if head.name in known.winners:
                assert read.keys == (known.winners[head.name][place],)
            where = [key - program.first for key in read.keys]
            assert rows[place, where].sum() == pytest.approx(float(read.weight), abs=1e-4)
            assert read.error is not None
            assert read.error >= max(abs(h - s) for h, s in zip(read.hard, read.soft, strict=True))
        gaps = [read.gap for read in head.reads if read.gap is not None]
        if head.name in known.gaps and gaps:
            assert min(gaps) == known.gaps[head.name]
    for name, value in {value.coordinate: value for value in result.values}.items():
        assert list(value.hard) == known.columns[name]
        values = zip(value.hard, value.soft, value.error, strict=True)
        assert all(error >= abs(hard - soft) for hard, soft, error in values)
    for value in result.values:
        assert all(error >= abs(h - s) for h, s, error in zip(value.hard, value.soft, value.error, strict=True))


@given(data=st.data())
def test_formulas_are_traced_as_they_are_run(data: st.DataObject) -> None:
    file = ast.FormulaFile(("a", "b"), data.draw(formulas("ab", 3)))
    subject = compile_formula(file, ModelOptions())
    word = tuple(data.draw(st.lists(st.sampled_from(subject.alphabet), min_size=1, max_size=6)))
    require(trace_of(subject, word), subject.program, subject.prepared(word))


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("dyck1.srasp", "(())"), ("dyck2.srasp", "([])"), ("parity.srasp", "0110"), ("flipflop.srasp", "w1r1"),
        ("ab_plus.srasp", "abab"), ("same_ends.ahat.json", "aba"), ("no_repeats.ahat.json", "abc"),
    ],
)  # fmt: skip
def test_programs_and_models_are_traced_as_they_are_run(name: str, word: str) -> None:
    subject = shipped(name)
    symbols = tuple(symbol for symbol in word if symbol in subject.alphabet)
    require(trace_of(subject, symbols), subject.program, subject.prepared(symbols))


def test_ties_are_looked_at_together() -> None:
    """The head computes the mean over all positions that hold a symbol, so it looks at each of them equally."""
    result = hardsim.load(str(Path(__file__).parents[2] / "formulas" / "same_ends.ahat.json")).trace("aba")
    for head in result.heads:
        for read, row in zip(head.reads, head.hard, strict=True):
            shares = [share for share in row if share]
            assert shares == pytest.approx([1 / len(read.keys)] * len(read.keys))


# ---- what is printed ----


def test_bounds_stay_bounds_when_they_are_rounded() -> None:
    """No table shows a weight or an error rounded to the wrong side.

    The weights at positions 2 and 3 of `cba` are 1/(1 + e^-2) = 0.88079... and 0.88076...; errors are their
    complements, 0.11920... and 0.11923...
    """
    result = SINCE.trace("cba")
    (head,) = result.heads
    assert [read.at_least for read in head.reads] == ["1", "0.88", "0.88"]
    (errors,) = [row for value in result.values if value.coordinate == "S4.read" for row in value.rows[2:]]
    assert errors == ["  error", "0", "0.12", "0.12"]
    (sharp,) = SINCE.trace("cba", beta=30).heads
    message = sharp.reads[1].at_least
    assert message.startswith("1 - ")
    assert 1 - Fraction(message.removeprefix("1 - ")) <= sharp.reads[1].weight < 1


def test_a_coordinate_into_which_several_symbols_are_embedded_says_all_of_it(tmp_path: Path) -> None:
    program = {
        "alphabet": ["a", "b"], "coordinates": ["1", "x", "c", "m"], "output": "m", "threshold": "1/2",
        "letters": [
            {"name": "x", "symbols": ["a"]}, {"name": "x", "symbols": ["b"], "value": "2"},
            {"name": "c", "symbols": ["b"]},
        ],
        "encodings": [{"name": "x", "value": "i/n"}], "reading": "last",
        "layers": [
            {
                "heads": [
                    {
                        "name": "h", "mask": "future", "weighting": "average", "score": [], "values": {"m": {"x": "1"}}
                    }
                ],
                "units": [], "biases": {},
            }
        ],
    }  # fmt: skip
    path = tmp_path / "x.ahat.json"
    path.write_text(json.dumps({"format": "hardsim-ahat", "schema_version": 2, "program": program}), encoding="utf-8")
    found = {value.coordinate: value for value in hardsim.load(path).trace("ab").values if value.layer == 0}
    x, c = found["x"], found["c"]
    assert list(x.hard) == [Fraction(3, 2), 3]
    assert x.holds == "1 where the symbol is one of: a; 2 where the symbol is one of: b; everywhere i/n"
    assert c.holds == "the symbol is one of: b"


def test_weights_are_those_of_the_network_in_an_edited_file(tmp_path: Path) -> None:
    """The edited network's head sees later positions, unlike the program in the file: every row of weights adds up to
    1.
    """
    document = json.loads(SINCE.compile().to_json())
    document["model"]["layers"][0]["heads"][0]["mask"] = "past"
    path = tmp_path / "since.model.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.warns(Remark, match="differs from the one that its specification compiles to"):
        (head,) = hardsim.load(path).trace("cbaa").heads
    assert head.mask == "past"
    assert [[one is None for one in row] for row in head.weights] == [[k < q for k in range(4)] for q in range(4)]
    assert soft_rows(head).sum(axis=1) == pytest.approx(1, abs=1e-5)
    # Hard attention follows the program, and looks where the network has no weight.
    assert [read.keys for read in head.reads] == [(1,), (2,), (2,), (2,)]
    assert [read.weight for read in head.reads][2:] == [0, 0]


# ---- external networks ----


@pytest.mark.parametrize("engine", ["auto", "mpmath"])
def test_hard_attention_takes_the_mean_of_equal_logits(engine: str) -> None:
    result = model_of(mean_of_a()).trace("aba", engine=engine)
    (head,) = result.heads
    assert head.uniform
    for query, row in enumerate(soft_rows(head)):
        assert row[: query + 1] == pytest.approx(1 / (query + 1), abs=1e-6)
    assert [read.keys for read in head.reads] == [(0,), (0, 1), (0, 1, 2)]
    assert all(read.weight == 1 and read.gap is None for read in head.reads)
    assert np.allclose(np.array(head.hard, dtype=float)[:, 0], [1, 1 / 2, 1 / 3])
    assert result.values == ()


def test_largest_logits_that_are_equal_make_no_head_uniform() -> None:
    """At an a the logits are 1 at each a and 0 at each b, and at a b they are all 0."""
    network = mean_of_a()
    (layer,) = network.layers
    one = np.array([[1.0], [0.0]])
    head = replace(layer.heads[0], w_q=one, w_k=one)
    (found,) = model_of(replace(network, layers=(replace(layer, heads=(head,)),))).trace("aaba").heads
    assert [read.keys for read in found.reads] == [(0,), (0, 1), (0, 1, 2), (0, 1, 3)]
    assert [read.gap is None for read in found.reads] == [True, True, True, False]
    assert not found.uniform
    assert found.hard[3] == [1 / 3, 1 / 3, 0, 1 / 3]


def test_logits_of_an_external_network() -> None:
    """The logits of the head fall by 1/8 with each position, so that it looks at the first one."""
    for head in model_of(falling(Fraction(0), Fraction(1, 8), 12)).trace("abab").heads:
        for read, row in zip(head.reads, soft_rows(head), strict=True):
            if read.query and not head.uniform:
                (key,) = read.keys
                others = sorted(row[: read.query + 1], reverse=True)
                assert row[key] == others[0]
                assert read.gap is not None
                assert exp(float(read.gap)) == pytest.approx(others[0] / others[1], rel=1e-3)


def test_a_notebook_shows_positions_apart_from_their_symbols_and_what_belongs_to_a_row_below_it() -> None:
    html = hardsim.load("parity").trace("10")._repr_html_()
    assert "<th>layer 1</th><th>1<br>1</th><th>2<br>0</th>" in html
    assert "<td>#[1].some: #[1] &gt; 0</td><td>1</td><td>1</td></tr><tr><td>&emsp;margin</td>" in html


# ---- what is refused ----


def test_mpmath_gives_the_same_numbers() -> None:
    ball, other = SINCE.trace("cba"), SINCE.trace("cba", engine="mpmath")
    assert (ball.engine, other.engine) == ("ball", "mpmath")
    for one, two in zip(ball.values, other.values, strict=True):
        assert [float(x) for x in one.soft] == pytest.approx([float(x) for x in two.soft], abs=1e-15)


def test_what_a_layer_erases_again_is_shown_beside_the_head() -> None:
    # s (#L[a] - #L[b] + 1/2)/(i + 1) and s/(4 (i + 1)), where letters are s or -s.
    result = hardsim.parse("alphabet: a b\n#L[a] - #L[b] >= 0\n").trace("abb", regime="layer-norm")
    size = {abs(one) for value in result.values for one in value.hard if value.coordinate == "[a]"}
    assert len(size) == 1
    (s,) = size
    rows = {row[0]: row[1:] for row in result.rows(1)}
    sums = [s * Fraction(2 * difference + 1, 2) / (i + 1) for i, difference in enumerate([0, 1, 0, -1])]
    assert rows["  adds to sum1"] == [f"{float(one):.3g}" for one in sums]
    assert rows["  adds to delta"] == [f"{float(s / (4 * (i + 1))):.3g}" for i in range(4)]
    assert set(rows["sum1"]) == {"0"}
    # A mean that stays has one row, of the coordinate.
    plain = hardsim.parse("alphabet: a b\n#L[a] - #L[b] >= 0\n").trace("abb")
    assert not [row for layer in plain.layers for row in plain.rows(layer) if row[0].startswith("  adds to")]
