"""The tokens of a folder: the names in its tokenizer, its special tokens, and what it puts around every text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Network
from hardsim.reading.folder import network_of, readout_sources
from hardsim.reading.tensors import Stored
from hardsim.reading.writing import save
from tests.reading.folders import write_folder
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import read_folder

ONE = {"w": np.ones((2, 3), np.float32)}
LETTERS = {"a": 0, "b": 1}
WORDS = {"type": "WordLevel", "vocab": LETTERS, "unk_token": "a"}
PAIR = {"a": 0, "b": 1, "ab": 2}
BYTES = {"type": "BPE", "vocab": PAIR, "merges": [["a", "b"]]}
PIECES = {"type": "WordPiece", "vocab": {"a": 0, "##a": 1}, "unk_token": "[UNK]"}
SCORED = {"type": "Unigram", "vocab": [["a", -1.5], ["b", -2.0]], "unk_id": 0}
TEMPLATE: dict[str, Any] = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "</s>", "type_id": 0}},
    ],
    "special_tokens": {
        name: {"id": name, "ids": [number], "tokens": [name]} for name, number in (("<s>", 2), ("</s>", 3))
    },
}
OTHER_IDS = TEMPLATE | {"special_tokens": {name: {"ids": [3], "tokens": [name]} for name in ("<s>", "</s>")}}
"""The library puts the id 3 before and after a text, whatever the names."""
MARKS = [{"id": 2, "content": "<s>", "special": True}, {"id": 3, "content": "</s>", "special": True}]


def written(folder: Path, **changes: object) -> Stored:
    """Write a folder with a tokenizer, and read it."""
    document = {"version": "1.0", "added_tokens": [], "normalizer": None, "model": WORDS} | changes
    write_folder(folder, ONE, {})
    (folder / "tokenizer.json").write_text(json.dumps(document))
    return read_folder(str(folder))


@pytest.mark.parametrize(
    ("model", "names"),
    [(WORDS, ("a", "b")), (BYTES, ("a", "b", "ab")), (PIECES, ("a", "##a")), (SCORED, ("a", "b"))],
    ids=["words", "pairs", "pieces", "scored"],
)
def test_every_model_names_tokens(tmp_path: Path, model: dict[str, object], names: tuple[str, ...]) -> None:
    found = written(tmp_path, model=model)
    assert found.vocabulary == names
    assert "tokenizer.json" in found.files


def test_added_tokens_are_tokens(tmp_path: Path) -> None:
    found = written(tmp_path, added_tokens=[{"id": 2, "content": "<pad>"}, {"id": 0, "content": "a"}])
    assert found.vocabulary == ("a", "b", "<pad>")


def test_ids_that_no_token_has_are_named(tmp_path: Path) -> None:
    """Libraries leave gaps, and round the number of rows of an embedding up."""
    found = written(tmp_path, model=WORDS | {"vocab": LETTERS | {"c": 4}})
    assert found.tokens(6) == ("a", "b", "<unused_2>", "<unused_3>", "c", "<unused_5>")
    raised(InputError, found.tokens, 4, match="names 5 tokens, and the network has 4")


def test_the_vocabulary_beside_a_tokenizer_has_the_same_tokens(tmp_path: Path) -> None:
    write_folder(tmp_path, ONE, {})
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1}')
    assert written(tmp_path, added_tokens=[{"id": 2, "content": "<pad>"}]).vocabulary == ("a", "b", "<pad>")
    (tmp_path / "vocab.json").write_text('{"a": 1, "b": 0}')
    raised(InputError, read_folder, str(tmp_path), match=r"names other tokens than vocab\.json")


def test_a_file_of_lines_names_tokens(tmp_path: Path) -> None:
    path = write_folder(tmp_path, ONE, {})
    (tmp_path / "vocab.txt").write_bytes("[PAD]\n[CLS]\r\né\n".encode())
    found = read_folder(path)
    assert found.vocabulary == found.tokens(3) == ("[PAD]", "[CLS]", "é")
    for text, match in ((b"a\nb\na\n", "the token 'a' stands on lines 1 and 3"), (b"a\n\xff\n", "not UTF-8")):
        (tmp_path / "vocab.txt").write_bytes(text)
        raised(InputError, read_folder, path, match=match)


@pytest.mark.parametrize(
    ("processor", "around"),
    [
        (None, ((), ())),
        ({"type": "ByteLevel", "add_prefix_space": True}, ((), ())),
        ({"type": "TemplateProcessing", "special_tokens": {}}, ((), ())),
        (TEMPLATE, (("<s>",), ("</s>",))),
        ({"type": "BertProcessing", "cls": ["<s>", 2], "sep": ["</s>", 3]}, (("<s>",), ("</s>",))),
        ({"type": "RobertaProcessing", "cls": ["a", 0], "sep": ["</s>", 3], "trim_offsets": True}, (("a",), ("</s>",))),
        ({"type": "Sequence", "processors": [{"type": "ByteLevel"}, TEMPLATE]}, (("<s>",), ("</s>",))),
    ],
)
def test_tokens_around_a_text_are_those_of_the_post_processor(tmp_path: Path, processor: Any, around: Any) -> None:
    found = written(tmp_path, added_tokens=MARKS, post_processor=processor).tokenizer
    assert found is not None
    assert (found.before, found.after) == around


def changed(number: int, **part: object) -> dict[str, object]:
    """Return the template with another part in the place of one."""
    single = list(TEMPLATE["single"])
    single[number] = part
    return TEMPLATE | {"single": single}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": None}, "it has no model"),
        ({"model": {"type": "Mystery"}}, "its model is Mystery, and a model with a vocabulary was expected"),
        ({"added_tokens": 3}, "its added_tokens are not a list of tokens"),
        ({"post_processor": {"type": "Mystery"}}, "its post_processor is not one that"),
        ({"post_processor": 3}, "its post_processor is not one that"),
        ({"post_processor": {"type": "Sequence", "processors": 3}}, "its post_processor is not one that"),
        ({"post_processor": {"type": "BertProcessing", "sep": ["a", 0]}}, "its post_processor is not one that"),
        ({"post_processor": {"type": "TemplateProcessing"}}, "its post_processor is not one that"),
        ({"post_processor": {"type": "Sequence", "processors": [TEMPLATE, TEMPLATE]}}, "its post_processor is not one"),
        ({"post_processor": changed(1, Sequence={"id": "A", "type_id": 1})}, "its post_processor is not one that"),
        ({"post_processor": changed(1, Sequence={"id": "B", "type_id": 0})}, "its post_processor is not one that"),
        ({"post_processor": changed(0, SpecialToken={"id": "?", "type_id": 0})}, "its post_processor is not one that"),
        ({"post_processor": changed(0, Sequence={"id": "A", "type_id": 0})}, "its post_processor is not one that"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    before = read_folder(write_folder(tmp_path, ONE, {}))
    found = (
        written(tmp_path, added_tokens=MARKS, **changes)
        if "added_tokens" not in changes
        else written(tmp_path, **changes)
    )
    assert found.sha256 == before.sha256
    assert found.vocabulary is None
    assert found.tokenizer is None
    (note,) = found.notes
    assert note.startswith(f"tokenizer.json is not used: {reason}")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ()),
        ({"pre_tokenizer": {"type": "WhitespaceSplit"}}, ()),
        ({"normalizer": {"type": "Lowercase"}}, "normalizer (Lowercase) is not applied"),
        (
            {"pre_tokenizer": {"type": "ByteLevel"}, "model": BYTES},
            "pre_tokenizer (ByteLevel), a merge are not applied",
        ),
    ],
)
def test_what_is_not_applied_is_said(tmp_path: Path, changes: dict[str, object], said: Any) -> None:
    expected = (f"tokenizer.json: words are given token by token: {said}",) if said else ()
    assert written(tmp_path, **changes).notes == expected


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"added_tokens": [{"id": "2", "content": "c"}]}, "'c' has the id \"2\", and the library gives it 2"),
        ({"added_tokens": [{"id": 1, "content": "c"}]}, "'c' has the id 1, and the library gives it 2"),
        ({"added_tokens": [{"id": -1, "content": "c"}]}, "'c' has the id -1, and the library gives it 2"),
        ({"added_tokens": [{"id": 4, "content": "c"}]}, "'c' has the id 4, and the library gives it 2"),
        ({"added_tokens": [{"id": 2, "content": "a"}]}, "'a' has the id 2, and the library gives it 0"),
        ({"added_tokens": MARKS, "post_processor": OTHER_IDS}, "adds '<s>' as 3, and its id is 2"),
        (
            {
                "added_tokens": MARKS,
                "post_processor": {"type": "BertProcessing", "cls": ["<s>", 1], "sep": ["</s>", 3]},
            },
            "adds '<s>' as 1, and its id is 2",
        ),
        ({"model": WORDS | {"vocab": {"a": 0, "b": "1"}}}, "an id of a token is not an integer"),
        ({"model": WORDS | {"vocab": {"a": 0, "b": 0}}}, "'b' has the id 0"),
        ({"model": WORDS | {"vocab": {"a": 0, "b": 2**40}}}, "'b' has the id"),
        ({"model": {"type": "BPE", "vocab": {}}}, "empty"),
        ({"post_processor": TEMPLATE}, "the post_processor adds '<s>', which is not in the vocabulary"),
    ],
)
def test_a_broken_tokenizer_is_refused(tmp_path: Path, changes: dict[str, object], match: str) -> None:
    assert raised(InputError, lambda: written(tmp_path, **changes), match=match).hint


# ---- networks that are read with a tokenizer ----


def gpt2(folder: Path, **changes: object) -> Stored:
    """Write a GPT-2 language model without layers over six tokens, with a tokenizer of four, and read it."""
    rng = np.random.default_rng(0)
    tensors = {"wte.weight": rng.normal(size=(6, 2)), "wpe.weight": rng.normal(size=(8, 2))}
    tensors |= {"ln_f.weight": np.ones(2), "ln_f.bias": np.zeros(2)}
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 2, "n_head": 1, "n_layer": 0}
    sizes = {"vocab_size": 6, "n_positions": 8, "layer_norm_epsilon": 1e-5, "activation_function": "relu"}
    document = {"model": WORDS, "added_tokens": MARKS, "post_processor": TEMPLATE} | changes
    write_folder(folder, {f"transformer.{name}": array for name, array in tensors.items()}, config | sizes)
    (folder / "tokenizer.json").write_text(json.dumps(document))
    return read_folder(str(folder))


def read(stored: Stored) -> Network:
    """Return the network of a folder."""
    return network_of(stored)[0]


def test_words_are_read_as_the_tokenizer_gives_them(tmp_path: Path) -> None:
    stored = gpt2(tmp_path)
    network, form = network_of(stored)
    assert network.tokens == ("a", "b", "<s>", "</s>", "<unused_4>", "<unused_5>")
    assert network.symbols == ("a", "b")
    assert network.read(["b", "a"]) == [2, 1, 0, 3]
    sources = readout_sources(stored, form)
    assert {sources[key] for key in ("tokens", "alphabet", "input")} == {"tokenizer.json"}
    assert "decide" not in sources


def test_a_tokenizer_may_mark_all_its_tokens_as_special(tmp_path: Path) -> None:
    special = [{"id": number, "content": name, "special": True} for name, number in LETTERS.items()]
    network = read(gpt2(tmp_path, added_tokens=[*special, *MARKS], post_processor=None))
    assert network.symbols[:2] == ("a", "b")


def test_a_folder_that_is_saved_is_read_in_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    stored = gpt2(tmp_path / "one")
    network = read(stored)
    save(stored, str(tmp_path / "two"))
    again = read(read_folder(str(tmp_path / "two")))
    assert (again.tokens, again.readout) == (network.tokens, network.readout)
