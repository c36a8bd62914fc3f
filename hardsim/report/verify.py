"""Print the results of `hardsim verify`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hardsim.lang.words import written_word
from hardsim.proving.rocq_comparison import RocqResult
from hardsim.proving.verify import VerifyResult, span_of
from hardsim.records import about
from hardsim.report.check import print_headline
from hardsim.report.screen import Screen
from hardsim.targets.result import plural
from hardsim.verify.sections import printable

MOST_LINES = 20
"""Largest number of nodes of a formula to print."""


def reach(result: VerifyResult) -> str:
    """Return the words that a valid certificate is about, or the reason why a certificate is invalid."""
    if result.lengths is None:
        return result.reason or ""
    if not result.specification:
        return f"every word of {span_of(result.lengths)}"
    parts = [f"right after every judged prefix of at most {plural(result.max_n or 0, 'symbol')}"] * len(result.lengths)
    if result.wrong is not None:
        shortest = ", the shortest" if result.shortest else ""
        parts.append(f"wrong after a prefix of {plural(len(result.wrong), 'symbol')}{shortest}")
    return "; ".join(parts)


def print_validity(screen: Screen, result: VerifyResult | RocqResult, reach: str) -> None:
    """Print the verdict on a certificate or on a Rocq instance, with what it is about."""
    style = "bold green" if result.valid else "bold red"
    print_headline(screen, result.verdict, style, result.input, reach)


def print_result(screen: Screen, result: VerifyResult | RocqResult, reach: str, lines: Iterable[str]) -> None:
    """Print the verdict on a certificate or on a Rocq instance, with what it is about, and lines below it."""
    print_validity(screen, result, reach)
    for line in lines:
        screen.line(line)


def certificate_lines(result: VerifyResult) -> list[str]:
    """Return lines that state what a valid certificate is about and with what it was compared, in printable
    characters."""
    lines, compared = list[str](), result.compared
    assert result.digests is not None
    parts = ["formula", "model"]
    if result.specification:
        return _external_lines(result, result.digests)
    if result.formula is None:
        lines.append(
            f"  claim     {result.weighting} answers as hard attention with the same weights; lengths count padding"
        )
        lines.append(printable(f"  at        temperature {_temperature(result)}"))
        parts = ["model"]
    elif compared.formula is not None:
        lines.append(f"  formula   that of {compared.formula}")
    else:
        nodes = _node_lines(result.formula, MOST_LINES)
        lines.append(f"  formula   node {_literal(result.formula['root'])} at the last position, of")
        lines += [printable(f"              {line}") for line in nodes]
    if result.formula is not None and result.weighting != "softmax":
        lines.append(f"  weighting {result.weighting}")
    message = f"that of {compared.model}, " if compared.model is not None else ""
    lines.append(f"  model     {message}sha256 {result.digests['model']}")
    return lines + _missing({key: getattr(compared, key) for key in parts})


def _missing(parts: Mapping[str, str | None]) -> list[str]:
    """Return the line that names the options for parts that were not compared with a file."""
    missing = [key for key, name in parts.items() if name is None]
    named = " and ".join("--spec" if key == "specification" else f"--{key}" for key in missing)
    return [f"  not compared with a file: the {' and the '.join(missing)} ({named})"] if missing else []


def _external_lines(result: VerifyResult, digests: Mapping[str, str]) -> list[str]:
    """Return the lines of a certificate of an external network."""
    compared, prefixes = result.compared, result.prefixes or 0
    lines = [f"  prefixes  {about(prefixes)}"] * (prefixes > 0)
    if result.wrong is not None:
        word = written_word(result.wrong, tuple(dict.fromkeys(result.wrong)))
        lines.append(f"  wrong     {printable(word)}")
    for label, key, name in (
        ("network", "network", compared.model),
        ("spec", "specification", compared.specification),
    ):
        message = f"that of {name}, " if name is not None else ""
        lines.append(f"  {label:9} {message}sha256 {digests[key]}")
    return lines + _missing({"model": compared.model, "specification": compared.specification})


def _temperature(result: VerifyResult) -> str:
    """Return the temperature of a certificate as text, or the temperatures of its lengths in order."""
    given = result.temperature
    if not isinstance(given, tuple):
        return given or ""
    return given[0] if len({*given}) == 1 else f"{', '.join(given)}, of these lengths in order"


def _node_lines(formula: Mapping[str, Any], most: int) -> list[str]:
    """Return the nodes that the root depends on, itself included, one a line: the last `most` of them, after a line
    with the number of the others, if there are any."""
    nodes, (root, _) = formula["nodes"], formula["root"]
    expected = {root}
    for k in range(root, -1, -1):
        if k in expected:
            expected |= {a for a, _ in nodes[k][1]}
    shown = sorted(expected)[-most:]
    more = [f"... and {len(expected) - len(shown)} more"] if len(expected) > len(shown) else []
    return more + [f"{k}: {_node_text(nodes[k])}" for k in shown]


def _literal(lit: list[Any]) -> str:
    """Return a literal as text: the number of a node, after `!` if negated."""
    return f"{'!' if lit[1] else ''}{lit[0]}"


def _node_text(node: list[Any]) -> str:
    op, args, *rest = node
    names = [_literal(lit) for lit in args]
    if op in ("letters", "true", "holds"):
        return f"{op} {' '.join(rest)}".rstrip()
    if op in ("S", "U", "and", "xor"):
        return f" {op} ".join(names)
    if op in ("Y", "X"):
        return f"{op} {names[0]}"
    terms = [f"{a}*#{side}[{lit}]" for (a, side), lit in zip(rest[-2], names, strict=True)]
    total = " + ".join([*terms, str(rest[-1])])
    return f"{total} >= 0" if op == "at least" else f"({rest[0]}) at x = {total}"
