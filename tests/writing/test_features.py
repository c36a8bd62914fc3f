"""Exports and number formats of the parts that only some families have, compared with a plain evaluation."""

from itertools import product

import numpy as np
import pytest

from hardsim.network.features import NetworkFeature
from hardsim.precision.arithmetic import Emulated, Enclosed
from hardsim.precision.formats import FORMATS
from hardsim.precision.passes import FormatPass
from tests.run.test_dense_exact import plain
from tests.support.dense_networks import SEEN, featured, made
from tests.support.model import Activation, Network
from tests.writing.runs import NEAR, Graph, network_export, off

TOGETHER = [one for one in NetworkFeature if one not in (NetworkFeature.POOLED_START, NetworkFeature.POOLED_MEAN)]
IDS = [0, 3, 1, 2, 2]


def require(network: Network) -> None:
    """Compare the graph, an evaluation in float32 and enclosures of all of these with a plain evaluation."""
    expected, layout = plain(network, len(IDS), IDS), network_export(network).layout
    assert off(Graph(layout, max_n=8)(IDS), expected) < NEAR
    assert off(Graph(layout, length=5)(IDS), expected) < NEAR
    form = FORMATS["float32"]
    near = FormatPass(layout, Emulated(form)).outputs(np.array([IDS])).low[0]
    assert off(near, expected) < 1e-4
    ends = FormatPass(layout, Enclosed(form)).outputs(np.array([IDS]))
    assert ends.known
    assert ((ends.low[0] <= near) & (near <= ends.high[0])).all()
    assert ((ends.low[0] <= expected) & (expected <= ends.high[0])).all()


@pytest.mark.parametrize("feature", list(NetworkFeature))
def test_each_feature(feature: NetworkFeature) -> None:
    require(featured(made(k=4, layers=1, size=0.5), [feature]))


@pytest.mark.parametrize("mask", SEEN)
def test_all_features_together(mask: object) -> None:
    network = featured(made(k=4, layers=1, size=0.5, mask=mask), [*TOGETHER, NetworkFeature.POOLED_MEAN], seed=1)
    require(network)


@pytest.mark.parametrize("activation", [Activation.QUICK_GELU, Activation.TANH])
def test_activations(activation: Activation) -> None:
    require(made(k=4, layers=1, size=0.5, activation=activation))


def test_gates_of_every_activation() -> None:
    for activation, post in product(Activation, (False, True)):
        network = featured(made(k=4, layers=1, activation=activation, post=post), [NetworkFeature.GATE])
        layout = network_export(network).layout
        assert off(Graph(layout, max_n=8)(IDS), plain(network, len(IDS), IDS)) < NEAR
