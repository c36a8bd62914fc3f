"""Tests of help: it fits one screen, its long form is complete, shells complete words, and mistyped names are
reported.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hardsim import __version__
from hardsim.cli.completion import Completion
from hardsim.cli.manual import COMMANDS, Manual
from hardsim.cli.typer_options import options_of
from hardsim.errors import did_you_mean, nearest
from hardsim.options.table import ALIKE, OPTIONS, Option
from tests.cli.conftest import Outcome, ended, process, written
from tests.support.language import formulas_directory

PAGES = [[], *([name] for name in COMMANDS)]
LINES, COLUMNS = 24, 80
BIN = Path(sys.executable).parent


@pytest.fixture(autouse=True)
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of the usual size."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


# ---- pages ----


@pytest.mark.parametrize("command", PAGES, ids=" ".join)
def test_help_is_one_screen(hardsim: Any, command: list[str]) -> None:
    outcome = hardsim(*command, "--help").clean("--help-all", f" hardsim {command[0] if command else 'check'} ")
    outcome.lacks("╭").prints(*["Exit codes: 0 agreed"] * len(command))  # plain text, without boxes
    lines = outcome.out.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_of_the_brief_page_takes_a_line(hardsim: Any, name: str) -> None:
    lines = hardsim(name, "--help").out.partition("\nOptions:\n")[2].partition("\n\n")[0].splitlines()
    like, left_out = ALIKE.get(name, (name, ()))
    entries = [one for field, one in OPTIONS.items() if field not in left_out]
    common = [one.names[0] for one in entries if one.names and like in one.brief.split()]
    assert [line.split()[0].rstrip(",") for line in lines] == [*common, "--help-all", "-h"]


@pytest.mark.parametrize("name", COMMANDS)
def test_everything_is_in_the_long_form(hardsim: Any, name: str) -> None:
    text = hardsim(name, "--help-all").clean().out
    squeezed = "".join(text.split())
    message = [OPTIONS[field].help_of(name, brief=False) for field in options_of(name)]
    assert [one for one in message if "".join(one.split()) not in squeezed] == []
    for paragraph in COMMANDS[name].text.split("\n\n"):
        assert "".join(paragraph.removeprefix("\b").split()) in squeezed
    assert "4 internal error" in text


def test_a_brief_page_has_the_beginning_of_a_long_text() -> None:
    examples = [f"  hardsim it {number}" for number in range(9)]
    text = "\n\n".join(["It does.", "FILE.", "More.", "\n".join(["\b", "Examples:", *examples]), "The end."])
    short = "It does.\n\nSo it is.\n\n\b\nExamples:\n  hardsim it"
    assert Manual("", short).brief == short
    assert Manual("", text).brief == "\n\n".join(["It does.", "FILE.", "\n".join(["\b", "Examples:", *examples[:4]])])
    assert Option("--it", "Such as 3.9. More.").help_of("check", brief=True) == "Such as 3.9."


def test_the_whole_application(hardsim: Any) -> None:
    brief, whole = hardsim("--help"), hardsim("--help-all")
    whole.clean("--install-completion", "--show-completion", "Exit codes: 0", "HARDSIM_DEBUG", "\n  help ")
    brief.clean().lacks("--install-completion")
    width = max(map(len, COMMANDS))
    for name, manual in COMMANDS.items():
        line = f"\n  {name:{width}}  {manual.purpose}\n"
        assert line in whole.out
        assert line in brief.out
    assert hardsim().code == 2
    assert hardsim("-V") == hardsim("--version") == Outcome(0, f"hardsim {__version__}\n", "")


def test_help_is_a_command_too(hardsim: Any) -> None:
    assert hardsim("help") == hardsim("--help") == hardsim("-h")
    assert hardsim("help", "bound") == hardsim("bound", "--help") == hardsim("bound", "-h")
    hardsim("help", "bond").refused("no command is called 'bond'; did you mean bound?")


# ---- completion ----


def completed(*typed: str, cwd: Path | None = None) -> list[str]:
    """Return bash's completions of the last word."""
    words = ["hardsim", *typed]
    requested = {"_HARDSIM_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    return process(env=os.environ | requested, cwd=cwd).clean().out.split()


def test_commands_options_and_values_are_completed(tmp_path: Path) -> None:
    assert completed("pro") == ["prove"]
    assert completed("help", "pro") == ["prove"]
    assert completed("check", "--max") == ["--max-n"]
    assert completed("check", "--exh") == ["--exhaustive"]  # an option of the long form alone
    assert completed("check", "--regime", "causal") == ["causal-temperature", "causal-position"]
    assert completed("words", "--by", "") == ["oracle", "hard", "soft"]
    assert completed("check", "sinc", cwd=tmp_path) == ["since"]
    written(tmp_path / "since then.txt", "")
    written(tmp_path / "sincere.ltl", "")
    assert completed("check", "sinc", cwd=tmp_path) == ["sincere.ltl", "since"]
    assert completed("eval", "since", "a", cwd=tmp_path) == []


def test_every_field_can_be_completed() -> None:
    context = type("Context", (), {"params": {}})()
    for field in OPTIONS:
        assert Completion(field)(context, "zz") == []
    assert Completion("backend")(context, "d") == ["dask"]
    assert Completion("engine")(context, "fl") == ["float64"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_shell_completes_what_typer_installs(tmp_path: Path) -> None:
    script = 'eval "$(hardsim --show-completion)"; COMP_WORDS=(hardsim check --max); COMP_CWORD=2'
    script += "; _hardsim_completion hardsim; echo ${COMPREPLY[@]}"
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "--max-n\n"


# ---- start-up ----


def imported(*arguments: str) -> set[str]:
    """Return the modules that a run of the command imports."""
    script = f"import sys; from hardsim.cli.app import run; run({list(arguments)!r})"
    script += "; print(*sys.modules, file=sys.stderr)"
    return set(ended(sys.executable, "-c", script).err.split())


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help-all"], ["check", "--max-n", "0"], ["-V"]])
def test_help_imports_nothing_that_computes(arguments: list[str]) -> None:
    heavy = {"numpy", "mpmath", "flint", "gmpy2", "lark", "rich", "msgspec", "pydantic", "joblib", "distributed", "ray"}
    assert imported(*arguments).isdisjoint(heavy)


def test_a_check_of_a_formula_imports_no_code_about_networks_and_theorems() -> None:
    found = imported("check", str(formulas_directory() / "since.ltl"), "--max-n", "2", "--workers", "1")
    assert "hardsim.proving.prove" in found
    others = {"reading.folder", "proof.external.prove", "proving.rocq.theorem", "compiling.from_srasp.compile"}
    assert found.isdisjoint({f"hardsim.{name}" for name in others})


@pytest.mark.parametrize("arguments", [["check", "--help"], ["check", "--max-n", "x"], ["-V"]])
def test_what_needs_no_input_imports_no_language(arguments: list[str]) -> None:
    heavy = ("hardsim.lang", "hardsim.program", "hardsim.campaign.result")
    assert [name for name in imported(*arguments) if name.startswith(heavy)] == []


def test_options_are_read_without_pydantic() -> None:
    found = imported("eval", "since", "cba", "--dps", "30", "--beta", "4")
    assert "numpy" in found
    assert "pydantic" not in found


def test_values_are_read_as_typer_reads_them(hardsim: Any) -> None:
    hardsim("verify").refused("error: Missing argument 'FILE...'.")
    hardsim("check", "since", "--max-n").refused("error: Option '--max-n' requires an argument.")
    value = hardsim("check", "since", "--max-n", "x").refused(
        "error: Invalid value for '--max-n': 'x' is not an integer"
    )
    assert value.err.count("\n") == 1  # the usage of the command is not what is wrong
    hardsim("check", "since", "--single-head=1").refused("error: Option '--single-head' does not take a value.")
    result = hardsim("check", "since", "--max-n", "1", "--max-n", "2", "--json", "-").result
    assert result["max_n"] == 2  # the last of several values counts


# ---- what was mistyped ----


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chek", "since"], "no command is called 'chek'; did you mean check?"),
        (["proof", "since"], "no command is called 'proof'; did you mean prove?"),
        (["zzz"], "no command is called 'zzz'\n"),
        (["since.ltl"], "no command is called 'since.ltl'; write a command before the file: hardsim check since.ltl"),
        (["check", "--maxn", "3"], "no such option: --maxn; did you mean --max-n?"),
        (["--json", "o.json", "check", "since"], "Options follow the command, as in `hardsim check FILE --max-n 8`"),
        (["check", "--max-n", "2", "--max=3"], "no such option: --max; did you mean --max-n?"),
        (["check", "--max_n=3"], "no such option: --max_n; did you mean --max-n?"),
        (["check", "-max-n", "3"], "no such option: -max-n; did you mean --max-n?"),
        (["check", "-n", "3"], "no such option: -n; did you mean --max-n?"),
        (["check", "--sample", "3"], "no such option: --sample; did you mean --samples?"),
        (["check", "--no-table"], "no such option: --no-table; did you mean --no-tables?"),
        (["check", "--zzz"], "before files and words that start with '-'"),
        (["check", "since.ltl", "--regime", "temprature"], "unknown regime 'temprature': did you mean temperature?"),
        (["check", "since.ltl", "--engine", "floats"], "unknown engine 'floats': did you mean float64?"),
        (["check", "since.ltl", "--backend", "rai"], "unknown backend 'rai': did you mean ray?"),
        (["check", "since.ltl", "--at", "fist"], "--at must be first or last, not 'fist'"),
        (["check", "since.ltl", "--at", "fist"], "did you mean first?"),
        (["check", "since.ltl", "--counting", "lokup"], "did you mean lookup?"),
        (["words", "since.ltl", "--by", "orcale"], "'soft'. Did you mean oracle?"),
    ],
)
def test_what_was_mistyped_is_named(
    hardsim: Any, since: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(since.parent)
    hardsim(*arguments).refused(said)


def test_keys_of_files_are_named(hardsim: Any, tmp_path: Path) -> None:
    text = (formulas_directory() / "same_ends.ahat.json").read_text(encoding="utf-8")
    path = written(tmp_path / "m.ahat.json", text.replace('"program"', '"programs"'))
    hardsim("words", path).refused(
        "at the top level: expected keys among", '(not "programs")', 'did you mean "program"?'
    )
    proof = tmp_path / "p.json"
    hardsim("prove", "since", "--max-n", "2", "--certificate", proof).exits(0)
    certificate = proof.read_text(encoding="utf-8")
    for key, wrong in (("claim", "claims"), ("embedding", "embeddings")):
        written(proof, certificate.replace(f'"{key}"', f'"{wrong}"', 1))
        hardsim("verify", proof).exits(1, f"the key '{key}' is missing, and '{wrong}' is not known")
    written(proof, certificate.replace('"claim"', '"claim": "", "claim2"', 1))
    hardsim("verify", proof).exits(1, "the key 'claim2' is not known")


def test_the_nearest_name() -> None:
    assert nearest("MAX_N", ["min-n", "max-n"]) == "max-n"
    assert nearest("n", ["json", "max-n"]) == "max-n"
    assert nearest("cert", ["critical", "certificate"]) == "certificate"
    assert nearest("", ["a"]) == nearest("--", ["a"]) == nearest("zzz", ["a"]) == ""
    assert did_you_mean("zzz", ["a"]) == ""
    assert did_you_mean("aleph", ["alpha"], repr) == "did you mean 'alpha'?"
