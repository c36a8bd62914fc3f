"""In a run of a command each formula is desugared once, and each network is assembled once."""

from __future__ import annotations

from typing import Any

import pytest

from hardsim.lang import desugar
from hardsim.program import assemble
from tests.cli.conftest import Cli


def recorded(patch: pytest.MonkeyPatch, module: Any, name: str) -> list[Any]:
    """Return a list of all that a class of a module makes from now on."""
    found, make = list[Any](), getattr(module, name)

    def recording(*values: Any, **named: Any) -> Any:
        found.append(make(*values, **named))
        return found[-1]

    patch.setattr(module, name, recording)
    return found


@pytest.mark.parametrize(
    ("command", "formulas"),
    [
        ("check since --max-n 4", 1),
        ("check since majority --max-n 3", 2),
        ("check since --at first --regime all --max-n 2", 1),
        ("prove since --max-n 4", 1),
        ("prove since --all-n", 1),
        ("bound since --gap --max-n 3", 1),
        ("prove since --certificate - --max-n 3", 1),
        ("check dyck1.srasp --max-n 3", 0),
        ("prove dyck1.srasp --all-n", 0),
        ("prove dyck1.srasp --all-n --certificate -", 0),
        ("bound dyck1.srasp --gap --max-n 3", 0),
    ],
)
def test_each_formula_is_desugared_once_and_each_network_assembled_once(
    hardsim: Cli, monkeypatch: pytest.MonkeyPatch, command: str, formulas: int
) -> None:
    cores = recorded(monkeypatch, desugar, "Core")
    networks = recorded(monkeypatch, assemble, "Transformer")
    hardsim(*command.split()).exits(0)
    assert len(cores) == formulas
    assert networks
    assert not [number for number, one in enumerate(networks) if one in networks[:number]]
