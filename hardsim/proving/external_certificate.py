"""Certificates of external networks, for `hardsim.verify.external`, and their comparison with files.

A certificate has the network and the specification in a canonical form: what each section says depends on the network
and the reference alone, so that a section can be compared with that of a file. The machine and the groups of classes
are the prover's (`proof.external.record`); the checker takes none of it on trust.
"""

from __future__ import annotations

import json
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from hardsim.errors import Undecided
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.desugar import desugar
from hardsim.lang.spec.oracle import ExpectedColumn, FormulaTruth, InLanguage, Lines, Matches, Negated, NextSymbols
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Dense, Mlp, Network, NetworkHead, NetworkLayer, Norm
from hardsim.network.features import NetworkFeature, features
from hardsim.proof.external.demands import PrefixDemands, demands_of
from hardsim.proof.external.record import Axes, RowBound, WrittenProof, recorded
from hardsim.proof.external.record_layers import ClassKey, Form, recorded_layers
from hardsim.proof.external.result import STRUCTURE, PrefixProof
from hardsim.proof.shared.result import NotProved
from hardsim.proving.formula_certificate import accepted, formula_json
from hardsim.targets.external import External
from hardsim.targets.prefix_oracle import prefix_oracle
from hardsim.verify import Shown
from hardsim.verify.arithmetic import Rejected, require
from hardsim.verify.external.affine import AfterHeads, CellForm
from hardsim.verify.external.check import check_external
from hardsim.verify.external.columns import Columns
from hardsim.verify.external.layers import LayerForms, check_layers
from hardsim.verify.external.network import read_layers, read_network
from hardsim.verify.external.numbers import ACTIVATIONS
from hardsim.verify.external.second import CellHead, without_little
from hardsim.verify.external.sections import (
    EXTERNAL_CLAIM,
    EXTERNAL_VERSION,
    EXTERNAL_WRONG_CLAIM,
    LAYERS_VERSION,
)
from hardsim.verify.sections import FORMAT
from hardsim.version import __version__
from hardsim.visible import visible_json

FEW_RUN, MOST_RUN = 300, 8_192
"""The most prefixes that are run in a certificate of a network of two layers: at first, and where these do not close
otherwise."""
UNCOVERED = NetworkFeature.PROJECTION, NetworkFeature.POOLED_START, NetworkFeature.POOLED_MEAN
"""The features that no certificate covers: the last two are of networks that are not read at the last position."""
PARTS = 100
"""The number of steps of the writing, and of the checking, of a certificate."""


def no_certificate(subject: External) -> str | None:
    """Return the reason why no proof about an external network has a certificate; None if one may have."""
    network = subject.network
    if (count := len(network.layers)) not in (1, 2):
        return f"certificates are of networks of one or two layers, and this one has {count}"
    found = [*_uncovered(network), *sorted(_activations(network) - ACTIVATIONS.keys())]
    return f"certificates do not cover {', '.join(found)}, which this network has" if found else None


def _uncovered(network: Network) -> list[str]:
    """Return the names of features of a network that certificates do not cover: with two layers, of all."""
    one = len(network.layers) == 1
    found = [feature.value for feature in features(network) if not one or feature in UNCOVERED]
    scaled = any(head.rotary is not None and head.rotary.scaling is not None for head in network.heads)
    return [*found, "a scaling of rotary positions"] if scaled else found


def _activations(network: Network) -> set[str]:
    found = {layer.mlp.activation.value for layer in network.layers if layer.mlp is not None}
    transform = network.transform
    return found if transform is None or transform.activation is None else found | {transform.activation.value}


def external_certificate(subject: External, proof: PrefixProof, shown: Shown | None = None) -> dict[str, Any]:
    """Return the certificate of what is proved of an external network, and of its wrong prefix if there is one, after
    the checker has accepted it. Raises Undecided if nothing is proved, or the checker cannot follow the proof."""
    if proof.wrong is None and (proof.proved_to is None or not proof.prefixes):
        raise Undecided(f"{subject.name}: nothing is proved, so there is no certificate")
    if proof.proved_by != STRUCTURE and (len(subject.network.layers) == 1 or proof.prefixes > MOST_RUN):
        message = "proved by running every word, and certificates are of proofs from the weights"
        raise Undecided(f"{subject.name}: {message}")
    if proof.splits is not None and proof.splits.patterns:
        first = proof.splits.patterns[0].length
        message = f"lengths from {first} on are proved by patterns of words, which the checker does not follow"
        raise Undecided(f"{subject.name}: {message}; --max-n {first - 1} leaves them out")
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

        def shown(share: float) -> None:
            report(int(share * PARTS), 2 * PARTS)

        return {
            "format": FORMAT,
            "schema_version": EXTERNAL_VERSION if len(network.layers) == 1 else LAYERS_VERSION,
            "claim": EXTERNAL_CLAIM if proof.wrong is None else EXTERNAL_WRONG_CLAIM,
            **sections,
            "labels": {
                "version": __version__,
                "source": {"name": subject.name, "sha256": subject.sha256},
                "against": subject.against,
                "title": subject.title,
            },
            "machine": machine_section(demands),
            **(_steps if len(network.layers) == 1 else _steps_of_layers)(network, demands, sections, shown),
        }

    def check(document: dict[str, Any]) -> None:
        checker = check_external if len(subject.network.layers) == 1 else check_layers
        checker(document, lambda done, total: report(PARTS + PARTS * done // max(1, total), 2 * PARTS))

    return accepted(subject, made, check)


def _steps(
    network: Network, demands: PrefixDemands, sections: Mapping[str, Any], shown: Callable[[float], None]
) -> dict[str, Any]:
    """Return the sections with the proof about a network of one layer."""
    last = sections["max_n"]
    if last < sections["min_n"]:  # there is a wrong word alone
        record = WrittenProof([[] for _ in network.heads], [])
    else:
        record = recorded(network, demands, partial(CheckedRows, sections["network"], last), shown)
    return {"axes": record.axes, "groups": [_group(asdict(group)) for group in record.groups]}


def _steps_of_layers(
    network: Network, demands: PrefixDemands, sections: Mapping[str, Any], shown: Callable[[float], None]
) -> dict[str, Any]:
    """Return the sections with the proof about a network of two layers. Lengths of few prefixes are run; the others are
    proved from the weights."""
    last, counts = sections["max_n"], [*accumulate(demands.words())]
    few, some = (bisect(counts, most) - 1 for most in (FEW_RUN, MOST_RUN))
    if few >= last:
        return {"run_to": last, "axes": [[[] for _ in layer.heads] for layer in network.layers], "part": None}
    checker = partial(CheckedLayers, sections["network"], last)
    record = recorded_layers(network, demands, (max(few, 0), some), checker, shown)
    return {"run_to": record.run_to, "axes": record.axes, "part": record.part}


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


@dataclass(slots=True)
class _CheckedCell:
    """The checker's enclosures over a cell of the first layer."""

    forms: CheckedLayers
    x: CellForm
    own: list[CellHead]

    @property
    def heads(self) -> list[tuple[Form, Form, Form]]:
        return [
            (_of_scores(one.query), _of_scores(one.key), (one.value.c, one.value.slopes, one.value.e))
            for one in self.own
        ]

    def rows(self, low: list[float], high: list[float], choice: Sequence[tuple[int, int]]) -> list[RowBound] | None:
        try:
            return self.forms.rest.rows_of(self.x, low, high, choice)
        except Rejected:
            return None


def _of_scores(x: CellForm) -> Form:
    """Return a query or a key as the checker multiplies it, with slopes of 0 where these add little."""
    short = without_little(x)
    kept = {id(slope) for slope in short.slopes}
    return x.c, [slope if id(slope) in kept else [0.0] * len(x.c) for slope in x.slopes], short.e


class CheckedLayers:
    """The checker's enclosures of a network of two layers: certificates are written with these."""

    def __init__(self, network: dict[str, Any], longest: int, axes: list[Axes]) -> None:
        self.layers = LayerForms(read_layers(network, 2), longest, axes, lambda steps: None)
        self.fixed = [_CheckedCell(self, CellForm([], [], []), own) for own in self.layers.fixed]
        self.cells: list[list[CellHead]] = []
        self._known: tuple[int, AfterHeads] | None = None

    def cell(self, place: ClassKey, low: list[float], high: list[float]) -> _CheckedCell:
        """Return the enclosures over a cell of a class. Raises NotProved where there are none."""
        try:
            x, own = self.layers.over(place, low, high)
        except Rejected as error:
            raise NotProved(str(error)) from None
        self.cells.append(own)
        return _CheckedCell(self, x, own)

    @property
    def rest(self) -> AfterHeads:
        """The rest of the network after the second layer's heads, for the cells so far."""
        if self._known is None or len(self.cells) > self._known[0]:
            self._known = len(self.cells), self.layers.after(self.cells)
        return self._known[1]


def external_text(document: Mapping[str, Any]) -> str:
    """Return a certificate as JSON text, with a line for each section, each group and each class."""

    def text(part: Any) -> str:
        return json.dumps(part, ensure_ascii=False, separators=(",", ":"))

    def nested(part: dict[str, Any] | None) -> str:
        if part is None:
            return "null"
        classes, parts = (",\n".join(rows) for rows in (map(text, part["classes"]), map(named, part["parts"])))
        return f'{{"classes":[{classes}],"place":{text(part["place"])},"parts":[{parts}]}}'

    def named(pair: list[Any]) -> str:
        return f"[{pair[0]},{nested(pair[1])}]"

    lines = [f"{text(key)}:{text(part)}" for key, part in document.items() if key not in ("groups", "part")]
    if "part" in document:
        lines.append(f'"part":{nested(document["part"])}')
    else:
        groups = ",\n".join(map(text, document["groups"]))
        lines.append(f'"groups":[{groups}]')
    return visible_json("{" + ",\n".join(lines) + "}\n")


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
    """Return a network in JSON, with the encodings of the positions of words of up to `longest` symbols where these are
    not a table. Raises Rejected if a position encoding is irrational, or there are more than two layers."""
    count = len(network.layers)
    require(count in (1, 2), f"a network of {count} layers: certificates are about one or two layers")
    require(not _uncovered(network), f"certificates do not cover {', '.join(_uncovered(network))}")
    strange = _activations(network) - ACTIVATIONS.keys()
    require(not strange, f"certificates do not cover the activation {', '.join(sorted(strange))}")
    scale, readout = network.embedding_scale, network.readout

    def texts(tokens: Any) -> list[str] | None:
        return None if tokens is None else [str(token) for token in tokens]

    return {
        "tokens": texts(network.tokens),
        "embedding": numbers(network.embedding),
        "embedding_scale": {"factor": str(scale.factor), "root": scale.root},
        "positions": _positions(network, longest),
        "layers": [_layer(layer) for layer in network.layers],
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
            "alphabet": texts(network.symbols),
        },
        **_further(network),
    }


def _further(network: Network) -> dict[str, Any]:
    """Return the parts of a network that only some families have."""
    transform, cap = network.transform, network.output_cap
    return _present(
        embedding_bias=numbers(network.embedding_bias),
        embedding_norm=_norm(network.embedding_norm),
        positions_at=None if network.positions_at == "stream" else network.positions_at,
        output_cap=None if cap is None else str(cap),
        transform=None
        if transform is None
        else {
            "weight": numbers(transform.weight),
            "bias": numbers(transform.bias),
            "activation": None if transform.activation is None else transform.activation.value,
            "norm": _norm(transform.norm),
        },
    )


def _present(**parts: Any) -> dict[str, Any]:
    """Return the parts that are there."""
    return {key: part for key, part in parts.items() if part is not None}


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
        "norm_1": _norm(layer.norm_1) if layer.attends else None,
        "norm_2": None if layer.mlp is None else _norm(layer.norm_2),
        "post": layer.post,
        **_present(parallel=layer.parallel or None, out_1=_norm(layer.out_1), out_2=_norm(layer.out_2)),
    }


def _head(head: NetworkHead) -> dict[str, Any]:
    scale = {"factor": str(head.scale.factor), "root": head.scale.root}
    names = ("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v")
    # parts that are not there have no keys, so that other networks keep their certificates
    found = {"mask": head.mask.value, "scale": scale, **{name: numbers(getattr(head, name)) for name in names}}
    more = _present(
        norm_q=_norm(head.norm_q),
        norm_k=_norm(head.norm_k),
        cap=None if head.cap is None else str(head.cap),
        distance=None if head.distance is None else str(head.distance.exponent),
        window=head.window,
    )
    if (rotary := head.rotary) is not None:
        size, interleaved = rotary.size, rotary.interleaved
        more["rotary"] = {
            "base": str(rotary.base), "size": size, "interleaved": interleaved, "divisor": str(rotary.divisor),
        }  # fmt: skip
    return {**found, **more}


def _mlp(mlp: Mlp | None) -> dict[str, Any] | None:
    if mlp is None:
        return None
    names = ("w_in", "w_out", "b_in", "b_out")
    found = {"activation": mlp.activation.value, **{name: numbers(getattr(mlp, name)) for name in names}}
    return {**found, **_present(w_gate=numbers(mlp.w_gate), b_gate=numbers(mlp.b_gate))}


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
