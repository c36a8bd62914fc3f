"""Spellings of other tools, bounded operators and dialects, compared with definitions that share nothing with them."""

import re
from itertools import product

import pytest

from hardsim.lang import ast
from hardsim.lang.batch_oracle import BatchOracle
from hardsim.lang.ltl_parser import DIALECT_HINT, MIXED_NOTE
from hardsim.lang.valuations import MENTIONED, propositions_of
from tests.support.definitions import formula_holds
from tests.support.language import (
    InputError,
    Oracle,
    SourceError,
    Unsupported,
    desugar,
    format_file,
    format_formula,
    parse_expression,
    parse_text,
)
from tests.support.mistakes import raised
from tests.support.strategies import all_words

A, B = ast.Symbol("a"), ast.Symbol("b")
WORDS = all_words("ab", 6)


def tree(text: str, alphabet: str = "a b c", dialect: str | None = None) -> ast.Formula:
    return parse_expression(text, alphabet, dialect=dialect).formula


# ---- spellings ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("True & TRUE & tt", "true & true & true"),
        ("False | FALSE | ff", "false | false | false"),
        ("start", "first"),
        ("GFa", "G F a"),
        ("XXa", "X X a"),
        ("Xa U Fb", "(X a) U (F b)"),
        ("[]<>a", "G F a"),
        ("GF(a)", "G F (a)"),
        ("NwXWXa", "WX WX WX a"),
        ("ZWYa", "WY WY a"),
        ("GX[!]a", "G X a"),
        ("XQ_a", "X a"),
        ("X'a'", "X a"),
        ("GFtrue", "G F true"),
        ("Otrue & Hstart", "O true & H first"),
        ("FEVEN", "F EVEN"),
        ("Xpos > 2", "X (pos > 2)"),
        ("{a} -> { b }", "a -> b"),
        ("once {a} & historically b", "O a & H b"),
        ("{a} since {b}", "a S b"),
        ("prev a", "Y a"),
        ("pre{a}", "Y a"),
        ("historically[:2]{a}", "H[0,2] a"),
        ("a S[:3] b", "a S[0,3] b"),
        ("○○a | ◯ b", "X X a | X b"),
        (r"a /\ b \/ c", "a & b | c"),
        ("NOT a AND b OR c", "!a & b | c"),
        ("NOT a AND b XOR c", "!a & b ^ c"),
        ("a implies b", "a -> b"),
        ("a IMPLIES (b IMP c)", "a -> (b -> c)"),
        ("a iff b EQUIV c BIIMP a IFF b", "a <-> b <-> c <-> a <-> b"),
        ('"a" U G"b"', "a U G b"),
        ("!a U b -> c", "((!a) U b) -> c"),
        ("a R b & a", "(a R b) & a"),
        ("a & b -> c", "(a & b) -> c"),
        ("a | b & c <-> a", "(a | (b & c)) <-> a"),
        ("once[2:4] a", "O[2,4] a"),
        ("GF[0,3]a", "G F[0,3] a"),
        ("<>[0..3]a", "F[0,3] a"),
        ("F [ 0 , 3 ] a", "F[0,3] a"),
        ("a -> b <-> c", "(a -> b) <-> c"),
        ("a <-> b -> c", "a <-> (b -> c)"),
        ("a -> b <-> b <-> a -> c", "(a -> b) <-> (b <-> (a -> c))"),
    ],
)
def test_spellings(text: str, expected: str) -> None:
    assert tree(text) == tree(expected)


@pytest.mark.parametrize(
    ("alphabet", "text", "names"),
    [
        ("tt True a", "tt & True", {"tt", "True"}),
        ("start once", "start & once", {"start", "once"}),
        ("since prev", "since S prev", {"since", "prev"}),
        ("pre iff NOT AND", "pre & iff | NOT & AND", {"pre", "iff", "NOT", "AND"}),
        ("Xa GF", "Xa & GF", {"Xa", "GF"}),
        ("{a} a", "'{a}' & a", {"{a}", "a"}),
    ],
)
def test_new_spellings_yield_to_symbols(alphabet: str, text: str, names: set[str]) -> None:
    assert {node.name for node in ast.walk(tree(text, alphabet)) if isinstance(node, ast.Symbol)} == names


def test_new_spellings_yield_to_names() -> None:
    head = (
        "alphabet: a b\nlet tt = a\nlet once = b\nlet Xa = a & b\npred start(i, n) = i == 2\npred FF(i, n) = i == 3\n"
    )
    file = parse_text(f"{head}tt & once & Xa & start & FF")
    shown = {node.name for node in ast.walk(file.formula) if isinstance(node, ast.Ref | ast.Predicate)}
    assert shown == {"tt", "once", "Xa", "start", "FF"}
    # before its definition tt is already the name, so this use is a mistake and no constant
    raised(SourceError, parse_text, "alphabet: a b\nlet x = tt\nlet tt = a\nx", match="'tt' is defined later")


@pytest.mark.parametrize(
    ("text", "alphabet", "under", "message", "hint"),
    [
        ("XXa", "a Xa", "XXa", "'XXa' can be read as X Xa or as X X a", ""),
        ("GFz", "a b", "GFz", "unknown symbol or name 'GFz'", ""),
        ("{z}", "a b", "z", "unknown symbol or name 'z'", ""),
        ("{a & b}", "a b", "{", "unknown operator {",
         "use round brackets: ( ); braces contain one proposition alone, as in {p}"),
        ("{a} & b", "{a} a b", "{a}", "unknown operator {a}", "the symbol {a} is written '{a}'"),
        ("F[3,1] a", "a", "[3,1]", "no position is within the bounds [3,1]", ""),
        ("F[3] a", "a", "[3]", "invalid bounds for F: [3]", "write F[0,3] or F[3,3]"),
        ("X[1,2] a", "a", "[1,2]", "invalid bounds for X: [1,2]", ""),
        ("F[0,-1] a", "a", "[0,-1]", "invalid bounds for F: [0,-1]", ""),
        ("F[,] a", "a", "[,]", "invalid bounds for F: [,]", ""),
        ("X[:2] a", "a", "[:2]", "invalid bounds for X: [:2]", ""),
        ("a & b then b", "a b", "then", "unknown operator then", "then is written ->"),
        ("a THEN b", "a b", "THEN", "unknown operator THEN", "then is written ->"),
        ("a >> b", "a b", ">>", "unknown operator >>", ">> is written ->"),
        ("()a", "a", ")", "nothing between the brackets", "() of other tools is written X"),
        ('"a & a', "a", '"', "this quote is never closed", ""),
        ("p=1 & p", "p", "p", "p is a formula, and a number is needed here",
         "= compares numbers; equivalence is written <->, p=1 is written p, and p=0 is written !p"),
        ("1 U a", "a", "1", "unknown symbol '1'", "1 is not a truth value: write true"),
        ("a U b R a", "a b", "R", "two different temporal operators in a row, U and R, need brackets",
         "write (... U ...) R ... or ... U (... R ...)"),
        ("a U[1,", "a", "[1,", "invalid bounds for U: [1,]", ""),
        ("a W[1,2] a", "a", "[1,2]", "W cannot have bounds", "bounds are allowed after F G O H U S, and after X Y"),
        ("F[0,10001] a", "a", "[0,10001]", "a bound larger than 10,000: [0,10001]", ""),
        ("F[0,{0}] a".replace("{0}", "9" * 30), "a", f"[0,{'9' * 30}]", "a number larger than 10^18", ""),
        ("a U[1,2] a U[1,3] a", "a", "U[1,3]",
         "two different temporal operators in a row, U[1,2] and U[1,3], need brackets",
         "write (... U[1,2] ...) U[1,3] ... or ... U[1,2] (... U[1,3] ...)"),
    ],
)  # fmt: skip
def test_near_misses(text: str, alphabet: str, under: str, message: str, hint: str) -> None:
    error = raised(SourceError, parse_expression, text, alphabet, "x")
    assert (error.message, error.hint) == (message, hint)
    assert error.source.text[error.span.start : error.span.end] == under


def test_arrows_of_both_kinds_are_noted() -> None:
    for text, noted in (("a -> b <-> a", True), ("(a -> b) <-> a", False), ("a <-> a <-> b", False)):
        file = parse_text(f"alphabet: a b\nlet p = {text}\np")
        assert file.notes == ((MIXED_NOTE,) if noted else ())
    silenced = parse_text("alphabet: a b\nat: last\nF(a -> b <-> a)")
    assert parse_text(format_file(silenced)).notes == ()


# ---- bounded operators ----

BOUNDS = [(0, 0), (0, 1), (0, 3), (1, 1), (1, 3), (2, 2), (2, 4), (5, 9), (7, 7), (0, 40)]


@pytest.mark.parametrize("op", ["F", "G", "O", "H", "U", "S", "X", "WX", "Y", "WY"])
def test_bounded_operators_by_definition(op: ast.UnaryOp | ast.BinaryOp) -> None:
    for least, most in BOUNDS:
        if op.lstrip("W") in ("X", "Y"):
            least = most
        args: tuple[ast.Formula, ...] = (ast.Nary("|", (A, ast.Unary("Y", B))), B) if op in ("U", "S") else (B,)
        node = ast.Bounded(op, least, most, args)
        assert tree(format_formula(node)) == node
        file = ast.FormulaFile(("a", "b"), node)
        oracle, many = Oracle(file), BatchOracle(file)
        for word in WORDS:
            assert oracle.truth(word) == [formula_holds(node, word, i) for i in range(1, len(word) + 1)], word
        for n in (1, 4, 6):
            words = list(product("ab", repeat=n))
            assert many.truth(many.symbols(words)).tolist() == [oracle.truth(word) for word in words]


@pytest.mark.parametrize(
    ("bounded", "nested"),
    [
        ("X[3] a", "X X X a"),
        ("X[0] a", "a"),
        ("Y[4] a", "Y Y Y Y a"),
        ("N[2] a", "WX WX a"),
        ("Z[2] a", "WY WY a"),
        ("F[0,3] a", "a | X(a | X(a | X a))"),
        ("F[2,3] a", "X X(a | X a)"),
        ("G[0,2] a", "a & WX(a & WX a)"),
        ("G[2,5] a", "WX WX(a & WX(a & WX(a & WX a)))"),
        ("O[0,2] a", "a | Y(a | Y a)"),
        ("once[2:4] a", "Y Y(a | Y(a | Y a))"),
        ("H[1,2] a", "WY(a & WY a)"),
        ("a U[0,2] b", "a & X(a & X b | b) | b"),
        ("a U[1,2] b", "a & X(b | a & X b)"),
        ("a S[1,4] b", "a & Y(b | a & Y(b | a & Y(b | a & Y b)))"),
    ],
)
def test_bounded_operators_have_the_cores_of_what_they_stand_for(bounded: str, nested: str) -> None:
    one, other = (desugar(parse_expression(text, "a b c")) for text in (bounded, nested))
    assert [one.nodes[k] for k in one.live] == [other.nodes[k] for k in other.live]
    assert one.root == other.root


def test_bounded_operators_cost_a_step_for_each_position() -> None:
    text = "a"
    for _ in range(5):
        text = f"F[0,50] X {text}"
    assert len(desugar(parse_expression(text, "a b")).live) <= 5 * (2 * 50 + 1) + 2


def test_bounds_that_are_not_compiled_are_still_evaluated() -> None:
    file = parse_expression("O[0,5000] a", "a b")
    raised(Unsupported, desugar, file, match="O with the bound 5,000 takes as many steps")
    assert Oracle(file).accepts("abb")
    assert not Oracle(file).accepts("bb")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("F[2:] a", "X[2] F a, with the strong X"),
        ("G[2..] a", "N[2] G a"),
        ("once[2:]{a}", "Y[2] O a"),
        ("H[2,] a", "Z[2] H a"),
        ("a U[2:] b", "G[0,1] a & X[2] (a U b), with the strong X"),
        ("a S[2:] b", "H[0,1] a & Y[2] (a S b)"),
    ],
)
def test_bounds_without_an_end_are_explained_by_an_equivalent_formula(text: str, written: str) -> None:
    hint = raised(SourceError, parse_expression, text, "a b", match="invalid bounds").hint
    assert hint == f"without an upper bound, write {written}"
    # no bound exceeds the length of the longest word
    bounded, message = tree(re.sub(r"\[.*?\]", "[2,6]", text)), tree(written.partition(", with")[0])
    for word in WORDS:
        truths = [[formula_holds(node, word, i) for i in range(1, len(word) + 1)] for node in (bounded, message)]
        assert truths[0] == truths[1], word


def test_bounds_from_0_on_are_no_bounds() -> None:
    hint = raised(SourceError, parse_expression, "F[0:] a", "a").hint
    assert hint == "without an upper bound, write F"


# ---- dialects ----


@pytest.mark.parametrize(
    ("text", "weak"),
    [("X a", "WX a"), ("X[!] a", "X a"), ("XXa", "WX WX a"), ("X[3] a", "WX[3] a"),
     ("N a & X[!] b & X c", "WX a & X b & WX c")],
)  # fmt: skip
def test_the_weak_next(text: str, weak: str) -> None:
    assert tree(text, dialect="weak-next") == tree(weak)
    header = parse_text(f"alphabet: a b c\ndialect: weak-next\nlet p = {text}\np")
    assert header.lets[0].body == tree(weak)
    assert parse_text(format_file(header)) == header  # which is written in the default dialect
    assert parse_text(f"alphabet: a b c\ndialect: strong-next\n{text}", dialect="weak-next").formula == tree(weak)


@pytest.mark.parametrize(
    ("text", "under"),
    [
        ("alphabet: a\nX[!] a & X a", "X"),
        ("alphabet: a\nX a & X[!] a", "X[!]"),
        ("alphabet: a\nlet p = X[!] a\nGXp", "X"),
        ("alphabet: a\nX[!] a & X[2] a", "X[2]"),
    ],
)
def test_two_kinds_of_next_need_a_dialect(text: str, under: str) -> None:
    error = raised(SourceError, parse_text, text, match=r"X\[!\] and a bare X in one file")
    assert error.source.text[error.span.start : error.span.end] == under
    assert error.hint == DIALECT_HINT
    for dialect, bare in (("strong-next", "X"), ("weak-next", "WX")):
        operators = {
            node.op
            for node in ast.walk(parse_text(text, dialect=dialect).formula, lets=parse_text(text, dialect=dialect).lets)
            if isinstance(node, ast.Unary | ast.Bounded) and node.op != "G"
        }
        assert operators == {"X", bare}


def test_dialects_that_are_none() -> None:
    error = raised(SourceError, parse_text, "alphabet: a\ndialect: weak\nX a")
    assert error.message == "unknown dialect 'weak'"
    raised(SourceError, parse_text, "alphabet: a\ndialect:\nX a", match="dialect: has no value")
    raised(InputError, parse_expression, "X a", "a", dialect="spot", match="unknown dialect 'spot'")


# ---- with propositions ----


@pytest.mark.parametrize(
    ("glued", "spaced", "mentioned"),
    [
        ("GFp0", "G F p0", ("p0",)),
        ("GFp0 & X{p1}", "G F p0 & X p1", ("p0", "p1")),
        ("XXGFtt | WXa", "X X G F true | WX a", ("a",)),
        ("wXa", "wXa", ("wXa",)),
        ("XwXa", "X WX a", ("a",)),
        ("F[0,1]p", "F[0,1] p", ("p",)),
        ("p since q", "p S q", ("p", "q")),
    ],
)
def test_propositions_are_mentioned_behind_glued_operators(glued: str, spaced: str, mentioned: tuple[str, ...]) -> None:
    found = parse_expression(glued, None, props=MENTIONED)
    expected = parse_expression(spaced, None, props=" ".join(mentioned))
    assert (found.alphabet, found.formula) == (expected.alphabet, expected.formula)
    assert parse_text(f"{glued}\n", props=MENTIONED).formula == expected.formula


@pytest.mark.parametrize(
    ("text", "hint"),
    [("always p", "always is written G"), ("p until q", "until is written U"), ("p -> next(q)", "next is written X")],
)
def test_words_that_are_taken_for_propositions_get_hints(text: str, hint: str) -> None:
    assert raised(SourceError, parse_expression, text, None, props=MENTIONED).hint == hint


GLUED = "operators win over names: "


@pytest.mark.parametrize(
    ("text", "spaced", "names", "note"),
    [
        ("G(P1 -> F P2)", "G(P1 -> F P2)", "P1 P2", ""),
        ("REQ U ACK", "REQ U ACK", "REQ ACK", ""),
        ("A U (B | C)", "A U (B | C)", "A B C", ""),
        ("Ä & Ört", "Ä & Ört", "Ä Ört", ""),
        # a prefix operator, and a single letter with a number
        ("GFa & XXp12 & Gp_0 & F p_0", "G F a & X X p12 & G p_0 & F p_0", "a p12 p_0", ""),
        ("Ga & Fa", "G a & F a", "a", ""),
        ("G(Go -> F On)", "G(G o -> F O n)", "o n", GLUED + "Go is G o, On is O n;"),
        ("Or & Gp_0", "O r & G p_0", "r p_0", GLUED + "Or is O r, Gp_0 is G p_0;"),
        ("{Go} & F {G}", "'Go' & F 'G'", "Go G", ""),
        ("{Go} & Go", "'Go' & 'Go'", "Go", "Go is read as one name"),
        # two operands that may have an operator between them
        ("p1Up2", "p1Up2", "p1Up2", "p1Up2 is read as one name: put spaces around U if the operator is meant"),
        ("req & ack & reqSack", "req & ack & reqSack", "req ack reqSack", "put spaces around S"),
        ("SetUp & aUbc", "SetUp & aUbc", "SetUp aUbc", ""),
        ("G(P1 -> FP2)", "G(P1 -> F P2)", "P1 P2", GLUED + "FP2 is F P2;"),
        ("GFA & XB", "G F A & X B", "A B", GLUED + "GFA is G F A, XB is X B;"),
        # words that stand alone in other notations
        ("G(ack -> Fack)", "G(ack -> F ack)", "ack", ""),
        ("Grant & FGrant", "Grant & F Grant", "Grant", "Grant is read as one name"),
        # longer words are names
        ("G(Request -> F Grant)", "G(Request -> F Grant)", "Request Grant", "Grant is read as one name, although"),
        ("Open & !FULL | Off_1", "Open & !FULL | Off_1", "Open FULL Off_1", "Open, FULL, Off_1 are read as names"),
        ("F1 & X_2", "F1 & X_2", "F1 X_2", "F1, X_2 are read as names"),
        ("G(Q_a -> F Q_b)", "G(a -> F b)", "a b", ""),
        # words without operands that are constants and predicates
        ("F stop & start", "F stop & first", "stop", "first and start are position 1, not a name"),
        ("G(last -> p)", "G(last -> p)", "p", "last is the last position, not a name"),
        ("F end", "F end", "end", "end is read as a name; in Lydia and flloat it is a constant"),
        ("p & EVEN", "p & EVEN", "p", "EVEN is the numerical predicate of positions, not a name"),
        ("'start' | p", "'start' | p", "start p", ""),
    ],
)
def test_names_in_capitals_are_distinguished_from_operators(text: str, spaced: str, names: str, note: str) -> None:
    expected = parse_expression(spaced, None, props=names)
    for found in (parse_expression(text, None, props=MENTIONED), parse_text(f"{text}\n", props=MENTIONED)):
        assert (found.alphabet, found.formula) == (expected.alphabet, expected.formula)
        assert bool(found.readings) is bool(note)
        assert note in "; ".join(found.readings)


@pytest.mark.parametrize(
    ("text", "caret", "hint"),
    [
        ("F G", " ", "G is an operator; a proposition of that name is written 'G'"),
        ("!OFF & ON", "&", "OFF is read as operators; a proposition of that name is written 'OFF'"),
        ("G(R -> F S)", "R", "R is an operator; a proposition of that name is written 'R'"),
        ("p & T", "T", "T is an operator; a proposition of that name is written 'T'"),
    ],
)
def test_where_an_operator_stands_for_a_name_the_hint_says_so(text: str, caret: str, hint: str) -> None:
    error = raised(SourceError, parse_text, f"{text}\n", props=MENTIONED)
    assert (error.source.text[error.span.start : error.span.end].replace("\n", " "), error.hint) == (caret, hint)


@pytest.mark.parametrize(
    "text", ['"G p"', "'F(a -> b)'", '  "a & b"', "let a = 'X p'\nF a", '"#L[a] > 1"', '"[]p"', '"!p"']
)
def test_a_formula_in_quotes_is_no_proposition(text: str) -> None:
    error = raised(SourceError, parse_text, f"{text}\n", props=MENTIONED)
    assert error.message == "the quotes make all of this one name"
    assert error.hint.startswith("remove the quotes")


@pytest.mark.parametrize("name", ["register request", "Order (paid)", "Go"])
def test_a_name_in_quotes_is_a_proposition(name: str) -> None:
    assert propositions_of(parse_text(f"'{name}'\n", props=MENTIONED).alphabet) == (name,)


def test_a_symbol_that_an_operator_is_spelled_like_is_noted_where_it_never_occurs() -> None:
    note = "operators win over names: G is the operator here, and never a proposition; the proposition is written 'G'"
    assert parse_text("props: G a\nG a\n").readings == (note,)
    assert parse_text("props: G a\nG(a -> 'G')\n").readings == ()
    assert parse_text("props: G a\nF a\n").readings == ()
    assert parse_expression("X a", "X a").readings[0].startswith("operators win over names: X is the operator")


def test_quoted_propositions_are_mentioned_whatever_their_letters() -> None:
    found = parse_expression("G(\"Create\" -> F 'Ship')", None, props=MENTIONED)
    assert (found.alphabet, found.formula) == (
        parse_expression("Ship", None, props="Create Ship").alphabet,
        parse_expression("G(Create -> F Ship)", None, props="Create Ship").formula,
    )


def test_a_defined_name_behind_a_glued_operator_is_no_proposition() -> None:
    found = parse_text("let ready = p | q\nGFready\n", props=MENTIONED)
    assert found.alphabet == parse_expression("p | q", None, props="p q").alphabet
    assert found.formula == parse_text("props: p q\nlet ready = p | q\nG F ready\n").formula


def test_spellings_of_other_tools_yield_to_propositions() -> None:
    assert parse_expression("tt", None, props="tt").formula == ast.Symbol("tt")
    assert parse_expression("GFa", None, props="GFa a").formula == ast.Symbol("GFa")


@pytest.mark.parametrize("dialect", [None, "strong-next", "weak-next"])
def test_bounds_and_dialects_over_propositions_are_those_over_symbols(dialect: str | None) -> None:
    formula = "X b | b U[1,2] X[2] b | H[0,1] !b"
    sets = Oracle(parse_text(f"props: b\nat: first\n{formula}\n", dialect=dialect))
    symbols = Oracle(parse_text(f"alphabet: a b\nat: first\n{formula}\n", dialect=dialect))
    for word in WORDS:
        valued = tuple("{b}" if symbol == "b" else "{}" for symbol in word)
        assert sets.accepts(valued, "first") == symbols.accepts(word, "first"), word
