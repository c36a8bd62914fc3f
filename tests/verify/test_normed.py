"""Certificates of networks with layer norms: random formulas are accepted, and what is altered is rejected or right."""

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

from hardsim.proving.formula_certificate import certificate
from hardsim.verify import accept, digests, rejection
from hardsim.verify.normed import NormedChecker
from tests.compiling.from_ltl.test_layer_norm import NAMED, drawn, target_of
from tests.support.language import HardsimError

NESTED = NAMED["majority of majorities"]


def made(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(certificate(target_of(text), None)))
    return document


def outcome(document: dict[str, Any]) -> str | None:
    return rejection(lambda: NormedChecker(document))


def signs(model: dict[str, Any], word: tuple[str, ...]) -> int:
    """Return the sign of the output, by the definition of the network; 0 if a norm divides by 0."""
    rows = []
    for k in [*map(model["alphabet"].index, word), len(model["alphabet"])]:
        zero = dict.fromkeys(model["coordinates"], Fraction(0))
        rows.append(zero | {name: Fraction(values[k]) for name, values in model["embedding"].items()})
    rows = [rows[-1], *rows[:-1]]
    for layer in model["layers"]:
        after = [dict(one) for one in rows]
        for head in layer["heads"]:
            for out, form in head["values"].items():
                read = [sum(Fraction(v) * one[name] for name, v in form.items()) for one in rows]
                for i, one in enumerate(after):
                    seen = read[: i + 1] if head["mask"] == "future" else read
                    one[out] += Fraction(sum(seen), len(seen))
        rows = []
        for one in after:
            total = dict(one)
            for form, outs in layer["units"]:
                active = max(sum(Fraction(v) * one[name] for name, v in form.items()), Fraction(0))
                for out, weight in outs.items():
                    total[out] += active * Fraction(weight)
            mean = sum(total.values()) / len(total)
            centred = {name: value - mean for name, value in total.items()}
            size = sum(value * value for value in centred.values())
            if not size:
                return 0
            # A norm with an irrational root is rounded: far less than the least value of these words.
            root = Fraction(float(size) ** 0.5) / Fraction(len(total) ** 0.5)
            rows.append({name: value / root for name, value in centred.items()})
    value = rows[-1][model["output"]]
    return (value > Fraction(1, 10**6)) - (value < -Fraction(1, 10**6))


WORDS = [word for n in range(1, 6) for word in product("ab", repeat=n)]


def right(model: dict[str, Any]) -> bool:
    return all(signs(model, word) == (1 if NESTED.truth(word)[-1] else -1) for word in WORDS)


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all rationals in the embedding and the layers."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        if isinstance(part, str) and key not in ("name", "mask", "epsilon"):
            yield (*path, key)
        yield from numbers(part, (*path, key))


def test_random_formulas_have_certificates() -> None:
    rng, done = Random(5), 0
    while done < 10:
        try:
            document = made(drawn(rng, 2).text)
        except HardsimError:
            continue
        accept(document)
        done += 1


def test_an_altered_number_is_rejected_unless_the_network_is_still_right() -> None:
    valid, rng, rejected = made(NESTED.text), Random(1), 0
    assert outcome(valid) is None
    assert right(valid["model"])
    parts = {key: valid["model"][key] for key in ("embedding", "layers")}
    for path in rng.sample(sorted(numbers(parts), key=str), 40):
        document = copy.deepcopy(valid)
        *above, last = path
        place = document["model"]
        for key in above:
            place = place[key]
        place[last] = str(Fraction(place[last]) * Fraction(rng.choice(["-1", "2", "1/2", "0"])))
        if outcome(document) is None:
            assert right(document["model"]), path
        else:
            rejected += 1
    assert rejected > 25


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: one["formula"].update(root=[one["formula"]["root"][0], True]), "formula.root"),
        (lambda one: one["model"].update(output="c"), "formula.root"),
        (lambda one: one["model"]["layers"][0]["heads"].clear(), "one size"),
        (lambda one: one["model"]["layers"].pop(), "formula.root"),
        (lambda one: one["model"]["layers"][0]["units"].pop(), ""),
        (lambda one: one["model"]["embedding"]["c"].__setitem__(0, "5"), "one size"),
        (lambda one: one["formula"]["nodes"][-1][2][0].__setitem__(1, ""), ""),
    ],
)
def test_a_certificate_with_one_mistake_is_rejected(change: Any, reason: str) -> None:
    document = made(NESTED.text)
    change(document)
    found = outcome(document)
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: one["model"]["layers"][0].update(epsilon="1/100000"), "epsilon"),
        (lambda one: one["model"]["layers"][0].pop("epsilon"), "epsilon"),
        (lambda one: one["model"].update(temperature="2"), "temperature"),
        (lambda one: one.update(claim="anything"), "claim"),
        (lambda one: one["model"]["layers"][0]["heads"][0].update(mask="past"), "mask"),
        (lambda one: one.update(bounds={}), "bounds"),
    ],
)
def test_the_shape_of_a_certificate_is_checked(change: Any, reason: str) -> None:
    document = made(NESTED.text)
    change(document)
    document["digests"] = digests(document) if "claim" in document else {}
    found = rejection(lambda: accept(document))
    assert found is not None
    assert reason in found


def test_digests_are_checked() -> None:
    document = made(NESTED.text)
    document["model"]["output"] = "-c"
    assert "was altered" in str(rejection(lambda: accept(document)))
