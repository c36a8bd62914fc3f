"""The classes of regular languages: known languages with values derived by hand, random automata against the
definitions, and every witness checked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from hardsim.lang.automata import patterns
from hardsim.lang.automata.automaton import Automaton, explored
from hardsim.lang.automata.classes import Classification, classify
from hardsim.lang.automata.letters import SymbolClasses
from hardsim.lang.automata.of_formula import automaton_of_formula
from hardsim.lang.automata.witnesses import AFTER, BEFORE, BETWEEN, BLOCKS, POWERS, ClassWitness, holds_for
from tests.support.language import parse_regex, parse_text

J, R, LAST, L, DA = "J-trivial", "R-trivial", "R-trivial before the last symbol", "L-trivial", "DA"
SF, QA, NONE = "star-free", "quasi-aperiodic", "none of these"
CLASSES = (J, R, LAST, L, DA, SF, QA, NONE)
FORMS = {J: {AFTER, BEFORE}, R: {AFTER}, LAST: {AFTER}, L: {BEFORE}, DA: {BETWEEN}, SF: {POWERS}, QA: {BLOCKS}}
Function: TypeAlias = tuple[int, ...]
Table: TypeAlias = NDArray[np.intp]


def language(expression: str, alphabet: str) -> Automaton:
    """Return the automaton of an expression."""
    return parse_regex(f"alphabet: {' '.join(alphabet)}\n{expression}", "x.re").automaton


def checked(automaton: Automaton) -> Classification:
    """Return the classes of a language, with all witnesses checked; acceptance of the empty word changes nothing."""
    found = classify(automaton)
    assert [one.name for one in found.classes] == list(CLASSES)
    for one in found.classes:
        if one.name == NONE:
            assert one.holds == (not found[QA].holds)
            continue
        assert (one.witness is None) == one.holds
        if one.witness is not None:
            assert one.witness.form in FORMS[one.name]
            assert holds_for(automaton, one.witness)
            assert one.witness.z or one.name != LAST
    changed = Automaton(automaton.letters, automaton.moves, automaton.accepting ^ {0})
    # the first state may be entered again: a new first state accepts the empty word or does not
    fresh = explored(
        automaton.letters,
        -1,
        lambda state: automaton.moves[max(state, 0)],
        lambda state: (state < 0 and 0 not in automaton.accepting) or state in automaton.accepting,
    )
    entered = any(0 in row for row in automaton.moves)
    for other in [fresh] if entered else [fresh, changed]:
        assert classify(other).to_dict() == found.to_dict()
    return found


def smallest(found: Classification) -> set[str]:
    """Return the names of the classes that a language is in."""
    return {one.name for one in found.classes if one.holds}


IN_QA = {QA}
IN_SF = {SF, QA}
IN_DA = {DA, SF, QA}
IN_J = {J, R, LAST, L, DA, SF, QA}
KNOWN = [
    # Tomita's languages
    ("1*", "01", IN_J, 2, 2),
    ("(10)*", "01", IN_SF, 3, 6),
    ("!((.*0)?1(11)*(0.*1)?0(00)*(1.*)?)", "01", IN_QA, 5, None),
    ("!(.*000.*)", "01", IN_SF, 4, None),
    ("((00|11)|(01|10)(00|11)*(01|10))*", "01", {NONE}, 4, 4),
    ("(10|(0|11)(01)*(1|00))*", "01", {NONE}, 3, 3),
    ("0*1*0*1*", "01", IN_J, 5, None),
    # Dyck-1 to depth 1, 2 and 3
    ("(ab)*", "ab", IN_SF, 3, 6),
    ("(a(ab)*b)*", "ab", IN_SF, 4, 15),
    ("(a(a(ab)*b)*b)*", "ab", IN_SF, 5, 31),
    # others
    ("(b*ab*a)*b*", "ab", {NONE}, 2, 2),
    ("(aa)*", "a", IN_QA, 2, 2),
    ("(aa)*b", "ab", IN_QA, 4, 6),
    (".*si*", "sri", {L, *IN_DA}, 2, 3),
    ("a*b*", "ab", IN_J, 3, 5),
    ("a*", "ab", IN_J, 2, 2),
    ("a*", "a", IN_J, 1, 1),
    ("(.*a.*b.*)&!(.*c.*a.*)", "abc", IN_J, None, None),
    (".*a", "ab", {LAST, L, *IN_DA}, 2, 3),
    (".*[eh]", "abcdefgh", {LAST, L, *IN_DA}, 2, 3),
    ("a.*", "ab", {R, LAST, *IN_DA}, 3, 3),
    ("a.*a", "ab", {LAST, *IN_DA}, 4, 6),
    ("a.*bc*", "abc", IN_DA, 4, None),
    (".*ab.*", "ab", IN_J, 3, 5),
    (".*ab.*", "abc", IN_SF, 3, 6),
    ("(.a)*.?", "ab", IN_QA, 3, None),
    ("(..)*", "ab", IN_QA, 2, 2),
    ("(...)*", "ab", IN_QA, 3, 3),
    ("[^abc]", "abc", IN_J, 1, 1),
]


@pytest.mark.parametrize(("expression", "alphabet", "expected", "states", "elements"), KNOWN)
def test_known_languages(
    expression: str, alphabet: str, expected: set[str], states: int | None, elements: int | None
) -> None:
    """Known languages are in the classes derived here by hand.

    - Tomita 1 (only 1's) has no 0 as a subsequence. Tomita 7 has no subsequence 1010. Both are J-trivial, as is a*b*
      (no subsequence b a), a* and every Boolean combination of subsequences. The factor a b is the subsequence a b if
      there are only two symbols; a third symbol between them makes the difference.
    - Tomita 2, which is Dyck-1 to depth 1, has the monoid {1, a, b, ab, ba, 0}: aperiodic, but (ab)^k a (ab)^k is 0
      and (ab)^k is not, so it is not in DA. The same words are in and out of Dyck-1 to every depth n; its states are
      heights, which no word moves in a cycle. A word that goes down p and up q (p + q <= n) and ends d higher is known
      by p, q and d, which is from -p to q. With 0 there are 1 + 1 + 4 + ... + (n + 1)^2 elements.
    - Tomita 4 forbids a factor: its monoid is aperiodic, and (001)^k 000 (001)^k is out although (001)^k is in. The
      factor a b among three symbols is the same with (acb)^k.
    - In Tomita 3 (no odd run of 0's after an odd run of 1's), 1^k 0 is in for even k only: not star-free. A word that
      keeps the parity of a run apart has 1's only, or 0's only after an odd run of 1's, so its length tells the parity:
      quasi-aperiodic. So are (aa)*, (aa)*b, and all languages that ask for positions modulo a number.
    - In Tomita 5 (even numbers of 0's and of 1's), 00 changes nothing and 01 both parities. In Tomita 6 (as many 0's as
      1's modulo 3), 01 changes nothing and 00 adds 2. In PARITY, b changes nothing and a the parity. The two words have
      one length, so these are in none of the classes.
    - The flip-flop (the last symbol that is not i is s) and "the last symbol is a" have the monoid {1, x, y} with
      p q = q for p, q in {x, y}: L-trivial, since M x = {x} and M y = {y}, and not R-trivial, since x M = {x, y} = y M.
      Before the last symbol, "the last symbol is a" is all words or none, and the flip-flop before i is itself.
    - "The first symbol is a" is the mirror image: R-trivial and not L-trivial. "The first and the last symbol are a"
      (elements 1, a, b, ab, ba, aa) is neither, but before the last symbol it is "the first symbol is a". "The first
      symbol is a, and the last one that is not c is b" is neither, before the last symbol either; it is in DA, as a
      Boolean combination of languages in DA.
    """
    found = checked(language(expression, alphabet))
    assert smallest(found) == expected
    assert states in (None, found.states)
    assert elements in (None, found.monoid)


# ---- definitions ----


def products(moves: Sequence[Function]) -> list[Function]:
    """Return all functions of states that words compute, the identity first, given one for each letter."""
    found = {tuple(range(len(moves[0]))): None}
    waiting = list(found)
    while waiting:
        function = waiting.pop()
        for letter in moves:
            after = tuple(letter[state] for state in function)
            if after not in found:
                found[after] = None
                waiting.append(after)
    return list(found)


def syntactic(moves: Sequence[Function], accepting: frozenset[int]) -> tuple[Table, list[int]]:
    """Return the multiplication table of the syntactic monoid, the identity first, and the elements of the letters: two
    words are equivalent if they are accepted in the same contexts."""
    functions = np.array(products(moves))
    ends = functions[:, 0]
    # accepted[x, u, v]: the word u x v is in the language
    accepted = np.isin(functions[:, functions[:, ends]].transpose(1, 2, 0), list(accepting))
    _, first, number = np.unique(accepted.reshape(len(functions), -1), axis=0, return_index=True, return_inverse=True)
    place = {tuple(function): index for index, function in enumerate(functions.tolist())}

    def of(function: NDArray[np.intp]) -> int:
        return int(number[place[tuple(function.tolist())]])

    order = sorted(range(len(first)), key=lambda one: one != number[0])
    rank = {one: index for index, one in enumerate(order)}
    chosen = functions[first[order]]
    table = np.array([[rank[of(two[one])] for two in chosen] for one in chosen])
    return table, [rank[of(np.array(letter))] for letter in moves]


def idempotent_power(table: Table, element: int) -> int:
    """Return the power of an element that is idempotent."""
    power = element
    while table[power, power] != power:
        power = int(table[power, element])
    return power


def is_aperiodic(table: Table, elements: Sequence[int]) -> bool:
    """Tell whether x^(n+1) = x^n for all elements and some n."""
    return all(table[idempotent_power(table, x), x] == idempotent_power(table, x) for x in elements)


def is_trivial(ideals: Sequence[frozenset[int]]) -> bool:
    """Tell whether different elements generate different ideals."""
    return len(set(ideals)) == len(ideals)


def is_da(table: Table) -> bool:
    """Tell whether (x y z)^n y (x y z)^n = (x y z)^n for all elements, where n makes the power idempotent."""
    powers = np.array([idempotent_power(table, x) for x in range(len(table))])
    for y in range(len(table)):
        ideal = powers[np.unique(table[np.unique(table[:, y])])]  # (x y) z for all x and z
        if (table[table[ideal, y], ideal] != ideal).any():
            return False
    return True


def is_quasi_aperiodic(table: Table, letters: Sequence[int]) -> bool:
    """Tell whether for some s the semigroup generated by the words of length s is aperiodic."""
    exact, seen = frozenset(letters), set[frozenset[int]]()
    while exact not in seen:
        seen.add(exact)
        generated = set(exact)
        while more := set(table[np.ix_(list(generated), list(exact))].ravel().tolist()) - generated:
            generated |= more
        if is_aperiodic(table, sorted(generated)):
            return True
        exact = frozenset(int(table[x, letter]) for x in exact for letter in letters)
    return False


def is_r_trivial(table: Table) -> bool:
    """Tell whether different elements x generate different right ideals x M."""
    return is_trivial([frozenset(row.tolist()) for row in table])


def defined(moves: Sequence[Function], accepting: frozenset[int]) -> dict[str, bool]:
    """Return the classes of the language of an automaton, by their definitions; `moves` has one function a letter."""
    table, letters = syntactic(moves, accepting)
    quotients = [frozenset(state for state, target in enumerate(letter) if target in accepting) for letter in moves]
    found = {
        J: is_trivial([frozenset(table[table[:, x]].ravel().tolist()) for x in range(len(table))]),
        R: is_r_trivial(table),
        LAST: all(is_r_trivial(syntactic(moves, quotient)[0]) for quotient in quotients),
        L: is_r_trivial(table.T),
        DA: is_da(table),
        SF: is_aperiodic(table, range(len(table))),
        QA: is_quasi_aperiodic(table, letters),
    }
    return {**found, NONE: not found[QA]}


def random_automata(count: int, states: int, letters: int, seed: int) -> Iterator[Automaton]:
    """Yield random minimal automata with at most so many states."""
    rng = Random(seed)
    symbols = SymbolClasses.of(tuple("abc"[:letters]), "abc"[:letters])
    while count:
        size = rng.randint(3, states)
        # three kinds, so that all classes are frequent: any targets, later targets, and targets beside their state
        steps = rng.choice((range(-size, size + 1), (0, 0, 1, 2), (-1, 0, 1)))

        def target(state: int, steps: Sequence[int] = steps, size: int = size) -> int:
            return rng.randrange(size) if rng.random() < 0.1 else min(size - 1, max(0, state + rng.choice(steps)))

        moves = [[target(state) for _ in range(letters)] for state in range(size)]
        accepting = {state for state in range(size) if rng.random() < 0.5}
        found = explored(symbols, 0, moves.__getitem__, accepting.__contains__)
        if len(found.moves) > 2:
            count -= 1
            yield found


@pytest.mark.parametrize(("count", "states", "letters"), [(60, 4, 2), (50, 3, 3)])
def test_random_automata_match_the_definitions(count: int, states: int, letters: int) -> None:
    seen = set()
    for automaton in random_automata(count, states, letters, seed=1):
        found = {one.name: one.holds for one in checked(automaton).classes}
        assert found == defined(tuple(zip(*automaton.moves, strict=True)), automaton.accepting), automaton.moves
        seen.add(frozenset(name for name, holds in found.items() if holds))
    assert len(seen) >= 6  # no class follows from another by chance


@pytest.mark.parametrize("modulo", [2, 3])
def test_random_automata_with_lengths_modulo_a_number_match_the_definitions(modulo: int) -> None:
    """Lengths modulo a number hide which words of one length compute a group."""
    lengths, decided = language(f"(.{{{modulo}}})*", "ab"), set[bool]()
    for automaton in random_automata(40, 3, 2, seed=modulo):
        both = automaton.intersection(lengths)
        found = {one.name: one.holds for one in checked(both).classes}
        assert found == defined(tuple(zip(*both.moves, strict=True)), both.accepting), both.moves
        decided.add(found[QA] is True)
    assert decided == {True, False}


def test_long_searches_give_what_short_ones_give(monkeypatch: pytest.MonkeyPatch) -> None:
    automata = list(random_automata(60, 4, 2, seed=2))
    expected = [smallest(classify(automaton)) for automaton in automata]
    monkeypatch.setattr(patterns, "FEW_HELD", 0)
    assert [smallest(checked(automaton)) for automaton in automata] == expected
    assert sum(NONE in names for names in expected) > 5


# ---- formulas ----


def formula(rng: Random, operators: Sequence[str], depth: int) -> str:
    """Return a random formula over three symbols; each operator is written with two places, the second for the operand,
    or for both operands if it is binary."""
    if not depth or rng.random() < 0.1:
        return rng.choice("abc")
    one, two = formula(rng, operators, depth - 1), formula(rng, operators, depth - 1)
    return rng.choice([*operators, *operators, "({one}) & ({two})", "({one}) | !({two})"]).format(one=one, two=two)


EARLIER, LATER, SINCE, UNTIL = "Y O ({one})", "X F ({one})", "({one}) S ({two})", "({one}) U ({two})"


@pytest.mark.parametrize(
    ("operators", "at", "name", "smaller"),
    [
        ([EARLIER], "last", LAST, R),
        ([EARLIER, LATER], "last", DA, R),
        ([EARLIER, LATER], "first", DA, J),
        (["O ({one})", SINCE, "Y ({one})"], "last", SF, DA),
        (["F ({one})", UNTIL, "X ({one})"], "first", SF, DA),
        ([SINCE, "(EVEN & ({one}))"], "last", QA, SF),
    ],
)
def test_formulas_are_in_the_class_of_their_logic(operators: Sequence[str], at: str, name: str, smaller: str) -> None:
    """Formulas are in the class that the literature states for their operators, in hardsim's reading position."""
    rng, found = Random(1), list[Classification]()
    for _ in range(60):
        text = f"alphabet: a b c\nat: {at}\n{formula(rng, operators, 4)}\n"
        found.append(classify(automaton_of_formula(parse_text(text, "<text>"))))
        assert found[-1][name].holds, text
    assert any(not one[smaller].holds for one in found)


# ---- witnesses ----


def witness(expression: str, alphabet: str, name: str) -> ClassWitness:
    """Return the witness that a language is not in a class."""
    found = classify(language(expression, alphabet))[name].witness
    assert found is not None
    return found


def test_witnesses_are_short_and_read_well() -> None:
    said = {
        ("(ab)*", R): "(a b)^k is in the language and (a b)^k a is not, for every k >= 1; the inserted word a has only "
        "symbols of the repeated word",
        (".*a", R): "(a b)^k a is in the language and (a b)^k is not, for every k >= 1; the inserted word a has only "
        "symbols of the repeated word",
        ("(ab)*", L): "(a b)^k is in the language and b (a b)^k is not, for every k >= 1; the inserted word b has only "
        "symbols of the repeated word",
        ("(ab)*", DA): "(a b)^k is in the language and (a b)^k b (a b)^k is not, for every k >= 1; the inserted word b "
        "has only symbols of the repeated word",
        ("(aa)*b", SF): "a^k b is in the language if and only if k modulo 2 is 0, for every k >= 1",
        ("(b*ab*ab*a)*b*", QA): "x_1 ... x_m, where each x_i is a or b, is in the language if and only if the number "
        "of positions i with a as x_i modulo 3 is 0, for every m >= 1",
    }  # fmt: skip
    assert {key: witness(key[0], "ab", key[1]).text for key in said} == said


def test_words_of_one_length_are_found_where_letters_do_not_suffice() -> None:
    """Both a and b change the parity of the length, so only words of two letters fix the states of a cycle."""
    found = witness("((b*ab*a)*b*)&(..)*", "ab", QA)
    assert len(found.v) == len(found.w) == 2
    assert found.v.count("a") == 1
    assert found.w.count("a") != 1


def test_wrong_witnesses_are_refused() -> None:
    """No witness holds for a language whose class is refuted by none, nor with another word in its place."""
    for name, expression in ((R, "(ab)*"), (L, "(ab)*"), (DA, "(ab)*"), (SF, "(aa)*b"), (QA, "(b*ab*a)*b*")):
        found, automaton = witness(expression, "ab", name), language(expression, "ab")
        assert holds_for(automaton, found)
        assert not holds_for(automaton.complement(), found)
        assert not holds_for(language("a*b*", "ab"), found)
        wrong = [replace(found, v=()), replace(found, least=0), replace(found, z=(*found.z, "a"))]
        wrong.append(replace(found, accepted=found.accepted[:1] * 2))
        wrong += [replace(found, w=found.v)] if found.w else [replace(found, v=found.v * 2)]
        assert not any(holds_for(automaton, one) for one in wrong), name


# ---- limits ----


def test_a_monoid_beyond_the_limit_leaves_questions_undecided() -> None:
    """Dyck-1 to depth 4 has 56 elements: 1 + 1 + 4 + 9 + 16 + 25."""
    automaton = language("(a(a(a(ab)*b)*b)*b)*", "ab")
    found = classify(automaton, most=56)
    assert (found.monoid, found.reason, found[SF].holds) == (56, None, True)
    found = classify(automaton, most=50)
    assert (found.monoid, found.reason) == (None, "there are more than 50 elements")
    # words of even length lead from even heights to even heights, so that fewer elements decide this question
    assert (found[DA].holds, found[SF].holds, found[QA].holds) == (False, None, True)
    found = classify(automaton, most=5)
    undecided = {one.name: one.reason for one in found.classes if one.holds is None}
    assert undecided == dict.fromkeys((SF, QA, NONE), "there are more than 5 elements")
    # what the polynomial tests decide needs no monoid, nor do positions modulo a number
    assert classify(language("a*b*", "ab"), most=1)[SF].holds
    assert classify(language("(.{60})*a.*", "ab"), most=100)[QA].holds


def test_too_many_pairs_leave_questions_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MAX_PAIRS", 0)
    found = classify(language("(ab)*", "ab"))
    assert {one.name: one.holds for one in found.classes} == {
        J: False, R: False, LAST: False, L: None, DA: None, SF: True, QA: True, NONE: False,
    }  # fmt: skip
    assert found[DA].reason == "there are more than 0 pairs of states on cycles"
    assert classify(language("(aa)*b", "ab"))[DA].witness == classify(language("(aa)*b", "ab"))[SF].witness
    found = classify(language("a*b*", "ab"))
    assert (found[J].holds, found[R].holds, found[DA].holds) == (None, True, True)
