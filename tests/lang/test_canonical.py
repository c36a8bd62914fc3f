"""The canonical text of a file has the same meaning, keeps its comments, and is its own canonical text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.lang import canonical as files_module
from hardsim.lang import lines as module
from hardsim.lang.canonical import FORMATTERS, canonical, encoded
from hardsim.lang.crasp.crasp_parser import parse_crasp
from hardsim.lang.files import FormulaLayout, ProgramLayout
from hardsim.lang.lexer import Cited, Lexeme, formula_tokens, program_tokens
from hardsim.lang.lines import WIDTH
from hardsim.lang.spec.layout import read_spec
from hardsim.lang.trees import Raw, build, levels
from hardsim.lang.valuations import MENTIONED
from hardsim.lang.vocabulary import FORMULAS, PROGRAMS, Spellings
from tests.lang.test_pretty import HOSTILE, files
from tests.support.language import (
    InputError,
    InvariantError,
    SourceError,
    Span,
    format_file,
    parse_program,
    parse_regex,
    parse_text,
)
from tests.support.mistakes import raised
from tests.support.srasp_strategies import programs
from tests.support.srasp_text import format_program

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted(path for path in (ROOT / "formulas").iterdir() if path.name.endswith(tuple(FORMATTERS)))
LTL = "alphabet: a b c X\n"
SRASP = "alphabet: a b\n"


def form(text: str, suffix: str = ".ltl") -> str:
    """Return the canonical text."""
    return canonical(text.encode(), f"file{suffix}").text


def read(text: str, suffix: str) -> Any:
    """Return the whole meaning of a text, with equal blanks in conditions."""
    if suffix == ".srasp":
        program = parse_program(text)
        return program, program.notes
    if suffix == ".re":
        regex = parse_regex(text)
        machine = regex.automaton
        language = machine.letters, machine.moves, machine.accepting
        return language, regex.alphabet, regex.examples, regex.title, regex.origin, regex.notes
    if suffix == ".spec":
        layout = read_spec(text, "x.spec")
        lines = [*layout.headers, *layout.outputs, *layout.values]
        return [(line.name, line.text.split()) for line in lines], layout.title
    file = parse_crasp(text) if suffix == ".cr" else parse_text(text, props=MENTIONED)
    predicates = tuple(replace(one, text="".join(one.text.split())) for one in file.predicates)
    notes = tuple(note for note in file.notes if not note.startswith("line "))  # these notes cite lines of the text
    return replace(file, predicates=predicates), file.placed, notes


def comments(text: str) -> list[str]:
    """Return all comments, in order; symbols of the texts here do not look like comments."""
    return [found.rstrip() for found in re.findall(r"(?m)(?:^|(?<=\s))// c\d.*", text)]


# ---- one line ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((a))", "a"),
        ("Q_a", "a"),
        ("'a'", "a"),
        ("'X'", "'X'"),
        ("~a", "!a"),
        ("not ( a && b )", "!(a & b)"),
        ("(!a) and (Y b)", "!a & Y b"),
        ("G(F(a))", "G F a"),
        ("[] <> (a or b)", "G F(a | b)"),
        ("X [ ! ] N wX Z a", "X[!] WX WX WY a"),
        ("X a", "X a"),
        ("(a U b) U c", "(a U b) U c"),
        ("a U (b U c)", "a U (b U c)"),
        ("a U (b S c)", "a U (b S c)"),
        ("(a -> b) -> c", "(a -> b) -> c"),
        ("a => (b => c)", "a -> (b -> c)"),
        ("a -> ((b -> c))", "a -> (b -> c)"),
        ("a -> (b <-> c)", "a -> (b <-> c)"),
        ("((a | b) ^ c) & a", "((a | b) ^ c) & a"),
        ("(a & b) & (c & a)", "a & b & c & a"),
        ("F (pos = 3)", "F (pos = 3)".replace("F (", "F(")),
        ("F pos==3", "F pos = 3"),
        ("!((pos==3))", "!(pos = 3)"),
        ("((1 + 2) * pos) - (3 - 4) >= -(-2)", "(1 + 2) * pos - (3 - 4) >= --2"),
        ("(3 - 4) - 1 <= (len)", "3 - 4 - 1 <= len"),
        ("1 - ( - 2 ) < - ( pos + 1 )", "1 - -2 < -(pos + 1)"),
        ("( # L [ a ] + 1 ) mod 2 = 1", "(#L[a] + 1) mod 2 = 1"),
        ("( # L [ (a) ] ) mod 2 = 1", "#L[a] mod 2 = 1"),
        ("MOD(2,1,#R[a|b])", "MOD(2, 1, #R[a | b])"),
        ("EVEN (#[(a)])", "EVEN(#[a])"),
        ("⊤ ∧ ⊥ ∨ (first ⊕ last)", "true & false | (first ^ last)"),
        ("(a & b) | ((a) & (F b))", "(a & b) | (a & F b)"),
        ("((a U b)) & (a & (b & c))", "(a U b) & a & b & c"),
        ("((a & b) -> (b U c))", "(a & b) -> (b U c)"),
        ("(a -> b) <-> c", "(a -> b) <-> c"),
        ("a -> b <-> (c <-> (a))", "a -> b <-> c <-> a"),
        ("a <-> (b -> c)", "a <-> (b -> c)"),
        ("F[0:3](a)", "F[0,3] a"),
        ("once [ 2 .. 4 ] ( a | b )", "O[2,4](a | b)"),
        ("a U [ 1 , 4 ] (b U[1,4] c)", "a U[1,4] (b U[1,4] c)"),
        ("a since[0,2] (b S c)", "a S[0,2] (b S c)"),
        ("X [3] prev[2]a", "X[3] Y[2] a"),
        ("{ a } & {Q_b} | { X }", "a & b | 'X'"),
        ("GFa & historically b", "G F a & H b"),
        ("XXa & Ffirst", "X X a & F first"),
        ("True & tt | FALSE & start", "true & true | false & first"),
    ],
)
def test_a_formula(text: str, expected: str) -> None:
    assert form(LTL + text) == f"{LTL}{expected}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Y:=▶[j<i,1]Q_a(j):0", "Y := rightmost_j[j < i, 1] Q_a(j) : 0"),
        ("Y ( i ) := ◀_j [ (i<j) , (Q_a(i)) ] (Q_'b'( j )) : (0)", "Y(i) := leftmost_j[i < j, Q_a(i)] Q_b(j) : 0"),
        ("Y := !(pos(i) = pos)", "Y := !(pos(i) = pos)"),
        ("Y := (pos = 1) = !(Q_a)", "Y := (pos = 1) = !Q_a"),
        ("Y := (in(i) in {'a','b'}) | (Q_a & Q_b)", "Y := in(i) in { 'a', 'b' } | (Q_a & Q_b)"),
        ("Y := in in {}", "Y := in in { }"),
        ("Y := Q_a ? (Q_b ? 1 : 0) : (Q_b ? 0 : 1)", "Y := Q_a ? (Q_b ? 1 : 0) : Q_b ? 0 : 1"),
        ("Y := ▶[1,1] (Q_a(j) ? 1 : 0) : (Q_a ? 1 : 0)", "Y := rightmost_j[1, 1] (Q_a(j) ? 1 : 0) : Q_a ? 1 : 0"),
        ("n := psum[j≤i] ((Q_a(j) ? 2 : 1))\nY:=n>1", "n := psum_j[j <= i] Q_a(j) ? 2 : 1\nY := n > 1"),
        ("n := psum [j≤i] (Q_a(j) & Q_b(j))\nY:=n>1", "n := psum_j[j <= i] Q_a(j) & Q_b(j)\nY := n > 1"),
        ("rel r={'a' 'b','b' 'b'}\nY:=r( in ,in)", "rel r = { 'a' 'b', 'b' 'b' }\nY := r(in, in)"),
        ("Q_a( i )\nY := Q_a", "Q_a(i)\nY := Q_a"),
    ],
)
def test_a_program(text: str, expected: str) -> None:
    assert form(SRASP + text, ".srasp") == f"{SRASP}{expected}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("( a b )*|a|b", "(a b)* | a | b"),
        ("((a))", "((a))"),
        ("ab  a&b", "ab a & b"),
        ("a {2,2}(b{0,} a{ 1 ,}b{0,1})  a{2 , 3} b{3,}", "a{2}(b* a{1,}b?) a{2,3} b{3,}"),
        ("[ a b ][^ b ] . ", "[ab][^b] ."),
        ("a ( . ) ( )", "a (.) ()"),
        ("! ( a & . ) b", "!(a & .) b"),
        ("'a' '(' '-'a", "a '(' '-'a"),
        ("'(' ''''", "'(' ''''"),
        ("['(' ')' a]", "['(' ')'a]"),
        ("a/ / b", "a'/' '/' b"),
        ("a |/", "a | '/'"),
        ("(!a)-", "(!a)-"),
    ],
)
def test_a_regular_expression(text: str, expected: str) -> None:
    head = "alphabet: a b ( ) / - '\n"
    assert form(head + text, ".re") == f"{head}{expected}\n"


@pytest.mark.parametrize("text", ["O[2,4](a | b)", "F[0,3] a", "X[3](a U[1,2] b)", "G[1,1] X[2] !a", "H[0,1] F(a & b)"])
def test_bounds_are_written_as_printers_of_trees_do(text: str) -> None:
    assert form(LTL + text) == format_file(parse_text(LTL + text)) == f"{LTL}{text}\n"


def test_a_symbol_that_is_a_key_keeps_its_quotes() -> None:
    for text in ("'source' : 'a'\n", "'accept' = 'a'\n"):
        assert form(f"alphabet: source accept a : =\n{text}", ".re").endswith(text.replace("'a'", "a"))


def test_symbols_of_several_characters_stand_apart() -> None:
    head = "alphabet: ab cd //x\n"
    text = form(f"{head}'ab'cd(ab)'cd' // c1\n [ab 'cd']//x", ".re")
    assert text == f"{head}ab cd(ab)cd  // c1\n  [ab cd]'//x'\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('A=# "a"==1', 'A = #"a" == 1'),
        ('A = # [pred]"a">0&&!("b")', 'A = #[pred] "a" > 0 && !("b")'),
        ('A=min( #"a",2*# (("b")) )-1 != - 1//c1', 'A = min(#"a", 2 * #(("b"))) - 1 != -1  //c1'),
        ('A = (1 if "a"||"b" else 0)>=#true', 'A = (1 if "a" || "b" else 0) >= #true'),
    ],
)
def test_a_crasp_program(text: str, expected: str) -> None:
    head = "alphabet: a b\n#import pred\n"
    assert form(head + text, ".cr") == f"{head}{expected}\n"


def test_lines_of_a_crasp_program_are_never_folded() -> None:
    long = " + ".join(['#"a"'] * 40)
    text = (
        f"// c1\n\n\n  #import   pred_x// c2\npred pred_x( i,j )=i  ==j // c3\n"
        f'pred odd(i) = i mod 2 == 1//c4\n  A={long}   //c5\n B = odd&&A>0&&#[pred_x]"//">0 \n'
    ).replace("#import   pred_x// c2", "#import   pred// c2")
    assert form(text, ".cr") == (
        "// c1\n\n#import pred  // c2\npred pred_x(i, j) = i ==j  // c3\npred odd(i) = i mod 2 == 1  //c4\n"
        f'A = {long}  //c5\nB = odd && A > 0 && #[pred_x] "//" > 0\n'
    )


def test_headers_of_formulas() -> None:
    text = (
        "props:  p  q r   tt\n one-of: p   q\nat-most-one:  r  tt\ndialect:  weak-next\nat: first\n"
        "source: one,  two // three\naccept: {p}{ tt,q }   {q}\nreject: {p}\n X[!] {p} -> X ( q ) & tt & {tt}\n"
    ).replace("\n ", "\n")
    assert form(text) == (
        "props: p q r tt\none-of: p q\nat-most-one: r tt\ndialect: weak-next\nat: first\n"
        "source: one,  two // three\naccept: {p}{q,tt}{q}\nreject: {p}\nX[!] p -> X q & tt & tt\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GFp0&Xp1", "G F p0 & X p1"),
        ("'Gp' & Fp & 'a b'".replace(" & 'a b'", ""), "'Gp' & F p"),
        ("Gp & 'Gp'", "Gp & 'Gp'"),
        ("{tt} & tt & {a}", "'tt' & tt & a"),
        ("Q_b & a & b", "Q_b & a & b"),
        ("'wXa' & 'a'", "'wXa' & a"),
        ("let Foo = a\n{Foo} & 'tt'", "let Foo = a\nFoo & 'tt'"),
        ("( // c1\n a)", "// c1\na"),
    ],
)
def test_a_formula_without_a_header(text: str, expected: str) -> None:
    assert form(text) == f"{expected}\n"
    assert read(expected, ".ltl")[0].alphabet == read(text, ".ltl")[0].alphabet


def test_deep_brackets_leave_room_for_what_stands_in_them() -> None:
    deep = "(a & (b |\n"
    assert max(map(len, form(f"{LTL}{deep * 90}a{'))' * 90}").splitlines()[1:-1])) < WIDTH
    assert form(f"{LTL}{'(' * 5_000}a{')' * 5_000}") == f"{LTL}a\n"


def test_a_whole_file() -> None:
    text = (
        "\n   // Title  \n\n\n  alphabet :  a   b\n  // c1\n  accept:  a  b   ab \n\n"
        "  pred P( i,n )=i  ==   // c2\n     n\n"
        "  let x=a&&b // c3\n\n\n     // c4\n     ∨ (a)   // c5\n  // c6\n\n  ( // c7\n  F(x) // c8\n"
        "  & P ) // c9\n  // c10\n\n"
    )
    assert form(text) == (
        "// Title\n\nalphabet: a b\n// c1\naccept: a b ab\n\n"
        "pred P(i, n) = i ==  // c2\n  n\n"
        "let x = a & b  // c3\n\n  // c4\n  | a  // c5\n// c6\n\n// c7\nF x  // c8\n  & P  // c9\n// c10\n"
    )


def test_comments_where_brackets_go_and_where_nothing_is_left() -> None:
    once = form(f"{LTL}let x = // c1\n  ( // c2\n   a )\n( a\n // c3\n ) // c4\n// c5")
    assert comments(once) == ["// c1", "// c2", "// c3", "// c4", "// c5"]
    assert form(once) == once


def test_line_breaks_of_the_author_stay_and_are_indented_by_open_brackets() -> None:
    text = f"{LTL}a &\n      H(b\n-> c\n)\n   & a\n"
    assert form(text) == f"{LTL}a &\n  H(b\n    -> c\n  )\n  & a\n"


def test_long_lines_are_folded_before_the_loosest_operators() -> None:
    conjunct = "(a | b) & c & F b"  # 17 characters, and 3 for each ^
    text = form(f"{LTL}let long = {' ^ '.join([conjunct] * 6)}\n{' <-> '.join(['F(a & b)'] * 12)}\n")
    first, second = text.splitlines()[1:3], text.splitlines()[3:]
    # `let long = ` has 11, each further conjunct 20: 11 + 17 + 3 * 20 = 88 fit, the next would end at 108
    assert first == [f"let long = {' ^ '.join([conjunct] * 4)}", f"  ^ {' ^ '.join([conjunct] * 2)}"]
    # 8 characters, then 13 for each: 8 + 7 * 13 = 99
    assert second == [" <-> ".join(["F(a & b)"] * 8), "  <-> " + " <-> ".join(["F(a & b)"] * 4)]


def test_what_cannot_be_folded_stays_in_one_line() -> None:
    symbol = "s" * 120
    assert form(f"alphabet: {symbol}\nX {symbol}\n").splitlines()[1] == f"X {symbol}"


def test_lines_of_examples_are_divided_where_words_are_letters() -> None:
    words = ["a" * 30] * 7  # `accept:` and a space and a word, three times, have 7 + 3 * 31 = 100 columns
    line = "accept:" + f" {words[0]}" * 3
    text = form(f"alphabet: a b\naccept: {' '.join(words)}\na")
    assert text.splitlines()[1:4] == [line, line, f"accept: {words[0]}"]
    assert len(line) == WIDTH
    long = f"alphabet: ab cd\naccept: {' '.join(['ab'] * 60)}\nab\n"
    assert form(long) == long


def test_pairs_of_maps_stand_apart() -> None:
    text = "alphabet: a b\nmap: a  ->  a b -> b   ab -> \nY := in\n"
    assert form(text.replace("   ab ->", ""), ".srasp").splitlines()[1] == "map: a -> a  b -> b"
    long = "alphabet: ab c\nmap: ab c -> c ab\nY := in\n"
    assert form(long, ".srasp") == long


# ---- bytes ----


def test_line_ends_stay_and_a_byte_order_mark_does_not() -> None:
    data = "\ufeffalphabet: a\r\nF(a)\r\n".encode()
    assert encoded(canonical(data, "x.ltl").text, data) == b"alphabet: a\r\nF a\r\n"
    assert encoded("a\nb\n", b"a\nb\r\n") == b"a\nb\n"


def test_other_files_have_no_canonical_form() -> None:
    raised(InputError, canonical, b"{}", "x.ahat.json", match="no canonical form")


def test_a_wrong_file_gets_its_usual_error() -> None:
    for suffix, text in ((".ltl", "alphabet: a\na &"), (".srasp", "alphabet: a\nY := (")):
        with pytest.raises(SourceError, match=r"missing operand|never closed"):
            form(text, suffix)


@pytest.mark.parametrize(("suffix", "text"), [(".ltl", f"{LTL}a & (b | c)"), (".srasp", "Y := Q_a & (Q_b | Q_c)")])
def test_a_text_that_would_say_something_else_is_never_returned(
    monkeypatch: pytest.MonkeyPatch, suffix: str, text: str
) -> None:
    def careless(tokens: Sequence[Lexeme], _bindings: object) -> set[int]:
        return {index for index, token in enumerate(tokens) if token.kind in ("LPAR", "RPAR")}

    monkeypatch.setattr(module, "unneeded", careless)
    with pytest.raises(InvariantError, match="the same meaning"):
        form(text, suffix)


def test_nothing_is_lost_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{LTL}source: here\nreject: a\nlet x = a // c1\nx U b"
    form(text)
    losses: list[tuple[Any, str, Any]] = [
        (module, "_broken", lambda gap: ("", [], "\n" in gap)),  # comments
        (files_module, "_header", lambda _layout, line, _alphabet: [] if line.name == "source" else [line.text]),
        (files_module, "_header", lambda _layout, line, _: [f"{line.name}: {line.text}"] * (line.name != "reject")),
        (files_module, "_header", lambda _layout, line, _: [f"{line.name}: {line.text}"] * (line.name != "source")),
        (files_module, "spaced", lambda *_: False),  # the result is no text of the language
    ]
    for where, name, careless in losses:
        with monkeypatch.context() as patch:
            patch.setattr(where, name, careless)
            with pytest.raises(InvariantError, match="the same meaning"):
                form(text)


@pytest.mark.parametrize(
    ("suffix", "text", "name", "careless"),
    [
        (".re", "alphabet: a b\na* b", "_regex_spelling", lambda token, _: token.value[:1]),
        (".cr", 'A = "a"\nB = #"b" > 1\nC = A', "_crasp_spelling", lambda token, written: written.replace("b", "a")),
    ],
)
def test_nothing_is_lost_in_other_languages(
    monkeypatch: pytest.MonkeyPatch, suffix: str, text: str, name: str, careless: Any
) -> None:
    form(text, suffix)
    monkeypatch.setattr(files_module, name, careless)
    monkeypatch.setattr(files_module, "CRASP_STYLE", replace(files_module.CRASP_STYLE, spelling=careless))
    with pytest.raises(InvariantError, match="the same meaning"):
        form(text, suffix)


# ---- everything ----


def blocks() -> Iterator[tuple[str, str]]:
    """Yield the formulas and programs in the documentation."""
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for section in re.split(r"(?m)^## ", page.read_text(encoding="utf-8")):
            for tag, block in re.findall(r"(?ms)^```(\w*)\n(.*?)^```", section):
                if not tag and section.startswith("C-RASP") and " = " in block:
                    yield ".cr", block
                elif not tag and re.search(r"(?m)^(alphabet|props):", block):
                    regex = section.startswith("Regular expressions")
                    if page.name == "specifications.md":
                        yield ".spec", block
                        continue
                    yield (".re" if regex else ".srasp" if ":=" in block else ".ltl"), block


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_files(path: Path) -> None:
    text, suffix = path.read_text(encoding="utf-8"), path.suffix
    once = form(text, suffix)
    assert read(once, suffix) == read(text, suffix)
    assert form(once, suffix) == once
    message = [line.strip() for line in text.splitlines() if line.strip().startswith("//")]
    assert [line for line in once.splitlines() if line.startswith("//")] == message


def test_the_documentation() -> None:
    found = list(blocks())
    assert {suffix for suffix, _ in found} == set(FORMATTERS)
    for suffix, block in found:
        once = form(block, suffix)
        assert read(once, suffix) == read(block, suffix)
        assert form(once, suffix) == once


# ---- random files in random layouts ----


def _spelt(draw: st.DrawFn, token: Lexeme, written: str, spellings: Spellings) -> str:
    """Draw a spelling of a token (the next operator keeps its kind: the strong one keeps its mark)."""
    others: list[str] = [text for text, known in spellings.items() if known == (token.kind, token.value)]
    return draw(st.sampled_from([written, *others]))


def _bracketed(draw: st.DrawFn, root: Raw) -> list[Span]:
    """Draw places for brackets without meaning; brackets that the printer keeps, since they help a reader, are
    left out.
    """
    mixed = ("nary", "binary", "arrow")
    kept = {
        arg.whole
        for node, _ in levels(root)
        for arg in node.args
        if node.kind in ("mod", "unary", "not") or (node.kind in mixed and arg.kind in mixed)
    }
    whole = ("attention", "psum", "count_j", "mean_j")
    places = [node.whole for node, _ in levels(root) if node.whole not in kept and node.kind not in whole]
    return draw(st.lists(st.sampled_from(places), max_size=6)) if places else []


def _scrambled(draw: st.DrawFn, text: str, suffix: str, broken: bool) -> str:
    """Draw the text with other spellings, blanks and unneeded brackets; `broken`: with comments and line ends."""
    numbers = iter(range(10_000))
    gaps: list[str] = [" ", "  ", "\t"]
    if broken:
        gaps += ["\n   ", "\n\n  ", "  // c{}\n  ", "\n  // c{}\n\n  // c{}\n "]

    def gap() -> str:
        chosen = draw(st.sampled_from(gaps)) if draw(st.integers(0, 3)) == 0 else " "
        return re.sub(r"\{\}", lambda _: str(next(numbers)), chosen)

    file = parse_text(text) if suffix == ".ltl" else parse_program(text)
    regions: list[Span]
    if suffix == ".ltl":
        formulas = FormulaLayout(file.source)
        assert formulas.formula is not None
        regions = [*(line.body for line in formulas.definitions if not line.params), formulas.formula]
    else:
        layout = ProgramLayout(file.source)
        regions = [line.body for line in (*layout.relations, *layout.statements)]
    read_tokens = formula_tokens if suffix == ".ltl" else program_tokens
    result, at = "", 0
    for region in sorted(regions, key=lambda one: one.start):
        tokens = read_tokens(file.source, region, file.alphabet)
        grammar: Any = "ltl.lark" if suffix == ".ltl" else "srasp.lark"
        relation = tokens[0].kind == "LBRACE"
        root = None if relation else build(grammar, Cited(file.source), tokens, _never)
        places = [] if root is None else _bracketed(draw, root)
        shown = ""
        for token in tokens:
            spelt = _spelt(
                draw, token, text[token.span.start : token.span.end], FORMULAS if suffix == ".ltl" else PROGRAMS
            )
            opening = sum(place.start == token.span.start for place in places)
            closing = sum(place.end == token.span.end for place in places)
            shown += "( " * opening + spelt + " )" * closing + (" " if token.kind == "MEMBER" else gap())
        result += text[at : region.start] + (gap() if region.start > 0 and text[region.start - 1] != "\n" else "")
        result += shown.rstrip() + draw(st.sampled_from(["", "  ", "  // c99"] if broken else ["", " "]))
        at = region.end
    return result + text[at:]


def _never(index: int) -> SourceError:
    raise AssertionError(index)


def _one_line(text: str) -> str:
    """Return a text without folded lines."""
    return re.sub(r"\n +", " ", text)


@st.composite
def layouts(draw: st.DrawFn, suffix: str, broken: bool) -> tuple[str, str]:
    """Draw a text as its printer writes it, and the same text in another layout."""
    if suffix == ".ltl":
        plain = format_file(draw(st.one_of(files(HOSTILE), files(("0", "1", "'", "(", "/", "#", "S")))))
    else:
        plain = format_program(draw(programs()))
    return plain, _scrambled(draw, plain, suffix, broken)


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """Draw a regular expression over `a b ( / -` in some layout; a repetition stands right after its operand."""
    numbers = iter(range(10_000))

    def gap() -> str:
        chosen = draw(st.sampled_from(["", "", " ", "  ", "\n", "\t\n\n ", "  // c{}\n "]))
        return chosen.replace("{}", str(next(numbers)))

    def part(depth: int) -> str:
        atoms = ["a", "b", "'('", "'/'", "-", ".", "()", "[ab]", "[^a '(' ]", "'a'", "( )"]
        one = draw(st.sampled_from(atoms))
        if depth and draw(st.booleans()):
            negated = draw(st.sampled_from(["", "", "!"]))
            one = f"({negated}({gap()}{whole(depth - 1)}{gap()}))"
        return one + draw(st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{ 0 , 3 }", "{1,}"]))

    def whole(depth: int) -> str:
        parts = [part(depth) for _ in range(draw(st.integers(1, 4)))]
        sign = draw(st.sampled_from(["|", "&"]))  # these need brackets beside each other
        glues = [" ", " ", "\n  ", sign, f" {sign} ", f" // c{{}}\n{sign}"]
        joined = [draw(st.sampled_from(glues)) for _ in parts[1:]]
        return parts[0] + "".join(
            glue.replace("{}", str(next(numbers))) + one for glue, one in zip(joined, parts[1:], strict=True)
        )

    return whole(2)


@given(expressions())
def test_any_layout_of_an_expression(text: str) -> None:
    text = f"alphabet: a b ( / -\nplus: repeat\ndot: any\n{text}"
    once = form(text, ".re")
    assert read(once, ".re") == read(text, ".re")
    assert comments(once) == comments(text)
    assert form(once, ".re") == once


@given(st.data(), st.sampled_from([".ltl", ".srasp"]))
def test_any_layout(data: st.DataObject, suffix: str) -> None:
    plain, other = data.draw(layouts(suffix, broken=True))
    once = form(other, suffix)
    assert read(once, suffix) == read(other, suffix)
    assert read(once, suffix)[0] == read(plain, suffix)[0]
    assert comments(once) == comments(other)
    assert form(once, suffix) == once


@pytest.mark.slow
@given(st.data(), st.sampled_from([".ltl", ".srasp"]))
def test_without_line_breaks_it_is_what_the_printer_writes(data: st.DataObject, suffix: str) -> None:
    """The printers of trees, which do not see tokens, write as few brackets and quotes."""
    plain, other = data.draw(layouts(suffix, broken=False))
    copied = re.compile(r"// |(accept|reject|map|pred)\b")  # these lines have a layout of their own, tested above

    def shown(text: str) -> list[str]:
        return [line for line in _one_line(text).splitlines() if not copied.match(line)]

    assert shown(form(other, suffix)) == shown(plain)
