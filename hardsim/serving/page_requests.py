"""Requests of the page: a text, and a command to run on it. The command line is built here from checked values; nothing
that is typed is an option, or the name of a file.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

Action: TypeAlias = Literal["show", "check", "words", "classify", "trace", "critical"]
Suffix: TypeAlias = Literal["ltl", "cr", "srasp", "re"]
Regime: TypeAlias = Literal[
    "",
    "temperature",
    "position",
    "causal-temperature",
    "causal-position",
    "none",
    "layer-norm",
    "geometric",
    "rounded",
]
NAME = "typed"
"""Name, without suffix, of the file that has the typed text."""
DOCUMENT = "document.json"
"""Name of the JSON document beside it."""
LONGEST_TEXT, LONGEST_WORD, LONGEST_BETA = 20_000, 1_000, 40
"""Greatest numbers of characters of the typed text, of a word and of a beta."""
GREATEST_LENGTH = 16
"""Greatest length of words that the page may ask for."""
REFUSED: Mapping[str, str] = {
    "max_n": f"Write a number from 1 to {GREATEST_LENGTH} as the longest word; the command line allows longer ones.",
    "beta": f"Write a beta of at most {LONGEST_BETA} characters.",
    "text": f"The text has more than {LONGEST_TEXT:,} characters; the command line reads longer ones.",
    "word": f"The word has more than {LONGEST_WORD:,} characters; the command line reads longer ones.",
}
"""The advice about a value that the page may not send, by its name."""
OPTIONS: Mapping[Action, str] = {
    "show": "network",
    "check": "max_n network",
    "words": "max_n",
    "classify": "",
    "trace": "network",
    "critical": "max_n network",
}
"""The options that each action has: the greatest length, and those of the network."""


def refusal(error: msgspec.ValidationError) -> str:
    """Return the advice about a request that cannot be decoded."""
    name = str(error).rpartition("$.")[2].rstrip("`")  # the message ends in the path of the value
    return REFUSED.get(name, f"The page does not send such a request: {error}.")


class PageRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request of the page. Decoding it raises msgspec.ValidationError if a value is none that the page may send."""

    action: Action
    suffix: Suffix
    text: Annotated[str, Meta(max_length=LONGEST_TEXT)]
    max_n: Annotated[int, Meta(ge=1, le=GREATEST_LENGTH)] = 6
    regime: Regime = ""
    beta: Annotated[str, Meta(max_length=LONGEST_BETA)] = ""
    word: Annotated[str, Meta(max_length=LONGEST_WORD)] = ""
    picture: Literal["maps.svg", "maps.html", ""] = "maps.svg"
    """The picture that `trace` draws; empty for a network without heads, which has none."""

    @property
    def file(self) -> str:
        """Name of the file with the typed text."""
        return f"{NAME}.{self.suffix}"

    @property
    def patience(self) -> int:
        """How many times longer than another request this one may take: a search runs many checks."""
        return 4 if self.action == "critical" else 1

    @property
    def pictures(self) -> tuple[str, ...]:
        """Names of the pictures that the command writes."""
        return (self.picture,) if self.action == "trace" and self.picture else ()

    @property
    def shown(self) -> list[str]:
        """The arguments of `hardsim` that do the same, for the user to copy."""
        return self._arguments(())

    @property
    def arguments(self) -> list[str]:
        """The arguments that are run: those that are shown, with a JSON document and one process."""
        workers = ("--workers", "1") if self.action == "check" else ()
        return self._arguments(("--json", DOCUMENT, *workers))

    @property
    def command(self) -> str:
        """The command line that does the same."""
        return shlex.join(["hardsim", *self.shown])

    def _arguments(self, added: tuple[str, ...]) -> list[str]:
        name, critical = ("bound", ["--critical"]) if self.action == "critical" else (self.action, [])
        options = OPTIONS[self.action].split()
        found = [name, self.file, *critical]
        if "max_n" in options:
            found += ["--max-n", str(self.max_n)]
        if "network" in options and self.suffix != "re":  # an expression has no network
            # One argument with its value, so that no value is read as an option. The least beta is sought, not given.
            found += [f"--regime={self.regime}"] * bool(self.regime)
            found += [f"--beta={self.beta}"] * bool(self.beta and not critical)
        found += [f"--plot={picture}" for picture in self.pictures]
        found += added
        # After `--` even a word that begins with a dash is a word. But a dash alone would read standard input, and one
        # like an option would have a remark on the order of options. A blank before it means nothing.
        word = " " + self.word if self.word.startswith("-") else self.word
        return [*found, "--", word] if self.action == "trace" else found
