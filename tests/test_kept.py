"""Results that are kept with the object that they were computed from."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

from hardsim.kept import MOST, Keeping, cached, forget, kept


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


def test_between_two_inputs_all_results_are_dropped() -> None:
    made: list[int] = []

    @kept
    def squared(owner: Owner, number: int) -> int:
        made.append(number)
        return number**2

    @cached(2)
    def doubled(number: int) -> int:
        made.append(-number)
        return 2 * number

    owner = Owner("x")
    for _ in range(2):
        for _ in range(2):
            assert [squared(owner, 3), doubled(5), doubled(6)] == [9, 10, 12]
        forget()
        assert owner.kept == {}
    assert made == [3, -5, -6] * 2
    assert [doubled(number) for number in (1, 2, 3, 1)] == [2, 4, 6, 2]
    assert made[6:] == [-1, -2, -3, -1]  # two results are kept
    del owner
    forget()  # an owner that is gone is no obstacle
