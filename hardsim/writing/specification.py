"""Draft a specification of a network: all that its files say is filled in, and one line is left to complete.

The last line is the reference: `language:` for a network that accepts words (one output above a level, or the larger of
two), `next:` for one that predicts the next symbol, and otherwise a line for the first output. A network that predicts
hidden tokens is judged where the mask stands. Comments above the last line are examples over the symbols of the
network. Until it is written the file is refused, at this line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hardsim.errors import InputError
from hardsim.lang.spec.layout import ACCEPT, LANGUAGE, OUTPUT, VALUE
from hardsim.lang.spec.meaning import END, accepting_name
from hardsim.lang.valuations import listed
from hardsim.lang.vocabulary import quoted
from hardsim.lang.words import LARGEST_ALPHABET, has_long_symbols
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import MARK, Network, Token
from hardsim.network.numbers import Mask
from hardsim.reading.readout import at_text, decide_text, input_text, reread

MOST_SYMBOLS = 64
"""The greatest number of symbols that are taken for an alphabet; a larger vocabulary is that of texts."""
NOTE = "// "
HIDING = ("<mask>", "[MASK]")
"""Names of the token that stands for a hidden one."""


@dataclass(frozen=True)
class SpecificationDraft:
    """The text of a specification without its reference."""

    text: str
    line: int
    """The number of the line to complete, which is the last one."""
    key: str
    """The key of this line, such as `language`."""


@dataclass(frozen=True)
class FolderMarks:
    """The tokens that a folder names as the beginning and as the end of texts (None: it names none), and True if its
    tokenizer states which tokens stand around a text."""

    bos: str | None = None
    eos: str | None = None
    stated: bool = False


def marks_of(config: Mapping[str, Any], tokens: Sequence[Token], around: bool) -> FolderMarks:
    """Return the marks of a configuration of Hugging Face: the tokens with the ids that it states, if there are any."""

    def token(key: str) -> str | None:
        stated = config.get(key)
        number = stated[0] if isinstance(stated, list) and stated else stated
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(tokens):
            return None
        return str(tokens[number])

    return FolderMarks(token("bos_token_id"), token("eos_token_id"), around)


def draft_of(network: Network, place: str, named: bool, marks: FolderMarks) -> SpecificationDraft:
    """Return the draft for a network at a path relative to the specification; `named`: its tokens have names. Raises
    InputError for more tokens without names than a specification can name."""
    lines = [f"network: {place}"]
    if not named and len(network.tokens) > LARGEST_ALPHABET:
        message = f"{place}: {len(network.tokens):,} tokens without names, and a specification names at most "
        hint = "Put its tokenizer.json or vocab.json beside the weights; or judge labelled words, by ids: "
        hint += f"hardsim check {place} --data FILE.tsv"
        raise InputError(f"{message}{LARGEST_ALPHABET:,}", hint)
    if not named:
        lines += [f"{NOTE}the tokens have no names: rename them here, in order of their ids, and below in the same way"]
        lines += [_tokens(network)]
    elif _ends(network, marks.eos):
        names = [END if str(token) == marks.eos else str(token) for token in network.tokens]
        lines += [f"{NOTE}{marks.eos} ends texts, and the token that ends words is called {END} here"]
        network, bos = reread(network, tokens=names), END if marks.bos == marks.eos else marks.bos
        lines, marks = [*lines, _tokens(network)], replace(marks, bos=bos)
    mask = _mask(network)
    key, notes = _reference(network) if mask is None else _hidden(network)
    readout = network.readout
    lines += _alphabet(network, mask)
    lines += _input(network, marks)
    if mask is not None:
        lines += [
            f"{NOTE}{mask} hides a token; the network is judged where it stands, and should find the hidden token",
            "at: each",
            f"decide: argmax of {' '.join(network.symbols)}",
            f"assume: {quoted(mask)}",
        ]
    elif key != "next":
        lines += [f"at: {at_text(readout)}", f"decide: {decide_text(readout)}"]
    elif readout.decide == "argmax":
        lines += [
            f"{NOTE}right is: the greatest output is a token that may come next",
            f"decide: {decide_text(readout)}",
        ]
    lines += [f"{NOTE}what the network should compute: complete the last line", *notes, f"{key}:"]
    return SpecificationDraft("\n".join(lines) + "\n", len(lines), key)


def _tokens(network: Network) -> str:
    return f"tokens: {' '.join(map(str, network.tokens))}"


def _ends(network: Network, eos: str | None) -> bool:
    """Return True if a network predicts tokens, of which `eos` is no symbol of words but has another name than END."""
    few = len(network.tokens) <= MOST_SYMBOLS and END not in network.ids
    return few and predicts_tokens(network) and eos is not None and MARK.fullmatch(eos) is not None


def _kept(network: Network) -> tuple[str, ...]:
    """Return the symbols of words in the draft: those of the network, or two of a large vocabulary."""
    return network.symbols if len(network.symbols) <= MOST_SYMBOLS else network.symbols[:2]


def predicts_tokens(network: Network) -> bool:
    """Return True if the outputs of a network are the symbols of words, or more tokens."""
    return network.outputs is network.tokens or {*network.symbols} <= {*map(str, network.outputs)}


def _mask(network: Network) -> str | None:
    """Return the token that stands for a hidden one, if the network predicts tokens and also reads what comes after
    them; None otherwise."""
    if not predicts_tokens(network) or all(head.mask is Mask.FUTURE for head in network.heads):
        return None
    return next((one for one in HIDING if one in network.ids and len(network.symbols) <= MOST_SYMBOLS), None)


def _hidden(network: Network) -> tuple[str, list[str]]:
    """Return the key of the line to complete for a network that predicts hidden tokens, and the lines before it."""
    first, last = network.symbols[0], network.symbols[-1]
    notes = [
        f"{NOTE}one line for each of {listed(network.symbols)}: the words and places in which it is the hidden token",
        f"{NOTE}{OUTPUT} {first}: Y {quoted(last)} | X {quoted(last)}",
    ]
    return f"{OUTPUT} {first}", notes


def _alphabet(network: Network, mask: str | None) -> list[str]:
    symbols = network.symbols if mask is None else (*network.symbols, mask)
    if len(symbols) <= MOST_SYMBOLS:
        return [f"alphabet: {' '.join(symbols)}"]
    return [
        f"{NOTE}the network has {len(symbols):,} tokens that may be symbols: keep those that words are made of",
        f"alphabet: {' '.join(_kept(network))}",
    ]


def _input(network: Network, marks: FolderMarks) -> list[str]:
    """Return the line of the tokens around a word. A token that is named as a beginning stands before it, unless the
    tokenizer states that none does; then, and of a token that only the configuration names, a comment says how."""
    readout, names, own = network.readout, network.ids, f"input: {input_text(network.readout)}"
    bos: str | None = next((name for name in ("<bos>", "<s>", "[CLS]", "BOS") if name in names), None)
    # Libraries write default ids, which may be that of padding.
    if marks.bos is not None and MARK.fullmatch(marks.bos) and not (bos and "pad" in marks.bos.lower()):
        bos = marks.bos
    if readout.before or readout.after or (bos is None and marks.bos is None):
        return [own]
    if bos is None:
        note = f"{NOTE}if {marks.bos} (bos_token_id) stood before words: leave it out of alphabet:, and"
        return [f"{note} input: {marks.bos} *", own]
    # A tokenizer of BERT puts both around every text.
    after = " [SEP]" if bos == "[CLS]" and "[SEP]" in names else ""
    if marks.stated:
        return [f"{NOTE}if {bos} stood before words in training: input: {bos} *{after}", own]
    return [f"{NOTE}without {bos}, if the network was trained without it", f"input: {bos} *{after}"]


def _reference(network: Network) -> tuple[str, list[str]]:
    """Return the key of the line to complete, and the lines before it."""
    readout, outputs = network.readout, list(map(str, network.outputs))
    if readout.decide == "value":
        return f"{VALUE} {outputs[0]}", [f"{NOTE}a number, such as #[{quoted(network.symbols[0])}] / len"]
    among = outputs if readout.among is None else list(map(str, readout.among))
    if predicts_tokens(network):
        named = " (or name an end of words so, in tokens:)" * (len(network.tokens) <= LARGEST_ALPHABET)
        note = f"{NOTE}no token is called {END}: every word needs a longer one{named}"
        return "next", [*([] if END in outputs else [note]), *_examples(network, "next")]
    if len(among) == 1 or (len(among) == 2 and readout.decide == "argmax"):
        return LANGUAGE, [*_accept(among), *_examples(network, LANGUAGE)]
    return f"{OUTPUT} {among[0]}", [f"{NOTE}one line for each of {listed(among)}", *_formulas(network)]


def _accept(outputs: Sequence[str]) -> list[str]:
    if len(outputs) == 1:
        return []
    yes = accepting_name(outputs)
    note = [] if yes else [f"{NOTE}the output that says that a word is accepted: {' or '.join(outputs)}?"]
    return [*note, f"{ACCEPT}: {yes or outputs[-1]}"]


def _examples(network: Network, key: str) -> list[str]:
    """Return comments with examples of the line, over the network's symbols."""
    kept = _kept(network)
    first, last = kept[0], kept[-1]
    gap = " " if has_long_symbols(network.symbols) else ""
    pair = [symbol if symbol.isalnum() and symbol.isascii() else quoted(symbol) for symbol in (first, last)]
    # Two quotes without a blank between them would be a quote inside a symbol.
    found = [f"{key}: /({(gap if pair == [first, last] else ' ').join(pair)})*/"]
    if key == LANGUAGE:
        found += [f"{key}: #[{quoted(first)}] >= #[{quoted(last)}]", f"{key}: @mine.ltl"]
    return [f"{NOTE}{example}" for example in found]


def _formulas(network: Network) -> list[str]:
    kept = _kept(network)
    first, last = map(quoted, (kept[0], kept[-1]))
    return [f"{NOTE}a formula, /EXPRESSION/ or @FILE, such as #[{first}] >= #[{last}]"]
