"""Certificates of files: checked by `hardsim.verify`, and compared with the formula, the network and the specification
that they must be about.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from hardsim.campaign.result import numbers_text, span_text, verdict_summary
from hardsim.errors import HardsimError, InputError
from hardsim.files import read_bytes
from hardsim.lang import ltl_parser
from hardsim.lang.arith import Arith, in_python
from hardsim.lang.ast import FormulaFile
from hardsim.lang.desugar import desugar, with_listed_sets
from hardsim.lang.pretty import format_head
from hardsim.lang.unread_files import naming
from hardsim.lazy_dataclass import dataclass
from hardsim.network.reader import read_json
from hardsim.network.transformer import SoftWeighting
from hardsim.program.assemble import assemble
from hardsim.program.hard_attention import Weighting
from hardsim.proof.shared.result import NotProved
from hardsim.proving.external_certificate import longest_of, network_section, specification_section
from hardsim.proving.formula_certificate import formula_json, network_json, normed_network_json, rounded_network_json
from hardsim.proving.program_certificate import program_json
from hardsim.records import Embedded, Natural, Record, one_of, written
from hardsim.targets.claims import HeadsClaim
from hardsim.targets.external import External
from hardsim.targets.prefix_oracle import prefix_oracle
from hardsim.targets.result import InputName
from hardsim.targets.subject import Subject, own_predicates
from hardsim.verify import (
    LARGEST_FILE,
    MAKE_ONE,
    NotJson,
    Shown,
    Unreadable,
    accept,
    of_network,
    of_program,
    read,
    rejection,
)
from hardsim.verify.arithmetic import Rejected, require
from hardsim.verify.external.prefixes import ExternalFacts
from hardsim.verify.programs import ProgramChecker

FORMULA = """{"type": "object", "required": ["nodes", "root"], "additionalProperties": false,
  "properties": {
  "alphabet": {"type": "array", "items": {"type": "string"}},
  "props": {"type": "array", "items": {"type": "string"}},
  "nodes": {"type": "array", "items": {"type": "array"}},
  "root": {"type": "array", "description": "A node, and whether it is negated."}}}"""
SPECIFICATION = """{"type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["next", "lines"]}}}"""
DIGESTS = """{"type": "object", "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}"""
"""JSON Schemas of parts of a certificate: the formula's table of nodes, the specification of an external network, and
the SHA-256 of each part by name."""
LONGEST_TEXT = 1 << 20
"""Most characters of the formula's text in a certificate."""


@dataclass(frozen=True, slots=True, repr=False)
class Compared(Record):
    """Files that the certificate was compared with; null where no file was named, and nothing was compared."""

    formula: str | None
    """Name of the formula's file; null if none was named."""
    model: str | None
    """Name of the network's file or folder; null if none was named."""
    specification: str | None = None
    """Name of the specification's file; null if none was named."""


@dataclass(frozen=True, slots=True, repr=False)
class VerifyResult(Record):
    """Result for one certificate. The contents of an invalid certificate are not reported: null."""

    input: InputName
    verdict: Annotated[str, one_of("VALID", "INVALID")]
    """VALID if the proof is accepted, otherwise INVALID."""
    reason: str | None
    """Reason why the certificate is invalid; null if it is valid."""
    claim: str | None
    """Statement that the certificate proves."""
    min_n: Natural | None
    """First length that the claim covers; for a program counted with padding, for an external network of prefixes."""
    max_n: Natural | None
    """Last length such that the claim covers all lengths from `min_n` to it; null in a valid certificate if there is no
    end."""
    lengths: tuple[tuple[Natural | None, ...], ...] | None
    """All lengths that the claim covers, as runs [first, last]; the last is null if the run has no end. There are none
    if an external network is only claimed to be wrong."""
    temperature: str | tuple[str, ...] | None
    """Temperature of the network: an expression in i and n, or one for each length of a program; null for an external
    network."""
    formula: Annotated[dict[str, Any], Embedded(FORMULA)] | None
    """Formula of the claim, as the certificate's table of nodes; null for any other claim."""
    compared: Compared
    """Files that the certificate was compared with."""
    digests: Annotated[dict[str, str], Embedded(DIGESTS)] | None
    """SHA-256 of each part, in hexadecimal, by the name of the part."""
    specification: Annotated[dict[str, Any], Embedded(SPECIFICATION)] | None = None
    """Specification of an external network, as the certificate states it; null for any other claim."""
    prefixes: Natural | None = None
    """Number of prefixes after which an external network is proved to be right; null for any other claim."""
    wrong: tuple[str, ...] | None = None
    """Word after which the external network is certainly wrong; null if the certificate has none."""
    shortest: bool = False
    """True if `wrong` is a shortest such word: all shorter prefixes are proved."""
    weighting: Annotated[str, one_of(*(one.value for one in SoftWeighting))] | None = None
    """Weighting of the network's attention; null for an external network."""

    @property
    def summary(self) -> str:
        """The line that names the verdict, the input, and the reason or the claim."""
        return verdict_summary(self.verdict, self.input, self.reason or self.claim or "")

    @property
    @written
    def valid(self) -> bool:
        """True if the certificate is valid."""
        return self.verdict == "VALID"


@dataclass(frozen=True, slots=True)
class CertifiedTarget:
    """The formula, the network and the specification that certificates must be about, each with its name; None if not
    given. The network is that of a compiled model, or an external one."""

    formula: tuple[FormulaFile, str] | None = None
    model: tuple[Subject, str] | None = None
    network: tuple[External, str] | None = None
    specification: tuple[External, str] | None = None
    """The network with the specification as its reference."""

    @property
    def compared(self) -> Compared:
        """The names of the files."""
        model = self.model or self.network
        return Compared(*(one and one[1] for one in (self.formula, model, self.specification)))

    def compare(self, document: dict[str, Any], shown: Shown | None = None) -> ExternalFacts | None:
        """Check a certificate and compare it with the formula, the network and the specification; return what was found
        of an external network. `shown` is called with the progress. Raises Rejected if the certificate is not valid, or
        about others."""
        checker = accept(document, shown)
        self._require_kind(document)
        if isinstance(checker, ExternalFacts):
            if self.network:
                check_weights(document, *self.network)
            if self.specification:
                check_specification(document, *self.specification)
            return checker
        if isinstance(checker, ProgramChecker):
            if self.model is not None:
                check_network(document, checker.parting, *self.model)
            return None
        check_labels(document)
        if self.formula is not None:
            check_formula(document, *self.formula)
        if self.model is not None:
            check_model(document, *self.model)
        return None

    def _require_kind(self, document: Mapping[str, Any]) -> None:
        """Raise Rejected unless a certificate is about what was named: a formula, a compiled model, or an external
        network."""
        network, program = of_network(document), of_program(document)
        what = "an external network" if network else "a program or a model" if program else "a formula"
        for named, fits, other in (
            (self.formula, not (network or program), "a formula"),
            (self.network or self.specification, network, "an external network"),
            (self.model, not network, "a compiled model"),
        ):
            require(named is None or fits, f"the certificate is about {what}, not about {other}")


def verified(path: str, target: CertifiedTarget, shown: Shown | None = None) -> VerifyResult:
    """Return the result of checking one file. `shown` is called with the progress where that may take long. Raises
    InputError if the file is not a certificate."""
    with naming(path, path):
        data = read_bytes(path, LARGEST_FILE, missing=f"Check the path; {MAKE_ONE[0].lower()}{MAKE_ONE[1:]}")
        try:
            document = read(data)
        except Unreadable as error:
            if isinstance(error, NotJson):
                read_json(data, path, MAKE_ONE, settings=True)  # whose errors have a place, which the checker lacks
            raise InputError(f"{path}: {error}", MAKE_ONE) from None
    found: list[ExternalFacts | None] = []
    reason = rejection(lambda: found.append(target.compare(document, shown)))
    expected = ("claim", "min_n", "max_n", "lengths", "temperature", "formula", "digests", "specification")
    facts: dict[str, Any] = dict.fromkeys(expected)
    if reason is None:
        # Only the text of a certificate that was found valid is shown.
        lengths = lengths_of(document)
        given = (document if of_program(document) else document.get("model", {})).get("temperature")
        facts = {key: document.get(key) for key in expected} | {"lengths": tuple(map(tuple, lengths))}
        facts |= dict(zip(("min_n", "max_n"), lengths[0] if lengths else (None, None), strict=True))
        facts["temperature"] = tuple(given) if isinstance(given, list) else given
        facts["weighting"] = None if "network" in document else document["model"].get("weighting", "softmax")
        if found[0] is not None:
            wrong = found[0].wrong
            facts |= {"prefixes": found[0].prefixes, "wrong": None if wrong is None else tuple(wrong)}
            facts["shortest"] = found[0].shortest
    return VerifyResult(path, "VALID" if reason is None else "INVALID", reason, compared=target.compared, **facts)


def lengths_of(document: Mapping[str, Any]) -> list[list[int | None]]:
    """Return the lengths that a certificate covers, as runs `[first, last]`; the last run is `[first, null]` if it has
    no end."""
    if document.get("max_n") == document.get("min_n", 0) - 1:
        return []  # the certificate of a wrong word alone
    if not of_program(document):
        return [[document["min_n"], document["max_n"]]]
    start, runs = document["start"], list[list[int | None]]()
    for n in document["lengths"]:
        if start is not None and n >= start:
            break
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    if start is not None:
        # Single lengths that reach up to `start` join the last run, which has no end.
        runs.append([runs.pop()[0] if runs and runs[-1][1] == start - 1 else start, None])
    return runs


def span_of(runs: Sequence[Sequence[int | None]]) -> str:
    """Return runs of lengths as text: `length 2 to 4, 6, and every one from 10 on`."""
    (first, last), *others = runs
    if last is None:
        return "every length" if first == 1 else f"every length from {first:,} on"
    parts = [span_text(first or 1, last)]
    for low, high in others:
        parts.append(f"and every one from {low:,} on" if high is None else numbers_text(low or 1, high))
    return ", ".join(parts)


# ---- comparison with files ----


def check_labels(document: Mapping[str, Any]) -> None:
    """Require that a certificate is about the formula that it cites as its source. Raises Rejected with the place where
    they differ."""
    labels = document["labels"]
    text = labels["source"]["text"]
    require(len(text) <= LONGEST_TEXT, f"too large: labels.source.text has {len(text)} characters")
    try:
        file = ltl_parser.parse_text(text, "labels.source.text")
        check_formula(document, file, "labels.source.text")
        # The formula is the last line of a file; the label may have brackets that are not needed.
        own = f"{format_head(file)}{labels['formula']}"
        same = "\n" not in labels["formula"] and ltl_parser.parse_text(own, "labels.formula").formula == file.formula
    except HardsimError:
        raise Rejected("labels.source.text: not a readable formula") from None
    require(labels["at"] == file.at, "labels.at: differs from labels.source.text")
    require(same, "labels.formula: differs from labels.source.text")


def check_formula(document: Mapping[str, Any], file: FormulaFile, name: str) -> None:
    """Require that a certificate is about the formula of a file, read at the file's own position. Raises Rejected with
    the first place of difference; `name` is the name of the file in the message; InputError if the formula has no
    core."""
    own_predicates(file)
    core, found = desugar(file), document["formula"]
    if len(found.get("alphabet", [])) == len(file.alphabet):
        core = with_listed_sets(core)
    expected = formula_json(core, {item.name: item for item in file.predicates})
    for key in ("alphabet", "props"):
        same = set(found.get(key, [])) == set(expected.get(key, []))
        require(
            same, f"formula.{key}: differs from that of {name}, {' '.join(expected.get(key, [])) or 'which has none'}"
        )
    table: dict[Any, int] = {}
    own, other = _shapes(found["nodes"], table), _shapes(expected["nodes"], table)
    (k, negated), (j, otherwise) = found["root"], expected["root"]
    # Walk down to the deepest pair of nodes that differ: the message then names the place of the difference, not the
    # root.
    while own[k] != other[j]:
        (op, args, *rest), (op_there, args_there, *rest_there) = found["nodes"][k], expected["nodes"][j]
        pairs = [(a, b) for a, b in zip(args, args_there, strict=False) if _shape(own, a) != _shape(other, b)]
        alike = _rest(op, rest) == _rest(op_there, rest_there) and len(args) == len(args_there) and pairs
        if not (alike and pairs[0][0][1] == pairs[0][1][1]):
            there = json.dumps(expected["nodes"][j], ensure_ascii=False)
            raise Rejected(f"formula.nodes[{k}]: differs from the formula of {name}, whose node {j} is {there}")
        ((k, _), (j, _)), *_ = pairs
    require(negated == otherwise, f"formula.root: negated in only one of the certificate and {name}")


def _rest(op: str, rest: list[Any]) -> Any:
    return op, frozenset(rest) if op == "letters" else json.dumps(rest)


def _shape(shapes: list[int], lit: list[Any]) -> tuple[int, bool]:
    return shapes[lit[0]], lit[1]


def _shapes(nodes: list[list[Any]], table: dict[Any, int]) -> list[int]:
    """Return a number for each node: equal formulas have equal numbers, in every table that shares `table`."""
    shapes: list[int] = []
    for op, args, *rest in nodes:
        key = (_rest(op, rest), *(_shape(shapes, lit) for lit in args))
        shapes.append(table.setdefault(key, len(table)))
    return shapes


def check_model(document: Mapping[str, Any], subject: Subject, name: str) -> None:
    """Require that a certificate is about the network of a compiled or hard-attention model. Raises Rejected with the
    first place of difference; `name` is the name of the model in the message."""
    claim = subject.prover()
    if not isinstance(claim, HeadsClaim):
        raise Rejected("the certificate is about a formula, not about a program or a model")
    if subject.model.normed:
        network = normed_network_json(subject.model)
    elif subject.model.rounding is not None:
        network = rounded_network_json(subject.model)
    else:
        network = network_json(subject.model, {item.name: item for item in claim.formula.predicates})
    found = difference(document["model"], network, "model")
    require(found is None, f"{found}: differs from that of {name}")


def check_network(document: Mapping[str, Any], parting: Collection[str], subject: Subject, name: str) -> None:
    """Raise Rejected with the first difference unless a certificate is about the network of a program or a model, its
    hard attention, and its temperature if the subject has its own. `parting` are the heads for which the checker found
    no common value of tied keys."""
    model = assemble(subject.program, Arith.of(1))
    found = difference(document["model"], program_json(model, subject.program, subject.defined), "model")
    require(found is None, f"{found}: differs from that of {name}")
    heads = subject.program.heads
    sides = {head.name: head.weighting.value for head in heads if head.weighting is not Weighting.AVERAGE}
    # The claim is about means over tied keys: of another weighting only if all of them carry one value.
    for head in sorted(sides.keys() & parting):
        raise Rejected(
            f"head {head} is {sides[head]} in {name}, and the certificate is about the mean over tied keys, which are "
            "not known to carry one value"
        )
    if subject.given_temperature:
        own = in_python(str(subject.schedule)) if isinstance(subject.schedule, Arith) else None
        require(document["temperature"] == own, f"temperature: differs from that of {name}")


def check_weights(document: Mapping[str, Any], external: External, name: str) -> None:
    """Raise Rejected with the first difference unless a certificate is about the numbers of an external network. How
    words are read and what is expected is not compared, nor the names of tokens."""
    expected = _section_of(document, external, name)
    for key in ("tokens", "outputs", "readout"):
        expected[key] = document["network"][key]
    found = difference(document["network"], expected, "network")
    require(found is None, f"the certificate is about another network than {name}: {found} differs")


def _section_of(document: Mapping[str, Any], external: External, name: str) -> dict[str, Any]:
    """Return an external network as a certificate about it would have it. Raises Rejected, for another network than
    that of the certificate, if no certificate can have it."""
    try:
        return network_section(external.network, longest_of(document))
    except Rejected as error:
        raise Rejected(f"the certificate is about another network than {name} ({error})") from None


def check_specification(document: Mapping[str, Any], external: External, name: str) -> None:
    """Raise Rejected with the first difference unless a certificate is about an external network with its reference:
    its numbers, how words are read, and what is expected after them."""
    try:
        expected = {
            "network": _section_of(document, external, name),
            "specification": specification_section(prefix_oracle(external)),
        }
    except NotProved as error:
        raise Rejected(f"the certificate is not about {name}: {error.reason}") from None
    for key, what in (("network", "network"), ("specification", "reference")):
        found = difference(document[key], expected[key], key)
        require(found is None, f"the certificate is about another {what} than that of {name}: {found} differs")


def difference(found: Any, expected: Any, place: str) -> str | None:
    """Return the first place where two JSON values differ, as a path that begins with `place`; None if they are equal.
    1 and true differ."""
    if isinstance(found, dict) and isinstance(expected, dict):
        # Keys of both sides: an extra or a missing entry is a difference too.
        steps = {f".{key}": (found.get(key), expected.get(key)) for key in (*expected, *found)}
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        steps = {f"[{k}]": pair for k, pair in enumerate(zip(found, expected, strict=True))}
    else:
        return None if type(found) is type(expected) and found == expected else place
    return next((at for step, pair in steps.items() if (at := difference(*pair, place + step)) is not None), None)
