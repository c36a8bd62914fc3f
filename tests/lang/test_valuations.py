"""Propositions in place of symbols: the sets that they form, words of sets, and mistakes in either."""

import pickle
from itertools import chain, combinations, permutations, product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.lang.ast import Formula
from hardsim.lang.batch_oracle import BatchOracle
from hardsim.lang.ltl_parser import mentions_propositions
from hardsim.lang.semantics import check_examples
from hardsim.lang.valuations import (
    OTHER,
    Exclusion,
    Numbering,
    Valuations,
    everything,
    held_by,
    holds_at,
    propositions_of,
    sets_of,
)
from hardsim.lang.words import check_word, parse_word, written_word
from tests.support.definitions import formula_holds
from tests.support.language import (
    FormulaFile,
    InputError,
    Oracle,
    SourceError,
    format_file,
    parse_expression,
    parse_text,
)
from tests.support.strategies import all_words, formulas

PAIR = {"p", "q"}
PQ = ("{}", "{p}", "{q}", "{p,q}")


def subsets(names: str) -> list[frozenset[str]]:
    """Return all sets of some names."""
    return [frozenset(some) for size in range(len(names) + 1) for some in combinations(names, size)]


def held(symbol: str) -> frozenset[str]:
    """Return the propositions of a set, by a reader of the tests' own."""
    inside = symbol.removeprefix("{").removesuffix("}")
    return frozenset(inside.split(",")) if inside else frozenset()


# ---- the alphabet ----


def test_the_alphabet_is_all_sets_the_first_proposition_changing_fastest() -> None:
    file = parse_text("props: p q\nF p")
    assert file.alphabet == PQ
    assert isinstance(file.alphabet, Valuations)
    assert file.alphabet.props == ("p", "q")


@pytest.mark.parametrize(
    ("lines", "allowed"),
    [
        ("one-of: p q r", lambda some: len(some & {"p", "q", "r"}) == 1),
        ("at-most-one: p q r", lambda some: len(some & {"p", "q", "r"}) <= 1),
        ("one-of: p q\nat-most-one: q r s", lambda some: len(some & PAIR) == 1 and len(some & {"q", "r", "s"}) < 2),
        ("at-most-one: p q\none-of: r s", lambda some: len(some & PAIR) < 2 and len(some & {"r", "s"}) == 1),
        ("one-of: s", lambda some: "s" in some),
        (
            "one-of: p q\none-of: q r\nat-most-one: p s",
            lambda some: len(some & PAIR) == len(some & {"q", "r"}) == 1 and len(some & {"p", "s"}) < 2,
        ),
    ],
)  # fmt: skip
def test_constraints_leave_exactly_the_sets_that_fulfil_them(lines: str, allowed: object) -> None:
    assert callable(allowed)
    alphabet = parse_text(f"props: p q r s\n{lines}\nF p").alphabet
    assert {held(symbol) for symbol in alphabet} == {some for some in subsets("pqrs") if allowed(some)}
    assert len(set(alphabet)) == len(alphabet)


@pytest.mark.slow
def test_long_constraints_are_read_at_once() -> None:
    names = [f"s{k}" for k in range(2000)]
    assert len(Valuations(names, [Exclusion("one-of", tuple(names))])) == 2000
    assert len(Valuations(names, [Exclusion("at-most-one", tuple(names))])) == 2001


def test_declare_s_alphabet_of_activities_has_as_many_sets_as_activities() -> None:
    names = [f"act{number}" for number in range(58)]
    alphabet = Valuations(names, [Exclusion("one-of", tuple(names))])
    assert list(alphabet) == [f"{{{name}}}" for name in names]


def test_sets_survive_a_process_boundary() -> None:
    alphabet = Valuations(["p", "q"], [Exclusion("at-most-one", ("p", "q"))])
    again = pickle.loads(pickle.dumps(alphabet))
    assert (again, again.props, again.constraints) == (alphabet, alphabet.props, alphabet.constraints)


def test_a_proposition_is_known_by_where_it_holds() -> None:
    assert held_by({"{p}", "{p,q}"}, PQ) == "p"
    assert held_by({"{q}", "{p,q}"}, PQ) == "q"
    assert held_by({"{p,q}"}, PQ) is None
    assert held_by({"{}", "{q}"}, PQ) is None
    assert held_by({"p"}, ("p", "q")) is None
    assert held_by(Valuations(["p", "q"]).holding("q"), PQ) == "q"


def test_an_alphabet_that_only_looks_like_sets_is_none() -> None:
    assert sets_of(("{p}", "q")) is None
    assert sets_of(("{p,q}", "{q,p}")) is None
    assert sets_of(("{", "}")) is None
    assert sets_of(PQ) == {held(symbol): symbol for symbol in PQ}
    assert propositions_of(PQ) == ("p", "q")


def test_an_alphabet_that_is_never_listed_has_a_number_for_each_set() -> None:
    names = [f"p{k}" for k in range(58)]
    alphabet = Valuations(names, [Exclusion("one-of", ("p3", "p40")), Exclusion("at-most-one", ("p40", "p57"))])
    # Of p3, p40, p57 the propositions p3; p3 and p57; p40 are true. The others are free.
    assert len(alphabet) == 2**55 * 3
    for number in (0, 1, 12345678901234567, len(alphabet) - 1, -1):
        symbol = alphabet[number]
        assert symbol in alphabet
        assert alphabet.index(symbol) == number % len(alphabet)
        assert (("p3" in held(symbol)) + ("p40" in held(symbol)), {"p40", "p57"} <= held(symbol)) == (1, False)
    assert [some in alphabet for some in ("{p3,p57}", "{p3,p40}", "{p57,p3}", "p3", "{x}")] == [True] + [False] * 4
    with pytest.raises(IndexError):
        alphabet[len(alphabet)]
    with pytest.raises(ValueError, match="is not in the alphabet"):
        alphabet.index("{x}")


def test_sets_are_equal_by_what_is_declared_and_to_their_list() -> None:
    assert Valuations(["p", "q"]) == Valuations(["p", "q"]) == PQ
    assert Valuations(["p", "q"]) != Valuations(["q", "p"])
    assert Valuations(["p", "q"]) != Valuations(["p", "q"], [Exclusion("one-of", ("p", "q"))])
    assert hash(Valuations(["p", "q"])) == hash(Valuations(["p", "q"]))
    assert Valuations(["p", "q"])[1:3] == ("{p}", "{q}")


@pytest.mark.parametrize("lines", ["", "one-of: p q\n", "at-most-one: q r\none-of: r s\n"])
def test_the_numbers_of_sets_are_their_places_and_say_what_holds(lines: str) -> None:
    alphabet = parse_text(f"props: p q r s\n{lines}F p").alphabet
    assert isinstance(alphabet, Valuations)
    numbers = np.arange(len(alphabet))
    assert [alphabet.index(symbol) for symbol in alphabet] == numbers.tolist()
    for name in alphabet.props:
        found = holds_at(alphabet.holding(name), alphabet, numbers)
        assert found.tolist() == [int(name in held(symbol)) for symbol in alphabet]
    assert holds_at(everything(alphabet), alphabet, numbers).all()
    assert not holds_at(frozenset(), alphabet, numbers).any()
    assert all(symbol in alphabet for symbol in alphabet.simple())
    expected = [symbol for symbol in alphabet if "p" in held(symbol) and "s" not in held(symbol)]
    assert alphabet.fitting({"p": 1, "s": 0}) == next(iter(expected), None)
    for assigned in (dict(zip("pqrs", values, strict=True)) for values in product((0, 1), repeat=4)):
        fits = (symbol for symbol in alphabet if all((name in held(symbol)) == on for name, on in assigned.items()))
        assert alphabet.fitting(assigned) == next(fits, None)


# ---- words ----


@pytest.mark.parametrize("text", ["{p,q}{}{p}", "{p,q} {} {p}", "{q,p}{}{p}", "{ q , p }{ }{p}", " {q,p}\t{}  {p} "])
def test_words_of_sets_are_read_in_any_order_and_written_in_one(text: str) -> None:
    alphabet = parse_text("props: p q\nF p").alphabet
    word = parse_word(text, alphabet)
    assert word == ("{p,q}", "{}", "{p}")
    assert written_word(word, alphabet) == "{p,q}{}{p}"
    assert parse_word(written_word(word, alphabet), alphabet) == word
    assert check_word(["{q,p}", "{}", "{p}"], alphabet) == word


@given(st.lists(st.frozensets(st.sampled_from(["p", "q", "r-1", "(", "'"])), min_size=1, max_size=6), st.randoms())
def test_every_word_of_sets_is_read_back(word: list[frozenset[str]], rng: Random) -> None:
    alphabet = Valuations(["p", "q", "r-1", "(", "'"])
    rows = [list(some) for some in word]
    for row in rows:
        rng.shuffle(row)
    found = parse_word("".join(f"{{{','.join(row)}}}" for row in rows), alphabet)
    assert [held(symbol) for symbol in found] == word
    assert parse_word(written_word(found, alphabet), alphabet) == found


def test_a_line_of_examples_is_one_word() -> None:
    file = parse_text("props: p q\naccept: {q} {q,p}\naccept: {p}\nreject: {}{q}\nat: last\np")
    assert [(one.word, one.accept) for one in file.examples] == [
        (("{q}", "{p,q}"), True),
        (("{p}",), True),
        (("{}", "{q}"), False),
    ]
    check_examples(file)


@pytest.mark.parametrize(
    ("text", "place", "message", "rest"),
    [
        ("{p}{x}", (5, 6), "unknown proposition 'x'", "a proposition (p q rest)"),
        ("{p}{ret}", (5, 8), "unknown proposition 'ret'", "did you mean rest?"),
        ("{p q}", (2, 5), "unknown proposition 'p q'", "separated by commas"),
        ("{p,p}", (4, 5), "p is in this set twice", "leave one out"),
        ("{p,}", (4, 5), "a proposition is missing here", "leave out the comma"),
        ("{,p}", (2, 3), "a proposition is missing here", "leave out the comma"),
        ("{p}{q", (4, 6), "this brace is never closed", "shells expand braces"),
        ("{p}}", (4, 5), "this brace closes nothing", "sets of propositions"),
        ("{p}q", (4, 5), "'q' is not a set", "write {q}"),
        ("z", (1, 2), "'z' is not a set", "shells expand braces"),
        ("{p,q}{q}", (1, 6), "{p,q} violates at-most-one: p q", "a set in which at most one of p, q holds"),
        (" ", (1, 2), "the empty word is not allowed", "Words are non-empty"),
    ],
)
def test_a_mistake_in_a_word_is_reported_at_its_place(
    text: str, place: tuple[int, int], message: str, rest: str
) -> None:
    alphabet = parse_text("props: p q rest\nat-most-one: p q\nF p").alphabet
    with pytest.raises(SourceError) as caught:
        parse_word(text, alphabet)
    error = caught.value
    assert error.message == message
    assert (error.span.start + 1, error.span.end + 1) == place
    assert rest in f"{error.expected} {error.hint}"


def test_symbols_that_are_given_one_by_one_must_be_in_the_alphabet() -> None:
    alphabet = parse_text("props: p q\none-of: p q\nF p").alphabet
    with pytest.raises(InputError, match="violates one-of: p q") as caught:
        check_word(["{p}", "{}"], alphabet)
    assert "exactly one of p, q holds" in caught.value.hint
    with pytest.raises(InputError, match="is not a set"):
        check_word(["p"], alphabet)


def test_plain_alphabets_of_sets_say_which_sets_they_have() -> None:
    with pytest.raises(SourceError) as caught:
        parse_word("{p,q}", ("{}", "{p}", "{q}"))
    assert caught.value.message == "{p,q} is not a set of the alphabet"
    assert caught.value.expected == "symbols of the alphabet: {} {p} {q}"


# ---- files ----


@pytest.mark.parametrize(
    ("text", "cited", "message", "rest"),
    [
        ("alphabet: a b\nprops: p q\nF p", "props", "the file has both props: and alphabet:", "remove one of the two"),
        ("props: p q\nalphabet: a b\nF p", "props", "the file has both props: and alphabet:", "(alphabet: is line 2)"),
        ("props: p q p\nF p", "p", "duplicate proposition p", "remove one of the two"),
        ("props:\nF p", "\n", "there is no proposition on this line", "as in props: p q"),
        ("props: p, q\nF p", "p,", "'p,' is not a proposition", "Separate propositions by spaces"),
        ("props: {p} q\nF p", "{p}", "'{p}' is not a proposition", "no comma and no brace"),
        ("props: p q\nprops: r\nF p", "props", "duplicate header line props:", "remove one of the two lines"),
        ("props: prime q\none-of: pirme q\nF q", "pirme", "unknown proposition 'pirme'", "did you mean prime?"),
        ("props: p q\nat-most-one: p z\nF p", "z", "unknown proposition 'z'", "declare it as well: props: p q z"),
        ("props: p q\none-of: p p\nF p", "p", "duplicate proposition p", "remove one of the two"),
        ("props: p q\none-of:\nF p", "\n", "there is no proposition on this line", "as in one-of: p q"),
        ("alphabet: a b\none-of: a b\nF a", "one-of", "one-of: without props:", "write props: a b above it"),
        ("props: p q\none-of: p\none-of: q\nat-most-one: p q\np", "p q", "no set of propositions", "Leave one of them"),
        ("props: p q\nF r", "r", "unknown proposition or name 'r'", "a proposition (p q)"),
        ("props: p q\nF 'r'", "'r'", "unknown proposition 'r'", "a proposition (p q)"),
        ("props: p q\nlet p = q\nF p", "p", "p is a proposition", "choose another name"),
        ("props: p q\nF 1", "1", "unknown proposition '1'", "a proposition (p q) or a formula"),
        ("props: p q\naccept: {p}{z}\nF p", "z", "unknown proposition 'z'", "a proposition (p q)"),
        ("props: p q\naccept: pq\nF p", "pq", "'pq' is not a set", "sets of propositions, as in {}{p}"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_reported_at_its_place(text: str, cited: str, message: str, rest: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_text(text)
    error = caught.value
    assert error.message.startswith(message)
    assert error.source.text[error.span.start : error.span.end] == cited
    assert rest in f"{error.expected} {error.hint}"


def test_too_many_sets_are_refused_with_the_limit() -> None:
    names = [f"p{k}" for k in range(63)]
    assert len(parse_text(f"props: {' '.join(names[:62])}\nF p0").alphabet) == 2**62
    with pytest.raises(SourceError, match=r"these 63 propositions make more than 4,611,686,018,427,387,904") as caught:
        parse_text(f"props: {' '.join(names)}\nF p0")
    assert "State which propositions exclude each other (one-of, at-most-one)." in caught.value.hint
    assert len(parse_text(f"props: {' '.join(names)}\none-of: p0 p1\nF p0").alphabet) == 2**62


def test_too_many_sets_of_connected_propositions_are_refused_before_they_are_made() -> None:
    chain_of_pairs = [Exclusion("at-most-one", (f"p{k}", f"p{k + 1}")) for k in range(59)]
    with pytest.raises(InputError, match="leave more than 4,096 sets of p0"):
        Valuations([f"p{k}" for k in range(60)], chain_of_pairs)


@pytest.mark.parametrize(
    "text",
    [
        "props: p q\none-of: p q\nat-most-one: q p\naccept: {p}{q}\nreject: {q}\nlet x = O p\nx & Y true\n",
        "props: U ( '''q''' a-b\naccept: {U,(}{}{a-b}\n'U' & '(' | !'''q''' & 'a-b'\n",
        "props: p q\nat: first\nsource: nobody\nG(p -> F q)\n",
    ],
)
def test_a_printed_file_is_read_as_the_same(text: str) -> None:
    file = parse_text(text)
    again = parse_text(format_file(file))
    assert again == file
    assert isinstance(again.alphabet, Valuations)
    assert isinstance(file.alphabet, Valuations)
    assert again.alphabet.constraints == file.alphabet.constraints
    assert format_file(again) == format_file(file)


# ---- propositions that are not declared ----


def test_the_propositions_of_a_bare_formula_are_those_that_it_mentions() -> None:
    file = parse_text("G(req -> F ack_1) & !_err\n", props="auto")
    assert file.alphabet == Valuations(["req", "ack_1", "_err"])
    assert mentions_propositions(file)
    expression = parse_expression("b S a & first", None, props="auto")
    assert propositions_of(expression.alphabet) == ("b", "a")


def test_where_no_proposition_is_mentioned_the_empty_set_is_the_only_symbol() -> None:
    assert list(parse_text("G F true", props="auto").alphabet) == ["{}"]
    assert list(parse_expression("X[!] last", None, props="auto").alphabet) == ["{}"]


def test_names_and_quoted_words_are_distinguished_from_propositions() -> None:
    text = "let sent = O req\npred half(i, n) = 2*i == n\nsent & half(pos) & 'G' & #L[ack] > 2 & req\n"
    assert propositions_of(parse_text(text, props="auto").alphabet) == ("req", "G", "ack")


def test_what_a_file_declares_wins() -> None:
    assert parse_text("alphabet: a b\nF a", props="auto").alphabet == ("a", "b")
    assert propositions_of(parse_text("props: b a\nF a", props="auto").alphabet) == ("b", "a")
    assert not mentions_propositions(parse_text("props: b a\nF a", props="auto"))


@pytest.mark.parametrize(
    ("text", "message"),
    [("F 2nd", "no proposition is mentioned here"), ("req & 2nd", "unknown proposition or name '2nd'")],
)
def test_what_is_no_proposition_is_not_read_as_one(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parse_text(text, props="auto")


def test_too_many_mentioned_propositions_are_refused() -> None:
    with pytest.raises(SourceError, match="these 63 propositions make more than"):
        parse_text(" & ".join(f"p{k}" for k in range(63)), props="auto")


@pytest.mark.parametrize(
    ("alphabet", "props", "message"),
    [
        (None, None, "does not determine the alphabet: it names no symbol"),
        ("a b", "p q", "symbols and propositions are both given"),
        (None, "", "there are no propositions"),
        (None, "p p", "the proposition p is given twice"),
        (None, "p {q}", "'{q}' is not a proposition"),
        (None, ["p", "\x1b"], "is not a proposition: it contains the control character"),
        (None, ["p", "a\tb"], "is not a proposition"),
    ],
)
def test_a_formula_alone_has_symbols_or_propositions(
    alphabet: str | None, props: str | list[str] | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        parse_expression("true", alphabet, props=props)


@pytest.mark.parametrize(
    ("text", "alphabet"),
    [("a S b", "a b"), ("b S (a | P1)", "b a P1"), ("Q_x S Q_y", "x y"), ("'(' S ')'", "( )"), ("GFa -> b", "a b")],
)
def test_a_formula_alone_has_its_own_symbols(text: str, alphabet: str) -> None:
    file = parse_expression(text, None)
    assert (file.alphabet, file.formula) == (tuple(alphabet.split()), parse_expression(text, alphabet).formula)
    assert file.readings[-1].startswith(
        f"no alphabet was given, so it consists of the symbols of the formula: {alphabet}"
    )


@pytest.mark.parametrize("text", ["O a", "true", "#L['x'] > 0 & x", "0 S 1"])
def test_less_than_two_symbols_are_no_alphabet(text: str) -> None:
    with pytest.raises(InputError, match="does not determine the alphabet") as raised:
        parse_expression(text, None)
    assert "--alphabet" in raised.value.hint


def test_what_gave_the_alphabet_is_known() -> None:
    assert parse_text("F p", props="auto").supplied == ("props", "auto")
    assert parse_text("F p", props=["p", "q"]).supplied == ("props", "p q")
    assert parse_text("F p", alphabet="p q").supplied == ("alphabet", "p q")
    assert parse_text("props: p\nF p", props="p").supplied is None


# ---- the meaning ----


@given(formulas("pq", 3))
def test_the_oracles_answer_as_the_definitions_on_random_formulas(formula: Formula) -> None:
    file = FormulaFile(Valuations(["p", "q"]), formula)
    one, many = Oracle(file), BatchOracle(file)
    for word in all_words(PQ, 3):
        sets = tuple(map(held, word))
        expected = [formula_holds(file.formula, sets, i) for i in range(1, len(word) + 1)]
        assert one.truth(word) == expected
        assert many.truth(many.symbols([word])).tolist() == [expected]


def test_propositions_whose_names_contain_each_other_stay_distinct() -> None:
    names = ["a", "ab", "b.", "(a"]
    for name, symbol in product(names, Valuations(names)):
        file = parse_expression(f"'{name}'", None, props=names)
        assert Oracle(file).accepts((symbol,)) is (name in held(symbol))
        many = BatchOracle(file)
        assert many.accepts(many.symbols([(symbol,)])).tolist() == [name in held(symbol)]


def test_every_order_of_a_set_is_the_same_symbol() -> None:
    alphabet = Valuations("pqr")
    orders = chain.from_iterable(permutations(some) for some in subsets("pqr"))
    assert all(parse_word(f"{{{','.join(order)}}}", alphabet) == parse_word(f"{{{','.join(sorted(order))}}}", alphabet)
               for order in orders)  # fmt: skip


MANY = tuple(chr(32 + number) for number in range(OTHER + 40))
"""More characters than have a byte each, some of them beyond Latin-1."""


@pytest.mark.parametrize(
    ("alphabet", "symbols"),
    [
        (("a", "b", "0"), "ab0"),
        (("a", "bb", "\N{EURO SIGN}"), ("a", "bb", "\N{EURO SIGN}")),
        (MANY, (*MANY[:5], *MANY[-70:])),
        (Valuations(("p", "q")), ("{}", "{q}", "{q,p}")),
    ],
)
def test_words_become_rows_of_numbers(alphabet: tuple[str, ...], symbols: tuple[str, ...]) -> None:
    numbers, rng = Numbering(alphabet), Random(0)
    words = [tuple(rng.choice(symbols) for _ in range(50)) for _ in range(6)]
    listed = list(alphabet)
    expected = [[listed.index(numbers.own(symbol)) for symbol in word] for word in words]
    assert numbers.rows(words).tolist() == expected
    assert numbers.rows(words).dtype == np.int64
    assert numbers.rows([(), ()]).shape == (2, 0)


@pytest.mark.parametrize("word", ["abx", ("a", "b", "\N{EURO SIGN}"), ("a", "b", "ab"), ("a", "b", "\xff")])
def test_a_symbol_outside_the_alphabet_has_no_number(word: tuple[str, ...]) -> None:
    with pytest.raises(KeyError):
        Numbering(("a", "b")).rows(["aba", word])
