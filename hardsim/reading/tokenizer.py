"""The tokens of a network as its tokenizer names them: a vocabulary, special tokens, and tokens around every text.

Words are given to hardsim token by token, so a tokenizer names the ids, and nothing else of it is applied: neither
normalizers, nor pre-tokenizers, nor merges. Source: the files of Hugging Face `tokenizers`, `tokenizer.json`, whose
models are WordLevel, BPE (also of bytes), WordPiece and Unigram; `vocab.json`; and the older `vocab.txt`, a token a
line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from hardsim.errors import InputError
from hardsim.lazy_dataclass import dataclass
from hardsim.network.reader import shown

VOCABULARY, TOKENIZER, LINES = "vocab.json", "tokenizer.json", "vocab.txt"
MOST_IDS = 2**24
"""The greatest id of a token."""
AGAIN = "Save the tokenizer again, or remove it: then tokens are called by their ids."
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
    ids = _with_added(dict(listed), added, where)
    around = _around(document.get("post_processor"))
    if around is None:
        return "its post_processor is not one that puts fixed tokens before and after a text"
    special = tuple(str(one["content"]) for one in added if one.get("special") is True)
    for token, number in (*around[0], *around[1]):
        if token not in ids:
            raise InputError(f"{where}: the post_processor adds {token!r}, which is not in the vocabulary", AGAIN)
        if number != ids[token]:
            message = f"{where}: the post_processor adds {token!r} as {shown(number)}, and its id is {ids[token]}"
            raise InputError(message, AGAIN)
    before, after = (tuple(token for token, _ in part) for part in around)
    names, notes = names_by_id(ids, where, gaps=True), tuple(_unapplied(document, model))
    return Tokenizer(names, special, before, after, notes, text)


def _with_added(ids: dict[str, Any], added: list[dict[str, Any]], where: str) -> dict[str, Any]:
    """Return the ids with those of added tokens. The library takes no id from the file: a token that is in the
    vocabulary keeps its id, and any other gets the next free one. Raises InputError if the file states another id."""
    free = len(ids)
    for one in added:
        token, stated = str(one["content"]), one.get("id")
        expected = ids.get(token, free)
        if stated != expected or isinstance(stated, bool):
            message = (
                f"{where}: the added token {token!r} has the id {shown(stated)}, and the library gives it {expected}"
            )
            raise InputError(message, AGAIN)
        ids[token] = stated
        free = max(free, expected + 1)
    return ids


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
        message = f"{wrong[0]!r} has the id {ids[wrong[0]]}, not {tokens.index(wrong[0])}" if wrong else "empty"
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


_Marks: TypeAlias = tuple[tuple[str, Any], ...]
"""Tokens with the ids that a post-processor states for them; the library reads the ids."""


def _around(processor: Any) -> tuple[_Marks, _Marks] | None:
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
                case [str(first), number], [str(last), other]:
                    return ((first, number),), ((last, other),)
        case "TemplateProcessing":
            # Libraries write a template that adds nothing without its parts.
            if processor.get("special_tokens") == {} and not isinstance(processor.get("single"), list):
                return (), ()
            return _template(processor.get("single"), processor.get("special_tokens"))
        case "Sequence":
            return _all_around(processor.get("processors"))
    return None


def _all_around(processors: Any) -> tuple[_Marks, _Marks] | None:
    """Return the tokens that several post-processors put around a text; None unless at most one of them puts any, since
    the library applies several in its own way."""
    found = [_around(one) for one in (processors if isinstance(processors, list) else [0])]
    adding = [one for one in found if one != ((), ())]
    if len(adding) > 1:
        return None
    return adding[0] if adding else ((), ())


_TEXT = ("", None)
"""The place of the text among the pieces of a template."""


def _template(single: Any, special: Any) -> tuple[_Marks, _Marks] | None:
    """Return the tokens before and after the one sequence of a template, all of token type 0."""
    parts = list(_pieces(single, special))
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or known.count(_TEXT) != 1:
        return None
    place = known.index(_TEXT)
    return tuple(known[:place]), tuple(known[place + 1 :])


def _pieces(single: Any, special: Any) -> Iterator[tuple[str, Any] | None]:
    """Yield the special tokens of a template with their ids, _TEXT for its sequence, and None for what is neither."""
    tokens = special if isinstance(special, dict) else {}
    for piece in single if isinstance(single, list) else [None]:
        match piece:
            case {"Sequence": {"id": "A", "type_id": 0}}:
                yield _TEXT
            case {"SpecialToken": {"id": str(name), "type_id": 0}}:
                match tokens.get(name):
                    case {"tokens": [*named], "ids": [*numbers]} if len(named) == len(numbers):
                        yield from zip(map(str, named), numbers, strict=True)
                    case _:
                        yield None
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
