"""Tests of `hardsim export`: the files that it writes, and refusals that leave nothing behind."""

import errno
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from hardsim.reading.network_json import network_json
from tests.cli.conftest import SINCE, Cli, Outcome, interrupt, written
from tests.support.attention_models import some_a, some_a_by_words, with_head, write
from tests.support.external import hooked_folder, mean_of_a
from tests.writing.runs import session_of

FILES = ["config.json", "model.py", "model.safetensors"]
GOALS = ["torch", "onnx", "safetensors"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands in the temporary directory, without torch."""
    monkeypatch.chdir(tmp_path)
    found = importlib.util.find_spec
    monkeypatch.setattr("hardsim.writing.running.find_spec", lambda name: None if name == "torch" else found(name))


@pytest.fixture
def untouched(since: Path, net: Path, tmp_path: Path) -> Iterator[None]:
    """Require that a test leaves the directory unchanged."""
    (tmp_path / "full").mkdir()
    written(tmp_path / "full" / "file", "")
    (tmp_path / "empty").mkdir()
    written(tmp_path / "words.re", "alphabet: a b\n(ab)*a\n")
    (tmp_path / "one.onnx").write_bytes(b"\x08\x08\x12\x07hardsim")
    before = contents(tmp_path)
    yield
    assert contents(tmp_path) == before


def contents(place: Path) -> dict[str, bytes | None]:
    """Return the contents of all files of a directory; None for directories."""
    found = sorted(place.rglob("*"))
    return {str(one.relative_to(place)): one.read_bytes() if one.is_file() else None for one in found}


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """A folder with an external network, for words of up to 12 symbols."""
    return hooked_folder(tmp_path / "net", -0.25, 12)


# ---- what is written ----


def test_torch(hardsim: Cli, since: Path) -> None:
    hardsim("export", since, "--to", "torch", "-o", "out").exits(
        0, f"{since} -> out (torch: model.safetensors, config.json, model.py): regime temperature, temperature 1/n"
    )
    assert sorted(os.listdir("out")) == FILES
    hardsim("eval", "out", "ab", "a", "acb").clean("yes accept accept accept", "yes reject reject reject")


@pytest.mark.parametrize("place", ["new", "empty"])
def test_safetensors(hardsim: Cli, since: Path, place: str) -> None:
    Path("empty").mkdir()
    hardsim("export", since, "--to", "safetensors", "-o", place).clean("(safetensors: model.safetensors, config.json)")
    assert sorted(os.listdir(place)) == ["config.json", "model.safetensors"]
    hardsim("check", place, "--max-n", "4").clean("PROVED", "all 120 words up to length 4")


def test_onnx(hardsim: Cli, since: Path) -> None:
    hardsim("export", since, "--to", "onnx", "-o", "one.onnx", "--max-n", "9").clean(
        "-> one.onnx (onnx: one.onnx), for words of up to 9 symbols: regime temperature",
        "run by onnxruntime", "in float64 on 15 random words of up to 8 symbols: largest difference",
    )  # fmt: skip
    found = session_of(Path("one.onnx").read_bytes()).run(["outputs"], {"tokens": np.array([[1, 2, 0], [1, 0, 0]])})[0]
    assert np.allclose(found[:, -1, 0], [0, 1])  # bca and baa: only a's since b


def test_one_length_of_float32(hardsim: Cli, since: Path) -> None:
    command = ["export", since, "--to", "onnx", "-o", "one.onnx", "--length", "1", "--dtype", "float32"]
    hardsim(*command).clean("for words of 1 symbol: regime", "in float32 on 3 random words of up to 1 symbol:")
    (tokens,) = onnx.load("one.onnx").graph.input
    assert [axis.dim_param or axis.dim_value for axis in tokens.type.tensor_type.shape.dim] == ["words", 1]


def test_the_document(hardsim: Cli, since: Path) -> None:
    found = hardsim("export", since, "--to", "onnx", "-o", "one.onnx", "--json", "-").clean().result
    assert (found["to"], found["output"], found["files"], found["max_n"]) == ("onnx", "one.onnx", ["one.onnx"], 64)
    assert found["sha256"] == sha256(Path("one.onnx").read_bytes()).hexdigest()
    assert [(run["library"], run["dtype"], run["longest"]) for run in found["runs"]] == [("onnxruntime", "float64", 64)]
    assert found["runs"][0]["difference"] < 1e-12
    found = hardsim("export", since, "--to", "torch", "-o", "out", "--json", "-").exits(0).result
    assert (found["max_n"], found["runs"], found["files"][0]) == (None, [], "model.safetensors")
    assert found["sha256"] == sha256(Path("out", "model.safetensors").read_bytes()).hexdigest()


def test_an_expression_and_what_is_shipped(hardsim: Cli) -> None:
    hardsim("export", "-e", "p S q", "--props", "p q", "--to", "onnx", "-o", "a", "--max-n", "5").clean("(onnx: a)")
    hardsim("export", "since", "--to", "safetensors", "-o", "b", "--regime", "position", "--beta", "7/2").clean(
        "regime position, temperature 1, beta 7/2"
    )


def test_a_model_for_the_lengths_of_its_temperatures(hardsim: Cli, tmp_path: Path) -> None:
    model = write(tmp_path, some_a_by_words())
    hardsim("export", model, "--to", "safetensors", "-o", "a", "--max-n", "3").exits(0, "for words of up to 3 symbols")
    hardsim("eval", "a", "aab", "bbb").exits(0, "accept", "reject")
    hardsim("eval", "a", "aabb").refused("the temperature of this model is known for lengths 1 to 3, not for 4")
    hardsim("export", "a", "--to", "onnx", "-o", "b").refused(
        "known for lengths 1 to 3, not for 64", "--max-n 3 or less"
    )
    hardsim("export", model, "--to", "onnx", "-o", "c", "--tau", "1/(4*n)", "--max-n", "8").exits(0, "up to 8 symbols")


def test_networks_of_others(hardsim: Cli, net: Path, tmp_path: Path) -> None:
    hardsim("export", net, "--to", "onnx", "-o", "a").exits(0, "up to 12 symbols", "on 15 random words of up to 8")
    hardsim("export", net, "--to", "torch", "-o", "b").exits(0, "for words of up to 12 symbols")
    one, other = (hardsim("eval", folder, "a a b", "b b b", "--json", "-") for folder in (net, "b"))
    assert one.exits(0).result["words"] == other.exits(0).result["words"]
    assert [word["soft"] for word in one.result["words"]] == [["True"], ["False"]]  # shares of a: 2/3 and 0, less 1/4
    free = written(tmp_path / "free.json", json.dumps(network_json(mean_of_a())))
    hardsim("export", free, "--to", "onnx", "-o", "c").exits(0, "(onnx: c): 1 layer, 1 head")
    half = written(
        tmp_path / "half.spec", "network: free.json\nalphabet: a b\ndecide: above 1/4\noutput share: #L[a] > #L[b]\n"
    )
    hardsim("export", half, "--to", "safetensors", "-o", "d").exits(0)
    assert json.loads(Path("d", "config.json").read_text("utf-8"))["network"]["decide"] == {
        "rule": "above", "level": "1/4"
    }  # fmt: skip


def test_results_of_what_is_read_back_are_the_same(hardsim: Cli, since: Path, net: Path, tmp_path: Path) -> None:
    """The results are the same except for the title of a compiled formula or an external network."""
    hardsim("compile", since, "-o", "since.model.json").clean()
    since = Path("since.model.json")
    most = written(tmp_path / "most.ltl", "alphabet: a b\n4*#L[a] > len\n")
    commands: list[tuple[list[Any], Path, str]] = [
        (["check", "--max-n", "4"], since, "one"),
        (["eval", "ab", "acb"], since, "one"),
        (["prove", "--max-n", "4"], since, "one"),
        (["show"], since, "one"),
        (["check", "--max-n", "4", "--against", most], net, "other"),
        (["prove", "--max-n", "4", "--against", most], net, "other"),
        (["eval", "a a b", "b"], net, "other"),
    ]
    for path, folder in ((since, "one"), (net, "other")):
        hardsim("export", path, "--to", "safetensors", "-o", folder).clean()
    for (command, *more), path, folder in commands:
        one, other = (hardsim(command, place, *more, "--json", "-") for place in (path, folder))
        assert one.code == other.code != 2, one.err
        assert bare(one, path) == bare(other, Path(folder)), command


def bare(outcome: Outcome, path: Path) -> Any:
    """Return the results without the file's name, its checksum, and the title of its format."""
    text = json.dumps(outcome.json["results"]).replace(json.dumps(str(path)), '"FILE"')

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(one) for key, one in value.items() if key not in ("sha256", "title")}
        return [without(one) for one in value] if isinstance(value, list) else value

    return without(json.loads(text))


def test_a_folder_stands_where_the_file_did(hardsim: Cli, since: Path, net: Path, tmp_path: Path) -> None:
    hardsim("export", since, "--to", "torch", "-o", "one").exits(0)
    hardsim("compile", "one", "-o", "one.model.json").clean("one -> one.model.json: regime temperature")
    hardsim("check", "one.model.json", "one", "--max-n", "3", "-q").clean("PROVED one.model.json", "PROVED one")
    hardsim("words", "one", "--max-n", "2").clean("b ab ba bb cb")
    hardsim("export", net, "--to", "torch", "-o", "other").exits(0)
    hardsim("compile", "other", "-o", "other.json").refused("other is an external network")
    hardsim("heads", "other", "--max-n", "3").clean("all up to length 3")


def test_names_that_no_text_has(hardsim: Cli, tmp_path: Path) -> None:
    """JSON may name a head or a title by half of a surrogate pair; file names may be bytes that are no text."""
    half = with_head(some_a(title="\udc80 \x1b"), name="half \ud800 \x1b")
    for path in (write(tmp_path, half), written(Path(os.fsdecode(bytes(tmp_path) + b"/\xff.ltl")), SINCE)):
        short = "--tau", "1/n", "--max-n", "3"
        hardsim("export", path, "--to", "onnx", "-o", "a.onnx", *short).exits(0, "run by onnxruntime")
        hardsim("export", path, "--to", "torch", "-o", f"{path.suffix}.out", *short).exits(0)
        one = hardsim("eval", path, "ab", "--tau", "1/n", "--json", "-")
        other = hardsim("eval", f"{path.suffix}.out", "ab", "--json", "-")
        assert one.exits(0).result["words"] == other.exits(0).result["words"]


def test_a_program_that_pads(hardsim: Cli) -> None:
    """The program maps ab to abab: in four positions, two of them padding."""
    message = "the files written do not pad words with #: pad them as the program does"
    hardsim("export", "map_duplicate", "--to", "onnx", "-o", "a.onnx", "--max-n", "5").exits(0).says(message)
    session = session_of(Path("a.onnx").read_bytes())
    described = json.loads(session.get_modelmeta().custom_metadata_map["hardsim"])
    ids = [*described["before"], *map(described["tokens"].index, "ab##")]
    (outputs,) = session.run(["outputs"], {"tokens": np.array([ids])})
    best = outputs[0, len(described["before"]) :].argmax(axis=1)
    assert [described["outputs"][place] for place in best] == list("abab")


# ---- what is refused: nothing is left behind ----

REFUSALS: list[tuple[list[str], list[str]]] = [
    (
        ["since.ltl", "-o", "out"],
        ["--to is required", "Add --to torch, --to onnx, --to safetensors or --to transformer-lens."],
    ),
    (["since.ltl", "--to", "onyx", "-o", "out"], ["unknown target 'onyx': did you mean onnx?"]),
    (["since.ltl", "--to", "keras", "-o", "out"], ["The targets are: torch, onnx, safetensors, transformer-lens."]),
    (["since.ltl", "--to", "torch"], ["-o is required: the directory for the export", "-o exported"]),
    (["since.ltl", "--to", "torch", "-o", "full"], ["this directory is not empty, and hardsim replaces nothing in it"]),
    (["since.ltl", "--to", "torch", "-o", "since.ltl"], ["exists and is not a directory"]),
    (["since.ltl", "--to", "torch", "-o", "none/out"], ["cannot be written (No such file or directory)"]),
    (["since.ltl", "--to", "torch", "-o", "since.ltl/out"], ["cannot be written (Not a directory)"]),
    (["since.ltl", "--to", "torch", "-o", "-"], ["writes a folder, not to standard output"]),
    (["since.ltl", "--to", "safetensors", "-o", "x.safetensors"], ["not one file", "Name a folder: -o x"]),
    (["since.ltl", "--to", "torch", "-o", "sub/x.safetensors"], ["Name a folder: -o sub/x"]),
    (
        ["since.ltl", "--to", "onnx", "-o", "out", "--length", "3", "--max-n", "9"],
        ["--length 3 makes a file for one length"],
    ),
    (
        ["one.onnx", "--to", "torch", "-o", "out"],
        ["one.onnx: by its name (*.onnx) this is an ONNX file", "the folder that --to torch or"],
    ),
    (["since.ltl", "--to", "onnx"], ["an ONNX file needs a name", "Add -o model.onnx."]),
    (["since.ltl", "--to", "onnx", "-o", "-"], ["an ONNX file needs a name"]),
    (
        ["since.ltl", "--to", "onnx", "-o", "full"],
        ["(it is a directory)", "Give -o a file that can be written."],
    ),
    (["since.ltl", "--to", "onnx", "-o", "none/out"], ["No such file or directory", "that can be written.\n"]),
    (["since.ltl", "--to", "onnx", "-o", "since.ltl"], ["-o since.ltl would overwrite the input"]),
    (["since.ltl", "--to", "torch", "-o", "out", "--json", "out"], ["--json out is in the folder that -o names"]),
    (["since.ltl", "--to", "torch", "-o", "empty", "--json", "empty/a"], ["is in the folder that -o names"]),
    (["since.ltl", "--to", "onnx", "-o", "out", "--json", "out"], ["-o and --json both write out"]),
    (["since.ltl", "--to", "torch", "-o", "out", "--regime", "all"], ["one export holds one network"]),
    (["full", "--to", "torch", "-o", "out"], ["full is a directory, but one export holds one network"]),
    (["words.re", "--to", "torch", "-o", "out"], ["a regular expression only says which words"]),
    (["none.ltl", "--to", "onnx", "-o", "out"], ["none.ltl: no such file"]),
    (["--to", "onnx", "-o", "out"], ["nothing to read"]),
    (["since.ltl", "--to", "torch", "-o", "out", "--dtype", "float32"], ["--dtype is for --to onnx"]),
    (["since.ltl", "--to", "safetensors", "-o", "out", "--length", "3"], ["--length is for --to onnx"]),
    (["since.ltl", "--to", "onnx", "-o", "out", "--dtype", "float23"], ["unknown dtype", "did you mean float32?"]),
    (["since.ltl", "--to", "onnx", "-o", "out", "--length", "0"], ["'--length': 0 is out of range"]),
    (["since.ltl", "--to", "onnx", "-o", "out", "--max-n", "6000"], ["a table of 36,000,000 numbers in the graph"]),
    (["since.ltl", "--to", "onnx", "-o", "out", "--tau", "1/10^400"], ["a number of the network is beyond float64"]),
    (["since.ltl", "--to", "torch", "-o", "out", "--tau", "1/10^400"], ["a number of the network is beyond float64"]),
    (["since.ltl", "--to", "onnx", "-o", "out", "--tau", "1/10^50", "--dtype", "float32"], ["is beyond float32"]),
    (["since.ltl", "--to", "torch", "-o", "out", "--at", "middle"], ["--at must be first or last"]),
    (["net", "--to", "torch", "-o", "out", "--regime", "position"], ["--regime does not apply"]),
    (["net", "--to", "torch", "-o", "out", "--beta", "4", "--tau", "1/n"], ["--beta, --tau do not apply"]),
    (["net", "--to", "onnx", "-o", "out", "--length", "13"], ["words have at most 12 symbols, not 13"]),
    (["net/config.json", "--to", "onnx", "-o", "out"], ["config.json"]),
]


@pytest.mark.parametrize("place", range(len(REFUSALS)))
def test_refusals(hardsim: Cli, untouched: None, place: int) -> None:
    arguments, said = REFUSALS[place]
    hardsim("export", *arguments).refused(*said)


def test_a_refusal_in_a_document(hardsim: Cli, untouched: None) -> None:
    found = hardsim("export", "net", "--to", "onnx", "-o", "out", "--length", "13", "--json", "-").exits(2).json
    assert (found["exit_code"], found["results"], len(found["errors"])) == (2, [], 1)


def test_a_table_that_has_no_room_for_words(hardsim: Cli, tmp_path: Path) -> None:
    message = network_json(mean_of_a(rows=1, tokens=("a", "b", "s"))) | {"input": "s *"}
    path = written(tmp_path / "full.json", json.dumps(message))
    for goal in GOALS:
        hardsim("export", path, "--to", goal, "-o", "out").refused("words have at most 0 symbols, not 1")
    assert os.listdir() == ["full.json"]


def test_without_onnx(hardsim: Cli, untouched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    hardsim("export", "since.ltl", "--to", "onnx", "-o", "out").refused(
        "--to onnx needs the library onnx, which is not installed", "pip install '.[onnx]'"
    )


def test_without_what_runs_it(hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.writing.running.find_spec", lambda name: None)
    for goal, library in (("torch", "torch"), ("onnx", "onnxruntime")):
        found = hardsim("export", since, "--to", goal, "-o", goal).exits(0).lacks("run by")
        message = "is not installed, so the files written were not run"
        assert found.err == f"note: {library} {message}\n"
        assert Path(goal).exists()


def test_float64_may_be_too_narrow(hardsim: Cli, tmp_path: Path) -> None:
    """The output is 2^53 + 1 less 2^53, and no float64 is 2^53 + 1."""
    message = network_json(mean_of_a()) | {"tokens": ["a"], "layers": [], "embedding": [[0, 2**53 + 1]]}
    path = written(tmp_path / "large.json", json.dumps(message | {"unembedding_bias": [-(2**53)]}))
    found = hardsim("export", path, "--to", "onnx", "-o", "a.onnx", "--json", "-").exits(0)
    found.says("float64 is too narrow for this network at these lengths")
    assert found.result["runs"][0]["difference"] == 1
    assert Path("a.onnx").exists()


def test_outputs_beyond_float64_are_reported(hardsim: Cli, tmp_path: Path) -> None:
    message = network_json(mean_of_a()) | {"embedding": [["1e200", 0], [0, 0]], "unembedding": [["1e200"], [0]]}
    path = written(tmp_path / "large.json", json.dumps(message).replace('"1e200"', "1e200"))
    hardsim("export", path, "--to", "onnx", "-o", "a.onnx").exits(0, "an output is not a number").says("too narrow")


def test_outputs_that_nobody_knows(hardsim: Cli, tmp_path: Path) -> None:
    """A norm of zeros with epsilon 0 is 0/0: in the first network at every symbol, in the second at a but not at b."""
    message = network_json(mean_of_a()) | {"layers": [], "final_norm": {"kind": "rms", "epsilon": 0}}
    path = written(tmp_path / "one.json", json.dumps(message | {"embedding": [[0, 0], [0, 0]]}))
    found = hardsim("export", path, "--to", "onnx", "-o", "a.onnx").exits(0, "(onnx: a.onnx)").lacks("run by")
    said = "the files written were not run: no random word has an exact output that is certain"
    assert found.err == f"note: {path}: {said}\n"
    path = written(tmp_path / "other.json", json.dumps(message | {"embedding": [[0, 0], [1, 0]]}))
    found = hardsim("export", path, "--to", "onnx", "-o", "b.onnx", "--json", "-").exits(0)
    (tried,) = found.result["runs"]
    assert 1 <= tried["words"] < 30
    assert tried["difference"] < 1e-12


def test_a_folder_that_is_too_large_to_be_read_again(
    hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.cli.export.LARGEST_FILE", 2**20)
    assert "larger" not in hardsim("export", since, "--to", "torch", "-o", "a").exits(0).err
    monkeypatch.setattr("hardsim.cli.export.LARGEST_FILE", 100)
    message = "config.json is larger than 0 MiB, so hardsim does not read it again"
    hardsim("export", since, "--to", "torch", "-o", "b").exits(0).says(message)


def test_a_full_disk(hardsim: Cli, untouched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    hardsim("export", "since.ltl", "--to", "torch", "-o", "out").refused("cannot be written (No space left on device)")
    hardsim("export", "since.ltl", "--to", "torch", "-o", "empty").refused("(No space left on device)")


@pytest.mark.parametrize(
    ("goal", "place"),
    [
        ("onnx", "export_of"),
        ("onnx", "onnx_bytes"),
        ("onnx", "run_onnx"),
        ("torch", "export_of"),
        ("torch", "folder_files"),
        ("torch", "run_folder"),
        ("safetensors", "folder_files"),
    ],
)
@pytest.mark.parametrize("output", ["out", "empty/out"])
def test_interrupted(
    hardsim: Cli, untouched: None, monkeypatch: pytest.MonkeyPatch, goal: str, place: str, output: str
) -> None:
    room = "cli" if place == "export_of" else "measuring"
    interrupt(monkeypatch, f"hardsim.{room}.export.{place}")
    found = hardsim("export", "since.ltl", "--to", goal, "-o", output)
    assert (found.code, found.out) == (130, "")


@pytest.mark.usefixtures("since")
def test_killed_in_the_middle(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later run removes the drafts that a killed process left."""
    (tmp_path / ".out.partial.abc").mkdir()
    written(tmp_path / ".out.partial.abc" / "model.py", "")
    written(tmp_path / ".one.onnx.partial.abc", "")
    monkeypatch.chdir(tmp_path)
    for goal, output in (("torch", "out"), ("onnx", "one.onnx")):
        hardsim("export", "since.ltl", "--to", goal, "-o", output, "--max-n", "3").exits(0)
    assert sorted(os.listdir(tmp_path)) == ["one.onnx", "out", "since.ltl"]
