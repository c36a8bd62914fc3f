"""Texts near valid ones, and the outcomes that are allowed on hostile input: conventions of all fuzzing tests.

A run is tame if it ends with exit code 0, 1, 2 or 3, prints a message wherever that is not 0, and shows no traceback.
The long tests give a run LIMIT bytes of memory and PATIENCE seconds, in a process of its own.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random

LIMIT = 2 * 2**30
PATIENCE = 120.0
"""Seconds for one process: a hundred times what its cases take, so that only a run that hangs exceeds them."""

PIECES = (
    "", " ", *"\n\r\t\0\u2028\u202e\ufeff\udcff", "\x1b[2J", *"éε𝔸'\"()[]{}!-+*/^%&|=<:,.01XYSUFGOHin", "#[", "#L[",
    "//", "**", "->", "<->", "==", "!=", ">=", "-1", "007", "1e9", "1.5", "1/0", "nan", "inf", "true", "false", "pos",
    "len", "mod", "mod 0", "MOD(0, 0)", "MOD(1000000000, 1)", "EVEN", "PRIME", "let x = x", "pred P(i, n) = i",
    "alphabet:", "alphabet: a a", "accept:", "reject:", "at: first", "9" * 30, "9" * 5000, "9^9^9^9", "2^99999999",
    "(" * 300, "!" * 300, "a" * 5000,
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One run: arguments, and the contents of files by name (in the working directory) and of standard input, as text
    with lone surrogates for bytes that are not UTF-8.
    """

    arguments: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()
    stdin: str = ""


def raw(text: str) -> bytes:
    """Return the bytes that a text with lone surrogates stands for."""
    return text.encode("utf-8", "surrogatepass" if any("\ud800" <= c < "\udc80" for c in text) else "surrogateescape")


def mutated(text: str, random: Random, pieces: Sequence[str] = PIECES) -> str:
    """Return a text after one to four small changes: a part removed, repeated, moved or replaced, or a piece
    inserted.
    """
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 0, 1, 1, 2, 5, 40)))
        part = text[start:end]
        match random.randrange(5):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + part * random.choice((1, 2, 300)) + text[end:]
            case 2:
                rest = text[:start] + text[end:]
                place = random.randrange(len(rest) + 1)
                text = rest[:place] + part + rest[place:]
            case _:
                text = text[:start] + random.choice(pieces) + text[end:]
    return text


def require_tame(case: object, code: int, err: str) -> None:
    """Assert that a run was tame, from its exit code and its standard error."""
    assert code in (0, 1, 2, 3), (case, code, err[-2000:])
    assert code == 0 or err.strip() or code in (1, 3), (case, code)
    assert "Traceback" not in err, (case, err[-2000:])
    assert "internal error" not in err, (case, err[-2000:])
    assert not any(char in err for char in "\x1b\0\x07"), (case, err[-2000:])


# One process runs many cases; the line printed before each case identifies the one that killed it.
CHILD = """
import contextlib, io, json, os, sys, tempfile
from tests.support.fuzz import Case, raw
from hardsim.cli.app import run
cases = json.load(sys.stdin)
out = sys.stdout
for number, case in enumerate(cases):
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for name, text in case["files"]:
            with open(name, "wb") as file:
                file.write(raw(text))
        print(json.dumps({"begun": number}), file=out, flush=True)
        sys.stdin = io.TextIOWrapper(io.BytesIO(raw(case["stdin"])))
        streams = [io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2)]
        sys.stdout, sys.stderr = streams
        try:
            code = run(case["arguments"])
        finally:
            sys.stdout, sys.stderr = out, sys.__stderr__
        err = streams[1].buffer.getvalue().decode("utf-8", "replace")
        print(json.dumps({"number": number, "code": code, "err": err[-5000:]}), file=out, flush=True)
        os.chdir("/")
"""


def run_limited(cases: Sequence[Case]) -> None:
    """Run cases in one process with LIMIT bytes of memory, and assert that all are tame within PATIENCE seconds."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)),
    )  # fmt: skip
    try:
        out, err = process.communicate(json.dumps([asdict(case) for case in cases]), timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    lines = [json.loads(line) for line in out.splitlines()]
    for line in lines:
        if "code" in line:
            require_tame(cases[line["number"]], line["code"], line["err"])
    last = cases[lines[-1].get("begun", len(cases) - 1)] if lines else None
    assert len(lines) == 2 * len(cases), (f"no end within {PATIENCE} s or {LIMIT} bytes", last, err[-2000:])
