"""The text that commands print at 80 columns, in one file for each command, so that a difference is readable."""

import re
from pathlib import Path
from shlex import split

from tests.golden.running import ran

DIRECTORY = Path(__file__).with_name("screens")
TIMES = re.compile(r"^note: .* seconds of work\n", re.MULTILINE)
OUT, ERR = "---- standard output ----", "---- standard error ----"

SCREENS = (
    # formulas
    "check since --max-n 4",
    "check since --regime none --max-n 5",
    "check majority.ltl --max-n 3",
    "check mod3.ltl --regime causal-position",
    "prove since --all-n",
    "prove since --beta 1 --max-n 6",
    "prove dyck1.ltl --regime position --max-n 5",
    # C-RASP programs
    "check dyck1.cr --max-n 4",
    "prove dyck1.cr --max-n 6",
    # S-RASP programs
    "check dyck1.srasp --max-n 3",
    "check sort.srasp --max-n 2",
    "prove ab_plus.srasp --max-n 3",
    # hard-attention models
    "check ties.ahat.json --max-n 3",
    "check flipflop.ahat.json --max-n 2",
    "prove majority_ties.ahat.json --all-n",
    "prove tieless_until_7.ahat.json --max-n 4",
    # external networks
    "check networks/majority.spec --max-n 4",
    "check networks/flipflop --max-n 3",
    "prove networks/dyck1_depth3.spec --max-n 3",
    # regular expressions
    "check tomita_4.re",
    "check tomita_4.ltl --against tomita_4.re --max-n 3",
    "prove tomita_4.re",
    # several inputs
    "check since dyck1.cr dyck1.srasp ties.ahat.json --max-n 2",
    "prove since majority.ltl nosuch --max-n 3",
    # other commands, a page of each
    "bound since --max-n 4",
    "compile since -o /dev/null",
    "equiv ab_plus.ltl ab_plus.srasp --max-n 4",
    "eval since cba bac",
    "examples dyck1.srasp",
    "heads networks/majority --max-n 3",
    "precision since --dtype bfloat16 --max-n 8",
    "show since",
    "trace since cba",
    "words since --max-n 2",
    # errors and notes
    "check",
    "check nosuch.ltl",
    "check since --beta 0",
    "check since --max-n 0",
    "check since --regime nosuch",
    "check since --nosuch",
    "check since --dps 40 --engine float64 --max-n 2",
    "check -e 'a S' --alphabet 'a b'",
    "check -e 'a S d' --alphabet 'a b'",
    "check -e 'F a' --alphabet 'a b' --at first --regime causal-position",
    "prove since --regime none",
    "heads since",
    "equiv since majority.ltl",
)  # fmt: skip
"""The commands, as a user types them."""


def path_of(line: str) -> Path:
    """Return the file of a command's text."""
    return DIRECTORY / (re.sub(r"[^\w.-]+", "_", line).strip("_") + ".txt")


def printed(line: str) -> str:
    """Return what a command prints, both streams, and the exit code; the note on seconds is left out."""
    found = ran(*split(line))
    err = TIMES.sub("", found.err)
    parts = [f"$ hardsim {line}", f"exit code {found.code}", OUT, found.out.rstrip("\n"), ERR, err.rstrip("\n")]
    return "\n".join(part for part in parts if part) + "\n"
