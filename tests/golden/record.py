"""Record the present results: `python -m tests.golden.record [PART]...`, after an intended change.

The parts are `facts` and `digests`, which take minutes, and `answers`, `screens` and `messages`, which take seconds;
without a name all are recorded.
"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.golden import answers, digests, facts, messages, screens


def write(path: Path, found: Iterable[tuple[str, facts.Facts]]) -> None:
    """Write one line for each case, so that a difference shows the case."""
    lines = [f"{json.dumps(name)}: {json.dumps(one, separators=(',', ':'))}" for name, one in found]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def write_facts() -> None:
    """Record the results of the commands on each case."""
    write(facts.RECORD, ((facts.label(case), facts.measured(case)) for case in facts.CASES))


def write_digests() -> None:
    """Record the digests of the files that are written for each case."""
    write(digests.RECORD, ((facts.label(case), digests.digested(case)) for case in facts.CASES))


def write_answers() -> None:
    """Record the JSON documents, indented: a change of one value is one line."""
    found = {line: answers.answered(line) for line in answers.ANSWERS}
    answers.RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_screens() -> None:
    """Record the printed texts, and remove those of commands that are no longer listed."""
    screens.DIRECTORY.mkdir(exist_ok=True)
    for path in screens.DIRECTORY.iterdir():
        path.unlink()
    for line in screens.SCREENS:
        screens.path_of(line).write_text(screens.printed(line), encoding="utf-8")


def write_messages() -> None:
    """Record the list of messages."""
    messages.RECORD.write_text("\n".join(messages.found_messages()) + "\n", encoding="utf-8")


PARTS: dict[str, Callable[[], None]] = {
    "messages": write_messages,
    "screens": write_screens,
    "answers": write_answers,
    "digests": write_digests,
    "facts": write_facts,
}


def main(names: Iterable[str]) -> None:
    """Record these parts, or all of them."""
    for name in names or PARTS:
        PARTS[name]()
        print(f"recorded: {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
