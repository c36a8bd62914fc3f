"""The meaning of each constructor of formulas, compared with the definitions of the Rocq library word by word."""

from collections.abc import Iterator
from itertools import combinations, product

import pytest

from hardsim.proving.rocq_formula import meaning_of_file
from hardsim.verify.rocq.formulas import CONDITIONS, FORMULAS, INTEGERS, TERMS, meaning_of
from hardsim.verify.rocq.meanings import Meanings, NotStated
from hardsim.verify.rocq.text import BadRocq
from tests.support.language import Oracle, parse_text
from tests.support.mistakes import raised
from tests.support.rocq_definitions import holds, tree_of

HEAD = "alphabet: a b c\npred BELOW(i, n) = 2*i < n - 1\npred APART(i, n) = not (i == n or i div 2 != 1) and n > 2**2\n"
A, B = "(Atom 0)", "(Atom 1)"
PAIRS = [
    ("(Truth true)", "true"), ("(Truth false)", "false"), (A, "a"), ("First", "first"), ("Last", "last"),
    (f"(Not {A})", "!a"), (f"(And {A} {B})", "a & b"), (f"(Or {A} {B})", "a | b"), (f"(Xor {A} {B})", "a ^ b"),
    (f"(And (And {A} {B}) (Not First))", "a & (b & !first)"),
    (f"(Implies {A} {B})", "a -> b"), (f"(Equivalent {A} {B})", "a <-> b"), (f"(Yesterday {A})", "Y a"),
    (f"(WeakYesterday {A})", "WY a"), (f"(Once {A})", "O a"), (f"(Historically {A})", "H a"),
    (f"(Since {A} {B})", "a S b"), (f"(Since {B} {A})", "b S a"), (f"(Trigger {A} {B})", "a T b"),
    (f"(Trigger {B} {A})", "b T a"), (f"(Next {A})", "X a"), (f"(WeakNext {A})", "WX a"),
    (f"(Eventually {A})", "F a"), (f"(Always {A})", "G a"), (f"(Until {A} {B})", "a U b"),
    (f"(Until {B} {A})", "b U a"), (f"(Release {A} {B})", "a R b"), (f"(Release {B} {A})", "b R a"),
    (f"(WeakUntil {A} {B})", "a W b"), (f"(WeakUntil {B} {A})", "b W a"), (f"(StrongRelease {A} {B})", "a M b"),
    (f"(StrongRelease {B} {A})", "b M a"),
    (f"(AtMost (CountLeft {A}) (CountRight {B}))", "#L[a] <= #R[b]"),
    (f"(AtMost (Plus (CountLeft {A}) (Constant 1%Z)) (CountRight {B}))", "#L[a] < #R[b]"),
    (f"(Not (AtMost (CountLeft {A}) (CountRight {B})))", "#L[a] > #R[b]"),
    (f"(AtMost (CountRight {B}) (CountLeft {A}))", "#L[a] >= #R[b]"),
    (f"(Equal (CountAll {A}) (Times 2%Z (CountAll {B})))", "2 * #[b] = #[a]"),
    (f"(Not (Equal (CountAll {A}) Position))", "#[a] != pos"),
    (f"(AtMost (Plus (Times (-3)%Z Position) (Constant 5%Z)) (Plus Length (Times (-1)%Z (CountLeft {B}))))",
     "5 - 3*pos <= len - #L[b]"),
    ("(Holds (Eq (Mod X (Const 2%Z)) (Const 0%Z)) Position)", "EVEN"),
    ("(Holds (Eq (Mod X (Const 2%Z)) (Const 1%Z)) Length)", "ODD(len)"),
    (f"(Holds (Eq (Mod X (Const 3%Z)) (Const 2%Z)) (CountLeft {A}))", "#L[a] mod 3 = 2"),
    ("(Holds (Eq (Mod X (Const 3%Z)) (Const 1%Z)) Position)", "MOD(3, 1)"),
    ("(Holds (Prime X) (Plus Position (Constant 1%Z)))", "PRIME(pos + 1)"),
    ("(Holds (Square X) Position)", "SQUARE"), ("(Holds (PowerOf2 X) Position)", "POW2"),
    ("(Holds (Negated (Le (Sub Len (Const 1%Z)) (Mul (Const 2%Z) X))) Position)", "BELOW"),
    ("(Holds (Both (Negated (Either (Eq X Len) (Negated (Eq (Div X (Const 2%Z)) (Const 1%Z))))) "
     "(Le (Add (Mul (Const 4%Z) (Const 1%Z)) (Const 1%Z)) Len)) Position)", "APART"),
]  # fmt: skip


def words() -> Iterator[tuple[str, ...]]:
    """Yield all words of up to five symbols."""
    for n in range(1, 6):
        yield from product("abc", repeat=n)


@pytest.mark.parametrize(("rocq", "text"), PAIRS)
def test_a_constructor_means_an_operator(rocq: str, text: str) -> None:
    table, tree, file = Meanings(), tree_of(rocq), parse_text(f"{HEAD}{text}\n")
    assert meaning_of(tree, "formula", table, {}) == meaning_of_file(file, table).formula
    oracle = Oracle(file)
    for word in words():
        atoms = [{"abc".index(symbol)} for symbol in word]
        assert oracle.truth(word) == [holds(tree, atoms, i, {}) for i in range(1, len(word) + 1)], word


def test_every_constructor_is_compared() -> None:
    tried = " ".join(rocq for rocq, _ in PAIRS).replace("(", " ").replace(")", " ").split()
    assert {*FORMULAS, *TERMS, *CONDITIONS, *INTEGERS} <= {*tried}


def test_other_pairs_have_other_meanings() -> None:
    table = Meanings()
    found = [meaning_of(tree_of(rocq), "formula", table, {}) for rocq, _ in PAIRS]
    expected = [meaning_of_file(parse_text(f"{HEAD}{text}\n"), table).formula for _, text in PAIRS]
    assert found == expected
    assert [(PAIRS[a], PAIRS[b]) for a, b in combinations(range(len(PAIRS)), 2) if found[a] == found[b]] == []


def test_definitions_stand_for_their_bodies() -> None:
    text = "alphabet: a b\nlet k = 2\nlet t = k * #L[a] - pos\nlet p = t > 1\np & (O p | b)\n"
    table = Meanings()
    expected = meaning_of_file(parse_text(text), table)
    lets: dict[str, tuple[str, int]] = {}
    for name, sort, body in (
        ("let_0", "term", "Constant 2%Z"),
        ("let_1", "term", "Plus (Times 2%Z (CountLeft (Atom 0))) (Times (-1)%Z Position)"),
        ("let_2", "formula", "Not (AtMost let_1 (Constant 1%Z))"),
    ):
        lets[name] = sort, meaning_of(tree_of(body), sort, table, lets)
    assert tuple(meaning for _, meaning in lets.values()) == expected.lets
    assert meaning_of(tree_of("And let_2 (Or (Once let_2) (Atom 1))"), "formula", table, lets) == expected.formula
    error = raised(BadRocq, meaning_of, tree_of("And let_1 (Atom 0)"), "formula", table, lets)
    assert (error.start, error.end) == (4, 9)


@pytest.mark.parametrize(
    ("term", "sort"),
    [
        ("Since (Atom 0)", "formula"), ("Atom 0%Z", "formula"), ("Atom", "formula"), ("Truth 1", "formula"),
        ("Constant 1", "term"), ("Constant (1 # 1)", "term"), ("Atom 0", "term"), ("First First", "formula"),
        ("Unknown (Atom 0)", "formula"), ("[Atom 0]", "formula"), ("(Atom 0, Atom 1)", "formula"),
        ("Le X Position", "condition"), ("X", "term"), ("0", "formula"), ("true", "formula"),
        ("match First with Last end", "formula"), ("fun First", "formula"), ("let_0", "formula"), ("F", "formula"),
    ],
)  # fmt: skip
def test_a_term_of_another_type_is_refused(term: str, sort: str) -> None:
    raised(BadRocq, meaning_of, tree_of(term), sort, Meanings(), {})


def test_what_no_instance_states() -> None:
    for formula in ("F[1,3] a", "a S[0,2] b", "X[2] a"):
        raised(NotStated, meaning_of_file, parse_text(f"alphabet: a b\n{formula}\n"), Meanings())
    for condition in ("i ** n > 2", "i ** 65 > 2"):
        text = f"alphabet: a b\npred P(i, n) = {condition}\nP\n"
        raised(NotStated, meaning_of_file, parse_text(text), Meanings())


def test_deep_formulas_are_compared_without_recursion() -> None:
    deep, table = 4_000, Meanings()
    file = parse_text("alphabet: a b\n" + "Y " * deep + "a\n")
    text = "(Yesterday " * deep + "(Atom 0)" + ")" * deep
    found = meaning_of(tree_of(text), "formula", table, {})
    expected = meaning_of_file(file, table).formula
    assert found == expected
    other = meaning_of(tree_of(text.replace("Atom 0", "Atom 1")), "formula", table, {})
    assert [table.text(number, "ab") for number in table.difference(other, expected)] == ["b", "a"]
    assert table.text(found, "ab").startswith("Y Y Y")


def test_integers_are_compared_as_polynomials() -> None:
    table = Meanings()

    def same(one: str, other: str) -> bool:
        return len({meaning_of(tree_of(text), "condition", table, {}) for text in (one, other)}) == 1

    assert same("Le (Mul X (Add X Len)) (Const 0%Z)", "Le (Add (Mul X X) (Mul Len X)) (Const 0%Z)")
    assert same("Eq X Len", "Eq (Sub Len X) (Const 0%Z)")
    assert same("Negated (Le X Len)", "Le (Add Len (Const 1%Z)) X")
    assert not same("Negated (Eq X Len)", "Eq X Len")
    assert not same("Le X Len", "Le Len X")
    assert not same("Le (Div X Len) (Const 0%Z)", "Le (Div Len X) (Const 0%Z)")
    assert not same("Eq (Mod X (Const 2%Z)) (Const 0%Z)", "Eq (Mod X (Const 2%Z)) (Const 1%Z)")
    wide = "(Add " * 3 + "X" + "".join(f" (Mod X (Const {k}%Z)))" for k in range(2, 5))
    power = wide
    for _ in range(4):
        power = f"(Mul {power} {power})"
    raised(BadRocq, meaning_of, tree_of(f"Le {power} X"), "condition", table, {}, match="product of more than")
