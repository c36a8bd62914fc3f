"""Tests of specifications bound to networks: names, readouts, outputs, and which words have an expected answer.

The network of `mean_of_a` computes the share of a's so far, less a bias.
"""

import json
import os
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardsim
from hardsim.targets.expected import UNKNOWN
from hardsim.targets.external import judging
from hardsim.targets.paths import expand_paths
from hardsim.targets.specification import read_specification
from tests.cli.conftest import written
from tests.support.check import CheckOptions, External, ModelOptions, Verdict, Word, check_subject, read_input
from tests.support.external import hooked_folder, mean_of_a, model_of
from tests.support.language import InputError, OutOfRange, SourceError
from tests.support.model import Readout

TIE = -0.4990234375  # the float -511/1024: a share of 1/2 is above it, and up to 511 symbols nothing less is
MOST = "output 0: #L[a] >= #L[b]\n"
PROGRAM = """alphabet: {alphabet}
as(i) := psum_j[j <= i] (Q_a(j) ? 2 : 0)
most(i) := as(i) >= pos(i)
output: {output}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hooked_folder(tmp_path / "net", TIE)
    hooked_folder(tmp_path / "two", TIE, outputs=2)
    (hooked_folder(tmp_path / "bare", TIE) / "vocab.json").unlink()
    return tmp_path


def spec(folder: Path, text: str, name: str = "x.spec") -> Path:
    return written(folder / name, text)


def bound(folder: Path, text: str) -> External:
    return read_input(str(spec(folder, text))).network(ModelOptions())


def refused(folder: Path, text: str) -> str:
    """Return the error for a specification that must be refused, without the path of the folder."""
    with pytest.raises(InputError) as caught:
        read_input(str(spec(folder, text)))
    return str(caught.value).replace(f"{folder}/", "")


# ---- what is read ----


def test_a_specification_opens_its_network(folder: Path) -> None:
    path = spec(folder, f"// most are a\nnetwork: net\nalphabet: b a\n{MOST}")
    found = hardsim.load(path)
    assert (found.kind, found.alphabet, found.title) == ("network", ("b", "a"), "most are a")
    result = found.check(max_n=4)
    assert (result.verdict, result.words, result.against, result.input) == (
        Verdict.PROVED, 30, str(path), str(path)
    )  # fmt: skip
    wrong = hardsim.load(spec(folder, "network: net\nalphabet: a b\noutput 0: #L[a] > #L[b]\n")).check(max_n=4)
    assert wrong.mismatch is not None
    assert wrong.mismatch.word == ("a", "b")


def test_the_defaults_are_those_of_the_network(folder: Path) -> None:
    assert bound(folder, f"network: net\nalphabet: a b\n{MOST}").network.readout == Readout(alphabet=("a", "b"))
    own = bound(folder, "network: two\nalphabet: a b\noutput 0: a\noutput 1: b\n").network.readout
    assert (own.at, own.decide) == ("each", "argmax")
    read = bound(folder, "network: two\ntokens: a b <s>\ninput: <s> * b\nat: last\ndecide: above 1/2\noutput 0: a\n")
    assert read.network.readout == Readout(before=("<s>",), after=("b",), level=read.network.readout.level)
    assert (str(read.network.readout.level), read.alphabet) == ("1/2", ("a",))
    assert bound(folder, f"network: net\n{MOST}".replace("#L[b]", "#L[pad]")).alphabet == ("a", "b", "pad")


def test_next_is_judged_everywhere_unless_it_says_otherwise(folder: Path) -> None:
    document = json.loads(model_of(next_symbols()).to_json())
    (folder / "next.json").write_text(json.dumps(document), encoding="utf-8")
    found = bound(folder, "network: next.json\nalphabet: a b\ninput: <bos> *\nnext: /(a|b)*/\n")
    readout = found.network.readout
    assert (readout.at, readout.decide, found.shortest, found.prefixes, found.accepts) == (
        "each", "above", 0, True, False
    )  # fmt: skip
    assert found.domain is not None
    assert [found.domain.count(n) for n in (1, 2, 3)] == [2, 4, 8]
    plain = bound(folder, "network: next.json\nalphabet: a b\nnext: /(a|b)*/\n")
    assert (plain.shortest, plain.prefixes) == (1, True)
    ended = bound(folder, "network: next.json\nalphabet: a b\ninput: <bos> * <eos>\nnext: /(a|b)*/\n")
    assert (ended.shortest, ended.prefixes) == (0, False)
    last = bound(folder, "network: next.json\nalphabet: a b\ninput: <bos> *\nat: last\nnext: /(a|b)*/\n")
    assert (last.shortest, last.prefixes) == (0, False)


def test_what_may_come_next_takes_part_in_an_argmax(folder: Path) -> None:
    (folder / "next.json").write_text(model_of(next_symbols()).to_json(), encoding="utf-8")
    lines = "network: next.json\nalphabet: a b\ninput: <bos> *\ndecide: argmax of {}\nnext: /a+/\n"
    assert bound(folder, lines.format("<eos> a")).network.readout.among == ("<eos>", "a")
    assert refused(folder, lines.format("a b")) == (
        "x.spec:4:9: error: <eos> may come next, and takes no part in the argmax\n  decide: argmax of a b\n"
        "          ^^^^^^^^^^^^^\n  expected: argmax, or argmax of all that may come next"
    )
    with pytest.raises(SourceError, match=r"x\.spec:5:7: error: a may come next, and takes no part in the argmax"):
        hardsim.load(spec(folder, lines.format("a <eos>")), decide="argmax of b <eos>")


def next_symbols() -> Any:
    """Build a network whose outputs are its tokens."""
    tokens = ("a", "b", "<bos>", "<eos>")
    network = mean_of_a(tokens=tokens, outputs=tokens, rows=8)
    return replace(
        network, unembedding=np.array([[0.0] * 4, [1.0] * 4]), unembedding_bias=np.array([1.0, 1.0, -9.0, 1.0])
    )


def test_a_next_symbol_network_is_checked_from_the_empty_word_on(folder: Path) -> None:
    """All outputs but that of <bos> are above 0, which is right for the words over a and b."""
    (folder / "next.json").write_text(model_of(next_symbols()).to_json(), encoding="utf-8")
    lines = "network: next.json\nalphabet: a b\ninput: <bos> *\n"
    found = hardsim.load(spec(folder, f"{lines}next: /(a|b)*/\n")).check(max_n=3)
    assert found.verdict is Verdict.PROVED
    assert [(one.n, one.words) for one in found.judged] == [(0, 1), (1, 2), (2, 4), (3, 8)]
    wrong = hardsim.load(spec(folder, f"{lines}next: /(a|b)+/\n")).check(max_n=3)
    assert wrong.mismatch is not None
    assert wrong.mismatch.word == ()
    with pytest.raises(OutOfRange, match="words have at most 7 symbols, not 9"):
        hardsim.load(spec(folder, f"{lines}next: /(a|b)*/\n")).check(max_n=9)


def test_tokens_are_renamed(folder: Path) -> None:
    found = hardsim.load(
        spec(
            folder,
            f"network: bare\ntokens: x a b\nalphabet: x a\n{MOST.replace('L[a]', 'L[x]').replace('L[b]', 'L[a]')}",
        )
    )
    assert found.check(max_n=3).verdict is Verdict.PROVED


@pytest.mark.parametrize("output", ["most", "as"])
def test_programs_lie_beside_it(folder: Path, output: str) -> None:
    (folder / "p").mkdir()
    written(folder / "p" / "most.srasp", PROGRAM.format(alphabet="b a", output=output))
    line = "output 0: most\n" if output == "as" else ""
    found = hardsim.load(spec(folder, f"network: net\nalphabet: a b\nprogram: p/most.srasp\n{line}"))
    assert (found.check(max_n=4).verdict, found._input.network(ModelOptions()).accepts) == (
        Verdict.PROVED, True
    )  # fmt: skip


def test_the_digest_covers_all_that_is_read(folder: Path) -> None:
    program = written(folder / "p.srasp", PROGRAM.format(alphabet="a b", output="most"))
    text = "network: net\nalphabet: a b\nprogram: p.srasp\n"
    path = spec(folder, text)

    def digests() -> tuple[str, str]:
        alone = read_specification(path.read_bytes(), "x", str(path)).sha256
        return read_input(str(path)).sha256, alone

    known = [digests()]
    program.write_text(f"// more\n{program.read_text()}")
    known.append(digests())
    spec(folder, f"// more\n{text}")
    known.append(digests())
    (folder / "net" / "vocab.json").write_text('{"a": 0, "b": 1, "dap": 2}')
    known.append(digests())
    wholes, alones = zip(*known, strict=True)
    assert (len({*wholes}), len({*alones})) == (4, 3)  # without the network


def test_what_is_bound_travels(folder: Path) -> None:
    found = bound(folder, f"network: net\nalphabet: a b\nassume: /a.*/\n{MOST}")
    again = pickle.loads(pickle.dumps(found))
    words = [("a", "b"), ("b", "a")]
    assert again.answers(words) == found.answers(words) == [True, None]


def test_a_folder_of_specifications_means_the_files_in_it(folder: Path) -> None:
    one, two = spec(folder, MOST, "b.spec"), spec(folder, MOST, "a.spec")
    assert expand_paths([str(folder)]) == [str(two), str(one)]
    assert expand_paths([str(folder / "net")]) == [str(folder / "net")]


# ---- other networks checked against it, and other readouts ----


def test_another_network_is_checked_against_it(folder: Path) -> None:
    path = spec(folder, f"network: missing\nalphabet: a b\n{MOST}")
    net = hardsim.load(folder / "net")
    for against in (path, str(path), hardsim.load(spec(folder, f"network: net\nalphabet: a b\n{MOST}", "y.spec"))):
        result = net.check(against=against, max_n=3)
        assert (result.verdict, result.words) == (Verdict.PROVED, 14)
        assert str(result.against).endswith(".spec")
    with pytest.raises(SourceError, match="the 3 tokens of the network have no names"):
        hardsim.load(folder / "bare").check(against=path)
    with pytest.raises(InputError, match="already specifies what its network should compute"):
        hardsim.load(folder / "y.spec").check(against=path)


def test_it_is_read_in_another_way(folder: Path) -> None:
    model = hardsim.load(spec(folder, f"network: net\nalphabet: a b\n{MOST}"))
    other = model.read_as(alphabet="b a", at="first")
    assert (other.alphabet, other.network.at if other.network else "") == (("b", "a"), "first")
    # The answer for the whole word aab is expected at its first symbol, an a.
    assert other.check(max_n=3).verdict is Verdict.PROVED
    assert model.read_as(tokens="a b c").check(max_n=2).verdict is Verdict.PROVED
    assert model.check(max_n=2, at="first").verdict is Verdict.PROVED
    with pytest.raises(SourceError, match="unknown symbol or name 'b'"):
        model.read_as(tokens="a x c", alphabet="a x")
    with pytest.raises(SourceError, match="does not fit decide: value, which compares numbers"):
        model.read_as(decide="value within 1")


def other(bias: str, **more: Any) -> hardsim.Model:
    return model_of(mean_of_a(Fraction(bias), **more), f"more than {bias}")


def test_another_network_says_what_is_wanted() -> None:
    # More than 20/41 and more than 21/43 of up to 12 symbols are the same words; more than 3/5 are not: of 2 symbols
    # one a is enough for the one alone.
    model = other("-20/41")
    assert model.check(max_n=12, against=other("-21/43")).verdict is Verdict.CERTIFIED
    found = model.check(max_n=12, against=other("-3/5"))
    assert found.verdict is Verdict.REFUTED
    assert found.mismatch is not None
    assert found.mismatch.word == ("a", "b")
    assert (found.mismatch.oracle, found.mismatch.soft) == (False, True)
    assert found.against == "more than -3/5"


def test_another_network_is_evaluated_where_it_is_read() -> None:
    each, best = Readout(at="each"), Readout(decide="argmax")
    twice = other("-1/2", readout=each).check(max_n=5, against=other("-21/43", readout=each))
    assert twice.mismatch is not None
    assert twice.mismatch.word == ("a", "b")  # at 1/2
    with pytest.raises(InputError, match="outputs numbers, which are known only between bounds"):
        other("0").check(against=other("0", readout=Readout(decide="value", level=Fraction(1))))
    with pytest.raises(InputError, match="more than 0 has the symbol c, and more than -1 does not"):
        other("0", tokens=("a", "b", "c")).check(against=other("-1"))
    with pytest.raises(InputError, match="more than -1 has the output part, and more than 0 does not"):
        other("0", readout=best).check(against=other("-1", outputs=("part",), readout=best))


def test_what_nobody_knows_is_undecided() -> None:
    network = other("-20/41")._input.network(ModelOptions())

    def reference(word: Word) -> Any:  # like another network that is undecided on one word
        return UNKNOWN if word == ("b",) else word.count("a") > 0

    found = check_subject(judging(network, reference, "a reference"), CheckOptions(max_n=2))
    assert found.verdict is Verdict.UNDECIDED
    assert found.undecided_word == ("b",)
    assert [length.undecided for length in found.judged] == [1, 0]
    assert [length.mismatches for length in found.judged] == [0, 0]


def test_it_is_opened_with_additional_options(folder: Path) -> None:
    path = spec(folder, f"network: net\nalphabet: a b\n{MOST}")
    assert hardsim.load(path, alphabet="b a").alphabet == ("b", "a")
    assert hardsim.load(path, at="first").check(max_n=2).verdict is Verdict.PROVED
    assert read_input(str(path), props="auto").alphabet == ("a", "b")
    with pytest.raises(InputError, match="--dialect is for formulas"):
        read_input(str(path), dialect="weak-next")


# ---- what is refused ----


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "network: bare\n" + MOST,
            "x.spec:1:1: error: the 3 tokens of the network have no names\n  network: bare\n"
            "  ^^^^^^^^^^^^^\n  expected: a line tokens: with their names by id (or a vocab.json beside the weights)",
        ),
        (
            "network: net\ntokens: a b\n" + MOST,
            "x.spec:2:9: error: 2 tokens were named, and the vocabulary has 3\n  tokens: a b\n          ^^^\n"
            "  Name them in order of their ids.",
        ),
        (
            "network: net\ntokens: a b a\n" + MOST,
            "x.spec:2:13: error: duplicate token a\n  tokens: a b a\n              ^\n  expected: each token once\n"
            "  remove one of the two",
        ),
        (
            "network: net\nalphabet: a padd\n" + MOST,
            "x.spec:2:13: error: 'padd' is not among the tokens of the network; did you mean pad?\n  alphabet: a padd\n"
            "              ^^^^\n  It has: a b pad",
        ),
        (
            "network: net\nalphabet: a a\n" + MOST,
            "x.spec:2:13: error: duplicate symbol a\n  alphabet: a a\n              ^\n  expected: each symbol once\n"
            "  remove one of the two",
        ),
        (
            "network: net\ninput: pad * <bos>\n" + MOST,
            "x.spec:2:14: error: '<bos>' is not among the tokens of the network\n"
            "  input: pad * <bos>\n               ^^^^^\n"
            "  It has: a b pad",
        ),
        (
            "network: net\ninput: pad\n" + MOST,
            "x.spec:2:8: error: input 'pad' contains * 0 times, not once\n  input: pad\n         ^^^\n"
            "  Write <bos> *, say.",
        ),
        (
            "network: net\nat: eech\n" + MOST,
            "x.spec:2:5: error: at 'eech' is not one of: last, first, each, start, mean\n  at: eech\n      ^^^^\n"
            "  did you mean each?",
        ),
        (
            "network: net\ndecide: over 0\n" + MOST,
            "x.spec:2:9: error: decide 'over 0' is not one of: above X, argmax, argmax of TOKENS, value within E\n"
            "  decide: over 0\n          ^^^^^^\n  X and E are numbers such as 0, 0.5 or 1/200.",
        ),
        (
            "network: two\ndecide: argmax of 0 2\n" + MOST,
            "x.spec:2:21: error: '2' is not among the outputs of the network\n"
            "  decide: argmax of 0 2\n                      ^\n"
            "  It has: 0 1",
        ),
        (
            "network: net\nalphabet: a b\noutput 1: a\n",
            "x.spec:3:8: error: '1' is not among the outputs of the network\n  output 1: a\n         ^\n  It has: 0",
        ),
        (
            "network: two\nalphabet: a b\ndecide: argmax of 1\noutput 0: a\n",
            "x.spec:4:8: error: the output 0 takes no part in the argmax\n  output 0: a\n         ^\n"
            "  expected: one of 1",
        ),
        (
            MOST,
            "x.spec:1:1: error: missing network\n  output 0: #L[a] >= #L[b]\n  ^^^^^^^^^^^^^^^^^^^^^^^^\n"
            "  expected: a line network: with a folder or a file\n"
            "  or name the network on the command line: hardsim check NETWORK --against x.spec",
        ),
        (
            "network: nett\n" + MOST,
            "x.spec:1:10: error: there is no nett\n  network: nett\n           ^^^^\n"
            "  expected: the path of a folder or file, relative to this file",
        ),
        (
            "network: x.spec\n" + MOST,
            "x.spec:1:10: error: x.spec is no network\n  network: x.spec\n           ^^^^^^\n"
            "  expected: a folder, a file of weights, or network JSON",
        ),
        (
            "network:\n" + MOST,
            "x.spec:1:9: error: network: names nothing\n  network:\n          ^\n"
            "  expected: a path, relative to this file",
        ),
        (
            "network: net\nprogram: most.py\n",
            "x.spec:2:10: error: program: names no S-RASP program\n  program: most.py\n           ^^^^^^^\n"
            "  expected: a file that ends in .srasp",
        ),
        (
            "network: net\nprogram: q.srasp\n",
            "x.spec:2:10: error: q.srasp: no such file\n  program: q.srasp\n           ^^^^^^^\n"
            "  Check the path; `hardsim examples` lists what is shipped.",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_place(folder: Path, lines: str, message: str) -> None:
    assert refused(folder, lines) == message


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("p", "p: the folder has no weights\n  network: p\n           ^\n  Put model.safetensors "),
        (
            "net/vocab.json",
            "net/vocab.json: by its name (*vocab.json) this is the vocabulary of a network\n  network: net/vocab.json",
        ),
        ("pipe.json", "pipe.json: is a pipe, not a file\n  network: pipe.json\n           ^^^^^^^^^\n"),
        ("loop.json", "there is no loop.json\n  network: loop.json\n           ^^^^^^^^^\n"),
    ],
)
def test_a_network_that_cannot_be_read_is_reported_at_its_line(folder: Path, network: str, message: str) -> None:
    (folder / "p").mkdir()
    os.mkfifo(folder / "pipe.json")
    (folder / "loop.json").symlink_to("loop.json")
    assert refused(folder, f"network: {network}\n{MOST}").startswith(f"x.spec:1:10: error: {message}")


def test_a_program_over_other_symbols_is_refused(folder: Path) -> None:
    written(folder / "p.srasp", PROGRAM.format(alphabet="a b c", output="most"))
    message = refused(folder, "network: net\nalphabet: a b\nprogram: p.srasp\n")
    assert "x.spec:3:10: error: the program has the symbols a b c, and words here have a b\n" in message
    written(folder / "p.srasp", "alphabet: a b\nx(i) = 1\n")
    assert refused(folder, "network: net\nalphabet: a b\nprogram: p.srasp\n").startswith("p.srasp:2:")


# ---- what was compiled here ----


@pytest.mark.parametrize(
    "lines", ["output x: #L[a] >= #L[b]\n", "at: last\ndecide: above 1/2\nalphabet: b a\noutput y: #[a] >= #[b]\n"]
)
def test_what_was_compiled_is_checked_against_what_is_accepted(folder: Path, lines: str) -> None:
    path = spec(folder, lines)
    same, other = (hardsim.load(text, alphabet="a b") for text in ("#L[a] + 1 > #L[b]", "#L[a] > #L[b]"))
    assert same.check(against=path, max_n=4).verdict is Verdict.CERTIFIED
    wrong = other.check(against=path, max_n=4)
    assert wrong.mismatch is not None
    assert (wrong.mismatch.word, wrong.mismatch.oracle) == (("a", "b"), True)


def test_a_program_says_what_is_accepted(folder: Path) -> None:
    written(folder / "p.srasp", PROGRAM.format(alphabet="a b", output="most"))
    path = spec(folder, "program: p.srasp\n")
    assert hardsim.load("#L[a] >= #L[b]", alphabet="b a").check(against=path, max_n=4).verdict is Verdict.CERTIFIED


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("tokens: a b\noutput x: a\n", "x.spec:1:1: error: tokens: is for external networks"),
        ("input: *\noutput x: a\n", "x.spec:1:1: error: input: is for external networks"),
        ("assume: a\noutput x: a\n", "x.spec:1:1: error: assume: is for external networks"),
        ("next: /a/\n", "x.spec:1:1: error: next: is for external networks"),
        ("at: each\noutput x: a\n", "x.spec:1:5: error: <expression> was compiled here: it is read at one position"),
        ("output x: a\noutput y: a\n", "x.spec:2:8: error: <expression> was compiled here: it has one output"),
        ("value x: 1\n", "x.spec:1:7: error: <expression> was compiled here: it has one output"),
        ("alphabet: a c\noutput x: a\n", "x.spec:1:11: error: <expression> is over another alphabet: a b"),
        ("decide: above 1\noutput x: a\n", "x.spec:1:9: error: <expression> was compiled here, and accepts a word"),
        ("decide: argmax\noutput x: a\n", "x.spec:1:9: error: <expression> was compiled here, and accepts a word"),
    ],
)
def test_what_does_not_apply_to_it_is_refused(folder: Path, lines: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        hardsim.load("O a", alphabet="a b").check(against=spec(folder, lines), max_n=2)
    assert str(caught.value).replace(f"{folder}/", "").startswith(message)


def test_what_maps_words_says_not_which_are_accepted(folder: Path) -> None:
    with pytest.raises(InputError, match=r"maps words to words, and .* says which words are accepted"):
        hardsim.load("reverse").check(against=spec(folder, "output x: a\n"), max_n=2)


def test_names_of_outputs_may_have_colons(tmp_path: Path) -> None:
    network = mean_of_a(outputs=("a:1", "a:2"))
    two = replace(network, unembedding=np.array([[0.0, 0.0], [1.0, 1.0]]), unembedding_bias=np.array([TIE, -2.0]))
    (tmp_path / "n.json").write_text(model_of(two).to_json(), encoding="utf-8")
    path = spec(tmp_path, "network: n.json\ndecide: above 0\nat: last\noutput a:1: #L[a] >= #L[b]\noutput a:2: false\n")
    assert hardsim.load(path).check(max_n=4).verdict is Verdict.PROVED
    (one,) = hardsim.load(path).eval("ab")
    assert one.places[-1].expected == "{a:1=True a:2=False}"


def test_a_network_is_not_saved_over_what_it_was_read_from(folder: Path) -> None:
    model = hardsim.load(spec(folder, f"network: net\nalphabet: a b\n{MOST}"))
    for name in ("config.json", "vocab.json"):
        with pytest.raises(InputError, match="would overwrite the input"):
            model.save(folder / "net" / name)


def test_an_alphabet_that_is_given_is_not_the_fault_of_a_line(folder: Path) -> None:
    path = spec(folder, f"network: net\nalphabet: a b\n{MOST}")
    for alphabet in ([], ["a", "z"]):
        with pytest.raises(InputError) as caught:
            hardsim.load(path, alphabet=alphabet)
        assert not isinstance(caught.value, SourceError)
