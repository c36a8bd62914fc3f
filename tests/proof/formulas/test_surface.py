"""The meaning of a formula is read from the formula: lemmas compared with the semantics, and wrong rewritings."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hardsim.lang import desugar as rewriting
from hardsim.lang.core import CoreBuilder, Edge, Lit
from hardsim.proof.formulas.every_length import GeneralFacts
from hardsim.proof.formulas.facts import Facts
from hardsim.proof.formulas.network import prove_meaning
from hardsim.proof.formulas.sites import Classes
from hardsim.proof.formulas.surface import LEMMAS
from hardsim.proof.shared.result import LinkProof
from hardsim.targets.subject import own_predicates
from tests.support.check import ModelOptions, Sites, compile_formula
from tests.support.language import FormulaFile, Oracle, desugar, parse_expression, parse_text
from tests.support.strategies import all_words
from tests.support.subjects import known

SETS = ("{}", "{p}", "{q}", "{p,q}")
WORDS = all_words(SETS, 4)


def same(first: str, second: str) -> bool:
    """Return True if two formulas over p and q are equal at the same positions of every short word.

    They are read at the last position, where nothing lies ahead, and at the first, where nothing lies behind.
    """
    read = [[Oracle(parse_text(f"props: p q\nat: {at}\n{text}\n")) for text in (first, second)]
            for at in ("last", "first")]  # fmt: skip
    return all(one.accepts(word) == other.accepts(word) for one, other in read for word in WORDS)


@pytest.mark.parametrize("operator", [operator for operator in LEMMAS if operator != "at: first"])
def test_a_lemma_holds_on_every_short_word(operator: str) -> None:
    lemma = LEMMAS[operator]
    assert f" {operator} " in f" {lemma.derived} "
    assert same(lemma.derived, lemma.formula)
    # Other operators read it at positions in the middle too.
    for outer in ("O(q & ({}))", "F(p & X(q & ({})))"):
        assert same(outer.format(lemma.derived), outer.format(lemma.formula))


@pytest.mark.parametrize("formula", ["q", "X q", "p U q", "O p", "WX p & last", "#R[p] > 1"])
def test_the_first_position_is_read_from_the_last(formula: str) -> None:
    lemma = LEMMAS["at: first"].formula.replace("p)", f"({formula}))")
    first, last = (Oracle(parse_text(f"props: p q\n{text}\n")) for text in (f"at: first\n{formula}", lemma))
    assert all(first.accepts(word) == last.accepts(word) for word in WORDS)


@pytest.mark.parametrize(
    ("bounded", "formula"),
    [
        ("F[0,0] p", "p"),
        ("F[0,2] p", "p | X F[0,1] p"),
        ("F[1,2] p", "X F[0,1] p"),
        ("O[1,3] p", "Y O[0,2] p"),
        ("G[1,2] p", "!F[1,2] !p"),
        ("H[0,2] p", "!O[0,2] !p"),
        ("p U[0,2] q", "q | p & X(p U[0,1] q)"),
        ("p U[1,3] q", "p & X(p U[0,2] q)"),
        ("p S[2,3] q", "p & Y(p S[1,2] q)"),
        ("X[2] p", "X X p"),
        ("WY[2] p", "!Y Y !p"),
    ],
)
def test_what_is_bounded_is_read_from_the_farthest_position_inwards(bounded: str, formula: str) -> None:
    assert same(bounded, formula)
    assert same(f"O(q & {bounded})", f"O(q & ({formula}))")


# ---- rewritings ----


def meaning(file: FormulaFile) -> tuple[LinkProof, str | None]:
    """Try to prove that the program compiled from a file computes the file's formula.

    Return the proof for some lengths, and the reason if there is none for every length.
    """
    file = replace(file)  # a copy, without a core that was made before a patch
    subject, core = compile_formula(file, ModelOptions()), desugar(file)
    users = own_predicates(file)
    places = Facts(Sites((1, 2, 3, 4)), core.alphabet, users), GeneralFacts(Classes(), core.alphabet, users)
    link, general = (prove_meaning(subject.program, core, facts) for facts in places)
    return link, general.reason


Rewriting = Callable[..., Lit]
WRONG: dict[str, tuple[str, Rewriting]] = {
    "X a": ("_UNARY", lambda build, a: ~build.step("X", ~a)),
    "WX a": ("_UNARY", lambda build, a: build.step("X", a)),
    "Y a": ("_UNARY", lambda build, a: ~build.step("Y", ~a)),
    "WY a": ("_UNARY", lambda build, a: build.step("Y", a)),
    "F a": ("_UNARY", lambda build, a: build.reach("S", build.true, a)),
    "G a": ("_UNARY", lambda build, a: build.reach("U", build.true, a)),
    "O a": ("_UNARY", lambda build, a: ~build.reach("S", build.true, ~a)),
    "H a": ("_UNARY", lambda build, a: ~build.reach("S", build.true, a)),
    "a U b": ("_BINARY", lambda build, a, b: build.reach("U", b, a)),
    "a S b": ("_BINARY", lambda build, a, b: build.reach("U", a, b)),
    "a R b": ("_BINARY", lambda build, a, b: ~build.reach("U", ~b, ~a)),
    "a T b": ("_BINARY", lambda build, a, b: ~build.reach("S", ~b, ~a)),
    "a W b": ("_BINARY", lambda build, a, b: build.reach("U", a, b)),
    "a M b": ("_BINARY", lambda build, a, b: build.reach("U", a, build.both([a, b]))),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_rewriting_is_named(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = next(word for word in text.split() if word.isupper())
    # From the last position the formula looks back at positions with neighbours on both sides.
    file = parse_text(f"props: a b c\nO(c & Y ({text}) & X ({text}))\n")
    assert meaning(file) == (LinkProof("its hard heads = the formula"), None)
    table, rewritten = WRONG[text]
    monkeypatch.setattr(rewriting, table, {**getattr(rewriting, table), operator: rewritten})
    link, general = meaning(file)
    assert f"no compiled subformula is known to be {operator} in '{text}'" in known(link.reason)
    assert f"no compiled subformula is known to be {operator} in '{text}'" in known(general)


def patched(owner: Any, name: str, wrong: Callable[..., Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Return a patch that replaces a method by the wrapper that `wrong` makes of it."""
    old = getattr(owner, name)
    return lambda patch: patch.setattr(owner, name, lambda self, *given: wrong(old, self, *given))


SMART: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "both": ("Y a & Y b & X a", patched(CoreBuilder, "both", lambda old, self, lits: old(self, list(lits)[:2]))),
    "either": ("Y a | X b", patched(CoreBuilder, "either", lambda old, self, lits: self.both(lits))),
    "differ": ("Y a ^ O b", patched(CoreBuilder, "differ", lambda old, self, a, b: self.either([a, b]))),
    "letters": ("Y(a | b)", patched(CoreBuilder, "letters", lambda old, self, some: old(self, sorted(some)[:1]))),
    "reach": ("a U (a U X b)", patched(CoreBuilder, "reach", lambda old, self, op, a, b: old(self, op, b, a))),
    "idempotence": ("b U (a U X c)", patched(
        CoreBuilder, "reach",
        lambda old, self, op, a, b: b if "Reach" in str(self.nodes[b.node]) else old(self, op, a, b),
    )),
    "step": ("Y true", patched(CoreBuilder, "step", lambda old, self, op, arg: self.lit(Edge("first")))),
    "at_least": ("#L[a] > 2", patched(
        CoreBuilder, "at_least", lambda old, self, terms, k: old(self, terms, k + 1)
    )),
    "divisor": ("2 * #L[a] > 2 * pos - 4", patched(
        CoreBuilder, "at_least",
        lambda old, self, terms, k: old(self, {count: v // 2 for count, v in terms.items()}, -(-k // 2)),
    )),
    "congruent": ("#L[a] mod 3 = 1", patched(
        CoreBuilder, "congruent", lambda old, self, terms, k, m, r: old(self, terms, k, m, r + 1)
    )),
    "sum": ("(#L[a] + 2 * #L[b]) mod 3 = 1", patched(
        CoreBuilder, "congruent", lambda old, self, terms, k, m, r: old(self, dict.fromkeys(terms, 1), k, m, r)
    )),
    "bounded": ("F[1,2] a", patched(rewriting._Desugarer, "step", lambda old, self, where, arg: arg)),
    "compare": ("#L[a] <= 1", patched(
        rewriting._Desugarer, "_compare", lambda old, self, node, op, left, right: old(self, node, op, right, left)
    )),
    "predicate": ("PRIME(#L[a])", patched(
        rewriting._Desugarer, "_predicate",
        lambda old, self, node, name, params, form: old(self, node, "SQUARE", params, form),
    )),
}  # fmt: skip


@pytest.mark.parametrize("name", SMART)
def test_a_wrong_simplification_is_not_proved(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, patch = SMART[name]
    file = parse_expression(text, "a b c")
    assert meaning(file) == (LinkProof("its hard heads = the formula"), None)
    patch(monkeypatch)
    link, general = meaning(file)
    assert not link.proved
    assert general is not None


def test_a_wrong_reading_position_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    file = parse_text("alphabet: a b\nat: first\nX a\n")
    assert meaning(file)[0].proved
    patched(CoreBuilder, "reach", lambda old, self, op, a, b: ~old(self, op, a, ~b))(monkeypatch)
    link, general = meaning(file)
    assert not link.proved
    assert general is not None


@pytest.mark.parametrize(
    "text",
    [
        "a S (a S b)",
        "(a -> b) & (Y a & (X b & (Y b & a)))",
        "!((Y a & Y b) -> !(X a))",
        "let p = Y a & X b\np & Y c | !p & O p",
        "let p = Y a & X b\np U (p & Y b)",
        "let p = Y a & X b\n(p & Y c) U !p",
        "Y true & X true & WX false",
        "O false | a S true | false S b",
        "(!a S !a) S b",
        "at: first\n(WX false -> WX a) W (first S last) <-> (WX a -> WX a) W (true S last)",
        "EVEN(3) & PRIME(len) & (2 * pos + len) mod 4 = 1",
        "#L[a] - #L[a] = 0 & #[a] + #[b] >= 0",
        "!((#L[a] + 2 * #R[b]) mod 3 = 1)",
    ],
)
def test_what_is_simplified_is_proved(text: str) -> None:
    assert meaning(parse_text(f"alphabet: a b c\n{text}\n")) == (LinkProof("its hard heads = the formula"), None)
