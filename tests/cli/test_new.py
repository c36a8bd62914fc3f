"""The command `new`: a specification for a network, which runs as soon as its last line is written."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.errors import InputError
from hardsim.network.dense import NetworkLayer, Token
from hardsim.reading.network_json import network_json
from hardsim.writing.specification import draft_of, marks_of
from tests.cli.conftest import Cli, written
from tests.support.external import exact, hooked_folder, mean_of_a
from tests.support.mistakes import raised
from tests.support.model import Mask, Network, Readout


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def several(outputs: tuple[Token, ...], **readout: Any) -> Network:
    """Return a network over a and b with several outputs: the second one is the share of a less a half and a bit, and
    the others are 0, -1, -2 and so on."""
    heights = [0, Fraction(-511, 1024), *(-Fraction(place) for place in range(1, len(outputs) - 1))]
    columns = np.zeros((2, len(outputs)))
    columns[1, 1] = 1.0
    network = replace(mean_of_a(), outputs=outputs, readout=Readout(**{"decide": "argmax"} | readout))
    return replace(network, unembedding=columns, unembedding_bias=exact([heights])[0])


def completed(hardsim: Cli, network: Network, line: str) -> str:
    """Write a network and a draft, complete its last line, and return the whole text."""
    written(Path("net.json"), json.dumps(network_json(network)))
    found = hardsim("new", "net.json").exits(0, "net.spec: complete line", "\n  hardsim check net.spec\n")
    text = Path("net.spec").read_text()
    key = line.partition(":")[0]
    assert text.endswith(f"\n{key}:\n")
    assert f"complete line {text.count(chr(10))} ({key}:)" in found.out
    hardsim("check", "net.spec").refused("net.spec:", f"{key}:", "expected: ")
    written(Path("net.spec"), f"{text.removesuffix(f'{key}:' + chr(10))}{line}\n")
    return text


def test_a_network_with_one_output(hardsim: Cli) -> None:
    text = completed(hardsim, mean_of_a(Fraction(-511, 1024)), "language: #[a] >= #[b]")
    assert "accept:" not in text
    hardsim("check", "net.spec", "--max-n", "5").clean("PROVED net.spec")


def test_a_classifier_of_two_labels(hardsim: Cli) -> None:
    text = completed(hardsim, several(("no", "yes")), "language: #[a] >= #[b]")
    assert "\naccept: yes\n" in text
    hardsim("check", "net.spec", "--max-n", "5").clean("PROVED net.spec")


def test_labels_that_do_not_say_which_one_accepts(hardsim: Cli) -> None:
    text = completed(hardsim, several(("LABEL_0", "LABEL_1")), "language: #[a] >= #[b]")
    assert "says that a word is accepted: LABEL_0 or LABEL_1?\naccept: LABEL_1\n" in text
    hardsim("check", "net.spec", "--max-n", "5").clean("PROVED net.spec")


def test_a_classifier_of_more_labels(hardsim: Cli) -> None:
    text = completed(hardsim, several(("x", "y", "z")), "output x: #[a] < #[b]\noutput y: #[a] >= #[b]")
    assert "one line for each of x y z" in text
    hardsim("check", "net.spec", "--max-n", "5").clean("PROVED net.spec")


def test_a_number(hardsim: Cli) -> None:
    network = mean_of_a(Fraction(0), readout=Readout(decide="value", level=Fraction(1, 1000)))
    completed(hardsim, network, "value share: #[a] / len")
    hardsim("check", "net.spec", "--max-n", "5").clean("PROVED net.spec")


def test_a_language_model(hardsim: Cli) -> None:
    """Its three outputs are its tokens: the greatest is b while at least half of the symbols are a, else a."""
    tokens = ("a", "b", "<eos>")
    network = several(tokens, at="each", alphabet=("a", "b"))
    embedding = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    network = replace(network, tokens=tokens, outputs=tokens, embedding=embedding)
    text = completed(hardsim, network, "next: /(a|b)*/")
    assert "// next: /(ab)*/\n" in text
    hardsim("check", "net.spec", "--max-n", "4").clean("all 30 judged words")
    written(Path("other.spec"), text.removesuffix("next:\n") + "next: /(ab)*/\n")
    hardsim("check", "other.spec", "--max-n", "4").exits(1, "REFUTED")


def language_model(tokens: tuple[Token, ...], **readout: Any) -> Network:
    """Return a network whose outputs are its tokens, of which the first two are a and b: the greatest output is b while
    at least half of the symbols are a, else a."""
    network = several(tokens, at="each", **readout)
    embedding = np.zeros((len(tokens), 2))
    embedding[0, 0] = 1.0
    return replace(network, tokens=tokens, outputs=tokens, embedding=embedding)


def test_a_language_model_without_an_end_of_words(hardsim: Cli) -> None:
    """Every prefix goes on with a symbol: the expression a*b+ would allow b alone after b, but the network says a after
    ab and b b; of (a|b)* every word has a longer one."""
    text = completed(hardsim, language_model(("a", "b")), "next: /(a|b)*/")
    assert "\n// no token is called <eos>: every word needs a longer one (or name an end of words so, in" in text
    assert text.endswith("\n// next: /(ab)*/\nnext:\n")
    hardsim("check", "net.spec", "--max-n", "4").clean("all 30 judged words")
    for language, code in (("(ab)*", 1), ("(a|b)*b", 0), ("a*b*", 1)):
        written(Path("other.spec"), f"{text.removesuffix('next:' + chr(10))}next: /{language}/\n")
        hardsim("check", "other.spec", "--max-n", "4").exits(code)
    for language in ("ab", "(ab)*|b"):
        written(Path("other.spec"), f"{text.removesuffix('next:' + chr(10))}next: /{language}/\n")
        found = hardsim("check", "other.spec")
        found.refused("other.spec:", "after some word no symbol may come next, and the network has no output <eos>")


def test_a_network_that_predicts_hidden_tokens(hardsim: Cli) -> None:
    """The greatest output is b where at least half of the whole word is a. A network that sees no later positions
    predicts the next token, even if one of its tokens is called <mask>."""
    network = language_model(("a", "b", "<mask>"))
    assert completed(hardsim, network, "next: /(a|b)*/").endswith("\n// next: /(ab)*/\nnext:\n")
    Path("net.spec").unlink()
    head = replace(network.layers[0].heads[0], mask=Mask.NONE)
    network = replace(network, layers=(NetworkLayer((head,), None),))
    lines = "output a: #[a] < #[b] + #['<mask>']\noutput b: #[a] >= #[b] + #['<mask>']"
    text = completed(hardsim, network, lines)
    assert "\nalphabet: a b <mask>\ninput: *\n// <mask> hides a token; " in text
    assert "\nat: each\ndecide: argmax of a b\nassume: '<mask>'\n// what the network" in text
    assert "\n// one line for each of a b: " in text
    hardsim("check", "net.spec", "--max-n", "4").clean("net.spec")


def test_what_a_specification_leaves_out_is_said(hardsim: Cli) -> None:
    network = mean_of_a(readout=Readout(before=("<bos>",)), tokens=("a", "b", "<bos>"))
    written(Path("net.json"), json.dumps(network_json(network)))
    written(Path("net.spec"), "network: net.json\nlanguage: /b*(a|b)*/\n")
    hardsim("check", "net.spec", "--max-n", "2").says("the network answers the empty word too, which is not judged")
    written(Path("net.json"), json.dumps(network_json(mean_of_a())))
    hardsim("check", "net.spec", "--max-n", "2").unsaid("empty word")
    model = replace(
        language_model(("a", "b", "</s>")), readout=Readout(at="each", decide="argmax", alphabet=("a", "b"))
    )
    written(Path("net.json"), json.dumps(network_json(model)))
    written(Path("net.spec"), "network: net.json\nnext: /(a|b)*/\n")
    hardsim("check", "net.spec", "--max-n", "2").says("no output is called <eos>", "</s> may never come next: if it")
    written(Path("net.spec"), "network: net.json\ntokens: a b <eos>\nnext: /(a|b)*/\n")
    hardsim("check", "net.spec", "--max-n", "2").unsaid("no output is called")


def test_a_large_vocabulary() -> None:
    """The examples of a draft have the symbols of its alphabet. A specification names at most 10,000 tokens."""
    names = tuple(f"t{k}" for k in range(70))
    text = draft_of(language_model(names), "net.json", True, marks_of({}, names, False)).text
    assert "\nalphabet: t0 t1\n" in text
    assert "next: /(t0 t1)*/" in text
    many = language_model(tuple(range(10_001)))
    raised(InputError, draft_of, many, "big", False, marks_of({}, (), False), match="10,001 tokens without names")
    assert "tokens: 0 1 2" in draft_of(language_model(tuple(range(9))), "big", False, marks_of({}, (), False)).text


def test_a_folder_that_is_no_network(hardsim: Cli) -> None:
    Path("empty").mkdir()
    hardsim("new", "empty").refused("empty is no folder of a network", "docs/networks.md")
    written(Path("empty/model.safetensors"), "")
    hardsim("new", "empty").refused("it has no config.json (model_args.json for nanoGPT)")


def test_marks_of_a_configuration(hardsim: Cli) -> None:
    """Tokens that config.json names as the beginning and end of texts: a name that looks like a mark is used, and any
    other is only proposed in a comment, since libraries write default ids that mean nothing."""

    def drafted(tokens: tuple[Token, ...], around: bool = False, **ids: Any) -> str:
        return draft_of(language_model(tokens), "net.json", True, marks_of(ids, tokens, around)).text

    plain = ("a", "b", "c")
    assert "\ndecide: argmax" in drafted(plain)
    assert "\n// if c (bos_token_id) stood before words: leave it out of alphabet:, and input: c *\ninput: *\n" in (
        drafted(plain, bos_token_id=2)
    )
    others: list[Any] = [50256, None, -1, True, "2", []]
    for meaningless in others:
        assert drafted(plain, bos_token_id=meaningless, eos_token_id=meaningless) == drafted(plain)
    marked = ("a", "b", "<|endoftext|>")
    text = drafted(marked, bos_token_id=2)
    assert "\nalphabet: a b\n" in text
    assert "\n// without <|endoftext|>, if the network was trained without it\ninput: <|endoftext|> *\n" in text
    assert "\ntokens:" not in text
    padded = drafted(("[PAD]", "[CLS]", "[SEP]", "a", "b"), bos_token_id=0)
    assert "input: [CLS] * [SEP]\n" in padded
    stated = drafted(marked, True, bos_token_id=2)
    assert "\n// if <|endoftext|> stood before words in training: input: <|endoftext|> *\ninput: *\n" in stated
    both = drafted(marked, bos_token_id=2, eos_token_id=[2])
    named = "// <|endoftext|> ends texts, and the token that ends words is called <eos> here\ntokens: a b <eos>\n"
    assert named in both
    assert "\ninput: <eos> *\n" in both
    assert both.endswith("\n// next: /(ab)*/\nnext:\n")
    written(Path("net.json"), json.dumps(network_json(language_model(marked))))
    written(Path("net.spec"), both.removesuffix("next:\n") + "next: /(a|b)*/\n")
    hardsim("check", "net.spec", "--max-n", "3").clean("all 15 judged words")


def test_a_tokenizer_states_what_stands_before_words(hardsim: Cli, tmp_path: Path) -> None:
    folder = hooked_folder(tmp_path / "net", 0.0)
    (folder / "vocab.json").unlink()
    added = [{"id": 2, "content": "<bos>", "special": True}]
    model = {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "<bos>": 2}}
    written(folder / "tokenizer.json", json.dumps({"model": model, "added_tokens": added, "post_processor": None}))
    text = hardsim("new", "net", "-o", "-").exits(0).out
    assert "\n// if <bos> stood before words in training: input: <bos> *\ninput: *\n" in text


def test_a_folder_elsewhere(hardsim: Cli, tmp_path: Path) -> None:
    hooked_folder(tmp_path / "deep" / "net", -0.4990234375)
    hardsim("new", "deep/net").clean("net.spec: complete line")
    text = Path("net.spec").read_text()
    assert "network: deep/net\nalphabet: a b pad\n" in text
    changed = text.replace("alphabet: a b pad", "alphabet: a b").replace("\nlanguage:", "\nlanguage: #[a] >= #[b]")
    written(Path("net.spec"), changed)
    hardsim("check", "net.spec", "--max-n", "5").clean("PROVED net.spec")


def test_tokens_without_names(hardsim: Cli, tmp_path: Path) -> None:
    """Without a vocabulary tokens are called by their ids, and the draft says where to rename them."""
    (hooked_folder(tmp_path / "net", -0.4990234375) / "vocab.json").unlink()
    hardsim("new", "net").exits(0)
    text = Path("net.spec").read_text()
    note = "// the tokens have no names: rename them here, in order of their ids, and below in the same way"
    assert f"\n{note}\ntokens: 0 1 2\nalphabet: 0 1 2\n" in text
    changed = text.replace("tokens: 0 1 2\nalphabet: 0 1 2", "tokens: a b pad\nalphabet: a b")
    written(Path("net.spec"), changed.replace("\nlanguage:", "\nlanguage: #[a] >= #[b]"))
    hardsim("check", "net.spec", "--max-n", "5").clean("PROVED net.spec")


def test_the_draft_on_standard_output(hardsim: Cli) -> None:
    written(Path("net.json"), json.dumps(network_json(mean_of_a())))
    printed = hardsim("new", "net.json", "-o", "-").exits(0).out
    hardsim("new", "net.json", "-o", "x.spec").exits(0)
    assert printed == Path("x.spec").read_text()
    document = hardsim("new", "net.json", "-o", "y.spec", "--json", "-").exits(0).json
    (result,) = document["results"]
    assert (result["output"], result["key"], result["line"]) == ("y.spec", "language", printed.count("\n"))


def test_what_cannot_be_drafted_is_refused(hardsim: Cli) -> None:
    written(Path("net.json"), json.dumps(network_json(mean_of_a())))
    hardsim("new").refused("name a network", "hardsim new my_gpt2/")
    hardsim("new", "since", "-o", "x.spec").refused("is a formula, and specifications are for external networks")
    hardsim("new", "net.json", "-o", "x.txt").refused("-o x.txt does not end in .spec")
    hardsim("new", "net.json").exits(0)
    before = Path("net.spec").read_text()
    hardsim("new", "net.json").refused("net.spec exists already", "-o")
    assert Path("net.spec").read_text() == before
    written(Path("whole.spec"), "network: net.json\nlanguage: a\n")
    hardsim("new", "whole.spec", "-o", "z.spec").refused("is a specification already")
    assert not Path("z.spec").exists()
    assert not Path("x.spec").exists()


@pytest.mark.parametrize("tokens", [("(", ")"), ("[", "]"), ("'", "*"), ("|", "!"), ("ab", "c"), ("<bos>", "<eos>")])
def test_every_example_of_a_draft_is_accepted(hardsim: Cli, tokens: tuple[Token, ...]) -> None:
    network = replace(mean_of_a(), tokens=tokens)
    written(Path("net.json"), json.dumps(network_json(network)))
    hardsim("new", "net.json").exits(0)
    text = Path("net.spec").read_text()
    examples = [line.removeprefix("// ") for line in text.splitlines() if line.startswith("// language: ")]
    for example in examples:
        if "@" not in example:
            written(Path("x.spec"), text.removesuffix("language:\n") + example + "\n")
            assert hardsim("check", "x.spec", "--max-n", "3").code in (0, 1), example
    assert len(examples) == 3


def test_outputs_go_before_the_symbols_of_a_reference(hardsim: Cli) -> None:
    written(Path("net.json"), json.dumps(network_json(several(("x", "y")))))
    written(Path("other.re"), "z+\n")
    found = hardsim("check", "net.json", "--against", "other.re")
    found.refused("error: net.json has 2 outputs, and other.re says only which words are accepted", "hardsim new net")
    written(Path("named.json"), json.dumps(network_json(several(("no", "yes")))))
    hardsim("check", "named.json", "--against", "other.re").refused("other.re:1:1: error: 'z' is not a symbol")
