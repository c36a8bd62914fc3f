"""The checker's reading of specifications of external networks, against the oracles on every short word, and its
comparison of machines with them."""

import copy
from itertools import product
from typing import Any

import pytest

from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.desugar import desugar
from hardsim.lang.spec.layout import read_spec
from hardsim.lang.spec.meaning import Question
from hardsim.lang.spec.oracle import ExpectedColumn, FormulaTruth, Matches, NextSymbols
from hardsim.proving.formula_certificate import formula_json
from hardsim.verify.arithmetic import Rejected
from hardsim.verify.expressions import evaluate, expression
from hardsim.verify.external.machine import Reading, RequiredAnswers, compare, read_machine
from hardsim.verify.external.readers import FormulaReader, period
from hardsim.verify.external.sections import specification as shaped
from tests.support.external_certificates import JUDGED, JUDGED_MACHINE, NEXT, NEXT_MACHINE, Json

SYMBOLS = ("a", "b")
LONGEST = 7


def quiet(steps: int) -> None:
    """Allow any number of steps."""


def automaton_json(automaton: Automaton) -> Json:
    symbols = [str(symbol) for symbol in automaton.letters.alphabet]
    letters = [automaton.letters[symbol] for symbol in symbols]
    moves = [[row[letter] for letter in letters] for row in automaton.moves]
    return {"symbols": symbols, "moves": moves, "accepting": sorted(automaton.accepting)}


def column_json(column: ExpectedColumn) -> Json:
    if isinstance(column, Matches):
        return {"kind": "matches", "automaton": automaton_json(column.automaton)}
    assert isinstance(column, FormulaTruth)
    users = {item.name: item for item in column.file.predicates}
    return {"kind": "formula", "formula": formula_json(desugar(column.file.read_at("last")), users)}


def specification_of(oracle: Any) -> Json:
    if isinstance(oracle, NextSymbols):
        automaton = automaton_json(oracle.automaton)
        return {"kind": "next", "automaton": automaton, "end": oracle.end, "empty": oracle.empty}
    lines = [[name, column_json(column)] for name, column in oracle.lines]
    return {"kind": "lines", "lines": lines, "assume": None if oracle.assume is None else column_json(oracle.assume)}


SPECIFICATIONS: list[tuple[Any, Any, tuple[str, ...], str]] = [
    ("last", "above", ("y",), "output y: #[a] > #[b]"),
    ("last", "above", ("y",), "output y: #[a & Y b] >= 2 & SQUARE(#[b])"),
    ("last", "above", ("y",), "assume: !(#[a] = #[b])\noutput y: b & Y(a)"),
    ("last", "above", ("y",), "output y: EVEN(#[a]) & (a U b)"),
    ("last", "above", ("y",), "output y: PRIME(2*#[b] + 1) | X true"),
    ("last", "above", ("y",), "output y: (first | X a | !(a S (b & first))) & #R[a] + 2*#L[b] >= 3"),
    ("last", "above", ("y", "z"), "output z: 2*#[a] - #[b] >= 1\noutput y: last & a"),
    ("each", "above", ("y",), "output y: EVEN(#L[a] + #L[b & Y b])"),
    ("each", "above", ("y",), "output y: #L[a] <= 2 | #L[a] = 2*#L[b]"),
    ("each", "above", ("y", "z"), "output z: a S b\noutput y: first | Y(Y a)"),
    ("last", "argmax", ("0", "1"), "assume: !(#[a] = #[b])\noutput 0: #[a] > #[b]\noutput 1: #[b] > #[a]"),
    ("last", "argmax", ("0", "1", "2"), "output 0: a & !first\noutput 1: b & !first\noutput 2: first"),
    ("last", "above", ("a", "b", "<eos>", "other"), "next: /(a b*)*|b/"),
    ("each", "above", ("a", "b", "<eos>"), "next: /(a b*)*a|b/"),
    ("each", "argmax", ("a", "b", "<eos>"), "next: /(a b*)*a|b/"),
    ("each", "argmax", ("a", "b"), "next: /(a b*)*/"),
    ("last", "above", ("a", "b", "other"), "next: /b a*|(a b)*/"),
]


def oracle_of(at: Any, decide: Any, outputs: tuple[str, ...], text: str) -> Any:
    return (
        Question(read_spec(text, "here.spec"), None, SYMBOLS, at, decide, outputs, True, at == "each").demands().oracle
    )


@pytest.mark.parametrize("number", range(len(SPECIFICATIONS)))
def test_specifications_require_what_the_oracle_says(number: int) -> None:
    at, decide, outputs, text = SPECIFICATIONS[number]
    oracle = oracle_of(at, decide, outputs, text)
    data = specification_of(oracle)
    shaped(data, "")
    reading = Reading(outputs, decide, outputs, SYMBOLS, at == "last")
    found = RequiredAnswers(data, reading, quiet)
    assert found.empty == isinstance(oracle, NextSymbols)
    for n in range(0 if found.empty else 1, LONGEST + 1):
        for word in product((0, 1), repeat=n):
            wanted = oracle(tuple(SYMBOLS[one] for one in word))
            wanted = wanted[-1] if at == "each" else wanted
            rows = found.after(word)
            if wanted is None:
                assert rows is None
            elif decide == "argmax":
                right = {wanted} if isinstance(wanted, str) else wanted
                may = [k for k, name in enumerate(outputs) if name in right]
                others = {*range(len(outputs))} - {*may}
                expected = frozenset(frozenset((one, other) for other in others) for one in may)
                assert rows == (expected if others else None)
            else:
                if isinstance(wanted, bool):
                    wanted = {outputs[0]: wanted}
                truths = {name: name in wanted for name in outputs} if isinstance(wanted, frozenset) else wanted
                above = {(k, -1) for k, name in enumerate(outputs) if truths[name]}
                below = {(-1, k) for k, name in enumerate(outputs) if not truths[name]}
                assert rows == frozenset({frozenset(above | below)})


def test_a_line_alone_is_about_the_only_output_or_names_the_greatest() -> None:
    for outputs, decide, expected in ((("y",), "above", (0, -1)), (("False", "True"), "argmax", (1, 0))):
        found = RequiredAnswers(JUDGED, Reading(outputs, decide, outputs, SYMBOLS, True), quiet)
        assert found.after([0]) is None
        assert found.after([1]) == frozenset({frozenset({expected})})
    with pytest.raises(Rejected, match="several outputs"):
        RequiredAnswers(JUDGED, Reading(("y", "z"), "above", ("y", "z"), SYMBOLS, True), quiet)


def formula(nodes: list[Any], root: int, ending: bool) -> FormulaReader:
    """Return the reader of a formula over a and b."""
    data = {"alphabet": ["a", "b"], "nodes": nodes, "root": [root, False]}
    return FormulaReader(data, SYMBOLS, ending, "here", quiet)


A: list[Any] = ["letters", [], "a"]
LOOKING: list[list[Any]] = [
    ["X", [[0, False]]],
    ["U", [[0, False], [0, False]]],
    ["at least", [[0, False]], [[1, "R"]], 0],
    ["at least", [[0, False]], [[1, ""]], 0],
    ["predicate", [[0, False]], "x == 1", [[1, ""]], 0],
]


@pytest.mark.parametrize("node", LOOKING)
def test_formulas_that_look_ahead_are_refused_within_words(node: list[Any]) -> None:
    with pytest.raises(Rejected, match="depends on what follows"):
        formula([A, node], 1, False)
    formula([A, node], 1, True)
    for inner in (["Y", [[1, False]]], ["S", [[0, False], [1, False]]], ["at least", [[1, False]], [[1, "L"]], 0]):
        with pytest.raises(Rejected, match="depends on what follows"):
            formula([A, node, inner], 2, True)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([["letters", [], "c"]], "of the alphabet"),
        ([["letters", [], "a", "a"]], "differ"),
        ([["true", []]], "propositions"),
        ([["holds", [], "p"]], "propositions"),
        ([A, ["Y", [[1, False]]]], "not the number"),
        ([["predicate", [[0, False]], "x == n", [[1, "L"]], 0]], "not the number"),
        ([A, ["predicate", [[0, False]], "x == n", [[1, "L"]], 0]], "not understood"),
        ([A, ["predicate", [[0, False]], "x + 1", [[1, "L"]], 0]], "a number, not a truth value"),
    ],
)
def test_formulas_that_make_no_sense_are_refused(nodes: list[Any], message: str) -> None:
    with pytest.raises(Rejected, match=message):
        formula(nodes, 0, False)


def test_formulas_must_know_all_symbols() -> None:
    for alphabet, message in ((["a", "b", "a"], "differ"), (["a", "c"], "missing")):
        data = {"alphabet": alphabet, "nodes": [A], "root": [0, False]}
        with pytest.raises(Rejected, match=message):
            FormulaReader(data, SYMBOLS, True, "here", quiet)


PERIODIC = {
    "x % 6 == 2": 6,
    "(x - 1) % 3 == 0": 3,
    "(2*x + 1) % 4 == 1 or x % 6 == 0": 12,
    "3 > x % 2 + 1": 2,
    "[x % 2 == 0] + x % 5 > 2": 10,
    "not PRIME(x % 7)": 7,
    "1 == 1": 1,
}
NOT_PERIODIC = ("x > 3", "x // 2 % 3 == 1", "x * x % 3 == 1", "PRIME(x)", "x % x == 0", "(-1)**x == 1", "x % 2 == x")


def test_a_period_of_a_condition_is_one() -> None:
    for text, expected in PERIODIC.items():
        what = expression(text, "x")
        assert period(what.tree) == expected
        for x in range(-20, 20):
            assert evaluate(what, x=x) == evaluate(what, x=x + expected)
    for text in NOT_PERIODIC:
        assert period(expression(text, "x").tree) == 0


def test_sums_stop_where_they_cannot_matter() -> None:
    nodes = [A, ["at least", [[0, False]], [[2, "L"]], -5], ["at least", [[0, True]], [[-1, "L"]], 2]]
    nodes += [["predicate", [[0, False]], "x % 3 == 1", [[1, "L"]], 0], ["and", [[1, False], [2, False], [3, True]]]]
    reader = formula(nodes, 4, False)
    states = {reader.first}
    for _ in range(30):
        states |= {reader.step(state, symbol) for state in states for symbol in (0, 1)}
    assert len(states) <= 4 * 4 * 3 * 2 + 1


# ---- machines ----


def compared(machine: Json, specification: Json, outputs: tuple[str, ...], longest: int = 5) -> None:
    found = RequiredAnswers(specification, Reading(outputs, "above", outputs, SYMBOLS, False), quiet)
    compare(read_machine(machine, 2, len(outputs)), found, longest, quiet)


CASES: list[tuple[Json, Json, tuple[str, ...]]] = [
    (NEXT_MACHINE, NEXT, ("a", "b", "</s>")),
    (JUDGED_MACHINE, JUDGED, ("y",)),
]


def agrees(machine: Json, specification: Json, outputs: tuple[str, ...], longest: int) -> bool:
    """Compare what a machine requires with the specification after every word, one by one."""
    found = RequiredAnswers(specification, Reading(outputs, "above", outputs, SYMBOLS, False), quiet)
    kinds = [frozenset(frozenset(map(tuple, choice)) for choice in kind) for kind in machine["kinds"]]
    for n in range(0 if found.empty else 1, longest + 1):
        for word in product((0, 1), repeat=n):
            state = 0
            for symbol in word:
                state = machine["moves"][state][symbol] if state >= 0 else -1
            kind = machine["required"][state] if state >= 0 else -1
            if (kinds[kind] if kind >= 0 else None) != found.after(word):
                return False
    return True


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("longest", [0, 1, 2, 5])
def test_machines_are_accepted_where_they_agree_on_every_word(case: Any, longest: int) -> None:
    machine, specification, outputs = case
    compared(machine, specification, outputs, longest)
    refused = 0
    for state, row in enumerate(machine["moves"]):
        for symbol in (0, 1):
            for target in {*range(-1, len(machine["moves"]))} - {row[symbol]}:
                other = copy.deepcopy(machine)
                other["moves"][state][symbol] = target
                refused += _both(other, specification, outputs, longest)
        for kind in {*range(-1, len(machine["kinds"]))} - {machine["required"][state]}:
            other = copy.deepcopy(machine)
            other["required"][state] = kind
            refused += _both(other, specification, outputs, longest)
    for place in range(len(machine["kinds"][0][0])):
        other = copy.deepcopy(machine)
        other["kinds"][0][0][place].reverse()
        refused += _both(other, specification, outputs, longest)
    assert refused or not longest


def _both(machine: Json, specification: Json, outputs: tuple[str, ...], longest: int) -> bool:
    """Require that a machine is refused if and only if it differs after some word; return True if it is."""
    try:
        compared(machine, specification, outputs, longest)
    except Rejected:
        assert not agrees(machine, specification, outputs, longest)
        return True
    assert agrees(machine, specification, outputs, longest)
    return False


def test_states_that_a_machine_splits_are_accepted() -> None:
    machine = {"moves": [[1, 2], [2, 3], [1, 2], [0, 1]], "required": [0, -1, 0, -1], "kinds": [[[[0, -1]]]]}
    assert agrees(machine, JUDGED, ("y",), 6)
    compared(machine, JUDGED, ("y",), 6)


@pytest.mark.parametrize(
    "change",
    [
        {"moves": []},
        {"moves": [[1, 0]]},
        {"moves": [[1, 0], [0, 2]]},
        {"moves": [[1, 0], [0, -2]]},
        {"moves": [[1, 0], [0]]},
        {"required": [0, 1]},
        {"required": [0, -2]},
        {"required": [0]},
        {"kinds": [[[[0, 1]]]]},
        {"kinds": [[[[-2, 0]]]]},
        {"kinds": [[[]]]},
        {"kinds": [[]]},
    ],
)
def test_machines_with_numbers_that_do_not_exist_are_refused(change: Json) -> None:
    with pytest.raises(Rejected, match="machine"):
        read_machine({**JUDGED_MACHINE, **change}, 2, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"moves": [[1, 2], [0, 1], [2, 3]]}, "a state for each symbol"),
        ({"moves": [[1, 2], [0, 1], [2]]}, "a state for each symbol"),
        ({"moves": [], "accepting": []}, "has a state"),
        ({"accepting": [3]}, "these are no states"),
        ({"symbols": ["a", "a"]}, "differ"),
        ({"symbols": ["a", "c"]}, "missing"),
    ],
)
def test_automata_with_states_that_do_not_exist_are_refused(change: Json, message: str) -> None:
    data = {**NEXT, "automaton": {**NEXT["automaton"], **change}}
    outputs = ("a", "b", "</s>")
    with pytest.raises(Rejected, match=message):
        RequiredAnswers(data, Reading(outputs, "above", outputs, SYMBOLS, False), quiet)


def test_answers_that_no_output_gives_are_refused() -> None:
    outputs = ("a", "b", "end")
    found = RequiredAnswers(NEXT, Reading(outputs, "above", outputs, SYMBOLS, False), quiet)
    with pytest.raises(Rejected, match="no output"):
        found.after([0])
    found = RequiredAnswers(NEXT, Reading(outputs, "argmax", ("b", "end"), SYMBOLS, False), quiet)
    with pytest.raises(Rejected, match="every right answer is an output that the argmax leaves out"):
        found.after([])


def test_lines_must_name_outputs_and_one_be_true_for_an_argmax() -> None:
    true, even = JUDGED["lines"][0][1], JUDGED["assume"]
    for lines in ([["z", true]], [["y", true], ["y", even]], [[None, true], ["y", even]]):
        data = {**JUDGED, "lines": lines}
        with pytest.raises(Rejected, match="name an output"):
            RequiredAnswers(data, Reading(("y", "x"), "argmax", ("y", "x"), SYMBOLS, True), quiet)
    data = {"kind": "lines", "lines": [["y", true], ["x", even]], "assume": None}
    found = RequiredAnswers(data, Reading(("y", "x"), "argmax", ("y", "x"), SYMBOLS, True), quiet)
    assert found.after([0]) == frozenset({frozenset({(0, 1)})})
    with pytest.raises(Rejected, match="not exactly one"):
        found.after([1])
