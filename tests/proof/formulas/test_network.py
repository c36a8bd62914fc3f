"""The first link: bounds that the prover derives for heads, and every part of a network that it does not recognise."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

import pytest

from hardsim.campaign.judges import HardJudge
from hardsim.proof.formulas.network import prove_network, sites_up_to
from tests.support.check import prove
from tests.support.language import InputError, parse_arith
from tests.support.model import PROVEN, REGIMES, Mask, Matrix, Rational, Relus, Transformer
from tests.support.networks import edited_head, put, scaled
from tests.support.subjects import compiled, judge_of, known


def only(model: Transformer, out: str, value: str) -> Matrix:
    return Matrix.of(model.dimension, model.dimension, {(at(model, out), at(model, value)): 1})


def head_edit(name: str, **changes: object) -> Callable[[Transformer], Transformer]:
    """Return an edit that sets attributes of the head of this name; a function is applied to the old value."""

    def edit(model: Transformer) -> Transformer:
        number, head = next((number, head) for number, head in enumerate(model.heads) if head.name == name)
        values = {key: value(getattr(head, key), model) if callable(value) else value for key, value in changes.items()}
        return edited_head(model, number, **values)

    return edit


def ffn_edit(**changes: Callable[..., object]) -> Callable[[Transformer], Transformer]:
    """Return an edit of matrices of the last layer's feed-forward network."""

    def edit(model: Transformer) -> Transformer:
        *rest, last = model.layers
        relus = Relus.of(last.ffn, model.dimension)
        fields: dict[str, Any] = {key: change(getattr(relus, key), model) for key, change in changes.items()}
        return replace(model, layers=(*rest, replace(last, ffn=relus._replace(**fields).layer())))

    return edit


def at(model: Transformer, name: str) -> int:
    return model.coordinates.index(name)


CASES: tuple[tuple[str, Callable[[Transformer], Transformer], str], ...] = (
    ("a S b", head_edit("S3.read", mask=Mask.NONE), "has mask 'none'"),
    ("a S b", head_edit("S3.read", w_v=lambda m, t: put(m, at(t, "i/n"), at(t, "[b]"), 1)), "writes 2 coordinates"),
    ("a S b", head_edit("S3.read", w_v=lambda m, t: scaled(m, 0)), "writes 0 coordinates"),
    ("a S b", head_edit("S3.read", w_v=lambda m, t: only(t, "[b]", "[b]")), "writes '"),
    ("a S b", head_edit("S3.read", w_q=lambda m, t: put(m, 0, at(t, "[b]"), 1)), "depends on the word"),
    ("a S b", head_edit("S3.read", w_q=lambda m, t: scaled(m, 0)), "is uniform in only one"),
    ("a S b", head_edit("S3.read", w_k=lambda m, t: put(m, 0, at(t, "S3"), 1)), "is not written"),
    (
        "(a S Y b) & O a",
        head_edit("S5.read", w_v=lambda m, t: put(m, at(t, "S5.read"), at(t, "[a]"), 1)),
        "several values",
    ),
    ("a S b", ffn_edit(b1=lambda b, t: (b[0], b[1] - 1)), "is not a clip"),
    ("a S b", ffn_edit(w2=lambda m, t: put(m, at(t, "[b]"), 0, 1)), "is not a clip"),
    ("a S b", ffn_edit(b2=lambda b, t: tuple(1 if k == at(t, "S3") else v for k, v in enumerate(b))), "weights that"),
    ("a S b", ffn_edit(b2=lambda b, t: tuple(1 if k == at(t, "[b]") else v for k, v in enumerate(b))), "written twice"),
    ("a S b", lambda t: replace(t, embedding=put(t.embedding, 0, at(t, "S3.read"), 1)), "is written twice"),
    ("a S b", lambda t: replace(t, embedding=put(t.embedding, 0, at(t, "S3"), 1)), "is written twice"),
    ("a S b", lambda t: replace(t, output=at(t, "[b]")), "the network's output is '[b]'"),
    ("a S b", lambda t: replace(t, layers=()), "has 0 layers"),
    ("a S b", lambda t: replace(t, layers=(replace(t.layers[0], heads=()),)), "has 0 heads"),
    ("a S b", lambda t: replace(t, alphabet=("a", "c")), "different alphabets"),
    ("a S b", lambda t: replace(t, coordinates=("x", *t.coordinates[1:])), "that the network does not have"),
    ("a", lambda t: replace(t, embedding=put(t.embedding, 1, at(t, "[a]"), 1)), "differs from the specification"),
    ("#[a] > 2", head_edit("#[a].mean", w_v=lambda m, t: put(m, at(t, "#[a].mean"), at(t, "[a]"), 2)), "a value other"),
    ("#[a] > 2", head_edit("#[a].read", w_k=lambda m, t: put(m, 0, at(t, "i"), 3)), "those of a look-up"),
    ("#[a] > 2", head_edit("#[a].read", w_q=lambda m, t: put(m, 0, at(t, "[a]"), 1)), "also depend on the word"),
    ("#[a] > 2", head_edit("#[a].read", mask=Mask.PAST), "has mask 'past'"),
    ("#[a] > 2", head_edit("#[a].read", w_v=lambda m, t: put(m, at(t, "#[a].read"), at(t, "i"), 2)), "a value other"),
    ("#[a] > 2", ffn_edit(w1=lambda m, t: scaled(m, 2)), "coefficients other"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "edit", "reason"), CASES)
def test_what_is_not_recognised_is_not_proved(
    text: str, edit: Callable[[Transformer], Transformer], reason: str
) -> None:
    subject = compiled(text)
    model = edit(subject.model)
    assert model != subject.model
    assert prove(subject.model, subject.program, 5).proved
    proof = prove(model, subject.program, 5)
    assert not proof.proved
    assert reason in (proof.network.reason or "")


def test_a_sign_test_with_another_query_or_key_is_not_proved() -> None:
    subject = compiled("#L[a] > #L[b]", counting="sign")
    name = next(head.name for head in subject.program.heads if head.name.endswith(".sign"))
    assert prove(subject.model, subject.program, 5).proved
    for change, reason in (
        ({"w_q": lambda m, t: put(m, 0, at(t, "#L[a].mean"), 1)}, "positive multiple"),
        ({"w_q": lambda m, t: scaled(m, -1)}, "positive multiple"),
        ({"w_k": lambda m, t: scaled(m, -1)}, "are not positive where"),
    ):
        proof = prove(head_edit(name, **change)(subject.model), subject.program, 5)
        assert reason in (proof.network.reason or "")


def test_a_temperature_that_is_not_positive_is_an_error() -> None:
    subject = compiled("a S b")
    model = replace(subject.model, temperature=parse_arith("4 - n"))
    with pytest.raises(InputError, match="temperature"):
        prove(model, subject.program, 5)


# ---- numbers ----


@pytest.mark.parametrize("regime", PROVEN)
def test_the_largest_error_is_that_of_the_worst_word(regime: str) -> None:
    # Over {a, b, c} the worst types of `a S b` are words: every b and c is selected.
    subject = compiled("a S b", regime, letters="abc")
    judge = judge_of(subject, "mpmath")
    longest = 5
    largest = max(
        abs(float(soft) - float(hard))
        for n in range(1, longest + 1)
        for word in product("abc", repeat=n)
        for soft, hard in _attended(judge, word)
    )
    (head,) = prove(subject.model, subject.program, longest).heads
    assert head.worst is not None
    assert float(head.worst.error) == pytest.approx(largest, rel=1e-9)
    # A clip 2x - 1/2 reads it: its margin is 1/2 - 2 times the error.
    assert float(known(head.worst.margin)) == pytest.approx(0.5 - 2 * largest, rel=1e-9)


def _attended(judge: HardJudge, word: tuple[str, ...]) -> list[tuple[Any, Rational]]:
    """Return the values that the only head read at every position, in the network and in hard attention."""
    (head,) = judge.subject.program.heads
    (column,) = judge.soft.words.run(word).trace.attended[head.name].values()
    return list(zip(column.values, judge.hard.run([word]).attended(head.name, head.out).values(0), strict=True))


def test_the_critical_beta_of_since_is_twice_ln_4() -> None:
    # q = e^(-beta/2) is the supremum of the wrong weight, and the clip 2x - 1/2 has its threshold at 1/4.
    critical = 2 * log(4)
    for step, proved in ((1e-6, True), (-1e-6, False)):
        beta = Fraction(critical + step).limit_denominator(10**9)
        subject = compiled("a S b", letters="abc", beta=beta)
        sites, _ = sites_up_to(subject.model, subject.program, 64)
        link, _ = prove_network(subject.model, subject.program, sites)
        assert link.proved is proved
        assert bool(link.cases) is not proved


def test_one_length_stands_for_all_where_nothing_depends_on_it() -> None:
    for regime in PROVEN:
        subject = compiled("O(a & Y b)", regime)
        assert prove(subject.model, subject.program, 7).prefix is REGIMES[regime].causal


def test_heads_that_no_clip_reads_have_no_worst_case() -> None:
    subject = compiled("a S b")
    proof = prove(replace(subject.model, layers=()), subject.program, 3)
    assert proof.heads == ()
    assert proof.margin is None
