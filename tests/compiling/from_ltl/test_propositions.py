"""Tests of formulas over sets of propositions: against the oracle, on all short words, in every regime; and their
networks.
"""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from hardsim.campaign.engines import HardRunner
from hardsim.campaign.words import sample_words
from hardsim.lang import ast
from hardsim.lang.core import Letters
from hardsim.lang.valuations import Valuations, everything
from hardsim.targets.opening import of_document
from hardsim.targets.result import MPMATH
from hardsim.targets.stored import store_program, store_text
from tests.program.test_file import VALIDATOR as FORMAT_SCHEMA
from tests.support.check import FormulaTarget, ModelOptions, compile_formula
from tests.support.language import FormulaFile, InputError, Unsupported, desugar, parse_expression, parse_text
from tests.support.model import PROVEN, REGIMES
from tests.support.strategies import all_words, formulas
from tests.support.subjects import agree, general_proof, proof_of

PAST = ["Y p", "WY p", "O p", "H p", "p S q", "p T q", "first", "Y(p S q)", "O(p & q)", "#L[p] > #L[q]", "pos = 2 & p"]
FUTURE = ["X p", "WX p", "F p", "G p", "p U q", "p R q", "p W q", "p M q", "last", "X(p U q)", "G(p -> F q)"]
FUTURE += ["#[p & q] > #[p ^ q]"]
BOOLEAN = [
    "p",
    "!p",
    "p & q",
    "p | q",
    "p ^ q",
    "p -> q",
    "p <-> !q",
    "true",
    "false",
    "p & O !q",
    "p & !p",
    "q | Y !q",
]
PQ = Valuations(["p", "q"])


def prop_subject(text: str, regime: str = "temperature", **options: Any) -> FormulaTarget:
    """Compile a formula over the sets of p and q."""
    return compile_formula(parse_expression(text, None, props="p q"), ModelOptions(regime, **options))


@pytest.mark.sweep
@pytest.mark.parametrize("at", ["last", "first"])
@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("text", [*PAST, *FUTURE, *BOOLEAN])
def test_operators_over_two_propositions_on_all_short_words(text: str, regime: str, at: str) -> None:
    if REGIMES[regime].causal and text in FUTURE:
        with pytest.raises(Unsupported, match="looks ahead"):
            prop_subject(text, regime, at=at)
        return
    subject = prop_subject(text, regime, at=at)
    agree(subject, all_words(PQ, 3))
    agree(subject, all_words(PQ, 1), MPMATH)


@settings(max_examples=15, deadline=None)
@given(formulas("pq", 2))
def test_random_formulas_over_propositions(formula: ast.Formula) -> None:
    agree(compile_formula(FormulaFile(PQ, formula), ModelOptions()), all_words(PQ, 2))


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("props: p q r\none-of: p q r", "p S q | r"),
        ("props: p q r\nat-most-one: p q", "G(p -> X(q | r)) & F !p"),
        ("props: p\none-of: p", "O p & Y p"),
    ],
)
def test_constrained_propositions_on_all_short_words(header: str, text: str) -> None:
    file = parse_text(f"{header}\nat: last\n{text}")
    agree(compile_formula(file, ModelOptions()), all_words(file.alphabet, 3))


def test_there_is_one_embedding_coordinate_for_each_proposition() -> None:
    names = list("abcdefgh")
    text = f"O({' ^ '.join(names)}) & {' & '.join(f'!Y {name}' for name in names)}"
    subject = compile_formula(parse_expression(text, None, props=names), ModelOptions())
    assert {letter.name for letter in subject.program.letters} == {f"[{name}]" for name in names}


def test_the_core_has_no_function_of_several_propositions_in_one_node() -> None:
    core = desugar(parse_expression("F(p & q | r)", None, props="p q r"))
    symbols = {node.symbols for node in core.nodes if isinstance(node, Letters)}
    alphabet = Valuations(["p", "q", "r"])
    assert symbols == {everything(alphabet), *(alphabet.holding(name) for name in "pqr")}


def test_nothing_is_listed_of_58_propositions() -> None:
    names = [f"p{k}" for k in range(58)]
    text = "G(p0 -> F(p1 & p57)) & (!p2 W p3 | p40)"
    subject = compile_formula(parse_text(f"props: {' '.join(names)}\nat: first\n{text}"), ModelOptions())
    assert subject.model.embedding.shape == (59, subject.model.dimension)
    assert len(subject.program.letters) == 6
    assert general_proof(subject).failing is None
    assert proof_of(subject, 8).failing is None
    alphabet, rng = subject.alphabet, Random(1)
    agree(subject, [tuple(rng.choice(alphabet) for _ in range(n)) for n in (1, 2, 5) for _ in range(20)])


def test_what_is_drawn_of_58_propositions_has_each_of_them_and_lacks_it() -> None:
    names = [f"p{k}" for k in range(58)]
    words = sample_words(Valuations(names), 3, 40, 0)
    assert len(set(words)) == 40
    sets = [set(symbol[1:-1].split(",")) for word in words for symbol in word]
    # Each proposition is in some of 120 sets and not in others (except with probability about 2^-50).
    assert all(0 < sum(name in some for some in sets) < len(sets) for name in names)


@pytest.mark.parametrize("at", ["last", "first"])
def test_a_proposition_alone_or_negated_is_the_whole_formula(at: str) -> None:
    for text in ("p", "!p", "!(p & !q)", "true", "false"):
        agree(prop_subject(text, at=at), all_words(PQ, 2))


@pytest.mark.parametrize(("text", "name"), [("p", "[p]"), ("!p", "accept"), ("true", "1"), ("false", "[]")])
def test_a_formula_of_one_proposition_is_read_off_its_coordinate(text: str, name: str) -> None:
    assert prop_subject(text).program.output == name


@pytest.mark.parametrize("text", ["p S q", "G(p -> F q)", "#[p] > #[q]", "!O(p & Y q)"])
def test_formulas_over_propositions_are_proved(text: str) -> None:
    subject = compile_formula(parse_expression(text, None, props="p q r"), ModelOptions())
    assert proof_of(subject, 8).failing is None
    assert general_proof(subject).failing is None


def test_compiled_files_of_58_propositions_list_nothing() -> None:
    names = [f"p{k}" for k in range(58)]
    text = f"props: {' '.join(names)}\nat-most-one: p1 p2\nG(p0 -> O(p1 & p57))\n"
    subject = compile_formula(parse_text(text), ModelOptions())
    words = [("{p0,p1,p57}", "{}"), ("{p0,p57}", "{p57}"), ("{p2}",), ("{p1,p57}",), ("{p0}",)]
    words.sort(key=len)  # accepted unless the last position has p0 and no position has p1 and p57 together
    agree(subject, words)
    for document in (store_text(subject), store_program(subject)):
        assert len(document) < 40_000
        again = of_document(document.encode(), "again.json")
        assert again.alphabet == subject.alphabet
        made = again.as_read()
        assert made is not None
        assert made.program.letters == subject.program.letters
        assert made.sharpness == subject.sharpness
        assert [HardRunner(made).answer(word) for word in words] == [True, True, False, True, True]
    FORMAT_SCHEMA.validate(json.loads(store_program(subject)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alphabet": {"props": ["p", "p"]}}, "the proposition p is given twice"),
        ({"alphabet": {"props": []}}, "there are no propositions"),
        ({"alphabet": {"props": ["p", "q"], "constraints": [{"key": "one-of", "names": ["r"]}]}}, "each once"),
        ({"alphabet": {"props": ["p", "q"], "constraints": [{"key": "some", "names": ["p"]}]}}, "one-of, at-most-one"),
        ({"letters": [{"name": "[p]", "holds": "z"}]}, "a proposition"),
        ({"letters": [{"name": "[p]", "symbols": ["{p}"]}]}, "holds with the name of a proposition"),
    ],
)
def test_files_with_other_propositions_are_refused(change: dict[str, Any], message: str) -> None:
    document = json.loads(store_program(prop_subject("p S q")))
    document["program"] |= change
    with pytest.raises(InputError) as caught:
        of_document(json.dumps(document).encode(), "changed.json")
    assert message in f"{caught.value.message} {caught.value.hint}"


def test_compiled_files_read_and_write_sets() -> None:
    subject = prop_subject("p S q")
    again = of_document(store_text(subject).encode(), "again.json")
    assert isinstance(again.alphabet, Valuations)
    agree(again.as_read(), all_words(PQ, 2))
    hard = of_document(store_program(subject).encode(), "hard.json")
    assert hard.alphabet == PQ
    assert hard.as_read().program.letters == subject.program.letters
