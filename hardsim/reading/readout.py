"""The readout of a network, as a specification writes it: `input: <bos> *`, `at: each`, `decide: argmax of 0 1`.

The readout gives the network's answer, which is then compared with the expected one: the network is *judged*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from hardsim.errors import InputError, did_you_mean
from hardsim.lang.pretty import shortened
from hardsim.lang.vocabulary import brief
from hardsim.network.dense import JudgedAt, Network, Pooled, Readout, Token, symbols_of
from hardsim.network.reader import Reader

Wrong = Callable[[str, str], InputError]
"""A function that makes the error from a message and a hint, and adds the place of the fault."""
WORD = "*"
MOST_SHOWN = 400
"""The greatest number of characters of a list of names in an error."""
DECIDE = "above X, argmax, argmax of TOKENS, value within E"
_RATIONAL = re.compile(r"-?[0-9]{1,300}([.][0-9]{1,300}|/0*[1-9][0-9]{0,300})?", re.ASCII)


ReadAt: TypeAlias = Literal["last", "first", "each", "start", "mean"]
AT: dict[ReadAt, tuple[JudgedAt, Pooled]] = {
    "last": ("last", "last"),
    "first": ("first", "last"),
    "each": ("each", "last"),
    "start": ("last", "start"),
    "mean": ("last", "mean"),
}
"""The values of the setting `at`: where answers are judged, and what one answer for a whole word is read from."""


def readout_of(
    input: str | None,
    at: str | None,
    decide: str | None,
    tokens: Sequence[Token],
    outputs: Sequence[Token],
    base: Readout,
    error: Wrong = InputError,
) -> Readout:
    """Return a readout with the given settings in place of those of `base`.

    Args:
        input: the tokens around a word, which is written `*`.
        at: last, first, each, start or mean.
        decide: one of DECIDE.

    Raises InputError, made by `error`, saying what is wrong and what can be written."""
    found = base
    if input is not None:
        parts = input.split()
        if parts.count(WORD) != 1:
            message = f"input {brief(input)} contains {WORD} {parts.count(WORD)} times, not once"
            raise error(message, "Write <bos> *, say.")
        place = parts.index(WORD)
        around = parts[:place], parts[place + 1 :]
        before, after = (tuple(one_of(name, tokens, "token", error) for name in part) for part in around)
        found = replace(found, before=before, after=after)
    if at is not None:
        if at not in AT:
            raise error(f"at {brief(at)} is not one of: {', '.join(AT)}", did_you_mean(at, AT) or "Write one of them.")
        where, pooled = AT[at]
        found = replace(found, at=where, pooled=pooled)
    return found if decide is None else _deciding(decide, outputs, found, error)


def read_readout(document: Reader, tokens: Sequence[Token], outputs: Sequence[Token]) -> Readout:
    """Return the readout that a document states. By default a network with one output answers at the last position, and
    any other with the largest output at each position."""
    found = Readout() if len(outputs) == 1 else Readout(at="each", decide="argmax")
    for key in ("input", "at", "decide"):
        if document.has(key):
            data = document.field(key)
            how = {name: data.text() if name == key else None for name in ("input", "at", "decide")}
            found = readout_of(**how, tokens=tokens, outputs=outputs, base=found, error=data.refusal)
    if document.has("alphabet"):
        data = document.field("alphabet")
        found = replace(found, alphabet=require_alphabet(listed_names(data), tokens, data.refusal))
    if document.has("padding"):
        data = document.field("padding")
        found = replace(found, padding=one_of(str(_listed_name(data)), tokens, "token", data.refusal))
    if document.has("excluded"):
        data = document.field("excluded")
        excluded = tuple(one_of(str(name), tokens, "token", data.refusal) for name in listed_names(data))
        found = replace(found, excluded=excluded)
    require_without_padding(found, tokens, document.refusal)
    return found


def require_without_padding(readout: Readout, tokens: Sequence[Token], error: Wrong) -> None:
    """Raise InputError, made by `error`, if words or the tokens around them can have a token of `Readout.excluded`, or
    if the last token read can be `Readout.padding`."""
    symbols = symbols_of(readout, tokens)
    standing = {*symbols, *map(str, readout.after)}
    if readout.at == "last" and readout.padding is not None and str(readout.padding) in standing:
        message = f"{str(readout.padding)!r} is padding: this network answers at the last token that is not padding"
        raise error(message, "Leave it out of the alphabet, and of the tokens after words.")
    if wrong := sorted({*standing, *map(str, readout.before)}.intersection(map(str, readout.excluded))):
        message = f"{wrong[0]!r} is padding, without which this network counts its positions"
        raise error(message, "Leave it out of the alphabet, and of the tokens around words.")


def _deciding(decide: str, outputs: Sequence[Token], found: Readout, error: Wrong) -> Readout:
    match decide.split():
        case ["argmax"]:
            return replace(found, decide="argmax", among=None)
        case ["argmax", "of", first, *others]:
            among = tuple(one_of(name, outputs, "output", error) for name in (first, *others))
            return replace(found, decide="argmax", among=among)
        case ["above", level] if _RATIONAL.fullmatch(level):
            return replace(found, decide="above", level=Fraction(level), among=None)
        case ["value", "within", level] if _RATIONAL.fullmatch(level) and Fraction(level) >= 0:
            return replace(found, decide="value", level=Fraction(level), among=None)
    raise error(f"decide {brief(decide)} is not one of: {DECIDE}", "X and E are numbers such as 0, 0.5 or 1/200.")


def one_of(name: str, among: Sequence[Token], what: str, error: Wrong) -> Token:
    """Return the first of `among` whose text is `name`; `what` names them in errors. Raises InputError, made by
    `error`, if there is no such token."""
    for one in among:
        if str(one) == name:
            return one
    known = [str(one) for one in among]
    joined = name.rstrip(",;") in [one.rstrip(",;") for one in known]
    near = "" if joined else did_you_mean(name, known)
    message = f"{brief(name)} is not among the {what}s of the network{near and f'; {near}'}"
    apart = "Separate names by spaces alone, without commas. " * joined
    raise error(message, f"{apart}It has: {shortened(' '.join(known[:20]), MOST_SHOWN)}")


def reread(
    network: Network,
    tokens: Sequence[Token] | None = None,
    alphabet: Sequence[Token] | None = None,
    input: str | None = None,
    at: str | None = None,
    decide: str | None = None,
) -> Network:
    """Return the network with other names of its tokens (and of its outputs, if these are the tokens), or another
    readout; see `hardsim.api.Model.read_as`. Raises InputError naming the setting that does not fit."""
    found = network
    if tokens is not None:
        named = require_tokens(tokens, len(network.tokens), InputError)
        changed = dict(zip(map(str, network.tokens), named, strict=True))
        readout = network.readout
        before, after = (tuple(changed[str(one)] for one in part) for part in (readout.before, readout.after))
        symbols = None if readout.alphabet is None else tuple(changed[str(one)] for one in readout.alphabet)
        # If both are one object, outputs are renamed with the tokens. A classifier's labels may only look like its
        # tokens.
        same = network.outputs is network.tokens
        among = tuple(changed[str(one)] for one in readout.among) if same and readout.among else readout.among
        padding = None if readout.padding is None else changed[str(readout.padding)]
        excluded = tuple(changed[str(one)] for one in readout.excluded)
        readout = replace(
            readout, before=before, after=after, alphabet=symbols, among=among, padding=padding, excluded=excluded
        )
        found = replace(network, tokens=named, outputs=named if same else network.outputs, readout=readout)
    readout = readout_of(input, at, decide, found.tokens, found.outputs, found.readout)
    if alphabet is not None:
        readout = replace(readout, alphabet=require_alphabet(alphabet, found.tokens, InputError))
    require_without_padding(readout, found.tokens, InputError)
    return replace(found, readout=readout)


def at_text(readout: Readout) -> str:
    """Return the text of the setting `at`: one of AT."""
    return readout.at if readout.pooled == "last" else readout.pooled


def input_text(readout: Readout) -> str:
    """Return the text of the setting `input`: the tokens around a word."""
    return " ".join(map(str, (*readout.before, WORD, *readout.after)))


def decide_text(readout: Readout) -> str:
    """Return the text of the setting `decide`: the rule by which outputs give an answer."""
    if readout.decide == "argmax":
        return "argmax" if readout.among is None else f"argmax of {' '.join(map(str, readout.among))}"
    return f"above {readout.level}" if readout.decide == "above" else f"value within {readout.level}"


def plain_names(values: Sequence[str | int | Fraction], error: Wrong) -> list[Token]:
    """Return names as Python values: a Fraction becomes a float, text and integers stay."""
    try:
        return [float(value) if isinstance(value, Fraction) else value for value in values]
    except OverflowError:
        raise error("a number that names a token is too large", "Write the name as text.") from None


def listed_names(data: Reader) -> list[Token]:
    """Return the names of tokens or outputs in an array: texts, numbers or truth values."""
    return [_listed_name(item) for item in data.items()]


def _listed_name(data: Reader) -> Token:
    """Return the name of a token or output: a text, a number or a truth value."""
    kept = isinstance(data.value, str | bool | Fraction)
    (found,) = plain_names([data.value if kept else data.number()], data.refusal)
    return found


def stored_name(value: Any, refused: Callable[[Any], InputError]) -> str | int | Fraction:
    """Return a name as a configuration writes it, with a float as a decimal: the inverse of `plain_names`. Raises
    InputError, made by `refused`, for a value that is neither text nor a number."""
    found = value.item() if isinstance(value, np.generic) else value
    if isinstance(found, float) and np.isfinite(found):
        return Fraction(repr(found))
    if not isinstance(found, str | int):
        raise refused(found)
    return found


def require_alphabet(alphabet: Sequence[Token], tokens: Sequence[Token], error: Wrong) -> tuple[Token, ...]:
    """Return the tokens that words are made of, in the order of `alphabet`, after checking that there is at least one,
    that each is named once, and that each is a token."""
    if not alphabet or len(set(map(str, alphabet))) < len(alphabet):
        raise error("an alphabet needs at least one symbol, and each only once", "Name some of the tokens.")
    return tuple(one_of(str(one), tokens, "token", error) for one in alphabet)


def require_tokens(tokens: Sequence[Token], count: int, error: Wrong, what: str = "token") -> tuple[Token, ...]:
    """Return a vocabulary of `count` tokens (or outputs: `what`) after checking that each has a name of its own that
    can be written in a word. Raises InputError, made by `error`, saying what is wrong."""
    if len(tokens) != count:
        whole = "vocabulary" if what == "token" else "network"
        message = f"{len(tokens)} {what}s were named, and the {whole} has {count}"
        raise error(message, "Name them in order of their ids.")
    names = [str(one) for one in tokens]
    seen: set[str] = set()
    # Words are written as text, so names must differ as text.
    for name in names:
        if name in seen:
            raise error(f"the {what} {brief(name)} is named twice", f"Give each {what} a name of its own.")
        if name.split() != [name] or not name.isprintable():
            raise error(f"the {what} {brief(name)} cannot be written in a word", "Names have no white space.")
        seen.add(name)
    return tuple(tokens)
