"""Write down what is found today: `python -m tests.golden.record`, where a change of the facts is meant."""

from __future__ import annotations

import json

from tests.golden.facts import CASES, RECORD, label, measured


def main() -> None:
    """One line a case, so that a change is seen where it is."""
    lines = [f"{json.dumps(label(case))}: {json.dumps(measured(case), separators=(',', ':'))}" for case in CASES]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
