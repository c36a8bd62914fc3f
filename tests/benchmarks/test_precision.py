"""Tests of the table of number formats: it is what the command finds and prints, and its words are wrong."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.precision import FORMULAS, MAX_N, PAGE, InFormat, cases, find, render
from hardsim.measuring.export import folder_files
from hardsim.precision.safe_lengths import ARITHS
from hardsim.writing.running import encoded_word, torch_runner
from tests.support.check import Export, ModelOptions, Subject, export_of, read_input
from tests.support.format_evaluation import Plainly

FOUND = PAGE.read(InFormat)
WRONG = [one for one in FOUND if one.fails_at is not None]
SHORT = [one for one in WRONG if len(one.symbols) <= 40]


def named(one: InFormat) -> str:
    return f"{one.formula} {one.regime} {one.arith}"


def made_of(one: InFormat) -> Export:
    return export_of(read_input(str(FORMULAS / one.formula)), ModelOptions(regime=one.regime), len(one.symbols) or 8)


def answer(made: Export, word: Sequence[str]) -> float:
    assert isinstance(made.target, Subject)
    found = made.target.answers([tuple(word)])
    assert found is not None
    return 1.0 if found[0] else 0.0


def evaluated(one: InFormat, made: Export, accumulate: str | None = None) -> float:
    """Return the output on a wrong word at the reading position, by an independent evaluation."""
    tokens = np.array([encoded_word(made.layout, one.symbols, np.dtype(np.float64))])
    return float(Plainly(made.layout, one.arith, accumulate).outputs(tokens)[0, read_at(made), 0])


def read_at(made: Export) -> int:
    return {"first": 0, "last": -1}[made.layout.description["at"]]


def test_every_formula_has_a_row_in_every_regime_and_format() -> None:
    assert [one.key for one in FOUND] == [(*case, arith) for case in cases() for arith in ARITHS]
    for one in FOUND:
        assert one.safe_to <= one.safe_in_order <= MAX_N
        assert one.fails_at is None or one.safe_in_order < one.fails_at == len(one.symbols)
        assert one.whole or one.closed or one.open


def test_most_brackets_are_closed() -> None:
    below = [one for one in FOUND if not one.whole]
    assert 2 * sum(one.closed for one in below) >= len(below)


@pytest.mark.sweep(every=16)
@pytest.mark.parametrize("one", SHORT, ids=named)
def test_a_word_that_fails_is_wrong(one: InFormat) -> None:
    """An evaluation that shares no code with the search confirms the word."""
    made = made_of(one)
    assert evaluated(one, made) != answer(made, one.symbols)


@pytest.mark.slow
@pytest.mark.parametrize("one", [one for one in WRONG if len(one.symbols) > 40], ids=named)
def test_a_long_word_that_fails_is_wrong(one: InFormat) -> None:
    made = made_of(one)
    assert evaluated(one, made) != answer(made, one.symbols)


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["first.ltl", "even_length.ltl", "majority.ltl"])
def test_a_row_is_found_again(formula: str) -> None:
    row = [one for one in FOUND if (one.formula, one.regime) == (formula, "causal-temperature")]
    assert find(formula, "causal-temperature", ARITHS) == row


def sums_from_the_left() -> Any:
    """Return a context in which torch adds the terms of products and sums one by one from the left, rounding each
    sum."""
    torch = pytest.importorskip("torch")

    class FromTheLeft(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]  # torch may be missing
        def __torch_function__(self, called: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if called in (torch.Tensor.matmul, torch.Tensor.__matmul__):
                left, right = args
                terms = [left[..., k : k + 1] * right[..., k : k + 1, :] for k in range(left.shape[-1])]
            elif called is torch.Tensor.sum:
                assert (args[1:], kwargs) == ((-1,), {"keepdim": True})
                terms = [args[0][..., k : k + 1] for k in range(args[0].shape[-1])]
            else:
                return called(*args, **(kwargs or {}))
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            return total

    return FromTheLeft()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("one", [one for one in WRONG if one.arith in ("float32", "bfloat16")], ids=named)
def test_torch_is_wrong_on_a_word_that_fails(one: InFormat, tmp_path: Path) -> None:
    """model.py on the CPU fails with sums from the left. It also fails as it is, unless accumulation of bfloat16 in
    float32 makes the word right."""
    pytest.importorskip("torch")
    made = made_of(one)
    right = answer(made, one.symbols)
    for file, data in folder_files(made, "torch").items():
        (tmp_path / file).write_bytes(data)
    run = torch_runner(tmp_path, one.arith)
    with sums_from_the_left():
        found: Any = run(one.symbols)
    assert found[read_at(made), 0] != right
    if one.arith == "float32" or evaluated(one, made, "float32") != right:
        assert run(one.symbols)[read_at(made), 0] != right


def test_a_table_of_few_rows() -> None:
    about = ("x.ltl", "position")
    found = [
        InFormat(*about, "float32", 4096, "structure", 4096, None, (), None, None, None),
        InFormat(*about, "bfloat16", 2, "structure", 3, 4, (("a", 4),), 1, "S", None),
        InFormat(*about, "float16", 2, "structure", 3, None, (), 1, "S", "length 4 is not proved for all words at "
                 "once (the clip that writes 'S' may be other than 1); length 4 has more than 2 words (--exhaustive)"),
        InFormat(*about, "float8_e4m3", 2, "words", 2, 7, (("a", 7),), 1, "S", "at length 3 the enclosure of some word "
                 "is too wide"),
    ]  # fmt: skip
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in render(found).splitlines()]
    assert ["bfloat16", "1", "0", "1", "0", "0"] in lines
    assert ["position", "4096", "3", "3", "2"] in lines
    assert ["temperature", "–", "–", "–", "–"] in lines
    assert "Of the other 3, 1 (33 %) have a closed bracket" in " ".join(render(found).split())
