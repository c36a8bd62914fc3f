"""What has no construction, refused at the user's own operator; the oracle runs it all the same."""

from __future__ import annotations

from hardsim.errors import Source, Span, Unsupported
from hardsim.lang.srasp import ast

MAX_CASES = 256
"""Cases of a Boolean score over its values at i; each is a term of the score."""

RUNS = "The program runs by its definition all the same; it is only not compiled."
ORDERED = "leftmost under 1, j<i or j<=i, and rightmost under 1, j>i or j>=i"


def order_under_mask(source: Source, attention: ast.Attention, node: ast.Compare) -> Unsupported:
    """Order inside a score, on a side and under a mask for which no score of polynomial gap is known."""
    return Unsupported(
        source,
        node.span,
        f"'{node.op}' between integers at i and at j has no construction inside the score of "
        f"{attention.side} under {attention.mask}: no bilinear score with a polynomial gap is known for it",
        hint=f"Order inside scores works for {ORDERED}; '=' and '!=' work everywhere, and so does order between "
        f"integers at one position, in a vector of its own. {RUNS}",
    )


def order_among_others(source: Source, node: ast.Compare) -> Unsupported:
    """Order or inequality of integers together with another condition."""
    return Unsupported(
        source,
        node.span,
        f"'{node.op}' between integers at i and at j must be the whole score: beside another condition it has no "
        "construction",
        hint=f"A condition on i can go around the attention, P(i) ? A(i) : D(i); '=' may stand beside others. {RUNS}",
    )


def comparison_below(source: Source, node: ast.Expression, above: ast.Expression) -> Unsupported:
    """A comparison of integers at i and j below something other than a conjunction."""
    match above:
        case ast.Nary(op) | ast.Arrow(op):
            where = f"below '{op}'"
        case ast.Conditional():
            where = "inside a conditional"
        case ast.Member() | ast.Related():
            where = "inside a set or relation"
        case _:
            where = "inside another comparison"
    return Unsupported(
        source,
        node.span,
        f"a comparison between integers at i and at j {where} has no construction inside a score",
        hint="It works alone and, if it is '=', joined by '&' to other conditions: split the attention in two, and "
        f"choose between their results. {RUNS}",
    )


def inseparable(source: Source, node: ast.Expression) -> Unsupported:
    """An integer that depends on i and j in another way than as a sum."""
    return Unsupported(
        source,
        node.span,
        "this integer reads both i and j, and is not a sum of integers that read one of them each",
        hint=f"Inside scores, compare sums of integers at i with sums of integers at j. {RUNS}",
    )


def too_many_cases(source: Source, span: Span) -> Unsupported:
    """A Boolean score with more cases than the limit."""
    return Unsupported(
        source,
        span,
        f"this score has more than {MAX_CASES} cases of truth values and symbols at i, the limit of what is compiled",
        hint=f"Compute what the score reads at i into fewer vectors first. {RUNS}",
    )
