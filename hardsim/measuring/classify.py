"""The classes of the language of an input (`classify`), with two words for each witness, on which the semantics of the
input was asked too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

from hardsim.campaign.result import InputDigest
from hardsim.errors import Contradiction
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.classes import Classification, Membership, classify
from hardsim.lang.automata.of_formula import NoAutomaton
from hardsim.lang.automata.witnesses import BLOCKS, POWERS, ClassWitness
from hardsim.lang.words import shown_word
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.equiv import confirm
from hardsim.records import Record
from hardsim.targets.base import At
from hardsim.targets.inputs.base import Input
from hardsim.targets.regular_language import language_of
from hardsim.targets.result import InputKind, InputName, Title, Word

CHAINS = (("J-trivial",), ("R-trivial", "R-trivial before the last symbol"), ("L-trivial",))
"""Names of classes within DA, of which the first that a language is in says more than those after it; the first chain
says more than all others."""


@dataclass(frozen=True, slots=True, repr=False)
class WitnessPair(Record):
    """Two words of a witness, to check by hand."""

    classes: tuple[str, ...]
    """Names of the classes that the language is outside of by this witness."""
    rule: str
    """The rule that membership in the language follows for all words of the witness."""
    inside: Word
    """Word of the witness in the language."""
    outside: Word
    """Word of the witness that is not in the language."""


@dataclass(frozen=True, slots=True, repr=False)
class ClassifyResult(Record):
    """The classes of the language of an input, or of the specification that it is checked against."""

    input: InputName
    sha256: InputDigest
    kind: InputKind
    title: Title
    """Title that the file gives itself."""
    stated_by: Annotated[str | None, "Name of a file."]
    """Specification whose language this is; nothing is claimed about the network or program then. Null: the language is
    the input's own."""
    part: str
    """Part of the input, or of the specification, that has this language, and the position at which it is read."""
    classification: Classification
    """The sizes of the automaton and of its monoid, and the answer for each class."""
    witnesses: tuple[WitnessPair, ...]
    """Two words for each witness; classes with the same witness share them."""

    def __getitem__(self, name: str) -> Membership:
        """Return the membership in a class, by the class's name. Raises KeyError for another name."""
        return self.classification[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the classes, which `in` looks for."""
        return iter(self.classification)

    @property
    def decided(self) -> bool:
        """True if membership in every class is decided."""
        return all(one.holds is not None for one in self.classification.classes)

    @property
    def smallest(self) -> tuple[Membership, ...]:
        """The memberships that all others follow from: there are two if the language is L-trivial, and R-trivial
        before the last symbol."""
        holding = [one for one in self.classification.classes if one.holds]
        firsts = [next((one for one in holding if one.name in chain), None) for chain in CHAINS]
        within = [one for one in firsts if one is not None]
        return tuple((within[:1] if firsts[0] is not None else within) or holding[:1])

    @property
    def summary(self) -> str:
        """The smallest classes, and the sizes, on one line."""
        return f"{self.input}: {class_names(self)}"


def class_names(result: ClassifyResult) -> str:
    """Return the smallest classes that a language is in, and those that were not decided, as text."""
    found = " and ".join(one.name for one in result.smallest) or "in no class that was decided"
    names = [one.name for one in result.classification.classes if one.holds is None]
    return found + (f"; not decided: {', '.join(names)}" if names else "")


def classify_input(given: Input, at: At | None = None) -> ClassifyResult:
    """Return the classes of the language of an input; of a formula, read at `at` or at the file's own position.

    Raises InputError as `language_of`; NoAutomaton if the language is not known to be regular, or its automaton is too
    large; Contradiction if the automaton and the semantics of the input differ on a word.
    """
    found = language_of(given, at)
    semantics = found.semantics
    try:
        automaton = semantics.automaton
    except NoAutomaton as error:
        raise NoAutomaton(f"{error}. classify needs a regular language, and makes its automaton") from None
    confirm(semantics, automaton)
    classification = classify(automaton)
    return ClassifyResult(
        input=given.name,
        sha256=given.sha256,
        kind=given.kind,
        title=given.title or None,
        stated_by=found.stated_by,
        part=found.part,
        classification=classification,
        witnesses=tuple(_pairs(classification, automaton, semantics.oracle)),
    )


def _pairs(classification: Classification, automaton: Automaton, oracle: Callable[[Word], object]) -> list[WitnessPair]:
    """Return two words of each witness. Raises Contradiction if the semantics denies what the witness says of one."""
    outside: dict[ClassWitness, list[str]] = {}
    for one in classification.classes:
        if one.witness is not None:
            outside.setdefault(one.witness, []).append(one.name)
    pairs = []
    for witness, names in outside.items():
        accepted, rejected = words_of(witness)
        for word, expected in ((accepted, True), (rejected, False)):
            if oracle(word) is not expected or automaton.accepts(word) is not expected:
                shown = shown_word(word, automaton.letters.alphabet)
                raise Contradiction(f"a witness and the semantics differ on the word {shown}")
        pairs.append(WitnessPair(tuple(names), witness.text, accepted, rejected))
    return pairs


def words_of(witness: ClassWitness) -> tuple[Word, Word]:
    """Return two short words of a witness: the first in the language, the second not."""
    accepted, least, period = witness.accepted, witness.least, witness.period
    if witness.form == POWERS:
        words = {accepted[k % period]: witness.word(k) for k in reversed(range(least, least + period))}
    elif witness.form == BLOCKS:
        counts = accepted.index(True), accepted.index(False)
        number = max(*counts, least)
        middles = [witness.v * many + witness.w * (number - many) for many in counts]
        words = dict(zip((True, False), (witness.u + middle + witness.z for middle in middles), strict=True))
    else:
        words = {accepted[0]: witness.word(least), accepted[1]: witness.word(least, inserted=True)}
    return words[True], words[False]
