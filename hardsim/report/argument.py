"""The argument of a proof for every length, in a form that can be checked by hand, and as JSON."""

from __future__ import annotations

from fractions import Fraction

from hardsim.proof.general import GeneralHead, GeneralProof
from hardsim.proof.result import LinkProof
from hardsim.proof.series import HeadArgument
from hardsim.report.json import Json
from hardsim.report.numbers import decimal, rational, short
from hardsim.report.screen import Screen

METHOD = (
    "Every length: i is the query, w the position that should win, j another one, c a count; l are logits in nats.",
    "An inequality is checked with positions written as sums of numbers >= 0 (for 1 <= j < w <= i <= n: j = 1 + a,",
    "w = j + 1 + b, i = w + c, n = i + d): the coefficients of (left - right) times the denominator are all >= 0.",
)


def print_argument(screen: Screen, proof: GeneralProof, tables: bool) -> None:
    """The argument for every length: heads that are alike together; without tables only whether it goes through."""
    screen.raw()
    if tables:
        for text in METHOD:
            screen.line(f"  {text}")
        for heads in alike(proof):
            _print_heads(screen, heads)
        if proof.predicates:
            screen.line(f"  counted as Booleans of which nothing is known: {'; '.join(proof.predicates)}")
    for number, link in enumerate((proof.network, proof.meaning), start=1):
        if link is not None:
            reason = "proved" if link.holds else f"not proved: {link.reason}"
            screen.line(f"  every length, link {number}: {link.claim} -- {reason}")


def alike(proof: GeneralProof) -> list[list[GeneralHead]]:
    """The heads with an error, those with the same argument together."""
    groups: dict[HeadArgument, list[GeneralHead]] = {}
    for head in proof.heads:
        if head.argument is not None:
            groups.setdefault(head.argument, []).append(head)
    return list(groups.values())


def _print_heads(screen: Screen, heads: list[GeneralHead]) -> None:
    argument = heads[0].argument
    assert argument is not None
    names = ", ".join(head.name for head in heads)
    screen.line(f"  {'heads' if len(heads) > 1 else 'head'} {names}: {argument.shape}")
    for step in argument.steps:
        screen.line(f"    for {step.order}: {step.larger} >= {times(step.rate, step.unit)}")
    if argument.rate is not None:
        lemma = f"; the paper's {argument.lemma} is {short(_number(argument.lemma_error))}" if argument.lemma else ""
        screen.line(
            f"    so with g = {argument.rate} and x = e^-g the error is at most {argument.bound} = "
            f"{short(_number(argument.error))}{lemma}"
        )
    for head in heads:
        for clip in head.clips:
            screen.line(f"    read by clip({clip})")
        if head.margin is not None:
            screen.line(f"    whose input is at most -{short(head.margin)} or at least 1 + {short(head.margin)}")


def times(rate: Fraction, unit: str) -> str:
    """A rate times what it is per."""
    factor = str(rate) if rate.denominator == 1 else f"({rate})"
    return factor if unit == "1" else f"{factor} ({unit})"


def _number(value: float | None) -> Fraction | None:
    return None if value is None else Fraction(value)


# ---- JSON ----


def general_json(proof: GeneralProof) -> Json:
    """A proof for every length."""
    links = [link for link in (proof.network, proof.meaning) if link is not None]
    return {
        "proved": proof.proved,
        "reason": proof.reason,
        "margin": decimal(proof.margin),
        "links": [link_json(link) for link in links],
        "heads": [head_json(head) for head in proof.heads],
        "predicates": list(proof.predicates),
    }


def link_json(link: LinkProof) -> Json:
    """A link, without worst cases."""
    return {"claim": link.claim, "proved": link.holds, "reason": link.reason, "head": link.head}


def head_json(head: GeneralHead) -> Json:
    """A head and its argument; numbers that bound are those that were proved, to 20 digits."""
    argument = head.argument
    return {
        "name": head.name,
        "layer": head.layer,
        "purpose": head.purpose,
        "margin": decimal(head.margin),
        "clips": list(head.clips),
        "argument": None
        if argument is None
        else {
            "shape": argument.shape,
            "inequalities": [
                {"order": step.order, "larger": step.larger, "rate": rational(step.rate), "unit": step.unit}
                for step in argument.steps
            ],
            "g": rational(argument.rate),
            "bound": argument.bound,
            "error": decimal(Fraction(argument.error)),
            "lemma": argument.lemma or None,
            "lemma_error": decimal(_number(argument.lemma_error)),
        },
    }
