"""Tests of `hardsim heads`: its output, its refusals, and its results on the networks beside the project."""

from math import exp
from pathlib import Path
from typing import Any

import pytest

import hardsim as api
from hardsim.errors import Interrupted
from hardsim.measuring.head_patterns import HeadPattern, HeadsResult
from tests.cli.conftest import Cli, interrupt
from tests.support.external import hooked_folder, mean_of_a, model_of
from tests.support.language import InputError
from tests.support.mistakes import raised

SHARED = Path(__file__).parents[3] / "shared"
ROOM = 12


@pytest.fixture
def net(tmp_path: Path) -> Path:
    return hooked_folder(tmp_path / "net", -0.5, ROOM)


def test_a_row_for_each_head_and_its_first_tie(hardsim: Cli, net: Path) -> None:
    """A word of n symbols has n - 1 queries: words of up to 3 symbols over three symbols have 9 + 2 * 27."""
    found = hardsim("heads", net, "--max-n", "3").clean(str(net), "39 words of length 1 to 3, all up to length 3")
    (row,) = [line for line in found.out.splitlines() if " uniform " in line]
    cells = row.split()
    assert (cells[0], cells[2:]) == ("1", ["uniform", "all", "63", "–", "1", "63"])
    found.prints(
        "ties at 63 of 63 queries (63 of them exact)", "first at position 1, between the keys 0, 1, of the word"
    )
    assert found.out.rstrip().splitlines()[-1].split() == ["a", "a"]


def test_lengths_end_with_the_table_of_positions(hardsim: Cli, tmp_path: Path) -> None:
    short = hooked_folder(tmp_path / "short", 0, 3)
    hardsim("heads", short).clean("all up to length 3")
    hardsim("heads", short, "--max-n", "4").refused("words have at most 3 symbols, not 4", "--max-n 3")


def test_several_networks_work_and_others_are_refused(hardsim: Cli, net: Path, since: Path, tmp_path: Path) -> None:
    other = hooked_folder(tmp_path / "other", 0, 3)
    outcome = hardsim("heads", net, since, other, "--max-n", "2").exits(2, str(net), str(other))
    outcome.says(
        f"{since} is a formula: the patterns of heads are searched in external networks only", "`hardsim show`"
    )
    hardsim("compile", since, "-o", tmp_path / "since.json").exits(0)
    hardsim("heads", tmp_path / "since.json").refused("since.json is a compiled formula:", "`hardsim show`")
    expression = tmp_path / "a.re"
    expression.write_text("alphabet: a b\na*\n", encoding="utf-8")
    hardsim("heads", expression).refused("is a regular expression")
    hardsim("heads").refused("nothing to read")


def test_an_interruption_leaves_what_was_found(hardsim: Cli, net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "hardsim.run.dense_float.DenseFloat.attention", 2)
    outcome = hardsim("heads", net, "--max-n", "4").exits(
        130, "12 words of length 1 to 2", "other words were not tried"
    )
    outcome.says("is partial: it covers the words tried so far")


def test_before_the_first_word_there_is_nothing(hardsim: Cli, net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "hardsim.run.dense_float.DenseFloat.attention")
    hardsim("heads", net).exits(130, "0 words")


def test_without_trust_in_float64_nothing_is_reported(hardsim: Cli, net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.measuring.head_patterns.distrust", lambda: "rounding is off")
    outcome = hardsim("heads", net).exits(3)
    outcome.says("rounding is off")
    assert outcome.out == ""


# ---- in Python ----


def test_heads_in_python(since: Path) -> None:
    model, message = model_of(mean_of_a()), list[tuple[int, int]]()
    found = model.heads(max_n=3, progress=lambda done, total: message.append((done, total)))
    assert isinstance(found, HeadsResult)
    assert (found.words, found.heads[0].queries, message[-1]) == (14, 4 + 2 * 8, (14, 14))
    assert model.heads(words=["ab", ("b", "a", "a")]).heads[0].queries == 3
    assert "the patterns of heads are searched in external networks only" in str(
        raised(InputError, api.load(since).heads)
    )
    assert "words is empty" in str(raised(InputError, model.heads, words=[]))


def test_ctrl_c_in_python_has_the_partial_result(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "hardsim.run.dense_float.DenseFloat.attention", 1)
    found: Any = raised(Interrupted, model_of(mean_of_a()).heads).result
    assert (found.partial, found.words) == (True, 2)


# ---- networks beside the project ----


def heads_in(kind: str, name: str, **options: Any) -> tuple[HeadPattern, ...]:
    """Return the heads of a network of `../shared`."""
    if not (SHARED / kind / name).is_dir():
        pytest.skip(f"needs ../shared/{kind}/{name}")
    return api.load(SHARED / kind / name).heads(**options).heads


FOUR_UP_TO_5 = sum(4**n * (n + 1) for n in range(1, 6))
"""Number of queries of all words of up to 5 of 4 symbols, after a beginning of sequence, with every position
visible.
"""


def test_shift_by_one_looks_at_the_previous_position() -> None:
    """The program is aggregate(select(indices, indices, key == query - 1), tokens).

    Where no index matches, Tracr's heads look at the beginning of sequence, the position before the first symbol.
    Logits are 100 / sqrt(7) for a match, half of that for the beginning of sequence.
    """
    (head,) = heads_in("tracr", "shift_by_one")
    assert (head.pattern, head.always, head.queries, head.ties) == ("previous position", True, FOUR_UP_TO_5, 0)
    assert head.gap is not None
    assert float(head.gap.value) == pytest.approx(50 / 7**0.5, rel=1e-6)
    assert head.weight is not None
    assert float(head.weight.value) == pytest.approx(1 / (1 + 5 * exp(-50 / 7**0.5)), abs=1e-11)


def test_frac_prevs_averages_over_what_came_before() -> None:
    """The program selects select(indices, indices, key <= query).

    At the i-th symbol i logits are the largest, so that all but the first symbols have a tie. The head of the first
    layer, which exists for its MLP, does nothing.
    """
    idle, mean = heads_in("tracr", "frac_prevs")
    assert (idle.pattern, idle.always, idle.ties, idle.exact_ties) == ("uniform", True, FOUR_UP_TO_5, FOUR_UP_TO_5)
    assert mean.ties == sum(4**n * (n - 1) for n in range(1, 6))
    assert [one.ties for one in mean.lengths] == [4**n * (n - 1) for n in range(1, 6)]
    assert mean.tie is not None
    assert (len(mean.tie.word), mean.tie.query, mean.tie.keys) == (2, 2, (1, 2))
    assert mean.pattern == "none"
    assert mean.weight is not None
    assert mean.weight.value > 1 - 1e-7


def test_reverse_has_heads_without_a_tie_and_without_a_pattern() -> None:
    """select(indices, length - indices - 1, ==) selects the mirrored position, exactly one for every symbol."""
    last = heads_in("tracr", "reverse")[-1]
    assert (last.pattern, last.ties, last.queries) == ("none", 0, FOUR_UP_TO_5)
    assert last.weight is not None
    # The weight is least at the beginning of sequence: a match there has half the logit, beside 5 symbols.
    assert float(last.weight.value) == pytest.approx(1 / (1 + 5 * exp(-50 / 12**0.5)), abs=1e-9)


def test_pair_balance_has_means() -> None:
    """Both heads of the last layer average over the preceding positions."""
    found = heads_in("tracr", "pair_balance", max_n=3)
    ties = sum(5**n * (n - 1) for n in range(1, 4))
    assert [one.ties for one in found[-2:]] == [ties, ties]


@pytest.mark.parametrize("name", ["D2", "tomita1", "tomita7", "ab_d_bc", "majority"])
def test_trained_heads_have_soft_weights(name: str) -> None:
    found = heads_in("trained", name, max_n=6)
    assert all(head.queries > 0 and head.gap is not None for head in found)
    assert all(head.weight is not None and 0 < head.weight.value < 1 for head in found)
