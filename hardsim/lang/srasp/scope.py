"""What names and symbols mean while a program is read, and the errors for those that mean nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.vocabulary import BUILT_IN
from hardsim.lang.vocabulary import brief, quoted


@dataclass
class Scope:
    """The names that are known at some point of a program.

    `later` has the place of the name of every vector of the file, `current` is the vector whose statement is being
    read. `padded` says that the blank is a symbol too.
    """

    source: Source
    alphabet: tuple[str, ...]
    padded: bool = False
    relations: dict[str, ast.Relation] = field(default_factory=dict)
    vectors: dict[str, ast.Sort] = field(default_factory=dict)
    later: Mapping[str, Span] = field(default_factory=dict)
    current: str = ""

    def __post_init__(self) -> None:
        self.symbols = frozenset(self.alphabet) | ({ast.BLANK} if self.padded else frozenset())

    def symbol(self, symbol: str, span: Span) -> str:
        """The symbol itself. Raises SourceError if it is neither of the alphabet nor the blank of a padded program."""
        if symbol in self.symbols:
            return symbol
        expected = f"a symbol of the alphabet ({listed(self.alphabet)})"
        hint = ""
        if symbol == ast.BLANK:
            hint = "# fills words up in programs with a pad: line"
        elif close := get_close_matches(symbol, self.alphabet, n=1, cutoff=0.6):
            hint = f"did you mean {quoted(close[0])}?"
        raise SourceError(self.source, span, f"{brief(symbol)} is not a symbol of the alphabet", expected, hint)

    def unknown(self, word: str, span: Span, called: bool) -> SourceError:
        """The error for a word that is no vector here (and no relation, if it is called)."""
        if word == self.current:
            message = f"{word} is defined by itself"
            hint = "a vector is computed from the word and from earlier vectors"
            return SourceError(self.source, span, message, "an earlier vector", hint)
        if word in self.later:
            message = f"{word} is defined later (line {self.source.line_of(self.later[word].start)[0]})"
            hint = f"move the definition of {word} up, before this line"
            return SourceError(self.source, span, message, "an earlier vector", hint)
        names = [*self.vectors, *sorted(BUILT_IN)]
        expected = f"a vector ({listed(names)})"
        if self.relations and called:
            expected += f" or a relation ({listed(self.relations)})"
        return SourceError(self.source, span, f"unknown vector {brief(word)}", expected, self._hint(word))

    def _hint(self, word: str) -> str:
        if word in self.symbols:
            return f"the symbol {word} is written {quoted(word)}, and Q_{word}(i) says that it stands at i"
        if f"{word}_?" in self.vectors:
            return f"did you mean {word}_??"
        names = [*self.vectors, *self.relations, *BUILT_IN, "leftmost", "rightmost", "psum", "true", "false"]
        folded = [name for name in names if name.casefold() == word.casefold()]
        close = folded or get_close_matches(word, names, n=1, cutoff=0.6)
        return f"did you mean {close[0]}?" if close else ""


def listed(names: Collection[str], limit: int = 12) -> str:
    """The first few names, for use in messages."""
    return " ".join(list(names)[:limit]) + (" ..." if len(names) > limit else "")
