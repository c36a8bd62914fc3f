"""Regime `layer-norm` over sets of propositions, which it lists: each set, and position 0, has a row of its own."""

from collections.abc import Callable
from itertools import accumulate, product

import pytest

from hardsim.compiling.from_ltl.refusals import MOST_SETS
from hardsim.lang.core import Letters
from hardsim.lang.desugar import desugar, with_listed_sets
from hardsim.lang.valuations import members_of
from hardsim.proof.formulas.normed import prove_normed
from hardsim.proving.formula_certificate import certificate
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.formula import FormulaTarget
from hardsim.verify import digests, verify
from tests.support.language import InputError, parse_text
from tests.support.model import ExactModel

Sets = list[frozenset[str]]


def target_of(text: str) -> FormulaTarget:
    return compile_formula(parse_text(f"{text}\n", "f"), ModelOptions(regime="layer-norm"))


def counted(word: Sets, holds: Callable[[frozenset[str]], bool]) -> list[int]:
    """Return at each position how many positions so far satisfy a property."""
    return list(accumulate(int(holds(one)) for one in word))


def balanced(word: Sets) -> list[bool]:
    p, q = counted(word, lambda one: "p" in one), counted(word, lambda one: "q" in one)
    return [a >= b for a, b in zip(p, q, strict=True)]


def both_at_most_once(word: Sets) -> list[bool]:
    return [count <= 1 for count in counted(word, lambda one: {"p", "q"} <= one)]


def always_balanced(word: Sets) -> list[bool]:
    held = balanced(word)
    return [all(held[: i + 1]) and (("p" in one) != ("q" in one)) for i, one in enumerate(word)]


CASES: dict[str, tuple[str, str, Callable[[Sets], list[bool]], int]] = {
    "counts of propositions": ("props: p q", "#L[p] >= #L[q]", balanced, 1),
    "a conjunction is one row": ("props: p q", "#L[p & q] <= 1", both_at_most_once, 1),
    "nested": ("props: p q", "H (#L[p] >= #L[q]) & (p ^ q)", always_balanced, 2),
    "a proposition alone": ("props: p q", "!p", lambda word: ["p" not in one for one in word], 0),
    "sets that exclude each other": ("props: p q r\none-of: p q r", "#L[p] >= #L[q]", balanced, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_networks_are_right_at_every_position_and_proved(name: str) -> None:
    head, formula, truth, depth = CASES[name]
    target = target_of(f"{head}\n{formula}")
    program = target.program
    counting = [layer for layer in program.layers if layer.heads]
    assert len(counting) == depth
    assert prove_normed(target.model, program, desugar(target.formula), (1, 0)).proved
    model = ExactModel(program)
    for n in range(1, 5):
        words = list(product(target.alphabet, repeat=n))
        column = model.run(words).columns[program.output]
        for number, word in enumerate(words):
            sets = [frozenset(members_of(symbol)) for symbol in word]
            assert [value > 0 for value in column.values(number)[1:]] == truth(sets), word


def test_certificates_list_the_sets() -> None:
    target = target_of("props: p q\nH (#L[p] >= #L[q]) & (p ^ q)")
    document = certificate(target, None)
    assert document["formula"]["alphabet"] == document["model"]["alphabet"] == ["{}", "{p}", "{q}", "{p,q}"]
    assert verify(document) is None
    # Another set in place of those with p: the network does not compute that formula.
    node = next(one for one in document["formula"]["nodes"] if one[0] == "letters" and {*one[2:]} == {"{p,q}", "{p}"})
    node[2:] = ["{p}"]
    document["digests"] = digests(document)
    assert verify(document) is not None


def test_every_function_of_the_set_is_one_node() -> None:
    core = desugar(parse_text("props: p q r\n#L[(p | q) & !r ^ p] >= #L[p]\n", "f"))
    listed = with_listed_sets(core)
    symbols = [node.symbols for node in listed.nodes if isinstance(node, Letters)]
    sets = {one: {*members_of(one)} for one in listed.alphabet}
    value = {one for one, some in sets.items() if bool(some & {"p", "q"} and "r" not in some) != ("p" in some)}
    assert frozenset(value) in symbols
    assert [type(listed.nodes[number]).__name__ for number in listed.live].count("Xor") == 0
    plain = desugar(parse_text("alphabet: a b\n#L[a] >= #L[b]\n", "f"))
    assert with_listed_sets(plain) is plain


def test_too_many_sets_are_refused_with_what_to_do() -> None:
    names = [f"p{k}" for k in range(9)]
    assert 2**8 == MOST_SETS < 2**9
    with pytest.raises(InputError, match="512 sets") as caught:
        target_of(f"props: {' '.join(names)}\n#L[p0] >= #L[p1]")
    assert "one-of" in str(caught.value)
    # Nine sets are left.
    target = target_of(f"props: {' '.join(names)}\none-of: {' '.join(names)}\n#L[p0] >= #L[p1]")
    assert len(target.program.alphabet) == 9
