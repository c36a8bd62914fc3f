"""What a regime has no construction for, refused at the user's own operator."""

from __future__ import annotations

from typing import Literal

from hardsim.errors import Span, Unsupported
from hardsim.lang.core import AtLeast, Core, CountOf, Edge, Letters, Mention, Node, Numeric, Reach, Step
from hardsim.spec.regimes import PROVEN, REGIMES, Regime

Method = Literal["lookup", "sign"]


def refuse(core: Core, regime: Regime, method: Method) -> None:
    """Raise Unsupported for the first node, in the order of the core, that a regime cannot compute."""
    for number in core.live:
        node = core.nodes[number]
        if regime.causal and _looks_ahead(node):
            able = ", ".join(name for name in PROVEN if not REGIMES[name].causal)
            raise _error(
                core,
                number,
                f"looks ahead, but regime '{regime.name}' is future-masked: "
                "a position sees only itself and those before it",
                f"The regimes that can do it: {able}. Past operators (Y WY S T O H #L pos) work in every regime.",
            )
        if isinstance(node, Numeric) and not regime.look_up[0] and not _is_extent(core, node.count):
            raise _error(
                core,
                number,
                f"asks for a predicate of a count, which is looked up, and regime '{regime.name}' has no look-up",
                f"The regimes that can do it: {_with_look_up()}.",
            )
        if isinstance(node, AtLeast):
            _refuse_comparison(core, number, node, regime, method)


def _refuse_comparison(core: Core, number: int, node: AtLeast, regime: Regime, method: Method) -> None:
    """Look-ups need a regime that has them; the sign test needs counts of one kind."""
    if all(_is_extent(core, count) for _, count in node.terms):
        return
    if method == "lookup" and not regime.look_up[0]:
        raise _error(
            core,
            number,
            f"compares counts by look-up, which regime '{regime.name}' does not have",
            f"Use --counting sign, or one of the regimes: {_with_look_up()}.",
        )
    sides = sorted({count.side for _, count in node.terms})
    if method == "sign" and len(sides) > 1:
        kinds = " and ".join(f"#{side}" for side in sides)
        way = f"Use --counting lookup, in one of the regimes: {_with_look_up(_looks_ahead(node))}."
        raise _error(
            core, number, f"mixes counts of the kinds {kinds} (pos is a #L, len a #), which the sign test cannot", way
        )


def _with_look_up(ahead: bool = False) -> str:
    """The regimes with look-ups, without the causal ones where something looks ahead."""
    return ", ".join(name for name in PROVEN if REGIMES[name].look_up[0] and not (ahead and REGIMES[name].causal))


def _looks_ahead(node: Node) -> bool:
    match node:
        case Edge("last") | Step("X") | Reach("U"):
            return True
        case AtLeast(terms):
            return any(count.side != "L" for _, count in terms)
        case Numeric(_, _, _, count):
            return count.side != "L"
        case _:
            return False


def _is_extent(core: Core, count: CountOf) -> bool:
    """Whether a count is of `true`: a position or a length."""
    node = core.nodes[count.arg.node]
    return isinstance(node, Letters) and not count.arg.negated and node.symbols == frozenset(core.alphabet)


def _error(core: Core, number: int, message: str, hint: str) -> Unsupported:
    mention = core.mentions.get(number, Mention("this operator", Span(0, len(core.source.text))))
    return Unsupported(core.source, mention.span, f"'{mention.operator}' {message}", hint=hint)
