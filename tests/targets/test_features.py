"""Networks with the parts that only some families have: answers, patterns of heads, and what is shown of them."""

from dataclasses import replace

import numpy as np
import pytest

from hardsim.campaign.judges import NetworkJudge
from hardsim.measuring.head_patterns import AT_OR_BEFORE, FIRST, PREVIOUS, Alike, pointed
from hardsim.measuring.trace import trace_network
from hardsim.network.dense import Network
from hardsim.network.features import NetworkFeature
from hardsim.report.network import describe_network
from hardsim.targets.external import External
from tests.run.test_dense_exact import plain
from tests.support.dense_networks import featured, made
from tests.writing.runs import network_export


def subject_of(network: Network) -> External:
    """Return a network as the subject of commands."""
    found = network_export(network).target
    assert isinstance(found, External)
    return found


@pytest.mark.parametrize("feature", [NetworkFeature.POOLED_START, NetworkFeature.POOLED_MEAN])
def test_a_word_has_one_answer(feature: NetworkFeature) -> None:
    network = featured(made(k=4, outputs=1), [feature, NetworkFeature.ROTARY])
    subject = subject_of(network)
    for word in (("t0",), ("t2", "t1", "t1", "t3")):
        found = NetworkJudge(subject).evaluation(word)
        (row,) = found.places
        expected = plain(network, len(word), [network.ids[symbol] for symbol in word])
        assert row.answer == str(bool(expected[0, 0] > 0))
        assert trace_network(subject, word).answers.places == found.places


def test_patterns_end_at_the_window() -> None:
    network = featured(made(k=4), [NetworkFeature.WINDOW])
    tokens, members = np.array([[1, 0, 0, 0, 0]]), np.array([False, True, False, False])
    head = network.heads[0]
    assert head.window == 2
    found = {name: pointed(name, head, tokens, 0, members)[0].tolist() for name in (AT_OR_BEFORE, FIRST, PREVIOUS)}
    assert found == {AT_OR_BEFORE: [0, 0, -1, -1, -1], FIRST: [0, 0, -1, -1, -1], PREVIOUS: [0, 0, 1, 2, 3]}
    free = replace(head, window=None)
    assert pointed(AT_OR_BEFORE, free, tokens, 0, members)[0].tolist() == [0] * 5


def test_equal_tokens_at_other_distances_are_not_alike() -> None:
    """The scores of equal vectors differ where positions turn them, or a distance is subtracted."""
    plain_network = made(k=4, rows=None, norm=None)
    tokens = np.array([[0, 0, 0]])
    assert Alike(plain_network, 0, plain_network.heads[0]).kinds(3, tokens) is not None
    for feature in (NetworkFeature.ROTARY, NetworkFeature.DISTANCE, NetworkFeature.HEAD_NORM):
        network = featured(plain_network, [feature])
        assert Alike(network, 0, network.heads[0]).kinds(3, tokens) is None


def test_every_part_is_shown() -> None:
    together = [one for one in NetworkFeature if one is not NetworkFeature.POOLED_START]
    report = describe_network(subject_of(featured(made(k=4), together)), ())
    (layer, *_), facts = report.layers, [fact.read for fact in report.facts]
    for text in ("a window of 2 positions", "rotary positions in 2 coordinates", "soft cap 3/2", "ALiBi slope 2^-1/2"):
        assert text in layer.heads[0]
    assert "queries and keys normed by RMSNorm" in layer.heads[0]
    assert layer.mlp == "12 gated hidden units, gelu_new"
    assert "of what each part adds; heads and hidden units read the same vectors" in layer.norms
    assert "answer at the mean of all positions" in report.reads
    for text in ("a bias is added to every token", "read by queries and keys alone", "soft cap 2"):
        assert text in facts
    assert any("to width 9 before the outputs, gelu" in fact for fact in facts)
