"""Every setting of a Hugging Face configuration changes the network as in the library, or is refused: random networks
of each family, with one setting after another changed.

Slow, and skipped where transformers is not installed.
"""

import logging
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hardsim.reading.huggingface.families import CAUSAL, ENCODERS
from hardsim.reading.tensors import Settings
from tests.reading.sweep import changes, drawn_config, outcome

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of the library
SPEAKING = [next(iter(family.heads)) for family in CAUSAL]
"""The classes of language models."""
ENCODING = [family.classes + head for family in ENCODERS for head in family.heads]
SEEING = "Gemma3ForSequenceClassification", "Gemma3ForTokenClassification"
"""Classes of networks that read pictures, too, and whose default is far larger than the memory of a test machine."""
LABELLING = [head for family in CAUSAL for head in list(family.heads)[1:] if head not in SEEING]
LABELLING += ["Gemma3TextForSequenceClassification"]
"""The classes of classifiers of the same families."""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return transformers, without its messages."""
    monkeypatch.setenv("TQDM_DISABLE", "1")
    found = pytest.importorskip("transformers")
    found.logging.set_verbosity_error()
    monkeypatch.setattr(logging.root.manager, "disable", logging.WARNING)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder for networks."""
    made = tmp_path / "network"
    made.mkdir()
    return made


@pytest.mark.parametrize("kind", [*SPEAKING, *ENCODING])
def test_every_setting_matters_or_is_refused(library: Any, folder: Path, kind: str) -> None:
    config, base = drawn_config(library, kind, 0, folder)
    assert base.kind == "same", base
    found = {(one.key, one.what): outcome(library, kind, one.config, folder) for one in changes(library, kind, config)}
    assert {place: one.why for place, one in found.items() if one.kind == "differs"} == {}
    counts = Counter(one.kind for one in found.values())
    assert min(counts["same"], counts["refused"]) > 20, counts


@pytest.mark.parametrize("kind", [*SPEAKING, *ENCODING, *LABELLING])
def test_random_networks_are_those_of_the_library(library: Any, folder: Path, kind: str) -> None:
    if not hasattr(library, kind):
        pytest.skip("the library has no such class")
    for seed in range(1, 4):
        config, result = drawn_config(library, kind, seed, folder)
        assert result.kind == "same", (result, config)


def test_a_setting_that_is_ignored_is_found(library: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, base = drawn_config(library, "LlamaForCausalLM", 0, folder)
    assert base.kind == "same"

    def stuck(self: Settings, key: str, *_: Any) -> Fraction:
        self.harmless(key)
        return Fraction(config["rms_norm_eps"])

    monkeypatch.setattr(Settings, "epsilon", stuck)
    changed = config | {"rms_norm_eps": config["rms_norm_eps"] + 0.3}
    assert outcome(library, "LlamaForCausalLM", changed, folder).kind == "differs"
