"""What the command line says of everything shipped, as plain facts that outlive any rebuild of what is behind it.

Only the command line is used, inside this process. What a report calls its numbers is known to the functions `of_...`
alone, one for each command: they are all that follows when a name in the JSON output changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import isclose
from pathlib import Path
from typing import Any, TypeAlias

from tests.golden.running import ran

DIRECTORY = Path(__file__).parents[2] / "formulas"
RECORD = Path(__file__).with_name("facts.json")
INPUTS = sorted(path.name for path in DIRECTORY.iterdir() if path.is_file() and path.suffix != ".re")
"""Of which networks are made: expressions have none, and the networks that are shipped in a folder come as they are."""
PROVEN = ("temperature", "position", "causal-temperature", "causal-position")
REGIMES = (*PROVEN, "none")
SAMPLE = ("--exhaustive", "300", "--samples", "3", "--seed", "0", "--workers", "1")
AGREED = ("PROVED", "CERTIFIED")

Facts: TypeAlias = dict[str, Any]
Case: TypeAlias = tuple[str, str]
"""An input and its regime; "" is the regime of whatever is not compiled as a formula."""
FORMULAS = (".ltl", ".cr")
"""Of the files that are compiled as formulas, in a regime."""

CASES: tuple[Case, ...] = tuple(
    (name, regime) for name in INPUTS for regime in (REGIMES if name.endswith(FORMULAS) else ("",))
)


def label(case: Case) -> str:
    """A case as the key of its facts and as the name of its tests."""
    return " ".join(case).strip()


def command(*arguments: str | Path) -> Any:
    """The JSON document that a command writes.

    The working directory does not matter, and nothing is printed.
    """
    found = ran(*arguments, "--json", "-")
    document = json.loads(found.out)
    assert document["exit_code"] == found.code
    return document


def given(case: Case) -> tuple[str, ...]:
    """The file of a case, and its regime."""
    name, regime = case
    return (str(DIRECTORY / name), *(("--regime", regime) if regime else ()))


def longest(case: Case) -> str:
    """The length to which a case is tried: programs have many heads, and long scores."""
    return "2" if case[0].endswith(".srasp") else "3"


@cache
def checked(case: Case) -> Facts:
    """What `check` finds."""
    return of_check(command("check", *given(case), "--max-n", longest(case), *SAMPLE))


def proved(case: Case, *options: str) -> Facts:
    """What `prove` finds: of a formula for every length, and to length 9 by the worst case of each position."""
    lengths = ("--all-n", "--max-n", "9") if case[0].endswith(FORMULAS) else ("--max-n", "3")
    return of_prove(command("prove", *given(case), *lengths, *options))


def proved_by_sign(case: Case) -> Facts:
    """The same with the other way to compare counts, for formulas that look them up."""
    return proved(case, "--counting", "sign")


def bounded(case: Case) -> Facts:
    """What `bound` finds: of models the temperatures of the grid, too, which of others cost more than all the rest."""
    gap = () if case[0].endswith(".ahat.json") else ("--gap",)
    return of_bound(command("bound", *gap, *given(case), "--max-n", longest(case), *SAMPLE))


COMMANDS: dict[str, Callable[[Case], Facts]] = {
    "check": checked,
    "prove": proved,
    "sign": proved_by_sign,
    "bound": bounded,
}


def applicable(case: Case) -> list[str]:
    """The commands that are tried, by what `check` finds: where there is no construction it alone, which says why.

    Plain softmax cannot be proved, and `bound` takes its gaps as `check` does, in whatever regime.
    """
    found = checked(case)
    if "refused" in found:
        return ["check"]
    expected = {
        "check": True,
        "prove": case[1] != "none",
        "sign": case[1] != "none" and found.get("counting") == "lookup",
        "bound": case[1] in ("", "temperature"),
    }
    return [name for name, needed in expected.items() if needed]


def measured(case: Case) -> Facts:
    """All that is recorded of a case."""
    return {name: COMMANDS[name](case) for name in applicable(case)}


@cache
def recorded() -> Mapping[str, Facts]:
    """The facts on file, by label."""
    facts: Mapping[str, Facts] = json.loads(RECORD.read_text(encoding="utf-8"))
    return facts


# ---- what the reports call it ----


def only(document: Any) -> Any:
    """The only result; None if the input was refused."""
    return document["results"][0] if document["results"] else None


def refusal(document: Any) -> Facts:
    """The exit code and the first line of the refusal, without the place."""
    message = document["errors"][0]["message"].split("\n")[0]
    return {"code": document["exit_code"], "refused": message.partition(": error: ")[2] or message}


def spelled(word: Sequence[str] | None) -> str | None:
    """A word on one line."""
    return None if word is None else " ".join(word)


def column(rows: Sequence[Any], key: str) -> list[Any]:
    """One number of every length."""
    return [row[key] for row in rows]


def exact(number: Facts | None) -> str | None:
    """All digits of an exact number."""
    return None if number is None else str(number["exact"])


def exacts(rows: Sequence[Any], key: str) -> list[str | None]:
    """One exact number of every length."""
    return [exact(row[key]) for row in rows]


def rounded(number: float | None) -> str | None:
    """A number to three digits: what is kept of numbers that depend on the arithmetic."""
    return None if number is None else f"{number:.3g}"


def least(numbers: Sequence[str | None]) -> str | None:
    """The least of those numbers that there are."""
    return min((number for number in numbers if number is not None), key=Fraction, default=None)


def of_check(document: Any) -> Facts:
    """The verdict, and by length: words, accepted, mismatches, least gap, largest error; of models temperatures."""
    result = only(document)
    if result is None:
        return refusal(document)
    rows = [row for row in result["lengths"] if row["n"] <= result["max_n"]]  # the others are of a file's examples
    facts: Facts = {
        "code": document["exit_code"],
        "verdict": result["verdict"],
        "words": column(rows, "words"),
        "accepted": column(rows, "accepted"),
        "soft": column(rows, "soft_mismatches"),
        "hard": column(rows, "hard_mismatches"),
        "undecided": column(rows, "undecided"),
        "word": spelled(result["mismatch"]["word"]) if result["mismatch"] else None,
        "gap": exacts(rows, "score_gap"),
        "gaps": {head["name"]: [] for head in rows[0]["heads"]},
        "declared": [least(exacts(row["heads"], "declared_gap")) for row in rows],
        "error~": [rounded(row["error"]) for row in rows],
    }
    for row in rows:
        for head in row["heads"]:
            facts["gaps"][head["name"]].append(exact(head["score_gap"]))
    facts["gaps"] = {name: gaps for name, gaps in facts["gaps"].items() if any(gaps)}
    if result["model"]["regime"] is not None:
        facts |= {"beta": exact(result["model"]["beta"])}
        facts |= {key: result["model"][key] for key in ("temperature", "counting")}
        facts["accept~"] = [rounded(row["acceptance_gap"]) for row in rows]
    else:
        facts["tau"] = [list(map(exact, row["temperature"].values())) for row in rows]
        facts["ties"] = len(result["ties"])
    return facts


def of_prove(document: Any) -> Facts:
    """The verdict and how it was reached: of a formula the margin and the worst of each head, of a model by length."""
    result = only(document)
    if result is None:
        return refusal(document)
    facts: Facts = {
        "code": document["exit_code"],
        "verdict": result["verdict"],
        "reach": result["reach"],
        "tried": result["tried"],
        "confirmed": result["confirmed"]["words"] if result["confirmed"] else None,
        "word": spelled(result["mismatch"]["word"]) if result["mismatch"] else None,
    }
    if result["proved_to"] is None:
        facts |= {"margin~": rounded(result["margin"]), "every~": rounded(result["all_n"]["margin"])}
        facts["reasons"] = [link["reason"] for link in (*result["links"], *result["all_n"]["links"]) if link["reason"]]
        worst = {head["name"]: head["worst"] for head in result["heads"]}
        facts["worst~"] = {name: rounded(case["error"]) for name, case in worst.items() if case is not None}
    else:
        rows = result["lengths"]
        facts |= {"to": result["proved_to"], "how": column(rows, "proved_by"), "tau": exacts(rows, "temperature")}
        facts |= {"distance": exacts(rows, "distance"), "bound~": [rounded(row["bound"]) for row in rows]}
    return facts


def of_bound(document: Any) -> Facts:
    """The verdict, and by length: gaps, declared gaps, Theorem 26's temperature, the grid's bracket and its word."""
    result = only(document)
    if result is None:
        return refusal(document)
    rows = result["lengths"]
    facts: Facts = {"code": document["exit_code"], "verdict": result["verdict"]}
    for key in ("score_gap", "declared_gap", "size", "theorem", "right", "wrong"):
        if any(values := exacts(rows, key)):
            facts[key] = values
    words = [spelled(row["word"]) for row in rows]
    return facts | ({"word": words} if any(words) else {}) | {"bound~": [rounded(row["bound"]) for row in rows]}


# ---- comparing ----


def differences(old: Any, new: Any, place: str = "", near: bool = False) -> list[str]:
    """Where facts differ. What stands under a key with a "~" may differ by a hundredth, or by nothing to speak of, and
    so may a text that begins with a "~" and goes on with a number."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for key in sorted({*old, *new})
            for line in differences(old.get(key), new.get(key), f"{place}/{key}", near or key.endswith("~"))
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [line for n, pair in enumerate(zip(old, new, strict=True), 1)
                for line in differences(*pair, f"{place}/{n}", near)]  # fmt: skip
    if isinstance(old, str) and isinstance(new, str) and old[:1] == new[:1] == "~":
        return [] if differences(old[1:], new[1:], near=True) == [] else [line_of(place, old, new)]
    if old == new or (near and None not in (old, new) and isclose(float(old), float(new), rel_tol=0.01, abs_tol=1e-9)):
        return []
    return [line_of(place, old, new)]


def line_of(place: str, old: Any, new: Any) -> str:
    """Return a difference in one line."""
    return f"{place}: {old!r} was recorded, {new!r} is found"
