"""Certificates of networks that round their values: random formulas are accepted, and what is altered is rejected or
right."""

import copy
import json
from fractions import Fraction
from itertools import product
from math import floor
from random import Random
from typing import Any

import pytest

from hardsim.proving.formula_certificate import certificate
from hardsim.verify import accept, digests, rejection
from hardsim.verify.rounded import RoundedChecker
from tests.compiling.from_ltl.test_layer_norm import NAMED, A, Drawn, changed, compared, drawn, joined, negation
from tests.compiling.from_ltl.test_rounded import MISTAKES, target_of
from tests.support.language import HardsimError, Undecided
from tests.verify.test_normed import numbers

NESTED = NAMED["all positions"]
GATED = joined("&", negation(A), compared("L", [(1, A), (-1, negation(A))], 0))


def made(text: str, rounding: str = "floor:2") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(certificate(target_of(text, rounding), None)))
    return document


def outcome(document: dict[str, Any]) -> str | None:
    return rejection(lambda: RoundedChecker(document))


def output(model: dict[str, Any], word: tuple[str, ...]) -> Fraction:
    """Return the output at the last position, by the definition of the network."""
    mode, bits = str(model["rounding"][0]), int(model["rounding"][1])

    def rounded(value: Fraction) -> Fraction:
        scaled = value * 2**bits
        # Python's round takes the even one of two integers, too.
        return Fraction(floor(scaled) if mode == "floor" else round(scaled), 2**bits)

    rows = []
    for k in [len(model["alphabet"]), *map(model["alphabet"].index, word)]:
        zero = dict.fromkeys(model["coordinates"], Fraction(0))
        rows.append(zero | {name: Fraction(values[k]) for name, values in model["embedding"].items()})
    for layer in model["layers"]:
        after = [dict(one) for one in rows]
        for head in layer["heads"]:
            for out, form in head["values"].items():
                read = [sum(Fraction(v) * one[name] for name, v in form.items()) for one in rows]
                for i, one in enumerate(after):
                    seen = read[: i + 1] if head["mask"] == "future" else read
                    one[out] += Fraction(sum(seen), len(seen))
        rows = []
        for one in [{name: rounded(value) for name, value in one.items()} for one in after]:
            total = {name: value + Fraction(layer["biases"].get(name, 0)) for name, value in one.items()}
            for kind, form, bias, outs in layer["units"]:
                value = max(sum(Fraction(v) * one[name] for name, v in form.items()) + Fraction(bias), Fraction(0))
                for out, weight in outs.items():
                    total[out] += Fraction(weight) * (min(value, Fraction(1)) if kind == "clip" else value)
            rows.append({name: rounded(value) for name, value in total.items()})
    return rows[-1][model["output"]]


WORDS = [word for n in range(1, 6) for word in product("ab", repeat=n)]


def right(model: dict[str, Any], one: Drawn) -> bool:
    return all(output(model, word) == one.truth(word)[-1] for word in WORDS)


def test_random_formulas_have_certificates() -> None:
    rng, done = Random(6), 0
    while done < 8:
        try:
            document = made(drawn(rng, 2).text, rng.choice(["floor:0", "floor:8", "biased:1"]))
        except HardsimError:
            continue
        accept(document)
        done += 1


def test_constants_of_negated_literals_cancel() -> None:
    """5 (1 - b) - 5 lies between -5 and 0: the sum of the sizes of its parts, 10, is more than the beginning of
    sequence closes."""
    accept(made("#L[0 != 2*#[b] + 5*#[#[a] <= 0]] <= 3", "floor:3"))


@pytest.mark.slow
def test_a_hundred_random_formulas_have_certificates() -> None:
    rng, done = Random(7), 0
    while done < 100:
        try:
            accept(made(drawn(rng, 3).text, rng.choice(["floor:0", "floor:24", "biased:0", "biased:8"])))
        except Undecided:
            raise
        except HardsimError:
            continue
        done += 1


def altered(one: Drawn, count: int, seed: int) -> int:
    """Alter numbers of a certificate one by one, and return how many are rejected. Those that are not must be right on
    all short words."""
    valid, rng, rejected = made(one.text), Random(seed), 0
    assert outcome(valid) is None
    assert right(valid["model"], one)
    parts = {key: valid["model"][key] for key in ("embedding", "layers")}
    places = [path for path in numbers(parts) if not (len(path) == 5 and path[-1] == 0)]  # the kind of a unit
    for path in rng.choices(sorted(places, key=str), k=count):
        document = copy.deepcopy(valid)
        *above, last = path
        place = document["model"]
        for key in above:
            place = place[key]
        place[last] = str(Fraction(place[last]) * Fraction(rng.choice(["-1", "2", "1/2", "0"])) + rng.choice([0, 0, 1]))
        if outcome(document) is None:
            assert right(document["model"], one), path
        else:
            rejected += 1
    return rejected


@pytest.mark.parametrize("one", [NESTED, GATED], ids=["nested", "gated"])
def test_an_altered_number_is_rejected_unless_the_network_is_still_right(one: Drawn) -> None:
    assert altered(one, 24, 1) > 14


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_many_altered_numbers(seed: int) -> None:
    for one in (*NAMED.values(), GATED):
        assert altered(one, 150, seed) > 30


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_network_with_one_mistake_has_no_certificate(mistake: str) -> None:
    rounding, change = MISTAKES[mistake]
    with pytest.raises(Undecided):
        certificate(changed(target_of(compared("L", [(1, A), (-2, negation(A))], 0).text, rounding), change), None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: one["formula"].update(root=[one["formula"]["root"][0], True]), "formula.root"),
        (lambda one: one["model"].update(output="bos"), "formula.root"),
        (lambda one: one["model"]["layers"][0]["heads"].clear(), "formula.root"),
        (lambda one: one["model"]["layers"][0]["heads"].append(one["model"]["layers"][0]["heads"][0]), "no constant"),
        (lambda one: one["model"].update(rounding=["nearest", 2]), "formula.root"),
        (lambda one: one["model"].update(rounding=["floor", 4]), "neither 0 nor 1"),
        (lambda one: one["model"].update(rounding=["floor", 257]), "from 0 to 256"),
        (lambda one: one["model"]["layers"].pop(), ""),
        (lambda one: one["model"]["layers"][0]["units"].pop(), ""),
        (lambda one: one["model"]["embedding"]["[a]"].__setitem__(0, "5"), "neither constant nor 0 and 1"),
        (lambda one: one["formula"]["nodes"][-1][2][0].__setitem__(1, ""), ""),
    ],
)
def test_a_certificate_with_one_mistake_is_rejected(change: Any, reason: str) -> None:
    document = made(NAMED["majority of majorities"].text)
    change(document)
    found = outcome(document)
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: one["model"]["layers"][0].pop("biases"), "biases"),
        (lambda one: one["model"].update(temperature="2"), "temperature"),
        (lambda one: one.update(claim="anything"), "claim"),
        (lambda one: one["model"]["layers"][0]["heads"][0].update(mask="past"), "mask"),
        (lambda one: one["model"].update(rounding=["ceil", 2]), "rounding"),
        (lambda one: one["model"].pop("rounding"), "rounding"),
        (lambda one: one.update(max_n=5), "max_n"),
    ],
)
def test_the_shape_of_a_certificate_is_checked(change: Any, reason: str) -> None:
    document = made(GATED.text)
    change(document)
    document["digests"] = digests(document) if "claim" in document else {}
    found = rejection(lambda: accept(document))
    assert found is not None
    assert reason in found


def test_digests_are_checked() -> None:
    document = made(GATED.text)
    document["model"]["output"] = "bos"
    assert "was altered" in str(rejection(lambda: accept(document)))
