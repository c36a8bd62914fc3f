"""No shipped formula or program has more layers, heads or parameters than before nested operators shared layers."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.check import ModelOptions, compile_formula, read_input
from tests.support.language import parse_text
from tests.support.subjects import FORMULAS

SIZES: dict[str, dict[str, list[int]]] = json.loads((Path(__file__).parent / "sizes.json").read_text())
"""Greatest layers, heads and parameters, by file, regime and way to compare counts; then the layers if each has one
head. These are the sizes of the compiler that gave each conjunction, and each comparison of a count with 0, layers of
its own (commit a698d429). Programs have no regime. Networks that were refused are not listed."""


def larger(name: str, key: str, single_head: bool = False) -> list[Any]:
    """Return the file and its sizes if one of them is greater than in the table."""
    *sizes, single = SIZES[name][key] if key else [*SIZES[name][key], 0]
    regime, counting = key.split() if key else (None, None)
    options: Any = {"regime": regime, "counting": counting, "single_head": single_head} if regime else {}
    facts = read_input(str(FORMULAS / name)).compile(ModelOptions(**options)).facts
    found = [facts.layers, facts.heads, facts.parameters]
    most = [single, *sizes[1:]] if single_head else sizes
    return [name, key, found, most] if any(a > b for a, b in zip(found, most, strict=True)) else []


@pytest.mark.parametrize("regime", ["temperature", "none"])
def test_shipped_formulas_are_no_larger(regime: str) -> None:
    keys = {name: [key for key in known if key.startswith(f"{regime} ")] for name, known in SIZES.items()}
    assert not [found for name, known in keys.items() for key in known if (found := larger(name, key))]


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("single_head", [False, True])
def test_shipped_files_are_no_larger_in_any_regime(name: str, single_head: bool) -> None:
    keys = [key for key in SIZES[name] if key or not single_head]
    assert not [found for key in keys if (found := larger(name, key, single_head))]


def heads(text: str, **options: Any) -> tuple[int, int]:
    """Return the layers and heads of a formula over a and b."""
    program = compile_formula(parse_text(f"alphabet: a b\n{text}\n"), ModelOptions(**options)).program
    return len(program.layers), len(program.heads)


@pytest.mark.parametrize("side", ["#L", "#R", "#"])
def test_that_a_count_is_positive_takes_one_head(side: str) -> None:
    assert heads(f"{side}[a] >= 1") == (1, 1)
    assert heads(f"{side}[a] = 0 & b") == (1, 1)
    # Look-ups of the same count read this head, too.
    compared = f"{side}[a] = {side}[b]"
    assert heads(f"{compared} & {side}[a] > 0")[1] == heads(compared)[1]


def test_two_conjunctions_that_one_clip_can_hold_are_no_larger() -> None:
    """The inner conjunction could be in the layer of the predicate, but not the outer one, which reads `a` again."""
    found = compile_formula(parse_text("alphabet: a b\na & (!EVEN(#[!ODD(#[b])]) | a)\n"), ModelOptions()).facts
    # With a layer for each conjunction it has 7 layers and 92 parameters.
    assert (found.layers, found.heads) == (5, 8)
    assert found.parameters <= 92
