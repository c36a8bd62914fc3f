"""Which formulas have a construction in which regime. A formula without one is refused at the operator that has none,
with the regimes that can compute the whole formula."""

from __future__ import annotations

from typing import Literal, assert_never

from hardsim.compiling.from_ltl.means import comparison_of, is_true
from hardsim.errors import Span, Unsupported
from hardsim.lang.core import And, AtLeast, Core, Edge, Letters, Node, Numeric, Reach, Step, Xor, looks_ahead
from hardsim.lang.desugar import with_listed_sets
from hardsim.lang.valuations import Valuations
from hardsim.program.regimes import EVERY, GEOMETRIC, LAYER_NORM, MEANS, NAMED, ROUNDED, ROUNDED_EXPONENTIALS, Regime

Method = Literal["lookup", "sign"]
MOST_SETS = 256
"""Greatest number of sets of propositions in a regime of means: each has a row of the embedding, so that position 0 can
have its own."""
LONGEST_OPERATOR = 20
"""Greatest number of characters of an operator that is quoted as it is written."""


def refuse(core: Core, regime: Regime, method: Method) -> None:
    """Raise Unsupported for the first node, in the order of the core, that a regime cannot compute. `method` is the
    way to compare counts."""
    for number in core.live:
        reason = _reason(core, core.nodes[number], regime, method)
        if reason is not None:
            written, span = _mentioned(core, number)
            hint = _advice(core, core.nodes[number], regime, method)
            raise Unsupported(core.source, span, f"{written} {reason}", hint=hint)


def countable(core: Core, regime: Regime) -> Core:
    """Return a core whose nodes all have a construction in a regime of means, with listed sets of symbols. Raises
    Unsupported for a node without one, naming the regimes that have one; and for more than MOST_SETS sets of
    propositions."""
    if isinstance(core.alphabet, Valuations) and len(core.alphabet) > MOST_SETS:
        message = (
            f"these propositions make {len(core.alphabet):,} sets, and regime '{regime.name}' gives each set a row "
            f"of the word embedding, for at most {MOST_SETS}"
        )
        hint = f"State which propositions exclude each other (one-of, at-most-one). {_choices(core, regime)}"
        raise Unsupported(core.source, Span(0, len(core.source.text)), message, hint=hint)
    core = with_listed_sets(core)
    refuse(core, regime, "sign")
    return core


def _mentioned(core: Core, number: int) -> tuple[str, Span]:
    """Return the user's operator that produced a node, quoted as the text has it, and its place."""
    mention = core.mentions.get(number)
    if mention is None:
        return "this operator", Span(0, len(core.source.text))
    written = core.source.text[mention.span.start : mention.span.end].rstrip("[")
    short = 0 < len(written) <= LONGEST_OPERATOR and "\n" not in written
    return f"'{written if short else mention.operator}'", mention.span


def _fits(core: Core, regime: Regime, method: Method) -> bool:
    """Return True if a regime can compute a whole formula, with this way to compare counts."""
    if regime in MEANS:
        if isinstance(core.alphabet, Valuations) and len(core.alphabet) > MOST_SETS:
            return False
        core = with_listed_sets(core)
    return all(_reason(core, core.nodes[number], regime, method) is None for number in core.live)


def _usual(regime: Regime) -> Method:
    """Return the way in which a regime compares counts by default."""
    return "lookup" if regime.look_up[0] else "sign"


def _able(core: Core) -> list[Regime]:
    """Return the regimes, right at every length, that can compute a whole formula with the default way to compare
    counts."""
    return [one for name in EVERY if _fits(core, one := NAMED[name], _usual(one))]


def _choices(core: Core, refused: Regime) -> str:
    """Return the regimes that can compute a whole formula, as advice. There are always some: `temperature` and
    `position` have a construction for every node."""
    able = [one.name for one in _able(core)]
    if refused is not ROUNDED_EXPONENTIALS:
        return f"The regimes that can compute the whole formula: {', '.join(able)}."
    named = ", ".join(name for name in able if NAMED[name] not in MEANS)
    instead = ", or --rounding floor:8 in place of --exponential" * (ROUNDED.name in able)
    return f"With rounded exponentials, the regimes that can compute the whole formula: {named}{instead}."


def _advice(core: Core, node: Node, regime: Regime, method: Method) -> str:
    """Return the advice for a formula that a regime refused because of a node: what can compute all of it."""
    choices = _choices(core, regime)
    if regime in MEANS:
        return f"{choices} Regime {regime.name} has comparisons of counts (#L, #), O, H, first and Boolean operators."
    if regime.causal and looks_ahead(node):
        means = f"{LAYER_NORM.name} and {ROUNDED.name}, which have O, H and comparisons of counts (#L, #)."
        return f"{choices} Past operators (Y WY S T O H) work in every regime but {means}"
    counts = isinstance(node, AtLeast) and regime not in (GEOMETRIC, ROUNDED_EXPONENTIALS)
    return f"Leave out --counting {method}. " * (counts and method != _usual(regime)) + choices


def _reason(core: Core, node: Node, regime: Regime, method: Method) -> str | None:
    """Return why a regime cannot compute a node; None if it can."""
    if regime in MEANS:
        return _reason_of_means(core, node, regime)
    if regime in (GEOMETRIC, ROUNDED_EXPONENTIALS):
        some = node.positive if isinstance(node, AtLeast) else None
        if not isinstance(node, AtLeast | Numeric) or (some and (some.side or regime is not GEOMETRIC)):
            return None
        of = "geometric attention" if regime is GEOMETRIC else f"regime '{ROUNDED.name}' with rounded exponentials"
        return f"is about a count, a position or a length, for which {of} has no construction"
    if regime.causal and looks_ahead(node):
        masked = "a position sees only itself and those before it"
        return f"looks ahead, but regime '{regime.name}' is future-masked: {masked}"
    if isinstance(node, Numeric) and not regime.look_up[0] and not is_true(core, node.count.arg):
        return f"looks up a count, and regime '{regime.name}' has no look-up"
    if not isinstance(node, AtLeast) or node.positive or all(is_true(core, count.arg) for _, count in node.terms):
        return None
    if method == "lookup" and not regime.look_up[0]:
        return f"compares counts by look-up, which regime '{regime.name}' does not have"
    sides = sorted({count.side for _, count in node.terms})
    if method == "sign" and len(sides) > 1:
        kinds = " and ".join(f"#{side}" for side in sides)
        return f"mixes counts of the kinds {kinds} (pos is a #L, len a #), which the sign test cannot compare"
    return None


def _reason_of_means(core: Core, node: Node, regime: Regime) -> str | None:
    """Return why a node has no construction in a regime of means; None if it has one."""
    name = f"regime '{regime.name}'"
    match node:
        case Letters() | And() | Xor():
            return None
        case Step("Y") | Reach("S") if comparison_of(core, node) is None:
            where = "one step back" if isinstance(node, Step) else "at the nearest position where something holds"
            return f"reads {where}, for which {name} has no construction: its heads have no positions and only count"
        case Step() | Reach("U") | Edge("last"):
            return f"looks ahead, for which {name} has no construction"
        case Numeric():
            return f"is a predicate of a number, and {name} has no position encodings"
        case AtLeast(terms) if any(count.side == "R" for _, count in terms):
            return f"counts from a position on, for which {name} would need an end of sequence"
        case AtLeast(terms) if len({count.side for _, count in terms}) > 1:
            return f"mixes counts of the kinds #L and # (pos is a #L, len a #), which {name} divides differently"
        case Reach() | Edge() | AtLeast():
            return None
        case _:
            assert_never(node)
