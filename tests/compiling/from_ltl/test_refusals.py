"""Tests of formulas that a regime cannot compute: the advice is right for the whole formula, and names what it has."""

import re
from itertools import product

import pytest

from hardsim.compiling.from_ltl.refusals import MOST_SETS, Method
from hardsim.lang.ast import FormulaFile
from hardsim.lang.crasp.crasp_parser import parse_crasp
from hardsim.lang.crasp.formula import as_formula
from hardsim.lang.ltl_parser import parse_text
from hardsim.network.transformer import SoftWeighting
from hardsim.options.values import parse_rounding
from hardsim.program.regimes import EVERY, NAMED
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from tests.support.language import InputError, Unsupported, formulas_directory

FP16 = SoftWeighting.FP16
FORMULAS = (
    "a S b",
    "#L[a] > #L[b]",
    "#L[a] >= #[b]",
    "#R[a] >= 2 & Y b",
    "X a | #L[a] = #L[b]",
    "O (#L[a] mod 3 = 1)",
    "PRIME(#L[a]) & F b",
    "H (pos > 2) | O b",
    "MOD(3, 1, len) & O a",
)


def of_text(text: str) -> FormulaFile:
    return parse_text(f"alphabet: a b\n{text}\n")


def of_program(name: str) -> FormulaFile:
    path = formulas_directory() / name
    return as_formula(parse_crasp(path.read_bytes(), name))


FILES = [*map(of_text, FORMULAS), of_program("bigrams.cr"), of_program("dyck1.cr")]
METHODS: tuple[Method, ...] = ("lookup", "sign")
CHOICES = [
    *(ModelOptions(regime) for regime in NAMED),
    *(ModelOptions("temperature", counting=method) for method in METHODS),
    *(ModelOptions("causal-position", counting=method) for method in METHODS),
    ModelOptions(weighting=FP16),
    ModelOptions(weighting=SoftWeighting.GEOMETRIC),
    ModelOptions(rounding=parse_rounding("biased:4")),
]


def refusal(file: FormulaFile, options: ModelOptions) -> Unsupported | None:
    try:
        compile_formula(file, options)
    except Unsupported as error:
        return error
    return None


def test_the_advice_names_exactly_the_regimes_that_can_compute_the_file() -> None:
    """By compiling the file in each of them."""
    refused = [(file, options, refusal(file, options)) for file, options in product(FILES, CHOICES)]
    for file, options, error in refused:
        if error is None:
            continue
        rest = error.hint.partition("whole formula: ")[2].partition(".")[0]
        named, _, instead = rest.partition(", or --rounding ")
        weighting = FP16 if options.weighting is FP16 else None
        able = [name for name in EVERY if refusal(file, ModelOptions(name, weighting=weighting)) is None]
        if weighting is not None:  # regimes of means have no exponentials to round
            able = [name for name in able if name not in ("layer-norm", "rounded")]
            rounded = ModelOptions(rounding=parse_rounding("floor:8"))
            assert bool(instead) == (refusal(file, rounded) is None), (error.message, error.hint)
        assert named.split(", ") == able, (error.message, error.hint)
        quoted = re.match(r"'(.+?)' ", error.message)
        assert quoted is not None, error.message
        assert file.source.text.startswith(quoted[1], error.span.start), error.message
        leave = re.match(r"Leave out --counting (\w+)", error.hint)
        assert leave is None or leave[1] == options.counting
    assert sum(error is not None for *_, error in refused) > 40


def test_a_formula_of_too_many_sets_has_regimes_of_its_own() -> None:
    names = " ".join(f"p{k}" for k in range(MOST_SETS.bit_length()))
    file = parse_text(f"props: {names}\np0 S p1\n")
    with pytest.raises(InputError, match=f"at most {MOST_SETS}") as found:
        compile_formula(file, ModelOptions("layer-norm"))
    assert "temperature, position, causal-temperature, causal-position." in found.value.hint
