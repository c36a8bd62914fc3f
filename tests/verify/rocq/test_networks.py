"""The network of an instance and that of a model: what is equal, and what no instance states."""

from fractions import Fraction
from typing import Any

import pytest

from hardsim.errors import InputError
from hardsim.proving.rocq_comparison import compare_text
from hardsim.verify.rocq.meanings import Meanings, NotStated
from hardsim.verify.rocq.networks import EncodingPowers, of_instance, of_model
from hardsim.verify.rocq.text import BadRocq
from tests.support.check import read_input
from tests.support.mistakes import raised
from tests.support.rocq_definitions import tree_of
from tests.support.rocq_instances import INSTANCES, LIBRARY, NAMES, compared, model_of, text_of

NETWORK = """Network 2 false [(0, 0, (1 # 1)); (2, 1, (-3 # 2))]
  [(1, Number (Monomial true 0%Z (-1)%Z)); (0, Indicator (Prime X))]
  [Layer [Head Past 1 [(0, 1, (4 # 1))] [] [(1, 0, (1 # 3))]] [(0, 0, (2 # 1))] [(-1 # 2)] [(1, 0, (1 # 1))]
  [(0 # 1); (1 # 1)]] 1 (Monomial false 0%Z (-1)%Z)"""


@pytest.mark.parametrize("name", NAMES)
def test_instances_state_their_models(name: str) -> None:
    assert compared(name) is None


@pytest.mark.parametrize("name", NAMES)
def test_no_instance_states_another_model(name: str) -> None:
    for other in NAMES:
        if other != name:
            assert compared(name, model=model_of(other)) is not None, other


def test_a_network_is_read() -> None:
    found = of_instance(tree_of(NETWORK), Meanings())
    assert (found.atoms, found.over_letters, found.output) == (2, False, 1)
    assert found.embedding == {(0, 0): 1, (2, 1): Fraction(-3, 2)}
    assert found.encodings[0] == (1, EncodingPowers(True, 0, -1))
    (layer,) = found.layers
    assert layer.b_1 == (Fraction(-1, 2),)
    assert layer.b_2 == (Fraction(0), Fraction(1))
    assert layer.w_1 == {(0, 0): 2}
    (head,) = layer.heads
    assert (head.mask, head.rows) == ("past", 1)
    assert [head.w_q, head.w_k, head.w_v] == [{(0, 1): 4}, {}, {(1, 0): Fraction(1, 3)}]
    assert found.temperature == EncodingPowers(False, 0, -1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Network 2", "Network"), ("Network 2", "Network 2%Z"), ("Network", "Net"), ("false", "False"),
        ("(0, 0, (1 # 1))", "(0, 0, 1)"), ("(0, 0, (1 # 1))", "(0, (1 # 1))"), ("2, 1, (-3", "0, 0, (-3"),
        ("Head Past", "Head Other"), ("Head Past", "Head (Past)  1"), ("Head Past", "Head"), ("Head Past", "Had Past"),
        ("Number (Monomial true 0%Z", "Number (Monomial 1 0%Z"), ("Number (Monomial true 0%Z", "Number (Monomial 0%Z"),
        ("Indicator (Prime X)", "Indicator X"), ("Indicator (Prime X)", "Number (Prime X)"), ("Layer [", "Head ["),
        ("[(-1 # 2)]", "(-1 # 2)"), ("[(-1 # 2)]", "[0]"), ("(1, Number", "(Number"), ("Prime X", "Prime Position"),
        ("(Monomial false 0%Z (-1)%Z)", "1"), ("Past 1", "(Past 1)"),
    ],
)  # fmt: skip
def test_what_is_no_network(old: str, new: str) -> None:
    assert old in NETWORK
    raised(BadRocq, of_instance, tree_of(NETWORK.replace(old, new, 1)), Meanings())


def one(encoding: Any) -> dict[str, Any]:
    """Return the model of `since` with one encoding."""
    model: dict[str, Any] = model_of("since")["model"]
    model["encodings"] = [{"coordinate": "i/n", "value": encoding}]
    return model


@pytest.mark.parametrize(
    ("text", "powers"),
    [
        ("1", (False, 0, 0)), ("(-1)^i", (True, 0, 0)), ("i/n", (False, 1, -1)),
        ("1/i^2", (False, -2, 0)), ("i^2*n", (False, 2, 1)), ("n", (False, 0, 1)),
        ("(-1)^i*i^2", (True, 2, 0)), ("(-1)^i * (-1)^i", (False, 0, 0)),
        ("i^-1", (False, -1, 0)), ("1/(1/n)", (False, 0, 1)),
        ("-(-1)*i", (False, 1, 0)), ("(i*n)^2/n", (False, 2, 1)),
    ],
)  # fmt: skip
def test_encodings_of_models(text: str, powers: tuple[bool, int, int]) -> None:
    found = EncodingPowers(*powers)
    assert of_model(one(text), Meanings(), {}).encodings == ((4, found),)
    values = [(-1 if found.alternates and i % 2 else 1) * Fraction(i) ** found.of_i * Fraction(n) ** found.of_n
              for n in (1, 2, 3) for i in range(1, n + 1)]  # fmt: skip
    python = text.replace("^", "**")
    assert values == [
        eval(python, {}, {"i": Fraction(i), "n": Fraction(n)} if "(-1)" not in text else {"i": i, "n": Fraction(n)})
        for n in (1, 2, 3)
        for i in range(1, n + 1)
    ]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("PRIME(i)", "Prime X"), ("MOD(3, 1, i)", "Eq (Mod X (Const 3%Z)) (Const 1%Z)"),
        ("SQUARE(2*i - n + 1)", "Square (Add (Sub (Mul (Const 2%Z) X) Len) (Const 1%Z))"),
        ("POW2(0)", "PowerOf2 (Const 0%Z)"), ("PRIME(-i + 3)", "Prime (Sub (Const 3%Z) X)"),
    ],
)  # fmt: skip
def test_predicates_of_models(text: str, condition: str) -> None:
    table = Meanings()
    ((_, found),) = of_model(one(text), table, {}).encodings
    instance = of_instance(tree_of(NETWORK.replace("Prime X", condition)), table)
    assert instance.encodings[1][1] == found


@pytest.mark.parametrize(
    "encoding",
    [
        "2", "2*i", "i + 1", "i/0", "(-2)^i", "(-1)^n", "i^n", "2^i", "log(i)", "i^(1/2)", "OTHER(i)", "PRIME(i*i)",
        "[i = 1]", "i mod 2", ["1", "2"], {"start": 1, "values": [], "otherwise": "0"}, "1" * 2000, "i^2000", "", "i +",
        "PRIME(i", "0*i", "1/2", "n^0.5",
    ],
)  # fmt: skip
def test_encodings_that_no_instance_states(encoding: Any) -> None:
    raised(NotStated, of_model, one(encoding), Meanings(), {})


@pytest.mark.parametrize(
    "change",
    [
        {"weighting": "hardmax"}, {"bos": True}, {"threshold": "1/2"}, {"temperature": "1/(2*n)"},
        {"temperature": ["1", "1"]}, {"embedding": {"a": {"1": "1"}}}, {"embedding": [["1"]]},
        {"layers": [{"heads": []}]},
    ],
)  # fmt: skip
def test_models_that_no_instance_states(change: dict[str, Any]) -> None:
    raised(NotStated, of_model, model_of("since")["model"] | change, Meanings(), {})
    model = model_of("since")
    model["model"] |= change
    error = raised(InputError, compare_text, text_of("since"), model, "since.v", LIBRARY)
    assert error.message.startswith("no Rocq instance states")


def test_a_strict_mask_is_not_stated() -> None:
    model = model_of("since")["model"]
    model["layers"][0]["heads"][0]["mask"] = "future-strict"
    raised(NotStated, of_model, model, Meanings(), {})


def test_the_stored_model_is_one_that_hardsim_reads() -> None:
    assert read_input(str(INSTANCES / "since.json")).as_read().model.dimension == 7
