"""The tokens of a network as its tokenizer names them: a vocabulary, special tokens, and tokens around every text.

Words are given to hardsim token by token, so a tokenizer names the ids, and nothing else of it is applied: neither
normalizers, nor pre-tokenizers, nor merges. Source: the files of Hugging Face `tokenizers`, `tokenizer.json`, whose
models are WordLevel, BPE (also of bytes), WordPiece and Unigram; `vocab.json`; and the older `vocab.txt`, a token a
line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hardsim.errors import InputError

VOCABULARY, TOKENIZER, LINES = "vocab.json", "tokenizer.json", "vocab.txt"
MOST_IDS = 2**24
"""The greatest id of a token."""
BLANKS = "Whitespace", "WhitespaceSplit"
"""The pre-tokenizers that divide a text at blanks, as words are written here."""
UNNAMED = "<unused_{}>"
"""The name of an id that no token has."""


@dataclass(frozen=True)
class Tokenizer:
    """The tokens that a `tokenizer.json` names."""

    names: tuple[str, ...]
    """The names by id."""
    special: tuple[str, ...] = ()
    """The special tokens, such as padding and unknown: no symbols of words."""
    before: tuple[str, ...] = ()
    """Tokens that the post-processor puts before every text."""
    after: tuple[str, ...] = ()
    """Tokens that the post-processor puts after every text."""
    notes: tuple[str, ...] = ()
    """Statements of what is not applied."""
    text: bytes = b""
    """The file."""


def read_tokenizer(document: dict[str, Any], text: bytes, where: str) -> Tokenizer | str:
    """Return the tokens that a tokenizer names, or the reason why it cannot be used. Raises InputError if ids or names
    of tokens are not what they must be. `where` names the file in errors."""
    model = document.get("model")
    if not isinstance(model, dict):
        return "it has no model"
    listed = model.get("vocab")
    if isinstance(listed, list) and model.get("type", "Unigram") == "Unigram":
        listed = {str(pair[0]): number for number, pair in enumerate(listed) if isinstance(pair, list) and pair}
    if not isinstance(listed, dict):
        return f"its model is {model.get('type', 'not named')}, and a model with a vocabulary was expected"
    added = document.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(one, dict) and "content" in one for one in added):
        return "its added_tokens are not a list of tokens"
    ids = dict(listed) | {str(one["content"]): one.get("id") for one in added}
    around = _around(document.get("post_processor"))
    if around is None:
        return "its post_processor is not one that puts fixed tokens before and after a text"
    special = tuple(str(one["content"]) for one in added if one.get("special") is True)
    for token in (*around[0], *around[1]):
        if token not in ids:
            message = f"{where}: the post_processor adds {token!r}, which is not in the vocabulary"
            raise InputError(message, "Save the tokenizer again, or remove it: then tokens are called by their ids.")
    return Tokenizer(names_by_id(ids, where, gaps=True), special, *around, tuple(_unapplied(document, model)), text)


def names_by_id(ids: Mapping[str, Any], where: str, gaps: bool = False) -> tuple[str, ...]:
    """Return tokens in order of their ids, which must be 0, 1, ... up to the last; with `gaps`, ids that no token has
    get a name of their own. Raises InputError for anything else."""
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in ids.values()):
        raise InputError(f"{where}: an id of a token is not an integer", "Give every token its id: 0, 1, 2 and so on.")
    tokens = sorted(ids, key=lambda token: int(ids[token]))
    if gaps and tokens and ids[tokens[0]] >= 0 and ids[tokens[-1]] <= MOST_IDS:
        known = dict(zip(map(ids.__getitem__, tokens), tokens, strict=True))
        if len(known) == len(tokens):
            return tuple(known.get(number, UNNAMED.format(number)) for number in range(ids[tokens[-1]] + 1))
    wrong = [token for expected, token in enumerate(tokens) if ids[token] != expected]
    if wrong or not tokens:
        message = (
            f"{wrong[0]!r} has the id {ids[wrong[0]]}, where {tokens.index(wrong[0])} is next" if wrong else "empty"
        )
        raise InputError(f"{where}: {message}", "The ids of tokens must be 0, 1, 2 and so on, each once.")
    return tuple(tokens)


def names_by_line(text: bytes, where: str) -> tuple[str, ...]:
    """Return the tokens of a file with one token a line, in the order of their ids. Raises InputError if it is not
    UTF-8, or a token occurs twice."""
    try:
        lines = text.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise InputError(f"{where}: not UTF-8 text", "Save it again: one token a line.") from None
    lines = [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    first: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if first.setdefault(line, number) != number:
            message = f"{where}: the token {line!r} stands on lines {first[line]} and {number}"
            raise InputError(message, "Each token needs one line: its id is the number of lines before it.")
    return tuple(lines)


def _around(processor: Any) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the tokens that a post-processor puts before and after a text; None if it does something else."""
    if processor is None:
        return (), ()
    if not isinstance(processor, dict):
        return None
    match processor.get("type"):
        case "ByteLevel":
            return (), ()
        case "BertProcessing" | "RobertaProcessing":
            match processor.get("cls"), processor.get("sep"):
                case [str(first), _], [str(last), _]:
                    return (first,), (last,)
        case "TemplateProcessing":
            # Libraries write a template that adds nothing without its parts.
            if processor.get("special_tokens") == {} and not isinstance(processor.get("single"), list):
                return (), ()
            return _template(processor.get("single"), processor.get("special_tokens"))
        case "Sequence":
            return _all_around(processor.get("processors"))
    return None


def _all_around(processors: Any) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the tokens that several post-processors put around a text, the first one next to it."""
    before, after = tuple[str, ...](), tuple[str, ...]()
    for one in processors if isinstance(processors, list) else [0]:
        found = _around(one)
        if found is None:
            return None
        before, after = found[0] + before, after + found[1]
    return before, after


def _template(single: Any, special: Any) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the tokens before and after the one sequence of a template, all of token type 0."""
    parts = list(_pieces(single, special))
    if None in parts or parts.count("") != 1:
        return None
    place = parts.index("")
    names = [str(part) for part in parts]
    return tuple(names[:place]), tuple(names[place + 1 :])


def _pieces(single: Any, special: Any) -> Iterator[str | None]:
    """Yield the special tokens of a template, "" for its sequence, and None for what is neither."""
    tokens = special if isinstance(special, dict) else {}
    for piece in single if isinstance(single, list) else [None]:
        match piece:
            case {"Sequence": {"id": "A", "type_id": 0}}:
                yield ""
            case {"SpecialToken": {"id": str(name), "type_id": 0}}:
                known = tokens.get(name)
                listed = known.get("tokens") if isinstance(known, dict) else None
                yield from map(str, listed) if isinstance(listed, list) else [None]
            case _:
                yield None


def _unapplied(document: Mapping[str, Any], model: Mapping[str, Any]) -> Iterator[str]:
    """Yield statements about the parts of a tokenizer that change texts before they become tokens."""
    parts = [
        f"{key} ({part.get('type', 'unnamed')})"
        for key in ("normalizer", "pre_tokenizer")
        if isinstance(part := document.get(key), dict) and part.get("type") not in BLANKS
    ]
    merges = model.get("merges")
    if isinstance(merges, list) and merges:
        parts.append(f"{len(merges):,} merges" if len(merges) > 1 else "a merge")
    if parts:
        yield f"words are given token by token: {', '.join(parts)} {'are' if len(parts) > 1 else 'is'} not applied"
