"""Tests of external networks checked against functions and files: the answers are known by construction."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hardsim
from hardsim.campaign.judges import NetworkJudge
from hardsim.errors import Interrupted
from tests.support.check import Verdict
from tests.support.external import mean_of_a, model_of
from tests.support.language import InputError, OutOfRange
from tests.support.mistakes import raised
from tests.support.model import Mask, Norm, Readout

ABOVE = Fraction(-1, 2) + Fraction(1, 1000)
"""A bias with which a tie, a share of 1/2, is above 0; no smaller share is, up to 499 symbols."""


NO_HARD_ATTENTION = "this command needs hard attention, and net is an external network, which has none"


def half_are_a(word: tuple[Any, ...]) -> bool:
    """Return True if at least half of the symbols are a."""
    return 2 * Counter(word)["a"] >= len(word)


@pytest.mark.parametrize("engine", ["auto", "float64", "ball", "mpmath"])
def test_a_function_is_a_specification(engine: str) -> None:
    found = model_of(mean_of_a(ABOVE)).check(against=half_are_a, max_n=6, engine=engine)
    assert found.verdict is (Verdict.OBSERVED if engine == "mpmath" else Verdict.PROVED)
    assert found.reach.startswith("checked against the function half_are_a: all 126 words up to length 6, in ")
    assert [one.words for one in found.judged] == [2, 4, 8, 16, 32, 64]
    # The least distance of a share of n symbols from 1/2 - 1/1000 is 1/1000 for even n, else 1/(2n) - 1/1000.
    for one in found.judged:
        least = Fraction(1, 1000) if one.n % 2 == 0 else Fraction(1, 2 * one.n) - Fraction(1, 1000)
        assert one.margin is not None
        assert abs(one.margin - least) < Fraction(1, 10**9)
        assert engine == "mpmath" or one.margin <= least
        assert one.margin_word is not None
        assert abs(Counter(one.margin_word)["a"] * 2 - one.n) == one.n % 2
    assert (found.lengths, found.words, found.mismatch) == ((), 126, None)


@pytest.mark.parametrize("engine", ["auto", "float64", "ball", "mpmath"])
def test_the_shortest_wrong_word_is_found(engine: str) -> None:
    found = model_of(mean_of_a(ABOVE)).check(
        against=lambda word: half_are_a(word) or len(word) > 3, max_n=5, engine=engine
    )
    mismatch = found.mismatch
    assert mismatch is not None
    assert (mismatch.word, mismatch.oracle, mismatch.soft, mismatch.hard) == (("a", "b", "b", "b"), True, False, None)
    assert mismatch.kind == "soft/oracle"
    assert mismatch.summary == "soft/oracle on abbb: expected accept, the network gives reject"
    if engine == "mpmath":
        assert found.verdict is Verdict.OBSERVED
        return
    assert found.verdict is Verdict.REFUTED
    assert found.reach == (
        "checked against a function: the network is wrong on a word of length 4, the shortest: "
        "all shorter words were tried"
    )


def test_the_shortest_found_is_not_called_the_shortest() -> None:
    model = model_of(mean_of_a(ABOVE))
    found = model.check(against=lambda word: len(word) < 9, words=["a", "aaa", "a" * 12, "ba" * 5])
    assert found.reach == "checked against a function: the network is wrong on a word of length 10, the shortest found"
    assert found.mismatch is not None
    assert found.mismatch.word == ("b", "a") * 5


def test_a_shorter_word_that_is_undecided_might_be_wrong() -> None:
    network = replace(mean_of_a(ABOVE, outputs=("no", "yes")), readout=Readout(decide="argmax"))
    bias, weight = np.zeros(2), np.array([[0.0, 0.0], [0.0, 1.0]])
    model = model_of(replace(network, unembedding=weight, unembedding_bias=bias))
    found = model.check(against=lambda word: "yes" if len(word) == 1 else "no", max_n=2)
    assert found.verdict is Verdict.REFUTED  # on b there is a tie
    assert found.reach == "checked against a function: the network is wrong on a word of length 2, the shortest found"


def test_a_truth_where_a_number_is_read() -> None:
    model = model_of(mean_of_a(Fraction(0), readout=Readout(decide="value")))
    found = model.check(against=lambda word: True, max_n=1)
    assert found.mismatch is not None
    assert found.mismatch.summary == "soft/oracle on b: expected accept, the network gives 0"


def test_what_lies_exactly_on_the_level_is_not_above_it() -> None:
    """With the bias -1/2 the output on abba is exactly 0: balls, in which 2/4 is exact, prove it; float64 does not."""
    model, words = model_of(mean_of_a()), ["a", "abba", "aab"]
    assert model.check(against=lambda word: word != tuple("abba"), words=words).verdict is Verdict.CERTIFIED
    undecided = model.check(against=half_are_a, words=words, engine="float64")
    assert (undecided.verdict, undecided.undecided_word) == (Verdict.UNDECIDED, ("a", "b", "b", "a"))


def test_what_is_not_judged_does_not_count() -> None:
    model = model_of(mean_of_a(ABOVE))
    found = model.check(against=lambda word: None if word[0] == "b" else half_are_a(word), max_n=3)
    assert [(one.words, one.unjudged, one.exhaustive) for one in found.judged] == [
        (1, 1, True),
        (2, 2, True),
        (4, 4, True),
    ]
    assert "all 7 judged words up to length 3" in found.reach
    nothing = model.check(against=lambda word: None, max_n=2)
    assert (nothing.verdict, nothing.reach) == (
        Verdict.UNDECIDED,
        "checked against a function: no word was judged: the reference leaves 6 words open",
    )


def test_lists_are_by_position() -> None:
    """The network computes the share at each symbol; the reference differs from the third symbol on."""

    def prefixes(word: tuple[str, ...]) -> list[Any]:
        return [None if i == 1 else half_are_a(word[:i]) != (i > 2) for i in range(1, len(word) + 1)]

    model = model_of(mean_of_a(ABOVE, readout=Readout(at="each")))
    found = model.check(against=prefixes, max_n=4)
    assert found.mismatch is not None
    assert found.mismatch.word == ("a", "a", "a")
    assert (found.mismatch.oracle, found.mismatch.soft) == ((None, "True", "False"), (None, "True", "True"))
    wrong = raised(InputError, lambda: model.check(against=lambda word: [word[0] == "a"], max_n=2))
    assert wrong.message == "for the word aa of 2 symbols the reference gives a list of 1"


def test_parts_of_a_batch_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(mean_of_a(ABOVE))
    whole = model.check(against=lambda word: len(word) > 3 or half_are_a(word), max_n=5)
    monkeypatch.setattr("hardsim.campaign.judges.CELLS", 3)
    parts = model.check(against=lambda word: len(word) > 3 or half_are_a(word), max_n=5)
    assert (parts.mismatch, parts.words) == (whole.mismatch, whole.words)
    for one, other in zip(parts.judged, whole.judged, strict=True):
        assert (one.words, one.mismatches, one.margin_word) == (other.words, other.mismatches, other.margin_word)


def test_numbers_and_tokens_that_are_no_text() -> None:
    readout = Readout(decide="value", level=Fraction(1, 200))
    model = model_of(mean_of_a(Fraction(0), readout=readout, tokens=(1, 2)))
    found = model.check(against=lambda word: Counter(word)[1] / len(word), words=[(1, 2, 2), [2], ("1", "1")])
    assert (found.verdict, found.words) == (Verdict.CERTIFIED, 3)
    off = model.check(against=lambda word: Counter(word)[1] / len(word) + 0.006, words=[(1, 2, 2)])
    assert off.mismatch is not None
    assert (off.mismatch.oracle, off.mismatch.soft) == (("0.339333",), ("0.333333",))


def test_an_array_of_no_dimension_is_a_value() -> None:
    model = model_of(mean_of_a(ABOVE))
    found = model.check(against=lambda word: np.where(half_are_a(word), np.True_, np.False_), max_n=3)
    assert found.verdict is Verdict.PROVED


@pytest.mark.parametrize("engine", ["auto", "float64", "ball", "mpmath"])
def test_where_only_one_output_can_win_nothing_is_off(engine: str) -> None:
    network = replace(mean_of_a(ABOVE), readout=Readout(decide="argmax"))
    found = model_of(network).check(against=lambda word: str(network.outputs[0]), max_n=2, engine=engine)
    assert (found.mismatch, [one.margin for one in found.judged]) == (None, [None, None])


def test_a_norm_of_nothing_is_undecided_in_mpmath_too() -> None:
    network = replace(mean_of_a(ABOVE), final=Norm("layer", Fraction(0), np.zeros(2), np.ones(2)))
    network = replace(network, embedding=np.zeros_like(network.embedding), layers=())
    for engine in ("auto", "float64", "ball", "mpmath"):
        assert model_of(network).check(against=half_are_a, max_n=1, engine=engine).verdict is Verdict.UNDECIDED


def test_errors_of_a_function_are_its_own() -> None:
    class OwnError(Exception):
        pass

    def fails(word: tuple[str, ...]) -> bool:
        raise OwnError(word)

    with pytest.raises(OwnError, match="a"):
        model_of(mean_of_a(ABOVE)).check(against=fails)
    message = raised(InputError, lambda: model_of(mean_of_a(ABOVE)).check(against=lambda word: "x", max_n=1)).message
    assert message == "on the word a: a truth is expected of an output with a level, not 'x'"


def test_the_table_of_positions_ends() -> None:
    model = model_of(mean_of_a(ABOVE, rows=5))
    assert [one.n for one in model.check(against=half_are_a).judged] == [1, 2, 3, 4, 5]
    error = raised(InputError, lambda: model.check(against=half_are_a, max_n=6))
    assert error.message == "net: the table of positions ends: words have at most 5 symbols, not 6"
    assert raised(InputError, lambda: model.check(against=half_are_a, words=["a" * 6])).message.endswith("not 6")
    assert raised(InputError, lambda: model.eval("a" * 6)).message.endswith("not 6")


def test_words_are_read_together_as_one_by_one() -> None:
    network = mean_of_a(rows=7, readout=Readout(before=("bos",), after=("end", "end")), tokens=("a", "b", "bos", "end"))
    words = [tuple("abba"), tuple("bbab"), tuple("aaaa")]
    assert network.read_together(words).tolist() == [network.read(word) for word in words]
    assert network.read_together([()]).tolist() == [[2, 3, 3]] == [network.read(())]
    alone = raised(OutOfRange, lambda: network.read("a" * 5))
    assert raised(OutOfRange, lambda: network.read_together(["a" * 5, "b" * 5])).message == alone.message
    assert raised(KeyError, lambda: network.read_together(["ab", "ac"])).args == ("c",)


def test_a_formula_says_which_words_are_accepted() -> None:
    model = model_of(mean_of_a(ABOVE, tokens=("a", "b", "pad")))
    most = hardsim.load("#L[a] >= #L[b]", alphabet="b a")
    found = model.check(against=most, max_n=7)
    assert (found.verdict, found.words) == (Verdict.PROVED, sum(2**n for n in range(1, 8)))
    assert found.against == "<expression>"
    other = model.check(against=hardsim.load("#L[a] > #L[b]", alphabet="b a"), max_n=7)
    assert other.mismatch is not None
    assert other.mismatch.word == ("b", "a")  # in the order of the formula's alphabet


def test_causal_heads_see_no_more_at_an_earlier_place() -> None:
    first = model_of(mean_of_a(ABOVE, readout=Readout(at="first")))
    assert first.check(against=lambda word: word[0] == "a", max_n=5).verdict is Verdict.PROVED
    whole = model_of(mean_of_a(ABOVE, mask=Mask.NONE, readout=Readout(at="first")))
    assert whole.check(against=half_are_a, max_n=5).verdict is Verdict.PROVED


def test_tokens_beside_the_word_are_read() -> None:
    """A b before and an a after every word shift the share."""
    readout = Readout(before=("b", "b"), after=("a",), alphabet=("a", "b"))
    model = model_of(mean_of_a(ABOVE, readout=readout))
    assert model.check(against=lambda word: half_are_a(("b", "b", *word, "a")), max_n=5).verdict is Verdict.PROVED
    assert model.check(against=half_are_a, max_n=5).verdict is Verdict.REFUTED


@pytest.mark.parametrize("engine", ["auto", "ball", "mpmath"])
def test_where_nothing_can_be_wrong_there_is_no_margin(engine: str) -> None:
    """With a single output, that output is always the largest."""
    model = model_of(mean_of_a(readout=Readout(decide="argmax")))
    found = model.check(against=lambda word: "share", max_n=2, engine=engine)
    assert (found.agreed, found.words, [one.margin for one in found.judged]) == (True, 6, [None, None])
    (one,) = model.eval("ab", engine=engine).words
    assert (one.soft, one.margin) == (("share",), None)


def test_eval_shows_the_outputs() -> None:
    model = model_of(mean_of_a(Fraction(0), readout=Readout(at="each", level=Fraction(2, 5))))
    (one,) = model.eval("aab").words
    # The share so far: 1, 1, 2/3.
    assert [place.token for place in one.places] == ["a", "a", "b"]
    for place, share in zip(one.places, map(Fraction, ("1", "1", "2/3")), strict=True):
        (output,) = place.outputs
        assert output.low is not None
        assert output.high is not None
        assert output.low <= share <= output.high < output.low + Fraction(1, 10**12)
    assert (one.soft, one.agree, one.oracle) == (("True", "True", "True"), None, None)
    (judged,) = model.eval("bba", against=lambda word: [False, False, True]).words
    assert (judged.right, judged.agree) == (False, False)
    assert judged.mismatch is not None
    assert judged.mismatch.soft == ("False", "False", "False")
    (same,) = model.eval("bba", against=lambda word: np.array([False, False, True])).words
    assert (same.right, same.oracle) == (judged.right, judged.oracle)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.check(), "net is an external network without a reference, so its expected outputs are unknown"),
        (lambda m: m.check(against=half_are_a, beta=4),
         "net is an external network, which is used unchanged: beta does not apply"),
        (lambda m: m.check(against=half_are_a, workers=2),
         "a function can be called only in this process, by one worker"),
        (lambda m: m.check(against=half_are_a, words=[]), "words is empty"),
        (lambda m: m.bound(), NO_HARD_ATTENTION),
        (lambda m: m.compile(), NO_HARD_ATTENTION),
        (lambda m: hardsim.load("since").prove(against=hardsim.load("since")),
         "since was compiled here, and a proof is about what was compiled, not about since"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Any, message: str) -> None:
    assert raised(InputError, lambda: call(model_of(mean_of_a(ABOVE)))).message == message


def test_several_outputs_need_more_than_acceptance() -> None:
    network = mean_of_a(ABOVE, outputs=("x",), readout=Readout(decide="argmax"))
    error = raised(InputError, lambda: model_of(network).check(against=hardsim.load("O a", alphabet="a b")))
    assert "`accept: NAME`" in error.hint


def test_prove_covers_every_word() -> None:
    model, most = model_of(mean_of_a(ABOVE)), hardsim.load("#L[a] >= #L[b]", alphabet="a b")
    found = model.prove(against=most, max_n=5)
    assert found.prefix_proof is not None
    assert (found.verdict, found.prefix_proof.proved_to, found.prefix_proof.prefixes) == (Verdict.PROVED, 5, 62)
    wrong = model.prove(against=hardsim.load("#L[a] > #L[b]", alphabet="a b"), max_n=5)
    assert wrong.prefix_proof is not None
    assert (wrong.verdict, wrong.prefix_proof.shortest) == (Verdict.REFUTED, True)
    assert wrong.mismatch is not None
    assert wrong.mismatch.word in {("a", "b"), ("b", "a")}


@pytest.mark.parametrize("mask", [Mask.FUTURE, Mask.NONE])
def test_a_function_is_proved_by_running_every_word(mask: Mask) -> None:
    model = model_of(mean_of_a(ABOVE, rows=8, mask=mask))
    found = model.prove(against=half_are_a)
    assert isinstance(found, hardsim.NetworkProof)
    assert (found.verdict, found.prefix_proof.proved_by) == (Verdict.PROVED, "every word")
    assert found.prefix_proof.prefixes == 510
    wrong = model.prove(against=lambda word: half_are_a(word) or len(word) > 3)
    assert isinstance(wrong, hardsim.NetworkProof)
    assert (wrong.verdict, wrong.prefix_proof.wrong) == (Verdict.REFUTED, ("b",) * 4)
    assert wrong.prefix_proof.shortest


def test_without_a_proof_the_words_are_tried() -> None:
    """There are 2^15 words of 15 symbols, more than are all run for a proof."""
    model = model_of(mean_of_a(ABOVE))
    with pytest.warns(hardsim.Remark, match="no proof: .* so its words are tried"):
        found = model.prove(against=half_are_a, max_n=15)
    assert isinstance(found, hardsim.CheckResult)
    assert found.verdict is Verdict.CERTIFIED


def test_a_proof_that_is_interrupted_is_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: NetworkJudge, shard: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(NetworkJudge, "tally", stop)
    with pytest.raises(Interrupted) as caught:
        model_of(mean_of_a(ABOVE)).check(against=half_are_a)
    assert caught.value.result.partial
