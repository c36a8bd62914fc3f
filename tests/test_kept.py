"""Results that are kept with the object that they were computed from."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

from hardsim.kept import MOST, Keeping, kept


@dataclass(frozen=True)
class Owner(Keeping):
    """An object that keeps results."""

    name: str


def test_the_latest_results_are_kept() -> None:
    made: list[int] = []

    @kept
    def squared(owner: Owner, number: int) -> int:
        made.append(number)
        return number**2

    owner = Owner("x")
    assert [squared(owner, number) for number in (*range(MOST), 0, MOST, 0, 1)] == [
        number**2 for number in (*range(MOST), 0, MOST, 0, 1)
    ]
    assert made == [*range(MOST + 1), 1]
    for other in (replace(owner), pickle.loads(pickle.dumps(owner))):
        assert other == owner
        squared(other, 0)
    assert made[-2:] == [0, 0]
