"""Checkpoints: nothing is lost on the way to the file and back, and a check that was stopped anywhere ends the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.checking import checkpoint
from hardsim.checking.attention import AttentionOptions
from hardsim.checking.attention_campaign import check_attention
from hardsim.checking.campaign import CheckOptions, Progress, check_subject
from hardsim.checking.checkpoint import Checkpoint
from hardsim.checking.execution import LocalCrew
from hardsim.checking.open import read_formula, read_input
from hardsim.checking.plain import from_plain, to_plain
from hardsim.checking.result import Mismatch, Verdict
from hardsim.checking.subject import ModelOptions, Subject
from hardsim.checking.tally import Extreme, Tally
from hardsim.errors import InputError

FORMULAS = Path(__file__).parents[2] / "formulas"
REQUEST = {"--max-n": 8, "--seed": 0, "--beta": None}
INPUTS = [("since.ltl", "12ab", ("a", "b"))]


def since(regime: str = "temperature", beta: Fraction | None = None) -> Subject:
    return read_formula(str(FORMULAS / "since.ltl")).compile(ModelOptions(regime, beta))


# ---- values ----

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.text(),
        st.integers(),
        st.integers(min_value=2**300, max_value=2**20000),
        st.floats(allow_nan=False),
        st.fractions(),
        st.sampled_from(Verdict),
    ),
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text() | st.tuples(st.text(), st.integers()), inner),
    ),
    max_leaves=10,
)


@given(VALUES)
def test_values_come_back_as_they_were(value: Any) -> None:
    back = from_plain(json.loads(json.dumps(to_plain(value))))
    assert same(back, value)


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from True and 0.0 from -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    return left.hex() == right.hex() if isinstance(left, float) else bool(left == right)


def test_fractions_with_many_digits_come_back() -> None:
    # Python refuses to read or write decimal numbers of more than 4300 digits.
    for value in (Fraction(3**20000, 2**70000 + 1), Fraction(-(7**9000), 5)):
        assert from_plain(json.loads(json.dumps(to_plain(value)))) == value


def test_what_is_no_result_has_no_place() -> None:
    for value in (object(), {1, 2}, [b"bytes"], since()):
        with pytest.raises(TypeError, match="no place in a checkpoint"):
            to_plain(value)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"fraction": "1/0"},
        {"fraction": "one"},
        {"fraction": 3},
        {"float": "x"},
        {"os.system": "true"},
        {"tuple": 5},
        {"dict": [[1]]},
        {"Verdict": "SURE"},
        {"Mismatch": {"word": "a"}},
        {"tuple": [], "list": []},
        1.5,
    ],
)
def test_what_stands_for_no_value_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"^no |without a name|^invalid|not enough|not a valid|other fields"):
        from_plain(data)


@given(
    field=st.sampled_from(["word", "oracle", "hard", "soft", "value"]),
    value=st.sampled_from([3, True, None, "a", {"tuple": []}, {"tuple": [1]}, {"fraction": "1/2"}, {"float": "0x1p0"}]),
)
def test_fields_of_other_types_are_refused_with_their_place(field: str, value: Any) -> None:
    right = to_plain(Mismatch(("a",), True, False, None, Fraction(1, 3)))["Mismatch"]
    types = {"word": (tuple,), "oracle": (bool,), "hard": (bool,), "soft": (bool, type(None)), "value": (Fraction,)}
    found = from_plain(value)
    fits = type(found) in types[field] and found != (1,)
    data = [{"Mismatch": right | {field: value}}]
    if fits:
        assert getattr(from_plain(data)[0], field) == found
        return
    with pytest.raises(ValueError, match=rf"at runs\[0\].Mismatch.{field}, where a Mismatch has something else"):
        from_plain(data, "runs")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.pop("request"), "expected an object with the key 'request'"),
        (lambda d: d.update(inputs=3), "at inputs: expected an array"),
        (lambda d: d["inputs"].append(["a"]), "at inputs[1]: expected an array of 3"),
        (lambda d: d["inputs"][0].__setitem__(2, [1]), "at inputs[0][2][0]: expected a string"),
        (lambda d: d.update(complete="yes"), "at complete: expected true or false"),
        (lambda d: d.update(scale=2), "expected keys among format, schema_version"),
        (lambda d: d.update(runs={"a": {"words": -1}}), "at runs.a.words: expected an integer from 0"),
        (lambda d: d.update(runs={"a": {"state": {"Tally": {}}}}), "other fields than those of a Tally"),
        (lambda d: d.update(runs={"a": {"later": 1}}), "at runs.a: expected keys among state, words, result"),
    ],
)
def test_a_crafted_file_is_refused_with_its_place(damage: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    Checkpoint(str(path), REQUEST, INPUTS)
    document = json.loads(path.read_text(encoding="ascii"))
    del document["sha256"]
    damage(document)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    path.write_text(json.dumps(document | {"sha256": hashlib.sha256(text.encode()).hexdigest()}), encoding="ascii")
    with pytest.raises(InputError, match="the checkpoint is damaged") as caught:
        Checkpoint(str(path), REQUEST, INPUTS)
    assert message in str(caught.value)


def test_tallies_and_results_come_back() -> None:
    tally = Tally(3, words=2, gaps={"h": Fraction(1, 3)}, stuck=("a", "b"))
    tally.margin = Extreme(1, 0.1, (0.1, Fraction(1, 7)), ("a",))
    tally.mismatch = Mismatch(("b",), True, False, None, Fraction(2, 3))
    assert from_plain(json.loads(json.dumps(to_plain([tally])))) == [tally]
    for result in (
        check_subject(since(), CheckOptions(max_n=4)),
        check_subject(since(beta=Fraction(1, 2)), CheckOptions(max_n=4)),
        check_attention(model("ties.ahat.json"), CheckOptions(max_n=3), AttentionOptions()),
        check_attention(model("dyck1.srasp"), CheckOptions(max_n=3), AttentionOptions()),
    ):
        assert from_plain(json.loads(json.dumps(to_plain(result)))) == result


def model(name: str) -> Any:
    found: Any = read_input(str(FORMULAS / name))
    return found.subject


# ---- the file ----


def test_a_new_file_holds_the_request_and_a_finished_one_the_results(tmp_path: Path) -> None:
    path = str(tmp_path / "run")
    made = Checkpoint(path, REQUEST, INPUTS)
    assert (made.resumed, made.complete, made.runs) == (False, False, {})
    made.memory("since.ltl", "position").finish(Verdict.PROVED)
    assert Checkpoint(path, REQUEST, INPUTS).memory("since.ltl", "position").result is Verdict.PROVED
    assert Checkpoint(path, REQUEST, INPUTS).memory("since.ltl", "temperature").result is None
    assert not Checkpoint(path, REQUEST, INPUTS).complete
    made.finish()
    assert Checkpoint(path, REQUEST, INPUTS).complete
    assert [one.name for one in tmp_path.iterdir()] == ["run"], "no half-written file is left"


def test_a_state_is_written_at_most_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("hardsim.checking.checkpoint.time.monotonic", lambda: now[0])
    path = tmp_path / "run"
    memory = Checkpoint(str(path), REQUEST, INPUTS).memory("since.ltl", None)
    asked: list[float] = []

    def state() -> list[int]:
        asked.append(now[0])
        return [len(asked)]

    for tenth in range(35):
        now[0] = 100 + tenth / 10
        memory.keep(state, tenth)
    assert asked == [101.0, 102.0, 103.0]
    found = Checkpoint(str(path), REQUEST, INPUTS).memory("since.ltl", None)
    assert (found.state, found.words, found.result) == ([3], 30, None)


@pytest.mark.parametrize(
    ("request_", "inputs", "difference"),
    [
        (REQUEST | {"--seed": 1}, INPUTS, "--seed 0 there, 1 here"),
        (REQUEST | {"--beta": "7/2"}, INPUTS, "--beta none there, 7/2 here"),
        (REQUEST, [("since.ltl", "99", ("a", "b"))], "the input since.ltl was changed since"),
        (REQUEST, [("since.ltl", "12ab", ("a", "c"))], "the input since.ltl was changed since"),
        (REQUEST, [("other.ltl", "12ab", ("a", "b"))], "the input other.ltl is new"),
        (REQUEST, [], "the input since.ltl is not given any more"),
    ],
)
def test_a_file_of_another_request_is_refused_and_left_alone(
    tmp_path: Path, request_: dict[str, Any], inputs: Any, difference: str
) -> None:
    path = tmp_path / "run"
    Checkpoint(str(path), REQUEST, INPUTS)
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"is of another request: {difference}"):
        Checkpoint(str(path), request_, inputs)
    assert path.read_bytes() == before


def test_a_file_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "run")
    Checkpoint(path, REQUEST, INPUTS)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "__version__", "9.9.9")
        with pytest.raises(InputError, match=r"version of hardsim .* there, 9\.9\.9 here"):
            Checkpoint(path, REQUEST, INPUTS)
    monkeypatch.setattr(checkpoint, "SCHEMA_VERSION", 2)
    with pytest.raises(InputError, match="schema_version 1 there, 2 here"):
        Checkpoint(path, REQUEST, INPUTS)


def test_a_damaged_file_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "run"
    made = Checkpoint(str(path), REQUEST, INPUTS)
    made.memory("since.ltl", None).finish(Fraction(1, 3))
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError, match=r"damaged|no checkpoint"):
            Checkpoint(str(path), REQUEST, INPUTS)
    for changed in (whole.replace(b"1/3", b"2/3"), whole.replace(b'"complete": false', b'"complete": true')):
        assert changed != whole
        path.write_bytes(changed)
        with pytest.raises(InputError, match="damaged"):
            Checkpoint(str(path), REQUEST, INPUTS)
        assert path.read_bytes() == changed


@pytest.mark.parametrize("content", ["", "a S b\n", "{}", "[1]", '{"format": "hardsim-model"}', "\x00\xff"])
def test_another_file_is_no_checkpoint_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match="this file is no checkpoint of hardsim, and is left alone"):
        Checkpoint(str(path), REQUEST, INPUTS)
    assert path.read_text(encoding="latin-1") == content


def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        Checkpoint(str(tmp_path / "missing" / "run"), REQUEST, INPUTS)
    with pytest.raises(InputError, match="it is a directory"):
        Checkpoint(str(tmp_path), REQUEST, INPUTS)


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    made = Checkpoint(str(path), REQUEST, INPUTS)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hardsim.files.os.fsync", full)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
        made.memory("since.ltl", None).finish(1)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["run"]


# ---- stopped anywhere, resumed ----


def stopping(after: int) -> Callable[[Progress], None]:
    """Stops at the word after so many."""

    def progress(state: Progress) -> None:
        if state.done > after:
            raise KeyboardInterrupt

    return progress


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is written after every shard."""
    monkeypatch.setattr(Checkpoint, "due", property(lambda self: True))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("engine", "beta"), [("auto", None), ("ball", None), ("mpmath", Fraction(1, 2)), ("float64", None)]
)
def test_a_check_stopped_anywhere_ends_the_same(engine: str, beta: Fraction | None, tmp_path: Path) -> None:
    subject = since(beta=beta)
    options = CheckOptions(max_n=7, exhaustive=100, samples=20, seed=5, engine=engine)
    whole = check_subject(subject, options)
    path = str(tmp_path / "run")
    for after in (0, 2, 13, 50, 119, 121):
        partial = check_subject(subject, options, stopping(after), None, memory(path))
        assert partial.partial
        assert memory(path).words == partial.words > after
    seen: list[Progress] = []
    assert check_subject(subject, options, seen.append, None, memory(path)) == whole
    assert seen[0].before > 121, "what was done is not done again"
    assert seen[-1].done == whole.words


def memory(path: str) -> checkpoint.Memory:
    return Checkpoint(path, REQUEST, INPUTS).memory("since.ltl", "temperature")


@pytest.mark.usefixtures("always")
def test_the_number_of_processes_may_change(tmp_path: Path) -> None:
    options = CheckOptions(max_n=7, exhaustive=100, samples=80, engine="ball")
    whole, path = check_subject(since(), options), str(tmp_path / "run")
    with LocalCrew(2) as crew:
        assert check_subject(since(), options, stopping(60), None, memory(path)).partial
        assert check_subject(since(), options, stopping(200), crew, memory(path)).partial
        assert check_subject(since(), replace(options, workers=1), None, None, memory(path)) == whole


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", ["dyck1.srasp", "ties.ahat.json", "ab_plus.srasp"])
def test_a_check_of_a_model_stopped_anywhere_ends_the_same(name: str, tmp_path: Path) -> None:
    subject, path = model(name), str(tmp_path / "run")
    options, choice = CheckOptions(max_n=7, exhaustive=200, samples=70), AttentionOptions()
    whole = check_attention(subject, options, choice)
    for after in (0, 5, 30, 126, 200):
        assert check_attention(subject, options, choice, stopping(after), None, memory(path)).partial
    assert memory(path).words > 200
    assert check_attention(subject, options, choice, None, None, memory(path)) == whole


@pytest.mark.usefixtures("always")
def test_what_is_stopped_while_a_shard_is_added_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, options, path = since(), CheckOptions(max_n=5, exhaustive=300), str(tmp_path / "run")
    whole = check_subject(subject, options)
    merge = Tally.merge

    def interrupted(self: Tally, other: Tally, order: Any) -> None:
        merge(self, other, order)
        if other.n == 4:
            self.margin = None
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Tally, "merge", interrupted)
        assert check_subject(subject, options, None, None, memory(path)).partial
    assert memory(path).words == 3 + 9 + 27
    assert check_subject(subject, options, None, None, memory(path)) == whole
