"""The sentences of an instance: its definitions, its theorem and nothing else.

An instance has, in this order: its imports; definitions `let_0`, `let_1`, ... of formulas or terms; the formula `F`;
the network `N`; the hints `C`; and the theorem with its proof, which runs the checker of the library. The hints need no
trust: they are only read as a term. A definition has one of these names, so none hides a name of the library.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from hardsim.verify.rocq.text import RocqToken, RocqTree, TermReader, tokens_of

SYSTEM = "From Coq Require Import List ZArith QArith"
"""The sentence that imports from the standard library of Rocq."""
NEEDED = ("Definitions", "Check")
"""Modules of the library that every instance imports."""
READINGS = {"AtFirst": "first", "AtLast": "last"}
"""The positions at which a theorem reads the formula."""
STATEMENT = "Theorem network_computes_formula : computes N {} F"
"""The statement of the theorem, for a reading position."""
_PROOF = ("Proof", "apply ( check_sound N {} F C )", "vm_compute", "reflexivity", "Qed")
_AFTER = "Print Assumptions network_computes_formula"
_HINT = re.compile(r"[A-Z][A-Za-z0-9]*|true|false")


@dataclass(frozen=True, slots=True)
class LetTree:
    """The definition of a name that the formula uses: its sort, `formula` or `term`, and its body."""

    name: str
    sort: str
    body: RocqTree


@dataclass(frozen=True, slots=True)
class RocqInstance:
    """The statements of an instance, as trees: the definitions, the formula, the network and the reading position."""

    lets: tuple[LetTree, ...]
    formula: RocqTree
    network: RocqTree
    reading: str
    """A key of READINGS."""
    modules: tuple[str, ...]
    """The modules of the library that it imports."""


def read_instance(text: str, modules: Collection[str]) -> RocqInstance:
    """Return what an instance states. `modules` are the modules of the library. Raises BadRocq, with the place, for a
    text that no generator wrote."""
    return _Reader(tokens_of(text), modules).whole()


class _Reader:
    def __init__(self, tokens: list[RocqToken], modules: Collection[str]) -> None:
        self.tokens, self.modules, self.at = tokens, modules, 0

    @property
    def token(self) -> RocqToken:
        return self.tokens[self.at]

    def whole(self) -> RocqInstance:
        """Read all sentences in their order."""
        self.sentence(SYSTEM)
        modules = self.imports()
        self.sentence("Import ListNotations")
        self.sentence("Open Scope nat_scope")
        lets = list[LetTree]()
        while self.tokens[self.at + 1 : self.at + 2] and self.tokens[self.at + 1].text.startswith("let_"):
            lets.append(self.let(f"let_{len(lets)}"))
        formula = self.definition("F", "formula")
        network = self.definition("N", "network")
        _require_plain(self.definition("C", "certificate"))
        reading = self.theorem()
        for sentence in _PROOF:
            self.sentence(sentence.format(reading))
        self.sentence(_AFTER)
        if self.token.kind != "end":
            self.token.refuse("text after the theorem", "the end of the file")
        return RocqInstance(tuple(lets), formula, network, reading, modules)

    def words(self, words: str) -> None:
        """Read these tokens."""
        for word in words.split():
            if self.token.text != word:
                self.token.refuse(f"{self.token.shown} where an instance has `{words}`", f"`{word}`")
            self.at += 1

    def stop(self) -> None:
        """Read the end of a sentence."""
        if self.token.kind != "stop":
            self.token.refuse(f"{self.token.shown} after the end of a sentence", "a period")
        self.at += 1

    def sentence(self, words: str) -> None:
        """Read a sentence of these tokens."""
        self.words(words)
        self.stop()

    def imports(self) -> tuple[str, ...]:
        """Read the modules of the library that are imported."""
        self.words("Require Import")
        found, first = list[str](), self.token
        while self.token.kind == "name":
            if self.token.text not in self.modules or self.token.text in found:
                self.token.refuse(f"{self.token.shown} is no other module of the library", "modules of the library")
            found.append(self.token.text)
            self.at += 1
        for name in NEEDED:
            if name not in found:
                first.refuse(f"the import of {name} is missing", " ".join(NEEDED))
        self.stop()
        return tuple(found)

    def let(self, name: str) -> LetTree:
        """Read the definition of the next name."""
        self.words(f"Definition {name} :")
        sort = self.token.text
        if sort not in ("formula", "term"):
            self.token.refuse(f"{self.token.shown} is not a sort of definitions", "`formula` or `term`")
        self.at += 1
        self.words(":=")
        return LetTree(name, sort, self.term())

    def definition(self, name: str, sort: str) -> RocqTree:
        """Read the definition of a name, and return its body."""
        self.words(f"Definition {name} : {sort} :=")
        return self.term()

    def term(self) -> RocqTree:
        """Read a term and the end of its sentence."""
        found, self.at = TermReader(self.tokens, self.at).read()
        self.stop()
        return found

    def theorem(self) -> str:
        """Read the statement of the theorem, and return its reading position."""
        before, after = STATEMENT.split("{}")
        self.words(before)
        reading = self.token.text
        if reading not in READINGS:
            self.token.refuse(f"{self.token.shown} is not a reading position", " or ".join(READINGS))
        self.at += 1
        self.sentence(after)
        return reading


def _require_plain(tree: RocqTree) -> None:
    """Raise BadRocq unless every name in the hints is that of a constructor."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one.value, str) and one.value and not _HINT.fullmatch(one.value):
            one.refuse(f"`{one.value[:40]}` is not the name of a constructor", "a constructor of hints")
        waiting += one.parts
