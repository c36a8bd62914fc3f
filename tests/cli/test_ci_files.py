"""The files of docs/ci and the hooks of pre-commit: their shell steps run here as the services run them."""

import json
import os
import re
import shutil
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.conftest import Cli, Outcome, ended, written

ROOT = Path(__file__).parents[2]
CI = ROOT / "docs" / "ci"
ACTION = yaml.safe_load((CI / "action.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((CI / "gitlab.yml").read_text(encoding="utf-8"))["hardsim"]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
RIGHT, WRONG = "alphabet: a b\nO a\n", "alphabet: a b\naccept: b\nO a\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with formulas/right.ltl, in which steps run; `python` and `pip` there install nothing."""
    monkeypatch.chdir(tmp_path)
    for folder in ("formulas", "bin"):
        (tmp_path / folder).mkdir()
    written(tmp_path / "formulas" / "right.ltl", RIGHT)
    for name in ("pip", "python"):
        script = written(tmp_path / "bin" / name, '#!/bin/sh\necho "installs $*" >> "$INSTALLED"\n')
        script.chmod(0o755)
    written(tmp_path / "bin" / "hardsim", f'#!/bin/sh\nexec {sys.executable} -m hardsim "$@"\n').chmod(0o755)
    return tmp_path


def steps(project: Path, scripts: list[str], variables: Mapping[str, str], shell: str) -> Outcome:
    """Run scripts one after the other in a shell, as the service does, until one fails."""
    paths = os.pathsep.join([str(project / "bin"), os.environ["PATH"]])
    env = os.environ | {"PATH": paths, "INSTALLED": str(project / "installed")} | dict(variables)
    env["PYTHONPATH"] = str(ROOT)
    for script in scripts:
        found = ended(*shell.split(), "-c", script, cwd=project, env=env)
        if found.code:
            break
    return found


def action(project: Path, **inputs: str) -> Outcome:
    """Run the steps of the action. GitHub puts inputs and the folder of the action in the place of expressions."""
    known = {name: value["default"] for name, value in ACTION["inputs"].items()} | inputs
    values = {f"inputs.{name}": value for name, value in known.items()} | {"github.action_path": str(CI)}

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: values[match[1]], text)

    scripts, variables = list[str](), dict[str, str]()
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"], "an expression in a script would let inputs run commands"
        variables |= {name: filled(value) for name, value in step.get("env", {}).items()}
        scripts.append(step["run"])
    return steps(project, scripts, variables, "bash --noprofile --norc -eo pipefail")


def test_the_action_reports_in_three_formats(project: Path) -> None:
    found = action(project, **{"max-n": "4", "require": "proved"})
    assert found.code == 0, found.err
    installed = (project / "installed").read_text(encoding="utf-8").split()
    assert (ROOT / "pyproject.toml").is_file()
    assert Path(installed[-1]).resolve() == ROOT
    assert ElementTree.parse(project / "hardsim.xml").getroot().tag == "testsuites"
    assert '"2.1.0"' in (project / "hardsim.sarif").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_action_fails_with_annotations(project: Path) -> None:
    written(project / "formulas" / "wrong.ltl", WRONG)
    found = action(project, **{"max-n": "3"})
    assert found.code == 2  # an example that the formula contradicts is a mistake in the file
    assert "::error " in found.out
    assert "wrong.ltl" in found.out
    assert (project / "hardsim.sarif").is_file()
    written(project / "formulas" / "wrong.ltl", "alphabet: a   b\nO a\n")
    assert action(project, **{"max-n": "2"}).code == 1  # not in canonical form


def test_inputs_of_the_action_run_no_commands(project: Path) -> None:
    found = action(project, **{"max-n": '3"; touch broken; "', "require": "$(touch broken)"})
    assert found.code == 2
    assert not (project / "broken").exists()


@pytest.mark.slow
def test_the_template_of_gitlab(project: Path) -> None:
    variables = GITLAB["variables"] | {"HARDSIM_MAX_N": "4"}
    shell = "bash -eo pipefail"
    assert steps(project, GITLAB["script"], variables, shell).code == 0
    assert ElementTree.parse(project / GITLAB["artifacts"]["reports"]["junit"]).getroot().tag == "testsuites"
    assert (project / "installed").read_text(encoding="utf-8").split()[-1] == variables["HARDSIM_SOURCE"]
    shutil.copy(ROOT / "formulas" / "tieless_until_7.ahat.json", project / "formulas")
    less = steps(project, GITLAB["script"], variables | {"HARDSIM_REQUIRE": "proved"}, shell)
    assert less.code == GITLAB["allow_failure"]["exit_codes"] == 3
    written(project / "formulas" / "wrong.ltl", WRONG)
    assert steps(project, GITLAB["script"], variables, shell).code == 2


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_of_pre_commit(name: str, project: Path, hardsim: Cli) -> None:
    hook = HOOKS[name]
    command = hook["entry"].split()
    assert command[0] == "hardsim"
    hardsim(*command[1:], "formulas/right.ltl").exits(0)
    written(project / "formulas" / "right.ltl", "alphabet: a   b\nO  (a)\n" if name == "hardsim-fmt" else WRONG)
    assert hardsim(*command[1:], "formulas/right.ltl").code != 0
    files = [path.name for path in (ROOT / "formulas").iterdir() if path.is_file()]
    chosen = {one for one in files if re.search(hook["files"], one)}
    assert {"since.ltl", "dyck1.srasp", "dyck1.cr"} <= chosen
    assert ("since.ltl.png" in chosen, "majority_ties.ahat.json" in chosen) == (False, name == "hardsim-check")


def image() -> list[tuple[str, str]]:
    """Return the instructions of the container file with their arguments."""
    lines = (CI / "Containerfile").read_text(encoding="utf-8").splitlines()
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines if line and line[0] != "#"]


def test_the_image_copies_what_an_installation_needs() -> None:
    told = dict(image())
    assert [name for name, _ in image()] == ["FROM", "COPY", "COPY", "COPY", "RUN", "WORKDIR", "ENTRYPOINT", "CMD"]
    assert re.fullmatch(r"python:3\.1[1-9]-slim", told["FROM"])
    assert told["ENTRYPOINT"] == '["hardsim"]'
    extras = re.findall(r"/source\[(\w+)\]", told["RUN"])
    assert extras == ["fast"]
    assert "fast = [" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    copied = [name for instruction, names in image() if instruction == "COPY" for name in names.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    assert not {*copied} & {".", "tests", "benchmarks"}


@pytest.mark.slow
def test_the_steps_of_the_image_make_a_hardsim_that_checks(tmp_path: Path) -> None:
    """The steps run in a virtual environment in place of the container, whose folders lie in `tmp_path`."""
    root, environment = tmp_path / "root", tmp_path / "environment"
    venv.create(environment, with_pip=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env["PATH"] = os.pathsep.join([str(environment / "bin"), os.environ["PATH"]])
    folder = root
    for instruction, arguments in image():
        match instruction:
            case "COPY":
                *names, goal = arguments.split()
                for name in names:
                    target = root / goal.strip("/") / (name if goal.endswith("/") else "")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    if (ROOT / name).is_dir():
                        shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
                    else:
                        shutil.copy(ROOT / name, target)
            case "RUN":
                ended("sh", "-ec", arguments.replace("/source", str(root / "source")), cwd=root, env=env).exits(0)
            case "WORKDIR":
                folder = root / arguments.strip("/")
                folder.mkdir()
            case "ENTRYPOINT":
                (program,) = json.loads(arguments)
    assert not (root / "source").exists()
    written(folder / "right.ltl", RIGHT)
    ended(program, "check", "right.ltl", "--max-n", "3", cwd=folder, env=env).exits(0, "PROVED")
    ended(program, "check", "since", "--max-n", "3", cwd=folder, env=env).exits(0, "PROVED")
