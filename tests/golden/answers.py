"""JSON documents that commands write on small inputs, as facts to compare.

A document is kept whole except for what depends on the version, on the machine, or on the comments of an input. Numbers
that are no integers are kept to three digits, after a "~", and may differ by a hundredth.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.golden.facts import Facts, command

RECORD = Path(__file__).with_name("answers.json")
LEFT_OUT = ("version", "sha256", "other_sha256")

ANSWERS = (
    "eval since cba bac",
    "eval since --regime none ab aab",
    "eval dyck1.cr (()) ())",
    "eval sort.srasp 10 0101",
    "eval flipflop.ahat.json w0w1r1",
    "eval same_ends.ahat.json aba ab",
    "eval tomita_4.re 0 000",
    "eval networks/flipflop.spec w0i1r w1",
    "words since --max-n 3",
    "words dyck1.cr --max-n 4",
    "words dyck1.srasp --by hard --max-n 4",
    "words flipflop.ahat.json --max-n 2",
    "words flipflop.re --max-n 4",
    "trace since cba",
    "trace majority.ltl 1011 --regime position",
    "trace dyck1.srasp ()",
    "trace same_ends.ahat.json aba",
    "trace networks/majority 001",
    "heads networks/dyck1_depth3 --max-n 4",
    "heads networks/flipflop.spec --max-n 3",
    "heads networks/majority --max-n 4",
    "heads since",
    "equiv ab_plus.ltl ab_plus.srasp --max-n 4",
    "equiv dyck1.cr dyck1_depth2.ltl --max-n 6",
    "equiv tomita_4.re tomita_4.re",
    "equiv since trigger.ltl --max-n 4",
    "precision since --max-n 8",
    "precision dyck1.srasp --dtype bfloat16 --max-n 4",
    "precision networks/majority --dtype bfloat16 --max-n 3",
    "check networks/dyck1_depth3.spec --max-n 4",
    "check networks/flipflop.spec --max-n 4",
    "check networks/majority.spec --max-n 4",
    "prove networks/dyck1_depth3.spec --max-n 3",
    "prove networks/flipflop.spec --max-n 3",
    "prove networks/majority.spec --max-n 3",
)  # fmt: skip
"""The commands, without `--json -`; some are refused, or compare different files."""


def kept(value: Any) -> Any:
    """Return a JSON value without the keys that are left out, its numbers rounded."""
    if isinstance(value, dict):
        return {key: kept(one) for key, one in value.items() if key not in LEFT_OUT}
    if isinstance(value, list):
        return [kept(one) for one in value]
    return f"~{value:.3g}" if isinstance(value, float) else value


def answered(line: str) -> Facts:
    """Return the document that a command writes."""
    found: Facts = kept(command(*line.split()))
    return found


@cache
def recorded() -> Mapping[str, Facts]:
    """Return the recorded documents, by command."""
    found: Mapping[str, Facts] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found
