"""Layer norms of compiled networks: each evaluator against the definition, files, and computations that refuse them."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hardsim.hard.batch_hard import BatchHard
from hardsim.network.reader import Reader
from hardsim.network.store import read_transformer, transformer_json
from hardsim.program.file import AhatFile, ahat_json, program_of, read_ahat
from hardsim.proof.programs.law import law_of
from hardsim.proof.shared.result import NotProved
from hardsim.run.float64 import FloatForward
from hardsim.run.mp import NORMED_DIGITS, choose_digits, digits_needed
from tests.support.language import InputError
from tests.support.model import BallArithmetic, ExactModel, Forward, SoftModel, Transformer, Weighting
from tests.support.networks import ALPHABET, context, dense_forward, mp_forward, number, transformers

EPSILONS = st.one_of(st.none(), st.just(Fraction(0)), st.just(Fraction(1, 100_000)), st.fractions(0, 2))


@st.composite
def normed(draw: st.DrawFn) -> Transformer:
    model = draw(transformers())
    layers = tuple(replace(one, norm_1=draw(EPSILONS), norm_2=draw(EPSILONS)) for one in model.layers)
    return replace(model, layers=layers)


@settings(max_examples=30)
@given(normed(), st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=5))
def test_every_evaluator_computes_the_norm_of_the_definition(model: Transformer, word: list[str]) -> None:
    try:
        expected = dense_forward(model, word)
    except ZeroDivisionError:
        assume(False)
    arithmetic = BallArithmetic(400)
    with arithmetic.precision():
        balls: Any = Forward(model, arithmetic).run(word)
    found = mp_forward(model, 120).run(word)
    for index, (ball, column) in enumerate(zip(balls.columns, found.columns, strict=True)):
        for i, (enclosure, value) in enumerate(zip(ball.values, column.values, strict=True)):
            right = expected[i][index]
            if isinstance(enclosure, int | Fraction):
                low = high = number(enclosure)
            elif enclosure.is_finite():
                low, high = (
                    context.mpf(str(end.str(50, radius=False))) for end in (enclosure.lower(), enclosure.upper())
                )
            else:
                continue
            slack = context.mpf(10) ** -15 * max(1, abs(right))
            assert low - slack <= right <= high + slack
            if high - low < slack:
                assert abs((number(value) if isinstance(value, int | Fraction) else value) - right) <= slack


def sign_network(epsilon: str = "0", pads: int = 0, norm_1: str | None = None, bias: str = "0") -> dict[str, Any]:
    """Return the file of a network that keeps the sign of #a - #b + 1/2: the pair (y, -y), and the letters removed."""
    names = ["y", "-y", "z", "-z", *(f"0 ({k})" for k in range(pads))]
    rows = {"a": "1", "b": "-1", "BOS": "1/2"}
    norm = {"kind": "layer", "epsilon": epsilon}
    head = {"name": "count", "mask": "future", "weighting": "softmax", "w_q": [], "w_k": [],
            "w_v": {"y": {"z": "1"}, "-y": {"z": "-1"}}}  # fmt: skip
    layer = {
        "heads": [head],
        "ffn": {"w1": [{"z": "1"}, {"z": "-1"}], "b1": [bias, "0"], "w2": {"z": ["-1", "1"], "-z": ["1", "-1"]}},
        "norms": "after",
        "norm_2": norm,
    }
    if norm_1 is not None:
        layer["norm_1"] = {"kind": "layer", "epsilon": norm_1}
    return {
        "format": "hardsim-ahat", "schema_version": 1, "alphabet": ["a", "b"], "bos": True, "coordinates": names,
        "embedding": {key: {"z": value, "-z": str(-Fraction(value))} for key, value in rows.items()},
        "layers": [layer], "output": "y", "threshold": "0", "temperature": "1",
    }  # fmt: skip


def read(document: dict[str, Any]) -> AhatFile:
    return read_ahat(Reader(json.loads(json.dumps(document)), "m"))


WORDS = [list(product("ab", repeat=n)) for n in range(1, 6)]


def majority(word: tuple[str, ...]) -> bool:
    return word.count("a") >= word.count("b")


@pytest.mark.parametrize(
    ("epsilon", "pads", "norm_1"), [("0", 4, None), ("0", 0, None), ("1/8", 4, None), ("0", 4, "0"), ("0", 0, "1/100")]
)
def test_hard_attention_knows_the_sign_of_an_output_after_any_norm(epsilon: str, pads: int, norm_1: str | None) -> None:
    program = read(sign_network(epsilon, pads, norm_1)).program
    for words in WORDS:
        trace = ExactModel(program).run(words)
        for place, word in enumerate(words):
            value = trace.columns["y"].at(place, program.reading_index(len(word)))
            assert program.verdict(value) is majority(word)
            if epsilon == "0":
                # y = -(-y), and all other coordinates are 0: the mean square is 2 y^2 / d, so |y| = sqrt(d / 2).
                assert abs(value * value - (4 + pads) // 2) < Fraction(1, 2**60)
                assert pads == 0 or abs(value) == 2


def test_hard_attention_refuses_what_would_read_an_irrational_row() -> None:
    words = WORDS[1]
    for document in (
        sign_network(norm_1="0", bias="1"),  # a relu with a bias
        sign_network() | {"threshold": "1/2"},
        sign_network() | {"layers": sign_network()["layers"] * 2},
    ):
        if len(document["layers"]) == 2:
            second = document["layers"][1]
            second["heads"][0]["name"] = "again"
            document["layers"] = [json.loads(json.dumps(sign_network()["layers"][0])), second]
        with pytest.raises(InputError, match="irrational root"):
            ExactModel(read(document).program).run(words)
    constant = sign_network()
    constant["embedding"] = {"a": {}, "b": {}, "BOS": {}}
    with pytest.raises(InputError, match="divides a row by 0"):
        ExactModel(read(constant).program).run(words)
    with pytest.raises(InputError, match="with epsilon 0 divides by 0"):
        mp_forward(network(read(constant).program), 50).run("ab")


def test_a_file_says_its_norms_and_refuses_others() -> None:
    file = read(sign_network("1/100000", norm_1="0"))
    (layer,) = file.program.layers
    assert (layer.norm_1, layer.norm_2) == (Fraction(0), Fraction(1, 100_000))
    assert read_ahat(Reader(json.loads(json.dumps(ahat_json(file))), "m")) == file
    for change, message in (
        ({"norms": "before"}, "norms: expected one of after"),
        ({"norms": None}, "norms: expected one of after"),
        ({"norm_2": {"kind": "rms", "epsilon": "0"}}, "kind: expected one of layer"),
        ({"norm_2": {"kind": "layer", "epsilon": "-1"}}, "epsilon: expected a rational that is at least 0"),
        ({"norm_2": {"kind": "layer", "epsilon": "0", "weight": ["2"] * 4}}, "expected keys among kind, epsilon"),
    ):
        document = sign_network()
        document["layers"][0].update(change)
        with pytest.raises(InputError, match=message):
            read(document)
    named_1 = json.loads(json.dumps(ahat_json(file)).replace('"z"', '"1"'))
    with pytest.raises(InputError):
        read_ahat(Reader(named_1, "m"))


def test_matrices_keep_their_norms() -> None:
    model = network(read(sign_network("1/8", norm_1="0")).program)
    again = read_transformer(Reader(json.loads(json.dumps(transformer_json(model))), "m"))
    assert again == model
    # The constant of a bias is no coordinate: a coordinate named 1 is called otherwise in the program.
    named = replace(model, coordinates=("1", *model.coordinates[1:]))
    program = program_of(named, [(Weighting.AVERAGE, None)])
    assert program.normed
    assert "1" not in program.coordinates


def test_what_does_not_know_norms_refuses_them() -> None:
    program = read(sign_network()).program
    model = network(program)
    with pytest.raises(InputError, match="certified float64 does not cover networks with layer norms"):
        FloatForward(model)
    with pytest.raises(InputError, match="does not cover networks with layer norms"):
        BatchHard(program)
    with pytest.raises(InputError, match="does not cover networks with layer norms"):
        digits_needed(model, 3)
    with pytest.raises(NotProved, match="layer norms"):
        law_of(program)
    assert choose_digits(model, 3, None) == NORMED_DIGITS
    assert choose_digits(model, 3, 7) == 7


def test_softmax_decides_the_signs_in_balls_and_mpmath() -> None:
    model = network(read(sign_network(pads=1)).program)
    for engine in ("ball", "mpmath"):
        runner: Any = SoftModel(model, engine, rounds=False)
        for words in WORDS[:3]:
            for word in words:
                value = runner.run(word, lambda trace: True).output
                assert (value > 0) is majority(word)


def network(program: Any) -> Transformer:
    from hardsim.lang.arith import Arith
    from tests.support.model import assemble

    return assemble(program, Arith.of(1))
