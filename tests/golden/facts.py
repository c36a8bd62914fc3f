"""The results of the command line on everything shipped, as plain facts that do not depend on the implementation.

Only the command line is used, in this process. Only the functions `of_...`, one for each command, know the names in
reports: if a name in the JSON output changes, only they change.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import isclose
from pathlib import Path
from typing import Any, TypeAlias

from tests.golden.running import ran
from tests.support.documents import VALIDATOR

DIRECTORY = Path(__file__).parents[2] / "formulas"
RECORD = Path(__file__).with_name("facts.json")
INPUTS = sorted(path.name for path in DIRECTORY.iterdir() if path.is_file() and path.suffix != ".re")
"""The shipped files that have networks: expressions have none, and networks shipped in a folder are not compiled."""
PROVEN = ("temperature", "position", "causal-temperature", "causal-position")
REGIMES = (*PROVEN, "none")
SAMPLE = ("--exhaustive", "300", "--samples", "3", "--seed", "0", "--workers", "1")
AGREED = ("PROVED", "CERTIFIED")

Facts: TypeAlias = dict[str, Any]
Case: TypeAlias = tuple[str, str]
"""An input and its regime; "" if the input is not compiled as a formula."""
FORMULAS = (".ltl", ".cr")
"""Suffixes of the files that are compiled as formulas, in a regime."""

CASES: tuple[Case, ...] = tuple(
    (name, regime) for name in INPUTS for regime in (REGIMES if name.endswith(FORMULAS) else ("",))
)


def label(case: Case) -> str:
    """Return a case as the key of its facts and as the name of its tests."""
    return " ".join(case).strip()


def command(*arguments: str | Path) -> Any:
    """Run a command and return the JSON document that it writes, which must match the schema.

    The working directory does not matter, and nothing is printed.
    """
    found = ran(*arguments, "--json", "-")
    document = json.loads(found.out)
    VALIDATOR.validate(document)
    assert document["exit_code"] == found.code
    return document


def given(case: Case) -> tuple[str, ...]:
    """Return the arguments for a case: its file, and its regime."""
    name, regime = case
    return (str(DIRECTORY / name), *(("--regime", regime) if regime else ()))


def longest(case: Case) -> str:
    """Return the length to which a case is tried; programs, with many heads and long scores, to a shorter one."""
    return "2" if case[0].endswith(".srasp") else "3"


@cache
def checked(case: Case) -> Facts:
    """Return the facts of `check`."""
    return of_check(command("check", *given(case), "--max-n", longest(case), *SAMPLE))


def proved(case: Case, *options: str) -> Facts:
    """Return the facts of `prove`: for a formula every length, and to length 9 the worst case of each position."""
    lengths = ("--all-n", "--max-n", "9") if case[0].endswith(FORMULAS) else ("--max-n", "3")
    return of_prove(command("prove", *given(case), *lengths, *options))


def proved_by_sign(case: Case) -> Facts:
    """Return the facts of `prove` with counts compared by the sign test, for formulas that look counts up."""
    return proved(case, "--counting", "sign")


def bounded(case: Case) -> Facts:
    """Return the facts of `bound`: for models also the temperatures of the grid, which for others would take too
    long.
    """
    gap = () if case[0].endswith(".ahat.json") else ("--gap",)
    return of_bound(command("bound", *gap, *given(case), "--max-n", longest(case), *SAMPLE))


COMMANDS: dict[str, Callable[[Case], Facts]] = {
    "check": checked,
    "prove": proved,
    "sign": proved_by_sign,
    "bound": bounded,
}


def applicable(case: Case) -> list[str]:
    """Return the commands that are tried, which depend on the facts of `check`: without a construction only `check`,
    whose refusal gives the reason.

    Plain softmax cannot be proved, and the gaps of `bound` are those of `check`, so one regime is enough for it.
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
    """Return all facts that are recorded for a case."""
    return {name: COMMANDS[name](case) for name in applicable(case)}


@cache
def recorded() -> Mapping[str, Facts]:
    """Return the recorded facts, by label."""
    facts: Mapping[str, Facts] = json.loads(RECORD.read_text(encoding="utf-8"))
    return facts


# ---- what the reports call it ----


def only(document: Any) -> Any:
    """Return the only result of a document; None if the input was refused."""
    return document["results"][0] if document["results"] else None


def refusal(document: Any) -> Facts:
    """Return the exit code and the first line of the refusal, without the place."""
    message = document["errors"][0]["message"].split("\n")[0]
    return {"code": document["exit_code"], "refused": message.partition(": error: ")[2] or message}


def spelled(word: Sequence[str] | None) -> str | None:
    """Return a word on one line."""
    return None if word is None else " ".join(word)


def column(rows: Sequence[Any], key: str) -> list[Any]:
    """Return one number of every length."""
    return [row[key] for row in rows]


def exact(number: Facts | None) -> str | None:
    """Return all digits of an exact number."""
    return None if number is None else str(number["exact"])


def exacts(rows: Sequence[Any], key: str) -> list[str | None]:
    """Return one exact number of every length."""
    return [exact(row[key]) for row in rows]


def rounded(number: float | None) -> str | None:
    """Round a number to three digits, as is recorded of numbers that depend on the arithmetic."""
    return None if number is None else f"{number:.3g}"


def least(numbers: Sequence[str | None]) -> str | None:
    """Return the least of the numbers that are not None."""
    return min((number for number in numbers if number is not None), key=Fraction, default=None)


def of_check(document: Any) -> Facts:
    """Return the verdict, and by length: words, accepted, mismatches, least gap, largest error; for models
    temperatures.
    """
    result = only(document)
    if result is None:
        return refusal(document)
    rows = [row for row in result["lengths"] if row["n"] <= result["max_n"]]  # longer rows are for a file's examples
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
    """Return the verdict and how it was reached: for a formula the margin and each head's worst case, for a model by
    length.
    """
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
    """Return the verdict, and by length: gaps, declared gaps, Theorem 26's temperature, the grid's bracket and its
    word.
    """
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
    """List where facts differ.

    Values under a key that ends in "~" may differ by a hundredth, or by 1e-9, and so may texts that begin with a "~"
    followed by a number.
    """
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
