"""The published classes that a regular language belongs to, and the transformers that recognise these languages.

Words are non-empty, so a language is a subset of Sigma+ here. All classes contain the language of the empty word and
are closed under Boolean operations, so whether an automaton accepts the empty word changes no answer. States and
elements are counted for the smallest automaton that decides the non-empty words; it may accept the empty word or not.

*Reading position.* hardsim reads the answer of a transformer at the last symbol of a word. Some papers add an end
symbol and read there, where a strictly masked head sees all symbols of the word. The two positions differ for the
classes of one-sided logics only. After an end symbol, the languages are those with an R-trivial monoid. At the last
symbol a, the answer may depend on a and on the word before it: the language of the words w with w a in L is R-trivial
for every a. For example, "the last symbol is a" is in the second class and not in the first. Star-free, two-variable
and quasi-aperiodic languages are the same in both readings, because their logics define "this is the last position".

*How each class is decided.* R-trivial, L-trivial, J-trivial and DA by patterns in the minimal automaton (`patterns`),
in polynomial time. A language in DA is star-free. Otherwise a word that moves states in a cycle is looked for in each
strongly connected component of the automaton. A word moves states in a cycle only within one component, so the
components' own monoids decide, and the syntactic monoid is only counted. This search may reach the limit of elements
(the problem is PSPACE-complete); then the answer is "not decided". For quasi-aperiodic languages see
`Monoid.uncounted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hardsim.errors import InvariantError
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.monoid import MAX_ELEMENTS, Monoid, TooManyElements, periodic, smallest_type
from hardsim.lang.automata.patterns import TRIED, Patterns, TooManyPairs
from hardsim.lang.automata.witnesses import ClassWitness, holds_for
from hardsim.lazy_dataclass import dataclass
from hardsim.records import Positive, Record

YANG = "Yang, Chiang, Angluin, NeurIPS 2024, arXiv:2310.13897"
LI = "Li, Cotterell, NeurIPS 2025, arXiv:2505.23623"
JERAD = "Jerad, Svete, Li, Cotterell, ACL 2025, arXiv:2503.14615"
FICH = "Brzozowski, Fich, Languages of R-trivial monoids, JCSS 20 (1980)"
THERIEN = "Thérien, Wilke, Over words, two variables are as powerful as one quantifier alternation, STOC 1998"
BARRINGTON = "Barrington, Compton, Straubing, Thérien, Regular languages in NC^1, JCSS 44 (1992)"


@dataclass(frozen=True, slots=True)
class LanguageClass:
    """A class of regular languages, with what is published about it."""

    name: str
    meaning: str
    transformers: str
    citation: str


J_TRIVIAL = LanguageClass(
    "J-trivial",
    "Piecewise testable: membership depends only on which words up to some length occur as subsequences.",
    "No paper cited here has transformers for exactly these languages. They are the languages that are both R-trivial "
    "and L-trivial, so the transformers of both classes recognise them.",
    "Simon, Piecewise testable events, LNCS 33 (1975)",
)
R_TRIVIAL = LanguageClass(
    "R-trivial",
    "The minimal automaton is partially ordered: its only cycles are loops at single states.",
    "Read at an end symbol after the word, strictly future-masked and without positions: fixed-precision softmax "
    "attention, or leftmost-hard attention. The logic is LTL with 'at some earlier position' as its only operator.",
    f"{LI}; {JERAD}; {FICH}",
)
R_BEFORE_LAST = LanguageClass(
    "R-trivial before the last symbol",
    "For each symbol a, the language of the words w with w a in the language is R-trivial.",
    "Read at the last symbol, as hardsim does: the same transformers as for R-trivial, by the same translations, which "
    "hold at every position.",
    f"{LI}; {JERAD}",
)
L_TRIVIAL = LanguageClass(
    "L-trivial",
    "The reversed language is R-trivial.",
    "The mirror image of R-trivial, read at a begin symbol before the word, strictly past-masked, without positions: "
    "rightmost-hard attention (or, by symmetry, fixed-precision softmax attention).",
    f"{JERAD}; {FICH}",
)
DA = LanguageClass(
    "DA",
    "Definable in first-order logic with two variables and <; equally in LTL with only 'at some earlier position' and "
    "'at some later position'.",
    "Leftmost-hard heads with strict future masks and rightmost-hard heads with strict past masks together, without "
    "positions: each such head is one past or future operator (the paper treats each direction alone). Read anywhere.",
    f"{THERIEN}; {JERAD}",
)
STAR_FREE = LanguageClass(
    "star-free",
    "Definable in LTL, or in first-order logic with <: the syntactic monoid is aperiodic.",
    "Unique-hard attention with strict masks and without positions; rightmost-hard if all masks are future masks. Read "
    "at the last symbol or at an end symbol. With masks that are not strict: fewer languages.",
    f"Schützenberger, Information and Control 8 (1965); McNaughton, Papert (1971); Kamp (1968); {YANG}",
)
QUASI_APERIODIC = LanguageClass(
    "quasi-aperiodic",
    "Definable in first-order logic with < and positions modulo numbers: for some s, the words whose length is a "
    "multiple of s compute no nontrivial group.",
    "Unique-hard attention with strict masks and periodic positions (finitely many values, such as sines of rational "
    "angles). Read at the last symbol or at an end symbol.",
    f"{BARRINGTON}; {YANG}",
)
NONE = LanguageClass(
    "none of these",
    "Regular, but outside all classes above: words of one length count modulo a number, as in PARITY.",
    "None of the transformers above: these are the regular languages outside AC^0.",
    BARRINGTON,
)
CLASSES = (J_TRIVIAL, R_TRIVIAL, R_BEFORE_LAST, L_TRIVIAL, DA, STAR_FREE, QUASI_APERIODIC, NONE)


@dataclass(frozen=True, slots=True, repr=False)
class Membership(Record):
    """The answer to the question whether a language is in a class, with what is published about the class."""

    name: str
    """The name of the class."""
    meaning: str
    """The class in one sentence."""
    holds: bool | None
    """True if the language is in the class; None if this was not decided."""
    reason: str | None
    """The limit that was reached, if something was not decided or a witness not found."""
    witness: ClassWitness | None
    """Words that show that the language is not in the class."""
    transformers: str
    """The transformers that recognise exactly the languages of the class, with the position at which they are read."""
    citation: str
    """The publications that this rests on."""


@dataclass(frozen=True, slots=True, repr=False)
class Classification(Record):
    """The classes of a regular language of non-empty words."""

    states: Positive
    """Number of states of the smallest complete automaton that decides the non-empty words."""
    monoid: Positive | None
    """Number of elements of the monoid of that automaton, the identity included; None if there are too many."""
    reason: str | None
    """The limit that the monoid exceeds."""
    classes: tuple[Membership, ...]
    """The classes: each follows from those before it, except that L-trivial does not follow from R-trivial."""

    def __getitem__(self, name: str) -> Membership:
        """Return the membership in a class, by the class's name. Raises KeyError for another name."""
        found = {one.name: one for one in self.classes}
        if name not in found:
            raise KeyError(f"{name!r} is not one of {', '.join(map(repr, found))}")
        return found[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the classes, which `in` looks for."""
        return (one.name for one in self.classes)


@dataclass(frozen=True, slots=True)
class _Answer:
    holds: bool | None
    witness: ClassWitness | None = None
    reason: str | None = None


def classify(automaton: Automaton, most: int = MAX_ELEMENTS) -> Classification:
    """Return the classes of the language of an automaton. `most` bounds the number of elements of every monoid; what
    needs more is not decided."""
    patterns = Patterns(automaton)
    after, last = _found(patterns.cycle), _found(lambda: patterns.cycle(least=1))
    before, between = _found(patterns.before), _found(patterns.between)
    if last.holds:
        between = _Answer(True)  # also if there are too many pairs to search
    star_free, quasi_aperiodic = (_Answer(True), _Answer(True)) if between.holds else _groups(patterns, most)
    if star_free.holds is False and between.holds is None:
        before = between = star_free
    both = next((one for one in (after, before) if one.holds is False), before)
    outside = quasi_aperiodic if quasi_aperiodic.holds is None else _Answer(not quasi_aperiodic.holds)
    answers = (both, after, last, before, between, star_free, quasi_aperiodic, outside)
    for answer in answers:
        if answer.witness is not None and not holds_for(automaton, answer.witness):
            raise InvariantError(f"a word contradicts the witness: {answer.witness.text}")
    size, reason = _size(patterns, most)
    classes = [
        Membership(one.name, one.meaning, found.holds, found.reason, found.witness, one.transformers, one.citation)
        for one, found in zip(CLASSES, answers, strict=True)
    ]
    return Classification(len(patterns.moves), size, reason, tuple(classes))


def _found(search: Callable[[], ClassWitness | None]) -> _Answer:
    """Return the answer to the question whether a pattern does not occur."""
    try:
        witness = search()
    except TooManyPairs as error:
        return _Answer(None, None, str(error))
    return _Answer(witness is None, witness)


def _size(patterns: Patterns, most: int) -> tuple[int | None, str | None]:
    """Return the number of elements of the monoid of an automaton, or the limit that it exceeds."""
    rows = np.array(patterns.moves, dtype=smallest_type(len(patterns.moves))).T
    monoid = Monoid(np.ascontiguousarray(rows), most)
    try:
        monoid.complete()
    except TooManyElements as error:
        return None, str(error)
    return len(monoid), None


def _groups(patterns: Patterns, most: int) -> tuple[_Answer, _Answer]:
    """Return whether a language is star-free, and whether it is quasi-aperiodic."""
    star_free, quasi_aperiodic = list[_Answer](), list[_Answer]()
    for states in patterns.loops:
        answer, words = _aperiodic(patterns, states, most)
        star_free.append(answer)
        quasi_aperiodic.append(answer if answer.holds else _quasi_aperiodic(patterns, states, words, most))
    return _all(star_free), _all(quasi_aperiodic)


def _all(answers: list[_Answer]) -> _Answer:
    """Return the answer for a language from those for its components: a refutation with the shortest words, else what
    was not decided."""
    refuted = [one for one in answers if one.holds is False]
    if refuted:
        return min(refuted, key=lambda one: len(one.witness.word(1)) if one.witness else np.inf)
    return next((one for one in answers if one.holds is None), _Answer(True))


def _aperiodic(patterns: Patterns, states: list[int], most: int) -> tuple[_Answer, list[list[int]]]:
    """Return whether no word moves states of a component in a cycle, and some of the shortest words that do."""
    letters, rows = patterns.functions(states)
    monoid = Monoid(rows, most)
    try:
        while new := monoid.grow():
            moving = np.flatnonzero(periodic(monoid.rows[-1]))[:TRIED].tolist()
            if moving:
                words = [[letters[letter] for letter in monoid.word(new[one])] for one in moving]
                return _Answer(False, patterns.powers(states, words[0])), words
    except TooManyElements as error:
        return _Answer(None, None, str(error)), []
    return _Answer(True), []


def _quasi_aperiodic(patterns: Patterns, states: list[int], words: list[list[int]], most: int) -> _Answer:
    """Return whether no two words of one length move and fix the states of a cycle in a component. `words` move some
    states in cycles, which are tried before all others."""
    part, period = patterns.part(states)
    if len(part) == 1:
        return _Answer(True)
    for word in words:
        if (witness := patterns.blocks(states, word)) is not None:
            return _Answer(False, witness)
    try:
        turns, rows = patterns.turns(part, period)
        monoid = Monoid(rows, most)
        monoid.complete()
    except TooManyElements as error:
        return _Answer(None, None, str(error))
    if not (uncounted := monoid.uncounted()):
        return _Answer(True)
    found = patterns.blocks(part, [letter for turn in monoid.word(uncounted[0]) for letter in turns[turn]])
    return _Answer(False, found, None if found else "two words of one length were not found")
