"""How far a network of regime `layer-norm` is right with an epsilon: the proved length, and the wrong word."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from hardsim.lang.desugar import desugar
from hardsim.measuring.norm_reach import norm_reach
from hardsim.network.transformer import Transformer
from hardsim.proof.formulas.normed import proved_to
from hardsim.targets.formula import FormulaTarget
from tests.compiling.from_ltl.test_layer_norm import NAMED, target_of
from tests.support.language import InputError
from tests.support.model import SoftModel

NESTED = NAMED["majority of majorities"]


def with_epsilon(target: FormulaTarget, epsilon: Fraction) -> Transformer:
    return replace(target.model, layers=tuple(replace(layer, norm_2=epsilon) for layer in target.model.layers))


@pytest.mark.parametrize(("name", "least"), [("majority of majorities", 300), ("all positions", 5000)])
def test_every_word_of_the_proved_lengths_is_right(name: str, least: int) -> None:
    target, one = target_of(NAMED[name].text), NAMED[name]
    reached = []
    for epsilon in (Fraction(1, least), Fraction(1, 8 * least)):
        model = with_epsilon(target, epsilon)
        reach = proved_to(model, desugar(target.formula))
        assert reach is not None
        reached.append(reach)
        balls = SoftModel(model, "ball", rounds=False)
        for n in range(1, min(reach, 6) + 1):
            for word in product("ab", repeat=n):
                found = balls.run(word, lambda trace: True)
                assert (found.output > 0) is one.truth(word)[-1], (epsilon, word)
    assert reached == sorted(reached)
    assert reached[-1] > reached[0]


def test_a_wrong_word_is_wrong_and_longer_than_the_proved_length() -> None:
    target = target_of(NESTED.text)
    found = norm_reach(target, Fraction(1, 2000))
    assert found.proved_to is not None
    assert found.word is not None
    assert len(found.word) > found.proved_to
    balls = SoftModel(with_epsilon(target, Fraction(1, 2000)), "ball", rounds=False)
    assert (balls.run(found.word, lambda trace: True).output > 0) is not NESTED.truth(found.word)[-1]


@pytest.mark.parametrize("text", ["#L[#L[a] > #L[b]] >= 3", "b & #[#L[a] > 3] >= 2"])
def test_no_shorter_word_is_wrong_where_every_word_is_tried(text: str) -> None:
    target, epsilon = target_of(text), Fraction(1, 1000)
    balls = SoftModel(with_epsilon(target, epsilon), "ball", rounds=False)

    def wrong(n: int) -> bool:
        words = list(product("ab", repeat=n))
        outputs = [balls.run(word, lambda trace: True).output > 0 for word in words]
        return outputs != [bool(answer) for answer in target.answers(words) or ()]

    found = norm_reach(target, epsilon).word
    assert found is not None
    assert len(found) == next(n for n in range(1, 9) if wrong(n))


def test_a_formula_without_nested_counts_is_right_at_every_length() -> None:
    found = norm_reach(target_of("#L[a] - #L[b] >= 0"), Fraction(1, 10))
    assert (found.proved_to, found.word, found.tried_to) == (None, None, 0)


def test_it_needs_a_network_with_norms() -> None:
    from hardsim.targets.base import ModelOptions
    from hardsim.targets.compiled import compile_formula
    from tests.support.language import parse_text

    for formula in ("O a", "a | b", "a", "true"):  # the last three have no layer
        plain = compile_formula(parse_text(f"alphabet: a b\n{formula}\n", "f"), ModelOptions())
        with pytest.raises(InputError, match="--norm-epsilon is for formulas in regime layer-norm"):
            norm_reach(plain, Fraction(1, 10))
