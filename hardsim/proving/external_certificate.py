"""Certificates of external networks, for `hardsim.verify.external`, and their comparison with files.

A certificate has the network and the specification in a canonical form: what each section says depends on the network
and the reference alone, so that a section can be compared with that of a file. The machine and the groups of classes
are the prover's (`proof.external.record`); the checker takes none of it on trust.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from hardsim.errors import Undecided
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.desugar import desugar
from hardsim.lang.spec.oracle import ExpectedColumn, FormulaTruth, InLanguage, Lines, Matches, Negated, NextSymbols
from hardsim.network.dense import Dense, Mlp, Network, NetworkHead, NetworkLayer, Norm
from hardsim.network.features import features
from hardsim.proof.external.demands import PrefixDemands, demands_of
from hardsim.proof.external.record import Axes, RowBound, WrittenProof, recorded
from hardsim.proof.external.result import STRUCTURE, PrefixProof
from hardsim.proof.shared.result import NotProved
from hardsim.proving.formula_certificate import accepted, formula_json
from hardsim.targets.external import External
from hardsim.targets.prefix_oracle import prefix_oracle
from hardsim.verify import Shown
from hardsim.verify.arithmetic import Rejected, require
from hardsim.verify.external.affine import AfterHeads
from hardsim.verify.external.check import check_external
from hardsim.verify.external.columns import Columns
from hardsim.verify.external.network import read_network
from hardsim.verify.external.numbers import ACTIVATIONS
from hardsim.verify.external.sections import EXTERNAL_CLAIM, EXTERNAL_VERSION, EXTERNAL_WRONG_CLAIM
from hardsim.verify.sections import FORMAT
from hardsim.version import __version__
from hardsim.visible import visible_json

PARTS = 100
"""The number of steps of the writing, and of the checking, of a certificate."""


def no_certificate(subject: External) -> str | None:
    """Return the reason why no proof about an external network has a certificate; None if one may have."""
    count = len(subject.network.layers)
    return None if count == 1 else f"certificates are of networks of one layer, and this one has {count}"


def external_certificate(subject: External, proof: PrefixProof, shown: Shown | None = None) -> dict[str, Any]:
    """Return the certificate of what is proved of an external network, and of its wrong prefix if there is one, after
    the checker has accepted it. Raises Undecided if nothing is proved, or the checker cannot follow the proof."""
    if proof.wrong is None and (proof.proved_to is None or not proof.prefixes):
        raise Undecided(f"{subject.name}: nothing is proved, so there is no certificate")
    if proof.proved_by != STRUCTURE:
        message = "proved by running every word, and certificates are of proofs from the weights"
        raise Undecided(f"{subject.name}: {message}")
    report = shown or (lambda done, total: None)

    def made() -> dict[str, Any]:
        oracle, network = prefix_oracle(subject), subject.network
        first = demands_of(oracle, network, 0).shortest
        last = first - 1 if proof.proved_to is None else proof.proved_to
        wrong = None if proof.wrong is None else {"word": [*proof.wrong]}
        sections: dict[str, Any] = {"min_n": first, "max_n": last, "wrong": wrong}
        sections["network"] = network_section(network, longest_of(sections))
        sections["specification"] = specification_section(oracle)
        demands = demands_of(oracle, network, max(last, 0))
        if last < first:  # there is a wrong word alone
            record = WrittenProof([[] for _ in network.heads], [])
        else:
            bounds = partial(CheckedRows, sections["network"], last)
            record = recorded(network, demands, bounds, lambda share: report(int(share * PARTS), 2 * PARTS))
        return {
            "format": FORMAT,
            "schema_version": EXTERNAL_VERSION,
            "claim": EXTERNAL_CLAIM if proof.wrong is None else EXTERNAL_WRONG_CLAIM,
            **sections,
            "labels": {
                "version": __version__,
                "source": {"name": subject.name, "sha256": subject.sha256},
                "against": subject.against,
                "title": subject.title,
            },
            "machine": machine_section(demands),
            "axes": record.axes,
            "groups": [_group(asdict(group)) for group in record.groups],
        }

    def check(document: dict[str, Any]) -> None:
        check_external(document, lambda done, total: report(PARTS + PARTS * done // max(1, total), 2 * PARTS))

    return accepted(subject, made, check)


class CheckedRows:
    """The checker's bounds of rows over cells: certificates are written with these."""

    def __init__(self, network: dict[str, Any], longest: int, axes: Axes) -> None:
        data = read_network(network)
        self.columns = Columns(data, longest, axes, lambda steps: None)
        self.rest = AfterHeads(data, [(head.axes, head.remainder) for head in self.columns.heads])

    def __call__(
        self, length: int, symbol: int, low: list[float], high: list[float], choice: Sequence[tuple[int, int]]
    ) -> list[RowBound] | None:
        query = self.columns.query(length, symbol)
        try:
            return self.rest.rows(query.token, query.place, low, high, choice)
        except Rejected:
            return None


def external_text(document: Mapping[str, Any]) -> str:
    """Return a certificate as JSON text, with a line for each section and each group."""

    def text(part: Any) -> str:
        return json.dumps(part, ensure_ascii=False, separators=(",", ":"))

    lines = [f"{text(key)}:{text(part)}" for key, part in document.items() if key != "groups"]
    groups = ",\n".join(map(text, document["groups"]))
    return visible_json("{" + ",\n".join([*lines, f'"groups":[{groups}]']) + "}\n")


def longest_of(document: Mapping[str, Any]) -> int:
    """Return the length of the longest word that a certificate is about."""
    wrong, last = document["wrong"], int(document["max_n"])
    return max(0, last, 0 if wrong is None else len(wrong["word"]))


def _group(group: dict[str, Any]) -> dict[str, Any]:
    """Return a group in JSON: its box stands at the root of its tree."""
    low, high, tree = (group.pop(key) for key in ("low", "high", "tree"))
    return {**group, "tree": {"box": [low, high], "tree": tree}}


# ---- the network ----


def network_section(network: Network, longest: int) -> dict[str, Any]:
    """Return a network of one layer in JSON, with the encodings of the positions of words of up to `longest` symbols
    where these are not a table. Raises Rejected if a position encoding is irrational, or there are several layers."""
    require(len(network.layers) == 1, f"a network of {len(network.layers)} layers: certificates are about one layer")
    require(not features(network), f"certificates do not cover {', '.join(features(network))}")
    for layer in network.layers:
        kind = None if layer.mlp is None else layer.mlp.activation.value
        require(kind is None or kind in ACTIVATIONS, f"certificates do not cover the activation {kind}")
    (layer,), scale, readout = network.layers, network.embedding_scale, network.readout

    def texts(tokens: Any) -> list[str] | None:
        return None if tokens is None else [str(token) for token in tokens]

    return {
        "tokens": texts(network.tokens),
        "embedding": numbers(network.embedding),
        "embedding_scale": {"factor": str(scale.factor), "root": scale.root},
        "positions": _positions(network, longest),
        "layers": [_layer(layer)],
        "final": _norm(network.final),
        "unembedding": numbers(network.unembedding),
        "unembedding_bias": numbers(network.unembedding_bias),
        "outputs": texts(network.outputs),
        "readout": {
            "before": texts(readout.before),
            "after": texts(readout.after),
            "at": readout.at,
            "decide": readout.decide,
            "level": str(readout.level),
            "among": texts(readout.among),
            "alphabet": texts(readout.alphabet),
        },
    }


def numbers(array: Dense | None) -> Any:
    """Return an array as nested lists: floats, and texts "p/q" of what is no float; None for None. Raises Rejected for
    an irrational number."""
    if array is None:
        return None
    found = array.tolist()
    return found if array.dtype == np.float64 else _each(found)


def _each(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_each(part) for part in entry]
    require(isinstance(entry, Fraction | int | float), "a number of the network is irrational")
    try:
        near = float(entry)
    except OverflowError:
        return str(Fraction(entry))
    return near if Fraction(near) == Fraction(entry) else str(Fraction(entry))


def _positions(network: Network, longest: int) -> Any:
    if isinstance(network.positions, np.ndarray):
        return numbers(network.positions)
    return numbers(network.encoding(longest))


def _layer(layer: NetworkLayer) -> dict[str, Any]:
    return {
        "heads": [_head(head) for head in layer.heads],
        "b_o": numbers(layer.b_o),
        "mlp": _mlp(layer.mlp),
        "norm_1": _norm(layer.norm_1),
        "norm_2": _norm(layer.norm_2),
        "post": layer.post,
    }


def _head(head: NetworkHead) -> dict[str, Any]:
    scale = {"factor": str(head.scale.factor), "root": head.scale.root}
    names = ("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v")
    return {"mask": head.mask.value, "scale": scale, **{name: numbers(getattr(head, name)) for name in names}}


def _mlp(mlp: Mlp | None) -> dict[str, Any] | None:
    if mlp is None:
        return None
    names = ("w_in", "w_out", "b_in", "b_out")
    return {"activation": mlp.activation.value, **{name: numbers(getattr(mlp, name)) for name in names}}


def _norm(norm: Norm | None) -> dict[str, Any] | None:
    if norm is None:
        return None
    return {
        "kind": norm.kind,
        "epsilon": str(norm.epsilon),
        "weight": numbers(norm.weight),
        "bias": numbers(norm.bias),
    }


# ---- the specification ----


def specification_section(oracle: Lines | NextSymbols) -> dict[str, Any]:
    """Return what a specification expects in JSON. Raises NotProved for a column of a program."""
    if isinstance(oracle, NextSymbols):
        return {"kind": "next", "automaton": _automaton(oracle.automaton), "end": oracle.end, "empty": oracle.empty}
    lines = [[name, _column(column)] for name, column in oracle.lines]
    assume = None if oracle.assume is None else _column(oracle.assume)
    return {"kind": "lines", "lines": lines, "assume": assume}


def _column(column: ExpectedColumn) -> dict[str, Any]:
    match column:
        case Negated(Matches(automaton) | InLanguage(automaton)):
            others = frozenset(range(len(automaton.moves))) - automaton.accepting
            return {"kind": "matches", "automaton": _automaton(Automaton(automaton.letters, automaton.moves, others))}
        case Matches(automaton) | InLanguage(automaton):
            return {"kind": "matches", "automaton": _automaton(automaton)}
        case FormulaTruth(file):
            core = desugar(file.read_at("last"))
            return {"kind": "formula", "formula": formula_json(core, {item.name: item for item in file.predicates})}
    raise NotProved(
        "a line names a program, or rejects what a formula accepts; certificates are about formulas and expressions"
    )


def _automaton(automaton: Automaton) -> dict[str, Any]:
    """Return an automaton with a move for each symbol, in the order of the alphabet."""
    symbols = [str(symbol) for symbol in automaton.letters.alphabet]
    letters = [automaton.letters[symbol] for symbol in symbols]
    moves = [[row[letter] for letter in letters] for row in automaton.moves]
    return {"symbols": symbols, "moves": moves, "accepting": sorted(automaton.accepting)}


def machine_section(demands: PrefixDemands) -> dict[str, Any]:
    """Return the machine of what is required in JSON."""
    kinds = [[[[*row] for row in choice] for choice in kind.choices] for kind in demands.kinds]
    return {"moves": demands.moves.tolist(), "required": [*demands.required], "kinds": kinds}
