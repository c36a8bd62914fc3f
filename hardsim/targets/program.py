"""The target of an S-RASP program: the hard attention that the program compiles to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hardsim.hard.exact import HardTrace
from hardsim.lang.srasp.padding import padded_word
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.result import Word
from hardsim.targets.subject import Subject

if TYPE_CHECKING:
    from hardsim.compiling.from_srasp.compile import Compiled


@dataclass(frozen=True, kw_only=True)
class ProgramTarget(Subject):
    """The hard attention of a program, one construction for each vector."""

    kind = "srasp"
    own = True
    constructed = True
    rests_on = " (that hard attention computes the program rests on one construction per vector)"

    compiled: Compiled
    """The program with its construction."""

    @property
    def in_range(self) -> bool:
        """True if the integers of every word are known to stay in their range."""
        return not self.compiled.guards

    def too_many_text(self, words: str) -> str:
        """Return the reason why a length is not proved whose `words` words are not all tried."""
        return f"its integers may leave their range on some of the {words} words, which are too many to be tried"

    def prepared(self, word: Word) -> Word:
        """Return the word with the padding that the program declares."""
        return padded_word(self.compiled.program, word)

    def require_range(self, words: Sequence[Word], trace: HardTrace) -> None:
        """Check that the integers of an exact run stay in their range. Raises OutOfRange, naming a word on which an
        integer leaves it."""
        self.compiled.check_ranges(words, trace)
