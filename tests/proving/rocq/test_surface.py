"""Tests of the user's formula as Rocq text: every expected text was written by hand from the library's definitions."""

import pytest

from hardsim.errors import InputError
from hardsim.lang.ltl_parser import parse_text
from hardsim.lang.predicate import user_predicates
from hardsim.proving.rocq.conditions import IntegerText, condition, multiple
from hardsim.proving.rocq.surface import formula_text


def written(formula: str, head: str = "alphabet: a b\n") -> str:
    """Return the body of the definition of F."""
    text = formula_text(parse_text(f"{head}{formula}\n")).splitlines()[-1]
    return text.removeprefix("Definition F : formula := ").removesuffix(".")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("a S b", "(Since (Atom 0) (Atom 1))"),
        ("!a T b", "(Trigger (Not (Atom 0)) (Atom 1))"),
        ("a U b", "(Until (Atom 0) (Atom 1))"),
        ("a R b", "(Release (Atom 0) (Atom 1))"),
        ("a W b", "(WeakUntil (Atom 0) (Atom 1))"),
        ("a M b", "(StrongRelease (Atom 0) (Atom 1))"),
        ("X WX Y WY a", "(Next (WeakNext (Yesterday (WeakYesterday (Atom 0)))))"),
        ("F G O H a", "(Eventually (Always (Once (Historically (Atom 0)))))"),
        ("a & b & first", "(And (And (Atom 0) (Atom 1)) First)"),
        ("a | last | true", "(Or (Or (Atom 0) Last) (Truth true))"),
        ("a ^ b", "(Xor (Atom 0) (Atom 1))"),
        ("a -> (b -> a)", "(Implies (Atom 0) (Implies (Atom 1) (Atom 0)))"),
        ("a <-> b", "(Equivalent (Atom 0) (Atom 1))"),
        ("#L[a] <= #[b]", "(AtMost (CountLeft (Atom 0)) (CountAll (Atom 1)))"),
        ("#R[a] >= 2", "(AtMost (Constant 2%Z) (CountRight (Atom 0)))"),
        ("pos < len", "(AtMost (Plus Position (Constant 1%Z)) Length)"),
        ("pos > 3", "(AtMost (Plus (Constant 3%Z) (Constant 1%Z)) Position)"),
        ("#L[a] = 2*#L[b] - 1",
         "(Equal (CountLeft (Atom 0)) (Plus (Times 2%Z (CountLeft (Atom 1))) (Times (-1)%Z (Constant 1%Z))))"),
        ("pos != -len", "(Not (Equal Position (Times (-1)%Z Length)))"),
        ("pos * (1 + 2) >= 1", "(AtMost (Constant 1%Z) (Times 3%Z Position))"),
        ("#L[a] mod 3 = 2", "(Holds (Eq (Mod X (Const 3%Z)) (Const 2%Z)) (CountLeft (Atom 0)))"),
        ("EVEN & ODD(#L[b])",
         "(And (Holds (Eq (Mod X (Const 2%Z)) (Const 0%Z)) Position) "
         "(Holds (Eq (Mod X (Const 2%Z)) (Const 1%Z)) (CountLeft (Atom 1))))"),
        ("PRIME | SQUARE", "(Or (Holds (Prime X) Position) (Holds (Square X) Position))"),
        ("POW2(len)", "(Holds (PowerOf2 X) Length)"),
    ],
)  # fmt: skip
def test_operators(formula: str, expected: str) -> None:
    assert written(formula) == expected


def test_propositions_are_atoms_in_the_order_of_their_declaration() -> None:
    assert written("q & p", "props: p q\n") == "(And (Atom 1) (Atom 0))"


def test_definitions_keep_their_names_in_comments_and_their_order() -> None:
    head = "alphabet: a b\nlet two = 1 + 1\nlet many = two*#L[a] >= 3\n"
    assert formula_text(parse_text(f"{head}many S b\n")).splitlines() == [
        "(* let two *)",
        "Definition let_0 : term := (Plus (Constant 1%Z) (Constant 1%Z)).",
        "(* let many *)",
        "Definition let_1 : formula := (AtMost (Constant 3%Z) (Times 2%Z (CountLeft (Atom 0)))).",
        "Definition F : formula := (Since let_1 (Atom 1)).",
    ]


def test_own_predicates() -> None:
    head = "alphabet: a b\npred HALF(x, n) = 2*x <= n and not x = 1 or -x > n div 2\n"
    left = "(Both (Le (Mul (Const 2%Z) X) Len) (Negated (Eq X (Const 1%Z))))"
    right = "(Negated (Le (Sub (Const 0%Z) X) (Div Len (Const 2%Z))))"
    assert written("HALF", head) == f"(Holds (Either {left} {right}) Position)"


def test_constants_of_conditions_are_computed_as_the_checker_computes_them() -> None:
    file = parse_text("alphabet: a b\npred TWICE(x, n) = 2*x - 1 = n mod 5\nTWICE\n")
    users = user_predicates(file)
    # 2*4 - 1 = 7; a remainder is not computed.
    assert condition("TWICE", (), IntegerText.of(4), users) == "(Eq (Const 7%Z) (Mod Len (Const 5%Z)))"
    assert condition("MOD", (3, 1), IntegerText.of(-4), {}) == "(Eq (Mod (Const (-4)%Z) (Const 3%Z)) (Const 1%Z))"
    assert multiple(0, IntegerText("X"), 5).text == "(Const 5%Z)"
    assert multiple(-2, IntegerText("X"), 1).text == "(Add (Mul (Const (-2)%Z) X) (Const 1%Z))"


@pytest.mark.parametrize(
    ("formula", "part"),
    [
        ("F[1,3] a", "the operator F[1,3], which has bounds"),
        ("Y[2] a", "the operator Y[2,2], which has bounds"),
        ("a S[0,1] b", "the operator S[0,1], which has bounds"),
    ],
)
def test_what_the_library_does_not_have_is_refused_by_name(formula: str, part: str) -> None:
    with pytest.raises(InputError) as caught:
        written(formula)
    assert part in str(caught.value)


def test_definitions_that_grow_too_large_are_refused_by_name() -> None:
    # Each doubles the one before and adds an operator: 2^(k + 1) - 1 operators and atoms, above 100,000 for k = 16.
    lets = "let f0 = a\n" + "".join(f"let f{k} = f{k - 1} S f{k - 1}\n" for k in range(1, 17))
    with pytest.raises(InputError, match="let f16, which has more than 100,000 operators"):
        written("f16", f"alphabet: a b\n{lets}")
    smaller = lets.replace("let f16 = f15 S f15\n", "")
    assert written("f15", f"alphabet: a b\n{smaller}") == "let_15"
    with pytest.raises(InputError, match="this formula, which has more"):
        written("f15 S f15", f"alphabet: a b\n{smaller}")


def test_a_deep_formula_needs_no_stack() -> None:
    assert written("!" * 4_999 + "a").startswith("(Not (Not ")
