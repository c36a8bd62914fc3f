"""What names mean while a file is read, and the errors for words that mean nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, TypeAlias

from hardsim.errors import Source, SourceError, Span
from hardsim.lang.ast import UserPredicate
from hardsim.lang.lexer import tokenize
from hardsim.lang.vocabulary import CONSTANTS, HEADER_KEYS, PREDICATES, RESERVED, WORD, WORD_OPERATORS, brief, quoted

Sort: TypeAlias = Literal["formula", "term"]


@dataclass(frozen=True, slots=True)
class Definition:
    """What is known of a `let`: its sort, its depth after expansion, and its value if it is an integer constant.

    `digit` says that the body is a lone number which was read as a symbol.
    """

    sort: Sort
    depth: int
    constant: int | None
    digit: bool = False


@dataclass
class Scope:
    """The names that are known at some point of a file.

    `later` has the place of the name of every `let` and `pred` of the file, `bodies` the body of every `let`.
    """

    source: Source
    alphabet: tuple[str, ...]
    lets: dict[str, Definition] = field(default_factory=dict)
    predicates: dict[str, UserPredicate] = field(default_factory=dict)
    later: Mapping[str, Span] = field(default_factory=dict)
    bodies: Mapping[str, Span] = field(default_factory=dict)
    current: str = ""
    """The `let` whose body is being read."""

    def __post_init__(self) -> None:
        self.symbols = frozenset(self.alphabet)

    @property
    def depths(self) -> dict[str, int]:
        """The depth of every `let` so far."""
        return {name: definition.depth for name, definition in self.lets.items()}

    def line_of(self, span: Span) -> int:
        """The line of a place, from 1."""
        return self.source.line_of(span.start)[0]

    def symbol_of(self, word: str, span: Span) -> str | None:
        """The symbol that a bare word stands for: itself, or `a` for `Q_a`."""
        short = word[2:] if word.startswith("Q_") else None
        if word in self.symbols:
            if short in self.symbols:
                message = f"{word} is a symbol of the alphabet, and may mean the symbol {short} as well"
                raise SourceError(self.source, span, message, f"{quoted(word)} or {short}")
            return word
        return short if short in self.symbols else None

    def knows(self, word: str, span: Span) -> bool:
        """Whether a bare word is a symbol or a name."""
        return word in self.lets or word in self.predicates or self.symbol_of(word, span) is not None

    def unknown(self, word: str, span: Span, what: str = "symbol or name") -> SourceError:
        """The error for a word that is no symbol and no name."""
        if word in self.later and word not in self.predicates:
            return self._recursion(word, span)
        message = f"unknown {what} {brief(word)}"
        expected = f"a symbol of the alphabet ({self._alphabet()})"
        if self.lets or self.predicates:
            expected += f" or a name ({_listed([*self.lets, *self.predicates])})"
        return SourceError(self.source, span, message, expected, self.hint(word))

    def _recursion(self, word: str, span: Span) -> SourceError:
        line = self.line_of(self.later[word])
        cycle = self._cycle(word)
        if cycle:
            message = f"recursion of let: {' -> '.join(cycle)}"
            hint = "a definition may use earlier names only; use S, U, O, H, F or G to speak of other positions"
        else:
            message = f"{word!r} is defined later (line {line})"
            hint = f"move the definition of {word} up, before this line"
        return SourceError(self.source, span, message, "a symbol or an earlier name", hint)

    def _cycle(self, word: str) -> list[str]:
        """A path of definitions from the current one over `word` back to itself, if there is one (breadth first)."""
        previous: dict[str, str] = {word: self.current}
        queue = [word] if self.current and word in self.bodies else []
        for name in queue:
            if name == self.current:
                path = [name]
                while len(path) == 1 or path[-1] != self.current:
                    path.append(previous[path[-1]])
                return path[::-1]
            for other in self._mentioned(name):
                if other not in previous:
                    previous[other] = name
                    queue.append(other)
        return []

    def _mentioned(self, name: str) -> list[str]:
        """The `let` names in the body of a `let`, in order; none if the body has an error of its own."""
        try:
            tokens = tokenize(self.source, self.bodies[name], self.symbols)
        except SourceError:
            return []
        return [token.value for token in tokens if token.kind == "WORD" and token.value in self.bodies]

    def _alphabet(self) -> str:
        return _listed(list(self.alphabet))

    def hint(self, word: str) -> str:
        """What an unknown word may have been meant to be."""
        pieces = self._segments(word)
        if pieces:
            return f"an operator needs a space before a letter or digit: {' '.join(pieces)}"
        comma = next((s for s in self.alphabet if s.rstrip(",;") == word), "")
        if comma:
            return f"the symbol of the alphabet is {comma}: separate symbols by spaces alone"
        joined = [s for s in self.alphabet if len(s) > 1 and word in s]
        if joined and len(word) == 1:
            return f"{joined[0]} is one symbol: separate symbols by spaces, as in alphabet: {' '.join(joined[0])}"
        names = [*self.alphabet, *self.lets, *self.predicates, *CONSTANTS, *PREDICATES]
        if word in HEADER_KEYS:
            return f"a header line has a colon: {word}:"
        close = get_close_matches(word, names, n=1, cutoff=0.6)
        folded = [name for name in [*names, *WORD_OPERATORS] if name.casefold() == word.casefold()]
        return f"did you mean {(folded or close)[0]}?" if folded or close else ""

    def _segments(self, word: str) -> list[str]:
        """A reading of a word as operators and known names without spaces, such as `GFa` as `G F a`: the shortest."""
        best: dict[int, list[str]] = {0: []}
        text = word[:100]
        longest = max(map(len, [*RESERVED, *self.symbols, *self.lets, *self.predicates]))
        for end in range(1, len(text) + 1):
            for start in range(max(0, end - longest), end):
                piece = text[start:end]
                fits = piece in RESERVED or piece in self.symbols or piece in self.lets or piece in self.predicates
                if start in best and fits and WORD.fullmatch(piece):
                    pieces = [*best[start], piece]
                    if end not in best or len(pieces) < len(best[end]):
                        best[end] = pieces
        found = best.get(len(word), [])
        return found if len(found) > 1 and any(piece in WORD_OPERATORS for piece in found) else []


def _listed(names: list[str], limit: int = 12) -> str:
    return " ".join(names[:limit]) + (" ..." if len(names) > limit else "")
