"""Draft a specification of a network: all that its files say is filled in, and one line is left to complete.

The last line is the reference: `language:` for a network that accepts words (one output above a level, or the larger of
two), `next:` for one that predicts the next symbol, and otherwise a line for the first output. Comments above it are
examples over the symbols of the network. Until it is written the file is refused, at this line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hardsim.lang.spec.layout import ACCEPT, LANGUAGE, OUTPUT, VALUE
from hardsim.lang.spec.meaning import END, accepting_name
from hardsim.lang.valuations import listed
from hardsim.lang.vocabulary import quoted
from hardsim.lang.words import has_long_symbols
from hardsim.network.dense import Network
from hardsim.reading.readout import at_text, decide_text, input_text

MOST_SYMBOLS = 64
"""The greatest number of symbols that are taken for an alphabet; a larger vocabulary is that of texts."""
NOTE = "// "
_MARK = re.compile(r"<.+>|\[.+\]|BOS|EOS|PAD")
"""The names of tokens that are no symbols of words."""


@dataclass(frozen=True)
class SpecificationDraft:
    """The text of a specification without its reference."""

    text: str
    line: int
    """The number of the line to complete, which is the last one."""
    key: str
    """The key of this line, such as `language`."""


def draft_of(network: Network, place: str, named: bool) -> SpecificationDraft:
    """Return the draft for a network at a path relative to the specification; `named`: its tokens have names."""
    key, notes = _reference(network)
    readout = network.readout
    lines = [f"network: {place}"]
    if not named:
        lines += [f"{NOTE}the tokens have no names: rename them here, in order of their ids"]
        lines += [f"tokens: {' '.join(map(str, network.tokens))}"]
    lines += _alphabet(network)
    lines += _input(network)
    if key != "next":
        lines += [f"at: {at_text(readout)}", f"decide: {decide_text(readout)}"]
    elif readout.decide == "argmax":
        lines += [
            f"{NOTE}right is: the greatest output is a token that may come next",
            f"decide: {decide_text(readout)}",
        ]
    lines += [f"{NOTE}what the network should compute: complete the last line", *notes, f"{key}:"]
    return SpecificationDraft("\n".join(lines) + "\n", len(lines), key)


def _symbols(network: Network) -> tuple[str, ...]:
    """Return the symbols of words, without tokens that are named as marks are: `<eos>`, `[PAD]`, `</s>`."""
    found = tuple(symbol for symbol in network.symbols if not _MARK.fullmatch(symbol))
    return found or network.symbols


def _alphabet(network: Network) -> list[str]:
    symbols = _symbols(network)
    if len(symbols) <= MOST_SYMBOLS:
        return [f"alphabet: {' '.join(symbols)}"]
    return [
        f"{NOTE}the network has {len(symbols):,} tokens: keep those that words are made of",
        f"alphabet: {' '.join(symbols[:2])}",
    ]


def _input(network: Network) -> list[str]:
    """Return the line of the tokens around a word; a token that is named as a beginning stands before it."""
    readout, names = network.readout, network.ids
    bos = next((name for name in ("<bos>", "<s>", "[CLS]", "BOS") if name in names), None)
    if bos is None or readout.before or readout.after:
        return [f"input: {input_text(readout)}"]
    # A tokenizer of BERT puts both around every text.
    after = " [SEP]" if bos == "[CLS]" and "[SEP]" in names else ""
    return [f"{NOTE}without {bos}, if the network was trained without it", f"input: {bos} *{after}"]


def _reference(network: Network) -> tuple[str, list[str]]:
    """Return the key of the line to complete, and the lines before it."""
    readout, outputs = network.readout, list(map(str, network.outputs))
    if readout.decide == "value":
        return f"{VALUE} {outputs[0]}", [f"{NOTE}a number, such as #[{quoted(_symbols(network)[0])}] / len"]
    among = outputs if readout.among is None else list(map(str, readout.among))
    if network.outputs is network.tokens or {*_symbols(network)} <= {*outputs}:
        if END in outputs:
            return "next", _examples(network, "next")
        note = f"{NOTE}(if a token ends words, call it {END} in tokens:, and write next: /EXPRESSION/)"
        return f"{OUTPUT} {among[0]}", [*_formulas(network), note]
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
    first, last = _symbols(network)[0], _symbols(network)[-1]
    gap = " " if has_long_symbols(_symbols(network)) else ""
    pair = [symbol if symbol.isalnum() and symbol.isascii() else quoted(symbol) for symbol in (first, last)]
    # Two quotes without a blank between them would be a quote inside a symbol.
    found = [f"{key}: /({(gap if pair == [first, last] else ' ').join(pair)})*/"]
    if key == LANGUAGE:
        found += [f"{key}: #[{quoted(first)}] >= #[{quoted(last)}]", f"{key}: @mine.ltl"]
    return [f"{NOTE}{example}" for example in found]


def _formulas(network: Network) -> list[str]:
    first, last = map(quoted, (_symbols(network)[0], _symbols(network)[-1]))
    return [f"{NOTE}a formula, /EXPRESSION/ or @FILE, such as #[{first}] >= #[{last}]"]
