"""Tracr's models, from folders and from Python, compared with Tracr's own runs."""

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hardsim
from hardsim.reading.tensors import Stored
from hardsim.reading.tracr import CONFIG, from_tracr
from tests.support.check import Verdict
from tests.support.language import InputError, ProgramOracle, parse_program
from tests.support.mistakes import raised
from tests.support.model import network_of, read_folder

SHARED = Path(__file__).parents[3] / "shared" / "tracr"
FOLDERS = sorted(path.parent for path in SHARED.glob("*/meta.json"))
LARGE = "shuffle_dyck2"
QUICK = [pytest.param(path, marks=pytest.mark.slow if path.name == LARGE else ()) for path in FOLDERS]
needs_shared = pytest.mark.skipif(not FOLDERS, reason="Tracr's models lie beside the project")
WRONG = "length_12"
FORMULAS = Path(__file__).parents[2] / "formulas"
PROGRAMS = {
    "detect_pattern_ab": ("detect_pattern_ab", "found(i) = 1", "found(i) = 0"),
    "frac_prevs": ("frac_prevs", "Q_l(j)", "Q_h(j)"),
    "hist_8": ("hist", "in(j) = in(i)", "in(j) != in(i)"),
    "make_count": ("make_count", "Q_a(j)", "Q_b(j)"),
    "pair_balance": ("pair_balance", "j <= i", "j >= i"),
    "shift_by_one": ("shift_by_one", "pos(i) - 1", "pos(i) - 2"),
    "shuffle_dyck2": ("shuffle_dyck2", "bad(i) = 0", "bad(i) >= 0"),
    "sort_unique": ("sort_unique", "value(j) < value(i)", "value(j) > value(i)"),
}
"""The shipped program of each model, and a change of it: the text to replace, and its replacement."""
FLOAT32 = 1e-5
"""A bound above the error of Tracr's own run."""


def cases_of(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "meta.json").read_text())["cases"]
    return found


@pytest.mark.sweep(every=8)
@needs_shared
@pytest.mark.parametrize("folder", QUICK, ids=lambda path: path.name)
def test_it_says_what_tracr_decoded(folder: Path) -> None:
    """Compare with Tracr's own float32 run, also where its program specifies nothing: numbers to within float32,
    decisions wherever the outputs are further apart than that.
    """
    model, decided = hardsim.load(folder), 0
    for case in cases_of(folder):
        (found,) = model.eval(case["input"])
        for place, said in zip(found.places, case["decoded"], strict=True):
            ends = {one.output: (float(one.low or 0), float(one.high or 0)) for one in place.outputs}
            if len(ends) == 1:
                ((low, high),) = ends.values()
                assert low - FLOAT32 * (1 + abs(said)) <= said <= high + FLOAT32 * (1 + abs(said))
                continue
            second, best = sorted(low for low, _ in ends.values())[-2:]
            if best - second > FLOAT32:
                decided += 1
                assert place.answer == str(said)
    assert decided >= len(cases_of(folder)) or folder.name in ("frac_prevs", "length_numerical", "pair_balance")


@needs_shared
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
@pytest.mark.parametrize("engine", ["auto", "ball"])
def test_the_program_is_its_specification(folder: Path, engine: str) -> None:
    every = sorted(cases_of(folder), key=lambda case: len(case["input"]))
    cases = every if engine == "auto" else [*every[::40], next(one for one in every[::-1] if len(one["input"]) <= 10)]
    expected = {tuple(case["input"]): case["rasp"] for case in cases}
    found = hardsim.load(folder).check(against=expected.get, words=list(expected), engine=engine)
    if folder.name == WRONG:
        assert found.verdict is Verdict.REFUTED
        assert found.mismatch is not None
        assert len(found.mismatch.word) == 10
    else:
        assert found.verdict in (Verdict.CERTIFIED, Verdict.PROVED)


@needs_shared
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_shipped_program_is_its_specification(name: str, tmp_path: Path) -> None:
    """All cases of Tracr agree where the program is specified; a changed program disagrees."""
    program, right, wrong = PROGRAMS[name]
    text = (FORMULAS / f"{program}.srasp").read_text(encoding="utf-8")
    assert right in text
    model, words = hardsim.load(SHARED / name), [tuple(map(str, case["input"])) for case in cases_of(SHARED / name)]
    words = words[::8] if name == LARGE else words
    found = model.check(against=FORMULAS / f"{program}.srasp", words=words)
    oracle = ProgramOracle(parse_program(text))
    vector = oracle.program.assume
    judged = {word for word in words if not vector or any(oracle.run(word)[vector])}
    assert (found.verdict, found.words) == (Verdict.CERTIFIED, len(judged))
    kept = [line for line in text.splitlines() if not line.startswith(("accept:", "reject:", "map:"))]
    (tmp_path / "changed.srasp").write_text("\n".join(kept).replace(right, wrong), encoding="utf-8")
    assert model.check(against=tmp_path / "changed.srasp", words=words).verdict is Verdict.REFUTED


@needs_shared
def test_a_program_that_leaves_a_place_open_is_not_judged_there(tmp_path: Path) -> None:
    text = (FORMULAS / "shift_by_one.srasp").read_text(encoding="utf-8")
    (tmp_path / "everywhere.srasp").write_text(re.sub("(assume: )?later.*\n", "", text), encoding="utf-8")
    model = hardsim.load(SHARED / "shift_by_one")
    found = model.check(against=tmp_path / "everywhere.srasp", words=["abb"])
    assert found.verdict is Verdict.REFUTED
    assert found.mismatch is not None
    assert (found.mismatch.oracle, found.mismatch.soft) == (("a", "a", "b"), ("b", "a", "b"))


@needs_shared
def test_the_length_is_wrong_from_ten_symbols_on() -> None:
    """Tracr's length fails iff n (n + 1) exceeds its exactness of 100, so from n = 10 on."""
    model = hardsim.load(SHARED / WRONG)
    found = model.check(against=lambda word: [len(word)] * len(word))
    assert (found.verdict, found.max_n) == (Verdict.PROVED, 8)
    wrong = model.check(against=lambda word: [len(word)] * len(word), max_n=12)
    assert wrong.verdict is Verdict.REFUTED
    assert wrong.reach.endswith("on a word of length 10, the shortest: all shorter words were tried")
    assert wrong.mismatch is not None
    assert wrong.mismatch.word == ("a",) * 10
    assert (wrong.mismatch.oracle, wrong.mismatch.soft) == (("10",) * 10, ("9",) * 10)
    assert [one.mismatches > 0 for one in wrong.judged] == [n * (n + 1) > 100 for n in range(1, 13)]


@needs_shared
def test_values_that_are_no_text_stay_what_they_are() -> None:
    seen: set[Any] = set()

    def sort_unique(word: tuple[Any, ...]) -> list[Any]:
        seen.update(word)
        ranks = {sum(other < symbol for other in word): symbol for symbol in word}  # equal symbols leave a gap
        return [ranks.get(place) for place in range(len(word))]

    found = hardsim.load(SHARED / "sort_unique").check(against=sort_unique, max_n=3)
    assert (found.verdict, seen) == (Verdict.PROVED, {1, 2, 3, 4})


# ---- a model by hand ----


def by_hand() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the config and tensors of a model over 1 and 2 that decides whether the first symbol is 2.

    Its only head attends to position 1 with the logit 50 (100 / sqrt(4)), and copies the token there.
    """
    labels = ["indices:0", "indices:1", "one", "out:False", "out:True", "tokens:1", "tokens:2", "tokens:BOS"]
    width = len(labels)
    names = {name: labels.index(name) for name in labels}

    def matrix(rows: int, columns: int, **ones: tuple[int, int, float]) -> Any:
        found = np.zeros((rows, columns), dtype=np.float32)
        for row, column, value in ones.values():
            found[row, column] = value
        return found

    tokens = matrix(3, width, a=(0, names["tokens:1"], 1), b=(1, names["tokens:2"], 1), c=(2, names["tokens:BOS"], 1))
    tokens[:, names["one"]] = 1
    place = "transformer/layer_0"
    tensors = {
        "token_embed/embeddings": tokens,
        "pos_embed/embeddings": matrix(3, width, a=(1, names["indices:0"], 1), b=(2, names["indices:1"], 1)),
        f"{place}/attn/query/w": matrix(width, 4, a=(names["one"], 0, 100)),
        f"{place}/attn/key/w": matrix(width, 4, a=(names["indices:0"], 0, 1)),
        f"{place}/attn/value/w": matrix(width, 4, a=(names["tokens:1"], 0, 1), b=(names["tokens:2"], 1, 1)),
        f"{place}/attn/linear/w": matrix(4, width, a=(0, names["out:False"], 1), b=(1, names["out:True"], 1)),
        f"{place}/mlp/linear_1/w": matrix(width, 1),
        f"{place}/mlp/linear_2/w": matrix(1, width),
    }
    for name in ("attn/query", "attn/key", "attn/value", "attn/linear", "mlp/linear_1", "mlp/linear_2"):
        tensors[f"{place}/{name}/b"] = np.zeros(tensors[f"{place}/{name}/w"].shape[1], dtype=np.float32)
    config = {
        "config": {"num_heads": 1, "num_layers": 1, "key_size": 4, "mlp_hidden_size": 1, "activation": "relu",
                   "layer_norm": False, "causal": False},
        "residual_labels": labels,
        "input_encoder": {"class": "CategoricalEncoder", "map": [[1, 0], [2, 1], ["BOS", 2]]},
        "output_encoder": {"class": "CategoricalEncoder", "map": [[False, 0], [True, 1]]},
        "vocab": [1, 2], "bos": "BOS", "output_label": "out",
    }  # fmt: skip
    return config, tensors


def stored(change: Callable[[dict[str, Any], dict[str, Any]], None] = lambda config, tensors: None) -> Stored:
    config, tensors = by_hand()
    change(config, tensors)
    return Stored("here", tensors, config, CONFIG, None, "0" * 64)


def test_a_model_by_hand() -> None:
    network, form = network_of(stored())
    assert form.title == "Tracr"
    (head,) = network.heads
    assert (head.scale.factor, head.scale.root) == (Fraction(1), 4)
    assert (network.longest, network.symbols, network.outputs) == (2, ("1", "2"), (False, True))
    assert network.readout.before == ("BOS",)


def setting(*path: str, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(config: dict[str, Any], tensors: dict[str, Any]) -> None:
        for key in path[:-1]:
            config = config[key]
        config[path[-1]] = value

    return change


def tensor(name: str, *shape: int) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(config: dict[str, Any], tensors: dict[str, Any]) -> None:
        tensors[name] = np.zeros(shape, dtype=np.float32)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (tensor("transformer/layer_1/attn/query/w", 8, 4), "here: a tensor that is not understood: transformer"),
        (tensor("transformer/layer_0/attn/key/w", 8, 5), "here: the tensor transformer/layer_0/attn/key/w has the"),
        (tensor("token_embed/embeddings", 4, 8), "here: the tensor token_embed/embeddings has the shape [4, 8]"),
        (
            setting("config", "layer_norm", value=True),
            "here: meta.json: at config.layer_norm: expected false, found true",
        ),
        (
            setting("config", "activation", value="tanh"),
            'here: meta.json: at config.activation: expected one of "relu"',
        ),
        (setting("config", "rotary", value=1), "here: meta.json: at config: a setting that is not understood: rotary"),
        (setting("config", "num_heads", value=2), "here: the tensor transformer/layer_0/attn/query/w has the shape"),
        (setting("extra", value=1), "here: meta.json: at the top level: a setting that is not understood: extra"),
        (
            setting("residual_labels", value=["one"]),
            "here: meta.json: at residual_labels: expected a name for each of the",
        ),
        (setting("output_label", value="other"), "here: meta.json: at residual_labels: expected the coordinate other"),
        (
            setting("output_encoder", "class", value="Other"),
            'here: meta.json: at output_encoder.class: expected one of "CategoricalEncoder"',
        ),
        (
            setting("output_encoder", "map", value=[[False, 0], [True, 2]]),
            "here: meta.json: at output_encoder.map: expected values that are",
        ),
        (
            setting("input_encoder", "class", value="NumericalEncoder"),
            "here: meta.json: at input_encoder.class: expected",
        ),
        (
            setting("bos", value="none"),
            'here: meta.json: at bos: expected one of the tokens of input_encoder, found "none"',
        ),
        (
            setting("vocab", value=[3]),
            "here: meta.json: at vocab: expected some of the tokens of input_encoder, each once, found [3]",
        ),
        (
            setting("vocab", value=True),
            "here: meta.json: at vocab: expected some of the tokens of input_encoder, each once, found true",
        ),
        (
            setting("vocab", value=[1, 1]),
            "here: meta.json: at vocab: expected some of the tokens of input_encoder, each once, found [1, 1]",
        ),
        (setting("vocab", value=[Fraction(10**399)]), "here: meta.json: at vocab: a number that names a token is too"),
        (
            setting("input_encoder", "map", value=[[Fraction(10**399), 0]]),
            "here: meta.json: at input_encoder.map: a number that names a token is too large",
        ),
        (tensor("pos_embed/embeddings", 0, 8), "here: the tensor pos_embed/embeddings has the shape [0, 8]: it holds"),
        (setting("config", value=3), "here: meta.json: at config: expected an object, found 3"),
    ],
)
def test_what_is_not_understood_is_refused(change: Any, message: str) -> None:
    assert raised(InputError, lambda: network_of(stored(change))).message.startswith(message)


# ---- from Python, by its attributes ----


class CategoricalEncoder:
    """A stand-in with the attributes of Tracr's class."""

    def __init__(self, values: list[Any], bos: str | None = None) -> None:
        self.encoding_map = {value: number for number, value in enumerate(values)}
        self.bos_token, self.pad_token = bos, None


def relu() -> None:
    """A function of this name, as Tracr's models have one."""


def assembled() -> Any:
    """Return the model of `by_hand` as a stand-in with the attributes of Tracr's models."""
    config, tensors = by_hand()
    params: dict[str, dict[str, Any]] = {}
    for name, array in tensors.items():
        module, _, parameter = name.rpartition("/")
        params.setdefault(module, {})[parameter] = array
    sizes = {key: config["config"][key] for key in ("num_heads", "num_layers", "key_size", "mlp_hidden_size")}
    return SimpleNamespace(
        params=params,
        model_config=SimpleNamespace(**sizes, activation_function=relu, layer_norm=False, causal=False),
        residual_labels=config["residual_labels"],
        input_encoder=CategoricalEncoder([1, 2, "BOS"], "BOS"),
        output_encoder=CategoricalEncoder([False, True]),
    )


def test_from_python_it_is_the_same_network(tmp_path: Path) -> None:
    model = hardsim.from_tracr(assembled(), SimpleNamespace(label="out"))
    found = model.check(against=lambda word: [word[0] == 2] * len(word))
    assert (found.verdict, found.words) == (Verdict.PROVED, 6)
    model.save(tmp_path / "saved")
    back = hardsim.load(tmp_path / "saved")
    assert read_folder(str(tmp_path / "saved")).config == from_tracr(assembled(), SimpleNamespace(label="out")).config
    assert back.check(against=lambda word: [word[0] == 2] * len(word)).verdict is Verdict.PROVED
    assert back.check(against=lambda word: word[-1] == 2).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("params", None, "a SimpleNamespace has no params"),
        ("params", [1], "the params of the model are not a mapping"),
        ("output_encoder", SimpleNamespace(), "the output_encoder is a SimpleNamespace, which is not supported"),
        ("output_encoder", CategoricalEncoder([(1, 2)]), "the value (1, 2) of the output_encoder is neither text nor"),
    ],
)
def test_what_is_missing_in_python_is_named(name: str, value: Any, message: str) -> None:
    model = assembled()
    if value is None:
        delattr(model, name)
    else:
        setattr(model, name, value)
    error = raised(InputError, lambda: hardsim.from_tracr(model, SimpleNamespace(label="out")))
    assert error.message.startswith(message)


def test_a_number_is_no_setting_of_another_model() -> None:
    numerical = replace(stored(), config=by_hand()[0] | {
        "output_encoder": {"class": "NumericalEncoder", "map": []}, "output_label": "one",
    })  # fmt: skip
    network, _ = network_of(numerical)
    assert (network.outputs, network.readout.decide, network.readout.level) == (("one",), "value", Fraction(1, 200))


# ---- programs as references ----

BY_HAND = "alphabet: 1 2\nfirst(i) := pos(i) = 1\nY(i) := leftmost_j[1, first(j)] Q_2(j) : 0\n"


def against(text: str, folder: Path, numbers: bool = False) -> Any:
    """Check the model of `by_hand` against a program; with `numbers` its output is the constant 1."""
    model = assembled()
    if numbers:
        model.output_encoder = NumericalEncoder()
    net = hardsim.from_tracr(model, SimpleNamespace(label="one" if numbers else "out"))
    (folder / "it.srasp").write_text(text, encoding="utf-8")
    return net.check(against=folder / "it.srasp", max_n=2)


class NumericalEncoder:
    """A stand-in with the attributes of Tracr's class."""

    bos_token, pad_token = "BOS", None


def test_a_boolean_program_says_true_or_false(tmp_path: Path) -> None:
    assert (against(BY_HAND, tmp_path).verdict, against(BY_HAND, tmp_path).words) == (Verdict.PROVED, 6)
    assert against(BY_HAND.replace("Q_2", "Q_1"), tmp_path).verdict is Verdict.REFUTED


def test_where_a_program_is_unspecified_nothing_is_judged(tmp_path: Path) -> None:
    """Q_2(i) is specified at the first position alone, where it is the first symbol."""
    wrong = BY_HAND.replace("first(i)", "assume: first\nfirst(i)").replace("leftmost_j[1, first(j)] Q_2(j) : 0", "Q_2")
    assert against(wrong, tmp_path).verdict is Verdict.PROVED
    assert against("alphabet: 1 2\nY(i) := Q_2\n", tmp_path).verdict is Verdict.REFUTED


def test_a_specification_names_the_vector_that_says_where(tmp_path: Path) -> None:
    (tmp_path / "other.srasp").write_text(
        "alphabet: 1 2\nfirst(i) := pos(i) = 1\nn(i) := pos(i)\nY(i) := first & Q_2\n"
    )
    net = hardsim.from_tracr(assembled(), SimpleNamespace(label="out"))
    for line, verdict in (("assume: first", Verdict.PROVED), ("assume: true", Verdict.REFUTED)):
        (tmp_path / "it.spec").write_text(f"program: other.srasp\n{line}\n")
        assert net.check(against=tmp_path / "it.spec", max_n=2).verdict is verdict
    (tmp_path / "it.spec").write_text("program: other.srasp\nassume: n\n")
    with pytest.raises(InputError, match="n is a vector of integer values"):
        net.check(against=tmp_path / "it.spec", max_n=2)


def test_the_mean_of_a_program_is_the_number(tmp_path: Path) -> None:
    mean = "alphabet: 1 2\nm(i) := mean_j[j<i, in(j) = in(i)] 1 : {}\nY(i) := m(i) > 0\n"
    found = against(mean.format(1), tmp_path, numbers=True)
    assert found.verdict is Verdict.PROVED
    assert found.reach.startswith(f"checked against {tmp_path}/it.srasp, its mean m, to within ")
    assert against(mean.format("1/2"), tmp_path, numbers=True).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("text", "numbers", "message"),
    [
        ("alphabet: 1 2\nY(i) := Q_1(i)\n", True, "Y is a vector of Boolean values, which does not fit decide:"),
        (
            "alphabet: 1 2\nm(i) := mean_j[1] Q_1(j)\nk(i) := mean_j[1] 1\nY(i) := m(i) > k(i)\n",
            True,
            "the output Y needs the means m k, and the network returns one number",
        ),
        (
            "alphabet: 1 2\nassume: far\nm(i) := mean_j[1] 1\nfar(i) := m(i) > 0\nY(i) := Q_1(i)\n",
            True,
            "Y is a vector of Boolean values, which does not fit decide:",
        ),
        ("alphabet: 1 3\nY(i) := in(i)\n", False, "the program has the symbols 1 3, and words here have 1 2"),
    ],
)
def test_a_program_that_says_something_else_is_refused(text: str, numbers: bool, message: str, tmp_path: Path) -> None:
    error = raised(InputError, against, text, tmp_path, numbers)
    assert f"does not fit {tmp_path}/it.srasp: {message}" in error.message
    assert error.hint


# ---- the library itself ----


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_models_that_tracr_compiles(causal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    compiling = pytest.importorskip("tracr.compiler.compiling")
    lib, rasp = pytest.importorskip("tracr.compiler.lib"), pytest.importorskip("tracr.rasp.rasp")
    programs = [
        (lib.make_reverse(rasp.tokens), ("a", "b", "c")), (lib.make_hist(), (1, 2)), (lib.make_length(), ("x", "y")),
        (lib.make_frac_prevs(rasp.tokens == "x"), ("x", "y")),
        (lib.make_pair_balance(rasp.tokens, "(", ")"), ("(", ")")),
        (lib.make_shuffle_dyck2(), ("(", ")", "{", "}")),
    ]  # fmt: skip
    for program, vocabulary in programs:
        model = compiling.compile_rasp_to_model(
            program, vocab=set(vocabulary), max_seq_len=5, compiler_bos="BOS", causal=causal
        )
        net = hardsim.from_tracr(model, program)
        folder = tmp_path / f"{program.label}{causal}"
        net.save(folder)
        words = [word for n in (1, 3, 5) for word in itertools.product(vocabulary, repeat=n)][:80]

        def ran(word: tuple[Any, ...], model: Any = model) -> list[Any]:
            return [float(one) if isinstance(one, float) else one for one in model.apply(["BOS", *word]).decoded[1:]]

        numbers = type(model.output_encoder).__name__ == "NumericalEncoder"
        for one in (net, hardsim.load(folder)):
            close = one.read_as(decide="value within 0.0001") if numbers else one
            assert close.check(against=ran, words=words).mismatch is None
