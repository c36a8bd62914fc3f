"""What `show` prints of a hard-attention model or program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hardsim.checking.attention import AttentionSubject
from hardsim.checking.attention_campaign import summary
from hardsim.net.model import AttentionHead, FeedForward, Transformer
from hardsim.net.store import transformer_json
from hardsim.report.numbers import plural
from hardsim.report.screen import Screen
from hardsim.spec.ir import Affine, Rational

MASKS = {
    "none": "every j",
    "future": "j <= i",
    "past": "j >= i",
    "strict-future": "j < i",
    "strict-past": "j > i",
}


def print_attention_model(screen: Screen, subject: AttentionSubject, warnings: tuple[str, ...]) -> None:
    """The model in numbers, its encodings, then layer by layer."""
    hard = subject.hard
    screen.line((subject.name, "bold"))
    pairs = [
        *([("title", subject.title)] if subject.title else []),
        ("size", summary(subject, None)),
        ("alphabet", " ".join(hard.alphabet)),
        ("encodings", ", ".join(f"{hard.coordinates[index]} = {value}" for index, value in hard.encodings) or "none"),
        ("reads", reading(subject)),
        ("temperature", str(subject.schedule) if subject.schedule else "that of Theorem 26 for the gap at each length"),
        *[("warning", warning) for warning in warnings],
    ]
    for name, value in pairs:
        screen.line(f"  {name:<12} {value}")
    for number, layer in enumerate(hard.layers, start=1):
        screen.raw()
        heads = plural(len(layer.heads), "head") if layer.heads else "no attention"
        screen.line((f"layer {number}", "bold"), f": {heads}, {plural(layer.ffn.w1.shape[0], 'hidden unit')}")
        for head in layer.heads:
            _print_head(screen, hard, head)
        _print_ffn(screen, hard, layer.ffn)
    screen.raw()


def reading(subject: AttentionSubject) -> str:
    """How the answer is read."""
    hard = subject.hard
    if subject.acceptor:
        name = hard.coordinates[hard.output]
        return f"accepts where {name} is above {hard.threshold} at the {hard.reading} position"
    outputs = ", ".join(f"{symbol}: {hard.coordinates[index]}" for symbol, index in subject.outputs)
    return f"the output symbol of each position is the one whose coordinate is above {hard.threshold} ({outputs})"


def form(row: Mapping[int, Rational], coordinates: tuple[str, ...]) -> str:
    """A row of a matrix as a linear form."""
    return str(Affine.of({coordinates[index]: value for index, value in row.items()}))


def _print_head(screen: Screen, hard: Transformer, head: AttentionHead) -> None:
    names = hard.coordinates
    see = MASKS[head.mask.value] + (" and the beginning" if hard.bos and head.mask.value != "none" else "")
    gap = "" if head.gap is None else f", declared gap {head.gap}"
    screen.line(f"  head {head.name}: {see}, {head.weighting.value}{gap}")
    if head.uniform:
        screen.line("    score       0 (uniform)")
    else:
        pairs = zip(head.w_q.rows(), head.w_k.rows(), strict=True)
        shown = " + ".join(f"({form(query, names)})_i ({form(key, names)})_j" for query, key in pairs if query and key)
        screen.line(f"    score       {shown}")
    for out, row in enumerate(head.w_v.rows()):
        if row:
            screen.line(f"    {names[out]} += {form(row, names)}")


def _print_ffn(screen: Screen, hard: Transformer, ffn: FeedForward) -> None:
    names = hard.coordinates
    units = []
    for row, bias in zip(ffn.w1.rows(), ffn.b1, strict=True):
        text = form(row, names)
        sign = f" + {bias}" if bias > 0 else f" - {-bias}" if bias < 0 else ""
        units.append(f"relu({text}{sign})")
    for out, (row, bias) in enumerate(zip(ffn.w2.rows(), ffn.b2, strict=True)):
        if row or bias:
            parts = [f"{value} {units[unit]}" if value != 1 else units[unit] for unit, value in row.items()]
            screen.line(f"  {names[out]} += {' + '.join([*parts, *([str(bias)] if bias else [])])}")


def attention_model_json(subject: AttentionSubject, warnings: tuple[str, ...]) -> dict[str, Any]:
    """The model of `show`."""
    return {
        "input": subject.name,
        "kind": subject.kind,
        "title": subject.title,
        "summary": summary(subject, None),
        "reads": reading(subject),
        "warnings": list(warnings),
        "network": transformer_json(subject.hard),
    }
